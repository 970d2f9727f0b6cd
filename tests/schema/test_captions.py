"""Sentences about finished frames: how their intervals were made, and what a figure of them shows."""

from typing import Any

import polars as pl
import pytest

from rollwise import schema
from rollwise.schema import labels

ROW = {"metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 144, "n_clusters": 24, "method": "Wilson"}
RATE = ROW | {"estimate": 8 / 144, "low": 0.0149, "high": 0.1203}
UNIT = {
    "estimand": "mean of attack_success, every rollout weighing the same; unit: goal x task; without a value: 3 missing"
}


def course(kind: str, values: list[float | None], **more: Any) -> list[dict[str, Any]]:
    """Rows of CURVE at 1, 2, ... with intervals of a tenth to both sides."""
    told = {"metric": "attack_success", "kind": kind, "axis": "attempt", "level": 0.95, "ending": None, "at_risk": 40}
    return [
        told
        | {"at": float(place), "estimate": value}
        | {"low": None if value is None else value - 0.1, "high": None if value is None else value + 0.1}
        | more
        for place, value in enumerate(values, 1)
    ]


def test_the_unit_is_read_from_the_estimand():
    """In the plural; rows that disagree have clusters; independent rollouts are rollouts."""
    both, goal = pl.DataFrame([RATE | UNIT]), pl.DataFrame([RATE | {"estimand": "x; unit: goal"}])
    assert labels.cluster_unit(both) == "goals × tasks"
    assert labels.cluster_unit(goal) == "goals"
    assert labels.cluster_heading(both) == "goals or tasks"
    assert labels.cluster_heading(goal) == "goals"
    assert labels.cluster_unit(pl.concat([both, goal])) == "clusters"
    assert labels.cluster_unit(pl.DataFrame([RATE | {"estimand": "x; unit: rollout (no clusters)"}])) == "rollouts"
    assert labels.cluster_unit(pl.DataFrame([RATE])) == "clusters"


def test_captions_state_method_level_n_and_unit():
    """One sentence, ranges where groups differ, a count where methods are many."""
    first, second = (
        RATE | UNIT | {"target": "a"},
        RATE | UNIT | {"target": "b", "n": 40, "n_clusters": 8, "method": "t"},
    )
    said = labels.caption(pl.DataFrame([first, second]))
    assert said == "Intervals: 95 %, Wilson, t; n = 40–144 rollouts in at least 8 goals and 8 tasks per group."
    tests = pl.DataFrame(
        [first | {"method": "Newcombe score, paired; McNemar mid-p"}, second | {"method": "paired t; flips"}]
    )
    assert labels.caption(tests).startswith(
        "Intervals: 95 %, Newcombe score (paired; McNemar mid-p), paired t (flips); n"
    )
    assert labels.caption(tests.head(1)).startswith("Intervals: 95 %, Newcombe score, paired; McNemar mid-p; n")
    two = pl.DataFrame([RATE | {"level": 0.5}, RATE])
    assert labels.caption(two) == "Intervals: 50 and 95 %, Wilson; n = 144 rollouts in 24 clusters."
    without = pl.DataFrame([RATE]).with_columns(pl.lit(None, pl.Float64).alias(name) for name in ("low", "high"))
    assert labels.caption(without) == "No intervals; n = 144 rollouts in 24 clusters."
    assert labels.caption(pl.DataFrame({"x": [1]})) == ""


def test_captions_say_one_in_the_singular():
    """One rollout in one goal × task; spans and larger numbers stay plural; each frame counts its own things."""
    one = RATE | UNIT | {"target": "a", "n": 1, "n_clusters": 1}
    assert (
        labels.caption(pl.DataFrame([one])) == "Intervals: 95 %, Wilson; n = 1 rollout in at least 1 goal and 1 task."
    )
    said = labels.caption(pl.DataFrame([one, RATE | UNIT | {"target": "b", "n": 1}]))
    assert said == "Intervals: 95 %, Wilson; n = 1 rollout in at least 1 goal and 1 task per group."
    attempts = pl.DataFrame(course("asr@k", [0.5, 0.5], at_risk=1, n_clusters=1))
    assert labels.caption(attempts) == "Intervals: 95 %; n = 1 goal in 1 cluster."
    crossed = pl.DataFrame(course("asr@k", [0.5, 0.5], at_risk=389, n_clusters=21, estimand="x; unit: goal x task"))
    assert labels.caption(crossed) == "Intervals: 95 %; n = 389 pairs in at least 21 goals and 21 tasks."
    pair = {
        "metric": "attack_success",
        "statistic": "mean",
        "of": "target",
        "group": "b",
        "baseline": "a",
        "level": 0.95,
    }
    pair |= {"difference": None, "low": 0.1, "high": 0.3, "n_pairs": 1, "n_clusters": 1, "estimand": "x; unit: goal"}
    contrast = pl.DataFrame([pair], schema_overrides=schema.CONTRAST.dtypes)
    assert labels.caption(contrast) == "Intervals: 95 %; n = 1 pair in 1 goal."
    assert labels.alt_text(contrast).endswith("no difference known in 1 comparison.")


def test_alternative_text_is_one_sentence():
    """Least and greatest group, or the one value, or that there is none."""
    rows = pl.DataFrame([RATE | {"target": "a"}, RATE | {"target": "b", "estimate": 0.5, "low": 0.4, "high": 0.6}])
    assert (
        labels.alt_text(rows) == "Attack success by target, from 5.6 % [1.5, 12.0] (a) to 50 % [40, 60] (b), 2 groups."
    )
    assert labels.alt_text(rows.filter(target="a").drop("target")) == "Attack success, 5.6 % [1.5, 12.0]."
    unknown = rows.with_columns(estimate=pl.lit(None, pl.Float64))
    assert labels.alt_text(unknown) == "Attack success by target, no estimate in 2 groups."
    assert labels.alt_text(schema.empty(schema.SUMMARY)) == "An empty figure."
    curve = {"metric": "time_to_success", "kind": "success", "axis": "turn", "level": 0.95, "ending": None}
    steps = [curve | {"at": turn, "estimate": turn / 10, "low": 0.0, "high": 0.9} for turn in (1.0, 4.0)]
    assert labels.alt_text(pl.DataFrame(steps)) == "Attack success by turn t, up to turn 4, 40 % [0, 90]."


def test_alternative_text_of_courses_tells_where_they_get_to():
    """The last value that something stands behind; a hazard at its highest, a trajectory at its event."""
    last = course("asr@k", [0.3, 0.5]) + course("asr@k", [0.3, 0.5, 0.1], at_risk=1)[2:]
    assert (
        labels.alt_text(pl.DataFrame(last))
        == "Share of goals with at least one success in k attempts, up to attempt 2, 50 % [40, 60]."
    )
    hazard = course("hazard", [0.3, 0.5, 0.2], metric="time_to_success", axis="turn")
    assert (
        labels.alt_text(pl.DataFrame(hazard))
        == "Attack success at turn t, among rollouts at risk, at its highest, 50 % [40, 60]."
    )
    path = pl.DataFrame(course("trajectory", [2.0, 8.0, 3.0], metric="harm", axis="turn")).with_columns(
        pl.col("at") - 2
    )
    assert labels.alt_text(path) == "Mean harm since the event, at the event, 8.00 [7.90, 8.10]."
    spent = course("success", [0.2], metric="time_to_success", axis="cost_usd") + course(
        "success", [0.4], metric="time_to_success", axis="tokens", at=25_000.0
    )
    assert labels.alt_text(pl.DataFrame(spent)) == (
        "Attack success within x US$, up to 1 US$, 20 % [10, 30]; "
        "attack success within x tokens, up to 25,000 tokens, 40 % [30, 50]."
    )
    nothing = pl.DataFrame(course("asr@k", [None, None]), schema_overrides=schema.CURVE.dtypes)
    assert labels.alt_text(nothing) == "Share of goals with at least one success in k attempts, no estimate in 1 group."


@pytest.mark.integration
def test_profiles_forecasts_and_training_are_known():
    """By what no other frame has; their own columns are no groups; each has its words."""
    row = {"target": "a", "metric": "attack_success", "level": 0.95, "estimate": 0.4, "low": 0.3, "high": 0.5, "n": 30}
    profile = pl.DataFrame([row | {"at": at, "n_missing": 0, "attempts": 5.0} for at in (0.0, 0.5, 1.0)])
    forecast = pl.DataFrame([row | {"at": 100.0, "immune": 0.3, "holdout_error": 0.1}])
    training = pl.DataFrame([row | {"step": 1000.0, "difference": 0.1, "all_fail": 0.2, "groups": 8}])
    found = [labels.shape_of(frame) for frame in (profile, forecast, training)]
    assert found == [schema.PROFILE, schema.FORECAST, schema.TRAINING]
    assert [labels.grouping(frame) for frame in (profile, forecast, training)] == [["target"]] * 3
    assert [labels.alt_text(frame) for frame in (profile, forecast, training)] == [
        "Share of goals whose mean attack success is above 50.0 % by target, 40 % [30, 50] (a).",
        "Forecast share of goals with at least one success in k attempts, up to attempt 100 by target, 40 % [30, 50] (a).",
        "Attack success, up to step 1,000 by target, 40 % [30, 50] (a).",
    ]
    assert labels.caption(profile) == "Intervals: 95 %; n = 30 goals."
    assert labels.caption(forecast) == "Intervals: 95 %; n = 30 attempts."
    assert labels.caption(training) == "Intervals: 95 %; n = 30 rollouts per step."


def test_captions_name_the_method_and_its_test():
    """One method of all groups is named once, with the test that belongs to it."""
    rows = [RATE | {"target": name, "method": "BCa bootstrap"} for name in ("a", "b")]
    assert "95 %, BCa bootstrap; n" in labels.caption(pl.DataFrame(rows))
    flips = [row | {"method": f"{row['method']}; sign flips"} for row in rows]
    assert "95 %, BCa bootstrap; sign flips; n" in labels.caption(pl.DataFrame(flips))
    assert "95 %, t; exact test; n" in labels.caption(pl.DataFrame([RATE | {"method": "t; exact test"}]))


def test_a_caption_counts_rollouts_without_an_interval_too():
    """The position with the most rollouts may have none, since nothing varies there."""
    rows = course("trajectory", [0.5], metric="harm") + course(
        "trajectory", [1.0], metric="harm", at_risk=90, at=0.0, low=None, high=None
    )
    assert "n = 90 rollouts" in labels.caption(pl.DataFrame(rows, schema_overrides=schema.CURVE.dtypes))


def test_goals_of_several_attacks_are_not_called_goals():
    """Twenty goals, each by two attacks: forty pairs; in groups by attack twenty goals again."""
    told = {"n_clusters": 20, "estimand": "x; unit: goal"}
    by_target = pl.DataFrame(course("asr@k", [0.5, 0.6], target="a", **told))
    assert labels.caption(by_target) == (
        "Intervals: 95 %; n = 40 pairs of goal and attack in 20 goals; attacks are pooled."
    )
    both = pl.DataFrame(course("asr@k", [0.5, 0.6], **told))
    assert "n = 40 combinations of goal, target and attack in 20 goals." in labels.caption(both)
    apart = pl.DataFrame(course("asr@k", [0.5], target="a", attack="b", **(told | {"at_risk": 20})))
    assert labels.caption(apart).endswith("n = 20 goals.")
    tasks = pl.DataFrame(course("pass@k", [0.5], target="a", **(told | {"estimand": "x; unit: task"})))
    assert "40 pairs of task and attack in 20 tasks" in labels.caption(tasks)
