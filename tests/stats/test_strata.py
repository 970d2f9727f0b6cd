# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Means with clusters drawn within strata: what the strata fix, and the coverage of the default with few clusters."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulations import repeated

from rollwise.stats.bootstrap import expanded
from rollwise.stats.mean import mean
from rollwise.stats.proportion import proportion, proportions
from rollwise.stats.units import Groups


@pytest.mark.integration
def test_strata_are_drawn_within():
    """Two strata that differ only in level: their difference contributes no variance, as arch's stratified draws have it."""
    goals, strata = np.repeat(np.arange(40), 3), np.repeat([0, 1], 20)
    values = np.random.default_rng(7).normal(0, 1, 120) + 10 * strata[goals]
    plain = mean(values, (goals,), rng=np.random.default_rng(0), interval="percentile")
    within = mean(values, (goals,), rng=np.random.default_rng(0), interval="percentile", strata=strata)
    assert within.high - within.low < (plain.high - plain.low) / 5
    means = values.reshape(40, 3).mean(axis=1).reshape(2, 20)
    generator = np.random.default_rng(9)
    again = [np.mean([generator.choice(part, 20) for part in means]) for _ in range(8000)]
    assert (within.low, within.high) == pytest.approx(tuple(np.quantile(again, [0.025, 0.975])), abs=0.02)
    assert within.method == "cluster percentile bootstrap within strata"
    lone = mean(
        values, (goals,), rng=np.random.default_rng(0), interval="percentile", strata=np.r_[np.zeros(39, int), 1]
    )
    assert lone.reason == "1 stratum of one cluster contributes no variance"


@pytest.mark.parametrize(("clusters", "strata"), [(30, 2), (12, 1), (8, 4)])
def test_the_level_is_that_of_t_with_fewer_degrees_of_freedom(clusters, strata):
    """The normal quantile of the level, √(G/(G-H)) t with G-H degrees of freedom: the drawn variance is (G-H)/G too small."""
    df = max(clusters - strata, 1)
    quantile = math.sqrt(clusters / df) * stats.t.ppf(0.975, df)
    assert stats.norm.ppf((1 + expanded(0.95, clusters, strata)) / 2) == pytest.approx(quantile)


def test_a_share_within_strata_by_hand():
    """Two strata of two goals with two attempts each: 2 and 1 of 2, then 0 and 1 of 2."""
    values, goals = np.array([1, 1, 1, 0, 0, 0, 0, 1.0]), np.repeat(np.arange(4), 2)
    share = proportion(values, (goals,), strata=[0, 0, 1, 1])
    # The share is 1/2. Goals differ from the average of their stratum by 1/2 attempt of 8: V = 2 · 2 · 2 · (1/16)².
    assert (share.estimate, share.std_error) == (0.5, pytest.approx(math.sqrt(8) / 16))
    # V over R(1-R)/N = 1/32 is 1; three goals have a success and three a failure; copies would give 2.
    effect = (3 * 1.0 + 2 / 2) / 3.5
    assert share.design_effect == pytest.approx(effect)
    # Wilson at 8 / effect trials, with the quantile of t with 4 - 2 degrees of freedom.
    size, t = 8 / effect, stats.t.ppf(0.975, 2)
    center, half = (0.5 + t**2 / size / 2) / (1 + t**2 / size), t * math.sqrt(0.25 / size + (t / size / 2) ** 2)
    assert (share.low, share.high) == pytest.approx(
        (center - half / (1 + t**2 / size), center + half / (1 + t**2 / size))
    )
    assert (share.n, share.n_clusters, share.method) == (8, 4, "clustered Wilson within strata")


def test_a_share_within_strata_that_cannot_vary():
    values, goals = np.array([1, 1, 0, 0, 1, 0]), np.repeat(np.arange(3), 2)
    lone = proportion(values, (goals,), strata=[0, 0, 1])
    assert lone.reason == "1 stratum of one cluster contributes no variance"
    each = proportion(values, (goals,), strata=[0, 1, 2])
    assert (each.low, each.high, each.reason) == (None, None, "each stratum has one cluster: no interval over clusters")
    none = proportion(np.zeros(6), (goals,), strata=[0, 0, 1])
    assert none.low == 0
    assert none.high > proportion(np.zeros(6), (goals,)).high  # one degree of freedom less


