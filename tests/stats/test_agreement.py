# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Coefficients of agreement against published figures, other programs, hand-made cases, and their coverage."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulations import repeated
from statsmodels.stats.inter_rater import cohens_kappa

from rollwise.errors import ArgumentError
from rollwise.stats.agreement import ac1, agreeing_share, alpha, kappa
from rollwise.stats.bootstrap import expanded

NONE = math.nan

# Krippendorff (2011), section D: four observers, twelve units.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
).T
# The three coders of the krippendorff package's documentation and of the encyclopedia's article.
CODERS = np.array(
    [
        [NONE] * 5 + [3, 4, 1, 2, 1, 1, 3, 3, NONE, 3],
        [1, NONE, 2, 1, 3, 3, 4, 3] + [NONE] * 7,
        [NONE, NONE, 2, 1, 3, 4, 4, NONE, 2, 1, 1, 3, 3, NONE, 4],
    ]
).T
# Gwet (2014), Handbook of Inter-Rater Reliability, page 120.
RATERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, NONE],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
).T
# Gwet (2014): page 125, five observers.
FIVE = np.array(
    [
        [1, 1, 2, NONE, 0, 0, 1, 1, 2, 2, NONE, 0, 1, 3, 1],
        [1, 1, 3, 0, 0, 0, 0, NONE, 2, 1, 1, 0, 2, 3, 1],
        [2, 0, 3, 0, 0, 0, 2, 2, 2, 1, 0, 0, 2, 2, 1],
        [NONE, 1, 3, NONE, NONE, NONE, NONE, 0, NONE, 1, 0, 0, 2, 2, NONE],
        [2, NONE, NONE, 0, 0, 0, 1, NONE, 2, NONE, NONE, NONE, NONE, 3, 1],
    ]
).T
ABSTRACTORS = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
DIAGNOSES = np.array([[40, 4, 4, 17], [6, 25, 2, 13], [4, 1, 21, 12], [15, 5, 9, 45]])


def pairs(table):
    """The two ratings of each unit of a contingency table."""
    rows, columns = np.indices(table.shape)
    return np.column_stack([np.repeat(codes.ravel(), table.ravel()) for codes in (rows, columns)]).astype(float)


# ── published figures and other programs ──────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("ratings", "scale", "published"),
    [
        (OBSERVERS, "nominal", 0.743421),
        (OBSERVERS, "ordinal", 0.815388),
        (OBSERVERS, "interval", 0.849107),
        (CODERS, "nominal", 0.691358),
        (CODERS, "interval", 0.810845),
        (FIVE, "nominal", 0.481),
        (RATERS, "nominal", 0.743),
    ],
)
def test_alpha_is_krippendorff_s(ratings, scale, published):
    """Krippendorff's own example (.743, .815, .849), that of the krippendorff package (.691, .811) and those of irrCAC."""
    digits = len(str(published)) - 2
    assert alpha(ratings, (), scale=scale, interval="t").estimate == pytest.approx(published, abs=0.5 * 10**-digits)


def test_units_with_one_rating_drop_out():
    """Krippendorff's example has one unit with a single rating: eleven of twelve count, forty ratings in all."""
    assert alpha(OBSERVERS, (), interval="t").n == 11
    paired = OBSERVERS[(~np.isnan(OBSERVERS)).sum(axis=1) > 1]
    assert alpha(paired, (), interval="t") == alpha(OBSERVERS, (), interval="t")


@pytest.mark.parametrize(
    ("ratings", "published"),
    [(RATERS, 0.775), (FIVE, 0.497), (pairs(ABSTRACTORS), 0.849), (pairs(DIAGNOSES), 0.456)],
)
def test_ac1_is_gwet_s(ratings, published):
    """Gwet's tables, as irrCAC gives them: four and five raters with gaps, and two contingency tables."""
    assert ac1(ratings, (), interval="t").estimate == pytest.approx(published, abs=5e-4)


def test_ac1_by_hand():
    """Two raters, two classes: p_a = 3/4, π = 3/8, p_e = 2·3/8·5/8 = 15/32, AC1 = (3/4 - 15/32) / (17/32) = 9/17."""
    assert ac1([[1, 1], [1, 0], [0, 0], [0, 0]], (), interval="t").estimate == pytest.approx(9 / 17)


