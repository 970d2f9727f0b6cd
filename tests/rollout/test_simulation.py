"""Simulated rollouts conform to the schema, and their truth is the truth."""

import hashlib
import os
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.special import betaln, comb

from rollwise import simulate
from rollwise.errors import ArgumentError
from rollwise.rollout.simulation.design import beta_nodes
from rollwise.schema import TURNS, check

ONE: dict[str, Any] = {"targets": "t", "attacks": "a", "categories": "c", "text": False}
QUIET: dict[str, Any] = {"give_up": 0, "target_ends": 0, "error": 0}
SEEDS = range(40)

# What the truth is tried on, each at five thousand rollouts a seed.
DESIGNS: dict[str, dict[str, Any]] = {
    "nothing but success": {**QUIET, "goals": 1000, "icc": 0.3},
    "every ending": {"goals": 1000, "hazard": [0.02, 0.2, 0.1, 0.05, 0.3], "turns": 5, "error": 0.08, "give_up": 0.1},
    "going on after success": {"goals": 1000, "stop_on_success": False, "hazard": 0.2, "error": 0.05},
    "attempts stop on success": {"goals": 1400, "attempts_stop_on_success": True, "attempts": (3, 6), "error": 0},
    "unequal attempts": {"goals": 1000, "attempts": (2, 8), "icc": 0.5, "error": 0},
    "a judge that errs": {"goals": 1000, "judge": (0.8, 0.97), "icc": 0.4, "error": 0},
    "unjudged turns": {"goals": 1000, "unjudged_share": 0.1, "judge": (0.9, 0.98), "error": 0.05},
    "crossed tasks": {"goals": 60, "tasks": 40, "attempts": 2, "icc": 0.1, "icc_task": 0.2, "utility": 0.7},
    "all goals alike": {"goals": 1000, "icc": 0, "turns": 3},
    "half of them broken": {**QUIET, "goals": 1000, "hazard": 0.3, "icc": 0.1},
}

Key = tuple[str, str, str | None, float | None]
Design = dict[str, Any]


# ── estimators from the textbook, without the library ─────────────────────────────────────────────────────────────────


def rollouts_of(turns: pl.DataFrame) -> pl.DataFrame:
    """One row per rollout: its facts, its length, the turn of its first success (0: none), how long it was judged."""
    facts = pl.col("run", "category", "goal", "attempt", "ending", "outcome", "solved").first()
    first = pl.col("turn").filter("succeeded").min().fill_null(0)
    gap = pl.col("turn").filter(pl.col("succeeded").is_null()).min()
    judged = pl.coalesce(gap - 1, pl.len())  # turns before the first that has no verdict
    return turns.group_by("rollout_id", maintain_order=True).agg(facts, first=first, length=pl.len(), judged=judged)


def estimates(rollouts: pl.DataFrame, design: Design) -> dict[Key, float]:
    """Every estimand of the truth, as far as the design lets it be estimated."""
    first, length = rollouts["first"].to_numpy(), rollouts["length"].to_numpy()
    ending = rollouts["ending"].cast(pl.String).to_numpy()
    won, crashed = first > 0, ending == "error"
    failed = rollouts["outcome"].cast(pl.String).fill_null("").to_numpy() == "failure"
    found: dict[Key, float] = {
        ("attack_success", "bound_low", None, None): won.mean(),
        ("attack_success", "bound_high", None, None): 1 - failed.mean(),
        ("num_turns", "mean", None, None): length.mean(),
        ("num_turns", "median", None, None): float(np.median(length)),
    }
    if "tasks" in design:
        found["task_success", "mean", None, None] = rollouts["solved"].cast(float).drop_nulls().to_numpy().mean()
    horizon = design.get("turns", 10)
    judged = rollouts["judged"].to_numpy()
    seen = won & (first <= judged)  # the watch ends before a gap, whatever came after it
    ended = judged == length
    ends = {"success": seen, **{word: ~seen & ended & (ending == word) for word in ("gave_up", "target_ended")}}
    found |= curves(np.where(seen, first, judged), ends, horizon)
    if "unjudged_share" in design:
        return found
    found["attack_success", "mean", None, None] = won[won | ~crashed].mean()
    for k in range(1, horizon + 1):
        won_by = won & (first <= k)
        found[f"success_within_{k}", "mean", None, k] = won_by[won_by | ~crashed | (length > k)].mean()
    if design.get("error") == 0:
        found |= by_goal(rollouts, won, stopped="attempts_stop_on_success" in design)
    return found


