"""hh-rlhf (Anthropic): pairs of dialogues, one of which people preferred.

- File: `train.jsonl.gz` and `test.jsonl.gz`, one pair per line.
- Format: https://github.com/anthropics/hh-rlhf
- Checked on: the test split of harmless-base.
- Lost: nothing.
"""

import re
from collections.abc import Iterator

from rollwise.readers.chats.turns import Message, split_by_column
from rollwise.readers.mapping.cells import Columns
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.problems import BrokenError
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder

SPEAKER = re.compile(r"\n\n(Human|Assistant):")
ROLES = {"Human": "user", "Assistant": "assistant"}
SIDES = ("chosen", "rejected")
SHAPES = Shapes(SIDES, contains=(b"\\n\\nHuman:",))


def _sides(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the chosen dialogue of each pair, and the rejected one."""
    for number, value in document.records():
        pair = Record(value, number, around)
        for side in SIDES:
            yield Record(value, number, around, key=side, outer=pair)


def _turns(record: Record) -> Columns:
    """Each ``Human:`` and ``Assistant:``."""
    before, *parts = SPEAKER.split(record[record.key])  # speakers and what they say, in turn
    if not parts:
        raise BrokenError("names no speaker: expected `Human:` and `Assistant:`", field=record.key)
    chat = [Message("system", before.strip())] if before.strip() else []
    chat += [Message(ROLES[speaker], text.strip()) for speaker, text in zip(parts[::2], parts[1::2], strict=True)]
    return split_by_column(chat, record.key)


def _preferred(record: Record) -> bool | None:
    # Some pairs are two copies of one dialogue, which says nothing of preference.
    return None if record["chosen"] == record["rejected"] else record.key == "chosen"


HH_RLHF = RecordMapping(
    module=__name__,
    doc="""Read each pair as two rollouts, the chosen dialogue and the rejected one; a turn is one ``Assistant:``.

{fields}

The file has no name of its own. Both dialogues of a pair begin with the same text, so it is a cluster: a `task`. The two
usually differ only in the last answer, but they need not. Text before the first speaker is `context`.
`attack` is null: people attacked in the red-team part of the data and not in the helpful part, and the file does not
name its part; give it as ``read(path, attack="human")``. `goal`, `outcome`, `solved` and `ending` are null.

The producer judges the `whole_rollout` by which of two dialogues a person preferred, not by whether an attack succeeded.""",
    records=_sides,
    rollout=[{"from": "^@key", "in_file": "line"}, {"from": "@key", "in_file": "side"}],
    facts={
        "task": {"by": lambda record: f"{record.around.run}/{record.name}", "in_file": "run, line"},
        "attempt": {"value": 1},
    },
    turns=_turns,
    columns={
        "preferred": {
            "by": _preferred,
            "in_file": "side",
            "note": "true for the chosen one, null where both are the same",
        }
    },
    fields={"chosen": str, "rejected": str},
)
