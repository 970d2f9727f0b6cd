"""Calls of models and tools as STEPS: from intermediate steps of the NeMo Agent Toolkit, and from ATIF trajectories."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from rollwise.errors import ReadError, listing
from rollwise.readers.moments import Stamp, seconds_at
from rollwise.readers.problems import REMEDY, BrokenError, Problems
from rollwise.readers.records import Count, Finite, Key, json_text, parse, total, whole_number, worded
from rollwise.readers.sources.copies import copied
from rollwise.readers.sources.paths import documents, listed
from rollwise.schema import STEPS

if TYPE_CHECKING:
    from rollwise.readers.sources.documents import Document
    from rollwise.readers.sources.paths import Paths

MODEL, TOOL = "model", "tool"
_KINDS = {"LLM": MODEL, "TOOL": TOOL}
Row = dict[str, Any]
_NONE: Row = dict.fromkeys(STEPS.names)
_WITHIN, _USAGE = "intermediate_steps", "usage_info.token_usage"


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
    """One event, with the id of the step around it."""

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
    """Read STEPS: the calls of models and tools in logs that record them, one row for the start and the end of a call.

    Reads ``workflow_output.json`` of the NeMo Agent Toolkit (its `intermediate_steps`) and ATIF trajectories, of Harbor and
    NAT; rollout ids are the same as from `rw.read`. The `kind` of a step is ``model``, ``tool``, ``function``, ``workflow``,
    ... Times are seconds since the first event of the rollout.

    Parameters
    ----------
    paths
        A file, a folder, or a list of them.

    Returns
    -------
    polars.DataFrame
        In the order of the files, and of the starts within a rollout. `parent` is the step around a step; `end` is null if a
        step did not finish, or the log has only one time. A file of another kind is an error if it was named, and is
        skipped in a folder.

    Raises
    ------
    ReadError
        Naming file, record and field. Also where no file has steps.

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
    problems, rows, places = Problems(), list[Row](), listed(paths, "steps")
    with copied(places, problems) as here:
        for document, by_name in documents(here, problems):
            with problems.record(document.name), _fix_only():
                keys = document.keys if document.kind in {"json", "lines"} else frozenset[str]()
                is_trajectory = {"schema_version", "agent", "steps"} <= keys
                if not is_trajectory and not {"id", _WITHIN} <= keys:
                    _refuse(by_name=by_name)
                    continue
            for number, record in _records(document):
                with problems.record(document.name, number), _fix_only():
                    if is_trajectory:
                        rows += trajectory(record, _trajectory_id(record, document))
                    else:
                        entry = parse(record, Entry)
                        rows += intermediate(entry.intermediate_steps or [], f"nat-{document.digest}/{entry.id}")
    if not rows:
        raise ReadError(
            f"{listing(places)}: there are no steps; name a workflow_output.json of the NeMo Agent Toolkit, or ATIF trajectories"
        )
    return frame(rows)


def _records(document: "Document") -> Iterator[tuple[int | None, Any]]:
    """Iterate over the records with their numbers; a list is decoded item by item, which is faster and needs less memory."""
    if document.kind == "json" and not isinstance(document.top, list):
        yield None, document.value
    elif document.kind == "json" and all(isinstance(item, msgspec.Raw) for item in document.top):
        for number, text in enumerate(document.top):
            yield number, document.decoded(bytes(text))
    else:
        yield from document.records()


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Return the rows as STEPS."""
    return pl.DataFrame(rows, schema=STEPS.dtypes)


def step_rows(records: Sequence[Any], rollout_id: str, within: str = _WITHIN) -> list[Row]:
    """Return rows of STEPS from the steps of an item in a data set: intermediate steps, or ATIF trajectories.

    `within` is their path in the item, for errors.
    """
    if records and isinstance(records[0], Mapping) and "steps" in records[0]:
        return [row for record in records for row in trajectory(record, rollout_id)]
    return intermediate(records, rollout_id, within)


def intermediate(events: Sequence[Any], rollout_id: str, within: str = _WITHIN) -> list[Row]:
    """Return rows of STEPS from NAT's intermediate steps; the start and the end of a step have the same `UUID`."""
    rows: dict[str, Row] = {}
    parents: dict[str, str | None] = {}
    for place, event in enumerate(parse(events, list[Event], within)):
        payload = event.payload
        if payload is None or payload.event_type is None:
            raise BrokenError("has no event_type", field=f"{within}[{place}].payload")
        word, _, phase = payload.event_type.upper().rpartition("_")
        if phase not in {"START", "END"}:  # a token of a streamed answer
            continue
        key = payload.UUID or f"#{place}"
        row = rows.setdefault(key, _NONE | {"rollout_id": rollout_id, "turn": 1})
        # Start and end may come in any order, and either may be missing.
        row["kind"] = _KINDS.get(word, word.lower())
        row["name"] = row["name"] or payload.name
        parents[key] = event.parent_id or parents.get(key)
        try:
            _fill(row, payload, phase)
        except BrokenError as error:
            error.field = f"{within}[{place}].payload.{error.field}"
            raise
    # Steps are numbered by time, and parents are numbers too.
    keys = sorted(rows, key=lambda key: _time(rows[key]))
    numbers = {key: number for number, key in enumerate(keys, start=1)}
    for key in keys:
        rows[key]["step"], rows[key]["parent"] = numbers[key], numbers.get(parents[key] or "")
    return _since_the_first([rows[key] for key in keys])


