"""`attempts`: what k tries reach, goals left out counted, loops that stopped at success told and treated as what they are."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln
from simulations import repeated

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError


def tried(goals: dict[str, list], metric: str = "attack_success", **columns) -> pl.DataFrame:
    """ROLLOUTS with the attempts at each goal in order."""
    rows = [(f"{goal}-{n}", goal, n, value) for goal, values in goals.items() for n, value in enumerate(values, 1)]
    frame = pl.DataFrame(rows, schema=["rollout_id", "goal", "attempt", metric], orient="row")
    return frame.with_columns(pl.col("attempt").cast(pl.Int32), **columns)


def at(frame: pl.DataFrame, k: int, kind: str = "asr@k") -> dict:
    """The row of one kind at k attempts."""
    return frame.filter(pl.col("at") == k, pl.col("kind") == kind).row(0, named=True)


FOUR = {"a": [True, False, True, False], "b": [False] * 4, "c": [True] * 4, "d": [False, True, False, False]}


def test_by_hand() -> None:
    """2, 0, 4 and 1 of 4: ASR@2 is (5/6 + 0 + 1 + 1/2)/4, pass^2 is (1/6 + 0 + 1 + 0)/4."""
    got = rw.attempts(tried(FOUR), k=2)
    assert at(got, 2)["estimate"] == pytest.approx((5 / 6 + 0 + 1 + 1 / 2) / 4)
    assert at(got, 2, "pass^k")["estimate"] == pytest.approx((1 / 6 + 1) / 4)
    assert (at(got, 2)["at_risk"], at(got, 2)["events"], at(got, 2, "pass^k")["events"]) == (4, 3, 1)
    assert at(got, 2)["reason"] is None
    assert got["axis"].unique().to_list() == ["attempt"]


def test_every_number_up_to_the_most_by_default() -> None:
    """Without k there is a row for each number of attempts, and ASR never falls while pass^k never rises."""
    got = rw.attempts(tried(FOUR))
    assert got.filter(kind="asr@k")["at"].to_list() == [1, 2, 3, 4]
    assert got.filter(kind="asr@k")["estimate"].is_sorted()
    assert got.filter(kind="pass^k")["estimate"].is_sorted(descending=True)


def test_hundreds_of_attempts_are_listed_at_round_numbers() -> None:
    """One to ten, about ten in each further decade, the largest of the group; any other is given where it is asked for."""
    made = rw.attempts(tried({"g": [True, *[False] * 131], "h": [False] * 40}))
    numbers = made.filter(kind="asr@k")["at"].to_list()
    assert numbers == [*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 132]
    assert rw.attempts(tried({"g": [False] * 20}))["at"].unique().to_list() == [*range(1, 21)]
    assert rw.attempts(tried({"g": [True, *[False] * 131]}), k=(77, 21))["at"].unique().to_list() == [21, 77]


@pytest.mark.integration
def test_published_pass_k_of_tau_bench(shared) -> None:
    """tau-bench, airline, gpt-4o with tool calls: pass^1..4 = .420, .273, .220, .200 as published."""
    rollouts = rw.measure(rw.read(shared / "tau_bench" / "gpt-4o-airline.json"), m.task_success())
    got = rw.attempts(rollouts, metric="task_success")
    assert got.filter(kind="pass^k")["estimate"].round(3).to_list() == [0.42, 0.273, 0.22, 0.2]
    first = got.row(0, named=True)
    assert (first["kind"], first["at_risk"], first["n_clusters"]) == ("pass@k", 50, 50)
    assert "tasks" in first["estimand"]


@pytest.mark.integration
def test_published_accuracy_of_inspect_epochs(shared) -> None:
    """Inspect, 10 samples of 5 epochs: the mean over ids at one attempt is .70 and .66, its standard error .1528 and .1492."""
    published = {"J5EskSJV": (0.70, 0.1528), "jKN69eAY": (0.66, 0.1492)}
    for name, (accuracy, std_error) in published.items():
        (path,) = (shared / "inspect").rglob(f"*{name}*.eval")
        rollouts = rw.measure(rw.read(path), m.task_success())
        row = at(rw.attempts(rollouts, metric="task_success", k=1), 1, "pass@k")
        assert (row["estimate"], row["std_error"]) == (pytest.approx(accuracy), pytest.approx(std_error, abs=5e-5))


@pytest.mark.integration
def test_goals_with_fewer_attempts_are_counted_not_dropped_in_silence() -> None:
    """Trap T15: the legacy pass@k of verifiers ignores incomplete groups and reads a missing reward as failure."""
    got = rw.attempts(tried({**FOUR, "e": [True, None, False], "f": [None, None]}), k=(1, 4))
    one, four = at(got, 1), at(got, 4)
    assert one["estimate"] == pytest.approx((1 / 2 + 0 + 1 + 1 / 4 + 1 / 2) / 5)  # 1 of 2 known, not 1 of 3
    assert (four["at_risk"], four["censored"]) == (4, 2)
    assert "2 of 6 goals have fewer than 4 attempts and are followed up to the last one" in four["reason"]
    assert "3 of 21 attempts have no verdict: the estimate takes the others as representative" in four["reason"]
    # With the three, over 6 goals: (1/2 + 0 + 1 + 1/4 + 1/3 + 0) / 6 if all failed, 2/3 and 1 of the last two if none did.
    assert (one["bound_low"], one["bound_high"]) == (pytest.approx(25 / 72), pytest.approx(41 / 72))


def test_nothing_is_extrapolated() -> None:
    """Beyond the most attempts that any goal has, the estimate is null and says why."""
    row = at(rw.attempts(tried(FOUR), k=5), 5)
    assert (row["estimate"], row["low"], row["at_risk"]) == (None, None, 0)
    assert row["reason"] == "no goal has 5 attempts; the most is 4"


@pytest.mark.integration
def test_goals_without_a_known_attempt_are_said_to_have_none() -> None:
    """No goal has "fewer than 1 attempt"; where nothing is known nothing is doubted; tasks are called tasks."""
    one = at(rw.attempts(tried({**FOUR, "f": [None, None]}), k=1), 1)
    assert "1 of 5 goals has no attempt with a value and is left out" in one["reason"]
    unknown = tried({"f": [None, None], "g": [None]}).cast({"attack_success": pl.Boolean})
    none = at(rw.attempts(unknown, k=2), 2)
    assert none["reason"] == "3 attempts without a value left out; no attempt has a value"
    assert (none["bound_low"], none["bound_high"]) == (0, 1)
    tasks = tried(FOUR).rename({"goal": "task", "attack_success": "task_success"})
    row = at(rw.attempts(tasks, metric="task_success", k=9), 9, "pass@k")
    assert row["reason"] == "no task has 9 attempts; the most is 4"
    alone = rw.attempts(tried(FOUR), k=2, cluster=None)["estimand"][0]
    assert alone.endswith("every goal weighing the same; unit: goal (no clusters)")


def test_no_interval_collapses() -> None:
    """No goal, and every goal, broken: goals are the units of the interval, never a point."""
    for value, low, high in ((False, 0.0, None), (True, None, 1.0)):
        row = at(rw.attempts(tried({f"g{i}": [value] * 3 for i in range(20)}), k=3, stopped=False), 3)
        assert row["high"] - row["low"] == pytest.approx(0.18, abs=0.02)
        assert low in {None, row["low"]}
        assert high in {None, row["high"]}


@pytest.mark.integration
def test_goals_that_hardly_count_do_not_make_certain() -> None:
    """All of 3 in one of 1,140 choices, of fifteen goals of thirty: nearly none, and the upper end is nearly that of none."""
    none, hardly = (
        at(
            rw.attempts(tried({f"g{g}": [j < 2 + (few and g < 15) for j in range(20)] for g in range(30)}), k=3),
            3,
            "pass^k",
        )
        for few in (False, True)
    )
    assert (none["estimate"], hardly["estimate"]) == (0, pytest.approx(15 / 1140 / 30))
    assert none["high"] == pytest.approx(0.122, abs=1e-3)
    assert hardly["high"] > 0.1  # .012 where each of the fifteen counted as a goal with a success


def test_one_goal_has_no_interval() -> None:
    """One goal has an estimate, but nothing to tell how goals differ."""
    row = at(rw.attempts(tried({"a": [True, False, False]}), k=2), 2)
    assert (row["estimate"], row["low"], row["high"]) == (pytest.approx(2 / 3), None, None)
    assert "one cluster" in row["reason"]


STOPPED = tried({f"g{i:02}": [False] * (i % 4) + [i % 5 > 0] for i in range(30)})


def test_stopping_at_success_is_found_and_routed() -> None:
    """Every success is the last attempt: the combinatorial estimator is not valid, says a sentence, Kaplan-Meier used."""
    got = rw.attempts(STOPPED, k=(1, 3))
    row = at(got, 3)
    assert "the combinatorial estimate is not valid" in row["reason"]
    assert row["method"].startswith("clustered Kaplan-Meier over attempts")
    # by hand: of 30, 6 of 8 come at the first attempt, then ...
    durations = [len(values) for _, values in STOPPED.group_by("goal", maintain_order=True)]
    won = STOPPED.group_by("goal", maintain_order=True).agg(pl.col("attack_success").any())["attack_success"].to_list()
    left = 1.0
    for k in (1, 2, 3):
        at_risk = sum(duration >= k for duration in durations)
        left *= 1 - sum(w for duration, w in zip(durations, won, strict=True) if duration == k) / at_risk
    assert row["estimate"] == pytest.approx(1 - left)
    refused = at(got, 3, "pass^k")
    assert (refused["estimate"], refused["low"]) == (None, None)
    assert "stopped at the first success" in refused["reason"]


def test_what_the_user_knows_outranks_what_is_found() -> None:
    """stopped=False takes the number as fixed and says what speaks against it; stopped=True needs no proof."""
    forced = at(rw.attempts(STOPPED, k=1, stopped=False), 1)
    assert forced["method"].startswith("combinatorial")
    assert "assumed to be fixed on request, although all 24 successes are the last" in forced["reason"]
    assert at(rw.attempts(tried(FOUR), k=2, stopped=True), 2)["method"].startswith("clustered Kaplan-Meier")


def test_goals_with_fewer_attempts_count_up_to_their_last_one() -> None:
    """By hand: at the second attempt 4/5 of the goals that have one are not broken, after 8/9 of all goals at the first."""
    goals = {"a": [True, False, False], "b": [False, False], "d": [False]}
    got = rw.attempts(tried(goals), k=(1, 2, 3), stopped=False)
    assert [at(got, k)["estimate"] for k in (1, 2, 3)] == pytest.approx([1 / 9, 1 - 8 / 9 * 4 / 5, 1])
    # Of the goals with a second attempt, 0 of the 1/3 that held at the first hold at both.
    assert [at(got, k, "pass^k")["estimate"] for k in (1, 2)] == pytest.approx([1 / 9, 0])
    assert "1 of 3 goals has fewer than 2 attempts and is followed up to the last one" in at(got, 2)["reason"]


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(5))
def test_more_attempts_never_reach_fewer_goals(seed: int) -> None:
    """Goals of 1 to 8 attempts: ASR@k rises and pass^k falls; with as many attempts for each goal they are the means."""
    rng = np.random.default_rng(seed)
    goals = {f"g{i:02}": (rng.random(rng.integers(1, 9)) < rng.random()).tolist() for i in range(25)}
    got = rw.attempts(tried(goals), stopped=False)
    for kind, sign in (("asr@k", 1), ("pass^k", -1)):
        estimates = got.filter(kind=kind)["estimate"].drop_nulls().to_numpy()  # null where no goal is left to follow
        assert estimates.size >= 7
        assert (np.diff(estimates) * sign >= -1e-12).all()
        rows = got.filter(kind=kind).drop_nulls("low")
        assert ((rows["low"] <= rows["estimate"]) & (rows["estimate"] <= rows["high"])).all()


@pytest.mark.slow
def test_coverage_with_unequal_attempts() -> None:
    """Goals with 3, 5 or 8 attempts, whatever their difficulty: ASR@k is covered at each k, with a bias of at most .02.

    Where every goal with k attempts has succeeded before, nothing tells, and there is no estimate.
    """
    rng, repetitions, alpha, beta = np.random.default_rng(8), repeated(600), 0.3 * 7 / 3, 0.7 * 7 / 3
    covered: dict[int, int] = dict.fromkeys((1, 3, 5, 8), 0)
    estimates: dict[int, list[float]] = {k: [] for k in covered}
    untold = 0
    for _ in range(repetitions):
        chances = rng.beta(alpha, beta, 30)
        goals = {f"g{i:02}": (rng.random(n) < chances[i]).tolist() for i, n in enumerate(rng.choice([3, 3, 5, 8], 30))}
        got = rw.attempts(tried(goals), k=tuple(covered), stopped=False)
        for k in covered:
            row, truth = at(got, k), 1 - np.exp(betaln(alpha, beta + k) - betaln(alpha, beta))
            if row["estimate"] is None:
                assert row["low"] is None
                assert row["reason"]
                untold += 1
                continue
            covered[k] += row["low"] <= truth <= row["high"]
            estimates[k].append(row["estimate"] - truth)
    assert untold <= 0.05 * repetitions
    noise = 2.5 / np.sqrt(repetitions)
    for k, number in covered.items():
        assert number / len(estimates[k]) >= 0.94 - noise * np.sqrt(0.05 * 0.95), k
        assert np.mean(estimates[k]) == pytest.approx(0, abs=noise * np.std(estimates[k]) + 0.02), k


def test_goals_that_may_have_stopped_are_not_left_out() -> None:
    """Two successes, each the last attempt at its goal, tell too little: ASR@5 is not 0 because these goals have fewer than 5."""
    goals = {f"g{i:02}": [False] * 5 for i in range(38)} | {"x": [True], "y": [False, False, True]}
    got = rw.attempts(tried(goals), k=(1, 5))
    row = at(got, 5)
    assert (row["estimate"], row["at_risk"]) == (pytest.approx(2 / 40), 38)
    assert row["method"].startswith("clustered Kaplan-Meier over attempts")
    assert (
        "is not known whether attempts stopped at a success, with only 2 successes; Kaplan-Meier, which is valid either way"
        in row["reason"]
    )
    row = at(got, 5, "pass^k")
    assert (row["estimate"], row["low"]) == (None, None)
    assert row["reason"].startswith(
        "it is not known whether attempts stopped at a success: pass^k needs a number of attempts fixed beforehand; if it was, "
        "set stopped to false"
    )
    assert at(rw.attempts(tried(goals), k=5, stopped=False), 5, "pass^k")["estimate"] == 0
    assert at(rw.attempts(tried(goals), k=5, stopped=False), 5)["estimate"] == pytest.approx(2 / 40)
    even = {**goals, "x": [False] * 4 + [True], "y": [False] * 4 + [True]}
    assert at(rw.attempts(tried({**even, "x": [False] * 5}), k=5), 5)["method"].startswith("combinatorial")


@pytest.mark.integration
def test_what_cannot_be_told_is_said() -> None:
    """Without an order, or with too few successes, the row says that stopping cannot be told."""
    unordered = at(rw.attempts(tried(FOUR).drop("attempt"), k=1), 1)
    assert "no column `attempt` orders them" in unordered["reason"]
    # Rows in the order of the attempts show it, and the row says that their order was taken.
    in_order = at(rw.attempts(STOPPED.drop("attempt"), k=1), 1)
    assert in_order["estimate"] == pytest.approx(at(rw.attempts(STOPPED, k=1), 1)["estimate"])
    assert in_order["reason"].startswith(
        "no column `attempt` numbers them, so the order of rows is taken; attempts stopped"
    )
    few = at(rw.attempts(tried({"a": [False, True], "b": [False, False]}), k=1), 1)
    assert (
        "is not known whether attempts stopped at a success, with only 1 success; assumed to be fixed" in few["reason"]
    )
    # stopped on request without an order: the success is the last, as it must have been
    assert at(rw.attempts(STOPPED.drop("attempt"), k=3, stopped=True), 3)["estimate"] == pytest.approx(
        at(rw.attempts(STOPPED, k=3), 3)["estimate"]
    )


def test_runs_that_number_their_attempts_alike_are_loops_of_their_own() -> None:
    """Two runs with attempts 1..n each: pooled for the share, apart for telling whether loops stopped."""
    twice = pl.concat(
        [
            STOPPED.with_columns(pl.concat_str("rollout_id", pl.lit(run)).alias("rollout_id"), run=pl.lit(run))
            for run in ("x", "y")
        ]
    )
    assert "the combinatorial estimate is not valid" in at(rw.attempts(twice, k=1), 1)["reason"]


def test_attempts_by_different_attacks_are_not_the_same_attempt() -> None:
    """Two attacks on one goal are two things tried; the goal stays the unit."""
    both = pl.concat(
        [tried(FOUR, rollout_id=pl.col("rollout_id") + attack, attack=pl.lit(attack)) for attack in ("pair", "tap")]
    )
    row = at(rw.attempts(both, k=2), 2)
    assert (row["at_risk"], row["n_clusters"]) == (8, 4)
    assert row["estimate"] == pytest.approx(at(rw.attempts(tried(FOUR), k=2), 2)["estimate"])


@pytest.mark.integration
def test_unjudged_attempts_widen_the_interval() -> None:
    """One True settles an attempt, one False never does: the interval runs from all failures to all successes."""
    goals = {f"g{i}": [False, i % 2 == 0, False, None if i == 3 else True, False] for i in range(12)}
    judged = pl.when(pl.col("attack_success").is_null()).then(1).otherwise(3).cast(pl.Int32)
    frame = tried(goals, num_turns=pl.lit(3, dtype=pl.Int32), num_judged=judged)
    row = at(rw.attempts(frame, k=1), 1)
    low, high = (
        at(rw.attempts(frame.with_columns(pl.col("attack_success").fill_null(value), num_judged="num_turns"), k=1), 1)
        for value in (False, True)
    )
    assert low["estimate"] < row["estimate"] < high["estimate"]
    assert (row["low"], row["high"]) == (low["low"], high["high"])
    assert "1 of 60 attempts has unjudged turns and no success" in row["reason"]


@pytest.mark.integration
def test_unjudged_attempts_count_with_their_expected_success() -> None:
    """By hand: the unjudged attempt follows a rate of 1/2, so of goal b's pairs one half has a success in expectation."""
    frame = tried({"a": [True, False], "b": [False, None], "c": [True, False]}).with_columns(
        num_turns=pl.lit(2, dtype=pl.Int32),
        num_judged=pl.when(pl.col("attack_success").is_null()).then(1).otherwise(2).cast(pl.Int32),
        time_to_success=pl.struct(
            duration=pl.when("attack_success").then(2).when(pl.col("attack_success").is_null()).then(1).otherwise(2),
            observed=pl.col("attack_success").fill_null(value=False),
        ),
    )
    for choice in ("bounds", "censor"):
        got = rw.attempts(frame, k=[1, 2], stopped=False, unjudged=choice)
        # After turn 1 all six attempts are followed on but for the unjudged one: 2 of 5 succeed at turn 2.
        assert got.filter(kind="asr@k")["estimate"].to_list() == pytest.approx(
            [(0.5 + 0.2 + 0.5) / 3, (1 + 0.4 + 1) / 3]
        )
        assert got.filter(kind="pass^k")["estimate"].to_list() == pytest.approx([(0.5 + 0.2 + 0.5) / 3, 0.0])
    dropped = rw.attempts(frame, k=1, stopped=False, unjudged="drop").filter(kind="asr@k")
    assert dropped["estimate"].item() == pytest.approx((0.5 + 0 + 0.5) / 3)
    assert "left out" in dropped["reason"].item()


