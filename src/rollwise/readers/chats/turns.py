"""A chat as turns: one rule for every log of messages.

A turn is one assistant message; its `prompt` is everything since the previous assistant message (user text, tool
results); what came back after the last one is its `observation`. What came back from a tool is beside its call too, in
`tool_results`. An answer without text (only tool calls) is a turn. System text before the first answer is the `context` of
turn 1. If a message is a list of parts, a part that calls a tool is a tool call, a part with the target's reasoning is not
part of the answer (see `thoughts`), and a refusal is text (see `refusals`). A refusal does not set `refused`: then answers
without such a part would count as not refused.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any, NamedTuple, TypeVar

import msgspec

from rollwise.readers.chats.links import Links
from rollwise.readers.chats.message_forms import openai_form
from rollwise.readers.chats.speakers import ANSWERS, SPEAKERS, SYSTEM, TOOLS, WORDS, speaker
from rollwise.readers.chats.tool_results import (
    Results,
    ToolResult,
    attached,
    is_result,
    message_result,
    part_result,
    text_of_sdk,
)
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import json_text, parse, worded
from rollwise.readers.table import TurnRow
from rollwise.readers.tool_calls import calls

# Types of parts of a message: calls of tools, reasoning (with the field of its text), refusals, and parts without text.
CALLING = frozenset(
    {"tool_use", "tool_call", "tool-call", "function_call", "server_tool_use", "mcp_tool_use", "dynamic-tool"}
)
THINKING = {
    "thinking": "thinking",
    "reasoning": "reasoning",
    "redacted_thinking": "thinking",
}
REFUSAL = "refusal"
SILENT = "step-start"
CHAT_COLUMNS = TurnRow._fields[:7]  # turn, context, prompt, response, observation, tool_calls, tool_results
SHORT = 256  # messages: the shape of a chat up to this length is cached, because many chats share it


class Message(msgspec.Struct):
    """One message of a chat, as most tools write it."""

    role: str
    content: Any = None
    tool_calls: list[Any] | None = None
    error: Any = msgspec.UNSET  # null where the log says that there was none
    name: str | None = None
    id: Any = None
    tool_call_id: Any = None
    is_error: Any = None
    status: Any = None

    def __post_init__(self) -> None:
        """Write the word for a known speaker as all readers compare it: without blanks, in small letters."""
        if self.role not in WORDS:
            self.role = speaker(self.role)


K = TypeVar("K", bound=Hashable)
M = TypeVar("M", bound=Message)


def split(messages: Iterable[Message], field: str = "messages") -> list[TurnRow]:
    """Return the turns of a chat; one without a number if it has no answer. `field` is the log's name of the chat.

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
    return list(map(TurnRow, *(columns.get(name, [None] * len(columns["turn"])) for name in CHAT_COLUMNS)))


def split_by_column(messages: Iterable[Message], field: str = "messages") -> dict[str, Sequence[Any]]:
    """Return the turns of a chat as `split` does, as columns of TURNS; columns without a value are absent."""
    roles: list[str] = []
    texts: list[str | None] = []
    tool_calls: list[list[dict[str, str | None]] | None] = []
    logged_calls: list[list[Any]] = []
    results: list[list[ToolResult]] = []
    for number, message in enumerate(messages):
        role, content = message.role, message.content
        is_answer = role in ANSWERS
        # Most messages are a text and nothing else, and skip the search for parts, errors and calls.
        is_text = type(content) is str and (is_answer or not message.error)
        text = content if is_text else message_text(message, f"{field}[{number}]")
        if is_answer:
            logged = calls_in(message) if message.tool_calls or not is_text else []
            tool_calls.append(calls(logged, field=f"{field}[{number}].tool_calls") if logged else None)
            logged_calls.append(logged)
            results.append([])
        elif role not in WORDS:
            warn("role", f"{role!r} is not a known speaker: what it says is read as a prompt, not as an answer")
        if results and (not is_text or role in TOOLS):
            results[-1] += results_in(message, text)
        if is_answer or text is not None:
            roles.append(role)
            texts.append(text)
    _, columns = by_turn([roles], texts)
    if any(tool_calls):
        columns["tool_calls"] = tool_calls
        cells = attached(logged_calls, results)
        columns |= {"tool_results": cells} if any(cells) else {}
    return columns


