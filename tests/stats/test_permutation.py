# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Tests by re-randomization, against full enumeration and scipy; and their level under no difference."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulations import repeated

from rollwise.stats import permutation
from rollwise.stats.permutation import label_permutation, max_t, sign_flip


def rng(seed=0):
    return np.random.default_rng(seed)


def mid_p(statistics, observed, *, lattice):
    """Those beyond the observed one and half of the ties; without a lattice the observed one and its mirror image in full."""
    statistics = np.asarray(statistics)
    beyond, ties = (statistics > observed + 1e-9).sum(), (np.abs(statistics - observed) <= 1e-9).sum()
    in_full = 0 if lattice else min(2, ties)
    return 1.0 if observed <= 1e-9 else (beyond + in_full + (ties - in_full) / 2) / statistics.size


@pytest.mark.integration
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9), st.booleans())
def test_sign_flips_are_enumerated(values, lattice):
    """Up to 20 differences: the share of all nonzero sign vectors whose mean is further from 0, and half of those as far."""
    d = np.array(values, dtype=float)
    nonzero = d[d != 0]
    means = [abs(np.dot(signs, nonzero)) for signs in product((-1, 1), repeat=nonzero.size)]
    result = sign_flip(d, rng=rng(), resamples=100, lattice=lattice)
    assert result.p_value == pytest.approx(mid_p(means, abs(d.sum()), lattice=lattice))
    assert result.resamples is None


def test_ties_by_hand():
    """Five equal differences: two of 32 sign vectors are as far from 0, in full for numbers and by half for rates."""
    d = np.full(5, 1 / 3)
    assert sign_flip(d, rng=rng(), resamples=1).p_value == 2 / 32
    assert sign_flip(d, rng=rng(), resamples=1, lattice=True).p_value == 1 / 32
    # With one of opposite sign, 2 vectors are further and 10 as far: 2 + 2 + 8/2 or 2 + 10/2 of 32.
    d[0] *= -1
    assert sign_flip(d, rng=rng(), resamples=1).p_value == 8 / 32
    assert sign_flip(d, rng=rng(), resamples=1, lattice=True).p_value == 7 / 32


@pytest.mark.integration
def test_twenty_differences_are_all_looked_at():
    """As the sums of all 2²⁰ sign vectors say, of numbers and of shares with ties."""
    for d in (rng(1).normal(0.3, 1, 20), rng(2).integers(-3, 5, 20) / 4, np.r_[np.ones(10), -np.ones(10)]):
        sums = np.zeros(1)
        for value in d[d != 0]:
            sums = np.concatenate([sums + value, sums - value])
        for lattice in (False, True):
            expected = mid_p(np.abs(sums), abs(d.sum()), lattice=lattice)
            assert sign_flip(d, rng=rng(), resamples=100, lattice=lattice).p_value == pytest.approx(expected, rel=1e-12)


def test_what_was_drawn_is_drawn_once():
    """Generators in the same state give the same p-value and are left in the same state, whatever was drawn in between."""
    d, sums = rng(1).normal(0.2, 1, 40), rng(2).normal(0, 1, 30)

    def found(seed, first):
        flips, labels = rng(seed), rng(seed)
        p = (
            sign_flip(d, rng=flips, resamples=5000),
            label_permutation(sums, np.ones(30), first, rng=labels, resamples=5000),
        )
        return *p, str(flips.bit_generator.state), str(labels.bit_generator.state)

    for first in (np.arange(12), np.arange(15)):
        permutation._labelings.clear()
        fresh = [found(1, first), found(2, first)]
        assert [found(1, first), found(2, first)] == fresh
        assert fresh[0] != fresh[1]


def test_sign_flips_equal_scipy():
    """The exact test of scipy for paired samples, and its Monte Carlo for more of them."""
    d = rng(1).normal(0.4, 1, 12)
    oracle = stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(d, rng=rng(), resamples=100).p_value == pytest.approx(oracle.pvalue)
    many = rng(2).normal(0.15, 1, 200)
    made = sign_flip(many, rng=rng(), resamples=20_000)
    assert made.method == "sign flips"
    assert made.p_value == pytest.approx(stats.ttest_1samp(many, 0).pvalue, abs=0.01)


