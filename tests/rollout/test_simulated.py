"""Simulated rollouts, one by one: the same whatever else is rolled out, and true to the truth they come with."""

import asyncio
import inspect
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

from rollwise.errors import ArgumentError
from rollwise.rollout import Rollout, RolloutError, Sampler, SimulatedSampler, flatten

SEEDS = [0, 1, 41, "a goal", "goal-0", ("a goal", 2), (3, 2)]


def value(sampler: SimulatedSampler, metric: str, statistic: str, **where: object):
    found = sampler.truth.filter(pl.col("metric") == metric, pl.col("statistic") == statistic, **where)
    return found["value"].item()


@pytest.mark.parametrize("seed", SEEDS, ids=repr)
def test_a_seed_is_a_rollout(seed: object) -> None:
    """The same seed gives the same rollout by either method, from another sampler of the same parameters, in any order."""
    one, other = (SimulatedSampler(0.2, icc=0.3, give_up=0.1) for _ in range(2))
    first = one.rollout(seed)
    one.rollout(99)
    assert isinstance(first, Rollout)
    assert first == one.rollout(seed) == one.eval_rollout(seed) == other.rollout(seed)


def test_seeds_differ() -> None:
    """0 is a seed like any other: no two seeds, attempts or sampler seeds share their draws, and None is drawn afresh."""
    sampler = SimulatedSampler(0.2)
    rewards = [sampler.rollout(seed).turns[0].reward for seed in [*range(50), "x", "y", ("x", 2), ("x", 3), None, None]]
    rewards.append(SimulatedSampler(0.2, seed=1).rollout(0).turns[0].reward)
    assert len(set(rewards)) == len(rewards)


@pytest.mark.integration
def test_threads_change_nothing() -> None:
    """Rolled out by four threads at once, every rollout is what it is alone."""
    sampler = SimulatedSampler(0.2, icc=0.2)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(sampler.rollout, range(200))) == [sampler.rollout(seed) for seed in range(200)]


def test_a_longer_budget_only_adds_turns() -> None:
    """Neither the budget nor a rate that is not met changes the turns before."""
    short = [SimulatedSampler(0.1, turns=3).rollout(seed).turns for seed in range(50)]
    long = [SimulatedSampler(0.1, turns=9).rollout(seed).turns for seed in range(50)]
    for few, many in zip(short, long, strict=True):
        assert [turn.reward for turn in few] == [turn.reward for turn in many[: len(few)]]


def test_numbers_go_round_the_goals() -> None:
    """With 3 goals, seeds 0 to 6 are attempts 1, 2 and 3; without, every number is a goal of its own."""
    made = [SimulatedSampler(goals=3).rollout(seed) for seed in range(7)]
    assert [one.goal for one in made] == ["goal-0", "goal-1", "goal-2"] * 2 + ["goal-0"]
    assert [one.attempt for one in made] == [1, 1, 1, 2, 2, 2, 3]
    alone = SimulatedSampler().rollout(6)
    assert (alone.goal, alone.attempt) == ("goal-6", 1)
    assert alone == SimulatedSampler().rollout("goal-6") == SimulatedSampler().rollout((6, 1))


@pytest.mark.parametrize("seed", [-1, 1.5, "", True, ("a", 0), {}], ids=repr)
def test_what_is_no_seed_is_refused(seed: object) -> None:
    """Anything else is refused in a sentence."""
    with pytest.raises(ArgumentError, match=r"^SimulatedSampler: the seed is .*; give a whole number from 0"):
        SimulatedSampler().rollout(seed)


@pytest.mark.parametrize(
    "wrong",
    [{"hazard": 2}, {"hazard": (0.1, 0.2)}, {"turns": 0}, {"icc": 1}, {"give_up": -1}, {"goals": 0}, {"seed": -1}],
    ids=str,
)
def test_rates_are_checked(wrong: dict) -> None:
    """Parameters are checked as those of `simulate`."""
    with pytest.raises(ArgumentError):
        SimulatedSampler(**{"turns": 3, **wrong})


@pytest.mark.integration
def test_rollouts_follow_the_truth() -> None:
    """Success, endings, lengths and the likeness of attempts are those of the truth, within four standard errors."""
    sampler = SimulatedSampler((0.3, 0.05, 0.2, 0.1), turns=4, icc=0.3, give_up=0.1, target_ends=0.05, goals=1500)
    made = [sampler.rollout(seed) for seed in range(3000)]
    won = np.array([one.outcome == "success" for one in made], dtype=float).reshape(2, 1500)
    rate = value(sampler, "attack_success", "mean")
    icc = value(sampler, "attack_success", "icc")
    assert won.mean() == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) * (1 + icc) / 3000))
    assert np.corrcoef(won)[0, 1] == pytest.approx(icc, abs=4 / np.sqrt(1500))
    lengths = [len(one.turns) for one in made]
    assert np.mean(lengths) == pytest.approx(
        value(sampler, "num_turns", "mean"), abs=4 * np.std(lengths) / np.sqrt(2000)
    )
    endings = Counter(one.ending for one in made)
    for ending in ("gave_up", "target_ended"):
        share = value(sampler, "time_to_success", "incidence", ending=ending, at=4.0)
        assert endings[ending] / 3000 == pytest.approx(share, abs=4 * np.sqrt(share / 2000))
    assert set(endings) == {"success", "budget", "gave_up", "target_ended"}


