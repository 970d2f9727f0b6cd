"""Evaluations that SkyRL dumps while it trains: one JSON-lines file per data source."""

import re
from collections import Counter

import msgspec

from turnwise.readers.native.facts import step_in
from turnwise.readers.records import leftovers, parse, prompt_id
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table, Turn
from turnwise.schema import BUDGET, FINISHED, NO_ATTACK

PLACE = re.compile(r"/global_step_(\d+)_evals/[^/]+$")  # in `dumped_evals`; without training it is `eval_only`
ENDINGS = {"length": BUDGET, "stop": FINISHED}


class Sample(msgspec.Struct):
    """One line."""

    input_prompt: str
    output_response: str
    score: float | list[float] | None = None
    stop_reason: str | None = None
    data_source: str | None = None


def sniff(document: Document) -> bool:
    """Return whether the file holds samples: lines with `input_prompt`, `output_response` and `score`."""
    return document.kind in {"lines", "json"} and {"input_prompt", "output_response", "score"} <= document.keys


def sniff_results(document: Document) -> bool:
    """Return whether the file is the `aggregated_results.jsonl` beside the samples."""
    names = [name for name in document.keys if name.startswith("eval/")]
    return document.kind in {"lines", "json"} and bool(names) and len(names) == len(document.keys)


def read_skyrl(document: Document, table: Table) -> None:
    r"""Each sample into a rollout of one turn: prompt and answer are decoded text, markers of the chat included.

    ===================== =================================================================================
    in the file           in the table
    ===================== =================================================================================
    hash of the content   `run`: the file has no name but its data source
    run, line             `rollout_id`
    hash of the prompt    `task`: samples of one prompt are a cluster
    samples so far        `attempt`: the k-th sample of the prompt in this file
    `data_source`         `category`
    `input_prompt`        `prompt`
    `output_response`     `response`; a conversation of several turns is one text here
    `score`               `reward`: of a list (one reward per token) the sum
    `stop_reason`         `ending`: length is budget, stop finished; others are null
    folder                column `train_step`, from ``dumped_evals/global_step_100_evals``, where no record states a step
    ===================== =================================================================================

    `stop_reason`, `env_class` and `env_extras` are columns of their own names. `attack` is `none`, so `goal` and
    `outcome` are null, as is `solved`: a reward need not be 0 or 1. Built from the fields of
    `dump_per_dataset_eval_results` (skyrl_train/utils/trainer_utils.py), the folder being what `evaluate` gives it.

    The producer judges the `whole_rollout`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'{"input_prompt": "2 + 2?", "output_response": "4", "score": [0, 1.0], "stop_reason": "stop"}'
    >>> table = Table("skyrl", Problems(), {})
    >>> read_skyrl(Document(Path("math.jsonl"), log), table)
    >>> table.frame().select("response", "reward", "ending").row(0)
    ('4', 1.0, 'finished')
    """
    run = f"skyrl-{document.digest}"
    met: Counter[str] = Counter()
    for number, value in document.records():
        with table.record(document.name, number):
            sample = parse(value, Sample)
            task = prompt_id(sample.input_prompt)
            met[task] += 1
            score = sum(sample.score) if isinstance(sample.score, list) else sample.score
            table.add(
                document.name,
                f"{run}/{number}",
                [Turn(turn=1, prompt=sample.input_prompt, response=sample.output_response, reward=score)],
                {
                    "run": run,
                    "attack": NO_ATTACK,
                    "task": task,
                    "category": sample.data_source,
                    "attempt": met[task],
                    "ending": ENDINGS.get(sample.stop_reason or ""),
                },
                {
                    "stop_reason": sample.stop_reason,
                    **step_in(PLACE, document.path, value),
                    **leftovers(value, Sample),
                },
            )
