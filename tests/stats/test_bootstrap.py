# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, skew
from scipy.stats import bootstrap as scipy_bootstrap

from turnwise.errors import ArgumentError
from turnwise.stats import replicates as replicates_of
from turnwise.stats.bootstrap import acceleration, bca_flaw, bca_interval, null_flaw, percentile_interval
from turnwise.stats.ideal import closed_form, closed_forms
from turnwise.stats.multinomial import counts
from turnwise.stats.replicates import count_sums, jackknife_ratio, ratio_replicates

DATA = np.random.default_rng(7)
SUMS, WEIGHTS = DATA.gamma(2.0, 1.0, 40), DATA.integers(1, 9, 40).astype(float)


def replicates(sums, weights, resamples=20_000, seed=0):
    return ratio_replicates(sums, weights, rng=np.random.default_rng(seed), resamples=resamples)


def test_replicates_depend_on_the_generator_alone():
    """The same seed gives the same replicates, and a column does not care for its neighbors."""
    both = replicates(np.stack([SUMS, WEIGHTS], axis=1), np.stack([WEIGHTS, np.ones(40)], axis=1))
    alone = replicates(SUMS, WEIGHTS)
    assert both.shape == (20_000, 2)
    assert alone.shape == (20_000, 1)
    assert np.array_equal(both[:, 0], alone[:, 0])
    assert np.array_equal(alone, replicates(SUMS, WEIGHTS))


def test_replicates_by_hand():
    """Each replicate is Σ counts·sums over Σ counts·weights of the same counts."""
    drawn = counts(np.random.default_rng(3), 500, 20)
    expected = drawn @ SUMS[:20] / (drawn @ WEIGHTS[:20])
    made = ratio_replicates(SUMS[:20], WEIGHTS[:20], rng=np.random.default_rng(3), resamples=500)[:, 0]
    assert made == pytest.approx(expected, abs=1e-7 * expected.std())


# ── a row of counts serves several replicates ─────────────────────────────────────────────────────────────────────────
DEALT = 200  # clusters


def dealt(clusters, resamples, seed=0):
    """The counts behind replicates: sums of columns that each tell one cluster."""
    return count_sums(np.eye(clusters), rng=np.random.default_rng(seed), resamples=resamples)


def test_counts_are_dealt_in_eight_orders():
    """Eight replicates have the same counts, each in an order of its own, which is the same for all rows."""
    made = dealt(DEALT, 8 * 300).reshape(300, 8, DEALT)
    state = np.random.default_rng(0)
    orders = [np.arange(DEALT), *(state.permutation(DEALT) for _ in range(7))]
    drawn = counts(state, 300, DEALT)
    for place, order in enumerate(orders):
        assert (made[:, place][:, order] == drawn).all()
    assert len({made[0, place].tobytes() for place in range(8)}) == 8


@pytest.mark.parametrize("clusters", [40, DEALT, 9000])
def test_how_many_replicates_are_asked_for_is_how_many_there_are(clusters):
    """Also where rows of counts serve more: what is too much is left out."""
    for resamples in (1, 7, 8, 9):
        made = count_sums(np.ones((clusters, 2)), rng=np.random.default_rng(0), resamples=resamples)
        assert (made == clusters).all()
        assert made.shape == (resamples, 2)


def test_dealt_counts_are_multinomial():
    """In any order: mean 1, the variance and the chances of the binomial law, and a covariance of -1/n."""
    made = dealt(DEALT, 40_000, seed=1)
    assert (made.sum(axis=1) == DEALT).all()
    assert made.mean(axis=0) == pytest.approx(1.0, abs=5 / np.sqrt(40_000))
    assert (made[:, 0] * made[:, 1]).mean() - 1 == pytest.approx(-1 / DEALT, abs=0.02)
    law = binom.pmf(np.arange(8), DEALT, 1 / DEALT)
    for place in range(8):
        found = np.bincount(made[place::8].astype(int).ravel(), minlength=8)[:8] / made[place::8].size
        assert np.abs(found - law).max() < 5 * np.sqrt(0.25 / made[place::8].size)


def test_replicates_of_one_row_are_uncorrelated():
    """What one of them adds up tells nothing of what the others do, in the mean over the orders."""
    values = np.random.default_rng(2).gamma(0.5, 1.0, DEALT)[:, None]
    pairs = np.concatenate(
        [count_sums(values, rng=np.random.default_rng(seed), resamples=800).reshape(-1, 8) for seed in range(100)]
    )
    found = np.corrcoef(pairs.T)[np.triu_indices(8, 1)]
    assert np.abs(found.mean()) < 5 / np.sqrt(found.size * len(pairs))
    assert np.abs(found).max() < 5 / np.sqrt(800)  # the same orders serve a hundred rows


