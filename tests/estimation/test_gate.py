"""`gate`: passes and fails only on what is known, reads requirements without evaluating them, and no success ever helps."""

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError
from rollwise.estimation.gate_words import verdict
from rollwise.stats.intervals import exact, wilson


def rollouts(successes: Sequence[bool | None], per_goal: int = 1, **columns) -> pl.DataFrame:
    """ROLLOUTS with so many attempts at each goal."""
    n = len(successes)
    return pl.DataFrame(
        {
            "rollout_id": [f"r{i:05}" for i in range(n)],
            "goal": [f"g{i // per_goal:04}" for i in range(n)],
            "attack_success": pl.Series(successes, dtype=pl.Boolean),
        }
    ).with_columns(**columns)


def half_judged(successes: Sequence[bool | None]) -> pl.DataFrame:
    """The same of three turns each, one of which alone is judged where the success is unknown."""
    return rollouts(
        successes,
        num_turns=pl.lit(3, dtype=pl.Int32),
        num_judged=pl.when(pl.col("attack_success").is_null()).then(1).otherwise(3).cast(pl.Int32),
    )


def in_error(successes: Sequence[bool | None]) -> pl.DataFrame:
    """The same, ended in an error where the success is unknown."""
    ended = pl.when(pl.col("attack_success").is_null()).then(pl.lit("error")).otherwise(pl.lit("finished"))
    return rollouts(successes, ending=ended.cast(schema.ENDINGS))


SAFE = rollouts([False] * 500)


ORDER = ("failed", "undecided", "passed")


def only(frame: pl.DataFrame) -> dict:
    """The one row."""
    assert frame.height == 1
    return frame.row(0, named=True)


def passes(frame: pl.DataFrame, requirement: str, **options) -> bool:
    """Whether the one answer is that it passed."""
    return bool(only(rw.gate(frame, requirement, **options))["answer"] == "passed")


def rank(frame: pl.DataFrame, requirement: str) -> int:
    """The place of the one answer in `ORDER`: a higher one is better."""
    return ORDER.index(only(rw.gate(frame, requirement))["answer"])


@pytest.mark.integration
def test_the_bound_decides_not_the_estimate() -> None:
    """0 of 500 is not proof of less than half a per cent: Wilson's upper end is .0076."""
    row = only(rw.gate(SAFE, "attack_success < 0.5%"))
    assert (row["estimate"], row["answer"], row["threshold"]) == (0.0, "undecided", 0.005)
    assert row["pass_bound"] == row["high"] == pytest.approx(0.00763, abs=1e-5)
    assert row["fail_bound"] == row["low"] == 0
    assert passes(SAFE, "attack_success < 0.01")


@pytest.mark.integration
def test_one_more_success_does_not_help() -> None:
    """The note of the trap: clustered, 0 of 500 has the upper end .0747 and 1 of 500 .0351; a 5 % gate passes neither."""
    for successes in ([False] * 500, [True] + [False] * 499):
        row = only(rw.gate(rollouts(successes, per_goal=10), "attack_success < 0.05"))
        assert row["answer"] == "undecided"
        assert row["pass_bound"] == pytest.approx(0.0747, abs=5e-5)
    assert row["high"] == pytest.approx(0.0351, abs=5e-5)
    met = only(rw.gate(rollouts(successes, per_goal=10), "attack_success < 8%"))
    assert (met["answer"], met["reason"]) == (
        "passed", "the upper end with fewer successes, so that one more never helps to pass (of these alone: 0.03507)"
    )  # fmt: skip


@pytest.mark.integration
@given(st.lists(st.booleans(), min_size=4, max_size=60), st.integers(1, 6), st.data())
def test_a_success_more_never_helps(successes: list[bool], per_goal: int, data) -> None:
    """Whichever failure becomes a success, the answer of a gate from above gets no better, nor that of one from below worse."""
    place = data.draw(st.sampled_from(range(len(successes))))
    more = [value or i == place for i, value in enumerate(successes)]
    before, after = (rank(rollouts(values, per_goal), "attack_success < 0.4") for values in (successes, more))
    assert after <= before
    before, after = (rank(rollouts(values, per_goal), "attack_success > 0.4") for values in (successes, more))
    assert after >= before


