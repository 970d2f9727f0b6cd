# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from simulations import repeated

from rollwise.stats.incidence import influence, kaplan_meier
from rollwise.stats.restricted import restricted_mean, survival_median

DATA = np.random.default_rng(8)
N = 90
GOAL = np.repeat(np.arange(15), 6)
DURATION, OBSERVED = DATA.integers(1, 9, N), DATA.random(N) < 0.6


def by_logit(mean, half, last):
    """Ends of the interval on the logit of the share of [1, τ]."""
    share = (mean - 1) / (last - 1)
    center, stretch = stats.logistic.ppf(share), half / (last - 1) / (share * (1 - share))
    return tuple(1 + (last - 1) * stats.logistic.cdf([center - stretch, center + stretch]))


def test_restricted_mean_by_hand():
    """Events at 1, 2, 3 and one watched to 3 without: S = 1, 3/4, 1/2 before τ = 3, area 2.25."""
    turns = restricted_mean([1, 2, 3, 3], [True, True, True, False], ())
    assert turns.estimate == 2.25
    # Without censoring it is the plain mean of min(time, 3).
    plain = np.array([1, 2, 3, 3])
    assert turns.std_error == pytest.approx(math.sqrt(plain.var(ddof=1) / 4))
    assert (turns.low, turns.high) == pytest.approx(by_logit(2.25, turns.std_error * stats.t.ppf(0.975, 3), 3))
    assert turns.method == "restricted mean, influence, logit"


def test_restricted_mean_without_censoring_is_a_mean():
    """When every event is seen, estimate and clustered error are those of the plain mean of the times."""
    from rollwise.stats.mean import mean

    made, plain = restricted_mean(DURATION, np.ones(N), (GOAL,)), mean(DURATION, (GOAL,), interval="t")
    assert made.estimate == pytest.approx(plain.estimate)
    assert made.std_error == pytest.approx(plain.std_error)
    assert made.method == "restricted mean, clustered influence, logit"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("horizon", [3, 6, 8])
def test_restricted_mean_equals_lifelines(horizon):
    """The area under the survival curve is lifelines' restricted mean."""
    utils = pytest.importorskip("lifelines.utils")
    fitted = pytest.importorskip("lifelines").KaplanMeierFitter().fit(DURATION, OBSERVED)
    made = restricted_mean(DURATION, OBSERVED, (GOAL,), horizon=horizon)
    assert made.estimate == pytest.approx(utils.restricted_mean_survival_time(fitted, t=horizon), abs=1e-9)


def test_restricted_mean_sums_influences():
    """Its variance is that of the clusters' influences summed over the positions before τ; two ways join."""
    each = -influence(DURATION, OBSERVED)[:, :5].sum(axis=1)
    task = np.tile(np.arange(6), 15)
    one, other = (np.bincount(codes, weights=each) for codes in (GOAL, task))
    parts = 15 / 14 * np.square(one).sum(), 6 / 5 * np.square(other).sum(), N / (N - 1) * np.square(each).sum()
    made = restricted_mean(DURATION, OBSERVED, (GOAL,), horizon=6)
    assert made.std_error**2 == pytest.approx(parts[0])
    observed = max(1.0, parts[0] / np.square(each).sum())
    had = OBSERVED & (DURATION <= 5)
    mixed = min(np.unique(GOAL[had]).size, np.unique(GOAL[~had]).size)
    effect = (mixed * observed + 6 / 2) / (mixed + 0.5)
    half = stats.t.ppf(0.975, 14) * math.sqrt(np.square(each).sum() * effect)
    assert (made.low, made.high) == pytest.approx(by_logit(made.estimate, half, 6))
    both = restricted_mean(DURATION, OBSERVED, (GOAL, task), horizon=6)
    assert both.std_error**2 == pytest.approx(max(parts[0] + parts[1] - parts[2], parts[0], parts[1]))
    assert (both.n_clusters, both.method) == (6, "restricted mean, two-way influence, logit")


def test_restricted_mean_beyond_the_last_event():
    """When everyone had the event, a later horizon adds nothing; when someone had not, it is unknown."""
    seen = restricted_mean([1, 2, 4], [True] * 3, ())
    later = restricted_mean([1, 2, 4], [True] * 3, (), horizon=9)
    assert (later.estimate, later.std_error) == (seen.estimate, pytest.approx(seen.std_error))
    unknown = restricted_mean([1, 2, 4], [True, True, False], (), horizon=9)
    assert (unknown.estimate, unknown.low) == (None, None)
    assert unknown.reason == "no rollout was watched beyond position 4, and some had no event by then"


