"""Independent units: each rollout without an id is its own unit, and a group computes each of its units once."""

import numpy as np
import polars as pl

from turnwise.estimation.arrays import Sheet
from turnwise.estimation.clusters import Group, unit_of


def test_a_column_of_nulls_is_a_unit_for_each_rollout() -> None:
    """Nothing is known of any goal: rollouts are independent, whatever number of rows each has."""
    frame = pl.DataFrame({"rollout_id": [1, 1, 2], "goal": [None] * 3}, schema_overrides={"goal": pl.String})
    unit = unit_of(Sheet(frame), np.arange(3), "attack_success", "goal")
    assert unit.codes[0].tolist() == [0, 0, 1]
    assert unit.ids() == ["?1", "?2"]
    assert unit.nulls == 3


def test_a_group_keeps_a_unit_for_each_choice_of_columns() -> None:
    """The unit is computed once for each set of columns, and again for a part of the rows."""
    frame = pl.DataFrame({"rollout_id": ["a", "b", "c"], "goal": ["g", "g", "h"], "task": ["s", "t", "t"]})
    group = Group(Sheet(frame), np.arange(3))
    assert group.unit(("goal",)).codes[0].tolist() == [0, 0, 1]
    assert group.unit(("task",)).codes[0].tolist() == [0, 1, 1]
    assert group.unit(("goal",)) is group.unit(("goal",))
    assert group.unit(()).ids() == ["a", "b", "c"]
    part = group.select(np.array([False, True, True]))
    assert part.unit(("goal",)).codes[0].tolist() == [0, 1]
    assert part.unit(("goal",)).ids() == ["=g", "=h"]
    assert group.select(np.array([True, True, True])) is group
