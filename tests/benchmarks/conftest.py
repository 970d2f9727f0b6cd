"""The table of a benchmark run: what was compared with whom, the ratio, the target, and peak memory.

`pytest -m benchmark tests/benchmarks` prints it; with `--keep results.json` its rows are kept there, those of tests that did
not run this time staying as they were. A ratio below 1, or below the floor that a test names, fails.
"""

import datetime as dt
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

ROWS = pytest.StashKey[list[dict[str, Any]]]()
Compared = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--keep FILE`."""
    parser.addoption("--keep", type=Path, default=None, help="JSON file that benchmarks keep their rows in")


def pytest_configure(config: pytest.Config) -> None:
    """Start with no rows, in processes that keep compiled modules as a user's do: else each compiles all that it imports."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    config.stash[ROWS] = []


@pytest.fixture
def compared(request: pytest.FixtureRequest) -> Compared:
    """Note a ratio against a peer (above 1: we are better), and fail where it is below its floor.

    `target` is what was set as a goal, which may be missed; `floor` is what must hold on a busy machine.
    """

    def note(
        what: str,
        peer: str,
        ratio: float,
        *,
        target: float | None = None,
        floor: float = 1.0,
        mib: float | None = None,
        peer_mib: float | None = None,
    ) -> None:
        request.config.stash[ROWS].append(
            {
                "what": what,
                "peer": peer,
                "ratio": round(ratio, 2),
                "target": target,
                "met": None if target is None else ratio >= target,
                "mib": None if mib is None else round(mib),
                "peer_mib": None if peer_mib is None else round(peer_mib),
                "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
            }
        )
        assert ratio >= floor, f"{what}: {ratio:.2f} times {peer}, not {floor}"

    return note


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The table, and the file if one is asked for."""
    rows = config.stash[ROWS]
    if not rows:
        return
    terminalreporter.section("benchmarks")
    with pl.Config(
        tbl_rows=-1, tbl_cols=-1, tbl_width_chars=150, fmt_str_lengths=80, tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True, tbl_formatting="ASCII_MARKDOWN",
    ):  # fmt: skip
        terminalreporter.write_line(str(pl.DataFrame(rows, infer_schema_length=None).drop("date")))
    path: Path | None = config.getoption("--keep")
    if path is None:
        return
    before = json.loads(path.read_text())["rows"] if path.exists() else []
    kept = {(row["what"], row["peer"]): row for row in [*before, *rows]}
    machine = {
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "polars": pl.__version__,
        "machine": platform.machine(),
    }
    path.write_text(json.dumps({"machine": machine, "rows": list(kept.values())}, indent=1, allow_nan=False) + "\n")


@pytest.fixture(scope="session")
def child() -> Callable[..., dict[str, float]]:
    """Run Python source in a process of its own: what its last line prints, with its `seconds`, `cpu` and peak `mib`.

    The source defines `work()`, whose best time of some rounds is taken; arguments are in `sys.argv`. `allocator` is a setting
    of Polars' allocator.
    """

    def run(source: str, *arguments: str, rounds: int = 1, allocator: str = "") -> dict[str, float]:
        timed = f"{source}\n_ROUNDS = {rounds}\n{_TIMED}"
        done = subprocess.run(
            [sys.executable, "-c", timed, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "_RJEM_MALLOC_CONF": allocator},
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return found

    return run


_TIMED = """
import json, time
_wall = _cpu = float("inf")
for _ in range(_ROUNDS):
    _began, _used = time.perf_counter(), time.process_time()
    work()
    _wall, _cpu = min(_wall, time.perf_counter() - _began), min(_cpu, time.process_time() - _used)
_peak = next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"seconds": _wall, "cpu": _cpu, "mib": _peak}))
"""
