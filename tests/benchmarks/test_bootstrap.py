# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""The bootstrap engine against scipy and rliable: ratios of CPU time in one process, peers and ours in turn, and peak memory.

Peers are run on so many groups or replicates that they end, and scaled by what they were not asked to do: their cost is linear
in both. Every test prints its figures; what it asserts is what was reached on a shared machine with some room, not what is hoped
for.
"""

import json
import os
import statistics
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
from scipy.stats import bootstrap as scipy_bootstrap
from threadpoolctl import threadpool_limits

from turnwise.stats.bootstrap import closed_form, percentile_interval
from turnwise.stats.mean import mean
from turnwise.stats.order_statistics import quantile_replicates
from turnwise.stats.replicates import count_sums, ratio_replicates

pytestmark = pytest.mark.benchmark

GROUP, METRICS, DRAWS = 1000, 8, 1000


@pytest.fixture(autouse=True)
def one_thread():
    """One thread of BLAS, as every figure is of one core."""
    with threadpool_limits(1):
        yield


def seconds(function):
    """CPU seconds of one call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def in_turn(ours, theirs, rounds=3):
    """Median CPU seconds of each, run alternately."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    return tuple(statistics.median(times) for times in zip(*pairs, strict=True))


def peak_over(function):
    """MiB that Python and NumPy hold at most during a call, over what they hold before it."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def report(line, end="\n"):
    """A figure on the screen, which `pytest -s` shows."""
    sys.stdout.write(line + end)


def rng(number=0):
    return np.random.Generator(np.random.PCG64DXSM(number))


def scores(rows, seed=0):
    return np.random.default_rng(seed).beta(0.6, 1.2, (rows, METRICS))


def percentiles(made):
    """The ends of every column's percentile interval. NumPy puts all in order faster than what lies at four ranks."""
    columns = np.ascontiguousarray(made.T)
    columns.sort(axis=1)
    return columns[:, [int(share * (columns.shape[1] - 1)) + step for share in (0.025, 0.975) for step in (0, 1)]]


def scipy_group(group, method="percentile", draws=DRAWS):
    return scipy_bootstrap((np.ascontiguousarray(group.T),), np.mean, axis=-1, n_resamples=draws, method=method, rng=1)


