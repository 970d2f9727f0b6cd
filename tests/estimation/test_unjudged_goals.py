"""Rollouts without a verdict in statistics over goals: inside the bounds, as in the mean; what has no bounds says so."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m

COVERED = (
    "the estimate takes the others as representative, and the interval covers both outcomes of each (unjudged='bounds')"
)
OVER_GOALS = ("goal_mean", "goal_median", "iqm", "optimality_gap")


def turns(*verdicts: Sequence[bool | None], attempts: int = 3, **columns: Any) -> pl.DataFrame:
    """TURNS of rollouts with these verdicts on their turns, so many in a row at each goal."""
    rows = [
        {"rollout_id": f"r{place:03}", "goal": f"g{place // attempts:02}", "turn": turn, "succeeded": verdict}
        for place, of_turns in enumerate(verdicts)
        for turn, verdict in enumerate(of_turns, 1)
    ]
    frame = pl.DataFrame(rows, schema_overrides={"turn": pl.Int32, "succeeded": pl.Boolean})
    return frame.with_columns(**columns)


def measured(frame: pl.DataFrame) -> pl.DataFrame:
    return rw.measure(frame, m.attack_success(), m.time_to_success())


# Twelve goals: three attempts each, one of them without a verdict at every goal.
MIXED: Sequence[Sequence[bool | None]] = [[place % 8 == 1] if place % 3 else [None] for place in range(36)]


def filled(verdicts: Sequence[Sequence[bool | None]], value: bool) -> pl.DataFrame:
    return measured(turns(*[[value if verdict is None else verdict for verdict in of_turns] for of_turns in verdicts]))


@pytest.mark.integration
@pytest.mark.parametrize("statistic", OVER_GOALS)
@pytest.mark.parametrize("metric", ["attack_success", "mine"])
def test_the_interval_reaches_from_all_failures_to_all_successes(statistic: str, metric: str) -> None:
    """The lower end is that of the table with failures in their place, the upper end that with successes (or the reverse)."""
    frame = measured(turns(*MIXED)).with_columns(mine=pl.col("attack_success"))
    (row,) = rw.summarize(frame, metrics=metric, statistics=statistic).rows(named=True)
    ends = [
        rw.summarize(filled(MIXED, value), metrics="attack_success", statistics=statistic).row(0, named=True)
        for value in (False, True)
    ]
    assert row["low"] == pytest.approx(min(end["low"] for end in ends))
    assert row["high"] == pytest.approx(max(end["high"] for end in ends))
    assert (row["n"], row["n_undetermined"], row["n_clusters"]) == (24, 12, 12)
    assert row["reason"].startswith(f"12 of 36 rollouts have no verdict: {COVERED}")
    assert row["method"].endswith("at the bounds")


@pytest.mark.integration
def test_by_hand() -> None:
    """One attempt at each of 100 goals, 5 of 50 judged are successes: the mean of goals is .1, and may be .05 to .55."""
    verdicts: list[Sequence[bool | None]] = [[True]] * 5 + [[False]] * 45 + [[None]] * 50
    frame = measured(turns(*verdicts, attempts=1))
    row = rw.summarize(frame, metrics="attack_success", statistics="goal_mean").row(0, named=True)
    assert row["estimate"] == pytest.approx(0.1)
    assert row["low"] < 0.05
    assert row["high"] > 0.55


@pytest.mark.integration
@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("drop", "12 of 36 rollouts have no verdict: they are left out (unjudged='drop')"),
        ("sample", "12 of 36 rollouts have no verdict: the estimate is of those drawn for judging (unjudged='sample')"),
    ],
)
def test_other_choices_are_of_the_others(choice: Any, said: str) -> None:
    """The same interval as of a table without them, and what was done with them."""
    frame, judged = measured(turns(*MIXED)), measured(turns(*MIXED)).drop_nulls("attack_success")
    for statistic in OVER_GOALS:
        row, own = (
            rw.summarize(table, metrics="attack_success", statistics=statistic, unjudged=choice).row(0, named=True)
            for table in (frame, judged)
        )
        assert {name: row[name] for name in ("estimate", "low", "high")} == {
            name: own[name] for name in ("estimate", "low", "high")
        }
        assert said in row["reason"]


def test_turns_that_were_judged_before_count_as_censored() -> None:
    """A rollout with an unjudged turn and no success may still be one: bounds, also of a sample; the estimate is between."""
    verdicts = [of_turns if of_turns != [None] else [False, None] for of_turns in MIXED]
    frame = measured(turns(*verdicts))
    for choice in ("bounds", "sample"):
        row = rw.summarize(frame, metrics="attack_success", statistics="goal_mean", unjudged=choice).row(0, named=True)
        low, high = (frame["attack_success"].cast(float).fill_null(value).mean() for value in (0.0, 1.0))
        assert row["low"] < low <= row["estimate"] <= high < row["high"]
        assert "have unjudged turns and no success: the estimate counts them as censored" in row["reason"]


@pytest.mark.integration
def test_groups_and_errors_and_a_group_of_which_nothing_is_judged() -> None:
    """Errors stay left out; where nothing is judged there is no estimate; a whole group is as it was."""
    three = pl.concat(
        [
            turns(*of_group, category=pl.lit(name)).with_columns(rollout_id=pl.lit(name) + pl.col("rollout_id"))
            for name, of_group in (("all", [[False]] * 36), ("none", [[None]] * 36), ("some", MIXED))
        ]
    )
    frame = rw.measure(three, m.attack_success(), keep="category")
    rows = rw.summarize(frame, by="category", metrics="attack_success", statistics="goal_mean").rows(named=True)
    assert [(row["category"], row["n"], row["n_undetermined"]) for row in rows] == [
        ("all", 36, 0),
        ("none", 0, 36),
        ("some", 24, 12),
    ]
    assert rows[1]["estimate"] is None
    crashed = measured(turns(*MIXED, ending=pl.lit("error")))
    (row,) = rw.summarize(crashed, metrics="attack_success", statistics="goal_mean").rows(named=True)
    assert row["n_error"] + row["n"] == 36
    assert row["n_undetermined"] == 0


@pytest.mark.integration
@pytest.mark.parametrize("statistic", ["median", "std", "q90", "max"])
def test_a_statistic_without_bounds_says_whom_it_leaves_out(statistic: str) -> None:
    """Of a yes or no only means have bounds; the others leave the unjudged out, and say so."""
    (reason,) = rw.summarize(measured(turns(*MIXED)), metrics="attack_success", statistics=statistic)["reason"]
    words = {"median": "median", "std": "standard deviation", "q90": "90 % quantile", "max": "max"}[statistic]
    assert f"12 of 36 rollouts have no verdict: the {words} leaves them out" in reason
    whole = rw.summarize(filled(MIXED, value=False), metrics="attack_success", statistics=statistic)["reason"].item()
    assert "leaves them out" not in (whole or "")


@pytest.mark.integration
def test_a_function_of_ones_own_is_not_given_the_unjudged_and_says_so() -> None:
    """It has no bounds: whom it leaves out is counted, and said."""

    def share(values: Any) -> float:
        return float(values.mean())

    for frame, said in ((measured(turns(*MIXED)), "12 of 36 rollouts have"), (filled(MIXED, value=False), None)):
        row = rw.summarize(frame, metrics="attack_success", statistics={"share": share}, resamples=2000).row(
            0, named=True
        )
        note = f"{said} no value in a column of the function: they are left out"
        assert (row["reason"], row["n_missing"]) == ((note, 12) if said else (None, 0))
