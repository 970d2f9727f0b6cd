"""Codex: sessions, what was taken back in them, those of early versions, and what `codex exec --json` prints."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import read, schema
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "codex"


@pytest.fixture(scope="module")
def sessions() -> pl.DataFrame:
    return read(FIXTURES)


@pytest.fixture(scope="module")
def session(sessions) -> pl.DataFrame:
    frame: pl.DataFrame = sessions.filter(rollout_id="C1")
    return frame


def written(path: Path, *lines: dict) -> Path:
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def item(kind: str, **more: object) -> dict:
    return {"type": "response_item", "payload": {"type": kind, **more}}


def event(kind: str, **more: object) -> dict:
    return {"type": "event_msg", "payload": {"type": kind, **more}}


def said(role: str, text: str) -> dict:
    return item("message", role=role, content=[{"type": "input_text", "text": text}])


META = {"type": "session_meta", "payload": {"id": "S"}}


def test_every_call_of_the_model_is_a_turn(sessions, session):
    schema.check(sessions, schema.TURNS)
    assert session.select("turn", "prompt", "response", "error").rows() == [
        (1, "<environment_context>/work</environment_context>\n\nList the files\n[input_image]", "I look.", None),
        (2, '{"output":"a.txt\\n","metadata":{"exit_code":0}}', None, None),
        (3, "Success.", "One file: a.txt.", None),
        (4, "Delete it", None, "stream disconnected"),
    ]
    assert session["context"].to_list() == ["You are Codex.\n\nAsk before you write.", None, None, None]
    assert session["reasoning"].to_list() == ["**Listing**", None, None, None]
    assert session["aborted"].to_list() == [None, None, None, "interrupted"]


def test_tools_with_and_without_names(session):
    assert [call for calls in session["tool_calls"].drop_nulls() for call in calls] == [
        {"name": "shell", "arguments": '{"command":["ls"]}'},
        {"name": "web_search", "arguments": '{"type":"search","query":"ls"}'},
        {"name": "apply_patch", "arguments": "*** Begin Patch\n*** End Patch"},
    ]


def test_tokens_are_those_of_each_call_and_are_not_counted_when_told_again(session):
    assert session["prompt_tokens"].to_list() == [100, 150, None, None]
    assert session["response_tokens"].to_list() == [20, 10, None, None]
    assert session["total_tokens"].unique().to_list() == [280] == [100 + 20 + 150 + 10]


def test_facts_of_the_session(sessions, session):
    names = (
        "target",
        "run",
        "attack",
        "attempt",
        "total_seconds",
        "cwd",
        "originator",
        "version",
        "git_branch",
        "git_commit",
    )
    assert session.select(names).unique().rows() == [
        ("gpt-5-codex", "C1", "none", 1, 4.0, "/work", "codex_exec", "0.46.0", "main", "abc")
    ]
    other = sessions.filter(rollout_id="C2").select("cwd", "forked_from", "agent_role").unique()
    assert other.rows() == [("/work", "C1", "explorer")], "its own lines, not those of the session it came from"


def test_what_was_taken_back_is_pruned(sessions):
    frame = sessions.filter(rollout_id="C2")
    assert frame.select("turn", "prompt", "node_id", "parent_id", "pruned", "target_call").rows() == [
        (1, "Hi", "1", None, False, 1),
        (2, "Insult me", "2", "1", True, 2),
        (3, "Fool", "3", "2", True, 3),
        (2, "Praise me", "4", "1", False, 4),
    ]
    kept = rw.rollout.paths(frame).filter(pl.col("pruned").ne_missing(True))
    assert kept["response"].to_list() == ["Hello", "You shine"]


def test_more_taken_back_than_was_asked(tmp_path):
    lines = (META, said("user", "Hi"), event("user_message", message="Hi"), said("assistant", "No"))
    after = (event("thread_rolled_back", num_turns=9), said("user", "Anew"), said("assistant", "Yes"))
    frame = read(written(tmp_path / "a.jsonl", *lines, *after))
    assert frame.select("turn", "prompt", "response", "parent_id", "pruned").rows() == [
        (1, "Hi", "No", None, True),
        (1, "Anew", "Yes", None, False),
    ]


def test_two_answers_with_nothing_between_are_told_apart_by_their_tokens(tmp_path):
    def spent(tokens: int) -> dict:
        usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
        return event("token_count", info={"total_token_usage": usage, "last_token_usage": usage})

    lines = (META, said("user", "Hi"), said("assistant", "One"), spent(5), said("assistant", "two"), spent(7))
    frame = read(written(tmp_path / "a.jsonl", *lines))
    assert frame.select("turn", "prompt", "response", "prompt_tokens").rows() == [
        (1, "Hi", "One", 5),
        (2, None, "two", 7),
    ]
    assert frame["total_tokens"].to_list() == [8, 8]


def test_a_session_without_an_answer(tmp_path):
    frame = read(written(tmp_path / "a.jsonl", META, said("developer", "Be kind."), said("user", "Hi")))
    assert frame.select("turn", "context", "prompt", "response").rows() == [(None, "Be kind.", "Hi", None)]


def test_a_session_without_a_name_is_called_by_its_content(tmp_path):
    lines = ({"type": "turn_context", "payload": {"model": "m"}}, said("user", "Hi"), said("assistant", "Hello"))
    frame = read(written(tmp_path / "a.jsonl", *lines))
    assert frame["rollout_id"][0].startswith("codex-")
    assert frame.select("target", "response").row(0) == ("m", "Hello")


def test_early_sessions_have_no_payload(sessions):
    frame = sessions.filter(rollout_id="C3")
    assert frame.select("turn", "context", "prompt", "response", "observation", "git_branch").rows() == [
        (1, "Be brief.", "2 + 2?", "4", "Thanks", "main")
    ]


def test_what_exec_prints(sessions):
    frame = sessions.filter(rollout_id="C4")
    assert frame.select("turn", "prompt", "response", "reasoning", "error").rows() == [
        (1, None, None, "**Listing**", None),
        (2, "a.txt\n", None, None, None),
        (3, "Found", "One file.", None, None),
        (4, None, None, None, "usage limit"),
    ]
    assert [call for calls in frame["tool_calls"].drop_nulls() for call in calls] == [
        {"name": "command_execution", "arguments": '{"command":"bash -lc ls"}'},
        {"name": "search", "arguments": '{"q":"a"}'},
    ]
    assert frame["total_tokens"].unique().to_list() == [6040 + 129]


def test_a_command_that_fails_in_silence(tmp_path):
    failed = {
        "type": "command_execution",
        "command": "false",
        "aggregated_output": "",
        "exit_code": 1,
        "status": "failed",
    }
    lines = ({"type": "thread.started", "thread_id": "S"}, {"type": "item.completed", "item": failed})
    assert read(written(tmp_path / "a.jsonl", *lines)).select("response", "observation").row(0) == (None, "exit code 1")


def test_a_broken_line_is_named_and_leaves_the_others(tmp_path):
    path = written(tmp_path / "a.jsonl", META, said("user", "Hi"), item("message", role=7), said("assistant", "Hello"))
    with pytest.raises(ReadError, match=r"a\.jsonl: record 3: field `payload\.role`: expected `str"):
        read(path)
    frame, problems = read(path, errors="collect")
    assert frame.select("prompt", "response").rows() == [("Hi", "Hello")]
    assert problems.select("record", "field").rows()[0] == ("3", "payload.role")
    assert problems["reason"][1].startswith("'7' is not a known speaker")
