"""Rollouts that hold their turns: the same table as that of their turns, however it is read."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from rollwise import read
from rollwise.errors import ArgumentError, ReadError
from tests.readers.both_ways import result, written

FIXTURE = Path(__file__).parent / "fixtures" / "native" / "nested.jsonl"
ROLLOUTS: list[dict[str, Any]] = [
    {
        "rollout_id": place,
        "target": "parrot",
        "goal": f"g{place % 2}",
        "seed": place,
        "turns": [
            {"probe": f"Hi {place} {turn}", "response": "Hé" * turn, "reward": turn / 2, "note": {"k": [turn]}}
            for turn in range(place % 3 + 1)
        ],
    }
    for place in range(7)
]


def test_a_record_for_each_rollout_is_read():
    frame = read(FIXTURE)
    assert frame.select("rollout_id", "turn", "source", "target", "goal").rows() == [
        ("n1", 1, "native", "parrot", "g1"),
        ("n1", 2, "native", "parrot", "g1"),
        ("n2", None, "native", "parrot", "g2"),
        ("n3", 1, "native", "owl", "g1"),
    ]
    assert frame["prompt"].to_list() == ["Hi", "And?", None, "Hi"]
    assert frame["response"].to_list() == ["Hello", "No", None, None]
    assert frame["reward"].to_list() == [0.5, 1.0, None, 0.25]
    assert frame["context"].to_list() == ["Be kind.", None, None, None], "that of the record is said once"
    assert frame["rollout_reward"].to_list() == [1.5, 1.5, None, 0.25], "a total is no reward of a turn"
    assert frame["note"].to_list() == [None, None, None, {"k": [1]}]
    assert "turns" not in frame.columns


@pytest.mark.integration
@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".ndjson", ".jsonl.gz"])
def test_lines_a_list_and_packed_lines_are_the_same(tmp_path, suffix):
    import gzip

    path = tmp_path / f"log{suffix}"
    lines = "".join(json.dumps(record) + "\n" for record in ROLLOUTS).encode()
    path.write_bytes({".json": json.dumps(ROLLOUTS).encode(), ".jsonl.gz": gzip.compress(lines)}.get(suffix, lines))
    frame = read(path)
    assert_frame_equal(frame, read(written(tmp_path / "other.jsonl", ROLLOUTS)))
    assert frame["rollout_id"].rle().struct.field("len").to_list() == [len(record["turns"]) for record in ROLLOUTS]
    assert frame.height == sum(len(record["turns"]) for record in ROLLOUTS)


def test_rollouts_that_count_their_turns_are_read(tmp_path):
    counted = [{**record, "num_turns": len(record["turns"])} for record in ROLLOUTS]
    assert read(written(tmp_path / "log.jsonl", counted))["num_turns"].to_list()[:3] == [1, 2, 2]


def test_one_rollout_alone_is_one(tmp_path):
    path = tmp_path / "one.json"
    path.write_text(json.dumps(ROLLOUTS[2]))
    assert read(path)["prompt"].to_list() == ["Hi 2 0", "Hi 2 1", "Hi 2 2"]


def test_what_turns_say_comes_before_what_the_record_says(tmp_path):
    turns = [
        {"prompt": "p", "target": "a", "n": 1, "rollout_id": "x", "turn": 0},
        {"prompt": "q", "target": "a", "turn": 1},
    ]
    record = {"rollout_id": "r", "target": "b", "n": 2, "rollout_n": 3, "turn": 7, "question": "Why?", "turns": turns}
    frame = read(written(tmp_path / "log.jsonl", [record] * 1))
    assert frame["turn"].to_list() == [1, 2], "counted from 0 as in any table"
    assert frame["target"].to_list() == ["a", "a"]
    assert frame["n"].to_list() == [1, None]
    kept = {
        "rollout_target": "b",
        "rollout_rollout_n": 2,
        "rollout_n": 3,
        "rollout_turn": 7,
        "rollout_question": "Why?",
    }
    assert frame.select(*kept).rows(named=True) == [kept, kept]
    assert frame["rollout_id_source"].to_list() == ["x", None]


@pytest.mark.integration
def test_broken_lines_and_rollouts_said_twice_are_problems(tmp_path):
    path = written(tmp_path / "log.jsonl", ROLLOUTS)
    whole = read(path)
    with path.open("a") as file:
        file.write(
            '\n{"rollout_id": 9, "tur\n{"turns": []}\n{"rollout_id": 10, "turns": 3}\n{"rollout_id": 11, "turns": [4]}\n'
        )
        file.write('{"rollout_id": "3", "turns": [{"probe": "again"}]}\n{"rollout_id": 1.5, "turns": []}\n')
    frame, problems = read(path, errors="collect")
    assert_frame_equal(frame, whole)
    assert problems.select("record", "field").rows() == [
        ("9", None),
        ("10", "rollout_id"),
        ("11", "turns"),
        ("12", "turns[0]"),
        ("14", "rollout_id"),
        ("3", None),
    ]
    assert problems["reason"][-1].startswith("rollout '3' appears twice in this file")
    with pytest.raises(ReadError, match="record 9: is not valid JSON"):
        read(path)


@pytest.mark.integration
def test_a_rollout_in_two_files_is_a_problem(tmp_path):
    written(tmp_path / "a.jsonl", ROLLOUTS)
    written(tmp_path / "b.jsonl", ROLLOUTS[2:3])
    written(tmp_path / "c.jsonl", [{**ROLLOUTS[2], "turns": [{"probe": "Another", "reply": "one"}]}])
    _, problems = read([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], errors="collect")
    assert problems["reason"].str.contains(r"rollout '2' appears in .*a\.jsonl as well, and counts once").all()
    with pytest.raises(ReadError, match=r"rollout '2' appears in .*a\.jsonl as well, with another conversation"):
        read(tmp_path)


def test_a_list_of_turns_that_says_nothing_is_no_table(tmp_path):
    for turns in ([3], [{"mood": "good"}], 2):
        with pytest.raises(ReadError, match="is not recognized"):
            read(written(tmp_path / "log.jsonl", [{"rollout_id": 1, "turns": turns}] * 2))


# ── some columns only ────────────────────────────────────────────────────────────────────────────────────────────────
WANTED = ["reward", "prompt", "target", "context", "note", "seed", "outcome", "attack", "late", "rollout_late", "later"]


@pytest.mark.integration
@given(
    st.lists(st.sampled_from(WANTED), unique=True),
    st.lists(st.sampled_from(["input", "attack", "reward", "context", "turn", "node_id"]), unique=True, max_size=3),
)
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_some_columns_are_as_in_the_whole_table(tmp_path_factory, wanted, more):
    records = [
        {
            "context": "c",
            "reward": place,
            "note": None,
            "attack": "PAIR",
            "rollout_x": 1,
            **record,
            **({"late": place} if place > 3 else {}),
            "turns": [
                {
                    **turn,
                    **({"late": at, "later": None} if place > 4 else {}),
                    **{name: at if name in {"reward", "turn"} else f"{name} {place} {at}" for name in more},
                }
                for at, turn in enumerate(record["turns"])
            ],
        }
        for place, record in enumerate(ROLLOUTS)
    ]
    path = written(tmp_path_factory.mktemp("nested") / "log.jsonl", records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rollwise.readers.sources.contents.BLOCK", 400)
        whole = result(path)
        some = result(path, columns=wanted)
    if not isinstance(whole, str):  # what is not wanted may be what it was refused for
        assert not isinstance(some, str)
        keys = ["rollout_id", "turn", *(["node_id"] if "node_id" in more else [])]
        assert_frame_equal(some[0], whole[0].select(*keys, *wanted))


@pytest.mark.integration
def test_some_columns_of_any_log_and_of_a_cache(tmp_path):
    chats = FIXTURE.parent.parent / "openai_chat" / "chats.jsonl"
    for paths in (chats, FIXTURE, [chats, FIXTURE], FIXTURE.parent / "toy.csv"):
        frame = read(paths)
        for cache in (None, tmp_path, tmp_path):
            found = read(paths, columns=["response", "reward"], cache=cache)
            assert_frame_equal(found, frame.select("rollout_id", "turn", "response", "reward"))
    for name in ("rollout_reward", "note", "prompt", "context"):
        assert read(FIXTURE, columns=name)[name].equals(read(FIXTURE)[name])
    named = read(FIXTURE, columns="goal", attack="PAIR")
    assert named.columns == ["rollout_id", "turn", "goal", "attack"]
    assert named["attack"].to_list() == ["PAIR"] * 4
    with pytest.raises(ArgumentError, match="there is no column 'harm'"):
        read(FIXTURE, columns=["harm"])
    many = [f"c{number}" for number in range(70)]
    path = written(tmp_path / "log.jsonl", [{**record, **dict.fromkeys(many, 1)} for record in ROLLOUTS])
    assert read(path, columns=many).select(many).unique().rows() == [(1,) * 70]


def test_what_is_passed_over_must_be_json(tmp_path):
    path = written(tmp_path / "log.jsonl", ROLLOUTS)
    with path.open("a") as file:
        file.write(
            '{"rollout_id": 8, "mood": [1, 2, "turns": []}\n{"rollout_id": 9, "mood": {"a": "b"}, "turns": []}\n'
        )
    frame, problems = read(path, columns=["seed"], errors="collect")
    assert frame["rollout_id"].n_unique() == len(ROLLOUTS) + 1
    assert problems["record"].to_list() == ["8"]


# ── the same as a row for each turn ──────────────────────────────────────────────────────────────────────────────────
JSON = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    JSON | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=3,
)
BESIDE = st.dictionaries(st.sampled_from(["seed", "mood", "x"]), VALUES, max_size=3)
SAID = st.fixed_dictionaries(
    {"probe": st.none() | st.text(max_size=3) | st.integers(0, 3)},
    optional={"response": st.text(max_size=3), "reward": st.floats(0, 1), "note": VALUES, "flag": st.booleans()},
)


@pytest.mark.integration
@given(st.lists(st.tuples(BESIDE, st.lists(SAID, min_size=1, max_size=4)), min_size=1, max_size=150))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_it_is_the_table_of_its_turns(tmp_path_factory, rollouts):
    folder = tmp_path_factory.mktemp("nested")
    known = written(
        folder / "nested.jsonl",
        [{"rollout_id": place, **beside, "turns": turns} for place, (beside, turns) in enumerate(rollouts)],
    )
    rows = [{"rollout_id": place, **beside, **turn} for place, (beside, turns) in enumerate(rollouts) for turn in turns]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rollwise.readers.native.row_buffer.CHUNK", 3)
        patch.setattr("rollwise.readers.sources.contents.BLOCK", 300)
        ours, theirs = result(known), result(written(folder / "flat.jsonl", rows))
    assert isinstance(ours, str) == isinstance(theirs, str)
    if not isinstance(ours, str) and not isinstance(theirs, str):
        assert_frame_equal(ours[0], theirs[0], check_column_order=False)


@pytest.mark.integration
def test_lines_end_as_they_may_and_rollouts_may_have_no_turns(tmp_path):
    path = written(tmp_path / "log.jsonl", ROLLOUTS)
    whole = read(path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n") + b"\r\n{}\r\n")
    assert_frame_equal(read(path, errors="collect")[0], whole)
    written(path, [{**record, "turns": record["turns"][: place % 2]} for place, record in enumerate(ROLLOUTS)])
    assert read(path)["turn"].to_list() == [None, 1, None, 1, None, 1, None]


@pytest.mark.integration
def test_turns_may_have_turns(tmp_path):
    records = [{**record, "turns": [{**turn, "turns": 2} for turn in record["turns"]]} for record in ROLLOUTS]
    path = written(tmp_path / "log.jsonl", records)
    assert read(path)["turns"].to_list() == [2] * read(path).height


@pytest.mark.integration
def test_many_columns_are_read(tmp_path):
    records = [{**record, **{f"c{number}": number for number in range(600)}} for record in ROLLOUTS]
    frame = read(written(tmp_path / "log.jsonl", records))
    assert frame["c99"].to_list() == [99] * frame.height


def test_a_column_that_mixes_types_across_blocks_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("rollwise.readers.native.row_buffer.CHUNK", 2)
    monkeypatch.setattr("rollwise.readers.sources.contents.BLOCK", 300)
    mixed: list[Any] = [1, 2, 2.5, 3, "a", None, 2**80]
    records = [
        {**record, "seed": mixed[: place + 1][-1], "whole": place if place % 2 else place / 2, "nothing": None}
        for place, record in enumerate(ROLLOUTS)
    ]
    frame = read(written(tmp_path / "log.jsonl", records)).unique("rollout_id", keep="first", maintain_order=True)
    assert frame["seed"].to_list() == ["1", "2", "2.5", "3", '"a"', None, str(2**80)]
    assert frame["whole"].to_list() == [0.0, 1.0, 1.0, 3.0, 2.0, 5.0, 3.0]
    assert frame["nothing"].dtype == pl.String
