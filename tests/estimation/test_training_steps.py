"""Which column counts the steps of training, and which counts what an agent or an attack took."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw

ANALYSIS = "rates by step of training"


def call_of(frame: pl.DataFrame) -> str | None:
    """Return the call that `doctor` gives for the course of training."""
    return rw.doctor(rw.turns(frame)).filter(analysis=ANALYSIS)["call"].item()


def crossed(name: str, **facts: Any) -> pl.DataFrame:
    """Four values of a column, each with the same six tasks."""
    rows = [{"task": f"t{task}", name: value} for value in (3, 4, 5, 6) for task in range(6)]
    solved = [(index * 7) % 5 < 3 for index in range(len(rows))]
    return pl.DataFrame(rows).with_columns(response=pl.lit("x"), solved=pl.Series(solved)).with_columns(**facts)


@pytest.mark.integration
@pytest.mark.parametrize(
    "name",
    ["steps", "n_steps", "num_steps", "max_steps", "first_error_step", "steps_taken", "step_count", "agent_step",
     "total_steps", "numSteps", "last_step", "step_limit"],
)  # fmt: skip
def test_steps_of_an_agent_are_no_steps_of_training(name: str) -> None:
    """Whatever their values are: even where all tasks took each number of steps."""
    assert call_of(crossed(name)) is None


@pytest.mark.integration
@pytest.mark.parametrize(
    "name",
    ["train_step", "training_step", "trainStep", "global_step", "trainer/global_step", "Training Step", "checkpoint",
     "ckpt", "checkpoint_step", "train_epoch", "iteration", "step", "policy_update"],
)  # fmt: skip
def test_steps_of_training_are_known_by_their_name(name: str) -> None:
    """In the spelling of the trainer."""
    assert f"step={name!r}" in str(call_of(crossed(name)))


@pytest.mark.integration
def test_a_step_that_each_rollout_has_for_itself_is_none() -> None:
    """What one rollout alone has is nothing that several were made with."""
    frame = crossed("train_step")
    assert call_of(frame.with_columns(train_step=pl.int_range(pl.len()))) is None
    assert call_of(frame.with_columns(train_step=pl.lit(7))) is None


def test_a_step_of_no_stated_training_has_the_same_goals_or_a_batch() -> None:
    """`step` and `iteration` may be how far an attack came: then each goal has a number of its own."""
    frame = crossed("step")
    batches = frame.with_columns(task=pl.format("{}-{}", "step", "task"))
    assert call_of(batches) is not None
    of_tasks = frame.with_columns(step=10 + pl.col("task").str.slice(1).cast(pl.Int64) % 5)
    assert call_of(of_tasks) is None
    assert call_of(of_tasks.rename({"step": "iteration"})) is None
    assert call_of(of_tasks.rename({"step": "global_step"})) is not None
    assert call_of(frame.with_columns(attack=pl.lit("PAIR"))) is None
    assert call_of(frame.with_columns(attack=pl.lit("none"))) is not None


@pytest.mark.integration
def test_a_report_of_agents_has_no_course_of_training(tmp_path: Path) -> None:
    """The default report, of steps that vary within each task."""
    rows = [
        {"task": f"t{n % 3}", "target": "a", "response": "x", "solved": n % 4 > 0, "steps": 3 + n % 4}
        for n in range(24)
    ]
    page = rw.report(rw.turns(pl.DataFrame(rows)), tmp_path / "report", progress=False)
    assert not (page.parent / "training.parquet").exists()
    assert "training" not in page.read_text(encoding="utf-8").partition("<main>")[2].partition("How was it computed")[0]
