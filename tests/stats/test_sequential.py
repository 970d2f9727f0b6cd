# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Confidence sequences: by hand, by brute force, and that they hold at all times where an interval of fixed n does not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from rollwise.errors import ArgumentError
from rollwise.stats.sequential import beta_binomial_sequence, empirical_bernstein_sequence, running_intersection

SIDES = ("both", "low", "high")


def evidence(p, successes, n, prior, side):
    """The mixture's likelihood ratio against p, by numerical integration of its definition."""
    lowest, highest = {"both": (0, 1), "high": (0, p), "low": (p, 1)}[side]
    weight = stats.beta(*prior)

    def ratio(q):
        return weight.pdf(q) * (q / p) ** successes * ((1 - q) / (1 - p)) ** (n - successes)

    peak = (prior[0] + successes) / (sum(prior) + n)  # near here lies nearly all of it
    total = integrate.quad(
        ratio, lowest, highest, limit=500, points=np.clip([peak - 0.1, peak, peak + 0.05], lowest, highest)
    )[0]
    return total / (weight.cdf(highest) - weight.cdf(lowest))


# ── shares ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("n", [1, 20, 500])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_by_hand_at_no_success(n, level):
    """With a uniform mixture and no success the set is (n+1)(1-p)^n > α, so its end is 1 - (α / (n+1))^(1/n)."""
    low, high = beta_binomial_sequence(0, n, level=level, prior=(1, 1))
    assert low == 0
    assert high == pytest.approx(1 - ((1 - level) / (n + 1)) ** (1 / n), rel=1e-12)
    mirrored = beta_binomial_sequence(n, n, level=level, prior=(1, 1))
    assert mirrored == (pytest.approx(1 - high), 1)


def test_by_hand_of_one_side():
    """With a uniform mixture over q < p and no success the ratio is (1-(1-p)^(n+1)) / ((n+1) p (1-p)^n)."""
    n = 40
    high = float(beta_binomial_sequence(0, n, prior=(1, 1), side="high")[1])
    assert (1 - (1 - high) ** (n + 1)) / ((n + 1) * high * (1 - high) ** n) == pytest.approx(20, rel=1e-9)


@pytest.mark.integration
@pytest.mark.parametrize("prior", [(0.5, 0.5), (1, 1), (2, 7)])
@pytest.mark.parametrize(("successes", "n"), [(0, 7), (1, 20), (30, 100), (99, 100), (5, 5)])
@pytest.mark.parametrize("side", SIDES)
def test_equals_the_definition(side, successes, n, prior):
    """Where an end lies inside 0 and 1, the mixture integrated numerically beats it by just 1/α."""
    low, high = beta_binomial_sequence(successes, n, level=0.9, prior=prior, side=side)
    if low > 0:
        assert evidence(float(low), successes, n, prior, side) == pytest.approx(10, rel=1e-4)
    if high < 1:
        assert evidence(float(high), successes, n, prior, side) == pytest.approx(10, rel=1e-4)


@pytest.mark.integration
@pytest.mark.parametrize("side", SIDES)
def test_equals_a_brute_force_grid(side):
    """The interval is all of the set {p : ratio < 1/α}: a fine grid has no member outside it and no gap inside."""
    rng = np.random.default_rng(5)
    grid = np.concatenate([np.geomspace(1e-8, 1e-3, 400), np.linspace(1e-3, 1 - 1e-9, 4000)])
    for _ in range(120):
        n = int(rng.integers(1, 4000))
        k, (a, b) = rng.binomial(n, rng.beta(0.4, 0.4)), rng.choice([0.2, 0.5, 1, 3], 2)
        ratio = special.betaln(a + k, b + n - k) - special.betaln(a, b)
        ratio = ratio - special.xlogy(k, grid) - special.xlog1py(n - k, -grid)
        if side != "both":
            part = special.betainc if side == "high" else special.betaincc
            with np.errstate(divide="ignore"):
                ratio += np.log(part(a + k, b + n - k, grid)) - np.log(part(a, b, grid))
        beyond = {"both": grid < 0, "high": grid < k / n, "low": grid > k / n}[side]  # the other way no p is ruled out
        low, high = beta_binomial_sequence(k, n, prior=(a, b), side=side)
        margin = 1e-9
        inside = (grid > low + margin) & (grid < high - margin)
        outside = (grid < low - margin) | (grid > high + margin)
        held = (ratio < np.log(20)) | beyond
        assert held[inside].all()
        assert not held[outside].any()


