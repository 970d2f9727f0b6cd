"""SWE-bench: patches of an agent, and which of them resolve their issue.

- File: `all_preds.jsonl` or `preds.json` of predictions; `<model>.<run>.json` with lists of ids, of a whole run; `report.json` of
  each instance in `logs`.
- Format: https://github.com/SWE-bench/SWE-bench, swebench/harness/reporting.py and grading.py
- Checked on: predictions of CodeR, and reports built after examples in public repositories.
- Lost: what the agent did, which is in trajectories of its own.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rollwise.readers.common import text_in
from rollwise.readers.json_texts import lenient
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import parse
from rollwise.readers.sources.beside import bytes_beside
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import NO_ATTACK

PREDICTION = frozenset({"instance_id", "model_name_or_path", "model_patch"})
OF_RUN = Shapes({"resolved_ids", "unresolved_ids"}, is_object=True)
OLD = Shapes({"resolved", "no_generation"}, is_object=True)
_OF_PREDICTIONS = ("*preds*.json", "*preds*.jsonl", "*predictions*.json", "*predictions*.jsonl")
_OF_TRAJECTORIES = ("*.traj", "*/*.traj", "*/*.traj.json")
_NOT_TESTED = ("error_ids", "no_logs", "install_fail", "reset_failed", "no_apply", "test_errored", "test_timeout")
_LEVELS = 5  # of folders between the report of an instance and the predictions
_MOST = 20 << 20  # bytes of a report


def _names_in(document: Document) -> frozenset[str]:
    """Return the names of the first record, also where records are values of an object by their ids."""
    return document.keys | document.inner if document.kind in {"json", "lines"} else frozenset()


def _is_prediction(document: Document) -> bool:
    return _names_in(document) >= PREDICTION


def _is_report(document: Document) -> bool:
    names = _names_in(document)
    return OF_RUN(document) or ("resolved" in names and bool(names & {"tests_status", "patch_successfully_applied"}))


def has_predictions(document: Document) -> bool:
    """Return whether a file is a report on predictions that are in its folder, or in one above, and tell of it all."""
    if not (_is_report(document) or OLD(document)):
        return False
    folders = list(document.path.absolute().parents)[: _LEVELS + 1]
    return any(True for folder in folders for pattern in _OF_PREDICTIONS for _ in folder.glob(pattern))


def has_trajectories(document: Document, *, of_all: bool) -> bool:
    """Return whether a file of predictions has trajectories of its instances beside it: of all of them, or of some."""
    if not _is_prediction(document):
        return False
    named = _named_results(document, document.path.absolute().parent)
    return bool(named) and (not of_all or len(named) == document.as_written.count(b'"model_patch"'))


def judges_trajectories(document: Document) -> bool:
    """Return whether a file is a report that names trajectories of SWE-agent beside it or in the folder around it."""
    folders = list(document.path.absolute().parents)[:2]
    return (_is_report(document) or OLD(document)) and any(_named_results(document, folder) for folder in folders)


def _named_results(document: Document, folder: Path) -> set[str]:
    """Return the instances that a file names, of those whose trajectories are in a folder or in the folders in it."""
    names = {path.name.partition(".")[0] for pattern in _OF_TRAJECTORIES for path in folder.glob(pattern)}
    return {name for name in names if f'"{name}"'.encode() in document.as_written}


def _stands_alone(document: Document) -> bool:
    """Return whether predictions have no trajectories beside them, and a report has neither these nor predictions."""
    if _is_prediction(document):
        return not has_trajectories(document, of_all=False)
    return not has_predictions(document) and not judges_trajectories(document)


_SHAPES = (PREDICTION, {"resolved", "tests_status"}, {"resolved", "patch_successfully_applied"})
SHAPES = (
    Shapes(*_SHAPES, check=_stands_alone)
    | Shapes(*_SHAPES, at="inner", kinds=("json",), check=_stands_alone)
    | Shapes(*OF_RUN.shapes, is_object=True, check=_stands_alone)
)


def _instances(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the predictions of a file with their verdicts, or the instances of a report."""
    if OF_RUN(document):
        report = parse(document.value, dict[str, Any])
        names = dict.fromkeys(name for key, ids in report.items() if key.endswith("_ids") for name in _ids(ids, key))
        builder.holds(document.name, len(names))
        model = document.path.name.removesuffix(document.suffix).rpartition(".")[0].replace("__", "/") or None
        for instance in names:
            yield _record({"instance_id": instance}, instance, around, _verdict([report], instance), model)
    elif _is_prediction(document):
        yield from _predictions(document, builder, around)
    else:
        parts = document.path.absolute().parts
        is_harness = len(parts) > 4 and parts[-5] == "run_evaluation"
        context = replace(around, run=parts[-4]) if is_harness else around
        for name, value in _by_name(document, builder):
            yield _record(value, name, context, _of_instance(value), parts[-3] if is_harness else None)


