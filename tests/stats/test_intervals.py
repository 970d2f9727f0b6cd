# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Intervals of a share: four formulas, one set of edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulations import repeated
from statsmodels.stats.proportion import proportion_confint

from rollwise.stats.intervals import agresti_coull, exact, jeffreys, wilson
from rollwise.stats.proportion import proportion
from rollwise.stats.student import t_quantile

INTERVALS = {"wilson": wilson, "exact": exact, "jeffreys": jeffreys, "agresti-coull": agresti_coull}
EVERY = list(INTERVALS)
PEERS = {"wilson": "wilson", "exact": "beta", "jeffreys": "jeffreys", "agresti-coull": "agresti_coull"}


@pytest.mark.integration
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(("k", "n"), [(1, 20), (7, 40), (19, 20), (250, 500), (1, 1000)])
def test_equals_statsmodels(name, level, k, n):
    """Away from the edges each is statsmodels' interval of the same name."""
    oracle = proportion_confint(k, n, alpha=1 - level, method=PEERS[name])
    assert INTERVALS[name](k, n, level=level) == pytest.approx(np.clip(oracle, 0, 1), abs=1e-12)


@pytest.mark.parametrize("n", [1, 6, 20, 500])
def test_by_hand_at_no_success(n):
    """Exact at 0 of n ends at 1 - .025^(1/n), Wilson at z²/(n + z²), and n of n mirrors it."""
    z2 = t_quantile(0.95, None) ** 2
    assert exact(0, n) == (0.0, pytest.approx(1 - 0.025 ** (1 / n)))
    assert wilson(0, n) == (0.0, pytest.approx(z2 / (n + z2)))
    assert exact(n, n) == (pytest.approx(0.025 ** (1 / n)), 1.0)


@pytest.mark.parametrize("name", EVERY)
def test_nothing_of_nothing_has_no_interval(name):
    """Trap T18: statsmodels gives Jeffreys (.002, .998) at 0 of 0; here it is unknown, and so is no degree of freedom."""
    ends = INTERVALS[name]
    assert ends(0, 0) == (None, None)
    assert ends(1, 2, df=0) == (None, None)


def test_jeffreys_is_closed_at_the_edges():
    """Trap T18: without a success the lower end is 0, where statsmodels gives 2.4e-5; likewise at n of n."""
    assert jeffreys(0, 20)[0] == 0.0
    assert jeffreys(20, 20)[1] == 1.0
    assert proportion_confint(0, 20, method="jeffreys")[0] > 0


@pytest.mark.integration
@given(
    st.integers(1, 2000), st.floats(0, 1), st.sampled_from([0.5, 0.9, 0.95, 0.999]), st.sampled_from([None, 1, 4, 30])
)
def test_properties(n, share, level, df):
    """Every interval lies in [0, 1], holds the share, has width, mirrors itself, and widens with t in place of z."""
    k = round(share * n)
    for name in EVERY:
        ends = INTERVALS[name]
        low, high = ends(k, n, level=level, df=df)
        assert 0 <= low <= k / n + 1e-12
        assert k / n - 1e-12 <= high <= 1
        assert low < high
        assert ends(n - k, n, level=level, df=df) == pytest.approx((1 - high, 1 - low), abs=1e-9)
        if df is not None:
            narrow = ends(k, n, level=level)
            assert low <= narrow[0] + 1e-9
            assert high >= narrow[1] - 1e-9


@given(st.integers(1, 300), st.floats(0, 1))
def test_order_of_width(n, share):
    """Agresti and Coull's holds Wilson's, clipping aside; the exact one reaches at least as far as Jeffreys'."""
    k = round(share * n)
    for wide, narrow in ((agresti_coull, wilson), (exact, jeffreys)):
        outer, inner = wide(k, n), narrow(k, n)
        assert outer[0] <= inner[0] + 1e-12
        assert outer[1] >= inner[1] - 1e-12


@pytest.mark.integration
def test_exact_covers_at_every_share():
    """Summed over the binomial law, Clopper-Pearson covers at least its level at every share: no simulation needed."""
    n = 30
    ends = np.array([exact(k, n) for k in range(n + 1)])
    for share in np.linspace(0.001, 0.999, 400):
        weights = stats.binom.pmf(np.arange(n + 1), n, share)
        assert weights[(ends[:, 0] <= share) & (share <= ends[:, 1])].sum() >= 0.95


@pytest.mark.parametrize("name", EVERY)
def test_clusters_count_for_what_they_are_worth(name):
    """At no success every interval takes the number of goals for n, with t of G-1 in place of z."""
    goals = np.repeat(np.arange(50), 10)
    made = proportion(np.zeros(500), (goals,), interval=name)
    assert (made.low, made.high) == (0.0, pytest.approx(INTERVALS[name](0, 50, df=49)[1]))


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    ("goals", "size", "rate", "icc"), [(20, 5, 0.05, 0.3), (50, 5, 0.3, 0.3), (50, 10, 0.01, 0.3), (30, 20, 0.01, 0.6)]
)
def test_clustered_coverage(name, goals, size, rate, icc, covers, record_property):
    """At the effective size each covers .94 at least, zero cells included."""
    rng, repetitions, hits = np.random.default_rng(7), repeated(3000), 0
    codes = np.repeat(np.arange(goals), size)
    for _ in range(repetitions):
        chance = rng.beta(rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1), goals)
        made = proportion((rng.random(goals * size) < chance[codes]).astype(float), (codes,), interval=name)
        hits += made.low <= rate <= made.high
    record_property("coverage", float(hits / repetitions))
    assert covers(hits, repetitions, 0.94)
