"""Comparisons of two arms other than by means: probability of improvement, quantiles, restricted mean times."""

from dataclasses import replace
from math import sqrt

import numpy as np
import scipy

from rollwise.errors import counted
from rollwise.stats.bootstrap import FEWEST_CLUSTERS, MOST_NULL, expanded, percentile_interval
from rollwise.stats.clusters import Grouping, grouping, groupings, variation
from rollwise.stats.differences import (
    NO_UNITS,
    ONE_PAIR,
    UNEQUAL,
    Arm,
    Difference,
    Draws,
    difference_df,
    t_test,
)
from rollwise.stats.estimate import BoolArray, Clusters, FloatArray, IntArray
from rollwise.stats.mean import mean
from rollwise.stats.order_statistics import clustered_quantile_replicates
from rollwise.stats.paired_differences import Pairs, are_unequal, paired
from rollwise.stats.permutation import sign_flip
from rollwise.stats.proportion import proportion
from rollwise.stats.quantiles import too_few
from rollwise.stats.student import t_quantile
from rollwise.stats.two_curves import restricted_mean_difference
from rollwise.stats.unpaired_differences import are_unequal_arms, covariance


def chance_of_more(first: FloatArray, second: FloatArray) -> float:
    """Return the share of pairs in which the first value is larger, ties counting half: Mann and Whitney's U / (n·m).

    Examples
    --------
    >>> chance_of_more(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    0.875
    """
    ordered = np.sort(second)
    below, upto = (np.searchsorted(ordered, first, side=side) for side in ("left", "right"))
    return float((below + upto).sum() / (2 * first.size * second.size))


def paired_improvement(arm_a: Arm, arm_b: Arm, draws: Draws, *, level: float = 0.95) -> Difference:
    """Estimate the probability that a value of the first arm exceeds one of the second at the same goal, averaged over goals.

    Mann and Whitney's share per goal, ties counting half, averaged over the common goals with equal weight. The interval is a
    bootstrap over goals (t with fewer than ten goals; Wilson's if all goals agree). The p-value comes from sign flips of the
    goals' deviations from 1/2.

    Returns
    -------
    Difference
        `difference` contains the probability itself, in [0, 1]; 1/2 if neither arm is ahead.

    References
    ----------
    Agarwal et al. (2021), arXiv:2108.13264; Mann & Whitney (1947), doi:10.1214/aoms/1177730491.

    Examples
    --------
    >>> goals = (np.repeat(np.arange(12), 2),)
    >>> draws = Draws(np.random.default_rng(0), np.random.default_rng(1), 2000)
    >>> found = paired_improvement(Arm(np.tile([1.0, 0.0], 12), goals), Arm(np.zeros(24), goals), draws)
    >>> found.difference, round(found.low, 2), found.method
    (0.75, 0.47, 'Wilson over goals; sign flips')
    """
    pairs = paired(arm_a, arm_b)
    if not pairs.units.size:
        return Difference(reason="no common goal")
    share = _by_goal(arm_a, arm_b, pairs)
    spread = variation(share, ())
    row = Difference(difference=spread.estimate, n_clusters=share.size)
    if share.size == 1:
        return replace(row, reason=ONE_PAIR)
    interval = mean(share, (), level=level, rng=draws.interval, resamples=draws.resamples, bounded=True)
    if interval.low is None:
        interval = replace(proportion(share, (), level=level), method="Wilson over goals", reason=None)
    test = sign_flip(share - 0.5, rng=draws.test, resamples=draws.resamples)
    low, high = (None if end is None else float(np.clip(end, 0.0, 1.0)) for end in (interval.low, interval.high))
    return replace(
        row,
        std_error=sqrt(spread.variance) if spread.variance else None,
        low=low,
        high=high,
        p_value=test.p_value,
        method=f"{interval.method}; {test.method.removeprefix('exact ')}",
        reason=interval.reason or (UNEQUAL if are_unequal(pairs) else None),
        resamples=interval.resamples or test.resamples,
    )


def _by_goal(arm_a: Arm, arm_b: Arm, pairs: Pairs) -> FloatArray:
    parts = []
    for arm in (arm_a, arm_b):
        order = np.argsort(arm.clusters[0], kind="stable")
        keys = arm.clusters[0][order]
        edges = [np.searchsorted(keys, pairs.units, side=side) for side in ("left", "right")]
        parts.append([arm.values[order[start:stop]] for start, stop in zip(*edges, strict=True)])
    return np.array([chance_of_more(values_a, values_b) for values_a, values_b in zip(*parts, strict=True)])


