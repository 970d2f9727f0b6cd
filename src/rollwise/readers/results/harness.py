"""Results of EleutherAI's evaluation harness and of lighteval: a number for each task, metric and filter.

Built from the schema of the harness (lm_eval/result_schema.py and evaluation_tracker.py of 0.4.13), and from files of the Open
LLM Leaderboard, which lighteval wrote.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rollwise.readers.formats.lm_eval import SOLVING
from rollwise.readers.problems import Problems
from rollwise.readers.records import Count, inner, parse, whole_number
from rollwise.readers.sources.documents import Document

OF_HARNESS = frozenset({"config", "configs", "n-shot", "higher_is_better"})
OF_LIGHTEVAL = "config_general"
ERROR = "_stderr"
COUNTS = ("sample_len", "samples")  # number of documents, among the figures of a task


class Counted(msgspec.Struct):
    """Number of documents of a task."""

    effective: Count = None


class Results(msgspec.Struct):
    """A file of results; fields of type `Any` only add facts, and may hold anything."""

    results: dict[str, Any]
    model_name: Any = None
    config: Any = None
    config_general: Any = None
    n_samples: dict[str, Counted] = msgspec.field(default_factory=dict, name="n-samples")
    n_shot: Any = msgspec.field(default=None, name="n-shot")
    group_subtasks: Any = None


def is_harness(document: Document) -> bool:
    """Return whether the file holds results of the harness: `results` and `versions` of tasks, and how they were run."""
    return _are_results(document) and bool(OF_HARNESS & document.keys) and OF_LIGHTEVAL not in document.keys


def is_lighteval(document: Document) -> bool:
    """Return whether the file holds results of lighteval."""
    return _are_results(document) and OF_LIGHTEVAL in document.keys


def _are_results(document: Document) -> bool:
    return document.kind == "json" and isinstance(document.top, dict) and {"results", "versions"} <= document.keys


def figures(document: Document, problems: Problems, source: str) -> Iterator[dict[str, Any]]:
    """Return the figures of one file."""
    report = parse(document.value, Results)
    run_facts = {"run": f"{source}-{document.digest}", "target": _model(report)}
    for task, value in report.results.items():
        with problems.record(document.name, task):
            entries = parse(value, dict[str, Any])
            counts = (report.n_samples.get(task, Counted()).effective, *map(entries.get, COUNTS))
            n = whole_number(next((count for count in counts if _number(count) is not None), None), "n-samples")
            facts = {**run_facts, "task": task, "n": n, "n_shot": _number(inner(report.n_shot, task))}
            numbers = {name: number for name, number in entries.items() if _is_metric(name, number)}
            # The figure of a group is a mean over tasks, not a share of solved samples.
            success = None if inner(report.group_subtasks, task) else _success_metric(numbers)
            for name, number in numbers.items():
                metric, _, filter_name = name.partition(",")  # "acc,none" is a metric and a filter of the responses
                error_name = f"{metric}{ERROR},{filter_name}" if filter_name else f"{metric}{ERROR}"
                yield {
                    **facts,
                    "metric": metric if filter_name in {"", "none"} else f"{metric}/{filter_name}",
                    "ours": "task_success" if name == success and source == "lm_eval" else None,
                    "estimate": number,
                    "std_error": _number(entries.get(error_name)),
                }


def _is_metric(name: str, value: Any) -> bool:
    metric = name.partition(",")[0]
    return metric not in COUNTS and not metric.endswith(ERROR) and _number(value) is not None


def _success_metric(numbers: Mapping[str, Any]) -> str | None:
    """Return the name of the figure that is `task_success`: of the metric that marks solved samples, with the first filter."""
    first_filter = next((name.partition(",")[2] for name in numbers), "")
    names = (f"{metric},{first_filter}" if first_filter else metric for metric in SOLVING)
    return next((name for name in names if name in numbers), None)


def _number(value: Any) -> float | None:
    """Return a number; None for text such as `N/A`, which the producers write instead of a missing number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _model(report: Results) -> str | None:
    """Return the name of the model, or else the argument that loads it, in files of the harness and of lighteval."""
    general, arguments = report.config_general, inner(report.config, "model_args")
    if isinstance(arguments, str):
        arguments = dict(pair.split("=", 1) for pair in arguments.split(",") if "=" in pair)
    names = (
        *(report.model_name, inner(general, "model_name"), inner(general, "model_config", "model_name")),
        *(inner(arguments, "pretrained"), inner(arguments, "model"), inner(report.config, "model")),
    )
    return next((name for name in names if isinstance(name, str) and name), None)
