"""Spans in the words of OpenInference: of Phoenix's API, its data frames, and with names of any nesting."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rollwise import read
from rollwise.errors import ReadError
from rollwise.readers.traces.otlp import undotted

SPANS = Path(__file__).parents[1] / "fixtures" / "phoenix" / "spans.json"
DATA: list[dict[str, Any]] = json.loads(SPANS.read_text())["data"]


def as_columns(span: dict[str, Any]) -> dict[str, Any]:
    """A row of `get_spans_dataframe`: attributes in columns, lists of messages in cells."""
    told = undotted(span["attributes"])
    llm = told.get("llm", {})
    row = {f"context.{name}": value for name, value in span["context"].items()}
    row |= {name: span[name] for name in ("name", "span_kind", "parent_id", "start_time", "end_time", "status_code")}
    row |= {"status_message": span["status_message"], "attributes.llm.model_name": llm.get("model_name")}
    for side in ("input", "output"):
        messages = [
            {f"message.{name}": value for name, value in each["message"].items()}
            for each in llm.get(f"{side}_messages", [])
        ]
        row |= {f"attributes.llm.{side}_messages": messages or None}
        row |= {f"attributes.{side}.value": told.get(side, {}).get("value")}
    for name in ("prompt", "completion"):
        row[f"attributes.llm.token_count.{name}"] = llm.get("token_count", {}).get(name)
    return row


def test_traces_are_rollouts_and_calls_of_models_are_turns():
    frame = read(SPANS)
    columns = ("turn", "context", "prompt", "response", "error", "prompt_tokens", "response_tokens", "seconds")
    assert frame.select(columns).rows() == [
        (1, "Be kind.", "Send it", None, None, 10, 4, 0.5),
        (2, None, "sent", "Done", None, 20, 2, 1.0),
        (None, None, "Look", None, "Overloaded", None, None, 1.0),
        (1, None, "Is anybody there?", "Yes.", None, None, None, 1.0),
    ]
    assert [name.split("/")[1] for name in frame["rollout_id"]] == ["t1", "t1", "t2", "t3"]
    assert frame["tool_calls"][0].to_list() == [{"name": "send", "arguments": '{"to":"Ann"}'}]
    assert frame.select("target", "total_tokens", "total_seconds", "total_cost_usd", "ending").rows()[1:3] == [
        ("parrot-1", 36, 3.5, pytest.approx(0.003), None),
        ("parrot-1", None, 1.0, None, "error"),
    ]
    assert frame["span_id"].to_list() == ["s2", "s3", "s5", "s6"]
    assert frame.select("session", "metadata").row(0) == ('{"id":"u7"}', '{"goal": "send"}')


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["flat lines", "nested lines", "a frame as lines", "a frame as Parquet"])
def test_spans_in_other_shapes_are_the_same(tmp_path, kind):
    whole = read(SPANS)
    if "frame" in kind:
        rows = [as_columns(span) for span in DATA]
        path = tmp_path / ("spans.parquet" if "Parquet" in kind else "spans.jsonl")
        if "Parquet" in kind:
            pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path = tmp_path / "spans.jsonl"
        told = undotted if kind.startswith("nested") else dict
        path.write_text("".join(json.dumps({**span, "attributes": told(span["attributes"])}) + "\n" for span in DATA))
    frame = read(path)
    columns = [
        "turn",
        "target",
        "context",
        "prompt",
        "response",
        "tool_calls",
        "prompt_tokens",
        "seconds",
        "error",
        "ending",
    ]
    assert frame.select(columns).equals(whole.select(columns))


def test_times_of_a_data_frame_are_thousandths(tmp_path):
    rows = [{**as_columns(span), "start_time": 1_767_225_600_000, "end_time": 1_767_225_601_500} for span in DATA[:1]]
    (tmp_path / "spans.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read(tmp_path).select("seconds", "total_seconds").row(-1) == (1.5, 1.5)


def test_the_chat_that_the_first_call_is_shown_is_read_whole(tmp_path):
    """A trace that goes on with a chat begun before: its turns stand there, without what they took."""
    (tmp_path / "spans.jsonl").write_text(json.dumps(DATA[0]) + "\n")
    frame = read(tmp_path)
    assert frame.select("turn", "prompt", "response", "prompt_tokens", "span_id").rows() == [
        (1, "Send it", None, None, None),
        (2, "sent", "Done", 20, "s3"),
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"context": {"trace_id": "t"}}, "field `context`"),
        ({"attributes": 3}, "field `attributes`"),
        ({"start_time": "today"}, "field `start_time`: is 'today', not a time in ISO 8601"),
        ({"attributes": {"llm.input_messages": 3}}, "field `llm.input_messages`"),
        ({"attributes": {"llm.input_messages.0.message.role": 3}}, "field `llm.input_messages"),
    ],
)
def test_a_broken_span_is_named_and_the_others_are_read(tmp_path, change, says):
    records = [*DATA[:3], {**DATA[4], **change}]
    (tmp_path / "spans.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.raises(ReadError, match=says):
        read(tmp_path)
    frame, problems = read(tmp_path, errors="collect")
    if "message.role" in str(change):  # an odd role is read as text, and names no speaker that is known
        assert problems["reason"].str.contains("read as text|not a known speaker").to_list() == [True, True]
    else:
        # An odd time costs itself alone.
        assert (frame["rollout_id"].n_unique(), problems.height) == (2 if "start_time" in change else 1, 1)


def test_a_name_with_dots_and_an_object_of_that_name_are_one_object():
    """Both parts are kept, in either order."""
    merged = {"llm": {"model_name": "m", "provider": "p"}}
    assert undotted({"llm.model_name": "m", "llm": {"provider": "p"}}) == merged
    assert undotted({"llm": {"provider": "p"}, "llm.model_name": "m"}) == merged
