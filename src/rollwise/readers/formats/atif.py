"""ATIF: the Agent Trajectory Interchange Format of Harbor and the NeMo Agent Toolkit (NAT).

- File: `trajectory.json`, one trajectory; also lists or lines of them.
- Format: https://harborframework.com/docs/trajectory-format
- Checked on: versions 1.5 to 1.7, from the golden files of Harbor and of NAT.
- Lost: definitions of tools, and `extra` of steps, where NAT repeats its own events.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS, speaker
from rollwise.readers.chats.turns import Message, split, text_of
from rollwise.readers.common import parse_all
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record, once
from rollwise.readers.records import Count, parse, total, whole_number, worded
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow
from rollwise.schema import NO_ATTACK

AGENT = "agent"  # source of a step
SHAPES = Shapes({"schema_version", "agent", "steps"})


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


class Observation(msgspec.Struct):
    """Response of the environment."""

    results: list[dict[str, Any]] = []


@once
def _steps(record: Record) -> list[Step]:
    return parse_all(record["steps"], Step, "steps")


@once
def _answers(record: Record) -> list[tuple[int, Step]]:
    """Return the steps of the agent, the only answers of the target, with their places."""
    return [(place, step) for place, step in enumerate(_steps(record)) if step.source == AGENT]


def _name(record: Record) -> str:
    """`trajectory_id`, else `session_id`, else a hash of the content."""
    return record["trajectory_id"] or record["session_id"] or record.around.document.digest


def _target(record: Record) -> str:
    """`agent.model_name`, else that of the first step with one, else `agent.name`."""
    model = next((step.model_name for _, step in _answers(record) if step.model_name), None)
    name: str = record["agent.model_name"] or model or record["agent.name"]
    return name


def _tokens(record: Record) -> int | None:
    """`final_metrics`."""
    counts = [record[f"final_metrics.{name}"] for name in ("total_prompt_tokens", "total_completion_tokens")]
    return None if None in counts else total(counts, "final_metrics")


def _turns(record: Record) -> tuple[list[TurnRow], Mapping[str, Sequence[Any]] | None]:
    """Steps of the agent."""
    answers = _answers(record)
    turns = split(_chat(_steps(record)), "steps")
    if not answers:
        return turns, None
    # Every step of the agent makes one turn, so turns and steps go together one by one.
    return [_measured(turn, step) for turn, (_, step) in zip(turns, answers, strict=True)], {
        "step_id": [record["steps"][place].get("step_id") for place, _ in answers],
        "model_name": [step.model_name for _, step in answers],
        "reasoning": [step.reasoning_content for _, step in answers],
    }


def _chat(steps: Sequence[Step]) -> list[Message]:
    """Return the steps as messages; the results of tools after a step are a message of their own."""
    chat: list[Message] = []
    for place, step in enumerate(steps):
        where = f"steps[{place}]"
        text = text_of(step.message, f"{where}.message") or None  # NAT writes an empty text next to tool calls
        role = "assistant" if step.source == AGENT else step.source
        chat.append(Message(role, text, step.tool_calls))
        chat += _results_of(step.observation, f"{where}.observation")
    return chat


def _results_of(observation: Any, where: str) -> list[Message]:
    """Return what the environment gave back: a text, or a list of results."""
    if observation is None or isinstance(observation, str):
        return [] if observation is None else [Message("tool", observation)]
    results = parse(observation, Observation, where).results
    return [Message("tool", _text(result, where), tool_call_id=result.get("source_call_id")) for result in results]


def _text(result: dict[str, Any], where: str) -> str | None:
    content = result.get("content")
    if content is None:  # the work was left to another agent, whose trajectory is named
        return worded(result.get("subagent_trajectory_ref"))
    return text_of(content, where) if isinstance(content, str | list) else worded(content)


def _measured(turn: TurnRow, step: Step) -> TurnRow:
    """Return the turn with the tokens and the cost of its step."""
    metrics = parse(step.metrics or {}, Metrics)
    return turn._replace(
        prompt_tokens=whole_number(metrics.prompt_tokens, "metrics.prompt_tokens"),
        response_tokens=whole_number(metrics.completion_tokens, "metrics.completion_tokens"),
        cost_usd=metrics.cost_usd,
    )


ATIF = RecordMapping(
    module=__name__,
    doc="""Read each trajectory as one rollout; a turn is one step whose source is the agent.

{fields}

Of a step of the agent, `message` is the `response` (empty is null), `tool_calls` are its calls, `metrics` its `prompt_tokens`,
`response_tokens` and `cost_usd`, and `reasoning_content` is the column `reasoning`. Steps of user and system are the `prompt`;
system messages before the first answer are `context`. `observation.results` are part of the next turn's `prompt`; after the
last answer they are `observation`.
`attack` may be given as ``read(path, attack=...)``; `goal` and `outcome` are null, as are `solved`
and `ending`: the format holds no verdict. A trajectory that goes on in another file names it in
`continued_trajectory_ref`; each file is a rollout. Further columns: `step_id` and `model_name` of each turn, and all other
fields of the trajectory, as JSON text. Not read: the definitions of the tools, and `extra` of steps, where NAT repeats its own
events.

The producer judges the `whole_rollout`, in other files.""",
    run="agent.name",
    rollout=[_name],
    facts={
        "target": _target,
        "attack": {"value": NO_ATTACK},
        "attempt": {"value": 1},
        "total_tokens": _tokens,
        "total_cost_usd": "final_metrics.total_cost_usd",
    },
    turns=_turns,
    columns={
        "schema_version": "schema_version",
        "session_id": "session_id",
        "agent_name": "agent.name",
        "agent_version": "agent.version",
        "continued_trajectory_ref": "continued_trajectory_ref",
    },
    fields={
        "schema_version": str,
        "agent.name": str,
        "agent.version": str | None,
        "agent.model_name": str | None,
        "steps": list[Any],
        "session_id": str | None,
        "trajectory_id": str | None,
        "final_metrics.total_prompt_tokens": Count,
        "final_metrics.total_completion_tokens": Count,
        "continued_trajectory_ref": str | None,
    },
)
