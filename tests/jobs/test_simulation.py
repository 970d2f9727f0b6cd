"""Seeded schedules of crashes, torn writes and processes on the real code of the store; see `simulation.py`."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jobs.simulation import JOBS, World, failures, simulate  # type: ignore[import-not-found]

from rollwise.evaluation.results_log import ResultsLog
from rollwise.judges.store import VerdictStore
from rollwise.judges.verdicts import judge_of
from rollwise.rollout import RunStore

# Each worker of the slow lane runs a part. A failing seed is replayed by `python -m jobs.simulation SEED` in `tests`.
FAST, SLOW, PARTS = 5_000, 1_000_000, 20


@pytest.mark.integration
def test_no_schedule_loses_doubles_or_changes_an_answer() -> None:
    """In the fast lane, 5,000 of them."""
    assert failures(range(FAST)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_of_a_million_does(part: int) -> None:
    """In the slow lane, 1,000,000; a tenth where simulations are reduced."""
    count = SLOW // PARTS // (10 if os.environ.get("ROLLWISE_SIMULATIONS") == "reduced" else 1)
    first = FAST + part * SLOW // PARTS
    assert failures(range(first, first + count)) == []


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "mutant", ["no sync", "no sync of the folder", "no lock", "no checksum", "no line break", "no claim"]
)
def test_a_broken_store_is_noticed(mutant: str) -> None:
    """Without any one of its precautions, some of the first schedules fail."""
    assert failures(range(1000), mutant) != []


def trace(seed: int) -> str:
    """A digest of all operations of a schedule."""
    world = World(seed)
    simulate(world)
    return hashlib.sha256("\n".join(world.trace).encode()).hexdigest()


@pytest.mark.integration
def test_a_seed_is_the_same_schedule_in_every_process() -> None:
    """So a failing seed can be replayed: no address, no process number and no order of a set matters."""
    seeds = range(60)
    code = f"from jobs.test_simulation import trace\nprint(*map(trace, range({len(seeds)})))"
    command = [sys.executable, "-c", code]
    folder = Path(__file__).parent.parent
    for hash_seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split() == [trace(seed) for seed in seeds]


def test_the_simulated_jobs_are_the_three_jobs(tmp_path: Path) -> None:
    """They sync and share as the simulation has them."""
    stores = {
        "rollout": RunStore(tmp_path, "k", [0]),
        "judge": VerdictStore(tmp_path, judge_of(len)),
        "eval": ResultsLog(tmp_path, "e", {}),
    }
    assert {name: (store._sync_every, store._shared) for name, store in stores.items()} == JOBS
