"""Sample sizes: goals and attempts needed for a question, and differences detectable with given numbers."""

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rollwise.stats.clusters import grouping
from rollwise.stats.intervals import outer_ends
from rollwise.stats.student import t_quantile

MOST_GOALS = 10_000_000
"""Largest number of goals that is searched."""


def variance_per_goal(rate: float, icc: float, attempts: float) -> float:
    """Return the variance per goal of a rate, icc·p(1-p) + (1-icc)·p(1-p)/m; divide it by the number of goals.

    Examples
    --------
    >>> variance_per_goal(0.5, 0.2, 1), round(variance_per_goal(0.5, 0.2, 4), 3)
    (0.25, 0.1)
    """
    return icc * rate * (1 - rate) + (1 - icc) * rate * (1 - rate) / attempts


def variance_of_difference(rates: tuple[float, float], icc: float, attempts: float, *, correlation: float) -> float:
    """Return the variance per goal of the difference of two rates, whose goals' chances correlate between the arms.

    V₁ + V₂ - 2ρ·icc·√(p₁(1-p₁)·p₂(1-p₂)), with V from `variance_per_goal`.

    Examples
    --------
    >>> round(variance_of_difference((0.5, 0.5), 0.2, 4, correlation=0.5), 3)
    0.15
    """
    apart_variance = sum(variance_per_goal(rate, icc, attempts) for rate in rates)
    return apart_variance - 2 * correlation * icc * math.sqrt(math.prod(rate * (1 - rate) for rate in rates))


def detectable(variance: float, goals: int, *, power: float, level: float) -> float:
    """Return the smallest true difference that a two-sided paired t test of the goals' differences detects with this power.

    It is δ·√(V/G) with δ the noncentrality at which t with G-1 degrees of freedom exceeds its critical value so often.

    References
    ----------
    Bloom (1995), Minimum detectable effects, doi:10.1177/0193841X9501900504.

    Examples
    --------
    >>> round(detectable(0.15, 100, power=0.8, level=0.95), 4), round(detectable(0.15, 10, power=0.8, level=0.95), 4)
    (0.1096, 0.3858)
    """
    df = goals - 1
    return float(scipy.special.nctdtrinc(df, 1 - power, t_quantile(level, df))) * math.sqrt(variance / goals)


def goals_for_difference(variance: float, difference: float, *, power: float, level: float) -> int | None:
    """Return the fewest goals, at least 2, for which the difference is `detectable`; None above 10⁷.

    Examples
    --------
    >>> goals_for_difference(0.15, 0.1085, power=0.8, level=0.95)
    102
    """
    return fewest(lambda goals: detectable(variance, goals, power=power, level=level) <= abs(difference) * (1 + 1e-12))


def rollouts_for_none(below: float, *, level: float) -> int:
    """Return the fewest independent rollouts that show a rate under `below` if none succeeds: ln(1 - level) / ln(1 - below).

    One-sided and exact: at a rate of `below`, the probability of no success is at most 1 - level.

    References
    ----------
    Hanley & Lippman-Hand (1983), If nothing goes wrong, is everything all right?, doi:10.1001/jama.1983.03330370053031.

    Examples
    --------
    >>> rollouts_for_none(0.01, level=0.95)
    299
    """
    return math.ceil(math.log1p(-level) / math.log1p(-below) - 1e-9)


def goals_for_gate(below: float, *, level: float, repeated: bool) -> int | None:
    """Return the fewest goals without a success whose interval ends below a rate; None above 10⁷ goals.

    This is the criterion of `gate`. Without a success, attempts at a goal may be copies of each other, so only goals count
    (`stats.proportion`).

    Parameters
    ----------
    below, level
        The rate, and the nominal coverage of the two-sided interval.
    repeated
        True if goals have several attempts, so that t with G-1 degrees of freedom replaces z.

    Examples
    --------
    >>> goals_for_gate(0.05, level=0.95, repeated=True), goals_for_gate(0.05, level=0.95, repeated=False)
    (76, 73)
    """

    def passes(goals: int) -> bool:
        high = outer_ends(0, goals, level=level, df=goals - 1 if repeated else None)[1]
        return high is not None and high < below

    return fewest(passes)


def fewest(holds: Callable[[int], bool]) -> int | None:
    """Return the smallest number, at least 2, for which a criterion holds that holds for every larger one too; None above 10⁷.

    Examples
    --------
    >>> fewest(lambda count: count * count > 50), fewest(lambda count: False)
    (8, None)
    """
    # Double until the criterion holds, then bisect.
    least, most = 1, 2
    while not holds(most):
        least, most = most, most * 2
        if most > MOST_GOALS:
            return None
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if holds(middle) else (middle, most)
    return most


def intraclass_correlation(values: ArrayLike, goals: ArrayLike) -> float | None:
    """Estimate the intraclass correlation of attempts at a goal by analysis of variance, clipped to [0, 1].

    (MSB - MSW) / (MSB + (n₀ - 1)·MSW) with n₀ = (N - Σn_g²/N) / (G - 1). None if no goal has two attempts, if there are fewer
    than two goals, or if all values are equal.

    Parameters
    ----------
    values
        Float (n,), 0 or 1.
    goals
        Integer codes (n,).

    References
    ----------
    Ridout, Demétrio & Firth (1999), doi:10.1111/j.0006-341X.1999.00137.x.

    Examples
    --------
    >>> intraclass_correlation([1, 1, 0, 0], [0, 0, 1, 1]), intraclass_correlation([1, 0, 1, 0], [0, 0, 1, 1])
    (1.0, 0.0)
    """
    y, unit = np.asarray(values, dtype=np.float64), grouping(goals)
    if unit.count < 2 or y.size == unit.count:
        return None
    size = unit.sums(np.ones(y.size))
    mean = unit.sums(y) / size
    between = float((size * (mean - y.mean()) ** 2).sum()) / (unit.count - 1)
    within = float(((y - mean[unit.codes]) ** 2).sum()) / (y.size - unit.count)
    # n₀: the average number of attempts per goal, reduced if the numbers are unequal.
    even = (y.size - float((size**2).sum()) / y.size) / (unit.count - 1)
    total = between + (even - 1) * within
    return None if total <= 0 else min(1.0, max(0.0, (between - within) / total))
