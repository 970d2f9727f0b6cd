"""OpenHands: answers of the agent are turns, in the events of each version."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rollwise import read
from rollwise.errors import ReadError
from rollwise.readers import Document
from rollwise.readers.formats.exchange.openhands import SHAPES

FIXTURES = Path(__file__).parents[1] / "fixtures" / "openhands"
TEXTS = ("turn", "context", "prompt", "response", "observation")
RUN = {"source": "agent", "action": "run", "args": {"command": "ls", "thought": "Look."}}
RESULT = {"source": "agent", "observation": "run", "content": "a.py"}
ASKED = {"source": "user", "action": "message", "args": {"content": "Fix it."}}


def written(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def record(*history: Any, **fields: Any) -> dict[str, Any]:
    return {"instance_id": "toy", "instruction": "Fix it.", "history": [*history], **fields}


def of(frame: pl.DataFrame, end: str) -> pl.DataFrame:
    return frame.filter(pl.col("rollout_id").str.ends_with(end))


def test_an_answer_with_two_actions_is_one_turn_and_observations_are_the_next_prompt():
    frame = of(read(FIXTURES / "output.jsonl"), "/toy__repo-1")
    assert frame.select(TEXTS).rows() == [
        (1, "You are OpenHands.", "Fix it.", "Look first.", None),
        (2, None, "a.py\n\nx = 1", "x must be 2", None),
        (3, None, "Your thought has been logged.", "What is next?", None),
        (4, None, "Please continue.", None, None),
        (5, None, "old_str is not there", "Done.\n\nx is 2 now.", None),
    ]
    assert [[call["name"] for call in calls or ()] for calls in frame["tool_calls"].to_list()] == [
        ["run", "read"],
        [],
        [],
        ["edit"],
        [],
    ]
    assert frame["tool_calls"][0][1] == {"name": "read", "arguments": '{"path":"a.py"}'}
    assert frame["prompt_tokens"].to_list() == [100, 200, None, 300, 400]
    assert frame["response_tokens"].to_list() == [10, 10, None, 15, 15]


def test_the_facts_of_an_evaluation():
    frame = read(FIXTURES / "output.jsonl").unique("rollout_id", maintain_order=True)
    assert frame.select("task", "attempt", "target", "ending", "solved", "total_cost_usd", "total_tokens").rows() == [
        ("toy__repo-0", 1, None, "error", None, None, None),
        ("toy__repo-1", 1, "openai/gpt-4o", "finished", True, 0.25, 1050),
        ("toy__repo-2", 1, "openai/gpt-4o", "budget", False, None, None),
        ("toy__repo-2", 2, "openai/gpt-4o", None, None, None, None),
    ]
    assert frame["attack"].unique().to_list() == ["none"]
    assert frame["agent"].to_list() == [None, "CodeActAgent", "CodeActAgent", "CodeActAgent"]
    assert frame["test_result_git_patch"].to_list() == [None, "diff --git a/a.py b/a.py", "", "diff"]
    assert [name.partition("/")[2] for name in frame["rollout_id"]] == [
        "toy__repo-0",
        "toy__repo-1",
        "toy__repo-2",
        "toy__repo-2/2",
    ]


def test_a_verdict_that_nobody_reached_is_unknown():
    turns, _ = read(FIXTURES, errors="collect")
    rollouts = turns.unique("rollout_id", maintain_order=True)
    # The agent never ran, the tests of its patch could not be run, and the resolver's agent crashed.
    unknown = rollouts.filter(pl.col("solved").is_null())["rollout_id"].str.split("/").list.slice(1).list.join("/")
    assert unknown.to_list() == ["toy__repo-0", "toy__repo-2/2", "toy/repo#6", "safety-toy/2"]


def test_the_events_of_the_resolver_have_no_speaker():
    frame = read(FIXTURES / "resolver.jsonl")
    assert of(frame, "toy/repo#5").select(TEXTS).rows() == [
        (1, None, "Please fix the issue.", "I'll add it.", None),
        (2, None, "$ ", "Which license?", None),
        (3, None, "MIT.", "It is licensed.", None),
    ]
    assert frame["tool_calls"][0].to_list() == [{"name": "run", "arguments": '{"command":"touch LICENSE"}'}]
    assert of(frame, "#5").select("solved", "total_cost_usd", "ending").row(0) == (True, 0.07, "finished")
    assert of(frame, "#6").select("turn", "prompt", "solved", "error").rows() == [
        (None, "Please fix the other.", None, "Agent failed to run or crashed")
    ]


def test_pairs_of_the_first_versions_begin_with_the_instruction():
    assert read(FIXTURES / "pairs.jsonl").select(TEXTS).rows() == [
        (1, None, "Say hi.", "I say it.", None),
        (2, None, "hi", "I said hi.", None),
    ]


def test_the_events_of_the_agent_sdk():
    frame = read(FIXTURES / "sdk.jsonl")
    assert frame.select(TEXTS).rows() == [
        (1, "You are OpenHands.", "Send the report.\n\nMind the rules.", "I look.", None),
        (2, None, "report.csv", None, None),
        (3, None, "mail: not found", None, None),
        (4, None, "Tool 'send' not found.", "I cannot send it.", "I cannot send it."),
    ]
    assert frame["tool_calls"][0].to_list() == [{"name": "terminal", "arguments": '{"command": "ls"}'}]
    assert frame["reasoning"][0] == "First, the files."
    assert frame.select("task", "attempt", "target", "ending", "solved", "total_tokens").row(0) == (
        *("safety-toy", 2, "litellm_proxy/gpt-4o", "finished", None, 330),
    )


@pytest.mark.integration
@pytest.mark.parametrize(
    ("error", "last", "ending"),
    [
        (None, {"source": "agent", "action": "finish", "args": {}, "message": "Done"}, "finished"),
        (None, {"source": "agent", "action": "reject", "args": {"outputs": {"reason": "No."}}}, "target_ended"),
        (None, RESULT, None),
        ("", RESULT, None),
        ("AgentStuckInLoopError: Agent got stuck in a loop", RESULT, "error"),
        ("RuntimeError: Agent reached maximum budget for conversation.", RESULT, "budget"),
        ("Timeout after 3600 seconds", RESULT, "budget"),
        ("STATUS$ERROR_LLM_AUTHENTICATION", {"source": "agent", "action": "finish", "args": {}}, "error"),
    ],
)
def test_endings(tmp_path, error, last, ending):
    path = written(tmp_path / "output.jsonl", record(ASKED, RUN, last, error=error))
    assert read(path)["ending"].unique().to_list() == [ending]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("fields", "solved"),
    [
        ({"success": True}, True),
        ({"resolved": False}, False),
        ({"report": {"resolved": True}}, True),
        ({"test_result": {"report": {"resolved": False}}}, False),
        ({"test_result": {"success": True}}, True),
        ({"test_result": {"correct": False}}, False),
        ({"test_result": {"git_patch": "diff"}}, None),
        ({"test_result": {"success": 1}}, None),
        ({"test_result": {"report": "3 passed"}}, None),
        ({"test_result": {"result": {"passed": True}}}, None),  # its meaning is the benchmark's
        ({"success": False, "error": "No container"}, False),  # the agent ran, and was judged
    ],
)
def test_what_solved_is_read_from(tmp_path, fields, solved):
    path = written(tmp_path / "output.jsonl", record(ASKED, RUN, RESULT, **fields))
    assert read(path)["solved"].to_list() == [solved]


@pytest.mark.parametrize("fields", [{"success": False}, {"resolved": False}, {"report": {"resolved": False}}])
def test_a_crash_is_said_to_be_no_failure(tmp_path, fields, capsys):
    crash = record(error="No container", **fields)
    path = written(tmp_path / "output.jsonl", record(ASKED, RUN, RESULT, success=True), {**crash, "instance_id": "b"})
    assert read(path)["solved"].to_list() == [True, None]
    assert capsys.readouterr().err == (
        "rollwise: 1 rollout crashed, with a verdict or reward that says no: counted as errors, not as failures\n"
    )


@pytest.mark.thinned(40)
@pytest.mark.parametrize(
    ("metrics", "cost"),
    [
        ({"accumulated_cost": 0.5, "costs": [{"cost": 0.5}]}, 0.5),
        ({"accumulated_cost": 0.5}, 0.5),
        ({"accumulated_cost": 0.0, "costs": []}, None),  # of a model without a price
        ({"accumulated_cost": 0.0, "costs": [{"cost": 0.0}]}, 0.0),
        ({"costs": []}, None),
        (None, None),
    ],
)
def test_a_cost_that_nobody_counted_is_unknown(tmp_path, metrics, cost):
    path = written(tmp_path / "output.jsonl", record(ASKED, RUN, RESULT, metrics=metrics))
    assert read(path)["total_cost_usd"].to_list() == [cost]


def test_a_file_whose_first_rollouts_crashed_is_recognized(tmp_path):
    crashes = [{**record(error="No container"), "instance_id": str(place), "history": None} for place in range(5)]
    path = written(tmp_path / "output.jsonl", *crashes, record(ASKED, RUN, RESULT))
    frame = read(path)
    assert frame["source"].unique().to_list() == ["openhands"]
    assert frame["turn"].to_list() == [None] * 5 + [1]


@pytest.mark.parametrize(
    "other",
    [
        record({"action": "ls", "observation": "a.py"}),  # steps of another agent
        record({"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}),
        record(["Hi", "Yo"]),
        record({"kind": "click", "source": "browser"}),
        record(),
        {**record(), "history": "gone"},
        {"instance_id": "toy", "model_patch": "diff", "model_name_or_path": "gpt-4o"},
        {"history": [ASKED, RUN, RESULT]},
    ],
)
def test_other_files_are_of_other_formats(tmp_path, other):
    path = written(tmp_path / "output.jsonl", other)
    assert not SHAPES(Document(path))


def test_predictions_are_no_rollouts(tmp_path):
    path = written(tmp_path / "predictions.jsonl", {"instance_id": "toy", "model_patch": "diff"})
    with pytest.raises(ReadError, match="is not recognized as openhands: record 0: field `history`: is missing"):
        read(path, format="openhands")


def test_what_users_do_themselves_is_asked_and_not_answered(tmp_path):
    typed = {"source": "user", "action": "run", "args": {"command": "pwd"}, "message": "Running command: pwd"}
    state = {"source": "environment", "action": "change_agent_state", "args": {"agent_state": "running"}, "message": ""}
    path = written(tmp_path / "output.jsonl", record(ASKED, state, RUN, RESULT, typed, RESULT, RUN))
    assert read(path).select("prompt", "response").rows() == [
        ("Fix it.", "Look."),
        ("a.py\n\nRunning command: pwd\n\na.py", "Look."),
    ]


@pytest.mark.parametrize("name", ["call_tool_mcp", "browse_interactive", "delegate", "task_tracking", "write"])
def test_actions_are_calls_without_what_openhands_adds(tmp_path, name):
    args = {"path": "a", "thought": "", "hidden": False, "confirmation_state": "confirmed", "start": None}
    path = written(tmp_path / "output.jsonl", record(ASKED, {"source": "agent", "action": name, "args": args}))
    frame = read(path)
    assert frame["response"].to_list() == [None]
    assert frame["tool_calls"].to_list() == [[{"name": name, "arguments": '{"path":"a"}'}]]


def attempts_of(folder: Path) -> list[tuple[Any, ...]]:
    turns, _ = read(folder, errors="collect")
    return turns.unique("rollout_id", maintain_order=True).select("task", "attempt", "ending", "solved").rows()


def test_attempts_that_a_critic_asked_for_count_once(tmp_path, capsys):
    done = {"source": "agent", "action": "finish", "args": {}, "message": "Done"}
    easy = record(ASKED, done, instance_id="easy")
    hard = record(ASKED, RUN, RESULT, instance_id="hard", error="Agent reached maximum iteration")
    again = record(ASKED, RUN, RESULT, done, instance_id="hard")
    written(tmp_path / "output.critic_attempt_1.jsonl", easy, hard)
    written(tmp_path / "output.critic_attempt_2.jsonl", again)
    attempts = [("easy", 1, "finished", None), ("hard", 1, "budget", None), ("hard", 2, "finished", None)]
    assert attempts_of(tmp_path) == attempts
    written(tmp_path / "output.jsonl", easy, again)
    capsys.readouterr()
    assert attempts_of(tmp_path) == attempts
    assert "2 rollouts are in a second file or record and read once" in capsys.readouterr().err
    # The file that repeats them is the one that is judged.
    written(tmp_path / "output.jsonl", {**easy, "report": {"resolved": True}}, {**again, "report": {"resolved": False}})
    assert sorted((task, ending, solved) for task, _, ending, solved in attempts_of(tmp_path)) == [
        ("easy", "finished", True),
        ("hard", "budget", None),
        ("hard", "finished", False),
    ]


@pytest.mark.integration
def test_a_file_of_attempts_alone_says_which_they_are(tmp_path):
    written(tmp_path / "output.critic_attempt_2.jsonl", record(ASKED, RUN, RESULT))
    assert read(tmp_path).select("rollout_id", "attempt").row(0)[1] == 2
    assert read(tmp_path)["rollout_id"][0].endswith("/toy/2")
