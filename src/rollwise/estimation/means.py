"""Means and shares of one metric in all groups, with the interval that was asked for."""

from dataclasses import replace

import numpy as np

from rollwise.estimation.arrays import join_reasons
from rollwise.estimation.clusters import strata_of
from rollwise.estimation.samples import Cells, Sample
from rollwise.estimation.statistics import POOLED
from rollwise.estimation.stopped_loops import later_attempts
from rollwise.metrics.catalog import about
from rollwise.metrics.metric import ANY_NUMBER, SHARE
from rollwise.stats.beta_binomial import beta_binomial
from rollwise.stats.clusters import ONE_CLUSTER, grouping
from rollwise.stats.estimate import BoolArray, Estimates, FloatArray, IntArray
from rollwise.stats.intervals import ShareInterval
from rollwise.stats.mean import NO_VARIATION, OF_A_MEAN, means
from rollwise.stats.proportion import proportions
from rollwise.stats.units import ways_of

_OF_A_SHARE: dict[str, ShareInterval] = {
    "auto": "wilson",
    "wilson": "wilson",
    "exact": "exact",
    "jeffreys": "jeffreys",
    "agresti-coull": "agresti-coull",
}
_WITHIN_STRATA = {"auto", "bootstrap", "percentile", "basic"}


def mean_of(cells: Cells, sample: Sample, level: float) -> Estimates:
    """Estimate means or shares with the requested interval.

    Wilson's interval replaces another in two cases: a bootstrap of a share without an interval, such as 0 of n, and an
    automatic interval of fractions that are all 0.0 or 1.0 if it would leave [0, 1]. Equal values of a metric that declares
    where its values end have an interval too.
    """
    method = cells.options.method
    share, bootstrap = cells.kind == "proportion", method == "bootstrap"
    if cells.options.strata is not None:
        estimates = _stratified_mean(cells, sample, level)
        _clip(cells, estimates)
        return estimates
    if share and method in _OF_A_SHARE:
        return _proportions(sample, level, _OF_A_SHARE[method])
    if share and method == POOLED:
        return _pooled(cells, sample, level)
    if method not in OF_A_MEAN or (share and method in {"basic", "normal"}):
        reason = "can leave [0, 1], where a share must be" if share else "is for shares; this metric is a number"
        return _without_interval(sample, level, f"{method}: {reason}")
    estimates = means(
        sample.values,
        sample.codes,
        sample.groups,
        weights=sample.weights,
        level=level,
        rng=lambda group: sample.generator(group, cells.options.seed),
        resamples=cells.options.resamples,
        interval="percentile" if bootstrap and len(sample.codes) > 1 else OF_A_MEAN[method],
        bounded=range_of(cells.metric, cells.kind)[1] < np.inf,
    )
    if share and bootstrap:
        replaced, reason = np.isnan(estimates.low), "Wilson instead of the bootstrap"
    elif method == "auto":
        replaced = ((estimates.low < 0) | (estimates.high > 1)) & _zeros_and_ones(cells, sample)
        reason = "Wilson because all values are 0.0 or 1.0"
    else:
        replaced, reason = np.zeros(sample.groups.count, dtype=np.bool_), ""
    reasons = estimates.reason
    _clip(cells, estimates)
    if method == "auto":
        _fill_constant(cells, sample, level, estimates)
    chosen = np.flatnonzero(replaced)
    if chosen.size:
        estimates.put(chosen, _proportions(sample.of(chosen), level, "wilson"))
        for group in chosen[~np.isnan(estimates.low[chosen])].tolist():
            estimates.reason[group] = join_reasons(reasons[group], reason)
    return estimates


def _proportions(sample: Sample, level: float, interval: ShareInterval, strata: IntArray | None = None) -> Estimates:
    return proportions(
        sample.values,
        sample.codes,
        sample.groups,
        weights=sample.weights,
        level=level,
        interval=interval,
        strata=strata,
    )


def _pooled(cells: Cells, sample: Sample, level: float) -> Estimates:
    """Estimate the mean chance of the units of each group, whatever their numbers of rollouts and whenever these stopped.

    Without a success or without a failure nothing shows how chances differ: Wilson's interval then.
    """
    if cells.options.weighting == "turn" or len(sample.codes) > 1:
        what = "turns" if cells.options.weighting == "turn" else "two crossed ways"
        return _without_interval(sample, level, f"{POOLED}: not for {what}; every unit of one kind weighs the same")
    estimates = _proportions(sample, level, "wilson")
    stopped = later_attempts(sample.rows.data, cells.metric)[sample.rows.numbers]
    for group, part in enumerate(sample.by_group()):
        units = grouping(part.codes[0] if part.codes else np.arange(part.values.size))
        c, n = units.sums(part.values), units.sums(np.ones(part.values.size))
        weighted = estimates.at(group)
        if not 0 < c.sum() < n.sum() or units.count < 2:
            all_equal = "no success" if n.size and not c.sum() else "no failure"
            flaw = (
                ONE_CLUSTER if units.count == 1 and weighted.low is None else f"{all_equal}: Wilson instead of {POOLED}"
            )
            estimates.reason[group] = flaw if n.size else weighted.reason
            continue
        # Loops that stopped: how many attempts a goal has depends on its chance.
        chances = beta_binomial(c, n, equal=bool(stopped[sample.groups.codes == group].any()))
        rates = chances.rate()
        center, spread = chances.expected(rates)
        low, high = chances.interval(rates, level)
        pooled = replace(
            weighted, estimate=center, std_error=spread, low=low, high=high, design_effect=None, reason=None
        )
        estimates.put(group, replace(pooled, method=f"{POOLED} with and without immune units"))
    return estimates


