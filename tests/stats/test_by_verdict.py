# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Labels on a part, verdicts on all, each label speaking for its verdict: by hand, against formulas, and coverage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulations import repeated

from rollwise.stats.by_verdict import by_verdict

NONE = math.nan


def judge(rng, truth, se, sp):
    """Verdicts of a judge with this sensitivity and specificity."""
    return np.where(truth == 1, rng.random(truth.size) < se, rng.random(truth.size) < 1 - sp).astype(float)


def marked(truth, rows):
    """The truth of the chosen rollouts, NaN of all others."""
    return np.where(np.isin(np.arange(truth.size), rows), truth, NONE)


def of_counts(hits, misses, false_alarms, rejections, *others):
    """Labeled rollouts by truth and verdict, then the unlabeled ones judged a success and a failure."""
    truth, judged = ([1, 1, 0, 0, NONE, NONE], [1, 0, 1, 0, 1, 0])
    many = [hits, misses, false_alarms, rejections, *others]
    return np.repeat(np.array(judged, float), many), np.repeat(np.array(truth), many)


def test_by_hand():
    """20 flagged of 100, 8 of 10 labels on them true; 80 others, 2 of 20 true: .2·.8 + .8·.1 = .24.

    With a success and a failure added to each: rates 9/12 and 3/22, center .2·9/12 + .8·3/22 = .25909.
    """
    judged, truth = of_counts(8, 2, 2, 18, 10, 60)
    found = by_verdict(judged, truth, ())
    assert found.estimate == pytest.approx(0.24)
    center = 0.2 * 9 / 12 + 0.8 * 3 / 22
    assert (found.low + found.high) / 2 == pytest.approx(center)
    # Through all verdicts: .2·.8·(9/12 - 3/22)²/n. Through labels: those of each verdict, and what was added to them.
    whole = np.full(100, -center / 100) + np.where(judged == 1, 9 / 12, 3 / 22) / 100
    rate, part, size = (np.where(judged == 1, *pair) for pair in ((9 / 12, 3 / 22), (0.2, 0.8), (12, 22)))
    whole += np.where(np.isnan(truth), 0.0, part * (np.nan_to_num(truth) - rate) / size)
    added = (0.2 / 12) ** 2 * (1 / 16 + 9 / 16) + (0.8 / 22) ** 2 * ((19 / 22) ** 2 + (3 / 22) ** 2)
    assert found.std_error == pytest.approx(math.sqrt(100 / 99 * (whole**2).sum() + added))
    assert found.high - found.low == pytest.approx(2 * 1.959964 * found.std_error)
    assert (found.n, found.n_clusters, found.method, found.reason) == (100, 30, "by verdict", None)


def test_known_probabilities_weigh_the_labels():
    """Of the others, 4 labels chosen with .1 are all true and 16 chosen with .4 are not: (40·1 + 40·0)/80 = 1/2."""
    judged, truth = of_counts(8, 4, 2, 16, 10, 60)
    chances = np.where(judged == 1, 0.5, np.where(truth == 1, 0.1, 0.4))
    assert by_verdict(judged, truth, (), probability=chances).estimate == pytest.approx(0.2 * 0.8 + 0.8 * 0.5)
    equal = by_verdict(judged, truth, (), probability=np.full(100, 0.3))
    plain = by_verdict(judged, truth, ())
    assert (equal.estimate, equal.low, equal.high) == pytest.approx((plain.estimate, plain.low, plain.high))
    # Of weights 10 and 2.5 are (4·10 + 16·2.5)²/(4·100 + 16·6.25) = 12.8 labels left of 20.
    assert by_verdict(judged, truth, (), probability=chances).std_error > plain.std_error


