# mypy: disable-error-code="operator"
"""What a budget of tokens, dollars, seconds or calls reaches."""

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import plots
from rollwise.errors import ArgumentError
from rollwise.plots.curve_marks import MARKS


def over(curve_of, axis, at, name="a", **more):
    curve = curve_of({name: (60, 0.1)}, turns=len(at), axis=axis, **more)
    return curve.with_columns(at=pl.Series(at, dtype=pl.Float64))


def ticks_of(ax):
    ax.figure.canvas.draw()
    left, right = ax.get_xlim()
    return [tick.get_text() for tick in ax.get_xticklabels() if left <= tick.get_position()[0] <= right]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("axis", "at", "scale", "words", "ticks"),
    [
        ("tokens", [100, 1000, 20_000, 3e6], "log", "tokens", ["100", "1,000", "10,000", "100,000", "1M"]),
        (
            "tokens",
            [500, 12_000, 30_000],
            "linear",
            "tokens",
            ["0", "5,000", "10,000", "15,000", "20,000", "25,000", "30,000"],
        ),
        ("cost_usd", [0.01, 0.1, 20.0], "log", "cost in US$", ["$0.01", "$0.10", "$1", "$10"]),
        ("cost_usd", [0.5, 1.0, 2.0], "linear", "cost in US$", ["$0", "$0.50", "$1", "$1.50", "$2"]),
        ("seconds", [1.0, 30.0, 60.0], "linear", "seconds", ["0", "10", "20", "30", "40", "50", "60"]),
        ("target_call", [1.0, 2.0, 3.0], "linear", "call of the target", ["0", "1", "2", "3"]),
    ],
)
def test_axes_speak_the_language_of_the_budget(curve_of, axis, at, scale, words, ticks):
    """Tokens in thousands and millions, dollars with their sign; two decades make the axis logarithmic."""
    (ax,) = plots.curve(over(curve_of, axis, at)).axes
    assert ax.get_xscale() == scale
    assert ax.get_xlabel() == words
    assert ticks_of(ax) == ticks


def test_marks_are_steps_from_zero(curve_of):
    """Nothing is broken for nothing; each step lasts until the next position."""
    marks = plots.marks.curve(over(curve_of, "tokens", [10.0, 40.0]))
    assert marks.schema == pl.Schema(MARKS)
    assert marks.select("at", "until").rows() == [(0.0, 10.0), (10.0, 40.0), (40.0, pytest.approx(41.2))]
    assert marks["estimate"].round(4).to_list() == [0.0, 0.1, pytest.approx(0.19, abs=0.01)]


def test_many_ticks_of_censored_rollouts_are_left_out(curve_of):
    """Twelve can be told apart, more are a smear."""
    enough = [pl.lit(1).alias("censored"), pl.lit(60).alias("at_risk")]  # a budget's curve ends where few are left
    few = plots.marks.curve(over(curve_of, "tokens", list(range(1, 13))).with_columns(enough))
    many = plots.marks.curve(over(curve_of, "tokens", list(range(1, 15))).with_columns(enough))
    assert (few["censored"] > 0).sum() == 12
    assert (many["censored"] > 0).sum() == 0


def single_turns() -> pl.DataFrame:
    """Sixty rollouts of one turn, 13 broken, of 1 to 60 tokens: at the last token one is at risk."""
    return pl.DataFrame(
        {
            "rollout_id": [f"r{k}" for k in range(60)],
            "turn": 1,
            "target": "m",
            "goal": [f"g{k}" for k in range(60)],
            "succeeded": [k % 5 == 0 or k == 59 for k in range(60)],
            "response_tokens": list(range(1, 61)),
        }
    )


@pytest.mark.integration
def test_a_budget_ends_where_enough_rollouts_are() -> None:
    """Of 60 rollouts 13 are broken, 22 %; the curve, its axis and its text do not go on to the one at risk, where it is 100 %."""
    rollouts = rw.measure(single_turns(), m.attack_success(), m.time_to_success(), m.spent_to_success("tokens"))
    curve = rw.curve(rollouts, by="target", axis="tokens")
    assert curve["estimate"].max() == 1.0
    marks = plots.marks.curve(curve)
    assert marks["at_risk"].min() >= 10
    assert marks["estimate"].max() < 0.5
    plot = plots.curve(curve)
    assert plot.axes[0].get_xlim()[1] < 60
    assert "100 %" not in plot.alt
    few = curve.with_columns(at_risk=pl.lit(5))  # none has enough: all of it, dashed
    assert plots.marks.curve(few)["estimate"].max() == 1.0


@pytest.mark.integration
def test_bounds_are_hatched_where_they_are_far() -> None:
    """The caption speaks of the band, not of columns that no reader of a figure sees."""
    rollouts = rw.measure(single_turns(), m.attack_success(), m.time_to_success(), m.spent_to_success("tokens"))
    plot = plots.curve(rw.curve(rollouts, by="target", axis="tokens"))
    assert [band.get_hatch() for band in plot.axes[0].collections if band.get_hatch()] == ["////"]
    assert "the share is in the hatched band" in plot.caption
    assert "bound_low" not in plot.caption


@pytest.mark.integration
def test_several_budgets_are_panels(curve_of):
    """Each budget has its own axis; one is chosen with axis=."""
    both = pl.concat([over(curve_of, "tokens", [1.0, 5.0]), over(curve_of, "cost_usd", [0.1, 0.2])])
    assert [ax.get_xlabel() for ax in plots.curve(both).axes] == ["tokens", "cost in US$"]
    assert plots.curve(both, axis="cost_usd").axes[0].get_xlabel() == "cost in US$"
    with pytest.raises(ArgumentError, match="available: cost_usd, tokens"):
        plots.curve(both, axis="yen")


@pytest.mark.integration
def test_of_a_real_curve(tmp_path):
    """The last mark is the share broken at all, where no rollout competes with success."""
    turns, _ = rw.simulate(goals=8, attempts=3, turns=4, give_up=0, target_ends=0, error=0, text=False)
    spent = turns.with_columns(prompt_tokens=10 * pl.col("turn"), response_tokens=pl.lit(5))
    rollouts = rw.measure(spent, m.attack_success(), m.time_to_success(), m.spent_to_success("tokens"))
    curve = rw.curve(rollouts, axis="tokens", by="target")
    marks = plots.marks.curve(curve)
    last = marks.sort("at").group_by("group").last().sort("group")["estimate"].to_list()
    known = rollouts.group_by("target").agg(pl.col("attack_success").mean()).sort("target")["attack_success"].to_list()
    assert last == pytest.approx(known)
    assert marks["at"].unique().sort().to_list() == [0.0, 15.0, 40.0, 75.0, 120.0]
