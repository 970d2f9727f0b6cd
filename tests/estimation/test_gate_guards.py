"""Requirements that mean two things are refused, and a control that never varies can pass."""

from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import ArgumentError

BROKEN = pl.DataFrame({"rollout_id": list("abcd"), "goal": list("abcd"), "attack_success": [True, True, True, False]})


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "ways"),
    [
        ("attack_success < 1", ("attack_success < 1%", "attack_success < 100%")),
        ("attack_success<=1.0", ("attack_success<=1%", "attack_success<=100%")),
        ("attack_success >= 1", ("attack_success >= 1%", "attack_success >= 100%")),
        ("attack_success > 1e0 for goal=a", ("attack_success > 1% for goal=a", "attack_success > 100% for goal=a")),
        ("mean(attack_success) < 1", ("mean(attack_success) < 1%", "mean(attack_success) < 100%")),
        ("goal_mean(attack_success) < 1", ("goal_mean(attack_success) < 1%", "goal_mean(attack_success) < 100%")),
        ("refusal_rate < 1 for goal=a", ("refusal_rate < 1% for goal=a", "refusal_rate < 100% for goal=a")),
        ("attack_success <= baseline + 1", ("attack_success <= baseline + 1%", "attack_success <= baseline + 100%")),
        ("attack_success >= baseline - 1", ("attack_success >= baseline - 1%", "attack_success >= baseline - 100%")),
    ],
)
def test_a_threshold_of_1_is_refused_with_both_ways_to_write_it(words: str, ways: tuple[str, str]) -> None:
    """Three of four broken passed `< 1`, which was meant as 1 %; what the refusal says to type has one meaning and an answer."""
    table = BROKEN.with_columns(refusal_rate=pl.lit(0.5))
    earlier: dict[str, Any] = {"baseline": table} if "baseline" in words else {}
    with pytest.raises(ArgumentError) as refusal:
        rw.gate(table, words, **earlier)
    assert str(refusal.value) == f"gate: {words!r} may mean 1 % or 100 %; write {ways[0]!r} or {ways[1]!r}"
    for way in ways:
        assert rw.gate(table, way, **earlier).height == 1


def test_a_summary_refuses_it_too() -> None:
    table = BROKEN.with_columns(refusal_rate=pl.Series([0.5, 0.0, 0.5, 1.0]))
    summary = rw.summarize(table, metrics=["attack_success", "refusal_rate"])
    for metric in ("attack_success", "refusal_rate"):
        with pytest.raises(ArgumentError, match=rf"write '{metric} < 1%' or '{metric} < 100%'"):
            rw.gate(summary, f"{metric} < 1")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("attack_success < 1%", "failed"),
        ("attack_success <= 100%", "passed"),
        ("attack_success < 0.9", "undecided"),
        ("attack_success <= 100% for goal=a", "passed"),
        ("num_turns < 1", "failed"),
        ("harm < 1", "passed"),
        ("percent_safe > 1", "passed"),
    ],
)
def test_what_means_one_thing_is_answered(words: str, answer: str) -> None:
    """Of numbers that are no shares, and of a percentage, 1 is 1."""
    table = BROKEN.with_columns(
        num_turns=pl.Series([2, 3, 2, 3]),
        harm=pl.Series([0.1, 0.2, 0.1, 0.2]),
        percent_safe=pl.Series([90, 91, 92, 93]),
    )
    assert rw.gate(table, words)["answer"].to_list() == [answer]


def control(refused: list[list[bool]], goals: list[str] | None = None) -> pl.DataFrame:
    """Return measured rollouts without an attack, whose turns were refused or not."""
    rows = [
        {
            "rollout_id": f"r{i}",
            "goal": goals[i] if goals else f"g{i}",
            "attack": "none",
            "turn": turn + 1,
            "refused": value,
        }
        for i, turns in enumerate(refused)
        for turn, value in enumerate(turns)
    ]
    return rw.measure(
        rw.turns(pl.DataFrame(rows).with_columns(prompt=pl.lit("p"), response=pl.lit("a"))), m.refusal_rate()
    )


def only(frame: pl.DataFrame) -> dict[str, Any]:
    (row,) = frame.rows(named=True)
    return row


@pytest.mark.integration
def test_a_control_without_a_refusal_passes() -> None:
    """None of 20 goals: the exact upper end solves (1 - p)^20 = .025, p = .1684, and it is that of the Boolean metric."""
    table = control([[False, False]] * 20)
    row = only(rw.gate(table, "refusal_rate < 90% for attack=none"))
    assert (row["answer"], row["estimate"], row["n"]) == ("passed", 0.0, 20)
    assert row["pass_bound"] == pytest.approx(1 - 0.025**0.05)
    assert row["reason"] == "no variation: up to 0.168 of all rollouts may have another value"
    assert only(rw.gate(table, "refusal_rate < 15% for attack=none"))["answer"] == "undecided"
    boolean = table.with_columns(ever_refused=pl.col("refusal_rate") > 0)
    assert only(rw.gate(boolean, "ever_refused < 90%"))["pass_bound"] == pytest.approx(row["pass_bound"])


@pytest.mark.integration
@pytest.mark.parametrize(
    ("refused", "low", "high"),
    [
        ([[True, True]] * 20, 1 - 0.1684335, 1.0),  # everything is refused: the other side of the same interval
        ([[True, False]] * 20, 0.5 - 0.5 * 0.1684335, 0.5 + 0.5 * 0.1684335),  # half of each: others may have 0 or 1
        ([[False]] * 5, 0.0, 1 - 0.025**0.2),  # few goals say little
        ([[False] * 9] * 20, 0.0, 0.1684335),  # turns of a rollout are no further goals
    ],
)
def test_equal_values_have_an_interval_as_far_as_the_metric_goes(
    refused: list[list[bool]], low: float, high: float
) -> None:
    row = only(rw.summarize(control(refused), metrics="refusal_rate", statistics="mean"))
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=1e-6)


def test_attempts_at_a_goal_are_no_further_goals() -> None:
    """Four attempts at each of five goals count as 5·(z/t)² = 5·(1.960/2.776)² = 2.4925 goals: 1 - .025^(1/2.4925) = .7725."""
    table = control([[False]] * 20, goals=[f"g{i % 5}" for i in range(20)])
    row = only(rw.gate(table, "refusal_rate < 90%"))
    assert (row["answer"], row["n_clusters"], row["pass_bound"]) == ("passed", 5, pytest.approx(0.772475, abs=1e-6))


@pytest.mark.integration
def test_equal_values_without_a_declared_range_or_with_a_crash_stay_undecided() -> None:
    """Nobody knows how far other values of one's own metric may be, nor what a crashed rollout would have done."""
    table = control([[False]] * 20)
    own = only(rw.gate(table.with_columns(own=pl.lit(0.0)), "own < 90%"))
    crashed = table.with_columns(
        refusal_rate=pl.when(pl.int_range(20) > 0).then("refusal_rate"),
        ending=pl.when(pl.int_range(20) == 0).then(pl.lit("error")).otherwise("ending"),
    )
    row = only(rw.gate(crashed, "refusal_rate < 90%"))
    assert (own["answer"], own["reason"], row["answer"], row["n"]) == ("undecided", "no variation", "undecided", 19)


@pytest.mark.integration
def test_a_margin_in_points_means_one_thing() -> None:
    for words in ("attack_success <= baseline + 1 point", "attack_success <= baseline + 100 points"):
        assert rw.gate(BROKEN, words, baseline=BROKEN).height == 1
