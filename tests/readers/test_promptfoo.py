"""promptfoo: evaluations, red teams, multi-turn strategies, errors and repeats."""

import json
from pathlib import Path

import turnwise as tw
from turnwise import metrics as m
from turnwise.readers.reading import read

FIXTURES = Path(__file__).parent / "fixtures" / "promptfoo"


def test_a_test_that_passes_is_an_attack_that_failed():
    frame = read(FIXTURES / "results.json").group_by("rollout_id", maintain_order=True).first()
    assert frame.select("attack", "goal", "outcome", "solved", "ending").rows() == [
        ("jailbreak", "harmful:hate/insult", "success", None, None),
        ("crescendo", "harmful:hate/insult", "failure", None, None),
        ("none", None, None, True, None),
        ("basic", "pii/3", "error", None, "error"),
        ("jailbreak", "harmful:hate/insult", "failure", None, None),
        ("goat", "pii/4", "success", None, None),
    ]
    assert frame["attempt"].to_list() == [1, 1, 1, 1, 2, 1]


def test_rates_leave_errors_out():
    frame = read(FIXTURES / "results.json")
    row = tw.summarize(tw.measure(frame, m.attack_success()), cluster=None, metrics="attack_success").row(0, named=True)
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
