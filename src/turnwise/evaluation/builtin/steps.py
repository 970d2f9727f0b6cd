"""Cost of the steps of an item, under the seed's names: latency, run time, calls, tokens."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import polars as pl
from pydantic import Field

from turnwise.evaluation.builtin.columns import Evaluate, output
from turnwise.evaluation.frames import tables_of
from turnwise.evaluation.items import EvalInput, EvalOutput
from turnwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
from turnwise.measurement.step_activity import measure_steps
from turnwise.metrics import events


def by_steps(expression: pl.Expr, prices: dict[str, tuple[float, float]] | None = None) -> Evaluate:
    """An evaluator whose scores a metric of the steps gives; null where an item has none."""

    def evaluate(given: EvalInput) -> EvalOutput:
        tables = tables_of(given)
        measured = measure_steps(tables.steps, expression.alias("score"), prices=prices)
        found = tables.of_rollouts(measured)["score"].to_list()
        counts = tables.of_rollouts(tables.steps.group_by("rollout_id").len())["len"].to_list()
        return output(given, found, ({"steps": count or 0} for count in counts))

    return evaluate


class LatencyConfig(EvaluatorBaseConfig, name="avg_llm_latency"):
    """Mean seconds of a call of a language model, each from its own start to its own end."""


class RuntimeConfig(EvaluatorBaseConfig, name="avg_workflow_runtime"):
    """Seconds from the first event of the item to the last."""


class CallsConfig(EvaluatorBaseConfig, name="avg_num_llm_calls"):
    """Calls of language models."""


class TokensConfig(EvaluatorBaseConfig, name="avg_tokens_per_llm_end"):
    """Mean tokens of a call of a language model."""


class CostConfig(EvaluatorBaseConfig, name="cost"):
    """Dollars of the calls of language models: as the log says, else by `prices`."""

    prices: dict[str, tuple[float, float]] = Field(
        {}, description="dollars for a million tokens read and written, by model"
    )


def _register(config_type: type[EvaluatorBaseConfig], metric: Callable[[], pl.Expr]) -> None:
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
    _register(_config, _metric)
