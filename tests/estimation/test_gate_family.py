"""Few goals, small thresholds and many groups: how often a gate is wrong by chance."""

from itertools import product
from typing import Any

import polars as pl
import pytest
from scipy.stats import beta, binom

import rollwise as rw
from rollwise.errors import ArgumentError


def goals(successes: int, n: int, **columns: Any) -> pl.DataFrame:
    """ROLLOUTS with one attempt at each of n goals."""
    numbers = pl.int_range(n, eager=True).cast(pl.String)
    name = "/".join(map(str, columns.values()))
    table = pl.DataFrame(
        {"rollout_id": name + "/" + numbers, "goal": numbers, "attack_success": [i < successes for i in range(n)]}
    )
    return table.with_columns(**{key: pl.lit(value) for key, value in columns.items()})


@pytest.mark.integration
@pytest.mark.parametrize(
    ("successes", "n", "require", "wilson"),
    [
        (1, 17, "attack_success < 1%", "failed"),
        (1, 1, "attack_success < 20%", "failed"),
        (1, 17, "attack_success > 1%", "passed"),
        (16, 17, "attack_success > 99%", "failed"),
        (16, 17, "attack_success < 99%", "passed"),
        (2, 3, "attack_success <= 10%", "undecided"),
    ],
)
def test_one_success_of_few_goals_decides_nothing(successes: int, n: int, require: str, wilson: str) -> None:
    """By Wilson's end these were decided: 1 - .99^17 = .157 of runs at 1 % have a success of 17; the reason says so."""
    table = goals(successes, n)
    for source in (table, rw.summarize(table, metrics="attack_success")):
        row = rw.gate(source, require).row(0, named=True)
        assert row["answer"] == "undecided"
        says = f"would {wilson.removesuffix('ed')}, and so it would too often by chance at"
        assert (says in row["reason"]) == (wilson != "undecided")


@pytest.mark.integration
@pytest.mark.parametrize(("n", "threshold"), [*product((1, 3, 5, 10, 17), (0.01, 0.05, 0.2)), (36, 0.01), (50, 0.01)])
def test_a_gate_is_wrong_in_one_of_forty_runs_at_most(n: int, threshold: float) -> None:
    """Every number of successes by its chance at the threshold itself: wrong answers of `<` and of `>` at most .025 each."""
    wrong = {"failed <": 0.0, "passed <": 0.0, "failed >": 0.0, "passed >": 0.0}
    for successes in range(n + 1):
        chance = float(binom.pmf(successes, n, threshold))
        if chance < 1e-6:
            continue
        answers = rw.gate(goals(successes, n), [f"attack_success {sign} {threshold}" for sign in "<>"])["answer"]
        for sign, answer in zip("<>", answers, strict=True):
            if answer != "undecided":
                wrong[f"{answer} {sign}"] += chance
    assert max(wrong.values()) <= 0.025


def categories(*successes: int, n: int = 17) -> pl.DataFrame:
    """ROLLOUTS of several categories with so many successes each."""
    return pl.concat([goals(c, n, category=f"c{i}") for i, c in enumerate(successes)])


@pytest.mark.integration
def test_several_answers_say_how_many_fail_by_chance() -> None:
    """Ten categories of 17 goals: 10 · .025 = .25 fail at their thresholds; one alone says nothing of it."""
    gates = rw.gate(categories(6, *[1] * 9), "attack_success < 10%", by="category")
    assert gates["answer"].to_list() == ["failed", *["undecided"] * 9]
    says = "of 10 answers up to 0.25 fail by chance if each value is at its threshold: family holds them together"
    assert says in gates["reason"][0]
    assert not any("by chance if each" in reason for reason in gates["reason"][1:])
    alone = rw.gate(categories(6), "attack_success < 10%", by="category")
    assert alone["answer"].item() == "failed"
    assert alone["reason"].item() is None
    summary = rw.summarize(categories(6, *[1] * 9), by="category", metrics="attack_success")
    assert says in rw.gate(summary, "attack_success < 10%")["reason"][0]


@pytest.mark.integration
def test_answers_that_are_held_together() -> None:
    """6 of 17 exclude 10 % at .95 (exact end .142) and at .995, Bonferroni's level for ten, not (.088); 9 of 17 do (.199)."""
    table = categories(6, 9, *[1] * 8)
    each, held = (rw.gate(table, "attack_success < 10%", by="category", family=how) for how in ("each", "all"))
    assert each["answer"][:2].to_list() == ["failed", "failed"]
    assert held["answer"][:2].to_list() == ["undecided", "failed"]
    assert held["fail_bound"][:2].to_list() == pytest.approx([beta.ppf(0.0025, 6, 12), beta.ppf(0.0025, 9, 9)])
    assert held["reason"][0].startswith("fails for itself, and not among 10 answers held together at level 0.95")
    assert held["reason"][1] is None
    # Passing needs no adjustment: all of them must pass.
    assert held["pass_bound"].equals(each["pass_bound"])
    # A single answer is held together with nothing.
    assert rw.gate(goals(6, 17), "attack_success < 10%", family="all")["answer"].item() == "failed"
    # An expected group without rollouts fails, and not by chance.
    absent = rw.gate(table, "attack_success < 10%", by="category", expect="category=x", family="all")
    assert absent["answer"][-1] == "failed"
    assert absent["fail_bound"][0] == held["fail_bound"][0]
    above = rw.gate(categories(12, 8, 8, 8), "attack_success > 90%", by="category", family="all")
    assert above["answer"].to_list() == ["undecided", "failed", "failed", "failed"]


def test_a_summary_has_one_level() -> None:
    """Its intervals are those of its level; the rollouts have them at every level."""
    summary = rw.summarize(categories(5, 1), by="category", metrics="attack_success")
    with pytest.raises(
        ArgumentError, match=r"family='all' and .* need the rollouts of each goal, and this is a SUMMARY"
    ):
        rw.gate(summary, "attack_success < 10%", family="all")


def test_ten_categories_at_half_the_threshold_fail_seldom() -> None:
    """Exact: by Wilson's ends some category of ten failed "< 1%" in 1 - (.995^17)^10 = .57 of runs; now by two successes of 17.

    The chance of two or more in 17 at .005 is .0032, so some of ten fails in .031 of runs, and none of those held together.
    """
    some_success = 1 - 0.995**170
    assert some_success == pytest.approx(0.57, abs=0.005)
    decisive = [rw.gate(goals(c, 17), "attack_success < 1%")["answer"].item() for c in range(4)]
    assert decisive == ["undecided", "undecided", "failed", "failed"]
    assert 1 - float(binom.cdf(1, 17, 0.005)) ** 10 == pytest.approx(0.031, abs=0.001)
    held = rw.gate(categories(2, *[0] * 9), "attack_success < 1%", by="category", family="all")
    assert set(held["answer"]) == {"undecided"}
