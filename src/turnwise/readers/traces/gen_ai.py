"""Prompt and response in a span that follows OpenTelemetry's conventions for generative AI."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from turnwise.readers.chats.turns import Message
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Count, parse, worded
from turnwise.readers.sources.json_texts import lenient

CALLS = frozenset({"chat", "text_completion", "generate_content", "completion"})  # operations that are calls of a model
SPOKEN = {
    f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")
}  # events up to version 1.36
CHOICE = "gen_ai.choice"
MESSAGE = frozenset({"role", "parts"})  # what of messages stands there as JSON text, by its names
PART = frozenset({"text", "type"})  # parts of a message, likewise
CALLED = frozenset({"name", "function"})  # and calls of tools


class Usage(msgspec.Struct):
    """Tokens of one call, under the names of now and before."""

    input_tokens: Count = None
    output_tokens: Count = None
    prompt_tokens: Count = None
    completion_tokens: Count = None


class Named(msgspec.Struct):
    """A model."""

    model: str | None = None


class Operation(msgspec.Struct):
    """Name of the operation."""

    name: str | None = None


class Words(msgspec.Struct):
    """Attributes of a span below `gen_ai`."""

    operation: Operation | None = None
    request: Named | None = None
    response: Named | None = None
    usage: Usage | None = None
    input: Any = None
    output: Any = None
    system_instructions: Any = None
    prompt: Any = None
    completion: Any = None


class Call(NamedTuple):
    """A call of a model, or what an agent was asked and said."""

    calls: bool
    model: str | None
    asked: list[Message]
    said: Message | None
    usage: Usage


def call_of(told: Mapping[str, Any], events: Iterable[tuple[str, Mapping[str, Any]]] = ()) -> Call:
    """The call in a span's attributes and events, both with an object for each name that has dots.

    Examples
    --------
    >>> asked = '[{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]'
    >>> said = {"messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Hello"}]}]}
    >>> call = call_of({"gen_ai": {"operation": {"name": "chat"}, "input": {"messages": asked}, "output": said}})
    >>> call.calls, [message.role for message in call.asked], call.said.content
    (True, ['user'], [{'type': 'text', 'text': 'Hello'}])
    """
    given = dict(_object(told.get("gen_ai")))
    spoken: list[Message] = []
    chosen: list[Message] = []
    for name, beside in events:
        given |= _object(beside.get("gen_ai"))
        if name in SPOKEN:
            spoken += _messages([{"role": SPOKEN[name], **beside}], SPOKEN[name], name)
        elif name == CHOICE:
            chosen += _messages([beside.get("message", beside)], "assistant", name)
    words = parse(given, Words, "gen_ai")
    system = _messages(words.system_instructions, "system", "gen_ai.system_instructions")
    asked = _messages(_inside(words.input), "user", "gen_ai.input") or _messages(words.prompt, "user", "gen_ai.prompt")
    said = _messages(_inside(words.output), "assistant", "gen_ai.output")
    said = said or _messages(words.completion, "assistant", "gen_ai.completion")
    operation = None if words.operation is None else words.operation.name
    models = [named.model for named in (words.response, words.request) if named is not None and named.model]
    return Call(
        operation in CALLS or (operation is None and bool(asked or said or spoken or chosen)),
        next(iter(models), None),
        [*system, *(asked or spoken)],
        next(iter([*said[-1:], *chosen[-1:]]), None),
        words.usage or Usage(),
    )


def _object(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _inside(given: Any) -> Any:
    return given.get("messages") if isinstance(given, dict) else None


def _messages(given: Any, role: str, where: str) -> list[Message]:
    """The messages of a call, as any version of the conventions writes them; a text alone is one of them."""
    value = _decoded(given, MESSAGE | PART)
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    if items and all(isinstance(item, dict) and "role" not in item and "type" in item for item in items):
        items = [{"parts": items}]  # instructions are the parts of a message
    return [_message(item, role, f"{where}[{place}]") for place, item in enumerate(items)]


def _message(item: Any, role: str, where: str) -> Message:
    item = _decoded(item, MESSAGE | PART)
    if isinstance(item, str):
        return Message(role, item)
    told = {"parts": item} if isinstance(item, list) else parse(item, dict[str, Any], where)
    content = _decoded(told.get("parts", told.get("content")), PART)
    parts = list(_parts(content)) if isinstance(content, list) else content
    called = _decoded(told.get("tool_calls"), CALLED)
    who = told.get("role") or role
    return Message(parse(who, str, f"{where}.role"), parts, parse(called, list[Any] | None, f"{where}.tool_calls"))  # type: ignore[arg-type]


def _parts(parts: Iterable[Any]) -> Iterator[Any]:
    """Parts as a chat has them: `content` is the text of one, the result of a tool as well."""
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" or (kind is None and isinstance(part, dict) and "text" in part):
            yield {"type": "text", "text": part.get("content", part.get("text"))}
        elif kind == "reasoning":
            yield {"type": kind, kind: part.get("content")}
        elif kind == "tool_call_response":
            yield {"type": "text", "text": worded(part.get("response", part.get("result"))) or ""}
        else:
            yield part


def _decoded(given: Any, names: frozenset[str]) -> Any:
    """Decode JSON text that holds messages, or a list of them; else return the value as it is.

    An answer may be JSON itself, and stays the text that it is.
    """
    if not isinstance(given, str) or not given.lstrip().startswith(("[", "{")):
        return given
    try:
        value, _ = lenient(given.encode(errors="replace"))
    except BrokenError:
        return given
    items = value if isinstance(value, list) else [value] if names >= MESSAGE else []
    meant = items and all(isinstance(item, dict) and not names.isdisjoint(item) for item in items)
    return value if meant else given
