"""A frame's groups, clusters and values as arrays, and estimates back into rows.

The only room besides the verbs above it that sees both Polars and `stats/`. Rows are ordered by `rollout_id` and
clusters by their id before anything becomes an array, so that no order of rows, chunks or threads can reach a number.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, meant
from turnwise.metrics import catalog
from turnwise.stats.clusters import Grouping
from turnwise.stats.estimate import BoolArray, Clusters, Estimate, FloatArray, IntArray
from turnwise.stats.incidence import Incidence
from turnwise.stats.influence import CENSORED, COMPETING, EVENT

Cluster = str | tuple[str, ...] | None
Made = TypeVar("Made")

_FIELDS = tuple(field.name for field in fields(Estimate))


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of words as codes.

    `codes` run from 0 to `count` - 1: the sorted words first, then nulls, marked in `null`, each rollout's one of its own.
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
        """The words of ascending codes, after a sign that tells them from the ids that stand for nulls."""
        words = int(np.searchsorted(codes, self.words.len()))
        named, nameless = self.words.gather(codes[:words]), self.nameless.gather(codes[words:] - self.words.len())
        return [*("=" + named).to_list(), *("?" + nameless.cast(pl.String)).to_list()]


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
        """Whether there is a column of that name."""
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
        """Which rows have a value: not null, and not NaN."""

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
        """What was spent when the watch of a ``Struct{duration, observed}`` ended: float64 (n,), NaN where unknown."""

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
            return Coded(codes, null.to_numpy(), words, alone.filter(begins))

        return self._once("coded", name, made)

    def groups(self, by: tuple[str, ...]) -> list[tuple[dict[str, Any], IntArray]]:
        """Each group's key and row numbers, groups in order of their keys; without `by`, one group.

        A row with a list is in the group of each value in it, once; with an empty one in that of null.
        """
        everything = np.arange(self.frame.height)
        if not by:
            return [({}, everything)]
        rows = pl.Series("row", everything, dtype=pl.Int64)
        keyed = self.frame.select(by).with_columns(rows.alias("\0row"))
        for name in by:
            if isinstance(keyed.schema[name], pl.List):
                keyed = keyed.with_columns(pl.col(name).list.unique()).explode(
                    name, empty_as_null=True, keep_nulls=True
                )
        grouped = keyed.group_by(by).agg("\0row").sort(by)
        keys = grouped.select(by).rows(named=True)
        return [(key, np.sort(part.to_numpy())) for key, part in zip(keys, grouped["\0row"], strict=True)]

    def once_for(self, rows: IntArray, key: tuple[str, ...], make: Callable[[], Made]) -> Made:
        """What was made of these very rows before, so that all metrics of a group share it."""
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


@dataclass(frozen=True, slots=True)
class Unit:
    """What an interval treats as independent: the columns by name, their codes per row, and the ids of the first.

    `names` is empty where rollouts themselves are independent. `nulls` counts rows whose cluster is unknown, each
    its own cluster.
    """

    names: tuple[str, ...]
    codes: Clusters
    ids: Callable[[], list[str]]
    nulls: int
    _entropy: dict[int, int] = field(default_factory=dict, repr=False, compare=False)

    def generator(self, seed: int) -> np.random.Generator:
        """The unit's own stream of random numbers, see `generator`; all metrics of a group look its ids up once."""
        if seed not in self._entropy:
            self._entropy[seed] = _entropy(seed, self.ids())
        return np.random.Generator(np.random.PCG64DXSM(self._entropy[seed]))

    @property
    def words(self) -> str:
        """The unit in words, for the estimand."""
        if not self.names:
            return "rollout (no clusters)"
        unknown = f" ({self.nulls} unknown, each its own)" if self.nulls else ""
        return " x ".join(self.names) + unknown


def unit_of(sheet: Sheet, rows: IntArray, metric: str, cluster: Cluster) -> Unit:
    """The independent unit of a metric in one group; `"auto"` looks at this group alone, so no other group changes a row.

    Raises
    ------
    ArgumentError
        Where a cluster column is missing, or there are more than two.
    """
    names = _auto_cluster(sheet, rows, metric) if cluster == "auto" else _named(cluster)
    if len(names) > 2:
        raise ArgumentError(f"cluster={names}: at most two crossed ways are defined; join two columns into one")
    for name in names:
        if not sheet.has(name):
            there = [column for column in sheet.frame.columns if "\0" not in column]
            raise ArgumentError(
                f"cluster={name!r}: there is no such column; {meant(name, there)} (cluster=None for none)"
            )
        if isinstance(sheet.frame.schema[name], pl.List | pl.Array):
            raise ArgumentError(
                f"cluster={name!r} is a column of lists; a rollout is in one cluster: name another column"
            )
    if not names:
        return sheet.once_for(
            rows,
            ("unit",),
            lambda: Unit((), (), lambda: sheet.frame["rollout_id"].cast(pl.String).gather(rows).to_list(), 0),
        )
    return sheet.once_for(rows, ("unit", *names), lambda: _unit(sheet, rows, names))


