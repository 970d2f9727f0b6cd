"""`forecast`: more attempts than were made, with an interval, a warning, and the error on attempts held out."""

import numpy as np
import polars as pl
import pytest
from simulations import repeated

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.stats.beta_binomial import Chances, beta_binomial
from rollwise.stats.intervals import wilson


def tried(won: np.ndarray, *, stop: bool = False) -> pl.DataFrame:
    """ROLLOUTS of a table goals x attempts."""
    rows = []
    for goal, values in enumerate(won):
        for number, value in enumerate(values, 1):
            rows.append((f"{goal}-{number}", f"g{goal:03}", number, bool(value)))
            if stop and value:
                break
    names = {"rollout_id": pl.String, "goal": pl.String, "attempt": pl.Int32, "attack_success": pl.Boolean}
    return pl.DataFrame(rows, schema=names, orient="row")


def drawn(rng: np.random.Generator, goals: int, size: int, rate: float, icc: float) -> np.ndarray:
    precision = (1 - icc) / icc
    return rng.random((goals, size)) < rng.beta(rate * precision, (1 - rate) * precision, goals)[:, None]


def truth(rate: float, icc: float, k: int, immune: float = 0) -> float:
    parts = {"mean": rate, "correlation": icc, "immune": immune, "probability": 1}
    return float(Chances(**{name: np.array([value], float) for name, value in parts.items()}).reached(k)[0])


@pytest.mark.integration
def test_the_row_is_the_average_of_the_models() -> None:
    """Estimate and interval are those of c successes of n; what was held out is in the row."""
    won = drawn(np.random.default_rng(0), 60, 9, 0.15, 0.3)
    got = rw.forecast(tried(won), k=(20, 50))
    chances = beta_binomial(won.sum(1), np.full(60, 9))
    assert got["estimate"].to_list() == [chances.expected(chances.reached(k))[0] for k in (20, 50)]
    assert got.select("low", "high").row(1) == chances.forecast(50, 0.95)
    assert got["immune"][0] == chances.expected(chances.immune)[0]
    assert (got["attempts"][0], got["n"][0], got["n_clusters"][0]) == (9, 540, 60)
    # 20 of 9 attempts are 2.2 times as many: 9 from the first 4. 50 are 5.6 times: 9 from the first 2, the fewest.
    assert got.select("holdout_from", "holdout_at").rows() == [(4, 9), (2, 9)]
    early = beta_binomial(won[:, :4].sum(1), np.full(60, 4))
    assert got["holdout_forecast"][0] == early.expected(early.reached(9))[0]
    assert got["holdout_observed"][0] == pytest.approx(won.any(axis=1).mean())
    assert got["holdout_error"][0] == pytest.approx(got["holdout_forecast"][0] - got["holdout_observed"][0])
    schema.check(got, schema.FORECAST)


@pytest.mark.integration
def test_tasks_are_solved_and_not_broken() -> None:
    """A metric of the user's task is told of tasks."""
    won = tried(drawn(np.random.default_rng(0), 12, 3, 0.4, 0.3)).rename(
        {"goal": "task", "attack_success": "task_success"}
    )
    row = rw.forecast(won, metric="task_success", k=5)
    assert (
        row["estimand"]
        .item()
        .startswith("share of tasks solved at least once in 5 attempts, tasks' chances being Beta, ")
    )


def test_stopping_costs_no_bias() -> None:
    """From loops that stopped at success the forecast at 100 is that of the truth, where c/n would say far more."""
    won = drawn(np.random.default_rng(1), 2000, 10, 0.1, 0.3)
    row = rw.forecast(tried(won, stop=True), k=100).row(0, named=True)
    assert row["estimate"] == pytest.approx(truth(0.1, 0.3, 100), abs=0.04)
    assert abs(row["holdout_error"]) < 0.02


@pytest.mark.integration
def test_far_out_is_said() -> None:
    """From three times the attempts made the row warns, says what holds for all goals, and how far the held-out attempts reach."""
    frame = tried(drawn(np.random.default_rng(2), 40, 5, 0.2, 0.3))
    near, at, far = rw.forecast(frame, k=(14, 15, 60))["reason"]
    assert near is None
    assert at == (
        "3 times the attempts made: the interval assumes this distribution of chances; for any other one the share is between "
        "bound_low and bound_high; holdout_error is of 2.5 times"
    )
    assert far.startswith("12 times the attempts made: ")