def curves(watched: np.ndarray, ends: dict[str, np.ndarray], horizon: int) -> dict[Key, float]:
    """Kaplan-Meier of success, Aalen-Johansen of every ending."""
    found: dict[Key, float] = {}
    going = unbroken = 1.0
    area, reached = 0.0, dict.fromkeys(ends, 0.0)
    metric = "time_to_success"
    for t in range(1, horizon + 1):
        hazard = {name: (end & (watched == t)).sum() / (watched >= t).sum() for name, end in ends.items()}
        reached = {name: reached[name] + going * hazard[name] for name in ends}
        area, before = area + unbroken, unbroken
        going, unbroken = going * (1 - sum(hazard.values())), unbroken * (1 - hazard["success"])
        if unbroken <= 0.5 < before:
            found[metric, "median", None, None] = t
        found[metric, "success", None, t] = reached["success"]
        found[metric, "survival", None, t] = unbroken
        found[metric, "hazard", None, t] = hazard["success"]
        found |= {(metric, "incidence", name, t): value for name, value in reached.items()}
    return found | {(metric, "restricted_mean", None, horizon): area}


def by_goal(rollouts: pl.DataFrame, won: np.ndarray, *, stopped: bool) -> dict[Key, float]:
    """Success in one and in all of k attempts, and the ANOVA estimator of the ICC."""
    goals = rollouts.with_columns(won=pl.Series(won)).group_by("run", "goal").agg(n=pl.len(), c=pl.col("won").sum())
    n, c = goals["n"].to_numpy().astype(float), goals["c"].to_numpy().astype(float)
    found: dict[Key, float] = {}
    if stopped:
        unbroken = 1.0
        for k in range(1, int(n.max()) + 1):
            unbroken *= 1 - ((n == k) & (c == 1)).sum() / (n >= k).sum()
            found["attack_success", "asr@k", None, k] = 1 - unbroken
        return found
    for k in range(1, int(n.max()) + 1):
        m, s = n[n >= k], c[n >= k]
        found["attack_success", "asr@k", None, k] = (1 - comb(m - s, k) / comb(m, k)).mean()
        found["attack_success", "pass^k", None, k] = (comb(s, k) / comb(m, k)).mean()
    found["attack_success", "icc", None, None] = anova_icc(n, c)
    return found


def anova_icc(n: np.ndarray, c: np.ndarray) -> float:
    """Intra-cluster correlation of a proportion (Ridout, Demetrio and Firth 1999)."""
    between = (n * (c / n - c.sum() / n.sum()) ** 2).sum() / (n.size - 1)
    within = (c - c**2 / n).sum() / (n.sum() - n.size)
    size = (n.sum() - (n**2).sum() / n.sum()) / (n.size - 1)
    return float((between - within) / (between + (size - 1) * within))


def value(truth: pl.DataFrame, metric: str, statistic: str, at: float | None = None) -> float:
    """One value of the truth of all categories."""
    return float(
        truth.filter(
            pl.col("category").is_null(),
            pl.col("ending").is_null(),
            pl.col("at").eq_missing(at),
            metric=metric,
            statistic=statistic,
        )["value"].item()
    )


def as_keys(truth: pl.DataFrame) -> dict[Key, float]:
    rows = truth.drop_nulls("value").select("metric", "statistic", "ending", "at", "value").rows()
    return {(metric, statistic, ending, at): found for metric, statistic, ending, at, found in rows}


