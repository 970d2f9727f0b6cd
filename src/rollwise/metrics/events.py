"""Effort measured in STEPS: time, calls, tokens and cost of a rollout, for `rw.metrics.measure_steps`.

A step without a known end has no duration; if no step of the kind has one, the value is null.
"""

import polars as pl

from rollwise.metrics.metric import AMOUNT, metric

_SPAN = pl.col("end") - pl.col("start")
_CALL = pl.col("kind").is_in(["model", "tool"])


def _of(kind: str) -> pl.Expr:
    return pl.col("kind") == kind


@metric(better="lower", sets=("EVENTS",), values=AMOUNT)
def run_seconds() -> pl.Expr:
    """Seconds from the first event of the rollout to the last (Float64); null if fewer than two times are known.

    Examples
    --------
    >>> pl.DataFrame({"start": [0.0, 1.5], "end": [2.0, None]}).select(run_seconds()).item()
    2.0
    """
    count = pl.col("start").count() + pl.col("end").count()
    first, last = pl.min_horizontal("start", "end").min(), pl.max_horizontal("start", "end").max()
    return pl.when(count > 1).then(last - first).alias("run_seconds")


@metric(better="lower", sets=("EVENTS",), values=AMOUNT)
def model_seconds() -> pl.Expr:
    """Mean seconds of a model call (Float64), from its start to its end.

    Examples
    --------
    >>> steps = pl.DataFrame({"kind": ["model", "model", "tool"], "start": [0.0, 0.0, 0.0], "end": [1.0, 2.0, 9.0]})
    >>> steps.select(model_seconds()).item()
    1.5
    """
    return _SPAN.filter(_of("model")).mean().alias("model_seconds")


@metric(better="lower", sets=("EVENTS",), values=AMOUNT)
def tool_seconds() -> pl.Expr:
    """Mean seconds of a tool call (Float64).

    Examples
    --------
    >>> steps = pl.DataFrame({"kind": ["model", "tool"], "start": [0.0, 0.0], "end": [1.0, 9.0]})
    >>> steps.select(tool_seconds()).item()
    9.0
    """
    return _SPAN.filter(_of("tool")).mean().alias("tool_seconds")


@metric(better="lower", sets=("EVENTS",), values=AMOUNT)
def model_calls() -> pl.Expr:
    """Number of model calls (Int64).

    Examples
    --------
    >>> pl.DataFrame({"kind": ["model", "model", "tool"]}).select(model_calls()).item()
    2
    """
    return _of("model").sum().cast(pl.Int64).alias("model_calls")


@metric(sets=("EVENTS",), values=AMOUNT)
def tool_steps() -> pl.Expr:
    """Number of tool calls (Int64).

    Examples
    --------
    >>> pl.DataFrame({"kind": ["model", "model", "tool"]}).select(tool_steps()).item()
    1
    """
    return _of("tool").sum().cast(pl.Int64).alias("tool_steps")


@metric(better="lower", sets=("EVENTS",), values=AMOUNT)
def model_tokens() -> pl.Expr:
    """Tokens that models read and wrote (Int64); null if a model call does not state them, or without any model call.

    Examples
    --------
    >>> pl.DataFrame({"kind": ["model", "model"], "tokens": [7, 9]}).select(model_tokens()).item()
    16
    """
    tokens = pl.col("tokens").filter(_of("model"))
    return pl.when((tokens.count() > 0) & (tokens.null_count() == 0)).then(tokens.sum()).alias("model_tokens")


@metric(better="lower", sets=("EVENTS",), values=AMOUNT)
def tokens_per_call() -> pl.Expr:
    """Mean tokens of the model calls that state them (Float64).

    Examples
    --------
    >>> pl.DataFrame({"kind": ["model", "model"], "tokens": [7, 9]}).select(tokens_per_call()).item()
    8.0
    """
    return pl.col("tokens").filter(_of("model")).mean().alias("tokens_per_call")


@metric(sets=("EVENTS",), values=AMOUNT)
def calls_at_once() -> pl.Expr:
    """Largest number of simultaneous model and tool calls (Int64); a call that ends as another starts does not overlap it.

    Examples
    --------
    >>> steps = pl.DataFrame({"kind": ["model"] * 3, "start": [0.0, 1.0, 2.0], "end": [2.0, 3.0, 4.0]})
    >>> steps.select(calls_at_once()).item()
    2
    """
    # Each start adds one call and each end removes one: the largest running sum is the answer. At equal times ends sort
    # first, since -1 precedes 1. Times 0 makes a column of the right length, also in a group.
    timed = _CALL & _SPAN.is_not_null()
    times = pl.col("start").filter(timed).append(pl.col("end").filter(timed))
    change = (pl.col("start").filter(timed) * 0 + 1).append(pl.col("end").filter(timed) * 0 - 1)
    most = change.sort_by(times, change).cum_sum().max()
    return pl.when(timed.any()).then(most).cast(pl.Int64).alias("calls_at_once")


@metric(better="lower", sets=("EVENTS",), values=AMOUNT)
def model_cost_usd() -> pl.Expr:
    """Dollars of all calls (Float64); null if no step has a cost, or a step with tokens has none: a part is not a total.

    Examples
    --------
    >>> pl.DataFrame({"kind": ["model"] * 2, "tokens": [5, 5], "cost_usd": [0.25, 0.5]}).select(model_cost_usd()).item()
    0.75
    """
    unknown = (pl.col("cost_usd").is_null() & pl.col("tokens").is_not_null()).any()
    complete = (pl.col("cost_usd").count() > 0) & ~unknown
    return pl.when(complete).then(pl.col("cost_usd").sum()).alias("model_cost_usd")
