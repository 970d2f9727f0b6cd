"""Two metrics over a choice, and against one another: three panels of one figure."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

import rollwise as rw
from rollwise import plots
from rollwise.errors import ArgumentError
from rollwise.plots import alternatives


@pytest.fixture
def swept(rate, summary_of) -> Callable[..., pl.DataFrame]:
    def make(values: dict[Any, tuple[int, int]], groups: tuple[str, ...] = (), dtype: Any = pl.Float64) -> pl.DataFrame:
        """A SUMMARY of attack and task successes of 40 at each threshold, a little higher for each further target."""
        rows = [
            ({"target": name} if groups else {})
            | {"threshold": value}
            | rate(min(pair[place] + 3 * further, 40), 40)
            | {"metric": metric}
            for place, metric in enumerate(("attack_success", "task_success"))
            for further, name in enumerate(groups or ("",))
            for value, pair in values.items()
        ]
        made: pl.DataFrame = summary_of(rows, threshold=dtype)
        return made

    return make


VALUES = {0.5: (10, 20), 0.1: (30, 36), 0.9: (2, 8), None: (24, 24)}


def path(line: Any) -> list[tuple[float, float]]:
    return [tuple(point) for point in line.get_xydata().tolist()]


def points(ax: Any) -> list[tuple[float, float]]:
    """Where single markers stand."""
    return [path(line)[0] for line in ax.lines if len(path(line)) == 1]


def shown(ax: Any) -> list[str]:
    return [text.get_text().replace("\n", " ") for text in ax.texts]


@pytest.mark.integration
def test_two_sweeps_and_their_tradeoff(swept):
    """Each metric over the choice with the reference as a level line in a band, then both against one another."""
    plot = plots.sweep_pareto(swept(VALUES), choice="threshold", chosen=0.5, title="A sweep")
    first, second, third = plot.axes
    assert (first.get_xlabel(), first.get_ylabel()) == ("threshold", "attack success")
    assert (second.get_xlabel(), second.get_ylabel()) == ("threshold", "task success")
    assert third.get_xlabel() == "attack success (lower is better)"
    assert third.get_ylabel().replace("\n", " ") == "task success (higher is better)"
    for ax, level, heights in ((first, 0.6, [0.75, 0.25, 0.05]), (second, 0.6, [0.9, 0.5, 0.2])):
        assert points(ax) == list(zip([0.1, 0.5, 0.9], heights, strict=True))
        assert [level, level] in [[up for _, up in path(line)] for line in ax.lines]
        assert len(ax.patches) == 1
        assert "chosen" in shown(ax)
    assert set(points(third)) == {(0.75, 0.9), (0.25, 0.5), (0.05, 0.2), (0.6, 0.6)}
    assert {"0.1", "0.5 (chosen)", "0.9", "no threshold"} <= set(shown(third))
    assert plot.figure.get_suptitle() == "A sweep"
    said = plot.figure.get_supxlabel().replace("\n", " ")
    assert said.startswith("Intervals: 95 %, clustered Wilson")
    assert "Dashed horizontal lines: no threshold." in said
    assert "Beside points: threshold." in said


@pytest.mark.integration
def test_the_points_of_a_group_are_joined_in_the_order_of_the_choice(swept):
    """In the color that the group has in all three panels."""
    plot = plots.sweep_pareto(swept(VALUES, ("a", "b")), choice="threshold")
    third = plot.axes[2]
    paths = {to_hex(line.get_color()): path(line) for line in third.lines if line.get_gid() == "path"}
    colors = dict(plots.marks.sweep(swept(VALUES, ("a", "b")).filter(metric="task_success"), choice="threshold", one_panel=True)
        .select("group", "color").unique().rows())  # fmt: skip
    assert paths == {
        colors["a"].lower(): [(0.75, 0.9), (0.25, 0.5), (0.05, 0.2)],
        colors["b"].lower(): [(0.825, 0.975), (0.325, 0.575), (0.125, 0.275)],
    }
    marks = plots.marks.sweep_pareto(swept(VALUES, ("a", "b")), choice="threshold")
    assert marks.select("group", "curve", "at").rows() == [
        *((f"{name} · threshold {value}", name, value) for name in "ab" for value in ("0.1", "0.5", "0.9")),
        ("a · no threshold", "a", None),
        ("b · no threshold", "b", None),
    ]
    first = plot.axes[0]
    (key,) = plot.figure.legends
    assert {"a", "b"} <= {text.get_text() for text in key.get_texts()}
    markers = [
        {line.get_marker() for line in ax.lines if to_hex(line.get_color()) == colors["a"].lower()}
        for ax in (first, third)
    ]
    assert markers[0] < markers[1]  # and in its marker; that of the reference is another


@pytest.mark.integration
def test_names_are_no_course(swept):
    """Words are not joined; each is named."""
    plot = plots.sweep_pareto(
        swept({"rollout": (10, 20), "goal": (12, 22)}, dtype=pl.String), choice="threshold", caption=False
    )
    third = plot.axes[2]
    assert not [line for line in third.lines if line.get_gid() == "path"]
    assert shown(third) == ["rollout", "goal"]
    assert plot.figure.get_supxlabel() == ""


@pytest.mark.integration
def test_it_is_told_in_a_sentence(swept):
    """Over what, how many groups, references, and what nothing beats."""
    told = alternatives.sweep_pareto(plots.marks.sweep_pareto(swept(VALUES), choice="threshold"))
    assert told.startswith(
        "Attack success and task success over threshold, from 0.1 to 0.9 in 3 values, and one against the other; "
        "for reference no threshold (attack success 60 % ["
    )
    assert "; no other point beats threshold 0.1 (attack success 75 %" in told
    both = alternatives.sweep_pareto(
        plots.marks.sweep_pareto(swept({0.1: (5, 20), 0.2: (9, 10)}, ("a", "b")), choice="threshold")
    )
    assert "in 2 values, 2 groups, and" in both
    assert "beats a · threshold 0.1 (" in both
    assert "threshold 0.2 (" not in both


@pytest.mark.integration
def test_settings_inputs_and_bytes_are_kept(swept):
    """The same frame gives the same SVG; a dark style keeps its ground; many values and groups are drawn."""
    frame = swept(VALUES, ("a", "$b$"))
    before, settings = frame.clone(), dict(plt.rcParams)
    first, second = (plots.sweep_pareto(frame, choice="threshold").svg() for _ in range(2))
    assert first == second
    assert frame.equals(before)
    assert dict(plt.rcParams) == settings
    many = swept({k / 50: (k // 2, 40 - k // 2) for k in range(50)}, tuple(f"a model {k}" for k in range(8)))
    plot = plots.sweep_pareto(many, choice="threshold")
    plot.figure.draw_without_rendering()
    assert len(points(plot.axes[2])) == 400
    with plt.style.context("dark_background"):
        dark = plots.sweep_pareto(frame, choice="threshold")
        assert not any(to_hex(line.get_color()) == "#000000" for line in dark.axes[2].lines)


@pytest.mark.integration
def test_from_rollouts_to_a_figure():
    """Simulated rollouts, grouped by a parameter of their runs."""
    turns, _ = rw.simulate(targets={"base": 0.3, "guarded": 0.02}, goals=20, attempts=3, seed=1)
    rollouts = rw.measure(turns, rw.metrics.attack_success())
    summary = rw.summarize(rollouts, by=["target", "attempt"], metrics=["attack_success", "num_turns"], resamples=200)
    plot = plots.sweep_pareto(summary, choice="attempt", better={"num_turns": "higher"})
    assert plot.axes[2].get_ylabel().replace("\n", " ") == "mean turns (higher is better)"


@pytest.mark.integration
def test_what_is_known_in_one_metric_only_stands_in_its_panel(swept):
    """A value breaks the line through the points; a reference is a level line there, and no point."""
    lost = (pl.col("metric") == "task_success") & pl.col("threshold").eq_missing(0.5)
    third = plots.sweep_pareto(swept(VALUES).filter(~lost), choice="threshold").axes[2]
    (joined,) = [path(line) for line in third.lines if line.get_gid() == "path"]
    assert [x for x, _ in joined] == [0.75, 0.25, 0.05]
    assert joined[1][1] != joined[1][1]  # NaN
    lost = (pl.col("metric") == "task_success") & pl.col("threshold").is_null()
    first, _, third = plots.sweep_pareto(swept(VALUES).filter(~lost), choice="threshold").axes
    assert len(first.patches) == 1
    assert len(points(third)) == 3


@pytest.mark.integration
def test_what_cannot_be_drawn_is_said(swept):
    """No such column, one metric, no value, an unknown direction: one sentence each."""
    frame = swept(VALUES)
    apart = frame.with_columns(level=pl.when(pl.col("metric") == "task_success").then(0.9).otherwise(pl.col("level")))
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: plots.sweep_pareto(frame, choice="nonsense"), "choice='nonsense' is not a grouping column"),
        (lambda: plots.sweep_pareto(frame.filter(metric="task_success"), choice="threshold"), "needs two metrics"),
        (
            lambda: plots.sweep_pareto(frame.filter(pl.col("threshold").is_null()), choice="threshold"),
            "nothing to draw",
        ),
        (lambda: plots.sweep_pareto(frame, choice="threshold", chosen="x"), "chosen='x' is not a value"),
        (lambda: plots.sweep_pareto(frame, choice="threshold", better={"x": "lower"}), "better= names x"),
        (
            lambda: plots.sweep_pareto(frame.with_columns(estimate=None, low=None, high=None), choice="threshold"),
            "no group has",
        ),
        (lambda: plots.sweep_pareto(apart, choice="threshold"), "no statistic and level in common"),
        (lambda: plots.marks.sweep_pareto(apart, choice="threshold"), "no statistic and level in common"),
        (lambda: plots.sweep_pareto(frame.clear(), choice="threshold"), "no rows"),
        (lambda: plots.sweep_pareto("x", choice="threshold"), "not a frame"),
    ]
    for call, words in calls:
        with pytest.raises(ArgumentError, match=words):
            call()
    assert not plt.get_fignums()
