# mypy: disable-error-code="arg-type, operator, union-attr"
"""Groups one below another: what is drawn, and that it is drawn."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import rollwise as rw
from rollwise import plots, schema
from rollwise.errors import ArgumentError
from rollwise.plots.forest import MARKS


def test_marks_are_one_row_per_group_greatest_first(summary_of, rate):
    """Rows stand by estimate; the count is k of n; the text carries the interval."""
    marks = plots.marks.forest(
        summary_of([rate(0, 144, target="a"), rate(69, 144, target="b"), rate(3, 30, target="c")])
    )
    assert marks.schema == pl.Schema(MARKS)
    assert marks.select("row", "group", "count", "text", "shape").rows() == [
        (0, "b", "69/144", "47.9 % [39.9, 56.0]", "interval"),
        (1, "c", "3/30", "10 % [3, 26]", "interval"),
        (2, "a", "0/144", "0.0 % [0.0, 2.6]", "interval"),
    ]
    assert marks["unit"].unique().to_list() == ["goals"]


def test_the_order_of_the_frame_is_kept_on_request(summary_of, rate):
    """Without sorting, rows stand as in the frame."""
    marks = plots.marks.forest(summary_of([rate(1, 9, target="b"), rate(8, 9, target="a")]), sort=False)
    assert marks["group"].to_list() == ["b", "a"]


def test_shapes_say_what_is_missing(summary_of, rate):
    """No interval, one end, no estimate, nothing: each has its own shape, and a note where nothing else is drawn."""
    summary = summary_of(
        [
            rate(9, 10, target="point", low=None, high=None, reason="one cluster"),
            rate(8, 10, target="one", low=None),
            rate(7, 10, target="range", estimate=None, low=0.2, high=0.9, bound_low=0.3, bound_high=0.8),
            rate(6, 10, target="open", estimate=None, low=0.1, high=None, bound_low=None),
            rate(0, 10, target="empty") | {"estimate": None, "low": None, "high": None, "n": 0},
        ]
    )
    marks = {row["group"]: row for row in plots.marks.forest(summary).to_dicts()}
    assert {name: row["shape"] for name, row in marks.items()} == {
        "point": "point",
        "one": "one-sided",
        "range": "range",
        "open": "range",
        "empty": "empty",
    }
    assert marks["point"]["note"] == "no interval"
    assert marks["point"]["reason"] == "one cluster"
    assert marks["empty"]["note"] == "no estimate"
    assert (marks["range"]["box_low"], marks["range"]["box_high"]) == (0.3, 0.8)
    assert marks["range"]["text"] == "20–90 %"
    assert marks["open"]["box_low"] is None


def test_infinity_and_nan_are_no_values(summary_of, rate):
    """They are drawn like null."""
    marks = plots.marks.forest(summary_of([rate(1, 2, target="a", low=float("-inf"), high=float("nan"))]))
    assert marks.select("shape", "low", "high").row(0) == ("point", None, None)


def test_two_levels_are_a_trunk_on_a_twig(summary_of, rate):
    """The widest level is the twig; the text is that of the widest."""
    marks = plots.marks.forest(summary_of([rate(5, 20, target="a", level=level) for level in (0.5, 0.95)]))
    assert marks.select("line", "level").rows() == [("twig", 0.95), ("trunk", 0.5)]


def test_counts_are_successes_only_where_the_estimate_is_their_share(summary_of, rate, mean_row):
    """A weighted rate, or a mean, shows n alone."""
    summary = summary_of(
        [rate(5, 20, target="a"), rate(5, 20, target="b", estimate=0.333), mean_row(4.0, 1.0, target="a")]
    )
    assert plots.marks.forest(summary)["count"].to_list() == ["20", "5/20", "100"]


def test_colors_go_with_names(summary_of, rate):
    """The same names look alike in every figure; a color may be settled from outside."""
    rows = [rate(k, 20, target=name) for k, name in enumerate("abc")]
    one, other = plots.marks.forest(summary_of(rows)), plots.marks.forest(summary_of(rows[::-1]))
    assert dict(one.select("group", "color").rows()) == dict(other.select("group", "color").rows())
    assert one["color"].n_unique() == one["marker"].n_unique() == 3
    assert "#123456" in plots.marks.forest(summary_of(rows), colors={"b": "#123456"})["color"].to_list()


def test_many_groups_are_colored_by_their_first_column(summary_of, rate):
    """More groups than colors share the color of their target."""
    rows = [rate(1, 9, target=target, attack=str(attack)) for target in "ab" for attack in range(6)]
    marks = plots.marks.forest(summary_of(rows))
    assert marks["color"].n_unique() == 2
    assert marks["group"][0].count(" · ") == 1


def test_null_groups_have_a_name(summary_of, rate):
    """A null is "(none)", and stays apart from a group that is called so."""
    marks = plots.marks.forest(summary_of([rate(1, 9, target=None), rate(0, 9, target="(none)")]))
    assert marks["group"].to_list() == ["(none)", "(none) (2)"]


def test_nothing_to_draw_is_said(summary_of, rate):
    """No rows, no such metric, no such column, a group twice, a frame of another kind: one sentence each."""
    summary = summary_of([rate(1, 9, target="a", attack=name) for name in "xy"])
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: plots.forest(summary.clear()), "no rows"),
        (lambda: plots.forest(summary, metric="nonsense"), "attack_success"),
        (lambda: plots.forest(summary, by="nonsense"), "attack, target"),
        (lambda: plots.forest(summary, by="target"), "occurs twice"),
        (lambda: plots.forest(summary.drop("estimate")), "estimate"),
        (lambda: plots.forest([1, 2]), "not a frame"),
    ]
    for call, words in calls:
        with pytest.raises(ArgumentError, match=words):
            call()


@pytest.mark.integration
def test_several_metrics_are_panels_with_the_same_rows(summary_of, rate, mean_row):
    """One per metric and statistic, rows in the order of the first; one ax cannot hold them."""
    rows = [
        row for k, name in enumerate("ab") for row in (rate(k, 20, target=name), mean_row(5.0 - k, 1.0, target=name))
    ]
    summary = summary_of(rows)
    axes = plots.forest(summary).axes
    assert len(axes) == 2
    assert [ax.get_xlabel() for ax in axes] == ["attack success", "mean turns"]
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["b", "a"]
    assert axes[0].get_ylim() == axes[1].get_ylim()
    with pytest.raises(ArgumentError, match="choose metric="):
        plots.forest(summary, ax=plt.figure().add_subplot())


@pytest.mark.integration
def test_rates_start_at_zero_and_the_axis_ends_near_the_data(summary_of, rate):
    """Small rates are zoomed, large ones end at 100 %."""
    assert plots.forest(summary_of([rate(1, 200, target="a")])).axes[0].get_xlim() == (0.0, 0.05)
    assert plots.forest(summary_of([rate(199, 200, target="a")])).axes[0].get_xlim() == (0.0, 1.0)


@pytest.mark.integration
def test_a_zero_cell_has_a_whisker(summary_of, rate):
    """None of 144 is a point at 0 with a line to the upper end."""
    (ax,) = plots.forest(summary_of([rate(0, 144, target="a")])).axes
    spans = [tuple(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 2]
    assert any(left == 0 and 0.02 < right < 0.03 for left, right in spans)


def test_a_withheld_estimate_is_hatched(summary_of, rate):
    """The box spans what the rate could be, and no marker pretends to be a point."""
    row = rate(7, 10, target="a", estimate=None, low=0.2, high=0.9, bound_low=0.3, bound_high=0.8, reason="half-judged")
    (ax,) = plots.forest(summary_of([row])).axes
    boxes = [patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_hatch()]
    assert [(box.get_x(), round(box.get_width(), 6)) for box in boxes] == [(0.3, 0.5)]
    assert "o" not in {line.get_marker() for line in ax.lines}
    assert "Half-judged." in ax.figure.get_supxlabel()


@pytest.mark.integration
def test_ax_is_honored_and_nothing_else_is_touched(summary_of, rate):
    """The given ax is returned; input and rcParams are as before; no figure is opened."""
    summary = summary_of([rate(1, 9, target="a"), rate(2, 9, target=None)])
    before, settings_before = summary.clone(), dict(plt.rcParams)
    figure, ax = plt.subplots()
    assert plots.forest(summary, ax=ax).axes == (ax,)
    assert plt.get_fignums() == [figure.number]
    plots.forest(summary)
    assert summary.equals(before)
    assert dict(plt.rcParams) == settings_before


@pytest.mark.integration
def test_the_caption_says_how_and_can_be_left_out(summary_of, rate):
    """Method, level, n, unit; and what the unusual marks are."""
    summary = summary_of([rate(1, 9, target="a", low=None, high=None, reason="one cluster"), rate(2, 9, target="b")])
    said = plots.forest(summary).figure.get_supxlabel().replace("\n", " ")
    assert said == (
        "Intervals: 95 %, clustered Wilson; n = 9 rollouts in 20 goals per group. Hollow: no interval. ¹ One cluster."
    )
    assert plots.forest(summary, caption=False).figure.get_supxlabel() == ""


@pytest.mark.integration
def test_no_text_is_smaller_than_nine_points(summary_of, rate):
    """Whatever is written can be read."""
    (ax,) = plots.forest(summary_of([rate(k, 20, target=str(k), level=0.95) for k in range(4)])).axes
    assert min(text.get_fontsize() for text in ax.figure.findobj(Text) if text.get_text()) >= 9


@pytest.mark.integration
@pytest.mark.parametrize("groups", [1, 4, 9, 30])
def test_any_number_of_groups_is_drawn(summary_of, rate, groups):
    """Every row has a name, and nothing lies outside the figure."""
    rows = [rate(k % 7, 40 + k, target=f"a rather long name of the model number {k}") for k in range(groups)]
    (ax,) = plots.forest(summary_of(rows)).axes
    assert len(ax.get_yticks()) == groups
    figure = ax.figure
    figure.draw_without_rendering()
    inside = figure.bbox.padded(2)
    for text in ax.texts + ax.get_yticklabels():
        box = text.get_window_extent()
        assert inside.x0 <= box.x0
        assert box.x1 <= inside.x1
        assert inside.y0 <= box.y0
        assert box.y1 <= inside.y1


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", ["通义千问 · 越狱", "🙂 emoji", "$5 and $6 cost", "a_b^c \\frac{1}{2}", "\x1b[31mred\nnew line", ""]
)
def test_odd_names_are_drawn_as_they_are(summary_of, rate, name):
    """No mathematics, no control characters, no warnings about letters without a font."""
    svg = plots.forest(summary_of([rate(1, 9, target=name), rate(2, 9, target="plain")])).svg()
    assert "\x1b" not in svg
    if not name.isascii():
        assert name.split()[0] in svg


@pytest.mark.integration
def test_the_color_of_a_point_is_that_of_its_mark(summary_of, rate):
    """Paint follows the marks."""
    summary = summary_of([rate(3, 9, target="a"), rate(1, 9, target="b")])
    marks, (ax,) = plots.marks.forest(summary), plots.forest(summary).axes
    drawn = {to_hex(line.get_color()).upper() for line in ax.lines if line.get_marker() in "os"}
    assert drawn == {color.upper() for color in marks["color"]}


VALUES = st.none() | st.floats(-3.4e38, 3.4e38)  # what single precision holds
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "target": st.none() | st.text(max_size=12),
            "metric": st.sampled_from(["attack_success", "num_turns", "own"]),
            "statistic": st.sampled_from(["mean", "median"]),
            "level": st.sampled_from([0.5, 0.95]),
            "estimate": VALUES | st.floats(0, 1),
            "low": VALUES | st.floats(0, 1),
            "high": VALUES | st.floats(0, 1),
            "bound_low": st.none() | st.floats(0, 1),
            "bound_high": st.none() | st.floats(0, 1),
            "n": st.integers(0, 10**6),
            "n_clusters": st.none() | st.integers(0, 10**6),
            "reason": st.none() | st.text(max_size=40),
        }
    ),
    min_size=1,
    max_size=10,
    unique_by=lambda row: (row["target"], row["metric"], row["statistic"], row["level"]),
)


def frame_of(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"target": pl.String, **schema.SUMMARY.dtypes}, orient="row")


@pytest.mark.integration
@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_marks_of_any_finite_frame(rows):
    """Every group has a row in 0..k-1, every mark a color, in every finite frame."""
    marks = plots.marks.forest(frame_of(rows))
    assert marks.height == len(rows)
    assert sorted(set(marks["row"])) == list(range(marks["group"].n_unique()))
    assert marks["color"].null_count() == 0


@pytest.mark.integration
@given(ROWS)
@settings(max_examples=8, deadline=None)
def test_any_finite_frame_is_drawn(rows):
    """Drawing never raises and never warns."""
    forest_svg = plots.forest(frame_of(rows)).svg()
    plt.close("all")
    assert forest_svg.endswith("</svg>\n")


def test_a_corrected_rate_is_no_count_of_successes():
    """Where the labels find no error the corrected share of 8 in 20 is 8/20 again, by chance: no row says so."""
    rollouts = pl.DataFrame({"rollout_id": [f"r{n}" for n in range(20)], "attack_success": [n < 8 for n in range(20)]})
    truth = rollouts.select("rollout_id", label="attack_success")
    corrected = rw.judges.correct(rollouts, truth)
    assert corrected["estimate"].item() == pytest.approx(0.4)
    told = [text.get_text() for text in plots.forest(corrected).figure.findobj(Text)]
    assert {"8/20", "k/n"}.isdisjoint(told)
    assert {"20", "n"} <= set(told)


@pytest.mark.integration
@pytest.mark.parametrize(("size", "told"), [(1e-6, "4e−06"), (1e6, "−4,000,000"), (1e12, "−4T")])
def test_very_large_and_small_numbers_are_written_out(summary_of, mean_row, size, told):
    """No factor stands at the end of the axis, upon the last label and the numbers of the rows."""
    sign = 1 if size < 1 else -1
    (ax,) = plots.forest(summary_of([mean_row(sign * part * size, size, target=f"t{part}") for part in (2, 4, 6)])).axes
    ax.figure.draw_without_rendering()
    assert ax.xaxis.get_offset_text().get_text() == ""
    assert told in {label.get_text() for label in ax.get_xticklabels()}


@pytest.mark.integration
def test_ticks_above_many_rows_keep_off_the_headings(summary_of, rate):
    """The last label, half of it beyond the axis, and the heading of the numbers stand in rows of their own."""
    (ax,) = plots.forest(summary_of([rate(place, 30, target=f"t{place}") for place in range(5, 28)])).axes
    ax.figure.draw_without_rendering()
    above = [tick.label2.get_window_extent() for tick in ax.xaxis.get_major_ticks() if tick.label2.get_text()]
    headings = [one.get_window_extent() for one in ax.texts if one.get_text() in {"estimate [95 %]", "k/n", "goals"}]
    assert len(headings) == 3
    assert not any(one.overlaps(other) for one in above for other in headings)
    assert min(one.y0 for one in headings) >= max(one.y1 for one in above)


def test_a_note_leaves_its_words_to_the_caption_where_it_would_cover_names(summary_of, rate):
    """A hollow point at the right end of a narrow figure keeps its footnote alone; a wide one says it."""
    rows = [
        rate(k, 20, target=target, attack=attack, **more)
        for attack, k, more in (("GCG", 19, {"low": None, "high": None, "reason": "no variation"}), ("PAIR", 2, {}))
        for target in ("vicuna-13b-v1.5", "llama-2-7b-chat-hf")
    ]
    for size, said in (("slide", True), ((3.7, None), False)):
        plot = plots.forest(summary_of(rows), size=size, caption=True)
        (ax,) = plot.figure.axes
        notes = [text.get_text() for text in ax.texts if text.get_fontstyle() == "italic"]
        assert any("no interval" in note for note in notes) is said, (size, notes)
        assert any("¹" in note for note in notes)
        for text in ax.texts:
            if text.get_fontstyle() == "italic":
                assert text.get_window_extent().x0 >= ax.bbox.x0
