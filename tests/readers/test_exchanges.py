"""Requests to the APIs of Anthropic, Google and OpenAI, and what came back: batches and logs."""

import json
from pathlib import Path
from typing import Any

import pytest

from rollwise import read
from rollwise.errors import ReadError
from rollwise.readers.traces.requests import request_messages

FIXTURES = Path(__file__).parent / "fixtures"
CHAT = [{"role": "user", "content": "Hi"}]
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "parrot-1",
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
}
COMPLETION = {"id": "c_1", "model": "parrot-1", "choices": [{"message": {"role": "assistant", "content": "Hello"}}]}
CANDIDATES = {
    "responseId": "r_1",
    "modelVersion": "parrot-1",
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}}],
}


def written(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


# ── Anthropic ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_results_of_a_message_batch():
    frame = read(FIXTURES / "anthropic_output" / "batch_results.jsonl")
    columns = ("task", "attempt", "turn", "response", "error", "ending", "stop_reason", "reasoning")
    assert frame.select(columns).rows() == [
        ("q1", 1, 1, "Hello", None, None, "end_turn", None),
        ("q2", 1, 1, "On my way.", None, None, "tool_use", "Send it."),
        ("q3", 1, 1, None, None, None, "refusal", None),
        ("q4", 1, None, None, "Invalid model.", "error", None, None),
        ("q5", 1, None, None, "canceled", "error", None, None),
        ("q6", 1, None, None, "expired", "error", None, None),
    ]
    assert frame["tool_calls"][1].to_list() == [{"name": "send", "arguments": '{"to":"Ann"}'}]
    assert frame.select("prompt_tokens", "response_tokens", "total_tokens").row(0) == (122, 5, 127)
    assert frame["prompt"].null_count() == frame["refused"].null_count() == frame.height
    assert [name.split("/", 1)[1] for name in frame["rollout_id"]] == ["q1", "q2", "q3", "q4", "q5", "q6"]


def test_a_log_of_messages_has_what_was_asked():
    frame = read(FIXTURES / "anthropic_output" / "log.jsonl")
    assert frame.select("goal", "turn", "context", "prompt", "response", "observation", "error").rows() == [
        ("say hello", 1, "Be kind.", "Hi", "Hello", None, None),
        ("send it", 1, "Be kind.", "Send it", None, None, None),
        ("send it", 2, None, "sent", "Done", None, None),
        ("say bye", None, "Be kind.", "Bye", None, None, "Overloaded"),
    ]
    assert frame["tool_calls"][1].to_list() == [{"name": "send", "arguments": '{"to":"Ann"}'}]
    assert frame["prompt_tokens"].to_list() == [122, None, 122, None]
    assert frame.select("target", "model", "temperature", "max_tokens").row(0) == ("parrot-1", "parrot", 1.0, 64)
    assert frame["target"][3] == "parrot"  # nobody answered: who was asked
    assert [name.split("/", 1)[1] for name in frame["rollout_id"]] == ["c1", "c2", "c2", "c3"]


def test_a_message_alone():
    assert read(FIXTURES / "anthropic_output" / "message.json").select("turn", "response").row(0) == (1, "Hello")


# ── Gemini ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_results_of_a_batch_of_gemini():
    frame = read(FIXTURES / "gemini_output" / "batch_results.jsonl")
    columns = ("task", "attempt", "turn", "response", "error", "finish_reason", "reasoning", "total_tokens")
    assert frame.select(columns).rows() == [
        ("q1", 1, 1, "Hello", None, "STOP", None, 11),
        ("q2", 1, 1, "No", None, "STOP", None, None),
        ("q2", 2, 1, "Never", None, "STOP", None, None),
        ("q3", 1, 1, "On my way.", None, "STOP", "Send it.", 11),
        ("q4", 1, 1, None, None, "PROHIBITED_CONTENT", None, 6),
        ("q5", 1, 1, None, None, "SAFETY", None, 11),
        ("q6", 1, None, None, "Invalid argument.", None, None, None),
    ]
    assert frame.select("prompt_tokens", "response_tokens").row(0) == (6, 5)  # what was thought is paid for
    assert frame["tool_calls"][3].to_list() == [{"name": "send", "arguments": '{"to":"Ann"}'}]
    assert "HARASSMENT" in frame["safetyRatings"][5]
    assert "blockReason" in frame["prompt_feedback"][4]


def test_results_of_vertex_ai_have_what_was_asked():
    frame = read(FIXTURES / "gemini_output" / "vertex.jsonl")
    assert frame.select("turn", "context", "prompt", "response", "ending").rows() == [
        (1, "Be kind.", "Hi", "Hello", None),
        (1, "Be kind.", "Hi", "Hello", None),
        (2, None, "Bye", "See you", None),
        (None, "Be kind.", "Tell", None, "error"),
    ]
    assert frame["error"][3].startswith("Bad Request")
    assert frame["generationConfig"][0] == '{"temperature":0.5}'


def test_names_as_a_python_client_writes_them(tmp_path):
    call = {"function_call": {"name": "send", "args": {"to_whom": "Ann"}}}
    body = {
        "candidates": [{"content": {"parts": [call], "role": "model"}, "finish_reason": "STOP"}],
        "usage_metadata": {"prompt_token_count": 3, "candidates_token_count": 2, "total_token_count": 5},
        "model_version": "parrot-1",
        "prompt_feedback": None,
    }
    frame = read(written(tmp_path / "a.jsonl", body))
    assert frame.select("target", "finish_reason", "total_tokens").row(0) == ("parrot-1", "STOP", 5)
    assert frame["tool_calls"][0].to_list() == [{"name": "send", "arguments": '{"to_whom":"Ann"}'}]


# ── logs of any ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize(
    ("body", "source"), [(MESSAGE, "anthropic_output"), (COMPLETION, "openai_output"), (CANDIDATES, "gemini_output")]
)
@pytest.mark.parametrize("named", [True, False])
def test_an_answer_beside_what_was_asked_is_the_answer(tmp_path, body, source, named):
    """These were read as chats that nobody answered, with the answer as JSON text beside them."""
    about = {"goal": "greet", "attempt": 3, "seed": 7} | ({"rollout_id": "a"} if named else {})
    logs = {
        "flat": {**about, "model": "parrot", "messages": CHAT, "response": body},
        "apart": {**about, "request": {"model": "parrot", "messages": CHAT}, "response": body},
    }
    for name, record in logs.items():
        frame = read(written(tmp_path / f"{name}.jsonl", record))
        assert frame.select("source", "target", "goal", "attempt", "seed", "turn", "prompt", "response").rows() == [
            (source, "parrot-1", "greet", 3, 7, 1, "Hi", "Hello")
        ]
        assert frame["model"].to_list() == ["parrot"]
        assert frame["rollout_id"][0] == "a" if named else frame["rollout_id"][0].endswith("_1")


