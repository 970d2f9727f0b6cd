"""hh-rlhf (Anthropic): pairs of dialogues, one of which people preferred.

- File: `train.jsonl.gz` and `test.jsonl.gz`, one pair per line.
- Format: https://github.com/anthropics/hh-rlhf
- Checked on: the test split of harmless-base.
- Lost: nothing.
"""

import re

import msgspec

from rollwise.readers.chats.turns import Message, split_by_column
from rollwise.readers.common import has_fields
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import leftovers, parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder

SPEAKER = re.compile(r"\n\n(Human|Assistant):")
ROLES = {"Human": "user", "Assistant": "assistant"}


class Pair(msgspec.Struct):
    """Two dialogues, each in one text."""

    chosen: str
    rejected: str


def sniff(document: Document) -> bool:
    """Return whether the file holds pairs: lines with `chosen` and `rejected`, which are dialogues in one text."""
    return has_fields(document, "chosen", "rejected") and b"\\n\\nHuman:" in document.head


def read_hh_rlhf(document: Document, table: TurnsBuilder) -> None:
    r"""Read each pair as two rollouts, the chosen dialogue and the rejected one; a turn is one ``Assistant:``.

    ===================== =================================================================================
    in the file           in the table
    ===================== =================================================================================
    hash of the content   `run`: the file has no name of its own
    run, line             `task`: both dialogues of a pair begin with the same text, so it is a cluster
    run, line, side       `rollout_id`: ``/chosen`` or ``/rejected``
    side                  column `preferred`: true for the chosen one, null where both are the same
    ``Human:``            `prompt`
    ``Assistant:``        `response`
    ===================== =================================================================================

    `attack` is null: people attacked in the red-team part of the data and not in the helpful part, and the file does not
    name its part; give it as ``read(path, attack="human")``. `goal`, `outcome`, `solved` and `ending` are null; `attempt` is
    1. Text before the first speaker is `context`. The two dialogues usually differ only in the last answer, but they need
    not.

    The producer judges the `whole_rollout` by which of two dialogues a person preferred, not by whether an attack succeeded.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = rb'''{"chosen": "\n\nHuman: Hi\n\nAssistant: Hello", "rejected": "\n\nHuman: Hi\n\nAssistant: Go"}'''
    >>> table = TurnsBuilder("hh_rlhf", Problems(), {})
    >>> read_hh_rlhf(Document(Path("test.jsonl"), log), table)
    >>> table.frame().select("prompt", "response", "preferred").rows()
    [('Hi', 'Hello', True), ('Hi', 'Go', False)]
    """
    run = f"hh_rlhf-{document.digest}"
    for number, value in document.records():
        with table.record(document.name, number):
            pair = parse(value, Pair)
            # Some pairs are two copies of one dialogue, which says nothing of preference.
            same = pair.chosen == pair.rejected
            for side, text in (("chosen", pair.chosen), ("rejected", pair.rejected)):
                table.add(
                    document.name,
                    f"{run}/{number}/{side}",
                    split_by_column(_chat(text, side), side),
                    {"run": run, "task": f"{run}/{number}", "attempt": 1},
                    {"preferred": None if same else side == "chosen", **leftovers(value, Pair)},
                )


def _chat(text: str, field: str) -> list[Message]:
    before, *parts = SPEAKER.split(text)  # speakers and what they say, in turn
    if not parts:
        raise BrokenError("names no speaker: expected `Human:` and `Assistant:`", field=field)
    chat = [Message("system", before.strip())] if before.strip() else []
    speakers, words = parts[::2], parts[1::2]
    return chat + [Message(ROLES[speaker], content.strip()) for speaker, content in zip(speakers, words, strict=True)]
