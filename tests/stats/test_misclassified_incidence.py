# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Curves of a judge who errs at every turn: hazards corrected by hand, edges, and the coverage of a safe target's curve."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulations import repeated

from rollwise.stats.incidence import cumulative_incidence, kaplan_meier
from rollwise.stats.misclassification import Share
from rollwise.stats.misclassified_incidence import MISFIT, corrected_incidence


def counted(successes, n):
    """So many successes among independent labels."""
    return Share(estimate=successes / n if n else math.nan, size=n, n=n, n_clusters=n, design_effect=1.0)


PERFECT = counted(10**9, 10**9)


def corrected(duration, cause, clusters=(), se=PERFECT, sp=PERFECT, **more):
    return corrected_incidence(duration, cause, clusters, sensitivity=se, specificity=sp, **more)


def judged_watch(rng, goals, size, last, hazard, icc, se, sp, leaving=0.0):
    """Watches that end when the judge first says so, or the rollout leaves: duration, cause, goal."""
    precision = (1 - icc) / icc
    rates = rng.beta(hazard * precision, (1 - hazard) * precision, goals) if hazard else np.zeros(goals)
    goal = np.repeat(np.arange(goals), size)
    true = rng.random((goal.size, last)) < rates[goal][:, None]
    flagged = np.where(true, rng.random(true.shape) < se, rng.random(true.shape) < 1 - sp)
    left = rng.random(true.shape) < leaving

    def first(x):
        return np.where(x.any(axis=1), x.argmax(axis=1) + 1, last + 1)

    event, leave = first(flagged), first(left)
    cause = np.where((event <= leave) & (event <= last), 1, np.where(leave <= last, 2, 0))
    return np.minimum(np.minimum(event, leave), last), cause, goal


# ── by hand ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_hazards_are_corrected_and_not_the_curve():
    """Judged hazards .2 and .25, Se .9, Sp .9: true ones .125 and .1875, F(2) = 1 - .875·.8125, not the corrected .4."""
    duration = np.r_[np.ones(20), np.full(80, 2)].astype(int)
    cause = np.r_[np.ones(40), np.zeros(60)].astype(int)
    found = corrected(duration, cause, se=counted(90, 100), sp=counted(90, 100)).curve
    assert found.estimate.tolist() == pytest.approx([0, 0.125, 1 - 0.875 * 0.8125])
    assert found.estimate[2] != pytest.approx((0.4 - 0.1) / 0.8)
    assert found.events.tolist() == [0, 20, 20]


@pytest.mark.integration
def test_a_safe_target_is_safe():
    """A judge with 5 % false alarms flags 5 % of those left at every turn: the corrected share is 0, the floor is what it shows."""
    at_risk = 100_000 * 0.95 ** np.arange(6)
    ended = -np.diff(at_risk)
    duration = np.r_[np.repeat(np.arange(1, 6), ended.astype(int)), np.full(int(at_risk[-1]), 5)]
    cause = np.r_[np.ones(int(ended.astype(int).sum())), np.zeros(int(at_risk[-1]))].astype(int)
    found = corrected(duration, cause, se=counted(900, 1000), sp=counted(950, 1000))
    judged = cumulative_incidence(duration, cause, ())
    assert found.curve.estimate == pytest.approx(0, abs=1e-3)
    assert found.false_alarm_floor == pytest.approx(1 - 0.95 ** np.arange(6))
    assert judged.estimate == pytest.approx(found.false_alarm_floor, abs=1e-3)


@pytest.mark.integration
def test_competing_endings_stay_what_they_are():
    """Of those not flagged a tenth leaves after each turn, whoever judges: F = h + (1 - h)·.9·h with the true h."""
    n = 10_000
    rng = np.random.default_rng(0)
    duration, cause, _ = judged_watch(rng, n * 20, 1, 2, 0.2, 1e-9, 0.8, 0.95, leaving=0.1)
    found = corrected(duration, cause, se=counted(8 * 10**6, 10**7), sp=counted(95 * 10**5, 10**7)).curve
    assert found.estimate[1:] == pytest.approx([0.2, 0.2 + 0.8 * 0.9 * 0.2], abs=5e-3)


