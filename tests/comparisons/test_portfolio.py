# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""`portfolio` and `tradeoff`: what attacks reach together, and what safety costs."""

import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from simulations import repeated

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.stats.intervals import wilson


def tried(rows):
    """ROLLOUTS of (attack, goal, success)."""
    return pl.DataFrame(
        {
            "rollout_id": [f"r{i:03}" for i in range(len(rows))],
            "attack": pl.Series([row[0] for row in rows], dtype=pl.String),
            "goal": pl.Series([row[1] for row in rows], dtype=pl.String),
            "attack_success": pl.Series([row[2] for row in rows], dtype=pl.Boolean),
        }
    )


WINS = {"pair": "uv", "tap": "vwx", "gcg": "u"}
THREE = tried([(attack, goal, goal in wins) for attack, wins in WINS.items() for goal in "uvwxyz"])


@pytest.mark.integration
def test_pairs_by_hand():
    """Pair breaks u, v; tap breaks v, w, x: one alone, two alone, one both, four of six together."""
    row = rw.comparisons.portfolio(THREE).filter(kind="pair", member="pair", other="tap").row(0, named=True)
    counts = {name: row[name] for name in ("only_member", "only_other", "both", "neither", "union", "n")}
    assert counts == {"only_member": 1, "only_other": 2, "both": 1, "neither": 2, "union": 4, "n": 6}
    assert row["estimate"] == pytest.approx(4 / 6)
    assert (row["low"], row["high"]) == pytest.approx(wilson(4, 6))
    assert row["estimand"] == "share of goals with any attack_success by pair or tap; unit: goal"


@pytest.mark.integration
def test_the_greedy_order_by_hand():
    """Tap adds three goals, then gcg one (before pair, by name: both add u alone), then pair none."""
    greedy = rw.comparisons.portfolio(THREE).filter(kind="greedy")
    assert greedy.select("rank", "member", "only_member", "union").rows() == [
        (1, "tap", 3, 3),
        (2, "gcg", 1, 4),
        (3, "pair", 0, 4),
    ]
    assert rw.schema.check(rw.comparisons.portfolio(THREE), schema.PORTFOLIO).columns == list(schema.PORTFOLIO.names)


@pytest.mark.integration
def test_what_was_chosen_for_its_luck_has_an_interval_for_every_choice():
    """The best of three attacks is one of three sets, so .05/3 is left out of Clopper and Pearson's; all three are one: .05."""
    greedy = rw.comparisons.portfolio(THREE).filter(kind="greedy").sort("rank")
    for row, reached, left in zip(greedy.rows(named=True), (3, 4, 4), (0.05 / 3, 0.05 / 3, 0.05), strict=True):
        ends = binomtest(reached, 6).proportion_ci(1 - left, method="exact")
        assert (row["low"], row["high"]) == pytest.approx(tuple(ends))
        assert row["level"] == 0.95
    assert greedy["method"].unique().to_list() == ["exact; for all choices of as many at once"]
    assert greedy["estimand"][0].endswith("by tap or any member before it, chosen on these goals; unit: goal")
    many = tried([(f"a{n:02}", goal, (n + ord(goal)) % 7 == 0) for n in range(60) for goal in "uvwxyz"])
    assert rw.comparisons.portfolio(many).filter(kind="greedy").select((pl.col("low") < pl.col("high")).all()).item()


@pytest.mark.slow
@pytest.mark.parametrize(("goals", "attacks", "rate"), [(30, 10, 0.3), (100, 10, 0.3), (50, 5, 0.2), (30, 20, 0.1)])
def test_what_the_chosen_reach_is_covered(goals, attacks, rate):
    """Equal attacks: Wilson's interval of the first three chosen held the truth .1 to .9 of the time; theirs does .95 and more."""
    rng, names, repeats = np.random.default_rng(goals), [f"a{n:02}" for n in range(attacks)], repeated(200)
    truth = 1 - (1 - rate) ** np.arange(1, 4)
    hits, plain = np.zeros((2, 3))
    for _ in range(repeats):
        won = rng.random((goals, attacks)) < rate
        grid = [(name, f"g{goal}", bool(won[goal, n])) for n, name in enumerate(names) for goal in range(goals)]
        rows = (
            rw.comparisons.portfolio(tried(grid)).filter(pl.col("kind") == "greedy", pl.col("rank") <= 3).sort("rank")
        )
        hits += (rows["low"].to_numpy() <= truth) & (truth <= rows["high"].to_numpy())
        low, high = np.transpose([wilson(union, goals) for union in rows["union"]])
        plain += (low <= truth) & (truth <= high)
    assert (hits / repeats >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / repeats)).all()
    assert (plain / repeats).min() < 0.9


