"""`summarize`: every rollout counted once, every edge with an honest interval, nothing else in the frame able to change a row."""

import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError


def rollouts(**columns) -> pl.DataFrame:
    """ROLLOUTS of the columns given, with ids in order."""
    height = len(next(iter(columns.values())))
    known = {
        name: pl.Series(name, values, schema.ROLLOUTS.dtypes.get(name), strict=False)
        for name, values in columns.items()
    }
    ids = pl.Series([f"r{row:04}" for row in range(height)], dtype=pl.String)
    booleans = [name for name in ("attack_success", "task_success") if name in columns]
    return pl.DataFrame({"rollout_id": ids, **known}).with_columns(pl.col(booleans).cast(pl.Boolean))


def only(frame: pl.DataFrame) -> dict:
    """The frame's one row."""
    assert frame.height == 1
    return frame.row(0, named=True)


def success(values: Sequence[bool | None], **columns) -> dict:
    """The one SUMMARY row of attack success."""
    return only(rw.summarize(rollouts(attack_success=values, **columns), metrics="attack_success"))


# ── counts and bounds ─────────────────────────────────────────────────────────────────────────────────────────────────
ACCOUNT = rollouts(
    attack_success=[True, False, None, None, None, None, None, None],
    task_success=[None, True, None, None, None, None, True, None],
    attack=["pair", "pair", "pair", "pair", "pair", "pair", "none", "pair"],
    goal=["g1", "g2", "g3", "g4", "g5", "g6", None, "g7"],
    task=[None, "t", None, None, None, "t", "t", "t"],
    outcome=["success", "failure", "error", "undetermined", None, None, None, None],
    ending=["success", "budget", "error", "budget", "error", "budget", "finished", "budget"],
    num_turns=[1, 2, 1, 1, 1, 3, 1, 2],
    num_judged=[1, 2, 0, 0, 0, 2, 0, 0],
)


def test_every_rollout_is_counted_once() -> None:
    """Eight rollouts: two known, one benign, two in error, undetermined and partially judged, and one that nobody judged."""
    row = only(rw.summarize(ACCOUNT, metrics="attack_success", unjudged="drop"))
    counts = {name: row[name] for name in ("n", "n_inapplicable", "n_error", "n_undetermined", "n_missing")}
    assert counts == {"n": 2, "n_inapplicable": 1, "n_error": 2, "n_undetermined": 3, "n_missing": 0}
    assert row["estimate"] == 0.5
    assert (row["bound_low"], row["bound_high"]) == (pytest.approx(1 / 7), pytest.approx(6 / 7))


def test_a_task_metric_does_not_apply_to_a_goal_without_a_task() -> None:
    """Where there is a goal but no task, task success is inapplicable rather than missing."""
    row = only(rw.summarize(ACCOUNT, metrics="task_success"))
    assert (row["n"], row["n_inapplicable"], row["n_undetermined"]) == (2, 4, 2)


@pytest.mark.integration
@given(
    st.lists(
        st.tuples(
            st.sampled_from([True, False, None]),
            st.sampled_from(["none", "pair", None]),
            st.sampled_from([None, *schema.OUTCOMES.categories]),
            st.sampled_from([None, *schema.ENDINGS.categories]),
            st.integers(0, 3),
            st.integers(0, 3),
        ),
        max_size=12,
    )
)
def test_counts_always_add_up_to_the_group(drawn: list[tuple]) -> None:
    """Whatever the log says, the five counts add up to the rollouts, and the bounds hold the rate of every completion."""
    names = ("attack_success", "attack", "outcome", "ending", "num_turns", "num_judged")
    frame = rollouts(**{name: [row[at] for row in drawn] for at, name in enumerate(names)})
    row = only(rw.summarize(frame, metrics="attack_success"))
    assert row["n"] + row["n_inapplicable"] + row["n_error"] + row["n_undetermined"] + row["n_missing"] == len(drawn)
    if row["estimate"] is not None:
        assert row["bound_low"] <= row["estimate"] <= row["bound_high"]
        assert row["low"] < row["high"]


# ── edges ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_rate_over_nothing_is_null() -> None:
    """No known rollout: no estimate, no interval, and bounds from 0 to 1."""
    row = success([None, None], goal=["a", "b"])
    assert (row["estimate"], row["low"], row["high"], row["n"]) == (None, None, None, 0)
    assert (row["bound_low"], row["bound_high"]) == (0.0, 1.0)
    assert row["reason"]


def test_an_empty_table_says_so() -> None:
    """A table without rows gives one row of counts that are zero."""
    row = success([])
    assert (row["estimate"], row["n"], row["bound_low"]) == (None, 0, None)


