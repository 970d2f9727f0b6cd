# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""`profile`: means hide what it shows, it falls where goals do, and every share has its interval."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulations import repeated

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.stats.intervals import wilson


def rollouts(values, goals):
    """ROLLOUTS of attack successes, or of grades."""
    name = "attack_success" if all(isinstance(value, bool) or value is None for value in values) else "grade"
    return pl.DataFrame({"rollout_id": [f"r{i:04}" for i in range(len(values))], "goal": goals, name: values})


def test_a_mean_hides_what_a_profile_shows():
    """The same rate of one half: every goal half the time, or half the goals every time."""
    goals = [f"g{goal:02}" for goal in range(10) for _ in range(4)]
    every = rollouts([attempt < 2 for _ in range(10) for attempt in range(4)], goals)
    half = rollouts([goal < 5 for goal in range(10) for _ in range(4)], goals)
    shares = [rw.comparisons.profile(frame, at=[0.0, 0.4, 0.5, 0.9])["estimate"].to_list() for frame in (every, half)]
    assert shares == [[1.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5]]


def test_a_profile_falls_where_goals_do():
    """Of three attempts at each goal it falls at 1/3 and 2/3, not at the next of twenty steps; 3 of 10 is on one of them."""
    thirds = rollouts([False, False, True, True, True, False, True, True, True], [*"aaabbbccc"])
    made = rw.comparisons.profile(thirds)
    steps = dict(made.select("at", "estimate").iter_rows())
    assert len(steps) == 23
    for at in np.linspace(0, 1, 301) + 1e-4:
        held = steps[max(step for step in steps if step <= at)]
        assert held == pytest.approx(sum(rate > at for rate in (1 / 3, 2 / 3, 1)) / 3)
    tenths = rollouts([*[True] * 3, *[False] * 7, *[True] * 7, *[False] * 3], [*"a" * 10, *"b" * 10])
    assert rw.comparisons.profile(tenths).height == 21


def test_profile_by_hand():
    """Rates 1, .5, 0, 0 of four goals: half exceed 0, a quarter exceeds .5; Wilson at each, or one band for all.

    A fifth goal without a verdict may exceed both or neither: from the lower end of 2 of 5 to the upper end of 3 of 5.
    """
    frame = rollouts([True, True, True, False, False, False, False, False, None], list("aabbccdde"))
    made = rw.comparisons.profile(frame, at=[0.5, 0.0])
    assert made["at"].to_list() == [0.0, 0.5]
    assert made["estimate"].to_list() == [0.5, 0.25]
    assert (made["low"][0], made["high"][0]) == pytest.approx((wilson(2, 5)[0], wilson(3, 5)[1]))
    left_out = rw.comparisons.profile(frame, at=[0.5, 0.0], unjudged="drop")
    assert (left_out["low"][0], left_out["high"][0]) == pytest.approx(wilson(2, 4))
    assert (made["n"][0], made["n_missing"][0], made["attempts"][0]) == (4, 1, 2.0)
    band = rw.comparisons.profile(frame, at=[0.0], band="simultaneous")
    assert band["high"].item() == pytest.approx(min(1.0, 0.6 + np.sqrt(np.log(40) / 10)))
    assert rw.schema.check(made, schema.PROFILE).columns == list(schema.PROFILE.names)


def test_one_outcome_a_goal_is_flat_and_says_so():
    """One 0/1 rollout per goal has no profile to speak of."""
    made = rw.comparisons.profile(rollouts([True, False, False], list("abc")))
    assert made.filter(pl.col("at") < 1)["estimate"].unique().item() == pytest.approx(1 / 3)
    assert made["reason"].unique().item().startswith("one 0/1 rollout for each goal")
    times = pl.Series("t", [{"duration": 1, "observed": True}], dtype=schema.TIME_TO_EVENT)
    timed = rollouts([1.0], ["a"]).with_columns(times)
    with pytest.raises(ArgumentError, match=r"rw\.curve"):
        rw.comparisons.profile(timed, metric="t")


@pytest.mark.integration
@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from([True, False, None])), max_size=40))
def test_profiles_never_rise(drawn):
    """A share of goals above a threshold falls with it, lies in its interval, and ends at 0 above 1."""
    frame = rollouts([value for _, value in drawn], [str(goal) for goal, _ in drawn]).cast({"goal": pl.String})
    made = rw.comparisons.profile(
        frame.with_columns(pl.col(frame.columns[-1]).cast(pl.Boolean)), metric=frame.columns[-1]
    )
    known = made.drop_nulls("estimate")
    assert (known["estimate"].diff().drop_nulls() <= 0).all()
    assert (known["low"] <= known["estimate"] + 1e-12).all()
    assert (known["high"] >= known["estimate"] - 1e-12).all()
    assert (known["low"] < known["high"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("band", ["pointwise", "simultaneous"])
def test_coverage_of_profiles(band, record_property):
    """60 goals of 6: at each threshold, and over all of them, the true share lies in the band as often as is said."""
    rng = np.random.default_rng(0)
    at = [0.1, 0.3, 0.6]
    truth = [(rng.binomial(6, rng.beta(1, 2, 400_000)) / 6 > threshold + 1e-12).mean() for threshold in at]
    goals = [f"g{goal:02}" for goal in range(60) for _ in range(6)]
    repetitions, hits = repeated(300), np.zeros(4)
    for _ in range(repetitions):
        values = (rng.random((60, 6)) < rng.beta(1, 2, (60, 1))).ravel().tolist()
        made = rw.comparisons.profile(rollouts(values, goals), at=at, band=band)
        inside = (made["low"].to_numpy() <= truth) & (truth <= made["high"].to_numpy())
        hits += [*inside, inside.all()]
    record_property("coverage", (hits / repetitions).tolist())
    assert (hits[:3] / repetitions >= 0.95 - 2.4 * np.sqrt(0.95 * 0.05 / repetitions)).all()
    if band == "simultaneous":
        assert hits[3] / repetitions >= 0.95
