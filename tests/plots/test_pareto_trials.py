# mypy: disable-error-code="union-attr"
"""What stands beside the groups of a trade-off: single trials, references, and whose names."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

import rollwise as rw
from rollwise import plots
from rollwise.errors import ArgumentError
from rollwise.plots import alternatives
from rollwise.plots.theme import looks


@pytest.fixture
def both(rate, summary_of) -> Callable[..., pl.DataFrame]:
    def pairs(groups: dict[Any, tuple[int, int]]) -> pl.DataFrame:
        """A SUMMARY of attack and task successes of 40, for each target, or target and run."""
        rows = [
            (dict(zip(("target", "run"), key, strict=True)) if isinstance(key, tuple) else {"target": key})
            | rate(pair[place], 40)
            | {"metric": metric}
            for place, metric in enumerate(("attack_success", "task_success"))
            for key, pair in groups.items()
        ]
        made: pl.DataFrame = summary_of(rows)
        return made

    return pairs


GROUPS = {"a": (4, 20), "b": (8, 16)}
RUNS = {("a", "1"): (2, 18), ("a", "2"): (6, 22), ("b", "1"): (39, 16), ("z", "1"): (1, 1)}


def dots(ax: Any) -> dict[str, list[tuple[float, float]]]:
    """The small dots, by color."""
    small = [line for line in ax.lines if line.get_marker() == "." and line.get_linestyle() == "None"]
    return {to_hex(line.get_color()): placed(line) for line in small}


def placed(line: Any) -> list[tuple[float, float]]:
    return [tuple(point) for point in line.get_xydata().tolist()]


def told(ax: Any) -> str:
    return str(ax.figure.get_supxlabel()).replace("\n", " ")


def names(ax: Any) -> set[str]:
    return {text.get_text().replace("\n", " ") for text in ax.texts}


@pytest.mark.integration
def test_trials_are_small_dots_in_the_color_of_their_group(both):
    """Behind the groups, without intervals, within the axes, and not in the front; those of other groups are left out."""
    frame, runs = both(GROUPS), both(RUNS)
    (ax,) = plots.pareto(frame, trials=runs).axes
    look = looks(["a", "b"])
    assert dots(ax) == {
        look["a"].color.lower(): [(0.05, 0.45), (0.15, 0.55)],
        look["b"].color.lower(): [(0.975, 0.4)],
    }
    assert ax.get_xlim()[1] > 0.975
    small = [line for line in ax.lines if line.get_marker() == "."]
    large = [line for line in ax.lines if line.get_marker() in {look["a"].marker, look["b"].marker}]
    assert len(large) == 2
    assert max(line.get_zorder() for line in small) < min(line.get_zorder() for line in large)
    assert max(line.get_markersize() for line in small) < min(line.get_markersize() for line in large)
    assert "Small dots: each single run." in told(ax)
    marks = plots.marks.pareto(frame, trials=runs)
    assert marks.filter(role="group").drop("role").equals(plots.marks.pareto(frame).drop("role"))
    trials = marks.filter(role="trial")
    assert trials.select("group", "x", "y", "x_low", "y_high", "pareto").rows() == [
        ("a", 0.05, 0.45, None, None, None), ("a", 0.15, 0.55, None, None, None), ("b", 0.975, 0.4, None, None, None)
    ]  # fmt: skip
    assert alternatives.pareto(marks).startswith("Task success against attack success, 2 groups with 3 trials;")


def test_trials_of_all_rollouts_and_trials_that_are_not_known(both):
    """Without grouping columns all trials are of the one group; one without an estimate is counted, not drawn."""
    frame = both({"all": (10, 20)}).drop("target")
    runs = both({"1": (9, 19), "2": (11, 21)}).rename({"target": "trial"})
    lost = (pl.col("trial") == "2") & (pl.col("metric") == "task_success")
    runs = runs.with_columns(estimate=pl.when(~lost).then("estimate"))
    (ax,) = plots.pareto(frame, trials=runs).axes
    assert list(dots(ax).values()) == [[(0.225, 0.475)]]
    assert "Small dots: each single trial (1 of 2 dots not drawn: not known in both)." in told(ax)


@pytest.mark.integration
def test_trials_from_rollouts():
    """The summary by one column more is what `trials` takes, whatever the dtype of its columns."""
    turns, _ = rw.simulate(targets={"base": 0.3, "guarded": 0.02}, goals=20, attempts=3, seed=1)
    rollouts = rw.measure(turns, rw.metrics.attack_success()).with_columns(pl.col("target").cast(pl.Categorical))
    metrics = ["attack_success", "num_turns"]
    summary = rw.summarize(rollouts, by="target", metrics=metrics, resamples=200)
    single = rw.summarize(rollouts, by=["target", "attempt"], metrics=metrics, resamples=200)
    marks = plots.marks.pareto(summary.with_columns(pl.col("target").cast(pl.String)), trials=single, front=False)
    assert marks["role"].value_counts().sort("role").rows() == [("group", 2), ("trial", 6)]
    rates = single.filter(metric="attack_success").select(pl.col("target").cast(pl.String), "estimate")
    assert sorted(marks.filter(role="trial").select("group", "x").rows()) == sorted(rates.rows())


@pytest.mark.integration
def test_references_are_gray_named_and_not_in_the_front(both):
    """A published system that beats all groups leaves the front as it is; it has its interval, and a color if asked."""
    frame, others = both(GROUPS), both({"published": (0, 40)})
    marks = plots.marks.pareto(frame, references=others)
    assert marks.select("role", "group", "pareto", "color").rows()[2:] == [("reference", "published", None, None)]
    assert marks.filter(role="group").equals(plots.marks.pareto(frame))
    (ax,) = plots.pareto(frame, references=others).axes
    points = [line for line in ax.lines if placed(line) == [(0.0, 1.0)]]
    assert len(points) == 1
    red, green, blue = (int(to_hex(points[0].get_color())[place : place + 2], 16) for place in (1, 3, 5))
    assert red == green == blue
    assert {"a", "b", "published"} <= names(ax)
    assert "For reference, not in the front: published." in told(ax)
    colored = plots.marks.pareto(frame, references=others, colors={"published": "red"})
    assert colored["color"][-1] == "red"
    assert colored["color"][:2].to_list() == marks["color"][:2].to_list()
    words = alternatives.pareto(marks)
    assert "2 groups, and for reference published (attack success 0.0 % [" in words


@pytest.mark.integration
def test_names_of_all_or_of_the_front(both):
    """Twenty groups have a key; "all" names each beside its point, "frontier" only the best and the references."""
    many = both({f"t{place:02}": (place, 2 * place) for place in range(19)} | {"worst": (39, 1)})
    assert not names(plots.pareto(many).axes[0])
    everywhere = plots.pareto(many, labels="all")
    assert {*many["target"]} <= names(everywhere.axes[0])
    assert not everywhere.figure.legends
    best = plots.pareto(many, labels="frontier", references=both({"theirs": (20, 20)}))
    assert {"t00", "t18", "theirs"} <= names(best.axes[0])
    assert "worst" not in names(best.axes[0])
    assert not best.figure.legends
    assert "Named: the groups on the front." in told(best)
    with pytest.raises(ArgumentError, match="labels='frontier' names the groups on the front, and front=False"):
        plots.pareto(many, labels="frontier", front=False)
    with pytest.raises(ArgumentError, match="labels='some' is unknown; it is"):
        plots.pareto(many, labels="some")  # type: ignore[arg-type]


def test_a_key_has_the_references_too(both):
    """Where names have no room."""
    many = both({f"t{place:02}": (place, 2 * place) for place in range(20)})
    figure = plots.pareto(many, references=both({"theirs": (20, 20)})).figure
    assert [text.get_text() for text in figure.legends[0].get_texts()][-1] == "theirs"


@pytest.mark.integration
def test_names_keep_off_the_dots(both):
    """Names beside points cover no dot, in Axes of half a page as well; narrower ones have a key."""
    ax = plt.figure(figsize=(5.0, 3.2), layout="constrained").add_subplot()
    runs = {(name, str(run)): (x + run, y - run) for name, (x, y) in GROUPS.items() for run in (-2, 0, 2)}
    plots.pareto(both(GROUPS), trials=both(runs), references=both({"theirs": (12, 30)}), ax=ax)
    ax.figure.draw_without_rendering()
    shown = [text.get_window_extent() for text in ax.texts if text.get_text() in {"a", "b", "theirs"}]
    assert len(shown) == 3
    for box in shown:
        assert not any(box.contains(*ax.transData.transform(point)) for points in dots(ax).values() for point in points)
    assert not any(one.overlaps(other) for one, other in combinations(shown, 2))


def test_what_is_no_trial_or_reference_is_said(both, mean_row, summary_of):
    """One sentence each, with the argument's name."""
    frame = both(GROUPS)
    calls: list[tuple[dict[str, Any], str]] = [
        ({"trials": frame}, "trials= is grouped by target, as the summary is; .* and one more"),
        ({"trials": both(RUNS).drop("target")}, "trials= lacks target"),
        ({"trials": both({("z", "1"): (1, 1)})}, "no trial belongs to a group"),
        ({"trials": both(RUNS).filter(metric="task_success")}, "trials=: there is no metric 'attack_success'"),
        ({"trials": "x"}, "trials=: a path is not a frame"),
        ({"references": frame}, "references= has 'a', which is also a group of the summary"),
        ({"references": summary_of([mean_row(1.0, 0.1)])}, "references=: there is no metric"),
        ({"references": frame.clear()}, "references=: the SUMMARY frame has no rows"),
    ]
    for options, words in calls:
        with pytest.raises(ArgumentError, match=words):
            plots.pareto(frame, **options)
