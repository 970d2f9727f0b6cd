"""Containers as other programs write them: `tests/readers/produced/containers/make.sh` has the command of each file."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ReadError

PRODUCED = Path(__file__).parents[1] / "produced" / "containers"
ROWS = [json.loads(line) for line in (PRODUCED / "lines.jsonl").read_text(encoding="utf-8").splitlines()]
TEXTS = [(row["prompt"], row["response"], "success" if row["jailbroken"] else "failure") for row in ROWS]
TABLES = [
    *("pandas.csv", "pandas.csv.zip", "pandas.jsonl.zst", "pandas_chats.csv"),
    *("openpyxl.xlsx", "xlsxwriter.xlsx", "libreoffice.xlsx", "libreoffice.ods", "sqlite3.db"),
    *("gzip.jsonl.gz", "zstd.jsonl.zst", "bzip2.jsonl.bz2", "xz.jsonl.xz"),
    *("iconv_utf_16.csv", "iconv_utf_16be.jsonl", "iconv_windows_1252.csv"),
    *("data_set", "splits", "hub", "cache"),
]
ARCHIVES = [
    *("info_zip.zip", "java.jar", "7z.zip"),
    *("gnu.tar", "gnu_pax.tar.gz", "gnu.tar.zst", "bsd_pax.tar", "bsd.tar.xz"),
]


def texts(turns: pl.DataFrame) -> list[tuple[str, str, str]]:
    return sorted(turns.select("prompt", "response", "outcome").rows())


def ids(turns: pl.DataFrame) -> list[str]:
    return sorted(name.rpartition("/")[2] for name in turns["rollout_id"])


@pytest.mark.integration
@pytest.mark.parametrize("name", TABLES)
def test_the_same_rows_are_read_from_each(name: str) -> None:
    """Tables, compressed files, encodings, and data sets of Hugging Face in all folders that its library makes."""
    turns, problems = rw.read(PRODUCED / name, errors="collect")
    assert texts(turns) == sorted(TEXTS)
    assert ids(turns) == [row["id"] for row in ROWS]
    beside = {Path(file).name: reason for file, _, _, reason in problems.rows()}
    assert all(
        name == "README.md" or (name.endswith(".lock") and reason == "is empty") for name, reason in beside.items()
    )


@pytest.mark.integration
@pytest.mark.parametrize("name", ARCHIVES)
def test_the_same_folder_is_read_from_each(name: str) -> None:
    """A log of JSON lines, and a CSV with two more rows."""
    turns, problems = rw.read(PRODUCED / name, errors="collect")
    assert texts(turns) == sorted([*TEXTS, *TEXTS[:2]])
    assert ids(turns) == [*(row["id"] for row in ROWS), "s0", "s1"]
    assert problems.is_empty()


def test_an_archive_that_is_not_opened_says_what_to_do() -> None:
    with pytest.raises(ReadError, match=r"7z\.7z: is a 7z archive: unpack it first$"):
        rw.read(PRODUCED / "7z.7z")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("pandas_wide.csv", ["a_response", "b_response"]),
        ("pandas_wide.parquet", ["('response', 'a')", "('response', 'b')"]),
    ],
)
def test_two_answers_side_by_side_are_asked(name: str, columns: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Of a table that pandas made wide, neither answer is taken for the target's before the user says which."""
    turns = rw.read(PRODUCED / name)
    assert turns["response"].null_count() == turns.height == len(ROWS)
    told = capsys.readouterr().err
    assert f"? `{columns[0]}` and `{columns[1]}` answer the same prompt: which is of the model under test?" in told
    for column, answers in zip(columns, (sorted(row["response"] for row in ROWS), ["Nein"] * len(ROWS)), strict=True):
        assert sorted(rw.read(PRODUCED / name, names={"response": column})["response"]) == answers


@pytest.mark.thinned(40)
@pytest.mark.parametrize("name", ["1_response {} 2_response", "A response {} B response", "1-answer {} 2-answer"])
def test_numbers_and_letters_in_front_are_two_answers_too(name: str, tmp_path: Path) -> None:
    first, second = name.split(" {} ")
    rows = [{"prompt": f"q {n}", first: f"Yes, answer {n}", second: f"No, answer {n}"} for n in range(4)]
    pl.DataFrame(rows).write_csv(tmp_path / "a.csv")
    assert rw.read(tmp_path / "a.csv")["response"].null_count() == len(rows)
