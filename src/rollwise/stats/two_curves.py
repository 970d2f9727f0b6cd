"""Comparison of two event-time curves: by position, by restricted means, and by the log-rank test."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rollwise.stats.clusters import Grouping, crossed, groupings, small_sample_factor, variation
from rollwise.stats.differences import difference_df, t_test
from rollwise.stats.estimate import BoolArray, Clusters, Estimate, FloatArray, IntArray
from rollwise.stats.incidence import cumulative_incidence
from rollwise.stats.influence import EVENT, Watch, influences, positions, watch
from rollwise.stats.pairs import score_difference
from rollwise.stats.restricted import within_range
from rollwise.stats.student import t_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A difference of two groups, or a test for a difference.

    Attributes
    ----------
    difference, std_error, low, high, p_value
        Group minus baseline; None where undefined.
    df
        Degrees of freedom of the test.
    """

    difference: float | None = None
    std_error: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    df: float | None = None
    reason: str | None = None


def log_rank(duration: ArrayLike, cause: ArrayLike, group: ArrayLike, clusters: Clusters) -> Compared:
    """Test whether the event's hazard is the same in both groups: clustered log-rank test, two-sided, t with `difference_df`.

    U = Σ_s (d₁(s) - Y₁(s)·d(s)/Y(s)), with variance G/(G-1)·Σ_g U_g² from the contributions of the clusters,
    Σ_s (1{in the group} - Y₁/Y)(s)·(1{event at s} - 1{at risk}·d_a/Y_a), where d_a/Y_a is the hazard of the rollout's own arm
    a. With the pooled hazard, U_g would contain a share of U, and six goals could never distinguish two arms, however different.
    Only if nothing varies within the arms is the pooled hazard used. Competing endings count as censoring: the test compares
    the hazards of the event itself. A cluster may have rollouts in both groups; the pairing then increases the power.

    Parameters
    ----------
    duration, cause
        Integer (n,), see `cumulative_incidence`.
    group
        Boolean (n,): True for the group, False for the baseline.
    clusters
        Tuple of zero, one or two integer code arrays (n,), common to both groups.

    Returns
    -------
    Compared
        `difference` is U, positive if the group has more events than expected. Without any event p = 1. There is no p-value if
        one group is empty, if the clusters do not differ, or if an arm has only one cluster.

    References
    ----------
    Mantel (1966), Cancer Chemother. Rep. 50:163-170; Jeong & Jung (2006), doi:10.1002/sim.2198.

    Examples
    --------
    >>> test = log_rank([1, 1, 2, 3, 3, 3], [1, 1, 1, 0, 1, 0], [True, True, True, False, False, False], ())
    >>> round(test.difference, 3), round(test.p_value, 2)
    (1.75, 0.07)
    """
    ends = np.asarray(duration, dtype=np.int64)
    event = (np.asarray(cause) == EVENT).astype(np.int64)
    arm: BoolArray = np.asarray(group, dtype=np.bool_)
    if not arm.any() or arm.all():
        return Compared(reason="one of the two groups has no rollout that was watched")
    both = watch(ends, event)
    table_a, table_b = (watch(ends[rows], event[rows], at=both.at) for rows in (arm, ~arm))
    last = both.duration  # of each rollout, as an index of the positions
    # Y₁/Y: the group's share of the rollouts at risk, by position.
    part = table_a.at_risk / np.maximum(both.at_risk, 1)
    score = float(table_a.events.sum() - (part * both.events).sum())
    if not both.events.sum():
        return Compared(difference=0.0, p_value=1.0, reason="no event in either group")
    units, arms = groupings(clusters, ends.size), (arm, ~arm)
    for hazards in ((table_a.event_hazard, table_b.event_hazard), (both.event_hazard, both.event_hazard)):
        # A rollout contributes its own event minus the number of events expected during its time at risk.
        expected = [np.cumsum(share * hazard)[last] for share, hazard in zip((1 - part, -part), hazards, strict=True)]
        contributions = event * (arm - part[last]) - np.where(arm, *expected)
        moves = [
            [unit.sums(np.where(arm, contributions, 0.0)), unit.sums(np.where(arm, 0.0, -contributions))]
            for unit in units
        ]
        variance, df = _spread(moves, units, arms)
        if not df:
            return Compared(difference=score, reason="one cluster in an arm: no test over clusters")
        if variance > 1e-20:
            p_value = t_test(score, variance, df).p_value
            return Compared(difference=score, std_error=math.sqrt(variance), p_value=p_value, df=df)
    return Compared(difference=score, reason="no variation between clusters")


