"""Comparison of the tools that were called with the tools that were expected."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rollwise.errors import MetricError
from rollwise.judges.response_metric import ResponseMetric, require_same_length
from rollwise.metrics.tool_use import (
    Order,
    tool_call_f1,
    tool_call_precision,
    tool_call_recall,
    tool_calls_match,
)
from rollwise.schema import TOOL_CALLS

Calls = Sequence[Mapping[str, Any] | str] | None


class ToolUse(ResponseMetric):
    """Tool calls compared with the expected ones: mean `precision`, `recall`, `f1`, `match`, and the lists `f1_scores`, `matches`.

    A response is the list of its calls: dicts of `name` and `arguments` (an object, or JSON text), or plain names. Each
    mean excludes the responses for which its number is not defined, and is missing (None) without any other response; a missing
    response or expectation (None) is unknown. `metrics.tool_calls_match` explains the orders.

    Parameters
    ----------
    order
        The order that a match requires.
    arguments
        Whether to compare arguments too.

    Examples
    --------
    >>> calls = [["search", "buy"], [{"name": "search", "arguments": {"q": "tea"}}]]
    >>> scores = ToolUse(order="superset")(calls, expected_calls=[["buy"], ["search", "buy"]])
    >>> scores["precision"], scores["recall"], scores["matches"]
    (0.75, 0.75, [True, False])
    """

    def __init__(self, *, order: Order = "exact", arguments: bool = False) -> None:
        super().__init__()
        tool_calls_match(order=order)  # raises an error for an unknown order
        self.order = order
        self.arguments = arguments

    def compute(
        self,
        responses: Sequence[Calls],
        prompts: Sequence[str] | None = None,
        expected_calls: Sequence[Calls] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the means, in [0, 1], and the two lists."""
        if expected_calls is None:
            raise MetricError(
                "ToolUse: there are no expected calls to compare with; give `expected_calls`, one list per response"
            )
        require_same_length(self, responses, expected_calls=expected_calls)
        table = pl.DataFrame(
            {
                "calls": [_listed(calls, f"response {row}") for row, calls in enumerate(responses)],
                "expected": [_listed(calls, f"expectation {row}") for row, calls in enumerate(expected_calls)],
            },
            schema={"calls": TOOL_CALLS, "expected": TOOL_CALLS},
        )
        columns: dict[str, Any] = {"calls": "calls", "expected": "expected", "arguments": self.arguments}
        scores = table.select(
            precision=tool_call_precision(**columns),
            recall=tool_call_recall(**columns),
            f1=tool_call_f1(**columns),
            match=tool_calls_match(**columns, order=self.order),
        )
        # `mean` skips nulls: responses for which a number is not defined, or unknown.
        means = scores.select(pl.all().cast(pl.Float64).mean()).row(0, named=True)
        return means | {"f1_scores": scores["f1"].to_list(), "matches": scores["match"].to_list()}


def _listed(calls: Calls, whose: str) -> list[dict[str, str]] | None:
    """Return the calls in the form of the column `tool_calls`."""
    if calls is None:
        return None
    if isinstance(calls, str | Mapping):  # iterating would take its characters, or keys, for calls
        raise MetricError(f"ToolUse: {whose} is {calls!r:.60}, not a list of calls; give a list, even of a single call")
    return [_call({"name": call} if isinstance(call, str) else call, whose) for call in calls]


def _call(call: Any, whose: str) -> dict[str, str]:
    if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
        raise MetricError(
            f"ToolUse: {whose} has the call {call!r:.60}; give a name, or a dict of `name` (a text) and `arguments`"
        )
    # No arguments and an empty object are the same call.
    arguments = call.get("arguments") or {}
    try:
        return {"name": call["name"], "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}
    except (TypeError, ValueError, RecursionError) as error:
        raise MetricError(
            f"ToolUse: {whose} calls {call['name']} with arguments that JSON cannot hold: {error}"
        ) from error
