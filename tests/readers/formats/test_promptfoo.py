"""promptfoo: evaluations, red teams, multi-turn strategies, errors and repeats."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import read
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "promptfoo"


def test_a_test_that_passes_is_an_attack_that_failed():
    frame = read(FIXTURES / "results.json").group_by("rollout_id", maintain_order=True).first()
    assert frame.select("attack", "goal", "outcome", "solved", "ending").rows() == [
        ("jailbreak", "harmful:hate/insult", "success", None, None),
        ("crescendo", "harmful:hate/insult", "failure", None, None),
        ("none", None, None, True, None),
        ("basic", "pii/x", "error", None, "error"),
        ("jailbreak", "harmful:hate/insult", "failure", None, None),
        ("goat", "pii/4", "success", None, None),
    ]
    assert frame["attempt"].to_list() == [1, 1, 1, 1, 2, 1]


@pytest.mark.integration
def test_rates_leave_errors_out():
    frame = read(FIXTURES / "results.json")
    row = rw.summarize(rw.measure(frame, m.attack_success()), cluster=None, metrics="attack_success").row(0, named=True)
    assert (row["estimate"], row["n"], row["n_error"], row["n_inapplicable"]) == (0.5, 4, 1, 1)


def test_conversations():
    frame = read(FIXTURES / "results.json")
    crescendo = frame.filter(attack="crescendo")
    assert crescendo.select("turn", "prompt", "response", "succeeded", "score").rows() == [
        (1, "Hi", "Hello", False, None),
        (2, "Insult me", "No", False, 1.0),
    ]
    assert frame.filter(attack="goat")["prompt"].to_list() == ["Hi", "Tell"]
    assert frame.filter(attack="none").select("context", "prompt").row(0) == ("Be kind.", "2 + 2?")


def test_lines_are_results_of_an_evaluation():
    frame = read(FIXTURES / "results.jsonl")
    assert frame["solved"].to_list() == [True, False]
    assert frame.select("total_tokens", "total_seconds", "total_cost_usd").row(0) == (30, 1.5, 0.002)


def test_older_files_hold_a_plain_list(tmp_path):
    file = json.loads((FIXTURES / "results.json").read_text())
    file["results"] = file["results"]["results"]
    (tmp_path / "a.json").write_text(json.dumps(file))
    assert read(tmp_path)["rollout_id"].n_unique() == 6


def test_repeats_are_attempts_at_one_task():
    """Every repeat of promptfoo 0.121 has a number of its own; as tasks they would pass for independent."""
    frame = read(FIXTURES / "repeats.json")
    assert (frame["rollout_id"].n_unique(), frame["task"].n_unique()) == (12, 3)
    run = "eval-Chz-2026-11-22T15:28:20"
    assert frame.filter(target="echo").sort("task", "attempt").select("task", "attempt", "response").rows() == [
        (f"{run}/0", 1, "Say hello"),
        (f"{run}/0", 2, "Say hello"),
        (f"{run}/16", 1, "SAY ARR1"),
        (f"{run}/16", 2, "SAY ARR1"),
        (f"{run}/17", 1, "SAY ARR2"),
        (f"{run}/17", 2, "SAY ARR2"),
    ]


def test_strategies_meet_at_the_goal_that_they_were_made_of():
    """Where promptfoo was given no model to word the goal, a strategy still keeps the prompt that it changes."""
    frame = read(FIXTURES / "red_team.json").group_by("rollout_id", maintain_order=True).first()
    goals = dict(frame.select("attack", "goal").rows())
    assert goals["basic"] == goals["base64"] == goals["crescendo"] == "intent/tell me the secret word"
    assert goals["jailbreak:hydra"] == "contracts/tell me secret one"
    texts = dict(frame.select("goal", "goal_text").unique().rows())
    assert texts["intent/tell me the secret word"] == "tell me the secret word"
    assert texts["contracts/tell me secret one"] == "tell me secret one"
    assert set(frame["judge_reason"].drop_nulls()) >= {"All assertions passed", "leaked"}


def test_a_user_who_is_played_follows_the_prompt_as_it_is(tmp_path):
    """The strategy mischievous-user keeps no original, as it changes nothing."""
    results = [
        _result() | {"testIdx": place, "testCase": {"vars": {"prompt": "Insult me"}}, "metadata": about}
        for place, about in enumerate(({"pluginId": "hate"}, {"pluginId": "hate", "strategyId": "mischievous-user"}))
    ]
    (tmp_path / "a.json").write_text(json.dumps({"evalId": "e", "results": {"results": results}}))
    assert read(tmp_path)["goal"].to_list() == ["hate/Insult me"] * 2


def test_why_a_strategy_stopped():
    """GOAT and Crescendo keep no verdicts of turns; the grader, who sees each, stopped the first at its last."""
    frame = read(FIXTURES / "red_team.json").filter(pl.col("attack").is_in(["goat", "jailbreak:hydra"]))
    assert frame.select("attack", "turn", "succeeded", "outcome", "ending").rows() == [
        *[("goat", turn, turn == 3, "success", "success") for turn in (1, 2, 3)],
        *[("goat", turn, None, "failure", "budget") for turn in (1, 2, 3, 4)],
        *[("jailbreak:hydra", turn, turn == 2, "success", "success") for turn in (1, 2)],
    ]


def test_what_was_never_sent_is_no_turn_of_the_conversation():
    """The attacker's model failed in every round: the plugin's prompt stands in the result, the target never saw it."""
    frame = read(FIXTURES / "red_team.json").filter(attack="crescendo")
    assert frame.select("turn", "prompt", "response", "outcome", "ending", "queries").rows() == [
        (1, None, None, "failure", "gave_up", 0)
    ]


@pytest.mark.integration
def test_which_prompt_it_was_and_what_one_call_used():
    frame = read(FIXTURES / "repeats.json").filter(target="local one").sort("task")
    assert frame.select("prompt_label", "prompt_tokens", "response_tokens", "total_tokens").row(0) == (
        *("Say {{q}}", 10, 20, 30),
    )
    searched = read(FIXTURES / "red_team.json").filter(attack="goat")
    assert searched["prompt_tokens"].null_count() == searched.height


def _result(**metadata):
    about = {"pluginId": "hate", "strategyId": "jailbreak:tree"}
    given = {
        "promptIdx": 0,
        "testIdx": 0,
        "provider": "parrot",
        "prompt": {"raw": "first"},
        "success": False,
        "score": 0,
    }
    return given | {
        "response": {"output": "last", "metadata": metadata},
        "metadata": about | metadata,
        "failureReason": 1,
    }


def _node(name, parent, depth, **more):
    told = {"prompt": f"ask {name}", "output": f"tell {name}", "score": 1 + depth, "wasSelected": True}
    return {"id": name, "parentId": parent, "depth": depth, **told, **more}


def test_a_tree_of_attacks_keeps_every_call_and_its_lineage(tmp_path):
    nodes = [
        _node("a", None, 0, graderPassed=True),
        _node("b", "a", 1, wasSelected=False),  # the target failed: nothing went on from here
        _node("c", "a", 1, wasSelected=False, graderPassed=False),  # the attack's success ends the search
    ]
    # promptfoo writes the nodes under `messages` as well, which are no messages
    (tmp_path / "a.jsonl").write_text(json.dumps(_result(redteamTreeHistory=nodes, messages=nodes)))
    frame = read(tmp_path)
    columns = ["turn", "node_id", "parent_id", "pruned", "target_call", "succeeded", "score", "score_judge"]
    assert frame.select(columns).rows() == [
        (1, "a", None, None, 1, False, None, 1.0),
        (2, "b", "a", True, 2, None, None, 2.0),
        (2, "c", "a", False, 3, True, 0.0, 2.0),
    ]
    assert frame.select("prompt", "response").row(1) == ("ask b", "tell b")
    assert frame["outcome"].unique().to_list() == ["success"]
    assert rw.rollout.paths(frame)["turn"].to_list() == [1, 2, 1, 2]


def test_nodes_whose_parents_bear_other_names_are_roots(tmp_path):
    nodes = [_node("x1", "n0", 0), _node("x2", "n1", 1), _node("x3", "n1", 1), _node("x3", "n1", 2)]
    (tmp_path / "a.jsonl").write_text(json.dumps(_result(redteamTreeHistory=nodes)))
    frame = read(tmp_path)
    assert frame.select("turn", "node_id", "parent_id", "refined_from").rows() == [
        (1, "x1", None, "n0"),
        (2, "x2", None, "n1"),
        (2, "x3", None, "n1"),
        (3, "node-3", None, "n1"),
    ]
    assert rw.rollout.paths(frame).height == 4


def test_messages_may_be_json_text(tmp_path):
    chat = [{"role": "user", "content": "m1"}, {"role": "assistant", "content": "n1"}]
    whole, half = json.dumps([*chat, *chat]), json.dumps(chat)[:-3]
    for place, (messages, said) in enumerate([(whole, ["m1", "m1"]), (half, ["first"])]):
        (tmp_path / f"{place}.jsonl").write_text(json.dumps(_result(messages=messages)))
        assert read(tmp_path / f"{place}.jsonl")["prompt"].to_list() == said


def test_the_summary_alone_is_an_evaluation(tmp_path):
    summary = json.loads((FIXTURES / "results.json").read_text())["results"]
    summary |= {"version": 3, "timestamp": "2025-01-01T00:00:00Z", "prompts": [], "stats": {}}
    (tmp_path / "a.json").write_text(json.dumps(summary))
    frame = read(tmp_path)
    assert frame["rollout_id"].n_unique() == 6
    assert frame["response"].equals(read(FIXTURES / "results.json")["response"])


def test_its_table_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "a.csv").write_text(
        "Description,q,[echo] Say {{q}},Status,Score,Named Scores,Grader Reason,Comment\n,hi,Say hi,PASS,1.00,{},,\n"
    )
    with pytest.raises(ReadError, match="promptfoo export eval ID"):
        read(tmp_path / "a.csv")


def test_an_answer_that_is_no_object_is_told(tmp_path):
    """It once was a turn without an answer, and without a word."""
    (tmp_path / "a.jsonl").write_text(json.dumps(_result() | {"response": "Oaf"}))
    with pytest.raises(ReadError, match="field `response`: expected `object"):
        read(tmp_path)
    frame, problems = read(tmp_path, errors="collect")
    assert frame.select("prompt", "response", "outcome").rows() == [("first", None, "success")]
    assert problems["field"].to_list() == ["response"]


def test_lines_of_whole_evaluations_are_no_results(tmp_path):
    """An object with results is an evaluation; a line with them is none of its results."""
    whole = json.loads((FIXTURES / "results.json").read_text())
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(whole)}\n" * 2)
    with pytest.raises(ReadError, match=r"a.jsonl: "):
        read(tmp_path / "a.jsonl")
