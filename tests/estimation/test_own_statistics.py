# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Functions of one's own in `summarize`: any function of columns, over whole clusters, with its edges said in words."""

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from simulations import repeated

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError, MetricError

RNG = np.random.default_rng(0)
TURNS = RNG.integers(1, 9, 60)
FRAME = pl.DataFrame(
    {
        "rollout_id": [f"r{i:02}" for i in range(60)],
        "goal": [f"g{i // 2:02}" for i in range(60)],
        "category": ["x" if i < 20 else "y" for i in range(60)],
        "num_turns": TURNS,
        "harm": TURNS / 10 + RNG.normal(0, 0.2, 60),
    }
)


def correlation(turns, harm):
    """Pearson's."""
    return np.corrcoef(turns, harm)[0, 1]


def of(frame, function, **options):
    """The summary of a function under its own name."""
    return rw.summarize(frame, statistics={function.__name__: function}, **options)


def only(frame):
    """The frame's one row."""
    assert frame.height == 1
    return frame.row(0, named=True)


@pytest.mark.integration
def test_a_correlation():
    """The point is the function of the data; whole goals are drawn; the row says all."""
    row = only(of(FRAME, correlation, metrics=["num_turns", "harm"], resamples=1000, seed=3))
    assert row["estimate"] == pytest.approx(stats.pearsonr(FRAME["num_turns"], FRAME["harm"])[0])
    assert row["low"] < row["estimate"] < row["high"]
    assert (row["metric"], row["statistic"], row["n"], row["n_clusters"]) == ("num_turns, harm", "correlation", 60, 30)
    assert (row["method"], row["resamples"], row["seed"]) == ("expanded percentile bootstrap", 1000, 3)
    assert row["estimand"] == "correlation of num_turns, harm over rollouts; unit: goal"


@pytest.mark.integration
def test_a_mean_is_the_mean():
    """The mean by gathered rows is that of `summarize` by weights, and BCa with it."""
    for interval, method in (("percentile", "percentile"), ("bca", "bca"), ("basic", "basic")):
        mine = only(of(FRAME, np.mean, metrics="harm", method=interval, resamples=6001))
        theirs = only(rw.summarize(FRAME, metrics="harm", statistics="mean", method=method))
        assert mine["resamples"] == 6001
        assert (mine["low"], mine["high"]) == pytest.approx(
            (theirs["low"], theirs["high"]), abs=0.08 * theirs["std_error"]
        )


@pytest.mark.integration
def test_few_clusters_are_said_to_be_too_few():
    """Nine goals: an interval, and in words that it is too narrow; ten: nothing of a mean, whose replicates lie around it."""
    for goals, told in ((9, "9 clusters are too few for a bootstrap: the interval is too narrow"), (10, None)):
        row = only(of(FRAME.head(2 * goals), np.mean, metrics="harm", resamples=1000))
        assert (row["n_clusters"], row["low"] < row["high"], row["reason"]) == (goals, True, told)
    tilted = only(of(FRAME.head(20), correlation, metrics=["num_turns", "harm"], resamples=1000))
    assert tilted["reason"].startswith("replicates lie below the estimate")


@pytest.mark.integration
@pytest.mark.parametrize(("interval", "beside"), [("percentile", 1), ("basic", 1), ("bca", 1 + 30)])
def test_the_function_is_called_as_often_as_asked(interval, beside, capfd):
    """Of 6,001 iterations lm-eval draws 6,000, in a pool of processes, and prints of it; here each is drawn, here, in silence.

    Called once more for the data themselves, and for BCa once for each of the 30 goals left out.
    """
    calls = []

    def total(harm):
        calls.append((os.getpid(), harm.size))
        return harm.sum()

    row = only(of(FRAME, total, metrics="harm", method=interval, resamples=6001))
    assert len(calls) == 6001 + beside
    assert row["resamples"] == 6001
    assert calls[0] == (os.getpid(), 60)
    assert {pid for pid, _ in calls} == {os.getpid()}
    assert sum(size == 58 for _, size in calls) == beside - 1
    assert capfd.readouterr().out == ""


def test_a_function_with_an_axis_is_given_as_many_replicates_as_asked():
    """The blocks of all calls hold 6,001 replicates of 60 rollouts, and the data themselves."""
    shapes = []

    def total(harm, axis=-1):
        shapes.append(harm.shape)
        return harm.sum(axis=axis)

    of(FRAME, total, metrics="harm", resamples=6001)
    assert shapes[0] == (60,)
    assert sum(many for many, _ in shapes[1:]) == 6001
    assert {n for _, n in shapes[1:]} == {60}


