"""`training`: rates by step over goals, paired changes, and the groups that teach nothing."""

import re
from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from simulations import repeated

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError


def run(won: dict[int, list[list]], metric: str = "attack_success", **columns) -> pl.DataFrame:
    """ROLLOUTS by step: for each goal its attempts."""
    rows = [
        (f"{step}-{goal}-{n}", step, f"g{goal}", value)
        for step, goals in won.items()
        for goal, values in enumerate(goals)
        for n, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema=["rollout_id", "train_step", "goal", metric], orient="row").with_columns(**columns)


TWO = {
    100: [[True, True], [False, False], [True, False], [False, False]],
    20: [[False, False], [False, False], [True, True], [False, True]],
}


@pytest.mark.integration
def test_by_hand() -> None:
    """Steps in numeric order; goals change by 1, 0, -1/2, -1/2; a quarter of the groups is all success, a half all fail."""
    got = rw.training(run(TWO))
    assert got["step"].to_list() == [20, 100]
    assert got["estimate"].to_list() == pytest.approx([3 / 8, 3 / 8])
    change = np.array([1, 0, -0.5, -0.5])
    oracle = scipy_stats.ttest_1samp(change, 0).confidence_interval(0.8)
    sharp, row = rw.training(run(TWO), level=0.8).row(1, named=True), got.row(1, named=True)
    assert (row["difference"], row["n_pairs"]) == (pytest.approx(0.0), 4)
    assert (sharp["difference_low"], sharp["difference_high"]) == pytest.approx((oracle.low, oracle.high))
    assert (row["difference_low"], row["difference_high"]) == (-1, 1)  # where that of 95 % would end at 1.1
    assert (row["groups"], row["all_success"], row["all_fail"]) == (4, 0.25, 0.5)
    assert got.row(0, named=True)["difference"] is None
    schema.check(got, schema.TRAINING)


@pytest.mark.integration
def test_the_band_is_that_of_the_summary() -> None:
    """Estimate, interval, counts are those of `summarize` by step: goals are the unit, not rollouts."""
    rng = np.random.default_rng(0)
    frame = run({step: (rng.random((20, 4)) < rng.beta(0.5, 1, 20)[:, None]).tolist() for step in (0, 10, 20)})
    names = ["estimate", "std_error", "low", "high", "n", "n_clusters", "method"]
    summary = rw.summarize(frame, by="train_step", metrics="attack_success")
    assert rw.training(frame).select(names).equals(summary.select(names))


@pytest.mark.integration
def test_goals_are_paired() -> None:
    """Goals that differ much and all gain a little: the paired change is far sharper than two rates."""
    rng = np.random.default_rng(1)
    rate = rng.beta(0.3, 0.3, 40)
    frame = run({s: (rng.random((40, 20)) < np.clip(rate + 0.1 * s, 0, 1)[:, None]).tolist() for s in (0, 1)})
    row = rw.training(frame).row(1, named=True)
    assert row["difference_low"] > 0
    assert row["difference_high"] - row["difference_low"] < (row["high"] - row["low"]) / 3


def test_no_change_is_no_point() -> None:
    """Nothing succeeded at either step: no change, but an interval from the two zero counts."""
    row = rw.training(run({s: [[False, False]] * 10 for s in (0, 1)})).row(1, named=True)
    assert row["difference"] == 0.0
    assert row["difference_low"] == -row["difference_high"] < -0.1
    assert row["all_fail"] == 1.0


def test_no_change_is_larger_than_one() -> None:
    """Seven goals of eight went from never to always: the change is .875, and no more than 1."""
    row = rw.training(run({0: [[False] * 3] * 8, 1: [[True] * 3] * 7 + [[False] * 3]})).row(1, named=True)
    assert row["difference"] == 0.875
    assert 0.5 < row["difference_low"] < row["difference"] < row["difference_high"] == 1.0


