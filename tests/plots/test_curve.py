# mypy: disable-error-code="arg-type, comparison-overlap, index, operator, union-attr"
"""Curves with bands, censor ticks and the table below."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.text import Text

from rollwise import plots, schema
from rollwise.errors import ArgumentError
from rollwise.plots.curve_marks import MARKS

TWO = {"a": (100, 0.1), "b": (40, 0.02)}


def written(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def table_of(ax: Axes) -> tuple[list[str], list[str]]:
    (table,) = ax.child_axes
    names = [label.get_text() for label in table.get_yticklabels()]
    return names, [text.get_text() for text in table.texts]


def test_marks_start_at_zero_and_end_after_the_last_turn(curve_of):
    """F(0) = 0, each step lasts until the next position, the last one turn longer."""
    marks = plots.marks.curve(curve_of({"a": (100, 0.1)}, turns=3))
    assert marks.schema == pl.Schema(MARKS)
    assert marks.select("at", "until").rows() == [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0), (3.0, 4.0)]
    assert marks["estimate"].round(4).to_list() == [0.0, 0.1, 0.1867, 0.2693]
    assert marks["at_risk"].to_list() == [100, 100, 83, 69]


def test_a_start_in_the_frame_is_not_doubled(curve_of):
    """Where the frame has position 0 it is taken as it is."""
    curve = curve_of({"a": (100, 0.1)}, turns=3)
    start = curve.head(1).with_columns(
        at=pl.lit(0.0), estimate=pl.lit(0.0), low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64)
    )
    assert plots.marks.curve(pl.concat([start, curve]))["at"].to_list() == [0.0, 1.0, 2.0, 3.0]


def test_survival_starts_at_one_and_points_have_no_start(curve_of):
    """S(0) = 1; a hazard exists only at its turns."""
    assert plots.marks.curve(curve_of(TWO, kind="survival"))["estimate"].max() == 1.0
    hazard = plots.marks.curve(curve_of(TWO, kind="hazard"))
    assert hazard["style"].unique().to_list() == ["point"]
    assert hazard["at"].min() == 1.0


@pytest.mark.integration
def test_thin_where_few_are_at_risk(curve_of):
    """Below the minimum a mark is not solid, and the figure says so."""
    curve = curve_of({"a": (40, 0.2)}, turns=8)
    marks = plots.marks.curve(curve, min_at_risk=10)
    assert marks["solid"].to_list() == [at_risk >= 10 for at_risk in marks["at_risk"]]
    assert not marks["solid"].all()
    assert "Dashed: fewer than 10 rollouts or 5 clusters at risk." in plots.curve(curve).figure.get_supxlabel().replace(
        "\n", " "
    )
    assert plots.marks.curve(curve, min_at_risk=0)["solid"].all()


@pytest.mark.integration
def test_only_what_is_drawn_is_explained(curve_of):
    """Where steps with few at risk have no value, nothing is dashed, and where those with censored rollouts have none, no tick."""
    curve = curve_of({"a": (40, 0.2)}, turns=8)
    few = pl.col("at_risk") < 10
    unknown = curve.with_columns(
        estimate=pl.when(few).then(None).otherwise("estimate"), censored=few.cast(curve.schema["censored"])
    )
    assert curve.select(few.any()).item()
    words = plots.curve(unknown, min_at_risk=10).figure.get_supxlabel()
    assert not {"Dashed", "ticks"} & set(words.replace(":", "").split())


def test_bands_stay_inside_zero_and_one(curve_of):
    """Ends outside [0, 1] are clipped; the frame is not."""
    curve = curve_of({"a": (100, 0.1)}, turns=2).with_columns(low=pl.lit(-0.2), high=pl.lit(1.3))
    marks = plots.marks.curve(curve).filter(pl.col("at") > 0)
    assert marks.select("low", "high").unique().rows() == [(0.0, 1.0)]


@pytest.mark.integration
def test_hazards_are_points_side_by_side(curve_of):
    """Each group a little aside, so that whiskers do not lie on each other; named in a key, since ends are alike."""
    (ax,) = plots.curve(curve_of(TWO, kind="hazard", turns=4)).axes
    places = {line.get_xdata()[0] for line in ax.lines if line.get_marker() in {"o", "s"}}
    assert len(places) == 8
    assert all(abs(place - round(place)) < 0.1 for place in places)
    (key,) = ax.figure.legends
    assert [text.get_text() for text in key.get_texts()] == ["a", "b"]
    assert plots.curve(curve_of({"a": (100, 0.1)}, kind="hazard")).figure.legends == []


def test_hazards_stand_in_the_order_of_what_they_amount_to(curve_of):
    """As their curves of success do: the risk of the last turn is that of a few who are left."""
    late = pl.col("target").eq("b") & pl.col("at").eq(4)
    groups = {"a": (100, 0.3), "b": (100, 0.02), **dict.fromkeys("cde", (100, 0.01))}
    hazard = curve_of(groups, kind="hazard", turns=4).with_columns(
        estimate=pl.when(late).then(0.5).otherwise("estimate")
    )
    names = hazard["target"].unique()
    ranked = plots.marks.curve(hazard).unique("group").sort("panel")["group"].to_list()
    assert ranked[:2] == ["a", "b"]
    assert set(ranked) == set(names)


@pytest.mark.integration
def test_a_hazard_of_few_does_not_flatten_the_rest(curve_of):
    """Its whisker goes on beyond the axis, as an arrow says; its point is hollow and not joined."""
    curve = curve_of({"a": (100, 0.1)}, kind="hazard", turns=3).with_columns(
        at_risk=pl.Series([100, 80, 2]), estimate=pl.Series([0.1, 0.1, 0.0]), high=pl.Series([0.2, 0.2, 0.95])
    )
    (ax,) = plots.curve(curve).axes
    assert ax.get_ylim() == (0.0, pytest.approx(0.25))
    assert [list(line.get_ydata()) for line in ax.lines if line.get_marker() == "^"] == [[0.25]]
    joined = [list(line.get_xdata()) for line in ax.lines if len(set(line.get_xdata())) > 1]
    assert joined == [[1.0, 2.0]]


@pytest.mark.integration
def test_survival_falls_from_one_on_the_whole_axis(curve_of):
    """What is left of all is read against all, so the axis ends at 100 %; the axis says it is hypothetical."""
    (ax,) = plots.curve(curve_of({"a": (100, 0.01)}, kind="survival", turns=3)).axes
    assert ax.get_ylim() == (0.0, 1.0)
    line = max(ax.lines, key=lambda line: len(line.get_xdata()))
    assert line.get_ydata()[0] == 1.0
    assert list(np.diff(line.get_ydata()) <= 0) == [True] * (len(line.get_ydata()) - 1)
    assert plots.curve(curve_of({"a": (100, 0.01)}, turns=3)).axes[0].get_ylim()[1] < 1.0


@pytest.mark.integration
def test_all_censored_is_a_flat_curve_with_its_ticks(curve_of):
    """Nobody succeeded: the curve lies at 0, its band says how much that means, and each loss has a tick."""
    (ax,) = plots.curve(curve_of({"a": (30, 0.0)}, turns=3)).axes
    (ticks,) = [line for line in ax.lines if line.get_marker() == "|"]
    assert len(ticks.get_xdata()) == 3
    assert set(ticks.get_ydata()) == {0.0}
    assert ax.get_ylim()[1] > 0.1
    marks = plots.marks.curve(curve_of({"a": (30, 0.0)}, turns=3)).filter(pl.col("at") > 0)
    assert (marks["high"] > 0).all()


@pytest.mark.integration
def test_small_axes_keep_the_curve(curve_of):
    """In a column of a paper the table yields, unless it is asked for; the caption is that of the plot."""
    curve = curve_of({name: (100, 0.05 * place) for place, name in enumerate("abcd", 1)})

    def drawn(high: float, **options: Any) -> tuple[int, bool]:
        figure, ax = plt.subplots(figsize=(3.3, high), layout="constrained")
        plot = plots.curve(curve, ax=ax, **options)
        plt.close(figure)
        assert not any("Intervals" in text.get_text() for text in ax.texts)
        return len(ax.child_axes), "Intervals" in plot.caption

    assert drawn(2.2) == (0, True)
    assert drawn(3.2) == (1, True)
    assert drawn(4.5, at_risk=False, caption=False) == (0, False)
    assert drawn(2.6, at_risk=True) == (1, True)


@pytest.mark.integration
def test_differences_stand_on_both_sides_of_zero(curve_of):
    """Neither end is cut off, zero has a line, and per cent may be negative."""
    told = {"kind": pl.lit("difference"), "estimate": pl.lit(-0.2), "low": pl.lit(-0.5), "high": pl.lit(0.1)}
    curve = curve_of({"a": (100, 0.1)}, turns=2).filter(pl.col("at") > 0).with_columns(**told)
    marks = plots.marks.curve(curve)
    assert marks.select("low", "high").unique().rows() == [(-0.5, 0.1)]
    (ax,) = plots.curve(curve).axes
    least, most = ax.get_ylim()
    assert least < -0.5
    assert most > 0.1
    assert any(list(line.get_ydata()) == [0.0, 0.0] for line in ax.get_lines())


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["best@k", "trajectory"])
def test_numbers_are_no_shares(curve_of, kind):
    """Scores beyond 1 stay where they are, as points, and have no per cent."""
    told = {"kind": pl.lit(kind), "estimate": pl.lit(3.0), "low": pl.lit(2.0), "high": pl.lit(4.0)}
    curve = curve_of({"a": (100, 0.1)}, turns=2).filter(pl.col("at") > 0).with_columns(**told)
    marks = plots.marks.curve(curve)
    assert marks.select("style", "low", "high").unique().rows() == [("point", 2.0, 4.0)]
    (ax,) = plots.curve(curve).axes
    ax.figure.canvas.draw()
    assert not any("%" in tick.get_text() for tick in ax.get_yticklabels())


def test_curves_stand_highest_first(curve_of):
    """The series, and so the rows of the table, are in order of their last value."""
    marks = plots.marks.curve(curve_of({"low": (100, 0.01), "high": (100, 0.2)}))
    assert dict(marks.select("group", "series").rows()) == {"high": 0, "low": 1}


@pytest.mark.integration
def test_steps_are_drawn_as_steps(curve_of):
    """The line has a corner at each turn and ends at T + 1; its band is filled."""
    (ax,) = plots.curve(curve_of({"a": (100, 0.1)}, turns=2)).axes
    line = max(ax.lines, key=lambda line: len(line.get_xdata()))
    assert list(line.get_xdata()) == [0, 1, 1, 2, 2, 3]
    assert np.allclose(line.get_ydata(), [0, 0, 0.1, 0.1, 0.1867, 0.1867], atol=1e-4)
    assert len(ax.collections) == 1
    assert ax.get_xlim() == (0.0, 3.0)
    assert list(ax.get_xticks()) == [0, 1, 2]


@pytest.mark.integration
def test_the_table_counts_at_the_start_of_each_turn(curve_of):
    """Below the curves, a row for each group with its name in front, in Axes of its own."""
    names, cells = table_of(plots.curve(curve_of(TWO, turns=3)).axes[0])
    assert names == ["a", "b"]
    assert "at risk at the start of each turn" in cells
    assert [cell for cell in cells if cell.isdecimal()] == ["100", "83", "69", "40", "36", "32"]


@pytest.mark.integration
def test_the_table_can_be_left_out(curve_of):
    """No Axes below, then."""
    assert plots.curve(curve_of(TWO), at_risk=False).axes[0].child_axes == []
    assert plots.curve(curve_of(TWO).with_columns(at_risk=pl.lit(None, pl.Int64))).axes[0].child_axes == []


@pytest.mark.integration
def test_censored_rollouts_are_ticks(curve_of):
    """A small tick on the step in which rollouts were censored, and none elsewhere."""
    curve = curve_of({"a": (100, 0.1)}, turns=4).with_columns(censored=pl.Series([0, 3, 0, 9]))
    ticks = [line for line in plots.curve(curve).axes[0].lines if line.get_marker() == "|"]
    assert [list(line.get_xdata()) for line in ticks] == [[2.5, 4.5]]


@pytest.mark.integration
def test_names_at_the_ends_do_not_overlap(curve_of):
    """Four curves that end together are still told apart."""
    (ax,) = plots.curve(curve_of({name: (100, 0.1 + place / 1000) for place, name in enumerate("abcd")})).axes
    ax.figure.draw_without_rendering()
    names = [text for text in ax.texts if text.get_text() in "abcd"]
    boxes = sorted((Text.get_window_extent(name) for name in names), key=lambda box: box.y0)
    assert len(boxes) == 4
    assert all(below.y1 <= above.y0 + 1 for below, above in pairwise(boxes))


@pytest.mark.integration
@pytest.mark.parametrize(("groups", "panels"), [(1, None), (2, None), (4, None), (5, 5), (9, 9), (30, 30)])
def test_more_than_four_groups_have_panels_of_their_own(curve_of, groups, panels):
    """Panels share their axes, highest group first, and nothing is cut off."""
    axes = plots.curve(curve_of({f"model {k}": (100 + k, 0.01 + k / 200) for k in range(groups)}, turns=12)).axes
    if panels is None:
        assert len(axes) == 1
        return
    assert len(axes) == panels
    assert axes[0].get_title(loc="left") == f"model {groups - 1}"
    assert len({ax.get_ylim() for ax in axes}) == len({ax.get_xlim() for ax in axes}) == 1
    assert len({tuple(ax.get_xticks()) for ax in axes}) == 1


@pytest.mark.integration
def test_many_curves_in_one_ax_have_a_legend(curve_of):
    """With ax= everything is drawn into it, whatever the number."""
    ax = plt.figure(layout="constrained").add_subplot()
    assert plots.curve(curve_of({f"model {k}": (50, 0.01 * k) for k in range(9)}), ax=ax).axes == (ax,)
    assert len(ax.get_legend().get_texts()) == 9
    assert len(table_of(ax)[0]) == 9


@pytest.mark.integration
def test_causes_are_curves_of_one_panel_per_group(curve_of):
    """Incidence: endings are the curves, groups the panels, and the rollouts at risk stand once."""
    curve = pl.concat([curve_of(TWO, kind="incidence", ending=ending) for ending in ("success", "gave_up")])
    axes = plots.curve(curve).axes
    assert [ax.get_title(loc="left") for ax in axes] == ["a", "b"]
    assert {"success", "attack gave up"} <= set(written(axes[0]))
    assert table_of(axes[0])[0] == ["at risk"]
    (one,) = plots.curve(curve, ax=plt.figure().add_subplot()).axes
    assert "a · attack gave up" in written(one)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("success", "attack success by turn t"),
        ("survival", "share without attack success after turn t, if runs ended for no other reason"),
        ("hazard", "attack success at turn t, among rollouts at risk"),
        ("incidence", "share ended by turn t, by cause"),
    ],
)
def test_the_height_is_named_by_the_kind(curve_of, kind, words):
    """Success is said to be as run, survival to be hypothetical."""
    assert plots.curve(curve_of(TWO, kind=kind)).axes[0].get_ylabel().replace("\n", " ") == words


@pytest.mark.integration
def test_several_kinds_are_panels(curve_of):
    """Without a choice, one panel for each kind, each with its own label; with one, a single Axes."""
    curve = pl.concat([curve_of(TWO), curve_of(TWO, kind="survival")])
    axes = plots.curve(curve).axes
    assert ["without" in ax.get_ylabel() for ax in axes] == [False, True]
    assert len(plots.curve(curve, kind="success").axes) == 1
    with pytest.raises(ArgumentError, match="choose metric= and kind="):
        plots.curve(curve, ax=plt.figure().add_subplot())


@pytest.mark.integration
def test_several_levels_are_bands_in_one_another(curve_of):
    """One line, two bands."""
    (ax,) = plots.curve(curve_of({"a": (100, 0.1)}, levels=(0.5, 0.95))).axes
    assert len(ax.collections) == 2
    assert len([line for line in ax.lines if len(line.get_xdata()) > 15]) == 1
    assert len(plots.curve(curve_of({"a": (100, 0.1)}, levels=(0.5, 0.95)), level=0.95).axes[0].collections) == 1


@pytest.mark.integration
def test_attempts_are_points_at_their_k(curve_of):
    """asr@k says nothing between two k: markers with whiskers, ticks at each k."""
    curve = curve_of(TWO, kind="asr@k", axis="attempt").filter(pl.col("at").is_in([1.0, 5.0, 10.0]))
    (ax,) = plots.curve(curve).axes
    assert list(ax.get_xticks()) == [1, 5, 10]
    assert ax.get_xlabel() == "attempt"


@pytest.mark.integration
def test_budgets_over_two_decades_are_logarithmic(curve_of):
    """Tokens from 10 to 100,000 stand on a logarithmic axis; from 10 to 500 on a plain one."""
    wide = curve_of({"a": (50, 0.1)}, turns=5, axis="tokens").with_columns(at=pl.Series([10.0, 100.0, 1e3, 1e4, 1e5]))
    assert plots.curve(wide).axes[0].get_xscale() == "log"
    narrow = wide.with_columns(at=pl.Series([10.0, 50.0, 100.0, 200.0, 500.0]))
    assert plots.curve(narrow).axes[0].get_xscale() == "linear"


def test_nothing_to_draw_is_said(curve_of):
    """No rows, no such kind, a position twice, no curve: one sentence each."""
    curve = curve_of(TWO)
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: plots.curve(curve.clear()), "no rows"),
        (lambda: plots.curve(curve, kind="nonsense"), "available: success"),
        (lambda: plots.curve(curve.with_columns(target=pl.lit("same"))), "occurs twice"),
        (lambda: plots.curve(curve.drop("at")), "lacks at"),
        (lambda: plots.curve(curve.with_columns(at=pl.lit(None, pl.Float64))), "no row has a position"),
    ]
    for call, words in calls:
        with pytest.raises(ArgumentError, match=words):
            call()


@pytest.mark.integration
def test_a_group_without_estimates_is_named_in_the_table_only(curve_of):
    """All null: nothing to draw, nothing raised."""
    curve = curve_of(TWO)
    empty = curve.filter(target="b").with_columns(
        pl.lit(None, pl.Float64).alias(name) for name in ("estimate", "low", "high")
    )
    (ax,) = plots.curve(pl.concat([curve.filter(target="a"), empty])).axes
    assert table_of(ax)[0] == ["a", "b"]
    plots.curve(empty)


@pytest.mark.integration
def test_a_gap_in_a_curve_is_a_gap(curve_of):
    """A null estimate between others breaks the line."""
    gap = pl.when(pl.col("at") == 2).then(None).otherwise(pl.col("estimate"))
    (ax,) = plots.curve(curve_of({"a": (100, 0.1)}, turns=4).with_columns(estimate=gap)).axes
    assert any(np.isnan(line.get_ydata()).any() for line in ax.lines)


@pytest.mark.integration
def test_input_and_settings_are_as_before(curve_of):
    """Neither the frame nor rcParams change."""
    curve = curve_of(TWO)
    before, settings_before = curve.clone(), dict(plt.rcParams)
    plots.curve(curve, title="costs $5 and $6")
    assert curve.equals(before)
    assert dict(plt.rcParams) == settings_before


@pytest.mark.integration
def test_a_frame_without_groups_is_one_curve_without_a_name(curve_of):
    """Nothing to tell apart, nothing named."""
    (ax,) = plots.curve(curve_of({"only": (50, 0.1)}, by=None)).axes
    assert written(ax) == []
    assert table_of(ax)[0] == [""]


@pytest.mark.integration
def test_no_text_is_smaller_than_nine_points(curve_of):
    """Small multiples included."""
    axes = plots.curve(curve_of({str(k): (50, 0.01 * k) for k in range(6)})).axes
    assert min(text.get_fontsize() for text in axes[0].figure.findobj(Text) if text.get_text()) >= 9


@pytest.mark.integration
@pytest.mark.parametrize("names", [["通义千问", "🙂"], ["$a$", "b_c"], ["", "x" * 90]])
def test_odd_names_are_drawn(curve_of, names):
    """No warning, no mathematics, no overflow of the figure."""
    plot = plots.curve(curve_of({name: (50, 0.05 * place) for place, name in enumerate(names, 1)}))
    assert plot.svg().endswith("</svg>\n")


SHARES = st.none() | st.floats(0, 1) | st.integers(-(10**6), 10**6).map(lambda number: number / 16)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "target": st.sampled_from(["a", "b", None, "€", "e", "f"]),
            "metric": st.sampled_from(["time_to_success", "time_to_refusal"]),
            "kind": st.sampled_from(["success", "survival", "hazard", "incidence", "asr@k", "own"]),
            "axis": st.sampled_from(["turn", "tokens"]),
            "ending": st.sampled_from([None, "success", "gave_up"]),
            "at": st.none() | st.integers(0, 40).map(float) | st.floats(0, 1e9),
            "level": st.sampled_from([0.5, 0.95]),
            "estimate": SHARES,
            "low": SHARES,
            "high": SHARES,
            "at_risk": st.none() | st.integers(0, 10**6),
            "censored": st.none() | st.integers(0, 10**6),
        }
    ),
    min_size=1,
    max_size=12,
).map(lambda rows: told_once(placed(rows)))  # made so: filters can starve the search


def placed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, one of which has a place: the first, where none had."""
    placeless = all(row["at"] is None for row in rows)
    return [rows[0] | {"at": 0.0}, *rows[1:]] if placeless else rows


