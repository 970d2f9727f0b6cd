"""tau2: one voice run that is real, results of text runs that are ours."""

import json
from pathlib import Path

import pytest

from rollwise import read
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "tau2"


@pytest.mark.integration
def test_the_voice_run(shared):
    folder = shared / "tau2_bench"
    frame, problems = read(folder, errors="collect")
    assert frame["rollout_id"].unique().to_list() == ["49b22f0c-4a56-41c5-922f-bc2a56e53a23/40/0"]
    assert frame.select("task", "ending", "num_ticks", "attempt").row(0) == ("retail/40", "finished", 973, 1)
    assert frame["total_seconds"][0] == pytest.approx(352.87473287503235)
    assert frame["solved"].null_count() == frame["response"].null_count() == frame.height == 10
    assert frame["target"].unique().to_list() == ["openai:gpt-realtime-2"]  # from the header above the folder
    assert problems.height == 0  # the header is a companion of the simulations
    with pytest.raises(ReadError, match="the header of a run of tau2-bench, not rollouts: open it with"):
        read(folder / "results.json")


def test_answers_of_the_voice_run_are_where_the_agent_speaks(shared):
    path = next((shared / "tau2_bench" / "simulations").iterdir())
    ticks = json.loads(path.read_text())["ticks"]
    frame = read(path)
    speaks = [tick["agent_chunk"]["contains_speech"] for tick in ticks]
    assert speaks.index(True) == frame["first_tick"][0]
    assert len(ticks) - 1 - speaks[::-1].index(True) == frame["last_tick"][-1]
    for first, last, following in zip(frame["first_tick"], frame["last_tick"], frame["first_tick"][1:], strict=False):
        assert first <= last < following
        assert any(tick["user_chunk"]["contains_speech"] for tick in ticks[first : following + 1])
    covered = sum(speaks[tick] for a, b in frame.select("first_tick", "last_tick").rows() for tick in range(a, b + 1))
    assert covered == sum(speaks)


def test_text_runs():
    frame = read(FIXTURES / "run" / "results.json")
    rollouts = frame.group_by("rollout_id", maintain_order=True).first()
    assert rollouts.select("target", "task", "attempt", "ending", "solved").rows() == [
        ("parrot-1", "retail/7", 1, "finished", True),
        ("parrot-1", "retail/7", 2, "budget", False),
        ("parrot-1", "retail/7", 3, "error", None),
    ]
    first = frame.filter(attempt=1)
    assert first["prompt"].to_list() == [None, "Cancel it", "ok"]  # what a tool gave the user is not shown
    assert first["response"].to_list() == ["Hi! How can I help?", None, "Done."]
    assert first["observation"].to_list() == [None, None, "###STOP###"]
    assert first["reward"].to_list() == [None, None, 1.0]
    assert first.select("prompt_tokens", "response_tokens", "seconds", "cost_usd").row(1) == (20, 3, 1.5, 0.005)


def test_a_text_simulation_in_a_file_of_its_own():
    frame = read(FIXTURES / "text")
    assert frame["source"].unique().to_list() == ["tau2"]
    assert frame.select("rollout_id", "task", "solved").row(0) == ("sim-7/7/0", "7", True)
    assert frame["response"].to_list() == ["Hi! How can I help?", None, "Done."]


def test_overlapping_speech_is_one_answer():
    frame = read(FIXTURES / "voice")
    assert frame.select("turn", "prompt", "response", "first_tick", "last_tick").rows() == [
        (1, "HelHel", "lo lo lo ", 2, 4),
        (2, "Hel", "lo ", 6, 6),
    ]
    assert frame["observation"].to_list() == [None, "Hel"]


def test_a_simulation_beside_no_header_and_a_broken_one(tmp_path):
    (tmp_path / "simulations").mkdir()
    path = tmp_path / "simulations" / "a.json"
    path.write_bytes((FIXTURES / "voice" / "simulations" / "sim-9.json").read_bytes())
    for header, target in ((None, None), ("{", None), ('{"info": {"agent_info": {"llm": "x"}}}', "x"), ("3", None)):
        if header is not None:
            (tmp_path / "results.json").write_text(header)
        assert read(path)["target"].unique().to_list() == [target]


def test_every_tool_result_says_whether_it_failed(tmp_path):
    """As tau2's data model writes it: `error: bool = False`."""
    said = [
        {"role": "user", "content": "Cancel it"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "name": "find", "arguments": {"id": 7}}]},
        {"role": "tool", "id": "1", "content": "{}", "requestor": "assistant", "error": False},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "2", "name": "cancel", "arguments": {}}]},
        {"role": "tool", "id": "2", "content": "Error: no order", "requestor": "assistant", "error": True},
        {"role": "assistant", "content": "There is no such order."},
    ]
    simulation = {"id": "s", "task_id": "7", "termination_reason": "user_stop", "messages": said}
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"info": {}, "tasks": [], "simulations": [simulation]}))
    assert read(path)["prompt"].to_list() == ["Cancel it", "{}", "Error: no order"]
