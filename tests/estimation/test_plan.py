"""`plan`: against statsmodels, by simulation, and the gate that it promises to pass."""

import math
import random
from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from simulations import repeated
from statsmodels.formula.api import ols
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.power import TTestPower

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError
from rollwise.stats.differences import Arm, Draws
from rollwise.stats.paired_differences import Pairs, paired_difference
from rollwise.stats.sizes import (
    detectable,
    goals_for_difference,
    goals_for_gate,
    intraclass_correlation,
    rollouts_for_none,
    variance_of_difference,
    variance_per_goal,
)
from rollwise.stats.unpaired_differences import unpaired_difference


def only(frame: pl.DataFrame) -> dict:
    assert frame.height == 1
    return frame.row(0, named=True)


@pytest.mark.parametrize(("rate", "difference", "correlation"), [(0.2, 0.1, 0.0), (0.35, 0.2, 0.5), (0.3, -0.2, 0.3)])
def test_goals_for_a_difference_are_those_of_statsmodels(rate: float, difference: float, correlation: float) -> None:
    """The sample size of a paired t test whose variance is that of both rates, by hand."""
    row = only(rw.plan(rate=rate, difference=difference, correlation=correlation, icc=0.3, attempts=2))
    one, other = rate * (1 - rate), (rate + difference) * (1 - rate - difference)
    variance = (0.3 + 0.35) * (one + other) - 2 * correlation * 0.3 * math.sqrt(one * other)
    effect = abs(difference) / math.sqrt(variance)
    assert row["goals"] == math.ceil(TTestPower().solve_power(effect_size=effect, power=0.8, alpha=0.05))
    if difference > 0:  # of both sides of a rate below 1/2 the upper one varies more, and is the one that is detectable
        back = only(rw.plan(rate=rate, icc=0.3, attempts=2, correlation=correlation, goals=row["goals"]))
        assert difference * 0.98 < back["difference"] <= difference


def test_none_of_n() -> None:
    """299 rollouts without a success show less than 1 %; (1 - .01)^298 is still above .05."""
    row = rw.plan(below=0.01).row(0, named=True)
    assert (row["question"], row["goals"]) == ("goals for none", 299)
    assert 0.99**299 <= 0.05 < 0.99**298


@pytest.mark.integration
@given(st.floats(0.001, 0.5), st.floats(0.5, 0.999))
def test_none_of_n_is_the_fewest(below: float, level: float) -> None:
    """One rollout less would not do."""
    n = rollouts_for_none(below, level=level)
    assert (1 - below) ** n <= (1 - level) * (1 + 1e-9)
    assert n == 1 or (1 - below) ** (n - 1) > (1 - level) * (1 - 1e-9)


@pytest.mark.integration
@pytest.mark.parametrize("attempts", [1, 4])
def test_the_gate_passes_at_the_goals_planned_and_not_with_one_less(attempts: int) -> None:
    """As many goals without a success pass `gate`; one fewer do not."""
    needed = rw.plan(below=0.05, attempts=attempts, icc=0.3).filter(question="goals for the gate")["goals"].item()
    for goals, passes in ((needed, True), (needed - 1, False)):
        n = goals * attempts
        frame = pl.DataFrame({
            "rollout_id": [f"r{i}" for i in range(n)], "goal": [f"g{i % goals}" for i in range(n)], "attack_success": [False] * n
        })  # fmt: skip
        assert (rw.gate(frame, "attack_success < 0.05")["answer"].item() == "passed") is passes


def test_more_attempts_never_make_up_for_few_goals() -> None:
    """Goals needed fall with attempts towards a floor, and rollouts rise: the trade in one table."""
    got = rw.plan(rate=0.1, icc=0.3, difference=0.05, attempts=(1, 2, 5, 10, 1000))
    assert got["goals"].is_sorted(descending=True)
    assert got["rollouts"].is_sorted()
    both = 0.09 + 0.1275 - 2 * 0.5 * math.sqrt(0.09 * 0.1275)  # between the goals, at rates of .1 and .15
    floor = (1.959964 + 0.841621) ** 2 * 0.3 * both / 0.05**2
    assert floor < got["goals"][-1] < floor + 4
    schema.check(got, schema.PLAN)


