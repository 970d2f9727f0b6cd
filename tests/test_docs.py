"""The documents say what is true: the README's blocks, its picture, its links."""

import contextlib
import io
import re
from pathlib import Path

import pytest

import turnwise as tw
from turnwise.readers.registry import FORMATS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The README's fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_there_are_two_command_lines() -> None:
    """Two bash blocks of one line each: set up and main job, set up and tests."""
    first, second = blocks("bash")
    assert len(first.strip().splitlines()) == len(second.strip().splitlines()) == 1
    assert "turnwise report" in first
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
    tw.schema.check(names["summary"], tw.schema.SUMMARY)
    assert isinstance(names["plot"], tw.plots.Plot)


@pytest.mark.parametrize("place", re.findall(r"\]\(([^)]+)\)", README))
def test_every_link_leads_somewhere(place: str) -> None:
    """Every link and picture is a file of the repository."""
    assert (ROOT / place).is_file()


@pytest.mark.parametrize("name", [form.about for form in FORMATS])
def test_every_format_says_what_it_is(name: str) -> None:
    """Each format has words for people."""
    assert name


def test_the_readme_is_short() -> None:
    """450 to 600 words."""
    assert 450 <= len(README.split()) <= 600
