"""How values spread: what each kind draws, against NumPy and SciPy, and that unknown ones are counted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.patches import Rectangle
from scipy.stats import ecdf

import rollwise as rw
from rollwise import plots
from rollwise.errors import ArgumentError, SchemaError
from rollwise.plots import alternatives
from rollwise.plots.distribution import MARKS


def rollouts(values: list[float | None], group: str = "a") -> pl.DataFrame:
    ids = [f"{group}{place}" for place in range(len(values))]
    return pl.DataFrame({"rollout_id": ids, "target": group, "harm": pl.Series(values, dtype=pl.Float64)})


def test_ecdf_by_hand():
    """Two of four known values are at most 2; the unknown and the infinite one are counted, not drawn."""
    frame = rollouts([2.0, 1.0, 5.0, 3.0, None, float("nan"), float("inf")])
    marks = plots.marks.distribution(frame, metric="harm")
    assert marks.schema == pl.Schema(MARKS)
    assert marks.select("mark", "x", "y", "n", "n_unknown").rows() == [
        ("step", 1.0, 0.25, 4, 3),
        ("step", 2.0, 0.5, 4, 3),
        ("step", 3.0, 0.75, 4, 3),
        ("step", 5.0, 1.0, 4, 3),
    ]


@pytest.mark.integration
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-5, 5).map(float)), min_size=1).filter(
        lambda values: any(value is not None for value in values)
    )
)
def test_ecdf_is_scipys(values):
    """The steps are those of scipy.stats.ecdf over the known values."""
    marks = plots.marks.distribution(rollouts(values), metric="harm")
    known = [value for value in values if value is not None]
    oracle = ecdf(known).cdf
    assert marks["x"].to_list() == oracle.quantiles.tolist()
    assert marks["y"].to_list() == pytest.approx(oracle.probabilities.tolist())
    assert marks["n_unknown"][0] == len(values) - len(known)


@pytest.mark.integration
@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=40))
def test_boxes_are_numpys_quartiles_with_tukeys_whiskers(values):
    """Quartiles as numpy.quantile gives them; whiskers end at the last value within 1.5 boxes; all values are points."""
    marks = plots.marks.distribution(rollouts(values), metric="harm", kind="box")
    box = dict(marks.filter(pl.col("mark") != "point").select("mark", "x").rows())
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    assert [box["q1"], box["median"], box["q3"]] == pytest.approx([low, middle, high])
    within = [value for value in values if low - 1.5 * (high - low) <= value <= high + 1.5 * (high - low)]
    assert box["whisker_low"] == pytest.approx(min([*within, low]))
    assert box["whisker_high"] == pytest.approx(max([*within, high]))
    points = marks.filter(mark="point")
    assert points["x"].to_list() == sorted(values)
    assert points["y"].is_between(-0.5, 0.5).all()


def test_many_points_are_thinned_evenly_and_said():
    """Of 2,000 values 400 are drawn, the least and the greatest among them, and the caption says so."""
    frame = rollouts([float(value) for value in range(2000)])
    points = plots.marks.distribution(frame, metric="harm", kind="box").filter(mark="point")
    assert points.height == 400
    assert (points["x"].min(), points["x"].max()) == (0.0, 1999.0)
    assert points["x"].diff().drop_nulls().is_between(4, 6).all()
    caption = plots.distribution(frame, metric="harm", kind="box").figure.get_supxlabel()
    assert "400 of each larger group" in caption.replace("\n", " ")


@pytest.mark.integration
def test_one_rollout_is_singular():
    """In the caption and in the alternative text."""
    (ax,) = plots.distribution(rollouts([3.0]), metric="harm").axes
    assert ax.figure.get_supxlabel() == "n = 1 rollout, all with a value."
    marks = plots.marks.distribution(rollouts([3.0]), metric="harm")
    assert "Distribution of harm over 1 rollout," in alternatives.distribution(marks)


def test_whole_numbers_have_a_bar_each_and_bars_sum_to_one():
    """A histogram of turns counts each number of turns; shares are of the group's known values."""
    marks = plots.marks.distribution(rollouts([1.0, 1.0, 3.0, 4.0, None]), metric="harm", kind="histogram")
    assert marks.select("x", "until", "y").rows() == [(0.5, 1.5, 0.5), (2.5, 3.5, 0.25), (3.5, 4.5, 0.25)]
    broad = rollouts([float(value) for value in np.random.default_rng(0).lognormal(size=500)])
    bars = plots.marks.distribution(broad, metric="harm", kind="histogram")
    assert bars["y"].sum() == pytest.approx(1)
    assert bars.height <= 30


