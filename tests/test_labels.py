"""Names, numbers and sentences for people."""

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise import labels, schema
from turnwise.errors import ArgumentError
from turnwise.metrics import catalog
from turnwise.metrics.metric import ABOUT

ROW = {"metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 144, "n_clusters": 24, "method": "Wilson"}
RATE = ROW | {"estimate": 8 / 144, "low": 0.0149, "high": 0.1203}
UNIT = {
    "estimand": "mean of attack_success, every rollout weighing the same; unit: goal x task; without a value: 3 missing"
}
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("attack_success", "attack success"),
        ("success_within_1", "success within 1 turn"),
        ("success_within_12", "success within 12 turns"),
        ("time_to_refusal_of_user", "turns to refusal of user"),
        ("total_cost_usd", "total cost"),
        ("gave_up", "attack gave up"),
        ("asr@k", "asr@k"),
        ("_", "''"),
        ("my\nown", "my own"),
    ],
)
def test_names_become_words(name, words):
    """Known names have their words; of others the underscores go."""
    assert labels.label(name) == words


def test_every_metric_of_the_catalog_has_words_without_underscores():
    """Nothing that we name ourselves is shown as code."""
    assert all("_" not in labels.label(ABOUT[function].name) for function in catalog.ALL)


def test_a_rate_is_known_by_name_or_by_its_bounds():
    """Boolean metrics of one's own are rates because SUMMARY bounds them; numbers are not."""
    rows = pl.DataFrame(
        {"metric": ["own", "own", "harm"], "bound_low": [None, 0.1, None], "bound_high": [None, 0.2, None]},
        schema_overrides={"bound_low": pl.Float64, "bound_high": pl.Float64},
    )
    assert labels.is_rate("own", rows)
    assert not labels.is_rate("harm", rows)
    assert not labels.is_rate("own")
    assert not labels.is_rate("own", rows.drop("bound_low"))
    assert labels.is_rate("ever_refused")
    assert not labels.is_rate("num_turns", {"bound_low": None, "bound_high": None})


@pytest.mark.parametrize(
    ("value", "low", "high", "rate", "shown"),
    [
        (8 / 144, 0.0149, 0.1203, True, "5.6 % [1.5, 12.0]"),
        (0.4, 0.15, 0.65, True, "40 % [15, 65]"),
        (0.0, 0.0, 0.0117, True, "0.00 % [0.00, 1.17]"),
        (1.0, 0.974, 1.0, True, "100.0 % [97.4, 100.0]"),
        (0.05556, 0.055559, 0.055561, True, "5.5560 % [5.5559, 5.5561]"),
        (0.5, None, None, True, "50.0 %"),
        (4.0, 3.0, 5.0, False, "4.0 [3.0, 5.0]"),
        (70508.4, 61508, 79508, False, "70,508 [61,508, 79,508]"),
        (-0.25, -0.5, 0.01, False, "−0.25 [−0.50, 0.01]"),
        (-0.0001, -0.1, 0.1, False, "0.00 [−0.10, 0.10]"),
        (7.0, None, None, False, "7"),
        (0.333333, None, None, False, "0.333"),
        (None, 0.12, 0.66, True, "12–66 %"),
        (None, None, 0.66, True, "[–, 66.0] %"),
        (None, -1.0, 2.0, False, "[−1.0, 2.0]"),
        (None, None, None, True, "–"),
        (0.3, None, 0.5, True, "30 % [–, 50]"),
        (math.nan, 0.1, math.inf, True, "[10.0, –] %"),
        (3e15, 1e15, 5e15, False, "3e15 [1e15, 5e15]"),
    ],
)
def test_numbers_are_rounded_by_their_interval(value, low, high, rate, shown):
    """Two significant digits of the half-width decide, alike for all three numbers."""
    assert labels.interval_text({"metric": "x", "estimate": value, "low": low, "high": high}, rate=rate) == shown


