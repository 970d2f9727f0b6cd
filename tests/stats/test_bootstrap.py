# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap
from scipy.stats import kurtosis, norm, skew

from rollwise.stats.bootstrap import acceleration, bca_flaw, bca_interval, closed_form, null_flaw, percentile_interval
from rollwise.stats.replicates import counts, jackknife_ratio, ratio_replicates

DATA = np.random.default_rng(7)
SUMS, WEIGHTS = DATA.gamma(2.0, 1.0, 40), DATA.integers(1, 9, 40).astype(float)


def replicates(sums, weights, resamples=20_000, seed=0):
    return ratio_replicates(sums, weights, rng=np.random.default_rng(seed), resamples=resamples)


@pytest.mark.integration
def test_replicates_depend_on_the_generator_alone():
    """The same seed gives the same replicates, and a column does not care for its neighbors."""
    both = replicates(np.stack([SUMS, WEIGHTS], axis=1), np.stack([WEIGHTS, np.ones(40)], axis=1))
    alone = replicates(SUMS, WEIGHTS)
    assert both.shape == (20_000, 2)
    assert alone.shape == (20_000, 1)
    assert both[:, 0] == pytest.approx(alone[:, 0], rel=1e-12)
    assert np.array_equal(alone, replicates(SUMS, WEIGHTS))


def test_replicates_by_hand():
    """Each replicate is Σ counts·sums over Σ counts·weights of the same counts."""
    drawn = counts(np.random.default_rng(3), 500, 20)
    expected = drawn @ SUMS[:20] / (drawn @ WEIGHTS[:20])
    made = ratio_replicates(SUMS[:20], WEIGHTS[:20], rng=np.random.default_rng(3), resamples=500)[:, 0]
    assert made == pytest.approx(expected, rel=1e-12)


@pytest.mark.integration
def test_an_offset_and_a_scale_cost_no_digits():
    """Centering first: 10⁶ added to every value, or units of 10²⁰⁰, leave the same replicates."""
    plain = replicates(SUMS, WEIGHTS)
    shifted = replicates(SUMS + 1e6 * WEIGHTS, WEIGHTS) - 1e6
    assert shifted == pytest.approx(plain, abs=1e-6 * plain.std())
    assert replicates(SUMS * 1e200, WEIGHTS * 1e100) / 1e100 == pytest.approx(plain, rel=1e-12)


def test_replicates_without_weight_are_null():
    """A group that a replicate missed has no value there; too many of those, and there is no interval."""
    weights = np.zeros(20)
    weights[:4] = 1.0
    made = replicates(weights * np.arange(20.0), weights)[:, 0]
    assert np.isnan(made).mean() == pytest.approx(0.8**20, abs=0.002)
    assert percentile_interval(made, 0.95)[0] is not None
    rare = replicates(np.r_[1.0, np.zeros(19)], np.r_[1.0, np.zeros(19)])[:, 0]
    assert percentile_interval(rare, 0.95) == (None, None)
    assert bca_interval(rare, 1.0, acceleration(np.arange(20.0)), 0.95) == (None, None)
    assert "% of the bootstrap replicates are empty" in null_flaw(rare)


def test_a_column_without_weight_is_null():
    """A metric that no cluster has is null in every replicate, and leaves the other columns alone."""
    sums, weights = np.stack([SUMS, np.zeros(40)], axis=1), np.stack([WEIGHTS, np.zeros(40)], axis=1)
    made = replicates(sums, weights, 500)
    assert np.isnan(made[:, 1]).all()
    assert made[:, :1] == pytest.approx(replicates(SUMS, WEIGHTS, 500), rel=1e-12)
    assert np.isnan(jackknife_ratio(sums, weights)[:, 1]).all()


def test_jackknife_equals_leaving_out():
    """The jackknife is the ratio of all the others; NaN where one cluster held all the weight."""
    expected = [np.delete(SUMS, g).sum() / np.delete(WEIGHTS, g).sum() for g in range(40)]
    assert jackknife_ratio(SUMS, WEIGHTS) == pytest.approx(expected, rel=1e-12)
    assert jackknife_ratio(np.stack([SUMS, SUMS], 1), np.stack([WEIGHTS, WEIGHTS], 1)).shape == (40, 2)
    assert np.isnan(jackknife_ratio(np.array([1.0, 0.0]), np.array([1.0, 0.0]))[0])


