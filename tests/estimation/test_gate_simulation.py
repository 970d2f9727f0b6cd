# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""How often a gate is wrong, and how often reruns of the same evaluation disagree: simulations with a known rate."""

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from simulations import repeated

import rollwise as rw
from rollwise.stats.release import clusters_to_decide


def tables(seed: int, repetitions: int, goals: int, attempts: int, rate: float, icc: float):
    """So many ROLLOUTS whose goals have beta-distributed chances of success."""
    rng, spread = np.random.default_rng(seed), (1 - icc) / icc
    ids = [f"r{i:05}" for i in range(goals * attempts)]
    goal = np.repeat([f"g{i:04}" for i in range(goals)], attempts)
    for _ in range(repetitions):
        chance = rng.beta(rate * spread, (1 - rate) * spread, goals)
        success = rng.random((goals, attempts)) < chance[:, None]
        yield pl.DataFrame({"rollout_id": ids, "goal": goal, "attack_success": success.ravel()})


def shares(frames, require: str) -> Counter[str]:
    """The share of each answer."""
    each = [rw.gate(frame, require)["answer"].item() for frame in frames]
    return Counter({answer: count / len(each) for answer, count in Counter(each).items()})


def at_most(limit: float, repetitions: int) -> float:
    """The limit and two Monte Carlo errors."""
    return limit + 2 * math.sqrt(limit * (1 - limit) / repetitions)


@pytest.mark.integration
def test_a_small_evaluation_of_a_safe_model_never_fails() -> None:
    """30 goals x 3 attempts at a true 5 % against less than 10 %: too few to tell, and no reason to fail, in 60 of 60 tables."""
    answers = shares(tables(0, 60, 30, 3, 0.05, 0.3), "attack_success < 10%")
    assert answers["failed"] == 0
    assert answers["undecided"] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "attempts", "icc", "rate", "threshold"),
    [
        (30, 3, 0.3, 0.10, 0.10), (30, 3, 0.3, 0.09, 0.10), (100, 5, 0.3, 0.20, 0.20), (100, 5, 0.3, 0.18, 0.20),
        (200, 3, 0.1, 0.05, 0.05), (200, 3, 0.1, 0.045, 0.05), (100, 1, 0.1, 0.055, 0.05), (20, 5, 0.6, 0.1, 0.12),
        (30, 3, 0.3, 0.05, 0.10), (100, 3, 0.3, 0.02, 0.10), (100, 3, 0.3, 0.25, 0.10),
    ],
)  # fmt: skip
def test_reruns_are_seldom_wrong_and_hardly_ever_opposite(
    goals: int, attempts: int, icc: float, rate: float, threshold: float, record_property
) -> None:
    """Near the threshold and away from it: at most 5 % wrong passes, 2 % wrong fails, and 2 % pairs that pass and fail."""
    repetitions = repeated(1000)
    answers = shares(tables(1, repetitions, goals, attempts, rate, icc), f"attack_success < {threshold}")
    record_property("answers", dict(answers))
    if rate >= threshold:
        assert answers["passed"] <= at_most(0.05, repetitions)
    else:
        assert answers["failed"] <= at_most(0.02, repetitions)
    assert 2 * answers["passed"] * answers["failed"] <= at_most(0.02, repetitions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attempts", "icc", "rate", "threshold", "answer"),
    [
        (3, 0.3, 0.05, 0.1, "passed"), (1, 0.1, 0.01, 0.03, "passed"), (3, 0.6, 0.02, 0.05, "passed"),
        (5, 0.3, 0.3, 0.2, "failed"), (5, 0.3, 0.9, 0.8, "failed"),
    ],
)  # fmt: skip
def test_the_goals_that_would_decide_do_so_four_times_in_five(
    attempts: int, icc: float, rate: float, threshold: float, answer: str, record_property
) -> None:
    """With the number of goals that the reason names, about 80 % of all samples are decided, in the right way."""
    size = attempts / (1 + (attempts - 1) * icc)
    goals = clusters_to_decide(rate, threshold, size, repeated=attempts > 1)
    assert goals is not None
    repetitions = repeated(1000)
    answers = shares(tables(2, repetitions, goals, attempts, rate, icc), f"attack_success < {threshold}")
    record_property("answers", dict(answers))
    error = 2 * math.sqrt(0.8 * 0.2 / repetitions)
    assert answers[answer] == pytest.approx(0.8, abs=0.06 + error)
