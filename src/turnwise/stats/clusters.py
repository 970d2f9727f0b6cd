"""How far a weighted mean would move with other clusters: the linearised variance that every interval here starts from."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import scipy
from numpy.typing import ArrayLike

from turnwise.errors import ArgumentError, counted
from turnwise.stats.estimate import Clusters, FloatArray, IntArray

NO_VALUES = "no values"
ONE_CLUSTER = "one cluster: no interval over clusters"
_LARGEST = 1e150
_NORMAL_FROM_DF = 1000
"""Degrees of freedom from which four terms of an expansion tell Student's t from the normal law to the last digits."""

_DOMINANT_SHARE = 0.999
"""Share of all weight with which one cluster leaves the others next to nothing."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Rollouts sorted into units.

    Attributes
    ----------
    labels
        Integer (n,): the unit of each rollout, 0..count-1 without gaps. None where every rollout is its own unit, in row order.
    count
        How many units there are.
    """

    labels: IntArray | None
    count: int

    @property
    def codes(self) -> IntArray:
        """The unit of each rollout: integer (n,)."""
        return np.arange(self.count, dtype=np.int64) if self.labels is None else self.labels

    def sums(self, x: FloatArray) -> FloatArray:
        """Sum of `x` (n,) over each unit: float (count,), `x` itself where each rollout is its own unit."""
        if self.labels is None:
            return x
        return np.bincount(self.labels, weights=x, minlength=self.count).astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """A weighted mean with its linearised variance.

    Attributes
    ----------
    estimate
        Ratio estimator R = Σwy / Σw; None without rollouts.
    variance
        Variance of R over clusters; None with fewer than two clusters. Exactly 0 when the clusters do not differ.
    df
        Degrees of freedom of the variance: clusters minus one where all weigh the same, fewer where a few outweigh the rest
        (`degrees_of_freedom`); min(A, B) - 1 for two crossed ways; None without rollouts.
    concentration
        Σ (W_g/W)², of the way with the fewest clusters: the variance of R if a cluster's mean had a variance of one.
    n, n_clusters
        Rollouts, and clusters (the smaller count of two crossed ways).
    singletons
        Whether every cluster holds one rollout, in each way.
    """

    estimate: float | None
    variance: float | None
    df: float | None
    concentration: float | None
    n: int
    n_clusters: int
    singletons: bool


def grouping(codes: ArrayLike) -> Grouping:
    """Units of one way, relabeled 0..G-1 without gaps and in the order of their codes.

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
    """The units whose variances are added: each rollout for ``()``, one way, or two ways and their distinct pairs.

    Raises
    ------
    ArgumentError
        When more than two ways are given.
    """
    match clusters:
        case ():
            return (Grouping(None, n),)
        case (way,):
            return (grouping(way),)
        case (first, second):
            group_a, group_b = grouping(first), grouping(second)
            # np.unique and not `grouping`: A x B cells may be far more than rollouts.
            pairs = np.unique(group_a.codes * group_b.count + group_b.codes, return_inverse=True)[1].astype(np.int64)
            return group_a, group_b, Grouping(pairs, int(pairs.max(initial=-1)) + 1)
        case _:
            raise ArgumentError(f"clusters has {counted(len(clusters), 'way')}; name one or two")


def crossed(variances: Sequence[FloatArray]) -> FloatArray:
    """Variance of the whole from that of its groupings: V itself for one way, max(Va + Vb - Vab, Va, Vb) for two.

    The plain sum can be negative or less than one way alone; the maximum keeps it conservative.

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


def small_sample_factor(count: int) -> float:
    """Finite-cluster factor G/(G-1), for G of at least 2."""
    return count / (count - 1)


def ones_or(weights: ArrayLike | None, n: int) -> FloatArray:
    """The weights as float (n,): one each, in no memory and not to be written to, where None is given."""
    return np.broadcast_to(1.0, n) if weights is None else np.asarray(weights, dtype=np.float64)


def equal_weights(weights: FloatArray) -> bool:
    """Whether all weights are the same, so that they cancel from every ratio."""
    return bool(np.all(weights == weights[:1]))


def weighted_mean(values: FloatArray, weights: FloatArray) -> float:
    """Ratio estimator Σwy / Σw of at least one value, in two passes: equal values give exactly that value.

    Shifting by the first value and then by the first mean keeps the digits that a sum of squares loses (HELM, trap T17).
    """
    shifted = values - values[0]
    total = weights.sum()
    shifted *= weights
    first = shifted.sum() / total
    np.subtract(values, values[0], out=shifted)
    shifted -= first
    shifted *= weights
    return float(values[0] + first + shifted.sum() / total)


