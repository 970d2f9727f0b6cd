"""Bootstrap intervals: percentile, basic, studentized, and bias-corrected and accelerated (BCa)."""

from math import exp, pi, sqrt
from typing import Literal, NamedTuple

import numpy as np
import scipy

from rollwise.errors import counted
from rollwise.stats.clusters import ones_or, weighted_means
from rollwise.stats.estimate import FloatArray, TextArray, without_text
from rollwise.stats.student import t_quantile, t_quantiles
from rollwise.stats.units import Groups

MOST_NULL = 0.05
"""Largest share of null replicates (no weight drawn) that still allows an interval."""

NO_WIDTH = "the bootstrap interval has no width"

FEWEST_FOR_CLOSED_FORM = 1000
"""Fewest values of equal weight for `closed_form`, which is more exact than 10,000 replicates from there on."""

FEWEST_CLUSTERS = 10
"""Fewest clusters for a reliable bootstrap (Cameron, Gelbach & Miller 2008, doi:10.1162/rest.90.3.414)."""

_MOST_SKEW = 0.25
"""Largest skewness of the resampled mean for `closed_form`."""


def too_few_to_draw(count: int, noun: str = "cluster") -> str | None:
    """Return the reason why this many clusters are too few for a bootstrap, or None if they suffice.

    Examples
    --------
    >>> too_few_to_draw(9, "goal"), too_few_to_draw(10)
    ('9 goals are too few for a bootstrap', None)
    """
    if count >= FEWEST_CLUSTERS:
        return None
    return f"{counted(count, f'{noun} is', f'{noun}s are')} too few for a bootstrap"


def monte_carlo_error(level: float, resamples: int) -> float:
    """Return the standard error of a drawn end by the number of draws, as a share of the interval's width, for normal replicates.

    With tail a = (1 - level)/2 and z its quantile, it is √(a(1 - a)/B) / (2·z·φ(z)): .0068 for .95 and 10,000 draws.

    References
    ----------
    Davison & Hinkley (1997), section 2.5.2, doi:10.1017/CBO9780511802843 (variance of a sample quantile).

    Examples
    --------
    >>> round(monte_carlo_error(0.95, 10_000), 4), round(monte_carlo_error(0.95, 400), 3)
    (0.0068, 0.034)
    """
    tail = (1 - level) / 2
    z = -float(scipy.special.ndtri(tail))
    return sqrt(tail * (1 - tail) / resamples) / (2 * z * exp(-z * z / 2) / sqrt(2 * pi))


class Ends(NamedTuple):
    """Lower and upper ends of intervals, float (M,) each; NaN without an interval."""

    low: FloatArray
    high: FloatArray

    def pair(self, index: int) -> tuple[float | None, float | None]:
        """Return one interval."""
        low, high = float(self.low[index]), float(self.high[index])
        return (None, None) if np.isnan(low) else (low, high)


def null_flaw(replicates: FloatArray) -> str | None:
    """Return the reason why too few replicates (resamples,) have a value, or None if they allow an interval.

    Examples
    --------
    >>> null_flaw(np.array([0.5, np.nan]))
    '50% of the bootstrap replicates are empty'
    """
    return _null_flaw(float(np.isnan(replicates).mean()) if replicates.size else 1.0)


def _null_flaw(share: float) -> str | None:
    return f"{share:.0%} of the bootstrap replicates are empty" if share > MOST_NULL else None


def percentile_interval(replicates: FloatArray, level: float) -> tuple[float | None, float | None]:
    """Return the percentile interval: the (1 ± level)/2 quantiles of the replicates (resamples,).

    Null replicates are dropped. The result is (None, None) if more than `MOST_NULL` are null or if the ends coincide.

    References
    ----------
    Efron & Tibshirani (1993), chapter 13, doi:10.1201/9780429246593.

    Examples
    --------
    >>> percentile_interval(np.arange(0.0, 65.0), 0.5)
    (16.0, 48.0)
    """
    ends, _ = percentile_intervals(np.reshape(replicates, (1, -1)), np.array([level]))
    return ends.pair(0)