@pytest.mark.integration
@given(
    st.integers(1, 3000),
    st.floats(0, 1),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
    st.sampled_from([(0.5, 0.5), (1, 3)]),
)
def test_properties(n, share, level, prior):
    """Every sequence lies in [0, 1], holds the share, has width, mirrors itself, and widens with its level."""
    k = round(share * n)
    for side in SIDES:
        low, high = beta_binomial_sequence(k, n, level=level, prior=prior, side=side)
        assert 0 <= low <= k / n <= high <= 1
        assert low < high
        other = {"both": "both", "low": "high", "high": "low"}[side]
        mirrored = beta_binomial_sequence(n - k, n, level=level, prior=prior[::-1], side=other)
        assert mirrored == (pytest.approx(1 - high, abs=1e-9), pytest.approx(1 - low, abs=1e-9))
        wider = beta_binomial_sequence(k, n, level=(1 + level) / 2, prior=prior, side=side)
        assert wider[0] <= low
        assert wider[1] >= high


@pytest.mark.integration
@given(st.integers(1, 400))
def test_ends_move_with_the_successes(n):
    """One success more moves neither end down, whole or in part."""
    k = np.linspace(0, n, 4 * n + 1)
    for side in SIDES:
        for end in beta_binomial_sequence(k, np.full(k.shape, n), side=side):
            assert np.all(np.diff(end) >= -1e-10)


def test_never_narrower_than_one_look_needs():
    """Holding at all times costs width: the sequence holds Clopper and Pearson's interval, and shrinks to the share."""
    n = np.array([10, 100, 1000, 100_000])
    low, high = beta_binomial_sequence(n // 5, n)
    exact = special.betaincinv(n // 5, n - n // 5 + 1, 0.025), special.betaincinv(n // 5 + 1, n - n // 5, 0.975)
    assert np.all(low <= exact[0])
    assert np.all(high >= exact[1])
    assert high[-1] - low[-1] < 0.011


def test_nothing_seen_says_nothing():
    """Before the first observation everything is possible, and a stream may begin there."""
    for side in SIDES:
        assert beta_binomial_sequence(0, 0, side=side) == (0, 1)
        low, high = beta_binomial_sequence([0, 0, 1], [0, 1, 2], side=side)
        assert low.shape == high.shape == (3,)
        assert np.isfinite([low, high]).all()
    assert [end.shape for end in empirical_bernstein_sequence([])] == [(0,), (0,)]


def test_very_long_streams():
    """A hundred million observations neither overflow nor lose the share."""
    low, high = beta_binomial_sequence([10**7, 1, 10**8], [10**8] * 3)
    assert np.all(low < [0.1, 1e-8, 1])
    assert np.all(high > [0.1, 1e-8, 1 - 1e-9])
    assert np.all(high - low < 3e-4)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((2, 1), {}, "between 0 and n"),
        ((-1, 1), {}, "between 0 and n"),
        ((float("nan"), 1), {}, "between 0 and n"),
        ((0, 1), {"level": 1.0}, "level=1"),
        ((0, 1), {"prior": (0, 1)}, "prior"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, options, sentence):
    """More successes than trials, a level of 1 and an empty prior are refused in a sentence."""
    with pytest.raises(ArgumentError, match=sentence):
        beta_binomial_sequence(*arguments, **options)


# ── scores ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def one_after_another(values, level, most):
    """The empirical-Bernstein sequence of Theorem 2 written as a loop over observations."""
    needed, ends = np.log(2 / (1 - level)), []
    mean, variance, total, sum_bets, weighted, spent, squares = 0.5, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0
    for t, x in enumerate(values, 1):
        bet = min(most, np.sqrt(2 * needed / (variance * t * np.log(1 + t))))
        spent += 4 * (x - mean) ** 2 * (-np.log(1 - bet) - bet) / 4
        sum_bets, weighted, total = sum_bets + bet, weighted + bet * x, total + x
        mean = (0.5 + total) / (t + 1)
        squares += (x - mean) ** 2
        variance = (0.25 + squares) / (t + 1)
        margin = (needed + spent) / sum_bets
        ends.append((max(0, weighted / sum_bets - margin), min(1, weighted / sum_bets + margin)))
    return np.array(ends).T


@pytest.mark.integration
@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.sampled_from([0.8, 0.95]), st.sampled_from([0.5, 0.75]))
def test_equals_a_loop_over_observations(values, level, most):
    """All moments at once give what the definition gives one after another."""
    found = empirical_bernstein_sequence(values, level=level, most=most)
    assert np.array(found) == pytest.approx(one_after_another(values, level, most), abs=1e-9)


def test_by_hand_of_one_score():
    """One score of 1: bet ½, center 1, margin (log 40 + ¼(log 2 - ½)) / ½."""
    low, high = empirical_bernstein_sequence([1.0], level=0.95, side="both")
    assert (low[0], high[0]) == (0.0, 1.0)
    raw = 1 - (np.log(40) + 0.25 * (np.log(2) - 0.5)) / 0.5
    assert raw < 0
    low = empirical_bernstein_sequence(np.ones(40), level=0.95)[0]
    assert 0.5 < low[-1] < 1


def test_streams_side_by_side():
    """Rows are streams of their own."""
    values = np.random.default_rng(0).random((3, 50))
    together = empirical_bernstein_sequence(values)
    for row in range(3):
        assert np.array(together)[:, row] == pytest.approx(np.array(empirical_bernstein_sequence(values[row])))


def test_steady_scores_are_known_sooner():
    """Scores that vary little are known to within a fraction of what a share of the same mean would be."""
    rng = np.random.default_rng(2)
    low, high = empirical_bernstein_sequence(0.3 + rng.uniform(-0.02, 0.02, 500))
    share = beta_binomial_sequence(150, 500)
    assert high[-1] - low[-1] < (share[1] - share[0]) / 3


@pytest.mark.integration
@given(st.lists(st.floats(0, 1), min_size=1, max_size=80))
def test_one_side_is_nearer(values):
    """All of α at one end brings that end nearer, and leaves the other at its bound."""
    low, high = empirical_bernstein_sequence(values)
    below, above = (empirical_bernstein_sequence(values, side=side) for side in ("low", "high"))
    assert np.all(below[1] == 1)
    assert np.all(above[0] == 0)
    assert np.all(low <= high)
    assert above[1][0] <= high[0]
    assert below[0][0] >= low[0]


@pytest.mark.parametrize("values", [[0.5, 1.5], [-0.1], [float("nan")]])
def test_scores_outside_are_refused(values):
    """A score outside 0 and 1, or none, is refused in a sentence."""
    with pytest.raises(ArgumentError, match="within 0 and 1"):
        empirical_bernstein_sequence(values)


@pytest.mark.integration
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40))
def test_the_intersection_never_widens(ends):
    """It is what all intervals so far have in common."""
    low, high = np.array(ends).T
    inner = running_intersection(low, high)
    for t in range(len(ends)):
        assert inner[0][t] == low[: t + 1].max()
        assert inner[1][t] == high[: t + 1].min()


