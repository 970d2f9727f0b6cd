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


@pytest.mark.integration
def test_loops_of_a_fixed_number_count_in_full() -> None:
    """Successes that are not the last attempts show that loops went on, and so do rows without numbers, in any order."""
    fixed = campaign(np.random.default_rng(0), 50, stop=False)
    assert rate(fixed)["n"] == 500
    assert rate(fixed.drop("attempt"))["n"] == 500
    assert rate(fixed.drop("attempt").sample(fraction=1, shuffle=True, seed=1))["n"] == 500


def two_defenses(seed: int = 1, **options) -> pl.DataFrame:
    """Two conditions on the same target and goals, in loops that stop; only the column `defense` tells them apart."""
    rng = np.random.default_rng(seed)
    return pl.concat(
        [
            campaign(rng, 100, **options).with_columns(
                rollout_id=pl.lit(name) + pl.col("rollout_id"), defense=pl.lit(name)
            )
            for name in ("none", "filter")
        ]
    )


def first_shares(frame: pl.DataFrame) -> list[float]:
    """The share of first attempts that succeeded, for each defense in order."""
    return (
        frame.filter(attempt=1)
        .group_by("defense")
        .agg(pl.col("attack_success").mean())
        .sort("defense")["attack_success"]
        .to_list()
    )


@pytest.mark.integration
def test_loops_are_found_in_the_groups_that_are_asked_for() -> None:
    """By defense: each group has the rate of its first attempts, as it has alone, and so have all other verbs."""
    both = two_defenses()
    shares = first_shares(both)
    rows = rw.summarize(both, by="defense", metrics="attack_success")
    assert rows["estimate"].to_list() == pytest.approx(shares)
    assert all(WORDS in reason for reason in rows["reason"])
    alone = [rate(both.filter(defense=name), by="defense") for name in ("filter", "none")]
    assert rows.rows(named=True) == alone
    assert rw.attempts(both, by="defense", k=1).filter(kind="asr@k")["estimate"].to_list() == pytest.approx(shares)
    difference = rw.contrast(both, of="defense", baseline="none", metrics="attack_success").row(0, named=True)
    assert difference["difference"] == pytest.approx(shares[0] - shares[1])
    gates = rw.gate(both, "attack_success < 50%", by="defense")
    assert gates["estimate"].to_list() == pytest.approx(shares)
    # Nothing asked for: the column that tells the two attempts of each number apart is found.
    assert rate(both)["estimate"] == pytest.approx(np.mean(shares))
    assert rate(both)["n"] == 200


SIBLINGS = {
    "a Boolean": lambda name: pl.lit(name == "none"),
    "a number": lambda name: pl.lit(0.5 if name == "none" else 1.0),
    "a run": pl.lit,
    "a category of words": lambda name: pl.lit(name, dtype=pl.Categorical()),
    "null beside a word": lambda name: pl.lit(name if name == "none" else None, dtype=pl.String),
}


@pytest.mark.integration
@pytest.mark.parametrize("kind", SIBLINGS)
def test_any_column_can_tell_conditions_apart(kind: str) -> None:
    """A temperature, a flag, a run, a category or a null: the rates are those of first attempts."""
    column = "run" if kind == "a run" else "condition"
    parts = [
        part.with_columns(SIBLINGS[kind](name).alias(column)).drop("defense")
        for (name,), part in two_defenses().group_by("defense", maintain_order=True)
    ]
    rows = rw.summarize(pl.concat(parts), by=column, metrics="attack_success")
    assert sorted(rows["estimate"]) == pytest.approx(sorted(first_shares(two_defenses())))
    assert rows["n"].to_list() == [100, 100]


@pytest.mark.integration
def test_a_retry_after_a_success_changes_nothing() -> None:
    """One further attempt after one of the successes, judged or in error: .03 of first attempts, not .02 of all."""
    one = campaign(np.random.default_rng(1), 100)
    again = (
        one.filter("attack_success").head(1).with_columns(pl.lit("retry").alias("rollout_id"), pl.col("attempt") + 1)
    )
    for outcome in (False, True, None):
        retried = pl.concat([one, again.with_columns(attack_success=pl.lit(outcome, dtype=pl.Boolean))])
        assert rate(retried)["estimate"] == rate(one)["estimate"]
        assert WORDS in rate(retried)["reason"]


