"""What is independent of what: ids that are not known are units of their own, and units are kept for the rows they are of."""

import numpy as np
import polars as pl

from turnwise.estimation.arrays import Sheet
from turnwise.estimation.clusters import unit_of


def test_a_column_of_nulls_is_a_unit_for_each_rollout() -> None:
    """Nothing is known of any goal: rollouts are independent, whatever number of rows each has."""
    frame = pl.DataFrame({"rollout_id": [1, 1, 2], "goal": [None] * 3}, schema_overrides={"goal": pl.String})
    unit = unit_of(Sheet(frame), np.arange(3), "attack_success", "goal")
    assert unit.codes[0].tolist() == [0, 0, 1]
    assert unit.ids() == ["?1", "?2"]
    assert unit.nulls == 3


def test_what_was_made_of_some_rows_is_not_taken_for_others() -> None:
    """The cache of units holds for one array of rows, and for one pair of columns."""
    frame = pl.DataFrame({"rollout_id": ["a", "b", "c"], "goal": ["g", "g", "h"], "task": ["s", "t", "t"]})
    sheet, rows = Sheet(frame), np.arange(3)
    assert unit_of(sheet, rows, "attack_success", "goal").codes[0].tolist() == [0, 0, 1]
    assert unit_of(sheet, rows, "attack_success", "task").codes[0].tolist() == [0, 1, 1]
    assert unit_of(sheet, rows[1:], "attack_success", "goal").codes[0].tolist() == [0, 1]
    assert unit_of(sheet, rows, "attack_success", "goal").codes[0].tolist() == [0, 0, 1]
