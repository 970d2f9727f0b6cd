"""Tokens of calls: cached and reasoning ones under keys of their own, and totals that the log states."""

import json
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw

COLUMNS = ("prompt_tokens", "response_tokens", "total_tokens")
MESSAGES = [{"role": "user", "content": "Hi"}]


def counted(path: Path, record: Any) -> tuple[tuple[int | None, ...], list[str]]:
    path.write_text(json.dumps(record))
    frame, problems = rw.read(path, errors="collect")
    return frame.select(COLUMNS).row(0), problems["reason"].to_list()


def of_langfuse(usage: Any, name: str = "usageDetails") -> Any:
    call = {
        "id": "o",
        "traceId": "t",
        "type": "GENERATION",
        "startTime": "2026-01-01T00:00:00Z",
        "input": MESSAGES,
        "output": "Ho",
    }
    return {"id": "t", "timestamp": "2026-01-01T00:00:00Z", "observations": [{**call, name: usage}]}


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"input": 86, "input_cached_tokens": 17817, "output": 10, "total": 17913}, (17903, 10, 17913)),
        ({"input": 86, "input_cached_tokens": 17817, "output": 10}, (17903, 10, 17913)),
        (
            {"input": 86, "cache_read_input_tokens": 17817, "cache_creation_input_tokens": 100, "output": 10},
            (18003, 10, 18013),
        ),
        ({"input": 86, "output": 10, "output_reasoning_tokens": 500, "total": 596}, (86, 510, 596)),
        ({"input": 86, "output": 10, "output_reasoning_tokens": 500}, (86, 510, 596)),
        # Where the total says that the parts are within, they are not counted twice.
        ({"input": 17903, "input_cached_tokens": 17817, "output": 10, "total": 17913}, (17903, 10, 17913)),
        (
            {"input": 90, "input_cached_tokens": 80, "output": 10, "output_reasoning_tokens": 500, "total": 600},
            (90, 510, 600),
        ),
        ({"input_text": 50, "input_audio": 36, "output": 10}, (86, 10, 96)),
        ({"input": 86, "output": 10, "search_units": 4, "total": 100}, (86, 10, 100)),
        ({"total": 96}, (None, None, 96)),
        ({}, (None, None, None)),
    ],
)
def test_keys_of_langfuse_add_up_unless_their_total_says_otherwise(tmp_path, usage, tokens):
    assert counted(tmp_path / "trace.json", of_langfuse(usage)) == (tokens, [])


def test_the_older_usage_of_langfuse_has_costs_beside_the_tokens(tmp_path):
    usage = {
        "input": 86,
        "output": 10,
        "total": 96,
        "unit": "TOKENS",
        "inputCost": 0.1,
        "outputCost": 2,
        "totalCost": 2.1,
    }
    assert counted(tmp_path / "trace.json", of_langfuse(usage, "usage")) == ((86, 10, 96), [])


def test_a_total_that_nothing_explains_is_told(tmp_path):
    tokens, reasons = counted(tmp_path / "trace.json", of_langfuse({"input": 86, "output": 10, "total": 600}))
    assert tokens == (86, 10, 600)
    assert reasons == ["states a total of 600, but its counts add up to 96: the stated total is kept"]


def of_openai(usage: Any) -> Any:
    body = {"id": "c", "object": "chat.completion", "model": "m", "usage": usage}
    answer = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Ho"}}
    return {"custom_id": "q", "error": None, "response": {"status_code": 200, "body": {**body, "choices": [answer]}}}


def of_gemini(usage: Any) -> Any:
    candidate = {"content": {"role": "model", "parts": [{"text": "Ho"}]}, "finishReason": "STOP"}
    return {"key": "q", "response": {"candidates": [candidate], "modelVersion": "m", "usageMetadata": usage}}


def of_langsmith(usage: Any) -> Any:
    run = {
        "id": "r",
        "trace_id": "r",
        "run_type": "llm",
        "inputs": {"messages": MESSAGES},
        "outputs": {"content": "Ho"},
    }
    return [{**run, **usage}]


def of_phoenix(usage: Any) -> Any:
    names = {f"llm.token_count.{name}": count for name, count in usage.items()}
    context = {"trace_id": "t", "span_id": "s"}
    return [{"context": context, "span_kind": "LLM", "name": "call", "attributes": {"input.value": "Hi", **names}}]


