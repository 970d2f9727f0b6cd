# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Drawn counts follow their law, are shared without a trace, and give the laws of resampled means that are known exactly."""

import math

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from rollwise.errors import ArgumentError
from rollwise.stats import replicates as module
from rollwise.stats.bootstrap import acceleration, bca_interval
from rollwise.stats.mean import mean
from rollwise.stats.replicates import BLOCK, count_blocks, count_sums, counts, ratio_replicates


@pytest.fixture(autouse=True)
def _nothing_shared(monkeypatch):
    monkeypatch.setattr(module, "_shared", {})


@pytest.mark.parametrize("clusters", [1, 2, 31, 32, 100, 1000])
def test_counts_sum_to_the_clusters(clusters):
    """Each replicate draws as many clusters as there are."""
    drawn = counts(np.random.default_rng(0), 200, clusters)
    assert drawn.shape == (200, clusters)
    assert np.all(drawn.sum(axis=1) == clusters)
    assert drawn.min() >= 0


@pytest.mark.integration
@pytest.mark.parametrize("clusters", [5, 40, 300])
def test_counts_are_multinomial(clusters):
    """Mean 1, variance 1 - 1/n, covariance -1/n, and the binomial law of the count of one cluster."""
    drawn = counts(np.random.default_rng(1), 40_000, clusters).astype(float)
    oracle = multinomial(clusters, np.full(clusters, 1 / clusters)).cov()
    assert drawn.mean(axis=0) == pytest.approx(1.0, abs=0.025)
    assert drawn.var(axis=0).mean() == pytest.approx(oracle[0, 0], rel=0.01)
    assert (drawn[:, 0] * drawn[:, 1]).mean() - 1 == pytest.approx(oracle[0, 1], abs=0.02)
    law = binom.pmf(np.arange(20), clusters, 1 / clusters)
    shares = np.bincount(drawn.astype(int).ravel(), minlength=20)[:20] / drawn.size
    assert np.abs(shares - law).max() < 5 * np.sqrt(0.25 / drawn.size)


def test_counts_need_64_bits():
    """MT19937 fills half of each word only, and is refused."""
    with pytest.raises(ArgumentError, match="64-bit"):
        counts(np.random.Generator(np.random.MT19937(0)), 2, 50)


def blocks(rng, resamples, clusters):
    return np.concatenate([block for _, block in count_blocks(rng, resamples, clusters)])


@pytest.mark.parametrize("clusters", [3, 50])
@pytest.mark.parametrize("kind", [np.random.PCG64DXSM, np.random.SFC64, np.random.Philox])
def test_shared_counts_are_those_that_were_drawn(clusters, kind, monkeypatch):
    """Drawn or copied, in blocks of any size: the same counts, and the same generator afterwards."""
    plain = np.random.Generator(kind(7))
    expected = counts(plain, 9, clusters)
    after = plain.random()
    for size in (BLOCK, BLOCK, 2 * clusters, 1):
        monkeypatch.setattr(module, "BLOCK", size)
        rng = np.random.Generator(kind(7))
        assert np.array_equal(blocks(rng, 9, clusters), expected)
        assert rng.random() == after
        assert len(module._shared) == 1


def test_another_request_has_other_counts():
    """Another generator, number of replicates or of clusters is never mistaken for the shared one."""
    requests = [(seed, resamples, clusters) for seed in (0, 1) for resamples in (6, 7) for clusters in (40, 41)]
    for _ in range(2):
        for seed, *sizes in requests:
            for _ in range(2):
                expected = counts(np.random.default_rng(seed), *sizes)
                assert np.array_equal(blocks(np.random.default_rng(seed), *sizes), expected)


def test_no_more_is_shared_than_fits(monkeypatch):
    """Above the limit, or when the caller stops early, nothing is kept."""
    next(count_blocks(np.random.default_rng(0), 10, 1 << 16))
    assert not module._shared
    monkeypatch.setattr(module, "MOST_SHARED", 399)
    first, second = (blocks(np.random.default_rng(0), 10, 40) for _ in range(2))
    assert not module._shared
    assert np.array_equal(first, second)


def test_strata_are_drawn_within():
    """Each stratum is drawn as often as it has clusters."""
    strata = np.repeat([0, 1, 2], [5, 10, 25])
    members = (strata[:, None] == np.arange(3)).astype(float)
    drawn = count_sums(members, rng=np.random.default_rng(0), resamples=50, strata=strata)
    assert (drawn == [5, 10, 25]).all()


@pytest.mark.integration
def test_many_clusters_are_drawn_by_stretches():
    """More clusters than a block holds: as many draws, and sums that scatter as those of independent draws do."""
    n = BLOCK + 1000
    values = np.random.default_rng(4).gamma(0.5, 1.0, n)
    columns = np.stack([np.ones(n), values, values[::-1], np.arange(n) < n // 2], axis=1)
    drawn = count_sums(columns, rng=np.random.default_rng(5), resamples=1000)
    assert (drawn[:, 0] == n).all()
    assert drawn.mean(axis=0) == pytest.approx(columns.sum(axis=0), abs=4 * np.sqrt(n / 1000))
    spread = columns.std(axis=0)[1:] * np.sqrt(n)
    assert drawn[:, 1:].std(axis=0) == pytest.approx(spread, rel=4 / np.sqrt(2000))


def convolved(values):
    """The probabilities of all sums of n draws with replacement from n integers."""
    share = np.bincount(values) / values.size
    law = np.ones(1)
    for _ in values:
        law = np.convolve(law, share)
    return law


@pytest.mark.integration
@pytest.mark.parametrize(
    "values",
    [np.arange(20) < 4, np.arange(60) < 30, np.arange(80) % 11, np.array([0, 0, 0, 1, 2, 2, 5, 6, 6, 6])],
    ids=["4 of 20", "30 of 60", "grades", "uneven"],
)
@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_resampled_sums_have_their_exact_law(values, kind):
    """Sums of resampled integers have the n-fold convolution as their law: the ends are at most one step from its own."""
    values = values.astype(int)
    n, resamples = values.size, 100_000
    law = convolved(values)
    reached, sums = np.cumsum(law), np.arange(law.size)
    drawn = ratio_replicates(values, np.ones(n), rng=np.random.default_rng(0), resamples=resamples)[:, 0] * n
    assert drawn.mean() == pytest.approx(values.sum(), abs=5 * drawn.std() / math.sqrt(resamples))
    shares = np.bincount(np.rint(drawn).astype(int), minlength=law.size) / resamples
    assert np.abs(shares - law).max() < 5 * np.sqrt(0.25 / resamples)
    made = mean(values, (), rng=np.random.default_rng(1), interval=kind, resamples=resamples)
    if kind == "percentile":
        ends = np.searchsorted(reached, [0.025, 0.975])
    else:  # BCa of a sample of exactly this law
        exact = np.repeat(sums, np.rint(law * 1e6).astype(int)).astype(float)
        ends = np.array(bca_interval(exact, values.sum(), acceleration(values.astype(float)), 0.95))
    assert (made.low * n, made.high * n) == pytest.approx(tuple(ends), abs=1.0 + 1e-6)
