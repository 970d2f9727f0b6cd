"""Clusters: the rollouts of a group that an interval treats as correlated, and the random numbers of their bootstrap."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral

import numpy as np
import polars as pl

from rollwise.errors import ArgumentError
from rollwise.estimation.arrays import Columns
from rollwise.metrics import catalog
from rollwise.schema.arguments import Cluster
from rollwise.schema.named import values_named
from rollwise.schema.other_names import meant_column
from rollwise.stats.estimate import BoolArray, Clusters, IntArray
from rollwise.stats.units import Groups, units_of


@dataclass(frozen=True, slots=True)
class Unit:
    """The independent unit of an interval."""

    names: tuple[str, ...]  # the cluster columns; empty if rollouts themselves are independent
    codes: Clusters  # Integer (n,) for each column: the cluster of each row
    ids: Callable[[], list[str]]  # a function that returns the ids of the first column's clusters, or of the rollouts
    size: int  # number of rows
    nulls: int  # number of rows whose cluster is unknown; each such rollout is its own cluster
    _entropy: dict[int, int] = field(default_factory=dict, repr=False, compare=False)

    def generator(self, seed: int) -> np.random.Generator:
        """Return the random numbers of this unit, as the function `generator` does; the ids are hashed once."""
        if seed not in self._entropy:
            self._entropy[seed] = entropy(seed, self.ids())
        return np.random.Generator(np.random.PCG64DXSM(self._entropy[seed]))

    @property
    def words(self) -> str:
        """The unit in words, for the estimand."""
        return unit_in_words(self.names, self.nulls, self.size)

    def why_independent(self, cluster: Cluster) -> str | None:
        """Return why rollouts count as independent although that was not asked for; None if they do not."""
        return UNNAMED if cluster == "auto" and is_unnamed(self.names, self.nulls, self.size) else None


UNNAMED = "no goal or task is named, so every rollout counts as independent"
"""Reason for an interval over rollouts of which nothing tells the cluster, where none was chosen."""


def is_unnamed(names: tuple[str, ...], nulls: IntArray | int, size: IntArray | int) -> BoolArray:
    """Return whether no row of a group has a cluster; of two crossed columns, the other one may be known."""
    return np.asarray((np.asarray(size) > 1) & ((len(names) == 0) | ((len(names) == 1) & (np.asarray(nulls) == size))))


def unit_in_words(names: tuple[str, ...], nulls: int, size: int) -> str:
    """Return the unit that these columns form in words, with the number of rollouts whose cluster is unknown."""
    if not names:
        return "rollout (no clusters)"
    if is_unnamed(names, nulls, size):
        return f"rollout (no {names[0]} is named)"
    return " x ".join(names) + (f" ({nulls} unknown, each its own)" if nulls else "")


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of several groups of a table, one group after another."""

    data: Columns
    numbers: IntArray  # Integer (n,): row numbers of the table
    groups: Groups  # the group of each row

    def select(self, mask: BoolArray) -> "Rows":
        """Return the selected rows, in the same groups."""
        if mask.all():
            return self
        return replace(self, numbers=self.numbers[mask], groups=Groups(self.groups.codes[mask], self.groups.count))

    def of(self, chosen: IntArray) -> tuple["Rows", BoolArray]:
        """Return the rows of these groups (ascending), which become groups 0, 1, ..., and the mask of these rows."""
        places = np.full(self.groups.count, -1, dtype=np.int64)
        places[chosen] = np.arange(chosen.size)
        codes = places[self.groups.codes]
        mask = codes >= 0
        return replace(self, numbers=self.numbers[mask], groups=Groups(codes[mask], chosen.size)), mask

    def units(self, metric: str, cluster: Cluster) -> list[tuple[tuple[str, ...], IntArray]]:
        """Return the columns that form the unit of a metric, with the groups that they do so in.

        ``"auto"`` looks at each group alone, so that other groups of the table never change its interval.
        """
        every = np.arange(self.groups.count)
        units = self._automatic(metric) if cluster == "auto" else [(_names_of(cluster), every)]
        for names, _ in units:
            if len(names) > 2:
                raise ArgumentError(f"cluster={names}: at most two crossed ways are defined; join two columns into one")
            # Validate even the columns chosen by "auto": `goal` may be a column of lists.
            for name in names:
                if not self.data.has(name):
                    raise ArgumentError(
                        f"cluster={name!r}: there is no such column; {meant_column(name, self.data.frame)} (cluster=None for none)"
                    )
                if isinstance(self.data.frame[name].dtype, pl.List | pl.Array):
                    raise ArgumentError(
                        f"cluster={name!r} is a column of lists; a rollout is in one cluster: name another column"
                    )
        return units

    def _automatic(self, metric: str) -> list[tuple[tuple[str, ...], IntArray]]:
        """Choose goal, task or both in each group: both if each has several values and some of them occur in several rows.

        Where the one that a metric concerns is unknown in most of a group, the other takes its place if it varies and is
        known in more rollouts.
        """
        sizes = {name: self._sizes(name) for name in ("goal", "task") if self.data.has(name)}
        crossed = np.full(self.groups.count, len(sizes) == 2)
        for distinct, num_known in sizes.values():
            crossed &= (distinct > 1) & (distinct < num_known)
        nothing = (np.zeros(self.groups.count, dtype=np.int64),) * 2
        about = catalog.about(metric)
        if about is not None and about.concerns is not None:
            name, substitute = {"attack": ("goal", "task"), "task": ("task", "goal")}[about.concerns]
            (_, num_known), (distinct, elsewhere) = sizes.get(name, nothing), sizes.get(substitute, nothing)
            # Attempts at one task are correlated although no goal is named, and the reverse.
            instead = ~crossed & (2 * num_known < self.groups.sizes) & (elsewhere > num_known) & (distinct > 1)
            others = [((substitute,), instead), ((name,) if name in sizes else (), ~crossed & ~instead)]
        else:
            # The metric concerns neither attack nor task: the first column that varies, else the first that has a value.
            others, undecided = [], ~crossed
            for least in (1, 0):
                for name, (distinct, _) in sizes.items():
                    others.append(((name,), undecided & (distinct > least)))
                    undecided = undecided & ~(distinct > least)
            others.append(((), undecided))
        return [(names, np.flatnonzero(mask)) for names, mask in [(("goal", "task"), crossed), *others] if mask.any()]

    def _sizes(self, name: str) -> tuple[IntArray, IntArray]:
        """Return the number of distinct known values of a column in each group, and of the rows that have one."""
        column = self.data.coded(name)
        # Nulls do not count: an unknown goal neither varies nor repeats.
        valued = self.select(~column.null[self.numbers])
        return units_of(column.codes[valued.numbers], valued.groups).counts, valued.groups.sizes


