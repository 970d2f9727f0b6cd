"""OpenTelemetry: spans in its JSON, in its own conventions for generative AI or in OpenInference's.

- File: OTLP in JSON or JSON lines (`resourceSpans`), or what the SDK's console exporter prints.
- Format: https://opentelemetry.io/docs/specs/semconv/gen-ai/ and https://opentelemetry.io/docs/specs/otlp/
- Checked on: spans that Pydantic AI and OpenLLMetry write, and files built from the conventions, current and older.
- Lost: traces without a model call, and spans that are not model calls, other than their times and errors.
"""

from typing import Any

from rollwise.readers.chats.turns import thoughts
from rollwise.readers.common import text_in, without_nulls
from rollwise.readers.formats.phoenix import FAILED, span_of
from rollwise.readers.problems import warn
from rollwise.readers.records import parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.readers.traces.gen_ai import call_of
from rollwise.readers.traces.otlp import EXPORTED, Plain, spans_in
from rollwise.readers.traces.spans import Span, add_trace, traces_of

PRINTED = frozenset({"context", "attributes", "parent_id", "start_time"})  # fields of what the SDK's exporter prints
CONVENTIONS = frozenset({"gen_ai", "openinference"})  # first parts of the names of attributes of model calls


def _names_models(document: Document) -> bool:
    return any(f"{name}.".encode() in document.data for name in CONVENTIONS)


# Spans that are printed by the SDK look like Phoenix's, except for `span_kind`.
SHAPES = Shapes({EXPORTED}, check=_names_models) | Shapes(PRINTED, without={"span_kind"}, check=_names_models)


def read_opentelemetry(document: Document, table: TurnsBuilder) -> None:
    """Read each trace with a model in it as a rollout; a turn is one model call, in order of start.

    ================================== ==================================================================
    in the file                        in the table
    ================================== ==================================================================
    hash of the content                `run`: the file has no name of its own
    run, `traceId`                     `rollout_id`
    `gen_ai.response.model`, else      `target` (the model of the first call), column `model` of each turn
    `gen_ai.request.model`
    `gen_ai.input.messages`,           `prompt` (messages since the previous answer) and `context` of the turn; the
    `gen_ai.system_instructions`       messages of the first call may hold earlier turns
    `gen_ai.output.messages`           `response`, `tool_calls`, column `reasoning`
    `gen_ai.usage`                     `prompt_tokens`, `response_tokens`; `total_tokens`
    start, end                         `seconds`; `total_seconds`, of all spans
    status ERROR                       `error` of the turn: its message; `ending` error, where the only call or
                                       the outermost span failed
    `service.name` of the resource     column `service`
    `gen_ai.conversation.id`,          columns `conversation`, `agent`: the first in the trace
    `gen_ai.agent.name`
    ================================== ==================================================================

    Messages may also be in older forms: as ``gen_ai.prompt.0.content`` and ``gen_ai.completion.0.content`` (OpenLLMetry), or
    as events of the span (``gen_ai.user.message``, ``gen_ai.choice``). A span in OpenInference's conventions is read as
    `phoenix` reads it. A call is a span whose operation is chat, text_completion or generate_content; a trace without calls
    has one turn: input and output of the outermost span. Traces in neither convention are not rollouts. Every call counts as
    a call of the target: remove the calls of attackers and judges before reading, or afterwards by the column `span_name`.
    `attempt` is 1.

    The producer judges the `whole_rollout`, but writes no verdict.
    """
    run = f"opentelemetry-{document.digest}"
    spans: list[Span] = []
    traces: dict[str, dict[str, str | None]] = {}  # columns of each trace with a model in it
    for number, value in document.records():
        with table.record(document.name, number):
            for plain in spans_in(parse(value, dict[str, Any]), document.name, number, table.problems):
                spans.append(_span(plain))
                if not CONVENTIONS.isdisjoint(plain.attributes):
                    # Any span of a trace may name these: the first one that does counts.
                    extras = traces.setdefault(plain.trace, dict.fromkeys(("service", "conversation", "agent")))
                    extras["service"] = extras["service"] or text_in(plain.around, "service", "name")
                    extras["conversation"] = extras["conversation"] or text_in(
                        plain.attributes, "gen_ai", "conversation", "id"
                    )
                    extras["agent"] = extras["agent"] or text_in(plain.attributes, "gen_ai", "agent", "name")
    for trace, trace_spans in traces_of(spans).items():
        if trace not in traces:
            with table.record(document.name, trace):
                warn("attributes", "traces without any call of a model are passed over")
        else:
            with table.record(document.name, trace):
                add_trace(document, table, run, trace_spans, {"attempt": 1}, traces[trace])


def _span(plain: Plain) -> Span:
    extras = {"span_name": plain.name}
    # OpenInference's attributes are the same here as in Phoenix: let its reader convert them.
    if "openinference" in plain.attributes:
        row = {
            "context": {"trace_id": plain.trace, "span_id": plain.id},
            "parent_id": plain.parent,
            "start_time": plain.start,
            "end_time": plain.end,
            "status_code": None if plain.error is None else FAILED,
            "status_message": plain.error,
            "attributes": plain.attributes,
        }
        return span_of(row)._replace(extras=extras)
    call = call_of(plain.attributes, plain.events)
    reasoning = None if call.answer is None else thoughts(call.answer.content)
    return Span(
        plain.trace,
        plain.id,
        plain.parent,
        call.calls,
        plain.start,
        plain.end,
        call.model,
        call.prompts,
        call.answer,
        *call.usage,
        error=plain.error,
        extras={**extras, **without_nulls({"reasoning": reasoning})},
    )
