"""tau-bench: simulated users and the agent that serves them.

- File: `<strategy>-<model>-<time>.json`, a list of simulations, or one of them.
- Format: https://github.com/sierra-research/tau-bench
- Checked on: its historical trajectories of gpt-4o on the airline tasks, and one simulation of docent.
- Lost: nothing.
"""

from functools import partial
from typing import Any

import msgspec

from rollwise.readers.chats.turns import Message, split
from rollwise.readers.common import complete_last, is_verdict, solved_by
from rollwise.readers.records import Key, Small, inner, leftovers, parse, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnsBuilder
from rollwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK, TARGET_ENDED

STOP = "###STOP###"  # the user's message that ends a conversation
TRANSFER = "transfer_to_human_agents"  # the tool that ends a conversation


class Simulation(msgspec.Struct):
    """One conversation of a simulated user with the agent."""

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


def read_tau_bench(document: Document, table: TurnsBuilder) -> None:
    """Read each simulation as a rollout; a turn is one assistant message, which often has only tool calls and no text.

    ===================== ==============================================================================
    in the file           in the table
    ===================== ==============================================================================
    hash of the content   `run`: the file has no name of its own
    run, task, trial      `rollout_id`
    `task_id`             `task`
    `trial`               `attempt`, from 1
    `traj`                turns
    `reward`              `reward` of the last turn; `solved` where it is 1 within 1e-6
    `info.error`          `error` of the last turn, `ending` error
    ===================== ==============================================================================

    `attack` is `none`, so `goal` and `outcome` are null. `ending` is `finished` where the last message is ``###STOP###`` of
    the user, `target_ended` where it is the result of the tool that transfers to a human, else `budget` (the steps ran
    out, no matter who spoke last). Only the name of the file holds the target, so give it: ``read(path,
    target="gpt-4o")``. `user_cost`, the price of the simulated user, is a column, as are the other fields of `info` with
    ``info_`` before them; objects are JSON text.

    The producer judges the `whole_rollout`, and the user's task, not an attack.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"task_id": 7, "trial": 1, "reward": 1.0, "info": {}, "traj": [{"role": "user", "content": "Book it"},
    ... {"role": "assistant", "content": "Done."}, {"role": "user", "content": "###STOP###"}]}'''
    >>> table = TurnsBuilder("tau_bench", Problems(), {})
    >>> read_tau_bench(Document(Path("gpt-4o-airline.json"), log), table)
    >>> table.frame().select("task", "attempt", "response", "observation", "solved", "ending").row(0)
    ('7', 2, 'Done.', '###STOP###', True, 'finished')
    """
    run = f"tau_bench-{document.digest}"
    value = document.value
    for position, record in enumerate(value if isinstance(value, list) else [value]):
        with table.rollout(document.name, position, partial(_identity, run, record)):
            simulation = parse(record, Simulation)
            _add(document, table, run, simulation, leftovers(record, Simulation))


def _identity(run: str, record: Any) -> Identity | None:
    """Return what can be read of a simulation that is broken; None where it has no task or no reward."""
    task, trial = inner(record, "task_id"), inner(record, "trial") or 0
    if (
        not isinstance(task, str | int)
        or not isinstance(trial, int)
        or trial < 0
        or not is_verdict(inner(record, "reward"))
    ):
        return None
    return f"{run}/{task}/{trial}", {"run": run, "attack": NO_ATTACK, "task": str(task), "attempt": trial + 1}


def _add(document: Document, table: TurnsBuilder, run: str, simulation: Simulation, extras: dict[str, Any]) -> None:
    fields = dict(simulation.info or {})
    info = parse(fields, Info)
    cost = {"user_cost": fields.pop("user_cost")} if "user_cost" in fields else {}
    reward = simulation.reward
    turns = split(simulation.traj, "traj")
    complete_last(turns, error=worded(info.error), reward=reward)
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
            "solved": solved_by(reward),
        },
        {**extras, **cost, **{f"info_{name}": value for name, value in fields.items() if name != "error"}},
    )


def _ending(chat: list[Message]) -> str:
    if not chat:
        return BUDGET
    # tau-bench does not record why it stopped: the last message shows it.
    last = chat[-1]
    if last.role == "user" and isinstance(last.content, str) and STOP in last.content:
        return FINISHED
    if last.role == "tool" and last.name in {TRANSFER, None}:
        return TARGET_ENDED
    return BUDGET
