"""MLflow: three traces that mlflow-tracing 3.17.2 wrote: an agent with a tool, one whose model fails, one without a model."""

import json
from pathlib import Path

import polars as pl
import pytest

from rollwise import read
from rollwise.errors import ReadError
from rollwise.judges import read_verdicts

TRACES = Path(__file__).parents[1] / "fixtures" / "mlflow" / "traces.jsonl"


@pytest.fixture
def traces() -> list[dict]:
    return [json.loads(line) for line in TRACES.read_text().splitlines()]


def test_calls_of_models_are_turns(traces):
    frame = read(TRACES)
    rollouts = frame.unique("rollout_id", keep="first", maintain_order=True)
    assert [name.split("/")[1] for name in rollouts["rollout_id"]] == [trace["info"]["trace_id"] for trace in traces]
    calls = [
        span for trace in traces for span in trace["data"]["spans"] if "CHAT" in span["attributes"]["mlflow.spanType"]
    ]
    assert frame["prompt_tokens"].count() == len(calls) == 3
    agent = frame.filter(rollout_id=rollouts["rollout_id"][0])
    assert agent.select("turn", "prompt", "response", "prompt_tokens", "response_tokens").rows() == [
        (1, "2 + 2?", None, 7, 3),
        (2, "4", "It is 4 ☃", 7, 3),
    ]
    assert agent["tool_calls"][0].to_list() == [{"name": "look", "arguments": '{"q": "x"}'}]
    assert set(agent["target"]) == {"acme/parrot"}
    tokens = json.loads(traces[0]["info"]["trace_metadata"]["mlflow.trace.tokenUsage"])["total_tokens"]
    assert set(agent["total_tokens"]) == {tokens} == {20}
    assert agent["total_seconds"][0] * 1000 == pytest.approx(traces[0]["info"]["execution_duration_ms"], abs=2)


def test_a_call_without_a_type_is_one_if_it_counts_tokens(tmp_path, traces):
    """And is named otherwise."""
    call = traces[0]["data"]["spans"][3]["attributes"]
    del call["mlflow.spanType"]
    (tmp_path / "traces.json").write_text(json.dumps(traces[0]))
    turns, problems = read(tmp_path, errors="collect")
    assert turns["response"].to_list() == [None, "It is 4 ☃"]
    assert problems.height == 0
    del call["mlflow.chat.tokenUsage"]
    (tmp_path / "traces.json").write_text(json.dumps(traces[0]))
    turns, problems = read(tmp_path, errors="collect")
    assert turns["response"].to_list() == [None]
    assert problems["reason"].to_list() == ["is missing, and so are tokens: the span is passed over"]


def test_a_failed_call_and_a_trace_without_calls(traces):
    frame = read(TRACES)
    failed, plain = frame.filter(pl.col("state") == "ERROR"), frame.filter(trace_name="plain")
    assert traces[1]["info"]["state"] == "ERROR"
    assert failed.select("ending").row(0) == ("error",)
    assert "model is down" in failed["error"][0]
    assert plain.select("prompt", "response", "ending").row(0) == ("2 + 2?", "fine", None)


def test_assessments_are_scores_and_verdicts(traces):
    given = traces[0]["info"]["assessments"]
    frame = read(TRACES)
    first = frame.row(0, named=True)
    assert (first["score_correct"], first["score_correct_ann"], first["score_relevance"]) == (True, False, "yes")
    assert (first["expected"], first["score_safe"]) == ("4", None)
    assert "score_length" not in frame.columns  # of one span
    verdicts = read_verdicts(TRACES)
    assert verdicts.height == sum("feedback" in assessment for assessment in given) == 5
    rows = verdicts.select("judge", "sample", "value", "label", "source_id", "reasoning").rows()
    assert rows[:3] == [
        ("correct", 1, 1.0, "true", "acme/judge", "It is."),
        ("correct", 2, 0.0, "false", "ann", None),
        ("relevance", 1, 1.0, "yes", "acme/judge", None),
    ]
    assert verdicts.filter(judge="safe").select("value", "error").row(0) == (None, "judge is down")
    judged_span = verdicts.filter(judge="length")["span_id"].item()
    assert frame.filter(span_id=judged_span)["response"].to_list() == ["It is 4 ☃"]
    assert set(verdicts["rollout_id"]) <= set(frame["rollout_id"])


def test_feedback_that_was_replaced_is_no_verdict(tmp_path, traces):
    traces[0]["info"]["assessments"][0]["valid"] = False
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(traces[0]))
    assert read(path)["score_correct"][0] is False
    assert read_verdicts(path).filter(judge="correct")["source_id"].to_list() == ["ann"]


def test_what_is_broken_is_one_sentence(tmp_path, traces):
    traces[0]["data"]["spans"][0]["start_time_unix_nano"] = "soon"
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(f"{json.dumps(trace)}\n" for trace in traces))
    with pytest.raises(ReadError, match=r"data\.spans\[0\]\.start_time_unix_nano`: expected `int"):
        read(path)
    turns, problems = read(path, errors="collect")
    assert turns["rollout_id"].n_unique() == 3  # an odd time costs itself alone
    assert problems.select("record", "field").rows() == [("1", "data.spans[0].start_time_unix_nano")]
