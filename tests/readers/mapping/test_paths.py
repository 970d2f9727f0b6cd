"""Paths: what they reach in a record and around it, and which texts are none."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollwise.errors import ArgumentError
from rollwise.readers import Document
from rollwise.readers.mapping.paths import Around, Record, path_of, top_name

AROUND = Around(Document(Path("/runs/gpt-4o/night.v2.json"), b"{}"), "run-1", {"setting": {"k": 5}})
VALUE: dict[str, Any] = {
    "a": {"b": 1, "c d": {"e.f": 2}},
    "a.b": 3,
    "list": [{"x": 1}, {"x": 2}, {"y": 3}],
    "object": {"p": {"q": 1}, "r": {"q": 2}},
    "null": None,
    "x[0]": "named so",
}


def record(value: Any = VALUE, **rest: Any) -> Record:
    return Record(value, 7, AROUND, **rest)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b", 3),  # an exact name comes first
        ('"a".b', 1),
        ('a."c d"."e.f"', 2),
        ('a.c d."e.f"', 2),
        ("list[1].x", 2),
        ("list[9].x", None),
        ("list[*].x", [1, 2, None]),
        ("list.x", None),
        ("object{*}.q", [1, 2]),
        ("object[*].q", None),
        ("null.deeper", None),
        ("nowhere", None),
        ('"x[0]"', "named so"),
        ("x[0]", "named so"),
        ("@key", 7),
        ("@file", "night"),
        ("@folder", "gpt-4o"),
        ("@setting.k", 5),
        ("@unknown", None),
        ("^a", None),
    ],
)
def test_a_path_reaches(path, value):
    assert record()[path] == value


def test_a_caret_goes_to_the_object_around_and_two_to_the_one_around_that():
    outermost = record({"model": "parrot", "name": "far"})
    outer = record({"name": "near"}, outer=outermost)
    inner = record({"id": 1}, outer=outer, key="k")
    assert (inner["^name"], inner["^^name"], inner["^^model"], inner["^model"], inner["@key"]) == (
        "near",
        "far",
        "parrot",
        None,
        "k",
    )
    assert inner["^^^model"] is None


@pytest.mark.integration
@given(st.lists(st.text(st.characters(exclude_characters='"'), min_size=1), min_size=1, max_size=4), st.integers())
def test_quoted_names_reach_whatever_they_are(names, number):
    value: Any = number
    for name in reversed(names):
        value = {name: value}
    path = ".".join(f'"{name}"' for name in names)
    assert record(value)[path] == number
    assert top_name(path) == names[0]


@pytest.mark.parametrize("text", ["", "a..b", "a[", "a[x]", 'a."b', "a]b", "[*", "a{1}"])
def test_what_is_no_path_is_said(text):
    with pytest.raises(ArgumentError, match=r"^mapping: .* is not a path"):
        path_of(text)


@pytest.mark.parametrize("value", [None, 3, "text", [], {}])
def test_a_record_of_any_type_has_null_at_a_path(value):
    assert record(value)["a.b[0].c"] is None
