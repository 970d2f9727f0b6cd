# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Interquartile mean, optimality gap and their bootstraps: scipy, rliable, and the guard that rliable lacks."""

import json
import os
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean
from simulations import repeated

from rollwise.stats.robust import aggregate, aggregate_replicates, greedy_order, interquartile_mean, optimality_gap


@pytest.mark.integration
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=60))
def test_iqm_equals_scipy(values):
    """Scipy's 25 % trimmed mean."""
    assert interquartile_mean(np.array(values)) == pytest.approx(trim_mean(values, 0.25), abs=1e-9)


def test_by_hand():
    """Eight values drop two at each end; the gap counts what lies beyond the target as there."""
    assert interquartile_mean(np.array([-100.0, 1, 2, 3, 4, 5, 6, 1000])) == 3.5
    assert optimality_gap(np.array([0.0, 0.5, 3.0])) == 0.5
    goals = np.array([0, 0, 1, 2])
    assert aggregate(np.array([1.0, 3.0, 5.0, 9.0]), goals, "median") == 5.0
    assert aggregate(np.array([1.0, 3.0, 5.0, 9.0]), goals, "mean") == pytest.approx(16 / 3)


NAMES = ("iqm", "optimality_gap", "mean", "median")
attempts_at_goals = st.lists(st.lists(st.floats(-100, 100), min_size=1, max_size=6), min_size=1, max_size=12)


@pytest.mark.integration
@given(attempts_at_goals, st.randoms())
def test_aggregates_lie_among_the_values_whatever_their_order(scores, random):
    """Neither the order of rows nor that of goals changes an aggregate; each lies between the least and the greatest value."""
    values = np.concatenate(scores)
    goals = np.repeat(np.arange(len(scores)), [len(one) for one in scores])
    rows, names = list(range(values.size)), list(range(len(scores)))
    random.shuffle(rows)
    random.shuffle(names)
    for which in NAMES:
        found = aggregate(values, goals, which, target=100.0)
        again = aggregate(values[rows], np.array(names)[goals[rows]], which, target=100.0)
        assert again == pytest.approx(found, abs=1e-9)
        where = 100 - found if which == "optimality_gap" else found
        assert values.min() - 1e-9 <= where <= values.max() + 1e-9


@pytest.mark.integration
@given(attempts_at_goals, st.floats(-100, 100))
def test_the_gap_is_the_mean_shortfall(scores, target):
    """Each value's own shortfall, none below 0, averaged over all values; never less than the shortfall of their mean."""
    values = np.concatenate(scores)
    goals = np.repeat(np.arange(len(scores)), [len(one) for one in scores])
    found = aggregate(values, goals, "optimality_gap", target=target)
    assert found == pytest.approx(np.mean([target - value if value < target else 0.0 for value in values]), abs=1e-9)
    assert found >= max(0.0, target - values.mean()) - 1e-9


def test_outcomes_of_0_and_1_have_no_interquartile_mean():
    """T8: rliable's mean of the middle half is 0 at success rates .1 and .2 and 1 at .8; of goals' rates it is none of that."""
    for rate, wrong in ((0.1, 0.0), (0.2, 0.0), (0.8, 1.0)):
        outcomes = (np.arange(200) % 10 < 10 * rate).astype(float)
        assert interquartile_mean(outcomes) == wrong
        goals = np.repeat(np.arange(20), 10)
        rates = np.bincount(goals, weights=outcomes) / 10
        assert interquartile_mean(rates) == pytest.approx(rate)


