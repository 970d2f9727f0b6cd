"""Seeded schedules of crashes, torn writes and processes on the real code of the store; see `simulation.py`."""

import os
from pathlib import Path

import pytest
from jobs.simulation import JOBS, failures  # type: ignore[import-not-found]

from turnwise.evaluation.results_log import ResultsLog
from turnwise.judges.store import VerdictStore
from turnwise.judges.verdicts import judge_of
from turnwise.rollout.store import RunStore

# Each worker of the slow lane runs a part. A failing seed is replayed by `python -m jobs.simulation SEED` in `tests`.
FAST, SLOW, PARTS = 5_000, 1_000_000, 20


def test_no_schedule_loses_doubles_or_changes_an_answer() -> None:
    """In the fast lane, 5,000 of them."""
    assert failures(range(FAST)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_of_a_million_does(part: int) -> None:
    """In the slow lane, 1,000,000; a tenth where simulations are reduced."""
    count = SLOW // PARTS // (10 if os.environ.get("TURNWISE_SIMULATIONS") == "reduced" else 1)
    first = FAST + part * SLOW // PARTS
    assert failures(range(first, first + count)) == []


@pytest.mark.parametrize(
    "mutant", ["no sync", "no sync of the folder", "no lock", "no checksum", "no line break", "no claim"]
)
def test_a_broken_store_is_noticed(mutant: str) -> None:
    """Without any one of its precautions, some of the first schedules fail."""
    assert failures(range(1000), mutant) != []


def test_the_simulated_jobs_are_the_three_jobs(tmp_path: Path) -> None:
    """They sync and share as the simulation has them."""
    stores = {
        "rollout": RunStore(tmp_path, "k", [0]),
        "judge": VerdictStore(tmp_path, judge_of(len)),
        "eval": ResultsLog(tmp_path, "e", {}),
    }
    assert {name: (store._sync_every, store._shared) for name, store in stores.items()} == JOBS
