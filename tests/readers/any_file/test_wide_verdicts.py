"""Tables with a row for each prompt and a column of verdicts for each model: asked about, and the printed line reads them."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError
from tests.readers.any_file.stranger import command_in, filled, typed

SIDES: dict[str, tuple[Any, Any]] = {
    "0/1": (1, 0),
    "true/false": (True, False),
    "jailbroken/refused": ("jailbroken", "refused"),
    "yes/no": ("yes", "no"),
}
MODELS = ["gpt-4", "Llama-2-7b", "kimi"]
HITS = {"gpt-4": 3, "Llama-2-7b": 4, "kimi": 6}


def rows(key: str, sides: tuple[Any, Any], names: list[str] | None = None) -> list[dict[str, Any]]:
    """Return twelve prompts, of which every fourth, third and second gets through to the three models."""
    columns = dict(zip(names or MODELS, (4, 3, 2), strict=True))
    return [
        {key: f"please do the thing {n}", **{name: sides[n % every != 0] for name, every in columns.items()}}
        for n in range(12)
    ]


def written(path: Path, log: list[dict[str, Any]]) -> Path:
    """Write a table, or JSON with or without an object around the records."""
    if path.suffix == ".csv":
        pl.DataFrame(log).write_csv(path)
    else:
        path.write_text(json.dumps({"results": log} if path.stem == "wrapped" else log))
    return path


@pytest.mark.integration
@pytest.mark.parametrize("key", ["prompt", "goal", "behavior", "id", "question"])
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("name", ["a.csv", "a.json", "wrapped.json"])
@pytest.mark.parametrize("of", ["attack", "task"])
def test_the_printed_line_reads_a_verdict_for_each_model(
    tmp_path: Path, key: str, sides: str, name: str, of: str
) -> None:
    path, out = written(tmp_path / name, rows(key, SIDES[sides])), tmp_path / "turns.parquet"
    answer = typed(["read", str(path), "--out", str(out)])
    assert (answer.code, out.exists()) == (2, False)
    words = command_in(answer.text)
    assert words is not None
    assert "targets=gpt-4,Llama-2-7b,kimi" in words
    are_named = sides == "jailbroken/refused"  # words that say whose verdict it is
    assert ("--of" in words) != are_named
    second = typed(filled(words, {"of": of}))
    assert second.code == 0, second.text
    metric = "task_success" if of == "task" and not are_named else "attack_success"
    rollouts = rw.measure(pl.read_parquet(out), rw.metrics.attack_success(), rw.metrics.task_success())
    assert rollouts.height == rollouts[metric].count() == 36
    assert dict(rollouts.group_by("target").agg(pl.col(metric).sum()).iter_rows()) == HITS


@pytest.mark.parametrize("ending", ["_jailbroken", " success", ".unsafe"])
def test_an_ending_that_all_columns_share_is_no_part_of_the_model(tmp_path: Path, ending: str) -> None:
    log = rows("goal", (True, False), [f"{model}{ending}" for model in MODELS])
    path = written(tmp_path / "a.json", log)
    (question,) = rw.propose(path).questions
    turns = rw.read(path, names={**question.names, "of": "attack"} if "of" in question.names else question.names)
    assert sorted(turns["target"].unique()) == sorted(MODELS)
    if ending != ".unsafe":  # which may be of the prompt
        assert (turns["outcome"] == "success").sum() == 13


def test_words_that_are_not_known_are_asked_about_next(tmp_path: Path) -> None:
    log = [row | {"gpt-4": "partial"} if n == 5 else row for n, row in enumerate(rows("goal", ("complied", "refused")))]
    path, out = written(tmp_path / "a.csv", log), tmp_path / "turns.parquet"
    words = command_in(typed(["read", str(path), "--out", str(out)]).text)
    assert words is not None
    again = command_in(typed(words).text)
    assert again is not None
    assert typed(filled(again, {"partial": "null"})).code == 0
    rollouts = rw.measure(pl.read_parquet(out), rw.metrics.attack_success())
    assert (rollouts.height, rollouts["attack_success"].sum(), rollouts["attack_success"].count()) == (36, 13, 35)


def test_scores_of_each_model_are_read_where_they_are_named(tmp_path: Path) -> None:
    log = [{"prompt": f"please do {n}", "gpt-4": n % 10, "llama-3": n % 5} for n in range(20)]
    turns = rw.read(written(tmp_path / "a.csv", log), names={"targets": ["gpt-4", "llama-3"]})
    assert dict(turns.group_by("target").agg(pl.col("score").mean()).iter_rows()) == {"gpt-4": 4.5, "llama-3": 2.0}


def test_beside_an_answer_the_columns_are_judges(tmp_path: Path) -> None:
    log = [row | {"response": f"Here is {n}"} for n, row in enumerate(rows("prompt", (True, False)))]
    assert rw.read(written(tmp_path / "a.json", log)).height == 12


@pytest.mark.parametrize("names", [["is_long", "has_code", "in_english"], ["gpt-4", "has_code", "in_english"]])
def test_columns_that_are_not_called_as_models_are_not_taken_for_some(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(ReadError) as refused:
        rw.read(written(tmp_path / "a.json", rows("prompt", (True, False), names)))
    assert all("targets" not in question.names for question in refused.value.questions)


def test_targets_that_are_not_there_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", rows("goal", (True, False)))
    with pytest.raises(ReadError, match=r"has no column `lama`: its columns are `goal`, `gpt-4`"):
        rw.read(path, names={"targets": "gpt-4,lama", "of": "attack"})
    with pytest.raises(ArgumentError, match="names a column for each target"):
        rw.read(path, names={"targets": "gpt-4"})
    with pytest.raises(ArgumentError, match=r"give `rw\.read` the file"):
        rw.turns(rows("goal", (True, False)), names={"targets": MODELS})
