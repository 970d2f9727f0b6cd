"""MINT: multi-turn use of tools, with or without language feedback.

- File: `<model>/F=<feedback>/.../max<k>_p<proposals>.../<category>/<task>/results.jsonl`, one line per task.
- Format: https://github.com/xingyaoww/mint-bench
- Checked on: results of gpt-3.5-turbo-0613, without feedback and with that of GPT-4.
- Lost: counts of tokens other than their total.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from rollwise.readers.chats.turns import Message, split
from rollwise.readers.common import complete_last, has_fields, is_verdict, text_in
from rollwise.readers.records import Count, Key, inner, leftovers, parse, whole, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnsBuilder
from rollwise.schema import BUDGET, ERROR, NO_ATTACK, SUCCESS

ENDINGS = {"task_success": SUCCESS, "max_steps": BUDGET, "max_propose_steps": BUDGET, "error": ERROR}
FOLDERS = re.compile(
    r"(?P<model>[^/]+)/F=(?P<feedback>[^/]+)/(?:PHF=(?P<feedback_setting>[^/]+)/)?"
    r"max(?P<k>\d{1,9})_p(?P<proposals>\d{1,9})(?P<tools>[^/]*)/(?P<category>[^/]+)/(?P<task>[^/]+)/[^/]+\Z"
)


class Line(msgspec.Struct):
    """One line: the state of a run, and its task."""

    state: dict[str, Any]
    task: dict[str, Any]


class Tokens(msgspec.Struct):
    """Token counts of a run."""

    total_tokens: Count = None


class TokenState(msgspec.Struct):
    """The part of the state with the token counts."""

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


TASK_FIELDS = Task.__struct_encode_fields__


def sniff(document: Document) -> bool:
    """Return whether the file holds runs: lines with a `state`, which has a history, and a `task`."""
    return has_fields(document, "state", "task") and b'"history"' in document.head


def read_mint(document: Document, table: TurnsBuilder) -> None:
    r"""Read each line as a rollout; a turn is one assistant message.

    ========================== ===========================================================================
    in the file                in the table
    ========================== ===========================================================================
    hash of the content        `run`: the file has no name of its own
    run, `task_id`             `rollout_id`
    folders of the file:       ``<model>/F=<feedback>/[PHF=<setting>/]max<k>_p<proposals>.../<category>/<task>/``
    model, category            `target`, `category`
    k, proposals, feedback,    columns of these names: maximum of turns, maximum of proposed solutions, model
    feedback_setting           that gave feedback (or ``none``), kind of feedback; null in other folders
    <task> + `task_id`         `task`; in other folders, `task_name` + `task_id`
    `reference`                `expected`
    `history`                  turns; the first `prompt` includes an example of a complete solution
    `success`                  `solved`
    `terminate_reason`         `ending`: task_success is success, max_steps and max_propose_steps budget, error
                               error; an unknown reason is null, and `terminate_reason` keeps it
    `error`                    `error` of the last turn
    `token_counter`            `total_tokens`
    ========================== ===========================================================================

    `attack` is `none`, so `goal` and `outcome` are null; `attempt` is 1. Folders are read from the file's absolute path.
    Other fields of `state` become columns under their own names, fields of `task` with ``task_`` before them (`task_prompt`
    is the question alone), objects and lists as JSON text. Runs with different k hold the same tasks, solved anew: a run
    with a larger k is not the continuation of one with a smaller k.

    The producer judges the `whole_rollout`, and the user's task, not an attack.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> path = Path("/logs/parrot-1/F=None/max5_p2+tool+cd/reasoning/gsm8k/results.jsonl")
    >>> log = b'''{"state": {"history": [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}],
    ... "success": true, "terminate_reason": "task_success"}, "task": {"task_id": 7, "reference": "4"}}'''
    >>> table = TurnsBuilder("mint", Problems(), {})
    >>> read_mint(Document(path, log.replace(b"\n", b" ")), table)
    >>> table.frame().select("target", "task", "k", "feedback", "response", "solved").row(0)
    ('parrot-1', 'gsm8k/7', 5, 'none', '4', True)
    """
    run = f"mint-{document.digest}"
    folders = _folders(document)
    for number, value in document.records():
        with table.rollout(document.name, number, partial(_identity, run, folders, value)):
            line = parse(value, Line)
            state, task = parse(line.state, State, "state"), parse(line.task, Task, "task")
            # The history includes the messages of the user and the feedback of the other model.
            turns = split(state.history, "state.history")
            complete_last(turns, error=worded(state.error))
            source = folders["task"] or task.task_name
            table.add(
                document.name,
                f"{run}/{task.task_id}",
                turns,
                {
                    "run": run,
                    "target": folders["model"],
                    "attack": NO_ATTACK,
                    "task": str(task.task_id) if source is None else f"{source}/{task.task_id}",
                    "category": folders["category"],
                    "attempt": 1,
                    "expected": worded(task.reference),
                    "ending": ENDINGS.get(state.terminate_reason or ""),
                    "solved": state.success,
                    "total_tokens": _tokens(line.state),
                },
                {
                    **{name: folders[name] for name in ("k", "proposals", "feedback", "feedback_setting")},
                    "terminate_reason": state.terminate_reason,
                    "task_name": task.task_name,
                    **leftovers(line.state, State),
                    **{f"task_{name}": value for name, value in line.task.items() if name not in TASK_FIELDS},
                },
            )


def _identity(run: str, folders: Mapping[str, Any], record: Any) -> Identity | None:
    """Return what can be read of a line that is broken; None where it has no task or no verdict."""
    task = inner(record, "task", "task_id")
    if not isinstance(task, str | int) or not is_verdict(inner(record, "state", "success")):
        return None
    source = folders["task"] or text_in(record, "task", "task_name")
    return f"{run}/{task}", {
        "run": run,
        "target": folders["model"],
        "attack": NO_ATTACK,
        "task": str(task) if source is None else f"{source}/{task}",
        "category": folders["category"],
        "attempt": 1,
    }


def _tokens(state: dict[str, Any]) -> int | None:
    counter = parse(state, TokenState, "state").token_counter
    return None if counter is None else whole(counter.total_tokens, "state.token_counter.total_tokens")


def _folders(document: Document) -> dict[str, Any]:
    """Return the settings in the folders of the file; all null where the folders are not MINT's."""
    # The settings of a run are only in the names of its folders.
    match = FOLDERS.search(document.path.absolute().as_posix())
    settings: dict[str, Any] = dict.fromkeys(FOLDERS.groupindex) if match is None else match.groupdict()
    for name in ("k", "proposals"):
        settings[name] = None if settings[name] is None else int(settings[name])
    return settings | {"feedback": "none" if settings["feedback"] == "None" else settings["feedback"]}
