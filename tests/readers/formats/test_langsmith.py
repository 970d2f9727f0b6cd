"""Runs of LangSmith: one by one, or within each other, with messages of LangChain or of OpenAI."""

import json
from pathlib import Path
from typing import Any

import pytest

from rollwise import read
from rollwise.errors import ReadError

LOG = Path(__file__).parents[1] / "fixtures" / "langsmith" / "runs.jsonl"
RUNS: list[dict[str, Any]] = [json.loads(line) for line in LOG.read_text().splitlines()]
COLUMNS = ("turn", "context", "prompt", "response", "error", "prompt_tokens", "response_tokens", "seconds", "cost_usd")


def test_traces_are_rollouts_and_runs_of_models_are_turns():
    frame = read(LOG)
    assert frame.select(COLUMNS).rows() == [
        (1, "Be kind.", "Send it", "", None, 10, 4, 0.5, 0.001),
        (2, None, "sent", "Done", None, 20, 2, 1.0, 0.002),
        (None, None, "Look", None, "Overloaded", None, None, 1.0, None),
        (1, None, "Is anybody there?", "Yes.", None, None, None, 1.0, None),
    ]
    assert [name.split("/")[1] for name in frame["rollout_id"]] == ["t1", "t1", "t2", "t3"]
    assert frame["tool_calls"][0].to_list() == [{"name": "send", "arguments": '{"to":"Ann"}'}]
    assert frame.select("target", "task", "total_tokens", "total_seconds", "total_cost_usd", "ending").rows()[1:3] == [
        ("parrot-1", "e1", 36, 3.5, pytest.approx(0.003), None),
        ("parrot-1", None, None, 1.0, None, "error"),
    ]
    assert frame.select("score_harm", "session_id", "tags").row(0) == (0.25, "p1", '["red"]')
    assert frame["span_name"].to_list() == ["llm", "llm", "llm", "chain"]


def test_runs_within_a_run_are_the_same(tmp_path):
    path = tmp_path / "runs.json"
    path.write_text(json.dumps([{**RUNS[0], "child_runs": RUNS[1:3]}, *RUNS[3:]]))
    assert read(path).select(COLUMNS).equals(read(LOG).select(COLUMNS))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"start_time": "now"}, "field `start_time`"),
        ({"total_cost": "much"}, "field `total_cost`: expected a number"),
        ({"inputs": {"messages": [{"role": 3}]}}, r"field `inputs.messages\[0\].role`"),
        ({"child_runs": [{"id": "x"}]}, r"field `child_runs\[0\]`"),
    ],
)
def test_a_broken_run_is_named_and_the_others_are_read(tmp_path, change, says):
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in [*RUNS[:3], {**RUNS[3], **change}]))
    with pytest.raises(ReadError, match=says):
        read(path)
    frame, problems = read(path, errors="collect")
    # An odd cost or time costs itself alone.
    assert (frame["rollout_id"].n_unique(), problems.height) == (
        2 if {"total_cost", "start_time"} & set(change) else 1,
        1,
    )
