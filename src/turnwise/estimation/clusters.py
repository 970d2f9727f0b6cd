"""Clusters: the rollouts of one group that an interval treats as correlated, and the random numbers of their bootstrap."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral

import numpy as np
import polars as pl

from turnwise.errors import ArgumentError, meant
from turnwise.estimation.arrays import Sheet
from turnwise.metrics import catalog
from turnwise.schema.arguments import Cluster
from turnwise.stats.clusters import Grouping
from turnwise.stats.estimate import BoolArray, Clusters, IntArray


@dataclass(frozen=True, slots=True)
class Unit:
    """The independent unit of an interval.

    Attributes
    ----------
    names
        The cluster columns; empty if rollouts themselves are independent.
    codes
        Integer (n,) for each column: the cluster of each row.
    ids
        A function that returns the ids of the first column's clusters, or of the rollouts. Only the bootstrap needs them.
    nulls
        Number of rows whose cluster is unknown; each such rollout is its own cluster.
    """

    names: tuple[str, ...]
    codes: Clusters
    ids: Callable[[], list[str]]
    nulls: int
    _entropy: dict[int, int] = field(default_factory=dict, repr=False, compare=False)

    def generator(self, seed: int) -> np.random.Generator:
        """Return the random numbers of this unit, as the function `generator` does; the ids are hashed once."""
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


class Group:
    """Rows of one group of a table, with the units that intervals over these rows treat as independent.

    All metrics that are known for the same rows use one `Group`, so each unit is computed once.
    """

    def __init__(self, sheet: Sheet, rows: IntArray) -> None:
        self.sheet, self.rows = sheet, rows
        self._units: dict[tuple[str, ...], Unit] = {}
        self._sizes: dict[str, tuple[int, int]] = {}

    def select(self, mask: BoolArray) -> "Group":
        """Return the selected rows as a group: this one, with the units it already has, if all are selected."""
        return self if mask.all() else Group(self.sheet, self.rows[mask])

    def cluster_columns(self, metric: str, cluster: Cluster) -> tuple[str, ...]:
        """Return the columns that form the unit of a metric in this group.

        ``"auto"`` looks at this group alone, so that other groups of the table never change its interval.

        Raises
        ------
        ArgumentError
            If a cluster column is missing or holds lists, or there are more than two.
        """
        # Validate even the columns chosen by "auto": `goal` may be a column of lists.
        names = self._auto(metric) if cluster == "auto" else _names_of(cluster)
        if len(names) > 2:
            raise ArgumentError(f"cluster={names}: at most two crossed ways are defined; join two columns into one")
        for name in names:
            if not self.sheet.has(name):
                columns = [column for column in self.sheet.frame.columns if "\0" not in column]
                raise ArgumentError(
                    f"cluster={name!r}: there is no such column; {meant(name, columns)} (cluster=None for none)"
                )
            if isinstance(self.sheet.frame[name].dtype, pl.List | pl.Array):
                raise ArgumentError(
                    f"cluster={name!r} is a column of lists; a rollout is in one cluster: name another column"
                )
        return names

    def _auto(self, metric: str) -> tuple[str, ...]:
        """Choose goal, task or both: both if each has several values and some of them occur in several rows."""
        sizes = {name: self._size(name) for name in ("goal", "task") if self.sheet.has(name)}
        if len(sizes) == 2 and all(1 < distinct < known for distinct, known in sizes.values()):
            return ("goal", "task")
        about = catalog.about(metric)
        if about is not None and about.concerns is not None:
            name = {"attack": "goal", "task": "task"}[about.concerns]
            return (name,) if name in sizes else ()
        # The metric concerns neither attack nor task: the first column that varies, else the first that has a value.
        varying = [name for name, (distinct, _) in sizes.items() if distinct > 1]
        filled = [name for name, (distinct, _) in sizes.items() if distinct]
        return tuple((varying or filled)[:1])

    def _size(self, name: str) -> tuple[int, int]:
        """Return the number of distinct known values of a column, and of the rows that have one."""
        if name not in self._sizes:
            column = self.sheet.coded(name)
            # Nulls do not count: an unknown goal neither varies nor repeats.
            known = column.codes[self.rows][~column.null[self.rows]]
            self._sizes[name] = _compact(known, column.count)[0].size, known.size
        return self._sizes[name]

    def unit(self, names: tuple[str, ...]) -> Unit:
        """Return the unit that these cluster columns form; without columns, the rollouts themselves."""
        if names not in self._units:
            columns = [self.sheet.coded(name) for name in names]
            compact = [_compact(column.codes[self.rows], column.count) for column in columns]
            # The seed of the draws depends on the first column only; ids are looked up when a bootstrap needs them.
            ids = partial(columns[0].labels, compact[0][0]) if columns else self._rollout_ids
            nulls = max((int(column.null[self.rows].sum()) for column in columns), default=0)
            self._units[names] = Unit(names, tuple(codes for _, codes in compact), ids, nulls)
        return self._units[names]

    def _rollout_ids(self) -> list[str]:
        return self.sheet.frame["rollout_id"].cast(pl.String).gather(self.rows).to_list()


def unit_of(sheet: Sheet, rows: IntArray, metric: str, cluster: Cluster) -> Unit:
    """Return the independent unit of a metric in these rows of a table.

    Raises
    ------
    ArgumentError
        As `Group.cluster_columns` does.
    """
    group = Group(sheet, rows)
    return group.unit(group.cluster_columns(metric, cluster))


def _compact(codes: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Return the distinct codes in order, and the position of each code among them, as `np.unique` does.

    Counts instead of sorting if there are not many more possible codes than rows: a million rows are not sorted for each metric.
    """
    if count > 4 * codes.size:
        return np.unique(codes, return_inverse=True)
    # The cumulative count of present codes is the position of each code among them.
    present = np.bincount(codes, minlength=count) > 0
    return np.flatnonzero(present), (np.cumsum(present, dtype=np.int64) - 1)[codes]


