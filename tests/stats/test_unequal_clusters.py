# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Clusters of very unequal size, and two crossed ways: the interval holds, and is no wider than it must be."""

import math

import numpy as np
import pytest
from scipy import special, stats
from simulations import repeated

from rollwise.stats.clusters import crossed_df, variation
from rollwise.stats.incidence import cumulative_incidence
from rollwise.stats.intervals import wilson
from rollwise.stats.mean import mean
from rollwise.stats.proportion import proportion

SIZES = np.array([40] + [3] * 7)
SUCCESSES = np.array([10, 0, 3, 1, 2, 0, 0, 3])


def rollouts(successes, sizes):
    """Values (n,) and codes (n,) of goals with these successes."""
    values = np.concatenate([np.r_[np.ones(k), np.zeros(n - k)] for k, n in zip(successes, sizes, strict=True)])
    return values, np.repeat(np.arange(len(sizes)), sizes)


def test_a_dominating_goal_by_hand():
    """Goals of 40 and 7 x 3: the design effect follows from the intraclass correlation of the goals' rates."""
    values, codes = rollouts(SUCCESSES, SIZES)
    share = proportion(values, (codes,))
    rates, n = SUCCESSES / SIZES, 61
    average, between = rates.mean(), rates.var(ddof=1)
    total, within = average * (1 - average) + between / 8, (1 / 40 + 7 / 3) / 8
    correlation = (between / total - within) / (1 - within)
    copies = (40**2 + 7 * 3**2) / n
    implied = 1 + correlation * (copies - 1)
    linear = variation(values, (codes,)).variance * n / (19 / 61 * 42 / 61)
    assert implied > 2 * linear  # the goal of 40 is close to the average, so its deviation says little
    effect = (5 * implied + copies / 2) / 5.5  # five goals have a success, all but two a failure
    assert share.design_effect == pytest.approx(effect)
    assert (share.low, share.high) == pytest.approx(wilson(19 / effect, n / effect, df=7))


@pytest.mark.parametrize("size", [2, 5])
def test_equal_goals_keep_the_linearized_variance(size):
    """Between goals of equal size the design effect is that of the linearized variance alone."""
    successes = np.array([0, 1, 2, 2, 0, 1])
    values, codes = rollouts(successes, np.full(6, size))
    observed = variation(values, (codes,)).variance * 6 * size / (values.mean() * (1 - values.mean()))
    mixed = min(np.count_nonzero(successes), np.count_nonzero(successes < size))
    expected = (mixed * max(1, observed) + size / 2) / (mixed + 0.5)
    assert proportion(values, (codes,)).design_effect == pytest.approx(expected)


def test_the_last_point_of_a_curve_is_the_share():
    """Without censoring the curve's last interval is that of the share, whichever goal dominates."""
    values, codes = rollouts(SUCCESSES, SIZES)
    curve = cumulative_incidence(np.full(61, 3), values.astype(int), (codes,))
    share = proportion(values, (codes,))
    assert (curve.low[-1], curve.high[-1]) == pytest.approx((share.low, share.high))


def test_weights_that_make_goals_equal_need_no_correlation():
    """If every goal weighs the same, the variance between the goals' rates is the variance of their average."""
    values, codes = rollouts(SUCCESSES, SIZES)
    share = proportion(values, (codes,), weights=1 / SIZES[codes])
    rates = SUCCESSES / SIZES
    effect = rates.var(ddof=1) / 8 * 61 / (rates.mean() * (1 - rates.mean()))
    assert share.design_effect == pytest.approx((5 * effect + 61 / 8 / 2) / 5.5)


def test_degrees_of_freedom_of_two_ways_by_hand():
    """4 + 1 - 1 = 4; 16 / (16/19 + 1/4 + 1/76) = 14.47; below four units, and without variance, the smaller way counts."""
    parts = [np.array(4.0), np.array(1.0), np.array(1.0)]
    assert float(crossed_df(parts, (20, 5))) == pytest.approx(16 / (16 / 19 + 1 / 4 + 1 / 76))
    assert float(crossed_df(parts, (5, 20))) == pytest.approx(max(4.0, 16 / (16 / 4 + 1 / 19 + 1 / 76)))
    assert float(crossed_df(parts, (20, 3))) == 2
    assert float(crossed_df([np.array(0.0)] * 3, (20, 5))) == 4


def test_two_ways_of_a_mean_use_those_degrees_of_freedom():
    """The interval takes Satterthwaite's degrees of freedom, from the variances over goals, tasks and cells."""
    goal, task = np.repeat(np.arange(20), 5), np.tile(np.arange(5), 20)
    rng = np.random.default_rng(0)
    values = rng.normal(0, 1, 20)[goal] + rng.normal(0, 1, 100)
    parts = [np.asarray(variation(values, (way,)).variance) for way in (goal, task, goal * 5 + task)]
    df = float(crossed_df(parts, (20, 5)))
    estimate = mean(values, (goal, task))
    assert df > 10
    assert estimate.high - estimate.estimate == pytest.approx(stats.t.ppf(0.975, df) * estimate.std_error)


