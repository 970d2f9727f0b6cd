"""InterCode trajectories: code actions in an environment that answers and rewards every one of them."""

from typing import Any

import msgspec

from turnwise.errors import counted
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Key, leftovers, parse, spare, worded
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table, Turn
from turnwise.schema import BUDGET, FINISHED, NO_ATTACK, SUCCESS


class History(msgspec.Struct):
    """The actions of an agent, one list for each thing known of them."""

    actions: list[str | None]
    observations: list[Any] = []
    rewards: list[float | None] = []


class Summary(msgspec.Struct):
    """The producer's summary of a trajectory."""

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


def read_intercode(document: Document, table: Table) -> None:
    """Trajectories into rollouts; a turn is one action.

    ========================== =========================================================================
    in the file                in the table
    ========================== =========================================================================
    `environment`, hash        `run`: ``ic_bash-1a2b3c4d``, the hash that of the file's content
    run, key                   `rollout_id`: the key of the object, since several tasks share a `query`
    `dataset` + `task_id`      `task`; of a human's log `environment` + `query_idx`
    `query`                    `prompt` of turn 1
    `observations`             `prompt` of the next turn; of the last action its `observation`
    `actions`, `rewards`       `response`, `reward`
    `max_reward`               `solved` where it is 1
    `gold`                     `expected`
    ========================== =========================================================================

    `attack` is `none`, so `goal` and `outcome` are null; `attempt` is 1. `ending` is `success` where a reward is 1,
    `budget` where `turns_taken` has reached `turns_max`, else `finished` (as where the log names no `turns_max`).
    A human's log has `trajectory` and one final reward, which is that of the last turn. What else is known of each
    action (`valid_action`, `thoughts`, `steps`) stays a column of the turn, the rest a column of the rollout.

    The producer judges `every_turn`, by a reward for the user's task; there is no attack, so `succeeded` is null.
    The target stands only in the name of the file: ``read(path, target="gpt-4")``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"0": {"environment": "ic_bash", "query": "Count the files", "task_id": 0, "dataset": "demo",
    ... "turn_history": {"actions": ["ls", "ls | wc -l"], "observations": ["a b", "2"], "rewards": [0, 1]},
    ... "summary": {"max_reward": 1, "turns_taken": 2, "turns_max": 10}}}'''
    >>> table = Table("intercode", Problems(), {})
    >>> read_intercode(Document(Path("bash.json"), log), table)
    >>> table.frame().select("turn", "prompt", "response", "observation", "reward", "ending").rows()
    [(1, 'Count the files', 'ls', None, 0.0, 'success'), (2, 'a b', 'ls | wc -l', '2', 1.0, 'success')]
    """
    run: str | None = None
    for key, record in parse(document.value, dict[str, Any]).items():
        with table.record(document.name, key):
            trajectory = parse(record, Trajectory)
            run = run or f"{trajectory.environment}-{document.digest}"
            done = _history(trajectory)
            summary = parse(trajectory.summary or {}, Summary)
            best = _best(trajectory, summary, done)
            table.add(
                document.name,
                f"{run}/{key}",
                _turns(trajectory.query, done),
                {
                    "run": run,
                    "attack": NO_ATTACK,
                    "task": _task(trajectory),
                    "attempt": 1,
                    "expected": worded(trajectory.gold),
                    "ending": _ending(best, summary),
                    "solved": None if best is None else best == 1,
                },
                _extras(record, trajectory, done),
                _turn_extras(trajectory, done),
            )


def _history(trajectory: Trajectory) -> History:
    if trajectory.turn_history is not None:
        try:
            done = parse(trajectory.turn_history, History)
        except BrokenError as error:
            raise BrokenError(error.reason, field=f"turn_history.{error.field}") from error
    else:
        steps = trajectory.trajectory or []
        final = [*([None] * (len(steps) - 1)), trajectory.reward] if steps else []
        done = History([step.action for step in steps], [step.observation for step in steps], final)
    count = len(done.actions)
    for name, values in (("observations", done.observations), ("rewards", done.rewards)):
        if len(values) not in {0, count}:
            raise BrokenError(
                f"has {counted(len(values), 'entry')} for {counted(count, 'action')}", field=f"turn_history.{name}"
            )
    return done


def _turns(query: str, done: History) -> list[Turn]:
    if not done.actions:
        return [Turn(turn=None, prompt=query)]
    count = len(done.actions)
    seen = [worded(value) for value in done.observations] or [None] * count
    rewards = done.rewards or [None] * count
    turns = [
        Turn(turn=number, prompt=prompt, response=action, reward=reward)
        for number, (prompt, action, reward) in enumerate(
            zip([query, *seen[:-1]], done.actions, rewards, strict=True), start=1
        )
    ]
    turns[-1] = turns[-1]._replace(observation=seen[-1])
    return turns


def _best(trajectory: Trajectory, summary: Summary, done: History) -> float | None:
    if summary.max_reward is not None:
        return summary.max_reward
    known = [reward for reward in (*done.rewards, trajectory.reward) if reward is not None]
    return max(known, default=None)


def _ending(best: float | None, summary: Summary) -> str:
    if best == 1:
        return SUCCESS
    taken, most = summary.turns_taken, summary.turns_max
    return BUDGET if taken is not None and most is not None and taken >= most else FINISHED


def _task(trajectory: Trajectory) -> str | None:
    where = trajectory.dataset or trajectory.environment
    which = trajectory.task_id if trajectory.task_id is not None else trajectory.query_idx
    return None if which is None else f"{where}/{which}"


def _extras(record: dict[str, Any], trajectory: Trajectory, done: History) -> dict[str, Any]:
    summary = trajectory.summary or {}
    history = leftovers(trajectory.turn_history or {}, History)
    return {
        "environment": trajectory.environment,
        "dataset": trajectory.dataset,
        **{f"summary_{name}" if name in record else spare(name): value for name, value in summary.items()},
        **{f"turn_history_{name}": value for name, value in history.items() if not _per_turn(value, done)},
        **leftovers(record, Trajectory),
    }


def _turn_extras(trajectory: Trajectory, done: History) -> dict[str, list[Any]]:
    history = leftovers(trajectory.turn_history or {}, History)
    return {name: value for name, value in history.items() if value and _per_turn(value, done)}


def _per_turn(value: Any, done: History) -> bool:
    return isinstance(value, list) and len(value) == len(done.actions)
