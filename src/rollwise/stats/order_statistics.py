"""Bootstrap of quantiles: by the law of order statistics for independent rollouts, by counts for clusters."""

from math import isinf, nan

import numpy as np

from rollwise.stats.clusters import Grouping
from rollwise.stats.estimate import FloatArray
from rollwise.stats.replicates import BLOCK, counts


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


def quantile_replicates(ordered: FloatArray, q: float, *, rng: np.random.Generator, resamples: int) -> FloatArray:
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
    rows = max(1, BLOCK // max(values.size, 1))
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
