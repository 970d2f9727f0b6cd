"""Restricted mean and median of the time to the event, in positions."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from rollwise.stats.clusters import NO_VALUES, ONE_CLUSTER, crossed, crossed_df, equal_weights, groupings
from rollwise.stats.design_effect import copies_effect, shrunk
from rollwise.stats.estimate import Clusters, Estimate, FloatArray
from rollwise.stats.incidence import Incidence, kaplan_meier
from rollwise.stats.influence import Watch, area_variances, independent_variance, mixed_clusters, watch
from rollwise.stats.student import t_quantile


def restricted_mean(
    duration: ArrayLike,
    observed: ArrayLike,
    clusters: Clusters,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    horizon: int | None = None,
) -> Estimate:
    """Estimate the mean of min(time to the event, τ) in positions if nothing else ended follow-up: the area under S up to τ.

    Σ_{t<τ} S(t), with a variance from the influence of whole clusters summed over the same positions, a design effect shrunk
    as in `proportion`, and t with G-1 degrees of freedom on the logit scale of [1, τ]. A plain t interval suffers from the
    skewness near τ: it covers .93 where this one covers .95 (40 goals of 5, ICC .3), and .83 against .92 with 20 goals.

    Parameters
    ----------
    duration
        Integer (n,), at least 1: the last position at which the rollout was followed.
    observed
        Boolean (n,): True if follow-up ended with the event.
    clusters, weights, level
        See `cumulative_incidence`.
    horizon
        τ; None for the longest duration.

    Returns
    -------
    Estimate
        Within [1, τ]. All values are None if n = 0, or if no rollout was followed up to τ - 1 while some had no event. Without
        an event before τ the estimate is τ and the bounds are None. The bounds are also None if n = 1, with one cluster, and
        if every event is at position 1.

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
    longest = int(life_table.at[-1])
    last = longest if horizon is None else horizon
    units = groupings(clusters, n)
    smallest = min(unit.count for unit in units)
    row = Estimate(n=n, n_clusters=smallest)
    if last > longest + 1 and life_table.survival[-1] > 0:
        return replace(row, reason=f"no rollout was watched beyond position {longest}, and some had no event by then")
    # Survival is 0 beyond the longest follow-up in this case, so later positions add nothing.
    row = replace(row, estimate=float(life_table.area(life_table.survival, last)))
    if flaw := _flaw(life_table, smallest, last):
        return replace(row, reason=flaw)
    parts = area_variances(life_table, units, last)
    variance = float(crossed(parts))
    df = smallest - 1.0 if len(units) == 1 else float(crossed_df(parts, (units[0].count, units[1].count)))
    # Variance if rollouts were independent; the design effect multiplies it.
    independent = float(independent_variance(life_table, area=last))
    if independent <= 1e-20:
        return replace(row, reason="no variation: one rollout alone was at risk wherever an event came")
    plain = smallest == n and equal_weights(life_table.weights)
    spread = math.sqrt(variance if plain else independent * _effect(life_table, clusters, variance / independent, last))
    low, high = within_range(row.estimate or 1.0, spread * t_quantile(level, df), last)
    return replace(
        row,
        std_error=math.sqrt(variance) if variance else None,
        low=low,
        high=high,
        method=f"restricted mean, {('', 'clustered ', 'two-way ')[len(clusters)]}influence, logit",
    )


def _flaw(life_table: Watch, smallest: int, last: int) -> str | None:
    """Return the reason why no interval exists, or None."""
    if life_table.events[life_table.at < last].sum() == 0:
        return f"no event observed before position {last}"
    if smallest == 1:
        return ONE_CLUSTER if life_table.duration.size > 1 else "one rollout: no interval"
    return "every event came at position 1: no variation" if life_table.survival[1] == 0 else None


def _effect(life_table: Watch, clusters: Clusters, observed: float, last: int) -> float:
    """Return the design effect, shrunk toward that of copies if few clusters provide evidence, as in `proportion`."""
    ways = groupings(clusters, life_table.duration.size)[:2]
    position = int(np.searchsorted(life_table.at, last - 1, side="right")) - 1
    mixed = max(float(mixed_clusters(life_table, way)[position]) for way in ways)
    return shrunk(max(1.0, observed), mixed, max(copies_effect(life_table.weights, way) for way in ways))


def within_range(mean: float, half: float, last: int) -> tuple[float, float]:
    """Return the interval with this half-width, computed on the logit of (mean - 1) / (τ - 1) to stay within [1, τ]."""
    # Delta method: on the logit scale the half-width is divided by span·share·(1-share); 700 avoids overflow of exp.
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
    """Estimate the median time to the event in positions if nothing else ended follow-up: the first t with S(t) <= 1/2.

    Its interval inverts the pointwise bounds of S (Brookmeyer & Crowley): from the first t at which the lower bound of S is at
    most 1/2 to the first at which the upper bound is.

    Parameters
    ----------
    duration, observed, clusters, weights, level, horizon
        See `kaplan_meier`.

    Returns
    -------
    Estimate
        There is never a standard error. The median, the upper end, or both are None if the curve does not reach them. Both ends
        are None if they coincide. With n = 0 all values are None.

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
    row = Estimate(
        estimate=_first_half(curve, curve.estimate), n=int(curve.at_risk[0]), n_clusters=int(curve.n_clusters[0])
    )
    low, high = _first_half(curve, curve.high), _first_half(curve, curve.low)
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


def _first_half(curve: Incidence, share: FloatArray) -> float | None:
    """Return the first position at which a share reaches one half."""
    # The tolerance allows for the rounding of products of hazards.
    reached = np.flatnonzero(share >= 0.5 - 1e-12)
    return float(curve.at[reached[0]]) if reached.size else None
