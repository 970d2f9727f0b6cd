"""ATIF: the Agent Trajectory Interchange Format of Harbor and the NeMo Agent Toolkit (NAT).

- File: `trajectory.json`, one trajectory; also lists or lines of them.
- Format: https://harborframework.com/docs/trajectory-format
- Checked on: versions 1.5 to 1.7, from the golden files of Harbor and of NAT.
- Lost: definitions of tools, and `extra` of steps, where NAT repeats its own events.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS, speaker
from rollwise.readers.chats.turns import Message, split, text_of
from rollwise.readers.common import has_fields, join_texts, parse_all
from rollwise.readers.records import Count, leftovers, parse, total, whole, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.readers.tool_calls import calls
from rollwise.schema import NO_ATTACK

AGENT = "agent"  # source of a step


class Agent(msgspec.Struct):
    """The agent that ran, its version and its model."""

    name: str
    version: str | None = None
    model_name: str | None = None


class Trajectory(msgspec.Struct):
    """One run of an agent."""

    schema_version: str
    agent: Agent
    steps: list[Any]
    session_id: str | None = None
    trajectory_id: str | None = None
    final_metrics: dict[str, Any] | None = None
    continued_trajectory_ref: str | None = None


class Step(msgspec.Struct):
    """One message, or one answer with its tool calls and their results."""

    source: str
    message: Any = None
    model_name: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    observation: Any = None
    metrics: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        """Write the word for a known speaker as the format does, whatever its letters."""
        word = speaker(self.source)
        self.source = AGENT if word in ANSWERS else word


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
    return has_fields(document, "schema_version", "agent", "steps")


def read_atif(document: Document, table: TurnsBuilder) -> None:
    """Read each trajectory as one rollout; a turn is one step whose source is the agent.

    =========================== ============================================================================
    in the file                 in the table
    =========================== ============================================================================
    `agent.name`                `run`
    run, `session_id`           `rollout_id`; `trajectory_id` where there is one, and a hash of the content
                                where there is neither
    `agent.model_name`          `target`; else the model of the first step that names one, else `agent.name`
    steps of the agent          turns: `message` (empty is null), `tool_calls`
    steps of user and system    `prompt`; system messages before the first answer are `context`
    `observation.results`       part of the next turn's `prompt`; after the last answer `observation`
    `metrics` of a step         `prompt_tokens`, `response_tokens`, `cost_usd`
    `reasoning_content`         column `reasoning`
    `final_metrics`             `total_tokens`, `total_cost_usd`
    =========================== ============================================================================

    `attack` is `none` (give another as ``read(path, attack=...)``), so `goal` and `outcome` are null, as are `solved`
    and `ending`: the format holds no verdict. `attempt` is 1. A trajectory that goes on in another file names it in
    `continued_trajectory_ref`; each file is a rollout. Further columns: `schema_version`, `agent_name`, `agent_version`,
    `step_id` and `model_name` of each turn, and all other fields of the trajectory, as JSON text. Not read: the definitions
    of the tools, and `extra` of steps, where NAT repeats its own events.

    The producer judges the `whole_rollout`, in other files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"schema_version": "ATIF-v1.6", "session_id": "s1", "agent": {"name": "nat", "version": "1"}, "steps": [
    ... {"step_id": 1, "source": "user", "message": "3 + 4?"}, {"step_id": 2, "source": "agent", "message": "7"}]}'''
    >>> table = TurnsBuilder("atif", Problems(), {})
    >>> read_atif(Document(Path("trajectory.json"), log), table)
    >>> table.frame().select("rollout_id", "target", "prompt", "response").row(0)
    ('nat/s1', 'nat', '3 + 4?', '7')
    """
    for number, value in document.records():
        with table.record(document.name, number):
            _add(document, table, parse(value, dict[str, Any]))


def _add(document: Document, table: TurnsBuilder, record: dict[str, Any]) -> None:
    trajectory = parse(record, Trajectory)
    # Only the agent's steps are answers of the target.
    steps = parse_all(trajectory.steps, Step, "steps")
    answers = [(place, step) for place, step in enumerate(steps) if step.source == AGENT]
    model = next((step.model_name for _, step in answers if step.model_name), None)
    totals = parse(trajectory.final_metrics or {}, Totals)
    tokens = total((totals.total_prompt_tokens, totals.total_completion_tokens), "final_metrics")
    turns = split(_chat(steps), "steps")
    # Every step of the agent makes one turn, so turns and steps go together one by one.
    turns = [_measured(turn, step) for turn, (_, step) in zip(turns, answers, strict=True)] if answers else turns
    name = trajectory.trajectory_id or trajectory.session_id or document.digest
    table.add(
        document.name,
        f"{trajectory.agent.name}/{name}",
        turns,
        {
            "run": trajectory.agent.name,
            "target": trajectory.agent.model_name or model or trajectory.agent.name,
            "attack": NO_ATTACK,
            "attempt": 1,
            "total_tokens": tokens,
            "total_cost_usd": totals.total_cost_usd,
        },
        {
            "schema_version": trajectory.schema_version,
            "session_id": trajectory.session_id,
            "agent_name": trajectory.agent.name,
            "agent_version": trajectory.agent.version,
            "continued_trajectory_ref": trajectory.continued_trajectory_ref,
            **leftovers(record, Trajectory),
        },
        {
            "step_id": [trajectory.steps[place].get("step_id") for place, _ in answers],
            "model_name": [step.model_name for _, step in answers],
            "reasoning": [step.reasoning_content for _, step in answers],
        }
        if answers
        else None,
    )


def _chat(steps: Sequence[Step]) -> list[Message]:
    """Return the steps as messages; the results of tools after a step are a message of their own."""
    chat = []
    for place, step in enumerate(steps):
        where = f"steps[{place}]"
        text = text_of(step.message, f"{where}.message") or None  # NAT writes an empty text next to tool calls
        role = "assistant" if step.source == AGENT else step.source
        called = calls(step.tool_calls, f"{where}.tool_calls")
        chat.append(Message(role, text, called))
        result = _result_of(step.observation, f"{where}.observation")
        if result is not None:
            chat.append(Message("tool", result))
    return chat


def _result_of(observation: Any, where: str) -> str | None:
    """Return the text of what the environment gave back: a text, or a list of results."""
    if observation is None or isinstance(observation, str):
        return observation
    return join_texts(_text(result, where) for result in parse(observation, Observation, where).results)


def _text(result: dict[str, Any], where: str) -> str | None:
    content = result.get("content")
    if content is None:  # the work was left to another agent, whose trajectory is named
        return worded(result.get("subagent_trajectory_ref"))
    return text_of(content, where) if isinstance(content, str | list) else worded(content)


def _measured(turn: TurnRow, step: Step) -> TurnRow:
    """Return the turn with the tokens and the cost of its step."""
    metrics = parse(step.metrics or {}, Metrics)
    return turn._replace(
        prompt_tokens=whole(metrics.prompt_tokens, "metrics.prompt_tokens"),
        response_tokens=whole(metrics.completion_tokens, "metrics.completion_tokens"),
        cost_usd=metrics.cost_usd,
    )
