"""Chats in a column of lists, as Parquet and Arrow files hold them: cut into turns all at once.

This is the short way past lines of JSON, and gives the same to the last cell: what is in a message is neither written out
nor looked at, for the roles alone tell where in a turn it stands. Whatever is no text is left to the long way.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from turnwise.readers.chats.turns import CHATTED, SPEAKERS, Shape, shape_of
from turnwise.schema import TURNS

NOBODY = "\0"  # between roles: in none that is known

Places = npt.NDArray[np.int64]
Cut = tuple[list[int], pl.DataFrame]  # how many turns are in each of some chats, and their columns


def turns_in(chats: pl.Series, role: str, text: str) -> Cut | None:
    """Count the turns of each chat, and return the columns of TURNS that are present; see `by_turn`.

    None where something in them is no text, somebody of unknown name speaks, or nobody answers.

    Parameters
    ----------
    chats
        Lists of messages.
    role, text
        What the messages call who speaks, and what is said.

    Examples
    --------
    >>> chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    >>> turns_in(pl.Series([chat]), "role", "content")[1].rows(named=True)
    [{'turn': 1, 'prompt': 'Hi', 'response': 'Hello'}]
    """
    said = _said(chats, role, text)
    if said is None:
        return None
    lengths = chats.list.len().to_numpy().astype(np.int64)
    spoken = chats.list.eval(pl.element().struct.field(role)).list.join(NOBODY)
    different = spoken.unique(maintain_order=True)
    shapes = [shape_of(roles.split(NOBODY)) for roles in different]
    if any(shape.turns == [None] for shape in shapes):
        return None
    which = spoken.replace_strict(different, np.arange(len(different)), return_dtype=pl.Int64).to_numpy()
    counts = _of_each(len(shape.turns) for shape in shapes)
    begins, starts = _begins(counts[which]), _begins(lengths)
    chat_of = np.repeat(np.arange(len(which)), counts[which])
    cells = np.arange(len(chat_of)) - begins[chat_of] + _begins(counts)[which][chat_of]  # among those of all shapes
    columns = {"turn": pl.Series(_of_each(turn or 0 for shape in shapes for turn in shape.turns)[cells])}
    for name in CHATTED[1:5]:
        if any(name in shape.there for shape in shapes):
            places = _of_each(-1 if place is None else place for shape in shapes for place in shape.places[name])[cells]
            found = said.gather(_known(starts[chat_of] + places, places >= 0))
            columns[name] = _with_several(found, name, shapes, said, which, begins, starts)
    return counts[which].tolist(), pl.DataFrame(columns).cast({name: TURNS.dtypes[name] for name in columns})


def _said(chats: pl.Series, role: str, text: str) -> pl.Series | None:
    """Return the texts of all messages of some chats; None where a message has more, nothing, or an unknown speaker."""
    kind = chats.dtype
    if not isinstance(kind, pl.List) or not isinstance(kind.inner, pl.Struct) or chats.is_empty():
        return None
    fields = {field.name: field.dtype for field in kind.inner.fields}
    if (
        (fields.get(role), fields.get(text)) != (pl.String, pl.String)
        or chats.null_count()
        or (chats.list.len() == 0).any()
    ):
        return None
    every = chats.explode()
    if every.null_count():
        return None
    messages = every.struct.unnest()
    if any(messages[name].null_count() != (name not in {role, text}) * len(messages) for name in fields):
        return None
    return messages[text] if set(messages[role].unique()) <= SPEAKERS else None


def _with_several(
    column: pl.Series,
    name: str,
    shapes: Sequence[Shape],
    said: pl.Series,
    which: Places,
    begins: Places,
    starts: Places,
) -> pl.Series:
    """The column with the cells that several messages make together."""
    rows, texts = list[Places](), list[pl.Series]()
    for place, shape in enumerate(shapes):
        several = [(turn, parts) for cell, turn, parts in shape.several if cell == name]
        alike = np.flatnonzero(which == place) if several else np.empty(0, np.int64)
        for turn, parts in several:
            rows.append(begins[alike] + turn)
            texts.append(
                pl.select(
                    pl.concat_str([said.gather(starts[alike] + part) for part in parts], separator="\n\n")
                ).to_series()
            )
    return column.scatter(pl.Series(np.concatenate(rows)), pl.concat(texts)) if rows else column


def _of_each(values: Iterable[int]) -> Places:
    return np.fromiter(values, np.int64)


def _begins(sizes: Places) -> Places:
    """Return the start of each of several consecutive pieces."""
    return np.cumsum(sizes) - sizes


def _known(places: Places, there: npt.NDArray[np.bool_]) -> pl.Series:
    return pl.Series(places).set(pl.Series(~there), None)


def in_place_of(chats: pl.Series, role: str, text: str) -> pl.Series:
    """Chats that are as short as can be in place of some in which somebody answers; whoever speaks last is the same.

    Examples
    --------
    >>> chat = [{"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Bye"}]
    >>> in_place_of(pl.Series([chat]), "role", "content").item().to_list()
    [{'role': 'assistant', 'content': ''}, {'role': 'user', 'content': ''}]
    """
    last = chats.list.last().struct.field(role)
    different = last.unique(maintain_order=True)
    brief = [[{role: speaker, text: ""} for speaker in ("assistant", other)] for other in different]
    which = last.replace_strict(different, np.arange(len(different)), return_dtype=pl.UInt32)
    return pl.Series(chats.name, brief).gather(which)
