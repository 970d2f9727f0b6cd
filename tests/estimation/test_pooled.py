"""`summarize(method="beta-binomial")`: all goals' chances from one distribution, and all attempts of loops that stopped."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from simulations import repeated

import rollwise as rw
from rollwise.choices import Method
from rollwise.errors import ArgumentError
from rollwise.stats.beta_binomial import beta_binomial
from rollwise.stats.proportion import proportion

POOLED = "beta-binomial"


def table(successes: Sequence[Sequence[object]]) -> pl.DataFrame:
    """ROLLOUTS with the outcomes of the attempts at each goal."""
    rows = [
        (f"{goal}-{number}", f"g{goal:03}", number, None if value is None else bool(value))
        for goal, values in enumerate(successes)
        for number, value in enumerate(values, 1)
    ]
    names = {"rollout_id": pl.String, "goal": pl.String, "attempt": pl.Int32, "attack_success": pl.Boolean}
    return pl.DataFrame(rows, schema=names, orient="row")


def until_success(rng: np.random.Generator, chances: np.ndarray, most: int) -> pl.DataFrame:
    drawn = rng.random((chances.size, most)) < chances[:, None]
    ends = np.where(drawn.any(axis=1), drawn.argmax(axis=1) + 1, most)
    return table([row[:end].tolist() for row, end in zip(drawn, ends, strict=True)])


def estimate(frame: pl.DataFrame, **options: object) -> dict[str, Any]:
    return rw.summarize(frame, metrics="attack_success", method=POOLED, **options).row(0, named=True)  # type: ignore[arg-type]


DOMINATED = [[1] * 90 + [0] * 10, *[[1, 0, 0]] * 6, *[[0, 0, 0]] * 13]


@pytest.mark.integration
def test_one_goal_of_many_rollouts_counts_as_one_goal() -> None:
    """90 of 100 at one goal and 6 of 57 at the others: 61 % of the rollouts, but the mean of the goals' rates is 14.5 %.

    The estimate is between: the 90 show a chance well, and so count for more than three rollouts do.
    """
    row, plain = estimate(table(DOMINATED)), rw.summarize(table(DOMINATED), metrics="attack_success").row(0, named=True)
    assert plain["estimate"] == pytest.approx(96 / 157)
    assert (
        plain["reason"]
        == "a few goals dominate; use weighting='goal' to weight goals equally, or method='beta-binomial'"
    )
    chances = beta_binomial([90] + [1] * 6 + [0] * 13, [100] + [3] * 19, equal=False)
    assert row["estimate"] == chances.expected(chances.rate())[0]
    assert (0.9 + 6 / 3) / 20 < row["estimate"] < 0.22
    assert (row["low"], row["high"]) == chances.interval(chances.rate(), 0.95)
    assert (row["n"], row["n_clusters"], row["method"]) == (157, 20, "beta-binomial with and without immune units")
    assert row["estimand"] == "mean chance of attack_success, every cluster weighing the same; unit: goal"
    assert (row["reason"], row["design_effect"]) == (None, None)
    assert (row["bound_low"], row["bound_high"]) == (96 / 157, 96 / 157)  # the share of the rollouts, beside it


def test_a_table_shows_the_share_of_the_rollouts_beside_the_pooled_estimate() -> None:
    """96 of 157 are 61 %; with ten without a verdict in place of three, 96 or up to 106 of 164: 59 to 65 %."""
    open_: list[Sequence[object]] = [*DOMINATED[:-1], [None] * 10]
    shown = [
        rw.tables.markdown(rw.summarize(table(rows), metrics="attack_success", method="beta-binomial"))
        for rows in (list[Sequence[object]](DOMINATED), open_)
    ]
    heads, cells = ([re.split(r" *\| *", text.split("\n")[line].strip("| ")) for text in shown] for line in (0, 2))
    assert [(head[2], row[2]) for head, row in zip(heads, cells, strict=True)] == [
        ("share of rollouts (%)", "61"),
        ("share of rollouts", "59 to 65 %"),
    ]
    assert "n = 157 rollouts in 20 goals" in shown[0]
    assert "share of rollouts" not in rw.tables.markdown(rw.summarize(table(DOMINATED), metrics="attack_success"))


@pytest.mark.integration
def test_all_attempts_of_loops_that_stopped_count() -> None:
    """Loops of up to 10: the first attempts alone are 100 rollouts; all of them narrow the interval."""
    frame = until_success(np.random.default_rng(1), np.random.default_rng(2).beta(0.23, 2.1, 100), 10)
    row, first = estimate(frame), rw.summarize(frame, metrics="attack_success").row(0, named=True)
    assert (first["n"], row["n"], row["n_inapplicable"]) == (100, frame.height, 0)
    assert (
        row["reason"]
        == "attempts stopped at the first success, or may have: all count, by a likelihood that is valid for that"
    )
    assert row["high"] - row["low"] < 0.9 * (first["high"] - first["low"])
    assert row["low"] < first["estimate"] < row["high"]


@pytest.mark.integration
def test_a_time_and_a_number_are_as_without_the_method() -> None:
    """The method is for shares: later attempts do not count for a time, and a number has no interval by it."""
    frame = until_success(np.random.default_rng(1), np.full(60, 0.1), 10).with_columns(
        time_to_success=pl.struct(duration=pl.lit(3), observed=pl.col("attack_success")), steps=pl.col("attempt")
    )
    methods: tuple[Method, Method] = ("auto", "beta-binomial")
    both = [rw.summarize(frame, metrics="time_to_success", method=method) for method in methods]
    assert both[0].equals(both[1])
    row = rw.summarize(frame, metrics="steps", method="beta-binomial").row(0, named=True)
    assert row["reason"] == "beta-binomial: is for shares; this metric is a number"


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("successes", "options", "reason"),
    [
        ([[0, 0]] * 20, {}, "no success: Wilson instead of beta-binomial"),
        ([[1, 1]] * 20, {}, "no failure: Wilson instead of beta-binomial"),
        ([[0, 1, 0]], {}, "one cluster: no interval over clusters"),
        (
            [[0, 1], [0, 0]] * 10,
            {"cluster": ("goal", "attempt")},
            "beta-binomial: not for two crossed ways; every unit",
        ),
        ([[0, 1], [0, 0]] * 10, {"weighting": "turn"}, "beta-binomial: not for turns; every unit"),
        (
            [[0, 1], [0, 0]] * 10,
            {"strata": "category"},
            "no beta-binomial interval within strata: ask for percentile or basic",
        ),
        ([], {}, "no values"),
    ],
)
def test_what_it_cannot_say_has_a_reason(successes: list[list[int]], options: dict[str, object], reason: str) -> None:
    frame = table(successes).with_columns(num_turns=pl.lit(2), category=pl.col("goal").str.slice(3))
    row = estimate(frame, **options)
    assert reason in str(row["reason"])
    plain = rw.summarize(frame, metrics="attack_success", **options).row(0, named=True)  # type: ignore[arg-type]
    if "Wilson" in reason:
        assert (row["low"], row["high"]) == (plain["low"], plain["high"])
    else:
        assert (row["low"], row["high"]) == (None, None)


def test_other_statistics_are_refused() -> None:
    with pytest.raises(ArgumentError, match="method='beta-binomial' is for the mean of a share; leave statistics= out"):
        estimate(table(DOMINATED), statistics=["mean", "median"])


@pytest.mark.integration
def test_unjudged_rollouts_are_bounded() -> None:
    """A goal without a verdict may be a success or a failure: the interval covers both."""
    known = [[1, 0, 0]] * 8 + [[0, 0, 0]] * 12
    ends = [estimate(table([*known, [value]])) for value in (0, 1)]
    row = estimate(table([*known, [None]]))
    assert (row["low"], row["high"]) == (ends[0]["low"], ends[1]["high"])
    assert ends[0]["estimate"] < row["estimate"] < ends[1]["estimate"]


@pytest.mark.integration
def test_groups_and_merged_tables_are_the_same_numbers() -> None:
    """Another group in the frame, the order of the rows, and counting batch by batch change no digit."""
    rng = np.random.default_rng(3)
    a, b = (
        table([(rng.random(size) < rng.beta(1, 3)).tolist() for size in (30, 3, 3, 4, 5, 3, 6, 2)]).with_columns(
            pl.col("rollout_id") + name, target=pl.lit(name)
        )
        for name in "ab"
    )
    both = pl.concat([b, a]).sample(fraction=1, shuffle=True, seed=1)
    options = {"metrics": "attack_success", "by": "target", "method": POOLED}
    together = rw.summarize(both, **options).sort("target")  # type: ignore[arg-type]
    alone = rw.summarize(a, **options)  # type: ignore[arg-type]
    assert together[:1].equals(alone)
    assert rw.summarize(both, **options, merge=True).sort("target").equals(together)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "rate", "icc"),
    [([100] + [3] * 19, 0.3, 0.3), ([100] + [3] * 19, 0.3, 0.05), ([50] + [2] * 11, 0.1, 0.3), ([5] * 5, 0.05, 0.3)],
)
def test_the_interval_covers_and_is_narrower(sizes: list[int], rate: float, icc: float) -> None:
    """Where one goal dominates, and with five goals, it covers, and is at most .7 times as wide as Wilson's."""
    rng, repetitions = np.random.default_rng(7), repeated(400)
    n, precision = np.array(sizes), (1 - icc) / icc
    codes = np.repeat(np.arange(n.size), n)
    hits, widths = 0, np.zeros(2)
    for _ in range(repetitions):
        c = rng.binomial(n, rng.beta(rate * precision, (1 - rate) * precision, n.size))
        wilson = proportion(np.concatenate([np.arange(size) < hit for size, hit in zip(n, c, strict=True)]), (codes,))
        if not 0 < c.sum() < n.sum():
            hits += (wilson.low or 0) <= rate <= (wilson.high or 1)
            continue
        chances = beta_binomial(c, n, equal=False)
        low, high = chances.interval(chances.rate(), 0.95)
        hits += low <= rate <= high
        widths += high - low, (wilson.high or 1) - (wilson.low or 0)
    assert hits / repetitions >= 0.94 - 2 * (0.05 * 0.95 / repetitions) ** 0.5
    assert widths[0] < 0.75 * widths[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "chances",
    [
        lambda rng: rng.beta(0.117, 2.217, 100),
        lambda rng: np.full(100, 0.1),
        lambda rng: np.where(rng.random(100) < 0.3, 0.3, 0.0),
        lambda rng: np.where(rng.random(100) < 0.14, 0.3, 0.01),
        lambda rng: 1 / (1 + np.exp(3 - 1.5 * rng.standard_normal(100))),
    ],
)
def test_loops_that_stop_are_covered(chances: Callable[[np.random.Generator], np.ndarray]) -> None:
    """Beta, equal, immune, two classes of goals, logit-normal: all attempts of loops of up to ten."""
    rng, repetitions = np.random.default_rng(8), repeated(400)
    truth = float(np.mean([chances(rng).mean() for _ in range(20_000)]))
    hits = 0
    for _ in range(repetitions):
        tries = rng.geometric(np.maximum(chances(rng), 1e-12))
        found = beta_binomial(tries <= 10, np.minimum(tries, 10))
        low, high = found.interval(found.rate(), 0.95)
        hits += low <= truth <= high
    assert hits / repetitions >= 0.94 - 2 * (0.05 * 0.95 / repetitions) ** 0.5