@pytest.mark.integration
@given(st.integers(1, 9), st.integers(1, 6), st.randoms())
def test_the_greedy_order_against_all_sets(goals, attacks, random):
    """The first reaches as much as any, as many as are chosen at least 1 - 1/e of what the best so many reach, all what all do."""
    won = {f"a{n}": {f"g{goal}" for goal in range(goals) if random.random() < 0.4} for n in range(attacks)}
    frame = tried([(name, f"g{goal}", f"g{goal}" in reached) for name, reached in won.items() for goal in range(goals)])
    greedy = rw.comparisons.portfolio(frame).filter(kind="greedy").sort("rank")
    for row in greedy.rows(named=True):
        best = max(len(set().union(*some)) for some in combinations(won.values(), row["rank"]))
        assert (1 - 1 / math.e) * best <= row["union"] <= best
        assert row["union"] == len(set().union(*(won[name] for name in greedy["member"][: row["rank"]])))
        assert row["rank"] not in {1, attacks} or row["union"] == best


def test_unknown_is_not_unreached():
    """A goal with an unknown attempt and no success, or not tried, is left out of the comparison and counted."""
    ours = [("a", "x", True), ("a", "x", None), ("a", "y", False), ("a", "y", None), ("a", "z", False)]
    theirs = [("b", "x", False), ("b", "y", True), ("b", "z", False), ("b", "only b", True), ("none", "x", False)]
    frame = tried([*ours, *theirs])
    row = rw.comparisons.portfolio(frame).filter(kind="pair").row(0, named=True)
    assert (row["n"], row["n_missing"], row["only_member"], row["neither"]) == (2, 2, 1, 1)
    assert set(rw.comparisons.portfolio(frame)["member"]) == {"a", "b"}


def test_groups_and_bad_usage():
    """Each group has its own portfolio; what is not Boolean or not there is refused."""
    both = pl.concat(
        [THREE.with_columns(target=pl.lit(name), rollout_id=pl.lit(name) + pl.col("rollout_id")) for name in "ts"]
    )
    made = rw.comparisons.portfolio(both, by="target")
    assert made["target"].to_list() == ["s"] * 6 + ["t"] * 6
    assert made.filter(target="t").drop("target").equals(rw.comparisons.portfolio(THREE))
    with pytest.raises(ArgumentError, match="there is no column 'method'"):
        rw.comparisons.portfolio(THREE, members="method")
    with pytest.raises(ArgumentError, match="give a Boolean metric"):
        rw.comparisons.portfolio(THREE.with_columns(attack_success=0.5))  # 0 and 1 alone stand for False and True
    assert rw.comparisons.portfolio(THREE.clear()).height == 0


@pytest.mark.integration
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from([True, False, None])), max_size=30
    )
)
def test_counts_add_up(rows):
    """The four cells add up to the goals compared, and every share has an interval with width."""
    for row in rw.comparisons.portfolio(tried(rows)).rows(named=True):
        assert row["only_member"] + row["only_other"] + row["both"] + row["neither"] == row["n"]
        assert row["union"] == row["n"] - row["neither"]
        assert (row["n"] == 0) == (row["low"] is None)
        assert row["low"] is None or row["low"] < row["high"]


def test_tradeoff_by_hand():
    """Four rollouts known in both, one in one alone: four shares that add up, with their intervals."""
    frame = pl.DataFrame(
        {
            "rollout_id": list("abcde"),
            "goal": list("vwxyz"),
            "attack_success": [True, False, False, False, None],
            "task_success": [False, True, True, False, True],
        }
    )
    made = rw.comparisons.tradeoff(frame)
    assert made["count"].to_list() == [1, 2, 1, 0]
    assert made["estimate"].sum() == pytest.approx(1.0)
    assert made["n_missing"].unique().item() == 1
    # The fifth rollout solved the task, whatever the attack did: 2 or 3 of 5 in that cell.
    assert (made["low"][1], made["high"][1]) == pytest.approx((wilson(2, 5)[0], wilson(3, 5)[1]))
    left_out = rw.comparisons.tradeoff(frame, unjudged="drop")
    assert (left_out["low"][1], left_out["high"][1]) == pytest.approx(wilson(2, 4))
    assert rw.schema.check(made, schema.TRADEOFF).columns == list(schema.TRADEOFF.names)
    with pytest.raises(ArgumentError, match="there is no metric 'task_success'"):
        rw.comparisons.tradeoff(frame.drop("task_success"))


KNOWN = st.sampled_from([True, False, None])


