# mypy: disable-error-code="arg-type, operator, union-attr, attr-defined, index, type-var"
"""Two factors of a summary: rows show one, colors and markers the other; groups of few rollouts stand apart."""

import itertools
from typing import Any

import polars as pl
import pytest
from matplotlib import pyplot as plt

import rollwise as rw
from rollwise import metrics as m
from rollwise import plots
from rollwise.errors import ArgumentError
from rollwise.plots.forest import MARKS

RATES = {("a", "x"): 2, ("a", "y"): 8, ("b", "x"): 10, ("b", "y"): 14, ("c", "x"): 1, ("c", "y"): 3}


@pytest.fixture
def crossed(summary_of: Any, rate: Any) -> pl.DataFrame:
    """Three targets and two attacks, 20 rollouts each: 5, 12 and 2 of 20 on average."""
    return summary_of([rate(k, 20, target=target, attack=attack) for (target, attack), k in RATES.items()])


def grid(summary_of: Any, rate: Any, first: int, second: int) -> pl.DataFrame:
    cells = [(place, other) for place in range(first) for other in range(second)]
    return summary_of([rate(3 + one, 30 + two, target=f"t{one}", attack=f"a{two}") for one, two in cells])


def looks(marks: pl.DataFrame, column: str) -> dict[str, set[tuple[str, str]]]:
    """Colors and markers by value of a column of the marks."""
    return {
        value: set(marks.filter(pl.col(column) == value).select("color", "marker").rows())
        for value in marks[column].unique()
    }


def test_rows_are_the_first_and_colors_the_second(crossed: pl.DataFrame) -> None:
    """Rows by their pooled rate: b has (10 + 14) / 40 = 60 %, a 25 %, c 10 %; in each row x is above y, in one color each."""
    marks = plots.marks.forest(crossed)
    assert marks.schema == pl.Schema(MARKS)
    assert marks.select("row", "lane", "name", "part", "group", "count").rows() == [
        (0, 0, "b", "x", "b · x", "10/20"),
        (0, 1, "b", "y", "b · y", "14/20"),
        (1, 0, "a", "x", "a · x", "2/20"),
        (1, 1, "a", "y", "a · y", "8/20"),
        (2, 0, "c", "x", "c · x", "1/20"),
        (2, 1, "c", "y", "c · y", "3/20"),
    ]
    assert looks(marks, "part") == {"x": {("#0072B2", "o")}, "y": {("#E69F00", "s")}}


@pytest.mark.integration
def test_the_figure_names_each_row_once_and_has_a_key(crossed: pl.DataFrame) -> None:
    """Every group keeps its numbers, beside its mark."""
    plot = plots.forest(crossed)
    (ax,) = plot.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "a", "c"]
    (key,) = plot.figure.legends
    assert [text.get_text() for text in key.get_texts()] == ["x", "y"]
    told = {text.get_text(): text.xy[1] for text in ax.texts if text.get_text().endswith("/20")}
    points = {line.get_xdata()[0]: line.get_ydata()[0] for line in ax.lines if line.get_marker() in {"o", "s"}}
    assert told == {f"{round(20 * rate)}/20": at for rate, at in points.items()}
    assert len(told) == 6


def test_a_pooled_rate_counts_rollouts(summary_of: Any, rate: Any) -> None:
    """a: (9 + 10) / (10 + 100) = 17 %, below b with 20 of 100 twice; the mean of its two rates would be 50 %."""
    rows = [rate(9, 10, target="a", attack="x"), rate(10, 100, target="a", attack="y")]
    rows += [rate(20, 100, target="b", attack=attack) for attack in "xy"]
    marks = plots.marks.forest(summary_of(rows))
    assert marks.unique("row", maintain_order=True)["name"].to_list() == ["b", "a"]


