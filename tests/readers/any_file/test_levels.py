"""Records by name within objects by name: each is a rollout, and the names around it are its model, task and variant."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ReadError

MODELS, TASKS, ATTACKS = ("gpt-4", "llama-2"), ("bomb", "hack", "fraud"), ("suffix", "roleplay")
HITS = {"bomb"}  # succeeds wherever it is tried


def record(task: str) -> dict[str, Any]:
    return {"prompt": f"about {task}", "response": "Sure." if task in HITS else "No.", "jailbroken": task in HITS}


FILES: dict[str, tuple[Any, dict[str, list[str]]]] = {
    "models of tasks": (
        {model: {task: record(task) for task in TASKS} for model in MODELS},
        {"target": [*MODELS], "task": [*TASKS]},
    ),
    "tasks of models": (
        {task: {model: record(task) for model in MODELS} for task in TASKS},
        {"target": [*MODELS], "task": [*TASKS]},
    ),
    "models of attacks of tasks": (
        {model: {attack: {task: record(task) for task in TASKS} for attack in ATTACKS} for model in MODELS},
        {"target": [*MODELS], "variant": [*ATTACKS], "task": [*TASKS]},
    ),
    "two ways of each task": (
        {task: {way: record(task) for way in ("before", "after")} for task in TASKS},
        {"task": [*TASKS], "variant": ["before", "after"]},
    ),
    "categories of tasks": (
        {
            "weapons": {task: record(task) for task in TASKS},
            "people": {"insult": record("insult"), "spy": record("spy")},
        },
        {"category": ["weapons", "people"], "task": [*TASKS, "insult", "spy"]},
    ),
    "below other fields": (
        {"settings": {"seed": 1}, "results": {model: {task: record(task) for task in TASKS} for model in MODELS}},
        {"target": [*MODELS], "task": [*TASKS]},
    ),
    "between other fields": (
        {model: {"n": 3, "out": {"results": {task: record(task) for task in TASKS}}} for model in MODELS},
        {"target": [*MODELS], "task": [*TASKS]},
    ),
    "lists of attempts": (
        {model: {task: [record(task)] * 2 for task in TASKS} for model in MODELS},
        {"target": [*MODELS], "task": [*TASKS]},
    ),
    "chats": (
        {
            model: {
                task: {
                    "messages": [{"role": "user", "content": task}, {"role": "assistant", "content": "No."}],
                    "jailbroken": task in HITS,
                }
                for task in TASKS
            }
            for model in MODELS
        },
        {"target": [*MODELS], "task": [*TASKS]},
    ),
}


def leaves(value: Any) -> list[dict[str, Any]]:
    """Return the records in objects and lists, found by their verdict."""
    if isinstance(value, dict) and "jailbroken" in value:
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [leaf for item in inner for leaf in leaves(item)]


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", FILES)
def test_each_record_is_a_rollout_and_the_names_around_it_are_columns(name: str, tmp_path: Path) -> None:
    content, columns = FILES[name]
    file = tmp_path / "log.json"
    file.write_text(json.dumps(content))
    records = leaves(content)
    turns = rw.read(file)
    rollouts = turns.unique("rollout_id")
    assert rollouts.height == len(records)
    assert (rollouts["outcome"] == "success").sum() == sum(leaf["jailbroken"] for leaf in records)
    for column, names in columns.items():
        assert {*rollouts[column]} == {*names}
    hits = rollouts.filter(pl.col("outcome") == "success")
    assert {*hits["task"]} == HITS
    assert not [
        column for column in turns.columns if "bomb" in column or "gpt" in column
    ]  # what is around is not kept twice


def test_a_record_of_several_parts_stays_one(tmp_path: Path) -> None:
    log = {
        f"r{n}": {
            "request": {"text": "hello", "model": "m"},
            "response": {"text": "no", "model": "m"},
            "jailbroken": n == 1,
        }
        for n in range(4)
    }
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert rw.read(tmp_path / "log.json")["rollout_id"].n_unique() == 4


def dialogue(numbers: list[str]) -> dict[str, Any]:
    return {
        number: {"prompt": f"ask {number}", "response": "Sure.", "jailbroken": number == numbers[-1]}
        for number in numbers
    }


WORDS = ["turn_1", "turn_2", "turn_10"]
DIGITS = ["1", "2", "3"]


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    "log",
    [
        [{"goal": goal, "turns": dialogue(WORDS)} for goal in TASKS],
        [{"goal": goal, "turns": dialogue(DIGITS)} for goal in TASKS],
        [{"goal": goal, "log": dialogue(WORDS)} for goal in TASKS],
        {goal: {"goal": goal, "rounds": dialogue(DIGITS)} for goal in TASKS},
        {goal: dialogue(WORDS) for goal in TASKS},
    ],
    ids=["list", "numbers", "called by each", "objects", "nothing else"],
)
def test_records_called_as_turns_are_the_turns_of_one_rollout(log: Any, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(json.dumps(log))
    turns = rw.read(tmp_path / "log.json")
    assert turns["rollout_id"].n_unique() == len(TASKS)
    assert turns["turn"].to_list() == [1, 2, 3] * len(TASKS)
    assert turns["succeeded"].to_list() == [False, False, True] * len(TASKS)
    first = turns.filter(rollout_id=turns["rollout_id"][0])
    assert first["prompt"].str.slice(4).to_list() in (WORDS, DIGITS)
    assert {*turns["goal"].fill_null(turns["task"])} == {*TASKS}


def test_numbers_without_a_word_are_asked_about_and_both_answers_work(tmp_path: Path) -> None:
    file = tmp_path / "log.json"
    file.write_text(json.dumps({goal: dialogue(DIGITS) for goal in TASKS}))
    with pytest.raises(ReadError) as raised:
        rw.read(file)
    assert [question.options for question in raised.value.questions] == [("{*}", "{*}{*}")]
    for answer, num_rollouts in (("{*}", 3), ("{*}{*}", 9)):
        turns = rw.read(file, names={"records": answer})
        assert (turns["rollout_id"].n_unique(), turns.height) == (num_rollouts, 9)
