"""The guide for coding agents: every command in it runs, and prints JSON where it says so."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import rollwise as rw

ROOT = Path(__file__).parents[2]
GUIDE = Path(rw.__file__).parent / ".agents" / "skills" / "rollwise" / "SKILL.md"
COMMANDS = re.findall(r"`rollwise ([a-z]+ [^`]*LOGS[^`]*)`", GUIDE.read_text(encoding="utf-8"))
SETTINGS = {"--baseline A": "--baseline base", "ROLLOUT_ID": "simulation-7/base/persuade/fraud-001/1"}


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rollwise", *arguments], check=False, capture_output=True, text=True, cwd=cwd
    )


@pytest.mark.integration
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_guide_runs(command: str, tmp_path: Path) -> None:
    """On the simulated logs, with the guide's own options; a gate's answer is an exit code of 0, 1 or 3."""
    logs = ROOT / "data" / "rollouts"
    for placeholder, value in {**SETTINGS, "LOGS": shlex.quote(str(logs))}.items():
        command = command.replace(placeholder, value)
    done = run(*shlex.split(command), cwd=tmp_path)
    assert done.returncode in ({0, 1, 3} if command.startswith("gate") else {0}), done.stderr
    if "--format json" in command:
        document = json.loads(done.stdout)
        assert document["answer"].endswith(".")
        assert document["rows"]


@pytest.mark.integration
def test_the_guide_is_printed() -> None:
    """`rollwise info skill` prints it, with the front matter by which agents find it."""
    done = run("info", "skill")
    assert done.stdout == GUIDE.read_text(encoding="utf-8")
    assert re.match(r"---\nname: rollwise\ndescription: .{100,1000}\n---\n", done.stdout)


@pytest.mark.integration
def test_the_guide_names_no_unknown_command() -> None:
    """Each command in it exists."""
    assert len(COMMANDS) >= 9
    help_text = run("--help").stdout
    assert all(command.split()[0] in help_text for command in COMMANDS)
