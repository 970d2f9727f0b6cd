"""ROLLOUTS that went through a file or another library give the same results as before."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise import metrics as m

pd = pytest.importorskip("pandas", reason="pandas is not installed")


def rollouts() -> pl.DataFrame:
    """Rates, times to success, dollars spent until then, and a column without values."""
    turns, _ = rw.simulate(goals=6, attempts=2, turns=4, error=0.1, seed=2)
    return rw.measure(turns, m.attack_success(), m.time_to_success(), m.spent_to_success("tokens"))


def as_csv(frame: pl.DataFrame, path: Path) -> Path:
    """Write a CSV file and return its path."""
    rw.write(frame, path)
    return path


def as_parquet_of_pandas(frame: pl.DataFrame, path: Path) -> Path:
    """Write a Parquet file by pandas and return its path."""
    frame.to_pandas().to_parquet(path)
    return path


@pytest.mark.integration
@pytest.mark.parametrize(
    "through",
    [
        lambda frame, _: frame.to_pandas(),
        lambda frame, _: frame.to_arrow(),
        lambda frame, folder: pl.read_csv(as_csv(frame, folder / "r.csv")),
        lambda frame, folder: pd.read_csv(as_csv(frame, folder / "r.csv")),
        lambda frame, folder: pl.read_parquet(as_parquet_of_pandas(frame, folder / "r.parquet")),
        lambda frame, folder: pd.read_parquet(as_parquet_of_pandas(frame, folder / "r.parquet")),
    ],
    ids=["pandas", "Arrow", "CSV, Polars", "CSV, pandas", "Parquet of pandas, Polars", "Parquet of pandas, pandas"],
)
def test_results_are_those_of_the_first_frame(through: Callable[..., object], tmp_path: Path) -> None:
    """A time is one column again, with whole turns; an amount spent stays a number; a column of nulls has its dtype."""
    made = rollouts()
    again = through(made, tmp_path)
    for result in (
        lambda frame: rw.summarize(frame, by="target"),
        lambda frame: rw.curve(frame, by="target"),
        lambda frame: rw.curve(frame, axis="tokens"),
        lambda frame: rw.contrast(frame, of="target", metrics=["attack_success", "time_to_success"]),
        rw.attempts,
    ):
        assert_frame_equal(result(again), result(made))


@pytest.mark.integration
def test_an_amount_of_whole_numbers_is_no_time() -> None:
    """Only columns called time_to_... are taken for times: 300 tokens are not 300 turns."""
    made = rollouts().rename({"time_to_success": "turns"})
    spent = made.with_columns(budget=pl.col("spent_to_success_tokens")).to_pandas()
    assert set(rw.summarize(spent)["metric"]) == {"num_turns", "attack_success"}
