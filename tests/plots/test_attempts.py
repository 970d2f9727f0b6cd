# mypy: disable-error-code="arg-type, union-attr"
"""ASR@k and pass^k over k, and where a forecast takes over."""

from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import same_color
from matplotlib.text import Text

import rollwise as rw
from rollwise import plots, schema
from rollwise.errors import ArgumentError
from rollwise.plots.curve_marks import MARKS


def tried(
    groups: dict[str, list[tuple[float, int]]], kind: str = "asr@k", metric: str = "attack_success"
) -> pl.DataFrame:
    """CURVE of value and goals at k = 1, 2, ... for each group."""
    rows = [
        {
            "target": name,
            "metric": metric,
            "kind": kind,
            "axis": "attempt",
            "at": float(k),
            "level": 0.95,
            "estimate": value,
            "low": value / 2,
            "high": min(1.0, value * 1.5),
            "at_risk": goals,
            "method": "combinatorial, clustered Wilson",
            "estimand": "share of goals; unit: goal",
        }
        for name, course in groups.items()
        for k, (value, goals) in enumerate(course, 1)
    ]
    return pl.DataFrame(rows, schema={"target": pl.String, **schema.CURVE.dtypes}, orient="row")


def ahead(groups: dict[str, dict[float, float]], **more: Any) -> pl.DataFrame:
    """FORECAST of values at k."""
    rows = [
        {"target": name, "metric": "attack_success", "at": k, "level": 0.95, "estimate": value, "immune": 0.3}
        | {"low": value - 0.1, "high": value + 0.1, "method": "beta-binomial"}
        | more
        for name, course in groups.items()
        for k, value in course.items()
    ]
    return pl.DataFrame(rows, schema={"target": pl.String, **schema.FORECAST.dtypes}, orient="row")


ONE = {"a": [(0.2, 40), (0.35, 40), (0.4, 20)]}


def said(drawn: Any) -> str:
    figure = drawn.figure
    return " ".join(figure.get_supxlabel().split())


@pytest.mark.integration
@pytest.mark.parametrize(("most", "scale"), [(50, "linear"), (51, "log"), (2_000, "log"), (40_000, "log")])
def test_many_attempts_have_a_logarithmic_axis(most: int, scale: str) -> None:
    """The first attempts are not squeezed at the left, the last one has a tick, and no labels touch."""
    course = tried({"a": [(0.1 + 0.01 * k, 40) for k in range(12)]})
    ends = sorted({round(most ** (step / 11)) for step in range(12)})
    curve = course.head(len(ends)).with_columns(at=pl.Series(ends, dtype=pl.Float64))
    plot = plots.attempts(curve)
    (ax,) = plot.axes
    assert ax.get_xscale() == scale
    plot.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert all(before.x1 < after.x0 for before, after in pairwise(boxes))
    if scale == "log":
        assert ax.get_xticks()[-1] == most


@pytest.mark.integration
def test_the_last_observed_point_has_its_number_below():
    """On the logarithmic axis of a far forecast k = 6 has a tick, and the goals behind it stand below."""
    course = {"a": [(0.2 + 0.02 * k, 80 - 5 * k) for k in range(6)]}
    (ax,) = plots.attempts(tried(course), forecast=ahead({"a": {12.0: 0.5, 48.0: 0.7}})).axes
    assert 6.0 in ax.get_xticks()
    assert 5.0 not in ax.get_xticks()
    assert "55" in [text.get_text() for text in ax.child_axes[0].texts]


def test_a_forecast_goes_on_from_the_last_observed_point():
    """It starts at the last observed value with its interval, and what it says of observed k is left out."""
    marks = plots.marks.attempts(tried(ONE), forecast=ahead({"a": {2.0: 0.5, 3.0: 0.5, 6.0: 0.6, 12.0: 0.7}}))
    assert marks.schema == pl.Schema(MARKS)
    found = marks.filter(style="forecast").select("at", "estimate", "low").rows()
    assert found == [(3.0, 0.4, 0.2), (6.0, 0.6, 0.5), (12.0, 0.7, pytest.approx(0.6))]
    assert marks.filter(style="point")["at"].to_list() == [1.0, 2.0, 3.0]


