"""Bootstrap replicates of ratios over clusters, as one product of count matrices, and the intervals read from them."""

from collections.abc import Callable
from math import sqrt

import numpy as np
from scipy import special

from turnwise.stats.estimate import FloatArray
from turnwise.stats.multinomial import counts

__all__ = [
    "MOST_NULL",
    "basic_interval",
    "bca_flaw",
    "bca_interval",
    "closed_form_bca",
    "counts",
    "function_replicates",
    "jackknife_ratio",
    "null_flaw",
    "percentile_interval",
    "ratio_replicates",
]

MOST_NULL = 0.05
"""The largest share of null replicates (no weight drawn at all) from which an interval is still read."""


def _columns(x: FloatArray) -> FloatArray:
    given = np.asarray(x, dtype=np.float64)
    return given[:, None] if given.ndim == 1 else given


def _centered(sums: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The ratios (M,) and what each cluster's sum lies away from them (G, M); NaN in a column without weight."""
    total = np.where((mass := weights.sum(axis=0)) > 0, mass, np.nan)
    ratio = sums.sum(axis=0) / total
    residuals = sums - ratio * weights
    # A second pass: the first ratio carries the rounding of its long sums.
    correction = residuals.sum(axis=0) / total
    return ratio + correction, residuals - correction * weights


def ratio_replicates(
    sums: FloatArray, weights: FloatArray, *, rng: np.random.Generator, resamples: int, block: int = 1 << 17
) -> FloatArray:
    """Bootstrap replicates of Σ sums / Σ weights over clusters drawn with replacement, for all columns by the same draws.

    Counts times cluster sums is one matrix product per block. The sums are centered first (sums - R·weights) and R is added
    back, so that an offset costs no digits. Both halves are then rounded to whole multiples of 2⁻²⁸ of their largest entry:
    products and sums of whole numbers below 2⁵³ are exact in float64, so the replicates are the same bytes whatever the
    number of threads and the order in which a BLAS adds, for an error far below that of resampling.

    Parameters
    ----------
    sums, weights
        Float (G,) or (G, M): each cluster's Σwy and Σw, in M columns over the same clusters (metrics, turns, groups).
    rng
        Generator; the replicates depend on it, on G and on `block`, and on nothing else.
    resamples
        Replicates.
    block
        Counts drawn at a time: 2¹⁷ of them stay in the cache.

    Returns
    -------
    ndarray
        float64 (resamples, M), M = 1 for vectors. NaN where a replicate drew no weight; the intervals below drop those.

    References
    ----------
    Davison & Hinkley (1997), section 3.8, doi:10.1017/CBO9780511802843; Field & Welsh (2007),
    doi:10.1111/j.1467-9868.2007.00593.x.

    Examples
    --------
    >>> drawn = ratio_replicates(np.arange(40.0), np.ones(40), rng=np.random.default_rng(0), resamples=2000)
    >>> drawn.shape, round(float(drawn.mean()), 1)
    ((2000, 1), 19.5)
    """
    totals, mass = _columns(sums), _columns(weights)
    clusters, width = totals.shape
    ratio, residuals = _centered(totals, mass)
    spread, heaviest = np.abs(residuals).max(axis=0), mass.max(axis=0)
    # 28 bits: coarse enough that a last bit of the sums does not show, fine enough for 10⁻⁸ of a standard error.
    fine = 2.0 ** (52 - max(24, clusters.bit_length()))
    halves = [
        np.divide(x, unit, out=np.zeros_like(x), where=unit > 0) for x, unit in ((residuals, spread), (mass, heaviest))
    ]
    stacked = np.rint(np.concatenate(halves, axis=1) * fine)
    product = np.empty((resamples, 2 * width))
    rows = max(1, block // clusters)
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        product[start:stop] = counts(rng, stop - start, clusters).astype(np.float64) @ stacked
    drawn = product[:, width:]
    moved = np.divide(product[:, :width], drawn, out=np.full((resamples, width), np.nan), where=drawn > 0)
    return np.asarray(ratio + moved * (spread / heaviest))


def function_replicates(
    sums: FloatArray,
    function: Callable[[FloatArray], FloatArray],
    *,
    rng: np.random.Generator,
    resamples: int,
    block: int = 1 << 17,
) -> FloatArray:
    """Bootstrap replicates of any function of totals over clusters drawn with replacement.

    As in `ratio_replicates`, one matrix product per block, of numbers rounded to whole multiples of a power of two (2⁻²⁸ of
    the largest entry of a column, so that counts stay exact), and so the same bytes on any number of threads. The same
    generator draws the same clusters there and here.

    Parameters
    ----------
    sums
        Float (G, M): each cluster's sums, in M columns.
    function
        From totals (B, M) to values (B,), NaN where undefined.
    rng, resamples, block
        As there.

    Returns
    -------
    ndarray
        float64 (resamples,).

    Examples
    --------
    >>> sums = np.array([[1.0, 2.0], [0.0, 2.0], [2.0, 2.0]])
    >>> drawn = function_replicates(sums, lambda t: t[:, 0] / t[:, 1], rng=np.random.default_rng(0), resamples=2000)
    >>> round(float(drawn.mean()), 1)
    0.5
    """
    totals = _columns(sums)
    clusters = len(totals)
    largest = np.abs(totals).max(axis=0)
    unit = 2.0 ** (np.ceil(np.log2(np.where(largest > 0, largest, 1.0))) - 28)
    whole = np.rint(totals / unit)
    out = np.empty(resamples)
    rows = max(1, block // clusters)
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        out[start:stop] = function(counts(rng, stop - start, clusters).astype(np.float64) @ whole * unit)
    return out


def jackknife_ratio(sums: FloatArray, weights: FloatArray) -> FloatArray:
    """The ratio Σ sums / Σ weights with each cluster left out in turn: float of the shape of `sums`, (G,) or (G, M).

    NaN where the cluster left out held all the weight.

    Examples
    --------
    >>> jackknife_ratio(np.array([1.0, 2.0, 6.0]), np.ones(3)).tolist()
    [4.0, 3.5, 1.5]
    """
    totals, mass = _columns(sums), _columns(weights)
    ratio, residuals = _centered(totals, mass)
    left = mass.sum(axis=0) - mass
    out = ratio - np.divide(residuals, left, out=np.full(left.shape, np.nan), where=left > 0)
    return np.asarray(out.reshape(np.shape(sums)))


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


def bca_interval(
    replicates: FloatArray, estimate: float, jackknife: FloatArray, level: float
) -> tuple[float | None, float | None]:
    """Ends of the bias-corrected and accelerated interval.

    z₀ = Φ⁻¹(share of replicates below the estimate, ties counting half), a = Σ(θ̄ - θ₍₋g₎)³ / (6·(Σ(θ̄ - θ₍₋g₎)²)^1.5) from the
    delete-one-*cluster* jackknife, and the ends are the quantiles Φ(z₀ + (z₀ ± z)/(1 - a(z₀ ± z))) of the replicates.

    Parameters
    ----------
    replicates
        Float (resamples,); null ones are dropped.
    estimate
        The value on the data themselves.
    jackknife
        Float (G,), from `jackknife_ratio`.
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
    >>> low, high = bca_interval(replicates, 0.0, np.array([-1.0, 0.0, 1.0]), 0.9)
    >>> round(low, 2), round(high, 2)
    (-0.9, 0.9)
    """
    levels = _bca_levels(replicates, estimate, jackknife, level)
    return (None, None) if isinstance(levels, str) else _ends(replicates, *levels)


def bca_flaw(replicates: FloatArray, estimate: float, jackknife: FloatArray, level: float) -> str | None:
    """Why BCa is undefined here; None where it is defined.

    Examples
    --------
    >>> bca_flaw(np.array([1.0, 2.0]), 0.0, np.array([0.0, 1.0]), 0.95)
    'all bootstrap replicates lie on one side of the estimate'
    """
    levels = _bca_levels(replicates, estimate, jackknife, level)
    if isinstance(levels, str):
        return levels
    return "the bootstrap interval has no width" if _ends(replicates, *levels) == (None, None) else None


def _bca_levels(
    replicates: FloatArray, estimate: float, jackknife: FloatArray, level: float
) -> tuple[float, float] | str:
    """The two adjusted quantile levels, or why there are none."""
    if flaw := null_flaw(replicates):
        return flaw
    bias = _bias(replicates[~np.isnan(replicates)], estimate)
    if not np.isfinite(bias):
        return "all bootstrap replicates lie on one side of the estimate"
    acceleration = _acceleration(jackknife)
    if acceleration is None:
        return "leaving out any one cluster changes nothing"
    moved = bias + special.ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    bend = 1 - acceleration * moved
    if bend.min() <= 0:
        return "the acceleration is too large for this level"
    low, high = special.ndtr(bias + moved / bend)
    # The estimate itself sits at Φ(z₀) of the replicates; an interval that leaves it out is a sign of failure.
    return (float(low), float(high)) if low < special.ndtr(bias) < high else "the bias is too large for this level"


def _bias(replicates: FloatArray, estimate: float) -> float:
    """Efron's z₀. Replicates within 10⁻⁴ standard deviations count as ties: rounded sums of a lattice scatter by less."""
    near = 1e-4 * replicates.std()
    below = np.count_nonzero(replicates < estimate - near)
    above = np.count_nonzero(replicates > estimate + near)
    return float(special.ndtri((below + (replicates.size - below - above) / 2) / replicates.size))


def _acceleration(jackknife: FloatArray) -> float | None:
    """Efron's a, a sixth of the skewness of the jackknife influences; None when they are all equal or any is null."""
    moved = jackknife.mean() - jackknife
    squares = float(np.square(moved).sum())
    if not squares > (1e-14 * np.abs(jackknife).max()) ** 2 * jackknife.size:
        return None
    moved /= sqrt(squares)
    return float((moved**3).sum() / 6)


def _ends(replicates: FloatArray, lower: float, upper: float) -> tuple[float | None, float | None]:
    low, high = np.nanquantile(replicates, [lower, upper])
    return (float(low), float(high)) if low < high else (None, None)


def closed_form_bca(values: FloatArray, level: float) -> tuple[float | None, float | None]:
    """Ends of the BCa interval of a plain mean with infinitely many replicates, from four moments.

    The bootstrap law of a mean of n independent units has skewness γ₁/√n and excess kurtosis γ₂/n, so its quantiles follow by
    Cornish and Fisher's expansion, and for a mean z₀ = a = γ₁/(6√n). No seed and no Monte Carlo error: nearer the ideal
    interval than 10,000 replicates where the condition below holds.

    Parameters
    ----------
    values
        Float (n,): one value per independent unit of equal weight.
    level
        Nominal coverage.

    Returns
    -------
    tuple
        (low, high); (None, None) unless n >= 1000, |γ₁|/√n <= 0.25 and the values differ.

    References
    ----------
    Efron (1987), doi:10.1080/01621459.1987.10478410; Cornish & Fisher (1938), doi:10.2307/1400905.

    Examples
    --------
    >>> low, high = closed_form_bca(np.linspace(0.0, 1.0, 2000), 0.95)
    >>> round(low, 4), round(high, 4)
    (0.4873, 0.5127)
    """
    n = values.size
    if n < 1000:  # resampling is cheap there, and four moments may be too few
        return None, None
    mean = values[0] + (values - values[0]).mean()
    moved = values - mean
    scale = float(np.abs(moved).max())
    if scale <= 1e-14 * float(np.abs(values).max()):
        return None, None
    moved /= scale
    squares = moved * moved
    variance = squares.mean()
    skew = float((squares * moved).mean() / variance**1.5) / sqrt(n)
    kurtosis = float((squares * squares).mean() / variance**2 - 3) / n
    if abs(skew) > 0.25:
        return None, None
    bias = skew / 6
    moved_by = bias + special.ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    z = bias + moved_by / (1 - bias * moved_by)
    fisher = z + skew * (z**2 - 1) / 6 + kurtosis * (z**3 - 3 * z) / 24 - skew**2 * (2 * z**3 - 5 * z) / 36
    low, high = mean + scale * sqrt(variance / n) * fisher
    return float(low), float(high)