def test_variance_by_hand() -> None:
    """p(1-p) = .09, .3 of it between goals: .027 + .063/5 for a rate; against a rate of .2 with .048 + .112/5."""
    assert variance_per_goal(0.1, 0.3, 5) == pytest.approx(0.027 + 0.0126)
    both = 0.027 + 0.0126 + 0.048 + 0.0224 - 2 * 0.5 * 0.3 * 0.3 * 0.4
    assert variance_of_difference((0.1, 0.2), 0.3, 5, correlation=0.5) == pytest.approx(both)


def test_a_detectable_difference_is_that_of_statsmodels() -> None:
    """100 goals detect √.15 times the effect that a t test of 100 detects, and 100 goals are asked for it."""
    found = detectable(0.15, 100, power=0.8, level=0.95)
    effect = TTestPower().solve_power(nobs=100, power=0.8, alpha=0.05)
    assert found == pytest.approx(effect * math.sqrt(0.15), rel=1e-5)
    assert detectable(0.6, 100, power=0.8, level=0.95) == pytest.approx(2 * found)
    assert goals_for_difference(0.15, found, power=0.8, level=0.95) == 100
    assert goals_for_difference(0.15, -found * 0.999, power=0.8, level=0.95) == 101


SHARES = st.floats(0.01, 0.99)
VARIANCES = st.floats(1e-4, 0.5)


@pytest.mark.integration
@given(VARIANCES, st.integers(2, 100_000), st.floats(1e-3, 1), st.floats(0.5, 0.99), st.floats(0.5, 0.999))
def test_goals_and_what_they_can_tell_are_inverses(
    variance: float, goals: int, difference: float, power: float, level: float
) -> None:
    """As many goals are asked for a difference as just find it: one less does not."""

    def reach(some: int) -> float:
        return detectable(variance, some, power=power, level=level)

    assert goals_for_difference(variance, reach(goals), power=power, level=level) == goals
    needed = goals_for_difference(variance, difference, power=power, level=level)
    assert needed == goals_for_difference(variance, -difference, power=power, level=level)
    assert needed is not None
    assert reach(needed) <= difference * (1 + 1e-9)
    assert needed == 2 or reach(needed - 1) > difference


@pytest.mark.integration
@given(*[st.tuples(some, some).map(sorted) for some in (VARIANCES, st.integers(2, 9999), st.floats(0.5, 0.99))])
def test_more_is_asked_of_more_goals(variances: list[float], goals: list[int], shares: list[float]) -> None:
    """What is found grows with the variance, the power and the level and falls with the goals; the goals needed go with it."""
    least, most = variances
    low, high = shares
    plain = detectable(least, goals[1], power=low, level=low)
    for more in (
        detectable(most, goals[1], power=low, level=low),
        detectable(least, goals[0], power=low, level=low),
        detectable(least, goals[1], power=high, level=low),
        detectable(least, goals[1], power=low, level=high),
    ):
        assert more >= plain
    fewest = goals_for_difference(least, high, power=low, level=low)
    assert fewest is not None
    assert (goals_for_difference(most, high, power=high, level=high) or 0) >= fewest
    assert (goals_for_difference(least, low, power=low, level=low) or 0) >= fewest


@pytest.mark.integration
@given(SHARES, *[st.tuples(some, some).map(sorted) for some in (SHARES, st.floats(1, 100), st.floats(0, 1))])
def test_the_variance_goes_with_what_makes_it(
    rate: float, iccs: list[float], attempts: list[float], correlations: list[float]
) -> None:
    """It falls with attempts and with the arms' correlation, rises with icc for a rate, and is that of p(1-p) without attempts."""
    low, high = iccs
    few, many = attempts
    assert variance_per_goal(rate, low, many) <= variance_per_goal(rate, low, few)
    assert variance_per_goal(1 - rate, low, few) == pytest.approx(variance_per_goal(rate, low, few))
    assert variance_per_goal(rate, low, few) <= variance_per_goal(rate, high, few) * (1 + 1e-12)
    assert variance_per_goal(rate, high, 1) == pytest.approx(rate * (1 - rate))
    together, apart = (variance_of_difference((rate, rate), low, few, correlation=some) for some in correlations[::-1])
    assert together <= apart
    alone = variance_of_difference((rate, 1 - rate), low, few, correlation=0)
    assert alone == pytest.approx(2 * variance_per_goal(rate, low, few))


