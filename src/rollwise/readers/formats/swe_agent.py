"""SWE-agent: trajectories of an agent that fixes bugs or solves challenges.

- File: `<instance>.traj`, one rollout per file.
- Format: https://swe-agent.com/latest/usage/trajectories/
- Checked on: trajectories in SWE-agent's repository: bug fixes, challenges, replays, and a history alone.
- Lost: `replay_config`, which repeats the configuration, and the windows of edited files.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NotRequired

import msgspec

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.tool_results import ToolResult, attached
from rollwise.readers.chats.turns import Message, split
from rollwise.readers.common import as_prompt, parse_all
from rollwise.readers.formats.committed.swe_bench import verdict_beside
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.records import Count, total
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.readers.tool_calls import calls
from rollwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK, TARGET_ENDED

LIMITS = ("cost", "context", "total_execution_time", "timeout", "limit")  # words in an exit status that mean a limit
FAULTS = ("error", "api", "environment", "exception", "early_exit")  # and an error
SHAPES = Shapes({"trajectory", "history", "info"}, is_object=True) | Shapes(
    {"trajectory"}, {"history"}, is_object=True, check=lambda document: document.suffix == ".traj"
)


class Step(msgspec.Struct):
    """One answer of the agent, its action and the observation after it."""

    response: str | None = None
    observation: str | None = None
    action: str | None = None
    thought: str | None = None
    execution_time: float | None = None
    reward: float | None = None


class HistoryMessage(Message):
    """One message of the history."""

    is_demo: bool = False


def _trajectory(document: Document, _: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the file."""
    yield Record(document.value, None, around)


def _turns(record: Record) -> tuple[list[TurnRow], Mapping[str, Sequence[Any]] | None]:
    """`trajectory`, and the beginning of `history`."""
    history = parse_all(record["history"], HistoryMessage, "history")
    steps = parse_all(record["trajectory"], Step, "trajectory")
    # A demonstration is attributed to the user, since the agent did not write it.
    chat = [as_prompt(message) if message.is_demo else message for message in history]
    if not steps:
        # The trajectory has what was executed; the history of an unfinished run may be all there is.
        return split(chat, "history"), None
    return _of_steps(steps, chat), {
        "thought": [step.thought for step in steps],
        "execution_time": [step.execution_time for step in steps],
    }


def _of_steps(steps: Sequence[Step], chat: Sequence[Message]) -> list[TurnRow]:
    """Return a turn for each step; only the history has the messages before the first, and tool calls by their names."""
    # The system message and the task come before the first answer; an empty answer cuts them into context and prompt.
    first = next((place for place, message in enumerate(chat) if message.role in ANSWERS), len(chat))
    opening = split([*chat[:first], Message("assistant")], "history")[0]
    answers = [message for message in chat if message.role in ANSWERS]
    turns = []
    for place, step in enumerate(steps):
        # The trajectory holds actions as text; the history may hold the tool calls that they were made of.
        tool_calls = answers[place].tool_calls if place < len(answers) else None
        requests = tool_calls or ([{"name": "action", "arguments": step.action}] if step.action else [])
        back = [] if step.observation is None else [ToolResult(step.observation)]
        turns.append(
            TurnRow(
                turn=place + 1,
                context=opening.context if place == 0 else None,
                prompt=opening.prompt if place == 0 else steps[place - 1].observation,
                response=step.response,
                observation=step.observation if place == len(steps) - 1 else None,
                tool_calls=calls(requests),
                tool_results=attached([requests], [back])[0],
                reward=step.reward,
            )
        )
    return turns


def _tokens(record: Record) -> int | None:
    """`tokens_sent`, `tokens_received` of `info.model_stats`."""
    counts = [record[f"info.model_stats.{name}"] for name in ("tokens_sent", "tokens_received")]
    return None if None in counts else total(counts, "info.model_stats")


def _ending(status: Any) -> str | None:
    if not isinstance(status, str):
        return None
    if status.startswith("submitted"):  # perhaps after another exit: ``submitted (exit_cost)``
        return FINISHED if status == "submitted" else _ending(status.partition("(")[2].rstrip(") ")) or FINISHED
    if any(word in status for word in LIMITS):
        return BUDGET
    return ERROR if any(word in status for word in FAULTS) else TARGET_ENDED


def _info(record: Record) -> dict[str, Any]:
    """Other fields of `info`."""
    info = record.raw["info"] if record["info"] else {}
    return {name: value for name, value in info.items() if not name.startswith("edited_files")}


SWE_AGENT = RecordMapping(
    module=__name__,
    doc="""Read one trajectory as one rollout; a turn is one step: one answer of the agent.

{fields}

The file has no name of its own; that of the file is the instance, such as ``marshmallow-code__marshmallow-1867``.
The `response` is that of a step of `trajectory`; its `observation` is the `prompt` of the next turn, or the `observation` of
the last; its `execution_time` (of the action) and `thought` are columns. The `history` before the first answer is `context`
(system) and `prompt` of turn 1, demonstrations included; its `tool_calls`, else the step's `action` as a call of a tool
``action``, belong to the turn.
Without `trajectory`, turns are the assistant messages of `history`. The two may differ: a history may lack the last
answer, or include one that was requested again; the trajectory has what was executed. `goal` and
`outcome` are null; `solved` is what a report of SWE-bench beside the file says, and null without one. Not read:
`replay_config`, which repeats the configuration, and the windows of edited files.

The producer judges the `whole_rollout`, in other files.""",
    records=_trajectory,
    rollout=[],
    facts={
        "attack": {"value": NO_ATTACK},
        "task": "@file",
        "attempt": {"value": 1},
        "ending": {
            "by": lambda record: _ending(record["info.exit_status"]),
            "in_file": "`info.exit_status`",
            "note": "submitted is finished; a limit on cost, context or time is budget; an error of API or environment is "
            "error; other exits are target_ended",
        },
        "queries": "info.model_stats.api_calls",
        "total_tokens": _tokens,
        "total_cost_usd": "info.model_stats.instance_cost",
    },
    turns=_turns,
    verdicts=[
        {
            "of": "task",
            "by": lambda record: verdict_beside(record.around.document.path, record["@file"]),
            "in_file": "report of SWE-bench beside it",
        }
    ],
    columns={"environment": "environment", "info_*": _info},
    fields={
        "trajectory": NotRequired[list[Any]],
        "history": list[Any] | None,
        "info.model_stats.tokens_sent": Count,
        "info.model_stats.tokens_received": Count,
    },
    used=("replay_config",),
)
