"""Claude Code: sessions, what follows a /clear, side chains and forks."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import read, schema
from rollwise.errors import ReadError, SchemaError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "claude_code"


@pytest.fixture(scope="module")
def sessions(shared) -> pl.DataFrame:
    return read(shared / "claude_code_jsonl")


def test_every_answer_is_a_turn(shared, sessions):
    lines = [
        json.loads(line)
        for path in sorted((shared / "claude_code_jsonl").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    answers = [line for line in lines if line["type"] == "assistant"]
    assert sessions["turn"].count() == sessions.height == len(answers) == 15
    assert sessions["run"].n_unique() == len({line["sessionId"] for line in lines}) == 9
    assert sessions["response_tokens"].sum() == sum(line["message"]["usage"]["output_tokens"] for line in answers)


def test_what_follows_a_clear_is_a_rollout_of_its_own(sessions):
    assert sessions["rollout_id"].n_unique() == 13
    split = sessions.filter(run="test-session-003")
    assert split.select("rollout_id", "turn", "prompt").rows() == [
        ("test-session-003", 1, "First conversation message"),
        ("test-session-003/2", 1, "Second conversation after clear"),
    ]
    assert not sessions["prompt"].str.contains("/clear").any()


def test_tools_thoughts_and_tokens(sessions):
    session = sessions.filter(run="test-session-002")
    assert session["tool_calls"][0].to_list() == [
        {"name": "Read", "arguments": '{"file_path":"/Users/test/project/README.md"}'}
    ]
    assert session["reasoning"][0].startswith("The user wants me to read")
    assert session["prompt"][1].startswith("# My Project")
    assert session["prompt_tokens"].to_list() == [200 + 100 + 50, 250]
    assert session["total_tokens"][0] == 350 + 50 + 250 + 40
    assert session["target"].unique().to_list() == ["claude-opus-4-5-20251101"]
    assert session["total_seconds"][0] == 3.0


def test_the_columns_of_the_fixtures():
    frame = read(FIXTURES / "session.jsonl")
    assert frame.select("rollout_id", "turn", "prompt", "response", "observation", "error").rows() == [
        ("S1", 1, "Read it", "Reading.", None, None),
        ("S1", 2, "A file", "It is a file.", "Thanks", None),
        ("S1/2", 1, "Anew", None, None, "API Error: 529"),
        ("S1/side/s1", 1, "Sub task", "Sub done", None, None),
    ]
    assert "node_id" not in frame.columns
    assert frame["reasoning"].to_list() == ["I should read.", None, None, None]


def test_tools_called_at_once_are_one_answer_and_all_their_results_one_prompt(tmp_path):
    def line(uuid, parent, role, content, message_id=None):
        message = {"role": role, "content": content, **({"id": message_id} if message_id else {})}
        return json.dumps({"uuid": uuid, "parentUuid": parent, "sessionId": "S", "type": role, "message": message})

    def use(number):
        return [{"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"n": number}}]

    def result(number):
        return [{"type": "tool_result", "tool_use_id": f"t{number}", "content": f"file {number}"}]

    lines = [
        line("u", None, "user", "Read both"),
        line("a1", "u", "assistant", use(1), "m1"),
        line("r1", "a1", "user", result(1)),
        line("a2", "r1", "assistant", use(2), "m1"),  # the same answer, though a result came between
        line("r2", "a2", "user", result(2)),
        line("a3", "r2", "assistant", [{"type": "text", "text": "Done"}], "m2"),
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    frame = read(tmp_path)
    assert frame.select("turn", "prompt", "response", "observation").rows() == [
        (1, "Read both", None, None),
        (2, "file 1\n\nfile 2", "Done", None),
    ]
    assert [call["arguments"] for call in frame["tool_calls"][0]] == ['{"n":1}', '{"n":2}']


def test_a_session_that_was_asked_anew_is_a_tree():
    frame = read(FIXTURES / "forked.jsonl")
    schema.check(frame, schema.TURNS)
    assert frame.select("turn", "prompt", "node_id", "parent_id", "target_call").rows() == [
        (1, "Hi", "f2", None, 1),
        (2, "Insult me", "f4", "f2", 2),
        (2, "Praise me", "f6", "f2", 3),
    ]
    paths = rw.rollout.paths(frame)
    assert paths.select("rollout_id", "turn", "response").rows() == [
        ("S2/f4", 1, "Hello"),
        ("S2/f4", 2, "No"),
        ("S2/f6", 1, "Hello"),
        ("S2/f6", 2, "You shine"),
    ]
    with pytest.raises(SchemaError, match="table of tree nodes"):
        rw.measure(frame, pl.col("response").count().alias("answers"))


@pytest.mark.integration
def test_trees_and_plain_sessions_in_one_table():
    frame = read(FIXTURES)
    schema.check(frame, schema.TURNS)
    assert rw.rollout.paths(frame)["rollout_id"].n_unique() == 5


def test_a_message_that_stands_twice_and_a_circle(tmp_path):
    lines = (FIXTURES / "forked.jsonl").read_text().splitlines()
    (tmp_path / "twice.jsonl").write_text("\n".join([*lines, lines[-1]]))
    with pytest.raises(ReadError, match="record 7: the message 'f6' occurs twice"):
        read(tmp_path / "twice.jsonl")
    looped = [line.replace('"parentUuid": null', '"parentUuid": "f6"') for line in lines]
    (tmp_path / "loop.jsonl").write_text("\n".join(looped))
    with pytest.raises(ReadError, match="field `parentUuid`: is its own ancestor"):
        read(tmp_path / "loop.jsonl")


def line(uuid: str, parent: str | None, kind: str = "progress", text: str = "", **more: object) -> str:
    role = {"message": {"role": kind, "content": text}} if kind in {"user", "assistant"} else {}
    return json.dumps({"uuid": uuid, "parentUuid": parent, "sessionId": "S", "type": kind, **role, **more})


@pytest.mark.parametrize(
    "between",
    [
        [],
        [line("p", "a"), line("t", "p", "attachment")],
        [line("p", None, "system", subtype="compact_boundary", logicalParentUuid="a")],
        [line("p", "p")],
    ],
    ids=["never written", "other lines", "a compaction", "a loop"],
)
def test_links_lead_through_lines_that_are_no_messages(tmp_path: Path, between: list[str]):
    """A session in one row of messages is no tree, whatever stands between them; nor does a lost parent cut it in two."""
    last = json.loads(between[-1])["uuid"] if between else "nowhere"
    log = tmp_path / "session.jsonl"
    lines = [line("u", None, "user", "one"), line("a", "u", "assistant", "1"), *between, line("v", last, "user", "two")]
    log.write_text("\n".join([*lines, line("q", "v", "attachment"), line("b", "q", "assistant", "2")]))
    frame = read(log)
    assert frame.select("turn", "prompt", "response").rows() == [(1, "one", "1"), (2, "two", "2")]
    assert not schema.is_tree(frame)
