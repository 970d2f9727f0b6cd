"""Runs of LangSmith: each trace is a rollout."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Count, Key, parse, whole
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table
from turnwise.readers.traces.spans import Span, add_trace, seconds_of, traces_of
from turnwise.readers.traces.spoken import gave_back, given
from turnwise.readers.traces.steps import Stamp

MODEL = "llm"  # type of a run


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
    prompt_tokens: Count = None
    completion_tokens: Count = None
    total_cost: float | str | None = None
    reference_example_id: Key | None = None
    feedback_stats: dict[str, Any] | None = None
    tags: list[Any] | None = None
    session_id: Key | None = None
    child_runs: list[Any] | None = None


def sniff(document: Document) -> bool:
    """Return whether the file holds runs, with a `run_type`, a `trace_id` and `inputs`."""
    return document.kind in {"json", "lines"} and {"run_type", "trace_id", "inputs"} <= document.keys


def read_langsmith(document: Document, table: Table) -> None:
    """Each trace into a rollout; a turn is one call of a model, a run of the type llm, in the order in which they began.

    ================================= ===================================================================
    in the file                       in the table
    ================================= ===================================================================
    hash of the content               `run`: the file has no name of its own
    run, `trace_id`                   `rollout_id`
    `ls_model_name` in the metadata,  `target` (that of the first call), column `model` of each
    or `model` in `invocation_params`
    `inputs` of a run                 of the first all turns that its messages hold; of each its `prompt`, what
                                      came since the answer before, and `context`; what is no chat is `prompt`
    `outputs` of a run                `response`, `tool_calls`; of several answers the first
    `prompt_tokens`, `total_cost`,    `prompt_tokens`, `response_tokens`, `cost_usd`; `total_tokens`,
    `completion_tokens`               `total_cost_usd`
    `start_time`, `end_time`          `seconds`; `total_seconds`, of all runs
    `error`                           `error` of the turn; `ending` error, where the only call or the outermost
                                      run failed
    `reference_example_id`            `task`, of the outermost run
    `feedback_stats`                  ``score_<name>``: the average, likewise
    `tags`, `session_id`              columns of these names, likewise
    ================================= ===================================================================

    Messages may be OpenAI's or LangChain's, and runs may hold those within them as `child_runs`. Of a trace without a call of a
    model, what the outermost run was given and gave back is the only turn. Every run of the type llm is a call of the target:
    remove the calls of attackers and judges first, or by the column `span_name`. `attempt` is 1.

    Built from LangSmith's documented format of runs.

    The producer judges the `whole_rollout`, by its feedback.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"id": "r", "trace_id": "r", "run_type": "llm", "inputs": {"messages": [{"role": "user", "content": "Hi"}]},
    ... "outputs": {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}}'''
    >>> table = Table("langsmith", Problems(), {})
    >>> read_langsmith(Document(Path("runs.jsonl"), log), table)
    >>> table.frame().select("turn", "prompt", "response").row(0)
    (1, 'Hi', 'Hello')
    """
    run = f"langsmith-{document.digest}"
    spans: dict[str, Span] = {}
    for number, value in document.records():
        with table.record(document.name, number):
            spans |= {span.id: span for span in _spans(value, "")}
    for trace, found in traces_of(spans.values()).items():
        with table.record(document.name, trace):
            root = next((span for span in found if span.parent is None), found[0])
            names = [name for name in root.beside if name != "span_name"]
            task = root.beside.get("task")
            own = [span._replace(beside={"span_name": span.beside["span_name"]}) for span in found]
            facts = {"attempt": 1} | ({} if task is None else {"task": task})
            add_trace(document, table, run, own, facts, {name: root.beside[name] for name in names if name != "task"})


def _spans(value: Any, within: str) -> Iterator[Span]:
    """The run, and those within it."""
    found = parse(value, Run, within)
    yield _span(found, f"{within}.".lstrip("."))
    for place, inner in enumerate(found.child_runs or ()):
        yield from _spans(inner, f"{within}.child_runs[{place}]".lstrip("."))


def _span(found: Run, within: str) -> Span:
    extra = found.extra or {}
    feedback = found.feedback_stats or {}
    scores = {
        f"score_{name}": told["avg"] for name, told in feedback.items() if isinstance(told, dict) and "avg" in told
    }
    about = {
        "task": None if found.reference_example_id is None else str(found.reference_example_id),
        "tags": found.tags or None,
        "session_id": found.session_id,
    }
    return Span(
        str(found.trace_id),
        str(found.id),
        None if found.parent_run_id is None else str(found.parent_run_id),
        found.run_type == MODEL,
        seconds_of(found.start_time, f"{within}start_time"),
        seconds_of(found.end_time, f"{within}end_time"),
        _text(extra, "metadata", "ls_model_name") or _text(extra, "invocation_params", "model"),
        given(found.inputs, f"{within}inputs"),
        gave_back(found.outputs, f"{within}outputs"),
        whole(found.prompt_tokens, f"{within}prompt_tokens"),
        whole(found.completion_tokens, f"{within}completion_tokens"),
        _dollars(found.total_cost, f"{within}total_cost"),
        found.error,
        {"span_name": found.name, **{name: value for name, value in about.items() if value is not None}, **scores},
    )


def _text(extra: Mapping[str, Any], outer: str, name: str) -> str | None:
    inner = extra.get(outer)
    value = inner.get(name) if isinstance(inner, dict) else None
    return value if isinstance(value, str) else None


def _dollars(amount: float | str | None, field: str) -> float | None:
    try:
        return None if amount is None else float(amount)
    except ValueError as error:
        raise BrokenError(f"expected a number, got {amount!r:.40}", field=field) from error
