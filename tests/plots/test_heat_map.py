# mypy: disable-error-code="attr-defined, union-attr"
"""Groups crossed with groups: what stands in each cell, and that nothing unknown looks like 0."""

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

import rollwise as rw
from rollwise import plots
from rollwise.errors import ArgumentError
from rollwise.plots import theme
from rollwise.plots.heat_map import MARKS
from rollwise.schema import labels


@pytest.fixture(scope="module")
def crossed() -> pl.DataFrame:
    """Three categories by two attacks, one pair never tried, with pooled margins."""
    tried = {("x", "PAIR"): 8, ("y", "PAIR"): 2, ("z", "PAIR"): 0, ("x", "GCG"): 9, ("z", "GCG"): 1}
    rows = [
        {"rollout_id": f"{category}{attack}{place}", "goal": f"{category}{place}", "attack_success": place < successes}
        | {"category": category, "attack": attack}
        for (category, attack), successes in tried.items()
        for place in range(10)
    ]
    return rw.summarize(pl.DataFrame(rows), by=["category", "attack"], metrics="attack_success", margins=True)


def test_marks_are_one_row_per_cell_with_its_margins(crossed):
    """Successes of n in each cell; rows and columns by their pooled rate, the pooled ones last."""
    marks = plots.marks.heat_map(crossed)
    assert marks.schema == pl.Schema(MARKS)
    cells = {(row["row_name"], row["column_name"]): row["text"] for row in marks.iter_rows(named=True)}
    assert cells == {
        ("x", "GCG"): "9/10",
        ("x", "PAIR"): "8/10",
        ("x", "all"): "17/20",
        ("y", "GCG"): "",
        ("y", "PAIR"): "2/10",
        ("y", "all"): "2/10",
        ("z", "GCG"): "1/10",
        ("z", "PAIR"): "0/10",
        ("z", "all"): "1/20",
        ("all", "GCG"): "10/20",
        ("all", "PAIR"): "10/30",
        ("all", "all"): "20/50",
    }
    assert marks.unique("row", maintain_order=True).sort("row")["row_name"].to_list() == ["x", "y", "z", "all"]
    assert marks.unique("column", maintain_order=True).sort("column")["column_name"].to_list() == ["GCG", "PAIR", "all"]
    assert marks.filter("margin").height == 6


@pytest.mark.integration
def test_what_was_never_tried_is_hatched_and_never_zero(crossed):
    """A missing pair has no estimate, no color of its own and no words; none of ten has both."""
    marks = plots.marks.heat_map(crossed)
    missing = marks.filter(pl.col("row_name") == "y", pl.col("column_name") == "GCG").row(0, named=True)
    assert (missing["shape"], missing["estimate"], missing["strength"], missing["text"]) == ("missing", None, None, "")
    none_of_ten = marks.filter(pl.col("row_name") == "z", pl.col("column_name") == "PAIR").row(0, named=True)
    assert (none_of_ten["shape"], none_of_ten["estimate"], none_of_ten["text"]) == ("cell", 0.0, "0/10")
    (ax,) = plots.heat_map(crossed).axes
    hatched = [patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_hatch()]
    assert len(hatched) == 1
    assert (hatched[0].get_x(), hatched[0].get_y()) == (missing["column"], missing["row"])
    assert "Hatched: no rollouts." in ax.figure.get_supxlabel().replace("\n", " ")