def basic_interval(replicates: FloatArray, estimate: float, level: float) -> tuple[float | None, float | None]:
    """Return the basic interval: the replicates' quantiles reflected around the estimate, 2θ - q.

    Only for unbounded statistics: for a proportion it can leave [0, 1] (-0.05 at 1 of 20). Null replicates are dropped.

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


def expanded(level: float, clusters: float, strata: int = 1) -> float:
    """Return the level at which a bootstrap interval is as wide as a t interval.

    Bootstrap intervals over few clusters are too narrow. With twelve clusters of normal values, a 95 % BCa interval covers
    90 %, the expanded one 94 %; for the kappa of judges on twelve goals the coverage is 92 % and 96 %. Within each of H strata a
    bootstrap loses one degree of freedom: the quantile is √(G/(G-H)) times that of t with G-H.

    References
    ----------
    Hesterberg (2015), doi:10.1080/00031305.2015.1089789.

    Examples
    --------
    >>> round(expanded(0.95, 12), 4), round(expanded(0.95, 1000), 4)
    (0.9785, 0.9504)
    """
    df = max(clusters - strata, 1.0)
    return float(2 * scipy.special.ndtr(np.sqrt(clusters / df) * t_quantile(level, df)) - 1)


def expanded_levels(level: float, clusters: FloatArray) -> FloatArray:
    """Return the `expanded` level for each number of clusters, float (T,)."""
    return np.asarray(2 * scipy.special.ndtr(np.sqrt(clusters / (clusters - 1)) * t_quantiles(level, clusters - 1)) - 1)


def acceleration(influences: FloatArray) -> float | None:
    """Return Efron's acceleration a = ΣU³ / (6·(ΣU²)^1.5), a sixth of the skewness of the influences.

    Parameters
    ----------
    influences
        Float (G,): the influence of each *cluster* on the estimate, in any unit and from any origin. Pass the negative of
        `jackknife_ratio`, or for a plain mean the values of the clusters.

    Returns
    -------
    float or None
        None if all influences are equal or any is null.

    References
    ----------
    Efron (1987), doi:10.1080/01621459.1987.10478410.

    Examples
    --------
    >>> round(acceleration(np.array([0.0, 0.0, 1.0])), 4)
    0.068
    """
    a = float(accelerations(influences, Groups.single(influences.size))[0])
    return None if np.isnan(a) else a


def accelerations(influences: FloatArray, clusters: Groups) -> FloatArray:
    """Return the `acceleration` of each group of clusters: float (T,), NaN where it is undefined."""
    return np.asarray(shapes(influences, clusters)[1] / (6 * np.sqrt(clusters.sizes)))


def shapes(values: FloatArray, clusters: Groups) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each group's standard deviation, skewness and kurtosis, float (T,): NaN if all values are equal up to rounding."""
    codes, n = clusters.codes, clusters.sizes
    with np.errstate(invalid="ignore", divide="ignore"):  # groups without clusters, and equal values
        center = weighted_means(values, ones_or(None, values.size), clusters)
        deviations = values - center[codes]
        # Deviations in units of the largest one, because fourth powers of very large or small values overflow or vanish.
        farthest, size = (clusters.largest(np.abs(x)) for x in (deviations, values))
        farthest[~(farthest > 1e-14 * size)] = np.nan
        deviations /= farthest[codes]
        squares = deviations * deviations
        second, third, fourth = (
            clusters.sums(power) / n for power in (squares, squares * deviations, squares * squares)
        )
        return farthest * np.sqrt(second), third / second**1.5, fourth / (second * second)


