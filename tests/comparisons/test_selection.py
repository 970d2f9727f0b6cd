# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""`best`, `pareto` and `changes`: the rows that matter, nulls left out, and a sentence where nothing fits."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulations import repeated

import rollwise as rw
from rollwise.errors import ArgumentError

SUMMARY = pl.DataFrame(
    {
        "target": ["a", "b", "c", "d", "a"],
        "defense": ["x", "x", "y", "y", "x"],
        "metric": ["attack_success"] * 4 + ["task_success"],
        "estimate": [0.10, 0.02, 0.02, None, 0.9],
        "high": [0.15, 0.20, 0.04, 0.5, 1.0],
    }
)


def test_best_by_the_catalog():
    """Fewer broken is better, more tasks done is better; ties are all best, and a null is none."""
    assert rw.comparisons.best(SUMMARY, metric="attack_success")["target"].to_list() == ["b", "c"]
    assert rw.comparisons.best(SUMMARY, metric="task_success")["target"].to_list() == ["a"]
    assert rw.comparisons.best(SUMMARY, metric="attack_success", better="higher")["target"].to_list() == ["a"]


def test_best_with_a_constraint():
    """A condition on any column; of each group; and a sentence where nothing meets it."""
    assert rw.comparisons.best(SUMMARY, metric="attack_success", where=pl.col("high") < 0.18)["target"].to_list() == [
        "c"
    ]
    assert rw.comparisons.best(SUMMARY, metric="attack_success", by="defense")["target"].to_list() == ["b", "c"]
    with pytest.raises(ArgumentError, match="none of the 4 rows of 'attack_success' meets the condition"):
        rw.comparisons.best(SUMMARY, metric="attack_success", where=pl.col("high") < 0.01)
    with pytest.raises(ArgumentError, match="there is no metric 'harm'"):
        rw.comparisons.best(SUMMARY, metric="harm")
    with pytest.raises(ArgumentError, match="which way 'harm' is better"):
        rw.comparisons.best(SUMMARY.with_columns(metric=pl.lit("harm")), metric="harm")
    with pytest.raises(ArgumentError, match=r"not a SUMMARY: it lacks estimate .*rw.summarize"):
        rw.comparisons.best(SUMMARY.drop("estimate"), metric="attack_success")


def test_best_compares_like_with_like():
    """A mean is never held against another group's minimum; of two levels, each candidate stands once."""
    turns = [1, 9, 9, 4, 4, 5]
    rollouts = pl.DataFrame({"rollout_id": list("abcdef"), "target": list("AAABBB"), "num_turns": turns})
    summary = rw.summarize(rollouts, by="target", level=[0.5, 0.95])
    found = rw.comparisons.best(summary, metric="num_turns", better="lower")
    assert found.select("target", "statistic", "level").rows() == [("B", "mean", 0.95)]
    assert rw.comparisons.best(summary, metric="num_turns", better="lower", statistic="min")["target"].to_list() == [
        "A"
    ]
    with pytest.raises(ArgumentError, match="statistic='q90'; available: max, mean, median, min"):
        rw.comparisons.best(summary, metric="num_turns", better="lower", statistic="q90")


def candidates(rng, number):
    """ROLLOUTS of equal targets: 20 goals of the same chance in all of them, three attempts at each, rate .3."""
    chances = rng.beta(0.7, 1.6333, 20)
    goals = np.repeat(np.arange(20), 3)
    return pl.concat(
        pl.DataFrame(
            {
                "rollout_id": [f"{target}/{row}" for row in range(60)],
                "target": f"t{target}",
                "goal": [f"g{goal}" for goal in goals],
                "attack_success": rng.random(60) < chances[goals],
            }
        )
        for target in range(number)
    )


def test_the_best_of_several_says_that_it_was_chosen():
    """By hand, ten intervals of level .95 hold together with at least 1 - 10·.05 = .5; at .995 with at least .95."""
    rollouts = candidates(np.random.default_rng(0), 10)
    options = {"by": "target", "metrics": "attack_success"}
    usual = rw.comparisons.best(rw.summarize(rollouts, **options), metric="attack_success")
    said = "the best of 10, chosen by its estimate, which is too good on average"
    assert set(usual["reason"]) == {f"{said}, as its interval is; with level=0.995 those of all 10 hold together"}
    wide = rw.comparisons.best(rw.summarize(rollouts, **options, level=0.995), metric="attack_success")
    assert set(wide["reason"]) == {f"{said}; the intervals of all 10 hold together with at least 95 %"}
    # Of one candidate, of one without an interval, and of candidates that a condition left out, nothing is said.
    alone = rw.comparisons.best(
        rw.summarize(rollouts, **options), metric="attack_success", where=pl.col("target") == "t1"
    )
    assert alone["reason"].item() is None
    each = rw.comparisons.best(rw.summarize(rollouts, **options), metric="attack_success", by="target")
    assert each["reason"].null_count() == 10
    spread = rw.summarize(rollouts.with_columns(x=pl.int_range(pl.len())), by="target", metrics="x", statistics="max")
    assert "chosen" not in str(rw.comparisons.best(spread, metric="x", better="higher")["reason"].item())


