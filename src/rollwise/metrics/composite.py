"""A composite of several scores: their mean, or a stricter combination."""

from collections.abc import Mapping
from typing import Any, Literal

import polars as pl

from rollwise.errors import MetricError
from rollwise.metrics.metric import package_metric
from rollwise.schema.named import column_named
from rollwise.schema.option_types import check_option_types


def composite(
    weights: Mapping[str, float],
    *,
    how: Literal["mean", "harmonic", "chebyshev"] = "mean",
    missing: Literal["null", "reweight"] = "null",
    name: str = "composite",
    **parts: pl.Expr,
) -> pl.Expr:
    """Combine several scores into one (Float64): their weighted mean, or a value that the weakest score dominates.

    The scores are columns, or expressions given as keywords under the names in `weights`; a composite of metrics is a
    metric: ``composite({"f1": 0.7, "jaccard": 0.3}, f1=m.token_f1(), jaccard=m.jaccard_similarity())``.

    Parameters
    ----------
    weights
        A weight for each score: finite, not negative, and not all zero. Only their ratios matter.
    how
        ``"mean"``: Σ w·s / Σ w. ``"harmonic"``: Σ w / Σ (w/s), which is 0 if a score with a weight is 0, and null if one is
        negative. ``"chebyshev"``: for scores of which 1 is the best, 1 minus the largest w·(1 - s) / max w; for equal
        weights, the worst score.
    missing
        Value of a row in which a score with a weight is null: ``"null"``, or with ``"reweight"`` the composite of the
        known scores (null if all are unknown). Reweighted rows do not mean the same as others: report how many there are.
    name
        Output name.
    **parts
        An expression for a name in `weights` that is not a column.

    Examples
    --------
    >>> judged = pl.DataFrame({"coverage": [0.5, None], "correctness": [1.0, 1.0], "relevance": [0.0, 0.5]})
    >>> weights = {"coverage": 0.5, "correctness": 0.3, "relevance": 0.2}
    >>> judged.select(composite(weights), composite(weights, missing="reweight", name="known")).rows()
    [(0.55, 0.55), (None, 0.8)]
    >>> judged.select(composite(weights, how="harmonic"), worst=composite(weights, how="chebyshev")).rows()
    [(0.0, 0.5), (None, None)]

    References
    ----------
    All three are in NeMo Agent Toolkit's optimizer; the last is due to Steuer & Choo (1983), doi:10.1007/BF02591870.
    """
    check_option_types(composite, locals())
    values: Mapping[str, Any] = weights
    for part, weight in values.items():
        if not isinstance(weight, int | float) or not 0 <= weight < float("inf"):
            raise MetricError(f"composite: the weight of {part!r} is {weight}; give finite numbers from 0 on")
    if not sum(weights.values()) > 0:
        raise MetricError("composite: no score has a weight above 0; give at least one")
    if unweighted := sorted(set(parts) - set(weights)):
        raise MetricError(f"composite: {', '.join(unweighted)} has no weight; name it in `weights`")
    scores = {
        part: (parts[part] if part in parts else column_named(part)).cast(pl.Float64)
        for part, weight in weights.items()
        if weight > 0
    }
    # A score without a weight does not matter, so it may be null.
    enough = pl.all_horizontal if missing == "null" else pl.any_horizontal
    combination = _COMBINATIONS[how](scores, weights)
    return package_metric(
        pl.when(enough(score.is_not_null() for score in scores.values())).then(combination).alias(name)
    )


def _mean(scores: Mapping[str, pl.Expr], weights: Mapping[str, float]) -> pl.Expr:
    known_weights = [pl.when(score.is_not_null()).then(weights[part]) for part, score in scores.items()]
    return pl.sum_horizontal(score * weights[part] for part, score in scores.items()) / pl.sum_horizontal(known_weights)


def _harmonic(scores: Mapping[str, pl.Expr], weights: Mapping[str, float]) -> pl.Expr:
    mean = 1 / _mean({part: 1 / score for part, score in scores.items()}, weights)
    # Mean of reciprocals, defined for positive scores; it tends to 0 as a score does.
    least = pl.min_horizontal(scores.values())
    return pl.when(least == 0).then(0.0).when(least > 0).then(mean)


def _chebyshev(scores: Mapping[str, pl.Expr], weights: Mapping[str, float]) -> pl.Expr:
    known_weights = [pl.when(score.is_not_null()).then(weights[part]) for part, score in scores.items()]
    # The distance to the ideal, where every score is 1, is that of the worst weighted score.
    furthest = pl.max_horizontal((1 - score) * weights[part] for part, score in scores.items())
    return 1 - furthest / pl.max_horizontal(known_weights)


_COMBINATIONS = {"mean": _mean, "harmonic": _harmonic, "chebyshev": _chebyshev}
