"""MLflow: traces of agents and models, with the assessments of judges and people.

- File: JSON or JSON lines of traces, as `Trace.to_json` writes them.
- Format: https://github.com/mlflow/mlflow, mlflow/entities/trace.py, assessment.py (schema 3)
- Checked on: traces that mlflow-tracing 3.17.2 wrote.
- Lost: spans that are not calls of models, other than their times and errors; assessments of single spans are verdicts only.
"""

import base64
import binascii
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from rollwise.readers.chronology import latest
from rollwise.readers.problems import warn
from rollwise.readers.records import Finite, Integer, kind_of, parse, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.readers.traces.spans import Span, add_trace, traces_of
from rollwise.readers.traces.spoken import gave_back, input_messages
from rollwise.readers.traces.usage import tokens_of

MODELS = frozenset({"CHAT_MODEL", "LLM"})  # types of spans that are calls of models
TYPES = MODELS | {
    *(
        "AGENT",
        "CHAIN",
        "EMBEDDING",
        "EVALUATOR",
        "GUARDRAIL",
        "MEMORY",
        "PARSER",
        "RERANKER",
        "RETRIEVER",
        "TASK",
        "TOOL",
    ),
    *("UNKNOWN", "WORKFLOW"),
}
ERRORS = frozenset({"ERROR", "STATUS_CODE_ERROR"})
NANO = 1e-9
EXPECTED = ("expected_response", "expected_output", "ground_truth", "answer")


class Source(msgspec.Struct):
    """Source of an assessment."""

    source_type: str | None = None
    source_id: str | None = None


class Failure(msgspec.Struct):
    """The error that a judge raised instead of a value."""

    error_code: str | None = None
    error_message: str | None = None


class Feedback(msgspec.Struct):
    """Feedback of a judge, a person or code."""

    value: Any = None
    error: Failure | None = None


class Expectation(msgspec.Struct):
    """Expected answer."""

    value: Any = None
    serialized_value: Any = None


class Assessment(msgspec.Struct):
    """One assessment of a trace, or of one of its spans."""

    assessment_name: str
    source: Source = msgspec.field(default_factory=Source)
    feedback: Feedback | None = None
    expectation: Expectation | None = None
    rationale: str | None = None
    span_id: str | None = None
    valid: bool | None = None
    create_time: Any = None
    last_update_time: Any = None

    @property
    def is_verdict(self) -> bool:
        """True if this is feedback that was not replaced."""
        return self.feedback is not None and self.valid is not False

    @property
    def time(self) -> object:
        """When it was stated."""
        return self.last_update_time or self.create_time

    @property
    def score_name(self) -> str:
        """The name of the column of its value."""
        return f"score_{self.assessment_name}"


class Info(msgspec.Struct):
    """Facts of a trace."""

    trace_id: str
    state: str | None = None
    execution_duration_ms: Finite | None = None
    tags: dict[str, Any] | None = None
    trace_metadata: dict[str, Any] | None = None
    assessments: list[Any] | None = None


class Status(msgspec.Struct):
    """Status of a span."""

    code: str | None = None
    message: str | None = None


class Recorded(msgspec.Struct):
    """One span."""

    span_id: str
    name: str | None = None
    parent_span_id: str | None = None
    start_time_unix_nano: Integer | None = None
    end_time_unix_nano: Integer | None = None
    status: Status | None = None
    attributes: dict[str, Any] = {}


class Data(msgspec.Struct):
    """The spans of a trace."""

    spans: list[Any]


class Trace(msgspec.Struct):
    """One trace."""

    info: Info
    data: Data


SHAPES = Shapes({"info", "data"}, contains=(b'"trace_id"', b'"mlflow.'))