def test_dealing_does_not_show_in_other_columns(monkeypatch):
    """Whether the clusters are put in order, for few columns, or the counts, for many: the same bytes."""
    columns = np.random.default_rng(3).random((DEALT, 5))
    beside = count_sums(columns, rng=np.random.default_rng(0), resamples=999)
    monkeypatch.setattr(replicates_of, "_SIDE_BY_SIDE", 0)
    assert (count_sums(columns, rng=np.random.default_rng(0), resamples=999) == beside).all()
    assert (count_sums(columns[:, :1], rng=np.random.default_rng(0), resamples=999) == beside[:, :1]).all()


@pytest.mark.slow
def test_dealing_costs_no_precision(monkeypatch):
    """The ends of intervals scatter as those of counts drawn one by one: at 32 clusters 2.9 % more is what theory says."""
    values = np.random.default_rng(4).gamma(0.5, 1.0, (32, 1))

    def spread():
        ends = [
            np.quantile(count_sums(values, rng=np.random.default_rng(seed), resamples=800), [0.025, 0.975])
            for seed in range(8000)
        ]
        return np.std(ends, axis=0)

    together = spread()
    monkeypatch.setattr(replicates_of, "_FEWEST", 33)  # so that each replicate has counts of its own
    assert together / spread() == pytest.approx(1.029, abs=4 / np.sqrt(8000))


def test_an_offset_and_a_scale_cost_no_digits():
    """Centering first: 10⁶ added to every value, or units of 10²⁰⁰, leave the same replicates."""
    plain = replicates(SUMS, WEIGHTS)
    shifted = replicates(SUMS + 1e6 * WEIGHTS, WEIGHTS) - 1e6
    assert shifted == pytest.approx(plain, abs=1e-6 * plain.std())
    assert replicates(SUMS * 1e200, WEIGHTS * 1e100) / 1e100 == pytest.approx(plain, rel=1e-6)


def test_replicates_without_weight_are_null():
    """A group that a replicate missed has no value there; too many of those, and there is no interval."""
    weights = np.zeros(20)
    weights[:4] = 1.0
    made = replicates(weights * np.arange(20.0), weights)[:, 0]
    assert np.isnan(made).mean() == pytest.approx(0.8**20, abs=0.002)
    assert percentile_interval(made, 0.95)[0] is not None
    rare = replicates(np.r_[1.0, np.zeros(19)], np.r_[1.0, np.zeros(19)])[:, 0]
    assert percentile_interval(rare, 0.95) == (None, None)
    assert bca_interval(rare, 1.0, acceleration(np.arange(20.0)), 0.95) == (None, None)
    assert "% of the bootstrap replicates are empty" in null_flaw(rare)


def test_a_column_without_weight_is_null():
    """A metric that no cluster has is null in every replicate, and leaves the other columns alone."""
    sums, weights = np.stack([SUMS, np.zeros(40)], axis=1), np.stack([WEIGHTS, np.zeros(40)], axis=1)
    made = replicates(sums, weights, 500)
    assert np.isnan(made[:, 1]).all()
    assert np.array_equal(made[:, :1], replicates(SUMS, WEIGHTS, 500))
    assert np.isnan(jackknife_ratio(sums, weights)[:, 1]).all()


def test_the_order_of_addition_does_not_show():
    """Products of whole numbers are exact: columns side by side give the bytes they give alone, and so do scaled ones."""
    wide = replicates(np.tile(SUMS[:, None], 33), np.tile(WEIGHTS[:, None], 33), 3000)
    assert (wide == replicates(SUMS, WEIGHTS, 3000)).all()
    assert (replicates(4 * SUMS, WEIGHTS, 3000) == 4 * replicates(SUMS, WEIGHTS, 3000)).all()


@pytest.mark.parametrize("clusters", [40, 1000, 4096])
def test_sums_in_single_precision_are_those_in_double(clusters):
    """The same draws: whole numbers that fit are the same, and others differ by far less than replicates scatter."""
    counted = DATA.integers(-9, 9, (clusters, 3)).astype(float)
    scored = DATA.gamma(0.5, 1.0, (clusters, 80))
    scored -= scored.mean(axis=0)
    strata = np.arange(clusters) % 2

    def both(columns, **options):
        made = [
            count_sums(columns, rng=np.random.default_rng(0), resamples=400, dtype=dtype, **options)
            for dtype in ("float64", "float32")
        ]
        assert [sums.dtype for sums in made] == ["float64", "float32"]
        return made

    bits = 23 - np.ceil(np.log2(clusters))
    unit = 2.0 ** (np.ceil(np.log2(np.abs(scored).max(axis=0))) - bits)
    for options in ({}, {"strata": strata}):
        double, single = both(counted, **options)
        assert (double == single).all()
        double, single = both(scored * 2.0**-30, **options)
        off = (double - single) / (2.0**-30 * unit * np.sqrt(clusters))
        assert np.sqrt((off**2).mean()) == pytest.approx(np.sqrt(1 / 12), rel=0.15)  # each value's is uniform in ±1/2
        assert np.abs(off.mean()) < 5 / np.sqrt(12 * off.size)
    double, single = both(np.asfortranarray(scored))
    assert (both(scored)[1] == single).all()
    assert (both(scored[:, :1])[1] == single[:, :1]).all()
    # Nearly all values round the same way, which is added again: or the mean would be off by a tenth of a unit a value.
    rare = np.where(DATA.random((clusters, 80)) < 0.05, 1.0, 0.3)
    double, single = both(rare)
    assert np.abs((double - single).mean()) < 1e-5 * max(1.0, double.std())


