"""Steps on the way to an answer, as STEPS: intermediate steps of the NeMo Agent Toolkit, and ATIF trajectories."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from turnwise.errors import ReadError, listing
from turnwise.readers.problems import REMEDY, BrokenError, Problems
from turnwise.readers.records import Count, Finite, Key, json_text, parse, total, whole, worded
from turnwise.schema import STEPS

if TYPE_CHECKING:
    from turnwise.readers.sources.documents import Document
    from turnwise.readers.sources.paths import Paths

MODEL, TOOL = "model", "tool"
_KINDS = {"LLM": MODEL, "TOOL": TOOL}
Row = dict[str, Any]
_NONE: Row = dict.fromkeys(STEPS.names)
_WITHIN, _USAGE = "intermediate_steps", "usage_info.token_usage"
Stamp = Finite | str | None  # seconds, or a time in ISO 8601


class Usage(msgspec.Struct):
    """Tokens of one call of a model."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    cached_tokens: Count = None
    reasoning_tokens: Count = None
    total_tokens: Count = None


class Took(msgspec.Struct):
    """Usage of one model call."""

    token_usage: Usage | None = None


class Payload(msgspec.Struct):
    """One event."""

    event_type: str | None = None
    event_timestamp: Stamp = None
    span_event_timestamp: Stamp = None
    name: str | None = None
    data: dict[str, Any] | None = None
    usage_info: Took | None = None
    UUID: str | None = None


class Event(msgspec.Struct):
    """One event, with what it stood in."""

    payload: Payload | None = None
    parent_id: str | None = None


class Entry(msgspec.Struct):
    """Steps of an item."""

    id: Key
    intermediate_steps: Any = None


class Cost(msgspec.Struct):
    """Cost of a step of an agent."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    cached_tokens: Count = None
    cost_usd: Finite | None = None


class Call(msgspec.Struct):
    """A tool that was called."""

    tool_call_id: Any = None
    function_name: str | None = None
    arguments: Any = None


class Agent(msgspec.Struct):
    """Actor of a step."""

    name: str | None = None
    model_name: str | None = None


class Step(msgspec.Struct):
    """A step of a trajectory."""

    source: str | None = None
    timestamp: str | None = None
    message: Any = None
    model_name: str | None = None
    llm_call_count: Any = None
    tool_calls: list[Call] | None = None
    observation: Any = None
    metrics: Cost | None = None


class Trajectory(msgspec.Struct):
    """A trajectory, with the trajectories of its sub-agents."""

    steps: list[Any] | None = None
    agent: Agent | None = None
    subagent_trajectories: list[Any] | None = None


class Session(msgspec.Struct):
    """Names of a trajectory."""

    agent: Agent | None = None
    trajectory_id: Any = None
    session_id: Any = None


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
    from turnwise.readers.sources.paths import documents, listed

    problems, rows, given = Problems(), list[Row](), listed(paths, "steps")
    for document, by_name in documents(given, problems):
        with problems.record(document.name), _mended():
            keys = document.keys if document.kind in {"json", "lines"} else frozenset[str]()
            is_trajectory = {"schema_version", "agent", "steps"} <= keys
            if not is_trajectory and not {"id", _WITHIN} <= keys:
                _refuse(by_name=by_name)
                continue
        for number, record in _records(document):
            with problems.record(document.name, number), _mended():
                if is_trajectory:
                    rows += trajectory(record, _named(record, document))
                else:
                    entry = parse(record, Entry)
                    rows += intermediate(entry.intermediate_steps or [], f"nat-{document.digest}/{entry.id}")
    if not rows:
        raise ReadError(
            f"{listing(given)}: there are no steps; name a workflow_output.json of the NeMo Agent Toolkit, or ATIF trajectories"
        )
    return frame(rows)


def _records(document: "Document") -> Iterator[tuple[int | None, Any]]:
    """Each record with its number, those of a list decoded one by one: a list as a whole is slow and needs much memory."""
    if document.kind == "json" and not isinstance(document.top, list):
        yield None, document.value
    elif document.kind == "json" and all(isinstance(each, msgspec.Raw) for each in document.top):
        for number, text in enumerate(document.top):
            yield number, document.decoded(bytes(text))
    else:
        yield from document.records()


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    """The rows as STEPS."""
    return pl.DataFrame(rows, schema=STEPS.dtypes)


def told(given: Sequence[Any], rollout_id: str, within: str = _WITHIN) -> list[Row]:
    """Rows of STEPS of whatever a data set holds: intermediate steps, or one trajectory in ATIF.

    `within` says where they stand.

    Raises
    ------
    BrokenError
        Naming the field that is not what it should be.
    """
    if given and isinstance(given[0], Mapping) and "steps" in given[0]:
        return [row for each in given for row in trajectory(each, rollout_id)]
    return intermediate(given, rollout_id, within)


def intermediate(given: Sequence[Any], rollout_id: str, within: str = _WITHIN) -> list[Row]:
    """Rows of STEPS of NAT's intermediate steps; start and end are paired by their `UUID`, whatever stands between them."""
    found: dict[str, Row] = {}
    parents: dict[str, str | None] = {}
    for place, event in enumerate(parse(given, list[Event], within)):
        payload = event.payload
        if payload is None or payload.event_type is None:
            raise BrokenError("has no event_type", field=f"{within}[{place}].payload")
        word, _, phase = payload.event_type.upper().rpartition("_")
        if phase not in {"START", "END"}:  # a token of a stream
            continue
        key = payload.UUID or f"#{place}"
        row = found.setdefault(key, _NONE | {"rollout_id": rollout_id, "turn": 1})
        row["kind"] = _KINDS.get(word, word.lower())
        row["name"] = row["name"] or payload.name
        parents[key] = event.parent_id or parents.get(key)
        try:
            _fill(row, payload, phase)
        except BrokenError as error:
            error.field = f"{within}[{place}].payload.{error.field}"
            raise
    places = sorted(found, key=lambda key: _time(found[key]))
    number = {key: at for at, key in enumerate(places, start=1)}
    for key in places:
        found[key]["step"], found[key]["parent"] = number[key], number.get(parents[key] or "")
    return _since_the_first([found[key] for key in places])


