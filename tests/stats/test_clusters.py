# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from rollwise.errors import ArgumentError
from rollwise.stats.clusters import grouping, variation
from rollwise.stats.student import group_degrees_of_freedom, t_quantile
from rollwise.stats.units import Groups

RNG = np.random.default_rng(1)
Y = RNG.normal(2.0, 1.0, 60)
GOAL, TASK = RNG.integers(0, 12, 60), RNG.integers(0, 7, 60)
WEIGHTS = RNG.uniform(0.5, 2.0, 60)


def test_worked_case():
    """Three goals with 2 of 2, 1 of 2 and 0 of 2: V = 3/2 · (1 + 0 + 1) / 36 on two degrees of freedom."""
    spread = variation([1, 1, 1, 0, 0, 0], (np.array([0, 0, 1, 1, 2, 2]),))
    assert spread.estimate == 0.5
    assert spread.variance == pytest.approx(3 / 2 * 2 / 36)
    assert (spread.df, spread.n, spread.n_clusters, spread.singletons) == (2, 6, 3, False)


def test_weighted_worked_case():
    """Weights 3 and 1 on the values 1 and 0: R = 3/4 and V = 2 · ((3/4)² + (3/4)²) / 16."""
    spread = variation([1, 0], (), weights=[3, 1])
    assert (spread.estimate, spread.variance) == (0.75, 2 * 2 * 0.75**2 / 16)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_one_way_equals_cluster_robust_regression(weights):
    """The clustered variance is that of statsmodels' cluster-robust intercept, with its small-sample factor."""
    model = sm.WLS(Y, np.ones(60), weights=1.0 if weights is None else weights)
    oracle = model.fit(cov_type="cluster", cov_kwds={"groups": GOAL})
    spread = variation(Y, (GOAL,), weights=weights)
    assert spread.estimate == pytest.approx(oracle.params[0], rel=1e-12)
    assert spread.variance == pytest.approx(oracle.cov_params()[0, 0], rel=1e-12)


def degrees_of_freedom(masses):
    """Those of one group."""
    return group_degrees_of_freedom(masses, Groups.single(masses.size)).item()


def by_matrix(masses):
    """2·E(V)² / var(V) of V = Σ w²·(mean - R)² as a quadratic form in independent cluster means of variance one."""
    w = np.asarray(masses, float) / np.sum(masses)
    away = np.eye(w.size) - w  # cluster means less their weighted mean
    form = away.T @ np.diag(w**2) @ away
    return np.trace(form) ** 2 / np.trace(form @ form)


@pytest.mark.parametrize(
    "masses", [[1, 2], [1, 2, 4, 8], [32, 8, 4, 2, 1], [5, 5, 6], np.geomspace(1, 32, 20), [1, 1, 98]]
)
def test_degrees_of_freedom_are_satterthwaites(masses):
    """The closed form is the one by matrices."""
    masses = np.asarray(masses, float)
    assert degrees_of_freedom(masses) == pytest.approx(by_matrix(masses), rel=1e-9)
    codes = np.repeat(np.arange(masses.size), np.ceil(masses).astype(int))
    assert variation(np.arange(codes.size), (codes,)).df == pytest.approx(by_matrix(np.bincount(codes)), rel=1e-9)


@pytest.mark.integration
@given(st.lists(st.floats(1e-9, 1e9), min_size=2, max_size=30), st.floats(1e-6, 1e6))
def test_degrees_of_freedom_are_between_one_and_all(masses, unit):
    """Never below 1 nor above G - 1, which equal clusters have exactly; the unit of the weights does not matter."""
    masses = np.array(masses)
    found = degrees_of_freedom(masses)
    assert 1 <= found <= masses.size - 1
    assert degrees_of_freedom(masses * unit) == pytest.approx(found, rel=1e-3)
    assert degrees_of_freedom(np.full(masses.size, unit)) == masses.size - 1


def test_one_cluster_that_outweighs_all_leaves_one_degree_of_freedom():
    """However much it outweighs them: where the digits of the closed form would go, the answer stays."""
    for heavy in (1e3, 1e6, 1e12, 1e300):
        assert degrees_of_freedom(np.r_[heavy, np.ones(99)]) == pytest.approx(1.02, abs=0.02)
        assert degrees_of_freedom(np.array([heavy, 1.0])) == pytest.approx(1, abs=1e-3)
    assert degrees_of_freedom(np.array([3.0])) == 0


