"""SkyRL: evaluations dumped during training.

- File: `dumped_evals/global_step_<n>_evals/<data source>.jsonl`, one sample per line (`eval_only` without training).
- Format: https://github.com/NovaSky-AI/SkyRL, `dump_per_dataset_eval_results` in skyrl_train/utils/trainer_utils.py
- Checked on: files built from that source.
- Lost: rewards of single tokens, which are summed. `aggregated_results.jsonl` is read by `read_summary`.
"""

import re
from collections import Counter
from functools import partial
from typing import Any

import msgspec

from rollwise.readers.common import has_fields, is_verdict, text_in
from rollwise.readers.records import inner, leftovers, parse, prompt_id
from rollwise.readers.sources.documents import Document
from rollwise.readers.stated_facts import step_in
from rollwise.readers.table import Identity, TurnRow, TurnsBuilder
from rollwise.schema import BUDGET, FINISHED, NO_ATTACK

PLACE = re.compile(r"/global_step_(\d+)_evals/[^/]+$")  # path of an evaluation during training
ENDINGS = {"length": BUDGET, "stop": FINISHED}


class Sample(msgspec.Struct):
    """One answer to one prompt."""

    input_prompt: str
    output_response: str
    score: float | list[float] | None = None
    stop_reason: str | None = None
    data_source: str | None = None


def sniff(document: Document) -> bool:
    """Return whether the file holds samples: lines with `input_prompt`, `output_response` and `score`."""
    return has_fields(document, "input_prompt", "output_response", "score")


def sniff_results(document: Document) -> bool:
    """Return whether the file is the `aggregated_results.jsonl` next to the samples."""
    return bool(document.keys) and has_fields(document) and all(name.startswith("eval/") for name in document.keys)


def read_skyrl(document: Document, table: TurnsBuilder) -> None:
    r"""Read each sample as a rollout of one turn: prompt and response are decoded text, with the markers of the chat.

    ===================== =================================================================================
    in the file           in the table
    ===================== =================================================================================
    hash of the content   `run`: the file is named only by its data source
    run, line             `rollout_id`
    hash of the prompt    `task`: samples of one prompt are a cluster
    order of samples      `attempt`: the k-th sample of the prompt in this file
    `data_source`         `category`
    `input_prompt`        `prompt`
    `output_response`     `response`; a conversation of several turns is one text here
    `score`               `reward`; the sum of a list, which has one reward per token
    `stop_reason`         `ending`: length is budget, stop finished; others are null
    folder                column `train_step`, from ``global_step_100_evals``, unless a record states the step
    ===================== =================================================================================

    `stop_reason`, `env_class` and `env_extras` are columns of their own names. `attack` is `none`, so `goal` and
    `outcome` are null, as is `solved`: a reward need not be 0 or 1.

    The producer judges the `whole_rollout`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'{"input_prompt": "2 + 2?", "output_response": "4", "score": [0, 1.0], "stop_reason": "stop"}'
    >>> table = TurnsBuilder("skyrl", Problems(), {})
    >>> read_skyrl(Document(Path("math.jsonl"), log), table)
    >>> table.frame().select("response", "reward", "ending").row(0)
    ('4', 1.0, 'finished')
    """
    run = f"skyrl-{document.digest}"
    attempts: Counter[str] = Counter()
    for number, value in document.records():
        with table.rollout(document.name, number, partial(_identity, run, number, value, attempts)):
            sample = parse(value, Sample)
            # Samples of one prompt have no id in common: the text itself identifies the task.
            task = prompt_id(sample.input_prompt)
            attempts[task] += 1
            # The total reward of a sample is the sum over its tokens.
            score = sum(sample.score) if isinstance(sample.score, list) else sample.score
            table.add(
                document.name,
                f"{run}/{number}",
                [TurnRow(turn=1, prompt=sample.input_prompt, response=sample.output_response, reward=score)],
                {
                    "run": run,
                    "attack": NO_ATTACK,
                    "task": task,
                    "category": sample.data_source,
                    "attempt": attempts[task],
                    "ending": ENDINGS.get(sample.stop_reason or ""),
                },
                {
                    "stop_reason": sample.stop_reason,
                    **step_in(PLACE, document.path, value),
                    **leftovers(value, Sample),
                },
            )


def _identity(run: str, number: int, record: Any, attempts: Counter[str]) -> Identity | None:
    """Return what can be read of a sample that is broken; None where it has no score."""
    score = inner(record, "score")
    if not any(map(is_verdict, score if isinstance(score, list) else [score])):
        return None
    prompt = text_in(record, "input_prompt")
    task = None if prompt is None else prompt_id(prompt)
    if task is not None:
        attempts[task] += 1
    return f"{run}/{number}", {
        "run": run,
        "attack": NO_ATTACK,
        "task": task,
        "category": text_in(record, "data_source"),
        "attempt": None if task is None else attempts[task],
    }
