"""Independent units: each rollout without an id is its own unit, and each group chooses its unit by itself."""

import numpy as np
import polars as pl

import rollwise as rw
from rollwise.estimation.arrays import Sheet
from rollwise.estimation.clusters import Rows, unit_of
from rollwise.stats.units import Groups


def test_a_column_of_nulls_is_a_unit_for_each_rollout() -> None:
    """Nothing is known of any goal: rollouts are independent, whatever number of rows each has."""
    frame = pl.DataFrame({"rollout_id": [1, 1, 2], "goal": [None] * 3}, schema_overrides={"goal": pl.String})
    unit = unit_of(Sheet(frame), np.arange(3), "attack_success", "goal")
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
    rows = Rows(Sheet(frame), np.arange(9), groups)
    choices = [(names, chosen.tolist()) for names, chosen in rows.units("num_turns", "auto")]
    assert choices == [(("goal", "task"), [0]), (("goal",), [1]), (("task",), [2])]
    assert unit_of(rows.sheet, np.arange(7, 9), "num_turns", "auto").names == ("task",)
    assert unit_of(rows.sheet, np.arange(4, 7), "num_turns", "auto").ids() == ["=g", "=h"]


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
