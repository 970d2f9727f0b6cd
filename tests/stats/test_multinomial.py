# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
import numpy as np
import pytest
from scipy.stats import binom, multinomial

from turnwise.errors import ArgumentError
from turnwise.stats.multinomial import counts


@pytest.mark.parametrize("clusters", [1, 2, 31, 32, 100, 1000])
def test_counts_sum_to_the_clusters(clusters):
    """Each row draws as many clusters as there are."""
    drawn = counts(np.random.default_rng(0), 200, clusters)
    assert drawn.shape == (200, clusters)
    assert drawn.dtype == np.float64
    assert np.all(drawn.sum(axis=1) == clusters)
    assert drawn.min() >= 0


@pytest.mark.integration
@pytest.mark.parametrize("clusters", [5, 40, 300])
def test_counts_are_multinomial(clusters):
    """Mean 1, variance 1 - 1/n, covariance -1/n, and the chance of no draw that of the binomial law."""
    drawn = counts(np.random.default_rng(1), 40_000, clusters).astype(float)
    oracle = multinomial(clusters, np.full(clusters, 1 / clusters)).cov()
    assert drawn.mean(axis=0) == pytest.approx(1.0, abs=0.025)
    assert drawn.var(axis=0).mean() == pytest.approx(oracle[0, 0], rel=0.01)
    assert (drawn[:, 0] * drawn[:, 1]).mean() - 1 == pytest.approx(oracle[0, 1], abs=0.02)
    assert (drawn == 0).mean() == pytest.approx((1 - 1 / clusters) ** clusters, abs=0.002)


@pytest.mark.integration
@pytest.mark.parametrize(("clusters", "draws"), [(32, 32), (1000, 1000), (1000, 700), (100, 30), (200, 900)])
def test_a_count_is_binomial(clusters, draws):
    """So many draws in a row, of which a cluster gets a binomial share: every number of them as often as its law says."""
    rows = 4_000_000 // clusters
    drawn = counts(np.random.default_rng(2), rows, clusters, np.full(rows, draws))
    assert (drawn.sum(axis=1) == draws).all()
    law = binom.pmf(np.arange(20), draws, 1 / clusters)
    found = np.bincount(drawn.astype(int).ravel(), minlength=20)[:20] / drawn.size
    assert np.abs(found - law).max() < 5 * np.sqrt(0.25 / drawn.size)
    tail = binom.sf(19, draws, 1 / clusters)
    assert (drawn > 19).mean() == pytest.approx(tail, abs=5 * np.sqrt((tail + 1e-9) / drawn.size))


def test_rows_of_other_draws():
    """Each row has its own number of draws, none among them."""
    draws = np.array([0, 1, 50, 64, 64, 200])
    assert counts(np.random.default_rng(3), 6, 64, draws).sum(axis=1).tolist() == draws.tolist()
    draws = np.array([60, 64, 70])
    assert counts(np.random.default_rng(3), 3, 64, draws).sum(axis=1).tolist() == draws.tolist()


def test_counts_need_64_bits():
    """MT19937 fills half of each word only, and is refused."""
    with pytest.raises(ArgumentError, match="64-bit"):
        counts(np.random.Generator(np.random.MT19937(0)), 2, 50)


def test_counts_repeat():
    """The same seed draws the same counts."""
    first, second = (counts(np.random.default_rng(5), 20, 70) for _ in range(2))
    assert np.array_equal(first, second)