def test_what_is_not_there_is_said() -> None:
    """Goals of one step only are no pairs, single attempts no groups, rollouts without a step are counted."""
    other = run({0: [[True], [False]]}), run({1: [[True], [False]]}, goal=pl.col("goal") + "x")
    frame = pl.concat(
        [*other, run({2: [[True]]}, rollout_id=pl.lit("n")).with_columns(train_step=pl.lit(None, dtype=pl.Int64))]
    )
    row = rw.training(frame).row(1, named=True)
    assert (row["difference"], row["n_pairs"], row["groups"], row["all_success"]) == (None, 0, 0, None)
    assert "no goal in common with the step before" in row["reason"]
    assert "1 rollout without a step" in row["estimand"]


@pytest.mark.integration
def test_unjudged_turns_widen_the_change() -> None:
    """Where a step has rollouts with unjudged turns, the change next to it covers both outcomes of each."""
    frame = run(TWO).with_columns(num_turns=pl.lit(2, dtype=pl.Int32), num_judged=pl.lit(2, dtype=pl.Int32))
    half = pl.col("rollout_id") == "100-3-1"
    frame = frame.with_columns(
        attack_success=pl.when(~half).then("attack_success"),
        num_judged=pl.when(half).then(1).otherwise("num_judged").cast(pl.Int32),
    )
    row = rw.training(frame).row(1, named=True)
    for fill in (False, True):
        settled = frame.with_columns(pl.col("attack_success").fill_null(fill), num_judged="num_turns")
        known = rw.training(settled).row(1, named=True)
        assert row["difference_low"] <= known["difference_low"] < known["difference_high"] <= row["difference_high"]
    assert row["difference_low"] < row["difference"] < row["difference_high"]
    assert "1 of 8 rollouts has unjudged turns and no success" in row["reason"]
    dropped = rw.training(frame, unjudged="drop").row(1, named=True)
    assert "they are left out" in dropped["reason"]
    assert (row["n"], row["n_undetermined"], dropped["n"]) == (7, 1, 7)


def test_a_reward_has_changes_and_no_groups() -> None:
    """A number has a mean and paired changes; groups alike are for 0/1."""
    row = rw.training(
        run({0: [[1.0, 2.0], [0.0, 1.0]], 1: [[2.0, 3.5], [1.0, 1.5]]}, metric="reward"), metric="reward"
    )[1]
    assert row["difference"].item() == pytest.approx((1.25 + 0.75) / 2)
    assert row["all_success"].item() is None


@pytest.mark.integration
def test_groups_and_levels() -> None:
    """Another group changes no row; levels are rows of their own."""
    both = pl.concat(
        [
            run(TWO, target=pl.lit("a")),
            run({20: [[True]] * 3}, target=pl.lit("b"), rollout_id=pl.col("rollout_id") + "b"),
        ]
    )
    got = rw.training(both, by="target", level=(0.5, 0.95))
    assert got.filter(target="a").equals(rw.training(run(TWO, target=pl.lit("a")), by="target", level=(0.5, 0.95)))
    assert got.filter(target="b").height == 2
    schema.check(got, schema.TRAINING)


@pytest.mark.integration
@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 4), st.sampled_from([True, False, None])), min_size=1, max_size=40
    ),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.booleans()), max_size=10),
    st.randoms(),
)
def test_every_group_is_alike_or_mixed(rows: list, others: list, random: Random) -> None:
    """All success, all fail and mixed, counted by hand, add up to 1; another target and the order of rows change nothing."""
    schema_ = {"train_step": pl.Int64, "goal": pl.String, "attack_success": pl.Boolean}
    own, other = (
        pl.DataFrame([(step, f"g{goal}", won) for step, goal, won in each], schema=schema_, orient="row").with_columns(
            target=pl.lit(name), rollout_id=pl.format("{}{}", pl.lit(name), pl.int_range(pl.len()))
        )
        for name, each in (("a", rows), ("b", others))
    )
    alone = rw.training(own, by="target")
    both = pl.concat([own, other])
    order = list(range(both.height))
    random.shuffle(order)
    for frame in (both, both[order]):
        assert rw.training(frame, by="target").filter(target="a").equals(alone)
    assert alone["step"].to_list() == sorted({step for step, _, _ in rows})
    for row in alone.rows(named=True):
        tried: dict[int, list[bool]] = {}
        for step, goal, won in rows:
            if step == row["step"] and won is not None:
                tried.setdefault(goal, []).append(won)
        several = [won for won in tried.values() if len(won) >= 2]
        assert row["groups"] == len(several)
        if not several:
            assert (row["all_success"], row["all_fail"]) == (None, None)
            continue
        mixed = sum(any(won) and not all(won) for won in several) / len(several)
        assert row["all_success"] == pytest.approx(sum(all(won) for won in several) / len(several))
        assert row["all_success"] + row["all_fail"] + mixed == pytest.approx(1)


