"""The exact values that estimators of a simulated table should find, by integrating over goals and tasks."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from rollwise.rollout.simulation.design import BoolArray, Design, FloatArray, Group, IntArray, beta_nodes
from rollwise.schema import GAVE_UP, NO_ATTACK, SUCCESS, TARGET_ENDED

COLUMNS = {
    "target": pl.String,
    "attack": pl.String,
    "category": pl.String,
    "metric": pl.String,
    "statistic": pl.String,
    "ending": pl.String,
    "at": pl.Float64,
    "value": pl.Float64,
}
Row = tuple[str, str, str | None, int | None, float]  # metric, statistic, ending, at, value

HALF = 0.5


@dataclass(frozen=True, slots=True)
class _Kinds:
    """Kinds of goal x task (nodes of a quadrature): hazard of each turn (kind, turn), weight, and number of the goal."""

    hazard: FloatArray
    weight: FloatArray
    goal: IntArray


@dataclass(frozen=True, slots=True)
class _Course:
    """Probabilities (kind, turn) of reaching each turn, and of each event in it."""

    alive: FloatArray
    success: FloatArray
    crash: FloatArray
    gave_up: FloatArray
    target_ended: FloatArray

    @classmethod
    def of(cls, design: Design, hazard: FloatArray, *, error: float) -> "_Course":
        """Return the course in which a turn crashes, else succeeds, else the attack gives up, else the target ends it."""
        alive = _alive((1 - error) * (1 - hazard) * (1 - design.give_up) * (1 - design.target_ends))
        failed = alive * (1 - error) * (1 - hazard)
        return cls(
            alive=alive,
            success=alive * (1 - error) * hazard,
            crash=alive * error,
            gave_up=failed * design.give_up,
            target_ended=failed * (1 - design.give_up) * design.target_ends,
        )


def truth(design: Design) -> pl.DataFrame:
    """Return one row per target x attack x category (null: all of them) and estimand."""
    rows: list[tuple[object, ...]] = []
    for target, attack in product(design.targets, design.attacks):
        parts = [_kinds(design, Group(target, attack, category)) for category in design.categories]
        for category, kinds in zip(
            (None, *design.categories), (_pooled(parts, list(design.goals.values())), *parts), strict=True
        ):
            rows.extend((target, attack, category, *row) for row in _rows(design, kinds))
    if design.benign:
        rows.extend((target, NO_ATTACK, None, *_task_success(design)) for target in design.targets)
    return pl.DataFrame(rows, schema=COLUMNS, orient="row").with_columns(pl.col("value").fill_nan(None))


def _kinds(design: Design, group: Group) -> _Kinds:
    mean = design.hazards(group)
    peak = float(mean.max())
    share, icc = design.mixture
    # Exact for polynomials of the degree that occurs without crashes; with the caps, errors are below 1e-10.
    n = min(design.turns * max(2, design.attempts[1]) // 2 + 1, 40 if design.tasks else 200)
    goal, goal_weight = beta_nodes(n, peak, icc if share else 0.0)
    task, task_weight = beta_nodes(n, peak, icc if share < 1 else 0.0)
    level = np.add.outer(share * goal, (1 - share) * task).ravel()
    return _Kinds(
        hazard=np.multiply.outer(level, mean / peak if peak else mean),
        weight=np.multiply.outer(goal_weight, task_weight).ravel(),
        goal=np.repeat(np.arange(goal.size), task.size),
    )


def _pooled(parts: list[_Kinds], goals: list[int]) -> _Kinds:
    """Return the kinds of all categories together, each weighted by its number of goals."""
    first = np.cumsum([0, *(part.goal[-1] + 1 for part in parts)])
    return _Kinds(
        hazard=np.concatenate([part.hazard for part in parts]),
        weight=np.concatenate(
            [part.weight * num_goals / sum(goals) for part, num_goals in zip(parts, goals, strict=True)]
        ),
        goal=np.concatenate([part.goal + start for part, start in zip(parts, first, strict=False)]),
    )


def _rows(design: Design, kinds: _Kinds) -> Iterator[Row]:
    sensitivity, specificity = design.judge or (1.0, 1.0)
    judged = kinds.hazard * sensitivity + (1 - kinds.hazard) * (1 - specificity)
    heard = judged * (1 - design.unjudged)
    with np.errstate(invalid="ignore", divide="ignore"):  # 0/0 where every rollout crashed: the value is null
        weight = kinds.weight * _attempts_made(
            design, _Course.of(design, heard, error=design.error).success.sum(axis=1)
        )
        weight /= weight.sum()
        yield from _success(design, judged, weight, prefix="")
        yield from _bounds(design, judged, weight)
        yield from _attempts(design, judged, kinds)
        yield from _times(design, judged, weight, prefix="")
        yield from _lengths(design, heard, weight)
        if design.judge:
            yield from _success(design, kinds.hazard, weight, prefix="true_")
            yield from _times(design, kinds.hazard, weight, prefix="true_")
    if design.tasks:
        yield _task_success(design)


def _task_success(design: Design) -> Row:
    return "task_success", "mean", None, None, design.utility


def _success(design: Design, hazard: FloatArray, weight: FloatArray, *, prefix: str) -> Iterator[Row]:
    """Yield shares among the rollouts that did not crash first."""
    # Given that no crash came first, the share is P(success) / (1 - P(crash)).
    course = _Course.of(design, hazard, error=design.error)
    success, crash = np.cumsum(weight @ course.success), np.cumsum(weight @ course.crash)
    share = success / (1 - crash)
    yield f"{prefix}attack_success", "mean", None, None, share[-1]
    for k, value in enumerate(share, start=1):
        yield f"{prefix}success_within_{k}", "mean", None, k, value


def _bounds(design: Design, judged: FloatArray, weight: FloatArray) -> Iterator[Row]:
    """Yield shares of all rollouts with every crashed or partially judged one a failure, or a success."""
    heard = _Course.of(design, judged * (1 - design.unjudged), error=design.error)
    yield "attack_success", "bound_low", None, None, weight @ heard.success.sum(axis=1)
    denied = (1 - design.error) * (1 - design.unjudged) * (1 - judged)  # one more turn judged a failure
    stay = (1 - design.give_up) * (1 - design.target_ends)
    failure = _alive(denied * stay) * denied
    failure[:, :-1] *= 1 - stay
    yield "attack_success", "bound_high", None, None, 1 - weight @ failure.sum(axis=1)


def _attempts(design: Design, judged: FloatArray, kinds: _Kinds) -> Iterator[Row]:
    """Yield success of at least one, and of all, of k attempts at a random goal; and the correlation of its attempts."""
    course = _Course.of(design, judged, error=design.error)
    chance = course.success.sum(axis=1) / (1 - course.crash.sum(axis=1))
    for k in range(1, design.attempts[1] + 1):
        yield "attack_success", "asr@k", None, k, kinds.weight @ (1 - (1 - chance) ** k)
    for k in range(1, design.attempts[1] + 1):
        yield "attack_success", "pass^k", None, k, kinds.weight @ chance**k
    mean = kinds.weight @ chance
    # The variance between goals, of means over the tasks of each goal, relative to the total variance.
    size = np.bincount(kinds.goal, kinds.weight)
    of_goal = np.bincount(kinds.goal, kinds.weight * chance)[size > 0] / size[size > 0]
    spread = size[size > 0] @ (of_goal - mean) ** 2
    yield "attack_success", "icc", None, None, spread / (mean * (1 - mean))


def _times(design: Design, hazard: FloatArray, weight: FloatArray, *, prefix: str) -> Iterator[Row]:
    """Yield curves over turns with crashes censored: with the other endings, and as if only success ended a rollout."""
    metric = f"{prefix}time_to_success"
    run = _Course.of(design, hazard, error=0.0)  # estimators censor crashes, so they estimate a table without any
    before, survival = weight @ _alive(1 - hazard), weight @ np.cumprod(1 - hazard, axis=1)
    curves: list[tuple[str, str | None, FloatArray]] = [
        ("success", None, np.cumsum(weight @ run.success)),
        ("survival", None, survival),
        ("hazard", None, 1 - survival / before),
        ("incidence", SUCCESS, np.cumsum(weight @ run.success)),
        ("incidence", GAVE_UP, np.cumsum(weight @ run.gave_up)),
        ("incidence", TARGET_ENDED, np.cumsum(weight @ run.target_ended)),
    ]
    for statistic, ending, curve in curves:
        for turn, value in enumerate(curve, start=1):
            yield metric, statistic, ending, turn, value
    yield metric, "restricted_mean", None, design.turns, before.sum()
    yield metric, "median", None, None, _first(survival <= HALF)


def _lengths(design: Design, heard: FloatArray, weight: FloatArray) -> Iterator[Row]:
    """Yield the number of turns of a rollout, including rollouts that crashed."""
    stops = heard if design.stop_on_success else np.zeros_like(heard)
    reached = weight @ _Course.of(design, stops, error=design.error).alive  # P(at least t turns)
    yield "num_turns", "mean", None, None, reached.sum()
    yield "num_turns", "median", None, None, _first(np.append(1 - reached[1:], 1.0) >= HALF)


def _attempts_made(design: Design, chance: FloatArray) -> FloatArray:
    """Return the expected attempts at each kind of goal: all planned ones, or those up to the first success."""
    low, high = design.attempts
    if not design.attempts_stop_on_success:
        return np.full(chance.shape, (low + high) / 2)
    attempt = np.arange(1, high + 1)
    planned = np.minimum((high + 1 - attempt) / (high + 1 - low), 1)
    return np.asarray((1 - chance[:, None]) ** (attempt - 1) @ planned)


def _alive(stays: FloatArray) -> FloatArray:
    """Return the probability of reaching each turn, from the probabilities of continuing after each turn."""
    return np.concatenate([np.ones((stays.shape[0], 1)), np.cumprod(stays[:, :-1], axis=1)], axis=1)


def _first(reached: BoolArray) -> float:
    """Return the number of the first turn where this holds; NaN if it never does."""
    return float(reached.argmax() + 1) if reached.any() else float("nan")