@pytest.mark.integration
def test_observation_ends_where_too_few_goals_are_left():
    """ASR@k of five goals gives way to the forecast; without one, and in pass^k, it stays, hollow."""
    course = {"a": [(0.2, 40), (0.35, 40), (0.1, 5)]}
    both = pl.concat([tried(course), tried(course, kind="pass^k")])
    marks = plots.marks.attempts(both, forecast=ahead({"a": {3.0: 0.45, 6.0: 0.6}}))
    seen = marks.filter(style="point")
    assert seen.filter(kind="asr@k")["at"].to_list() == [1.0, 2.0]
    assert seen.filter(kind="pass^k").select("at", "solid").rows() == [(1.0, True), (2.0, True), (3.0, False)]
    assert marks.filter(style="forecast").select("at", "estimate").rows() == [(2.0, 0.35), (3.0, 0.45), (6.0, 0.6)]
    assert plots.marks.attempts(tried(course))["solid"].to_list() == [True, True, False]
    assert plots.marks.attempts(tried(course), forecast=ahead({"a": {3.0: 0.45}}), min_at_risk=5)["at"].max() == 3.0


def test_few_goals_everywhere_end_at_the_last():
    """Where no k has enough goals, observation ends with the last k."""
    marks = plots.marks.attempts(tried({"a": [(0.2, 3), (0.4, 3)]}), forecast=ahead({"a": {4.0: 0.5}}))
    assert marks.filter(style="forecast").select("at", "estimate").rows() == [(2.0, 0.4), (4.0, 0.5)]


def test_a_group_without_a_forecast_has_none():
    """A group whose forecast is missing is drawn as observed."""
    frame = tried({"a": [(0.2, 40), (0.3, 40)], "b": [(0.5, 40), (0.6, 40)]})
    marks = plots.marks.attempts(frame, forecast=ahead({"b": {8.0: 0.9}}))
    assert marks.filter(style="forecast")["group"].unique().to_list() == ["b"]
    assert marks.filter(style="point").height == 4


@pytest.mark.integration
def test_the_end_of_observation_is_marked():
    """A dotted line at the last observed k, the word beside it, a dashed line beyond, an axis of decades."""
    (ax,) = plots.attempts(tried(ONE), forecast=ahead({"a": {6.0: 0.6, 300.0: 0.7}})).axes
    assert ax.get_xscale() == "log"
    assert "forecast →" in [text.get_text() for text in ax.texts]
    assert [3.0, 3.0] in [list(line.get_xdata()) for line in ax.lines if list(line.get_ydata()) == [0, 1]]
    (dashed,) = [line for line in ax.lines if list(line.get_xdata()) == [3.0, 6.0, 300.0]]
    assert list(dashed.get_ydata()) == [0.4, 0.6, 0.7]
    assert dashed.get_linestyle() == "--"
    ax.figure.canvas.draw()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "3", "5", "10", "20", "50", "100", "200"]


@pytest.mark.integration
def test_a_near_forecast_keeps_a_plain_axis():
    """Up to four times the attempts made."""
    assert plots.attempts(tried(ONE), forecast=ahead({"a": {11.0: 0.6}})).axes[0].get_xscale() == "linear"
    assert plots.attempts(tried(ONE), forecast=ahead({"a": {12.0: 0.6}})).axes[0].get_xscale() == "log"


def test_the_caption_tells_how_the_forecast_was_made_and_missed():
    """Method, and the worst of the groups on what was held out."""
    held = {
        "holdout_from": 2,
        "holdout_at": 3,
        "holdout_observed": 0.4,
        "holdout_forecast": 0.31,
        "holdout_error": -0.09,
    }
    words = said(plots.attempts(tried(ONE), forecast=ahead({"a": {9.0: 0.6}}, **held)))
    assert "Dashed: forecast (beta-binomial); from the first 2 attempts, it predicted 31.0 % at k = 3" in words
    assert "40.0 % was observed." in words
    assert "Dashed: forecast (beta-binomial)." in said(plots.attempts(tried(ONE), forecast=ahead({"a": {9.0: 0.6}})))
    assert "n = 40 goals" in words


