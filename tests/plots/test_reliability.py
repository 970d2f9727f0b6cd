"""Confidence against what was right: a point in each bin, and what stands behind it."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from matplotlib import pyplot as plt

import rollwise as rw
from rollwise import metrics as m
from rollwise import plots, schema
from rollwise.errors import ArgumentError
from rollwise.judges import MCQACalibration
from rollwise.plots.reliability import MARKS


def summary(*bins: tuple[int | None, float, float | None, int], judge: str | None = None) -> pl.DataFrame:
    """A SUMMARY of confidence and correctness in each bin."""
    rows = [
        {"bin": number, "metric": metric, "statistic": "mean", "level": 0.95, "estimate": value, "n": n}
        | ({"low": None, "high": None} if value is None else {"low": value - 0.1, "high": value + 0.1})
        | {"n_clusters": n, "method": "Wilson", "estimand": "mean; unit: goal", "judge": judge}
        for number, sure, right, n in bins
        for metric, value in (("confidence", sure), ("correct", right))
    ]
    return pl.DataFrame(rows, schema={"judge": pl.String, "bin": pl.Int32, **schema.SUMMARY.dtypes}, orient="row")


def test_marks_are_a_row_per_bin_by_confidence():
    """Across the mean confidence, up the share that was right with its interval; a bin without a share is left out."""
    marks = plots.marks.reliability(summary((9, 0.9, 0.6, 40), (1, 0.2, 0.3, 20), (2, 0.25, None, 0)).drop("judge"))
    assert marks.schema == pl.Schema(MARKS)
    assert marks.select("group", "bin", "x", "y", "n", "text").rows() == [
        ("all rollouts", "1", 0.2, 0.3, 20, "30 % [20, 40]"),
        ("all rollouts", "9", 0.9, 0.6, 40, "60 % [50, 70]"),
    ]


def test_further_columns_are_a_series_each():
    """Two judges are two lines with names, and their counts stand side by side below."""
    both = pl.concat(
        [summary((1, 0.2, 0.3, 20), judge="a $x$"), summary((1, 0.2, 0.4, 30), (2, 0.3, 0.3, 5), judge=None)]
    )
    (ax,) = plots.reliability(both).axes
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == ["(none)", "a $x$"]
    strip: Any = ax.child_axes[0]
    assert sorted(bar.get_height() for bar in strip.patches) == [5, 20, 30]
    assert [tick.get_text() for tick in strip.get_yticklabels()] == ["0", "30"]


def test_the_table_of_a_calibration_is_drawn_without_intervals():
    """What `MCQACalibration` gives: its bins that are not empty, checked against the definition."""
    scores = MCQACalibration()(["A"] * 4, reference_answers=list("AABB"), confidence_scores=[0.95, 0.92, 0.91, 0.3])
    marks = plots.marks.reliability(scores["reliability"])
    assert marks.select("bin", "x", "y", "low", "n").rows() == [
        ("3", 0.3, 0.0, None, 1),
        ("9", pytest.approx((0.95 + 0.92 + 0.91) / 3), pytest.approx(2 / 3), None, 3),
    ]
    said = plots.reliability(scores["reliability"]).figure.get_supxlabel().replace("\n", " ")
    assert said == "n = 4 answers; no intervals. Dashed: perfect calibration; below it, overconfident."


@pytest.mark.integration
def test_rollouts_binned_by_expression_are_drawn():
    """confidence_bin, summarize, diagram: the points are the means of the bins."""
    rollouts = pl.DataFrame(
        [
            {"rollout_id": f"r{k}", "goal": f"g{k % 15}", "confidence": (k % 10) / 10 + 0.05, "correct": k % 10 > k % 7}
            for k in range(210)
        ]
    ).with_columns(m.confidence_bin("confidence"))
    found = rw.summarize(rollouts, by="bin", metrics=["confidence", "correct"], resamples=200)
    marks = plots.marks.reliability(found)
    expected = rollouts.group_by("bin").agg(pl.col("confidence").mean(), pl.col("correct").mean()).sort("bin")
    assert marks["x"].to_list() == pytest.approx(expected["confidence"].to_list())
    assert marks["y"].to_list() == pytest.approx(expected["correct"].to_list())
    assert "per bin" in plots.reliability(found).figure.get_supxlabel().replace("\n", " ")
    narrow = plt.figure(figsize=(3.3, 3.9), layout="constrained").add_subplot()
    assert plots.reliability(found, ax=narrow).axes == (narrow,)
    assert narrow.get_ylabel() == "correct"


def test_what_cannot_be_drawn_is_said():
    """No bins, no such metric, scores from 1 to 10, a bin twice, nothing known: one sentence each."""
    found = summary((1, 0.2, 0.3, 20))
    scaled = found.with_columns(estimate=pl.col("estimate") * 10)
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: plots.reliability(found.drop("bin")), "confidence_bin"),
        (lambda: plots.reliability(found, stated="harm"), "name them with stated="),
        (lambda: plots.reliability(found.filter(metric="correct")), "the SUMMARY has correct"),
        (lambda: plots.reliability(scaled), "confidence reaches from 2 to 2; scale it"),
        (lambda: plots.reliability(pl.concat([found, found])), "bin '1' occurs twice"),
        (lambda: plots.reliability(summary((1, 0.2, None, 0))), "no bin has both"),
        (lambda: plots.reliability(found.clear()), "no rows"),
        (lambda: plots.reliability(pl.DataFrame({"x": [1]})), "not a SUMMARY"),
    ]
    for call, words in calls:
        with pytest.raises(ArgumentError, match=words):
            call()


def test_a_group_without_any_point_is_named_and_others_keep_their_looks():
    """A judge that failed in all answers: the colors are those of figures that have it."""
    known = {name: summary((1, 0.2, 0.3, 20), judge=name) for name in "abc"}
    lost = pl.concat([known["a"], summary((1, 0.2, None, 0), judge="b"), known["c"]])
    looks = ["group", "color", "marker"]
    every = plots.marks.reliability(pl.concat(known.values())).select(looks)
    assert plots.marks.reliability(lost).select(looks).rows() == [row for row in every.rows() if row[0] != "b"]
    assert plots.reliability(lost).caption.endswith("Not known in any bin, so not drawn: b.")
    assert "not drawn" not in plots.reliability(pl.concat(known.values())).caption
