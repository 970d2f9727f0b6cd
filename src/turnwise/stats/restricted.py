"""Time until the event in one number: the restricted mean and the median, in positions."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from turnwise.stats.clusters import NO_VALUES, ONE_CLUSTER, equal_weights, groupings, t_quantile
from turnwise.stats.estimate import Clusters, Estimate, FloatArray
from turnwise.stats.incidence import kaplan_meier
from turnwise.stats.influence import Watch, area_variance, independent_variance, mixed_clusters, watch
from turnwise.stats.proportion import copies_effect, shrunk


def restricted_mean(
    duration: ArrayLike,
    observed: ArrayLike,
    clusters: Clusters,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    horizon: int | None = None,
) -> Estimate:
    """The mean of min(time to the event, τ) in positions, if nothing else ended a watch: the area under S from 0 to τ.

    Σ_{t<τ} S(t), with the influence of whole clusters summed over the same positions, its design effect shrunk as in
    `proportion`, and t of G-1 degrees of freedom on the logit of the share of [1, τ]. The plain interval is pushed to one
    side by the skewness near τ: it covers .93 where this one covers .95 (40 goals of 5, ICC .3), .83 against .92 at 20.

    Parameters
    ----------
    duration
        Integer (n,), at least 1: the last position at which the rollout was watched.
    observed
        Boolean (n,): whether the watch ended with the event there.
    clusters, weights, level
        As everywhere.
    horizon
        τ; the longest duration when None.

    Returns
    -------
    Estimate
        Within [1, τ]. n = 0: all None. No event before τ: τ itself, bounds None. n = 1, one cluster, or every event at 1:
        bounds None. Nobody watched up to τ - 1 while some had no event: all None.

    References
    ----------
    Royston & Parmar (2013), doi:10.1186/1471-2288-13-152; Williams (1995), doi:10.1007/BF00985768.

    Examples
    --------
    >>> turns = restricted_mean([1, 2, 3, 3], [True, True, True, False], ())
    >>> turns.estimate, round(turns.low, 2), round(turns.high, 2)
    (2.25, 1.12, 2.95)
    """
    life_table = watch(duration, np.asarray(observed, dtype=np.bool_), weights=weights)
    n = life_table.duration.size
    if n == 0:
        return Estimate(reason=NO_VALUES)
    last = life_table.horizon if horizon is None else horizon
    units = groupings(clusters, n)
    smallest = min(unit.count for unit in units)
    row = Estimate(n=n, n_clusters=smallest)
    if last > life_table.horizon + 1 and life_table.survival[-1] > 0:
        return replace(
            row, reason=f"nobody was watched beyond position {life_table.horizon}, and some had no event by then"
        )
    # Beyond the longest watch nobody is left, and nothing is added.
    row = replace(row, estimate=float(life_table.survival[:last].sum()))
    if flaw := _flaw(life_table, smallest, last):
        return replace(row, reason=flaw)
    variance = float(area_variance(life_table, units, last))
    independent = float(independent_variance(life_table, area=last))
    if independent <= 1e-20:
        return replace(row, reason="no variation: one rollout alone was at risk wherever an event came")
    plain = smallest == n and equal_weights(life_table.weights)
    spread = math.sqrt(variance if plain else independent * _effect(life_table, clusters, variance / independent, last))
    low, high = _within(row.estimate or 1.0, spread * t_quantile(level, smallest - 1), last)
    return replace(
        row,
        std_error=math.sqrt(variance) if variance else None,
        low=low,
        high=high,
        method=f"restricted mean, {('', 'clustered ', 'two-way ')[len(clusters)]}influence, logit",
    )


def _flaw(life_table: Watch, smallest: int, last: int) -> str | None:
    """Why there is no interval; None where there may be one."""
    if life_table.events[:last].sum() == 0:
        return f"no event observed before position {last}"
    if smallest == 1:
        return ONE_CLUSTER if life_table.duration.size > 1 else "one rollout: no interval"
    return "every event came at position 1: no variation" if life_table.survival[1] == 0 else None


def _effect(life_table: Watch, clusters: Clusters, observed: float, last: int) -> float:
    """The design effect, drawn towards that of copies where few clusters show it, as in `proportion`."""
    position = min(last - 1, life_table.horizon)
    return max(
        shrunk(
            max(1.0, observed), float(mixed_clusters(life_table, way)[position]), copies_effect(life_table.weights, way)
        )
        for way in groupings(clusters, life_table.duration.size)[:2]
    )


def _within(mean: float, half: float, last: int) -> tuple[float, float]:
    """The interval of that half-width, made on the logit of (mean - 1) / (τ - 1), so that it stays within [1, τ]."""
    span = last - 1
    share = (mean - 1) / span
    center, stretch = math.log(share / (1 - share)), min(half / span / (share * (1 - share)), 700.0)
    return 1 + span / (1 + math.exp(stretch - center)), 1 + span / (1 + math.exp(-stretch - center))


def survival_median(
    duration: ArrayLike,
    observed: ArrayLike,
    clusters: Clusters,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    horizon: int | None = None,
) -> Estimate:
    """The median time to the event in positions, if nothing else ended a watch: the first t with S(t) <= 1/2.

    Its interval inverts the pointwise bounds of S (Brookmeyer & Crowley): from the first t at which the lower bound of S is at
    most 1/2 to the first at which the upper bound is.

    Parameters
    ----------
    duration, observed, clusters, weights, level, horizon
        As for `kaplan_meier`.

    Returns
    -------
    Estimate
        Never a standard error. What the curve does not reach is None: the median, the upper end, or both. n = 0: all None.
        Both ends None where they would coincide.

    References
    ----------
    Brookmeyer & Crowley (1982), doi:10.2307/2530286.

    Examples
    --------
    >>> middle = survival_median(np.repeat([1, 2, 3, 4, 5], 8), np.ones(40), ())
    >>> middle.estimate, middle.low, middle.high
    (3.0, 2.0, 4.0)
    """
    curve = kaplan_meier(duration, observed, clusters, weights=weights, level=level, horizon=horizon)
    row = Estimate(estimate=_first_half(curve.estimate), n=int(curve.at_risk[0]), n_clusters=int(curve.n_clusters[0]))
    low, high = _first_half(curve.high), _first_half(curve.low)
    if row.n == 0:
        return Estimate(reason=NO_VALUES)
    if np.isnan(curve.high[1:]).all():
        return replace(row, reason=next((why for why in curve.reason if why), None))
    if low is not None and low == high:
        return replace(row, reason="the interval has no width")
    missing = "the median" if row.estimate is None else "the upper end" if high is None else None
    return replace(
        row,
        low=low,
        high=high,
        method=None if low is None else curve.method.replace(", ", " median, "),
        reason=missing and f"{missing} is not reached by position {curve.at[-1]}",
    )


def _first_half(share: FloatArray) -> float | None:
    """The first position at which a share reaches a half."""
    # Products of hazards may fall short of a half by their rounding.
    reached = np.flatnonzero(share >= 0.5 - 1e-12)
    return float(reached[0]) if reached.size else None