def test_the_other_side() -> None:
    """A requirement from below looks at the lower end."""
    good = rollouts([True] * 490 + [False] * 10).rename({"attack_success": "task_success"}).with_columns(task="goal")
    row = only(rw.gate(good, "task_success >= 96%"))
    assert (row["answer"], row["pass_bound"], row["fail_bound"]) == (
        "passed",
        pytest.approx(exact(490, 500)[0]),
        pytest.approx(exact(490, 500)[1]),
    )
    assert row["pass_bound"] < row["low"] < row["high"] < row["fail_bound"]
    assert not passes(good, "task_success >= 97%")
    assert only(rw.gate(good, "task_success >= 99.5%"))["answer"] == "failed"


@pytest.mark.integration
def test_every_group_and_every_requirement() -> None:
    """Groups pass or fail for themselves; several requirements are rows of their own."""
    both = pl.concat(
        [
            SAFE.with_columns(target=pl.lit("guarded")),
            rollouts([True, False] * 50, rollout_id=pl.col("rollout_id") + "b", target=pl.lit("base")),
        ]
    )
    got = rw.gate(both, ["attack_success < 0.02", "attack_success <= 100%"], by="target")
    assert got.select("target", "requirement", "answer").rows() == [
        ("base", "attack_success < 0.02", "failed"), ("guarded", "attack_success < 0.02", "passed"),
        ("base", "attack_success <= 100%", "passed"), ("guarded", "attack_success <= 100%", "passed"),
    ]  # fmt: skip
    schema.check(got, schema.GATE)
    assert verdict(got).startswith("'attack_success < 0.02' is not met for target='base': the lower end is 0.398")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (rollouts([]), "no values"),
        (rollouts([None] * 20), "no values"),
        (rollouts([False] * 20, per_goal=20), "one cluster"),
        (half_judged([None] * 20), "20 of 20 rollouts have unjudged turns and no success"),
    ],
    ids=["no rollout", "no value", "one goal", "all partially judged"],
)
def test_what_is_not_known_is_undecided(frame: pl.DataFrame, why: str) -> None:
    """No data, no verdict and no interval neither pass nor fail any requirement, from rollouts and from their SUMMARY."""
    for table in (frame, rw.summarize(frame, metrics="attack_success")):
        for requirement in ("attack_success <= 100%", "attack_success >= 0"):
            row = only(rw.gate(table, requirement))
            assert (row["answer"], row["pass_bound"], row["fail_bound"]) == ("undecided", None, None)
            assert why in row["reason"]
            assert why in verdict(rw.gate(table, requirement))


@pytest.mark.integration
def test_the_sentence_speaks_as_the_requirement_and_the_table_do() -> None:
    """A bound is in per cent where the requirement is, what is independent has its name, and who has no verdict is counted."""
    few = rollouts([False] * 50)
    assert verdict(rw.gate(few, "attack_success > 8%")).endswith(
        "is not met: the upper end is 7.13 % (50 rollouts, 50 goals)"
    )
    assert verdict(rw.gate(few, "attack_success > 0.08")).endswith("the upper end is 0.0713 (50 rollouts, 50 goals)")
    assert verdict(rw.gate(few, "attack_success < 1%")) == (
        "'attack_success < 1%' is undecided: the interval from 0 % to 7.13 % contains 1 % (50 rollouts, 50 goals); "
        "about 331 more goals without a success would decide it"
    )
    unjudged = rw.gate(rollouts([None] * 20), "attack_success < 1%")
    assert verdict(unjudged).endswith(
        "is undecided: no values (0 of 20 rollouts have a verdict); judge or rerun the 20 rollouts"
    )


