"""Bootstrap intervals of a mean without resampling: the law of the resampled mean is known exactly or from four moments."""

from math import sqrt
from typing import Literal, NamedTuple

import numpy as np
import scipy

from turnwise.stats.bootstrap import adjusted_levels
from turnwise.stats.estimate import FloatArray, IntArray

Kind = Literal["percentile", "basic", "bca"]

_STRETCH, _PIECE = 1 << 16, 1 << 13
"""Values processed at a time, so that they stay in the cache, and per row, since BLAS splits longer products over threads."""

LONGEST = 1 << 18
"""Most grid points for an exact law: up to here the Fourier transform costs less than resampling."""


class Ideal(NamedTuple):
    """Interval from infinitely many replicates, the method that computed it, and the reason if it is undefined."""

    low: float | None
    high: float | None
    route: str
    reason: str | None = None


def ideal_interval(values: FloatArray, level: float, kind: Kind) -> Ideal | None:
    """Return the bootstrap interval of a plain mean with infinitely many replicates, or None if no exact method applies.

    The first method that applies is used. Two distinct values: the binomial law. Values on a grid, if n times the number of
    grid steps is at most 2¹⁸: the law of the sum by one Fourier transform. At least 1000 values with |γ₁|/√n <= 0.25: the
    closed form from four moments. None of them needs a seed or has Monte Carlo error.

    Parameters
    ----------
    values
        Float (n,): one value per independent unit of equal weight, not all the same.
    level
        Nominal coverage.
    kind
        ``"percentile"``, ``"basic"`` or ``"bca"``.

    References
    ----------
    Efron (1987), doi:10.1080/01621459.1987.10478410; Cornish & Fisher (1938), doi:10.2307/1400905.

    Examples
    --------
    >>> ideal_interval(np.array([0.0] * 16 + [1.0] * 4), 0.95, "percentile")
    Ideal(low=0.05, high=0.4, route='binomial', reason=None)
    """
    least, greatest = float(values.min()), float(values.max())
    width = greatest - least
    if not width > 1e-14 * max(abs(least), abs(greatest)):
        return None
    steps = _on_a_grid(values, least, width)
    if steps is None:
        low, high = closed_form(values, level, kind)
        return None if low is None else Ideal(low, high, "closed form")
    points = int(steps.max())
    interval = (
        binomial_interval(int(steps.sum()), steps.size, level, kind)
        if points == 1
        else grid_interval(steps, level, kind)
    )
    if interval.low is None or interval.high is None:
        return interval
    return interval._replace(low=least + interval.low * width / points, high=least + interval.high * width / points)


def binomial_interval(successes: int, n: int, level: float, kind: Kind) -> Ideal:
    """Return the bootstrap interval of a proportion, from the binomial law of the resampled successes.

    The ends are the smallest counts whose cumulative probability reaches the two levels. Undefined at 0 and at n successes.

    Examples
    --------
    >>> binomial_interval(10, 100, 0.95, "bca")[:3]
    (0.05, 0.17, 'binomial')
    """
    share = successes / n
    if not 0 < share < 1:
        return Ideal(None, None, "binomial", "no variation")
    below = scipy.special.bdtr(successes - 1, n, share)
    tie = scipy.special.bdtr(successes, n, share) - below
    levels = _levels(float(below), float(tie), (1 - 2 * share) / sqrt(n * share * (1 - share)), level, kind)
    if isinstance(levels, str):
        return Ideal(None, None, "binomial", levels)
    counts = []
    for target in levels:
        # bdtrik inverts the law at real counts; the loops correct its rounding by a step or two.
        count = int(np.clip(np.floor(scipy.special.bdtrik(target, n, share)), 0, n))
        while count > 0 and scipy.special.bdtr(count - 1, n, share) >= target:
            count -= 1
        while count < n and scipy.special.bdtr(count, n, share) < target:
            count += 1
        counts.append(count / n)
    return _ideal(counts[0], counts[1], share, "binomial", kind)


