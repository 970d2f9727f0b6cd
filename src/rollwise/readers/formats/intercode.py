"""InterCode: code actions of an agent or a human in an environment that answers and rewards each action.

- File: `<environment>_<strategy>_<model>.json`, one object of trajectories.
- Format: https://github.com/princeton-nlp/intercode
- Checked on: trajectories in bash, SQL and CTF, of agents and of humans, from InterCode's repository.
- Lost: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rollwise.errors import counted
from rollwise.readers.common import first_of
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record, once
from rollwise.readers.problems import BrokenError, nulled
from rollwise.readers.records import Key, leftovers, parse, spare, worded
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow
from rollwise.schema import BUDGET, FINISHED, NO_ATTACK, SUCCESS

SHAPES = Shapes({"environment", "query"}, any_of={"turn_history", "trajectory"}, at="inner", kinds=("json",))
LISTS = ("observations", "rewards")  # which have an item for each action


class History(msgspec.Struct):
    """The actions of an agent, as lists with an item for each action."""

    actions: list[str | None]
    observations: list[Any] = []
    rewards: list[float | None] = []

    def by_action(self, name: str) -> list[Any]:
        """Return the items of a list, one for each action: null where they do not go together."""
        values: list[Any] = getattr(self, name)
        return values if len(values) == len(self.actions) else [None] * len(self.actions)


class Summary(msgspec.Struct):
    """InterCode's own summary of a trajectory."""

    max_reward: float | None = None
    turns_taken: float | None = None
    turns_max: float | None = None


class Step(msgspec.Struct):
    """One action of a human."""

    action: str | None = None
    observation: Any = None


@once
def _history(record: Record) -> History:
    """Return the actions of an agent or a human in one form."""
    if record["turn_history"] is not None:
        return parse(record["turn_history"], History, "turn_history")
    # A human's log lists actions with their observations; its one reward is that of the end.
    steps: list[Step] = record["trajectory"] or []
    final = [*([None] * (len(steps) - 1)), record["reward"]] if steps else []
    return History([step.action for step in steps], [step.observation for step in steps], final)


@once
def _unpaired(record: Record) -> list[str]:
    """Return the lists that lack an entry; an empty one means that the log does not record them.

    Which action such a list has no entry for is unknown: it is a problem, and what belongs to the turns is null.
    """
    history, unpaired = _history(record), []
    for name in LISTS:
        size, count = len(getattr(history, name)), len(history.actions)
        if size not in {0, count}:
            reason = f"has {counted(size, 'entry')} for {counted(count, 'action')}"
            if not nulled(f"turn_history.{name}", reason):
                raise BrokenError(reason, field=f"turn_history.{name}")
            unpaired.append(name)
    return unpaired


@once
def _summary(record: Record) -> Summary:
    return parse(record["summary"] or {}, Summary)


@once
def _best(record: Record) -> float | None:
    if _summary(record).max_reward is not None:
        return _summary(record).max_reward
    rewards = [reward for reward in (*_history(record).rewards, record["reward"]) if reward is not None]
    return max(rewards, default=None)


def _run(record: Record) -> str | None:
    """`environment`, hash of the content."""
    # The environment is named in each trajectory, and is the same in a file.
    environment, facts = record["environment"], record.around.found
    if isinstance(environment, str):
        facts.setdefault("run", f"{environment}-{record.around.document.digest}")
    return facts.get("run")


def _task(record: Record) -> str | None:
    """`dataset` + `task_id`; in a human's log, `environment` + `query_idx`."""
    source, task = record["dataset"] or record["environment"], first_of(record["task_id"], record["query_idx"])
    return f"{source}/{task}" if isinstance(source, str) and task is not None else None


def _ending(record: Record) -> str:
    """`summary`."""
    if _best(record) == 1:
        return SUCCESS
    count, limit = _summary(record).turns_taken, _summary(record).turns_max
    return BUDGET if count is not None and limit is not None and count >= limit else FINISHED