def of_opentelemetry(usage: Any) -> Any:
    attributes = {"gen_ai.operation.name": "chat", **{f"gen_ai.usage.{name}": count for name, count in usage.items()}}
    pairs = [
        {"key": key, "value": {"intValue": str(v)} if type(v) is int else {"stringValue": v}}
        for key, v in attributes.items()
    ]
    span = {
        "traceId": "t",
        "spanId": "s",
        "name": "chat",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
        "attributes": pairs,
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


@pytest.mark.thinned(40)
@pytest.mark.parametrize(
    ("make", "usage", "tokens"),
    [
        # OpenAI counts cached and reasoning tokens within; its compatible servers do not all.
        (
            of_openai,
            {"prompt_tokens": 90, "prompt_tokens_details": {"cached_tokens": 80}, "completion_tokens": 10},
            (90, 10, 100),
        ),
        (
            of_openai,
            {
                "prompt_tokens": 90,
                "completion_tokens": 10,
                "completion_tokens_details": {"reasoning_tokens": 500},
                "total_tokens": 600,
            },
            (90, 510, 600),
        ),
        (
            of_openai,
            {
                "input_tokens": 90,
                "output_tokens": 510,
                "output_tokens_details": {"reasoning_tokens": 500},
                "total_tokens": 600,
            },
            (90, 510, 600),
        ),
        (
            of_gemini,
            {
                "promptTokenCount": 90,
                "cachedContentTokenCount": 80,
                "toolUsePromptTokenCount": 30,
                "candidatesTokenCount": 10,
                "thoughtsTokenCount": 500,
                "totalTokenCount": 630,
            },
            (120, 510, 630),
        ),
        (of_gemini, {"promptTokenCount": 90, "candidatesTokenCount": 10}, (90, 10, 100)),
        (
            of_langsmith,
            {
                "prompt_tokens": 90,
                "completion_tokens": 10,
                "total_tokens": 100,
                "prompt_token_details": {"cache_read": 80},
            },
            (90, 10, 100),
        ),
        (of_langsmith, {"total_tokens": 100}, (None, None, 100)),
        (of_phoenix, {"prompt": 10, "prompt_details.cache_read": 80, "completion": 10, "total": 100}, (90, 10, 100)),
        (of_phoenix, {"prompt": 90, "prompt_details.cache_read": 80, "completion": 10, "total": 100}, (90, 10, 100)),
        (of_opentelemetry, {"input_tokens": 90, "cache_read.input_tokens": 80, "output_tokens": 10}, (90, 10, 100)),
        (of_opentelemetry, {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}, (90, 10, 100)),
    ],
)
def test_the_total_tells_whether_further_counts_are_within(tmp_path, make, usage, tokens):
    assert counted(tmp_path / "log.json", make(usage)) == (tokens, [])


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"input": 86, "output": "many"}, (86, None, None)),
        ({"input": 8.5, "output": 10}, (None, 10, None)),
        ({"input": 86, "input_cached_tokens": 0.5, "output": 10}, (None, 10, None)),
        ({"input": 86, "output": 10, "output_reasoning_tokens": 0.5}, (86, None, None)),
        ({"input": 86, "output": "many", "total": 96}, (86, None, 96)),
    ],
)
def test_a_sum_with_an_odd_count_is_unknown_and_not_that_of_the_others(tmp_path, usage, tokens):
    found, reasons = counted(tmp_path / "trace.json", of_langfuse(usage))
    assert found == tokens
    assert len(reasons) == 1


@pytest.mark.parametrize("odd", [1.5, "many", None])
def test_a_total_of_which_one_part_is_unknown_is_unknown(tmp_path, odd):
    stats = {"tokens_sent": 10, "tokens_received": odd}
    step = {"action": "ls", "observation": "x", "response": "ls"}
    record = {"trajectory": [step], "history": [], "info": {"exit_status": "submitted", "model_stats": stats}}
    (tmp_path / "a.traj").write_text(json.dumps(record))
    assert rw.read(tmp_path / "a.traj", errors="collect").frame["total_tokens"].to_list() == [None]
