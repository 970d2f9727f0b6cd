"""`measure`: one row per rollout, its facts and its metrics, or a sentence that says why not."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.errors import MetricError, SchemaError

TURNS = pl.DataFrame(
    {
        "rollout_id": ["a", "a", "b", "c"],
        "turn": pl.Series([1, 2, 1, 1], dtype=pl.Int32),
        "target": ["base", "base", "base", "guarded"],
        "succeeded": [False, True, False, None],
        "score": [0.1, 0.9, 0.3, None],
        "model_version": ["v1", "v1", "v2", "v2"],
        "remark": ["x", "y", "x", "x"],
        "train_step": [10, 10, 20, 20],
    }
)


def test_facts_counts_and_metrics_come_along() -> None:
    """Facts, both counts, constant words and the metrics are there; a word that varies and an unkept number are not."""
    got = rw.measure(TURNS, m.attack_success(), worst=pl.col("score").max())
    assert got.columns == [
        "rollout_id", *schema.ROLLOUTS.facts, "model_version", "num_turns", "num_judged", "attack_success", "worst",
    ]  # fmt: skip
    assert got["num_turns"].to_list() == [2, 1, 1]
    assert got["num_judged"].to_list() == [2, 1, 0]
    assert got["attack_success"].to_list() == [True, False, None]
    assert got["worst"].to_list() == [0.9, 0.3, None]
    schema.check(got, schema.ROLLOUTS)


def test_keep_carries_a_number() -> None:
    """A number named in `keep` comes along."""
    assert rw.measure(TURNS, m.attack_success, keep="train_step")["train_step"].to_list() == [10, 20, 20]


@pytest.mark.parametrize("turns", [TURNS, TURNS.lazy()], ids=["eager", "lazy"])
def test_keep_may_name_what_comes_along_anyway(turns: pl.DataFrame | pl.LazyFrame) -> None:
    """A fact of the rollout named in `keep` stands once."""
    assert rw.measure(turns, m.attack_success, keep=["target", "train_step"]).lazy().collect()["target"].to_list() == [
        "base", "base", "guarded",
    ]  # fmt: skip


@pytest.mark.integration
def test_shuffled_rows_give_the_same_rollouts() -> None:
    """The order of rows changes nothing but the order of rollouts."""
    shuffled = TURNS.sample(fraction=1, shuffle=True, seed=3)
    metrics = (m.attack_success, m.time_to_success, m.final("score"))
    assert rw.measure(shuffled, *metrics).sort("rollout_id").equals(rw.measure(TURNS, *metrics))


def test_lazy_in_lazy_out() -> None:
    """A lazy frame stays lazy and gives the same values on the streaming engine."""
    lazy = rw.measure(TURNS.lazy(), m.attack_success())
    assert isinstance(lazy, pl.LazyFrame)
    eager = rw.measure(TURNS, m.attack_success())
    assert lazy.collect(engine="streaming").sort("rollout_id").equals(eager.select(lazy.collect_schema().names()))


@pytest.mark.parametrize("convert", [pl.DataFrame.to_arrow, pl.DataFrame.to_pandas], ids=["arrow", "pandas"])
def test_any_arrow_table_will_do(convert) -> None:
    """A `pyarrow.Table` and a pandas frame are as good as a Polars one."""
    table = convert(TURNS.drop("succeeded"))
    assert isinstance(table, pa.Table | pd.DataFrame)
    assert rw.measure(table, worst=pl.col("score").max())["worst"].to_list() == [0.9, 0.3, None]


def test_no_metric_at_all_measures_outcome_and_timing() -> None:
    """Without metrics, outcome and timing are measured."""
    got = rw.measure(TURNS)
    assert {"attack_success", "task_success", "time_to_success"} <= set(got.columns)


def test_num_turns_may_be_asked_for_again() -> None:
    """`num_turns` is always there; asking for it is no clash."""
    assert rw.measure(TURNS, m.num_turns, m.attack_success)["num_turns"].to_list() == [2, 1, 1]


def test_an_empty_table_has_no_rollouts() -> None:
    """A table without rows gives a table without rows, with every column."""
    got = rw.measure(TURNS.clear(), m.attack_success)
    assert got.height == 0
    assert "attack_success" in got.columns


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rw.measure(TURNS, m.total("speed")), "needs the column speed"),
        (lambda: rw.measure(TURNS, m.attack_success, m.attack_success), "two metrics are called 'attack_success'"),
        (lambda: rw.measure(TURNS, pl.col("score").max(), pl.col("score").min()), "two metrics are called 'score'"),
        (lambda: rw.measure(TURNS, target=pl.col("score").max()), "`target` has the name of a column"),
        (lambda: rw.measure(TURNS, worst=pl.col("score")), "gives a list per rollout"),
        (lambda: rw.measure(TURNS, pl.col("score", "turn").max()), "several columns"),
        (
            lambda: rw.measure(TURNS, m.success_within),  # type: ignore[arg-type]  # that is the error
            "success_within is not a metric by itself",
        ),
        (lambda: rw.measure(TURNS, "task_success"), r"an expression, such as `m.task_success\(\)`"),  # type: ignore[arg-type]
        (lambda: rw.measure(TURNS, 3), r"3 is not a metric; .* `m.attack_success\(\)`"),  # type: ignore[call-overload]
        (lambda: rw.measure(TURNS, keep="trian_step"), "'trian_step', which is not a column"),
    ],
)
def test_a_metric_that_cannot_be_measured_is_one_sentence(call, says: str) -> None:
    """What is wrong with a metric is named: its columns, its name, or its shape."""
    with pytest.raises(MetricError, match=says):
        call()


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (TURNS.drop("rollout_id"), "column `rollout_id` is missing"),
        (TURNS.drop("turn"), "column `turn` is missing"),
        (rw.measure(TURNS), "`turn` is missing; this looks like a table of rollouts.* pass the turns$"),
        (TURNS.with_columns(target=pl.Series(["base", "other", "base", "base"])), "`target` is a fact .* rollout 'a'"),
        (TURNS.with_columns(node_id=pl.lit("n")), "tree nodes"),
    ],
)
def test_a_table_that_is_no_turns_is_one_sentence(frame: pl.DataFrame, says: str) -> None:
    """A missing column, a fact that varies and a tree are refused with the remedy."""
    with pytest.raises(SchemaError, match=says):
        rw.measure(frame, m.attack_success)


def test_a_kept_number_that_varies_is_refused() -> None:
    """A number that varies within a rollout has no one value to keep."""
    with pytest.raises(SchemaError, match="`score` is a fact of the rollout but varies in rollout 'a'"):
        rw.measure(TURNS, m.attack_success, keep="score")


def test_a_metric_may_look_into_lists() -> None:
    """The elements of a list are no column that a table could lack."""
    turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "marks": [[1, 5], [3]]})
    worst = pl.col("marks").list.eval(pl.element().filter(pl.element() < 5)).list.max().max()
    assert rw.measure(turns, worst=worst)["worst"].to_list() == [3]


def test_turns_of_nobody_are_refused() -> None:
    """Turns without an id are not one rollout together, be they measured, summarized or checked."""
    turns = pl.DataFrame({"rollout_id": ["a", None, None], "turn": [1, 1, 2], "succeeded": [True, False, False]})
    said = r"column `rollout_id` is null in 2 rows \(first: row 1\)"
    with pytest.raises(SchemaError, match=f"measure: {said}"):
        rw.measure(turns)
    with pytest.raises(SchemaError, match=f"TURNS: {said}"):
        schema.check(turns.cast({"turn": pl.Int32}), schema.TURNS)
    with pytest.raises(SchemaError, match=r"measure: column `rollout_id` is null somewhere"):
        rw.measure(turns.lazy()).collect()
    with pytest.raises(SchemaError, match=r"summarize: column `rollout_id` is null in 2 rows "):
        rw.summarize(turns.rename({"succeeded": "attack_success"}))


def test_a_metric_that_fails_on_some_turn_of_a_scan_is_one_sentence() -> None:
    """As in memory, whether the rollouts are in order or not."""
    turns = pl.DataFrame({"rollout_id": ["a", "b"], "turn": [1, 1], "prompt": ["7", "seven"]})
    number = pl.col("prompt").cast(pl.Int64).max()
    for frame in (turns, turns.lazy(), turns.reverse().lazy()):
        with pytest.raises(MetricError, match=r"metric `number` cannot be measured .* prompt is String: conversion"):
            rw.measure(frame, m.num_turns, number=number).lazy().collect()


def test_a_metric_of_another_kind_of_column_is_one_sentence() -> None:
    """A sum of texts, or words of numbers: the metric, the column and its dtype are named, of scans as well."""
    turns = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "prompt": ["p"], "n": [3], "expected": ["x"]})
    for table in (turns, turns.lazy()):
        with pytest.raises(
            MetricError, match="`total_prompt` cannot be measured on this table, where prompt is String"
        ):
            rw.measure(table, m.attack_success(), m.total("prompt"))
    with pytest.raises(MetricError, match=r"`token_f1` cannot be measured on this table, where .*n is Int64"):
        rw.measure(turns, m.attack_success(), m.token_f1("n"))


# ── values do not depend on the other rollouts, the order or the batch ────────────────────────────────────────────────
VARIED = rw.simulate(goals=15, attempts=4, seed=9)[0].with_columns(
    tags=pl.concat_list(pl.lit("a"), pl.col("turn").cast(pl.String)), expected=pl.lit(None, pl.Boolean)
)
TURN, SCORE = pl.col("turn"), pl.col("score")
OF_THE_PACKAGE = {
    **{name: getattr(m, name)() for name in ("attack_success", "time_to_success", "num_turns", "task_success")},
    "within": m.success_within(3),
    "final": m.final("score"),
    "total": m.total("cost_usd"),
    "tokens": m.spent_to_success("tokens"),
    "first": m.first_turn(SCORE > 0.5),
    "to": m.time_to(SCORE > 0.5),
    "ever": m.ever(SCORE > 0.5),
}
EXPRESSIONS = {
    **OF_THE_PACKAGE,
    "mean": SCORE.mean(),
    "arithmetic": (SCORE.max() - SCORE.min()) / TURN.count(),
    "filtered": SCORE.filter(TURN.max() == TURN).sum(),
    "nested": (SCORE - SCORE.mean()).abs().max(),
    "shifted": SCORE.diff().max(),
    "shifted aggregate": SCORE.max().shift(1).fill_null(0.0).first(),
    "ranked": SCORE.rank().max(),
    "quantile": SCORE.quantile(0.3),
    "sorted": SCORE.sort_by(TURN).last(),
    "lists": pl.col("tags").first().list.eval(pl.element().max()).list.len(),
    "words": pl.format("{} of {}", TURN.max(), TURN.count()),
    "length": pl.len(),
    "literal": pl.lit(3),
    "struct": pl.struct(TURN.min(), last=TURN.max()),
    "field": pl.struct(low=TURN.min(), high=TURN.max()).struct.field("high"),
    "python": SCORE.map_batches(lambda scores: scores.max(), return_dtype=pl.Float64, returns_scalar=True),
    "cast": TURN.max().cast(pl.Float32).fill_null(0),
    "isin": TURN.max().is_in([1, 2, 10]) & SCORE.max().is_not_null(),
    "window": SCORE.max().over("rollout_id").first(),
    "share": (SCORE > 0.5).sum() / pl.len(),
    "long": pl.when(pl.len() > 2).then(SCORE.max()),
    "length squared": pl.len() * pl.len(),
    "length cast": pl.len().cast(pl.Float64),
    "duration": pl.struct(duration=pl.len().cast(pl.Float64), observed=(SCORE > 0.5).any()),
    "per turn": (SCORE / pl.len()).sum(),
    "gain": (SCORE - SCORE.get(0)).max(),
    "gain of the last": SCORE.get(-1) - SCORE.max(),
    "over the least": (SCORE - SCORE.sort().get(0)).sum(),
    "within a target": (TURN * 2 - TURN.max().over("target")).max(),
    "turns left": (TURN - pl.len()).min(),
    "half": SCORE.filter(pl.col("turn") * 2 <= pl.len()).mean() - SCORE.mean(),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_rollout_measures_as_it_does_alone(name: str) -> None:
    """Neither the other rollouts nor the batch a rollout came in are in its value, eager or lazy."""
    value = EXPRESSIONS[name].alias("value")
    some = VARIED.filter(pl.col("rollout_id").rank("dense") <= 20)
    parts = some.partition_by("rollout_id", maintain_order=True)
    # An expression that reads something and is no metric of `m` is unknown where the rollout ended in an error.
    is_own = name not in OF_THE_PACKAGE and bool(value.meta.root_names())
    ended = (pl.col("ending") == "error").first() & is_own
    alone = pl.concat([part.group_by("rollout_id").agg(pl.when(~ended).then(value).alias("value")) for part in parts])
    for frame in (some, some.lazy()):
        assert_frame_equal(rw.measure(frame, value).lazy().select("rollout_id", "value").collect(), alone)


@pytest.mark.integration
def test_a_sum_is_that_of_its_own_rows() -> None:
    """Long rollouts and short ones beside each other: each has the bytes it has alone."""
    rng = np.random.default_rng(0)
    sizes = [1, 700, 5, 1300, 2000, 3, 129, 8]
    rows = sum(sizes)
    turns = pl.DataFrame(
        {
            "rollout_id": np.repeat(np.arange(len(sizes)), sizes).astype(str),
            "turn": np.arange(rows),
            "score": rng.random(rows) * 10.0 ** rng.integers(-6, 6, rows),
            "solved": rng.random(rows) < 0.5,
        }
    )
    turns = turns.with_columns(score=pl.when(pl.col("turn") % 11 != 3).then("score"), solved=None, some="solved")
    asked: dict[str, Any] = {
        "total": SCORE.sum(),
        "mean": SCORE.mean(),
        "spread": SCORE.std(),
        "of": SCORE.filter("some").sum(),
    }
    whole = rw.measure(turns, **asked)
    parts = turns.partition_by("rollout_id", maintain_order=True)
    assert whole.equals(pl.concat([rw.measure(part, **asked) for part in parts]))


@pytest.mark.integration
def test_sums_of_floats_do_not_depend_on_batches_or_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mean has the same last digits in memory, in a scan, and in batches of any size."""
    drawn = rw.simulate(goals=60, attempts=5, seed=3)[0]
    turns = drawn.sort("rollout_id", "turn").with_columns(score=SCORE.fill_null(0.1) / 3)
    whole = rw.measure(turns, mean=SCORE.mean(), total=SCORE.sum())
    for rows in (7, 100, 1_000, 1_500, 2_000, 1_000_000):
        monkeypatch.setattr("rollwise.measurement.batches.MOST_ROWS", rows)
        monkeypatch.setattr("rollwise.measurement.batches._CHUNK", rows)
        lazy = rw.measure(turns.lazy(), mean=SCORE.mean(), total=SCORE.sum()).collect()
        assert lazy.equals(whole.select(lazy.columns))
        pieces = pl.concat([turns[start : start + rows] for start in range(0, turns.height, rows)], rechunk=False)
        assert rw.measure(pieces, mean=SCORE.mean(), total=SCORE.sum()).equals(whole)


