"""Texts of a table that a judge reads: columns of turns."""

from collections.abc import Sequence

import msgspec
import polars as pl

from turnwise.errors import ArgumentError, listing
from turnwise.judges.conversations import CONVERSATION, conversations
from turnwise.judges.verdicts import TEXT, Judge


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
