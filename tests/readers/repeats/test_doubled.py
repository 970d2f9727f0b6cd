"""A name that occurs twice in one JSON object."""

import json
from typing import Any

import pytest
from readers.repeats.versions import read, record  # type: ignore[import-not-found]  # needs the path of tests

import rollwise as rw
from rollwise.errors import ReadError


@pytest.mark.thinned(48)
@pytest.mark.parametrize("name", ["succeeded", "outcome", "score", "note", "target"])
@pytest.mark.parametrize("shape", ["{}", "{}\n{}", "[{},{}]"], ids=["one", "lines", "list"])
@pytest.mark.parametrize("kind", ["turns", "messages"])
def test_a_name_twice_in_one_object_is_a_problem(tmp_path, name, shape, kind):
    first, second = {"succeeded": (True, False), "outcome": ("success", "failure"), "score": (0.0, 1.0)}.get(
        name, ("x", "y")
    )
    path = tmp_path / ("log.jsonl" if "\n" in shape else "log.json")

    def texts(*values: Any) -> list[str]:
        plain = [json.dumps(record(kind, number, ["No"])[0])[:-1] for number in "ab"]
        return [
            text + "".join(f", {json.dumps(name)}: {json.dumps(value)}" for value in values) + "}" for text in plain
        ]

    path.write_text(shape.format(*texts(first, second)))
    turns, problems, _ = read(path)
    if kind == "turns" or name in {"succeeded", "outcome", "score"}:
        assert turns[name].null_count() == turns.height
        assert set(problems["field"]) == {name}
        assert "is stated twice, as " in problems["reason"][0]
        with pytest.raises(ReadError, match=rf"field `{name}`: is stated twice.*delete the wrong one"):
            rw.read(path)
    path.write_text(shape.format(*texts(first, first)))
    turns, problems, _ = read(path)
    assert problems.is_empty()
    assert kind == "messages" or not turns[name].null_count()


@pytest.mark.integration
def test_a_name_twice_far_down_in_a_file(tmp_path):
    """Of a long file some lines are looked at, and all once one states something twice."""
    lines = [json.dumps({"rollout_id": f"r{n}", "prompt": "p", "response": "q", "solved": True}) for n in range(3000)]
    doubled = [line[:-1] + ', "solved": false}' if n >= 1500 else line for n, line in enumerate(lines)]
    (tmp_path / "log.jsonl").write_text("\n".join(doubled))
    turns, problems, _ = read(tmp_path)
    assert turns["solved"].null_count() == problems.height > 1400
