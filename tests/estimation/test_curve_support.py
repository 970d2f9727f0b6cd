"""Curves past their data: few rollouts at risk and censoring that is not by chance are shown, and bounds hold the truth."""

import numpy as np
import polars as pl
import pytest
from simulations import repeated

import rollwise as rw
from rollwise import schema
from rollwise.estimation.curve_support import few_at_risk
from rollwise.plots.marks import curve as curve_marks
from rollwise.stats.incidence import cumulative_incidence


def rollouts(duration, observed, goal=None, ending="budget") -> pl.DataFrame:
    """ROLLOUTS that were followed for so many turns, and censored where the event was not observed."""
    times = [{"duration": int(t), "observed": bool(e)} for t, e in zip(duration, observed, strict=True)]
    ids = [f"r{row:04}" for row in range(len(times))]
    return pl.DataFrame(
        {
            "rollout_id": ids,
            "goal": ids if goal is None else [f"g{code}" for code in goal],
            "ending": pl.Series(["success" if e else ending for e in observed], dtype=schema.ENDINGS),
            "num_turns": pl.Series([int(t) for t in duration], dtype=pl.Int32),
            "time_to_success": pl.Series(times, dtype=schema.TIME_TO_EVENT),
        }
    )


# 40 rollouts: 4 successes and 16 censored at turn 1, 2 successes and 15 censored at turn 2, 3 followed to turn 3.
LONG = rollouts(
    [1] * 20 + [2] * 17 + [3] * 3, [True] * 4 + [False] * 16 + [True] * 2 + [False] * 15 + [True, False, False]
)


def test_worst_case_bounds_by_hand() -> None:
    """Censored rollouts never have the event later, or all have it at the next turn."""
    curve = rw.curve(LONG)
    assert curve["bound_low"].to_list() == pytest.approx([0, 4 / 40, 6 / 40, 7 / 40])
    assert curve["bound_high"].to_list() == pytest.approx([0, 4 / 40, (6 + 16) / 40, (7 + 31) / 40])
    survival = rw.curve(LONG, kind="survival")
    assert survival["bound_low"].to_list() == pytest.approx([1 - high for high in curve["bound_high"]])
    assert survival["bound_high"].to_list() == pytest.approx([1 - low for low in curve["bound_low"]])
    assert rw.curve(LONG, kind="hazard")["bound_low"].null_count() == 3


def test_bounds_count_rollouts_that_were_never_followed() -> None:
    """A rollout without a time could be a success at turn 1, but not before it; one without an attack is no such rollout."""
    frame = rollouts([1, 2, 2, 2], [True, False, False, False]).with_columns(
        time_to_success=pl.when(pl.col("num_turns").cum_sum() < 5).then("time_to_success"),
        attack=pl.Series(["a", "a", "a", "none"]),
    )
    curve = rw.curve(frame)
    assert curve["bound_low"].to_list() == pytest.approx([0, 1 / 3, 1 / 3])
    assert curve["bound_high"].to_list() == pytest.approx([0, 2 / 3, 2 / 3])


def test_few_at_risk_is_said_and_drawn() -> None:
    """Three rollouts at risk after 31 were censored: the row says so, the line is dashed, and the caption explains it."""
    curve = rw.curve(LONG)
    assert [bool(reason and "at risk" in reason) for reason in curve["reason"]] == [False, False, False, True]
    assert curve_marks(curve)["solid"].to_list() == [True, True, True, False]
    plot = rw.plots.curve(curve)
    assert any(line.get_linestyle() == "--" for line in plot.axes[0].lines)
    words = " ".join(text.get_text() for text in plot.figure.texts)
    assert "Dashed: fewer than 10 rollouts or 5 clusters at risk" in " ".join(words.split())


@pytest.mark.integration
def test_few_goals_at_risk_are_few_however_many_rollouts() -> None:
    """Twelve rollouts of three goals are at risk at turn 2: too few goals; without goals, enough rollouts."""
    goal = np.repeat(np.arange(10), 4)
    duration = np.where(goal < 3, 2, 1)
    frame = rollouts(duration, np.arange(40) % 4 == 0, goal)
    curve, independent = rw.curve(frame), rw.curve(frame, cluster=None)
    assert curve.filter(pl.col("at") == 2)["at_risk"].item() == 12
    assert "5 clusters" in curve["reason"][-1]
    assert curve_marks(curve)["solid"].to_list() == [True, True, False]
    assert "5 clusters" not in (independent["reason"][-1] or "")
    assert curve_marks(independent)["solid"].to_list() == [True, True, True]


def test_without_censoring_few_at_risk_need_no_caveat() -> None:
    """Forty of 42 rollouts have succeeded: the share of all is as certain as ever."""
    curve = rw.curve(rollouts([1] * 40 + [2] * 2, [True] * 40 + [False] * 2))
    assert curve["reason"].to_list() == [None] * 3


