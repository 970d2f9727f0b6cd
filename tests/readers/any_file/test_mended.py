"""What strangers' files were read wrong by, or led nowhere with: each rule on a small file of its own."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from tests.readers.any_file.stranger import Answer, command_in, typed

Row = dict[str, Any]


def rows(**values: list[Any]) -> list[Row]:
    """Return records with a prompt and an answer each."""
    columns = {name: [f"{name} number {place} is here" for place in range(4)] for name in ("prompt", "response")}
    return [
        dict(zip([*columns, *values], each, strict=True))
        for each in zip(*columns.values(), *values.values(), strict=True)
    ]


def read(folder: Path, value: Any, *options: str) -> tuple[Answer, pl.DataFrame | None]:
    """Type a command on a file of JSON; return what it says, and its rollouts."""
    file, out = folder / "runs.json", folder / "turns.parquet"
    file.write_text(json.dumps(value), encoding="utf-8")
    answer = typed(["read", str(file), "--out", str(out), "--overwrite", *options])
    return answer, rw.measure(pl.read_parquet(out)) if answer.code == 0 else None


SEVERAL = [
    {
        "conversation_id": name,
        "turn": turn,
        "prompt": f"ask {turn}",
        "response": f"say {name} {turn}",
        "jailbroken": turn == 2,
    }
    for name, count in (("x", 2), ("y", 3))
    for turn in range(1, count + 1)
]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "value",
    [
        SEVERAL,
        {"results": SEVERAL},
        {"data": {"items": SEVERAL}},
        {"a": {"b": {"c": SEVERAL}}},
        {"model": "m", "rounds": SEVERAL},
    ],
)
def test_rows_of_several_conversations_are_no_turns_of_one(tmp_path: Path, value: Any) -> None:
    _, rollouts = read(tmp_path, value)
    assert rollouts is not None
    assert sorted(rollouts["num_turns"].to_list()) == [2, 3]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["Succeeded?", "SUCCEEDED", "succeeded ", "Succeeded"])
def test_our_name_in_another_spelling_may_be_of_the_task(tmp_path: Path, name: str) -> None:
    records = [{"instance_id": f"i{place}", "exit_status": "done", name: place < 2} for place in range(5)]
    _, rollouts = read(tmp_path, records)
    assert rollouts is not None
    assert rollouts["attack_success"].count() == 0
    assert rollouts["task_success"].sum() == 2


@pytest.mark.integration
@pytest.mark.parametrize("column", ["antwort", "f7", "what it said", "Ausgabe-Text", "replied"])
@pytest.mark.parametrize("wrapper", ["results", "trials_done", None])
def test_the_answer_is_asked_for_and_the_line_works(tmp_path: Path, column: str, wrapper: str | None) -> None:
    records = [{"prompt": row["prompt"], column: row["response"]} for row in rows()]
    value = records if wrapper is None else {wrapper: records}
    answer, _ = read(tmp_path, value)
    line = command_in(answer.text)
    assert answer.code == 2
    assert line is not None
    second = typed([word.replace("=?", f"={column}") for word in line])
    assert second.code == 0, second.text
    assert pl.read_parquet(tmp_path / "turns.parquet")["response"].to_list() == [row["response"] for row in rows()]


def test_prompts_without_another_text_ask_for_nothing(tmp_path: Path) -> None:
    answer, _ = read(tmp_path, [{"prompt": f"Please do {place} now.", "category": "c"} for place in range(4)])
    assert (answer.code, command_in(answer.text)) == (2, None)
    assert "holds prompts, not rollouts" in answer.text


@pytest.mark.integration
@pytest.mark.parametrize(
    "words", [("blocked", "unblocked"), ("SAFE", "UNSAFE"), ("misled", "partial"), ("refused", "complied")]
)
def test_words_on_attacks_are_asked_about_under_any_name(tmp_path: Path, words: tuple[str, str]) -> None:
    answer, rollouts = read(tmp_path, rows(f7=[words[0], words[1]] * 2, attack=["dan"] * 4))
    assert rollouts is not None
    assert rollouts["attack_success"].count() == 0
    if words != ("misled", "partial"):  # of one side, which is no verdict
        assert "succeeded=f7" in answer.text


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", ["pass", "passed", "gradingResult.pass", "test_passed"])
def test_a_success_that_a_test_repeats_is_asked_about(tmp_path: Path, name: str) -> None:
    """In a red-team log, the test may be passed by a target that held."""
    sides = [True, False, True, False]
    answer, rollouts = read(tmp_path, rows(attack=["dan"] * 4, success=sides, **{name: sides}))
    assert rollouts is not None
    assert rollouts["attack_success"].count() == 0
    assert "?" in " ".join(command_in(answer.text) or [])


@pytest.mark.parametrize("option", ["true", "false"])
def test_labels_of_whole_conversations_are_mapped(tmp_path: Path, option: str) -> None:
    """What each record says once is an outcome; the map of the user is one of true and false."""
    turns = [{"turn": 1, "prompt": "a b", "response": "c d"}, {"turn": 2, "prompt": "e f", "response": "g h"}]
    records = [{"id": f"c{place}", "ok": place < 2, "turns": turns} for place in range(4)]
    other = {"true": "false", "false": "true"}[option]
    options = ("--column", "succeeded=ok", "--value", f"succeeded:true={option}", "--value", f"succeeded:false={other}")
    answer, rollouts = read(tmp_path, {"results": records}, *options)
    assert rollouts is not None, answer.text
    assert (rollouts.height, rollouts["attack_success"].sum()) == (4, 2)


def test_a_conversation_without_a_known_answer_is_asked_about(tmp_path: Path) -> None:
    records = [{**row, "Ask": row["prompt"]} for row in SEVERAL]
    for record in records:
        del record["prompt"], record["turn"]
    answer, _ = read(tmp_path, {"results": records})
    assert answer.code == 2
    assert "rollout_id=?" in answer.text


@pytest.mark.integration
def test_a_round_that_was_tried_again_is_a_turn(tmp_path: Path) -> None:
    """Its number occurs twice, and its score is a word."""
    for name, numbers in (("a", [1, 1, 2]), ("b", [0, 1])):
        rounds = [
            {
                "round": number,
                "user": f"ask {number}",
                "assistant": f"say {number}",
                "score": "refused" if not place else 5,
            }
            for place, number in enumerate(numbers)
        ]
        lines = [{"target_model": "m", "jailbreak_tactic": "direct"}, *rounds, {"goal_achieved": name == "a"}]
        folder = tmp_path / "logs"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    answer = typed(["read", str(tmp_path / "logs"), "--out", str(tmp_path / "turns.parquet")])
    assert answer.code == 0, answer.text
    rollouts = rw.measure(pl.read_parquet(tmp_path / "turns.parquet"))
    assert sorted(rollouts["num_turns"].to_list()) == [2, 3]
    assert (rollouts["attack_success"].sum(), rollouts["attack_success"].count()) == (1, 2)
