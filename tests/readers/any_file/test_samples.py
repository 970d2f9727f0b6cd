"""Records with lists of samples: a rollout for each, and never one for all of them."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError

# Task 0 is solved by no sample, task 1 by one, task 2 by two: 3 of 9.
SIDES = [[place < task for place in range(3)] for task in range(3)]


def records(answers: str, verdicts: str, **further: Any) -> list[dict[str, Any]]:
    """Return a record for each task, with three samples under these names."""
    return [
        {
            "task_id": task,
            "prompt": f"do number {task}",
            answers: [f"sample {place} of {task}" for place in range(3)],
            verdicts: sides,
            **{name: values[task] for name, values in further.items()},
        }
        for task, sides in enumerate(SIDES)
    ]


def written(folder: Path, value: Any) -> Path:
    """Write JSON."""
    path = folder / "runs.json"
    path.write_text(json.dumps(value))
    return path


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("answers", "verdicts"),
    [
        ("generated_codes", "test_results"),
        ("responses", "correct"),
        ("completions", "passed"),
        ("solutions", "resolved"),
        ("preds", "is_correct"),
        ("code", "test_result"),
    ],
)
def test_each_sample_of_a_task_is_a_rollout(tmp_path: Path, answers: str, verdicts: str) -> None:
    turns = rw.read(written(tmp_path, records(answers, verdicts)))
    assert turns["rollout_id"].n_unique() == 9
    assert turns["response"].to_list()[:2] == ["sample 0 of 0", "sample 1 of 0"]
    assert turns["prompt"].to_list()[-1] == "do number 2"
    assert turns.group_by("task", maintain_order=True).agg(pl.col("solved").sum())["solved"].to_list() == [0, 1, 2]
    assert turns["attempt"].to_list() == [1, 2, 3] * 3


@pytest.mark.integration
def test_samples_of_attacks(tmp_path: Path) -> None:
    turns = rw.read(written(tmp_path, {"model": "m", "results": records("responses", "jailbroken")}))
    rollouts = rw.measure(turns)
    assert (rollouts.height, rollouts["attack_success"].sum(), rollouts["attack_success"].count()) == (9, 3, 9)
    assert rollouts["target"].unique().to_list() == ["m"]


@pytest.mark.parametrize(("name", "whole"), [("passed", [False, True, True]), ("all_passed", [False] * 3)])
def test_a_verdict_of_all_samples_is_none_of_each(tmp_path: Path, name: str, whole: list[bool]) -> None:
    """Whether any sample passed says no more than the samples do: 3 of 9 are solved, not 6."""
    turns = rw.read(written(tmp_path, records("codes", "test_results", **{name: whole})))
    assert (turns.height, turns["solved"].sum()) == (9, 3)


def test_a_verdict_that_is_another_leaves_the_record_one_rollout(tmp_path: Path) -> None:
    turns = rw.read(written(tmp_path, records("codes", "test_results", passed=[True, False, True])))
    assert turns["rollout_id"].n_unique() == 3


def test_tests_of_one_answer_are_no_samples(tmp_path: Path) -> None:
    """Results of three tests of one code: a list of verdicts without a list of answers."""
    log = [
        {
            "task_id": n,
            "prompt": f"do {n} now",
            "completion": f"code {n} here",
            "test_results": [True, False],
            "passed": n > 1,
        }
        for n in range(4)
    ]
    turns = rw.read(written(tmp_path, log))
    assert (turns.height, turns["solved"].sum()) == (4, 2)


def test_lists_of_turns_are_no_samples(tmp_path: Path) -> None:
    """A list of prompts beside the answers is of one conversation: it is not read as rollouts."""
    log = [
        {
            "id": f"c{n}",
            "goal": "g",
            "prompts": ["a b", "c d"],
            "responses": ["e f", "g h"],
            "jailbroken": [False, n > 1],
        }
        for n in range(4)
    ]
    try:
        turns = rw.read(written(tmp_path, log))
    except ReadError:
        return
    assert turns["rollout_id"].n_unique() == 4


@pytest.mark.integration
def test_lists_in_cells_of_a_table(tmp_path: Path) -> None:
    rows = [
        {name: str(value) if isinstance(value, list) else value for name, value in row.items()}
        for row in records("responses", "correct")
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "runs.csv")
    turns = rw.read(tmp_path / "runs.csv")
    assert (turns["rollout_id"].n_unique(), turns["solved"].sum()) == (9, 3)


def test_lists_of_other_lengths_are_a_problem_of_their_record(tmp_path: Path) -> None:
    """The samples of all other records are read, and the broken record counts as missing."""
    log = [row | {"task_id": f"{row['task_id']}-{n}"} for n in range(4) for row in records("codes", "passed")]
    log[5]["passed"] = [True]
    turns, problems = rw.read(written(tmp_path, log), errors="collect")
    assert (turns["rollout_id"].n_unique(), turns["solved"].count()) == (34, 33)
    assert problems["reason"].to_list() == ["has fewer items than another list of samples (3)"]


def test_a_mapping_says_which_lists_are_samples(tmp_path: Path) -> None:
    mapping = {
        "samples": {"response": "texts.all", "hit": "hits"},
        "prompt": "ask",
        "verdicts": [{"of": "attack", "from": "hit"}],
    }
    log = [
        {"ask": "a b", "texts": {"all": ["x", "y"]}, "hits": [True, False]},
        {"ask": "c d", "texts": {"all": []}, "hits": []},
    ]
    turns = rw.read(written(tmp_path, log), mapping=mapping)
    assert turns.select("prompt", "response", "attempt").rows() == [("a b", "x", 1), ("a b", "y", 2)]
    assert turns["outcome"].to_list() == ["success", "failure"]


@pytest.mark.parametrize("samples", [None, [], {}, {"response": 1}, "texts"])
def test_a_mapping_with_wrong_samples_is_refused(tmp_path: Path, samples: Any) -> None:
    with pytest.raises(ArgumentError, match="samples: expected lists by the short name of their items"):
        rw.read(written(tmp_path, records("a", "b")), mapping={"samples": samples})


@pytest.mark.integration
@pytest.mark.parametrize("name", ["labels", "verdicts", "judgements"])
def test_labels_in_words_are_asked_about_and_the_answer_reads_each_sample(tmp_path: Path, name: str) -> None:
    log = records("responses", name)
    for record in log:
        record[name] = ["unsafe" if side else "safe" for side in record[name]]
    meaning = {"succeeded": (name, {"unsafe": True, "safe": False})}
    turns = rw.read(written(tmp_path, log), names=meaning)
    assert rw.measure(turns)["attack_success"].to_list() == [side for sides in SIDES for side in sides]
