"""The `@metric` decorator, which registers a metric: what it means, the sets it is in, and how its output is named."""

import functools
import math
import re
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, get_args

import polars as pl

from rollwise.errors import MetricError, listing

Arguments = ParamSpec("Arguments")
Better = Literal["higher", "lower"]
Concern = Literal["attack", "task"]
Set = Literal["OUTCOME", "TIMING", "EFFORT", "CONDUCT", "TEXT", "ANSWERS", "AST", "TOOL_USE", "EVENTS"]

ANY_NUMBER = (-math.inf, math.inf)
SHARE = (0.0, 1.0)
AMOUNT = (0.0, math.inf)
"""Values of a count, a length, a duration, a number of tokens or dollars."""

_PACKAGE = "rollwise."  # how the names of this package's modules begin
_PLACE = re.compile(r"<(\w+)>")  # of a parameter in the form of a name
_PATTERNS: dict[object, str] = {int: r"[1-9]\d*", float: r"\d+(?:\.\d+)?(?:e[+-]\d+)?", str: r".+"}


@dataclass(frozen=True, slots=True)
class About:
    """Description of a metric besides its expression; its kind is the dtype of the column.

    Attributes
    ----------
    name
        Name of the function, with which its output names begin (``success_within`` makes ``success_within_3``).
    better
        The direction that is good for the defender; None if neither is.
    concerns
        Whether it needs an attack or a user's task to be defined; None if it is always defined.
    any_of_turns
        Whether one turn settles it, so that a rollout with some unjudged turns is partially judged.
    values
        The smallest and the largest value that it can have; an interval of its mean stays between them.
    sets
        The sets of `rollwise.metrics` that include it.
    doc
        The docstring of the function.
    """

    name: str
    better: Better | None
    concerns: Concern | None
    any_of_turns: bool
    values: tuple[float, float]
    sets: tuple[Set, ...]
    doc: str


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a metric's output names, such as ``distinct_<n>_<column>``, and how to read the parameters in it."""

    text: str
    function: Callable[..., pl.Expr]
    pattern: re.Pattern[str]
    kinds: dict[str, Any]  # type of each parameter in the form

    @property
    def is_open(self) -> bool:
        """True if the end of the name is arbitrary (``ever_...``), so that the name does not determine the expression."""
        return self.text.endswith("...")

    def arguments(self, name: str) -> dict[str, Any] | None:
        """Return the arguments that a name of this form states; None for a name of another form."""
        match = self.pattern.fullmatch(name)
        if match is None:
            return None
        numbers = {int: int, float: float}
        return {part: numbers.get(self.kinds[part], str)(text) for part, text in match.groupdict().items()}


class PackageMetric(pl.Expr):
    """An expression of a metric of this package, which itself says where it is unknown; it stays one under another name."""

    def alias(self, name: str) -> pl.Expr:
        """Return the same metric under another name."""
        return package_metric(super().alias(name), type(self))


class OfAnyTurn(PackageMetric):
    """An expression that one turn makes true, so that it may be false only of a rollout that did not end in an error."""


def package_metric(expression: pl.Expr, kind: type[PackageMetric] = PackageMetric) -> pl.Expr:
    """Mark the expression of a metric that is null where it is not known, even in rollouts that ended in an error."""
    if not isinstance(expression, kind):
        expression.__class__ = kind
    return expression


ABOUT: dict[Callable[..., pl.Expr], About] = {}  # every metric, in the order in which the modules define them
FORMS: list[Form] = []  # every form of a name, in the same order


def metric(
    *,
    better: Better | None = None,
    concerns: Concern | None = None,
    any_of_turns: bool = False,
    values: tuple[float, float] = ANY_NUMBER,
    sets: Sequence[Set] = (),
    names: Sequence[str] | None = None,
) -> Callable[[Callable[Arguments, pl.Expr]], Callable[Arguments, pl.Expr]]:
    """Register a function that returns an expression; calling it still returns just that `polars.Expr`.

    An expression without `.alias(...)` gets the name of the function, unless `names` says otherwise. As any expression of your
    own, it is unknown where a rollout ended in an error or lacks the verdicts that it reads: see `rw.measure`.

    Parameters
    ----------
    better, concerns, any_of_turns, values
        See `About`.
    sets
        The sets of `rollwise.metrics` that include it from now on, such as ``("CONDUCT",)``; in a set, metrics are in order of
        definition.
    names
        Forms of its output names, with parameters in angle brackets: ``("success_within_<k>",)``. The annotation of the
        parameter (int, float, str or Literal) says how to read it. A form may end in ``...`` for names that do not
        determine the expression, as with ``("ever_...",)``. Default: the name of the function.

    Examples
    --------
    >>> @metric(better="lower")
    ... def worst(score: pl.Expr = pl.col("score")) -> pl.Expr:
    ...     "The worst score of the rollout."
    ...     return score.max()
    >>> worst().meta.output_name()
    'worst'
    """

    def register(function: Callable[Arguments, pl.Expr]) -> Callable[Arguments, pl.Expr]:
        name, is_ours = function.__name__, function.__module__.startswith(_PACKAGE)
        if unknown_sets := set(sets) - set(get_args(Set)):
            raise MetricError(
                f"metric {name}: there is no set {listing(unknown_sets)}; sets are {listing(get_args(Set), most=9)}"
            )

        @functools.wraps(function)
        def named(*args: Arguments.args, **kwargs: Arguments.kwargs) -> pl.Expr:
            expression = function(*args, **kwargs)
            if names is None and _is_unnamed(expression):
                expression = expression.alias(name)
            return package_metric(expression) if is_ours else expression

        # A cell of a notebook that runs again registers its metric anew; what a function makes has other names.
        source, own_names = _source(function), set(names or (name,))
        for earlier in [entry for entry in ABOUT if _source(entry) == source and own_names & _names_of(entry)]:
            del ABOUT[earlier]
            FORMS[:] = [form for form in FORMS if form.function is not earlier]
        ABOUT[named] = About(name, better, concerns, any_of_turns, values, tuple(sets), function.__doc__ or "")
        FORMS.extend(_form(text, named) for text in names or (name,))
        return named

    return register


def _names_of(function: Callable[..., pl.Expr]) -> set[str]:
    return {form.text for form in FORMS if form.function is function}


def _source(function: Callable[..., pl.Expr]) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def _is_unnamed(expression: object) -> bool:
    """Return whether an expression has only the name that Polars gives it: of a column, ``literal``, ``len``."""
    return (
        isinstance(expression, pl.Expr)
        and not expression.meta.has_multiple_outputs()
        and expression.meta.eq(expression.meta.undo_aliases())
    )


def _form(text: str, function: Callable[..., pl.Expr]) -> Form:
    parameters = _PLACE.findall(text)
    hints = typing.get_type_hints(function) if parameters else {}
    # The annotation of a parameter says how its values are written in a name.
    kinds = {name: hints[name] for name in parameters}
    # Split at the parameters: texts and parameters alternate, and only the texts are taken literally.
    parts = _PLACE.split(text.removesuffix("..."))
    pattern = "".join(
        f"(?P<{part}>{_values(kinds[part])})" if i % 2 else re.escape(part) for i, part in enumerate(parts)
    )
    return Form(text, function, re.compile(f"{pattern}.+" if text.endswith("...") else pattern, re.DOTALL), kinds)


def _values(kind: Any) -> str:
    """Return a pattern of the values of a parameter."""
    return _PATTERNS.get(kind) or "|".join(map(re.escape, get_args(kind)))
