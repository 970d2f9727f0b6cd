"""Prediction-powered inference: the true rate from a judge's verdicts on all rollouts and labels on a random part."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from rollwise.stats.clusters import NO_VALUES, ONE_CLUSTER, Grouping, crossed, groupings, small_sample_factor
from rollwise.stats.design_effect import copies_effect, shrunk
from rollwise.stats.estimate import BoolArray, Clusters, Estimate, FloatArray
from rollwise.stats.student import t_quantile

METHOD = "prediction-powered"
NO_LABELS = "no rollout has both a label and a verdict"


def prediction_powered(judged: ArrayLike, truth: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> Estimate:
    """Estimate the share of true successes: λ·mean of all verdicts + mean of (truth - λ·verdict) over the labeled rollouts.

    λ, within [0, 1], minimizes the variance: 0 uses the labels only; 1 uses all verdicts, corrected by their mean error on the
    labeled rollouts. The variance is over clusters of both terms together, so a goal with labeled and unlabeled rollouts is one
    cluster. The interval uses t (the normal law if every cluster is one rollout) after adding two rollouts of weight w to the
    labeled ones: a success that the judge missed and a failure that it flagged. At λ = 1 this is Bonett and Price's interval
    for a paired difference, at λ = 0 Laplace's. The interval thus allows for errors that no label happened to show. w is 1, but
    grows toward the cluster size if few clusters contain an error, as in `proportion`.

    Parameters
    ----------
    judged
        Float (n,), 0 or 1: the verdicts on all rollouts.
    truth
        Float (n,), 0 or 1, NaN for rollouts without a label. The labeled rollouts must be a random sample, by rollout or by
        cluster.
    clusters
        Tuple of zero, one or two integer code arrays (n,).
    level
        Nominal coverage.

    Returns
    -------
    Estimate
        `n` counts all rollouts and `n_clusters` the clusters with a label, which determine the interval; `method` contains λ.
        Without a label all values are None. With labels in one cluster of several rollouts the bounds are None.

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
    # Influence of each rollout on the point estimate: through all verdicts, then through the labels.
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
    """Return the λ of least variance: regress the clusters' influence through the labels on that through the verdicts."""
    truth, verdict = np.zeros(f.size), -(f - f.mean()) / f.size
    n_labeled = labeled.sum()
    truth[labeled] = (y[labeled] - y[labeled].mean()) / n_labeled
    verdict[labeled] += (f[labeled] - f[labeled].mean()) / n_labeled
    by_truth, by_verdict = unit.sums(truth), unit.sums(verdict)
    squares = float((by_verdict**2).sum())
    # Verdicts that do not vary between clusters cannot reduce the variance: use the labels only.
    if squares <= (1e-14) ** 2:
        return 0.0
    return min(1.0, max(0.0, float((by_truth * by_verdict).sum()) / squares))


def _added(residual: FloatArray, wrong: BoolArray, ways: tuple[Grouping, ...]) -> float:
    """Return the weight of each of the two added rollouts."""
    ones = np.ones(residual.size)
    return max(
        shrunk(1.0, float(np.count_nonzero(way.sums(wrong.astype(np.float64)))), copies_effect(ones, way))
        for way in ways
    )