def closed_form(
    values: FloatArray, level: float, kind: Literal["percentile", "basic", "bca"]
) -> tuple[float, float] | None:
    """Return the interval of a plain mean that infinitely many replicates would give, from four moments.

    The mean of n drawn values has skewness γ₁/√n and excess kurtosis γ₂/n, so its quantiles follow from Cornish and Fisher's
    expansion, and for a mean z₀ = a = γ₁/(6√n). The error is smaller than the Monte Carlo error of 10,000 replicates, which
    would take seconds for a hundred thousand values.

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
    tuple or None
        (low, high); None unless n >= 1000, |γ₁|/√n <= 0.25 and the values differ. Then replicates have to be drawn.

    References
    ----------
    Efron (1987), doi:10.1080/01621459.1987.10478410; Cornish & Fisher (1938), doi:10.2307/1400905.

    Examples
    --------
    >>> low, high = closed_form(np.linspace(0.0, 1.0, 2000), 0.95, "bca")
    >>> round(low, 4), round(high, 4)
    (0.4873, 0.5127)
    """
    n = values.size
    if n < FEWEST_FOR_CLOSED_FORM:
        return None
    deviation, skewness, kurtosis = (float(moment[0]) for moment in shapes(values, Groups.single(n)))
    if not abs(skewness) <= _MOST_SKEW * sqrt(n):
        return None
    sixth, excess = skewness / (6 * sqrt(n)), (kurtosis - 3) / (24 * n)
    z = scipy.special.ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    if kind == "bca":
        # Efron's adjusted levels with z₀ = a = sixth, as normal quantiles.
        z = sixth + (sixth + z) / (1 - sixth * (sixth + z))
    square = z * z
    quantiles = z + sixth * (square - 1) + z * (excess * (square - 3) - sixth * sixth * (2 * square - 5))
    low, high = (deviation / sqrt(n) * quantiles).tolist()
    center = float(values.mean())
    return (center - high, center - low) if kind == "basic" else (center + low, center + high)


def bca_interval(
    replicates: FloatArray, estimate: float, a: float | None, level: float
) -> tuple[float | None, float | None]:
    """Return the bias-corrected and accelerated (BCa) interval.

    With z₀ = Φ⁻¹(share of replicates below the estimate, ties counting half), the ends are the quantiles of the replicates at
    Φ(z₀ + (z₀ ± z)/(1 - a(z₀ ± z))).

    Parameters
    ----------
    replicates
        Float (resamples,); nulls are dropped.
    estimate
        Value of the statistic on the original data.
    a
        Acceleration of the estimate, from `acceleration`.
    level
        Nominal coverage.

    Returns
    -------
    tuple
        (low, high); (None, None) if `bca_flaw` returns a reason.

    References
    ----------
    Efron (1987), doi:10.1080/01621459.1987.10478410.

    Examples
    --------
    >>> replicates = np.linspace(-1.0, 1.0, 2001)
    >>> low, high = bca_interval(replicates, 0.0, acceleration(np.array([-1.0, 0.0, 1.0])), 0.9)
    >>> round(low, 2), round(high, 2)
    (-0.9, 0.9)
    """
    return _bca(replicates, estimate, a, level)[0].pair(0)


def bca_flaw(replicates: FloatArray, estimate: float, a: float | None, level: float) -> str | None:
    """Return the reason why the BCa interval is undefined, or None.

    Examples
    --------
    >>> bca_flaw(np.array([1.0, 2.0]), 0.0, 0.0, 0.95)
    'all bootstrap replicates lie on one side of the estimate'
    """
    flaw: str | None = _bca(replicates, estimate, a, level)[1][0]
    return flaw


def _bca(replicates: FloatArray, estimate: float, a: float | None, level: float) -> tuple[Ends, TextArray]:
    deviations = np.reshape(replicates, (1, -1)) - estimate
    ends, flaws = bca_intervals(deviations, np.array([np.nan if a is None else a]), np.array([level]))
    return Ends(ends.low + estimate, ends.high + estimate), flaws


def percentile_intervals(replicates: FloatArray, level: FloatArray) -> tuple[Ends, TextArray]:
    """Return the percentile interval of each statistic, or the reason for its absence.

    Parameters
    ----------
    replicates
        Float (M, resamples), one row for each statistic; nulls are dropped.
    level
        Nominal coverage of each interval: float (M,).
    """
    rows = _Replicates(replicates)
    low, high = rows.quantiles((1 - level) / 2, (1 + level) / 2)
    return _checked(low, high, rows.null_flaws())


