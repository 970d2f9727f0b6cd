"""Arize Phoenix: spans in OpenInference's conventions.

- File: data frames of spans (Parquet, Arrow) or answers of the API (JSON, JSON lines), perhaps under `data`.
- Format: https://arize-ai.github.io/openinference/spec/semantic_conventions.html, `get_spans_dataframe` of Phoenix's client
- Checked on: files built from those conventions and the spans of Phoenix's API.
- Lost: spans that are not model calls, other than their times and errors; annotations are in other files.
"""

from typing import Any

import msgspec

from rollwise.readers.chats.turns import Message
from rollwise.readers.common import of_trace, records_in_data
from rollwise.readers.moments import Stamp, seconds_of
from rollwise.readers.records import Finite, Key, inner, kind_of, parse, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import BINARY, JSON, Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.readers.traces.otlp import undotted
from rollwise.readers.traces.spans import Span, add_trace, traces_of
from rollwise.readers.traces.usage import tokens_of

FLAT = frozenset({"context.trace_id", "context.span_id"})  # columns of Phoenix's data frames
NESTED = frozenset({"context", "attributes"})  # fields of its API
MODEL = "LLM"  # kind of a span that is a model call
KINDS = frozenset(
    {
        MODEL,
        "CHAIN",
        "RETRIEVER",
        "RERANKER",
        "EMBEDDING",
        "AGENT",
        "TOOL",
        "GUARDRAIL",
        "EVALUATOR",
        "PROMPT",
        "UNKNOWN",
    }
)
FAILED = "ERROR"  # status of a span
TRACE_ATTRIBUTES = ("session", "user", "metadata", "tag")  # attributes that describe a whole trace


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


class Model(msgspec.Struct):
    """Model call recorded in a span."""

    model_name: str | None = None
    input_messages: Any = None
    output_messages: Any = None
    token_count: dict[str, Any] | None = None
    cost: "Cost | None" = None


class SpanMessage(msgspec.Struct):
    """One message."""

    role: str | None = None
    content: Any = None
    contents: list[dict[str, Any]] | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: Any = None
    function_call_name: str | None = None
    function_call_arguments_json: str | None = None


class Cost(msgspec.Struct):
    """Cost of a call, in dollars."""

    total: Finite | None = None


SHAPES = Shapes(FLAT, NESTED | {"span_kind"}, at="data", kinds=(*JSON, *BINARY))


def read_phoenix(document: Document, table: TurnsBuilder) -> None:
    """Read each trace as a rollout; a turn is one model call (a span of kind LLM), in order of start.

    ================================= ===================================================================
    in the file                       in the table
    ================================= ===================================================================
    hash of the content               `run`: the file has no name of its own
    run, `trace_id`                   `rollout_id`
    `llm.model_name`                  `target` (the model of the first call), column `model` of each turn
    `llm.input_messages`              `prompt` (messages since the previous answer) and `context` of the turn; the
                                      messages of the first call may hold earlier turns
    `llm.output_messages`             `response`, `tool_calls`
    `input.value`, `output.value`     `prompt`, `response`, where there are no messages
    `llm.token_count`, `llm.cost`     `prompt_tokens`, `response_tokens`, `cost_usd`; `total_tokens`,
                                      `total_cost_usd`
    `start_time`, `end_time`          `seconds`; `total_seconds`, of all spans
    status ERROR                      `error` of the turn: `status_message`; `ending` error, where the only call
                                      or the outermost span failed
    `session`, `user`, `metadata`,    columns of the outermost span, as JSON text
    `tag`
    ================================= ===================================================================

    A trace without model calls has one turn: input and output of the outermost span. Every span of kind LLM counts as a call
    of the target: remove the calls of attackers and judges before reading, or afterwards by the column `span_name`.
    Attributes may be columns such as ``attributes.llm.model_name``, as in the data frames of Phoenix, or one object, nested or
    with dots in its names. `attempt` is 1; no verdict is read, since annotations are in other files.

    The producer judges the `whole_rollout`, in other files.
    """
    run = f"phoenix-{document.digest}"
    spans: list[Span] = []
    for number, value in records_in_data(document, "context"):
        with table.record(document.name, number):
            spans.append(span_of(parse(value, dict[str, Any])))
    for trace, trace_spans in traces_of(spans).items():
        with table.record(document.name, trace):
            extras, turns = of_trace(trace_spans)
            add_trace(document, table, run, turns, {"attempt": 1}, extras)


def span_of(row: dict[str, Any]) -> Span:
    """Convert a row or an object of Phoenix to a span."""
    record = parse(undotted(row), Record)
    attributes = undotted(record.attributes or {})
    model = parse(attributes.get("llm") or {}, Model, "attributes.llm")
    kind = record.span_kind or inner(attributes, "openinference", "span", "kind")
    messages, answers = _chat(model.input_messages, "input"), _chat(model.output_messages, "output")
    input_text, output_text = inner(attributes, "input", "value"), inner(attributes, "output", "value")
    # Many instrumentations record only the input and output of a call as texts.
    if not messages and input_text is not None:
        messages = [Message("user", worded(input_text))]
    if not answers and output_text is not None:
        answers = [Message("assistant", worded(output_text))]
    failed = (record.status_code or "").upper() == FAILED
    return Span(
        str(record.context.trace_id),
        str(record.context.span_id),
        None if record.parent_id in {None, ""} else str(record.parent_id),
        kind_of(kind, KINDS, "span_kind") == MODEL,
        seconds_of(record.start_time, "start_time"),
        seconds_of(record.end_time, "end_time"),
        model.model_name,
        messages,
        answers[-1] if answers else None,
        *tokens_of(model.token_count, "llm.token_count"),
        None if model.cost is None else model.cost.total,
        (record.status_message or "the span failed") if failed else None,
        {
            "span_name": record.name,
            **{name: attributes[name] for name in TRACE_ATTRIBUTES if attributes.get(name) is not None},
        },
    )


def _chat(items: Any, side: str) -> list[Message]:
    """Return the messages of a call, each of which the conventions wrap in an object: ``{"message": ...}``."""
    where = f"llm.{side}_messages"
    messages: list[Message] = []
    for place, item in enumerate(parse(items or [], list[Any], where)):
        fields = parse(item, dict[str, Any], f"{where}[{place}]")
        logged = parse(fields.get("message", fields), SpanMessage, f"{where}[{place}]")
        # Parts and tool calls are wrapped in objects with one field, as messages are.
        parts = [part.get("message_content", part) for part in logged.contents or []]
        requests = [call.get("tool_call", call) for call in logged.tool_calls or []]
        if logged.function_call_name is not None:
            requests.append({"name": logged.function_call_name, "arguments": logged.function_call_arguments_json})
        role = logged.role or ("user" if side == "input" else "assistant")
        messages.append(
            Message(
                role,
                logged.content if logged.content is not None else parts or None,
                requests or None,
                tool_call_id=logged.tool_call_id,
            )
        )
    return messages