@pytest.mark.integration
@given(st.lists(st.tuples(st.sampled_from("st"), st.sampled_from("xyz"), KNOWN, KNOWN), min_size=1, max_size=25))
def test_the_four_shares_add_up(rows):
    """In every group the shares add up to one and the counts to what is known; each has an interval of some width or a reason."""
    frame = pl.DataFrame(
        [(f"r{i:03}", *row) for i, row in enumerate(rows)],
        schema={"rollout_id": pl.String, "target": pl.String, "goal": pl.String, "attack_success": pl.Boolean,
                "task_success": pl.Boolean},
        orient="row",
    )  # fmt: skip
    made = rw.comparisons.tradeoff(frame, by="target", level=[0.8, 0.95])
    assert made.height == 8 * frame["target"].n_unique()
    for (target, _), cells in made.group_by("target", "level"):
        known = frame.filter(pl.col("target") == target).drop_nulls()
        assert cells["count"].sum() == known.height
        assert cells["n"].unique().to_list() == [known.height]
        assert (cells["n"] + cells["n_missing"] == frame.filter(pl.col("target") == target).height).all()
        if known.height:
            assert cells["estimate"].sum() == pytest.approx(1.0)
        else:
            assert cells["estimate"].is_null().all()
        for cell in cells.rows(named=True):
            assert cell["low"] < cell["high"] if cell["low"] is not None else cell["reason"]
            assert (
                cell["count"]
                == known.filter(attack_success=cell["attack_success"], task_success=cell["task_success"]).height
            )


@pytest.mark.slow
def test_coverage_of_a_cell_over_goals(record_property):
    """Goals that are secure, useful, both or neither more than others: each cell's interval holds its share in .95 of draws."""
    rng, repetitions, truth = np.random.default_rng(0), repeated(1000), np.array([0.1, 0.6, 0.25, 0.05])
    goal = np.repeat(np.arange(40), 5)
    named = {"rollout_id": [f"r{i:03}" for i in range(200)], "goal": [f"g{g:02}" for g in goal]}
    hits, plain = np.zeros(4), 0
    for _ in range(repetitions):
        chances = np.cumsum(rng.dirichlet(truth * 7 / 3, 40), axis=1)
        cell = (rng.random((200, 1)) > chances[goal, :3]).sum(axis=1)
        made = rw.comparisons.tradeoff(
            pl.DataFrame({**named, "attack_success": cell >= 2, "task_success": cell % 2 == 1})
        )
        hits += (made["low"].to_numpy() <= truth) & (truth <= made["high"].to_numpy())
        low, high = wilson(int((cell == 1).sum()), 200)
        plain += low <= truth[1] <= high
    record_property("coverage", {"cells": (hits / repetitions).tolist(), "without goals": plain / repetitions})
    assert (hits / repetitions >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / repetitions)).all()
    assert plain / repetitions < 0.9


@pytest.mark.integration
def test_tradeoff_of_real_agentdojo_logs(shared):
    """AgentDojo's runs: the margins of the table are the two rates that `summarize` gives over the same rollouts."""
    turns = rw.read(shared / "agentdojo_drift")
    rollouts = rw.measure(turns, rw.metrics.attack_success(), rw.metrics.task_success())
    known = rollouts.drop_nulls(["attack_success", "task_success"]).filter(pl.col("attack") != "none")
    made = rw.comparisons.tradeoff(known)
    assert made["count"].sum() == known.height > 100
    for column in ("attack_success", "task_success"):
        rate = made.filter(pl.col(column))["estimate"].sum()
        assert rate == pytest.approx(known[column].mean())


@pytest.mark.integration
def test_a_column_of_lists_groups_by_what_stands_in_them() -> None:
    """A rollout is in the group of each of its tags, once, and without any in that of null: as if each group were alone."""
    rollouts = pl.DataFrame(
        {
            "rollout_id": [f"{attack}{goal}" for attack in "pq" for goal in range(4)],
            "attack": ["p"] * 4 + ["q"] * 4,
            "goal": [str(goal) for goal in range(4)] * 2,
            "attack_success": [True, False, False, False, False, True, False, True],
            "tags": [["x", "y"], ["x", "x"], [], None] * 2,
        }
    )
    found = rw.comparisons.portfolio(rollouts, by="tags")
    assert found["tags"].unique().sort().to_list() == [None, "x", "y"]
    tagged = rollouts.filter(pl.col("tags").list.contains("x")).drop("tags")
    assert found.filter(tags="x").drop("tags").equals(rw.comparisons.portfolio(tagged))
    assert (
        found.filter(pl.col("tags").is_null())
        .drop("tags")
        .equals(rw.comparisons.portfolio(rollouts[[2, 3, 6, 7]].drop("tags")))
    )
