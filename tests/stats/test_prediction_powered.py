# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Labels on a random part, verdicts on all: by hand, against the formulas it contains, and coverage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulations import repeated

from rollwise.stats.prediction_powered import prediction_powered

NONE = math.nan


def drawn(rng, truth, se, sp, labeled):
    """Verdicts on all, and the truth of so many chosen at random."""
    judged = np.where(truth == 1, rng.random(truth.size) < se, rng.random(truth.size) < 1 - sp).astype(float)
    marked = np.full(truth.size, NONE)
    rows = rng.choice(truth.size, labeled, replace=False)
    marked[rows] = truth[rows]
    return judged, marked


def test_by_hand():
    """Four of eight labeled: λ = .015625/.029297 = 8/15, θ = λ·3/8 + 1/4 - λ/2."""
    found = prediction_powered([1, 1, 0, 0, 0, 1, 0, 0], [1, 0, 0, 0, *[NONE] * 4], ())
    assert found.estimate == pytest.approx(8 / 15 * 3 / 8 + 1 / 4 - 8 / 15 / 2)
    assert found.method == "prediction-powered, power 0.53"
    assert (found.n, found.n_clusters) == (8, 4)


def test_many_rollouts_give_ppi_plus_plus():
    """θ and λ are those of PPI++ (labels n, others N: λ = cov / ((1 + n/N)·var), here times (N + n)/N), error included."""
    rng = np.random.default_rng(0)
    truth = (rng.random(60_000) < 0.3).astype(float)
    judged, marked = drawn(rng, truth, 0.8, 0.9, 20_000)
    labeled = ~np.isnan(marked)
    y, f, others = marked[labeled], judged[labeled], judged[~labeled]
    n, many = y.size, others.size
    tuned = np.cov(y, f)[0, 1] / ((1 + n / many) * judged.var())
    theta = y.mean() + tuned * (others.mean() - f.mean())
    error = math.sqrt(np.var(y - tuned * f) / n + tuned**2 * others.var() / many)
    found = prediction_powered(judged, marked, ())
    assert found.estimate == pytest.approx(theta, abs=2e-5)
    assert found.std_error == pytest.approx(error, rel=2e-3)
    assert found.std_error < 0.85 * math.sqrt(y.var() / n)


def of_counts(hits, misses, false_alarms, rejections, *others):
    """Labeled rollouts by truth and verdict, then the unlabeled ones judged a success and a failure."""
    truth, judged = ([1, 1, 0, 0, NONE, NONE], [1, 0, 1, 0, 1, 0])
    many = [hits, misses, false_alarms, rejections, *others]
    return np.repeat(np.array(judged, float), many), np.repeat(np.array(truth), many)


