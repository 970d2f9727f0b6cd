# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from simulations import repeated
from statsmodels.stats.proportion import proportion_confint

from rollwise.errors import ArgumentError
from rollwise.stats.clusters import crossed_df, variation
from rollwise.stats.intervals import wilson
from rollwise.stats.proportion import proportion

Y = np.array([1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0], dtype=float)
GOAL = np.repeat(np.arange(4), 3)


def cells(successes_per_goal, size):
    """Goals of one size with the given successes each."""
    values = np.concatenate([np.r_[np.ones(k), np.zeros(size - k)] for k in successes_per_goal])
    return values, np.repeat(np.arange(len(successes_per_goal)), size)


def binomial_samples():
    return st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=40)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 20), (3, 20), (20, 20), (411, 1000)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson_equals_statsmodels(k, n, level):
    """Wilson's ends are those of statsmodels, and exactly 0 and 1 at no success and no failure."""
    low, high = wilson(k, n, level=level)
    assert (low, high) == pytest.approx(proportion_confint(k, n, alpha=1 - level, method="wilson"), abs=1e-12)
    assert k > 0 or low == 0.0
    assert k < n or high == 1.0


def test_wilson_by_hand():
    """1 of 1 gives 0.2065 to 1; at no success the upper end is z²/n / (1 + z²/n), with t in place of z when asked."""
    assert wilson(1, 1) == (pytest.approx(0.2065, abs=1e-4), 1.0)
    shrink = special.stdtrit(4, 0.975) ** 2 / 5
    assert wilson(0, 5, df=4) == (0.0, pytest.approx(shrink / (1 + shrink)))
    assert wilson(0, 7.5)[1] > wilson(0, 8)[1]


def test_wilson_without_a_sample():
    """0 of 0 and no degree of freedom have no interval."""
    assert wilson(0, 0) == (None, None)
    assert wilson(1, 2, df=0) == (None, None)


def test_independent_rollouts_get_plain_wilson():
    """Without clusters, and with one rollout in each, the interval is Wilson's with z and the design effect 1."""
    for clusters in ((), (np.arange(12),), (np.arange(12), np.arange(12))):
        share = proportion(Y, clusters)
        assert (share.low, share.high) == pytest.approx(proportion_confint(4, 12, method="wilson"))
        assert (share.method, share.design_effect, share.n, share.n_clusters) == ("Wilson", 1.0, 12, 12)
        assert share.std_error == pytest.approx(math.sqrt(Y.var(ddof=1) / 12))


def test_clustered_worked_case():
    """Goals with 3, 0, 1, 0 of 3: s = 2, m = 3, d̂ = 8/3 by hand, d = (2·8/3 + 3/2) / 2.5, size 12/d, t on 3 df."""
    share = proportion(Y, (GOAL,))
    observed = 4 / 3 * (2**2 + 1 + 0 + 1) / 144 * 12 / (4 / 12 * 8 / 12)  # residual sums 2, -1, 0, -1
    effect = (2 * observed + 3 / 2) / 2.5
    assert share.design_effect == pytest.approx(effect)
    size = 12 / effect
    assert (share.low, share.high) == pytest.approx(wilson(size / 3, size, df=3))
    assert (share.method, share.n_clusters) == ("clustered Wilson", 4)


def test_zero_of_many_counts_the_goals():
    """0 of 105 over 5 goals is 0 of 5 with t on 4 df (upper .607), over 21 tasks 0 of 21 (.172), over both .607."""
    goal, task = np.repeat(np.arange(5), 21), np.tile(np.arange(21), 5)
    none = np.zeros(105)
    assert proportion(none, (goal,)).high == pytest.approx(0.607, abs=5e-4)
    assert proportion(none, (task,)).high == pytest.approx(0.172, abs=5e-4)
    both = proportion(none, (goal, task))
    assert both.high == pytest.approx(0.607, abs=5e-4)
    assert (both.method, both.low, both.std_error) == ("two-way Wilson", 0.0, None)


def test_no_cliff_beside_zero():
    """50 goals of 10: the upper end is .0747 at 0 of 500 and .0351 at 1; the plain rule fell to .0117, below 2 of 500."""
    one_goal = [proportion(*_with_codes(cells([k] + [0] * 49, 10))).high for k in range(7)]
    scattered = [proportion(*_with_codes(cells([1] * k + [0] * (50 - k), 10))).high for k in range(13)]
    assert one_goal[:2] == pytest.approx([0.0747, 0.0351], abs=5e-5)
    # Seeing where the successes fall is information, so the end does drop; never below what 500 rollouts of 50 goals with
    # that many successes could show if goals did not matter, nor by more than 2.7 times over the whole range.
    assert min(scattered) == pytest.approx(0.0287, abs=5e-5)
    assert all(high > wilson(k, 500)[1] for k, high in enumerate(scattered))
    # Once there is a success, more of them in one goal never lower it, nor do more goals once there are three.
    assert np.all(np.diff(one_goal[1:]) > 0)
    assert np.all(np.diff(scattered[3:]) > 0)