def by_turn(chats: Sequence[Sequence[str]], texts: Sequence[str | None]) -> tuple[list[int], dict[str, Sequence[Any]]]:
    """Split chats into turns: return the number of rows of each chat, and the columns of TURNS that have a text."""
    shapes = list(map(shape_of, chats))
    starts = list(accumulate(map(len, chats), initial=0))
    columns: dict[str, list[Any]] = {"turn": [turn for shape in shapes for turn in shape.turns]}
    distinct = {id(shape): shape for shape in shapes}.values()  # cached shapes are shared by many chats
    for name in CHAT_COLUMNS[1:5]:
        if any(name in shape.columns for shape in distinct):
            columns[name] = [
                None if place is None else texts[start + place]
                for start, shape in zip(starts, shapes, strict=False)
                for place in shape.places[name]
            ]
    # So far each cell has its first text. Cells with several texts are few; they are joined one by one.
    if any(shape.several for shape in distinct):
        rows = accumulate((len(shape.turns) for shape in shapes), initial=0)
        for row, start, shape in zip(rows, starts, shapes, strict=False):
            for name, turn, places in shape.several:
                columns[name][row + turn] = joined([texts[start + place] or "" for place in places])
    return [len(shape.turns) for shape in shapes], {**columns}


class Shape(NamedTuple):
    """Positions of the texts of each turn in a chat, which its roles determine."""

    turns: list[int | None]
    places: dict[str, list[int | None]]  # by column of TURNS
    columns: set[str]  # the columns with a text
    several: list[tuple[str, int, list[int]]]  # column, row and positions of the cells with several texts


def _shape(roles: Sequence[str]) -> Shape:
    context: list[int] = []
    before: list[int] = []  # messages since the last answer
    cells: list[tuple[str, int, list[int]]] = []
    count = 0
    for place, role in enumerate(roles):
        if role in ANSWERS:
            cells += [("prompt", count, before), ("response", count, [place])]
            before, count = [], count + 1
        elif role in SYSTEM and not count:
            context.append(place)
        else:
            before.append(place)
    rows = count or 1  # without an answer, one row without a number
    cells += [("context", 0, context), ("observation" if count else "prompt", rows - 1, before)]
    positions: dict[str, list[int | None]] = {name: [None] * rows for name in CHAT_COLUMNS[1:5]}
    for name, row, places in cells:
        if places:
            positions[name][row] = places[0]
    columns = {name for name, _, places in cells if places}
    return Shape([*range(1, count + 1)] or [None], positions, columns, [cell for cell in cells if len(cell[2]) > 1])


_cached_shape = lru_cache(maxsize=512)(_shape)


def shape_of(roles: Sequence[str]) -> Shape:
    """Return the positions of the texts of each turn in a chat of messages of these roles."""
    return (_cached_shape if len(roles) <= SHORT else _shape)(tuple(roles))


def messages_of(value: Any, field: str = "messages") -> list[Message]:
    """Return the messages of a chat in a log; a plain text is a message of the user."""
    if value is None or isinstance(value, str):
        return [] if value is None else [Message("user", value)]
    messages = [openai_form(message) for message in value] if isinstance(value, list) else value
    return parse(messages, list[Message], field)


def answered(messages: list[M], field: str = "messages", role: str = "role") -> list[M]:
    """Return the messages if it is clear which of them are answers, or none are; `role` is the log's name of the speaker.

    A speaker with a name of its own asks. If the log has another word than "role", a system that speaks after the first
    message is the target, as in corpora of dialogues.
    """
    if any(message.role in ANSWERS for message in messages):
        return messages
    unknown = next((place for place, message in enumerate(messages) if message.role not in SPEAKERS), None)
    if unknown is not None:
        reason = f"{messages[unknown].role!r} is not a known speaker; name the one that answers 'assistant'"
        raise BrokenError(reason, field=f"{field}[{unknown}].{role}")
    if role != "role" and any(message.role in SYSTEM for message in messages[1:]):
        for message in messages:
            message.role = "assistant" if message.role in SYSTEM else message.role
    return messages


def thoughts(content: Any) -> str | None:
    """Return the target's reasoning before its answer, where a part of its message holds it."""
    if not isinstance(content, list):
        return None
    parts = [part for part in content if isinstance(part, dict) and _is_thought(part)]
    texts = (part.get(THINKING.get(str(part.get("type")), "text"), part.get("text")) for part in parts)
    return joined([text for text in texts if isinstance(text, str)])