def _predictions(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield predictions, with what the reports beside them say."""
    folder = document.path.absolute().parent
    reports: dict[str | None, list[dict[str, Any]]] = {}
    for number, (_, value) in enumerate(_by_name(document, builder)):
        model, instance = text_in(value, "model_name_or_path"), text_in(value, "instance_id")
        if model not in reports:
            reports[model] = _reports(folder, model or "")
        single = {} if instance is None else _single(folder, instance)
        yield _record(value, number, around, _verdict([*reports[model], single], instance), model)


def _by_name(document: Document, builder: TurnsBuilder) -> Iterator[tuple[object, Any]]:
    """Yield the records of a file with their numbers, or with their names where they are values of an object."""
    text = document.as_written.lstrip() if document.kind == "json" else b""
    if not text.startswith(b"{"):
        yield from document.records()
        return
    report = parse(lenient(text)[0], dict[str, Any])
    records = {"0": report} if report.keys() >= PREDICTION else report
    builder.holds(document.name, len(records))
    yield from records.items()


def _record(value: Any, name: object, around: Around, solved: Any, target: str | None) -> Record:
    return Record(
        value,
        name,
        replace(around, found={"solved": solved, "target": target, "task": name if isinstance(name, str) else None}),
    )


def _ids(value: Any, field: str) -> list[str]:
    """Return the ids in a list of a report."""
    return [str(name) for name in parse(value, list[Any], field)]


def _reports(folder: Path, model: str) -> list[dict[str, Any]]:
    """Return the reports beside predictions: files that begin with the name of the model, or else the only one."""
    paths = [*sorted(folder.glob("*.json")), *sorted(folder.glob("results/*.json"))]
    reports = {path: report for path in paths if (report := _report(path, folder)) is not None}
    named = [report for path, report in reports.items() if path.name.startswith(model.replace("/", "__") + ".")]
    return named or ([*reports.values()] if len(reports) == 1 else [])


def _report(path: Path, folder: Path) -> dict[str, Any] | None:
    """Return a file that lists ids of instances; null for any other."""
    try:
        value = json.loads(bytes_beside(path, folder, most=_MOST) or "null")
    except (ValueError, RecursionError):
        return None
    is_report = isinstance(value, dict) and any(
        isinstance(value.get(key), list) for key in ("resolved_ids", "resolved")
    )
    return value if is_report else None


def _single(folder: Path, name: str) -> dict[str, Any]:
    """Return what the report of one instance says, as the lists of a report on all have it."""
    if "/" in name or "*" in name:
        return {}
    for path in (folder / "logs" / name / "report.json", *folder.glob(f"logs/run_evaluation/*/*/{name}/report.json")):
        try:
            value = json.loads(bytes_beside(path, folder, most=_MOST) or "null")
        except (ValueError, RecursionError):
            continue
        solved = _of_instance(value.get(name)) if isinstance(value, dict) else None
        if isinstance(solved, bool):
            return {"resolved_ids" if solved else "unresolved_ids": [name]}
    return {}


def verdict_beside(path: Path, instance: str) -> bool | None:
    """Return what the reports beside a trajectory, or beside its folder, say of its instance; null where they say nothing."""
    folder = path.absolute().parent
    # Beside the reports are the folder `trajs`, or a folder for each instance; above any other, nothing is looked at.
    folders = (folder, folder.parent) if folder.name in {"trajs", instance} else (folder,)
    reports = [report for folder in folders for report in (*_reports(folder, ""), _single(folder, instance)) if report]
    return _verdict(reports, instance)


def _of_instance(value: Any) -> bool | None:
    """Return the verdict on an instance; null where its tests did not run."""
    if not isinstance(value, dict) or value.get("infra_failure"):
        return None
    solved = value.get("resolved")
    return solved if isinstance(solved, bool) else None


def _verdict(reports: list[dict[str, Any]], name: Any) -> bool | None:
    """Return what reports say of an instance; null where they say nothing, contradict each other, or tests did not run."""
    verdicts = {_statement(report, name) for report in reports if report} - {None}
    return verdicts.pop() if len(verdicts) == 1 else None


def _statement(report: Mapping[str, Any], name: Any) -> bool | None:
    def is_in(*keys: str) -> bool:
        return any(isinstance(report.get(key), list) and name in report[key] for key in keys)

    if is_in("resolved_ids", "resolved"):
        return True
    if is_in(*_NOT_TESTED):
        return None
    if is_in("unresolved_ids", "empty_patch_ids", "no_generation"):
        return False
    # Old reports list what is resolved, and what could not be tested: all other predictions failed.
    return False if isinstance(report.get("resolved"), list) else None


def _task(record: Record) -> str:
    name = record["instance_id"] or record["@task"]
    if not isinstance(name, str):
        raise BrokenError("object missing required field `instance_id`")
    return name


SWE_BENCH = RecordMapping(
    module=__name__,
    doc="""Read each prediction, or each instance of a report, as a rollout of one turn, whose answer is the patch.

{fields}

The verdicts on predictions are in the reports beside them: in the same folder, in `results`, and in `logs`. A report alone has
the rollouts of its ids. An empty patch is not solved; an instance whose tests did not run (`error_ids`) is unjudged, which
SWE-bench counts as not resolved. `total_instances` of a report counts the whole benchmark. `goal` and `outcome` are null.

The producer judges the `whole_rollout`, by tests.""",
    records=_instances,
    rollout=[{"from": "@target", "in_file": "model"}, {"by": _task, "in_file": "`instance_id`"}],
    facts={
        "target": {
            "from": "@target",
            "in_file": "`model_name_or_path`, else the name of the report, or the folder in `run_evaluation`",
        },
        "attack": {"value": NO_ATTACK},
        "task": {"by": _task, "in_file": "`instance_id`"},
    },
    turn={"response": {"from": "model_patch", "in_file": "`model_patch`"}},
    verdicts=[{"of": "task", "from": "@solved", "in_file": "lists of ids in reports, or `resolved`"}],
    fields={"model_patch": str | None, "instance_id": str | None},
    used={"instance_id", "model_name_or_path", "resolved", "tests_status"},
)
