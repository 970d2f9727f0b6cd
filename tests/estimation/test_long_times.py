"""Times of any size: verbs take as long as the data are large, and refuse the same durations."""

import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError

TIME = pl.Struct({"duration": pl.Int64, "observed": pl.Boolean})


def rollouts(**durations: Any) -> pl.DataFrame:
    """Forty rollouts over twenty goals, with some durations replaced by row number."""
    ends = [durations.get(f"row{row}", row % 9 + 1) for row in range(40)]
    return pl.DataFrame(
        {
            "rollout_id": [f"r{row:02}" for row in range(40)],
            "goal": [f"g{row % 20}" for row in range(40)],
            "target": ["a", "b"] * 20,
            "num_turns": [9] * 40,
            "time_to_success": [{"duration": end, "observed": row % 3 == 0} for row, end in enumerate(ends)],
        },
        schema_overrides={"time_to_success": TIME},
    )


VERBS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "summarize": lambda frame: rw.summarize(frame, by="target", metrics="time_to_success"),
    "summarize merged": lambda frame: rw.summarize(frame.lazy(), metrics="time_to_success", merge=True),
    "curve": lambda frame: rw.curve(frame, by="target"),
    "incidence": lambda frame: rw.curve(frame, kind="incidence"),
    "hazard": lambda frame: rw.curve(frame, kind="hazard"),
    "band": lambda frame: rw.curve(frame, kind="survival", band="simultaneous"),
    "contrast": lambda frame: rw.contrast(frame, of="target", baseline="a", metrics="time_to_success"),
    "curve_difference": lambda frame: rw.comparisons.curve_difference(frame, of="target", baseline="a"),
    "curve_test": lambda frame: rw.comparisons.curve_test(frame, of="target", baseline="a"),
}


@pytest.mark.integration
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("longest", [100_000, 2**31 - 1, 2**53])
def test_a_long_duration_is_one_more_row(verb, longest):
    # Row 1 is censored: beyond the other durations, a longer follow-up changes no share.
    long, short = VERBS[verb](rollouts(row1=longest)), VERBS[verb](rollouts(row1=900))
    assert long.height <= short.height + 2000
    if "at" in long.columns:
        upto = pl.col("at") <= 9
        number = ["estimate", "low", "high"]
        assert long.filter(upto).select(number).equals(short.filter(upto).select(number))


@pytest.mark.integration
def test_a_figure_of_a_long_curve_is_drawn():
    assert rw.plots.curve(rw.curve(rollouts(row1=2**31 - 1), by="target")).svg().startswith("<?xml")


@pytest.mark.thinned(3)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("wrong", [0, -5, 2**54])
def test_durations_that_are_none_are_refused_by_every_verb(verb, wrong):
    with pytest.raises(ArgumentError, match=rf"time_to_success: a duration is {wrong}; positions are counted from 1"):
        VERBS[verb](rollouts(row1=wrong))


def test_an_unknown_duration_is_missing_for_every_verb():
    frame = rollouts(row1=None)
    assert rw.summarize(frame, metrics="time_to_success", statistics="restricted_mean").row(0, named=True)["n"] == 39
    assert rw.curve(frame)["at_risk"][0] == 39


def test_a_long_restricted_mean_is_the_mean_of_the_durations():
    frame = rollouts(row1=40_000).with_columns(
        time_to_success=pl.struct(pl.col("time_to_success").struct.field("duration"), observed=pl.lit(value=True))
    )
    row = rw.summarize(frame, metrics="time_to_success", statistics="restricted_mean").row(0, named=True)
    mean = frame["time_to_success"].struct.field("duration").mean()
    assert isinstance(mean, float)
    assert math.isclose(row["estimate"], mean)
