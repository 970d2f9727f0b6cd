# mypy: allow-untyped-defs
"""Two rows of one turn of one rollout are refused, in any order of the rows and however the table is read."""

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import SchemaError


def turns(*keys) -> pl.DataFrame:
    """A table with these ids and numbers."""
    return pl.DataFrame(keys, schema={"rollout_id": pl.String, "turn": pl.Int32}, orient="row").with_columns(
        succeeded=True
    )


@pytest.mark.integration
@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize(
    "table",
    [
        turns(("a", 1), ("a", 1)),
        turns(("a", 1), ("a", 2), ("a", 1), ("a", 2)),
        turns(("b", 1), ("a", 1), ("b", 1)),
        turns(("b", 1), ("a", 1), ("a", 4), ("a", 1), ("a", 4)),  # as many as from 1 to 4
        turns(("a", None), ("a", None)),
        turns(("b", 1), ("a", None), ("a", None)),
        turns(*[("b", 1)], *[("a", turn) for turn in (*range(1, 101), 64)]),
    ],
)
def test_two_rows_of_one_turn_are_refused(table, lazily):
    with pytest.raises(SchemaError, match=r"measure: rollout '.' has .* twice"):
        rw.measure(table.lazy() if lazily else table, m.attack_success()).lazy().collect()


@pytest.mark.integration
@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize(
    "table",
    [
        turns(("a", 2), ("a", 1)),
        turns(("b", 1), ("a", 1), ("b", 2)),
        turns(("a", 1), ("b", 1)),
        turns(("a", 3), ("a", 7)),  # a part of the turns
        turns(("b", 5), ("a", None)),
        turns(*[("b", 1)], *[("a", turn) for turn in range(1, 200)]),
        turns(),
    ],
)
def test_any_other_table_is_measured(table, lazily):
    rollouts = rw.measure(table.lazy() if lazily else table, m.attack_success()).lazy().collect()
    assert sorted(rollouts["rollout_id"]) == sorted({*table["rollout_id"]})


def test_a_table_without_numbers_of_32_bits_is_checked_too():
    table = turns(("b", 1), ("a", 1), ("a", 1)).with_columns(pl.col("turn").cast(pl.Int64))
    with pytest.raises(SchemaError, match="has turn 1 twice"):
        rw.measure(table, m.attack_success())
