# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""The bound of a gate: never below the interval's own end, and never lowered by one more success."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, norm
from simulations import repeated

from rollwise.stats.intervals import exact, outer_ends, wilson
from rollwise.stats.proportion import proportion
from rollwise.stats.release import clusters_to_decide, lower_end, upper_end
from rollwise.stats.sizes import goals_for_gate


def goals(successes, sizes):
    """0/1 values and codes of goals with these successes of these sizes."""
    values = np.concatenate([np.r_[np.ones(c), np.zeros(n - c)] for c, n in zip(successes, sizes, strict=True)])
    return values, (np.repeat(np.arange(len(sizes)), sizes),)


def test_the_step_at_no_success():
    """0 of 500 in 50 goals has the upper end .0747 and 1 of 500 .0351: the bound stays at .0747 until the end is above it."""
    sizes = [10] * 50
    ends = [proportion(*goals([1] * s + [0] * (50 - s), sizes)).high for s in range(8)]
    assert ends[:2] == pytest.approx([0.0747, 0.0351], abs=5e-5)
    bounds = [upper_end(*goals([1] * s + [0] * (50 - s), sizes)) for s in range(8)]
    assert bounds[:2] == [ends[0], ends[0]]
    assert bounds == sorted(bounds)


@st.composite
def one_more(draw):
    sizes = draw(st.lists(st.integers(1, 8), min_size=2, max_size=12))
    before = [draw(st.integers(0, n)) for n in sizes]
    free = [g for g, n in enumerate(sizes) if before[g] < n]
    if not free:
        before[0] -= 1
        free = [0]
    which = draw(st.sampled_from(free))
    return sizes, before, [c + (g == which) for g, c in enumerate(before)]


@pytest.mark.integration
@settings(max_examples=300)
@given(one_more())
def test_one_more_success_never_lowers_the_bound(drawn):
    """Whatever the goals and their sizes, and wherever the success is added; the lower bound likewise."""
    sizes, before, after = drawn
    assert upper_end(*goals(after, sizes)) >= upper_end(*goals(before, sizes)) - 1e-12
    assert lower_end(*goals(after, sizes)) >= lower_end(*goals(before, sizes)) - 1e-12


@pytest.mark.integration
@given(one_more())
def test_the_bound_holds_the_interval(drawn):
    """The bound is at least the interval's own end, and that of every choice of fewer successes."""
    sizes, _, successes = drawn
    values, clusters = goals(successes, sizes)
    share = proportion(values, clusters)
    assert upper_end(values, clusters) >= share.high - 1e-12
    assert lower_end(values, clusters) <= share.low + 1e-12  # 1 - (1 - x) rounds
    if len(sizes) <= 3:
        fewer = (proportion(*goals(kept, sizes)).high for kept in product(*(range(c + 1) for c in successes)))
        assert upper_end(values, clusters) >= max(fewer) - 1e-12


def test_independent_rollouts_have_the_outer_end():
    """Without clusters both upper ends rise with every success, and the bound is the larger: Clopper and Pearson's, by scipy.

    At none of many rollouts Wilson's is: z²/(n + z²) = .0074 for 500, and 1 - .025^(1/500) = .0073.
    """
    for c in (0, 1, 7, 20):
        values = np.r_[np.ones(c), np.zeros(20 - c)]
        expected = beta.ppf(0.975, c + 1, 20 - c) if c < 20 else 1.0
        assert upper_end(values, ()) == pytest.approx(expected)
        assert lower_end(1 - values, ()) == pytest.approx(1 - expected)
    assert upper_end(np.zeros(500), ()) == wilson(0, 500)[1] > exact(0, 500)[1]


THRESHOLDS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.9, 0.95, 0.99, 0.999)


def wrong(ends, n, rate):
    """The probabilities that either end excludes the rate, over all numbers of successes."""
    low, high = (np.array([ends(k, n)[side] for k in range(n + 1)]) for side in (0, 1))
    chances = binom.pmf(np.arange(n + 1), n, rate)
    return chances[low > rate].sum(), chances[high < rate].sum()


@pytest.mark.integration
def test_an_end_excludes_the_truth_in_one_of_forty_at_most():
    """Every number of goals up to 100 and sixteen rates, all outcomes enumerated; Wilson's would in up to .2.

    By hand: one success of 17 has the lower end 1 - .975^(1/17) = .0015, Wilson's is .0105, and 1 - .99^17 = .157 of runs have one.
    """
    worst = max(
        max(wrong(outer_ends, n, rate)) for n in (*range(1, 21), 25, 36, 50, 73, 84, 100) for rate in THRESHOLDS
    )
    assert worst <= 0.025
    assert outer_ends(1, 17)[0] == pytest.approx(1 - 0.975 ** (1 / 17))
    assert wrong(wilson, 17, 0.01)[0] == pytest.approx(1 - 0.99**17)
    assert wrong(wilson, 1, 0.2)[0] == pytest.approx(0.2)


@pytest.mark.slow
def test_an_end_excludes_the_truth_in_one_of_forty_at_most_for_every_number():
    """The same for all numbers of goals from 1 to 100."""
    assert max(max(wrong(outer_ends, n, rate)) for n in range(1, 101) for rate in THRESHOLDS) <= 0.025


