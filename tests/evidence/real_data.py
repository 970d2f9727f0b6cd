"""Real logs whose truth is known: intervals from samples of goals must hold the value over all goals.

A sample draws goals (or tasks) with replacement from all goals of a data set, with all of their rollouts. The data set is then the
population, and its own value the truth. Goals drawn twice count as two goals, as in any sample from a population.
"""

import os
import zlib
from pathlib import Path

import numpy as np
import polars as pl

import rollwise as rw
from rollwise import metrics as m
from rollwise.stats.estimate import FloatArray, IntArray
from rollwise.stats.mean import mean
from rollwise.stats.proportion import proportion
from rollwise.stats.quantiles import median

SETS = [
    # data set, what identifies a goal, metric, statistic, goals in a sample
    ("jailbreakbench", "goal", "attack_success", "rate", 30),
    ("jailbreakbench", "goal", "attack_success", "rate", 60),
    ("mint", "task", "task_success", "rate", 50),
    ("mint", "task", "num_turns", "mean", 50),
    ("intercode", "task", "task_success", "rate", 60),
    ("intercode", "task", "num_turns", "mean", 60),
    ("intercode", "task", "num_turns", "median", 60),
    ("tau_bench", "task", "task_success", "rate", 25),
    ("tau_bench", "task", "num_turns", "mean", 25),
    ("agentdojo_drift", "task", "task_success", "rate", 30),
]


def folder() -> Path | None:
    """Return the folder of real logs, or None where it is absent."""
    named = os.environ.get("ROLLWISE_SHARED_DATA")
    return Path(named) if named and Path(named).is_dir() else None


def _values(data: Path, unit: str, metric: str) -> tuple[FloatArray, IntArray]:
    """Read a data set: the values of a metric, and the goal of each."""
    turns, _ = rw.read(data, errors="collect")
    rollouts = rw.measure(turns, m.OUTCOME).drop_nulls([unit, metric])
    codes = rollouts[unit].cast(pl.String).rank("dense").to_numpy().astype(np.int64) - 1
    return rollouts[metric].cast(pl.Float64).to_numpy(), codes


def _truth(values: FloatArray, statistic: str) -> float:
    return float(np.median(values) if statistic == "median" else values.mean())


def rows(repetitions: int) -> list[dict]:
    """Return a row for each data set and statistic: how many of the samples hold the value of the whole."""
    root = folder()
    if root is None:
        return []
    result = []
    for name, unit, metric, statistic, goals in SETS:
        values, codes = _values(root / name, unit, metric)
        truth, count = _truth(values, statistic), int(codes.max()) + 1
        places = [np.flatnonzero(codes == code) for code in range(count)]
        rng = np.random.default_rng(zlib.crc32(f"{name} {metric} {statistic} {goals}".encode()))
        held = widths = given = 0.0
        for _ in range(repetitions):
            drawn = [places[goal] for goal in rng.integers(0, count, goals)]
            sample = values[np.concatenate(drawn)]
            clusters = (np.repeat(np.arange(goals), [rollouts.size for rollouts in drawn]),)
            if statistic == "rate":
                ours = proportion(sample, clusters)
            elif statistic == "median":
                ours = median(sample, clusters)
            else:
                ours = mean(sample, clusters, rng=rng, resamples=4000)
            if ours.low is None or ours.high is None:
                continue
            given += 1
            held += ours.low <= truth <= ours.high
            widths += ours.high - ours.low
        result.append(
            {
                "data": name,
                "metric": f"{statistic} of {metric}" if statistic != "rate" else metric,
                "goals in all": count,
                "rollouts": values.size,
                "truth": round(truth, 4),
                "goals drawn": goals,
                "samples": repetitions,
                "coverage": round(held / given, 3),
                "width": round(widths / given, 3),
            }
        )
    return result
