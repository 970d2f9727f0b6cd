"""What happened on the way to an answer, as STEPS: intermediate steps of the NeMo Agent Toolkit, and ATIF trajectories."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from turnwise.errors import ReadError, listing
from turnwise.readers.problems import BrokenError, Problems
from turnwise.readers.records import json_text, worded
from turnwise.schema import STEPS

if TYPE_CHECKING:
    from turnwise.readers.documents import Document
    from turnwise.readers.finding import Paths

MODEL, TOOL = "model", "tool"
_KINDS = {"LLM": MODEL, "TOOL": TOOL}
Row = dict[str, Any]
_NONE: Row = dict.fromkeys(STEPS.names)


def steps(paths: "Paths") -> pl.DataFrame:
    """STEPS: each call of a model or tool in logs that keep them, one row for its start and end together.

    Reads ``workflow_output.json`` of the NeMo Agent Toolkit (its `intermediate_steps`) and trajectories in ATIF, of Harbor and NAT;
    ids of rollouts are those that `tw.read` gives. What an event is of is its `kind`: ``model``, ``tool``, ``function``,
    ``workflow``, ... Times are seconds since the first event of the rollout.

    Parameters
    ----------
    paths
        A file, a folder, or a list of them.

    Returns
    -------
    polars.DataFrame
        In order of the files, and within a rollout of the starts. `parent` is the step within which it happened; `end` is null
        where a step never ended, or the log has one time only. A file of another kind is an error if named, and else skipped.

    Raises
    ------
    ReadError
        Naming file, record and field; or where nothing was there to read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "trajectory.json"
    >>> _ = path.write_text('''{"schema_version": "ATIF-v1.6", "session_id": "s", "agent": {"name": "nat"}, "steps": [
    ... {"step_id": 1, "source": "agent", "model_name": "m", "metrics": {"prompt_tokens": 7, "completion_tokens": 2}}]}''')
    >>> steps(path).select("rollout_id", "step", "kind", "name", "tokens").row(0)
    ('nat/s', 1, 'model', 'm', 9)
    """
    from turnwise.readers.finding import documents, listed

    problems, rows, given = Problems(), list[Row](), listed(paths, "steps")
    for document, by_name in documents(given, problems):
        with problems.record(document.name):
            if document.kind not in {"json", "lines"}:
                _refuse(by_name=by_name)
                continue
            keys = document.keys
            if {"schema_version", "agent", "steps"} <= keys:
                for _, record in document.records():
                    rows += trajectory(record, _named(record, document))
            elif {"id", "intermediate_steps"} <= keys:
                for _, record in document.records():
                    rows += intermediate(
                        record.get("intermediate_steps") or (), f"nat-{document.digest}/{record['id']}"
                    )
            else:
                _refuse(by_name=by_name)
    if not rows:
        raise ReadError(
            f"{listing(given)}: there are no steps; name a workflow_output.json of the NeMo Agent Toolkit, or ATIF trajectories"
        )
    return frame(rows)


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    """The rows as STEPS."""
    return pl.DataFrame(rows, schema=STEPS.dtypes)


def told(given: Sequence[Mapping[str, Any]], rollout_id: str) -> list[Row]:
    """Rows of STEPS of whatever a data set holds: intermediate steps, or one trajectory in ATIF.

    Raises
    ------
    BrokenError
        Naming the field that is not what it should be.
    """
    if given and "steps" in given[0]:
        return [row for each in given for row in trajectory(each, rollout_id)]
    return intermediate(given, rollout_id)


def intermediate(given: Sequence[Mapping[str, Any]], rollout_id: str) -> list[Row]:
    """Rows of STEPS of NAT's intermediate steps; start and end are paired by their `UUID`, whatever stands between them."""
    found: dict[str, Row] = {}
    within: dict[str, Any] = {}
    for place, event in enumerate(given):
        payload = event.get("payload")
        if not isinstance(payload, Mapping) or not isinstance(payload.get("event_type"), str):
            raise BrokenError("has no event_type", field=f"intermediate_steps[{place}].payload")
        word, _, phase = payload["event_type"].rpartition("_")
        if phase not in {"START", "END"}:  # a token of a stream
            continue
        key = str(payload.get("UUID") or f"#{place}")
        row = found.setdefault(key, _NONE | {"rollout_id": rollout_id, "turn": 1})
        row["kind"] = _KINDS.get(word, word.lower())
        row["name"] = row["name"] or payload.get("name")
        within[key] = event.get("parent_id") or within.get(key)
        _fill(row, payload, phase)
    places = sorted(found, key=lambda key: _time(found[key]))
    number = {key: at for at, key in enumerate(places, start=1)}
    for key in places:
        found[key]["step"], found[key]["parent"] = number[key], number.get(within[key])
    return _since_the_first([found[key] for key in places])


