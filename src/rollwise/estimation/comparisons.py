"""Comparison of two groups by one metric and statistic: a row of CONTRAST, and its part in a family of comparisons."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rollwise.choices import DifferenceMethod, Unjudged
from rollwise.errors import ArgumentError, counted
from rollwise.estimation.arrays import Columns, join_reasons
from rollwise.estimation.clusters import Unit, generator, unit_of
from rollwise.estimation.matching import Match
from rollwise.estimation.missingness import PARTIALLY_JUDGED, VALUE, Statuses
from rollwise.estimation.stopped_loops import later_attempts, why_first
from rollwise.estimation.unjudged import (
    Unknown,
    at_the_bounds,
    covered,
    follow_up,
    left_open,
    pseudo_values,
    unjudged_of,
)
from rollwise.schema.arguments import Cluster
from rollwise.stats.clusters import unaddable
from rollwise.stats.differences import Arm, Difference, Draws, Ends
from rollwise.stats.estimate import FloatArray, IntArray
from rollwise.stats.paired_differences import Pairs, are_unequal, paired, paired_difference
from rollwise.stats.shifts import (
    chance_of_more,
    paired_improvement,
    quantile_difference,
    restricted_difference,
    unpaired_improvement,
)
from rollwise.stats.statistics import quantile_of, statistic_in_words
from rollwise.stats.unpaired_differences import unpaired_difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of `contrast` that all comparisons share."""

    of: str
    cluster: Cluster
    paired: bool | Literal["auto"]
    over_common: bool
    method: DifferenceMethod
    unjudged: Unjudged
    resamples: int
    seed: int


Estimates: TypeAlias = tuple[float | None, float | None]


