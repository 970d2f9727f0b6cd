"""Missing outcomes: three rates in one row, bounds that are sharp, and the denominators that other tools mix up."""

from typing import get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulations import repeated

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.choices import Method
from rollwise.estimation.statistics import WITHIN_GOALS


def rollouts(values: list[bool | None], **columns) -> pl.DataFrame:
    """ROLLOUTS of one attempt at each goal."""
    return pl.DataFrame(
        {
            "rollout_id": pl.Series([f"r{i:03}" for i in range(len(values))], dtype=pl.String),
            "goal": pl.Series([f"g{i:03}" for i in range(len(values))], dtype=pl.String),
            "attack_success": pl.Series(values, dtype=pl.Boolean),
        }
    ).with_columns(**columns)


def only(frame: pl.DataFrame) -> dict:
    assert frame.height == 1
    return frame.row(0, named=True)


def test_three_rates_and_four_counts_in_one_row() -> None:
    """2 of 5 decided, 2 of 8 with what failed to run as failures, 5 of 8 as successes; and who is who."""
    outcome = ["success", "success", "failure", "failure", "failure", "error", "error", "undetermined"]
    frame = rollouts(
        [True, True, False, False, False, None, None, None], outcome=pl.Series(outcome, dtype=schema.OUTCOMES)
    )
    row = only(rw.summarize(frame, metrics="attack_success"))
    assert (row["estimate"], row["bound_low"], row["bound_high"]) == (2 / 5, 2 / 8, 5 / 8)
    assert (row["n"], row["n_error"], row["n_undetermined"], row["n_missing"]) == (5, 2, 1, 0)
    assert "without a value: 2 in error, 1 undetermined" in row["estimand"]  # which of the three is the headline


@pytest.mark.integration
@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=30), st.integers(0, 2**30))
def test_the_bounds_are_sharp(values: list, seed: int) -> None:
    """Whatever the unknown ones were, the rate lies within the bounds, and each bound is the rate of one such world."""
    row = only(rw.summarize(rollouts(values), metrics="attack_success"))
    rng = np.random.default_rng(seed)
    world = [bool(rng.random() < 0.5) if value is None else value for value in values]
    low, high = ([fill if value is None else value for value in values] for fill in (False, True))
    assert row["bound_low"] - 1e-12 <= np.mean(world) <= row["bound_high"] + 1e-12
    assert (row["bound_low"], row["bound_high"]) == (pytest.approx(np.mean(low)), pytest.approx(np.mean(high)))


def test_one_denominator_and_no_truncation() -> None:
    """Trap T9: PyRIT has two success rates of different denominators, one cut to an integer, so that 0.9 % becomes 0."""
    row = only(rw.summarize(rollouts([True] + [False] * 110 + [None] * 39), metrics="attack_success"))
    assert row["estimate"] == pytest.approx(1 / 111)
    assert (row["n"], row["n_undetermined"], row["bound_low"]) == (111, 39, pytest.approx(1 / 150))


def test_errors_reach_every_group() -> None:
    """Trap T10: errored cases of DeepTeam never reach the counters of their group; here a group of errors alone keeps its row."""
    outcome = pl.Series(["success", "failure", "error", "error"], dtype=schema.OUTCOMES)
    frame = rollouts([True, False, None, None], outcome=outcome, target=pl.Series(["a", "a", "a", "b"]))
    got = rw.summarize(frame, by="target", metrics="attack_success")
    assert got.select("target", "n", "n_error", "estimate").rows() == [("a", 2, 1, 0.5), ("b", 0, 1, None)]
    assert got["bound_low"].to_list() == pytest.approx([1 / 3, 0])
    assert got["bound_high"].to_list() == pytest.approx([2 / 3, 1])


def test_a_group_of_errors_passes_no_gate() -> None:
    """Unknown is not safe: nothing decided, nothing passed."""
    frame = rollouts([None] * 50, outcome=pl.lit("error", dtype=schema.OUTCOMES))
    assert rw.gate(frame, "attack_success < 0.99")["answer"].item() == "undecided"


def test_the_question_per_prompt_is_answered() -> None:
    """Trap T13: pooled generations weigh a prompt by how many it had; every goal the same is asked for and named."""
    many = pl.DataFrame({
        "rollout_id": [f"r{i}" for i in range(12)],
        "goal": ["a"] * 10 + ["b", "b"],
        "attempt": pl.Series([*range(1, 11), 1, 2], dtype=pl.Int32),
        "attack_success": [True] * 10 + [False, False],
    })  # fmt: skip
    pooled = only(rw.summarize(many, metrics="attack_success"))
    per_goal = only(rw.summarize(many, metrics="attack_success", weighting="goal"))
    at_one = rw.attempts(many, k=1).row(0, named=True)
    assert (pooled["estimate"], per_goal["estimate"], at_one["estimate"]) == (
        pytest.approx(10 / 12),
        pytest.approx(0.5),
        0.5,
    )
    assert "every rollout weighing the same" in pooled["estimand"]
    assert "every goal weighing the same" in per_goal["estimand"]
    assert "every goal weighing the same" in at_one["estimand"]