@pytest.mark.integration
def test_bounds_for_any_goals_by_hand() -> None:
    """12 of 40 goals are broken in 4 attempts: at 8 attempts at most twice the upper end of Wilson's interval, .454."""
    row = rw.forecast(tried(np.repeat([[1, 0, 0, 0], [0, 0, 0, 0]], [12, 28], axis=0)), k=(8, 100)).rows(named=True)
    low, high = wilson(12, 40)
    assert low is not None
    assert high is not None
    assert row[0]["bound_low"] == pytest.approx(low, abs=0.02)
    assert row[0]["bound_high"] == pytest.approx(2 * high, abs=0.03)
    assert (row[1]["bound_low"], row[1]["bound_high"]) == (row[0]["bound_low"], 1.0)


@pytest.mark.integration
def test_loops_that_stopped_have_bounds_from_their_budget() -> None:
    """The bounds of loops of up to 10 attempts start at 10 attempts, not at the one attempt of goals that fell at once."""
    won = drawn(np.random.default_rng(5), 300, 10, 0.1, 0.3)
    whole, stopped = (rw.forecast(tried(won, stop=stop), k=20).row(0, named=True) for stop in (False, True))
    for name in ("bound_low", "bound_high"):
        assert stopped[name] == pytest.approx(whole[name], abs=0.01)


@pytest.mark.integration
def test_immune_goals_are_not_broken_in_the_end() -> None:
    """Of 2,000 goals half are immune: at 100 attempts .48 are broken, where a beta distribution alone says .6 and more."""
    rng = np.random.default_rng(1)
    chance = np.where(rng.random(2000) < 0.5, 0, rng.beta(1, 4, 2000))
    row = rw.forecast(tried(rng.random((2000, 10)) < chance[:, None]), k=100).row(0, named=True)
    assert row["estimate"] == pytest.approx(truth(0.2, 1 / 6, 100, immune=0.5), abs=0.05)
    assert row["immune"] == pytest.approx(0.5, abs=0.05)
    assert row["low"] < 0.48 < row["high"]


@pytest.mark.integration
def test_goals_in_clusters_say_less() -> None:
    """Ten copies of each of 20 goals, in 20 clusters: about as wide as 20 goals alone, not as 200."""
    won = drawn(np.random.default_rng(8), 20, 6, 0.3, 0.3)
    copies = tried(np.repeat(won, 10, axis=0)).with_columns(
        family=pl.col("goal").str.slice(1).cast(pl.Int64).floordiv(10)
    )
    alone, clustered, naive = (
        rw.forecast(frame, k=12, cluster=cluster).row(0, named=True)
        for frame, cluster in ((tried(won), "auto"), (copies, "family"), (copies, "auto"))
    )
    width = {
        name: row["high"] - row["low"] for name, row in (("alone", alone), ("clustered", clustered), ("naive", naive))
    }
    assert width["clustered"] == pytest.approx(width["alone"], rel=0.15)
    assert width["naive"] < 0.6 * width["clustered"]


@pytest.mark.integration
def test_unjudged_attempts_widen_the_bounds_as_well() -> None:
    """Bounds for any goals hold for any verdict of the attempts without one, too."""
    won = drawn(np.random.default_rng(9), 40, 5, 0.2, 0.3)
    frame = tried(won)
    some = pl.when(pl.int_range(pl.len()) % 7 != 0).then("attack_success")
    whole, partly = (
        rw.forecast(each, k=6).row(0, named=True) for each in (frame, frame.with_columns(attack_success=some))
    )
    assert partly["bound_low"] < whole["bound_low"]
    assert partly["bound_high"] > whole["bound_high"]


def test_no_success_has_an_upper_bound_only() -> None:
    """0 of 50 goals in 5 attempts: at 20 attempts at most four times Wilson's end, whatever the goals are like."""
    row = rw.forecast(tried(np.zeros((50, 5))), k=20).row(0, named=True)
    assert (row["estimate"], row["low"], row["immune"]) == (None, 0.0, None)
    assert row["high"] == pytest.approx(4 * (wilson(0, 50, df=49)[1] or 0))
    assert "0 successes: how goals differ is not identified" in row["reason"]