def test_best_of_k_of_a_score() -> None:
    """A number gives the expected largest of k: (3 + 3 + 2)/3 and (6 + 6 + 5)/3 for pairs of 1, 2, 3 and 4, 5, 6."""
    frame = tried({"a": [1.0, 2.0, 3.0], "b": [6.0, 4.0, 5.0]}, metric="harm")
    got = rw.attempts(frame, metric="harm", k=2)
    assert got["kind"].to_list() == ["best@k"]
    assert got["estimate"][0] == pytest.approx((8 / 3 + 17 / 3) / 2)
    assert got["method"][0] == "combinatorial, t"
    assert (
        rw.attempts(tried({"a": [1.0, 1.0], "b": [1.0, 1.0]}, metric="harm"), metric="harm", k=2)["reason"][0]
        == "no variation"
    )


def test_benign_rollouts_are_no_attempts() -> None:
    """What the metric does not apply to is no attempt at it; a group of nothing else keeps its rows."""
    frame = tried(FOUR, attack=pl.lit("none"), attack_success=None)
    row = at(rw.attempts(frame.with_columns(pl.col("attack_success").cast(pl.Boolean)), k=1), 1)
    assert (row["estimate"], row["at_risk"]) == (None, 0)


def test_rollouts_without_a_goal_are_alike_to_no_other() -> None:
    """A null goal is its own goal."""
    frame = tried({"a": [True, False]}).with_columns(goal=pl.lit(None, dtype=pl.String))
    assert at(rw.attempts(frame, k=1), 1)["at_risk"] == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"metric": "x"}, "no metric 'x'"),
        ({"metric": "goal"}, "attempts have a Boolean or a number"),
        ({"k": 0}, "k=0 is not a valid number of attempts"),
        ({"k": (1, 2.5)}, "k=2.5 is not a valid number of attempts"),
        ({"stopped": "maybe"}, "stopped='maybe' is unknown"),
        ({"by": "targets"}, "no column 'targets'"),
        ({"cluster": "attempt"}, "attempts at a goal are never independent"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_sentence(options: dict, says: str) -> None:
    """A wrong option names itself and what there is instead."""
    with pytest.raises(ArgumentError, match=says):
        rw.attempts(tried(FOUR), **options)


def test_a_table_that_says_not_what_was_attempted() -> None:
    """Without goal and task nothing repeats; a table without ids is no ROLLOUTS."""
    with pytest.raises(ArgumentError, match="name the column `goal` or `task`"):
        rw.attempts(tried(FOUR).drop("goal"))
    with pytest.raises(SchemaError, match="rollout_id"):
        rw.attempts(tried(FOUR).drop("rollout_id"))


cells = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from([True, False, None]), st.sampled_from("xy")),
    min_size=1,
    max_size=40,
)


