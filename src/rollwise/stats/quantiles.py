"""Medians and quantiles with intervals from order statistics; minimum and maximum without intervals."""

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rollwise.errors import ArgumentError, counted
from rollwise.stats.bootstrap import percentile_interval
from rollwise.stats.clusters import (
    NO_VALUES,
    ONE_CLUSTER,
    Variation,
    Variations,
    equal_weights,
    groupings,
    ones_or,
    variations,
)
from rollwise.stats.estimate import (
    Clusters,
    Estimate,
    Estimates,
    FloatArray,
    IntArray,
    Randomness,
    TextArray,
    generator_of,
    texts,
    without_text,
)
from rollwise.stats.order_statistics import between, clustered_quantile_replicates, quantile_replicates
from rollwise.stats.student import t_quantiles
from rollwise.stats.units import Groups

QuantileInterval = Literal["auto", "percentile"]


class _Bounds(NamedTuple):
    """Interval of each group, or the reason for its absence."""

    low: FloatArray
    high: FloatArray
    flaws: TextArray


TIED = "many values are tied at this quantile, so the interval is that one value"
AT_LEAST = "its level is at least the nominal one"
FEW_CLUSTERS = (
    "few clusters for this quantile: if rollouts of one are alike, the interval contains it less often than it should"
)
_FEWEST_BEYOND = 3.0
"""Clusters expected beyond a quantile, on its shorter side, from which on it has an interval: 30 goals for q90, 60 for q95."""


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
    y = np.asarray(values, dtype=np.float64)
    return quantiles(
        y,
        clusters,
        Groups.single(y.size),
        q=q,
        weights=weights,
        level=level,
        interval=interval,
        rng=lambda _: generator_of(rng),
        resamples=resamples,
    ).at(0)


def quantiles(
    values: FloatArray,
    clusters: Clusters,
    groups: Groups,
    *,
    q: float = 0.5,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    interval: QuantileInterval = "auto",
    rng: Callable[[int], np.random.Generator] | None = None,
    resamples: int = 10_000,
) -> Estimates:
    """Estimate a `quantile` of each group: rows of one group after another, and clusters within each group.

    `rng` returns the generator of a group by its number.
    """
    if not 0 < q < 1:
        raise ArgumentError(f"q is {q:g}; it must be between 0 and 1")
    w = ones_or(weights, values.size)
    ordered = _Ordered(values, None if weights is None else w, groups)
    point = ordered.quantiles(q)
    share = _share_up_to(values, point, clusters, w, groups)
    filled = groups.sizes > 0
    result = Estimates.empty(
        groups.count,
        estimate=point,
        n=groups.sizes,
        n_clusters=share.n_clusters,
        reason=texts(filled, None, NO_VALUES),
    )
    single = share.singletons & groups.are_equal(w)
    has_point = filled & ~np.isnan(point)
    result.reason[filled & ~has_point] = f"the {q:g} quantile lies between two infinite values"
    result.n_clusters[~has_point] = 0
    if interval != "auto":
        starts = groups.starts
        for group in np.flatnonzero(has_point).tolist():
            rows = slice(*starts[group : group + 2])
            spread, of_group = share.of(group), tuple(way[rows] for way in clusters)
            drawing = lambda number=group: generator_of(None if rng is None else rng(number))  # noqa: E731
            numbers = ordered.values[rows], w[rows], of_group, q, level, drawing, resamples
            result.put(group, _bootstrap(values[rows], *numbers, float(point[group]), spread))
        return result
    with np.errstate(invalid="ignore", divide="ignore"):  # shares of 0 and 1
        effect = share.variance * share.n / (share.estimate * (1 - share.estimate))
    for method, chosen, (low, high, flaws) in (
        ("order statistics", has_point & single, _order_statistics(ordered, q, level)),
        (
            "two-way Woodruff" if len(clusters) > 1 else "Woodruff",
            has_point & ~single,
            _woodruff(ordered, q, level, share),
        ),
    ):
        sound = chosen & without_text(flaws)
        # An interpolated point can lie a little outside two neighboring ordered values.
        result.low[sound], result.high[sound] = np.minimum(low, point)[sound], np.maximum(high, point)[sound]
        result.method[sound], result.reason[chosen] = method, flaws[chosen]
        # Ties make a closed interval between ordered values cover more often, never less; at worst its ends are one value.
        of_order = method == "order statistics"
        result.reason[sound & (low == high)] = f"{TIED}; {AT_LEAST}" if of_order else TIED
        if not of_order:
            # If the rollouts of a cluster are copies, ordered clusters have no interval below this number.
            few = sound & (max(q, 1 - q) ** share.n_clusters > (1 - level) / 2) & without_text(result.reason)
            result.reason[few] = FEW_CLUSTERS
            result.design_effect[sound] = np.where(share.variance > 0, effect, np.nan)[sound]
    return result