@pytest.mark.parametrize(
    ("duration", "observed", "clusters", "estimate", "reason"),
    [
        ([], [], (), None, "no values"),
        ([2, 3], [False, False], (), 3.0, "no event observed before position 3"),
        ([1, 3, 2], [True, False, True], (np.zeros(3, int),), 5 / 3 + 1 / 3, "one cluster: no interval over clusters"),
        ([2], [True], (), 2.0, "no event observed before position 2"),
        ([1, 1, 1], [True] * 3, (), 1.0, "no event observed before position 1"),
    ],
)
def test_restricted_mean_edges(duration, observed, clusters, estimate, reason):
    """Where nothing is seen before τ, or nothing varies, there is no interval, and the reason is said."""
    made = restricted_mean(duration, observed, clusters)
    assert made.estimate == (None if estimate is None else pytest.approx(estimate))
    assert (made.low, made.high, made.std_error, made.method, made.reason) == (None, None, None, None, reason)


def test_goals_that_do_not_differ_have_an_interval():
    """Goals that are alike have no standard error to see, but an interval, as shares have."""
    made = restricted_mean([1, 2, 1, 2], [True, False] * 2, (np.array([0, 0, 1, 1]),))
    assert (made.estimate, made.std_error) == (1.5, None)
    assert 1 < made.low < 1.5 < made.high < 2


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
def test_median_equals_lifelines():
    """The median is lifelines', and at many rollouts its interval that of the exponential Greenwood bounds."""
    lifelines = pytest.importorskip("lifelines")
    utils = pytest.importorskip("lifelines.utils")
    rng = np.random.default_rng(0)
    duration, observed = rng.geometric(0.05, 4000), rng.random(4000) < 0.8
    fitted = lifelines.KaplanMeierFitter().fit(duration, observed)
    oracle = utils.median_survival_times(fitted.confidence_interval_)
    made = survival_median(duration, observed, ())
    assert made.estimate == fitted.median_survival_time_
    assert (made.low, made.high) == tuple(oracle.iloc[0])
    assert made.method == "Kaplan-Meier median, Wilson"


def test_median_by_hand():
    """A fifth of 40 in each turn: Wilson's ends of 8, 16, 24 and 32 of 40 first reach 1/2 at 2 (.554 after .348) and 4 (.652)."""
    duration = np.repeat([1, 2, 3, 4, 5], 8)
    curve = kaplan_meier(duration, np.ones(40), ())
    assert curve.high[1:3] == pytest.approx([0.348, 0.554], abs=5e-4)
    assert curve.low[3:5] == pytest.approx([0.446, 0.652], abs=5e-4)
    made = survival_median(duration, np.ones(40), ())
    assert (made.estimate, made.low, made.high) == (3, 2, 4)
    half = survival_median(duration, np.ones(40), (), level=0.5)  # .453 and .652 above, .348 and .547 below: both at 3
    assert (half.estimate, half.low, half.reason) == (3, None, "the interval has no width")


def test_median_inverts_the_curve():
    """The ends are where the upper and the lower bound of the share first reach a half."""
    curve = kaplan_meier(DURATION, OBSERVED, (GOAL,))
    made = survival_median(DURATION, OBSERVED, (GOAL,))
    assert made.estimate == np.argmax(curve.estimate >= 0.5)
    assert made.low == np.argmax(curve.high >= 0.5)
    assert made.high == np.argmax(curve.low >= 0.5)
    assert (made.n, made.n_clusters, made.std_error) == (N, 15, None)


def test_median_at_exactly_a_half():
    """S = 3/4 · 2/3 is a half, whatever the rounding says."""
    assert survival_median([1, 2, 3, 3], [True, True, False, False], ()).estimate == 2


def test_median_out_of_reach():
    """What the curve does not reach is None: the upper end, or the median with it; the lower end may still stand."""
    rare = survival_median(np.r_[np.ones(3, int), np.full(97, 4)], np.arange(100) < 3, ())
    assert (rare.estimate, rare.low, rare.high, rare.method) == (None, None, None, None)
    assert rare.reason == "the median is not reached by position 4"
    near = survival_median(np.r_[np.ones(9, int), np.full(11, 4)], np.arange(20) < 9, ())
    assert (near.estimate, near.low, near.high) == (None, 1.0, None)
    above = survival_median(np.r_[np.ones(11, int), np.full(9, 4)], np.arange(20) < 11, ())
    assert (above.estimate, above.low, above.high) == (1.0, 1.0, None)
    assert above.reason == "the upper end is not reached by position 4"