def _fill(row: Row, payload: Mapping[str, Any], phase: str) -> None:
    data = payload.get("data")
    data = data if isinstance(data, Mapping) else {}
    at = payload.get("event_timestamp")
    if phase == "START":
        row["start"] = at
    else:
        row["start"] = payload.get("span_event_timestamp") if row["start"] is None else row["start"]
        row["end"] = at
        row["output"] = worded(data.get("output"))
    row["input"] = worded(data.get("input")) if row["input"] is None else row["input"]
    usage = payload.get("usage_info")
    used = usage.get("token_usage") if isinstance(usage, Mapping) else None
    if isinstance(used, Mapping) and any(used.values()):
        row["tokens"] = used.get("total_tokens") or None
        row["prompt_tokens"], row["response_tokens"] = used.get("prompt_tokens"), used.get("completion_tokens")
        row["cached_tokens"], row["reasoning_tokens"] = used.get("cached_tokens"), used.get("reasoning_tokens")
        row["tokens"] = row["tokens"] or _sum(row["prompt_tokens"], row["response_tokens"])


def trajectory(record: Mapping[str, Any], rollout_id: str) -> list[Row]:
    """Rows of STEPS of an ATIF trajectory: each step of the agent is a call of its model, each tool it called a step within.

    ATIF gives each step one time: it is the `start`, and `end` is null. Trajectories of sub-agents follow.
    """
    rows: list[Row] = []
    _walk(record, rollout_id, rows)
    return _since_the_first(rows)


def _walk(record: Mapping[str, Any], rollout_id: str, rows: list[Row]) -> None:
    agent = record.get("agent")
    model = agent.get("model_name") if isinstance(agent, Mapping) else None
    turn = 0
    for place, step in enumerate(record.get("steps") or ()):
        if not isinstance(step, Mapping):
            raise BrokenError(f"is {step!r:.40}, no object", field=f"steps[{place}]")
        if step.get("source") != "agent":
            continue
        turn += 1
        used = step.get("metrics") or {}
        read, written = used.get("prompt_tokens"), used.get("completion_tokens")
        own = len(rows) + 1
        called = step.get("llm_call_count") != 0
        rows.append(
            _NONE
            | {
                "rollout_id": rollout_id,
                "step": own,
                "turn": turn,
                "kind": MODEL if called else "agent",
                "name": step.get("model_name") or model,
                "start": _seconds(step.get("timestamp"), f"steps[{place}].timestamp"),
                "tokens": _sum(read, written),
                "prompt_tokens": read,
                "response_tokens": written,
                "cached_tokens": used.get("cached_tokens"),
                "cost_usd": used.get("cost_usd"),
                "output": worded(step.get("message")),
            }
        )
        seen = _observed(step.get("observation"))
        for call in step.get("tool_calls") or ():
            rows.append(
                _NONE
                | {
                    "rollout_id": rollout_id,
                    "step": len(rows) + 1,
                    "turn": turn,
                    "parent": own,
                    "kind": TOOL,
                    "name": call.get("function_name"),
                    "start": rows[own - 1]["start"],
                    "input": json_text(call.get("arguments")),
                    "output": worded(seen.get(call.get("tool_call_id"))),
                }
            )
    for inner in record.get("subagent_trajectories") or ():
        _walk(inner, rollout_id, rows)


def _observed(observation: Any) -> dict[Any, Any]:
    """What came back of each call, by its id."""
    results = observation.get("results") if isinstance(observation, Mapping) else None
    return {each.get("source_call_id"): each.get("content") for each in results or () if isinstance(each, Mapping)}


def _seconds(stamp: Any, field: str) -> float | None:
    if stamp is None:
        return None
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except (TypeError, ValueError) as error:
        raise BrokenError(f"is {stamp!r:.40}, no time in ISO 8601", field=field) from error


def _since_the_first(rows: list[Row]) -> list[Row]:
    times = [row[name] for row in rows for name in ("start", "end") if row[name] is not None]
    first = min(times, default=0.0)
    for row in rows:
        for name in ("start", "end"):
            row[name] = None if row[name] is None else float(row[name]) - first
    return rows


def _time(row: Row) -> float:
    known = row["start"] if row["start"] is not None else row["end"]
    return float("inf") if known is None else float(known)


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _named(record: Mapping[str, Any], document: "Document") -> str:
    name = record.get("trajectory_id") or record.get("session_id") or document.digest
    return f"{record['agent'].get('name')}/{name}"


def _refuse(*, by_name: bool) -> None:
    if by_name:
        raise BrokenError("holds no steps", remedy="name a workflow_output.json, or trajectories in ATIF")


def of_items(given: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> pl.DataFrame:
    """STEPS of items: the id of each rollout, and what its data set holds of its steps."""
    return frame([row for rollout_id, each in given if each for row in told(each, rollout_id)])
