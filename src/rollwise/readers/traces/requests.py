"""Messages in a request to a model's API, with the names of OpenAI, Anthropic or Google."""

from collections.abc import Mapping
from typing import Any

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, messages_of, text_of
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import worded

SYSTEM = ("system", "systemInstruction", "system_instruction", "instructions")  # fields with the system prompt
CHATS = ("messages", "contents", "input", "prompt")  # fields with the chat; the first that exists counts
CALL, RESULT = "function_call", "function_call_output"  # items of OpenAI's Responses API that are not messages


def message_fields(request: Mapping[str, Any]) -> list[str]:
    """Return the fields of a request that hold its messages; all other fields are settings."""
    return [*(name for name in SYSTEM if request.get(name)), *filter(None, [_chat_field(request)])]


def request_messages(request: Mapping[str, Any], within: str = "") -> list[Message]:
    """Return the messages of a request, the system prompt first; `within` is its path in the record, for errors."""
    chat = [Message("system", _text(request[name], f"{within}{name}")) for name in SYSTEM if request.get(name)]
    name = _chat_field(request)
    if name is None:
        return chat
    items = request[name] if isinstance(request[name], list) else [request[name]]
    if not all(map(_is_clear, items)) or (len(items) > 1 and any(map(_lacks_role, items))):
        warn(f"{within}{name}", "holds messages that do not say who speaks: they are read as the user's")
    for message in messages_of([_message(item) for item in items], f"{within}{name}"):
        # In the Responses API, text and tool calls of one answer are separate items.
        if chat and message.role in ANSWERS and chat[-1].role in ANSWERS and name == "input":
            chat[-1].tool_calls = [*(chat[-1].tool_calls or []), *(message.tool_calls or [])] or None
            chat[-1].content = _both(chat[-1].content, message.content)
        else:
            chat.append(message)
    return chat


def _is_clear(item: Any) -> bool:
    """Return whether an item of a chat is a text or an object that can be a message."""
    if isinstance(item, str):
        return not item.lstrip().startswith(("[{", "{"))
    return isinstance(item, dict) and bool(item.keys() & {"role", "content", "parts", "text", "type"})


def _lacks_role(item: Any) -> bool:
    return not isinstance(item, dict) or not item.keys() & {"role", "type"}


def _chat_field(request: Mapping[str, Any]) -> str | None:
    return next((name for name in CHATS if request.get(name) is not None), None)


def _message(item: Any) -> Any:
    """Return an item of a chat as a message; a text alone is a message of the user."""
    if not isinstance(item, dict):
        return {"role": "user", "content": item}
    if item.get("type") == CALL:
        return {"role": "assistant", "content": None, "tool_calls": [item]}
    if item.get("type") == RESULT:
        return {"role": "tool", "content": worded(item.get("output")), "tool_call_id": item.get("call_id")}
    # Reasoning is part of the answer that follows, and has no text of its own here.
    if item.get("type") == "reasoning" and "role" not in item:
        return {"role": "assistant", "content": None}
    return item if "role" in item else {"role": "user", **item}


def _both(first: Any, second: Any) -> Any:
    """Return the contents of two messages as the content of one."""
    if first is None or second is None:
        return second if first is None else first
    first_parts, second_parts = ([content] if isinstance(content, str) else content for content in (first, second))
    return [*first_parts, *second_parts]


def _text(content: Any, field: str) -> str | None:
    if isinstance(content, dict):  # as Gemini writes it
        content = content.get("parts") if "parts" in content else [content]
    if not isinstance(content, str | list):
        raise BrokenError(f"expected text or a list of parts, got {type(content).__name__}", field=field)
    return text_of(content, field)
