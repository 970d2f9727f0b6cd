"""Traces of Langfuse: with their observations, or observations alone; each trace is a rollout."""

from collections.abc import Iterator
from typing import Any

import msgspec

from turnwise.readers.records import Count, Finite, Key, parse, whole
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import names_if_any
from turnwise.readers.table import Table
from turnwise.readers.traces.spans import Span, add_trace, seconds_of, traces_of
from turnwise.readers.traces.spoken import gave_back, given
from turnwise.readers.traces.steps import Stamp

MODEL, FAILED = "GENERATION", "ERROR"  # type and level of observations
TRACE = frozenset({"id", "observations", "timestamp"})
OBSERVATION = frozenset({"id", "type", "traceId", "startTime"})
KEPT = {"name": "trace_name", "sessionId": "session_id", "userId": "user_id", "metadata": "metadata", "tags": "tags"}


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
    usage_details: "Details | None" = None
    usage: "Details | None" = None  # as it was before
    cost_details: "Costs | None" = None
    calculated_total_cost: Finite | None = None
    level: str | None = None
    status_message: str | None = None


class Details(msgspec.Struct):
    """Tokens of a call."""

    input: Count = None
    output: Count = None


class Costs(msgspec.Struct):
    """Cost of a call, in dollars."""

    total: Finite | None = None


class Score(msgspec.Struct, rename="camel"):
    """Score of a trace by an evaluator or a person."""

    name: str
    value: Any = None
    string_value: str | None = None
    observation_id: Key | None = None


def sniff(document: Document) -> bool:
    """Return whether the file holds traces with observations, or observations with a `traceId`, perhaps under `data`."""
    if document.kind not in {"json", "lines"}:
        return False
    names = document.keys
    if document.kind == "json" and isinstance(document.top, dict) and "data" in names:
        names = names_if_any(document.top["data"])
    return names >= TRACE or names >= OBSERVATION


def read_langfuse(document: Document, table: Table) -> None:
    """Each trace into a rollout; a turn is one call of a model, an observation of the type GENERATION, in order of start.

    ================================= ===================================================================
    in the file                       in the table
    ================================= ===================================================================
    hash of the content               `run`: the file has no name of its own
    run, `id` of the trace            `rollout_id`
    `model`                           `target` (that of the first call), column `model` of each
    `input` of a generation           of the first all turns that its messages hold; of each its `prompt`, what
                                      came since the answer before, and `context`; what is no chat is `prompt`
    `output` of a generation          `response`, `tool_calls`
    `usageDetails`, `costDetails`     `prompt_tokens`, `response_tokens`, `cost_usd`; `total_tokens`,
    (older: `usage`,                  `total_cost_usd` (or `totalCost` of the trace)
    `calculatedTotalCost`)
    `startTime`, `endTime`            `seconds`; `total_seconds` (or `latency` of the trace)
    level ERROR                       `error` of the turn, its `statusMessage`; `ending` error, where the only call
                                      or the outermost observation failed
    `scores` of the trace             ``score_<name>``
    `name`, `sessionId`, `userId`,    columns `trace_name`, `session_id`, `user_id`, `metadata`, `tags`
    `metadata`, `tags`
    ================================= ===================================================================

    Of a trace without a generation, or whose observations are only named, `input` and `output` are the only turn. Every
    generation is a call of the target: remove the calls of attackers and judges first, or by the column `span_name`.
    `attempt` is 1. Scores of single observations are left where they are.

    Built from the objects `TraceWithFullDetails` and `ObservationsView` of Langfuse's API.

    The producer judges the `whole_rollout`, by its scores.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"id": "t", "timestamp": "2026-01-01T00:00:00Z", "observations": [{"id": "o", "traceId": "t",
    ... "type": "GENERATION", "startTime": "2026-01-01T00:00:00Z", "model": "parrot", "input": [{"role": "user", "content": "Hi"}],
    ... "output": {"role": "assistant", "content": "Hello"}}]}'''
    >>> table = Table("langfuse", Problems(), {})
    >>> read_langfuse(Document(Path("trace.json"), log), table)
    >>> table.frame().select("target", "turn", "prompt", "response").row(0)
    ('parrot', 1, 'Hi', 'Hello')
    """
    run = f"langfuse-{document.digest}"
    loose: list[Span] = []
    for number, value in _records(document):
        with table.record(document.name, number):
            record = parse(value, dict[str, Any])
            if "traceId" in record:
                loose.append(_span(record))
            else:
                _add(document, table, run, record)
    for trace, found in traces_of(loose).items():
        with table.record(document.name, trace):
            add_trace(document, table, run, found, {"attempt": 1}, {})


def _records(document: Document) -> Iterator[tuple[int, Any]]:
    for number, value in document.records():
        if isinstance(value, dict) and isinstance(value.get("data"), list) and "id" not in value:
            yield from enumerate(value["data"])
        else:
            yield number, value


def _add(document: Document, table: Table, run: str, record: dict[str, Any]) -> None:
    trace = parse(record, Trace)
    told = enumerate(trace.observations or ())
    spans = [_span(value, f"observations[{place}]") for place, value in told if not isinstance(value, str)]
    if not any(span.calls for span in spans):
        asked, said = given(trace.input), gave_back(trace.output)
        spans = [Span(str(trace.id), str(trace.id), None, calls=True, asked=asked, said=said), *spans]
    spans = [span._replace(trace=str(trace.id)) for span in spans]
    facts: dict[str, Any] = {"attempt": 1}
    facts |= {} if trace.total_cost is None else {"total_cost_usd": trace.total_cost}
    facts |= {} if trace.latency is None else {"total_seconds": trace.latency}
    extras = {ours: record[name] for name, ours in KEPT.items() if record.get(name) is not None}
    for place, value in enumerate(trace.scores or ()):
        if isinstance(value, str):
            continue  # lists of traces only name what belongs to them
        score = parse(value, Score, f"scores[{place}]")
        if score.observation_id is None:
            extras[f"score_{score.name}"] = score.value if score.string_value is None else score.string_value
    (ordered,) = traces_of(spans).values()
    add_trace(document, table, run, ordered, facts, extras)


def _span(record: Any, within: str = "") -> Span:
    found = parse(record, Observation, within)
    usage = found.usage_details or found.usage or Details()
    cost = found.calculated_total_cost if found.cost_details is None else found.cost_details.total
    return Span(
        str(found.trace_id),
        str(found.id),
        None if found.parent_observation_id is None else str(found.parent_observation_id),
        found.type == MODEL,
        seconds_of(found.start_time, f"{within}.startTime".lstrip(".")),
        seconds_of(found.end_time, f"{within}.endTime".lstrip(".")),
        found.model,
        given(found.input, f"{within}.input".lstrip(".")),
        gave_back(found.output, f"{within}.output".lstrip(".")),
        whole(usage.input, "usageDetails.input"),
        whole(usage.output, "usageDetails.output"),
        cost,
        (found.status_message or "the call failed") if found.level == FAILED else None,
        {"span_name": found.name},
    )
