"""Results of EleutherAI's evaluation harness and of lighteval: a number for each task, metric and filter.

Built from what the harness says that it writes (lm_eval/result_schema.py and evaluation_tracker.py of 0.4.13), and from files of
the Open LLM Leaderboard, which lighteval wrote.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from turnwise.readers.documents import Document
from turnwise.readers.lm_eval import PASSED
from turnwise.readers.problems import Problems
from turnwise.readers.records import parse, whole

OF_HARNESS = frozenset({"config", "configs", "n-shot", "higher_is_better"})
OF_LIGHTEVAL = "config_general"
ERROR = "_stderr"


class Model(msgspec.Struct):
    """What a run says of its model."""

    model_name: str | None = None


class General(Model):
    """The same of lighteval, of now and of before."""

    model_config: Model | None = None


class Settings(msgspec.Struct):
    """The same of a run of the harness that has no name for it."""

    model: str | None = None
    model_args: Any = None


class Counted(msgspec.Struct):
    """How many documents of a task there were."""

    effective: int | None = None


class Results(msgspec.Struct):
    """One file."""

    results: dict[str, dict[str, Any]]
    model_name: str | None = None
    config: Settings | None = None
    config_general: General | None = None
    n_samples: dict[str, Counted] = msgspec.field(default_factory=dict, name="n-samples")
    n_shot: dict[str, int] = msgspec.field(default_factory=dict, name="n-shot")
    group_subtasks: dict[str, list[str]] = {}


def is_harness(document: Document) -> bool:
    """Whether the file holds results of the harness: `results` and `versions` of tasks, and how they were run."""
    return _are_results(document) and bool(OF_HARNESS & document.keys) and OF_LIGHTEVAL not in document.keys


def is_lighteval(document: Document) -> bool:
    """Whether the file holds results of lighteval."""
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
    for task, given in found.results.items():
        with problems.record(document.name, task):
            count = found.n_samples.get(task, Counted()).effective
            told = {**about, "task": task, "n": whole(count, "n-samples"), "n_shot": found.n_shot.get(task)}
            numbers = {name: value for name, value in given.items() if _is_metric(name, value)}
            passed = None if found.group_subtasks.get(task) else _passed(numbers)
            for name, value in numbers.items():
                metric, _, how = name.partition(",")
                yield {
                    **told,
                    "metric": metric if how in {"", "none"} else f"{metric}/{how}",
                    "ours": "task_success" if name == passed and source == "lm_eval" else None,
                    "estimate": value,
                    "std_error": _number(given.get(f"{metric}{ERROR},{how}" if how else f"{metric}{ERROR}")),
                }


def _is_metric(name: str, value: Any) -> bool:
    what = name.partition(",")[0]
    return what != "sample_len" and not what.endswith(ERROR) and _number(value) is not None


def _passed(numbers: Mapping[str, Any]) -> str | None:
    """The figure that is our success of a task: of the metric that says that a document was solved, by the first filter."""
    first = next((name.partition(",")[2] for name in numbers), "")
    known = (f"{metric},{first}" if first else metric for metric in PASSED)
    return next((name for name in known if name in numbers), None)


def _number(value: Any) -> float | None:
    """A number; what the producers write where there is none is text (`N/A`)."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _model(found: Results) -> str | None:
    """The model, as the run calls it, or as it was told to load it."""
    general, config = found.config_general, found.config
    if general is not None:
        return general.model_name or (None if general.model_config is None else general.model_config.model_name)
    if found.model_name or config is None:
        return found.model_name
    given = config.model_args
    if isinstance(given, str):
        given = dict(pair.split("=", 1) for pair in given.split(",") if "=" in pair)
    named = (given.get(name) for name in ("pretrained", "model")) if isinstance(given, dict) else ()
    return next((name for name in named if isinstance(name, str) and name), config.model)
