"""Columns of nulls and whole numbers that no column can hold cost themselves, and stop nothing."""

import json

import polars as pl
import pytest
from readers.mutants import FIXTURES  # type: ignore[import-not-found]  # needs the path of tests

from rollwise import read


@pytest.mark.parametrize("column", ["step", "prompt", "completion", "accuracy", "advantage"])
def test_a_column_of_nulls_of_trl(column, tmp_path):
    rows = {
        "step": [5, 5],
        "prompt": ["a", "b"],
        "completion": ["4", "5"],
        "accuracy": [1.0, 0.0],
        "advantage": [0.7, 0.2],
    }
    pl.DataFrame({**rows, column: [None, None]}).write_parquet(tmp_path / "completions_00005.parquet")
    turns = read(tmp_path)
    assert turns.height == 2
    assert turns["task"].null_count() == (2 if column == "prompt" else 0)


@pytest.mark.parametrize("trial", [10**40, 2**70, 2**63, 2**31])
def test_a_trial_of_tau_bench_that_no_column_holds(trial, tmp_path):
    records = json.loads((FIXTURES / "tau_bench" / "list.json").read_text())
    records[0]["trial"] = trial
    (tmp_path / "list.json").write_text(json.dumps(records))
    turns, problems = read(tmp_path / "list.json", errors="collect")
    assert problems.select("field", "reason").rows() == [("trial", "expected `int` <= 2147483646")]
    assert turns["attempt"].null_count() == 1
