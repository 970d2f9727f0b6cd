"""Terminal-Bench, BFCL and DeepEval: their own figures, rollouts that two files tell of, and what is left unjudged."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures"
BENCH = FIXTURES / "terminal_bench" / "results.json"
CALLS = FIXTURES / "bfcl" / "BFCL_v4_multi_turn_base_result.json"
RUN = FIXTURES / "deepeval" / "test_run.json"


def solved(path: Path) -> list[tuple[Any, ...]]:
    """Return the task and the verdict of each rollout."""
    turns, _ = rw.read(path, errors="collect")
    return turns.unique("rollout_id", maintain_order=True).select("task", "solved").rows()


def test_a_run_of_terminal_bench_is_as_its_totals_say():
    """In terminal-bench-leaderboard: 165 of 400 trials of OpenHands are solved, as `n_resolved` of its five runs says."""
    turns = rw.read(BENCH)
    assert turns.select("run", "task", "attempt", "solved", "ending", "prompt", "total_seconds").rows() == [
        ("night", "bird-song", 1, True, None, "Sing.", 90.0),
        ("night", "bird-nest", 2, False, "budget", "Build.", None),
        ("night", "bird-egg", 1, None, "error", "Lay.", None),
    ]
    assert turns["solved"].sum() == json.loads(BENCH.read_text())["n_resolved"]


@pytest.mark.integration
def test_trials_beside_their_run_count_once(tmp_path):
    """As terminal_bench/harness writes them: `<run>/results.json`, `<run>/<task>/<trial>/results.json`, and the metadata."""
    run = tmp_path / "night"
    run.mkdir()
    shutil.copy(BENCH, run)
    names = {"run_id": "night", "agent_name": "finch", "model_name": "parrot", "dataset_name": "core", "task_ids": []}
    (run / "run_metadata.json").write_text(json.dumps(names))
    trials = json.loads(BENCH.read_text())["results"]
    for trial in trials:
        folder = run / trial["task_id"] / trial["trial_name"]
        folder.mkdir(parents=True)
        (folder / "results.json").write_text(json.dumps(trial))
    shutil.copytree(run, tmp_path / "copy" / "night")
    turns, problems = rw.read(tmp_path, errors="collect")
    assert (turns.height, turns["rollout_id"].n_unique()) == (3, 3)
    assert turns.select("target", "agent", "category").unique().rows() == [("parrot", "finch", "core")]
    assert "is not recognized" not in problems["reason"].to_list()
    (run / "results.json").unlink()
    shutil.rmtree(tmp_path / "copy")
    assert sorted(solved(run), key=str) == sorted(solved(BENCH), key=str)
    with pytest.raises(ReadError, match="holds the header of a run of Terminal-Bench, not rollouts"):
        rw.read(run / "run_metadata.json")


def scores(folder: Path, total: int, *wrong: str) -> None:
    """Write a file of scores as BFCL's eval_runner.py does: totals, then what is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    head = {"accuracy": 1 - len(wrong) / total, "correct_count": total - len(wrong), "total_count": total}
    rows = [{"id": name, "model_name": "m", "valid": False, "error_type": "wrong_count"} for name in wrong]
    text = "".join(json.dumps(row) + "\n" for row in (head, *rows))
    (folder / "BFCL_v4_multi_turn_base_score.json").write_text(text)


def test_what_scores_do_not_list_is_solved(tmp_path):
    """In bbrowning/bfcl-vllm-results: 124 of 200, 210 of 240 and 343 of 400, as `correct_count` says."""
    place = tmp_path / "result" / "parrot" / "multi_turn"
    place.mkdir(parents=True)
    path = Path(shutil.copy(CALLS, place))
    assert solved(path) == [("multi_turn_base_0", None), ("multi_turn_base_1", None)]
    scores(tmp_path / "score" / "parrot" / "multi_turn", 2, "multi_turn_base_1")
    turns = rw.read(path)
    assert solved(path) == [("multi_turn_base_0", True), ("multi_turn_base_1", False)]
    assert turns.select("target", "category", "total_tokens").unique().height == 2
    assert turns.filter(task="multi_turn_base_0").select("turn", "prompt", "response").rows() == [
        (1, "Go to the nest.", None),
        (2, None, None),
        (3, None, None),
        (4, "Thanks.", "Done."),
    ]
    assert turns["tool_calls"].to_list()[1] == [{"name": "cd", "arguments": '{"folder": "nest"}'}]
    assert turns.filter(task="multi_turn_base_1").select("turn", "error", "error_type").rows() == [
        (None, "Error during inference: 429", "wrong_count")
    ]


@pytest.mark.thinned(40)
@pytest.mark.parametrize("wrong", [(), ("multi_turn_base_0",), ("multi_turn_base_0", "multi_turn_base_1")])
@pytest.mark.parametrize("folders", [("result", "score"), ("", "")])
def test_scores_beside_results_are_no_rollouts(tmp_path, wrong, folders):
    """Also where all results are wrong, so that both files have a line for each."""
    result, score = (tmp_path / name for name in folders)
    result.mkdir(exist_ok=True)
    shutil.copy(CALLS, result)
    scores(score, 2, *wrong)
    said = dict(solved(tmp_path))
    assert said == {name: name not in wrong for name in ("multi_turn_base_0", "multi_turn_base_1")}
    with pytest.raises(ReadError, match="holds scores of results of BFCL, not rollouts"):
        rw.read(score / "BFCL_v4_multi_turn_base_score.json")


