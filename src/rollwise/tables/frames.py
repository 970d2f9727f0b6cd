"""Frames as grids of text: results with intervals in the form of their schema, all others as they are."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.schema import labels
from rollwise.schema.coercion import in_schema
from rollwise.tables.audits import audit_grid
from rollwise.tables.grid import Column, Grid
from rollwise.tables.parts import yes_or_no
from rollwise.tables.results import columns_of

MOST_ROWS = 400  # of a table; further rows are counted below it
_MOST_COLUMNS, _MOST_LETTERS = 12, 60  # of a frame without intervals
_MOST_CONSTANT = 8  # columns with one value that are stated in the note
_LONG = 400  # letters of a reason or another sentence
# Results without intervals, shown with all their columns.
_PLAIN = (schema.PLAN, schema.DOCTOR, schema.PROBLEMS, schema.ACCOUNTING, schema.JOINED, schema.UNUSED)
_KEYS = ("rollout_id", "turn", "step", "node_id", "judge", "sample")
_SENTENCES = {"reason", "call", "example", "question", "estimand"}
_ASSUMED = {"rate", "icc", "correlation", "level", "estimand"}  # of a PLAN
_RATES = {"below", "chance", "rate", "power", "level"}
_POINTS = {"difference", "half_width"}


def grid_of(frame: pl.DataFrame, best: str | None = None) -> Grid:
    """Return the grid of any frame; of a SUMMARY, the `best` estimate of each metric may be bold."""
    if set(schema.AUDIT.required) <= set(frame.columns):
        return audit_grid(frame, MOST_ROWS)
    shape = labels.shape_of(frame)
    if best is not None and shape is not schema.SUMMARY:
        raise ArgumentError("table: best= is for a SUMMARY, whose rows are groups; leave it out")
    rows = frame.head(MOST_ROWS)
    num_omitted = frame.height - rows.height
    more = [labels.counted(num_omitted, "more row")] if num_omitted else []
    if shape is None:
        return _any_frame(frame, rows, more)
    if frame.is_empty():
        return Grid([Column(labels.label(name), (), words=True) for name in shape.required], ["no rows"])
    # Equal reasons share a footnote, numbered in the order in which they appear; so do reasons that differ only in numbers.
    result = labels.merge_reasons(labels.finished(frame, shape, "show"))
    reasons = list(dict.fromkeys(labels.plain(reason) for reason in result.head(MOST_ROWS)["reason"].drop_nulls()))
    columns = columns_of(shape.name, result, rows.height, reasons, best)
    notes = [f"{labels.superscript(place)} {reason}" for place, reason in enumerate(reasons, 1)]
    return Grid(columns, notes + more, labels.caption(result), title=_title(result, shape.name), best=best_note(best))


def _title(frame: pl.DataFrame, name: str) -> str:
    """Say in a few words what a result shows."""
    metrics = frame["metric"].drop_nulls().unique() if "metric" in frame.columns else pl.Series([], dtype=pl.String)
    statistics = frame["statistic"].drop_nulls().unique() if "statistic" in frame.columns else pl.Series(["mean"])
    what = {"SUMMARY": "estimates", "CONTRAST": "differences", "GATE": "requirements"}.get(name, name.lower())
    if metrics.len() == statistics.len() == 1 and name != "GATE":
        quantity = labels.quantity(metrics[0], statistics[0], frame)
        what = quantity if name == "SUMMARY" else f"{what} in {quantity}"
    compared = frame["of"].unique(maintain_order=True).to_list() if name in {"CONTRAST", "RANKS"} else []
    by = [labels.label(column) for column in [*compared, *labels.grouping(frame)]]
    return labels.sentence(f"{what} by {_all_of(by)}" if by else what)


def best_note(best: str | None, *, per_column: bool = False) -> str:
    """Say what is bold."""
    return f"Bold: the {best} estimate{' of each column' if per_column else ''}." if best else ""


def _all_of(names: Sequence[str]) -> str:
    """Join names by commas and a last `and`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _any_frame(frame: pl.DataFrame, rows: pl.DataFrame, more: Sequence[str]) -> Grid:
    """Return the grid of a frame without intervals: all columns of a rollwise result, or the first columns of any other frame."""
    result = next((shape for shape in _PLAIN if set(shape.required) <= set(frame.columns)), None)
    if result is not None:
        return _plain_result(in_schema(frame, result, "table"), in_schema(rows, result, "table"), result, more)
    names, notes = _informative(frame) if "rollout_id" in frame.columns else (frame.columns, [])
    # The first two columns, usually ids, are never omitted.
    omissions = {name: _omission(frame, name) if place > 1 else 0 for place, name in enumerate(names)}
    selected = sorted(names, key=lambda name: omissions[name])[:_MOST_COLUMNS]
    num_omitted = len(names) - len(selected)
    notes = [*more, *notes, *([labels.counted(num_omitted, "more column")] if num_omitted else [])]
    if any(_is_time(frame.schema[name]) for name in selected):
        notes.append("A time with + is the follow-up of a rollout that ended without the event.")
    columns = [(_column(rows, name, labels.plain(name)), omissions[name]) for name in names if name in selected]
    return Grid([replace(column, omission=omission) for column, omission in columns], notes)


