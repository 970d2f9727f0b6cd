# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Aggregates over goals: the Atari figures reproduce, 0/1 outcomes are guarded, and options without a meaning are refused."""

import json
import re

import numpy as np
import polars as pl
import pytest
from scipy import stats
from simulations import repeated

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.stats.bootstrap import percentile_interval


def rollouts(values, goals):
    """ROLLOUTS of attack successes, or of grades."""
    name = "attack_success" if all(isinstance(value, bool) or value is None for value in values) else "grade"
    return pl.DataFrame({"rollout_id": [f"r{i:04}" for i in range(len(values))], "goal": goals, name: values})


def aggregates(frame, *, statistics=("iqm", "optimality_gap"), **options):
    """Aggregates over goals, by default both that resist outliers."""
    return rw.summarize(frame, statistics=statistics, **options)


@pytest.fixture(scope="module")
def atari(shared):
    """DIAMOND's scores of 26 games by 5 seeds, normalized by random and human play."""
    scores = json.loads((shared / "atari" / "DIAMOND.json").read_text())
    anchors = json.loads((shared / "atari" / "rliable_atari100k_random_human.json").read_text())
    rows = [
        (f"{game}/{run}", game, (score - anchors["random"][game]) / (anchors["human"][game] - anchors["random"][game]))
        for game, runs in scores.items()
        for run, score in enumerate(runs)
    ]
    return pl.DataFrame(rows, schema=["rollout_id", "goal", "score_human"], orient="row")


@pytest.mark.integration
def test_the_atari_figures(atari):
    """DIAMOND, table 1 (arXiv:2405.12399): mean 1.459, median .373, IQM .641, optimality gap .480, 11 superhuman games."""
    statistics = ("goal_mean", "goal_median", "iqm", "optimality_gap")
    made = aggregates(atari, metrics="score_human", statistics=statistics, method="within-goals", resamples=5000)
    found = dict(made.select("statistic", "estimate").iter_rows())
    assert {name: round(value, 3) for name, value in found.items()} == {
        "goal_mean": 1.459,
        "goal_median": 0.373,
        "iqm": 0.641,
        "optimality_gap": 0.480,
    }
    above = rw.comparisons.profile(atari, metric="score_human", at=[1.0])
    assert above["estimate"].item() == pytest.approx(11 / 26)


@pytest.mark.integration
def test_the_atari_intervals(atari):
    """Runs drawn within games, as rliable does: .578 to .707 for the IQM, 1.354 to 1.569 for the mean; goals drawn are wider."""
    options = {"metrics": "score_human", "statistics": ("iqm", "goal_mean"), "resamples": 5000}
    these = aggregates(atari, method="within-goals", **options)
    assert these["low"].to_list() == pytest.approx([0.578, 1.354], abs=0.012)
    assert these["high"].to_list() == pytest.approx([0.707, 1.569], abs=0.012)
    assert these["method"].unique().item() == "percentile bootstrap; attempts drawn within goals"
    assert these["estimand"].str.contains("for these very goals").all()
    alike = aggregates(atari, **options)
    assert (alike["high"] - alike["low"] > 2 * (these["high"] - these["low"])).all()


def test_the_arena_hard_intervals(shared):
    """The published ends are the percentile interval of the 1000 published replicates; of the reference against itself, none."""
    lines = (shared / "arena_hard" / "bootstrap_stats_arena_hard.jsonl").read_text().splitlines()
    assert len(lines) == 28
    for line in lines:
        row = json.loads(line)
        made = percentile_interval(np.array(row["results"]), 0.95)
        if row["lower"] == row["upper"]:  # gpt-4-0314 wins half of the time against itself, in every replicate
            assert (row["model"], made) == ("gpt-4-0314", (None, None))
        else:
            assert made == pytest.approx((row["lower"], row["upper"]), abs=1e-9), row["model"]


