"""Spans in the words of OpenInference, as Arize Phoenix exports them: each trace is a rollout."""

from collections.abc import Iterator
from typing import Any

import msgspec

from turnwise.readers.chats.turns import Message
from turnwise.readers.records import Count, Finite, Key, inner, parse, whole, worded
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import names_if_any
from turnwise.readers.table import Table
from turnwise.readers.traces.spans import Span, add_trace, seconds_of, traces_of
from turnwise.readers.traces.steps import Stamp

FLAT = frozenset({"context.trace_id", "context.span_id"})  # columns of Phoenix's data frames
NESTED = frozenset({"context", "attributes"})  # fields of its API
MODEL = "LLM"  # kind of a span
FAILED = "ERROR"  # status of a span
KEPT = ("session", "user", "metadata", "tag")  # attributes that are said of a whole trace


class Context(msgspec.Struct):
    """Identifiers of a span."""

    trace_id: Key
    span_id: Key


class Record(msgspec.Struct):
    """One span."""

    context: Context
    name: str | None = None
    parent_id: Key | None = None
    span_kind: str | None = None
    start_time: Stamp = None
    end_time: Stamp = None
    status_code: str | None = None
    status_message: str | None = None
    attributes: dict[str, Any] | None = None


class Tokens(msgspec.Struct):
    """Token counts of a call."""

    prompt: Count = None
    completion: Count = None


class Model(msgspec.Struct):
    """Model call recorded in a span."""

    model_name: str | None = None
    input_messages: Any = None
    output_messages: Any = None
    token_count: Tokens | None = None
    cost: "Cost | None" = None


class Said(msgspec.Struct):
    """One message."""

    role: str | None = None
    content: Any = None
    contents: list[dict[str, Any]] | None = None
    tool_calls: list[dict[str, Any]] | None = None
    function_call_name: str | None = None
    function_call_arguments_json: str | None = None


class Cost(msgspec.Struct):
    """Cost of a call, in dollars."""

    total: Finite | None = None


def sniff(document: Document) -> bool:
    """Return whether the file holds spans: with `context.trace_id`, or with a `context` and `attributes`, perhaps under `data`."""
    if document.kind not in {"json", "lines", "parquet", "arrow"}:
        return False
    names = document.keys
    if names >= {"data"} and document.kind == "json" and isinstance(document.top, dict):
        names = names_if_any(document.top["data"])
    return names >= FLAT or (names >= NESTED and "span_kind" in names)


def read_phoenix(document: Document, table: Table) -> None:
    """Each trace into a rollout; a turn is one call of a model, a span of the kind LLM, in the order in which they began.

    ================================= ===================================================================
    in the file                       in the table
    ================================= ===================================================================
    hash of the content               `run`: the file has no name of its own
    run, `trace_id`                   `rollout_id`
    `llm.model_name`                  `target` (that of the first call), column `model` of each
    `llm.input_messages`              of the first call all turns that they hold; of each call its `prompt`, what
                                      came since the answer before, and `context`
    `llm.output_messages`             `response`, `tool_calls`
    `input.value`, `output.value`     `prompt`, `response`, where there are no messages
    `llm.token_count`, `llm.cost`     `prompt_tokens`, `response_tokens`, `cost_usd`; `total_tokens`,
                                      `total_cost_usd`
    `start_time`, `end_time`          `seconds`; `total_seconds`, of all spans
    status ERROR                      `error` of the turn, its `status_message`; `ending` error, where the
                                      only call or the outermost span failed
    `session`, `user`, `metadata`,    columns, as JSON text, of the outermost span
    `tag`
    ================================= ===================================================================

    Where no model is seen, what the outermost span was given and gave back is the only turn. Every span of the kind LLM is a
    call of the target: remove the calls of attackers and judges first, or by the column `span_name`. Attributes may be columns
    called ``attributes.llm.model_name``, as data frames of Phoenix have them, or stand in one object, with dots in their names or
    without. `attempt` is 1; no verdict is read: annotations stand elsewhere.

    Built from OpenInference's semantic conventions, the columns of `get_spans_dataframe` and the spans of Phoenix's API.

    The producer judges the `whole_rollout`, elsewhere.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"context": {"trace_id": "t", "span_id": "s"}, "span_kind": "LLM", "attributes": {"llm.model_name": "parrot",
    ... "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Hi",
    ... "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Hello"}}'''
    >>> table = Table("phoenix", Problems(), {})
    >>> read_phoenix(Document(Path("spans.jsonl"), log), table)
    >>> table.frame().select("target", "turn", "prompt", "response").row(0)
    ('parrot', 1, 'Hi', 'Hello')
    """
    run = f"phoenix-{document.digest}"
    spans: list[Span] = []
    for number, value in _records(document):
        with table.record(document.name, number):
            spans.append(span_of(parse(value, dict[str, Any])))
    for trace, found in traces_of(spans).items():
        with table.record(document.name, trace):
            root = next((span for span in found if span.parent is None), found[0])
            extras = {name: root.beside[name] for name in KEPT if name in root.beside}
            own = [span._replace(beside={"span_name": span.beside["span_name"]}) for span in found]
            add_trace(document, table, run, own, {"attempt": 1}, extras)


