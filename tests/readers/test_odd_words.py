"""Words of a verdict that are not understood, and odd cells of a table: a row of PROBLEMS, never a silent null."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ReadError

CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
SHARED = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]
TABLE = "rollout_id,turn,prompt,response,{name}\na,1,Hi,Yes,{good}\nb,1,Hi,No,{odd}\nc,1,Hi,No,{good}\n"


def log_of(folder: Path, name: str, value: object) -> Path:
    """A log of one of the formats in which people state verdicts in our names."""
    records: list[dict[str, Any]] = [{"id": "a", "outcome": "success"}, {"id": "b", "outcome": value}]
    if name == "chats.jsonl":
        lines = [json.dumps(record | {"messages": CHAT}) for record in records]
    elif name == "shared.json":
        lines = [json.dumps([record | {"conversations": SHARED} for record in records])]
    else:
        body: dict[str, Any] = {"object": "chat.completion", "choices": [{"message": CHAT[1]}]}
        lines = [
            json.dumps({**record, "rollout_id": record["id"], "request": {"messages": CHAT[:1]}, "response": body})
            for record in records
        ]
    path = folder / name
    path.write_text("\n".join(lines))
    return path


@pytest.mark.integration
@pytest.mark.parametrize("name", ["chats.jsonl", "shared.json", "calls.jsonl"])
def test_a_word_for_the_outcome_that_is_not_known_is_a_problem(name, tmp_path, capsys):
    path = log_of(tmp_path, name, "won")
    turns, problems = rw.read(path, errors="collect")
    assert turns["outcome"].to_list() == ["success", None]
    assert problems.rows() == [
        (
            str(path),
            None,
            "outcome",
            "holds words that are not understood (won): null there, and kept as `outcome_source`",
        )
    ]
    rw.read(path)
    assert "1 part of records read with a doubt" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize("value", ["unjudged", "", None, "failure"])
def test_a_blank_or_known_outcome_is_none(value, tmp_path):
    _, problems = rw.read(log_of(tmp_path, "chats.jsonl", value), errors="collect")
    assert problems.height == 0


def test_words_that_are_beyond_doubt_are_read_and_no_problem(tmp_path):
    turns, problems = rw.read(log_of(tmp_path, "chats.jsonl", "refused"), errors="collect")
    assert (turns["outcome"].to_list(), problems.height) == (["success", "failure"], 0)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "good", "odd", "words"),
    [
        (
            "outcome",
            "success",
            "won",
            "'won', not one of error, failure, success, undetermined: null there; say what each",
        ),
        ("solved", "true", "maybe", "'maybe', not true or false: null there; say what each label means"),
        ("score", "0.5", "high", "'high', not a number: null there"),
        ("attempt", "1", "first", "'first', not a whole number below 2147483648: null there"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_an_odd_cell_costs_itself_and_not_the_file(name, good, odd, words, suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    text = TABLE.format(name=name, good=good, odd=odd)
    frame = pl.read_csv(text.encode(), infer_schema=False)
    if suffix == "csv":
        path.write_text(text)
    elif suffix == "jsonl":
        frame.with_columns(pl.col("turn").cast(pl.Int64)).write_ndjson(path)
    else:
        frame.write_parquet(path)
    with pytest.raises(ReadError, match=f"column `{name}` of rollout 'b'"):
        rw.read(path)
    turns, problems = rw.read(path, errors="collect")
    assert turns["rollout_id"].to_list() == ["a", "b", "c"]
    assert turns[name].is_null().to_list() == [False, True, False]
    (row,) = problems.iter_rows(named=True)
    assert (row["field"], row["file"]) == (name, str(path))
    assert words in row["reason"]


def test_many_odd_cells_of_a_column_are_one_row(tmp_path):
    lines = "".join(f"{number},1,Hi,No,high\n" for number in range(1000))
    (tmp_path / "a.csv").write_text(f"rollout_id,turn,prompt,response,score\n{lines}")
    turns, problems = rw.read(tmp_path, errors="collect")
    assert (turns.height, problems.height) == (1000, 1)
    assert "(and 999 more rows)" in problems["reason"][0]


@pytest.mark.integration
def test_an_odd_place_of_a_turn_costs_its_rollout(tmp_path):
    """It counts, as missing: its file and all other rollouts are read."""
    (tmp_path / "a.csv").write_text("rollout_id,turn,prompt,response\na,one,Hi,Yes\n")
    (tmp_path / "b.csv").write_text("rollout_id,turn,prompt,response\nb,1,Hi,Yes\n")
    turns, problems = rw.read(tmp_path, errors="collect")
    assert (turns.select("rollout_id", "turn").rows(), problems.height) == ([("a", None), ("b", 1)], 1)


def test_a_label_that_the_map_of_the_user_leaves_out_is_not_nulled(tmp_path):
    (tmp_path / "a.csv").write_text("rollout_id,turn,prompt,response,verdict\na,1,Hi,Yes,ja\nb,1,Hi,No,nein\n")
    with pytest.raises(ReadError, match="which the map of `succeeded` leaves out"):
        rw.read(tmp_path, names={"succeeded": ("verdict", {"ja": True})}, errors="collect")
