"""TRL: completions logged during training.

- File: `completions_<step>.parquet`, one row per completion.
- Format: https://github.com/huggingface/trl, `GRPOTrainer.log` in trl/trainer/grpo_trainer.py
- Checked on: files built from that source.
- Lost: nothing.
"""

from collections import Counter
from typing import Any

from rollwise.readers.chats.turns import split
from rollwise.readers.common import complete_last, exchange
from rollwise.readers.native.files import from_binary
from rollwise.readers.records import json_text, prompt_id, spare
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import NO_ATTACK

TEXTS = ("prompt", "completion")
NO_REWARDS = frozenset({"step", "advantage", "mode", *TEXTS})


def sniff(document: Document) -> bool:
    """Return whether the file holds completions: a Parquet table with `step`, `prompt` and `completion`."""
    names = {"step", *TEXTS}
    return document.kind == "parquet" and names <= document.keys and "rollout_id" not in document.keys


def read_trl(document: Document, table: TurnsBuilder) -> None:
    """Read each completion as a rollout; prompts and completions are texts or lists of messages.

    ========================= =============================================================================
    in the file               in the table
    ========================= =============================================================================
    hash of the content       `run`: the file is named only by its step
    run, row                  `rollout_id`, from 0
    hash of the prompt        `task`: completions of one prompt are a cluster; null where the prompt is
    order of completions      `attempt`: the k-th completion of the prompt in this file
    `prompt`, `completion`    turns: only messages of the completion are answers of the target; assistant
                              messages of the prompt are not
    column of numbers         `score_<name>`: a reward function; also `reward` of the last turn where it is the
                              only one (the file does not hold the weights of several)
    ========================= =============================================================================

    `step`, `advantage`, `mode` and all other columns keep their names. `attack` is `none`, so `goal` and `outcome` are null,
    as are `solved` (a reward need not be 0 or 1) and `ending`.

    The producer judges the `whole_rollout`.

    Examples
    --------
    >>> import io
    >>> from pathlib import Path
    >>> import polars as pl
    >>> from rollwise.readers.problems import Problems
    >>> file = io.BytesIO()
    >>> rows = {"step": [5], "prompt": ["2 + 2?"], "completion": ["4"], "accuracy": [1.0], "advantage": [0.7]}
    >>> pl.DataFrame(rows).write_parquet(file)
    >>> table = TurnsBuilder("trl", Problems(), {})
    >>> read_trl(Document(Path("completions_00005.parquet"), file.getvalue()), table)
    >>> table.frame().select("prompt", "response", "reward", "score_accuracy", "step").row(0)
    ('2 + 2?', '4', 1.0, 1.0, 5)
    """
    run = f"trl-{document.digest}"
    attempts: Counter[str | None] = Counter()
    frame = from_binary(document)
    # All columns of numbers are reward functions, except the trainer's own and columns from folder names.
    not_rewards = NO_REWARDS.union(document.folder_facts.columns)
    rewards = [name for name in frame.columns if frame.schema[name].is_numeric() and name not in not_rewards]
    for place, row in enumerate(frame.iter_rows(named=True)):
        with table.record(document.name, place):
            turns = split(exchange(row.get("prompt"), row["completion"]), "completion")
            # TRL writes NaN where a reward function returned no value.
            scores = {f"score_{name}": _number(row[name]) for name in rewards}
            complete_last(turns, reward=next(iter(scores.values())) if len(rewards) == 1 else None)
            task = _task(row.get("prompt"))
            attempts[task] += 1
            extras = {spare(name): value for name, value in row.items() if name not in {*TEXTS, *rewards}}
            table.add(
                document.name,
                f"{run}/{place}",
                turns,
                {"run": run, "attack": NO_ATTACK, "task": task, "attempt": attempts[task] if task else None},
                {**scores, **extras},
            )


def _task(prompt: Any) -> str | None:
    return None if prompt is None else prompt_id(prompt if isinstance(prompt, str) else json_text(prompt) or "")


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)  # noqa: PLR0124 - NaN is not itself
