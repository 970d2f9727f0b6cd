"""Ranks with intervals: what is told apart, what is not, and that all of it holds together."""

import re

import numpy as np
import polars as pl
import pytest
from simulations import repeated
from typer.testing import CliRunner

import rollwise as rw
from rollwise import schema
from rollwise.cli import app
from rollwise.errors import ArgumentError


def rollouts(successes: dict[str, list[int]], *, attempts: int = 1, goals: bool = True) -> pl.DataFrame:
    """Rollouts of targets: the number of successes in the attempts at each goal."""
    rows = [
        {
            "rollout_id": f"{target}{goal}.{attempt}",
            "target": target,
            "goal": f"g{goal}",
            "attack_success": attempt < number,
        }
        for target, numbers in successes.items()
        for goal, number in enumerate(numbers)
        for attempt in range(attempts)
    ]
    frame = pl.DataFrame(rows)
    return frame if goals else frame.drop("goal")


def said(ranks: pl.DataFrame) -> str:
    """What the table of the ranks says below its rows."""
    match = re.search(r"Ranks: (.*?\.) All intervals", rw.tables.markdown(ranks).replace("\n", " "))
    assert match is not None
    return match[1]


THREE = {"a": [1] * 18 + [0] * 2, "b": [1] * 2 + [0] * 18, "c": [1] + [0] * 19}


@pytest.mark.integration
def test_two_that_are_close_are_not_told_apart_and_both_are_told_from_the_third() -> None:
    """18, 2 and 1 of 20 goals: the last two differ at one goal, each differs from the first at 16 or more."""
    ranks = rw.rank(rollouts(THREE), of="target", metric="attack_success")
    assert ranks.columns == list(schema.RANKS.names)
    assert ranks.select("group", "rank", "rank_low", "rank_high", "tier").rows() == [
        ("c", 1, 1, 2, 1),
        ("b", 2, 1, 2, 1),
        ("a", 3, 3, 3, 2),
    ]
    assert ranks["estimate"].to_list() == pytest.approx([0.05, 0.1, 0.9])
    assert ranks["method"].unique().to_list() == ["max-T over 3"]
    assert ranks["p_best"].sum() == pytest.approx(1)
    assert 0.5 < ranks["p_best"][0] < 0.9
    assert said(ranks) == "c and b cannot be told apart."


@pytest.mark.integration
def test_the_other_direction_is_the_mirror_image() -> None:
    """Where higher is better, ranks and tiers are those of the flipped values."""
    frame = rollouts(THREE)
    flipped = frame.with_columns(attack_success=~pl.col("attack_success"))
    columns = ["group", "rank", "rank_low", "rank_high", "tier", "p_best"]
    one = rw.rank(frame, of="target", metric="attack_success", better="higher").sort("group").select(columns)
    other = rw.rank(flipped, of="target", metric="attack_success").sort("group").select(columns)
    assert one.drop("p_best").equals(other.drop("p_best"))
    assert one["p_best"].to_list() == pytest.approx(other["p_best"].to_list(), abs=0.03)
    assert said(rw.rank(frame, of="target", metric="attack_success", better="higher")) == (
        "a is best; b and c cannot be told apart."
    )


@pytest.mark.integration
def test_equal_rates_share_a_rank() -> None:
    """Ten equal groups share rank 1 and one tier, and the chance of being best."""
    ranks = rw.rank(rollouts({f"m{k}": [1, 0] * 10 for k in range(10)}), of="target", metric="attack_success")
    assert set(ranks.select("rank", "rank_low", "rank_high", "tier").rows()) == {(1, 1, 10, 1)}
    assert ranks["p_best"].to_list() == pytest.approx([0.1] * 10, abs=0.03)