def test_edges():
    """One goal and nothing at all have no bound; two crossed ways compare none and all."""
    assert upper_end(np.zeros(3), (np.zeros(3, int),)) is None
    assert upper_end([], ()) is None
    one = np.eye(1, 36)[0]
    crossed = (np.repeat(np.arange(6), 6), np.tile(np.arange(6), 6))
    # Without a success the effective size is the number of units: exact 1 - .025^(1/6) = .459, Wilson's with t .524.
    assert upper_end(one, crossed) == proportion(np.zeros(36), crossed).high > 1 - 0.025 ** (1 / 6)


@pytest.mark.parametrize("repeated_goals", [True, False])
def test_the_clusters_that_decide(repeated_goals):
    """Without a success as many as `plan` says; above the threshold as below it; none at it; and one fewer does not do."""
    assert clusters_to_decide(0, 0.02, 1.0, repeated=repeated_goals) == goals_for_gate(
        0.02, level=0.95, repeated=repeated_goals
    )
    options = {"level": 0.9, "power": 0.7, "repeated": repeated_goals}
    count = clusters_to_decide(0.05, 0.1, 2.0, **options)
    assert count == clusters_to_decide(0.95, 0.9, 2.0, **options)
    assert clusters_to_decide(0.1, 0.1, 2.0) is None
    ends = []
    for clusters in (count - 1, count):
        n = 2 * clusters
        observed = 0.05 + norm.ppf(0.7) * np.sqrt(0.05 * 0.95 / n)
        df = clusters - 1 if repeated_goals else None
        ends.append(max(wilson(observed * n, n, level=0.9, df=df)[1], exact(observed * n, n, level=0.9)[1]))
    assert ends[1] < 0.1 <= ends[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "size", "rate", "icc"), [(50, 10, 0.2, 0.3), (100, 5, 0.05, 0.1), (100, 10, 0.1, 0.3)]
)
def test_a_gate_at_the_truth_passes_wrongly_no_more_than_said(clusters, size, rate, icc, beta_binomial):
    """A rate that is just what must not be reached passes in one of forty draws at most, as a two-sided 95 % end promises."""
    rng, repetitions, passed = np.random.default_rng(8), repeated(1000), 0
    for _ in range(repetitions):
        values, codes = beta_binomial(rng, clusters, size, rate, icc)
        passed += upper_end(values, (codes,)) < rate
    assert passed / repetitions <= 0.025 + 2 * np.sqrt(0.025 * 0.975 / repetitions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "size", "rate", "icc"),
    [(20, 5, 0.002, 0.3), (50, 10, 0.002, 0.3), (200, 5, 0.002, 0.1), (20, 5, 0.01, 0.3), (200, 5, 0.01, 0.1),
     (400, 5, 0.02, 0.3)],
)  # fmt: skip
def test_a_gate_at_a_rare_truth_passes_wrongly_no_more_than_said(
    clusters, size, rate, icc, beta_binomial, record_property
):
    """100 to 2,000 rollouts that mostly show no success at all: still one of forty draws at most, where a zero width passes all."""
    rng, repetitions, passed = np.random.default_rng(9), repeated(1500), 0
    for _ in range(repetitions):
        values, codes = beta_binomial(rng, clusters, size, rate, icc)
        passed += upper_end(values, (codes,)) < rate
    record_property("passed", passed / repetitions)
    assert passed / repetitions <= 0.025 + 2 * np.sqrt(0.025 * 0.975 / repetitions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "size", "rate", "icc"),
    [(17, 3, 0.01, 0.3), (40, 10, 0.01, 0.3), (200, 3, 0.01, 0.3), (20, 5, 0.05, 0.5)],
)
def test_a_gate_at_a_rare_truth_fails_wrongly_no_more_than_said(
    clusters, size, rate, icc, beta_binomial, record_property
):
    """Few goals at a small threshold, where one success of Wilson's end failed up to .2 of runs: one of forty at most."""
    rng, repetitions, failed = np.random.default_rng(11), repeated(1500), 0
    for _ in range(repetitions):
        values, codes = beta_binomial(rng, clusters, size, rate, icc)
        failed += lower_end(values, (codes,)) > rate
    record_property("failed", failed / repetitions)
    assert failed / repetitions <= 0.025 + 2 * np.sqrt(0.025 * 0.975 / repetitions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "size", "rate", "icc", "unequal"),
    [(20, 5, 0.5, 0.3, False), (50, 10, 0.8, 0.3, False), (50, 5, 0.9, 0.3, True), (100, 5, 0.95, 0.1, False),
     (100, 10, 0.3, 0.5, True)],
)  # fmt: skip
def test_the_lower_end_passes_wrongly_no_more_than_said(
    clusters, size, rate, icc, unequal, beta_binomial, record_property
):
    """A share that is just what must be exceeded, of goals of one size or of many: one of forty draws at most."""
    rng, repetitions, passed = np.random.default_rng(10), repeated(2000), 0
    for _ in range(repetitions):
        values, codes = beta_binomial(rng, clusters, size, rate, icc, unequal=unequal)
        passed += lower_end(values, (codes,)) > rate
    record_property("passed", passed / repetitions)
    assert passed / repetitions <= 0.025 + 2 * np.sqrt(0.025 * 0.975 / repetitions)