def _geometric(rng):
    return rng.geometric(1 / 12, 30)


def _fixed(*sizes):
    return lambda _rng: np.array(sizes)


DOMINATED = {
    "1 x 40, 19 x 3": (_fixed(40, *[3] * 19), 0.3, 0.5),
    "2 x 30, 18 x 2": (_fixed(30, 30, *[2] * 18), 0.3, 0.3),
    "30 of geometric size": (_geometric, 0.3, 0.5),
    "1 x 100, 19 x 3": (_fixed(100, *[3] * 19), 0.3, 0.5),
    "1 x 200, 39 x 5": (_fixed(200, *[5] * 39), 0.3, 0.5),
    "5 x 40, 5 x 2": (_fixed(*[40] * 5, *[2] * 5), 0.3, 0.4),
    "1 x 40, 19 x 3, rare": (_fixed(40, *[3] * 19), 0.1, 0.3),
    "1 x 40, 19 x 3, independent": (_fixed(40, *[3] * 19), 0.3, 1e-6),
}


@pytest.mark.slow
@pytest.mark.parametrize("setting", DOMINATED)
@pytest.mark.parametrize("weighting", ["rollout", "goal"])
def test_coverage_under_dominating_goals(setting, weighting, goal_rates, covers, record_property):
    """At least 94 %, weighting rollouts or goals; the linearized variance alone covers .81 to .93 in the first six."""
    sizes_of, rate, icc = DOMINATED[setting]
    rng, repetitions, hits = np.random.default_rng(len(setting)), repeated(3000), 0
    for _ in range(repetitions):
        sizes = sizes_of(rng)
        chances = goal_rates(rng, sizes.size, rate, icc)
        values, codes = rollouts(rng.binomial(sizes, chances), sizes)
        share = proportion(values, (codes,), weights=1 / sizes[codes] if weighting == "goal" else None)
        hits += share.low <= rate <= share.high
    record_property("coverage", hits / repetitions)
    assert covers(hits, repetitions, 0.94)


@pytest.mark.slow
@pytest.mark.parametrize("censored", [0.0, 0.25])
def test_curve_under_a_dominating_goal(censored, watched_goals, share_by_turn, covers, record_property):
    """A goal of 40 beside 19 of 3: the curve covers at least 94 % at its last turn, with censoring too."""
    rng, repetitions, hits, last = np.random.default_rng(7), repeated(2000), 0, 6
    truth = share_by_turn(last, 0.08, 0.4)
    for _ in range(repetitions):
        sizes = np.array([40] + [3] * 19)
        duration, cause, codes = watched_goals(rng, 20, sizes, last, 0.08, 0.4, censored=censored)
        curve = cumulative_incidence(duration, cause, (codes,), horizon=last)
        hits += curve.low[-1] <= truth[-1] <= curve.high[-1]
    record_property("coverage", hits / repetitions)
    assert covers(hits, repetitions, 0.94)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "tasks", "rate", "of_goals", "of_tasks", "widest"),
    [
        (20, 5, 0.3, 0.3, 0.0, 0.34),
        (20, 5, 0.3, 0.3, 0.1, 0.40),
        (20, 5, 0.3, 0.3, 0.3, 0.50),
        (50, 4, 0.3, 0.2, 0.3, 0.54),
        (100, 10, 0.1, 0.3, 0.05, 0.10),
        (5, 21, 0.3, 0.8, 0.0, 0.68),
        (8, 30, 0.1, 0.5, 0.1, 0.29),
        (40, 8, 0.02, 0.3, 0.1, 0.14),
    ],
)
def test_two_crossed_ways_hold_and_are_no_wider_than_this(
    goals, tasks, rate, of_goals, of_tasks, widest, covers, record_property
):
    """Goals x tasks under a probit truth. With min(A, B) - 1 degrees of freedom 20 x 5 covered 1.000 at a width of .43 to .53."""
    rng, repetitions = np.random.default_rng(goals + tasks), repeated(3000)
    goal, task = np.repeat(np.arange(goals), tasks), np.tile(np.arange(tasks), goals)
    widths, hits = [], 0
    for _ in range(repetitions):
        latent = rng.normal(0, math.sqrt(of_goals), goals)[goal] + rng.normal(0, math.sqrt(of_tasks), tasks)[task]
        chance = special.ndtr((special.ndtri(rate) + latent) / math.sqrt(1 - of_goals - of_tasks))
        share = proportion((rng.random(goals * tasks) < chance).astype(float), (goal, task))
        hits += share.low <= rate <= share.high
        widths.append(share.high - share.low)
    record_property("coverage", hits / repetitions)
    record_property("width", float(np.mean(widths)))
    assert covers(hits, repetitions, 0.94)
    assert np.mean(widths) < widest