@cache
def large(name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """About two hundred thousand rollouts of a design, and its truth."""
    tables = [simulate(**ONE, **DESIGNS[name], seed=seed) for seed in SEEDS]
    return pl.concat([rollouts_of(turns) for turns, _ in tables]), tables[0][1].filter(pl.col("category").is_null())


# ── the truth ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.integration
@pytest.mark.parametrize("name", DESIGNS)
def test_truth_is_what_large_simulations_find(name: str) -> None:
    """Each value lies within four Monte Carlo errors of the textbook estimate on some 2e5 rollouts."""
    rollouts, truth = large(name)
    exact, whole = as_keys(truth), estimates(rollouts, DESIGNS[name])
    parts = [estimates(part, DESIGNS[name]) for part in rollouts.partition_by("run")]
    assert set(whole) <= set(exact)
    for key, found in whole.items():
        spread = float(np.std([part.get(key, np.nan) for part in parts], ddof=1))
        # a median of whole turns lies on either side of a step when the parts do
        within = spread if key[1] == "median" else 4 * spread / np.sqrt(len(parts))
        assert found == pytest.approx(exact[key], abs=within + 1e-9), key


@pytest.mark.integration
def test_every_kind_of_truth_is_tried() -> None:
    """No metric and statistic of the truth escapes the comparison with simulations."""
    tried = {key[:2] for name in DESIGNS for key in estimates(large(name)[0].head(20_000), DESIGNS[name])}
    promised = {key[:2] for name in DESIGNS for key in as_keys(large(name)[1])}
    assert {key for key in promised if not key[0].startswith("true_")} == tried


@pytest.mark.integration
@pytest.mark.parametrize("icc", [0.001, 0.1, 0.3, 0.6, 0.9, 0.999])
@pytest.mark.parametrize("hazard", [0.001, 0.05, 0.5, 0.99])
def test_truth_equals_beta_functions(hazard: float, icc: float) -> None:
    """With a constant hazard, survival, ASR@k and pass^k are ratios of beta functions."""
    a, b = hazard * (1 / icc - 1), (1 - hazard) * (1 / icc - 1)
    _, truth = simulate(**ONE, hazard=hazard, icc=icc, turns=60, goals=1, attempts=1)
    for t in (1, 7, 60):
        exact = np.exp(betaln(a, b + t) - betaln(a, b))
        assert value(truth, "time_to_success", "survival", t) == pytest.approx(exact, abs=1e-10)
    _, truth = simulate(**ONE, **QUIET, hazard=hazard, icc=icc, turns=1, goals=1, attempts=900)
    for k in (1, 7, 900):
        exact = 1 - np.exp(betaln(a, b + k) - betaln(a, b))
        assert value(truth, "attack_success", "asr@k", k) == pytest.approx(exact, abs=1e-9)
        exact = np.exp(betaln(a + k, b) - betaln(a, b))
        assert value(truth, "attack_success", "pass^k", k) == pytest.approx(exact, abs=1e-9)
    assert value(truth, "attack_success", "icc") == pytest.approx(icc, abs=1e-10)


@pytest.mark.parametrize(("mean", "icc"), [(0.5, 1 / 3), (0.5, 0.5), (0.2, 1e-6), (0.003, 0.7)])
def test_nodes_integrate_the_beta_distribution(mean: float, icc: float) -> None:
    """The weights add up to one, and mean and variance are those asked for, where a + b is 1 or 2 as well."""
    node, weight = beta_nodes(6, mean, icc)
    assert weight.sum() == pytest.approx(1)
    assert weight @ node == pytest.approx(mean)
    assert weight @ (node - mean) ** 2 == pytest.approx(mean * (1 - mean) * icc)


def test_goals_alike_give_the_geometric_distribution() -> None:
    """Without goal effects, survival is a power and two attempts are uncorrelated."""
    _, truth = simulate(**ONE, hazard=0.1, icc=0, turns=5)
    assert value(truth, "time_to_success", "survival", 5) == pytest.approx(0.9**5)
    assert value(truth, "attack_success", "icc") == pytest.approx(0)


@pytest.mark.integration
def test_truth_by_category_and_target() -> None:
    """Odds multiply by target, attack and category; all categories together are their mean."""
    attacks, categories = {"ask": 2}, {"easy": 3, "hard": 0.5, "never": 0}
    targets = {"base": 0.2, "safe": 0.05}
    turns, truth = simulate(
        targets=targets, attacks=attacks, categories=categories, turns=1, goals=12_000, text=False, **QUIET
    )
    means = truth.filter(metric="attack_success", statistic="mean")
    odds = {(t, c): hazard / (1 - hazard) * 2 * many for t, hazard in targets.items() for c, many in categories.items()}
    exact = {group: many / (1 + many) for group, many in odds.items()}
    for target, category, found in means.drop_nulls("category").select("target", "category", "value").rows():
        assert found == pytest.approx(exact[target, category])
    for target, found in means.filter(pl.col("category").is_null()).select("target", "value").rows():
        assert found == pytest.approx(np.mean([exact[target, category] for category in categories]))
    shares = turns.group_by("target", "category").agg(pl.col("succeeded").mean()).rows()
    for target, category, share in shares:
        assert share == pytest.approx(exact[target, category], abs=4 * np.sqrt(0.25 / 4000))


@pytest.mark.integration
def test_truth_behind_an_erring_judge() -> None:
    """The `true_` rows are those of the same design with a perfect judge; the others are of the judge's verdicts."""
    design = {**ONE, "hazard": 0.1, "error": 0.03}
    _, perfect = simulate(**design)
    _, erring = simulate(**design, judge=(0.9, 0.95))
    behind = {(key[0].removeprefix("true_"), *key[1:]): v for key, v in as_keys(erring).items() if "true_" in key[0]}
    assert behind == pytest.approx({key: as_keys(perfect)[key] for key in behind})
    assert {"attack_success", "success_within_10", "time_to_success"} < {key[0] for key in behind}
    assert value(erring, "time_to_success", "hazard", 1) == pytest.approx(0.1 * 0.9 + 0.9 * 0.05)


@pytest.mark.integration
def test_truth_of_unjudged_turns_is_that_of_judged_ones() -> None:
    """Missing verdicts move the bounds and the lengths only, and the bounds enclose the truth."""
    _, judged = simulate(**ONE)
    _, unjudged = simulate(**ONE, unjudged_share=0.2)
    changed = {key[:2] for key, found in as_keys(judged).items() if as_keys(unjudged)[key] != pytest.approx(found)}
    assert changed == {
        (metric, statistic) for metric, statistic in changed if "bound" in statistic or metric == "num_turns"
    }
    assert len(changed) >= 3
    low, high = (value(unjudged, "attack_success", f"bound_{end}") for end in ("low", "high"))
    assert low < value(unjudged, "attack_success", "mean") < high


@pytest.mark.integration
def test_icc_of_one_turn_is_the_one_asked_for() -> None:
    """The ANOVA estimator on single-turn rollouts finds the requested correlation of attempts."""
    turns, _ = simulate(**ONE, **QUIET, turns=1, hazard=0.1, icc=0.3, goals=20_000, attempts=4, seed=3)
    goals = turns.group_by("goal").agg(n=pl.len().cast(float), c=pl.col("succeeded").sum().cast(float))
    assert anova_icc(goals["n"].to_numpy(), goals["c"].to_numpy()) == pytest.approx(0.3, abs=0.02)


@pytest.mark.integration
def test_crossed_designs_have_both_correlations() -> None:
    """Two single-turn rollouts correlate by `icc` through the goal alone, by `icc_task` through the task alone."""
    p, rows = 0.2, []
    for seed in range(60):
        turns, _ = simulate(
            **ONE, **QUIET, turns=1, hazard=p, goals=40, tasks=40, attempts=1, icc=0.1, icc_task=0.25, seed=seed
        )
        table = turns["succeeded"].cast(float).to_numpy().reshape(40, 40) - p
        square = (table**2).sum()
        rows.append([((table.sum(axis=axis) ** 2).sum() - square) / (40 * 40 * 39) for axis in (1, 0)])
    found = np.array(rows) / (p * (1 - p))
    error = found.std(axis=0, ddof=1) / np.sqrt(len(rows))
    assert (abs(found.mean(axis=0) - [0.1, 0.25]) < 4 * error).all()
    assert (error < 0.02).all()


# ── the table ─────────────────────────────────────────────────────────────────────────────────────────────────────────

TABLES: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "everything at once": {
        "judge": (0.9, 0.9), "unjudged_share": 0.2, "tasks": 3, "icc_task": 0.1, "benign": 7, "attempts": (1, 3), "error": 0.1,
        "goals": 4, "attempts_stop_on_success": True, "stop_on_success": False,
    },
    "one goal, one turn": {**ONE, "goals": 1, "turns": 1, "attempts": 1},
    "never": {**ONE, "hazard": 0}, "always": {**ONE, "hazard": 1}, "crashing": {**ONE, "error": 1},
    "giving up": {**ONE, "give_up": 1}, "unjudged": {**ONE, "unjudged_share": 1}, "benign": {"benign": 5, "error": 0.3},
}  # fmt: skip


