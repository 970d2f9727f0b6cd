"""Results of EleutherAI's evaluation harness and of lighteval: a number for each task, metric and filter.

Built from what the harness says that it writes (lm_eval/result_schema.py and evaluation_tracker.py of 0.4.13), and from files of
the Open LLM Leaderboard, which lighteval wrote.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from turnwise.readers.formats.lm_eval import SOLVING
from turnwise.readers.problems import Problems
from turnwise.readers.records import Count, inner, parse, whole
from turnwise.readers.sources.documents import Document

OF_HARNESS = frozenset({"config", "configs", "n-shot", "higher_is_better"})
OF_LIGHTEVAL = "config_general"
ERROR = "_stderr"
COUNTS = ("sample_len", "samples")  # beside the figures of a task: how many documents there were


class Counted(msgspec.Struct):
    """Number of documents of a task."""

    effective: Count = None


class Results(msgspec.Struct):
    """One file; what only says more of its figures may be anything."""

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
    """The figures of one file.

    Examples
    --------
    >>> from pathlib import Path
    >>> log = b'''{"results": {"sums": {"alias": "sums", "acc,none": 0.75, "acc_stderr,none": 0.25}},
    ... "n-samples": {"sums": {"original": 9, "effective": 4}}, "versions": {"sums": 1}, "model_name": "parrot"}'''
    >>> (found,) = figures(Document(Path("results.json"), log), Problems(), "lm_eval")
    >>> [found[name] for name in ("target", "task", "metric", "ours", "estimate", "std_error", "n")]
    ['parrot', 'sums', 'acc', 'task_success', 0.75, 0.25, 4]
    """
    found = parse(document.value, Results)
    about = {"run": f"{source}-{document.digest}", "target": _model(found)}
    for task, value in found.results.items():
        with problems.record(document.name, task):
            given = parse(value, dict[str, Any])
            counts = (found.n_samples.get(task, Counted()).effective, *map(given.get, COUNTS))
            n = whole(next((count for count in counts if _number(count) is not None), None), "n-samples")
            told = {**about, "task": task, "n": n, "n_shot": _number(inner(found.n_shot, task))}
            numbers = {name: number for name, number in given.items() if _is_metric(name, number)}
            passed = None if inner(found.group_subtasks, task) else _passed(numbers)
            for name, number in numbers.items():
                metric, _, how = name.partition(",")
                yield {
                    **told,
                    "metric": metric if how in {"", "none"} else f"{metric}/{how}",
                    "ours": "task_success" if name == passed and source == "lm_eval" else None,
                    "estimate": number,
                    "std_error": _number(given.get(f"{metric}{ERROR},{how}" if how else f"{metric}{ERROR}")),
                }


def _is_metric(name: str, value: Any) -> bool:
    what = name.partition(",")[0]
    return what not in COUNTS and not what.endswith(ERROR) and _number(value) is not None


def _passed(numbers: Mapping[str, Any]) -> str | None:
    """The figure that is our success of a task: of the metric that says that a document was solved, by the first filter."""
    first = next((name.partition(",")[2] for name in numbers), "")
    known = (f"{metric},{first}" if first else metric for metric in SOLVING)
    return next((name for name in known if name in numbers), None)


def _number(value: Any) -> float | None:
    """A number; what the producers write where there is none is text (`N/A`)."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _model(found: Results) -> str | None:
    """The model, as the run calls it, or as it was told to load it: in the harness, in lighteval now and before."""
    general, given = found.config_general, inner(found.config, "model_args")
    if isinstance(given, str):
        given = dict(pair.split("=", 1) for pair in given.split(",") if "=" in pair)
    names = (
        *(found.model_name, inner(general, "model_name"), inner(general, "model_config", "model_name")),
        *(inner(given, "pretrained"), inner(given, "model"), inner(found.config, "model")),
    )
    return next((name for name in names if isinstance(name, str) and name), None)
