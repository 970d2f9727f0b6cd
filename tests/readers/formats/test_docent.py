"""Docent: runs that its own data model wrote."""

import json
from pathlib import Path

import pytest

from rollwise import read
from rollwise.errors import ReadError
from rollwise.judges import join_labels, read_verdicts

FIXTURES = Path(__file__).parents[1] / "fixtures" / "docent"
RUNS = FIXTURES / "runs.json"
JUDGED = Path(__file__).parents[1] / "produced" / "docent" / "judge_results.json"  # by Docent's own classes, 0.1.88


def test_each_transcript_is_a_rollout_with_the_scores_of_its_run():
    runs = json.loads(RUNS.read_text())
    frame = read(RUNS)
    rollouts = frame.unique("rollout_id", keep="first", maintain_order=True)
    assert rollouts["rollout_id"].to_list() == ["run-1", "run-2/a", "run-2/b", "run-3"]
    answers = [m for run in runs for chat in run["transcripts"] for m in chat["messages"] if m["role"] == "assistant"]
    assert frame["turn"].count() == len(answers) == 4
    assert rollouts["score_match"].to_list() == [1.0, None, None, None]
    assert rollouts["score_reward_1"].to_list() == [None, 0.1, 0.1, None]
    assert rollouts["solved"].to_list() == [True, None, None, None]  # of two scores, none is named as the verdict
    assert rollouts["target"].to_list() == ["acme/parrot"] * 3 + [None]
    assert rollouts.select("task", "attempt").row(0) == ("sums/3", 2)
    assert rollouts["transcript_name"].to_list() == [None, "alice", "bob", None]
    assert json.loads(rollouts["scoring_metadata"][0]) == runs[0]["metadata"]["scoring_metadata"]


def test_turns_of_a_run():
    frame = read(FIXTURES / "run.json")
    assert frame.select("turn", "context", "prompt", "response", "reasoning").rows() == [
        (1, "Be brief.", "2 + 2? ☃", "Let me see.", "Use the tool."),
        (2, None, "4", "4", None),
    ]
    assert frame["tool_calls"][0].to_list() == [{"name": "calc", "arguments": '{"x":"2+2"}'}]


def test_older_runs_have_an_object_of_transcripts_and_the_model_may_be_in_a_message(tmp_path):
    run = json.loads((FIXTURES / "run.json").read_text())
    run["transcripts"] = {"main": run["transcripts"][0]}
    del run["metadata"]["model"], run["id"]
    (tmp_path / "runs.jsonl").write_text(json.dumps(run))
    frame = read(tmp_path)
    assert set(frame["target"]) == {"acme/parrot"}
    assert frame["rollout_id"][0].startswith("docent-")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"transcripts": []}, "field `transcripts`: is empty: a run has at least one transcript"),
        ({"transcripts": [{"id": "t", "messages": 3}]}, r"transcripts\[0\]\.messages"),
        ({"metadata": {"epoch": 1.5}}, r"metadata\.epoch`: expected a whole number"),
    ],
)
def test_what_is_broken_is_one_sentence(tmp_path, change, words):
    path = tmp_path / "runs.json"
    path.write_text(
        json.dumps([json.loads((FIXTURES / "run.json").read_text()) | change, json.loads(RUNS.read_text())[2]])
    )
    with pytest.raises(ReadError, match=words):
        read(path)
    # An odd number costs itself alone.
    assert set(read(path, errors="collect")[0]["rollout_id"]) == {"run-3"} | (
        {"run-9"} if "metadata" in change else set()
    )


def test_results_of_judges_are_verdicts_on_runs():
    verdicts = read_verdicts(JUDGED)
    labels = verdicts.filter(judge="rubric-1/2")
    assert labels.select("rollout_id", "sample", "value", "label", "error").rows() == [
        ("run-1", 1, 1.0, "match", None),
        ("run-1", 2, 1.0, "match", None),
        ("run-2", 1, 0.0, "no match", None),
        ("run-3", 1, 1.0, "match", None),
        ("run-3", 2, None, None, '{"error":"no answer ☃"}'),
    ]
    assert verdicts.filter(judge="rubric-1/2/severity")["value"].to_list() == [0.0, 1.0, 1.0, 2.0]
    assert labels["reasoning"][0] == "It answers [T0B1:<RANGE>Let me see</RANGE>] at once ☃."
    assert json.loads(labels["quotes"][0]) == [{"transcript_id": "t1", "block_idx": 1, "quoted_text": "Let me see"}]
    results = json.loads(JUDGED.read_text())["results"]
    assert labels["result_id"].to_list() == [result["id"] for result in results]


def test_results_of_judges_join_the_runs_that_they_judge():
    labels = read_verdicts(JUDGED).filter(judge="rubric-1/2/severity", sample=1).select("run", "value")
    labeled, _ = join_labels(read(RUNS), labels, on="run")
    by_rollout = labeled.unique("rollout_id", maintain_order=True).select("rollout_id", "value").rows()
    assert by_rollout == [("run-1", 0.0), ("run-2/a", 1.0), ("run-2/b", 1.0), ("run-3", 2.0)]


def test_results_of_judges_as_lines_and_beside_their_runs(tmp_path):
    results = json.loads(JUDGED.read_text())["results"]
    lines = tmp_path / "results.jsonl"
    lines.write_text("".join(f"{json.dumps(result)}\n" for result in results))
    assert read_verdicts(lines).drop("source").equals(read_verdicts(JUDGED).drop("source"))
    with pytest.raises(ReadError, match="holds verdicts of Docent's judges, not rollouts"):
        read(lines)
    (tmp_path / "runs.json").write_text(RUNS.read_text())
    assert read(tmp_path, errors="collect")[1].rows() == []
    results[1]["output"] = 3
    lines.write_text(json.dumps(results))
    with pytest.raises(ReadError, match=r"record 1: field `output`"):
        read_verdicts(lines)