def grid_interval(steps: IntArray, level: float, kind: Kind) -> Ideal:
    """Return the bootstrap interval of a mean of integers 0..K, from the law of their resampled sum by Fourier transform.

    Parameters
    ----------
    steps
        Integer (n,), nonnegative and not all the same.
    level, kind
        See `ideal_interval`.

    Examples
    --------
    >>> grid_interval(np.array([0, 1, 2, 2]), 0.9, "percentile")
    Ideal(low=0.5, high=2.0, route='FFT', reason=None)
    """
    n = steps.size
    share = np.bincount(steps) / n
    width = n * (share.size - 1) + 1
    size = 1 << (width - 1).bit_length()
    # The sum of n independent draws has the n-fold convolution of `share` as its law: a power in the Fourier domain.
    law = np.maximum(np.fft.irfft(np.fft.rfft(share, size) ** n, size)[:width], 0.0)
    cumulative = np.cumsum(law)
    cumulative /= cumulative[-1]
    total = int(steps.sum())
    below = float(cumulative[total - 1]) if total else 0.0
    deviations = steps - total / n
    skew = float((deviations**3).mean() / (deviations**2).mean() ** 1.5 / sqrt(n))
    levels = _levels(below, float(cumulative[total] - below), skew, level, kind)
    if isinstance(levels, str):
        return Ideal(None, None, "FFT", levels)
    low, high = np.searchsorted(cumulative, levels)
    return _ideal(float(low) / n, float(high) / n, total / n, "FFT", kind)


def closed_form(values: FloatArray, level: float, kind: Kind = "bca") -> tuple[float | None, float | None]:
    """Return the bootstrap interval of a plain mean with infinitely many replicates, from four moments.

    The bootstrap law of a mean of n independent units has skewness γ₁/√n and excess kurtosis γ₂/n, so its quantiles follow
    from Cornish and Fisher's expansion, and for a mean z₀ = a = γ₁/(6√n). There is no seed and no Monte Carlo error: if the
    condition below holds, the result is closer to the ideal interval than 10,000 replicates.

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
    tuple
        (low, high); (None, None) unless n >= 1000, |γ₁|/√n <= 0.25 and the values differ.

    References
    ----------
    Efron (1987), doi:10.1080/01621459.1987.10478410; Cornish & Fisher (1938), doi:10.2307/1400905.

    Examples
    --------
    >>> low, high = closed_form(np.linspace(0.0, 1.0, 2000), 0.95)
    >>> round(low, 4), round(high, 4)
    (0.4873, 0.5127)
    """
    low, high = closed_forms(values[None, :], level, kind)[:, 0]
    return (None, None) if np.isnan(low) else (float(low), float(high))


def closed_forms(samples: FloatArray, level: float, kind: Kind = "bca") -> FloatArray:
    """Apply `closed_form` to many samples at once: float (2, m) for samples (m, n), one per row; NaN where undefined.

    Examples
    --------
    >>> ramp = np.linspace(0.0, 1.0, 2000)
    >>> closed_forms(np.stack([ramp, 2 * ramp]), 0.95).round(3).tolist()
    [[0.487, 0.975], [0.513, 1.025]]
    """
    n = samples.shape[1]
    if n < 1000:  # resampling is cheap for few values, and four moments may not suffice
        return np.full((2, len(samples)), np.nan)
    mean, deviation, skew, kurtosis = _shape(samples)
    sixth, excess = skew / (6 * sqrt(n)), (kurtosis - 3) / (24 * n)
    z = scipy.special.ndtri([[(1 - level) / 2], [(1 + level) / 2]])
    if kind == "bca":
        shifted = sixth + z
        z = sixth + shifted / (1 - sixth * shifted)
    square = z * z
    fisher = z + sixth * (square - 1) + z * (excess * (square - 3) - sixth * sixth * (2 * square - 5))
    offset = deviation / sqrt(n) * fisher
    ends = mean - offset[::-1] if kind == "basic" else mean + offset
    return np.asarray(np.where(np.abs(sixth) <= 0.25 / 6, ends, np.nan))


