"""How long a report takes, and how much memory: of many rollouts, of many groups, and the first one of README."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark
Child = Callable[..., dict[str, float]]
DATA = Path(__file__).parents[2] / "data" / "rollouts"

MADE = """
import sys, tempfile
import numpy as np, polars as pl, rollwise as rw
from rollwise import metrics as m
path, rollouts, groups = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
"""
WRITE = """
number, rng = np.repeat(np.arange(rollouts), 5), np.random.default_rng(0)
texts = pl.Series([f"I cannot help with that, request {place}. " * 4 for place in range(1000)])
def said(): return texts.gather(rng.integers(0, 1000, len(number)))
rw.write(rw.turns(pl.DataFrame({
    "rollout_id": number, "turn": np.tile(np.arange(1, 6), rollouts), "target": number % groups, "goal": number // groups % 50,
    "prompt": said(), "response": said(), "succeeded": rng.random(len(number)) < 0.05,
}).with_columns(pl.col("rollout_id", "target", "goal").cast(pl.String))), path)
def work(): pass
"""
REPORT = "def work(): rw.report(rw.read(path), tempfile.mkdtemp() + '/report', by='target')"
STEPS = """
def work():
    rollouts = rw.measure(rw.read(path), m.attack_success(), m.time_to_success())
    rw.summarize(rollouts, by='target'), rw.curve(rollouts, by='target')
"""


def test_a_million_rollouts(tmp_path: Path, child: Child, compared: Callable[..., None]) -> None:
    """Beside reading, measuring, summarizing and the curve alone; the peak beside that of reading."""
    given = str(tmp_path / "turns.parquet"), "1000000", "10"
    child(MADE + WRITE, *given)
    report, steps, read = (child(MADE + work, *given) for work in (REPORT, STEPS, "def work(): rw.read(path)"))
    name = "report of 1,000,000 rollouts x 5 turns"
    compared(
        name, "read, measure, summarize and curve", steps["cpu"] / report["cpu"], target=1 / 2, floor=1 / 8,
        mib=report["mib"], peer_mib=steps["mib"],
    )  # fmt: skip
    compared(f"{name}, peak memory", "read", read["mib"] / report["mib"], target=1 / 1.5, floor=1 / 3)


def test_ten_thousand_groups(tmp_path: Path, child: Child, compared: Callable[..., None]) -> None:
    """Beside ten groups of the same rollouts."""
    taken = []
    for groups in ("10", "10000"):
        given = str(tmp_path / f"{groups}.parquet"), "50000", groups
        child(MADE + WRITE, *given)
        taken.append(child(MADE + REPORT, *given))
    few, many = taken
    compared(
        "report of 10,000 groups", "report of 10 groups", few["cpu"] / many["cpu"], target=1 / 6, floor=1 / 30,
        mib=many["mib"], peer_mib=few["mib"],
    )  # fmt: skip


def test_the_first_report(tmp_path: Path, compared: Callable[..., None]) -> None:
    """The command of README from a fresh process, beside the imports that nobody can do without, thrice and a second."""
    ours = [sys.executable, "-m", "rollwise", "report", str(DATA), "--by", "target", "--by", "attack", "--out"]
    peer = [sys.executable, "-c", "import polars, matplotlib.pyplot"]
    pairs = [(seconds([*ours, str(tmp_path / str(place))]), seconds(peer)) for place in range(5)]
    mine, theirs = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    peer_name = "three times import polars, matplotlib.pyplot, plus 1 s"
    compared("first report", peer_name, (3 * theirs + 1) / mine, target=1, floor=0.4)


def seconds(command: list[str]) -> float:
    """Wall time of a process."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start
