"""Pi: sessions of the coding agent, a tree of entries in JSON lines.

- File: `~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`, also as it is uploaded to the Hub.
- Format: https://github.com/badlogic/pi-mono, packages/coding-agent/docs/session-format.md (versions 1 to 3)
- Checked on: sessions written by hand to that page, as shipped with version 0.73.1.
- Lost: images, state of extensions, changes of the model other than by the model of each answer.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from rollwise.readers.chats.links import Links
from rollwise.readers.chats.turns import Message, results_along, split, thoughts
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import Count, Finite, kind_of, parse, total, whole_number
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import ERROR, NO_ATTACK

SESSION, MESSAGE = "session", "message"
SUMMARIES = frozenset({"compaction", "branch_summary"})  # entries whose summary takes the place of earlier messages
ROLES = {"toolResult": "tool", "assistant": "assistant", "system": "system"}  # all others are the user's side
UNSEEN = ("model_change", "thinking_level_change", "custom", "label", "session_info")  # which the model never sees
KINDS = (SESSION, MESSAGE, *SUMMARIES, "custom_message", *UNSEEN)
SPEAKERS = (*ROLES, "user", "bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary")
CALL, IMAGE = "toolCall", "image"


class Header(msgspec.Struct, rename="camel"):
    """The first line."""

    id: str
    version: int | None = None
    cwd: str | None = None
    timestamp: str | None = None
    parent_session: str | None = None


class Entry(msgspec.Struct, rename="camel"):
    """One line after the first."""

    type: str
    id: str | None = None
    parent_id: str | None = None
    message: Any = None
    summary: str | None = None
    content: Any = None


class Cost(msgspec.Struct):
    """Dollars of one answer."""

    total: Finite | None = None


class Usage(msgspec.Struct, rename="camel"):
    """Tokens and dollars of one answer."""

    input: Count = None
    output: Count = None
    cache_read: Count = None
    cache_write: Count = None
    cost: Cost | None = None


class EntryMessage(msgspec.Struct, rename="camel"):
    """One message."""

    role: str
    content: Any = None
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    tool_name: str | None = None
    tool_call_id: Any = None
    is_error: Any = None
    command: str | None = None  # of a command that the user ran, with its output
    output: str | None = None
    summary: str | None = None


SHAPES = Shapes({"type", "id", "timestamp", "cwd"}, without={"harness"}, at="first", contains=(b'"session"',))


def read_pi(document: Document, table: TurnsBuilder) -> None:
    r"""Read a session as a rollout; a turn is one assistant message.

    =============================== ========================================================================
    in the file                     in the table
    =============================== ========================================================================
    `id` of the session             `rollout_id`, `run`
    `model` of an answer            `target` (of the first), column `model` of each turn
    user, toolResult, commands      `prompt`; `observation` after the last answer
    `text`, `toolCall`, `thinking`  `response`, `tool_calls`, column `reasoning`
    `usage`                         `prompt_tokens` (cached ones included), `response_tokens`, `cost_usd`;
                                    `total_tokens`, `total_cost_usd`
    `errorMessage`                  `error`; `ending` error where the last answer has one
    `id`, `parentId` of entries     a tree (`node_id`, `parent_id`) where the session has branches
    summaries                       part of the prompt
    =============================== ========================================================================

    `attack` is `none` and `attempt` 1; `cwd`, `version` and `stop_reason` are columns.

    The producer judges the `whole_rollout`, but writes no verdict.
    """
    header: Header | None = None
    parents: dict[str, str | None] = {}
    messages: dict[str, EntryMessage] = {}
    latest: str | None = None
    for number, value in document.records():
        with table.record(document.name, number):
            entry = parse(value, Entry)
            entry.type = kind_of(entry.type, KINDS) or entry.type
            if entry.type == SESSION:
                header = parse(value, Header)
                continue
            # In version 1 entries have no id, and follow one another.
            name = entry.id or f"line-{number}"
            if name in parents:
                raise BrokenError(f"the entry {name!r} occurs twice in this file", field="id")
            parents[name] = latest if entry.id is None else entry.parent_id
            latest = name
            if (message := _parsed(entry)) is not None:
                messages[name] = message
    if header is None:
        raise BrokenError("has no line of the type `session`")
    with table.record(document.name, header.id):
        _add(document, table, header, _without_others(parents, messages), messages)


def _parsed(entry: Entry) -> EntryMessage | None:
    """Return the message of an entry; null for entries that the model never sees."""
    if entry.type == MESSAGE:
        message = parse(entry.message, EntryMessage, "message")
        word = message.role.strip().lower()
        role = next((role for role in SPEAKERS if role.lower() == word), None)
        if role is None:
            warn("message.role", f"{message.role!r:.60} is not a known speaker: what it says is read as a prompt")
        message.role = role or message.role
        return message
    if entry.type in SUMMARIES:
        return EntryMessage("user", entry.summary)
    return EntryMessage("user", entry.content) if entry.type == "custom_message" else None


def _without_others(parents: dict[str, str | None], messages: dict[str, EntryMessage]) -> dict[str, str | None]:
    """Return the message above each message, past entries of other kinds."""
    above: dict[str, str | None] = {}
    for name in messages:
        parent, visited = parents[name], set[str]()
        while parent is not None and parent not in messages and parent not in visited:  # a guard against circles
            visited.add(parent)
            parent = parents.get(parent)
        above[name] = parent if parent in messages else None
    return above


def _add(
    document: Document,
    table: TurnsBuilder,
    header: Header,
    parents: dict[str, str | None],
    messages: dict[str, EntryMessage],
) -> None:
    answers = [name for name, message in messages.items() if message.role == "assistant"]
    links = Links(parents, answers, "parentId")
    turns = [_turn(messages, links, name, place) for place, name in enumerate(answers)]
    results = results_along(links, lambda name: _message(messages[name]))
    turns = [turn._replace(tool_results=cell) for turn, cell in zip(turns, results, strict=True)]
    if not turns:
        turns = split([_message(message) for message in messages.values()], "message")
    spoken = [messages[name] for name in answers]
    costs = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
    table.add(
        document.name,
        header.id,
        turns,
        {
            "run": header.id,
            "target": next((message.model for message in spoken if message.model), None),
            "attack": NO_ATTACK,
            "attempt": 1,
            "ending": ERROR if spoken and spoken[-1].error_message is not None else None,
            "total_tokens": total((n for turn in turns for n in (turn.prompt_tokens, turn.response_tokens)), "usage"),
            "total_cost_usd": sum(costs) if costs else None,
        },
        {"cwd": header.cwd, "version": header.version, "parent_session": header.parent_session},
        {
            "model": [message.model for message in spoken] or [None],
            "stop_reason": [message.stop_reason for message in spoken] or [None],
            "reasoning": [thoughts(message.content) for message in spoken] or [None],
        },
    )


def _turn(messages: dict[str, EntryMessage], links: Links[str], name: str, place: int) -> TurnRow:
    """Return the turn of one answer: its prompt is all messages on the way to it from the answer above."""
    message = messages[name]
    names = [*links.between[name], name, *links.after.get(name, [])]
    turn = split([_message(messages[key]) for key in names], "message")[0]
    usage = message.usage or Usage()
    turn = turn._replace(
        turn=links.depth[name],
        prompt_tokens=total((usage.input, usage.cache_read, usage.cache_write), "usage"),
        response_tokens=whole_number(usage.output, "usage.output"),
        cost_usd=None if usage.cost is None else usage.cost.total,
        error=message.error_message,
    )
    if not links.forks:
        return turn
    return turn._replace(node_id=name, parent_id=links.above[name], target_call=place + 1)


def _message(message: EntryMessage) -> Message:
    """Return a message under the names of other chats, with its calls apart from its text and without images."""
    if message.command is not None:
        return Message("user", "\n".join(part for part in (f"$ {message.command}", message.output) if part))
    if message.summary is not None:
        return Message("user", message.summary)
    role = ROLES.get(message.role, "user")
    back = {"name": message.tool_name, "tool_call_id": message.tool_call_id, "is_error": message.is_error}
    if not isinstance(message.content, list):
        return Message(role, message.content, **back)
    parts: Sequence[dict[str, Any]] = [part for part in message.content if isinstance(part, dict)]
    calls = [part for part in parts if part.get("type") == CALL]
    texts = [part for part in parts if part.get("type") not in (CALL, IMAGE)]
    return Message(role, texts or None, calls or None, **back)
