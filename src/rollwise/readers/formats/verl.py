"""verl: generations dumped during training.

- File: `<step>.jsonl`, one sample per line.
- Format: https://github.com/volcengine/verl, `_dump_generations` in verl/trainer/ppo/ray_trainer.py
- Checked on: files built from that source.
- Lost: nothing.
"""

from collections import Counter
from functools import partial
from typing import Any

import msgspec

from rollwise.readers.formats.common import has_fields, is_verdict, text_in
from rollwise.readers.records import inner, leftovers, parse, prompt_id, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnRow, TurnsBuilder
from rollwise.schema import NO_ATTACK


class Sample(msgspec.Struct):
    """One answer to one prompt."""

    input: str
    output: str
    score: float | None = None
    gts: object = None


def sniff(document: Document) -> bool:
    """Return whether the file holds samples: lines with `input`, `output`, `score` and `step`."""
    return has_fields(document, "input", "output", "score", "step")


def read_verl(document: Document, table: TurnsBuilder) -> None:
    r"""Read each sample as a rollout of one turn: prompt and response are decoded text, with the markers of the chat.

    ===================== =================================================================================
    in the file           in the table
    ===================== =================================================================================
    hash of the content   `run`: the file is named only by its step
    run, line             `rollout_id`
    hash of `input`       `task`: samples of one prompt are a cluster
    order of samples      `attempt`: the k-th sample of the prompt in this file
    `input`, `output`     `prompt`, `response`; a conversation of several turns is one text here
    `gts`                 `expected`
    `score`               `reward`
    ===================== =================================================================================

    `step` (of the training) and every further score of the reward function are columns of their own names. `attack` is
    `none`, so `goal` and `outcome` are null, as are `solved` (a reward need not be 0 or 1) and `ending`.

    The producer judges the `whole_rollout`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'{"input": "2 + 2?", "output": "4", "gts": "4", "score": 1.0, "step": 10, "acc": true}'
    >>> table = TurnsBuilder("verl", Problems(), {})
    >>> read_verl(Document(Path("10.jsonl"), log), table)
    >>> table.frame().select("attempt", "expected", "response", "reward", "step").row(0)
    (1, '4', '4', 1.0, 10)
    """
    run = f"verl-{document.digest}"
    attempts: Counter[str] = Counter()
    for number, value in document.records():
        with table.rollout(document.name, number, partial(_identity, run, number, value, attempts)):
            sample = parse(value, Sample)
            # Samples of one prompt have no id in common: the text itself identifies the task.
            task = prompt_id(sample.input)
            attempts[task] += 1
            table.add(
                document.name,
                f"{run}/{number}",
                [TurnRow(turn=1, prompt=sample.input, response=sample.output, reward=sample.score)],
                {
                    "run": run,
                    "attack": NO_ATTACK,
                    "task": task,
                    "attempt": attempts[task],
                    "expected": worded(sample.gts),
                },
                leftovers(value, Sample),
            )


def _identity(run: str, number: int, record: Any, attempts: Counter[str]) -> Identity | None:
    """Return what can be read of a sample that is broken; None where it has no score."""
    if not is_verdict(inner(record, "score")):
        return None
    prompt = text_in(record, "input")
    task = None if prompt is None else prompt_id(prompt)
    if task is not None:
        attempts[task] += 1
    attempt = None if task is None else attempts[task]
    return f"{run}/{number}", {"run": run, "attack": NO_ATTACK, "task": task, "attempt": attempt}