@pytest.mark.integration
@pytest.mark.parametrize("unknown", [None, float("nan")])
@pytest.mark.parametrize("method", ["auto", "within-goals"])
def test_one_unknown_score_costs_one_rollout(unknown, method):
    """One NaN makes every aggregate and interval of rliable NaN; here n_missing is one more, and the rest is as without it."""
    values, goals = np.random.default_rng(2).gamma(2, 1, 60).tolist(), [f"g{i % 20:02}" for i in range(60)]
    names = ["iqm", "optimality_gap", "goal_mean", "goal_median"]
    options = {"metrics": "grade", "statistics": names, "method": method, "resamples": 2000}
    whole = aggregates(rollouts(values, goals), **options)
    broken = rollouts([*values[:7], unknown, *values[8:]], goals)
    made = aggregates(broken, **options)
    assert (whole["n_missing"] == 0).all()
    assert made.select("statistic", "n", "n_missing").rows() == [(name, 59, 1) for name in names]
    for row in made.rows(named=True):
        assert np.isfinite([row["estimate"], row["low"], row["high"]]).all()
        assert row["low"] < row["estimate"] < row["high"]
    left = aggregates(rollouts(values, goals)[[*range(7), *range(8, 60)]], **options)
    assert made.drop("n_missing", "estimand").equals(left.drop("n_missing", "estimand"))


@pytest.mark.integration
@pytest.mark.parametrize(("rate", "wrong"), [(0.1, 0.0), (0.2, 0.0), (0.8, 1.0)])
def test_outcomes_of_0_and_1_are_taken_as_rates(rate, wrong):
    """T8: rliable's IQM over 0/1 outcomes is 0 at .1 and .2 and 1 at .8; ours is over the goals' rates, number or Boolean."""
    values = [attempt < 10 * rate for _ in range(12) for attempt in range(10)]
    goals = [f"g{goal:02}" for goal in range(12) for _ in range(10)]
    for frame in (rollouts(values, goals), rollouts([float(value) for value in values], goals)):
        row = aggregates(frame, metrics=frame.columns[-1], statistics="iqm").row(0, named=True)
        assert row["estimate"] == pytest.approx(rate)
        assert row["estimate"] != wrong
        assert "the goals’ means" in row["estimand"]


def test_the_guards():
    """Fewer than 8 goals, single 0/1 outcomes, nothing known: null, and the reason says why."""
    few = aggregates(
        rollouts([float(i) for i in range(14)], [f"g{i % 7}" for i in range(14)]), metrics="grade", statistics="iqm"
    )
    assert (few["estimate"].item(), few["reason"].item()[:28]) == (None, "7 goals are too few for an i")
    single = aggregates(rollouts([True, False] * 10, [f"g{i}" for i in range(20)]), metrics="attack_success")
    assert single["estimate"].to_list() == [None, 0.5]
    assert "single 0/1 outcomes" in single["reason"][0]
    nothing = aggregates(rollouts([None] * 9, [f"g{i}" for i in range(9)]).cast({"attack_success": pl.Boolean}))
    assert nothing["reason"].unique().item() == "no values"
    same = aggregates(rollouts([0.5] * 12, [f"g{i}" for i in range(12)]), metrics="grade", statistics="iqm")
    assert same.select("estimate", "low", "reason").row(0) == (0.5, None, "the bootstrap interval has no width")
    grades = rollouts([i % 4 / 4 for i in range(18)], [f"g{i // 2}" for i in range(18)])
    nine = aggregates(grades, metrics="grade", statistics=["iqm", "goal_mean", "goal_median", "optimality_gap"])
    assert nine["estimate"].null_count() == 0
    assert nine["low"].null_count() == 4
    assert nine["reason"].str.starts_with("9 goals are too few for a bootstrap").all()
    assert aggregates(grades, metrics="grade", method="within-goals")["low"].null_count() == 0
    with pytest.raises(ArgumentError, match="summarize: statistic 'mode' is unknown"):
        aggregates(rollouts([1.0], ["g"]), statistics="mode")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weighting": "turn"}, "iqm, optimality_gap cannot have weighting='turn'; it is 'rollout' or 'goal'"),
        ({"method": "wilson"}, "cannot have method='wilson'; it is 'auto' or 'within-goals'"),
        ({"unjudged": "censor"}, "cannot have unjudged='censor'; it is 'bounds', 'drop' or 'sample'"),
        ({"strata": "goal"}, "cannot have strata='goal'; it is None"),
        ({"statistics": ["iqm", "mean"], "method": "within-goals"}, "name them in statistics=, without others"),
        ({"statistics": "optimality_gap_x"}, "statistic 'optimality_gap_x' is unknown"),
        (
            {"statistics": None, "method": "within-goals"},
            "only iqm, optimality_gap, goal_mean, goal_median have method=",
        ),
    ],
)
def test_options_without_a_meaning_are_refused(options, words):
    """Rather than passed over in silence."""
    frame = rollouts([0.5] * 12, [f"g{i}" for i in range(12)])
    frame = frame.with_columns(t=pl.Series([{"duration": 1, "observed": True}] * 12, dtype=schema.TIME_TO_EVENT))
    with pytest.raises(ArgumentError, match=re.escape(words)):
        aggregates(frame, **options)