def _zeros_and_ones(cells: Cells, sample: Sample) -> BoolArray:
    """Return where all values are 0.0 or 1.0, as evaluators write right and wrong. Integers may be counts."""
    is_float = cells.rows.data.frame[cells.metric].dtype.is_float()
    return np.asarray(is_float & (sample.groups.sums((sample.values != 0) & (sample.values != 1)) == 0))


def are_shares(metric: str, kind: str | None, values: FloatArray) -> bool:
    """Return whether values are shares from 0 to 1: of a Boolean metric, or of one that declares so."""
    filled = values[~np.isnan(values)]
    return range_of(metric, kind) == SHARE and bool(((filled >= 0) & (filled <= 1)).all())


def range_of(metric: str, kind: str | None) -> tuple[float, float]:
    """Return the least and the largest value that a metric declares."""
    entry = about(metric)
    return SHARE if kind == "proportion" else ANY_NUMBER if entry is None else entry.values


def _clip(cells: Cells, estimates: Estimates) -> None:
    """Cut intervals where the metric's values end (at 0 for counts); t and some bootstrap intervals reach beyond."""
    least, most = range_of(cells.metric, cells.kind)
    # A column of the same name with values of its own keeps its interval.
    fits = (estimates.estimate >= least) & (estimates.estimate <= most)
    estimates.low = np.where(fits, np.maximum(estimates.low, least), estimates.low)
    estimates.high = np.where(fits, np.minimum(estimates.high, most), estimates.high)


def _fill_constant(cells: Cells, sample: Sample, level: float, estimates: Estimates) -> None:
    """Set the interval where all values are equal, by the share that may have another one, at most as far as values go.

    If a share p of all rollouts has another value than c, the mean is at most c + (most - c)·p. The exact upper end for none
    bounds p: for n rollouts of a goal each it solves (1 - p)^n = .025 at level .95.
    """
    least, most = range_of(cells.metric, cells.kind)
    fits = (estimates.estimate >= least) & (estimates.estimate <= most)
    chosen = np.flatnonzero((estimates.reason == NO_VARIATION) & fits & (most - least < np.inf))
    if not chosen.size:
        return
    equal = sample.of(chosen)
    others = _proportions(replace(equal, values=np.zeros(equal.values.size)), level, "exact")
    value = estimates.estimate[chosen]
    estimates.low[chosen] = value - (value - least) * others.high
    estimates.high[chosen] = value + (most - value) * others.high
    estimates.method[chosen] = others.method
    for group, share in zip(chosen.tolist(), others.high.tolist(), strict=True):
        if not np.isnan(share):
            estimates.reason[group] = f"{NO_VARIATION}: up to {share:.3f} of all rollouts may have another value"


def _without_interval(sample: Sample, level: float, reason: str) -> Estimates:
    """Estimate means without an interval, for this reason."""
    estimates = means(sample.values, sample.codes, sample.groups, weights=sample.weights, level=level, interval="t")
    for group in np.flatnonzero(~np.isnan(estimates.estimate)).tolist():
        estimate = estimates.at(group)
        estimates.put(group, replace(estimate, low=None, high=None, method=None, design_effect=None, reason=reason))
    return estimates


def _strata(cells: Cells, sample: Sample) -> IntArray:
    """Return the stratum of each cluster of each group."""
    (units,) = ways_of(sample.codes, sample.groups)
    name = str(cells.options.strata)
    return strata_of(cells.rows.data, sample.rows.numbers, units.of_rows, units.groups.codes.size, name, "summarize")


def _stratified_mean(cells: Cells, sample: Sample, level: float) -> Estimates:
    """Estimate means within strata: shares with Wilson's interval, all else by drawing clusters within each stratum."""
    options = cells.options
    if len(sample.codes) > 1:
        reason = "no interval within strata over two crossed ways: name one cluster, or leave strata out"
        return _without_interval(sample, level, reason)
    if cells.kind == "proportion" and options.method in _OF_A_SHARE:
        return _proportions(sample, level, _OF_A_SHARE[options.method], _strata(cells, sample))
    if options.method not in _WITHIN_STRATA:
        reason = f"no {options.method} interval within strata: ask for percentile or basic"
        return _without_interval(sample, level, reason)
    return means(
        sample.values,
        sample.codes,
        sample.groups,
        weights=sample.weights,
        level=level,
        rng=lambda group: sample.generator(group, options.seed),
        resamples=options.resamples,
        interval={"auto": "auto", "basic": "basic"}.get(options.method, "percentile"),  # type: ignore[arg-type]
        strata=_strata(cells, sample),
    )
