"""Sessions of agents: Hugging Face's simple format, and Pi's own, both written by hand to their pages."""

import json
from pathlib import Path

import pytest

import rollwise as rw
from rollwise import read
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parent / "fixtures"
TRACE = FIXTURES / "session_traces" / "time.jsonl"
PI = FIXTURES / "pi"


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(path: Path, records: list[dict]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def test_a_session_trace():
    frame = read(TRACE)
    first = frame.filter(rollout_id="abc123")
    assert first.select("turn", "context", "prompt", "response", "observation", "reasoning").rows() == [
        (1, "Be brief.", "what time is it?", "", None, "Ask the tool."),
        (2, None, "2026-07-01T15:00:00Z", "it is 15:00 UTC ☃", "Thanks", None),
    ]
    assert first["tool_calls"][0].to_list() == [{"name": "get_time", "arguments": "{}"}]
    answers = [line for line in lines(TRACE) if line.get("message", {}).get("role") == "assistant"]
    assert frame["turn"].count() == len(answers)


def test_what_a_harness_adds_to_the_header_is_kept():
    frame = read(TRACE)
    assert frame.select("target", "harness", "session_name", "passed", "score_source").row(0) == (
        "acme/parrot",
        "my-agent",
        "what time is it",
        True,
        0.5,
    )
    assert frame.filter(rollout_id="abc124").select("turn", "prompt").rows() == [(None, "Anyone?")]


def test_a_message_before_its_header_is_one_sentence(tmp_path):
    header, *messages = lines(TRACE)[:3]
    path = written(tmp_path / "a.jsonl", [header | {"type": "note"}, *messages])
    with pytest.raises(ReadError, match=r"record 2: field `type`: is a message before the header of a session"):
        read(path, format="session_traces")


def test_a_session_of_pi_with_branches():
    frame = read(PI / "tree.jsonl")
    assert frame.select("node_id", "parent_id", "turn", "prompt", "response", "observation").rows() == [
        ("a1", None, 1, "List the files ☃", "Looking.", None),
        ("a2", "a1", 2, "a.py", "There is a.py.", None),
        ("a3", "a2", 3, "Delete it", "Deleted.", None),
        ("a4", "a2", 3, "Deleted a file.\n\nKeep it", None, "$ pwd\n/project"),
    ]
    assert frame["tool_calls"][0].to_list() == [{"name": "bash", "arguments": '{"command":"ls"}'}]
    assert frame["reasoning"][0] == "Use ls."
    assert frame["error"].to_list() == [None, None, None, "overloaded"]
    assert frame.select("target", "ending", "cwd").row(0) == ("parrot-1", "error", "/project")
    assert rw.rollout.paths(frame)["rollout_id"].n_unique() == 2


def test_tokens_and_costs_of_pi_add_up():
    frame = read(PI / "tree.jsonl")
    usage = [line["message"]["usage"] for line in lines(PI / "tree.jsonl") if "usage" in line.get("message", {})]
    assert frame["total_tokens"][0] == sum(each["totalTokens"] for each in usage) == 80
    assert frame["total_cost_usd"][0] == pytest.approx(sum(each["cost"]["total"] for each in usage))
    assert frame.select("prompt_tokens", "response_tokens").row(0) == (16, 4)


def test_the_oldest_sessions_of_pi_are_linear():
    frame = read(PI / "linear.jsonl")
    assert "node_id" not in frame.columns
    assert frame.select("turn", "prompt", "response").rows() == [(1, "Hi", "Hello")]


def test_broken_links_of_pi_are_one_sentence(tmp_path):
    records = lines(PI / "tree.jsonl")
    with pytest.raises(ReadError, match="the entry 'a1' occurs twice in this file"):
        read(written(tmp_path / "twice.jsonl", [*records, records[3]]))
    records[2]["parentId"] = "a1"
    with pytest.raises(ReadError, match="parentId"):
        read(written(tmp_path / "circle.jsonl", records))
    silent = read(written(tmp_path / "silent.jsonl", [lines(PI / "tree.jsonl")[number] for number in (0, 2)]))
    assert silent.select("turn", "prompt").rows() == [(None, "List the files ☃")]
