"""Aggregates of `summarize` over goals that resist outliers: interquartile mean, optimality gap, mean and median of goals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rollwise.errors import ArgumentError, counted
from rollwise.estimation.arrays import Columns, join_reasons, row_of
from rollwise.estimation.clusters import Rows, unit_of
from rollwise.estimation.estimates import Block
from rollwise.estimation.missingness import INAPPLICABLE, VALUE, Statuses, group_counts
from rollwise.estimation.samples import Options
from rollwise.estimation.statistics import AGGREGATES, GAP, WITHIN_GOALS
from rollwise.estimation.unjudged import UnjudgedRows, at_the_bounds, unjudged_of
from rollwise.schema.arguments import Cluster
from rollwise.stats.bootstrap import expanded, percentile_interval, too_few_to_draw
from rollwise.stats.clusters import unaddable
from rollwise.stats.estimate import Estimate, Estimates, FloatArray, IntArray
from rollwise.stats.robust import Aggregate, DrawnUnit, aggregate, aggregate_replicates
from rollwise.stats.statistics import STATISTICS

FEWEST_GOALS = 8
"""With fewer goals, an interquartile mean drops almost nothing or almost everything."""
_WORDS = {aggregate: STATISTICS[name].words for name, aggregate in AGGREGATES.items()}


def robust_blocks(
    rows: Rows, metric: str, statuses: Statuses, options: Options, statistics: Sequence[str], levels: Sequence[float]
) -> Iterator[Block]:
    """Estimate aggregates over goals of one metric in all groups, in the order of statistics and levels."""
    missing = group_counts(statuses, rows.groups)
    nulls = np.full(rows.groups.count, np.nan)
    parts = [slice(*rows.groups.starts[group : group + 2]) for group in range(rows.groups.count)]
    of_groups = [_of_group(rows.data, metric, rows.numbers[part], statuses[part], options) for part in parts]
    for statistic in statistics:
        aims = [[_aim(goals, statistic, options) for goals in group.versions] for group in of_groups]
        # Which all levels share.
        replicates = [[aim.replicates(options.resamples, options.seed) for aim in versions] for versions in aims]
        sentences = [
            _aim(group.judged, statistic, options).estimand(statuses[part].size)
            for group, part in zip(of_groups, parts, strict=True)
        ]
        for level in levels:
            estimates = [
                group.joined([aim.estimate(level, draw) for aim, draw in zip(versions, draws, strict=True)])
                for group, versions, draws in zip(of_groups, aims, replicates, strict=True)
            ]
            yield Block(
                statistic, level, Estimates.of(estimates), (nulls, nulls), missing, np.array(sentences, dtype=object)
            )


class Goals:
    """Values of one metric in one group, by goal: the known values, or `values` (n,) in their place."""

    def __init__(
        self, data: Columns, metric: str, rows: IntArray, cluster: Cluster, values: FloatArray | None = None
    ) -> None:
        self.metric = metric
        self.unit = unit_of(data, rows, metric, cluster)
        if len(self.unit.names) > 1:
            raise ArgumentError(
                f"goals need one way of clustering, but there are {self.unit.names}; name one with cluster="
            )
        self.values = data.numbers(metric)[rows] if values is None else values
        # Without clusters every rollout is a goal of its own.
        codes = self.unit.codes[0] if self.unit.names else np.arange(rows.size)
        self.codes: IntArray = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        self.count = int(self.codes.max(initial=-1)) + 1
        self.binary = data.kinds[metric] == "proportion" or bool(np.isin(self.values, (0.0, 1.0)).all())

    @cached_property
    def means(self) -> FloatArray:
        """Mean of each goal: float (G,)."""
        counts = np.bincount(self.codes, minlength=self.count)
        return np.asarray(np.bincount(self.codes, weights=self.values, minlength=self.count) / np.maximum(counts, 1))


@dataclass(frozen=True, slots=True)
class _Group:
    """Goals of one group with a value, and the goals of every version of the values that its unjudged rollouts allow."""

    judged: Goals
    versions: list[Goals]
    unjudged: UnjudgedRows

    def joined(self, estimates: list[Estimate]) -> Estimate:
        """Return the estimates of all versions as one: from the lower end of one extreme to the upper end of the other."""
        estimate, *extremes = estimates
        choice, unknown = self.unjudged.choice, self.unjudged.unknown
        if choice is None:
            return estimate
        result = replace(estimate, n=self.judged.values.size, n_clusters=self.judged.count)
        if not extremes:
            return replace(result, reason=join_reasons(result.reason, unknown.treated(choice)))
        worst, best = map(row_of, extremes)
        return replace(result, **at_the_bounds(unknown, choice, result.estimate, worst, best, reason=result.reason))


def _of_group(data: Columns, metric: str, rows: IntArray, statuses: Statuses, options: Options) -> _Group:
    judged = Goals(data, metric, rows[statuses == VALUE], options.cluster)
    applicable = statuses != INAPPLICABLE
    rows, statuses = rows[applicable], statuses[applicable]
    unjudged = unjudged_of(data, metric, rows, statuses, options.unjudged)
    if unjudged.choice is None:
        return _Group(judged, [judged], unjudged)
    filled = [(~np.isnan(values), values) for values in unjudged.versions]
    versions = [Goals(data, metric, rows[has], options.cluster, values[has]) for has, values in filled]
    return _Group(judged, versions, unjudged)


def _aim(goals: Goals, statistic: str, options: Options) -> "_Aim":
    gap = GAP.fullmatch(statistic)
    return _Aim(
        goals,
        AGGREGATES.get(statistic, "optimality_gap"),
        draws="attempts" if options.method == WITHIN_GOALS else "goals",
        rates=options.weighting == "goal" or goals.binary,
        target=float(gap[1]) if gap else 1.0,
    )


@dataclass(frozen=True, slots=True)
class _Aim:
    """One aggregate over the goals of one group."""

    goals: Goals
    which: Aggregate
    draws: DrawnUnit
    rates: bool  # True if interquartile mean and gap are of the means of goals, False if of the values of all rollouts
    target: float  # the value that the optimality gap is below

    @property
    def flaw(self) -> str | None:
        """The reason why the aggregate is undefined; None if it is defined."""
        goals = self.goals
        if not goals.values.size:
            return "no values"
        if self.which != "iqm" or self.rates:
            # Infinite values make a mean undefined, but not an interquartile mean, which drops them.
            is_shortfall = self.which == "optimality_gap" and not self.rates
            if reason := unaddable(np.maximum(self.target - goals.values, 0.0) if is_shortfall else goals.values):
                return reason
        if self.which != "iqm":
            return None
        if goals.count < FEWEST_GOALS:
            return f"{counted(goals.count, 'goal is', 'goals are')} too few for an interquartile mean; it needs {FEWEST_GOALS}"
        if goals.binary and goals.count == goals.values.size:
            return (
                "an interquartile mean of single 0/1 outcomes drops failures and successes by the rate itself; "
                "it needs several rollouts of each goal"
            )
        return None

    def replicates(self, resamples: int, seed: int) -> FloatArray | None:
        """Return bootstrap replicates; None without an estimate or of one goal."""
        goals = self.goals
        if self.flaw is not None or (goals.count < 2 and self.draws == "goals"):
            return None
        replicates: FloatArray = aggregate_replicates(
            goals.values,
            goals.codes,
            [self.which],
            unit=self.draws,
            rates=self.rates,
            rng=goals.unit.generator(seed),
            resamples=resamples,
            target=self.target,
        )[0]
        return replicates

    def estimate(self, level: float, replicates: FloatArray | None) -> Estimate:
        """Return the aggregate with its percentile bootstrap interval, expanded for few goals if goals are drawn."""
        goals = self.goals
        row = Estimate(n=goals.values.size, n_clusters=goals.count)
        if self.flaw is not None:
            return replace(row, reason=self.flaw)
        values, codes = (goals.means, np.arange(goals.count)) if self.rates else (goals.values, goals.codes)
        point = aggregate(values, codes, self.which, target=self.target)
        if not np.isfinite(point):
            return replace(row, reason=unaddable(values))
        row = replace(row, estimate=point)
        if replicates is None:
            return replace(row, reason="one goal: no interval over goals")
        over_goals = self.draws == "goals"
        if over_goals and (too_few := too_few_to_draw(goals.count, "goal")):
            return replace(row, reason=f"{too_few}; method={WITHIN_GOALS!r} speaks of these very goals")
        if not np.isfinite(replicates).all():
            return replace(row, reason="infinite values are kept in replicates of the bootstrap: no interval")
        low, high = percentile_interval(replicates, expanded(level, goals.count) if over_goals else level)
        source = "goals drawn" if over_goals else "attempts drawn within goals"
        return replace(
            row,
            std_error=float(replicates.std()) if low is not None and unaddable(replicates) is None else None,
            low=low,
            high=high,
            method=None if low is None else f"{'expanded ' if over_goals else ''}percentile bootstrap; {source}",
            reason="the bootstrap interval has no width" if low is None else None,
            resamples=replicates.size,
        )

    def estimand(self, rollouts: int) -> str:
        """Return what is estimated of a group of so many rollouts, in one sentence."""
        goals = self.goals
        of_means = self.rates or self.which in {"mean", "median"}
        quantity = f"{_WORDS[self.which]} of {'the goals’ means of ' if of_means else ''}{goals.metric}"
        if self.which == "optimality_gap":
            quantity += f" below {self.target:g}"
        population = "for goals like these" if self.draws == "goals" else "for these very goals"
        missing = rollouts - goals.values.size
        return f"{quantity}, {population}; unit: {goals.unit.words}" + (
            f"; without a value: {counted(missing, 'rollout')}" if missing else ""
        )
