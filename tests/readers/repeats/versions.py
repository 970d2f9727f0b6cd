"""Records of one rollout in several layouts, and reading them with what is told."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from rollwise.cli.gate import unread_rollouts
from rollwise.readers import Problems
from rollwise.readers.read import read_into


def record(kind: str, name: str, said: list[str | None], **fields: Any) -> list[dict[str, Any]]:
    """A rollout as its records, with these answers."""
    pairs = list(enumerate(said, start=1))
    if kind == "turns":
        return [{"rollout_id": name, "turn": n, "prompt": f"q{n}", "response": text, **fields} for n, text in pairs]
    if kind == "nested":
        return [{"rollout_id": name, "turns": [{"prompt": f"q{n}", "response": text} for n, text in pairs], **fields}]
    chat = [
        {"role": role, "content": text}
        for n, a in pairs
        for role, text in (("user", f"q{n}"), ("assistant", a))
        if text
    ]
    return [{"rollout_id": name, "messages": chat, **fields}]


def written(path: Path, *records: dict[str, Any] | list[dict[str, Any]]) -> Path:
    """A file of JSON lines."""
    lines = [line for part in records for line in (part if isinstance(part, list) else [part])]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def read(path: Path) -> tuple[pl.DataFrame, pl.DataFrame, float]:
    """What is read, what is told, and how many rollouts a gate takes for unread; records must add up."""
    problems = Problems(collect=True)
    turns = read_into(problems, path)
    accounts = problems.accounting()
    assert accounts.filter(pl.col("read") < 0).is_empty()
    assert (accounts["records"] == accounts["read"] + accounts["passed_over"] + accounts["broken"]).all()
    assert accounts["rollouts"].sum() == turns["rollout_id"].n_unique()
    assert accounts.filter((pl.col("read") > 0) & (pl.col("rollouts") == 0)).is_empty()
    return turns, problems.frame(), unread_rollouts(problems)
