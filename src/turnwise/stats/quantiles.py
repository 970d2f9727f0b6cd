"""Medians and quantiles with intervals from order statistics; minimum and maximum without intervals."""

import math
from bisect import bisect_right
from dataclasses import replace
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from turnwise.errors import ArgumentError, counted
from turnwise.stats.bootstrap import percentile_interval
from turnwise.stats.clusters import (
    NO_VALUES,
    ONE_CLUSTER,
    Variation,
    equal_weights,
    groupings,
    ones_or,
    t_quantile,
    variation,
)
from turnwise.stats.estimate import Clusters, Estimate, FloatArray, Randomness, generator_of
from turnwise.stats.order_statistics import (
    between,
    clustered_quantile_replicates,
    interpolated,
    quantile_replicates,
)

QuantileInterval = Literal["auto", "percentile"]
TIED = "many values are tied at this quantile, so the interval is that one value"
AT_LEAST = "its level is at least the nominal one"


def median(values: ArrayLike, clusters: Clusters, *, weights: ArrayLike | None = None, level: float = 0.95) -> Estimate:
    """Estimate the median (the mean of the middle two if n is even) with its interval: `quantile` at q = 0.5.

    Examples
    --------
    >>> middle = median([3.0, 1.0, 2.0, 5.0, 4.0, 6.0], ())
    >>> middle.estimate, middle.low, middle.high
    (3.5, 1.0, 6.0)
    """
    return quantile(values, clusters, q=0.5, weights=weights, level=level)


def quantile(
    values: ArrayLike,
    clusters: Clusters,
    *,
    q: float = 0.5,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    interval: QuantileInterval = "auto",
    rng: Randomness | None = None,
    resamples: int = 10_000,
) -> Estimate:
    """Estimate the q-quantile (interpolated linearly, as in NumPy), with an interval from the ordered values.

    For independent rollouts of equal weight the ends are the order statistics x₍ₗ₎ and x₍ᵤ₎, where l is the largest rank with
    P(Bin(n, q) <= l-1) <= α/2 and u the smallest with P(Bin(n, q) >= u) <= α/2. This is valid for every law; for values that
    tie, the level is higher than the nominal one, and the interval may have no width.
    Otherwise it is Woodruff's interval: the share of values up to the sample quantile has a standard error SE over clusters,
    and the ends are the values of ranks ⌊n·p₋⌋ + 1 and ⌈n·p₊⌉ with p± = q ± t·SE (mirrored: that of -y and 1 - q has the same
    ends with the other sign); t has G-1 degrees of freedom, `crossed_df` for two
    crossed ways.

    Parameters
    ----------
    values
        Float (n,), in any unit.
    clusters
        Tuple of zero, one or two integer code arrays (n,).
    q
        In (0, 1).
    weights
        Positive float (n,), or None for ones; quantiles are taken by cumulative weight.
    level
        Nominal coverage.
    interval
        ``"auto"`` as above; ``"percentile"``: the percentile bootstrap over clusters. Of independent rollouts it draws the two
        order statistics around the quantile instead of whole samples.
    rng, resamples
        Random generator (or a function that returns one when needed) and number of replicates, for the bootstrap.

    Returns
    -------
    Estimate
        There is never a standard error. The bounds are None if the interval would extend beyond the smallest or largest value
        (a median at 95 % needs n >= 6), and for one cluster of several rollouts. With many ties both may be the same value,
        and `reason` says so. With n = 0 all values are None.

    References
    ----------
    David & Nagaraja (2003), section 7.1, doi:10.1002/0471722162; Woodruff (1952), doi:10.1080/01621459.1952.10483443.

    Examples
    --------
    >>> turns = quantile(np.arange(1.0, 101.0), (), q=0.9)
    >>> round(turns.estimate, 1), turns.low, turns.high, turns.method
    (90.1, 84.0, 96.0, 'order statistics')
    >>> tied = quantile([1.0, 2.0, *[4.0] * 20, 9.0], ())
    >>> tied.low, tied.high, tied.reason
    (4.0, 4.0, 'many values are tied at this quantile, so the interval is that one value; its level is at least the nominal one')
    """
    if not 0 < q < 1:
        raise ArgumentError(f"q is {q:g}; it must be between 0 and 1")
    y = np.asarray(values, dtype=np.float64)
    if y.size == 0:
        return Estimate(reason=NO_VALUES)
    w = ones_or(weights, y.size)
    if weights is None:
        ordered, mass = np.sort(y), np.arange(1.0, y.size + 1)
        point = interpolated(ordered, q)
    else:  # sort ties by weight, so that the cumulative weights do not depend on the order of the rows
        order = np.lexsort((w, y))
        ordered, mass = y[order], np.cumsum(w[order])
        point = interpolated(ordered, q) if equal_weights(w) else _weighted_quantile(ordered, mass, q)
    if math.isnan(point):
        return Estimate(n=y.size, reason=f"the {q:g} quantile lies between two infinite values")
    share = _share_up_to(y, point, clusters, w)
    if interval != "auto":
        return _bootstrap(y, ordered, w, clusters, q, level, rng, resamples, point, share)
    if share.singletons and equal_weights(w):
        ends, method, effect = _order_statistics(ordered, q, level), "order statistics", None
    else:
        ends, method, effect = _woodruff(ordered, mass, q, level, share), "Woodruff", _design_effect(share)
    if isinstance(ends, str):
        return Estimate(estimate=point, n=share.n, n_clusters=share.n_clusters, reason=ends)
    # Ties make a closed interval between ordered values cover more often, never less; at worst its ends are the same value.
    has_width = ends[0] < ends[1]
    return Estimate(
        estimate=point,
        # An interpolated point can lie a little outside two neighboring ordered values.
        low=min(ends[0], point),
        high=max(ends[1], point),
        n=share.n,
        n_clusters=share.n_clusters,
        design_effect=effect,
        method=f"two-way {method}" if len(clusters) > 1 and method == "Woodruff" else method,
        reason=None if has_width else TIED if method == "Woodruff" else f"{TIED}; {AT_LEAST}",
    )