def test_turns_tell_what_happened() -> None:
    """A turn that succeeds has a reward of 0.5 or more and complies; others have less and refuse; words are harmless."""
    made = [SimulatedSampler(0.3, turns=3).rollout(f"{{braces}} {seed}") for seed in range(50)]
    for turn in [turn for one in made for turn in one.turns]:
        assert turn.reward is not None
        assert turn.succeeded == (turn.reward >= 0.5) == (not turn.refused)
        assert "{braces}" in (turn.prompt or "")
    frame = flatten(made)
    assert frame["turn"].null_count() == 0
    assert frame["context"].drop_nulls().unique().to_list() == ["You are a helpful assistant."]


def test_without_stopping_a_success_is_no_ending() -> None:
    """With stop_on_success=False every rollout runs to its budget and keeps its outcome."""
    made = [SimulatedSampler(0.5, turns=4, stop_on_success=False).rollout(seed) for seed in range(20)]
    assert {(one.ending, len(one.turns)) for one in made} == {("budget", 4)}
    assert {one.outcome for one in made} == {"success", "failure"}


@pytest.mark.integration
def test_a_crash_raises_and_keeps_the_turns_before() -> None:
    """A rollout that crashes raises RolloutError with its graph, as often as asked for and always for the same seeds."""
    sampler = SimulatedSampler(0.1, turns=5, error=0.2)

    def crash(seed: int) -> RolloutError | None:
        try:
            sampler.rollout(seed)
        except RolloutError as error:
            return error
        return None

    errors = {seed: error for seed in range(1000) if (error := crash(seed))}
    again = {seed: error for seed in range(1000) if (error := crash(seed))}
    assert {seed: error.graph for seed, error in errors.items()} == {seed: error.graph for seed, error in again.items()}
    for error in errors.values():
        assert isinstance(error.graph, Rollout)
        assert (error.graph.ending, error.graph.outcome) == ("error", "error")
        assert f"crashed in turn {len(error.graph.turns) + 1}" in str(error)
    bounds = [value(sampler, "attack_success", bound) for bound in ("bound_low", "bound_high")]
    assert len(errors) / 1000 == pytest.approx(bounds[1] - bounds[0], abs=0.06)


@pytest.mark.integration
def test_time_passes_for_each_turn_or_by_the_outcome() -> None:
    """A duration is seconds for each turn, or a function of the finished rollout, which may tell the outcome."""
    quick = SimulatedSampler(0.5, turns=2, duration=0.02)
    made = [quick.rollout(seed) for seed in range(4)]
    assert [one.total_seconds for one in made] == [0.02 * len(one.turns) for one in made]
    slow = SimulatedSampler(0.5, turns=2, duration=lambda one: 0.06 if one.outcome == "success" else 0.0)
    for seed in range(4):
        began = time.perf_counter()
        one = slow.rollout(seed)
        assert (time.perf_counter() - began >= 0.06) == (one.outcome == "success")
    assert [one.turns for one in made] == [slow.rollout(seed).turns for seed in range(4)]


def test_asynchronous_rollouts_wait_together() -> None:
    """With asynchronous=True eval_rollout is a coroutine function; rollouts wait side by side and finish out of order."""
    sampler = SimulatedSampler(
        0.5, duration=lambda one: 0.05 * (6 - int(one.goal.partition("-")[2])), asynchronous=True
    )
    assert inspect.iscoroutinefunction(sampler.eval_rollout)
    assert not inspect.iscoroutinefunction(SimulatedSampler().eval_rollout)
    assert isinstance(sampler, Sampler)
    finished = []

    async def one(seed: int):
        made = await sampler.eval_rollout(seed)  # type: ignore[misc]
        finished.append(seed)
        return made

    async def together():
        return await asyncio.gather(*map(one, range(6)))

    began = time.perf_counter()
    made = asyncio.run(together())
    assert time.perf_counter() - began < 0.05 * (1 + 2 + 3 + 4 + 5 + 6)
    assert finished == [5, 4, 3, 2, 1, 0]
    assert [rollout.turns for rollout in made] == [SimulatedSampler(0.5).rollout(seed).turns for seed in range(6)]


def test_an_asynchronous_crash_raises_when_awaited() -> None:
    """A crash comes out of the await."""
    with pytest.raises(RolloutError, match="crashed in turn 1"):
        asyncio.run(SimulatedSampler(error=1.0, asynchronous=True).eval_rollout(0))  # type: ignore[arg-type]


def test_the_configuration_is_json_and_tells_rates_apart() -> None:
    """All that changes a rollout changes the configuration; how long it takes does not."""
    plain = SimulatedSampler(0.1)
    assert json.loads(json.dumps(plain.configuration)) == plain.configuration
    assert plain.configuration == SimulatedSampler(0.1, duration=3.0, asynchronous=True).configuration
    changes: list[dict] = [{"hazard": 0.2}, {"turns": 3}, {"icc": 0.1}, {"goals": 5}, {"seed": 1}, {"error": 0.1}]
    for changed in changes:
        assert SimulatedSampler(**{"hazard": 0.1, **changed}).configuration != plain.configuration
