"""MT-Bench: grades of single answers, from 1 to 10, of two turns for each question.

- File: `<judge>_single.jsonl`, a line for each turn.
- Format: https://github.com/lm-sys/FastChat, fastchat/llm_judge/common.py and show_result.py
- Checked on: files built from that source.
- Lost: what the judge was asked and wrote; the answers are in `model_answer`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rollwise.readers.mapping.cells import Turns
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import NO_ATTACK

SHAPES = Shapes({"question_id", "model", "judge", "judgment", "score", "turn"})
MOST_TURNS = 64  # of a question; FastChat asks two
NO_GRADE = -1  # what FastChat writes where the judge gave none


def _questions(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the turns of each model at each question as one record."""
    answers: dict[tuple[str, str], tuple[int, dict[str, Any], list[Any]]] = {}
    for number, value in document.records():
        with builder.record(document.name, number):
            row = parse(value, dict[str, Any])
            key = (str(row.get("model")), str(row.get("question_id")))
            if key in answers:
                builder.passes_over(document.name)
            answers.setdefault(key, (number, row, []))[2].append(row)
    for number, first, rows in answers.values():
        yield Record(first, number, replace(around, found={"rows": rows}))


def _turns(record: Record) -> Turns:
    """Each line, by its `turn`."""
    turns: dict[int, TurnRow] = {}
    for row in record["@rows"]:
        turn, grade = parse(row.get("turn"), int, "turn"), parse(row.get("score"), float, "score")
        if not 1 <= turn <= MOST_TURNS:
            raise BrokenError(f"{turn} is no turn from 1 to {MOST_TURNS}", field="turn")
        turns[turn] = TurnRow(turn=turn, score=None if grade == NO_GRADE else grade)
    return [turns.get(turn, TurnRow(turn=turn)) for turn in range(1, max(turns) + 1)]  # one without a line is unjudged


def _judge(record: Record) -> str | None:
    judge = record["judge"]
    return "/".join(map(str, judge)) if isinstance(judge, list) else judge


MT_BENCH_GRADES = RecordMapping(
    module=__name__,
    doc="""Read the grades of a model at a question as a rollout.

{fields}

-1 stands for a missing grade: that turn is unjudged. The mean of all grades is FastChat's average. `goal`,
`outcome` and `solved` are null.

The producer judges `every_turn`.""",
    records=_questions,
    rollout=["model", {"from": "question_id", "in_file": "`question_id`"}],
    facts={
        "target": "model",
        "attack": {"value": NO_ATTACK},
        "task": {"from": "question_id", "in_file": "`question_id`"},
    },
    turns=_turns,
    columns={"judge": {"by": _judge, "in_file": "`judge`"}},
    fields={"question_id": str | int, "model": str, "judge": object},
    used={"turn", "score", "user_prompt", "judgment", "tstamp", "judge"},
)
