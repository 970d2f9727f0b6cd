"""Pigeonhole bootstrap over two crossed ways: goals and tasks are both drawn, and the counts of a rollout are multiplied."""

import numpy as np

from turnwise.stats.clusters import grouping
from turnwise.stats.estimate import Clusters, FloatArray
from turnwise.stats.multinomial import counts


def crossed_replicates(
    deviations: FloatArray,
    weights: FloatArray,
    clusters: Clusters,
    *,
    rng: np.random.Generator,
    resamples: int,
    block: int = 1 << 17,
) -> FloatArray:
    """Draw replicates of Σ deviations / Σ weights with both ways resampled: float (resamples,), NaN without weight.

    A cell of the two ways counts c_a·c_b times, so all replicates are one product of count matrices with the table of cell
    sums. The variance is conservative: without interaction it is that of both ways plus a little. Percentile intervals over few
    clusters are not: with 8 goals by 15 tasks the coverage is .92, and .89 for skewed values.

    Parameters
    ----------
    deviations, weights
        Float (n,): w(y - R) and w.
    clusters
        Two integer code arrays (n,).
    rng, resamples, block
        See `replicates.ratio_replicates`.

    References
    ----------
    Owen (2007), doi:10.1214/07-AOAS122; Owen & Eckles (2012), doi:10.1214/12-AOAS547.

    Examples
    --------
    >>> goal, task = np.repeat(np.arange(12), 12), np.tile(np.arange(12), 12)
    >>> y = goal * 1.0 - 5.5
    >>> drawn = crossed_replicates(y, np.ones(144), (goal, task), rng=np.random.default_rng(0), resamples=4000)
    >>> round(float(drawn.std()), 1)  # √(143/12)/√12
    1.0
    """
    way_a, way_b = (grouping(way) for way in clusters)
    cells = way_a.codes * way_b.count + way_b.codes
    shape = way_a.count, way_b.count
    # Tables of both ways' cells (A, B): a replicate is c_a' · table · c_b for the count vectors of the two ways.
    sums, mass = (
        np.bincount(cells, weights=x, minlength=way_a.count * way_b.count).reshape(shape) for x in (deviations, weights)
    )
    replicates = np.empty(resamples)
    rows = max(1, block // max(shape))
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        counts_a = counts(rng, stop - start, way_a.count)
        counts_b = counts(rng, stop - start, way_b.count)
        total, drawn_mass = (((counts_a @ table) * counts_b).sum(axis=1) for table in (sums, mass))
        replicates[start:stop] = np.divide(total, drawn_mass, out=np.full(stop - start, np.nan), where=drawn_mass > 0)
    return replicates