@pytest.mark.integration
@pytest.mark.parametrize("clusters", [40, 100])
@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_intervals_equal_scipy(ours, theirs, clusters):
    """On the same clusters the ends are scipy's within Monte Carlo error (3 % of a standard error at 40,000)."""
    data = np.random.default_rng(8)
    sums, weights = data.gamma(2.0, 1.0, clusters), data.integers(1, 9, clusters).astype(float)

    def ratio(sums, weights, axis=-1):
        return sums.sum(axis=axis) / weights.sum(axis=axis)

    oracle = scipy_bootstrap(
        (sums, weights), ratio, paired=True, method=theirs, n_resamples=40_000, rng=5, batch=2000, vectorized=True
    )
    made = replicates(sums, weights, 40_000)[:, 0]
    estimate = sums.sum() / weights.sum()
    if ours == "percentile":
        ends = percentile_interval(made, 0.95)
    else:
        ends = bca_interval(made, estimate, acceleration(-jackknife_ratio(sums, weights)), 0.95)
    assert ends == pytest.approx(tuple(oracle.confidence_interval), abs=0.05 * oracle.standard_error)


@pytest.mark.integration
def test_ties_count_half():
    """On a lattice the bias correction counts replicates equal to the estimate half, as scipy does; rounded sums or not."""
    values = np.r_[np.ones(6), np.zeros(34)]
    oracle = scipy_bootstrap((values,), np.mean, method="BCa", n_resamples=40_000, rng=5, vectorized=True)
    made = replicates(values, np.ones(40), 40_000)[:, 0]
    ends = bca_interval(made, 0.15, acceleration(-jackknife_ratio(values, np.ones(40))), 0.95)
    assert ends == pytest.approx(tuple(oracle.confidence_interval), abs=1 / 40 + 1e-6)


def test_bca_is_null_where_undefined():
    """No replicate on one side, equal jackknife values, or no width: no interval, and a reason."""
    ramp = np.linspace(0.0, 1.0, 1001)
    lean = np.array([0.0, 1.0, 3.0])
    for made, estimate, jackknife, words in (
        (ramp + 1, 0.5, lean, "one side"),
        (ramp, 0.5, np.ones(3), "changes nothing"),
        (ramp, 0.5, np.array([np.nan, 1.0, 2.0]), "changes nothing"),
        (ramp, 0.0005, lean, "bias is too large"),
        (np.r_[np.zeros(2), np.ones(1000), np.full(2, 2.0)], 1.0, lean, "no width"),
    ):
        assert bca_interval(made, estimate, acceleration(-jackknife), 0.95) == (None, None)
        assert words in bca_flaw(made, estimate, acceleration(-jackknife), 0.95)
    assert bca_flaw(ramp, 0.5, acceleration(-lean), 0.95) is None
    assert percentile_interval(np.ones(100), 0.95) == (None, None)


@pytest.mark.integration
@pytest.mark.parametrize("n", [2, 5, 1000, 70_000])
def test_acceleration_is_a_sixth_of_the_skewness(n):
    """SciPy's skewness over 6√n, in any unit and from any origin; of a mean the values do for the jackknife."""
    values = np.random.default_rng(n).gamma(0.5, 1.0, n)
    expected = skew(values) / 6 / np.sqrt(n)
    for influences in (values, -jackknife_ratio(values, np.ones(n)), 1e300 * values, 1e-300 * values, values + 100):
        assert acceleration(influences) == pytest.approx(expected, abs=1e-12)
    assert acceleration(-values) == pytest.approx(-expected, abs=1e-12)
    assert acceleration(np.full(n, 0.1)) is acceleration(np.append(values, np.nan)) is None


