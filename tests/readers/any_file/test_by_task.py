"""A table with one row for each task, beside the rollouts of these tasks: both count, and a line says so."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw

RUNS = [
    {"task": f"fix-{task}", "model": model, "solved": (task + len(model)) % 3 == 0}
    for task in range(4)
    for model in ("alpha", "be")
]
BY_TASK: list[dict[str, Any]] = [{"task": f"fix-{task}", "solved": task % 2 == 0} for task in range(4)]
NOTICE = "has a row for each task of {}, and both count: leave it out if it is a summary of these"


@pytest.mark.thinned(3)
@pytest.mark.parametrize("suffix", ["csv", "json", "jsonl"])
def test_a_table_by_task_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    """In any form, whatever it is called: no rollout is counted twice in silence."""
    for name, rows in (("runs", RUNS), ("overview", BY_TASK)):
        frame, path = pl.DataFrame(rows), tmp_path / f"{name}.{suffix}"
        if suffix == "csv":
            frame.write_csv(path)
        elif suffix == "jsonl":
            frame.write_ndjson(path)
        else:
            path.write_text(json.dumps({name: rows}))
    assert rw.read(tmp_path)["rollout_id"].n_unique() == 12
    assert f"overview.{suffix} {NOTICE.format(f'runs.{suffix}')}" in capsys.readouterr().err
    assert rw.read(tmp_path / f"runs.{suffix}").height == 8  # as the line says


@pytest.mark.integration
@pytest.mark.parametrize(
    "other",
    [
        [row | {"model": "gamma"} for row in BY_TASK],  # another model
        [row | {"task": f"other-{place}"} for place, row in enumerate(BY_TASK)],  # other tasks
        BY_TASK[:2],  # by chance
    ],
)
def test_rollouts_of_their_own_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: list[dict[str, Any]]
) -> None:
    """A second run of the same tasks, or of others, has nothing to be said of."""
    pl.DataFrame(RUNS).write_csv(tmp_path / "runs.csv")
    pl.DataFrame(other).write_csv(tmp_path / "second.csv")
    assert rw.read(tmp_path)["rollout_id"].n_unique() == 8 + len(other)
    assert "both count" not in capsys.readouterr().err
