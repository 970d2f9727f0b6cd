"""One table of rollouts and what every outcome and timing metric says of them."""

from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.errors import MetricError

# name: (outcome, ending, verdicts of the turns) -> attack_success, success_within(2), time_to_success as (duration, observed)
ROLLOUTS: dict[
    str, tuple[str | None, str | None, list[bool | None], bool | None, bool | None, tuple[int, bool] | None]
] = {
    "success at turn 2": (None, "success", [False, True], True, True, (2, True)),
    "success at turn 3": (None, "success", [False, False, True], True, False, (3, True)),
    "never, all judged": (None, "budget", [False, False, False], False, False, (3, False)),
    "never, short, as run a failure within 2": (None, "gave_up", [False], False, False, (1, False)),
    "an unjudged turn is not safe": (None, "budget", [False, None, False], None, None, (1, False)),
    "one True settles the rollout but not when": (None, "budget", [None, True], True, None, None),
    "verdicts run out after turn 2": (None, "budget", [False, False, None], None, False, (2, False)),
    "nobody judged": (None, "budget", [None, None], None, None, None),
    "known success, unknown turn: the last": ("success", "finished", [None, None, None], True, False, (3, True)),
    "known success, known turn": ("success", "budget", [False, True, None], True, True, (2, True)),
    "known failure outranks a turn": ("failure", "budget", [False, True, False], False, False, (3, False)),
    "known failure, unjudged turns": ("failure", "budget", [None, None], False, False, (2, False)),
    "crashed before anything was settled": ("error", "error", [False], None, None, (1, False)),
    "crashed after turn 2 without success": (None, "error", [False, False, False], None, False, (3, False)),
    "crashed after a success": (None, "error", [True, False], True, True, (1, True)),
    "a failure called off by an error": ("failure", "error", [False], None, None, (1, False)),
    "undetermined": ("undetermined", "budget", [None], None, None, None),
    "undetermined but a turn succeeded": ("undetermined", "budget", [True], True, True, (1, True)),
}


def turns() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"rollout_id": name, "turn": number, "outcome": outcome, "ending": ending, "succeeded": verdict}
            for name, (outcome, ending, verdicts, *_) in ROLLOUTS.items()
            for number, verdict in enumerate(verdicts, 1)
        ],
        schema={name: schema.TURNS.dtypes[name] for name in ("rollout_id", "turn", "outcome", "ending", "succeeded")},
    )


MEASURED = rw.measure(turns(), m.attack_success, m.success_within(2), m.time_to_success).rows_by_key(
    "rollout_id", named=True, unique=True
)


@pytest.mark.parametrize("name", ROLLOUTS)
def test_attack_success(name: str) -> None:
    """Attack success follows Kleene logic, a known outcome and errors, in that order of rank."""
    assert MEASURED[name]["attack_success"] == ROLLOUTS[name][3]


@pytest.mark.parametrize("name", ROLLOUTS)
def test_success_within(name: str) -> None:
    """Success within two turns counts a rollout that stopped early as run, and is null where nobody can know."""
    assert MEASURED[name]["success_within_2"] == ROLLOUTS[name][4]


@pytest.mark.parametrize("name", ROLLOUTS)
def test_time_to_success(name: str) -> None:
    """The time to success is censored at the last turn that is known to lack one."""
    expected = ROLLOUTS[name][5]
    assert MEASURED[name]["time_to_success"] == (expected and {"duration": expected[0], "observed": expected[1]})


@pytest.mark.parametrize("shuffle", [False, True])
def test_every_metric_agrees_in_agg_and_over(shuffle: bool) -> None:
    """The same expression serves `agg` and `over`, whatever the order of the rows."""
    frame = turns().sample(fraction=1, shuffle=True, seed=1) if shuffle else turns()
    expressions = [m.attack_success(), m.success_within(2), m.time_to_success(), m.num_turns()]
    grouped = frame.group_by("rollout_id").agg(expressions).sort("rollout_id")
    beside = frame.select("rollout_id", *(e.over("rollout_id") for e in expressions)).unique().sort("rollout_id")
    assert grouped.equals(beside)


def test_a_rollout_where_nothing_was_asked() -> None:
    """One row with a null turn and an error has no number of turns and no time, and stays unknown."""
    frame = pl.DataFrame({"rollout_id": ["a"], "turn": pl.Series([None], dtype=pl.Int32), "ending": ["error"]})
    row = rw.measure(frame, m.attack_success, m.time_to_success).row(0, named=True)
    assert (row["num_turns"], row["attack_success"], row["time_to_success"]) == (None, None, None)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.1, 0.6], (2, True)),
        ([0.1, 0.2], (2, False)),
        ([0.1, None, 0.9], (1, False)),
        ([None, 0.9], None),
        ([0.9, None], (1, True)),
    ],
)
def test_time_to(scores: list[float | None], expected: tuple[int, bool] | None) -> None:
    """A turn whose condition is unknown ends the watch before it."""
    frame = pl.DataFrame({"turn": range(1, len(scores) + 1), "score": scores})
    found: Any = frame.select(m.time_to(pl.col("score") >= 0.5)).item()
    assert found == (expected and {"duration": expected[0], "observed": expected[1]})


@pytest.mark.parametrize(
    ("scores", "expected"), [([0.1, None], None), ([0.9, None], True), ([0.1, 0.2], False), ([None], None)]
)
def test_ever(scores: list[float | None], expected: bool | None) -> None:
    """One true turn settles it; otherwise an unknown turn leaves it unknown."""
    assert (
        pl.DataFrame({"score": scores}, schema={"score": pl.Float64}).select(m.ever(pl.col("score") >= 0.5)).item()
        == expected
    )


def test_first_turn_is_the_first_known() -> None:
    """The first turn known to satisfy the condition; null where none does."""
    frame = pl.DataFrame({"id": ["a", "a", "b"], "turn": [1, 2, 1], "score": [None, 0.9, 0.1]})
    got = frame.group_by("id", maintain_order=True).agg(m.first_turn(pl.col("score") > 0.5))
    assert got["first_turn"].to_list() == [2, None]


@pytest.mark.parametrize("k", [2**31, 10**30, pytest.param(10**5000, id="long"), 0, True, 1.5])
def test_within_a_number_of_turns_that_no_rollout_has_is_one_sentence(k: Any) -> None:
    """Int32 counts turns, and Python does not even write a number of 5,000 digits."""
    with pytest.raises(MetricError, match="give a whole number of turns, from 1 to 2,147,483,647") as caught:
        m.success_within(k)
    assert len(str(caught.value)) < 160


def test_within_as_many_turns_as_there_can_be() -> None:
    """The largest number is fine: a rollout that was judged to its end failed within it."""
    measured = rw.measure(turns(), m.success_within(2**31 - 1)).rows_by_key("rollout_id", named=True, unique=True)
    assert measured["never, all judged"]["success_within_2147483647"] is False
