"""Simulated turns of which reports have figures of every kind."""

from typing import Any

import polars as pl

import rollwise as rw

DESIGN: dict[str, Any] = {"goals": 8, "attempts": 3, "turns": 3, "tasks": 2, "seed": 1}


def simulated(**more: Any) -> pl.DataFrame:
    """Turns of eight goals in two tasks."""
    turns: pl.DataFrame = rw.simulate(**DESIGN | more)[0]
    return turns


def trained(**more: Any) -> pl.DataFrame:
    """Turns of three training steps, each a run."""
    steps = [
        simulated(targets={"policy": step / 2000}, **more).with_columns(
            rollout_id=pl.format("{}/{}", pl.lit(step), "rollout_id"), run=pl.lit(f"run {step}"), train_step=step
        )
        for step in (100, 200, 300)
    ]
    return pl.concat(steps)
