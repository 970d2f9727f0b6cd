"""The true rate of all rollouts from a judge's verdicts on all and labels on a random part of them."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from turnwise.stats.clusters import (
    NO_VALUES,
    ONE_CLUSTER,
    Grouping,
    crossed,
    groupings,
    small_sample_factor,
    t_quantile,
)
from turnwise.stats.estimate import BoolArray, Clusters, Estimate, FloatArray
from turnwise.stats.proportion import copies_effect, shrunk

METHOD = "prediction-powered"
NO_LABELS = "no rollout has both a label and a verdict"


def prediction_powered(judged: ArrayLike, truth: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> Estimate:
    """The share of true successes, λ·mean of all verdicts + mean of (truth - λ·verdict) over the labeled ones.

    λ, within [0, 1], is the one of least variance: 0 uses the labels alone, 1 trusts the judge but for its mean error on
    them. The variance is over clusters of both terms together, so a goal with labeled and unlabeled rollouts counts as one.
    The interval is t's (the normal law's where every cluster is one rollout) after two rollouts of weight w are added to the
    labeled ones, a success that the judge missed and a failure it took for one: at λ = 1 Bonett and Price's for a difference
    of pairs, at λ = 0 Laplace's, and never blind to errors that no label happened to show. w is 1, drawn towards the size of
    a cluster where few clusters hold an error, as in `proportion`.

    Parameters
    ----------
    judged
        Float (n,), 0 or 1: the verdicts on all rollouts.
    truth
        Float (n,), 0 or 1, NaN where there is no label. The labeled ones are a random part of all, by rollout or by cluster.
    clusters
        Tuple of none, one or two integer code arrays (n,).
    level
        Nominal coverage.

    Returns
    -------
    Estimate
        `n` counts all rollouts and `n_clusters` the clusters with a label, on which the interval hangs; λ stands
        in `method`. No label: all None.
        Labels in one cluster of several: bounds None.

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), doi:10.1126/science.adi6000; Angelopoulos, Duchi & Zrnic (2023),
    PPI++, doi:10.48550/arXiv.2311.01453; Bonett & Price (2012), doi:10.3102/1076998611411915.

    Examples
    --------
    >>> found = prediction_powered([1, 1, 0, 0, 0, 1, 0, 0], [1, 0, 0, 0] + [np.nan] * 4, ())
    >>> round(found.estimate, 3), found.n, found.method
    (0.183, 8, 'prediction-powered, power 0.53')
    """
    f, y = (np.asarray(x, dtype=np.float64) for x in (judged, truth))
    labeled: BoolArray = ~np.isnan(y)
    n, n_labeled = f.size, int(labeled.sum())
    if not n_labeled:
        return Estimate(n=n, reason=NO_LABELS if n else NO_VALUES)
    ways = groupings(tuple(np.asarray(way)[labeled] for way in clusters), n_labeled)
    units = groupings(clusters, n)
    smallest = min(way.count for way in ways)
    weight = _power(f, y, labeled, units[0])
    residual = y[labeled] - weight * f[labeled]
    point = weight * f.mean() + residual.mean()
    counted = Estimate(estimate=min(1.0, max(0.0, float(point))), n=n, n_clusters=smallest)
    if smallest < 2:
        return replace(counted, reason=ONE_CLUSTER)
    added = _added(residual, y[labeled] != f[labeled], ways[:2])
    size = n_labeled + 2 * added
    mean = (residual.sum() + added * (1 - weight)) / size
    influence = weight * (f - f.mean()) / n
    influence[labeled] += (residual - mean) / size
    parts = [np.asarray(small_sample_factor(unit.count) * np.square(unit.sums(influence)).sum()) for unit in units]
    variance = float(crossed(parts)) + (added / size) ** 2 * ((1 - mean) ** 2 + (weight + mean) ** 2)
    plain = all(unit.count == n for unit in units)
    half = t_quantile(level, None if plain else smallest - 1) * math.sqrt(variance)
    center = weight * f.mean() + mean
    prefix = "" if plain else "two-way " if len(units) > 1 else "clustered "
    return replace(
        counted,
        std_error=math.sqrt(variance),
        low=max(0.0, min(float(point), float(center - half))),
        high=min(1.0, max(float(point), float(center + half))),
        method=f"{prefix}{METHOD}, power {weight:.2f}",
    )


def _power(f: FloatArray, y: FloatArray, labeled: BoolArray, unit: Grouping) -> float:
    """λ of least variance: the influence of clusters through the labels, regressed on that through the verdicts."""
    truth, verdict = np.zeros(f.size), -(f - f.mean()) / f.size
    n_labeled = labeled.sum()
    truth[labeled] = (y[labeled] - y[labeled].mean()) / n_labeled
    verdict[labeled] += (f[labeled] - f[labeled].mean()) / n_labeled
    by_truth, by_verdict = unit.sums(truth), unit.sums(verdict)
    squares = float((by_verdict**2).sum())
    if squares <= (1e-14) ** 2:
        return 0.0
    return min(1.0, max(0.0, float((by_truth * by_verdict).sum()) / squares))


def _added(residual: FloatArray, wrong: BoolArray, ways: tuple[Grouping, ...]) -> float:
    """Weight of each of the two added rollouts."""
    ones = np.ones(residual.size)
    return max(
        shrunk(1.0, float(np.count_nonzero(way.sums(wrong.astype(np.float64)))), copies_effect(ones, way))
        for way in ways
    )
