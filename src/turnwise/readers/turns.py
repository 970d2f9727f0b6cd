"""Data in memory into TURNS: a table of turns, or chats, which are read like a file of them."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, overload

import msgspec
import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, ReadError
from turnwise.readers.chats.layouts import LISTS
from turnwise.readers.columns import arrange, json_column
from turnwise.readers.naming import Naming, checked_names
from turnwise.readers.native.tables import conformed, holds_chats, words
from turnwise.readers.problems import LEAVE, Problems
from turnwise.readers.read import turns_of
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.frames import frame_of, plain


@overload
def turns(  # type: ignore[overload-overlap]  # a LazyFrame is an object too, and stays lazy
    frame: pl.LazyFrame, *, rollout_id: str = ..., turn: str = ..., **columns: str
) -> pl.LazyFrame: ...
@overload
def turns(frame: object, *, rollout_id: str = ..., turn: str = ..., **columns: str) -> pl.DataFrame: ...
def turns(
    frame: object, *, rollout_id: str = "rollout_id", turn: str = "turn", **columns: str
) -> pl.DataFrame | pl.LazyFrame:
    """Convert data in memory into TURNS: renamed, cast, numbered, ordered and checked. All your columns are kept.

    Rows that are no turns but rollouts with a list of what was said in each, or messages, are read as `read` does a file of
    them, by the names and rules that `turnwise info components -t reader` shows under openai_chat; all else is turns:

    - **Names.** A keyword is our name, its value is yours. Without one, the only text column among ``probe, audit,
      utterance, challenge, input, question, user, human`` is the `prompt`, and the only one among ``output, completion,
      answer, reply, assistant`` the `response`; where two could be it, none is. `attack` names the method. It is taken for the
      prompt only where no other column can be and where its text changes within a rollout, as a method cannot; say
      ``prompt="attack"`` for rollouts of one turn.
    - **Turns.** Without a turn column, the rows of a rollout are numbered in their order. Numbers that start at 0 in
      every rollout are raised by one. Gaps are an error.
    - **Dtypes.** Whole numbers may be ids; 0 and 1, or the words true and false, may be Booleans; `tool_calls` may be
      JSON text; nothing else is bent, and what does not fit is named. In records, an extra that mixes types becomes
      JSON text.
    - **NaN** becomes null in every column, and is counted on stderr.

    Parameters
    ----------
    frame
        A Polars or pandas frame, a `pyarrow.Table`, anything with `__arrow_c_stream__`, or a list of dicts. A
        LazyFrame stays lazy where it fits as it stands (NaN is then not counted and rows are not put in order), else
        it is collected and made lazy again.
    rollout_id
        Your column that says which rows belong together.
    turn
        Your column that numbers them.
    **columns
        Our name = your name, for any other column.

    Raises
    ------
    SchemaError
        Naming the column, the rollout and the remedy.
    ReadError
        Of chats, naming the record, the field and the remedy.
    ArgumentError
        Where a column named here does not exist, or two columns would have one name (one that is null throughout, as
        `read` leaves what logs do not say, gives way).

    Examples
    --------
    >>> records = [
    ...     {"chat": 7, "user": "Hi", "reply": "Hello", "harm": 0.1},
    ...     {"chat": 7, "user": "Again", "reply": "No"},
    ... ]
    >>> turns(records, rollout_id="chat").select("rollout_id", "turn", "prompt", "response", "harm").rows()
    [('7', 1, 'Hi', 'Hello', 0.1), ('7', 2, 'Again', 'No', None)]
    >>> chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    >>> turns([{"rollout_id": "a", "messages": chat}]).select("rollout_id", "turn", "prompt", "response").rows()
    [('a', 1, 'Hi', 'Hello')]
    """
    names = {"rollout_id": rollout_id, "turn": turn, **columns}
    for ours, theirs in names.items():
        if not isinstance(theirs, str):
            raise ArgumentError(
                f'turns: {ours}={theirs!r} names no column; the name of TURNS comes first: turns(frame, goal="objective")'
            )
    if isinstance(frame, pl.LazyFrame):
        chats = holds_chats(frame.collect_schema(), names)
        return turns(frame.collect(), **names).lazy() if chats else conformed(frame, names)
    lists = {names.get(name, name) for name in LISTS}
    given = _records(list(frame) if isinstance(frame, Iterator) else frame, lists)
    if isinstance(given, Sequence) and _hold_chats(given, lists, names):
        return _read(Document(Path("the records"), _lines(given)), names)
    table = frame_of(given, words(names))
    if not holds_chats(table.schema, names):
        return conformed(table, names)
    if not table.height:
        return arrange(schema.empty(schema.TURNS))
    file = io.BytesIO()
    objects = [json_column(table[name]) for name, dtype in table.schema.items() if dtype == pl.Object]
    table.with_columns(objects).write_ipc(file)
    return _read(Document(Path("the frame"), file.getvalue()), names)


def _records(given: Any, lists: AbstractSet[str]) -> Any:
    """A frame of pandas with a column of lists as records: what is in them need not be of one dtype. All else as it is."""
    if type(given).__module__.partition(".")[0] != "pandas":
        return given
    objects = [name for name in lists & {*getattr(given, "columns", ())} if given[name].dtype == object]
    if not any(_is_list(_first(given[name].dropna())) for name in objects):
        return given
    kept = given.reset_index() if any(given.index.names) else given
    return kept.astype(object).where(kept.notna(), None).to_dict("records")


def _hold_chats(records: Sequence[Any], lists: AbstractSet[str], names: Mapping[str, str]) -> bool:
    """Return whether these records hold a list of what was said, and are no turns for all that."""
    first = records[0] if records and isinstance(records[0], Mapping) else {}
    known = [record for record in records if isinstance(record, Mapping)]
    listed = {name for name in lists & first.keys() if _is_list(_first(each.get(name) for each in known))}
    columns = {name: pl.List(pl.Struct({})) if name in listed else None for name in first}
    return bool(listed) and holds_chats(columns, names)


def _first(values: Iterable[Any]) -> Any:
    """The first of some values that is something: an empty list is nothing."""
    return next(
        (each for each in values if each is not None and not (hasattr(each, "__len__") and not len(each))), None
    )


def _is_list(value: Any) -> bool:
    """Return whether this is a list of objects, as Python or NumPy has them."""
    values = value.tolist() if hasattr(value, "tolist") else value
    return isinstance(values, list | tuple) and bool(values) and all(isinstance(each, Mapping) for each in values)


def _lines(records: Sequence[Any]) -> bytes:
    """The records as JSON lines, in which what is said in one need not be like what is said in the next."""
    try:
        return b"\n".join(msgspec.json.encode(plain(record), enc_hook=str) for record in records)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"turns: the records cannot be written as JSON ({error}); give them plain values"
        ) from error


def _read(document: Document, names: Mapping[str, str]) -> pl.DataFrame:
    problems = Problems()
    others = {ours: theirs for ours, theirs in names.items() if ours != theirs}
    naming = Naming(checked_names(others, "turns"), problems, "turns")
    try:
        found = turns_of([(document, True)], [document.path], None, problems, naming)
    except ReadError as error:
        raise ReadError(str(error).removesuffix(f": {LEAVE}")) from error  # of a file, others could be read
    problems.announce()
    return found
