"""Bootstrap intervals: percentile, basic, studentized, and bias-corrected and accelerated (BCa)."""

from math import sqrt
from typing import Literal

import numpy as np
import scipy

from turnwise.stats.clusters import t_quantile
from turnwise.stats.estimate import FloatArray
from turnwise.stats.replicates import count_sums

MOST_NULL = 0.05
"""Largest share of null replicates (no weight drawn) that still allows an interval."""

_PIECE = 1 << 16
"""Values processed at a time, so that a long column is not copied."""

FEWEST_FOR_CLOSED_FORM = 1000
"""Fewest values of equal weight for `closed_form`, which is more exact than 10,000 replicates from there on."""

_MOST_SKEW = 0.25
"""Largest skewness of the resampled mean for `closed_form`."""


def null_flaw(replicates: FloatArray) -> str | None:
    """Return the reason why too few replicates (resamples,) have a value, or None if they allow an interval.

    Examples
    --------
    >>> null_flaw(np.array([0.5, np.nan]))
    '50% of the bootstrap replicates are empty'
    """
    share = float(np.isnan(replicates).mean()) if replicates.size else 1.0
    return f"{share:.0%} of the bootstrap replicates are empty" if share > MOST_NULL else None


def percentile_interval(replicates: FloatArray, level: float) -> tuple[float | None, float | None]:
    """Return the percentile interval: the (1 ± level)/2 quantiles of the replicates (resamples,).

    Null replicates are dropped. The result is (None, None) if more than `MOST_NULL` are null or if the ends coincide.

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
    """Return the basic interval: the replicates' quantiles reflected around the estimate, 2θ - q.

    Only for unbounded statistics: for a proportion it can leave [0, 1] (-0.05 at 1 of 20). Null replicates are dropped.

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
    """Return the bootstrap-t interval of Σ sums / Σ weights over clusters, with the reason if it is undefined.

    The ends are R - q·se with q the (1 ± level)/2 quantiles of (R* - R)/se*, where se and se* are the linearized standard
    errors of the data and of each replicate. Replicates with se* = 0 have no pivot and are dropped; if their share exceeds
    `MOST_NULL`, the interval is undefined. This interval is good at small rates with many clusters, but the worst of all with
    few (coverage .74 at 20 clusters), so it is never a default.

    Parameters
    ----------
    sums, weights
        Float (G,): each cluster's Σwy and Σw.
    level
        Nominal coverage.
    rng, resamples
        See `ratio_replicates`.

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
    ratio = float(sums.sum() / weights.sum())
    deviations = sums - ratio * weights
    # In units of the largest, so that squares neither overflow nor vanish.
    scale = max(float(np.abs(deviations).max()), np.finfo(float).tiny)
    deviations = deviations / scale
    relative_mass = weights / weights.max()
    # The five sums below give R* and se* of a replicate in closed form, so all replicates are one matrix product:
    # Σc(r - d·m)² = Σc·r² - 2d·Σc·r·m + d²·Σc·m², with r the residuals, m the masses, c the counts and d = R* - R.
    moments = np.stack(
        [deviations, relative_mass, deviations * deviations, deviations * relative_mass, relative_mass * relative_mass],
        axis=1,
    )
    total, drawn_mass, squares, products, masses = count_sums(moments, rng=rng, resamples=resamples).T
    deviation = np.divide(total, drawn_mass, out=np.full(resamples, np.nan), where=drawn_mass > 0)
    variance = squares - 2 * deviation * products + deviation * deviation * masses
    # A replicate that drew one cluster only has variance 0 up to rounding.
    variance_of_data = float((deviations * deviations).sum())
    flat = ~(variance > 1e-6 * variance_of_data / weights.size)
    pivots = np.where(flat, np.nan, deviation * drawn_mass / np.sqrt(np.where(flat, 1.0, variance)))
    if np.isnan(pivots).mean() > MOST_NULL:
        return None, None, f"{np.isnan(pivots).mean():.0%} of the bootstrap replicates have no standard error"
    upper, lower = np.nanquantile(pivots, [(1 + level) / 2, (1 - level) / 2])
    error = np.sqrt(variance_of_data) / relative_mass.sum() * scale / weights.max()
    low, high = float(ratio - upper * error), float(ratio - lower * error)
    return (low, high, None) if low < high else (None, None, "the bootstrap interval has no width")


def expanded(level: float, clusters: float) -> float:
    """Return the level at which a bootstrap interval is as wide as a t interval.

    Bootstrap intervals over few clusters are too narrow. With twelve clusters of normal values, a 95 % BCa interval covers
    90 %, the expanded one 94 %; for the kappa of judges on twelve goals the coverage is 92 % and 96 %.

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
    """Return Efron's acceleration a = ΣU³ / (6·(ΣU²)^1.5), a sixth of the skewness of the influences.

    Parameters
    ----------
    influences
        Float (G,): the influence of each *cluster* on the estimate, in any unit and from any origin. Pass the negative of
        `jackknife_ratio`, or for a plain mean the values of the clusters.

    Returns
    -------
    float or None
        None if all influences are equal or any is null.

    References
    ----------
    Efron (1987), doi:10.1080/01621459.1987.10478410.

    Examples
    --------
    >>> round(acceleration(np.array([0.0, 0.0, 1.0])), 4)
    0.068
    """
    shape = _shape(influences)
    return None if shape is None else shape[1] / (6 * sqrt(influences.size))


