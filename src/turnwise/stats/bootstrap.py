"""Intervals read from bootstrap replicates: percentile, basic, studentized, bias-corrected and accelerated."""

from math import sqrt

import numpy as np
import scipy

from turnwise.stats.clusters import t_quantile
from turnwise.stats.estimate import FloatArray
from turnwise.stats.replicates import centered, count_sums

MOST_NULL = 0.05
"""The largest share of null replicates (no weight drawn at all) from which an interval is still read."""

_PIECE = 1 << 16
"""Influences looked at in one go."""


def null_flaw(replicates: FloatArray) -> str | None:
    """Why too few of these replicates (resamples,) have a value; None when an interval can be read from them.

    Examples
    --------
    >>> null_flaw(np.array([0.5, np.nan]))
    '50% of the bootstrap replicates are empty'
    """
    share = float(np.isnan(replicates).mean()) if replicates.size else 1.0
    return f"{share:.0%} of the bootstrap replicates are empty" if share > MOST_NULL else None


def percentile_interval(replicates: FloatArray, level: float) -> tuple[float | None, float | None]:
    """Ends of the percentile interval: the (1 ± level)/2 quantiles of the replicates (resamples,).

    Null replicates are dropped. (None, None) where more than `MOST_NULL` are null, or the ends would coincide.

    References
    ----------
    Efron & Tibshirani (1993), chapter 13, doi:10.1201/9780429246593.

    Examples
    --------
    >>> percentile_interval(np.arange(0.0, 65.0), 0.5)
    (16.0, 48.0)
    """
    if null_flaw(replicates):
        return None, None
    return _ends(replicates, (1 - level) / 2, (1 + level) / 2)


def basic_interval(replicates: FloatArray, estimate: float, level: float) -> tuple[float | None, float | None]:
    """Ends of the basic interval: the estimate minus how far the replicates' quantiles lie from it, 2θ - q.

    For unbounded statistics only: of a share it can leave [0, 1] (-0.05 at 1 of 20). Null replicates are dropped.

    References
    ----------
    Davison & Hinkley (1997), section 5.2, doi:10.1017/CBO9780511802843.

    Examples
    --------
    >>> basic_interval(np.arange(0.0, 65.0), 30.0, 0.5)
    (12.0, 44.0)
    """
    low, high = percentile_interval(replicates, level)
    return (None, None) if low is None or high is None else (2 * estimate - high, 2 * estimate - low)


def studentized_interval(
    sums: FloatArray, weights: FloatArray, *, level: float, rng: np.random.Generator, resamples: int
) -> tuple[float | None, float | None, str | None]:
    """Ends of the bootstrap-t interval of Σ sums / Σ weights over clusters, and why there are none.

    R - q·se with q the (1 ± level)/2 quantiles of (R* - R)/se*, where se and se* are the linearised standard errors of the
    data and of each replicate. Replicates with se* = 0 have no pivot and are dropped; above `MOST_NULL` of them there is no
    interval. Good at small rates with many clusters, the worst of all with few (.74 at 20 clusters): never a default.

    Parameters
    ----------
    sums, weights
        Float (G,): each cluster's Σwy and Σw.
    level, rng, resamples
        As for `ratio_replicates`.

    References
    ----------
    Davison & Hinkley (1997), section 5.2, doi:10.1017/CBO9780511802843.

    Examples
    --------
    >>> values = np.arange(40.0)
    >>> low, high, flaw = studentized_interval(
    ...     values, np.ones(40), level=0.95, rng=np.random.default_rng(0), resamples=4000
    ... )
    >>> low < 19.5 < high, flaw
    (True, None)
    """
    mass, (ratio, residuals) = weights, centered(sums[:, None], weights[:, None])
    deviations, scale = residuals[:, 0], max(float(np.abs(residuals).max()), np.finfo(float).tiny)
    deviations = deviations / scale
    relative_mass = mass / mass.max()
    moments = np.stack(
        [deviations, relative_mass, deviations * deviations, deviations * relative_mass, relative_mass * relative_mass],
        axis=1,
    )
    total, drawn_mass, squares, products, masses = count_sums(moments, rng=rng, resamples=resamples).T
    deviation = np.divide(total, drawn_mass, out=np.full(resamples, np.nan), where=drawn_mass > 0)
    variance = squares - 2 * deviation * products + deviation * deviation * masses
    # A replicate of one cluster has variance 0 but for the rounding of the sums.
    variance_of_data = float((deviations * deviations).sum())
    flat = ~(variance > 1e-6 * variance_of_data / mass.size)
    pivots = np.where(flat, np.nan, deviation * drawn_mass / np.sqrt(np.where(flat, 1.0, variance)))
    if np.isnan(pivots).mean() > MOST_NULL:
        return None, None, f"{np.isnan(pivots).mean():.0%} of the bootstrap replicates have no standard error"
    upper, lower = np.nanquantile(pivots, [(1 + level) / 2, (1 - level) / 2])
    error = np.sqrt(variance_of_data) / relative_mass.sum() * scale / mass.max()
    low, high = float(ratio[0] - upper * error), float(ratio[0] - lower * error)
    return (low, high, None) if low < high else (None, None, "the bootstrap interval has no width")


