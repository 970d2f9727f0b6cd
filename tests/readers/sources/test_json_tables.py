# mypy: allow-untyped-defs
"""Tables in one JSON object, as pandas, MLflow and Weights & Biases write them, and records by name."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ReadError

ROWS: list[dict[str, Any]] = [
    {"goal": "b1", "attack": "GCG", "response": "Sure", "score": 0.75, "succeeded": True, "note": None},
    {"goal": "b2", "attack": "PAIR", "response": 'No: "é"', "score": None, "succeeded": False, "note": "x"},
    {"goal": "b3", "attack": "GCG", "response": "Well", "score": 2.0, "succeeded": None, "note": None},
]
BY_NAME = {f"r{place}": row for place, row in enumerate(ROWS)}
SPLIT: dict[str, Any] = {"columns": [*ROWS[0]], "data": [[*row.values()] for row in ROWS]}


def read(content: object, path: Path, **options: Any) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    """Write JSON, and read the columns of `ROWS`."""
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    turns = rw.read(path, **options)
    return turns, turns.select(*ROWS[0]).to_dicts()


@pytest.mark.integration
@pytest.mark.parametrize("orient", ["columns", "index", "split", "table", "records"])
@pytest.mark.parametrize("indent", [0, 2])
def test_pandas_in_every_layout(orient, indent, tmp_path, capsys):
    """`DataFrame.to_json` writes columns by default; the row numbers of the index are no column."""
    frame = pl.DataFrame(ROWS).to_pandas()
    turns, rows = read(frame.to_json(orient=orient, indent=indent), tmp_path / "mine.json")
    assert rows == ROWS
    assert "key" not in turns.columns
    assert turns["rollout_id"].n_unique() == 3
    # The row number that the layout "table" has as a column is an id of its own.
    assert ("each row as a rollout" in capsys.readouterr().err) == (orient != "table")


@pytest.mark.parametrize("orient", ["columns", "index"])
def test_the_rows_of_a_filtered_frame_keep_their_numbers(orient, tmp_path):
    """An index with gaps says which rows of another table these are."""
    frame = pl.DataFrame(ROWS).to_pandas().iloc[[0, 2]]
    turns, rows = read(frame.to_json(orient=orient), tmp_path / "mine.json")
    assert rows == [ROWS[0], ROWS[2]]
    assert turns["key"].to_list() == ["0", "2"]


@pytest.mark.thinned(40)
@pytest.mark.parametrize(
    "content",
    [
        SPLIT,
        SPLIT | {"index": [0, 1, 2]},  # pandas
        SPLIT | {"ncols": 6, "nrows": 3, "column_types": {"params": {"type_map": {}}}},  # Weights & Biases
        {"data": SPLIT["data"], "columns": SPLIT["columns"]},
    ],
)
def test_tables_of_mlflow_and_weights_and_biases(content, tmp_path):
    """Names once, then a list for each row."""
    turns, rows = read(content, tmp_path / "generations.table.json")
    assert rows == ROWS
    assert turns["turn"].to_list() == [1, 1, 1]


@pytest.mark.integration
def test_records_by_name(tmp_path):
    """The name becomes a column, which can be the goal or the id; a chat in each is read as one."""
    path = tmp_path / "results.json"
    turns, rows = read(BY_NAME, path)
    assert rows == ROWS
    assert turns["key"].to_list() == ["r0", "r1", "r2"]
    assert read(BY_NAME, path, names={"rollout_id": "key"})[0]["rollout_id"].to_list() == ["r0", "r1", "r2"]
    path.write_text(json.dumps({name: {"response": "No", "success": 0} for name in ("b1", "b2")}))
    assert rw.read(path, names={"goal": "key", "succeeded": "success"})["goal"].to_list() == ["b1", "b2"]
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    path.write_text(json.dumps({"a": {"messages": chat}, "b": {"messages": chat * 2}}))
    assert rw.read(path)["response"].to_list() == ["Hello"] * 3


@pytest.mark.integration
def test_numbers_that_are_none(tmp_path, capsys):
    """NaN, which W&B and MLflow may write, is null, and is counted."""
    text = json.dumps(SPLIT).replace("0.75", "NaN")
    turns, _ = read(text, tmp_path / "mine.json")
    assert turns["score"].to_list() == [None, None, 2.0]
    assert "NaN" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        {"columns": ["goal", "response"], "data": [["g", "No"], ["h"]]},  # a row too short
        {"columns": ["goal", "goal", "response"], "data": [["g", "h", "No"]]},
        {"goal": {"0": "g", "1": "h"}, "response": {"0": "No"}},  # a column too short
        {"llama": {"asr": 0.3}, "gpt": {"asr": 0.4}},
        {"columns": [], "data": []},
        {"columns": 3, "data": [[1]]},
        {"b1": {"response": "No", "goal": "g"}, "b2": 7},
        {"input": {"messages": [{"role": "user", "content": "Hi"}]}, "output": {"messages": []}},  # one record
    ],
)
def test_what_is_no_table_is_refused(content, tmp_path):
    """One sentence, and no rows made up."""
    with pytest.raises(ReadError, match=r"mine\.json: "):
        read(content, tmp_path / "mine.json")
