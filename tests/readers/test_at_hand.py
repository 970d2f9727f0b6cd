"""Chats at hand, in frames and records: the same as a file of them."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError, SchemaError
from tests.readers.both_ways import written

CALL = {"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
HELLO = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
CHATS: list[list[dict[str, Any]]] = [
    HELLO,
    [{"role": "system", "content": "Be kind."}, *HELLO * 2, {"role": "user", "content": "Bye"}],
    [
        *HELLO,
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": "42", "tool_call_id": "1"},
        {"role": "assistant", "content": "So"},
    ],
    [{"role": "user", "content": "Anyone?"}],
]


def records(chats: list[list[dict[str, Any]]], name: str = "messages") -> list[dict[str, Any]]:
    return [{"rollout_id": f"r{n}", "target": "parrot", "score": n / 2, name: chat} for n, chat in enumerate(chats)]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["messages", "turns", "conversation"])
def test_records_are_what_a_file_of_them_is(tmp_path, name):
    """Whatever is in their messages: as a list, a tuple, from a generator, of pandas."""
    rows = records(CHATS, name)
    expected = rw.read(written(tmp_path / "chats.jsonl", rows))
    assert expected["rollout_id"].unique(maintain_order=True).to_list() == ["r0", "r1", "r2", "r3"]
    for found in (rows, tuple(rows), iter(rows), pd.DataFrame(rows), pd.DataFrame(rows).set_index("rollout_id")):
        assert_frame_equal(rw.turns(found).drop("run"), expected.drop("run"), check_column_order=False)


@pytest.mark.integration
@given(st.lists(st.lists(st.sampled_from(HELLO), max_size=5), min_size=1, max_size=5))
def test_a_frame_is_what_its_records_are(chats: list[list[dict[str, Any]]]) -> None:
    """Be it of Polars, Arrow or pandas, where its lists are arrays; one that nobody speaks in as well."""
    rows = records([HELLO, *chats])
    frame, expected = pl.DataFrame(rows), rw.turns(rows).drop("run")
    for found in (frame, frame.to_arrow(), frame.to_pandas()):
        assert_frame_equal(rw.turns(found).drop("run"), expected)
    assert_frame_equal(rw.turns(frame.lazy()).collect().drop("run"), expected)


def test_names_are_those_of_the_caller():
    """What one calls their columns is said as for a table of turns."""
    found = rw.turns(
        [{"case": "x", "bot": "parrot", "talk": HELLO}],
        names={"rollout_id": "case", "target": "bot", "messages": "talk"},
    )
    assert found.select("rollout_id", "target", "turn", "response").rows() == [("x", "parrot", 1, "Hello")]
    mixed = [{"case": f"{n}", "talk": chat} for n, chat in enumerate(CHATS)]
    for rows in (mixed, pd.DataFrame(mixed)):
        assert rw.turns(rows, names={"rollout_id": "case", "messages": "talk"})["tool_calls"].count() == 1
    with pytest.raises(ArgumentError, match="'foo' is not a column of TURNS"):
        rw.turns(records(CHATS), names={"foo": "target"})
    with pytest.raises(ArgumentError, match=r"^turns: .* there is no column 'x' in these files"):
        rw.turns(records(CHATS), names={"goal": "x"})
    for names in ({"rollout_id": None}, {"goal": {"goal": "topic"}}, {"goal": ["topic"]}, "goal"):
        with pytest.raises(ArgumentError, match=r"^turns: names=.* is not a mapping of names; write names="):
            rw.turns(records(CHATS), names=names)  # type: ignore[arg-type]


PLAIN = [
    ("score", np.float32(0.5), 0.5),
    ("score", Decimal("0.5"), 0.5),
    ("score", np.array(0.5), 0.5),
    ("succeeded", np.True_, True),
    ("attempt", np.int64(2), 2),
    ("own", np.float32(0.5), 0.5),
    ("own", np.str_("x"), "x"),
    ("own", {"deep": [np.int8(1)]}, {"deep": [1]}),
    ("own", pd.NA, None),
    ("own", pd.NaT, None),
    ("own", pd.Timestamp(2026, 1, 2), dt.datetime(2026, 1, 2)),  # noqa: DTZ001  # has no zone
    ("seconds", dt.timedelta(milliseconds=1500), 1.5),
    ("seconds", pd.Timedelta(1500, "ms"), 1.5),
    ("own", dt.timedelta(1), dt.timedelta(1)),
    ("goal", dt.timedelta(1), "P1D"),
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("name", "value", "known"), PLAIN)
def test_a_value_of_a_turn_is_what_it_holds(name, value, known):
    """As a model or a frame gives it, in records and in pandas; durations of `seconds` are as many seconds."""
    rows = [{"rollout_id": "a", name: value}, {"rollout_id": "b", name: None}]
    assert rw.turns(rows)[name].to_list() == [known, None]
    assert rw.turns(pd.DataFrame(rows))[name].to_list() == [known, None]


def test_a_duration_is_no_reward():
    with pytest.raises(SchemaError, match=r"`reward` of rollout 'a' is datetime\.timedelta.*, not a number"):
        rw.turns([{"rollout_id": "a", "reward": dt.timedelta(seconds=2)}])


def test_what_holds_itself_is_refused():
    record: dict[str, Any] = {"rollout_id": "a"}
    record["own"] = [record]
    with pytest.raises(ArgumentError, match="record 0 is nested too deeply, or holds itself"):
        rw.turns([record])


def test_values_beside_chats_are_what_they_hold():
    """Numbers stay numbers; what is missing is null; days are text, as in every extra of chats."""
    rows = [{**records([HELLO])[0], "n": np.int64(3), "days": np.arange(2), "at": dt.date(2026, 1, 2)}]
    found = rw.turns(rows)
    assert found.select("n", "days", "at").rows() == [(3, "[0,1]", "2026-01-02")]
    missing = pd.DataFrame([*records([HELLO]), {"rollout_id": "b", "messages": HELLO, "target": None}])
    assert rw.turns(missing).select("target", "score").rows() == [("parrot", 0.0), (None, None)]


def test_objects_that_polars_has_no_type_for_are_text():
    """An extra that Arrow cannot hold does not keep the chats beside it from being read."""
    frame = pl.DataFrame(records([HELLO])).with_columns(odd=pl.Series([{1, 2}], dtype=pl.Object))
    assert rw.turns(frame).select("response", "odd").rows() == [("Hello", "[1,2]")]


def test_no_rows_are_no_turns():
    """A frame of chats that is filtered to nothing is an empty table of turns."""
    found = rw.turns(pl.DataFrame(records(CHATS[:2])).head(0))
    assert found.height == 0
    rw.schema.check(found, rw.schema.TURNS)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([*records(CHATS), 5], "the records: record 5: expected `object`, got `int`; fix it, or leave it out$"),
        (
            [*records([HELLO]), *records([[HELLO[0], {**HELLO[1], "content": "Ho"}]])],
            "rollout 'r0' appears twice in this file, with another conversation; .*, or keep the first$",
        ),
        (records([[{"role": "Ann", "content": "Hi"}]]), "'Ann' is not a known speaker"),
    ],
)
def test_what_is_broken_is_one_sentence_without_an_option_that_is_not_there(rows, said):
    with pytest.raises(ReadError, match=said) as told:
        rw.turns(rows)
    assert "errors=" not in str(told.value)


def test_what_is_no_json_is_refused():
    chat: list[dict[str, Any]] = [dict(HELLO[0])]
    chat[0]["again"] = chat
    with pytest.raises(ArgumentError, match="cannot be written as JSON"):
        rw.turns([{"rollout_id": "a", "messages": chat}])


def test_lists_that_are_text_are_told_to_be_decoded():
    with pytest.raises(SchemaError, match="decode the list first if it is text"):
        rw.turns(pl.DataFrame({"rollout_id": ["a"], "messages": ['[{"role": "user", "content": "Hi"}]']}))


def test_a_list_of_messages_is_one_conversation():
    assert rw.turns(HELLO).select("turn", "prompt", "response").rows() == [
        (1, HELLO[0]["content"], HELLO[1]["content"])
    ]
