"""Difference of two arms' means over their common goals."""

from dataclasses import replace
from math import sqrt
from typing import NamedTuple

import numpy as np

from rollwise.choices import DifferenceMethod
from rollwise.stats.clusters import unaddable, variation
from rollwise.stats.differences import MOST_UNEQUAL, ONE_PAIR, UNEQUAL, Arm, Difference, Draws, Ends, t_test, with_test
from rollwise.stats.estimate import Clusters, Estimate, FloatArray, IntArray
from rollwise.stats.mean import OF_A_MEAN, mean
from rollwise.stats.mean_bootstrap import Interval
from rollwise.stats.pairs import (
    SizedShare,
    bonett_price,
    mcnemar_mid_p,
    newcombe,
    score_difference,
    score_p_value,
    share_of,
    sized,
)
from rollwise.stats.permutation import Permuted, sign_flip
from rollwise.stats.proportion import proportion

FEWEST_DISCORDANT = 6
"""Fewest goals with a difference for which t is used with proportions: with five, no sign flip can reach p = .05."""


class Pairs(NamedTuple):
    """Goals in both arms: codes, mean values, and numbers of rollouts in each arm, all (G,)."""

    units: IntArray
    first: FloatArray
    second: FloatArray
    rollouts_one: FloatArray
    rollouts_other: FloatArray


def paired(arm_a: Arm, arm_b: Arm) -> Pairs:
    """Match the units that occur in both arms (for two ways: the cells), with each arm's mean per unit.

    Examples
    --------
    >>> pairs = paired(
    ...     Arm(np.array([1.0, 0.0, 1.0]), (np.array([0, 0, 1]),)), Arm(np.array([0.0, 1.0]), (np.array([0, 2]),))
    ... )
    >>> pairs.units.tolist(), pairs.first.tolist(), pairs.second.tolist()
    ([0], [0.5], [0.0])
    """
    keys = [_key(arm.clusters) for arm in (arm_a, arm_b)]
    common = np.intersect1d(keys[0], keys[1])
    means, sizes = [], []
    for arm, key in zip((arm_a, arm_b), keys, strict=True):
        in_common = np.isin(key, common)
        place = np.searchsorted(common, key[in_common])
        count = np.bincount(place, minlength=common.size).astype(np.float64)
        means.append(np.bincount(place, weights=arm.values[in_common], minlength=common.size) / np.maximum(count, 1))
        sizes.append(count)
    return Pairs(common, means[0], means[1], sizes[0], sizes[1])


_WIDE = 1 << 32


def _key(clusters: Clusters) -> IntArray:
    """Return one code per rollout: the unit, or the cell of two ways."""
    return clusters[0] if len(clusters) == 1 else clusters[0] * _WIDE + clusters[1]


