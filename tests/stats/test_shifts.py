# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Two arms compared by rank, quantile and restricted time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter
from lifelines.utils import restricted_mean_survival_time
from scipy import stats

from turnwise.stats.differences import Arm, Draws
from turnwise.stats.shifts import (
    chance_of_more,
    paired_improvement,
    quantile_difference,
    restricted_difference,
    unpaired_improvement,
)


def draws(seed=0, resamples=2000):
    return Draws(np.random.default_rng(seed), np.random.default_rng(seed + 100), resamples)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=15),
    st.lists(st.integers(0, 4), min_size=1, max_size=15),
)
def test_chance_equals_mann_whitney(one, other):
    """U / (n·m) of scipy, ties counting half; the two directions add up to one."""
    a, b = np.array(one, float), np.array(other, float)
    assert chance_of_more(a, b) == pytest.approx(stats.mannwhitneyu(a, b).statistic / (a.size * b.size))
    assert chance_of_more(a, b) + chance_of_more(b, a) == pytest.approx(1.0)


def test_paired_improvement_is_the_mean_over_goals():
    """Each goal's own Mann-Whitney share, averaged: a goal with many rollouts counts once."""
    goal = np.r_[np.zeros(10, int), np.ones(2, int), np.full(2, 2)]
    one = Arm(np.r_[np.ones(10), 0.0, 1.0, 5.0, 6.0], (goal,))
    other = Arm(np.array([0.0, 0.0, 1.0, 7.0]), (np.array([0, 1, 1, 2]),))
    found = paired_improvement(one, other, draws())
    assert found.difference == pytest.approx((1.0 + 0.5 + 0.0) / 3)
    assert found.n_clusters == 3
    assert found.low < found.difference < found.high


def test_improvement_of_nobody():
    """Equal arms: one half, with an interval, and p = 1; one goal has none."""
    goals = (np.arange(15),)
    found = paired_improvement(Arm(np.ones(15), goals), Arm(np.ones(15), goals), draws())
    assert (found.difference, found.p_value) == (0.5, 1.0)
    assert found.low < 0.5 < found.high
    one = paired_improvement(Arm(np.ones(3), (np.zeros(3, int),)), Arm(np.zeros(2), (np.zeros(2, int),)), draws())
    assert (one.difference, one.low) == (1.0, None)


def test_unpaired_improvement_is_delong():
    """DeLong's variance of the area under the curve, by its own formula, and that of whole clusters."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 1, 30), rng.normal(0, 1, 40)
    found = unpaired_improvement(Arm(a, ()), Arm(b, ()))
    ahead = (a[:, None] > b).astype(float)
    variance = ahead.mean(axis=1).var(ddof=1) / 30 + ahead.mean(axis=0).var(ddof=1) / 40
    assert found.difference == pytest.approx(ahead.mean())
    assert found.std_error == pytest.approx(np.sqrt(variance))
    copies = unpaired_improvement(
        Arm(np.repeat(a, 3), (np.arange(90) // 3,)), Arm(np.repeat(b, 3), (30 + np.arange(120) // 3,))
    )
    assert copies.std_error == pytest.approx(found.std_error, rel=1e-9)


@pytest.mark.parametrize("alike", [1, -1])
def test_unpaired_improvement_knows_what_goals_of_both_arms_have_in_common(alike):
    """Obuchowski's variance of a clustered area: goals hard for both arms make it surer, hard for one alone less sure."""
    rng = np.random.default_rng(1)
    goal = np.repeat(np.arange(30), 2)
    luck = rng.normal(0, 1, 30)[goal]
    a, b = luck + rng.normal(0.5, 0.5, 60), alike * luck + rng.normal(0, 0.5, 60)
    found = unpaired_improvement(Arm(a, (goal,)), Arm(b, (goal,)))
    ahead = (a[:, None] > b).astype(float)
    area = ahead.mean()
    ours, theirs = (np.bincount(goal, ahead.mean(axis=axis) - area) / 60 for axis in (1, 0))
    variance = 30 / 29 * np.array([ours @ ours, theirs @ theirs, ours @ theirs])
    assert found.std_error == pytest.approx(np.sqrt(variance @ [1, 1, 2]))
    assert (found.std_error < np.sqrt(variance @ [1, 1, 0])) == (alike > 0)
    assert found.n_clusters == 30