def incidence_difference(
    duration: IntArray, cause: IntArray, group: BoolArray, clusters: Clusters, *, level: float = 0.95
) -> list[Compared]:
    """Estimate the difference of the shares with the event, group minus baseline, by each position to which both were followed.

    The variance uses the clusters' influences on both shares together, so goals in both arms count as pairs. The interval
    combines the intervals of the two shares (square-and-add, with the correlation of their influences). It stays within
    [-1, 1] and has positive width even without an event.

    Parameters
    ----------
    duration, cause, group, clusters
        See `log_rank`.
    level
        Nominal coverage.

    Returns
    -------
    list
        One difference for each of `common_positions` after 0; none if no rollout was followed in one of the groups.

    References
    ----------
    Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I; Zou & Donner (2008),
    doi:10.1002/sim.3095.

    Examples
    --------
    >>> ends, goals = np.array([1, 2, 2, 2]), (np.array([0, 1, 0, 1]),)
    >>> rows = incidence_difference(ends, np.array([1, 0, 0, 0]), np.array([True, True, False, False]), goals)
    >>> [row.difference for row in rows]
    [0.5, 0.5]
    """
    arms = [(group, 1.0), (~group, -1.0)]
    if not all(rows.any() for rows, _ in arms):
        return []
    at = common_positions(duration, group)
    life_tables = [watch(duration[rows], cause[rows], at=at) for rows, _ in arms]
    parts = [tuple(np.asarray(way)[rows] for way in clusters) for rows, _ in arms]
    shares = [
        cumulative_incidence(duration[rows], cause[rows], ways, level=level, at=at)
        for (rows, _), ways in zip(arms, parts, strict=True)
    ]
    moves = _together(life_tables, [rows for rows, _ in arms], clusters)
    differences = []
    for t in range(1, at.size):
        variances, joint = ([float(part[t]) for part in moves[:2]], float(moves[2][t])) if moves else ([0.0, 0.0], 0.0)
        differences.append(_difference([share.point(t) for share in shares], variances, joint))
    return differences


def common_positions(duration: IntArray, group: BoolArray) -> IntArray:
    """Return the positions, from 0, to which rollouts of both groups were followed; each group has at least one.

    Examples
    --------
    >>> common_positions(np.array([1, 3, 2]), np.array([True, True, False])).tolist()
    [0, 1, 2]
    """
    return positions(duration, int(min(duration[rows].max() for rows in (group, ~group))))


def _together(life_tables: list[Watch], rows: list[BoolArray], clusters: Clusters) -> list[FloatArray] | None:
    """Return the variances of both shares over the clusters of both arms, and their covariance: float (T + 1,) each.

    For two crossed ways, each variance, including that of the difference, is combined from both ways and their pairs. The
    covariance follows from the three variances, because the arms may be correlated along either way.
    """
    units = groupings(clusters, rows[0].size)
    if min(unit.count for unit in units) < 2:
        return None
    variance_a, variance_b, variance_gap = (
        crossed(list(parts)) for parts in zip(*(_over(unit, life_tables, rows) for unit in units), strict=True)
    )
    return [variance_a, variance_b, (variance_a + variance_b - variance_gap) / 2]


