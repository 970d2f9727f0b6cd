"""Design effect of clusters: how much larger a share's variance is than with as many independent rollouts."""

from typing import TypeVar

import numpy as np

from turnwise.stats.clusters import Grouping, equal_weights
from turnwise.stats.estimate import FloatArray

Number = TypeVar("Number", float, FloatArray)


def copies_effect(weights: FloatArray, unit: Grouping) -> float:
    """Return the design effect if all rollouts of a cluster were copies, m = N·Σ(W_g/W)²: the largest that clustering can cause.

    Examples
    --------
    >>> copies_effect(np.ones(6), Grouping(np.array([0, 0, 0, 0, 1, 1]), 2))  # (4² + 2²) / 6
    3.333...
    """
    return float(weights.size * np.square(unit.sums(weights) / weights.sum()).sum())


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
    count, n = way.count, weights.size
    masses, squares = way.sums(weights), way.sums(weights * weights)
    if equal_weights(masses) and equal_weights(squares):
        return np.ones_like(between)
    within = float((squares / masses**2).mean())
    total = of_one + between / count
    ratio = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
    correlation = np.clip((ratio - within) / (1 - within), 0.0, 1.0) if within < 1 else 0.0 * ratio
    alone, together = (float(part.sum()) / float(masses.sum()) ** 2 for part in (squares, masses**2))
    return np.asarray(n * ((1 - correlation) * alone + correlation * together))
