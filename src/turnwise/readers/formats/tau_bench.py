"""tau-bench results: a list of simulations, or one of them."""

from typing import Any

import msgspec

from turnwise.readers.chats.turns import Message, split
from turnwise.readers.records import Key, Small, leftovers, parse, worded
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table
from turnwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK, TARGET_ENDED

STOP = "###STOP###"
TRANSFER = "transfer_to_human_agents"
SOLVED = 1e-6  # how near to 1 the reward of a solved task is: the producer's own tolerance


class Simulation(msgspec.Struct):
    """One user, simulated, and the agent that serves them."""

    task_id: Key
    reward: float | None
    traj: list[Message]
    info: dict[str, Any] | None = None
    trial: Small = 0


class Info(msgspec.Struct):
    """Fields read from a simulation's `info`."""

    error: Any = None
    reward_info: Any = None


def sniff(document: Document) -> bool:
    """Return whether the file holds simulations: objects with `task_id`, `reward` and `traj`."""
    return document.kind == "json" and {"task_id", "reward", "traj"} <= document.keys


def read_tau_bench(document: Document, table: Table) -> None:
    """Simulations into rollouts; a turn is one assistant message, nearly half of them tool calls without text.

    ===================== ==============================================================================
    in the file           in the table
    ===================== ==============================================================================
    hash of the content   `run`: the log has no name of its own
    run, task, trial      `rollout_id`
    `task_id`             `task`
    `trial`               `attempt`, from 1
    `traj`                turns
    `reward`              `reward` of the last turn; `solved` where it is 1 within 1e-6
    `info.error`          `error` of the last turn, `ending` error
    ===================== ==============================================================================

    `attack` is `none`, so `goal` and `outcome` are null. `ending` is `finished` where the user said ``###STOP###``
    last, `target_ended` where the last thing is the result of the tool that transfers to a human, else `budget` (the
    steps ran out, no matter who spoke last). The target stands only in the name of the file: ``read(path,
    target="gpt-4o")``. `user_cost`, the price of the simulated user, is kept under its own name, as is what else
    `info` holds with ``info_`` before it; objects are JSON text.

    The producer judges the `whole_rollout`, and the user's task, not an attack.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"task_id": 7, "trial": 1, "reward": 1.0, "info": {}, "traj": [{"role": "user", "content": "Book it"},
    ... {"role": "assistant", "content": "Done."}, {"role": "user", "content": "###STOP###"}]}'''
    >>> table = Table("tau_bench", Problems(), {})
    >>> read_tau_bench(Document(Path("gpt-4o-airline.json"), log), table)
    >>> table.frame().select("task", "attempt", "response", "observation", "solved", "ending").row(0)
    ('7', 2, 'Done.', '###STOP###', True, 'finished')
    """
    run = f"tau_bench-{document.digest}"
    value = document.value
    for position, record in enumerate(value if isinstance(value, list) else [value]):
        with table.record(document.name, position):
            simulation = parse(record, Simulation)
            _add(document, table, run, simulation, leftovers(record, Simulation))


def _add(document: Document, table: Table, run: str, simulation: Simulation, extras: dict[str, Any]) -> None:
    given = dict(simulation.info or {})
    info = parse(given, Info)
    cost = {"user_cost": given.pop("user_cost")} if "user_cost" in given else {}
    reward = simulation.reward
    turns = split(simulation.traj, "traj")
    turns[-1] = turns[-1]._replace(
        reward=reward if turns[-1].turn else None,
        error=worded(info.error),
    )
    table.add(
        document.name,
        f"{run}/{simulation.task_id}/{simulation.trial}",
        turns,
        {
            "run": run,
            "attack": NO_ATTACK,
            "task": str(simulation.task_id),
            "attempt": simulation.trial + 1,
            "ending": ERROR if info.error is not None else _ending(simulation.traj),
            "solved": None if reward is None else abs(reward - 1) < SOLVED,
        },
        {**extras, **cost, **{f"info_{name}": value for name, value in given.items() if name != "error"}},
    )


def _ending(chat: list[Message]) -> str:
    if not chat:
        return BUDGET
    last = chat[-1]
    if last.role == "user" and isinstance(last.content, str) and STOP in last.content:
        return FINISHED
    if last.role == "tool" and last.name in {TRANSFER, None}:
        return TARGET_ENDED
    return BUDGET
