"""MHJ, multi-turn human jailbreaks: conversations in the cells of a table.

- File: `harmbench_behaviors.csv` and the like, with columns `message_0`, `message_1`, ...
- Format: https://huggingface.co/datasets/ScaleAI/mhj
- Checked on: files built like the ones of that data set.
- Lost: nothing. It holds the successful conversations alone, as people submitted them, mostly without the answers.
"""

import re
from typing import Any

from rollwise.readers.chats.turns import Message, split_by_column
from rollwise.readers.json_texts import list_in_cell
from rollwise.readers.mapping.cells import Columns
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record
from rollwise.readers.problems import BrokenError
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import NAMED, Shapes

_CELL = re.compile(r"message_(\d+)")
MOST = 200  # messages of a conversation


def _holds_messages(document: Document) -> bool:
    return any(mark in document.head for mark in (b'"body"', b'""body""', b'\\"body\\"'))


SHAPES = Shapes({"message_0", "message_1"}, kinds=NAMED, check=_holds_messages)


def _turns(record: Record) -> Columns:
    """`message_0`, `message_1`, ...: each an object with `role` and `body`."""
    chat = []
    for _, name in sorted((int(match[1]), name) for name in record.value if (match := _CELL.fullmatch(name))):
        value = record.value[name]
        cell: Any = list_in_cell(value) if isinstance(value, str) and value.startswith("{") else value
        if cell is None or cell == "":
            continue
        if not isinstance(cell, dict) or not isinstance(cell.get("role"), str):
            raise BrokenError("expected a message with `role` and `body`", field=name)
        chat.append(Message(cell["role"], cell.get("body")))
    return split_by_column(chat, "message_0")


MHJ = RecordMapping(
    module=__name__,
    doc="""Read each row as a rollout; where the answers are left out, it has no turn.

{fields}

The data set holds successes alone and says so nowhere in the file: `outcome` is null, as a rate of it would say nothing.
`solved` and `ending` are null.

The producer judges the `whole_rollout`, before it is written.""",
    rollout=["@place"],
    facts={
        "attack": {"from": ["tactic"], "in_file": "`tactic`"},
        "task": {"from": ["question_id"], "in_file": "`question_id`"},
    },
    turns=_turns,
    fields={"question_id": str | int | None},
    used=frozenset(f"message_{number}" for number in range(MOST)),
)
