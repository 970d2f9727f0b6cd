"""Loops that stop at the first success: rates, differences, gates and curves rest on the first attempt at each goal."""

import numpy as np
import polars as pl
import pytest
from simulations import repeated

import rollwise as rw

WORDS = "attempts stopped at the first success: only the first attempt at each goal counts"


def campaign(
    rng: np.random.Generator, goals: int, *, most: int = 10, rate: float = 0.05, icc: float = 0.3, stop: bool = True
):
    """Rollouts of one attack: each goal is tried up to `most` times, and no more after a success if loops stop."""
    scale = (1 - icc) / icc
    chances = rng.beta(rate * scale, (1 - rate) * scale, goals)
    succeeded = rng.random((goals, most)) < chances[:, None]
    tried = np.cumsum(succeeded, axis=1) - succeeded == 0 if stop else np.ones_like(succeeded)
    goal, attempt = np.nonzero(tried)
    return pl.DataFrame(
        {
            "rollout_id": [f"{g}-{a}" for g, a in zip(goal, attempt, strict=True)],
            "target": ["t"] * goal.size,
            "goal": [f"g{g:03}" for g in goal],
            "attempt": (attempt + 1).astype(np.int32),
            "attack_success": succeeded[goal, attempt],
        }
    )


def rate(frame: pl.DataFrame, **options) -> dict:
    return rw.summarize(frame, metrics="attack_success", **options).row(0, named=True)


def test_only_first_attempts_count_where_loops_stop() -> None:
    """By hand: 3 of 8 goals fall at once, 5 at the third attempt; the mean over all attempts would be 8 of 18."""
    loops = [[True]] * 3 + [[False, False, True]] * 5
    frame = pl.DataFrame(
        [(f"{g}-{a}", f"g{g}", a + 1, won) for g, loop in enumerate(loops) for a, won in enumerate(loop)],
        schema={"rollout_id": pl.String, "goal": pl.String, "attempt": pl.Int32, "attack_success": pl.Boolean}, orient="row",
    )  # fmt: skip
    row = rate(frame)
    assert row["estimate"] == pytest.approx(3 / 8)
    assert (row["n"], row["n_inapplicable"]) == (8, 10)
    assert WORDS in row["reason"]
    # The first point of Kaplan-Meier over attempts is the same share.
    assert rw.attempts(frame, k=1).filter(kind="asr@k")["estimate"].item() == pytest.approx(3 / 8)


def test_loops_of_a_fixed_number_count_in_full() -> None:
    """A success that is not the last attempt shows that loops went on; a table without numbers shows nothing."""
    fixed = campaign(np.random.default_rng(0), 50, stop=False)
    assert rate(fixed)["n"] == 500
    stopped = campaign(np.random.default_rng(0), 50)
    assert rate(stopped.drop("attempt"))["n"] == stopped.height
    assert rate(stopped.with_columns(attempt=pl.lit(None, dtype=pl.Int32)))["n_inapplicable"] == 0


def test_each_campaign_is_judged_by_itself() -> None:
    """One attack stops and another does not: only the first one's later attempts are left out."""
    both = pl.concat(
        [
            campaign(np.random.default_rng(seed), 50, stop=stop).with_columns(
                attack=pl.lit(name), rollout_id=pl.lit(name) + pl.col("rollout_id")
            )
            for seed, (name, stop) in enumerate([("stops", True), ("goes on", False)])
        ]
    )
    rows = rw.summarize(both, by="attack", metrics="attack_success").select("attack", "n").rows()
    assert rows == [("goes on", 500), ("stops", 50)]


def test_a_crashed_first_attempt_is_replaced_by_the_next_one() -> None:
    """The first attempt with a verdict stands for its goal, so that every goal with a verdict counts once."""
    frame = campaign(np.random.default_rng(1), 60).with_columns(ending=pl.lit(None, dtype=pl.String))
    crashed = (pl.col("attempt") == 1) & ~pl.col("attack_success") & (pl.col("goal") < "g010")
    frame = frame.with_columns(
        attack_success=pl.when(~crashed).then("attack_success"), ending=pl.when(crashed).then(pl.lit("error"))
    )
    row = rate(frame)
    assert row["n"] == frame.filter(pl.col("attack_success").is_not_null())["goal"].n_unique()
    assert row["n_error"] == frame.filter(pl.col("ending") == "error").height


def test_difference_and_curve_use_the_same_attempts() -> None:
    """A stopped arm is compared by its first attempts, and a curve follows them."""
    stopped = campaign(np.random.default_rng(2), 80)
    fixed = campaign(np.random.default_rng(2), 80, stop=False).with_columns(
        target=pl.lit("u"), rollout_id="u" + pl.col("rollout_id")
    )
    both = pl.concat([stopped, fixed])
    row = rw.contrast(both, of="target", baseline="u", metrics="attack_success").row(0, named=True)
    assert (row["n_group"], row["n_baseline"]) == (80, 800)
    assert row["group_estimate"] == pytest.approx(rate(stopped)["estimate"])
    assert WORDS in row["reason"]
    timed = stopped.with_columns(
        num_turns=pl.lit(1, dtype=pl.Int32),
        time_to_success=pl.struct(duration=pl.lit(1, dtype=pl.Int32), observed="attack_success"),
    )
    curve = rw.curve(timed)
    assert curve["at_risk"][0] == 80
    assert curve["estimate"][-1] == pytest.approx(rate(stopped)["estimate"])
    assert WORDS in curve["reason"][-1]


@pytest.mark.slow
def test_the_chance_of_one_attempt_is_covered_and_gates_keep_their_error() -> None:
    """At a chance of exactly .05 an attempt: the interval covers it, and `< 0.05` passes at most once in forty."""
    rng, repetitions, covered, passed, estimates = np.random.default_rng(3), repeated(1000), 0, 0, []
    for _ in range(repetitions):
        frame = campaign(rng, 100)
        row = rate(frame)
        covered += row["low"] <= 0.05 <= row["high"]
        estimates.append(row["estimate"])
        passed += rw.gate(frame, "attack_success < 0.05")["answer"].item() == "passed"
    noise = 2.5 / np.sqrt(repetitions)
    assert covered / repetitions >= 0.95 - noise * np.sqrt(0.95 * 0.05)
    assert passed / repetitions <= 0.025 + noise * np.sqrt(0.025 * 0.975)
    assert np.mean(estimates) == pytest.approx(0.05, abs=noise * np.std(estimates))


@pytest.mark.slow
def test_a_stopped_and_a_fixed_loop_on_the_same_goals_do_not_differ() -> None:
    """The same attempts, recorded in full and up to the first success: a difference is found no more often than the level says."""
    rng, repetitions, rejected, differences = np.random.default_rng(4), repeated(400), 0, []
    for _ in range(repetitions):
        seed = int(rng.integers(2**32))
        one, two = (
            campaign(np.random.default_rng(seed), 60, most=8, rate=0.2, stop=stop).with_columns(
                target=pl.lit(name), rollout_id=pl.lit(name) + pl.col("rollout_id")
            )
            for name, stop in (("fixed", False), ("stopped", True))
        )
        row = rw.contrast(
            pl.concat([one, two]), of="target", baseline="fixed", metrics="attack_success", resamples=2000
        )
        rejected += row["p_value"].item() < 0.05
        differences.append(row["difference"].item())
    assert rejected / repetitions <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / repetitions)
    assert np.mean(differences) == pytest.approx(0, abs=0.01 + 1 / repetitions)
