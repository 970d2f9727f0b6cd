"""SWE-agent: steps are turns, whatever the history holds."""

import json
from pathlib import Path

import polars as pl
import pytest

from rollwise import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "swe_agent"


@pytest.fixture(scope="module")
def trajectories(shared) -> pl.DataFrame:
    return read(shared / "swe_agent")


@pytest.mark.integration
def test_turns_are_the_steps_else_the_answers_of_the_history(shared, trajectories):
    steps = answers = items = 0
    for path in sorted((shared / "swe_agent").rglob("*.traj")):
        log = json.loads(path.read_text())
        items += len(log["history"])
        said = [m for m in log["history"] if m["role"] == "assistant" and not m.get("is_demo")]
        count = len(log.get("trajectory") or said)
        mine = read(path)
        assert mine["turn"].to_list() == list(range(1, count + 1))
        steps += count
        answers += len(said)
    assert (steps, answers, items) == (135, 134, 288)  # one history lacks the last answer
    assert trajectories["rollout_id"].n_unique() == 14
    assert trajectories["turn"].count() == 135


def test_every_observation_is_the_next_prompt_or_the_last_observation(shared):
    path = shared / "swe_agent" / "ctf" / "rev" / "rock.traj"
    log = json.loads(path.read_text())
    frame = read(path)
    observed = [step["observation"] for step in log["trajectory"]]
    assert [*frame["prompt"].to_list()[1:], frame["observation"].to_list()[-1]] == observed
    assert frame["observation"].null_count() == frame.height - 1
    assert frame["response"].to_list() == [step["response"] for step in log["trajectory"]]


def test_a_step_whose_answer_was_asked_for_anew_is_that_of_the_trajectory(shared):
    frame = read(shared / "swe_agent" / "ctf" / "crypto" / "katy.traj")
    log = json.loads((shared / "swe_agent" / "ctf" / "crypto" / "katy.traj").read_text())
    history = [m["content"] for m in log["history"] if m["role"] == "assistant"]
    differing = [place for place, (a, b) in enumerate(zip(history, frame["response"], strict=True)) if a != b]
    assert differing == [16]


@pytest.mark.integration
def test_facts(trajectories):
    rollouts = trajectories.unique("rollout_id")
    assert dict(rollouts["ending"].value_counts().iter_rows()) == {"finished": 13, None: 1}
    assert "marshmallow-code__marshmallow-1867" in set(rollouts["task"])
    assert rollouts["total_cost_usd"].max() == pytest.approx(1.26719)
    assert rollouts["outcome"].null_count() == rollouts["solved"].null_count() == 14


def test_the_columns_of_the_fixtures():
    frame = read(FIXTURES / "toy__repo-1.traj")
    assert frame.select("turn", "context", "prompt", "response", "observation").rows() == [
        (1, "You fix.", "An example\n\nExample answer\n\nFix it", "Look first.\nls", None),
        (2, None, "a.py", "Done.", "diff"),
    ]
    assert frame["tool_calls"].to_list() == [
        [{"name": "bash", "arguments": '{"command":"ls"}'}],
        [{"name": "action", "arguments": "submit"}],
    ]
    assert frame.select("total_tokens", "queries", "total_cost_usd", "task").row(0) == (120, 2, 0.25, "toy__repo-1")
    assert read(FIXTURES / "toy__repo-2.traj")["ending"].to_list() == ["budget"]
    only = read(FIXTURES / "history_only.traj")
    assert only.select("turn", "response", "observation", "ending").rows() == [(1, "I will.", "Go on", None)]


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("status", "ending"),
    [
        ("submitted", "finished"),
        ("submitted (exit_cost)", "budget"),
        ("submitted (exit_format)", "target_ended"),
        ("exit_context", "budget"),
        ("exit_total_execution_time", "budget"),
        ("exit_api", "error"),
        ("exit_environment_error", "error"),
        ("exit_forfeit", "target_ended"),
        (None, None),
        (3, None),
    ],
)
def test_exits(tmp_path, status, ending):
    log = json.loads((FIXTURES / "toy__repo-1.traj").read_text())
    log["info"]["exit_status"] = status
    (tmp_path / "a.traj").write_text(json.dumps(log))
    assert read(tmp_path)["ending"].unique().to_list() == [ending]