def test_medians_share_their_draws_when_paired():
    """Paired medians draw the same goals: an arm moved by a constant has a difference without spread, hence no interval."""
    rng = np.random.default_rng(1)
    values, goals = rng.normal(0, 3, 41), np.arange(41)
    pair = Arm(values + 1.0, (goals,)), Arm(values, (goals,))
    together = quantile_difference(*pair, (draws(), draws(9)), q=0.5, common=goals)
    assert together.difference == pytest.approx(1.0)
    assert together.low is None or together.high - together.low < 1e-9
    apart = quantile_difference(Arm(values + 1, ()), Arm(values, ()), (draws(), draws(9)), q=0.5)
    assert apart.low < 1 < apart.high
    assert 0 < apart.p_value <= 1


def test_restricted_means_equal_lifelines():
    """The areas under two Kaplan-Meier curves up to the common horizon; without clusters their variances add."""
    rng = np.random.default_rng(2)
    times, seen = [], []
    for hazard in (0.1, 0.3):
        event = rng.geometric(hazard, 80)
        cut = rng.integers(4, 11, 80)
        times.append(np.minimum(event, cut))
        seen.append(event <= cut)
    found = restricted_difference(tuple(times), tuple(seen), ((), ()))
    horizon = min(time.max() for time in times)
    areas = []
    for duration, event in zip(times, seen, strict=True):
        fitted = KaplanMeierFitter().fit(duration, event)
        areas.append(restricted_mean_survival_time(fitted, t=horizon))
    assert found.difference == pytest.approx(areas[0] - areas[1])
    assert found.p_value < 0.001
    assert found.low < found.difference < found.high


def test_paired_times_gain_from_shared_goals():
    """The same goals in both arms: what goals have in common leaves the difference."""
    rng = np.random.default_rng(3)
    hazard = np.repeat(rng.beta(1, 4, 40), 5)
    goal = np.repeat(np.arange(40), 5)
    times = tuple(np.minimum(rng.geometric(np.clip(hazard, 0.01, 1)), 10) for _ in range(2))
    seen = tuple(time < 10 for time in times)
    paired = restricted_difference(times, seen, ((goal,), (goal,)))
    apart = restricted_difference(times, seen, ((goal,), (goal + 40,)))
    assert paired.std_error < apart.std_error
    assert paired.difference == pytest.approx(apart.difference)


@pytest.mark.slow
def test_coverage(covers, record_property):
    """Improvement over 30 goals, DeLong, paired medians and restricted means, each at least .93 of a nominal .95."""
    rng, repetitions = np.random.default_rng(0), 800
    hits = dict.fromkeys(("paired", "delong", "median", "times"), 0)
    truth = stats.norm.cdf(0.5 / np.sqrt(2))
    goal = np.repeat(np.arange(30), 4)
    for _ in range(repetitions):
        ease = rng.normal(0, 1, 30)[goal]
        one, other = ease + rng.normal(0.5, 1, 120), ease + rng.normal(0, 1, 120)
        arms = Arm(one, (goal,)), Arm(other, (goal,))
        found = paired_improvement(*arms, draws(int(rng.integers(1 << 30)), 500))
        hits["paired"] += found.low <= truth <= found.high
        alone = unpaired_improvement(Arm(rng.normal(0.5, 1, 60), ()), Arm(rng.normal(0, 1, 60), ()))
        hits["delong"] += alone.low <= truth <= alone.high
        middle = quantile_difference(*arms, (draws(int(rng.integers(1 << 30)), 500),) * 2, q=0.5, common=np.arange(30))
        hits["median"] += middle.low <= 0.5 <= middle.high
        times = tuple(np.minimum(rng.geometric(0.2, 120), 8) for _ in range(2))
        watched = restricted_difference(times, tuple(time < 8 for time in times), ((goal,), (goal,)))
        hits["times"] += watched.low <= 0 <= watched.high
    record_property("coverage", {name: count / repetitions for name, count in hits.items()})
    for name, count in hits.items():
        assert covers(count, repetitions, 0.93), name
