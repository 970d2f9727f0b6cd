# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from simulations import repeated

from rollwise.errors import ArgumentError
from rollwise.stats.clusters import variation
from rollwise.stats.extremes import extreme
from rollwise.stats.quantiles import median, quantile

DATA = np.random.default_rng(4)
GOAL, TASK = np.repeat(np.arange(30), 4), np.tile(np.arange(4), 30)
Y = DATA.normal(0, 1, 30)[GOAL] + DATA.normal(0, 1, 120)


def test_median_needs_six():
    """At 95 % six values give their range, five are too few; one is no interval at all."""
    six = median([3.0, 1.0, 2.0, 5.0, 4.0, 6.0], ())
    assert (six.estimate, six.low, six.high, six.method) == (3.5, 1.0, 6.0, "order statistics")
    five = median([1.0, 2.0, 3.0, 4.0, 5.0], ())
    assert (five.estimate, five.low, five.high, five.method) == (3.0, None, None, None)
    assert five.reason == "5 rollouts are too few for an interval of this quantile at level 0.95"
    assert median([7.0], ()).estimate == 7.0


@pytest.mark.parametrize("n", [6, 20, 100, 101, 5000])
@pytest.mark.parametrize("q", [0.25, 0.5, 0.9])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_order_statistics_equal_scipy(n, q, level):
    """The ranks are those that scipy's binomial law names; each tail has at most α/2, and one rank further has more."""
    law, tail = stats.binom(n, q), (1 - level) / 2
    made = quantile(np.arange(1.0, n + 1), (), q=q, level=level)
    if made.low is None:
        assert law.cdf(0) > tail or law.sf(n - 1) > tail
        return
    lower, upper = round(made.low), round(made.high)
    assert law.cdf(lower - 1) <= tail < law.cdf(lower)
    assert law.sf(upper - 1) <= tail < law.sf(upper - 2)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.75])
def test_the_point_is_numpys(q):
    """Quantiles interpolate linearly, as NumPy's do; weights all alike change nothing."""
    made = quantile(Y, (GOAL,), q=q)
    assert made.estimate == np.quantile(Y, q)
    equal = quantile(Y, (GOAL,), q=q, weights=np.full(120, 2.5))
    assert (equal.estimate, equal.low, equal.high, equal.method) == (made.estimate, made.low, made.high, made.method)


def test_woodruff_worked_case():
    """The share up to the median has SE over goals; the ends are the values of ranks ⌊n·p₋⌋ + 1 and ⌈n·p₊⌉."""
    made = median(Y, (GOAL,))
    error = math.sqrt(variation(np.median(Y) >= Y, (GOAL,)).variance)
    half = stats.t.ppf(0.975, 29) * error
    ordered = np.sort(Y)
    assert made.low == ordered[math.floor(120 * (0.5 - half))]
    assert made.high == ordered[math.ceil(120 * (0.5 + half)) - 1]
    assert (made.method, made.n, made.n_clusters, made.std_error) == ("Woodruff", 120, 30, None)
    assert made.design_effect == pytest.approx(error**2 * 120 / 0.25)


def test_two_way_woodruff():
    """Crossed ways use the two-way variance and its degrees of freedom."""
    task = np.tile(np.arange(8), 15)
    made = median(Y, (GOAL, task))
    spread = variation(np.median(Y) >= Y, (GOAL, task))
    half = stats.t.ppf(0.975, spread.df) * math.sqrt(spread.variance)
    assert made.low == np.sort(Y)[math.floor(120 * (0.5 - half))]
    assert (made.method, made.n_clusters) == ("two-way Woodruff", 8)


def test_singletons_are_independent():
    """One rollout per cluster is no clustering."""
    assert median(Y, (np.arange(120),)) == median(Y, ())


