"""CSV that is not even: which line, what is wrong there, and the other rows."""

from pathlib import Path

import pytest

import rollwise as rw
from rollwise.errors import ReadError

ROWS = [f"please do {n},Here is {n},{n % 2}" for n in range(1, 7)]


def written(folder: Path, *rows: str, header: str = "prompt,response,jailbroken") -> Path:
    """Write a table with these rows after six even ones."""
    path = folder / "a.csv"
    path.write_text("\n".join([header, *ROWS, *rows, "last,Here,1", ""]))
    return path


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("do 7,Sure, I can,1", "record in line 8: has 4 fields, where the first line has 3"),
        ('do 7,"Sure" said he,1', "its row in line 8 goes on after a closing quote"),
        ('do 7,"Sure,1', "its row in line 8 opens a quote that is never closed, or is half-written"),
    ],
)
@pytest.mark.parametrize("before", ["", '"a\nb",c,0'])
def test_the_line_and_what_is_wrong_there_are_said(tmp_path: Path, row: str, says: str, before: str) -> None:
    path = written(tmp_path, *filter(None, [before]), row)
    says = says if not before else says.replace("line 8", "line 10")
    with pytest.raises(ReadError, match=says) as refused:
        rw.read(path)
    assert "within quotes, and quotes in it twice" in str(refused.value)


@pytest.mark.integration
def test_rows_with_more_fields_are_left_out_one_by_one(tmp_path: Path) -> None:
    """What the message says to type reads the rest, and each row that is not read is a problem."""
    path = written(tmp_path, "do 7,Sure, I can,1", "do 8,Sure, yes, I can,0")
    turns, problems = rw.read(path, errors="collect")
    assert (turns.height, turns["succeeded"].sum()) == (7, 4)
    assert problems["record"].to_list() == ["in line 8", "in line 9"]
    account = rw.readers.accounting(path).row(0, named=True)
    assert (account["records"], account["read"], account["broken"], account["rollouts"]) == (9, 7, 2, 7)


@pytest.mark.integration
@pytest.mark.parametrize("rows", [['do 7,5" disk,0'], ['do 7,"a ""b"" c",0'], ['"do, 7","x\ny",0', 'do 8,7" disk,1']])
def test_what_csv_allows_is_read(tmp_path: Path, rows: list[str]) -> None:
    turns = rw.read(written(tmp_path, *rows))
    assert turns.height == 7 + len(rows)
    assert turns["succeeded"].null_count() == 0


def test_named_columns_of_uneven_tables_are_counted_alike(tmp_path: Path) -> None:
    path = written(tmp_path, "do 7,Sure, I can,1", header="ask,say,works")
    turns, problems = rw.read(path, names={"prompt": "ask", "response": "say", "succeeded": "works"}, errors="collect")
    assert (turns.height, turns["succeeded"].sum(), problems.height) == (7, 4, 1)


def test_uneven_rows_below_two_columns_of_one_name_are_one_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, "do 7,Sure,1,0", header="prompt,response,response")
    with pytest.raises(ReadError, match="names two columns alike in its first line, and has uneven rows"):
        rw.read(path)


@pytest.mark.thinned(40)
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@pytest.mark.parametrize("blank", [False, True])
def test_rows_with_fewer_fields_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str, *, blank: bool
) -> None:
    """Polars fills them with nulls; blank lines and fields that are left empty are no such rows."""
    rows = [
        "prompt,response,jailbroken",
        'do 1,"a\nb",1',
        *([""] if blank else []),
        "do 2",
        "do 3,,",
        "do 4,No",
        "do 5,Here,0",
    ]
    path = tmp_path / f"a.{suffix}"
    path.write_text("\n".join(rows if suffix == "csv" else [row.replace(",", "\t") for row in rows]))
    turns = rw.read(path)
    assert (turns.height, turns["succeeded"].to_list()) == (5, [True, None, None, None, False])
    line = 5 if blank else 4
    sentence = "2 rows have fewer fields than the first line: what is missing at the end is null"
    assert f"{path}: {sentence} (first in line {line})" in capsys.readouterr().err
    _, problems = rw.read(path, errors="collect")
    assert problems.select("record", "reason").rows() == [(f"in line {line}", sentence)]


def test_rows_whose_last_fields_are_empty_are_even(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "do 7,No,", "do 8,,", "")
    assert rw.read(path).height == 9
    assert "fewer fields" not in capsys.readouterr().err


def test_a_map_says_what_is_broken(tmp_path: Path) -> None:
    """It ended in a traceback."""
    assert "not read: record 7: ends in the middle of a row" in " ".join(
        rw.propose(half_written(tmp_path)).text().split()
    )


def half_written(folder: Path) -> Path:
    """Write a table whose last row is cut off."""
    path = folder / "half.csv"
    path.write_text("\n".join(["prompt,response,jailbroken", *ROWS, "last"]))
    return path
