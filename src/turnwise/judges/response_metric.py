"""Metrics over responses: a class that returns a dict of scores for a list of texts."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import polars as pl

from turnwise.errors import ArgumentError, MetricError, counted


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
