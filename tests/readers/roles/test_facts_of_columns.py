"""Facts in columns of people's own: target, attack, goal, task, costs, tokens, seconds, and the texts."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw


def rows(column: str, values: list[Any], **facts: Any) -> list[dict[str, Any]]:
    """Return rollouts of one turn with a column of their own."""
    return [
        {"rollout_id": f"r{n}", "prompt": f"p{n}", "response": f"a{n}", **facts, column: value}
        for n, value in enumerate(values)
    ]


def test_facts_costs_and_times_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Each as its column of TURNS, in its unit, and said in one line."""
    rollouts = [
        {
            "rollout_id": f"r{n}", "response": "x", "model": "m", "strategy": "tap", "behavior": "spam", "harm_category": "fraud",
            "trial": n, "costUsd": 0.5, "inputTokens": 10, "outputTokens": 2, "wallMs": 1500, "attacker_model": "other",
            "judge_cost": 9.0, "max_tokens": 99,
        } for n in range(2)
    ]  # fmt: skip
    turns = rw.turns(rollouts)
    names = [
        "target",
        "attack",
        "goal",
        "category",
        "attempt",
        "total_cost_usd",
        "prompt_tokens",
        "response_tokens",
        "total_seconds",
    ]
    assert turns.select(names).row(1) == ("m", "tap", "spam", "fraud", 1, 0.5, 10, 2, 1.5)
    assert turns.select("attacker_model", "judge_cost", "max_tokens").row(0) == ("other", 9.0, 99)
    assert capsys.readouterr().err.count("`model` as `target`, `strategy` as `attack`, `behavior` as `goal`") == 1


ANSWERS = [
    "victim_response", "target_response", "model_response", "model_output", "generation", "generated_text", "llm_response",
    "final_answer", "final_text", "prediction", "raw_response", "Response", "bot_msg", "agent_output", "completion", "reply",
]  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("name", ANSWERS)
def test_usual_names_of_the_answer(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In frames and files, with and without a verdict beside; of two that may be it, neither is."""
    records = [{"rollout_id": f"r{n}", "prompt": "p", name: f"answer {n}", "goal": "g"} for n in range(2)]
    assert rw.turns(records)["response"].to_list() == ["answer 0", "answer 1"]
    (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, records)))
    assert rw.read(tmp_path / "runs.jsonl")["response"].to_list() == ["answer 0", "answer 1"]
    usual = name in {"completion", "reply"}
    assert usual or f"`{name}` as `response`" in capsys.readouterr().err
    if not usual:
        two = [row | {"assistant_response" if name != "assistant_response" else "x": "other"} for row in records]
        assert rw.turns(two)["response"].null_count() == 2


def test_costs_of_turns_are_not_those_of_the_rollout() -> None:
    """What differs between turns is of the turn; what is the same on all is counted once."""
    chat = [{"rollout_id": "a", "response": "x", "cost": cost, "latency_ms": 500, "model": "m"} for cost in (0.5, 0.25)]
    turns = rw.turns(chat)
    assert turns["cost_usd"].to_list() == [0.5, 0.25]
    assert turns["total_seconds"].to_list() == [0.5, 0.5]
    assert turns["total_cost_usd"].null_count() == 2


@pytest.mark.integration
def test_a_number_without_a_unit_may_be_milliseconds() -> None:
    """It stays as it is, as do moments and negative costs."""
    for name, value in (
        ("latency", 1200),
        ("time", 1_700_000_000.5),
        ("cost", -1.0),
        ("duration", 350),
        ("input_tokens", 1.5),
    ):
        turns = rw.turns([{"rollout_id": "a", "response": "x", name: value, "model": "m"}])
        assert turns[name].to_list() == [value]
    assert rw.turns([{"rollout_id": "a", "response": "x", "time": 1.5}])["total_seconds"].to_list() == [1.5]


@pytest.mark.integration
def test_of_several_columns_for_one_fact_the_likeliest_counts() -> None:
    """Never two for one; names of one likelihood that differ are none."""
    row = {"rollout_id": "a", "response": "x", "agent": "swe", "model": "m"}
    turns = rw.turns([row])
    assert turns.select("target", "agent").row(0) == ("m", "swe")
    assert rw.turns([row | {"victim_model": "v"}])["target"].to_list() == ["v"]
    unclear = rw.turns([row | {"attack_method": "b", "technique": "a"}])
    assert unclear["attack"].to_list() == [None]
    assert rw.readers.unused_columns(unclear)["names"].to_list() == ['names={"attack": "attack_method"}']


def test_an_id_that_repeats_is_the_task() -> None:
    """One that does not is of the rollout, and steps of an agent are no steps of training."""
    records = [{"rollout_id": f"r{n}", "response": "x", "case_id": f"c{n % 2}", "steps": n} for n in range(4)]
    turns = rw.turns(records)
    assert turns["task"].to_list() == ["c0", "c1", "c0", "c1"]
    assert turns["steps"].to_list() == [0, 1, 2, 3]
    assert rw.turns(records[:2])["task"].null_count() == 2


def test_what_the_user_names_wins() -> None:
    """A verdict that is named is the only one, a fact that is named is not replaced."""
    records = rows("jailbroken", [True, False], model="m", by="k")
    turns = rw.turns([row | {"mine": "refused"} for row in records], names={"succeeded": "mine", "target": "by"})
    assert turns.select("succeeded", "target", "model", "jailbroken").rows() == [
        (False, "k", "m", True),
        (False, "k", "m", False),
    ]


def test_names_of_columns_are_taken_as_they_are() -> None:
    """Also those that Polars takes for patterns."""
    records = [row | {"*": 1, "^.*$": "x"} for row in rows("jailbroken", [True, False], model="m")]
    turns = rw.turns(records)
    assert turns.select("succeeded", "target").rows() == [(True, "m"), (False, "m")]
    assert turns["^.*$"].to_list() == ["x", "x"]


@pytest.mark.integration
@pytest.mark.parametrize("columns", [["succeeded"], ["target", "succeeded"], ["solved"]])
@pytest.mark.parametrize("name", ["jailbroken", "success", "label", "harmful"])
def test_what_is_wanted_does_not_change_what_is_read(name: str, columns: list[str], tmp_path: Path) -> None:
    """Columns that are left out for memory decide nevertheless."""
    path = tmp_path / "runs.jsonl"
    records = rows(name, [True, False, True], attack_name="dan", model="m")
    path.write_text("\n".join(map(json.dumps, records)))
    assert_frame_equal(rw.read(path, columns=columns), rw.read(path).select("rollout_id", "turn", *columns))
    turns = [
        {"rollout_id": row.pop("rollout_id"), "turns": [{"prompt": row.pop("prompt"), "response": "r"}], **row}
        for row in records
    ]
    path.write_text("\n".join(map(json.dumps, turns)))
    assert_frame_equal(rw.read(path, columns=columns), rw.read(path).select("rollout_id", "turn", *columns))


@pytest.mark.integration
@pytest.mark.parametrize("dtype", [pl.UInt8, pl.Int8, pl.Int64, pl.UInt64, pl.Int128])
def test_attempts_of_any_width(dtype: Any) -> None:
    """A number that no attempt can be stays in its own column."""
    frame = pl.DataFrame(
        {"rollout_id": ["a", "b"], "response": "x", "goal": "g", "trial": pl.Series([1, 2], dtype=dtype)}
    )
    assert rw.turns(frame)["attempt"].to_list() == [1, 2]
    large = frame.with_columns(pl.Series("trial", [1, 2**62], dtype=pl.Int64))
    assert rw.turns(large)["attempt"].null_count() == 2
