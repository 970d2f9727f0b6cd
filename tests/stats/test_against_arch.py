# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""The bootstrap intervals of a mean are those of arch, up to the scatter of the draws."""

import numpy as np
import pytest
from arch.bootstrap import IIDBootstrap

from rollwise.stats.mean import mean

VALUES = np.random.default_rng(11).gamma(1.5, size=80)
RESAMPLES = 20_000


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("basic", "basic"), ("bca", "bca")])
def test_independent_values(ours, theirs):
    """Percentile, basic and BCa ends lie within a tenth of a standard error of arch's."""
    peer = IIDBootstrap(VALUES, seed=3).conf_int(np.mean, RESAMPLES, method=theirs).ravel()
    made = mean(VALUES, (), rng=np.random.default_rng(5), resamples=RESAMPLES, interval=ours)
    assert (made.low, made.high) == pytest.approx(tuple(peer), abs=0.1 * VALUES.std() / np.sqrt(VALUES.size))


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_clusters_are_drawn_whole(interval):
    """Unequal clusters: the same ratio of sums, resampled over clusters, in arch and here."""
    sizes = np.random.default_rng(2).integers(1, 6, 40)
    codes = np.repeat(np.arange(40), sizes)
    values = np.random.default_rng(4).normal(codes % 5, 1.0)
    sums, counts = np.bincount(codes, weights=values), np.bincount(codes).astype(float)
    peer = (
        IIDBootstrap(sums, counts, seed=3).conf_int(lambda s, n: s.sum() / n.sum(), RESAMPLES, method=interval).ravel()
    )
    made = mean(values, (codes,), rng=np.random.default_rng(5), resamples=RESAMPLES, interval=interval)
    assert made.estimate == pytest.approx(values.mean())
    assert (made.low, made.high) == pytest.approx(tuple(peer), abs=0.1 * made.std_error)
