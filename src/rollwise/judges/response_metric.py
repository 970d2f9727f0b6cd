"""Metrics over responses: the base class, and the metrics that need nothing but the responses."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from rollwise.errors import ArgumentError, MetricError, counted, listing
from rollwise.metrics.composite import composite
from rollwise.metrics.text import distinct_n


class ResponseMetric(ABC):
    """A metric over responses, compatible with `Metric` of AISteer360: import it under that name and their classes run.

    A subclass implements `compute`, which returns the scores of a list of responses as a dict of numbers and lists. Calling
    the metric calls `compute`. `name` defaults to the name of the class; give two metrics of one class two names. `extras`
    holds all other keyword arguments of the constructor.

    Raises
    ------
    ArgumentError
        If the name holds anything but letters, digits, spaces, dots, hyphens and underscores, which folder names allow.

    Examples
    --------
    >>> class Shouting(ResponseMetric):
    ...     def compute(self, responses, prompts=None, **kwargs):
    ...         return {"shouting": sum(text.isupper() for text in responses) / len(responses)}
    >>> Shouting()(responses=["NO", "yes"])
    {'shouting': 0.5}
    >>> Shouting().name, Shouting(name="loud").name
    ('Shouting', 'loud')
    """

    name: str
    extras: dict[str, Any]

    def __init__(self, *, name: str | None = None, **extras: Any) -> None:
        self.name = type(self).__name__ if name is None else str(name)
        if not re.fullmatch(r"\w[\w .-]*", self.name):
            raise ArgumentError(
                f"{type(self).__name__}: name={name!r}; begin it with a letter or digit, and use letters, digits, spaces "
                "and . - _"
            )
        self.extras = extras

    @abstractmethod
    def compute(self, responses: Any, prompts: Any = None, **kwargs: Any) -> dict[str, Any]:
        """Return the scores of the responses; `prompts` and other arguments are used only if this metric needs them."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return `compute(...)`; a single text in place of the list of responses is an error."""
        require_list(self, args[0] if args else kwargs.get("responses"))
        return self.compute(*args, **kwargs)


def require_list(metric: ResponseMetric, responses: Any, what: str = "responses") -> None:
    """Raise an error if a single text is given instead of a list: its characters would be measured one by one."""
    if isinstance(responses, str | bytes):
        raise MetricError(f"{metric.name}: `{what}` is one text, {responses!r:.60}; give a list, even of a single text")


def texts_of(metric: ResponseMetric, values: Sequence[Any], what: str = "response") -> pl.Series:
    """Return a list of texts as a column; None becomes null, and anything else is an error."""
    texts = list(values)
    for row, value in enumerate(texts):
        if value is not None and not isinstance(value, str):
            raise MetricError(
                f"{metric.name}: {what} {row} is {value!r:.60}, which is not text; give texts, and None for a missing one"
            )
    return pl.Series(what, texts, dtype=pl.String)


def require_same_length(metric: ResponseMetric, responses: Sequence[Any], **others: Sequence[Any] | None) -> None:
    """Raise an error if a list is not as long as the list of responses, or if a text is given instead of a list."""
    for what, values in {"responses": responses, **others}.items():
        require_list(metric, values, what)
        if values is not None and len(values) != len(responses):
            raise MetricError(
                f"{metric.name}: {counted(len(responses), 'response')} but {len(values)} of `{what}`; give one for each response"
            )


class DistinctN(ResponseMetric):
    """Share of distinct n-grams among all n-grams of all responses together, as in AISteer360.

    The result is ``{"distinct_<n>": share}``. A missing response (None) has no n-grams; without any n-gram the share is
    0.0, as in AISteer360 (the expression `metrics.distinct_n` gives null instead).

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
        distinct_n(n)  # raises an error unless `n` is a valid length
        self.n = n

    def compute(
        self, responses: Sequence[str | None], prompts: Sequence[str] | None = None, **kwargs: Any
    ) -> dict[str, float]:
        """Return the share of distinct n-grams, in [0, 1]."""
        require_list(self, responses)
        texts = pl.DataFrame({"response": texts_of(self, responses)})
        return {f"distinct_{self.n}": texts.select(distinct_n(self.n)).item() or 0.0}


Score = Callable[[Sequence[str]], Sequence[float | None]]


class ScorerMetric(ResponseMetric):
    """Scores that a function assigns to the responses, and their mean: ``mean_<name>`` and ``<names>``.

    The model itself is not part of rollwise: a language model's perplexity, a reward model's score and a classifier's
    probability are all functions from a list of texts to a list of numbers. The function is called once, with all
    responses but the missing ones (None). A missing response, and a score of None or NaN, gives None in the list and is
    excluded from the mean, which is missing (None) without any score.

    Parameters
    ----------
    score
        The function.
    name, names
        Names of one score and of the list of scores; ``names=None`` adds an s.

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
        """Return the scores and their mean."""
        require_list(self, responses)
        rows = [row for row, response in enumerate(responses) if response is not None]
        # Only known responses go to the scorer; the others keep the score None.
        scores: list[float | None] = [None] * len(responses)
        values = list(self.score([response for response in responses if response is not None])) if rows else []
        if len(values) != len(rows):
            raise MetricError(
                f"{self.name}: the scorer gave {counted(len(values), 'score')} for {counted(len(rows), 'text')}; "
                "return one for each text"
            )
        for row, value in zip(rows, values, strict=True):
            scores[row] = None if value is None or math.isnan(value) else float(value)
        return {f"mean_{self.name}": pl.Series(scores, dtype=pl.Float64).mean(), self.names: scores}


class Composite(ResponseMetric):
    """Weighted mean of the numbers of several metrics: `composite`, `parts`. The weights are divided by their sum.

    Parameters
    ----------
    metrics
        Parts by name: each a metric and the key of its number in that metric's result.
    weights
        A weight for each name.

    Examples
    --------
    >>> from rollwise.judges import DistinctN, ShortAnswerMatch
    >>> metrics = {"diversity": (DistinctN(1), "distinct_1"), "f1": (ShortAnswerMatch(), "f1")}
    >>> Composite(metrics, {"diversity": 1, "f1": 3})(["a cat", "a dog"], references=["cat", "bird"])
    {'composite': 0.5625, 'parts': {'diversity': 0.75, 'f1': 0.5}}
    """

    def __init__(self, metrics: Mapping[str, tuple[ResponseMetric, str]], weights: Mapping[str, float]) -> None:
        super().__init__()
        if set(metrics) != set(weights):
            raise MetricError(
                f"Composite: the metrics are {listing(metrics)}, the weights are for {listing(weights)}; use the same names"
            )
        self.metrics = dict(metrics)
        self.weights = dict(weights)
        self._mean = composite(self.weights)

    def compute(self, responses: Sequence[Any], prompts: Sequence[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        """Return the mean and its parts; if a part with a weight is missing (None), so is the mean."""
        # Every part gets all arguments, and takes the ones it needs.
        parts = {}
        for name, (metric, key) in self.metrics.items():
            scores = metric.compute(responses, prompts, **kwargs)
            if key not in scores:
                raise MetricError(f"Composite: {metric.name} does not return {key!r}; it returns {listing(scores)}")
            parts[name] = scores[key]
        table = pl.DataFrame({name: [value] for name, value in parts.items()}, schema=dict.fromkeys(parts, pl.Float64))
        return {"composite": table.select(self._mean).item(), "parts": parts}
