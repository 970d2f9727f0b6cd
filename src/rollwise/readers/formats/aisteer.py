"""AISteer360: the answers of a model under every steering pipeline of a benchmark.

- File: `profiles.json`, one object. `scores.json` next to it holds scores without answers.
- Format: https://github.com/IBM/AISteer360, `CommonsenseMCQA.generate` and `export` in aisteer360/evaluation/use_cases.
- Checked on: files built from that source.
- Lost: nothing. Metrics that are one number for a whole trial are read by `read_summary`.
"""

import hashlib
import json
from collections import Counter
from typing import Any

import msgspec

from rollwise.readers.common import is_object
from rollwise.readers.records import Key, leftovers, parse, prompt_id, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import NO_ATTACK


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
    return is_object(document) and {"generations", "evaluations"} <= document.inner


def sniff_results(document: Document) -> bool:
    """Return whether the file holds the scores of runs without what they generated, as `scores.json` does."""
    fields = document.inner
    return is_object(document) and {"trial_id", "evaluations"} <= fields and "generations" not in fields


def read_aisteer(document: Document, table: TurnsBuilder) -> None:
    """Read each generation as a rollout of one turn.

    ============================ ===========================================================================
    in the file                  in the table
    ============================ ===========================================================================
    hash of the content          `run`: the file names no model and no data
    run, pipeline, configuration `rollout_id`, with trial and place among its generations
    pipeline                     column `pipeline`; the file does not name the model, so
                                 give it: ``read(path, target=...)``
    `params`                     columns `params` (JSON text) and `config_id`, AISteer360's own hash of them:
                                 ``99914b93`` is the baseline, which has none
    `trial_id`                   column `trial_id`
    `question_id`                `task`; otherwise a hash of the prompt
    repeats of the question      `attempt`: a trial, or the question with its choices shuffled
    `prompt`, `response`         the same; a response that could not be parsed is null
    `reference_answer`           `expected`
    `evaluations`                `score_<metric>_<key>`, where the value is a list with one for each generation
    ============================ ===========================================================================

    `attack` is `none`, so `goal` and `outcome` are null, as are `solved` and `ending`. Other fields of a generation become
    columns under their own names.

    The producer judges the `whole_rollout`, by the metrics of the use case.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"baseline": [{"trial_id": 0, "params": {}, "evaluations": {"match": {"values": [1.0]}}, "generations":
    ... [{"question_id": "q1", "prompt": "2 + 2?", "response": "A", "reference_answer": "A"}]}]}'''
    >>> table = TurnsBuilder("aisteer", Problems(), {})
    >>> read_aisteer(Document(Path("profiles.json"), log), table)
    >>> table.frame().select("pipeline", "config_id", "task", "response", "score_match_values").row(0)
    ('baseline', '99914b93', 'q1', 'A', 1.0)
    """
    name = f"aisteer-{document.digest}"
    for pipeline, runs in parse(document.value, dict[str, list[Any]]).items():
        attempts: Counter[tuple[str, str]] = Counter()  # of a question, under one configuration
        for number, value in enumerate(runs):
            with table.record(document.name, f"{pipeline}[{number}]"):
                run = parse(value, Run)
                if not run.generations:
                    table.problems.dropped(document.name, "holds no generations, only scores", f"{pipeline}[{number}]")
                config = config_id(run.params)
                # Scores are lists with a value for each generation of the run.
                scores = _scores(run)
                for place, record in enumerate(run.generations):
                    generation = parse(record, Generation, f"generations[{place}]")
                    prompt = worded(generation.prompt)
                    question = generation.question_id
                    task = prompt_id(prompt or "") if question is None else str(question)
                    # A question occurs again in each trial, and within one with its choices shuffled.
                    attempts[config, task] += 1
                    table.add(
                        document.name,
                        f"{name}/{pipeline}/{config}/{run.trial_id}/{place}",
                        [TurnRow(turn=1, prompt=prompt, response=worded(generation.response))],
                        {
                            "run": name,
                            "attack": NO_ATTACK,
                            "task": task,
                            "attempt": attempts[config, task],
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
    """Return AISteer360's name of a configuration: eight digits of the MD5 of its sorted JSON.

    Examples
    --------
    >>> config_id({}), config_id(None)
    ('99914b93', '99914b93')
    """
    # The same text as AISteer360 hashes, so that its ids can be found again.
    text = json.dumps(params or {}, sort_keys=True, default=_as_hashed)
    return hashlib.md5(text.encode("utf-8", "backslashreplace"), usedforsecurity=False).hexdigest()[:8]


def _as_hashed(value: Any) -> str:
    return f"callable:{getattr(value, '__qualname__', type(value).__name__)}" if callable(value) else str(value)


def _scores(run: Run) -> dict[str, list[Any]]:
    """Return the scores that have a value for each generation; others are figures of the whole trial."""
    columns: dict[str, list[Any]] = {}
    for metric, result in (run.evaluations or {}).items():
        for key, values in (result if isinstance(result, dict) else {"value": result}).items():
            if isinstance(values, list) and len(values) == len(run.generations):
                columns[f"score_{metric}_{key}"] = values
    return columns