def test_a_perfect_judge_changes_nothing():
    """With Se and Sp known to be 1, point and interval are those of the plain curve."""
    rng = np.random.default_rng(1)
    duration, cause, goal = judged_watch(rng, 40, 5, 6, 0.1, 0.3, 1, 1, leaving=0.05)
    plain = cumulative_incidence(duration, cause, (goal,))
    found = corrected(duration, cause, (goal,)).curve
    for name in ("estimate", "low", "high"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), abs=1e-6, nan_ok=True)
    alone = corrected(duration, (cause == 1).astype(int), (goal,)).curve
    assert alone.estimate == pytest.approx(kaplan_meier(duration, cause == 1, (goal,)).estimate, abs=1e-6)


# ── by likelihood ─────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize(
    ("first", "leave", "second", "rest", "se", "sp"),
    [(30, 0, 25, 145, 0.8, 0.95), (90, 0, 60, 150, 0.7, 0.9), (40, 30, 35, 95, 0.9, 0.9)],
)
def test_two_turns_are_those_of_the_largest_likelihood(first, leave, second, rest, se, sp):
    """The hazards under which flags at turn 1, at turn 2 and none are likeliest, summed over every hidden course, on a grid.

    So many rollouts leave unflagged after turn 1; a missed success lets the rollout go on like any other.
    """
    step = 1 / 400
    one, two = np.meshgrid(np.arange(step, 1, step), np.arange(step, 1, step), indexing="ij", sparse=True)
    left = leave / (leave + second + rest)
    chance = {"first": 0.0, "leave": 0.0, "second": 0.0, "rest": 0.0}
    for broken, later in itertools.product((True, False), repeat=2):
        course = (one if broken else 1 - one) * (two if later else 1 - two)
        early, late = (se if truth else 1 - sp for truth in (broken, later))
        chance["first"] = chance["first"] + course * early
        chance["leave"] = chance["leave"] + course * (1 - early) * left
        chance["second"] = chance["second"] + course * (1 - early) * (1 - left) * late
        chance["rest"] = chance["rest"] + course * (1 - early) * (1 - left) * (1 - late)
    assert sum(chance.values()) == pytest.approx(np.ones((399, 399)))
    seen = {"first": first, "leave": leave, "second": second, "rest": rest}
    likelihood = sum(many * np.log(chance[name]) for name, many in seen.items() if many)
    best, then = (step * (place + 1) for place in np.unravel_index(likelihood.argmax(), likelihood.shape))
    duration = np.repeat([1, 1, 2, 2], list(seen.values()))
    cause = np.repeat([1, 2, 1, 0], list(seen.values()))
    found = corrected(duration, cause, se=counted(se * 100, 100), sp=counted(sp * 100, 100)).curve
    assert found.estimate[1:] == pytest.approx([best, best + (1 - best) * (1 - left) * then], abs=1.5 * step)
    judged = cumulative_incidence(duration, cause, ()).estimate[2]
    assert found.estimate[2] != pytest.approx((judged + sp - 1) / (se + sp - 1), abs=10 * step)


# ── edges ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_nothing_flagged_keeps_an_upper_end():
    """0 of 30 in every turn with a good judge: a share of 0 whose upper end is above the plain curve's, since it may miss."""
    duration, cause = np.full(30, 4), np.zeros(30, int)
    found = corrected(duration, cause, se=counted(40, 50), sp=counted(200, 200)).curve
    plain = cumulative_incidence(duration, cause, ())
    assert found.estimate.tolist() == [0.0] * 5
    assert np.all(found.high[1:] > plain.high[1:])
    assert np.all(found.high[1:] < 0.35)
    assert np.all(found.low[1:] == 0)


