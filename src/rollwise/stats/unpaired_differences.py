"""Difference of two arms' means, with equal weight for every rollout."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from rollwise.choices import DifferenceMethod
from rollwise.stats.bootstrap import percentile_interval
from rollwise.stats.clusters import Variation, grouping, groupings, small_sample_factor, unaddable, variation
from rollwise.stats.differences import (
    MOST_UNEQUAL,
    NO_UNITS,
    UNEQUAL,
    Arm,
    Difference,
    Draws,
    Ends,
    difference_df,
    minus,
    t_test,
    with_test,
)
from rollwise.stats.estimate import FloatArray
from rollwise.stats.pairs import SizedShare, score_difference, score_p_value, share_of, sized
from rollwise.stats.permutation import Permuted, label_permutation
from rollwise.stats.proportion import proportion
from rollwise.stats.replicates import ratio_replicates
from rollwise.stats.student import t_quantile


def unpaired_difference(
    arm_a: Arm,
    arm_b: Arm,
    draws: tuple[Draws, Draws],
    *,
    share: bool,
    level: float = 0.95,
    method: DifferenceMethod = "auto",
) -> Difference:
    """Estimate the difference of two arms' means, with equal weight for every rollout.

    V = V₁ + V₂ - 2C over clusters, where C is the covariance from clusters in both arms (0 without such clusters). Proportions:
    the clustered score intervals of both arms, combined with the correlation C/√(V₁V₂). Numbers: t with the degrees of freedom
    of `difference_df`. The p-value permutes the labels of whole clusters with a studentized statistic; if clusters occur in both
    arms, it is that of t for numbers, and found by inverting the score intervals for proportions; also if one arm has
    at least twice as many attempts per cluster, where relabeling rejects in up to .18 at a nominal .05 (numbers have a reason).

    Parameters
    ----------
    arm_a, arm_b
        The arms; no clusters `()` for independent rollouts.
    draws
        Random generators of each arm; the test uses the first.
    share, level, method
        See `paired_difference`; bootstraps are percentile intervals of independent draws of the two arms.

    Returns
    -------
    Difference
        If an arm has no values, all values are None. If an arm has only one cluster, there is no interval.

    References
    ----------
    Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I; Chung & Romano (2013),
    doi:10.1214/13-AOS1090; Cameron & Miller (2015), doi:10.3368/jhr.50.2.317.

    Examples
    --------
    >>> arms = Arm(np.ones(7), ()), Arm(np.zeros(9), ())
    >>> rng = np.random.default_rng
    >>> found = unpaired_difference(*arms, (Draws(rng(0), rng(1), 999), Draws(rng(2), rng(3), 999)), share=True)
    >>> found.difference, round(found.low, 2), found.high
    (1.0, 0.54, 1.0)
    """
    if not arm_a.values.size or not arm_b.values.size:
        return Difference(reason=NO_UNITS)
    if flaw := unaddable(np.concatenate([arm_a.values, arm_b.values])):
        return Difference(reason=flaw)
    spreads = [variation(arm.values, arm.clusters) for arm in (arm_a, arm_b)]
    rates = float(spreads[0].estimate or 0.0), float(spreads[1].estimate or 0.0)
    row = Difference(difference=minus(*rates), n_clusters=sum(spread.n_clusters for spread in spreads))
    single = bool(arm_a.clusters) and min(spread.n_clusters for spread in spreads) < 2
    score = method in {"auto", "newcombe"} and share
    if single or (min(arm.values.size for arm in (arm_a, arm_b)) < 2 and not score):
        return replace(row, reason="one cluster in an arm: no interval over clusters")
    unequal = are_unequal_arms(arm_a, arm_b)
    variances = [spread.variance or 0.0 for spread in spreads]
    n_shared, joint = covariance(arm_a, arm_b, rates)
    variance = max(variances[0] + variances[1] - 2 * joint, 0.0)
    df = difference_df(spreads[0], spreads[1], shared=n_shared > 0)
    row = replace(row, std_error=sqrt(variance) if variance > 0 else None, n_clusters=row.n_clusters - n_shared)
    if n_shared or len(arm_a.clusters) > 1 or min(spread.n_clusters for spread in spreads) < 2:
        test = _score_test(arm_a, arm_b, spreads, variances, joint) if score else None
        if test is None and (variance > 0 or row.difference == 0):
            test = t_test(row.difference or 0.0, variance, df)
    else:
        test = _score_test(arm_a, arm_b, spreads, variances, joint) if score and unequal else None
        test = test or _relabel(arm_a, arm_b, draws[0], share=share)
    ends = _unpaired_ends(arm_a, arm_b, draws, row, variances, joint, df, share=share, level=level, method=method)
    if unequal and not score:
        ends = ends._replace(reason=ends.reason or UNEQUAL)
    return with_test(row, ends.of_shares() if share else ends, test)


def are_unequal_arms(arm_a: Arm, arm_b: Arm) -> bool:
    """Return whether one arm has on average at least twice as many rollouts per cluster.

    Examples
    --------
    >>> once, twice = (Arm(np.zeros(2 * size), (np.repeat([0, 1], size),)) for size in (1, 2))
    >>> are_unequal_arms(once, twice), are_unequal_arms(once, once)
    (True, False)
    """
    if not arm_a.clusters:
        return False
    # The variance of a cluster's rate is proportional to 1 / rollouts.
    few, most = sorted(float(np.mean(1 / np.bincount(grouping(arm.clusters[0]).codes))) for arm in (arm_a, arm_b))
    return most >= MOST_UNEQUAL * few * (1 - 1e-12)


def _score_test(
    arm_a: Arm, arm_b: Arm, spreads: Sequence[Variation], variances: list[float], joint: float
) -> Permuted | None:
    """Invert the combined score intervals of two shares; None without them."""
    shares: list[SizedShare] = []
    for arm, spread in zip((arm_a, arm_b), spreads, strict=True):
        estimate = proportion(arm.values, arm.clusters)
        df = spread.df if len(arm.clusters) > 1 else spread.n_clusters - 1
        share = sized(estimate, None if estimate.method == "Wilson" else df)
        if share is None:
            return None
        shares.append(share)
    p_value = score_p_value(shares[0], shares[1], _correlation(variances, joint))
    return Permuted(p_value, "score test", None)


def _correlation(variances: list[float], joint: float) -> float:
    product = sqrt(variances[0] * variances[1])
    return float(np.clip(joint / product, -0.999, 0.999)) if product > 0 else 0.0


def _unpaired_ends(
    arm_a: Arm,
    arm_b: Arm,
    draws: tuple[Draws, Draws],
    row: Difference,
    variances: list[float],
    joint: float,
    df: float,
    *,
    share: bool,
    level: float,
    method: DifferenceMethod,
) -> Ends:
    center = row.difference or 0.0
    if method in {"auto", "newcombe"} and share:
        intervals = [proportion(arm.values, arm.clusters, level=level) for arm in (arm_a, arm_b)]
        ends = score_difference(share_of(intervals[0]), share_of(intervals[1]), _correlation(variances, joint))
        plain = intervals[0].method == intervals[1].method == "Wilson"
        return Ends(*ends, "Newcombe score" if plain else "clustered Newcombe score")
    if method in {"bootstrap", "percentile", "basic"} and len(arm_a.clusters) < 2:
        return _drawn_ends(arm_a, arm_b, draws, center, level, method)
    if method not in {"auto", "t"}:
        return Ends(reason=f"no {method} interval of these two unpaired arms: ask for t or percentile")
    if row.std_error is None:
        return Ends(reason="no variation between clusters")
    half = t_quantile(level, df) * row.std_error
    if not center - half < center + half:
        return Ends(reason="no variation beyond rounding")
    prefix = ("", "cluster ", "two-way ")[len(arm_a.clusters)]
    return Ends(center - half, center + half, f"{prefix}t, unpaired")


def _drawn_ends(
    arm_a: Arm, arm_b: Arm, draws: tuple[Draws, Draws], center: float, level: float, method: DifferenceMethod
) -> Ends:
    """Return the percentile or basic interval from independent draws of both arms."""
    low, high = percentile_interval(_replicates(arm_a, draws[0]) - _replicates(arm_b, draws[1]), level)
    if low is None or high is None:
        return Ends(reason="the bootstrap interval has no width", resamples=draws[0].resamples)
    ends = (2 * center - high, 2 * center - low) if method == "basic" else (low, high)
    name = "basic" if method == "basic" else "percentile"
    return Ends(*ends, f"{name} bootstrap of both arms", None, draws[0].resamples)


def _replicates(arm: Arm, draws: Draws) -> FloatArray:
    unit = groupings(arm.clusters, arm.values.size)[0]
    return ratio_replicates(
        unit.sums(arm.values), unit.sums(np.ones(arm.values.size)), rng=draws.interval, resamples=draws.resamples
    )[:, 0]


def covariance(arm_a: Arm, arm_b: Arm, rates: Sequence[float]) -> tuple[int, float]:
    """Return the number of clusters in both arms (in the way with the fewest), and the resulting covariance of the two means.

    Examples
    --------
    >>> goals = (np.array([0, 1, 2]),)
    >>> covariance(Arm(np.array([0.0, 0.5, 1.0]), goals), Arm(np.array([1.0, 0.5, 0.0]), goals), [0.5, 0.5])
    (3, -0.0833...)
    """
    if not arm_a.clusters:
        return 0, 0.0
    split = arm_a.values.size
    joint_clusters = tuple(np.concatenate(ways) for ways in zip(arm_a.clusters, arm_b.clusters, strict=True))
    residuals = np.concatenate(
        [(arm.values - rate) / arm.values.size for arm, rate in zip((arm_a, arm_b), rates, strict=True)]
    )
    in_first = np.arange(residuals.size) < split
    parts, shared = [], []
    for unit in groupings(joint_clusters, residuals.size):
        sums_a, sums_b = unit.sums(np.where(in_first, residuals, 0.0)), unit.sums(np.where(in_first, 0.0, residuals))
        common = np.intersect1d(unit.codes[in_first], unit.codes[~in_first]).size
        shared.append(common)
        parts.append(np.asarray(small_sample_factor(common) * (sums_a @ sums_b) if common > 1 else 0.0))
    if not any(shared[: len(arm_a.clusters)]):
        return 0, 0.0
    # A covariance may be negative, so the ways are added without the maximum of `crossed`.
    total = parts[0] if len(parts) == 1 else parts[0] + parts[1] - parts[2]
    return min(shared[: len(arm_a.clusters)]), float(total)


def _relabel(arm_a: Arm, arm_b: Arm, draws: Draws, *, share: bool) -> Permuted:
    if arm_a.clusters:
        codes = grouping(np.concatenate([arm_a.clusters[0], arm_b.clusters[0]]))
    else:
        codes = groupings((), arm_a.values.size + arm_b.values.size)[0]
    values = np.concatenate([arm_a.values, arm_b.values])
    first = np.unique(codes.codes[: arm_a.values.size])
    return label_permutation(
        codes.sums(values),
        codes.sums(np.ones(values.size)),
        first,
        rng=draws.test,
        resamples=draws.resamples,
        lattice=share,
    )
