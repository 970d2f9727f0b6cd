"""The CSV file of a report: no cell of it is a formula."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw


@pytest.mark.integration
def test_names_that_are_formulas_are_text_in_the_csv_alone(tmp_path: Path) -> None:
    names = {"base": "=cmd|' /C calc'!A0", "guarded": "@SUM(1)"}
    turns, _ = rw.simulate(goals=4, attempts=2, turns=2, seed=1)
    turns = turns.with_columns(pl.col("target").replace(names), attack=pl.lit("+1"))
    rw.report(turns, tmp_path / "report")
    with (tmp_path / "report" / "summary.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["target"] for row in rows} == {f"'{name}" for name in names.values()}
    numbers = {"estimate", "low", "high", "std_error"}
    assert not [
        cell for row in rows for name, cell in row.items() if name not in numbers and cell[:1] in "=+-@" and cell
    ]
    summary = json.loads((tmp_path / "report" / "summary.json").read_text(encoding="utf-8"))
    assert {row["target"] for row in summary} == set(names.values())
    assert set(pl.read_parquet(tmp_path / "report" / "summary.parquet")["target"]) == set(names.values())