@pytest.mark.parametrize("design", TABLES.values(), ids=TABLES)
def test_tables_keep_the_schema(design: Design) -> None:
    """Every design gives TURNS, with the schema's dtypes, and a truth without NaN and without repeated keys."""
    turns, truth = simulate(**design)
    check(turns, TURNS)
    assert [name for name in turns.columns if name not in TURNS.names] == ["true_succeeded"]
    assert truth["value"].is_nan().sum() == 0
    assert not truth.drop("value").is_duplicated().any()


@pytest.mark.integration
def test_same_seed_same_bytes() -> None:
    """The seed alone decides, whatever the number of threads; another seed gives another table."""
    program = (
        "import hashlib, rollwise.rollout.simulation as s; t, _ = s.simulate(seed=5, benign=3, tasks=2); "
        "print(hashlib.sha256(t.write_csv().encode()).hexdigest())"
    )
    env = {**os.environ, "POLARS_MAX_THREADS": "1"}
    alone = subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True, text=True).stdout
    turns, _ = simulate(seed=5, benign=3, tasks=2)
    assert hashlib.sha256(turns.write_csv().encode()).hexdigest() == alone.strip()
    assert not turns.equals(simulate(seed=6, benign=3, tasks=2)[0])


@pytest.mark.integration
def test_other_groups_change_nothing() -> None:
    """More targets, attacks and categories leave the rows of a group as they were."""
    few, _ = simulate(targets={"a": 0.2}, attacks=["x"], categories=["c"], goals=20)
    many, _ = simulate(targets={"b": 0.1, "a": 0.2}, attacks=["y", "x"], categories=["d", "c"], goals=40, benign=3)
    assert_frame_equal(few, many.filter(target="a", attack="x", category="c"))


