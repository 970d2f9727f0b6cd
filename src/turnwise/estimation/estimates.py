"""Estimates of one metric in one group of ROLLOUTS: a row of SUMMARY for each statistic and level."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from turnwise.errors import counted
from turnwise.estimation.arrays import join_reasons, row_of
from turnwise.estimation.clusters import Group, Unit, strata_of
from turnwise.estimation.missingness import INAPPLICABLE, PARTIALLY_JUDGED, VALUE, Headings, counts
from turnwise.estimation.stopped_loops import FIRST_ATTEMPTS, later_attempts
from turnwise.estimation.unjudged import (
    FollowUp,
    Unjudged,
    at_the_bounds,
    censored,
    dropped,
    expected_values,
    follow_up,
    in_words,
)
from turnwise.metrics.catalog import about
from turnwise.schema.arguments import Cluster, quantile_of, statistic_in_words
from turnwise.stats.clusters import groupings, ones_or, weighted_mean
from turnwise.stats.estimate import Estimate, FloatArray, IntArray
from turnwise.stats.incidence import cumulative_incidence
from turnwise.stats.intervals import ShareInterval
from turnwise.stats.mean import OF_A_MEAN, mean, standard_deviation
from turnwise.stats.proportion import proportion
from turnwise.stats.quantiles import QuantileInterval, extreme, quantile
from turnwise.stats.survival import restricted_mean, survival_median

Weighting = Literal["rollout", "goal", "turn"]
Method = Literal[
    "auto",
    "wilson",
    "exact",
    "jeffreys",
    "agresti-coull",
    "t",
    "normal",
    "bootstrap",
    "bca",
    "percentile",
    "basic",
    "studentized",
]

DEFAULT_STATISTICS = {
    "proportion": ("mean",),
    "number": ("mean", "median", "min", "max"),
    "time": ("restricted_mean", "median"),
}
_OF_A_SHARE: dict[str, ShareInterval] = {
    "auto": "wilson",
    "wilson": "wilson",
    "exact": "exact",
    "jeffreys": "jeffreys",
    "agresti-coull": "agresti-coull",
}
_WITHIN_STRATA = {"auto", "bootstrap", "percentile", "basic"}
_OF_A_QUANTILE: dict[str, QuantileInterval] = {
    "bootstrap": "percentile",
    "percentile": "percentile",
}


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
class Cell:
    """One metric in one group of ROLLOUTS, and the heading of each rollout of the group."""

    group: Group
    metric: str
    headings: Headings
    options: Options

    @property
    def kind(self) -> str:
        """Kind of the metric: proportion, number or time."""
        return self.group.sheet.kinds[self.metric] or "number"


@dataclass(frozen=True, slots=True)
class _Sample:
    """Rollouts with their values, their independent unit and their weights; times have values of zero."""

    rows: IntArray
    values: FloatArray
    unit: Unit
    weights: FloatArray | None


def rows_of_cell(cell: Cell, statistics: tuple[str, ...] | None, levels: tuple[float, ...]) -> list[dict[str, Any]]:
    """Return a row of SUMMARY for each statistic and level; by default the statistics for the metric's kind."""
    applicable = cell.group.select(cell.headings != INAPPLICABLE)
    known = cell.group.select(cell.headings == VALUE)
    # The unit is chosen once, among all rollouts the metric applies to: missing values must not change what is independent.
    clusters = applicable.cluster_columns(cell.metric, cell.options.cluster)
    sample = _sample(cell, known, clusters)
    partially_judged = bool((cell.headings == PARTIALLY_JUDGED).any())
    stopped = bool(later_attempts(cell.group.sheet, cell.metric)[cell.group.rows].any())
    # Counts of rollouts without a value are the same for every statistic of the cell.
    missing = counts(cell.headings)
    rows = []
    for statistic in statistics or DEFAULT_STATISTICS[cell.kind]:
        share = cell.kind == "proportion" and statistic == "mean"
        # All unknown rollouts as failures, and all as successes.
        extremes = [_sample(cell, applicable, clusters, unknown) for unknown in (0.0, 1.0)] if share else []
        for level in levels:
            estimate = _estimate(cell, sample, statistic, level)
            if share and partially_judged:
                estimate = _with_unjudged(cell, clusters, level, estimate)
            if known.rows.size > sample.rows.size:
                note = counted(
                    known.rows.size - sample.rows.size,
                    "rollout without turns weighs nothing",
                    "rollouts without turns weigh nothing",
                )
                estimate = replace(estimate, reason=join_reasons(estimate.reason, note))
            if stopped:
                estimate = replace(estimate, reason=join_reasons(estimate.reason, FIRST_ATTEMPTS))
            rows.append(
                {
                    "metric": cell.metric,
                    "statistic": statistic,
                    "level": level,
                    **_bounds(extremes),
                    **missing,
                    **row_of(estimate),
                    "estimand": _estimand(cell, sample, statistic, missing),
                    "seed": cell.options.seed if estimate.resamples else None,
                }
            )
    return rows


