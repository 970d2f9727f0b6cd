"""Multiple-choice questions: accuracy, calibration, positional bias, and every case in which there is little to go by."""

import statistics
from collections import defaultdict
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollwise.errors import MetricError
from rollwise.judges import MCQAAccuracy, MCQACalibration, MCQAPositionalBias

GOLDEN = {"reference_answers": ["a", "B", "A", "A"], "question_ids": ["q1", "q1", "q2", "q2"]}


def accuracy(responses: list[str | None], **options: Any) -> list[float | None]:
    scores = MCQAAccuracy()(responses, **options)
    assert list(scores) == ["trial_mean", "trial_std", "question_mean", "question_std"]
    return [None if score is None else round(score, 4) for score in scores.values()]


def test_accuracy_as_aisteer360_gives_it() -> None:
    """Its checked figures: case and blanks do not count, and a tie of two trials is no majority."""
    assert accuracy(["A", "b ", " C", "A"], **GOLDEN) == [0.75, 0.5, 0.5, 0.7071]


@pytest.mark.parametrize(
    ("responses", "options", "scores"),
    [
        (["A", "B"], {"reference_answers": ["A", "A"]}, [0.5, 0.7071, None, None]),
        (["A", "B"], {"reference_answers": ["A", "A"], "question_ids": [1, 1]}, [0.5, 0.7071, 0.0, None]),
        (["A"], {"reference_answers": ["A"], "question_ids": ["q"]}, [1.0, None, 1.0, None]),
        ([None, "A", "A", None], GOLDEN, [0.5, 0.7071, 0.5, 0.7071]),
        ([None, None, "A", "A"], GOLDEN, [1.0, 0.0, 1.0, None]),
        ([None] * 4, GOLDEN, [None] * 4),
        ([], {"reference_answers": [], "question_ids": []}, [None] * 4),
        (["A", "A"], {"reference_answers": ["A", None], "question_ids": [1, None]}, [1.0, None, 1.0, None]),
    ],
    ids=[
        "no ids",
        "one question",
        "one trial",
        "none is left out",
        "a question of none",
        "all none",
        "empty",
        "unknown",
    ],
)
def test_little_to_go_by(responses: list[str | None], options: dict[str, Any], scores: list[float | None]) -> None:
    """What is not known is None, and a response that is None does not shift the questions of the others."""
    assert accuracy(responses, **options) == scores


TRIALS = st.lists(
    st.tuples(st.sampled_from(["A", " b", "C", None]), st.sampled_from("ABC"), st.integers(0, 3)), max_size=12
)


@pytest.mark.integration
@given(TRIALS)
def test_accuracy_by_the_standard_library(trials: list[tuple[str | None, str, int]]) -> None:
    """Means and sample deviations as `statistics` has them."""
    right = [(question, said.strip().upper() == true) for said, true, question in trials if said is not None]
    by_question = defaultdict(list)
    for question, correct in right:
        by_question[question].append(correct)
    won = [sum(each) > len(each) / 2 for each in by_question.values()]
    expected = []
    for values in ([correct for _, correct in right], won):
        numbers = [float(value) for value in values]
        expected += [
            statistics.fmean(numbers) if numbers else None,
            statistics.stdev(numbers) if len(numbers) > 1 else None,
        ]
    found = MCQAAccuracy()(
        [said for said, _, _ in trials],
        reference_answers=[true for _, true, _ in trials],
        question_ids=[question for _, _, question in trials],
    )
    assert list(found.values()) == [value if value is None else pytest.approx(value) for value in expected]


def test_calibration_as_aisteer360_gives_it() -> None:
    """Its checked figures, and the table behind them."""
    stated: dict[str, Any] = {"reference_answers": ["A", "B", "C", "C"], "confidence_scores": [0.9, 0.8, 0.7, None]}
    scores = MCQACalibration()(["A", "B", "A", "C"], **stated)
    table = scores.pop("reliability")
    assert {name: round(score, 5) for name, score in scores.items()} == {
        "ece": 0.33333,
        "avg_confidence": 0.8,
        "overconfidence": 0.13333,
    }
    assert table.schema == {
        "bin": pl.Int32,
        "low": pl.Float64,
        "high": pl.Float64,
        "n": pl.Int64,
        "confidence": pl.Float64,
        "accuracy": pl.Float64,
    }
    assert table.filter(pl.col("n") > 0).rows() == [
        (7, 0.7, 0.8, 1, 0.7, 0.0),
        (8, 0.8, 0.9, 1, 0.8, 1.0),
        (9, 0.9, 1.0, 1, 0.9, 1.0),
    ]
    assert table["bin"].to_list() == list(range(10))
    assert table["n"].sum() == 3