def _fill(row: Row, payload: Payload, phase: str) -> None:
    """Fill a row with what the event at the start, or at the end, of the step states."""
    data = payload.data or {}
    time = seconds_at(payload.event_timestamp, "event_timestamp")
    start = seconds_at(payload.span_event_timestamp, "span_event_timestamp")
    if phase == "START":
        row["start"] = time
    else:
        row["start"] = start if row["start"] is None else row["start"]
        row["end"] = time
        row["output"] = worded(data.get("output"))
    row["input"] = worded(data.get("input")) if row["input"] is None else row["input"]
    usage = payload.usage_info and payload.usage_info.token_usage
    # NAT writes zeros where it does not know the usage.
    if usage and any(getattr(usage, name) for name in usage.__struct_fields__):
        _fill_tokens(row, usage, _USAGE)
        row["reasoning_tokens"] = whole_number(usage.reasoning_tokens, f"{_USAGE}.reasoning_tokens")
        row["tokens"] = whole_number(usage.total_tokens, f"{_USAGE}.total_tokens") or row["tokens"]


def _fill_tokens(row: Row, usage: Usage | Cost, where: str) -> None:
    """Fill a row with the tokens of a call; the total is that of prompt and response."""
    row["prompt_tokens"] = whole_number(usage.prompt_tokens, f"{where}.prompt_tokens")
    row["response_tokens"] = whole_number(usage.completion_tokens, f"{where}.completion_tokens")
    row["cached_tokens"] = whole_number(usage.cached_tokens, f"{where}.cached_tokens")
    row["tokens"] = total([row["prompt_tokens"], row["response_tokens"]], where)


def trajectory(record: object, rollout_id: str) -> list[Row]:
    """Return rows of STEPS from an ATIF trajectory: a step of the agent is a call of its model, and contains its tool calls.

    ATIF has one time for each step, which is its `start`; `end` is null. Trajectories of sub-agents follow.
    """
    rows: list[Row] = []
    _walk(record, rollout_id, rows, "")
    return _since_the_first(rows)


def _walk(record: object, rollout_id: str, rows: list[Row], within: str) -> None:
    trajectory_record = parse(record, Trajectory, within)
    model = trajectory_record.agent and trajectory_record.agent.model_name
    turn = 0
    for place, value in enumerate(trajectory_record.steps or ()):
        where = f"{within}steps[{place}]"
        if not isinstance(value, Mapping):
            raise BrokenError(f"is {value!r:.40}, not an object", field=where)
        step = parse(value, Step, where)
        # Messages of the user and the system are not calls.
        if step.source != "agent":
            continue
        turn += 1
        number = len(rows) + 1
        row = _NONE | {
            "rollout_id": rollout_id,
            "step": number,
            "turn": turn,
            # A step may state that it called no model.
            "kind": "agent" if step.llm_call_count == 0 else MODEL,
            "name": step.model_name or model,
            "start": seconds_at(step.timestamp, f"{where}.timestamp"),
            "output": worded(step.message),
        }
        if step.metrics is not None:
            _fill_tokens(row, step.metrics, f"{where}.metrics")
            row["cost_usd"] = step.metrics.cost_usd
        rows.append(row)
        observations = _observations(step.observation)
        for call in step.tool_calls or ():
            rows.append(
                _NONE
                | {
                    "rollout_id": rollout_id,
                    "step": len(rows) + 1,
                    "turn": turn,
                    "parent": number,
                    "kind": TOOL,
                    "name": call.function_name,
                    "start": row["start"],
                    "input": json_text(call.arguments),
                    "output": worded(observations.get(call.tool_call_id)),
                }
            )
    for place, inner in enumerate(trajectory_record.subagent_trajectories or ()):
        _walk(inner, rollout_id, rows, f"{within}subagent_trajectories[{place}].")


def _observations(observation: Any) -> dict[Any, Any]:
    """Return the observation of each call, by the id of the call."""
    results = observation.get("results") if isinstance(observation, Mapping) else None
    if not isinstance(results, list):
        return {}
    return {result.get("source_call_id"): result.get("content") for result in results if isinstance(result, Mapping)}


def _since_the_first(rows: list[Row]) -> list[Row]:
    """Count the times of a rollout from its first event."""
    times = [row[name] for row in rows for name in ("start", "end") if row[name] is not None]
    first = min(times, default=0.0)
    for row in rows:
        for name in ("start", "end"):
            row[name] = None if row[name] is None else float(row[name]) - first
    return rows


def _time(row: Row) -> float:
    time = row["start"] if row["start"] is not None else row["end"]
    return float("inf") if time is None else float(time)


def _trajectory_id(record: object, document: "Document") -> str:
    session = parse(record, Session)
    return f"{(session.agent or Agent()).name}/{session.trajectory_id or session.session_id or document.digest}"


@contextmanager
def _fix_only() -> Iterator[None]:
    """Advise only to fix a broken record: `steps` has no option to leave it out."""
    try:
        yield
    except BrokenError as error:
        error.remedy = "fix it" if error.remedy == REMEDY else error.remedy
        raise


def _refuse(*, by_name: bool) -> None:
    if by_name:
        raise BrokenError("holds no steps", remedy="name a workflow_output.json, or trajectories in ATIF")


def steps_of_items(items: Iterable[tuple[str, Sequence[Any]]]) -> pl.DataFrame:
    """Return STEPS of the items of a data set, given the id of each rollout and its steps."""
    rows, problems = list[Row](), Problems()
    for rollout_id, records in items:
        if records:
            with problems.record("steps", rollout_id), _fix_only():
                rows += step_rows(records, rollout_id)
    return frame(rows)
