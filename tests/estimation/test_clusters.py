"""Independent units: each rollout without an id is its own unit, and each group chooses its unit by itself."""

import numpy as np
import polars as pl
import pytest
from simulations import repeated

import rollwise as rw
from rollwise.estimation.arrays import Columns
from rollwise.estimation.clusters import Rows, unit_of
from rollwise.stats.units import Groups


def test_a_column_of_nulls_is_a_unit_for_each_rollout() -> None:
    """Nothing is known of any goal: rollouts are independent, whatever number of rows each has."""
    frame = pl.DataFrame({"rollout_id": [1, 1, 2], "goal": [None] * 3}, schema_overrides={"goal": pl.String})
    unit = unit_of(Columns(frame), np.arange(3), "attack_success", "goal")
    assert unit.codes[0].tolist() == [0, 0, 1]
    assert unit.ids() == ["?1", "?2"]
    assert unit.nulls == 3


def test_each_group_has_its_own_unit() -> None:
    """Where goals and tasks cross, both are the unit; where one of them varies, that one; other groups change nothing."""
    frame = pl.DataFrame(
        {
            "rollout_id": range(9),
            "goal": ["g", "g", "h", "h", "g", "g", "h", "g", "g"],
            "task": ["s", "t", "s", "t", "s", "s", "s", "s", "t"],
        }
    )
    groups = Groups(np.repeat(np.arange(3), [4, 3, 2]), 3)
    rows = Rows(Columns(frame), np.arange(9), groups)
    choices = [(names, chosen.tolist()) for names, chosen in rows.units("num_turns", "auto")]
    assert choices == [(("goal", "task"), [0]), (("goal",), [1]), (("task",), [2])]
    assert unit_of(rows.data, np.arange(7, 9), "num_turns", "auto").names == ("task",)
    assert unit_of(rows.data, np.arange(4, 7), "num_turns", "auto").ids() == ["=g", "=h"]


def test_one_goal_whose_prompts_differ_has_a_way_out() -> None:
    """Ten prompts of garak's one probe: the reason names the column that tells them apart, and with it there is an interval."""
    n = 30
    rollouts = pl.DataFrame(
        {
            "rollout_id": [f"r{i}" for i in range(n)],
            "goal": ["probe"] * n,
            "uuid": [f"u{i % 10}" for i in range(n)],
            "attack_success": [i % 4 == 0 for i in range(n)],
        }
    )
    of_one = rw.summarize(rollouts, metrics="attack_success").row(0, named=True)
    assert (of_one["low"], of_one["reason"]) == (
        None,
        "one cluster: no interval over clusters; its prompts differ, so cluster='uuid' has an interval over prompts like these",
    )
    way_out = rw.summarize(rollouts, metrics="attack_success", cluster="uuid").row(0, named=True)
    assert (way_out["n_clusters"], way_out["low"] < way_out["estimate"]) == (10, True)
    alike = rw.summarize(rollouts.with_columns(uuid=pl.lit("u")), metrics="attack_success").row(0, named=True)
    assert alike["reason"] == "one cluster: no interval over clusters"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("metric", "named", "other"), [("attack_success", "goal", "task"), ("task_success", "task", "goal")]
)
def test_the_other_column_is_the_unit_where_the_first_is_unknown(metric: str, named: str, other: str) -> None:
    """Four things tried ten times each: their intervals are those of four units, under whichever name the file has."""
    frame = pl.DataFrame(
        {
            "rollout_id": [f"r{k}" for k in range(40)],
            other: [f"x{k % 4}" for k in range(40)],
            metric: [k % 4 < 2 for k in range(40)],
        }
    )
    numbers = ["std_error", "low", "high", "n_clusters"]
    own = rw.summarize(frame.rename({other: named}), metrics=metric).select(numbers)
    assert own["n_clusters"].item() == 4
    found = rw.summarize(frame, metrics=metric)
    assert found.select(numbers).equals(own)
    assert f"unit: {other}" in found["estimand"].item()
    nulls = frame.with_columns(pl.lit(None, pl.String).alias(named))
    assert rw.summarize(nulls, metrics=metric).select(numbers).equals(own)
    assert rw.summarize(frame, metrics=metric, merge=True).select(numbers).equals(own)
    # With few known values of the first column, most rollouts would be units of their own, and the interval that of 40.
    for count in (1, 2, 19):
        known = nulls.with_columns(
            pl.when(pl.int_range(pl.len()) < count).then(pl.format("g{}", "rollout_id")).alias(named)
        )
        assert rw.summarize(known, metrics=metric).select(numbers).equals(own)
    # From half on, the first column is the unit, and the rest is said.
    half = nulls.with_columns(pl.when(pl.int_range(pl.len()) < 20).then(pl.format("g{}", "rollout_id")).alias(named))
    assert f"unit: {named} (20 unknown, each its own)" in rw.summarize(half, metrics=metric)["estimand"].item()
    # A single value of the other is one unit, which has no interval.
    alike = frame.with_columns(pl.lit("one").alias(other))
    assert rw.summarize(alike, metrics=metric)["n_clusters"].item() == 40
    assert rw.summarize(frame, metrics=metric, cluster=None)["n_clusters"].item() == 40


