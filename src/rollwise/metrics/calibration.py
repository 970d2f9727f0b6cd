"""Calibration: agreement of stated confidence with the share of right answers.

These expressions reduce a group of answers to one value, for use in ``group_by("target").agg(...)`` and in `select`.
They take two columns: a confidence in [0, 1] and whether the answer was right. Answers for which either is null are left
out; if that leaves none, the value is null.
"""

import polars as pl

from rollwise.errors import MetricError
from rollwise.schema.named import column_named
from rollwise.schema.option_types import check_option_types

Values = str | pl.Expr
MOST_BINS = 1000  # an expression has a part for each of them


def _column(values: Values) -> pl.Expr:
    return column_named(values) if isinstance(values, str) else values


def confidence_bin(confidence: Values, bins: int = 10) -> pl.Expr:
    """Number of the bin of equal width that contains a confidence (Int32, from 0); null for null.

    A bin includes its lower end, the last one also its upper end. There are 1 to 1000 bins.

    Examples
    --------
    >>> stated = pl.DataFrame({"confidence": [0.0, 0.7, 0.75, 1.0, None]})
    >>> stated.select(confidence_bin("confidence")).to_series().to_list()
    [0, 7, 7, 9, None]
    """
    check_option_types(confidence_bin, locals())
    if not 1 <= bins <= MOST_BINS:
        raise MetricError(f"confidence_bin: bins={bins}; give 1 to {MOST_BINS} bins")
    # Edges are searched, since int(confidence * bins) is wrong at some of them: 100 * 0.29 is below 29.
    edges = pl.lit(pl.Series([edge / bins for edge in range(1, bins)], dtype=pl.Float64))
    passed = edges.search_sorted(_column(confidence).cast(pl.Float64), side="right").cast(pl.Int32)
    return pl.when(_column(confidence).is_not_null()).then(passed).alias("bin")


def _both(confidence: Values, correct: Values) -> tuple[pl.Expr, pl.Expr]:
    """Return confidence and correctness as numbers; where one is null, so is the other."""
    sure, right = _column(confidence).cast(pl.Float64), _column(correct).cast(pl.Float64)
    return pl.when(right.is_not_null()).then(sure), pl.when(sure.is_not_null()).then(right)


def expected_calibration_error(confidence: Values, correct: Values, *, bins: int = 10) -> pl.Expr:
    """Mean gap between confidence and accuracy over bins of equal width, by their shares of answers (Float64 in [0, 1]).

    It depends on the bins, and is biased upwards for few answers: compare only groups of similar size.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian binning,
    https://doi.org/10.1609/aaai.v29i1.9602

    Examples
    --------
    >>> answers = pl.DataFrame({"confidence": [0.9, 0.8, 0.7], "correct": [True, True, False]})
    >>> round(answers.select(expected_calibration_error("confidence", "correct")).item(), 5)
    0.33333
    """
    check_option_types(expected_calibration_error, locals())
    sure, right = _both(confidence, correct)
    bin_of = confidence_bin(sure, bins)
    gaps = [pl.when(bin_of == number).then(sure - right).sum().abs() for number in range(bins)]
    count = sure.count()
    return pl.when(count > 0).then(pl.sum_horizontal(gaps) / count).alias("expected_calibration_error")


def overconfidence(confidence: Values, correct: Values) -> pl.Expr:
    """Mean confidence minus accuracy (Float64 in [-1, 1]): positive if confidence is too high.

    Examples
    --------
    >>> answers = pl.DataFrame({"confidence": [0.9, 0.8, 0.7], "correct": [True, True, False]})
    >>> round(answers.select(overconfidence("confidence", "correct")).item(), 5)
    0.13333
    """
    check_option_types(overconfidence, locals())
    sure, right = _both(confidence, correct)
    return (sure.mean() - right.mean()).alias("overconfidence")


def majority(correct: Values, *, name: str = "majority") -> pl.Expr:
    """Return whether more than half of the known values are true (Boolean): a tie is false; null if all are unknown.

    Examples
    --------
    >>> trials = pl.DataFrame({"question": [1, 1, 2, 2, 2], "right": [True, False, True, True, None]})
    >>> trials.group_by("question", maintain_order=True).agg(majority("right"))["majority"].to_list()
    [False, True]
    """
    check_option_types(majority, locals())
    return (_column(correct).mean() > 0.5).alias(name)
