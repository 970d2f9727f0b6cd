"""The rules that hold for every interval, each row of the table a test: what other tools get wrong must stay right here."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import rollwise as rw
from rollwise import schema
from rollwise.stats.bootstrap import MOST_NULL, null_flaw, percentile_interval
from rollwise.stats.mean import mean
from rollwise.stats.replicates import ratio_replicates

STATISTICS = ("mean", "median", "min", "max", "q90")


def rollouts(values: list, goals: list, **more: list) -> pl.DataFrame:
    """ROLLOUTS with one Boolean, one number and one time."""
    flags = [None if value is None else value > 0 for value in values]
    times = [None if value is None else {"duration": 1 + int(value), "observed": value > 0} for value in values]
    return pl.DataFrame(
        {
            "rollout_id": pl.Series([f"r{row}" for row in range(len(values))], dtype=pl.String),
            "goal": pl.Series(goals, dtype=pl.String),
            "attack_success": pl.Series(flags, dtype=pl.Boolean),
            "grade": pl.Series(values, dtype=pl.Float64),
            "time_to_success": pl.Series(times, dtype=schema.TIME_TO_EVENT),
            **more,
        }
    )


def summary(values: list, goals: list, **options) -> list[dict]:
    """All statistics of all three kinds of metric."""
    frame = rollouts(values, goals)
    made = [
        rw.summarize(frame, metrics="attack_success", **options),
        rw.summarize(frame, metrics="grade", statistics=STATISTICS, **options),
        rw.summarize(frame, metrics="time_to_success", **options),
    ]
    return pl.concat(made).rows(named=True)


@pytest.mark.integration
@pytest.mark.parametrize("values", [[], [None, None]], ids=["no rollout", "no value"])
def test_nothing_known_is_null_never_zero(values: list) -> None:
    """Without a value (n = 0) estimate and bounds are null, and n = 0 stands in the row."""
    for row in summary(values, ["a"] * len(values)):
        assert (row["n"], row["estimate"], row["low"], row["high"], row["std_error"]) == (0, None, None, None, None)
        assert row["reason"]


@pytest.mark.integration
def test_one_rollout_bounds_a_rate_and_nothing_else() -> None:
    """One rollout (n = 1): Wilson is defined for a proportion (from 0.21 to 1), no mean has a zero-width interval."""
    rate, *others = summary([1.0], ["a"])
    assert (round(rate["low"], 2), rate["high"]) == (0.21, 1.0)
    for row in others:
        assert row["estimate"] is not None
        assert None in {row["low"], row["high"]}
        assert row["reason"]


@pytest.mark.integration
def test_equal_values_bound_a_rate_and_nothing_else() -> None:
    """All equal: Wilson for the proportion; means have null bounds, as nothing varies; quantiles are that value, and say so."""
    rate, *others = summary([2.0] * 12, [f"g{i}" for i in range(12)])
    assert (rate["estimate"], rate["high"]) == (1.0, 1.0)
    assert 0.7 < rate["low"] < 0.8
    for row in others:
        tied = row["metric"] == "grade" and row["statistic"] == "median"
        assert (row["low"], row["high"]) == ((2.0, 2.0) if tied else (None, None)), row
        assert row["reason"]
        assert not tied or row["reason"].startswith("many values are tied")
    assert others[0]["reason"] == "no variation"


@pytest.mark.integration
def test_what_is_not_scored_is_counted_and_bounded() -> None:
    """A missing score is never a number: it is counted, and the worst cases stand beside the rate."""
    row = summary([1.0, 0.0, None, None], list("abcd"))[0]
    assert (row["n"], row["n_undetermined"], row["estimate"]) == (2, 2, 0.5)
    assert (row["bound_low"], row["bound_high"]) == (0.25, 0.75)


def test_a_replicate_without_members_is_null_and_counted() -> None:
    """A replicate that draws no weight has no value; above a few per cent of them there is no interval."""
    drawn = ratio_replicates(np.array([1.0, 0.0]), np.array([1.0, 0.0]), rng=np.random.default_rng(0), resamples=4000)[
        :, 0
    ]
    share = np.isnan(drawn).mean()
    assert share == pytest.approx(0.25, abs=0.03)
    assert share > MOST_NULL
    assert null_flaw(drawn) == f"{share:.0%} of the bootstrap replicates are empty"
    assert percentile_interval(drawn, 0.95) == (None, None)


def test_unequal_goals_have_two_estimands_and_the_row_names_its_own() -> None:
    """Per rollout 3 of 4, per goal 1/2: the estimand says which."""
    frame = rollouts([1.0, 1.0, 1.0, 0.0], ["a", "a", "a", "b"])
    cases: tuple[tuple[Any, float], ...] = (("rollout", 0.75), ("goal", 0.5))
    for weighting, rate in cases:
        row = rw.summarize(frame, metrics="attack_success", weighting=weighting).row(0, named=True)
        assert row["estimate"] == pytest.approx(rate)
        assert f"every {weighting} weighing the same" in row["estimand"]


@pytest.mark.integration
def test_one_cluster_never_falls_back_to_independence() -> None:
    """Several rollouts of one goal: every interval is null, and says that there is one cluster."""
    for row in summary([1.0, 0.0, 3.0, 2.0, 5.0, 0.0, 1.0], ["a"] * 7):
        assert (row["low"], row["high"]) == (None, None)
        if row["statistic"] not in {"min", "max"}:
            assert "one cluster" in row["reason"]


def test_every_interval_says_how_it_was_made() -> None:
    """Method, level, n, clusters and the unknown stand in every row with an interval; draws and seed where there were draws."""
    values = [(i % 4) ** 1.5 for i in range(40)]
    rows = summary(values, [f"g{i // 2}" for i in range(40)], seed=9, level=0.9)
    rows += summary(values, [f"g{i // 2}" for i in range(40)], seed=9, level=0.9, method="bootstrap")
    assert {row["resamples"] is None for row in rows if row["method"]} == {True, False}
    bounded = [row for row in rows if row["low"] is not None]
    assert {row["statistic"] for row in bounded} >= {"mean", "median", "restricted_mean"}
    for row in bounded:
        assert row["method"]
        assert (row["level"], row["n"], row["n_clusters"], row["n_missing"]) == (0.9, 40, 20, 0)
        assert (row["resamples"] is None) == (row["seed"] is None) == ("bootstrap" not in row["method"])


def test_a_large_offset_costs_no_digits() -> None:
    """The variance is not a difference of squares: an offset of 1e9 moves the interval by 1e9 and changes nothing else."""
    values = np.random.default_rng(0).normal(size=50)
    near, far = (mean(values + offset, (), interval="t") for offset in (0.0, 1e9))
    assert far.std_error == pytest.approx(near.std_error, rel=1e-6)
    assert far.low is not None
    assert near.low is not None
    assert far.low - 1e9 == pytest.approx(near.low, abs=1e-6)


@pytest.mark.integration
def test_goals_with_most_of_the_rollouts_are_said() -> None:
    """One goal of 40 beside 19 of 3 is said; of equal goals, or of goals weighed alike, nothing is."""
    sizes = [40] + [3] * 19
    goals = [f"g{goal}" for goal, size in enumerate(sizes) for _ in range(size)]
    frame = rollouts([row % 3 == 0 for row in range(len(goals))], goals)
    by_rollout, by_goal = (
        rw.summarize(frame, metrics="attack_success", weighting=weighting).row(0, named=True)
        for weighting in ("rollout", "goal")
    )
    assert by_rollout["reason"] == (
        "a few goals dominate; use weighting='goal' to weight goals equally, or method='beta-binomial'"
    )
    assert by_goal["reason"] is None
    equal = rw.summarize(frame.group_by("goal", maintain_order=True).head(3), metrics="attack_success")
    assert equal["reason"][0] is None


@pytest.mark.integration
def test_rates_that_follow_the_numbers_of_rollouts_are_said() -> None:
    """Twelve goals broken in 2 of 2 or 1 of 2, and twelve in 0 or 1 of 8: what is tried more often is broken less often."""
    successes, sizes = [2, 1] * 6 + [0, 1] * 6, [2] * 12 + [8] * 12
    goals = [f"g{goal:02}" for goal, size in enumerate(sizes) for _ in range(size)]
    won = [attempt < hits for hits, size in zip(successes, sizes, strict=True) for attempt in range(size)]
    frame = rollouts(won, goals)
    lower, pooled, by_goal = (
        rw.summarize(frame, metrics="attack_success", **options).row(0, named=True)  # type: ignore[arg-type]
        for options in ({}, {"method": "beta-binomial"}, {"weighting": "goal"})
    )
    assert lower["reason"] == (
        "goals with more rollouts have lower rates; for the mean over goals use weighting='goal' if difficulty decided on the "
        "numbers, or method='beta-binomial' if successes did"
    )
    assert pooled["reason"] == (
        "goals with more rollouts have lower rates: right only if nothing but successes so far decided on numbers"
    )
    assert by_goal["reason"] is None
    higher = rw.summarize(frame.with_columns(pl.col("attack_success").not_()), metrics="attack_success")
    assert higher["reason"][0] == str(lower["reason"]).replace("lower", "higher", 1)
    # In each of the two halves all goals have one size.
    halves = frame.with_columns(target=pl.when(pl.col("goal") < "g12").then(pl.lit("a")).otherwise(pl.lit("b")))
    assert rw.summarize(halves, by="target", metrics="attack_success")["reason"].null_count() == 2


@pytest.mark.integration
@pytest.mark.parametrize("metric", ["num_turns", "tokens_used", "seconds_used", "dollars_used", "num_tool_calls"])
def test_amounts_are_never_negative(metric: str) -> None:
    """Counts, tokens, seconds and dollars of four rollouts: t reaches below 0, where no mean can be; other numbers keep it."""
    values = [1.0, 1.0, 1.0, 5.0]
    frame = rollouts(values, ["a", "b", "c", "d"]).with_columns(pl.Series(metric, values), other=pl.Series(values))
    amount, other = (
        rw.summarize(frame, metrics=name, statistics="mean").row(0, named=True) for name in (metric, "other")
    )
    assert other["low"] < 0 == amount["low"] < amount["estimate"] == 2.0
    assert amount["high"] == other["high"]
    debt = frame.with_columns(pl.col(metric) - 10)  # values that the metric cannot have are the user's own
    owed = rw.summarize(debt, metrics=metric, statistics="mean").row(0, named=True)
    assert owed["low"] < owed["estimate"] == -8.0 < owed["high"]
