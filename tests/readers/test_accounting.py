"""What became of the records of each file: `records` = `read` + `passed_over` + `broken`, and the sums are those of TURNS."""

import json
from pathlib import Path

import polars as pl
import pytest

import turnwise as tw
from turnwise import schema
from turnwise.readers.problems import Problems
from turnwise.readers.read import read_into

FIXTURES = Path(__file__).parent / "fixtures"
CHAT = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}


def chats(path: Path, *lines: object) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def account(path: Path) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """TURNS, PROBLEMS and ACCOUNTING of one reading."""
    problems = Problems(collect=True)
    turns = read_into(problems, path)
    return turns, problems.frame(), problems.accounting()


def assert_adds_up(turns: pl.DataFrame, problems: pl.DataFrame, accounts: pl.DataFrame) -> None:
    schema.check(accounts, schema.ACCOUNTING)
    sums = accounts.select(pl.all().exclude("file", "format").sum()).row(0, named=True)
    assert sums["rollouts"] == turns["rollout_id"].n_unique()
    assert sums["turns"] == turns["turn"].count()
    assert sums["problems"] == problems.height
    parts = accounts.select("file", parts=pl.col("read") + pl.col("passed_over") + pl.col("broken"))
    assert parts["parts"].equals(accounts["records"])
    # Records are in rollouts exactly where the file has rollouts, and no count is below zero.
    odd = accounts.filter(
        (pl.col("read") < 0)
        | ((pl.col("rollouts") > 0) != (pl.col("read") > 0))
        | (pl.col("verdicts") > pl.col("rollouts"))
    )
    assert odd.rows(named=True) == []
    # A file without a rollout and without a word about it would have passed in silence.
    assert accounts.filter(rollouts=0, problems=0).rows() == []


def test_lines_that_cannot_be_read_and_files_of_no_format_have_their_place(tmp_path: Path) -> None:
    chats(tmp_path / "a.jsonl", CHAT, '{"messages": ', CHAT, {"messages": 3})
    (tmp_path / "notes.txt").write_text("none")
    accounts = tw.readers.accounting(tmp_path)
    counts = ("format", "records", "read", "passed_over", "broken", "rollouts", "turns", "verdicts", "problems")
    assert accounts.select(counts).rows() == [("openai_chat", 4, 2, 0, 2, 2, 2, 0, 2), (None, 0, 0, 0, 0, 0, 0, 0, 1)]
    assert_adds_up(*account(tmp_path))


def test_a_repeated_rollout_is_a_broken_record_of_the_second_file(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {"rollout_id": ["a", "a", "b"], "turn": [1, 2, 1], "prompt": "Hi", "succeeded": [None, True, False]}
    )
    rows.write_parquet(tmp_path / "1.parquet")
    rows.filter(rollout_id="b").vstack(rows.filter(rollout_id="b").with_columns(rollout_id=pl.lit("c"))).write_csv(
        tmp_path / "2.csv"
    )
    accounts = tw.readers.accounting(tmp_path)
    assert accounts.select("records", "read", "broken", "rollouts", "turns", "verdicts").rows() == [
        (3, 3, 0, 2, 3, 2),
        (2, 1, 1, 1, 1, 1),
    ]
    assert_adds_up(*account(tmp_path))


def test_small_parquet_files_that_are_read_as_one_are_counted_one_by_one(tmp_path: Path) -> None:
    for name in "ab":
        tw.turns([{"rollout_id": name, "prompt": "Hi", "response": "No"}]).write_parquet(tmp_path / f"{name}.parquet")
    assert tw.readers.accounting(tmp_path).select("format", "records", "rollouts").rows() == [("native", 1, 1)] * 2


def test_a_cached_reading_has_the_same_accounting(tmp_path: Path) -> None:
    chats(tmp_path / "logs.jsonl", CHAT, '{"messages": ')
    readings = []
    for _ in range(2):
        problems = Problems(collect=True)
        read_into(problems, tmp_path / "logs.jsonl", cache=tmp_path / "cache")
        readings.append(problems.accounting().rows())
    assert readings[0] == readings[1]
    assert readings[0][0][2:7] == (2, 1, 0, 1, 1)


def test_the_fixtures_of_all_formats_add_up() -> None:
    for folder in sorted(path for path in FIXTURES.iterdir() if path.is_dir()):
        try:
            reading = account(folder)
        except tw.errors.ReadError:  # fixtures of results that hold no rollouts
            continue
        assert_adds_up(*reading)


@pytest.mark.integration
def test_every_real_log_adds_up(shared: Path) -> None:
    reading = account(shared)
    assert_adds_up(*reading)
    assert reading[2]["rollouts"].sum() > 10_000