@pytest.mark.integration
def test_blocks_and_order_change_nothing():
    """One call for a block gives the same numbers as a loop, and so does another order of rows; unequal clusters take the loop."""

    def median(harm):
        return np.median(harm)

    options = {"metrics": "harm", "resamples": 300}
    for frame in (FRAME, FRAME.tail(59)):
        loop = of(frame, median, **options)
        assert of(frame.sample(fraction=1.0, shuffle=True, seed=1), median, **options).equals(loop)
        block = of(frame, np.median, **options)
        assert block["low"].item() == pytest.approx(loop["low"].item())


def test_several_functions_have_rows_of_their_own():
    """In the order of the mapping, each for every group and level; a name of the mapping may be that of a statistic."""
    made = rw.summarize(
        FRAME,
        statistics={"spread": np.ptp, "mean": np.mean},
        metrics="harm",
        by="category",
        level=[0.8, 0.95],
        resamples=200,
    )
    rows = [(name, level) for name in ("spread", "mean") for level in (0.8, 0.95)]
    assert made.select("category", "statistic", "level").rows() == [(group, *row) for group in "xy" for row in rows]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"weighting": "goal"},
            "summarize: weighting='goal' has no meaning for functions of your own; leave it out, or name",
        ),
        ({"unjudged": "drop"}, "unjudged='drop' has no meaning"),
        ({"margins": True}, "margins=True has no meaning"),
        ({"merge": True}, "merge=True has no meaning"),
        (
            {"method": "wilson"},
            "method='wilson' is no interval of a function of your own; it is auto, percentile, basic, bca",
        ),
        (
            {"metrics": None},
            "functions need metrics=, the columns that each of them takes: metrics=['num_turns', 'harm']",
        ),
    ],
)
def test_options_that_functions_have_no_use_for_are_refused(options, words):
    """Rather than passed over in silence."""
    with pytest.raises(ArgumentError, match=re.escape(words)):
        of(FRAME, np.mean, **{"metrics": "harm", **options})


def test_strata():
    """Strata keep the number of goals of each category; a stratum that splits a goal is refused."""

    def share(category):
        return (category == "x").mean()

    free = only(of(FRAME, share, metrics="category", resamples=300))
    assert free["low"] < 1 / 3 < free["high"]
    held = only(of(FRAME, share, metrics="category", strata="category", resamples=300))
    assert (held["estimate"], held["low"]) == (pytest.approx(1 / 3), None)
    assert held["reason"] == "the bootstrap interval has no width"
    mean = only(rw.summarize(FRAME, metrics="harm", statistics="mean", strata="category"))
    assert mean["method"] == "cluster expanded percentile bootstrap within strata"
    assert mean["estimand"].endswith("unit: goal, drawn within category")
    with pytest.raises(ArgumentError, match="differs within a cluster"):
        rw.summarize(FRAME.with_columns(odd=pl.col("rollout_id")), metrics="harm", statistics="mean", strata="odd")


def test_edges():
    """Nothing known, one cluster, no value, no width: null with a reason; a function that fails is named."""
    assert only(of(FRAME.clear(), np.mean, metrics="harm"))["reason"] == "no values"
    one = only(of(FRAME.head(2), np.mean, metrics="harm"))
    assert (one["low"], one["estimate"] is None) == (None, False)
    assert "one cluster" in one["reason"]
    flat = only(of(FRAME.with_columns(harm=1.0), correlation, metrics=["num_turns", "harm"]))
    assert (flat["estimate"], flat["reason"]) == (None, "correlation has no value here")
    missing = FRAME.with_columns(harm=pl.when(pl.col("goal") == "g00").then(None).otherwise("harm"))
    assert only(of(missing, np.mean, metrics="harm", resamples=200))["n_missing"] == 2
    with pytest.raises(
        MetricError, match=r"failed on the original data: division by zero \(it is given an array of each of harm\)"
    ):
        of(FRAME, lambda _: 1 / 0, metrics="harm")
    for options, words in (
        ({"metrics": "nobody"}, "there is no column 'nobody'"),
        ({"metrics": "harm", "method": "wald"}, "method='wald' is unknown"),
        ({"metrics": "harm", "strata": "category", "method": "bca"}, "no bca interval over strata"),
        ({"metrics": "harm", "cluster": ("goal", "category")}, "one way"),
    ):
        with pytest.raises(ArgumentError, match=words):
            of(FRAME, np.mean, **options)
    with pytest.raises(
        ArgumentError, match=r"statistics=\{'mean': 'mean'\} is no function; give statistics with a name as a list"
    ):
        rw.summarize(FRAME, statistics={"mean": "mean"}, metrics="harm")
    assert rw.schema.check(of(FRAME, np.mean, metrics="harm", resamples=200), schema.SUMMARY).height == 1


