"""Groups that met other goals are not compared as if they had met the same: gate, contrast, portfolio, best."""

from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.cli.answers import answer_of
from rollwise.errors import ArgumentError
from rollwise.estimation.gate_words import verdict

REQUIRE = "attack_success <= baseline + 2%"


def met(outcomes: dict[str, bool | None], **columns: object) -> pl.DataFrame:
    """ROLLOUTS with one attempt at each goal."""
    rows = {"rollout_id": list(outcomes), "goal": list(outcomes), "attack_success": list(outcomes.values())}
    return pl.DataFrame(rows, schema_overrides={"attack_success": pl.Boolean}).with_columns(
        **{name: pl.lit(value) for name, value in columns.items()}
    )


def goals(first: int, last: int, broken: int = 0) -> dict[str, bool | None]:
    """Goals with these numbers, of which the first ones were broken."""
    return {f"g{number:04}": number < first + broken for number in range(first, last)}


def together(**arms: pl.DataFrame) -> pl.DataFrame:
    """Runs of several targets as one table."""
    return pl.concat(
        [
            frame.with_columns(target=pl.lit(name), rollout_id=pl.lit(name) + pl.col("rollout_id"))
            for name, frame in arms.items()
        ],
        how="diagonal_relaxed",
    )


@pytest.mark.integration
def test_new_goals_that_are_all_broken_do_not_pass() -> None:
    """300 goals of both without a success, 300 new ones all broken, 100 old ones that were broken are gone: 50 % after 25 %."""
    old = met(goals(0, 400, 100))
    new = met(goals(100, 400) | goals(400, 700, 300))
    row = rw.gate(new, REQUIRE, baseline=old).row(0, named=True)
    assert (row["answer"], row["n"], row["estimate"]) == ("undecided", 300, 0)
    assert (row["pass_bound"], row["fail_bound"], row["n_more"]) == (None, None, None)
    assert verdict(rw.gate(new, REQUIRE, baseline=old)) == (
        f"{REQUIRE!r} is undecided: the runs did not meet the same goals: 300 in both, 300 only in this run and 100 only in the "
        "baseline (50 % in this run and 25 % in the baseline, each over all of its own); set goals to common to compare them over "
        "the goals of both, or to all"
    )


@pytest.mark.integration
def test_common_goals_pass_on_request_and_the_answer_says_so() -> None:
    """goals='common': 300 goals without a success in both, +-1.3 points; goals='all': +25 points, which fails."""
    old, new = met(goals(0, 400, 100)), met(goals(100, 400) | goals(400, 700, 300))
    common = rw.gate(new, REQUIRE, baseline=old, goals="common")
    row = common.row(0, named=True)
    assert (row["answer"], row["n"], row["n_clusters"]) == ("passed", 300, 300)
    alone = "300 only in this run and 100 only in the baseline"
    assert row["reason"] == f"compared over the 300 goals of both runs, without {alone}"
    assert verdict(common) == f"{REQUIRE!r} is met, {row['reason']}"
    every = rw.gate(new, REQUIRE, baseline=old, goals="all")
    row = every.row(0, named=True)
    assert (row["answer"], row["n"], row["estimate"]) == ("failed", 600, pytest.approx(0.25))
    assert verdict(every).endswith(
        f", compared over all goals: 300 goals of both, {alone} (the difference may be one of the goals)"
    )
    arms = together(new=new, old=old)
    difference = rw.contrast(arms, of="target", baseline="old", metrics="attack_success", paired=False)
    assert (row["low"], row["high"]) == (difference["low"].item(), difference["high"].item())


