"""Bootstrap replicates of sums and ratios over clusters, computed as matrix products of counts and cluster sums."""

import numpy as np
from numpy.typing import DTypeLike

from turnwise.errors import ArgumentError
from turnwise.stats.blocks import blocks
from turnwise.stats.estimate import FloatArray, IntArray
from turnwise.stats.multinomial import counts
from turnwise.stats.threads import one_thread

BLOCK = 3 << 15
"""Counts drawn at a time, few enough to stay in the cache."""

_WIDE = 128
"""From this number of columns on, one product of four blocks of counts is faster than four products."""

_ORDERS = 8
"""Number of orders in which a row of counts is reused, since drawing counts costs more than multiplying a few columns."""

_FEWEST, _MOST = 32, 1 << 13
"""Range of clusters in which rows are reused: with fewer, rows are too uneven; with more, drawing is faster than permuting."""

_SIDE_BY_SIDE = 1 << 19
"""Up to this many values over all orders, the clusters are permuted; above, the counts are."""

_PIECE = 1 << 16
"""Values rounded at a time."""

_ABREAST = 8
"""Rows reduced side by side, because NumPy takes three times as long for narrow rows."""

_LONG = 1 << 16
"""Above this number of clusters, counts are drawn in stretches."""

_SINGLE = 1 << 12
"""Most clusters for float32, where sums leave at least 11 bits to each value."""


