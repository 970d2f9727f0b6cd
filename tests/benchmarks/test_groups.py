"""Many groups at once: rates against a bare group-by with Wilson's formula, bootstraps against scipy, attempts against rates."""

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.benchmark
Child = Callable[..., dict[str, float]]

RATES = """
import numpy as np, polars as pl, rollwise as rw
rng, n = np.random.default_rng(0), 500_000
rollouts = pl.DataFrame({"rollout_id": np.arange(n), "target": np.arange(n) // 5, "attack_success": rng.random(n) < 0.3})
"""
OUR_RATES = """
def work(): assert rw.summarize(rollouts, by="target", metrics="attack_success", cluster=None).height == 100_000
"""
BARE = """
def work():
    n, r, z = pl.col("n"), pl.col("r") / pl.col("n"), 1.959964
    center, half = r + z * z / (2 * n), z * (r * (1 - r) / n + z * z / (4 * n * n)).sqrt()
    groups = rollouts.group_by("target").agg(n=pl.len(), r=pl.col("attack_success").sum())
    assert groups.with_columns(low=(center - half) / (1 + z * z / n), high=(center + half) / (1 + z * z / n)).height == 100_000
"""
SHARED = """
import numpy as np, polars as pl, scipy.stats, rollwise as rw
rng, groups, goals, metrics = np.random.default_rng(0), int(__import__("sys").argv[1]), 50, 4
values = rng.gamma(2.0, size=(metrics, groups * goals))
rollouts = pl.DataFrame({f"value_{k}": values[k] for k in range(metrics)}).with_columns(
    rollout_id=pl.int_range(groups * goals), target=pl.int_range(groups * goals) // goals,
    goal=(pl.int_range(groups * goals) % goals).cast(pl.String),
)
"""
OUR_BOOTSTRAP = """
def work(): rw.summarize(rollouts, by="target", statistics="mean", method="bca", resamples=10_000)
"""
SCIPY = """
def work():
    for metric in values.reshape(metrics, groups, goals):
        for sample in metric:
            scipy.stats.bootstrap((sample,), np.mean, n_resamples=10_000, method="BCa", vectorized=True, rng=0)
"""
MILLION = """
import numpy as np, polars as pl, rollwise as rw
n = 1_000_000
rollouts = pl.DataFrame({
    "rollout_id": np.arange(n), "target": np.arange(n) % 10, "goal": np.arange(n) // 100, "attempt": np.arange(n) // 10 % 10 + 1,
    "attack_success": np.random.default_rng(0).random(n) < 0.3,
}).with_columns(pl.col("goal", "target").cast(pl.String), pl.col("attempt").cast(pl.Int32))
"""
ATTEMPTS = "def work(): rw.attempts(rollouts, by='target')"
SUMMARY = "def work(): rw.summarize(rollouts, by='target', metrics='attack_success')"


def test_rates_of_a_hundred_thousand_groups(child: Child, compared: Callable[..., None]) -> None:
    """One rate over 100,000 groups of 5 rollouts."""
    ours, peer = (child(RATES + work, rounds=3) for work in (OUR_RATES, BARE))
    compared(
        "rates of 100,000 groups of 5", "a bare Polars group-by with Wilson's formula", peer["cpu"] / ours["cpu"],
        target=1 / 3, floor=1 / 24, mib=ours["mib"], peer_mib=peer["mib"],
    )  # fmt: skip


def test_bootstraps_of_groups_that_share_their_goals(child: Child, compared: Callable[..., None]) -> None:
    """BCa of 4 means in each of 1,000 groups over 50 shared goals with 10,000 draws; scipy's time is that of 20 groups."""
    ours = child(SHARED + OUR_BOOTSTRAP, "1000")
    peer = child(SHARED + SCIPY, "20")
    compared(
        "BCa of 1,000 groups x 4 metrics x 50 goals", "scipy.stats.bootstrap, group by group",
        50 * peer["cpu"] / ours["cpu"], target=8, floor=4, mib=ours["mib"], peer_mib=peer["mib"],
    )  # fmt: skip


def test_attempts_of_a_million_rollouts(child: Child, compared: Callable[..., None]) -> None:
    """ASR@k and pass^k of ten targets with ten attempts at each of 10,000 goals, beside their rates."""
    ours, peer = (child(MILLION + work, rounds=2) for work in (ATTEMPTS, SUMMARY))
    compared(
        "attempts of 1,000,000 rollouts", "summarize", peer["cpu"] / ours["cpu"],
        target=1 / 3, floor=1 / 8, mib=ours["mib"], peer_mib=peer["mib"],
    )  # fmt: skip