def too_few(values: FloatArray, clusters: Clusters, *, q: float, level: float) -> str | None:
    """Return the reason why these equally weighted values are too few for an interval of their q-quantile, or None.

    Examples
    --------
    >>> too_few(np.arange(5.0), (), q=0.5, level=0.95), too_few(np.arange(6.0), (), q=0.5, level=0.95)
    ('5 rollouts are too few for an interval of this quantile at level 0.95', None)
    """
    single = Groups.single(values.size)
    ordered = _Ordered(values, None, single)
    share = _share_up_to(values, ordered.quantiles(q), clusters, ones_or(None, values.size), single)
    if share.singletons[0]:
        flaw: str | None = _order_statistics(ordered, q, level)[2][0]
    else:
        flaw = _woodruff(ordered, q, level, share)[2][0]
    return flaw


def _share_up_to(y: FloatArray, point: FloatArray, clusters: Clusters, w: FloatArray, groups: Groups) -> Variations:
    """Return the share of each group's values up to its quantile with its variance over clusters.

    If a value equals the quantile, the share below it may vary more, and then that share is returned. Example: if half of
    all rollouts reach a turn limit, every value is at or below the median, so that share does not vary at all. So -y has the
    same variance as y.
    """
    at = point[groups.codes]
    upto = variations((y <= at).astype(np.float64), clusters, groups, weights=w)
    equal = groups.sums(y == at) > 0
    if not equal.any():
        return upto
    below = variations((y < at).astype(np.float64), clusters, groups, weights=w)
    more = equal & (np.nan_to_num(below.variance) > np.nan_to_num(upto.variance))
    return replace(
        upto,
        **{name: np.where(more, getattr(below, name), getattr(upto, name)) for name in ("estimate", "variance", "df")},
    )


