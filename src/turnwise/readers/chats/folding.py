"""Messages that stand in rows of their own, as the chats of their rollouts."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from turnwise.readers.chats.layouts import RESPONSES, Layout, layouts, words_of
from turnwise.readers.formats.openai_chat import ANSWER_COLUMNS, OF_MESSAGES, Chats
from turnwise.readers.native.facts import FACTS
from turnwise.readers.problems import BrokenError
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import lenient
from turnwise.readers.table import Table

Row = dict[str, Any]

ANSWERED = frozenset({"prompt", "response", *RESPONSES})  # columns of rows that are turns
OF_A_MESSAGE = OF_MESSAGES | ANSWER_COLUMNS.keys()  # what is never said of the whole rollout


def message_rows(document: Document) -> Layout | None:
    r"""Describe how the rows of a file are messages, each with the `rollout_id` of its chat; None where they are not.

    Examples
    --------
    >>> from pathlib import Path
    >>> message_rows(Document(Path("a.csv"), b"rollout_id,speaker,text\na,user,Hi\n"))
    Layout(turns='messages', named=True, other=None, role='speaker', text='text')
    >>> message_rows(Document(Path("a.csv"), b"rollout_id,prompt,response\na,Hi,Hello\n")) is None
    True
    """
    names = document.keys
    words = words_of(names)
    if words is None or "rollout_id" not in names or names & ANSWERED or any(layouts(document)):
        return None
    return Layout("messages", True, None, *words)


def read_message_rows(document: Document, table: Table, layout: Layout, rows: Iterable[tuple[int, Any]]) -> None:
    r"""The chats of the rows, cut into turns: each rollout is its rows in the order of `turn`, or of the file.

    What all rows of a rollout say alike, in every rollout, is said of the rollout, all else of the message. A fact of TURNS
    may stand in some of its rows only, as an outcome does in the last.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> said = [("user", "Hi"), ("assistant", "Hello"), ("user", "Bye")]
    >>> rows = [{"rollout_id": "a", "role": role, "content": text, "goal": "g"} for role, text in said]
    >>> table = Table("native", Problems(), {})
    >>> layout = Layout("messages", named=True, role="role", text="content")
    >>> read_message_rows(Document(Path("a.jsonl"), b""), table, layout, enumerate(rows))
    >>> table.frame().select("rollout_id", "goal", "prompt", "response", "observation").rows()
    [('a', 'g', 'Hi', 'Hello', 'Bye')]
    """
    chats = Chats(document, table, layout)
    for number, record in _folded(document, table, layout, rows):
        chats.add(number, record)


def _folded(
    document: Document, table: Table, layout: Layout, rows: Iterable[tuple[int, Any]]
) -> Iterator[tuple[int, Row]]:
    """A record with `messages` for each rollout, and the number of its first row."""
    numbers: dict[Any, int] = {}
    chats: dict[Any, list[Row]] = {}
    for number, row in rows:
        with table.record(document.name, number):
            if isinstance(row, BrokenError):
                raise row
            if not isinstance(row, dict):
                raise BrokenError(f"expected a record, got {type(row).__name__}")
            key = row.get("rollout_id")
            if not isinstance(key, str | int) or isinstance(key, bool):
                raise BrokenError("is missing" if key is None else "is no id", field="rollout_id")
            numbers.setdefault(key, number)
            said = {name: value for name, value in row.items() if value is not None}
            if isinstance(said.get("tool_calls"), str):  # as a table holds them
                said["tool_calls"] = lenient(said["tool_calls"].encode())[0]
            chats.setdefault(key, []).append(said)
    alike = _alike(list(chats.values())) - OF_A_MESSAGE - {layout.role, layout.text}
    for key, messages in chats.items():
        if all(type(row.get("turn")) is int for row in messages):
            messages.sort(key=lambda row: row["turn"])
        facts = {name: value for row in messages for name, value in row.items() if name in alike}
        apart = {*alike, "turn", "rollout_id"}
        told = [{name: value for name, value in row.items() if name not in apart} for row in messages]
        yield numbers[key], {**facts, "rollout_id": key, "messages": told}


def _alike(chats: Sequence[Sequence[Row]]) -> set[str]:
    """The names under which all rows of a rollout say the same, in every rollout; or all that say something, of a fact."""
    names = {name for said in chats for row in said for name in row}
    known = {name: [[row[name] for row in said if name in row] for said in chats] for name in names}
    whole = {
        name
        for name, values in known.items()
        if name in FACTS or all(len(told) in (0, len(said)) for told, said in zip(values, chats, strict=True))
    }
    return {name for name in whole if all(value == told[0] for told in known[name] for value in told)}
