"""Aggregates of turns that stand together, rollout by rollout: by NumPy, which reduces runs in one pass, or else by Polars."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.lazyframe.group_by import LazyGroupBy

from turnwise.measurement.two_steps import by_row, expression_of, two_steps

_WHOLE = {pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64}
_REAL = {pl.Float32, pl.Float64}
# The values of each kind that NumPy reduces as Polars does, but for the order in which it adds.
_REDUCED = {
    "First": None,
    "Last": None,
    "Count": None,
    "Len": None,
    "Max": _WHOLE | _REAL,
    "Min": _WHOLE | _REAL,
    "Sum": _WHOLE | _REAL | {pl.Boolean},
    "Mean": _WHOLE | _REAL | {pl.Boolean},
}
_LONG = 64  # rows of a run; below it a few passes over all rows are faster than a loop over runs
_Which = slice | NDArray[np.int64]


class _Leaf(NamedTuple):
    """One aggregate that NumPy may know: its name, what it does, and to which values."""

    name: str
    kind: str
    of: pl.Expr


class Reduction:
    """What turns a batch of TURNS into a row for each rollout: its id, the first of each fact, and its values.

    A sum of floats is added in an order of its own rows alone, in float64, whatever stands before and after it: its last digits
    do not depend on the batch it came in, nor on the number of threads. Polars shares the rows of a group out to threads where
    there are many; not so where the key is known to be sorted, as the number of a run is.

    Parameters
    ----------
    columns
        Those of TURNS.
    facts
        Columns whose first value counts.
    values
        Expressions that reduce the turns of a rollout to one value.

    Examples
    --------
    >>> turns = pl.LazyFrame({"rollout_id": ["b", "b", "a"], "turn": [1, 2, 1]})
    >>> reduction = Reduction(turns.collect_schema(), [], [pl.col("turn").max()])
    >>> reduction(turns).rows()
    [('b', 2), ('a', 1)]
    """

    def __init__(self, columns: pl.Schema, facts: Sequence[str], values: Sequence[pl.Expr]) -> None:
        aggregates, self._made = two_steps(values)
        leaves = [leaf for aggregate in aggregates if (leaf := _leaf(aggregate)) is not None]
        turns = pl.LazyFrame(schema=columns)
        given = turns.select(leaf.of for leaf in leaves).collect_schema()
        self._facts = ["rollout_id", *facts]
        self._leaves = [leaf for leaf in leaves if (kinds := _REDUCED[leaf.kind]) is None or given[leaf.name] in kinds]
        known = {leaf.name for leaf in self._leaves}
        self._rest = [aggregate for aggregate in aggregates if aggregate.meta.output_name() not in known]
        self._dtypes = _by_run(turns).agg(aggregates).collect_schema()

    def __call__(self, turns: pl.LazyFrame) -> pl.DataFrame:
        """The rows of turns in memory, where those of a rollout stand together, in the order in which they stand."""
        asked = turns.select(*self._facts, *(leaf.of for leaf in self._leaves))
        rows = asked.collect(engine="in-memory").rechunk()
        runs = _Runs(rows["rollout_id"])
        with np.errstate(all="ignore"):  # infinite and undefined numbers are values like others
            reduced = [
                runs.reduced(leaf.kind, rows[leaf.name]).cast(self._dtypes[leaf.name], wrap_numerical=True)
                for leaf in self._leaves
            ]
        found: pl.DataFrame = rows[runs.starts, self._facts].hstack(reduced)
        if self._rest:
            found = found.hstack(_by_run(turns).agg(self._rest).drop("\0run").collect(engine="in-memory"))
        return found.select(*self._facts, *self._made)


def _by_run(turns: pl.LazyFrame) -> LazyGroupBy:
    return turns.group_by(pl.col("rollout_id").rle_id().set_sorted().alias("\0run"), maintain_order=True)


def _leaf(aggregate: pl.Expr) -> _Leaf | None:
    """The aggregate taken apart; None where it is none that NumPy knows, of values that each row has by itself."""
    name = aggregate.meta.output_name()
    try:
        tree = json.loads(aggregate.meta.undo_aliases().meta.serialize(format="json"))
    except pl.exceptions.PolarsError:  # a function of Python's
        return None
    kind, of = next(iter(tree["Agg"].items())) if "Agg" in tree else (None, None)
    match kind, of:
        case (("First" | "Last" | "Mean" | "Sum"), _):
            pass
        case (("Max" | "Min"), {"input": of, "propagate_nans": False}):
            pass
        case "Count", {"input": of, "include_nulls": nulls}:
            kind = "Len" if nulls else "Count"
        case _:
            return None
    return _Leaf(name, kind, expression_of(of).alias(name)) if by_row(of) else None


class _Runs:
    """Where each run of one id starts and ends."""

    def __init__(self, ids: pl.Series) -> None:
        self._lengths = ids.rle().struct.field("len").to_numpy().astype(np.int64)
        self._ends = self._lengths.cumsum() - 1
        self.starts = self._ends - self._lengths + 1

    def reduced(self, kind: str, values: pl.Series) -> pl.Series:
        """What the values come to in each run."""
        made: NDArray[np.generic]
        match kind:
            case "First":
                return values.gather(self.starts)
            case "Last":
                return values.gather(self._ends)
            case "Len":
                made = self._lengths
            case "Count":
                made = self._known(values)
            case "Sum":
                made = self._sums(values)
            case "Mean":
                known = self._known(values)
                made = self._sums(values.cast(pl.Float64)) / known
                return pl.Series(values.name, made).set(pl.Series(known == 0), None)
            case _:
                return self._most(kind, values)
        return pl.Series(values.name, made)

    def _known(self, values: pl.Series) -> NDArray[np.int64]:
        """How many values are not null."""
        if values.null_count() in {0, len(values)}:
            return self._lengths * (not values.null_count())
        return np.add.reduceat(values.is_not_null().to_numpy(), self.starts, dtype=np.int64)

    def _sums(self, values: pl.Series) -> NDArray[np.number]:
        wide = pl.Float64 if values.dtype.is_float() else pl.UInt64 if values.dtype.is_unsigned_integer() else pl.Int64
        return np.add.reduceat(_filled(values.cast(wide), 0), self.starts)

    def _most(self, kind: str, values: pl.Series) -> pl.Series:
        """The greatest or the least; null where there is nothing, NaN only where there is nothing else, as to Polars."""
        real = values.dtype.is_float()
        limits = None if real else np.iinfo(values.clear().to_numpy().dtype)
        low, high = (-np.inf, np.inf) if limits is None else (limits.min, limits.max)
        reduce, undefined, filler = (np.maximum, np.fmax, low) if kind == "Max" else (np.minimum, np.fmin, high)
        made = self._in_any_order(reduce, _filled(values, filler))
        if real and np.isnan(made).any():
            made, filler = undefined.reduceat(_filled(values, np.nan), self.starts), np.nan
        found = pl.Series(values.name, made)
        if not values.null_count():
            return found
        nothing = self._known(values) == 0 if (values == filler).any() else made == filler
        return found.set(pl.Series(nothing), None)

    def _in_any_order(self, reduce: np.ufunc, numbers: NDArray[np.number]) -> NDArray[np.number]:
        """Each run reduced where order and repeats do not matter, so that two windows which overlap may cover a run."""
        if self._lengths.max(initial=0) > _LONG:
            made: NDArray[np.number] = reduce.reduceat(numbers, self.starts)
            return made
        made, reached = np.empty(len(self.starts), dtype=numbers.dtype), 1
        for width, runs, first, second in self._windows:
            while reached < width:
                numbers = reduce(numbers[:-reached], numbers[reached:])  # of windows twice as wide
                reached *= 2
            made[runs] = reduce(numbers[first], numbers[second])
        return made

    @cached_property
    def _windows(self) -> list[tuple[int, _Which, _Which, _Which]]:
        """Powers of two, the runs for which each is the greatest that fits, and where their two windows start."""
        power = np.frexp(self._lengths)[1] - 1
        longest = int(self._lengths.max(initial=1))
        if (self._lengths == longest).all():  # slices spare all but the rows that count
            width = 1 << int(power.max(initial=0))
            return [(width, slice(None), slice(0, None, longest), slice(longest - width, None, longest))]
        found: list[tuple[int, _Which, _Which, _Which]] = []
        for each in np.flatnonzero(np.bincount(power)).tolist():
            runs = np.flatnonzero(power == each)
            found.append((1 << each, runs, self.starts[runs], self._ends[runs] - (1 << each) + 1))
        return found


def _filled(values: pl.Series, filler: float) -> NDArray[np.number]:
    return (values.fill_null(filler) if values.null_count() else values).to_numpy()