@pytest.mark.integration
@pytest.mark.parametrize("drawn", ["goals", "attempts"])
@pytest.mark.parametrize("which", ["iqm", "optimality_gap", "mean", "median"])
@pytest.mark.parametrize("rates", [False, True])
def test_replicates_equal_gathered_rows(drawn, which, rates):
    """Counting a row twice is having it twice: each replicate is the aggregate of the rows drawn."""
    rng = np.random.default_rng(0)
    goals = np.repeat(np.arange(9), 4)
    values = rng.normal(size=36)
    made = aggregate_replicates(
        values, goals, [which], unit=drawn, rates=rates, rng=np.random.default_rng(1), resamples=4000
    )[0]
    again = []
    for _ in range(4000):
        if drawn == "goals":
            rows = np.concatenate([np.flatnonzero(goals == g) for g in rng.integers(0, 9, 9)])
            codes = np.repeat(np.arange(9), 4)
        else:
            rows = np.concatenate([rng.choice(np.flatnonzero(goals == g), 4) for g in range(9)])
            codes = goals
        y = values[rows]
        means = y.reshape(9, 4).mean(axis=1)
        again.append(aggregate(means, np.arange(9), which) if rates else aggregate(y, codes, which))
    assert made.mean() == pytest.approx(np.mean(again), abs=4 * np.std(again) / np.sqrt(2000))
    assert made.std() == pytest.approx(np.std(again), rel=0.06)


def test_what_is_dropped_adds_nothing():
    """A runaway goal a million million times the others moves no digit of replicates that drop it, nor does a common offset."""
    goals = np.repeat(np.arange(40), 3)
    values = np.random.default_rng(4).integers(0, 9, 120).astype(float)
    how = {"unit": "goals", "rates": False, "resamples": 3000}
    high, higher = (
        aggregate_replicates(np.where(goals == 7, far, values), goals, ["iqm"], rng=np.random.default_rng(5), **how)[0]
        for far in (1e3, 1e15)
    )
    assert np.array_equal(high, higher)  # one goal of forty, drawn ten times over, is still in the upper quarter
    plain, moved = (
        aggregate_replicates(values + offset, goals, ["iqm"], rng=np.random.default_rng(5), **how)[0]
        for offset in (0.0, 1e9)
    )
    assert moved - 1e9 == pytest.approx(plain, abs=1e-6)


def test_aggregates_together_are_those_alone():
    """All aggregates of the same draws, one by one or at once."""
    goals = np.repeat(np.arange(9), 4)
    values = np.random.default_rng(0).normal(size=36)
    names = ("iqm", "optimality_gap", "mean", "median")
    for drawn in ("goals", "attempts"):
        how = {"unit": drawn, "rates": False, "resamples": 300}
        together = aggregate_replicates(values, goals, names, rng=np.random.default_rng(1), **how)
        for name, row in zip(names, together, strict=True):
            alone = aggregate_replicates(values, goals, [name], rng=np.random.default_rng(1), **how)
            assert np.array_equal(alone[0], row)


RLIABLE = os.environ.get("ROLLWISE_RLIABLE_PYTHON", "")


needs_rliable = pytest.mark.skipif(
    not RLIABLE, reason="rliable needs an environment of its own: ROLLWISE_RLIABLE_PYTHON names its python"
)