def test_two_way_equals_cluster_robust_regression():
    """The two-way variance is Va + Vb - Vab of statsmodels, where that is the largest."""
    oracle = sm.OLS(Y, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": np.stack([GOAL, TASK], axis=1)})
    spread = variation(Y, (GOAL, TASK))
    one_way = [variation(Y, (way,)).variance for way in (GOAL, TASK)]
    assert spread.variance == pytest.approx(max(oracle.cov_params()[0, 0], *one_way), rel=1e-12)
    assert (spread.df, spread.n_clusters) == (6, 7)


def test_two_way_never_falls_below_one_way():
    """Where Va + Vb - Vab is less than Va or Vb, the larger of the two stands."""
    a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    spread = variation([0.0, 1.0, 1.0, 0.0], (a, b))
    assert spread.variance == 0.0  # neither way differs, and the pairs alone would make it negative


def test_independent_rollouts_have_the_textbook_variance():
    """Without clusters the variance is s²/n, also where every cluster holds one rollout."""
    for clusters in ((), (np.arange(60),), (np.arange(60), np.arange(60))):
        spread = variation(Y, clusters)
        assert spread.variance == pytest.approx(Y.var(ddof=1) / 60)
        assert spread.singletons
        assert spread.df == 59


def test_edges():
    """No rollout has no estimate, one cluster no variance, equal values a variance of exactly zero."""
    assert variation([], ()).estimate is None
    one = variation([1.0, 2.0], (np.array([0, 0]),))
    assert (one.estimate, one.variance, one.df) == (1.5, None, 0)
    assert variation([0.1, 0.1, 0.1], ()).variance == 0.0
    assert variation([0.1, 0.1, 0.1], ()).estimate == 0.1
    with pytest.raises(ArgumentError, match="3 ways"):
        variation([1.0], (np.array([0]),) * 3)


def test_rounding_is_no_variation():
    """Clusters of the same mean have a variance of exactly zero, though their sums differ in the last digit."""
    values = np.tile([0.1, 0.2, 0.7], 5)
    assert variation(values, (np.repeat(np.arange(5), 3),)).variance == 0.0


def test_a_large_offset_costs_no_digits():
    """A sum of squares, as HELM's, loses every digit of values near 10⁹, clusters or none; two passes keep them."""
    near, far = variation(Y, (GOAL,)), variation(Y + 2.0**30, (GOAL,))
    assert near.variance == pytest.approx(far.variance, rel=1e-6)


def by_sum_of_squares(values):
    """HELM's variance before it is clipped at 0: Σy²/n - (Σy/n)², of a population and not of a sample."""
    total = squares = 0.0
    for value in values.tolist():
        total += value
        squares += value * value
    return squares / values.size - (total / values.size) ** 2


@pytest.mark.parametrize(("offset", "theirs"), [(0.0, 14 / 3), (1e8, 4.0), (2e8, 0.0), (5e8, -32.0)])
def test_a_sum_of_squares_is_no_variance(offset, theirs):
    """HELM's variance of 2, 3 and 7 is 14/3, not 7 (it divides by n); 10⁸ farther it is 4, then 0, then -32, clipped at 0.

    By hand: the mean is 4, the squares of what is away from it 4, 1 and 9, s² = 14/2 = 7, and the mean's variance 7/3.
    """
    values = np.array([2.0, 3.0, 7.0]) + offset
    assert by_sum_of_squares(values) == pytest.approx(theirs)
    ours = variation(values, ())
    assert ours.estimate == offset + 4
    assert ours.variance == pytest.approx(7 / 3, rel=1e-12)
    paired = variation(np.repeat(values, 2), (np.repeat(np.arange(3), 2),))
    assert paired.variance == pytest.approx(7 / 3, rel=1e-12)


def test_codes_may_have_gaps():
    """A subset of the rollouts keeps the codes of the whole; absent clusters do not count."""
    assert grouping([7, 3, 7]).count == 2
    gaps, dense = variation([1.0, 0.0, 0.0], (np.array([9, 2, 9]),)), variation([1.0, 0.0, 0.0], (np.array([1, 0, 1]),))
    assert gaps == dense


@pytest.mark.integration
@settings(deadline=None)
@given(st.permutations(range(60)))
def test_row_order_is_irrelevant(order):
    """Permuting the rollouts changes nothing beyond rounding."""
    rows = np.array(order)
    plain, moved = variation(Y, (GOAL, TASK)), variation(Y[rows], (GOAL[rows], TASK[rows]))
    assert moved.estimate == pytest.approx(plain.estimate, rel=1e-12)
    assert moved.variance == pytest.approx(plain.variance, rel=1e-12)


@settings(deadline=None)
@given(st.integers(2, 5))
def test_duplicating_every_cluster_shrinks_the_variance(copies):
    """K copies of every cluster keep the mean; the variance falls by k(kG-1)/(k(G-1))."""
    once = variation(Y, (GOAL,))
    codes = np.concatenate([GOAL + 12 * copy for copy in range(copies)])
    many = variation(np.tile(Y, copies), (codes,))
    assert many.estimate == pytest.approx(once.estimate, rel=1e-12)
    assert many.variance == pytest.approx(once.variance * 11 / (12 * copies - 1), rel=1e-9)


def test_critical_values():
    """T at nine degrees of freedom is 2.262, the normal 1.960, and below one degree there is no bound."""
    assert t_quantile(0.95, 9) == pytest.approx(2.262157, abs=1e-6)
    assert t_quantile(0.95, None) == pytest.approx(1.959964, abs=1e-6)
    assert t_quantile(0.95, 0) == math.inf


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99, 0.999, 0.9999])
def test_t_of_many_df_is_that_of_scipy(level):
    """The expansion takes over at 1000 df without a step, and tends to the normal law."""
    for df in (999.0, 1000.0, 1000.5, 4321.0, 1e6, 1e12):
        assert t_quantile(level, df) == pytest.approx(t.ppf((1 + level) / 2, df), rel=2e-13)
    assert t_quantile(level, None) == pytest.approx(norm.isf((1 - level) / 2), rel=1e-15)
    assert t_quantile(level, 1e15) == pytest.approx(t_quantile(level, None), rel=1e-14)


def test_t_of_levels_next_to_one_is_finite():
    """They are read in the tail, where they are told apart: SciPy's quantile of (1 + level)/2 is off by 3e-9 there."""
    level = 1 - 2.0**-30
    tail = (1 - level) / 2
    assert 2 * norm.sf(t_quantile(level, None)) == pytest.approx(1 - level, rel=1e-12)
    assert t_quantile(level, 1e9) == pytest.approx(norm.isf(tail), rel=1e-7)
