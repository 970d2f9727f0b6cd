"""Scores of a model for each response: perplexity, reward, toxicity, or any function."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from turnwise.errors import MetricError, counted
from turnwise.judges.response_metric import ResponseMetric, require_list

Score = Callable[[Sequence[str]], Sequence[float | None]]


class ScorerMetric(ResponseMetric):
    """Scores that a function gives to the responses, and their mean: ``mean_<name>`` and ``<names>``.

    The model stays outside: a language model's perplexity, a reward model's score and a classifier's probability are
    all a function from a list of texts to a list of numbers, called once with every text that is there. A response
    that is None has no score, and a score that is None or NaN is none: both are None in the list and left out of the
    mean, which is None where nothing was scored.

    Parameters
    ----------
    score
        The function.
    name, names
        What one score and the list of them are called; ``names=None`` adds an s.

    Examples
    --------
    >>> perplexity = ScorerMetric(lambda texts: [float(len(text)) for text in texts], "perplexity", "perplexities")
    >>> perplexity(["ab", None, "abcd"])
    {'mean_perplexity': 3.0, 'perplexities': [2.0, None, 4.0]}
    """

    def __init__(self, score: Score, name: str = "score", names: str | None = None) -> None:
        super().__init__()
        self.score = score
        self.name = name
        self.names = names or f"{name}s"

    def compute(
        self, responses: Sequence[str | None], prompts: Sequence[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """The scores and their mean."""
        require_list(self, responses)
        known = [row for row, response in enumerate(responses) if response is not None]
        scores: list[float | None] = [None] * len(responses)
        found = list(self.score([response for response in responses if response is not None])) if known else []
        if len(found) != len(known):
            raise MetricError(
                f"{self.name}: the scorer gave {counted(len(found), 'score')} for {counted(len(known), 'text')}; "
                "it owes one for each"
            )
        for row, value in zip(known, found, strict=True):
            scores[row] = None if value is None or math.isnan(value) else float(value)
        return {f"mean_{self.name}": pl.Series(scores, dtype=pl.Float64).mean(), self.names: scores}
