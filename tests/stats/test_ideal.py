# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""The bootstrap without draws: its ends are those of infinitely many replicates, or it leaves the work to others."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, kurtosis, norm, skew
from scipy.stats import bootstrap as scipy_bootstrap

from turnwise.stats.bootstrap import acceleration, bca_interval, percentile_interval
from turnwise.stats.ideal import binomial_interval, closed_form, closed_forms, grid_interval, ideal_interval
from turnwise.stats.replicates import jackknife_ratio, ratio_replicates


def scipy_ends(values, method, resamples=200_000):
    """The interval of scipy with many replicates, in batches."""
    batch = max(1, 20_000_000 // values.size)
    found = scipy_bootstrap((values,), np.mean, n_resamples=resamples, method=method, batch=batch, rng=3)
    return tuple(found.confidence_interval)


def test_binomial_by_hand():
    """4 of 20: the resampled count is Bin(20, .2), whose 2.5 % and 97.5 % quantiles are 1 and 8."""
    assert [binom.ppf(level, 20, 0.2) for level in (0.025, 0.975)] == [1, 8]
    found = binomial_interval(4, 20, 0.95, "percentile")
    assert found[:3] == (0.05, 0.4, "binomial")
    assert binomial_interval(4, 20, 0.95, "basic")[:2] == pytest.approx((0.0, 0.35))


@pytest.mark.integration
@pytest.mark.parametrize(("n", "share"), [(30, 0.1), (100, 0.1), (100, 0.5), (1000, 0.3)])
@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_binomial_equals_scipy(n, share, ours, theirs):
    """0/1 values: the same ends as scipy's 200,000 replicates, within one count at most where a count sits on a level."""
    values = (np.arange(n) < round(share * n)).astype(float)
    low, high = (end * n for end in scipy_ends(values, theirs))
    found = ideal_interval(values, 0.95, ours)
    assert found.route == "binomial"
    assert (found.low * n, found.high * n) == pytest.approx((low, high), abs=1.0 + 1e-6)


def test_grid_by_hand():
    """Three values 0, 1, 2 of three: the sum of three draws has the law of (1+x+x²)³/27: 1 3 6 7 6 3 1."""
    law = np.array([1, 3, 6, 7, 6, 3, 1]) / 27
    reached = np.cumsum(law)
    found = grid_interval(np.array([0, 1, 2]), 0.8, "percentile")
    assert (found.low * 3, found.high * 3) == (
        int(np.argmax(reached >= 0.1)),
        int(np.argmax(reached >= 0.9)),
    )


@given(st.lists(st.integers(0, 6), min_size=3, max_size=25), st.sampled_from([0.5, 0.8, 0.95]))
def test_grid_equals_the_convolved_law(values, level):
    """The transform's law is the n-fold convolution of the values' shares."""
    steps = np.array(values) - min(values)
    if steps.max() == 0:
        return
    share, law = np.bincount(steps) / steps.size, np.ones(1)
    for _ in values:
        law = np.convolve(law, share)
    reached = np.cumsum(law)
    found = grid_interval(steps, level, "percentile")
    for end, target in ((found.low, (1 - level) / 2), (found.high, (1 + level) / 2)):
        if end is None:
            continue
        count = round(end * steps.size)
        assert reached[count] >= target - 1e-9
        assert count == 0 or reached[count - 1] <= target + 1e-9


@pytest.mark.integration
@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_grid_equals_scipy(ours, theirs):
    """Scores 0 to 10 in tenths: scipy's ends within a step of the grid and its own scatter."""
    values = np.random.default_rng(1).integers(0, 11, 150) / 10
    found = ideal_interval(values, 0.95, ours)
    assert found.route == "FFT"
    assert found[:2] == pytest.approx(scipy_ends(values, theirs), abs=1.01 / 1500)


@pytest.mark.parametrize("kind", ["percentile", "basic", "bca"])
def test_closed_form_against_a_million_draws(kind):
    """Four moments against 200,000 replicates: within their scatter, .02 of a standard error."""
    values = np.random.default_rng(5).gamma(0.7, 1.0, 1200)
    assert ideal_interval(values, 0.95, kind).route == "closed form"
    made = ratio_replicates(values, np.ones(1200), rng=np.random.default_rng(0), resamples=200_000)[:, 0]
    if kind == "bca":
        ends = bca_interval(made, values.mean(), acceleration(-jackknife_ratio(values, np.ones(1200))), 0.95)
    else:
        ends = percentile_interval(made, 0.95)
    if kind == "basic":
        ends = 2 * values.mean() - ends[1], 2 * values.mean() - ends[0]
    assert closed_form(values, 0.95, kind) == pytest.approx(ends, abs=0.025 * values.std() / math.sqrt(1200))


@pytest.mark.parametrize("offset", [0.0, 2.0, 3.0, -500.0, 1e7])
@pytest.mark.parametrize("shape", [(1, 1000), (1, 8193), (150, 1001), (70, 1999), (3, 40_001)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_closed_forms_have_the_moments_of_scipy(shape, offset, order):
    """Cornish and Fisher's quantiles from SciPy's moments: for many rows, rows in several pieces, and values far from 0."""
    samples = np.asarray(np.random.default_rng(shape[1]).beta(0.6, 1.2, shape) + offset, order=order)
    samples[-1] = 2 * samples[-1] + 3 * offset
    means = np.array([math.fsum(row) / row.size for row in samples])
    moved = np.ascontiguousarray(samples - means[:, None])
    n, z = shape[1], norm.ppf([[0.05], [0.95]])
    skewness, excess = skew(moved, axis=1) / math.sqrt(n), kurtosis(moved, axis=1) / n
    third = excess / 24 * (z**3 - 3 * z) - skewness**2 / 36 * (2 * z**3 - 5 * z)
    quantiles = z + skewness / 6 * (z**2 - 1) + third
    error = moved.std(axis=1) / math.sqrt(n)
    found = (closed_forms(samples, 0.9, "percentile") - means) / error
    assert found == pytest.approx(quantiles, abs=1e-11 + abs(offset) * math.sqrt(n) * 3e-15)
    assert closed_forms(samples[:, :999], 0.9) == pytest.approx(np.full((2, shape[0]), np.nan), nan_ok=True)


def test_what_is_on_no_grid_is_left_to_draws():
    """Few values on no grid, or too long a grid, have no exact route; equal values have none at all."""
    rng = np.random.default_rng(0)
    assert ideal_interval(rng.random(50), 0.95, "bca") is None
    assert ideal_interval(np.sqrt(np.arange(1.0, 50.0)), 0.95, "bca") is None
    assert ideal_interval(np.full(50, 0.1), 0.95, "bca") is None
    assert ideal_interval(np.r_[0.0, 1e-6, np.ones(50)], 0.95, "percentile") is None


def test_a_million_outcomes_take_the_binomial():
    """0/1 outcomes have their exact law whatever their number."""
    values = (np.arange(1_000_000) % 10 == 0).astype(float)
    found = ideal_interval(values, 0.95, "percentile")
    assert found.route == "binomial"
    assert found[:2] == pytest.approx(binom.ppf([0.025, 0.975], 1_000_000, 0.1) / 1_000_000)


def test_rounded_deviations_are_still_a_grid():
    """Values that were shifted and scaled with rounding keep their route and their ends."""
    values = np.random.default_rng(2).integers(0, 5, 60).astype(float)
    plain = ideal_interval(values, 0.95, "bca")
    moved = ideal_interval(values / 3 - values.mean() / 3, 0.95, "bca")
    assert moved.route == plain.route == "FFT"
    ends = np.array(plain[:2]) / 3 - values.mean() / 3
    assert moved[:2] == pytest.approx(tuple(ends), abs=1e-9)


@pytest.mark.integration
@given(st.lists(st.integers(0, 4), min_size=5, max_size=60), st.sampled_from(["percentile", "basic", "bca"]))
def test_properties(values, kind):
    """An interval has width, or both ends are null and a reason is given; a higher level is no narrower."""
    y = np.array(values, dtype=float)
    narrow, wide = (ideal_interval(y, level, kind) for level in (0.8, 0.95))
    for found in (narrow, wide):
        if found is not None and found.low is None:
            assert found.high is None
            assert found.reason
        elif found is not None:
            assert found.low < found.high
    if narrow is not None and narrow.low is not None and wide.low is not None:
        assert wide.low <= narrow.low + 1e-12
        assert wide.high >= narrow.high - 1e-12
