"""Rules: the value of each kind, of null, and what is not a rule."""

from pathlib import Path
from typing import Any

import pytest

from rollwise.errors import ArgumentError
from rollwise.readers import BrokenError, Document, Problems
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.mapping.values import value_of


def of(rule: Any, value: Any, around: Around | None = None) -> Any:
    return value_of(rule).of(Record(value, 0, around or Around(Document(Path("a.json"), b"{}"), "run")))


@pytest.mark.parametrize(
    ("rule", "value", "result"),
    [
        ("a", {"a": 1}, 1),
        (["a", "b", "c"], {"a": "x", "c": 3}, "x/3"),
        (["a", "b"], {}, None),
        ([{"value": "suite"}, "a"], {"a": 1}, "suite/1"),
        ({"value": "none"}, {}, "none"),
        ({"from": ["a", "b"]}, {"a": None, "b": 0}, 0),
        ({"from": "a", "words": {"stop": "finished", "7": "seven"}}, {"a": "stop"}, "finished"),
        ({"from": "a", "words": {"stop": "finished", "7": "seven"}}, {"a": 7}, "seven"),
        ({"from": "a", "words": {"stop": "finished"}}, {"a": "halt"}, None),
        ({"from": "a", "words": {"stop": "finished"}}, {"a": ["stop"]}, None),
        ({"from": "a", "add": 1}, {"a": 0}, 1),
        ({"from": "a", "per": 1000}, {"a": 1500}, 1.5),
        ({"from": "a", "at_least": 8}, {"a": 8}, True),
        ({"from": "a", "at_least": 8}, {"a": 7.9}, False),
        ({"from": "a", "at_most": 2}, {"a": 2}, True),
        ({"from": "a", "at_most": 2}, {"a": 3}, False),
        ({"from": "a", "is": 1}, {"a": 1.0}, True),
        ({"from": "a", "is": "yes"}, {"a": "no"}, False),
        ({"not": "a"}, {"a": False}, True),
        ({"not": "a"}, {"a": True}, False),
        ({"from": "a", "true": ["BAD", 1], "false": ["OK"], "null": ["?"]}, {"a": "BAD"}, True),
        ({"from": "a", "true": ["BAD", 1], "false": ["OK"], "null": ["?"]}, {"a": "OK"}, False),
        ({"from": "a", "true": ["BAD", 1], "false": ["OK"], "null": ["?"]}, {"a": "?"}, None),
        ({"by": lambda record: record["a"] * 2}, {"a": 2}, 4),
    ],
)
def test_a_rule_gives(rule, value, result):
    assert of(rule, value) == result
    assert type(of(rule, value)) is type(result)


@pytest.mark.parametrize("name", ["words", "add", "per", "at_least", "at_most", "is", "true"])
def test_null_stays_null(name):
    given: Any = {"words": {"a": "b"}, "true": [1]}.get(name, 1)
    assert of({"from": "a", name: given}, {}) is None
    assert of({"not": "a"}, {}) is None
    assert of({"hash": "a"}, {}) is None
    assert of({"count": "a"}, {}) is None


def test_a_word_in_no_list_of_a_verdict_is_a_problem_and_never_a_guess():
    rule = {"from": "verdict", "true": ["BAD"], "false": ["OK"]}
    with pytest.raises(BrokenError, match=r"^expected BAD or OK, got 'bad'$") as error:
        of(rule, {"verdict": "bad"})
    assert error.value.field == "verdict"
    problems = Problems(collect=True)
    with problems.record("a.json", 3):
        assert of(rule, {"verdict": "bad"}) is None
    assert problems.frame().rows() == [("a.json", "3", "verdict", "expected BAD or OK, got 'bad': the field is null")]


def test_records_with_the_same_value_are_counted_within_a_file():
    around = Around(Document(Path("a.json"), b"{}"), "run")
    numbers = [of({"count": "goal"}, {"goal": goal}, around) for goal in ("x", "y", "x", None, "x")]
    assert numbers == [1, 1, 2, None, 3]
    record = Record({"goal": "x"}, 0, around)
    counted = value_of({"count": "goal"})
    assert [counted.of(record), counted.of(record)] == [4, 4]  # once for each record, however often it is asked


def test_equal_texts_have_equal_names():
    assert of({"hash": "a"}, {"a": "2 + 2?"}) == of({"hash": "a"}, {"a": "2 + 2?"}) != of({"hash": "a"}, {"a": "3?"})
    assert of({"hash": "a"}, {"a": [{"role": "user"}]}) is not None


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"words": {}},
        {"from": "a", "adds": 1},
        {"from": "a", "add": 1, "per": 2},
        {"from": "a", "true": [1], "at_least": 2},
        {"value": 1, "from": "a"},
        {"from": "a..b"},
    ],
)
def test_what_is_no_rule_is_said(rule):
    with pytest.raises(ArgumentError, match=r"^mapping: "):
        of(rule, {"a": 1})
