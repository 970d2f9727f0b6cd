"""Were the tools called that were expected?"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from turnwise.errors import MetricError
from turnwise.judges.response_metric import ResponseMetric, require_same_length
from turnwise.metrics.tool_use import (
    Order,
    tool_call_f1,
    tool_call_precision,
    tool_call_recall,
    tool_calls_match,
)
from turnwise.schema import TOOL_CALLS

Calls = Sequence[Mapping[str, Any] | str] | None


class ToolUse(ResponseMetric):
    """Calls of tools against the expected ones: mean `precision`, `recall`, `f1`, `match`, and the lists `f1_scores`, `matches`.

    A response is the list of its calls: dicts of `name` and `arguments` (an object, or JSON text), or plain names. Each
    mean leaves out the responses for which its number is not defined, and is None where none is left; a response or
    an expectation that is None is unknown. `metrics.tool_calls_match` says what the orders are.

    Parameters
    ----------
    order
        The order that a match asks for.
    arguments
        Whether arguments are compared too.

    Examples
    --------
    >>> calls = [["search", "buy"], [{"name": "search", "arguments": {"q": "tea"}}]]
    >>> scores = ToolUse(order="superset")(calls, expected_calls=[["buy"], ["search", "buy"]])
    >>> scores["precision"], scores["recall"], scores["matches"]
    (0.75, 0.75, [True, False])
    """

    def __init__(self, *, order: Order = "exact", arguments: bool = False) -> None:
        super().__init__()
        tool_calls_match(order=order)  # refuses what is no order
        self.order = order
        self.arguments = arguments

    def compute(
        self,
        responses: Sequence[Calls],
        prompts: Sequence[str] | None = None,
        expected_calls: Sequence[Calls] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The means, in [0, 1], and the two lists."""
        if expected_calls is None:
            raise MetricError("ToolUse: there is nothing to compare with; give `expected_calls`, one list per response")
        require_same_length(self, responses, expected_calls=expected_calls)
        table = pl.DataFrame(
            {
                "calls": [_listed(calls, f"response {row}") for row, calls in enumerate(responses)],
                "expected": [_listed(calls, f"expectation {row}") for row, calls in enumerate(expected_calls)],
            },
            schema={"calls": TOOL_CALLS, "expected": TOOL_CALLS},
        )
        asked: dict[str, Any] = {"calls": "calls", "expected": "expected", "arguments": self.arguments}
        found = table.select(
            precision=tool_call_precision(**asked),
            recall=tool_call_recall(**asked),
            f1=tool_call_f1(**asked),
            match=tool_calls_match(**asked, order=self.order),
        )
        means = found.select(pl.all().cast(pl.Float64).mean()).row(0, named=True)
        return means | {"f1_scores": found["f1"].to_list(), "matches": found["match"].to_list()}


def _listed(calls: Calls, whose: str) -> list[dict[str, str]] | None:
    """The calls as the column `tool_calls` holds them."""
    if calls is None:
        return None
    if isinstance(calls, str | Mapping):  # its letters, or keys, would be calls
        raise MetricError(
            f"ToolUse: {whose} is {calls!r:.60}, no list of calls; give a list, of one call if there is one"
        )
    whole = [{"name": call} if isinstance(call, str) else call for call in calls]
    return [_call(call, whose) for call in whole]


def _call(call: Any, whose: str) -> dict[str, str]:
    if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
        raise MetricError(
            f"ToolUse: {whose} has the call {call!r:.60}; give a name, or a dict of `name` (a text) and `arguments`"
        )
    given = call.get("arguments") or {}
    try:
        return {"name": call["name"], "arguments": given if isinstance(given, str) else json.dumps(given)}
    except (TypeError, ValueError, RecursionError) as error:
        raise MetricError(f"ToolUse: {whose} calls {call['name']} with arguments that are no JSON: {error}") from error
