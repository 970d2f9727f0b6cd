# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""The beta-binomial model of goals: against another optimizer, by hand, and where nothing is identified."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special, stats

from rollwise.stats.forecast import BetaBinomial, beta_binomial


def likelihood(alpha, beta, c, n):
    return stats.betabinom(n, alpha, beta).logpmf(c).sum()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("goals", "size", "rate", "icc"), [(50, 10, 0.1, 0.3), (100, 20, 0.02, 0.6), (20, 5, 0.5, 0.5), (60, 8, 0.3, 0.2)]
)
def test_the_fit_equals_another_optimizer(goals, size, rate, icc, goal_rates):
    """Nelder-Mead on SciPy's beta-binomial likelihood finds the same α and β."""
    rng = np.random.default_rng(1)
    c, n = rng.binomial(size, goal_rates(rng, goals, rate, icc)), np.full(goals, size)
    fit = beta_binomial(c, n)
    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 5000}
    oracle = optimize.minimize(lambda x: -likelihood(*np.exp(x), c, n), [0, 0], method="Nelder-Mead", options=options)
    assert (fit.alpha, fit.beta) == pytest.approx(tuple(np.exp(oracle.x)), rel=1e-4)
    assert not fit.at_edge


def test_two_attempts_at_each_goal_by_hand():
    """10, 6 and 4 of 20 goals with 0, 1 and 2 successes of 2: every share is fitted exactly, with α = 21/31 and β = 39/31.

    The mean m is .3/2 + .2 = .35 and the intraclass correlation 1 - .3/(2·.35·.65) = 31/91, so α + β = (1 - 31/91)/(31/91) =
    60/31, of which α has .35.
    """
    fit = beta_binomial([0] * 10 + [1] * 6 + [2] * 4, [2] * 20)
    assert (float(fit.alpha), float(fit.beta)) == pytest.approx((21 / 31, 39 / 31), rel=1e-7)
    assert fit.reached([1, 2]) == pytest.approx([0.35, 0.5])


@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 200))
def test_two_attempts_at_each_goal_have_a_closed_form(none, one, both):
    """The likelihood of two attempts is that of three shares: m = f1/2 + f2 and 1 - f1/(2m(1 - m)), where above 0."""
    goals = none + one + both
    mean = (one / 2 + both) / goals
    icc = 1 - one / goals / (2 * mean * (1 - mean))
    fit = beta_binomial([0, 1, 2], [2, 2, 2], [none, one, both])
    if icc > 0.001:
        assert float(fit.reached(1)) == pytest.approx(mean, abs=1e-6)
        assert float(1 / (1 + fit.alpha + fit.beta)) == pytest.approx(icc, abs=1e-6)
        assert float(fit.reached(2)) == pytest.approx((one + both) / goals, abs=1e-6)
    elif icc <= 0:  # at the end of the scale α + β is e⁹
        assert fit.at_edge
        assert float(fit.reached(1)) == pytest.approx(mean, abs=1e-4)


def test_attempts_that_stop_have_the_same_likelihood_but_for_a_constant():
    """P(T = t) = B(α+1, β+t-1)/B(α, β) and P(T > n) = B(α, β+n)/B(α, β) are the terms of c = 1 of t and 0 of n."""
    a, b = 0.7, 2.3
    p = np.linspace(0, 1, 200_001)[1:-1]
    density = stats.beta(a, b).pdf(p)
    third = np.trapezoid(p * (1 - p) ** 2 * density, p)
    none = np.trapezoid((1 - p) ** 4 * density, p)
    assert third == pytest.approx(np.exp(special.betaln(a + 1, b + 2) - special.betaln(a, b)), rel=1e-3)
    assert none == pytest.approx(np.exp(special.betaln(a, b + 4) - special.betaln(a, b)), rel=1e-3)


def test_replicates_are_fits_of_their_own():
    """Weights are copies: each replicate is the fit of the goals repeated as often."""
    rng = np.random.default_rng(2)
    c, n = rng.binomial(6, rng.beta(0.5, 1.5, 25)), np.full(25, 6)
    weights = rng.multinomial(25, np.full(25, 1 / 25), size=4)
    together = beta_binomial(c, n, weights)
    for replicate, w in enumerate(weights):
        alone = beta_binomial(np.repeat(c, w), np.repeat(n, w))
        assert (together.alpha[replicate], together.beta[replicate]) == pytest.approx(
            (float(alone.alpha), float(alone.beta)), rel=1e-5
        )


@pytest.mark.integration
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)), min_size=2, max_size=30))
def test_no_neighbor_is_likelier(goals):
    """The fit is at a maximum, or nothing is identified: no success, or no failure."""
    c, n = np.array([(min(c, n), n) for c, n in goals]).T
    fit = beta_binomial(c, n)
    if c.sum() in {0, n.sum()}:
        assert np.isnan(fit.alpha)
        assert np.isnan(fit.reached(3))
        return
    reached = fit.reached([1, 2, 50])
    assert np.all(np.diff(reached) >= -1e-9)
    assert np.all((reached >= 0) & (reached <= 1))
    here = likelihood(fit.alpha, fit.beta, c, n)
    for factor in (0.97, 1.03):
        share = fit.alpha / (fit.alpha + fit.beta)
        total = fit.alpha + fit.beta
        moved = special.expit(special.logit(share) + np.log(factor))
        assert likelihood(total * moved, total * (1 - moved), c, n) <= here + 1e-6
        if not fit.at_edge:
            assert likelihood(total * factor * share, total * factor * (1 - share), c, n) <= here + 1e-6


def test_edges():
    """Goals that are all or nothing, and goals alike to the last: the tail's exponent is not identified, and said so."""
    nothing_between = beta_binomial([0, 0, 0, 5, 5], [5] * 5)
    assert nothing_between.at_edge
    assert float(nothing_between.reached(1000)) == pytest.approx(0.4, abs=0.01)
    alike = beta_binomial([2] * 20, [5] * 20)
    assert alike.at_edge
    assert float(alike.reached(10)) == pytest.approx(1 - 0.6**10, abs=1e-3)


def test_the_tail_is_a_power_law():
    """1 - ASR(k) falls like k^-α (Schaeffer et al.): doubling k multiplies it by 2^-α in the end."""
    fit = BetaBinomial(np.array(0.4), np.array(3.0), np.array(False))
    left = 1 - fit.reached([1e5, 2e5])
    assert left[1] / left[0] == pytest.approx(2**-0.4, rel=1e-4)