def test_an_ending_changes_no_other_draw() -> None:
    """Giving up cuts rollouts short and leaves the turns before it as they were."""
    going, _ = simulate(**ONE, give_up=0)
    giving, _ = simulate(**ONE, give_up=0.3)
    both = giving.join(going, on=["rollout_id", "turn"], how="left")
    assert both["succeeded"].eq_missing(both["succeeded_right"]).all()
    assert giving.height < going.height


def test_goals_are_hard_for_all() -> None:
    """The goals that one target withstands are those that the other withstands."""
    turns, _ = simulate(targets=["a", "b"], attacks="x", categories="c", goals=300, icc=0.5, turns=1, hazard=0.3)
    rate = turns.group_by("goal").agg(pl.col("succeeded").filter(target=name).mean().alias(name) for name in "ab")
    assert rate.select(pl.corr("a", "b")).item() > 0.6


@pytest.mark.integration
def test_endings_and_outcomes_agree() -> None:
    """A success ends in success, a crash in error, all else is a failure; the last turn tells which."""
    turns, _ = simulate(error=0.05, give_up=0.1, target_ends=0.1, goals=200)
    last = turns.filter(pl.col("turn") == pl.len().over("rollout_id")).with_columns(
        pl.col("ending", "outcome").cast(str)
    )
    pairs = last.group_by("ending", "outcome").agg(
        won=pl.col("succeeded").sum() / pl.len(), error=pl.col("error").is_not_null().mean(), turns=pl.col("turn").min()
    )
    assert set(pairs.select("ending", "outcome", "won", "error").rows()) == {
        ("success", "success", 1, 0),
        ("budget", "failure", 0, 0),
        ("gave_up", "failure", 0, 0),
        ("target_ended", "failure", 0, 0),
        ("error", "error", 0, 1),
    }
    assert pairs.filter(ending="budget")["turns"].item() == 10
    earlier = turns.filter(pl.col("turn") < pl.len().over("rollout_id"))
    assert not earlier["succeeded"].any()
    assert earlier["error"].null_count() == earlier.height