def too_few(values: FloatArray, clusters: Clusters, *, q: float, level: float) -> str | None:
    """Return the reason why these equally weighted values are too few for an interval of their q-quantile, or None.

    Examples
    --------
    >>> too_few(np.arange(5.0), (), q=0.5, level=0.95), too_few(np.arange(6.0), (), q=0.5, level=0.95)
    ('5 rollouts are too few for an interval of this quantile at level 0.95', None)
    """
    ordered, mass = np.sort(values), np.arange(1.0, values.size + 1)
    share = _share_up_to(values, interpolated(ordered, q), clusters, ones_or(None, values.size))
    ends = _order_statistics(ordered, q, level) if share.singletons else _woodruff(ordered, mass, q, level, share)
    return ends if isinstance(ends, str) else None


def _share_up_to(y: FloatArray, point: float, clusters: Clusters, w: FloatArray) -> Variation:
    """Return the share of values up to a quantile with its variance over clusters.

    If a value equals the quantile, the share below it may vary more, and then that share is returned. Example: if half of
    all rollouts reach a turn limit, every value is at or below the median, so that share does not vary at all. So -y has the
    same variance as y.
    """
    upto = variation(y <= point, clusters, weights=w)
    if not np.any(y == point):
        return upto
    below = variation(y < point, clusters, weights=w)
    return below if (below.variance or 0.0) > (upto.variance or 0.0) else upto


