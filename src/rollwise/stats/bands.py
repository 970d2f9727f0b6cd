"""Simultaneous confidence bands: they cover a whole curve at once rather than each position separately."""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rollwise.stats.clusters import groupings
from rollwise.stats.estimate import Clusters, FloatArray
from rollwise.stats.influence import influences, watch

MOST_POSITIONS = 200
"""Most positions searched for the largest deviation; longer curves are thinned evenly."""


def simultaneous_level(
    duration: ArrayLike,
    cause: ArrayLike,
    clusters: Clusters,
    *,
    level: float,
    rng: np.random.Generator,
    draws: int = 20_000,
) -> float:
    """Return the pointwise level at which the intervals of `cumulative_incidence` cover the whole curve: within [level, 1).

    The result is the quantile of max over t of abs(Z(t)), written as a two-sided normal level (sup-t). Z is a normal process
    with the correlations of the clusters' influences on F(t). Each position's interval is then computed at that level. For
    two crossed ways, the one with fewer clusters counts.

    Parameters
    ----------
    duration, cause, clusters
        See `cumulative_incidence`.
    level
        Nominal coverage of the band.
    rng
        Random generator.
    draws
        Number of simulated curves.

    References
    ----------
    Montiel Olea & Plagborg-Møller (2019), doi:10.1002/jae.2656; Lin, Wei & Ying (1993), doi:10.1093/biomet/80.3.557.

    Examples
    --------
    >>> one_position = simultaneous_level([1, 1, 1], [1, 0, 0], (), level=0.95, rng=np.random.default_rng(0))
    >>> round(one_position, 2)  # no adjustment for a single position
    0.95
    """
    life_table = watch(duration, cause)
    unit = min(groupings(clusters, life_table.duration.size)[:2], key=lambda way: way.count)
    positions = np.flatnonzero(life_table.is_defined & (life_table.events > 0))
    if positions.size < 2 or unit.count < 2:
        return level
    if positions.size > MOST_POSITIONS:
        positions = positions[np.unique(np.linspace(0, positions.size - 1, MOST_POSITIONS).round().astype(int))]
    covariance: FloatArray = np.zeros((positions.size, positions.size))
    for block in influences(life_table, unit):
        covariance += block[:, positions].T @ block[:, positions]
    std_errors = np.sqrt(np.diag(covariance))
    varying = std_errors > 1e-12
    if varying.sum() < 2:
        return level
    correlation = covariance[np.ix_(varying, varying)] / np.outer(std_errors[varying], std_errors[varying])
    # The matrix may be singular (positions that move together), where Cholesky fails; clipped eigenvalues do not.
    values, vectors = np.linalg.eigh(correlation)
    process = rng.standard_normal((draws, values.size)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    critical = float(np.quantile(np.abs(process).max(axis=1), level))
    return float(max(level, 2 * scipy.special.ndtr(critical) - 1))