@pytest.mark.parametrize("table", [ABSTRACTORS, DIAGNOSES, np.array([[20, 5], [10, 15]])])
@pytest.mark.parametrize(("weights", "theirs"), [(None, None), ("linear", "linear"), ("quadratic", "fc")])
def test_kappa_equals_statsmodels(table, weights, theirs):
    """Plain, linear and quadratic kappa are those of statsmodels, whose asymptotic error the jackknife is near."""
    ours = kappa(pairs(table), (), weights=weights, interval="t")
    other = cohens_kappa(table, wt=theirs)
    assert ours.estimate == pytest.approx(other.kappa, rel=1e-12)
    assert ours.std_error == pytest.approx(other.std_kappa, rel=0.04)


def test_kappa_by_hand():
    """The textbook's 2 x 2 table: 20, 5, 10, 15 agree in .70 against .50 by chance, kappa .40."""
    found = kappa(pairs(np.array([[20, 5], [10, 15]])), (), interval="t")
    assert found.estimate == pytest.approx(0.4)
    assert found.n == 50


def test_interval_alpha_of_two_raters_without_gaps_by_hand():
    """1, 2 | 3, 3 | 2, 4: D_o = (1 + 0 + 4)·2/6 and D_e = Σ over the ordered pairs of six values / 30."""
    values = [1, 2, 3, 3, 2, 4]
    expected = Fraction(sum((a - b) ** 2 for a in values for b in values), 30)
    assert alpha([[1, 2], [3, 3], [2, 4]], (), scale="interval", interval="t").estimate == pytest.approx(
        float(1 - Fraction(10, 6) / expected)
    )


def test_the_jackknife_error_by_hand():
    """The standard error is √((G-1)/G · Σ(θ₍₋g₎ - θ̄)²) over goals, recomputed one goal at a time."""
    rng = np.random.default_rng(0)
    goal = np.repeat(np.arange(12), 4)
    rated = (rng.random((48, 2)) < 0.5).astype(float)
    without = [kappa(rated[goal != left], (), interval="t").estimate for left in range(12)]
    expected = math.sqrt(11 / 12 * np.square(np.array(without) - np.mean(without)).sum())
    found = kappa(rated, (goal,), interval="t")
    assert found.std_error == pytest.approx(expected)
    assert found.method == "cluster t"


@pytest.mark.integration
def test_the_bootstrap_by_hand():
    """A replicate is the coefficient of the drawn goals, each as often as drawn."""
    rng = np.random.default_rng(1)
    goal = np.repeat(np.arange(15), 3)
    rated = rng.integers(1, 5, (45, 2)).astype(float)
    found = kappa(
        rated, (goal,), weights="quadratic", rng=np.random.default_rng(5), resamples=4000, interval="percentile"
    )
    again = np.random.default_rng(6)
    replicates = []
    for _ in range(1500):
        rows = np.concatenate([np.flatnonzero(goal == g) for g in again.integers(0, 15, 15)])
        replicates.append(kappa(rated[rows], (), weights="quadratic", interval="t").estimate)
    low, high = np.quantile(replicates, [0.025, 0.975])
    assert found.low == pytest.approx(low, abs=0.04)
    assert found.high == pytest.approx(high, abs=0.04)
    assert found.resamples == 4000


# ── edges ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("coefficient", [kappa, alpha, ac1])
def test_one_category_everywhere_is_null(coefficient):
    """Where nothing varies there is no agreement beyond chance: sklearn gives NaN, krippendorff raises, Inspect says 1."""
    found = coefficient(np.ones((20, 2)), (), rng=np.random.default_rng(0))
    assert (found.estimate, found.low, found.high, found.n) == (None, None, None, 20)
    assert "one category everywhere" in found.reason


@pytest.mark.parametrize("coefficient", [kappa, alpha, ac1])
def test_no_disagreement_has_no_interval(coefficient):
    """Raters who always agree have the coefficient 1 and no interval of zero width."""
    found = coefficient(np.repeat([[0.0], [1.0]], 10, axis=0) @ np.ones((1, 2)), (), rng=np.random.default_rng(0))
    assert found.estimate == pytest.approx(1.0)
    assert (found.low, found.high, found.std_error) == (None, None, None)
    assert "no disagreement" in found.reason


@pytest.mark.parametrize("coefficient", [kappa, alpha, ac1])
def test_nothing_to_compare(coefficient):
    """No unit, or no unit with two ratings: null, with the reason."""
    for ratings in (np.empty((0, 2)), [[1, NONE], [NONE, 0]]):
        found = coefficient(ratings, (), rng=np.random.default_rng(0))
        assert (found.estimate, found.n, found.reason) == (None, 0, "no unit has two ratings")


