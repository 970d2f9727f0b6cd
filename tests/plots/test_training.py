# mypy: disable-error-code="arg-type"
"""A rate or a score over the steps of training."""

import numpy as np
import polars as pl
import pytest

import rollwise as rw
from rollwise import plots, schema
from rollwise.errors import ArgumentError
from rollwise.plots.curve_marks import MARKS
from rollwise.schema import labels


def course(
    values: list[float | None], *, steps: list[float] | None = None, metric: str = "attack_success", n: int = 40
) -> pl.DataFrame:
    """TRAINING at steps 0, 50, 100, ..."""
    rows = [
        {"target": "a", "metric": metric, "step": step, "level": 0.95, "estimate": value, "n": n, "method": "Wilson"}
        | {"low": None if value is None else value - 0.2, "high": None if value is None else value + 0.2}
        | {"n_clusters": 8, "estimand": "unit: goal"}
        for step, value in zip(steps or [50.0 * place for place in range(len(values))], values, strict=True)
    ]
    return pl.DataFrame(rows, schema={"target": pl.String, **schema.TRAINING.dtypes}, orient="row")


def test_marks_are_a_line_in_a_band():
    """One mark for each step, ends of rates within [0, 1]."""
    marks = plots.marks.training(course([0.1, 0.5, 0.9]))
    assert marks.schema == pl.Schema(MARKS)
    assert marks["style"].unique().to_list() == ["line"]
    assert marks.select("at", "low", "high").rows() == [
        (0.0, 0.0, pytest.approx(0.3)),
        (50.0, pytest.approx(0.3), pytest.approx(0.7)),
        (100.0, pytest.approx(0.7), 1.0),
    ]


@pytest.mark.integration
def test_a_reward_is_no_share():
    """Negative and beyond 1, with an axis of numbers."""
    frame = course([-3.0, 0.0, 5.0], metric="total_reward")
    assert plots.marks.training(frame)["low"].to_list() == [-3.2, -0.2, 4.8]
    (ax,) = plots.training(frame).axes
    assert ax.get_ylim()[0] < -3.2
    ax.figure.canvas.draw()
    assert not any("%" in tick.get_text() for tick in ax.get_yticklabels())


@pytest.mark.integration
def test_steps_are_on_a_plain_axis_with_ticks_where_something_was_measured():
    """Steps over three decades are no decades; a thousand steps have round ticks among them."""
    (ax,) = plots.training(course([0.1, 0.2, 0.3], steps=[1.0, 10.0, 1000.0])).axes
    assert ax.get_xscale() == "linear"
    (ax,) = plots.training(course([0.5] * 1000, steps=[float(step) for step in range(1, 1001)])).axes
    assert list(ax.get_xticks()) == list(range(100, 1001, 100))
    (table,) = ax.child_axes
    assert [text.get_text() for text in table.texts if text.get_text() == "40"] == ["40"] * 10
    assert len(ax.lines) < 10


@pytest.mark.integration
def test_an_unknown_step_is_a_gap_and_a_lone_one_has_a_whisker():
    """A band needs two neighbors."""
    (ax,) = plots.training(course([0.3, None, 0.5, None, 0.2, 0.3])).axes
    (line,) = [line for line in ax.lines if len(line.get_xdata()) == 6]
    assert np.isnan(line.get_ydata()).tolist() == [False, True, False, True, False, False]
    whiskers = [list(line.get_xdata()) for line in ax.lines if list(line.get_xdata())[:1] * 2 == list(line.get_xdata())]
    assert sorted(whiskers) == [[0.0, 0.0], [100.0, 100.0]]


@pytest.mark.integration
def test_few_rollouts_are_hollow():
    """And the caption says so, and what stands behind each step."""
    words = " ".join(plots.training(course([0.3, 0.4], n=5)).figure.get_supxlabel().split())
    assert "n = 5 rollouts in 8 goals per step" in words
    assert "Hollow: fewer than 10 rollouts." in words
    assert plots.marks.training(course([0.3], n=5))["solid"].to_list() == [False]


@pytest.mark.integration
def test_several_metrics_are_panels():
    """Each with an axis of its own."""
    both = pl.concat([course([0.1, 0.3]), course([-2.0, 4.0], metric="total_reward")])
    axes = plots.training(both).axes
    assert [ax.get_ylabel() for ax in axes] == ["attack success", "mean total reward"]
    assert axes[0].get_ylim() != axes[1].get_ylim()


def test_other_frames_are_refused(curve_of):
    """One sentence that says how to make one."""
    with pytest.raises(ArgumentError, match=r"not a TRAINING frame: it lacks step .*`rw.training\(rollouts\)`"):
        plots.training(curve_of({"a": (40, 0.1)}))


@pytest.mark.integration
def test_a_real_training_is_drawn_as_it_is():
    """The marks are the rows of `rw.training`."""
    rows = [(f"{s}-{g}-{n}", s, f"g{g}", g + s > 3 + n) for s in range(4) for g in range(6) for n in range(3)]
    tried = pl.DataFrame(rows, schema=["rollout_id", "train_step", "goal", "attack_success"], orient="row")
    training = rw.training(tried)
    marks = plots.marks.training(training)
    assert marks["estimate"].to_list() == training["estimate"].to_list()
    assert marks["at_risk"].to_list() == [18] * 4
    assert labels.alt_text(training).startswith("Attack success, up to step 3, ")


@pytest.mark.integration
def test_a_share_of_ones_own_is_told_in_per_cent_as_in_a_forest():
    """What a Boolean is called does not matter: groups that all succeeded or failed are those of a share."""
    rows = [(f"{s}-{g}-{n}", s, f"g{g}", g + s > 3 + n) for s in (0, 1) for g in range(6) for n in (0, 1)]
    tried = pl.DataFrame(rows, schema=["rollout_id", "step", "goal", "won"], orient="row")
    trained = rw.training(tried, metric="won", step="step")
    assert "25.0 %" in rw.tables.text(trained) or "25 %" in rw.tables.text(trained)
    (ax,) = rw.plots.training(trained).axes
    assert all(label.get_text().endswith("%") for label in ax.get_yticklabels())
    scored = rw.training(tried.with_columns(pl.col("won").cast(pl.Float64)), metric="won", step="step")
    assert "%" not in rw.tables.text(scored).split("Intervals")[0].split("interval", 1)[1]


@pytest.mark.parametrize("step", ["step", "train_step"])
def test_a_summary_by_step_is_refused_with_the_call_that_draws(step: str) -> None:
    """Ten panels of one point each were drawn before."""
    rows = [(f"{s}-{g}-{n}", s, f"g{g}", g + s > 3 + n) for s in (0, 1) for g in range(6) for n in (0, 1)]
    tried = pl.DataFrame(rows, schema=["rollout_id", step, "goal", "attack_success"], orient="row")
    with pytest.raises(ArgumentError, match="training: this is a SUMMARY frame") as told:
        plots.training(rw.summarize(tried, by=step, metrics="attack_success"))
    call = str(told.value).split("`")[1]
    assert call == f"rw.training(rollouts, metric='attack_success', step={step!r})"
    assert plots.training(eval(call, {"rw": rw, "rollouts": tried})).axes