@pytest.mark.integration
@given(cells, st.randoms(), st.sampled_from(["detect", True, False]))
def test_properties(drawn: list, random, stopped) -> None:
    """Ends hold the share and lie in [0, 1]; neither the order of rows nor another group changes a row."""
    number: dict = {}
    rows = []
    for goal, value, target in drawn:
        number[goal, target] = number.get((goal, target), 0) + 1
        rows.append((f"{target}{goal}{number[goal, target]}", goal, number[goal, target], value, target))
    names = {
        "rollout_id": pl.String,
        "goal": pl.String,
        "attempt": pl.Int32,
        "attack_success": pl.Boolean,
        "target": pl.String,
    }
    frame = pl.DataFrame(rows, schema=names, orient="row")
    random.shuffle(rows)
    options = {"by": "target", "k": (1, 2, 5), "stopped": stopped}
    got = rw.attempts(frame, **options)
    schema.check(got, schema.CURVE)
    assert got.equals(rw.attempts(pl.DataFrame(rows, schema=names, orient="row"), **options))
    assert got.filter(target="x").equals(rw.attempts(frame.filter(target="x"), **options))
    known = got.drop_nulls(["low", "high"])
    assert known["low"].is_between(0, 1).all()
    assert known["high"].is_between(0, 1).all()
    assert (known["low"] <= known["estimate"] + 1e-12).all()
    assert (known["estimate"] <= known["high"] + 1e-12).all()
    assert (known["low"] < known["high"]).all()
    assert got.filter(pl.col("low").is_null())["reason"].null_count() == 0


