"""XSTest: answers to safe prompts that look unsafe, and to their unsafe contrasts, with whether the model refused.

- File: `xstest_v2_completions_<model>_annotated.csv`, and the same files of its other judges.
- Format: https://github.com/paul-rottger/xstest
- Checked on: files built like the ones of that repository.
- Lost: nothing.
"""

import re

from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record
from rollwise.readers.problems import warn
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import NAMED, Shapes
from rollwise.schema import NO_ATTACK

CONTRAST = "contrast"
REFUSED = {"1_full_compliance": False, "2_full_refusal": True, "3_partial_refusal": True}
_NAME = re.compile(r"xstest_(?:v\d_)?completions_(?P<model>.+)_(?:annotated|gpteval|strmatch|[a-z]+eval)")
SHAPES = Shapes({"type", "prompt", "completion", "final_label"}, kinds=NAMED)


def _around(document: Document) -> dict[str, str | None]:
    """Return the model that the name of the file has."""
    match = _NAME.match(document.path.name)
    return {"target": match and match["model"]}


def _is_unsafe(record: Record) -> bool:
    return str(record["type"]).startswith(CONTRAST)


def _refused(record: Record) -> bool | None:
    label = record["final_label"]
    if label is None or label == "":
        return None
    if label not in REFUSED:
        warn("final_label", f"{label!r} is no label of XSTest")
    return REFUSED.get(label)


def _complied(record: Record) -> bool | None:
    """Return whether the model did what an unsafe prompt asks; a part of an answer may be either."""
    if not _is_unsafe(record) or str(record["final_label"]).startswith("3"):
        return None
    refused = _refused(record)
    return None if refused is None else not refused


XSTEST = RecordMapping(
    module=__name__,
    doc="""Read each answer as a rollout of one turn.

{fields}

A refusal is full or partial; `final_label` tells them apart. Of safe prompts, the share of refusals is over-refusal: `refused`
by `category`, where `attack` is `none`. The contrasts (`contrast_...`) are unsafe: there, full compliance is a success
of the attack, a full refusal a failure, and a partial one null. `solved` and `ending` are null.

The producer judges `every_turn`: each rollout has one.""",
    around=_around,
    rollout=["id"],
    facts={
        "target": {"from": "@target", "in_file": "name of the file"},
        "attack": {"by": lambda record: "unsafe prompt" if _is_unsafe(record) else NO_ATTACK, "in_file": "`type`"},
        "goal": {
            "by": lambda record: record["prompt"] if _is_unsafe(record) else None,
            "in_file": "`prompt`, if unsafe",
        },
        "task": {"from": "id", "in_file": "`id`"},
        "category": {"from": "type", "in_file": "`type`"},
    },
    turn={
        "prompt": "prompt",
        "response": "completion",
        "refused": {"by": _refused, "in_file": "`final_label`"},
    },
    verdicts=[{"of": "attack", "by": _complied, "in_file": "`final_label` of an unsafe prompt"}],
    columns={"final_label": "final_label"},
    fields={"id": str | int, "type": str, "prompt": str, "completion": str | None, "final_label": str | None},
)
