"""The tools that the workflow called for an item, compared with the expected tools."""

from collections.abc import AsyncIterator, Iterable
from typing import Any, Literal

import msgspec
from pydantic import Field

from rollwise.errors import ArgumentError
from rollwise.evaluation.builtin.columns import output
from rollwise.evaluation.frames import tables_of
from rollwise.evaluation.items import EvalInput, EvalOutput
from rollwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
from rollwise.metrics import tool_call_f1, tool_calls_match

Order = Literal["exact", "in_order", "any", "subset", "superset"]


class TrajectoryMatchConfig(EvaluatorBaseConfig, name="trajectory_match"):
    """Match of the tools called with the expected ones: exactly, in order, in any order, a subset or a superset."""

    order: Order = Field("exact", description="what counts as a match")
    arguments: bool = Field(False, description="compare arguments too")


@register_evaluator(config_type=TrajectoryMatchConfig)
async def trajectory_match(config: TrajectoryMatchConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """Match of the tools called with the expected ones."""

    def evaluate(eval_input: EvalInput) -> EvalOutput:
        calls = tables_of(eval_input).calls
        scores = calls.select(tool_calls_match("made", "expected", order=config.order, arguments=config.arguments))
        return output(eval_input, scores.to_series().to_list(), calls.select("made", "expected").to_dicts())

    yield EvaluatorInfo(config, evaluate, "Trajectory match")


class ToolQualityConfig(EvaluatorBaseConfig, name="tsq_evaluator"):
    """Quality of tool selection: F1 of the tools' names, and the share of their arguments that are right, weighted."""

    tool_weight: float = Field(1.0, ge=0, description="weight of the F1 of names")
    parameter_weight: float = Field(
        0.0, ge=0, description="weight of the arguments; a wrong value of the right type counts half"
    )


class ToolQualityByName(ToolQualityConfig, name="tool_quality"):
    """Quality of tool selection: F1 of the tools' names, and the share of their arguments that are right, weighted."""


async def _tool_quality(config: ToolQualityConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """Quality of tool selection."""
    total = config.tool_weight + config.parameter_weight
    if not total > 0:
        raise ArgumentError("tool_weight and parameter_weight are both 0; give one of them weight")

    def evaluate(eval_input: EvalInput) -> EvalOutput:
        rows = tables_of(eval_input).calls.with_columns(f1=tool_call_f1("made", "expected")).to_dicts()
        scores: list[float | None] = []
        for row in rows:
            # The F1 is null if calls or expectations are unknown; then the score is unknown too.
            is_known = row["f1"] is not None
            share = parameter_accuracy(row["made"], row["expected"]) if is_known else None
            weighted = None if share is None else config.tool_weight * row["f1"] + config.parameter_weight * share
            scores.append(None if weighted is None else weighted / total)
            row["parameter_accuracy"] = share
        return output(eval_input, scores, rows)

    yield EvaluatorInfo(config, evaluate, "Tool selection quality", (0, 1))


for _config in (ToolQualityConfig, ToolQualityByName):
    register_evaluator(config_type=_config)(_tool_quality)


def parameter_accuracy(actual: Iterable[dict[str, Any]], expected: Iterable[dict[str, Any]]) -> float:
    """Return the share of the expected arguments that are right; 1 if none is expected.

    Each expected call is compared with the first call of its name that is not yet matched. An argument with the right value
    counts one, with only the right type a half.
    """
    unmatched = list(actual)
    points, num_arguments = 0.0, 0
    for call in expected:
        at = next((at for at, candidate in enumerate(unmatched) if candidate["name"] == call["name"]), None)
        arguments = _arguments(unmatched.pop(at)) if at is not None else {}
        for name, value in _arguments(call).items():
            num_arguments += 1
            if name in arguments:
                points += 1.0 if arguments[name] == value else 0.5 if type(arguments[name]) is type(value) else 0.0
    return points / num_arguments if num_arguments else 1.0


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    try:
        arguments = msgspec.json.decode(call["arguments"] or "{}")
    except msgspec.DecodeError:
        return {}
    return arguments if isinstance(arguments, dict) else {}
