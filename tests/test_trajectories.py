"""`trajectory`: scores by turns since the event, of those that had it, with everyone else counted."""

import polars as pl
import pytest

import turnwise as tw
from turnwise import schema
from turnwise.errors import ArgumentError, SchemaError

ROWS = [
    ("a", 1, 0.1, False), ("a", 2, 0.3, False), ("a", 3, 0.9, True), ("a", 4, 0.7, True),
    ("b", 1, 0.5, True), ("b", 2, None, False),
    ("c", 1, 0.2, False), ("c", 2, 0.8, True),
    ("d", 1, 0.0, False),
]  # fmt: skip
TURNS = pl.DataFrame(ROWS, schema=["rollout_id", "turn", "score", "succeeded"], orient="row").cast({"turn": pl.Int32})


def test_by_hand() -> None:
    """Events at turns 3, 1 and 2: at 0 (.9 + .5 + .8)/3, before it (.3 + .2)/2, after it .7 alone."""
    got = tw.trajectory(TURNS, before=2, after=1)
    assert got["at"].to_list() == [-2, -1, 0, 1]
    assert got["estimate"].to_list() == pytest.approx([0.1, 0.25, 2.2 / 3, 0.7])
    assert got["at_risk"].to_list() == [1, 2, 3, 1]
    assert got["censored"].to_list() == [2, 1, 0, 2]
    assert got["events"].to_list() == [0, 0, 3, 0]
    assert "1 rollout without the event" in got["estimand"][0]
    assert (got["low"][0], got["reason"][0]) == (None, "one value: no interval")
    schema.check(got, schema.CURVE)


def test_goals_are_the_unit_and_groups_are_their_own() -> None:
    """Intervals resample goals; a group does not see another; any event will do, in any order of rows."""
    goals = pl.col("rollout_id").replace_strict({"a": "g", "b": "g", "c": "h", "d": "h"})
    frame = TURNS.with_columns(goal=goals, target=pl.lit("x"))
    both = pl.concat([frame, frame.with_columns(pl.col("rollout_id") + "y", target=pl.lit("y"))])
    got = tw.trajectory(
        both.sample(fraction=1, shuffle=True, seed=0), event=pl.col("score") >= 0.3, by="target", before=1
    )
    alone = tw.trajectory(frame, event=pl.col("score") >= 0.3, by="target", before=1)
    assert got.filter(target="x").equals(alone)
    assert all("1 rollout without the event" in words for words in got["estimand"])  # d of each target, not of both
    at_event = alone.filter(at=0).row(0, named=True)
    assert (at_event["at_risk"], at_event["n_clusters"], at_event["estimate"]) == (
        3,
        2,
        pytest.approx((0.3 + 0.5 + 0.8) / 3),
    )


def test_a_share_is_followed_as_a_share() -> None:
    """A refusal at one turn of eight goals: Wilson's interval within [0, 1], and none of eight is not zero."""
    rows = [(f"{g}-{j}", f"g{g}", t, g == 0 and t == 2, t == 3) for g in range(8) for j in range(2) for t in (1, 2, 3)]
    frame = pl.DataFrame(rows, schema=["rollout_id", "goal", "turn", "refused", "succeeded"], orient="row")
    got = tw.trajectory(frame, column="refused", before=1, after=0)
    assert got["estimate"].to_list() == [1 / 8, 0]
    assert got["method"].to_list() == ["clustered Wilson"] * 2
    assert all(0 <= low <= estimate < high < 1 for low, estimate, high in got["low", "estimate", "high"].iter_rows())


def test_what_cannot_be_followed() -> None:
    """No event at all gives null rows; a wrong column, a table of rollouts, a negative span are one sentence."""
    none = tw.trajectory(TURNS.with_columns(succeeded=pl.lit(False)), before=0, after=0)
    assert none.height == 0 or none["estimate"].null_count() == none.height
    with pytest.raises(ArgumentError, match="'scoer' is no column of numbers; there is score"):
        tw.trajectory(TURNS, column="scoer")
    with pytest.raises(ArgumentError, match="the event needs the column harm"):
        tw.trajectory(TURNS, event=pl.col("harm") > 1)
    with pytest.raises(ArgumentError, match="before=-1"):
        tw.trajectory(TURNS, before=-1)
    with pytest.raises(SchemaError, match="it takes turns, not rollouts"):
        tw.trajectory(TURNS.drop("turn"))


def test_from_the_first_turn_on_it_is_the_mean_by_turn() -> None:
    """Every rollout that came so far counts."""
    scores = {"rollout_id": list("aaabbc"), "turn": [1, 2, 3, 1, 2, 1], "score": [0.05, 0.49, 0.5, 0.0, 0.2, 0.9]}
    found = tw.trajectory(pl.DataFrame(scores), event=pl.col("turn") == 1, before=0, after=2)
    assert found["estimate"].to_list() == pytest.approx([0.95 / 3, 0.345, 0.5])
    assert found["at_risk"].to_list() == [3, 2, 1]