def test_the_order_of_the_frame_is_kept_in_rows_and_in_them(summary_of: Any, rate: Any) -> None:
    """Without sorting; and numbers such as a temperature keep theirs in any case."""
    rows = [
        rate(k, 20, target=target, attack=attack)
        for k, (target, attack) in enumerate([("a", "y"), ("a", "x"), ("b", "y"), ("b", "x")])
    ]
    marks = plots.marks.forest(summary_of(rows), sort=False)
    assert marks["group"].to_list() == ["a · y", "a · x", "b · y", "b · x"]
    heated = [rate(k, 20, target=t, temperature=at) for t in "ab" for k, at in ((9, 10.0), (5, 2.0))]
    marks = plots.marks.forest(summary_of(heated, temperature=pl.Float64))
    assert marks["part"].to_list() == 2 * ["temperature 2", "temperature 10"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("sizes", "rows", "colors"),
    [((3, 4), 3, 4), ((7, 2), 7, 2), ((3, 5), 5, 3), ((4, 9), 9, 4), ((1, 6), 6, None), ((6, 1), 6, None)],
)
def test_the_factor_of_few_values_has_the_colors(
    summary_of: Any, rate: Any, sizes: tuple[int, int], rows: int, colors: int | None
) -> None:
    """The second of two if it has at most four values, else the first; a column of one value is no factor."""
    marks = plots.marks.forest(grid(summary_of, rate, *sizes))
    assert marks["row"].n_unique() == rows
    assert marks["part"].drop_nulls().n_unique() == (colors or 0)
    if colors:
        assert all(len(look) == 1 for look in looks(marks, "part").values())


@pytest.mark.integration
def test_two_factors_of_many_values_are_a_heat_map(summary_of: Any, rate: Any) -> None:
    """Five and more of both; by name one of them has the colors, or is refused if there are too few colors."""
    summary = grid(summary_of, rate, 5, 6)
    plot = plots.forest(summary)
    assert repr(plot) == repr(plots.heat_map(summary))
    assert plots.marks.forest(summary).equals(plots.marks.heat_map(summary))
    assert plots.marks.forest(summary, color="attack")["lane"].max() == 5
    assert plots.forest(summary, color="target").axes[0].get_xlabel() == "attack success"
    with pytest.raises(ArgumentError, match="'attack' has 8 values, and there are 7 colors"):
        plots.forest(grid(summary_of, rate, 5, 8), color="attack")


@pytest.mark.parametrize(
    ("color", "words"), [("atack", "no column 'atack' to color by; available: attack, target"), (3, "color")]
)
def test_a_color_that_is_none_is_refused(crossed: pl.DataFrame, color: Any, words: str) -> None:
    """One sentence, as for the only column."""
    with pytest.raises(ArgumentError, match=words):
        plots.forest(crossed, color=color)
    with pytest.raises(ArgumentError, match="is the only column"):
        plots.forest(crossed.filter(attack="x"), by="target", color="target")


def test_a_third_column_gives_each_group_a_row(summary_of: Any, rate: Any) -> None:
    """Unless one is named; then the others name the rows."""
    rows = [
        rate(k, 20, target=target, attack=attack, language=language)
        for k, (target, attack, language) in enumerate((t, a, s) for t in "ab" for a in "xy" for s in "mn")
    ]
    summary = summary_of(rows)
    marks = plots.marks.forest(summary)
    assert marks["row"].n_unique() == 8
    assert {value: len(look) for value, look in looks(marks, "group").items()} == dict.fromkeys(marks["group"], 1)
    assert marks["color"].n_unique() == 2  # by target
    named = plots.marks.forest(summary, color="attack")
    assert set(named["name"]) == {"a · m", "a · n", "b · m", "b · n"}