@pytest.mark.integration
def test_crashed_turns_have_no_answer() -> None:
    """Where the target did not answer, answer, verdict and score are null, and nowhere else."""
    turns, _ = simulate(error=0.1)
    for name in ("response", "response_tokens", "refused", "succeeded", "score", "true_succeeded"):
        assert turns[name].is_null().equals(turns["error"].is_not_null().alias(name))


def test_rollouts_may_go_on_after_success() -> None:
    """Without stopping on success, the ending is another one and later turns may succeed again."""
    turns, _ = simulate(**ONE, hazard=0.3, stop_on_success=False, error=0.05)
    ending = turns["ending"].cast(pl.String)
    assert "success" not in ending
    won = turns.group_by("rollout_id").agg(pl.col("succeeded").sum(), pl.col("outcome", "ending").first().cast(str))
    assert won.select((pl.col("succeeded") > 1).any()).item()
    assert won.filter(pl.col("succeeded") > 0)["outcome"].unique().to_list() == ["success"]
    assert won.filter(succeeded=0, ending="error")["outcome"].unique().to_list() == ["error"]


@pytest.mark.integration
def test_attempts_stop_at_the_first_success() -> None:
    """In a loop that stops, a goal has at most one success, and it comes last."""
    design = {**ONE, "goals": 100, "hazard": 0.2, "attempts": (2, 6), "seed": 2}
    stopped, _ = simulate(**design, attempts_stop_on_success=True)
    whole, _ = simulate(**design)
    attempts = stopped.group_by("goal", "attempt").agg(won=pl.col("succeeded").any()).sort("goal", "attempt")
    goals = attempts.group_by("goal").agg(pl.col("won").sum(), last=pl.col("won").last(), n=pl.len())
    assert goals["won"].max() == 1
    assert goals.filter(won=1)["last"].all()
    course = ["rollout_id", "turn", "succeeded", "ending", "outcome"]
    assert_frame_equal(stopped[course], whole[course].join(stopped, on="rollout_id", how="semi"))


def test_attempts_may_be_unequal() -> None:
    """A range of attempts is used from end to end, and attempts count from 1."""
    turns, _ = simulate(**ONE, goals=200, attempts=(2, 5))
    numbers = turns.group_by("goal").agg(pl.col("attempt").unique().sort())["attempt"].to_list()
    assert {tuple(one) for one in numbers} == {(1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5)}


@pytest.mark.integration
def test_a_judge_errs_as_often_as_asked() -> None:
    """Verdicts on true successes and on the rest are right as often as sensitivity and specificity say."""
    turns, _ = simulate(**ONE, judge=(0.7, 0.9), hazard=0.3, goals=4000, stop_on_success=False, unjudged_share=0.1)
    rates = turns.drop_nulls("true_succeeded").group_by("true_succeeded").agg(pl.col("succeeded").mean(), n=pl.len())
    for true, rate, n in rates.rows():
        assert rate == pytest.approx(0.7 if true else 0.1, abs=4 * np.sqrt(0.25 / n))


@pytest.mark.integration
def test_unjudged_turns_leave_rollouts_half_judged() -> None:
    """The asked share of verdicts is missing, and what no verdict settles has no outcome."""
    turns, _ = simulate(**ONE, unjudged_share=0.15, error=0, goals=1000)
    assert turns["succeeded"].null_count() / turns.height == pytest.approx(0.15, abs=4 * np.sqrt(0.15 / turns.height))
    assert turns["score"].is_null().equals(turns["succeeded"].is_null().alias("score"))
    settled = turns.group_by("rollout_id").agg(
        pl.col("outcome").first().cast(str), any=pl.col("succeeded").any(), gap=pl.col("succeeded").has_nulls()
    )
    assert set(settled.select("outcome", "any", "gap").rows()) == {
        ("success", True, False),
        (None, True, True),  # a success behind a gap may not have been the first
        (None, False, True),
        ("failure", False, False),
    }


