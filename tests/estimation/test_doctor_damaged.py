"""`doctor` on a hundred random damaged tables: every call that it calls valid finds a number on that very table."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema

Damage = Callable[[pl.DataFrame, np.random.Generator], pl.DataFrame]
ANSWERS = ("estimate", "low", "difference", "goals", "answer", "passed", "p_value")


def _some(frame: pl.DataFrame, rng: np.random.Generator, share: float) -> pl.Series:
    return pl.Series(rng.random(frame.height) < share)


def _without_values(*names: str) -> Damage:
    return lambda frame, _: frame.with_columns(pl.lit(None, frame.schema[name]).alias(name) for name in names)


def _with_nulls(name: str, share: float) -> Damage:
    return lambda frame, rng: frame.with_columns(pl.when(~_some(frame, rng, share)).then(name).alias(name))


def _all(name: str, value: object) -> Damage:
    return lambda frame, _: frame.with_columns(pl.lit(value).cast(frame.schema[name]).alias(name))


def _rollouts(share: float) -> Damage:
    """Keep a share of the rollouts, at least one."""

    def keep(frame: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
        ids = frame["rollout_id"].unique().sort()
        number = max(1, int(share * ids.len()))
        return frame.filter(pl.col("rollout_id").is_in(rng.choice(ids.to_list(), number, replace=False).tolist()))

    return keep


DAMAGES: tuple[Damage, ...] = (
    _without_values("outcome"),
    _without_values("succeeded"),
    _without_values("ending"),
    _without_values("goal"),
    _without_values("attempt"),
    _without_values("target"),
    _without_values("outcome", "succeeded"),
    _with_nulls("succeeded", 0.04),
    _with_nulls("succeeded", 0.5),
    lambda frame, _: frame.with_columns(goal=pl.when(pl.col("attempt") > 1).then("goal")),
    _all("succeeded", value=False),
    _all("succeeded", value=True),
    _all("outcome", "undetermined"),
    _all("ending", "error"),
    _all("attack", "none"),
    _all("goal", "g"),
    _all("attempt", 1),
    _rollouts(0.5),
    _rollouts(0.1),
    _rollouts(0.01),
    lambda frame, _: frame.filter(pl.col("turn") == 1),
    lambda frame, rng: frame.with_columns(score=pl.Series(rng.random(frame.height))),
    lambda frame, rng: frame.with_columns(reward=pl.Series(np.where(rng.random(frame.height) < 0.5, np.nan, 1.0))),
    lambda frame, rng: frame.with_columns(cost_usd=pl.Series(rng.random(frame.height))),
    lambda frame, _: frame.with_columns(cost_usd=pl.when(pl.col("turn") > 1).then(0.1)),
    lambda frame, _: frame.with_columns(refused=~pl.col("succeeded")),
    lambda frame, _: frame.with_columns(refused=pl.lit(None, dtype=pl.Boolean)),
    lambda frame, _: frame.with_columns(solved=pl.lit(value=True), task=pl.col("goal")),
    lambda frame, _: frame.with_columns(train_step=pl.col("attempt") // 2),
    lambda frame, _: frame.with_columns(train_step=pl.lit(7)),
    lambda frame, _: frame.with_columns(step_name=pl.col("turn")),
)


def damaged(seed: int) -> pl.DataFrame:
    """A small simulated table with up to five random damages."""
    rng = np.random.default_rng(seed)
    targets = {"a": 0.2, "b": 0.05} if rng.random() < 0.7 else {"a": 0.2}
    turns, _ = rw.simulate(
        targets=targets,
        categories=("fraud",),
        goals=int(rng.choice([1, 2, 5, 12])),
        attempts=int(rng.choice([1, 2, 4])),
        turns=int(rng.choice([1, 3, 6])),
        unjudged_share=float(rng.choice([0.0, 0.05])),
        attempts_stop_on_success=bool(rng.random() < 0.3),
        text=False,
        seed=seed,
    )
    for number in rng.choice(len(DAMAGES), int(rng.integers(0, 6)), replace=False):
        turns = DAMAGES[number](turns, rng)
    return turns


def finds_something(frame: pl.DataFrame) -> bool:
    """Return whether a result has any number; a curve needs one after its start, where every curve is 0."""
    if set(schema.CURVE.names) <= set(frame.columns):
        frame = frame.filter((pl.col("at") > 0) | (pl.col("kind") == "trajectory"))
    return any(frame[name].null_count() < frame.height for name in ANSWERS if name in frame.columns)


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(100))
def test_what_is_called_valid_finds_a_number(seed: int) -> None:
    """Each call runs as it stands; an analysis that is not valid has a reason and no call."""
    turns = damaged(seed)
    findings = schema.check(rw.doctor(turns), schema.DOCTOR)
    for row in findings.rows(named=True):
        if row["valid"]:
            result = eval(row["call"], {"rw": rw, "m": m, "turns": turns})
            assert finds_something(result), (row["analysis"], row["call"])
        else:
            assert row["reason"]
            assert row["call"] is None