def _over(unit: Grouping, life_tables: list[Watch], rows: list[BoolArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the variances over one way of clusters, of each share and of their difference: float (T + 1,) each."""
    sums = np.zeros((3, life_tables[0].horizon + 1))
    blocks = (
        influences(life_table, Grouping(unit.codes[arm], unit.count))
        for life_table, arm in zip(life_tables, rows, strict=True)
    )
    for moves_a, moves_b in zip(*blocks, strict=True):
        sums += [np.square(moves).sum(axis=0) for moves in (moves_a, moves_b, moves_a - moves_b)]
    moves_a, moves_b, gap = small_sample_factor(unit.count) * sums
    return moves_a, moves_b, gap


def _difference(points: list[Estimate], variances: list[float], joint: float) -> Compared:
    point_a, point_b = points
    if point_a.estimate is None or point_b.estimate is None:
        return Compared(reason=point_a.reason or point_b.reason)
    gap = point_a.estimate - point_b.estimate
    if point_a.low is None or point_a.high is None or point_b.low is None or point_b.high is None:
        return Compared(difference=gap, reason=point_a.reason or point_b.reason)
    product = math.sqrt(variances[0] * variances[1])
    # A correlation of 1 could make the interval collapse to a point, and no correlation is known that precisely.
    correlation = min(max(joint / product, -0.99), 0.99) if product > 1e-15 else 0.0
    low, high = score_difference(
        (point_a.estimate, point_a.low, point_a.high), (point_b.estimate, point_b.low, point_b.high), correlation
    )
    variance = variances[0] + variances[1] - 2 * joint
    return Compared(difference=gap, std_error=math.sqrt(variance) if variance > 1e-15 else None, low=low, high=high)


def restricted_mean_difference(
    duration: IntArray, observed: BoolArray, group: BoolArray, clusters: Clusters, *, level: float = 0.95
) -> tuple[Compared, int]:
    """Estimate the difference of restricted mean times, group minus baseline, up to the last position both were followed to.

    The difference of the areas under the survival curves, with the variance from the clusters' influences on the difference (so
    goals in both arms are paired). Arms with different goals have t with the degrees of freedom of `difference_df`, which covers
    .945 to .98 (10 to 40 goals, intraclass correlation .3, hazards .05 and .1), clipped to ±(τ - 1). For arms with common goals
    that interval covers .91 to .95, because the differences of few goals are skewed. There the intervals of both means on the
    logit of (mean - 1) / (τ - 1) are combined by square-and-add with their correlation, which covers .94 to .975. The test is a t
    test in both cases; where it and the interval disagree about 0, the reason says so.

    Returns
    -------
    tuple
        The difference in positions, and the horizon. Without an event or variation, or with one cluster, there is no interval.

    References
    ----------
    Royston & Parmar (2013), doi:10.1186/1471-2288-13-152; Williams (1995), doi:10.1007/BF00985768; Zou & Donner (2008),
    doi:10.1002/sim.3095.

    Examples
    --------
    >>> sooner = np.array([1, 1, 2, 3, 3, 3])
    >>> found, horizon = restricted_mean_difference(sooner, np.ones(6, bool), np.array([True] * 3 + [False] * 3), ())
    >>> round(found.difference, 2), horizon  # (1 + 1 + 2)/3 - (2 + 2 + 2)/3, up to 2
    (-0.67, 2)
    """
    arms = (group, ~group)
    if not all(rows.any() for rows in arms):
        return Compared(reason="one of the two groups has no rollout that was watched"), 0
    at = common_positions(duration, group)
    last = int(at[-1])
    life_tables = [watch(duration[rows], observed[rows].astype(np.int64), at=at) for rows in arms]
    # Area under S up to τ: the sum of S(0) to S(τ-1).
    areas = [float(life_table.area(life_table.survival, last)) for life_table in life_tables]
    gap = areas[0] - areas[1]
    units = groupings(clusters, duration.size)
    moves = [
        [
            _moves(life_table, Grouping(unit.codes[arm], unit.count), last)
            for life_table, arm in zip(life_tables, arms, strict=True)
        ]
        for unit in units
    ]
    variance, df = _spread(moves, units, arms)
    if not df:
        return Compared(difference=gap, reason="one cluster in an arm: no interval over clusters"), last
    if variance <= 1e-20:
        return Compared(difference=gap, reason="no variation between clusters"), last
    error = math.sqrt(variance)
    test = Compared(difference=gap, std_error=error, p_value=t_test(gap, variance, df).p_value, df=df)
    shared = np.intersect1d(units[0].codes[group], units[0].codes[~group]).size > 0
    ends = _square_and_add(areas, moves[0], last, level) if shared and len(units) == 1 else None
    if ends is None:
        half, most = t_quantile(level, df) * error, last - 1.0
        ends = max(gap - half, -most), min(gap + half, most)
    excludes = ends[0] > 0 or ends[1] < 0
    differ = excludes != ((test.p_value or 0.0) < 1 - level)
    reason = "the interval is that of skewed means and the test that of a t: near 0 they can differ" if differ else None
    return replace(test, low=ends[0], high=ends[1], reason=reason), last


def _square_and_add(
    areas: Sequence[float], moves: Sequence[FloatArray], last: int, level: float
) -> tuple[float, float] | None:
    """Combine intervals of both restricted means, which are skewed near 1 and the horizon; None if a mean is at one of these.

    Each mean has an interval on the logit of (mean - 1) / (τ - 1), with t over the clusters of its arm. They are combined with the
    correlation of the clusters' influences.
    """
    span, shares = last - 1.0, []
    for area, moved in zip(areas, moves, strict=True):
        count = int(np.count_nonzero(moved))
        if count < 2 or not 1 < area < last:
            return None
        error = math.sqrt(small_sample_factor(count) * float(np.square(moved).sum()))
        low, high = within_range(area, t_quantile(level, count - 1) * error, last)
        shares.append(((area - 1) / span, (low - 1) / span, (high - 1) / span))
    product = math.sqrt(math.prod(float(np.square(moved).sum()) for moved in moves))
    # A correlation of 1 could make the interval collapse to a point, and no correlation is known that precisely.
    correlation = min(max(float((moves[0] * moves[1]).sum()) / product, -0.99), 0.99)
    low, high = score_difference(shares[0], shares[1], correlation)
    return span * low, span * high


def _spread(
    moves: Sequence[Sequence[FloatArray]], units: Sequence[Grouping], arms: tuple[BoolArray, BoolArray]
) -> tuple[float, float]:
    """Return variance and degrees of freedom of a difference from the clusters' contributions to each arm; 0 for one cluster."""
    count = min(np.unique(unit.codes[arm]).size for unit in units for arm in arms)
    if count < 2:
        return 0.0, 0.0
    squares = [np.square(units_a - units_b).sum() for units_a, units_b in moves]
    variance = float(crossed([np.asarray(small_sample_factor(count) * square) for square in squares]))
    if len(units) > 1:
        return variance, count - 1.0
    units_a, units_b = (units[0].codes[arm] for arm in arms)
    spreads = [
        replace(spread, variance=small_sample_factor(spread.n_clusters) * float(np.square(moved).sum()))
        for moved, codes in zip(moves[0], (units_a, units_b), strict=True)
        for spread in [variation(np.zeros(codes.size), (codes,))]
    ]
    return variance, difference_df(spreads[0], spreads[1], shared=np.intersect1d(units_a, units_b).size > 0)


def _moves(life_table: Watch, unit: Grouping, last: int) -> FloatArray:
    """Return each cluster's influence on the area up to the last position: float (clusters,)."""
    return np.concatenate([life_table.area(block, last) for block in influences(life_table, unit)])
