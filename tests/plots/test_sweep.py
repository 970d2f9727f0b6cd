# mypy: disable-error-code="arg-type"
"""How much a result hangs on one choice."""

from itertools import pairwise
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import plots, schema
from rollwise.errors import ArgumentError
from rollwise.plots.curve_marks import MARKS


def swept(
    values: dict[Any, float | None], of: str = "threshold", *, group: str | None = None, **more: Any
) -> pl.DataFrame:
    """SUMMARY with an estimate at each value of the choice."""
    rows = [
        ({"target": group} if group else {})
        | {of: value, "metric": "attack_success", "statistic": "mean", "level": 0.95, "estimate": estimate, "n": 40}
        | {"low": None if estimate is None else estimate - 0.1, "high": None if estimate is None else estimate + 0.1}
        | {"method": "Wilson", "estimand": "unit: goal"}
        | more
        for value, estimate in values.items()
    ]
    known = [value for value in values if value is not None]
    dtypes = ({"target": pl.String} if group else {}) | {of: pl.Series(known).dtype}
    return pl.DataFrame(rows, schema={**dtypes, **schema.SUMMARY.dtypes}, orient="row")


def shown(plot: plots.Plot) -> list[str]:
    plot.figure.canvas.draw()
    return [tick.get_text() for tick in plot.axes[0].get_xticklabels()]


@pytest.mark.integration
def test_numbers_stand_at_their_places_as_a_line():
    """In order, whatever the order of the rows; ends of rates within [0, 1]."""
    marks = plots.marks.sweep(swept({0.9: 0.05, 0.1: 0.95, 0.5: 0.5}), choice="threshold")
    assert marks.schema == pl.Schema(MARKS)
    assert marks.select("at", "estimate", "style", "axis", "kind").rows() == [
        (0.1, 0.95, "line", "threshold", "mean"),
        (0.5, 0.5, "line", "threshold", "mean"),
        (0.9, 0.05, "line", "threshold", "mean"),
    ]
    assert marks.select(pl.col("low").min(), pl.col("high").max()).row(0) == (0.0, 1.0)
    assert shown(plots.sweep(swept({0.9: 0.05, 0.1: 0.95, 0.5: 0.5}), choice="threshold")) == ["0.1", "0.5", "0.9"]


@pytest.mark.integration
def test_names_stand_in_the_order_of_their_rows_as_points():
    """An Enum's own order wins; every name is a tick."""
    frame = swept({"rollout": 0.3, "goal": 0.4, "turn": 0.2}, "weighting")
    assert plots.marks.sweep(frame, choice="weighting")["style"].unique().to_list() == ["point"]
    assert shown(plots.sweep(frame, choice="weighting")) == ["rollout", "goal", "turn"]
    ordered = frame.with_columns(pl.col("weighting").cast(pl.Enum(["turn", "goal", "rollout"])))
    assert shown(plots.sweep(ordered, choice="weighting")) == ["turn", "goal", "rollout"]
    assert shown(plots.sweep(swept({True: 0.3, False: 0.4}, "judged_twice"), choice="judged_twice")) == [
        "True",
        "False",
    ]


@pytest.mark.integration
def test_long_names_of_choices_are_broken_and_the_table_gives_way():
    """They neither overlap nor lie on the numbers below."""
    names = [f"the way of judging number {k} that has a long name" for k in range(5)]
    (ax,) = plots.sweep(swept(dict.fromkeys(names, 0.3), "judge"), choice="judge").axes
    ax.figure.canvas.draw()
    ticks = [tick.get_window_extent() for tick in ax.get_xticklabels()]
    assert all(before.x1 <= after.x0 for before, after in pairwise(ticks))
    (table,) = ax.child_axes
    assert table.get_window_extent().y1 <= min(box.y0 for box in ticks) + 1


@pytest.mark.integration
def test_decades_are_logarithmic_unless_there_is_a_zero():
    """A zero has no place among decades."""
    assert (
        plots.sweep(swept({0.01: 0.1, 1.0: 0.2, 10.0: 0.3}, "strength"), choice="strength").axes[0].get_xscale()
        == "log"
    )
    (ax,) = plots.sweep(swept({0.0: 0.1, 0.01: 0.1, 1.0: 0.2, 10.0: 0.3}, "strength"), choice="strength").axes
    assert ax.get_xscale() == "linear"
    assert ax.get_xlim()[0] < 0


