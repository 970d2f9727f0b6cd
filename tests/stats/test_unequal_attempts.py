# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Contrasts of arms with unequal attempts or other goals: the interval and the p-value of one method, or a reason."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rollwise as rw
from tests.simulations import repeated


def arm(name, values, *, metric="attack_success", first=0):
    """Rollouts of one target: a list of values for each goal, whose number begins with the first."""
    goals = [f"g{first + goal}" for goal, tries in enumerate(values) for _ in tries]
    flat = [value for tries in values for value in tries]
    ids = [f"{name}{number}" for number in range(len(flat))]
    return pl.DataFrame({"rollout_id": ids, "target": name, "goal": goals, metric: flat})


def compared(*arms, **options):
    """The row of the contrast of two arms."""
    frame = rw.contrast(pl.concat(arms), of="target", baseline="base", **{"adjust": None} | options)
    assert frame.height == 1
    return frame.row(0, named=True)


def drawn(repetitions, seed, shapes, rate, icc=0.3):
    """Tables of goals, each with its own chance: (name, goals, attempts, first goal) of each arm."""
    rng, parts = np.random.default_rng(seed), []
    last = max(first + goals for _, goals, _, first in shapes)
    precision = (1 - icc) / icc
    rates = rate if isinstance(rate, tuple) else (rate, rate)
    luck = rng.random((repetitions, last))
    for (name, goals, attempts, first), mean in zip(shapes, rates, strict=True):
        chance = stats.beta.ppf(luck, mean * precision, (1 - mean) * precision)[:, first : first + goals, None]
        won = rng.random((repetitions, goals, attempts)) < chance
        places = np.indices(won.shape).reshape(3, -1)
        parts.append(
            pl.DataFrame(
                {
                    "repetition": places[0],
                    "rollout_id": np.char.add(name, np.arange(won.size).astype(str)),
                    "target": name,
                    "goal": (places[1] + first).astype(str),
                    "attack_success": won.ravel(),
                }
            )
        )
    return pl.concat(parts)


def test_the_score_test_by_hand():
    """Eight goals, all broken in four attempts against none in two: t with 7 df where both Wilson ends meet.

    Without a failure (or success) attempts may be copies, so both effective sizes are 8. The lower end is
    1 - sqrt(2) * t^2 / (8 + t^2), which is 0 at t^2 = 8 / (sqrt(2) - 1) = 19.314: p = 2 P(T > 4.3947) = .00318.
    """
    row = compared(arm("base", [[False] * 2] * 8), arm("new", [[True] * 4] * 8))
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(np.sqrt(8 / (np.sqrt(2) - 1)), 7), rel=1e-6)
    assert row["p_value"] == pytest.approx(0.00318, abs=1e-5)
    assert row["method"] == "clustered Newcombe score, paired; score test"
    assert (row["n_unequal"], row["reason"]) == (8, None)


def test_none_of_thirty_against_a_few_is_no_evidence():
    """0 of 30 now, 7 of 600 before in as many goals: all seven signs agree, so that flips say p = 2 / 2^7 / 2 = .008."""
    before = [[True] + [False] * 19] * 7 + [[False] * 20] * 23
    row = compared(arm("base", before), arm("new", [[False]] * 30))
    assert row["p_value"] > 0.3
    assert row["low"] < 0 < row["high"]


TRIES = st.lists(st.booleans(), min_size=1, max_size=6)


