"""MINT results: multi-turn use of tools, one line for each task."""

import re
from typing import Any

import msgspec

from turnwise.readers.chats.turns import Message, split
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Count, Key, leftovers, parse, whole, worded
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table
from turnwise.schema import BUDGET, ERROR, NO_ATTACK, SUCCESS

ENDINGS = {"task_success": SUCCESS, "max_steps": BUDGET, "max_propose_steps": BUDGET, "error": ERROR}
PATH = re.compile(
    r"(?P<model>[^/]+)/F=(?P<feedback>[^/]+)/(?:PHF=(?P<feedback_setting>[^/]+)/)?"
    r"max(?P<k>\d{1,9})_p(?P<proposals>\d{1,9})(?P<tools>[^/]*)/(?P<category>[^/]+)/(?P<task>[^/]+)/[^/]+\Z"
)


class Line(msgspec.Struct):
    """One line of a file."""

    state: dict[str, Any]
    task: dict[str, Any]


class Tokens(msgspec.Struct):
    """Token counts of a run."""

    total_tokens: Count = None


class Used(msgspec.Struct):
    """Position of the token counts."""

    token_counter: Tokens | None = None


class State(msgspec.Struct):
    """State of a run."""

    history: list[Message]
    success: bool | None = None
    terminate_reason: str | None = None
    error: Any = None


class Task(msgspec.Struct):
    """Task of a run."""

    task_id: Key
    task_name: str | None = None
    reference: Any = None


KNOWN = Task.__struct_encode_fields__


def sniff(document: Document) -> bool:
    """Return whether the file holds runs: lines with a `state`, which has a history, and a `task`."""
    lines = document.kind in {"lines", "json"} and {"state", "task"} <= document.keys
    return lines and b'"history"' in document.head


def read_mint(document: Document, table: Table) -> None:
    r"""The runs of one file into rollouts; a turn is one assistant message.

    ========================== ===========================================================================
    in the file                in the table
    ========================== ===========================================================================
    hash of the content        `run`: the log has no name of its own
    run, `task_id`             `rollout_id`
    folders of the file:       ``<model>/F=<feedback>/[PHF=<setting>/]max<k>_p<proposals>.../<category>/<task>/``
    model, category            `target`, `category`
    k, proposals, feedback,    columns of these names: most turns, most proposed solutions, who gave feedback
    feedback_setting           (``none`` for no one) and of which kind; all null where the folders are others
    <task> + `task_id`         `task`; where the folder is another, `task_name` + `task_id`
    `reference`                `expected`
    `history`                  turns; the first `prompt` holds an example of a whole solution
    `success`                  `solved`
    `terminate_reason`         `ending`: task_success is success, max_steps and max_propose_steps budget, error
                               error; an unknown reason is null, and kept as it stands
    `error`                    `error` of the last turn
    `token_counter`            `total_tokens`
    ========================== ===========================================================================

    `attack` is `none`, so `goal` and `outcome` are null; `attempt` is 1. Folders are those of the file's absolute
    path, wherever the reading began. What else `state` holds is kept under its own name, what `task` holds with
    ``task_`` before it (`task_prompt` is the question alone), objects and lists as JSON text. A run with another k is
    another run and not a longer one; the same tasks are in all of them.

    The producer judges the `whole_rollout`, and the user's task, not an attack.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> path = Path("/logs/parrot-1/F=None/max5_p2+tool+cd/reasoning/gsm8k/results.jsonl")
    >>> log = b'''{"state": {"history": [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}],
    ... "success": true, "terminate_reason": "task_success"}, "task": {"task_id": 7, "reference": "4"}}'''
    >>> table = Table("mint", Problems(), {})
    >>> read_mint(Document(path, log.replace(b"\n", b" ")), table)
    >>> table.frame().select("target", "task", "k", "feedback", "response", "solved").row(0)
    ('parrot-1', 'gsm8k/7', 5, 'none', '4', True)
    """
    run = f"mint-{document.digest}"
    place = _place(document)
    for number, value in document.records():
        with table.record(document.name, number):
            if isinstance(value, BrokenError):
                raise value
            line = parse(value, Line)
            state, task = parse(line.state, State, "state"), parse(line.task, Task, "task")
            turns = split(state.history, "state.history")
            turns[-1] = turns[-1]._replace(error=worded(state.error))
            where = place["task"] or task.task_name
            table.add(
                document.name,
                f"{run}/{task.task_id}",
                turns,
                {
                    "run": run,
                    "target": place["model"],
                    "attack": NO_ATTACK,
                    "task": str(task.task_id) if where is None else f"{where}/{task.task_id}",
                    "category": place["category"],
                    "attempt": 1,
                    "expected": worded(task.reference),
                    "ending": ENDINGS.get(state.terminate_reason or ""),
                    "solved": state.success,
                    "total_tokens": _tokens(line.state),
                },
                {
                    **{name: place[name] for name in ("k", "proposals", "feedback", "feedback_setting")},
                    "terminate_reason": state.terminate_reason,
                    "task_name": task.task_name,
                    **leftovers(line.state, State),
                    **{f"task_{name}": value for name, value in line.task.items() if name not in KNOWN},
                },
            )


def _tokens(state: dict[str, Any]) -> int | None:
    used = parse(state, Used, "state").token_counter
    return None if used is None else whole(used.total_tokens, "state.token_counter.total_tokens")


def _place(document: Document) -> dict[str, Any]:
    """Return what the folders of the file say about its runs; all null where they are not MINT's."""
    found = PATH.search(document.path.absolute().as_posix())
    place: dict[str, Any] = dict.fromkeys(PATH.groupindex) if found is None else found.groupdict()
    for name in ("k", "proposals"):
        place[name] = None if place[name] is None else int(place[name])
    return place | {"feedback": "none" if place["feedback"] == "None" else place["feedback"]}