def test_an_answer_in_a_log_may_be_its_text_alone(tmp_path):
    record = {"request": {"model": "parrot", "messages": CHAT}, "response": "Hello"}
    assert read(written(tmp_path / "a.jsonl", record)).select("target", "prompt", "response").rows() == [
        ("parrot", "Hi", "Hello")
    ]


def test_what_stands_under_one_name_twice_is_kept_twice(tmp_path):
    request = {"messages": CHAT, "metadata": {"a": 1}, "seed": 1}
    record = {"request": request, "seed": 2, "response": {**MESSAGE, "metadata": {"b": 2}}}
    frame = read(written(tmp_path / "a.jsonl", record))
    assert frame.select("seed", "request_seed", "metadata", "response_metadata").row(0) == (2, 1, '{"a":1}', '{"b":2}')


def test_items_of_a_conversation_with_responses():
    """A call of a function is the assistant's, be it an item of its own; it was taken for an empty result of a tool."""
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "ask", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    ]
    chat = request_messages({"instructions": "Be kind.", "input": items})
    assert [message.role for message in chat] == ["system", "user", "assistant", "tool"]
    assert [call["name"] for call in chat[2].tool_calls or []] == ["look", "ask"]
    assert chat[3].content == "rain"


EXPIRED = {"custom_id": "b", "result": {"type": "expired"}}


@pytest.mark.parametrize(
    ("whole", "broken", "says"),
    [
        ({"response": MESSAGE}, {"request": {"messages": CHAT}, "response": None}, "neither an answer nor an error"),
        ({"response": MESSAGE}, {"request": {"system": 3}, "response": MESSAGE}, "`request.system`: expected text"),
        ({"response": MESSAGE}, {"request": {"messages": [{"role": 3}]}, "response": MESSAGE}, r"messages\[0\].role`"),
        ({"response": MESSAGE}, {"request": 3, "response": MESSAGE}, "field `request`"),
        ({"response": MESSAGE}, {"response": {**MESSAGE, "usage": 3}}, "field `response.usage`"),
        (
            {"response": CANDIDATES},
            {"response": {"candidates": [{"content": 3}]}},
            r"response.candidates\[0\].content`",
        ),
        (
            EXPIRED,
            {"custom_id": "a", "result": {"type": "succeeded", "message": None}},
            "neither an answer nor an error",
        ),
        (EXPIRED, {"custom_id": "a", "result": {"type": "succeeded", "message": {"role": "user"}}}, "neither"),
    ],
)
def test_what_is_broken_is_named(tmp_path, whole, broken, says):
    with pytest.raises(ReadError, match=says):
        read(written(tmp_path / "a.jsonl", whole, broken))
    assert read(written(tmp_path / "a.jsonl", whole, broken), errors="collect")[0].height == 1


@pytest.mark.parametrize(
    "record",
    [
        {"custom_id": "a", "params": {"model": "parrot", "messages": CHAT}},
        {"key": "a", "request": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}},
        {"request": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}},
    ],
)
def test_requests_without_answers_are_named(tmp_path, record):
    with pytest.raises(ReadError, match="holds requests of a batch without their answers: read the batch's output"):
        read(written(tmp_path / "a.jsonl", record, record))


def test_items_of_a_session_are_no_answers_of_an_api(tmp_path):
    """They are the messages of one conversation."""
    text = [{"type": "text", "text": "Hi"}]
    items = [{"type": "message", "role": who, "content": text} for who in ("user", "assistant")]
    turns = read(written(tmp_path / "a.jsonl", *items))
    assert turns.select("source", "turn", "prompt", "response").rows() == [("mapping", 1, "Hi", "Hi")]
