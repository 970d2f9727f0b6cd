# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Pairs of 0/1 outcomes: published intervals, McNemar's mid-p, and no interval of zero width."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm
from simulations import repeated
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep

from rollwise.stats.intervals import wilson
from rollwise.stats.pairs import bonett_price, mcnemar_mid_p, newcombe, score_difference

CELLS = st.tuples(*[st.integers(0, 40)] * 4).filter(lambda cells: sum(cells) > 0)


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [((36, 12, 2, 0), 0.0569, 0.3404), ((59, 6, 16, 80), -0.1186, -0.0046)],
)
def test_newcombe_published(cells, low, high):
    """Newcombe's own example of his method 10, and that of Fagerland et al. (Cavo et al., 2012; R contingencytables)."""
    assert newcombe(*cells) == pytest.approx((low, high), abs=6e-5)


def test_no_discordant_pair_by_hand():
    """54 pairs that all succeed twice: Wilson's lower end is n/(n + z²) on both sides, and nothing correlates."""
    reach = 1 - 54 / (54 + norm.ppf(0.975) ** 2)
    assert newcombe(54, 0, 0, 0) == pytest.approx((-reach, reach))


def test_independent_shares_equal_statsmodels():
    """Without correlation it is Newcombe's hybrid score interval for independent samples."""
    oracle = confint_proportions_2indep(56, 70, 48, 80, method="newcomb", compare="diff")
    assert score_difference((0.8, *wilson(56, 70)), (0.6, *wilson(48, 80))) == pytest.approx(oracle, abs=1e-9)


def test_bonett_price_by_hand():
    """100 pairs, 20 against 5: (21 - 6)/102 ± 1.96·√((27/102 - (15/102)²)/102)."""
    half = norm.ppf(0.975) * math.sqrt((27 / 102 - (15 / 102) ** 2) / 102)
    assert bonett_price(100, 20, 5) == pytest.approx((15 / 102 - half, 15 / 102 + half))


@pytest.mark.integration
@given(st.integers(0, 60), st.integers(0, 60))
def test_mid_p_is_the_exact_p_less_half_the_table(b, c):
    """Exact McNemar (statsmodels) minus the probability of the table itself; 1 without a discordant pair."""
    made = mcnemar_mid_p(b, c)
    assert 0 < made <= 1
    if b + c:
        exact = 2 * binomtest(min(b, c), b + c, 0.5, alternative="less").pvalue
        here = math.comb(b + c, b) / 2 ** (b + c)
        assert made == pytest.approx(min(1.0, exact - here), rel=1e-9)
        assert mcnemar([[0, b], [c, 0]], exact=True).pvalue == pytest.approx(min(1.0, exact), rel=1e-9)
    else:
        assert made == 1.0


@pytest.mark.integration
def test_mid_p_keeps_its_level_for_any_number_of_pairs():
    """Every table of 5 to 60 pairs without a difference, by its probability: .05 at most, and more of it used than by the exact p.

    Pairs of equal shares that are independent or alike are discordant half of the time at most (2p(1-p)); where nearly all are
    discordant the mid-p test exceeds its level, as it may: .077 of 16 discordant pairs of 16.
    """
    sizes, shares = range(5, 61), np.arange(1, 8) / 10
    rejected = {"mid-p": np.zeros(61), "exact": np.zeros(61)}
    for n in range(1, 61):
        ahead = np.arange(n + 1)
        chance = binom.pmf(ahead, n, 0.5)
        mid = np.array([mcnemar_mid_p(b, n - b) for b in range(n + 1)])
        rejected["mid-p"][n] = chance[mid <= 0.05].sum()
        rejected["exact"][n] = chance[2 * binom.cdf(np.minimum(ahead, n - ahead), n, 0.5) <= 0.05].sum()
    level = {
        name: np.array([[binom.pmf(np.arange(n + 1), n, q) @ part[: n + 1] for q in shares] for n in sizes])
        for name, part in rejected.items()
    }
    assert level["mid-p"].max() <= 0.05
    assert (level["mid-p"] >= level["exact"]).all()
    assert (level["mid-p"][-1] > 1.2 * level["exact"][-1]).all()


@pytest.mark.integration
@given(CELLS, st.sampled_from([0.5, 0.9, 0.99]))
def test_intervals_hold_the_difference_and_have_width(cells, level):
    """Whatever the table, Newcombe's interval has width, lies in [-1, 1], holds the difference, and mirrors."""
    both, ahead, behind, neither = cells
    low, high = newcombe(*cells, level=level)
    difference = (ahead - behind) / sum(cells)
    assert -1 <= low <= difference <= high <= 1
    assert high - low > 1e-6
    assert newcombe(both, behind, ahead, neither, level=level) == pytest.approx((-high, -low))
    adjusted = bonett_price(sum(cells), ahead, behind, level=level)
    assert adjusted[0] < adjusted[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "p", "q", "shared"), [(50, 0.1, 0.05, 0.0), (50, 0.1, 0.1, 0.6), (30, 0.02, 0.02, 0.3), (100, 0.5, 0.4, 0.5)]
)
def test_coverage(n, p, q, shared, covers, record_property):
    """Pairs that share their goal's luck: Newcombe and Bonett-Price cover at least .94."""
    rng, repetitions = np.random.default_rng(n), repeated(3000)
    hits = {"newcombe": 0, "bonett-price": 0}
    for _ in range(repetitions):
        luck = rng.random(n)
        one = np.where(rng.random(n) < shared, luck, rng.random(n)) < p
        other = np.where(rng.random(n) < shared, luck, rng.random(n)) < q
        cells = [int(cell.sum()) for cell in (one & other, one & ~other, ~one & other, ~one & ~other)]
        for name, ends in (("newcombe", newcombe(*cells)), ("bonett-price", bonett_price(n, cells[1], cells[2]))):
            hits[name] += ends[0] <= p - q <= ends[1]
    record_property("coverage", {name: count / repetitions for name, count in hits.items()})
    for name, count in hits.items():
        assert covers(count, repetitions, 0.94), name
