"""`trajectory`: scores by turns since the event, of those that had it, with everyone else counted."""

from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulations import repeated

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError

ROWS = [
    ("a", 1, 0.1, False), ("a", 2, 0.3, False), ("a", 3, 0.9, True), ("a", 4, 0.7, True),
    ("b", 1, 0.5, True), ("b", 2, None, False),
    ("c", 1, 0.2, False), ("c", 2, 0.8, True),
    ("d", 1, 0.0, False),
]  # fmt: skip
TURNS = pl.DataFrame(ROWS, schema=["rollout_id", "turn", "score", "succeeded"], orient="row").cast({"turn": pl.Int32})


def test_by_hand() -> None:
    """Events at turns 3, 1 and 2: at 0 (.9 + .5 + .8)/3, before it (.3 + .2)/2, after it .7 alone."""
    got = rw.trajectory(TURNS, before=2, after=1)
    assert got["at"].to_list() == [-2, -1, 0, 1]
    assert got["estimate"].to_list() == pytest.approx([0.1, 0.25, 2.2 / 3, 0.7])
    assert got["at_risk"].to_list() == [1, 2, 3, 1]
    assert got["censored"].to_list() == [2, 1, 0, 2]
    assert got["events"].to_list() == [0, 0, 3, 0]
    assert "1 rollout without the event" in got["estimand"][0]
    assert (got["low"][0], got["reason"][0]) == (None, "one value: no interval")
    schema.check(got, schema.CURVE)


@pytest.mark.integration
def test_goals_are_the_unit_and_groups_are_their_own() -> None:
    """Intervals resample goals; a group does not see another; any event will do, in any order of rows."""
    goals = pl.col("rollout_id").replace_strict({"a": "g", "b": "g", "c": "h", "d": "h"})
    frame = TURNS.with_columns(goal=goals, target=pl.lit("x"))
    both = pl.concat([frame, frame.with_columns(pl.col("rollout_id") + "y", target=pl.lit("y"))])
    got = rw.trajectory(
        both.sample(fraction=1, shuffle=True, seed=0), event=pl.col("score") >= 0.3, by="target", before=1
    )
    alone = rw.trajectory(frame, event=pl.col("score") >= 0.3, by="target", before=1)
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
    got = rw.trajectory(frame, column="refused", before=1, after=0)
    assert got["estimate"].to_list() == [1 / 8, 0]
    assert got["method"].to_list() == ["clustered Wilson"] * 2
    assert all(0 <= low <= estimate < high < 1 for low, estimate, high in got["low", "estimate", "high"].iter_rows())


def test_what_cannot_be_followed() -> None:
    """No event at all gives null rows; a wrong column, a table of rollouts, a negative span are one sentence."""
    none = rw.trajectory(TURNS.with_columns(succeeded=pl.lit(False)), before=0, after=0)
    assert none.height == 0 or none["estimate"].null_count() == none.height
    with pytest.raises(ArgumentError, match="'scoer' is not a numeric column; available: score"):
        rw.trajectory(TURNS, column="scoer")
    with pytest.raises(ArgumentError, match="the event needs the column harm"):
        rw.trajectory(TURNS, event=pl.col("harm") > 1)
    with pytest.raises(ArgumentError, match="before=-1"):
        rw.trajectory(TURNS, before=-1)
    with pytest.raises(SchemaError, match="it takes turns, not rollouts"):
        rw.trajectory(TURNS.drop("turn"))


def test_from_the_first_turn_on_it_is_the_mean_by_turn() -> None:
    """Every rollout that came so far counts."""
    scores = {"rollout_id": list("aaabbc"), "turn": [1, 2, 3, 1, 2, 1], "score": [0.05, 0.49, 0.5, 0.0, 0.2, 0.9]}
    found = rw.trajectory(pl.DataFrame(scores), event=pl.col("turn") == 1, before=0, after=2)
    assert found["estimate"].to_list() == pytest.approx([0.95 / 3, 0.345, 0.5])
    assert found["at_risk"].to_list() == [3, 2, 1]


