"""Bootstrap replicates of sums and ratios over clusters, many at a time, each a product of counts and sums."""

import numpy as np
from numpy.typing import DTypeLike

from turnwise.errors import ArgumentError
from turnwise.stats.blocks import blocks
from turnwise.stats.estimate import FloatArray, IntArray
from turnwise.stats.multinomial import counts
from turnwise.stats.threads import one_thread

BLOCK = 3 << 15
"""Counts drawn at a time: so many of them stay in the cache."""

_WIDE = 128
"""From so many columns on, a product of four blocks of counts is faster than four products."""

_ORDERS = 8
"""In how many orders counts are dealt to the clusters: drawing them costs more than their products with a few columns."""

_FEWEST, _MOST = 32, 1 << 13
"""Between so many clusters they are: among fewer, counts differ too much, and more are drawn faster than dealt."""

_SIDE_BY_SIDE = 1 << 19
"""Values of all orders up to which the clusters are put in order; above, the counts are."""

_PIECE = 1 << 16
"""Values rounded at a time."""

_ABREAST = 8
"""Rows reduced side by side: NumPy takes three times as long over narrow ones."""

_LONG = 1 << 16
"""Above so many clusters they are drawn by stretches."""

_SINGLE = 1 << 12
"""Clusters up to which sums in float32 leave 11 bits or more to each value."""


