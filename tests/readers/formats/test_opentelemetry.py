"""OpenTelemetry: the conventions of now and before, OpenInference's, what OTLP writes and what the SDK prints."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rollwise import read, schema
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "opentelemetry"


@pytest.fixture(scope="module")
def traces() -> pl.DataFrame:
    frame = read(FIXTURES)
    schema.check(frame, schema.TURNS)
    return frame.with_columns(trace=pl.col("rollout_id").str.split("/").list.last())


def of(traces: pl.DataFrame, trace: str, *columns: str) -> list[tuple[Any, ...]]:
    return traces.filter(trace=trace).select(columns).rows()


def exported(path: Path, *spans: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    return path


def span(name: str, start: int, **attributes: str | int) -> dict[str, Any]:
    pairs = [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in attributes.items()
    ]
    return {
        "traceId": "t",
        "spanId": name,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": start + 1,
        "attributes": pairs,
    }


def chat(said: str | None = "No", **more: str | int) -> dict[str, str | int]:
    answer = {} if said is None else {"gen_ai.completion.0.content": said}
    return {"gen_ai.operation.name": "chat", "gen_ai.prompt.0.content": "Hi", **answer, **more}


def test_each_call_of_a_model_is_a_turn(traces):
    assert of(traces, "t1", "turn", "context", "prompt", "response", "reasoning", "model") == [
        (1, "Be kind.", "Weather in Paris?", None, "I must look.", "parrot-2"),
        (2, None, '{"rain":true}', "It rains.", None, "parrot"),
    ]
    assert traces.filter(trace="t1")["tool_calls"].to_list() == [
        [{"name": "weather", "arguments": '{"city":"Paris"}'}],
        None,
    ]


def test_what_the_calls_took(traces):
    taken = ("prompt_tokens", "response_tokens", "total_tokens", "seconds", "total_seconds")
    assert of(traces, "t1", *taken) == [(10, 4, 37, 1.0, 5.0), (20, 3, 37, 1.5, 5.0)]
    assert of(traces, "t3", *taken[:3]) == [(7, 2, 9)]


def test_facts_of_a_trace(traces):
    assert of(traces, "t1", "target", "service", "conversation", "agent", "ending")[0] == (
        "parrot-2",
        "agent",
        "talk-1",
        "helper",
        None,
    )


def test_a_call_that_failed(traces):
    assert of(traces, "t2", "turn", "prompt", "response", "error", "ending") == [
        (None, "Hi", None, "timed out", "error")
    ]


def test_the_conventions_of_before(traces):
    assert of(traces, "t3", "target", "context", "prompt", "response") == [
        ("gpt-4.1-nano", "Be brief.", "Joke?", "Knock.")
    ]
    assert traces.filter(trace="t3")["tool_calls"][0].to_list() == [{"name": "laugh", "arguments": '{"loud":true}'}]
    assert of(traces, "t4", "context", "prompt", "response") == [("Be kind.", "Hi", "Hello")], "events of the span"


def test_the_words_of_openinference(traces):
    assert of(traces, "t5", "target", "prompt", "response", "prompt_tokens") == [("crow", "Hey", "Caw", 3)]


def test_what_the_sdk_prints(traces):
    assert of(traces, "0x6", "prompt", "response", "seconds", "service") == [("Hi", "Hello", 2.5, "printed")]


@pytest.mark.parametrize(
    ("file", "target", "arguments", "answer", "tokens"),
    [
        ("pydantic_ai.json", "test", '{"city":"a"}', '{"weather":"rain"}', [53, 54]),
        ("openllmetry.json", "gpt-4o-2024", '{"city":"Paris"}', "It rains.", [11, 11]),
    ],
)
def test_what_two_instruments_write(file, target, arguments, answer, tokens):
    """Of Pydantic AI 2.68 with its own model for tests, and of OpenLLMetry 0.62 around a client of OpenAI's."""
    frame = read(FIXTURES / file)
    assert frame.select("turn", "target", "context", "prompt", "response").rows() == [
        (1, target, "Be kind.", "Weather in Paris?", None),
        (2, target, None, "rain", answer),
    ]
    assert frame["tool_calls"].to_list() == [[{"name": "weather", "arguments": arguments}], None]
    assert frame["prompt_tokens"].to_list() == tokens


def test_traces_without_a_model_are_no_rollouts(traces, tmp_path):
    assert "t9" not in traces["trace"].to_list()
    plain = exported(tmp_path / "a.json", span("a", 1, **{"http.method": "GET"}))
    with pytest.raises(ReadError, match="holds spans of traces, not rollouts"):
        read(plain)


def test_calls_stand_in_the_order_in_which_they_began(tmp_path):
    later = span("b", 2_000_000_000, **chat("Later"))
    frame = read(exported(tmp_path / "a.json", later, span("a", 1_000_000_000, **chat("First"))))
    assert frame.select("turn", "response").rows() == [(1, "First"), (2, "Later")]


def test_an_agent_alone_is_what_it_was_asked_and_said(tmp_path):
    told = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.prompt.0.content": "Hi",
        "gen_ai.completion.0.content": "Yes",
    }
    assert read(exported(tmp_path / "a.json", span("a", 1, **told))).select("turn", "prompt", "response").rows() == [
        (1, "Hi", "Yes")
    ]


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    "answer", ["[redacted] is all I say", '{"weather":"rain"}', "[1, 2]", "[]", '[{"a": 1}]', '{"text":"no"}']
)
def test_answers_that_are_json_or_begin_like_it_stay_texts(tmp_path, answer):
    frame = read(exported(tmp_path / "a.json", span("a", 1, **chat(answer))))
    assert frame["response"].to_list() == [answer]
    parts = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": answer}]}])
    told = {"gen_ai.operation.name": "chat", "gen_ai.prompt.0.content": "Hi", "gen_ai.output.messages": parts}
    assert read(exported(tmp_path / "b.json", span("a", 1, **told)))["response"].to_list() == [answer]
    event = {"name": "gen_ai.choice", "attributes": [{"key": "content", "value": {"stringValue": answer}}]}
    given = {**span("a", 1, **chat(None)), "events": [event]}
    assert read(exported(tmp_path / "c.json", given))["response"].to_list() == [answer]


def test_a_broken_span_is_named_and_leaves_the_others(tmp_path):
    broken = {**span("b", 2, **chat()), "traceId": 7}
    path = exported(tmp_path / "a.json", span("a", 1, **chat()), broken)
    with pytest.raises(ReadError, match=r"a\.json.*traceId`: expected `str`, got `int`"):
        read(path)
    frame, problems = read(path, errors="collect")
    assert frame["response"].to_list() == ["No"]
    assert problems["field"].to_list() == ["resourceSpans.scopeSpans.spans.traceId"]