@pytest.mark.integration
@pytest.mark.parametrize("table", [rollouts, in_error, half_judged], ids=["missing", "in error", "partially judged"])
def test_the_unknown_count_against_a_release(table) -> None:
    """450 judged safe of 1,000 show nothing: with the others as successes the end is the exact one at 550 of 1,000."""
    frame = table([False] * 450 + [None] * 550)
    worst = exact(550, 1000)[1]
    for source in (frame, rw.summarize(frame, metrics="attack_success")):
        gates = rw.gate(source, "attack_success < 0.01")
        row = only(gates)
        assert (row["answer"], row["n"], row["unjudged"]) == ("undecided", 450, "bounds")
        assert row["pass_bound"] == pytest.approx(worst)
        assert row["fail_bound"] == 0
        # A SUMMARY at the bounds does not say what the rollouts with a verdict show alone.
        at_the_bounds = source is not frame and row["method"].endswith("at the bounds")
        alone = "" if at_the_bounds else ": those with a verdict alone would pass"
        assert verdict(gates).startswith(
            "'attack_success < 0.01' is undecided: the interval from 0 to 0.581 contains 0.01 (450 of 1,000 rollouts have a "
            f"verdict); judge or rerun the other 550 rollouts{alone}"
        )
        met = rw.gate(source, "attack_success <= 0.6")
        assert met["answer"].item() == "passed"
        assert verdict(met) == "'attack_success <= 0.6' is met (450 of 1,000 rollouts have a verdict)"


@pytest.mark.integration
def test_the_unknown_count_against_either_side() -> None:
    """What must be high has them as failures; and a few unknown ones cost no more than as many successes would."""
    good = rollouts([True] * 490 + [None] * 10)
    row = only(rw.gate(good, "attack_success >= 96%"))
    assert (row["answer"], row["pass_bound"]) == ("passed", pytest.approx(exact(490, 500)[0]))
    assert not passes(good, "attack_success >= 97%")
    for source in (rollouts([False] * 499 + [None]), rollouts([False] * 499 + [True])):
        assert only(rw.gate(source, "attack_success < 2%"))["pass_bound"] == pytest.approx(
            max(end(1, 500)[1] or 0.0 for end in (exact, wilson))
        )


@pytest.mark.integration
def test_the_unknown_are_left_out_by_name_alone() -> None:
    """Who says so gets the interval of the rest, and the sentence says of how many."""
    for table in (rollouts, in_error, half_judged):
        frame = table([False] * 450 + [None] * 550)
        gates = rw.gate(frame, "attack_success < 0.01", unjudged="drop")
        row = only(gates)
        assert (row["answer"], row["unjudged"]) == ("passed", "drop")
        assert row["pass_bound"] == pytest.approx(wilson(0, 450)[1])
        assert verdict(gates) == "'attack_success < 0.01' is met (450 of 1,000 rollouts have a verdict)"
    with pytest.raises(ArgumentError, match="unjudged='ignore' is unknown; it is"):
        rw.gate(SAFE, "attack_success < 0.01", unjudged="ignore")  # type: ignore[arg-type]


@pytest.mark.integration
def test_the_unknown_of_a_number_have_no_worst_case() -> None:
    """Nothing bounds a number that nobody knows, so that it is undecided, unless these are left out; turns are always known."""
    frame = SAFE.with_columns(harm=pl.when(pl.int_range(pl.len()) > 0).then(pl.int_range(pl.len()) % 7 / 100))
    for source in (frame, rw.summarize(frame, metrics="harm")):
        row = only(rw.gate(source, "harm < 0.9"))
        assert (row["answer"], row["pass_bound"]) == ("undecided", None)
        assert row["reason"].startswith("nothing bounds what the rollouts without a verdict would be")
        assert passes(source, "harm < 0.9", unjudged="drop")


