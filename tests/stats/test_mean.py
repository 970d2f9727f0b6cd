# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import bootstrap as scipy_bootstrap
from simulations import repeated

from rollwise.errors import ArgumentError
from rollwise.stats.bootstrap import acceleration, bca_interval
from rollwise.stats.clusters import variation
from rollwise.stats.extremes import standard_deviation
from rollwise.stats.mean import mean
from rollwise.stats.replicates import ratio_replicates
from rollwise.stats.student import group_degrees_of_freedom
from rollwise.stats.units import Groups

DATA = np.random.default_rng(3)
GOAL = np.repeat(np.arange(25), 4)
Y = DATA.gamma(2.0, 1.0, 25)[GOAL] + DATA.exponential(1.0, 100)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_worked_case():
    """1, 2, 3: mean 2, standard error 1/√3, t on 2 degrees of freedom 4.303."""
    turns = mean([1, 2, 3], (), interval="t")
    assert (turns.estimate, turns.std_error) == (2.0, pytest.approx(1 / math.sqrt(3)))
    assert turns.high == pytest.approx(2 + 4.302653 / math.sqrt(3))
    assert (turns.method, turns.reason, turns.n, turns.n_clusters) == ("t", None, 3, 3)
    assert turns.design_effect == pytest.approx(1.0)


def test_t_equals_scipy():
    """The t interval of independent values is scipy's."""
    oracle = stats.ttest_1samp(Y, 0).confidence_interval(0.9)
    made = mean(Y, (), interval="t", level=0.9)
    assert (made.low, made.high) == pytest.approx((oracle.low, oracle.high), rel=1e-12)


@pytest.mark.parametrize(
    ("level", "low", "high"), [(0.9, 1.95961, 4.04039), (0.95, 1.76039, 4.23961), (0.99, 1.37079, 4.62921)]
)
def test_normal_is_that_of_nemo_agent_toolkit(level, low, high):
    """Its profiler's numbers for 1 to 5: standard deviation of the population, quantiles of three digits."""
    found = mean([1.0, 2, 3, 4, 5], (), level=level, interval="normal")
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-6), pytest.approx(high, abs=5e-6))
    assert found.method == "normal, standard deviation of the population"


def test_normal_knows_clusters():
    """Of equal clusters it is that of their means; one value, and two crossed ways, have none."""
    values, codes = [1.0, 1, 2, 2, 4, 4], np.array([0, 0, 1, 1, 2, 2])
    found, of_means = mean(values, (codes,), interval="normal"), mean([1.0, 2, 4], (), interval="normal")
    assert (found.low, found.high) == (pytest.approx(of_means.low), pytest.approx(of_means.high))
    assert found.method == "cluster normal, standard deviation of the population"
    assert mean([1.0], (), interval="normal").low is None
    crossed = mean(values, (codes, np.array([0, 1, 0, 1, 0, 1])), interval="normal")
    assert (crossed.low, crossed.reason) == (None, "no normal interval over two crossed ways: ask for percentile or t")


@pytest.mark.parametrize(
    ("values", "weights", "spread", "reason"),
    [
        (
            [0.40, 0.46, 0.42, 0.42, 0.46],
            None,
            0.0268328,
            "no interval of a standard deviation: only the bootstrap has one",
        ),
        ([1.0, 0, 0, 1], None, 0.5773503, "no interval of a standard deviation: only the bootstrap has one"),
        ([2.0, 2.0], None, 0.0, "no variation"),
        ([2.0], None, None, "one value has no standard deviation"),
        ([], None, None, "no values"),
        ([1.0, 2.0], [1.0, 3.0], None, "a standard deviation is of values that weigh the same"),
        ([1.0, np.inf], None, None, "1 value is infinite"),
    ],
)
def test_the_standard_deviation_is_that_of_a_sample(values, weights, spread, reason):
    """AISteer360's five trials first (.027); of one value it says 0.0, and nothing is known."""
    found = standard_deviation(values, weights=weights)
    assert found.estimate == (None if spread is None else pytest.approx(spread, abs=1e-7))
    assert (found.n, found.low, found.method) == (len(values), None, None)
    assert found.reason.startswith(reason)
    if weights is None and spread is not None:
        assert found.estimate == pytest.approx(np.std(values, ddof=1))