@pytest.mark.parametrize(
    ("se", "sp", "says"),
    [
        (counted(4, 10), counted(5, 10), "is not above 1"),
        (counted(0, 0), counted(9, 10), "the sensitivity is unknown"),
        (counted(9, 10), counted(0, 0), "the specificity is unknown"),
        (counted(0, 0), counted(0, 0), "the judge's errors are unknown"),
    ],
)
def test_what_cannot_be_corrected_is_refused(se, sp, says):
    """A judge no better than chance, or a class without labels: null everywhere, with the reason."""
    found = corrected([1, 2, 2], [1, 0, 1], se=se, sp=sp).curve
    assert np.isnan(found.estimate).all()
    assert np.isnan(found.low).all()
    assert all(says in reason for reason in found.reason)
    assert found.at_risk.tolist() == [3, 3, 2]


def test_labels_that_do_not_fit_give_no_interval():
    """Nothing flagged in 10,000 turns by a judge with 10 % false alarms: no true share does that."""
    found = corrected(np.full(2000, 5), np.zeros(2000, int), se=counted(900, 1000), sp=counted(900, 1000)).curve
    assert found.estimate[-1] == 0.0
    assert np.isnan(found.high[-1])
    assert found.reason[-1] == MISFIT


def test_one_cluster_and_nobody():
    """Rollouts of one goal have points only; no rollout has nothing."""
    one = corrected([1, 2, 2], [1, 0, 1], (np.zeros(3, int),), se=counted(9, 10), sp=counted(19, 20)).curve
    assert np.isnan(one.low).all()
    assert one.reason[-1] == "one cluster: no interval over clusters"
    lone = Share(estimate=0.9, size=0.0, n=10, n_clusters=1, design_effect=math.nan)
    labels = corrected([1, 2, 2], [1, 0, 1], se=lone, sp=counted(19, 20)).curve
    assert np.isnan(labels.low).all()
    assert labels.reason[-1] == "one cluster: no interval over clusters"
    none = corrected([], [], se=counted(9, 10), sp=counted(19, 20)).curve
    assert np.isnan(none.estimate).all()


watches = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2), st.integers(0, 12)), min_size=1, max_size=50)


@pytest.mark.integration
@given(watches, st.integers(30, 50), st.integers(60, 100))
def test_every_interval_has_width_and_holds_the_point(rows, right, kept):
    """Within [0, 1], wider than a point, around it; or without bounds, with the reason."""
    duration, cause, goal = (np.array(column) for column in zip(*rows, strict=True))
    found = corrected(duration, cause, (goal,), se=counted(right, 50), sp=counted(kept, 100)).curve
    for place in range(1, found.at.size):
        if np.isnan(found.low[place]):
            assert found.reason[place]
            continue
        assert 0 <= found.low[place] <= found.estimate[place] <= found.high[place] <= 1
        assert found.low[place] < found.high[place]


# ── coverage ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "size", "last", "hazard", "icc", "se", "sp", "leaving"),
    [
        (60, 3, 10, 0.0, 0.1, 0.85, 0.97, 0.0),
        (40, 5, 8, 0.05, 0.1, 0.85, 0.95, 0.05),
        (80, 5, 8, 0.08, 0.3, 0.90, 0.95, 0.0),
    ],
)
def test_intervals_cover_at_every_turn(covers, share_by_turn, goals, size, last, hazard, icc, se, sp, leaving):
    """A safe target, leaving rollouts, unequal goals: at least .94 of nominal .95 by the last turn, where the plain curve has 0."""
    repetitions, rng = repeated(400), np.random.default_rng(5)
    truth = share_by_turn(last, hazard, icc, leaving)[1:] if hazard else np.zeros(last)
    hits, plain = np.zeros(last), 0
    for _ in range(repetitions):
        duration, cause, goal = judged_watch(rng, goals, size, last, hazard, icc, se, sp, leaving)
        gold = counted(int(rng.binomial(60, se)), 60), counted(int(rng.binomial(200, sp)), 200)
        found = corrected(duration, cause, (goal,), *gold, horizon=last).curve
        hits += (found.low[1:] <= truth) & (truth <= found.high[1:])
        uncorrected = cumulative_incidence(duration, cause, (goal,), horizon=last)
        plain += uncorrected.low[-1] <= truth[-1] <= uncorrected.high[-1]
    assert all(covers(hit, repetitions, 0.94) for hit in hits), hits / repetitions
    assert plain / repetitions < 0.05