def test_one_cluster_has_no_interval():
    """Any number of units of one goal has no interval over goals, and does not fall back to independence."""
    found = kappa(pairs(DIAGNOSES), (np.zeros(DIAGNOSES.sum(), int),))
    assert found.estimate == pytest.approx(cohens_kappa(DIAGNOSES).kappa)
    assert (found.low, found.n_clusters, found.reason) == (None, 1, "one cluster: no interval over clusters")


def test_a_cluster_that_holds_a_category_alone():
    """Without one goal there would be one category left: the interval is undefined, and says so."""
    rated = np.array([[0, 0]] * 9 + [[1, 1], [1, 0]], float)
    goal = np.r_[np.repeat([0, 1, 2], 3), 3, 3]
    found = kappa(rated, (goal,))
    assert found.low is None
    assert "one cluster holds all but one category" in found.reason


def test_measurements_are_no_categories():
    """Ratings that are all different are refused before they fill the memory; interval alpha takes any number of them."""
    rng = np.random.default_rng(4)
    truth = rng.normal(size=20_000)
    rated = truth[:, None] + rng.normal(size=(20_000, 2)) / 3
    goal = np.arange(20_000) // 20
    for coefficient in (kappa, alpha, ac1):
        found = coefficient(rated, (goal,), rng=rng)
        assert (found.estimate, found.n) == (None, 20_000)
        assert found.reason.startswith("40000 distinct ratings are no categories")
    found = alpha(rated, (goal,), scale="interval", rng=rng)
    assert found.estimate == pytest.approx(1 / (1 + 1 / 9), abs=0.01)
    assert found.low < 0.9 < found.high


def test_an_infinite_rating_has_no_distance():
    """What measures distances says so; what tells categories apart, or ranks them, does as ever."""
    rated, goal = np.array([[1, 1], [2, 1], [np.inf, np.inf], [3, 2]] * 6), np.repeat(np.arange(12), 2)
    for found in (kappa(rated, (goal,), weights="quadratic"), alpha(rated, (goal,), scale="interval")):
        assert (found.estimate, found.low, found.n, found.reason) == (None, None, 24, "1 value is infinite")
    finite = np.where(np.isinf(rated), 9.0, rated)
    for coefficient in (kappa, ac1, alpha, partial(alpha, scale="ordinal")):
        found, same = (coefficient(each, (goal,), rng=np.random.default_rng(0)) for each in (rated, finite))
        assert found == same
        assert found.low < found.estimate < found.high


def test_few_clusters_take_t():
    """Under ten clusters no bootstrap is trusted."""
    rated = pairs(DIAGNOSES)
    found = kappa(rated, (np.arange(len(rated)) % 6,), rng=np.random.default_rng(0))
    assert found.method == "cluster t"
    assert found.reason == "6 clusters are too few for a bootstrap"
    assert -1 <= found.low < found.estimate < found.high <= 1


def test_bca_is_expanded_unless_asked_for_by_name():
    """The default is as wide as t where clusters are few, and its ends are those of BCa at that level."""
    rng = np.random.default_rng(3)
    rated, goal = (rng.random((60, 2)) < 0.5).astype(float), np.repeat(np.arange(12), 5)
    found, plain, wide = (
        kappa(rated, (goal,), rng=np.random.default_rng(0), **how)
        for how in ({}, {"interval": "bca"}, {"interval": "bca", "level": expanded(0.95, 12)})
    )
    assert found.method == "expanded cluster BCa bootstrap"
    assert plain.method == "cluster BCa bootstrap"
    assert (found.low, found.high) == (wide.low, wide.high)
    assert found.low < plain.low < plain.high < found.high


def test_two_crossed_ways_take_t():
    """Goals crossed with tasks: the variances of both ways, never less than of one, and no bootstrap."""
    rng = np.random.default_rng(2)
    goal, task = np.repeat(np.arange(12), 10), np.tile(np.arange(10), 12)
    rated = np.column_stack([rng.random(120) < 0.4 + 0.3 * (goal < 5)] * 2).astype(float)
    rated[rng.random(120) < 0.2, 1] = 1
    both = kappa(rated, (goal, task), rng=rng)
    assert both.method == "two-way t"
    assert both.n_clusters == 10
    assert both.std_error >= max(kappa(rated, (way,), interval="t").std_error for way in (goal, task)) - 1e-12
    assert (
        kappa(rated, (goal, task), rng=rng, interval="bca").reason
        == "no bca bootstrap over two crossed ways: ask for t"
    )