@pytest.mark.integration
def test_benign_rollouts_have_a_task_and_no_attack() -> None:
    """Benign rollouts have neither goal, outcome nor verdict, but a task that is solved as often as asked."""
    turns, truth = simulate(**ONE, benign=20_000, utility=0.7, error=0.02, tasks=10_000, goals=1, attempts=1)
    none = turns.filter(attack="none").unique("rollout_id")
    assert none.height == 20_000
    assert (
        none.select("goal", "category", "outcome", "succeeded", "true_succeeded").null_count().row(0) == (20_000,) * 5
    )
    assert set(none["ending"].cast(pl.String)) == {"finished", "error"}
    assert none["solved"].is_null().equals(none["ending"].eq("error").alias("solved"))
    assert none["solved"].mean() == pytest.approx(0.7, abs=4 * np.sqrt(0.21 / 20_000))
    assert truth.filter(attack="none").select("metric", "value").rows() == [("task_success", 0.7)]


@pytest.mark.integration
def test_ids_can_be_read() -> None:
    """An id says run, target, attack, goal, task and attempt, and a goal its category."""
    turns, _ = simulate(targets="org/m", attacks="ask", categories=["fraud", "x"], goals=39, tasks=2, benign=1, seed=9)
    assert "simulation-9/org/m/ask/fraud-017/task-002/5" in turns["rollout_id"]
    assert turns["rollout_id"][-1] == "simulation-9/org/m/none/task-001/1"
    assert turns.select("source", "run").unique().rows() == [("simulation", "simulation-9")]


@pytest.mark.integration
def test_text_reads_like_a_rollout() -> None:
    """Refusals, and only those, read like refusals; prompts name their goal; the system text stands on turn 1."""
    turns, _ = simulate(refusal=0.5)
    sounds = pl.col("response").str.contains(r"^I('m sorry| can't| cannot| won't|'m not able)")
    assert turns.filter(sounds != pl.col("refused")).is_empty()
    assert turns.filter(pl.col("refused") & pl.col("true_succeeded")).is_empty()
    unbroken = turns.filter(~pl.col("true_succeeded"))
    assert unbroken["refused"].mean() == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / unbroken.height))
    assert turns.select(pl.col("prompt").str.contains(pl.col("goal"), literal=True).all()).item()
    assert turns["context"].is_not_null().equals(turns["turn"].eq(1).alias("context"))
    assert turns["response"].n_unique() > 20
    without, _ = simulate(refusal=0.5, text=False)
    assert_frame_equal(without, turns.drop("context", "prompt", "response"))


@pytest.mark.integration
def test_totals_are_sums_of_turns() -> None:
    """What a rollout took is what its turns took."""
    turns, _ = simulate(error=0.05)
    tokens = pl.col("prompt_tokens").sum() + pl.col("response_tokens").sum()
    sums = turns.group_by("rollout_id").agg(
        pl.col("queries").first() - pl.len(),
        pl.col("total_tokens").first() - tokens,
        pl.col("total_seconds").first() - pl.col("seconds").sum(),
        pl.col("total_cost_usd").first() - pl.col("cost_usd").sum(),
    )
    assert sums.select(pl.exclude("rollout_id").abs().max()).row(0) == pytest.approx((0, 0, 0, 0), abs=1e-9)
    assert turns.select((pl.col("prompt_tokens") > 0).all()).item()


@pytest.mark.integration
def test_score_and_verdict_agree() -> None:
    """The score is at least one half exactly where the verdict is a success."""
    turns, _ = simulate(judge=(0.8, 0.9), unjudged_share=0.1)
    assert (turns["score"] >= 0.5).alias("succeeded").equals(turns["succeeded"])


