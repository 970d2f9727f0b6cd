"""Columns by their literal names: for Polars, a column called `*` or `^...$` is a pattern that stands for others."""

from collections.abc import Iterable
from typing import Any

import polars as pl
from polars import selectors


def column_named(name: str) -> pl.Expr:
    """Return the column of exactly this name, where `pl.col` would take `*` and `^...$` for patterns.

    Examples
    --------
    >>> frame = pl.DataFrame({"*": [1], "^.$": [2], "a": [3]})
    >>> (
    ...     frame.select(column_named("*")).columns,
    ...     frame.select(column_named("^.$").max()).columns,
    ...     frame.select(column_named("a")).columns,
    ... )
    (['*'], ['^.$'], ['a'])
    """
    return selectors.by_name(name).as_expr() if is_pattern(name) else pl.col(name)


def columns_named(names: Iterable[str] | str) -> list[Any]:
    """Return the columns of exactly these names, for every argument of Polars that takes names of columns.

    Examples
    --------
    >>> frame = pl.DataFrame({"*": [1, 1], "a": [3, 4]})
    >>> frame.group_by(columns_named(["*"])).agg(pl.sum("a")).rows(), frame.drop(columns_named(["*"])).columns
    ([(1, 7)], ['a'])
    >>> frame.join(frame, on=columns_named(["*", "a"])).columns, columns_named("a")
    (['*', 'a'], ['a'])
    """
    several = [names] if isinstance(names, str) else names
    return [selectors.by_name(name) if is_pattern(name) else name for name in several]


def columns_but(names: Iterable[str]) -> pl.Expr:
    """Return all columns but those of these names, some of which may be missing.

    Examples
    --------
    >>> pl.DataFrame({"*": [1], "a": [2], "b": [3]}).select(columns_but(["*", "b", "c"])).columns
    ['a']
    """
    return (selectors.all() - selectors.by_name(*names, require_all=False)).as_expr()


def is_pattern(name: str) -> bool:
    """Return whether Polars takes the name for a pattern of names.

    Examples
    --------
    >>> [is_pattern(name) for name in ("*", "^$", "^a.*$", "a*", "^a", "")]
    [True, True, True, False, False, False]
    """
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def values_named(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return the values of a column, under no name where that is a pattern: methods of a series look for its own name.

    Examples
    --------
    >>> values_named(pl.DataFrame({"^$": [1, None]}), "^$").drop_nulls().to_list()
    [1]
    """
    values = frame.get_column(name)
    return values.alias("") if is_pattern(name) else values