@pytest.mark.integration
@pytest.mark.parametrize("shape", ["uniform", "beta", "lognormal"])
def test_closed_form_equals_the_bootstrap(shape):
    """From 1000 units on, four moments give scipy's BCa ends within what its own resampling scatters."""
    rng = np.random.default_rng(11)
    values = {
        "uniform": rng.random(1000),
        "beta": rng.beta(0.6, 1.2, 1000),
        "lognormal": rng.lognormal(0.0, 0.8, 1000),
    }[shape]
    made = replicates(values, np.ones(1000), 100_000)[:, 0]
    jackknife = jackknife_ratio(values, np.ones(1000))
    ends = bca_interval(made, values.mean(), acceleration(-jackknife), 0.95)
    assert closed_form(values, 0.95, "bca") == pytest.approx(ends, abs=0.03 * values.std() / np.sqrt(1000))


def test_closed_form_declines():
    """Below 1000 units, with a heavy tail, or without variation the closed form leaves it to others."""
    rng = np.random.default_rng(2)
    for values in (rng.random(999), np.r_[np.zeros(1999), 1.0], np.full(2000, 0.1)):
        assert closed_form(values, 0.95, "bca") is None


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["percentile", "basic", "bca"])
def test_closed_form_against_many_draws(kind):
    """Four moments against 200,000 replicates: within their scatter, .02 of a standard error."""
    values = np.random.default_rng(5).gamma(0.7, 1.0, 1200)
    made = replicates(values, np.ones(1200), 200_000)[:, 0]
    ends = percentile_interval(made, 0.95)
    if kind == "bca":
        ends = bca_interval(made, values.mean(), acceleration(values), 0.95)
    if kind == "basic":
        ends = 2 * values.mean() - ends[1], 2 * values.mean() - ends[0]
    assert closed_form(values, 0.95, kind) == pytest.approx(ends, abs=0.025 * values.std() / np.sqrt(1200))


@pytest.mark.thinned(40)
@pytest.mark.parametrize("offset", [0.0, 3.0, -500.0, 1e7])
@pytest.mark.parametrize("n", [1000, 8193, 70_001])
def test_closed_form_has_the_moments_of_scipy(n, offset):
    """Cornish and Fisher's quantiles from SciPy's moments, for long columns and values far from 0."""
    values = np.random.default_rng(n).beta(0.6, 1.2, n) + offset
    center = math.fsum(values) / n
    moved, z = values - center, norm.ppf([0.05, 0.95])
    skewness, excess = skew(moved) / math.sqrt(n), kurtosis(moved) / n
    third = excess / 24 * (z**3 - 3 * z) - skewness**2 / 36 * (2 * z**3 - 5 * z)
    quantiles = z + skewness / 6 * (z**2 - 1) + third
    made = (np.array(closed_form(values, 0.9, "percentile")) - center) / (moved.std() / math.sqrt(n))
    assert made == pytest.approx(quantiles, abs=1e-9 + abs(offset) * math.sqrt(n) * 3e-15)


@pytest.mark.parametrize(("scale", "offset"), [(1e-300, 0.0), (1e-80, 0.0), (1e150, 0.0), (1.0, 1e9), (2.0, -4e11)])
def test_closed_form_of_any_unit(scale, offset):
    """What is measured in other units has the same interval in these."""
    unit = np.random.default_rng(5).beta(0.6, 1.2, 2000)
    expected = np.array(closed_form(unit, 0.95, "bca"))
    made = np.array(closed_form(unit * scale + offset, 0.95, "bca"))
    near = 1e-9 + 8 * abs(offset) / scale * 2**-52
    assert made / scale - offset / scale == pytest.approx(expected, abs=near)


@pytest.mark.integration
@settings(deadline=None)
@given(st.floats(0.5, 0.999), st.integers(0, 1000))
def test_intervals_have_width_and_hold_the_estimate(level, seed):
    """Where BCa is defined it holds the estimate, and a higher level is no narrower."""
    values = np.random.default_rng(seed).exponential(1.0, 15)
    made = replicates(values, np.ones(15), 500, seed)[:, 0]
    jackknife = jackknife_ratio(values, np.ones(15))
    low, high = bca_interval(made, values.mean(), acceleration(-jackknife), level)
    if low is not None:
        assert low <= values.mean() + made.std() * 0.1
        assert high >= values.mean() - made.std() * 0.1
        assert low < high