@pytest.mark.integration
@given(
    st.lists(st.tuples(st.sampled_from(["A", "b", None]), st.none() | st.floats(0, 1)), max_size=12), st.integers(1, 7)
)
def test_the_error_stands_in_the_table(answers: list[tuple[str | None, float | None]], bins: int) -> None:
    """The gaps of the bins by their counts are the calibration error; every known answer is in one bin."""
    scores = MCQACalibration(n_bins=bins)(
        [said for said, _ in answers],
        reference_answers=["B"] * len(answers),
        confidence_scores=[sure for _, sure in answers],
    )
    table, known = scores["reliability"], [pair for pair in answers if None not in pair]
    assert table.height == bins
    assert table["n"].sum() == len(known)
    filled = table.drop_nulls()
    assert filled.select(
        ((pl.col("confidence") >= pl.col("low") - 1e-12) & (pl.col("confidence") <= pl.col("high") + 1e-12)).all()
    ).item()
    if known:
        gaps = filled.select(((pl.col("confidence") - pl.col("accuracy")).abs() * pl.col("n")).sum()).item()
        assert scores["ece"] == pytest.approx(gaps / len(known), abs=1e-12)
    else:
        assert (scores["ece"], scores["avg_confidence"], scores["overconfidence"]) == (None, None, None)


@pytest.mark.parametrize(
    ("responses", "num_options", "ids", "mean", "std"),
    [
        (["A", "B", "C", "D"], None, None, 0.0, None),
        (["A", "A", "B", "A"], None, None, 0.25, None),
        (["A", "A", "B", "A"], 4, None, 0.25, None),
        (["A", "a ", "A"], None, None, None, None),
        (["A", "A", "A"], 4, None, 0.375, None),
        (["A", "B", "A", "A"], None, [1, 1, 2, 2], 0.25, 0.353553),
        (["A", "B", None, "A"], 2, [1, 1, 2, 2], 1 / 6, 0.353553),
        (["A", "B"], 2, [1, 1], 0.0, None),
        ([None, None], 4, [1, 2], None, None),
        ([], None, [], None, None),
    ],
    ids=[
        "even",
        "uneven",
        "declared",
        "always one",
        "always one of four",
        "questions",
        "none",
        "one question",
        "all none",
        "empty",
    ],
)
def test_positional_bias(
    responses: list[str | None], num_options: int | None, ids: list[int] | None, mean: float | None, std: float | None
) -> None:
    """By hand; always the same option is a bias only if the others are known to be there."""
    found = MCQAPositionalBias(num_options)(responses, question_ids=ids)
    assert found == {
        "mean": None if mean is None else pytest.approx(mean),
        "std": None if std is None else pytest.approx(std, abs=1e-6),
    }


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (lambda: MCQAAccuracy()(["A"]), "give `reference_answers`"),
        (lambda: MCQAAccuracy()(["A"], reference_answers=["A", "B"]), "1 response but 2 of `reference_answers`"),
        (lambda: MCQAAccuracy()(["A"], reference_answers=["A"], question_ids=[]), "1 response but 0 of `question_ids`"),
        (lambda: MCQACalibration()(["A"], reference_answers=["A"]), "`confidence_scores`, one of each"),
        (
            lambda: MCQACalibration()(["A"], reference_answers=["A"], confidence_scores=[90]),
            "confidence 90 of response 0 is not a number from 0 to 1",
        ),
        (lambda: MCQACalibration()(["A"], reference_answers=["A"], confidence_scores=[float("nan")]), "confidence nan"),
        (lambda: MCQACalibration(0), "n_bins=0; give 1 or more"),
        (lambda: MCQAPositionalBias(1), "not num_options=1"),
        (lambda: MCQAPositionalBias(2)(["A", "B", "Hm."]), r"3 options were chosen \(A, B, HM.\)"),
    ],
)
def test_what_makes_no_sense_is_refused(work: Any, words: str) -> None:
    """One sentence each."""
    with pytest.raises(MetricError, match=words):
        work()
