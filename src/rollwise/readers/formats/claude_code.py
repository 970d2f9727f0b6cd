"""Claude Code: sessions, in which each message names the one before it.

- File: `~/.claude/projects/<folder>/<session>.jsonl`, one message or event per line.
- Format: https://code.claude.com/docs (the lines themselves are not documented)
- Checked on: sessions among the fixtures of inspect_scout, and files with side chains, forks and `/clear` built after them.
- Lost: lines that are not messages: summaries, snapshots of files, hooks, progress.
"""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from rollwise.readers.chats.links import Links
from rollwise.readers.chats.tool_results import ToolResult, attached, is_result, part_result
from rollwise.readers.chats.turns import text_of, thoughts
from rollwise.readers.common import AnthropicUsage, first_of, join_texts
from rollwise.readers.moments import seconds_of
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import kind_of, parse, total
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.readers.tool_calls import calls
from rollwise.schema import NO_ATTACK

MESSAGES = frozenset({"user", "assistant"})
CLEAR = "<command-name>/clear</command-name>"


class Line(msgspec.Struct):
    """The fields that all kinds of lines share."""

    type: str | None = None
    uuid: str | None = None
    parent: str | None = msgspec.field(name="parentUuid", default=None)
    logical: str | None = msgspec.field(name="logicalParentUuid", default=None)


class Message(msgspec.Struct):
    """Content of a message."""

    role: str
    content: Any = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: AnthropicUsage | None = None


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


SHAPES = Shapes({"sessionId", "uuid", "type", "message"}, at="early")


def read_claude_code(document: Document, table: TurnsBuilder) -> None:
    r"""Read the messages of one file as rollouts: one for each session, and one for each part after a ``/clear``.

    =========================== ============================================================================
    in the file                 in the table
    =========================== ============================================================================
    `sessionId`                 `run`
    run, part                   `rollout_id`: the session, with ``/2`` and so on for the parts after a ``/clear``;
                                a side chain (a sub-agent) is a rollout of its own, named by its first `uuid`
    `message.model`             `target`: the model of the first answer
    assistant                   a turn; lines with the same `message.id` are one answer
    `tool_use` in the content   `tool_calls`
    `thinking` in the content   column `reasoning`
    user, tool results          `prompt`; after the last answer `observation`; `tool_results` by `tool_use_id`
    `usage`                     `prompt_tokens` (cached ones included), `response_tokens`, and their sum over
                                the rollout `total_tokens`
    first and last `timestamp`  `total_seconds`
    `uuid`, `parentUuid`        where a message was edited and sent again, the session forks: `node_id`,
                                `parent_id` and `target_call` of each turn
    `isApiErrorMessage`         `error` of the turn: the call failed, and its text is not an answer
    =========================== ============================================================================

    `attack` is `none`, so `goal`, `outcome`, `solved` and `ending` are null; `attempt` is 1. The ``/clear`` itself
    belongs to no rollout. A session that forked is a tree: `rw.rollout.paths` gives one rollout for each of its branches.
    Lines of other kinds (summaries, snapshots of files, hooks, progress) are skipped, but links through them are followed.
    A message whose parent is not in the file follows the message before it. Further columns: `slug`, which joins the
    sessions of one piece of work, `cwd`, `version`, `git_branch`, `stop_reason`.

    The producer judges the `whole_rollout`, but writes no verdict.
    """
    parts: dict[str, list[Entry]] = {}
    part_of: dict[str, str] = {}  # of each message: name of its rollout
    counts: dict[str, int] = {}  # of each session: its parts so far
    for entry in _linked(document, table):
        session = entry.session or f"claude_code-{document.digest}"
        name = part_of.get(entry.parent or "", session)
        # A message of a side chain whose parent is not part of one begins a side chain; the rest follow their parents.
        if entry.sidechain and "/side/" not in name:
            name = f"{session}/side/{entry.uuid}"
        elif not entry.sidechain and counts.get(session, 1) > 1 and (entry.parent is None or "/side/" in name):
            name = f"{session}/{counts[session]}"
        if any(isinstance(part, str) and CLEAR in part for part in _parts(entry)):
            # The command belongs to no rollout, but messages that name it as their parent begin the next part.
            counts[session] = counts.get(session, 1) + 1
            part_of[entry.uuid] = f"{session}/{counts[session]}"
            continue
        part_of[entry.uuid] = name
        parts.setdefault(name, []).append(entry)
    for name, entries in parts.items():
        with table.record(document.name, name):
            _add(document, table, name, entries)


