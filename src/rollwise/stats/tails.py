"""Long tails: what they do to the interval of a mean, and whether the values have one.

Values that are never negative, such as turns, tokens, seconds and dollars, often have a long right tail. Few clusters hardly
show it; then the mean is too small, and so is the standard error, and the interval ends too low.
"""

import numpy as np

from rollwise.stats.bootstrap import FEWEST_CLUSTERS, FEWEST_FOR_CLOSED_FORM, shapes
from rollwise.stats.clusters import Variations
from rollwise.stats.estimate import Estimates, FloatArray
from rollwise.stats.student import t_quantiles
from rollwise.stats.units import Groups

LONG_TAIL = (
    "long tail of {} values: with so few of them, the interval contains the true mean less often than its level says; "
    "report the median too"
)
"""The reason of a mean whose interval may cover too little; the tail is of large or of small values."""

REACHES_FURTHER = (
    "long tail of large values, which so few of them hardly show: the upper end is that of a higher level; "
    "report the median too"
)
"""The reason of a mean whose upper end was raised for its tail."""

_LONG, _LESS = 0.3, 0.8
"""Least L-skewness of a long tail: 0 for normal values, 1/3 for exponential ones, .46 for a lognormal with σ = 1.

Few clusters G hardly show their tail, so the upper end reaches into one from `_LONG - _LESS / G` on.
"""

_SKEWED = 0.15
"""Least skewness of the mean, that of the clusters divided by √G, at which a long tail matters."""

_RARER = 5.0
"""How many times smaller the chance beyond the upper end becomes for a long tail: a level of .95 becomes .99.

Chosen by simulation, for lognormal (σ = 1), exponential, gamma, Pareto and zero-inflated values of 8 to 300 clusters: a
coverage of .91 becomes .93 to .95, and intervals that covered already become 10 to 20 % wider.
"""

_FEWEST = 6
"""Fewest clusters for the higher level: with fewer, t is so large that it covers not much more and is several times wider."""

_WIDEST = 1.0
"""Largest half width of t, relative to the mean, for the logarithm; its exponential would grow without limit."""


def reach_into_tails(
    result: Estimates, values: FloatArray, deviations: FloatArray, spread: Variations, groups: Groups, level: float
) -> None:
    """Raise the upper ends of right-skewed means without negative values, and give means of long tails their reason.

    The upper end becomes at least R·exp(t·se/R), which is t's for the logarithm of the mean by the delta method; from 1000
    clusters on this changes nothing that matters, and is left out. For a long tail of large values, t is that of a higher
    level, from six clusters on. A long tail of small values that are never negative is bounded by 0, and the bootstrap
    covers: only t of few clusters gets a reason. `result` is changed in place, where there is an interval.

    Parameters
    ----------
    values
        Float (n,).
    deviations
        Float (n,): w(y - R), whose sums over clusters show the skewness.
    spread
        Of the values.
    level
        Nominal coverage.
    """
    way = spread.ways[0]
    skewness = shapes(way.sums(deviations), way.groups)[1]
    is_bounded = ~np.isnan(result.high) & ~np.isnan(skewness)
    skewed = is_bounded & (np.abs(skewness) > _SKEWED * np.sqrt(np.maximum(way.counts, 1)))
    # Sorting all values takes long.
    tail = np.where(skewed, l_skewness(values, groups), 0.0) if skewed.any() else np.zeros(groups.count)
    long = np.abs(tail) > _LONG
    never_negative = groups.least(values) >= 0
    right = is_bounded & (skewness > 0) & never_negative & (way.counts < FEWEST_FOR_CLOSED_FORM)
    shows = tail > _LONG - _LESS / np.maximum(way.counts, 1)
    further = right & (way.counts >= _FEWEST) & shows
    with np.errstate(invalid="ignore", divide="ignore"):  # groups without an interval
        quantiles = t_quantiles(np.where(further, 1 - (1 - level) / _RARER, level), spread.df)
        relative = quantiles * np.sqrt(spread.variance) / spread.estimate
        high = spread.estimate * np.exp(np.minimum(relative, _WIDEST))
    raised = right & (high > result.high)
    result.high = np.where(raised, high, result.high)
    for group in np.flatnonzero(raised).tolist():
        result.method[group] += "; upper end by log t"
    has_many = 1 + spread.df >= FEWEST_CLUSTERS
    # A few negative values rule out the logarithm, but the tail is as long.
    doubtful = is_bounded & (skewness > 0) & (way.counts >= _FEWEST) & shows
    for group in np.flatnonzero(further | doubtful | (long & ((tail > 0) | ~(never_negative & has_many)))).tolist():
        text = REACHES_FURTHER if further[group] else LONG_TAIL.format("large" if tail[group] > 0 else "small")
        earlier = result.reason[group]
        result.reason[group] = text if earlier is None else f"{earlier}; {text}"


def l_skewness(values: FloatArray, groups: Groups) -> FloatArray:
    """Return the L-skewness of each group: float (T,) from -1 to 1, NaN for fewer than three or equal values.

    It is (6b₂ - 6b₁ + b₀) / (2b₁ - b₀) with the probability-weighted moments b of the ordered values. Unlike the skewness of
    moments, it hardly depends on whether the largest values of a tail were seen.

    References
    ----------
    Hosking (1990), doi:10.1111/j.2517-6161.1990.tb01775.x.

    Examples
    --------
    >>> l_skewness(np.array([1.0, 2.0, 3.0, 1.0, 2.0, 9.0]), Groups(np.array([0, 0, 0, 1, 1, 1]), 2)).round(3).tolist()
    [0.0, 0.75]
    """
    ordered = values[np.lexsort((values, groups.codes))]
    n = groups.sizes.astype(np.float64)
    below = np.arange(values.size) - groups.starts[groups.codes]
    with np.errstate(invalid="ignore", divide="ignore"):  # small groups, and equal values
        scaled = ordered / groups.largest(np.abs(ordered))[groups.codes]
        first = groups.sums(scaled) / n
        second = groups.sums(scaled * below) / (n * (n - 1))
        third = groups.sums(scaled * below * (below - 1)) / (n * (n - 1) * (n - 2))
        result = (6 * third - 6 * second + first) / (2 * second - first)
    return np.where((n > 2) & ~groups.are_equal(values), result, np.nan)
