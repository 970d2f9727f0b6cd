# mypy: disable-error-code="attr-defined, union-attr"
"""Shares that ended in each way, one on the other."""

from typing import Any

import polars as pl
import pytest
from matplotlib import pyplot as plt

import rollwise as rw
from rollwise import plots, schema
from rollwise.errors import ArgumentError
from rollwise.plots.curve_marks import ENDING_COLORS
from rollwise.plots.incidence import STACK


def ended(
    shares: dict[str, list[float | None]], *, group: str = "a", level: float = 0.95, at_risk: int = 50
) -> pl.DataFrame:
    """CURVE of incidence by ending at turns 1, 2, ..."""
    rows = [
        {
            "target": group,
            "metric": "time_to_success",
            "kind": "incidence",
            "axis": "turn",
            "ending": ending,
            "at": float(turn),
            "level": level,
            "estimate": share,
            "low": None if share is None else share * 0.8,
            "high": None if share is None else share * 1.2,
            "at_risk": at_risk,
            "method": "Aalen-Johansen",
            "estimand": "unit: goal",
        }
        for ending, course in shares.items()
        for turn, share in enumerate(course, 1)
    ]
    return pl.DataFrame(rows, schema={"target": pl.String, **schema.CURVE.dtypes}, orient="row")


TWO: dict[str, list[float | None]] = {"gave_up": [0.1, 0.3], "success": [0.2, 0.25]}


def key_of(drawn: Any) -> list[str]:
    figure = drawn.figure
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.integration
def test_layers_lie_on_each_other_success_lowest():
    """Each goes from the sum below to that sum and its own share, which is kept beside it."""
    marks = plots.marks.incidence(ended(TWO))
    assert marks.schema == pl.Schema(STACK)
    last = marks.filter(pl.col("at") == 2).select("group", "low", "high", "share", "share_low", "share_high").rows()
    assert last == [
        ("success", 0.0, 0.25, 0.25, pytest.approx(0.2), pytest.approx(0.3)),
        ("attack gave up", 0.25, 0.55, 0.3, pytest.approx(0.24), pytest.approx(0.36)),
    ]
    assert marks.filter(pl.col("at") == 0)["high"].to_list() == [0.0, 0.0]


@pytest.mark.integration
def test_all_endings_stand_in_one_order():
    """That of the schema, whichever rows come first; one that no schema knows lies on top."""
    known = ["error", "finished", "target_ended", "gave_up", "budget", "success"]
    frame = ended({ending: [0.1] for ending in [*known, "moved away"]})
    assert key_of(plots.incidence(frame)) == [
        "success",
        "budget used up",
        "attack gave up",
        "target ended it",
        "finished",
        "error",
        "moved away",
    ]


@pytest.mark.integration
def test_an_ending_has_its_color_in_every_figure():
    """Whichever other endings there are; a given color wins."""
    for endings in (["success", "gave_up"], ["success", "finished", "error"], ["success"]):
        marks = plots.marks.incidence(ended({ending: [0.1] for ending in endings}))
        assert dict(marks.select("group", "color").rows()) == {
            name: ENDING_COLORS[name] for name in marks["group"].unique()
        }
    assert plots.marks.incidence(ended(TWO), colors={"success": "#123456"})["color"][0] == "#123456"


@pytest.mark.integration
def test_above_an_unknown_share_nothing_is_known():
    """A null in the lowest layer leaves a gap in all, one in the upper layer only there."""
    marks = plots.marks.incidence(ended({"success": [0.2, None], "gave_up": [0.1, 0.3]})).filter(pl.col("at") == 2)
    assert marks["high"].to_list() == [None, None]
    marks = plots.marks.incidence(ended({"success": [0.2, 0.25], "gave_up": [0.1, None]})).filter(pl.col("at") == 2)
    assert marks["high"].to_list() == [0.25, None]


@pytest.mark.integration
def test_only_the_widest_level_is_drawn():
    """Layers have no bands for several levels to lie in each other; one is chosen with level=."""
    both = pl.concat([ended(TWO), ended(TWO, level=0.5)])
    assert plots.marks.incidence(both)["level"].unique().to_list() == [0.95]
    assert plots.marks.incidence(both, level=0.5)["level"].unique().to_list() == [0.5]