@pytest.mark.integration
def test_without_common_goals_the_family_is_that_of_bonferroni() -> None:
    """Rollouts that nothing pairs: intervals at the level 1 - .05/3 of each pair hold together."""
    ranks = rw.rank(rollouts(THREE, goals=False), of="target", metric="attack_success")
    assert ranks["method"].unique().to_list() == ["Bonferroni over 3"]
    assert ranks.select("group", "rank", "rank_low", "rank_high").rows() == [
        ("c", 1, 1, 2),
        ("b", 2, 1, 2),
        ("a", 3, 3, 3),
    ]
    pairs = rw.contrast(
        rollouts(THREE, goals=False), of="target", metrics="attack_success", adjust=None, level=1 - 0.05 / 3
    )
    excluded = pairs.filter((pl.col("low") > 0) | (pl.col("high") < 0))
    assert {*excluded.select("group", "baseline").rows()} == {("b", "a"), ("c", "a")}


@pytest.mark.integration
def test_groups_that_met_other_goals_have_no_rank_by_rates() -> None:
    """Group b met harder goals: its rate is not comparable with that of a, and no rank says that it is."""
    frame = rollouts({"a": [1] * 10 + [0] * 10, "b": [1] * 10 + [0] * 10}).filter(
        (pl.col("target") == "a") | pl.col("goal").is_in([f"g{k}" for k in range(15)])
    )
    ranks = rw.rank(frame, of="target", metric="attack_success")
    assert ranks["rank"].to_list() == [None, None]
    assert ranks.select("rank_low", "rank_high").rows() == [(1, 2), (1, 2)]
    assert all("shared goals" in reason for reason in ranks["reason"])


@pytest.mark.integration
def test_each_group_of_by_is_a_family_of_its_own() -> None:
    """The ranks within an attack are those of its rollouts alone."""
    one, other = rollouts(THREE), rollouts({"a": [0] * 20, "b": [1] * 20, "c": [0] * 20})
    both = pl.concat(
        [one.with_columns(attack=pl.lit("x")), other.with_columns(pl.col("rollout_id") + "y", attack=pl.lit("y"))]
    )
    ranks = rw.rank(both, of="target", metric="attack_success", by="attack")
    for attack, alone in (("x", one), ("y", other)):
        expected = rw.rank(alone.with_columns(attack=pl.lit(attack)), of="target", metric="attack_success", by="attack")
        assert ranks.filter(pl.col("attack") == attack).equals(expected)
    assert said(ranks) == ("x: c and b cannot be told apart; y: a and c cannot be told apart.")


@pytest.mark.integration
def test_unjudged_rollouts_tell_nothing_apart() -> None:
    """Half of the rollouts of c have unjudged turns and no success: it may be as bad as a, or as good as b."""
    frame = rollouts(THREE).with_columns(num_turns=2, num_judged=pl.lit(2))
    open_ = (pl.col("target") == "c") & pl.col("goal").is_in([f"g{k}" for k in range(10, 20)])
    frame = frame.with_columns(
        attack_success=pl.when(open_).then(None).otherwise(pl.col("attack_success")),
        num_judged=pl.when(open_).then(1).otherwise(2),
    )
    ranks = rw.rank(frame, of="target", metric="attack_success").sort("group")
    assert ranks.select("group", "rank_low", "rank_high").rows() == [("a", 2, 3), ("b", 1, 2), ("c", 1, 3)]
    assert ranks["p_best"].to_list() == [None] * 3
    dropped = rw.rank(frame, of="target", metric="attack_success", unjudged="drop")
    assert dropped["p_best"].null_count() == 0


