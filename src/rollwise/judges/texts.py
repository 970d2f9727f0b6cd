"""Texts that a judge reads: columns of a table as text, the conversation so far, and a template filled with them."""

import json
from collections.abc import Mapping
from string import Formatter

import msgspec
import polars as pl

from rollwise.errors import ArgumentError, listing
from rollwise.judges.verdicts import TEXT, Judge
from rollwise.schema import is_tree
from rollwise.schema.named import column_named, values_named

CONVERSATION = "conversation"
_ROLES = {"context": "system", "prompt": "user", "response": "assistant"}
# What some readers take for the end of a line is escaped too, so that a message is always one line.
_LINE_ENDS = str.maketrans({"\x7f": "\\u007f", "\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def conversations(turns: pl.DataFrame) -> pl.Series:
    """Return the conversation up to and including each answer as JSON: a list of messages, each on a line of its own.

    Nothing that a target says can look like a further message, because the quotes and line breaks of its text are escaped.
    """
    if is_tree(turns):
        raise ArgumentError(
            "judge: `conversation` needs rollouts without branches; judge `rw.rollout.paths(turns)` instead"
        )
    names = [name for name in _ROLES if name in turns.columns]
    roles = [_ROLES[name] for name in names]
    texts = turns.select(
        "rollout_id", "turn", *(column_named(name).cast(pl.String).alias(f"__{name}") for name in names)
    )
    # Rows may be in any order: collect each rollout's turns with their row, then walk through them by turn.
    parts: dict[str, list[tuple[int, int, list[str]]]] = {}
    for row, (rollout, turn, *contents) in enumerate(texts.iter_rows()):
        messages = [_message(role, text) for role, text in zip(roles, contents, strict=True) if text is not None]
        parts.setdefault(rollout, []).append((turn or 0, row, messages))
    so_far = [""] * turns.height
    for rollout in parts.values():
        before: list[str] = []
        for _, row, messages in sorted(rollout):
            before += messages
            so_far[row] = "[\n" + ",\n".join(before) + "\n]"
    return pl.Series(CONVERSATION, so_far, dtype=pl.String)


def _message(role: str, text: str) -> str:
    """Return a message as one line of JSON."""
    content = json.dumps(text, ensure_ascii=False).translate(_LINE_ENDS)
    return f'{{"role": "{role}", "content": {content}}}'


def questions(frame: pl.DataFrame, judge: Judge, column: str = TEXT) -> pl.DataFrame:
    """Return the texts that the judge reads in each row: the judged text as `response` (null if missing), and its columns.

    Lists and structs, such as `tool_calls`, become JSON. A null in one of the judge's further columns becomes an empty text.
    """
    further = [name for name in dict.fromkeys(judge.columns) if name != TEXT]
    if CONVERSATION in (column, *further) and CONVERSATION not in frame.columns:
        # A conversation that is itself judged is missing, like an answer, in a turn without an answer.
        is_judged = pl.col(TEXT).is_not_null() if column == CONVERSATION and TEXT in frame.columns else True
        frame = frame.with_columns(pl.when(is_judged).then(conversations(frame)).alias(CONVERSATION))
    missing = [name for name in (column, *further) if name not in frame.columns]
    if missing:
        filled = [name for name in frame.columns if frame[name].null_count() < frame.height]
        way = (
            "" if column in missing else "; the parameters of a function are columns: `def mine(response, prompt): ...`"
        )
        raise ArgumentError(
            f"judge: {judge.name} reads {listing(missing)}, which this table lacks; available: {listing(filled, most=30)}{way}"
        )
    texts = [
        _text(values_named(frame, column), judge).alias(TEXT),
        *(_text(values_named(frame, name), judge).fill_null("").alias(name) for name in further),
    ]
    return pl.DataFrame(texts)


def _text(column: pl.Series, judge: Judge) -> pl.Series:
    if column.dtype.is_nested():  # as JSON, which models read best
        texts = [None if value is None else msgspec.json.encode(value).decode() for value in column.to_list()]
        return pl.Series(column.name, texts, dtype=pl.String)
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise ArgumentError(
            f"judge: {judge.name} reads {column.name}, which is {column.dtype}, not text; convert it: "
            f"`.with_columns(pl.col({column.name!r}).map_elements(str, pl.String))`"
        ) from error


class Template:
    """Text with placeholders in braces, all replaced at once, so that braces in the inserted texts stay unchanged."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            parts = list(Formatter().parse(text))
        except ValueError as error:
            raise ArgumentError(
                f"the template {text!r:.60} cannot be read ({error}); write {{{{ and }}}} for braces"
            ) from error
        for _, field, form, conversion in parts:  # such as {field!conversion:form}
            if field is not None and (not field.isidentifier() or form or conversion):
                raise ArgumentError(
                    f"the template has the placeholder {{{field}}}, which cannot name a column; write {{{{ and }}}} for braces"
                )
        # Literal texts and placeholders in turn: filling in is one pass, so inserted braces are never read again.
        self._parts = [(literal, field) for literal, field, _, _ in parts]
        self.fields = tuple(dict.fromkeys(field for _, field in self._parts if field is not None))

    def render(self, values: Mapping[str, object]) -> str:
        """Return the text with its placeholders replaced by these values."""
        return "".join(literal if field is None else f"{literal}{values[field]}" for literal, field in self._parts)
