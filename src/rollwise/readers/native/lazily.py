"""Lazy tables that are TURNS already: which of them can stay lazy, since nothing is decided over all of their rows."""

from collections.abc import Collection

import polars as pl

from rollwise.readers.columns import arrange
from rollwise.readers.native.same_prompts import UNITS, repeated_prompts
from rollwise.readers.roles.benign import may_have_benign, may_say
from rollwise.readers.roles.columns import is_complete
from rollwise.readers.sources.panics import without_backtraces
from rollwise.schema.named import column_named, columns_named


def must_be_collected(lazy: pl.LazyFrame, named: Collection[str]) -> bool:
    """Return whether a lazy frame with the columns of TURNS may hold rollouts that are no attacks, or prompts without units.

    Only the columns that may say so are read.
    """
    if is_complete(lazy.collect_schema()):
        return False
    try:
        with without_backtraces():
            return _has_benign(lazy, named) or _lacks_units(lazy, named)
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
    ):  # collecting the frame raises, and says what is wrong with it
        return False


def _has_benign(lazy: pl.LazyFrame, named: Collection[str]) -> bool:
    names = [name for name, dtype in lazy.collect_schema().items() if may_say(name, dtype)]
    if not names or "attack" in named:
        return False
    return may_have_benign(lazy.select(columns_named(names)).unique().collect())


def _lacks_units(lazy: pl.LazyFrame, named: Collection[str]) -> bool:
    """Return whether there are neither goals nor tasks, and prompts say what they are."""
    columns = lazy.collect_schema()
    if UNITS & {*named} or "prompt" not in columns:
        return False
    stated = [name for name in columns if name in UNITS]
    if stated and any(lazy.select(columns_named(stated)).count().collect().row(0)):
        return False
    return (
        repeated_prompts(lazy.select("rollout_id", "turn", "prompt").collect().sort("turn", maintain_order=True))
        is not None
    )


def conform_lazily(lazy: pl.LazyFrame) -> pl.LazyFrame:
    """Return a lazy frame with the columns of TURNS with all of them, and NaN as null."""
    columns = lazy.collect_schema()
    clean = lazy.with_columns(column_named(name).fill_nan(None) for name, dtype in columns.items() if dtype.is_float())
    return arrange(clean)
