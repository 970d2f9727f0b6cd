"""Small files that are alike are read as one, and say what each by itself would have said."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise.errors import ReadError
from rollwise.readers.native import batches


@pytest.fixture(scope="module")
def turns() -> pl.DataFrame:
    return rw.simulate(goals=6, attempts=2, turns=4, seed=3)[0].sort("goal", maintain_order=True)


def by_goal(turns: pl.DataFrame, folder: Path, *, hive: bool = False) -> list[Path]:
    """A file for each goal."""
    paths = []
    for number, (_, part) in enumerate(turns.group_by("goal", maintain_order=True)):
        place = folder / f"split={'ab'[number // 3]}" if hive else folder
        place.mkdir(parents=True, exist_ok=True)
        part.write_parquet(place / f"{number}.parquet")
        paths.append(place / f"{number}.parquet")
    return paths


@pytest.fixture
def read_as_one(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files were read as one, each time."""
    told: list[int] = []
    together = batches.Batches._together

    def counted(self: batches.Batches, waiting: list[batches.Waiting]) -> bool:
        done = together(self, waiting)
        told.append(len(waiting) if done else 0)
        return done

    monkeypatch.setattr(batches.Batches, "_together", counted)
    return told


@pytest.mark.integration
@pytest.mark.parametrize("hive", [False, True])
def test_they_are_the_table_that_one_file_is(
    turns: pl.DataFrame, tmp_path: Path, read_as_one: list[int], hive: bool
) -> None:
    """The same rows in the same order; what folders say is said of the files in them."""
    by_goal(turns, tmp_path / "logs", hive=hive)
    turns.write_parquet(tmp_path / "one.parquet")
    found, whole = rw.read(tmp_path / "logs"), rw.read(tmp_path / "one.parquet")
    assert read_as_one == ([3, 3] if hive else [6])
    if hive:
        halves = found.group_by("split", maintain_order=True).agg(pl.col("goal").unique(maintain_order=True))
        assert halves["split"].to_list() == ["a", "b"]
        assert halves["goal"].explode().to_list() == whole["goal"].unique(maintain_order=True).to_list()
    assert_frame_equal(found.drop("split", strict=False), whole)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda part: part.with_columns(turn=pl.col("turn") + 1), r"2\.parquet.*turn"),
        (lambda part: part.with_columns(target=pl.col("turn").cast(pl.String)), r"2\.parquet.*target"),
        (lambda part: part.with_columns(rollout_id=pl.lit(None, pl.String)), r"2\.parquet.*`rollout_id`: is missing"),
        (lambda part: part.reverse().head(1), r"2\.parquet.*turn"),
        (lambda part: part.clear(), None),
        (lambda part: part.with_columns(reward=pl.lit(float("nan"))), None),
    ],
    ids=["from 2", "fact changes", "nobody's", "torn", "empty", "NaN"],
)
def test_what_is_wrong_with_one_is_said_of_that_one(
    turns: pl.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[pl.DataFrame], pl.DataFrame],
    words: str | None,
) -> None:
    """As where each is read by itself: the same rows, the same problems, one for each rollout or row, the same sentence."""
    paths = by_goal(turns.with_columns(reward=pl.lit(0.5)), tmp_path)
    part = pl.read_parquet(paths[2])
    spoil(part).select(part.columns).write_parquet(paths[2])
    as_one = told_of(tmp_path)
    monkeypatch.setattr(batches, "SMALL", -1)
    assert_frame_equal(as_one[0], (each := told_of(tmp_path))[0])
    assert_frame_equal(as_one[1], each[1])
    assert as_one[2] == each[2]
    assert each[1]["file"].unique().to_list() == [str(paths[2])]
    assert each[2] is None if words is None else re.search(words, str(each[2]))


def told_of(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame, str | None]:
    """The turns, the problems, and the error where they are not collected."""
    found, problems = rw.read(folder, errors="collect")
    try:
        rw.read(folder)
    except ReadError as error:
        return found, problems, str(error)
    return found, problems, None


@pytest.mark.integration
def test_a_rollout_that_goes_on_in_the_next_file_is_refused(turns: pl.DataFrame, tmp_path: Path) -> None:
    """Each file is whole; the end of a rollout is none, though it would fit where the other ends."""
    one = turns.filter(pl.col("rollout_id") == turns["rollout_id"][0])
    assert one.height > 1
    one.head(1).write_parquet(tmp_path / "a.parquet")
    one.tail(-1).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(ReadError, match=r"b\.parquet.*turn"):
        rw.read(tmp_path)


