"""Names, numbers and groups for people; frames that are whole."""

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.metrics import catalog
from rollwise.metrics.metric import ABOUT
from rollwise.schema import labels

ROW = {"metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 144, "n_clusters": 24, "method": "Wilson"}
RATE = ROW | {"estimate": 8 / 144, "low": 0.0149, "high": 0.1203}
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
    assert all("_" not in labels.label(ABOUT[function].name) for function in catalog.in_set("ALL"))


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
        (7.0, 7.0, 7.0, False, "7 [7, 7]"),
        (16929000.0, 16929000.0, 16929000.0, False, "16,929,000 [16,929,000, 16,929,000]"),
        (0.0123, 0.0123, 0.0123, False, "0.0123 [0.0123, 0.0123]"),
        (None, 0.0123, 0.0123, False, "0.0123–0.0123"),
        (0.0, 0.0, 0.0, True, "0.0 % [0.0, 0.0]"),
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


@pytest.mark.integration
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


@pytest.mark.integration
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
    assert labels.group_names(frame, ["a", "b"]) == ["x y · b 1", "x y · b 1 (2)", "(none) · b 1", "(none) · b 1 (2)"]
    lists = pl.DataFrame({"weights": [[0.2, 0.8], [0.0, 1.0], [0.2, 0.8]]})  # of a sweep
    assert labels.group_names(lists, ["weights"]) == ["[0.2, 0.8]", "[0.0, 1.0]", "[0.2, 0.8]"]


@pytest.mark.parametrize(
    ("numbers", "noun", "shown"),
    [
        (1, "rollout", "1 rollout"),
        (0, "rollout", "0 rollouts"),
        (None, "rollout", "– rollouts"),
        (12_345, "rollout", "12,345 rollouts"),
        ([1, None, 1], "goal × task", "1 goal × task"),
        ([1, 2], "goal × task", "1–2 goals × tasks"),
        (pl.Series([1]), "verdict or label", "1 verdict or label"),
        (pl.Series([11, 21]), "verdict or label", "11–21 verdicts or labels"),
    ],
)
def test_numbers_and_nouns_agree(numbers, noun, shown):
    """Only the one is singular: not a span that begins with one, nor a number that ends in it."""
    assert labels.counted(numbers, noun) == shown


def test_finished_frames_have_every_column_and_no_nan():
    """Columns that are lacking are null, numbers keep the schema's dtypes, NaN and infinity are null."""
    frame = labels.finished(
        pl.DataFrame([RATE | {"low": math.nan, "high": math.inf, "target": "a"}]), schema.SUMMARY, "draw"
    )
    assert set(schema.SUMMARY.names) < set(frame.columns)
    assert frame.select("low", "high", "n").row(0) == (None, None, 144)
    assert labels.finished(frame.lazy(), schema.SUMMARY, "draw").equals(frame)
    assert labels.finished(frame.to_arrow(), schema.SUMMARY, "draw").height == 1
    with pytest.raises(ArgumentError, match=r"rw\.curve"):
        labels.finished(frame, schema.CURVE, "draw")


def test_no_choice_is_every_row():
    """A value that is not there is answered with those that are."""
    frame = pl.DataFrame([RATE])
    assert labels.choose(frame, "draw", metric=None) is frame
    with pytest.raises(ArgumentError, match="available: attack_success"):
        labels.choose(frame, "draw", metric="nonsense")
    with pytest.raises(ArgumentError, match="no column 'kind'"):
        labels.choose(frame, "draw", kind="success")


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (labels.number(-0.25), "−0.25"),
        (labels.number(None), "–"),
        (
            labels.difference_text({"difference": -0.1, "low": -0.14, "high": -0.06}, "points"),
            "−10.0 points [−14.0, −6.0]",
        ),
        (labels.interval_text(RATE), "5.6 % [1.5, 12.0]"),
        (labels.level_text([0.5, 0.95]), "50 and 95 %"),
        (labels.p_text(0.04321), "0.043"),
        (labels.p_text(1e-9), "< 0.001"),
        (labels.p_text(None), "–"),
        (labels.share_text({"statistic": "mean", "estimate": 0.4, "n": 20}, rate=True), "8/20"),
        (labels.share_text({"statistic": "mean", "estimate": None, "n": 20}, rate=True), "20"),
        (labels.superscript(12), "¹²"),
        (labels.span([144, 40]), "40–144"),
        (labels.span([None]), "–"),
        (labels.shorten("meta-llama/Llama-3.1-8B-Instruct", 20), "meta-llama…-Instruct"),
        (labels.sentence("no variation between clusters"), "No variation between clusters."),
        (labels.value_name(350.0), "350"),
        (labels.value_name(None), "(none)"),
        (labels.group_name({"target": "gpt-4o", "attack": None}, ["target", "attack"]), "gpt-4o · (none)"),
        (labels.group_name({}, []), "all rollouts"),
    ],
)
def test_values_become_words(shown, words):
    """Numbers, shares, levels and groups, as tables and figures print them."""
    assert shown == words


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (labels.unit("time_to_success"), "turns"),
        (labels.unit("total_cost_usd"), "US$"),
        (labels.quantity("time_to_success", "restricted_mean"), "restricted mean turns to success"),
        (labels.quantity("first_turn", "max"), "max first turn"),
        (labels.contrast_quantity("attack_success", "mean", "base"), "difference in attack success from base"),
        (labels.contrast_quantity("total_tokens", "median"), "difference in median total tokens"),
        (labels.contrast_quantity("num_turns", "improvement", "base"), "chance of more turns than in base"),
        (labels.contrast_scale("attack_success", "mean"), "points"),
        (labels.contrast_scale("num_turns", "improvement"), "rate"),
        (labels.curve_quantity("success", "tokens"), "attack success within x tokens"),
        (labels.curve_quantity("hazard", metric="time_to_refusal"), "refusal at turn t, among rollouts at risk"),
        (labels.coefficient("kappa"), "Cohen's kappa"),
        (labels.coefficient("sensitivity"), "sensitivity"),
    ],
)
def test_quantities_have_titles(shown, words):
    """Titles of axes and columns say the statistic, the metric and what is compared."""
    assert shown == words


def test_groups_of_numbers_have_an_order_of_their_own():
    """Training steps are in the order of their values, names in none."""
    assert labels.own_order(pl.DataFrame({"train_step": [100, 50]}), ["train_step"]) == [
        "train step 50",
        "train step 100",
    ]
    assert labels.own_order(pl.DataFrame({"target": ["b", "a"]}), ["target"]) == []