@pytest.mark.integration
@given(st.lists(st.tuples(TRIES, TRIES), min_size=2, max_size=9), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_interval_and_p_value_agree_or_say_so(goals, level):
    """Any attempts at any goals: 0 is outside the interval if and only if p is at most 1 - level, or the reason says not."""
    arms = arm("base", [one for one, _ in goals]), arm("new", [other for _, other in goals])
    for paired in (True, False):
        row = compared(*arms, paired=paired, level=level, resamples=500)
        if row["low"] is None or row["p_value"] is None:
            assert row["reason"]
            continue
        excludes, rejects = not row["low"] <= 0 <= row["high"], row["p_value"] <= 1 - level
        said = "p-value and interval are of two methods" in (row["reason"] or "")
        assert (excludes != rejects) == said
        if row["method"].endswith("score test"):
            assert not said


def test_the_reason_says_which_of_both_excludes_none():
    """Five goals of eight got worse in all attempts: sign flips 2 / 2^5 / 2 = .031, the score interval of few contains 0."""
    row = compared(arm("base", [[False] * 3] * 8), arm("new", [[True, False, False]] * 5 + [[False] * 3] * 3))
    assert row["p_value"] == pytest.approx(1 / 32)
    assert row["low"] < 0
    assert row["reason"] == "p-value and interval are of two methods: the test excludes 0, the interval does not"


UNEQUAL = "one arm has at least twice as many attempts per goal: p-value and interval of skewed values are approximate"


@pytest.mark.integration
@pytest.mark.parametrize("options", [{}, {"statistics": "improvement"}, {"method": "t"}, {"method": "bca"}])
def test_numbers_and_other_methods_are_marked(options):
    """Costs of six attempts against two, the improvement, and intervals by name: the reason says that they are approximate."""
    rng = np.random.default_rng(0)
    base, new = rng.lognormal(size=(12, 6)).tolist(), rng.lognormal(size=(12, 2)).tolist()
    row = compared(arm("base", base, metric="grade"), arm("new", new, metric="grade"), **options)
    assert UNEQUAL in row["reason"]
    fewer = compared(arm("base", base, metric="grade"), arm("new", [[*one, *one, 1.0] for one in new], metric="grade"))
    assert fewer["reason"] is None


def test_crossed_cells_are_marked():
    """Goals crossed with tasks have no score interval of pairs: t, and the reason."""
    rng = np.random.default_rng(1)
    cells = [(f"g{goal}", f"t{task}") for goal in range(6) for task in range(5)]
    parts = [
        pl.DataFrame(
            {
                "rollout_id": [f"{name}{goal}{task}{number}" for goal, task in cells for number in range(attempts)],
                "target": name,
                "goal": [goal for goal, _ in cells for _ in range(attempts)],
                "task": [task for _, task in cells for _ in range(attempts)],
                "attack_success": rng.random(30 * attempts) < 0.4,
            }
        )
        for name, attempts in (("base", 4), ("new", 1))
    ]
    row = compared(*parts, cluster=["goal", "task"])
    assert (row["method"], row["reason"]) == ("paired two-way t; t test", UNEQUAL)


@pytest.mark.integration
def test_twice_the_attempts_at_some_goals_either_way():
    """The base has six attempts at half of the goals and two at the others, the new arm the reverse."""
    many, few = [[True, False, False, False, False, False]] * 6, [[True, False]] * 6
    row = compared(arm("base", many + few), arm("new", few + many))
    assert row["method"].endswith("score test")
    alike = compared(arm("base", many + few), arm("new", [one[:5] for one in many] + few))
    assert (alike["n_unequal"], alike["method"].split("; ")[1]) == (6, "exact sign flips")


@pytest.mark.integration
def test_max_t_and_ranks_leave_such_arms_to_the_score_interval():
    """Max-T flips signs, too: it refuses these arms by name, and `rank` compares them by Bonferroni."""
    rng = np.random.default_rng(2)
    arms = [
        arm(name, (rng.random((20, attempts)) < rate).tolist())
        for name, attempts, rate in (("base", 8, 0.2), ("new", 1, 0.3), ("third", 8, 0.5))
    ]
    made = rw.contrast(pl.concat(arms), of="target", baseline="base", adjust="max-t")
    refused, taken = made.sort("group").rows(named=True)
    assert refused["reason"].endswith(
        "max-T needs arms with about as many attempts per goal (one has at least twice as many)"
    )
    assert (refused["p_adjusted"], taken["adjust"]) == (None, "max-T over 1")
    ranks = rw.rank(pl.concat(arms), of="target", metric="attack_success")
    assert ranks["method"].unique().to_list() == ["Bonferroni over 3"]


@pytest.mark.integration
def test_unjudged_attempts_keep_the_larger_p_value():
    """An attempt without a verdict in the arm of one attempt: the p-value is the larger one of both outcomes."""
    base = arm("base", [[True] * 4 + [False] * 4] * 20)
    outcomes = [compared(base, arm("new", [[False]] * 19 + [[last]])) for last in (False, True)]
    open_ = compared(base, arm("new", [[False]] * 19 + [[None]]))
    assert open_["p_value"] == pytest.approx(max(row["p_value"] for row in outcomes))
    assert open_["low"] == pytest.approx(outcomes[0]["low"])
    assert open_["high"] == pytest.approx(outcomes[1]["high"])


@pytest.mark.integration
def test_a_gate_on_a_difference_has_score_intervals():
    """The gate's ends are those of the clustered score interval, although `contrast` has t; and it says nothing of p-values."""
    rng = np.random.default_rng(3)
    old, new = (arm("base", (rng.random((60, 5)) < rate).tolist()) for rate in (0.02, 0.03))
    row = rw.gate(new, "attack_success <= baseline + 10%", baseline=old).row(0, named=True)
    both = old, new.with_columns(target=pl.lit("new"), rollout_id="new" + pl.col("rollout_id"))
    score, t = compared(*both, method="newcombe"), compared(*both)
    assert (row["low"], row["high"]) == (score["low"], score["high"])
    assert t["method"].startswith("paired t; ")
    assert "p-value" not in (row["reason"] or "")


# ── other goals ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize(("common", "pairs"), [(1, False), (5, False), (6, False), (7, True), (10, True)])
def test_all_data_count_unless_half_of_the_goals_are_common(common, pairs):
    """Two arms of ten goals: with seven common ones they are 7 of 13, over half of all; with six, 6 of 14."""
    rng = np.random.default_rng(4)
    base, new = ((rng.random((10, 3)) < rate).tolist() for rate in (0.3, 0.6))
    arms = arm("base", base), arm("new", new, first=10 - common)
    row = compared(*arms)
    # Reasons and ends are those of the option, whichever was chosen.
    assert row == compared(*arms, paired=pairs)
    assert row["n_pairs"] == common
    if not pairs:
        assert row["method"] == "clustered Newcombe score; score test"
        assert row["reason"].endswith("only in base: the difference may be one of the goals")


def test_quantiles_draw_common_goals_together():
    """Two arms over 30 goals, alike but for a constant, and 40 of their own each: what is common cancels."""
    rng = np.random.default_rng(5)
    level = rng.normal(size=110) * 10
    base = arm("base", [[value] for value in level[:70]], metric="grade")
    new = arm("new", [[value + 1] for value in level[40:]], metric="grade", first=40)
    apart = new.with_columns(goal="other " + pl.col("goal"))
    widths = []
    for second in (new, apart):
        row = compared(base, second, statistics="median", metrics="grade", resamples=2000)
        widths.append(row["high"] - row["low"])
    assert widths[0] < 0.95 * widths[1]


def test_improvement_stays_within_goals():
    """A small step at every goal is an improvement of 1 within goals, however many goals only one arm has."""
    base = arm("base", [[10.0 * goal] for goal in range(20)], metric="grade")
    new = arm("new", [[10.0 * goal + 1] for goal in range(15, 40)], metric="grade", first=15)
    assert compared(base, new, statistics="improvement", metrics="grade")["difference"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "attempts", "rate"),
    [
        (30, (20, 1), 0.05),
        (30, (20, 1), 0.1),
        (50, (10, 1), 0.05),
        (100, (10, 1), 0.03),
        (40, (10, 2), 0.05),
        (30, (2, 1), 0.1),
    ],
)
def test_level_and_coverage_with_unequal_attempts(goals, attempts, rate, covers, record_property):
    """No difference at any goal: p <= .05 in at most .05, and the interval holds 0 in at least .94.

    Sign flips rejected in .195, .086, .103, .102 and .063 of the first five settings, and t covered .867, .917, .907 and .903.
    """
    repetitions = repeated(1000)
    tables = drawn(repetitions, goals, [("base", goals, attempts[0], 0), ("new", goals, attempts[1], 0)], rate)
    made = rw.contrast(tables, of="target", baseline="base", by="repetition", metrics="attack_success", adjust=None)
    assert made["method"].unique().to_list() == ["clustered Newcombe score, paired; score test"]
    holds = int(((made["low"] <= 0) & (made["high"] >= 0)).sum())
    record_property("coverage", holds / repetitions)
    assert covers(holds, repetitions, 0.94)
    assert int((made["p_value"] <= 0.05).sum()) == repetitions - holds


