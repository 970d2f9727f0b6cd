# mypy: allow-untyped-defs
"""Turns without numbers: in the order of their times, where these say another one than the rows, and else of the rows."""

from datetime import UTC, date, datetime, time

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import SchemaError

ROWS = "read turns in the order of the rows"


def table(name: str, times: list) -> pl.DataFrame:
    """A conversation whose second row is its first turn, and one in order."""
    return pl.DataFrame(
        {
            "rollout_id": ["a", "a", "b", "b"],
            name: times,
            "response": ["Sure", "No", "No", "No"],
            "succeeded": [True, False, False, False],
        },
        strict=False,
    )


def first_success(turns) -> list:
    """The turn of the first success of each rollout, null where none succeeded."""
    times = rw.measure(turns, m.time_to_success())["time_to_success"].struct.unnest()
    return [duration if seen else None for duration, seen in times.rows()]


MINUTES = ["2026-01-01 10:01", "2026-01-01 10:00", "2026-01-01 10:00", "2026-01-01 10:02"]


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("ts", MINUTES),
        ("timestamp", [f"{text.replace(' ', 'T')}:00.125Z" for text in MINUTES]),
        ("Created At", [f"{text}:00 UTC" for text in MINUTES]),
        ("timestamp", [f"{text}:00,125" for text in MINUTES]),  # as Python's logging writes
        ("start_time", ["2026-01-01T10:01:00+02:00", "2026-01-01T09:00:00+01:30", *MINUTES[2:]]),
        ("date", [date(2026, 1, 2), date(2026, 1, 1), date(2026, 1, 1), date(2026, 1, 1)]),
        ("time", [1.7e9 + 1, 1.7e9, 1.7e9, 1.7e9 + 3]),
        ("ts", [1_700_000_000_001, 1_700_000_000_000, 1_700_000_000_000, 1_700_000_000_000]),
        ("logged_at", [datetime(2026, 1, 1, 10, minute, tzinfo=UTC) for minute in (1, 0, 0, 2)]),
    ],
)
def test_times_say_the_order(name, times, tmp_path, capsys):
    frame = table(name, times)
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.jsonl")
    for path in (None, tmp_path / "a.parquet", tmp_path / "a.jsonl"):
        turns = rw.turns(frame) if path is None else rw.read(path)
        assert f"read turns in the order of `{name}`, which is not that of the rows" in capsys.readouterr().err
        assert first_success(turns) == [2, None]
        assert turns[name].len() == 4


@pytest.mark.thinned(8)
@pytest.mark.parametrize(
    ("name", "times", "why"),
    [
        ("time", [0.5, 0.25, 0.1, 0.1], "the times in `time` cannot be compared"),  # how long it took
        ("ts", [*MINUTES[:3], None], "the times in `ts` cannot be compared"),
        ("ts", [*MINUTES[:3], "later"], "the times in `ts` cannot be compared"),
        ("ts", [*MINUTES[:3], "1767261600"], "the times in `ts` cannot be compared"),
        ("ts", ["2026-01-01 01:00 PM", *["2026-01-01 11:00 AM"] * 3], "the times in `ts` cannot be compared"),
        ("date", ["01/02/2026", *["01/01/2026"] * 3], "the times in `date` cannot be compared"),  # of which month?
        ("ts", [MINUTES[0]] * 4, "no column numbers or times them"),  # says nothing
        ("harm", MINUTES, "no column numbers or times them"),
    ],
)
def test_what_is_no_time_leaves_the_rows_in_their_order(name, times, why, capsys):
    assert first_success(rw.turns(table(name, times))) == [1, None]
    assert f"{ROWS} ({why})" in capsys.readouterr().err


def test_times_in_the_order_of_the_rows_and_single_turns_need_no_word(capsys):
    assert first_success(rw.turns(table("ts", sorted(MINUTES)))) == [1, None]
    rw.turns(pl.DataFrame({"rollout_id": ["a", "b"], "response": ["x", "y"]}))
    assert "order" not in capsys.readouterr().err


def test_ties_keep_the_order_of_the_rows():
    frame = table("ts", [MINUTES[0], MINUTES[0], MINUTES[3], MINUTES[1]])
    assert rw.turns(frame)["succeeded"].to_list() == [True, False, False, False]


@pytest.mark.integration
def test_a_rollout_in_pieces_is_put_together(capsys):
    frame = table("ts", ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"])[[1, 2, 0, 3]]
    assert first_success(rw.turns(frame)) == [1, None]
    assert "in the order of `ts`" in capsys.readouterr().err


def test_two_columns_of_times_that_disagree_are_asked(capsys):
    frame = table("created_at", MINUTES).with_columns(ended_at=pl.Series(sorted(MINUTES)))
    assert first_success(rw.turns(frame)) == [1, None]
    assert f"{ROWS} (`created_at` and `ended_at` say different orders)" in capsys.readouterr().err


def test_a_clock_without_a_day_is_asked_and_the_answer_works(tmp_path, capsys):
    """After midnight it begins again."""
    frame = table("ts", ["10:01", "10:00", "10:00", "10:02"])
    frame.write_csv(tmp_path / "a.csv")
    assert first_success(rw.read(tmp_path / "a.csv")) == [1, None]
    assert '`ts` says another one: names={"turn": "ts"} takes that' in capsys.readouterr().err
    for turns in (rw.read(tmp_path / "a.csv", names={"turn": "ts"}), rw.turns(frame, names={"turn": "ts"})):
        assert first_success(turns) == [2, None]
        assert turns.select("turn", "ts").rows() == [(1, "10:00"), (2, "10:01"), (1, "10:00"), (2, "10:02")]
    assert "read turns in the order of `ts`" in capsys.readouterr().err


@pytest.mark.parametrize("times", [MINUTES, [time(10, 1), time(10, 0), time(10, 0), time(10, 2)]])
def test_times_may_be_named_the_turn(times):
    assert first_success(rw.turns(table("ts", times), names={"turn": "ts"})) == [2, None]
    assert first_success(rw.turns(table("turn", times))) == [2, None]


def test_words_named_the_turn_are_refused():
    with pytest.raises(SchemaError, match="is 'later', not a whole number"):
        rw.turns(table("ts", ["later"] * 4), names={"turn": "ts"})
