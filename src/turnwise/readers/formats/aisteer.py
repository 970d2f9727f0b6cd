"""Profiles of an AISteer360 benchmark: `profiles.json`, the generations of every steering pipeline."""

import hashlib
import json
from typing import Any

import msgspec

from turnwise.readers.records import Key, leftovers, parse, prompt_id, worded
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table, Turn
from turnwise.schema import NO_ATTACK


class Run(msgspec.Struct):
    """One trial of one configuration of one pipeline."""

    trial_id: int = 0
    generations: list[Any] = []
    evaluations: dict[str, Any] | None = None
    params: Any = None


class Generation(msgspec.Struct):
    """One answer."""

    response: Any = None
    prompt: Any = None
    question_id: Key | None = None
    reference_answer: Any = None


def sniff(document: Document) -> bool:
    """Return whether the file holds profiles: one object of lists of runs with `generations` and `evaluations`."""
    return (
        document.kind == "json" and isinstance(document.top, dict) and {"generations", "evaluations"} <= document.inner
    )


def sniff_results(document: Document) -> bool:
    """Return whether the file holds the scores of runs without what they generated, as `scores.json` does."""
    names = document.inner
    return (
        document.kind == "json"
        and isinstance(document.top, dict)
        and {"trial_id", "evaluations"} <= names
        and "generations" not in names
    )


def read_aisteer(document: Document, table: Table) -> None:
    """Each generation into a rollout of one turn.

    ============================ ===========================================================================
    theirs                       ours
    ============================ ===========================================================================
    hash of the content          `run`: the file names no model and no data
    run, pipeline, configuration `rollout_id`, with trial and place among its generations
    pipeline                     column `pipeline`; the model it steers is not in the file:
                                 ``read(path, target=...)``
    `params`                     columns `params` (JSON text) and `config_id`, the producer's own name of it:
                                 ``99914b93`` is the empty one, the baseline
    `trial_id`                   column `trial_id`
    `question_id`                `task`; otherwise a hash of the prompt
    times the question was met   `attempt`: in trials, and with its choices shuffled
    `prompt`, `response`         the same; a response that could not be parsed is null
    `reference_answer`           `expected`
    `evaluations`                `score_<metric>_<key>`, where the value is a list with one for each generation
    ============================ ===========================================================================

    `attack` is `none`, so `goal` and `outcome` are null, as are `solved` and `ending`. What else a generation holds is
    kept under its own name. Metrics that are one number for a whole trial are what `read_summary` reads. Built from the
    fields of `CommonsenseMCQA.generate` and `export` (aisteer360/evaluation/use_cases).

    The producer judges the `whole_rollout`, by the metrics of the use case.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"baseline": [{"trial_id": 0, "params": {}, "evaluations": {"match": {"values": [1.0]}}, "generations":
    ... [{"question_id": "q1", "prompt": "2 + 2?", "response": "A", "reference_answer": "A"}]}]}'''
    >>> table = Table("aisteer", Problems(), {})
    >>> read_aisteer(Document(Path("profiles.json"), log), table)
    >>> table.frame().select("pipeline", "config_id", "task", "response", "score_match_values").row(0)
    ('baseline', '99914b93', 'q1', 'A', 1.0)
    """
    name = f"aisteer-{document.digest}"
    for pipeline, runs in parse(document.value, dict[str, list[Any]]).items():
        met: dict[tuple[str, str], int] = {}
        for number, value in enumerate(runs):
            with table.record(document.name, f"{pipeline}[{number}]"):
                run = parse(value, Run)
                if not run.generations:
                    table.problems.left_out(document.name, f"{pipeline}[{number}]", "holds no generations, only scores")
                config = config_id(run.params)
                scores = _scores(run)
                for place, record in enumerate(run.generations):
                    generation = parse(record, Generation, f"generations[{place}]")
                    prompt = worded(generation.prompt)
                    question = generation.question_id
                    task = prompt_id(prompt or "") if question is None else str(question)
                    met[config, task] = met.get((config, task), 0) + 1
                    table.add(
                        document.name,
                        f"{name}/{pipeline}/{config}/{run.trial_id}/{place}",
                        [Turn(turn=1, prompt=prompt, response=worded(generation.response))],
                        {
                            "run": name,
                            "attack": NO_ATTACK,
                            "task": task,
                            "attempt": met[config, task],
                            "expected": worded(generation.reference_answer),
                        },
                        {
                            "pipeline": pipeline,
                            "config_id": config,
                            "trial_id": run.trial_id,
                            "params": run.params or None,
                            **{score: values[place] for score, values in scores.items()},
                            **leftovers(record, Generation),
                        },
                    )


def config_id(params: Any) -> str:
    """The producer's name of a configuration: eight digits of the MD5 of its sorted JSON.

    Examples
    --------
    >>> config_id({}), config_id(None)
    ('99914b93', '99914b93')
    """
    text = json.dumps(params or {}, sort_keys=True, default=str)
    return hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:8]


def _scores(run: Run) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for metric, result in (run.evaluations or {}).items():
        for key, values in (result if isinstance(result, dict) else {"value": result}).items():
            if isinstance(values, list) and len(values) == len(run.generations):
                found[f"score_{metric}_{key}"] = values
    return found
