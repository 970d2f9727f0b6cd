"""Design effect of clusters: how much larger a share's variance is than with as many independent rollouts."""

from typing import TypeVar

import numpy as np

from rollwise.stats.clusters import Grouping, ones_or, weighted_means
from rollwise.stats.estimate import FloatArray
from rollwise.stats.units import Groups, Units, units_of

Number = TypeVar("Number", float, FloatArray)


def copies_effect(weights: FloatArray, unit: Grouping) -> float:
    """Return the design effect if all rollouts of a cluster were copies, m = N·Σ(W_g/W)²: the largest that clustering can cause.

    Examples
    --------
    >>> copies_effect(np.ones(6), Grouping(np.array([0, 0, 0, 0, 1, 1]), 2))  # (4² + 2²) / 6
    3.333...
    """
    single = Groups.single(weights.size)
    return float(copies_effects(weights, units_of(unit.codes, single), single)[0])


def copies_effects(weights: FloatArray, units: Units, groups: Groups) -> FloatArray:
    """Return the `copies_effect` of each group: float (T,), NaN for a group without rows."""
    with np.errstate(invalid="ignore"):  # 0 / 0
        shares = units.sums(weights) / groups.sums(weights)[units.groups.codes]
    return groups.sizes * units.groups.sums(np.square(shares))


def shrunk(observed: Number, mixed: Number, copies: float) -> Number:
    """Shrink the design effect toward that of copies if few clusters provide evidence on it: (s·d̂ + m/2) / (s + 1/2).

    Parameters
    ----------
    observed
        Variance divided by that of independent rollouts, at least 1.
    mixed
        Number of clusters with a success or with a failure, whichever is smaller; the larger number of two crossed ways.
    copies
        `copies_effect`; the larger of two crossed ways.

    Examples
    --------
    >>> shrunk(1.0, 0, 10.0), round(shrunk(1.0, 20, 10.0), 2)
    (10.0, 1.22)
    """
    return (mixed * observed + copies / 2) / (mixed + 0.5)


def correlation_effect(
    average: FloatArray | float, between: FloatArray | float, weights: FloatArray, way: Grouping
) -> FloatArray:
    """Return the design effect that follows from the intraclass correlation, for clusters of unequal weight; 1 for equal ones.

    The squared deviation of one dominating cluster says little about the variance that it causes. If the clusters' chances
    are draws from one distribution, all clusters say how large that variance is: with p̄ and S the average and the variance of
    the G clusters' means, T = p̄(1 - p̄) + S/G and h the average of Σw²/W_g² (1/n_g without weights),

        ρ = (S/T - h) / (1 - h), within [0, 1],    d = N·[(1 - ρ)·Σw²/W² + ρ·Σ(W_g/W)²]  (1 + ρ(m - 1) without weights).

    Parameters
    ----------
    average, between
        Average p̄ and variance S of the clusters' means, every cluster counting the same: float, or float (T,) for T positions.
    weights
        Positive float (n,).
    way
        The clusters.

    References
    ----------
    Kish (1965), Survey Sampling, sections 5.4 and 8.2; Kleinman (1973), doi:10.1080/01621459.1973.10481332 (moments of the
    clusters' means).

    Examples
    --------
    >>> sizes = np.array([40, 3, 3, 3])
    >>> clusters = Grouping(np.repeat(np.arange(4), sizes), 4)
    >>> rates = np.array([0.25, 0.0, 1.0, 1 / 3])
    >>> round(float(correlation_effect(rates.mean(), rates.var(ddof=1), np.ones(49), clusters)), 2)
    17.63
    """
    return effect_of_variance(np.asarray(between), np.asarray(average * (1 - average)), weights, way)


def effect_of_variance(between: FloatArray, of_one: FloatArray, weights: FloatArray, way: Grouping) -> FloatArray:
    """Return the design effect for a variance S between the clusters' means and the variance p̄(1 - p̄) of one rollout.

    See `correlation_effect`. The effect never falls if S grows or p̄(1 - p̄) falls.

    Examples
    --------
    >>> clusters = Grouping(np.repeat(np.arange(2), [4, 2]), 2)
    >>> effect_of_variance(np.array([0.0, 0.5]), np.array([0.25, 0.25]), np.ones(6), clusters)
    array([1.        , 3.33333333])
    """
    single = Groups.single(weights.size)
    units = units_of(way.codes, single)
    return _effects(between, of_one, weights, units, single).reshape(np.shape(between))


def correlation_effects(means: FloatArray, weights: FloatArray, units: Units, groups: Groups) -> FloatArray:
    """Return the `correlation_effect` of each group, float (T,), from the means (U,) of its clusters; 1 for fewer than two."""
    counts = units.counts
    average = weighted_means(means, ones_or(None, means.size), units.groups)
    squares = units.groups.sums(np.square(means - average[units.groups.codes]))
    between = squares / np.maximum(counts - 1, 1)
    effects = _effects(between, average * (1 - average), weights, units, groups)
    return np.where(counts > 1, effects, 1.0)


def _effects(between: FloatArray, of_one: FloatArray, weights: FloatArray, units: Units, groups: Groups) -> FloatArray:
    """Return design effects for variances of one group at several positions, or of one position in each group."""
    clusters = units.groups
    masses, squares = units.sums(weights), units.sums(weights * weights)
    equal = clusters.are_equal(masses) & clusters.are_equal(squares)
    if equal.all():
        return np.ones_like(between)
    count, mass = clusters.sizes, groups.sums(weights)
    with np.errstate(invalid="ignore", divide="ignore"):  # a group without rows
        within = clusters.sums(squares / masses**2) / count
        separate, together = (clusters.sums(part) / mass**2 for part in (squares, masses**2))
        total = of_one + between / count
    ratio = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
    correlation = np.clip(
        np.divide(ratio - within, 1 - within, out=np.zeros_like(ratio), where=np.broadcast_to(within < 1, ratio.shape)),
        0.0,
        1.0,
    )
    return np.where(equal, 1.0, groups.sizes * ((1 - correlation) * separate + correlation * together))
