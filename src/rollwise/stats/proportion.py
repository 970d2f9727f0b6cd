"""Proportion with Wilson's interval at an effective sample size that accounts for clustering."""

import numpy as np
from numpy.typing import ArrayLike

from rollwise.errors import ArgumentError
from rollwise.stats.clusters import NO_VALUES, ONE_CLUSTER, Variations, lone_strata, ones_or, variations
from rollwise.stats.design_effect import copies_effects, correlation_effects, shrunk
from rollwise.stats.estimate import Clusters, Estimate, Estimates, FloatArray, IntArray, texts
from rollwise.stats.intervals import NAMES_OF_A_SHARE, ShareInterval, share_intervals
from rollwise.stats.units import Groups, Units

ONE_CLUSTER_EACH = "each stratum has one cluster: no interval over clusters"


def proportion(
    values: ArrayLike,
    clusters: Clusters,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    interval: ShareInterval = "wilson",
    trials: float = 1.0,
    strata: ArrayLike | None = None,
) -> Estimate:
    """Estimate the share of successes, with Wilson's (or another) interval at the effective sample size.

    Let s be the number of clusters with a success or with a failure, whichever is smaller, d̂ = max(1, V·N / (R(1-R))), and
    m = N·Σ(W_g/W)² (Σn_g²/N without weights). The design effect is d = (s·d̂ + m/2) / (s + 1/2), the effective size N/d, and
    the quantile is that of t with G-1 degrees of freedom. Near 0 and 1 the data hardly show the variance between clusters, so
    d is shrunk toward m, its value if the rollouts of a cluster were copies. Without a success the effective size is thus the
    number of clusters. For clusters of unequal weight, d̂ is at least what the intraclass correlation implies
    (`correlation_effect`), because a dominating cluster hardly shows the variance that it causes; not where weights follow the
    clusters' shares, as of attempts that depend on difficulty (`relations_of_weights`). For two crossed ways, d̂ is
    from the two-way variance, m and s are the larger of both ways, and t has Satterthwaite's degrees of freedom
    (`crossed_df`). Within strata, V and R(1-R) are those within them, and t has one degree of freedom less for each further
    stratum. A cluster whose scores sum to less than one success counts in s as that fraction.

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
    strata
        Integer (G,), one per cluster of the one way, in the order of the codes: whole clusters were chosen within each
        stratum, and the sizes of the strata were fixed by design. None for one stratum.

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
    single = Groups.single(y.size)
    estimates = proportions(
        y,
        clusters,
        single,
        weights=weights,
        level=level,
        interval=interval,
        trials=trials,
        strata=None if strata is None else np.asarray(strata, dtype=np.int64),
    )
    return estimates.at(0)


def proportions(
    values: FloatArray,
    clusters: Clusters,
    groups: Groups,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    interval: ShareInterval = "wilson",
    trials: float | FloatArray = 1.0,
    strata: IntArray | None = None,
) -> Estimates:
    """Estimate the `proportion` of each group: rows of one group after another, and clusters within each group.

    `trials` may be a float (T,), one for each group.
    """
    if values.size and (values.min() < 0 or values.max() > 1):
        raise ArgumentError(
            f"a share needs values between 0 and 1; these range from {values.min():g} to {values.max():g}"
        )
    spread = variations(values, clusters, groups, weights=weights, strata=strata)
    w, trials = ones_or(weights, values.size), np.broadcast_to(trials, groups.count)
    share, n = spread.estimate, spread.n
    plain = spread.singletons & groups.are_equal(w) & (trials == 1) & (strata is None)
    defined = plain | ((spread.n_clusters >= 2) & (spread.df > 0))
    effect = np.where(plain, 1.0, np.nan)
    if (defined & ~plain).any():
        effect = np.where(plain, 1.0, _design_effects(values, w, spread, groups, trials))
    effect[~defined | (n == 0)] = np.nan
    size = n / effect
    # One degree of freedom for each cluster but one; two ways and strata have their own.
    has_own_df = len(clusters) > 1 or strata is not None
    df = np.where(plain, np.inf, spread.df if has_own_df else spread.n_clusters - 1)
    low, high = share_intervals(interval, share * size, size, level=level, df=df)
    name = NAMES_OF_A_SHARE[interval]
    method = texts(plain, name, f"two-way {name}" if len(clusters) > 1 else f"clustered {name}")
    if strata is not None:
        method = texts(plain, name, f"clustered {name} within strata")
    method[~defined | (n == 0)] = None
    reason = texts(defined, None, ONE_CLUSTER)
    if spread.strata is not None:
        reason[~defined & (spread.n_clusters > 1)] = ONE_CLUSTER_EACH
        reason[defined] = lone_strata(spread.strata)[defined]
    reason[n == 0] = NO_VALUES
    return Estimates.empty(
        groups.count,
        estimate=share,
        std_error=np.where(spread.variance > 0, np.sqrt(spread.variance), np.nan),
        low=low,
        high=high,
        n=n,
        n_clusters=spread.n_clusters,
        design_effect=effect,
        method=method,
        reason=reason,
    )


def _design_effects(y: FloatArray, w: FloatArray, spread: Variations, groups: Groups, trials: FloatArray) -> FloatArray:
    ways = spread.ways[:2]
    # No less than with independent rollouts; within strata, these vary less than in the whole group.
    least = 1 / trials * (1.0 if spread.strata is None else _within(y, w, spread.ways[0], spread.strata, groups))
    with np.errstate(invalid="ignore", divide="ignore"):  # groups without rows, and shares of 0 and 1
        binomial = spread.estimate * (1 - spread.estimate) / spread.n
        observed = np.where((spread.variance > 0) & (binomial > 0), spread.variance / binomial, 1.0)
    observed = np.maximum(least, observed)
    if len(ways) == 1 and (trials == 1).any():
        (way,) = ways
        means = way.sums(w * y) / way.sums(w)
        if spread.strata is not None:  # clusters vary around the average of their stratum
            layers, ones = spread.strata, np.ones_like(means)
            stratum, total = layers.sums(means) / layers.sums(ones), way.groups.sums(means) / way.counts
            means = means - stratum[layers.of_rows] + total[way.groups.codes]
        correlated = np.maximum(observed, least * correlation_effects(means, w, way, groups))
        observed = np.where(trials == 1, correlated, observed)
    mixed = np.max([_mixed(y, way, trials[groups.codes]) for way in ways], axis=0)
    copies = np.max([copies_effects(w, way, groups) for way in ways], axis=0)
    return shrunk(observed, mixed, copies)


def _within(y: FloatArray, w: FloatArray, way: Units, strata: Units, groups: Groups) -> FloatArray:
    """Return the variance of one rollout within strata divided by that of one in the whole group, p(1-p); 1 where that is 0."""
    weight, hits = way.sums(w), way.sums(w * y)
    share = strata.sums(hits) / strata.sums(weight)
    overall = groups.sums(w * y) / groups.sums(w)
    with np.errstate(invalid="ignore", divide="ignore"):
        within = strata.groups.sums(strata.sums(weight) * share * (1 - share)) / groups.sums(w)
        ratio = within / (overall * (1 - overall))
    return np.where(np.isfinite(ratio), ratio, 1.0)


def _mixed(y: FloatArray, units: Units, trials: FloatArray) -> FloatArray:
    """Count each group's clusters with a success or with a failure, whichever is fewer; fractions of a success are added."""
    succeeded, failed = (units.groups.sums(np.minimum(units.sums(trials * part), 1.0)) for part in (y, 1 - y))
    return np.minimum(succeeded, failed)
