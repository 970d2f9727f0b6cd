"""What a rollout took."""

from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema

FRAME = pl.DataFrame(
    {
        "turn": [2, 1, 3],
        "ending": ["success"] * 3,
        "score": [0.5, 0.1, None],
        "nothing": pl.Series([None, None, None], dtype=pl.Float64),
        "total_tokens": pl.Series([None] * 3, dtype=pl.Int64),
        "prompt_tokens": [10, 0, 5],
        "response_tokens": pl.Series([None] * 3, dtype=pl.Int64),
        "total_seconds": [7.0] * 3,
        "seconds": [1.0, 2.0, 3.0],
        "total_cost_usd": pl.Series([None] * 3, dtype=pl.Float64),
        "cost_usd": pl.Series([None] * 3, dtype=pl.Float64),
    }
)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (m.total("score"), 0.6),
        (m.total("nothing"), None),
        (m.average("score"), 0.3),
        (m.average("nothing"), None),
        (m.highest("score"), 0.5),
        (m.final("score"), None),
        (m.final("seconds"), 3.0),
        (m.num_turns(), 3),
        (m.tokens_used(), 15),
        (m.seconds_used(), 7.0),
        (m.dollars_used(), None),
    ],
    ids=lambda value: value.meta.output_name() if isinstance(value, pl.Expr) else "",
)
def test_effort(metric: pl.Expr, expected: float | None) -> None:
    """Sums of nothing are null, the last turn is found whatever the order, and a log's own total outranks a sum."""
    found = FRAME.select(metric).item()
    assert found == (expected if expected is None else pytest.approx(expected))


USED: dict[str, list[float]] = {
    "prompt_tokens": [10, 20, 30],
    "response_tokens": [1, 2, 3],
    "seconds": [1.0, 2.0, 3.0],
    "cost_usd": [0.5] * 3,
}
NEVER = dict.fromkeys(("total_tokens", "total_seconds", "total_cost_usd"))
METRICS = {
    "tokens_used": m.tokens_used(),
    "seconds_used": m.seconds_used(),
    "dollars_used": m.dollars_used(),
    "total_prompt_tokens": m.total("prompt_tokens"),
    "total_response_tokens": m.total("response_tokens"),
    "total_seconds": m.total("seconds"),
    "total_cost_usd": m.total("cost_usd"),
}
FULL = {"tokens_used": 66, "seconds_used": 6.0, "dollars_used": 1.5} | {
    "total_prompt_tokens": 60,
    "total_response_tokens": 6,
    "total_seconds": 6.0,
    "total_cost_usd": 1.5,
}


def used(**facts: Any) -> dict[str, object]:
    rollout = pl.DataFrame({**USED, **NEVER, **facts}, schema_overrides=schema.TURNS.dtypes | {"reward": pl.Float64})
    return rollout.select(value.alias(name) for name, value in METRICS.items()).row(0, named=True)


def test_a_sum_takes_every_turn() -> None:
    """10 + 20 + 30 tokens of prompts and 1 + 2 + 3 of answers; 1 + 2 + 3 seconds; 3 times 50 cents."""
    assert used() == FULL


@pytest.mark.parametrize(
    ("column", "lost"),
    [
        ("prompt_tokens", {"tokens_used", "total_prompt_tokens"}),
        ("response_tokens", {"tokens_used", "total_response_tokens"}),
        ("seconds", {"seconds_used", "total_seconds"}),
        ("cost_usd", {"dollars_used", "total_cost_usd"}),
    ],
)
@pytest.mark.parametrize("turn", [0, 1, 2])
def test_a_turn_that_states_nothing_makes_the_sum_unknown(column: str, lost: set[str], turn: int) -> None:
    """What the other turns used is a smaller sum, not what the rollout used, wherever the gap is; all else stays."""
    values = [None if place == turn else value for place, value in enumerate(USED[column])]
    assert used(**{column: values}) == FULL | dict.fromkeys(lost)


def test_a_log_that_states_one_kind_of_tokens_has_its_sum() -> None:
    """No turn states the prompts, so the sum is of the answers; with a gap in these it is unknown, too."""
    assert used(prompt_tokens=[None] * 3)["tokens_used"] == 6
    assert used(response_tokens=[None] * 3)["tokens_used"] == 60
    assert used(prompt_tokens=[None] * 3, response_tokens=[1, None, 3])["tokens_used"] is None


def test_the_total_of_the_log_outranks_a_gap() -> None:
    """The rollout's own total needs no turn."""
    gap = used(cost_usd=[0.5, None, 0.5], total_cost_usd=1.25, seconds=[None, 1.0, 1.0], total_seconds=8.0)
    assert (gap["dollars_used"], gap["seconds_used"]) == (1.25, 8.0)
    assert used(prompt_tokens=[None, 1, 1], total_tokens=99)["tokens_used"] == 99


def test_a_rollout_of_unknown_cost_is_missing() -> None:
    """The mean is of the rollout whose cost is known: 1.5 dollars, where 1.25 was half a rollout's cost too low."""
    turns = pl.DataFrame(
        {"rollout_id": ["full"] * 3 + ["part"] * 3, "turn": [1, 2, 3] * 2, "cost_usd": [0.5] * 3 + [0.5, None, 0.5]}
    ).with_columns(reward=pl.when(pl.col("turn") == 3).then(1.0))
    found = rw.summarize(rw.measure(turns, m.dollars_used(), m.total_reward()), statistics="mean")
    assert found.filter(metric="dollars_used").select("n", "n_missing", "estimate").row(0) == (1, 1, 1.5)
    assert found.filter(metric="total_reward").select("n", "estimate").row(0) == (2, 1.0)  # a reward at the end is one
