"""Estimates of one metric in all groups of ROLLOUTS: the columns of SUMMARY for each statistic and level."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rollwise.errors import counted
from rollwise.estimation.arrays import join_reasons, row_of
from rollwise.estimation.clusters import UNNAMED, Rows, way_out_of_one
from rollwise.estimation.estimands import estimands
from rollwise.estimation.means import mean_of
from rollwise.estimation.missingness import (
    INAPPLICABLE,
    PARTIALLY_JUDGED,
    UNJUDGED,
    UNKNOWN,
    VALUE,
    Statuses,
    group_counts,
)
from rollwise.estimation.samples import Cells, Options, Sample
from rollwise.estimation.statistics import POOLED
from rollwise.estimation.stopped_loops import ALL_ATTEMPTS, POOLED_ATTEMPTS, later_attempts, why_first
from rollwise.estimation.unjudged import (
    FollowUp,
    Unknown,
    at_the_bounds,
    covered,
    expected_values,
    follow_up,
)
from rollwise.measurement.unused_verdicts import NOTE, RATES
from rollwise.stats.clusters import ONE_CLUSTER, ones_or, weighted_mean, weighted_means
from rollwise.stats.design_effect import copies_effects, follow, relations_of_weights
from rollwise.stats.estimate import BoolArray, Estimate, Estimates, FloatArray, IntArray, TextArray
from rollwise.stats.extremes import extremes, standard_deviations
from rollwise.stats.incidence import cumulative_incidence
from rollwise.stats.quantiles import QuantileInterval, quantiles
from rollwise.stats.statistics import DEFAULT_STATISTICS, quantile_of, statistic_in_words
from rollwise.stats.survival import restricted_mean, survival_median
from rollwise.stats.units import ways_of

FEW_GOALS_DOMINATE = "a few goals dominate; use weighting='goal' to weight goals equally, or method='beta-binomial'"
"""Reason for a rate or a mean over goals that are worth fewer than half as many goals of equal size (Kish's effective number)."""

_RATES_FOLLOW = (
    "goals with more rollouts have {} rates; for the mean over goals use weighting='goal' if difficulty decided on the numbers, "
    "or method='beta-binomial' if successes did"
)
_POOLED_AND_FOLLOW = (
    "goals with more rollouts have {} rates: right only if nothing but successes so far decided on numbers"
)

_OF_A_QUANTILE: dict[str, QuantileInterval] = {
    "bootstrap": "percentile",
    "percentile": "percentile",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A statistic of a metric at a level, in all groups: columns of SUMMARY, (T,) each."""

    statistic: str
    level: float
    estimates: Estimates
    bounds: tuple[
        FloatArray, FloatArray
    ]  # the rate if every unknown were a failure, a success; NaN of other statistics
    missing: dict[str, IntArray]  # rollouts without a value, by column
    estimands: TextArray  # the estimand of each row, in one sentence


def blocks_of(
    rows: Rows,
    metric: str,
    statuses: Statuses,
    options: Options,
    statistics: tuple[str, ...] | None,
    levels: tuple[float, ...],
) -> list[Block]:
    """Estimate the statistics of a metric at each level in all groups; by default the statistics for the metric's kind."""
    applicable = rows.select(statuses != INAPPLICABLE)
    parts = [
        (chosen, list(_blocks(Cells(rows, metric, statuses, names, options).of(chosen), statistics, levels)))
        # The unit is chosen once, among all rollouts the metric applies to: missing values must not change what is independent.
        for names, chosen in applicable.units(metric, options.cluster)
    ]
    if len(parts) == 1:
        return parts[0][1]
    chosen = [groups for groups, _ in parts]
    return [_joined(chosen, blocks) for blocks in zip(*(blocks for _, blocks in parts), strict=True)]


def _joined(chosen: list[IntArray], blocks: tuple[Block, ...]) -> Block:
    """Return one statistic's blocks of parts of the groups as one block of all groups."""
    # Parts hold the numbers of their groups in ascending order: sorting all of them restores the order of the table.
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
    missing = group_counts(cells.statuses, groups)
    sample = cells.sample(VALUE)
    unknown = np.flatnonzero(groups.sums(np.isin(cells.statuses, UNKNOWN)))
    first = _first_attempts(cells)
    # Rollouts with a value that the sample lacks have no turns, so they have zero weight where turns are the weights.
    weightless = groups.sums(cells.statuses == VALUE).astype(np.int64) - sample.groups.sizes
    missing["n_inapplicable"] = missing["n_inapplicable"] + weightless
    notes = _notes(weightless, _without_goal(sample, cells.options.weighting))
    nulls = np.full(groups.count, np.nan)
    for statistic in statistics or DEFAULT_STATISTICS[cells.kind]:
        # Only a rate is bounded by the outcomes of unknown rollouts; the other statistics of a Boolean leave them out and say so.
        share = cells.kind == "proportion" and statistic == "mean"
        bounds, sentences = (_bounds(cells) if share else (nulls, nulls)), estimands(cells, sample, statistic, missing)
        for level in levels:
            estimates = _estimate(cells, sample, statistic, level)
            if share and unknown.size:
                # Groups without an unknown rollout keep the exact digits that they have alone.
                opened = estimates.take(unknown)
                _add_unjudged(opened, cells.of(unknown), level)
                estimates.put(unknown, opened)
            elif cells.kind == "proportion" and unknown.size:
                _add_reasons(estimates, estimates.n > 0, _left_out(cells, statistic))
            _add_ways_out(estimates, cells)
            _add_reasons(estimates, notes != None, notes)  # noqa: E711  # for each group
            if statistic == "mean":
                sizes = _of_sizes(cells, sample, share=share)
                _add_reasons(estimates, ~np.isnan(estimates.low) & (sizes != None), sizes)  # noqa: E711
            if cells.options.cluster == "auto" and cells.options.weighting != "goal":  # whose note says the same
                _add_reasons(estimates, ~np.isnan(estimates.low) & sample.is_unnamed, UNNAMED)
            _add_reasons(estimates, first != None, first)  # noqa: E711  # for each group
            _name_unused_verdicts(estimates, cells)
            yield Block(statistic, level, estimates, bounds, missing, sentences)


def _first_attempts(cells: Cells) -> TextArray:
    """Return why later attempts of each group do not count."""
    rows, reasons = cells.rows, np.full(cells.rows.groups.count, None, dtype=object)
    left_out = rows.groups.sums(later_attempts(rows.data, cells.metric)[rows.numbers])
    for group in np.flatnonzero(left_out).tolist():
        if cells.options.method == POOLED and cells.kind == "proportion":
            reasons[group] = ALL_ATTEMPTS
            continue
        why = why_first(rows.data, cells.metric, rows.numbers[rows.groups.codes == group])
        reasons[group] = join_reasons(why, POOLED_ATTEMPTS) if cells.kind == "proportion" else why
    return reasons


def _without_goal(sample: Sample, weighting: str) -> IntArray:
    """Return how many rollouts of each group have no goal, where goals are the weights."""
    if weighting != "goal":
        return np.zeros(sample.groups.count, dtype=np.int64)
    is_null = sample.rows.data.coded("goal").null
    return sample.groups.sums(is_null[sample.rows.numbers]).astype(np.int64)


def _notes(weightless: IntArray, without_goal: IntArray) -> TextArray:
    """Return what to say of the rollouts of each group that have no turns, and so no weight, or no goal."""
    notes = np.full(weightless.size, None, dtype=object)
    for group in np.flatnonzero(weightless).tolist():
        singular, plural = "rollout without turns has zero weight", "rollouts without turns have zero weight"
        notes[group] = counted(int(weightless[group]), singular, plural)
    for group in np.flatnonzero(without_goal).tolist():
        singular, plural = "rollout without a goal counts as one goal", "rollouts without a goal count as one goal each"
        notes[group] = counted(int(without_goal[group]), singular, plural)
    return notes


def _add_ways_out(estimates: Estimates, cells: Cells) -> None:
    """Add to the reason of groups of one cluster how they get an interval, where a column tells prompts apart."""
    rows = cells.rows
    for group in np.flatnonzero(estimates.reason == ONE_CLUSTER).tolist():
        remedy = way_out_of_one(rows.data, rows.numbers[rows.groups.codes == group])
        estimates.reason[group] = join_reasons(ONE_CLUSTER, remedy)


def _name_unused_verdicts(estimates: Estimates, cells: Cells) -> None:
    """Add to the reason of groups without a value of a rate which column may hold the verdict."""
    rows, frame = cells.rows, cells.rows.data.frame
    if cells.metric not in RATES or NOTE not in frame.columns:
        return
    applicable = rows.select(cells.statuses != INAPPLICABLE)
    for group in np.flatnonzero(np.asarray(estimates.n) == 0).tolist():
        notes = frame[NOTE][applicable.numbers[applicable.groups.codes == group]].drop_nulls()
        if len(notes):
            estimates.reason[group] = join_reasons(estimates.reason[group], str(notes[0]))


def _add_reasons(estimates: Estimates, where: BoolArray, reason: str | TextArray) -> None:
    """Add a reason to the reasons of some groups."""
    for group in np.flatnonzero(where).tolist():
        text = reason if isinstance(reason, str) else reason[group]
        estimates.reason[group] = join_reasons(estimates.reason[group], text)


def _of_sizes(cells: Cells, sample: Sample, *, share: bool) -> TextArray:
    """Say of each group what numbers of rollouts do to its mean, or None.

    Rates may follow the numbers of rollouts of goals; or goals that all rollouts weigh the same in are worth fewer than half as
    many goals of equal size. The numbers of loops that stop at a success, of which all attempts count, follow by design.
    """
    sentences = np.full(sample.groups.count, None, dtype=object)
    if sample.names != ("goal",) or cells.options.weighting != "rollout":
        return sentences
    (units,) = ways_of(sample.codes, sample.groups)
    ones, pooled = ones_or(None, sample.values.size), cells.options.method == POOLED
    if not pooled:
        # Kish's effective number of goals, n² / Σ n_g², is below half the number of goals where this effect is above twice the
        # mean size of a goal.
        dominated = copies_effects(ones, units, sample.groups) > 2 * sample.groups.sizes / np.maximum(units.counts, 1)
        sentences[dominated] = FEW_GOALS_DOMINATE
    if share:
        sizes = units.sums(ones)
        relation = relations_of_weights(units.sums(sample.values) / sizes, sizes, units.groups)
        # Where attempts stopped at a success, only first attempts are in the sample, and sizes say nothing about rates.
        stopped = sample.groups.sums(later_attempts(sample.rows.data, cells.metric)[sample.rows.numbers]) > 0
        for group in np.flatnonzero(follow(relation) & ~stopped).tolist():
            words = _POOLED_AND_FOLLOW if pooled else _RATES_FOLLOW
            sentences[group] = words.format("higher" if relation[group] > 0 else "lower")
    return sentences


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
    # The estimate itself is right for any sampling; the interval would ignore that the sizes of strata were fixed.
    reason = f"no interval of a {statistic_in_words(statistic)} within strata: only means have one"
    for group in np.flatnonzero(~np.isnan(estimates.low)).tolist():
        estimate = estimates.at(group)
        estimates.put(
            group,
            replace(
                estimate, low=None, high=None, method=None, resamples=None, reason=join_reasons(estimate.reason, reason)
            ),
        )
    return estimates


def _unstratified(cells: Cells, sample: Sample, statistic: str, level: float) -> Estimates:
    if cells.kind == "time":
        return _time(cells, sample, statistic, level)
    match statistic:
        case "mean":
            return mean_of(cells, sample, level)
        case "min" | "max":
            return extremes(sample.values, sample.groups, statistic)
        case "std":
            return standard_deviations(sample.values, sample.groups, weights=sample.weights)
        case "restricted_mean":
            reason = "a restricted mean is defined for a time to an event; this metric is not one"
            return Estimates.empty(
                sample.groups.count, n=sample.groups.sizes, reason=np.full(sample.groups.count, reason, dtype=object)
            )
        case _ if (q := quantile_of(statistic)) is not None:
            return quantiles(
                sample.values,
                sample.codes,
                sample.groups,
                q=q,
                weights=sample.weights,
                level=level,
                interval=_OF_A_QUANTILE.get(cells.options.method, "auto"),
                rng=lambda group: sample.generator(group, cells.options.seed),
                resamples=cells.options.resamples,
            )
    raise NotImplementedError(f"compute {statistic!r} in `_unstratified`")


def _time(cells: Cells, sample: Sample, statistic: str, level: float) -> Estimates:
    """Estimate a statistic of a time to an event, one group after another."""
    estimator = {"restricted_mean": restricted_mean, "median": survival_median}.get(statistic)
    if estimator is None:
        reason = f"the {statistic} of a censored time is not known; the restricted mean or the median can be estimated"
        count = sample.groups.count
        return Estimates.empty(count, n=sample.groups.sizes, reason=np.full(count, reason, dtype=object))
    duration, observed = cells.rows.data.times(cells.metric)
    estimates = []
    for part in sample.by_group():
        rows = part.rows.numbers
        estimates.append(estimator(duration[rows], observed[rows], part.codes, weights=part.weights, level=level))
    return Estimates.of(estimates)


def _bounds(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Return each group's rate if every unknown rollout were a failure, and if every one were a success."""
    undrawn = {UNJUDGED} if cells.options.unjudged == "sample" else set()
    every = [status for status in range(7) if status not in {INAPPLICABLE, *undrawn}]
    # All rollouts to which the metric applies are the denominator, whatever became of them.
    sample = cells.sample(*every)
    unknown = np.isnan(sample.values)
    successes, weights = np.where(unknown, 0.0, sample.values), sample.weights
    if weights is None:  # k of n, exactly
        hits, sizes = sample.groups.sums(successes), sample.groups.sizes
        with np.errstate(invalid="ignore"):  # 0 / 0 of a group without rows
            return hits / sizes, (hits + sample.groups.sums(unknown)) / sizes
    best = np.where(unknown, 1.0, sample.values)
    return weighted_means(successes, weights, sample.groups), weighted_means(best, weights, sample.groups)


def _left_out(cells: Cells, statistic: str) -> TextArray:
    """Say of each group how many rollouts without a verdict a statistic without bounds leaves out."""
    notes = []
    for statuses in np.split(cells.statuses, cells.rows.groups.starts[1:-1]):
        unknown = Unknown.of(statuses, "drop", timed=False)
        note = f"{unknown.note}: the {statistic_in_words(statistic)} leaves them out" if unknown.note else None
        notes.append(note)
    return np.array(notes, dtype=object)


def _add_unjudged(estimates: Estimates, cells: Cells, level: float) -> None:
    """Open the rates of groups in which some rollouts have no verdict, in whole or in part; the estimates leave these out."""
    choice, data, groups = cells.options.unjudged, cells.rows.data, cells.rows.groups
    extremes = _at_extremes(cells, level)
    judged = cells.sample(VALUE, PARTIALLY_JUDGED).by_group()
    for group, (sample, statuses) in enumerate(zip(judged, np.split(cells.statuses, groups.starts[1:-1]), strict=True)):
        if not sample.values.size:
            continue  # nothing is judged at all, so that there is nothing to bound
        of_judged, follow = estimates.at(group), follow_up(data, cells.metric, sample.rows.numbers)
        unknown = Unknown.of(statuses, choice, timed=follow is not None)
        is_open = unknown.partly or np.isin(statuses, covered(choice)).any()
        if choice == "drop" or not is_open:
            estimates.put(group, replace(of_judged, reason=join_reasons(of_judged.reason, unknown.treated(choice))))
        elif choice == "censor":
            estimates.put(group, _censored(sample, follow, unknown.treated(choice), level, of_judged))
        else:
            # `POOLED` gives each goal its chance from judged attempts alone, which needs no expected success.
            is_known = not unknown.partly or cells.options.method == POOLED
            point = of_judged.estimate if is_known else _expected(cells, sample)
            worst, best = (row_of(extreme.at(group)) for extreme in extremes)
            opened = at_the_bounds(unknown, choice, point, worst, best)
            estimates.put(group, replace(of_judged, design_effect=None, **opened))


def _expected(cells: Cells, sample: Sample) -> float | None:
    """Return the rate of one group in which rollouts with unjudged turns count with their expected success."""
    values = expected_values(cells.rows.data, cells.metric, sample.rows.numbers, sample.weights)
    return None if np.isnan(values).any() else weighted_mean(values, ones_or(sample.weights, values.size))


def _at_extremes(cells: Cells, level: float) -> list[Estimates]:
    """Estimate the rates with the rollouts that an interval covers as failures, and as successes; nothing if it covers none."""
    statuses = covered(cells.options.unjudged)
    if not statuses:
        return []
    sample = cells.sample(VALUE, *statuses)
    # Only the covered rollouts have no value here, so that filling nulls changes exactly these.
    ends = (replace(sample, values=np.nan_to_num(sample.values, nan=rate)) for rate in (0.0, 1.0))
    return [mean_of(cells, end, level) for end in ends]


def _censored(sample: Sample, follow: FollowUp | None, reason: str, level: float, judged: Estimate) -> Estimate:
    """Estimate a rate with unjudged turns as censoring: the last point of the curve of success as the rollouts were run."""
    if follow is None or not judged.n:
        return replace(judged, reason=join_reasons(judged.reason, reason))
    # Rollouts that were not judged at all have a duration of 0 and do not enter the curve.
    followed = follow.duration > 0
    curve = cumulative_incidence(
        follow.duration[followed],
        follow.cause[followed],
        tuple(codes[followed] for codes in sample.codes),
        weights=None if sample.weights is None else sample.weights[followed],
        level=level,
    )
    last = curve.point(-1)
    return replace(last, n=judged.n, reason=join_reasons(last.reason, reason))
