"""How long `rollwise --help` takes, against an empty typer app with as many commands."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import rollwise as rw
from rollwise.cli import app

ROUNDS = 15
MOST = 1.2


def empty_app(path: Path, commands: int) -> Path:
    """A typer app that does nothing, in as many commands."""
    body = "".join(f"@app.command()\ndef command{number}() -> None:\n    'Nothing.'\n\n" for number in range(commands))
    path.write_text(f"import typer\napp = typer.Typer(add_completion=False)\n\n{body}app()\n")
    return path


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


@pytest.mark.benchmark
def test_help_costs_what_typer_costs(tmp_path: Path, compared: Callable[..., None]) -> None:
    """The median of paired ratios is at most 1.2."""
    peer = [sys.executable, str(empty_app(tmp_path / "empty.py", len(app.registered_commands))), "--help"]
    ours = [sys.executable, "-m", "rollwise", "--help"]
    pairs = [(seconds(ours), seconds(peer)) for _ in range(ROUNDS)]
    ratio = sorted(mine / theirs for mine, theirs in pairs)[ROUNDS // 2]
    best = min(mine for mine, _ in pairs), min(theirs for _, theirs in pairs)
    print(f"\n--help: {best[0]:.3f} s against {best[1]:.3f} s of an empty typer app; median ratio {ratio:.2f}")  # noqa: T201
    compared("13. rollwise --help", "an empty typer app of as many commands", 1 / ratio, target=1 / MOST, floor=0.6)


@pytest.mark.benchmark
def test_the_first_table(tmp_path: Path, compared: Callable[..., None]) -> None:
    """From a fresh process to the first summary of a Parquet file, beside `import polars` alone."""
    path = tmp_path / "turns.parquet"
    rw.simulate(goals=20, attempts=5, seed=1)[0].write_parquet(path)
    table = "import rollwise as rw; rw.summarize(rw.measure(rw.read(__import__('sys').argv[1])), by='target')"
    ours, peer = [sys.executable, "-c", table, str(path)], [sys.executable, "-c", "import polars"]
    pairs = [(seconds(ours), seconds(peer)) for _ in range(ROUNDS)]
    ratio = sorted(theirs / mine for mine, theirs in pairs)[ROUNDS // 2]
    best = min(mine for mine, _ in pairs), min(theirs for _, theirs in pairs)
    print(f"\nfirst table {best[0]:.3f} s, import polars {best[1]:.3f} s")  # noqa: T201
    compared("13. first summary of a Parquet file", "import polars alone", ratio, floor=0.1)
