"""Metrics of a user: unknown where a rollout ended in an error, or has none of the verdicts that they read."""

import polars as pl

from rollwise import schema
from rollwise.metrics.effort import SPENT
from rollwise.metrics.metric import OfAnyTurn, PackageMetric
from rollwise.schema.named import column_named

_EXPLAINS = {"error", "ending", "outcome"}  # an expression that reads one of these decides itself what an error means
_JUDGED = {"solved", "reward", "score", "succeeded", "refused"}
_SPENT = SPENT | {"queries", "total_tokens", "total_seconds", "total_cost_usd"}


def honest(expression: pl.Expr, columns: pl.Schema) -> pl.Expr:
    """Return the expression, null where it cannot be known: `any()` and `sum()` of nulls alone are False and 0 in Polars.

    Metrics of this package stay as they are, and so do expressions that read `error`, `ending` or `outcome`, or nothing. What
    held in no turn before an error may have held in a later one.
    """
    roots = sorted(filter(None, expression.meta.root_names()))
    unknown = [column_named(name).first().eq_missing(pl.lit(schema.ERROR)) for name in ("ending", "outcome")]
    if not roots or _EXPLAINS & set(roots):
        return expression
    if isinstance(expression, OfAnyTurn):
        return pl.when(expression | pl.any_horizontal(unknown).not_()).then(expression)
    if isinstance(expression, PackageMetric):
        return expression
    unknown += [column_named(name).is_null().all() for name in roots if _is_verdict(name, columns[name])]
    # A stated cost may replace another: the total, or the sum over turns.
    if spent := [column_named(name).is_null().all() for name in roots if name in _SPENT]:
        unknown.append(pl.all_horizontal(spent))
    return pl.when(pl.any_horizontal(unknown).not_()).then(expression)


def _is_verdict(name: str, dtype: pl.DataType) -> bool:
    """Return whether a column holds verdicts: by its name in TURNS, and beside it any column of numbers, words or yes and no."""
    if name in schema.TURNS.names:
        return name in _JUDGED
    return not (dtype.is_nested() or dtype.is_temporal())
