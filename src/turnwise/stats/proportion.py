"""Proportion with Wilson's interval at an effective sample size that accounts for clustering."""

import math

import numpy as np
from numpy.typing import ArrayLike

from turnwise.errors import ArgumentError
from turnwise.stats.clusters import (
    NO_VALUES,
    ONE_CLUSTER,
    Grouping,
    Variation,
    equal_weights,
    groupings,
    ones_or,
    variation,
)
from turnwise.stats.design_effect import copies_effect, correlation_effect, shrunk
from turnwise.stats.estimate import Clusters, Estimate, FloatArray
from turnwise.stats.intervals import OF_A_SHARE, ShareInterval


def proportion(
    values: ArrayLike,
    clusters: Clusters,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    interval: ShareInterval = "wilson",
    trials: float = 1.0,
) -> Estimate:
    """Estimate the share of successes, with Wilson's (or another) interval at the effective sample size.

    Let s be the number of clusters with a success or with a failure, whichever is smaller, d̂ = max(1, V·N / (R(1-R))), and
    m = N·Σ(W_g/W)² (Σn_g²/N without weights). The design effect is d = (s·d̂ + m/2) / (s + 1/2), the effective size N/d, and
    the quantile is that of t with G-1 degrees of freedom. Near 0 and 1 the data hardly show the variance between clusters, so
    d is shrunk toward m, its value if the rollouts of a cluster were copies. Without a success the effective size is thus the
    number of clusters. For clusters of unequal weight, d̂ is at least what the intraclass correlation implies
    (`correlation_effect`), because a dominating cluster hardly shows the variance that it causes. For two crossed ways, d̂ is
    from the two-way variance, m and s are the larger of both ways, and t has Satterthwaite's degrees of freedom
    (`crossed_df`). A cluster whose scores sum to less than one success counts in s as that fraction.

    Parameters
    ----------
    values
        Float (n,): 0 or 1, or scores between them (for which Wilson's interval is conservative).
    clusters
        Tuple of zero, one or two integer code arrays (n,).
    weights
        Positive float (n,), or None for ones.
    level
        Nominal coverage.
    interval
        ``"wilson"``, ``"exact"`` (Clopper-Pearson), ``"jeffreys"`` or ``"agresti-coull"``, all at the same effective size.
    trials
        Number of 0/1 trials averaged in one value, at least 1: the effective size can then be up to `trials` times n.

    Returns
    -------
    Estimate
        With n = 0 all values are None; n = 1 is defined (1 of 1 gives 0.21 to 1). If all values are equal, there is an interval
        but no standard error. If every cluster is one rollout and weights are equal, it is plain Wilson with z. With one
        cluster of several rollouts the bounds are None.

    References
    ----------
    Korn & Graubard (1998), Survey Methodology 24(2):193-201; Franco et al. (2019), doi:10.1093/jssam/smy019. The shrinkage
    is specific to this project; with 30 clusters of 20, rate .01 and ICC .6 it raises the coverage at 95 % from .86 to .96.

    Examples
    --------
    >>> share = proportion(np.zeros(6), (np.array([0, 0, 1, 1, 2, 2]),))
    >>> share.low, round(share.high, 3), share.design_effect, share.method
    (0.0, 0.861, 2.0, 'clustered Wilson')
    """
    y = np.asarray(values, dtype=np.float64)
    spread = variation(y, clusters, weights=weights)
    if spread.estimate is None:
        return Estimate(reason=NO_VALUES)
    if y.min() < 0 or y.max() > 1:
        raise ArgumentError(f"a share needs values between 0 and 1; these range from {y.min():g} to {y.max():g}")
    w = ones_or(weights, spread.n)
    plain = spread.singletons and equal_weights(w) and trials == 1
    if spread.n_clusters < 2 and not plain:
        return Estimate(estimate=spread.estimate, n=spread.n, n_clusters=spread.n_clusters, reason=ONE_CLUSTER)
    effect = 1.0 if plain else _design_effect(y, w, spread, groupings(clusters, spread.n)[:2], trials)
    size = spread.n / effect
    name, ends = OF_A_SHARE[interval]
    df = None if plain else spread.df if len(clusters) > 1 else spread.n_clusters - 1
    low, high = ends(spread.estimate * size, size, level=level, df=df)
    return Estimate(
        estimate=spread.estimate,
        std_error=math.sqrt(spread.variance) if spread.variance else None,
        low=low,
        high=high,
        n=spread.n,
        n_clusters=spread.n_clusters,
        design_effect=effect,
        method=name if plain else f"two-way {name}" if len(clusters) > 1 else f"clustered {name}",
    )


def _design_effect(y: FloatArray, w: FloatArray, spread: Variation, ways: tuple[Grouping, ...], trials: float) -> float:
    share = spread.estimate or 0.0
    binomial = share * (1 - share) / spread.n
    observed = max(1 / trials, spread.variance / binomial if spread.variance and binomial > 0 else 1.0)
    if len(ways) == 1 and trials == 1:
        (way,) = ways
        means = way.sums(w * y) / way.sums(w)
        observed = max(observed, float(correlation_effect(means.mean(), means.var(ddof=1), w, way)))
    mixed, copies = max(_mixed(y, way, trials) for way in ways), max(copies_effect(w, way) for way in ways)
    return shrunk(observed, mixed, copies)


def _mixed(y: FloatArray, unit: Grouping, trials: float) -> float:
    """Count the clusters with a success or with a failure, whichever is fewer; a fraction of a success counts as a fraction."""
    succeeded, failed = (float(np.minimum(unit.sums(trials * part), 1.0).sum()) for part in (y, 1 - y))
    return min(succeeded, failed)
