"""Sessions of Claude Code: JSON lines, each message linked to the one before it."""

import datetime as dt
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from turnwise.readers.chats.links import Links
from turnwise.readers.chats.turns import calls, joined, text_of, thoughts
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Count, parse, total, whole
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table, Turn
from turnwise.schema import NO_ATTACK

MESSAGES = frozenset({"user", "assistant"})
CLEAR = "<command-name>/clear</command-name>"


class Line(msgspec.Struct):
    """One line, as far as all lines are alike."""

    type: str | None = None
    uuid: str | None = None
    parent: str | None = msgspec.field(name="parentUuid", default=None)
    logical: str | None = msgspec.field(name="logicalParentUuid", default=None)


class Usage(msgspec.Struct):
    """Usage of one model call."""

    input_tokens: Count = None
    output_tokens: Count = None
    cache_creation_input_tokens: Count = None
    cache_read_input_tokens: Count = None


class Message(msgspec.Struct):
    """Content of a message."""

    role: str
    content: Any = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None


class Entry(msgspec.Struct):
    """One message of a session."""

    uuid: str
    type: str
    message: Message
    parent: str | None = msgspec.field(name="parentUuid", default=None)
    session: str | None = msgspec.field(name="sessionId", default=None)
    sidechain: bool = msgspec.field(name="isSidechain", default=False)
    api_error: bool = msgspec.field(name="isApiErrorMessage", default=False)
    timestamp: str | None = None
    slug: str | None = None
    cwd: str | None = None
    version: str | None = None
    branch: str | None = msgspec.field(name="gitBranch", default=None)


def sniff(document: Document) -> bool:
    """Return whether the file is a session: lines of which one of the first has `sessionId`, `uuid`, `type` and `message`."""
    return document.kind in {"lines", "json"} and {"sessionId", "uuid", "type", "message"} <= document.early


def read_claude_code(document: Document, table: Table) -> None:
    r"""The messages of one file into rollouts: one for each session, and for each part of it after a ``/clear``.

    =========================== ============================================================================
    in the file                 in the table
    =========================== ============================================================================
    `sessionId`                 `run`
    run, part                   `rollout_id`: the session, with ``/2`` and so on for what follows a ``/clear``;
                                a side chain (a sub-agent) is a rollout of its own, named by its first `uuid`
    `message.model`             `target`: of the first answer
    assistant                   a turn; lines with one `message.id` are parts of one answer
    `tool_use` in the content   `tool_calls`
    `thinking` in the content   column `reasoning`
    user, tool results          `prompt`; after the last answer `observation`
    `usage`                     `prompt_tokens` (cached ones included), `response_tokens`, and their sum over
                                the rollout `total_tokens`
    first and last `timestamp`  `total_seconds`
    `uuid`, `parentUuid`        where a message was edited and asked again, the session forks: `node_id`,
                                `parent_id` and `target_call` of each turn
    `isApiErrorMessage`         `error` of the turn: the call failed, its text is not an answer
    =========================== ============================================================================

    `attack` is `none`, so `goal`, `outcome`, `solved` and `ending` are null; `attempt` is 1. The ``/clear`` itself
    belongs to no rollout. A session that forked is a tree: `tw.trees.paths` gives one rollout for each of its branches.
    Lines of other kinds (summaries, snapshots of files, hooks, progress) are passed over, links through them followed; a message
    whose parent was never written follows the one before it. Kept: `slug`, which joins the sessions
    of one piece of work, `cwd`, `version`, `git_branch`, `stop_reason`.

    The producer judges the `whole_rollout`: not at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"uuid": "a", "sessionId": "S", "type": "user", "message": {"role": "user", "content": "Hi"}}
    ... {"uuid": "b", "parentUuid": "a", "sessionId": "S", "type": "assistant", "message": {"role": "assistant",
    ... "content": [{"type": "text", "text": "Hello"}], "model": "claude"}}'''
    >>> table = Table("claude_code", Problems(), {})
    >>> read_claude_code(Document(Path("session.jsonl"), log.replace(b'assistant",\n', b'assistant",')), table)
    >>> table.frame().select("rollout_id", "target", "prompt", "response").row(0)
    ('S', 'claude', 'Hi', 'Hello')
    """
    parts: dict[str, list[Entry]] = {}
    placed: dict[str, str] = {}  # of each message: its part
    counts: dict[str, int] = {}
    for entry in _linked(document, table):
        session = entry.session or f"claude_code-{document.digest}"
        name = placed.get(entry.parent or "", session)
        if entry.sidechain and "/side/" not in name:
            name = f"{session}/side/{entry.uuid}"
        elif not entry.sidechain and counts.get(session, 1) > 1 and (entry.parent is None or "/side/" in name):
            name = f"{session}/{counts[session]}"
        if isinstance(entry.message.content, str) and CLEAR in entry.message.content:
            counts[session] = counts.get(session, 1) + 1
            placed[entry.uuid] = f"{session}/{counts[session]}"
            continue
        placed[entry.uuid] = name
        parts.setdefault(name, []).append(entry)
    for name, entries in parts.items():
        with table.record(document.name, name):
            _add(document, table, name, entries)


