"""Comparison of two groups by one metric and statistic: a row of CONTRAST, and its part in a family of comparisons."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from turnwise.errors import ArgumentError, counted
from turnwise.estimation.arrays import Sheet, join_reasons
from turnwise.estimation.clusters import Unit, generator, unit_of
from turnwise.estimation.missingness import PARTIALLY_JUDGED, VALUE, Headings
from turnwise.schema.arguments import Cluster, quantile_of, statistic_in_words
from turnwise.stats.clusters import unaddable
from turnwise.stats.differences import Arm, Difference, Draws, Method
from turnwise.stats.estimate import BoolArray, FloatArray, IntArray
from turnwise.stats.paired_differences import Pairs, paired, paired_difference
from turnwise.stats.shifts import (
    chance_of_more,
    paired_improvement,
    quantile_difference,
    restricted_difference,
    unpaired_improvement,
)
from turnwise.stats.unpaired_differences import unpaired_difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of `contrast` that all comparisons share."""

    of: str
    cluster: Cluster
    paired: bool | Literal["auto"]
    method: Method
    unjudged: Literal["bounds", "drop"]
    resamples: int
    seed: int


class Family(NamedTuple):
    """Data of one comparison for max-T: the differences, and their goals."""

    differences: FloatArray
    goals: list[str]