def _sample(cell: Cell, group: Group, clusters: tuple[str, ...], unknown: float | None = None) -> _Sample:
    """Return the rollouts of a group that have any weight, with `unknown` in place of missing values."""
    sheet, weights = group.sheet, None
    if cell.options.weighting == "turn":
        # Rollouts without turns have no weight; `rows_of_cell` reports them.
        group = group.select(np.nan_to_num(sheet.numbers("num_turns")[group.rows]) > 0)
        weights = sheet.numbers("num_turns")[group.rows]
    rows = group.rows
    if cell.options.weighting == "goal" and rows.size:
        goals = sheet.coded("goal").codes[rows]
        weights = 1 / np.bincount(goals)[goals]  # each goal has a total weight of 1, ...
        weights *= weights.size / weights.sum()  # ... scaled so that a rollout weighs 1 on average
    values = np.zeros(rows.size) if cell.kind == "time" else sheet.numbers(cell.metric)[rows]
    if unknown is not None:
        values = np.nan_to_num(values, nan=unknown)
    return _Sample(rows, values, group.unit(clusters), weights if rows.size else None)


def _estimate(cell: Cell, sample: _Sample, statistic: str, level: float) -> Estimate:
    """Estimate a statistic; only means have an interval within strata."""
    estimate = _unstratified(cell, sample, statistic, level)
    if estimate.n and not estimate.n_clusters:  # statistics without an interval do not count their clusters
        ways = groupings(sample.unit.codes, sample.rows.size)[:2]
        estimate = replace(estimate, n_clusters=min(way.count for way in ways))
    if cell.options.strata is None or estimate.low is None or (statistic == "mean" and cell.kind != "time"):
        return estimate
    reason = f"no interval of a {statistic_in_words(statistic)} within strata: only means have one"
    return replace(
        estimate, low=None, high=None, method=None, resamples=None, reason=join_reasons(estimate.reason, reason)
    )


def _unstratified(cell: Cell, sample: _Sample, statistic: str, level: float) -> Estimate:
    if cell.kind == "time":
        return _time(cell, sample, statistic, level)
    match statistic:
        case "mean":
            return _mean(cell, sample, level)
        case "min" | "max":
            return extreme(sample.values, statistic)
        case "std":
            return standard_deviation(sample.values, weights=sample.weights)
        case "restricted_mean":
            return Estimate(
                n=sample.rows.size, reason="a restricted mean is defined for a time to an event; this metric is not one"
            )
        case _:
            return quantile(
                sample.values,
                sample.unit.codes,
                q=quantile_of(statistic) or 0.5,
                weights=sample.weights,
                level=level,
                interval=_OF_A_QUANTILE.get(cell.options.method, "auto"),
                rng=lambda: sample.unit.generator(cell.options.seed),
                resamples=cell.options.resamples,
            )


