# mypy: allow-untyped-defs
"""One odd rollout of a table costs itself, in every kind of file: it counts as missing, and all others are read."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import ReadError, SchemaError

ODD = "r1"  # the rollout that is odd in each case


def rows() -> list[dict]:
    """Eight rollouts of two turns."""
    return [
        {"rollout_id": f"r{n}", "goal": f"g{n}", "turn": turn, "response": f"a{turn}", "succeeded": turn == 2}
        for n in range(8)
        for turn in (1, 2)
    ]


def changed(column: str, *values) -> list[dict]:
    """Rows whose odd rollout has these values."""
    table = rows()
    for row, value in zip((2, 3), values, strict=False):
        table[row][column] = value
    return table


def written(table: list[dict], folder: Path, suffix: str) -> Path:
    path = folder / f"log.{suffix}"
    if suffix == "jsonl":
        path.write_text("\n".join(map(json.dumps, table)))
    elif suffix == "json":
        path.write_text(json.dumps(table))
    else:
        is_mixed = len({type(row["turn"]) for row in table} - {type(None)}) > 1
        plain = [row | {"turn": str(row["turn"])} for row in table] if is_mixed else table
        frame = pl.DataFrame(plain, infer_schema_length=None)
        frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    return path


CASES = {
    "null": (changed("turn", 1, None), "turn"),
    "a word": (changed("turn", 1, "two"), "turn"),
    "a gap": (changed("turn", 1, 5), "turn"),
    "negative": (changed("turn", -1, 1), "turn"),
    "a fraction": (changed("turn", 1, 1.5), "turn"),
    "too large": (changed("turn", 1, 2**40), "turn"),
    "from 0": (changed("turn", 0, 1), "turn"),
    "twice": (changed("turn", 1, 1), "turn"),
    "one turn more": ([*rows(), rows()[3] | {"response": "other"}], "turn"),
    "a fact that varies": (changed("goal", "g1", "g2"), "goal"),
}
SUFFIXES = ["jsonl", "json", "csv", "parquet"]


@pytest.mark.integration
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("case", list(CASES))
def test_it_costs_itself(case, suffix, tmp_path):
    table, field = CASES[case]
    path = written(table, tmp_path, suffix)
    turns, problems = rw.read(path, errors="collect")
    rollouts = rw.measure(turns, m.attack_success())
    assert rollouts.filter(rollout_id=ODD)["attack_success"].to_list() == [None]
    assert rollouts.filter(pl.col("rollout_id") != ODD)["attack_success"].to_list() == [True] * 7
    assert problems.select("record", "field").rows() == [(ODD, field)]
    missing = turns.filter(rollout_id=ODD)
    assert missing.select("turn", "response", "succeeded", "outcome").rows() == [(None,) * 4]
    assert missing["goal"].to_list() == [None if field == "goal" else "g1"]
    summary = rw.summarize(rollouts, metrics="attack_success").filter(statistic="mean")
    assert summary.select("n", "n_undetermined").row(0) == (7, 1)
    accounts = rw.readers.accounting(path).row(0, named=True)
    assert accounts["records"] == len(table) == accounts["read"] + accounts["passed_over"] + accounts["broken"]
    assert (accounts["rollouts"], accounts["broken"]) == (8, 1)


@pytest.mark.integration
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("case", list(CASES))
def test_the_error_names_it_and_its_advice_works(case, suffix, tmp_path):
    table, field = CASES[case]
    path = written(table, tmp_path, suffix)
    with pytest.raises(
        ReadError, match=rf'record {ODD}: field `{field}`: .*leave it out: errors="collect" reads the rest'
    ):
        rw.read(path)
    with pytest.raises(SchemaError, match=f"`{field}`.*'{ODD}'"):
        rw.turns(table)


@pytest.mark.integration
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_line_that_was_written_twice_counts_once(suffix, tmp_path, capsys):
    table = [*rows(), rows()[2], rows()[3], rows()[3]]
    path = written(table, tmp_path, suffix)
    turns, problems = rw.read(path, errors="collect")
    assert turns.height == 16
    assert problems.select("record", "reason").rows() == [
        (ODD, "a row repeats another one in every column, and counts once")
    ]
    assert rw.read(path).equals(turns)
    assert "left out" in capsys.readouterr().err
    accounts = rw.readers.accounting(path).row(0, named=True)
    assert (accounts["records"], accounts["read"], accounts["passed_over"]) == (19, 16, 3)
    with pytest.raises(SchemaError, match=f"column `turn` of rollout '{ODD}' is 1, 1, 2, 2"):
        rw.turns(table)


@pytest.mark.integration
def test_all_that_is_odd_is_a_problem_each(tmp_path):
    table = [row | ({"turn": 7} if row["rollout_id"] in {"r2", "r5"} and row["turn"] == 2 else {}) for row in rows()]
    turns, problems = rw.read(written(table, tmp_path, "csv"), errors="collect")
    assert turns["rollout_id"].unique(maintain_order=True).to_list() == [f"r{n}" for n in range(8)]
    assert problems["record"].to_list() == ["r2", "r5"]


@pytest.mark.integration
def test_numbers_from_0_stay_numbers_from_0_beside_an_odd_one(tmp_path):
    """What most rollouts count from decides; before, one odd number cost all of them."""
    table = [row | {"turn": row["turn"] - 1} for row in rows()]
    for first, second in ((0, 5), (-1, 0), (1, 2)):
        table[2]["turn"], table[3]["turn"] = first, second
        turns, problems = rw.read(written(table, tmp_path, "csv"), errors="collect")
        assert problems["record"].to_list() == [ODD]
        assert turns.filter(pl.col("rollout_id") != ODD)["turn"].to_list() == [1, 2] * 7


@pytest.mark.thinned(2)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_row_without_an_id_costs_itself(suffix, tmp_path):
    path = written(changed("rollout_id", "r1", None), tmp_path, suffix)
    turns, problems = rw.read(path, errors="collect")
    assert turns.height == 15
    assert problems["field"].to_list() == ["rollout_id"]


def test_a_node_that_stands_twice_costs_its_tree(tmp_path):
    table = [
        {"rollout_id": name, "turn": turn, "node_id": node, "parent_id": parent, "response": "No"}
        for name in "ab"
        for turn, node, parent in ((1, "x", None), (2, "y", "x"))
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in [*table, table[3] | {"response": "Sure"}]))
    turns, problems = rw.read(path, errors="collect")
    assert problems.select("record", "field").rows() == [("b", "node_id")]
    assert turns.filter(rollout_id="a").height == 2
    path.write_text("\n".join(json.dumps(row) for row in [*table, table[3]]))
    assert rw.read(path).height == 4


@pytest.mark.integration
def test_an_odd_rollout_among_turns_that_hold_lists_costs_itself(tmp_path):
    records: list[Any] = [
        {"rollout_id": name, "turns": [{"turn": 1, "response": "No"}, {"turn": 2, "response": "No"}]} for name in "ab"
    ]
    records[1]["turns"][1]["turn"] = 4
    (tmp_path / "log.json").write_text(json.dumps(records))
    turns, problems = rw.read(tmp_path / "log.json", errors="collect")
    assert turns.select("rollout_id", "turn").rows() == [("a", 1), ("a", 2), ("b", None)]
    assert problems["record"].to_list() == ["b"]
