"""ATIF and ATOF: trajectories, and the streams of events of the same runs."""

import json
import re
from pathlib import Path

import pytest

import rollwise as rw
from rollwise import read
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.mark.integration
def test_turns_are_the_steps_of_the_agent(shared):
    total = 0
    for path in sorted((shared / "atif").rglob("*.json")):
        steps = json.loads(path.read_text())["steps"]
        ours = [step for step in steps if step["source"] == "agent"]
        frame = read(path)
        assert frame["turn"].to_list() == list(range(1, len(ours) + 1))
        # One model of NAT's wrote its reasoning in tags before its answer.
        answers = [re.sub(r"^<think>.*?</think>\s*", "", step["message"], flags=re.DOTALL) for step in ours]
        assert frame["response"].to_list() == [answer or None for answer in answers]
        assert frame["step_id"].to_list() == [step["step_id"] for step in ours]
        total += len(ours)
    assert total == 15


def test_what_the_logs_count(shared):
    path = shared / "atif" / "inspect_scout" / "openhands_hello-world.trajectory.json"
    frame = read(path)
    assert frame.select("total_tokens", "total_cost_usd").row(0) == (300, 0.00135)
    assert frame["prompt_tokens"].to_list() == [100, 120]
    assert frame["cost_usd"].sum() == pytest.approx(0.00135)
    path = shared / "atif" / "nat" / "atif_output_reasoning.json"
    assert read(path)["total_tokens"][0] == 243357 + 551823


def test_what_came_back_is_the_next_prompt_or_the_last_observation(shared):
    frame = read(shared / "atif" / "nat" / "exmp04_atif.json")
    assert frame["prompt"].to_list() == [
        "Summarize the document at /docs/intro.md",
        "Title: Intro\nThis project is an end-to-end demo.",
    ]
    scout = read(shared / "atif" / "inspect_scout" / "openhands_hello-world.trajectory.json")
    assert scout["context"][0].startswith("You are OpenHands agent")
    linear = read(shared / "atif" / "inspect_scout").filter(agent_name="terminus-2")
    assert "test-session-linear-history-summarization-1-summary" in linear["observation"][-1]
    assert linear["continued_trajectory_ref"].unique().to_list() == ["trajectory.cont-1.json"]


@pytest.mark.thinned(4)
@pytest.mark.parametrize("number", ["01", "02", "04", "05"])
def test_a_stream_of_events_says_the_same_as_its_trajectory(shared, number):
    folder = shared / "atif" / "nat"
    stream, trajectory = (read(folder / f"exmp{number}_{kind}") for kind in ("atof.jsonl", "atif.json"))
    assert stream["rollout_id"].unique().to_list() == trajectory["rollout_id"].unique().to_list()
    if number == "01":  # an opaque workflow: what lies between stands in one prompt of the trajectory
        assert stream["response"].to_list() == trajectory["response"].to_list() == ["3 + 4 = 7"]
        return
    same = ["turn", "response", "tool_calls", "target"]
    assert stream.select(same).equals(trajectory.select(same))
    assert stream["prompt"].to_list() == trajectory["prompt"].to_list()


def test_a_run_in_both_forms_is_read_once(shared):
    frame, problems = read(shared / "atif", errors="collect")
    assert frame["source"].unique().to_list() == ["atif"]
    assert problems.height == 0
    streams = rw.readers.accounting(shared / "atif").filter(format="atof")
    assert streams.select("read", "broken", "rollouts").unique().rows() == [(0, 0, 0)]
    assert streams["passed_over"].to_list() == streams["records"].to_list()
    assert read(shared / "atif").equals(frame)  # known, and no error


def test_dialects_of_events():
    frame = read(FIXTURES / "atof" / "others.jsonl")
    assert frame["response"].to_list() == ["Wait.", "Hello", "Bye"]
    assert [None if calls is None else calls[0]["name"] for calls in frame["tool_calls"].to_list()] == [
        "look",
        "wave",
        None,
    ]
    frame = read(FIXTURES / "atof" / "openai.jsonl")
    assert frame.select("prompt", "response", "observation").rows() == [("3 + 4?", None, None), ("7", "7", "bye")]


def test_a_stream_without_a_beginning(tmp_path):
    text = (FIXTURES / "atof" / "openai.jsonl").read_text().replace('"parent_uuid": null', '"parent_uuid": "x"')
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(ReadError, match="no event without a parent"):
        read(tmp_path / "a.jsonl")


def test_the_columns_of_the_fixtures():
    frame = read(FIXTURES / "atif" / "trajectory.json")
    assert frame.select("rollout_id", "context", "prompt", "response", "observation", "reasoning").rows() == [
        ("nat-agent/s1", "You add.", "3 + 4?", None, None, "Use it."),
        ("nat-agent/s1", None, "7", "It is 7", "thanks", None),
    ]
    assert read(FIXTURES / "atif" / "unanswered.json").select("turn", "prompt").rows() == [(None, "Hi")]


def test_a_list_of_trajectories_is_read_one_by_one(tmp_path):
    one = json.loads((FIXTURES / "atif" / "trajectory.json").read_text())
    other = json.loads((FIXTURES / "atif" / "unanswered.json").read_text())
    (tmp_path / "workflow_output_atif.json").write_text(json.dumps([one, other, {**one, "steps": 3}]))
    frame, problems = read(tmp_path, errors="collect")
    assert frame["rollout_id"].n_unique() == 2
    assert problems.select("record", "field").rows() == [("2", "steps")]


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("ids", "name"),
    [
        ({"trajectory_id": "t", "session_id": "s"}, "t"),
        ({"session_id": "s"}, "s"),
        ({"trajectory_id": "", "session_id": "s"}, "s"),
        ({"session_id": None}, None),
        ({}, None),
    ],
)
def test_a_trajectory_has_its_id_else_that_of_its_session_else_of_its_content(tmp_path, ids, name):
    one = json.loads((FIXTURES / "atif" / "trajectory.json").read_text())
    rest = {key: value for key, value in one.items() if key not in {"trajectory_id", "session_id"}}
    (tmp_path / "a.json").write_text(json.dumps({**rest, **ids}))
    run, _, found = read(tmp_path)["rollout_id"][0].partition("/")
    assert run == "nat-agent"
    assert found == name if name else len(found) == 8