def columns_of(cluster: Cluster) -> tuple[str, ...]:
    """Return the columns that may form the unit, as far as known before looking at any group.

    Examples
    --------
    >>> columns_of("auto"), columns_of("prompt"), columns_of(None)
    (('goal', 'task'), ('prompt',), ())
    """
    return ("goal", "task") if cluster == "auto" else _names_of(cluster)


def _names_of(cluster: object) -> tuple[str, ...]:
    names = () if cluster is None else (cluster,) if isinstance(cluster, str) else cluster
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"cluster={cluster!r} names no columns; give one name, two, or None")
    return tuple(names)


def strata_of(sheet: Sheet, rows: IntArray, unit: Grouping, name: str, verb: str) -> IntArray:
    """Return the stratum of each cluster: integer (G,).

    Raises
    ------
    ArgumentError
        If the column does not exist, or a cluster is in several strata.
    """
    if not sheet.has(name):
        raise ArgumentError(f"{verb}: there is no column {name!r} for strata; {meant(name, sheet.frame.columns)}")
    codes = np.unique(sheet.frame[name].cast(pl.String).fill_null("").gather(rows).to_numpy(), return_inverse=True)[1]
    strata = np.zeros(unit.count, dtype=np.int64)
    # Each row writes the stratum of its cluster; reading it back shows whether rows of a cluster disagree.
    strata[unit.codes] = codes
    if not np.array_equal(strata[unit.codes], codes):
        raise ArgumentError(
            f"{verb}: strata={name!r} differs within a cluster; a stratum contains whole clusters: name another column, "
            "or pass cluster=None"
        )
    return strata


def generator(seed: int, ids: Sequence[str], *arm: str) -> np.random.Generator:
    """Return the random numbers that belong to a seed and sorted cluster ids (and the name of an arm).

    The same goals give the same draws, and no other rows of the table can change them.

    Examples
    --------
    >>> bool(generator(0, ["a", "b"]).random() == generator(0, ["a", "b"]).random())
    True
    """
    return np.random.Generator(np.random.PCG64DXSM(_entropy(seed, [*ids, *arm])))


def _entropy(seed: object, ids: Sequence[str]) -> int:
    """Hash a seed and ids; each id is preceded by its length, so that ("ab", "c") and ("a", "bc") differ."""
    if not isinstance(seed, Integral) or not -(2**63) <= int(seed) < 2**63:
        raise ArgumentError(f"seed={seed!r} is not a whole number of 64 bits; the same number gives the same draws")
    encoded = [word.encode(errors="surrogatepass") for word in ids]
    message = b"".join([part for word in encoded for part in (len(word).to_bytes(8, "little"), word)])
    return int.from_bytes(hashlib.blake2b(str(seed).encode() + message, digest_size=16).digest(), "little")
