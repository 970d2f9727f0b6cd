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


SPENT = frozenset({"prompt_tokens", "response_tokens", "seconds", "cost_usd"})
"""Columns of what each turn used: a turn that states none used some all the same."""


def _counted_sum(column: str) -> pl.Expr:
    """Return the sum of the known values; null without any, where Polars sums to 0."""
    return pl.when(column_named(column).count() > 0).then(column_named(column).sum())


def _whole_sum(column: str) -> pl.Expr:
    """Return the sum of the values of all turns; null if one turn has none: the others are not what the rollout used."""
    return pl.when(column_named(column).null_count() == 0).then(_counted_sum(column))


@metric(names=("total_<column>",))
def total(column: str) -> pl.Expr:
    """Sum of a column over the turns of the rollout; null if no turn has a value.

    A turn without a reward got none, but a turn without a cost has one that the log does not state: the sum of tokens,
    seconds and dollars is null unless every turn has a value.

    Examples
    --------
    >>> turns = pl.DataFrame({"reward": [None, None, 0.5], "cost_usd": [0.25, None, 0.25]})
    >>> turns.select(total("reward"), total("cost_usd")).row(0)
    (0.5, None)
    """
    check_option_types(total, locals())
    return (_whole_sum(column) if column in SPENT else _counted_sum(column)).alias(f"total_{column}")


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

    Null if a turn states none: what the other turns used is not what the rollout used. A log may state only one of the two
    on all turns, which is then the sum.

    Examples
    --------
    >>> frame = pl.DataFrame({"total_tokens": [None, None], "prompt_tokens": [3, 4], "response_tokens": [5, 6]})
    >>> frame.select(tokens_used()).item()
    18
    >>> frame.with_columns(response_tokens=pl.Series([5, None])).select(tokens_used()).item() is None
    True
    """
    sent, received = "prompt_tokens", "response_tokens"
    both = _whole_sum(sent) + _whole_sum(received)
    sent_alone = pl.when(column_named(received).count() == 0).then(_whole_sum(sent))
    received_alone = pl.when(column_named(sent).count() == 0).then(_whole_sum(received))
    return (
        pl.coalesce(pl.col("total_tokens").first(), both, sent_alone, received_alone)
        .cast(pl.Int64)
        .alias("tokens_used")
    )


@metric(better="lower", sets=("EFFORT",), values=AMOUNT)
def seconds_used() -> pl.Expr:
    """Seconds of the rollout: the log's own total, else the sum over turns (Float64); null if a turn states none.

    Examples
    --------
    >>> pl.DataFrame({"total_seconds": [None, None], "seconds": [1.5, 2.0]}).select(seconds_used()).item()
    3.5
    """
    return pl.coalesce(pl.col("total_seconds").first(), _whole_sum("seconds")).cast(pl.Float64).alias("seconds_used")


@metric(better="lower", sets=("EFFORT",), values=AMOUNT)
def dollars_used() -> pl.Expr:
    """Dollars of the rollout: the log's own total, else the sum over turns (Float64); null if a turn states none.

    Examples
    --------
    >>> pl.DataFrame({"total_cost_usd": [0.25, 0.25], "cost_usd": [None, None]}).select(dollars_used()).item()
    0.25
    """
    return pl.coalesce(pl.col("total_cost_usd").first(), _whole_sum("cost_usd")).cast(pl.Float64).alias("dollars_used")