@pytest.mark.parametrize(
    ("duration", "observed", "clusters", "estimate", "reason"),
    [
        ([], [], (), None, "no values"),
        ([1, 2, 3], [True] * 3, (np.zeros(3, int),), 2.0, "one cluster: no interval over clusters"),
        ([2] * 40, [True] * 40, (), 2.0, "the interval has no width"),
    ],
)
def test_median_edges(duration, observed, clusters, estimate, reason):
    """No rollout, one cluster, or ends that coincide: no interval, and the reason is said."""
    made = survival_median(duration, observed, clusters)
    assert (made.estimate, made.low, made.high, made.method, made.reason) == (estimate, None, None, None, reason)


@pytest.mark.integration
@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.booleans(), st.integers(0, 9)), min_size=1, max_size=60),
    st.booleans(),
    st.integers(1, 8),
    st.randoms(),
)
def test_properties(sample, clustered, horizon, random):
    """Intervals lie in range, have width and hold the point; row order is irrelevant; nothing is NaN."""
    rows = list(sample)
    random.shuffle(rows)
    for estimator in (restricted_mean, survival_median):
        made, moved = (
            estimator(duration, observed.astype(bool), (codes,) if clustered else (), horizon=horizon)
            for duration, observed, codes in (np.array(kind, dtype=int).T for kind in (sample, rows))
        )
        pairs = [(getattr(made, name), getattr(moved, name)) for name in ("estimate", "std_error", "low", "high")]
        for value, other in pairs:
            assert (value is None) == (other is None)
            assert value is None or (math.isfinite(value) and other == pytest.approx(value, rel=1e-11))
        if made.low is None or made.high is None:
            assert made.reason
        else:
            assert 1 <= made.low <= made.estimate <= made.high <= horizon
            assert made.low < made.high


@settings(deadline=None)
@given(st.integers(2, 4))
def test_more_of_the_same_goals_narrow_the_interval(copies):
    """Duplicating every cluster keeps the restricted mean and shrinks its error."""
    codes = np.concatenate([GOAL + 15 * copy for copy in range(copies)])
    once = restricted_mean(DURATION, OBSERVED, (GOAL,))
    many = restricted_mean(np.tile(DURATION, copies), np.tile(OBSERVED, copies), (codes,))
    assert many.estimate == pytest.approx(once.estimate)
    assert many.high - many.low < once.high - once.low


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "size", "last", "rate", "icc"),
    [
        (40, 5, 10, 0.05, 0.3),
        (40, 5, 10, 0.10, 0.1),
        (20, 5, 8, 0.1, 0.3),
        (100, 10, 10, 0.05, 0.3),
        (20, 5, 8, 0.03, 0.3),
    ],
)
def test_restricted_mean_coverage(
    clusters, size, last, rate, icc, watched_goals, share_by_turn, covers, record_property
):
    """A quarter censored, goals alike within: the restricted mean is covered at 94 % or more, also where events are few."""
    rng, repetitions, hits = np.random.default_rng(clusters), repeated(3000), 0
    truth = (1 - share_by_turn(last, rate, icc))[:last].sum()
    for _ in range(repetitions):
        duration, cause, codes = watched_goals(rng, clusters, size, last, rate, icc)
        made = restricted_mean(duration, cause == 1, (codes,), horizon=last)
        hits += made.low is not None and made.low <= truth <= made.high
    record_property("coverage", float(hits / repetitions))
    assert covers(hits, repetitions, 0.94)


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "size", "rate", "icc"), [(40, 5, 0.1, 0.1), (100, 4, 0.07, 0.05)])
def test_median_coverage(clusters, size, rate, icc, watched_goals, share_by_turn, covers, record_property):
    """Times are whole, so the interval covers the median more often than nominal, open ends included."""
    rng, repetitions, hits, last = np.random.default_rng(clusters), repeated(2000), 0, 15
    truth = np.argmax(share_by_turn(last, rate, icc) >= 0.5)
    for _ in range(repetitions):
        duration, cause, codes = watched_goals(rng, clusters, size, last, rate, icc)
        made = survival_median(duration, cause == 1, (codes,), horizon=last)
        hits += (made.low or 0) <= truth <= (math.inf if made.high is None else made.high)
    record_property("coverage", float(hits / repetitions))
    assert covers(hits, repetitions, 0.95)