@pytest.mark.integration
@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=40),
    st.integers(-(10**9), 10**9),
    st.integers(-1000, 1000),
    st.randoms(),
)
def test_a_standard_deviation_knows_the_unit_and_not_the_origin(values, shift, scale, random):
    """Moving all values changes nothing, stretching them stretches it, mirrored or not; their order does not matter."""
    y = np.array(values, float)
    found = standard_deviation(y).estimate
    shuffled = list(values)
    random.shuffle(shuffled)
    near = 1e-9 * max(1.0, found)
    assert standard_deviation(y + shift).estimate == pytest.approx(found, abs=near)
    assert standard_deviation(y * scale).estimate == pytest.approx(abs(scale) * found, abs=near * max(1, abs(scale)))
    assert standard_deviation(shuffled).estimate == pytest.approx(found, abs=near)
    assert found**2 * (y.size - 1) == pytest.approx(np.square(np.subtract.outer(y, y)).sum() / (2 * y.size))


def test_t_of_equal_clusters_is_that_of_their_means():
    """With clusters of one size, the cluster t interval is the t interval of the cluster means."""
    means = Y.reshape(25, 4).mean(axis=1)
    oracle = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    made = mean(Y, (GOAL,), interval="t")
    assert (made.low, made.high) == pytest.approx((oracle.low, oracle.high), rel=1e-12)
    assert made.method == "cluster t"
    assert made.design_effect == pytest.approx(means.var(ddof=1) / 25 / (Y.var(ddof=1) / 100))


