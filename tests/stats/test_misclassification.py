# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Rates corrected for a judge's errors: by hand, as asht does, at every edge, and the coverage that others lack."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from simulations import repeated

from rollwise.errors import ArgumentError
from rollwise.stats.intervals import exact, wilson
from rollwise.stats.misclassification import (
    Share,
    accuracy,
    corrected_share,
    lang_reiczigel,
    rogan_gladen,
    share,
    uninformative,
)
from rollwise.stats.proportion import proportion


def counted(successes, n):
    """So many successes among independent rollouts."""
    return Share(estimate=successes / n if n else math.nan, size=n, n=n, n_clusters=n, design_effect=1.0)


def as_asht_does(k, n, right, positives, kept, negatives, z=1.959963984540054):
    """`prevSeSp` of the R package asht, line by line, from counts."""
    n_se, n_sp = positives + 2, negatives + 2
    se, sp = (right + 1) / n_se, (kept + 1) / n_sp
    n_p = n + z**2
    p = (k + z**2 / 2) / n_p
    true = (p + sp - 1) / (se + sp - 1)
    shift = 2 * z**2 * (true * se * (1 - se) / n_se - (1 - true) * sp * (1 - sp) / n_sp)
    variance = p * (1 - p) / n_p + true**2 * se * (1 - se) / n_se + (1 - true) ** 2 * sp * (1 - sp) / n_sp
    half = z * math.sqrt(variance) / (se + sp - 1)
    return max(0.0, true + shift - half), min(1.0, true + shift + half)


# ── by hand ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_rogan_gladen_by_hand():
    """40 of 100 judged, Se .60, Sp .95: (.40 + .95 - 1) / .55 = .636, the case in which garak printed 40 % (trap T1)."""
    assert rogan_gladen(0.40, 0.60, 0.95) == pytest.approx(0.35 / 0.55)
    assert rogan_gladen(0.02, 0.85, 0.95) == 0.0
    assert rogan_gladen(0.95, 0.85, 0.95) == 1.0


@pytest.mark.parametrize(
    "counts",
    [(3, 263, 88, 89, 132, 134), (40, 100, 30, 50, 95, 100), (0, 20, 10, 10, 10, 10), (65, 500, 43, 50, 48, 50)],
)
def test_the_interval_is_asht_s(counts):
    """Lang and Reiczigel's interval as the R package asht writes it, to the last digits."""
    k, n, right, positives, kept, negatives = counts
    ours = lang_reiczigel(counted(k, n), counted(right, positives), counted(kept, negatives))
    assert ours == pytest.approx(as_asht_does(*counts), abs=1e-12)


@pytest.mark.parametrize(
    ("counts", "published"),
    [
        ((4060, 11284, 178, 179, 358, 359), (0.349, 0.372)),
        ((51, 2971, 32, 33, 20, 20), (0.0, 0.053)),
        ((0.06 * 11862, 11862, 8, 10, 12, 12), (0.0, 0.147)),
        ((259, 509, 84, 127, 96, 109), (0.58, 0.87)),
        ((51, 509, 23, 41, 187, 195), (0.037, 0.195)),
    ],
)
def test_the_published_intervals(counts, published):
    """The four examples of Lang and Reiczigel's paper, as the documentation of `prevSeSp` in asht lists them, to their digits."""
    k, n, right, positives, kept, negatives = counts
    ours = lang_reiczigel(counted(k, n), counted(right, positives), counted(kept, negatives))
    digits = 2 if published == (0.58, 0.87) else 3
    assert tuple(round(end, digits) for end in ours) == published


def test_point_and_interval_are_corrected_together():
    """The interval holds the corrected point, not the raw rate of .40 (trap T1)."""
    found = corrected_share(counted(40, 100), counted(30, 50), counted(95, 100))
    assert found.estimate == pytest.approx(0.35 / 0.55)
    assert found.low < found.estimate < found.high
    assert found.low > 0.40
    assert found.method == "Rogan-Gladen, Lang-Reiczigel"


def test_accuracy_by_hand():
    """Of three successes two are judged so, of two failures one is."""
    right, wrong = accuracy([1, 1, 0, 0, 1], [1, 1, 1, 0, 0], ())
    assert (right.estimate, right.n, wrong.estimate, wrong.n) == (pytest.approx(2 / 3), 3, 0.5, 2)


def test_clusters_shrink_the_size():
    """The effective size is n over the design effect of `proportion`, and less by (z/t)² for few clusters."""
    values, goal = np.r_[np.ones(10), np.zeros(40)], np.repeat(np.arange(10), 5)
    found, plain = share(values, (goal,)), proportion(values, (goal,))
    ends = wilson(found.estimate * found.size, found.size)
    assert found.design_effect == plain.design_effect
    assert found.size < 50 / plain.design_effect
    assert ends == pytest.approx((plain.low, plain.high), abs=2e-3)
    clustered = corrected_share(found, counted(45, 50), counted(95, 100))
    free = corrected_share(share(values, ()), counted(45, 50), counted(95, 100))
    assert clustered.method == "clustered Rogan-Gladen, Lang-Reiczigel"
    assert clustered.estimate == free.estimate
    assert clustered.high - clustered.low > 1.3 * (free.high - free.low)