KNOWN = ("grade", "attack_success")
NUMBERS = ("estimate", "std_error", "low", "high")
NOTHING: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "no rollouts": lambda frame: frame.clear(),
    "all null": lambda frame: frame.with_columns(pl.lit(None).cast(frame.schema[name]).alias(name) for name in KNOWN),
    "all NaN": lambda frame: frame.with_columns(
        grade=pl.lit(float("nan")), attack_success=pl.lit(None, dtype=pl.Boolean)
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize("method", ["auto", "t", "bootstrap", "percentile"])
@pytest.mark.parametrize("missing", NOTHING)
def test_nothing_at_all_is_null_and_not_zero(missing: str, method) -> None:
    """Inspect's mean, stderr and bootstrap_stderr of no score are 0.0, a result as good as any; here all four are null."""
    made = rw.summarize(NOTHING[missing](graded(3)), metrics=KNOWN, method=method)
    assert {"mean", "median"} <= {*made["statistic"]}
    for row in made.rows(named=True):
        assert [row[name] for name in NUMBERS] == [None] * 4
        assert row["n"] == 0
        assert row["reason"].startswith("no values")


@pytest.mark.parametrize("method", ["auto", "t", "bootstrap"])
def test_one_value_has_no_error(method) -> None:
    """Inspect's stderr and bootstrap_stderr of one score are 0.0, as if it were certain; here its error is null, and why."""
    row = only(rw.summarize(graded(3)[:1], metrics="grade", statistics="mean", method=method))
    assert row["estimate"] is not None
    assert [row[name] for name in NUMBERS[1:]] == [None] * 3
    assert row["reason"]


def test_every_group_has_an_interval() -> None:
    """Inspect's grouped() gives a point for each group and no more; here each has an error, an interval and its own n."""
    frame = graded(3).with_columns(category=pl.Series([f"c{i % 3}" for i in range(36)]))
    made = rw.summarize(frame, by="category", metrics=KNOWN, statistics="mean")
    assert made["category"].to_list() == [f"c{i}" for i in range(3) for _ in KNOWN]
    for row in made.rows(named=True):
        own = frame.filter(category=row["category"])[row["metric"]].cast(pl.Float64)
        assert (row["estimate"], row["n"]) == (pytest.approx(own.mean()), 12)
        assert row["std_error"] > 0
        assert row["low"] < row["estimate"] < row["high"]


DRAWS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "summarize": lambda frame: rw.summarize(frame, metrics=KNOWN, method="bootstrap", resamples=2000),
    "contrast": lambda frame: rw.contrast(frame, of="target", paired=False, method="bootstrap", resamples=2000),
    "label permutation": lambda frame: rw.contrast(frame, of="target", metrics="grade", resamples=2000),
    "own statistic": lambda frame: rw.summarize(frame, statistics={"ptp": np.ptp}, metrics="grade", resamples=200),
    "iqm": lambda frame: rw.summarize(frame, metrics="grade", statistics="iqm", resamples=200),
    "iqm of attempts": lambda frame: rw.summarize(
        frame, metrics="grade", statistics="iqm", method="within-goals", resamples=200
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize("verb", DRAWS)
def test_the_global_generators_are_left_alone(verb: str) -> None:
    """Inspect's bootstrap draws from NumPy's unseeded global generator: here neither that nor Python's is read or moved."""
    frame = graded(3, goals=44).with_columns(target=pl.Series(["a", "b"] * 66))
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    before, python = np.random.get_state(legacy=False), random.getstate()  # noqa: NPY002
    first = DRAWS[verb](frame)
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    assert random.getstate() == python
    assert pickle.dumps(after) == pickle.dumps(before)
    assert first["resamples"].null_count() < first.height, "something was drawn"
    np.random.seed(2)  # noqa: NPY002
    random.seed(2)
    assert DRAWS[verb](frame).equals(first)


def test_one_of_one_is_not_certain() -> None:
    """Of one sample Inspect's standard error is 0; one success of one has the interval from 0.21 to 1."""
    row = success([True], goal=["a"])
    assert (row["estimate"], row["high"], row["method"]) == (1.0, 1.0, "Wilson")
    assert row["std_error"] is None
    assert row["low"] == pytest.approx(1 / (1 + scipy_stats.norm.ppf(0.975) ** 2))


def test_zero_of_many_attempts_counts_goals() -> None:
    """Trap T2: at 0 (or 1) Inspect's clustered Wilson counts 500 rollouts; at 50 goals ours bounds the rate like 50."""
    row = success([False] * 500, goal=[f"g{i % 50}" for i in range(500)])
    t = scipy_stats.t.ppf(0.975, 49)
    assert row["low"] == 0.0
    assert row["high"] == pytest.approx(t**2 / (50 + t**2))
    assert (row["n_clusters"], row["design_effect"], row["std_error"]) == (50, pytest.approx(10), None)


def test_one_goal_has_no_interval() -> None:
    """Many attempts at one goal say nothing of other goals, and the row says so."""
    row = success([True, False, True], goal=["a"] * 3)
    assert (row["low"], row["high"], row["n_clusters"]) == (None, None, 1)
    assert "one" in row["reason"]
    free = only(rw.summarize(rollouts(attack_success=[True, False, True], goal=["a"] * 3), cluster=None))
    assert free["low"] is not None
    assert "no clusters" in free["estimand"]


def test_a_null_cluster_is_its_own() -> None:
    """Rollouts without a goal are independent of each other, and are counted in the estimand."""
    row = success([True, False, False, True], goal=[None, None, None, "a"])
    assert row["n_clusters"] == 4
    assert "3 unknown, each its own" in row["estimand"]


def test_a_number_that_never_varies_has_no_interval() -> None:
    """Equal numbers have a mean but no interval."""
    got = rw.summarize(rollouts(num_turns=[3, 3, 3], goal=list("abc")), metrics="num_turns").rows_by_key(
        "statistic", named=True, unique=True
    )
    assert got["mean"]["estimate"] == 3
    assert (got["mean"]["low"], got["mean"]["high"]) == (None, None)
    assert "variation" in got["mean"]["reason"]
    assert got["max"]["estimate"] == 3
    assert {row["n_clusters"] for row in got.values()} == {3}


def test_a_not_a_number_is_missing() -> None:
    """NaN is an unknown value, never a number."""
    row = only(rw.summarize(rollouts(score_x=[float("nan"), 1.0, 3.0]), statistics="mean"))
    assert (row["estimate"], row["n"], row["n_missing"]) == (2.0, 2, 1)


# ── partially judged rollouts ──────────────────────────────────────────────────────────────────────────────────────────────
HALF = rollouts(
    attack_success=[True] * 4 + [False] * 4 + [None] * 2,
    goal=[f"g{i}" for i in range(10)],
    outcome=[None] * 10,
    ending=["success"] * 4 + ["budget"] * 6,
    num_turns=[2] * 10,
    num_judged=[2] * 8 + [1] * 2,
    time_to_success=[{"duration": 1, "observed": True}] * 4
    + [{"duration": 2, "observed": False}] * 4
    + [{"duration": 1, "observed": False}] * 2,
)


@pytest.mark.integration
def test_unjudged_turns_are_censored_and_widen_the_interval() -> None:
    """The estimate is the curve's at the last turn (4 of 10 by hand).

    The interval runs from the lower end with all of them failing to the upper end with all succeeding.
    """
    row = only(rw.summarize(HALF, metrics="attack_success"))
    low = only(
        rw.summarize(HALF.with_columns(pl.col("attack_success").fill_null(value=False)), metrics="attack_success")
    )
    high = only(
        rw.summarize(HALF.with_columns(pl.col("attack_success").fill_null(value=True)), metrics="attack_success")
    )
    # All succeed at turn 1, where all ten are followed; the two censored there have nothing left to succeed by.
    assert (row["estimate"], row["std_error"]) == (pytest.approx(0.4), None)
    assert row["estimate"] == pytest.approx(rw.curve(HALF)["estimate"][-1])
    assert (row["low"], row["high"]) == (low["low"], high["high"])
    assert row["reason"] == (
        "2 of 10 rollouts have unjudged turns and no success: the estimate counts them as censored, and the interval covers "
        "both outcomes of each (unjudged='bounds')"
    )
    assert (row["n"], row["n_undetermined"]) == (8, 2)


def test_rollouts_with_unjudged_turns_may_be_dropped_or_censored() -> None:
    """Dropping them gives the rate of the rest and says that it is pushed up; censoring is Kaplan-Meier's way."""
    dropped = only(rw.summarize(HALF, metrics="attack_success", unjudged="drop"))
    assert dropped["estimate"] == 0.5
    assert "pushes the rate up (unjudged='drop')" in dropped["reason"]
    censored = only(rw.summarize(HALF, metrics="attack_success", unjudged="censor"))
    assert censored["estimate"] == pytest.approx(0.4)
    bounds = only(rw.summarize(HALF, metrics="attack_success"))
    assert censored["high"] - censored["low"] < bounds["high"] - bounds["low"]
    for choice in ("bounds", "censor"):
        untimed = only(rw.summarize(HALF.drop("time_to_success"), metrics="attack_success", unjudged=choice))
        assert untimed["estimate"] == pytest.approx(0.5)
        assert "the table has no `time_to_success`" in untimed["reason"]


# ── what is weighed, and what is independent ──────────────────────────────────────────────────────────────────────────
def test_weighting_by_goal_and_by_turn() -> None:
    """Unequal goals have two rates, over rollouts and over goals; turns weigh a third way."""
    frame = rollouts(
        attack_success=[True, True, True, False, False], goal=["a", "a", "a", "b", "c"], num_turns=[1, 1, 1, 2, 5]
    )
    rate = {
        way: only(rw.summarize(frame, metrics="attack_success", weighting=way))["estimate"]
        for way in ("rollout", "goal", "turn")
    }
    assert rate == {"rollout": pytest.approx(3 / 5), "goal": pytest.approx(1 / 3), "turn": pytest.approx(3 / 10)}


@pytest.mark.parametrize("merge", [False, True])
def test_rollouts_without_a_goal_are_named_where_goals_are_weights(merge: bool) -> None:
    """Each weighs as one goal, in a group or in the whole table: two successes of one goal and a failure of none are 1/2."""
    frame = rollouts(
        attack_success=[True, True, False, True, False], goal=["a", "a", None, None, None], target=list("xxxyy")
    )
    groups = rw.summarize(frame, by="target", metrics="attack_success", weighting="goal", merge=merge)
    assert groups.sort("target").select("estimate", "reason").rows() == [
        (pytest.approx(1 / 2), "1 rollout without a goal counts as one goal"),
        (pytest.approx(1 / 2), "2 rollouts without a goal count as one goal each"),
    ]
    unknown = frame.with_columns(goal=pl.lit(None, pl.String))
    assert only(rw.summarize(unknown, metrics="attack_success", weighting="goal", merge=merge))["reason"] == (
        "5 rollouts without a goal count as one goal each"
    )
    assert only(rw.summarize(unknown, metrics="attack_success", merge=merge))["reason"] == (
        "no goal or task is named, so every rollout counts as independent"
    )


def test_goals_crossed_with_tasks_are_both_clusters() -> None:
    """Where every goal meets every task, both ways count; where a way never repeats, it does not."""
    goal = [f"g{i % 4}" for i in range(20)]
    crossed = success([i % 3 == 0 for i in range(20)], goal=goal, task=[f"t{i // 4}" for i in range(20)])
    assert "goal x task" in crossed["estimand"]
    assert crossed["n_clusters"] == 4
    single = success([i % 3 == 0 for i in range(20)], goal=goal, task=[f"t{i}" for i in range(20)])
    assert "unit: goal" in single["estimand"]
    assert "task" not in single["estimand"]


@pytest.mark.parametrize("cluster", [None, "goal", "category", ("goal", "category")])
def test_any_cluster_may_be_asked_for(cluster) -> None:
    """A column, two crossed ones, or none: the unit stands in the row."""
    rows = range(24)
    goal, category = [f"g{row % 8}" for row in rows], [f"c{row % 3}" for row in rows]
    frame = rollouts(attack_success=[row % 3 == 0 for row in rows], goal=goal, category=category)
    row = only(rw.summarize(frame, metrics="attack_success", cluster=cluster))
    assert row["n_clusters"] == {None: 24, "goal": 8, "category": 3, ("goal", "category"): 3}[cluster]


# ── nothing else changes a row ────────────────────────────────────────────────────────────────────────────────────────
def graded(seed: int, goals: int = 12) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    n = goals * 3
    return rollouts(
        grade=rng.gamma(2, size=n), attack_success=rng.random(n) < 0.4, goal=[f"g{i % goals:02}" for i in range(n)]
    ).with_columns(target=pl.lit("base"), time_to_success=pl.Series([
        {"duration": int(t), "observed": bool(e)} for t, e in zip(rng.integers(1, 6, n), rng.random(n) < 0.6, strict=True)
    ], dtype=schema.TIME_TO_EVENT))  # fmt: skip


@pytest.mark.integration
@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_order_chunks_and_other_groups_change_nothing(seed: int, pieces: int) -> None:
    """Bit for bit the same row from shuffled, chunked rows beside unrelated groups."""
    frame = graded(5)
    alone = rw.summarize(frame, by="target", resamples=200, statistics=("mean", "median"))
    shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
    size = -(-frame.height // pieces)
    chunked = pl.concat([shuffled[at : at + size] for at in range(0, frame.height, size)], rechunk=False)
    other = graded(6, goals=7).with_columns(pl.lit("other").alias("target"), pl.col("rollout_id") + "-other")
    beside = rw.summarize(pl.concat([other, chunked]), by="target", resamples=200, statistics=("mean", "median"))
    assert beside.filter(pl.col("target") == "base").equals(alone)


SUMMARIZE = """
import rollwise as rw
turns, _ = rw.simulate(goals=30, attempts=4, turns=5, seed=2)
rollouts = rw.measure(turns, rw.metrics.OUTCOME, rw.metrics.TIMING, rw.metrics.EFFORT)
print(rw.summarize(rollouts, by="target", resamples=2000).write_json())
print(rw.curve(rollouts, by="target").write_json())
"""


@pytest.mark.integration
def test_the_number_of_threads_changes_nothing() -> None:
    """One thread of Polars and of the linear algebra gives the very digits that several give."""
    printed = [
        subprocess.run(
            [sys.executable, "-c", SUMMARIZE],
            env={
                **os.environ,
                "POLARS_MAX_THREADS": threads,
                "OPENBLAS_NUM_THREADS": threads,
                "OMP_NUM_THREADS": threads,
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "7")
    ]
    assert printed[0]
    assert printed[0] == printed[1] == printed[2]


@pytest.mark.integration
def test_the_seed_changes_the_draws_and_is_written_down() -> None:
    """Another seed draws otherwise; the row says which seed drew it, and only where something was drawn."""
    rows = [
        rw.summarize(graded(5), metrics=["grade", "attack_success"], statistics="mean", seed=seed) for seed in (0, 0, 1)
    ]
    grade = [frame.row(0, named=True) for frame in rows]
    assert grade[0] == grade[1]
    assert grade[0]["low"] != grade[2]["low"]
    assert (grade[2]["seed"], grade[2]["resamples"]) == (1, 10_000)
    assert rows[0].row(1, named=True)["seed"] is None


# ── against other libraries ───────────────────────────────────────────────────────────────────────────────────────────
def test_a_plain_proportion_is_wilson() -> None:
    """One rollout per goal: the Wilson interval of statsmodels, and the standard error of a sample mean."""
    from statsmodels.stats.proportion import proportion_confint

    row = success([True] * 7 + [False] * 33, goal=[f"g{i}" for i in range(40)])
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(7, 40, method="wilson"))
    assert row["std_error"] == pytest.approx(sqrt(7 / 40 * 33 / 40 / 39))


@pytest.mark.integration
def test_the_mean_of_a_number_is_the_bca_bootstrap() -> None:
    """Within Monte Carlo error (at 100,000 draws), the interval of `scipy.stats.bootstrap`."""
    values = np.random.default_rng(3).gamma(1.5, size=60)
    frame = rollouts(grade=values, goal=[f"g{i}" for i in range(60)])
    row = only(rw.summarize(frame, metrics="grade", statistics="mean", resamples=100_000))
    peer = scipy_stats.bootstrap((values,), np.mean, n_resamples=100_000, method="BCa", rng=1).confidence_interval
    spread = values.std() / sqrt(60)
    assert row["low"] == pytest.approx(peer.low, abs=0.1 * spread)
    assert row["high"] == pytest.approx(peer.high, abs=0.1 * spread)


@pytest.mark.integration
def test_times_have_a_restricted_mean_and_a_median() -> None:
    """The restricted mean is the area under Kaplan-Meier up to the last turn watched, as in lifelines."""
    from lifelines import KaplanMeierFitter
    from lifelines.utils import restricted_mean_survival_time

    frame = graded(8, goals=30)
    time = frame["time_to_success"].struct
    fitter = KaplanMeierFitter().fit(time.field("duration").to_numpy(), time.field("observed").to_numpy())
    got = rw.summarize(frame, metrics="time_to_success").rows_by_key("statistic", named=True, unique=True)
    assert got["restricted_mean"]["estimate"] == pytest.approx(restricted_mean_survival_time(fitter, t=5))
    assert "up to 5" in got["restricted_mean"]["estimand"]
    assert got["median"]["estimate"] == fitter.median_survival_time_


# ── on real logs: crossed goals and tasks ─────────────────────────────────────────────────────────────────────────────
@cache
def agentdojo(shared: Path, suite: str) -> pl.DataFrame:
    """Rollouts of one suite under attack."""
    turns = rw.read(shared / "agentdojo_drift")
    attacked = turns.filter(pl.col("task").str.starts_with(suite), pl.col("attack") != "none")
    return rw.measure(attacked, m.attack_success, m.task_success)


def design_effect(found: pl.DataFrame, way: str) -> float:
    """The shrunk design effect of field's rule, written out once more: (s d + m / 2) / (s + 1/2)."""
    by_way = found.group_by(way).agg(c=pl.col("task_success").sum().cast(pl.Float64), n=pl.len().cast(pl.Float64))
    c, n = by_way["c"].to_numpy(), by_way["n"].to_numpy()
    rate, size, groups = c.sum() / n.sum(), n.sum(), len(n)
    variance = groups / (groups - 1) * ((c - rate * n) ** 2).sum() / size**2
    observed = max(1.0, variance * size / (rate * (1 - rate)))
    informative = min((c > 0).sum(), (c < n).sum())
    return float((informative * observed + (n**2).sum() / size / 2) / (informative + 0.5))


@pytest.mark.integration
@pytest.mark.parametrize(("way", "low", "high"), [("goal", 0.356, 0.605), ("task", 0.271, 0.695)])
def test_the_way_that_varies_decides(shared, way: str, low: float, high: float) -> None:
    """AgentDojo banking, utility under attack 69 of 144: user tasks differ much, injections not at all."""
    found = agentdojo(shared, "banking")
    row = only(rw.summarize(found, metrics="task_success", cluster=way))
    assert row["estimate"] == pytest.approx(69 / 144)
    assert row["design_effect"] == pytest.approx(design_effect(found, way))
    assert (row["low"], row["high"]) == (pytest.approx(low, abs=0.002), pytest.approx(high, abs=0.002))


@pytest.mark.integration
def test_both_ways_are_the_default_where_they_cross(shared) -> None:
    """By default both ways count, which is never narrower than the worse of them."""
    both = only(rw.summarize(agentdojo(shared, "banking"), metrics="task_success"))
    assert "unit: goal x task" in both["estimand"]
    assert both["low"] < 0.271
    assert both["high"] > 0.695


@pytest.mark.integration
@pytest.mark.parametrize(("cluster", "high"), [("goal", 0.607), ("task", 0.172), ("auto", 0.607)])
def test_zero_of_105_is_bounded_by_its_fewest_units(shared, cluster, high: float) -> None:
    """AgentDojo slack, 0 of 105: five injections bound the rate far less than 21 user tasks; by default the fewer decide."""
    row = only(rw.summarize(agentdojo(shared, "slack"), metrics="attack_success", cluster=cluster))
    assert (row["estimate"], row["low"]) == (0, 0)
    assert row["high"] == pytest.approx(high, abs=0.001)


# ── options ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_several_levels_give_several_rows() -> None:
    """Each level has its row, and the wider holds the narrower."""
    got = rw.summarize(graded(1), metrics="attack_success", level=(0.5, 0.95))
    assert got["level"].to_list() == [0.5, 0.95]
    assert got["low"][1] < got["low"][0] < got["high"][0] < got["high"][1]


def test_margins_pool_over_each_column() -> None:
    """With margins, every combination of pooled columns has its row under the word `all`."""
    frame = rollouts(attack_success=[True, False, True, True], target=list("aabb"), attack=list("xyxy"))
    got = rw.summarize(frame, by=["target", "attack"], metrics="attack_success", margins=True)
    rate = {(row["target"], row["attack"]): row["estimate"] for row in got.rows(named=True)}
    assert rate["all", "all"] == 0.75
    assert (rate["a", "all"], rate["all", "x"]) == (0.5, 1.0)
    assert got.height == 9


def test_the_error_of_a_margin_is_that_of_its_own_estimate() -> None:
    """Lm-eval gave a group the plain mean of its tasks (here 4.5) and the error of their pooled samples: two estimators in a row.

    By hand: 8 rollouts of x in 4 goals, 2 of y in 2 others. The margin is the mean R of all ten, and its variance that of R over
    the six goals, G/(G-1) Σ(c - R n)²/N², not Σ(n-1)s²/(N-2)/N, what is within the groups.
    """
    grades: dict[str, list[list[float]]] = {"x": [[1, 2], [3, 3], [2, 4], [0, 1]], "y": [[8], [6]]}
    rows = [
        (name, f"{name}{place}", grade)
        for name, goals in grades.items()
        for place, goal in enumerate(goals)
        for grade in goal
    ]
    frame = rollouts(category=[row[0] for row in rows], goal=[row[1] for row in rows], grade=[row[2] for row in rows])
    made = rw.summarize(frame, by="category", metrics="grade", statistics="mean", margins=True, method="t")
    found = made.rows_by_key("category", named=True, unique=True)
    for name, goals in (("x", grades["x"]), ("y", grades["y"]), ("all", [*grades["x"], *grades["y"]])):
        n, many = sum(map(len, goals)), len(goals)
        share = sum(map(sum, goals)) / n
        squares = sum((sum(goal) - share * len(goal)) ** 2 for goal in goals)
        assert found[name]["estimate"] == pytest.approx(share)
        assert found[name]["std_error"] == pytest.approx(sqrt(many / (many - 1) * squares) / n)
        assert (found[name]["n"], found[name]["n_clusters"]) == (n, many)
    assert found["all"]["estimate"] == 3.0
    assert found["all"]["std_error"] == pytest.approx(sqrt(6 / 5 * (9 + 0 + 0 + 25 + 25 + 9)) / 10)
    own = [np.concatenate(goals) for goals in grades.values()]
    within = sum((part.size - 1) * part.var(ddof=1) for part in own) / (10 - 2) / 10
    assert within < found["all"]["std_error"] ** 2 / 3
    assert np.mean([part.mean() for part in own]) == 4.5


@pytest.mark.thinned(40)
@pytest.mark.parametrize("method", ["auto", "t", "normal", "bootstrap", "bca", "percentile", "basic"])
def test_every_method_gives_an_interval_for_a_number(method) -> None:
    """Each method is named in its row and holds the point."""
    row = only(rw.summarize(graded(2), metrics="grade", statistics="mean", method=method))
    assert row["low"] < row["estimate"] < row["high"]
    named = {"t": "t", "normal": "normal", "percentile": "percentile", "basic": "basic"}
    assert named.get(method, "BCa") in row["method"]


def tagged() -> pl.DataFrame:
    """Five rollouts with two tags, one (told twice), none, and none known."""
    tags = [["a", "b"], ["b"], ["b", "b"], [], None]
    return rollouts(
        attack_success=[True, False, True, False, True], grade=[1.0, 2, 3, 4, 6], tags=tags, target=list("xyxyx")
    )


def test_a_rollout_has_one_value_of_what_is_compared() -> None:
    """Groups of lists share rollouts: as arms of a comparison, as attacks or as strata they are refused in a sentence."""
    rollouts = pl.DataFrame(
        {"rollout_id": ["a", "b"], "goal": ["g", "h"], "tags": [["x", "y"], ["x"]], "won": [True, False]}
    )
    times = rollouts.with_columns(time_to_success=pl.struct(duration=pl.lit(1), observed="won"))
    calls: list[Callable[[], object]] = [
        lambda: rw.contrast(rollouts, of="tags", metrics=["won"]),
        lambda: rw.comparisons.portfolio(rollouts, members="tags", metric="won"),
        lambda: rw.summarize(rollouts, metrics=["won"], strata="tags"),
        lambda: rw.comparisons.curve_test(times, of="tags", baseline="x"),
        lambda: rw.comparisons.curve_difference(times, of="tags", baseline="x"),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match="`tags` is a column of lists, so a rollout has several values"):
            call()
    with pytest.raises(ArgumentError, match="cluster='tags' is a column of lists; a rollout is in one cluster"):
        rw.summarize(rollouts, metrics=["won"], cluster="tags")


@pytest.mark.parametrize("merge", [False, True])
def test_a_column_of_lists_groups_by_what_stands_in_them(merge: bool) -> None:
    """A rollout is in the group of each of its tags, once; without any it is in that of null."""
    got = rw.summarize(tagged(), by="tags", metrics=["attack_success", "grade"], statistics="mean", merge=merge)
    assert got.schema["tags"] == pl.String
    assert got.select("tags", "metric", "estimate", "n").rows() == [
        (None, "attack_success", 0.5, 2),
        (None, "grade", 5.0, 2),
        ("a", "attack_success", 1.0, 1),
        ("a", "grade", 1.0, 1),
        ("b", "attack_success", pytest.approx(2 / 3), 3),
        ("b", "grade", 2.0, 3),
    ]


@pytest.mark.integration
def test_tags_group_like_the_rollouts_that_have_them() -> None:
    """Beside another column; in contrasts, curves and gates too."""
    got = rw.summarize(tagged(), by=["target", "tags"], metrics="grade", statistics="mean")
    assert got.select("target", "tags", "estimate").rows() == [
        ("x", None, 6.0),
        ("x", "a", 1.0),
        ("x", "b", 2.0),
        ("y", None, 4.0),
        ("y", "b", 2.0),
    ]
    alone = tagged().filter(pl.col("tags").list.contains("b"))
    pair: dict[str, Any] = {"of": "target", "baseline": "y", "metrics": "attack_success", "paired": False}
    by_tag = rw.contrast(tagged(), by="tags", **pair).filter(tags="b")
    assert by_tag["difference"].to_list() == rw.contrast(alone, **pair)["difference"].to_list()
    timed = tagged().with_columns(time_to_success=pl.struct(duration=pl.lit(2), observed="attack_success"))
    by_tag, whole = rw.curve(timed, by="tags"), rw.curve(timed.filter(pl.col("tags").list.contains("b")))
    assert by_tag.filter(tags="b")["estimate"].to_list() == whole["estimate"].to_list()
    gated = rw.gate(tagged(), "attack_success < 0.99", by="tags")
    assert gated["tags"].to_list() == [None, "a", "b"]


def test_the_standard_deviation_is_a_statistic() -> None:
    """Of numbers, of shares and of groups, as AISteer360 summarizes trials; of a time it is not known."""
    trials = rollouts(
        accuracy=[0.40, 0.46, 0.42, 0.42, 0.46, 0.5], pipeline=list("aaaaab"), attack_success=[True, False] * 3
    )
    got = rw.summarize(trials, by="pipeline", statistics=["mean", "std"], metrics=["accuracy", "attack_success"])
    rows = got.filter(statistic="std").rows_by_key(["pipeline", "metric"], named=True, unique=True)
    assert rows["a", "accuracy"]["estimate"] == pytest.approx(0.0268328, abs=1e-7)
    assert rows["a", "attack_success"]["estimate"] == pytest.approx(np.std([1, 0, 1, 0, 1], ddof=1))
    assert rows["b", "accuracy"]["estimate"] is None
    assert (
        rows["a", "accuracy"]["estimand"]
        == "standard deviation of accuracy, every rollout weighing the same; unit: rollout (no clusters)"
    )
    times = rollouts(time_to_success=[{"duration": 2, "observed": True}, {"duration": 3, "observed": False}])
    assert "not known" in only(rw.summarize(times, metrics="time_to_success", statistics="std"))["reason"]


@pytest.mark.parametrize(
    ("method", "named"),
    [("wilson", "Wilson"), ("exact", "exact"), ("jeffreys", "Jeffreys"), ("agresti-coull", "Agresti-Coull")],
)
def test_every_interval_of_a_share_knows_clusters(method, named: str) -> None:
    """Each interval of a share holds the point at the effective size, and says that it is clustered."""
    row = only(rw.summarize(graded(2), metrics="attack_success", method=method))
    assert row["low"] < row["estimate"] < row["high"]
    assert row["method"] == f"clustered {named}"


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("method", "strata"), [("t", None), ("studentized", None), ("basic", "category")])
def test_intervals_of_a_share_stay_within_0_and_1(method, strata: str | None) -> None:
    """Successes in three goals of twelve: t and its kin, asked for by name, would begin below 0; of failures, end above 1."""
    broken = [number in {0, 2, 4} for number in range(24)]
    for values, end, side in ((broken, "low", 0.0), ([not one for one in broken], "high", 1.0)):
        frame = rollouts(
            goal=[f"g{number // 2}" for number in range(24)],
            category=[f"c{number // 12}" for number in range(24)],
            attack_success=values,
        )
        row = only(rw.summarize(frame, method=method, strata=strata, level=0.999))
        assert row[end] == side
        assert row["low"] < row["estimate"] < row["high"]


@pytest.mark.integration
@pytest.mark.parametrize("cluster", [None, "goal", ("goal", "task")])
def test_zeros_and_ones_of_few_rollouts_are_a_share(cluster) -> None:
    """Where t would leave [0, 1], fractions that are all 0.0 or 1.0 have the interval of the Booleans that they stand for."""
    ways = {"goal": ["a", "a", "b", "b", "c", "c"], "task": ["x", "y", "z", "x", "y", "z"]}
    values = [0.0, 1.0, 1.0, None, 1.0, 1.0]
    frame = rollouts(right=values, answered=[None if one is None else bool(one) for one in values], **ways)
    asked: dict[str, Any] = {"statistics": "mean", "cluster": cluster}
    row = only(rw.summarize(frame, metrics="right", **asked))
    share = only(rw.summarize(frame, metrics="answered", unjudged="drop", **asked))
    assert [row[name] for name in ("estimate", "low", "high", "method")] == [
        share[name] for name in ("estimate", "low", "high", "method")
    ]
    assert 0 <= row["low"] < 0.8 < row["high"] <= 1
    assert row["reason"].endswith("Wilson because all values are 0.0 or 1.0")


@pytest.mark.parametrize("values", [[0, 1, 0], [0.0, 1.0, 0.5], [0.0, 1.0, 2.0]])
def test_what_may_be_more_than_one_keeps_t(values: list[float]) -> None:
    """Counts of which few rollouts happen to have none or one, and scores between or beyond: t of two degrees of freedom."""
    row = only(rw.summarize(rollouts(seen=values), metrics="seen", statistics="mean"))
    half = scipy_stats.t.ppf(0.975, 2) * np.std(values, ddof=1) / sqrt(3)
    assert row["method"] == "t"
    assert (row["low"], row["high"]) == pytest.approx((np.mean(values) - half, np.mean(values) + half))
    assert row["low"] < 0


@pytest.mark.integration
@pytest.mark.parametrize(
    "metric", ["token_f1", "distinct_2_prompt", "refusal_rate", "tool_call_recall", "tfidf_cosine"]
)
@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=14), st.sampled_from(["auto", "t", "normal", "basic", "studentized"])
)
def test_an_interval_stays_where_its_metric_does(metric: str, values: list[float], method) -> None:
    """Metrics that cannot leave [0, 1] have no interval that does; an unknown one has the same, uncut, or reaches into a tail."""
    asked: dict[str, Any] = {"statistics": "mean", "method": method, "resamples": 200}
    cut = only(rw.summarize(rollouts(**{metric: values}), metrics=metric, **asked))
    whole = only(rw.summarize(rollouts(mine=values), metrics="mine", **asked))
    if len(set(values)) == 1:  # what never varies has an interval only where its range is known
        assert whole["low"] is None
        assert cut["low"] is None or 0 <= cut["low"] <= values[0] <= cut["high"] <= 1
        return
    assert (cut["low"] is None) == (whole["low"] is None)
    if whole["low"] is not None:
        plain = whole["method"].removesuffix("; upper end by log t")
        assert cut["method"] == plain
        assert cut["low"] == max(whole["low"], 0.0)
        assert (cut["high"] == min(whole["high"], 1.0)) if plain == whole["method"] else (cut["high"] <= whole["high"])


