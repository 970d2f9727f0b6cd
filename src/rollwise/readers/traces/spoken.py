"""Input and output of a model, as tracers record them: messages, an object that holds them, or a text."""

from contextlib import suppress
from typing import Any

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, messages_of
from rollwise.readers.json_texts import lenient
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import worded
from rollwise.readers.traces.requests import CHATS, request_messages

ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}  # of LangChain
HOLDING = (*CHATS, "generations", "message", "output")  # fields that hold messages of LangChain


def input_messages(value: Any, field: str = "input") -> list[Message]:
    """Return the input of a model: the messages of a chat or a request, or anything else as a text of the user.

    An object with a single field is replaced by the value of the field.
    """
    value = _usual(_decoded(value))
    # A request, whose other fields are settings.
    if isinstance(value, dict) and any(_are_messages(value.get(name)) for name in CHATS):
        return request_messages(value, f"{field}.")
    if _are_messages(value) or _are_messages([value]):
        return messages_of(value if isinstance(value, list) else [value], field)
    if isinstance(value, dict) and len(value) == 1:
        ((name, inner),) = value.items()
        return input_messages(inner, f"{field}.{name}")
    return [] if value is None else [Message("user", worded(value))]


def gave_back(value: Any, field: str = "output") -> Message | None:
    """Return the output of a model: the last answer among messages, or anything else as its text; None where there is nothing."""
    value = _usual(_decoded(value))
    for name in ("choices", "generations"):
        answers = value.get(name) if isinstance(value, dict) else None
        if isinstance(answers, list) and answers and isinstance(answers[0], dict):
            value = answers[0].get("message", answers[0].get("text", value))
    if isinstance(value, dict) and _are_messages(value.get("messages")):
        value = value["messages"]
    if isinstance(value, dict) and "role" not in value and value.keys() & {"content", "tool_calls"}:
        value = {"role": "assistant", **value}
    if _are_messages(value) or _are_messages([value]):
        messages = messages_of(value if isinstance(value, list) else [value], field)
        last = next((message for message in reversed(messages) if message.role in ANSWERS), messages[-1])
        return Message("assistant", last.content, last.tool_calls)
    if isinstance(value, dict) and len(value) == 1:
        ((name, inner),) = value.items()
        return gave_back(inner, f"{field}.{name}")
    return None if value is None else Message("assistant", worded(value))


def _usual(value: Any) -> Any:
    """Return LangChain's messages, which may be in a list of lists, with the names of OpenAI."""
    if isinstance(value, list):
        # LangChain passes a list of chats, mostly with one chat.
        flat = value[0] if len(value) == 1 and isinstance(value[0], list) else value
        return [_usual(item) for item in flat]
    if not isinstance(value, dict):
        return value
    # A serialized object has its fields under `kwargs`, and its class at the end of `id`; other versions have `data`.
    fields = value.get("kwargs" if value.get("type") == "constructor" else "data", value)
    fields = fields if isinstance(fields, dict) else value
    has_class = fields is not value and isinstance(value.get("id"), list) and value["id"]
    kind = value["id"][-1] if has_class else value.get("type")
    role = ROLES.get(str(kind).removesuffix("Chunk").removesuffix("Message").lower())
    if role is not None and "content" in fields and "role" not in fields:
        return {**fields, "role": role}
    return {name: _usual(item) if name in HOLDING else item for name, item in value.items()}


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) and "role" in item for item in value)


def _decoded(value: Any) -> Any:
    """Decode a value that is JSON text, as in tables."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        with suppress(BrokenError):
            return lenient(value.encode(errors="backslashreplace"))[0]
    return value