@pytest.mark.integration
def test_more_than_four_groups_have_all_kinds_in_their_panel():
    """One panel for each group, its kinds named once above; a single kind needs no key."""
    groups = {f"model {k}": [(0.1 * k, 40), (0.12 * k, 40)] for k in range(1, 7)}
    both = pl.concat([tried(groups), tried(groups, kind="pass^k")])
    axes = plots.attempts(both).axes
    assert [ax.get_title(loc="left") for ax in axes] == [f"model {k}" for k in range(6, 0, -1)]
    (key,) = axes[0].figure.legends
    assert [text.get_text() for text in key.get_texts()] == ["ASR@k: any of k", "pass^k: all of k"]
    marks = plots.marks.attempts(both)
    assert marks.group_by("panel").agg(pl.col("group").n_unique())["group"].unique().to_list() == [2]
    assert plots.attempts(tried(groups)).axes[0].figure.legends == []


@pytest.mark.integration
def test_tasks_are_solved_and_not_broken():
    """pass@k of task_success speaks of tasks."""
    frame = tried(ONE, kind="pass@k", metric="task_success")
    assert (
        plots.attempts(frame).axes[0].get_ylabel().replace("\n", " ")
        == "share of tasks solved at least once in k attempts"
    )
    assert "tasks solved in all k" in plots.attempts(tried(ONE, kind="pass^k", metric="task_success")).axes[
        0
    ].get_ylabel().replace("\n", " ")


def test_what_cannot_be_drawn_is_said(curve_of):
    """No curve over attempts, a forecast of other groups, several panels in one ax."""
    with pytest.raises(
        ArgumentError, match=r"the frame has no curve over attempts \(kind is success\); create one with `rw.attempts"
    ):
        plots.attempts(curve_of({"a": (40, 0.1)}))
    with pytest.raises(ArgumentError, match="grouped by target, their forecast by none; give both verbs the same `by`"):
        plots.attempts(tried(ONE), forecast=ahead({"a": {9.0: 0.6}}).drop("target"))
    with pytest.raises(ArgumentError, match="not a FORECAST frame"):
        plots.attempts(tried(ONE), forecast=tried(ONE))
    both = pl.concat([tried(ONE), tried(ONE, kind="pass^k")])
    with pytest.raises(ArgumentError, match="one ax cannot hold 2 panels"):
        plots.attempts(both, ax=plt.figure().add_subplot())


@pytest.mark.integration
def test_a_forecast_that_reaches_no_further_changes_nothing():
    """All of its k were observed."""
    plain, same = plots.marks.attempts(tried(ONE)), plots.marks.attempts(tried(ONE), forecast=ahead({"a": {2.0: 0.9}}))
    assert same.equals(plain)


@pytest.mark.integration
def test_real_verbs_fit_together():
    """`attempts` and `forecast` of simulated rollouts: the first mark is the mean over goals, the last the forecast's."""
    turns, _ = rw.simulate(targets={"base": 0.1, "guarded": 0.02}, goals=12, attempts=4, turns=4, text=False)
    rollouts = rw.measure(turns)
    curve, further = rw.attempts(rollouts, by="target"), rw.forecast(rollouts, by="target", k=[8, 50])
    marks = plots.marks.attempts(curve, forecast=further)
    first = marks.filter(kind="asr@k", at=1.0, style="point").sort("group")["estimate"].to_list()
    mean = pl.col("attack_success").mean()
    known = rollouts.group_by("target", "goal").agg(mean).group_by("target").agg(mean)
    assert first == pytest.approx(known.sort("target")["attack_success"].to_list())
    last = marks.filter(style="forecast", at=50.0).sort("group")["estimate"].to_list()
    assert last == further.filter(pl.col("at") == 50).sort("target")["estimate"].to_list()
    axes = plots.attempts(curve, forecast=further).axes
    assert [ax.get_xlabel() for ax in axes] == ["attempts (k)"] * len(axes)
    looks = {row["group"]: row["color"] for row in marks.to_dicts()}
    names = {text.get_text(): text.get_color() for text in axes[0].texts if text.get_text() in looks}
    assert set(names) == set(looks)
    assert not same_color(names["base"], names["guarded"])


