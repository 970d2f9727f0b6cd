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


def test_rows_with_more_fields_are_left_out_one_by_one(tmp_path: Path) -> None:
    """What the message says to type reads the rest, and each row that is not read is a problem."""
    path = written(tmp_path, "do 7,Sure, I can,1", "do 8,Sure, yes, I can,0")
    turns, problems = rw.read(path, errors="collect")
    assert (turns.height, turns["succeeded"].sum()) == (7, 4)
    assert problems["record"].to_list() == ["in line 8", "in line 9"]
    account = rw.readers.accounting(path).row(0, named=True)
    assert (account["records"], account["read"], account["broken"], account["rollouts"]) == (9, 7, 2, 7)


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