def by_rliable(code, scores):
    """What a program in rliable's environment prints in its last line, given scores of runs by tasks."""
    done = subprocess.run(
        [RLIABLE, "-W", "ignore", "-c", code],
        input=json.dumps(scores.tolist()),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@needs_rliable
def test_rliable_ignores_its_seed():
    """Rliable with one random state gives other ends each time, and NaN for one NaN among 100; ours the same ends for one seed."""
    scores = np.random.default_rng(3).gamma(1.2, 0.6, (5, 20))
    code = (
        "import json,sys,numpy as np\nfrom rliable import library as rly, metrics\n"
        "x=np.array(json.loads(sys.stdin.read()))\nf=lambda x: np.array([metrics.aggregate_iqm(x)])\n"
        "def ends(x):\n  state=np.random.RandomState(5)\n"
        "  return rly.get_interval_estimates({'a':x},f,reps=500,random_state=state)[1]['a'].ravel().tolist()\n"
        "first,again=ends(x),ends(x)\nx[2,7]=np.nan\nprint(json.dumps([first,again,ends(x)]))"
    )
    first, again, broken = by_rliable(code, scores)
    assert first != again
    assert np.isnan(broken).all()
    goals, values = np.repeat(np.arange(20), 5), scores.T.ravel()
    how = {"unit": "attempts", "rates": False, "resamples": 500}
    once, twice = (
        aggregate_replicates(values, goals, ["iqm"], rng=np.random.default_rng(5), **how)[0] for _ in range(2)
    )
    assert np.array_equal(once, twice)


@needs_rliable
def test_equals_rliable():
    """Rliable in its own environment: the same aggregates, and its stratified intervals within their scatter.

    It ignores its seed, so an end differs by chance: by .12 standard errors only if by more than five Monte Carlo errors.
    """
    scores = np.random.default_rng(3).gamma(1.2, 0.6, (5, 20))  # runs x tasks, as rliable has them
    code = (
        "import json,sys,numpy as np\nfrom rliable import library as rly, metrics\n"
        "x=np.array(json.loads(sys.stdin.read()))\n"
        "f=lambda x: np.array([metrics.aggregate_iqm(x),metrics.aggregate_optimality_gap(x),"
        "metrics.aggregate_mean(x),metrics.aggregate_median(x)])\n"
        "p,i=rly.get_interval_estimates({'a':x},f,reps=25_000)\nprint(json.dumps([p['a'].tolist(),i['a'].tolist()]))"
    )
    points, (lows, highs) = by_rliable(code, scores)
    goals, values = np.repeat(np.arange(20), 5), scores.T.ravel()
    names = ("iqm", "optimality_gap", "mean", "median")
    drawn = aggregate_replicates(
        values, goals, names, unit="attempts", rates=False, rng=np.random.default_rng(0), resamples=250_000
    )
    for which, made, *theirs in zip(names, drawn, points, lows, highs, strict=True):
        assert aggregate(values, goals, which) == pytest.approx(theirs[0])
        for q, end in zip((0.025, 0.975), theirs[1:], strict=True):
            below, ours, above = np.quantile(made, [q - 0.005, q, q + 0.005])
            scatter = np.sqrt(q * (1 - q) * (1 / 25_000 + 1 / 250_000)) * (above - below) / 0.01
            assert 0.12 * made.std() > 5 * scatter
            assert end == pytest.approx(ours, abs=0.12 * made.std())


@pytest.mark.integration
@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 1000))
def test_greedy_order_never_gains_more_later(goals, attacks, seed):
    """All members once; what each adds never grows; the union is that of all."""
    broken = np.random.default_rng(seed).random((goals, attacks)) < 0.4
    order = greedy_order(broken)
    assert sorted(order) == list(range(attacks))
    reached = np.array([broken[:, order[: k + 1]].any(axis=1).sum() for k in range(attacks)])
    added = np.diff(reached, prepend=0)
    assert (np.diff(added) <= 0).all()
    assert reached[-1] == broken.any(axis=1).sum()
    assert broken[:, order[0]].sum() == broken.sum(axis=0).max()


@pytest.mark.slow
@pytest.mark.parametrize("drawn", ["goals", "attempts"])
def test_coverage_of_the_interquartile_mean(drawn, covers, record_property):
    """40 goals of 10: goals drawn cover the population's value, attempts drawn that of these goals, at least .92."""
    rng, repetitions, hits = np.random.default_rng(0), repeated(600), 0
    goals = np.repeat(np.arange(40), 10)
    # The population's interquartile mean is 0 by symmetry; these goals' own, by many more attempts.
    for _ in range(repetitions):
        ease = rng.normal(0, 1, 40)
        values = ease[goals] + rng.normal(0, 1, 400)
        truth = 0.0
        if drawn == "attempts":
            truth = interquartile_mean((ease[:, None] + rng.normal(0, 1, (40, 2000))).ravel())
        made = aggregate_replicates(values, goals, ["iqm"], unit=drawn, rates=False, rng=rng, resamples=500)[0]
        low, high = np.quantile(made, [0.025, 0.975])
        hits += low <= truth <= high
    record_property("coverage", hits / repetitions)
    assert covers(hits, repetitions, 0.92)