def test_wider_intervals_are_paler(summary_of, rate):
    """The strength of the color falls with the width of the interval; it is least where there is none."""
    rows = [rate(k, n, category=str(n), attack=name) for n in (3, 30, 300) for k, name in ((n // 3, "a"), (0, "b"))]
    rows[0] |= {"low": None, "high": None}
    marks = plots.marks.heat_map(summary_of(rows)).sort(pl.col("row_name").cast(pl.Int32))
    strengths = dict(marks.filter(column_name="b").select("row_name", "strength").rows())
    assert strengths["3"] < strengths["30"] < strengths["300"] < 1
    widths = dict(marks.filter(column_name="b").select("row_name", pl.col("high") - pl.col("low")).rows())
    assert strengths["30"] == pytest.approx(1 - 0.7 * widths["30"])
    alone = marks.filter(column_name="a", row_name="3").row(0, named=True)
    assert (alone["shape"], alone["strength"], alone["text"]) == ("point", pytest.approx(0.3), "1/3")


@pytest.mark.integration
def test_half_judged_and_unknown_cells_say_so(summary_of, rate):
    """A withheld estimate shows its range; no known result shows a dash; both are hatched."""
    rows = [rate(5, 10, category=category, attack=attack) for category, attack in product("xy", "ab")]
    rows[0] |= {"estimate": None, "low": 0.2, "high": 0.9}
    rows[1] |= {"estimate": None, "low": None, "high": None, "n": 0, "reason": "no values"}
    (ax,) = plots.heat_map(summary_of(rows)).axes
    texts = [text.get_text() for text in ax.texts]
    assert sorted(texts) == ["20–90 %", "50 %\n5/10", "50 %\n5/10", labels.NOTHING]
    assert sum(bool(patch.get_hatch()) for patch in ax.patches) == 2
    assert "no known result" in ax.figure.get_supxlabel().replace("\n", " ")


@pytest.mark.integration
def test_colors_of_rates_are_the_same_in_every_figure(summary_of, rate):
    """Half is one color, whatever the greatest rate is; numbers spread over their own range."""
    (few,) = plots.heat_map(summary_of([rate(1, 4, category=c, attack=a) for c, a in product("xy", "ab")])).axes
    (many,) = plots.heat_map(
        summary_of([rate(1 + 3 * (c == "x"), 4, category=c, attack=a) for c, a in product("xy", "ab")])
    ).axes
    quarter = {text.get_position(): patch for text, patch in zip(few.texts, few.patches, strict=True)}
    same = [patch for text, patch in zip(many.texts, many.patches, strict=True) if text.get_text() == "25 %\n1/4"]
    assert {patch.get_facecolor() for patch in quarter.values()} == {patch.get_facecolor() for patch in same}


@pytest.mark.integration
def test_words_can_be_read_on_their_cells(crossed):
    """Contrast of at least 4.5 in light and in dark styles."""
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            (ax,) = plots.heat_map(crossed).axes
        colored = [patch for patch in ax.patches if patch.get_fill() and not patch.get_hatch()]
        centers = {tuple(patch.get_center().round(6)): patch.get_facecolor() for patch in colored}
        assert len(centers) == 11
        checked = 0
        for text in ax.texts:
            place = tuple(round(float(end), 6) for end in text.get_position())
            if place in centers:
                assert theme.contrast(text.get_color(), centers[place][:3]) >= 4.5
                checked += 1
        assert checked == 11


def test_three_columns_are_panels(summary_of, rate):
    """The third column gives a panel for each value, rows and columns alike in all; one ax cannot hold them."""
    summary = summary_of(
        [rate(ord(t) % 3 + k, 9, target=t, category=c, attack=str(k)) for t in "mn" for c in "xy" for k in range(3)]
    )
    axes = plots.heat_map(summary, rows="category", columns="attack").axes
    assert len(axes) == 2
    assert [ax.get_title(loc="left") for ax in axes] == ["m", "n"]
    with pytest.raises(ArgumentError, match="one ax cannot hold 2 panels"):
        plots.heat_map(summary, rows="category", columns="attack", ax=plt.figure().add_subplot())


def test_the_greatest_level_is_drawn_once(summary_of, rate):
    """With two levels the widest interval fades the cell."""
    rows = [rate(3, 9, level=level, category=c, attack=a) for level in (0.5, 0.95) for c in "xy" for a in "ab"]
    marks = plots.marks.heat_map(summary_of(rows))
    assert marks.height == 4
    assert marks["high"].max() == pytest.approx(rows[-1]["high"])


def test_nothing_to_draw_is_said(summary_of, rate, crossed):
    """No rows, one column, no such column, the same twice, a cell twice: one sentence each."""
    single = summary_of([rate(1, 9, category=name) for name in "xy"])
    twice = summary_of([rate(1, 9, target=name, category="x", attack="a") for name in "mn"])
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: plots.heat_map(crossed.clear()), "no rows"),
        (lambda: plots.heat_map(single), "crosses two columns"),
        (lambda: plots.heat_map(twice), "rows= and columns="),
        (lambda: plots.heat_map(crossed, rows="nonsense"), "attack, category"),
        (lambda: plots.heat_map(crossed, rows="attack", columns="attack"), "both 'attack'"),
        (lambda: plots.heat_map(pl.concat([crossed, crossed])), "occurs twice"),
        (lambda: plots.heat_map(crossed, metric="num_turns"), "attack_success"),
        (lambda: plots.heat_map({"a": 1}), "not a frame"),
    ]
    for call, words in calls:
        with pytest.raises(ArgumentError, match=words):
            call()


def test_a_frame_from_a_file_draws_the_same(crossed, tmp_path):
    """What was written to Parquet and read again gives the same marks."""
    rw.write(crossed, tmp_path / "summary.parquet")
    again = pl.read_parquet(tmp_path / "summary.parquet")
    assert plots.marks.heat_map(again).equals(plots.marks.heat_map(crossed))


def test_the_alternative_text_leaves_the_margins_out(crossed):
    """Five cells were tried; the pooled ones are no groups."""
    said = labels.alt_text(crossed)
    assert said.startswith("Attack success by category and attack, from 0 %")
    assert said.endswith("5 groups.")
    assert "(z · PAIR)" in said
    assert "(x · GCG)" in said


@pytest.mark.integration
def test_no_room_leaves_the_words_out(crossed):
    """In Axes that are too small for words the colors stay."""
    figure = plt.figure(figsize=(1.2, 1.0))
    (ax,) = plots.heat_map(crossed, ax=figure.add_subplot(), caption=False).axes
    assert not ax.texts
    assert sum(patch.get_fill() for patch in ax.patches) == 12
    (roomy,) = plots.heat_map(crossed, ax=plt.figure(figsize=(8, 6)).add_subplot()).axes
    assert {"90 %\n9/10", "0 %\n0/10"} <= {text.get_text() for text in roomy.texts}


@pytest.mark.integration
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 3), (40, 12)])
def test_names_and_words_do_not_run_into_each_other(summary_of, rate, rows, columns):
    """At every size, letters stay in their cells and names in their rows."""
    summary = summary_of(
        [
            rate((7 * r + c) % 101, 100, category=f"{r} 类别 of a long $name$", attack=f"attack {c}")
            for r in range(rows)
            for c in range(columns)
        ]
    )
    (ax,) = plots.heat_map(summary).axes
    figure = ax.figure
    with theme.quiet():
        figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    cell = ax.transData.transform((1, 0))[0] - ax.transData.transform((0, 0))[0]
    high = abs(ax.transData.transform((0, 1))[1] - ax.transData.transform((0, 0))[1])
    assert len(ax.texts) == rows * columns
    for text in ax.texts:
        box = text.get_window_extent(renderer)
        assert box.width <= cell
        assert box.height <= high
    names = [label.get_window_extent(renderer) for label in ax.get_yticklabels()]
    assert all(above.y0 >= below.y1 - 1 for above, below in pairwise(names))
    assert min(name.x0 for name in names) >= -1