@pytest.mark.thinned(40)
@pytest.mark.parametrize("total", [1, 3, 400])
def test_scores_of_other_results_judge_only_what_they_list(tmp_path, total):
    """A part that was evaluated anew, or results that were added: what is not listed may be either."""
    shutil.copy(CALLS, tmp_path)
    scores(tmp_path, total, "multi_turn_base_1")
    turns, problems = rw.read(tmp_path / CALLS.name, errors="collect")
    assert solved(tmp_path / CALLS.name) == [("multi_turn_base_0", None), ("multi_turn_base_1", False)]
    assert "counts another number of results" in " ".join(problems["reason"])
    assert turns["target"].null_count() == turns.height


@pytest.mark.thinned(40)
@pytest.mark.parametrize("text", ["", "[]", '{"accuracy": 1}\n', '{"total_count": 2}\n{"id": 1}\n', "\xff"])
def test_broken_scores_judge_nothing(tmp_path, text):
    shutil.copy(CALLS, tmp_path)
    (tmp_path / "BFCL_v4_multi_turn_base_score.json").write_text(text, encoding="latin-1")
    assert solved(tmp_path / CALLS.name) == [("multi_turn_base_0", None), ("multi_turn_base_1", None)]


def test_a_test_run_of_deepeval_is_as_its_totals_say():
    """In the shape of the run in 57LaoBan/agent, whose `testPassed` counts the cases with `success`."""
    turns = rw.read(RUN)
    columns = ("target", "prompt", "response", "solved", "score_answer_relevancy", "score_tone", "expected")
    assert turns.select(columns).rows() == [
        ("parrot", "Name a bird.", "The wren.", True, 0.9, 0.8, "The wren."),
        ("parrot", "Name a fish.", "A stone.", False, 0.1, None, None),
        ("parrot", "Name a tree.", "The oak.", None, None, None, None),
        ("parrot", "Hi", "A wren.", True, None, None, "A bird."),
        ("parrot", "And?", "An owl.", True, None, None, "A bird."),
    ]
    assert turns.row(0, named=True)["tool_calls"] == [{"name": "look_up", "arguments": '{"of":"bird"}'}]
    assert turns["judge"].unique().to_list() == ["judge-1"]


@pytest.mark.parametrize(
    ("name", "value"), [("metricsData", -1.5), ("metricsData", [3]), ("toolsCalled", None), ("metricsData", None)]
)
def test_odd_fields_of_deepeval_cost_no_other_case(tmp_path, name, value):
    run = json.loads(RUN.read_text())
    run["testRunData"]["testCases"][0][name] = value
    run["testRunData"]["testCases"][1]["metricsData"][0]["evaluationModel"] = []
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run))
    turns, _ = rw.read(path, errors="collect")
    assert turns.unique("rollout_id", maintain_order=True)["solved"].to_list() == [True, False, None, True]


@pytest.mark.parametrize("value", [10**30, "x", [[10**30]], None])
def test_odd_tokens_of_bfcl_are_null(tmp_path, value):
    rows = [json.loads(line) for line in CALLS.read_text().splitlines()]
    rows[0] |= {"input_token_count": value, "inference_log": [{"begin_of_turn_query": True}]}
    path = tmp_path / CALLS.name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    turns, _ = rw.read(path, errors="collect")
    assert turns.filter(turn=1)["total_tokens"].to_list() == [None]


def test_old_test_runs_are_read(tmp_path):
    """As DeepEval wrote them before 1.0: no wrapper, and `metricsMetadata` with the name of each metric under `metric`."""
    metric = {"metric": "Hallucination", "score": 0.2, "threshold": 0.5, "success": True}
    case = {"name": "n", "input": "Hi", "actualOutput": "Hello", "success": True, "metricsMetadata": [metric]}
    messages = [{"input": "a", "actualOutput": "b"}, {"input": "c", "actualOutput": "d"}]
    chat = {"name": "c", "success": False, "messages": messages, "metricsMetadata": []}
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"testCases": [case], "conversationalTestCases": [chat], "metricScores": []}))
    rows = rw.read(path).select("prompt", "response", "solved", "score_hallucination").rows()
    assert rows == [("Hi", "Hello", True, 0.2), ("a", "b", False, None), ("c", "d", False, None)]


def test_a_hidden_run_is_read(tmp_path):
    """DeepEval keeps its last run in `.deepeval/.latest_test_run.json`."""
    (tmp_path / ".deepeval").mkdir()
    hidden = Path(shutil.copy(RUN, tmp_path / ".deepeval" / ".latest_test_run.json"))
    assert rw.read(hidden)["rollout_id"].n_unique() == rw.read(hidden.parent)["rollout_id"].n_unique() == 4
    other = tmp_path / "other"
    other.mkdir()
    (other / ".notes.json").write_text("{}")
    with pytest.raises(ReadError, match=r"such as .*\.notes\.json\); name one that holds logs"):
        rw.read(other)
    hidden.write_text('{"testRunLink": "https://app.confident-ai.com/x"}')
    with pytest.raises(ReadError, match="holds a link to a test run of DeepEval, not rollouts"):
        rw.read(hidden)