def test_columns_that_are_not_crossed_have_a_row_for_each_group(summary_of: Any, rate: Any) -> None:
    """Probes that belong to one tool each: rows of mostly empty places would say nothing."""
    pairs = [("a", "p"), ("a", "q"), ("b", "r"), ("b", "s"), ("c", "t")]
    marks = plots.marks.forest(summary_of([rate(3, 20, tool=tool, probe=probe) for tool, probe in pairs]))
    assert marks["row"].n_unique() == 5
    assert marks["note"].null_count() == 5


def test_a_combination_without_rollouts_says_so(crossed: pl.DataFrame) -> None:
    """Not an empty place that may be read as none of n."""
    summary = crossed.filter(~((pl.col("target") == "a") & (pl.col("attack") == "y")))
    marks = plots.marks.forest(summary)
    (missing,) = marks.filter(pl.col("note").is_not_null()).select("group", "note", "shape", "count").rows()
    assert missing == ("a · y", "no rollouts", "empty", None)
    assert "no rollouts" in [text.get_text() for text in plots.forest(summary).axes[0].texts]


def test_groups_of_few_rollouts_are_last_and_pale(summary_of: Any, rate: Any) -> None:
    """3 of 3 is no finding beside 9 of 20: below a rule, in a pale color; nine are few, ten are not."""
    summary = summary_of(
        [rate(3, 3, target="a"), rate(9, 20, target="b"), rate(8, 9, target="c"), rate(1, 10, target="d")]
    )
    marks = plots.marks.forest(summary)
    assert marks.select("group", "few").rows() == [("b", False), ("d", False), ("a", True), ("c", True)]
    plot = plots.forest(summary)
    (ax,) = plot.axes
    assert [text.get_text() for text in ax.texts].count("n < 10") == 1
    assert "Pale: fewer than 10 judged rollouts." in plot.caption
    strong = set(marks["color"])
    drawn = [line.get_color() for line in ax.lines if line.get_marker() in {"o", "s", "D", "^"}]
    assert [color in strong for color in drawn] == [True, True, False, False]
    low, high = (ax.texts[[t.get_text() for t in ax.texts].index(words)].xy[1] for words in ("1/10", "3/3"))
    (rule,) = [text.xy[1] for text in ax.texts if text.get_text() == "n < 10"]
    assert low < rule < high


@pytest.mark.integration
def test_where_all_groups_are_small_none_is_pale(summary_of: Any, rate: Any) -> None:
    """There is nothing larger beside them, and n is in the caption."""
    plot = plots.forest(summary_of([rate(1, 3, target="a"), rate(2, 9, target="b")]))
    assert "Pale" not in plot.caption
    assert "n < 10" not in [text.get_text() for text in plot.axes[0].texts]


@pytest.mark.integration
def test_few_rollouts_of_one_color_are_pale_in_their_row(summary_of: Any, rate: Any) -> None:
    """A row is below the rule only if all of its groups are small; and in the order of the frame no row moves."""
    rows = [rate(2, 3, target="a", attack="x"), rate(15, 20, target="a", attack="y")]
    rows += [rate(1, 20, target="b", attack="x"), rate(2, 20, target="b", attack="y")]
    rows += [rate(3, 3, target="c", attack="x"), rate(4, 4, target="c", attack="y")]
    marks = plots.marks.forest(summary_of(rows))
    assert marks.unique("row", maintain_order=True)["name"].to_list() == ["a", "b", "c"]
    assert marks["few"].to_list() == [True, False, False, False, True, True]
    ordered = plots.marks.forest(summary_of(rows[::-1]), sort=False)
    assert ordered["name"][0] == "c"
    assert "n < 10" not in [text.get_text() for text in plots.forest(summary_of(rows[::-1]), sort=False).axes[0].texts]


def test_one_palette_for_one_factor(crossed: pl.DataFrame) -> None:
    """The color of an attack is that of `palette` over attacks, whatever stands beside it; `colors=` settles it."""
    attacks = plots.palette(["x", "y"])
    for summary in (crossed, crossed.filter(pl.col("target") != "c")):
        marks = plots.marks.forest(summary)
        assert dict(marks.select("part", "color").unique().rows()) == attacks
    settled = plots.marks.forest(crossed, colors={"x": "#123456"})
    assert set(settled.filter(part="x")["color"]) == {"#123456"}