@pytest.mark.integration
def test_groups_stand_by_their_medians_and_those_without_values_last():
    """Greatest median on top; a group of nulls is named with its count and has nothing drawn."""
    frame = pl.concat([rollouts([1.0, 2.0], "low"), rollouts([None, None], "none"), rollouts([8.0], "high")])
    for kind in ("ecdf", "box", "histogram"):
        marks = plots.marks.distribution(frame, metric="harm", by="target", kind=kind)
        groups = marks.unique("row", maintain_order=True).sort("row")
        assert groups["group"].to_list() == ["high", "low", "none"]
        assert marks.filter(group="none").select("x", "y", "n", "n_unknown").rows() == [(None, None, 0, 2)]
        (ax,) = plots.distribution(frame, metric="harm", by="target", kind=kind).axes
        assert "2 without a value are not drawn" in ax.figure.get_supxlabel()
    (ax,) = plots.distribution(frame, metric="harm", by="target", kind="box").axes
    assert [text.get_text().split("\n") for text in ax.get_yticklabels()][2] == ["none", "n = 0, 2 unknown"]
    assert sum(isinstance(patch, Rectangle) for patch in ax.patches) == 2


@pytest.mark.integration
def test_colors_show_one_factor_of_two():
    """As in `forest`: the values of an attack have one color for all targets, whatever the place of their row."""
    frame = pl.concat(
        rollouts([1.0, 2.0, float(place)], name).with_columns(target=pl.lit(name[0]), attack=pl.lit(name[1]))
        for place, name in enumerate(("ap", "aq", "bp", "bq"))
    )
    for kind in ("histogram", "box"):
        marks = plots.marks.distribution(frame, metric="harm", by=["target", "attack"], kind=kind)
        colors = dict(marks.select("group", "color").unique().rows())
        assert colors["a · p"] == colors["b · p"] != colors["a · q"] == colors["b · q"], kind


def test_wide_ranges_stand_on_a_logarithmic_axis_unless_there_is_a_zero():
    """A hundredfold range is shown in powers of ten; a zero forbids it, and asking for it is an error."""
    wide = rollouts([10.0, 100.0, 2000.0])
    assert plots.distribution(wide, metric="harm").axes[0].get_xscale() == "log"
    assert plots.distribution(wide, metric="harm", log=False).axes[0].get_xscale() == "linear"
    zero = rollouts([0.0, 100.0, 2000.0])
    assert plots.distribution(zero, metric="harm").axes[0].get_xscale() == "linear"
    with pytest.raises(ArgumentError, match="at or below 0"):
        plots.distribution(zero, metric="harm", log=True)


def test_nothing_to_draw_is_said():
    """All null, no column, a rate, a time, no rollouts, turns, a kind of another name: one sentence each."""
    frame = rollouts([1.0, 2.0]).with_columns(attack_success=True, time=pl.struct(duration=1, observed=True))
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: plots.distribution(rollouts([None, None]), metric="harm"), "no known value in 2 rollouts"),
        (lambda: plots.distribution(frame.clear(), metric="harm"), "no known value in 0 rollouts"),
        (lambda: plots.distribution(frame, metric="nonsense"), "harm"),
        (lambda: plots.distribution(frame, metric="attack_success"), "forest"),
        (lambda: plots.distribution(frame, metric="time"), r"plots\.curve"),
        (lambda: plots.distribution(frame, metric="target"), "only numbers"),
        (lambda: plots.distribution(frame, metric="harm", by="nonsense"), "nonsense"),
        (lambda: plots.distribution(frame, metric="harm", kind="violin"), "ecdf"),  # type: ignore[arg-type]
        (lambda: plots.distribution([1], metric="harm"), "not a frame"),
    ]
    for call, words in calls:
        with pytest.raises(ArgumentError, match=words):
            call()
    with pytest.raises(SchemaError, match="measure"):
        plots.distribution(pl.concat([frame, frame]), metric="harm")


