"""Rollouts of which nothing is judged: inside the bounds in every verb, as those with some unjudged turns are."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats
from simulations import repeated

import rollwise as rw
from rollwise import metrics as m
from rollwise.cli import run


def wilson(successes: float, number: int) -> tuple[float, float]:
    """Wilson's interval, as SciPy has it for whole numbers."""
    interval = scipy_stats.binomtest(int(successes), number).proportion_ci(method="wilson")
    return interval.low, interval.high


def single_turns(verdicts: Sequence[bool | None], **columns: Any) -> pl.DataFrame:
    """Turns of rollouts of one turn each, one at each goal."""
    number = len(verdicts)
    frame = pl.DataFrame({
        "rollout_id": [f"r{i:03}" for i in range(number)],
        "goal": [f"g{i:03}" for i in range(number)],
        "turn": [1] * number,
        "succeeded": pl.Series(verdicts, dtype=pl.Boolean),
    })  # fmt: skip
    return rw.turns(frame.with_columns(**columns))


def only(frame: pl.DataFrame) -> dict[str, Any]:
    assert frame.height == 1
    return frame.row(0, named=True)


# 5 of 50 judged rollouts are successes, and 50 others have no verdict.
HALF: list[bool | None] = [True] * 5 + [False] * 45 + [None] * 50
NOTE = (
    "50 of 100 rollouts have no verdict: the estimate takes the others as representative, and the interval covers both "
    "outcomes of each (unjudged='bounds')"
)
BOUNDS = (wilson(5, 100)[0], wilson(55, 100)[1])  # .02 to .64: all failures, all successes


def undetermined() -> pl.DataFrame:
    words = ["success"] * 5 + ["failure"] * 45 + ["undetermined"] * 50
    return rw.measure(single_turns([None] * 100, outcome=pl.Series(words)), m.attack_success(), m.time_to_success())


def of_turns(*expressions: pl.Expr) -> pl.DataFrame:
    return rw.measure(single_turns(HALF), *expressions)


TABLES: dict[str, tuple[str, Callable[[], pl.DataFrame]]] = {
    "single turns": ("attack_success", lambda: of_turns(m.attack_success(), m.time_to_success())),
    "without times": ("attack_success", lambda: of_turns(m.attack_success())),
    "undetermined outcomes": ("attack_success", undetermined),
    "success within a turn": ("success_within_1", lambda: of_turns(m.success_within(1), m.time_to_success())),
    "several turns, none judged": (
        "attack_success",
        lambda: rw.measure(
            pl.concat([single_turns(HALF).with_columns(turn=pl.lit(turn, dtype=pl.Int32)) for turn in (1, 2, 3)]),
            m.attack_success(),
            m.time_to_success(),
        ),
    ),
    "solved tasks": (
        "task_success",
        lambda: rw.measure(single_turns([None] * 100, solved=pl.Series(HALF), task=pl.col("goal")), m.task_success()),
    ),
    "a Boolean of one's own": (
        "broken",
        lambda: pl.DataFrame({"rollout_id": range(100), "goal": [f"g{i}" for i in range(100)], "broken": HALF}),
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", TABLES)
def test_the_interval_covers_both_outcomes(name: str) -> None:
    """10 % of those judged, Wilson's lower end of 5 in 100 to the upper end of 55, a sentence; every rollout counted once."""
    metric, table = TABLES[name]
    row = only(rw.summarize(table(), metrics=metric))
    assert row["estimate"] == pytest.approx(0.1)
    assert (row["low"], row["high"]) == pytest.approx(BOUNDS)
    assert (row["n"], row["n_undetermined"], row["n_missing"], row["n_error"]) == (50, 50, 0, 0)
    assert row["reason"] == NOTE
    assert row["method"].endswith("at the bounds")


@pytest.mark.integration
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("drop", "50 of 100 rollouts have no verdict: they are left out (unjudged='drop')"),
        (
            "censor",
            "50 of 100 rollouts have no verdict: the estimate takes the others as representative (unjudged='censor')",
        ),
        (
            "sample",
            "50 of 100 rollouts have no verdict: the estimate is of those drawn for judging (unjudged='sample')",
        ),
    ],
)
def test_the_other_choices_leave_them_out_and_say_so(name: str, choice: Any, words: str) -> None:
    """Wilson's interval of 5 in 50; an undetermined verdict belongs to one that was drawn."""
    metric, table = TABLES[name]
    row = only(rw.summarize(table(), metrics=metric, unjudged=choice))
    assert row["estimate"] == pytest.approx(0.1)
    if name == "undetermined outcomes" and choice == "sample":
        assert (row["low"], row["high"]) == pytest.approx(BOUNDS)
        return
    assert (row["low"], row["high"]) == pytest.approx(wilson(5, 50))
    assert row["reason"] == words
    if choice == "sample":
        assert (row["bound_low"], row["bound_high"]) == pytest.approx((0.1, 0.1))


