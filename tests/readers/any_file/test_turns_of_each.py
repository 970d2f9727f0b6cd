"""Lists of turns in each record: who speaks may be the name of a field, and any name is asked about."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from tests.readers.any_file.stranger import typed


def text(speaker: str, goal: int, turn: int) -> str:
    return f"what the {speaker} says about goal {goal} in turn {turn}"


def records(asking: str, answering: str, turns: str = "turns", **facts: Any) -> list[dict[str, Any]]:
    """Return 6 records of 3 turns each."""
    return [
        {
            "goal": f"g{goal}",
            turns: [
                {asking: text("one", goal, turn), answering: text("other", goal, turn), "score": goal}
                for turn in range(3)
            ],
            "jailbroken": goal < 2,
        }
        | facts
        for goal in range(6)
    ]


def written(folder: Path, value: Any) -> Path:
    path = folder / "log.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def check(turns: pl.DataFrame) -> None:
    """Assert that 6 conversations of 3 turns each have their texts, and 2 of them succeeded."""
    assert turns["rollout_id"].n_unique() == 6
    assert turns["turn"].to_list() == [1, 2, 3] * 6
    assert turns["prompt"].to_list() == [text("one", goal, turn) for goal in range(6) for turn in range(3)]
    assert turns["response"].to_list() == [text("other", goal, turn) for goal in range(6) for turn in range(3)]
    assert rw.measure(turns)["attack_success"].mean() == pytest.approx(2 / 6)


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("asking", "answering"),
    [("attacker", "target"), ("red_team", "victim"), ("attacker_message", "target_message"), ("adversary", "model")],
)
@pytest.mark.parametrize("turns", ["turns", "conversation", "rounds"])
def test_fields_called_by_who_speaks_are_prompt_and_response(tmp_path, asking, answering, turns) -> None:
    check(rw.read(written(tmp_path, records(asking, answering, turns, target_model="m"))))


def test_beside_a_user_a_target_may_be_the_right_answer(tmp_path) -> None:
    path = written(tmp_path, [{"user": text("one", goal, 0), "target": text("other", goal, 0)} for goal in range(6)])
    with pytest.raises(rw.errors.RollwiseError):
        rw.read(path)


def test_names_of_models_do_not_speak(tmp_path) -> None:
    models = {"attacker": "a model", "target": "b model"}
    texts = {"prompt": "how do I do it", "response": "no, I will not"}
    rows = [models | texts | {"jailbroken": goal < 2} for goal in range(6)]
    turns = rw.read(written(tmp_path, rows))
    assert turns["target"].unique().to_list() == ["b model"]
    assert turns["response"].unique().to_list() == ["no, I will not"]


@pytest.mark.parametrize("are_judged", [False, True])
def test_unknown_names_are_asked_about_and_the_line_reads_them(tmp_path, monkeypatch, are_judged) -> None:
    monkeypatch.chdir(tmp_path)
    log = records("sent", "got")
    if are_judged:  # each turn has a verdict of its own
        for record in log:
            for turn in record["turns"]:
                turn["jailbroken"] = False
            record["turns"][-1]["jailbroken"] = record.pop("jailbroken")
    written(tmp_path, log)
    answer = typed(["read", "log.json"])
    assert "read 6 rollouts" in answer.text
    assert "which is the model's answer? (sent or got)" in answer.text
    line = answer.text.rpartition("try: rollwise ")[2].replace("'response=?'", "response=got --column prompt=sent")
    typed([*line.split(), "--overwrite"])
    check(pl.read_parquet("turns.parquet"))


@pytest.mark.integration
def test_records_by_name_around_a_list_are_no_facts(tmp_path) -> None:
    """As X-Teaming writes them: the text of a behavior is the goal, and no other behavior's texts come with it."""
    behaviors = {
        str(goal): {
            "behavior": {"behavior": f"goal {goal}"},
            "strategies": [
                {"conversation": log["turns"], "jailbreak_achieved": log["jailbroken"]}
                for log in [records("attacker", "target")[goal]]
            ],
        }
        for goal in range(6)
    }
    turns = rw.read(written(tmp_path, {"configuration": {"target": "m"}, "behaviors": behaviors}))
    check(turns)
    assert turns["goal"].unique(maintain_order=True).to_list() == [f"goal {goal}" for goal in range(6)]
    assert [name for name in turns.columns if name.startswith("behaviors")] == []


def test_steps_of_an_agent_under_other_names_are_said_not_to_be_read(tmp_path) -> None:
    steps = [{"thought": text("agent", 0, turn), "action": "ls", "observation": "a.txt"} for turn in range(4)]
    rows = [{"instance_id": f"i{n}", "trajectory": steps, "resolved": n < 2, "model": "m"} for n in range(6)]
    turns, problems = rw.read(written(tmp_path, rows), errors="collect")
    assert problems.select("field", "reason").rows() == [
        ("trajectory", "may hold further records, in a form that is not read")
    ]
    assert rw.measure(turns)["task_success"].mean() == pytest.approx(2 / 6)


def test_paths_that_begin_alike_are_both_named_and_either_reads(tmp_path) -> None:
    """`attempts[*]` is the beginning of `attempts[*].iterations[*]`, and an answer of its own."""
    log = {"attempts": records("prompt", "response", "iterations")}
    line = ["read", str(written(tmp_path, log)), "--out", str(tmp_path / "turns.parquet")]
    assert "`attempts[*]` has the verdict, and holds `attempts[*].iterations[*]`: which of the two" in typed(line).text
    assert typed([*line, "--column", "records=attempts[*]"]).code == 0
    check(pl.read_parquet(tmp_path / "turns.parquet"))


@pytest.mark.parametrize(
    ("asking", "answering"),
    [
        ("attacker_prompt", "generator_output"),
        ("malicious_message", "victim_response"),
        ("redteam_input", "llm_completion"),
        ("Attack Message", "Target Output"),
        ("prompt_sent", "response_received"),
        ("poisoned_prompt", "gpt4_response"),
        ("attacker_message", "defender_message"),
        ("jailbreakQuery", "chatbotReply"),
    ],
)
def test_compound_names_say_who_asks_and_who_answers(tmp_path, asking, answering) -> None:
    rows = [
        {asking: text("one", goal, 0), answering: text("other", goal, 0), "jailbroken": goal < 2} for goal in range(6)
    ]
    turns = rw.read(written(tmp_path, rows))
    assert turns["prompt"].to_list() == [text("one", goal, 0) for goal in range(6)]
    assert turns["response"].to_list() == [text("other", goal, 0) for goal in range(6)]


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", ["judge_prompt", "attacker_model", "judge_response", "claude_judge_response", "message"]
)
def test_what_judges_and_attackers_are_told_is_neither_prompt_nor_response(tmp_path, name) -> None:
    rows = [{"goal": f"g{goal}", name: text("one", goal, 0), "jailbroken": goal < 2} for goal in range(6)]
    turns = rw.read(written(tmp_path, rows))
    assert turns["prompt"].null_count() == turns["response"].null_count() == 6
