"""tau-bench: simulated users and the agent that serves them.

- File: `<strategy>-<model>-<time>.json`, a list of simulations, or one of them.
- Format: https://github.com/sierra-research/tau-bench
- Checked on: its historical trajectories of gpt-4o on the airline tasks, and one simulation of docent.
- Lost: nothing.
"""

from typing import Any, NotRequired, Required

from rollwise.readers.chats.turns import Message
from rollwise.readers.common import solved_by
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record
from rollwise.readers.records import Key, Small, parse
from rollwise.readers.sources.shapes import Shapes
from rollwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK, TARGET_ENDED

STOP = "###STOP###"  # the user's message that ends a conversation
TRANSFER = "transfer_to_human_agents"  # the tool that ends a conversation
SHAPES = Shapes({"task_id", "reward", "traj"}, kinds=("json",))


def _trial(record: Record) -> int:
    """`trial`, else 0."""
    return parse(record["trial"] or 0, int, "trial")


def _ending(record: Record) -> str:
    """Last message of `traj`, unless there is an `info.error`."""
    if record["info.error"] is not None:
        return ERROR
    # tau-bench does not record why it stopped: the last message shows it.
    last = record["traj"][-1] if record["traj"] else Message("")
    if last.role == "user" and isinstance(last.content, str) and STOP in last.content:
        return FINISHED
    return TARGET_ENDED if last.role == "tool" and last.name in {TRANSFER, None} else BUDGET


def _of_info(record: Record) -> dict[str, Any]:
    """Return the columns of `info`."""
    fields = {name: value for name, value in (record["info"] or {}).items() if name != "error"}
    cost = {"user_cost": fields.pop("user_cost")} if "user_cost" in fields else {}
    return {**cost, **{f"info_{name}": value for name, value in fields.items()}}


TAU_BENCH = RecordMapping(
    module=__name__,
    doc="""Read each simulation as a rollout; a turn is one assistant message, which often has only tool calls and no text.

{fields}

The file has no name of its own. Without an attack, `goal` and `outcome` are null. `ending` is `finished` where the last
message is ``###STOP###`` of the user, `target_ended` where it is the result of the tool that transfers to a human, else
`budget` (the steps ran out, no matter who spoke last). Only the name of the file holds the target, so give it:
``read(path, target="gpt-4o")``. `user_cost`, the price of the simulated user, is a column, as are the other fields of `info`
with ``info_`` before them; objects are JSON text.

The producer judges the `whole_rollout`, and the user's task, not an attack.""",
    rollout=["task_id", _trial],
    facts={
        "attack": {"value": NO_ATTACK},
        "task": "task_id",
        "attempt": {"by": lambda record: _trial(record) + 1, "in_file": "`trial`, else 0", "note": "from 1"},
        "ending": {"by": _ending, "note": "error, `finished`, `target_ended` or `budget`"},
    },
    turns="traj",
    last={"reward": {"from": "reward", "note": "null beside an error"}, "error": "info.error"},
    # A simulation that raised an error has the reward 0 of tau-bench's runner.
    crashed=lambda record: record["info.error"] is not None,
    verdicts=[
        {
            "of": "task",
            "by": lambda record: solved_by(record["reward"]),
            "in_file": "`reward`",
            "note": "whether it is 1 within 1e-6",
        }
    ],
    columns={"*": _of_info},
    fields={
        "task_id": Key,
        "trial": NotRequired[Small],
        "reward": Required[float | None],
        "traj": list[Message],
        "info": dict[str, Any] | None,
    },
)
