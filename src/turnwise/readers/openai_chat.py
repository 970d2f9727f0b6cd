"""Chats in OpenAI's format: JSON lines (or a list) of records with `messages`."""

import msgspec

from turnwise.readers.chat import ANSWERS, Message, split, thoughts
from turnwise.readers.documents import Document
from turnwise.readers.plain import Chats
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
    for number, line in document.texts() if document.kind == "lines" else document.records():
        known = plain.read(line) if isinstance(line, bytes) else None
        if known is not None:
            chat, (count, said), columns = known
            name = f"{run}/{number if chat.id is None else chat.id}"
            facts = {"run": run, "target": chat.model, "attempt": 1, **columns}
            table.extend(document.name, name, said, count, facts)
            continue
        with table.record(document.name, number):
            value = document.decoded(line) if isinstance(line, bytes) else line
            record = parse(value, Record)
            extras = leftovers(value, Record)
            stated = [name for name in extras if name in SPARED and isinstance(extras[name], str)]
            facts = {SPARED[name]: extras.pop(name) for name in stated}
            thought = [thoughts(one.content) for one in record.messages if one.role in ANSWERS]
            table.add(
                document.name,
                f"{run}/{number if record.id is None else record.id}",
                split(record.messages),
                {"run": run, "target": record.model, "attempt": 1, **facts},
                extras,
                {"reasoning": thought} if any(thought) else None,
            )
            plain.learn(value)
