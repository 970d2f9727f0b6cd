"""An id of prompts that repeats over rollouts is their task; one that never does may be that of a message."""

from pathlib import Path

import polars as pl
import pytest

import rollwise as rw


@pytest.mark.integration
@pytest.mark.parametrize("name", ["prompt_id", "Prompt ID", "question_id", "promptId"])
def test_an_id_that_repeats_is_the_task(tmp_path: Path, name: str) -> None:
    """Its rollouts are not independent, so the interval is of tasks."""
    ids = [f"p{row % 10}" for row in range(200)]
    frame = pl.DataFrame({name: ids, "response": [f"text {row}" for row in range(200)]})
    frame.with_columns(jailbroken=pl.int_range(200) % 3 == 0).write_csv(tmp_path / "own.csv")
    turns = rw.read(tmp_path / "own.csv")
    assert turns["task"].to_list() == ids
    row = rw.summarize(rw.measure(turns), metrics="attack_success").row(0, named=True)
    assert (row["n"], row["n_clusters"]) == (200, 10)


@pytest.mark.integration
def test_an_id_that_never_repeats_stays_a_column(tmp_path: Path) -> None:
    """Also that of the messages in a chat."""
    frame = pl.DataFrame({"prompt_id": [f"p{row}" for row in range(20)], "response": ["text"] * 20})
    frame.with_columns(jailbroken=pl.int_range(20) % 2 == 0, target=pl.lit("m")).write_csv(tmp_path / "own.csv")
    turns = rw.read(tmp_path / "own.csv")
    assert turns["task"].null_count() == 20
    assert turns["prompt_id"].n_unique() == 20