def unit_of(data: Columns, rows: IntArray, metric: str, cluster: Cluster) -> Unit:
    """Return the independent unit of a metric in these rows of a table."""
    ((names, _),) = Rows(data, rows, Groups.single(rows.size)).units(metric, cluster)
    columns = [data.coded(name) for name in names]
    units = [units_of(column.codes[rows], Groups.single(rows.size)) for column in columns]
    # The seed of the draws depends on the first column only; ids are looked up when a bootstrap needs them.
    ids = partial(columns[0].labels, units[0].codes) if columns else partial(rollout_ids, data, rows)
    nulls = max((int(column.null[rows].sum()) for column in columns), default=0)
    return Unit(names, tuple(unit.labels for unit in units if unit.labels is not None), ids, rows.size, nulls)


def way_out_of_one(data: Columns, rows: IntArray) -> str | None:
    """Return how to get an interval where all of these rollouts are of one goal, or None if no column tells prompts apart.

    garak's goal is that of a whole probe, whose prompts differ by `uuid`.
    """
    for name in PROMPTS:
        if data.has(name) and np.unique(data.coded(name).codes[rows]).size > 1:
            return f"its prompts differ, so cluster={name!r} has an interval over prompts like these"
    return None


def rollout_ids(data: Columns, rows: IntArray) -> list[str]:
    """Return the ids of these rollouts as text."""
    return data.frame["rollout_id"].cast(pl.String).gather(rows).to_list()


PROMPTS = ("uuid", "prompt_id", "prompt")
"""Columns outside the schema that tell the prompts of one goal apart, as producers name them."""


def columns_of(cluster: Cluster) -> tuple[str, ...]:
    """Return the columns that may form the unit, as far as known before looking at any group."""
    return ("goal", "task") if cluster == "auto" else _names_of(cluster)


def _names_of(cluster: object) -> tuple[str, ...]:
    names = () if cluster is None else (cluster,) if isinstance(cluster, str) else cluster
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"cluster={cluster!r} names no columns; give one name, two, or None")
    return tuple(names)


def strata_of(data: Columns, rows: IntArray, clusters: IntArray, count: int, name: str, verb: str) -> IntArray:
    """Return the stratum of each cluster, integer (count,), from the cluster of each row."""
    if not data.has(name):
        raise ArgumentError(f"{verb}: there is no column {name!r} for strata; {meant_column(name, data.frame)}")
    codes = np.unique(
        values_named(data.frame, name).cast(pl.String).fill_null("").gather(rows).to_numpy(), return_inverse=True
    )[1]
    strata = np.zeros(count, dtype=np.int64)
    # Each row writes the stratum of its cluster; reading it back shows whether rows of a cluster disagree.
    strata[clusters] = codes
    if not np.array_equal(strata[clusters], codes):
        raise ArgumentError(
            f"{verb}: strata={name!r} differs within a cluster; a stratum contains whole clusters: name another column, "
            "or pass cluster=None"
        )
    return strata


def generator(seed: int, ids: Sequence[str], *arm: str) -> np.random.Generator:
    """Return the random numbers that belong to a seed and sorted cluster ids (and the name of an arm).

    The same goals give the same draws, and no other rows of the table can change them.
    """
    return np.random.Generator(np.random.PCG64DXSM(entropy(seed, [*ids, *arm])))


def entropy(seed: object, ids: Sequence[str]) -> int:
    """Hash a seed and ids; each id is preceded by its length, so that ("ab", "c") and ("a", "bc") differ."""
    if not isinstance(seed, Integral) or not -(2**63) <= int(seed) < 2**63:
        raise ArgumentError(f"seed={seed!r} is not a whole number of 64 bits; the same number gives the same draws")
    encoded = [word.encode(errors="surrogatepass") for word in ids]
    message = b"".join([part for word in encoded for part in (len(word).to_bytes(8, "little"), word)])
    return int.from_bytes(hashlib.blake2b(str(seed).encode() + message, digest_size=16).digest(), "little")
