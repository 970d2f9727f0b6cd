"""Groups of a result frame: the grouping columns, and labels for their values."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.schema.labels.frames import shape_of
from rollwise.schema.labels.text import plain
from rollwise.schema.labels.words import label
from rollwise.schema.named import column_named, columns_named

NONE = "(none)"  # a null among the groups
ALL = "all rollouts"  # the one group of a frame without grouping columns


def grouping(frame: pl.DataFrame) -> list[str]:
    """Return the grouping columns of a result frame."""
    shape = shape_of(frame)
    has_own_names = shape is not None and shape.name not in {"SUMMARY", "CONTRAST", "CURVE"}
    result_columns = set(shape.names) if shape is not None and has_own_names else schema.result_names()
    return [name for name in frame.columns if name not in result_columns]


def value_name(value: Any) -> str:
    """Format a value of a grouping column without the column's name; null becomes ``(none)``."""
    return NONE if value is None else f"{value:.10g}" if isinstance(value, float) else plain(value)


def group_name(row: Mapping[str, Any], by: Sequence[str]) -> str:
    """Return the label of a row's group: values joined by a dot, numbers preceded by the name of their column."""
    return (
        " · ".join(
            f"{label(name)} {value_name(row[name])}" if _counts(row[name]) else value_name(row[name]) for name in by
        )
        or ALL
    )


def _counts(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def group_names(frame: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """Return the label of each row's group; different groups get different labels."""
    rows = frame.select(columns_named(by)).to_dicts() if by else [{} for _ in range(frame.height)]
    keys = [repr(row) for row in rows]  # repr also works for lists, which cannot be dict keys
    # A null and the text "(none)" have the same label: the second one gets a number.
    names: dict[str, str] = {}
    used: set[str] = set()
    for row, key in zip(rows, keys, strict=True):
        if key not in names:
            name, turn = group_name(row, by), 1
            while (words := name if turn == 1 else f"{name} ({turn})") in used:
                turn += 1
            names[key] = words
            used.add(words)
    return [names[key] for key in keys]


def group_keys(frame: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """Return JSON of the grouping columns and values of each row, except columns that pool all groups."""
    rows = frame.select(columns_named(by)).to_dicts() if by else [{} for _ in range(frame.height)]
    return [
        json.dumps({name: value for name, value in row.items() if value != schema.POOLED}, default=str) for row in rows
    ]


def own_order(frame: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """Return the group labels in the order of their values if a grouping column is numeric; otherwise an empty list."""
    if not any(frame.schema[name].is_numeric() for name in by):
        return []
    named = frame.select(columns_named(by)).with_columns(pl.Series("\0name", group_names(frame, by)))
    return named.unique("\0name").sort(columns_named(by), nulls_last=True)["\0name"].to_list()


def unpooled(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the rows of single groups, without pooled margins (`rw.summarize(..., margins=True)`); all if all are pooled."""
    pooled = [column_named(name).cast(pl.String).eq_missing(pl.lit(schema.POOLED)) for name in by]
    single = frame.filter(~pl.any_horizontal(pooled)) if pooled else frame
    return single if single.height else frame


def compared(row: Mapping[str, Any]) -> str:
    """Return a label for the two sides compared in a row of AGREEMENT."""
    if row["comparison"] == "panel":
        return "all judges"
    judge = NONE if row["judge"] is None else plain(row["judge"])
    counterpart = {"labels": "the labels", "samples": "itself"}.get(row["comparison"]) or plain(row["other"])
    return f"{judge} with {counterpart}"
