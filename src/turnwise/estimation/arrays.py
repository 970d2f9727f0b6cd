"""A frame's groups, clusters and values as arrays, and estimates back into rows.

With `units`, the only room besides the verbs above it that sees both Polars and `stats/`. Rows are ordered by `rollout_id` and
clusters by their id before anything becomes an array, so that no order of rows, chunks or threads can reach a number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.stats.estimate import BoolArray, Estimate, FloatArray, IntArray
from turnwise.stats.incidence import Incidence
from turnwise.stats.influence import CENSORED, COMPETING, EVENT

Made = TypeVar("Made")

_FIELDS = tuple(field.name for field in fields(Estimate))


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of words as codes.

    `codes` run from 0 to `count` - 1: the sorted words first, then nulls, marked in `null`, each rollout's one of its own.
    `words` and `nameless`, the ids that stand for nulls, begin with a sign that tells them apart.
    """

    codes: IntArray
    null: BoolArray
    words: pl.Series
    nameless: pl.Series

    @property
    def count(self) -> int:
        """Different words, each null among them."""
        return self.words.len() + self.nameless.len()

    def labels(self, codes: IntArray) -> list[str]:
        """The words of ascending codes, and the ids that stand for nulls."""
        words = int(np.searchsorted(codes, self.words.len()))
        named = self.words.gather(codes[:words]).to_list()
        if words == codes.size:
            return named
        return [*named, *self.nameless.gather(codes[words:] - self.words.len()).to_list()]