class Match:
    """Units in two arms, and whether the arms are compared by their common units.

    Attributes
    ----------
    arms
        Row numbers of each arm.
    unit
        The unit of the rows of both arms, first arm first.
    clusters, codes
        Units of each arm: by way, and as a single code (of two ways, their cell).
    common
        Sorted codes of the units in both arms.
    is_paired
        True if the arms are compared by common units.

    Examples
    --------
    >>> codes = np.array([0, 0, 1, 1, 2])
    >>> unit = Unit(("goal",), (codes,), lambda: ["x", "y", "z"], 0)
    >>> Match((np.arange(3), np.arange(3, 5)), unit, "auto").report()
    {'n_pairs': 1, 'only_group': 1, 'only_baseline': 1, 'n_unequal': 0}
    """

    def __init__(self, arms: tuple[IntArray, IntArray], unit: Unit, paired: bool | Literal["auto"]) -> None:  # noqa: FBT001
        self.arms, self.unit = arms, unit
        # Codes of both arms come from one unit, so equal codes are equal goals.
        split = arms[0].size
        ways = unit.codes
        self.clusters = tuple(way[:split] for way in ways), tuple(way[split:] for way in ways)
        cell_codes = [np.zeros(rows.size, dtype=np.int64) for rows in arms]
        if ways:
            # Combine two ways into one code per cell, unique because every code is below the width.
            width = 1 + max(int(way.max(initial=0)) for way in ways)
            cell_codes = [self._cells(clusters, width) for clusters in self.clusters]
        self.codes = cell_codes
        self.common = np.intersect1d(cell_codes[0], cell_codes[1]) if ways else np.zeros(0, dtype=np.int64)
        self.is_paired = bool(ways) and (paired is True or (paired == "auto" and self.common.size > 0))

    @staticmethod
    def _cells(clusters: tuple[IntArray, ...], width: int) -> IntArray:
        return clusters[0] if len(clusters) == 1 else clusters[0] * width + clusters[1]

    def of(self, values: tuple[FloatArray, FloatArray]) -> tuple[Arm, Arm]:
        """Return the values as arms for `turnwise.stats`."""
        return Arm(values[0], self.clusters[0]), Arm(values[1], self.clusters[1])

    @property
    def compared(self) -> tuple[BoolArray, ...]:
        """Mark the rows of each arm that are compared: all of them, or only those in common units if paired."""
        return tuple(
            np.isin(codes, self.common) if self.is_paired else np.ones(codes.size, dtype=np.bool_)
            for codes in self.codes
        )

    def labels(self, units: IntArray) -> list[str]:
        """Return the ids of the units in order; numbers for cells of two ways."""
        if len(self.unit.names) == 1:
            names = self.unit.ids()
            return [names[code] for code in units]
        return [str(code) for code in units]

    def report(self) -> dict[str, int | None]:
        """Return the counts of paired and unpaired units; null if rollouts themselves are independent."""
        if not self.unit.names:
            return {"n_pairs": None, "only_group": None, "only_baseline": None, "n_unequal": None}
        group_counts, baseline_counts = (np.unique(codes, return_counts=True) for codes in self.codes)
        # Numbers of rollouts of the common units in each arm, in the same order.
        sizes = [counts[np.isin(units, self.common)] for units, counts in (group_counts, baseline_counts)]
        return {
            "n_pairs": self.common.size,
            "only_group": group_counts[0].size - self.common.size,
            "only_baseline": baseline_counts[0].size - self.common.size,
            "n_unequal": int((sizes[0] != sizes[1]).sum()),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a group with a baseline by one metric and statistic, within one group of `by`."""

    sheet: Sheet
    metric: str
    statistic: str
    group: str
    baseline: str
    group_rows: IntArray
    baseline_rows: IntArray
    headings: Headings
    options: Options
    key: dict[str, Any]

    @property
    def kind(self) -> str:
        """Kind of the metric: proportion, number or time."""
        return self.sheet.kinds[self.metric] or "number"

    def row(self, level: float) -> dict[str, Any]:
        """Return the row of CONTRAST, without adjustment of its p-value."""
        arms = self._known_rows()
        match = self._match(arms)
        if self.options.paired is True and not match.unit.names:
            raise ArgumentError(
                "contrast: paired=True needs something that pairs, and rollouts are independent here; "
                "name the column with cluster=, such as cluster='goal'"
            )
        partial = [
            int((self.headings[rows] == PARTIALLY_JUDGED).sum()) for rows in (self.group_rows, self.baseline_rows)
        ]
        share = self.kind == "proportion"
        if any(partial) and share and self.statistic == "mean" and self.options.unjudged == "bounds":
            # Partially judged rollouts leave the estimates of both arms open as well.
            result = self._bounds(level, partial)
            estimates: tuple[float | None, float | None] = (None, None)
        else:
            result = self._difference(match, self._values(arms), level)
            estimates = self._estimates(match, arms)
            if any(partial) and share:
                note = f"{counted(sum(partial), 'partially judged rollout')} left out"
                result = replace(result, reason=join_reasons(result.reason, note))
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
        match = self._match(self._known_rows())
        unit = match.unit
        if self.statistic != "mean" or self.kind == "time" or not match.is_paired or len(unit.names) != 1:
            return "max-T is for paired means over one way of clustering"
        pairs = paired(*match.of(self._values(match.arms)))
        if pairs.units.size < 2:
            return "max-T needs two common goals"
        if flaw := unaddable(np.concatenate([pairs.one, pairs.other])):
            return f"not in the family: {flaw}"
        # The column is part of the name, so that a goal and a task of equal id are different units.
        labels = unit.ids()
        return Family(pairs.one - pairs.other, [f"{unit.names[0]}\0{labels[code]}" for code in pairs.units])

    def _match(self, arms: tuple[IntArray, IntArray]) -> Match:
        """Match the units of the arms; the unit is chosen among the rows of both."""
        unit = unit_of(self.sheet, np.concatenate(arms), self.metric, self.options.cluster)
        return Match(arms, unit, self.options.paired)

    def _known_rows(self) -> tuple[IntArray, IntArray]:
        """Return the rows of both arms with a known value."""
        # A time is known if there was any follow-up.
        known = self.sheet.times(self.metric)[0] > 0 if self.kind == "time" else self.headings == VALUE
        return self.group_rows[known[self.group_rows]], self.baseline_rows[known[self.baseline_rows]]

    def _values(self, arms: tuple[IntArray, IntArray]) -> tuple[FloatArray, FloatArray]:
        if self.kind == "time":
            return np.zeros(arms[0].size), np.zeros(arms[1].size)
        numbers = self.sheet.numbers(self.metric)
        return numbers[arms[0]], numbers[arms[1]]

    def _difference(self, match: Match, values: tuple[FloatArray, FloatArray], level: float) -> Difference:
        """Compare these values by the requested statistic."""
        arms = match.of(values)
        if self.kind == "time" or self.statistic == "restricted_mean":
            return self._times(match, level)
        if self.statistic == "improvement":
            if match.is_paired and len(match.unit.names) == 1:
                return paired_improvement(*arms, self._draws(match), level=level)
            return unpaired_improvement(*arms, level=level)
        if self.statistic != "mean":
            return self._quantiles(match, arms, level)
        # What remains is the mean of a proportion or a number.
        share, method = self.kind == "proportion", self.options.method
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
        draws = (self._draws(match),) * 2 if match.is_paired else self._draws_of_arms(match)
        return quantile_difference(*arms, draws, q=quantile_of(self.statistic) or 0.5, level=level, common=common)

    def _times(self, match: Match, level: float) -> Difference:
        if self.kind != "time" or self.statistic != "restricted_mean":
            reason = "a time is compared by its restricted_mean" if self.kind == "time" else "this metric is not a time"
            return Difference(reason=f"{self.statistic}: {reason}")
        if len(match.unit.names) > 1:
            return Difference(reason="no comparison of times over two crossed ways; name one with cluster=")
        duration, observed = self.sheet.times(self.metric)
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

    def _bounds(self, level: float, partial: list[int]) -> Difference:
        """Return an interval that holds whatever the missing verdicts of partially judged rollouts are.

        It reaches from the difference if they are failures in the group and successes in the baseline to the opposite case.
        """
        applicable = np.isin(self.headings, (VALUE, PARTIALLY_JUDGED))
        arms = self.group_rows[applicable[self.group_rows]], self.baseline_rows[applicable[self.baseline_rows]]
        match = self._match(arms)
        group_values, baseline_values = self._values(arms)
        worst, best = (
            self._difference(
                match,
                (np.nan_to_num(group_values, nan=unknown), np.nan_to_num(baseline_values, nan=1 - unknown)),
                level,
            )
            for unknown in (0.0, 1.0)
        )
        return Difference(
            # The interval covers all values between the two extremes.
            low=worst.low,
            high=best.high,
            n_clusters=worst.n_clusters,
            method=worst.method and f"{worst.method.split(';')[0]} at the bounds",
            reason=f"{partial[0]:,} of the group's and {partial[1]:,} of the baseline's rollouts are partially judged: "
            "the interval holds whether they are failures or successes",
            resamples=worst.resamples,
        )

    def _draws(self, match: Match) -> Draws:
        ids = match.labels(match.common)
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
        return self.sheet.frame["rollout_id"].cast(pl.String).gather(rows).to_list()

    def _estimates(self, match: Match, arms: tuple[IntArray, IntArray]) -> tuple[float | None, float | None]:
        """Return the statistic of each arm over the compared rows; None if it is not finite."""
        with np.errstate(invalid="ignore", over="ignore"):
            group_estimate, baseline_estimate = self._estimate_arms(match, arms)
        return tuple(
            None if estimate is None or not np.isfinite(estimate) else estimate
            for estimate in (group_estimate, baseline_estimate)
        )  # type: ignore[return-value]

    def _estimate_arms(self, match: Match, arms: tuple[IntArray, IntArray]) -> tuple[float | None, float | None]:
        if self.kind == "time" or self.statistic == "restricted_mean":
            return None, None
        values = self._values(arms)
        if match.is_paired and self.statistic == "mean":
            pairs: Pairs = paired(*match.of(values))
            return (float(pairs.one.mean()), float(pairs.other.mean())) if pairs.units.size else (None, None)
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