def _ways(units: IntArray, ways: int) -> Clusters:
    return () if ways == 1 else (units // _WIDE, units % _WIDE)


def paired_difference(
    pairs: Pairs, draws: Draws, *, share: bool, level: float = 0.95, method: DifferenceMethod = "auto", ways: int = 1
) -> Difference:
    """Estimate the mean difference of two arms over their common goals, with equal weight for every goal.

    Proportions: with one rollout per goal and arm, Newcombe's score interval for pairs and McNemar's mid-p. With several, t with
    G-1 degrees of freedom over the goals' differences, and sign flips. If fewer than six goals differ, their variance is hardly
    known; then the score intervals of both shares at their effective sizes are combined at the correlation of the goals' rates.

    If one arm has at least twice as many attempts per goal, differences of rates are skewed even if both arms have the same
    chances: flipping signs rejects in up to .2 at a nominal .05, and t covers as little as .86. Then the combined score intervals
    are used, which cover .95 to .99, and their p-value, found by inversion. Of numbers `reason` says so.

    Numbers: t with G-1 degrees of freedom, and sign flips. If both arms have the same distribution, the differences are not
    skewed, but BCa estimates skewness from outliers (40 goals, lognormal arms: it covers .90; t covers .95 and is narrower).

    Two crossed ways: t with Satterthwaite's degrees of freedom (`clusters.crossed_df`) over the common cells.

    Parameters
    ----------
    pairs
        From `paired`.
    draws
        Random generators, keyed by the common goals.
    share
        True if the values are 0 and 1.
    level
        Nominal coverage.
    method
        ``"auto"`` as above, or an interval by name.
    ways
        1 or 2.

    Returns
    -------
    Difference
        Without a common goal all values are None; with one, only the difference is given. If all differences are equal,
        proportions keep their score interval and numbers have none. Without any difference p = 1.

    References
    ----------
    Newcombe (1998), doi:10.1002/(SICI)1097-0258(19981130)17:22<2635::AID-SIM954>3.0.CO;2-C; Fagerland, Lydersen & Laake
    (2013), doi:10.1186/1471-2288-13-91; Miller (2024), arXiv:2411.00640.

    Examples
    --------
    >>> pairs = Pairs(np.arange(4), np.ones(4), np.array([1.0, 0, 0, 1]), np.ones(4), np.ones(4))
    >>> draws = Draws(np.random.default_rng(0), np.random.default_rng(1), 2000)
    >>> found = paired_difference(pairs, draws, share=True)
    >>> found.difference, round(found.low, 3), round(found.high, 3), found.p_value, found.method
    (0.5, -0.102, 0.85, 0.25, 'Newcombe score, paired; McNemar mid-p')
    """
    if flaw := unaddable(np.concatenate([pairs.first, pairs.second])):
        return Difference(n_clusters=pairs.units.size, reason=flaw)
    differences = pairs.first - pairs.second
    if not differences.size:
        return Difference(reason="no common goal")
    spread = variation(differences, _ways(pairs.units, ways))
    row = Difference(
        difference=spread.estimate,
        std_error=sqrt(spread.variance) if spread.variance else None,
        n_clusters=spread.n_clusters,
    )
    if differences.size == 1 or spread.variance is None:
        return replace(row, reason=ONE_PAIR)
    test: Permuted | None
    unequal = are_unequal(pairs)
    single = share and ways == 1 and float(pairs.rollouts_one.max()) == float(pairs.rollouts_other.max()) == 1
    if single:
        counts = _table(pairs)
        test = Permuted(mcnemar_mid_p(counts[1], counts[2]), "McNemar mid-p", None)
    elif share and ways == 1 and unequal:
        test = _score_test(pairs)
    elif ways == 1:
        test = sign_flip(_clean(differences), rng=draws.test, resamples=draws.resamples, lattice=share)
    elif spread.variance > 0 or spread.estimate == 0:
        test = t_test(spread.estimate or 0.0, spread.variance, spread.df or 0)
    else:
        test = None
    ends = _paired_ends(pairs, differences, draws, share=share, single=single, level=level, method=method, ways=ways)
    if unequal and not (share and ways == 1 and method in {"auto", "newcombe"}):
        ends = ends._replace(reason=ends.reason or UNEQUAL)
    return with_test(row, ends.of_shares() if share else ends, test)


def are_unequal(pairs: Pairs) -> bool:
    """Return whether one arm has on average at least twice as many attempts per goal, whichever arm it is at each goal.

    Examples
    --------
    >>> pairs = Pairs(np.arange(2), np.zeros(2), np.zeros(2), np.array([6.0, 3.0]), np.array([3.0, 6.0]))
    >>> are_unequal(pairs), are_unequal(pairs._replace(rollouts_other=np.array([5.0, 2.0])))
    (True, False)
    """
    # The variance of a goal's rate is proportional to 1 / attempts.
    variances = 1 / pairs.rollouts_one, 1 / pairs.rollouts_other
    return bool(np.maximum(*variances).sum() >= MOST_UNEQUAL * np.minimum(*variances).sum() * (1 - 1e-12))


def _clean(differences: FloatArray) -> FloatArray:
    """Set differences of means below rounding error to 0."""
    return np.where(np.abs(differences) <= 1e-13 * max(float(np.abs(differences).max()), 1e-300), 0.0, differences)


def _table(pairs: Pairs) -> tuple[int, int, int, int]:
    success_a, success_b = pairs.first > 0.5, pairs.second > 0.5
    return tuple(
        int(np.count_nonzero(cell))
        for cell in (success_a & success_b, success_a & ~success_b, ~success_a & success_b, ~success_a & ~success_b)
    )  # type: ignore[return-value]


def _paired_ends(
    pairs: Pairs,
    differences: FloatArray,
    draws: Draws,
    *,
    share: bool,
    single: bool,
    level: float,
    method: DifferenceMethod,
    ways: int,
) -> Ends:
    if method == "bonett-price":
        if not single:
            return Ends(reason="Bonett and Price's interval is for one 0/1 rollout per goal and arm")
        _, ahead, behind, _ = _table(pairs)
        return Ends(*bonett_price(differences.size, ahead, behind, level=level), "Bonett-Price, paired")
    scored = single or are_unequal(pairs) or np.count_nonzero(_clean(differences)) < FEWEST_DISCORDANT
    if method == "newcombe" or (method == "auto" and share and ways == 1 and scored):
        if not share or ways > 1:
            return Ends(reason="a score interval is for shares over one way of clustering")
        if single:
            return Ends(*newcombe(*_table(pairs), level=level), "Newcombe score, paired")
        return Ends(*_clustered_score(pairs, level), "clustered Newcombe score, paired")
    interval = _of_a_mean(differences, _ways(pairs.units, ways), draws, level, "t" if method == "auto" else method)
    return interval._replace(method=interval.method and f"paired {interval.method}")


def _of_a_mean(
    differences: FloatArray, clusters: Clusters, draws: Draws, level: float, method: DifferenceMethod
) -> Ends:
    interval: Interval = OF_A_MEAN[method]
    if len(clusters) > 1 and interval == "bca":
        interval = "percentile"
    estimate = mean(
        differences,
        clusters,
        level=level,
        rng=draws.interval,
        resamples=draws.resamples,
        interval=interval,
    )
    return Ends(estimate.low, estimate.high, estimate.method, estimate.reason, estimate.resamples)


def _clustered_score(pairs: Pairs, level: float) -> tuple[float, float]:
    """Combine the score intervals of two shares at their effective sizes, using the correlation of the goals' rates."""
    shares = [share_of(estimate) for estimate in _shares(pairs, level)]
    return score_difference(shares[0], shares[1], _correlation(pairs))


def _score_test(pairs: Pairs) -> Permuted | None:
    """Invert the combined score intervals; None without them."""
    shares: list[SizedShare] = []
    for estimate in _shares(pairs, 0.95):
        # Rollouts that are all alone at their goal have Wilson's plain interval.
        share = sized(estimate, None if estimate.method == "Wilson" else estimate.n_clusters - 1)
        if share is None:
            return None
        shares.append(share)
    return Permuted(score_p_value(shares[0], shares[1], _correlation(pairs)), "score test", None)


def _shares(pairs: Pairs, level: float) -> list[Estimate]:
    """Estimate the share of each arm, every goal weighing the same."""
    goals = np.arange(pairs.units.size)
    shares, sizes = [], (pairs.rollouts_one, pairs.rollouts_other)
    for rates, size in zip((pairs.first, pairs.second), sizes, strict=True):
        # Rebuild each goal's 0/1 rollouts from its rate, weighted so that every goal counts equally.
        codes = np.concatenate([goals, goals])
        hits = np.rint(rates * size)
        number = np.concatenate([hits, size - hits])
        values = np.repeat(np.concatenate([np.ones(goals.size), np.zeros(goals.size)]), number.astype(np.int64))
        units = np.repeat(codes, number.astype(np.int64))
        shares.append(proportion(values, (units,), weights=1 / size[units], level=level))
    return shares


def _correlation(pairs: Pairs) -> float:
    """Return the correlation of the goals' rates with the continuity correction of Newcombe's φ, weighted as one attempt."""
    deviation_a, deviation_b = pairs.first - pairs.first.mean(), pairs.second - pairs.second.mean()
    scale = sqrt(float((deviation_a**2).mean()) * float((deviation_b**2).mean()))
    if scale <= 1e-15:
        return 0.0
    product = float((deviation_a * deviation_b).mean())
    attempts = float(min(pairs.rollouts_one.mean(), pairs.rollouts_other.mean()))
    correction = 1 / (2 * pairs.units.size * attempts)
    return float(np.clip((max(product - correction, 0.0) if product > 0 else product) / scale, -1.0, 1.0))
