"""Sheets of Excel and tables of SQLite that no tool wrote are read as the table of a file."""

import importlib.util
import io
import json
import shutil
import sqlite3
import subprocess
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter  # type: ignore[import-untyped]

import rollwise as rw
from rollwise import read
from rollwise.cli import run
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures"
FRAME = pl.DataFrame(
    {"id": [1, 2], "goal": ["g", "h"], "prompt": ["Où?", "Hi"], "response": ["Là", "No"], "jailbroken": [True, False]}
)
COLUMNS = ["goal", "prompt", "response", "outcome"]
ROWS = [("g", "Où?", "Là", "success"), ("h", "Hi", "No", "failure")]


def workbook(**sheets: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        for name, frame in sheets.items():
            frame.write_excel(book, worksheet=name)
    return file.getvalue()


def database(path: Path, *statements: str, **tables: pl.DataFrame) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        for name, frame in tables.items():
            quoted = '"{}"'.format(name.replace('"', '""'))
            connection.execute(f"CREATE TABLE {quoted} ({', '.join(frame.columns)})")
            marks = ", ".join("?" * frame.width)
            connection.executemany(f"INSERT INTO {quoted} VALUES ({marks})", frame.rows())
        connection.commit()
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


NOTES = pl.DataFrame({"note": ["Runs of May"]})
SUMMARY = pl.DataFrame({"model": ["m"], "asr": [0.5]})


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", ["runs.xlsx", "runs.xlsm", "runs"])
def test_the_first_sheet_with_several_columns_is_read_and_the_others_are_said(tmp_path, capsys, name):
    (tmp_path / name).write_bytes(workbook(About=NOTES, Runs=FRAME, Sums=SUMMARY))
    assert read(tmp_path / name).select(COLUMNS).rows() == ROWS
    said = f"{tmp_path / name}: the sheet `Runs` was read, and not `About`, `Sums`\n"
    assert said in capsys.readouterr().err


@pytest.mark.integration
def test_one_sheet_is_read_by_the_command(tmp_path, capsys):
    (tmp_path / "runs.xlsx").write_bytes(workbook(Runs=FRAME))
    with pytest.raises(SystemExit, match="0"):
        run(["summarize", str(tmp_path / "runs.xlsx"), "--metric", "attack_success"])
    out, err = capsys.readouterr()
    assert "50 %" in out
    assert "sheet" not in err


def test_a_workbook_in_an_archive_and_with_names(tmp_path):
    frame = FRAME.rename({"response": "reply"})
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("runs.xlsx", workbook(Runs=frame))
    assert read(tmp_path / "a.zip", names={"response": "reply"}).select(COLUMNS).rows() == ROWS
    mapping = {"prompt": "prompt", "response": "reply"}
    assert read(tmp_path / "a.zip", mapping=mapping)["response"].to_list() == ["Là", "No"]


@pytest.mark.integration
def test_ids_come_from_the_workbook_itself(tmp_path):
    data = workbook(Runs=FRAME.drop("id"))
    (tmp_path / "runs.xlsx").write_bytes(data)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "runs.xlsx").write_bytes(data)
    first, second = read(tmp_path / "runs.xlsx"), read(tmp_path / "other" / "runs.xlsx")
    assert first["rollout_id"].equals(second["rollout_id"])
    assert read(tmp_path, cache=tmp_path / ".cache").height == read(tmp_path, cache=tmp_path / ".cache").height


def bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("xl/workbook.xml", " " * 10**8)
    return file.getvalue()


NOT_READ = {
    "cut": (lambda: workbook(Runs=FRAME)[:-30], "is not a complete zip archive"),
    "a bomb": (bomb, "zip bomb"),
    "notes": (lambda: workbook(About=NOTES), "is an Excel workbook without a sheet of several columns"),
    "none": (lambda: workbook(Empty=pl.DataFrame()), "is an Excel workbook without a sheet of several columns"),
    "no workbook": (lambda: b"PK\x03\x04" + b"x" * 99, "is not a complete zip archive"),
}


@pytest.mark.parametrize("which", NOT_READ)
def test_a_workbook_that_cannot_be_read_is_one_sentence(tmp_path, which):
    data, says = NOT_READ[which]
    (tmp_path / "runs.xlsx").write_bytes(data())
    with pytest.raises(ReadError, match=rf"runs\.xlsx: .*{says}"):
        read(tmp_path / "runs.xlsx")
    FRAME.rename({"id": "rollout_id"}).write_csv(tmp_path / "mine.csv")
    frame, problems = read(tmp_path, errors="collect")
    assert frame.height == 2
    assert problems["reason"].str.contains(says).sum() == 1


def test_without_fastexcel_it_is_said_what_to_type(tmp_path, monkeypatch):
    (tmp_path / "runs.xlsx").write_bytes(workbook(Runs=FRAME))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ReadError, match=r"save its sheet as CSV, or (pip )?install"):
        read(tmp_path / "runs.xlsx")