@pytest.mark.parametrize(("interval", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_bootstrap_equals_scipy(interval, theirs):
    """The cluster bootstrap of clusters of one size is scipy's of their means, within Monte Carlo error."""
    means = Y.reshape(25, 4).mean(axis=1)
    oracle = scipy_bootstrap((means,), np.mean, method=theirs, n_resamples=40_000, rng=1, vectorized=True)
    made = mean(Y, (GOAL,), interval=interval, rng=rng(), resamples=40_000)
    assert (made.low, made.high) == pytest.approx(tuple(oracle.confidence_interval), abs=0.05 * oracle.standard_error)
    name = "BCa" if interval == "bca" else "percentile"
    assert made.method == f"cluster {name} bootstrap"
    assert made.resamples == 40_000


def test_auto_takes_bca():
    """Ten clusters or more get BCa, at the level whose normal quantile is t's; singleton clusters are called independent."""
    made = mean(Y, (GOAL,), rng=rng())
    assert (made.method, made.reason) == ("expanded cluster BCa bootstrap", None)
    clusters = np.unique(GOAL).size
    level = 1 - 2 * stats.norm.sf(math.sqrt(clusters / (clusters - 1)) * stats.t.ppf(0.975, clusters - 1))
    plain = mean(Y, (GOAL,), rng=rng(), interval="bca", level=level)
    assert (made.low, made.high) == pytest.approx((plain.low, plain.high), rel=1e-12)
    alone = mean(Y, (np.arange(100),), rng=rng())
    assert alone.method == "expanded BCa bootstrap"
    assert alone == mean(Y, (), rng=rng())


def test_auto_falls_back_to_t():
    """Fewer than ten clusters, or BCa undefined: t, and the reason says so."""
    few = mean(-Y[:36], (GOAL[:36],))
    assert (few.method, few.reason) == ("cluster t", "9 clusters are too few for a bootstrap")
    lone = np.r_[np.zeros(10), 1.0, np.sqrt(2) / 7, np.zeros(9)]
    thin = mean(lone, (), rng=rng(), resamples=3)
    assert thin.method in {"t", "expanded BCa bootstrap; upper end by log t"}
    undefined = mean(lone, (), rng=rng(), resamples=1)
    assert undefined.method == "t"
    assert undefined.reason.startswith("BCa is undefined: ")
    assert undefined.resamples is None
    asked = mean(lone, (), rng=rng(), resamples=1, interval="bca")
    assert (asked.low, asked.high, asked.method) == (None, None, None)
    assert asked.reason


def test_clusters_of_unequal_weight_count_as_fewer():
    """Twenty goals of which one holds half of all rollouts: t with Satterthwaite's degrees of freedom, and the reason says why."""
    goal = np.r_[np.zeros(57, int), np.repeat(np.arange(1, 20), 3)]
    values = DATA.normal(size=20)[goal] + DATA.normal(size=goal.size)
    (df,) = group_degrees_of_freedom(np.bincount(goal).astype(float), Groups.single(20))
    assert df < 2
    made = mean(values, (goal,))
    assert made == replace(mean(values, (goal,), interval="t"), reason=made.reason)
    assert made.reason == f"20 clusters of unequal weight, worth {1 + df:.1f} equal ones, are too few for a bootstrap"
    assert made.high - made.estimate == pytest.approx(stats.t.ppf(0.975, df) * made.std_error)
    weights = 1 / np.bincount(goal)[goal]  # every goal weighs the same
    assert mean(values, (goal,), weights=weights, rng=rng()).method.startswith("expanded cluster BCa")


@pytest.mark.slow
@pytest.mark.parametrize("goals", [5, 10, 20, 40])
def test_coverage_of_goals_of_unequal_size(goals, covers, record_property):
    """Goals with 1 to 32 normal rollouts, ICC .3: at least .94; with G - 1 degrees of freedom .80, .91, .92 and .93."""
    repetitions, hits, draw = repeated(600), 0, np.random.default_rng(goals)
    goal = np.repeat(np.arange(goals), np.geomspace(1, 32, goals).round().astype(int))
    for _ in range(repetitions):
        values = math.sqrt(0.3) * draw.normal(size=goals)[goal] + math.sqrt(0.7) * draw.normal(size=goal.size)
        made = mean(values, (goal,), rng=rng(), resamples=1000)
        hits += made.low <= 0 <= made.high
    record_property("coverage", hits / repetitions)
    assert covers(hits, repetitions, 0.94)


def test_two_ways_take_t():
    """Crossed ways have t with the degrees of freedom of both; a bootstrap by name is refused with the remedy."""
    task = np.tile(np.arange(4), 25)
    made = mean(Y, (GOAL, task))
    spread = variation(Y, (GOAL, task))
    assert made.method == "two-way t"
    assert made.high - made.estimate == pytest.approx(stats.t.ppf(0.975, spread.df) * math.sqrt(spread.variance))
    for interval in ("bca", "basic", "studentized"):
        asked = mean(Y, (GOAL, task), interval=interval, rng=rng())
        assert (asked.low, asked.high) == (None, None)
        assert asked.reason.endswith("ask for percentile or t")


@pytest.mark.integration
@pytest.mark.parametrize("clusters", [(), "singletons", "pairs"])
def test_closed_form_from_1000_units(clusters):
    """1000 units of equal weight take the closed form, without a generator, near what resampling gives."""
    values = DATA.beta(0.6, 1.2, 2400)
    ways = {"singletons": (np.arange(2400),), "pairs": (np.arange(2400) // 2,)}.get(clusters, clusters)
    made = mean(values, ways)
    assert made.method == f"expanded {'cluster ' if clusters == 'pairs' else ''}BCa bootstrap; closed form"
    assert made.resamples is None
    uneven = np.r_[np.full(2399, 1.0), 1.0 + 1e-9]
    drawn = mean(values, ways, rng=rng(), weights=uneven, resamples=40_000)
    assert (drawn.method, drawn.resamples) == (made.method.removesuffix("; closed form"), 40_000)
    assert (made.low, made.high) == pytest.approx((drawn.low, drawn.high), abs=0.05 * made.std_error)


def test_weights():
    """Weights give the weighted mean; equal ones change nothing."""
    weights = DATA.uniform(0.5, 2.0, 100)
    made = mean(Y, (GOAL,), weights=weights, interval="t")
    assert made.estimate == pytest.approx(np.average(Y, weights=weights))
    plain, equal = mean(Y, (GOAL,), rng=rng()), mean(Y, (GOAL,), rng=rng(), weights=np.full(100, 3.0))
    assert (equal.low, equal.high) == pytest.approx((plain.low, plain.high), rel=1e-9)


@pytest.mark.parametrize("interval", ["auto", "t", "bca", "percentile"])
@pytest.mark.parametrize(
    ("wrong", "reason"), [(-np.inf, "1 value is infinite"), (1e200, "values beyond 1e+150 cannot be")]
)
def test_what_cannot_be_added_has_no_mean(wrong, reason, interval):
    """A log-probability of -inf takes the mean away, and says so; it makes no NaN and no significance."""
    made = mean(np.r_[Y, wrong], (), interval=interval, rng=rng())
    assert (made.estimate, made.std_error, made.low, made.high, made.n) == (None, None, None, None, Y.size + 1)
    assert made.reason.startswith(reason)


@pytest.mark.parametrize("interval", ["auto", "t", "bca", "percentile"])
@pytest.mark.parametrize(
    ("values", "clusters", "reason"),
    [
        ([], (), "no values"),
        ([2.0], (), "one value: no interval"),
        ([0.1] * 12, (), "no variation"),
        ([1.0, 2.0, 4.0], (np.zeros(3, int),), "one cluster: no interval over clusters"),
        (np.tile([0.1, 0.2, 0.7], 12), (np.repeat(np.arange(12), 3),), "no variation between clusters"),
    ],
)
def test_edges(values, clusters, reason, interval):
    """Where nothing varies between units there is no interval, of whatever kind, and the reason is said."""
    made = mean(values, clusters, interval=interval, rng=rng())
    assert (made.low, made.high, made.method, made.std_error, made.reason) == (None, None, None, None, reason)
    assert made.estimate == (pytest.approx(np.mean(values)) if len(values) else None)


def test_options():
    """A bootstrap without a generator, and an unknown interval, are refused in a sentence."""
    with pytest.raises(ArgumentError, match="needs rng"):
        mean(Y, (GOAL,))
    with pytest.raises(ArgumentError, match="'bootstrap'"):
        mean(Y, (GOAL,), interval="bootstrap")


def test_a_large_offset_costs_no_digits():
    """Values near 10⁹ keep their interval (HELM's sum of squares loses it)."""
    for interval in ("t", "bca"):
        near = mean(Y, (GOAL,), interval=interval, rng=rng())
        far = mean(Y + 2.0**30, (GOAL,), interval=interval, rng=rng())
        assert far.high - 2.0**30 == pytest.approx(near.high, abs=1e-5 * near.std_error)


@pytest.mark.integration
@settings(deadline=None)
@given(st.permutations(range(100)), st.sampled_from(["t", "bca", "percentile"]))
def test_row_order_is_irrelevant(order, interval):
    """Permuting the rollouts of clusters changes nothing beyond rounding, draws included."""
    rows = np.array(order)
    plain = mean(Y, (GOAL,), interval=interval, rng=rng(), resamples=500)
    moved = mean(Y[rows], (GOAL[rows],), interval=interval, rng=rng(), resamples=500)
    assert (moved.low, moved.high) == pytest.approx((plain.low, plain.high), rel=1e-12)


@pytest.mark.integration
@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 30)), max_size=60),
    st.sampled_from(["auto", "t", "bca", "percentile"]),
)
def test_properties(sample, interval):
    """An interval has width and holds the point, or both ends are None with a reason; nothing is ever NaN."""
    values = np.array([value for value, _ in sample])
    made = mean(
        values, (np.array([code for _, code in sample], dtype=int),), interval=interval, rng=rng(), resamples=200
    )
    if made.low is None:
        assert made.high is None
        assert made.reason
    else:
        assert made.low < made.high
        assert made.low <= made.estimate <= made.high or interval == "percentile"
    for value in (made.estimate, made.std_error, made.low, made.high, made.design_effect):
        assert value is None or math.isfinite(value)


