"""One metric in several groups of ROLLOUTS: its values, with their weights and independent units, and the options."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rollwise.choices import Method, Unjudged, Weighting
from rollwise.estimation.clusters import Rows, entropy, is_unnamed, rollout_ids
from rollwise.estimation.missingness import Statuses
from rollwise.schema.arguments import Cluster
from rollwise.stats.estimate import BoolArray, Clusters, FloatArray, IntArray
from rollwise.stats.units import Groups, units_of


@dataclass(frozen=True, slots=True)
class Sample:
    """Rollouts of several groups with their values, their independent unit and their weights; times have values of zero."""

    rows: Rows
    values: FloatArray
    weights: FloatArray | None
    names: tuple[str, ...]  # the cluster columns; empty if rollouts themselves are independent
    codes: Clusters  # Integer (n,) for each cluster column
    nulls: IntArray  # Integer (T,): the rollouts of each group whose cluster is unknown

    @property
    def groups(self) -> Groups:
        """The group of each rollout."""
        return self.rows.groups

    @property
    def is_unnamed(self) -> BoolArray:
        """Of each group, whether it has several rollouts and none has a cluster."""
        return is_unnamed(self.names, self.nulls, self.groups.sizes)

    def of(self, chosen: IntArray) -> "Sample":
        """Return the rollouts of these groups, which become groups 0, 1, ...."""
        rows, mask = self.rows.of(chosen)
        return replace(
            self,
            rows=rows,
            values=self.values[mask],
            weights=None if self.weights is None else self.weights[mask],
            codes=tuple(way[mask] for way in self.codes),
            nulls=self.nulls[chosen],
        )

    def by_group(self) -> Iterator["Sample"]:
        """Yield each group separately."""
        starts = self.groups.starts
        for group in range(self.groups.count):
            part = slice(*starts[group : group + 2])
            rows = replace(self.rows, numbers=self.rows.numbers[part], groups=Groups.single(part.stop - part.start))
            weights = None if self.weights is None else self.weights[part]
            codes = tuple(way[part] for way in self.codes)
            yield Sample(rows, self.values[part], weights, self.names, codes, self.nulls[group : group + 1])

    def generator(self, group: int, seed: int) -> np.random.Generator:
        """Return the random numbers of a group's units: the same goals give the same draws, whatever else the table has."""
        part = slice(*self.groups.starts[group : group + 2])
        data = self.rows.data
        members = np.sort(self.codes[0][part]) if self.names else self.rows.numbers[part]
        if self.names and members.size:  # each code once
            members = members[np.append(True, members[1:] != members[:-1])]
        key = seed, self.names[:1], members.tobytes()
        if key not in data.entropies:
            # The ids of the first column's units, or of the rollouts.
            ids = data.coded(self.names[0]).labels(members) if self.names else rollout_ids(data, members)
            data.entropies[key] = entropy(seed, ids)
        return np.random.Generator(np.random.PCG64DXSM(data.entropies[key]))


def sample_of(rows: Rows, metric: str, names: tuple[str, ...], weighting: Weighting) -> Sample:
    """Return the rollouts that have any weight; missing values are NaN.

    With ``"turn"``, rollouts without turns have no weight and are left out.
    """
    data, weights = rows.data, None
    if weighting == "turn":
        rows = rows.select(np.nan_to_num(data.numbers("num_turns")[rows.numbers]) > 0)
        weights = data.numbers("num_turns")[rows.numbers]
    numbers, groups = rows.numbers, rows.groups
    if weighting == "goal":
        goals = units_of(data.coded("goal").codes[numbers], groups)
        ones = np.ones(numbers.size)
        weights = 1 / goals.sums(ones)[goals.labels]  # each goal has a total weight of 1, ...
        weights *= (groups.sizes / np.maximum(goals.counts, 1))[groups.codes]  # ... and a rollout weighs 1 on average
    is_time = data.kinds[metric] == "time"
    values = np.zeros(numbers.size) if is_time else data.numbers(metric)[numbers]
    columns = [data.coded(name) for name in names]
    nulls = [groups.sums(column.null[numbers]).astype(np.int64) for column in columns]
    return Sample(
        rows,
        values,
        weights,
        names,
        tuple(column.codes[numbers] for column in columns),
        np.max(nulls, axis=0) if nulls else np.zeros(groups.count, dtype=np.int64),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of statistics and their intervals, as documented in `summarize`."""

    cluster: Cluster
    weighting: Weighting
    method: Method
    unjudged: Unjudged
    strata: str | None
    resamples: int
    seed: int


@dataclass(frozen=True, slots=True)
class Cells:
    """One metric in several groups of ROLLOUTS, with the same columns as unit."""

    rows: Rows  # all rollouts of the groups
    metric: str
    statuses: Statuses  # the status of each of these rollouts
    names: tuple[str, ...]  # the cluster columns
    options: Options

    @property
    def kind(self) -> str:
        """Kind of the metric: proportion, number or time."""
        return self.rows.data.kinds[self.metric] or "number"

    def of(self, chosen: IntArray) -> "Cells":
        """Return these groups, which become groups 0, 1, ...."""
        rows, mask = self.rows.of(chosen)
        return replace(self, rows=rows, statuses=self.statuses[mask])

    def sample(self, *wanted: int) -> Sample:
        """Return the rollouts under these statuses that have any weight; missing values are NaN."""
        rows = self.rows.select(np.isin(self.statuses, wanted))
        return sample_of(rows, self.metric, self.names, self.options.weighting)
