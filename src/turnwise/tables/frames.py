"""Any frame -> a grid: those with intervals as their schema asks, all others as they are, in words."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from turnwise import labels, schema
from turnwise.tables.grid import Column, Grid
from turnwise.tables.parts import yes_or_no
from turnwise.tables.results import columns_of

MOST_ROWS = 400  # of a table; the rest is counted below it
_MOST_COLUMNS, _MOST_LETTERS = 12, 60  # of a frame without intervals
_SAID = 8  # columns that all rows have alike and that are said
_LONG = 400  # letters of a reason, which is read to its end
_PLAIN = (
    schema.PLAN,
    schema.DOCTOR,
    schema.PROBLEMS,
    schema.JOINED,
)  # results without intervals, shown with all their columns
_KEYS = ("rollout_id", "turn", "step", "node_id", "judge", "sample")
_SENTENCES = {"reason", "call", "example", "question", "estimand"}
_RATES = {"below", "chance", "rate", "power", "level"}
_POINTS = {"difference", "half_width"}


def grid_of(frame: pl.DataFrame) -> Grid:
    """The grid of a frame."""
    shape = labels.shape_of(frame)
    shown = frame.head(MOST_ROWS)
    left = frame.height - shown.height
    more = [labels.counted(left, "more row")] if left else []
    if shape is None:
        return _any_frame(shown, more)
    if frame.is_empty():
        return Grid([Column(labels.label(name), (), words=True) for name in shape.required], ["no rows"])
    whole = labels.finished(frame, shape, "show")
    reasons = list(dict.fromkeys(labels.plain(reason) for reason in whole.head(MOST_ROWS)["reason"].drop_nulls()))
    columns = columns_of(shape.name, whole, shown.height, reasons)
    notes = [f"{labels.superscript(place)} {reason}" for place, reason in enumerate(reasons, 1)]
    return Grid(columns, notes + more, labels.caption(whole))


def _any_frame(frame: pl.DataFrame, more: Sequence[str]) -> Grid:
    """A frame without intervals: a result of ours with all its columns, any other with the first of them."""
    known = next((shape for shape in _PLAIN if set(shape.required) <= set(frame.columns)), None)
    if known is not None:
        return _plain_result(frame, known, more)
    there, notes = _worth_showing(frame) if "rollout_id" in frame.columns else (frame.columns, [])
    names = there[:_MOST_COLUMNS]
    left = len(there) - len(names)
    notes = [*more, *notes, *([labels.counted(left, "more column")] if left else [])]
    shown = [_column(frame, name, labels.plain(name)) for name in names]
    return Grid([column if place < 2 else replace(column, spare=1) for place, column in enumerate(shown)], notes)


def _worth_showing(frame: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Of turns, rollouts, steps or verdicts: the columns that tell rows apart, and what is said once of all of them."""
    known = [name for name in frame.columns if name in _KEYS or frame[name].count() > 0]
    alike = [
        name
        for name in known
        if frame.height > 1
        and name not in _KEYS
        and frame[name].count() == frame.height
        and not frame.schema[name].is_nested()
        and frame[name].n_unique() == 1
    ]
    same = [f"{labels.plain(name)} {labels.shorten(_cell(frame[name][0], _LONG), 40)}" for name in alike]
    empty = len(frame.columns) - len(known)
    more = f" and {labels.counted(len(same) - _SAID, 'more column')}" if len(same) > _SAID else ""
    notes = [f"In all rows: {', '.join(same[:_SAID])}{more}."] if same else []
    return [name for name in known if name not in alike], [
        *notes,
        *([f"{labels.counted(empty, 'column')} without any value"] if empty and frame.height else []),
    ]


def _plain_result(frame: pl.DataFrame, known: schema.Schema, more: Sequence[str]) -> Grid:
    """What is known of some row is a column, save what all rows of a PLAN have alike: that is said once, below."""
    plan = known is schema.PLAN
    there = [name for name in frame.columns if name in known.required or frame[name].count() > 0]
    alike = [
        name
        for name in there
        if plan and frame.height > 1 and name not in known.required and frame[name].n_unique() == 1
    ]
    columns = [_column(frame, name, labels.label(name), plan=plan) for name in there if name not in alike]
    same = [
        f"{labels.label(name)} {_words_of(name, frame.schema[name], plan=plan)(frame[name][0])}"
        for name in alike
        if name != "estimand"
    ]
    notes = [*more, *([f"In all rows: {', '.join(same)}."] if same else []), *(["no rows"] if frame.is_empty() else [])]
    estimand = labels.sentence(labels.plain(frame["estimand"][0])) if "estimand" in alike else ""
    return Grid(columns, notes, estimand)


def _column(frame: pl.DataFrame, name: str, heading: str, *, plan: bool = False) -> Column:
    shown = _words_of(name, frame.schema[name], plan=plan)
    cells = [shown(value) for value in frame[name].to_list()]
    return Column(
        heading, cells, words=not frame.schema[name].is_numeric(), spare=3 if plan and name == "method" else 0
    )


def _words_of(name: str, dtype: pl.DataType, *, plan: bool) -> Callable[[Any], str]:
    """How a cell of this column is said."""
    if plan and name in _RATES:
        return lambda value: labels.NOTHING if value is None else f"{100 * value:.3g} %"
    if plan and name in _POINTS:
        return lambda value: labels.number(value, rate=True).replace(" %", " points")
    if plan and dtype.is_integer():
        return labels.count
    if dtype == pl.Boolean:
        return yes_or_no
    most = _LONG if name in _SENTENCES or name in _KEYS else _MOST_LETTERS
    return lambda value: _cell(value, most)


def _cell(value: Any, most: int) -> str:
    if value is None:
        return labels.NOTHING
    shown = f"{value:,.4g}" if isinstance(value, float) else labels.plain(value)
    return labels.shorten(shown, most)
