"""SUMMARY as a table of two crossed columns: a row for each value of one, a column for each value of the other."""

from typing import Any

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, listing, meant
from rollwise.schema import labels
from rollwise.schema.named import columns_named, values_named
from rollwise.tables.frames import best_note
from rollwise.tables.grid import Column, Grid
from rollwise.tables.parts import UNKNOWN, best_rows


def crossed_grid(
    summary: object,
    *,
    rows: str,
    columns: str,
    metric: str | None,
    statistic: str | None,
    level: float | None,
    best: str | None = None,
) -> Grid:
    """Return the grid with an estimate and its interval in each cell."""
    frame = labels.finished(summary, schema.SUMMARY, "pivot")
    _check_names(frame, rows, columns)
    for name, value in (("metric", metric), ("statistic", statistic), ("level", level)):
        frame = labels.choose(frame, "pivot", **{name: value})
        _check_one(frame, name)
    _check_cells(frame, rows, columns)
    frame = labels.merge_reasons(frame)
    reasons = list(dict.fromkeys(labels.plain(reason) for reason in frame["reason"].drop_nulls()))
    cells = _cells(frame, rows, columns, reasons)
    down, across = (_values(frame, name) for name in (rows, columns))
    grid_columns = [
        Column(labels.label(rows), [labels.value_name(value) for value in down], words=True),
        *(
            Column(
                labels.value_name(value),
                [cells.get((row, value), "") for row in down],
                stacked=True,
                best=_best(frame, rows, columns, down, value, best),
            )
            for value in across
        ),
    ]
    title = _quantity_sentence(frame, rows, columns)
    sentences = [title]
    if schema.POOLED in {*down, *across}:
        sentences.append(f"Pooled: {schema.POOLED}.")
    if len(cells) < len(down) * len(across):
        sentences.append("Empty cells have no rollouts.")
    # Pooled cells would count every rollout again.
    single = labels.unpooled(frame, labels.grouping(frame))
    if unknown := ", ".join(
        f"{labels.label(name)} {count:,}" for name in UNKNOWN if (count := int(single[name].sum()))
    ):
        sentences.append(f"Rollouts without a value: {unknown}.")
    # A reason is a footnote of the cells that it concerns.
    footnotes = [f"{labels.superscript(place)} {reason}" for place, reason in enumerate(reasons, 1)]
    return Grid(
        grid_columns,
        [*footnotes, " ".join(sentences)],
        labels.caption(single),
        spanner=labels.label(columns),
        title=title,
        best=best_note(best, per_column=True),
    )


def _best(
    frame: pl.DataFrame, rows: str, columns: str, down: list[Any], across: Any, best: str | None
) -> frozenset[int]:
    """Return the best rows of a column among the rows that are not pooled."""
    by_cell = {(row[rows], row[columns]): row["estimate"] for row in frame.iter_rows(named=True)}
    estimates = [by_cell.get((row, across)) if row != schema.POOLED else None for row in down]
    return best_rows(estimates, [0] * len(down), best)


def _check_names(frame: pl.DataFrame, rows: str, columns: str) -> None:
    available = labels.grouping(frame)
    for name in (rows, columns):
        if name not in available:
            raise ArgumentError(
                f"pivot: the SUMMARY is not grouped by {name!r}; {meant(name, available)}"
                if available
                else f"pivot: the SUMMARY has no groups; make it with `rw.summarize(rollouts, by=[{rows!r}, {columns!r}])`"
            )
    if rows == columns:
        raise ArgumentError(f"pivot: rows and columns are both {rows!r}; name two columns of {listing(available)}")


def _check_one(frame: pl.DataFrame, name: str) -> None:
    values = values_named(frame, name).unique(maintain_order=True).to_list()
    if len(values) > 1:
        raise ArgumentError(
            f"pivot: a cell shows one estimate, but there are {len(values)} {name}s; "
            f"choose one with {name}= ({listing(values, most=12)})"
        )


def _check_cells(frame: pl.DataFrame, rows: str, columns: str) -> None:
    """Check that no cell has two rows: of further groups, or of a frame that was put together."""
    others = [name for name in labels.grouping(frame) if name not in {rows, columns}]
    several = [name for name in others if frame[name].n_unique() > 1]
    if several:
        raise ArgumentError(
            f"pivot: the SUMMARY is grouped by {listing(several)} too; filter it to one value, "
            f"or make it with `rw.summarize(rollouts, by=[{rows!r}, {columns!r}])`"
        )
    twice = frame.filter(frame.select(*columns_named(rows), *columns_named(columns)).is_duplicated())
    if twice.height:
        cell = labels.group_name(twice.row(0, named=True), [rows, columns])
        raise ArgumentError(f"pivot: cell {cell!r} occurs twice; filter the frame to one row for each cell")


def _values(frame: pl.DataFrame, name: str) -> list[Any]:
    """Return the values along one side: numbers in ascending order, others in the order of the frame, pooled last."""
    values = values_named(frame, name).unique(maintain_order=True)
    ordered = (values.sort(nulls_last=True) if values.dtype.is_numeric() else values).to_list()
    return sorted(ordered, key=lambda value: value == schema.POOLED)


def _cells(frame: pl.DataFrame, rows: str, columns: str, reasons: list[str]) -> dict[tuple[Any, Any], str]:
    """Return the text of each cell, by its values of the two columns."""
    cells = {}
    rate = labels.is_rate(frame["metric"][0], frame)
    for row in frame.iter_rows(named=True):
        mark = labels.superscript(1 + reasons.index(labels.plain(row["reason"]))) if row["reason"] else ""
        text = f"{labels.interval_text(row, rate=rate)} {mark}".rstrip()
        cells[row[rows], row[columns]] = text
    return cells


def _quantity_sentence(frame: pl.DataFrame, rows: str, columns: str) -> str:
    first = frame.row(0, named=True)
    what = labels.quantity(first["metric"], first["statistic"], frame)
    level = f", with {labels.level_text(first['level'])} intervals" if first["level"] is not None else ""
    return labels.sentence(f"{what} by {labels.label(rows)} (rows) and {labels.label(columns)} (columns){level}")