def test_a_rollout_judged_in_part_was_drawn() -> None:
    """Of a sample, those with some unjudged turns are inside the bounds; those without any verdict are in neither."""
    frame = pl.DataFrame({
        "rollout_id": list("abcdefgh"),
        "goal": list("abcdefgh"),
        "num_turns": pl.Series([2] * 8, dtype=pl.Int32),
        "num_judged": pl.Series([2, 2, 2, 2, 1, 0, 0, 0], dtype=pl.Int32),
        "attack_success": [True, False, False, False, None, None, None, None],
    })  # fmt: skip
    row = only(rw.summarize(frame, metrics="attack_success", unjudged="sample"))
    assert (row["low"], row["high"]) == pytest.approx((wilson(1, 5)[0], wilson(2, 5)[1]))
    assert (row["bound_low"], row["bound_high"]) == pytest.approx((1 / 5, 2 / 5))
    assert row["reason"].startswith("3 of 8 rollouts have no verdict: the estimate is of those drawn for judging")
    assert "1 of 8 rollouts has unjudged turns and no success" in row["reason"]
    every = only(rw.summarize(frame, metrics="attack_success"))
    assert (every["low"], every["high"]) == pytest.approx((wilson(1, 8)[0], wilson(5, 8)[1]))
    assert every["reason"].startswith("1 of 8 rollouts has unjudged turns and no success, and 3 have no verdict: ")


@pytest.mark.integration
def test_errors_stay_as_they_are() -> None:
    """Counted as errors, outside the interval, and within the columns `bound_low` and `bound_high`."""
    turns = single_turns(HALF, ending=pl.Series(["finished"] * 50 + ["error"] * 50))
    row = only(rw.summarize(rw.measure(turns, m.attack_success(), m.time_to_success()), metrics="attack_success"))
    assert (row["n"], row["n_error"], row["n_undetermined"], row["reason"]) == (50, 50, 0, None)
    assert (row["low"], row["high"]) == pytest.approx(wilson(5, 50))
    assert (row["bound_low"], row["bound_high"]) == pytest.approx((0.05, 0.55))


@pytest.mark.integration
def test_metrics_of_other_things_are_not_bounded() -> None:
    """A count, a text that matches, an attack that was none: what has no value for another reason is no unknown verdict."""
    turns = single_turns(
        [True, None, None], attack=pl.Series(["x", "none", "none"]), response=pl.Series(["a", None, "b"]),
        expected=pl.Series([["a"], ["a"], ["b"]]), task=pl.col("goal"),
    )  # fmt: skip
    frame = rw.measure(turns, m.attack_success(), m.num_turns(), m.exact_match())
    rows = {row["metric"]: row for row in rw.summarize(frame, statistics="mean").rows(named=True)}
    assert (rows["attack_success"]["n_inapplicable"], rows["attack_success"]["n_undetermined"]) == (2, 0)
    for row in rows.values():
        assert "unjudged" not in (row["reason"] or "")
    assert [row["n_missing"] for row in rows.values() if row["metric"].startswith("exact_match")] == [1]


@pytest.mark.integration
@pytest.mark.parametrize("words", ["nothing judged", "all undetermined"])
def test_a_group_in_which_nothing_is_judged_has_no_interval(words: str) -> None:
    """A log that nobody judged says nothing: null, with the bounds 0 and 1, beside a group that is judged."""
    outcome = pl.Series([None] * 4 + ["undetermined" if words == "all undetermined" else None] * 4, dtype=pl.String)
    turns = single_turns([True, False, False, False, *[None] * 4], outcome=outcome, target=pl.Series([*"aaaabbbb"]))
    frame = rw.measure(turns, m.attack_success(), m.time_to_success())
    row = rw.summarize(frame, by="target", metrics="attack_success").row(1, named=True)
    assert (row["target"], row["n"], row["n_undetermined"], row["estimate"], row["low"]) == ("b", 0, 4, None, None)
    assert (row["bound_low"], row["bound_high"]) == (0, 1)
    assert row["reason"].startswith("no values")
    compared = only(rw.contrast(frame, of="target", baseline="a", metrics="attack_success"))
    assert (compared["difference"], compared["low"], compared["p_value"]) == (None, None, None)
    assert "4 of 8 rollouts have no verdict" in compared["reason"]