@pytest.mark.parametrize("interval", ["percentile", "basic", "bca"])
def test_estimates_that_cannot_be_squared(interval):
    """Ends are read off the replicates still; a standard error and BCa need squares, and the reason says so."""
    frame = FRAME.with_columns(harm=pl.col("harm") * 1e300)
    (row,) = of(frame, np.mean, metrics="harm", method=interval, resamples=200).rows(named=True)
    same = of(FRAME, np.mean, metrics="harm", method=interval, resamples=200).rows(named=True)[0]
    assert row["std_error"] is None
    assert row["estimate"] == pytest.approx(same["estimate"] * 1e300)
    if interval == "bca":
        assert row["low"] is None
        assert "among the estimate and its replicates, values beyond 1e+150" in row["reason"]
    else:
        assert (row["low"], row["high"]) == pytest.approx((same["low"] * 1e300, same["high"] * 1e300))


def pearson(x, y, axis=-1):
    """Pearson's correlation along an axis."""
    x, y = (values - values.mean(axis=axis, keepdims=True) for values in (x, y))
    return (x * y).sum(axis=axis) / np.sqrt((x * x).sum(axis=axis) * (y * y).sum(axis=axis))


def pearson_of_sums(n, x, y, xx, yy, xy, axis=-1):
    """The same from each goal's sums, which are all that SciPy needs to draw goals whole."""
    n, x, y, xx, yy, xy = (values.sum(axis=axis) for values in (n, x, y, xx, yy, xy))
    return (n * xy - x * y) / np.sqrt((n * xx - x * x) * (n * yy - y * y))


def ratio(x, y, axis=-1):
    """One mean over the other."""
    return y.sum(axis=axis) / x.sum(axis=axis)


def _correlated(rng, goals):
    """Three rollouts of each goal, correlated .6 between goals and within them."""
    first, second = (rng.normal(size=(2, goals, 1)) + rng.normal(size=(2, goals, 3))) / np.sqrt(2)
    second = 0.6 * first + 0.8 * second
    products = ((first * first).sum(1), (second * second).sum(1), (first * second).sum(1))
    return first, second, (np.full(goals, 3.0), first.sum(1), second.sum(1), *products)


def _proportional(rng, goals):
    """Three rollouts of each goal: costs of a skewed law, and what they bring, half of it on average and .1 besides."""
    cost = np.exp(0.5 * rng.normal(size=(goals, 1)) + 0.3 * rng.normal(size=(goals, 3)))
    gain = 0.5 * cost * rng.gamma(4.0, 0.25, (goals, 1)) + 0.2 * rng.random((goals, 3))
    return cost, gain, (cost.sum(1), gain.sum(1))


@pytest.mark.slow
@pytest.mark.parametrize("goals", [8, 12, 40])
@pytest.mark.parametrize(
    ("draw", "statistic", "truth"),
    [(_correlated, pearson, 0.6), (_proportional, ratio, 0.5 + 0.1 * np.exp(-0.17))],
    ids=["correlation", "ratio"],
)
def test_the_default_covers_of_few_goals(draw, statistic, truth, goals, record_property):
    """At the expanded level .94 of the intervals hold the truth, where plain percentiles of 8 and 12 goals have .90 and .91.

    Of ratios over 8 goals .92 do, and the reason says that these are too few.
    """
    rng, repetitions, held = np.random.default_rng(goals), repeated(1000), 0
    names = np.repeat([f"g{goal:02}" for goal in range(goals)], 3)
    ids = [f"r{number:03}" for number in range(3 * goals)]
    for repetition in range(repetitions):
        x, y, _ = draw(rng, goals)
        frame = pl.DataFrame({"rollout_id": ids, "goal": names, "x": x.ravel(), "y": y.ravel()})
        options = {"resamples": 500, "seed": repetition}
        row = only(of(frame, statistic, metrics=["x", "y"], **options))
        held += row["low"] <= truth <= row["high"]
        assert ((row["reason"] or "").startswith("8 clusters are too few for a bootstrap")) is (goals < 10)
    record_property("coverage", held / repetitions)
    least = 0.92 if goals < 10 else 0.94
    assert held / repetitions >= least - 2 * np.sqrt(least * (1 - least) / repetitions)