def read_mlflow(document: Document, table: TurnsBuilder) -> None:
    """Read each trace as a rollout; a turn is one call of a model (a span of type CHAT_MODEL or LLM), in order of start.

    =================================== ====================================================================
    in the file                         in the table
    =================================== ====================================================================
    `trace_id`                          `rollout_id`; `run` is the hash of the content
    `mlflow.llm.model`, or `model`      `target` (the model of the first call), column `model` of each turn
    in the inputs
    `mlflow.spanInputs`                 `prompt` (messages since the previous answer) and `context`
    `mlflow.spanOutputs`                `response`, `tool_calls`
    `mlflow.chat.tokenUsage`            `prompt_tokens`, `response_tokens`; `total_tokens`
    start and end                       `seconds`; `total_seconds`
    status of a span                    `error` of the turn; `ending` error where the trace's state is ERROR
    feedback on the trace               `score_<name>`; by several sources ``score_<name>_<source>`` for the later
    expectations                        `expected` where the name is expected_response, expected_output,
                                        ground_truth or answer; ``expectation_<name>``
    tags, metadata of the user          columns of these names; `trace_name`
    =================================== ====================================================================

    A trace without calls of models has one turn: input and output of its outermost span. `attempt` is 1; `outcome` and
    `solved` are null, since an assessment does not say which of them it is. `rw.judges.read_verdicts` gives the feedback as
    verdicts, with source, reason and error, and the span where it is about one.

    The producer judges the `whole_rollout`, by its assessments.
    """
    run = f"mlflow-{document.digest}"
    for number, value in document.records():
        with table.record(document.name, number):
            trace = parse(value, Trace)
            recorded = (parse(span, Recorded, f"data.spans[{place}]") for place, span in enumerate(trace.data.spans))
            spans = [_span(span, trace.info.trace_id) for span in recorded]
            if not spans:
                table.problems.dropped(document.name, "holds no spans", number)
                continue
            (ordered,) = traces_of(spans).values()
            facts: dict[str, Any] = {"attempt": 1}
            scores, expectations = _assessed(trace.info)
            expected = next((expectations[name] for name in EXPECTED if name in expectations), None)
            facts |= {} if expected is None else {"expected": worded(expected)}
            tags = {**(trace.info.tags or {}), **(trace.info.trace_metadata or {})}
            extras = {
                **scores,
                **{f"expectation_{name}": expectation for name, expectation in expectations.items()},
                "trace_name": tags.get("mlflow.traceName"),
                "session_id": tags.get("mlflow.trace.session"),
                "state": trace.info.state,
                # Names with the prefix are MLflow's own; others are the user's.
                **{f"tag_{name}": tag for name, tag in tags.items() if not name.startswith("mlflow.")},
            }
            add_trace(document, table, run, ordered, facts, extras)


def rollout_id_of(document: Document, info: Info) -> str:
    """Return the id of the rollout of a trace."""
    return f"mlflow-{document.digest}/{info.trace_id}"


def assessments_of(info: Info) -> Iterator[Assessment]:
    """Yield the assessments of a trace."""
    for place, value in enumerate(info.assessments or ()):
        yield parse(value, Assessment, f"info.assessments[{place}]")


def _assessed(info: Info) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the scores of a trace, and what was expected of it, each by name."""
    stated: dict[tuple[str, str], list[tuple[Any, object]]] = {}  # by name and source
    expected: dict[str, list[tuple[Any, object]]] = {}
    for assessment in assessments_of(info):
        if assessment.expectation is not None:
            expectation = assessment.expectation
            value = expectation.serialized_value if expectation.value is None else expectation.value
            expected.setdefault(assessment.assessment_name, []).append(
                (value, assessment.last_update_time or assessment.create_time)
            )
        elif assessment.is_verdict and assessment.span_id is None and assessment.feedback is not None:
            source = assessment.source.source_id or assessment.source.source_type or "other"
            stated.setdefault((assessment.score_name, source), []).append((assessment.feedback.value, assessment.time))
    scores: dict[str, Any] = {}
    for (name, source), values in stated.items():
        scores[f"{name}_{source}" if name in scores else name] = latest(values, "info.assessments")
    return scores, {name: latest(values, "info.assessments") for name, values in expected.items()}


def _span(recorded: Recorded, trace: str) -> Span:
    attributes = {name: _decoded(value) for name, value in recorded.attributes.items()}
    inputs = attributes.get("mlflow.spanInputs")
    model = attributes.get("mlflow.llm.model") or (inputs.get("model") if isinstance(inputs, dict) else None)
    tokens = attributes.get("mlflow.chat.tokenUsage")
    status = recorded.status or Status()
    start, end = recorded.start_time_unix_nano, recorded.end_time_unix_nano
    return Span(
        trace,
        span_id(recorded.span_id),
        None if recorded.parent_span_id is None else span_id(recorded.parent_span_id),
        _is_of_a_model(attributes.get("mlflow.spanType"), has_tokens=tokens is not None),
        None if start is None else start * NANO,
        None if end is None else end * NANO,
        model if isinstance(model, str) else None,
        input_messages(inputs, "mlflow.spanInputs"),
        gave_back(attributes.get("mlflow.spanOutputs"), "mlflow.spanOutputs"),
        *tokens_of(tokens if isinstance(tokens, dict) else None, "mlflow.chat.tokenUsage"),
        None,
        (status.message or "the call failed") if status.code in ERRORS else None,
        {"span_name": recorded.name},
    )


def span_id(text: str) -> str:
    """Return the id of a span as assessments have it: in base 16, where the span has it in base 64."""
    if not text.endswith("="):
        return text
    try:
        return base64.b64decode(text, validate=True).hex()
    except (binascii.Error, ValueError):
        return text


def _decoded(value: Any) -> Any:
    """Return the value of an attribute, which is JSON text; other text stays as it is."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _is_of_a_model(span_type: Any, *, has_tokens: bool) -> bool:
    """Return whether a span is a call of a model; users may invent types, and other tools leave them out, which is noted."""
    if span_type is not None:
        return kind_of(span_type, TYPES, "mlflow.spanType") in MODELS
    if not has_tokens:
        warn("mlflow.spanType", "is missing, and so are tokens: the span is passed over")
    return has_tokens