def _columns(x: FloatArray) -> FloatArray:
    values = np.asarray(x, dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values


def centered(sums: FloatArray, weights: FloatArray, out: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
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
    rows, width = columns.shape
    if rows >= 2 * _ABREAST:
        wide, remainder = _abreast(columns)
        columns = np.concatenate([wide.sum(axis=0).reshape(_ABREAST, width), remainder])
    # NumPy adds a lone column in another order than one of several, so it is shown twice.
    return np.asarray(np.broadcast_to(columns, (len(columns), max(2, width))).sum(axis=0)[:width])


def _abreast(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows side by side, and the few that are left; all are left where they do not lie in one piece."""
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
    """Bootstrap replicates of Σ sums / Σ weights over clusters drawn with replacement, for all columns by the same draws.

    Counts times cluster sums is one matrix product per block. The sums are centered first (sums - R·weights) and R is added
    back, so that an offset costs no digits. Sums of counts are those of `count_sums`, exact in whole numbers, so the
    replicates are the same bytes whatever the number of threads and the order in which a BLAS adds. From 32 clusters on, a
    row of counts serves eight replicates, in eight orders: each is drawn with replacement, and two of them are uncorrelated.

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
    >>> drawn = ratio_replicates(np.arange(40.0), np.ones(40), rng=np.random.default_rng(0), resamples=9000)
    >>> drawn.shape, round(float(drawn.mean()), 1)
    ((9000, 1), 19.5)
    """
    totals, mass = _columns(sums), _columns(weights)
    width, same = totals.shape[1], bool(np.all(mass == mass[0]))
    ratio, residuals = centered(totals, mass[:1] if same else mass, totals if overwrite_sums else None)
    if np.isnan(ratio).any():
        residuals[:, np.isnan(ratio)] = 0.0  # a column without weight is null in every replicate
    if same:  # every draw weighs the same, so that only sums have to be drawn
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
    """Column sums over clusters drawn with replacement: float (resamples, K) of columns (G, K).

    Every column is rounded to whole multiples of a power of two so small that sums of counts times such numbers stay below
    2⁵³: they are exact, whatever the order in which a BLAS adds. With 1000 clusters that is 2⁻⁴¹ of the column's largest.

    Thousands of columns are a product at the machine's full rate, which is twice as high in float32, and they need half the
    memory. There the sums stay below 2²⁴, so 1000 values are told to 2⁻¹³ of the largest. Centered sums then move by some
    10⁻⁴ to 10⁻³ of their standard deviation, far less than a thousand replicates scatter, and have the same mean; those of
    whole numbers that fit stay as they are.

    Parameters
    ----------
    columns
        Float (G, K).
    rng, resamples, block
        As for `ratio_replicates`. Memory is that of the replicates, of the rounded columns, of 4 MB of these in other orders
        and of one block of counts, whatever `resamples` is.
    strata
        Integer (G,): clusters are drawn within each stratum, as many as it has; None for one stratum.
    dtype
        Of the sums: float64, or float32 for up to 4096 clusters.

    Raises
    ------
    ArgumentError
        When more clusters are to be added in float32, or in any other dtype.

    Examples
    --------
    >>> drawn = count_sums(np.ones((50, 1)), rng=np.random.default_rng(0), resamples=3)
    >>> drawn[:, 0].tolist()
    [50.0, 50.0, 50.0]
    """
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ArgumentError(f"count_sums: dtype={kind} cannot hold the sums; it is float64 or float32")
    if not np.size(columns):
        return np.zeros((resamples, np.shape(columns)[1]), kind)
    if kind == np.float64:
        return _sums(np.array(columns, dtype=np.float64, order="C"), rng, resamples, strata, block)
    if len(columns) > _SINGLE:
        raise ArgumentError(
            f"float32 cannot tell sums over {len(columns):,} clusters, {_SINGLE:,} at most; use float64"
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
    """As `count_sums`. The columns are rounded into `whole`, in place where there is none."""
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
    """Columns become whole multiples of a power of two, which `whole` takes; the powers and what is lost in all, both (K,)."""
    clusters = max(2, len(columns))
    bits = np.finfo(rounded.dtype).nmant - int(np.ceil(np.log2(clusters)))
    exponent = np.maximum(np.frexp(_largest(columns))[1] - bits, np.finfo(rounded.dtype).minexp + 1)
    unit = np.ldexp(1.0, exponent).astype(rounded.dtype)
    total, rounded_total = np.zeros((2, columns.shape[1]))
    rows = _PIECE // max(1, columns.shape[1]) + 1  # pieces that stay in the cache
    for start in range(0, clusters, rows):
        piece, source = rounded[start : start + rows], columns[start : start + rows]
        if rounded is not columns:  # few bits round many values the same way
            total += source.sum(axis=0)
            np.copyto(piece, source, casting="same_kind")
        piece /= unit
        np.rint(piece, out=piece)
        if rounded is not columns:
            rounded_total += piece.sum(axis=0)
    return np.asarray(unit), np.asarray(total - rounded_total * unit).astype(rounded.dtype)


def _largest(columns: FloatArray) -> FloatArray:
    """How far each column goes from zero, either way."""
    wide, remainder = _abreast(columns)
    ends = [wide.max(axis=0, initial=0.0), -wide.min(axis=0, initial=0.0)]
    ends += [remainder.max(axis=0, initial=0.0), -remainder.min(axis=0, initial=0.0)]
    return np.asarray(np.concatenate(ends).reshape(2 * _ABREAST + 2, columns.shape[1]).max(axis=0))


def _add_up(rounded: FloatArray, rng: np.random.Generator, rows: int, resamples: int) -> FloatArray:
    """Sums (B, K) of whole numbers (G, K) over G clusters drawn with replacement, exactly; so many rows at a time.

    Multinomial counts are multinomial in whatever order they are dealt to the clusters. So each row of counts serves
    `_ORDERS` replicates, in orders that are the same for all rows. Two replicates of one row are uncorrelated, for the
    second gives each cluster any of the counts; what they share is how uneven these are. That makes the ends of a 95 %
    interval as uncertain as a share 1.9/G fewer replicates would.
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
    together = 2 if deal_counts else 4 if wide.shape[1] >= _WIDE else 1  # of counts that are dealt, each block is eight
    start = 0
    for block in blocks(rng, n_rows, clusters, rows=rows, together=together, dtype=rounded.dtype):
        part = sums[start : start + len(block)]
        np.matmul(block[:, inverse_orders].reshape(-1, clusters), wide, out=part.reshape(-1, wide.shape[1]))
        start += len(block)
    return sums.reshape(-1, columns)[:resamples]


def _add_up_stretches(rounded: FloatArray, rng: np.random.Generator, out: FloatArray) -> FloatArray:
    """The same of many clusters: how many draws fall on each stretch of them is multinomial as well, and drawn first."""
    stretches = np.array_split(rounded, -(-len(rounded) // _LONG))
    sizes = np.array([len(stretch) for stretch in stretches])
    draws_per_stretch = rng.multinomial(len(rounded), sizes / len(rounded), size=len(out))
    for row, draws in enumerate(draws_per_stretch):
        sums = (counts(rng, 1, len(part), draws[[at]]) @ part for at, part in enumerate(stretches))
        out[row] = sum(sums)
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
    ratio, residuals = centered(totals, mass)
    mass_without = mass.sum(axis=0) - mass
    np.divide(residuals, mass_without, out=residuals, where=mass_without > 0)
    residuals[mass_without <= 0] = np.nan
    return np.subtract(ratio, residuals, out=residuals).reshape(np.shape(sums))
