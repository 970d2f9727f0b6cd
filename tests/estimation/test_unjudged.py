# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Rollouts with unjudged turns and no success: what they count, by hand, by other estimates, and by coverage."""

from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl
import pytest
from simulations import repeated

import rollwise as rw
from rollwise.errors import ArgumentError

TURNS, GOALS, ATTEMPTS = 5, 30, 3


def judged_turns(rng: np.random.Generator, of_successes: float, of_failures: float, hazards: dict[str, float]):
    """Turns of two targets over the same goals, whose verdicts are known with these chances; a success ends a rollout."""
    goal_effect = rng.gamma(2.0, 0.5, GOALS)
    target, goal, attempt = np.meshgrid(np.arange(len(hazards)), np.arange(GOALS), np.arange(ATTEMPTS), indexing="ij")
    hazard = 1 - np.exp(-np.array(list(hazards.values()))[target.ravel()] * goal_effect[goal.ravel()])
    success = rng.random((hazard.size, TURNS)) < hazard[:, None]
    # A turn exists until the first success.
    exists: np.ndarray = np.cumsum(success, axis=1) - success == 0
    judged = rng.random(success.shape) < np.where(success, of_successes, of_failures)
    rollout, turn = np.nonzero(exists)
    verdict = success[rollout, turn]
    return rw.turns(
        pl.DataFrame(
            {
                "rollout_id": [f"r{number:05}" for number in rollout],
                "turn": (turn + 1).astype(np.int32),
                "target": np.array(list(hazards))[target.ravel()[rollout]],
                "goal": [f"g{number:02}" for number in goal.ravel()[rollout]],
                "attempt": (attempt.ravel()[rollout] + 1).astype(np.int32),
                "succeeded": pl.Series(verdict).set(~pl.Series(judged[rollout, turn]), None),
            }
        )
    )


def true_rate(hazard: float, tries: int = 1) -> float:
    """The share of goals with a success in so many attempts: the gamma law's transform at the total hazard."""
    return float(1 - (1 + 0.5 * hazard * TURNS * tries) ** -2.0)


def rollouts(seed: int, of_successes: float = 0.9, of_failures: float = 0.9) -> pl.DataFrame:
    turns = judged_turns(np.random.default_rng(seed), of_successes, of_failures, {"a": 0.15, "b": 0.08})
    return pl.DataFrame(rw.measure(turns))


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(3))
def test_the_estimate_is_the_curve_at_the_last_turn(seed: int) -> None:
    """Where all rollouts without success have equally many turns; never below the successes that are certain."""
    frame = rollouts(seed)
    curve = rw.curve(frame, by="target").filter(pl.col("at") == TURNS)
    judged = frame.filter(pl.col("num_judged") > 0).with_columns(pl.col("attack_success").fill_null(value=False))
    certain = judged.group_by("target").agg(pl.col("attack_success").mean()).sort("target")["attack_success"]
    rates = rw.summarize(frame, by="target", metrics="attack_success")
    assert rates["estimate"].to_list() == pytest.approx(
        np.maximum(curve["estimate"].to_numpy(), certain.to_numpy()).tolist()
    )
    censored = rw.summarize(frame, by="target", metrics="attack_success", unjudged="censor")
    for name in ("estimate", "low", "high"):
        assert censored[name].to_list() == pytest.approx(curve[name].to_list())


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(3))
def test_every_verb_agrees_about_the_same_share(seed: int) -> None:
    """ASR@1 of equal attempts, the cells of a tradeoff and the arms of a difference are the rates of `summarize`."""
    turns = judged_turns(np.random.default_rng(seed), 0.95, 0.9, {"a": 0.15, "b": 0.08})
    # With every first turn judged, all goals have equally many attempts, and weigh the same by rollouts and by goals.
    first = pl.when(pl.col("turn") == 1).then(pl.col("succeeded").fill_null(value=False)).otherwise("succeeded")
    frame = rw.measure(turns.with_columns(succeeded=first)).with_columns(task_success=pl.col("goal") < "g15")
    rates = rw.summarize(frame, by="target", metrics="attack_success")
    attempts = rw.attempts(frame, by="target", k=1, stopped=False).filter(kind="asr@k")
    assert attempts["estimate"].to_list() == pytest.approx(rates["estimate"].to_list())
    cells = rw.comparisons.tradeoff(frame, by="target").filter("attack_success").group_by("target", maintain_order=True)
    assert cells.agg(pl.col("estimate").sum())["estimate"].to_list() == pytest.approx(rates["estimate"].to_list())
    difference = rw.contrast(frame, of="target", baseline="a", metrics="attack_success").row(0, named=True)
    assert (difference["baseline_estimate"], difference["group_estimate"]) == pytest.approx(tuple(rates["estimate"]))


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(3))
def test_one_more_verdict_never_widens(seed: int) -> None:
    """Filling one unjudged turn narrows the interval or leaves it, whatever its verdict; the new one lies within the old."""
    turns = judged_turns(np.random.default_rng(seed), 0.9, 0.9, {"a": 0.15})
    partial = rw.measure(turns).filter(pl.col("attack_success").is_null() & (pl.col("num_judged") > 0))["rollout_id"]
    before = rw.summarize(rw.measure(turns), metrics="attack_success", cluster=None).row(0, named=True)
    for verdict in (False, True):
        filled = turns.with_columns(
            succeeded=pl.when(pl.col("rollout_id") == partial[0])
            .then(pl.col("succeeded").fill_null(verdict))
            .otherwise("succeeded")
        )
        after = rw.summarize(rw.measure(filled), metrics="attack_success", cluster=None).row(0, named=True)
        assert before["low"] - 1e-12 <= after["low"] < after["high"] <= before["high"] + 1e-12