@pytest.mark.integration
@settings(deadline=None)
@given(st.integers(2, 4))
def test_more_of_the_same_clusters_narrow_the_interval(copies):
    """Duplicating every cluster keeps the mean and shrinks standard error and interval."""
    once = mean(Y, (GOAL,), interval="t")
    codes = np.concatenate([GOAL + 25 * copy for copy in range(copies)])
    many = mean(np.tile(Y, copies), (codes,), interval="t")
    assert many.estimate == pytest.approx(once.estimate, rel=1e-12)
    assert many.std_error < once.std_error
    assert many.high - many.low < once.high - once.low


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "size", "rate", "unequal", "t", "percentile", "bca"),
    [
        (20, 5, 0.05, False, 0.81, 0.88, 0.92),
        (20, 5, 0.30, False, 0.94, 0.93, 0.95),
        (50, 5, 0.05, False, 0.90, 0.89, 0.91),
        (50, 5, 0.30, True, 0.94, 0.94, 0.95),
        (100, 10, 0.02, False, 0.89, 0.90, 0.92),
        (100, 10, 0.30, True, 0.94, 0.94, 0.94),
    ],
)
def test_coverage_of_rates(clusters, size, rate, unequal, t, percentile, bca, beta_binomial, covers, record_property):
    """On clustered rates each interval covers what field.md 2.3 measured of its kind (which is why rates get Wilson).

    The percentile bootstrap of single rollouts, as garak draws them, has a binomial law and covers .62 to .84.
    """
    generator, repetitions = np.random.default_rng(clusters + size), repeated(1500)
    hits, independent = dict.fromkeys(("t", "percentile", "bca"), 0), 0
    for _ in range(repetitions):
        values, codes = beta_binomial(generator, clusters, size, rate, 0.3, unequal=unequal)
        for interval in hits:
            # Draws of their own: the data are the same whatever the intervals draw.
            made = mean(values, (codes,), interval=interval, rng=np.random.default_rng(0), resamples=1000)
            # Ends of a lattice fall on the rate itself, but for rounding.
            hits[interval] += made.low is not None and made.low - 1e-6 <= rate <= made.high + 1e-6
        low, high = stats.binom.ppf([0.025, 0.975], values.size, values.mean()) / values.size
        independent += low - 1e-6 <= rate <= high + 1e-6
    record_property("coverage", {interval: count / repetitions for interval, count in hits.items()})
    record_property("single rollouts", independent / repetitions)
    assert independent / repetitions <= 0.84 + 2 * math.sqrt(0.84 * 0.16 / repetitions)
    assert independent < hits["percentile"]
    for interval, listed in (("t", t), ("percentile", percentile), ("bca", bca)):
        # The listed figure has a Monte Carlo error of its own, of the same size.
        error = math.sqrt(listed * (1 - listed) / repetitions)
        assert covers(hits[interval], repetitions, listed - error), interval


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "least"), [(8, 0.94), (12, 0.935), (20, 0.935), (60, 0.94), (1200, 0.94)])
def test_coverage_of_numbers(clusters, least, covers, record_property):
    """The default of a skewed clustered number: t below ten clusters, expanded BCa above, the closed form from 1000."""
    generator, repetitions, hits = np.random.default_rng(clusters), repeated(1500), 0
    codes = np.repeat(np.arange(clusters), 4)
    for _ in range(repetitions):
        values = generator.normal(0, 1, clusters)[codes] + generator.gamma(4.0, 0.5, codes.size)
        made = mean(values, (codes,), rng=generator, resamples=1000)
        hits += made.low <= 2.0 <= made.high
    record_property("coverage", float(hits / repetitions))
    assert covers(hits, repetitions, least)


