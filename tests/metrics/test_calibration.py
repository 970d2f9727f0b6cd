"""Confidence against accuracy, with NumPy's bins as the oracle."""

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rollwise import metrics as m
from rollwise.errors import MetricError

ANSWERS = st.lists(st.tuples(st.floats(0, 1) | st.sampled_from([0.1, 0.3, 0.7, 1.0, 0.0]), st.booleans()), max_size=40)


def frame(answers: list) -> pl.DataFrame:
    return pl.DataFrame(answers, schema={"confidence": pl.Float64, "correct": pl.Boolean}, orient="row")


def calibration_error(answers: list[tuple[float, bool]], bins: int) -> float | None:
    """Bins [low, high), the last one closed, with the edges k / bins."""
    if not answers:
        return None
    sure, right = (np.array(values, dtype=float) for values in zip(*answers, strict=True))
    edges = np.arange(bins + 1) / bins
    fallen = np.clip(np.digitize(sure, edges) - 1, 0, bins - 1)
    return float(sum(abs((sure - right)[fallen == number].sum()) for number in range(bins)) / len(sure))


@pytest.mark.integration
@given(ANSWERS, st.sampled_from([1, 3, 5, 10, 100]))
@example([(0.29, True), (0.7, False)], 100)
def test_the_error_is_that_of_the_bins(answers: list[tuple[float, bool]], bins: int) -> None:
    """Whatever the confidences and bins; what has no confidence or no verdict changes nothing."""
    whole = frame([*answers, (None, True), (0.5, None)])
    error, over = whole.select(
        m.expected_calibration_error("confidence", "correct", bins=bins), m.overconfidence("confidence", "correct")
    ).row(0)
    expected = calibration_error(answers, bins)
    assert error == (None if expected is None else pytest.approx(expected, abs=1e-12))
    if answers:
        assert over == pytest.approx(np.mean([sure - right for sure, right in answers]), abs=1e-12)
        assert 0 <= error <= 1
        assert error >= abs(over) - 1e-12  # the gaps of the bins can only cancel
    else:
        assert over is None


@pytest.mark.parametrize("bins", [1, 5, 10, 49, 100, 1000])
def test_each_edge_begins_a_bin(bins: int) -> None:
    """The edges and the numbers next to them; what is outside of [0, 1] falls into the first or the last bin."""
    edges = np.arange(bins + 1) / bins
    sure = np.concatenate([edges, np.nextafter(edges, -1), np.nextafter(edges, 2), [-2, 3, np.inf]])
    expected = np.clip(np.digitize(sure, edges) - 1, 0, bins - 1)
    found = pl.DataFrame({"confidence": sure}).select(m.confidence_bin("confidence", bins)).to_series()
    assert found.dtype == pl.Int32
    assert found.to_list() == expected.tolist()


@pytest.mark.parametrize("bins", [0, -1, 1001, 10**18])
def test_the_number_of_bins_is_bounded(bins: int) -> None:
    """An expression has a part for each of them: 300 took 20 seconds, and 10**18 all of the memory."""
    with pytest.raises(MetricError, match=f"^confidence_bin: bins={bins}; give 1 to 1000 bins$"):
        m.expected_calibration_error("confidence", "correct", bins=bins)


def test_groups_have_values_of_their_own() -> None:
    """In an aggregation, in every engine, and beside the rows."""
    table = frame([(0.9, True), (0.8, True), (0.7, False), (None, True)]).with_columns(
        target=pl.Series(["a", "a", "a", "b"])
    )
    error = m.expected_calibration_error("confidence", "correct")
    query = table.lazy().group_by("target", maintain_order=True).agg(error)
    expected = [pytest.approx(1 / 3), None]
    for found in (query.collect(), query.collect(engine="streaming")):
        assert found["expected_calibration_error"].to_list() == expected
    assert table.select(error.over("target")).to_series().to_list() == [*[expected[0]] * 3, None]


def test_a_majority_is_more_than_half() -> None:
    """A tie is none; what is unknown does not vote."""
    votes: dict[str, list[bool | None]] = {
        "yes": [True, True, False, None],
        "tie": [True, False],
        "no": [False],
        "nothing": [None],
    }
    table = pl.DataFrame(
        [(name, vote) for name, each in votes.items() for vote in each], schema=["question", "right"], orient="row"
    )
    found = table.group_by("question", maintain_order=True).agg(m.majority("right"))
    assert found["majority"].to_list() == [True, False, False, None]