@given(FINITE | st.none(), FINITE | st.none(), FINITE | st.none(), st.booleans())
def test_any_numbers_can_be_shown(value, low, high, rate):
    """No number is too large or too small, and a minus is a minus sign."""
    shown = labels.interval_text({"metric": "x", "estimate": value, "low": low, "high": high}, rate=rate)
    assert shown
    assert "nan" not in shown
    assert not shown.startswith(("-", "−0.00 "))


@given(st.floats(0, 1), st.floats(0.0005, 0.5))
def test_an_interval_of_some_width_never_looks_like_a_point(value, half):
    """Rounded ends differ."""
    low, high = labels.bracket(max(value - half, 0), min(value + half, 1), rate=True).strip("[]").split(", ")
    assert low != high


@given(st.text())
def test_plain_text_is_one_line_without_control(words):
    """Nothing that moves a cursor, turns the text round, or breaks a line is left."""
    shown = labels.plain(words)
    assert shown
    assert len(shown.splitlines()) == 1
    assert not any(ord(letter) < 0x20 or letter in "\u202e\u2066\x7f\x9b" for letter in shown)


@given(st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=6), st.integers(4, 20))
def test_shortened_names_stay_different(names, most):
    """Different names are never shortened into the same."""
    assert len(set(labels.shorten_all(names, most))) == len(set(names))


def test_groups_have_different_names():
    """Also those that look alike once shown."""
    frame = pl.DataFrame({"a": ["x\ny", "x y", None, "(none)"], "b": [1, 1, 1, 1]})
    assert labels.group_names(frame, ["a", "b"]) == ["x y · 1", "x y · 1 (2)", "(none) · 1", "(none) · 1 (2)"]


def test_the_unit_is_read_from_the_estimand():
    """In the plural; rows that disagree have clusters; independent rollouts are rollouts."""
    both, goal = pl.DataFrame([RATE | UNIT]), pl.DataFrame([RATE | {"estimand": "x; unit: goal"}])
    assert labels.cluster_unit(both) == "goals × tasks"
    assert labels.cluster_unit(goal) == "goals"
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
    assert said == "Intervals: 95 %, Wilson, t; n = 40–144 rollouts in 8–24 goals × tasks per group."
    two = pl.DataFrame([RATE | {"level": 0.5}, RATE])
    assert labels.caption(two) == "Intervals: 50 and 95 %, Wilson; n = 144 rollouts in 24 clusters."
    without = pl.DataFrame([RATE]).with_columns(pl.lit(None, pl.Float64).alias(name) for name in ("low", "high"))
    assert labels.caption(without) == "No intervals; n = 144 rollouts in 24 clusters."
    assert labels.caption(pl.DataFrame({"x": [1]})) == ""


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
    assert labels.alt_text(pl.DataFrame(steps)) == "Share broken by turn t, as run, up to turn 4, 40 % [0, 90]."


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


def test_alternative_text_of_courses_tells_where_they_get_to():
    """The last value that something stands behind; a hazard at its highest, a trajectory at its event."""
    last = course("asr@k", [0.3, 0.5]) + course("asr@k", [0.3, 0.5, 0.1], at_risk=1)[2:]
    assert (
        labels.alt_text(pl.DataFrame(last))
        == "Share of goals broken at least once in k attempts, up to attempt 2, 50 % [40, 60]."
    )
    hazard = course("hazard", [0.3, 0.5, 0.2], metric="time_to_success", axis="turn")
    assert (
        labels.alt_text(pl.DataFrame(hazard))
        == "Share broken at turn t, of those still watched, at its highest, 50 % [40, 60]."
    )
    path = pl.DataFrame(course("trajectory", [2.0, 8.0, 3.0], metric="harm", axis="turn")).with_columns(
        pl.col("at") - 2
    )
    assert labels.alt_text(path) == "Mean harm since the event, at the event, 8.00 [7.90, 8.10]."
    spent = course("success", [0.2], metric="time_to_success", axis="cost_usd") + course(
        "success", [0.4], metric="time_to_success", axis="tokens", at=25_000.0
    )
    assert labels.alt_text(pl.DataFrame(spent)) == (
        "Share broken within x US$, as run, up to 1 US$, 20 % [10, 30]; "
        "share broken within x tokens, as run, up to 25,000 tokens, 40 % [30, 50]."
    )
    nothing = pl.DataFrame(course("asr@k", [None, None]), schema_overrides=schema.CURVE.dtypes)
    assert labels.alt_text(nothing) == "Share of goals broken at least once in k attempts, no estimate in 1 group."