def refusals(content: Any) -> str | None:
    """Return the text of a refusal, where a part of the message marks one."""
    parts = content if isinstance(content, list) else []
    texts = [part.get(REFUSAL) for part in parts if isinstance(part, dict) and part.get("type") == REFUSAL]
    return joined([text for text in texts if isinstance(text, str)])


def message_text(message: Message, place: str = "message") -> str | None:
    """Return the text of a message, with the error that a tool gave besides or instead.

    An error that is false or empty is ignored; one that is only true adds nothing to a text, and is ``[error]`` without one.
    """
    text = text_of(message.content, field=f"{place}.content")
    if message.role in ANSWERS or not message.error or (message.error is True and text):
        return text
    error = "[error]" if message.error is True else worded(message.error) or ""
    if not text:
        return error
    return text if error in text else f"{text}\n{error}"


def results_in(message: Message, text: str | None) -> list[ToolResult]:
    """Return the results of tools in a message, given its text: in each of its parts that is one, or the message itself."""
    parts = message.content if isinstance(message.content, list) else []
    inside = [part_result(part, _part(part, "content")) for part in parts if isinstance(part, dict) and is_result(part)]
    return inside or ([message_result(message, text)] if message.role in TOOLS else [])


def results_along(links: Links[K], message_of: Callable[[K], Message]) -> list[Results]:
    """Return the results of the calls of each answer, where each message names the one before it; see `attached`."""
    after: dict[K | None, dict[K, None]] = {
        answer: dict.fromkeys(links.after.get(answer, [])) for answer in links.above
    }
    for answer, above in links.above.items():
        after.setdefault(above, {}).update(dict.fromkeys(links.between[answer]))  # a message before a fork counts once
    results = [[results_of(message_of(name)) for name in after[answer]] for answer in links.above]
    return attached(
        [calls_in(message_of(answer)) for answer in links.above], [list(chain(*found)) for found in results]
    )


def results_of(message: Message) -> list[ToolResult]:
    """Return the results of tools in a message."""
    return results_in(message, message_text(message))


def text_of(content: Any, field: str = "content") -> str | None:
    """Return the text of a message's content, which is a string, null, or a list of parts."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BrokenError(f"expected text or a list of parts, got {type(content).__name__}", field=field)
    parts = [part if isinstance(part, str) else _part(part, field) for part in content]
    texts = [part for part in parts if part is not None]
    return "\n".join(texts) if texts else None


def _part(part: Any, field: str) -> str | None:
    """Return the text of a part; ``[type]`` for a part of another kind, such as an image, and None for what is not text."""
    if not isinstance(part, dict):
        raise BrokenError(f"expected a part of a message, got {type(part).__name__}", field=field)
    if _is_thought(part) or part.get("type") == SILENT or _call_in(part) is not None:
        return None
    text = next((part[name] for name in ("text", "content", REFUSAL) if isinstance(part.get(name), str)), None)
    if text is None and isinstance(part.get("content"), list):
        text = text_of(part["content"], field)  # a tool's result may be a list of parts again
    if text is None and isinstance(part.get("functionResponse"), dict):
        text = json_text(part["functionResponse"].get("response"))
    if text is None and part.get("type") == "tool-result":
        text = text_of_sdk(part)
    return f"[{part.get('type', 'part')}]" if text is None else text


def _is_thought(part: Mapping[str, Any]) -> bool:
    return str(part.get("type")) in THINKING or part.get("thought") is True  # the latter is Gemini's


def _call_in(part: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the tool call in a part of a message of OpenAI, Anthropic, Gemini or the AI SDK; None if it is not one."""
    kind = str(part.get("type"))
    if kind in CALLING:
        return part
    if kind.startswith("tool-") and "state" in part:  # of the AI SDK: a call with its result
        return {**part, "name": kind.removeprefix("tool-")}
    inner = (
        part.get("toolInvocation") if kind == "tool-invocation" else part.get("functionCall", part.get("function_call"))
    )
    return inner if isinstance(inner, dict) else None


def calls_in(message: Message) -> list[Any]:
    """Return the tool calls of a message: those of its own field, and those among the parts of its content."""
    parts = message.content if isinstance(message.content, list) else []
    inside = [_call_in(part) for part in parts if isinstance(part, dict)]
    return [*(message.tool_calls or []), *(call for call in inside if call is not None)]


def joined(texts: Sequence[str]) -> str | None:
    """Join texts with a blank line between them; None without any."""
    return texts[0] if len(texts) == 1 else "\n\n".join(texts) if texts else None
