"""HarmBench: the answers of a target to the test cases of each behavior, with or without verdicts.

- File: `<model>.json` of completions or of results; `<method>.json` of the website, with the answers of several models.
- Format: https://github.com/centerforaisafety/HarmBench
- Checked on: files built like the ones of HarmBench's pipeline and website.
- Lost: nothing.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rollwise.readers.common import text_in
from rollwise.readers.json_texts import names_if_any, surface_if_any
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.problems import warn
from rollwise.readers.records import parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder

CASE = frozenset({"test_case", "generation"})


def _has_cases(document: Document) -> bool:
    """Return whether a behavior has test cases and generations, in a list or one of each model."""
    # Only the first behavior that has any answers is looked at: the files are large.
    first = next((value for value in map(surface_if_any, document.top.values()) if value), None)
    # The website's files hold an object of models instead of a list.
    if isinstance(first, dict):
        first = list(first.values())
    return isinstance(first, list) and names_if_any(first[0]) >= CASE


SHAPES = Shapes(is_object=True, contains=(b'"test_case"',), check=_has_cases)


def _completions(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield each completion with its behavior, its model and its method."""
    attempts: Counter[tuple[str, str | None, str | None]] = Counter()
    for goal, answers in parse(document.value, dict[str, Any]).items():
        if not answers:
            warn(goal, "holds no test case")
        records = answers if isinstance(answers, list | dict) else [answers]
        # The website's files hold an object of models instead of a list.
        for name, record in records.items() if isinstance(records, dict) else enumerate(records):
            target = text_in(record, "model") or (str(name) if isinstance(records, dict) else None)
            attack = text_in(record, "method") or None
            attempts[goal, target, attack] += 1
            constants = {"goal": goal, "target": target, "attack": attack, "attempt": attempts[goal, target, attack]}
            yield Record(record, f"{goal}/{name}", replace(around, found=constants), key=name)


def _pair(record: Record) -> tuple[Any, Any]:
    """Return the picture, if any, and the text of a test case: of several media, it is a pair of them."""
    case = record["test_case"]
    return (case[0], case[1]) if isinstance(case, list) and len(case) == 2 else (None, case)


HARMBENCH = RecordMapping(
    module=__name__,
    doc="""Read each completion as a rollout of one turn.

{fields}

The lists of the pipeline have neither model nor method, so give them: ``read(path, target=..., attack=...)``. `advbench_label`
(no refusal was found) and all other fields become columns under their own names; `ending` and `solved` are null. `outcome` is
null in completions that are not judged yet. HarmBench's rate is the mean over behaviors of the mean over their test cases.

The producer judges `every_turn`: each rollout has one.""",
    records=_completions,
    rollout=[
        {"from": "@goal", "in_file": "behavior"},
        {"from": "@key", "in_file": "place, or name of the model in a file of several"},
    ],
    facts={
        "target": {"from": "@target", "in_file": "`model` of the record, else that of the file"},
        "attack": {"from": "@attack", "in_file": "`method` of the record"},
        "goal": {"from": "@goal", "in_file": "behavior", "note": "its id, as in HarmBench's table of behaviors"},
        "attempt": {
            "from": "@attempt",
            "in_file": "place among the test cases",
            "note": "from 1, among those of the same behavior, model and method",
        },
    },
    turn={
        "prompt": {
            "by": lambda record: _pair(record)[1],
            "in_file": "`test_case`",
            "note": "of a picture with a text, the text",
        },
        "response": "generation",
    },
    verdicts=[{"of": "attack", "from": "label", "false": [0], "true": [1]}],
    columns={
        "image": {"by": lambda record: _pair(record)[0], "in_file": "`test_case`", "note": "of a picture with a text"}
    },
    fields={"label": float | bool | None, "model": str | None, "method": str | None},
    used={"test_case"},
)
