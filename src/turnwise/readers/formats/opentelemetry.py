"""Spans of OpenTelemetry in its JSON, in its own words for generative AI or OpenInference's: each trace is a rollout."""

from typing import Any

from turnwise.readers.chats.turns import thoughts
from turnwise.readers.formats.phoenix import FAILED, span_of
from turnwise.readers.records import Count, parse, whole
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table
from turnwise.readers.traces.gen_ai import call_of
from turnwise.readers.traces.otlp import EXPORTED, Plain, spans_in
from turnwise.readers.traces.spans import Span, add_trace, traces_of

PRINTED = frozenset({"context", "attributes", "parent_id", "start_time"})  # fields of what the SDK's exporter prints
WORDS = frozenset({"gen_ai", "openinference"})  # in which a span may speak of models


def sniff(document: Document) -> bool:
    """Return whether the file holds spans of models, as OTLP writes them in JSON or as the SDK's exporter prints them."""
    if document.kind not in {"json", "lines"}:
        return False
    exported = EXPORTED in document.keys or (document.keys >= PRINTED and "span_kind" not in document.keys)
    return exported and any(f"{word}.".encode() in document.data for word in WORDS)


def read_opentelemetry(document: Document, table: Table) -> None:
    """Each trace with a model in it into a rollout; a turn is one call of a model, in the order in which they began.

    ================================== ==================================================================
    in the file                        in the table
    ================================== ==================================================================
    hash of the content                `run`: the file has no name of its own
    run, `traceId`                     `rollout_id`
    `gen_ai.response.model`, else      `target` (that of the first call), column `model` of each
    `gen_ai.request.model`
    `gen_ai.input.messages`,           of the first call all turns that they hold; of each call its `prompt`, what
    `gen_ai.system_instructions`       came since the answer before, and `context`
    `gen_ai.output.messages`           `response`, `tool_calls`, column `reasoning`
    `gen_ai.usage`                     `prompt_tokens`, `response_tokens`; `total_tokens`
    start, end                         `seconds`; `total_seconds`, of all spans
    status ERROR                       `error` of the turn, its message; `ending` error, where the only call or
                                       the outermost span failed
    `service.name` of the resource     column `service`
    `gen_ai.conversation.id`,          columns `conversation`, `agent`: the first that is said
    `gen_ai.agent.name`
    ================================== ==================================================================

    Messages may also stand as the conventions had them before: as ``gen_ai.prompt.0.content`` and ``gen_ai.completion.0.content``
    (OpenLLMetry's), or as events of the span (``gen_ai.user.message``, ``gen_ai.choice``). A span in the words of OpenInference is
    read as `phoenix` reads it. A call is a span whose operation is chat, text_completion or generate_content; where no model is
    seen, what the outermost span was given and gave back is the only turn. Traces without either convention are no rollouts. Every
    call is one of the target: remove the calls of attackers and judges first, or by the column `span_name`. `attempt` is 1.

    Built from OpenTelemetry's protocol, its semantic conventions and what Pydantic AI and OpenLLMetry write.

    The producer judges the `whole_rollout`: not at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "s", "attributes": [
    ... {"key": "gen_ai.request.model", "value": {"stringValue": "parrot"}},
    ... {"key": "gen_ai.prompt.0.role", "value": {"stringValue": "user"}},
    ... {"key": "gen_ai.prompt.0.content", "value": {"stringValue": "Hi"}},
    ... {"key": "gen_ai.completion.0.content", "value": {"stringValue": "Hello"}}]}]}]}]}'''
    >>> table = Table("opentelemetry", Problems(), {})
    >>> read_opentelemetry(Document(Path("spans.json"), log), table)
    >>> table.frame().select("target", "turn", "prompt", "response").row(0)
    ('parrot', 1, 'Hi', 'Hello')
    """
    run = f"opentelemetry-{document.digest}"
    spans: list[Span] = []
    said: dict[
        str, dict[str, str | None]
    ] = {}  # of each trace with a model in it: what is said beside, the first that is
    for number, value in document.records():
        with table.record(document.name, number):
            for plain in spans_in(parse(value, dict[str, Any]), document.name, number, table.problems):
                spans.append(_span(plain))
                if not WORDS.isdisjoint(plain.told):
                    known = said.setdefault(plain.trace, dict.fromkeys(("service", "conversation", "agent")))
                    known["service"] = known["service"] or _text(plain.around, "service", "name")
                    known["conversation"] = known["conversation"] or _text(plain.told, "gen_ai", "conversation", "id")
                    known["agent"] = known["agent"] or _text(plain.told, "gen_ai", "agent", "name")
    for trace, found in traces_of(spans).items():
        if trace in said:
            with table.record(document.name, trace):
                add_trace(document, table, run, found, {"attempt": 1}, said[trace])


def _span(plain: Plain) -> Span:
    beside = {"span_name": plain.name}
    if "openinference" in plain.told:
        given = {
            "context": {"trace_id": plain.trace, "span_id": plain.id},
            "parent_id": plain.parent,
            "start_time": plain.start,
            "end_time": plain.end,
            "status_code": None if plain.error is None else FAILED,
            "status_message": plain.error,
            "attributes": plain.told,
        }
        return span_of(given)._replace(beside=beside)
    call = call_of(plain.told, plain.events)
    usage, thought = call.usage, None if call.said is None else thoughts(call.said.content)
    return Span(
        plain.trace,
        plain.id,
        plain.parent,
        call.calls,
        plain.start,
        plain.end,
        call.model,
        call.asked,
        call.said,
        prompt_tokens=_first(usage.input_tokens, usage.prompt_tokens),
        response_tokens=_first(usage.output_tokens, usage.completion_tokens),
        error=plain.error,
        beside=beside if thought is None else {**beside, "reasoning": thought},
    )


def _first(*counts: Count) -> int | None:
    return whole(next((count for count in counts if count is not None), None), "gen_ai.usage")


def _text(node: Any, *names: str) -> str | None:
    for name in names:
        node = node.get(name) if isinstance(node, dict) else None
    return node if isinstance(node, str) else None