@pytest.mark.integration
def test_aggregates_stand_beside_other_statistics():
    """In the order of their names, in margins and in merged counts; of a time a row says that there is none."""
    frame = rollouts([float(i % 9) for i in range(60)], [f"g{i % 12:02}" for i in range(60)])
    frame = frame.with_columns(
        target=pl.Series(["a", "b"] * 30),
        t=pl.Series([{"duration": 1, "observed": True}] * 60, dtype=schema.TIME_TO_EVENT),
    )
    names = ["median", "iqm", "mean", "optimality_gap_8.5"]
    made = rw.summarize(frame, statistics=names, by="target", margins=True, resamples=200)
    for group in ("a", "b", "all"):
        part = made.filter(target=group, metric="grade")
        assert part["statistic"].to_list() == names
        alone = aggregates(
            frame.filter(target=group) if group != "all" else frame, metrics="grade", statistics="iqm", resamples=200
        )
        assert part.filter(statistic="iqm").drop("target").equals(alone)
    of_time = made.filter(metric="t", target="a", statistic="iqm")
    assert of_time.select("estimate", "reason").row(0) == (
        None,
        "the iqm of a censored time is not known; the restricted mean or the median can be estimated",
    )
    assert (
        made.filter(statistic="optimality_gap_8.5", metric="grade")["estimand"].str.contains("of grade below 8.5").all()
    )
    gap = made.filter(statistic="optimality_gap_8.5", metric="grade", target="all")["estimate"].item()
    assert gap == pytest.approx(np.maximum(8.5 - frame["grade"].to_numpy(), 0).mean())
    merged = rw.summarize(frame.lazy(), statistics=names, by="target", merge=True, resamples=200)
    assert merged.equals(rw.summarize(frame, statistics=names, by="target", resamples=200))


@pytest.mark.integration
def test_iqm_is_a_summary():
    """The frame is a SUMMARY with every count, and the same seed gives the same numbers."""
    frame = rollouts([float(i % 9) for i in range(60)] + [None] * 2, [f"g{i % 10}" for i in range(62)])
    made = aggregates(frame, metrics="grade", level=(0.8, 0.95), seed=4)
    assert rw.schema.check(made, schema.SUMMARY).columns == list(schema.SUMMARY.names)
    assert made["n_missing"].unique().item() == 2
    assert made.equals(aggregates(frame.reverse(), metrics="grade", level=(0.8, 0.95), seed=4))


def test_an_infinite_value_is_dropped_by_the_interquartile_mean_and_by_nothing_else():
    """One log-probability of -inf among 36: the middle half is that of any low value; sums have no number, and say so."""
    values = np.random.default_rng(0).normal(size=36)
    goals = np.repeat([f"g{number:02}" for number in range(12)], 3)
    names = ("iqm", "optimality_gap", "goal_mean", "goal_median")
    made = {}
    for lowest in (-np.inf, -1e100, -1e3):
        grades = np.where(np.arange(36) == 7, lowest, values)
        rows = aggregates(rollouts(grades.tolist(), goals), statistics=names, resamples=1000).rows(named=True)
        made[lowest] = {row["statistic"]: row for row in rows}
    assert made[-np.inf]["iqm"] == made[-1e100]["iqm"] == made[-1e3]["iqm"]
    assert made[-np.inf]["iqm"]["low"] < made[-np.inf]["iqm"]["estimate"] < made[-np.inf]["iqm"]["high"]
    for name in names[1:]:
        row = made[-np.inf][name]
        assert (row["estimate"], row["low"], row["high"], row["reason"]) == (None, None, None, "1 value is infinite")
    third = np.where(np.arange(36) % 3 == 0, -np.inf, values)
    assert aggregates(rollouts(third.tolist(), goals), statistics="iqm")["reason"].item() == "12 values are infinite"
    some = np.where(np.isin(np.arange(36), np.arange(0, 21, 3)), -np.inf, values)
    row = aggregates(rollouts(some.tolist(), goals), statistics="iqm").row(0, named=True)
    assert (np.isfinite(row["estimate"]), row["low"], row["reason"].split(":")[0]) == (
        True,
        None,
        "infinite values are kept in replicates of the bootstrap",
    )