@pytest.mark.integration
@pytest.mark.parametrize("numbered", ["each attempt", "each batch", "not"])
def test_loops_in_batches_are_found(numbered: str) -> None:
    """Batches of 5, after which a success stops the loop: attempts numbered one by one, batch by batch, or not at all."""
    frame = in_batches(np.random.default_rng(2), 150, 5)
    truth = frame.filter(attempt=1)["attack_success"].mean()
    if numbered == "each batch":  # the whole first batch counts, because nothing says which attempt of it was the first
        frame = frame.with_columns((pl.col("attempt") - 1) // 5 + 1)
        truth = frame.filter(attempt=1)["attack_success"].mean()
    row = rate(frame.drop("attempt") if numbered == "not" else frame)
    assert row["estimate"] == pytest.approx(truth)
    assert row["n"] == (750 if numbered == "each batch" else 150)
    assert WORDS in row["reason"]


def in_batches(rng: np.random.Generator, goals: int, size: int, most: int = 20) -> pl.DataFrame:
    """Loops that stop after the batch in which a success came."""
    fixed = campaign(rng, goals, most=most, stop=False)
    first = pl.col("attempt").filter(pl.col("attack_success")).min().over("goal").fill_null(most)
    return fixed.filter(pl.col("attempt") <= ((first - 1) // size + 1) * size)


@pytest.mark.integration
def test_the_order_of_rows_is_taken_where_nothing_numbers_them_and_said() -> None:
    """Without `attempt`, or with one number missing: the rows in their order have the same first attempts."""
    one = campaign(np.random.default_rng(1), 100)
    unnumbered = one.with_columns(attempt=pl.when(pl.col("rollout_id") != "3-0").then("attempt"))
    for frame in (one.drop("attempt"), unnumbered, one.with_columns(attempt=pl.lit(None, dtype=pl.Int32))):
        row = rate(frame)
        assert row["estimate"] == rate(one)["estimate"]
        assert row["reason"] == (
            f"{WORDS} (`rw.attempts` uses all); no column `attempt` numbers them, so the order of rows is taken; "
            "method='beta-binomial' counts all, if later attempts are like the first"
        )
    shuffled = one.drop("attempt").sample(fraction=1, shuffle=True, seed=3)
    assert rate(shuffled)["n"] == one.height  # in no order, as a fixed number would be


@pytest.mark.parametrize("change", [[], ["attempt"]])
def test_merged_counts_have_the_same_first_attempts(change: list[str]) -> None:
    """merge=True, eager or lazy, with and without numbers: the row of merge=False, for rates, curves and by group."""
    frame = (
        two_defenses()
        .drop(change)
        .with_columns(
            num_turns=pl.lit(1, dtype=pl.Int32),
            time_to_success=pl.struct(duration=pl.lit(1, dtype=pl.Int32), observed="attack_success"),
        )
    )
    for table in (frame, frame.lazy()):
        merged = rw.summarize(table, by="defense", metrics="attack_success", merge=True)
        assert merged.equals(rw.summarize(frame, by="defense", metrics="attack_success"))
        assert rw.curve(table, by="defense", merge=True).equals(rw.curve(frame, by="defense"))
    fixed = campaign(np.random.default_rng(0), 50, stop=False).drop(change)
    assert rate(fixed, merge=True)["n"] == 500


def test_goals_that_may_have_stopped_count_their_first_attempt() -> None:
    """Two successes, each the last of few attempts at its goal: too few to tell, and first attempts are right either way."""
    goals = {f"g{i:02}": [False] * 5 for i in range(38)} | {"x": [True], "y": [False, False, True]}
    frame = pl.DataFrame(
        [(f"{goal}-{number}", goal, number, won) for goal, loop in goals.items() for number, won in enumerate(loop, 1)],
        schema=["rollout_id", "goal", "attempt", "attack_success"],
        orient="row",
    )
    row = rate(frame)
    assert (row["estimate"], row["n"]) == (pytest.approx(1 / 40), 40)
    assert row["reason"] == (
        "attempts may have stopped at the first success: only the first attempt at each goal counts, which is right either way "
        "(`rw.attempts` uses all); method='beta-binomial' counts all, if later attempts are like the first"
    )


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


@pytest.mark.integration
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["two defenses", "a retry", "batches of 2", "batches of 3", "batches of 5", "no numbers"]
)
def test_coverage_whatever_hides_the_loops(kind: str) -> None:
    """At a chance of .05 an attempt the interval covers it in .94, and `< 5%` passes at most once in forty."""
    rng, repetitions, covered, passed = np.random.default_rng(5), repeated(200), 0, 0
    for _ in range(repetitions):
        frame = _hidden(kind, rng)
        by = ("defense",) if kind == "two defenses" else ()
        row = rw.summarize(frame, by=by, metrics="attack_success").row(0, named=True)
        covered += row["low"] <= 0.05 <= row["high"]
        passed += rw.gate(frame, "attack_success < 0.05", by=by)["answer"][0] == "passed"
    noise = 2.5 / np.sqrt(repetitions)
    assert covered / repetitions >= 0.94 - noise * np.sqrt(0.94 * 0.06)
    assert passed / repetitions <= 0.025 + noise * np.sqrt(0.025 * 0.975)


def _hidden(kind: str, rng: np.random.Generator) -> pl.DataFrame:
    if kind == "two defenses":
        return two_defenses(int(rng.integers(2**32)))
    if kind.startswith("batches"):
        return in_batches(rng, 100, int(kind[-1]))
    frame = campaign(rng, 100)
    if kind == "no numbers":
        return frame.drop("attempt")
    again = frame.filter("attack_success").head(2)
    retries = again.with_columns(pl.col("attempt") + 1, attack_success=False)
    return pl.concat([frame, retries.with_columns(rollout_id=pl.lit("r") + pl.col("rollout_id"))])
