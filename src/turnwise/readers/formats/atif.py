"""ATIF: the Agent Trajectory Interchange Format of Harbor and the NeMo Agent Toolkit, one rollout per file."""

from collections.abc import Sequence
from typing import Any

import msgspec

from turnwise.readers.chats.turns import Message, calls, joined, split, text_of
from turnwise.readers.records import Count, leftovers, parse, total, whole, worded
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table
from turnwise.schema import NO_ATTACK

AGENT = "agent"


class Agent(msgspec.Struct):
    """Actor of a step."""

    name: str
    version: str | None = None
    model_name: str | None = None


class Trajectory(msgspec.Struct):
    """One file."""

    schema_version: str
    agent: Agent
    steps: list[Any]
    session_id: str | None = None
    trajectory_id: str | None = None
    final_metrics: dict[str, Any] | None = None
    continued_trajectory_ref: str | None = None


class Step(msgspec.Struct):
    """One message, or one answer with the tools it called and what they gave back."""

    source: str
    message: Any = None
    model_name: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    observation: Any = None
    metrics: dict[str, Any] | None = None


class Metrics(msgspec.Struct):
    """Cost of a step."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    cost_usd: float | None = None


class Totals(msgspec.Struct):
    """Cost of the whole trajectory."""

    total_prompt_tokens: Count = None
    total_completion_tokens: Count = None
    total_cost_usd: float | None = None


class Observation(msgspec.Struct):
    """Response of the environment."""

    results: list[dict[str, Any]] = []


def sniff(document: Document) -> bool:
    """Return whether the file is a trajectory, or a list of them: objects with a `schema_version`, an agent and steps."""
    return document.kind in {"json", "lines"} and {"schema_version", "agent", "steps"} <= document.keys


def read_atif(document: Document, table: Table) -> None:
    """Each trajectory into one rollout; a turn is one step whose source is the agent.

    =========================== ============================================================================
    in the file                 in the table
    =========================== ============================================================================
    `agent.name`                `run`
    run, `session_id`           `rollout_id`; `trajectory_id` where there is one, a hash of the content where
                                neither is
    `agent.model_name`          `target`; else that of the first step that names one, else the agent's name
    steps of the agent          turns: `message` (empty is null), `tool_calls`
    steps of user and system    `prompt`; what the system says before the first answer is `context`
    `observation.results`       part of the next turn's `prompt`; after the last answer `observation`
    `metrics` of a step         `prompt_tokens`, `response_tokens`, `cost_usd`
    `reasoning_content`         column `reasoning`
    `final_metrics`             `total_tokens`, `total_cost_usd`
    =========================== ============================================================================

    `attack` is `none` (give another as ``read(path, attack=...)``), so `goal` and `outcome` are null, as are `solved`
    and `ending`: the format holds no verdict. `attempt` is 1. A trajectory that goes on in another file names it in
    `continued_trajectory_ref`; each file is a rollout. Kept: `schema_version`, `agent_name`, `agent_version`, `step_id`
    and `model_name` of each turn, and what else stands at the top, as JSON text. Left where they are: the definitions
    of the tools, and `extra` of steps, where NAT repeats its own events.

    The producer judges the `whole_rollout`, elsewhere.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"schema_version": "ATIF-v1.6", "session_id": "s1", "agent": {"name": "nat", "version": "1"}, "steps": [
    ... {"step_id": 1, "source": "user", "message": "3 + 4?"}, {"step_id": 2, "source": "agent", "message": "7"}]}'''
    >>> table = Table("atif", Problems(), {})
    >>> read_atif(Document(Path("trajectory.json"), log), table)
    >>> table.frame().select("rollout_id", "target", "prompt", "response").row(0)
    ('nat/s1', 'nat', '3 + 4?', '7')
    """
    for number, value in document.records():
        with table.record(document.name, number):
            _add(document, table, parse(value, dict[str, Any]))


def _add(document: Document, table: Table, record: dict[str, Any]) -> None:
    log = parse(record, Trajectory)
    steps = [parse(value, Step, f"steps[{place}]") for place, value in enumerate(log.steps)]
    ours = [(place, step) for place, step in enumerate(steps) if step.source == AGENT]
    named = next((step.model_name for _, step in ours if step.model_name), None)
    totals = parse(log.final_metrics or {}, Totals)
    tokens = total((totals.total_prompt_tokens, totals.total_completion_tokens), "final_metrics")
    turns = split(_chat(steps), "steps")
    turns = [_measured(turn, step) for turn, (_, step) in zip(turns, ours, strict=True)] if ours else turns
    name = log.trajectory_id or log.session_id or document.digest
    table.add(
        document.name,
        f"{log.agent.name}/{name}",
        turns,
        {
            "run": log.agent.name,
            "target": log.agent.model_name or named or log.agent.name,
            "attack": NO_ATTACK,
            "attempt": 1,
            "total_tokens": tokens,
            "total_cost_usd": totals.total_cost_usd,
        },
        {
            "schema_version": log.schema_version,
            "session_id": log.session_id,
            "agent_name": log.agent.name,
            "agent_version": log.agent.version,
            "continued_trajectory_ref": log.continued_trajectory_ref,
            **leftovers(record, Trajectory),
        },
        {
            "step_id": [log.steps[place].get("step_id") for place, _ in ours],
            "model_name": [step.model_name for _, step in ours],
            "reasoning": [step.reasoning_content for _, step in ours],
        }
        if ours
        else None,
    )


def _chat(steps: Sequence[Step]) -> list[Message]:
    """The steps as messages; what came back after one is a message of its own."""
    chat = []
    for place, step in enumerate(steps):
        where = f"steps[{place}]"
        text = text_of(step.message, f"{where}.message") or None
        role = "assistant" if step.source == AGENT else step.source
        called = calls(step.tool_calls, f"{where}.tool_calls")
        chat.append(Message(role, text, called))
        seen = _seen(step.observation, f"{where}.observation")
        if seen is not None:
            chat.append(Message("tool", seen))
    return chat


def _seen(observation: Any, where: str) -> str | None:
    if observation is None or isinstance(observation, str):
        return observation
    texts = [_text(result, where) for result in parse(observation, Observation, where).results]
    return joined([text for text in texts if text is not None])


def _text(result: dict[str, Any], where: str) -> str | None:
    content = result.get("content")
    if content is None:
        return worded(result.get("subagent_trajectory_ref"))
    return text_of(content, where) if isinstance(content, str | list) else worded(content)


def _measured(turn: Any, step: Step) -> Any:
    metrics = parse(step.metrics or {}, Metrics)
    return turn._replace(
        prompt_tokens=whole(metrics.prompt_tokens, "metrics.prompt_tokens"),
        response_tokens=whole(metrics.completion_tokens, "metrics.completion_tokens"),
        cost_usd=metrics.cost_usd,
    )