def test_whole_weights_count_copies():
    """Weighting by whole numbers reads what repeating the rollouts does, or the next value outward."""
    copies = DATA.integers(1, 4, 120)
    weighted = median(Y, (GOAL,), weights=copies)
    repeated = median(np.repeat(Y, copies), (np.repeat(GOAL, copies),))
    ordered = np.sort(Y)
    assert (weighted.estimate, weighted.high) == (repeated.estimate, repeated.high)
    assert np.searchsorted(ordered, repeated.low) - np.searchsorted(ordered, weighted.low) in {0, 1}


def test_unequal_weights_of_independent_rollouts_take_woodruff():
    """The binomial ranks hold for equal weights only."""
    made = median(Y, (), weights=DATA.uniform(1, 2, 120))
    assert made.method == "Woodruff"
    assert made.low < made.estimate < made.high


@pytest.mark.parametrize(
    ("values", "clusters", "reason"),
    [
        ([], (), "no values"),
        ([1.0, 2.0, 3.0], (np.zeros(3, int),), "one cluster: no interval over clusters"),
        ([3.0] * 50, (np.repeat(np.arange(10), 5),), "no variation between clusters"),
        (
            np.arange(8.0),
            (np.repeat(np.arange(2), 4),),
            "2 clusters are too few for an interval of the 0.5 quantile, which takes 6",
        ),
    ],
)
def test_edges(values, clusters, reason):
    """No interval where nothing varies between clusters or it would pass the data, and the reason is said."""
    made = median(values, clusters)
    assert (made.low, made.high, made.method, made.reason) == (None, None, None, reason)
    assert made.estimate == (np.median(values) if len(values) else None)


TIED = "many values are tied at this quantile, so the interval is that one value"


@pytest.mark.parametrize(
    ("values", "clusters", "low", "high", "reason"),
    [
        # Ranks 6 and 15 of 20 by the binomial law (0.0207 below and above), whatever the values there are.
        ([1, 2, 3, *[4] * 14, 5, 6, 7], (), 4, 4, f"{TIED}; its level is at least the nominal one"),
        ([3] * 50, (), 3, 3, f"{TIED}; its level is at least the nominal one"),
        ([1] * 6 + [4] * 10 + [9] * 4, (), 1, 4, None),
        # Clusters that differ in their share of values up to 4: Woodruff's ranks also fall on 4 alone.
        ([1, 4, 4, 4, 9, 4, 4, 4, 4, 9, 1, 4, 4, 4, 4] * 4, (np.repeat(np.arange(12), 5),), 4, 4, TIED),
    ],
)
def test_ties(values, clusters, low, high, reason):
    """Tied values: the ends are ordered values like any others, and an interval without width says so."""
    made = median(np.array(values, float), clusters)
    assert (made.low, made.high, made.reason) == (low, high, reason)


@pytest.mark.integration
def test_the_level_of_tied_values_is_at_least_the_nominal_one():
    """Exactly, for three values with chances .3, .5 and .2 (median 4) and every sample of 12: more than 95 %."""
    n, covered = 12, 0.0
    for ones in range(n + 1):
        for nines in range(n + 1 - ones):
            fours = n - ones - nines
            made = median(np.array([1.0] * ones + [4.0] * fours + [9.0] * nines), ())
            if made.low <= 4 <= made.high:
                chance = 0.3**ones * 0.5**fours * 0.2**nines
                covered += chance * math.factorial(n) / math.prod(map(math.factorial, (ones, fours, nines)))
    assert 0.95 <= covered < 1


def test_quantiles_lie_inside():
    """Q of 0 or 1 is an extreme, and refused."""
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        quantile(Y, (), q=1.0)


def test_extremes_have_no_interval():
    """Minimum and maximum are values only, and say why."""
    assert extreme(Y, "min").estimate == Y.min()
    most = extreme(Y, "max")
    assert (most.estimate, most.n, most.low, most.high) == (Y.max(), 120, None, None)
    assert most.reason == "no valid interval: the bootstrap is inconsistent for extremes"
    assert extreme([], "min").estimate is None
    with pytest.raises(ArgumentError, match="'mean'"):
        extreme(Y, "mean")


