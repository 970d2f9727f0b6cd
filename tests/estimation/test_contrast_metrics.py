"""What `contrast` compares without `metrics=`: what was measured, and Holm counts no more."""

from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m

TURNS = pl.DataFrame(
    {
        "rollout_id": [f"{target}{i}" for target in "ab" for i in range(12)],
        "turn": 1,
        "target": ["a"] * 12 + ["b"] * 12,
        "goal": [f"g{i}" for i in range(12)] * 2,
        "response": "Sure.",
        "succeeded": [i < 9 for i in range(12)] + [i < 1 for i in range(12)],
        "refused": [i >= 9 for i in range(12)] + [i >= 1 for i in range(12)],
    }
)
SHARED: dict[str, Any] = {"of": "target", "baseline": "a"}


def test_one_metric_is_one_comparison() -> None:
    """`num_turns` is in every table: a second comparison doubled the adjusted p-value of the only question.

    McNemar with the eight goals that only `a` broke: 2 · (1/2)^8, of which ties count one half (mid-p): (1/2)^8 = .0039.
    """
    row = rw.contrast(rw.measure(TURNS, m.attack_success()), **SHARED).row(0, named=True)
    assert (row["metric"], row["p_value"], row["p_adjusted"]) == (
        "attack_success",
        pytest.approx(0.5**8),
        pytest.approx(0.5**8),
    )


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("measured", "compared"),
    [
        ((m.attack_success(),), ["attack_success"]),
        ((m.attack_success(), m.refusal_rate()), ["attack_success", "refusal_rate"]),
        ((m.time_to_success(),), ["time_to_success"]),
        ((m.num_turns(),), ["num_turns"]),  # nothing else: then it was asked for
        ((), ["attack_success", "task_success", "time_to_success"]),  # the usual three
    ],
)
def test_what_was_measured_is_compared(measured: tuple[pl.Expr, ...], compared: list[str]) -> None:
    found = rw.contrast(rw.measure(TURNS, *measured), **SHARED)
    assert found["metric"].unique(maintain_order=True).to_list() == compared


@pytest.mark.integration
def test_turns_are_compared_by_name() -> None:
    rollouts = rw.measure(TURNS, m.attack_success())
    found = rw.contrast(rollouts, metrics=["attack_success", "num_turns"], **SHARED)
    assert found["metric"].to_list() == ["attack_success", "num_turns"]


def test_an_own_column_is_a_metric() -> None:
    rollouts = rw.measure(TURNS, m.attack_success()).with_columns(harm=pl.int_range(24) / 24)
    assert rw.contrast(rollouts, **SHARED)["metric"].to_list() == ["attack_success", "harm"]
