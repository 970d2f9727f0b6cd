# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Means with clusters drawn within strata: what the strata fix, and the coverage of the default with few clusters."""

import math

import numpy as np
import pytest
from scipy import stats
from simulations import repeated

from turnwise.stats.bootstrap import expanded
from turnwise.stats.mean import mean


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
    assert lone.reason == "1 strata of one cluster contribute no variance"


@pytest.mark.parametrize(("clusters", "strata"), [(30, 2), (12, 1), (8, 4)])
def test_the_level_is_that_of_t_with_fewer_degrees_of_freedom(clusters, strata):
    """The normal quantile of the level, √(G/(G-H)) t with G-H degrees of freedom: the drawn variance is (G-H)/G too small."""
    df = max(clusters - strata, 1)
    quantile = math.sqrt(clusters / df) * stats.t.ppf(0.975, df)
    assert stats.norm.ppf((1 + expanded(0.95, clusters, strata)) / 2) == pytest.approx(quantile)


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