@pytest.mark.integration
def test_a_frame_from_a_file_draws_the_same(tmp_path):
    """Simulated rollouts, written and read again."""
    turns, _ = rw.simulate(goals=20, attempts=3, seed=1)
    frame = rw.measure(turns)
    rw.write(frame, tmp_path / "rollouts.parquet")
    again = pl.read_parquet(tmp_path / "rollouts.parquet")
    for kind in ("ecdf", "box", "histogram"):
        marks = plots.marks.distribution(again, metric="num_turns", by="target", kind=kind)
        assert marks.equals(plots.marks.distribution(frame, metric="num_turns", by="target", kind=kind))


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["ecdf", "box"])
def test_amounts_on_a_logarithmic_axis_are_written_out(kind):
    """No powers of ten and no labels between them; where there is one power at most, 2 and 5 have a tick, too."""

    def written(values: list[float | None], **options: Any) -> list[str]:
        plot = plots.distribution(rollouts(values), metric="harm", kind=kind, **options)
        (ax,) = plot.axes
        plot.figure.draw_without_rendering()
        low, high = ax.get_xlim()
        labels = [*ax.xaxis.get_ticklabels(), *ax.xaxis.get_ticklabels(minor=True)]
        return [text.get_text() for text in labels if text.get_text() and low <= text.get_position()[0] <= high]

    assert written([15.0, 200.0, 3000.0, 25000.0]) == ["100", "1,000", "10,000"]
    assert written([2e6, 4e7, 9e8]) == ["10M", "100M", "1B"]
    assert written([2.0, 3.0, 7.0], log=True) == ["2", "5"]
    assert written([2000.0, 12000.0], log=False)[-1] == "12,000"


@pytest.mark.integration
def test_scores_and_shares_are_on_no_logarithmic_axis():
    """A single score of 0.002 does not bend the axis; tokens over two decades do, and log=True is obeyed."""
    frame = pl.DataFrame({"rollout_id": list("abcd"), "harm": [0.002, 0.4, 0.7, 1.0], "tokens": [2, 400, 700, 1000]})
    assert plots.distribution(frame, metric="harm").axes[0].get_xscale() == "linear"
    assert plots.distribution(frame, metric="harm", log=True).axes[0].get_xscale() == "log"
    assert plots.distribution(frame, metric="tokens").axes[0].get_xscale() == "log"


@pytest.mark.integration
@pytest.mark.parametrize(("groups", "mark"), [(4, "step"), (5, "point")])
def test_many_groups_are_boxes(groups: int, mark: str) -> None:
    """Eight styles of dashes cannot be told apart; a kind that is named is drawn."""
    rows = {
        "rollout_id": [f"r{k}" for k in range(60)],
        "turns": [k % 7 for k in range(60)],
        "target": [k % groups for k in range(60)],
    }
    rollouts = pl.DataFrame(rows).with_columns(pl.col("target").cast(pl.String))
    assert mark in set(plots.marks.distribution(rollouts, metric="turns", by="target")["mark"])
    assert set(plots.marks.distribution(rollouts, metric="turns", by="target", kind="ecdf")["mark"]) == {"step"}
    assert plots.distribution(rollouts, metric="turns", by="target").axes[0].get_ylabel() == (
        "share of rollouts at or below x" if mark == "step" else ""
    )
