"""Columns by their literal names: for Polars, a column called `*` or `^...$` is a pattern that matches others."""

from collections.abc import Iterable
from typing import Any

import polars as pl
from polars import selectors


def column_named(name: str) -> pl.Expr:
    """Return the column of exactly this name, where `pl.col` would take `*` and `^...$` for patterns."""
    return selectors.by_name(name).as_expr() if is_pattern(name) else pl.col(name)


def columns_named(names: Iterable[str] | str) -> list[Any]:
    """Return the columns of exactly these names, for every argument of Polars that takes names of columns."""
    several = [names] if isinstance(names, str) else names
    return [selectors.by_name(name) if is_pattern(name) else name for name in several]


def columns_but(names: Iterable[str]) -> pl.Expr:
    """Return all columns except these names, some of which may be missing."""
    return (selectors.all() - selectors.by_name(*names, require_all=False)).as_expr()


def is_pattern(name: str) -> bool:
    """Return whether Polars takes the name for a pattern of names."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def values_named(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return the values of a column, under no name where that is a pattern: methods of a series look for its own name."""
    values = frame.get_column(name)
    return values.alias("") if is_pattern(name) else values
