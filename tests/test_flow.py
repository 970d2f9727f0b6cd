"""The whole sentence on simulated rollouts: read, measure, summarize, curve, and the intervals hold the known truth."""

from math import sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from simulations import repeated

import rollwise as rw
from rollwise import metrics as m
from rollwise.estimation.arrays import Columns
from rollwise.estimation.clusters import generator, unit_of

QUIET: dict[str, Any] = {"give_up": 0.0, "target_ends": 0.0, "error": 0.0}
ALONE: dict[str, Any] = {"targets": {"t": 0.05}, "attacks": "a", "categories": "c", "text": False}
DESIGNS: dict[str, dict[str, Any]] = {
    "single turns": {**ALONE, **QUIET, "goals": 50, "attempts": 5, "turns": 1},
    "rare": {**ALONE, **QUIET, "targets": {"t": 0.02}, "goals": 100, "attempts": 10, "turns": 1},
    "endings of every kind": {**ALONE, "goals": 40, "attempts": 5, "turns": 8, "give_up": 0.05, "error": 0.03},
    "unequal attempts": {**ALONE, "goals": 60, "attempts": (1, 9), "turns": 5},
    "unjudged turns": {**ALONE, **QUIET, "goals": 60, "attempts": 4, "turns": 6, "unjudged_share": 0.08},
    "crossed tasks": {
        **ALONE,
        **QUIET,
        "goals": 12,
        "tasks": 15,
        "icc": 0.1,
        "icc_task": 0.1,
        "attempts": 1,
        "turns": 3,
    },
}
REPETITIONS: int = repeated(400)
LEAST = 0.94 - 2 * sqrt(0.94 * 0.06 / REPETITIONS)


def value(truth: pl.DataFrame, metric: str, statistic: str, at: float | None = None) -> float:
    """One exact value, over all categories."""
    rows = truth.filter(pl.col("category").is_null(), pl.col("at").eq_missing(at), metric=metric, statistic=statistic)
    return float(rows["value"].item())


def covered(design: dict, metrics, check) -> float:
    """Share of simulated tables whose interval holds the truth."""
    hits = 0
    for seed in range(REPETITIONS):
        turns, truth = rw.simulate(**design, seed=seed)
        low, high, true = check(rw.measure(turns, metrics), truth)
        hits += low is not None and low <= true <= high
    return hits / REPETITIONS


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["single turns", "rare", "endings of every kind", "unequal attempts", "unjudged turns", "crossed tasks"]
)
def test_the_rate_of_success_is_covered(name: str) -> None:
    """The interval of attack success holds the true rate, also where some turns have no verdict."""

    def check(rollouts: pl.DataFrame, truth: pl.DataFrame) -> tuple[float, float, float]:
        row = rw.summarize(rollouts, metrics="attack_success").row(0, named=True)
        return row["low"], row["high"], value(truth, "attack_success", "mean")

    assert covered(DESIGNS[name], [m.attack_success], check) >= LEAST


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["success", "survival"])
@pytest.mark.parametrize("name", ["endings of every kind", "unequal attempts", "unjudged turns", "crossed tasks"])
def test_the_curve_is_covered_at_its_last_turn(name: str, kind: Any) -> None:
    """Share as run and survival hold their truth, with censoring, competing endings and missing verdicts."""
    last = DESIGNS[name]["turns"]

    def check(rollouts: pl.DataFrame, truth: pl.DataFrame) -> tuple[float, float, float]:
        row = rw.curve(rollouts, kind=kind).filter(at=last).row(0, named=True)
        return row["low"], row["high"], value(truth, "time_to_success", kind, last)

    assert covered(DESIGNS[name], [m.time_to_success], check) >= LEAST