Told = list[tuple[int, list[float | None], int]]
told = st.lists(
    st.tuples(
        st.integers(0, 13),
        st.lists(st.one_of(st.none(), st.integers(0, 20).map(lambda tenth: tenth / 10)), min_size=1, max_size=6),
        st.integers(1, 8),
    ),
    min_size=1,
    max_size=30,
)
"""Rollouts: their goal, their scores by turn, and the turn of the event, which may come after the last."""


def table(rollouts: Told) -> pl.DataFrame:
    """TURNS of these rollouts, the event lasting from its first turn on."""
    rows = [
        (f"r{number:02}", f"g{goal}", turn, score, turn >= event)
        for number, (goal, scores, event) in enumerate(rollouts)
        for turn, score in enumerate(scores, 1)
    ]
    return pl.DataFrame(
        rows,
        schema={
            "rollout_id": pl.String,
            "goal": pl.String,
            "turn": pl.Int32,
            "score": pl.Float64,
            "succeeded": pl.Boolean,
        },
        orient="row",
    )


@pytest.mark.integration
@settings(max_examples=50)
@given(told, st.integers(0, 3), st.integers(0, 3), st.randoms())
def test_every_position_is_the_mean_of_the_scores_there(
    rollouts: Told, before: int, after: int, random: Random
) -> None:
    """By plain Python, whatever the order of rows: at 0 the score of the event's own turn; width around the mean, or a reason."""
    turns = table(rollouts)
    got = rw.trajectory(turns, before=before, after=after)
    order = list(range(turns.height))
    random.shuffle(order)
    assert rw.trajectory(turns[order], before=before, after=after).equals(got)
    had = [(scores, event) for _, scores, event in rollouts if event <= len(scores)]
    if not had:
        assert got["estimate"].null_count() == got.height
        return
    assert got["at"].to_list() == list(range(-before, after + 1))
    for row in got.rows(named=True):
        turn = int(row["at"])
        there = [scores[event + turn - 1] for scores, event in had if 1 <= event + turn <= len(scores)]
        known = [score for score in there if score is not None]
        assert (row["at_risk"], row["at_risk"] + row["censored"]) == (len(known), len(had))
        assert row["events"] == (len(had) if turn == 0 else 0)
        assert f"{len(rollouts) - len(had)} rollout" in row["estimand"]
        assert row["estimate"] == (pytest.approx(sum(known) / len(known), abs=1e-12) if known else None)
        if row["low"] is None:
            assert row["reason"]
        else:
            assert row["low"] <= row["estimate"] + 1e-12 <= row["high"] + 2e-12
            assert row["low"] < row["high"]


@pytest.mark.slow
def test_a_drift_towards_the_event_is_covered() -> None:
    """Scores that rise by .1 a turn and .5 at the event, 30 goals easier or harder as a whole, a quarter without the event.

    Over goals every position is covered at .95; rollouts taken as independent cover far less.
    """
    rng, repetitions, few = np.random.default_rng(1), repeated(1500), 200
    hits: dict[str | None, np.ndarray] = {"goal": np.zeros(3), None: np.zeros(3)}
    truth = 0.5 + 0.1 * np.arange(-1, 2)
    goal = np.repeat(np.arange(30), 4)
    rollout, turn = np.repeat(np.arange(120), 6), np.tile(np.arange(1, 7), 120)
    frame = pl.DataFrame({"rollout_id": rollout, "goal": goal[rollout], "turn": turn}).cast(
        {"rollout_id": pl.String, "goal": pl.String, "turn": pl.Int32}
    )
    for repetition in range(repetitions):
        event = np.where(rng.random(120) < 0.25, 99, rng.integers(2, 6, 120))[rollout]
        drift = np.where(event < 99, 0.5 + 0.1 * (turn - event), 0.3)
        score = drift + rng.normal(0, 0.2, 30)[goal[rollout]] + rng.normal(0, 0.2, 720)
        turns = frame.with_columns(score=score, succeeded=turn == event)
        for cluster in hits if repetition < few else ("goal",):
            got = rw.trajectory(turns, before=1, after=1, cluster=cluster)
            hits[cluster] += (got["low"].to_numpy() <= truth) & (truth <= got["high"].to_numpy())
    least = 0.95 - 2 * np.sqrt(0.95 * 0.05 / repetitions)
    assert (hits["goal"] / repetitions >= least).all(), hits["goal"] / repetitions
    assert (hits[None] / few < 0.9).all(), hits[None] / few