@pytest.mark.slow
def test_two_way_coverage(covers, record_property):
    """Goals crossed with tasks, both with effects of their own: two-way t covers at least 94 %."""
    generator, repetitions, hits = np.random.default_rng(0), repeated(3000), 0
    goal, task = np.repeat(np.arange(8), 15), np.tile(np.arange(15), 8)
    for _ in range(repetitions):
        values = generator.normal(0, 1, 8)[goal] + generator.normal(0, 0.7, 15)[task] + generator.normal(0, 1, 120)
        made = mean(values, (goal, task))
        hits += made.low <= 0 <= made.high
    record_property("coverage", float(hits / repetitions))
    assert covers(hits, repetitions, 0.94)


@pytest.mark.integration
def test_closed_form_replaces_draws_of_many_values():
    """From 1000 values of equal weight on: a closed form, near what draws give; below, and with a heavy tail, draws."""
    generator = np.random.default_rng(0)
    for values in (generator.gamma(2.0, 1.0, 1500), (generator.random(2000) < 0.3).astype(float)):
        made = mean(values, (), interval="bca")
        assert (made.method, made.resamples) == ("BCa bootstrap; closed form", None)
        n = values.size
        drawn = ratio_replicates(values, np.ones(n), rng=np.random.default_rng(4), resamples=100_000)[:, 0]
        ends = bca_interval(drawn, values.mean(), acceleration(values), 0.95)
        assert (made.low, made.high) == pytest.approx(ends, abs=0.06 * made.std_error)
    for values in (generator.gamma(2.0, 1.0, 200), np.r_[np.zeros(1999), 1.0, 2.0, 3.0]):
        made = mean(values, (), rng=rng(), interval="bca", resamples=2000)
        assert (made.method, made.resamples) == ("BCa bootstrap", 2000)


