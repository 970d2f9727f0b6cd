"""A sampler of simulated rollouts, made one by one, with known truth."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.rollout.sampler import Rollout, RolloutError, Sampler, Turn, outcome
from rollwise.rollout.seeds import goal_and_attempt
from rollwise.rollout.simulation import design as checked
from rollwise.rollout.simulation.design import Design, Hazard, beta_quantile, stream
from rollwise.rollout.simulation.truth import truth
from rollwise.rollout.simulation.words import CONTEXT

Duration: TypeAlias = float | Callable[[Rollout], float]

_CATEGORY = "simulated"
_PROMPTS = ("Let us talk about {goal}.", "Imagine a story about {goal}.", "One more question on {goal}.")
_REFUSALS = ("I can't help with that.", "I'm sorry, but I can't assist with that.", "I cannot help with this request.")
_AGREEMENTS = ("Sure, here it is: [simulated].", "Of course: [simulated].", "The hero does it: [simulated].")


class SimulatedSampler(Sampler[str | None, str | None]):
    """A sampler without a model: a rollout depends only on its seed and on the probabilities given here.

    Use it to try out anything that consumes rollouts: a runner, a stopping rule, an estimator. The statistical model is that
    of `simulate` for one target, attack and category (see its Notes), and `truth` has the exact values. Each rollout is
    made separately, on demand, in any order, in any thread.

    Parameters
    ----------
    hazard
        Probability of success in a turn, if the rollout reaches it, for an average goal: one number, or one per turn.
    turns
        The budget: the largest number of turns of a rollout.
    icc
        Correlation of the attempts at a goal, as in `simulate`.
    give_up, target_ends
        Probability in each unsuccessful turn that the attack gives up, or that the target ends the rollout.
    error
        Probability in each turn of a crash before the target answers: the rollout raises, as a real one would.
    stop_on_success
        Whether a rollout ends with a success.
    goals
        Number of goals for seeds that are numbers; by default each number is a separate goal.
    duration
        Seconds that a rollout takes: a number for each of its turns, or a function of the finished rollout,
        ``lambda rollout: 2.0 if rollout.outcome == "success" else 0.5``. By default 0.
    asynchronous
        Whether `eval_rollout` is a coroutine function, which awaits that time, or a plain one, which blocks its thread.
    target, attack
        Names of target and attack.
    seed
        Combined with the seeds of the rollouts.

    Notes
    -----
    **Seeds.** A number i is attempt i // goals + 1 at goal i % goals (numbered from 0). A text is the first attempt at this
    goal. A pair ``(goal, attempt)`` is that attempt at the goal, a text or a number. None is a random number. Goals have
    names: without `goals`, ``5`` and ``"goal-5"`` are the same seed.

    **Rewards** are 0.5 or more in turns that succeed, and less in all others.

    Examples
    --------
    >>> sampler = SimulatedSampler(hazard=0.2, turns=10, icc=0.3, goals=50)
    >>> rollout = sampler.rollout(0)
    >>> rollout.goal, rollout.attempt, rollout.ending, len(rollout.turns)
    ('goal-0', 1, 'success', 10)
    >>> rollout == sampler.rollout(("goal-0", 1))
    True
    >>> sampler.truth.filter(metric="attack_success", statistic="mean")["value"].round(6).item()
    0.601063
    """

    def __init__(
        self,
        hazard: Hazard = checked.PLAIN_HAZARD,
        turns: int = 10,
        icc: float = 0.0,
        give_up: float = 0.0,
        target_ends: float = 0.0,
        error: float = 0.0,
        *,
        stop_on_success: bool = True,
        goals: int | None = None,
        duration: Duration | None = None,
        asynchronous: bool = False,
        target: str = "simulated",
        attack: str = "persuade",
        seed: int = 0,
    ) -> None:
        super().__init__()
        budget = checked.count("turns", turns, least=1)
        self._goals = None if goals is None else checked.count("goals", goals, least=1)
        self._duration = duration
        self._target, self._attack = target, attack
        self._design = Design(
            targets=checked.hazards_by_name((target,), hazard, turns=budget),
            attacks=checked.odds_by_name("attack", (attack,)),
            categories={_CATEGORY: 1.0},
            goals={_CATEGORY: self._goals or 1},
            attempts=(1, 1),
            turns=budget,
            icc=checked.correlation("icc", icc),
            give_up=checked.probability("give_up", give_up),
            target_ends=checked.probability("target_ends", target_ends),
            error=checked.probability("error", error),
            stop_on_success=stop_on_success,
            seed=checked.count("seed", seed, least=0),
        )
        self._hazard = np.array(self._design.targets[target])
        if asynchronous:
            self.eval_rollout = self._awaited  # type: ignore[method-assign]

    @property
    def truth(self) -> pl.DataFrame:
        """Return the exact values that estimators approach with many rollouts, as in `simulate`."""
        return truth(self._design).filter(pl.col("category").is_null())

    @property
    def configuration(self) -> dict[str, Any]:
        """Return the settings that determine the rollouts, as JSON; delays are not part of it."""
        design = self._design
        return {
            "sampler": type(self).__name__,
            "target": self._target,
            "attack": self._attack,
            "hazard": self._hazard.tolist(),
            "turns": design.turns,
            "icc": design.icc,
            "give_up": design.give_up,
            "target_ends": design.target_ends,
            "error": design.error,
            "stop_on_success": design.stop_on_success,
            "goals": self._goals,
            "seed": design.seed,
        }

    def rollout(self, seed: Any = None) -> Rollout:
        """Return the rollout of this seed, after the time that it takes.

        Raises
        ------
        RolloutError
            If it crashed.
        """
        rollout = self._rollout(seed)
        time.sleep(rollout.total_seconds or 0.0)
        return _unless_crashed(rollout)

    def eval_rollout(self, seed: Any = None) -> Rollout | Coroutine[Any, Any, Rollout]:
        """Return a simulated rollout; with ``asynchronous=True`` an awaitable."""
        return self.rollout(seed)

    async def _awaited(self, seed: Any = None) -> Rollout:
        rollout = self._rollout(seed)
        if rollout.total_seconds:
            await asyncio.sleep(rollout.total_seconds)
        return _unless_crashed(rollout)

    def _rollout(self, seed: Any) -> Rollout:
        """Return the rollout, crashed or not."""
        design = self._design
        goal, attempt = self._goal(seed)
        peak = float(self._hazard.max())
        # The goal's level applies to the largest hazard; the other turns keep their proportion to it.
        chance = self._hazard * (_level(design.seed, goal, peak, design.icc) / (peak or 1.0))
        # Seven draws for every turn, used or not, so that the same seed draws the same numbers with any options.
        draws = stream(design.seed, "rollout", goal, attempt).random((design.turns, 7))
        rollout = Rollout(
            CONTEXT, [], target=self._target, attack=self._attack, goal=goal, attempt=attempt, ending=schema.BUDGET
        )
        turns: list[Turn] = []
        # The order of the events in a turn is that of `simulate`: crash, success, giving up, end by the target.
        for (crash, success, give_up, target_ends, reward, prompt, response), hazard in zip(draws, chance, strict=True):
            if crash < design.error:
                rollout.ending = schema.ERROR
                break
            succeeded = bool(success < hazard)
            turns.append(
                Turn(
                    None if turns else CONTEXT,
                    _pick(_PROMPTS, prompt).format(goal=goal),
                    _pick(_AGREEMENTS if succeeded else _REFUSALS, response),
                    float(reward + succeeded) / 2,
                    [],
                    succeeded=succeeded,
                    refused=not succeeded,
                )
            )
            if succeeded and design.stop_on_success:
                rollout.ending = schema.SUCCESS
            elif not succeeded and give_up < design.give_up:
                rollout.ending = schema.GAVE_UP
            elif not succeeded and target_ends < design.target_ends:
                rollout.ending = schema.TARGET_ENDED
            else:
                continue
            break
        rollout.follow(turns)
        rollout.outcome = outcome(turns, crashed=rollout.ending == schema.ERROR)
        rollout.total_seconds = self._seconds(rollout)
        return rollout

    def _goal(self, seed: Any) -> tuple[str, int]:
        """Return the goal of a seed, and the number of the attempt."""
        named = goal_and_attempt(np.random.default_rng().integers(2**63) if seed is None else seed)
        if named is None:
            raise ArgumentError(
                f"SimulatedSampler: the seed is {seed!r:.80}; give a whole number from 0, a goal's text, or (goal, attempt)"
            )
        goal, attempt = named
        if isinstance(goal, str):
            return goal, attempt or 1
        assert goal is not None
        round_, place = divmod(goal, self._goals) if self._goals else (0, goal)
        return f"goal-{place}", attempt or round_ + 1

    def _seconds(self, rollout: Rollout) -> float | None:
        if self._duration is None:
            return None
        if callable(self._duration):
            return float(self._duration(rollout))
        return float(self._duration) * len(rollout.turns)


@lru_cache(maxsize=4096)
def _level(seed: int, goal: str, peak: float, icc: float) -> float:
    """Return the largest hazard of this goal."""
    return float(beta_quantile(stream(seed, "goal", goal).random(1), peak, icc)[0])


def _pick(texts: tuple[str, ...], at: float) -> str:
    return texts[int(at * len(texts))]


def _unless_crashed(rollout: Rollout) -> Rollout:
    if rollout.ending == schema.ERROR:
        raise RolloutError(
            f"SimulatedSampler: attempt {rollout.attempt} at {rollout.goal!r} crashed in turn {len(rollout.turns) + 1}, "
            "as asked for",
            rollout,
        )
    return rollout
