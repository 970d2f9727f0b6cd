# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""The bootstrap of a median from the law of order statistics, and over clusters by counts."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap
from simulations import repeated

from rollwise.stats.clusters import Grouping, groupings
from rollwise.stats.order_statistics import clustered_quantile_replicates, quantile_replicates
from rollwise.stats.quantiles import quantile
from rollwise.stats.replicates import counts


@pytest.mark.integration
def test_every_resample_of_five_by_hand():
    """All 5⁵ resamples of five values: replicates take their medians as often as these occur."""
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    medians = np.sort([np.median(resample) for resample in product(values, repeat=5)])
    drawn = quantile_replicates(values, 0.5, rng=np.random.default_rng(0), resamples=100_000)
    for value in values:
        assert (drawn == value).mean() == pytest.approx((medians == value).mean(), abs=5 * 0.5 / np.sqrt(100_000))


@pytest.mark.integration
@pytest.mark.parametrize("n", [101, 1001])
def test_equals_scipy(n):
    """Odd n: the ends of scipy's median interval, a neighboring value at most where its replicates scatter."""
    values = np.sort(np.random.default_rng(n).lognormal(0, 1, n))
    oracle = scipy_bootstrap((values,), np.median, n_resamples=9_999, method="percentile", rng=1, batch=500)
    made = quantile_replicates(values, 0.5, rng=np.random.default_rng(0), resamples=40_000)
    low, high = np.quantile(made, [0.025, 0.975])
    for ours, theirs in zip((low, high), oracle.confidence_interval, strict=True):
        assert abs(np.searchsorted(values, ours) - np.searchsorted(values, theirs)) <= 1


@pytest.mark.integration
def test_between_two_values_it_is_drawn():
    """Even n: two neighboring order statistics are drawn, with scipy's ends within their scatter."""
    values = np.sort(np.random.default_rng(3).gamma(2.0, 1.0, 200))
    made = quantile_replicates(values, 0.5, rng=np.random.default_rng(0), resamples=20_000)
    oracle = scipy_bootstrap((values,), np.median, n_resamples=9_999, method="percentile", rng=1, batch=500)
    spread = oracle.standard_error
    assert tuple(np.quantile(made, [0.025, 0.975])) == pytest.approx(
        tuple(oracle.confidence_interval), abs=0.1 * spread
    )
    assert made.std() == pytest.approx(spread, rel=0.05)


def test_clusters_by_counts_equal_gathered_rows():
    """Counting a cluster twice is having its rows twice."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(12), rng.integers(1, 5, 12))
    values = rng.normal(size=codes.size)
    drawn = clustered_quantile_replicates(
        values, np.ones(codes.size), Grouping(codes, 12), 0.5, rng=np.random.default_rng(7), resamples=20
    )
    again = counts(np.random.default_rng(7), 20, 12).astype(int)
    expected = [np.median(np.repeat(values, row[codes])) for row in again]
    assert drawn == pytest.approx(expected)


def test_routes_are_named():
    """`quantile` says which route it took; two ways and one cluster have no bootstrap."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=41)
    for some in (values, values[:40]):
        independent = quantile(some, (), interval="percentile", rng=rng)
        assert (independent.method, independent.resamples) == ("percentile bootstrap; order statistics drawn", 10_000)
    goals = np.arange(41) // 3
    assert quantile(values, (goals,), interval="percentile", rng=rng).method == "percentile bootstrap; clusters drawn"
    assert quantile(values, (goals, goals[::-1]), interval="percentile", rng=rng).low is None
    assert quantile(values, (np.zeros(41, int),), interval="percentile", rng=rng).low is None
    assert quantile(np.ones(9), (), interval="percentile", rng=rng).reason.startswith("too many tied values")


@pytest.mark.integration
@given(st.lists(st.floats(-100, 100), min_size=2, max_size=40), st.sampled_from([0.25, 0.5, 0.9]))
def test_replicates_stay_within_the_values(values, q):
    """A resampled quantile lies within the data, clustered or not."""
    y = np.sort(np.array(values))
    for made in (
        quantile_replicates(y, q, rng=np.random.default_rng(0), resamples=50),
        clustered_quantile_replicates(
            y, np.ones(y.size), groupings((), y.size)[0], q, rng=np.random.default_rng(0), resamples=50
        ),
    ):
        assert y[0] - 1e-9 <= made.min()
        assert made.max() <= y[-1] + 1e-9


@pytest.mark.slow
def test_coverage_of_a_clustered_median(covers, record_property):
    """40 goals of 5 with effects of their own: the bootstrap of whole goals covers the median at .92 at least."""
    rng, repetitions, hits = np.random.default_rng(0), repeated(1000), 0
    codes = np.repeat(np.arange(40), 5)
    for _ in range(repetitions):
        values = rng.normal(0, 1, 40)[codes] + rng.normal(0, 1, 200)
        made = quantile(values, (codes,), interval="percentile", rng=rng, resamples=1000)
        hits += made.low <= 0 <= made.high
    record_property("coverage", hits / repetitions)
    assert covers(hits, repetitions, 0.92)