class Family(NamedTuple):
    """Data of one comparison for max-T: the differences, and their goals."""

    differences: FloatArray
    goals: list[str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a group with a baseline by one metric and statistic, within one group of `by`."""

    data: Columns
    metric: str
    statistic: str
    group: str
    baseline: str
    group_rows: IntArray
    baseline_rows: IntArray
    statuses: Statuses
    options: Options
    key: dict[str, Any]

    @property
    def kind(self) -> str:
        """Kind of the metric: proportion, number or time."""
        return self.data.kinds[self.metric] or "number"

    def row(self, level: float) -> dict[str, Any]:
        """Return the row of CONTRAST, without adjustment of its p-value."""
        arms = self._known_rows()
        match = self._match(arms)
        if self.options.paired is True and not match.unit.names:
            raise ArgumentError(
                "contrast: paired=True needs something that pairs, and rollouts are independent here; "
                "name the column with cluster=, such as cluster='goal'"
            )
        if self._is_open():
            match, result, estimates = self._with_unjudged(level)
        else:
            result = self._difference(match, self._values(arms), level)
            estimates = self._estimates(match, self._values(arms))
            result = replace(result, reason=join_reasons(result.reason, self._left_out()))
        first = why_first(self.data, self.metric, np.concatenate([self.group_rows, self.baseline_rows]))
        other_goals = match.of_other_goals(self.group, self.baseline)
        independent = None if result.low is None else match.unit.why_independent(self.options.cluster)
        result = replace(result, reason=join_reasons(result.reason, other_goals, first, independent))
        return {
            **self.key,
            "metric": self.metric,
            "statistic": self.statistic,
            "of": self.options.of,
            "group": self.group,
            "baseline": self.baseline,
            "level": level,
            "group_estimate": estimates[0],
            "baseline_estimate": estimates[1],
            **asdict(result),
            **match.report(),
            "n_group": arms[0].size,
            "n_baseline": arms[1].size,
            "estimand": self._estimand(match, arms),
            "seed": self.options.seed if result.resamples else None,
        }

    def family(self) -> Family | str:
        """Return the data for max-T, or the reason why this comparison cannot be part of the family."""
        if self._is_open():
            return "max-T needs the verdicts of all turns, or unjudged='drop'"
        match = self._match(self._known_rows())
        unit = match.unit
        if self.statistic != "mean" or self.kind == "time" or not match.is_paired or len(unit.names) != 1:
            return "max-T is for paired means over one way of clustering"
        pairs = paired(*match.of(self._values(match.arms)))
        if pairs.units.size < 2:
            return "max-T needs two common goals"
        if flaw := unaddable(np.concatenate([pairs.first, pairs.second])):
            return f"not in the family: {flaw}"
        if are_unequal(pairs):
            return "max-T needs arms with about as many attempts per goal (one has at least twice as many)"
        # The column is part of the name, so that a goal and a task of equal id are different units.
        labels = unit.ids()
        return Family(pairs.first - pairs.second, [f"{unit.names[0]}\0{labels[code]}" for code in pairs.units])

    def _match(self, arms: tuple[IntArray, IntArray]) -> Match:
        """Match the units of the arms; the unit is chosen among the rows of both."""
        unit = unit_of(self.data, np.concatenate(arms), self.metric, self.options.cluster)
        return Match(arms, unit, self._are_paired(arms, unit))

    def _are_paired(self, arms: tuple[IntArray, IntArray], unit: Unit) -> bool:
        """Return whether these arms are compared by their common units.

        By themselves they are if at least half of all units are common: with fewer, the other units say more than pairs do.
        What is defined within a unit (improvement) or needs pairs (max-T) is always compared over the common units.
        """
        if self.options.paired != "auto":
            return self.options.paired
        match = Match(arms, unit, paired=False)
        needs_pairs = self.options.over_common or self.statistic == "improvement"
        return match.common.size > 0 and (needs_pairs or match.mostly_common)

    def _known_rows(self) -> tuple[IntArray, IntArray]:
        """Return the rows of both arms with a known value."""
        # A time is known if there was any follow-up.
        has_value = (self.statuses == VALUE) if self.kind != "time" else (self.data.times(self.metric)[0] > 0)
        has_value &= ~later_attempts(self.data, self.metric)
        return self.group_rows[has_value[self.group_rows]], self.baseline_rows[has_value[self.baseline_rows]]

    def _values(self, arms: tuple[IntArray, IntArray]) -> tuple[FloatArray, FloatArray]:
        if self.kind == "time":
            return np.zeros(arms[0].size), np.zeros(arms[1].size)
        numbers = self.data.numbers(self.metric)
        return numbers[arms[0]], numbers[arms[1]]

    def _difference(
        self, match: Match, values: tuple[FloatArray, FloatArray], level: float, *, share: bool | None = None
    ) -> Difference:
        """Compare these values by the requested statistic; `share` says whether they are shares, by default from the metric."""
        arms = match.of(values)
        if self.kind == "time" or self.statistic == "restricted_mean":
            return self._times(match, level)
        if self.statistic == "improvement":
            if match.is_paired and len(match.unit.names) == 1:
                return paired_improvement(*arms, self._draws(match), level=level)
            return unpaired_improvement(*arms, level=level)
        if self.statistic != "mean":
            return self._quantiles(match, arms, level)
        # What remains is the mean of a proportion or a number. Sums of huge values would be infinite, which the values are not.
        if flaw := unaddable(np.concatenate(values)):
            return Difference(reason=flaw)
        return self._means(match, arms, level, share=self.kind == "proportion" if share is None else share)

    def _means(self, match: Match, arms: tuple[Arm, Arm], level: float, *, share: bool) -> Difference:
        method = self.options.method
        if match.is_paired:
            return paired_difference(
                paired(*arms),
                self._draws(match),
                share=share,
                level=level,
                method=method,
                ways=max(1, len(match.unit.names)),
            )
        return unpaired_difference(*arms, self._draws_of_arms(match), share=share, level=level, method=method)

    def _quantiles(self, match: Match, arms: tuple[Arm, Arm], level: float) -> Difference:
        if len(match.unit.names) > 1:
            return Difference(reason="no interval for quantiles over two crossed ways; name one with cluster=")
        common = match.common if match.is_paired else None
        if match.is_paired:
            draws = (self._draws(match),) * 2
        elif match.common.size:
            # Common goals are drawn together, so neither arm's name is in the seed: exchanged arms give the same interval, negated.
            draws = (self._draws(match, np.union1d(*match.codes)),) * 2
        else:
            draws = self._draws_of_arms(match)
        return quantile_difference(*arms, draws, q=quantile_of(self.statistic) or 0.5, level=level, common=common)

    def _times(self, match: Match, level: float) -> Difference:
        if self.kind != "time" or self.statistic != "restricted_mean":
            reason = "a time is compared by its restricted_mean" if self.kind == "time" else "this metric is not a time"
            return Difference(reason=f"{self.statistic}: {reason}")
        if len(match.unit.names) > 1:
            return Difference(reason="no comparison of times over two crossed ways; name one with cluster=")
        duration, observed = self.data.times(self.metric)
        masks = match.compared
        clusters = match.of((np.zeros(match.arms[0].size), np.zeros(match.arms[1].size)))
        rows = [rows[mask] for rows, mask in zip(match.arms, masks, strict=True)]
        ways = [tuple(way[mask] for way in arm.clusters) for arm, mask in zip(clusters, masks, strict=True)]
        return restricted_difference(
            (duration[rows[0]], duration[rows[1]]),
            (observed[rows[0]], observed[rows[1]]),
            (ways[0], ways[1]),
            level=level,
        )

    def _unknown(self) -> Unknown:
        """Count the rollouts of both arms without a verdict, in whole or in part."""
        timed = follow_up(self.data, self.metric, self.group_rows[:1]) is not None
        both = self.statuses[np.concatenate([self.group_rows, self.baseline_rows])]
        return Unknown.of(both, self.options.unjudged, timed=timed)

    def _rows_under(self, *wanted: int) -> tuple[IntArray, IntArray]:
        """Return the rows of both arms under these statuses."""
        group, baseline = (rows[np.isin(self.statuses[rows], wanted)] for rows in (self.group_rows, self.baseline_rows))
        return group, baseline

    def _is_open(self) -> bool:
        """Return whether rollouts without a verdict leave this comparison open: only means of proportions are bounded.

        An arm without any judged rollout leaves nothing to compare.
        """
        if self.kind != "proportion" or self.statistic != "mean":
            return False
        open_rows = self._rows_under(*left_open(self.options.unjudged))
        return any(rows.size for rows in open_rows) and self._are_judged()

    def _are_judged(self) -> bool:
        """Return whether each arm has a rollout that was judged in whole or in part."""
        return all(rows.size for rows in self._rows_under(VALUE, PARTIALLY_JUDGED))

    def _left_out(self) -> str | None:
        """Say how many rollouts without a verdict a comparison of those with one leaves out; None for other metrics."""
        if self.kind != "proportion":
            return None
        unknown = self._unknown()
        if self.statistic == "mean" and not self._are_judged():
            return unknown.note
        return unknown.treated(self.options.unjudged if self.statistic == "mean" else "drop")

    def _with_unjudged(self, level: float) -> tuple[Match, Difference, Estimates]:
        """Compare the arms with the rollouts that have no verdict, in whole or in part."""
        unknown = self._unknown()
        if self.options.unjudged == "censor":
            return self._censored(self._rows_under(VALUE, PARTIALLY_JUDGED), unknown, level)
        arms = self._rows_under(VALUE, *covered(self.options.unjudged))
        match = self._match(arms)
        values = self._values(arms)
        # Failures in the group and successes in the baseline give the smallest difference, the opposite the largest.
        extremes = [(np.nan_to_num(values[0], nan=rate), np.nan_to_num(values[1], nan=1 - rate)) for rate in (0.0, 1.0)]
        worst, best = (self._difference(match, filled, level) for filled in extremes)
        expected = [self._expected(rows) for rows in arms]
        estimates = self._estimates(match, (expected[0], expected[1]))
        point = None if estimates[0] is None or estimates[1] is None else estimates[0] - estimates[1]
        # The method of the interval precedes that of the test.
        rows = [
            {**asdict(result), "estimate": result.difference, "method": result.method and result.method.split("; ")[0]}
            for result in (worst, best)
        ]
        interval = at_the_bounds(unknown, self.options.unjudged, point, *rows)
        interval["difference"] = interval.pop("estimate")
        p_value = _largest_p_value(worst, best)
        if p_value is not None:
            interval["method"] = "; ".join(filter(None, [interval["method"], "the largest p-value of both"]))
        return match, replace(worst, **interval, p_value=p_value), estimates

    def _expected(self, rows: IntArray) -> FloatArray:
        """Return the values of the rollouts of an arm, and what is expected of those without a verdict."""
        of_arm = unjudged_of(self.data, self.metric, rows, self.statuses[rows], self.options.unjudged)
        return of_arm.imputed().expected

    def _censored(
        self, arms: tuple[IntArray, IntArray], unknown: Unknown, level: float
    ) -> tuple[Match, Difference, Estimates]:
        """Compare the arms by pseudo-values, whose means are the censored shares; t, because they can leave [0, 1]."""
        pseudo = [pseudo_values(self.data, self.metric, rows) for rows in arms]
        # Rollouts without a judged turn have no pseudo-value.
        followed = [~np.isnan(values) for values in pseudo]
        match = self._match((arms[0][followed[0]], arms[1][followed[1]]))
        values = pseudo[0][followed[0]], pseudo[1][followed[1]]
        result = self._difference(match, values, level, share=False)
        ends = Ends(result.low, result.high).of_shares()
        reason = join_reasons(result.reason, unknown.treated("censor"))
        return match, replace(result, low=ends.low, high=ends.high, reason=reason), self._estimates(match, values)

    def _draws(self, match: Match, units: IntArray | None = None) -> Draws:
        """Return the generators that belong to these units, the common ones by default."""
        ids = match.labels(match.common if units is None else units)
        seed, number = self.options.seed, self.options.resamples
        return Draws(generator(seed, ids), generator(seed, ids, "\0test"), number)

    def _draws_of_arms(self, match: Match) -> tuple[Draws, Draws]:
        seed, number = self.options.seed, self.options.resamples
        draws = []
        for name, rows, codes in zip((self.group, self.baseline), match.arms, match.codes, strict=True):
            # The name of the arm is part of the seed: unpaired arms are drawn independently, even with the same goals.
            ids = match.labels(np.unique(codes)) if match.unit.names else self._ids(rows)
            draws.append(Draws(generator(seed, ids, name), generator(seed, ids, name, "\0test"), number))
        return draws[0], draws[1]

    def _ids(self, rows: IntArray) -> list[str]:
        return self.data.frame["rollout_id"].cast(pl.String).gather(rows).to_list()

    def _estimates(self, match: Match, values: tuple[FloatArray, FloatArray]) -> Estimates:
        """Return the statistic of each arm over the compared rows; None if it is not finite."""
        with np.errstate(invalid="ignore", over="ignore"):
            group_estimate, baseline_estimate = self._estimate_arms(match, values)
        return tuple(
            None if estimate is None or not np.isfinite(estimate) else estimate
            for estimate in (group_estimate, baseline_estimate)
        )  # type: ignore[return-value]

    def _estimate_arms(self, match: Match, values: tuple[FloatArray, FloatArray]) -> Estimates:
        if self.kind == "time" or self.statistic == "restricted_mean":
            return None, None
        if match.is_paired and self.statistic == "mean":
            pairs: Pairs = paired(*match.of(values))
            return (float(pairs.first.mean()), float(pairs.second.mean())) if pairs.units.size else (None, None)
        compared_values = [numbers[mask] for numbers, mask in zip(values, match.compared, strict=True)]
        if not compared_values[0].size or not compared_values[1].size:
            return None, None
        q = quantile_of(self.statistic)
        if q is not None:
            return float(np.quantile(compared_values[0], q)), float(np.quantile(compared_values[1], q))
        if self.statistic == "improvement":
            chance = chance_of_more(compared_values[0], compared_values[1])
            # Paired improvement is a mean over goals, which the two pooled arms do not determine.
            return (chance, 1 - chance) if not match.is_paired else (None, None)
        return float(compared_values[0].mean()), float(compared_values[1].mean())

    def _estimand(self, match: Match, arms: tuple[IntArray, IntArray]) -> str:
        unknown = self.group_rows.size - arms[0].size, self.baseline_rows.size - arms[1].size
        missing = f"; without a value: {unknown[0]:,} and {unknown[1]:,} rollouts" if any(unknown) else ""
        quantity = {
            "mean": f"mean of {self.metric}, {self.group} minus {self.baseline}",
            "improvement": f"probability that {self.metric} is higher for {self.group} than for {self.baseline}",
        }.get(
            self.statistic, f"{statistic_in_words(self.statistic)} of {self.metric}, {self.group} minus {self.baseline}"
        )
        if match.is_paired:
            noun = match.unit.names[0] if len(match.unit.names) == 1 else "cell"
            weighing = noun if self.statistic in {"mean", "improvement"} else "rollout"
            population = f"over the {counted(match.common.size, noun)} of both, every {weighing} weighing the same"
        else:
            population = "over all rollouts of both, every rollout weighing the same"
        return f"{quantity}, {population}; unit: {match.unit.words}{missing}"


def _largest_p_value(worst: Difference, best: Difference) -> float | None:
    """Return the largest p-value between two extremes: 1 if the difference changes sign between them, because it passes 0."""
    if worst.p_value is None or best.p_value is None:
        return None
    changes_sign = (worst.difference or 0.0) * (best.difference or 0.0) <= 0
    return 1.0 if changes_sign else max(worst.p_value, best.p_value)
