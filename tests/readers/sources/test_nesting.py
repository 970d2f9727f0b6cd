"""Values nested hundreds and thousands deep: bounded by counting, whatever Python's limit of recursion is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import read
from rollwise.errors import ArgumentError, ReadError
from rollwise.readers import Document
from rollwise.readers.nesting import DEEPEST, bounded, is_deep

FIXTURES = Path(__file__).parents[1] / "fixtures"
LOGS = sorted(path for path in FIXTURES.rglob("*") if path.suffix in {".json", ".jsonl", ".traj"})
DEPTHS = (450, 900, 5000)


def nested(depth: int, kind: str = "list") -> str:
    return "[" * depth + "1" + "]" * depth if kind == "list" else '{"k": ' * depth + "1" + "}" * depth


def with_notes(log: Path, texts: list[str]) -> str:
    """The log with a field `note` of each of these texts in the first, the last, or another of its objects."""
    is_lines = log.suffix == ".jsonl" or Document(log).kind == "lines"
    value = [json.loads(line) for line in log.read_text().splitlines()] if is_lines else json.loads(log.read_text())
    objects = [item for item in objects_in(value) if "note" not in item]
    for place, text in enumerate(texts):
        objects[place * (len(objects) - 1) // max(len(texts) - 1, 1)]["note"] = f"<{text}>"
    written = "".join(json.dumps(line) + "\n" for line in value) if is_lines else json.dumps(value)
    for text in texts:
        written = written.replace(json.dumps(f"<{text}>"), text)
    return written


def objects_in(value: Any) -> list[dict[str, Any]]:
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    inner = [item for part in items for item in objects_in(part)]
    return [value, *inner] if isinstance(value, dict) else inner


@pytest.mark.integration
@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_deep_field_of_any_format_costs_itself_alone(log, tmp_path):
    path = tmp_path / log.parent.name / log.name  # some formats read facts from the names of folders
    path.parent.mkdir()
    path.write_text(log.read_text())
    try:
        before = read(path)
    except ReadError:
        pytest.skip("holds no rollouts")
    path.write_text(with_notes(log, [nested(900)]))
    turns, problems = read(path, errors="collect")
    assert (turns["rollout_id"].n_unique(), turns.height) == (before["rollout_id"].n_unique(), before.height)
    assert problems["reason"].str.contains("is nested too deeply").any()


@pytest.mark.integration
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", ["list", "object"])
def test_the_record_and_the_field_are_named(tmp_path, depth, kind):
    path = tmp_path / "artifact.json"
    path.write_text(with_notes(FIXTURES / "jailbreakbench" / "toy.json", ["0", "1", nested(depth, kind)]))
    before = read(FIXTURES / "jailbreakbench" / "toy.json")
    turns, problems = read(path, errors="collect")
    assert turns.height == before.height
    assert problems["reason"].to_list() == ["is nested too deeply, and became null where it is"]
    assert problems["field"][0].startswith("jailbreaks[2].note")
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"rollout_id": "a", "prompt": "Hi"}\n{"rollout_id": "b", "note": ' + nested(depth, kind) + "}\n")
    turns, problems = read(lines, errors="collect")
    assert turns["rollout_id"].to_list() == ["a", "b"]
    assert problems.select("record", "field").row(0)[0] == "2"
    assert problems["field"][0].startswith("note")


def test_what_is_read_without_collecting_is_announced(tmp_path, capsys):
    (tmp_path / "lines.jsonl").write_text('{"rollout_id": "a", "prompt": "Hi", "note": ' + nested(900) + "}\n")
    assert read(tmp_path).height == 1
    assert "1 part of records read with a doubt" in capsys.readouterr().err


@pytest.mark.integration
def test_no_limit_of_recursion_makes_reading_abort(tmp_path):
    """A higher limit lets Python, msgspec and Polars use up the stack or the memory of the process."""
    (tmp_path / "a.jsonl").write_text('{"rollout_id": "a", "prompt": "Hi", "note": ' + nested(900, "object") + "}\n")
    (tmp_path / "b.jsonl").write_text('{"rollout_id": "b", "prompt": "Hi", "note": ' + nested(100_000) + "}\n")
    (tmp_path / "c.jsonl").write_text("[" * 1_000_000)
    code = """
import resource, sys
import rollwise as rw
sys.setrecursionlimit(10**7)
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
turns, problems = rw.read(sys.argv[1], errors="collect")
print(turns.height, problems.height)
value = 1
for _ in range(900):
    value = {"k": value}
try:
    rw.turns([{"rollout_id": "a", "prompt": "p", "note": value}])
except rw.errors.ArgumentError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.splitlines() == ["2 3", "turns: record 0 is nested too deeply, or holds itself"], done.stderr


@pytest.mark.parametrize("depth", DEPTHS)
def test_values_of_python(depth):
    value: Any = 1
    for _ in range(depth):
        value = [value]
    row = {"rollout_id": "a", "prompt": "p", "note": value}
    with pytest.raises(ArgumentError, match="record 0 is nested too deeply"):
        rw.turns([row])
    with pytest.raises(ArgumentError, match="a value is nested too deeply"):
        rw.turns({name: [item] for name, item in row.items()})


@pytest.mark.integration
def test_a_column_of_a_parquet_file(tmp_path):
    dtype: Any = pl.Int64
    value: Any = 1
    for _ in range(DEEPEST + 20):
        dtype, value = pl.List(dtype), [value]
    frame = pl.DataFrame({"rollout_id": ["a"], "prompt": ["p"], "note": pl.Series([value], dtype=dtype)})
    frame.write_parquet(tmp_path / "log.parquet")
    assert read(tmp_path, errors="collect")[0].height == 1


# ── counting ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "text",
    [
        json.dumps(["[" * 500, '"' + "[" * 500, "\\", '\\"[[[', "a\\\\"] * 50),
        json.dumps({"a": [[1, 2], {"b": ["]}]}"] * 200}] * 100}),
        nested(DEEPEST),
        nested(DEEPEST - 1, "object"),
    ],
)
def test_brackets_in_texts_and_wide_values_are_not_depth(text):
    assert not is_deep(text.encode())
    assert bounded(text.encode()) == (text.encode(), [])


def test_strings_do_not_hide_depth():
    """A bracket in a text must not pair with one outside of it."""
    text = '["]", ' * 300 + "1" + "]" * 300
    json.loads(text)
    cut, places = bounded(text.encode())
    assert len(places) == 1
    value, depth = json.loads(cut), 0
    while isinstance(value, list):
        value, depth = value[-1], depth + 1
    assert (value, depth) == (None, DEEPEST)


def test_several_deep_values_keep_what_is_beside_them():
    text = '{"a": {"b": [0, ' + nested(300) + ', 2]}, "c": "\\"]", "d": ' + nested(200, "object") + ', "e": 5}'
    cut, places = bounded(text.encode())
    value = json.loads(cut)
    assert (value["a"]["b"][2], value["c"], value["e"]) == (2, '"]', 5)
    assert [place[:2] for place in places] == [("a", "b"), ("d", "k")]


@pytest.mark.parametrize(
    "text", ["[" * 300, "]" * 300, "[" * 300 + "]" * 200, nested(300) + "]" * 300, '["' + "[" * 300]
)
def test_a_broken_text_stays_broken(text):
    cut, _ = bounded(text.encode())
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut)