@pytest.mark.integration
def test_studentized_equals_arch():
    """The bootstrap-t interval of arch, whose standard error differs by √(n/(n-1)) in data and replicates alike."""
    from arch.bootstrap import IIDBootstrap

    values = DATA.gamma(1.5, 1.0, 80)
    peer = IIDBootstrap(values, seed=3).conf_int(
        np.mean, 20_000, method="studentized", std_err_func=lambda mu, y: y.std() / np.sqrt(y.size)
    )
    made = mean(values, (), rng=rng(), resamples=20_000, interval="studentized")
    assert (made.low, made.high) == pytest.approx(tuple(peer.ravel()), abs=0.1 * made.std_error)
    assert made.method == "studentized bootstrap"
    lonely = np.r_[np.zeros(30), 1.0]  # a third of the replicates have no failure to vary
    assert "no standard error" in mean(lonely, (), rng=rng(), interval="studentized").reason


def test_both_ways_are_drawn():
    """The pigeonhole bootstrap of goals x tasks: near the two-way standard error, and not narrower than either way alone."""
    goal, task = np.repeat(np.arange(25), 20), np.tile(np.arange(20), 25)
    values = DATA.normal(0, 1, 25)[goal] + DATA.normal(0, 1, 20)[task] + DATA.normal(0, 1, 500)
    made = mean(values, (goal, task), rng=rng(), interval="percentile")
    assert made.method == "two-way percentile bootstrap; both ways drawn"
    assert (made.high - made.low) / 3.92 == pytest.approx(made.std_error, rel=0.15)
    for way in (goal, task):
        alone = mean(values, (way,), rng=rng(), interval="percentile")
        assert made.high - made.low > alone.high - alone.low


