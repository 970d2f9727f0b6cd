"""`forecast`: more attempts than were made, with an interval, a warning, and the error on attempts held out."""

import numpy as np
import polars as pl
import pytest
from simulations import repeated

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.stats.forecast import BetaBinomial, beta_binomial
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


def truth(rate: float, icc: float, k: int) -> float:
    precision = (1 - icc) / icc
    return float(BetaBinomial(np.array(rate * precision), np.array((1 - rate) * precision), np.array(False)).reached(k))


def test_the_row_is_the_fit() -> None:
    """Estimate, α and β are those of the beta-binomial fit to c of n; what was held out is in the row."""
    won = drawn(np.random.default_rng(0), 60, 9, 0.15, 0.3)
    got = rw.forecast(tried(won), k=(20, 50))
    fit = beta_binomial(won.sum(1), np.full(60, 9))
    assert got["estimate"].to_list() == pytest.approx(fit.reached([20, 50]).tolist())
    assert (got["alpha"][0], got["beta"][0]) == pytest.approx((float(fit.alpha), float(fit.beta)))
    assert (got["attempts"][0], got["n"][0], got["n_clusters"][0]) == (9, 540, 60)
    early = beta_binomial(won[:, :6].sum(1), np.full(60, 6))
    assert got["holdout_at"][0] == 9
    assert got["holdout_forecast"][0] == pytest.approx(float(early.reached(9)))
    assert got["holdout_observed"][0] == pytest.approx(won.any(axis=1).mean())
    assert got["holdout_error"][0] == pytest.approx(got["holdout_forecast"][0] - got["holdout_observed"][0])
    schema.check(got, schema.FORECAST)


def test_tasks_are_solved_and_not_broken() -> None:
    """A metric of the user's task is told of tasks."""
    won = tried(drawn(np.random.default_rng(0), 12, 3, 0.4, 0.3)).rename(
        {"goal": "task", "attack_success": "task_success"}
    )
    row = rw.forecast(won, metric="task_success", k=5)
    assert (
        row["estimand"]
        .item()
        .startswith("share of tasks solved at least once in 5 attempts, tasks' chances being Beta")
    )


def test_stopping_costs_no_bias() -> None:
    """From loops that stopped at success the forecast at 100 is that of the truth, where c/n would say far more."""
    won = drawn(np.random.default_rng(1), 2000, 10, 0.1, 0.3)
    row = rw.forecast(tried(won, stop=True), k=100, resamples=100).row(0, named=True)
    assert row["estimate"] == pytest.approx(truth(0.1, 0.3, 100), abs=0.04)
    assert abs(row["holdout_error"]) < 0.02


def test_far_out_is_said() -> None:
    """Beyond ten times the attempts made the row warns."""
    frame = tried(drawn(np.random.default_rng(2), 40, 5, 0.2, 0.3))
    near, far = rw.forecast(frame, k=(50, 60))["reason"]
    assert near is None
    assert "12 times the attempts made" in far


def test_no_success_has_an_upper_bound_only() -> None:
    """0 of 50 goals in 5 attempts: at 20 attempts at most four times Wilson's end, whatever the goals are like."""
    row = rw.forecast(tried(np.zeros((50, 5))), k=20).row(0, named=True)
    assert (row["estimate"], row["low"], row["alpha"]) == (None, 0.0, None)
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


def test_groups_are_their_own() -> None:
    """Another group in the frame changes no digit, nor does the order of rows."""
    rng = np.random.default_rng(3)
    a, b = (
        tried(drawn(rng, 30, 6, rate, 0.3)).with_columns(target=pl.lit(name)) for name, rate in (("a", 0.1), ("b", 0.4))
    )
    both = pl.concat([b.with_columns(pl.col("rollout_id") + "b"), a])
    got = rw.forecast(both.sample(fraction=1, shuffle=True, seed=1), k=30, by="target", resamples=200)
    assert got.filter(target="a").equals(rw.forecast(a, k=30, by="target", resamples=200))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"k": 0}, "k=0 is not a valid number"),
        ({"k": 5, "metric": "attempt"}, "only a Boolean can be forecast"),
        ({"k": 5, "resamples": 5}, "resamples=5 is too few"),
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
    ],
)
def test_the_interval_covers(goals: int, size: int, rate: float, icc: float, k: int, stop: bool) -> None:
    """The truth of ten times as many attempts lies inside as often as said."""
    rng = np.random.default_rng(4)
    hits, repetitions, at = 0, repeated(200), truth(rate, icc, k)
    for _ in range(repetitions):
        row = rw.forecast(tried(drawn(rng, goals, size, rate, icc), stop=stop), k=k, resamples=300).row(0, named=True)
        hits += row["low"] <= at <= row["high"]
    assert hits / repetitions >= 0.95 - 2 * (0.05 * 0.95 / repetitions) ** 0.5


@pytest.mark.slow
def test_bounds_of_rare_successes_cover() -> None:
    """50 goals of 5 attempts at a mean of .01, ICC .3, forecast to 20: four rows in five are bounds only, and these hold it too."""
    rng, repetitions, at = np.random.default_rng(4), repeated(600), truth(0.01, 0.3, 20)
    inside, highs = np.zeros(repetitions, bool), np.full(repetitions, np.nan)
    for number in range(repetitions):
        row = rw.forecast(tried(drawn(rng, 50, 5, 0.01, 0.3)), k=20, resamples=200).row(0, named=True)
        inside[number] = row["low"] <= at <= row["high"]
        if row["method"].endswith("stretched"):
            highs[number] = row["high"]
    bounds = ~np.isnan(highs)
    assert 0.7 < bounds.mean() < 0.95
    assert inside.mean() >= 0.95 - 2 * (0.05 * 0.95 / repetitions) ** 0.5, inside.mean()
    assert inside[bounds].mean() >= 0.95 - 2 * (0.05 * 0.95 / bounds.sum()) ** 0.5, inside[bounds].mean()
    assert np.median(highs[bounds]) < 0.5