@pytest.mark.integration
@given(st.floats(1e-4, 0.9), st.floats(0.5, 0.999), st.booleans())
def test_the_gate_needs_no_goal_less(below: float, level: float, repeated: bool) -> None:
    """The upper end at none is c²/(G + c²) (Wilson's, with z or t for c), or 1 - ((1 - level)/2)^(1/G) (exact) if larger.

    It is below the rate with these goals, not with one less.
    """

    def end(goals: int) -> float:
        normal = scipy_stats.norm.ppf((1 + level) / 2)
        reach = scipy_stats.t.ppf((1 + level) / 2, goals - 1) if repeated else normal
        exact = 1 - ((1 - level) / 2) ** (1 / goals)
        return float(max(reach**2 / (goals + reach**2), exact))

    needed = goals_for_gate(below, level=level, repeated=repeated)
    assert needed is not None
    assert end(needed) < below * (1 + 1e-9)
    assert needed == 2 or end(needed - 1) >= below * (1 - 1e-9)


def test_the_pilot_gives_rate_and_icc() -> None:
    """Rate and icc of a pilot, and the analysis-of-variance formula by hand."""
    values, goals = [1, 1, 0, 1, 0, 0, 0, 0, 1], ["a", "a", "a", "b", "b", "b", "c", "c", "c"]
    frame = pl.DataFrame(
        {"rollout_id": [f"r{i}" for i in range(9)], "goal": goals, "attack_success": [v == 1 for v in values]}
    )
    means = np.array([2 / 3, 1 / 3, 1 / 3])
    between = 3 * ((means - 4 / 9) ** 2).sum() / 2
    within = sum(3 * p * (1 - p) for p in means) / 6
    expected = max(0.0, (between - within) / (between + 2 * within))
    row = only(rw.plan(frame, goals=50, attempts=3))
    assert (row["rate"], row["icc"]) == (pytest.approx(4 / 9), pytest.approx(expected))
    assert "from a pilot of 9 rollouts" in row["estimand"]
    assert only(rw.plan(frame, rate=0.3, icc=0.2, goals=50))["estimand"].startswith("rate and icc given")