class Sheet:
    """ROLLOUTS as arrays, a row for each rollout in order of `rollout_id`.

    Each column is converted when it is first asked for and kept, so that a thousand groups cost one conversion.

    Examples
    --------
    >>> sheet = Sheet(pl.DataFrame({"rollout_id": ["b", "a"], "goal": ["g", None], "attack_success": [True, None]}))
    >>> sheet.numbers("attack_success").tolist(), sheet.coded("goal").codes.tolist()
    ([nan, 1.0], [1, 0])
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame.sort("rollout_id", maintain_order=True)
        self.kinds = {name: schema.kind_of(dtype) for name, dtype in self.frame.schema.items()}
        self._kept: dict[tuple[str, str], Any] = {}
        self._last: tuple[IntArray, dict[tuple[str, ...], Any]] = (np.arange(0), {})

    def has(self, name: str) -> bool:
        """Return whether there is a column of that name."""
        return name in self.kinds

    def fact(self, name: str) -> pl.Series:
        """A fact of the rollouts, or nulls where the table lacks it."""
        if self.has(name):
            return self.frame[name]
        nothing = pl.Series(name, [None], dtype=dict(schema.ROLLOUTS.dtypes)[name])
        return nothing.new_from_index(0, self.frame.height)

    def numbers(self, name: str) -> FloatArray:
        """A Boolean or numeric column as float64 (n,), NaN where it is unknown."""
        return self._once("numbers", name, lambda: self.fact(name).cast(pl.Float64).fill_null(float("nan")).to_numpy())

    def known(self, name: str) -> BoolArray:
        """Mark the rows that have a value: not null and not NaN."""

        def made() -> BoolArray:
            column = self.frame[name]
            return (column.fill_nan(None) if column.dtype.is_float() else column).is_not_null().to_numpy()

        return self._once("known", name, made)

    def times(self, metric: str) -> tuple[IntArray, BoolArray]:
        """Duration, 0 where unknown, and whether the event was observed."""

        def made() -> tuple[IntArray, BoolArray]:
            time = self.frame[metric].struct
            duration = time.field("duration").cast(pl.Int64).fill_null(0).to_numpy()
            return duration, time.field("observed").fill_null(value=False).to_numpy()

        return self._once("times", metric, made)

    def amounts(self, metric: str) -> FloatArray:
        """Amounts spent by the end of follow-up of a ``Struct{duration, observed}``: float64 (n,), NaN where unknown."""

        def made() -> FloatArray:
            spent = self.frame[metric].struct.field("duration").cast(pl.Float64)
            return spent.fill_null(float("nan")).to_numpy()

        return self._once("amounts", metric, made)

    def coded(self, name: str) -> Coded:
        """A column of ids as codes."""

        def made() -> Coded:
            column = self.frame[name].cast(pl.String)
            known, null = column.drop_nulls(), column.is_null()
            words = known.unique().sort()
            codes = np.empty(column.len(), dtype=np.int64)
            codes[~null.to_numpy()] = known.cast(pl.Enum(words)).to_physical().to_numpy()
            alone = self.frame["rollout_id"].filter(null)
            begins = alone.ne_missing(alone.shift())  # a rollout may have several rows where they are its turns
            codes[null.to_numpy()] = words.len() - 1 + begins.cum_sum().cast(pl.Int64).to_numpy()
            return Coded(codes, null.to_numpy(), "=" + words, "?" + alone.filter(begins).cast(pl.String))

        return self._once("coded", name, made)

    def groups(self, by: tuple[str, ...]) -> list[tuple[dict[str, Any], IntArray]]:
        """Each group's key and row numbers, groups in order of their keys; without `by`, one group.

        A row with a list is in the group of each value in it, once; with an empty one in that of null.
        """
        everything = np.arange(self.frame.height)
        if not by:
            return [({}, everything)]
        rows = pl.Series("row", everything, dtype=pl.Int64)
        keyed = in_each_group(self.frame.select(by).with_columns(rows.alias("\0row")), by)
        grouped = keyed.group_by(by).agg("\0row").sort(by)
        keys = grouped.select(by).rows(named=True)
        return [(key, np.sort(part.to_numpy())) for key, part in zip(keys, grouped["\0row"], strict=True)]

    def once_for(self, rows: IntArray, key: tuple[str, ...], make: Callable[[], Made]) -> Made:
        """Return the value computed earlier for these very rows, so that all metrics of a group share it."""
        if self._last[0] is not rows:
            self._last = (rows, {})
        kept = self._last[1]
        if key not in kept:
            kept[key] = make()
        made: Made = kept[key]
        return made

    def _once(self, kind: str, name: str, make: Callable[[], Made]) -> Made:
        if (kind, name) not in self._kept:
            self._kept[kind, name] = make()
        made: Made = self._kept[kind, name]
        return made


def chosen(rows: IntArray, which: BoolArray) -> IntArray:
    """The chosen rows: the very same array where that is all of them, so that what was made of it is found again.

    Examples
    --------
    >>> rows = np.array([3, 5])
    >>> chosen(rows, np.array([True, True])) is rows, chosen(rows, np.array([False, True])).tolist()
    (True, [5])
    """
    return rows if which.all() else rows[which]


def endings(sheet: Sheet, metric: str, competing: Sequence[str]) -> dict[str, BoolArray]:
    """Mark the rows followed up to the event (``success``) or to each competing ending; all others are censored.

    An ending competes only where the rollout was watched to its last turn. For another event than the attack's
    success, an ending in success competes too: the rollout stopped there.
    """
    duration, observed = sheet.times(metric)
    ending = sheet.fact("ending").cast(pl.String)
    whole = ~observed & (duration >= sheet.fact("num_turns").fill_null(0).to_numpy())
    taken = {} if metric == "time_to_success" else {f"{schema.SUCCESS} of the attack": schema.SUCCESS}
    taken |= {word: word for word in competing}
    ended = {name: (ending == word).fill_null(value=False).to_numpy() & whole for name, word in taken.items()}
    return {schema.SUCCESS: observed, **ended}


def successes_of_unknown_time(sheet: Sheet, rows: IntArray, metric: str) -> int:
    """Successes that the log knows only of the whole rollout, where it had several turns to fall in."""
    if metric != "time_to_success":
        return 0
    _, observed = sheet.times(metric)
    unjudged = (sheet.numbers("num_judged")[rows] == 0) & (sheet.numbers("num_turns")[rows] > 1)
    return int((observed[rows] & unjudged).sum())


def causes(ways: dict[str, BoolArray], rows: IntArray, event: str = schema.SUCCESS) -> IntArray:
    """Return the cause that ended each follow-up, as `stats` codes it: the event, a competing ending, or censored."""
    cause = np.full(rows.size, CENSORED)
    for way, happened in ways.items():
        cause[happened[rows]] = EVENT if way == event else COMPETING
    return cause


def rows_of(
    estimates: Sequence[dict[str, Any]], frame: pl.DataFrame, by: tuple[str, ...], result: schema.Schema
) -> pl.DataFrame:
    """The finished frame: the grouping columns with their own dtypes, or those of what they list, then the result's columns."""
    held = {name: frame.schema[name] for name in by}
    keys = {name: dtype.inner if isinstance(dtype, pl.List) else dtype for name, dtype in held.items()}
    return pl.DataFrame(estimates, schema={**keys, **result.dtypes}, orient="row")


def row_of(estimate: Estimate) -> dict[str, Any]:
    """The estimate's fields by column name."""
    return {name: getattr(estimate, name) for name in _FIELDS}


def positions_of(found: Incidence, note: str | None, axis: FloatArray | None = None) -> list[dict[str, Any]]:
    """The positions of a curve by column name, NaN as null; the note joins the reason of each but position 0.

    `axis` says where positions 0, 1, ... stand, if not at themselves; where position 1 is at 0 too, it alone is.
    """
    numbers = {name: getattr(found, name) for name in ("estimate", "std_error", "low", "high")}
    counts = {name: getattr(found, name) for name in ("at_risk", "events", "censored", "competing", "n_clusters")}
    return [
        {
            "at": float(at if axis is None else axis[at]),
            "method": found.method,
            "reason": "; ".join(part for part in (found.reason[place], note if at else None) if part) or None,
            **{name: None if np.isnan(values[place]) else float(values[place]) for name, values in numbers.items()},
            **{name: int(values[place]) for name, values in counts.items()},
        }
        for place, at in enumerate(found.at)
        if at or axis is None or axis[1:2].tolist() != [0.0]
    ]


def in_each_group(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The frame, a row with a list once for each value in it, and for null where the list is empty."""
    for name in by:
        if isinstance(frame.schema[name], pl.List):
            frame = frame.with_columns(pl.col(name).list.unique()).explode(name, empty_as_null=True, keep_nulls=True)
    return frame
