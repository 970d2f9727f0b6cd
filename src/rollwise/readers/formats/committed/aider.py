"""Aider: the exercises of its benchmark, and the histories of its chats.

- File: `.aider.results.json` in the folder of each exercise; `.aider.chat.history.md`.
- Format: https://github.com/Aider-AI/aider, benchmark/benchmark.py and aider/io.py
- Checked on: files built from that source.
- Lost: of histories, what commands and the program itself print.
"""

import re
from collections.abc import Iterator

from rollwise.readers.chats.turns import Message, split_by_column
from rollwise.readers.mapping.cells import Columns
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import NO_ATTACK

BEGINNING = "# aider chat started at "
RESULTS_SHAPES = Shapes({"testcase", "tests_outcomes", "model"}, is_object=True)
CHAT_SHAPES = Shapes(kinds=("table", "other"), contains=(BEGINNING.encode(),))
USER_MARK, TOOL_MARK = "#### ", "> "
_MODEL = re.compile(r"> (?:Main model|Models?): (?P<name>\S+)")


def _is_solved(record: Record) -> bool | None:
    """Return whether the tests passed in the end; null where none ran."""
    outcomes = record["tests_outcomes"]
    return bool(outcomes[-1]) if isinstance(outcomes, list) and outcomes else None


AIDER_BENCHMARK = RecordMapping(
    module=__name__,
    doc="""Read each exercise as a rollout of one turn, whose answer is not in the file.

{fields}

`solved` is pass_rate_2 of aider's benchmark, after all tries; `tests_outcomes` has each of them. `goal` and `outcome` are null.

The producer judges the `whole_rollout`, by tests.""",
    rollout=["testdir", {"from": "testcase", "in_file": "`testcase`"}],
    facts={
        "target": "model",
        "attack": {"value": NO_ATTACK},
        "task": {"from": "testcase", "in_file": "`testcase`"},
        "queries": {
            "by": lambda record: len(record["tests_outcomes"] or ()) or None,
            "in_file": "length of `tests_outcomes`",
        },
        "total_seconds": "duration",
        "total_cost_usd": "cost",
    },
    turn={"prompt_tokens": "prompt_tokens", "response_tokens": "completion_tokens"},
    verdicts=[{"of": "task", "by": _is_solved, "in_file": "last of `tests_outcomes`"}],
    columns={"tests_outcomes": "tests_outcomes"},
    fields={"testcase": str, "testdir": str | None, "tests_outcomes": list[bool] | None},
)


def _chats(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the chats of a history, each from its beginning to the next one."""
    _, *parts = document.as_written.decode("utf-8", "replace").split(f"\n{BEGINNING}")
    if document.as_written.startswith(BEGINNING.encode()):
        parts = [_.removeprefix(BEGINNING), *parts]
    builder.holds(document.name, len(parts))
    for number, part in enumerate(parts):
        started, _, text = part.partition("\n")
        yield Record({"started": started.strip(), "text": text}, number, around)


def _turns(record: Record) -> Columns:
    """`####` is the user, `>` the program, all else the model."""
    chat: list[tuple[str, list[str]]] = []
    for line in str(record["text"]).splitlines():
        is_asked = line.startswith(USER_MARK.strip())
        if line.startswith(TOOL_MARK.strip()) and not is_asked:
            continue
        who = "user" if is_asked else "assistant"
        if not chat or chat[-1][0] != who:
            chat.append((who, []))
        chat[-1][1].append(line.removeprefix(USER_MARK).rstrip() if is_asked else line)
    texts = [(who, "\n".join(lines).strip()) for who, lines in chat]
    messages: list[Message] = []
    for who, text in texts:
        if who == "user" and messages and messages[-1].role == "user":
            messages.pop()  # a command, which the program answered
        if text:
            messages.append(Message(who, text))
    return split_by_column(messages, "text")


def _model(record: Record) -> str | None:
    match = _MODEL.search(str(record["text"]))
    return None if match is None else match["name"]


AIDER_CHATS = RecordMapping(
    module=__name__,
    doc="""Read each chat of a history as a rollout, with a turn for each answer.

{fields}

`goal`, `outcome`, `solved` and `ending` are null.

The producer judges the `whole_rollout`, if at all, in other files.""",
    records=_chats,
    rollout=[{"from": "started", "in_file": "time of its beginning"}, {"from": "@place", "in_file": "place"}],
    facts={
        "target": {"by": _model, "in_file": "model that the program names"},
        "attack": {"value": NO_ATTACK},
    },
    turns=_turns,
    columns={"started": "started"},
    fields={"started": str, "text": str},
    used={"text"},
)
