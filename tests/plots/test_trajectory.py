# mypy: disable-error-code="arg-type"
"""Scores before and after an event."""

import polars as pl
import pytest

import rollwise as rw
from rollwise import plots, schema
from rollwise.errors import ArgumentError


def aligned(values: dict[int, float | None], *, group: str = "a", at_risk: int = 30, half: float = 0.1) -> pl.DataFrame:
    """CURVE of a mean score at positions around the event."""
    rows = [
        {"target": group, "metric": "harm", "kind": "trajectory", "axis": "turn", "at": float(at), "level": 0.95}
        | {"estimate": value, "at_risk": at_risk if value is not None else 0, "method": "t", "estimand": "unit: goal"}
        | {"low": None if value is None else value - half, "high": None if value is None else value + half}
        for at, value in values.items()
    ]
    return pl.DataFrame(rows, schema={"target": pl.String, **schema.CURVE.dtypes}, orient="row")


@pytest.mark.integration
def test_positions_without_anybody_are_left_out():
    """They would stretch the axis; a position where one group has a score stays for both."""
    frame = pl.concat(
        [aligned({-5: None, -1: 0.2, 0: 0.8, 1: None}), aligned({-5: None, -1: None, 0: 0.7, 1: 0.4}, group="b")]
    )
    marks = plots.marks.curve(frame)
    assert marks["at"].unique().sort().to_list() == [-1.0, 0.0, 1.0]
    assert list(plots.trajectory(frame).axes[0].get_xticks()) == [-1, 0, 1]


@pytest.mark.integration
def test_the_event_is_marked_and_nothing_clipped():
    """A dotted line at 0, scores beyond 1 as they are, minus signs that are minus signs."""
    (ax,) = plots.trajectory(aligned({-2: 3.0, -1: 4.0, 0: 9.0})).axes
    assert [0.0, 0.0] in [list(line.get_xdata()) for line in ax.lines]
    assert ax.get_ylim()[1] > 9
    ax.figure.canvas.draw()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["−2", "−1", "0"]
    assert ax.get_ylabel() == "mean harm"
    assert ax.get_xlabel() == "turns since the event"


@pytest.mark.integration
def test_many_positions_have_round_ticks_on_both_sides():
    """Also where all lie before the event."""
    (ax,) = plots.trajectory(aligned(dict.fromkeys(range(-60, 1), 0.5))).axes
    ticks = list(ax.get_xticks())
    assert ticks[0] < -40
    assert ticks[-1] == 0
    assert len(ticks) > 3


@pytest.mark.integration
def test_a_wide_interval_of_few_does_not_flatten_the_rest():
    """It is cut off, and an arrow says so; the point is hollow."""
    frame = pl.concat([aligned({-1: 0.5, 0: 0.6}), aligned({-2: 0.5}, at_risk=3, half=40.0)])
    (ax,) = plots.trajectory(frame).axes
    assert ax.get_ylim()[1] < 1
    assert {"^", "v"} <= {line.get_marker() for line in ax.lines}
    assert "Hollow: n below 10." in " ".join(ax.figure.get_supxlabel().split())


@pytest.mark.integration
def test_the_caption_says_whose_scores_these_are():
    """Rollouts without the event are not among them."""
    words = " ".join(plots.trajectory(aligned({-1: 0.5, 0: 0.6})).figure.get_supxlabel().split())
    assert words.endswith("Only rollouts with the event; each position has the rollouts that reached it.")


def test_other_curves_are_refused(curve_of):
    """One sentence that says what there is."""
    with pytest.raises(ArgumentError, match="no row has kind='trajectory'; available: success"):
        plots.trajectory(curve_of({"a": (40, 0.1)}))


@pytest.mark.integration
def test_a_real_trajectory_ends_in_the_event():
    """The mark at 0 is the mean score of the turns in which it happened."""
    rows = [(f"r{k}", turn, f"g{k}", 0.1 * turn * (1 + k % 3)) for k in range(12) for turn in range(1, 7)]
    turns = pl.DataFrame(rows, schema=["rollout_id", "turn", "goal", "score"], orient="row").cast({"turn": pl.Int32})
    curve = rw.trajectory(turns, event=pl.col("score") >= 0.5)
    marks = plots.marks.curve(curve, kind="trajectory")
    first = turns.filter(pl.col("score") >= 0.5).group_by("rollout_id").agg(pl.col("score").sort_by("turn").first())
    assert marks.filter(at=0.0)["estimate"].item() == pytest.approx(first["score"].mean())
    assert marks.filter(at=0.0)["at_risk"].item() == 12


@pytest.mark.integration
def test_intervals_of_scores_are_those_of_the_table():
    """Scores of 0 or 10 may have means below 1: intervals that reach beyond it are no share's, and are drawn whole."""
    frame = aligned({-1: 0.5, 0: 0.75}).with_columns(low=pl.lit(-0.41), high=pl.lit(1.91))
    assert plots.marks.curve(frame).select(pl.col("low").min(), pl.col("high").max()).row(0) == (-0.41, 1.91)
    # One score of 10 in 40 rollouts: the mean is 0.25.
    rows = [(f"r{k}", turn, f"g{k}", 10.0 * (k == turn), turn == 3) for k in range(40) for turn in range(1, 4)]
    names = ["rollout_id", "turn", "goal", "harm", "succeeded"]
    turns = pl.DataFrame(rows, schema=names, orient="row").cast({"turn": pl.Int32})
    curve = rw.trajectory(turns, event=pl.col("succeeded"), column="harm")
    assert curve["estimate"].drop_nulls().unique().to_list() == [0.25]
    assert (curve["high"] > 1).any()
    marks = plots.marks.curve(curve).sort("at")
    assert marks.select("low", "high").rows() == curve.drop_nulls("estimate").sort("at").select("low", "high").rows()
    shares = frame.with_columns(kind=pl.lit("hazard"))
    assert plots.marks.curve(shares).select(pl.col("low").min(), pl.col("high").max()).row(0) == (0.0, 1.0)