@pytest.mark.integration
def test_a_sample_of_rollouts_larger_than_memory_is_bounded_as_well() -> None:
    """Counted by group and cluster, the same row."""
    frame = of_turns(m.attack_success(), m.time_to_success())
    for choice in ("bounds", "censor", "drop", "sample"):
        row = rw.summarize(frame, metrics="attack_success", unjudged=choice)
        assert rw.summarize(frame, metrics="attack_success", unjudged=choice, merge=True).equals(row)


# ── the other verbs ───────────────────────────────────────────────────────────────────────────────────────────────────
def arms(verdicts: dict[str, list[bool | None]]) -> pl.DataFrame:
    """ROLLOUTS of targets over the same goals, two attempts at each, with tasks that the first ten goals' rollouts solved."""
    parts = [
        pl.DataFrame({
            "rollout_id": [f"{target}{i:02}" for i in range(len(values))],
            "target": target,
            "attack": target,
            "goal": [f"g{i // 2:02}" for i in range(len(values))],
            "attempt": pl.Series([i % 2 + 1 for i in range(len(values))], dtype=pl.Int32),
            "train_step": 0 if target == "a" else 1,
            "attack_success": pl.Series(values, dtype=pl.Boolean),
            "task_success": [i < 20 for i in range(len(values))],
        })
        for target, values in verdicts.items()
    ]  # fmt: skip
    return pl.concat(parts)


KNOWN = {"a": [True, False] * 6 + [False] * 28, "b": [True, True, False] * 8 + [False] * 16}
HIDDEN = {3, 4, 11, 20, 33}
PART: dict[str, list[bool | None]] = {
    target: [None if i in HIDDEN else value for i, value in enumerate(values)] for target, values in KNOWN.items()
}
VERBS: dict[str, Callable[..., pl.DataFrame]] = {
    "contrast": lambda frame, **options: rw.contrast(
        frame, of="target", baseline="a", metrics="attack_success", **options
    ),
    "attempts": lambda frame, **options: rw.attempts(frame, by="target", stopped=False, k=(1, 2), **options),
    "profile": lambda frame, **options: rw.comparisons.profile(frame, by="target", at=[0.0, 0.5], **options),
    "portfolio": lambda frame, **options: rw.comparisons.portfolio(frame.drop("target"), **options).filter(kind="pair"),
    "tradeoff": lambda frame, **options: rw.comparisons.tradeoff(frame, by="target", **options),
    "training": rw.training,
}


def filled(**value: bool) -> pl.DataFrame:
    """All verdicts, with the hidden ones of each target as given."""
    return arms({
        target: [value[target] if i in HIDDEN else one for i, one in enumerate(values)]
        for target, values in KNOWN.items()
    })  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_holds_the_interval_of_every_extreme(verb: str) -> None:
    """Hidden verdicts as all failures or all successes in either arm: each interval lies within, each row says why."""
    made = VERBS[verb](arms(PART))
    for first, second in ((False, False), (True, True), (False, True), (True, False)):
        world = VERBS[verb](filled(a=first, b=second))
        for row, other in zip(made.rows(named=True), world.rows(named=True), strict=True):
            assert row["low"] <= other["low"] + 1e-12
            assert row["high"] >= other["high"] - 1e-12
            assert "no verdict: the estimate takes the others as representative" in row["reason"]
            if row.get("bound_low") is not None and "estimate" in other:
                assert row["bound_low"] - 1e-12 <= other["estimate"] <= row["bound_high"] + 1e-12
    dropped = VERBS[verb](arms(PART), unjudged="drop")
    if verb != "portfolio":  # counts goals without a known outcome instead
        assert all("left out" in reason for reason in dropped["reason"])
    assert (dropped["high"] - dropped["low"] < made["high"] - made["low"]).all()
    sample = VERBS[verb](arms(PART), unjudged="sample")
    assert sample["low"].to_list() == pytest.approx(dropped["low"].to_list())
    if verb != "portfolio":
        assert all("of those drawn for judging (unjudged='sample')" in reason for reason in sample["reason"])