def expanded(level: float, clusters: float) -> float:
    """The level at which a bootstrap interval is as wide as a t interval: a bootstrap of few clusters is too sure of itself.

    Twelve clusters of normal values are covered by a BCa interval of 95 % in 90 % of all samples, expanded in 94 %; so are the
    kappas of judges on twelve goals in 92 and 96 %.

    References
    ----------
    Hesterberg (2015), doi:10.1080/00031305.2015.1089789.

    Examples
    --------
    >>> round(expanded(0.95, 12), 4), round(expanded(0.95, 1000), 4)
    (0.9785, 0.9504)
    """
    return float(2 * scipy.special.ndtr(sqrt(clusters / (clusters - 1)) * t_quantile(level, clusters - 1)) - 1)


def acceleration(influences: FloatArray) -> float | None:
    """Efron's a = ΣU³ / (6·(ΣU²)^1.5), a sixth of the skewness of the influences.

    Parameters
    ----------
    influences
        Float (G,): how far each *cluster* pulls the estimate its way, in any unit and from any origin. What `jackknife_ratio`
        gives, with its sign turned; of a plain mean the clusters' values themselves.

    Returns
    -------
    float
        None when all are equal or any is null.

    References
    ----------
    Efron (1987), doi:10.1080/01621459.1987.10478410.

    Examples
    --------
    >>> round(acceleration(np.array([0.0, 0.0, 1.0])), 4)
    0.068
    """
    center, least, greatest = float(influences.mean()), float(influences.min()), float(influences.max())
    farthest = max(greatest - center, center - least)
    if not farthest > 1e-14 * max(abs(least), abs(greatest)):
        return None
    squares = cubes = 0.0
    for start in range(0, influences.size, _PIECE):
        deviations = (influences[start : start + _PIECE] - center) / farthest
        squared = deviations * deviations
        squares += float(squared.sum())
        cubes += float((squared * deviations).sum())
    return cubes / float(squares**1.5) / 6


def bca_interval(
    replicates: FloatArray, estimate: float, a: float | None, level: float
) -> tuple[float | None, float | None]:
    """Ends of the bias-corrected and accelerated interval.

    z₀ = Φ⁻¹(share of replicates below the estimate, ties counting half), and the ends are the quantiles
    Φ(z₀ + (z₀ ± z)/(1 - a(z₀ ± z))) of the replicates.

    Parameters
    ----------
    replicates
        Float (resamples,); null ones are dropped.
    estimate
        The value on the data themselves.
    a
        Of the estimate, as `acceleration` gives it.
    level
        Nominal coverage.

    Returns
    -------
    tuple
        (low, high); (None, None) where `bca_flaw` names a reason or the ends would coincide.

    References
    ----------
    Efron (1987), doi:10.1080/01621459.1987.10478410.

    Examples
    --------
    >>> replicates = np.linspace(-1.0, 1.0, 2001)
    >>> low, high = bca_interval(replicates, 0.0, acceleration(np.array([-1.0, 0.0, 1.0])), 0.9)
    >>> round(low, 2), round(high, 2)
    (-0.9, 0.9)
    """
    levels = _bca_levels(replicates, estimate, a, level)
    return (None, None) if isinstance(levels, str) else _ends(replicates, *levels)


def bca_flaw(replicates: FloatArray, estimate: float, a: float | None, level: float) -> str | None:
    """Why BCa is undefined here; None where it is defined.

    Examples
    --------
    >>> bca_flaw(np.array([1.0, 2.0]), 0.0, 0.0, 0.95)
    'all bootstrap replicates lie on one side of the estimate'
    """
    levels = _bca_levels(replicates, estimate, a, level)
    if isinstance(levels, str):
        return levels
    return "the bootstrap interval has no width" if _ends(replicates, *levels) == (None, None) else None


def _bca_levels(replicates: FloatArray, estimate: float, a: float | None, level: float) -> tuple[float, float] | str:
    """The two adjusted quantile levels, or why there are none."""
    if flaw := null_flaw(replicates):
        return flaw
    bias = _bias(replicates[~np.isnan(replicates)], estimate)
    if not np.isfinite(bias):
        return "all bootstrap replicates lie on one side of the estimate"
    if a is None:
        return "leaving out any one cluster changes nothing"
    return adjusted_levels(bias, a, level)


def adjusted_levels(bias: float, acceleration: float, level: float) -> tuple[float, float] | str:
    """Efron's two quantile levels Φ(z₀ + (z₀ ± z)/(1 - a(z₀ ± z))), or why there are none.

    Examples
    --------
    >>> low, high = adjusted_levels(0.0, 0.0, 0.9)
    >>> round(low, 3), round(high, 3)
    (0.05, 0.95)
    """
    shifted = bias + scipy.special.ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    denominator = 1 - acceleration * shifted
    if denominator.min() <= 0:
        return "the acceleration is too large for this level"
    low, high = scipy.special.ndtr(bias + shifted / denominator)
    # The estimate itself sits at Φ(z₀) of the replicates; an interval that leaves it out is a sign of failure.
    return (
        (float(low), float(high)) if low < scipy.special.ndtr(bias) < high else "the bias is too large for this level"
    )


def _bias(replicates: FloatArray, estimate: float) -> float:
    """Efron's z₀. Replicates within 10⁻⁴ standard deviations count as ties: rounded sums of a lattice scatter by less."""
    tolerance = 1e-4 * replicates.std()
    below = np.count_nonzero(replicates < estimate - tolerance)
    above = np.count_nonzero(replicates > estimate + tolerance)
    return float(scipy.special.ndtri((below + (replicates.size - below - above) / 2) / replicates.size))


def _ends(replicates: FloatArray, lower: float, upper: float) -> tuple[float | None, float | None]:
    low, high = np.nanquantile(replicates, [lower, upper])
    return (float(low), float(high)) if low < high else (None, None)
