"""Ranks from pairs that are told apart, and the chance of being best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rollwise.stats.ranks import best_shares, ranks_of, tiers_of


def of_pairs(groups: int, *pairs: tuple[int, int]) -> np.ndarray:
    """Which group is behind which, from pairs (behind, before)."""
    behind = np.zeros((groups, groups), dtype=bool)
    for one, other in pairs:
        behind[one, other] = True
    return behind


def test_ranks_count_those_that_are_shown_to_be_better_and_worse() -> None:
    """Four groups by hand: 3 is behind 0 and 1, 2 is behind 0. So 0 has at most rank 4 - 2 = 2, and 3 at least 1 + 2 = 3."""
    low, high = ranks_of(of_pairs(4, (3, 0), (3, 1), (2, 0)))
    assert (low.tolist(), high.tolist()) == ([1, 1, 2, 3], [2, 3, 4, 4])


def test_tiers_hold_groups_that_are_not_told_apart() -> None:
    """0 and 1 have none before them; of the rest, 2 has none, and 3 is behind 2; a circle is one tier."""
    assert tiers_of(of_pairs(4, (3, 0), (3, 2), (2, 0))).tolist() == [1, 1, 2, 3]
    assert tiers_of(of_pairs(3)).tolist() == [1, 1, 1]
    assert tiers_of(of_pairs(3, (0, 1), (1, 2), (2, 0))).tolist() == [1, 1, 1]
    assert tiers_of(of_pairs(4, (0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))).tolist() == [2, 2, 2, 1]


@pytest.mark.integration
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10)), min_size=1, max_size=12))
def test_by_intervals_that_hold_every_rank_is_within_its_own(groups: list[tuple[int, int]]) -> None:
    """Where a group is behind another only if it truly is, the rank by true values lies within each interval."""
    values = np.array([value for value, _ in groups])
    width = np.array([width for _, width in groups])
    behind = values[:, None] + width[:, None] < values[None, :]  # shown only where the difference exceeds a margin
    low, high = ranks_of(behind)
    better = (values[None, :] > values[:, None]).sum(axis=1)
    worse = (values[None, :] < values[:, None]).sum(axis=1)
    assert (low <= 1 + better).all()
    assert (high >= values.size - worse).all()
    tiers = tiers_of(behind)
    assert not any(behind[i, j] for i in range(values.size) for j in range(values.size) if tiers[i] == tiers[j])


@pytest.mark.integration
def test_the_chance_of_one_rollout_a_goal_is_that_of_two_beta_posteriors() -> None:
    """With goals of their own and one rollout each, the draws are of Jeffreys' posteriors: P(Beta(1.5, 9.5) < Beta(4.5, 6.5))."""
    sums = np.concatenate([np.repeat([1.0, 0.0], [1, 9]), np.repeat([1.0, 0.0], [4, 6])])
    own = np.repeat([0, 1], 10)
    of_group = np.stack([own == 0, own == 1]).astype(float)
    shares = best_shares(of_group * sums, of_group, lower=True, share=True, rng=np.random.default_rng(1), draws=40_000)
    one, other = scipy_stats.beta(1.5, 9.5), scipy_stats.beta(4.5, 6.5)
    x = np.linspace(0, 1, 20_001)
    exact = float(np.trapezoid(one.pdf(x[1:-1]) * other.sf(x[1:-1]), x[1:-1]))
    assert shares.sum() == pytest.approx(1)
    assert shares[0] == pytest.approx(exact, abs=0.008)


def test_nothing_in_five_is_no_rate_of_zero() -> None:
    """0 of 5 is not surely better than 3 of 100, as a plain bootstrap would say."""
    own = np.repeat([0, 1], [5, 100])
    counts = np.stack([own == 0, own == 1]).astype(float)
    sums = np.zeros((2, 105))
    sums[1, 5:8] = 1
    shares = best_shares(sums, counts, lower=True, share=True, rng=np.random.default_rng(2), draws=4_000)
    assert 0.4 < shares[0] < 0.6


def test_ties_are_shared_and_pairing_is_kept() -> None:
    """Three groups with equal numbers at every goal share all draws; one that is higher at every goal always wins."""
    numbers = np.random.default_rng(3).normal(size=(1, 20))
    sums = np.concatenate([numbers, numbers, numbers])
    shares = best_shares(sums, np.ones((3, 20)), lower=False, share=False, rng=np.random.default_rng(4), draws=1_000)
    assert shares.tolist() == pytest.approx([1 / 3] * 3)
    sums = np.concatenate([numbers, numbers + 1e-3])
    shares = best_shares(sums, np.ones((2, 20)), lower=False, share=False, rng=np.random.default_rng(4), draws=1_000)
    assert shares.tolist() == [0, 1]