@pytest.mark.integration
def test_the_same_rollouts_judged_in_part_do_not_differ_from_themselves() -> None:
    """A judge that refuses on the worst answers makes no difference of two equal tables: p is 1, and 0 in the interval."""
    rng = np.random.default_rng(1)
    broken = rng.random((40, 3)) < rng.beta(0.93, 1.4, (40, 1))
    unseen = rng.random(broken.shape) < np.where(broken, 0.4, 0.05)
    verdicts = [None if hidden else bool(one) for hidden, one in zip(unseen.ravel(), broken.ravel(), strict=True)]
    goals = pl.Series([f"g{i // 3:02}" for i in range(120)])
    part = single_turns(verdicts, goal=goals)
    full = single_turns(broken.ravel().tolist(), goal=goals).with_columns(rollout_id="b" + pl.col("rollout_id"))
    both = pl.concat([
        rw.measure(turns, m.attack_success(), m.time_to_success()).with_columns(arm=pl.lit(arm))
        for turns, arm in ((part, "judged in part"), (full, "judged"))
    ])  # fmt: skip
    row = only(rw.contrast(both, of="arm", baseline="judged", metrics="attack_success"))
    assert row["low"] < 0 < row["high"]
    assert row["p_value"] == 1
    assert f"{unseen.sum()} of 240 rollouts have no verdict" in row["reason"]


@pytest.mark.integration
def test_an_undetermined_outcome_is_no_failure_in_the_estimate() -> None:
    """All turns judged as failures and an undetermined outcome: not followed to its end as if it were a failure."""
    turns = rw.turns(
        pl.DataFrame({
            "rollout_id": ["a", "a", "b", "b", "c", "c"],
            "goal": ["a", "a", "b", "b", "c", "c"],
            "turn": [1, 2] * 3,
            "succeeded": [False, True, False, False, False, False],
            "outcome": [None, None, None, None, "undetermined", "undetermined"],
        })
    )  # fmt: skip
    row = only(rw.summarize(rw.measure(turns, m.attack_success(), m.time_to_success()), metrics="attack_success"))
    assert row["estimate"] == pytest.approx(1 / 2)
    assert (row["low"], row["high"]) == pytest.approx((wilson(1, 3)[0], wilson(2, 3)[1]))


@pytest.mark.integration
def test_the_command_takes_a_sample(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`--unjudged sample` is the option of the same name."""
    path = tmp_path / "turns.csv"
    single_turns(HALF).select("rollout_id", "goal", "turn", "succeeded").write_csv(path)
    words = ["summarize", str(path), "--metric", "attack_success", "--unjudged", "sample", "--format", "json"]
    with pytest.raises(SystemExit) as leaving:
        run(words)
    assert not leaving.value.code
    assert "of those drawn for judging (unjudged='sample')" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of_successes", "of_failures", "goals", "rate"),
    [(0.4, 0.05, 40, 0.4), (0.2, 0.02, 100, 0.3), (0.5, 0.05, 100, 0.1), (0.3, 0.3, 40, 0.3), (0.0, 0.4, 40, 0.3)],
)
def test_the_rate_of_single_turns_is_covered(of_successes: float, of_failures: float, goals: int, rate: float) -> None:
    """Whoever is not judged: the true rate is inside at least as often as said, and every row says why it is wide."""
    rng, repetitions, covered = np.random.default_rng(17), repeated(400), 0
    for _ in range(repetitions):
        chances = rng.beta(rate * 7 / 3, (1 - rate) * 7 / 3, (goals, 1))
        broken = (rng.random((goals, 3)) < chances).ravel()
        unseen = rng.random(broken.size) < np.where(broken, of_successes, of_failures)
        frame = pl.DataFrame({
            "rollout_id": np.arange(broken.size).astype(str),
            "goal": np.repeat(np.arange(goals), 3).astype(str),
            "num_turns": 1,
            "num_judged": (~unseen).astype(int),
            "attack_success": pl.select(pl.when(~pl.Series(unseen)).then(pl.Series(broken))).to_series(),
        })  # fmt: skip
        row = only(rw.summarize(frame, metrics="attack_success"))
        covered += row["low"] <= rate <= row["high"]
        assert "no verdict" in row["reason"]
    assert covered / repetitions >= 0.94 - 2 * np.sqrt(0.95 * 0.05 / repetitions)
