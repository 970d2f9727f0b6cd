"""Combination of several metrics over responses."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from turnwise.errors import MetricError, listing
from turnwise.judges.response_metric import ResponseMetric
from turnwise.metrics.composite import composite


class Composite(ResponseMetric):
    """Weighted mean of numbers of several metrics, their weights divided by their sum: `composite`, `parts`.

    Parameters
    ----------
    metrics
        A name for each part, with a metric and the key of its number in that metric's result.
    weights
        A weight for each name.

    Examples
    --------
    >>> from turnwise.judges import DistinctN, ShortAnswerMatch
    >>> metrics = {"diversity": (DistinctN(1), "distinct_1"), "f1": (ShortAnswerMatch(), "f1")}
    >>> Composite(metrics, {"diversity": 1, "f1": 3})(["a cat", "a dog"], references=["cat", "bird"])
    {'composite': 0.5625, 'parts': {'diversity': 0.75, 'f1': 0.5}}
    """

    def __init__(self, metrics: Mapping[str, tuple[ResponseMetric, str]], weights: Mapping[str, float]) -> None:
        super().__init__()
        if set(metrics) != set(weights):
            raise MetricError(
                f"Composite: there are metrics {listing(metrics)} but weights for {listing(weights)}; name each in both"
            )
        self.metrics = dict(metrics)
        self.weights = dict(weights)
        self._mean = composite(self.weights)

    def compute(self, responses: Sequence[Any], prompts: Sequence[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        """The mean and its parts; the mean is None where a part with a weight is."""
        parts = {}
        for name, (metric, key) in self.metrics.items():
            scores = metric.compute(responses, prompts, **kwargs)
            if key not in scores:
                raise MetricError(f"Composite: {metric.name} gives no {key!r}; it gives {listing(scores)}")
            parts[name] = scores[key]
        table = pl.DataFrame({name: [value] for name, value in parts.items()}, schema=dict.fromkeys(parts, pl.Float64))
        return {"composite": table.select(self._mean).item(), "parts": parts}
