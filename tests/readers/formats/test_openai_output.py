"""What OpenAI's API gave back: batches, completions, responses."""

import json
from pathlib import Path

import pytest

from rollwise import read
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "openai_output"


def test_each_answer_of_a_batch_is_a_rollout():
    frame = read(FIXTURES / "batch_output.jsonl")
    assert frame.select("task", "attempt", "turn", "response", "refused", "error").rows() == [
        ("q1", 1, 1, "Hello", None, None),
        ("q2", 1, 1, "No", None, None),
        ("q2", 2, 1, "Never", None, None),
        ("q3", 1, 1, "I cannot help with that.", None, None),
        ("q4", 1, 1, None, None, None),
        ("q5", 1, None, None, None, "Invalid model."),
        ("q6", 1, None, None, None, "This request could not be executed before the completion window expired."),
    ]
    assert frame["prompt"].null_count() == frame["outcome"].null_count() == frame.height
    assert frame["refusal"].to_list() == [None] * 3 + ["I cannot help with that."] + [None] * 3
    assert frame["ending"].to_list() == [None] * 5 + ["error"] * 2
    assert frame["target"].to_list() == ["parrot-1"] * 5 + [None] * 2
    assert [name.split("/", 1)[1] for name in frame["rollout_id"]] == ["q1", "q2", "q2/2", "q3", "q4", "q5", "q6"]


def test_tokens_are_known_of_a_request_with_one_choice():
    frame = read(FIXTURES / "batch_output.jsonl")
    assert frame.select("prompt_tokens", "response_tokens", "total_tokens").rows()[:3] == [
        (22, 2, 24),
        (None, None, None),
        (None, None, None),
    ]


def test_calls_and_what_else_there_is():
    frame = read(FIXTURES / "batch_output.jsonl")
    assert frame["tool_calls"][4].to_list() == [{"name": "send", "arguments": '{"to":"Ann"}'}]
    assert frame.select("finish_reason", "status_code", "system_fingerprint", "id").row(4) == (
        *("tool_calls", 200, "fp_1", "batch_req_4"),
    )


def test_completions_on_their_own():
    frame = read(FIXTURES / "completion.json")
    assert frame.select("task", "attempt", "response").rows() == [(None, 1, "Hi"), (None, 2, "Hey")]
    assert frame["rollout_id"].str.ends_with("/chatcmpl-2").to_list() == [True, False]


def test_responses():
    frame = read(FIXTURES / "responses.jsonl")
    assert frame.select("context", "prompt", "response", "refused", "reasoning", "total_tokens").rows() == [
        ("Be kind.", "Hi", "Hello!", None, "Greet.", 7),
        (None, "Insult me", "I would rather not.", None, None, 7),
    ]
    assert frame["tool_calls"][0].to_list() == [{"name": "wave", "arguments": "{}"}]
    assert frame["status"].to_list() == ["completed", "completed"]


def test_a_chat_that_a_response_was_asked_with(tmp_path):
    told = [{"role": "user", "content": "2 + 2?"}, {"type": "function_call_output", "call_id": "c", "output": "4"}]
    said = [{"type": "message", "content": [{"type": "output_text", "text": "4"}]}]
    (tmp_path / "a.json").write_text(json.dumps({"object": "response", "input": told, "output": said}))
    assert read(tmp_path).select("turn", "prompt", "response").rows() == [(1, "2 + 2?\n\n4", "4")]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"custom_id": "a", "response": None, "error": None}, "neither an answer nor an error"),
        ({"custom_id": "a", "response": {"status_code": 200, "body": {"object": "list"}}, "error": None}, "neither"),
        ({"custom_id": "a", "response": {"body": {"choices": [3]}}, "error": None}, "field `response.body.choices"),
        ({"object": "chat.completion", "choices": [{"message": {"content": 3}}]}, r"choices\[0\]\.message\.content"),
    ],
)
def test_what_is_broken_is_named(tmp_path, record, says):
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    with pytest.raises(ReadError, match=says):
        read(tmp_path / "a.jsonl")


def test_an_answer_beside_an_error_is_named(tmp_path):
    body = {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Hi"}}]}
    lines = [
        {"custom_id": n, "error": error, "response": {"status_code": 200, "body": body}}
        for n, error in enumerate([None, "slow"])
    ]
    (tmp_path / "batch.jsonl").write_text("\n".join(map(json.dumps, lines)))
    turns, problems = read(tmp_path, errors="collect")
    assert turns["error"].to_list() == [None, "slow"]
    assert problems.select("field", "reason").rows() == [("error", "is beside an answer, which is left out")]