def unaddable(values: FloatArray) -> str | None:
    """Why values have no mean that means anything: one is infinite, or their squares would be; None where they have one.

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


def degrees_of_freedom(masses: FloatArray) -> float:
    """How many degrees of freedom V has, the variance over clusters of these weights: in [1, G-1], and G-1 where all are equal.

    Satterthwaite's 2·E(V)² / var(V) with means of clusters that are independent, normal and of one variance, as they are where
    the rollouts of a cluster are much alike: one cluster with half of all rollouts makes half of R, however many others there are.

    Parameters
    ----------
    masses
        Positive float (G,), in any unit: what each cluster weighs. One cluster has 0.

    References
    ----------
    Bell & McCaffrey (2002), Survey Methodology 28(2):169-181; Imbens & Kolesar (2016), doi:10.1162/REST_a_00552; Carter,
    Schnepel & Steigerwald (2017), doi:10.1162/REST_a_00639.

    Examples
    --------
    >>> degrees_of_freedom(np.ones(20)), round(degrees_of_freedom(np.array([32.0, 8, 4, 2, 1])), 2)
    (19.0, 1.33)
    """
    if masses.size < 2 or equal_weights(masses):
        return masses.size - 1.0
    w = masses / masses.sum()
    largest = int(w.argmax())
    if w[largest] > _DOMINANT_SHARE:  # nearer to 1 the digits would go and the answer would stay
        w[largest] = 0.0
        w *= (1 - _DOMINANT_SHARE) / w.sum()
        w[largest] = _DOMINANT_SHARE
    powers = np.zeros(4)
    for piece in np.array_split(w, 1 + w.size // (1 << 16)):
        squares = piece * piece
        fourths = squares * squares
        powers += squares.sum(), squares @ piece, fourths.sum(), fourths @ piece
    two, three, four, five = powers.tolist()
    # Of Q = A'DA with D = diag(w²) and A = I - 1w', the square of its trace over the trace of its square.
    trace_squared = two - 2 * three + two**2
    squared_trace = four + 4 * two * four - 4 * five + two**4 - 4 * two**2 * three + 2 * three**2
    return min(max(trace_squared**2 / squared_trace, 1.0), masses.size - 1.0)


def variation(values: ArrayLike, clusters: Clusters, *, weights: ArrayLike | None = None) -> Variation:
    """The weighted mean of the values and its variance over clusters.

    R = Σ wᵢyᵢ / Σ wᵢ and V = G/(G-1) · Σ_g (Σ_{i in g} wᵢ(yᵢ - R))² / (Σ wᵢ)²; two crossed ways are joined by `crossed`.
    With ``clusters=()`` each rollout is its own cluster, so V is the usual s²/n. Sums that differ between clusters by no
    more than rounding count as equal: V is then exactly 0.

    Parameters
    ----------
    values, weights
        Float (n,), in any unit; weights positive or None.
    clusters
        Tuple of none, one or two integer code arrays (n,).

    Returns
    -------
    Variation
        n = 0: estimate, variance and df None. One cluster: variance None, df 0. All equal: variance 0.

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
    n = y.size
    if n == 0:
        return Variation(estimate=None, variance=None, df=None, concentration=None, n=0, n_clusters=0, singletons=True)
    w = ones_or(weights, n)
    units = groupings(clusters, n)
    smallest = min(unit.count for unit in units)
    mean = weighted_mean(y, w)
    masses = min(units, key=lambda unit: unit.count).sums(w)
    residuals = y - mean
    residuals *= w
    return Variation(
        estimate=mean,
        variance=_variance(residuals, w.sum(), units) if smallest > 1 else None,
        df=degrees_of_freedom(masses) if len(units) == 1 else smallest - 1.0,
        concentration=float(masses @ masses / masses.sum() ** 2),
        n=n,
        n_clusters=smallest,
        singletons=smallest == n,
    )


def _variance(residuals: FloatArray, total: float, units: tuple[Grouping, ...]) -> float:
    """The variance, to which the residuals may be lost: they are as long as the data, and their squares take their place."""
    pieces = np.array_split(residuals, 1 + residuals.size // (1 << 16))
    rounding = 1e-14 * sum(float(np.abs(piece).sum()) for piece in pieces)
    parts = []
    for unit in units:
        sums = unit.sums(residuals)
        sums[(sums >= -rounding) & (sums <= rounding)] = 0.0
        sums /= total
        np.square(sums, out=sums)
        parts.append(np.asarray(small_sample_factor(unit.count) * sums.sum()))
    return float(crossed(parts))


def t_quantile(level: float, df: float | None) -> float:
    """Two-sided critical value of Student's t at this level; of the normal law when df is None, infinite below one df.

    From 1000 df on it follows from the normal one by Fisher and Cornish's expansion, to 10⁻¹³ up to a level of 99.99 %: a
    command that summarizes many rollouts need not load SciPy for it.

    References
    ----------
    Fisher & Cornish (1960), doi:10.2307/1266546; Abramowitz & Stegun (1964), 26.7.5.

    Examples
    --------
    >>> round(t_quantile(0.95, None), 4), round(t_quantile(0.95, 9), 4)
    (1.96, 2.2622)
    """
    if df is not None and df < _NORMAL_FROM_DF:
        return float(scipy.special.stdtrit(df, (1 + level) / 2)) if df > 0 else math.inf
    x = -NormalDist().inv_cdf((1 - level) / 2)
    if df is None:
        return x
    terms = (
        x,
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return math.fsum(term / df**power for power, term in enumerate(terms))
