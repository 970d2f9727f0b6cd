"""Composite of several scores."""

from collections.abc import Mapping
from typing import Literal

import polars as pl

from turnwise.errors import MetricError


def composite(
    weights: Mapping[str, float],
    *,
    how: Literal["mean", "harmonic", "chebyshev"] = "mean",
    missing: Literal["null", "reweight"] = "null",
    name: str = "composite",
    **parts: pl.Expr,
) -> pl.Expr:
    """Several scores as one (Float64): their weighted mean, or what the weakest of them makes of it.

    The scores are columns, or expressions handed on by keyword under the names that have weights; of metrics it is a
    metric: ``composite({"f1": 0.7, "jaccard": 0.3}, f1=m.token_f1(), jaccard=m.jaccard_similarity())``.

    Parameters
    ----------
    weights
        A weight for each score: finite, not negative, and not all zero. How large they are together makes no difference.
    how
        ``"mean"``: Σ w·s / Σ w. ``"harmonic"``: Σ w / Σ (w/s), which is 0 where a score with a weight is, and null where one
        is negative. ``"chebyshev"``: of scores up to 1, which is the best, 1 less the largest w·(1 - s) / max w: of equal
        weights the worst score.
    missing
        What becomes of a row in which a score with a weight is null: ``"null"``, or ``"reweight"``, that of those
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
    >>> judged.select(composite(weights, how="harmonic"), worst=composite(weights, how="chebyshev")).rows()
    [(0.0, 0.5), (None, None)]

    References
    ----------
    The three are those of NeMo Agent Toolkit's optimizer; the last after Steuer & Choo (1983), doi:10.1007/BF02591870.
    """
    if how not in _JOINED:
        raise MetricError(f"composite: how={how!r} is none of {', '.join(map(repr, _JOINED))}")
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
    enough = pl.all_horizontal if missing == "null" else pl.any_horizontal
    joined = _JOINED[how](scores, weights)
    return pl.when(enough(score.is_not_null() for score in scores.values())).then(joined).alias(name)


def _mean(scores: Mapping[str, pl.Expr], weights: Mapping[str, float]) -> pl.Expr:
    known = [pl.when(score.is_not_null()).then(weights[part]) for part, score in scores.items()]
    return pl.sum_horizontal(score * weights[part] for part, score in scores.items()) / pl.sum_horizontal(known)


def _harmonic(scores: Mapping[str, pl.Expr], weights: Mapping[str, float]) -> pl.Expr:
    whole = 1 / _mean({part: 1 / score for part, score in scores.items()}, weights)
    least = pl.min_horizontal(scores.values())
    return pl.when(least == 0).then(0.0).when(least > 0).then(whole)


def _chebyshev(scores: Mapping[str, pl.Expr], weights: Mapping[str, float]) -> pl.Expr:
    known = [pl.when(score.is_not_null()).then(weights[part]) for part, score in scores.items()]
    furthest = pl.max_horizontal((1 - score) * weights[part] for part, score in scores.items())
    return 1 - furthest / pl.max_horizontal(known)


_JOINED = {"mean": _mean, "harmonic": _harmonic, "chebyshev": _chebyshev}