def test_the_estimate_is_ppi_py_s():
    """What ppi_py 0.2.3 gives for 40 labels and 160 verdicts, `ppi_mean_pointestimate` of (11, 3, 5, 21) and (104, 56): .4619375.

    It takes the variance of all verdicts over M - 1, we over M; where that of the labeled ones is the same (.4 and .6 of them
    successes) its distance from the labels' mean of .35 is 199/200 of ours, and nothing else differs. It is Angelopoulos,
    Duchi & Zrnic's own program, github.com/aangelopoulos/ppi_py.
    """
    found = prediction_powered(*of_counts(11, 3, 5, 21, 104, 56), ())
    assert (found.estimate - 0.35) * 199 / 200 == pytest.approx(0.4619375 - 0.35, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((0.33562812, 0.58824688), abs=0.012)
    assert found.high - found.low > 0.58824688 - 0.33562812


def test_the_interval_of_many_labels_is_ppi_py_s():
    """400 labels and 1,600 verdicts, where two added rollouts hardly count: `ppi_mean_ci` of ppi_py 0.2.3 is .29545 to .37298."""
    found = prediction_powered(*of_counts(110, 30, 40, 220, 550, 1050), ())
    assert found.estimate == pytest.approx(0.33421120, abs=5e-4)
    assert (found.low, found.high) == pytest.approx((0.29544699, 0.37297540), abs=1e-3)


def test_a_useless_judge_leaves_the_labels():
    """Verdicts that have nothing to do with the truth get no power: about the mean of the labels, at its error."""
    rng = np.random.default_rng(1)
    truth = (rng.random(4000) < 0.3).astype(float)
    judged, marked = drawn(rng, truth, 0.5, 0.5, 1000)
    found = prediction_powered(judged, marked, ())
    assert found.estimate == pytest.approx(np.nanmean(marked), abs=3e-3)
    assert found.std_error == pytest.approx(math.sqrt(0.21 / 1000), rel=0.1)


def test_everything_labeled_is_the_plain_share():
    """With a label on every rollout the verdicts add nothing: the share, Laplace's center, and no power."""
    truth = np.r_[np.ones(5), np.zeros(15)]
    found = prediction_powered(1 - truth, truth, ())
    assert found.estimate == 0.25
    assert found.method == "prediction-powered, power 0.00"
    assert (found.low + found.high) / 2 == pytest.approx(6 / 22)


def test_labels_that_show_no_error_do_not_prove_there_is_none():
    """Judge and labels agree on 30 of 1,000: the interval stays far wider than that of 1,000 labels."""
    judged = np.r_[np.ones(100), np.zeros(900)]
    marked = np.full(1000, NONE)
    marked[::33] = judged[::33]
    found = prediction_powered(judged, marked, ())
    assert found.estimate == pytest.approx(0.1, abs=0.01)
    assert found.high - found.low > 3 * 2 * 1.96 * math.sqrt(0.09 / 1000)


def test_goals_count_once():
    """Alike attempts at a goal widen the interval, whether goals or attempts were labeled; two ways are crossed."""
    rng = np.random.default_rng(2)
    goal, task = np.repeat(np.arange(40), 10), np.tile(np.arange(10), 40)
    truth = (rng.random(40) < 0.3).astype(float)[goal]
    judged, marked = drawn(rng, truth, 0.9, 0.95, 150)
    free, clustered, both = (prediction_powered(judged, marked, way) for way in ((), (goal,), (goal, task)))
    assert clustered.std_error > 1.5 * free.std_error
    assert clustered.method.startswith("clustered prediction-powered")
    assert both.method.startswith("two-way prediction-powered")
    assert both.std_error >= clustered.std_error - 1e-12
    assert free.estimate == pytest.approx(clustered.estimate, abs=0.05)


def test_edges():
    """No rollout, no label, labels in one goal: null with the reason."""
    assert prediction_powered([], [], ()).reason == "no values"
    assert prediction_powered([1, 0], [NONE, NONE], ()).reason == "no rollout has both a label and a verdict"
    lone = prediction_powered([1, 0, 1, 0], [1, 0, NONE, NONE], (np.array([0, 0, 1, 1]),))
    assert (lone.estimate is None, lone.low) == (False, None)
    assert lone.reason == "one cluster: no interval over clusters"


@pytest.mark.integration
@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 1.0, NONE]), st.integers(0, 9)), min_size=1, max_size=50),
    st.randoms(),
)
def test_every_interval_has_width_and_holds_the_point(rows, random):
    """Within [0, 1], wider than a point, and no matter in which order the rollouts stand."""
    judged, marked, goal = (np.array(column) for column in zip(*rows, strict=True))
    found = prediction_powered(judged, marked, (goal,))
    order = list(range(len(rows)))
    random.shuffle(order)
    again = prediction_powered(judged[order], marked[order], (goal[order],))
    if found.low is None:
        assert found.reason
        return
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.low < found.high
    assert (again.estimate, again.low, again.high) == pytest.approx((found.estimate, found.low, found.high), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "se", "sp", "n", "labeled", "size"),
    [
        (0.10, 0.85, 0.95, 500, 100, 1),
        (0.02, 0.99, 0.999, 1000, 100, 1),
        (0.40, 0.80, 0.90, 400, 80, 1),
        (0.30, 0.85, 0.90, 400, 100, 10),
        (0.03, 0.90, 0.97, 1000, 200, 10),
        (0.10, 0.85, 0.95, 500, 100, 5),
    ],
)
def test_intervals_cover(beta_binomial, covers, truth, se, sp, n, labeled, size):
    """Labels drawn by rollout and by goal, rare and common successes, ICC .3: at least .94 of nominal .95."""
    repetitions, rng = repeated(1200), np.random.default_rng(4)
    hits = 0
    for repetition in range(repetitions):
        values, goal = beta_binomial(rng, n // size, size, truth, 0.3)
        judged, marked = drawn(rng, values, se, sp, labeled)
        if repetition % 2:
            chosen = np.isin(goal, rng.choice(n // size, labeled // size, replace=False))
            marked = np.where(chosen, values, NONE)
        found = prediction_powered(judged, marked, (goal,))
        hits += found.low <= truth <= found.high
    assert covers(hits, repetitions, 0.94), hits / repetitions
