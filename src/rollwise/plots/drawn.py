"""Rows of result frames that a figure draws: each once, and those of its marks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from rollwise.errors import ArgumentError
from rollwise.schema import labels
from rollwise.schema.columns import Schema
from rollwise.schema.named import columns_named


def check_once(
    frame: pl.DataFrame,
    by: Sequence[str],
    verb: str,
    name: Callable[[Mapping[str, Any]], str],
    mend: str = "filter the frame to one row each",
) -> None:
    """Raise an error that names the first row whose values in the columns occur twice: one place would have two marks."""
    twice = frame.filter(frame.select(columns_named(dict.fromkeys(by))).is_duplicated())
    if not twice.is_empty():
        row = twice.row(0, named=True)
        quantity = f" for {row['metric']}" if "metric" in by else ""
        raise ArgumentError(f"{verb}: {name(row)} occurs twice{quantity}; {mend}")


def rows_of(frame: object, shape: Schema, verb: str, marks: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows of a result frame whose keys some mark has."""
    rows = labels.finished(frame, shape, verb)
    chosen = marks.select(columns_named(keys)).unique()
    return rows.join(chosen, on=columns_named(keys), how="semi", nulls_equal=True)