@pytest.mark.integration
@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.sampled_from("xyz"), st.sampled_from("ab"), st.integers(0, 9), st.booleans()),
        min_size=1,
        unique_by=lambda cell: cell[:2],
    )
)
def test_every_pair_has_one_mark_and_only_known_ones_a_color(cells):
    """Any subset of cells, any of them unknown: the marks are the full cross, and colored exactly where known."""
    base = {"metric": "attack_success", "statistic": "mean", "level": 0.95}
    summary = pl.DataFrame(
        [
            base
            | {"category": c, "attack": a, "n": 9 if known else 0, "estimate": k / 9 if known else None}
            | {"low": 0.0 if known else None, "high": 1.0 if known else None}
            for c, a, k, known in cells
        ],
        schema_overrides={"estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64},
    )
    marks = plots.marks.heat_map(summary, rows="category", columns="attack")
    assert marks.height == len({c for c, *_ in cells}) * len({a for _, a, *_ in cells})
    colored = {(row["row_name"], row["column_name"]) for row in marks.drop_nulls("strength").iter_rows(named=True)}
    assert colored == {(c, a) for c, a, _, known in cells if known}
    assert not marks.filter(pl.col("estimate").is_null())["text"].str.contains("0").any()


def test_reasons_that_differ_in_numbers_alone_are_one():
    """The range of each number over the rows; another reason stays by itself, and a row without one has none."""
    unjudged = "{} of 15 rollouts have unjudged turns"
    reasons = [unjudged.format(11), None, unjudged.format(9), "no values", unjudged.format("1,011")]
    merged = labels.merge_reasons(pl.DataFrame({"reason": reasons}))["reason"].to_list()
    one = "9–1,011 of 15 rollouts have unjudged turns"
    assert merged == [one, None, one, "no values", one]
    nothing = pl.DataFrame({"reason": [None]}, schema={"reason": pl.String})
    assert labels.merge_reasons(nothing).equals(nothing)


@pytest.mark.integration
def test_long_titles_of_panels_are_no_wider_than_their_cells(crossed):
    """The names of three targets, as long as a path of a checkpoint: their panels stay beside each other."""
    names = [f"org/llama-3.3-70b-instruct-safety-tuned-checkpoint-{step}-of-12000" for step in (4000, 8000, 12000)]
    summary = pl.concat([crossed.with_columns(target=pl.lit(name)) for name in names])
    plot = plots.heat_map(summary, rows="category", columns="attack")
    plot.svg()
    titles = [ax.title if ax.get_title() else ax._left_title for ax in plot.axes]
    boxes = [title.get_window_extent() for title in titles]
    assert len({title.get_text() for title in titles}) == 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    assert boxes[-1].x1 < plot.figure.bbox.x1
