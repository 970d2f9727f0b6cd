"""Cumulative incidence by position, with intervals over clusters that stay valid from no event to all events."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rollwise.stats.clusters import (
    NO_VALUES,
    ONE_CLUSTER,
    Grouping,
    crossed,
    crossed_df,
    equal_weights,
    groupings,
)
from rollwise.stats.design_effect import copies_effect, correlation_effect, follow, shrunk
from rollwise.stats.estimate import BoolArray, Clusters, Estimate, FloatArray, IntArray
from rollwise.stats.influence import (
    COMPETING,
    EVENT,
    Watch,
    cluster_moments,
    incidence_variances,
    independent_variance,
    influences,
    mixed_clusters,
    watch,
)
from rollwise.stats.intervals import share_intervals, wilson
from rollwise.stats.proportion import proportion

NOBODY_AT_RISK = "no rollout at risk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incidence:
    """A curve over positions, as arrays of equal length. The field names are the column names of CURVE.

    Attributes
    ----------
    at
        Integer: position.
    estimate, std_error, low, high
        Float: the share, its standard error and the ends of its interval. Undefined values are **NaN** in this class only;
        code that converts it to rows writes null.
    at_risk, events, censored, competing
        Integer: rollouts still followed at this position, and how many follow-ups ended there in each way.
    n_clusters
        Integer: clusters at risk (for two crossed ways, the smaller number).
    reason
        Reason why the bounds at a position are undefined or follow a different rule; None elsewhere.
    method
        Name of the estimator and of the interval.
    """

    at: IntArray
    estimate: FloatArray
    std_error: FloatArray
    low: FloatArray
    high: FloatArray
    at_risk: IntArray
    events: IntArray
    censored: IntArray
    competing: IntArray
    n_clusters: IntArray
    reason: list[str | None]
    method: str

    def place(self, at: int) -> int:
        """Return the index of the values that hold at a position: the values of the last position at or before it."""
        return int(np.searchsorted(self.at, at, side="right")) - 1

    def point(self, place: int) -> Estimate:
        """Return one position of the curve as an estimate, None where undefined; its n counts all rollouts of the curve."""
        values = (self.estimate[place], self.std_error[place], self.low[place], self.high[place])
        estimate, std_error, low, high = (None if np.isnan(value) else float(value) for value in values)
        return Estimate(
            estimate=estimate,
            std_error=std_error,
            low=low,
            high=high,
            n=int(self.at_risk.max(initial=0)),
            n_clusters=int(self.n_clusters.max(initial=0)),
            method=None if low is None else self.method,
            reason=self.reason[place],
        )


def cumulative_incidence(
    duration: ArrayLike,
    cause: ArrayLike,
    clusters: Clusters,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    horizon: int | None = None,
    at: IntArray | None = None,
) -> Incidence:
    """Estimate the share with the event by each position (Aalen-Johansen): a competing ending rules the event out.

    F(t) = Σ_{s<=t} S(s-)·d₁(s)/Y(s), with its variance V from the influence of whole clusters. The interval is Wilson's at the
    effective size F(1-F)/V with the design effect of `proportion`, and with t of G-1 degrees of freedom (`crossed_df` for two
    crossed ways; the normal law if every cluster is one rollout). It therefore agrees with `proportion` if every rollout was
    followed to its end. At the first event, where log(-log(1-F)) intervals are wide and cover too little (.91 and less at
    nominal .95 in sparse settings), it has no jump. F never decreases, so the bounds are made monotone: a lower bound
    also holds at all later positions, an upper bound at all earlier ones.

    Parameters
    ----------
    duration
        Integer (n,), at least 1: the last position at which the rollout was followed.
    cause
        Integer (n,): 0 censored, 1 the event, 2 a competing ending.
    clusters
        Tuple of zero, one or two integer code arrays (n,).
    weights
        Positive float (n,), or None for ones.
    level
        Nominal coverage.
    horizon
        Last position of the curve; None for the longest duration.
    at
        Positions of the curve; None for every position up to 1000, and then those at which something changes.

    Returns
    -------
    Incidence
        At position 0 the share is 0, without bounds. Before the first event the interval runs from 0 to Wilson's upper end at
        the effective number of rollouts whose outcome is known. If all rollouts had the event, it runs from Wilson's lower end
        for the last rollouts at risk (or the previous lower end, if larger) to 1. If no rollout is followed any longer but
        some had no ending, the share is undefined. With one cluster of several rollouts there are no bounds; with n = 0
        everything is undefined.

    References
    ----------
    Aalen & Johansen (1978), Scand. J. Statist. 5:141-150; Ying & Wei (1994), doi:10.1006/jmva.1994.1031; Kalbfleisch &
    Prentice (2002), section 1.4, doi:10.1002/9781118032985.

    Examples
    --------
    >>> curve = cumulative_incidence([1, 2, 2, 3], [1, 0, 1, 2], ())
    >>> curve.estimate.tolist(), curve.at_risk.tolist()
    ([0.0, 0.25, 0.5, 0.5], [4, 4, 3, 1])
    """
    life_table = watch(duration, cause, weights=weights, horizon=horizon, at=at)
    bounds = _bounds(life_table, clusters, level)
    return Incidence(
        at=life_table.at,
        estimate=np.where(life_table.is_defined, life_table.incidence, np.nan),
        std_error=bounds.std_error,
        low=bounds.low,
        high=bounds.high,
        at_risk=life_table.at_risk,
        events=life_table.events,
        censored=life_table.censored,
        competing=life_table.competing,
        n_clusters=clusters_at_risk(life_table, clusters),
        reason=bounds.reason,
        method=("", "clustered ", "two-way ")[len(clusters)] + "Aalen-Johansen, Wilson",
    )


def kaplan_meier(
    duration: ArrayLike,
    observed: ArrayLike,
    clusters: Clusters,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    horizon: int | None = None,
) -> Incidence:
    """Estimate the share that would have had the event by each position if nothing else ended follow-up (Kaplan-Meier, 1 - S).

    This is `cumulative_incidence` with every other ending treated as censoring.

    Parameters
    ----------
    duration, clusters, weights, level, horizon
        See `cumulative_incidence`.
    observed
        Boolean (n,): True if follow-up ended with the event.

    References
    ----------
    Kaplan & Meier (1958), doi:10.1080/01621459.1958.10501452; Williams (1995), doi:10.1007/BF00985768.

    Examples
    --------
    >>> kaplan_meier([1, 2, 2, 3], [True, False, True, False], ()).estimate.tolist()
    [0.0, 0.25, 0.5, 0.5]
    """
    cause = np.asarray(observed, dtype=np.bool_).astype(np.int64)
    curve = cumulative_incidence(duration, cause, clusters, weights=weights, level=level, horizon=horizon)
    return replace(curve, method=curve.method.replace("Aalen-Johansen", "Kaplan-Meier"))


def influence(duration: ArrayLike, cause: ArrayLike) -> FloatArray:
    """Return each rollout's influence on the share with the event at positions 1..T: float (n, T).

    The squares sum to the variance, which is Greenwood's without competing endings.

    Examples
    --------
    >>> influence([1, 1], [1, 0]).tolist()
    [[0.25], [-0.25]]
    """
    life_table = watch(duration, cause)
    (singletons,) = groupings((), life_table.duration.size)
    return np.concatenate(
        [np.empty((0, life_table.horizon)), *(block[:, 1:] for block in influences(life_table, singletons))]
    )


def clusters_at_risk(life_table: Watch, clusters: Clusters) -> IntArray:
    """Count the clusters with a rollout at risk at each position: integer (T + 1,), the smaller count of two crossed ways."""
    counts = [_at_risk(life_table, way) for way in groupings(clusters, life_table.duration.size)[:2]]
    return np.minimum(counts[0], counts[-1])


def _at_risk(life_table: Watch, way: Grouping) -> IntArray:
    # A cluster is at risk until its longest duration: count the clusters whose maximum is at or after each position.
    longest = np.zeros(way.count, dtype=np.int64)
    np.maximum.at(longest, way.codes, life_table.duration)
    return np.cumsum(np.bincount(longest, minlength=life_table.horizon + 2)[::-1])[::-1][:-1]


@dataclass(slots=True)
class _Bounds:
    """Bounds of a curve, filled position by position."""

    std_error: FloatArray
    low: FloatArray
    high: FloatArray
    reason: list[str | None]


def _bounds(life_table: Watch, clusters: Clusters, level: float) -> _Bounds:
    size, n = life_table.at_risk.size, life_table.duration.size
    unknown = np.full(size, np.nan)
    bounds = _Bounds(unknown.copy(), unknown.copy(), unknown.copy(), [None] * size)
    units = groupings(clusters, n)
    smallest = min(unit.count for unit in units)
    if n == 0:
        bounds.reason = [NO_VALUES] * size
        return bounds
    if smallest == 1 < n:
        bounds.reason[1:] = [ONE_CLUSTER] * (size - 1)
        return bounds
    if smallest > 1:
        _wilson(bounds, life_table, clusters, level, smallest)
    for t in range(1, size):
        if not life_table.is_defined[t]:
            bounds.reason[t] = NOBODY_AT_RISK
        elif life_table.at_risk[t] == 0 or (
            life_table.incidence[t] == 0 and t > 1 and life_table.at_risk[t] == life_table.at_risk[t - 1]
        ):
            _carry(bounds, t)
        elif life_table.incidence[t] == 0:
            _no_event(bounds, life_table, clusters, level, t)
        elif life_table.incidence[t] == 1:
            _all_events(bounds, life_table, clusters, level, t)
    # F never decreases: an earlier lower bound holds at this position too, and so does a later upper bound.
    bounds.low[:] = np.where(np.isnan(bounds.low), np.nan, np.fmax.accumulate(bounds.low))
    bounds.high[:] = np.where(np.isnan(bounds.high), np.nan, np.fmin.accumulate(bounds.high[::-1])[::-1])
    return bounds


def _wilson(bounds: _Bounds, life_table: Watch, clusters: Clusters, level: float, smallest: int) -> None:
    """Fill the positions with a share between 0 and 1: Wilson's interval at the effective size F(1-F) / (V₀·d).

    V₀ is the variance of independent rollouts, including censoring. d is the design effect V/V₀, shrunk as in `proportion`
    by the number of clusters with an event by this position, or with a rollout without one, whichever is smaller. It is at least
    what the intraclass correlation implies, for clusters of unequal weight that do not follow their shares.
    """
    n = life_table.duration.size
    units = groupings(clusters, n)
    parts, independent = incidence_variances(life_table, units), independent_variance(life_table)
    clustered, ways = crossed(parts), units[:2]
    plain = smallest == n and equal_weights(life_table.weights)
    df = np.full(clustered.shape, smallest - 1.0)
    least = np.ones(clustered.shape)
    if len(units) > 1:
        df = crossed_df(parts, (units[0].count, units[1].count))
    elif not plain:
        average, between, relation = cluster_moments(life_table, ways[0])
        least = correlation_effect(average, between, life_table.weights, ways[0], related=follow(relation))
    mixed = np.max([mixed_clusters(life_table, way) for way in ways], axis=0)
    copies = max(copies_effect(life_table.weights, way) for way in ways)
    inside = life_table.is_defined & (life_table.incidence > 0) & (life_table.incidence < 1)
    ended = life_table.events + life_table.competing + life_table.censored
    changed = inside & ((ended > 0) | ~np.append(False, inside[:-1]))
    at = np.flatnonzero(changed)
    share, variance = life_table.incidence[at], clustered[at]
    observed = np.maximum(1.0, np.maximum(least[at], variance / independent[at]))
    effect = np.ones(at.size) if plain else shrunk(observed, mixed[at], copies)
    size = share * (1 - share) / independent[at] / effect
    bounds.std_error[at] = np.where(variance > 0, np.sqrt(variance), np.nan)
    quantile_df = np.full(at.size, np.inf) if plain else df[at]
    bounds.low[at], bounds.high[at] = share_intervals("wilson", share * size, size, level=level, df=quantile_df)
    for t in np.flatnonzero(inside & ~changed):
        _carry(bounds, int(t))


def _carry(bounds: _Bounds, t: int) -> None:
    for column in (bounds.std_error, bounds.low, bounds.high):
        column[t] = column[t - 1]
    bounds.reason[t] = bounds.reason[t - 1]


def _no_event(bounds: _Bounds, life_table: Watch, clusters: Clusters, level: float, t: int) -> None:
    """Fill a position before the first event: from 0 to Wilson's upper end for no success.

    The sample size counts the rollouts at risk, plus those with an earlier competing ending in proportion to their chance of
    still being followed: at risk / S(t-), as in Fine & Gray's weighting (1999, doi:10.1080/01621459.1999.10474144).
    """
    at_risk = life_table.duration >= t
    fate_known = at_risk | (life_table.cause == COMPETING)
    ways = groupings(tuple(np.asarray(way)[fate_known] for way in clusters), int(fate_known.sum()))[:2]
    w, smallest = life_table.weights[fate_known], min(way.count for way in ways)
    plain = smallest == w.size and equal_weights(w)
    if smallest == 1 and not plain:
        bounds.reason[t] = "one cluster at risk: no interval over clusters"
        return
    risk_weights = w * at_risk[fate_known]
    size = min(min(_copies(w, way), _copies(risk_weights, way) / life_table.survival_before[t]) for way in ways)
    bounds.low[t], bounds.high[t] = wilson(0, size, level=level, df=None if plain else smallest - 1)


def _copies(weights: FloatArray, way: Grouping) -> float:
    """Return the effective number of rollouts if all rollouts of a cluster were copies: (ΣW_g)² / ΣW_g²."""
    sums = way.sums(weights)
    return float(sums.sum() ** 2 / np.square(sums).sum())


def _all_events(bounds: _Bounds, life_table: Watch, clusters: Clusters, level: float, t: int) -> None:
    """Fill the position where the last rollouts at risk all had the event: from Wilson's lower end for them to 1.

    1 - F = S(t-)·(1 - h) is at most 1 - h, so a lower bound for the hazard is also a lower bound for the share.
    """
    rows: BoolArray = (life_table.duration >= t) & (life_table.cause == EVENT)
    row_clusters = tuple(np.asarray(way)[rows] for way in clusters)
    hazard = proportion(np.ones(int(rows.sum())), row_clusters, weights=life_table.weights[rows], level=level)
    bounds.low[t], bounds.high[t] = hazard.low or 0.0, 1.0
    bounds.reason[t] = "everyone at risk had the event: Wilson's lower end for them, or the last lower end if larger"
