# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""The bootstrap of any statistic: gathered rows are those of the drawn clusters."""

import numpy as np
import pytest
from arch.bootstrap import IIDBootstrap
from hypothesis import given
from hypothesis import strategies as st

from rollwise.stats.clusters import Grouping, grouping
from rollwise.stats.gather import gathered_jackknife, gathered_replicates


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.integration
@given(st.lists(st.integers(0, 6), min_size=1, max_size=25))
def test_whole_clusters_are_gathered(codes):
    """Every replicate holds whole clusters, as many as there are."""
    unit = grouping(codes)
    sizes = np.bincount(unit.codes)

    def whole(rows):
        many = np.bincount(rows, minlength=unit.count)
        assert (many % sizes == 0).all()
        assert (many // sizes).sum() == unit.count
        return rows.size

    made = gathered_replicates(whole, [unit.codes], unit, rng=rng(), resamples=20)
    assert np.isfinite(made).all()


def test_vectorized_is_the_loop():
    """Clusters of one size: a block at once gives the numbers of one call each."""
    y, unit = rng(1).normal(size=60), Grouping(np.repeat(np.arange(20), 3), 20)

    def middle(values, axis=None):
        return np.median(values, axis=axis)

    loop = gathered_replicates(middle, [y], unit, rng=rng(2), resamples=100)
    block = gathered_replicates(middle, [y], unit, rng=rng(2), resamples=100, vectorized=True)
    assert block == pytest.approx(loop)
    unequal = Grouping(np.array([0, 0, 1, 1, 1]), 2)  # one call each
    loop = gathered_replicates(middle, [y[:5]], unequal, rng=rng(2), resamples=20)
    assert gathered_replicates(middle, [y[:5]], unequal, rng=rng(2), resamples=20, vectorized=True) == pytest.approx(
        loop
    )


def test_strata_keep_their_sizes():
    """Clusters drawn within strata: every replicate has as many of each."""
    unit, strata = Grouping(np.arange(30), 30), np.repeat([0, 1, 2], 10)
    made = gathered_replicates(lambda s: (s == 1).sum(), [strata], unit, rng=rng(), resamples=50, strata=strata)
    assert (made == 10).all()


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
def test_equals_arch():
    """A correlation of two columns: arch's replicates have the same mean and spread."""
    x = rng(3).normal(size=60)
    y = 0.6 * x + rng(4).normal(size=60)

    def correlation(a, b):
        return np.corrcoef(a, b)[0, 1]

    made = gathered_replicates(correlation, [x, y], Grouping(np.arange(60), 60), rng=rng(), resamples=4000)
    peer = IIDBootstrap(x, y, seed=1).apply(correlation, 4000)
    assert made.std() == pytest.approx(peer.std(), rel=0.05)
    assert np.quantile(made, [0.025, 0.975]) == pytest.approx(np.quantile(peer, [0.025, 0.975]), abs=0.03)
    jackknife = gathered_jackknife(correlation, [x, y], Grouping(np.arange(60), 60))
    assert jackknife[7] == pytest.approx(correlation(np.delete(x, 7), np.delete(y, 7)))


def test_no_value_is_nan():
    """None, infinity and NaN of a replicate are no value."""
    made = gathered_replicates(
        lambda y: None if y.sum() > 2 else np.inf, [np.arange(4.0)], Grouping(np.arange(4), 4), rng=rng(), resamples=20
    )
    assert np.isnan(made).all()
