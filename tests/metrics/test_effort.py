"""What a rollout took."""

import polars as pl
import pytest

from rollwise import metrics as m

FRAME = pl.DataFrame(
    {
        "turn": [2, 1, 3],
        "ending": ["success"] * 3,
        "score": [0.5, 0.1, None],
        "nothing": pl.Series([None, None, None], dtype=pl.Float64),
        "total_tokens": pl.Series([None] * 3, dtype=pl.Int64),
        "prompt_tokens": [10, None, 5],
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