@pytest.mark.slow
@pytest.mark.parametrize("attempts", [(20, 1), (10, 2)])
def test_level_with_other_goals_and_unequal_attempts(attempts, covers):
    """Thirty other goals: relabeling them rejected in .18 and .11 of tables without a difference; the score test does not."""
    repetitions = repeated(1000)
    tables = drawn(repetitions, 9, [("base", 30, attempts[0], 0), ("new", 30, attempts[1], 30)], 0.05)
    made = rw.contrast(tables, of="target", baseline="base", by="repetition", metrics="attack_success", adjust=None)
    assert covers(int((made["p_value"] > 0.05).sum()), repetitions, 0.95)
    assert made["method"].unique().to_list() == ["clustered Newcombe score; score test"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "attempts", "rates", "margin"), [(60, 5, (0.02, 0.12), 0.1), (100, 3, (0.01, 0.06), 0.05)]
)
def test_gates_on_a_difference_pass_wrongly_in_at_most_one_in_forty(goals, attempts, rates, margin, record_property):
    """The difference is right at the margin: t passed in .050 and .051 of such runs."""
    repetitions = repeated(1000)
    tables = drawn(repetitions, goals, [("base", goals, attempts, 0), ("new", goals, attempts, 0)], rates)
    old, new = (tables.filter(target=name).drop("target") for name in ("base", "new"))
    made = rw.gate(new, f"attack_success <= baseline + {margin:.0%}", baseline=old, by="repetition")
    passed = int((made["answer"] == "passed").sum())
    record_property("passed wrongly", passed / repetitions)
    assert passed <= 0.025 * repetitions + 2 * np.sqrt(0.025 * 0.975 * repetitions)


@pytest.mark.slow
@pytest.mark.parametrize("common", [3, 10, 20, 30])
def test_coverage_and_power_with_partly_common_goals(common, covers, record_property):
    """Forty goals in each arm, .3 against .5: at least .94, and found in at least .7, where 3 common goals alone found none."""
    repetitions = repeated(500)
    tables = drawn(repetitions, common, [("base", 40, 3, 0), ("new", 40, 3, 40 - common)], (0.3, 0.5))
    made = rw.contrast(tables, of="target", baseline="base", by="repetition", metrics="attack_success", adjust=None)
    holds = int(((made["low"] <= 0.2) & (made["high"] >= 0.2)).sum())
    found = int((made["p_value"] <= 0.05).sum())
    record_property("coverage and power", (holds / repetitions, found / repetitions))
    assert covers(holds, repetitions, 0.94)
    assert covers(found, repetitions, 0.7)