def test_many_labels_have_the_error_of_double_sampling():
    """Var = R(1-R)(PPV - FOR)²/N + Σ part²·p(1-p)/n, as for a stratified second phase (Cochran 1977, 12.2)."""
    rng = np.random.default_rng(0)
    truth = (rng.random(60_000) < 0.3).astype(float)
    judged = judge(rng, truth, 0.8, 0.9)
    rows = np.concatenate([np.flatnonzero(judged == value)[:5_000] for value in (0, 1)])
    found = by_verdict(judged, marked(truth, rows), ())
    share, rates = judged.mean(), [truth[rows][judged[rows] == value].mean() for value in (0, 1)]
    assert found.estimate == pytest.approx(share * rates[1] + (1 - share) * rates[0])
    within = [part**2 * p * (1 - p) / 5_000 for part, p in zip((1 - share, share), rates, strict=True)]
    between = share * (1 - share) * (rates[1] - rates[0]) ** 2 / 60_000
    # The covariance of a label with its own verdict is 0 within a verdict.
    assert found.std_error == pytest.approx(math.sqrt(between + sum(within)), rel=2e-3)


def test_random_labels_cost_nothing():
    """Half the labels flagged, or at random: close to the precision of prediction-powered inference (ppi_py 0.2.3).

    Its interval of 400 labels and 1,600 verdicts is .29545 to .37298 around .33421.
    """
    found = by_verdict(*of_counts(110, 30, 40, 220, 550, 1050), ())
    assert found.estimate == pytest.approx(0.33421120, abs=1e-3)
    assert (found.low, found.high) == pytest.approx((0.29544699, 0.37297540), abs=2e-3)


def test_everything_labeled_is_the_plain_share():
    """With a label on every rollout the verdicts add nothing to the point, whatever they are."""
    truth = np.r_[np.ones(5), np.zeros(15)]
    for judged in (truth, 1 - truth, np.zeros(20), np.arange(20) % 2.0):
        found = by_verdict(judged, truth, ())
        assert found.estimate == pytest.approx(0.25)
        assert found.low < 0.25 < found.high
    # One verdict only: two successes and two failures are added, Agresti and Coull's center.
    assert by_verdict(np.zeros(20), truth, ()).std_error == pytest.approx(
        math.sqrt(20 / 19 * (5 * (17 / 24) ** 2 + 15 * (7 / 24) ** 2) / 24**2 + (2 / 24) ** 2 * (49 + 289) / 576)
    )


def test_labels_that_show_no_error_do_not_prove_there_is_none():
    """Judge and labels agree on 30 of 1,000: the interval stays far wider than that of 1,000 labels."""
    judged = np.r_[np.ones(100), np.zeros(900)]
    found = by_verdict(judged, marked(judged, np.arange(0, 1000, 33)), ())
    assert found.estimate == pytest.approx(0.1, abs=0.01)
    assert found.high - found.low > 3 * 2 * 1.96 * math.sqrt(0.09 / 1000)


def test_a_verdict_without_a_label_may_hide_anything():
    """Only flagged rollouts labeled, 8 of 10 true, 20 of 100 flagged: from about .16 to .96, and no point."""
    judged, truth = of_counts(8, 0, 2, 0, 10, 80)
    found = by_verdict(judged, truth, ())
    assert (found.estimate, found.std_error) == (None, None)
    assert found.low < 0.16
    assert found.high > 0.96
    assert found.reason == (
        "no rollout that the judge did not flag has a label: the interval holds for any truth about these; label some of them"
    )
    other = by_verdict(*of_counts(0, 2, 0, 18, 5, 75), ())
    assert "that the judge flagged has a label" in other.reason
    # 5 of 100 were flagged, so little is unknown.
    assert other.high - other.low < 0.4


def test_goals_count_once():
    """Alike attempts at a goal widen the interval, whether goals or attempts were labeled; two ways are crossed."""
    rng = np.random.default_rng(2)
    goal, task = np.repeat(np.arange(40), 10), np.tile(np.arange(10), 40)
    truth = (rng.random(40) < 0.3).astype(float)[goal]
    judged, labels = judge(rng, truth, 0.9, 0.95), marked(truth, rng.choice(400, 150, replace=False))
    free, clustered, both = (by_verdict(judged, labels, way) for way in ((), (goal,), (goal, task)))
    assert clustered.std_error > 1.5 * free.std_error
    assert clustered.method == "clustered by verdict"
    assert both.method == "two-way by verdict"
    assert both.std_error >= clustered.std_error - 1e-12
    assert free.estimate == pytest.approx(clustered.estimate)


