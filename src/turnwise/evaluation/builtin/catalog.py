"""Every metric of the catalog by its name: those of turns, and those of steps."""

import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any, get_args, get_origin, get_type_hints

import polars as pl
import pydantic

from turnwise.errors import TurnwiseError
from turnwise.evaluation.builtin.columns import by_expression
from turnwise.evaluation.builtin.steps import by_steps
from turnwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
from turnwise.metrics.catalog import EVENTS
from turnwise.metrics.metric import ABOUT

_PLAIN = (str, int, float, bool)


def options_of(function: Callable[..., pl.Expr]) -> dict[str, Any] | None:
    """The parameters of a metric that a file can give: text, numbers and choices. None where one that it needs is none of these.

    Examples
    --------
    >>> from turnwise import metrics
    >>> list(options_of(metrics.tool_calls_match))
    ['order', 'arguments']
    >>> options_of(metrics.ever) is None
    True
    """
    hints = get_type_hints(function)
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints.get(name, Any)
        if kind in _PLAIN or (
            get_origin(kind) is not None and all(isinstance(each, _PLAIN) for each in get_args(kind))
        ):
            found[name] = (kind, ... if parameter.default is parameter.empty else parameter.default)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            return None
    return found


def _register(function: Callable[..., pl.Expr]) -> None:
    about = ABOUT[function]
    options = options_of(function)
    if options is None:
        return
    made = pydantic.create_model(
        f"{about.name}_config",
        __base__=EvaluatorBaseConfig,
        __doc__=inspect.cleandoc(about.doc),
        __module__=__name__,
        __cls_kwargs__={"name": about.name},
        **options,
    )

    async def build(config: Any, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
        given = {name: getattr(config, name) for name in options}
        expression = function(**given)
        evaluate = by_steps(expression) if function in EVENTS else by_expression(expression)
        yield EvaluatorInfo(config, evaluate, about.doc.splitlines()[0], (0, 1) if about.share else None)

    build.__qualname__ = about.name
    register_evaluator(config_type=made)(build)


for _metric in list(ABOUT):
    if _metric.__module__.startswith("turnwise.metrics"):
        _register(_metric)

__all__ = ["TurnwiseError", "options_of"]
