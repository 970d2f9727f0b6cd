"""`check`: a frame conforms to its schema, or the error names column, rollout and remedy."""

import polars as pl
import pytest

from rollwise import schema
from rollwise.errors import SchemaError

TURNS = pl.DataFrame(
    {
        "rollout_id": ["a", "a", "b"],
        "turn": pl.Series([1, 2, 1], dtype=pl.Int32),
        "target": ["t", "t", "u"],
        "score": [0.5, None, 0.1],
        "mine": [1, 2, 3],
    }
)


@pytest.mark.parametrize("frame", schema.SCHEMAS, ids=lambda frame: frame.name)
def test_every_schema_is_sound(frame: schema.Schema) -> None:
    """Names are unique, keys and required columns exist, every column says what it means."""
    assert len(set(frame.names)) == len(frame.names)
    assert set(frame.key) | set(frame.required) <= set(frame.names)
    assert all(column.about for column in frame.columns)
    assert schema.check(schema.empty(frame), frame).height == 0


def test_a_good_frame_comes_back_with_its_own_columns() -> None:
    """The frame itself is returned, unknown columns and all."""
    assert schema.check(TURNS, schema.TURNS) is TURNS
    assert schema.check(TURNS.lazy(), schema.TURNS).collect_schema().names() == TURNS.columns


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (TURNS.drop("turn"), "column `turn` is missing"),
        (TURNS.cast({"turn": pl.Int64}), "`turn` is Int64, not Int32"),
        (TURNS.with_columns(outcome=pl.lit("success")), r"`outcome` is String, not Enum\(error, failure"),
        (TURNS.with_columns(turn=pl.Series([1, 3, 1], dtype=pl.Int32)), r"`turn` of rollout 'a' is 1, 3, not 1\.\.2"),
        (TURNS.with_columns(turn=pl.Series([0, 1, 1], dtype=pl.Int32)), r"`turn` of rollout 'a' is 0, 1"),
        (TURNS.with_columns(turn=pl.Series([None, 1, 1], dtype=pl.Int32)), "rollout 'a' is null, 1"),
        (TURNS.with_columns(turn=pl.Series([1, 1, 1], dtype=pl.Int32)), "rollout 'a' is 1, 1"),
        (TURNS.with_columns(target=pl.Series(["t", "x", "u"])), r"`target` is a fact .* varies in rollout 'a' .t, x."),
        (TURNS.with_columns(target=pl.Series(["t", None, "u"])), r"`target` is a fact .* varies in rollout 'a'"),
        (
            TURNS.with_columns(score=pl.Series([0.5, float("nan"), 0.1])),
            "`score` holds NaN .1 row, first in rollout 'a'",
        ),
        (TURNS.with_columns(mine=pl.Series([0.5, 0.1, float("nan")])), "`mine` holds NaN .* rollout 'b'"),
    ],
)
def test_a_broken_promise_is_named(frame: pl.DataFrame, says: str) -> None:
    """A wrong dtype, a gap in `turn`, a fact that varies and a NaN each name column, rollout and remedy."""
    with pytest.raises(SchemaError, match=says):
        schema.check(frame, schema.TURNS)


def test_a_rollout_with_nothing_asked_is_one_row_without_a_number() -> None:
    """A null `turn` is right in a rollout's only row."""
    schema.check(TURNS.with_columns(turn=pl.Series([1, 2, None], dtype=pl.Int32)), schema.TURNS)


def test_a_duplicate_key_is_named() -> None:
    """Two rows of the same key are refused; groups of a result are part of its key."""
    rollouts = pl.DataFrame({"rollout_id": ["a", "a"]})
    with pytest.raises(SchemaError, match=r"same key .rollout_id 'a'"):
        schema.check(rollouts, schema.ROLLOUTS)
    row = dict.fromkeys(schema.SUMMARY.names) | {"metric": "m", "statistic": "mean", "level": 0.95, "n": 1}
    summary = pl.DataFrame([{"target": t, **row} for t in "xy"], schema={"target": pl.String, **schema.SUMMARY.dtypes})
    schema.check(summary, schema.SUMMARY)
    with pytest.raises(SchemaError, match=r"target 'x'.*metric 'm'"):
        schema.check(summary.with_columns(target=pl.lit("x")), schema.SUMMARY)


@pytest.mark.parametrize("shape", [schema.ROLLOUTS, schema.PROMPTS], ids=lambda shape: shape.name)
def test_a_column_of_ones_own_makes_no_key_of_a_record(shape: schema.Schema) -> None:
    """A rollout or a prompt that stands twice is refused, also where a column that the schema does not know tells them apart."""
    twice = pl.DataFrame({shape.key[0]: ["a", "a"], "mine": [1, 2]})
    with pytest.raises(SchemaError, match=f"{shape.name}: two rows have the same key .{shape.key[0]} 'a'"):
        schema.check(twice, shape)


def test_nodes_of_a_tree_are_keyed_by_node() -> None:
    """In a tree the node is the key, and turns may repeat."""
    tree = pl.DataFrame({"rollout_id": ["a", "a"], "turn": pl.Series([1, 1], dtype=pl.Int32), "node_id": ["1", "2"]})
    schema.check(tree, schema.TURNS)
    with pytest.raises(SchemaError, match="node_id '1'"):
        schema.check(tree.with_columns(node_id=pl.lit("1")), schema.TURNS)
