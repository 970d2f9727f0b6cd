"""Estimates of one metric in all groups of ROLLOUTS: the columns of SUMMARY for each statistic and level."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from turnwise.errors import counted
from turnwise.estimation.arrays import join_reasons, row_of
from turnwise.estimation.clusters import Rows, strata_of, unit_in_words
from turnwise.estimation.missingness import INAPPLICABLE, PARTIALLY_JUDGED, VALUE, Headings, group_counts
from turnwise.estimation.samples import Sample, Weighting, sample_of
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
from turnwise.metrics.metric import ANY_NUMBER, SHARE
from turnwise.schema.arguments import Cluster, quantile_of, statistic_in_words
from turnwise.stats.clusters import ones_or, weighted_mean, weighted_means
from turnwise.stats.design_effect import copies_effects
from turnwise.stats.estimate import BoolArray, Estimate, Estimates, FloatArray, IntArray, TextArray
from turnwise.stats.incidence import cumulative_incidence
from turnwise.stats.intervals import ShareInterval
from turnwise.stats.mean import OF_A_MEAN, means, standard_deviations
from turnwise.stats.proportion import proportions
from turnwise.stats.quantiles import QuantileInterval, extremes, quantiles
from turnwise.stats.survival import restricted_mean, survival_median
from turnwise.stats.units import ways_of

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

FEW_GOALS_DOMINATE = "few goals have most of the rollouts: weighting='goal' counts every goal alike"
"""Reason for a rate or a mean over goals that are worth fewer than half as many goals of equal size (Kish's effective number)."""

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
class Cells:
    """One metric in several groups of ROLLOUTS, with the same columns as unit.

    Attributes
    ----------
    rows
        All rollouts of the groups.
    headings
        The heading of each of these rollouts.
    names
        The cluster columns.
    """

    rows: Rows
    metric: str
    headings: Headings
    names: tuple[str, ...]
    options: Options

    @property
    def kind(self) -> str:
        """Kind of the metric: proportion, number or time."""
        return self.rows.sheet.kinds[self.metric] or "number"

    def of(self, chosen: IntArray) -> "Cells":
        """Return these groups, which become groups 0, 1, ...."""
        rows, mask = self.rows.of(chosen)
        return replace(self, rows=rows, headings=self.headings[mask])

    def sample(self, *wanted: int, unknown: float | None = None) -> Sample:
        """Return the rollouts under these headings that have any weight, with `unknown` in place of missing values."""
        rows = self.rows.select(np.isin(self.headings, wanted))
        return sample_of(rows, self.metric, self.names, self.options.weighting, unknown)


@dataclass(frozen=True, slots=True)
class Block:
    """A statistic of a metric at a level, in all groups: columns of SUMMARY, (T,) each.

    Attributes
    ----------
    bounds
        The rate if every unknown rollout were a failure, and if every one were a success; NaN for other statistics.
    missing
        Rollouts without a value, by column.
    estimands
        The estimand of each row, in one sentence.
    """

    statistic: str
    level: float
    estimates: Estimates
    bounds: tuple[FloatArray, FloatArray]
    missing: dict[str, IntArray]
    estimands: TextArray


def blocks_of(
    rows: Rows,
    metric: str,
    headings: Headings,
    options: Options,
    statistics: tuple[str, ...] | None,
    levels: tuple[float, ...],
) -> list[Block]:
    """Estimate the statistics of a metric at each level in all groups; by default the statistics for the metric's kind."""
    applicable = rows.select(headings != INAPPLICABLE)
    parts = [
        (chosen, list(_blocks(Cells(rows, metric, headings, names, options).of(chosen), statistics, levels)))
        # The unit is chosen once, among all rollouts the metric applies to: missing values must not change what is independent.
        for names, chosen in applicable.units(metric, options.cluster)
    ]
    if len(parts) == 1:
        return parts[0][1]
    chosen = [groups for groups, _ in parts]
    return [_joined(chosen, blocks) for blocks in zip(*(blocks for _, blocks in parts), strict=True)]


def _joined(chosen: list[IntArray], blocks: tuple[Block, ...]) -> Block:
    """Return one statistic's blocks of parts of the groups as one block of all groups."""
    order = np.argsort(np.concatenate(chosen))

    def joined(columns: list[Any]) -> Any:
        return np.concatenate(columns)[order]

    estimates = Estimates.empty(order.size)
    for groups, block in zip(chosen, blocks, strict=True):
        estimates.put(groups, block.estimates)
    return Block(
        blocks[0].statistic,
        blocks[0].level,
        estimates,
        (joined([block.bounds[0] for block in blocks]), joined([block.bounds[1] for block in blocks])),
        {name: joined([block.missing[name] for block in blocks]) for name in blocks[0].missing},
        joined([block.estimands for block in blocks]),
    )


def _blocks(cells: Cells, statistics: tuple[str, ...] | None, levels: tuple[float, ...]) -> Iterator[Block]:
    groups = cells.rows.groups
    missing = group_counts(cells.headings, groups)
    sample = cells.sample(VALUE)
    partially_judged = np.flatnonzero(groups.sums(cells.headings == PARTIALLY_JUDGED))
    stopped = groups.sums(later_attempts(cells.rows.sheet, cells.metric)[cells.rows.numbers]) > 0
    weightless = groups.sums(cells.headings == VALUE).astype(np.int64) - sample.groups.sizes
    notes = _notes(weightless)
    nulls = np.full(groups.count, np.nan)
    for statistic in statistics or DEFAULT_STATISTICS[cells.kind]:
        share = cells.kind == "proportion" and statistic == "mean"
        bounds, estimands = (_bounds(cells) if share else (nulls, nulls)), _estimands(cells, sample, statistic, missing)
        for level in levels:
            estimates = _estimate(cells, sample, statistic, level)
            if share:
                for group in partially_judged.tolist():
                    known = estimates.at(group)
                    estimates.put(group, _with_unjudged(cells.of(np.array([group])), level, known))
            _add_reasons(estimates, weightless > 0, notes)
            if statistic == "mean":
                _add_reasons(estimates, ~np.isnan(estimates.low) & _dominated(cells, sample), FEW_GOALS_DOMINATE)
            _add_reasons(estimates, stopped, FIRST_ATTEMPTS)
            yield Block(statistic, level, estimates, bounds, missing, estimands)


def _notes(weightless: IntArray) -> TextArray:
    """Return what to say of the rollouts of each group that have no turns, and so no weight."""
    notes = np.full(weightless.size, None, dtype=object)
    for group in np.flatnonzero(weightless).tolist():
        singular, plural = "rollout without turns weighs nothing", "rollouts without turns weigh nothing"
        notes[group] = counted(int(weightless[group]), singular, plural)
    return notes


def _add_reasons(estimates: Estimates, where: BoolArray, reason: str | TextArray) -> None:
    """Add a reason to those of some groups."""
    for group in np.flatnonzero(where).tolist():
        text = reason if isinstance(reason, str) else reason[group]
        estimates.reason[group] = join_reasons(estimates.reason[group], text)


def _dominated(cells: Cells, sample: Sample) -> BoolArray:
    """Return where goals that all rollouts weigh the same in are worth fewer than half as many goals of equal size."""
    if sample.names != ("goal",) or cells.options.weighting != "rollout":
        return np.zeros(sample.groups.count, dtype=np.bool_)
    (units,) = ways_of(sample.codes, sample.groups)
    effects = copies_effects(ones_or(None, sample.values.size), units, sample.groups)
    return np.asarray(effects > 2 * sample.groups.sizes / np.maximum(units.counts, 1))


def _estimate(cells: Cells, sample: Sample, statistic: str, level: float) -> Estimates:
    """Estimate a statistic; only means have an interval within strata."""
    estimates = _unstratified(cells, sample, statistic, level)
    uncounted = (estimates.n > 0) & (
        estimates.n_clusters == 0
    )  # statistics without an interval do not count their clusters
    if uncounted.any():
        ways = ways_of(sample.codes, sample.groups)[:2]
        estimates.n_clusters = np.where(uncounted, np.min([way.counts for way in ways], axis=0), estimates.n_clusters)
    if cells.options.strata is None or (statistic == "mean" and cells.kind != "time"):
        return estimates
    reason = f"no interval of a {statistic_in_words(statistic)} within strata: only means have one"
    for group in np.flatnonzero(~np.isnan(estimates.low)).tolist():
        known = estimates.at(group)
        estimates.put(
            group,
            replace(known, low=None, high=None, method=None, resamples=None, reason=join_reasons(known.reason, reason)),
        )
    return estimates


def _unstratified(cells: Cells, sample: Sample, statistic: str, level: float) -> Estimates:
    if cells.kind == "time":
        return _time(cells, sample, statistic, level)
    match statistic:
        case "mean":
            return _mean(cells, sample, level)
        case "min" | "max":
            return extremes(sample.values, sample.groups, statistic)
        case "std":
            return standard_deviations(sample.values, sample.groups, weights=sample.weights)
        case "restricted_mean":
            reason = "a restricted mean is defined for a time to an event; this metric is not one"
            return Estimates.empty(
                sample.groups.count, n=sample.groups.sizes, reason=np.full(sample.groups.count, reason, dtype=object)
            )
        case _:
            return quantiles(
                sample.values,
                sample.codes,
                sample.groups,
                q=quantile_of(statistic) or 0.5,
                weights=sample.weights,
                level=level,
                interval=_OF_A_QUANTILE.get(cells.options.method, "auto"),
                rng=lambda group: sample.generator(group, cells.options.seed),
                resamples=cells.options.resamples,
            )


def _mean(cells: Cells, sample: Sample, level: float) -> Estimates:
    """Estimate means or shares with the requested interval.

    Wilson's interval replaces another in two cases: a bootstrap of a share without an interval, such as 0 of n, and an
    automatic interval of fractions that are all 0.0 or 1.0 if it would leave [0, 1].
    """
    method = cells.options.method
    share, bootstrap = cells.kind == "proportion", method == "bootstrap"
    if cells.options.strata is not None:
        estimates = _stratified_mean(cells, sample, level)
        _clip(cells, estimates)
        return estimates
    if share and method in _OF_A_SHARE:
        return _proportions(sample, level, _OF_A_SHARE[method])
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
    chosen = np.flatnonzero(replaced)
    if chosen.size:
        estimates.put(chosen, _proportions(sample.of(chosen), level, "wilson"))
        for group in chosen[~np.isnan(estimates.low[chosen])].tolist():
            estimates.reason[group] = join_reasons(reasons[group], reason)
    return estimates


def _proportions(sample: Sample, level: float, interval: ShareInterval) -> Estimates:
    return proportions(
        sample.values, sample.codes, sample.groups, weights=sample.weights, level=level, interval=interval
    )


def _zeros_and_ones(cells: Cells, sample: Sample) -> BoolArray:
    """Return where all values are 0.0 or 1.0, as evaluators write right and wrong. Integers may be counts."""
    is_float = cells.rows.sheet.frame.schema[cells.metric].is_float()
    return np.asarray(is_float & (sample.groups.sums((sample.values != 0) & (sample.values != 1)) == 0))


def _clip(cells: Cells, estimates: Estimates) -> None:
    """Cut intervals where the metric's values end (at 0 for counts); t and some bootstrap intervals reach beyond."""
    entry = about(cells.metric)
    least, most = SHARE if cells.kind == "proportion" else ANY_NUMBER if entry is None else entry.values
    # A column of the same name with values of its own keeps its interval.
    fits = (estimates.estimate >= least) & (estimates.estimate <= most)
    estimates.low = np.where(fits, np.maximum(estimates.low, least), estimates.low)
    estimates.high = np.where(fits, np.minimum(estimates.high, most), estimates.high)


def _without_interval(sample: Sample, level: float, reason: str) -> Estimates:
    """Estimate means without an interval, for this reason."""
    estimates = means(sample.values, sample.codes, sample.groups, weights=sample.weights, level=level, interval="t")
    for group in np.flatnonzero(~np.isnan(estimates.estimate)).tolist():
        known = estimates.at(group)
        estimates.put(group, replace(known, low=None, high=None, method=None, design_effect=None, reason=reason))
    return estimates


def _stratified_mean(cells: Cells, sample: Sample, level: float) -> Estimates:
    """Estimate means with clusters drawn within strata: by the basic bootstrap if requested, else by percentiles."""
    options = cells.options
    if len(sample.codes) > 1:
        reason = "no interval within strata over two crossed ways: name one cluster, or leave strata out"
        return _without_interval(sample, level, reason)
    if options.method not in _WITHIN_STRATA:
        reason = f"no {options.method} interval within strata: ask for percentile or basic"
        return _without_interval(sample, level, reason)
    (units,) = ways_of(sample.codes, sample.groups)
    labels = np.arange(sample.values.size) if units.labels is None else units.labels
    count = int(units.counts.sum())
    return means(
        sample.values,
        sample.codes,
        sample.groups,
        weights=sample.weights,
        level=level,
        rng=lambda group: sample.generator(group, options.seed),
        resamples=options.resamples,
        interval="basic" if options.method == "basic" else "percentile",
        strata=strata_of(cells.rows.sheet, sample.rows.numbers, labels, count, str(options.strata), "summarize"),
    )


def _time(cells: Cells, sample: Sample, statistic: str, level: float) -> Estimates:
    """Estimate a statistic of a time to an event, one group after another."""
    estimator = {"restricted_mean": restricted_mean, "median": survival_median}.get(statistic)
    if estimator is None:
        reason = f"the {statistic} of a censored time is not known; the restricted mean or the median can be estimated"
        count = sample.groups.count
        return Estimates.empty(count, n=sample.groups.sizes, reason=np.full(count, reason, dtype=object))
    duration, observed = cells.rows.sheet.times(cells.metric)
    estimates = []
    for part in sample.each():
        rows = part.rows.numbers
        estimates.append(estimator(duration[rows], observed[rows], part.codes, weights=part.weights, level=level))
    return Estimates.of(estimates)


def _bounds(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Return each group's rate if every unknown rollout were a failure, and if every one were a success."""
    every = [heading for heading in range(6) if heading != INAPPLICABLE]
    worst, best = (cells.sample(*every, unknown=unknown) for unknown in (0.0, 1.0))
    weights = ones_or(worst.weights, worst.values.size)
    return weighted_means(worst.values, weights, worst.groups), weighted_means(best.values, weights, best.groups)


def _with_unjudged(cells: Cells, level: float, known: Estimate) -> Estimate:
    """Return the rate of one group with unjudged turns and no success in some rollouts; `known` leaves these out."""
    number, choice = int((cells.headings == PARTIALLY_JUDGED).sum()), cells.options.unjudged
    note = in_words(number, cells.headings.size)
    if choice == "drop":
        return replace(known, reason=join_reasons(known.reason, dropped(note)))
    sample, sheet = cells.sample(VALUE, PARTIALLY_JUDGED), cells.rows.sheet
    rows = sample.rows.numbers
    follow = follow_up(sheet, cells.metric, rows)
    if choice == "censor":
        return _censored(sample, follow, note, level, known)
    values = expected_values(sheet, cells.metric, rows, sample.weights)
    point = None if np.isnan(values).any() else weighted_mean(values, ones_or(sample.weights, values.size))
    worst, best = (
        row_of(_mean(cells, cells.sample(VALUE, PARTIALLY_JUDGED, unknown=unknown), level).at(0))
        for unknown in (0.0, 1.0)
    )
    interval = at_the_bounds(note, point, worst, best, timed=follow is not None)
    return replace(known, design_effect=None, **interval)


def _censored(sample: Sample, follow: FollowUp | None, note: str, level: float, known: Estimate) -> Estimate:
    """Estimate a rate with unjudged turns as censoring: the last point of the curve of success as the rollouts were run."""
    reason = censored(note, timed=follow is not None)
    if follow is None or not known.n:
        return replace(known, reason=join_reasons(known.reason, reason))
    followed = follow.duration > 0
    curve = cumulative_incidence(
        follow.duration[followed],
        follow.cause[followed],
        tuple(codes[followed] for codes in sample.codes),
        weights=None if sample.weights is None else sample.weights[followed],
        level=level,
    )
    last = curve.point(-1)
    return replace(last, n=known.n, reason=join_reasons(last.reason, reason))


def _estimands(cells: Cells, sample: Sample, statistic: str, missing: dict[str, IntArray]) -> TextArray:
    """Return the estimand of each group, in one sentence."""
    horizons = np.full(sample.groups.count, -1)
    if statistic == "restricted_mean" and cells.kind == "time":
        durations = cells.rows.sheet.times(cells.metric)[0][sample.rows.numbers]
        horizons = np.nan_to_num(sample.groups.largest(durations.astype(np.float64)), nan=-1).astype(np.int64)
    strata = f", drawn within {cells.options.strata}" if cells.options.strata and statistic == "mean" else ""
    texts = {
        "n_error": "in error",
        "n_undetermined": "undetermined",
        "n_missing": "missing",
        "n_inapplicable": "inapplicable",
    }
    start = f"{statistic_in_words(statistic)} of {cells.metric}"
    weighting = f", every {cells.options.weighting} weighing the same; unit: "
    columns = np.stack([horizons, sample.nulls, *(missing[name] for name in texts)], axis=1)
    # Few combinations of these numbers occur in many groups: each is put into words once.
    first, places = _combinations(columns)
    sentences = []
    for horizon, nulls, *numbers in columns[first].tolist():
        without = ", ".join(f"{number} {text}" for number, text in zip(numbers, texts.values(), strict=True) if number)
        sentences.append(
            start
            + (f" up to {horizon}" if horizon >= 0 else "")
            + weighting
            + unit_in_words(sample.names, nulls)
            + strata
            + (f"; without a value: {without}" if without else "")
        )
    return np.array(sentences, dtype=object)[places]


def _combinations(columns: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first row of each distinct row of a table (T, K), and the number of the distinct row that each row equals."""
    codes = np.zeros(len(columns), dtype=np.int64)
    for column in columns.T:
        if (column != column[:1]).any():
            values = np.unique(column, return_inverse=True)[1]
            codes = np.unique(codes * len(columns) + values, return_inverse=True)[1]
    return np.unique(codes, return_index=True, return_inverse=True)[1:]
