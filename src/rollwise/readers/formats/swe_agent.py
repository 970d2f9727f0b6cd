"""SWE-agent: trajectories of an agent that fixes bugs or solves challenges.

- File: `<instance>.traj`, one rollout per file.
- Format: https://swe-agent.com/latest/usage/trajectories/
- Checked on: trajectories in SWE-agent's repository: bug fixes, challenges, replays, and a history alone.
- Lost: `replay_config`, which repeats the configuration, and the windows of edited files.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, split
from rollwise.readers.common import as_prompt, is_object, parse_all
from rollwise.readers.records import Count, leftovers, parse, total, whole
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.readers.tool_calls import calls
from rollwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK, TARGET_ENDED

LIMITS = ("cost", "context", "total_execution_time", "timeout", "limit")  # words in an exit status that mean a limit
FAULTS = ("error", "api", "environment", "exception", "early_exit")  # and an error


class Trajectory(msgspec.Struct):
    """One run of the agent on one instance."""

    trajectory: list[Any] = []
    history: list[Any] | None = None
    info: dict[str, Any] | None = None
    environment: Any = None


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


class Stats(msgspec.Struct):
    """Cost of the run."""

    tokens_sent: Count = None
    tokens_received: Count = None
    api_calls: Count = None
    instance_cost: float | None = None


def sniff(document: Document) -> bool:
    """Return whether the file is a trajectory: an object with `trajectory`, `history` and `info`; a `.traj` may lack some."""
    if not is_object(document):
        return False
    complete = {"trajectory", "history", "info"} <= document.keys
    return complete or (document.suffix == ".traj" and bool({"history", "trajectory"} & document.keys))


def read_swe_agent(document: Document, table: TurnsBuilder) -> None:
    """Read one trajectory as one rollout; a turn is one step: one answer of the agent.

    ========================== =============================================================================
    in the file                in the table
    ========================== =============================================================================
    hash of the content        `run` and `rollout_id`: the file has no name of its own
    name of the file           `task`: the instance, such as ``marshmallow-code__marshmallow-1867``
    `trajectory`               turns: `response`; `observation` of a step is the `prompt` of the next turn, or
                               the `observation` of the last; `execution_time` (of the action) is a column
    `history` before the       `context` (system) and `prompt` of turn 1, demonstrations included
    first answer
    `tool_calls` of history    `tool_calls`, else the step's `action` as a call of a tool ``action``
    `info.exit_status`         `ending`: submitted is finished; a limit on cost, context or time is budget; an
                               error of API or environment is error; other exits are target_ended
    `info.model_stats`         `total_tokens`, `queries`, `total_cost_usd`
    ========================== =============================================================================

    Without `trajectory`, turns are the assistant messages of `history`. The two may differ: a history may lack the last
    answer, or include one that was requested again; the trajectory has what was executed. `attack` is `none`, so `goal` and
    `outcome` are null; other files say whether the patch solves the instance: `solved` is null. `attempt` is 1. Further
    columns: `thought`, and the other fields of `info` with ``info_`` before them. Not read: `replay_config`, which repeats
    the configuration, and the windows of edited files.

    The producer judges the `whole_rollout`, in other files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"trajectory": [{"action": "ls", "response": "Look: ls", "observation": "a.py"}], "info": {"exit_status":
    ... "submitted"}, "history": [{"role": "user", "content": "Fix it"}, {"role": "assistant", "content": "Look: ls"}]}'''
    >>> table = TurnsBuilder("swe_agent", Problems(), {})
    >>> read_swe_agent(Document(Path("repo-1.traj"), log), table)
    >>> table.frame().select("task", "prompt", "response", "observation", "ending").row(0)
    ('repo-1', 'Fix it', 'Look: ls', 'a.py', 'finished')
    """
    trajectory = parse(document.value, Trajectory)
    run = f"swe_agent-{document.digest}"
    with table.record(document.name):
        history = parse_all(trajectory.history, HistoryMessage, "history")
        steps = parse_all(trajectory.trajectory, Step, "trajectory")
        # The trajectory has what was executed; the history of an unfinished run may be all there is.
        turns = _turns(steps, history) if steps else split(_without_examples(history), "history")
        info = trajectory.info or {}
        stats = parse(info.get("model_stats") or {}, Stats)
        table.add(
            document.name,
            run,
            turns,
            {
                "run": run,
                "attack": NO_ATTACK,
                "task": document.path.name.split(".")[0] or None,
                "attempt": 1,
                "ending": _ending(info.get("exit_status")),
                "queries": whole(stats.api_calls, "model_stats.api_calls"),
                "total_tokens": total((stats.tokens_sent, stats.tokens_received), "info.model_stats"),
                "total_cost_usd": stats.instance_cost,
            },
            {
                "environment": trajectory.environment,
                **{f"info_{name}": value for name, value in info.items() if not name.startswith("edited_files")},
                **{
                    name: value
                    for name, value in leftovers(document.value, Trajectory).items()
                    if name != "replay_config"
                },
            },
            {
                "thought": [step.thought for step in steps],
                "execution_time": [step.execution_time for step in steps],
            }
            if steps
            else None,
        )


def _without_examples(messages: Sequence[HistoryMessage]) -> list[Message]:
    """Return the messages; a demonstration is attributed to the user, since the agent did not write it."""
    return [as_prompt(message) if message.is_demo else message for message in messages]


def _turns(steps: Sequence[Step], history: Sequence[HistoryMessage]) -> list[TurnRow]:
    """Return a turn for each step; only the history has the messages before the first, and tool calls by their names."""
    chat = _without_examples(history)
    # The system message and the task come before the first answer; an empty answer cuts them into context and prompt.
    first = next((place for place, message in enumerate(chat) if message.role in ANSWERS), len(chat))
    opening = split([*chat[:first], Message("assistant")], "history")[0]
    answers = [message for message in chat if message.role in ANSWERS]
    turns = []
    for place, step in enumerate(steps):
        # The trajectory holds actions as text; the history may hold the tool calls that they were made of.
        tool_calls = answers[place].tool_calls if place < len(answers) else None
        requests = tool_calls or ([{"name": "action", "arguments": step.action}] if step.action else None)
        turns.append(
            TurnRow(
                turn=place + 1,
                context=opening.context if place == 0 else None,
                prompt=opening.prompt if place == 0 else steps[place - 1].observation,
                response=step.response,
                observation=step.observation if place == len(steps) - 1 else None,
                tool_calls=calls(requests),
                reward=step.reward,
            )
        )
    return turns


def _ending(status: Any) -> str | None:
    if not isinstance(status, str):
        return None
    if status.startswith("submitted"):  # perhaps after another exit: ``submitted (exit_cost)``
        return FINISHED if status == "submitted" else _ending(status.partition("(")[2].rstrip(") ")) or FINISHED
    if any(word in status for word in LIMITS):
        return BUDGET
    return ERROR if any(word in status for word in FAULTS) else TARGET_ENDED
