"""Ragas, MHJ, OpenAI Evals, EvalPlus and XSTest: what is a verdict, what is a score, and what is unjudged."""

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures"


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_metrics_of_ragas_are_scores():
    """In the shape of userANNA123/rag-openagenda's ragas_results.csv: a cell is empty where a metric could not be computed."""
    turns = rw.read(FIXTURES / "ragas")
    assert turns["score_faithfulness"].to_list() == [1.0, 0.5, None, 0.75]
    assert turns["score_context_recall"].to_list() == [1.0] * 4
    assert turns["solved"].null_count() == turns["outcome"].null_count() == 4
    assert turns.row(0, named=True)["response"] == "It is the bird of number 0."


@pytest.mark.parametrize("names", [("question", "answer", "ground_truth"), ("user_input", "response", "reference")])
@pytest.mark.parametrize("write", [table, lines])
def test_ragas_of_any_version_is_read(tmp_path, names, write):
    asked, said, expected = names
    rows = [
        {asked: f"Which {n}?", "contexts": "['a']", said: f"It is {n}", expected: "x", "answer_relevancy": n / 2}
        for n in range(3)
    ]
    turns = rw.read(write(tmp_path / f"r.{'csv' if write is table else 'jsonl'}", rows))
    assert turns.select("source", "prompt", "expected", "score_answer_relevancy").rows() == [
        ("ragas", f"Which {n}?", "x", n / 2) for n in range(3)
    ]


def test_ragas_of_conversations_has_turns(tmp_path):
    chat = [{"content": "Hi", "type": "human"}, {"content": "Hello", "type": "ai"}]
    chat = [{"role": {"human": "user", "ai": "assistant"}[one["type"]], "content": one["content"]} for one in chat]
    row = {"user_input": str(chat * 2), "response": "", "topic_adherence": 0.5, "faithfulness": 1.0}
    turns = rw.read(table(tmp_path / "r.csv", [row]))
    assert turns.select("turn", "prompt", "response").rows() == [(1, "Hi", "Hello"), (2, "Hi", "Hello")]


def test_means_of_ragas_are_no_rollouts(tmp_path):
    """As nikola-zitko/ragas-rag-eval commits them under the same name."""
    rows = [{"metric": "faithfulness", "score": 1.0}, {"metric": "answer_relevancy", "score": 0.97}]
    with pytest.raises(ReadError, match="holds measurements, not rollouts"):
        rw.read(table(tmp_path / "ragas_results.csv", rows))


def test_messages_in_cells_are_a_conversation():
    turns = rw.read(FIXTURES / "mhj").filter(pl.col("turn").is_not_null())
    assert turns.select("attack", "task", "context", "prompt", "response").rows() == [
        ("Request Framing", task, context, prompt, response)
        for task in "12"
        for context, prompt, response in (("You are a bird.", f"Tell {task}", "Sure"), (None, "More", "Here"))
    ]
    assert rw.read(FIXTURES / "mhj")["rollout_id"].n_unique() == 3
    assert rw.read(FIXTURES / "mhj")["outcome"].count() == 0


@pytest.mark.parametrize("cell", ['{"body": "Hi"}', "Hi", '{"role": "user", "body"', "[1]"])
def test_a_broken_message_costs_its_conversation(tmp_path, cell):
    good = {f"message_{n}": json.dumps({"role": role, "body": "x"}) for n, role in enumerate(("user", "assistant"))}
    path = table(tmp_path / "a.csv", [good, {**good, "message_1": cell}])
    turns, problems = rw.read(path, errors="collect")
    assert (turns["turn"].count(), problems.height) == (1, 1)


SPEC = {"spec": {"completion_fns": ["parrot"], "eval_name": "birds.dev.v0", "base_eval": "birds", "run_id": "r1"}}


def event(sample: str, kind: str, **data: Any) -> dict[str, Any]:
    return {"run_id": "r1", "event_id": 0, "sample_id": sample, "type": kind, "data": data, "created_at": "2023-04-17"}


def test_events_of_a_sample_are_one_rollout(tmp_path):
    """As the log in the README of Auto-GPT-Benchmarks: one of three samples is correct, its accuracy is a third."""
    rows = [SPEC, {"final_report": {"accuracy": 1 / 3}}]
    for n, correct in enumerate((False, True, False)):
        rows += [
            event(f"s{n}", "sampling", prompt=f"Complete: {n}", sampled=f"It is {n}"),
            event(f"s{n}", "match", correct=correct, expected=str(n), picked=None, sampled="x", options=["x"]),
        ]
    path = lines(tmp_path / "r1_parrot_birds.jsonl", rows)
    turns = rw.read(path)
    assert turns.select("run", "target", "prompt", "response", "expected", "solved").rows() == [
        ("r1", "parrot", f"Complete: {n}", f"It is {n}", str(n), n == 1) for n in range(3)
    ]
    accounts = rw.readers.accounting(path)
    assert accounts.select("records", "read", "passed_over", "broken").rows() == [(8, 3, 5, 0)]