def _shape(samples: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return mean, standard deviation, skewness and kurtosis of each row; all but the mean are NaN if its values are equal."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, second, third, fourth = _moments(samples)
        usual = (second > 1e-26 * mean * mean) & (fourth > 1e-290) & (fourth < 1e290)
    if usual.all():
        deviation = np.sqrt(second)
        return mean, deviation, third / (second * deviation), fourth / (second * second)
    # Powers of very close or very distant values lose their digits or overflow. Rescaled to [0, 2] they do not.
    least, greatest = samples.min(axis=1), samples.max(axis=1)
    half = greatest / 2 - least / 2
    equal = half <= 1e-14 * np.maximum(np.abs(least), np.abs(greatest))
    half[equal] = 1.0
    mean, second, third, fourth = _moments(samples / half[:, None] - (least / half)[:, None])
    second[equal] = np.nan
    deviation = np.sqrt(second)
    return least + half * mean, half * deviation, third / (second * deviation), fourth / (second * second)


def _moments(samples: FloatArray) -> FloatArray:
    """Return the mean and the second to fourth central moments of each row, (4, m), in one pass and without a full copy."""
    first, second, third, fourth = _power_sums(samples) / samples.shape[1]
    moments = _central(first, second, third, fourth)
    # For values far from 0 the mean uses up the digits of the powers, so these rows are summed again around their mean.
    far = ~(first * first <= 64 * moments[1])
    if far.any():
        centered_means = _power_sums(samples[far] if not far.all() else samples, first[far]) / samples.shape[1]
        moments[:, far] = _central(*centered_means)
        moments[0, far] += first[far]
    return moments


def _central(first: FloatArray, second: FloatArray, third: FloatArray, fourth: FloatArray) -> FloatArray:
    """Convert the means of four powers to the mean and the central moments, (4, m)."""
    square = first * first
    return np.stack(
        [
            first,
            second - square,
            third - first * (3 * second - 2 * square),
            fourth - first * (4 * third - 3 * first * (2 * second - square)),
        ]
    )


def _power_sums(samples: FloatArray, origin: FloatArray | None = None) -> FloatArray:
    """Sum the first four powers of each row, or of its distances from an origin, (4, m), by dot products within the cache."""
    m, n = samples.shape
    rows, length = max(1, _STRETCH // n), min(n, _PIECE)
    sums, ones = np.empty((-(-n // length), 4, m)), np.ones(length)
    differences, squares = np.empty((2, min(rows, m) * length))
    for row_slice in (slice(top, top + rows) for top in range(0, m, rows)):
        for piece, (first, second, third, fourth) in enumerate(sums[:, :, row_slice]):
            values = samples[row_slice, piece * length : (piece + 1) * length]
            if origin is not None:
                values = np.subtract(
                    values, origin[row_slice, None], out=differences[: values.size].reshape(values.shape)
                )
            square = np.multiply(values, values, out=squares[: values.size].reshape(values.shape))
            unit_vector = ones[: values.shape[1]]
            np.vecdot(values, unit_vector, out=first)
            np.vecdot(square, unit_vector, out=second)
            np.vecdot(square, values, out=third)
            np.vecdot(square, square, out=fourth)
    return np.asarray(sums.sum(axis=0))


def _on_a_grid(values: FloatArray, least: float, width: float) -> IntArray | None:
    """Return the values as integer multiples of their common grid step above the minimum, or None if the grid is too long."""
    # A small sample rules out most columns that are not on a grid, at almost no cost.
    sampled = np.unique((values[:: max(1, values.size // 64)] - least) / width)
    most = LONGEST // values.size
    binary = bool(np.all((sampled < 1e-9) | (sampled > 1 - 1e-9)))
    if not binary and sampled.size > most + 1:
        return None
    shares = (values - least) / width
    if binary and np.all((shares < 1e-9) | (shares > 1 - 1e-9)):
        return np.asarray(np.rint(shares), dtype=np.int64)
    if sampled.size > most + 1:
        return None
    distinct = np.unique(shares)
    gaps = np.diff(distinct)
    step = gaps[gaps > 1e-9].min(initial=1.0)
    points = round(1 / step)
    if points > most:
        return None
    nearest = np.rint(distinct * points)
    if np.abs(distinct * points - nearest).max() > 1e-7:
        return None
    return np.asarray(np.rint(shares * points), dtype=np.int64)


def _levels(below: float, tie: float, skew: float, level: float, kind: Kind) -> tuple[float, float] | str:
    """Return the levels at which to read the law: for BCa with z₀ = Φ⁻¹(P(below) + P(tie)/2) and a = skew/6."""
    if kind != "bca":
        return (1 - level) / 2, (1 + level) / 2
    bias = float(scipy.special.ndtri(below + tie / 2))
    if not np.isfinite(bias):
        return "all bootstrap replicates lie on one side of the estimate"
    return adjusted_levels(bias, skew / 6, level)


def _ideal(low: float, high: float, center: float, route: str, kind: Kind) -> Ideal:
    if not low < high:
        return Ideal(None, None, route, "the bootstrap interval has no width")
    return Ideal(2 * center - high, 2 * center - low, route) if kind == "basic" else Ideal(low, high, route)
