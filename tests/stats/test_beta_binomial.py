# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""What attempts say of the goals' chances: by hand, by integrals of SciPy, and where samples are large."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from rollwise.stats.beta_binomial import Chances, beta_binomial


def test_one_attempt_at_each_goal_by_hand():
    """3 of 20 goals in one attempt each: the intraclass correlation cannot be seen, and the rate is all that counts.

    Without immune goals the rate x has the density x³(1 - x)¹⁷ but for a constant. The product of two uniform parameters,
    (1 - immune) and the mean, has the density -log x, so with immune goals it is x³(1 - x)¹⁷·(-log x). Their integrals are the
    probabilities of the models, and the mean of the sum of both densities is the estimate.
    """
    chances = beta_binomial([1] * 3 + [0] * 17, [1] * 20)

    def moment(power, factor):
        return integrate.quad(lambda x: x ** (3 + power) * (1 - x) ** 17 * factor(x), 0, 1)[0]

    plain, immune = ([moment(power, factor) for power in (0, 1)] for factor in (lambda x: 1.0, lambda x: -np.log(x)))
    assert plain[0] == pytest.approx(special.beta(4, 18))
    assert chances.probability @ (chances.immune > 0) == pytest.approx(immune[0] / (plain[0] + immune[0]), abs=0.01)
    mean = (plain[1] + immune[1]) / (plain[0] + immune[0])
    assert chances.expected(chances.rate())[0] == pytest.approx(mean, abs=0.003)
    low, _ = chances.interval(chances.rate(), 0.95)
    below = [
        integrate.quad(lambda x, f=f: x**3 * (1 - x) ** 17 * f(x), 0, low)[0]
        for f in (lambda x: 1.0, lambda x: -np.log(x))
    ]
    assert sum(below) / (plain[0] + immune[0]) == pytest.approx(0.025, abs=0.004)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("c", "n"),
    [
        ([0, 0, 1, 1, 2, 4, 5, 0], [5] * 8),
        ([0] * 30 + [1, 2, 9, 10], [10] * 34),
        ([0, 0, 0, 1, 1, 1], [10, 10, 7, 1, 3, 2]),
        ([60, 1, 0, 3, 0], [100, 3, 3, 3, 3]),
    ],
)
def test_the_lattice_is_the_integral(c, n):
    """Means and ends equal those of a fine grid over SciPy's beta-binomial, its mixture with a mass at 0 included."""
    grid = (np.arange(60) + 0.5) / 60
    mean, icc, immune = (axis.ravel() for axis in np.meshgrid(grid, grid, grid, indexing="ij"))
    total = 1 / icc - 1
    likelihoods = np.ones((4, mean.size))
    for hits, size in zip(c, n, strict=True):
        equal = stats.binom(size, mean).pmf(hits)
        different = np.exp(stats.betabinom(size, total * mean, total * (1 - mean)).logpmf(hits))
        for number, factor in enumerate((equal, different)):
            likelihoods[number] *= factor
            likelihoods[number + 2] *= (1 - immune) * factor + (immune if hits == 0 else 0)
    weights = likelihoods.ravel() / likelihoods.sum()
    rates = np.concatenate([mean, mean, (1 - immune) * mean, (1 - immune) * mean])
    chances = beta_binomial(c, n)
    expected, spread = chances.expected(chances.rate())
    assert expected == pytest.approx(weights @ rates, abs=0.006)
    assert spread == pytest.approx(np.sqrt(weights @ (rates - weights @ rates) ** 2), rel=0.06)
    order = np.argsort(rates)
    below = np.cumsum(weights[order])
    for end, share in zip(chances.interval(chances.rate(), 0.9), (0.05, 0.95), strict=True):
        assert end == pytest.approx(rates[order][np.searchsorted(below, share)], abs=0.02)
    assert chances.probability @ (chances.immune > 0) == pytest.approx(weights[2 * mean.size :].sum(), abs=0.03)


@pytest.mark.integration
def test_many_goals_tell_the_truth():
    """Of 20,000 goals two in five are immune; the others have Beta(1, 4): all three parameters are found."""
    rng = np.random.default_rng(0)
    chance = np.where(rng.random(20_000) < 0.4, 0, rng.beta(1, 4, 20_000))
    chances = beta_binomial(rng.binomial(10, chance), np.full(20_000, 10))
    found = [chances.expected(part) for part in (chances.mean, chances.correlation, chances.immune)]
    for (value, spread), truth in zip(found, (0.2, 1 / 6, 0.4), strict=True):
        assert abs(value - truth) < 3 * spread < 0.06
    value, spread = chances.expected(chances.reached(100))
    assert value == pytest.approx(0.6 * 100 / 104, abs=3 * spread)  # 1 - B(1, 104)/B(1, 4) = 100/104