@pytest.mark.integration
@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(-1e9, 1e9), st.integers(0, 12), st.floats(0.1, 10)), min_size=1, max_size=80),
    st.sampled_from([0.1, 0.5, 0.8]),
    st.booleans(),
    st.booleans(),
    st.randoms(),
)
def test_properties(sample, q, clustered, weighted, random):
    """An interval has width, holds the point and consists of observed values; row order is irrelevant."""
    values, codes = np.array([row[0] for row in sample]), np.array([row[1] for row in sample])
    weights = np.array([row[2] for row in sample]) if weighted else None
    clusters = (codes,) if clustered else ()
    made = quantile(values, clusters, q=q, weights=weights)
    rows = list(range(values.size))
    random.shuffle(rows)
    moved = quantile(
        values[rows],
        tuple(way[rows] for way in clusters),
        q=q,
        weights=None if weights is None else weights[rows],
    )
    assert moved.estimate == made.estimate
    assert (moved.low is None) == (made.low is None)
    if made.low is None:
        assert made.high is None
        assert made.reason
        return
    assert (moved.low, moved.high) == (made.low, made.high)
    assert made.low <= made.estimate <= made.high
    assert made.low < made.high
    assert {made.low, made.high} <= {*values.tolist(), made.estimate}


@settings(deadline=None)
@given(st.integers(2, 4))
def test_more_of_the_same_clusters_narrow_the_interval(copies):
    """Duplicating every cluster keeps the median and shrinks its interval."""
    once = median(Y, (GOAL,))
    many = median(np.tile(Y, copies), (np.concatenate([GOAL + 30 * copy for copy in range(copies)]),))
    assert many.estimate == once.estimate
    assert many.high - many.low < once.high - once.low


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "size"), [(1, 40), (30, 4), (50, 5), (100, 10)])
@pytest.mark.parametrize("q", [0.5, 0.8])
def test_coverage(clusters, size, q, covers, record_property):
    """At ICC .3 clustered intervals cover 94 %, and order statistics of independent rollouts 95 %.

    Order statistics of clustered rollouts, as if each were independent, cover .87 and .77 with 5 and with 10 attempts at a goal.
    """
    rng, repetitions, hits, independent = np.random.default_rng(clusters), repeated(3000), 0, 0
    truth = stats.norm.ppf(q)
    codes = np.repeat(np.arange(clusters), size)
    ways = (codes,) if clusters > 1 else ()
    for _ in range(repetitions):
        values = math.sqrt(0.7) * rng.normal(0, 1, codes.size)
        values += math.sqrt(0.3) * (rng.normal(0, 1, clusters)[codes] if ways else rng.normal(0, 1, codes.size))
        made, plain = quantile(values, ways, q=q), quantile(values, (), q=q)
        hits += made.low <= truth <= made.high
        independent += plain.low <= truth <= plain.high
    record_property("coverage", float(hits / repetitions))
    record_property("order statistics", float(independent / repetitions))
    assert covers(hits, repetitions, 0.94)
    if ways:
        # What is up to the q-quantile differs between goals at an ICC of .194 (q .5) and .163 (q .8): Sheppard's formula.
        below = stats.multivariate_normal(cov=[[1, 0.3], [0.3, 1]]).cdf([truth, truth])
        deff = 1 + (size - 1) * (below - q * q) / (q * (1 - q))
        expected = 2 * stats.norm.cdf(1.959964 / math.sqrt(deff)) - 1
        error = math.sqrt(expected * (1 - expected) / repetitions)
        assert independent / repetitions == pytest.approx(expected, abs=0.012 + 3 * error)
        assert hits - independent > 0.03 * repetitions