def _omission(frame: pl.DataFrame, name: str) -> int:
    """Return how easily a column can be omitted: extra columns of rollouts first (3), then facts, then measures."""
    if not {"rollout_id", "num_turns"} <= set(frame.columns):
        return 1
    measured = schema.kind_of(frame.schema[name]) is not None and name not in set(schema.ROLLOUTS.names) - {"num_turns"}
    return 1 if measured else 2 if name in schema.ROLLOUTS.names else 3


def _informative(frame: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return the columns of turns, rollouts, steps or verdicts that vary, and notes about constant and empty columns."""
    filled = [name for name in frame.columns if name in _KEYS or frame[name].count() > 0]
    # What is equal in all rows is stated once, below the table.
    constant = [
        name
        for name in filled
        if frame.height > 1
        and name not in _KEYS
        and frame[name].count() == frame.height
        and not frame.schema[name].is_nested()
        and frame[name].n_unique() == 1
    ]
    facts = [f"{labels.plain(name)} {labels.shorten(_cell(frame[name][0], _LONG), 40)}" for name in constant]
    num_more, num_empty = len(facts) - _MOST_CONSTANT, len(frame.columns) - len(filled)
    more = f" and {labels.counted(num_more, 'more column')}" if num_more > 0 else ""
    notes = [f"In all rows: {', '.join(facts[:_MOST_CONSTANT])}{more}."] if facts else []
    if num_empty and frame.height:
        notes.append(f"{labels.counted(num_empty, 'column')} without any value")
    return [name for name in filled if name not in constant], notes


def _plain_result(frame: pl.DataFrame, rows: pl.DataFrame, shape: schema.Schema, more: Sequence[str]) -> Grid:
    """Return the grid of a result without intervals: the columns that have a value.

    The constant columns of a PLAN are stated once, below; of a PLAN with one row, its assumptions are.
    """
    plan = shape is schema.PLAN
    filled = [name for name in frame.columns if name in shape.required or frame[name].count() > 0]
    constant = [
        name
        for name in filled
        if plan
        and frame[name].n_unique() == 1
        and (name not in shape.required if frame.height > 1 else name in _ASSUMED)
    ]
    columns = [_column(rows, name, labels.label(name), plan=plan) for name in filled if name not in constant]
    facts = [
        f"{labels.label(name)} {_formatter(name, frame.schema[name], plan=plan)(frame[name][0])}"
        for name in constant
        if name != "estimand"
    ]
    heading = "In all rows" if frame.height > 1 else "Assumed"
    notes = [*more, *([f"{heading}: {', '.join(facts)}."] if facts else []), *(["no rows"] if frame.is_empty() else [])]
    estimand = labels.sentence(labels.plain(frame["estimand"][0])) if "estimand" in constant else ""
    return Grid(columns, notes, estimand)


def _column(frame: pl.DataFrame, name: str, heading: str, *, plan: bool = False) -> Column:
    formatter = _formatter(name, frame.schema[name], plan=plan)
    cells = [formatter(value) for value in frame[name].to_list()]
    words = not (frame.schema[name].is_numeric() or _is_time(frame.schema[name]))
    return Column(heading, cells, words=words, omission=3 if plan and name == "method" else 0)


def _formatter(name: str, dtype: pl.DataType, *, plan: bool) -> Callable[[Any], str]:
    """Return the formatter for the cells of this column."""
    if plan and name in _RATES:
        return lambda value: labels.NOTHING if value is None else f"{100 * value:.3g} %"
    if plan and name in _POINTS:
        return lambda value: labels.number(value, rate=True).replace(" %", " points")
    if plan and dtype.is_integer():
        return labels.count
    if dtype == pl.Boolean:
        return yes_or_no
    if _is_time(dtype):
        return _time
    most = _LONG if name in _SENTENCES or name in _KEYS else _MOST_LETTERS
    return lambda value: _cell(value, most)


def _is_time(dtype: pl.DataType) -> bool:
    """Return whether a column holds times to an event."""
    parts = {field.name: field.dtype for field in dtype.fields} if isinstance(dtype, pl.Struct) else {}
    return set(parts) == {"duration", "observed"} and parts["duration"].is_numeric()


def _time(value: Any) -> str:
    """Format a time to an event, with a plus if the follow-up ended without it, as papers do."""
    if value is None or value["duration"] is None:
        return labels.NOTHING
    return f"{value['duration']:,.4g}{'' if value['observed'] else '+'}"


def _cell(value: Any, most: int) -> str:
    if value is None:
        return labels.NOTHING
    text = f"{value:,.4g}" if isinstance(value, float) else labels.plain(value)
    return labels.shorten(text, most)
