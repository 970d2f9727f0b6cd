"""Objects of verdicts alone, by the name of a task, or of a model and a task: each is a rollout."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ReadError
from tests.readers.any_file.stranger import command_in, filled, typed

TASKS: dict[str, Any] = {"task1": True, "task2": False, "task3": True}
WORDS = {True: "jailbroken", False: "refused", None: None}
MODELS: dict[str, dict[str, Any]] = {"gpt-4": TASKS, "llama-2": {"task1": None, "task2": False, "task3": True}}


def written(folder: Path, log: Any) -> Path:
    path = folder / "results.json"
    path.write_text(json.dumps(log))
    return path


def in_words(log: dict[str, Any]) -> dict[str, Any]:
    return {name: in_words(inner) if isinstance(inner, dict) else WORDS[inner] for name, inner in log.items()}


def by_task(log: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {task: {model: log[model][task] for model in log} for task in TASKS}


def rates(turns: pl.DataFrame, metric: str) -> list[tuple[Any, ...]]:
    """The target with its successes, verdicts and rollouts."""
    rollouts = rw.measure(turns, rw.metrics.attack_success(), rw.metrics.task_success())
    hits, known = pl.col(metric).sum(), pl.col(metric).count()
    return sorted(rollouts.group_by("target").agg(hits.alias("hits"), known.alias("known"), pl.len()).rows())


@pytest.mark.parametrize("of", ["attack", "task"])
@pytest.mark.parametrize("arranged", [dict, by_task])
def test_truth_values_of_models_and_tasks_are_rollouts(tmp_path, of, arranged):
    turns = rw.read(written(tmp_path, arranged(MODELS)), names={"of": of})
    assert rates(turns, f"{of}_success") == [("gpt-4", 2, 3, 3), ("llama-2", 1, 2, 3)]
    assert sorted(turns["task"].unique()) == [*TASKS]


@pytest.mark.parametrize("of", ["attack", "task"])
def test_truth_values_of_tasks_are_rollouts(tmp_path, of):
    turns = rw.read(written(tmp_path, TASKS), names={"of": of})
    assert rates(turns, f"{of}_success") == [(None, 2, 3, 3)]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (TASKS, [(None, 2, 3, 3)]),
        (MODELS, [("gpt-4", 2, 3, 3), ("llama-2", 1, 2, 3)]),
        (by_task(MODELS), [("gpt-4", 2, 3, 3), ("llama-2", 1, 2, 3)]),
    ],
)
def test_words_are_asked_about_and_the_line_reads_them(tmp_path, log, expected):
    out = tmp_path / "turns.parquet"
    first = typed(["read", str(written(tmp_path, in_words(log))), "--out", str(out), "--overwrite"])
    words = command_in(first.text)
    assert words is not None, first.text
    second = typed(filled(words, {"jailbroken": "true", "refused": "false"}))
    assert second.code == 0, second.text
    assert rates(pl.read_parquet(out), "attack_success") == expected


@pytest.mark.parametrize("arranged", [dict, by_task])
def test_names_without_numbers_may_be_settings_and_the_line_reads_rollouts(tmp_path, arranged):
    """`vision` and `tools` may be what a model can do."""
    log = {
        model: dict(zip(("vision", "tools", "fraud"), tasks.values(), strict=True)) for model, tasks in MODELS.items()
    }
    log = log if arranged is dict else {task: {model: log[model][task] for model in log} for task in log["gpt-4"]}
    out = tmp_path / "turns.parquet"
    first = typed(["read", str(written(tmp_path, log)), "--out", str(out)])
    assert (first.code, out.exists()) == (2, False)
    words = command_in(first.text)
    assert words is not None, first.text
    assert typed(words).code == 0
    assert rates(pl.read_parquet(out), "task_success") == [("gpt-4", 2, 3, 3), ("llama-2", 1, 2, 3)]


@pytest.mark.parametrize("log", [{"gpt-4": {"t1": None}, "llama-2": {"t1": None}}, dict.fromkeys(TASKS)])
def test_nulls_alone_are_no_verdicts(tmp_path, log):
    with pytest.raises(ReadError, match="is not recognized"):
        rw.read(written(tmp_path, log))


@pytest.mark.parametrize(("more", "name"), [({"meta": {"seed": 1}}, "meta.seed"), ({"note": "a trial"}, "note")])
def test_what_else_a_file_holds_is_no_rollout(tmp_path, more, name):
    """No line is printed that would read it as one; without it, the file can be read."""
    out = tmp_path / "turns.parquet"
    answer = typed(["read", str(written(tmp_path, more | MODELS)), "--out", str(out)])
    assert (answer.code, out.exists(), command_in(answer.text)) == (2, False, None)
    assert f"which may be the verdicts of rollouts; take `{name}` out of the file" in answer.text
    assert rates(rw.read(written(tmp_path, MODELS)), "task_success") == [("gpt-4", 2, 3, 3), ("llama-2", 1, 2, 3)]
