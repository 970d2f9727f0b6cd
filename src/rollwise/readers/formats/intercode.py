"""InterCode: code actions of an agent or a human in an environment that answers and rewards each action.

- File: `<environment>_<strategy>_<model>.json`, one object of trajectories.
- Format: https://github.com/princeton-nlp/intercode
- Checked on: trajectories in bash, SQL and CTF, of agents and of humans, from InterCode's repository.
- Lost: nothing.
"""

from functools import partial
from typing import Any

import msgspec

from rollwise.errors import counted
from rollwise.readers.common import first_of, is_verdict, text_in
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Key, inner, leftovers, parse, spare, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnRow, TurnsBuilder
from rollwise.schema import BUDGET, FINISHED, NO_ATTACK, SUCCESS


class History(msgspec.Struct):
    """The actions of an agent, as lists with an item for each action."""

    actions: list[str | None]
    observations: list[Any] = []
    rewards: list[float | None] = []


class Summary(msgspec.Struct):
    """InterCode's own summary of a trajectory."""

    max_reward: float | None = None
    turns_taken: float | None = None
    turns_max: float | None = None


class Step(msgspec.Struct):
    """One action of a human."""

    action: str | None = None
    observation: Any = None


class Trajectory(msgspec.Struct):
    """One task, as an agent or a human went about it."""

    environment: str
    query: str
    dataset: str | None = None
    task_id: Key | None = None
    query_idx: Key | None = None
    turn_history: dict[str, Any] | None = None
    trajectory: list[Step] | None = None
    summary: dict[str, Any] | None = None
    reward: float | None = None
    gold: Any = None


def sniff(document: Document) -> bool:
    """Return whether the file is an object of trajectories: each with an environment, a query and what was done."""
    names = document.inner
    return {"environment", "query"} <= names and bool({"turn_history", "trajectory"} & names)


def read_intercode(document: Document, table: TurnsBuilder) -> None:
    """Read each trajectory as a rollout; a turn is one action.

    ========================== =========================================================================
    in the file                in the table
    ========================== =========================================================================
    `environment`, hash        `run`: ``ic_bash-1a2b3c4d``, with a hash of the file's content
    run, key                   `rollout_id`: the key of the object, since several tasks share a `query`
    `dataset` + `task_id`      `task`; in a human's log, `environment` + `query_idx`
    `query`                    `prompt` of turn 1
    `observations`             `prompt` of the next turn; of the last action its `observation`
    `actions`, `rewards`       `response`, `reward`
    `max_reward`               `solved` where it is 1
    `gold`                     `expected`
    ========================== =========================================================================

    `attack` is `none`, so `goal` and `outcome` are null; `attempt` is 1. `ending` is `success` where a reward is 1,
    `budget` where `turns_taken` has reached `turns_max`, else `finished` (as where the log names no `turns_max`).
    A human's log has `trajectory` and one final reward, which goes to the last turn. Other lists with an item for each
    action (`valid_action`, `thoughts`, `steps`) become columns of the turn; all other fields become columns of the rollout.

    The producer judges `every_turn`, by a reward for the user's task; without an attack, `succeeded` is null.
    Only the name of the file holds the target, so give it: ``read(path, target="gpt-4")``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"0": {"environment": "ic_bash", "query": "Count the files", "task_id": 0, "dataset": "demo",
    ... "turn_history": {"actions": ["ls", "ls | wc -l"], "observations": ["a b", "2"], "rewards": [0, 1]},
    ... "summary": {"max_reward": 1, "turns_taken": 2, "turns_max": 10}}}'''
    >>> table = TurnsBuilder("intercode", Problems(), {})
    >>> read_intercode(Document(Path("bash.json"), log), table)
    >>> table.frame().select("turn", "prompt", "response", "observation", "reward", "ending").rows()
    [(1, 'Count the files', 'ls', None, 0.0, 'success'), (2, 'a b', 'ls | wc -l', '2', 1.0, 'success')]
    """
    run: str | None = None
    for key, record in parse(document.value, dict[str, Any]).items():
        environment = text_in(record, "environment")
        run_here = run or (environment and f"{environment}-{document.digest}")
        with table.rollout(document.name, key, partial(_identity, run_here, key, record)):
            trajectory = parse(record, Trajectory)
            # The environment is named in each trajectory, and is the same in a file.
            run = run or f"{trajectory.environment}-{document.digest}"
            history = _history(trajectory)
            summary = parse(trajectory.summary or {}, Summary)
            best = _best(trajectory, summary, history)
            history, unpaired = _paired(document, table, key, history)
            table.add(
                document.name,
                f"{run}/{key}",
                _turns(trajectory.query, history),
                {
                    "run": run,
                    "attack": NO_ATTACK,
                    "task": _task(trajectory),
                    "attempt": 1,
                    "expected": worded(trajectory.gold),
                    "ending": _ending(best, summary),
                    "solved": None if best is None else best == 1,
                },
                {**_extras(record, trajectory, history), **unpaired},
                _turn_extras(trajectory, history),
            )


