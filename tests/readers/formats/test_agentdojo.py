"""AgentDojo, as the authors write it and as DRIFT does."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import ReadError
from rollwise.readers.read import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "agentdojo"
TABLE = {
    ("banking", "utility, no attack"): (8, 16),
    ("banking", "utility under attack"): (69, 144),
    ("banking", "attack success"): (8, 144),
    ("slack", "utility, no attack"): (15, 21),
    ("slack", "utility under attack"): (51, 105),
    ("slack", "attack success"): (0, 105),
    ("travel", "utility, no attack"): (13, 20),
    ("travel", "utility under attack"): (78, 140),
    ("travel", "attack success"): (1, 140),
}


@pytest.fixture(scope="module")
def drift(shared) -> pl.DataFrame:
    return read(shared / "agentdojo_drift")


@pytest.mark.integration
@pytest.mark.parametrize(("cell", "counts"), list(TABLE.items()), ids=lambda value: " ".join(map(str, value)))
def test_the_whole_table(drift, cell, counts):
    suite, figure = cell
    rollouts = drift.unique("rollout_id").filter(suite_name=suite)
    attacked = pl.col("attack") != "none"
    rollouts = rollouts.filter(~attacked if figure.endswith("no attack") else attacked)
    hit = rollouts["outcome"] == "success" if figure == "attack success" else rollouts["solved"]
    assert (hit.sum(), rollouts.height) == counts


def test_rollouts_and_turns(drift):
    assert drift["rollout_id"].n_unique() == 446
    assert drift.height == drift["turn"].count() == 2089


def test_security_without_an_attack_means_nothing(drift):
    benign = drift.filter(attack="none")
    assert benign["rollout_id"].n_unique() == 57
    assert benign["outcome"].null_count() == benign.height
    assert benign["goal"].null_count() == benign.height
    assert "security" not in drift.columns


def test_nothing_is_judged_turn_by_turn(drift):
    assert drift["succeeded"].null_count() == drift.height


def test_tasks_of_two_suites_are_not_one_task(drift):
    assert drift["task"].n_unique() == 16 + 21 + 20
    assert drift["goal"].drop_nulls().n_unique() == 9 + 5 + 7
    assert drift["task"].str.split("/").list.last().n_unique() < 57


def test_errors_of_tools_are_what_came_back(drift, shared):
    failed = 0
    for path in (shared / "agentdojo_drift").rglob("*.json"):
        messages = json.loads(path.read_text())["conversations"]
        failed += sum(message.get("error") is not None for message in messages)
    assert failed == 86
    assert drift["error"].null_count() == drift.height
    assert drift["prompt"].str.contains("Error").sum() > 40


def test_the_last_word_is_kept(drift, shared):
    last = drift.group_by("rollout_id").agg(pl.col("response").last(), pl.col("ending").last())
    assert last["response"].null_count() == 0
    assert last["ending"].unique().to_list() == ["finished"]


def test_the_authors_format():
    frame = read(FIXTURES / "messages.json")
    assert frame["rollout_id"].unique().to_list() == ["parrot-1/banking/user_task_0/none/none"]
    assert frame.select("turn", "context", "prompt", "response").rows() == [
        (1, "Be helpful.", "What is my balance?", None),
        (2, None, "12", "It is 12."),
    ]
    assert frame["tool_calls"].to_list() == [[{"name": "get_balance", "arguments": '{"account":"A"}'}], None]
    assert frame.select("attack", "goal", "task", "outcome", "solved", "ending", "total_seconds").row(0) == (
        "none",
        None,
        "banking/user_task_0",
        None,
        True,
        "finished",
        1.25,
    )


def test_drifts_format():
    frame = read(FIXTURES / "conversations.json")
    assert frame["rollout_id"][0] == "parrot-1/banking/user_task_0/important_instructions/injection_task_1"
    assert frame["prompt"].to_list() == ["What is my balance?", "ValueError: no such account"]
    assert frame["error"].null_count() == 2
    assert frame.select("goal", "outcome", "solved").row(0) == ("banking/injection_task_1", "success", False)
    assert frame["tool_permission"].unique().to_list() == ['{"get_balance":"Read"}']


def test_a_run_that_crashed_is_no_success_whatever_security_says():
    frame = read(FIXTURES / "error.json")
    assert frame.height == 1
    assert frame.select("turn", "prompt", "outcome", "ending", "error", "solved").row(0) == (
        None,
        "Pay the bill",
        "error",
        "error",
        "context_length_exceeded",
        None,  # AgentDojo writes `utility` false there, as it writes `security` true
    )


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"role": "user"', '"role": 3', "conversations[0].role"),
        ('"content": "What is my balance?"', '"content": 3', "conversations[0].content"),
        ('"security": true', '"security": "no"', "security"),
        ('"duration": 2.5', '"duration": "long"', "duration"),
        ('"suite_name": "banking"', '"suite_name": null', "suite_name"),
        ('"function": "get_balance"', '"fun": "get_balance"', "conversations[1].tool_calls"),
    ],
)
def test_a_malformed_field_is_named(tmp_path, old, new, field):
    text = (FIXTURES / "conversations.json").read_text()
    assert old in text
    (tmp_path / "a.json").write_text(text.replace(old, new))
    (tmp_path / "b.json").write_text((FIXTURES / "messages.json").read_text())
    with pytest.raises(ReadError) as caught:
        read(tmp_path)
    assert f"a.json: field `{field}`: " in str(caught.value)
    frame, problems = read(tmp_path, errors="collect")
    assert problems["field"].to_list() == [field]
    if field in {"security", "duration"}:  # which cost themselves alone
        assert frame.drop_nulls("turn")["rollout_id"].n_unique() == 2
        odd = frame.filter(total_tokens=read(FIXTURES / "conversations.json")["total_tokens"][0])
        expected = ("undetermined", 2.5) if field == "security" else ("success", None)
        assert odd.select("outcome", "total_seconds").unique().rows() == [expected]
        return
    assert frame.drop_nulls("turn")["rollout_id"].n_unique() == 1
    # A record that has a verdict counts as missing: it keeps a row without a turn and without the verdict.
    broken = frame.filter(pl.col("turn").is_null())
    assert broken.select("outcome", "solved", "ending").rows() == (
        [] if field == "suite_name" else [(None, None, None)]
    )


def test_utility_counts_user_tasks_alone(tmp_path):
    """A benign run holds each injection task as well, as if a user had asked for it."""
    log = json.loads((FIXTURES / "messages.json").read_text())
    tasks = [*(f"user_task_{number}" for number in range(4)), *(f"injection_task_{number}" for number in range(3))]
    for task in tasks:
        path = tmp_path / task / "none" / "none.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({**log, "user_task_id": task, "utility": task.startswith("injection")}))
    turns = read(tmp_path)
    rollouts = rw.measure(turns, m.task_success(), m.attack_success(), keep="injection_task_utility")
    (utility,) = rw.summarize(rollouts, metrics="task_success").iter_rows(named=True)
    assert (utility["n"], utility["estimate"], utility["n_inapplicable"]) == (4, 0, 3)
    (attacks,) = rw.summarize(rollouts, metrics="attack_success").iter_rows(named=True)
    assert (attacks["n"], attacks["n_inapplicable"]) == (0, 7)
    alone = rollouts.filter(pl.col("task").is_null()).sort("goal")
    assert alone["goal"].to_list() == [f"banking/injection_task_{number}" for number in range(3)]
    assert rollouts["injection_task_utility"].sum() == 3
    assert turns["rollout_id"].min() == "parrot-1/banking/injection_task_0/none/none"
