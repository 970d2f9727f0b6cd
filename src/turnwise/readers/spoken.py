"""What a model was given and gave back, as tracers note it: messages, something that holds them, or a text."""

from contextlib import suppress
from typing import Any

from turnwise.readers.asked import CHATS, asked
from turnwise.readers.chat import ANSWERS, Message, messages_of
from turnwise.readers.json_texts import lenient
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import worded


def given(value: Any, field: str = "input") -> list[Message]:
    """What a model was given: the messages of a chat or a request, or anything else as the text of the user.

    Examples
    --------
    >>> [message.content for message in given({"messages": [{"role": "user", "content": "Hi"}], "model": "parrot"})]
    ['Hi']
    >>> given({"question": "Hi?"})
    [Message(role='user', content='{"question":"Hi?"}', tool_calls=None, error=None, name=None)]
    """
    value = _decoded(value)
    if isinstance(value, dict) and any(_are_messages(value.get(name)) for name in CHATS):
        return asked(value, f"{field}.")
    if _are_messages(value) or _are_messages([value]):
        return messages_of(value if isinstance(value, list) else [value], field)
    return [] if value is None else [Message("user", worded(value))]


def gave_back(value: Any, field: str = "output") -> Message | None:
    """What a model gave back: the last answer among messages, or anything else as its text; None where it is nothing.

    Examples
    --------
    >>> gave_back({"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}).content
    'Hello'
    >>> gave_back("Hello").content, gave_back(None) is None
    ('Hello', True)
    """
    value = _decoded(value)
    choices = value.get("choices") if isinstance(value, dict) else None
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        value = choices[0].get("message", value)
    if isinstance(value, dict) and _are_messages(value.get("messages")):
        value = value["messages"]
    if isinstance(value, dict) and "role" not in value and value.keys() & {"content", "tool_calls"}:
        value = {"role": "assistant", **value}
    if _are_messages(value) or _are_messages([value]):
        said = messages_of(value if isinstance(value, list) else [value], field)
        last = next((message for message in reversed(said) if message.role in ANSWERS), said[-1])
        return Message("assistant", last.content, last.tool_calls)
    return None if value is None else Message("assistant", worded(value))


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) and "role" in item for item in value)


def _decoded(value: Any) -> Any:
    """A value that is spelled out as JSON, as tables hold it."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        with suppress(BrokenError):
            return lenient(value.encode(errors="replace"))[0]
    return value
