"""Multiple-choice answers: accuracy, the effect of an option's position, and calibration.

A question may be asked several times, its options shuffled: `question_ids` says which trials belong together. Choices
are compared in capitals, without surrounding blanks. A missing response (None) is a trial without an answer: it is
excluded, also from the count of its question.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import polars as pl

from rollwise.errors import MetricError, counted, listing
from rollwise.judges.response_metric import ResponseMetric, require_same_length, texts_of
from rollwise.metrics.answers import choice_match
from rollwise.metrics.calibration import confidence_bin, expected_calibration_error, majority, overconfidence
from rollwise.schema.option_types import check_option_types


def trials_of(
    metric: ResponseMetric,
    responses: Sequence[str | None],
    reference_answers: Sequence[str | None] | None,
    question_ids: Sequence[Any] | None,
) -> pl.DataFrame:
    """Return one row per trial: `response`, `question`, and `correct` where there is a reference answer."""
    require_same_length(metric, responses, reference_answers=reference_answers, question_ids=question_ids)
    none = [None] * len(responses)
    ids = [None if question is None else str(question) for question in question_ids or none]
    expected = texts_of(metric, reference_answers if reference_answers is not None else none, "reference answer")
    trials = pl.DataFrame(
        {"response": texts_of(metric, responses), "expected": expected, "question": pl.Series(ids, dtype=pl.String)}
    )
    return trials.select(
        "question",
        pl.col("response").str.strip_chars().str.to_uppercase(),
        choice_match("response", "expected").alias("correct"),
    )


class MCQAAccuracy(ResponseMetric):
    """Accuracy over trials and over questions: `trial_mean`, `trial_std`, `question_mean`, `question_std`.

    A question is answered correctly if more than half of its trials are; a tie is wrong. Standard deviations are sample
    standard deviations, and None for fewer than two values (AISteer360 returns 0.0). Without `question_ids`, both numbers about
    questions are missing (None).

    Examples
    --------
    >>> answers = {"reference_answers": ["a", "B", "A", "A"], "question_ids": ["q1", "q1", "q2", "q2"]}
    >>> scores = MCQAAccuracy()(["A", "b ", " C", "A"], **answers)
    >>> {name: round(score, 4) for name, score in scores.items()}
    {'trial_mean': 0.75, 'trial_std': 0.5, 'question_mean': 0.5, 'question_std': 0.7071}
    """

    def compute(
        self,
        responses: Sequence[str | None],
        prompts: Sequence[str] | None = None,
        reference_answers: Sequence[str | None] | None = None,
        question_ids: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, float | None]:
        """Return the four numbers; means are in [0, 1], and None if no trial was answered."""
        if reference_answers is None:
            raise MetricError(
                "MCQAAccuracy: the correct choices are missing; give `reference_answers`, one per response"
            )
        trials = trials_of(self, responses, reference_answers, question_ids).drop_nulls("correct")
        questions = trials.drop_nulls("question").group_by("question").agg(majority("correct"))
        scores: dict[str, float | None] = {}
        for name, values in (("trial", trials["correct"]), ("question", questions["majority"])):
            # The standard deviation of fewer than two values is null, not 0.
            column = pl.DataFrame({"value": values.cast(pl.Float64)})
            scores[f"{name}_mean"], scores[f"{name}_std"] = column.select(
                mean=pl.col("value").mean(), std=pl.col("value").std()
            ).row(0)
        return scores


class MCQAPositionalBias(ResponseMetric):
    """Deviation of option choices from uniform: `mean` over all trials, `std` over the questions.

    `mean` is the mean over options of the gap between an option's share of the answers and 1/K; `std` is the standard
    deviation of the same number taken question by question.

    Parameters
    ----------
    num_options
        K, the number of options of every question. None counts the options that were chosen at least once, as AISteer360
        does: then an option that is never chosen does not count as bias, and if only one option was ever chosen, both
        numbers are missing (None).

    Examples
    --------
    >>> MCQAPositionalBias(num_options=4)(["A", "A", "B", "A"])
    {'mean': 0.25, 'std': None}
    """

    def __init__(self, num_options: int | None = None) -> None:
        super().__init__()
        if num_options is not None and num_options < 2:
            raise MetricError(f"MCQAPositionalBias: a question has at least two options, not num_options={num_options}")
        self.num_options = num_options

    def compute(
        self,
        responses: Sequence[str | None],
        prompts: Sequence[str] | None = None,
        question_ids: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, float | None]:
        """Return both numbers; None if no trial was answered, and `std` also for fewer than two questions."""
        trials = trials_of(self, responses, None, question_ids).drop_nulls("response")
        options = trials["response"].unique().sort()
        if self.num_options is not None and len(options) > self.num_options:
            raise MetricError(
                f"MCQAPositionalBias: {counted(len(options), 'option was', 'options were')} chosen ({listing(options)}), more than "
                f"num_options={self.num_options}; parse the choice out of the response first"
            )
        num_options = self.num_options or len(options)
        if num_options < 2 or trials.is_empty():
            return {"mean": None, "std": None}
        shares = ((pl.col("response") == option).mean() for option in options)
        # An option that was never chosen has a share of 0 and so differs from 1/K by 1/K.
        unchosen = (num_options - len(options)) / num_options
        bias = (pl.sum_horizontal((share - 1 / num_options).abs() for share in shares) + unchosen) / num_options
        # The same expression over all trials, and within each question.
        questions = trials.drop_nulls("question").group_by("question").agg(bias.alias("bias"))
        (spread,) = questions.select(pl.col("bias").std()).row(0)
        return {"mean": trials.select(bias.alias("bias")).item(), "std": spread}


class MCQACalibration(ResponseMetric):
    """Calibration of stated confidences: `ece`, `avg_confidence`, `overconfidence`, and the table `reliability`.

    `ece` is the expected calibration error over bins of equal width. `reliability` is a frame with one row for each
    bin: `bin` (Int32, from 0), `low`, `high` (its ends), `n` (answers in it), `confidence` and `accuracy` (their means;
    null if the bin is empty). Choices are compared as in `MCQAAccuracy`. An answer without a choice or without a
    confidence is excluded; if no answer remains, both numbers are missing (None; AISteer360 raises an error).

    Parameters
    ----------
    n_bins
        Number of bins.

    Examples
    --------
    >>> stated = {"reference_answers": ["A", "B", "C", "C"], "confidence_scores": [0.9, 0.8, 0.7, None]}
    >>> scores = MCQACalibration()(["A", "B", "A", "C"], **stated)
    >>> [round(scores[name], 5) for name in ("ece", "avg_confidence", "overconfidence")]
    [0.33333, 0.8, 0.13333]
    >>> scores["reliability"].filter(pl.col("n") > 0)["bin"].to_list()
    [7, 8, 9]
    """

    def __init__(self, n_bins: int = 10) -> None:
        super().__init__()
        check_option_types(MCQACalibration.__init__, locals(), "MCQACalibration")
        if n_bins < 1:
            raise MetricError(f"MCQACalibration: n_bins={n_bins}; give 1 or more")
        self.n_bins = n_bins

    def compute(
        self,
        responses: Sequence[str | None],
        prompts: Sequence[str] | None = None,
        reference_answers: Sequence[str | None] | None = None,
        confidence_scores: Sequence[float | None] | None = None,
        question_ids: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the numbers and the table; confidences are fractions in [0, 1]."""
        if reference_answers is None or confidence_scores is None:
            raise MetricError(
                "MCQACalibration: give `reference_answers` and `confidence_scores`, one of each per response"
            )
        require_same_length(self, responses, confidence_scores=confidence_scores)
        values: Sequence[Any] = confidence_scores
        for row, confidence in enumerate(values):
            if confidence is not None and not (isinstance(confidence, Real) and 0 <= float(confidence) <= 1):
                raise MetricError(
                    f"MCQACalibration: confidence {confidence!r} of response {row} is not a number from 0 to 1"
                )
        # Only answers with both a choice and a confidence count.
        trials = trials_of(self, responses, reference_answers, question_ids).with_columns(
            pl.Series("confidence", list(confidence_scores), dtype=pl.Float64)
        )
        answered = trials.drop_nulls(["correct", "confidence"])
        numbers = answered.select(
            ece=expected_calibration_error("confidence", "correct", bins=self.n_bins),
            avg_confidence=pl.col("confidence").mean(),
            overconfidence=overconfidence("confidence", "correct"),
        )
        return numbers.row(0, named=True) | {"reliability": self._reliability(answered)}

    def _reliability(self, answered: pl.DataFrame) -> pl.DataFrame:
        edges = [edge / self.n_bins for edge in range(self.n_bins + 1)]
        bins = pl.DataFrame(
            {"bin": range(self.n_bins), "low": edges[:-1], "high": edges[1:]},
            schema={"bin": pl.Int32, "low": pl.Float64, "high": pl.Float64},
        )
        filled = answered.group_by(confidence_bin("confidence", self.n_bins)).agg(
            n=pl.len().cast(pl.Int64), confidence=pl.col("confidence").mean(), accuracy=pl.col("correct").mean()
        )
        # The join keeps empty bins, with a count of 0 and unknown means.
        return bins.join(filled, on="bin", how="left", maintain_order="left").with_columns(pl.col("n").fill_null(0))
