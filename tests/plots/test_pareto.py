# mypy: disable-error-code="union-attr"
"""Two metrics against one another: where each group stands, and which ones nothing beats."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt

import rollwise as rw
from rollwise import plots
from rollwise.errors import ArgumentError
from rollwise.plots.pareto_marks import MARKS


@pytest.fixture
def both(rate, summary_of) -> Callable[..., pl.DataFrame]:
    def pairs(groups: dict[str | None, tuple[int, int]], **more: Any) -> pl.DataFrame:
        """A SUMMARY of attack and task successes of 40, for each group."""
        rows = [
            {"target": name} | rate(k, 40) | {"metric": metric} | more
            for place, metric in enumerate(("attack_success", "task_success"))
            for name, k in ((name, pair[place]) for name, pair in groups.items())
        ]
        made: pl.DataFrame = summary_of(rows)
        return made

    return pairs


def test_marks_are_a_row_per_group_with_both_intervals(both):
    """The first metric is x, the second y; b is beaten by a, and the null group is named."""
    marks = plots.marks.pareto(both({"a": (4, 20), "b": (8, 16), None: (20, 36)}))
    assert marks.schema == pl.Schema(MARKS)
    assert marks.select("group", "x", "y", "pareto", "shape").rows() == [
        ("a", 0.1, 0.5, True, "point"),
        ("b", 0.2, 0.4, False, "point"),
        ("(none)", 0.5, 0.9, True, "point"),
    ]
    assert (marks["x_low"] < marks["x"]).all()
    assert (marks["y_high"] > marks["y"]).all()
    assert marks["text"][0].startswith("attack success 10.0 % [")


@pytest.mark.integration
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8))
def test_the_front_is_whatever_no_other_group_beats(pairs):
    """Against the definition, word for word."""
    rows = {
        "metric": ["attack_success"] * len(pairs) + ["task_success"] * len(pairs),
        "statistic": "mean",
        "level": 0.95,
    }
    estimates = [x / 10 for x, _ in pairs] + [y / 10 for _, y in pairs]
    frame = pl.DataFrame(
        {"target": [f"t{place}" for place in range(len(pairs))] * 2}
        | rows
        | {"estimate": estimates, "low": 0.0, "high": 1.0, "n": 10}
    )
    marks = plots.marks.pareto(frame)
    for (_, front), (x, y) in zip(marks.select("group", "pareto").rows(), pairs, strict=True):
        beaten = any(u <= x and v >= y and (u < x or v > y) for u, v in pairs)
        assert front is not beaten


@pytest.mark.integration
def test_the_drawn_front_is_a_staircase_that_ends_at_the_edges(both):
    """From the bottom at the least attack success to the right at the greatest task success."""
    (ax,) = plots.pareto(both({"a": (4, 20), "b": (8, 16), "c": (20, 36)}), caption=False).axes
    paths = [[tuple(point) for point in np.asarray(line.get_xydata()).tolist()] for line in ax.lines]
    path = next(points for points in paths if len(points) > 2)
    assert path[1:-1] == [(0.1, 0.5), (0.5, 0.5), (0.5, 0.9)]
    assert path[0] == (0.1, ax.get_ylim()[0])
    assert path[-1] == (ax.get_xlim()[1], 0.9)
    assert ax.get_xlabel() == "attack success (lower is better)"


@pytest.mark.integration
def test_either_metric_may_go_across(both):
    """x= and y= choose; the front follows."""
    frame = both({"a": (4, 20), "b": (8, 16)})
    (ax,) = plots.pareto(frame, x="task_success", y="attack_success").axes
    assert ax.get_ylabel() == "attack success (lower is better)"
    marks = plots.marks.pareto(frame, x="task_success")
    assert marks.select("x", "y").row(0) == (0.5, 0.1)
    assert marks["pareto"].to_list() == [True, False]


def test_unknown_estimates_are_dashed_or_said(both):
    """A withheld estimate is a dashed cross; a group without anything in one metric is named in the caption."""
    frame = both({"a": (4, 20), "held": (8, 16), "lost": (1, 1)})
    held, lost = pl.col("target") == "held", (pl.col("target") == "lost") & (pl.col("metric") == "task_success")
    frame = frame.with_columns(
        estimate=pl.when(held | lost).then(None).otherwise("estimate"),
        low=pl.when(lost).then(None).otherwise("low"),
        high=pl.when(lost).then(None).otherwise("high"),
    )
    marks = plots.marks.pareto(frame)
    assert marks.select("group", "shape", "pareto").rows() == [
        ("a", "point", True), ("held", "range", None), ("lost", "missing", None)
    ]  # fmt: skip
    said = plots.pareto(frame).figure.get_supxlabel().replace("\n", " ")
    assert "Dashed cross" in said
    assert "not drawn: lost." in said


@pytest.mark.integration
def test_names_keep_off_each_other_where_there_is_room(both):
    """Six groups on one figure: no name covers another."""
    (ax,) = plots.pareto(both({f"target {place}": (4 + 5 * place, 6 + 4 * place) for place in range(6)})).axes
    ax.figure.draw_without_rendering()
    names = [text for text in ax.texts if text.get_text().startswith("target")]
    assert len(names) == 6
    boxes = [text.get_window_extent() for text in names]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


@pytest.mark.integration
def test_many_groups_have_a_key(both):
    """Twenty in a figure, and twelve long ones in Axes of a column of a paper."""
    many = both({f"t{place:02}": (place, 2 * place) for place in range(20)})
    figure = plots.pareto(many).figure
    assert len(figure.legends[0].get_texts()) == 20
    narrow = plt.figure(figsize=(3.3, 2.8), layout="constrained").add_subplot()
    crowd = both(
        {f"a long name {place:02}": (10 + place % 3, 20 - place % 4) for place in range(11)} | {"best": (1, 39)}
    )
    assert plots.pareto(crowd, ax=narrow).axes == (narrow,)
    assert len({text.get_text() for text in narrow.get_legend().get_texts()}) == 12


@pytest.mark.integration
def test_hostile_names_are_drawn_as_they_are(both):
    """Dollars, newlines and backslashes are no formulae."""
    (ax,) = plots.pareto(both({"$x^$": (4, 20), "two\nlines \\frac{": (20, 30), "": (30, 35)})).axes
    ax.figure.draw_without_rendering()
    assert {"$x^$", "two lines \\frac{", "''"} <= {text.get_text().replace("\n", " ") for text in ax.texts}


def test_what_cannot_be_drawn_is_said(both, mean_row, summary_of):
    """One metric, three, a group twice, an unknown direction, nothing known: one sentence each."""
    frame = both({"a": (4, 20)})
    three = pl.concat([frame, frame.filter(metric="attack_success").with_columns(metric=pl.lit("harm"))])
    calls: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: plots.pareto(frame.filter(metric="task_success")),
            "needs two metrics, and the SUMMARY has task_success",
        ),
        (lambda: plots.pareto(three), "name them with x= and y="),
        (lambda: plots.pareto(three, x="harm"), "name them"),
        (lambda: plots.pareto(three, x="harm", y="harm"), "two metrics"),
        (lambda: plots.pareto(three, x="nonsense", y="harm"), "no metric 'nonsense'"),
        (lambda: plots.pareto(pl.concat([frame, frame])), "occurs twice"),
        (lambda: plots.pareto(three, x="harm", y="task_success"), "front=False"),
        (lambda: plots.pareto(three, x="harm", y="task_success"), "pass better={'harm': 'lower'} or 'higher'"),
        (
            lambda: plots.pareto(frame, better="higher"),  # type: ignore[arg-type]
            "better='higher' is not a mapping to 'higher' or 'lower'",
        ),
        (lambda: plots.pareto(frame, better={"harm": "lower"}), "better= names harm"),
        (lambda: plots.pareto(frame.with_columns(estimate=None, low=None, high=None)), "no group has"),
        (lambda: plots.pareto(frame.clear()), "no rows"),
        (lambda: plots.pareto("x"), "not a frame"),
    ]
    for call, words in calls:
        with pytest.raises(ArgumentError, match=words):
            call()
    (ax,) = plots.pareto(three, x="harm", y="task_success", front=False).axes
    assert ax.get_xlabel() == "harm"


def test_from_rollouts_to_a_figure(tmp_path):
    """Simulated rollouts with two metrics, summarized, written, and drawn alike."""
    turns, _ = rw.simulate(targets={"base": 0.3, "guarded": 0.02}, goals=20, attempts=2, seed=1)
    rollouts = rw.measure(turns, rw.metrics.attack_success())
    summary = rw.summarize(rollouts, by="target", metrics=["attack_success", "num_turns"])
    rw.write(summary, tmp_path / "summary.parquet")
    marks = plots.marks.pareto(summary, better={"num_turns": "higher"})
    assert marks.equals(
        plots.marks.pareto(pl.read_parquet(tmp_path / "summary.parquet"), better={"num_turns": "higher"})
    )
    assert plots.pareto(summary, better={"num_turns": "higher"}).axes[0].get_ylabel() == "mean turns (higher is better)"


def test_groups_at_one_point_share_a_name(both):
    """The last one hides the others: the caption says so, and their names are one text, which no line crosses."""
    groups = {"model-a": (40, 40), "model-b": (40, 40), "model-c": (40, 40), "other": (8, 16)}
    plot = plots.pareto(both(groups), size=(3.3, None))
    assert "At one point: model-a, model-b, model-c." in plot.caption
    assert "At one point" not in plots.pareto(both({"a": (4, 20), "b": (8, 16)})).caption
    (ax,) = plots.pareto(both(groups), size="page").axes
    names = [" ".join(text.get_text().split()) for text in ax.texts]
    assert sorted(names) == ["model-a, model-b, model-c", "other"]