# ── edges ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_judge_no_better_than_chance_is_refused():
    """Se + Sp <= 1 refuses in a sentence; garak takes a judge near chance for perfect and prints what it said."""
    found = corrected_share(counted(40, 100), counted(20, 50), counted(30, 50))
    assert (found.estimate, found.low, found.high) == (None, None, None)
    assert "is not above 1" in found.reason
    assert found.n == 100
    with pytest.raises(ArgumentError, match="no more than chance"):
        rogan_gladen(0.4, 0.4, 0.6)
    assert uninformative(0.5, 0.51) is None


def test_a_handful_of_labels_cannot_tell_a_judge_from_chance():
    """Se 3/3 and Sp 1/100 are above 1 together; with one right and one wrong verdict added, 4/5 and 2/102, they are not."""
    assert corrected_share(counted(4, 10), counted(1, 1), counted(1, 1)).low == 0.0
    found = corrected_share(counted(4, 10), counted(3, 3), counted(1, 100))
    assert found.estimate is not None
    assert found.low is None
    assert found.reason == "too few labels to tell the judge from chance: no interval"


def test_an_accuracy_of_exactly_one_stays_uncertain():
    """20 of 20 right in both classes: the delta method would take the judge for perfect, this does not."""
    sure = corrected_share(counted(30, 300), counted(20_000, 20_000), counted(20_000, 20_000))
    seen = corrected_share(counted(30, 300), counted(20, 20), counted(20, 20))
    assert seen.estimate == sure.estimate == pytest.approx(0.1)
    assert seen.high - seen.low > 1.3 * (sure.high - sure.low)


def test_nothing_judged_a_success_keeps_an_upper_end():
    """0 of 50 with a good judge: the point is 0, the upper end is not."""
    found = corrected_share(counted(0, 50), counted(50, 50), counted(50, 50))
    assert (found.estimate, found.low) == (0.0, 0.0)
    assert 0.03 < found.high < 0.2


def test_a_class_without_labels_leaves_bounds():
    """Without labeled successes P is at least (p + Sp - 1)/Sp; without labeled failures at most p/Se."""
    many = 10**7
    low_only = corrected_share(counted(0.3 * many, many), counted(0, 0), counted(0.9 * many, many))
    assert (low_only.estimate, low_only.high) == (None, 1.0)
    assert low_only.low == pytest.approx(0.2 / 0.9, abs=1e-3)
    assert "no label is a success, so the sensitivity is unknown" in low_only.reason
    high_only = corrected_share(counted(0.3 * many, many), counted(0.8 * many, many), counted(0, 0))
    assert (high_only.estimate, high_only.low) == (None, 0.0)
    assert high_only.high == pytest.approx(0.3 / 0.8, abs=1e-3)
    assert "specificity is unknown" in high_only.reason
    assert high_only.method == "bounds, Rogan-Gladen, Lang-Reiczigel"


def test_labels_that_do_not_fit_the_rollouts_give_no_interval():
    """0 of 500 judged a success by a judge with 10 % false alarms, or all by one that misses 60 %: no true share does that."""
    few = corrected_share(counted(0, 500), counted(45, 50), counted(450, 500))
    assert (few.estimate, few.low, few.high) == (0.0, None, None)
    assert "0.000 is less than the false alarms at a specificity of 0.900" in few.reason
    many = corrected_share(counted(500, 500), counted(200, 500), counted(50, 50))
    assert (many.estimate, many.low) == (1.0, None)
    assert "1.000 is beyond a sensitivity of 0.400" in many.reason


def test_nothing_is_null_with_a_reason():
    """No rollout, no label, one cluster: null, and why."""
    assert corrected_share(share([], ()), counted(4, 5), counted(4, 5)).reason == "no values"
    assert "the judge's errors are unknown" in corrected_share(counted(4, 5), share([], ()), share([], ())).reason
    lone = share([1.0, 0.0, 1.0], (np.zeros(3, int),))
    for found in (
        corrected_share(lone, counted(45, 50), counted(45, 50)),
        corrected_share(counted(40, 100), lone, counted(95, 100)),
        corrected_share(lone, share([], ()), counted(45, 50)),
    ):
        assert found.low is None
        assert found.reason == "one cluster: no interval over clusters"


# ── properties ────────────────────────────────────────────────────────────────────────────────────────────────────────
parts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.integration
@given(parts, parts, parts, st.sampled_from([0.8, 0.95, 0.99]))
def test_every_interval_has_width_and_holds_the_point(observed, positives, negatives, level):
    """Whatever was counted: null with a reason, or an interval within [0, 1] that is wider than a point and holds it."""
    found = corrected_share(counted(*observed), counted(*positives), counted(*negatives), level=level)
    if found.low is None:
        assert found.reason
        return
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.low < found.high


