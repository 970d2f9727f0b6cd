"""Groups that different judges decided on are not compared as if one judge had: the verbs refuse it, and training says it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError

ARMS = rw.measure(rw.simulate(goals=12, targets={"a": 0.4, "b": 0.1}, attacks=["p", "q"], seed=1)[0])
BASE: dict[str, Any] = {"of": "target", "baseline": "a"}
COMPARISONS: dict[str, Callable[..., pl.DataFrame]] = {
    "contrast": lambda frame, **options: rw.contrast(frame, metrics="attack_success", **BASE, **options),
    "rank": lambda frame, **options: rw.rank(frame, of="target", metric="attack_success", **options),
    "changes": lambda frame, **options: rw.changes(frame, group="b", metric="attack_success", **BASE, **options),
    "curve_test": lambda frame, **options: rw.comparisons.curve_test(frame, **BASE, **options),
    "curve_difference": lambda frame, **options: rw.comparisons.curve_difference(frame, **BASE, **options),
    "portfolio": lambda frame, **options: rw.comparisons.portfolio(frame, members="target", **options),
}
OF_TARGET = pl.col("target").replace_strict({"a": "gpt", "b": "guard"}, return_dtype=pl.String)
OF_ATTACK = pl.col("attack").cast(pl.String).replace_strict({"p": "gpt", "q": "guard"}, return_dtype=pl.String)


@pytest.mark.integration
@pytest.mark.parametrize("verb", COMPARISONS)
def test_verbs_refuse_groups_of_different_judges(verb: str) -> None:
    """Unless forced; one judge, the same two judges of both, and a group that names nobody are compared as before."""
    compare = COMPARISONS[verb]
    plain = compare(ARMS)
    apart = ARMS.with_columns(judge=OF_TARGET)
    with pytest.raises(ArgumentError, match=r"`judge` is gu?[pa]\w+ for '[ab]' but gu?[pa]\w+ for '[ab]'.*force=True"):
        compare(apart)
    assert compare(apart, force=True).equals(plain)
    for judge in (pl.lit("gpt"), OF_ATTACK, OF_TARGET.replace({"guard": None})):
        assert compare(ARMS.with_columns(judge=judge)).equals(plain)


@pytest.mark.integration
@pytest.mark.parametrize("verb", sorted(COMPARISONS.keys() - {"rank"}))
def test_judges_may_differ_between_the_groups_that_are_not_compared(verb: str) -> None:
    """Each attack has a judge of its own, and targets are compared within each attack."""
    compare = COMPARISONS[verb]
    judged = ARMS.with_columns(judge=OF_ATTACK)
    assert compare(judged, by="attack").equals(compare(ARMS, by="attack"))
    mixed = judged.with_columns(judge=pl.when(target="b", attack="q").then(pl.lit("mini")).otherwise("judge"))
    with pytest.raises(ArgumentError, match="mini"):
        compare(mixed, by="attack")


def steps(**judges: str | None) -> pl.DataFrame:
    """Rollouts of 24 tasks at steps 10, 20, and so on, whose rate rises, each step with its judge."""
    rows = [
        (f"{name}/{task}", f"t{task}", 10 * place, judge, task < 4 * place)
        for place, (name, judge) in enumerate(judges.items(), 1)
        for task in range(24)
    ]
    names = ["rollout_id", "task", "train_step", "judge", "task_success"]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def test_training_says_where_the_judge_changed_instead_of_a_change() -> None:
    """The rates stay; the change from the step before is null with who judged both, unless it is asked for."""
    rollouts = steps(a="gpt", b="gpt", c="guard", d="guard", e=None)
    found = rw.training(rollouts, metric="task_success")
    plain = rw.training(rollouts.drop("judge"), metric="task_success")
    assert found["estimate"].equals(plain["estimate"])
    assert found["difference"].is_null().to_list() == [True, False, True, False, True]
    assert found["reason"].to_list()[2] == "not compared with the step before: `judge` was gpt and is guard"
    assert found["reason"].to_list()[4] == "not compared with the step before: `judge` was guard and is not named"
    assert rw.training(rollouts, metric="task_success", force=True).equals(plain)
    # One judge, whom some steps do not name.
    assert rw.training(steps(a="gpt", b=None, c="gpt"), metric="task_success")["difference"].null_count() == 1
    # Who judged what is not compared does not matter: runs of one policy, judged by one judge each.
    runs = pl.concat(
        [steps(a="gpt", b="gpt"), steps(a="guard", b="guard").with_columns(rollout_id="r" + pl.col("rollout_id"))]
    )
    runs = runs.with_columns(run="judge")
    assert rw.training(runs, metric="task_success", by="run")["difference"].null_count() == 2


@pytest.mark.integration
def test_a_line_is_interrupted_where_the_judge_changes() -> None:
    """The eye would follow it over the change; the caption says why."""
    found = rw.training(steps(a="gpt", b="gpt", c="guard", d="guard"), metric="task_success")
    marks = rw.plots.marks.training(found)
    assert marks.select("at", pl.col("estimate").is_null()).rows() == [
        (10.0, False), (20.0, False), (30.0, True), (30.0, False), (40.0, False),
    ]  # fmt: skip
    drawn = rw.plots.training(found)
    lines = [np.asarray(line.get_ydata(), dtype=np.float64) for line in drawn.axes[0].lines]
    (heights,) = (heights for heights in lines if heights.size > 2)
    assert np.isnan(heights).tolist() == [False, False, True, False, False]
    assert "`judge` was gpt and is guard" in drawn.caption


@pytest.mark.integration
def test_doctor_offers_no_comparison_that_is_refused() -> None:
    """Of curves as of rates; each call that it offers for the same judge runs."""
    turns = rw.simulate(goals=12, targets={"a": 0.4, "b": 0.1}, attacks=["p"], seed=1)[0]
    names = [
        "difference of rates, paired by goal",
        "difference of two curves",
        "log-rank test and difference of mean turns",
    ]
    for judge, valid in ((OF_TARGET, False), (pl.lit("gpt"), True)):
        judged = turns.with_columns(judge=judge)
        rows = rw.doctor(judged).filter(pl.col("analysis").is_in(names))
        assert rows["valid"].to_list() == [valid] * 3
        for call in rows["call"].drop_nulls():
            assert eval(call, {"rw": rw, "m": rw.metrics, "turns": judged}).height
    assert rows.height == 3
