"""Intervals for the difference of two proportions: paired, clustered or independent, never with zero width."""

from math import exp, log, sqrt
from typing import NamedTuple

import scipy

from rollwise.stats.estimate import Estimate
from rollwise.stats.intervals import wilson

Share = tuple[float, float, float]

SMALLEST_P = 1e-12
"""Smallest p-value of an inverted interval: quantiles further out are not computed."""


class SizedShare(NamedTuple):
    """A share, its effective sample size, and the degrees of freedom of the t quantile (None for z)."""

    share: float
    size: float
    df: float | None

    def within(self, level: float) -> Share:
        """Return the share with the ends of Wilson's interval."""
        low, high = wilson(self.share * self.size, self.size, level=level, df=self.df)
        return self.share, low or 0.0, 1.0 if high is None else high


def sized(estimate: Estimate, df: float | None) -> SizedShare | None:
    """Return an estimated share with its effective size; None without one."""
    if estimate.estimate is None or estimate.low is None or not estimate.design_effect:
        return None
    return SizedShare(estimate.estimate, estimate.n / estimate.design_effect, df)


def score_p_value(share_a: SizedShare, share_b: SizedShare, correlation: float = 0.0) -> float:
    """Return the p-value of no difference that agrees with `score_difference`: 1 - level of the interval that ends at 0.

    It is found by bisection, and never below 10⁻¹².

    Examples
    --------
    >>> arms = SizedShare(56 / 70, 70, None), SizedShare(48 / 80, 80, None)
    >>> p = score_p_value(*arms)
    >>> round(p, 4), round(score_difference(*(arm.within(1 - p) for arm in arms))[0], 9)
    (0.0081, 0.0)
    """
    if share_a.share == share_b.share:
        return 1.0

    # An interval of level 1 - p excludes 0 exactly if the p-value is below p: the p-value is the root.
    def excludes(p: float) -> bool:
        low, high = score_difference(share_a.within(1 - p), share_b.within(1 - p), correlation)
        return low > 0 or high < 0

    # Bisection over log p, as p-values differ by orders of magnitude.
    within, beyond = log(SMALLEST_P), 0.0
    if excludes(SMALLEST_P):
        return SMALLEST_P
    while beyond - within > 1e-9:
        middle = (within + beyond) / 2
        within, beyond = (within, middle) if excludes(exp(middle)) else (middle, beyond)
    return exp(beyond)


def share_of(estimate: Estimate) -> Share:
    """Return a share with the ends of its interval; undefined ends become 0 and 1.

    Examples
    --------
    >>> share_of(Estimate(estimate=0.5, low=0.25))
    (0.5, 0.25, 1.0)
    """
    return estimate.estimate or 0.0, estimate.low or 0.0, 1.0 if estimate.high is None else estimate.high


def score_difference(share_a: Share, share_b: Share, correlation: float = 0.0) -> tuple[float, float]:
    """Return the interval for p₁ - p₂ from an interval of each share and the correlation of their estimates.

    The lower end is p₁ - p₂ - √((p₁-l₁)² + (u₂-p₂)² - 2ρ(p₁-l₁)(u₂-p₂)); the upper end is its mirror image. With Wilson's
    intervals this is Newcombe's hybrid score interval.

    Parameters
    ----------
    share_a, share_b
        (share, low, high), each within [0, 1].
    correlation
        Correlation of the two estimates, in (-1, 1); 0 for independent samples.

    References
    ----------
    Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I; Zou & Donner (2008),
    doi:10.1002/sim.3095.

    Examples
    --------
    >>> low, high = score_difference(
    ...     (56 / 70, *wilson(56, 70)), (48 / 80, *wilson(48, 80))
    ... )  # Newcombe, his example (a)
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    """
    (p1, l1, u1), (p2, l2, u2) = share_a, share_b

    def reach(distance_a: float, distance_b: float) -> float:
        return sqrt(
            max(0.0, distance_a * distance_a + distance_b * distance_b - 2 * correlation * distance_a * distance_b)
        )

    difference = p1 - p2
    # Lower end: the first share may be as low as its lower end while the second is as high as its upper end; with a correlation
    # ρ, both at once are less likely: √(a² + b² - 2ρab).
    return max(-1.0, difference - reach(p1 - l1, u2 - p2)), min(1.0, difference + reach(u1 - p1, p2 - l2))


