"""Every verb takes every dtype of a column that its values can have: the same numbers as before, or one sentence."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from odd_frames import frames

import rollwise as rw
from rollwise.errors import RollwiseError

NUMBERS = [
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.UInt128),
    *(pl.Float32, pl.Float64, pl.Decimal(20, 2)),
]
WORDS = [pl.String, pl.Categorical, pl.Enum]
OTHER: list[Any] = [
    *(pl.Null, pl.Boolean, pl.Date, pl.Datetime("us"), pl.Duration("us"), pl.Time, pl.Binary),
    *(pl.List(pl.Int64), pl.Array(pl.Int64, 1), pl.Struct({"a": pl.Int64}), pl.Object),
]
Verb = Callable[[pl.DataFrame], Any]
OF_ROLLOUTS: dict[str, Verb] = {
    "summarize": rw.summarize,
    "summarize by target": lambda frame: rw.summarize(frame, by="target", resamples=100),
    "attempts": lambda frame: rw.attempts(frame, k=[1, 2]),
    "contrast": lambda frame: rw.contrast(frame, of="target", baseline="base", resamples=100),
    "changes": lambda frame: rw.changes(frame, of="target", baseline="base", group="guarded", metric="attack_success"),
    "curve": rw.curve,
    "curve_test": lambda frame: rw.comparisons.curve_test(frame, of="target", baseline="base"),
    "curve_difference": lambda frame: rw.comparisons.curve_difference(frame, of="target", baseline="base"),
    "profile": rw.comparisons.profile,
    "forecast": lambda frame: rw.forecast(frame, k=5),
    "training": lambda frame: rw.training(frame, step="train_step"),
    "iqm": lambda frame: rw.summarize(frame, metrics="worst", statistics="iqm", resamples=100),
    "portfolio": lambda frame: rw.comparisons.portfolio(frame, members="attack"),
    "tradeoff": lambda frame: rw.comparisons.tradeoff(frame, by="target"),
    "gate": lambda frame: rw.gate(frame, "attack_success < 0.5"),
    "plan": lambda frame: rw.plan(frame, goals=[10]),
    "own statistic": lambda frame: rw.summarize(frame, statistics={"mean": np.mean}, metrics="worst", resamples=100),
}
OF_TURNS: dict[str, Verb] = {
    "turns": rw.turns,
    "measure": rw.measure,
    "trajectory": lambda frame: rw.trajectory(frame, column="score"),
    "doctor": rw.doctor,
    "is_tree": rw.schema.is_tree,
}


def column(series: pl.Series, dtype: Any) -> pl.Series:
    """The column in another dtype, with the same values where that can have them; otherwise with values of that dtype."""
    name = series.name
    words, places = series.cast(pl.String), pl.int_range(series.len(), eager=True).alias(name) % 3
    if dtype is pl.Enum:
        return words.cast(pl.Enum(words.drop_nulls().unique().sort()))
    if dtype in WORDS:
        return words.cast(dtype)
    if dtype in NUMBERS:
        plain = series.cast(pl.Int8) if series.dtype == pl.Boolean else series
        return (plain if plain.dtype.is_numeric() else plain.rank("dense")).cast(dtype)
    special: dict[Any, Callable[[], pl.Series]] = {
        pl.Object: lambda: pl.Series(name, [object()] * series.len(), dtype=pl.Object),
        pl.Null: lambda: pl.Series(name, [None] * series.len(), dtype=pl.Null),
        pl.Boolean: lambda: places == 0,
        pl.Binary: lambda: places.cast(pl.String).cast(pl.Binary),
        pl.Struct: lambda: places.alias("a").to_frame().to_struct(name),
        pl.List: places.reshape((-1, 1)).arr.to_list,
        pl.Array: lambda: places.reshape((-1, 1)),
    }
    return special.get(dtype if isinstance(dtype, type) else type(dtype), lambda: places.cast(dtype))()


def outcome(verb: Verb, frame: pl.DataFrame) -> Any:
    """What a verb returns, or its refusal in one sentence."""
    try:
        return verb(frame)
    except RollwiseError as refusal:
        return str(refusal)


@cache
def expected(name: str, of_turns: bool) -> Any:
    verb, frame = (OF_TURNS[name], frames()["turns"]) if of_turns else (OF_ROLLOUTS[name], frames()["rollouts"])
    return verb(frame)


@pytest.mark.integration
@pytest.mark.parametrize("dtype", [*NUMBERS, *WORDS, *OTHER], ids=str)
@pytest.mark.parametrize("name", ["attempt", "goal", "task", "worst", "attack_success"])
def test_verbs_of_rollouts(name: str, dtype: Any) -> None:
    frame = frames()["rollouts"]
    frame = frame.with_columns(task=pl.col("goal"))
    frame = frame.with_columns(column(frame[name], dtype))
    results = [outcome(verb, frame) for verb in OF_ROLLOUTS.values()]
    assert not [result for result in results if isinstance(result, str) and "\n" in result]


@pytest.mark.integration
@pytest.mark.parametrize("dtype", [*NUMBERS, *WORDS, *OTHER], ids=str)
@pytest.mark.parametrize("name", ["turn", "attempt", "goal", "task", "score"])
def test_verbs_of_turns(name: str, dtype: Any) -> None:
    frame = frames()["turns"]
    frame = frame.with_columns(task=pl.col("goal"))
    frame = frame.with_columns(column(frame[name], dtype))
    results = [outcome(verb, frame) for verb in OF_TURNS.values()]
    assert not [result for result in results if isinstance(result, str) and "\n" in result]


@pytest.mark.integration
@pytest.mark.parametrize("dtype", [dtype for dtype in NUMBERS if dtype is not pl.Decimal], ids=str)
@pytest.mark.parametrize("verb", OF_TURNS)
def test_numbers_of_turns_of_any_dtype_give_the_same(verb: str, dtype: Any) -> None:
    """A trajectory once lost all turns before the event where their numbers are unsigned."""
    frame = frames()["turns"]
    result, same = (
        outcome(OF_TURNS[verb], frame.with_columns(pl.col("turn", "attempt").cast(dtype))),
        expected(verb, True),
    )
    assert (
        result.equals(same) if isinstance(same, pl.DataFrame) and verb == "trajectory" else type(result) is type(same)
    )


@pytest.mark.integration
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
@pytest.mark.parametrize("verb", OF_ROLLOUTS)
def test_attempts_of_any_dtype_give_the_same(verb: str, dtype: Any) -> None:
    result = outcome(OF_ROLLOUTS[verb], frames()["rollouts"].with_columns(pl.col("attempt").cast(dtype)))
    assert isinstance(result, pl.DataFrame)
    assert result.equals(expected(verb, False))


@pytest.mark.integration
def test_goals_and_tasks_of_different_words() -> None:
    """Enums of different words once had no common dtype in `doctor`."""
    frame = frames()["turns"].with_columns(pl.col("goal").str.replace("^", "the ").alias("task"))
    enums = frame.with_columns(column(frame["goal"], pl.Enum), column(frame["task"], pl.Enum))
    assert rw.doctor(enums).equals(rw.doctor(frame))


def test_a_number_of_a_turn_that_is_none_is_one_sentence() -> None:
    frame = frames()["turns"].with_columns(pl.lit(2**64 - 1, dtype=pl.UInt64).alias("turn"))
    with pytest.raises(
        RollwiseError, match=r"^trajectory: column `turn` is UInt64 and holds 18446744073709551615, but should"
    ):
        rw.trajectory(frame)