@pytest.mark.integration
def test_attempts_that_stop_have_the_same_likelihood_but_for_a_constant():
    """P(T = t) = B(α+1, β+t-1)/B(α, β) and P(T > n) = B(α, β+n)/B(α, β) are the terms of c = 1 of t and 0 of n."""
    a, b = 0.7, 2.3
    p = np.linspace(0, 1, 200_001)[1:-1]
    density = stats.beta(a, b).pdf(p)
    third = np.trapezoid(p * (1 - p) ** 2 * density, p)
    none = np.trapezoid((1 - p) ** 4 * density, p)
    assert third == pytest.approx(np.exp(special.betaln(a + 1, b + 2) - special.betaln(a, b)), rel=1e-3)
    assert none == pytest.approx(np.exp(special.betaln(a, b + 4) - special.betaln(a, b)), rel=1e-3)


@pytest.mark.integration
def test_half_the_power_of_twice_the_goals():
    """Goals in pairs of copies, each goal worth half of one, say as much as one goal of each pair."""
    c, n = [0, 0, 1, 3, 5, 0], [5] * 6
    once, twice = beta_binomial(c, n), beta_binomial(c * 2, n * 2, power=0.5)
    assert once.interval(once.rate(), 0.95) == pytest.approx(twice.interval(twice.rate(), 0.95))


@pytest.mark.integration
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)), min_size=1, max_size=30))
def test_shares_rise_and_stay_within_their_ends(goals):
    """More attempts break no fewer goals, all but the immune ones in the end; one attempt reaches the rate."""
    c, n = np.array([(min(c, n), n) for c, n in goals]).T
    chances = beta_binomial(c, n)
    assert chances.probability.sum() == pytest.approx(1)
    reached = np.stack([chances.reached(k) for k in (1, 2, 50, 1e6)])
    np.testing.assert_allclose(reached[0], chances.rate(), rtol=1e-6, atol=1e-9)
    assert (np.diff(reached, axis=0) >= -1e-9).all()
    assert (reached <= 1 - chances.immune + 1e-9).all()
    low, high = chances.interval(chances.rate(), 0.95)
    assert 0 <= low < high <= 1


@pytest.mark.integration
@given(st.integers(1, 40), st.integers(0, 40), st.integers(1, 9))
def test_another_success_raises_the_rate(goals, hits, size):
    """The expected rate and both ends rise if one attempt of a goal succeeds instead of failing."""
    c = np.zeros(goals)
    c[: min(hits, goals - 1)] = 1
    more = c.copy()
    more[-1] = 1
    before, after = (beta_binomial(part, np.full(goals, size)) for part in (c, more))
    assert after.expected(after.rate())[0] > before.expected(before.rate())[0]


def test_the_upper_end_of_a_forecast_allows_that_no_goal_is_immune():
    """By hand: shares of .225 and .45 with immune goals, and .75 without, which is the upper end."""
    one = np.ones(4)
    chances = Chances(
        mean=one / 2, correlation=one / 3, immune=np.array([0.7, 0.4, 0, 0]), probability=np.array([0.4, 0.4, 0.1, 0.1])
    )
    shares = chances.reached(3)  # three quarters of (1 - immune)
    assert shares == pytest.approx([0.225, 0.45, 0.75, 0.75])
    low, high = chances.interval(shares, 0.5)
    assert high < 0.7
    assert chances.forecast(3, 0.5) == (low, pytest.approx(0.75))


def test_the_tail_is_a_power_law():
    """1 - ASR(k) falls like k^-α (Schaeffer et al.): doubling k multiplies it by 2^-α in the end."""
    one = np.ones(1)  # α = .4, β = 3: mean .4/3.4, ρ = 1/4.4
    chances = Chances(mean=one * 0.4 / 3.4, correlation=one / 4.4, immune=0 * one, probability=one)
    left = [float(1 - chances.reached(k)[0]) for k in (1e5, 2e5)]
    assert left[1] / left[0] == pytest.approx(2**-0.4, rel=1e-4)