def test_every_success_has_a_lower_bound_only() -> None:
    """50 of 50 goals in each of 5 attempts: nothing says what the misses would be, but the share cannot fall."""
    row = rw.forecast(tried(np.ones((50, 5))), k=20).row(0, named=True)
    assert (row["estimate"], row["high"]) == (None, 1.0)
    assert row["low"] > 0.9
    assert "every attempt succeeded" in row["reason"]


@pytest.mark.parametrize(
    ("won", "why"),
    [
        (np.eye(20)[:, :1], "one attempt at each goal"),
        (np.eye(8), "8 clusters are too few"),
        (np.eye(1, 4), "one cluster"),
    ],
)
def test_what_identifies_nothing_is_null(won: np.ndarray, why: str) -> None:
    """One attempt each, few goals, one goal: null with a reason."""
    row = rw.forecast(tried(won), k=20).row(0, named=True)
    assert (row["estimate"], row["low"], row["high"]) == (None, None, None)
    assert why in row["reason"]


@pytest.mark.integration
def test_groups_are_their_own() -> None:
    """Another group in the frame changes no digit, nor does the order of rows."""
    rng = np.random.default_rng(3)
    a, b = (
        tried(drawn(rng, 30, 6, rate, 0.3)).with_columns(target=pl.lit(name)) for name, rate in (("a", 0.1), ("b", 0.4))
    )
    both = pl.concat([b.with_columns(pl.col("rollout_id") + "b"), a])
    got = rw.forecast(both.sample(fraction=1, shuffle=True, seed=1), k=30, by="target")
    assert got.filter(target="a").equals(rw.forecast(a, k=30, by="target"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"k": 0}, "k=0 is not a valid number"),
        ({"k": 5, "metric": "attempt"}, "only a Boolean can be forecast"),
        ({"k": 5, "metric": "x"}, "no metric 'x'"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_sentence(options: dict, says: str) -> None:
    """A wrong option names itself."""
    with pytest.raises(ArgumentError, match=says):
        rw.forecast(tried(np.eye(20)), **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "size", "rate", "icc", "k", "stop"),
    [
        (50, 10, 0.1, 0.3, 100, False),
        (50, 10, 0.05, 0.3, 50, False),
        (50, 10, 0.1, 0.3, 100, True),
        (50, 5, 0.05, 0.3, 50, False),
        (50, 5, 0.01, 0.3, 20, False),
    ],
)
def test_the_interval_covers(goals: int, size: int, rate: float, icc: float, k: int, stop: bool) -> None:
    """Where chances are Beta, the truth of ten times as many attempts lies inside as often as said."""
    rng = np.random.default_rng(4)
    hits, repetitions, at = 0, repeated(300), truth(rate, icc, k)
    for _ in range(repetitions):
        row = rw.forecast(tried(drawn(rng, goals, size, rate, icc), stop=stop), k=k).row(0, named=True)
        hits += row["low"] <= at <= row["high"]
    assert hits / repetitions >= 0.95 - 2 * (0.05 * 0.95 / repetitions) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chance", "size", "k"),
    [
        (lambda rng: np.where(rng.random(100) < 0.3, 0.3, 0.0), 5, 50),  # .18 before immune goals
        (lambda rng: np.where(rng.random(100) < 0.5, 0, rng.beta(1, 4, 100)), 10, 100),  # .59
        (lambda rng: np.where(rng.random(100) < 0.15, 0.6, 0.005), 8, 80),  # .56
        (lambda rng: 1 / (1 + np.exp(4 - 2 * rng.standard_normal(100))), 5, 50),  # .84
    ],
)
def test_ten_times_the_attempts_of_any_goals_are_marked_and_bounded(chance, size: int, k: int) -> None:
    """Whatever goals are like, the row warns and the truth is between the bounds."""
    rng = np.random.default_rng(6)
    repetitions = repeated(300)
    at = float(np.mean([1 - (1 - chance(rng)) ** k for _ in range(4000)]))
    inside = 0
    for _ in range(repetitions):
        row = rw.forecast(tried(rng.random((100, size)) < chance(rng)[:, None]), k=k).row(0, named=True)
        inside += row["bound_low"] <= at <= row["bound_high"]
        assert "10 times the attempts made" in row["reason"]
    assert inside / repetitions >= 0.95 - 2 * (0.05 * 0.95 / repetitions) ** 0.5
