"""Aggregates of runs are Polars' own: the same values, the same dtypes, the same nulls."""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import turnwise as tw
from turnwise.measurement.runs import Reduction

X, Y = pl.col("x"), pl.col("y")
AGGREGATES = [
    X.max().alias("max"),
    X.min().alias("min"),
    X.sum().alias("sum"),
    X.mean().alias("mean"),
    X.first().alias("first"),
    X.last().alias("last"),
    X.count().alias("count"),
    X.len().alias("len"),
    pl.when(Y).then(X).min().alias("least where"),
    (X + 1 > 2).sum().alias("how many"),
    (X.cast(pl.Float64) / 3).mean().alias("third"),
    X.median().alias("median"),
    X.filter(Y).last().alias("filtered"),
    pl.len().alias("rows"),
]
SPECIAL = [0.0, -0.0, float("inf"), float("-inf"), float("nan")]
# Sums are far below the largest number or well above it: at its edge, the order of adding decides whether they overflow.
NUMBERS: dict[type[pl.DataType], st.SearchStrategy[float]] = {
    pl.Int8: st.integers(-128, 127),
    pl.UInt16: st.integers(0, 65535),
    pl.Int32: st.integers(-(2**31), 2**31 - 1),
    pl.UInt64: st.integers(0, 2**64 - 1),
    pl.Int64: st.integers(-(2**40), 2**40),
    pl.Float32: st.floats(-(2.0**110), 2.0**110).map(lambda number: float(np.float32(number)))
    | st.sampled_from([*SPECIAL, 2e38, -2e38]),
    pl.Float64: st.floats(-1e305, 1e305) | st.sampled_from([*SPECIAL, 1e308, -1e308]),
}


@pytest.mark.integration
@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from(list(NUMBERS)))
def test_they_are_those_of_a_group_by(data: st.DataObject, dtype: type[pl.DataType]) -> None:
    """Any numbers, nulls and NaN among them, in runs of any length or all of one, none at all too."""
    alike = st.tuples(st.integers(1, 4), st.integers(1, 8)).map(lambda shape: [shape[0]] * shape[1])
    sizes = data.draw(st.lists(st.integers(1, 6), max_size=8) | alike)
    total = sum(sizes)
    values = data.draw(st.lists(st.none() | NUMBERS[dtype], min_size=total, max_size=total))
    known = [abs(value) for value in values if value is not None]
    huge = 1e38 if dtype == pl.Float32 else 1e307
    # Infinite ones beside what may overflow on its own: there, too, the order of adding decides.
    assume(not (any(map(np.isinf, known)) and any(huge < value < np.inf for value in known)))
    marks = data.draw(st.lists(st.none() | st.booleans(), min_size=total, max_size=total))
    ids = [f"r{run}" for run, size in enumerate(sizes) for _ in range(size)]
    frame = pl.DataFrame(
        {"rollout_id": ids, "fact": ids[::-1], "x": values, "y": marks},
        schema={"rollout_id": pl.String, "fact": pl.String, "x": dtype, "y": pl.Boolean},
    )
    if dtype not in {pl.Float32, pl.Float64}:
        theirs = [each for each in AGGREGATES if each.meta.output_name() != "how many"]  # x + 1 may overflow there
    else:
        theirs = AGGREGATES
    ours = Reduction(frame.schema, ["fact"], theirs)(frame.lazy())
    grouped = frame.lazy().group_by("rollout_id", maintain_order=True).agg(pl.col("fact").first(), *theirs)
    expected = grouped.collect(engine="in-memory")
    digits = 1e-6 if dtype == pl.Float32 else 1e-12
    # what is added and cancels leaves rounding of the size of what was added
    largest = max((abs(value) for value in values if value is not None and np.isfinite(value)), default=0.0)
    assert_frame_equal(ours, expected.select(ours.columns), rel_tol=digits, abs_tol=digits * largest)


@pytest.mark.parametrize(
    "values",
    [["a", None, "b"], [True, None, False], [[1], None, [2]], [{"a": 1}, None, {"a": 2}]],
    ids=["text", "truth", "list", "struct"],
)
def test_first_and_last_of_anything(values: list[object]) -> None:
    """What is neither number nor truth has a first and a last as well."""
    frame = pl.DataFrame({"rollout_id": [1, 1, 2], "x": values}, strict=False)
    found = Reduction(frame.schema, [], [X.first().alias("first"), X.last().alias("last"), X.count().alias("count")])(
        frame.lazy()
    )
    assert found.rows() == [(1, values[0], values[1], 1), (2, values[2], values[2], 1)]


def test_a_sum_is_that_of_its_own_rows() -> None:
    """Long runs and short ones beside each other: each has the bytes it has alone."""
    rng = np.random.default_rng(0)
    sizes = [1, 700, 5, 1300, 2000, 3, 129, 8]
    ids = np.repeat(np.arange(len(sizes)), sizes)
    values = rng.random(ids.size) * 10.0 ** rng.integers(-6, 6, ids.size)
    frame = pl.DataFrame({"rollout_id": ids, "x": values, "y": rng.random(ids.size) < 0.5})
    frame = frame.with_columns(x=pl.when(pl.int_range(pl.len()) % 11 != 3).then("x"))
    asked = [X.sum(), X.mean().alias("mean"), X.std().alias("spread"), X.filter(Y).sum().alias("some")]
    whole = Reduction(frame.schema, [], asked)(frame.lazy())
    alone = [
        Reduction(frame.schema, [], asked)(part.lazy())
        for part in frame.partition_by("rollout_id", maintain_order=True)
    ]
    assert whole.equals(pl.concat(alone))


def test_rollouts_whose_turns_are_apart_are_brought_together() -> None:
    """A table in any order gives what the ordered one gives, the rollouts in order of their first rows."""
    turns = tw.simulate(goals=6, attempts=3, seed=2)[0]
    mixed = turns.sample(fraction=1.0, shuffle=True, seed=1)
    score = pl.col("score")
    ours = tw.measure(mixed, mean=score.mean(), most=score.max(), first=pl.col("turn").first())
    assert ours["rollout_id"].to_list() == mixed["rollout_id"].unique(maintain_order=True).to_list()
    stable = mixed.sort("rollout_id", maintain_order=True)
    theirs = tw.measure(stable, mean=score.mean(), most=score.max(), first=pl.col("turn").first())
    assert ours.sort("rollout_id").equals(theirs)