def test_icc_is_found() -> None:
    """The estimator finds the intraclass correlation that was drawn, with unequal goals; edges are null."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, 4000)
    codes = np.repeat(np.arange(4000), sizes)
    values = rng.random(codes.size) < rng.beta(0.3 * 7 / 3, 0.7 * 7 / 3, 4000)[codes]
    assert intraclass_correlation(values, codes) == pytest.approx(0.3, abs=0.02)
    assert intraclass_correlation([1, 0], [0, 1]) is None
    assert intraclass_correlation([1, 1, 1, 1], [0, 0, 1, 1]) is None


GROUPED = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1)), min_size=3, max_size=30)


@pytest.mark.integration
@given(GROUPED, st.randoms())
def test_icc_is_that_of_statsmodels(rows: list[tuple[int, int]], chance: random.Random) -> None:
    """From the mean squares of a one-way analysis of variance; the rows' order and the goals' names do not matter."""
    goals, values = (np.array(column) for column in zip(*rows, strict=True))
    made = intraclass_correlation(values, goals)
    order = np.array(chance.sample(range(len(rows)), len(rows)))
    named = np.array(chance.sample(range(50, 56), 6))
    assert intraclass_correlation(values[order], named[goals[order]]) == pytest.approx(made)
    assert made is None or 0 <= made <= 1
    sizes = np.unique(goals, return_counts=True)[1]
    if sizes.size < 2 or sizes.max() == 1 or np.unique(values).size == 1:
        assert made is None
        return
    table = anova_lm(ols("y ~ C(g)", pd.DataFrame({"y": values.astype(float), "g": goals})).fit())
    between, within = table["mean_sq"]
    even = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (sizes.size - 1)
    assert made == pytest.approx(np.clip((between - within) / (between + (even - 1) * within), 0, 1), abs=1e-9)


@pytest.mark.integration
def test_icc_of_goals_of_one_size_is_that_of_a_mixed_model() -> None:
    """Restricted maximum likelihood of a random intercept: the same where all goals have as many attempts."""
    rng = np.random.default_rng(2)
    goals = np.repeat(np.arange(60), 5)
    values = (rng.random(300) < rng.beta(0.7, 1.4, 60)[goals]).astype(float)
    fitted = MixedLM(values, np.ones(300), groups=goals).fit(reml=True)
    between = float(np.asarray(fitted.cov_re)[0, 0])
    assert intraclass_correlation(values, goals) == pytest.approx(between / (between + fitted.scale), abs=1e-4)


@pytest.mark.parametrize(
    ("rate", "difference", "other"),
    [(0.05, -0.5, "-0.45"), (0.05, -0.05, "0"), (0.05, 0.97, "-0.92 or 1.02"), (0.9, -0.9, "0")],
)
def test_a_difference_that_no_rate_has_is_refused(rate: float, difference: float, other: str) -> None:
    """The other arm would have a rate beyond 0 or 1."""
    with pytest.raises(ArgumentError, match=f"would be a rate of {other} in the other arm"):
        rw.plan(rate=rate, icc=0.3, attempts=5, difference=difference)


@pytest.mark.parametrize("difference", [-0.1, 0.1])
def test_a_difference_may_be_either_way(difference: float) -> None:
    """Down from .95 is possible, though up is not; the size is the same by the variance of the rate that is given."""
    assert only(rw.plan(rate=0.95, icc=0.3, difference=difference))["goals"] > 2


def test_few_goals_are_told_for_what_they_are() -> None:
    """Two goals: an interval of everything but no wider, and a difference that cannot be; with fifty all is as ever."""
    two, five, fifty = rw.plan(rate=0.2, icc=1, goals=(2, 5, 50), attempts=5, correlation=0).rows(named=True)
    assert (two["difference"], two["half_width"]) == (None, 0.5)
    assert "not even the largest difference" in two["reason"]
    assert "the interval of the rate is cut at 0 and 1" in two["reason"]
    half = scipy_stats.t.ppf(0.975, 4) * math.sqrt(0.16 / 5)
    assert five["half_width"] == pytest.approx((0.2 + half) / 2)
    assert (fifty["reason"], fifty["half_width"]) == (
        None,
        pytest.approx(scipy_stats.t.ppf(0.975, 49) * math.sqrt(0.16 / 50)),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "icc", "difference", "attempts", "correlation"),
    [(0.3, 0.3, 0.2, 3, 0.6), (0.5, 0.3, 0.2, 1, 0.6), (0.05, 0.2, 0.1, 3, 0.6), (0.3, 0.3, -0.2, 3, 0.6), (0.4, 0.3, 0.2, 3, 0.0)],
)  # fmt: skip
def test_contrast_finds_the_difference_as_often_as_promised(
    rate: float,
    icc: float,
    difference: float,
    attempts: int,
    correlation: float,
    record_property: Callable[[str, object], None],
) -> None:
    """Goals' chances are beta-distributed in both arms, with one rank of difficulty: p is at most .05 in .78 to .83 of the tables.

    With the variance of one rate for both and with quantiles of the normal law, plans found .50 to .71 of rises, and .91 of falls.
    """
    rng, rates, precision = np.random.default_rng(3), (rate + difference, rate), (1 - icc) / icc

    def chances(ranks: np.ndarray) -> list[np.ndarray]:
        # The ranks of both arms have a normal copula, whose correlation is close to that of the chances.
        shared = (ranks[0], correlation**0.5 * ranks[0] + (1 - correlation) ** 0.5 * ranks[1])
        return [
            scipy_stats.beta(p * precision, (1 - p) * precision).ppf(scipy_stats.norm.cdf(rank))
            for p, rank in zip(rates, shared, strict=True)
        ]

    correlated = float(np.corrcoef(chances(rng.standard_normal((2, 20_000))))[0, 1]) if correlation else 0.0
    plan = rw.plan(rate=rate, icc=icc, difference=difference, attempts=attempts, correlation=correlated)
    needed, repetitions, found = only(plan)["goals"], repeated(1000), 0
    size, goals = np.full(needed, float(attempts)), np.arange(needed)
    for number in range(repetitions):
        hits = [rng.binomial(attempts, p) for p in chances(rng.standard_normal((2, needed)))]
        draws = Draws(rng, np.random.default_rng(number), 1000)
        if correlation:
            pairs = Pairs(goals, hits[0] / attempts, hits[1] / attempts, size, size)
            result = paired_difference(pairs, draws, share=True)
        else:
            one, other = (
                Arm((np.arange(attempts) < arm[:, None]).astype(float).ravel(), (np.repeat(goals + first, attempts),))
                for arm, first in zip(hits, (0, needed), strict=True)
            )
            result = unpaired_difference(one, other, (draws, draws), share=True)
        found += result.p_value is not None and result.p_value <= 0.05
    record_property("power", found / repetitions)
    error = math.sqrt(0.8 * 0.2 / repetitions)
    assert 0.78 - 2 * error <= found / repetitions <= 0.83 + 2 * error


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0, 0.5])
@pytest.mark.parametrize(("attempts", "icc", "power"), [(1, 0.3, 0.8), (5, 0.3, 0.9), (10, 0.6, 0.8)])
def test_the_power_is_as_asked_for(
    correlation: float, attempts: int, icc: float, power: float, record_property: Callable[[str, object], None]
) -> None:
    """Goals' chances that two arms share half of the time or never: the difference is found as often as asked, .01 for rounding.

    Chances are two points each, as far apart as the icc says, around .45 and .55: their variances are 1 % less than planned.
    """
    rng, repetitions = np.random.default_rng(attempts), repeated(4000)
    needed = only(rw.plan(rate=0.5, icc=icc, difference=0.1, attempts=attempts, correlation=correlation, power=power))[
        "goals"
    ]
    side = rng.integers(0, 2, (2, repetitions, needed)) * 2 - 1
    side[1] = np.where(rng.random(side[1].shape) < correlation, side[0], side[1])
    rates = [
        rng.binomial(attempts, rate + math.sqrt(icc * rate * (1 - rate)) * way) / attempts
        for rate, way in zip((0.45, 0.55), side, strict=True)
    ]
    found = float((scipy_stats.ttest_1samp(rates[1] - rates[0], 0, axis=1).pvalue <= 0.05).mean())
    record_property("power", found)
    error = math.sqrt(power * (1 - power) / repetitions)
    assert power - 2.6 * error <= found <= power + 2.6 * error + 0.01


def test_a_rate_too_small_to_show() -> None:
    """Below about 4e-7 no number of goals is looked for, and the row says so."""
    assert goals_for_gate(1e-9, level=0.95, repeated=True) is None
    row = rw.plan(below=1e-9).row(1, named=True)
    assert (row["goals"], row["reason"]) == (None, "more than ten million goals")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "no question is asked"),
        ({"goals": 50}, "give rate="),
        ({"goals": 1, "rate": 0.1}, "goals=1 is not a valid number of goals; give whole numbers from 2"),
        ({"goals": [], "rate": 0.1}, "is not a valid number of goals"),
        ({"goals": 50, "rate": 1.5}, "rate=1.5 is not a share"),
        ({"goals": 50, "rate": 0.1, "attempts": 5}, "give icc="),
        ({"below": 0.0}, "below=0.0 is not a share"),
        ({"below": 0.1, "icc": -1}, "icc=-1"),
        ({"rate": 0.1, "difference": 0.0}, "difference=0.0 is not a share"),
        ({"rollouts": pl.DataFrame({"rollout_id": ["a"], "attack_success": [False]}), "goals": 9}, "0% throughout"),
        ({"rollouts": pl.DataFrame({"rollout_id": ["a"], "x": [1]}), "goals": 9}, "no Boolean 'attack_success'"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_sentence(options: dict, says: str) -> None:
    """A wrong option names itself."""
    with pytest.raises(ArgumentError, match=says):
        rw.plan(**options)
    with pytest.raises(SchemaError, match="rollout_id"):
        rw.plan(pl.DataFrame({"x": [1]}), goals=9)
