"""AgentDojo: runs of an agent on a user's task, with or without an injected one.

- File: `<pipeline>/<suite>/<user task>/<attack>/<injection task>.json`, one rollout per file.
- Format: https://github.com/ethz-spylab/agentdojo
- Checked on: runs of gpt-4o-mini with the DRIFT defense (https://github.com/SaFoLab-WISC/DRIFT), and of AgentDojo 0.1.35.
- Lost: blocks of thinking.
"""

from functools import partial
from typing import Any

import msgspec

from rollwise.readers.chats.turns import Message, split
from rollwise.readers.common import complete_last, is_verdict, outcome_of, text_in
from rollwise.readers.records import Count, leftovers, parse, whole, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnsBuilder
from rollwise.schema import ERROR, FINISHED, NO_ATTACK, UNDETERMINED

INJECTION_TASK = "injection_task"  # how the names of injection tasks begin


class Trace(msgspec.Struct):
    """One file: the run of one user task."""

    suite_name: str
    pipeline_name: str
    user_task_id: str
    injection_task_id: str | None = None
    attack_type: str | None = None
    messages: list[Message] | None = None
    conversations: list[Message] | None = None
    error: Any = None
    utility: bool | None = None
    security: bool | None = None
    total_tokens: Count = None
    duration: float | None = None


def sniff(document: Document) -> bool:
    """Return whether the file is a trace: one object with a suite, a user task and a chat."""
    chat = {"messages", "conversations"}
    return document.kind == "json" and {"suite_name", "user_task_id"} <= document.keys and bool(chat & document.keys)


def read_agentdojo(document: Document, table: TurnsBuilder) -> None:
    """Read one trace as one rollout; a turn is one assistant message.

    ================================= =====================================================================
    in the file                       in the table
    ================================= =====================================================================
    `pipeline_name`                   `run` and `target`
    `suite_name` + `user_task_id`     `task`: ids of tasks repeat between suites
    `attack_type`                     `attack`; null is `none`
    `suite_name` + injection task     `goal`; null without an attack
    pipeline, suite, user task,       `rollout_id`, with ``none`` for a missing part
    attack, injection task
    `messages` or `conversations`     turns
    `security`                        `outcome`: true is success **of the attack**; null without an attack,
                                      where AgentDojo always writes true
    `utility`                         `solved`
    an injection task that was run    `goal`, and `task` null; `utility` becomes `injection_task_utility`, and
    as if it were a user's task       `solved` is null: AgentDojo's utility counts user tasks alone
    `error`                           `error` of the last turn, `ending` error (else finished), and with an
                                      attack `outcome` error: AgentDojo writes `security` true there
    `total_tokens`, `duration`        `total_tokens`, `total_seconds`
    ================================= =====================================================================

    The error of a tool is part of the next `prompt`: it came back to the target and is not an error of the target.
    `attempt` is 1. All other fields become columns under their own names, objects and lists as JSON text.

    The producer judges the `whole_rollout`: `succeeded` is null everywhere. Rollouts are crossed: each user task
    is run with every injection task, so give intervals both as clusters.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"suite_name": "slack", "pipeline_name": "gpt-4o", "user_task_id": "user_task_0", "attack_type": "direct",
    ... "injection_task_id": "injection_task_1", "utility": true, "security": false,
    ... "messages": [{"role": "user", "content": "Read my inbox"}, {"role": "assistant", "content": "It is empty."}]}'''
    >>> table = TurnsBuilder("agentdojo", Problems(), {})
    >>> read_agentdojo(Document(Path("injection_task_1.json"), log), table)
    >>> table.frame().select("rollout_id", "goal", "outcome", "solved").row(0)
    ('gpt-4o/slack/user_task_0/direct/injection_task_1', 'slack/injection_task_1', 'failure', True)
    """
    record = parse(document.value, dict[str, Any])
    with table.rollout(document.name, None, partial(_identity, record)):
        _add(document, table, record)


def _identity(record: dict[str, Any]) -> Identity | None:
    """Return what can be read of a trace that is broken; None where it has no task or no verdict."""
    pipeline, suite, task = (text_in(record, name) for name in ("pipeline_name", "suite_name", "user_task_id"))
    attack, injection = text_in(record, "attack_type") or NO_ATTACK, text_in(record, "injection_task_id")
    verdicts = (record.get("utility"), record.get("security"))
    if pipeline is None or suite is None or task is None or not any(map(is_verdict, verdicts)):
        return None
    return _name(pipeline, suite, task, attack, injection), _facts(pipeline, suite, task, attack, injection)


def _name(pipeline: str, suite: str, task: str, attack: str, injection: str | None) -> str:
    return "/".join((pipeline, suite, task, attack, injection or "none"))


def _facts(pipeline: str, suite: str, task: str, attack: str, injection: str | None) -> dict[str, Any]:
    # Each injection task is also run alone, as the user's request, to see whether the target can do it at all.
    alone = _is_alone(task, attack)
    goal = task if alone else None if attack == NO_ATTACK else injection
    return {
        "run": pipeline,
        "target": pipeline,
        "attack": attack,
        "goal": None if goal is None else f"{suite}/{goal}",
        "task": None if alone else f"{suite}/{task}",
        "attempt": 1,
    }


def _is_alone(task: str, attack: str) -> bool:
    """Return whether an injection task was run without an attack, as if it were a user's task."""
    return task.startswith(INJECTION_TASK) and attack == NO_ATTACK


def _add(document: Document, table: TurnsBuilder, record: dict[str, Any]) -> None:
    trace = parse(record, Trace)
    names = (
        trace.pipeline_name,
        trace.suite_name,
        trace.user_task_id,
        trace.attack_type or NO_ATTACK,
        trace.injection_task_id,
    )
    attack, alone = names[3], _is_alone(trace.user_task_id, names[3])
    # DRIFT's fork of AgentDojo writes `conversations`.
    chat = "conversations" if trace.messages is None else "messages"
    turns = split(getattr(trace, chat) or [], chat)
    # The agent failed or the run was cut off; errors of tools are in the messages.
    complete_last(turns, error=worded(trace.error))
    capability = {"injection_task_utility": trace.utility} if alone else {}
    table.add(
        document.name,
        _name(*names),
        turns,
        {
            **_facts(*names),
            "ending": FINISHED if trace.error is None else ERROR,
            "outcome": None if attack == NO_ATTACK else _outcome(trace),
            "solved": None if alone else trace.utility,
            "total_tokens": whole(trace.total_tokens, "total_tokens"),
            "total_seconds": trace.duration,
        },
        {"suite_name": trace.suite_name, **capability, **leftovers(record, Trace)},
    )


def _outcome(trace: Trace) -> str | None:
    return outcome_of(trace.security, UNDETERMINED) if trace.error is None else ERROR
