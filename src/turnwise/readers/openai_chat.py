"""Chats in OpenAI's format: JSON lines (or a list) of records with `messages`."""

from collections.abc import Sequence
from typing import Any

import msgspec

from turnwise.readers.chat import ANSWERS, Message, split, thoughts
from turnwise.readers.documents import Document
from turnwise.readers.lines import Lines
from turnwise.readers.plain import Chat, Chats, batches, turns_of
from turnwise.readers.records import Key, leftovers, parse, spare
from turnwise.readers.table import Table

WORDS = ("target", "attack", "goal", "task", "category", "expected")  # facts that a record may state
OTHERS = frozenset(
    {"suite_name", "rollout_id", "session_id", "termination_reason", "samples", "eval"}
)  # of other tools
SPARED = {spare(name): name for name in WORDS}


class Record(msgspec.Struct):
    """One chat."""

    messages: list[Message]
    id: Key | None = None
    model: str | None = None


def sniff(document: Document) -> bool:
    """Whether the file holds chats: records with `messages`, each with a role."""
    if document.kind not in {"json", "lines"} or "messages" not in document.keys:
        return False
    return b'"role"' in document.head and not OTHERS & document.keys


def read_openai_chat(document: Document, table: Table) -> None:
    r"""Each record into a rollout; a turn is one assistant message.

    ============================ ==========================================================================
    theirs                       ours
    ============================ ==========================================================================
    hash of the content          `run`: the file has no name of its own
    run, `id`                    `rollout_id`; the number of the line where there is no `id`
    `model`                      `target`
    system, developer            `context`
    user, tool, function         `prompt`; after the last answer `observation`
    assistant                    `response`, `tool_calls`
    ============================ ==========================================================================

    A column of the record that is called as a fact of the rollout in TURNS (`attack`, `goal`, `task`, `category`, ...)
    becomes that fact where it is a text; everything else is kept under its own name, objects and lists as JSON text.
    What the target thought (parts of type reasoning or thinking) is the column `reasoning`. The format holds no verdict
    and no end: `outcome`, `solved` and `ending` are null.

    The producer judges the `whole_rollout`: not at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = (
    ...     b'{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}], "goal": "g"}'
    ... )
    >>> table = Table("openai_chat", Problems(), {})
    >>> read_openai_chat(Document(Path("chats.jsonl"), log), table)
    >>> table.frame().select("goal", "prompt", "response").row(0)
    ('g', 'Hi', 'Hello')
    """
    run = f"openai_chat-{document.digest}"
    plain = Chats(WORDS)
    if document.kind != "lines":
        for number, value in document.records():
            _add(document, table, run, number, value)
        return
    for block in document.blocks():
        known = plain.decode_lines(block)
        if known is None or not _add_plain(document, table, run, block.numbers, known, plain):
            _add_lines(document, table, run, block, plain)


def _add_lines(document: Document, table: Table, run: str, block: Lines, plain: Chats) -> None:
    """Add some lines of which one at least is no plain chat, or a rollout that is known already."""
    for numbers, lines, chats in batches([block.apart()], plain.decode):
        if chats and _add_plain(document, table, run, numbers, chats, plain):
            continue
        for number, line in zip(numbers, lines, strict=True):
            value = document.decoded(line)
            if _add(document, table, run, number, value):
                plain.learn(value)


def _add_plain(
    document: Document,
    table: Table,
    run: str,
    numbers: Sequence[int],
    chats: Sequence[Chat],
    plain: Chats,
) -> bool:
    names = [f"{run}/{number if chat.id is None else chat.id}" for number, chat in zip(numbers, chats, strict=True)]
    facts: dict[str, Sequence[Any]] = {
        "run": [run] * len(chats),
        "target": [chat.model for chat in chats],
        "attempt": [1] * len(chats),
        **plain.columns(chats),
    }
    return table.extend(document.name, names, *turns_of([chat.messages for chat in chats]), facts)


def _add(document: Document, table: Table, run: str, number: int, value: Any) -> bool:
    """Add any record, and say whether it is in the table now."""
    with table.record(document.name, number):
        record = parse(value, Record)
        extras = leftovers(value, Record)
        stated = [name for name in extras if name in SPARED and isinstance(extras[name], str)]
        facts = {SPARED[name]: extras.pop(name) for name in stated}
        thought = [thoughts(one.content) for one in record.messages if one.role in ANSWERS]
        return table.add(
            document.name,
            f"{run}/{number if record.id is None else record.id}",
            split(record.messages),
            {"run": run, "target": record.model, "attempt": 1, **facts},
            extras,
            {"reasoning": thought} if any(thought) else None,
        )
    return False
