r"""Anthropic's hh-rlhf: pairs of dialogues, of which people preferred one."""

import re

import msgspec

from turnwise.readers.chats.turns import Message, split_by_column
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import leftovers, parse
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table

SPEAKER = re.compile(r"\n\n(Human|Assistant):")
ROLES = {"Human": "user", "Assistant": "assistant"}


class Pair(msgspec.Struct):
    """One line."""

    chosen: str
    rejected: str


def sniff(document: Document) -> bool:
    """Return whether the file holds pairs: lines with `chosen` and `rejected`, which are dialogues in one text."""
    return document.kind in {"lines", "json"} and {"chosen", "rejected"} <= document.keys and _speaks(document)


def _speaks(document: Document) -> bool:
    return b"\\n\\nHuman:" in document.head


def read_hh_rlhf(document: Document, table: Table) -> None:
    r"""Each pair into two rollouts, the chosen dialogue and the rejected one; a turn is one ``Assistant:``.

    ===================== =================================================================================
    in the file           in the table
    ===================== =================================================================================
    hash of the content   `run`: the file has no name of its own
    run, line             `task`: both dialogues of a pair begin alike, so intervals want the pair as cluster
    run, line, side       `rollout_id`: ``/chosen`` or ``/rejected``
    side                  column `preferred`: true for the chosen one, null where both are the same
    ``Human:``            `prompt`
    ``Assistant:``        `response`
    ===================== =================================================================================

    `attack` is null: in the red-team part of the data people attacked, in the helpful part they did not, and the file
    does not say which it is (``read(path, attack="human")``). `goal`, `outcome`, `solved` and `ending` are null;
    `attempt` is 1. Text before the first speaker is `context`. The two dialogues usually differ in the last answer
    only; nothing hangs on it.

    The producer judges the `whole_rollout`, by which of two people preferred: not whether an attack succeeded.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = rb'''{"chosen": "\n\nHuman: Hi\n\nAssistant: Hello", "rejected": "\n\nHuman: Hi\n\nAssistant: Go"}'''
    >>> table = Table("hh_rlhf", Problems(), {})
    >>> read_hh_rlhf(Document(Path("test.jsonl"), log), table)
    >>> table.frame().select("prompt", "response", "preferred").rows()
    [('Hi', 'Hello', True), ('Hi', 'Go', False)]
    """
    run = f"hh_rlhf-{document.digest}"
    for number, value in document.records():
        with table.record(document.name, number):
            pair = parse(value, Pair)
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
    before, *said = SPEAKER.split(text)
    if not said:
        raise BrokenError("names no speaker: expected `Human:` and `Assistant:`", field=field)
    chat = [Message("system", before.strip())] if before.strip() else []
    return chat + [Message(ROLES[who], what.strip()) for who, what in zip(said[::2], said[1::2], strict=True)]
