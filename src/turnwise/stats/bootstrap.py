"""Bootstrap replicates of ratios over clusters, as one product of count matrices, and the intervals read from them."""

from collections.abc import Callable
from math import sqrt

import numpy as np
from scipy import special

from turnwise.stats.estimate import FloatArray, IntArray
from turnwise.stats.multinomial import counts
from turnwise.stats.threads import one_thread

__all__ = [
    "BLOCK",
    "MOST_NULL",
    "adjusted_levels",
    "basic_interval",
    "bca_flaw",
    "bca_interval",
    "count_sums",
    "counts",
    "function_replicates",
    "jackknife_ratio",
    "null_flaw",
    "percentile_interval",
    "ratio_replicates",
    "studentized_interval",
]

MOST_NULL = 0.05
"""The largest share of null replicates (no weight drawn at all) from which an interval is still read."""

BLOCK = 1 << 16
"""Counts drawn at a time: so many of them stay in the cache."""

_PIECE = 1 << 10
"""Clusters rounded at a time."""

_LONG = 1 << 16
"""Above so many clusters they are drawn by stretches."""


def _columns(x: FloatArray) -> FloatArray:
    given = np.asarray(x, dtype=np.float64)
    return given[:, None] if given.ndim == 1 else given


def _centered(sums: FloatArray, weights: FloatArray, out: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """The ratios (M,) and what each cluster's sum lies away from them (G, M), in `out`; NaN in a column without weight.

    Weights may be (1, M) where they are the same for all clusters, which saves a table of their size.
    """
    mass = _total(weights) * (len(sums) / len(weights))
    total = np.where(mass > 0, mass, np.nan)
    ratio = _total(sums) / total
    residuals = np.subtract(sums, ratio * weights, out=out)
    # A second pass: the first ratio carries the rounding of its long sums.
    correction = _total(residuals) / total
    residuals -= correction * weights
    return ratio + correction, residuals


def _total(columns: FloatArray) -> FloatArray:
    """Column sums, each added in the same order whatever columns stand beside it."""
    # NumPy adds a lone column in another order than one of several, so it is shown twice.
    width = columns.shape[1]
    return np.asarray(np.broadcast_to(columns, (len(columns), max(2, width))).sum(axis=0)[:width])


def ratio_replicates(
    sums: FloatArray,
    weights: FloatArray,
    *,
    rng: np.random.Generator,
    resamples: int,
    block: int = BLOCK,
    overwrite_sums: bool = False,
) -> FloatArray:
    """Bootstrap replicates of Σ sums / Σ weights over clusters drawn with replacement, for all columns by the same draws.

    Counts times cluster sums is one matrix product per block. The sums are centered first (sums - R·weights) and R is added
    back, so that an offset costs no digits. Sums of counts are those of `count_sums`, exact in whole numbers, so the
    replicates are the same bytes whatever the number of threads and the order in which a BLAS adds.

    Parameters
    ----------
    sums, weights
        Float (G,) or (G, M): each cluster's Σwy and Σw, in M columns over the same clusters (metrics, turns, groups).
    rng
        Generator; the replicates depend on it, on G and on `block`, and on nothing else.
    resamples
        Replicates.
    block
        Counts drawn at a time.
    overwrite_sums
        Whether the sums may be lost, which saves a table of their size.

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
    width, same = totals.shape[1], bool(np.all(mass == mass[0]))
    ratio, residuals = _centered(totals, mass[:1] if same else mass, totals if overwrite_sums else None)
    if np.isnan(ratio).any():
        residuals[:, np.isnan(ratio)] = 0.0  # a column without weight is null in every replicate
    if same:  # every draw weighs the same, so that only sums have to be drawn
        total = np.where(mass[0] > 0, mass[0] * len(mass), np.nan)
        made = _sums(residuals, rng, resamples, None, block)
        made /= total
        made += ratio
        return made
    if np.all(mass == mass[:, :1]):
        mass = mass[:, :1]
    product = _sums(np.concatenate([residuals, mass], axis=1), rng, resamples, None, block)
    drawn = product[:, width:]
    empty = drawn <= 0.5 * mass.min(axis=0, where=mass > 0, initial=np.inf)
    drawn[empty] = np.nan
    return np.asarray(ratio + product[:, :width] / drawn)


def count_sums(
    columns: FloatArray,
    *,
    rng: np.random.Generator,
    resamples: int,
    strata: IntArray | None = None,
    block: int = BLOCK,
) -> FloatArray:
    """Column sums over clusters drawn with replacement: float64 (resamples, K) of columns (G, K).

    Every column is rounded to whole multiples of a power of two so small that sums of counts times such numbers stay below
    2⁵³: they are exact, whatever the order in which a BLAS adds. With 1000 clusters that is 2⁻⁴¹ of the column's largest.

    Parameters
    ----------
    columns
        Float (G, K).
    rng, resamples, block
        As for `ratio_replicates`. Memory is that of the replicates, of the rounded columns and of one block of counts,
        whatever `resamples` is.
    strata
        Integer (G,): clusters are drawn within each stratum, as many as it has; None for one stratum.

    Examples
    --------
    >>> drawn = count_sums(np.ones((50, 1)), rng=np.random.default_rng(0), resamples=3)
    >>> drawn[:, 0].tolist()
    [50.0, 50.0, 50.0]
    """
    return _sums(np.array(columns, dtype=np.float64), rng, resamples, strata, block)


def _sums(
    columns: FloatArray, rng: np.random.Generator, resamples: int, strata: IntArray | None, block: int
) -> FloatArray:
    """As `count_sums`, which rounds the columns in place."""
    unit = _round(columns)
    parts = [columns] if strata is None else [columns[strata == s] for s in np.unique(strata)]
    made = np.empty((resamples, columns.shape[1]))
    rows = max(1, block // max(1, len(columns)))
    with one_thread():
        for start in range(0, resamples, rows):
            here = made[start : start + rows]
            _add_up(parts[0], rng, here)
            for part in parts[1:]:
                here += _add_up(part, rng, np.empty_like(here))
            here *= unit
    return made


def _round(columns: FloatArray) -> FloatArray:
    """Columns become whole multiples of a power of two, in place; the powers (K,)."""
    clusters = max(2, len(columns))
    largest = np.maximum(columns.max(axis=0, initial=0.0), -columns.min(axis=0, initial=0.0))
    bits = 52 - int(np.ceil(np.log2(clusters)))
    unit = np.ldexp(1.0, np.maximum(np.frexp(largest)[1] - bits, -1021))
    for start in range(0, clusters, _PIECE):  # pieces that stay in the cache
        piece = columns[start : start + _PIECE]
        piece /= unit
        np.rint(piece, out=piece)
    return np.asarray(unit)


def _add_up(whole: FloatArray, rng: np.random.Generator, out: FloatArray) -> FloatArray:
    """Sums (B, K) of whole numbers (G, K) over G clusters drawn with replacement, exactly, into `out`."""
    if len(whole) <= _LONG:
        return np.matmul(counts(rng, len(out), len(whole)), whole, out=out)
    # How many draws fall on each stretch is multinomial as well: no more counts than a stretch has are held at a time.
    stretches = np.array_split(whole, -(-len(whole) // _LONG))
    sizes = np.array([len(stretch) for stretch in stretches])
    many = rng.multinomial(len(whole), sizes / len(whole), size=len(out))
    out[:] = 0.0
    for stretch, draws in zip(stretches, many.T, strict=True):
        out += counts(rng, len(out), len(stretch), draws) @ stretch
    return out


def function_replicates(
    sums: FloatArray,
    function: Callable[[FloatArray], FloatArray],
    *,
    rng: np.random.Generator,
    resamples: int,
    block: int = BLOCK,
) -> FloatArray:
    """Bootstrap replicates of any function of totals over clusters drawn with replacement.

    As in `ratio_replicates`, one matrix product per block, of columns rounded as in `count_sums`, and so the same bytes on
    any number of threads. The same generator draws the same clusters there and here.

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
    whole = _columns(sums).copy()
    unit = _round(whole)
    made = np.empty(resamples)
    rows = max(1, block // len(whole))
    with one_thread():
        for start in range(0, resamples, rows):
            here = made[start : start + rows]
            here[:] = function(_add_up(whole, rng, np.empty((here.size, whole.shape[1]))) * unit)
    return made


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
    np.divide(residuals, left, out=residuals, where=left > 0)
    residuals[left <= 0] = np.nan
    return np.subtract(ratio, residuals, out=residuals).reshape(np.shape(sums))


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
    mass, (ratio, residuals) = weights, _centered(sums[:, None], weights[:, None])
    moved, spread = residuals[:, 0], max(float(np.abs(residuals).max()), np.finfo(float).tiny)
    moved = moved / spread
    heavy = mass / mass.max()
    own = np.stack([moved, heavy, moved * moved, moved * heavy, heavy * heavy], axis=1)
    total, drawn, squares, products, masses = count_sums(own, rng=rng, resamples=resamples).T
    away = np.divide(total, drawn, out=np.full(resamples, np.nan), where=drawn > 0)
    variance = squares - 2 * away * products + away * away * masses
    # A replicate of one cluster has variance 0 but for the rounding of the sums.
    own_variance = float((moved * moved).sum())
    flat = ~(variance > 1e-6 * own_variance / mass.size)
    pivots = np.where(flat, np.nan, away * drawn / np.sqrt(np.where(flat, 1.0, variance)))
    if np.isnan(pivots).mean() > MOST_NULL:
        return None, None, f"{np.isnan(pivots).mean():.0%} of the bootstrap replicates have no standard error"
    upper, lower = np.nanquantile(pivots, [(1 + level) / 2, (1 - level) / 2])
    error = np.sqrt(own_variance) / heavy.sum() * spread / mass.max()
    low, high = float(ratio[0] - upper * error), float(ratio[0] - lower * error)
    return (low, high, None) if low < high else (None, None, "the bootstrap interval has no width")


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
    return adjusted_levels(bias, acceleration, level)


def adjusted_levels(bias: float, acceleration: float, level: float) -> tuple[float, float] | str:
    """Efron's two quantile levels Φ(z₀ + (z₀ ± z)/(1 - a(z₀ ± z))), or why there are none.

    Examples
    --------
    >>> low, high = adjusted_levels(0.0, 0.0, 0.9)
    >>> round(low, 3), round(high, 3)
    (0.05, 0.95)
    """
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
    squares = float(np.einsum("i,i->", moved, moved))
    largest = max(abs(jackknife.min()), abs(jackknife.max()))
    if not squares > (1e-14 * largest) ** 2 * jackknife.size:
        return None
    moved /= sqrt(squares)
    return float(np.einsum("i,i,i->", moved, moved, moved) / 6)


def _ends(replicates: FloatArray, lower: float, upper: float) -> tuple[float | None, float | None]:
    low, high = np.nanquantile(replicates, [lower, upper])
    return (float(low), float(high)) if low < high else (None, None)