@pytest.mark.slow
def test_intervals_at_the_named_level_hold_for_the_winner():
    """Of ten equal targets the winner's interval misses .3 far too often at .95, and as often as said at .995."""
    rng, repetitions = np.random.default_rng(1), repeated(400)
    held = np.zeros(2)
    for _ in range(repetitions):
        summary = rw.summarize(candidates(rng, 10), by="target", metrics="attack_success", level=(0.95, 0.995))
        for place, level in enumerate((0.95, 0.995)):
            winner = rw.comparisons.best(summary.filter(level=level), metric="attack_success").row(0, named=True)
            held[place] += winner["low"] <= 0.3 <= winner["high"]
    held /= repetitions
    assert held[0] < 0.93
    assert held[1] >= 0.95 - 2 * (0.05 * 0.95 / repetitions) ** 0.5


@pytest.mark.integration
@given(
    st.lists(
        st.tuples(st.sampled_from("xy"), *[st.one_of(st.none(), st.integers(0, 3)) for _ in range(2)]), max_size=14
    )
)
def test_pareto_by_definition(rows):
    """No rival of the same group is as good in both and better in one; a row with a null is null and beats nobody."""
    frame = pl.DataFrame(rows, schema={"group": pl.String, "harm": pl.Int64, "use": pl.Int64}, orient="row")
    made = rw.comparisons.pareto(frame, {"harm": "lower", "use": "higher"}, by="group")
    assert made.drop("pareto").equals(frame)
    for (group, harm, use), found in zip(rows, made["pareto"], strict=True):
        if harm is None or use is None:
            assert found is None
            continue
        rivals = [row for row in rows if row[0] == group and None not in row]
        beaten = any(h <= harm and u >= use and (h < harm or u > use) for _, h, u in rivals)
        assert found == (not beaten)


def test_pareto_refuses_what_it_cannot_rank():
    """Words, missing columns and misspelt directions."""
    for better, words in (
        ({"name": "lower"}, "'name' is String"),
        ({"cost": "lower"}, "no column 'cost'"),
        ({"harm": "less"}, "'less'} is not a mapping to 'higher' or 'lower'"),
        ({}, "is empty; name at least one column"),
    ):
        with pytest.raises(ArgumentError, match=words):
            rw.comparisons.pareto(pl.DataFrame({"name": ["a"], "harm": [1]}), better)


ROWS = [
    ("new", "gained", True),
    ("new", "lost", False),
    ("new", "same", True),
    ("new", "added", True),
    ("new", "unknown", None),
    ("new", "half", True),
    ("new", "half", False),
    ("old", "gained", False),
    ("old", "lost", True),
    ("old", "same", True),
    ("old", "removed", True),
    ("old", "unknown", True),
    ("old", "half", False),
    ("third", "nobody asked", True),
]


def test_changes_of_infinite_values():
    """What changed between two infinite means is unknown: no NaN."""
    values = {
        "target": ["new", "old"] * 2,
        "goal": ["x", "x", "y", "y"],
        "grade": [float("inf")] * 2 + [1.0, float("inf")],
    }
    frame = pl.DataFrame({"rollout_id": list("abcd"), **values})
    made = rw.changes(frame, of="target", group="new", baseline="old", metric="grade").sort("goal")
    assert made["change"].to_list() == ["unknown", "lost"]
    assert made["difference"].to_list() == [None, float("-inf")]


def test_changes_by_hand():
    """Each goal under what happened to it, largest change first; what no arm tried is not there."""
    frame = pl.DataFrame(ROWS, schema=["target", "goal", "attack_success"], orient="row").with_row_index("rollout_id")
    frame = frame.with_columns(pl.col("rollout_id").cast(pl.String))
    made = rw.changes(frame, of="target", group="new", baseline="old", metric="attack_success")
    found = dict(made.select("goal", "change").iter_rows())
    assert found == {name: name for name in ("gained", "lost", "same", "added", "removed", "unknown")} | {
        "half": "gained"
    }
    assert made["goal"].to_list()[:4] == ["gained", "lost", "half", "same"]
    row = (
        rw.contrast(frame, of="target", baseline="old", metrics="attack_success", unjudged="drop")
        .filter(group="new")
        .row(0, named=True)
    )
    assert made["difference"].drop_nulls().mean() == pytest.approx(row["difference"])
    assert made["difference"].drop_nulls().len() == row["n_pairs"]
    for options, words in (({"group": "newer"}, "'newer' is not a value"), ({"cluster": "topic"}, "no column 'topic'")):
        with pytest.raises(ArgumentError, match=words):
            rw.changes(
                frame, **{"of": "target", "group": "new", "baseline": "old", "metric": "attack_success", **options}
            )
