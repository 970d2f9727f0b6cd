"""AISteer360: the answers of a model under every steering pipeline of a benchmark.

- File: `profiles.json`, one object. `scores.json` next to it holds scores without answers.
- Format: https://github.com/IBM/AISteer360, `CommonsenseMCQA.generate` and `export` in aisteer360/evaluation/use_cases.
- Checked on: files built from that source.
- Lost: nothing. Metrics that are one number for a whole trial are read by `read_summary`.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.records import Key, parse, prompt_id, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import NO_ATTACK


class Run(msgspec.Struct):
    """One trial of one configuration of one pipeline."""

    trial_id: int = 0
    generations: list[Any] = []
    evaluations: dict[str, Any] | None = None
    params: Any = None


SHAPES = Shapes({"generations", "evaluations"}, at="inner", is_object=True)
RESULTS = Shapes(
    {"trial_id", "evaluations"}, without={"generations"}, at="inner", is_object=True
)  # as in `scores.json`


def _generations(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the generations of each run of each pipeline."""
    num_records = 0
    for pipeline, runs in parse(document.value, dict[str, list[Any]]).items():
        for number, value in enumerate(runs):
            name, run = f"{pipeline}[{number}]", Run()
            with builder.record(document.name, name):
                run = parse(value, Run)
                if not run.generations:
                    builder.problems.dropped(document.name, "holds no generations, only scores", name)
            shared = {
                "pipeline": pipeline,
                "config": config_id(run.params),
                "trial": run.trial_id,
                "params": run.params,
            }
            scores = _scores(run)
            for place, generation in enumerate(run.generations):
                constants = {**shared, "scores": {score: values[place] for score, values in scores.items()}}
                where = f"{name}.generations[{place}]"
                yield Record(generation, where, replace(around, found=constants), key=place)
            num_records += len(run.generations) or 1  # a run without any, or that cannot be read, is one
    builder.holds(document.name, num_records)


def _task(record: Record) -> str:
    """`question_id`, else a hash of `prompt`."""
    question = record["question_id"]
    return prompt_id(worded(record["prompt"]) or "") if question is None else str(question)


def config_id(params: Any) -> str:
    """Return AISteer360's name of a configuration: eight digits of the MD5 of its sorted JSON."""
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
                columns[f"{metric}_{key}"] = values
    return columns


AISTEER = RecordMapping(
    module=__name__,
    doc="""Read each generation as a rollout of one turn.

{fields}

The file names no model and no data: give them as ``read(path, target=...)``. `attack` is `none`, so `goal` and `outcome` are
null, as are `solved` and `ending`. Other fields of a generation become columns under their own names.

The producer judges the `whole_rollout`, by the metrics of the use case.""",
    records=_generations,
    rollout=[
        {"from": "@pipeline", "in_file": "pipeline"},
        {"from": "@config", "in_file": "configuration"},
        {"from": "@trial", "in_file": "`trial_id`"},
        {"from": "@key", "in_file": "place among its generations"},
    ],
    facts={
        "attack": {"value": NO_ATTACK},
        "task": _task,
        "attempt": {
            "count": ["@pipeline", "@config", _task],
            "in_file": "repeats of the question",
            "note": "a trial, or the question with its choices shuffled",
        },
        "expected": "reference_answer",
    },
    turn={
        "prompt": "prompt",
        "response": {"from": "response", "note": "null where it could not be parsed"},
    },
    columns={
        "pipeline": {"from": "@pipeline", "in_file": "pipeline"},
        "config_id": {
            "from": "@config",
            "in_file": "`params`",
            "note": "AISteer360's own hash of them: ``99914b93`` is the baseline, which has none",
        },
        "trial_id": {"from": "@trial", "in_file": "`trial_id`"},
        "params": {"by": lambda record: record["@params"] or None, "in_file": "`params`", "note": "JSON text"},
        "score_*": {
            "from": "@scores",
            "in_file": "`evaluations`",
            "note": "``score_<metric>_<key>``, where the value is a list with one for each generation",
        },
    },
    fields={"question_id": Key | None, "prompt": Any, "response": Any, "reference_answer": Any},
)
