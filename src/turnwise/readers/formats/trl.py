"""Completions that TRL logs while it trains: one Parquet file per step."""

from collections import Counter
from typing import Any

from turnwise.readers.chats.turns import messages_of, split
from turnwise.readers.native.files import from_binary
from turnwise.readers.records import json_text, prompt_id, spare
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table
from turnwise.schema import NO_ATTACK

KNOWN = ("prompt", "completion")
NO_REWARDS = frozenset({"step", "advantage", "mode", *KNOWN})


def sniff(document: Document) -> bool:
    """Return whether the file holds completions: a Parquet table with `step`, `prompt` and `completion`."""
    names = {"step", *KNOWN}
    return document.kind == "parquet" and names <= document.keys and "rollout_id" not in document.keys


def read_trl(document: Document, table: Table) -> None:
    """Each completion into a rollout; prompts and completions are texts or lists of messages.

    ========================= =============================================================================
    theirs                    ours
    ========================= =============================================================================
    hash of the content       `run`: the file has no name but its step
    run, row                  `rollout_id`, from 0
    hash of the prompt        `task`: completions of one prompt are a cluster
    completions so far        `attempt`: the k-th completion of the prompt in this file
    `prompt`, `completion`    turns: messages that the completion holds are the target's, those of the prompt
                              are not, whatever their role
    column of numbers         `score_<name>`: a reward function; `reward` of the last turn where there is one
                              only (of several the trainer's weights are not in the file)
    ========================= =============================================================================

    `step`, `advantage` and `mode` are columns of their own names, as is everything else. `attack` is `none`, so `goal`
    and `outcome` are null, as are `solved` (a reward need not be 0 or 1) and `ending`. Built from the fields of
    `GRPOTrainer.log` (trl/trainer/grpo_trainer.py).

    The producer judges the `whole_rollout`.

    Examples
    --------
    >>> import io
    >>> from pathlib import Path
    >>> import polars as pl
    >>> from turnwise.readers.problems import Problems
    >>> file = io.BytesIO()
    >>> rows = {"step": [5], "prompt": ["2 + 2?"], "completion": ["4"], "accuracy": [1.0], "advantage": [0.7]}
    >>> pl.DataFrame(rows).write_parquet(file)
    >>> table = Table("trl", Problems(), {})
    >>> read_trl(Document(Path("completions_00005.parquet"), file.getvalue()), table)
    >>> table.frame().select("prompt", "response", "reward", "score_accuracy", "step").row(0)
    ('2 + 2?', '4', 1.0, 1.0, 5)
    """
    run = f"trl-{document.digest}"
    met: Counter[str] = Counter()
    frame = from_binary(document)
    others = NO_REWARDS.union(document.folder_facts.columns)
    rewards = [name for name in frame.columns if frame.schema[name].is_numeric() and name not in others]
    for place, row in enumerate(frame.iter_rows(named=True)):
        with table.record(document.name, place):
            asked = messages_of(row["prompt"], "prompt")
            given = messages_of(row["completion"], "completion")
            if isinstance(row["completion"], str):
                given = [given[0].__class__("assistant", row["completion"])]
            hidden = [_theirs(message) for message in asked]
            turns = split([*hidden, *given], "completion")
            scores = {f"score_{name}": _number(row[name]) for name in rewards}
            last = turns[-1].turn is not None and len(rewards) == 1
            turns[-1] = turns[-1]._replace(reward=next(iter(scores.values())) if last else None)
            task = prompt_id(row["prompt"] if isinstance(row["prompt"], str) else json_text(row["prompt"]) or "")
            met[task] += 1
            rest = {spare(name): value for name, value in row.items() if name not in {*KNOWN, *rewards}}
            table.add(
                document.name,
                f"{run}/{place}",
                turns,
                {"run": run, "attack": NO_ATTACK, "task": task, "attempt": met[task]},
                {**scores, **rest},
            )


def _theirs(message: Any) -> Any:
    """A message of the prompt: an example of an answer is no answer of this target."""
    return message.__class__("user", message.content) if message.role == "assistant" else message


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)  # noqa: PLR0124 - NaN is not itself
