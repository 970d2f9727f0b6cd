"""Effort of a rollout: turns, tokens, time and cost."""

import polars as pl

from rollwise.metrics.metric import AMOUNT, metric
from rollwise.schema.named import column_named
from rollwise.schema.option_types import check_option_types


@metric(sets=("EFFORT",), values=AMOUNT)
def num_turns() -> pl.Expr:
    """Number of answers of the target in the rollout (Int32); 0 if no prompt was sent.

    Null if the rollout ended in an error before any answer: it says nothing about how long rollouts are, and a 0 would pull
    their mean down.

    Examples
    --------
    >>> rollout = pl.DataFrame({"turn": [None], "ending": ["error"]}, schema_overrides={"turn": pl.Int32})
    >>> rollout.select(num_turns()).item() is None
    True
    >>> rollout.with_columns(ending=pl.lit("target_ended")).select(num_turns()).item()
    0
    """
    answers = pl.col("turn").count().cast(pl.Int32)
    failed = (pl.col("ending") == "error").any()
    return pl.when((answers > 0) | ~failed).then(answers).alias("num_turns")


def _counted_sum(column: str) -> pl.Expr:
    return pl.when(column_named(column).count() > 0).then(column_named(column).sum())  # Polars sums no values to 0


@metric(names=("total_<column>",))
def total(column: str) -> pl.Expr:
    """Sum of a column over the turns of the rollout; null if no turn has a value.

    Examples
    --------
    >>> pl.DataFrame({"reward": [1.0, None, 0.5]}).select(total("reward")).item()
    1.5
    """
    check_option_types(total, locals())
    return _counted_sum(column).alias(f"total_{column}")


@metric(names=("average_<column>",))
def average(column: str) -> pl.Expr:
    """Mean of a column over the turns that have a value (Float64); null if no turn has one.

    Examples
    --------
    >>> pl.DataFrame({"score": [1.0, None, 0.5]}).select(average("score")).item()
    0.75
    """
    check_option_types(average, locals())
    return column_named(column).mean().alias(f"average_{column}")


@metric(names=("highest_<column>",))
def highest(column: str) -> pl.Expr:
    """Largest value of a column in the rollout; null if no turn has a value.

    Examples
    --------
    >>> pl.DataFrame({"score": [0.1, None, 0.5]}).select(highest("score")).item()
    0.5
    """
    check_option_types(highest, locals())
    return column_named(column).max().alias(f"highest_{column}")


@metric(names=("final_<column>",))
def final(column: str) -> pl.Expr:
    """Value of a column in the last turn, in any order of the rows; null if that turn has no value.

    Examples
    --------
    >>> pl.DataFrame({"turn": [2, 1], "score": [0.7, 0.1]}).select(final("score")).item()
    0.7
    """
    check_option_types(final, locals())
    return column_named(column).max_by("turn").alias(f"final_{column}")


@metric(better="lower", sets=("EFFORT",), values=AMOUNT)
def tokens_used() -> pl.Expr:
    """Tokens of the rollout (Int64): the log's own total, else the sum over turns of prompt and response.

    Null if neither is known.

    Examples
    --------
    >>> frame = pl.DataFrame({"total_tokens": [None, None], "prompt_tokens": [3, 4], "response_tokens": [5, None]})
    >>> frame.select(tokens_used()).item()
    12
    """
    sent, received = _counted_sum("prompt_tokens"), _counted_sum("response_tokens")
    # A log may state only one of the two: the other counts as 0.
    sum_of_turns = pl.when(sent.is_not_null() | received.is_not_null()).then(sent.fill_null(0) + received.fill_null(0))
    return pl.coalesce(pl.col("total_tokens").first(), sum_of_turns).cast(pl.Int64).alias("tokens_used")


@metric(better="lower", sets=("EFFORT",), values=AMOUNT)
def seconds_used() -> pl.Expr:
    """Seconds of the rollout: the log's own total, else the sum over turns (Float64); null if neither is known.

    Examples
    --------
    >>> pl.DataFrame({"total_seconds": [None, None], "seconds": [1.5, 2.0]}).select(seconds_used()).item()
    3.5
    """
    return pl.coalesce(pl.col("total_seconds").first(), _counted_sum("seconds")).cast(pl.Float64).alias("seconds_used")


@metric(better="lower", sets=("EFFORT",), values=AMOUNT)
def dollars_used() -> pl.Expr:
    """Dollars of the rollout: the log's own total, else the sum over turns (Float64); null if neither is known.

    Examples
    --------
    >>> pl.DataFrame({"total_cost_usd": [0.25, 0.25], "cost_usd": [None, None]}).select(dollars_used()).item()
    0.25
    """
    return (
        pl.coalesce(pl.col("total_cost_usd").first(), _counted_sum("cost_usd")).cast(pl.Float64).alias("dollars_used")
    )
