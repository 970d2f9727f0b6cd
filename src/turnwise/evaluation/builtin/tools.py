"""The tools that an item's workflow called, against those that were expected."""

from collections.abc import AsyncIterator, Iterable
from typing import Any, Literal

import msgspec
import polars as pl
from pydantic import Field

from turnwise.evaluation.builtin.columns import output
from turnwise.evaluation.frames import tables_of
from turnwise.evaluation.items import EvalInput, EvalOutput
from turnwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
from turnwise.metrics import tool_call_f1, tool_calls_match

Order = Literal["exact", "in_order", "any", "subset", "superset"]


def _reasons(found: pl.DataFrame) -> list[dict[str, Any]]:
    return found.select("made", "expected").to_dicts()


class TrajectoryMatchConfig(EvaluatorBaseConfig, name="trajectory_match"):
    """Match of the tools called with the expected ones: exactly, in order, in any order, a subset or a superset."""

    order: Order = Field("exact", description="what counts as a match")
    arguments: bool = Field(False, description="whether arguments are compared too")


@register_evaluator(config_type=TrajectoryMatchConfig)
async def trajectory_match(config: TrajectoryMatchConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """Return whether the tools called are the expected ones."""

    def evaluate(given: EvalInput) -> EvalOutput:
        found = tables_of(given).calls
        scores = found.select(tool_calls_match("made", "expected", order=config.order, arguments=config.arguments))
        return output(given, scores.to_series().to_list(), _reasons(found))

    yield EvaluatorInfo(config, evaluate, "Trajectory match")


class ToolQualityConfig(EvaluatorBaseConfig, name="tsq_evaluator"):
    """Quality of tool selection: F1 of the tools' names, and the share of their arguments that are right, weighted."""

    tool_weight: float = Field(1.0, ge=0, description="weight of the F1 of names")
    parameter_weight: float = Field(0.0, ge=0, description="weight of the arguments; one of the right type counts half")


class ToolQualityByName(ToolQualityConfig, name="tool_quality"):
    """Quality of tool selection: F1 of the tools' names, and the share of their arguments that are right, weighted."""


async def _tool_quality(config: ToolQualityConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """Quality of tool selection."""
    if not config.tool_weight + config.parameter_weight > 0:
        from turnwise.errors import ArgumentError

        raise ArgumentError("tool_weight and parameter_weight are both 0; give one of them weight")

    def evaluate(given: EvalInput) -> EvalOutput:
        found = tables_of(given).calls.with_columns(f1=tool_call_f1("made", "expected"))
        rows = found.to_dicts()
        right = [None if row["f1"] is None else parameter_accuracy(row["made"], row["expected"]) for row in rows]
        total = config.tool_weight + config.parameter_weight
        scores = [
            None if row["f1"] is None or share is None
            else (config.tool_weight * row["f1"] + config.parameter_weight * share) / total
            for row, share in zip(rows, right, strict=True)
        ]  # fmt: skip
        reasons = ({**row, "parameter_accuracy": share} for row, share in zip(rows, right, strict=True))
        return output(given, scores, reasons)

    yield EvaluatorInfo(config, evaluate, "Tool selection quality", (0, 1))


for _config in (ToolQualityConfig, ToolQualityByName):
    register_evaluator(config_type=_config)(_tool_quality)


def parameter_accuracy(made: Iterable[dict[str, Any]], expected: Iterable[dict[str, Any]]) -> float:
    """The share of the expected arguments that are right, each call against the first of its name that is left; 1 for none.

    An argument of the right value counts one, of the right type a half.

    Examples
    --------
    >>> made = [{"name": "add", "arguments": '{"a": 1, "b": 5}'}]
    >>> parameter_accuracy(made, [{"name": "add", "arguments": '{"a": 1, "b": 2}'}])
    0.75
    """
    left = list(made)
    points, asked = 0.0, 0
    for call in expected:
        at = next((at for at, each in enumerate(left) if each["name"] == call["name"]), None)
        given = _arguments(left.pop(at)) if at is not None else {}
        for name, wanted in _arguments(call).items():
            asked += 1
            if name in given:
                points += 1.0 if given[name] == wanted else 0.5 if type(given[name]) is type(wanted) else 0.0
    return points / asked if asked else 1.0


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(call["arguments"] or "{}")
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
