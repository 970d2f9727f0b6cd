"""STEPS -> time, tokens, calls and costs of each rollout: one row per rollout, to be joined to ROLLOUTS."""

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import TypeAlias

import polars as pl

from rollwise.errors import ArgumentError, SchemaError, listing
from rollwise.metrics.catalog import in_set
from rollwise.schema import STEPS
from rollwise.schema.arguments import frame_of, shown
from rollwise.schema.coercion import in_schema
from rollwise.schema.option_types import check_option_types

Metric: TypeAlias = pl.Expr | Callable[[], pl.Expr]
Prices: TypeAlias = Mapping[str, tuple[float, float]]
MILLION = 1e6


def measure_steps(steps: object, *metrics: Metric, prices: Prices | None = None) -> pl.DataFrame:
    """Measure the steps of each rollout: `rollout_id` and one column per metric.

    Parameters
    ----------
    steps
        STEPS, from `rw.readers.steps`.
    *metrics
        Expressions that reduce the steps of a rollout to one value, or functions of `metrics.EVENTS`; by default all of
        these.
    prices
        Dollars per million tokens read and per million tokens written, by the name of the model. A step whose log contains
        its cost keeps it.

    Returns
    -------
    polars.DataFrame
        Rows in the order of each rollout's first step. ``rollouts.join(measured, on="rollout_id", how="left")`` adds them as
        metrics.

    Raises
    ------
    SchemaError
        If a column is missing.
    ArgumentError
        If a price is not a pair of nonnegative finite numbers.

    Examples
    --------
    >>> from rollwise import metrics as m
    >>> steps = pl.DataFrame(
    ...     {"rollout_id": ["a", "a"], "kind": ["model", "tool"], "start": [0.0, 1.0], "end": [1.0, 4.0]}
    ... )
    >>> measure_steps(steps, m.run_seconds, m.model_calls).row(0)
    ('a', 4.0, 1)
    """
    check_option_types(measure_steps, locals())
    frame = steps_of(steps, "measure_steps", ("rollout_id", "kind"))
    priced_steps = priced(frame, {} if prices is None else prices)
    selected: list[Metric] = [*metrics] if metrics else [*in_set("EVENTS")]
    expressions = [metric if isinstance(metric, pl.Expr) else metric() for metric in selected]
    return priced_steps.group_by("rollout_id", maintain_order=True).agg(expressions)


def steps_of(steps: object, verb: str, needed: Sequence[str]) -> pl.DataFrame:
    """Return a frame with all columns of STEPS in their dtypes, null where they are missing; further columns stay."""
    frame = in_schema(frame_of(steps, verb), STEPS, verb)
    for name in needed:
        if name not in frame.columns:
            raise SchemaError(
                f"{verb}: column `{name}` is missing (available: {listing(frame.columns)}); `rw.readers.steps(logs)` makes STEPS"
            )
    missing = (pl.lit(None, dtype).alias(name) for name, dtype in STEPS.dtypes.items() if name not in frame.columns)
    return frame.with_columns(missing)


def priced(steps: pl.DataFrame, prices: Prices) -> pl.DataFrame:
    """Fill in `cost_usd` if it is null and the model has a price."""
    prices_by_name: Mapping[str, Sequence[float]] = prices
    for name, price in prices_by_name.items():
        if not _are_two_prices(price):
            raise ArgumentError(
                f"prices: {name!r} has {shown(price)}; give dollars per million tokens read and per million written"
            )
    if not prices:
        return steps
    names, pairs = list(prices), list(prices.values())
    read_price, written_price = (
        pl.col("name").replace_strict(
            names, [float(pair[side]) for pair in pairs], default=None, return_dtype=pl.Float64
        )
        for side in (0, 1)
    )
    # A null price, of an unknown model, gives a null cost.
    dollars = (read_price * pl.col("prompt_tokens") + written_price * pl.col("response_tokens")) / MILLION
    return steps.with_columns(cost_usd=pl.coalesce("cost_usd", dollars))


def _are_two_prices(price: object) -> bool:
    if not isinstance(price, tuple | list) or len(price) != 2:
        return False
    return all(isinstance(dollars, Real) and 0 <= float(dollars) < float("inf") for dollars in price)