def test_the_answer_of_a_grader_is_none_of_the_model(tmp_path):
    """As evals/elsuite/modelgraded/classify.py: two samplings and the metrics of each sample."""
    rows = [
        SPEC,
        event("s", "sampling", prompt=[{"role": "user", "content": "Hi"}], sampled=["Hello"]),
        event("s", "sampling", prompt=[{"role": "user", "content": "Is it good?"}], sampled=["Y"]),
        event("s", "metrics", choice="Y", score=1.0),
        event("t", "error", type="RateLimit", message="slow down"),
    ]
    turns = rw.read(lines(tmp_path / "a.jsonl", rows))
    assert turns.select("task", "response", "score_score", "solved", "error").rows() == [
        ("s", "Hello", 1.0, None, None),
        ("t", None, None, None, "slow down"),
    ]


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    "statuses", [("pass", "pass"), ("pass", "fail"), ("fail", "pass"), ("pass", None), ("timeout", None)]
)
def test_all_tests_of_evalplus_must_pass(tmp_path, statuses):
    """`plus` of its pass@k needs both; base alone where no others were run."""
    base, plus = statuses
    one = {"task_id": "t", "solution": "x = 1", "base_status": base, "plus_status": plus}
    path = tmp_path / "parrot_vllm_temp_0.8_eval_results.json"
    path.write_text(json.dumps({"date": "d", "hash": "h", "eval": {"t": [one, one]}}))
    turns = rw.read(path)
    verdict = statuses in {("pass", "pass"), ("pass", None)}
    assert turns.select("target", "task", "attempt", "solved").rows() == [
        ("parrot_vllm", "t", 1, verdict),
        ("parrot_vllm", "t", 2, verdict),
    ]
    path = tmp_path / "parrot_temp_0.8" / "eval_results.json"
    path.parent.mkdir()
    old = {"nfiles": 2, "base": [[base, []]] * 2, "plus": [[plus, []]] * 2 if plus else []}
    path.write_text(json.dumps({"date": "d", "hash": "h", "eval": {"t": old}}))
    assert rw.read(path).select("target", "solved").rows() == [("parrot", verdict)] * 2


def test_an_unknown_status_of_evalplus_is_a_problem(tmp_path):
    one = {"task_id": "t", "solution": "x = 1", "base_status": "maybe", "plus_status": "pass"}
    path = tmp_path / "eval_results.json"
    path.write_text(json.dumps({"hash": "h", "eval": {"t": [{**one, "base_status": "pass"}, one]}}))
    turns, problems = rw.read(path, errors="collect")
    assert (turns.height, turns["solved"].sum(), problems.height) == (2, 1, 1)


@pytest.mark.parametrize("listed", [None, "x", 3, [None], [[1]], {"nfiles": 1, "base": "x"}])
def test_a_broken_task_of_evalplus_costs_no_other(tmp_path, listed):
    one = {"task_id": "t", "solution": "x = 1", "base_status": "pass", "plus_status": "pass"}
    path = tmp_path / "parrot_temp_0.0_eval_results.json"
    path.write_text(json.dumps({"hash": "h", "eval": {"a": [one], "b": listed}}))
    turns, _ = rw.read(path, errors="collect")
    assert turns.filter(task="a")["solved"].to_list() == [True]
    assert turns["solved"].count() == 1


def test_over_refusal_is_no_attack():
    """Refusals of safe prompts are over-refusal; only the contrasts are attacked."""
    turns = rw.read(FIXTURES / "xstest")
    assert turns.select("category", "attack", "refused", "outcome").rows() == [
        ("homonyms", "none", False, None),
        ("homonyms", "none", True, None),
        ("figurative_language", "none", True, None),
        ("contrast_homonyms", "unsafe prompt", True, "failure"),
        ("contrast_homonyms", "unsafe prompt", True, "failure"),
        ("contrast_figurative_language", "unsafe prompt", False, "success"),
    ]
    assert turns["target"].unique().to_list() == ["gpt4"]
    rollouts = rw.measure(turns, m.attack_success(), m.refusal_rate())
    assert rollouts["attack_success"].drop_nulls().to_list() == [False, False, True]


@pytest.mark.parametrize("label", ["", "4_other", "2_full_refusal "])
def test_a_label_that_xstest_has_not_is_unjudged(tmp_path, label):
    row = {"id": 1, "type": "contrast_homonyms", "prompt": "a", "completion": "b", "final_label": "2_full_refusal"}
    path = table(tmp_path / "xstest_completions_parrot_annotated.csv", [row, {**row, "id": 2, "final_label": label}])
    turns, problems = rw.read(path, errors="collect")
    assert turns["outcome"].to_list() == ["failure", None]
    assert problems.height == (label != "")
