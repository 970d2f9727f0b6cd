"""Simulated tables for the cases: all small, of every kind that the verbs treat in its own way."""

from functools import cache
from typing import Any

import polars as pl

import rollwise as rw
from rollwise import metrics as m

QUIET: dict[str, Any] = {"give_up": 0.0, "target_ends": 0.0, "error": 0.0}
TREE: dict[str, Any] = {**QUIET, "branches": 2, "goals": 5, "attempts": 1, "turns": 3}
THREE = {"base": 0.2, "guarded": 0.05, "open": 0.4}

DESIGNS: dict[str, dict[str, Any]] = {
    "plain": {"goals": 16, "attempts": 4, "turns": 5},
    "three targets": {"targets": THREE, "goals": 14, "attempts": 3, "turns": 4},
    "three attacks": {"attacks": {"plead": 1.0, "threaten": 2.0, "ask": 0.3}, "goals": 12, "attempts": 2, "turns": 4},
    "targets and attacks": {"targets": THREE, "attacks": ["plead", "ask"], "goals": 10, "attempts": 2, "turns": 3},
    "five categories": {"categories": ["fraud", "privacy", "malware", "bias", "harm"], "goals": 15, "turns": 3},
    "uneven categories": {"categories": {"fraud": 3.0, "privacy": 0.2}, "goals": 12, "turns": 4},
    "single turns": {**QUIET, "goals": 30, "attempts": 3, "turns": 1},
    "single attempts": {"goals": 40, "attempts": 1, "turns": 6},
    "many attempts": {"goals": 9, "attempts": 12, "turns": 3},
    "unequal attempts": {"goals": 16, "attempts": (1, 6), "turns": 4},
    "unjudged turns": {"goals": 16, "attempts": 3, "turns": 5, "unjudged_share": 0.15},
    "mostly unjudged": {"goals": 12, "attempts": 2, "turns": 4, "unjudged_share": 0.7},
    "nothing judged": {"goals": 8, "attempts": 2, "turns": 3, "unjudged_share": 1.0},
    "many errors": {"goals": 16, "attempts": 3, "turns": 5, "error": 0.2},
    "all errors": {"goals": 8, "attempts": 2, "turns": 3, "error": 1.0, "give_up": 0.0, "target_ends": 0.0},
    "many endings": {"goals": 16, "attempts": 3, "turns": 8, "give_up": 0.1, "target_ends": 0.1, "error": 0.05},
    "no stop": {"goals": 14, "attempts": 3, "turns": 5, "stop_on_success": False},
    "attempts stop": {"goals": 20, "attempts": 5, "turns": 3, "attempts_stop_on_success": True},
    "attempts stop early": {"targets": {"weak": 0.5}, "goals": 20, "attempts": 6, "turns": 2}
    | {"attempts_stop_on_success": True},
    "tasks": {"goals": 6, "tasks": 7, "icc": 0.1, "icc_task": 0.15, "attempts": 1, "turns": 3},
    "tasks with attempts": {"goals": 5, "tasks": 6, "icc": 0.1, "icc_task": 0.1, "attempts": 2, "turns": 2},
    "benign": {"goals": 10, "attempts": 2, "turns": 3, "benign": 20, "tasks": 4},
    "erring judge": {"goals": 20, "attempts": 3, "turns": 4, "judge": (0.8, 0.9)},
    "bad judge": {"goals": 20, "attempts": 3, "turns": 3, "judge": (0.5, 0.5)},
    "alike goals": {"goals": 16, "attempts": 4, "turns": 3, "icc": 0.0},
    "unlike goals": {"goals": 16, "attempts": 4, "turns": 3, "icc": 0.9},
    "no success": {"targets": {"safe": 0.0}, "goals": 12, "attempts": 3, "turns": 4},
    "all success": {"targets": {"weak": 1.0}, "goals": 12, "attempts": 3, "turns": 4, "error": 0.0},
    "rare success": {"targets": {"safe": 0.004}, "goals": 50, "attempts": 2, "turns": 3},
    "hazard by turn": {"targets": {"late": [0.0, 0.1, 0.3, 0.6]}, "goals": 16, "attempts": 3, "turns": 4},
    "few goals": {"goals": 3, "attempts": 5, "turns": 4},
    "two goals": {"goals": 2, "attempts": 4, "turns": 3},
    "one goal": {"goals": 1, "categories": "c", "attempts": 6, "turns": 4},
    "one rollout": {"targets": {"t": 0.3}, "goals": 1, "categories": "c", "attempts": 1, "turns": 4},
    "long rollouts": {"goals": 8, "attempts": 2, "turns": 30, "targets": {"slow": 0.03}},
    "always refused": {"goals": 10, "attempts": 2, "turns": 3, "refusal": 1.0},
    "tree": TREE,
    "wide tree": {**TREE, "branches": 3, "targets": THREE},
    "deep tree": {**TREE, "turns": 4, "goals": 2},
    "with text": {"goals": 8, "attempts": 2, "turns": 3, "text": True},
}
"""How tables are simulated; texts are left out unless asked for."""

