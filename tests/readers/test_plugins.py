"""Formats that other installed packages add by entry points of the group `rollwise.readers`."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

from rollwise import read
from rollwise.errors import ArgumentError, ReadError
from rollwise.readers import BrokenError, Document, Format, TurnRow, TurnsBuilder, plugins

LOG = '{"ask": "Hi", "reply": "Hello"}\n{"ask": "Again", "reply": "No"}\n'
PACKAGE = '''
"""Logs of the toy harness."""

from rollwise.readers import Format, RecordMapping, Shapes

LINES = RecordMapping(doc="Each line is a rollout of one turn.", rollout=["@key"], turn={"prompt": "ask", "response": "reply"})
FORMAT = Format("toy", "logs of the toy harness", (".jsonl",), Shapes({"ask", "reply"}), LINES)
'''


def sniff(document: Document) -> bool:
    return document.kind in {"json", "lines"} and {"ask", "reply"} <= document.keys


def read_toy(document: Document, table: TurnsBuilder) -> None:
    """Each line is a rollout of one turn."""
    for number, record in document.records():
        with table.rollout(document.name, number, lambda: None):
            if not record["reply"]:
                raise BrokenError("is empty", field="reply")
            table.add(document.name, f"toy/{number}", [TurnRow(1, prompt=record["ask"], response=record["reply"])], {})


TOY = Format("toy", "logs of the toy harness", (".jsonl",), sniff, read_toy)


@pytest.fixture
def install(monkeypatch) -> Iterator:
    """A function that installs objects as values of entry points."""

    def installed(**values: object) -> None:
        module = ModuleType("toy_logs")
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, "toy_logs", module)
        points = [EntryPoint(name, f"toy_logs:{name}", plugins.GROUP) for name in values]
        points += [EntryPoint("missing", "no_such_module:FORMAT", plugins.GROUP)] if not values else []
        monkeypatch.setattr(plugins, "entry_points", lambda group: points)

    plugins._points.cache_clear()
    plugins.installed.cache_clear()
    yield installed
    monkeypatch.undo()
    plugins._points.cache_clear()
    plugins.installed.cache_clear()


def test_a_format_of_another_package_is_recognized_forced_and_named(tmp_path, install, capsys):
    install(toy=TOY)
    path = tmp_path / "log.jsonl"
    path.write_text(LOG)
    frame = read(path)
    assert frame.select("source", "prompt", "response").rows() == [("toy", "Hi", "Hello"), ("toy", "Again", "No")]
    assert read(path, format="toy").equals(frame)
    assert read(path, cache=tmp_path / "cache").equals(frame)
    path.write_text('{"ask": "Hi", "reply": ""}\n{"ask": "Hi", "reply": ""}\n')
    with pytest.raises(ReadError, match=r"log.jsonl: record 1: field `reply`: is empty"):
        read(path)
    with pytest.raises(ArgumentError, match=r"unknown format 'toi'; did you mean `toy`\?"):
        read(path, format="toi")
    assert capsys.readouterr().err == ""


def test_built_in_formats_come_first_in_recognizing_and_in_the_table(tmp_path, install):
    install(toy=Format("toy", "takes everything", (".jsonl", ".csv"), lambda _: True, read_toy))
    (tmp_path / "a.jsonl").write_text(LOG)
    (tmp_path / "b.csv").write_text("rollout_id,prompt,response\nmine,Hi,Hello\n")
    assert read(tmp_path)["source"].to_list() == ["native", "toy", "toy"]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"garak": Format("garak", "mine", (".jsonl",), sniff, read_toy)},
            "its format 'garak' has the name of a built-in",
        ),
        ({}, r"no_such_module:FORMAT cannot be imported (ModuleNotFoundError: No module named 'no_such_module')"),
        ({"toy": "FORMAT"}, "toy_logs:toy is a str, not a rollwise.readers.Format"),
        ({"toy": TOY, "again": TOY}, "its format 'toy' has the name of the format of another package"),
    ],
)
def test_an_entry_point_that_cannot_be_used_is_left_out_and_said_once(tmp_path, install, capsys, values, sentence):
    install(**values)
    (tmp_path / "a.csv").write_text("rollout_id,prompt,response\nmine,Hi,Hello\n")
    (tmp_path / "notes.txt").write_text("nothing of interest")
    for _ in range(2):
        assert read(tmp_path, errors="collect")[0].height == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("rollwise: the reader `")
    assert f"is left out: {sentence}" in said[0]


def test_an_import_error_of_several_lines_is_said_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The warning, and what is said of a `sniff` that raises."""

    def fail(*_: object) -> Any:
        raise RuntimeError("boom\n  second line\r\nthird")

    (tmp_path / "a.csv").write_text("rollout_id,prompt,response\nmine,Hi,Hello\n")
    (tmp_path / "notes.jsonl").write_text('{"x": 1}\n')
    install(toy=Format("toy", "fails", (".jsonl",), fail, read_toy))
    assert read(tmp_path, errors="collect")[0].height == 1
    plugins.installed.cache_clear()
    monkeypatch.setattr(EntryPoint, "load", fail)
    assert read(tmp_path, errors="collect")[0].height == 1
    said = capsys.readouterr().err.splitlines()
    assert [line.startswith("rollwise: the reader `toy`") for line in said] == [True, True]
    assert all("(RuntimeError: boom second line third)" in line for line in said)


