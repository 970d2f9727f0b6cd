# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines import NelsonAalenFitter
from simulations import repeated
from statsmodels.duration.survfunc import SurvfuncRight

from rollwise.stats import survival
from rollwise.stats.proportion import proportion
from rollwise.stats.survival import hazard

DATA = np.random.default_rng(8)
N = 90
DURATION, CAUSE, GOAL = DATA.integers(2, 9, N), DATA.integers(0, 3, N), np.repeat(np.arange(15), 6)


def test_one_door():
    """Everything about the time to an event is found here."""
    for name in ("Incidence", "cumulative_incidence", "kaplan_meier", "influence", "hazard"):
        assert name in survival.__all__
    assert all(hasattr(survival, name) for name in survival.__all__)


def test_worked_case():
    """One of four at the first position, one of three at the second, none of one at the third."""
    curve = hazard([1, 2, 2, 3], [1, 0, 1, 2], ())
    assert curve.estimate == pytest.approx([1 / 4, 1 / 3, 0])
    assert (curve.at_risk.tolist(), curve.competing.tolist()) == ([4, 3, 1], [0, 0, 1])
    assert curve.method == "hazard, Wilson"


def test_hazard_is_a_proportion_among_those_at_risk():
    """d/Y with the clustered Wilson interval of those at risk; nobody at risk, nothing known."""
    curve = hazard(DURATION, CAUSE, (GOAL,), horizon=9)
    assert curve.at.tolist() == list(range(1, 10))
    there = DURATION >= 4
    share = proportion((DURATION == 4)[there] & (CAUSE == 1)[there], (GOAL[there],))
    assert curve.estimate[3] == share.estimate
    assert (curve.low[3], curve.high[3], curve.std_error[3]) == (share.low, share.high, share.std_error)
    assert curve.high[0] == proportion(np.zeros(N), (GOAL,)).high
    assert np.isnan(curve.estimate[8])
    assert curve.reason[8] == "no rollout at risk"
    assert curve.method == "hazard, clustered Wilson"


@pytest.mark.filterwarnings("ignore")
def test_hazards_are_the_steps_of_lifelines_cumulative_hazard():
    """Where no two rollouts end together, Nelson and Aalen's sum rises by d/Y at each position."""
    rng = np.random.default_rng(5)
    duration, observed = rng.permutation(60) + 1, rng.random(60) < 0.6
    fitted = NelsonAalenFitter().fit(duration, observed)
    oracle = fitted.cumulative_hazard_at_times(np.arange(61)).to_numpy()
    assert hazard(duration, observed.astype(int), ()).estimate == pytest.approx(np.diff(oracle), abs=1e-12)


def test_hazards_with_ties_are_those_of_statsmodels():
    """Deaths over at risk of its life table; lifelines smooths tied events by default, which turns 2 of 4 into 1/4 + 1/3."""
    table = SurvfuncRight(DURATION, CAUSE == 1)
    curve = hazard(DURATION, CAUSE, ())
    places = table.surv_times.astype(int) - 1
    assert curve.estimate[places] == pytest.approx(table.n_events / table.n_risk, abs=1e-12)
    assert curve.at_risk[places].tolist() == table.n_risk.tolist()
    tied = [1, 1, 2, 2], [1, 1, 0, 0]
    assert hazard(*tied, ()).estimate[0] == 0.5
    assert NelsonAalenFitter().fit(*tied).cumulative_hazard_at_times(1).item() == pytest.approx(1 / 4 + 1 / 3)


@pytest.mark.integration
@given(
    st.lists(
        st.tuples(st.integers(1, 5), st.integers(0, 2), st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=40
    ),
    st.integers(0, 2),
    st.integers(1, 7),
    st.randoms(),
)
def test_properties(rows, ways, horizon, random):
    """Within [0, 1], around d/Y with width, or null with a reason; the order of rows is irrelevant."""
    made, moved = (
        hazard(duration, cause, (goal, task)[:ways], horizon=horizon)
        for duration, cause, goal, task in (np.array(each).T for each in (rows, random.sample(rows, len(rows))))
    )
    for name in ("estimate", "std_error", "low", "high"):
        assert getattr(moved, name) == pytest.approx(getattr(made, name), rel=1e-11, abs=1e-12, nan_ok=True)
    assert moved.reason == made.reason
    for place, at in enumerate(made.at):
        there = [cause for duration, cause, *_ in rows if duration >= at]
        events = sum(cause == 1 for duration, cause, *_ in rows if duration == at)
        if there:
            assert made.estimate[place] == pytest.approx(events / len(there))
        else:
            assert np.isnan(made.estimate[place])
        if np.isnan(made.low[place]):
            assert np.isnan(made.high[place])
            assert made.reason[place]
            continue
        assert 0 <= made.low[place] <= made.estimate[place] + 1e-12
        assert made.estimate[place] - 1e-12 <= made.high[place] <= 1
        assert made.low[place] < made.high[place]


def test_hazard_edges():
    """One cluster at risk has a hazard without bounds; no rollout, no hazard."""
    curve = hazard([1, 2, 2, 1], [1, 1, 0, 0], (np.array([0, 1, 1, 2]),))
    assert curve.estimate[1] == 0.5
    assert np.isnan(curve.low[1])
    assert curve.reason[1] == "one cluster: no interval over clusters"
    assert hazard([], [], (), horizon=1).reason == ["no rollout at risk"]


def test_an_empty_stretch_is_not_computed_twice():
    """Where nobody ends between two positions, they have the same hazard of zero."""
    curve = hazard([1, 5, 5, 5], [1, 0, 0, 1], ())
    assert curve.high[1:4] == pytest.approx([proportion([0, 0, 0], ()).high] * 3)
    assert curve.estimate.tolist() == [0.25, 0, 0, 0, pytest.approx(1 / 3)]


@pytest.mark.slow
def test_hazard_coverage(watched_goals, share_by_turn, covers, record_property):
    """The hazard among those still at risk, whose goals are the harder ones, is covered at 94 %."""
    rng, repetitions, last = np.random.default_rng(4), repeated(2000), 5
    share, hits = share_by_turn(last, 0.1, 0.2), np.zeros(last)
    truth = np.diff(share) / (1 - share[:-1])
    for _ in range(repetitions):
        duration, cause, codes = watched_goals(rng, 40, 5, last, 0.1, 0.2)
        curve = hazard(duration, cause, (codes,), horizon=last)
        hits += (curve.low <= truth) & (truth <= curve.high)
    record_property("coverage", (hits / repetitions).round(3).tolist())
    assert all(covers(hit, repetitions, 0.94) for hit in hits)
