"""Content of a request to a model's API, in the words of OpenAI, Anthropic or Google."""

from collections.abc import Mapping
from typing import Any

from turnwise.readers.chats.turns import ANSWERS, Message, messages_of, text_of
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import worded

BEFORE = ("system", "systemInstruction", "system_instruction", "instructions")  # what the system says
CHATS = ("messages", "contents", "input", "prompt")  # the chat, in the first of them that there is
CALL, RESULT = "function_call", "function_call_output"  # items of OpenAI's responses that are no messages


def asking(request: Mapping[str, Any]) -> list[str]:
    """The names under which a request asks; whatever it holds under others says how.

    Examples
    --------
    >>> asking({"system": "Be kind.", "messages": [], "input": "?"})
    ['system', 'messages']
    """
    return [*(name for name in BEFORE if request.get(name)), *filter(None, [_chat_in(request)])]


def asked(request: Mapping[str, Any], within: str = "") -> list[Message]:
    """The messages of a request, those of the system first; `within` says where it stands.

    Raises
    ------
    BrokenError
        Naming the field that holds no text and no messages.

    Examples
    --------
    >>> [
    ...     (message.role, message.content)
    ...     for message in asked({"system": "Be kind.", "contents": [{"parts": [{"text": "Hi"}]}]})
    ... ]
    [('system', 'Be kind.'), ('user', [{'text': 'Hi'}])]
    """
    chat = [Message("system", _said(request[name], f"{within}{name}")) for name in BEFORE if request.get(name)]
    name = _chat_in(request)
    if name is None:
        return chat
    given = request[name] if isinstance(request[name], list) else [request[name]]
    for message in messages_of([_message(item) for item in given], f"{within}{name}"):
        if chat and message.role in ANSWERS and chat[-1].role in ANSWERS and name == "input":
            chat[-1].tool_calls = [*(chat[-1].tool_calls or []), *(message.tool_calls or [])] or None
            chat[-1].content = _both(chat[-1].content, message.content)
        else:
            chat.append(message)
    return chat


def _chat_in(request: Mapping[str, Any]) -> str | None:
    return next((name for name in CHATS if request.get(name) is not None), None)


def _message(item: Any) -> Any:
    """An item of a chat as a message; a text alone is what the user said."""
    if not isinstance(item, dict):
        return {"role": "user", "content": item}
    if item.get("type") == CALL:
        return {"role": "assistant", "content": None, "tool_calls": [item]}
    if item.get("type") == RESULT:
        return {"role": "tool", "content": worded(item.get("output"))}
    if item.get("type") == "reasoning" and "role" not in item:
        return {"role": "assistant", "content": None}
    return item if "role" in item else {"role": "user", **item}


def _both(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    parts = [[part] if isinstance(part, str) else part for part in (one, other)]
    return [*parts[0], *parts[1]]


def _said(given: Any, field: str) -> str | None:
    if isinstance(given, dict):  # of Gemini
        given = given.get("parts") if "parts" in given else [given]
    if not isinstance(given, str | list):
        raise BrokenError(f"expected text or a list of parts, got {type(given).__name__}", field=field)
    return text_of(given, field)