@pytest.mark.integration
def test_a_rollout_that_stands_in_two_files_is_named_with_both(turns: pl.DataFrame, tmp_path: Path) -> None:
    """The first is kept."""
    paths = by_goal(turns, tmp_path)
    again = pl.concat([pl.read_parquet(paths[1]), pl.read_parquet(paths[4])])
    again.write_parquet(paths[4])
    found, problems = rw.read(tmp_path, errors="collect")
    assert found.height == turns.height
    assert problems.height == pl.read_parquet(paths[1])["rollout_id"].n_unique()
    assert all("1.parquet" in reason for reason in problems["reason"])
    later = tmp_path / "later"
    later.mkdir()
    pl.read_parquet(paths[0]).write_parquet(later / "z.parquet")
    _, problems = rw.read([paths[0], paths[2], later], errors="collect")
    assert problems["file"].unique().to_list() == [str(later / "z.parquet")]


@pytest.mark.integration
def test_other_files_between_them_keep_their_place(
    turns: pl.DataFrame, tmp_path: Path, read_as_one: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other columns, other kinds of files, and more bytes than are read as one."""
    paths = by_goal(turns, tmp_path)
    pl.read_parquet(paths[3]).with_columns(mood=pl.lit("good")).write_parquet(paths[3])
    rw.write(pl.read_parquet(paths[1]), tmp_path / "1.csv")
    paths[1].unlink()
    found = rw.read(tmp_path)
    assert read_as_one == [2]
    assert found["rollout_id"].unique().sort().to_list() == turns["rollout_id"].unique().sort().to_list()
    assert found.filter(pl.col("mood") == "good")["goal"].n_unique() == 1
    monkeypatch.setattr(batches, "TOGETHER", 1)
    assert_frame_equal(rw.read(tmp_path), found)
    assert read_as_one == [2]


@pytest.mark.integration
@given(st.lists(st.lists(st.integers(1, 3), min_size=0, max_size=3), min_size=1, max_size=5))
def test_any_files_are_read_as_each_by_itself(tmp_path_factory: pytest.TempPathFactory, files: list[list[int]]) -> None:
    """Files of rollouts of some turns each, empty ones too."""
    folder, number, parts = tmp_path_factory.mktemp("files"), 0, []
    for place, rollouts in enumerate(files):
        rows = []
        for turns in rollouts:
            number += 1
            rows += [(f"r{number}", turn, f"{turn}") for turn in range(1, turns + 1)]
        frame = pl.DataFrame(
            rows, schema={"rollout_id": pl.String, "turn": pl.Int32, "response": pl.String}, orient="row"
        )
        frame.write_parquet(folder / f"{place}.parquet")
        parts.append(frame)
    if number == 0:
        with pytest.raises(ReadError, match="holds no rollouts"):
            rw.read(folder)
        return
    found, problems = rw.read(folder, errors="collect")
    assert_frame_equal(found.select("rollout_id", "turn", "response"), pl.concat(parts))
    assert problems.height == sum(not rollouts for rollouts in files)


ROWS = [
    {
        "rollout_id": f"r{place}",
        "turn": 1,
        "prompt": 'Hi,\n"you"',
        "response": f"No {place}",
        "harm": place,
        "succeeded": place > 3,
    }
    for place in range(5)
]


def text(suffix: str, row: Mapping[str, object]) -> str:
    """The row as the text of a file with this suffix."""
    if suffix == ".csv":
        cells = (
            ""
            if value is None
            else json.dumps(str(value).replace("nan", "NaN")).replace("\\n", "\n").replace('\\"', '""')
            for value in row.values()
        )
        return f"{','.join(row)}\n{','.join(cells)}\n"
    return (
        json.dumps(row)
        if suffix == ".json"
        else json.dumps([row], indent=1)
        if suffix == ".list.json"
        else json.dumps(row) + "\n"
    )


def spread(folder: Path, suffix: str, rows: list[dict]) -> None:
    """Write a file for each row."""
    folder.mkdir()
    for place, row in enumerate(rows):
        (folder / f"{place}{suffix}").write_text(text(suffix, row))


@pytest.mark.integration
@pytest.mark.parametrize("suffix", [".json", ".list.json", ".jsonl", ".csv"])
def test_files_of_one_row_are_the_table_of_one_file(tmp_path: Path, suffix: str, read_as_one: list[int]) -> None:
    """The same rows and dtypes in the same order, and an account of every file."""
    spread(tmp_path / "logs", suffix, ROWS)
    if suffix == ".csv":
        (tmp_path / "one.csv").write_text(
            "".join(text(".csv", row).split("\n", bool(place))[-1] for place, row in enumerate(ROWS))
        )
    else:
        (tmp_path / "one.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    turns = rw.read(tmp_path / "logs")
    assert read_as_one == [5]
    assert turns["harm"].to_list() == [0, 1, 2, 3, 4]
    assert turns["prompt"].unique().to_list() == ['Hi,\n"you"']
    assert_frame_equal(turns, rw.read(next(tmp_path.glob("one.*"))))
    accounts = rw.readers.accounting(tmp_path / "logs")
    assert accounts.select("format", "records", "read", "rollouts").unique().rows() == [("native", 1, 1, 1)]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("suffix", [".json", ".csv"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rollout_id": "r1"}, r"3\..*rollout 'r1' appears in .*1\."),
        ({"rollout_id": None}, r"3\..*rollout_id"),
        ({"turn": "first"}, r"3\..*turn"),
        ({"succeeded": "perhaps"}, r"3\..*succeeded"),
        ({"harm": float("nan")}, None),
        ({"response": None, "harm": None}, None),
    ],
    ids=["of another", "nobody's", "no number", "no verdict", "NaN", "null"],
)
def test_what_is_wrong_with_one_row_is_said_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, change: dict, words: str | None
) -> None:
    """As where each is read by itself: the same rows, the same problems, one for each rollout or row, the same sentence."""
    spread(tmp_path / "logs", suffix, [row | change if place == 3 else row for place, row in enumerate(ROWS)])
    as_one = told_of(tmp_path / "logs")
    monkeypatch.setattr(batches, "SMALL", -1)
    each = told_of(tmp_path / "logs")
    assert_frame_equal(as_one[0], each[0])
    assert_frame_equal(as_one[1], each[1])
    assert as_one[2] == each[2]
    assert each[2] is None if words is None else re.search(words, str(each[2]), re.DOTALL)


@pytest.mark.integration
def test_a_bad_file_among_many_leaves_the_others_together(tmp_path: Path, read_as_one: list[int]) -> None:
    """The halves of the files are tried, so that one file costs a few tries, and not each of the others a reading of its own."""
    rows = [{"rollout_id": f"r{place}", "turn": 1, "prompt": "Hi", "score": float(place)} for place in range(64)]
    rows[17]["turn"] = "first"
    spread(tmp_path / "logs", ".json", rows)
    turns, problems = rw.read(tmp_path / "logs", errors="collect")
    assert turns.filter(pl.col("turn").is_null())["rollout_id"].to_list() == ["r17"]  # it counts, as missing
    assert turns.height == 64
    assert [Path(file).name for file in problems["file"]] == ["17.json"]
    assert len(read_as_one) <= 12
    assert max(read_as_one) == 32


@pytest.mark.integration
def test_files_with_other_names_are_recognized_by_themselves(tmp_path: Path) -> None:
    """A file whose names differ from those before it may be anything: a chat, labels, rows that are messages."""
    spread(tmp_path / "logs", ".json", ROWS[:2])
    (tmp_path / "logs" / "1a.json").write_text('{"rollout_id": "a", "role": "assistant", "content": "Yes"}')
    (tmp_path / "logs" / "1b.json").write_text('{"rollout_id": "b", "role": "assistant", "content": "Yes"}')
    (tmp_path / "logs" / "1c.json").write_text('{"rollout_id": "a", "label": "harmful"}')
    (tmp_path / "logs" / "1d.json").write_text('{"id": "c", "messages": [{"role": "assistant", "content": "Yes"}]}')
    turns, problems = rw.read(tmp_path / "logs", errors="collect")
    assert turns["response"].to_list() == ["No 0", "No 1", "Yes", "Yes", "Yes"]
    assert [Path(file).name for file in problems["file"]] == ["1c.json"]


def test_wanted_columns_alone_are_read_of_many_files(tmp_path: Path) -> None:
    """As of one file."""
    spread(tmp_path / "logs", ".json", ROWS)
    assert rw.read(tmp_path / "logs", columns="harm").columns == ["rollout_id", "turn", "harm"]


@pytest.mark.integration
def test_a_column_of_csv_has_the_dtype_that_it_has_in_one_file(tmp_path: Path) -> None:
    """What is a number in one file and text in the next is text, without quotes around it."""
    spread(tmp_path / "logs", ".csv", [ROWS[0] | {"harm": "none"}, *ROWS[1:]])
    assert rw.read(tmp_path / "logs")["harm"].to_list() == ["none", "1", "2", "3", "4"]