def test_a_reader_that_fails_is_a_problem_of_its_files_only(tmp_path, install, capsys):
    def fail(document: Document, *_: TurnsBuilder) -> Any:
        raise KeyError("ask")

    (tmp_path / "a.csv").write_text("rollout_id,prompt,response\nmine,Hi,Hello\n")
    (tmp_path / "b.jsonl").write_text(LOG)
    (tmp_path / "c.jsonl").write_text(LOG)
    install(toy=Format("toy", "fails", (".jsonl",), sniff, fail))
    turns, problems = read(tmp_path, errors="collect")
    assert turns.height == 1
    assert problems["reason"].to_list() == ["the reader `toy` of the package toy_logs:toy fails (KeyError: 'ask')"] * 2
    assert capsys.readouterr().err == ""
    plugins.installed.cache_clear()
    plugins._points.cache_clear()
    install(toy=Format("toy", "fails", (".jsonl",), fail, read_toy))
    turns, problems = read(tmp_path, errors="collect")
    assert set(turns["source"]) == {"native", "mapping"}  # of the files that it does not take, as without it
    assert problems.height == 0
    assert capsys.readouterr().err.count("fails to check whether") == 1


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    places = [str(folder), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
    return subprocess.run(
        [sys.executable, "-m", "rollwise", *words], capture_output=True, text=True, env=environment, check=True
    )


@pytest.mark.integration
def test_an_installed_package_adds_a_format_to_the_command_line(tmp_path):
    site = tmp_path / "site"
    metadata = site / "toy_logs-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "toy_logs.py").write_text(PACKAGE)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-logs\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[rollwise.readers]\ntoy = toy_logs:FORMAT\nbad = toy_logs:sniff\n")
    log = tmp_path / "log.jsonl"
    log.write_text(LOG)
    for more in ([], ["--log-format", "toy"]):
        out = tmp_path / f"turns{len(more)}.parquet"
        done = run("read", str(log), *more, "--out", str(out), folder=site)
        assert pl.read_parquet(out)["source"].to_list() == ["toy", "toy"]
        assert "the reader `bad` of the package toy-logs is left out" in done.stderr
    listed = run("info", "components", "-t", "reader", folder=site).stdout
    assert re.search(r"^toy +logs of the toy harness$", listed, flags=re.MULTILINE)
    described = run("info", "components", "-t", "reader", "--name", "toy", folder=site).stdout
    assert "Each line is a rollout of one turn." in described


@pytest.mark.integration
def test_entry_points_are_not_looked_for_before_a_format_is(tmp_path):
    (tmp_path / "a.csv").write_text("rollout_id,prompt,response\nmine,Hi,Hello\n")
    code = (
        "import importlib.metadata, sys, rollwise as rw\n"
        "importlib.metadata.entry_points = None\n"
        f"assert rw.read({str(tmp_path)!r}).height == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
