"""The documents say what is true: the README's blocks, its picture, its links."""

import contextlib
import io
import json
import re
import runpy
import tomllib
from importlib import import_module
from inspect import getdoc, isfunction
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import rollwise as rw
from rollwise.readers.registry import FORMATS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The README's fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_there_are_two_command_lines() -> None:
    """Two bash blocks of one line each: set up and main job, set up and tests."""
    first, second = blocks("bash")
    assert len(first.strip().splitlines()) == len(second.strip().splitlines()) == 1
    assert "rollwise report" in first
    assert "pytest" in second


@pytest.mark.integration
def test_the_five_lines_of_python_run(monkeypatch) -> None:
    """The Python block runs from the root of the repository and ends in a table with intervals."""
    monkeypatch.chdir(ROOT)
    (block,) = blocks("python")
    names: dict = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(block, names)  # the README is the test
    (table,) = blocks("text")
    rows = [line for line in printed.getvalue().splitlines() if line.startswith("│")]
    assert table.splitlines() == [rows[0], *rows[3:]]  # the names and the values, without the rules and the dtypes
    rw.schema.check(names["summary"], rw.schema.SUMMARY)
    assert isinstance(names["plot"], rw.plots.Plot)


@pytest.mark.parametrize("place", re.findall(r"\]\(([^)]+)\)", README))
def test_every_link_leads_somewhere(place: str) -> None:
    """Every link and picture is a file of the repository."""
    assert (ROOT / place).is_file()


@pytest.mark.integration
@pytest.mark.parametrize("name", [form.about for form in FORMATS])
def test_every_format_says_what_it_is(name: str) -> None:
    """Each format has words for people."""
    assert name


def test_the_readme_is_short() -> None:
    """450 to 600 words."""
    assert 450 <= len(README.split()) <= 600


NAMESPACES = (
    "rollwise",
    *(f"rollwise.{name}" for name in ("metrics", "plots", "tables", "judges", "rollout", "readers")),
)


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_the_help_of_every_public_function_has_an_example(namespace: str) -> None:
    """`help()` shows a call and what it returns; the doctests run it."""
    module = import_module(namespace)
    functions = {name: value for name in module.__all__ if isfunction(value := getattr(module, name))}
    assert functions
    assert [name for name, function in functions.items() if ">>> " not in (getdoc(function) or "")] == [], (
        "add Examples"
    )


def test_a_notebook_is_a_page_with_what_it_printed(tmp_path: Path) -> None:
    """Texts, code, pictures as files, tables as they are, a viewer in a frame of its own, and all else as text."""
    notebook = runpy.run_path(str(ROOT / "docs" / "exhibits.py"))["notebook"]
    outputs = [
        {"data": {"image/png": "aGk=", "text/plain": "<Plot: Rates, 40 % [30, 50].>"}},
        {"data": {"text/html": '<div id="rw1">\n<table></table>\n</div>', "text/plain": "a table"}},
        {"data": {"text/html": '<iframe srcdoc="x">\n</iframe>', "text/plain": "<Viewer>"}},
        {"text": ["one\n", "two\n"]},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "About."]},
        {"cell_type": "code", "source": ["f(1)"], "outputs": outputs},
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}))
    assert notebook(tmp_path / "n.ipynb", tmp_path).split("\n\n") == [
        "# Title",
        "*This page is `notebooks/n.ipynb` of the repository, with what it printed.*",
        "\nAbout.",
        "```python\nf(1)\n```",
        "![Rates, 40 % [30, 50].](n-1.png){ .plot loading=lazy }",
        '<div class="table"><div id="rw1"> <table></table> </div></div>',
        '<iframe src="n-2.html" title="Transcripts" class="transcripts" loading="lazy"></iframe>',
        "```text\none\ntwo\n```\n",
    ]
    assert (tmp_path / "n-1.png").read_bytes() == b"hi"
    assert '<iframe srcdoc="x">' in (tmp_path / "n-2.html").read_text()


def test_the_reusable_workflow_has_the_steps_of_the_example() -> None:
    """It gates the logs of an artifact as the workflow to copy does; what its steps use are inputs that it declares."""
    called, copied = (
        YAML(typ="safe").load((ROOT / place).read_text())
        for place in (".github/workflows/gate.yml", "docs/examples/gate-workflow.yml")
    )
    steps, model = ({step.get("name"): step for step in flow["jobs"]["gate"]["steps"]} for flow in (called, copied))
    assert steps["Gate"]["run"] == model["Gate"]["run"].replace("gate.yml", '"$FILE"')
    assert steps["Summary"] == model["Summary"]
    inputs = called["on"]["workflow_call"]["inputs"]
    used = re.findall(r"inputs\.([\w-]+)", str(called["jobs"]))
    assert sorted(set(used)) == sorted(inputs)
    assert {name for name, entry in inputs.items() if entry.get("required")} == {"artifact", "package"}
    assert "default" not in inputs["package"]


def test_a_commit_is_checked_by_what_the_tasks_run() -> None:
    """The hooks of pre-commit are the commands of `poe lint` and `poe types`."""
    (repository,) = YAML(typ="safe").load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    entries = [hook["entry"].removesuffix(" --force-exclude") for hook in repository["hooks"]]
    tasks = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["poe"]["tasks"]
    commands = [step["cmd"].removesuffix(" .") for step in tasks["lint"]["sequence"]] + [tasks["types"]["cmd"]]
    assert entries == commands
