"""Is a model as sure of its choices as it is right?"""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import polars as pl

from turnwise.errors import MetricError
from turnwise.judges.multiple_choice import trials_of
from turnwise.judges.response_metric import ResponseMetric, require_same_length
from turnwise.metrics.calibration import confidence_bin, expected_calibration_error, overconfidence


class MCQACalibration(ResponseMetric):
    """Calibration of stated confidences: `ece`, `avg_confidence`, `overconfidence`, and the table `reliability`.

    `ece` is the expected calibration error over bins of equal width. `reliability` is a frame with one row for each
    bin: `bin` (Int32, from 0), `low`, `high` (its ends), `n` (answers in it), `confidence` and `accuracy` (their means;
    null where the bin is empty). Choices are compared as in `MCQAAccuracy`. An answer without a choice or without a
    confidence is left out of everything; without any other, the numbers are None (AISteer360 raises an error).

    Parameters
    ----------
    n_bins
        How many bins.

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
        if n_bins < 1:
            raise MetricError(f"MCQACalibration: there is at least one bin, not n_bins={n_bins}")
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
        """The numbers and the table; confidences are fractions in [0, 1]."""
        if reference_answers is None or confidence_scores is None:
            raise MetricError(
                "MCQACalibration: give `reference_answers` and `confidence_scores`, one of each per response"
            )
        require_same_length(self, responses, confidence_scores=confidence_scores)
        given: Sequence[Any] = confidence_scores
        for row, stated in enumerate(given):
            if stated is not None and not (isinstance(stated, Real) and 0 <= float(stated) <= 1):
                raise MetricError(
                    f"MCQACalibration: confidence {stated!r} of response {row} is no fraction between 0 and 1"
                )
        trials = trials_of(self, responses, reference_answers, question_ids).with_columns(
            pl.Series("confidence", list(confidence_scores), dtype=pl.Float64)
        )
        known = trials.drop_nulls(["correct", "confidence"])
        numbers = known.select(
            ece=expected_calibration_error("confidence", "correct", bins=self.n_bins),
            avg_confidence=pl.col("confidence").mean(),
            overconfidence=overconfidence("confidence", "correct"),
        )
        return numbers.row(0, named=True) | {"reliability": self._reliability(known)}

    def _reliability(self, known: pl.DataFrame) -> pl.DataFrame:
        edges = [edge / self.n_bins for edge in range(self.n_bins + 1)]
        bins = pl.DataFrame(
            {"bin": range(self.n_bins), "low": edges[:-1], "high": edges[1:]},
            schema={"bin": pl.Int32, "low": pl.Float64, "high": pl.Float64},
        )
        filled = known.group_by(confidence_bin("confidence", self.n_bins)).agg(
            n=pl.len().cast(pl.Int64), confidence=pl.col("confidence").mean(), accuracy=pl.col("correct").mean()
        )
        return bins.join(filled, on="bin", how="left", maintain_order="left").with_columns(pl.col("n").fill_null(0))
