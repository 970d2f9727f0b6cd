"""Prompt and response in a span that follows OpenTelemetry's semantic conventions for generative AI."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from rollwise.readers.chats.turns import Message
from rollwise.readers.json_texts import lenient
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import kind_of, parse, worded
from rollwise.readers.traces.usage import Tokens, tokens_of

CALLS = frozenset({"chat", "text_completion", "generate_content", "completion"})  # operations that are calls of a model
OPERATIONS = CALLS | {"create_agent", "embeddings", "execute_tool", "image_generation", "invoke_agent", "retrieval"}
# Events up to version 1.36 of the conventions: messages of the prompt, and the answer.
MESSAGE_EVENTS = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
ANSWER_EVENT = "gen_ai.choice"
MESSAGING = (
    ANSWER_EVENT,
    *(name.removesuffix(".message") for name in MESSAGE_EVENTS),
)  # how names that mean these begin
# Fields by which JSON text is recognized as messages, as parts of a message, and as tool calls.
MESSAGE = frozenset({"role", "parts"})
PART = frozenset({"text", "type"})
TOOL_CALL = frozenset({"name", "function"})


class Named(msgspec.Struct):
    """A model."""

    model: str | None = None


class Operation(msgspec.Struct):
    """Name of the operation."""

    name: str | None = None


class Attributes(msgspec.Struct):
    """Attributes of a span below `gen_ai`."""

    operation: Operation | None = None
    request: Named | None = None
    response: Named | None = None
    usage: dict[str, Any] | None = None
    input: Any = None
    output: Any = None
    system_instructions: Any = None
    prompt: Any = None
    completion: Any = None


class Call(NamedTuple):
    """A call of a model, or prompt and answer of an agent."""

    calls: bool
    model: str | None
    prompts: list[Message]
    answer: Message | None
    usage: Tokens


def call_of(attributes: Mapping[str, Any], events: Iterable[tuple[str, Mapping[str, Any]]] = ()) -> Call:
    """Return the call in a span's attributes and events, whose names with dots have become nested objects."""
    fields = dict(_object(attributes.get("gen_ai")))
    event_prompt: list[Message] = []
    event_answers: list[Message] = []
    for name, content in events:
        fields |= _object(content.get("gen_ai"))
        if name in MESSAGE_EVENTS:
            role = MESSAGE_EVENTS[name]
            event_prompt += _messages([{"role": role, **content}], role, name)
        elif name == ANSWER_EVENT:
            event_answers += _messages([content.get("message", content)], "assistant", name)
        elif not name or name.strip().lower().startswith(MESSAGING) or content.keys() & {"content", "message"}:
            warn("events.name", f"{name!r} is not a known event: it is passed over")
    gen_ai = parse(fields, Attributes, "gen_ai")
    # Attributes of the current version, then of former ones, then events.
    system = _messages(gen_ai.system_instructions, "system", "gen_ai.system_instructions")
    prompt = _messages(_nested(gen_ai.input), "user", "gen_ai.input")
    prompt = prompt or _messages(gen_ai.prompt, "user", "gen_ai.prompt")
    answers = _messages(_nested(gen_ai.output), "assistant", "gen_ai.output")
    answers = answers or _messages(gen_ai.completion, "assistant", "gen_ai.completion")
    operation = None if gen_ai.operation is None else gen_ai.operation.name
    operation = None if operation is None else kind_of(operation, OPERATIONS, "gen_ai.operation.name")
    models = [named.model for named in (gen_ai.response, gen_ai.request) if named is not None and named.model]
    return Call(
        operation in CALLS or (operation is None and bool(prompt or answers or event_prompt or event_answers)),
        next(iter(models), None),
        [*system, *(prompt or event_prompt)],
        next(iter([*answers[-1:], *event_answers[-1:]]), None),
        tokens_of(gen_ai.usage, "gen_ai.usage"),
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _nested(value: Any) -> Any:
    return value.get("messages") if isinstance(value, dict) else None


def _messages(content: Any, role: str, where: str) -> list[Message]:
    """Return the messages of a call, as any version of the conventions writes them; a text alone is one message."""
    value = _decoded(content, MESSAGE | PART)
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    # Parts of one message, without the message around them.
    if items and all(isinstance(item, dict) and "role" not in item and "type" in item for item in items):
        items = [{"parts": items}]  # instructions are the parts of a message
    return [_message(item, role, f"{where}[{place}]") for place, item in enumerate(items)]


def _message(item: Any, role: str, where: str) -> Message:
    item = _decoded(item, MESSAGE | PART)
    if isinstance(item, str):
        return Message(role, item)
    fields = {"parts": item} if isinstance(item, list) else parse(item, dict[str, Any], where)
    content = _decoded(fields.get("parts", fields.get("content")), PART)
    parts = list(_parts(content)) if isinstance(content, list) else content
    tool_calls = _decoded(fields.get("tool_calls"), TOOL_CALL)
    role = parse(fields.get("role") or role, str, f"{where}.role")
    return Message(role, parts, parse(tool_calls, list[Any] | None, f"{where}.tool_calls"))  # type: ignore[arg-type]


def _parts(parts: Iterable[Any]) -> Iterator[Any]:
    """Iterate over the parts with the names of OpenAI; the result of a tool becomes text."""
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        # Newer versions call the text `content`, OpenAI calls it `text`.
        if kind == "text" or (kind is None and isinstance(part, dict) and "text" in part):
            yield {"type": "text", "text": part.get("content", part.get("text"))}
        elif kind == "reasoning":
            yield {"type": kind, kind: part.get("content")}
        elif kind == "tool_call_response":
            yield {"type": "text", "text": worded(part.get("response", part.get("result"))) or ""}
        else:
            yield part


def _decoded(content: Any, names: frozenset[str]) -> Any:
    """Decode JSON text of objects that have one of these fields; return any other content unchanged.

    An answer may itself be JSON, and must stay text.
    """
    if not isinstance(content, str) or not content.lstrip().startswith(("[", "{")):
        return content
    try:
        value, _ = lenient(content.encode(errors="backslashreplace"))
    except BrokenError:
        return content
    items = value if isinstance(value, list) else [value] if names >= MESSAGE else []
    are_expected = items and all(isinstance(item, dict) and not names.isdisjoint(item) for item in items)
    return value if are_expected else content
