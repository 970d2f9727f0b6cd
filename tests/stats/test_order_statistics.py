# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""The bootstrap of a median from the law of order statistics, and over clusters by counts."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap
from simulations import repeated

from turnwise.stats import order_statistics
from turnwise.stats.clusters import Grouping, groupings
from turnwise.stats.order_statistics import (
    Ranked,
    clustered_quantile_replicates,
    quantile_replicates,
    resampled_quantile_interval,
)
from turnwise.stats.quantiles import quantile


def test_every_resample_of_five_by_hand():
    """All 5⁵ resamples of five values: the interval's ends are the quantiles of their medians."""
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    medians = np.sort([np.median(resample) for resample in product(values, repeat=5)])
    for level in (0.8, 0.9, 0.99):
        ends = tuple(medians[int(np.ceil(share * medians.size)) - 1] for share in ((1 - level) / 2, (1 + level) / 2))
        assert resampled_quantile_interval(values, 0.5, level) == ends


@pytest.mark.integration
@pytest.mark.parametrize("n", [101, 1001])
def test_equals_scipy(n):
    """Odd n: the ends of scipy's median interval, a neighboring value at most where its replicates scatter."""
    values = np.sort(np.random.default_rng(n).lognormal(0, 1, n))
    oracle = scipy_bootstrap((values,), np.median, n_resamples=9_999, method="percentile", rng=1, batch=500)
    low, high = resampled_quantile_interval(values, 0.5, 0.95)
    for ours, theirs in zip((low, high), oracle.confidence_interval, strict=True):
        assert abs(np.searchsorted(values, ours) - np.searchsorted(values, theirs)) <= 1


def test_between_two_values_it_is_drawn():
    """Even n: no single order statistic, so O(B) draws, with scipy's ends within their scatter."""
    values = np.sort(np.random.default_rng(3).gamma(2.0, 1.0, 200))
    assert resampled_quantile_interval(values, 0.5, 0.95) is None
    made = quantile_replicates(values, 0.5, rng=np.random.default_rng(0), resamples=20_000)
    oracle = scipy_bootstrap((values,), np.median, n_resamples=9_999, method="percentile", rng=1, batch=500)
    spread = oracle.standard_error
    assert tuple(np.quantile(made, [0.025, 0.975])) == pytest.approx(
        tuple(oracle.confidence_interval), abs=0.1 * spread
    )
    assert made.std() == pytest.approx(spread, rel=0.05)


@pytest.mark.integration
@pytest.mark.parametrize("least", [0, 30, 1 << 12])
@given(
    st.lists(st.floats(allow_nan=False) | st.integers(-3, 3).map(float), min_size=1, max_size=200),
    st.floats(0.001, 0.999),
    st.data(),
)
def test_values_by_rank_are_those_of_all_in_order(least, values, q, data):
    """Whatever is asked for, and in whatever order it is asked: the value that sorting gives."""
    y, ordered = np.array(values), np.sort(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order_statistics, "_ALL", least)
        ranked = Ranked(y, q)
        place = int(q * (y.size - 1))
        for ranks in [place, *data.draw(st.lists(st.integers(0, y.size - 1), max_size=4))]:
            assert ranked[ranks] == ordered[ranks]
        assert np.array_equal(ranked[np.arange(y.size)], ordered)


@pytest.mark.parametrize("q", [0.001, 0.05, 0.5, 0.975, 0.9999])
@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).lognormal(0, 1, 100_001),
        np.arange(100_000.0),
        np.tile(np.arange(46.0), 2_000),
        np.where(np.random.default_rng(2).random(50_000) < 0.4, np.inf, 1.0),
        np.zeros(20_000),
    ],
    ids=["drawn", "ascending", "periodic", "infinite", "tied"],
)
def test_quantiles_of_many_values_are_those_of_numpy(values, q):
    """Of long columns a part is put in order, and the quantile and its neighbors are the same."""
    ranked, ordered = Ranked(values, q), np.sort(values)
    for rank in {int(q * values.size) + step for step in (-500, -1, 0, 1, 500)} & set(range(values.size)):
        assert ranked[rank] == ordered[rank]
    if np.isfinite(values).all():
        assert order_statistics.interpolated(ranked, q) == np.quantile(values, q)


def test_clusters_by_counts_equal_gathered_rows():
    """Counting a cluster twice is having its rows twice."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(12), rng.integers(1, 5, 12))
    values = rng.normal(size=codes.size)
    drawn = clustered_quantile_replicates(
        values, np.ones(codes.size), Grouping(codes, 12), 0.5, rng=np.random.default_rng(7), resamples=20
    )
    from turnwise.stats.multinomial import counts

    again = counts(np.random.default_rng(7), 20, 12).astype(int)
    expected = [np.median(np.repeat(values, row[codes])) for row in again]
    assert drawn == pytest.approx(expected)


def test_routes_are_named():
    """`quantile` says which route it took; two ways and one cluster have no bootstrap."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=41)
    assert quantile(values, (), interval="percentile").method == "percentile bootstrap; order statistic"
    even = quantile(values[:40], (), interval="percentile", rng=rng)
    assert (even.method, even.resamples) == ("percentile bootstrap; order statistics drawn", 10_000)
    goals = np.arange(41) // 3
    assert quantile(values, (goals,), interval="percentile", rng=rng).method == "percentile bootstrap; clusters drawn"
    assert quantile(values, (), interval="resample", rng=rng).resamples == 10_000
    assert quantile(values, (goals, goals[::-1]), interval="percentile", rng=rng).low is None
    assert quantile(values, (np.zeros(41, int),), interval="percentile", rng=rng).low is None
    assert quantile(np.ones(9), (), interval="percentile").reason.startswith("too many tied values")


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