@pytest.mark.slow
def test_the_incidence_of_giving_up_is_covered() -> None:
    """Each way to end has its own incidence, and its interval holds the truth."""
    design = DESIGNS["endings of every kind"]

    def check(rollouts: pl.DataFrame, truth: pl.DataFrame) -> tuple[float, float, float]:
        row = rw.curve(rollouts, kind="incidence").filter(ending="gave_up", at=8).row(0, named=True)
        true = truth.filter(pl.col("category").is_null(), statistic="incidence", ending="gave_up", at=8)["value"].item()
        return row["low"], row["high"], true

    assert covered(design, [m.time_to_success], check) >= LEAST


@pytest.mark.slow
def test_the_restricted_mean_is_covered() -> None:
    """The restricted mean of turns to success holds its truth."""
    design = {**DESIGNS["endings of every kind"], "targets": {"t": 0.1}}

    def check(rollouts: pl.DataFrame, truth: pl.DataFrame) -> tuple[float, float, float]:
        row = rw.summarize(rollouts, metrics="time_to_success", statistics="restricted_mean").row(0, named=True)
        return row["low"], row["high"], value(truth, "time_to_success", "restricted_mean", 8)

    assert covered(design, [m.time_to_success], check) >= LEAST


@pytest.mark.slow
def test_the_mean_number_of_turns_is_covered() -> None:
    """The BCa cluster bootstrap holds the true mean of turns."""
    design = DESIGNS["endings of every kind"]

    def check(rollouts: pl.DataFrame, truth: pl.DataFrame) -> tuple[float, float, float]:
        row = rw.summarize(rollouts, metrics="num_turns", statistics="mean", resamples=1000).row(0, named=True)
        return row["low"], row["high"], value(truth, "num_turns", "mean")

    assert covered(design, [m.num_turns], check) >= LEAST


@pytest.mark.integration
def test_dropping_rollouts_with_unjudged_turns_would_double_the_rate() -> None:
    """A tenth of verdicts missing: dropping what is unjudged moves .2 towards .4; the default bounds hold the truth."""
    design = {**ALONE, **QUIET, "targets": {"t": 0.05}, "icc": 0.0, "goals": 5000, "attempts": 1, "turns": 10}
    turns, truth = rw.simulate(**design, unjudged_share=0.1)
    true = value(truth, "attack_success", "mean")
    rollouts = rw.measure(turns, m.attack_success, m.time_to_success)
    dropped, bounds, censored = (
        rw.summarize(rollouts, metrics="attack_success", unjudged=way).row(0, named=True)
        for way in ("drop", "bounds", "censor")
    )
    assert dropped["estimate"] > 1.25 * true
    assert bounds["estimate"] == pytest.approx(true, abs=0.03)
    assert bounds["low"] < true < bounds["high"]
    assert censored["low"] < true < censored["high"]
    assert censored["estimate"] == pytest.approx(true, abs=0.03)


@pytest.mark.integration
def test_without_unknowns_summary_and_curve_agree() -> None:
    """When every rollout is watched to its end, the curve's last point is the summary's row, interval included."""
    turns, _ = rw.simulate(**{**ALONE, **QUIET}, goals=30, attempts=4, turns=6, seed=3)
    rollouts = rw.measure(turns, m.attack_success, m.time_to_success)
    row = rw.summarize(rollouts, metrics="attack_success").row(0, named=True)
    last = rw.curve(rollouts).row(-1, named=True)
    for name in ("estimate", "std_error", "low", "high"):
        assert last[name] == pytest.approx(row[name], rel=1e-9), name


@pytest.mark.integration
def test_the_same_goals_are_paired_by_their_draws() -> None:
    """Two targets that met the same goals are resampled alike, so that their difference needs no other draws."""
    turns, _ = rw.simulate(goals=12, attempts=2, turns=3, seed=1)
    data = Columns(rw.measure(turns, m.attack_success))
    ids = [unit_of(data, rows, "attack_success", "goal").ids() for _, rows in data.groups(("target",))]
    assert ids[0] == ids[1]
    first, second = (generator(0, each).random(5) for each in ids)
    assert np.array_equal(first, second)
    assert not np.array_equal(first, generator(0, ids[0], "arm").random(5))
