# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""What k attempts reach: every subset counted, published figures, and the mistakes of others named."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from simulations import repeated

from rollwise.errors import ArgumentError
from rollwise.stats.clusters import Grouping
from rollwise.stats.incidence import kaplan_meier
from rollwise.stats.proportion import proportion
from rollwise.stats.repeats import best_of, held_in, reached_in

attempts_of_a_goal = st.integers(1, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, 9)))


@pytest.mark.integration
@given(attempts_of_a_goal)
def test_every_subset_is_counted(drawn):
    """ASR@k and pass^k are the shares of all k-subsets of the attempts with a success, and with nothing else."""
    c, n, k = drawn
    subsets = list(combinations([1] * c + [0] * (n - c), k))
    if not subsets:
        assert np.isnan([reached_in(k, c, n), held_in(k, c, n)]).all()
        return
    assert float(reached_in(k, c, n)) == pytest.approx(np.mean([any(subset) for subset in subsets]), abs=1e-12)
    assert float(held_in(k, c, n)) == pytest.approx(np.mean([all(subset) for subset in subsets]), abs=1e-12)


@pytest.mark.integration
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.integers(1, 8))
def test_best_of_is_the_mean_over_subsets(values, k):
    """E[best of k] is the mean of the largest over all k-subsets; NaN where there are too few."""
    found = best_of(k, values, Grouping(np.zeros(len(values), dtype=int), 1))[0]
    if k > len(values):
        assert np.isnan(found)
    else:
        assert found == pytest.approx(np.mean([max(subset) for subset in combinations(values, k)]), abs=1e-9)


def test_best_of_keeps_goals_apart():
    """Goals of different sizes, rows in any order: each has its own; equal values give exactly that value."""
    goals = Grouping(np.array([1, 0, 1, 0, 1, 2]), 3)
    assert best_of(2, [0.1, 4.0, 0.1, 2.0, 0.1, 7.0], goals) == pytest.approx([4.0, 0.1, np.nan], nan_ok=True)
    assert best_of(2, [0.1, 4.0, 0.1, 2.0, 0.1, 7.0], goals)[1] == 0.1


def test_one_success_in_eight_is_certain_in_eight():
    """Trap T5: verl draws 8 of 8 with replacement and says .66; drawn without, one of eight is there for certain."""
    with_replacement = 1 - (1 - 1 / 8) ** 8
    assert with_replacement == pytest.approx(0.656, abs=1e-3)
    assert float(reached_in(8, 1, 8)) == 1.0
    assert float(best_of(8, [0, 0, 0, 1, 0, 0, 0, 0], Grouping(np.zeros(8, dtype=int), 1))[0]) == 1.0


def test_many_attempts_keep_their_digits():
    """Ten thousand attempts: 1 - Π (1 - k/(n-i)) to ten digits, and exact ends."""
    n, c, k = 10_000, 3, 1_000
    exact = 1 - np.prod([1 - k / (n - i) for i in range(c)])
    assert float(reached_in(k, c, n)) == pytest.approx(exact, rel=1e-10)
    assert reached_in(k, [0, n], n).tolist() == [0.0, 1.0]


def test_no_attempt_is_refused():
    """Drawing no attempt is refused."""
    with pytest.raises(ArgumentError, match="give 1 or more"):
        reached_in(0, 1, 2)
    with pytest.raises(ArgumentError, match="give 1 or more"):
        best_of(0, [1.0], Grouping(np.zeros(1, dtype=int), 1))


def _loops(rng, goals, most, rate, icc, *, stop):
    """Attempts at goals: succeeded, number, goal; with `stop` none after the first success."""
    precision = (1 - icc) / icc
    chance = rng.beta(rate * precision, (1 - rate) * precision, goals)
    won = rng.random((goals, most)) < chance[:, None]
    made = np.cumsum(won, axis=1) - won == 0 if stop else np.ones_like(won)
    goal, number = np.nonzero(made)
    return won[goal, number], number + 1, goal


def _true_reach(rate, icc, k):
    precision = (1 - icc) / icc
    a, b = rate * precision, (1 - rate) * precision
    return 1 - np.exp(special.betaln(a, b + k) - special.betaln(a, b))


