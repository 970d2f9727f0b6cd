"""Langfuse: traces with their observations, or observations alone.

- File: exports or answers of the API, JSON or JSON lines, perhaps under `data`.
- Format: https://api.reference.langfuse.com, `TraceWithFullDetails` and `ObservationsView`
- Checked on: files built from that reference, with its current and its older fields.
- Lost: scores of single observations, and observations that are not model calls, other than their times and errors.
"""

from typing import Any

import msgspec

from rollwise.readers.chronology import latest
from rollwise.readers.common import first_of, records_in_data
from rollwise.readers.moments import Stamp, seconds_of
from rollwise.readers.problems import warn
from rollwise.readers.records import Finite, Key, kind_of, parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.readers.traces.spans import Span, add_trace, traces_of
from rollwise.readers.traces.spoken import gave_back, input_messages
from rollwise.readers.traces.usage import tokens_of

MODEL, FAILED = "GENERATION", "ERROR"  # type and level of observations
TYPES = frozenset(
    {MODEL, "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}
)
TRACE = frozenset({"id", "observations", "timestamp"})
OBSERVATION = frozenset({"id", "type", "traceId", "startTime"})
TRACE_COLUMNS = {
    "name": "trace_name",
    "sessionId": "session_id",
    "userId": "user_id",
    "metadata": "metadata",
    "tags": "tags",
}


class Trace(msgspec.Struct, rename="camel"):
    """One trace."""

    id: Key
    input: Any = None
    output: Any = None
    observations: list[Any] | None = None
    scores: list[Any] | None = None
    total_cost: Finite | None = None
    latency: Finite | None = None


class Observation(msgspec.Struct, rename="camel"):
    """One observation: a call of a model, a span or an event."""

    id: Key
    trace_id: Key
    type: str | None = None
    name: str | None = None
    parent_observation_id: Key | None = None
    start_time: Stamp = None
    end_time: Stamp = None
    model: str | None = None
    input: Any = None
    output: Any = None
    usage_details: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None  # in older versions
    cost_details: "Costs | None" = None
    calculated_total_cost: Finite | None = None
    level: str | None = None
    status_message: str | None = None


class Costs(msgspec.Struct):
    """Cost of a call, in dollars."""

    total: Finite | None = None


class Score(msgspec.Struct, rename="camel"):
    """Score of a trace by an evaluator or a person."""

    name: str
    value: Any = None
    string_value: str | None = None
    observation_id: Key | None = None
    timestamp: Stamp = None
    updated_at: Stamp = None


SHAPES = Shapes(TRACE, OBSERVATION, at="data")


def read_langfuse(document: Document, table: TurnsBuilder) -> None:
    """Read each trace as a rollout; a turn is one model call (an observation of type GENERATION), in order of start.

    ================================= ===================================================================
    in the file                       in the table
    ================================= ===================================================================
    hash of the content               `run`: the file has no name of its own
    run, `id` of the trace            `rollout_id`
    `model`                           `target` (the model of the first call), column `model` of each turn
    `input` of a generation           `prompt` (messages since the previous answer) and `context` of the turn; the
                                      messages of the first generation may hold earlier turns. Input that is
                                      not a chat is `prompt`
    `output` of a generation          `response`, `tool_calls`
    `usageDetails`, `costDetails`     `prompt_tokens` (cached ones included), `response_tokens` (with reasoning),
    (older: `usage`,                  `cost_usd`; `total_tokens` (the `total` of each call), `total_cost_usd` (or
    `calculatedTotalCost`)            `totalCost` of the trace)
    `startTime`, `endTime`            `seconds`; `total_seconds` (or `latency` of the trace)
    level ERROR                       `error` of the turn: `statusMessage`; `ending` error, where the only call
                                      or the outermost observation failed
    `scores` of the trace             ``score_<name>``; of several the one of the latest `updatedAt` or
                                      `timestamp`, null without times
    `name`, `sessionId`, `userId`,    columns `trace_name`, `session_id`, `user_id`, `metadata`, `tags`
    `metadata`, `tags`
    ================================= ===================================================================

    A trace without generations, or with only the ids of its observations, has one turn: its `input` and `output`. Every
    generation counts as a call of the target: remove the calls of attackers and judges before reading, or afterwards by the
    column `span_name`. `attempt` is 1. Scores of single observations are not read.

    The producer judges the `whole_rollout`, by its scores.
    """
    run = f"langfuse-{document.digest}"
    observations: list[Span] = []
    for number, value in records_in_data(document, "id"):
        with table.record(document.name, number):
            record = parse(value, dict[str, Any])
            if "traceId" in record:
                observations.append(_span(record))
            else:
                _add(document, table, run, record)
    # Observations without their traces: those with the same trace id are one rollout.
    for trace, spans in traces_of(observations).items():
        with table.record(document.name, trace):
            add_trace(document, table, run, spans, {"attempt": 1}, {})


def _add(document: Document, table: TurnsBuilder, run: str, record: dict[str, Any]) -> None:
    trace = parse(record, Trace)
    observations = enumerate(trace.observations or ())  # in lists of traces, only their ids, as text
    spans = [_span(value, f"observations[{place}]") for place, value in observations if not isinstance(value, str)]
    if spans and len(spans) < len(trace.observations or ()):
        warn("observations", "are not all objects: the others are passed over")
    if not any(span.calls for span in spans):  # the trace itself takes the place of a model call
        messages, answer = input_messages(trace.input), gave_back(trace.output)
        spans = [Span(str(trace.id), str(trace.id), None, calls=True, prompts=messages, answer=answer), *spans]
    # The id of the trace counts for all observations in it.
    spans = [span._replace(trace=str(trace.id)) for span in spans]
    facts: dict[str, Any] = {"attempt": 1}
    # The totals of the trace, where it has them, replace sums over its observations.
    facts |= {} if trace.total_cost is None else {"total_cost_usd": trace.total_cost}
    facts |= {} if trace.latency is None else {"total_seconds": trace.latency}
    extras = {column: record[name] for name, column in TRACE_COLUMNS.items() if record.get(name) is not None}
    scores: dict[str, list[tuple[Any, object]]] = {}  # of each name, with their times
    for place, value in enumerate(trace.scores or ()):
        if isinstance(value, str):
            continue  # an id
        score = parse(value, Score, f"scores[{place}]")
        if score.observation_id is None:
            stated = score.value if score.string_value is None else score.string_value
            scores.setdefault(score.name, []).append((stated, first_of(score.updated_at, score.timestamp)))
    extras |= {f"score_{name}": latest(values, f"scores.{name}") for name, values in scores.items()}
    (ordered,) = traces_of(spans).values()
    add_trace(document, table, run, ordered, facts, extras)


def _span(record: Any, within: str = "") -> Span:
    observation = parse(record, Observation, within)
    # Langfuse counts cached and reasoning tokens under keys of their own, and adds all keys up.
    usage = tokens_of(observation.usage_details or observation.usage, "usageDetails", separate=True)
    # Older versions have one number instead of details.
    cost = observation.calculated_total_cost if observation.cost_details is None else observation.cost_details.total
    return Span(
        str(observation.trace_id),
        str(observation.id),
        None if observation.parent_observation_id is None else str(observation.parent_observation_id),
        kind_of(observation.type, TYPES) == MODEL,
        seconds_of(observation.start_time, f"{within}.startTime".lstrip(".")),
        seconds_of(observation.end_time, f"{within}.endTime".lstrip(".")),
        observation.model,
        input_messages(observation.input, f"{within}.input".lstrip(".")),
        gave_back(observation.output, f"{within}.output".lstrip(".")),
        *usage,
        cost,
        (observation.status_message or "the call failed") if observation.level == FAILED else None,
        {"span_name": observation.name},
    )