def test_never_zero():
    """However far apart: (b + 1)/(B + 1), never 0 (Phipson & Smyth); no difference at all: p = 1."""
    assert sign_flip(np.full(50, 3.0), rng=rng(), resamples=999).p_value == 1 / 1000
    apart = label_permutation(np.r_[np.zeros(15), np.ones(15)], np.ones(30), np.arange(15), rng=rng(), resamples=999)
    assert apart.p_value == 1 / 1000
    assert sign_flip(np.zeros(50), rng=rng(), resamples=999).p_value == 1.0
    assert label_permutation(np.ones(30), np.ones(30), np.arange(15), rng=rng(), resamples=999).p_value == 1.0
    assert max_t([np.full(12, 2.0)], [np.arange(12)], rng=rng(), resamples=999, level=0.95).p_adjusted[0] <= 2 / 1000


@pytest.mark.integration
def test_labels_against_enumeration(monkeypatch):
    """Ten clusters in two groups of five: the share of all 252 relabelings with the studentized statistic, and drawn near it."""
    values = rng(3).gamma(2.0, 1.0, 10) + np.r_[np.zeros(5), np.full(5, 0.8)]

    def welch(chosen):
        rest = np.setdiff1d(np.arange(10), chosen)
        return abs(stats.ttest_ind(values[list(chosen)], values[rest], equal_var=False).statistic)

    observed = welch((0, 1, 2, 3, 4))
    exact = np.mean([welch(chosen) >= observed - 1e-9 for chosen in combinations(range(10), 5)])
    assert label_permutation(values, np.ones(10), np.arange(5), rng=rng(), resamples=1) == (
        pytest.approx(exact, abs=1e-12),
        "exact label permutation",
        None,
    )
    oracle = stats.permutation_test(
        (values[:5], values[5:]),
        lambda one, other, axis: np.abs(stats.ttest_ind(one, other, axis=axis, equal_var=False).statistic),
        permutation_type="independent",
        alternative="greater",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert oracle.pvalue == pytest.approx(exact, abs=1e-12)
    monkeypatch.setattr(permutation, "MOST_RELABELED", 251)
    made = label_permutation(values, np.ones(10), np.arange(5), rng=rng(), resamples=20_000)
    assert made.p_value == pytest.approx(exact, abs=0.012)


@pytest.mark.integration
@pytest.mark.parametrize(("one", "other"), [(2, 2), (3, 9), (9, 3), (8, 8), (2, 250)])
def test_all_relabelings_take_no_draws(one, other):
    """The group named first does not matter, nor the seed, and the labels that are there are one of all."""
    values = rng(6).normal(0, 1, one + other)
    weights = rng(7).integers(1, 5, one + other).astype(float)
    found = [
        label_permutation(values * weights, weights, first, rng=rng(seed), resamples=99)
        for seed, first in enumerate((np.arange(one), np.arange(one, one + other)))
    ]
    assert found[0].method == found[1].method == "exact label permutation"
    assert found[0].p_value == pytest.approx(found[1].p_value)
    every = math.comb(one + other, one)
    assert found[0].p_value * every == pytest.approx(round(found[0].p_value * every))
    assert found[0].p_value * every >= 1


def test_whole_clusters_are_relabeled():
    """Twenty copies of a rollout are one cluster: the p-value is that of the clusters, not of 200 rollouts."""
    means = rng(4).normal(0, 1, 10) + np.r_[np.zeros(5), np.ones(5)]
    clustered = label_permutation(20 * means, np.full(10, 20.0), np.arange(5), rng=rng(), resamples=5000)
    alone = label_permutation(np.repeat(means, 20), np.ones(200), np.arange(100), rng=rng(), resamples=5000)
    assert clustered.p_value > 0.02
    assert alone.p_value < clustered.p_value / 3


def test_max_t_of_one_is_the_sign_flip():
    """A family of one has the p-value of its own sign flips; copies of one comparison cost nothing."""
    d = rng(5).normal(0.5, 1, 30)
    alone = sign_flip(d, rng=rng(), resamples=20_000).p_value
    goals = np.arange(30)
    once = max_t([d], [goals], rng=rng(), resamples=20_000, level=0.95)
    assert once.p_adjusted[0] == pytest.approx(alone, abs=0.006)
    assert once.critical == pytest.approx(stats.t.ppf(0.975, 29), rel=0.05)
    thrice = max_t([d, d, -d], [goals] * 3, rng=rng(), resamples=20_000, level=0.95)
    assert thrice.p_adjusted == pytest.approx(once.p_adjusted[0])


def test_max_t_of_independent_comparisons_is_like_sidak():
    """Five comparisons over goals of their own: the critical value of the largest of five |t|."""
    parts = [rng(seed).normal(0, 1, 60) for seed in range(5)]
    goals = [np.arange(60) + 60 * number for number in range(5)]
    found = max_t(parts, goals, rng=rng(), resamples=20_000, level=0.95)
    assert found.critical == pytest.approx(stats.t.ppf(1 - (1 - 0.95 ** (1 / 5)) / 2, 59), rel=0.04)
    raw = [sign_flip(part, rng=rng(), resamples=5000).p_value for part in parts]
    assert (found.p_adjusted >= np.array(raw) - 0.01).all()


def _largest_of_all_signs(table):
    """|t| of each column as observed (K,), and the largest of them under each of all 2ᴳ sign vectors; NaN for no difference."""
    every = np.array(list(product((-1, 1), repeat=len(table))))
    t = np.abs(stats.ttest_1samp(every[:, :, None] * table, 0, axis=1, nan_policy="omit").statistic)
    return np.abs(stats.ttest_1samp(table, 0, axis=0, nan_policy="omit").statistic), np.asarray(t).max(axis=1)


@pytest.mark.integration
@pytest.mark.parametrize("missing", [False, True])
def test_max_t_against_all_sign_vectors(missing):
    """Three comparisons over eight goals, the second without two of them: the share of all 256 sign vectors, but for chance."""
    table = rng(8).normal(0, 1, (8, 1)) + rng(9).normal(0, 1, (8, 3)) + np.array([0.1, 1.2, 0.6])
    if missing:
        table[[2, 5], 1] = np.nan
    there = [np.flatnonzero(~np.isnan(column)) for column in table.T]
    observed, largest = _largest_of_all_signs(table)
    exact = (largest[:, None] >= observed - 1e-9).mean(axis=0)
    found = max_t([table[goals, k] for k, goals in enumerate(there)], there, rng=rng(), resamples=40_000, level=0.95)
    assert (np.abs(found.p_adjusted - exact) < 4 * np.sqrt(exact * (1 - exact) / 40_000) + 1 / 40_000).all()
    assert len(set(exact)) == 3
    low, high = np.quantile(largest, [0.94, 0.96], method="higher")
    assert low <= found.critical <= high


def test_no_difference_has_no_small_p_value():
    """Differences that add up to 0 reach any other comparison's largest t only by rounding: p is 1, as it is alone."""
    d = np.array([0.0, 0.0, 0.0, 2.0, 3.0, -2.0, 0.0, -3.0])
    found = max_t([np.zeros(8), d], [np.arange(8)] * 2, rng=rng(), resamples=999, level=0.95)
    assert found.p_adjusted.tolist() == [1.0, 1.0]
    fifths = np.array([0.2, -0.4, 0.6, -0.2, -0.6, 0.4, 0.8, -0.8])
    both = max_t([fifths, fifths[::-1] + 0.5], [np.arange(8)] * 2, rng=rng(), resamples=999, level=0.95)
    assert both.p_adjusted[0] == 1.0
    assert both.p_adjusted[1] < 1


TEN = st.lists(st.integers(-4, 4), min_size=10, max_size=10)
FAMILIES = st.tuples(st.integers(2, 10), st.lists(TEN, min_size=2, max_size=5))


@pytest.mark.integration
@given(FAMILIES, st.randoms())
def test_more_comparisons_only_raise_a_p_value(family, random):
    """By the same signs: at least that of the comparison alone; in any order, and with the arms swapped, the same."""
    goals, columns = np.arange(family[0]), family[1]
    parts = [np.array(column[: goals.size], dtype=float) for column in columns]

    def joint(some):
        return max_t(some, [goals] * len(some), rng=rng(), resamples=199, level=0.9)

    found, order = joint(parts), random.sample(range(len(parts)), len(parts))
    alone = [joint([part]) for part in parts]
    assert (found.p_adjusted >= [one.p_adjusted[0] for one in alone]).all()
    assert found.critical >= max(one.critical for one in alone) * (1 - 1e-9)
    assert ((found.p_adjusted > 0) & (found.p_adjusted <= 1)).all()
    shuffled = joint([-parts[k] for k in order])
    assert shuffled.p_adjusted.tolist() == found.p_adjusted[order].tolist()
    assert shuffled.critical == pytest.approx(found.critical)


@pytest.mark.slow
@pytest.mark.parametrize(("goals", "exactly"), [(8, 12 / 256), (40, 0.05)])
@pytest.mark.parametrize("spread", ["alike", "unlike"])
def test_sign_flips_keep_their_level_whatever_the_tails(goals, exactly, spread, record_property):
    """Differences of two lognormals, goals alike or not: 12 of 256 sign vectors at most reach .05, of drawn ones 1 in 20."""
    generator, repetitions = rng(goals + 1), repeated(10_000 if goals > 20 else 40_000)
    scale = np.geomspace(0.1, 10, goals) if spread == "unlike" else np.ones(goals)
    one, other = generator.lognormal(0, 1, (2, repetitions, goals))
    rejected = [sign_flip(d * scale, rng=generator, resamples=399).p_value <= 0.05 for d in one - other]
    record_property("rejected", float(np.mean(rejected)))
    assert np.mean(rejected) == pytest.approx(exactly, abs=2.6 * np.sqrt(exactly * (1 - exactly) / repetitions))


@pytest.mark.slow
@pytest.mark.parametrize("goals", [12, 40])
def test_simultaneous_intervals_hold_all_differences_at_once(goals, covers, record_property):
    """Four comparisons with one baseline, two of them different from it: all four intervals hold in .95 of families."""
    generator, repetitions, hits = rng(goals), repeated(1500), 0
    truth = np.array([0.0, 0.0, 0.5, 1.0])
    for _ in range(repetitions):
        table = truth + generator.normal(0, 1, (goals, 4)) - generator.normal(0, 1, (goals, 1))
        found = max_t(list(table.T), [np.arange(goals)] * 4, rng=generator, resamples=399, level=0.95)
        t = np.abs(table.mean(axis=0) - truth) / (table.std(axis=0, ddof=1) / np.sqrt(goals))
        hits += t.max() <= found.critical
    record_property("coverage", hits / repetitions)
    assert covers(hits, repetitions, 0.95)


@pytest.mark.slow
def test_level_under_no_difference(record_property):
    """No difference, at 5 %: max-T rejects 5 % of families; labels of unequal spread and sizes, where 5 % is a limit, at most 6 %.

    Each bar is the level and two Monte Carlo errors.
    """
    repetitions, generator = repeated(3000), rng(0)
    labels = families = 0
    for _ in range(repetitions):
        values = np.r_[generator.normal(0, 3, 15), generator.normal(0, 1, 40)]
        labels += label_permutation(values, np.ones(55), np.arange(15), rng=generator, resamples=399).p_value <= 0.05
        shared = generator.normal(0, 1, 40)
        parts = [shared + generator.normal(0, 1, 40) for _ in range(4)]
        families += max_t(parts, [np.arange(40)] * 4, rng=generator, resamples=399, level=0.95).p_adjusted.min() <= 0.05
    record_property("rejected", {"labels": labels / repetitions, "families": families / repetitions})
    for rejected, level in ((labels, 0.06), (families, 0.05)):
        assert rejected / repetitions <= level + 2 * math.sqrt(level * (1 - level) / repetitions)


@pytest.mark.slow
@pytest.mark.parametrize("goals", [8, 12, 20])
@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_level_and_power_of_rates(goals, rate):
    """Paired rates over three attempts: at most .055 at a nominal .05, and a power within .03 of t's from twelve goals on."""
    random, repetitions, rejected, found, found_by_t = rng(20), repeated(2000), 0, 0, 0
    for _ in range(repetitions):
        chances = random.beta(rate * 7 / 3, (1 - rate) * 7 / 3, goals)
        first, second, other = (random.binomial(3, p) / 3 for p in (chances, chances, np.clip(chances + 0.25, 0, 1)))
        rejected += sign_flip(second - first, rng=random, resamples=999, lattice=True).p_value < 0.05
        found += sign_flip(other - first, rng=random, resamples=999, lattice=True).p_value < 0.05
        difference = other - first
        found_by_t += bool(difference.std() > 0) and stats.ttest_1samp(difference, 0).pvalue < 0.05
    noise = 2.5 * np.sqrt(0.25 / repetitions)
    assert rejected / repetitions <= 0.055 + 2.5 * np.sqrt(0.05 * 0.95 / repetitions)
    if goals >= 12:
        assert found / repetitions >= found_by_t / repetitions - 0.03 - noise