# ── coverage at all times ─────────────────────────────────────────────────────────────────────────────────────────────
def always(low, high, truth):
    """The share of streams whose intervals hold the truth at every moment."""
    return np.mean(np.all((low <= truth) & (truth <= high), axis=-1))


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
def test_a_share_is_held_at_all_times(covers, rate):
    """In .95 of streams the truth is never excluded by the sequence; a fixed-n interval excludes it in half of them."""
    streams, longest = 1500, 1500
    rng = np.random.default_rng(int(1000 * rate))
    hits = np.cumsum(rng.random((streams, longest)) < rate, axis=1).astype(float)
    n = np.broadcast_to(np.arange(1.0, longest + 1), hits.shape)
    held = always(*running_intersection(*beta_binomial_sequence(hits, n)), rate)
    assert covers(held * streams, streams, 0.95)
    z2 = special.ndtri(0.975) ** 2
    center, half = (hits + z2 / 2) / (n + z2), np.sqrt(z2 * (hits * (n - hits) / n + z2 / 4)) / (n + z2)
    fixed = always((center - half)[:, 9:], (center + half)[:, 9:], rate)  # Wilson's, looked at from ten on
    print(f"rate {rate}: sequence {held:.3f}, Wilson at every look {fixed:.3f}")  # noqa: T201
    assert fixed < 0.7
    assert held > fixed + 0.25


@pytest.mark.slow
@pytest.mark.parametrize("side", ["low", "high"])
@pytest.mark.parametrize("rate", [0.01, 0.1])
def test_one_side_is_held_at_all_times(covers, side, rate):
    """The one-sided end, on which all of α is spent, is passed in at most .05 of streams."""
    streams, longest = 500, 400
    rng = np.random.default_rng(int(1000 * rate))
    hits = np.cumsum(rng.random((streams, longest)) < rate, axis=1).astype(float)
    low, high = beta_binomial_sequence(hits, np.broadcast_to(np.arange(1.0, longest + 1), hits.shape), side=side)
    held = always(low, high, rate)
    print(f"{side} at rate {rate}: {held:.3f}")  # noqa: T201
    assert covers(held * streams, streams, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(0.2, 1.8), (2, 2), (20, 5)])
@pytest.mark.parametrize("side", SIDES)
def test_a_mean_score_is_held_at_all_times(covers, shape, side):
    """In .95 of streams of beta scores the mean is never excluded."""
    streams, longest = 1500, 1500
    values = np.random.default_rng(3).beta(*shape, (streams, longest))
    held = always(*empirical_bernstein_sequence(values, side=side), shape[0] / sum(shape))
    print(f"{shape} {side}: {held:.3f}")  # noqa: T201
    assert covers(held * streams, streams, 0.95)


@pytest.mark.slow
def test_scores_may_stand_for_successes(covers):
    """Sums of scores within 0 and 1 keep the share's sequence valid, if wide."""
    streams, longest = 800, 800
    hits = np.cumsum(np.random.default_rng(4).beta(0.2, 1.8, (streams, longest)), axis=1)
    n = np.broadcast_to(np.arange(1.0, longest + 1), hits.shape)
    assert covers(always(*beta_binomial_sequence(hits, n), 0.1) * streams, streams, 0.95)
