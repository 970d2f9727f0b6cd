"""Every command: its help has an example that runs, and `--format json` prints a sentence to quote and the rows behind it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rollwise.cli import app, run

ROOT = Path(__file__).parents[2]
ROLLOUT = "simulation-7/base/persuade/fraud-001/1"
FILES = {
    "rollout.yml": "sampler: {use: simulated, options: {hazard: 0.1, turns: 3}}\nseeds: 5\nmetrics: [attack_success]\n",
    "eval.yml": "eval:\n  general: {output_dir: results, dataset: {_type: json, file_path: items.json}}\n"
    "  evaluators: {match: {_type: exact_match}}\n",
    "items.json": json.dumps([{"id": 1, "question": "2 + 2?", "answer": "4", "generated_answer": "4"}]),
    "results.json": json.dumps({"results": [{"ask": "Hi", "reply": "Hello", "jailbroken": False}] * 2}),
}


def commands() -> list[str]:
    """Return each command as it is typed."""
    group: Any = get_command(app)
    names = []
    for name, command in group.commands.items():
        names += [f"{name} {inner}" for inner in getattr(command, "commands", ())] or [name]
    return names


def example_of(command: str) -> list[str]:
    """Return the words of the example in the help of a command."""
    group: Any = get_command(app)
    for name in command.split():
        group = group.commands[name]
    (example,) = re.findall(r"^Example: rollwise (.+)$", group.help, re.MULTILINE)
    return shlex.split(example.partition(" > ")[0])


@pytest.fixture
def typed(capsys, monkeypatch, tmp_path: Path):
    """Run the words of a command in a folder with the logs `runs` and the files of the examples; return what it prints."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").symlink_to(ROOT / "data" / "rollouts")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def call(words: list[str]) -> tuple[int, str]:
        with pytest.raises(SystemExit) as leaving:
            run(words)
        return int(leaving.value.code or 0), capsys.readouterr().out

    return call


@pytest.mark.integration
@pytest.mark.parametrize("command", commands())
def test_the_example_of_the_help_runs_and_its_json_has_an_answer(command: str, typed) -> None:
    """One sentence in `answer`, and at least one row; the guide for coding agents is a text."""
    words = [ROLLOUT if word == "ROLLOUT_ID" else word for word in example_of(command)]
    assert words[: len(command.split())] == command.split()
    words += ["--skip_workflow"] if command == "eval" else []
    code, out = typed(words if command == "info skill" else [*words, "--format", "json"])
    assert code == (1 if command in {"audit", "gate"} else 0)  # no more than 1 %, or 2 %, is not met
    if command != "info skill":
        document = json.loads(out)
        assert list(document) == ["answer", "rows"]
        assert re.fullmatch(r"\S.+[.]", document["answer"])
        assert document["rows"]


@pytest.mark.integration
def test_the_answer_holds_the_numbers_of_the_rows(typed) -> None:
    """An estimate, its interval, its group and the number of rollouts; a gate says why."""
    _, out = typed(["summarize", "runs", "--by", "target", "--metric", "attack_success", "--format", "json"])
    assert json.loads(out)["answer"] == (
        "Attack success by target, from 12 % [5, 27] (guarded) to 54 % [38, 70] (base), 2 groups. "
        "Intervals: 95 %, clustered Wilson; n = 112 rollouts in 20 goals per group."
    )
    _, out = typed(["gate", "runs", "--by", "target", "--format", "json", "--require", "attack_success < 30%"])
    assert json.loads(out)["answer"] == (
        "'attack_success < 30%' is not met for target='base': the lower end is 35.5 % (112 of 120 rollouts have a verdict)."
    )
