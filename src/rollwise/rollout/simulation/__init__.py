"""Simulated rollouts, with the exact values that estimators should find. `design.py` checks the parameters, `course.py` draws."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import polars as pl

from rollwise.rollout.simulation import branching
from rollwise.rollout.simulation import design as checked
from rollwise.rollout.simulation.design import Design, Hazard, Names
from rollwise.rollout.simulation.table import table
from rollwise.rollout.simulation.truth import truth
from rollwise.schema.option_types import check_option_types

__all__ = ["simulate"]

TARGETS: Mapping[str, Hazard] = MappingProxyType({"base": 0.10, "guarded": 0.02})


class Simulation(NamedTuple):
    """Simulated TURNS, and the exact values that estimators should find in them."""

    turns: pl.DataFrame
    truth: pl.DataFrame


def simulate(
    *,
    targets: Names | Mapping[str, Hazard] = TARGETS,
    attacks: Names | Mapping[str, float] = ("persuade",),
    categories: Names | Mapping[str, float] = ("fraud", "privacy"),
    goals: int = 40,
    attempts: int | tuple[int, int] = 5,
    turns: int = 10,
    hazard: Hazard | None = None,
    icc: float = 0.3,
    tasks: int = 0,
    icc_task: float = 0.0,
    give_up: float = 0.02,
    target_ends: float = 0.02,
    error: float = 0.01,
    stop_on_success: bool = True,
    attempts_stop_on_success: bool = False,
    judge: tuple[float, float] | None = None,
    unjudged_share: float = 0.0,
    refusal: float = 0.6,
    benign: int = 0,
    utility: float = 0.8,
    branches: int = 1,
    text: bool = True,
    seed: int = 0,
) -> Simulation:
    """Return simulated TURNS, and the exact values that estimators should find in them.

    The coverage tests of this library use it: each interval is tested on tables whose truth is known, not estimated.

    Parameters
    ----------
    targets
        Names with the hazard of each: the probability of success in a turn, if the rollout reaches it, for an average
        goal; one number, or one for each turn. Names without hazards all have `hazard`.
    attacks, categories
        Names, or names with multipliers of the odds of success in a turn (0: never succeeds).
    goals
        Total number of goals, divided among the categories and named ``<category>-001`` and so on. All targets and attacks
        have the same goals.
    attempts
        Attempts at each goal (with tasks: at each goal and task), or ``(fewest, most)`` for random numbers of attempts.
    turns
        The budget: the largest number of turns of a rollout.
    hazard
        Hazard of targets given without one: one number (by default 0.1), or one for each turn.
    icc
        Intraclass correlation of the goal: see Notes.
    tasks, icc_task
        Number of user tasks crossed with all goals, and their correlation; 0 for none.
    give_up, target_ends
        Probability in each unsuccessful turn that the attack gives up, or the target ends the rollout (these compete).
    error
        Probability in each turn of a crash before the target answers (this censors).
    stop_on_success
        Whether a rollout ends when it is judged a success, or continues to another ending.
    attempts_stop_on_success
        Whether attempts at a goal (and task) end with the first one that is judged a success.
    judge
        ``(sensitivity, specificity)`` of the verdict on each turn; None for a judge that never errs. Rollouts and attempts
        that stop on success stop on the verdict. The truth is in the extra column ``true_succeeded``.
    unjudged_share
        Share of turns without a verdict, independent of what happened in them. They do not stop anything. An attack with an
        unjudged turn before its first success, or with one and no success, has no ``outcome``, because it is undetermined.
    refusal
        Share of the answers to unsuccessful attacks that are refusals.
    benign
        Rollouts without an attack, for each target.
    utility
        Probability that the user's task is solved, if there is one.
    branches
        Prompts tried at each open turn: with more than one, a rollout is a tree of depth `turns`, in which a branch ends
        with a success or at the budget. Nothing else ends a branch, so `give_up`, `target_ends` and `error` must be 0.
        The rows are nodes; the truth is `attack_success` and `success_within_k` of whole trees.
    text
        Whether to write harmless prompts and responses (half of the time for a large table).
    seed
        Seed of all random numbers.

    Returns
    -------
    A named pair.
    turns
        TURNS without the columns of trees, tools and observations. ``score`` is 0.5 or more exactly where the verdict is a
        success. A turn that crashed has ``error`` and neither answer nor verdict. A crash after a success
        (``stop_on_success=False``) leaves ``outcome`` a success.
    truth
        One row per target, attack and category (null: all categories) and value: ``metric, statistic, ending, at, value``, named
        as in SUMMARY and CURVE.

        ================== ======================================== =====================================================
        metric             statistic                                value
        ================== ======================================== =====================================================
        attack_success     mean                                     successes among rollouts without an earlier crash
        attack_success     bound_low, bound_high                    successes among all, unknown ones failures, successes
        attack_success     asr@k, pass^k (at k)                     one, all of k attempts at a goal drawn at random
        attack_success     icc                                      correlation of two attempts at a goal
        success_within_k   mean (at k turns)                        the same, of successes and crashes in the first k
        time_to_success    success (at a turn)                      cumulative incidence of success
        time_to_success    incidence (at a turn, of an ending)      the same for each ending that competes
        time_to_success    survival, hazard (at a turn)             unbroken, broken next, if only success ended a run
        time_to_success    restricted_mean (at the budget), median  of the same survival; null if never down to 1/2
        num_turns          mean, median                             turns of a rollout, crashed ones included
        task_success       mean                                     ``utility``
        true_...           as above                                 what a judge that never errs would have made of it
        ================== ======================================== =====================================================

    Raises
    ------
    ArgumentError
        If a parameter is invalid.

    Notes
    -----
    **Goals.** With o the product of the multipliers, a target whose hazard at turn t is h₀(t) has, on average over goals,
    h(t) = o·h₀(t) / (1 − h₀(t) + o·h₀(t)). Let h be the greatest of them. Goal g has H(g) ~ Beta(h·ν, (1 − h)·ν) with
    ν = 1/icc − 1, so that its variance is h·(1 − h)·icc, and its hazard is H(g)·h(t)/h at turn t of every attempt. With one
    turn, `icc` is the correlation of two attempts at a goal. With more it is that of two turns at the greatest hazard, and
    the row ``icc`` of the truth holds that of attempts. H(g) is the quantile at a rank u(g) that belongs to the goal alone:
    what is hard for one target and attack is hard for all. At `icc` 0 all goals of a category are equally hard.

    **Tasks.** H(g, k) = w·A(g) + (1 − w)·B(k), where A and B are Beta with mean h and ICC (√icc + √icc_task)², and
    w : 1 − w = √icc : √icc_task. Two rollouts that share the goal alone then correlate by `icc`, the task alone by
    `icc_task`, both by the sum. Whether the user's task is solved has ICC `icc_task`, and nothing to do with the attack.

    **Turns.** A turn crashes; else it succeeds; else the attack gives up; else the target ends it; else the next turn comes, up
    to the budget. A verdict is a success with probability h·sensitivity + (1 − h)·(1 − specificity).

    **Truth.** Every value is an expectation over goals and tasks of products of hazards, hence of a polynomial, which
    Gauss-Jacobi quadrature integrates exactly. With a constant hazard, for example, survival at t is
    B(h·ν, (1 − h)·ν + t) / B(h·ν, (1 − h)·ν). Giving up, ending and crashing depend on nothing, so Kaplan-Meier, which
    censors them, estimates that survival, and Aalen-Johansen the incidence; so do verdicts that are missing, if the follow-up
    ends before the first gap and does not depend on what came after it. All rows except ``bound_low``, ``bound_high`` and
    `num_turns` describe a table in which every turn was judged. Rows are of rollouts as made: where attempts stop on success,
    hard goals have more of them. ``asr@k``, ``pass^k`` and ``icc`` are of goals (with tasks: pairs of goal and task), and
    ``asr@k`` at 1 is the rate per goal. They are of attempts that did not crash: where `error` is above 0, a goal of which k
    attempts survive is not quite a goal drawn at random any more.

    **Chance.** Each purpose (success, crash, text, ...) of each target, attack and category has its own stream, keyed by blake2b
    of the seed and their names. One more target, attack or kind of ending, or category with its goals, changes no draw of
    the others; the number of threads changes nothing.

    Examples
    --------
    Two targets with the same goals, and the truth about them:

    >>> turns, truth = simulate(targets={"base": 0.10, "guarded": 0.02}, seed=1)
    >>> turns.select("rollout_id", "turn", "succeeded", "ending").row(0)
    ('simulation-1/base/persuade/fraud-001/1', 1, True, 'success')
    >>> truth.filter(pl.col("category").is_null(), metric="attack_success", statistic="mean").select("target", "value")
    shape: (2, 2)
    ┌─────────┬──────────┐
    │ target  ┆ value    │
    │ ---     ┆ ---      │
    │ str     ┆ f64      │
    ╞═════════╪══════════╡
    │ base    ┆ 0.334631 │
    │ guarded ┆ 0.077555 │
    └─────────┴──────────┘

    One turn and nothing but success, as for proportions: 50 goals, 5 attempts of each, 5 %, ICC 0.3.

    >>> plain = {"turns": 1, "give_up": 0, "target_ends": 0, "error": 0, "text": False}
    >>> turns, truth = simulate(targets="t", attacks="a", categories="c", goals=50, hazard=0.05, **plain)
    >>> turns.height, round(truth.filter(metric="attack_success", statistic="icc", category="c")["value"][0], 12)
    (250, 0.3)
    """
    check_option_types(simulate, locals(), own=("turns", "error", "judge", "utility"))
    most_turns = checked.count("turns", turns, least=1)
    odds_by_category = checked.odds_by_name("categories", categories)
    design = Design(
        targets=checked.hazards_by_name(targets, hazard, turns=most_turns),
        attacks=checked.odds_by_name("attacks", attacks),
        categories=odds_by_category,
        goals=checked.goals_by_category(goals, odds_by_category),
        attempts=checked.attempts_range(attempts),
        turns=most_turns,
        icc=checked.correlation("icc", icc),
        tasks=checked.count("tasks", tasks, least=0),
        icc_task=checked.correlation("icc_task", icc_task),
        give_up=checked.probability("give_up", give_up),
        target_ends=checked.probability("target_ends", target_ends),
        error=checked.probability("error", error),
        stop_on_success=stop_on_success,
        attempts_stop_on_success=attempts_stop_on_success,
        judge=checked.judge_rates(judge),
        unjudged=checked.probability("unjudged_share", unjudged_share),
        refusal=checked.probability("refusal", refusal),
        benign=checked.count("benign", benign, least=0),
        utility=checked.probability("utility", utility),
        branches=checked.count("branches", branches, least=1),
        text=text,
        seed=checked.count("seed", seed, least=0),
    )
    if design.branches > 1:
        branching.check(design)
        return Simulation(branching.trees(design), branching.truth(design))
    return Simulation(table(design), truth(design))