@np.errstate(over="ignore", invalid="ignore")  # infinite and huge values give null, without a warning
def _bootstrap(
    y: FloatArray,
    ordered: FloatArray,
    w: FloatArray,
    clusters: Clusters,
    q: float,
    level: float,
    rng: Randomness | None,
    resamples: int,
    point: float,
    share: Variation,
) -> Estimate:
    plain = Estimate(estimate=point, n=share.n, n_clusters=share.n_clusters)
    if share.n_clusters < 2:
        return replace(plain, reason=ONE_CLUSTER)
    if len(clusters) > 1:
        return replace(
            plain, reason="no bootstrap of a quantile over two crossed ways; Woodruff's interval, the default, exists"
        )
    drawing = generator_of(rng)
    if share.singletons and equal_weights(w):
        replicates, drawn = quantile_replicates(ordered, q, rng=drawing, resamples=resamples), "order statistics"
    else:
        unit = groupings(clusters, share.n)[0]
        replicates = clustered_quantile_replicates(y, w, unit, q, rng=drawing, resamples=resamples)
        drawn = "clusters"
    low, high = percentile_interval(replicates, level)
    if low is None:
        return replace(plain, reason="too many tied values: the bootstrap interval has no width", resamples=resamples)
    return replace(plain, low=low, high=high, method=f"percentile bootstrap; {drawn} drawn", resamples=resamples)


def extreme(values: ArrayLike, which: Literal["min", "max"]) -> Estimate:
    """Return the smallest or the largest value, without an interval: no resampling scheme is consistent for extremes.

    Parameters
    ----------
    values
        Float (n,), in any unit; n = 0 gives None.
    which
        ``"min"`` or ``"max"``.

    References
    ----------
    Bickel & Freedman (1981), doi:10.1214/aos/1176345637.

    Examples
    --------
    >>> extreme([2.0, 7.0], "max").estimate
    7.0
    """
    if which not in {"min", "max"}:
        raise ArgumentError(f"which is {which!r}; it must be 'min' or 'max'")
    y = np.asarray(values, dtype=np.float64)
    if y.size == 0:
        return Estimate(reason=NO_VALUES)
    value = y.min() if which == "min" else y.max()
    return Estimate(
        estimate=float(value), n=y.size, reason="no valid interval: the bootstrap is inconsistent for extremes"
    )


def _weighted_quantile(ordered: FloatArray, mass: FloatArray, q: float) -> float:
    """Return the first ordered value whose cumulative weight reaches the share q; the midpoint to the next if it equals q."""
    target, rounding = q * mass[-1], 1e-12 * mass[-1]
    rank = int(np.searchsorted(mass, target - rounding))
    hit = mass[rank] <= target + rounding and rank + 1 < ordered.size
    return between(float(ordered[rank]), float(ordered[rank + hit]), 0.5)


def _tail_rank(n: int, q: float, tail: float) -> int:
    """Return the largest rank l with P(Bin(n, q) <= l-1) <= tail, or 0 if no rank qualifies."""
    return bisect_right(range(n), tail, key=lambda failures: float(scipy.special.bdtr(failures, n, q)))


def _order_statistics(ordered: FloatArray, q: float, level: float) -> tuple[float, float] | str:
    n = ordered.size
    lower = _tail_rank(n, q, (1 - level) / 2)
    from_top = _tail_rank(n, 1 - q, (1 - level) / 2)
    if lower < 1 or from_top < 1:
        return f"{counted(n, 'rollout is', 'rollouts are')} too few for an interval of this quantile at level {level:g}"
    return float(ordered[lower - 1]), float(ordered[n - from_top])


def _woodruff(
    ordered: FloatArray, mass: FloatArray, q: float, level: float, share: Variation
) -> tuple[float, float] | str:
    if share.variance is None:
        return ONE_CLUSTER
    if share.variance == 0:
        return "no variation between clusters"
    half = t_quantile(level, share.df) * math.sqrt(share.variance)
    least, most = (q - half) * mass[-1], (q + half) * mass[-1]
    if least < 0 or most > mass[-1]:
        return f"{counted(share.n_clusters, 'cluster is', 'clusters are')} too few: the interval would pass the observed values"
    # The value in which the cumulative weight passes each end, counted from below and from above: the same for -y and 1 - q.
    lower = int(np.searchsorted(mass, least, side="right"))
    upper = int(np.searchsorted(mass, most, side="left"))
    return float(ordered[lower]), float(ordered[upper])


def _design_effect(share: Variation) -> float | None:
    """Return the variance of the share up to the quantile divided by that of as many independent rollouts."""
    if not share.variance or share.estimate is None:
        return None
    return share.variance * share.n / (share.estimate * (1 - share.estimate))
