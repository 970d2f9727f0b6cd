"""Ranks of groups: by estimate, with an interval from pairs that differ, in tiers, and the chance of being best."""

import numpy as np

from rollwise.stats.estimate import BoolArray, FloatArray, IntArray

_BLOCK = 500  # draws that are held in memory at once


def ranks_of(behind: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the lowest and the highest rank that each group can have.

    A group that k others are shown to be better than has at least rank k + 1; one that is shown to be better than k others
    of m has at most rank m - k. If all directions in `behind` are right together with some probability, all intervals are.

    Parameters
    ----------
    behind
        Boolean (m, m): whether the group of the row is shown to be behind the group of the column.

    References
    ----------
    Klein, Wright & Wieczorek (2020), doi:10.1111/rssc.12402; Mogstad et al. (2024), doi:10.1093/restud/rdad006.

    Examples
    --------
    >>> behind = np.array([[False, False, False], [False, False, False], [True, True, False]])
    >>> [ends.tolist() for ends in ranks_of(behind)]
    [[1, 1, 3], [2, 2, 3]]
    """
    return 1 + behind.sum(axis=1), behind.shape[0] - behind.sum(axis=0)


def tiers_of(behind: BoolArray) -> IntArray:
    """Return the tier of each group: integer (m,), from 1.

    Tier 1 holds the groups that none is shown to be better than; tier 2 the groups that only groups of tier 1 are shown to
    be better than, and so on. No two groups of a tier are shown to differ.

    Parameters
    ----------
    behind
        Boolean (m, m): whether the group of the row is shown to be behind the group of the column.

    Examples
    --------
    >>> tiers_of(np.array([[False, False, False], [False, False, False], [True, False, False]])).tolist()
    [1, 1, 2]
    """
    tiers = np.zeros(behind.shape[0], dtype=np.int64)
    tier = 1
    while (unplaced := tiers == 0).any():
        first = unplaced & ~behind[:, unplaced].any(axis=1)
        # Pairs compared over different goals may form a circle (a behind b behind c behind a): it is one tier.
        tiers[first if first.any() else unplaced] = tier
        tier += 1
    return tiers


def best_shares(
    sums: FloatArray, counts: FloatArray, *, lower: bool, share: bool, rng: np.random.Generator, draws: int
) -> FloatArray:
    """Return the share of draws of a Bayesian bootstrap in which each group has the best mean: float (m,), ties shared.

    Each draw weighs the goals by independent exponential variables, the same for all groups, which keeps the pairing. For
    shares, each group also has half a goal without and half a goal with success: with one rollout a goal that is Jeffreys'
    posterior, and a group without any success is not taken for a rate of zero.

    Parameters
    ----------
    sums, counts
        Float (m, G): sum of the values and number of the rollouts of each group at each goal; 0 where it has none.
    lower
        Whether the lowest mean is best.
    share
        Whether the values are shares, in [0, 1].
    rng, draws
        Random generator and number of draws.

    References
    ----------
    Rubin (1981), doi:10.1214/aos/1176345338.

    Examples
    --------
    >>> sums, counts = np.array([[0.0] * 9, [1.0] * 9]), np.ones((2, 9))
    >>> best_shares(sums, counts, lower=True, share=True, rng=np.random.default_rng(0), draws=1000).round(2).tolist()
    [1.0, 0.0]
    """
    groups, goals = sums.shape
    per_goal = counts.sum(axis=1) / np.maximum((counts > 0).sum(axis=1), 1)
    wins = np.zeros(groups)
    for start in range(0, draws, _BLOCK):
        size = min(_BLOCK, draws - start)
        weights = rng.standard_exponential((size, goals))
        total, mass = weights @ sums.T, weights @ counts.T
        if share:
            failed, succeeded = rng.standard_gamma(0.5, (2, size, groups)) * per_goal
            total, mass = total + succeeded, mass + failed + succeeded
        means = total / mass
        best = means.min(axis=1) if lower else means.max(axis=1)
        is_best = np.abs(means - best[:, None]) <= 1e-12 * np.maximum(1.0, np.abs(best))[:, None]
        wins += (is_best / is_best.sum(axis=1, keepdims=True)).sum(axis=0)
    return wins / draws
