# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Gates that are asked again and again: the error holds over the whole sequence of looks."""

import math

import numpy as np
import polars as pl
import pytest
from simulations import repeated

import rollwise as rw
from rollwise.errors import ArgumentError
from rollwise.stats.proportion import proportion
from rollwise.stats.sequential import beta_binomial_sequence, share_at_every_look


def rollouts(success, **columns) -> pl.DataFrame:
    """ROLLOUTS of goals (rows) x attempts (columns)."""
    success = np.asarray(success, dtype=object)
    goals, attempts = success.shape
    goal = np.repeat([f"g{i:04}" for i in range(goals)], attempts)
    ids = [f"r{i:05}" for i in range(goals * attempts)]
    verdicts = pl.Series(success.ravel().tolist(), dtype=pl.Boolean)
    return pl.DataFrame({"rollout_id": ids, "goal": goal, "attack_success": verdicts, **columns})


def test_by_hand_each_goal_is_one_observation() -> None:
    """Goals with rates 1/2, 0, 0, ...: the sum of rates is one half, over 60 goals, with .025 on each side."""
    success = np.zeros((60, 2), dtype=bool)
    success[0, 0] = True
    row = rw.gate(rollouts(success), "attack_success < 20%", looks="many").row(0, named=True)
    high = float(beta_binomial_sequence(0.5, 60, level=0.975, side="high")[1])
    assert row["answer"] == "passed"
    assert (row["estimate"], row["pass_bound"], row["fail_bound"]) == pytest.approx((1 / 120, high, 0.0), abs=1e-7)
    assert row["method"] == "beta-binomial confidence sequence"
    assert "at every look" in row["estimand"]


def test_many_looks_cost_width_and_say_what_to_do() -> None:
    """What one look passes is undecided, and the reason asks for more goals without promising a number."""
    table = rollouts(np.zeros((70, 1), dtype=bool))
    assert rw.gate(table, "attack_success < 6%")["answer"].item() == "passed"
    row = rw.gate(table, "attack_success < 6%", looks="many").row(0, named=True)
    assert (row["answer"], row["n_more"]) == ("undecided", None)
    assert "add goals and look again" in row["reason"]


def test_rollouts_without_a_verdict_count_against_both() -> None:
    """An unknown attempt is a success at the upper end, and unread ones are goals of their own."""
    success = np.zeros((80, 1), dtype=object)
    success[:] = False
    success[0, 0] = None
    table = rollouts(success)
    known = rw.gate(table, "attack_success < 30%", looks="many", unjudged="drop").row(0, named=True)
    either = rw.gate(table, "attack_success < 30%", looks="many").row(0, named=True)
    unread = rw.gate(table, "attack_success < 30%", looks="many", unread=2).row(0, named=True)
    assert known["pass_bound"] < either["pass_bound"] < unread["pass_bound"]
    ends = [float(beta_binomial_sequence(s, n, level=0.975, side="high")[1]) for s, n in ((0, 79), (1, 80), (3, 82))]
    assert [row["pass_bound"] for row in (known, either, unread)] == pytest.approx(ends)
    assert rw.gate(table, "attack_success < 30%", looks="many", unread=math.inf)["answer"].item() == "undecided"


@pytest.mark.parametrize(
    ("require", "options", "sentence"),
    [
        ("num_turns < 3", {}, "not a requirement on a proportion"),
        ("attack_success < 1%", {"cluster": ("goal", "task")}, "needs one independent unit"),
        ("attack_success < 1%", {"looks": "two"}, "looks"),
    ],
)
def test_what_has_no_confidence_sequence_is_refused(require, options, sentence) -> None:
    """Means, crossed ways and unknown words are refused in a sentence."""
    table = rollouts(np.zeros((6, 2), dtype=bool), task=[f"t{i % 3}" for i in range(12)], num_turns=[1] * 12)
    with pytest.raises(ArgumentError, match=sentence):
        rw.gate(table, require, **{"looks": "many", **options})


