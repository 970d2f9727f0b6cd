"""Shares of goals above each rate, and goals in order."""

from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import plots, schema
from rollwise.errors import ArgumentError


def profile_of(
    groups: dict[str, list[float]], *, n: int = 30, missing: int = 0, metric: str = "attack_success"
) -> pl.DataFrame:
    """PROFILE at thresholds 0, 1/2, 1."""
    rows = [
        {"target": name, "metric": metric, "at": at, "level": 0.95, "estimate": share, "low": share / 2, "high": share}
        | {"n": n, "n_missing": missing, "method": "Wilson", "estimand": "unit: goal"}
        for name, shares in groups.items()
        for at, share in zip((0.0, 0.5, 1.0), shares, strict=True)
    ]
    return pl.DataFrame(rows, schema={"target": pl.String, **schema.PROFILE.dtypes}, orient="row")


def goals_of(values: dict[str, list[float | None]], *, metric: str = "attack_success", **more: Any) -> pl.DataFrame:
    """SUMMARY with a row for each goal of each group."""
    rows = [
        {"target": name, "goal": f"g{place}", "metric": metric, "statistic": "mean", "level": 0.95, "n": 5}
        | {
            "estimate": value,
            "low": None if value is None else value - 0.2,
            "high": None if value is None else value + 0.2,
        }
        | {"method": "Wilson", "estimand": "mean over rollouts; unit: rollout"}
        | more
        for name, course in values.items()
        for place, value in enumerate(course)
    ]
    schema_of = {"target": pl.String, "goal": pl.String, **schema.SUMMARY.dtypes}
    return pl.DataFrame(rows, schema=schema_of, orient="row")


def said(ax: Any) -> str:
    return " ".join(ax.figure.get_supxlabel().split())


@pytest.mark.integration
def test_a_profile_is_a_step_function_that_ends_at_one():
    """No step before its first threshold, none beyond its last."""
    marks = plots.marks.profile(profile_of({"a": [0.6, 0.2, 0.0]}))
    assert marks.select("at", "until", "estimate").rows() == [(0.0, 0.5, 0.6), (0.5, 1.0, 0.2), (1.0, 1.0, 0.0)]
    assert marks["style"].unique().to_list() == ["step"]
    (ax,) = plots.profile(profile_of({"a": [0.6, 0.2, 0.0]})).axes
    assert ax.get_xlim() == (0.0, 1.0)
    assert ax.get_xlabel() == "attack success of a goal (x)"


@pytest.mark.integration
def test_a_profile_below_zero_is_an_estimate_as_any_other():
    """Nothing but the starts of curves over turns is known beforehand: a threshold of -5 or 0 is none of them."""
    below = profile_of({"a": [0.9, 0.4, 0.0]}, metric="reward").with_columns(pl.col("at") - 5)
    assert [text.get_text() for text in plots.profile(below).axes[0].texts] == []
    assert plots.profile(profile_of({"a": [0.6, 0.0, 0.0]})).axes[0].get_ylim() == (0, 0.8)


@pytest.mark.integration
def test_profiles_stand_by_their_area():
    """All end at 0: the one that is higher on average is named first."""
    marks = plots.marks.profile(profile_of({"low": [0.9, 0.1, 0.0], "high": [0.8, 0.7, 0.0]}))
    assert dict(marks.select("group", "series").rows()) == {"high": 0, "low": 1}
    (ax,) = plots.profile(profile_of({"low": [0.9, 0.1, 0.0], "high": [0.8, 0.7, 0.0]})).axes
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == ["high", "low"]


def test_goals_without_values_and_few_goals_are_said():
    """Neither is hidden."""
    words = said(plots.profile(profile_of({"a": [0.6, 0.2, 0.0]}, n=6, missing=3)))
    assert "Goals without any value, excluded: 3." in words
    assert "Dashed: fewer than 10 goals." in words
    assert "n = 6 goals" in words


