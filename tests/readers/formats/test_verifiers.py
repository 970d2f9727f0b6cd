"""verifiers and prime-rl: graphs of messages, rewards and their weights, results of old."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import read, schema
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "verifiers"
EPISODES = Path(__file__).parents[1] / "produced" / "verifiers_episodes.jsonl"  # cut from what verifiers 0.4.0 wrote


def test_a_trace_without_branches():
    frame = read(FIXTURES / "traces.jsonl").filter(pl.col("rollout_id").str.ends_with("/t1"))
    assert frame.select("turn", "context", "prompt", "response", "observation", "reward").rows() == [
        (1, "You add.", "2 + 2?", None, None, None),
        (2, None, "4", "4", "Thanks", 0.5),
    ]
    assert frame["node_id"].null_count() == 2
    assert frame.select("ending", "target", "task", "total_seconds", "score_exact").row(0) == (
        *("budget", "parrot-1", "sum-1", 4.0, 1.0),
    )
    assert frame.select("prompt_tokens", "response_tokens", "seconds").row(0) == (10, 2, 1.5)


def test_a_trace_with_branches_is_a_tree():
    frame = read(FIXTURES / "traces.jsonl").filter(pl.col("rollout_id").str.ends_with("/t2"))
    assert frame.select("turn", "prompt", "response", "node_id", "parent_id", "target_call").rows() == [
        (1, "2 + 2?", "4", "1", None, 1),
        (2, "Sure?", "5", "3", "1", 2),
        (2, "Compact", "Four", "5", "1", 3),
    ]
    assert frame["attempt"].to_list() == [2] * 3
    assert frame.select("ending", "error").row(2) == ("error", "ProviderError: 429")


@pytest.mark.integration
def test_paths_of_a_file_that_mixes_both():
    frame = read(FIXTURES / "traces.jsonl")
    schema.check(frame, schema.TURNS)
    paths = rw.rollout.paths(frame)
    assert paths["rollout_id"].n_unique() == 3
    rollouts = rw.measure(paths, (pl.col("response").count() + 0 * pl.col("error").count()).alias("answers"))
    assert sorted(rollouts["answers"]) == [1, 2, 2]


def test_messages_are_kept_however_alike(tmp_path):
    nodes = [{"message": {"role": "user", "content": "Again"}}]
    for place in range(6):
        role, sampled = ("assistant", True) if place % 2 == 0 else ("user", False)
        nodes.append({"parent": place, "sampled": sampled, "message": {"role": role, "content": "Again"}})  # type: ignore[dict-item]
    (tmp_path / "traces.jsonl").write_text(json.dumps({"id": "t", "task": {}, "nodes": nodes}))
    frame = read(tmp_path)
    assert frame["prompt"].to_list() == frame["response"].to_list() == ["Again"] * 3


def test_a_missing_reward_is_null_and_not_zero():
    frame = read(FIXTURES / "results.jsonl")
    assert frame["reward"].to_list() == [1.0, None]
    assert frame["attempt"].to_list() == [1, 2]
    assert frame["ending"].to_list() == ["finished", "error"]


def test_a_node_below_itself_is_named(tmp_path):
    text = (FIXTURES / "traces.jsonl").read_text().splitlines()[0].replace('"parent": 3', '"parent": 4')
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(ReadError, match=r"nodes\[4\]\.parent.* is 4, which is not before it"):
        read(tmp_path / "a.jsonl")


def test_results_of_tool_environments_spell_their_calls_out(tmp_path):
    call = json.dumps({"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}})
    line = {
        "prompt": [{"role": "user", "content": "2 + 2?"}],
        "completion": [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": "4", "tool_call_id": "c"},
            {"role": "assistant", "content": "4"},
        ],
        "reward": 1.0,
        "example_id": 0,
    }
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(line) + "\n")
    frame = read(path)
    assert frame.select("source", "prompt", "response").rows() == [("verifiers", "2 + 2?", ""), ("verifiers", "4", "4")]
    assert frame["tool_calls"].to_list() == [[{"name": "add", "arguments": '{"a": 2}'}], None]


def test_an_episode_that_broke_before_any_agent_began_is_counted():
    frame = read(EPISODES)
    first = frame.row(0, named=True)
    assert (first["turn"], first["ending"], first["task_type"]) == (None, "error", "MySumsTask")
    assert first["error"].startswith("TimeoutError: SingleAgentEnv.run() exceeded its 3s deadline")
    assert (first["episode"], first["env"], first["run"]) == ("a16c0c39e84e42a585fa58745cfa1ceb", "mysums", "run-1")
    rollouts = frame.unique("rollout_id", maintain_order=True)
    assert rollouts["ending"].to_list() == ["error", "budget", "error", "finished", "finished"]


def test_a_deadline_is_a_limit_and_no_end_of_its_own():
    row = read(EPISODES).row(1, named=True)
    assert (row["stop_condition"], row["ending"], row["error"], row["ok"]) == ("agent_timeout", "budget", None, True)


def test_an_agent_that_never_called_its_model_has_one():
    row = read(EPISODES).row(2, named=True)
    assert (row["turn"], row["target"], row["expected"]) == (None, "fake-1", "4")
    assert row["error"] == "TaskError: task setup: RuntimeError: no setup"


def test_the_agents_of_one_episode_are_told_apart():
    frame = read(EPISODES).tail(5)
    assert frame["agent_name"].to_list() == ["assistant"] * 2 + ["user"] * 3
    assert frame["episode"].n_unique() == 1
    assert frame["response"].to_list()[-1] == "###DONE###"


def test_the_step_of_the_training_is_told_by_the_work_of_a_run(tmp_path):
    work = {"type": "train", "id": "r", "work": {"type": "train", "step": 7}}
    lines = [json.dumps({**json.loads(line), "run": work}) for line in EPISODES.read_text().splitlines()]
    (tmp_path / "traces.jsonl").write_text("\n".join(lines))
    assert read(tmp_path)["train_step"].unique().to_list() == [7]
