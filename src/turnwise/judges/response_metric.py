"""Metrics over responses: the base class, and the metrics that need nothing but the responses."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from turnwise.errors import ArgumentError, MetricError, counted, listing
from turnwise.metrics.composite import composite
from turnwise.metrics.text import distinct_n


class ResponseMetric(ABC):
    """A metric over responses as AISteer360's page writes it: import it as `Metric` and a class of that page runs.

    A subclass says in `compute` what the scores of some responses are, as a dict of numbers and lists; calling the
    metric is calling `compute`. `name` is what the constructor was given for it, else the name of the class: give two metrics
    of one class two names. `extras` holds what else the constructor was given by keyword.

    Raises
    ------
    ArgumentError
        Where the name is none: letters, digits, spaces, dots, hyphens and underscores, as folders may be called.

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
        """The scores of the responses; `prompts` and everything else only if this metric needs it."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The scores of the responses: `compute`. One text in place of the list is refused."""
        require_list(self, args[0] if args else kwargs.get("responses"))
        return self.compute(*args, **kwargs)


def require_list(metric: ResponseMetric, given: Any, what: str = "responses") -> None:
    """Refuse one text in place of a list of them: its letters would be measured, one by one."""
    if isinstance(given, str | bytes):
        raise MetricError(
            f"{metric.name}: `{what}` is one text, {given!r:.60}; give a list, of one text if there is one"
        )


def texts_of(metric: ResponseMetric, given: Sequence[Any], what: str = "response") -> pl.Series:
    """The texts of a list as a column; None stays null, and anything else is refused.

    Examples
    --------
    >>> class Nothing(ResponseMetric):
    ...     def compute(self, responses, prompts=None, **kwargs):
    ...         return {}
    >>> texts_of(Nothing(), ["a", 7])
    Traceback (most recent call last):
    turnwise.errors.MetricError: Nothing: response 1 is 7, no text; give texts, and None where there is none
    """
    listed = list(given)
    for row, value in enumerate(listed):
        if value is not None and not isinstance(value, str):
            raise MetricError(
                f"{metric.name}: {what} {row} is {value!r:.60}, no text; give texts, and None where there is none"
            )
    return pl.Series(what, listed, dtype=pl.String)


def require_same_length(metric: ResponseMetric, responses: Sequence[Any], **others: Sequence[Any] | None) -> None:
    """Refuse a list that has not as many entries as there are responses, and a text in place of a list.

    Examples
    --------
    >>> class Nothing(ResponseMetric):
    ...     def compute(self, responses, prompts=None, **kwargs):
    ...         return {}
    >>> require_same_length(Nothing(), ["a", "b"], references=["a"])
    Traceback (most recent call last):
    turnwise.errors.MetricError: Nothing: 2 responses but 1 of `references`; give one for each response
    """
    for what, other in {"responses": responses, **others}.items():
        require_list(metric, other, what)
        if other is not None and len(other) != len(responses):
            raise MetricError(
                f"{metric.name}: {counted(len(responses), 'response')} but {len(other)} of `{what}`; give one for each response"
            )


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
