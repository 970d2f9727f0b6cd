"""A mapping that is proposed, kept and read with: the same rollouts and verdicts as at first, or a question that stays open."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError
from rollwise.readers.proposal.kept import step_of


def answer(place: int) -> str:
    return f"Here is a long answer of number {place} to what was asked."


def attempts(*verdicts: Any, name: str = "jailbroken", **others: Any) -> list[dict[str, Any]]:
    return [
        {"prompt": f"Please do task number {place}.", "response": answer(place), name: verdict, **others}
        for place, verdict in enumerate(verdicts)
    ]


ROUNDS = [
    {"goal": f"g{place}", "turns": attempts(None, None, name="note"), "jailbroken": place == 1} for place in range(3)
]
LINES = [
    {"conversation_id": talk, "turn": turn, "prompt": f"Please do task number {turn}.", "response": answer(turn)}
    for talk in "xyz"
    for turn in (1, 2)
]
MESSAGES = [{"role": "user", "content": "Please do it."}, {"role": "assistant", "content": answer(1)}]
SURE: dict[str, tuple[str, Any]] = {
    "a list in an object": ("a.json", {"model": "m", "results": attempts(True, False, True)}),
    "groups of lists": ("a.json", [{"attack_type": kind, "details": attempts(True, False)} for kind in ("dan", "tap")]),
    "lists by target": ("a.json", {"gpt-4o": attempts(True, False), "llama-3-8b": attempts(False, True)}),
    "values by name": ("a.json", {f"task_{place}": place % 2 == 0 for place in range(6)}),
    "a table of words": ("a.jsonl", attempts("VULNERABLE", "SAFE", "SAFE", name="judgment", target="m")),
    "turns in a record": ("a.json", ROUNDS),
    "rows of turns": ("a.jsonl", LINES),
    "a list of messages": ("a.json", MESSAGES),
    "lists in lines": ("a.jsonl", [MESSAGES, MESSAGES]),
    "text in cells": ("a.jsonl", [{"id": place, "messages": json.dumps(MESSAGES)} for place in range(3)]),
    "score alone": ("a.jsonl", attempts(1, 7, 10, name="score")),
}
ASKED: dict[str, tuple[str, Any]] = {
    "a word that may be the prompt's": ("a.jsonl", attempts("jailbreak", "jailbreak", "benign", name="label")),
    "a verdict that does not vary": ("a.jsonl", attempts(True, True, True, name="success", api_success=True)),
    "words that nobody knows": ("a.jsonl", attempts("voll", "teils", "nein", name="judgment", attack="dan")),
    "whose success": ("a.json", {"model": "m", "results": attempts(True, False, True, name="success")}),
}


def write(folder: Path, name: str, value: Any) -> Path:
    path = folder / name
    text = "\n".join(map(json.dumps, value)) if name.endswith("l") else json.dumps(value)
    path.write_text(text)
    return path


def figures(turns: pl.DataFrame) -> pl.DataFrame:
    """What a report is made of: of each rollout its facts, its texts, and whether it succeeded, wherever that is said."""
    outcome = pl.col("outcome").cast(pl.String).replace_strict({"success": True, "failure": False}, default=None)
    return turns.select(
        "rollout_id",
        *("target", "attack", "goal", "task", "turn", "prompt", "response", "score", "solved"),
        succeeded=pl.coalesce("succeeded", outcome),
    ).sort("rollout_id", "turn")


@pytest.mark.integration
@pytest.mark.parametrize("shape", SURE)
def test_a_kept_mapping_reads_what_was_read_without_it(tmp_path, shape):
    path = write(tmp_path, *SURE[shape])
    first = rw.read(path)
    kept = rw.propose(path).write(tmp_path / "mine.yml")
    again = rw.read(path, mapping=kept)
    columns = ["turn", "target", "attack", "goal", "task", "prompt", "response", "score", "solved", "succeeded"]
    assert figures(again).select(columns).sort(columns).equals(figures(first).select(columns).sort(columns))
    assert again["rollout_id"].n_unique() == first["rollout_id"].n_unique()


@pytest.mark.thinned(4)
@pytest.mark.parametrize("shape", ASKED)
def test_a_kept_mapping_with_an_open_question_is_not_read(tmp_path, shape):
    path = write(tmp_path, *ASKED[shape])
    first = rw.read(path, errors="collect").frame
    assert first.select(pl.col("outcome", "succeeded", "solved").count()).row(0) == (0, 0, 0)
    kept = rw.propose(path).write(tmp_path / "mine.yml")
    with pytest.raises(ArgumentError, match="`\\?`"):
        rw.read(path, mapping=kept)


@pytest.mark.parametrize(("name", "path"), [("model", "model"), ("my model", '"my model"'), ('"', None)])
def test_paths_quote_names_of_several_words(name, path):
    """A name with a quotation mark has no path."""
    assert step_of(name) == path