NEW_GOALS = {
    "goals dropped": (met(goals(100, 400)), "300 in both, 0 only in this run and 100 only in the baseline"),
    "goals added": (met(goals(0, 401, 100)), "400 in both, 1 only in this run and 0 only in the baseline"),
    "half of them": (met(goals(0, 200, 100)), "200 in both, 0 only in this run and 200 only in the baseline"),
    "one renamed by a blank": (
        met({f"{name} " if name == "g0399" else name: won for name, won in goals(0, 400, 100).items()}),
        "399 in both, 1 only in this run and 1 only in the baseline",
    ),
    "one without a name": (
        met(goals(0, 400, 100)).with_columns(goal=pl.when(pl.col("goal") != "g0399").then("goal")),
        "399 in both, 1 only in this run and 1 only in the baseline",
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize("kind", NEW_GOALS)
def test_any_other_goals_leave_it_undecided(kind: str) -> None:
    """Dropped, added, halved, renamed, nameless: undecided, with the numbers; the goals of both alone pass on request."""
    new, numbers = NEW_GOALS[kind]
    old = met(goals(0, 400, 100))
    row = rw.gate(new, "attack_success <= baseline + 5%", baseline=old).row(0, named=True)
    assert row["answer"] == "undecided"
    assert row["reason"].startswith(f"the runs did not meet the same goals: {numbers} (")
    common = rw.gate(new, "attack_success <= baseline + 5%", baseline=old, goals="common").row(0, named=True)
    assert common["answer"] == "passed"


@pytest.mark.integration
def test_no_common_goal_is_undecided_whatever_is_asked_for() -> None:
    """Over the goals of both there is nothing; over all goals the runs are compared as independent ones."""
    old, new = met(goals(0, 400, 100)), met(goals(400, 800, 20))
    for choice, reason in (
        (
            "same",
            "the runs did not meet the same goals: 0 in both, 400 only in this run and 400 only in the baseline (5 %",
        ),
        (
            "common",
            "compared over no goal, as none is in both, without 400 only in this run and 400 only in the baseline",
        ),
    ):
        row = rw.gate(new, REQUIRE, baseline=old, goals=choice).row(0, named=True)  # type: ignore[arg-type]
        assert (row["answer"], row["n"], row["estimate"]) == ("undecided", 0, None)
        assert row["reason"].startswith(reason)
    assert rw.gate(new, REQUIRE, baseline=old, goals="all")["answer"].item() == "passed"


@pytest.mark.integration
def test_goals_are_those_of_each_group_and_of_the_group_named() -> None:
    """By target, and with `for category=...`: the groups that met the same goals are decided."""
    same, other = met(goals(0, 400, 20)), met(goals(1, 401, 20))
    old = together(a=same, b=same)
    gates = rw.gate(together(a=same, b=other), "attack_success <= baseline + 5%", by="target", baseline=old)
    assert gates.select("target", "answer", "n").rows() == [("a", "passed", 400), ("b", "undecided", 399)]
    new = met(goals(0, 400, 20) | goals(400, 500)).with_columns(
        category=pl.when(pl.col("goal") < "g0400").then(pl.lit("old")).otherwise(pl.lit("new"))
    )
    earlier = same.with_columns(category=pl.lit("old"))
    requirements = ["attack_success <= baseline + 5% for category=old", "attack_success <= baseline + 5%"]
    assert rw.gate(new, requirements, baseline=earlier)["answer"].to_list() == ["passed", "undecided"]


@pytest.mark.integration
def test_goals_without_a_verdict_were_met() -> None:
    """100 goals in error instead of absent: they are inside the bounds, as before, and the runs met the same goals."""
    old = met(goals(0, 400))
    new = met(goals(0, 400)).with_columns(
        attack_success=pl.when(pl.col("goal") >= "g0398").then(None).otherwise("attack_success"),
        ending=pl.when(pl.col("goal") >= "g0398").then(pl.lit("error")),
    )
    row = rw.gate(new, REQUIRE, baseline=old).row(0, named=True)
    assert (row["answer"], row["n"], row["n_error"]) == ("passed", 398, 2)
    assert row["pass_bound"] > row["high"]


@pytest.mark.integration
def test_without_goals_nothing_says_what_was_met() -> None:
    """No column of goals, or one without any value: the runs are compared as independent ones."""
    old, new = met(goals(0, 400, 20)), met(goals(400, 800, 20))
    for change in (lambda frame: frame.drop("goal"), lambda frame: frame.with_columns(goal=pl.lit(None, pl.String))):
        row = rw.gate(change(new), "attack_success <= baseline + 5%", baseline=change(old)).row(0, named=True)
        assert (row["answer"], row["n"]) == ("passed", 400)


@pytest.mark.integration
def test_a_contrast_says_over_which_goals() -> None:
    """Over the goals of both by default, over all with paired=False, and over none in common."""
    arms = together(a=met(goals(0, 50, 5)), b=met(goals(0, 50) | goals(50, 100, 50)))

    def reason(frame: pl.DataFrame, **options: Any) -> Any:
        return rw.contrast(frame, of="target", baseline="a", metrics="attack_success", **options)["reason"].item()

    assert reason(arms) == "compared over the 50 goals of both, without 50 only in b and 0 only in a"
    all_goals = (
        "compared over the 50 goals of both, and 50 only in b and 0 only in a: the difference may be one of the goals"
    )
    assert reason(arms, paired=False) == all_goals
    assert reason(arms.filter(pl.col("goal") < "g0050")) is None
    apart = together(a=met(goals(0, 50, 5)), b=met(goals(50, 100, 50)))
    assert reason(apart) == (
        "no goal is in both (50 only in b and 50 only in a): the difference may be one of the goals"
    )
    nameless = apart.with_columns(goal=pl.lit(None, dtype=pl.String))
    assert reason(nameless) == "no goal or task is named, so every rollout counts as independent"


@pytest.mark.integration
def test_the_answer_of_a_contrast_says_over_which_goals() -> None:
    """The sentence to quote, of one comparison and of several that are over other goals."""
    arms = together(a=met(goals(0, 50, 5)), b=met(goals(0, 50) | goals(50, 100, 50)), c=met(goals(10, 50)))
    two = rw.contrast(arms.filter(pl.col("target") != "c"), of="target", baseline="a", metrics="attack_success")
    assert answer_of(two).endswith("Compared over the 50 goals of both, without 50 only in b and 0 only in a.")
    three = rw.contrast(arms, of="target", baseline="a", metrics="attack_success")
    assert answer_of(three).endswith("without 50 only in b and 0 only in a (1 more comparison over other goals).")
    same = rw.contrast(
        arms.filter(pl.col("goal") < "g0050", pl.col("target") != "c"), of="target", metrics="attack_success"
    )
    assert "Compared over" not in answer_of(same)


@pytest.mark.integration
def test_a_portfolio_says_which_goals_a_member_did_not_meet() -> None:
    """B met 10 of the 50 goals that A met: the union is of these 10, and the row says so."""
    both = pl.concat(
        [
            frame.with_columns(attack=pl.lit(name), rollout_id=pl.lit(name) + pl.col("rollout_id"))
            for name, frame in (("A", met(goals(0, 50, 5))), ("B", met(goals(0, 10, 10))))
        ]
    )
    rows = rw.comparisons.portfolio(both)
    assert rows.select("kind", "n", "n_missing").rows() == [("pair", 10, 40), ("greedy", 10, 40), ("greedy", 10, 40)]
    assert rows["reason"].to_list() == ["over the 10 of 50 goals that every member met (40 not met by B)"] * 3
    assert rw.comparisons.portfolio(both.filter(pl.col("goal") < "g0010"))["reason"].null_count() == 3


def test_best_refuses_candidates_of_other_numbers_of_goals() -> None:
    """Of 50 and of 100 goals: refused with the way on; within groups of equal numbers, or on request, as before."""
    summary = rw.summarize(
        together(a=met(goals(0, 50, 5)), b=met(goals(0, 100, 50)), c=met(goals(0, 100, 60))),
        by="target",
        metrics="attack_success",
    )
    with pytest.raises(ArgumentError, match=r"did not meet the same goals \(from 50 to 100 of them\).*goals='all'"):
        rw.comparisons.best(summary, metric="attack_success")
    assert rw.comparisons.best(summary, metric="attack_success", goals="all")["target"].to_list() == ["a"]
    others = rw.comparisons.best(summary, metric="attack_success", where=pl.col("target") != "a")
    assert others["target"].to_list() == ["b"]
    assert rw.comparisons.best(summary, metric="attack_success", by="target").height == 3
