"""Tables with one message per row, as chats."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rollwise.readers.chat_names import RESPONSES
from rollwise.readers.chats.layouts import Layout, layouts, words_of
from rollwise.readers.chats.reading import ANSWER_COLUMNS, OF_MESSAGES, Chats
from rollwise.readers.json_texts import lenient
from rollwise.readers.problems import BrokenError
from rollwise.readers.sources.documents import Document
from rollwise.readers.stated_facts import FACTS
from rollwise.readers.table import TurnsBuilder

Row = dict[str, Any]

TURN_COLUMNS = frozenset({"prompt", "response", *RESPONSES})  # rows with one of these are turns
OF_A_MESSAGE = OF_MESSAGES | ANSWER_COLUMNS.keys()  # columns that never describe a whole rollout


def message_rows(document: Document) -> Layout | None:
    r"""Return the layout of a file whose rows are messages with a `rollout_id`; None if they are something else."""
    names = document.keys
    words = words_of(names)
    if words is None or "rollout_id" not in names or names & TURN_COLUMNS or any(layouts(document)):
        return None
    return Layout("messages", True, None, *words)


def read_message_rows(document: Document, table: TurnsBuilder, layout: Layout, rows: Iterable[tuple[int, Any]]) -> None:
    r"""Add the chats of the rows, split into turns: a rollout is its rows in the order of `turn`, or of the file.

    A column with the same value in all rows of each rollout describes the rollout, any other the message. A fact of TURNS
    may be in some rows only, like an outcome in the last row.
    """
    chats = Chats(document, table, layout)
    for number, record in _folded(document, table, layout, rows):
        chats.add(number, record)


def _folded(
    document: Document, table: TurnsBuilder, layout: Layout, rows: Iterable[tuple[int, Any]]
) -> Iterator[tuple[int, Row]]:
    """Iterate over the rollouts as records with `messages`, each with the number of its first row."""
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
                raise BrokenError("is missing" if key is None else "is not an id", field="rollout_id")
            numbers.setdefault(key, number)
            message = {name: value for name, value in row.items() if value is not None}
            if isinstance(message.get("tool_calls"), str):  # CSV holds them as JSON text
                message["tool_calls"] = lenient(message["tool_calls"].encode())[0]
            chats.setdefault(key, []).append(message)
    of_rollout = _constant_names(list(chats.values())) - OF_A_MESSAGE - {layout.role, layout.text}
    for key, messages in chats.items():
        if all(type(row.get("turn")) is int for row in messages):
            messages.sort(key=lambda row: row["turn"])
        facts = {name: value for row in messages for name, value in row.items() if name in of_rollout}
        moved = {*of_rollout, "turn", "rollout_id"}
        chat = [{name: value for name, value in row.items() if name not in moved} for row in messages]
        yield numbers[key], {**facts, "rollout_id": key, "messages": chat}


def _constant_names(chats: Sequence[Sequence[Row]]) -> set[str]:
    """Return the names that are constant within each rollout, and present in all of its rows; facts may lack in some rows."""
    names = {name for rows in chats for row in rows for name in row}
    values_by_chat = {name: [[row[name] for row in rows if name in row] for rows in chats] for name in names}
    complete = {
        name
        for name, lists in values_by_chat.items()
        if name in FACTS or all(len(values) in (0, len(rows)) for values, rows in zip(lists, chats, strict=True))
    }
    return {name for name in complete if all(value == values[0] for values in values_by_chat[name] for value in values)}