@pytest.mark.parametrize(
    ("metric", "method"),
    [("grade", "exact"), ("grade", "wilson"), ("attack_success", "basic"), ("attack_success", "normal")],
)
def test_a_method_that_does_not_fit_leaves_no_interval(metric: str, method) -> None:
    """An interval of shares on a number, or a basic bootstrap of a share, is refused in the row, with the estimate kept."""
    row = only(rw.summarize(graded(2), metrics=metric, statistics="mean", method=method))
    assert row["estimate"] is not None
    assert (row["low"], row["high"]) == (None, None)
    assert row["reason"].startswith(f"{method}: ")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"by": "tagret"}, "no column 'tagret' to group by"),
        ({"by": ["n"]}, r"rename it first: `.rename\(\{\"n\""),
        ({"metrics": "goal"}, "'goal' is String"),
        ({"metrics": "attack_sucess"}, "no metric 'attack_sucess'"),
        ({"cluster": "prompt"}, "cluster='prompt': there is no such column"),
        ({"cluster": ("a", "b", "c")}, "at most two"),
        ({"level": 95}, "level=95"),
        ({"statistics": "mode"}, "statistic 'mode' is unknown"),
        ({"method": "magic"}, "method='magic' is unknown"),
        ({"method": "wilsn"}, "method='wilsn' is unknown; it is 'auto', 'wilson', .*'studentized' or 'within-goals'"),
        ({"weighting": "vibes"}, "weighting='vibes' is unknown"),
        ({"resamples": 10}, "resamples=10 is too few"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_sentence(options: dict, says: str) -> None:
    """A wrong option names itself and what there is instead."""
    frame = rollouts(attack_success=[True, False], goal=["a", "b"]).with_columns(n=pl.lit("x"))
    with pytest.raises(ArgumentError, match=says):
        rw.summarize(frame, **options)


def test_turns_are_not_rollouts() -> None:
    """A table of turns, or one without ids, is refused with the verb that makes it right."""
    with pytest.raises(SchemaError, match=r"rw\.measure\(turns\)"):
        rw.summarize(pl.DataFrame({"rollout_id": ["a", "a"], "x": [1, 2]}))
    with pytest.raises(SchemaError, match="`rollout_id` is missing"):
        rw.summarize(pl.DataFrame({"x": [1, 2]}))


@pytest.mark.integration
def test_any_arrow_table_will_do() -> None:
    """An Arrow table and a lazy frame give the same rows as a Polars frame."""
    frame = graded(4).drop("time_to_success")
    expected = rw.summarize(frame, statistics="mean", resamples=200)
    for table in (frame.to_arrow(), frame.lazy()):
        assert rw.summarize(table, statistics="mean", resamples=200).equals(expected)


def test_the_result_is_a_summary() -> None:
    """The result conforms to its schema, groups first."""
    got = rw.summarize(graded(4), by="target")
    assert got.columns == ["target", *schema.SUMMARY.names]
    schema.check(got, schema.SUMMARY)


@pytest.mark.parametrize("method", ["auto", "percentile", "t"])
def test_numbers_that_are_only_named_like_a_share_stay_within_their_interval(method):
    values = [2.0, 1.0, 2.0, 1.0, 2.0, 2.0] * 4
    frame = pl.DataFrame({"rollout_id": [f"r{row:02}" for row in range(24)], "refusal_rate": values})
    row = rw.summarize(frame, method=method, resamples=200, statistics="mean").row(0, named=True)
    assert row["low"] < row["estimate"] < row["high"]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("verb", "options"),
    [(rw.summarize, {}), (rw.contrast, {"of": "target"}), (rw.summarize, {"by": "target", "statistics": "iqm"})],
)
def test_very_many_metrics_are_announced(
    verb: Callable[..., pl.DataFrame],
    options: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten thousand columns take minutes: a sentence comes before; none if they are few, or if they were named."""
    monkeypatch.setattr("rollwise.estimation.arguments.MANY_METRICS", 20)
    frame = rollouts(goal=["g", "h", "i", "j"], target=["a", "a", "b", "b"])
    frame = frame.with_columns(pl.Series(f"m{number}", [0.5, 0.25, 1.5, 2.5]) for number in range(21))
    verb(frame, **options, resamples=100)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{verb.__name__}: 21 columns are metrics here" in said
    assert 'metrics=["m0"]' in said
    verb(frame, metrics=[f"m{number}" for number in range(21)], **options, resamples=100)
    verb(frame.select("rollout_id", "goal", "target", "m0"), **options, resamples=100)
    assert not capsys.readouterr().err