def test_profiles_forecasts_and_training_are_known():
    """By what no other frame has; their own columns are no groups; each has its words."""
    row = {"target": "a", "metric": "attack_success", "level": 0.95, "estimate": 0.4, "low": 0.3, "high": 0.5, "n": 30}
    profile = pl.DataFrame([row | {"at": at, "n_missing": 0, "attempts": 5.0} for at in (0.0, 0.5, 1.0)])
    forecast = pl.DataFrame([row | {"at": 100.0, "alpha": 0.3, "beta": 2.0, "holdout_error": 0.1}])
    training = pl.DataFrame([row | {"step": 1000.0, "difference": 0.1, "all_fail": 0.2, "groups": 8}])
    found = [labels.shape_of(frame) for frame in (profile, forecast, training)]
    assert found == [schema.PROFILE, schema.FORECAST, schema.TRAINING]
    assert [labels.grouping(frame) for frame in (profile, forecast, training)] == [["target"]] * 3
    assert [labels.alt_text(frame) for frame in (profile, forecast, training)] == [
        "Share of goals whose mean attack success is above 50.0 % by target, 40 % [30, 50] (a).",
        "Forecast share of goals broken at least once in k attempts, up to attempt 100 by target, 40 % [30, 50] (a).",
        "Attack success, up to step 1,000 by target, 40 % [30, 50] (a).",
    ]
    assert labels.caption(profile) == "Intervals: 95 %; n = 30 goals."
    assert labels.caption(forecast) == "Intervals: 95 %; n = 30 attempts."
    assert labels.caption(training) == "Intervals: 95 %; n = 30 rollouts per step."


def test_captions_leave_out_how_a_bootstrap_was_computed():
    """Two routes to one method are one method; what belongs to its name stays."""
    rows = [
        RATE | {"target": name, "method": f"BCa bootstrap; {route}"}
        for name, route in (("a", "FFT"), ("b", "weights x GEMM"))
    ]
    assert "95 %, BCa bootstrap; n" in labels.caption(pl.DataFrame(rows))
    assert "95 %, t; exact test; n" in labels.caption(pl.DataFrame([RATE | {"method": "t; exact test"}]))


def test_a_caption_counts_rollouts_without_an_interval_too():
    """The position with the most rollouts may have none, since nothing varies there."""
    rows = course("trajectory", [0.5], metric="harm") + course(
        "trajectory", [1.0], metric="harm", at_risk=90, at=0.0, low=None, high=None
    )
    assert "n = 90 rollouts" in labels.caption(pl.DataFrame(rows, schema_overrides=schema.CURVE.dtypes))


def test_finished_frames_have_every_column_and_no_nan():
    """Columns that are lacking are null, numbers keep the schema's dtypes, NaN and infinity are null."""
    frame = labels.finished(
        pl.DataFrame([RATE | {"low": math.nan, "high": math.inf, "target": "a"}]), schema.SUMMARY, "draw"
    )
    assert set(schema.SUMMARY.names) < set(frame.columns)
    assert frame.select("low", "high", "n").row(0) == (None, None, 144)
    assert labels.finished(frame.lazy(), schema.SUMMARY, "draw").equals(frame)
    assert labels.finished(frame.to_arrow(), schema.SUMMARY, "draw").height == 1
    with pytest.raises(ArgumentError, match=r"tw\.curve"):
        labels.finished(frame, schema.CURVE, "draw")


def test_no_choice_is_every_row():
    """A value that is not there is answered with those that are."""
    frame = pl.DataFrame([RATE])
    assert labels.choose(frame, "metric", None, "draw") is frame
    with pytest.raises(ArgumentError, match="there is attack_success"):
        labels.choose(frame, "metric", "nonsense", "draw")
    with pytest.raises(ArgumentError, match="no column 'kind'"):
        labels.choose(frame, "kind", "success", "draw")