@pytest.mark.integration
def test_goals_and_attempts_are_not_both_drawn():
    """T12: drawing goals and then attempts within them counts the noise within goals twice: 7-27 % too wide; ours is not."""
    generator, goals, attempts = np.random.default_rng(0), 50, 5
    codes = np.repeat(np.arange(goals), attempts)
    truth, ours, nested = [], [], []
    for _ in range(60):
        values = generator.normal(0, 0.3, goals)[codes] + generator.normal(0, 1, codes.size)
        truth.append(values.mean())
        made = mean(values, (codes,), rng=generator, interval="percentile", resamples=1000)
        ours.append((made.high - made.low) / 3.92)
        table = values.reshape(goals, attempts)
        drawn = table[generator.integers(0, goals, (400, goals))]
        again = np.take_along_axis(drawn, generator.integers(0, attempts, drawn.shape), axis=2)
        nested.append(again.mean(axis=(1, 2)).std())
    exact = math.sqrt(0.3**2 / goals + 1 / codes.size)
    assert np.mean(ours) == pytest.approx(exact, rel=0.05)
    assert np.mean(nested) > 1.15 * exact


@pytest.mark.integration
@pytest.mark.parametrize("clusters", [6, 12])
def test_normal_covers_what_t_says_of_it(clusters, covers_as_often_as):
    """Of normal values it is t's law that says how rarely it holds: P(|t| < 1.96·√(1 - 1/G)), .866 of 6 clusters, .913 of 12."""
    generator, repetitions, hits = np.random.default_rng(clusters), 4000, 0
    codes = np.repeat(np.arange(clusters), 2)
    for values in generator.normal(size=(repetitions, clusters))[:, codes] + generator.normal(
        size=(repetitions, codes.size)
    ):
        made = mean(values, (codes,), interval="normal")
        hits += made.low <= 0 <= made.high
    held = 1 - 2 * stats.t.sf(1.96 * math.sqrt(1 - 1 / clusters), clusters - 1)
    assert covers_as_often_as(hits, repetitions, held)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "clusters", "by_numpy"),
    [
        ("lognormal", 15, {"percentile": 0.864, "basic": 0.846, "studentized": 0.920, "normal": 0.860}),
        ("lognormal", 40, {"percentile": 0.908, "basic": 0.894, "studentized": 0.935, "normal": 0.905}),
        ("beta", 15, {"percentile": 0.910, "basic": 0.906, "studentized": 0.941, "normal": 0.911}),
        ("beta", 40, {"percentile": 0.936, "basic": 0.934, "studentized": 0.950, "normal": 0.937}),
    ],
)
def test_coverage_of_intervals_by_name(law, clusters, by_numpy, covers_as_often_as, record_property):
    """Of few skewed goals the plain bootstraps hold too little, basic least and studentized most: as much as by NumPy alone.

    The shares are those of 10,000 samples whose goals' means were drawn by index, 1,000 times each. None is the default.
    """
    generator, repetitions = np.random.default_rng(clusters), repeated(2000)
    codes, truth = np.repeat(np.arange(clusters), 3), {"lognormal": math.exp(0.32), "beta": 0.2}[law]
    hits = dict.fromkeys(by_numpy, 0)
    for _ in range(repetitions):
        ease = (
            np.exp(0.8 * generator.normal(size=clusters)) if law == "lognormal" else generator.beta(0.4, 1.6, clusters)
        )
        values = ease[codes] + 0.3 * generator.normal(size=codes.size)
        for interval in hits:
            made = mean(values, (codes,), interval=interval, rng=generator, resamples=1000)
            hits[interval] += made.low <= truth <= made.high
    record_property("coverage", {interval: count / repetitions for interval, count in hits.items()})
    for interval, share in by_numpy.items():
        assert covers_as_often_as(hits[interval], repetitions, share, 10_000), (interval, hits[interval] / repetitions)


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "no_interval", "held"), [(20, 0.444, 0.980), (50, 0.027, 0.958)])
def test_studentized_rates_have_often_no_interval(
    clusters, no_interval, held, beta_binomial, covers_as_often_as, record_property
):
    """At a rate of .05, ICC .3, 5 attempts: of 20 goals four in ten samples give none; where there is one it holds too often.

    Both shares are those of NumPy's draws by index in 10,000 samples; of 50 goals they are .027 and .958.
    """
    generator, repetitions = np.random.default_rng(clusters), repeated(2000)
    hits = none = flat = 0
    for _ in range(repetitions):
        values, codes = beta_binomial(generator, clusters, 5, 0.05, 0.3)
        made = mean(values, (codes,), interval="studentized", rng=generator, resamples=1000)
        if made.low is None:
            assert made.reason
            none += 1
            flat += made.reason in {"no variation", "no variation between clusters"}
        else:
            hits += made.low <= 0.05 <= made.high
    record_property(
        "coverage", {"held": hits / (repetitions - none), "null": none / repetitions, "flat": flat / repetitions}
    )
    assert covers_as_often_as(none, repetitions, no_interval, 10_000)
    assert covers_as_often_as(hits, repetitions - none, held, 10_000 * (1 - no_interval))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strata", "by_numpy"), [(4, {"percentile": 0.932, "basic": 0.930}), (2, {"percentile": 0.925, "basic": 0.922})]
)
def test_coverage_within_strata(strata, by_numpy, covers_as_often_as, record_property):
    """15 skewed goals in each stratum: drawn within it they spread by √(14/15) too little, and the interval holds .92 to .94.

    Of normal goals t's law makes it .937 with 4 strata and .931 with 2; the shares are those of NumPy in 40,000 samples. Draws
    that mixed the strata, which differ by 1 each, would hold nearly always.
    """
    generator, repetitions = np.random.default_rng(strata), repeated(2000, reduced=600)
    layers = np.repeat(np.arange(strata), 15)
    codes, truth = np.repeat(np.arange(layers.size), 3), 0.2 + (strata - 1) / 2
    hits = dict.fromkeys(by_numpy, 0)
    for _ in range(repetitions):
        values = (generator.beta(0.4, 1.6, layers.size) + layers)[codes] + 0.3 * generator.normal(size=codes.size)
        for interval in hits:
            made = mean(values, (codes,), interval=interval, rng=generator, resamples=1000, strata=layers)
            hits[interval] += made.low <= truth <= made.high
    record_property("coverage", {interval: count / repetitions for interval, count in hits.items()})
    for interval, share in by_numpy.items():
        assert covers_as_often_as(hits[interval], repetitions, share, 40_000), (interval, hits[interval] / repetitions)