def _shape(values: FloatArray) -> tuple[float, float, float] | None:
    """Return standard deviation, skewness and kurtosis; None if all values are equal up to rounding, or any is null."""
    center, least, greatest = float(values.mean()), float(values.min()), float(values.max())
    # Deviations in units of the largest one, because fourth powers of very large or small values overflow or vanish.
    farthest = max(greatest - center, center - least)
    if not farthest > 1e-14 * max(abs(least), abs(greatest)):
        return None
    powers = np.zeros(3)
    for start in range(0, values.size, _PIECE):
        deviations = (values[start : start + _PIECE] - center) / farthest
        squares = deviations * deviations
        powers += squares.sum(), squares @ deviations, squares @ squares
    second, third, fourth = powers / values.size
    return farthest * sqrt(second), float(third / second**1.5), float(fourth / (second * second))


def closed_form(
    values: FloatArray, level: float, kind: Literal["percentile", "basic", "bca"]
) -> tuple[float, float] | None:
    """Return the interval of a plain mean that infinitely many replicates would give, from four moments.

    The mean of n drawn values has skewness γ₁/√n and excess kurtosis γ₂/n, so its quantiles follow from Cornish and Fisher's
    expansion, and for a mean z₀ = a = γ₁/(6√n). The error is smaller than the Monte Carlo error of 10,000 replicates, which
    would take seconds for a hundred thousand values.

    Parameters
    ----------
    values
        Float (n,): one value per independent unit of equal weight.
    level
        Nominal coverage.
    kind
        ``"percentile"``, ``"basic"`` or ``"bca"``.

    Returns
    -------
    tuple or None
        (low, high); None unless n >= 1000, |γ₁|/√n <= 0.25 and the values differ. Then replicates have to be drawn.

    References
    ----------
    Efron (1987), doi:10.1080/01621459.1987.10478410; Cornish & Fisher (1938), doi:10.2307/1400905.

    Examples
    --------
    >>> low, high = closed_form(np.linspace(0.0, 1.0, 2000), 0.95, "bca")
    >>> round(low, 4), round(high, 4)
    (0.4873, 0.5127)
    """
    n = values.size
    shape = _shape(values) if n >= FEWEST_FOR_CLOSED_FORM else None
    if shape is None or abs(shape[1]) > _MOST_SKEW * sqrt(n):
        return None
    deviation, skewness, kurtosis = shape
    sixth, excess = skewness / (6 * sqrt(n)), (kurtosis - 3) / (24 * n)
    z = scipy.special.ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    if kind == "bca":
        # Efron's adjusted levels with z₀ = a = sixth, as normal quantiles.
        z = sixth + (sixth + z) / (1 - sixth * (sixth + z))
    square = z * z
    quantiles = z + sixth * (square - 1) + z * (excess * (square - 3) - sixth * sixth * (2 * square - 5))
    low, high = (deviation / sqrt(n) * quantiles).tolist()
    center = float(values.mean())
    return (center - high, center - low) if kind == "basic" else (center + low, center + high)


def bca_interval(
    replicates: FloatArray, estimate: float, a: float | None, level: float
) -> tuple[float | None, float | None]:
    """Return the bias-corrected and accelerated (BCa) interval.

    With z₀ = Φ⁻¹(share of replicates below the estimate, ties counting half), the ends are the quantiles of the replicates at
    Φ(z₀ + (z₀ ± z)/(1 - a(z₀ ± z))).

    Parameters
    ----------
    replicates
        Float (resamples,); nulls are dropped.
    estimate
        Value of the statistic on the original data.
    a
        Acceleration of the estimate, from `acceleration`.
    level
        Nominal coverage.

    Returns
    -------
    tuple
        (low, high); (None, None) if `bca_flaw` returns a reason.

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
    """Return the reason why the BCa interval is undefined, or None.

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
    """Return the two adjusted quantile levels, or the reason why they are undefined."""
    if flaw := null_flaw(replicates):
        return flaw
    bias = _bias(replicates[~np.isnan(replicates)], estimate)
    if not np.isfinite(bias):
        return "all bootstrap replicates lie on one side of the estimate"
    if a is None:
        return "leaving out any one cluster changes nothing"
    return adjusted_levels(bias, a, level)


def adjusted_levels(bias: float, acceleration: float, level: float) -> tuple[float, float] | str:
    """Return Efron's two quantile levels Φ(z₀ + (z₀ ± z)/(1 - a(z₀ ± z))), or the reason why they are undefined.

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
    # The estimate is the Φ(z₀) quantile of the replicates: levels that do not enclose it would exclude the estimate itself.
    return (
        (float(low), float(high)) if low < scipy.special.ndtr(bias) < high else "the bias is too large for this level"
    )


def _bias(replicates: FloatArray, estimate: float) -> float:
    """Return Efron's bias correction z₀.

    Replicates within 10⁻⁴ standard deviations of the estimate count as ties: equal sums of lattice values differ by less
    after rounding.
    """
    tolerance = 1e-4 * replicates.std()
    below = np.count_nonzero(replicates < estimate - tolerance)
    above = np.count_nonzero(replicates > estimate + tolerance)
    return float(scipy.special.ndtri((below + (replicates.size - below - above) / 2) / replicates.size))


def _ends(replicates: FloatArray, lower: float, upper: float) -> tuple[float | None, float | None]:
    low, high = np.nanquantile(replicates, [lower, upper])
    return (float(low), float(high)) if low < high else (None, None)
