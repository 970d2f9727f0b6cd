# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Means of values with a tail: the upper end reaches into it, and the row says so."""

import math

import numpy as np
import pytest
from scipy import stats
from simulations import repeated

from rollwise.stats.mean import mean
from rollwise.stats.tails import LONG_TAIL, REACHES_FURTHER, l_skewness
from rollwise.stats.units import Groups

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("values", [RNG.normal(size=20), RNG.lognormal(size=50) * 1e200, RNG.poisson(2, 30) * 1.0])
def test_l_skewness_is_that_of_scipy(values):
    """Of one group and of the same values among others, in any order."""
    expected = stats.lmoment(values, order=3)  # standardized: the third L-moment divided by the second
    assert l_skewness(values, Groups.single(values.size))[0] == pytest.approx(expected, rel=1e-9)
    both = l_skewness(np.r_[np.ones(4), values[::-1]], Groups(np.repeat([0, 2], [4, values.size]), 3))
    assert both[2] == pytest.approx(expected, rel=1e-9)
    assert np.isnan(both[:2]).all()  # equal values, and none


@pytest.mark.parametrize("goals", [6, 40])
def test_the_upper_end_by_hand(goals):
    """Right-skewed counts: at least mean·exp(t·se/mean); the lower end stays that of t or of the bootstrap."""
    values = np.arange(4, 4 + goals) ** 2.0
    made = mean(values, (), rng=np.random.default_rng(0), resamples=4000)
    error, center = values.std(ddof=1) / math.sqrt(goals), values.mean()
    assert made.high == pytest.approx(center * math.exp(stats.t.ppf(0.975, goals - 1) * error / center))
    assert made.method.endswith("; upper end by log t")
    plain = mean(values, (), rng=np.random.default_rng(0), resamples=4000, interval="t")
    assert (made.low == pytest.approx(plain.low)) is (goals == 6)
    assert plain.method == "t"


@pytest.mark.parametrize("values", [-(np.arange(8) ** 2.0), 49 - np.arange(8) ** 2.0, np.arange(8) ** 2.0 - 1])
def test_negative_and_left_skewed_values_keep_t(values):
    """A value below zero, or a tail to the left: t alone."""
    made = mean(values, (), rng=np.random.default_rng(0))
    plain = mean(values, (), interval="t")
    assert (made.low, made.high, made.method) == (plain.low, plain.high, "t")


def test_a_long_tail_raises_the_upper_end():
    """One goal of twelve took five times as long as most: t is that of the level .99, and of .98 for .9."""
    values = np.r_[10.0, 11, 12, 11, 12, 12, 12, 13, 13, 14, 16, 60]
    error, center = values.std(ddof=1) / math.sqrt(12), values.mean()
    for level, higher in ((0.95, 0.99), (0.9, 0.98)):
        made = mean(values, (), rng=np.random.default_rng(0), level=level)
        half = stats.t.ppf((1 + higher) / 2, 11) * error / center
        assert half < 1  # from there on, the end grows no further
        assert made.high == pytest.approx(center * math.exp(half))
        assert made.reason == REACHES_FURTHER
    assert mean(np.arange(12.0), (), rng=np.random.default_rng(0)).reason is None  # equally spaced: no tail
    assert mean(values, (), interval="t").reason is None  # as asked for


LEFT = np.r_[1.0, 5, 9, 10, 10, 10, 10, 10, 10, 10, 10, 10]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (LEFT - 2, LONG_TAIL.format("small")),  # nothing bounds a tail below zero
        (-LEFT, LONG_TAIL.format("large")),
        (LEFT, None),  # 0 bounds it, and the bootstrap covers
        (LEFT[1:-3], f"8 values are too few for a bootstrap; {LONG_TAIL.format('small')}"),
    ],
)
def test_a_tail_that_is_not_reached_into_is_said(values, reason):
    """The interval is as without a tail, and its reason names the side."""
    made = mean(values, (), rng=np.random.default_rng(0))
    assert made.reason == reason
    assert "log t" not in made.method


def test_five_goals_keep_their_level():
    """With fewer than six goals t is large, and that of a higher level would be several times as wide."""
    values = np.r_[10.0, 10, 11, 12, 30]
    made = mean(values, ())
    half = stats.t.ppf(0.975, 4) * values.std(ddof=1) / math.sqrt(5) / values.mean()
    assert made.high == pytest.approx(values.mean() * math.exp(half))
    assert made.reason == f"5 values are too few for a bootstrap; {LONG_TAIL.format('large')}"


def _lognormal(sigma):
    return lambda rng, goals, size: np.exp(
        sigma * rng.standard_normal((goals, 1)) + sigma * rng.standard_normal((goals, size))
    ), math.exp(sigma**2)


SHAPES = {
    "counts": (lambda rng, goals, size: rng.poisson(rng.gamma(2, 1.5, (goals, 1)), (goals, size)) * 1.0, 3.0),
    "lognormal": _lognormal(0.7),
    "little lognormal": _lognormal(0.4),
    "exponential": (lambda rng, goals, size: rng.exponential(1, (goals, 1)) * rng.exponential(1, (goals, size)), 1.0),
    "normal": (lambda rng, goals, size: 3 + 0.7 * rng.normal(size=(goals, 1)) + 0.7 * rng.normal(size=(goals, size)), 3.0),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("goals", "size"), [(8, 3), (12, 3), (30, 3), (100, 1)])
@pytest.mark.parametrize("shape", SHAPES)
def test_means_cover_whatever_the_shape(shape, goals, size, covers, record_property):
    """Means cover .94, and those of long tails .93; at most 6 % of tables are wrong without a reason."""
    draw, truth = SHAPES[shape]
    rng, repetitions = np.random.default_rng(goals), repeated(1500)
    clusters = (np.repeat(np.arange(goals), size),) if size > 1 else ()
    held = silent = said = 0
    for _ in range(repetitions):
        made = mean(draw(rng, goals, size).ravel(), clusters, rng=rng, resamples=1000)
        inside, reason = made.low <= truth <= made.high, "long tail" in (made.reason or "")
        held, said, silent = held + inside, said + reason, silent + (not inside and not reason)
    record_property(
        "coverage", {"all": held / repetitions, "reason": said / repetitions, "silent": silent / repetitions}
    )
    assert covers(repetitions - silent, repetitions, 0.94)
    long = shape in {"lognormal", "exponential"}
    assert covers(held, repetitions, 0.93 if long else 0.94)
    assert said / repetitions > 0.6 or not long