@pytest.mark.slow
@pytest.mark.parametrize("goals", [12, 40])
@pytest.mark.parametrize("interval", ["percentile", "bca"])
@pytest.mark.parametrize(
    ("draw", "statistic", "of_sums", "truth"),
    [(_correlated, pearson, pearson_of_sums, 0.6), (_proportional, ratio, ratio, 0.5 + 0.1 * np.exp(-0.17))],
    ids=["correlation", "ratio"],
)
def test_coverage_is_that_of_scipy(draw, statistic, of_sums, truth, interval, goals, record_property):
    """12 goals of 3 rollouts hold the truth .86 to .91 of the time, 40 goals .90 to .94: so does SciPy on the very same samples.

    Its bootstrap is given the goals' sums, of which both statistics are functions, as paired samples. Where only one of the two
    holds the truth, it is as often the one as the other. Of rollouts drawn without their goals it would hardly ever be ours.
    """
    rng, repetitions = np.random.default_rng(goals), repeated(600)
    names = np.repeat([f"g{goal:02}" for goal in range(goals)], 3)
    ids, how = [f"r{number:03}" for number in range(3 * goals)], {"percentile": "percentile", "bca": "BCa"}[interval]
    ours = theirs = only_ours = only_theirs = 0
    for repetition in range(repetitions):
        x, y, sums = draw(rng, goals)
        frame = pl.DataFrame({"rollout_id": ids, "goal": names, "x": x.ravel(), "y": y.ravel()})
        options = {"method": interval, "resamples": 1000, "seed": repetition}
        row = only(of(frame, statistic, metrics=["x", "y"], **options))
        peer = stats.bootstrap(sums, of_sums, paired=True, n_resamples=1000, method=how, rng=repetition)
        low, high = peer.confidence_interval
        here, there = row["low"] <= truth <= row["high"], low <= truth <= high
        ours, theirs = ours + here, theirs + there
        only_ours, only_theirs = only_ours + (here and not there), only_theirs + (there and not here)
    record_property("coverage", {"ours": ours / repetitions, "scipy": theirs / repetitions})
    assert abs(only_ours - only_theirs) <= 3 * np.sqrt(max(1, only_ours + only_theirs))
    assert only_ours + only_theirs <= 0.05 * repetitions


def ragged(x: Any) -> float:
    """A statistic that has no value where a row is drawn twice."""
    if len(set(x)) < len(x):
        raise KeyError("twice\nor more")
    return 1.0


@pytest.mark.parametrize(
    ("statistic", "options", "message"),
    [
        (ragged, {}, r"summarize: ragged failed on replicate 1, which .* \(KeyError.*return None where"),
        (lambda x: 1.0 if len(set(x)) == len(x) else "no", {}, "failed on replicate 1.*could not convert"),
        (lambda x: 1.0 if len(x) == 30 else 1 / 0, {"method": "bca"}, r"the data without one cluster \(ZeroDivision"),
        (np.ptp, {"strata": None}, None),
        (lambda x, axis=0: x.mean(), {}, r"has a parameter axis, .* and returned shape \(\) for \d+ replicates; return a number"),
        (lambda x, axis=0: "text" if axis else 1.0, {}, r"axis=-1, and failed \(ValueError"),
    ],
)  # fmt: skip
def test_a_statistic_that_fails_on_draws_is_one_sentence(
    statistic: Callable[..., Any], options: dict[str, Any], message: str | None
) -> None:
    """It names the function and where it failed; one number for a whole block of replicates was taken for each of them."""
    ids = [f"r{number}" for number in range(30)]
    frame = pl.DataFrame({"rollout_id": ids, "goal": ids, "x": [number / 7 for number in range(30)]})
    if message is None:
        assert of(frame, statistic, metrics="x", resamples=100, **options).height == 1
        return
    with pytest.raises(ArgumentError, match=message) as caught:
        of(frame, statistic, metrics="x", resamples=100, **options)
    assert "\n" not in str(caught.value)