def _unit(sheet: Sheet, rows: IntArray, names: tuple[str, ...]) -> Unit:
    columns = [sheet.coded(name) for name in names]
    local = [_relabeled(column.codes[rows], column.count) for column in columns]
    return Unit(
        names,
        tuple(codes for _, codes in local),
        lambda: columns[0].labels(local[0][0]),
        max(int(column.null[rows].sum()) for column in columns),
    )


def _relabeled(codes: IntArray, most: int) -> tuple[IntArray, IntArray]:
    """The codes that there are, in order, and for each code its place among them, as `np.unique` gives them.

    By counting where codes are few, so that a million rows are not sorted for each metric.
    """
    if most > 4 * codes.size:
        there, places = np.unique(codes, return_inverse=True)
        return there, places
    present = np.bincount(codes, minlength=most) > 0
    return np.flatnonzero(present), (np.cumsum(present, dtype=np.int64) - 1)[codes]


def columns_of(cluster: Cluster) -> tuple[str, ...]:
    """The columns that an independent unit may be made of, known before any group is looked at.

    Examples
    --------
    >>> columns_of("auto"), columns_of("prompt"), columns_of(None)
    (('goal', 'task'), ('prompt',), ())
    """
    return ("goal", "task") if cluster == "auto" else _named(cluster)


def _named(cluster: object) -> tuple[str, ...]:
    names = () if cluster is None else (cluster,) if isinstance(cluster, str) else cluster
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"cluster={cluster!r} names no columns; give one name, two, or None")
    return tuple(names)


def _auto_cluster(sheet: Sheet, rows: IntArray, metric: str) -> tuple[str, ...]:
    spread = {name: _spread(sheet, rows, name) for name in ("goal", "task") if sheet.has(name)}
    if len(spread) == 2 and all(1 < distinct < known for distinct, known in spread.values()):
        return ("goal", "task")
    about = catalog.about(metric)
    if about is not None and about.concerns is not None:
        own = {"attack": "goal", "task": "task"}[about.concerns]
        return (own,) if own in spread else ()
    varying = [name for name, (distinct, _) in spread.items() if distinct > 1]
    filled = [name for name, (distinct, _) in spread.items() if distinct]
    return tuple((varying or filled)[:1])


def _spread(sheet: Sheet, rows: IntArray, name: str) -> tuple[int, int]:
    """Distinct known values of a column, and how many rows have one."""

    def made() -> tuple[int, int]:
        column = sheet.coded(name)
        known = column.codes[rows][~column.null[rows]]
        return _relabeled(known, column.count)[0].size, known.size

    return sheet.once_for(rows, ("spread", name), made)


def strata_of(sheet: Sheet, rows: IntArray, unit: Grouping, name: str, verb: str) -> IntArray:
    """The stratum of each cluster: integer (G,).

    Raises
    ------
    ArgumentError
        Where there is no such column, or a cluster lies in several strata.
    """
    if not sheet.has(name):
        raise ArgumentError(f"{verb}: there is no column {name!r} for strata; {meant(name, sheet.frame.columns)}")
    codes = np.unique(sheet.frame[name].cast(pl.String).fill_null("").gather(rows).to_numpy(), return_inverse=True)[1]
    strata = np.zeros(unit.count, dtype=np.int64)
    strata[unit.codes] = codes
    if not np.array_equal(strata[unit.codes], codes):
        raise ArgumentError(
            f"{verb}: strata={name!r} differs within a cluster; strata hold whole clusters: name another, or cluster=None"
        )
    return strata


def chosen(rows: IntArray, which: BoolArray) -> IntArray:
    """The chosen rows: the very same array where that is all of them, so that what was made of it is found again.

    Examples
    --------
    >>> rows = np.array([3, 5])
    >>> chosen(rows, np.array([True, True])) is rows, chosen(rows, np.array([False, True])).tolist()
    (True, [5])
    """
    return rows if which.all() else rows[which]


def generator(seed: int, ids: Sequence[str], *arm: str) -> np.random.Generator:
    """The group's own stream of random numbers, keyed by the seed and its sorted cluster ids (and an arm's name).

    The same goals give the same draws; nothing else in the frame can change them.

    Examples
    --------
    >>> bool(generator(0, ["a", "b"]).random() == generator(0, ["a", "b"]).random())
    True
    """
    return np.random.Generator(np.random.PCG64DXSM(_entropy(seed, [*ids, *arm])))


def _entropy(seed: object, words: Sequence[str]) -> int:
    if not isinstance(seed, Integral) or not -(2**63) <= int(seed) < 2**63:
        raise ArgumentError(f"seed={seed!r} is no whole number of 64 bits; the same number gives the same draws")
    known = [word.encode(errors="surrogatepass") for word in words]
    told = b"".join([part for word in known for part in (len(word).to_bytes(8, "little"), word)])
    return int.from_bytes(hashlib.blake2b(str(seed).encode() + told, digest_size=16).digest(), "little")


def endings(sheet: Sheet, metric: str, competing: Sequence[str]) -> dict[str, BoolArray]:
    """Which rows were watched to the event (``success``) or to each competing ending; all others are censored.

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
    """How each watch ended, as `stats` codes it: the event, a competing ending, or censored."""
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
