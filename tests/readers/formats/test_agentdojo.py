"""AgentDojo, as the authors write it and as DRIFT does."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import read
from rollwise.errors import ReadError

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


@pytest.mark.integration
def test_rollouts_and_turns(drift):
    assert drift["rollout_id"].n_unique() == 446
    assert drift.height == drift["turn"].count() == 2089


@pytest.mark.integration
def test_security_without_an_attack_means_nothing(drift):
    benign = drift.filter(attack="none")
    assert benign["rollout_id"].n_unique() == 57
    assert benign["outcome"].null_count() == benign.height
    assert benign["goal"].null_count() == benign.height
    assert "security" not in drift.columns


@pytest.mark.integration
def test_nothing_is_judged_turn_by_turn(drift):
    assert drift["succeeded"].null_count() == drift.height


def test_tasks_of_two_suites_are_not_one_task(drift):
    assert drift["task"].n_unique() == 16 + 21 + 20
    assert drift["goal"].drop_nulls().n_unique() == 9 + 5 + 7
    assert drift["task"].str.split("/").list.last().n_unique() < 57


@pytest.mark.integration
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
        False,  # the context is the target's own limit, and AgentDojo counts it as not solved
    )


def test_utility_that_is_written_for_a_server_that_failed_is_unknown(tmp_path, capsys):
    log = json.loads((FIXTURES / "error.json").read_text())
    log["error"] = "Skipping task 'user_task_3' due to internal server error"
    (tmp_path / "error.json").write_text(json.dumps(log))
    assert read(tmp_path).select("outcome", "ending", "solved").row(0) == ("error", "error", None)
    assert "1 rollout crashed" in capsys.readouterr().err


@pytest.mark.thinned(2)
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


@pytest.mark.integration
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
    texts = dict(turns.select("goal", "goal_text").unique().rows())
    assert texts == {None: None} | dict.fromkeys(alone["goal"], "What is my balance?")
    assert turns["rollout_id"].min() == "parrot-1/banking/injection_task_0/none/none"


REFUSAL = "[CALL ERROR] The function calling of send_money has been refused due to it does not align with the plan."


def drift_run(folder: Path, asked: str, refusal: str | None, **answer: object) -> pl.DataFrame:
    """Read a run with DRIFT, which refuses a call by a message of the user that holds a fragment of its own log."""
    said = (
        []
        if refusal is None
        else [
            {
                "role": "user",
                "content": f"</function_error>\n{ {'role': 'user', 'content': refusal}!r}\n</function_error>",
            }
        ]
    )
    text = f"<function_thought>Hm.</function_thought>\n<function_call>{asked}</function_call>\n<final_answer></final_answer>"
    chat = [
        {"role": "user", "content": "Pay the bill"},
        {"role": "assistant", "content": text, "tool_calls": [], **answer},
        *said,
        {"role": "assistant", "content": "Done.", "tool_calls": []},
    ]
    names = {"suite_name": "banking", "pipeline_name": "p", "user_task_id": "user_task_0", "attack_type": "direct"}
    log = {**names, "injection_task_id": "injection_task_1", "utility": True, "security": False, "conversations": chat}
    (folder / "run.json").write_text(json.dumps(log))
    return read(folder / "run.json")


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("asked", "calls"),
    [
        ('[send_money(to="Ann", amount=5.0)]', [("send_money", '{"to":"Ann","amount":5.0}')]),
        ("[get_balance(), bank.send(to=['Ann', None])]", [("get_balance", "{}"), ("bank.send", '{"to":["Ann",null]}')]),
        ("[send_money('Ann', amount=total - 1)]", [("send_money", '{"0":"Ann","amount":"total - 1"}')]),
        ("[send_money(to=", [("send_money", "[send_money(to=")]),
        ("[send_money(to={[]: 1})]", [("send_money", '{"to":"{[]: 1}"}')]),
        (f"[{'-' * 19_000}x]", None),
    ],
)
def test_a_call_that_a_defense_refused_is_a_call_and_the_refusal_its_result(tmp_path, asked, calls):
    frame = drift_run(tmp_path, asked, REFUSAL)
    [results, after] = frame["tool_results"].to_list()
    assert {(result["result"], result["status"]) for result in results} == {(REFUSAL, "refused")}
    assert (len(results), after) == (len(frame["tool_calls"][0]), None)
    assert frame["prompt"].to_list() == ["Pay the bill", REFUSAL]
    made = [(call["name"], call["arguments"]) for call in frame["tool_calls"][0]]
    assert len(made) == 1 if calls is None else made == calls


def test_a_call_that_nobody_refused_stays_as_the_log_has_it(tmp_path):
    """DRIFT itself left a call in the text of a last answer: whether it would have run, nobody knows."""
    frame = drift_run(tmp_path, "[send_money()]", None)
    assert frame["tool_calls"].null_count() == 2
    assert frame["tool_results"].null_count() == 2
    made = [{"function": "send_money", "args": {"to": "Ann"}}]
    frame = drift_run(tmp_path, "[send_money(to='Ann')]", "go on", tool_calls=made)
    assert frame["tool_calls"][0].to_list() == [{"name": "send_money", "arguments": '{"to":"Ann"}'}]
    assert frame["tool_results"].null_count() == 2


def test_all_refusals_of_the_real_runs_are_there(drift):
    is_refused = pl.col("tool_results").list.first().struct.field("status") == "refused"
    refused = drift.filter(is_refused)
    assert (refused.height, refused["rollout_id"].n_unique()) == (58, 47)
    assert refused["tool_calls"].list.len().sum() == 69
    results = drift.filter(is_refused.shift(1).over("rollout_id"))["prompt"]
    assert results.str.starts_with("[CALL ERROR]").sum() == 58