def newcombe(both: int, only_one: int, only_other: int, neither: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return Newcombe's interval (his method 10) for the difference of two paired proportions.

    It combines Wilson's interval of each share, using the correlation φ of the pairs with a continuity correction. It is defined,
    and has positive width, even without a discordant pair.

    Parameters
    ----------
    both, only_one, only_other, neither
        Numbers of pairs in which both, only one, or neither succeeded; at least one pair in total.
    level
        Nominal coverage.

    References
    ----------
    Newcombe (1998), doi:10.1002/(SICI)1097-0258(19981130)17:22<2635::AID-SIM954>3.0.CO;2-C.

    Examples
    --------
    >>> low, high = newcombe(36, 12, 2, 0)
    >>> round(low, 4), round(high, 4)
    (0.0569, 0.3404)
    """
    n = both + only_one + only_other + neither
    margins = both + only_one, only_other + neither, both + only_other, only_one + neither
    product = float(margins[0]) * margins[1] * margins[2] * margins[3]
    cross_difference = both * neither - only_one * only_other
    # Continuity correction of φ: only a positive correlation is reduced, and not below 0.
    agreement = max(cross_difference - n / 2, 0.0) if cross_difference > 0 else cross_difference
    share_a, share_b = ((count / n, *_wilson(count, n, level)) for count in (margins[0], margins[2]))
    return score_difference(share_a, share_b, agreement / sqrt(product) if product else 0.0)


def bonett_price(pairs: int, only_one: int, only_other: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return Bonett and Price's adjusted Wald interval for the difference of two paired proportions.

    One discordant pair of each kind is added: p₁₂ - p₂₁ ± z·√((p₁₂ + p₂₁ - (p₁₂-p₂₁)²)/(n+2)).

    References
    ----------
    Bonett & Price (2012), doi:10.3102/1076998611411915.

    Examples
    --------
    >>> low, high = bonett_price(100, 20, 5)
    >>> round(low, 4), round(high, 4)
    (0.0514, 0.2427)
    """
    # One pair is added to each discordant cell, and so two to the total (Bonett & Price 2012).
    total = pairs + 2
    ahead, behind = (only_one + 1) / total, (only_other + 1) / total
    half = float(scipy.special.ndtri((1 + level) / 2)) * sqrt((ahead + behind - (ahead - behind) ** 2) / total)
    return max(-1.0, ahead - behind - half), min(1.0, ahead - behind + half)


def mcnemar_mid_p(only_one: int, only_other: int) -> float:
    """Return the mid-p value of McNemar's test of equal numbers of discordant pairs; 1 without a discordant pair.

    The exact two-sided p-value is conservative; mid-p counts only half the probability of the observed table.

    References
    ----------
    Fagerland, Lydersen & Laake (2013), doi:10.1186/1471-2288-13-91.

    Examples
    --------
    >>> round(mcnemar_mid_p(1, 8), 4), mcnemar_mid_p(0, 0)
    (0.0215, 1.0)
    """
    n, fewer = only_one + only_other, min(only_one, only_other)
    if n == 0:
        return 1.0
    reached = float(scipy.special.bdtr(fewer, n, 0.5))
    # Mid-p: the observed table counts half. Both tails are equal, so 2 (P - p/2).
    here = reached - (float(scipy.special.bdtr(fewer - 1, n, 0.5)) if fewer else 0.0)
    return min(1.0, 2 * reached - here)


def _wilson(count: int, n: int, level: float) -> tuple[float, float]:
    low, high = wilson(count, n, level=level)
    assert low is not None
    assert high is not None
    return low, high
