"""One rule for every chat: a turn is one assistant message."""

import json
from typing import Any

import pytest

from rollwise.readers import BrokenError, Message, split
from rollwise.readers.chats.turns import messages_of, text_of, thoughts
from rollwise.readers.tool_calls import calls


def shown(*messages: tuple[str, object]) -> list[tuple[object, ...]]:
    turns = split([Message(role, content) for role, content in messages])
    return [(turn.turn, turn.context, turn.prompt, turn.response, turn.observation) for turn in turns]


def test_two_answers_in_a_row_are_two_turns():
    assert shown(("user", "a"), ("assistant", "b"), ("assistant", "c")) == [
        (1, None, "a", "b", None),
        (2, None, None, "c", None),
    ]


def test_everything_since_the_previous_answer_is_the_prompt():
    assert shown(
        ("user", "a"), ("user", "b"), ("assistant", "c"), ("tool", "d"), ("tool", "e"), ("assistant", "f")
    ) == [
        (1, None, "a\n\nb", "c", None),
        (2, None, "d\n\ne", "f", None),
    ]


def test_system_text_is_context_before_the_first_answer_and_prompt_after_it():
    assert shown(("system", "s"), ("user", "a"), ("assistant", "b"), ("system", "t"), ("assistant", "c")) == [
        (1, "s", "a", "b", None),
        (2, None, "t", "c", None),
    ]


def test_a_chat_without_an_answer_has_no_turn():
    assert shown(("system", "s"), ("user", "a")) == [(None, "s", "a", None, None)]
    assert shown() == [(None, None, None, None, None)]


def test_a_null_answer_is_a_turn_and_an_empty_one_stays_empty():
    assert shown(("user", None), ("assistant", None), ("user", ""), ("assistant", "")) == [
        (1, None, None, None, None),
        (2, None, "", "", None),
    ]


def test_the_error_of_a_tool_is_said_once():
    tool = [
        Message("tool", "", error="no"),
        Message("tool", "it said no", error="no"),
        Message("tool", "x", error={"e": 1}),
    ]
    assert split([*tool, Message("assistant", "y")])[0].prompt == 'no\n\nit said no\n\nx\n{"e":1}'


@pytest.mark.parametrize("error", [False, None, "", {}, [], 0])
def test_an_error_that_is_false_or_empty_is_none(error):
    assert split([Message("tool", "{}", error=error), Message("tool", None, error=error)])[0].prompt == "{}"


def test_an_error_that_is_only_true_adds_nothing_to_a_text():
    tool = [Message("tool", "bad", error=True), Message("tool", "", error=True), Message("tool", None, error=True)]
    assert split(tool)[0].prompt == "bad\n\n[error]\n\n[error]"


@pytest.mark.parametrize("content", [3, {"text": "x"}, [3], [["x"]], True])
def test_what_is_no_content_is_named(content):
    with pytest.raises(BrokenError) as caught:
        split([Message("user", content)], "traj")
    assert caught.value.field == "traj[0].content"


def test_parts_without_text_are_named_by_their_kind():
    assert text_of([{"type": "image"}, "x", {"content": "y"}, {}]) == "[image]\nx\ny\n[part]"
    assert text_of([]) is None


@pytest.mark.parametrize("given", [[3], [{}], [{"name": 3}], [{"function": {}}]])
def test_what_is_no_tool_call_is_refused(given):
    with pytest.raises(BrokenError):
        calls(given)


def test_calls_may_be_json_text_or_custom():
    """As verifiers writes the tools of its environments, and OpenAI tools whose input is no JSON."""
    call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": '{"id": 7}'}}
    assert calls([json.dumps(call)]) == [{"name": "find", "arguments": '{"id": 7}'}]
    custom = {"id": "c", "type": "custom", "custom": {"name": "code", "input": "print(7)"}}
    assert calls([custom]) == [{"name": "code", "arguments": "print(7)"}]
    for text in ("find", "[3]", "{", '{"id": 7}'):
        with pytest.raises(BrokenError, match="expected a tool call with a name") as caught:
            calls([text])
        assert caught.value.field == "tool_calls"


def test_a_call_without_arguments_has_none():
    assert calls([{"name": "f"}, {"name": "g", "input": {"x": 1}}]) == [
        {"name": "f", "arguments": None},
        {"name": "g", "arguments": '{"x":1}'},
    ]
    assert calls([]) is None