def _columns(x: FloatArray) -> FloatArray:
    values = np.asarray(x, dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values


def centered(sums: FloatArray, weights: FloatArray, out: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the ratios (M,) and the residuals of the cluster sums (G, M), in `out`; NaN in a column without weight.

    Weights that are the same for all clusters may be passed as (1, M), which saves memory.
    """
    mass = _total(weights) * (len(sums) / len(weights))
    total = np.where(mass > 0, mass, np.nan)
    ratio = _total(sums) / total
    residuals = np.subtract(sums, ratio * weights, out=out)
    # A second pass removes the rounding error of the first long sums.
    correction = _total(residuals) / total
    residuals -= correction * weights
    return ratio + correction, residuals


def _total(columns: FloatArray) -> FloatArray:
    """Return column sums whose order of addition does not depend on the other columns."""
    rows, width = columns.shape
    if rows >= 2 * _ABREAST:
        wide, remainder = _abreast(columns)
        columns = np.concatenate([wide.sum(axis=0).reshape(_ABREAST, width), remainder])
    # NumPy adds a single column in a different order than one of several, so a single column is duplicated.
    return np.asarray(np.broadcast_to(columns, (len(columns), max(2, width))).sum(axis=0)[:width])


def _abreast(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Reshape rows side by side and return the remaining rows; for noncontiguous data all rows remain."""
    rows, width = columns.shape
    even = rows - rows % _ABREAST if columns.flags.c_contiguous else 0
    return columns[:even].reshape(even // _ABREAST, _ABREAST * width), columns[even:]


def ratio_replicates(
    sums: FloatArray,
    weights: FloatArray,
    *,
    rng: np.random.Generator,
    resamples: int,
    block: int = BLOCK,
    overwrite_sums: bool = False,
) -> FloatArray:
    """Draw bootstrap replicates of Σ sums / Σ weights over clusters, with the same draws for all columns.

    Counts times cluster sums is one matrix product per block. The sums are centered first (sums - R·weights) and R is added
    back, so an offset costs no digits. The products are computed by `count_sums`, exactly in integers; the replicates are
    therefore identical bytes for any number of threads and any order of addition in the BLAS. From 32 clusters on, a row of
    counts is used for eight replicates in eight orders: each is a draw with replacement, and any two are uncorrelated.

    Parameters
    ----------
    sums, weights
        Float (G,) or (G, M): each cluster's Σwy and Σw, in M columns over the same clusters (metrics, turns, groups).
    rng
        Random generator; the draws depend only on it, on G and on `block`.
    resamples
        Number of replicates.
    block
        Number of counts drawn at a time.
    overwrite_sums
        If True, `sums` may be overwritten, which saves memory.

    Returns
    -------
    ndarray
        float64 (resamples, M), M = 1 for vectors. NaN where a replicate drew no weight; the intervals drop those.

    References
    ----------
    Davison & Hinkley (1997), section 3.8, doi:10.1017/CBO9780511802843; Field & Welsh (2007),
    doi:10.1111/j.1467-9868.2007.00593.x.

    Examples
    --------
    >>> drawn = ratio_replicates(np.arange(40.0), np.ones(40), rng=np.random.default_rng(0), resamples=9000)
    >>> drawn.shape, round(float(drawn.mean()), 1)
    ((9000, 1), 19.5)
    """
    totals, mass = _columns(sums), _columns(weights)
    width, same = totals.shape[1], bool(np.all(mass == mass[0]))
    ratio, residuals = centered(totals, mass[:1] if same else mass, totals if overwrite_sums else None)
    if np.isnan(ratio).any():
        residuals[:, np.isnan(ratio)] = 0.0  # a column without weight is null in every replicate
    if same:  # every replicate has the same total weight, so only the sums have to be drawn
        total = np.where(mass[0] > 0, mass[0] * len(mass), np.nan)
        replicates = _sums(residuals, rng, resamples, None, block)
        replicates /= total
        replicates += ratio
        return replicates
    if np.all(mass == mass[:, :1]):
        mass = mass[:, :1]
    product = _sums(np.concatenate([residuals, mass], axis=1), rng, resamples, None, block)
    drawn_mass = product[:, width:]
    empty = drawn_mass <= 0.5 * mass.min(axis=0, where=mass > 0, initial=np.inf)
    drawn_mass[empty] = np.nan
    replicates = product[:, :width]
    replicates /= drawn_mass
    replicates += ratio
    return replicates


def count_sums(
    columns: FloatArray,
    *,
    rng: np.random.Generator,
    resamples: int,
    strata: IntArray | None = None,
    block: int = BLOCK,
    dtype: DTypeLike = np.float64,
) -> FloatArray:
    """Sum columns over clusters drawn with replacement: float (resamples, K) for columns (G, K).

    Every column is rounded to integer multiples of a power of two, small enough that sums of counts times these integers stay
    below 2⁵³. The sums are then exact for any order of addition in the BLAS. With 1000 clusters the rounding unit is 2⁻⁴¹ of
    the largest value of the column.

    With thousands of columns the product runs at full machine speed, which float32 doubles at half the memory. Sums then stay
    below 2²⁴, so 1000 values are rounded to 2⁻¹³ of the largest. This changes centered sums by about 10⁻⁴ to 10⁻³ of their
    standard deviation, far less than the Monte Carlo error of a thousand replicates, and keeps their mean. Sums of integers
    that fit are not changed.

    Parameters
    ----------
    columns
        Float (G, K).
    rng, resamples, block
        See `ratio_replicates`. Apart from the result, memory holds the rounded columns, 4 MB of them in other orders, and one
        block of counts.
    strata
        Integer (G,): clusters are drawn within each stratum, as many as it has; None for one stratum.
    dtype
        Dtype of the sums: float64, or float32 for up to 4096 clusters.

    Raises
    ------
    ArgumentError
        For more clusters in float32, or for any other dtype.

    Examples
    --------
    >>> drawn = count_sums(np.ones((50, 1)), rng=np.random.default_rng(0), resamples=3)
    >>> drawn[:, 0].tolist()
    [50.0, 50.0, 50.0]
    """
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ArgumentError(f"count_sums: dtype={kind} cannot hold the sums; use float64 or float32")
    if not np.size(columns):
        return np.zeros((resamples, np.shape(columns)[1]), kind)
    if kind == np.float64:
        return _sums(np.array(columns, dtype=np.float64, order="C"), rng, resamples, strata, block)
    if len(columns) > _SINGLE:
        raise ArgumentError(
            f"float32 is too coarse for sums over {len(columns):,} clusters (at most {_SINGLE:,}); use float64"
        )
    rounded = np.empty(np.shape(columns), kind)
    return _sums(np.ascontiguousarray(columns, dtype=np.float64), rng, resamples, strata, block, rounded)


def _sums(
    exact_columns: FloatArray,
    rng: np.random.Generator,
    resamples: int,
    strata: IntArray | None,
    block: int,
    rounded: FloatArray | None = None,
) -> FloatArray:
    """Implement `count_sums`: round the columns into `rounded`, or in place if it is None, and sum the draws."""
    columns = exact_columns if rounded is None else rounded
    unit, lost = _round(exact_columns, columns)
    parts = [columns] if strata is None else [columns[strata == s] for s in np.unique(strata)]
    rows = max(1, block // max(1, len(columns)))
    with one_thread():
        sums = _add_up(parts[0], rng, rows, resamples)
        for part in parts[1:]:
            sums += _add_up(part, rng, rows, resamples)
    sums *= unit
    if lost.any():
        sums += lost
    return sums


def _round(columns: FloatArray, rounded: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Round columns to integer multiples of a power of two, written to `rounded`; return the units and the total loss, (K,)."""
    clusters = max(2, len(columns))
    bits = np.finfo(rounded.dtype).nmant - int(np.ceil(np.log2(clusters)))
    exponent = np.maximum(np.frexp(_largest(columns))[1] - bits, np.finfo(rounded.dtype).minexp + 1)
    unit = np.ldexp(1.0, exponent).astype(rounded.dtype)
    total, rounded_total = np.zeros((2, columns.shape[1]))
    rows = _PIECE // max(1, columns.shape[1]) + 1  # pieces fit in the cache
    for start in range(0, clusters, rows):
        piece, source = rounded[start : start + rows], columns[start : start + rows]
        if rounded is not columns:  # with few bits, rounding has a systematic part that is added back
            total += source.sum(axis=0)
            np.copyto(piece, source, casting="same_kind")
        piece /= unit
        np.rint(piece, out=piece)
        if rounded is not columns:
            rounded_total += piece.sum(axis=0)
    return np.asarray(unit), np.asarray(total - rounded_total * unit).astype(rounded.dtype)


def _largest(columns: FloatArray) -> FloatArray:
    """Return the largest absolute value of each column."""
    wide, remainder = _abreast(columns)
    ends = [wide.max(axis=0, initial=0.0), -wide.min(axis=0, initial=0.0)]
    ends += [remainder.max(axis=0, initial=0.0), -remainder.min(axis=0, initial=0.0)]
    return np.asarray(np.concatenate(ends).reshape(2 * _ABREAST + 2, columns.shape[1]).max(axis=0))


def _add_up(rounded: FloatArray, rng: np.random.Generator, rows: int, resamples: int) -> FloatArray:
    """Sum integers (G, K) exactly over G clusters drawn with replacement: (B, K), `rows` rows of counts at a time.

    Multinomial counts stay multinomial under any permutation of the clusters. Each row of counts therefore serves `_ORDERS`
    replicates, in orders that are the same for all rows. Two replicates of one row are uncorrelated, because the second
    assigns each cluster a random one of the counts; they share only how uneven the counts are. The ends of a 95 % interval
    become as uncertain as with a fraction 1.9/G fewer replicates.
    """
    clusters, columns = rounded.shape
    if clusters > _LONG:
        return _add_up_stretches(rounded, rng, np.empty((resamples, columns)))
    orders = np.arange(clusters)[None]
    if _FEWEST <= clusters <= _MOST:
        orders = np.concatenate([orders, [rng.permutation(clusters) for _ in range(_ORDERS - 1)]])
    n_rows = -(-resamples // len(orders))
    sums = np.empty((n_rows, len(orders), columns), rounded.dtype)
    deal_counts = orders.size * columns > _SIDE_BY_SIDE and len(orders) > 1
    inverse_orders = np.argsort(orders, axis=1) if deal_counts else slice(None)
    wide = rounded if deal_counts or len(orders) == 1 else np.take(rounded, orders.T, axis=0).reshape(clusters, -1)
    together = 2 if deal_counts else 4 if wide.shape[1] >= _WIDE else 1  # a permuted block counts as eight already
    start = 0
    for block in blocks(rng, n_rows, clusters, rows=rows, together=together, dtype=rounded.dtype):
        part = sums[start : start + len(block)]
        np.matmul(block[:, inverse_orders].reshape(-1, clusters), wide, out=part.reshape(-1, wide.shape[1]))
        start += len(block)
    return sums.reshape(-1, columns)[:resamples]


def _add_up_stretches(rounded: FloatArray, rng: np.random.Generator, out: FloatArray) -> FloatArray:
    """Sum over very many clusters in stretches: the draws per stretch are multinomial too, and are drawn first."""
    stretches = np.array_split(rounded, -(-len(rounded) // _LONG))
    sizes = np.array([len(stretch) for stretch in stretches])
    draws_per_stretch = rng.multinomial(len(rounded), sizes / len(rounded), size=len(out))
    for row, draws in enumerate(draws_per_stretch):
        sums = (counts(rng, 1, len(part), draws[[at]]) @ part for at, part in enumerate(stretches))
        out[row] = sum(sums)
    return out


def jackknife_ratio(sums: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the ratio Σ sums / Σ weights with each cluster left out in turn: float, shaped like `sums`, (G,) or (G, M).

    NaN if the omitted cluster has all the weight.

    Examples
    --------
    >>> jackknife_ratio(np.array([1.0, 2.0, 6.0]), np.ones(3)).tolist()
    [4.0, 3.5, 1.5]
    """
    totals, mass = _columns(sums), _columns(weights)
    ratio, residuals = centered(totals, mass)
    mass_without = mass.sum(axis=0) - mass
    np.divide(residuals, mass_without, out=residuals, where=mass_without > 0)
    residuals[mass_without <= 0] = np.nan
    return np.subtract(ratio, residuals, out=residuals).reshape(np.shape(sums))
