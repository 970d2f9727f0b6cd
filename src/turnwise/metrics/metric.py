"""The `@metric` decorator and the description of a metric."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, ParamSpec

import polars as pl

Arguments = ParamSpec("Arguments")
Better = Literal["higher", "lower"]
Concern = Literal["attack", "task"]


@dataclass(frozen=True, slots=True)
class About:
    """Description of a metric besides its expression; its kind is the dtype of the column.

    Attributes
    ----------
    name
        Output name, or its beginning where the metric has parameters (``success_within`` names ``success_within_3``).
    better
        Which way is good for the defender; None where neither is.
    concerns
        Whether it needs an attack or a user's task to be defined; None where it always is.
    any_of_turns
        Whether one turn settles it, so that some unjudged turns leave it half-judged.
    share
        Whether it is a number that cannot leave [0, 1], and no more can an interval of its mean.
    doc
        The docstring of the function.
    """

    name: str
    better: Better | None
    concerns: Concern | None
    any_of_turns: bool
    share: bool
    doc: str


ABOUT: dict[Callable[..., pl.Expr], About] = {}


def metric(
    *, better: Better | None = None, concerns: Concern | None = None, any_of_turns: bool = False, share: bool = False
) -> Callable[[Callable[Arguments, pl.Expr]], Callable[Arguments, pl.Expr]]:
    """Mark a function that returns a named expression; calling it still returns just that `polars.Expr`.

    Examples
    --------
    >>> @metric(better="lower")
    ... def worst() -> pl.Expr:
    ...     "The worst score of the rollout."
    ...     return pl.col("score").max().alias("worst")
    >>> worst().meta.output_name()
    'worst'
    """

    def mark(function: Callable[Arguments, pl.Expr]) -> Callable[Arguments, pl.Expr]:
        ABOUT[function] = About(function.__name__, better, concerns, any_of_turns, share, function.__doc__ or "")
        return function

    return mark
