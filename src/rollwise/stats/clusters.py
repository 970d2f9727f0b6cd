"""Linearized variance of a weighted mean over clusters, the basis of the intervals in this package."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rollwise.errors import ArgumentError, counted
from rollwise.stats.estimate import BoolArray, Clusters, FloatArray, IntArray, TextArray, texts
from rollwise.stats.student import group_degrees_of_freedom
from rollwise.stats.units import Groups, Units, are_ones, units_of, ways_of

NO_VALUES = "no values"
ONE_CLUSTER = "one cluster: no interval over clusters"
_LARGEST = 1e150
_ROUNDING = 1e-14  # relative to the sum of the absolute deviations, or values

_FEWEST_CROSSED = 4
"""Fewest units of a crossed way whose variance is used for the degrees of freedom; with three, t then covers .93 at .95."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Rollouts sorted into units.

    Attributes
    ----------
    labels
        Integer (n,): the unit of each rollout, 0..count-1 without gaps. None where every rollout is its own unit, in row order.
    count
        Number of units.
    """

    labels: IntArray | None
    count: int

    @property
    def codes(self) -> IntArray:
        """Unit of each rollout: integer (n,)."""
        return np.arange(self.count, dtype=np.int64) if self.labels is None else self.labels

    def sums(self, x: FloatArray) -> FloatArray:
        """Sum `x` (n,) within each unit: float (count,). Returns `x` itself if every rollout is its own unit."""
        if self.labels is None:
            return x
        return np.bincount(self.labels, weights=x, minlength=self.count).astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """A weighted mean with its linearized variance.

    Attributes
    ----------
    estimate
        Ratio estimator R = Σwy / Σw; None without rollouts.
    variance
        Variance of R over clusters; None with fewer than two clusters. Exactly 0 when the clusters do not differ.
    df
        Degrees of freedom of the variance: the number of clusters minus one if all weigh the same, fewer if a few dominate
        (`group_degrees_of_freedom`); `crossed_df` for two crossed ways; None without rollouts.
    concentration
        Σ (W_g/W)² over the way with the fewest clusters: the variance of R if each cluster mean had variance 1.
    n, n_clusters
        Number of rollouts and of clusters (for two crossed ways, the smaller number).
    singletons
        True if every cluster holds one rollout, in each way.
    """

    estimate: float | None
    variance: float | None
    df: float | None
    concentration: float | None
    n: int
    n_clusters: int
    singletons: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Variations:
    """`Variation` of several groups, as arrays (T,): NaN where a single one has None.

    Attributes
    ----------
    ways
        The units: one way, or two crossed ways and their pairs.
    strata
        The strata of the clusters of each group, as units of clusters; None without strata.
    """

    estimate: FloatArray
    variance: FloatArray
    df: FloatArray
    concentration: FloatArray
    n: IntArray
    n_clusters: IntArray
    singletons: BoolArray
    ways: tuple[Units, ...]
    strata: Units | None = None

    def of(self, group: int) -> Variation:
        """Return the variation of one group."""
        numbers = {name: float(getattr(self, name)[group]) for name in ("estimate", "variance", "df", "concentration")}
        return Variation(
            n=int(self.n[group]),
            n_clusters=int(self.n_clusters[group]),
            singletons=bool(self.singletons[group]),
            **{name: None if math.isnan(number) else number for name, number in numbers.items()},
        )


def grouping(codes: ArrayLike) -> Grouping:
    """Relabel the codes of one way as 0..G-1, without gaps and in the order of the codes.

    Examples
    --------
    >>> grouping([4, 2, 4]).codes.tolist()
    [1, 0, 1]
    """
    raw_codes = np.asarray(codes, dtype=np.int64)
    present = np.bincount(raw_codes) > 0
    if present.all():
        return Grouping(raw_codes, present.size)
    labels = np.cumsum(present, dtype=np.int64) - 1
    return Grouping(labels[raw_codes], int(present.sum()))


def groupings(clusters: Clusters, n: int) -> tuple[Grouping, ...]:
    """Return the units whose variances are combined: single rollouts for ``()``, one way, or two ways and their distinct pairs.

    Raises
    ------
    ArgumentError
        If more than two ways are given.
    """
    match clusters:
        case ():
            return (Grouping(None, n),)
        case (way,):
            return (grouping(way),)
        case (first, second):
            group_a, group_b = grouping(first), grouping(second)
            # np.unique rather than `grouping`: there may be far more A x B cells than rollouts.
            pairs = np.unique(group_a.codes * group_b.count + group_b.codes, return_inverse=True)[1].astype(np.int64)
            return group_a, group_b, Grouping(pairs, int(pairs.max(initial=-1)) + 1)
        case _:
            raise ArgumentError(f"clusters has {counted(len(clusters), 'way')}; pass at most two")


def crossed(variances: Sequence[FloatArray]) -> FloatArray:
    """Combine the variances over groupings: V itself for one way, max(Va + Vb - Vab, Va, Vb) for two crossed ways.

    The plain sum can be negative or smaller than the variance over one way; the maximum keeps the result conservative.

    References
    ----------
    Cameron, Gelbach & Miller (2011), doi:10.1198/jbes.2010.07136.

    Examples
    --------
    >>> float(crossed([np.array(3.0), np.array(2.0), np.array(4.0)]))
    3.0
    """
    if len(variances) == 1:
        return variances[0]
    first, second, intersection = variances
    return np.maximum(first + second - intersection, np.maximum(first, second))


def crossed_df(variances: Sequence[FloatArray], counts: tuple[int, int] | tuple[IntArray, IntArray]) -> FloatArray:
    """Return Satterthwaite's degrees of freedom of the variance over two crossed ways with A and B units.

    V² / (Va²/(A-1) + Vb²/(B-1) + Vab²/((A-1)(B-1))), at least min(A, B) - 1: the way that causes most of the variance
    counts most. With fewer than four units in a way, whose variance is then hardly known, it is min(A, B) - 1.

    Parameters
    ----------
    variances
        Va, Vb and Vab over each way and over their pairs, each float () or (T,).
    counts
        A and B: numbers, or integer (T,).

    References
    ----------
    Satterthwaite (1946), doi:10.2307/3002019.

    Examples
    --------
    >>> va, vb, vab = np.array(4.0), np.array(1.0), np.array(1.0)
    >>> round(float(crossed_df([va, vb, vab], (20, 5))), 1), float(crossed_df([va, vb, vab], (20, 3)))
    (14.5, 2.0)
    """
    variance = crossed(variances)
    first, second = (np.maximum(count - 1.0, 1.0) for count in counts)
    over_first, over_second, over_pairs = variances
    parts = over_first**2 / first + over_second**2 / second + over_pairs**2 / (first * second)
    least = np.broadcast_to(np.minimum(*counts) - 1.0, variance.shape)
    enough = (np.minimum(*counts) >= _FEWEST_CROSSED) & (parts > 0)
    return np.asarray(np.maximum(np.divide(variance**2, parts, out=least.copy(), where=enough), least))


def small_sample_factor(count: int) -> float:
    """Return the small-sample factor G/(G-1), for at least 2 clusters."""
    return count / (count - 1)


def ones_or(weights: ArrayLike | None, n: int) -> FloatArray:
    """Return the weights as float (n,). None gives ones, as a read-only view that takes no memory."""
    return np.broadcast_to(1.0, n) if weights is None else np.asarray(weights, dtype=np.float64)


def equal_weights(weights: FloatArray) -> bool:
    """Return whether all weights are equal, so that they cancel from every ratio."""
    return bool(np.all(weights == weights[:1]))


def weighted_mean(values: FloatArray, weights: FloatArray) -> float:
    """Return the ratio estimator Σwy / Σw of at least one value: `weighted_means` of one group."""
    return float(weighted_means(values, weights, Groups.single(values.size))[0])


def weighted_means(values: FloatArray, weights: FloatArray, groups: Groups) -> FloatArray:
    """Return the ratio estimator Σwy / Σw of each group, in two passes: float (T,), NaN for a group without rows.

    Subtracting the first value, and then the first-pass mean, keeps the digits that a plain sum loses (HELM, trap T17). The
    mean of equal values is exactly that value, and the mean of values that cancel except for rounding is exactly 0.
    """
    offset = groups.first(values)
    with np.errstate(invalid="ignore"):  # 0 / 0 of a group without rows
        if are_ones(weights) and ((values == 0) | (values == 1)).all():
            return groups.sums(values) / groups.sizes
        total = groups.sums(weights)
        first = groups.sums((values - offset[groups.codes]) * weights) / total
        residuals = (values - offset[groups.codes] - first[groups.codes]) * weights
        correction = groups.sums(residuals) / total
        # A correction within rounding is left out, so that the share of k successes among n rollouts is k / n itself.
        rounding = _ROUNDING * groups.sums(np.abs(residuals)) / total
        mean = offset + first + np.where(np.abs(correction) > rounding, correction, 0.0)
        canceled = np.abs(mean) <= _ROUNDING * groups.sums(np.abs(values) * weights) / total
        return np.where(canceled, 0.0, mean)


def unaddable(values: FloatArray) -> str | None:
    """Return the reason why the values have no meaningful mean (a value or its square is infinite), or None.

    Examples
    --------
    >>> unaddable(np.array([0.0, -np.inf])), unaddable(np.array([0.0, 1e200])), unaddable(np.array([0.0, 1.0]))
    ('1 value is infinite', 'values beyond 1e+150 cannot be squared and added: divide them first', None)
    """
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if largest <= _LARGEST:
        return None
    infinite = int(np.isinf(values).sum())
    if infinite:
        return counted(infinite, "value is infinite", "values are infinite")
    return f"values beyond {_LARGEST:g} cannot be squared and added: divide them first"


def unaddables(values: FloatArray, groups: Groups) -> TextArray:
    """Return `unaddable` of each group."""
    result = np.full(groups.count, None, dtype=object)
    if unaddable(values):
        starts = groups.starts
        result[:] = [unaddable(values[slice(*starts[group : group + 2])]) for group in range(groups.count)]
    return result


def variation(values: ArrayLike, clusters: Clusters, *, weights: ArrayLike | None = None) -> Variation:
    """Return the weighted mean of the values and its variance over clusters.

    R = Σ wᵢyᵢ / Σ wᵢ and V = G/(G-1) · Σ_g (Σ_{i in g} wᵢ(yᵢ - R))² / (Σ wᵢ)²; two crossed ways are combined by `crossed`.
    With ``clusters=()`` each rollout is its own cluster, so V is the usual s²/n. If the sums of the clusters differ only by
    rounding, V is exactly 0.

    Parameters
    ----------
    values, weights
        Float (n,), in any unit; weights positive or None.
    clusters
        Tuple of zero, one or two integer code arrays (n,).

    Returns
    -------
    Variation
        With n = 0, estimate, variance and df are None. With one cluster, variance is None and df 0. Equal values have
        variance 0.

    References
    ----------
    Cameron & Miller (2015), doi:10.3368/jhr.50.2.317.

    Examples
    --------
    >>> spread = variation([1.0, 1.0, 0.0, 0.0], (np.array([0, 0, 1, 1]),))
    >>> spread.estimate, spread.variance, spread.df
    (0.5, 0.25, 1.0)
    """
    y = np.asarray(values, dtype=np.float64)
    return variations(y, clusters, Groups.single(y.size), weights=weights).of(0)


def variations(
    values: FloatArray,
    clusters: Clusters,
    groups: Groups,
    *,
    weights: ArrayLike | None = None,
    strata: IntArray | None = None,
) -> Variations:
    """Return the `variation` of each group: rows of one group after another, and clusters within each group.

    With `strata`, integer (U,), one per cluster of a single way, clusters vary around the average of their stratum:
    V = Σ_h G_h/(G_h-1) · Σ_{g in h} (z_g - z̄_h)² / W² for z_g = Σ_{i in g} wᵢ(yᵢ - R), with G - H degrees of freedom for H strata
    (Cochran 1977, Sampling Techniques, 3rd ed., equation 5.9; ISBN 0-471-16240-X).
    """
    ways = ways_of(clusters, groups)
    layers = None if strata is None else units_of(strata, ways[0].groups)
    w = ones_or(weights, values.size)
    mean = weighted_means(values, w, groups)
    total = groups.sums(w)
    counts = np.stack([way.counts for way in ways])
    smallest = counts.min(axis=0)
    masses = [way.sums(w) for way in ways]
    parts = _variances((values - mean[groups.codes]) * w, total, ways, groups, layers)
    if layers is not None:
        df = (counts[0] - layers.counts).astype(np.float64)
    elif len(ways) == 1:
        df = group_degrees_of_freedom(masses[0], ways[0].groups)
    else:
        df = np.where(smallest > 1, crossed_df(parts, (counts[0], counts[1])), smallest - 1.0)
    with np.errstate(invalid="ignore"):  # 0 / 0 of a group without rows
        squares = np.stack([way.groups.sums(mass * mass) for way, mass in zip(ways, masses, strict=True)]) / total**2
    n = groups.sizes
    return Variations(
        estimate=mean,
        variance=np.where(smallest > 1, crossed(parts), np.nan),
        df=np.where(n > 0, df, np.nan),
        concentration=squares[counts.argmin(axis=0), np.arange(groups.count)],
        n=n,
        n_clusters=smallest,
        singletons=smallest == n,
        ways=ways,
        strata=layers,
    )


def _variances(
    residuals: FloatArray, total: FloatArray, ways: tuple[Units, ...], groups: Groups, strata: Units | None
) -> list[FloatArray]:
    """Return the variance of each group over each of the ways, float (T,) each, from residuals (n,)."""
    rounding = _ROUNDING * groups.sums(np.abs(residuals))
    parts = []
    for way in ways:
        sums = way.sums(residuals)
        # Within strata, a cluster's sum is compared with the average of its stratum, not with 0.
        if strata is not None:
            size = strata.sums(np.ones_like(sums))
            sums -= (strata.sums(sums) / size)[strata.of_rows]
        # Sums below the rounding error of the residuals are set to 0, so that identical clusters give exactly 0.
        sums[np.abs(sums) <= rounding[way.groups.codes]] = 0.0
        sums /= total[way.groups.codes]
        squares = np.square(sums)
        if strata is None:
            parts.append(way.counts / np.maximum(way.counts - 1, 1) * way.groups.sums(squares))
        else:
            parts.append(way.groups.sums((size / np.maximum(size - 1, 1))[strata.of_rows] * squares))
    return parts


def lone_strata(strata: Units) -> TextArray:
    """Return for each group the reason that names its strata of one cluster, which vary in no sample: object (T,).

    Examples
    --------
    >>> lone_strata(units_of(np.array([0, 0, 1, 2]), Groups.single(4))).tolist()
    ['2 strata of one cluster contribute no variance']
    """
    sizes = strata.sums(np.ones(strata.of_rows.size))
    counts = strata.groups.sums(sizes == 1).astype(np.int64)
    singular, plural = "stratum of one cluster contributes", "strata of one cluster contribute"
    words = [f"{counted(count, singular, plural)} no variance" for count in counts.tolist()]
    return texts(counts > 0, words, None)