@pytest.mark.integration
def test_pandas_arrow_and_a_lone_group() -> None:
    """Any table; a group of `by` with one value has nothing to be compared with."""
    frame = rollouts(THREE)
    expected = rw.rank(frame, of="target", metric="attack_success")
    assert rw.rank(frame.to_pandas(), of="target", metric="attack_success").equals(expected)
    assert rw.rank(frame.to_arrow(), of="target", metric="attack_success").equals(expected)
    lone = frame.with_columns(attack=pl.when(pl.col("target") == "a").then(pl.lit("x")).otherwise(pl.lit("y")))
    ranks = rw.rank(lone, of="target", metric="attack_success", by="attack")
    assert ranks.select("attack", "group", "rank_low", "rank_high", "p_best").row(0) == ("x", "a", 1, 1, 1.0)
    assert said(ranks) == "x: a has no rival; y: c and b cannot be told apart."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"of": "tagret", "metric": "attack_success"},
            "rank: there is no column 'tagret' to rank; did you mean `target`?",
        ),
        ({"of": "target", "metric": "attack_sucess"}, "attack_sucess"),
        ({"of": "target", "metric": "attack_success", "by": "target"}, "both ranked and grouped by"),
        ({"of": "target", "metric": "own"}, "it is unknown which way 'own' is better"),
        ({"of": "one", "metric": "attack_success"}, "`one` has one value or none; a ranking needs two"),
    ],
)
def test_what_cannot_be_ranked_is_told_in_a_sentence(options: dict[str, str], message: str) -> None:
    """Wrong names, an unknown direction, nothing to compare."""
    frame = rollouts(THREE).with_columns(own=pl.lit(1.0), one=pl.lit("x"))
    with pytest.raises(ArgumentError, match=message):
        rw.rank(frame, **options)  # type: ignore[arg-type]


@pytest.mark.integration
def test_the_command_prints_what_cannot_be_told_apart(tmp_path) -> None:
    """Table, and JSON whose answer says it."""
    file = tmp_path / "rollouts.parquet"
    rollouts(THREE).write_parquet(file)
    shown = CliRunner().invoke(app, ["rank", str(file)])
    assert shown.exit_code == 0, shown.output
    assert "1–2" in shown.output
    as_json = CliRunner().invoke(app, ["rank", str(file), "--format", "json"])
    assert "c and b cannot be told apart" in as_json.output


@pytest.mark.slow
@pytest.mark.parametrize("attempts", [1, 5])
@pytest.mark.parametrize("rates", [(0.05, 0.05, 0.1, 0.3, 0.3), (0.2,) * 6, (0.01, 0.02, 0.02, 0.05)])
def test_all_ranks_hold_together(rates: tuple[float, ...], attempts: int) -> None:
    """With goals of different difficulty, all intervals hold the true ranks at once in at least 95 % (three errors allowed)."""
    rng, number = np.random.default_rng(20), repeated(300)
    truth = np.array(rates)
    first, last = 1 + (truth[None] < truth[:, None]).sum(1), truth.size - (truth[None] > truth[:, None]).sum(1)
    held = 0
    for _ in range(number):
        # The chance of a goal is that of the group times a common difficulty with mean 1.
        chances = np.clip(truth[:, None] * rng.gamma(2, 0.5, size=(1, 40)), 0, 1)
        frame = rollouts(
            {f"m{k}": row.tolist() for k, row in enumerate(rng.binomial(attempts, chances))}, attempts=attempts
        )
        ranks = rw.rank(frame, of="target", metric="attack_success", resamples=1_000).sort("group")
        held += bool((ranks["rank_low"].to_numpy() <= first).all() and (ranks["rank_high"].to_numpy() >= last).all())
    assert held / number >= 0.95 - 3 * (0.95 * 0.05 / number) ** 0.5


@pytest.mark.slow
def test_a_winner_of_ten_equal_groups_is_rarely_claimed() -> None:
    """No rank is told from another and no pair differs in at least .95 of tables (three errors allowed); `best` names one."""
    rng, number = np.random.default_rng(21), repeated(200, reduced=60)
    ranked = differed = 0
    for _ in range(number):
        chances = rng.beta(0.7, 1.6333, 20)  # common to all groups: mean .3, correlation .3
        successes = {f"m{k}": rng.binomial(3, chances).tolist() for k in range(10)}
        ranks = rw.rank(rollouts(successes, attempts=3), of="target", metric="attack_success", resamples=1_000)
        ranked += bool((ranks["rank_low"] > 1).any() or (ranks["rank_high"] < 10).any())
        pairs = rw.contrast(rollouts(successes, attempts=3), of="target", metrics="attack_success", resamples=1_000)
        differed += bool((pairs["p_adjusted"] <= 0.05).any())
    most = 0.05 + 3 * (0.05 * 0.95 / number) ** 0.5
    assert max(ranked, differed) / number <= most
