"""Scores that are given twice, and lines out of the order of their times: times decide, or nothing is known."""

import json
from pathlib import Path

import pytest
from readers.repeats.versions import read, written  # type: ignore[import-not-found]  # needs the path of tests

import rollwise as rw
from rollwise.errors import ReadError

START = "2026-01-01T00:00:00Z"


def langfuse(*scores: tuple[float, str | None]) -> str:
    """A trace with scores of one name."""
    listed = [{"id": f"s{n}", "name": "harm", "value": value, "updatedAt": at} for n, (value, at) in enumerate(scores)]
    return json.dumps(
        {
            "id": "t",
            "timestamp": "2026-01-01T00:00:00Z",
            "observations": [],
            "input": "Hi",
            "output": "No",
            "scores": listed,
        }
    )


def pyrit(*scores: tuple[float, str | None]) -> str:
    """An export with scores of one scorer."""
    listed = [
        {
            "score_value": str(value),
            "score_type": "float_scale",
            "scorer_class_identifier": {"__type__": "harm"},
            "timestamp": at,
        }
        for value, at in scores
    ]
    common = {"conversation_id": "k", "converted_value": "Hi"}
    question = {"id": "1", "role": "user", "sequence": 0, "scores": [], **common}
    return json.dumps([question, {"id": "2", "role": "assistant", "sequence": 1, "scores": listed, **common}])


def mlflow(*scores: tuple[float, str | None]) -> str:
    """A trace with assessments of one name by one source."""
    listed = [{"assessment_name": "harm", "feedback": {"value": value}, "create_time": at} for value, at in scores]
    span = {
        "trace_id": "t",
        "span_id": "s",
        "name": "chat",
        "attributes": {"mlflow.spanType": '"LLM"', "mlflow.spanInputs": '"Hi"', "mlflow.spanOutputs": '"No"'},
    }
    return json.dumps({"info": {"trace_id": "t", "assessments": listed}, "data": {"spans": [span]}})


@pytest.mark.thinned(2)
@pytest.mark.parametrize("tool", [langfuse, pyrit, mlflow], ids=lambda tool: tool.__name__)
def test_of_two_scores_of_one_name_the_latest_counts_or_none(tmp_path, tool):
    early, late = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    path = tmp_path / "log.json"
    for scores, expected, is_told in (
        ([(0.25, None), (0.25, None)], 0.25, False),
        ([(0.25, early), (0.75, late)], 0.75, True),
        ([(0.25, late), (0.75, early)], 0.25, True),
        ([(0.25, "2026-01-01 12:00:00 UTC"), (0.75, "Thu, 01 Jan 2026 18:00:00 GMT")], 0.75, True),
        ([(0.25, early), (0.75, None)], None, True),
        ([(0.25, early), (0.75, early)], None, True),
    ):
        path.write_text(tool(*scores))
        turns, problems, unread = read(path)
        assert turns["score_harm"].to_list() == [expected]
        assert problems.height == is_told
        if expected is None:
            with pytest.raises(
                ReadError, match=r"is 0\.25 and 0\.75: which of them counts is not known; delete the wrong ones"
            ):
                rw.read(path)
        else:
            assert (rw.read(path)["score_harm"].to_list(), unread) == ([expected], 0)


@pytest.mark.integration
def test_lines_out_of_the_order_of_their_times_are_put_in_order(tmp_path):
    fixtures = Path(__file__).parents[1] / "fixtures"
    path = tmp_path / "rollout-2025-10-29T00-59-38-C1.jsonl"
    lines = (fixtures / "codex" / path.name).read_text().splitlines()
    stamped = [json.loads(line) for line in lines]
    for second, line in enumerate(stamped):
        line["timestamp"] = f"2025-10-29T01:00:{second:02}Z"
    written(path, *stamped)
    whole = rw.read(path)
    written(path, stamped[0], *stamped[:0:-1])
    turns, problems, unread = read(path)
    assert turns.select("prompt", "response").equals(whole.select("prompt", "response"))
    assert problems.select("field", "reason").rows() == [
        ("timestamp", "is not in the order of the lines, which are read in the order of their times")
    ]
    assert unread == 0
    simulation = json.loads((fixtures / "tau2" / "voice" / "simulations" / "sim-9.json").read_text())
    spoken = rw.read(fixtures / "tau2" / "voice" / "simulations" / "sim-9.json")
    simulation["ticks"].reverse()
    path = tmp_path / "sim-9.json"
    path.write_text(json.dumps(simulation))
    assert read(path)[0].select("prompt", "response").equals(spoken.select("prompt", "response"))


