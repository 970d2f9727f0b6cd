"""A metric over responses: what it is given, and what it gives."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any


class ResponseMetric(ABC):
    """The base class of metrics over responses; ``from turnwise import ResponseMetric as Metric`` ports a class unchanged.

    Parameters
    ----------
    extras
        Whatever a subclass keeps beside its own arguments, as `self.extras`.

    Attributes
    ----------
    name
        What it is called: the name of its class.

    Examples
    --------
    >>> class Words(ResponseMetric):
    ...     def compute(self, responses, prompts=None, **kwargs):
    ...         return {"words": sum(len(response.split()) for response in responses)}
    >>> Words()(["One two", "three"])
    {'words': 3}
    """

    def __init__(self, **extras: Any) -> None:
        self.name = type(self).__name__
        self.extras = extras

    @abstractmethod
    def compute(self, responses: Any, prompts: Sequence[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        """The values of the metric by name: of all responses together, or lists with one value for each."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """What `compute` gives."""
        return self.compute(*args, **kwargs)
