"""Repetition in responses: distinct n-grams."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from turnwise.judges.response_metric import ResponseMetric, require_list, texts_of
from turnwise.metrics.text import distinct_n


class DistinctN(ResponseMetric):
    """Distinct n-grams over all n-grams of all responses together: the class of AISteer360's page.

    The result is ``{"distinct_<n>": share}``. A response that is None has no n-grams; without any n-gram the share is
    0.0, as on the page (the expression `metrics.distinct_n` gives null there).

    References
    ----------
    Li, Galley, Brockett, Gao, Dolan (2016), A diversity-promoting objective function for neural conversation models,
    https://doi.org/10.18653/v1/N16-1014

    Examples
    --------
    >>> DistinctN(n=1)(["I love exploring new places.", "I love exploring new places.", "Traveling is my passion."])
    {'distinct_1': 0.6428571428571429}
    """

    def __init__(self, n: int = 2) -> None:
        super().__init__()
        distinct_n(n)  # refuses what is no length
        self.n = n

    def compute(
        self, responses: Sequence[str | None], prompts: Sequence[str] | None = None, **kwargs: Any
    ) -> dict[str, float]:
        """The share of distinct n-grams, in [0, 1]."""
        require_list(self, responses)
        texts = pl.DataFrame({"response": texts_of(self, responses)})
        return {f"distinct_{self.n}": texts.select(distinct_n(self.n)).item() or 0.0}