def _records(document: Document) -> Iterator[tuple[int, Any]]:
    for number, value in document.records():
        if isinstance(value, dict) and isinstance(value.get("data"), list) and "context" not in value:
            yield from enumerate(value["data"])
        else:
            yield number, value


def span_of(row: dict[str, Any]) -> Span:
    """A span in our words.

    Examples
    --------
    >>> given = {"context.trace_id": "t", "context.span_id": "s", "span_kind": "LLM", "attributes.input.value": "Hi"}
    >>> span = span_of(given)
    >>> span.trace, span.calls, span.asked[0].content
    ('t', True, 'Hi')
    """
    record = parse(undotted(row), Record)
    told = undotted(record.attributes or {})
    model = parse(told.get("llm") or {}, Model, "attributes.llm")
    kind = record.span_kind or inner(told, "openinference", "span", "kind")
    tokens = model.token_count or Tokens()
    asked, said = _chat(model.input_messages, "input"), _chat(model.output_messages, "output")
    before, after = inner(told, "input", "value"), inner(told, "output", "value")
    if not asked and before is not None:
        asked = [Message("user", worded(before))]
    if not said and after is not None:
        said = [Message("assistant", worded(after))]
    failed = (record.status_code or "").upper() == FAILED
    return Span(
        str(record.context.trace_id),
        str(record.context.span_id),
        None if record.parent_id in {None, ""} else str(record.parent_id),
        str(kind).upper() == MODEL,
        seconds_of(record.start_time, "start_time"),
        seconds_of(record.end_time, "end_time"),
        model.model_name,
        asked,
        said[-1] if said else None,
        whole(tokens.prompt, "llm.token_count.prompt"),
        whole(tokens.completion, "llm.token_count.completion"),
        None if model.cost is None else model.cost.total,
        (record.status_message or "the span failed") if failed else None,
        {"span_name": record.name, **{name: told[name] for name in KEPT if told.get(name) is not None}},
    )


def _chat(given: Any, whose: str) -> list[Message]:
    """The messages of a call, as the conventions write each: an object with a `message` in it."""
    where = f"llm.{whose}_messages"
    messages: list[Message] = []
    for place, item in enumerate(parse(given or [], list[Any], where)):
        told = parse(item, dict[str, Any], f"{where}[{place}]")
        found = parse(told.get("message", told), Said, f"{where}[{place}]")
        parts = [part.get("message_content", part) for part in found.contents or []]
        called = [call.get("tool_call", call) for call in found.tool_calls or []]
        if found.function_call_name is not None:
            called.append({"name": found.function_call_name, "arguments": found.function_call_arguments_json})
        role = found.role or ("user" if whose == "input" else "assistant")
        messages.append(Message(role, found.content if found.content is not None else parts or None, called or None))
    return messages


def undotted(flat: Any) -> Any:
    """Nest a flat object: names with dots become objects, and objects whose names are all numbers become lists.

    Examples
    --------
    >>> undotted({"llm.messages.0.role": "user", "llm.messages.1.role": "tool", "llm": {"model": "m"}})
    {'llm': {'messages': [{'role': 'user'}, {'role': 'tool'}], 'model': 'm'}}
    """
    if isinstance(flat, list):
        return [undotted(item) for item in flat]
    if not isinstance(flat, dict):
        return flat
    found: dict[str, Any] = {}
    for name, value in flat.items():
        *outer, last = name.split(".")
        inside = found
        for step in outer:
            if not isinstance(inside.get(step), dict):
                inside[step] = {}
            inside = inside[step]
        there = inside.get(last)
        if not isinstance(there, dict):
            inside[last] = value
        elif isinstance(value, dict):
            inside[last] = {**there, **value}
    told = {name: undotted(value) for name, value in found.items()}
    if told and all(name.isdecimal() for name in told):
        return [told[name] for name in sorted(told, key=int)]
    return told
