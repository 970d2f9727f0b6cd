# mypy: disable-error-code="arg-type, attr-defined, union-attr"
"""Comparisons one below another: what is drawn of them, and around which line."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from matplotlib import pyplot as plt

import rollwise as rw
from rollwise import plots, schema
from rollwise.errors import ArgumentError
from rollwise.plots.contrast import MARKS
from rollwise.schema import labels


def row(group: str, difference: float | None, **more: Any) -> dict[str, Any]:
    """One comparison with "base"."""
    ends = {"low": None, "high": None} if difference is None else {"low": difference - 0.1, "high": difference + 0.1}
    about = {"metric": "attack_success", "statistic": "mean", "of": "target", "baseline": "base", "level": 0.95}
    counts = {"n_pairs": 40, "only_group": 1, "only_baseline": 3, "n_group": 41, "n_baseline": 43, "n_clusters": 40}
    how = {"method": "paired t", "estimand": "mean, unit: goal", "adjust": "Holm over 3", "p_adjusted": 0.03}
    return {"group": group, "difference": difference} | about | counts | how | ends | more


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    by = [name for name in dict.fromkeys(key for one in rows for key in one) if name not in schema.CONTRAST.names]
    return pl.DataFrame(rows, schema={**dict.fromkeys(by, pl.String), **schema.CONTRAST.dtypes}, orient="row")


def test_marks_are_one_row_per_comparison_greatest_first():
    """Differences of rates in points, the share of units that is paired, and the adjusted p-value."""
    marks = plots.marks.contrast(
        frame(row("a", -0.2), row("b", 0.3, p_adjusted=1e-9), row("c", None, reason="one goal"))
    )
    assert marks.schema == pl.Schema(MARKS)
    assert marks.select("row", "group", "text", "pairs", "p", "shape", "scale", "guide").rows() == [
        (0, "b", "30 [20, 40]", "40/44", "< 0.001", "interval", "points", 0.0),
        (1, "a", "−20 [−30, −10]", "40/44", "0.030", "interval", "points", 0.0),
        (2, "c", "–", "40/44", "0.030", "empty", "points", 0.0),
    ]
    assert marks["quantity"].unique().to_list() == ["difference in attack success from base, in points"]


def test_without_pairs_the_rollouts_of_both_arms_stand_there():
    """An unpaired comparison says how many rollouts each arm has, and an unadjusted p-value is only p."""
    marks = plots.marks.contrast(frame(row("a", 0.1, n_pairs=0, p_adjusted=None, adjust=None, p_value=0.2)))
    assert marks.select("pairs", "p").row(0) == ("41 : 43", "0.200")


@pytest.mark.integration
def test_a_chance_stands_around_one_half():
    """Of an improvement the difference is a probability: in per cent, and 50 % means none."""
    (ax,) = plots.contrast(frame(row("a", 0.7, statistic="improvement"))).axes
    guides = [line.get_xdata() for line in ax.lines if list(line.get_ydata()) == [0, 1]]
    assert guides == [[0.5, 0.5]]
    assert ax.get_xlabel() == "chance of more attack success than in base"
    marks = plots.marks.contrast(frame(row("a", 0.7, statistic="improvement")))
    assert marks["text"].item() == "70 % [60, 80]"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("many", "shown"),
    [(1, "Holm over 1 comparison."), (11, "Holm over 11 comparisons."), (3, "Holm over 3 comparisons.")],
)
def test_one_adjusted_comparison_is_singular(many, shown):
    """The caption says how p-values were adjusted, and for how many."""
    drawn = frame(row("a", 0.1, adjust=f"Holm over {many}", n_pairs=1, n_clusters=1))
    said = plots.contrast(drawn).figure.get_supxlabel().replace("\n", " ")
    assert f"n = 1 pair in 1 goal. p adjusted: {shown}" in said


@pytest.mark.integration
def test_zero_is_always_in_the_picture():
    """Far from 0 the line of no difference is still there, and signs are written."""
    (ax,) = plots.contrast(frame(row("a", -0.8))).axes
    left, right = ax.get_xlim()
    assert left < -0.8
    assert right > 0
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert "0" in ticks
    assert all(text == "0" or text[0] in "+−" for text in ticks)


def test_several_baselines_are_named_in_each_row():
    """All pairs: each row says which group is taken from which."""
    marks = plots.marks.contrast(
        frame(row("b", 0.1, baseline="a"), row("c", 0.2, baseline="a"), row("c", 0.1, baseline="b"))
    )
    assert marks["group"].to_list() == ["c − a", "b − a", "c − b"]
    assert marks["quantity"].unique().to_list() == ["difference in attack success, in points"]
    assert dict(marks.select("group", "color").rows())["c − a"] == dict(marks.select("group", "color").rows())["c − b"]


def test_a_group_looks_as_in_a_forest_that_shows_the_baseline_too():
    """The baseline has no row here, and keeps its color all the same: no other group is drawn in it."""
    summary = pl.DataFrame(
        {"target": ["a", "base", "c"], "metric": "attack_success", "statistic": "mean", "level": 0.95}
    )
    rates = summary.with_columns(estimate=pl.lit(0.5), low=pl.lit(0.4), high=pl.lit(0.6), n=pl.lit(20))
    looks = {row["group"]: (row["color"], row["marker"]) for row in plots.marks.forest(rates).iter_rows(named=True)}
    marks = plots.marks.contrast(frame(row("a", -0.2), row("c", 0.3)))
    assert {row["group"]: (row["color"], row["marker"]) for row in marks.iter_rows(named=True)} == {
        name: looks[name] for name in ("a", "c")
    }


@pytest.mark.integration
def test_panels_share_their_rows():
    """One panel for each metric and statistic; one ax cannot hold two."""
    contrast = frame(
        *(row(name, 0.1 * k, metric=metric) for metric in ("attack_success", "harm") for k, name in enumerate("ab"))
    )
    axes = plots.contrast(contrast).axes
    assert [ax.get_xlabel().replace("\n", " ") for ax in axes] == [
        "difference in attack success from base, in points",
        "difference in mean harm from base",
    ]
    figure = axes[0].figure
    figure.draw_without_rendering()
    boxes = [ax.xaxis.label.get_window_extent(figure.canvas.get_renderer()) for ax in axes]
    assert boxes[0].x1 < boxes[1].x0
    with pytest.raises(ArgumentError, match="choose metric="):
        plots.contrast(contrast, ax=plt.figure().add_subplot())
    one = plt.figure().add_subplot()
    assert plots.contrast(contrast, metric="harm", ax=one).axes == (one,)


def test_nothing_to_draw_is_said():
    """No rows, no such metric, a comparison twice, a frame of another kind: one sentence each."""
    contrast = frame(row("a", 0.1))
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: plots.contrast(contrast.clear()), "no rows"),
        (lambda: plots.contrast(contrast, metric="nonsense"), "attack_success"),
        (lambda: plots.contrast(pl.concat([contrast, contrast])), "occurs twice"),
        (lambda: plots.contrast(contrast.drop("difference")), "difference"),
        (lambda: plots.contrast(3), "not a frame"),
    ]
    for call, words in calls:
        with pytest.raises(ArgumentError, match=words):
            call()


@pytest.mark.integration
def test_a_real_contrast_draws_and_tells_the_same_after_parquet(tmp_path):
    """From rollouts to a figure: the points are the differences of the frame, read back from a file too."""
    rollouts = pl.DataFrame(
        [
            {"rollout_id": f"{target}{goal}", "target": target, "goal": f"g{goal}", "attack_success": goal < successes}
            for target, successes in (("base", 4), ("tuned", 11), ("none", 1))
            for goal in range(16)
        ]
    )
    contrast = rw.contrast(rollouts, of="target", baseline="base", metrics="attack_success")
    rw.write(contrast, tmp_path / "contrast.parquet")
    marks = plots.marks.contrast(pl.read_parquet(tmp_path / "contrast.parquet"))
    assert marks.equals(plots.marks.contrast(contrast))
    assert dict(marks.select("group", "estimate").rows()) == {
        "tuned": pytest.approx(7 / 16),
        "none": pytest.approx(-3 / 16),
    }
    (ax,) = plots.contrast(contrast).axes
    said = ax.figure.get_supxlabel().replace("\n", " ")
    assert "Holm over 2 comparisons" in said
    assert "Paired: goals in both groups / in either." in said
    told = labels.alt_text(contrast)
    assert told.startswith("Difference in attack success from base by target, from −19 points")
    assert told.endswith("(tuned), 2 comparisons.")


def test_the_alternative_text_of_all_pairs_names_both_sides():
    """Where each row has its own baseline, no baseline is said to be that of all."""
    told = labels.alt_text(frame(row("b", 0.1, baseline="a"), row("c", 0.3, baseline="b")))
    assert told == (
        "Difference in attack success by target, from 10 points [0, 20] (b · a) to 30 points [20, 40] (c · b), 2 comparisons."
    )
