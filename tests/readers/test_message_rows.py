"""A message in each row, with the id of its rollout: the same as the chats that they are."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rollwise import read, scan, turns
from rollwise.errors import ReadError
from tests.readers.both_ways import written

CHATS = {
    "a": [("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello"), ("user", "And?"), ("assistant", "007")],
    "b": [("user", "12"), ("assistant", "No"), ("user", "Bye")],
    "7": [("user", "Anyone?")],
}
ROWS: list[dict[str, Any]] = [
    {
        "rollout_id": key,
        "turn": place,
        "role": role,
        "content": text,
        "goal": f"g{key}",
        "model": "parrot",
        "attempt": 2,
    }
    for key, said in CHATS.items()
    for place, (role, text) in enumerate(said, start=1)
]
READ = [
    ("a", 1, "Be kind.", "Hi", "Hello", None),
    ("a", 2, None, "And?", "007", None),
    ("b", 1, None, "12", "No", "Bye"),
    ("7", None, None, "Anyone?", None, None),
]
COLUMNS = ("rollout_id", "turn", "context", "prompt", "response", "observation")


@pytest.mark.integration
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "parquet", "arrow"])
def test_messages_in_rows_are_the_chats_of_their_rollouts(tmp_path, suffix):
    path, frame = tmp_path / f"log.{suffix}", pl.DataFrame(ROWS)
    write: dict[str, Callable[[Path], object]] = {
        "csv": frame.write_csv,
        "tsv": lambda path: frame.write_csv(path, separator="\t"),
        "jsonl": frame.write_ndjson,
        "json": frame.write_json,
        "parquet": frame.write_parquet,
        "arrow": frame.write_ipc,
    }
    write[suffix](path)
    found = read(path)
    assert found.select(COLUMNS).rows() == READ
    assert found.select("source", "goal", "target", "attempt").rows() == [
        ("native", f"g{row[0]}", "parrot", 2) for row in READ
    ]
    assert not {"role", "content", "prompt_model", "prompt_goal", "goal_source"} & {*found.columns}
    if suffix == "parquet":
        assert_frame_equal(scan(path).collect(), found)


@pytest.mark.integration
def test_they_are_what_a_record_for_each_rollout_is(tmp_path):
    rows = [{**row, "reward": 0.5} if row["role"] == "assistant" else {**row, "mood": 1} for row in ROWS]
    told = {"rollout_id", "turn", "goal", "model", "attempt"}
    records = [
        {
            "rollout_id": key,
            "goal": f"g{key}",
            "model": "parrot",
            "attempt": 2,
            "messages": [
                {name: value for name, value in row.items() if name not in told}
                for row in rows
                if row["rollout_id"] == key
            ],
        }
        for key in CHATS
    ]
    ours, theirs = read(written(tmp_path / "a.jsonl", rows)), read(written(tmp_path / "b.jsonl", records))
    assert_frame_equal(ours.drop("source", "run"), theirs.drop("source", "run"))
    assert ours["reward"].to_list() == [0.5, 0.5, 0.5, None]


@pytest.mark.thinned(40)
@pytest.mark.parametrize(("role", "text"), [("speaker", "text"), ("from", "value"), ("author", "message")])
def test_any_words_and_rows_in_any_order(tmp_path, role, text):
    rows = [
        {"rollout_id": row["rollout_id"], "turn": row["turn"], role: row["role"], text: row["content"]} for row in ROWS
    ]
    rows = [*rows[::2], *rows[1::2]]
    assert read(written(tmp_path / "log.jsonl", rows)).select(COLUMNS).rows() == [READ[0], READ[1], READ[2], READ[3]]
    unnumbered = [{name: value for name, value in row.items() if name != "turn"} for row in ROWS]
    assert read(written(tmp_path / "log.jsonl", unnumbered)).select(COLUMNS).rows() == READ


def test_a_fact_may_stand_in_the_last_row_only(tmp_path):
    rows = [{**row, "outcome": "success" if row["content"] in {"007", "Bye"} else None} for row in ROWS]
    assert read(written(tmp_path / "log.jsonl", rows))["outcome"].to_list() == [*["success"] * 3, None]
    rows = [{**row, "outcome": "success" if row["turn"] % 2 else "failure"} for row in ROWS]
    frame = read(written(tmp_path / "log.jsonl", rows))
    assert frame["outcome"].null_count() == 4, "one that changes is none"
    assert frame["outcome_source"].to_list() == ["success", "success", "failure", None]


def test_tools_of_rows(tmp_path):
    call = [{"name": "find", "arguments": {"id": 7}}]
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "Cancel"},
        {"role": "assistant", "content": None, "tool_calls": call},
        {"role": "tool", "content": "gone"},
        {"role": "assistant", "content": "Done"},
    ]
    for suffix in ("jsonl", "csv"):
        path = tmp_path / f"log.{suffix}"
        rows = [{"rollout_id": "a", "tool_calls": None, **message} for message in said]
        if suffix == "csv":
            spelled = [{**row, "tool_calls": row["tool_calls"] and json.dumps(row["tool_calls"])} for row in rows]
            pl.DataFrame(spelled).write_csv(path)
        else:
            written(path, rows)
        frame = read(path)
        assert frame.select("prompt", "response").rows() == [("Cancel", None), ("gone", "Done")]
        assert frame["tool_calls"].to_list() == [[{"name": "find", "arguments": '{"id":7}'}], None]


def test_rows_that_are_broken_are_problems(tmp_path):
    rows = [*ROWS, {"rollout_id": None, "role": "user", "content": "x"}, 3, {"rollout_id": "d", "role": 3}]
    path = written(tmp_path / "log.jsonl", rows)
    with path.open("a") as file:
        file.write('{"rollout_id": "e", "ro\n')
    frame, problems = read(path, errors="collect")
    assert frame.select(COLUMNS).rows() == READ
    assert problems.select("record", "field").rows() == [
        ("10", "rollout_id"),
        ("11", None),
        ("13", None),
        ("12", "messages[0].role"),
    ]
    path = written(tmp_path / "log.jsonl", [{**row, "role": row["role"].replace("assistant", "Ann")} for row in ROWS])
    with pytest.raises(ReadError, match="no speaker is known as the target: Ann"):
        read(path)


def test_rows_of_turns_may_say_who_spoke(tmp_path):
    rows = [{"rollout_id": "a", "prompt": "Hi", "response": "Hello", "role": "user", "content": "Hi"}]
    assert read(written(tmp_path / "log.jsonl", rows * 2))["turn"].to_list() == [1, 2]
    assert turns(rows)["role"].to_list() == ["user"]


# ── in frames ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_a_frame_of_messages_is_the_chats_of_its_rollouts():
    frame = pl.DataFrame(ROWS).rename({"rollout_id": "chat", "role": "speaker", "content": "text"})
    for given in (frame, frame.to_dicts(), frame.to_arrow(), frame.to_pandas()):
        found = turns(given, names={"rollout_id": "chat"})
        assert found.select(COLUMNS).rows() == READ
    lazy = turns(frame.lazy(), names={"rollout_id": "chat"})
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), turns(frame, names={"rollout_id": "chat"}))


@pytest.mark.integration
def test_lists_beside_turns_are_extras():
    rows = [{"rollout_id": "a", "response": "Hello", "messages": [{"role": "user", "content": "Hi"}]}]
    assert turns(rows)["response"].to_list() == ["Hello"]
    numbered = [{"rollout_id": "a", "turn": 1, "reward": 1.0, "messages": [{"role": "user", "content": "Hi"}]}]
    assert turns(numbered)["reward"].to_list() == [1.0]
    assert turns([{"rollout_id": "a", "reward": 1.0, "chat": "a text"}])["chat"].to_list() == ["a text"]