@pytest.mark.integration
@given(st.lists(st.sampled_from([True, False, None]), min_size=4, max_size=60), st.integers(1, 6), st.data())
def test_less_knowledge_never_decides(values: list, per_goal: int, data) -> None:
    """Whichever verdict is lost, the answer stays or becomes undecided, from above and from below."""
    place = data.draw(st.sampled_from(range(len(values))))
    less = [None if i == place else value for i, value in enumerate(values)]
    for requirement in ("attack_success < 0.6", "attack_success > 0.3"):
        before, after = (only(rw.gate(rollouts(known, per_goal), requirement)) for known in (values, less))
        assert after["answer"] in {before["answer"], "undecided"}


@pytest.mark.integration
@given(
    values=st.lists(st.sampled_from([True, False, None]), min_size=2, max_size=24),
    goals=st.lists(st.integers(0, 5), min_size=24, max_size=24),
    requirement=st.sampled_from(["attack_success < 0.3", "attack_success >= 0.3"]),
)
def test_goals_without_a_verdict_do_not_help(values: list, goals: list[int], requirement: str) -> None:
    """Whatever goals the unknown belong to: a bound with them is no nearer than one without, though more goals tell more."""
    table = rollouts(values).with_columns(goal=pl.Series([f"g{goal}" for goal in goals[: len(values)]]))
    alone, all_of_them = (only(rw.gate(table, requirement, unjudged=how)) for how in ("drop", "bounds"))
    if alone["pass_bound"] is None:
        assert all_of_them["answer"] == "undecided"
    elif all_of_them["pass_bound"] is not None:
        further = [all_of_them[end] - alone[end] for end in ("pass_bound", "fail_bound")]
        assert (further if "<" in requirement else further[::-1])[0] >= -1e-12
        assert (further if "<" in requirement else further[::-1])[1] <= 1e-12


@pytest.mark.integration
def test_a_goal_without_a_verdict_lent_its_degree_of_freedom() -> None:
    """Three successes over two goals say less than .04 of the rate; a fourth rollout, in error, made it .065."""
    table = rollouts([True, True, True, None]).with_columns(goal=pl.Series(["b", "a", "b", "c"]))
    bounds = [only(rw.gate(table, "attack_success > 4%", unjudged=how))["pass_bound"] for how in ("drop", "bounds")]
    assert bounds == pytest.approx([0.011026, 0.011026], abs=1e-6)


def test_no_group_is_no_pass() -> None:
    """A table without rows has no groups either; it is undecided in a row of its own."""
    for table in (SAFE[:0], rw.summarize(SAFE, by="goal")[:0]):
        row = only(rw.gate(table, "attack_success < 1%", by="goal"))
        assert (row["answer"], row["reason"]) == ("undecided", "no data: the table has no rollouts")


@pytest.mark.integration
def test_an_extreme_has_no_bound() -> None:
    """The largest value seen says nothing of the largest to come: no interval, no pass."""
    frame = SAFE.with_columns(harm=pl.lit(0.1))
    assert only(rw.gate(frame, "max(harm) < 0.5"))["answer"] == "undecided"


@pytest.mark.integration
def test_other_statistics() -> None:
    """A statistic is named around the metric; the median has its own interval."""
    frame = SAFE.with_columns(num_turns=pl.int_range(500).mod(50).add(1).cast(pl.Int32))
    assert passes(frame, "median(num_turns) >= 20")
    assert not passes(frame, "median( num_turns ) > 25")
    assert only(rw.gate(frame, "num_turns<27.5"))["statistic"] == "mean"


def test_a_summary_is_gated_as_it_is_grouped() -> None:
    """From a SUMMARY the same verdict, with the bound of none in as many goals where that is further out."""
    clustered = rollouts([True] + [False] * 499, per_goal=10, target=pl.lit("t"))
    row = only(rw.gate(rw.summarize(clustered, by="target"), "attack_success < 0.05"))
    assert (row["target"], row["answer"]) == ("t", "undecided")
    assert row["pass_bound"] == pytest.approx(0.0747, abs=5e-5)
    with pytest.raises(ArgumentError, match="not grouped by 'attack'"):
        rw.gate(rw.summarize(clustered, by="target"), "attack_success < 0.05", by="attack")
    with pytest.raises(ArgumentError, match=r"no level 0.99; it has 0.95"):
        rw.gate(rw.summarize(clustered, by="target"), "attack_success < 0.05", level=0.99)
    with pytest.raises(ArgumentError, match="names no metric of this SUMMARY; available: attack_success"):
        rw.gate(rw.summarize(clustered), "harm < 0.05")
    with pytest.raises(ArgumentError, match="has no q90 of"):
        rw.gate(rw.summarize(clustered), "q90(attack_success) < 0.05")


