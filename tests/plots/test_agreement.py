# mypy: disable-error-code="arg-type"
"""Judges and labels: which comparisons are drawn, in which unit, and around which line."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from matplotlib import pyplot as plt

import rollwise as rw
from rollwise import plots, schema
from rollwise.errors import ArgumentError
from rollwise.plots.agreement import MARKS
from rollwise.schema import labels


def row(judge: str | None, statistic: str, estimate: float | None, **more: Any) -> dict[str, Any]:
    """One comparison with the labels."""
    ends = {"low": None, "high": None} if estimate is None else {"low": estimate - 0.1, "high": estimate + 0.1}
    about = {"comparison": "labels", "judge": judge, "other": None, "statistic": statistic, "level": 0.95}
    how = {"n": 90, "n_clusters": 30, "method": "BCa bootstrap", "estimand": "kappa of a judge; unit: goal"}
    return about | how | {"estimate": estimate} | ends | more


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    by = [name for name in dict.fromkeys(key for one in rows for key in one) if name not in schema.AGREEMENT.names]
    return pl.DataFrame(rows, schema={**dict.fromkeys(by, pl.String), **schema.AGREEMENT.dtypes}, orient="row")


@pytest.mark.integration
def test_names_beside_many_panels_are_as_long_as_beside_one():
    """The figure is made as wide as its names need, which then are not cut to a share of a narrow panel."""
    judged = [
        {"rollout_id": f"r{unit}", "judge": judge, "value": float((7 * unit + place) % 3 > 0)}
        for unit in range(30)
        for place, judge in enumerate(("gpt-4o", "llama-guard", "human rater"))
    ]
    axes = plots.agreement(rw.judges.agreement(pl.DataFrame(judged))).axes
    names = {label.get_text().replace("\n", " ") for label in axes[0].get_yticklabels()}
    assert len(names) == 4
    assert all(one.startswith(("gpt-4o ", "human rater ", "all judges")) for one in names)
    assert all(one.endswith(("human rater", "llama-guard", "all judges")) for one in names)


def test_marks_name_who_is_compared_with_whom():
    """Labels, another judge, itself, all together; the best on top; shares in per cent and coefficients as numbers."""
    found = frame(
        row("rule", "kappa", 0.4),
        row("rule", "kappa", 0.6, comparison="judges", other="model"),
        row("model", "kappa", 0.8, comparison="samples"),
        row(None, "kappa", None, comparison="panel", reason="one category"),
        row("rule", "sensitivity", 0.5),
    )
    marks = plots.marks.agreement(found)
    assert marks.schema == pl.Schema(MARKS)
    assert marks.select("panel", "row", "group", "text", "shape").rows() == [
        (0, 0, "model with itself", "0.80 [0.70, 0.90]", "interval"),
        (0, 1, "rule with model", "0.60 [0.50, 0.70]", "interval"),
        (0, 2, "rule with the labels", "0.40 [0.30, 0.50]", "interval"),
        (0, 3, "all judges", "–", "empty"),
        (1, 2, "rule with the labels", "50 % [40, 60]", "interval"),
    ]
    assert marks["unit"].unique().to_list() == ["goals"]


@pytest.mark.integration
def test_coefficients_stand_around_chance_and_shares_do_not():
    """Kappa has its line at 0, which the caption explains; sensitivity starts at 0 % and has none."""
    found = frame(row("rule", "kappa", 0.4, n_single=7), row("rule", "sensitivity", 0.5, n_abstained=3))
    kappa, sensitivity = plots.agreement(found).axes
    assert [list(line.get_xdata()) for line in kappa.lines if list(line.get_ydata()) == [0, 1]] == [[0, 0]]
    assert [line for line in sensitivity.lines if list(line.get_ydata()) == [0, 1]] == []
    assert sensitivity.get_xlim()[0] == 0
    assert [ax.get_xlabel() for ax in (kappa, sensitivity)] == ["Cohen's kappa", "sensitivity"]
    said = kappa.figure.get_supxlabel().replace("\n", " ")
    assert "0: agreement by chance" in said
    assert "Excluded: 7 verdicts or labels without a counterpart and 3 judgments without a verdict." in said


def test_one_that_is_left_out_is_singular():
    """A verdict or label, and a judgment."""
    (ax,) = plots.agreement(frame(row("rule", "kappa", 0.4, n_single=1, n_abstained=1))).axes
    said = ax.figure.get_supxlabel().replace("\n", " ")
    assert "Excluded: 1 verdict or label without a counterpart and 1 judgment without a verdict." in said


@pytest.mark.integration
def test_statistics_are_chosen_in_their_order():
    """One has its numbers beside it; several are panels in the order asked; one ax holds one."""
    found = frame(*(row(judge, name, 0.5) for judge in "ab" for name in ("kappa", "agreement", "ac1")))
    axes = plots.agreement(found, statistic=["ac1", "kappa"]).axes
    assert [ax.get_xlabel() for ax in axes] == ["Gwet's AC1", "Cohen's kappa"]
    one = plt.figure().add_subplot()
    assert plots.agreement(found, statistic="kappa", ax=one).axes == (one,)
    assert "0.50 [0.40, 0.60]" in {text.get_text() for text in one.texts}
    with pytest.raises(ArgumentError, match="choose statistic="):
        plots.agreement(found, ax=plt.figure().add_subplot())


def test_colors_follow_the_judge():
    """A judge looks the same in every panel, and may be given a color."""
    found = frame(row("a", "kappa", 0.1), row("b", "kappa", 0.2), row("b", "ac1", 0.2))
    marks = plots.marks.agreement(found, colors={"b": "black"})
    assert marks.select("judge", "color").unique().sort("judge").rows() == [("a", "#0072B2"), ("b", "black")]


@pytest.mark.integration
def test_narrow_figures_keep_a_readable_axis():
    """In a column of a paper the names are broken, the numbers that fit stay, and at least a quarter is left to the axis."""
    found = frame(*(row(f"a judge with a long name {place}", "kappa", 0.1 * place) for place in range(4)))
    figure = plt.figure(figsize=(3.3, 3.0), layout="constrained")
    (ax,) = plots.agreement(found, ax=figure.add_subplot()).axes
    figure.draw_without_rendering()
    assert ax.get_window_extent().width > 0.25 * 3.3 * figure.dpi
    ticks = [tick.get_window_extent() for tick in ax.get_xticklabels() if tick.get_text()]
    assert not any(one.overlaps(other) for one, other in pairwise(ticks))


def test_nothing_to_draw_is_said():
    """No rows, no such statistic, a comparison twice, another frame: one sentence each."""
    found = frame(row("a", "kappa", 0.1))
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: plots.agreement(found.clear()), "no rows"),
        (lambda: plots.agreement(found, statistic="nonsense"), "kappa"),
        (lambda: plots.agreement(found, comparison="panel"), "labels"),
        (lambda: plots.agreement(pl.concat([found, found])), "occurs twice"),
        (lambda: plots.agreement(found.drop("judge")), "rw.judges.agreement"),
        (lambda: plots.agreement(None), "not a frame"),
    ]
    for call, words in calls:
        with pytest.raises(ArgumentError, match=words):
            call()


@pytest.mark.integration
def test_real_verdicts_by_group_after_parquet(tmp_path):
    """From verdicts to a figure; hostile names are drawn as they are; the alternative text names both ends."""
    names = {"rule": "$rule$\n\u202eevil", "model": "model"}
    verdicts = pl.DataFrame(
        [
            {"rollout_id": f"r{k}", "goal": f"g{k % 12}", "judge": name, "value": float(k % period == 0)}
            for name, period in ((names["rule"], 3), (names["model"], 2))
            for k in range(36)
        ]
    )
    truth = pl.DataFrame({"rollout_id": [f"r{k}" for k in range(36)], "label": [k % 2 == 0 for k in range(36)]})
    found = rw.judges.agreement(verdicts, truth, statistics=("agreement", "kappa"), resamples=200)
    rw.write(found, tmp_path / "agreement.parquet")
    marks = plots.marks.agreement(found)
    assert marks.equals(plots.marks.agreement(pl.read_parquet(tmp_path / "agreement.parquet")))
    assert "$rule$ \\u202eevil with the labels" in marks["group"].to_list()
    plots.agreement(found).figure.draw_without_rendering()
    told = labels.alt_text(found)
    assert told.startswith("Raw agreement by judges, from ")
    assert "100" in told
    assert "(model with the labels)" in told