@pytest.mark.integration
@given(st.integers(0, 2**32), st.integers(2, 12), st.integers(1, 4))
def test_a_single_stratum_is_no_stratum(seed, clusters, attempts):
    """Nor do other groups of the table change a group's interval."""
    rng = np.random.default_rng(seed)
    goals = np.repeat(np.arange(clusters), attempts)
    values = (rng.random(goals.size) < 0.4).astype(float)
    whole, single = proportion(values, (goals,)), proportion(values, (goals,), strata=np.zeros(clusters, int))
    if attempts > 1:  # without strata, one attempt per goal has the quantile of the normal distribution
        assert (single.low, single.high) == pytest.approx((whole.low, whole.high))
    strata = rng.integers(0, 3, clusters)
    alone = proportion(values, (goals,), strata=strata)
    groups = Groups(np.repeat([0, 1], goals.size), 2)
    both = proportions(np.r_[values, 1 - values], (np.r_[goals, goals],), groups, strata=np.r_[strata, strata])
    assert both.at(0) == alone


RARE = {
    "2 x 15, .02 and .05": ((15, 15), (0.02, 0.05), 3),
    "4 x 10, .02 to .1": ((10, 10, 10, 10), (0.02, 0.02, 0.05, 0.1), 3),
    "2 x 5, .2 and .5": ((5, 5), (0.2, 0.5), 3),
    "2 x 50, .05 and .2, one attempt": ((50, 50), (0.05, 0.2), 1),
    "2 x 15, .05 and .95": ((15, 15), (0.05, 0.95), 3),
}


@pytest.mark.slow
@pytest.mark.parametrize("design", RARE)
def test_rates_within_strata_are_covered(design, covers, record_property):
    """Beta-binomial goals with a correlation of .3: .947 to .99, where percentiles hold .84 of the rare ones."""
    sizes, rates, attempts = RARE[design]
    rng, repetitions, held = np.random.default_rng(4), repeated(1500), 0
    strata = np.repeat(np.arange(len(sizes)), sizes)
    chance, codes = np.array(rates)[strata], np.repeat(np.arange(strata.size), attempts)
    for _ in range(repetitions):
        goals = rng.beta(chance * 7 / 3, (1 - chance) * 7 / 3)
        values = (rng.random((strata.size, attempts)) < goals[:, None]).astype(float).ravel()
        made = proportion(values, (codes,), strata=strata)
        held += made.low <= chance.mean() <= made.high
    record_property("coverage", held / repetitions)
    assert covers(held, repetitions, 0.94)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rate", "normal", "counts"])
def test_two_strata_of_fifteen_goals_are_covered(kind, covers, record_property):
    """15 goals of 3 attempts in each of two categories: .94, where plain percentiles hold the mean in .925 to .93."""
    rng, repetitions, held = np.random.default_rng(4), repeated(1500), 0
    strata, codes = np.repeat([0, 1], 15), np.repeat(np.arange(30), 3)
    shares = np.array([0.2, 0.5])[strata] * 7 / 3
    for repetition in range(repetitions):
        if kind == "rate":
            chances = rng.beta(shares, 7 / 3 - shares)
            values, truth = (rng.random((30, 3)) < chances[:, None]).astype(float), 0.35
        elif kind == "normal":
            values, truth = strata[:, None] + rng.normal(size=(30, 1)) + rng.normal(size=(30, 3)), 0.5
        else:
            values, truth = rng.poisson(rng.gamma(2, 1.5, (30, 1)) + strata[:, None], (30, 3)).astype(float), 3.5
        draws = np.random.default_rng(repetition)
        made = mean(values.ravel(), (codes,), strata=strata, rng=draws, resamples=1000)
        held += made.low <= truth <= made.high
    record_property("coverage", held / repetitions)
    assert covers(held, repetitions, 0.94)
