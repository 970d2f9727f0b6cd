"""The example data is what its README says it is."""

import re
import shlex
from pathlib import Path

import msgspec
import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.cli import app

DATA = Path(__file__).parents[1] / "data"
COMMANDS = [line for line in (DATA / "README.md").read_text().splitlines() if line.startswith("rollwise ")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.rpartition("/")[2])
def test_the_written_command_makes_the_file(command: str, tmp_path: Path) -> None:
    """Each command of the README makes the file beside it, value for value."""
    *words, out = shlex.split(command)[1:]
    made = tmp_path / Path(out).name
    app([*words, str(made)], standalone_mode=False)
    assert rw.read(made).equals(rw.read(DATA.parent / out))


def test_every_file_has_its_command() -> None:
    """No file of the example lacks the command that made it."""
    made = {shlex.split(command)[-1] for command in COMMANDS}
    assert made == {str(path.relative_to(DATA.parent)) for path in (DATA / "rollouts").iterdir()}


@pytest.mark.integration
def test_the_rates_of_the_real_set_are_the_published_ones() -> None:
    """Each of the twelve rates is that of its file, and that of the table in the README of the data."""
    rollouts = rw.measure(rw.read(DATA / "jailbreakbench"), m.attack_success())
    summary = rw.summarize(rollouts, by=["attack", "target"], metrics="attack_success")
    rates = {(attack, target): rate for attack, target, rate in summary.select("attack", "target", "estimate").rows()}
    stated = [
        msgspec.json.decode(path.read_bytes())["parameters"] for path in (DATA / "jailbreakbench").rglob("*.json")
    ]
    assert len(stated) == 12
    assert rates == pytest.approx({(of["method"], of["model"]): of["attack_success_rate"] for of in stated})

    lines = [
        line.strip("| ").split(" | ") for line in (DATA / "README.md").read_text().splitlines() if line[:2] == "| "
    ]
    header = next(cells for cells in lines if cells[0].startswith("jailbroken"))
    counts = {(row[0], target): int(n) for row in lines for target, n in zip(header, row, strict=False) if n.isdigit()}
    assert counts == {key: round(100 * rate) for key, rate in rates.items()}


@pytest.mark.integration
def test_the_real_set_has_no_harmful_text() -> None:
    """Prompts and responses are left out, or null where the attack produced none; all attacks have the same goals."""
    turns = rw.read(DATA / "jailbreakbench")
    texts = turns["prompt"].append(turns["response"])
    assert set(texts.drop_nulls()) == {"(left out)"}
    assert turns["prompt"].null_count() == 163
    assert turns.group_by("target", "attack").agg(pl.col("goal").n_unique())["goal"].to_list() == [100] * 12
    assert turns["goal"].n_unique() == 100


@pytest.mark.integration
def test_the_picture_is_drawn_by_the_written_lines(tmp_path: Path, monkeypatch) -> None:
    """The lines of Python in the README of the data draw the picture of the project's README."""
    (code,) = re.findall(r"```python\n(.*?)```", (DATA / "README.md").read_text(), re.DOTALL)
    monkeypatch.chdir(DATA.parent)
    target = tmp_path / "rates.svg"
    exec(code.replace("data/jailbreak_rates.svg", str(target)), {})  # the README is the test
    shown = re.findall(r"[\d.]+ % \[[\d., ]+\]", target.read_text(encoding="utf-8"))
    assert len(set(shown)) == 9  # four of the twelve rates are 0
    assert shown == re.findall(r"[\d.]+ % \[[\d., ]+\]", (DATA / "jailbreak_rates.svg").read_text(encoding="utf-8"))
