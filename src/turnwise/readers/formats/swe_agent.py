"""SWE-agent trajectories: one rollout per `.traj` file."""

from collections.abc import Sequence
from typing import Any

import msgspec

from turnwise.readers.chats.turns import ANSWERS, Message, calls, split
from turnwise.readers.records import Count, leftovers, parse, total, whole
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table, Turn
from turnwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK, TARGET_ENDED

LIMITS = ("cost", "context", "total_execution_time", "timeout", "limit")
FAULTS = ("error", "api", "environment", "exception", "early_exit")


class Trajectory(msgspec.Struct):
    """One file."""

    trajectory: list[Any] = []
    history: list[Any] | None = None
    info: dict[str, Any] | None = None
    environment: Any = None


class Step(msgspec.Struct):
    """One answer of the agent and what its action brought."""

    response: str | None = None
    observation: str | None = None
    action: str | None = None
    thought: str | None = None
    execution_time: float | None = None
    reward: float | None = None


class Said(Message):
    """One message of the history."""

    is_demo: bool = False


class Stats(msgspec.Struct):
    """Cost of the run."""

    tokens_sent: Count = None
    tokens_received: Count = None
    api_calls: Count = None
    instance_cost: float | None = None


def sniff(document: Document) -> bool:
    """Return whether the file is a trajectory: one object with `history`, and `trajectory` and `info` where it is whole."""
    if document.kind != "json" or not isinstance(document.top, dict):
        return False
    whole_one = {"trajectory", "history", "info"} <= document.keys
    return whole_one or (document.suffix == ".traj" and bool({"history", "trajectory"} & document.keys))


def read_swe_agent(document: Document, table: Table) -> None:
    """One trajectory into one rollout; a turn is one step: one answer of the agent.

    ========================== =============================================================================
    in the file                in the table
    ========================== =============================================================================
    hash of the content        `run` and `rollout_id`: the log has no name of its own
    name of the file           `task`: the instance, as ``marshmallow-code__marshmallow-1867``
    `trajectory`               turns: `response`; `observation` of a step is the next turn's `prompt`, of the
                               last step its `observation`; `execution_time` (of the action) as a column
    `history` before the       `context` (system) and `prompt` of turn 1, demonstrations included
    first answer
    `tool_calls` of history    `tool_calls`, else the step's `action` as a call of ``action``
    `info.exit_status`         `ending`: submitted is finished; a limit on cost, context or time budget; an
                               error of API or environment error; other exits (format, forfeit) target_ended
    `info.model_stats`         `total_tokens`, `queries`, `total_cost_usd`
    ========================== =============================================================================

    Where there is no `trajectory`, turns are the assistant messages of `history`. The two differ where a history lacks
    the last answer, or has one that was asked for anew: the trajectory is what happened. `attack` is `none`, so `goal`
    and `outcome` are null; whether the patch solves the instance stands in other files: `solved` is null. `attempt` is
    1. Kept: `thought`, and what else `info` holds with ``info_`` before it. Left where it is: `replay_config`, which
    repeats the configuration, and the windows of edited files.

    The producer judges the `whole_rollout`, elsewhere.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"trajectory": [{"action": "ls", "response": "Look: ls", "observation": "a.py"}], "info": {"exit_status":
    ... "submitted"}, "history": [{"role": "user", "content": "Fix it"}, {"role": "assistant", "content": "Look: ls"}]}'''
    >>> table = Table("swe_agent", Problems(), {})
    >>> read_swe_agent(Document(Path("repo-1.traj"), log), table)
    >>> table.frame().select("task", "prompt", "response", "observation", "ending").row(0)
    ('repo-1', 'Fix it', 'Look: ls', 'a.py', 'finished')
    """
    log = parse(document.value, Trajectory)
    run = f"swe_agent-{document.digest}"
    with table.record(document.name):
        said = [parse(record, Said, f"history[{place}]") for place, record in enumerate(log.history or [])]
        steps = [parse(record, Step, f"trajectory[{place}]") for place, record in enumerate(log.trajectory)]
        turns = _turns(steps, said) if steps else split(_without_examples(said), "history")
        info = log.info or {}
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
                "environment": log.environment,
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


def _without_examples(messages: Sequence[Said]) -> list[Message]:
    """Return the messages, with messages of a demonstration attributed to the user: the agent did not answer them."""
    return [
        Message("user", message.content) if message.is_demo and message.role in ANSWERS else message
        for message in messages
    ]


def _turns(steps: Sequence[Step], said: Sequence[Said]) -> list[Turn]:
    chat = _without_examples(said)
    first = next((place for place, message in enumerate(chat) if message.role in ANSWERS), len(chat))
    opening = split([*chat[:first], Message("assistant")], "history")[0]
    answers = [message for message in chat if message.role in ANSWERS]
    turns = []
    for place, step in enumerate(steps):
        known = answers[place].tool_calls if place < len(answers) else None
        called = known or ([{"name": "action", "arguments": step.action}] if step.action else None)
        turns.append(
            Turn(
                turn=place + 1,
                context=opening.context if place == 0 else None,
                prompt=opening.prompt if place == 0 else steps[place - 1].observation,
                response=step.response,
                observation=step.observation if place == len(steps) - 1 else None,
                tool_calls=calls(called),
                reward=step.reward,
            )
        )
    return turns


def _ending(status: Any) -> str | None:
    if not isinstance(status, str):
        return None
    if status.startswith("submitted"):
        return FINISHED if status == "submitted" else _ending(status.partition("(")[2].rstrip(") ")) or FINISHED
    if any(word in status for word in LIMITS):
        return BUDGET
    return ERROR if any(word in status for word in FAULTS) else TARGET_ENDED