def unpaired_improvement(arm_a: Arm, arm_b: Arm, *, level: float = 0.95) -> Difference:
    """Estimate the probability that a value of the first arm exceeds one of the second, over all pairs of rollouts.

    The variance uses DeLong's placements, summed over whole clusters, with the covariance from clusters in both arms
    (Obuchowski). The interval is t with the degrees of freedom of `difference_df` on the logit scale, because a probability far
    from one half is skewed: t on the original scale covers .84 for a probability of .90 with ten goals per arm. The test
    against one half uses the original scale.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), doi:10.2307/2531595; Obuchowski (1997), doi:10.2307/2533958; Kottas, Kuss &
    Zapf (2014), doi:10.1186/1471-2288-14-26, compare such intervals.

    Examples
    --------
    >>> found = unpaired_improvement(Arm(np.arange(10.0) + 2, ()), Arm(np.arange(10.0), ()))
    >>> found.difference, found.method
    (0.68, 'DeLong, t of the logit; t test')
    """
    if not arm_a.values.size or not arm_b.values.size:
        return Difference(reason=NO_UNITS)
    value = chance_of_more(arm_a.values, arm_b.values)
    ahead = [_placements(arm_a.values, arm_b.values), 1 - _placements(arm_b.values, arm_a.values)]
    spreads = [variation(place, arm.clusters) for place, arm in zip(ahead, (arm_a, arm_b), strict=True)]
    row = Difference(difference=value, n_clusters=sum(spread.n_clusters for spread in spreads))
    if min(spread.n_clusters for spread in spreads) < 2:
        return replace(row, reason="one cluster in an arm: no interval over clusters")
    n_shared, joint = covariance(Arm(ahead[0], arm_a.clusters), Arm(ahead[1], arm_b.clusters), (value, value))
    independent = sum(spread.variance or 0.0 for spread in spreads)
    variance = independent + 2 * joint
    row = replace(row, n_clusters=row.n_clusters - n_shared)
    if variance <= max(1e-20, 1e-12 * independent):  # zero up to rounding
        return replace(row, reason="no variation between clusters")
    df = difference_df(spreads[0], spreads[1], shared=n_shared > 0)
    center, half = scipy.special.logit(value), t_quantile(level, df) * sqrt(variance) / (value * (1 - value))
    test = t_test(value - 0.5, variance, df)
    return replace(
        row,
        std_error=sqrt(variance),
        low=float(scipy.special.expit(center - half)),
        high=float(scipy.special.expit(center + half)),
        p_value=test.p_value,
        method=f"DeLong, {'cluster ' if arm_a.clusters else ''}t of the logit; {test.method}",
        reason=UNEQUAL if are_unequal_arms(arm_a, arm_b) else None,
    )


def _placements(values: FloatArray, others: FloatArray) -> FloatArray:
    ordered = np.sort(others)
    below, upto = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return np.asarray((below + upto) / (2 * others.size))


@np.errstate(over="ignore", invalid="ignore")  # infinite and huge values give null, without a warning
def quantile_difference(
    arm_a: Arm, arm_b: Arm, draws: tuple[Draws, Draws], *, q: float, level: float = 0.95, common: IntArray | None = None
) -> Difference:
    """Estimate the difference of two arms' quantiles, with the percentile bootstrap of whole clusters, expanded for few of them.

    Goals of both arms are drawn together, paired or not. The p-value is twice the smaller share of replicates on one side of 0,
    (b + 1)/(B + 1). Both are undefined if an arm has fewer than ten clusters, or too few for an interval of its own quantile,
    since a bootstrap cannot draw values that were not observed.

    Parameters
    ----------
    arm_a, arm_b
        The arms; for paired arms, only rollouts of common goals count.
    draws
        Random generators of each arm; arms with common goals use the first for both.
    q
        In (0, 1).
    common
        Integer (G,): the common goals, for paired arms; None for unpaired ones.

    References
    ----------
    Davison & Hinkley (1997), doi:10.1017/CBO9780511802843.

    Examples
    --------
    >>> goals = (np.arange(40),)
    >>> rng = np.random.default_rng
    >>> draws = Draws(rng(0), rng(1), 2000), Draws(rng(2), rng(3), 2000)
    >>> y = np.arange(40.0)
    >>> found = quantile_difference(Arm(1.1 * y + 3, goals), Arm(y, goals), draws, q=0.5, common=np.arange(40))
    >>> round(found.difference, 2), found.low < 4.95 < found.high
    (4.95, True)
    """
    if common is not None:
        arm_a, arm_b = (_within(arm, common) for arm in (arm_a, arm_b))
    if not arm_a.values.size or not arm_b.values.size:
        return Difference(reason="no common goal" if common is not None else NO_UNITS)
    point = float(np.quantile(arm_a.values, q) - np.quantile(arm_b.values, q))
    if not np.isfinite(point):
        return Difference(reason=f"the {q:g} quantile of an arm is infinite")
    units = [groupings(arm.clusters, arm.values.size)[0] for arm in (arm_a, arm_b)]
    row = Difference(
        difference=point, n_clusters=units[0].count if common is not None else units[0].count + units[1].count
    )
    if min(unit.count for unit in units) < 2:
        return replace(
            row, reason=ONE_PAIR if common is not None else "one cluster in an arm: no interval over clusters"
        )
    if flaw := next(filter(None, (_too_few(arm, q, level) for arm in (arm_a, arm_b))), None):
        return replace(row, reason=flaw)
    shared = bool(arm_a.clusters) and np.intersect1d(arm_a.clusters[0], arm_b.clusters[0]).size > 0
    if shared:
        together = grouping(np.concatenate([arm_a.clusters[0], arm_b.clusters[0]]))
        split = arm_a.values.size
        units = [Grouping(codes, together.count) for codes in (together.codes[:split], together.codes[split:])]
        row = replace(row, n_clusters=together.count)
    # Generators in the same state draw the same goals for both arms.
    state = draws[0].interval.bit_generator.state
    replicates = []
    for number, (arm, unit) in enumerate(zip((arm_a, arm_b), units, strict=True)):
        rng = draws[number].interval
        if shared:
            rng = draws[0].interval
            rng.bit_generator.state = state
        replicates.append(
            clustered_quantile_replicates(
                arm.values,
                np.ones(arm.values.size),
                unit,
                q,
                rng=rng,
                resamples=draws[0].resamples,
            )
        )
    differences = replicates[0] - replicates[1]
    # Percentiles of few clusters are too narrow (12 goals in each arm: .935).
    low, high = percentile_interval(differences, expanded(level, float(row.n_clusters)))
    row = replace(row, resamples=differences.size)
    if low is None or np.isnan(differences).mean() > MOST_NULL:
        return replace(row, reason="too many tied values: the bootstrap interval has no width")
    side = min(np.count_nonzero(differences <= 0), np.count_nonzero(differences >= 0))
    kind = "paired percentile bootstrap" if common is not None else "percentile bootstrap of both arms"
    return replace(
        row,
        std_error=float(np.nanstd(differences)),
        low=low,
        high=high,
        p_value=min(1.0, 2 * (side + 1) / (differences.size + 1)),
        method=f"{kind}; clusters drawn",
    )