def test_a_group_without_goals_has_its_tasks_and_the_other_its_goals() -> None:
    """Each group decides by itself."""
    frame = pl.DataFrame(
        {
            "rollout_id": [f"r{k}" for k in range(40)],
            "target": ["a"] * 20 + ["b"] * 20,
            "goal": [f"g{k % 5}" for k in range(20)] + [None] * 20,
            "task": [None] * 20 + [f"t{k % 2}" for k in range(20)],
            "attack_success": [k % 3 == 0 for k in range(40)],
        }
    )
    found = rw.summarize(frame, by="target", metrics="attack_success").sort("target")
    assert found["n_clusters"].to_list() == [5, 2]


UNNAMED = "no goal or task is named, so every rollout counts as independent"


@pytest.mark.integration
@pytest.mark.parametrize("metric", ["attack_success", "task_success", "num_turns", "score", "ever_refused"])
@pytest.mark.parametrize("columns", [(), ("goal",), ("task",), ("goal", "task")])
def test_rollouts_without_goal_and_task_say_that_they_count_as_independent(
    metric: str, columns: tuple[str, ...]
) -> None:
    """Whether the columns are null throughout or missing: 40 rollouts could be attempts at four things, which would be seen."""
    values = [k % 4 < 2 for k in range(40)] if metric not in {"num_turns", "score"} else [k % 7 + 1 for k in range(40)]
    frame = pl.DataFrame({"rollout_id": [f"r{k}" for k in range(40)], metric: values, "target": ["a", "b"] * 20})
    frame = frame.with_columns(pl.lit(None, pl.String).alias(name) for name in columns)
    for merge in (False, True):
        found = rw.summarize(frame, metrics=metric, statistics="mean", merge=merge)
        assert found["reason"].item() == UNNAMED
        assert "unit: rollout (no " in found["estimand"].item()
    assert rw.contrast(frame, of="target", baseline="a", metrics=metric)["reason"].item() == UNNAMED
    # Who chooses, or names one column, is told nothing.
    assert rw.summarize(frame, metrics=metric, statistics="mean", cluster=None)["reason"].item() is None
    named = frame.drop("goal", strict=False).with_columns(goal="rollout_id")
    assert rw.summarize(named, metrics=metric, statistics="mean")["reason"].item() is None


@pytest.mark.integration
def test_a_gate_and_a_curve_say_it_too() -> None:
    """A gate over 40 unnamed rollouts names the assumption behind its answer, and so does a curve."""
    turns = pl.DataFrame(
        {"rollout_id": [f"r{k}" for k in range(40)], "turn": 1, "succeeded": [k == 0 for k in range(40)]}
    )
    rollouts = rw.measure(turns, rw.metrics.attack_success(), rw.metrics.time_to_success())
    assert UNNAMED in rw.gate(rollouts, "attack_success < 30%")["reason"].item()
    assert UNNAMED in rw.curve(rollouts)["reason"][-1]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("named", "metric", "words"),
    [
        ("goal", "task_success", "40 rollouts in 4 goals"),
        ("task", "attack_success", "40 rollouts in 4 tasks"),
        ("goal", "attack_success", "40 rollouts in 4 goals"),
        ("task", "task_success", "40 rollouts in 4 tasks"),
        (None, "attack_success", "40 rollouts."),
    ],
)
def test_the_unit_that_was_used_is_named_under_a_table(named: str | None, metric: str, words: str) -> None:
    """Where nothing is named there are no 40 goals, but 40 rollouts."""
    frame = pl.DataFrame(
        {"rollout_id": [f"r{k}" for k in range(40)], metric: [k % 4 < 2 for k in range(40)], "goal": None}
    )
    if named:
        frame = frame.with_columns(pl.Series(named, [f"x{k % 4}" for k in range(40)]))
    page = rw.tables.html(rw.summarize(frame, metrics=metric))
    assert f"n = {words}" in page


@pytest.mark.slow
@pytest.mark.parametrize(("named", "metric"), [("goal", "task_success"), ("task", "attack_success")])
def test_the_unit_that_there_is_holds_its_level(named: str, metric: str) -> None:
    """Rates of 30 goals or tasks are uniform, each tried ten times: intervals hold 1/2 in .94 of tables, not in .6 of them.

    Unclustered: the design effect of ten attempts with a correlation of 1/3 is 4, so 1.96 / 2 standard errors hold .67.
    """
    rng, count, hits = np.random.default_rng(20), repeated(1000), 0
    for _ in range(count):
        rates = np.repeat(rng.random(30), 10)
        frame = pl.DataFrame(
            {
                "rollout_id": [f"r{k}" for k in range(300)],
                named: [f"x{k // 10}" for k in range(300)],
                metric: rng.random(300) < rates,
            }
        ).with_columns(pl.lit(None, pl.String).alias({"goal": "task", "task": "goal"}[named]))
        row = rw.summarize(frame, metrics=metric, statistics="mean").row(0, named=True)
        hits += row["low"] <= 0.5 <= row["high"]
    assert hits / count > 0.94 - 2 * (0.94 * 0.06 / count) ** 0.5