def test_a_summary_is_refused() -> None:
    """A SUMMARY does not have the rates of single goals."""
    summary = rw.summarize(rollouts(np.zeros((6, 2), dtype=bool)))
    with pytest.raises(ArgumentError, match="looks='many'"):
        rw.gate(summary, "attack_success < 60%", looks="many")


# ── simulations ───────────────────────────────────────────────────────────────────────────────────────────────────────
def shares_of_goals(rng, campaigns, goals, attempts, rate, icc):
    """Successes of each goal, in the order drawn: integer (campaigns, goals)."""
    chance = rng.beta(rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1), (campaigns, goals))
    return rng.binomial(attempts, chance)


@pytest.mark.slow
@pytest.mark.parametrize(("attempts", "rate", "icc"), [(3, 0.05, 0.3), (1, 0.1, 0.1), (5, 0.2, 0.5)])
def test_thirty_looks_keep_the_error_of_the_whole_sequence(attempts, rate, icc, record_property) -> None:
    """At the threshold, asked after every 10 goals up to 300: at most .025 ever pass; by one-look ends, .05 to .10."""
    count, looks = repeated(1000), range(10, 301, 10)
    wins = shares_of_goals(np.random.default_rng(8), count, 300, attempts, rate, icc)
    passed = {"one": 0, "many": 0}
    for campaign in wins:
        values = (np.arange(attempts) < campaign[:, None]).astype(float)
        codes = np.repeat(np.arange(300), attempts)
        ends = [
            (
                proportion(values[:goals].ravel(), (codes[: goals * attempts],)).high,
                share_at_every_look(values[:goals].ravel(), codes[: goals * attempts])[1],
            )
            for goals in looks
        ]
        passed["one"] += any(one < rate for one, _ in ends)
        passed["many"] += any(many < rate for _, many in ends)
    record_property("ever passed", {name: number / count for name, number in passed.items()})
    assert passed["many"] / count <= 0.025 + 2 * math.sqrt(0.025 * 0.975 / count)
    assert passed["one"] / count > passed["many"] / count + 0.02


@pytest.mark.slow
def test_a_gate_looked_at_while_goals_come_in() -> None:
    """The verb itself, asked after every 20 goals: at the threshold it hardly ever passes, below it nearly always."""
    count = repeated(200)
    ever = {0.1: 0, 0.03: 0}
    for rate in ever:
        for campaign in shares_of_goals(np.random.default_rng(9), count, 200, 2, rate, 0.2):
            table = rollouts(np.arange(2) < campaign[:, None])
            answers = [
                rw.gate(table[: 2 * goals], "attack_success < 10%", looks="many")["answer"].item()
                for goals in (40, 80, 140, 200)
            ]
            ever[rate] += "passed" in answers
    assert ever[0.1] / count <= 0.025 + 2 * math.sqrt(0.025 / count)
    assert ever[0.03] / count > 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of_goals", "size", "icc", "least", "most"),
    [(True, 4, 0.3, 0.95, 1.0), (False, 4, 0.3, 0.0, 0.9), (True, 5, 0.5, 0.95, 1.0), (False, 5, 0.5, 0.0, 0.7)],
)
def test_ten_thousand_looks_at_dependent_observations(of_goals, size, icc, least, most, record_property) -> None:
    """Means of goals (or of families of goals) are covered at all of 10,000 looks; single rollouts of these goals are not."""
    count, looks, rate = repeated(300), 10_000, 0.1
    rng, held = np.random.default_rng(10), 0
    for _ in range(count):
        if of_goals:
            stream = shares_of_goals(rng, 1, looks, size, rate, icc)[0] / size
        else:
            goals = shares_of_goals(rng, 1, looks // size, size, rate, icc)[0]
            # Attempts at a goal follow each other, in random order.
            stream = rng.permuted(np.arange(size) < goals[:, None], axis=1).ravel().astype(float)
        low, high = beta_binomial_sequence(np.cumsum(stream), np.arange(1.0, stream.size + 1))
        held += bool(np.all((low <= rate) & (rate <= high)))
    record_property("held", held / count)
    assert least - 2 * math.sqrt(0.05 / count) <= held / count <= most