def _turns(record: Record) -> tuple[list[TurnRow], Mapping[str, Sequence[Any]]]:
    """`query`, and `turn_history` or `trajectory`."""
    history, _ = _history(record), _unpaired(record)
    further = leftovers(record["turn_history"] or {}, History)
    columns = {name: value for name, value in further.items() if value and _is_of_turns(value, history)}
    if not history.actions:
        return [TurnRow(turn=None, prompt=record["query"])], columns
    # The prompt of a turn is the observation after the action before it.
    results = [worded(value) for value in history.by_action("observations")]
    turns = [
        TurnRow(turn=number, prompt=prompt, response=action, reward=reward)
        for number, (prompt, action, reward) in enumerate(
            zip([record["query"], *results[:-1]], history.actions, history.by_action("rewards"), strict=True), start=1
        )
    ]
    turns[-1] = turns[-1]._replace(observation=results[-1])
    return turns, columns


def _columns(record: Record) -> dict[str, Any]:
    """Return the fields of the summary, and lists of the history that are not of its turns."""
    history, further = _history(record), leftovers(record["turn_history"] or {}, History)
    of_history = {name: value for name, value in further.items() if not _is_of_turns(value, history)}
    of_history |= {name: getattr(history, name) for name in _unpaired(record)}
    # A field that the summary shares with the trajectory keeps a prefix, so that neither is lost.
    summary = (record["summary"] or {}).items()
    return {
        **{f"summary_{name}" if name in record.raw else spare(name): value for name, value in summary},
        **{f"turn_history_{name}": value for name, value in of_history.items()},
    }


def _is_of_turns(value: Any, history: History) -> bool:
    """Return whether a value of the history is a list with an item for each action."""
    return isinstance(value, list) and len(value) == len(history.actions)


INTERCODE = RecordMapping(
    module=__name__,
    doc="""Read each trajectory as a rollout; a turn is one action.

{fields}

`run` is such as ``ic_bash-1a2b3c4d``, with a hash of the file's content. Its key names a rollout, since several tasks share a
`query`, which is the `prompt` of turn 1. An item of `observations` is the `prompt` of the next turn; of the last action it is
the `observation`; `actions` and `rewards` are `response` and `reward`.
`goal` and `outcome` are null. `ending` is `success` where a reward is 1, `budget` where `turns_taken` has reached `turns_max`,
else `finished` (as where the log names no `turns_max`).
A human's log has `trajectory` and one final reward, which goes to the last turn. Other lists with an item for each
action (`valid_action`, `thoughts`, `steps`) become columns of the turn; all other fields become columns of the rollout.

The producer judges `every_turn`, by a reward for the user's task; without an attack, `succeeded` is null.
Only the name of the file holds the target, so give it: ``read(path, target="gpt-4")``.""",
    records="{*}",
    run=_run,
    rollout=[{"from": "@key", "in_file": "key of the object"}],
    facts={
        "attack": {"value": NO_ATTACK},
        "task": _task,
        "attempt": {"value": 1},
        "expected": "gold",
        "ending": {"by": _ending, "note": "success, budget or finished"},
    },
    turns=_turns,
    verdicts=[
        {
            "of": "task",
            "by": lambda record: None if _best(record) is None else _best(record) == 1,
            "in_file": "`summary.max_reward`, else the best reward",
            "note": "whether it is 1",
        }
    ],
    signs=["summary.max_reward", "reward", "turn_history.rewards"],
    columns={"environment": "environment", "dataset": "dataset", "*": _columns},
    fields={
        "environment": str,
        "query": str,
        "dataset": str | None,
        "task_id": Key | None,
        "query_idx": Key | None,
        "turn_history": dict[str, Any] | None,
        "trajectory": list[Step] | None,
        "summary": dict[str, Any] | None,
        "reward": float | None,
        "gold": Any,
    },
)
