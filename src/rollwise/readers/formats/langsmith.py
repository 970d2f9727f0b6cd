"""LangSmith: runs, which form traces.

- File: exported runs, JSON or JSON lines.
- Format: https://docs.langchain.com/langsmith/run-data-format
- Checked on: files built from that documentation.
- Lost: runs that are not model calls, other than their times and errors, and comments of feedback.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from rollwise.readers.chronology import latest
from rollwise.readers.common import of_trace, text_in, without_nulls
from rollwise.readers.moments import Stamp, seconds_of
from rollwise.readers.problems import IS_NULL, BrokenError, nulled, warn
from rollwise.readers.records import Key, kind_of, parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.readers.traces.spans import Span, add_trace, traces_of
from rollwise.readers.traces.spoken import gave_back, input_messages
from rollwise.readers.traces.usage import tokens_of

MODEL = "llm"  # type of a run
USAGE = ("prompt_tokens", "completion_tokens", "total_tokens", "prompt_token_details", "completion_token_details")
TYPES = frozenset({MODEL, "chain", "tool", "retriever", "embedding", "prompt", "parser"})


class Run(msgspec.Struct):
    """One run, which is a span."""

    id: Key
    run_type: str
    trace_id: Key
    name: str | None = None
    parent_run_id: Key | None = None
    start_time: Stamp = None
    end_time: Stamp = None
    inputs: Any = None
    outputs: Any = None
    error: str | None = None
    extra: dict[str, Any] | None = None
    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_tokens: Any = None
    prompt_token_details: dict[str, Any] | None = None
    completion_token_details: dict[str, Any] | None = None
    total_cost: float | str | None = None
    reference_example_id: Key | None = None
    feedback_stats: dict[str, Any] | None = None
    tags: list[Any] | None = None
    session_id: Key | None = None
    child_runs: list[Any] | None = None


SHAPES = Shapes({"run_type", "trace_id", "inputs"})


def read_langsmith(document: Document, table: TurnsBuilder) -> None:
    """Read each trace as a rollout; a turn is one model call (a run of type llm), in order of start.

    ================================= ===================================================================
    in the file                       in the table
    ================================= ===================================================================
    hash of the content               `run`: the file has no name of its own
    run, `trace_id`                   `rollout_id`
    `ls_model_name` in the metadata,  `target` (the model of the first call), column `model` of each turn
    or `model` in `invocation_params`
    `inputs` of a run                 `prompt` (messages since the previous answer) and `context` of the turn; the
                                      messages of the first call may hold earlier turns. Input that is not a
                                      chat is `prompt`
    `outputs` of a run                `response`, `tool_calls`; the first of several answers
    `prompt_tokens`, `total_cost`,    `prompt_tokens`, `response_tokens`, `cost_usd`; `total_tokens`,
    `completion_tokens`               `total_cost_usd`
    `start_time`, `end_time`          `seconds`; `total_seconds`, of all runs
    `error`                           `error` of the turn; `ending` error, where the only call or the outermost
                                      run failed
    `reference_example_id`            `task`, of the outermost run
    `feedback_stats`                  ``score_<name>``: the average, of the outermost run
    `tags`, `session_id`              columns of these names, of the outermost run
    ================================= ===================================================================

    Messages may be OpenAI's or LangChain's, and runs may contain others as `child_runs`. A trace without model calls has one
    turn: inputs and outputs of the outermost run. Every run of type llm counts as a call of the target: remove the calls of
    attackers and judges before reading, or afterwards by the column `span_name`. `attempt` is 1.

    The producer judges the `whole_rollout`, by its feedback.
    """
    run = f"langsmith-{document.digest}"
    spans: dict[str, Span] = {}  # by id: a run may be in the file on its own and among the `child_runs` of another
    for number, value in document.records():
        with table.record(document.name, number):
            for span in list(_spans(value, "")):  # all of a record, or nothing
                spans[span.id] = _finished(spans[span.id], span) if span.id in spans else span
    for trace, trace_spans in traces_of(spans.values()).items():
        with table.record(document.name, trace):
            extras, turns = of_trace(trace_spans)
            facts = {"attempt": 1} | ({"task": extras.pop("task")} if "task" in extras else {})
            add_trace(document, table, run, turns, facts, extras)


def _finished(first: Span, second: Span) -> Span:
    """Return what two records say of one run: one that ended is later; else the second, without feedback that differs."""
    if first == second:
        return first
    warn("id", "names several runs that differ: the one that ended, else the last, is read")
    if (first.end is None) != (second.end is None):
        return first if second.end is None else second
    both = first.extras.keys() & second.extras.keys()
    scores = {
        name: [(span.extras[name], span.end) for span in (first, second)] for name in both if name.startswith("score_")
    }
    return second._replace(
        extras={**first.extras, **second.extras, **{name: latest(values, name) for name, values in scores.items()}}
    )


def _spans(value: Any, within: str) -> Iterator[Span]:
    """Yield the spans of a run and of the runs in it."""
    run = parse(value, Run, within)
    yield _span(run, f"{within}.".lstrip("."))
    for place, child in enumerate(run.child_runs or ()):
        yield from _spans(child, f"{within}.child_runs[{place}]".lstrip("."))


def _span(run: Run, within: str) -> Span:
    extra = run.extra or {}
    feedback = run.feedback_stats or {}
    # Feedback is aggregated by key; a key without an average has no numbers.
    averages = {
        name: figures["avg"] for name, figures in feedback.items() if isinstance(figures, dict) and "avg" in figures
    }
    scores = {f"score_{name}": average for name, average in averages.items()}
    # Only the outermost run of a trace has these; `of_trace` moves them to the rollout.
    columns = {
        "task": None if run.reference_example_id is None else str(run.reference_example_id),
        "tags": run.tags or None,
        "session_id": run.session_id,
    }
    return Span(
        str(run.trace_id),
        str(run.id),
        None if run.parent_run_id is None else str(run.parent_run_id),
        kind_of(run.run_type, TYPES, "run_type") == MODEL,
        seconds_of(run.start_time, f"{within}start_time"),
        seconds_of(run.end_time, f"{within}end_time"),
        text_in(extra, "metadata", "ls_model_name") or text_in(extra, "invocation_params", "model"),
        input_messages(run.inputs, f"{within}inputs"),
        gave_back(run.outputs, f"{within}outputs"),
        *tokens_of({name: getattr(run, name) for name in USAGE}, within.rstrip(".") or "run"),
        _dollars(run.total_cost, f"{within}total_cost"),
        run.error,
        {"span_name": run.name, **without_nulls(columns), **scores},
    )


def _dollars(amount: float | str | None, field: str) -> float | None:
    try:
        return None if amount is None else float(amount)
    except ValueError as error:
        reason = f"expected a number, got {amount!r:.40}"
        if nulled(field, f"{reason}: {IS_NULL}"):
            return None
        raise BrokenError(reason, field=field) from error
