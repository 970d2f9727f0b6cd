"""Aggregates of turns that stand together, rollout by rollout: by NumPy, which reduces runs in one pass, or else by Polars."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from turnwise.two_steps import by_row, expression_of, two_steps

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


class _Leaf(NamedTuple):
    """One aggregate that NumPy may know: its name, what it does, and to which values."""

    name: str
    kind: str
    of: pl.Expr


class Reduction:
    """What turns a batch of TURNS into a row for each rollout: its id, the first of each fact, and its values.

    A sum of floats is added in the order of its rows, in float64, whatever stands before and after the rollout: its last digits
    do not depend on the batch it came in, nor on the number of threads. Polars shares the rows of a group out to threads where
    there are many; not so where the key is known to be sorted, as the number of a run is.

    Parameters
    ----------
    facts
        Columns whose first value counts.
    values
        Expressions that reduce the turns of a rollout to one value.

    Examples
    --------
    >>> reduction = Reduction([], [pl.col("turn").max()])
    >>> reduction(pl.LazyFrame({"rollout_id": ["b", "b", "a"], "turn": [1, 2, 1]})).rows()
    [('b', 2), ('a', 1)]
    """

    def __init__(self, facts: Sequence[str], values: Sequence[pl.Expr]) -> None:
        self._facts = facts
        self._aggregates, self._made = two_steps(values)
        self._leaves = [leaf for aggregate in self._aggregates if (leaf := _leaf(aggregate)) is not None]

    def __call__(self, turns: pl.LazyFrame) -> pl.DataFrame:
        """The rows of turns in memory, where those of a rollout stand together, in the order in which they stand."""
        given = turns.select(leaf.of for leaf in self._leaves).collect_schema()
        quick = [leaf for leaf in self._leaves if (kinds := _REDUCED[leaf.kind]) is None or given[leaf.name] in kinds]
        rows = (
            turns.select("rollout_id", *self._facts, *(leaf.of for leaf in quick)).collect(engine="in-memory").rechunk()
        )
        key = pl.col("rollout_id").rle_id().set_sorted().alias("\0run")
        grouped = turns.group_by(key, maintain_order=True)
        dtypes = grouped.agg(self._aggregates).collect_schema()
        runs = _Runs(rows["rollout_id"])
        with np.errstate(all="ignore"):  # infinite and undefined numbers are values like others
            reduced = [
                runs.reduced(leaf.kind, rows[leaf.name]).cast(dtypes[leaf.name], wrap_numerical=True) for leaf in quick
            ]
        found: pl.DataFrame = rows.select("rollout_id", *self._facts)[runs.starts].hstack(reduced)
        known = {leaf.name for leaf in quick}
        rest = [aggregate for aggregate in self._aggregates if aggregate.meta.output_name() not in known]
        if rest:
            found = found.hstack(grouped.agg(rest).drop("\0run").collect(engine="in-memory"))
        return found.select("rollout_id", *self._facts, *self._made)


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
                made = self._sums(values.cast(pl.Float64)) / self._known(values)
            case _:
                made = self._most(kind, values)
        found = pl.Series(values.name, made)
        if kind not in {"Max", "Min", "Mean"} or not values.null_count():
            return found
        return found.zip_with(pl.Series(self._known(values) > 0), pl.Series([None], dtype=found.dtype))

    def _known(self, values: pl.Series) -> NDArray[np.int64]:
        """How many values are not null."""
        if not values.null_count():
            return self._lengths
        return np.add.reduceat(values.is_not_null().to_numpy(), self.starts, dtype=np.int64)

    def _sums(self, values: pl.Series) -> NDArray[np.number]:
        wide = pl.Float64 if values.dtype.is_float() else pl.UInt64 if values.dtype.is_unsigned_integer() else pl.Int64
        return np.add.reduceat(values.cast(wide).fill_null(0).to_numpy(), self.starts)

    def _most(self, kind: str, values: pl.Series) -> NDArray[np.number]:
        """The greatest or the least; NaN only where there is nothing else, as to Polars."""
        if values.dtype.is_float():
            reduce = np.fmax if kind == "Max" else np.fmin
            return reduce.reduceat(values.fill_null(np.nan).to_numpy(), self.starts)
        limits = np.iinfo(values.clear().to_numpy().dtype)
        if kind == "Max":
            return np.maximum.reduceat(values.fill_null(limits.min).to_numpy(), self.starts)
        return np.minimum.reduceat(values.fill_null(limits.max).to_numpy(), self.starts)