def test_1_groups_drawn_independently(compared):
    """Target 1: 1000 groups of 1000 rollouts, 8 metrics, 1000 replicates each; hoped 8x scipy, 20x rliable."""
    groups = 20
    x = scores(groups * GROUP).reshape(groups, GROUP, METRICS)
    ones = np.ones((GROUP, METRICS))

    def ours():
        for number, group in enumerate(x):
            percentiles(ratio_replicates(group, ones, rng=rng(number), resamples=DRAWS))

    mine, scipys = in_turn(ours, lambda: [scipy_group(group) for group in x[:3]], rounds=5)
    mine, scipys = mine / groups, scipys / 3
    report(f"\n1. a group: {mine * 1e3:.2f} ms, scipy {scipys * 1e3:.1f} ms: {scipys / mine:.1f}x (hoped 8x)")
    compared("1. bootstrap of 1000 x 8 means, 1000 draws", "scipy.stats.bootstrap", scipys / mine, target=8, floor=6)
    peer = os.environ.get("TURNWISE_RLIABLE_PYTHON")
    if peer:
        code = (
            "import json,sys,time,numpy as np\nfrom rliable import library as rly\n"
            "x=np.random.default_rng(0).beta(.6,1.2,(2,1000,8))\nt=time.process_time()\n"
            "rly.get_interval_estimates({str(i):g for i,g in enumerate(x)},lambda x:np.array([x.mean()]),reps=100)\n"
            "print(json.dumps((time.process_time()-t)*10/2))"
        )
        done = subprocess.run([peer, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
        other = float(json.loads(done.stdout.splitlines()[-1]))
        report(f"   rliable, in its own process: {other * 1e3:.1f} ms a group: {other / mine:.0f}x (hoped 20x)")
        compared("1. bootstrap of 1000 x 8 means, 1000 draws", "rliable", other / mine, target=20)


def test_2_groups_over_the_same_goals_share_their_draws(compared):
    """Target 2: one set of counts serves 8000 columns; at least 30x scipy."""
    columns = 8000
    x = np.random.default_rng(0).beta(0.6, 1.2, (GROUP, columns))
    x -= x.mean(axis=0)

    def ours():
        percentiles(count_sums(x, rng=rng(), resamples=DRAWS))

    total, scipys = in_turn(ours, lambda: scipy_group(x[:, :METRICS]))
    scipys *= columns / METRICS
    report(f"\n2. {total * 1e3:.0f} ms, scipy {scipys * 1e3:.0f} ms: {scipys / total:.0f}x")
    compared("2. 8000 columns over the same goals", "scipy.stats.bootstrap", scipys / total, target=30, floor=20)


def test_3_and_4_the_closed_form(compared):
    """Targets 3, 4: BCa without draws, of 1000 values and of a million; at least 100x scipy's BCa, and 50 ms."""
    x = np.ascontiguousarray(scores(GROUP).T)

    def ours():
        return np.transpose([closed_form(cell, 0.95, "bca") for cell in x])

    mine, scipys = in_turn(lambda: [ours() for _ in range(100)], lambda: scipy_group(x.T, "BCa"))
    mine /= 100
    report(
        f"\n3. {mine * 1e6 / METRICS:.0f} us a cell, scipy BCa {scipys * 1e3 / METRICS:.0f} ms: {scipys / mine:.0f}x"
    )
    ideal = scipy_group(x.T, "BCa", draws=100_000).confidence_interval
    some = scipy_group(x.T, "BCa", draws=10_000).confidence_interval
    error = x.std(axis=1) / np.sqrt(GROUP)
    away, scatter = (
        np.abs(np.stack([ends[0] - ideal.low, ends[1] - ideal.high]) / error).mean() for ends in (ours(), some)
    )
    report(f"   ends off by {away:.3f} standard errors, 10,000 replicates by {scatter:.3f}")
    million = scores(1_000_000)[:, 0].copy()
    once = statistics.median(seconds(lambda: closed_form(million, 0.95, "bca")) for _ in range(7))
    report(f"4. a million values: {once * 1e3:.1f} ms (scipy needs an n x n jackknife)")
    compared("3. BCa of 1000 x 8 means without draws", "scipy BCa", scipys / mine, target=100, floor=100)
    assert away < 2 * scatter
    assert once < 0.05


@pytest.mark.parametrize(("n", "draws", "least"), [(1001, 1000, 20), (100_001, 100, 150)])
def test_5_medians(n, draws, least, compared):
    """Target 5: the interval of a median; the same ends as scipy's, up to the scatter of its replicates."""
    x = np.random.default_rng(n).lognormal(0, 1, n)
    peer = {}

    def theirs():
        peer["interval"] = scipy_bootstrap((x,), np.median, n_resamples=draws, method="percentile", rng=2, batch=10)

    def ours():
        return quantile_replicates(np.sort(x), 0.5, rng=rng(), resamples=1000)

    mine, scipys = in_turn(lambda: [ours() for _ in range(20)], theirs)
    mine, scipys = mine / 20, scipys * 1000 / draws
    report(f"\n5. n = {n}: {mine * 1e3:.3f} ms, scipy {scipys * 1e3:.0f} ms: {scipys / mine:.0f}x")
    ends = percentile_interval(ours(), 0.95)
    spread = peer["interval"].standard_error
    assert ends == pytest.approx(tuple(peer["interval"].confidence_interval), abs=0.5 * spread)
    compared(f"5. interval of a median, n = {n}", "scipy.stats.bootstrap", scipys / mine, target=least, floor=least)


def test_6_clustered_paired_ratios(compared):
    """Target 6: 64 ratio columns over 1000 goals of unequal size share their draws; hoped 100x scipy for each column."""
    goals, columns, draws = 1000, 64, 10_000
    generator = np.random.default_rng(0)
    weights = np.repeat(generator.integers(5, 20, goals).astype(float)[:, None], columns, axis=1)
    sums = generator.random((goals, columns)) * weights

    def ratio(rows, axis=-1):
        rows = rows.astype(int)
        return sums[:, 0][rows].sum(axis) / weights[:, 0][rows].sum(axis)

    mine, scipys = in_turn(
        lambda: ratio_replicates(sums, weights, rng=rng(), resamples=draws),
        lambda: scipy_bootstrap(
            (np.arange(goals),), ratio, n_resamples=draws, method="percentile", rng=2, vectorized=True, batch=1000
        ),
    )
    report(
        f"\n6. {columns} columns {mine * 1e3:.0f} ms, scipy one {scipys * 1e3:.0f} ms: {scipys * columns / mine:.0f}x (hoped 100x)"
    )
    compared(
        "6. ratios over 1000 goals, 64 columns", "scipy.stats.bootstrap", scipys * columns / mine, target=100, floor=60
    )


def test_7_peak_memory():
    """Target 7: peak growth at most twice the input, for any number of replicates (scipy: 15 GiB at n = 1e6, B = 1000)."""
    wide, one = scores(250_000, seed=1), np.random.default_rng(2).random(1_000_000)
    equal = np.ones_like(wide)
    uneven = 1 + np.random.default_rng(3).random(1_000_000)
    cases = {
        "mean of a million, BCa": (one, lambda: mean(one, (), interval="bca")),
        "mean of a million, percentile, 20 draws": (
            np.stack([one, uneven]),
            lambda: mean(one, (), weights=uneven, interval="percentile", rng=rng(), resamples=20),
        ),
        "mean of a million, BCa, 20 draws": (
            np.stack([one, uneven]),
            lambda: mean(one, (), weights=uneven, interval="bca", rng=rng(), resamples=20),
        ),
        "8 columns, 20 draws": (wide, lambda: ratio_replicates(wide, equal, rng=rng(), resamples=20)),
    }
    report("")
    for name, (values, call) in cases.items():
        call()
        grown = peak_over(call)
        size = values.nbytes / 2**20
        report(f"7. {name}: {grown:.0f} MiB over {size:.0f} MiB of input: {grown / size:.1f}x (hoped 2x)")
        assert grown <= 2 * size

    def drawn(draws):
        return ratio_replicates(one, np.ones_like(one), rng=rng(), resamples=draws)

    few, many = (peak_over(lambda draws=draws: drawn(draws)) for draws in (2, 40))
    report(f"   2 draws {few:.0f} MiB, 40 draws {many:.0f} MiB")
    assert many < few + 8
    assert percentile_interval(drawn(40)[:, 0], 0.5)[0] is not None