def _too_few(arm: Arm, q: float, level: float) -> str | None:
    """Return the reason why an arm is too small for a bootstrap of its quantile, or None."""
    unit = groupings(arm.clusters, arm.values.size)[0]
    if unit.count < FEWEST_CLUSTERS:
        return f"{counted(unit.count, 'unit', 'units')} in an arm are too few for a bootstrap"
    return too_few(arm.values, arm.clusters, q=q, level=level)


def _within(arm: Arm, common: IntArray) -> Arm:
    in_common = np.isin(arm.clusters[0], common)
    return Arm(arm.values[in_common], tuple(way[in_common] for way in arm.clusters))


def restricted_difference(
    durations: tuple[IntArray, IntArray],
    observed: tuple[BoolArray, BoolArray],
    clusters: tuple[Clusters, Clusters],
    *,
    level: float = 0.95,
) -> Difference:
    """Estimate the difference of two restricted mean times up to the last position to which both arms were followed.

    Concatenates both arms and calls `restricted_mean_difference`.

    Parameters
    ----------
    durations, observed
        Integer (n,), at least 1, and Boolean (n,), for each arm.
    clusters
        Zero or one way for each arm, with common codes.
    level
        Nominal coverage.

    References
    ----------
    Royston & Parmar (2013), doi:10.1186/1471-2288-13-152.

    Examples
    --------
    >>> times, all_seen = (np.array([1, 2, 3, 3]), np.array([2, 2, 3, 3])), (np.ones(4, bool), np.ones(4, bool))
    >>> found = restricted_difference(times, all_seen, ((np.arange(4),), (np.arange(4),)))
    >>> round(found.difference, 2), found.n_clusters
    (-0.25, 4)
    """
    if not durations[0].size or not durations[1].size:
        return Difference(reason=NO_UNITS)
    duration, event = np.concatenate(durations), np.concatenate(observed)
    ways = tuple(np.concatenate(way) for way in zip(*clusters, strict=True))
    first = np.arange(duration.size) < durations[0].size
    difference, horizon = restricted_mean_difference(duration, event, first, ways, level=level)
    row = Difference(
        difference=difference.difference, n_clusters=groupings(ways, duration.size)[0].count, reason=difference.reason
    )
    if difference.low is None:
        return row
    ends = "square-and-add" if clusters[0] and np.intersect1d(clusters[0][0], clusters[1][0]).size else "t"
    return replace(
        row,
        std_error=difference.std_error,
        low=difference.low,
        high=difference.high,
        p_value=difference.p_value,
        method=f"restricted mean up to {horizon}, {'clustered ' if clusters[0] else ''}influence, {ends}; t test",
    )