def _linked(document: Document, table: TurnsBuilder) -> list[Entry]:
    """Return the messages of a file, each linked to another message of the file or to nothing."""
    messages: dict[str, Entry] = {}
    skipped: dict[str, str | None] = {}  # lines that are not messages, and their parents
    for number, value in document.records():
        with table.record(document.name, number):
            line = parse(value, Line)
            if line.type not in MESSAGES and isinstance(value.get("message"), dict):
                line.type = value["type"] = kind_of(line.type, MESSAGES)
            if line.type not in MESSAGES:
                skipped |= {} if line.uuid is None else {line.uuid: line.parent or line.logical}
                continue
            entry = parse(value, Entry)
            if entry.message.content is None:
                warn("message.content", "is missing: the message is read as empty")
            if entry.uuid in messages:
                raise BrokenError(f"the message {entry.uuid!r} occurs twice in this file")
            messages[entry.uuid] = entry
    latest: dict[tuple[str | None, bool], str] = {}
    for entry in messages.values():
        visited = set()  # a guard against lines that are linked in a circle
        while entry.parent in skipped and entry.parent not in visited:
            visited.add(entry.parent)
            entry.parent = skipped[entry.parent]
        # A parent that is missing from the file (a session was cut or joined) is replaced by the message before, in the
        # same session and the same chain.
        chain = (entry.session, entry.sidechain)
        if entry.parent is not None and entry.parent not in messages:
            entry.parent = latest.get(chain)
        latest[chain] = entry.uuid
    return list(messages.values())


def _add(document: Document, table: TurnsBuilder, name: str, entries: Sequence[Entry]) -> None:
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
            "reasoning": [join_texts(thoughts(part.message.content) for part in lines) for lines in answers],
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


def _turns(entries: Sequence[Entry], answers: Sequence[Sequence[Entry]]) -> list[TurnRow]:
    """Return a turn for each answer: its prompt is all messages on the way to it from the answer above."""
    if not answers:
        return [TurnRow(turn=None, prompt=join_texts(map(_text, entries)))]
    by_uuid = {entry.uuid: (place, entry) for place, entry in enumerate(entries)}
    # An answer may be several lines: it is named by the first of them, and links to the others lead to it.
    first_line = {part.uuid: lines[0].uuid for lines in answers for part in lines}
    parents = {
        entry.uuid: first_line.get(entry.parent or "", entry.parent)
        for entry in entries
        if first_line.get(entry.uuid, entry.uuid) == entry.uuid
    }
    links = Links(parents, [lines[0].uuid for lines in answers], "parentUuid")
    following = {above: name for name, above in links.above.items() if above is not None}
    # Of the results of tools called at once, only one leads to the next answer; the others are part of its prompt too.
    # What no answer follows is the observation of the answer above.
    parallel: dict[str, list[str]] = {}
    trailing: dict[str | None, list[str]] = {}
    for above, messages in links.after.items():
        following_answer = following.get(above) if above is not None else None
        into = trailing.setdefault(above, []) if following_answer is None else parallel.setdefault(following_answer, [])
        into += messages
    turns: list[TurnRow] = []
    requests: dict[str, list[Any]] = {}
    results: dict[str | None, list[ToolResult]] = {lines[0].uuid: [] for lines in answers}
    for place, lines in enumerate(answers):
        name = lines[0].uuid
        requests[name] = [part for line in lines for part in _parts(line) if _is_call(part)]
        before = sorted((by_uuid[uuid] for uuid in [*links.between[name], *parallel.get(name, [])]), key=itemgetter(0))
        orphans = trailing.get(None, []) if place == len(answers) - 1 else []  # messages that lead to no answer
        replies = [by_uuid[message][1] for message in [*trailing.get(name, []), *orphans]]
        turn = _turn(lines, [entry for _, entry in before], links.depth[name])
        turn = turn._replace(observation=join_texts(map(_text, replies)))
        above = links.above[name]
        results.setdefault(above, []).extend(result for _, entry in before for result in _results(entry))
        results[name] += [result for entry in replies for result in _results(entry)]
        turns.append(turn._replace(node_id=name, parent_id=above, target_call=place + 1) if links.forks else turn)
    cells = attached([*requests.values()], [results[name] for name in requests])
    return [turn._replace(tool_results=cell) for turn, cell in zip(turns, cells, strict=True)]


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_use"


def _results(entry: Entry) -> list[ToolResult]:
    """Return the results of tools in a message."""
    parts = [part for part in _parts(entry) if isinstance(part, dict) and is_result(part)]
    return [part_result(part, text_of([part], "message.content")) for part in parts]


def _turn(lines: Sequence[Entry], prompts: Iterable[Entry], depth: int) -> TurnRow:
    content = [part for line in lines for part in _parts(line)]
    # Each line repeats the usage of the answer so far, so the last one counts.
    usage = first_of(*(line.message.usage for line in reversed(lines))) or AnthropicUsage()
    failed = lines[0].api_error
    text = text_of(content)
    return TurnRow(
        turn=depth,
        prompt=join_texts(map(_text, prompts)),
        response=None if failed else text,
        tool_calls=calls(list(filter(_is_call, content))),
        prompt_tokens=usage.sent(),
        response_tokens=usage.received(),
        error=text if failed else None,
    )


def _parts(entry: Entry) -> list[Any]:
    content = entry.message.content
    return content if isinstance(content, list) else [] if content is None else [content]


def _text(entry: Entry) -> str | None:
    return text_of(entry.message.content, "message.content")


def _seconds(entries: Sequence[Entry]) -> float | None:
    times = [time for entry in entries if (time := seconds_of(entry.timestamp, "timestamp")) is not None]
    return max(times) - min(times) if len(times) > 1 else None