def test_events_of_atof_are_in_order_and_none_is_its_own_parent(tmp_path):
    events = [
        json.loads(line)
        for line in (Path(__file__).parents[1] / "fixtures" / "atof" / "openai.jsonl").read_text().splitlines()
    ]
    for second, event in enumerate(events):
        event["timestamp"] = f"2026-01-01T00:00:{second:02}Z"
    path = written(tmp_path / "events.jsonl", *events)
    whole = rw.read(path)
    written(path, *events[::-1])
    turns, problems, _ = read(path)
    assert turns.select("prompt", "response").equals(whole.select("prompt", "response"))
    assert problems["field"].to_list() == ["timestamp"]
    roots = [event | ({"parent_uuid": event["uuid"]} if event["parent_uuid"] is None else {}) for event in events]
    turns, problems, _ = read(written(path, *roots))
    assert turns.select("prompt", "response").equals(whole.select("prompt", "response"))
    assert "names the event itself" in problems["reason"].item()


def test_a_run_of_langsmith_that_stands_twice(tmp_path):
    run = {
        "id": "r",
        "trace_id": "r",
        "run_type": "llm",
        "inputs": {"input": "Hi"},
        "outputs": {"output": "No"},
        "end_time": START,
    }
    other = {**run, "feedback_stats": {"harm": {"avg": 0.25}}}
    path = written(tmp_path / "runs.jsonl", other, {**other, "feedback_stats": {"harm": {"avg": 0.75}}})
    turns, problems, _ = read(path)
    assert turns["score_harm"].to_list() == [None]
    assert sorted(problems["field"]) == ["id", "score_harm"]
    assert read(written(path, other, other))[1].is_empty()
    assert read(written(path, {**run, "end_time": None, "outputs": None}, run))[0]["response"].to_list() == ["No"]


def test_a_document_of_the_harness_that_stands_twice(tmp_path):
    sample = {
        "doc_id": 3,
        "target": "4",
        "arguments": [["2 + 2?", {}]],
        "resps": [["4!"]],
        "filter": "none",
        "metrics": ["exact_match"],
    }
    path = written(tmp_path / "samples_sums.jsonl", {**sample, "exact_match": 1.0}, {**sample, "exact_match": 1.0})
    turns, problems, unread = read(path)
    assert (turns["solved"].to_list(), problems["field"].to_list(), unread) == ([True], ["doc_id"], 0)
    turns, problems, _ = read(written(path, {**sample, "exact_match": 1.0}, {**sample, "exact_match": 0.0}))
    assert (turns["solved"].to_list(), problems["field"].to_list()) == ([None], ["exact_match"])
    other = {**sample, "arguments": [["3 + 3?", {}]], "exact_match": 0.0}
    turns, problems, unread = read(written(path, {**sample, "exact_match": 1.0}, other))
    assert (turns["solved"].to_list(), problems["record"].to_list(), unread) == ([True], ["2"], 1)


def test_a_detector_that_judges_one_output_twice(tmp_path):
    hit = {"attempt_id": "a", "attempt_seq": 0, "attempt_idx": 0, "probe": "p.P", "detector": "d.D", "run_id": "H"}
    hit |= {"prompt": "Hi", "output": "No", "goal": "g", "triggers": None, "generator": "test parrot"}
    path = written(tmp_path / "a.hitlog.jsonl", {**hit, "score": 1.0}, {**hit, "score": 1.0})
    assert read(path)[0]["score"].to_list() == [1.0]
    turns, problems, _ = read(written(path, {**hit, "score": 1.0}, {**hit, "score": 0.25}))
    assert turns.select("score", "score_d.D").row(0) == (None, None)
    assert problems["field"].to_list() == ["score"]