def _with_codes(drawn):
    return drawn[0], (drawn[1],)


def test_the_interval_is_that_of_the_share_beside_it():
    """Trap T1b: 90 of 100 passed, and garak's rebuilt interval of the 10 % that did not is [84, 95]; ours holds its share."""
    broken = proportion(np.repeat([1.0, 0.0], [10, 90]), ())
    assert (broken.low, broken.high) == pytest.approx(proportion_confint(10, 100, method="wilson"))
    assert broken.low < 0.10 < broken.high < 0.18


def test_few_failures_mirror_few_successes():
    """The interval of the failures is that of the successes turned over."""
    values, codes = cells([1, 0, 2, 0, 0, 1, 0, 0], 6)
    few, most = proportion(values, (codes,)), proportion(1 - values, (codes,))
    assert (few.low, few.high) == pytest.approx((1 - most.high, 1 - most.low))


def test_two_ways_by_hand():
    """Two crossed ways share the two-way variance; the effect is shrunk by 20 goals' evidence toward copies of the tasks."""
    rng = np.random.default_rng(3)
    goal, task = np.repeat(np.arange(6), 20), np.tile(np.arange(20), 6)
    values = (rng.random(120) < np.where(goal < 2, 0.8, 0.2)).astype(float)
    both = proportion(values, (goal, task))
    spread = variation(values, (goal, task))
    share = values.mean()
    observed = spread.variance * 120 / (share * (1 - share))
    mixed = min(np.count_nonzero(np.bincount(task, values)), np.count_nonzero(np.bincount(task, 1 - values)))
    assert both.design_effect == pytest.approx((mixed * observed + 20 / 2) / (mixed + 0.5))
    assert both.n_clusters == 6
    size = 120 / both.design_effect
    parts = [np.asarray(variation(values, (way,)).variance) for way in (goal, task, goal * 20 + task)]
    assert (both.low, both.high) == pytest.approx(wilson(share * size, size, df=float(crossed_df(parts, (6, 20)))))


def test_equal_weights_change_nothing():
    """Weights that are all alike are no weights."""
    for clusters in ((), (GOAL,)):
        plain, weighted = proportion(Y, clusters), proportion(Y, clusters, weights=np.full(12, 0.3))
        assert (weighted.low, weighted.high) == pytest.approx((plain.low, plain.high))
        assert weighted.method == plain.method


def test_goal_weights_at_zero_count_goals():
    """When every goal weighs the same, 0 of N is 0 of G whatever the sizes of the goals."""
    sizes = np.array([1, 2, 5, 10, 20])
    codes = np.repeat(np.arange(5), sizes)
    share = proportion(np.zeros(38), (codes,), weights=1 / sizes[codes])
    assert share.high == pytest.approx(wilson(0, 5, df=4)[1])


def test_unequal_weights_of_independent_rollouts_cost_size():
    """Unequal weights of independent rollouts are no plain Wilson: at zero the size is (Σw)²/Σw²."""
    weights = np.array([1.0, 1.0, 4.0, 4.0])
    share = proportion(np.zeros(4), (), weights=weights)
    assert share.method == "clustered Wilson"
    assert share.high == pytest.approx(wilson(0, 100 / 34, df=3)[1])


def test_edges():
    """No rollout has nothing; one cluster of several has a point only; one rollout has Wilson's interval."""
    none = proportion([], ())
    assert (none.estimate, none.low, none.n, none.reason) == (None, None, 0, "no values")
    one = proportion([1, 0, 1], (np.zeros(3, int),))
    assert (one.estimate, one.low, one.high, one.n_clusters) == (pytest.approx(2 / 3), None, None, 1)
    assert one.reason == "one cluster: no interval over clusters"
    single = proportion([1.0], (np.array([0]),))
    assert (single.low, single.high, single.std_error) == (pytest.approx(0.2065, abs=1e-4), 1.0, None)
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        proportion([0.0, 2.0], ())


def test_graded_scores_are_allowed():
    """Scores between 0 and 1 keep an interval, also when all are the same."""
    same = proportion(np.full(30, 0.5), (np.repeat(np.arange(10), 3),))
    assert same.low < 0.5 < same.high
    assert same.std_error is None


@pytest.mark.integration
@settings(deadline=None)
@given(binomial_samples(), st.sampled_from([0.8, 0.95, 0.99]), st.randoms())
def test_properties(sample, level, random):
    """Every interval lies in [0, 1], holds the point, has width, and does not care for the order of the rows."""
    values = np.array([value for value, _ in sample], dtype=float)
    codes = np.array([code for _, code in sample])
    share = proportion(values, (codes,), level=level)
    rows = list(range(values.size))
    random.shuffle(rows)
    moved = proportion(values[rows], (codes[rows],), level=level)
    if share.low is None:
        assert share.n_clusters == 1
        assert share.reason
        return
    assert 0 <= share.low <= share.estimate <= share.high <= 1
    assert share.low < share.high
    assert (moved.low, moved.high) == pytest.approx((share.low, share.high), rel=1e-12, abs=1e-15)