class _Ordered:
    """Values of each group in ascending order, with their cumulative weight within the group.

    Ties are sorted by weight, so that the cumulative weights do not depend on the order of the rows.
    """

    def __init__(self, values: FloatArray, weights: FloatArray | None, groups: Groups) -> None:
        self.groups, self.sizes, self.starts = groups, groups.sizes, groups.starts[:-1]
        if weights is None:
            order = np.lexsort((values, groups.codes)) if groups.count > 1 else np.argsort(values, kind="stable")
            self.equal = np.ones(groups.count, dtype=np.bool_)
            self.mass = np.arange(1.0, values.size + 1) - self.starts[groups.codes]
        else:
            order = np.lexsort((weights, values, groups.codes))
            self.equal = groups.are_equal(weights)
            mass = [np.cumsum(part) for part in np.split(weights[order], self.starts[1:])]
            self.mass = np.concatenate(mass)
        self.values = values[order]
        self.total = groups.largest(self.mass)

    def quantiles(self, q: float) -> FloatArray:
        """Return the q-quantile of each group, by cumulative weight where weights differ: float (T,)."""
        result = np.full(self.sizes.size, np.nan)
        filled = self.sizes > 0
        place = q * np.maximum(self.sizes - 1, 0)
        lower = place.astype(np.int64)
        low, high = self._at(lower), self._at(np.minimum(lower + 1, self.sizes - 1))
        part = place - lower
        with np.errstate(invalid="ignore", over="ignore"):  # infinite values
            step = high - low
            result[filled] = np.where(part >= 0.5, high - step * (1 - part), low + step * part)[filled]
        for group in np.flatnonzero(filled & ~np.isfinite(step)):
            result[group] = between(float(low[group]), float(high[group]), float(part[group]))
        unequal = filled & ~self.equal
        if unequal.any():
            result[unequal] = self._by_weight(q)[unequal]
        return result

    def _by_weight(self, q: float) -> FloatArray:
        """Return the first value whose cumulative weight reaches the share q; the midpoint to the next if it equals q."""
        target, rounding = q * self.total, 1e-12 * self.total
        rank = self.count_below(target - rounding)
        hit = (self._at(rank, self.mass) <= target + rounding) & (rank + 1 < self.sizes)
        low, high = self._at(rank), self._at(rank + hit)
        return np.array([between(a, b, 0.5) for a, b in zip(low.tolist(), high.tolist(), strict=True)])

    def count_below(self, mass: FloatArray, *, or_equal: bool = False) -> IntArray:
        """Count each group's values whose cumulative weight is below a number (or equal to it): integer (T,)."""
        limit = mass[self.groups.codes]
        return self.groups.sums(self.mass <= limit if or_equal else self.mass < limit).astype(np.int64)

    def _at(self, rank: IntArray, column: FloatArray | None = None) -> FloatArray:
        """Return the value with a rank, from 0, in each group; NaN in a group without values."""
        values = self.values if column is None else column
        place = self.starts + np.clip(rank, 0, np.maximum(self.sizes - 1, 0))
        return (
            np.where(self.sizes > 0, values[np.minimum(place, values.size - 1)], np.nan) if values.size else self.total
        )

    def ends(self, lower: IntArray, upper: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the values with these ranks, from 0."""
        return self._at(lower), self._at(upper)


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
        replicates, resampled = quantile_replicates(ordered, q, rng=drawing, resamples=resamples), "order statistics"
    else:
        unit = groupings(clusters, share.n)[0]
        replicates = clustered_quantile_replicates(y, w, unit, q, rng=drawing, resamples=resamples)
        resampled = "clusters"
    low, high = percentile_interval(replicates, level)
    if low is None:
        return replace(plain, reason="too many tied values: the bootstrap interval has no width", resamples=resamples)
    return replace(plain, low=low, high=high, method=f"percentile bootstrap; {resampled} drawn", resamples=resamples)


def _tail_rank(n: int, q: float, tail: float) -> int:
    """Return the largest rank l with P(Bin(n, q) <= l-1) <= tail, or 0 if no rank qualifies."""
    return bisect_right(range(n), tail, key=lambda failures: float(scipy.special.bdtr(failures, n, q)))


def _order_statistics(ordered: _Ordered, q: float, level: float) -> _Bounds:
    """Return the order statistics around the q-quantile of each group, and the reason where there are too few values."""
    sizes, places = np.unique(ordered.sizes, return_inverse=True)
    lower = np.array([_tail_rank(n, q, (1 - level) / 2) for n in sizes.tolist()], dtype=np.int64)[places]
    from_top = np.array([_tail_rank(n, 1 - q, (1 - level) / 2) for n in sizes.tolist()], dtype=np.int64)[places]
    low, high = ordered.ends(lower - 1, ordered.sizes - from_top)
    flaws = np.full(lower.size, None, dtype=object)
    for group in np.flatnonzero((lower < 1) | (from_top < 1)).tolist():
        number = counted(int(ordered.sizes[group]), "rollout is", "rollouts are")
        flaws[group] = f"{number} too few for an interval of this quantile at level {level:g}"
    return _Bounds(low, high, flaws)


def _woodruff(ordered: _Ordered, q: float, level: float, share: Variations) -> _Bounds:
    """Return Woodruff's interval of the q-quantile of each group, or the reason for its absence."""
    with np.errstate(invalid="ignore"):  # infinite quantile times no variance
        half = t_quantiles(level, share.df) * np.sqrt(share.variance)
        least, most = (q - half) * ordered.total, (q + half) * ordered.total
        # The value in which the cumulative weight passes each end, counted from below and from above: the same for -y and 1 - q.
        lower, upper = ordered.count_below(least, or_equal=True), ordered.count_below(most)
    low, high = ordered.ends(lower, upper)
    flaws = np.full(lower.size, None, dtype=object)
    for group in np.flatnonzero((least < 0) | (most > ordered.total)).tolist():
        number = counted(int(share.n_clusters[group]), "cluster is", "clusters are")
        flaws[group] = f"{number} too few: the interval would pass the observed values"
    # Given only where the variance happens to be small, it would be too narrow: the number of clusters decides.
    for group in np.flatnonzero(share.n_clusters * min(q, 1 - q) < _FEWEST_BEYOND - 1e-9).tolist():
        number = counted(int(share.n_clusters[group]), "cluster is", "clusters are")
        needed = math.ceil(_FEWEST_BEYOND / min(q, 1 - q) - 1e-9)
        flaws[group] = f"{number} too few for an interval of the {q:g} quantile, which takes {needed:,}"
    flaws[share.variance == 0] = "no variation between clusters"
    flaws[np.isnan(share.variance)] = ONE_CLUSTER
    return _Bounds(low, high, flaws)
