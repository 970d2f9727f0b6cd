"""Traces of Langfuse, with their observations and without, and observations alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from rollwise import read
from rollwise.errors import ReadError
from rollwise.readers.traces.spoken import gave_back, input_messages

FIXTURES = Path(__file__).parents[1] / "fixtures" / "langfuse"
TRACES: list[dict[str, Any]] = json.loads((FIXTURES / "traces.json").read_text())["data"]
COLUMNS = ("turn", "context", "prompt", "response", "error", "prompt_tokens", "response_tokens", "seconds", "cost_usd")


def written(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_traces_are_rollouts_and_generations_are_turns():
    frame = read(FIXTURES / "traces.json")
    assert frame.select(COLUMNS).rows() == [
        (1, "Be kind.", "Send it", None, None, 10, 4, 0.5, 0.001),
        (2, None, "sent", "Done", None, 20, 2, 1.0, 0.002),
        (None, None, "Look", None, "Overloaded", None, None, 1.0, None),
        (1, None, "Is anybody there?", "Yes.", None, None, None, None, None),
    ]
    assert [name.split("/")[1] for name in frame["rollout_id"]] == ["t1", "t1", "t2", "t3"]
    assert frame["tool_calls"][0].to_list() == [{"name": "send", "arguments": '{"to":"Ann"}'}]
    assert frame.select("target", "total_tokens", "total_seconds", "total_cost_usd", "ending").rows()[1:3] == [
        ("parrot-1", 36, 3.5, 0.003, None),
        ("parrot-1", None, 1.0, None, "error"),
    ]
    assert frame.select("score_harm", "score_verdict", "session_id", "tags").row(0) == (0.25, "unsafe", "u7", '["red"]')
    assert "score_tone" not in frame.columns


def test_observations_alone_are_the_same_turns():
    alone = read(FIXTURES / "observations.jsonl")
    assert alone.select(COLUMNS).equals(read(FIXTURES / "traces.json").head(3).select(COLUMNS))


def test_a_list_of_traces_that_only_names_observations(tmp_path):
    """As `GET /api/public/traces` gives it: what went in and what came out is the only turn."""
    record = {**TRACES[0], "observations": ["o1", "o2", "o3"], "scores": ["s1"]}
    frame, problems = read(written(tmp_path / "a.jsonl", {**record, "scores": []}), errors="collect")
    assert frame.select("turn", "prompt", "response", "total_seconds").rows() == [(1, "Send it", "Done", 3.5)]
    assert problems.is_empty()
    assert read(written(tmp_path / "b.jsonl", record))["response"].to_list() == ["Done"]


def test_what_tracers_note_of_a_call():
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    assert [message.content for message in input_messages(json.dumps(chat))] == ["Hi", "Hello"]
    assert [message.content for message in input_messages(chat[0])] == ["Hi"]
    assert [message.role for message in input_messages({"system": "Be kind.", "messages": chat[:1]})] == [
        "system",
        "user",
    ]
    assert input_messages("[not JSON")[0].content == "[not JSON"
    assert input_messages(None) == []
    for said in (chat, {"messages": chat}, chat[1], {"content": "Hello"}, "Hello", [{**chat[1]}]):
        assert getattr(gave_back(said), "content", None) == "Hello"
    assert getattr(gave_back({"verdict": 1, "sure": True}), "content", None) == '{"verdict":1,"sure":true}'


@pytest.mark.thinned(40)
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"observations": 3}, "field `observations`"),
        ({"observations": [{"id": "o"}]}, r"field `observations\[0\]`: object missing required field `traceId`"),
        ({"observations": [{**TRACES[1]["observations"][0], "input": [{"role": 3}]}]}, r"observations\[0\].input"),
        ({"scores": [{"value": 1}]}, r"field `scores\[0\]`"),
    ],
)
def test_a_broken_trace_is_named_and_the_others_are_read(tmp_path, change, says):
    path = written(tmp_path / "a.jsonl", TRACES[0], {**TRACES[2], **change})
    with pytest.raises(ReadError, match=says):
        read(path)
    frame, problems = read(path, errors="collect")
    assert (frame["rollout_id"].n_unique(), problems.height) == (1, 1)
