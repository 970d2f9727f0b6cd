"""What do several scores come to together?"""

from collections.abc import Mapping
from typing import Literal

import polars as pl

from turnwise.errors import MetricError


def composite(
    weights: Mapping[str, float],
    *,
    missing: Literal["null", "reweight"] = "null",
    name: str = "composite",
    **parts: pl.Expr,
) -> pl.Expr:
    """Weighted mean of several scores (Float64); the weights are divided by their sum.

    The scores are columns, or expressions handed on by keyword under the names that have weights; of metrics it is a
    metric: ``composite({"f1": 0.7, "jaccard": 0.3}, f1=m.token_f1(), jaccard=m.jaccard_similarity())``.

    Parameters
    ----------
    weights
        A weight for each score: finite, not negative, and not all zero.
    missing
        What becomes of a row in which a score with a weight is null: ``"null"``, or ``"reweight"``, the mean of those
        that are known (null where none is). Reweighted rows mean something else than whole ones: say how many there are.
    name
        The name of the result.
    **parts
        An expression for a name in `weights` that is no column.

    Examples
    --------
    >>> judged = pl.DataFrame({"coverage": [0.5, None], "correctness": [1.0, 1.0], "relevance": [0.0, 0.5]})
    >>> weights = {"coverage": 0.5, "correctness": 0.3, "relevance": 0.2}
    >>> judged.select(composite(weights), composite(weights, missing="reweight", name="known")).rows()
    [(0.55, 0.55), (None, 0.8)]
    """
    if missing not in {"null", "reweight"}:
        raise MetricError(f"composite: missing={missing!r} is neither 'null' nor 'reweight'")
    for part, weight in weights.items():
        if not 0 <= weight < float("inf"):
            raise MetricError(f"composite: the weight of {part!r} is {weight}; give finite numbers from 0 on")
    if not sum(weights.values()) > 0:
        raise MetricError("composite: no score has a weight above 0; give at least one")
    if strange := sorted(set(parts) - set(weights)):
        raise MetricError(f"composite: {', '.join(strange)} has no weight; name it in `weights`")
    scores = {
        part: (parts[part] if part in parts else pl.col(part)).cast(pl.Float64)
        for part, weight in weights.items()
        if weight > 0
    }
    weighted = [score * weights[part] for part, score in scores.items()]
    known = [pl.when(score.is_not_null()).then(weights[part]) for part, score in scores.items()]
    mean = pl.sum_horizontal(weighted) / pl.sum_horizontal(known)
    enough = pl.all_horizontal if missing == "null" else pl.any_horizontal
    return pl.when(enough(score.is_not_null() for score in scores.values())).then(mean).alias(name)