def _fill(row: Row, payload: Payload, phase: str) -> None:
    data = payload.data or {}
    at = seconds_at(payload.event_timestamp, "event_timestamp")
    began = seconds_at(payload.span_event_timestamp, "span_event_timestamp")
    if phase == "START":
        row["start"] = at
    else:
        row["start"] = began if row["start"] is None else row["start"]
        row["end"] = at
        row["output"] = worded(data.get("output"))
    row["input"] = worded(data.get("input")) if row["input"] is None else row["input"]
    used = payload.usage_info and payload.usage_info.token_usage
    if used and any(getattr(used, name) for name in used.__struct_fields__):
        _count(row, used, _USAGE)
        row["reasoning_tokens"] = whole(used.reasoning_tokens, f"{_USAGE}.reasoning_tokens")
        row["tokens"] = whole(used.total_tokens, f"{_USAGE}.total_tokens") or row["tokens"]


def _count(row: Row, used: Usage | Cost, where: str) -> None:
    """Return the tokens of a call: input plus output tokens."""
    row["prompt_tokens"] = whole(used.prompt_tokens, f"{where}.prompt_tokens")
    row["response_tokens"] = whole(used.completion_tokens, f"{where}.completion_tokens")
    row["cached_tokens"] = whole(used.cached_tokens, f"{where}.cached_tokens")
    row["tokens"] = total([row["prompt_tokens"], row["response_tokens"]], where)


def trajectory(record: object, rollout_id: str) -> list[Row]:
    """Rows of STEPS of an ATIF trajectory: each step of the agent is a call of its model, each tool it called a step within.

    ATIF gives each step one time: it is the `start`, and `end` is null. Trajectories of sub-agents follow.
    """
    rows: list[Row] = []
    _walk(record, rollout_id, rows, "")
    return _since_the_first(rows)


def _walk(record: object, rollout_id: str, rows: list[Row], within: str) -> None:
    found = parse(record, Trajectory, within)
    model = found.agent and found.agent.model_name
    turn = 0
    for place, each in enumerate(found.steps or ()):
        where = f"{within}steps[{place}]"
        if not isinstance(each, Mapping):
            raise BrokenError(f"is {each!r:.40}, no object", field=where)
        step = parse(each, Step, where)
        if step.source != "agent":
            continue
        turn += 1
        own = len(rows) + 1
        row = _NONE | {
            "rollout_id": rollout_id,
            "step": own,
            "turn": turn,
            "kind": "agent" if step.llm_call_count == 0 else MODEL,
            "name": step.model_name or model,
            "start": seconds_at(step.timestamp, f"{where}.timestamp"),
            "output": worded(step.message),
        }
        if step.metrics is not None:
            _count(row, step.metrics, f"{where}.metrics")
            row["cost_usd"] = step.metrics.cost_usd
        rows.append(row)
        seen = _observed(step.observation)
        for call in step.tool_calls or ():
            rows.append(
                _NONE
                | {
                    "rollout_id": rollout_id,
                    "step": len(rows) + 1,
                    "turn": turn,
                    "parent": own,
                    "kind": TOOL,
                    "name": call.function_name,
                    "start": row["start"],
                    "input": json_text(call.arguments),
                    "output": worded(seen.get(call.tool_call_id)),
                }
            )
    for place, inner in enumerate(found.subagent_trajectories or ()):
        _walk(inner, rollout_id, rows, f"{within}subagent_trajectories[{place}].")


def _observed(observation: Any) -> dict[Any, Any]:
    """Return the observation of each call, by its id."""
    results = observation.get("results") if isinstance(observation, Mapping) else None
    listed = results if isinstance(results, list) else []
    return {each.get("source_call_id"): each.get("content") for each in listed if isinstance(each, Mapping)}


def seconds_at(stamp: float | str | None, field: str) -> float | None:
    """A time in seconds, which may be told in ISO 8601.

    Examples
    --------
    >>> seconds_at("1970-01-01T00:01:00+00:00", "event_timestamp"), seconds_at(2.5, "event_timestamp")
    (60.0, 2.5)
    """
    if not isinstance(stamp, str):
        return stamp
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except (ValueError, OverflowError, OSError) as error:
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


def _named(record: object, document: "Document") -> str:
    found = parse(record, Session)
    return f"{(found.agent or Agent()).name}/{found.trajectory_id or found.session_id or document.digest}"


@contextmanager
def _mended() -> Iterator[None]:
    """Raise on broken records, since nothing later reads the rest."""
    try:
        yield
    except BrokenError as error:
        error.remedy = "fix it" if error.remedy == REMEDY else error.remedy
        raise


def _refuse(*, by_name: bool) -> None:
    if by_name:
        raise BrokenError("holds no steps", remedy="name a workflow_output.json, or trajectories in ATIF")


def of_items(given: Iterable[tuple[str, Sequence[Any]]]) -> pl.DataFrame:
    """STEPS of items: the id of each rollout, and what its data set holds of its steps.

    Raises
    ------
    ReadError
        Naming the rollout and the field that is not what it should be.
    """
    rows, problems = list[Row](), Problems()
    for rollout_id, each in given:
        if each:
            with problems.record("steps", rollout_id), _mended():
                rows += told(each, rollout_id)
    return frame(rows)
