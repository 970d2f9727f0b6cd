"""R-Judge, InjecAgent, GCG, AutoDAN and aider: their verdicts, and what their files leave open."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw

FIXTURES = Path(__file__).parents[1] / "fixtures"


def written(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_labels_of_r_judge_say_what_is_unsafe(tmp_path):
    """Of the 162 records in nyit-vancouver/LLM-SafetyEval, which have no `attack_type`, 105 are unsafe."""
    turns = rw.read(FIXTURES / "rjudge")
    rollouts = turns.unique("rollout_id", maintain_order=True)
    assert rollouts["outcome"].to_list() == ["failure", "success"] * 3
    assert rollouts["attack"].unique().to_list() == ["injection"]
    assert turns.height == 12
    assert turns.row(0, named=True)["response"] == "I read it.\nMailRead: {}"
    record = json.loads((FIXTURES / "rjudge" / "injection.json").read_text())[1]
    del record["attack_type"]
    path = written(tmp_path / "old.json", [record, {**record, "id": 9, "label": 2}])
    read, problems = rw.read(path, errors="collect")
    assert read.unique("rollout_id", maintain_order=True).select("attack", "outcome").rows() == [
        (None, "success"),
        (None, None),
    ]
    assert problems.height == 1


@pytest.mark.parametrize("contents", [[["a"]], [[{"role": "nobody", "content": "x"}]], "x", [[{"content": "x"}]]])
def test_a_broken_record_of_r_judge_still_counts(tmp_path, contents):
    record = json.loads((FIXTURES / "rjudge" / "injection.json").read_text())[0]
    path = written(tmp_path / "a.json", [record, {**record, "id": 9, "contents": contents}])
    turns, problems = rw.read(path, errors="collect")
    assert (turns["rollout_id"].n_unique(), turns.unique("rollout_id")["outcome"].count(), problems.height) == (2, 1, 1)


def test_an_invalid_answer_of_injecagent_is_unjudged():
    """ASR-valid is 2 of 3, ASR-all 2 of 4."""
    turns = rw.read(FIXTURES / "injecagent")
    assert turns["outcome"].to_list() == ["success", "failure", None, "success"]
    assert turns.select("target", "attack", "category").unique().rows() == [
        ("prompted_parrot", "base", "Physical Harm")
    ]


def test_the_last_step_of_gcg_counts_for_each_goal():
    turns = rw.read(FIXTURES / "gcg")
    assert turns.select("target", "goal", "prompt", "queries", "outcome", "loss").rows() == [
        ("vicuna", "Make a bird bomb", "Make a bird bomb c d", 3, "success", 0.5),
        ("vicuna", "Write a bird virus", "Write a bird virus e f", 2, "failure", 1.9),
    ]


@pytest.mark.parametrize("result", [None, [], ["vicuna"], "x", ["vicuna", None, 0, 1.0]])
def test_a_test_of_gcg_without_result_is_unjudged(tmp_path, result):
    log = json.loads((FIXTURES / "gcg" / "individual_behaviors.json").read_text())
    log["tests"][-1]["Write a bird virus"] = [result]
    turns, _ = rw.read(written(tmp_path / "a.json", log), errors="collect")
    assert turns["outcome"].to_list() == ["success", None]


@pytest.mark.parametrize("step", [None, "x", [1], {"Write a bird virus": 3}, {"Write a bird virus": "x"}])
def test_a_broken_step_of_gcg_costs_no_other(tmp_path, step):
    log = json.loads((FIXTURES / "gcg" / "individual_behaviors.json").read_text())
    log["tests"][3] = step
    turns, _ = rw.read(written(tmp_path / "a.json", log), errors="collect")
    assert turns["outcome"].to_list() == ["success", "failure"]


def test_behaviors_of_autodan_are_rollouts(tmp_path):
    turns = rw.read(FIXTURES / "autodan")
    assert turns["outcome"].to_list() == ["failure", "success"] * 2
    assert turns.select("target", "attack", "queries", "total_seconds").unique().rows() == [
        ("llama2", "AutoDAN", 2, 12.5)
    ]
    assert turns["prompt"][1] == "Make bird bomb 1 In this story 1 birds"
    one = json.loads((FIXTURES / "autodan" / "llama2_0_normal.json").read_text())["1"]
    for value in ({"0": one}, one, {str(n): one for n in range(9)}):
        read = rw.read(written(tmp_path / "vicuna_0_x.json", value))
        assert (read["source"].unique().to_list(), read["outcome"].unique().to_list()) == (["autodan"], ["success"])


@pytest.mark.parametrize(
    ("outcomes", "solved"), [([True], True), ([False, True], True), ([False, False], False), ([], None)]
)
def test_the_last_try_of_aider_counts(tmp_path, outcomes, solved):
    """pass_rate_2 of benchmark.py; the file is hidden in the folder of each exercise."""
    result = json.loads((FIXTURES / "aider_benchmark" / "results.json").read_text())
    folder = tmp_path / "python" / "exercises" / "practice" / "bird-1"
    folder.mkdir(parents=True)
    written(folder / ".aider.results.json", {**result, "tests_outcomes": outcomes})
    turns = rw.read(tmp_path)
    assert turns.select("target", "task", "solved", "queries").rows() == [
        ("parrot", "bird-1", solved, len(outcomes) or None)
    ]


def test_a_history_of_aider_has_a_rollout_for_each_chat(tmp_path):
    """Commands, and what the program prints, are no turns."""
    shutil.copy(FIXTURES / "aider" / "history.md", tmp_path / ".aider.chat.history.md")
    turns = rw.read(tmp_path)
    assert turns.select("target", "started", "prompt").rows() == [
        ("parrot", "2024-05-01 10:00:00", "Add a bird.\nMake it small."),
        ("parrot", "2024-05-01 10:00:00", "And a fish?"),
        (None, "2024-05-02 10:00:00", "Hello"),
    ]
    assert turns["response"][0] == "I added a bird.\n\n```python\nbird = 1\n```"
    assert turns.filter(pl.col("response").str.contains("Tokens:")).is_empty()