@pytest.mark.parametrize(("rate", "naive", "published"), [(0.1, 0.2354, 0.236), (0.3, 0.5138, 0.51)])
def test_the_mean_of_shares_of_stopped_goals_by_hand(rate, naive, published):
    """Goals alike, up to 10 attempts, none after a success: E[c/n] = Σ p(1-p)ᵗ⁻¹/t = .2354 for p = .1 and .5138 for .3.

    A goal broken at attempt t has the share 1/t, one never broken 0. The same goals drawn have that mean, as published (.236
    and .51) for those who average c/n; Kaplan-Meier at the first attempt has p.
    """
    t = np.arange(1, 11)
    assert np.sum(rate * (1 - rate) ** (t - 1) / t) == pytest.approx(naive, abs=5e-5)
    assert naive == pytest.approx(published, abs=5e-3)
    tried = np.minimum(np.random.default_rng(4).geometric(rate, 20_000), 11)
    broken, tried = tried <= 10, np.minimum(tried, 10)
    shares = reached_in(1, broken, tried)
    assert shares.mean() == pytest.approx(naive, abs=4 * shares.std() / np.sqrt(shares.size))
    found = kaplan_meier(tried, broken, ()).estimate
    assert found[1] == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) / 20_000))
    assert found[10] == pytest.approx(1 - (1 - rate) ** 10, abs=0.015)


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_attempts_that_stopped_need_kaplan_meier(rate):
    """Where loops stop, c/n per goal and Chen's formula are far off; Kaplan-Meier over attempts finds the truth."""
    rng = np.random.default_rng(5)
    won, _, goal = _loops(rng, 20_000, 5, rate, 0.3, stop=True)
    tried, broken = np.bincount(goal), np.bincount(goal, weights=won)
    assert np.mean(broken / tried) > rate * 1.4
    truth = _true_reach(rate, 0.3, 5)
    chen = reached_in(5, broken, tried)
    assert np.nanmean(chen) < truth / 2
    assert kaplan_meier(tried, broken, ()).estimate[5] == pytest.approx(truth, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "size", "rate", "icc", "k"),
    [(50, 5, 0.05, 0.3, 5), (50, 5, 0.3, 0.3, 3), (20, 5, 0.05, 0.3, 3), (20, 10, 0.3, 0.3, 5), (100, 10, 0.02, 0.3, 5),
     (100, 10, 0.02, 0.3, 10), (50, 20, 0.1, 0.3, 5), (30, 10, 0.8, 0.3, 5), (30, 20, 0.01, 0.6, 10), (50, 10, 0.05, 0.05, 5)],
)  # fmt: skip
def test_asr_at_k_covers(goals, size, rate, icc, k, goal_rates, covers):
    """Wilson at the effective number of goals covers ASR@k in every setting tried."""
    rng = np.random.default_rng(11)
    hits, repetitions, truth = 0, repeated(2000), _true_reach(rate, icc, k)
    for _ in range(repetitions):
        values = reached_in(k, rng.binomial(size, goal_rates(rng, goals, rate, icc)), np.full(goals, size))
        share = proportion(values, (np.arange(goals),), trials=size)
        hits += share.low <= truth <= share.high
    assert covers(hits, repetitions, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "least", "most", "rate", "icc", "k"),
    [(30, 5, 5, 0.3, 0.3, 3), (50, 2, 8, 0.3, 0.3, 3), (100, 5, 10, 0.3, 0.1, 5), (20, 3, 10, 0.5, 0.2, 5),
     (50, 20, 20, 0.2, 0.2, 5)],
)  # fmt: skip
def test_pass_at_k_of_unequal_attempts_covers(goals, least, most, rate, icc, k, goal_rates, covers):
    """All of k attempts succeed, where goals have few of them or many: at least .94.

    Where a goal of one choice in a hundred counted as one with a success it was .91, and .90 of 50 goals with 20 attempts.
    """
    rng, hits, repetitions = np.random.default_rng(13), 0, repeated(2000)
    precision = (1 - icc) / icc
    a, b = rate * precision, (1 - rate) * precision
    truth = np.exp(special.betaln(a + k, b) - special.betaln(a, b))
    for _ in range(repetitions):
        made = rng.integers(least, most + 1, goals)
        successes = rng.binomial(made, goal_rates(rng, goals, rate, icc))
        enough = made >= k
        values = held_in(k, successes[enough], made[enough])
        share = proportion(values, (np.arange(enough.sum()),), trials=made[enough].mean() / k)
        hits += share.low <= truth <= share.high
    assert covers(hits, repetitions, 0.94)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "icc"), [(0.1, 0.3), (0.3, 0.1), (0.03, 0.3)])
def test_kaplan_meier_over_attempts_covers(rate, icc, covers):
    """Loops of up to eight attempts that stop at success: the interval at 5 attempts holds the truth."""
    rng = np.random.default_rng(12)
    hits, repetitions, truth = 0, repeated(600), _true_reach(rate, icc, 5)
    for _ in range(repetitions):
        won, _, goal = _loops(rng, 50, 8, rate, icc, stop=True)
        point = kaplan_meier(np.bincount(goal), np.bincount(goal, weights=won), (np.arange(50),)).point(5)
        hits += point.low <= truth <= point.high
    assert covers(hits, repetitions, 0.94)


def test_at_one_attempt_the_interval_is_that_of_the_share():
    """With equal attempts ASR@1 is the rate, and so is its interval: goals as units of trials, or rollouts in clusters."""
    rng = np.random.default_rng(6)
    won = rng.random((30, 6)) < rng.beta(1, 4, 30)[:, None]
    rollouts = proportion(won.ravel().astype(float), (np.repeat(np.arange(30), 6),))
    goals = proportion(reached_in(1, won.sum(1), np.full(30, 6)), (np.arange(30),), trials=6)
    assert (goals.estimate, goals.low, goals.high) == pytest.approx((rollouts.estimate, rollouts.low, rollouts.high))


def test_the_lowest_of_all_may_be_infinite():
    """The largest of two of -inf, 1 and 4 is 1 once and 4 twice; of three it is 4, and of one it is -inf on average."""
    found = [best_of(k, [4.0, -np.inf, 1.0, 2.0], Grouping(np.array([0, 0, 0, 1]), 2)).tolist() for k in (1, 2, 3)]
    assert found[0] == [-np.inf, 2.0]
    assert [goals[0] for goals in found[1:]] == pytest.approx([3.0, 4.0])
    assert np.isnan([goals[1] for goals in found[1:]]).all()