def test_a_summary_needs_no_optional_column() -> None:
    """Its required columns are enough: the bound is the end that they give."""
    whole = rw.summarize(SAFE.with_columns(target=pl.lit("t")), by="target", metrics="attack_success")
    bare = whole.select("target", *schema.SUMMARY.required)
    gates = rw.gate(bare, ["attack_success < 2%", "attack_success < 0.1%"])
    assert gates.select("target", "answer", "pass_bound").rows() == [
        ("t", "passed", whole["high"].item()), ("t", "undecided", whole["high"].item())
    ]  # fmt: skip
    schema.check(gates, schema.GATE)
    assert "for target='t': the interval from 0 % to 0.762 % contains 0.1 % (500 rollouts)" in verdict(gates)
    counted = bare.with_columns(n_error=pl.lit(7))
    assert "500 of 507 rollouts have a verdict" in only(rw.gate(counted, "attack_success < 0.9"))["reason"]


def test_a_contrast_is_no_summary() -> None:
    """Differences are of two groups; what each does is in a SUMMARY."""
    both = SAFE.with_columns(target=pl.when(pl.int_range(500) < 250).then(pl.lit("a")).otherwise(pl.lit("b")))
    with pytest.raises(SchemaError, match="this is a CONTRAST"):
        rw.gate(rw.contrast(both, of="target", baseline="a", metrics="attack_success"), "attack_success < 0.1")


@pytest.mark.parametrize(
    "words",
    ["", "attack_success", "attack_success < ", "attack_success == 0", "attack_success < nan", "attack_success < inf",
     "attack_success < 0.01 and harm < 1", "0.01 > attack_success", "attack_success < 1e", "attack_success < __import__('os')"],
)  # fmt: skip
def test_what_is_no_requirement_is_refused(words: str) -> None:
    """Nothing is evaluated: what does not read as metric, comparison, number is one sentence."""
    with pytest.raises(ArgumentError, match=r"is not a requirement|names no metric"):
        rw.gate(SAFE, words)


@pytest.mark.integration
@pytest.mark.parametrize(
    "words", ["attack_success < 10", "attack_success >= 5", "attack_success > -0.1", "mean(attack_success) < 150%"]
)
def test_a_bound_that_no_share_can_miss_is_refused(words: str) -> None:
    """Ten is not ten per cent: every share would pass. So of rollouts, and of a SUMMARY; other numbers may be anything."""
    for frame in (SAFE, rw.summarize(SAFE, metrics="attack_success")):
        with pytest.raises(ArgumentError, match="lies between 0 and 1"):
            rw.gate(frame, words)
    turns = SAFE.with_columns(num_turns=pl.int_range(pl.len()) % 7)
    assert passes(turns, "num_turns < 10")


def test_bad_usage() -> None:
    """A metric that is not there, nothing required, and a table that is something else."""
    with pytest.raises(ArgumentError, match="names no metric of this table; available: attack_success"):
        rw.gate(SAFE, "attack_sucess < 0.1")
    with pytest.raises(ArgumentError, match="no requirement is given"):
        rw.gate(SAFE, [])
    with pytest.raises(SchemaError, match="rollout_id"):
        rw.gate(SAFE.drop("rollout_id"), "attack_success < 0.1")
    with pytest.raises(ArgumentError, match="level=95"):
        rw.gate(SAFE, "attack_success < 0.1", level=95)