def test_a_step_that_is_no_number() -> None:
    """The step must be a numeric column that came along."""
    with pytest.raises(ArgumentError, match="step='step' is not a numeric column outside `by`; available: train_step"):
        rw.training(run(TWO), step="step")
    with pytest.raises(ArgumentError, match="step='goal'"):
        rw.training(run(TWO), step="goal")


@pytest.mark.slow
@pytest.mark.parametrize("gain", [0.0, 0.08])
def test_the_paired_change_covers(gain: float) -> None:
    """Thirty goals of four attempts whose chances rise by so much: the interval of the change holds it as often as said."""
    rng, repetitions, hits = np.random.default_rng(5), repeated(400), 0
    for _ in range(repetitions):
        rate = rng.beta(1, 2, 30) * (1 - gain)
        frame = run({s: (rng.random((30, 4)) < (rate + gain * s)[:, None]).tolist() for s in (0, 1)})
        row = rw.training(frame).row(1, named=True)
        hits += row["difference_low"] <= gain <= row["difference_high"]
    assert hits / repetitions >= 0.95 - 2 * (0.95 * 0.05 / repetitions) ** 0.5


@pytest.mark.integration
@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64])
def test_without_a_step_there_is_nothing_to_show(dtype) -> None:
    """An empty table, and one whose steps are null or NaN throughout, make an empty TRAINING, with the groups' columns."""
    frame = run(TWO, target=pl.lit("a"), train_step=pl.col("train_step").cast(dtype))
    nothing = frame.with_columns(train_step=pl.lit(None, dtype=dtype))
    nan = frame.with_columns(train_step=pl.lit(float("nan")))
    for empty in (frame.clear(), nothing, nan):
        got = rw.training(empty, by="target", level=(0.5, 0.95))
        assert got.height == 0
        assert got.schema == rw.training(frame, by="target").schema


@pytest.mark.integration
def test_a_step_that_is_nan_is_no_step() -> None:
    """Counted with those without one."""
    frame = run(TWO, train_step=pl.col("train_step").cast(pl.Float64))
    lost = frame.with_columns(train_step=pl.when(pl.int_range(pl.len()) > 0).then("train_step").otherwise(float("nan")))
    null = lost.with_columns(pl.col("train_step").fill_nan(None))
    assert rw.training(lost).equals(rw.training(null))
    assert rw.training(lost)["estimand"].str.ends_with("; 1 rollout without a step").all()


def test_a_cluster_that_is_not_there_is_told_without_our_own_names() -> None:
    """The sentence lists the columns of the table."""
    with pytest.raises(ArgumentError, match="cluster='gaol': there is no such column") as told:
        rw.training(run(TWO), cluster="gaol")
    assert "\0" not in str(told.value)
    assert "goal" in str(told.value)
    with pytest.raises(ArgumentError, match=r"cluster='goal'.*train_step") as told:
        rw.training(run(TWO).rename({"goal": "task"}), cluster="goal")
    assert "\0" not in str(told.value)


def rewards() -> pl.DataFrame:
    """ROLLOUTS with a reward, under names that are not the defaults."""
    steps = run(TWO).rename({"train_step": "step"})
    return steps.select("rollout_id", "step", "goal", total_reward=pl.lit(1.5), num_turns=pl.lit(3))