def test_censoring_that_could_change_the_share_is_said() -> None:
    """The caveat is given where a bound is outside the interval, and in neither table that hardly censors."""
    said = [bool(reason and "censored before" in reason) for reason in rw.curve(LONG)["reason"]]
    assert said == [False, False, True, True]
    little = rollouts([1] * 2 + [2] * 98, [False] * 2 + [True] * 40 + [False] * 58)
    assert rw.curve(little)["reason"].to_list() == [None] * 3


def test_a_difference_past_its_data_says_so() -> None:
    """One arm has three rollouts at risk at turn 3."""
    full = rollouts([3] * 40, [True] * 20 + [False] * 20)
    both = pl.concat(
        [
            frame.with_columns(target=pl.lit(name), rollout_id=name + pl.col("rollout_id"), goal=name + pl.col("goal"))
            for name, frame in (("short", LONG), ("full", full))
        ]
    )
    difference = rw.comparisons.curve_difference(both, of="target", baseline="full")
    assert [bool(reason and "at risk" in reason) for reason in difference["reason"]] == [False, False, True]


def _table(rng, goals, attempts, chance, spread, censoring, last=10):
    """Durations, events and goals of a table whose goals differ in their chance at each turn, with censoring by chance."""
    a, b = chance * (1 / spread - 1), (1 - chance) * (1 / spread - 1)
    chances = np.repeat(rng.beta(a, b, goals), attempts)
    event = rng.geometric(np.clip(chances, 1e-9, 1))
    end = np.minimum(rng.geometric(censoring, chances.size), last)
    return np.minimum(event, end), event <= end, np.repeat(np.arange(goals), attempts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "attempts", "chance", "spread", "censoring"),
    [
        (30, 2, 0.1, 0.2, 0.3),
        (30, 2, 0.05, 0.3, 0.25),
        (15, 4, 0.15, 0.2, 0.3),
        (60, 1, 0.1, 1e-6, 0.3),
        (100, 1, 0.05, 1e-6, 0.3),
    ],
)
def test_positions_without_a_caveat_cover(goals, attempts, chance, spread, censoring) -> None:
    """At nominal .95, positions with enough at risk cover in at least .94; the others only in .87 to .95."""
    count = repeated(2000)
    rng = np.random.default_rng(3)
    chances = rng.beta(chance * (1 / spread - 1), (1 - chance) * (1 / spread - 1), 400_000)
    truth = np.array([1 - np.mean((1 - chances) ** t) for t in range(11)])
    inside: dict[bool, list[np.bool_]] = {True: [], False: []}
    for _ in range(count):
        duration, event, goal = _table(rng, goals, attempts, chance, spread, censoring)
        curve = cumulative_incidence(duration, event.astype(int), (goal,) if attempts > 1 else (), horizon=10)
        rows = [
            {"at_risk": at_risk, "censored": censored, "n_clusters": clusters}
            for at_risk, censored, clusters in zip(curve.at_risk, curve.censored, curve.n_clusters, strict=True)
        ]
        for t, few in enumerate(few_at_risk(rows)):
            if t and not np.isnan(curve.low[t]):
                inside[few].append(curve.low[t] <= truth[t] <= curve.high[t])
    assert np.mean(inside[False]) >= 0.94 - 2 * np.sqrt(0.05 / count)
    assert len(inside[True]) > count


@pytest.mark.slow
def test_bounds_hold_when_rollouts_crash_close_to_a_success() -> None:
    """Rollouts crash instead of succeeding: the interval covers rarely, the bounds nearly always, and the caveat is given."""
    count, last = repeated(500, reduced=100), 8
    rng = np.random.default_rng(5)
    covered, bounded, said = [], [], []
    for _ in range(count):
        event = rng.geometric(np.clip(rng.beta(1, 6, 50), 1e-9, 1))
        truth = 1 - np.prod([1 - 1 / (7 + t) for t in range(last)])  # the mean of (1 - p)^8 over beta(1, 6)
        # Two of five rollouts that would succeed at a turn crash at the turn before.
        crash = (rng.random(50) < 0.4) & (event > 1) & (event <= last)
        duration = np.where(crash, event - 1, np.minimum(event, last))
        point = rw.curve(rollouts(duration, (event <= last) & ~crash, ending="error")).row(-1, named=True)
        covered.append(point["low"] <= truth <= point["high"])
        # The bounds are those of this sample: the truth is the mean over samples, so they are compared with the sample's.
        bounded.append(point["bound_low"] <= np.mean(event <= last) <= point["bound_high"])
        said.append("censored before" in (point["reason"] or ""))
    assert np.mean(covered) < 0.85
    assert np.mean(bounded) == 1
    assert np.mean(said) > 0.95