BAD: dict[str, dict[str, Any]] = {
    "give_up is 1.5": {"give_up": 1.5},
    "error is nan": {"error": float("nan")},
    "utility is None": {"utility": None},
    r"hazard\[1\] is -0.1": {"targets": "t", "turns": 2, "hazard": [0.1, -0.1]},
    "hazard has 2 values for 10 turns": {"targets": "t", "hazard": [0.1, 0.1]},
    "icc is 1": {"icc": 1},
    "icc_task=0.1 needs tasks": {"icc_task": 0.1},
    "icc=0.3 and icc_task=0.3 cannot hold": {"icc": 0.3, "icc_task": 0.3, "tasks": 2},
    r"targets\['b'\] is 3": {"targets": {"b": 3}},
    r"targets\['b'\] has 1 value for": {"targets": {"b": [0.1]}},
    "hazard is for targets without their own": {"hazard": 0.1},
    "goals is 0": {"goals": 0},
    "goals is 1 for 2 categories": {"goals": 1},
    "turns is 2.5": {"turns": 2.5},
    "seed is -1": {"seed": -1},
    r"attempts is \(3, 2\)": {"attempts": (3, 2)},
    r"attempts is \(1, 2, 3\)": {"attempts": (1, 2, 3)},
    "attempts is 0": {"attempts": 0},
    "judge is 0.9": {"judge": 0.9},
    "judge's specificity is 2": {"judge": (0.9, 2)},
    "targets is empty": {"targets": []},
    "targets has a name twice": {"targets": ["a", "a"]},
    r"attacks\['a'\] is -1": {"attacks": {"a": -1}},
    "'a/b' in attacks cannot be a name": {"attacks": "a/b"},
    "'none' means a benign rollout": {"attacks": "none"},
}


@pytest.mark.parametrize(("sentence", "design"), BAD.items(), ids=list(BAD))
def test_bad_arguments_are_refused(sentence: str, design: Design) -> None:
    """What makes no sense is refused in a sentence that names the parameter, its value and a remedy."""
    with pytest.raises(ArgumentError, match=rf"^simulate: .*{sentence}.*; \w+"):
        simulate(**design)


# ── trees ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
ENDLESS: Design = {"give_up": 0, "target_ends": 0, "error": 0}
TREES: Design = {**ENDLESS, "targets": {"t": 0.02}, "attacks": "a", "categories": "c", "branches": 3, "turns": 4}


@pytest.mark.integration
def test_a_tree_holds_every_node_once() -> None:
    """Each open node has as many children as asked, a successful one none, and parents come before their children."""
    turns, _ = simulate(**TREES, goals=20, attempts=2)
    check(turns, TURNS)
    nodes = turns.select("rollout_id", "node_id", "succeeded", "turn")
    children = turns.drop_nulls("parent_id").group_by("rollout_id", pl.col("parent_id").alias("node_id")).len()
    joined = nodes.join(children, on=["rollout_id", "node_id"], how="left").with_columns(pl.col("len").fill_null(0))
    assert set(joined.filter(pl.col("succeeded") | (pl.col("turn") == 4))["len"]) == {0}
    assert set(joined.filter(~pl.col("succeeded") & (pl.col("turn") < 4))["len"]) == {3}
    assert (turns.filter(pl.col("turn") == 1).group_by("rollout_id").len()["len"] == 3).all()
    above = turns.join(nodes, left_on=["rollout_id", "parent_id"], right_on=["rollout_id", "node_id"], suffix="_above")
    assert (above["turn"] == above["turn_above"] + 1).all()
    assert not above["succeeded_above"].any()


@pytest.mark.integration
def test_truth_of_trees_is_met_by_many_of_them() -> None:
    """The share of trees with a success by each depth is the exact one, within 4 Monte Carlo errors."""
    turns, truth = simulate(**TREES, goals=4000, attempts=1, seed=2)
    trees = turns.group_by("rollout_id").agg(
        first=pl.col("turn").filter("succeeded").min(), outcome=pl.col("outcome").first()
    )
    assert ((trees["outcome"] == "success") == trees["first"].is_not_null()).all()
    for k in range(1, 5):
        share = (trees["first"] <= k).fill_null(value=False).mean()
        true = value(truth, f"success_within_{k}", "mean", k)
        assert share == pytest.approx(true, abs=4 * np.sqrt(true * (1 - true) / 4000))
    assert value(truth, "attack_success", "mean") == value(truth, "success_within_4", "mean", 4)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"give_up": 0.1}, "have no give_up"),
        ({"judge": (0.9, 0.9)}, "have no judge"),
        ({"turns": 16}, "nodes; take fewer"),
    ],
)
def test_what_a_tree_cannot_have_is_one_sentence(options: Design, says: str) -> None:
    """Endings other than success, fallible judges and forests beyond memory are refused."""
    with pytest.raises(ArgumentError, match=says):
        simulate(**(TREES | options))