def _linked(document: Document, table: Table) -> list[Entry]:
    """The messages of a file, each linked to a message or to nothing."""
    messages: dict[str, Entry] = {}
    others: dict[str, str | None] = {}  # lines that are no messages, and what they are linked to
    for number, value in document.records():
        with table.record(document.name, number):
            line = parse(value, Line)
            if line.type not in MESSAGES:
                others |= {} if line.uuid is None else {line.uuid: line.parent or line.logical}
                continue
            entry = parse(value, Entry)
            if entry.uuid in messages:
                raise BrokenError(f"the message {entry.uuid!r} stands twice in this file")
            messages[entry.uuid] = entry
    last: dict[tuple[str | None, bool], str] = {}
    for entry in messages.values():
        passed = set()
        while entry.parent in others and entry.parent not in passed:
            passed.add(entry.parent)
            entry.parent = others[entry.parent]
        chain = (entry.session, entry.sidechain)
        if entry.parent is not None and entry.parent not in messages:
            entry.parent = last.get(chain)
        last[chain] = entry.uuid
    return list(messages.values())


def _add(document: Document, table: Table, name: str, entries: Sequence[Entry]) -> None:
    answers = _answers(entries)
    turns = _turns(entries, answers)
    first = entries[0]
    tokens = total((count for turn in turns for count in (turn.prompt_tokens, turn.response_tokens)), "usage")
    table.add(
        document.name,
        name,
        turns,
        {
            "run": first.session or name,
            "target": next((lines[0].message.model for lines in answers if lines[0].message.model), None),
            "attack": NO_ATTACK,
            "attempt": 1,
            "total_tokens": tokens,
            "total_seconds": _seconds(entries),
        },
        {"slug": first.slug, "cwd": first.cwd, "version": first.version, "git_branch": first.branch},
        {
            "reasoning": [joined(_texts(thoughts(part.message.content) for part in lines)) for lines in answers],
            "stop_reason": [lines[-1].message.stop_reason for lines in answers],
        }
        if answers
        else None,
    )


def _answers(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return the answers, each with all the lines of its message id."""
    answers: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.type == "assistant":
            answers.setdefault(entry.uuid if entry.message.id is None else f"id {entry.message.id}", []).append(entry)
    return list(answers.values())


def _turns(entries: Sequence[Entry], answers: Sequence[Sequence[Entry]]) -> list[Turn]:
    if not answers:
        return [Turn(turn=None, prompt=joined(_texts(map(_said, entries))))]
    by_uuid = {entry.uuid: (place, entry) for place, entry in enumerate(entries)}
    whole_of = {part.uuid: lines[0].uuid for lines in answers for part in lines}  # an answer goes by its first line
    parents = {
        entry.uuid: whole_of.get(entry.parent or "", entry.parent)
        for entry in entries
        if whole_of.get(entry.uuid, entry.uuid) == entry.uuid
    }
    links = Links(parents, [lines[0].uuid for lines in answers], "parentUuid")
    following = {above: name for name, above in links.above.items() if above is not None}
    beside: dict[str, list[str]] = {}  # results of tools called at once: only one of them leads to the next answer
    after: dict[str | None, list[str]] = {}
    for above, messages in links.after.items():
        following_answer = following.get(above) if above is not None else None
        into = after.setdefault(above, []) if following_answer is None else beside.setdefault(following_answer, [])
        into += messages
    turns = []
    for place, lines in enumerate(answers):
        name = lines[0].uuid
        asked = sorted((by_uuid[said] for said in [*links.between[name], *beside.get(name, [])]), key=itemgetter(0))
        lost = after.get(None, []) if place == len(answers) - 1 else []  # what hangs on nothing that is here
        said = [by_uuid[message][1] for message in [*after.get(name, []), *lost]]
        turn = _turn(lines, [entry for _, entry in asked], links.depth[name])
        turn = turn._replace(observation=joined(_texts(map(_said, said))))
        above = links.above[name]
        turns.append(turn._replace(node_id=name, parent_id=above, target_call=place + 1) if links.forks else turn)
    return turns


def _turn(one: Sequence[Entry], said: Iterable[Entry], depth: int) -> Turn:
    content = [part for entry in one for part in _parts(entry)]
    usage = next((entry.message.usage for entry in reversed(one) if entry.message.usage is not None), Usage())
    read = (usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
    failed = one[0].api_error
    text = text_of(content)
    return Turn(
        turn=depth,
        prompt=joined(_texts(map(_said, said))),
        response=None if failed else text,
        tool_calls=calls([part for part in content if isinstance(part, dict) and part.get("type") == "tool_use"]),
        prompt_tokens=total(read, "usage"),
        response_tokens=whole(usage.output_tokens, "usage.output_tokens"),
        error=text if failed else None,
    )


def _parts(entry: Entry) -> list[Any]:
    content = entry.message.content
    return content if isinstance(content, list) else [] if content is None else [content]


def _said(entry: Entry) -> str | None:
    return text_of(entry.message.content, "message.content")


def _texts(texts: Iterable[str | None]) -> list[str]:
    return [text for text in texts if text is not None]


def _seconds(entries: Sequence[Entry]) -> float | None:
    times = [_time(entry.timestamp) for entry in entries]
    known = [time for time in times if time is not None]
    return (max(known) - min(known)).total_seconds() if len(known) > 1 else None


def _time(text: str | None) -> dt.datetime | None:
    try:
        time = None if text is None else dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return time.replace(tzinfo=dt.UTC) if time is not None and time.tzinfo is None else time