@pytest.mark.integration
def test_the_table_counts_goals_only_where_a_point_is():
    """At a tick between two k nothing stands: the goals of the next k are not its own."""
    frame = tried({"a": [(0.1, 40), (0.2, 40)] + [(0.3, 12)] * 8}).filter(pl.col("at").is_in([1.0, 2.0, 10.0]))
    (ax,) = plots.attempts(frame, forecast=ahead({"a": {90.0: 0.6}})).axes
    (table,) = ax.child_axes
    cells = {text.get_position()[0]: text.get_text() for text in table.texts}
    assert {tick: cells[tick] for tick in (1.0, 2.0, 5.0, 10.0, 20.0)} == {
        1.0: "40",
        2.0: "40",
        5.0: "",
        10.0: "12",
        20.0: "",
    }


@pytest.mark.integration
def test_a_sign_that_no_point_has_is_not_explained():
    """A k that no goal was tried so often has no point, and none that is hollow; a point of few goals has."""
    frame = tried({"a": [(0.1, 40), (0.2, 40), (0.3, 5)]})
    assert "Hollow: fewer than 10 goals." in plots.attempts(frame).caption
    known = pl.when(pl.col("at") < 3)
    gone = frame.with_columns(known.then(name).alias(name) for name in ("estimate", "low", "high"))
    assert "Hollow" not in plots.attempts(gone).caption
    assert "Hollow" not in plots.curve(gone).caption


@pytest.mark.integration
def test_long_names_leave_room_for_curves_and_numbers():
    """Beside long names the curves are as wide as beside short ones, and no two numbers below them touch."""

    def wide(name: str) -> float:
        course = [(0.2, 3000), (0.3, 3000), (0.4, 2900)]
        kinds = [tried({f"{name}-{k}": course for k in range(2)}, kind) for kind in ("asr@k", "pass^k")]
        forecast = ahead({f"{name}-{k}": {3.0: 0.4, 30.0: 0.6} for k in range(2)})
        axes = plots.attempts(pl.concat(kinds), forecast=forecast, at_risk=True).axes
        axes[0].figure.draw_without_rendering()
        for ax in axes:
            (table,) = ax.child_axes
            boxes = [cell.get_window_extent() for cell in table.texts if cell.get_text().replace(",", "").isdigit()]
            assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
        return float(axes[0].get_window_extent().width)

    assert wide("meta-llama/Llama-3.1-70B-Instruct-checkpoint") > 0.85 * wide("llama")


def test_a_forecast_that_says_nothing_is_none():
    """It neither stretches the axis nor is the end of observation marked; the caption says why there is none."""
    nothing = ahead({"a": {10.0: 0.5, 30.0: 0.5}}).with_columns(
        estimate=None, low=None, high=None, method=None, reason=pl.lit("one attempt at each goal")
    )
    assert plots.marks.attempts(tried(ONE), forecast=nothing).equals(plots.marks.attempts(tried(ONE)))
    (ax,) = plots.attempts(tried(ONE), forecast=nothing).axes
    assert said(ax).endswith("No forecast: one attempt at each goal.")
    assert "forecast →" not in [text.get_text() for text in ax.texts]


@pytest.mark.integration
def test_what_is_withheld_is_said():
    """Half-judged goals have a bar from one bound to the other and no point: the caption says so."""
    frame = tried({"a": [(0.2, 40), (0.4, 40)]})
    withheld = frame.with_columns(estimate=pl.lit(None, pl.Float64), low=pl.lit(0.1), high=pl.lit(0.9))
    for shown, told in ((frame, False), (withheld, True)):
        figure = plots.attempts(shown).figure
        words = " ".join(" ".join(text.get_text() for text in figure.findobj(Text)).split())
        assert ("Bar without a point: no estimate, only its interval." in words) is told


@pytest.mark.integration
def test_both_kinds_of_one_group_have_space_in_a_column():
    """Each has its own label, so they are one below the other; no label leaves the figure."""
    rollouts = pl.DataFrame(
        {"rollout_id": f"r{k}", "goal": f"g{k % 10}", "attempt": k // 10, "attack_success": k % 3 == 0}
        for k in range(40)
    )
    plot = plots.attempts(rw.attempts(rollouts), size="column")
    plot.figure.draw_without_rendering()
    assert len(plot.axes) == 2
    for ax in plot.axes:
        assert ax.xaxis.label.get_window_extent().x1 <= plot.figure.bbox.x1
        assert ax.get_window_extent().width > 0.4 * plot.figure.bbox.width