def test_one_error_names_metric_and_step_and_what_it_prints_works() -> None:
    """Two numbers may be meant, and two steps: one sentence, whose call is made."""
    frame = rewards().with_columns(harm=pl.lit(0.5), epoch=pl.col("step"))
    with pytest.raises(ArgumentError) as told:
        rw.training(frame)
    assert str(told.value) == (
        "training: there is no metric 'attack_success' and step='train_step' is not a numeric column outside `by`; available: "
        "epoch, harm, num_turns, step, total_reward; write `rw.training(rollouts, metric='total_reward', step='step')`"
    )
    call = str(told.value).split("`")[-2]
    assert eval(call, {"rw": rw, "rollouts": frame})["metric"].unique().to_list() == ["total_reward"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metric": "reward"}, "metric='total_reward', step='step'"),
        ({"step": "steps"}, "metric='total_reward', step='step'"),
        ({"metric": "reward", "step": "steps"}, "metric='total_reward', step='step'"),
        ({"metric": "reward_total", "step": "step"}, "metric='total_reward', step='step'"),
    ],
)
def test_one_wrong_name_keeps_the_other(options: dict, said: str) -> None:
    """What was right stays as it was typed."""
    with pytest.raises(ArgumentError, match=re.escape(said)):
        rw.training(rewards(), **options)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("change", "metric", "said"),
    [
        ({}, "total_reward", "step='step' and metric='total_reward'"),
        ({"attack_success": pl.lit(None, pl.Boolean), "task_success": pl.lit(True)}, "task_success",
         "step='step' and metric='task_success'"),
        ({"attack_success": pl.lit(True), "task_success": pl.lit(True)}, "attack_success", "step='step'"),
        ({"cheated": pl.lit(True)}, "cheated", "step='step' and metric='cheated'"),
        ({"train_step": pl.col("step") + 10}, "total_reward", "metric='total_reward'"),
        ({"attack_success": pl.lit(True), "train_step": pl.col("step")}, "attack_success", None),
    ],
)  # fmt: skip
def test_what_is_there_is_taken(
    change: dict[str, pl.Expr], metric: str, said: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """`rw.training(rollouts)` ended in two errors in a row, over names that the table left no doubt about."""
    frame = rewards().with_columns(**change)
    found = rw.training(frame)
    assert found["metric"].unique().to_list() == [metric]
    assert found["step"].unique().sort().to_list() == (
        [30.0, 110.0] if said == "metric='total_reward'" else [20.0, 100.0]
    )
    assert capsys.readouterr().err == ("" if said is None else f"rollwise: training: took {said}\n")
    step = "train_step" if "train_step" in frame.columns else "step"
    assert found.equals(rw.training(frame, metric=metric, step=step))


@pytest.mark.integration
@pytest.mark.parametrize("by", ["step", "epoch"])
def test_a_summary_by_step_is_refused_with_what_to_type(by: str) -> None:
    """It was drawn as a panel for each step, of one point each."""
    frame = rewards().rename({"step": by})
    with pytest.raises(ArgumentError) as told:
        rw.plots.training(rw.summarize(frame, by=by, metrics="total_reward", statistics="mean"))
    assert str(told.value) == (
        f"training: this is a SUMMARY frame; `rw.training(rollouts, metric='total_reward', step='{by}')` of the same rollouts "
        "makes the one that is drawn here"
    )
    call = str(told.value).split("`")[1]
    assert len(rw.plots.training(eval(call, {"rw": rw, "rollouts": frame})).axes) == 1


def test_without_any_step_the_way_to_carry_one_along_is_said() -> None:
    """`measure` keeps no number by itself; the rate that is there is named."""
    frame = run(TWO).drop("train_step")
    with pytest.raises(ArgumentError) as told:
        rw.training(frame)
    assert str(told.value).endswith(
        "carry your column along, `rw.measure(turns, ..., keep='my_step')`, "
        "then write `rw.training(rollouts, metric='attack_success', step='my_step')`"
    )


def test_a_column_of_steps_is_not_renamed() -> None:
    """TURNS has no such column: it keeps its name, which `training` takes."""
    with pytest.raises(
        ArgumentError, match=re.escape("a column of steps keeps its name: `rw.training(rollouts, ..., step='it')`")
    ):
        rw.turns(pl.DataFrame({"rollout_id": ["a"], "response": ["x"], "it": [1]}), names={"train_step": "it"})