def told_once(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without those that say a second time what is at one place."""
    keys = ("target", "metric", "kind", "axis", "ending", "at", "level")
    return list({tuple(row[name] for name in keys): row for row in rows}.values())


def frame_of(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"target": pl.String, **schema.CURVE.dtypes}, orient="row")


@pytest.mark.integration
@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_marks_of_any_finite_frame(rows):
    """Steps never run backwards, bands never leave [0, 1]."""
    marks = plots.marks.curve(frame_of(rows))
    assert (marks["until"] >= marks["at"]).all()
    ends = marks.select("low", "high").unpivot()["value"].drop_nulls()
    assert ends.is_between(0, 1).all()


@pytest.mark.integration
def test_causes_of_different_lengths_share_the_row_of_the_longest():
    """The shorter one stands first: which row is shown is looked up by place, not by comparing frames."""
    told = {"metric": "time_to_success", "kind": "incidence", "axis": "turn", "level": 0.95, "at_risk": 9}
    told |= {"estimate": 0.5, "low": 0.4, "high": 0.6}
    places = [("gave_up", 1.0), ("success", 1.0), ("success", 2.0)]
    rows = [told | {"ending": ending, "at": at} for ending, at in places]
    assert plots.curve(pl.DataFrame(rows)).svg().endswith("</svg>\n")


@pytest.mark.integration
def test_positions_that_no_logarithmic_axis_holds_are_drawn():
    """Ticks of 324 decades overflow; such positions are on an axis of numbers."""
    told = {"metric": "time_to_success", "kind": "success", "axis": "tokens", "level": 0.95}
    plot = plots.curve(
        pl.DataFrame([told | {"at": at, "estimate": 0.5, "low": 0.4, "high": 0.6} for at in (5e-324, 1.0)])
    )
    assert plot.axes[0].get_xscale() == "linear"
    assert plot.svg().endswith("</svg>\n")


@pytest.mark.integration
@given(ROWS)
@settings(max_examples=8, deadline=None)
def test_any_finite_frame_is_drawn(rows):
    """Drawing never raises and never warns."""
    svg = plots.curve(frame_of(rows)).svg()
    plt.close("all")
    assert svg.endswith("</svg>\n")


def test_differences_of_several_groups_are_a_curve_each(curve_of):
    """`rw.comparisons.curve_difference` names its groups in `group`, which is no grouping column; one group needs no name."""
    curves = curve_of(TWO, kind="difference").rename({"target": "group"}).with_columns(baseline=pl.lit("c"))
    assert plots.marks.curve(curves)["group"].unique(maintain_order=True).to_list() == ["a", "b"]
    assert plots.marks.curve(curves.filter(group="a"))["group"].unique().to_list() == ["all rollouts"]
    assert {"a", "b"} <= set(written(plots.curve(curves).axes[0]))


@pytest.mark.integration
def test_a_long_hazard_is_a_line_with_a_band():
    """Up to thirty positions have whiskers; more are a line, as whiskers would be a wall."""
    told = {"metric": "time_to_success", "kind": "hazard", "axis": "turn", "level": 0.95, "at_risk": 40}
    rows = [told | {"at": float(turn), "estimate": 0.1, "low": 0.05, "high": 0.2} for turn in range(1, 32)]
    assert set(plots.marks.curve(pl.DataFrame(rows[:-1]))["style"]) == {"point"}
    assert set(plots.marks.curve(pl.DataFrame(rows))["style"]) == {"line"}
    assert plots.curve(pl.DataFrame(rows)).axes[0].collections  # the band
    few = pl.DataFrame(rows).with_columns(at_risk=50 - pl.col("at").cast(pl.Int64) * 45 // 31)
    # A garland of hollow points says nothing: 50 - 45 turn / 31 are ten rollouts at turn 28.
    assert plots.curve(few).caption.endswith("Each curve ends where fewer than 10 rollouts are at risk.")
    assert plots.marks.curve(few)["at"].max() == 28


@pytest.mark.integration
def test_a_difference_of_shares_is_in_points():
    """Its ticks have a sign and no per cent, and the axis says so."""
    told = {"metric": "time_to_success", "kind": "difference", "axis": "turn", "level": 0.95, "at_risk": 40}
    rows = [told | {"at": at, "estimate": -0.2 * at, "low": -0.2 * at - 0.1, "high": 0.1} for at in (1.0, 2.0)]
    (ax,) = plots.curve(pl.DataFrame(rows)).axes
    ax.figure.draw_without_rendering()
    shown = {label.get_text() for label in ax.get_yticklabels()}
    assert "−40" in shown
    assert "%" not in "".join(shown)
    assert " ".join(ax.get_ylabel().split()).endswith("in points")


@pytest.mark.integration
def test_long_names_of_several_panels_are_in_a_key(curve_of):
    """They do not narrow the curves: a key above has them whole, and names in the table are shortened."""

    def drawn(*names: str) -> plots.Plot:
        curve = curve_of(dict(zip(names, TWO.values(), strict=True)))
        both = pl.concat([curve, curve.with_columns(metric=pl.lit("time_to_refusal"))])
        plot = plots.curve(both)
        assert len([ax for ax in plot.axes if ax.get_lines()]) >= 2
        return plot

    names = ("openai/gpt-4o-mini-2024-07-18-with-guardrails-and-filters", "llama-3.1-70b-instruct-abliterated")
    short, long = drawn("a", "b"), drawn(*names)
    assert short.figure.legends == []
    (key,) = long.figure.legends
    assert {text.get_text().replace("\n", "") for text in key.get_texts()} == set(names)
    assert long.axes[0].get_window_extent().width >= short.axes[0].get_window_extent().width * 0.9