@pytest.mark.slow
@pytest.mark.parametrize(("law", "by_numpy"), [("normal", 0.925), ("lognormal", 0.890)])
def test_coverage_of_both_ways_drawn(law, by_numpy, covers_as_often_as, record_property):
    """8 goals crossed with 15 tasks: a percentile of 8 goals holds too little, .92 of normal effects, .89 of lognormal ones.

    That its variance is no less than that of both ways does not make up for it; two-way t, the default, holds .94 of normal ones.
    The shares are those of products of NumPy's multinomial counts in 10,000 samples. Tasks drawn alone hold far less.
    """
    generator, repetitions = np.random.default_rng(1), repeated(2000)
    goal, task = np.repeat(np.arange(8), 15), np.tile(np.arange(15), 8)

    def effects(many):
        drawn = generator.normal(size=many)
        return drawn if law == "normal" else np.exp(0.8 * drawn) - math.exp(0.32)

    hits = alone = 0
    for _ in range(repetitions):
        values = effects(8)[goal] + 0.7 * effects(15)[task] + generator.normal(size=120)
        made = mean(values, (goal, task), interval="percentile", rng=generator, resamples=1000)
        hits += made.low <= 0 <= made.high
        one = mean(values, (task,), interval="percentile", rng=generator, resamples=200)
        alone += one.low <= 0 <= one.high
    record_property("coverage", {"both": hits / repetitions, "tasks alone": alone / repetitions})
    assert covers_as_often_as(hits, repetitions, by_numpy, 10_000)
    assert alone / repetitions < by_numpy - 0.2
