"""Shapes: which files they are of, and that recognizing a file runs next to no code of other formats."""

import json
from copy import copy
from pathlib import Path

import pytest

from rollwise.readers import Document, Shapes
from rollwise.readers.registry import FORMATS
from rollwise.readers.sources.shapes import BINARY, NAMED

FIXTURES = Path(__file__).parents[1] / "fixtures"


def lines(*records: object) -> Document:
    return Document(Path("log.jsonl"), b"\n".join(json.dumps(record).encode() for record in records))


def whole(value: object) -> Document:
    return Document(Path("log.json"), json.dumps(value).encode())


@pytest.mark.parametrize(
    ("shapes", "document", "fits"),
    [
        (Shapes({"a", "b"}), lines({"a": 1, "b": 2, "c": 3}), True),
        (Shapes({"a", "b"}), lines({"a": 1}, {"b": 2}), False),
        (Shapes({"a", "b"}, at="early"), lines({"a": 1}, {"b": 2}), True),
        (Shapes({"a"}, {"b"}), lines({"b": 2}), True),
        (Shapes({"a"}, any_of={"x", "y"}), lines({"a": 1, "y": 2}), True),
        (Shapes({"a"}, any_of={"x", "y"}), lines({"a": 1}), False),
        (Shapes(any_of={"x", "y"}), lines({"y": 1}), True),
        (Shapes(any_of={"x", "y"}), lines({"z": 1}), False),
        (Shapes({"a"}, without={"b"}), lines({"a": 1, "b": 2}), False),
        (Shapes({"a"}, at="first"), lines([1], {"a": 1}), True),
        (Shapes({"a"}), lines([1], {"a": 1}), False),
        (Shapes({"a"}, at="inner"), whole({"m": {"a": 1}}), True),
        (Shapes({"a"}, at="data"), whole({"data": [{"a": 1}]}), True),
        (Shapes({"a"}, at="data"), whole([{"a": 1}]), True),
        (Shapes({"a"}, at="data"), whole({"data": [], "a": 1}), False),
        (Shapes({"a"}, is_object=True), whole([{"a": 1}]), False),
        (Shapes({"a"}, is_object=True), whole({"a": 1}), True),
        (Shapes({"a"}, contains=(b'"deep"',)), whole({"a": {"deep": 1}}), True),
        (Shapes({"a"}, contains=(b'"deep"',)), whole({"a": {}}), False),
        (Shapes({"a"}, kinds=BINARY), whole({"a": {}}), False),
        (Shapes({"a"}, kinds=NAMED), Document(Path("a.csv"), b"a,b\n1,2\n"), True),
        (Shapes({"a"}, check=lambda document: document.top["a"] is None), whole({"a": 1}), False),
        (Shapes({"b"}) | Shapes({"c"}) | Shapes({"a"}), whole({"a": 1}), True),
        (Shapes({"b"}) | Shapes({"c"}), whole({"a": 1}), False),
    ],
)
def test_what_a_file_of_these_shapes_has(shapes, document, fits):
    assert shapes(document) is fits


def test_what_else_must_be_true_is_asked_only_of_a_file_with_the_names():
    asked: list[str] = []

    def check(document: Document) -> bool:
        asked.append(document.name)
        return True

    shapes = Shapes({"a"}, without={"b"}, check=check)
    assert not shapes(whole({"c": 1}))
    assert not shapes(whole({"a": 1, "b": 1}))
    assert asked == []
    assert shapes(whole({"a": 1}))
    assert asked == ["log.json"]


@pytest.mark.parametrize(
    "path", ["promptfoo/red_team.json", "deepteam/assessment.json", "verl/10.jsonl", "native/toy.csv"]
)
def test_no_check_of_another_format_runs_for_a_file(path):
    """Names alone exclude most formats: only one whose names a file has may look into it."""
    document = Document(FIXTURES / path)
    for form in FORMATS:
        if isinstance(form.sniff, Shapes) and form.name != path.partition("/")[0]:
            for shape in (form.sniff, *form.sniff.others):
                names = copy(shape)
                names.check, names.others = None, ()
                assert shape.check is None or not names(document), form.name
