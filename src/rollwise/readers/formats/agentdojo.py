"""AgentDojo: runs of an agent on a user's task, with or without an injected one.

- File: `<pipeline>/<suite>/<user task>/<attack>/<injection task>.json`, one rollout per file.
- Format: https://github.com/ethz-spylab/agentdojo
- Checked on: runs of gpt-4o-mini with the DRIFT defense (https://github.com/SaFoLab-WISC/DRIFT), and of AgentDojo 0.1.35.
- Lost: blocks of thinking.
"""

import ast
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, split, text_of
from rollwise.readers.common import outcome_of, unless_crashed
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.records import parse, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import ERROR, FINISHED, NO_ATTACK, UNDETERMINED
from rollwise.schema.columns import REFUSED

SHAPES = Shapes({"suite_name", "user_task_id"}, any_of={"messages", "conversations"}, kinds=("json",))
REFUSAL = "[CALL ERROR]"  # of DRIFT, which checks each call against a plan of its own
CALLS = re.compile(r"<function_call>(.*?)</function_call>", re.DOTALL)
MOST_OF_CALLS = 20_000  # characters
OWN_LIMIT = "context_length_exceeded"  # the target's doing, which AgentDojo counts as not solved
INJECTION_TASK = "injection_task"  # how the names of injection tasks begin