@pytest.mark.integration
def test_success_within_k_is_the_curve_at_k() -> None:
    """A success within two turns has its own expectation: the curve at turn 2."""
    turns = judged_turns(np.random.default_rng(5), 0.9, 0.9, {"a": 0.15})
    frame = rw.measure(turns, rw.metrics.success_within(2), rw.metrics.time_to_success())
    rate = rw.summarize(frame, metrics="success_within_2").row(0, named=True)
    assert rate["estimate"] == pytest.approx(rw.curve(frame).filter(pl.col("at") == 2)["estimate"].item())
    assert rate["low"] < rate["estimate"] < rate["high"]


def test_nothing_judged_has_no_estimate() -> None:
    """Only rollouts with unjudged turns and no success: the interval covers them, and there is no estimate."""
    turns = rw.turns(
        pl.DataFrame(
            {
                "rollout_id": ["a", "a", "b", "b"],
                "goal": ["g", "g", "h", "h"],
                "turn": [1, 2] * 2,
                "succeeded": [False, None] * 2,
            }
        )
    )
    row = rw.summarize(rw.measure(turns), metrics="attack_success").row(0, named=True)
    assert (row["estimate"], row["n"], row["n_undetermined"]) == (None, 0, 2)
    assert (row["low"], row["high"]) == (0, 1)


@pytest.mark.integration
@pytest.mark.parametrize(
    "verb",
    [
        "summarize",
        "attempts",
        "comparisons.profile",
        "comparisons.portfolio",
        "comparisons.tradeoff",
        "contrast",
        "forecast",
        "training",
    ],
)
def test_an_unknown_choice_is_refused(verb: str) -> None:
    """The message names the choices."""
    frame = rollouts(0).with_columns(task_success=True, train_step=1)
    needed: dict[str, dict[str, Any]] = {"contrast": {"of": "target"}, "forecast": {"k": 3}}
    options = needed.get(verb, {})
    with pytest.raises(
        ArgumentError, match=rf"{verb.removeprefix('comparisons.')}: unjudged='bound' is unknown.*bounds"
    ):
        attrgetter(verb)(rw)(frame, unjudged="bound", **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of_successes", "of_failures", "at_random"),
    [(0.96, 0.96, True), (0.85, 0.85, True), (0.99, 0.85, False), (0.85, 0.99, False)],
    ids=["few at random", "many at random", "successes judged more often", "failures judged more often"],
)
def test_coverage(of_successes: float, of_failures: float, at_random: bool) -> None:
    """Bounds cover the truth however turns are judged; censoring covers it, without bias, if they are judged at random."""
    rng, repetitions = np.random.default_rng(11), repeated(400)
    hazards = {"a": 0.15, "b": 0.08}
    truth = {
        "rate": true_rate(0.15),
        "asr@3": true_rate(0.15, 3),
        "difference": true_rate(0.08) - true_rate(0.15),
    }
    covered = {(name, choice): 0 for name in truth for choice in ("bounds", "censor")}
    estimates = dict.fromkeys(covered, 0.0)
    for _ in range(repetitions):
        frame = rw.measure(judged_turns(rng, of_successes, of_failures, hazards))
        first = frame.filter(target="a")
        for choice in ("bounds", "censor"):
            rows = {
                "rate": rw.summarize(first, metrics="attack_success", unjudged=choice).row(0, named=True),
                "asr@3": rw.attempts(first, k=3, stopped=False, unjudged=choice)
                .filter(kind="asr@k")
                .row(0, named=True),
                "difference": rw.contrast(
                    frame, of="target", baseline="a", metrics="attack_success", unjudged=choice, resamples=2000
                ).row(0, named=True),
            }
            for name, row in rows.items():
                covered[name, choice] += row["low"] <= truth[name] <= row["high"]
                estimates[name, choice] += (
                    row["difference"] if name == "difference" else row["estimate"]
                ) / repetitions
    noise = 2.5 * np.sqrt(0.95 * 0.05 / repetitions)
    for (name, choice), number in covered.items():
        if choice == "bounds" or at_random:
            assert number / repetitions >= 0.95 - noise, (name, choice)
        if at_random:
            assert estimates[name, choice] == pytest.approx(truth[name], abs=0.02 + 1 / repetitions)