def test_a_scale_s_unit_and_offset_cost_no_digits():
    """Ratings moved by a million or measured in millionths agree as before."""
    rng = np.random.default_rng(3)
    rated = rng.integers(1, 6, (60, 2)).astype(float)
    rated[::7, 1] = NONE
    for moved in (rated + 1e6, rated * 1e-6):
        for weights in ("linear", "quadratic"):
            there, here = (kappa(x, (), weights=weights, interval="t") for x in (moved, rated))
            assert there.estimate == pytest.approx(here.estimate, abs=1e-8)
        there, here = (alpha(x, (), scale="interval", interval="t") for x in (moved, rated))
        assert there.estimate == pytest.approx(here.estimate, abs=1e-8)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ((kappa, {"weights": "cubic"}), "weights is 'cubic'"),
        ((alpha, {"scale": "ratio"}), "scale is 'ratio'; it must be one of nominal, ordinal, interval"),
        ((ac1, {"interval": "basic"}), "interval is 'basic'"),
        ((ac1, {}), "needs rng"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_sentence(wrong, says):
    """A wrong option names itself and what there is."""
    coefficient, options = wrong
    with pytest.raises(ArgumentError, match=says):
        coefficient(pairs(DIAGNOSES), (), **options)


# ── properties ────────────────────────────────────────────────────────────────────────────────────────────────────────
ratings = st.lists(
    st.tuples(*[st.sampled_from([0.0, 1.0, 2.0, NONE])] * 3, st.integers(0, 14)), min_size=1, max_size=60
)


@pytest.mark.integration
@given(ratings, st.randoms())
def test_order_and_names_do_not_matter(rows, random):
    """Shuffled units, swapped raters and renamed categories give the same coefficients; every interval has width."""
    rated, goal = np.array([row[:3] for row in rows]), np.array([row[3] for row in rows])
    order = list(range(len(rows)))
    random.shuffle(order)
    for coefficient in (alpha, ac1):
        found = coefficient(rated, (goal,), rng=np.random.default_rng(0), resamples=200)
        again = coefficient(
            rated[order][:, [2, 0, 1]] * -7 + 3, (goal[order],), rng=np.random.default_rng(0), resamples=200
        )
        assert (found.n, found.n_clusters, found.reason) == (again.n, again.n_clusters, again.reason)
        if found.estimate is not None:
            assert again.estimate == pytest.approx(found.estimate, abs=1e-9)
            assert found.estimate <= 1 + 1e-12
        if found.low is not None:
            assert found.low < found.high


@pytest.mark.integration
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=50))
def test_for_two_classes_all_scales_are_one(rows):
    """With two classes weights and scales make no difference, and the shares of agreeing pairs are 0 or 1."""
    rated = np.array(rows, float)
    plain = kappa(rated, (), interval="t")
    assert set(agreeing_share(rated)) <= {0.0, 1.0}
    for weights in ("linear", "quadratic"):
        found = kappa(rated, (), weights=weights, interval="t")
        assert found.estimate == (None if plain.estimate is None else pytest.approx(plain.estimate, abs=1e-12))
    nominal = alpha(rated, (), interval="t").estimate
    for scale in ("ordinal", "interval"):
        other = alpha(rated, (), scale=scale, interval="t").estimate
        assert other == (None if nominal is None else pytest.approx(nominal, abs=1e-12))


