"""Logs of attacks that search for a suffix: GCG of llm-attacks, and AutoDAN.

- File: JSON of a run of GCG, with `controls`, `losses` and `tests` of its steps; `<model>_<start>_<suffix>.json` of AutoDAN.
- Format: https://github.com/llm-attacks/llm-attacks, llm_attacks/base/attack_manager.py; https://github.com/SheltonLiu-N/AutoDAN
- Checked on: files built from these sources.
- Lost: the steps of the search, of which the last one for each goal is kept, and their number in `queries`.
"""

from collections.abc import Iterator
from typing import Any

from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.problems import warn
from rollwise.readers.records import parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder

GCG_SHAPES = Shapes({"params", "controls", "losses", "tests"}, is_object=True)
AUTODAN_NAMES = frozenset({"goal", "final_suffix", "final_respond", "is_success"})
AUTODAN_SHAPES = Shapes(AUTODAN_NAMES) | Shapes(AUTODAN_NAMES, at="inner", kinds=("json",))
_TOTALS = {"n_passed", "n_em", "n_loss", "total"}  # of a step, beside its goals


def _goals(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield each goal with each model, at the last step that tests it."""
    log = parse(document.value, dict[str, Any])
    tests, controls = (parse(log[name], list[Any], name) for name in ("tests", "controls"))
    last: dict[tuple[str, int], dict[str, Any]] = {}
    for step, test in enumerate(tests):
        for goal, results in test.items() if isinstance(test, dict) else ():
            if goal in _TOTALS:
                continue
            for place, result in enumerate(results if isinstance(results, list) else [results]):
                queries = last.get((goal, place), {"queries": 0})["queries"] + 1
                control = controls[step] if step < len(controls) else None
                last[goal, place] = {"goal": goal, "control": control, "result": result, "queries": queries}
    builder.holds(document.name, len(last))
    for number, record in enumerate(last.values()):
        yield Record(record, number, around)


def _result(record: Record, place: int) -> Any:
    """Return a part of the result of a test: the model, whether its answer begins with no refusal, a match, the loss."""
    result = record["result"]
    if not isinstance(result, list) or len(result) < 2:
        warn("tests", "expected the result of a test: a model and whether it was broken")
        return None
    return result[place] if place < len(result) else None


def _is_broken(record: Record) -> bool | None:
    result = _result(record, 1)
    return bool(result) if result in (0, 1) else None


GCG = RecordMapping(
    module=__name__,
    doc="""Read each goal with each model as a rollout of one turn: the last step that tests it.

{fields}

`prompt` is the goal with the suffix, as the attack sends it; the answer is not in the file. The verdict is that of the attack
itself, which looks for words of refusals. `solved` and `ending` are null.

The producer judges `every_turn`: each rollout has one.""",
    records=_goals,
    rollout=["@place"],
    facts={
        "target": {"by": lambda record: _result(record, 0), "in_file": "model in `tests`"},
        "attack": {"value": "GCG"},
        "goal": {"from": "goal", "in_file": "goal in `tests`"},
        "queries": {"from": "queries", "in_file": "number of the steps that test the goal"},
    },
    turn={
        "prompt": {
            "by": lambda record: " ".join(
                part for part in (record["goal"], record["control"]) if isinstance(part, str)
            ),
            "in_file": "goal, and its `controls`",
        }
    },
    verdicts=[{"of": "attack", "by": _is_broken, "in_file": "second value in `tests`"}],
    columns={"loss": {"by": lambda record: _result(record, 3), "in_file": "fourth value in `tests`"}},
    used={"goal", "control", "result", "queries"},
)


def _behaviors(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the behaviors of a file, whose keys are their numbers."""
    behaviors = (
        document.value if isinstance(document.top, dict) else dict(enumerate(value for _, value in document.records()))
    )
    records = {"0": behaviors} if behaviors.keys() >= AUTODAN_NAMES else behaviors
    builder.holds(document.name, len(records))
    for name, value in records.items():
        yield Record(value, name, around)


def _searched(record: Record) -> int | None:
    losses = record["log"].get("loss") if isinstance(record["log"], dict) else None
    return len(losses) if isinstance(losses, list) else None


AUTODAN = RecordMapping(
    module=__name__,
    doc="""Read each behavior as a rollout of one turn: the last prompt of the search.

{fields}

The verdict is that of the attack itself, which looks for words of refusals. `solved` and `ending` are null.

The producer judges `every_turn`: each rollout has one.""",
    records=_behaviors,
    rollout=[{"from": "@place", "in_file": "key"}],
    facts={
        "target": {
            "by": lambda record: record.around.document.path.name.partition("_")[0],
            "in_file": "name of the file",
        },
        "attack": {"value": "AutoDAN"},
        "goal": "goal",
        "queries": {"by": _searched, "in_file": "length of `log.loss`"},
        "total_seconds": "total_time",
    },
    turn={
        "prompt": {
            "by": lambda record: " ".join(
                part for part in (record["goal"], record["final_suffix"]) if isinstance(part, str)
            ),
            "in_file": "`goal` and `final_suffix`",
        },
        "response": {"from": "final_respond", "in_file": "`final_respond`"},
    },
    verdicts=[{"of": "attack", "from": "is_success"}],
    columns={"target_text": {"from": "target", "in_file": "`target`", "note": "how an answer is to begin"}},
    fields={"is_success": bool | None, "final_respond": str | None, "final_suffix": str | None, "log": object},
    used={"target", "final_suffix", "log"},
)