@pytest.mark.integration
def test_groups_are_panels_most_successes_first():
    """And one panel fits into one ax, several do not."""
    frame = pl.concat([ended(TWO, group="few"), ended({"success": [0.5, 0.6], "gave_up": [0.1, 0.1]}, group="many")])
    axes = plots.incidence(frame).axes
    assert [ax.get_title(loc="left") for ax in axes] == ["many", "few"]
    assert {ax.get_ylim() for ax in axes} == {(0.0, 1.0)}
    with pytest.raises(
        ArgumentError, match=r"one ax cannot hold 2 groups \(few, many\); filter the frame to one of them"
    ):
        plots.incidence(frame, ax=plt.figure().add_subplot())
    ax = plt.figure().add_subplot()
    assert plots.incidence(frame.filter(target="few"), ax=ax).axes == (ax,)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["success", "attack gave up"]


@pytest.mark.integration
def test_few_endings_keep_their_names_in_narrow_axes():
    """Three have a line each above the Axes, as in a column of a paper."""
    shares: dict[str, list[float | None]] = {"success": [0.2, 0.4], "gave_up": [0.1, 0.1], "target_ended": [0.1, 0.2]}
    ax = plt.figure(figsize=(3.3, 2.6)).add_subplot()
    plots.incidence(ended(shares), ax=ax)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["success", "attack gave up", "target ended it"]


@pytest.mark.integration
def test_the_caption_holds_on_any_ground():
    """What had not ended is as dark as the style."""
    with plt.style.context("dark_background"):
        under = plots.incidence(ended(TWO)).figure.get_supxlabel()
    assert "Not colored: not ended in any of these ways." in " ".join(under.split())
    assert "white" not in under


@pytest.mark.integration
def test_the_bar_is_the_interval_of_success_itself():
    """Not of the upper edge of a stack."""
    (ax,) = plots.incidence(ended(TWO)).axes
    bars = [line.get_segments()[0][:, 1] for line in ax.collections if len(getattr(line, "get_segments", list)()) == 1]
    assert all(bar == pytest.approx([0.2, 0.3]) for bar in bars)
    assert bars
    words = " ".join(ax.figure.get_supxlabel().split())
    assert "Error bar: interval of 'success'" in words


def test_few_at_risk_are_pale():
    """Said in the caption."""
    (ax,) = plots.incidence(ended(TWO, at_risk=4)).axes
    assert "Pale: fewer than 10 rollouts or 5 clusters at risk." in " ".join(ax.figure.get_supxlabel().split())
    assert {layer.get_alpha() for layer in ax.collections if layer.get_alpha()} >= {0.35}


def test_a_frame_without_incidence_is_refused(curve_of):
    """One sentence that says what there is."""
    with pytest.raises(ArgumentError, match="no row has kind='incidence'; available: success"):
        plots.incidence(curve_of({"a": (40, 0.1)}))


@pytest.mark.integration
def test_layers_of_a_real_curve_sum_to_what_ended():
    """Of simulated rollouts without censoring, the top of the stack is the share of those that ended so by then."""
    turns, _ = rw.simulate(targets={"base": 0.1}, goals=10, attempts=4, turns=5, give_up=0.1, error=0, text=False)
    rollouts = rw.measure(turns)
    marks = plots.marks.incidence(rw.curve(rollouts, kind="incidence"))
    top = marks.filter(pl.col("at") == 5)["high"].max()
    ended_so = rollouts["ending"].is_in(["success", "gave_up", "target_ended", "finished"]).mean()
    assert top == pytest.approx(ended_so)


@pytest.mark.integration
def test_causes_differ_in_gray_print() -> None:
    """Each layer of a stack has a hatch of its own, and so has its entry in the key."""
    rows = {"metric": "time_to_success", "kind": "incidence", "axis": "turn", "level": 0.95, "at_risk": 20, "at": 1.0}
    ends = {"ending": ["success", "gave_up", "target_ended"], "estimate": [0.2, 0.3, 0.1], "low": 0.1, "high": 0.4}
    plot = plots.incidence(pl.DataFrame(ends | rows))
    layers = [layer.get_hatch() for layer in plot.axes[0].collections if layer.get_hatch() is not None]
    assert len(set(layers)) == 3
    assert [patch.get_hatch() for patch in plot.figure.legends[0].get_patches()] == layers
