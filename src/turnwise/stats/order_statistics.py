"""Bootstrap of quantiles: by the law of order statistics for independent rollouts, by counts for clusters."""

from math import isfinite, isinf, nan, sqrt
from typing import Any

import numpy as np
import scipy

from turnwise.stats.clusters import Grouping
from turnwise.stats.estimate import FloatArray, IntArray
from turnwise.stats.multinomial import counts

_ALL = 1 << 12
"""Up to this number of values, all are sorted."""


class Ranked:
    """Values accessed by rank, of which only those around the q-quantile are sorted at first.

    A sample of every n^⅓-th value brackets the quantile, and a count of the values below the bracket gives its first rank. A
    request outside the bracket sorts all values. The result equals `np.sort` at the cost of a few passes (Floyd & Rivest, 1975,
    doi:10.1145/360680.360691).

    Examples
    --------
    >>> ranked = Ranked(np.arange(9999.0)[::-1], 0.5)
    >>> ranked[np.array([5000, 0, 9998])].tolist()
    [5000.0, 0.0, 9998.0]
    """

    def __init__(self, values: FloatArray, q: float) -> None:
        self.size = values.size
        self._values = values
        self._first, self._ordered = (0, np.sort(values)) if values.size <= _ALL else _near(values, q)

    def __getitem__(self, ranks: int | IntArray) -> Any:
        """Return the values at these ranks, counted from 0."""
        if np.min(ranks) < self._first or np.max(ranks) >= self._first + self._ordered.size:
            self._first, self._ordered = 0, np.sort(self._values)
        return self._ordered[ranks - self._first]


def _near(values: FloatArray, q: float) -> tuple[int, FloatArray]:
    """Return the first rank and the sorted values around a quantile, about four standard errors of the sample to each side."""
    sample = np.sort(values[:: int(np.cbrt(values.size))])
    margin, place = 2 * sqrt(sample.size) + 2, q * sample.size
    below = values < sample[int(place - margin)] if place > margin else np.zeros(values.size, dtype=bool)
    above = values > sample[int(place + margin)] if place + margin < sample.size else np.zeros(values.size, dtype=bool)
    return int(np.count_nonzero(below)), np.sort(values[~(below | above)])


def interpolated(ordered: FloatArray | Ranked, q: float) -> float:
    """Return the q-quantile of ascending values, interpolated linearly as in NumPy; handles infinite values, NaN between ±inf.

    Examples
    --------
    >>> interpolated(np.array([1.0, 2.0, np.inf]), 0.5), interpolated(np.array([1.0, 2.0, np.inf]), 0.75)
    (2.0, inf)
    """
    place = q * (ordered.size - 1)
    lower = int(place)
    low, high = float(ordered[lower]), float(ordered[min(lower + 1, ordered.size - 1)])
    part = place - lower
    return float(np.quantile([low, high], part)) if isfinite(high - low) else between(low, high, part)


def between(low: float, high: float, part: float) -> float:
    """Return the value a given part of the way from `low` to `high`, which may be infinite; NaN between ±inf.

    Examples
    --------
    >>> between(1.0, 2.0, 0.5), between(-np.inf, 2.0, 0.5), between(2.0, np.inf, 0.0), between(-1e308, 1e308, 0.5)
    (1.5, -inf, 2.0, 0.0)
    """
    if low == high or part == 0:
        return low
    if isinf(low) or isinf(high):
        return nan if isinf(low) and isinf(high) else low if isinf(low) else high
    return low * (1 - part) + high * part


def resampled_quantile_interval(ordered: FloatArray | Ranked, q: float, level: float) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of a quantile that is one order statistic, or None if it is between two.

    The k-th smallest of n values drawn with replacement is x₍⌊nU⌋₊₁₎ with U ~ Beta(k, n-k+1): no draws, no Monte Carlo error.

    Parameters
    ----------
    ordered
        Float (n,), ascending, or `Ranked`.
    q
        In (0, 1), interpolated linearly as in NumPy; it is one order statistic if q(n-1) is an integer.
    level
        Nominal coverage.

    References
    ----------
    David & Nagaraja (2003), section 2.1, doi:10.1002/0471722162.

    Examples
    --------
    >>> resampled_quantile_interval(np.arange(101.0), 0.5, 0.95)
    (40.0, 60.0)
    """
    n = ordered.size
    place = q * (n - 1)
    rank = round(place) + 1
    if abs(place - round(place)) > 1e-9:
        return None
    low, high = scipy.special.betaincinv(rank, n - rank + 1, [(1 - level) / 2, (1 + level) / 2])
    return float(ordered[min(int(low * n), n - 1)]), float(ordered[min(int(high * n), n - 1)])


def quantile_replicates(
    ordered: FloatArray | Ranked, q: float, *, rng: np.random.Generator, resamples: int
) -> FloatArray:
    """Draw bootstrap replicates of a quantile of independent values, at a cost independent of n: float (resamples,).

    Two neighboring order statistics of a resample are drawn directly: U₍ₖ₎ ~ Beta(k, n-k+1), and conditionally
    U₍ₖ₊₁₎ = 1 - (1-U₍ₖ₎)·V^(1/(n-k)) with uniform V.

    Examples
    --------
    >>> drawn = quantile_replicates(np.arange(100.0), 0.5, rng=np.random.default_rng(0), resamples=4000)
    >>> round(float(drawn.mean()))
    50
    """
    n = ordered.size
    place = q * (n - 1)
    lower = int(np.floor(place))
    part, rank = place - lower, lower + 1
    first = rng.beta(rank, n - rank + 1, resamples)
    second = 1 - (1 - first) * rng.random(resamples) ** (1 / max(n - rank, 1))
    low, high = (ordered[np.minimum((u * n).astype(np.int64), n - 1)] for u in (first, second))
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values
        return np.asarray(np.where(low == high, low, low + part * (high - low)))


def clustered_quantile_replicates(
    values: FloatArray,
    weights: FloatArray,
    unit: Grouping,
    q: float,
    *,
    rng: np.random.Generator,
    resamples: int,
    block: int = 1 << 18,
) -> FloatArray:
    """Draw bootstrap replicates of a (weighted) quantile over clusters: float (resamples,), NaN for replicates without weight.

    A replicate is the value at which the cumulative drawn weight reaches the share q, or the midpoint to the next value if it
    equals q exactly.

    Examples
    --------
    >>> unit = Grouping(np.repeat(np.arange(20), 2), 20)
    >>> y = np.arange(40.0)
    >>> drawn = clustered_quantile_replicates(y, np.ones(40), unit, 0.5, rng=np.random.default_rng(0), resamples=2000)
    >>> round(float(drawn.mean()))
    20
    """
    order = np.argsort(values, kind="stable")
    ordered, mass, codes = values[order], weights[order], unit.codes[order]
    replicates = np.empty(resamples)
    rows = max(1, block // max(values.size, 1))
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        cluster_counts = counts(rng, stop - start, unit.count)
        cumulative = np.cumsum(cluster_counts[:, codes] * mass, axis=1, dtype=np.float64)
        total = cumulative[:, -1:]
        slack = 1e-12 * total
        at = np.argmax(cumulative >= q * total - slack, axis=1)
        after = np.argmax(cumulative > q * total + slack, axis=1)
        with np.errstate(invalid="ignore"):  # infinite values
            middle = ordered[at] / 2 + ordered[np.maximum(at, after)] / 2
        replicates[start:stop] = np.where(total[:, 0] > 0, middle, np.nan)
    return replicates
