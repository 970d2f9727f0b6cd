"""Logs that are there twice: counted once and told, whatever the format; and ids that many records share."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from readers.repeats.versions import read, record, written  # type: ignore[import-not-found]  # needs the path of tests

import rollwise as rw
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.mark.integration
@pytest.mark.parametrize("tool", sorted(path.name for path in FIXTURES.iterdir()))
def test_the_logs_of_a_tool_in_two_folders_count_once_and_are_told(tmp_path: Path, tool: str) -> None:
    alone, problems = rw.read(FIXTURES / tool, errors="collect")
    for folder in ("a", "b"):
        shutil.copytree(FIXTURES / tool, tmp_path / folder)
    both, told = rw.read(tmp_path, errors="collect")
    assert both["rollout_id"].n_unique() == alone["rollout_id"].n_unique()
    assert told.height > 2 * problems.height


def test_two_hit_logs_that_contradict_each_other(tmp_path: Path) -> None:
    """Formerly the second was passed over in silence, as if it were the hits of a report that was read."""
    hit: dict[str, Any] = {
        "attempt_id": "a",
        "attempt_idx": 0,
        "probe": "p",
        "output": "Hi",
        "run_id": "R",
        "score": 1.0,
    }
    for name, score in {"one": 1.0, "two": 0.25}.items():
        (tmp_path / f"{name}.hitlog.jsonl").write_text(json.dumps(hit | {"score": score, "detector": "d"}) + "\n")
    turns, problems, _ = read(tmp_path)
    assert turns.select("outcome", "score").rows() == [("success", None)]
    assert "it is unknown, and null" in problems.filter(field="score")["reason"].item()
    with pytest.raises(ReadError, match="delete the wrong one"):
        rw.read(tmp_path)


@pytest.mark.parametrize("kind", ["messages", "nested"])
def test_every_conversation_under_an_id_is_missing_but_the_first(tmp_path: Path, kind: str) -> None:
    """A gate that took them for one unread rollout would pass although most of the file is unread."""
    written(tmp_path / "a.jsonl", *[record(kind, "a", [f"No {number}"]) for number in range(50)])
    turns, problems, unread = read(tmp_path)
    assert turns["response"].to_list() == ["No 0"]
    assert (problems.height, unread) == (49, 49)
    assert problems["record"].to_list()[:3] == ["a", "a (2)", "a (3)"]


@pytest.mark.integration
@pytest.mark.parametrize("answer", ["No 1", "No 2"], ids=["copies", "other conversations"])
def test_many_repeated_rollouts_take_no_longer_than_they_are_many(tmp_path: Path, answer: str) -> None:
    names = [f"r{number}" for number in range(4000)]
    first = [record("nested", name, ["No 1"]) for name in names]
    written(tmp_path / "a.jsonl", *first, *[record("nested", name, [answer]) for name in names])
    start = time.process_time()
    turns, _ = rw.read(tmp_path, errors="collect")
    assert turns.height == len(names)
    assert time.process_time() - start < 5  # 10 when each was a table of its own


def test_the_one_of_three_that_counts_has_its_own_id(tmp_path: Path) -> None:
    """A crash, the beginning, and the whole: the last of them counts, under the id that all have."""
    parts = [record("nested", "a", said) for said in ([None], ["No"], ["No", "Yes"])]
    written(tmp_path / "a.jsonl", *parts, record("nested", "b", ["No"]))
    turns, problems, unread = read(tmp_path)
    assert sorted(turns.select("rollout_id", "response").rows()) == [("a", "No"), ("a", "Yes"), ("b", "No")]
    assert (problems.height, unread) == (2, 0)


@pytest.mark.parametrize("stamp", ["2030-01-01 10:00:00 UTC", "2030-01-01 10:00:00 +0000 UTC", "2030-01-01T10:00:00Z"])
def test_an_export_is_dated_in_every_usual_form(tmp_path: Path, stamp: str) -> None:
    log = json.loads((FIXTURES / "promptfoo" / "red_team.json").read_text())
    for name, date in {"a": stamp, "b": "2029-01-01T00:00:00Z"}.items():
        dated = log | {"evalId": "eval-1", "results": log["results"] | {"timestamp": date}}
        (tmp_path / f"{name}.json").write_text(json.dumps(dated))
    _, problems = rw.read(tmp_path, errors="collect")
    superseded = problems.filter(problems["reason"].str.contains("superseded by a version of a later time"))
    assert superseded.height
    assert {Path(file).name for file in superseded["file"]} == {"b.json"}


@pytest.mark.thinned(40)
@pytest.mark.parametrize("cut", ['{"rollout_id": "x", "turn": 1, "resp', 'ponse": "Hi"}'], ids=["its end", "its start"])
@pytest.mark.parametrize("kind", ["turns", "messages", "nested"])
def test_a_first_line_that_is_cut_costs_itself(tmp_path: Path, kind: str, cut: str) -> None:
    path = written(tmp_path / "a.jsonl", record(kind, "a", ["No"]), record(kind, "b", ["No"]))
    path.write_text(f"{cut}\n{path.read_text()}")
    turns, problems, unread = read(path)
    assert turns["rollout_id"].to_list() == ["a", "b"]
    assert problems["record"].to_list() == ["1"]
    assert unread == 1
