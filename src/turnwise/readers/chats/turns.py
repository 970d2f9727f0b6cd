"""A chat, cut into turns: one rule for every log that holds messages.

A turn is one assistant message; its `prompt` is everything since the previous assistant message (user text, tool
results); what came back after the last one is its `observation`. An answer without text (only tool calls) is a turn.
System text before the first answer is the `context` of turn 1. Where a message is a list of parts, a part that calls a
tool is a tool call, a part in which the target thinks is no text of the answer (see `thoughts`), and one in which it refuses
is text (see `refusals`). It is not said to have `refused`: of answers without such a part nobody would say that they did not.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import msgspec

from turnwise.readers.chats.wordings import usual
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import json_text, parse, worded
from turnwise.readers.sources.json_texts import lenient
from turnwise.readers.table import Turn

ASKS = (
    "user",
    "human",
    "prompter",
    "attacker",
    "adversary",
    "red_team",
    "customer",
)  # who is who, in chats of all kinds
REPLIES = (
    "assistant",
    "ai",
    "model",
    "gpt",
    "chatgpt",
    "bing",
    "bard",
    "llm",
    "bot",
    "chatbot",
    "agent",
    "target",
    "victim",
)
TOOLS = ("tool", "function", "function_response", "observation", "environment")
ANSWERS = frozenset(spelled for word in REPLIES for spelled in (word, word.capitalize(), word.upper()))
SYSTEM = frozenset({"system", "System", "SYSTEM", "developer"})
SPEAKERS = (
    ANSWERS | SYSTEM | {spelled for word in (*ASKS, *TOOLS) for spelled in (word, word.capitalize(), word.upper())}
)
CALLING = frozenset(
    {"tool_use", "tool_call", "tool-call", "function_call", "server_tool_use", "mcp_tool_use", "dynamic-tool"}
)  # types of parts
THINKING = {  # likewise, and where their text is, if it is to be read
    "thinking": "thinking",
    "reasoning": "reasoning",
    "redacted_thinking": "thinking",
}
REFUSAL = "refusal"  # likewise
SILENT = "step-start"  # likewise, and says nothing
CHATTED = Turn._fields[:6]  # turn, context, prompt, response, observation, tool_calls
SHORT = 256  # messages of a chat whose shape is worth remembering: others have it as well


class Message(msgspec.Struct):
    """One message of a chat, as most tools write it."""

    role: str
    content: Any = None
    tool_calls: list[Any] | None = None
    error: Any = None
    name: str | None = None


M = TypeVar("M", bound=Message)


def split(messages: Iterable[Message], field: str = "messages") -> list[Turn]:
    """The turns of a chat; one row without a number where nobody answered. `field` is what the log calls the chat.

    Examples
    --------
    >>> chat = [
    ...     Message("system", "Be kind."),
    ...     Message("user", "Hi"),
    ...     Message("assistant", "Hello"),
    ...     Message("user", "Bye"),
    ... ]
    >>> [(turn.turn, turn.context, turn.prompt, turn.response, turn.observation) for turn in split(chat)]
    [(1, 'Be kind.', 'Hi', 'Hello', 'Bye')]
    """
    columns = split_by_column(messages, field)
    return list(map(Turn, *(columns.get(name, [None] * len(columns["turn"])) for name in CHATTED)))


def split_by_column(messages: Iterable[Message], field: str = "messages") -> dict[str, Sequence[Any]]:
    """The turns of a chat as `split` gives them, in those columns of TURNS that there are.

    Examples
    --------
    >>> split_by_column([Message("user", "Hi"), Message("assistant", "Hello")])
    {'turn': [1], 'prompt': ['Hi'], 'response': ['Hello']}
    """
    roles: list[str] = []
    texts: list[str | None] = []
    called: list[list[dict[str, str | None]] | None] = []
    for number, message in enumerate(messages):
        role, content = message.role, message.content
        answers = role in ANSWERS
        plain = type(content) is str and (answers or message.error is None)  # most are: the rest takes longer
        text = content if plain else said_in(message, f"{field}[{number}]")
        if answers:
            several = message.tool_calls or not plain
            called.append(calls(_called(message), field=f"{field}[{number}].tool_calls") if several else None)
        if answers or text is not None:
            roles.append(role)
            texts.append(text)
    _, columns = by_turn([roles], texts)
    if any(called):
        columns["tool_calls"] = called
    return columns


def by_turn(chats: Sequence[Sequence[str]], texts: Sequence[str | None]) -> tuple[list[int], dict[str, Sequence[Any]]]:
    r"""The rule itself: how many rows each chat has, and those columns of TURNS that there are.

    Parameters
    ----------
    chats
        The roles of the messages of each chat.
    texts
        What all the messages say, of one chat after another.

    Examples
    --------
    >>> by_turn([["user", "assistant", "user", "tool"]], ["Hi", "Hello", "Bye", "Gone"])
    ([1], {'turn': [1], 'prompt': ['Hi'], 'response': ['Hello'], 'observation': ['Bye\n\nGone']})
    """
    shapes = list(map(shape_of, chats))
    starts = list(accumulate(map(len, chats), initial=0))
    columns: dict[str, list[Any]] = {"turn": [turn for shape in shapes for turn in shape.turns]}
    different = {id(shape): shape for shape in shapes}.values()
    for name in CHATTED[1:5]:
        if any(name in shape.there for shape in different):
            columns[name] = [
                None if place is None else texts[start + place]
                for start, shape in zip(starts, shapes, strict=False)
                for place in shape.places[name]
            ]
    if any(shape.several for shape in different):
        rows = accumulate((len(shape.turns) for shape in shapes), initial=0)
        for row, start, shape in zip(rows, starts, shapes, strict=False):
            for name, turn, said in shape.several:
                columns[name][row + turn] = joined([texts[start + place] or "" for place in said])
    return [len(shape.turns) for shape in shapes], {**columns}


class Shape(NamedTuple):
    """Positions of the texts of each turn in a chat, which its roles determine."""

    turns: list[int | None]
    places: dict[str, list[int | None]]  # by column of TURNS
    there: set[str]  # the columns with a text
    several: list[tuple[str, int, list[int]]]  # cells that several messages make together, by column and row


def _shape(roles: Sequence[str]) -> Shape:
    context: list[int] = []
    said: list[int] = []
    cells: list[tuple[str, int, list[int]]] = []
    count = 0
    for place, role in enumerate(roles):
        if role in ANSWERS:
            cells += [("prompt", count, said), ("response", count, [place])]
            said, count = [], count + 1
        elif role in SYSTEM and not count:
            context.append(place)
        else:
            said.append(place)
    rows = count or 1  # one without a number where nobody answered
    cells += [("context", 0, context), ("observation" if count else "prompt", rows - 1, said)]
    columns: dict[str, list[int | None]] = {name: [None] * rows for name in CHATTED[1:5]}
    for name, row, places in cells:
        if places:
            columns[name][row] = places[0]
    there = {name for name, _, places in cells if places}
    return Shape([*range(1, count + 1)] or [None], columns, there, [cell for cell in cells if len(cell[2]) > 1])


_known_shape = lru_cache(maxsize=512)(_shape)


def shape_of(roles: Sequence[str]) -> Shape:
    """Return the positions of the texts of each turn in a chat of messages of these roles.

    Examples
    --------
    >>> shape_of(["user", "assistant"]).places["response"]
    [1]
    """
    return (_known_shape if len(roles) <= SHORT else _shape)(tuple(roles))


def messages_of(value: Any, field: str = "messages") -> list[Message]:
    """The messages of a chat as a log holds them; a text alone is what the user said.

    Examples
    --------
    >>> messages_of("Hi"), messages_of([{"role": "assistant", "content": "Hello"}])[0].content
    ([Message(role='user', content='Hi', tool_calls=None, error=None, name=None)], 'Hello')
    """
    if value is None or isinstance(value, str):
        return [] if value is None else [Message("user", value)]
    messages = [usual(message) for message in value] if isinstance(value, list) else value
    return parse(messages, list[Message], field)


def answered(messages: list[M], field: str = "messages", role: str = "role") -> list[M]:
    """The messages, if it is known who answers in them, or nobody does; `role` is what the log calls who speaks.

    Whoever bears a name of their own asks. Where `role` is another word for it, the system that speaks later on, and alone
    answers, is what is asked, as in corpora of dialogues.

    Raises
    ------
    BrokenError
        Where somebody of unknown name speaks and nobody is known to answer.

    Examples
    --------
    >>> [message.role for message in answered([Message("USER", "Hi"), Message("SYSTEM", "Hello")], role="speaker")]
    ['USER', 'assistant']
    """
    if any(message.role in ANSWERS for message in messages):
        return messages
    stranger = next((place for place, message in enumerate(messages) if message.role not in SPEAKERS), None)
    if stranger is not None:
        reason = f"{messages[stranger].role!r} is nobody known to answer; call who answers 'assistant'"
        raise BrokenError(reason, field=f"{field}[{stranger}].{role}")
    if role != "role" and any(message.role in SYSTEM for message in messages[1:]):
        for message in messages:
            message.role = "assistant" if message.role in SYSTEM else message.role
    return messages


def thoughts(content: Any) -> str | None:
    """Return the target's reasoning before its answer, where a part of its message holds it.

    Examples
    --------
    >>> thoughts([{"type": "thinking", "thinking": "Rude."}, {"type": "text", "text": "No."}])
    'Rude.'
    """
    if not isinstance(content, list):
        return None
    parts = [part for part in content if isinstance(part, dict) and _is_thought(part)]
    found = (part.get(THINKING.get(str(part.get("type")), "text"), part.get("text")) for part in parts)
    return joined([text for text in found if isinstance(text, str)])


def refusals(content: Any) -> str | None:
    """Return the text of a refusal, where a part of the message marks one.

    Examples
    --------
    >>> refusals([{"type": "refusal", "refusal": "No."}]), refusals("No.")
    ('No.', None)
    """
    parts = content if isinstance(content, list) else []
    found = [part.get(REFUSAL) for part in parts if isinstance(part, dict) and part.get("type") == REFUSAL]
    return joined([text for text in found if isinstance(text, str)])


def said_in(message: Message, place: str = "message") -> str | None:
    r"""Return the text of a message, and the error that a tool gave beside or instead of it.

    An error that is false or empty is none; one that is only true says no more than the text, and is ``[error]`` where there
    is no text.

    Examples
    --------
    >>> said_in(Message("tool", "gone", error={"code": 404})), said_in(Message("tool", "gone", error=True))
    ('gone\n{"code":404}', 'gone')
    >>> said_in(Message("tool", "{}", error=False)), said_in(Message("tool", "", error=True))
    ('{}', '[error]')
    """
    text = text_of(message.content, field=f"{place}.content")
    if message.role in ANSWERS or not message.error or (message.error is True and text):
        return text
    error = "[error]" if message.error is True else worded(message.error) or ""
    if not text:
        return error
    return text if error in text else f"{text}\n{error}"


def text_of(content: Any, field: str = "content") -> str | None:
    r"""The text of a message's content: a string, null, or a list of parts.

    Examples
    --------
    >>> text_of([{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": "..."}])
    'Look:\n[image_url]'
    """
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BrokenError(f"expected text or a list of parts, got {type(content).__name__}", field=field)
    parts = [part if isinstance(part, str) else _part(part, field) for part in content]
    texts = [part for part in parts if part is not None]
    return "\n".join(texts) if texts else None


def _part(part: Any, field: str) -> str | None:
    if not isinstance(part, dict):
        raise BrokenError(f"expected a part of a message, got {type(part).__name__}", field=field)
    if _is_thought(part) or part.get("type") == SILENT or _call_in(part) is not None:
        return None
    text = next((part[name] for name in ("text", "content", REFUSAL) if isinstance(part.get(name), str)), None)
    if text is None and isinstance(part.get("content"), list):
        text = text_of(part["content"], field)  # of a tool's result
    if text is None and isinstance(part.get("functionResponse"), dict):
        text = json_text(part["functionResponse"].get("response"))
    return f"[{part.get('type', 'part')}]" if text is None else text


def _is_thought(part: Mapping[str, Any]) -> bool:
    return str(part.get("type")) in THINKING or part.get("thought") is True  # the latter is Gemini's


def _call_in(part: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The tool call that a part of a message is, be it OpenAI's, Anthropic's, Gemini's or the AI SDK's; None where it is none."""
    kind = str(part.get("type"))
    if kind in CALLING:
        return part
    if kind.startswith("tool-") and "state" in part:  # a call and its result, in a message for a page
        return {**part, "name": kind.removeprefix("tool-")}
    inner = (
        part.get("toolInvocation") if kind == "tool-invocation" else part.get("functionCall", part.get("function_call"))
    )
    return inner if isinstance(inner, dict) else None


def _called(message: Message) -> list[Any]:
    """The tool calls beside the content and those in it."""
    parts = message.content if isinstance(message.content, list) else []
    inside = [_call_in(part) for part in parts if isinstance(part, dict)]
    return [*(message.tool_calls or []), *(call for call in inside if call is not None)]


def calls(given: Sequence[Any] | None, field: str = "tool_calls") -> list[dict[str, str | None]] | None:
    """Tool calls as name and arguments, the arguments as JSON text; null where none was called.

    Understands ``{name, arguments}``, ``{function, args}``, ``{function_name, arguments}``, ``{name, input}``,
    ``{function: {name, arguments}}``, ``{custom: {name, input}}``, and each of these as JSON text.

    Examples
    --------
    >>> calls([{"function": "send", "args": {"to": "Ann"}}, {"function": {"name": "read", "arguments": "{}"}}])
    [{'name': 'send', 'arguments': '{"to":"Ann"}'}, {'name': 'read', 'arguments': '{}'}]
    """
    if not given:
        return None
    return [_call(call, field) for call in given]


def _call(call: Any, field: str) -> dict[str, str | None]:
    if isinstance(call, str):
        with suppress(BrokenError):
            call, _ = lenient(call.encode(errors="replace"))
    if not isinstance(call, dict):
        raise BrokenError(f"expected a tool call with a name, got {type(call).__name__}", field=field)
    inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    name = next((inner[key] for key in ("name", "function", "function_name", "toolName") if key in inner), None)
    if not isinstance(name, str):
        raise BrokenError("expected a tool call with a name", field=field)
    arguments = next((inner[key] for key in ("arguments", "args", "input") if key in inner), None)
    return {"name": name, "arguments": arguments if isinstance(arguments, str) else json_text(arguments)}


def joined(texts: Sequence[str]) -> str | None:
    r"""The texts one after another; null where there is none.

    Examples
    --------
    >>> joined(["a", "b"]), joined([])
    ('a\n\nb', None)
    """
    return texts[0] if len(texts) == 1 else "\n\n".join(texts) if texts else None
