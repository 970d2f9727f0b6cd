"""Several scores as one."""

from statistics import harmonic_mean

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import ArgumentError, MetricError

ROWS = st.lists(st.tuples(*[st.none() | st.floats(0, 1)] * 3), min_size=1, max_size=6)
WEIGHTS = st.tuples(*[st.sampled_from([0.0, 0.2, 1.0, 3.0])] * 3).filter(any)


@pytest.mark.integration
@given(ROWS, WEIGHTS)
def test_it_is_the_weighted_mean(rows: list[tuple[float | None, ...]], weights: tuple[float, ...]) -> None:
    """By hand: of all parts with a weight, or of those that are known."""
    frame = pl.DataFrame(rows, schema=dict.fromkeys("abc", pl.Float64), orient="row")
    named = dict(zip("abc", weights, strict=True))
    whole = frame.select(m.composite(named)).to_series()
    known = frame.select(m.composite(named, missing="reweight")).to_series()
    for row, strict, lenient in zip(rows, whole, known, strict=True):
        parts = [(value, weight) for value, weight in zip(row, weights, strict=True) if weight]
        there = [(value, weight) for value, weight in parts if value is not None]
        mean = sum(v * w for v, w in there) / sum(w for _, w in there) if there else None
        assert lenient == (mean if mean is None else pytest.approx(mean))
        assert strict == (pytest.approx(mean) if len(there) == len(parts) else None)


@pytest.mark.integration
@given(ROWS, WEIGHTS)
def test_means_that_a_weak_score_weighs_down(rows: list[tuple[float | None, ...]], weights: tuple[float, ...]) -> None:
    """The harmonic one is the standard library's, and at most the mean; Chebyshev's by hand, and at least the worst."""
    frame = pl.DataFrame(rows, schema=dict.fromkeys("abc", pl.Float64), orient="row")
    named = dict(zip("abc", weights, strict=True))
    found = frame.select(
        m.composite(named, missing="reweight"),
        m.composite(named, how="harmonic", missing="reweight", name="harmonic"),
        m.composite(named, how="chebyshev", missing="reweight", name="chebyshev"),
        m.composite(named, how="harmonic", name="strict"),
    )
    for row, (mean, harmonic, chebyshev, strict) in zip(rows, found.rows(), strict=True):
        parts = [(value, weight) for value, weight in zip(row, weights, strict=True) if weight]
        there = [(value, weight) for value, weight in parts if value is not None]
        assert strict == (harmonic if len(there) == len(parts) else None)
        if not there:
            assert mean is harmonic is chebyshev is None
            continue
        assert harmonic == pytest.approx(harmonic_mean(*zip(*there, strict=True)), rel=1e-9)
        assert chebyshev == pytest.approx(1 - max(w * (1 - v) for v, w in there) / max(w for _, w in there))
        assert harmonic <= mean + 1e-12
        assert chebyshev >= min(v for v, _ in there) - 1e-12


def test_means_of_equal_weights() -> None:
    """One half and one: 3/4, 2/3, 1/2. A negative score has no harmonic mean."""
    frame = pl.DataFrame({"a": [0.5, -0.5], "b": [1.0, 1.0]})
    how = {each: m.composite({"a": 2, "b": 2}, how=each, name=each) for each in ("mean", "harmonic", "chebyshev")}
    assert frame.select(**how).rows() == [(0.75, pytest.approx(2 / 3), 0.5), (0.25, None, -0.5)]


def test_of_metrics_it_is_a_metric() -> None:
    """Parts may be expressions, so that it reduces a rollout."""
    turns = pl.DataFrame(
        {"rollout_id": ["a", "a", "b"], "turn": [1, 2, 1], "score": [0.0, 1.0, None], "done": [True] * 3}
    )
    both = m.composite({"worst": 3, "done": 1}, worst=pl.col("score").max(), done=pl.col("done").all(), name="both")
    assert rw.measure(turns, both)["both"].to_list() == [1.0, None]


@pytest.mark.parametrize(
    ("weights", "options", "words"),
    [
        ({}, {}, "at least one"),
        ({"a": 0}, {}, "at least one"),
        ({"a": -1}, {}, "weight of 'a' is -1"),
        ({"a": float("nan")}, {}, "weight of 'a' is nan"),
        ({"a": "x"}, {}, "weight of 'a' is x"),
        ({"a": 1}, {"b": pl.col("b")}, "b has no weight"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights: dict, options: dict, words: str) -> None:
    """One sentence each."""
    with pytest.raises(MetricError, match=words):
        m.composite(weights, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"missing": "zero"}, "composite: missing='zero' is unknown; it is"),
        ({"how": "sum"}, "composite: how='sum' is unknown; it is"),
    ],
)
def test_unknown_ways_to_combine_are_refused(options: dict, words: str) -> None:
    """One sentence each."""
    with pytest.raises(ArgumentError, match=words):
        m.composite({"a": 1}, **options)
