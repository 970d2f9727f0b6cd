"""Aggregates first, then what is made of them: the same values as in one step, each aggregate once."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import turnwise as tw
from turnwise import metrics as m
from turnwise.measurement.two_steps import two_steps

TURNS = tw.simulate(goals=15, attempts=4, seed=9)[0].with_columns(
    tags=pl.concat_list(pl.lit("a"), pl.col("turn").cast(pl.String)), expected=pl.lit(None, pl.Boolean)
)
TURN, SCORE = pl.col("turn"), pl.col("score")
EXPRESSIONS = {
    **{name: getattr(m, name)() for name in ("attack_success", "time_to_success", "num_turns", "task_success")},
    "within": m.success_within(3),
    "final": m.final("score"),
    "total": m.total("cost_usd"),
    "tokens": m.spent_to_success("tokens"),
    "first": m.first_turn(SCORE > 0.5),
    "to": m.time_to(SCORE > 0.5),
    "ever": m.ever(SCORE > 0.5),
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
    # parts that Polars writes otherwise than a tree of what is known here
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


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_values_are_those_of_one_step(name: str) -> None:
    """Whatever stands in an expression, cut or whole, each rollout has the same value."""
    expression = EXPRESSIONS[name].alias("value")
    once = TURNS.lazy().group_by("rollout_id", maintain_order=True).agg(expression).collect(engine="in-memory")
    steps = two_steps([expression])
    grouped = TURNS.lazy().group_by("rollout_id", maintain_order=True).agg(steps.aggregates)
    assert_frame_equal(grouped.select("rollout_id", *steps.made).collect(engine="in-memory"), once, check_exact=True)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_rollout_measures_as_it_does_alone(name: str) -> None:
    """Neither the other rollouts nor the batch a rollout came in are in its value, eager or lazy."""
    value = EXPRESSIONS[name].alias("value")
    some = TURNS.filter(pl.col("rollout_id").rank("dense") <= 20)
    parts = some.partition_by("rollout_id", maintain_order=True)
    alone = pl.concat([part.group_by("rollout_id").agg(value) for part in parts])
    for frame in (some, some.lazy()):
        assert_frame_equal(tw.measure(frame, value).lazy().select("rollout_id", "value").collect(), alone)


def test_all_together_share_their_aggregates() -> None:
    """The time to success asks for four aggregates, and those that also ask for them for no more."""
    assert len(two_steps([m.time_to_success()]).aggregates) == 4
    both, made = two_steps([m.time_to_success(), m.success_within(1), m.success_within(2), m.attack_success()])
    assert len(both) == 6  # and the ending, and whether any turn succeeded
    assert [expression.meta.output_name() for expression in made] == [
        "time_to_success", "success_within_1", "success_within_2", "attack_success",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["lists", "python", "words", "length"])
def test_what_cannot_be_cut_stays_whole(name: str) -> None:
    """What is neither an aggregate nor made row by row of aggregates is aggregated as it stands, and leaves nothing behind."""
    aggregates, made = two_steps([EXPRESSIONS[name].alias("value")])
    assert [str(expression) for expression in made] == ['col("value")']
    assert [expression.meta.output_name() for expression in aggregates] == ["value"]


@pytest.mark.integration
def test_sums_of_floats_do_not_depend_on_batches_or_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mean has the same last digits in memory, in a scan, and in batches of any size."""
    drawn = tw.simulate(goals=60, attempts=5, seed=3)[0]
    turns = drawn.sort("rollout_id", "turn").with_columns(score=SCORE.fill_null(0.1) / 3)
    whole = tw.measure(turns, mean=SCORE.mean(), total=SCORE.sum())
    for rows in (7, 100, 1_000, 1_500, 2_000, 1_000_000):
        monkeypatch.setattr("turnwise.measurement.batches.MOST_ROWS", rows)
        monkeypatch.setattr("turnwise.measurement.batches._CHUNK", rows)
        lazy = tw.measure(turns.lazy(), mean=SCORE.mean(), total=SCORE.sum()).collect()
        assert lazy.equals(whole.select(lazy.columns))
        pieces = pl.concat([turns[start : start + rows] for start in range(0, turns.height, rows)], rechunk=False)
        assert tw.measure(pieces, mean=SCORE.mean(), total=SCORE.sum()).equals(whole)
