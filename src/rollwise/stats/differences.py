"""Common types for the difference of two arms, with its degrees of freedom and t test.

An arm holds the values of its rollouts and, for each way of clustering, the unit of each rollout. Both arms use the same
codes: a goal that occurs in both has the same code in both.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

import numpy as np
import scipy

from rollwise.stats.clusters import Variation
from rollwise.stats.estimate import Clusters, FloatArray
from rollwise.stats.permutation import Permuted

NO_UNITS = "no value in one of the arms"
ONE_PAIR = "one common goal: no interval over goals"
MOST_UNEQUAL = 2.0
"""Ratio of the attempts of two arms from which flips of signs or labels, and t, no longer hold for rates."""
UNEQUAL = "one arm has at least twice as many attempts per goal: p-value and interval of skewed values are approximate"
TWO_METHODS = "p-value and interval are of two methods"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A difference of two arms. The field names are column names of CONTRAST; None where undefined, never NaN."""

    difference: float | None = None
    std_error: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    n_clusters: int = 0
    method: str | None = None
    reason: str | None = None
    resamples: int | None = None


class Arm(NamedTuple):
    """One arm: values, float (n,), and for each way the units of its rollouts, integer (n,)."""

    values: FloatArray
    clusters: Clusters


class Draws(NamedTuple):
    """Random generators for the interval and for the test, and the number of resamples."""

    interval: np.random.Generator
    test: np.random.Generator
    resamples: int


class Ends(NamedTuple):
    """Interval of a difference; the field names are column names of CONTRAST."""

    low: float | None = None
    high: float | None = None
    method: str | None = None
    reason: str | None = None
    resamples: int | None = None

    def of_shares(self) -> "Ends":
        """Clip the interval to [-1, 1], the range of a difference of proportions, which t intervals can exceed.

        Examples
        --------
        >>> Ends(0.58, 1.17, "paired t").of_shares()[:3]
        (0.58, 1.0, 'paired t')
        """
        if self.low is None or self.high is None:
            return self
        return self._replace(low=max(self.low, -1.0), high=min(self.high, 1.0))


def minus(first: float, second: float) -> float:
    """Subtract two means: exactly 0 if they differ only by the rounding of their sums.

    Examples
    --------
    >>> 0.1 + 0.2 - 0.3, minus(0.1 + 0.2, 0.3), minus(0.5, 0.25)
    (5.551115123125783e-17, 0.0, 0.25)
    """
    difference = first - second
    return 0.0 if abs(difference) <= 1e-14 * max(abs(first), abs(second)) else difference


def with_test(row: Difference, ends: Ends, test: Permuted | None) -> Difference:
    """Return the row with its interval and, if given, its test."""
    row = replace(row, **ends._asdict())
    if test is None:
        return row
    method = "; ".join(part for part in (ends.method, test.method) if part)
    return replace(row, p_value=test.p_value, method=method, resamples=ends.resamples or test.resamples)


def disagreement(
    low: float | None, high: float | None, p_value: float | None, *, level: float, null: float = 0.0
) -> str | None:
    """Say that an interval and a p-value disagree about no difference; None if they agree.

    Examples
    --------
    >>> disagreement(-0.1, 0.5, 0.03, level=0.95)
    'p-value and interval are of two methods: the test excludes 0, the interval does not'
    >>> disagreement(0.1, 0.5, 0.03, level=0.95)
    """
    if low is None or high is None or p_value is None:
        return None
    excludes, rejects = not low <= null <= high, p_value <= 1 - level
    # The end of an inverted interval and its p-value are at their limits together.
    if excludes == rejects or abs(p_value - (1 - level)) <= 1e-6 * (1 - level):
        return None
    rejecting, accepting = ("test", "interval") if rejects else ("interval", "test")
    return f"{TWO_METHODS}: the {rejecting} excludes {null:g}, the {accepting} does not"


def difference_df(first: Variation, second: Variation, *, shared: bool) -> float:
    """Return Satterthwaite's degrees of freedom for the difference of two means, the smaller of two versions.

    (V₁ + V₂)² / (V₁²/ν₁ + V₂²/ν₂), once with the observed variances over clusters (Welch) and once with the variances under
    equal variance of all clusters (Bell and McCaffrey, which does not depend on the data). Two clusters may be similar by
    chance; Welch's version would then ignore their arm: with 2 clusters against 20 it covers .89. The result is never below
    the smaller df of the two arms. It equals the smaller df if the arms share clusters, because their variances are then not
    independent.

    References
    ----------
    Welch (1947), doi:10.1093/biomet/34.1-2.28; Bell & McCaffrey (2002), Survey Methodology 28(2):169-181; Imbens & Kolesar
    (2016), doi:10.1162/REST_a_00552.

    Examples
    --------
    >>> from rollwise.stats.clusters import variation
    >>> arms = variation([1.0, 1.1], ()), variation(np.arange(20.0), ())
    >>> round(difference_df(*arms, shared=False), 2), round(difference_df(*arms, shared=True), 2)
    (1.21, 1.0)
    """
    dfs = first.df or 0.0, second.df or 0.0
    if shared or min(dfs) <= 0:
        return min(dfs)
    # Satterthwaite: (ΣV)² / Σ(V²/df). With few clusters the observed variances may be small by chance, so the weights that the
    # design implies are tried as well.
    observed = first.variance or 0.0, second.variance or 0.0
    designed = first.concentration or 0.0, second.concentration or 0.0
    return min(
        1 / sum((variance / sum(pair)) ** 2 / df for variance, df in zip(pair, dfs, strict=True))
        for pair in (observed, designed)
        if sum(pair) > 0
    )


def t_test(difference: float, variance: float, df: float) -> Permuted:
    """Return the two-sided p-value of Student's t test: never 0, and 1 for a difference of 0.

    Examples
    --------
    >>> round(t_test(2.0, 1.0, 10).p_value, 4)
    0.0734
    """
    if difference == 0:
        return Permuted(1.0, "t test", None)
    p_value = float(2 * scipy.special.stdtr(df, -abs(difference) / sqrt(variance)))
    # Far in the tail the law of t underflows to 0, and no test shows that something is impossible.
    return Permuted(max(p_value, float(np.finfo(np.float64).tiny)), "t test", None)