@pytest.mark.integration
def test_rows_without_a_value_are_references_in_every_panel():
    """A baseline to which the choice does not apply: a level line named by its group."""
    steered = [swept({1.0: 0.3, 2.0: 0.2}, "strength", group=f"way {k}") for k in range(6)]
    frame = pl.concat([*steered, swept({None: 0.6}, "strength", group="unsteered").cast({"strength": pl.Float64})])
    marks = plots.marks.sweep(frame, choice="strength")
    level = marks.filter(style="reference")
    assert level["panel"].sort().to_list() == list(range(6))
    assert level.select("at", "until", "estimate", "group").unique().rows() == [(1.0, 2.0, 0.6, "unsteered")]
    axes = plots.sweep(frame, choice="strength").axes
    assert all([0.6, 0.6] in [list(line.get_ydata()) for line in ax.lines] for ax in axes)
    assert "Dashed horizontal lines: no strength." in " ".join(axes[0].figure.get_supxlabel().split())


def test_a_reference_has_no_row_in_the_table():
    """Its rollouts stand behind no point."""
    frame = pl.concat(
        [swept({1.0: 0.3, 2.0: 0.2}, "strength"), swept({None: 0.6}, "strength").cast({"strength": pl.Float64})]
    )
    (ax,) = plots.sweep(frame, choice="strength").axes
    (table,) = ax.child_axes
    assert len(table.get_yticks()) == 1
    assert "no strength" in [text.get_text() for text in ax.texts]


def test_what_is_used_elsewhere_is_marked():
    """By a dotted line at its place; another value is refused."""
    frame = swept({"rollout": 0.3, "goal": 0.4}, "weighting")
    (ax,) = plots.sweep(frame, choice="weighting", chosen="goal").axes
    assert [1.0, 1.0] in [list(line.get_xdata()) for line in ax.lines]
    (ax,) = plots.sweep(swept({0.1: 0.5, 0.9: 0.2}), choice="threshold", chosen=0.4).axes
    assert [0.4, 0.4] in [list(line.get_xdata()) for line in ax.lines]
    with pytest.raises(ArgumentError, match="chosen='task' is not a value of 'weighting'; available: goal, rollout"):
        plots.sweep(frame, choice="weighting", chosen="task")
    for wrong in ("0.5", True, float("nan")):
        with pytest.raises(ArgumentError, match="is not a value of 'threshold'"):
            plots.sweep(swept({0.1: 0.5, 0.9: 0.2}), choice="threshold", chosen=wrong)


def test_values_without_a_place_are_said():
    """An infinite threshold is no reference and no position."""
    frame = swept({0.1: 0.5, 0.9: 0.2, float("inf"): 0.0})
    assert plots.marks.sweep(frame, choice="threshold")["at"].to_list() == [0.1, 0.9]
    words = " ".join(plots.sweep(frame, choice="threshold").figure.get_supxlabel().split())
    assert "1 row at a threshold that is not a number, excluded." in words


@pytest.mark.integration
def test_statistics_are_panels():
    """A mean and a median are two numbers; one is chosen with statistic=."""
    both = pl.concat([swept({1.0: 3.0, 2.0: 4.0}, metric="num_turns", statistic=name) for name in ("mean", "median")])
    assert [ax.get_ylabel() for ax in plots.sweep(both, choice="threshold").axes] == ["mean turns", "median turns"]
    assert plots.sweep(both, choice="threshold", statistic="median").axes[0].get_ylabel() == "median turns"


def test_what_cannot_be_drawn_is_said():
    """No such column, a column of SUMMARY itself, nothing but references."""
    frame = swept({0.1: 0.5})
    for choice in ("judge", "n"):
        with pytest.raises(
            ArgumentError, match=f"choice='{choice}' is not a grouping column of the SUMMARY; available: threshold"
        ):
            plots.sweep(frame, choice=choice)
    with pytest.raises(ArgumentError, match="no row has a value in column 'threshold'"):
        plots.sweep(frame.with_columns(threshold=pl.lit(None, pl.Float64)), choice="threshold")


@pytest.mark.integration
def test_a_real_sweep_of_weightings():
    """Each mark is the estimate of that summary."""
    turns, _ = rw.simulate(goals=8, attempts=(2, 6), turns=4, text=False)
    rollouts = rw.measure(turns)
    parts = [
        rw.summarize(rollouts, metrics="attack_success", by="target", weighting=way).with_columns(weighting=pl.lit(way))
        for way in ("rollout", "goal")
    ]
    marks = plots.marks.sweep(pl.concat(parts), choice="weighting")
    for place, part in enumerate(parts):
        found = marks.filter(at=float(place)).sort("group")["estimate"].to_list()
        assert found == part.sort("target")["estimate"].to_list()