def _mean(cell: Cell, sample: _Sample, level: float) -> Estimate:
    """Estimate a mean or a share with the requested interval.

    Wilson's interval replaces another in two cases: a bootstrap of a share without an interval, such as 0 of n, and an
    automatic interval of fractions that are all 0.0 or 1.0 if it would leave [0, 1].
    """
    clusters, weights, method = sample.unit.codes, sample.weights, cell.options.method
    share, bootstrap = cell.kind == "proportion", method == "bootstrap"
    if cell.options.strata is not None:
        return _clipped(cell, _stratified_mean(cell, sample, level))
    if share and method in _OF_A_SHARE:
        return proportion(sample.values, clusters, weights=weights, level=level, interval=_OF_A_SHARE[method])
    if method not in OF_A_MEAN or (share and method in {"basic", "normal"}):
        reason = "can leave [0, 1], where a share must be" if share else "is for shares; this metric is a number"
        return _without_interval(sample, level, f"{method}: {reason}")
    estimate = mean(
        sample.values,
        clusters,
        weights=weights,
        level=level,
        rng=lambda: sample.unit.generator(cell.options.seed),
        resamples=cell.options.resamples,
        interval="percentile" if bootstrap and len(clusters) > 1 else OF_A_MEAN[method],
    )
    if share and bootstrap and estimate.low is None:
        reason = "Wilson instead of the bootstrap"
    elif method == "auto" and _leaves_unit_interval(estimate) and _zeros_and_ones(cell, sample):
        reason = "Wilson because all values are 0.0 or 1.0"
    else:
        return _clipped(cell, estimate)
    wilson = proportion(sample.values, clusters, weights=weights, level=level)
    return wilson if wilson.low is None else replace(wilson, reason=join_reasons(estimate.reason, reason))


def _leaves_unit_interval(estimate: Estimate) -> bool:
    return estimate.low is not None and estimate.high is not None and (estimate.low < 0 or estimate.high > 1)


def _zeros_and_ones(cell: Cell, sample: _Sample) -> bool:
    """Return whether all values are 0.0 or 1.0, as evaluators write right and wrong. Integers may be counts."""
    is_float = cell.group.sheet.frame.schema[cell.metric].is_float()
    return is_float and bool(np.isin(sample.values, (0.0, 1.0)).all())


def _clipped(cell: Cell, estimate: Estimate) -> Estimate:
    """Cut the interval at 0 and 1 if the metric cannot leave them; t and some bootstrap intervals can."""
    if estimate.low is None or estimate.high is None or not _leaves_unit_interval(estimate):
        return estimate
    entry = about(cell.metric)
    # A column that is only named like a share, with values beyond 1, is not clipped to where its mean is not.
    is_share = cell.kind == "proportion" or (entry is not None and entry.share)
    if not is_share or not 0 <= (estimate.estimate or 0.0) <= 1:
        return estimate
    return replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))


def _without_interval(sample: _Sample, level: float, reason: str) -> Estimate:
    """Estimate the mean without an interval, for this reason."""
    estimate = mean(sample.values, sample.unit.codes, weights=sample.weights, level=level, interval="t")
    if estimate.estimate is None:
        return estimate
    return replace(estimate, low=None, high=None, method=None, design_effect=None, reason=reason)


def _stratified_mean(cell: Cell, sample: _Sample, level: float) -> Estimate:
    """Estimate the mean with clusters drawn within strata: by the basic bootstrap if requested, else by percentiles."""
    options, clusters = cell.options, sample.unit.codes
    if len(clusters) > 1:
        reason = "no interval within strata over two crossed ways: name one cluster, or leave strata out"
        return _without_interval(sample, level, reason)
    if options.method not in _WITHIN_STRATA:
        reason = f"no {options.method} interval within strata: ask for percentile or basic"
        return _without_interval(sample, level, reason)
    strata = None
    if sample.rows.size:
        unit = groupings(clusters, sample.rows.size)[0]
        strata = strata_of(cell.group.sheet, sample.rows, unit, str(options.strata), "summarize")
    return mean(
        sample.values,
        clusters,
        weights=sample.weights,
        level=level,
        rng=lambda: sample.unit.generator(options.seed),
        resamples=options.resamples,
        interval="basic" if options.method == "basic" else "percentile",
        strata=strata,
    )