@pytest.mark.integration
@given(parts, parts, st.booleans())
def test_bounds_have_width_too(observed, labels, success):
    """With labels of one class alone: no point, and an interval wider than a point, or a reason."""
    one = counted(*labels), counted(0, 0)
    found = corrected_share(counted(*observed), *(one if success else one[::-1]))
    assert found.estimate is None
    assert found.reason
    assert found.low is None or 0 <= found.low < found.high <= 1


@given(parts)
def test_a_perfect_judge_changes_nothing(observed):
    """With Se and Sp known to be 1 the point is the share, and the interval that of Agresti and Coull."""
    found = corrected_share(counted(*observed), counted(10**9, 10**9), counted(10**9, 10**9))
    k, n = observed
    z2 = 1.959963984540054**2
    center = (k + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * center * (1 - center) / (n + z2))
    assert found.estimate == pytest.approx(k / n, abs=1e-6)
    assert (found.low, found.high) == pytest.approx((max(0, center - half), min(1, center + half)), abs=1e-6)


# ── coverage ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def corrected_by(ends, right, kept):
    """An interval of the judged share, corrected as if Se and Sp were exactly what was seen (garak's way)."""
    return [min(1.0, max(0.0, (end + kept - 1) / (right + kept - 1))) for end in ends]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "se", "sp", "n", "positives", "negatives", "published"),
    [
        (0.10, 0.85, 0.95, 500, 50, 50, (0.50, 0.64, 0.94, 0.97)),
        (0.02, 0.85, 0.95, 500, 50, 100, (0.00, 0.63, 0.95, 0.96)),
        (0.40, 0.80, 0.90, 200, 40, 40, (0.91, 0.83, 0.95, 0.96)),
        (0.10, 0.85, 0.95, 2000, 100, 100, (0.01, 0.52, 0.95, 0.96)),
    ],
)
def test_the_coverage_table(truth, se, sp, n, positives, negatives, published):
    """Uncorrected, corrected with Se and Sp taken as exact, Beta draws for all three, Lang and Reiczigel: 3,000 draws each.

    Both sides are simulated with 3,000 draws: they differ by at most three Monte Carlo errors of a difference, and the rounding
    to two digits. (The first column is Clopper and Pearson's interval; with Wilson's the first row would be .43.)
    """
    repetitions, rng = repeated(3000), np.random.default_rng(0)
    hits = np.zeros(4)
    for _ in range(repetitions):
        k = int(rng.binomial(n, truth * se + (1 - truth) * (1 - sp)))
        right, kept = int(rng.binomial(positives, se)), int(rng.binomial(negatives, sp))
        ends = exact(k, n)
        draws = [rng.beta(x + 0.5, m - x + 0.5, 1000) for x, m in ((k, n), (right, positives), (kept, negatives))]
        corrected = np.clip((draws[0] + draws[2] - 1) / (draws[1] + draws[2] - 1), 0, 1)
        intervals = (
            ends,
            corrected_by(ends, right / positives, kept / negatives),
            np.quantile(corrected, [0.025, 0.975]),
            lang_reiczigel(counted(k, n), counted(right, positives), counted(kept, negatives)),
        )
        hits += [low <= truth <= high for low, high in intervals]
    found = hits / repetitions
    error = np.sqrt(2 * np.array(published) * (1 - np.array(published)) / repetitions)
    assert np.all(np.abs(found - published) <= 3 * error + 0.006), found
    assert found[3] >= 0.95 - 2 * math.sqrt(0.95 * 0.05 / repetitions)


@pytest.mark.integration
def test_how_little_an_uncorrected_interval_covers():
    """The first column by enumeration instead of simulation: .48, .001, .914, .014."""
    for truth, se, sp, n, covered in (
        (0.10, 0.85, 0.95, 500, 0.480),
        (0.02, 0.85, 0.95, 500, 0.0013),
        (0.40, 0.80, 0.90, 200, 0.9139),
        (0.10, 0.85, 0.95, 2000, 0.0142),
    ):
        hit = [exact(k, n)[0] <= truth <= exact(k, n)[1] for k in range(n + 1)]
        judged = truth * se + (1 - truth) * (1 - sp)
        assert binom.pmf(np.arange(n + 1), n, judged)[hit].sum() == pytest.approx(covered, abs=5e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("truth", "se", "sp"), [(0.10, 0.85, 0.95), (0.40, 0.80, 0.90)])
def test_clustered_rollouts_cover(beta_binomial, covers, truth, se, sp):
    """50 goals of 10 attempts, ICC .3: at least .95 with the effective size, far less with the plain one."""
    repetitions, rng = repeated(1500), np.random.default_rng(3)
    hits = np.zeros(2)
    for _ in range(repetitions):
        values, goal = beta_binomial(rng, 50, 10, truth, 0.3)
        judged = np.where(values == 1, rng.random(500) < se, rng.random(500) < 1 - sp).astype(float)
        gold = counted(int(rng.binomial(60, se)), 60), counted(int(rng.binomial(100, sp)), 100)
        for place, clusters in enumerate(((goal,), ())):
            found = corrected_share(share(judged, clusters), *gold)
            hits[place] += found.low is not None and found.low <= truth <= found.high
    assert covers(hits[0], repetitions, 0.95), hits / repetitions
    assert hits[1] / repetitions < 0.92