@pytest.mark.integration
@pytest.mark.parametrize("name", ["runs.db", "runs.sqlite", "runs"])
@pytest.mark.parametrize("beside", [{}, {"version": NOTES}])
def test_the_only_table_of_a_database_is_read(tmp_path, name, beside):
    database(tmp_path / name, runs=FRAME, **beside)
    assert read(tmp_path / name).select(COLUMNS).rows() == ROWS


def test_chats_in_a_database_and_odd_names(tmp_path):
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "No"}]
    frame = pl.DataFrame({"id": [1], "messages": [json.dumps(chat)], "jailbroken": [0]})
    database(tmp_path / "a.db", **{'my "runs"; --': frame})
    assert read(tmp_path / "a.db").select("prompt", "response").rows() == [("Hi", "No")]


def test_what_is_in_a_write_ahead_log_is_read(tmp_path):
    database(tmp_path / "a.db", "PRAGMA journal_mode = WAL", runs=FRAME.head(1))
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("INSERT INTO runs VALUES (2, 'h', 'Hi', 'No', 0)")
        connection.commit()
        (tmp_path / "copy").mkdir()
        for path in (tmp_path / "a.db", tmp_path / "a.db-wal"):
            shutil.copy(path, tmp_path / "copy")
    assert read(tmp_path / "copy").select(COLUMNS).rows() == ROWS


@pytest.mark.integration
def test_of_several_tables_the_error_lists_them_and_says_what_to_type(tmp_path):
    database(tmp_path / "a.db", runs=FRAME, sums=FRAME)
    says = r"a\.db: is a SQLite file with 2 tables \(runs, sums\): write that of the rollouts as CSV, `sqlite3 "
    with pytest.raises(ReadError, match=says):
        read(tmp_path / "a.db")
    FRAME.write_csv(tmp_path / "mine.csv")
    assert read(tmp_path, errors="collect").problems["reason"].str.contains("2 tables").sum() == 1


def test_an_empty_table_is_said_to_be_empty(tmp_path):
    database(tmp_path / "a.db", runs=FRAME.clear())
    with pytest.raises(ReadError, match="is a SQLite file whose table `runs` is empty"):
        read(tmp_path / "a.db")


def test_no_view_and_no_code_of_a_database_is_run(tmp_path):
    view = "CREATE VIEW runs AS SELECT load_extension('x') AS prompt, 'x' AS response"
    database(tmp_path / "a.db", view, notes=NOTES)
    with pytest.raises(ReadError, match=r"is a SQLite file without a table of several columns"):
        read(tmp_path / "a.db")
    database(tmp_path / "b.db", "CREATE VIRTUAL TABLE runs USING fts5(prompt, response)")
    with pytest.raises(ReadError, match="is a SQLite file"):
        read(tmp_path / "b.db")


def test_databases_of_tools_stay_theirs(tmp_path):
    assert {*read(FIXTURES / "pyrit" / "memory.db")["source"]} == {"pyrit"}
    data = database(tmp_path / "a.db", runs=FRAME).read_bytes()
    (tmp_path / "cut.db").write_bytes(data[: len(data) // 2])
    (tmp_path / "a.db").unlink()
    with pytest.raises(ReadError, match=r"cut\.db: is not a complete SQLite file|cut\.db: is a SQLite file"):
        read(tmp_path / "cut.db")


@pytest.mark.integration
def test_a_proposal_is_made_of_them_too(tmp_path: Path) -> None:
    frame: Any = FRAME.rename({"response": "victim_response", "prompt": "attack_prompt"})
    (tmp_path / "runs.xlsx").write_bytes(workbook(Runs=frame))
    database(tmp_path / "runs.db", runs=frame)
    for name in ("runs.xlsx", "runs.db"):
        assert rw.propose(tmp_path / name).rollouts == 2


@pytest.mark.parametrize("beside", [{"models": pl.DataFrame({"name": ["m"], "size": ["7b"]})}, {"sums": SUMMARY}])
def test_of_several_tables_the_only_one_with_answers_is_read_and_the_others_are_said(tmp_path, capsys, beside):
    database(tmp_path / "a.db", runs=FRAME, **beside)
    assert read(tmp_path / "a.db").select(COLUMNS).rows() == ROWS
    assert f"a.db: the table `runs` was read, and not `{next(iter(beside))}`\n" in capsys.readouterr().err


@pytest.mark.thinned(4)
@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the line is SQLite's own")
@pytest.mark.parametrize("table", ["runs", "all runs", 'a "b"', "it's"])
def test_verdicts_in_another_table_are_joined_by_the_line_that_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    """Read without them, nothing would be judged; the third answer has no verdict, and stays."""
    answers = pl.DataFrame({"id": [1, 2, 3], "prompt": ["a", "b", "c"], "response": ["Sure", "No", "Hm"]})
    database(tmp_path / "two.db", **{table: answers, "labels": pl.DataFrame({"id": [1, 2], "jailbroken": [1, 0]})})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReadError) as refused:
        read("two.db")
    line = str(refused.value).partition(" as CSV, `")[2].rstrip("`")
    subprocess.run(line, shell=True, check=True)
    assert read("rollouts.csv")["outcome"].to_list() == ["success", "failure", None]
