"""MINT: multi-turn use of tools, with or without language feedback.

- File: `<model>/F=<feedback>/.../max<k>_p<proposals>.../<category>/<task>/results.jsonl`, one line per task.
- Format: https://github.com/xingyaoww/mint-bench
- Checked on: results of gpt-3.5-turbo-0613, without feedback and with that of GPT-4.
- Lost: counts of tokens other than their total.
"""

import re
from typing import Any

from rollwise.readers.chats.turns import Message
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record
from rollwise.readers.records import Key, spare
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.schema import BUDGET, ERROR, NO_ATTACK, SUCCESS

FOLDERS = re.compile(
    r"(?P<model>[^/]+)/F=(?P<feedback>[^/]+)/(?:PHF=(?P<feedback_setting>[^/]+)/)?"
    r"max(?P<k>\d{1,9})_p(?P<proposals>\d{1,9})(?P<tools>[^/]*)/(?P<category>[^/]+)/(?P<task>[^/]+)/[^/]+\Z"
)
STATE = frozenset({"history", "success", "terminate_reason", "error"})  # what rules read of a state, and of a task
TASK = frozenset({"task_id", "task_name", "reference"})
SHAPES = Shapes({"state", "task"}, contains=(b'"history"',))


def _folders(document: Document) -> dict[str, Any]:
    """Return the settings in the folders of the file; all null where the folders are not MINT's."""
    # The settings of a run are only in the names of its folders.
    match = FOLDERS.search(document.path.absolute().as_posix())
    settings: dict[str, Any] = dict.fromkeys(FOLDERS.groupindex) if match is None else match.groupdict()
    for name in ("k", "proposals"):
        settings[name] = None if settings[name] is None else int(settings[name])
    return settings | {"feedback": "none" if settings["feedback"] == "None" else settings["feedback"]}


def _of_state(record: Record) -> dict[str, Any]:
    """Return the other fields of `state`."""
    return {spare(name): value for name, value in record.raw["state"].items() if name not in STATE}


def _of_task(record: Record) -> dict[str, Any]:
    """Return the other fields of `task`."""
    return {name: value for name, value in record.raw["task"].items() if name not in TASK}


MINT = RecordMapping(
    module=__name__,
    doc="""Read each line as a rollout; a turn is one assistant message.

{fields}

The file has no name of its own. Folders are ``<model>/F=<feedback>/[PHF=<setting>/]max<k>_p<proposals>.../<category>/<task>/``,
read from the file's absolute path; what they say is null in other folders. `k` is the maximum of turns, `proposals` that of
proposed solutions, `feedback` the model that gave feedback (or ``none``), `feedback_setting` its kind. The first `prompt`
includes an example of a complete solution. Without an attack, `goal` and `outcome` are null.
Other fields of `state` become columns under their own names, fields of `task` with ``task_`` before them (`task_prompt`
is the question alone), objects and lists as JSON text. Runs with different k hold the same tasks, solved anew: a run
with a larger k is not the continuation of one with a smaller k.

The producer judges the `whole_rollout`, and the user's task, not an attack.""",
    around=_folders,
    rollout=["task.task_id"],
    facts={
        "target": {"from": "@model", "in_file": "folder of the model"},
        "attack": {"value": NO_ATTACK},
        "task": {
            "by": [
                {"from": ["@task", "task.task_name"], "in_file": "folder of the task, else `task.task_name`"},
                "task.task_id",
            ]
        },
        "category": {"from": "@category", "in_file": "folder of the category"},
        "attempt": {"value": 1},
        "expected": "task.reference",
        "ending": {
            "from": "state.terminate_reason",
            "words": {"task_success": SUCCESS, "max_steps": BUDGET, "max_propose_steps": BUDGET, "error": ERROR},
        },
        "total_tokens": "state.token_counter.total_tokens",
    },
    turns="state.history",
    last={"error": "state.error"},
    verdicts=[{"of": "task", "from": "state.success"}],
    columns={
        **{
            name: {"from": f"@{name}", "in_file": "other folders"}
            for name in ("k", "proposals", "feedback", "feedback_setting")
        },
        "terminate_reason": "state.terminate_reason",
        "task_name": "task.task_name",
        "*": _of_state,
        "task_*": {"by": _of_task, "in_file": "other fields of `task`"},
    },
    fields={
        "state.history": list[Message],
        "state.success": bool | None,
        "state.terminate_reason": str | None,
        "state.error": Any,
        "task.task_id": Key,
        "task.task_name": str | None,
        "task.reference": Any,
    },
)