@pytest.mark.integration
@settings(deadline=None)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=12))
def test_more_of_the_same_goals_narrow_the_interval(successes):
    """Duplicating every cluster keeps the share and shrinks the interval."""
    once, twice = (proportion(*_with_codes(cells(list(successes) * k, 4))) for k in (1, 2))
    assert twice.estimate == pytest.approx(once.estimate)
    assert twice.high - twice.low < once.high - once.low


def wilson_of_all_at_zero(values, codes):
    """Inspect's clustered Wilson interval: the effective size is R(1-R)/V, but the number of all rollouts at 0 and at 1."""
    spread, n = variation(values, (codes,)), values.size
    share = spread.estimate
    size = min(n, share * (1 - share) / spread.variance) if 0 < share < 1 and spread.variance else n
    return wilson(share * size, size, df=spread.df)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "size", "rate", "icc", "unequal", "of_all"),
    [
        (20, 5, 0.05, 0.3, False, None),
        (20, 5, 0.30, 0.3, False, None),
        (50, 5, 0.05, 0.3, False, None),
        (50, 5, 0.30, 0.3, True, None),
        (100, 10, 0.02, 0.3, False, None),
        (100, 10, 0.30, 0.3, True, None),
        (50, 10, 0.01, 0.3, False, 0.85),
        (30, 20, 0.01, 0.6, False, 0.46),
        (20, 10, 0.02, 0.5, False, None),
    ],
)
def test_coverage(clusters, size, rate, icc, unequal, of_all, beta_binomial, covers, record_property):
    """A nominal 95 % covers at least 94 % where goals are few, rare successes cluster, and zero is common.

    Where Wilson's interval takes all rollouts for independent at zero, as Inspect's does, it covers .85 and .46, as published.
    """
    rng, repetitions = np.random.default_rng(clusters * size), repeated(6000)
    hits = mistaken = 0
    for _ in range(repetitions):
        values, codes = beta_binomial(rng, clusters, size, rate, icc, unequal=unequal)
        share = proportion(values, (codes,))
        hits += share.low <= rate <= share.high
        low, high = wilson_of_all_at_zero(values, codes)
        mistaken += low <= rate <= high
    record_property("coverage", float(hits / repetitions))
    record_property("all rollouts at zero", float(mistaken / repetitions))
    assert covers(hits, repetitions, 0.94)
    if of_all is not None:
        error = math.sqrt(2 * of_all * (1 - of_all) / repetitions)
        assert mistaken / repetitions == pytest.approx(of_all, abs=3 * error + 0.005)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "tasks", "goal_sd", "task_sd", "rate", "listed"),
    [
        (9, 16, 0.1, 1.2, 0.48, 0.97),
        (9, 16, 0.8, 0.3, 0.06, 0.93),
        (5, 21, 0.5, 0.8, 0.05, 0.99),
        (7, 20, 0.6, 0.6, 0.30, 0.97),
    ],
)
def test_two_way_coverage(goals, tasks, goal_sd, task_sd, rate, listed, covers, record_property):
    """Goals crossed with tasks under a probit truth: at least the coverage that is listed for each table."""
    rng, repetitions = np.random.default_rng(goals * tasks), repeated(4000)
    goal, task = np.repeat(np.arange(goals), tasks), np.tile(np.arange(tasks), goals)
    center = special.ndtri(rate) * math.sqrt(1 + goal_sd**2 + task_sd**2)
    hits = 0
    for _ in range(repetitions):
        latent = center + rng.normal(0, goal_sd, goals)[goal] + rng.normal(0, task_sd, tasks)[task]
        share = proportion((rng.random(goals * tasks) < special.ndtr(latent)).astype(float), (goal, task))
        hits += share.low <= rate <= share.high
    record_property("coverage", float(hits / repetitions))
    assert covers(hits, repetitions, listed)


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "rate"), [(20, 0.3), (30, 0.1), (100, 0.05)])
def test_singleton_coverage(clusters, rate, covers):
    """With one rollout per cluster plain Wilson is near nominal, averaged over the lattice around the rate."""
    k = np.arange(clusters + 1)
    rates = np.linspace(rate * 0.8, rate * 1.2, 41)
    ends = np.array([wilson(float(count), clusters) for count in k])
    chance = special.comb(clusters, k) * rates[:, None] ** k * (1 - rates[:, None]) ** (clusters - k)
    hit = (ends[:, 0] <= rates[:, None]) & (rates[:, None] <= ends[:, 1])
    assert (chance * hit).sum(axis=1).mean() > 0.94