def bca_intervals(deviations: FloatArray, accelerations: FloatArray, level: FloatArray) -> tuple[Ends, TextArray]:
    """Return the BCa interval of each statistic around its estimate, or the reason for its absence.

    Parameters
    ----------
    deviations
        Float (M, resamples): the replicates of each statistic minus its estimate; nulls are dropped.
    accelerations
        Float (M,): `accelerations`, NaN where undefined.
    level
        Nominal coverage of each interval: float (M,).
    """
    rows = _Replicates(deviations)
    flaws = rows.null_flaws()
    with np.errstate(invalid="ignore"):  # undefined accelerations, infinite biases
        bias = rows.biases()
        shifted = bias[:, None] + scipy.special.ndtri(np.stack([(1 - level) / 2, (1 + level) / 2], axis=1))
        denominator = 1 - accelerations[:, None] * shifted
        low, high = scipy.special.ndtr(bias[:, None] + shifted / denominator).T
        middle = scipy.special.ndtr(bias)
        for flaw, text in (
            (~np.isfinite(bias), "all bootstrap replicates lie on one side of the estimate"),
            (np.isnan(accelerations), "leaving out any one cluster changes nothing"),
            (denominator.min(axis=1) <= 0, "the acceleration is too large for this level"),
            # The estimate is the Φ(z₀) quantile: levels that do not enclose it would exclude the estimate itself.
            (~((low < middle) & (middle < high)), "the bias is too large for this level"),
        ):
            flaws[flaw & without_text(flaws)] = text
    low, high = rows.quantiles(low, high)
    return _checked(low, high, flaws)


def _checked(low: FloatArray, high: FloatArray, flaws: TextArray) -> tuple[Ends, TextArray]:
    """Return intervals that have a width and no flaw, and the flaws."""
    flaws[~(low < high) & without_text(flaws)] = NO_WIDTH
    sound = without_text(flaws)
    return Ends(np.where(sound, low, np.nan), np.where(sound, high, np.nan)), flaws


class _Replicates:
    """Bootstrap replicates of several statistics, (M, resamples); nulls are ignored."""

    def __init__(self, rows: FloatArray) -> None:
        self.rows = np.array(rows, order="C")
        self.sizes = self.rows.shape[1] - np.count_nonzero(np.isnan(self.rows), axis=1)

    def null_flaws(self) -> TextArray:
        """Return the reason why too few replicates of a statistic have a value: text (M,), None for enough."""
        shares = 1 - self.sizes / self.rows.shape[1] if self.rows.shape[1] else np.ones(self.sizes.size)
        return np.array([_null_flaw(float(share)) for share in shares], dtype=object)

    def quantiles(self, *levels: FloatArray) -> list[FloatArray]:
        """Return quantiles of each statistic, interpolated linearly as in NumPy: float (M,) for each level (M,)."""
        last = self.sizes - 1
        places = np.nan_to_num(np.stack(levels)) * np.maximum(last, 0)
        lower = places.astype(np.int64)
        upper = np.minimum(lower + 1, np.maximum(last, 0))
        low, high = (np.full(places.shape, np.nan) for _ in range(2))
        for number in np.flatnonzero(last >= 0):
            # Only these order statistics are put into their places, which is faster than sorting; nulls go to the end.
            row = self.rows[number]
            row.partition(np.unique([lower[:, number], upper[:, number]]))
            low[:, number], high[:, number] = row[lower[:, number]], row[upper[:, number]]
        with np.errstate(invalid="ignore", over="ignore"):  # infinite replicates
            part, step = places - lower, high - low
            return list(np.where(part >= 0.5, high - step * (1 - part), low + step * part))

    def biases(self) -> FloatArray:
        """Return Efron's bias correction z₀ of each statistic around 0: float (M,).

        Replicates within 10⁻⁴ standard deviations of 0 count as ties: equal sums of lattice values differ by less after
        rounding.
        """
        if not self.rows.shape[1]:
            return np.full(self.sizes.size, np.nan)
        full = bool((self.sizes == self.rows.shape[1]).all())
        tolerance = 1e-4 * (np.std if full else np.nanstd)(self.rows, axis=1)[:, None]
        below, above = (np.count_nonzero(beyond, axis=1) for beyond in (self.rows < -tolerance, self.rows > tolerance))
        ranks = (below + (self.sizes - below - above) / 2) / np.maximum(self.sizes, 1)
        return np.asarray(scipy.special.ndtri(ranks), dtype=np.float64)
