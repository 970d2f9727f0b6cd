"""Logs that the tools themselves wrote, beside the figures of the tools' own summaries (tests/producers makes both)."""

import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest
from producers._figures import comparison
from producers._keep import KEPT, contents
from producers._run import _interpreter, main, script, tools

from rollwise import read

RECORDS = sorted(KEPT.glob("*/figures.json"))
NAMES = [path.parent.name for path in RECORDS]


def record(tool: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((KEPT / tool / "figures.json").read_text(encoding="utf-8"))
    return value


@pytest.mark.integration
@pytest.mark.parametrize("tool", NAMES)
def test_the_table_has_the_figures_of_the_producer(tool):
    rows = comparison(KEPT / tool / "logs", record(tool)["figures"])
    assert [str(row) for row in rows if not row.equal] == []
    assert len(rows) >= 8


@pytest.mark.integration
@pytest.mark.parametrize("tool", tools())
def test_every_tool_has_logs_and_figures_here(tool):
    assert (KEPT / tool / "logs").is_dir(), f"run `python tests/producers {tool} --keep`"
    facts = record(tool)
    assert facts["tool"] == tool
    assert set(read(KEPT / tool / "logs")["source"]) == {facts["format"]}
    assert facts["lost"] == list(script(tool).LOST), "what is lost has changed: store the tool's logs again with --keep"


@pytest.mark.integration
def test_a_figure_that_differs_is_noticed(tmp_path):
    shutil.copytree(KEPT / "inspect_ai" / "logs", tmp_path / "logs")
    figures = [{"where": {}, "rollouts": 33, "solved": 1, "sum of score_nonsense": 2.0}]
    rows = comparison(tmp_path / "logs", figures)
    assert [row.name for row in rows if not row.equal] == ["solved", "sum of score_nonsense"]


@pytest.mark.parametrize("tool", NAMES)
def test_logs_hold_no_path_of_the_machine_that_made_them(tool):
    files = [path for path in (KEPT / tool).rglob("*") if path.is_file()]
    texts = [(path.name, name, text) for path in files for name, text in contents(path)]
    assert [(file, name) for file, name, text in texts if b"/tmp/" in text or b"/home/" in text] == []


def test_the_page_of_formats_says_what_was_compared():
    page = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "reference.py"))["formats"]()
    for tool in NAMES:
        facts = record(tool)
        assert f"| {tool} | {facts['version']} | {facts['date']} | [`{facts['format']}`](#{facts['format']}) |" in page


def test_a_tool_that_does_not_run_fails_by_its_name(tmp_path, capsys):
    (tmp_path / "inspect_ai").mkdir()
    (tmp_path / "inspect_ai" / ".installed").touch()  # but without the Python that an installation would bring
    assert main(["inspect_ai", "--cache", str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith("inspect_ai: ")


def test_a_python_that_is_missing_is_named():
    with pytest.raises(OSError, match=r"needs Python 9\.9 or newer: none of python9\.9, .* is on the path"):
        _interpreter((9, 9))