NO = "I'm sorry, I can't help with that."


def test_a_refusal_is_what_the_answer_says():
    part = [{"type": "refusal", "refusal": NO}]
    turns = split([Message("user", "Hi"), Message("assistant", part), Message("assistant", "Yes")])
    assert [(turn.response, turn.refused) for turn in turns] == [(NO, None), ("Yes", None)]
    both = [{"type": "text", "text": "Well."}, *part]
    assert split([Message("assistant", both)])[0][3] == f"Well.\n{NO}"


def test_what_is_thought_and_called_is_no_text():
    parts = [
        {"type": "redacted_thinking", "data": "Eq..."},
        {"type": "text", "text": "hey"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "mcp_tool_use", "id": "m", "name": "echo", "server_name": "e", "input": {}},
    ]
    (turn,) = split([Message("assistant", parts)])
    assert turn.response == "hey"
    assert turn.tool_calls == [
        {"name": "web_search", "arguments": '{"query":"x"}'},
        {"name": "echo", "arguments": "{}"},
    ]
    assert thoughts(parts) is None


def test_messages_are_put_in_the_usual_words():
    told = messages_of(
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "assistant", "content": "", "refusal": NO},
            {"role": "assistant", "content": "Yes", "refusal": None, "function_call": None},
        ]
    )
    turns = split(told)
    assert [(turn.response, turn.refused) for turn in turns] == [(None, None), (NO, None), ("Yes", None)]
    assert turns[0].tool_calls == [{"name": "f", "arguments": "{}"}]
    for odd in (3, [3], [{"role": "user", "content": 3, "function_call": "x", "refusal": 4}], [None]):
        with pytest.raises(BrokenError):
            split(messages_of(odd))


def test_parts_of_messages_for_pages():
    """As the AI SDK writes them, versions 4 and 5."""
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "Rainy?", "state": "done"},
        {
            "type": "tool-weather",
            "toolCallId": "a",
            "state": "output-available",
            "input": {"city": "Oslo"},
            "output": 3,
        },
        {"type": "dynamic-tool", "toolName": "map", "toolCallId": "b", "state": "output-available", "input": {}},
        {"type": "tool-invocation", "toolInvocation": {"state": "result", "toolName": "time", "args": {}, "result": 4}},
        {"type": "text", "text": "It rains."},
        {"type": "file", "mediaType": "image/png", "url": "..."},
    ]
    said = messages_of([{"id": "m", "role": "user", "parts": [{"type": "text", "text": "Rain?"}]}])
    (turn,) = split([*said, *messages_of([{"role": "assistant", "content": "", "parts": parts}])])
    assert (turn.prompt, turn.response) == ("Rain?", "It rains.\n[file]")
    assert turn.tool_calls == [
        {"name": "weather", "arguments": '{"city":"Oslo"}'},
        {"name": "map", "arguments": "{}"},
        {"name": "time", "arguments": "{}"},
    ]
    assert thoughts(parts) == "Rainy?"


def test_parts_of_gemini():
    call = {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}}
    told: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"text": "Rain?"}]},
        {"role": "model", "parts": [{"text": "Oslo?", "thought": True}, call]},
        {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"rain": True}}}]},
        {"role": "model", "parts": [{"text": "It"}, {"text": "rains."}, {"inlineData": {}}]},
    ]
    first, second = split(messages_of(told))
    assert (first.prompt, first.response) == ("Rain?", None)
    assert first.tool_calls == [{"name": "weather", "arguments": '{"city":"Oslo"}'}]
    assert (second.prompt, second.response) == ('{"rain":true}', "It\nrains.\n[part]")
    assert thoughts(told[1]["parts"]) == "Oslo?"


def test_a_text_under_another_usual_name_is_read():
    told = messages_of([{"role": "user", "text": "Hi"}, {"role": "assistant", "content": None, "message": "Hello"}])
    assert [message.content for message in told] == ["Hi", "Hello"]
    kept = [
        {"role": "user", "content": "Hi", "text": "x"},
        {"role": "assistant", "tool_calls": [{"name": "f"}], "text": "x"},
        {"role": "assistant", "value": 3},
        {"role": "user", "content": ""},
    ]
    assert [message.content for message in messages_of(kept)] == ["Hi", None, None, ""]
    with pytest.raises(BrokenError, match="expected text or a list of parts"):
        split(messages_of([{"role": "user", "message": {"content": "x"}}]))
