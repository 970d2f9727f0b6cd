"""A difference of two curves over goals crossed with tasks: its variance by hand, and its coverage."""

import numpy as np
import pytest
from simulations import repeated

from rollwise.stats.clusters import crossed, groupings, small_sample_factor
from rollwise.stats.two_curves import incidence_difference


def drawn(rng, goals=12, tasks=10, *, shared=1.0):
    """Two arms over the same crossed goals and tasks; how easy a goal is, is shared by both arms."""
    goal, task = (axis.ravel() for axis in np.meshgrid(np.arange(goals), np.arange(tasks), indexing="ij"))
    ease = rng.normal(0, 1.2, goals)[goal] * shared
    ends, how, arm = [], [], []
    for level in (-1.2, -1.7):
        chance = 1 / (1 + np.exp(-(level + ease + rng.normal(0, 0.3, tasks)[task])))
        happened = rng.random(goal.size) < chance
        ends.append(np.where(happened, rng.integers(1, 5, goal.size), 4))
        how.append(happened.astype(np.int64))
        arm.append(np.full(goal.size, level == -1.2))
    ways = (np.tile(goal, 2), np.tile(task, 2))
    return np.concatenate(ends), np.concatenate(how), np.concatenate(arm), ways


def test_the_variance_is_that_of_the_difference_over_both_ways():
    """Watched to the end, a share is a mean: its influences are known, and so is the crossed variance of the difference."""
    ends, how, arm, ways = drawn(np.random.default_rng(1))
    (*_, last) = incidence_difference(ends, how, arm, ways)
    moves = np.zeros(arm.size)
    for rows, sign in ((arm, 1), (~arm, -1)):
        moves[rows] = sign * (how[rows] - how[rows].mean()) / rows.sum()
    by_way = [np.asarray(small_sample_factor(u.count) * (u.sums(moves) ** 2).sum()) for u in groupings(ways, arm.size)]
    assert last.difference == pytest.approx(how[arm].mean() - how[~arm].mean())
    assert last.std_error == pytest.approx(float(np.sqrt(crossed(by_way))), rel=1e-9)


def test_arms_that_go_together_along_the_larger_way_are_pairs():
    """Goals, of which there are more, carry what both arms share: over both ways the interval is near that over goals.

    (With twenty tasks; t of five degrees of freedom, for six of them, is wide by itself.)
    """
    ends, how, arm, (goal, task) = drawn(np.random.default_rng(2), goals=40, tasks=20)
    width = {}
    for name, ways in (("both", (goal, task)), ("goal", (goal,))):
        last = incidence_difference(ends, how, arm, ways)[-1]
        assert last.low is not None
        assert last.high is not None
        width[name] = last.high - last.low
    assert width["both"] < 1.5 * width["goal"]


@pytest.mark.slow
def test_the_interval_covers_over_crossed_ways():
    """Nominal .95 over 400 samples of 25 goals x 12 tasks, whose true difference is that of all goals and tasks there are."""
    truth = []
    for seed in range(200):
        _, how, arm, _ = drawn(np.random.default_rng(10_000 + seed), goals=60, tasks=40)
        truth.append(how[arm].mean() - how[~arm].mean())
    true = float(np.mean(truth))
    repetitions, hits = repeated(400), 0
    for seed in range(repetitions):
        last = incidence_difference(*drawn(np.random.default_rng(seed), goals=25, tasks=12))[-1]
        assert last.low is not None
        assert last.high is not None
        hits += last.low <= true <= last.high
    assert hits / repetitions > 0.95 - 1.8 * np.sqrt(0.95 * 0.05 / repetitions), hits / repetitions