# ── coverage ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "size", "rate", "error", "least"),
    [(30, 5, 0.3, 0.1, 0.95), (60, 4, 0.08, 0.08, 0.94), (15, 6, 0.4, 0.15, 0.94), (10, 6, 0.4, 0.15, 0.93)],
)
def test_bootstrap_intervals_cover(goal_rates, covers, clusters, size, rate, error, least):
    """Kappa, alpha and AC1 of two judges who err alike on hard goals: nominal .95 over goals, be they 10 or 60.

    Resampling verdicts instead of goals would cover less; so would BCa that is not expanded, .90 to .93 of 10 to 20 goals.
    """
    shape = 2 * error / 0.5, 2 * (1 - error / 0.5)
    once = shape[0] / sum(shape)
    twice = once * (shape[0] + 1) / (sum(shape) + 1)
    agree = 1 - once + twice / 2  # E[(1 - e)² + e²] with e = B/2
    positive = rate * (1 - once / 2) + (1 - rate) * once / 2
    by_chance, gwet = positive**2 + (1 - positive) ** 2, 2 * positive * (1 - positive)
    truth = {
        kappa: (agree - by_chance) / (1 - by_chance),
        alpha: (agree - by_chance) / (1 - by_chance),
        ac1: (agree - gwet) / (1 - gwet),
    }
    rng, repetitions = np.random.default_rng(1), repeated(500)
    hits = dict.fromkeys(truth, 0)
    for repetition in range(repetitions):
        goal = np.repeat(np.arange(clusters), size)
        true = rng.random(goal.size) < goal_rates(rng, clusters, rate, 0.3)[goal]
        wrong = rng.random((goal.size, 2)) < (rng.beta(*shape, clusters) / 2)[goal][:, None]
        rated = (true[:, None] ^ wrong).astype(float)
        for coefficient, value in truth.items():
            found = coefficient(rated, (goal,), rng=np.random.default_rng(repetition), resamples=1000)
            hits[coefficient] += found.low <= value <= found.high
    for coefficient, hit in hits.items():
        assert covers(hit, repetitions, least), (coefficient.__name__, hit / repetitions)


RUBRIC = stats.norm.ppf(np.cumsum([0.40, 0.25, 0.15, 0.12]))
"""Where a normal score is cut into five points."""


def population(raters_agree_by):
    """Shares of each pair of points when two raters' normal scores are so correlated: float (5, 5)."""
    ends = np.r_[-9.0, RUBRIC, 9.0]
    law = stats.multivariate_normal([0, 0], [[1, raters_agree_by], [raters_agree_by, 1]])
    below = np.array([[law.cdf([one, other]) for other in ends] for one in ends])
    return np.diff(np.diff(below, axis=0), axis=1)


def coefficient_of(pairs, distance):
    """1 - D_o/D_e of raters with the same habits, whose pairs of points have these shares."""
    habits = pairs.sum(axis=0)
    return 1 - (pairs * distance).sum() / (np.outer(habits, habits) * distance).sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("coefficient", "raters", "goals", "by_numpy"),
    [
        (partial(kappa, weights="linear"), 2, 10, 0.935),
        (partial(kappa, weights="linear"), 2, 30, 0.942),
        (partial(kappa, weights="quadratic"), 2, 10, 0.935),
        (partial(kappa, weights="quadratic"), 2, 30, 0.940),
        (partial(alpha, scale="ordinal"), 3, 10, 0.939),
        (partial(alpha, scale="ordinal"), 3, 30, 0.950),
        (partial(alpha, scale="interval"), 3, 10, 0.928),
        (partial(alpha, scale="interval"), 3, 30, 0.940),
        (partial(alpha, scale="interval"), 5, 10, 0.915),
        (partial(alpha, scale="interval"), 5, 30, 0.941),
    ],
)
def test_coverage_on_a_rubric(coefficient, raters, goals, by_numpy, covers_as_often_as, record_property):
    """Five points, two to five raters, 6 units a goal: expanded BCa holds about .94 of 30 goals, and .91 to .94 of 10.

    The truth is that of normal scores correlated .7 between raters and cut into points. The shares are those of the same interval
    by NumPy alone, from the coefficients' definitions and counts of drawn goals, in 5,000 samples or more. BCa that is not
    expanded holds .88 of 10 goals.
    """
    repetitions, hits = repeated(4000), 0
    pairs, points = population(0.7), np.arange(5.0)
    scale = coefficient.keywords.get("scale") or coefficient.keywords["weights"]
    habits = pairs.sum(axis=0)
    place = np.cumsum(habits) - habits / 2 if scale == "ordinal" else points
    apart = np.abs(np.subtract.outer(place, place))
    truth = coefficient_of(pairs, apart if scale == "linear" else apart**2)
    rng, goal = np.random.default_rng(goals), np.repeat(np.arange(goals), 6)
    for repetition in range(repetitions):
        score = math.sqrt(0.3) * rng.normal(size=goals)[goal] + math.sqrt(0.4) * rng.normal(size=goal.size)
        rated = np.searchsorted(RUBRIC, score[:, None] + math.sqrt(0.3) * rng.normal(size=(goal.size, raters))) + 1.0
        found = coefficient(rated, (goal,), rng=np.random.default_rng(repetition), resamples=1000)
        hits += found.low <= truth <= found.high
    record_property("coverage", hits / repetitions)
    assert covers_as_often_as(hits, repetitions, by_numpy, 5000), hits / repetitions
