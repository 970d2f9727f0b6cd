"""What a judge reads: columns of a table as text, the conversation so far, and a template filled with them."""

from collections.abc import Mapping, Sequence
from string import Formatter

import msgspec
import polars as pl

from turnwise.errors import ArgumentError, listing
from turnwise.judges.verdicts import TEXT, Judge
from turnwise.schema import is_tree

CONVERSATION = "conversation"
_SPEAKERS = {"context": "System", "prompt": "User", "response": "Assistant"}


def conversations(turns: pl.DataFrame) -> pl.Series:
    """Return the conversation up to and including each answer: ``User: ...``, ``Assistant: ...``, turn after turn.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [2, 1], "prompt": ["B?", "A?"], "response": ["b", "a"]})
    >>> print(conversations(turns)[0])
    User: A?
    <BLANKLINE>
    Assistant: a
    <BLANKLINE>
    User: B?
    <BLANKLINE>
    Assistant: b
    """
    if is_tree(turns):
        raise ArgumentError(
            "judge: `conversation` is that of a rollout without branches; judge `tw.trees.paths(turns)` instead"
        )
    said = [
        pl.format(f"{speaker}: {{}}", pl.col(name).cast(pl.String))
        for name, speaker in _SPEAKERS.items()
        if name in turns.columns
    ]
    told = turns.select("rollout_id", "turn", said=pl.concat_str(*said, separator="\n\n", ignore_nulls=True))
    parts: dict[str, list[tuple[int, int, str]]] = {}
    for row, (rollout, turn, text) in enumerate(told.iter_rows()):
        parts.setdefault(rollout, []).append((turn or 0, row, text))
    so_far = [""] * turns.height
    for rollout in parts.values():
        before = ""
        for _, row, text in sorted(rollout):
            before = so_far[row] = f"{before}\n\n{text}" if before else text
    return pl.Series(CONVERSATION, so_far, dtype=pl.String)


def questions(frame: pl.DataFrame, judge: Judge, column: str = TEXT) -> pl.DataFrame:
    """The texts of each row by the names that the judge knows: what is judged, null where there is nothing, and what is beside.

    Lists and structs, such as `tool_calls`, are JSON; of a column beside, null is an empty text.

    Raises
    ------
    ArgumentError
        Where the judge reads a column that is not there, or one that is no text.

    Examples
    --------
    >>> from turnwise.judges.verdicts import judge_of
    >>> turns = pl.DataFrame({"rollout_id": "a", "turn": 1, "response": "Hi.", "tool_calls": [[{"name": "f"}]]})
    >>> questions(turns, judge_of(lambda response, tool_calls: 1)).rows()
    [('Hi.', '[{"name":"f"}]')]
    """
    beside = _beside(judge.columns)
    if CONVERSATION in (column, *beside) and CONVERSATION not in frame.columns:
        said = (
            pl.when(pl.col(TEXT).is_not_null()) if column == CONVERSATION and TEXT in frame.columns else pl.when(True)
        )
        frame = frame.with_columns(said.then(conversations(frame)).alias(CONVERSATION))
    lacking = [name for name in (column, *beside) if name not in frame.columns]
    if lacking:
        raise ArgumentError(
            f"judge: {judge.name} reads {listing(lacking)}, which this table lacks; there is "
            f"{listing(frame.columns, most=30)}"
        )
    texts = [_text(frame[column], judge).alias(TEXT), *(_text(frame[name], judge).fill_null("") for name in beside)]
    return pl.DataFrame(texts)


def _beside(columns: Sequence[str]) -> list[str]:
    """The names of the columns that a judge reads, each once, beside what it judges."""
    return [name for name in dict.fromkeys(columns) if name != TEXT]


def _text(column: pl.Series, judge: Judge) -> pl.Series:
    if column.dtype.is_nested():
        texts = [None if value is None else msgspec.json.encode(value).decode() for value in column.to_list()]
        return pl.Series(column.name, texts, dtype=pl.String)
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise ArgumentError(
            f"judge: {judge.name} reads {column.name}, which is {column.dtype} and no text; make it one: "
            f"`.with_columns(pl.col({column.name!r}).map_elements(str, pl.String))`"
        ) from error


class Template:
    """Text with places in braces, filled in all at once, so that braces in what is filled in stay as they are.

    Parameters
    ----------
    text
        With ``{response}`` for a place, and ``{{`` and ``}}`` for braces.

    Raises
    ------
    ArgumentError
        Where a brace stands alone, or a place is more than a name.

    Examples
    --------
    >>> template = Template("Rate {response} as {{score}}.")
    >>> template.fields, template.render({"response": "{prompt}"})
    (('response',), 'Rate {prompt} as {score}.')
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            parts = list(Formatter().parse(text))
        except ValueError as error:
            raise ArgumentError(
                f"the template {text!r:.60} cannot be read ({error}); write {{{{ and }}}} for braces"
            ) from error
        for _, field, form, conversion in parts:
            if field is not None and (not field.isidentifier() or form or conversion):
                raise ArgumentError(
                    f"the template has the place {{{field}}}, which is no name of a column; write {{{{ and }}}} for braces"
                )
        self._parts = [(literal, field) for literal, field, _, _ in parts]
        self.fields = tuple(dict.fromkeys(field for _, field in self._parts if field is not None))

    def render(self, values: Mapping[str, object]) -> str:
        """The text, its places filled in."""
        return "".join(literal if field is None else f"{literal}{values[field]}" for literal, field in self._parts)
