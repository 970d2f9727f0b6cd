"""Tables of turns in JSON lines: the same as by `json` and `turns`."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from rollwise import read, turns
from rollwise.errors import ReadError, RollwiseError
from tests.readers.both_ways import result, written

TURNS: list[dict[str, Any]] = [
    {
        "rollout_id": f"r{place // 3}",
        "turn": place % 3 + 1,
        "target": "parrot",
        "prompt": "Hé \U0001f99c" * (place % 2),
        "reply": "No",
        "reward": place / 2,
        "seed": place,
        "note": {"k": [place]},
    }
    for place in range(12)
]


@pytest.mark.integration
def test_lines_are_read_whatever_their_ends(tmp_path):
    path = written(tmp_path / "log.jsonl", TURNS)
    assert_frame_equal(read(path).drop("source"), turns(TURNS).drop("source"))
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert_frame_equal(read(path).drop("source"), turns(TURNS).drop("source"))


@pytest.mark.integration
def test_what_is_broken_is_a_problem_and_nothing_else_is_lost(tmp_path):
    path = tmp_path / "log.jsonl"
    lines = [json.dumps(record) for record in TURNS]
    broken = ['{"rollout_id": "x", "tur', "[1]", '{"turn": 1, "prompt": "whose?"}', '{"rollout_id": null}', "7"]
    path.write_text("\n".join([*lines[:6], *broken, *lines[6:]]))
    frame, problems = read(path, errors="collect")
    assert_frame_equal(frame.drop("source"), turns(TURNS).drop("source"))
    assert problems.select("record", "field").rows() == [
        ("7", None),
        ("8", None),
        ("9", "rollout_id"),
        ("10", "rollout_id"),
        ("11", None),
    ]
    with pytest.raises(ReadError, match="record 7: is not valid JSON"):
        read(path)


def test_keys_that_come_go_and_change_their_types(tmp_path, monkeypatch):
    monkeypatch.setattr("rollwise.readers.native.row_buffer.CHUNK", 3)
    records = [
        {"rollout_id": place, "prompt": "p", **({"late": place} if place > 5 else {"early": 2**70 + place})}
        for place in range(12)
    ]
    records[8]["late"] = "eight"
    path = written(tmp_path / "log.jsonl", records)
    monkeypatch.setattr("rollwise.readers.sources.contents.BLOCK", 120)
    frame = read(path)
    assert frame["late"].to_list() == [*[None] * 6, "6", "7", '"eight"', "9", "10", "11"]
    assert frame["early"].to_list() == [*(str(2**70 + place) for place in range(6)), *[None] * 6]
    assert frame["rollout_id"].to_list() == [str(place) for place in range(12)]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=3,
)
RECORDS = st.fixed_dictionaries(
    {"rollout_id": st.integers(-3, 3) | st.text(st.characters(exclude_categories=["Cs"]), max_size=2)},
    optional={
        "prompt": st.text(max_size=3) | st.integers(0, 3),
        "reward": st.floats(0, 1) | st.integers(0, 1),
        "succeeded": st.none() | st.booleans(),
        **dict.fromkeys(["mood", "x", "rollout_x", "é"], VALUES),
    },
)


@pytest.mark.integration
@given(st.lists(RECORDS, min_size=2, max_size=60))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_it_is_what_a_loop_gives(tmp_path_factory, records):
    records = [{"response": "r", **record} for record in records]
    path = written(tmp_path_factory.mktemp("flat") / "log.jsonl", records)
    with path.open() as file:
        slow = [json.loads(line) for line in file]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rollwise.readers.native.row_buffer.CHUNK", 3)
        patch.setattr("rollwise.readers.sources.contents.BLOCK", 200)
        found = result(path)
    if isinstance(found, str):  # what is said of the file is said of the table
        with pytest.raises(RollwiseError) as refused:
            turns(slow)
        assert str(refused.value).partition(";")[0] in found
        return
    loop = turns(slow).with_columns(pl.col(pl.Null).cast(pl.String))
    assert_frame_equal(found[0].drop("source"), loop.drop("source"), check_column_order=False)


WANTED = ["reward", "prompt", "target", "note", "seed", "late", "rollout_late"]


@pytest.mark.integration
@given(st.lists(st.sampled_from(WANTED), unique=True))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_some_columns_are_as_in_the_whole_table(tmp_path_factory, wanted):
    records = [
        {"rollout_late": 1, **record, **({"late": place} if place > 4 else {})} for place, record in enumerate(TURNS)
    ]
    path = written(tmp_path_factory.mktemp("flat") / "log.jsonl", records)
    assert_frame_equal(read(path, columns=wanted), read(path).select("rollout_id", "turn", *wanted))


def test_what_is_passed_over_must_be_json(tmp_path):
    path = written(tmp_path / "log.jsonl", TURNS)
    with path.open("a") as file:
        file.write('{"rollout_id": "s", "mood": [1, 2}\n{"rollout_id": "t", "mood": {"a": "b"}}\n')
    frame, problems = read(path, columns=["seed"], errors="collect")
    assert frame["rollout_id"].unique(maintain_order=True).to_list() == ["r0", "r1", "r2", "r3", "t"]
    assert problems["record"].to_list() == ["13"]


@pytest.mark.integration
def test_many_columns_are_read(tmp_path):
    records = [{**record, **{f"c{number}": number for number in range(600)}} for record in TURNS]
    assert read(written(tmp_path / "log.jsonl", records))["c99"].to_list() == [99] * len(TURNS)


@pytest.mark.integration
def test_a_name_of_its_own_in_each_record_is_read(tmp_path):
    path = written(
        tmp_path / "log.jsonl", [{"rollout_id": place, "prompt": "p", f"k{place}": place} for place in range(200)]
    )
    assert [read(path)[f"k{place}"][place] for place in range(200)] == list(range(200))


@pytest.mark.integration
@pytest.mark.parametrize("form", ["list", "table"])
def test_a_list_is_the_same_as_lines(tmp_path, form):
    path: Path = tmp_path / "log.json"
    path.write_text(json.dumps(TURNS if form == "list" else {"turns": TURNS}))
    assert_frame_equal(read(path), read(written(tmp_path / "log.jsonl", TURNS)))
    assert read(path, columns="seed").columns == ["rollout_id", "turn", "seed"]
    assert read(path)["seed"].dtype == pl.Int64


@pytest.mark.integration
@pytest.mark.parametrize("name", ['a "quote"', "back\\slash", "\x00", "line\nbreak", "half \ud83d", "", "größe\u2028"])
@pytest.mark.parametrize("shape", ["turns", "rollouts", "chats"])
def test_names_of_any_letters(tmp_path, shape, name):
    """Any name of a column comes through, asked for or not, wherever it stands in a record."""
    if shape == "turns":
        records = [{"rollout_id": f"r{place}", "turn": 1, "response": "said", name: place} for place in range(9)]
    elif shape == "rollouts":
        records = [{"rollout_id": f"r{place}", "turns": [{"response": "said", name: place}]} for place in range(9)]
    else:
        said = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "said"}]
        records = [{"id": place, "messages": said, name: place} for place in range(9)]
    path = written(tmp_path / "log.jsonl", records)
    frame = read(path)
    assert frame["response"].to_list() == ["said"] * 9
    own = [
        column
        for column in frame.columns
        if frame[column].cast(pl.String).to_list() == [f"{place}" for place in range(9)]
    ]
    assert own
    if shape != "chats" and name:  # what has no name gets one when the whole table is known
        assert_frame_equal(read(path, columns=own), frame.select("rollout_id", "turn", *own))