def _history(trajectory: Trajectory) -> History:
    """Return the actions of an agent or a human in one form."""
    if trajectory.turn_history is not None:
        history = parse(trajectory.turn_history, History, "turn_history")
    else:
        # A human's log lists actions with their observations; its one reward is that of the end.
        steps = trajectory.trajectory or []
        final = [*([None] * (len(steps) - 1)), trajectory.reward] if steps else []
        history = History([step.action for step in steps], [step.observation for step in steps], final)
    return history


def _paired(document: Document, table: TurnsBuilder, key: str, history: History) -> tuple[History, dict[str, Any]]:
    """Return the history without lists that lack an entry, and these lists by the names of their columns.

    Which action such a list has no entry for is unknown: it is a problem, and what belongs to the turns is null.
    """
    count = len(history.actions)
    unpaired = {}
    # An empty list means that the log does not record them.
    for name in ("observations", "rewards"):
        values = getattr(history, name)
        if len(values) not in {0, count}:
            reason = f"has {counted(len(values), 'entry')} for {counted(count, 'action')}"
            table.problems.broken(document.name, BrokenError(reason, record=key, field=f"turn_history.{name}"))
            unpaired[f"turn_history_{name}"] = values
    empty: dict[str, list[Any]] = {name.removeprefix("turn_history_"): [] for name in unpaired}
    return msgspec.structs.replace(history, **empty), unpaired


def _identity(run: str | None, key: str, record: Any) -> Identity | None:
    """Return what can be read of a trajectory that is broken; None where it has no reward."""
    rewards = inner(record, "turn_history", "rewards")
    verdicts = [inner(record, "summary", "max_reward"), inner(record, "reward")]
    if run is None or not any(map(is_verdict, [*verdicts, *(rewards if isinstance(rewards, list) else [])])):
        return None
    source = text_in(record, "dataset") or text_in(record, "environment")
    task = first_of(*(inner(record, name) for name in ("task_id", "query_idx")))
    task = f"{source}/{task}" if source is not None and isinstance(task, str | int) else None
    return f"{run}/{key}", {"run": run, "attack": NO_ATTACK, "task": task, "attempt": 1}


def _turns(query: str, history: History) -> list[TurnRow]:
    """Return a turn for each action, whose prompt is the observation after the action before it."""
    if not history.actions:
        return [TurnRow(turn=None, prompt=query)]
    count = len(history.actions)
    results = [worded(value) for value in history.observations] or [None] * count
    rewards = history.rewards or [None] * count
    turns = [
        TurnRow(turn=number, prompt=prompt, response=action, reward=reward)
        for number, (prompt, action, reward) in enumerate(
            zip([query, *results[:-1]], history.actions, rewards, strict=True), start=1
        )
    ]
    turns[-1] = turns[-1]._replace(observation=results[-1])
    return turns


def _best(trajectory: Trajectory, summary: Summary, history: History) -> float | None:
    if summary.max_reward is not None:
        return summary.max_reward
    rewards = [reward for reward in (*history.rewards, trajectory.reward) if reward is not None]
    return max(rewards, default=None)


def _ending(best: float | None, summary: Summary) -> str:
    if best == 1:
        return SUCCESS
    count, limit = summary.turns_taken, summary.turns_max
    return BUDGET if count is not None and limit is not None and count >= limit else FINISHED


def _task(trajectory: Trajectory) -> str | None:
    source = trajectory.dataset or trajectory.environment
    task = trajectory.task_id if trajectory.task_id is not None else trajectory.query_idx
    return None if task is None else f"{source}/{task}"


def _extras(record: dict[str, Any], trajectory: Trajectory, history: History) -> dict[str, Any]:
    summary = trajectory.summary or {}
    further = leftovers(trajectory.turn_history or {}, History)
    return {
        "environment": trajectory.environment,
        "dataset": trajectory.dataset,
        # A field that the summary shares with the trajectory keeps a prefix, so that neither is lost.
        **{f"summary_{name}" if name in record else spare(name): value for name, value in summary.items()},
        **{f"turn_history_{name}": value for name, value in further.items() if not _per_turn(value, history)},
        **leftovers(record, Trajectory),
    }


def _turn_extras(trajectory: Trajectory, history: History) -> dict[str, list[Any]]:
    further = leftovers(trajectory.turn_history or {}, History)
    return {name: value for name, value in further.items() if value and _per_turn(value, history)}


def _per_turn(value: Any, history: History) -> bool:
    """Return whether a value of the history is a list with an item for each action."""
    return isinstance(value, list) and len(value) == len(history.actions)