def _time(cell: Cell, sample: _Sample, statistic: str, level: float) -> Estimate:
    """Estimate a statistic of a time to an event."""
    estimator = {"restricted_mean": restricted_mean, "median": survival_median}.get(statistic)
    if estimator is None:
        return Estimate(
            n=sample.rows.size,
            reason=f"the {statistic} of a censored time is not known; the restricted mean or the median can be estimated",
        )
    duration, observed = (values[sample.rows] for values in cell.group.sheet.times(cell.metric))
    return estimator(duration, observed, sample.unit.codes, weights=sample.weights, level=level)


def _bounds(extremes: list[_Sample]) -> dict[str, float | None]:
    """Return the rate if every unknown rollout were a failure, and if every one were a success; nothing for other statistics."""
    return {
        name: weighted_mean(sample.values, ones_or(sample.weights, sample.rows.size)) if sample.rows.size else None
        for name, sample in zip(("bound_low", "bound_high"), extremes, strict=False)
    }


def _with_unjudged(cell: Cell, clusters: tuple[str, ...], level: float, known: Estimate) -> Estimate:
    """Return the estimate of a rate if some rollouts have unjudged turns and no success; `known` leaves these out."""
    number, choice = int((cell.headings == PARTIALLY_JUDGED).sum()), cell.options.unjudged
    note = in_words(number, cell.group.rows.size)
    if choice == "drop":
        return replace(known, reason=join_reasons(known.reason, dropped(note)))
    judged = cell.group.select((cell.headings == VALUE) | (cell.headings == PARTIALLY_JUDGED))
    sample = _sample(cell, judged, clusters)
    follow = follow_up(cell.group.sheet, cell.metric, sample.rows)
    if choice == "censor":
        return _censored(cell, sample, follow, note, level, known)
    values = expected_values(cell.group.sheet, cell.metric, sample.rows, sample.weights)
    point = None if np.isnan(values).any() else weighted_mean(values, ones_or(sample.weights, values.size))
    worst, best = (row_of(_mean(cell, _sample(cell, judged, clusters, unknown), level)) for unknown in (0.0, 1.0))
    interval = at_the_bounds(note, point, worst, best, timed=follow is not None)
    return replace(known, design_effect=None, **interval)


def _censored(
    cell: Cell, sample: _Sample, follow: FollowUp | None, note: str, level: float, known: Estimate
) -> Estimate:
    """Estimate a rate with unjudged turns as censoring: the last point of the curve of success as the rollouts were run."""
    reason = censored(note, timed=follow is not None)
    if follow is None or not known.n:
        return replace(known, reason=join_reasons(known.reason, reason))
    followed = follow.duration > 0
    curve = cumulative_incidence(
        follow.duration[followed],
        follow.cause[followed],
        tuple(codes[followed] for codes in sample.unit.codes),
        weights=None if sample.weights is None else sample.weights[followed],
        level=level,
    )
    last = curve.point(-1)
    return replace(last, n=known.n, reason=join_reasons(last.reason, reason))


def _estimand(cell: Cell, sample: _Sample, statistic: str, missing: dict[str, int]) -> str:
    """Return the estimand of the row, in one sentence."""
    horizon, strata = "", ""
    if statistic == "restricted_mean" and cell.kind == "time" and sample.rows.size:
        horizon = f" up to {cell.group.sheet.times(cell.metric)[0][sample.rows].max()}"
    if cell.options.strata and statistic == "mean":
        strata = f", drawn within {cell.options.strata}"
    texts = {
        "n_error": "in error",
        "n_undetermined": "undetermined",
        "n_missing": "missing",
        "n_inapplicable": "inapplicable",
    }
    without = ", ".join(f"{missing[name]} {text}" for name, text in texts.items() if missing[name])
    return (
        f"{statistic_in_words(statistic)} of {cell.metric}{horizon}, every {cell.options.weighting} weighing the same; "
        f"unit: {sample.unit.words}{strata}" + (f"; without a value: {without}" if without else "")
    )