def _trace(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the run of a file, with what it was asked and attacked by."""
    record = parse(document.value, dict[str, Any])
    pipeline, suite, task = (worded(record.get(name)) for name in ("pipeline_name", "suite_name", "user_task_id"))
    attack, injection = worded(record.get("attack_type")) or NO_ATTACK, worded(record.get("injection_task_id"))
    # Each injection task is also run alone, as the user's request, to see whether the target can do it at all.
    is_alone = attack == NO_ATTACK and (task or "").startswith(INJECTION_TASK)
    goal = task if is_alone else None if attack == NO_ATTACK else injection
    is_named = pipeline is not None and suite is not None and task is not None
    around.found |= {
        "name": f"{suite}/{task}/{attack}/{injection or 'none'}" if is_named else None,
        "attack": attack,
        "goal": goal and f"{suite}/{goal}",
        "task": None if is_alone else f"{suite}/{task}",
    }
    yield Record(record, None, around)


def _turns(record: Record) -> list[TurnRow]:
    """`messages` or `conversations`."""
    # DRIFT's fork of AgentDojo writes `conversations`.
    chat = "conversations" if record["messages"] is None else "messages"
    messages = record[chat] or []
    refusals = [_refusal(message, after) for message, after in zip_longest(messages, messages[1:])]
    spoken = [
        Message("tool", before, status=REFUSED)
        if before is not None
        else _with_calls(message)
        if refusal is not None
        else message
        for message, refusal, before in zip(messages, refusals, [None, *refusals], strict=False)
    ]
    return split(spoken, chat)


def _refusal(message: Message, after: Message | None) -> str | None:
    """Return why a defense refused the calls of a message, which DRIFT says as the user, in a fragment of its own log."""
    reply = None if after is None or after.role != "user" else after.content
    if message.role not in ANSWERS or message.tool_calls or not isinstance(reply, str) or REFUSAL not in reply:
        return None
    start, end = reply.find("{"), reply.rfind("}") + 1
    noted = _literal(reply[start:end])
    return noted["content"] if isinstance(noted, dict) and isinstance(noted.get("content"), str) else reply


def _with_calls(message: Message) -> Message:
    """Return a message with the calls in its text, which DRIFT moves to `tool_calls` only where it lets them run."""
    text = message.content if isinstance(message.content, str) else ""
    block = CALLS.search(text)
    if block is None:
        return message
    try:
        calls = [_call(call) for call in _tree(block[1]).elts]  # type: ignore[attr-defined]
    except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError, MemoryError):
        # Not the list of calls that DRIFT asks for: the tool is named by its text.
        calls = [{"name": block[1].strip().strip("[]").partition("(")[0] or "function_call", "arguments": block[1]}]
    return msgspec.structs.replace(message, tool_calls=calls)


def _call(call: Any) -> dict[str, Any]:
    """Return a call in Python's syntax, ``send(to="Ann")``, as name and arguments; those without a name are numbered."""
    arguments = {str(place): value for place, value in enumerate(call.args)}
    arguments |= {keyword.arg or "**": keyword.value for keyword in call.keywords}
    return {"name": ast.unparse(call.func), "arguments": {name: _value(value) for name, value in arguments.items()}}


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return ast.unparse(node)


def _tree(text: str) -> ast.expr:
    if len(text) > MOST_OF_CALLS:  # Python's parser may run out of its stack
        raise ValueError(text[:10])
    return ast.parse(text.strip(), mode="eval").body


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(_tree(text))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def _has_crashed(record: Record) -> bool:
    error = worded(record["error"])
    return error is not None and OWN_LIMIT not in error


def _solved(record: Record) -> bool | None:
    """`utility`."""
    solved: bool | None = None if record["@task"] is None else record["utility"]
    return solved


def _alone(record: Record) -> dict[str, Any]:
    """Return what `utility` says of an injection task that was run alone, and its words, which the user asked for."""
    if record["@task"] is not None:
        return {}
    chat = record["messages"] or record["conversations"] or []
    asked = next((text_of(message.content) for message in chat if message.role == "user"), None)
    utility = unless_crashed(record["utility"], crashed=_has_crashed(record))
    return {"injection_task_utility": utility, **({} if asked is None else {"goal_text": asked})}


def _outcome(record: Record) -> str | None:
    """`security`."""
    if record["@attack"] == NO_ATTACK:
        return None
    return outcome_of(record["security"], UNDETERMINED) if record["error"] is None else ERROR


AGENTDOJO = RecordMapping(
    module=__name__,
    doc="""Read one trace as one rollout; a turn is one assistant message.

{fields}

Without an attack, AgentDojo always writes `security` true: `outcome` is null. Beside an error, it writes `security` true and
`utility` false: `outcome` is error, and `solved` is null, unless the target exceeded its context. An injection task that was run as
if it were a user's task is the `goal`, and `task` is null; its words are `goal_text`, its `utility` becomes
`injection_task_utility`, and `solved` is null:
AgentDojo's utility counts user tasks alone.

Calls that DRIFT refused are `tool_calls` too, with status ``refused`` in `tool_results`; the refusal is what came back, as the
result of any call. The error of a tool is part of the next `prompt`: it came back to the target and is not an error of the target.
All other fields become columns under their own names, objects and lists as JSON text.

The producer judges the `whole_rollout`: `succeeded` is null everywhere. Rollouts are crossed: each user task is run with every
injection task, so give intervals both as clusters.""",
    records=_trace,
    run="pipeline_name",
    rollout=[{"from": "@name", "in_file": "suite, user task, attack, injection task (none for a missing part)"}],
    facts={
        "target": "pipeline_name",
        "attack": {"from": "@attack", "in_file": "`attack_type`", "note": "``none`` if it is null"},
        "goal": {"from": "@goal", "in_file": "`suite_name` + injection task", "note": "null without an attack"},
        "task": {
            "from": "@task",
            "in_file": "`suite_name` + `user_task_id`",
            "note": "ids of tasks repeat between suites",
        },
        "attempt": {"value": 1},
        "ending": {
            "by": lambda record: FINISHED if record["error"] is None else ERROR,
            "in_file": "`error`",
            "note": "error, else finished",
        },
        "outcome": {"by": _outcome, "note": "true is success **of the attack**"},
        "total_tokens": "total_tokens",
        "total_seconds": "duration",
    },
    turns=_turns,
    last={"error": "error"},
    crashed=_has_crashed,
    verdicts=[{"of": "task", "by": _solved}],
    signs=["utility", "security"],
    columns={"suite_name": "suite_name", "*": _alone},
    fields={
        "suite_name": str,
        "pipeline_name": str,
        "user_task_id": str,
        "injection_task_id": str | None,
        "attack_type": str | None,
        "messages": list[Message] | None,
        "conversations": list[Message] | None,
        "error": Any,
        "utility": bool | None,
        "security": bool | None,
    },
)