def test_values_too_great_to_be_squared_have_no_standard_error():
    """The middle half of values near the largest double has ends; its standard error would overflow."""
    made = aggregates(rollouts([1e300 * (i + 1) for i in range(12)], [f"g{i}" for i in range(12)]), statistics="iqm")
    row = made.row(0, named=True)
    assert (row["estimate"], row["std_error"]) == (pytest.approx(6.5e300), None)
    assert row["low"] < row["estimate"] < row["high"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "by_numpy"),
    [
        (12, {"iqm": 0.955, "goal_mean": 0.945, "optimality_gap": 0.943, "goal_median": 0.960}),
        (40, {"iqm": 0.948, "goal_mean": 0.947, "optimality_gap": 0.946, "goal_median": 0.950}),
    ],
)
def test_coverage_of_the_aggregates(goals, by_numpy, covers_as_often_as, record_property):
    """Goals drawn, expanded for their number, hold .94 to .96 of 12 goals and .95 of 40, as often as by NumPy alone.

    Plain percentiles hold .91 to .93 of 12 goals; of the mean of normal ones t's law makes it .913, P(|t| < 1.96·√(11/12)). The
    shares are those of 6,000 samples of 5 attempts a goal, whose goals were drawn by index 1,000 times each.
    """
    rng, repetitions, spread = np.random.default_rng(goals), repeated(1000), np.sqrt(2)
    truth = dict.fromkeys(by_numpy, 0.0)
    truth["optimality_gap"] = stats.norm.cdf(1 / spread) + spread * stats.norm.pdf(1 / spread)
    names, hits = np.repeat([f"g{goal:02}" for goal in range(goals)], 5), dict.fromkeys(by_numpy, 0)
    for repetition in range(repetitions):
        grades = (rng.normal(size=(goals, 1)) + rng.normal(size=(goals, 5))).ravel()
        made = aggregates(rollouts(grades.tolist(), names), statistics=tuple(truth), resamples=1000, seed=repetition)
        for statistic, low, high in made.select("statistic", "low", "high").iter_rows():
            hits[statistic] += low <= truth[statistic] <= high
    record_property("coverage", {statistic: count / repetitions for statistic, count in hits.items()})
    for statistic, share in by_numpy.items():
        assert covers_as_often_as(hits[statistic], repetitions, share, 6000), (
            statistic,
            hits[statistic] / repetitions,
        )


@pytest.mark.slow
@pytest.mark.parametrize(("goals", "by_numpy"), [(12, 0.965), (40, 0.958)])
def test_coverage_of_the_interquartile_mean_of_rates(goals, by_numpy, covers_as_often_as, record_property):
    """Outcomes of 10 attempts at goals of Beta(.6, 1.4): the interval holds .96 of the time; plain percentiles .93 and .94.

    The truth is the middle half of the beta-binomial law of a goal's rate, .238; the shares are as above.
    """
    rng, repetitions, hits = np.random.default_rng(goals), repeated(1500), 0
    reached = np.r_[0.0, stats.betabinom(10, 0.6, 1.4).cdf(np.arange(11))]
    middle = np.clip(np.minimum(reached[1:], 0.75) - np.maximum(reached[:-1], 0.25), 0.0, None)
    truth = 2 * middle @ (np.arange(11) / 10)
    assert truth == pytest.approx(0.23835, abs=1e-5)
    names = np.repeat([f"g{goal:02}" for goal in range(goals)], 10)
    for repetition in range(repetitions):
        won = rng.random((goals, 10)) < rng.beta(0.6, 1.4, (goals, 1))
        made = aggregates(rollouts(won.ravel().tolist(), names), statistics="iqm", resamples=1000, seed=repetition)
        hits += made["low"].item() <= truth <= made["high"].item()
    record_property("coverage", hits / repetitions)
    assert covers_as_often_as(hits, repetitions, by_numpy, 6000), hits / repetitions
