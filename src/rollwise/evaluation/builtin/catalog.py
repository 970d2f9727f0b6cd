"""Metrics as evaluators: every metric of turns and steps by its own name, and figures of steps under NeMo Agent Toolkit's names."""

import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any, get_args, get_origin, get_type_hints

import polars as pl
import pydantic

from rollwise.evaluation.builtin.columns import by_expression, by_steps
from rollwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
from rollwise.metrics import events
from rollwise.metrics.metric import ABOUT, SHARE

_PLAIN = (str, int, float, bool)


# ── under NeMo Agent Toolkit's names ──────────────────────────────────────────────────────────────────────────────────
class LatencyConfig(EvaluatorBaseConfig, name="avg_llm_latency"):
    """Mean seconds of a call of a language model, each from its own start to its own end."""


class RuntimeConfig(EvaluatorBaseConfig, name="avg_workflow_runtime"):
    """Seconds from the first event of the item to the last."""


class CallsConfig(EvaluatorBaseConfig, name="avg_num_llm_calls"):
    """Calls of language models."""


class TokensConfig(EvaluatorBaseConfig, name="avg_tokens_per_llm_end"):
    """Mean tokens of a call of a language model."""


class CostConfig(EvaluatorBaseConfig, name="cost"):
    """Dollars of the calls of language models: as reported in the log, else by `prices`."""

    prices: dict[str, tuple[float, float]] = pydantic.Field(
        {}, description="dollars for a million tokens read and written, by model"
    )


def _register_steps(config_type: type[EvaluatorBaseConfig], metric: Callable[[], pl.Expr]) -> None:
    async def build(config: Any, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
        yield EvaluatorInfo(config, by_steps(metric(), getattr(config, "prices", None)), config_type.__doc__ or "")

    build.__qualname__ = config_type.static_type()
    register_evaluator(config_type=config_type)(build)


for _config, _metric in (
    (LatencyConfig, events.model_seconds),
    (RuntimeConfig, events.run_seconds),
    (CallsConfig, events.model_calls),
    (TokensConfig, events.tokens_per_call),
    (CostConfig, events.model_cost_usd),
):
    _register_steps(_config, _metric)


# ── under their own names ─────────────────────────────────────────────────────────────────────────────────────────────
def options_of(function: Callable[..., pl.Expr]) -> dict[str, Any] | None:
    """Return the parameters of a metric that a file can set: text, numbers and choices.

    None if the metric requires a parameter of another type, such as an expression.
    """
    hints = get_type_hints(function)
    options: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints.get(name, Any)
        is_required = parameter.default is parameter.empty
        if kind in _PLAIN or (get_origin(kind) is not None and all(isinstance(arg, _PLAIN) for arg in get_args(kind))):
            options[name] = (kind, ... if is_required else parameter.default)
        elif is_required and parameter.kind is not parameter.VAR_KEYWORD:
            return None
    return options


def _register(function: Callable[..., pl.Expr]) -> None:
    about = ABOUT[function]
    options = options_of(function)
    if options is None:  # a file cannot give the parameters that it requires
        return
    config_type = pydantic.create_model(
        f"{about.name}_config",
        __base__=EvaluatorBaseConfig,
        __doc__=inspect.cleandoc(about.doc),
        __module__=__name__,
        __cls_kwargs__={"name": about.name},
        **options,
    )

    async def build(config: Any, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
        expression = function(**{name: getattr(config, name) for name in options})
        evaluate = by_steps(expression) if "EVENTS" in about.sets else by_expression(expression)
        yield EvaluatorInfo(config, evaluate, about.doc.splitlines()[0], (0, 1) if about.values == SHARE else None)

    # The registry tells registrations apart by file and qualified name: all of these share one function.
    build.__qualname__ = about.name
    register_evaluator(config_type=config_type)(build)


for _function in list(ABOUT):
    if _function.__module__.startswith("rollwise.metrics"):  # not the metrics that users registered
        _register(_function)
