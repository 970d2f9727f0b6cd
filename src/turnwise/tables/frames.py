"""Any frame -> a grid: those with intervals as their schema asks, all others as they are, in words."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from turnwise import schema
from turnwise.schema import labels
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
_ASSUMED = {"rate", "icc", "correlation", "level", "estimand"}  # of a PLAN
_RATES = {"below", "chance", "rate", "power", "level"}
_POINTS = {"difference", "half_width"}


def grid_of(frame: pl.DataFrame) -> Grid:
    """The grid of a frame."""
    shape = labels.shape_of(frame)
    shown = frame.head(MOST_ROWS)
    left = frame.height - shown.height
    more = [labels.counted(left, "more row")] if left else []
    if shape is None:
        return _any_frame(frame, shown, more)
    if frame.is_empty():
        return Grid([Column(labels.label(name), (), words=True) for name in shape.required], ["no rows"])
    whole = labels.finished(frame, shape, "show")
    reasons = list(dict.fromkeys(labels.plain(reason) for reason in whole.head(MOST_ROWS)["reason"].drop_nulls()))
    columns = columns_of(shape.name, whole, shown.height, reasons)
    notes = [f"{labels.superscript(place)} {reason}" for place, reason in enumerate(reasons, 1)]
    return Grid(columns, notes + more, labels.caption(whole))


def _any_frame(frame: pl.DataFrame, rows: pl.DataFrame, more: Sequence[str]) -> Grid:
    """A frame without intervals, its first rows: a result of ours with all its columns, any other with the first of them."""
    known = next((shape for shape in _PLAIN if set(shape.required) <= set(frame.columns)), None)
    if known is not None:
        return _plain_result(frame, rows, known, more)
    there, notes = _worth_showing(frame) if "rollout_id" in frame.columns else (frame.columns, [])
    spares = {name: _spare(frame, name) if place > 1 else 0 for place, name in enumerate(there)}
    kept = sorted(there, key=lambda name: spares[name])[:_MOST_COLUMNS]
    left = len(there) - len(kept)
    notes = [*more, *notes, *([labels.counted(left, "more column")] if left else [])]
    if any(_is_time(frame.schema[name]) for name in kept):
        notes.append("A time with + is that of a watch that ended without the event.")
    shown = [(_column(rows, name, labels.plain(name)), spares[name]) for name in there if name in kept]
    return Grid([replace(column, spare=spare) for column, spare in shown], notes)


def _spare(frame: pl.DataFrame, name: str) -> int:
    """Order in which columns are dropped for lack of room: extra columns of rollouts, then facts, then measures."""
    if not {"rollout_id", "num_turns"} <= set(frame.columns):
        return 1
    measured = schema.kind_of(frame.schema[name]) is not None and name not in set(schema.ROLLOUTS.names) - {"num_turns"}
    return 1 if measured else 2 if name in schema.ROLLOUTS.names else 3


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


def _plain_result(frame: pl.DataFrame, rows: pl.DataFrame, known: schema.Schema, more: Sequence[str]) -> Grid:
    """Keep columns that have some value; columns that are constant in a PLAN are stated once, below.

    Where there is one row, what it assumes is said there.
    """
    plan = known is schema.PLAN
    there = [name for name in frame.columns if name in known.required or frame[name].count() > 0]
    alike = [
        name
        for name in there
        if plan
        and frame[name].n_unique() == 1
        and (name not in known.required if frame.height > 1 else name in _ASSUMED)
    ]
    columns = [_column(rows, name, labels.label(name), plan=plan) for name in there if name not in alike]
    same = [
        f"{labels.label(name)} {_words_of(name, frame.schema[name], plan=plan)(frame[name][0])}"
        for name in alike
        if name != "estimand"
    ]
    told = "In all rows" if frame.height > 1 else "Assumed"
    notes = [*more, *([f"{told}: {', '.join(same)}."] if same else []), *(["no rows"] if frame.is_empty() else [])]
    estimand = labels.sentence(labels.plain(frame["estimand"][0])) if "estimand" in alike else ""
    return Grid(columns, notes, estimand)


def _column(frame: pl.DataFrame, name: str, heading: str, *, plan: bool = False) -> Column:
    shown = _words_of(name, frame.schema[name], plan=plan)
    cells = [shown(value) for value in frame[name].to_list()]
    words = not (frame.schema[name].is_numeric() or _is_time(frame.schema[name]))
    return Column(heading, cells, words=words, spare=3 if plan and name == "method" else 0)


def _words_of(name: str, dtype: pl.DataType, *, plan: bool) -> Callable[[Any], str]:
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
    """Return whether a cell says how long something took, or how long it was watched for in vain."""
    return isinstance(dtype, pl.Struct) and {field.name for field in dtype.fields} == {"duration", "observed"}


def _time(value: Any) -> str:
    """A time to an event, with a plus where the watch ended without it, as papers write it."""
    if value is None or value["duration"] is None:
        return labels.NOTHING
    return f"{value['duration']:,.4g}{'' if value['observed'] else '+'}"


def _cell(value: Any, most: int) -> str:
    if value is None:
        return labels.NOTHING
    shown = f"{value:,.4g}" if isinstance(value, float) else labels.plain(value)
    return labels.shorten(shown, most)