def test_single_precision_tells_sums_of_few_clusters_only():
    """Above 4096 of them the values would be left with a few bits each: refused, and nothing is drawn."""
    state = np.random.default_rng(0)
    with pytest.raises(
        ArgumentError, match=r"float32 is too coarse for sums over 4,097 clusters \(at most 4,096\); use float64"
    ):
        count_sums(np.ones((4097, 1)), rng=state, resamples=1, dtype=np.float32)
    for dtype in (np.float16, np.int32):
        with pytest.raises(ArgumentError, match="cannot hold the sums; use float64 or float32"):
            count_sums(np.ones((50, 1)), rng=state, resamples=1, dtype=dtype)
    for shape in ((5, 0), (0, 2), (50, 0)):
        assert count_sums(np.ones(shape), rng=state, resamples=3).tolist() == [[0.0] * shape[1]] * 3
    assert state.random() == np.random.default_rng(0).random()


@pytest.mark.integration
def test_many_clusters_are_drawn_by_stretches():
    """A hundred thousand clusters: as many draws, and sums that scatter as those of independent draws do."""
    values = np.random.default_rng(4).gamma(0.5, 1.0, 100_000)
    columns = np.stack([np.ones(100_000), values, values[::-1], np.arange(100_000) < 50_000], axis=1)
    drawn = count_sums(columns, rng=np.random.default_rng(5), resamples=2000)
    assert (drawn[:, 0] == 100_000).all()
    assert drawn.mean(axis=0) == pytest.approx(columns.sum(axis=0), abs=4 * np.sqrt(100_000 / 2000))
    spread = columns.std(axis=0)[1:] * np.sqrt(100_000)
    assert drawn[:, 1:].std(axis=0) == pytest.approx(spread, rel=4 / np.sqrt(4000))


def test_jackknife_equals_leaving_out():
    """The jackknife is the ratio of all the others; NaN where one cluster held all the weight."""
    expected = [np.delete(SUMS, g).sum() / np.delete(WEIGHTS, g).sum() for g in range(40)]
    assert jackknife_ratio(SUMS, WEIGHTS) == pytest.approx(expected, rel=1e-12)
    assert jackknife_ratio(np.stack([SUMS, SUMS], 1), np.stack([WEIGHTS, WEIGHTS], 1)).shape == (40, 2)
    assert np.isnan(jackknife_ratio(np.array([1.0, 0.0]), np.array([1.0, 0.0]))[0])


@pytest.mark.parametrize("clusters", [40, 100])
@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_intervals_equal_scipy(ours, theirs, clusters):
    """On the same clusters the ends are scipy's within Monte Carlo error (3 % of a standard error at 40,000)."""
    data = np.random.default_rng(8)
    sums, weights = data.gamma(2.0, 1.0, clusters), data.integers(1, 9, clusters).astype(float)

    def ratio(sums, weights, axis=-1):
        return sums.sum(axis=axis) / weights.sum(axis=axis)

    oracle = scipy_bootstrap(
        (sums, weights), ratio, paired=True, method=theirs, n_resamples=40_000, rng=5, batch=2000, vectorized=True
    )
    made = replicates(sums, weights, 40_000)[:, 0]
    estimate = sums.sum() / weights.sum()
    if ours == "percentile":
        ends = percentile_interval(made, 0.95)
    else:
        ends = bca_interval(made, estimate, acceleration(-jackknife_ratio(sums, weights)), 0.95)
    assert ends == pytest.approx(tuple(oracle.confidence_interval), abs=0.05 * oracle.standard_error)


def test_ties_count_half():
    """On a lattice the bias correction counts replicates equal to the estimate half, as scipy does; rounded sums or not."""
    values = np.r_[np.ones(6), np.zeros(34)]
    oracle = scipy_bootstrap((values,), np.mean, method="BCa", n_resamples=40_000, rng=5, vectorized=True)
    made = replicates(values, np.ones(40), 40_000)[:, 0]
    ends = bca_interval(made, 0.15, acceleration(-jackknife_ratio(values, np.ones(40))), 0.95)
    assert ends == pytest.approx(tuple(oracle.confidence_interval), abs=1 / 40 + 1e-6)


