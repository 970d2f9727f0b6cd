"""Calls of tools against the expected ones."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.errors import ArgumentError

Call = dict[str, str | None]
COLUMNS = {"tool_calls": schema.TOOL_CALLS, "expected_calls": schema.TOOL_CALLS}


def calls(names: str, arguments: str | None = "{}") -> list[Call]:
    """One call for each letter."""
    return [{"name": name, "arguments": arguments} for name in names]


def compare(function: Callable[..., pl.Expr], made: list[Any], wanted: list[Any], **options: Any) -> list[Any]:
    frame = pl.DataFrame({"tool_calls": made, "expected_calls": wanted}, schema=COLUMNS)
    return frame.select(function("tool_calls", "expected_calls", **options)).to_series().to_list()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("made", "wanted", "precision", "recall", "f1"),
    [
        ("ab", "ab", 1.0, 1.0, 1.0),
        ("abc", "ab", 2 / 3, 1.0, 0.8),
        ("aab", "abb", 2 / 3, 2 / 3, 2 / 3),
        ("aa", "a", 0.5, 1.0, 2 / 3),
        ("a", "b", 0.0, 0.0, 0.0),
        ("", "", 1.0, 1.0, 1.0),
        ("", "a", None, 0.0, 0.0),
        ("a", "", 0.0, None, 0.0),
    ],
)
def test_shares_of_calls(made: str, wanted: str, precision: float | None, recall: float | None, f1: float) -> None:
    """A call counts as often as it is made; a share of nothing is unknown unless nothing was wanted."""
    found = [
        compare(function, [calls(made)], [calls(wanted)])[0]
        for function in (m.tool_call_precision, m.tool_call_recall, m.tool_call_f1)
    ]
    assert found == [precision, recall if recall is None else pytest.approx(recall), pytest.approx(f1)]


ORDERS = ("exact", "in_order", "any", "subset", "superset")


@pytest.mark.thinned(12)
@pytest.mark.parametrize(
    ("made", "wanted", "matches"),
    [
        ("ab", "ab", ORDERS),
        ("ba", "ab", ("any", "subset", "superset")),
        ("axb", "ab", ("in_order", "superset")),
        ("bxa", "ab", ("superset",)),
        ("a", "ab", ("subset",)),
        ("aa", "a", ("in_order", "superset")),
        ("a", "aa", ("subset",)),
        ("", "", ORDERS),
        ("", "a", ("subset",)),
        ("a", "", ("in_order", "superset")),
        ("ax", "ab", ()),
    ],
)
def test_orders_of_calls(made: str, wanted: str, matches: tuple[str, ...]) -> None:
    """Five ways in which calls can be the expected ones."""
    found = {order: compare(m.tool_calls_match, [calls(made)], [calls(wanted)], order=order) for order in ORDERS}
    assert {order for order, (match,) in found.items() if match} == set(matches)


NAMES = st.text(alphabet="abc", max_size=5)


@pytest.mark.integration
@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=6))
def test_multisets_are_of_the_same_opinion(pairs: list[tuple[str, str]]) -> None:
    """Counts by `collections.Counter` give every share and every order."""
    made, wanted = ([calls(pair[side]) for pair in pairs] for side in (0, 1))
    f1 = compare(m.tool_call_f1, made, wanted)
    recall, precision = (compare(function, made, wanted) for function in (m.tool_call_recall, m.tool_call_precision))
    within, complete = (compare(m.tool_calls_match, made, wanted, order=order) for order in ("subset", "superset"))
    for row, (ours, theirs) in enumerate(pairs):
        a, b = Counter(ours), Counter(theirs)
        shared = (a & b).total()
        assert f1[row] == pytest.approx(2 * shared / (len(ours) + len(theirs)) if ours or theirs else 1.0)
        assert recall[row] == (shared / len(theirs) if theirs else None if ours else 1.0)
        assert precision[row] == (shared / len(ours) if ours else None if theirs else 1.0)
        assert (within[row], complete[row]) == (a <= b, a >= b)


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": [2]}', '{"b":[2.0],"a":1.0}', True),
        ('{"a": 1}', '{"a": "1"}', False),
        ('{"a": 1.5}', '{"a": 1}', False),
        ('{"a": true}', '{"a": 1}', False),
        (None, "{}", True),
        (" ", "{}", True),
        ("not json ", "not json", True),
        ("{broken", "{}", False),
        ("é", '"é"', False),
        ('"\\u00e9"', '"é"', True),
        ("[" * 100_000, "[" * 100_000, True),
        ("1e999", "Infinity", True),
    ],
)
def test_arguments_are_compared_as_json(one: str | None, other: str, same: bool) -> None:
    """Blanks, the order of keys and the writing of numbers do not matter, types do; what is no JSON is text."""
    made, wanted = [calls("a", one)], [calls("a", other)]
    assert compare(m.tool_calls_match, made, wanted, arguments=True) == [same]
    assert compare(m.tool_call_f1, made, wanted, arguments=True) == [float(same)]
    assert compare(m.tool_calls_match, made, wanted) == [True]


def test_unknown_calls_are_unknown() -> None:
    """Where nobody says what was called, or what was expected, there is no value."""
    for function in m.TOOL_USE:
        assert compare(function, [None, calls("a"), None], [calls("a"), None, None]) == [None, None, None]
        assert compare(function, [], []) == []


TURNS = pl.DataFrame(
    {
        "rollout_id": ["a", "a", "a", "b", "c"],
        "turn": pl.Series([3, 1, 2, 1, 1], dtype=pl.Int32),
        "tool_calls": [calls("c"), calls("ab"), None, None, []],
        "expected_calls": [calls("abc")] * 4 + [calls("")],
    },
    schema_overrides=COLUMNS,
)


@pytest.mark.integration
@pytest.mark.parametrize("function", m.TOOL_USE, ids=lambda function: function.__name__)
def test_a_rollout_makes_the_calls_of_all_its_turns(function: Callable[..., pl.Expr]) -> None:
    """In order of its turns, whatever the order of rows, in every engine; null where no turn says what it called."""
    name = function().meta.output_name()
    measured = rw.measure(TURNS, function())[name].to_list()
    assert measured == [1, None, 1]
    query = TURNS.lazy().group_by("rollout_id", maintain_order=True).agg(function())
    assert query.collect(engine="streaming")[name].to_list() == measured
    assert TURNS.with_columns(function().over("rollout_id"))[name].to_list() == [1, 1, 1, None, 1]
    about = m.catalog.about(name)
    assert about is not None
    assert about.doc == function.__doc__
    assert m.catalog.about(function(arguments=True).meta.output_name()) is about


def test_turns_have_expectations_of_their_own() -> None:
    """Given columns, each turn is compared with its own."""
    assert TURNS.select(m.tool_call_recall("tool_calls")).to_series().round(4).to_list() == [
        0.3333,
        0.6667,
        None,
        None,
        1,
    ]


def test_an_order_that_is_none_is_refused() -> None:
    """The orders that there are stand in the sentence."""
    with pytest.raises(ArgumentError, match="order='sorted' is unknown; it is"):
        m.tool_calls_match(order="sorted")  # type: ignore[arg-type]


@pytest.mark.integration
def test_arguments_of_many_calls_stay_with_their_calls() -> None:
    """Each row has its own."""
    made = [[{"name": "a", "arguments": json.dumps({"row": row, "x": [row]})}] for row in range(300)]
    wanted = [
        [{"name": "a", "arguments": json.dumps({"x": [row], "row": row if row % 3 else -1})}] for row in range(300)
    ]
    assert compare(m.tool_calls_match, made, wanted, arguments=True) == [bool(row % 3) for row in range(300)]