def test_levels_nest() -> None:
    """A wider level holds a narrower one."""
    rng = np.random.default_rng(0)
    frame = tried({f"g{i}": (rng.random(6) < 0.3).tolist() for i in range(30)})
    got = rw.attempts(frame, k=3, level=(0.5, 0.95)).filter(kind="asr@k")
    assert got["low"][1] < got["low"][0] < got["high"][0] < got["high"][1]


@pytest.mark.slow
@pytest.mark.parametrize("goals", [12, 40])
def test_the_best_of_three_covers(goals: int) -> None:
    """Skewed goals and normal noise, 6 attempts each: E[best of 3] is .25 + .4·3/(2√π), held at least .94 of the time.

    Drawn with replacement the best of 3 would be .05 less, a standard error of 40 goals.
    """
    rng, hits, repetitions = np.random.default_rng(goals), 0, repeated(1000)
    truth = 0.25 + 0.4 * 3 / (2 * np.sqrt(np.pi))
    names = [f"g{goal:02}" for goal in range(goals)]
    for repetition in range(repetitions):
        harm = rng.beta(0.5, 1.5, (goals, 1)) + 0.4 * rng.normal(size=(goals, 6))
        frame = tried(dict(zip(names, harm.tolist(), strict=True)), metric="harm")
        row = rw.attempts(frame, metric="harm", k=3, seed=repetition).row(0, named=True)
        hits += row["low"] <= truth <= row["high"]
    assert hits / repetitions >= 0.94 - 2 * (0.94 * 0.06 / repetitions) ** 0.5, hits / repetitions