def test_edges():
    """No rollout, no label, labels in one goal: null with the reason."""
    assert by_verdict([], [], ()).reason == "no values"
    assert by_verdict([1, 0], [NONE, NONE], ()).reason == "no rollout has both a label and a verdict"
    lone = by_verdict([1, 0, 1, 0], [1, 0, NONE, NONE], (np.array([0, 0, 1, 1]),))
    assert (lone.estimate, lone.low) == (0.5, None)
    assert lone.reason == "one cluster: no interval over clusters"


@pytest.mark.integration
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.0, 0.25]),
            st.sampled_from([0.0, 1.0, NONE]),
            st.integers(0, 9),
            st.sampled_from([0.1, 0.5, 1.0]),
        ),
        min_size=1,
        max_size=50,
    ),
    st.randoms(),
)
def test_every_interval_has_width_and_holds_the_point(rows, random):
    """Within [0, 1], wider than a point, and no matter in which order the rollouts stand."""
    judged, truth, goal, chance = (np.array(column) for column in zip(*rows, strict=True))
    found = by_verdict(judged, truth, (goal,), probability=chance)
    order = list(range(len(rows)))
    random.shuffle(order)
    again = by_verdict(judged[order], truth[order], (goal[order],), probability=chance[order])
    if found.low is None:
        assert found.reason
        return
    point = found.low if found.estimate is None else found.estimate
    assert 0 <= found.low <= point <= found.high <= 1
    assert found.low < found.high
    assert (again.low, again.high) == pytest.approx((found.low, found.high), abs=1e-9)


DESIGNS = ("random", "goals", "half", "flagged likelier", "probabilities")


def chosen(rng, judged, goal, number, design):
    """Choose rows for labels by a design; return them with the probability of each row, if it must be known."""
    n = judged.size
    if design == "random":
        return rng.choice(n, number, replace=False), None
    if design == "goals":
        goals = rng.permutation(goal.max() + 1)
        return np.flatnonzero(np.isin(goal, goals[: max(2, number * goals.size // n)])), None
    if design == "half":
        sides = [rng.permutation(np.flatnonzero(judged == value))[: number // 2] for value in (0, 1)]
        return np.concatenate(sides), None
    weight = np.where(judged == 1, 2.5, 1.0)
    if design == "flagged likelier":
        return rng.choice(n, number, replace=False, p=weight / weight.sum()), None
    # Poisson sampling by verdict and by goal, as active labeling does.
    weight *= np.where(goal % 2, 1.6, 0.4)
    chances = np.minimum(1.0, number * weight / weight.sum())
    return np.flatnonzero(rng.random(n) < chances), chances


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(
    ("truth", "se", "sp", "goals", "size", "labeled"),
    [
        (0.10, 0.90, 0.90, 40, 5, 60),
        (0.30, 0.80, 0.90, 40, 5, 60),
        (0.30, 0.85, 0.95, 12, 8, 30),
        (0.02, 0.90, 0.95, 100, 5, 60),
        (0.10, 0.85, 0.95, 300, 1, 60),
        (0.30, 0.85, 0.95, 40, 5, 16),
    ],
)
def test_intervals_cover(beta_binomial, covers, truth, se, sp, goals, size, labeled, design):
    """Five ways to choose labels, rare and common successes, ICC .3: at least .94 of nominal .95, and no bias."""
    repetitions, rng = repeated(400), np.random.default_rng(4)
    hits, points = 0, []
    for _ in range(repetitions):
        values, goal = beta_binomial(rng, goals, size, truth, 0.3)
        judged = judge(rng, values, se, sp)
        rows, chances = chosen(rng, judged, goal, labeled, design)
        found = by_verdict(judged, marked(values, rows), (goal,), probability=chances)
        hits += found.low is not None and found.low <= truth <= found.high
        points += [] if found.estimate is None else [found.estimate]
    assert covers(hits, repetitions, 0.94), hits / repetitions
    # The point needs labels of both verdicts, which few labels at random on a rare verdict need not have.
    if len(points) > 0.99 * repetitions:
        assert np.mean(points) == pytest.approx(truth, abs=0.01 + 4 * np.std(points) / math.sqrt(len(points)))