def test_rollouts_whose_turns_are_apart_are_brought_together() -> None:
    """A table in any order gives what the ordered one gives, the rollouts in order of their first rows."""
    turns = rw.simulate(goals=6, attempts=3, seed=2)[0]
    mixed = turns.sample(fraction=1.0, shuffle=True, seed=1)
    score = pl.col("score")
    ours = rw.measure(mixed, mean=score.mean(), most=score.max(), first=pl.col("turn").first())
    assert ours["rollout_id"].to_list() == mixed["rollout_id"].unique(maintain_order=True).to_list()
    stable = mixed.sort("rollout_id", maintain_order=True)
    theirs = rw.measure(stable, mean=score.mean(), most=score.max(), first=pl.col("turn").first())
    assert ours.sort("rollout_id").equals(theirs)


@pytest.mark.integration
def test_an_error_before_any_answer_has_no_number_of_turns() -> None:
    """A rollout that crashed at once is no rollout of 0 turns: it does not pull the mean, and counts as an error."""
    turns = pl.DataFrame(
        {
            "rollout_id": ["a", "a", "b", "b", "c", "d", "e"],
            "turn": [1, 2, 1, 2, 1, None, None],
            "ending": ["success"] * 2 + ["budget"] * 2 + ["error", "error", "target_ended"],
            "succeeded": [False, True, False, False, None, None, None],
        },
        schema_overrides={"turn": pl.Int32},
    )
    for table in (turns, turns.lazy()):
        rollouts = rw.measure(table).lazy().collect()
        assert dict(rollouts.select("rollout_id", "num_turns").rows()) == {"a": 2, "b": 2, "c": 1, "d": None, "e": 0}
    row = rw.summarize(rollouts, metrics="num_turns", statistics="mean", cluster=None).row(0, named=True)
    assert (row["estimate"], row["n"], row["n_error"], row["n_missing"]) == (5 / 4, 4, 1, 0)
    nodes = turns.with_columns(node_id=pl.lit(None, pl.String), parent_id=pl.lit(None, pl.String))
    crashed = rw.measure(rw.rollout.paths(nodes.filter(pl.col("rollout_id").is_in(["d", "e"]))))
    assert crashed["num_turns"].to_list() == [None, 0]
