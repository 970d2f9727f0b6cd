"""EvalPlus: solutions of HumanEval and MBPP, tried with the tests of these and with many more.

- File: `<model>_temp_<t>_eval_results.json`, and in old runs `eval_results.json` in the folder of a model.
- Format: https://github.com/evalplus/evalplus, evalplus/evaluate.py
- Checked on: files built from that source, in both of its spellings.
- Lost: the inputs of the tests that failed.
"""

from collections.abc import Iterator
from typing import Any

from rollwise.readers.json_texts import names_if_any, surface_if_any
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.problems import warn
from rollwise.readers.records import parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import NO_ATTACK

PASS, SIDES = "pass", ("base", "plus")


def _has_statuses(document: Document) -> bool:
    tasks = surface_if_any(document.top["eval"])
    first = next(iter(tasks.values()), None) if isinstance(tasks, dict) else None
    value = surface_if_any(first)
    names = names_if_any(value[0] if isinstance(value, list) and value else first)
    return {"base_status", "solution"} <= names or {"nfiles", "base"} <= names


SHAPES = Shapes({"eval", "hash"}, is_object=True, check=_has_statuses)


def _solutions(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the solutions of each task."""
    around.found["target"] = _model(document)
    tasks = parse(parse(document.value, dict[str, Any]).get("eval"), dict[str, Any], "eval")
    records = [(task, place, record) for task, listed in tasks.items() for place, record in enumerate(_listed(listed))]
    builder.holds(document.name, len(records))
    for task, place, solution in records:
        outer = Record({}, task, around, key=task)
        yield Record(solution, f"{task}[{place}]", around, key=place + 1, outer=outer)


def _listed(value: Any) -> list[Any]:
    """Return the solutions of a task; in old files, statuses are lists of their own, of pairs with details."""
    if not isinstance(value, dict):
        return value if isinstance(value, list) else [value]  # not a solution: broken
    lists = {side: listed if isinstance(listed := value.get(side), list) else [] for side in SIDES}
    count = max(map(len, lists.values()))
    statuses = {
        side: [entry[0] if isinstance(entry, list) and entry else entry for entry in lists[side]] for side in SIDES
    }
    return [
        {f"{side}_status": statuses[side][place] if place < len(statuses[side]) else None for side in SIDES}
        for place in range(count)
    ]


def _model(document: Document) -> str | None:
    """Return the model that the name of the file, or of its folder, begins with."""
    name = document.path.name.removesuffix(".json").removesuffix("eval_results").rstrip("_")
    name = name or document.path.absolute().parent.name
    model, separator, _ = name.partition("_temp_")
    return model if separator else None


def _has_passed(record: Record) -> bool | None:
    """Return whether a solution passed all tests that were run, of the benchmark and of EvalPlus."""
    statuses = [record[f"{side}_status"] for side in SIDES]
    for status in statuses:
        if status not in {PASS, "fail", "timeout", None}:
            warn("plus_status", f"{status!r} is not a status of tests")
            return None
    ran = [status for status in statuses if status is not None]
    return None if statuses[0] is None else all(status == PASS for status in ran)


EVALPLUS = RecordMapping(
    module=__name__,
    doc="""Read each solution as a rollout of one turn.

{fields}

`solved` is true where all tests passed: pass@1 of HumanEval+ or MBPP+, and of the benchmark itself where no others were run.
`base_status` alone, a column of its own, gives that of the benchmark. `goal`, `outcome` and `ending` are null.

The producer judges the `whole_rollout`, by tests.""",
    records=_solutions,
    rollout=[{"from": "^@key", "in_file": "task"}, {"from": "@key", "in_file": "place"}],
    facts={
        "target": {"from": "@target", "in_file": "name of the file or folder, before `_temp_`"},
        "attack": {"value": NO_ATTACK},
        "task": {"from": "^@key", "in_file": "name of the task"},
        "attempt": {"from": "@key", "in_file": "place among the solutions of the task"},
    },
    turn={"response": "solution"},
    columns={"base_status": "base_status", "plus_status": "plus_status"},
    verdicts=[{"of": "task", "by": _has_passed, "in_file": "`base_status` and `plus_status`"}],
    fields={"solution": str | None, "base_status": str | None, "plus_status": str | None, "task_id": str | None},
    used={"task_id", "base_fail_tests", "plus_fail_tests"},
)