@pytest.mark.integration
def test_goals_stand_in_the_order_of_their_group():
    """The greatest first at 1; equal ones by name; those without an estimate are left out, and said to be."""
    frame = goals_of({"a": [0.2, 1.0, None, 0.2], "b": [0.0, 0.4, 0.6, 0.8]})
    marks = plots.marks.profile(frame)
    found = marks.sort("group", "at").group_by("group", maintain_order=True).agg("at", "estimate").rows()
    assert found == [("a", [1.0, 2.0, 3.0], [1.0, 0.2, 0.2]), ("b", [1.0, 2.0, 3.0, 4.0], [0.8, 0.6, 0.4, 0.0])]
    (ax,) = plots.profile(frame).axes
    assert ax.get_xlabel() == "goals, the most vulnerable first"
    assert "1 goal without an estimate, excluded." in said(ax)
    assert "n = 5 rollouts each." in said(ax)


@pytest.mark.integration
def test_intervals_of_rates_stay_inside_zero_and_one_others_do_not():
    """0.9 + 0.2 is cut off at 1; 3 turns are no share."""
    marks = plots.marks.profile(goals_of({"a": [0.9, 0.1]}))
    assert marks.select("low", "high").rows() == [(pytest.approx(0.7), 1.0), (0.0, pytest.approx(0.3))]
    turns = goals_of({"a": [3.0, 7.0]}, metric="num_turns")
    assert plots.marks.profile(turns)["high"].to_list() == [pytest.approx(7.2), pytest.approx(3.2)]
    (ax,) = plots.profile(turns).axes
    assert ax.get_ylabel() == "mean turns"
    assert ax.get_xlabel() == "goals, the greatest first"


@pytest.mark.integration
def test_many_goals_are_a_band_and_never_on_decades():
    """Forty whiskers can be told apart, four hundred cannot."""
    few, many = (goals_of({"a": [place / size for place in range(size)]}) for size in (40, 400))
    assert plots.marks.profile(few)["style"].unique().to_list() == ["point"]
    assert plots.marks.profile(many)["style"].unique().to_list() == ["line"]
    (ax,) = plots.profile(many).axes
    assert ax.get_xscale() == "linear"
    assert len(ax.lines) < 10


def test_tasks_are_found_and_another_column_is_named():
    """Tasks where there are no goals; the column may be another; one that is not there is said."""
    frame = goals_of({"a": [0.2, 0.8]}, metric="task_success").rename({"goal": "task"})
    for cluster in ("auto", "task"):
        assert plots.profile(frame, cluster=cluster).axes[0].get_xlabel() == "tasks, the most vulnerable first"
    with pytest.raises(ArgumentError, match=r"has no row for each goal \(it is grouped by target, task\)"):
        plots.profile(frame, cluster="goal")


def test_only_means_are_put_in_order():
    """A median beside it is another number of the same goals."""
    both = pl.concat([goals_of({"a": [0.2, 0.8]}), goals_of({"a": [0.3, 0.9]}, statistic="median")])
    assert plots.marks.profile(both)["estimate"].to_list() == [0.8, 0.2]


def test_another_frame_is_refused(curve_of):
    """One sentence."""
    with pytest.raises(ArgumentError, match=r"^profile: this is not a PROFILE frame: it lacks"):
        plots.profile(pl.DataFrame({"x": [1]}))
    with pytest.raises(ArgumentError, match=r"^profile: a CURVE frame has no profile"):
        plots.profile(curve_of({"a": (40, 0.1)}))


@pytest.mark.integration
def test_both_ways_agree_on_real_frames():
    """The share of goals above a rate is the share of ordered goals above it."""
    turns, _ = rw.simulate(targets={"base": 0.1}, goals=12, attempts=5, turns=4, text=False)
    rollouts = rw.measure(turns)
    steps = plots.marks.profile(rw.comparisons.profile(rollouts))
    ordered = plots.marks.profile(rw.summarize(rollouts, metrics="attack_success", by="goal", cluster=None))
    for at, share in steps.select("at", "estimate").iter_rows():
        assert share == pytest.approx((ordered["estimate"] > at + 1e-12).mean())