MEASURED = (m.attack_success, m.task_success, m.time_to_success, m.num_turns, m.refusal_rate)


@cache
def turns_of(name: str) -> pl.DataFrame:
    """The turns of a design, or of a table that no simulation gives."""
    if name in DESIGNS:
        seed = list(DESIGNS).index(name) + 1
        return rw.simulate(**({"text": False} | DESIGNS[name]), seed=seed)[0]
    return SPECIAL[name]()


@cache
def truth_of(name: str) -> pl.DataFrame:
    """The exact values of a design."""
    seed = list(DESIGNS).index(name) + 1
    return rw.simulate(**({"text": False} | DESIGNS[name]), seed=seed)[1]


def empty() -> pl.DataFrame:
    """A table without a turn."""
    return turns_of("plain").clear()


def all_equal() -> pl.DataFrame:
    """Rollouts that are the same in everything but their ids."""
    rows = [(f"r{number}", turn, f"g{number % 6}", False, 0.25) for number in range(24) for turn in (1, 2)]
    names = ["rollout_id", "turn", "goal", "succeeded", "score"]
    return rw.turns(pl.DataFrame(rows, schema=names, orient="row").with_columns(target=pl.lit("t")))


def without_goals() -> pl.DataFrame:
    """Rollouts of which nobody says what they were to reach."""
    return turns_of("plain").with_columns(goal=pl.lit(None, pl.String))


def null_groups() -> pl.DataFrame:
    """Rollouts of which some have no target and no category."""
    absent = pl.col("goal").is_in(["fraud-001", "privacy-001"])
    return turns_of("plain").with_columns(pl.when(~absent).then(pl.col("target", "category")))


SPECIAL = {"empty": empty, "all equal": all_equal, "without goals": without_goals, "null groups": null_groups}
TREES = ("tree", "wide tree", "deep tree")
NAMES = (*DESIGNS, *SPECIAL)
BASE = ("plain", "three targets", "unjudged turns", "many endings", "tasks", "unequal attempts")
"""Tables on which every option is tried."""


@cache
def rollouts_of(name: str) -> pl.DataFrame:
    """The rollouts of a table with the usual metrics and a number; a tree's are its paths."""
    turns = rw.rollout.paths(turns_of(name)) if name in TREES else turns_of(name)
    return rw.measure(turns, *MEASURED, worst=m.highest("score"))


@cache
def trained() -> pl.DataFrame:
    """Rollouts of four checkpoints over the same goals."""
    parts = []
    for step, hazard in enumerate((0.3, 0.2, 0.1, 0.05)):
        options: dict[str, Any] = {"goals": 12, "attempts": 3, "turns": 3, "text": False, "seed": step}
        turns, _ = rw.simulate(targets={"model": hazard}, **options)
        parts.append(
            turns.with_columns(rollout_id=pl.format("{}-{}", pl.lit(step), "rollout_id"), train_step=pl.lit(100 * step))
        )
    return rw.measure(pl.concat(parts), *MEASURED, keep="train_step", worst=m.highest("score"))
