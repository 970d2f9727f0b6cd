"""Chance-corrected agreement between raters, with intervals over clusters of the rated units.

In every function `ratings` is float (n, R): one row per unit (a turn or a rollout), one column per rater, NaN where a rater
gave no rating. The numbers identify categories; their distances matter only if you request a scale. Each coefficient is a
function of totals over units, so a bootstrap replicate is one row of a matrix product.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rollwise.errors import ArgumentError, counted
from rollwise.stats import coefficients
from rollwise.stats.bootstrap import (
    acceleration,
    bca_flaw,
    bca_interval,
    expanded,
    null_flaw,
    percentile_interval,
    too_few_to_draw,
)
from rollwise.stats.clusters import ONE_CLUSTER, crossed, groupings, unaddable
from rollwise.stats.coefficients import Coefficient, Weights, agreeing_pairs, categories_of, ratings_per_unit, ratio
from rollwise.stats.estimate import BoolArray, Clusters, Estimate, FloatArray, IntArray
from rollwise.stats.replicates import count_sums
from rollwise.stats.student import t_quantile

__all__ = ["Scale", "Weights", "ac1", "agreeing_share", "alpha", "kappa"]

Scale = Literal["nominal", "ordinal", "interval"]
Interval = Literal["auto", "t", "bca", "percentile"]

MOST_CELLS = 5_000_000
"""Largest table of clusters x totals that is kept in memory."""

_FEWEST_RARE = 15
"""Fewest units with a rating besides the most common one for which kappa's and alpha's intervals hold: with 9, .86 of them do."""

TOO_MANY = "distinct ratings are no categories: cut them in two, or take alpha on the interval scale"
NO_PAIRS = "no unit has two ratings"
ONE_CATEGORY = "one category everywhere: agreement beyond chance is undefined"
NO_DISAGREEMENT = "no disagreement anywhere: its interval is undefined, that of the raw agreement is not"


def kappa(
    ratings: ArrayLike,
    clusters: Clusters,
    *,
    weights: Weights = None,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    resamples: int = 10_000,
    interval: Interval = "auto",
) -> Estimate:
    """Estimate Cohen's kappa of two raters, 1 - D_o/D_e: observed disagreement over the disagreement expected by chance.

    Chance means independent raters who use each category as often as these two raters do.

    Parameters
    ----------
    ratings
        Float (n, 2); units with a missing rating are left out.
    clusters
        Tuple of none, one or two integer code arrays (n,).
    weights
        Disagreement between two categories: None for 1 wherever they differ, ``"linear"`` for their distance,
        ``"quadratic"`` for its square.
    level
        Nominal coverage.
    rng, resamples
        Generator and number of replicates of the bootstrap.
    interval
        ``"auto"``: expanded BCa bootstrap over clusters, as in `mean`; t with G-1 degrees of freedom below ten clusters and
        where BCa is undefined, and t with min(A, B) - 1 for two crossed ways. Or one of ``"t"``, ``"bca"``, ``"percentile"``.

    Returns
    -------
    Estimate
        At most 1; 0 at chance. The standard error is the jackknife's over clusters. All values are None if only one category
        occurs; the bounds are None without any disagreement or with one cluster. `n` counts the units with both ratings.

    References
    ----------
    Cohen (1960), doi:10.1177/001316446002000104; Cohen (1968), doi:10.1037/h0026256; Efron (1987),
    doi:10.1080/01621459.1987.10478410; Hesterberg (2015), doi:10.1080/00031305.2015.1089789.

    Examples
    --------
    >>> found = kappa([[1, 1], [1, 0], [0, 0], [0, 0]], (), interval="t")
    >>> found.estimate, found.n
    (0.5, 4)
    """
    rated = np.asarray(ratings, dtype=np.float64).reshape(-1, 2)
    both = np.asarray(~np.isnan(rated).any(axis=1))
    values, codes = categories_of(rated[both])
    if weights is not None and (flaw := unaddable(values)) is not None:
        return Estimate(n=len(codes), reason=flaw)
    coefficient = coefficients.kappa(values, codes, weights)
    estimate = _estimate(coefficient, both, clusters, values.size, _Request(interval, level, rng, resamples))
    return _if_rare(estimate, codes)


def alpha(
    ratings: ArrayLike,
    clusters: Clusters,
    *,
    scale: Scale = "nominal",
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    resamples: int = 10_000,
    interval: Interval = "auto",
) -> Estimate:
    """Estimate Krippendorff's alpha of any number of raters: 1 - D_o/D_e over all pairable ratings, regardless of the rater.

    Parameters
    ----------
    ratings
        Float (n, R), NaN where missing; units with fewer than two ratings are left out.
    clusters, level, rng, resamples, interval
        See `kappa`. The bootstrap draws clusters of units, not single ratings.
    scale
        Disagreement between ratings x and y. ``"nominal"``: 1 if they differ; ``"interval"``: (x - y)²; ``"ordinal"``: the
        squared distance between their mid-ranks among all ratings.

    Returns
    -------
    Estimate
        As in `kappa`; `n` counts the units with two or more ratings.

    References
    ----------
    Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, https://repository.upenn.edu/asc_papers/43; Hayes &
    Krippendorff (2007), doi:10.1080/19312450709336664.

    Examples
    --------
    >>> round(alpha([[1, 1], [1, 0], [0, 0], [0, 0]], (), interval="t").estimate, 4)
    0.5333
    """
    rated = np.asarray(ratings, dtype=np.float64)
    pairable = (~np.isnan(rated)).sum(axis=1) >= 2
    values, codes = categories_of(rated[pairable])
    if scale == "interval" and (flaw := unaddable(values)) is not None:
        return Estimate(n=len(codes), reason=flaw)
    coefficient = coefficients.ALPHAS[_checked_choice(scale, Scale, "scale")](values, codes)
    estimate = _estimate(coefficient, pairable, clusters, values.size, _Request(interval, level, rng, resamples))
    return _if_rare(estimate, codes)


def ac1(
    ratings: ArrayLike,
    clusters: Clusters,
    *,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    resamples: int = 10_000,
    interval: Interval = "auto",
) -> Estimate:
    """Estimate Gwet's AC1 of any number of raters: agreement beyond chance that stays stable when one category dominates.

    (p_a - p_e) / (1 - p_e), with p_a the share of agreeing pairs, averaged over units with two ratings or more, and
    p_e = Σ π(1 - π) / (K - 1) over the K categories seen (2π(1 - π) for two), π averaged over all rated units.

    Parameters
    ----------
    ratings, clusters, level, rng, resamples, interval
        See `alpha`. Units with one rating count toward π, as in Gwet's own programs.

    Returns
    -------
    Estimate
        As in `kappa`; `n` counts the units with two or more ratings.

    References
    ----------
    Gwet (2008), doi:10.1348/000711006X126600.

    Examples
    --------
    >>> round(ac1([[1, 1], [1, 0], [0, 0], [0, 0]], (), interval="t").estimate, 4)
    0.5294
    """
    rated = np.asarray(ratings, dtype=np.float64)
    # A unit with a single rating tells how common its category is, though not whether raters agree.
    rated_rows = np.asarray(~np.isnan(rated).all(axis=1))
    values, codes = categories_of(rated[rated_rows])
    estimate = _estimate(
        coefficients.ac1(values, codes), rated_rows, clusters, values.size, _Request(interval, level, rng, resamples)
    )
    return replace(estimate, n=int((ratings_per_unit(codes) >= 2).sum()))


def agreeing_share(ratings: ArrayLike) -> FloatArray:
    """Return the share of equal pairs among each unit's ratings: float (n,), NaN for units with fewer than two ratings.

    Examples
    --------
    >>> agreeing_share([[1, 1, 0], [1, 1, np.nan]]).round(2).tolist()
    [0.33, 1.0]
    """
    values, codes = categories_of(np.asarray(ratings, dtype=np.float64))
    n_ratings = ratings_per_unit(codes)
    return ratio(agreeing_pairs(codes, values.size), (n_ratings * (n_ratings - 1)).astype(np.float64))


def _checked_choice(choice: str, allowed: object, name: str) -> str:
    if choice not in get_args(allowed):
        raise ArgumentError(f"{name} is {choice!r}; it must be one of {', '.join(map(str, get_args(allowed)))}")
    return choice


def _if_rare(estimate: Estimate, codes: IntArray) -> Estimate:
    """Give an interval its reason where few units are rated anything but the most common category."""
    if estimate.low is None:
        return estimate
    highest = codes.max(axis=1)
    lowest = np.where(codes < 0, highest[:, None], codes).min(axis=1)
    is_rated = highest >= 0
    # The category that leaves the fewest units is the most common one: most units have it alone.
    alone = np.bincount(highest[is_rated & (lowest == highest)])
    units = int(is_rated.sum() - alone.max(initial=0))
    if units >= _FEWEST_RARE:
        return estimate
    text = (
        f"only {counted(units, 'unit is', 'units are')} rated anything but the most common category: the interval contains the "
        "true agreement less often than its level says, that of AC1 and of the raw agreement does not"
    )
    return replace(estimate, reason="; ".join(filter(None, [estimate.reason, text])))


@dataclass(frozen=True, slots=True)
class _Request:
    """The requested interval and how to draw it."""

    interval: Interval
    level: float
    rng: np.random.Generator | None
    resamples: int


def _estimate(
    coefficient: Coefficient, rows: BoolArray, clusters: Clusters, categories: int, request: _Request
) -> Estimate:
    """Return the coefficient of the selected rows with its interval over clusters."""
    _checked_choice(request.interval, Interval, "interval")
    n = int(rows.sum())
    units = groupings(tuple(np.asarray(way)[rows] for way in clusters), n)
    smallest = min(unit.count for unit in units)
    point = Estimate(n=n, n_clusters=smallest)
    if n == 0 or categories < 2:
        return replace(point, reason=ONE_CATEGORY if n else NO_PAIRS)
    if coefficient.width * max(unit.count for unit in units) > MOST_CELLS:
        return replace(point, reason=f"{categories} {TOO_MANY}")
    sums = [coefficient.sums(unit) for unit in units]
    totals = sums[0].sum(axis=0)
    value = float(coefficient.value(totals))
    point = replace(point, estimate=None if math.isnan(value) else value)
    # Leave-one-out values cost one subtraction per cluster, because a coefficient depends on the data through totals only.
    without = [coefficient.value(totals - cluster_totals) for cluster_totals in sums]
    variance = float(crossed([_jackknife_variance(values) for values in without])) if smallest > 1 else math.nan
    if flaw := _flaw(value, variance, smallest):
        return replace(point, reason=flaw)
    point = replace(point, std_error=math.sqrt(variance))
    prefix = "two-way " if len(units) > 1 else "" if smallest == n else "cluster "
    too_few = too_few_to_draw(smallest) if len(units) == 1 else None
    if request.interval == "t" or (request.interval == "auto" and (too_few or len(units) > 1)):
        return _t(point, request.level, f"{prefix}t", too_few if request.interval == "auto" else None)
    if len(units) > 1:
        return replace(point, reason=f"no {request.interval} bootstrap over two crossed ways: ask for t")
    return _bootstrap(point, coefficient, sums[0], without[0], request, prefix)


def _flaw(value: float, variance: float, clusters: int) -> str | None:
    """Return the reason why no interval exists, or None."""
    if math.isnan(value):
        return NO_PAIRS
    if clusters < 2:
        return ONE_CLUSTER
    if math.isnan(variance):
        return "one cluster holds all but one category: no interval over clusters"
    if variance > (1e-12 * max(1.0, abs(value))) ** 2:
        return None
    return NO_DISAGREEMENT if value == 1 else "no variation between clusters"


def _bootstrap(
    point: Estimate, coefficient: Coefficient, sums: FloatArray, without: FloatArray, request: _Request, prefix: str
) -> Estimate:
    if request.rng is None:
        raise ArgumentError("a bootstrap interval needs rng, a numpy.random.Generator")
    replicates = coefficient.value(count_sums(sums, rng=request.rng, resamples=request.resamples))
    value = point.estimate or 0.0
    if request.interval == "percentile":
        (low, high), name = percentile_interval(replicates, request.level), f"{prefix}percentile"
        flaw = null_flaw(replicates) or "the bootstrap interval has no width"
    else:
        is_auto = request.interval == "auto"
        level = expanded(request.level, point.n_clusters) if is_auto else request.level
        a, name = acceleration(-without), f"{'expanded ' if is_auto else ''}{prefix}BCa"
        low, high = bca_interval(replicates, value, a, level)
        flaw = bca_flaw(replicates, value, a, level) or ""
    point = replace(point, resamples=request.resamples)
    if low is not None:
        return replace(point, low=low, high=high, method=f"{name} bootstrap")
    if request.interval != "auto":
        return replace(point, reason=flaw)
    return _t(point, request.level, f"{prefix}t", f"BCa is undefined: {flaw}")


def _jackknife_variance(without: FloatArray) -> FloatArray:
    """Return the jackknife variance from the leave-one-cluster-out values: (G - 1)/G · Σ (θ₍₋g₎ - θ̄)²."""
    count = without.size
    return np.asarray((count - 1) / count * np.square(without - without.mean()).sum())


def _t(point: Estimate, level: float, method: str, reason: str | None = None) -> Estimate:
    """Add a t interval from the jackknife standard error, clipped to [-1, 1]."""
    # A coefficient lies in [-1, 1], and the jackknife's error may reach beyond.
    half = t_quantile(level, point.n_clusters - 1) * (point.std_error or 0.0)
    center = point.estimate or 0.0
    return replace(point, low=max(-1.0, center - half), high=min(1.0, center + half), method=method, reason=reason)