@pytest.mark.integration
@pytest.mark.parametrize("size", ["column", "page", "slide", (6.9, 2.4), (3.3, 1.5)])
def test_groups_of_a_row_keep_apart(crossed: pl.DataFrame, size: Any) -> None:
    """At any size they are in the order of the key, nearer to each other than to the next row."""
    (ax,) = plots.forest(crossed, size=size).axes
    at = sorted({line.get_ydata()[0] for line in ax.lines if line.get_marker() in {"o", "s"}})
    gaps = [after - before for before, after in itertools.pairwise(at)]
    assert len(at) == 6
    assert max(gaps[0::2]) < min(gaps[1::2])
    assert min(gaps) > 0


@pytest.mark.integration
def test_two_factors_in_axes_of_ones_own(crossed: pl.DataFrame) -> None:
    """With the key below them."""
    _, ax = plt.subplots(figsize=(6, 4))
    plots.forest(crossed, ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x", "y"]


@pytest.mark.integration
def test_differences_of_two_factors_have_rows_by_one() -> None:
    """By attack, each with the compared targets in their colors; a target has the color that it has elsewhere."""
    turns, _ = rw.simulate(targets={"a": 0.3, "b": 0.1, "c": 0.02}, attacks=("x", "y"), goals=15, turns=4, seed=1)
    rollouts = rw.measure(turns, m.attack_success())
    marks = plots.marks.contrast(rw.contrast(rollouts, of="target", baseline="a", by="attack"))
    assert set(marks["name"]) == {"x", "y"}
    assert {value: {color for color, _ in look} for value, look in looks(marks, "part").items()} == {
        name: {color} for name, color in plots.palette([*"abc"]).items() if name != "a"
    }
    single = plots.marks.contrast(rw.contrast(rollouts, of="target", baseline="a"))
    assert single["part"].null_count() == 2
    pairs = plots.marks.contrast(rw.contrast(rollouts, of="target", by="attack"))  # of all targets with each other
    assert pairs["row"].n_unique() == pairs.height == 6


@pytest.mark.integration
def test_curves_of_two_factors_have_a_panel_for_one_and_a_color_for_the_other(curve_of: Any) -> None:
    """The highest panel first; in each the curves have their colors, whether four or more."""
    groups = {("a", "x"): 0.1, ("a", "y"): 0.2, ("b", "x"): 0.3, ("b", "y"): 0.02, ("c", "x"): 0.05, ("c", "y"): 0.04}
    frame = pl.concat(
        curve_of({target: (90, hazard)}).insert_column(1, pl.lit(attack).alias("attack"))
        for (target, attack), hazard in groups.items()
    )
    for curve, titles in ((frame, ["b", "a", "c"]), (frame.filter(pl.col("target") != "c"), ["b", "a"])):
        marks = plots.marks.curve(curve)
        assert marks.unique("panel", maintain_order=True)["title"].to_list() == titles
        assert looks(marks, "group") == {"x": {("#0072B2", "o")}, "y": {("#E69F00", "s")}}
        assert marks.group_by("panel").agg(pl.col("series").n_unique())["series"].to_list() == [2] * len(titles)
    narrow = plots.curve(frame, size="column")
    assert len({round(ax.get_position().x0, 3) for ax in narrow.axes}) == 2  # in two columns, with the names above
    assert {text.get_text() for text in narrow.figure.legends[0].get_texts()} == {"x", "y"}
    _, ax = plt.subplots()  # one panel has names of both
    assert set(plots.marks.curve(frame, one_panel=True)["group"]) == {f"{a} · {b}" for a, b in groups}
    assert plots.curve(frame, ax=ax).axes == (ax,)