def test_nobody_at_n_one_and_all_equal() -> None:
    """Trap T11: all alike or alone, lifelines has a zero width, SciPy NaN, arch an exception; each estimator here has a reason."""
    alike = rollouts([True] * 20, attempt=pl.lit(1, dtype=pl.Int32))
    time = pl.Series([{"duration": 1, "observed": True}] * 20, dtype=schema.TIME_TO_EVENT)
    for frame in (alike, alike[:1]):
        row = rw.attempts(frame, k=1).row(0, named=True)
        assert row["low"] < row["high"] == 1.0
        curve = rw.curve(frame.with_columns(time_to_success=time[: frame.height])).row(-1, named=True)
        assert curve["low"] < curve["high"] == 1.0
        assert rw.forecast(frame, k=5)["reason"].item()
        test = rw.comparisons.curve_test(
            frame.with_columns(time_to_success=time[: frame.height], target=pl.Series(["a", "b"] * 10)[: frame.height]),
            of="target",
            baseline="a",
        )
        assert test["reason"].null_count() == 0


@pytest.mark.integration
def test_what_a_noisy_table_cannot_say_is_said_by_measure() -> None:
    """A rate over nothing assessed is null, never 0.0, down every verb."""
    turns = rw.turns([{"rollout_id": "a", "goal": "g", "prompt": "p", "response": "r"}])
    found = rw.measure(turns, m.attack_success(), m.time_to_success())
    assert only(rw.summarize(found, metrics="attack_success"))["estimate"] is None
    assert rw.attempts(found)["estimate"].null_count() == 2
    assert rw.curve(found)["estimate"].null_count() == 1
    assert rw.training(found.with_columns(train_step=pl.lit(0)))["estimate"].item() is None


HALF = pl.DataFrame(
    {
        "rollout_id": [f"r{i:02}" for i in range(60)],
        "goal": [f"g{i // 3:02}" for i in range(60)],
        "num_turns": pl.Series([3] * 60, dtype=pl.Int32),
        "num_judged": pl.Series([1 if i % 10 == 0 else 3 for i in range(60)], dtype=pl.Int32),
        "attack_success": [None if i % 10 == 0 else i % 7 == 1 for i in range(60)],
    }
)
NEVER = HALF.with_columns(attack_success=pl.when(pl.col("attack_success").is_not_null()).then(False))


@pytest.mark.integration
@pytest.mark.parametrize(
    "frame", [HALF, NEVER, HALF.with_columns(goal=pl.lit("g")), HALF[:1]], ids=["some", "never", "one goal", "one"]
)
@pytest.mark.parametrize("method", [method for method in get_args(Method) if method != WITHIN_GOALS])
def test_rows_with_unjudged_turns_have_both_ends_or_neither(frame: pl.DataFrame, method: Method) -> None:
    """By every method: two ends that hold the intervals of both extremes and the method, or none of the three and why."""
    row = only(rw.summarize(frame, metrics="attack_success", method=method, resamples=500))
    worlds = [
        only(rw.summarize(frame.with_columns(pl.col("attack_success").fill_null(value=value)), metrics="attack_success",
                          method=method, resamples=500))
        for value in (False, True)
    ]  # fmt: skip
    assert row["std_error"] is None
    if row["n"]:
        assert worlds[0]["estimate"] <= row["estimate"] <= worlds[1]["estimate"]
    else:
        assert row["estimate"] is None
    if all(world["low"] is not None for world in worlds):
        assert (row["low"], row["high"]) == (min(w["low"] for w in worlds), max(w["high"] for w in worlds))
        assert row["method"].endswith("at the bounds")
        assert "None" not in row["method"]
    else:
        assert (row["low"], row["high"], row["method"]) == (None, None, None)
        for world in worlds:
            assert (world["reason"] or "unjudged turns") in row["reason"]


def test_attempts_with_unjudged_turns_keep_what_else_there_is_to_say() -> None:
    """No goal has so many attempts: that is why there is no interval."""
    row = only(rw.attempts(HALF, k=5).filter(kind="asr@k"))
    assert (row["low"], row["high"], row["method"]) == (None, None, None)
    assert "no goal has 5 attempts; the most is 3" in row["reason"]
    assert "6 of 60 attempts have unjudged turns and no success" in row["reason"]


@pytest.mark.slow
@pytest.mark.parametrize(("of_successes", "of_failures"), [(0.3, 0.3), (0.6, 0.0), (1.0, 0.0), (0.0, 0.3), (0.0, 1.0)])
def test_the_rate_is_covered_whoever_is_unjudged(of_successes: float, of_failures: float) -> None:
    """So many successes and failures lose a verdict: the true rate lies between the ends at least as often as said.

    Left out instead, as other tools do, the lost ones take the rate with them wherever success and failure are lost unequally.
    """
    rng, repetitions, kept, dropped = np.random.default_rng(5), repeated(800), 0, 0
    goal = np.repeat(np.arange(40), 5)
    ids = {"rollout_id": [f"r{i:03}" for i in range(200)], "goal": [f"g{g:02}" for g in goal]}
    for _ in range(repetitions):
        won = rng.random(200) < rng.beta(0.7, 1.4, 40)[goal]
        lost = rng.random(200) < np.where(won, of_successes, of_failures)
        frame = pl.DataFrame(ids).with_columns(
            num_turns=pl.lit(3, dtype=pl.Int32),
            num_judged=pl.Series(np.where(lost, 1, 3), dtype=pl.Int32),
            attack_success=pl.when(~pl.Series(lost)).then(pl.Series(won)),
        )
        row = only(rw.summarize(frame, metrics="attack_success"))
        kept += row["low"] <= 1 / 3 <= row["high"]
        left = only(rw.summarize(frame, metrics="attack_success", unjudged="drop"))
        dropped += left["low"] is not None and left["low"] <= 1 / 3 <= left["high"]
    assert kept / repetitions >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / repetitions)
    if of_successes != of_failures:
        assert dropped / repetitions < 0.9