@pytest.mark.slow
def test_two_way_coverage(covers, record_property):
    """Goals crossed with tasks: the two-way Woodruff interval covers at least 94 %."""
    rng, repetitions, hits = np.random.default_rng(9), repeated(3000), 0
    goal, task = np.repeat(np.arange(10), 15), np.tile(np.arange(15), 10)
    for _ in range(repetitions):
        made = median(rng.normal(0, 0.6, 10)[goal] + rng.normal(0, 0.6, 15)[task] + rng.normal(0, 1, 150), (goal, task))
        hits += made.low is None or made.low <= 0 <= made.high
    record_property("coverage", float(hits / repetitions))
    assert covers(hits, repetitions, 0.94)


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_a_median_at_the_limit_has_an_interval(seed):
    """Half of all rollouts reach the limit of turns: all are up to the median, those below it vary, and the bootstrap agrees."""
    rng = np.random.default_rng(seed)
    goal = np.repeat(np.arange(20), 3)
    early = 0.85 * rng.random(20)[goal] > rng.random(60)
    turns = np.where(early, rng.integers(1, 8, 60), 8).astype(float)
    found = median(turns, (goal,))
    drawn = quantile(turns, (goal,), interval="percentile", rng=np.random.default_rng(0))
    assert (found.estimate, found.high, found.method) == (8.0, 8.0, "Woodruff")
    assert drawn.high == 8.0
    assert found.low < 8.0
    assert abs(found.low - drawn.low) <= 2.0


@pytest.mark.parametrize(
    ("values", "q", "expected"),
    [
        ([1.0, 2.0, math.inf], 0.5, 2.0),  # NumPy says NaN: 2 + 0 · ∞
        ([1.0, 2.0, 3.0, math.inf], 0.5, 2.5),
        ([1.0, math.inf, math.inf], 0.5, math.inf),
        ([-math.inf, 1.0], 0.25, -math.inf),
        ([-1e308, 1e308], 0.5, 0.0),  # whose distance is no double
        ([-math.inf, math.inf], 0.5, None),
    ],
)
@pytest.mark.parametrize("weights", [None, 2.0])
def test_infinite_values_stand_in_order(values, q, expected, weights):
    """What lies beside an infinite value is not lost in it; between two there is nothing, and a reason says so."""
    w = None if weights is None else np.full(len(values), weights)
    made = quantile(values, (), q=q, weights=w)
    assert made.estimate == expected
    assert (made.reason == "the 0.5 quantile lies between two infinite values") == (expected is None)


@pytest.mark.integration
@settings(max_examples=200)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9]))
def test_quantiles_of_finite_values_equal_numpy(values, q):
    assert quantile(values, (), q=q).estimate == np.quantile(values, q)


def test_drawn_quantiles_know_infinite_values():
    """A tenth of the values is infinite: the median's interval is that of the others, which is what the draws say."""
    values = np.append(np.arange(90.0), np.full(10, math.inf))
    drawn = quantile(values, (), q=0.5, interval="percentile", rng=np.random.default_rng(1), resamples=2000)
    capped = quantile(
        np.minimum(values, 1e6), (), q=0.5, interval="percentile", rng=np.random.default_rng(1), resamples=2000
    )
    assert (drawn.estimate, drawn.low, drawn.high) == (capped.estimate, capped.low, capped.high)


@pytest.mark.integration
@pytest.mark.parametrize("q", [0.1, 0.25, 0.5, 0.9])
def test_woodruff_of_negative_values_is_mirrored(q):
    """The q-quantile of y and the (1 - q)-quantile of -y have the same ends with the other sign, tied values included."""
    rng = np.random.default_rng(6)
    for row in range(60):
        goals, attempts = int(rng.integers(8, 40)), int(rng.integers(2, 5))
        codes = np.repeat(np.arange(goals), attempts)
        y = rng.standard_normal(goals)[codes] + rng.standard_normal(codes.size)
        y = np.round(2 * y) if row % 2 else y
        made, mirrored = quantile(y, (codes,), q=q), quantile(-y, (codes,), q=1 - q)
        assert (made.low is None) == (mirrored.low is None)
        if made.low is not None:
            assert (made.low, made.high) == pytest.approx((-mirrored.high, -mirrored.low), abs=1e-12)