def test_bca_is_null_where_undefined():
    """No replicate on one side, equal jackknife values, or no width: no interval, and a reason."""
    ramp = np.linspace(0.0, 1.0, 1001)
    lean = np.array([0.0, 1.0, 3.0])
    for made, estimate, jackknife, words in (
        (ramp + 1, 0.5, lean, "one side"),
        (ramp, 0.5, np.ones(3), "changes nothing"),
        (ramp, 0.5, np.array([np.nan, 1.0, 2.0]), "changes nothing"),
        (ramp, 0.0005, lean, "bias is too large"),
        (np.r_[np.zeros(2), np.ones(1000), np.full(2, 2.0)], 1.0, lean, "no width"),
    ):
        assert bca_interval(made, estimate, acceleration(-jackknife), 0.95) == (None, None)
        assert words in bca_flaw(made, estimate, acceleration(-jackknife), 0.95)
    assert bca_flaw(ramp, 0.5, acceleration(-lean), 0.95) is None
    assert percentile_interval(np.ones(100), 0.95) == (None, None)


@pytest.mark.parametrize("n", [2, 5, 1000, 70_000])
def test_acceleration_is_a_sixth_of_the_skewness(n):
    """SciPy's skewness over 6√n, in any unit and from any origin; of a mean the values do for the jackknife."""
    values = np.random.default_rng(n).gamma(0.5, 1.0, n)
    expected = skew(values) / 6 / np.sqrt(n)
    for influences in (values, -jackknife_ratio(values, np.ones(n)), 1e300 * values, 1e-300 * values, values + 100):
        assert acceleration(influences) == pytest.approx(expected, abs=1e-12)
    assert acceleration(-values) == pytest.approx(-expected, abs=1e-12)
    assert acceleration(np.full(n, 0.1)) is acceleration(np.append(values, np.nan)) is None


@pytest.mark.parametrize("shape", ["uniform", "beta", "lognormal"])
def test_closed_form_equals_the_bootstrap(shape):
    """From 1000 units on, four moments give scipy's BCa ends within what its own resampling scatters."""
    rng = np.random.default_rng(11)
    values = {
        "uniform": rng.random(1000),
        "beta": rng.beta(0.6, 1.2, 1000),
        "lognormal": rng.lognormal(0.0, 0.8, 1000),
    }[shape]
    made = replicates(values, np.ones(1000), 100_000)[:, 0]
    jackknife = jackknife_ratio(values, np.ones(1000))
    ends = bca_interval(made, values.mean(), acceleration(-jackknife), 0.95)
    assert closed_form(values, 0.95) == pytest.approx(ends, abs=0.03 * values.std() / np.sqrt(1000))


def test_closed_form_declines():
    """Below 1000 units, with a heavy tail, or without variation the closed form leaves it to others."""
    rng = np.random.default_rng(2)
    assert closed_form(rng.random(999), 0.95) == (None, None)
    assert closed_form(np.r_[np.zeros(1999), 1.0], 0.95) == (None, None)
    assert closed_form(np.full(2000, 0.1), 0.95) == (None, None)


@pytest.mark.parametrize(
    ("scale", "offset"), [(1e-300, 0.0), (1e-80, 0.0), (1.7e308, 0.0), (1e300, -1e300), (1.0, 1e9), (2.0, -4e11)]
)
def test_closed_form_of_any_unit(scale, offset):
    """What is measured in other units has the same interval in these; beside it a column of equal values has none."""
    unit = np.random.default_rng(5).beta(0.6, 1.2, 2000)
    expected = np.array(closed_form(unit, 0.95))
    found = closed_forms(np.stack([unit * scale + offset, np.full(2000, 0.1), unit]), 0.95)
    near = 1e-9 + 8 * abs(offset) / scale * 2**-52
    assert found[:, 0] / scale - offset / scale == pytest.approx(expected, abs=near)
    assert np.isnan(found[:, 1]).all()
    assert found[:, 2] == pytest.approx(expected, rel=1e-12)


@settings(deadline=None)
@given(st.floats(0.5, 0.999), st.integers(0, 1000))
def test_intervals_have_width_and_hold_the_estimate(level, seed):
    """Where BCa is defined it holds the estimate, and a higher level is no narrower."""
    values = np.random.default_rng(seed).exponential(1.0, 15)
    made = replicates(values, np.ones(15), 500, seed)[:, 0]
    jackknife = jackknife_ratio(values, np.ones(15))
    low, high = bca_interval(made, values.mean(), acceleration(-jackknife), level)
    if low is not None:
        assert low <= values.mean() + made.std() * 0.1
        assert high >= values.mean() - made.std() * 0.1
        assert low < high
