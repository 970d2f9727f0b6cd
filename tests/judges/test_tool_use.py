"""Calls of tools and composites as classes."""

from typing import Any

import pytest

from rollwise.errors import ArgumentError, MetricError
from rollwise.judges import Composite, DistinctN, ShortAnswerMatch, ToolUse

CALLS: list[Any] = [["search", {"name": "buy", "arguments": {"n": 1}}], [], None, ["search"]]
WANTED: list[Any] = [[{"name": "buy", "arguments": '{"n": 1.0}'}, "search"], ["search"], ["search"], None]


@pytest.mark.integration
def test_calls_against_expected_ones() -> None:
    """By hand: two responses of which everything is known, one of which the precision is not defined."""
    assert ToolUse(order="any", arguments=True)(CALLS, expected_calls=WANTED) == {
        "precision": 1.0,
        "recall": 0.5,
        "f1": 0.5,
        "match": 0.5,
        "f1_scores": [1.0, 0.0, None, None],
        "matches": [True, False, None, None],
    }
    assert ToolUse()(CALLS, expected_calls=WANTED)["matches"] == [False, False, None, None]


def test_no_calls_are_no_share() -> None:
    """Nothing given, nothing known."""
    for calls in ([], [None]):
        scores = ToolUse()(calls, expected_calls=calls)
        assert [scores[name] for name in ("precision", "recall", "f1", "match")] == [None] * 4


def test_what_cannot_be_compared_is_refused() -> None:
    """Expected calls are needed, and an order that there is."""
    with pytest.raises(MetricError, match="give `expected_calls`"):
        ToolUse()([[]])
    with pytest.raises(MetricError, match="1 response but 2 of `expected_calls`"):
        ToolUse()([[]], expected_calls=[[], []])
    for calls, said in (
        ("search", "response 0 is 'search', not a list of calls"),
        ({"name": "search"}, "response 0 is .*, not a list of calls"),
        ([{"function": {"name": "f"}}], "response 0 has the call .*; give a name, or a dict of `name`"),
        ([None], "response 0 has the call None"),
        ([{"name": "f", "arguments": {"x": {1}}}], "response 0 calls f with arguments that JSON cannot hold"),
    ):
        with pytest.raises(MetricError, match=said):
            ToolUse()([calls], expected_calls=[["search"]])
    with pytest.raises(ArgumentError, match="order='first' is unknown"):
        ToolUse(order="first")  # type: ignore[arg-type]


PARTS = {"diversity": (DistinctN(1), "distinct_1"), "f1": (ShortAnswerMatch("unknown"), "f1")}


@pytest.mark.integration
def test_a_composite_is_the_weighted_mean_of_its_parts() -> None:
    """By hand, and None where a part is unknown."""
    metric = Composite(PARTS, {"diversity": 1, "f1": 3})
    found = metric(["a cat", "a dog"], references=["cat", "bird"])
    assert found == {"composite": 0.5625, "parts": {"diversity": 0.75, "f1": 0.5}}
    assert metric([None], references=["cat"]) == {"composite": None, "parts": {"diversity": 0.0, "f1": None}}
    assert Composite(PARTS, {"diversity": 1, "f1": 0})([None], references=["cat"])["composite"] == 0.0


def test_a_composite_of_what_is_not_there_is_refused() -> None:
    """Names without weights, weights without names, numbers that no metric gives."""
    with pytest.raises(MetricError, match="metrics are diversity, f1, the weights are for f1"):
        Composite(PARTS, {"f1": 1})
    with pytest.raises(MetricError, match="at least one"):
        Composite(PARTS, {"f1": 0, "diversity": 0})
    with pytest.raises(MetricError, match="DistinctN does not return 'distinct_2'; it returns distinct_1"):
        Composite({"diversity": (DistinctN(1), "distinct_2")}, {"diversity": 1})(["a"])
