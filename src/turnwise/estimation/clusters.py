"""Clusters: rollouts of one group that an interval treats as correlated, and the random numbers that belong to them."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
import polars as pl

from turnwise.errors import ArgumentError, meant
from turnwise.estimation.arrays import Sheet
from turnwise.metrics import catalog
from turnwise.stats.clusters import Grouping
from turnwise.stats.estimate import Clusters, IntArray

Cluster = str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Unit:
    """Independent units of an interval: the columns by name, their codes per row, and the ids of the first.

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
        if isinstance(sheet.frame[name].dtype, pl.List | pl.Array):
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
