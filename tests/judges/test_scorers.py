"""Scores by a function of one's own."""

from collections.abc import Sequence

import numpy as np
import pytest

from rollwise.errors import MetricError
from rollwise.judges import ScorerMetric


def test_every_text_that_is_there_is_scored_at_once() -> None:
    """One call, in order; what is not there, or not a number, is None and outside the mean."""
    asked: list[Sequence[str]] = []

    def score(texts: Sequence[str]) -> list[float | None]:
        asked.append(texts)
        return [1.0, float("nan"), None, 3.0]

    found = ScorerMetric(score, "reward")(["a", None, "b", "c", "d"])
    assert found == {"mean_reward": 2.0, "rewards": [1.0, None, None, None, 3.0]}
    assert asked == [["a", "b", "c", "d"]]


def test_arrays_are_lists_of_numbers() -> None:
    """What a model gives is taken as it comes."""
    found = ScorerMetric(lambda texts: np.arange(len(texts), dtype=np.float32))(["a", "b"])  # type: ignore[arg-type, return-value]
    assert found == {"mean_score": 0.5, "scores": [0.0, 1.0]}
    assert all(type(score) is float for score in found["scores"])


@pytest.mark.parametrize("responses", [[], [None]])
def test_nothing_is_not_scored(responses: list[str | None]) -> None:
    """The function is not asked for nothing, and the mean of nothing is None."""

    def score(texts: Sequence[str]) -> list[float]:
        raise AssertionError

    assert ScorerMetric(score)(responses) == {"mean_score": None, "scores": responses}


def test_a_score_too_few_is_refused() -> None:
    """The sentence says how many there are."""
    with pytest.raises(MetricError, match="gave 1 score for 2 texts"):
        ScorerMetric(lambda _: [1.0])(["a", "b"])
