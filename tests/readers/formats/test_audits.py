"""Petri 3 and Bloom as they wrote logs of Inspect: the target's tree of answers, and never the words of auditor or judge."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import read

LOGS = Path(__file__).parents[1] / "produced" / "petri" / "logs"
AUDIT = "inspect_petri/audit"


@pytest.fixture(scope="module")
def audits() -> pl.DataFrame:
    return read(LOGS)


def audit(audits: pl.DataFrame, seed: str, target: str = "weak") -> pl.DataFrame:
    return audits.filter(
        pl.col("goal").str.starts_with(f"{seed}: "), pl.col("target") == f"mockllm/{target}", pl.col("attempt") == 1
    )


@pytest.mark.integration
def test_answers_that_were_taken_back_are_pruned(audits):
    frame = audit(audits, "branches")
    assert frame.select("node_id", "parent_id", "turn", "pruned", "prompt").rows() == [
        ("1", None, 1, False, "Did you lie?"),
        ("2", "1", 2, True, "Did you?"),
        ("3", "1", 2, True, "Tell me ☃."),
        ("4", "1", 2, False, "Say so\n\nSure, I"),  # the beginning that the auditor wrote for the target is no answer
    ]
    assert frame["context"].to_list() == ["Be kind ☃.", None, None, None]
    assert frame["response"][3] == "weak says sure ☃ to Sure, I"
    assert rw.rollout.paths(frame)["rollout_id"].n_unique() == 3


@pytest.mark.integration
def test_a_restart_is_a_second_root(audits):
    frame = audit(audits, "restart")
    assert frame.select("parent_id", "turn", "pruned", "prompt").rows() == [
        (None, 1, True, "One"),
        (None, 1, False, "Two ☃"),
        ("2", 2, False, "Three"),
    ]


def test_audits_without_branches_are_no_trees(audits):
    assert audit(audits, "plain").select("turn", "node_id", "prompt").rows() == [
        (1, None, "Hello ☃"),
        (2, None, "Bye ☃"),
    ]
    tools = audit(audits, "tools")
    assert tools["prompt"].to_list() == ["Use the tool", "a file ☃", "Thanks"]
    assert tools["tool_calls"][0].to_list() == [{"name": "look", "arguments": '{"where":"here ☃"}'}]


def test_the_target_is_the_model_in_that_role_and_only_its_tokens_count(audits):
    rollouts = audits.unique("rollout_id")
    assert set(rollouts["target"]) == {"mockllm/weak", "mockllm/strong"}
    assert set(rollouts["attack"]) == {"petri"}
    everyone = rollouts["model_usage"].map_elements(
        lambda text: sum(usage["total_tokens"] for usage in json.loads(text).values()), return_dtype=pl.Int64
    )
    assert (rollouts["total_tokens"].fill_null(0) < everyone).all()
    figures = rw.readers.read_summary(LOGS)
    assert set(figures["target"]) == {"mockllm/weak", "mockllm/strong"}


def test_a_target_that_never_answered_ends_with_its_error(audits):
    frame = audit(audits, "crash")
    assert frame.select("turn", "prompt", "response", "error", "ending").rows() == [
        (None, "crash", None, "RuntimeError('the server is gone ☃')", "error")
    ]


def test_scores_and_the_messages_that_the_judge_cites(audits):
    frame = audit(audits, "branches")
    assert frame["score_audit_judge_concerning"].n_unique() == 1
    judged = json.loads(frame["metadata_audit_judge"][0])
    assert judged["highlights"].endswith('It gives in ☃: "sure"')
    cited = {reference["id"] for reference in judged["scanner_references"]}
    assert frame.filter(pl.col("message_id").is_in(cited))["node_id"].to_list() == ["4"]


@pytest.mark.integration
def test_outcomes_alone_have_the_same_facts(audits):
    outcomes = rw.readers.read_rollouts(LOGS)
    rollouts = audits.unique("rollout_id", maintain_order=True)
    columns = ["rollout_id", "target", "attack", "goal", "total_tokens", "score_audit_judge_concerning"]
    assert outcomes.unique("rollout_id", maintain_order=True).select(columns).equals(rollouts.select(columns))


# ── logs that are changed ─────────────────────────────────────────────────────────────────────────────────────────────
def changed(tmp_path: Path, change: Any) -> pl.DataFrame:
    (path,) = (LOGS / "bloom").glob("*.json")
    log = json.loads(path.read_text())
    change(log)
    (tmp_path / "log.json").write_text(json.dumps(log))
    return read(tmp_path / "log.json", errors="collect")[0].filter(pl.col("sample_id") == "mild")


def test_without_timelines_the_calls_of_the_targets_role_are_read(tmp_path):
    def change(log: dict[str, Any]) -> None:
        for sample in log["samples"]:
            del sample["timelines"]

    assert changed(tmp_path, change)["response"].to_list() == ["weak says sure ☃ to Am I great? ☃"]


def test_names_of_models_without_settings(tmp_path):
    def change(log: dict[str, Any]) -> None:
        roles = log["eval"]["model_roles"]
        log["eval"]["model_roles"] = {role: model["model"] for role, model in roles.items()}

    assert changed(tmp_path, change)["target"].to_list() == ["mockllm/weak"]


def test_several_audits_in_one_sample_are_told(tmp_path):
    def change(log: dict[str, Any]) -> None:
        for sample in log["samples"]:
            sample["timelines"] += [{**sample["timelines"][0], "name": "second-target"}]

    assert changed(tmp_path, change).height == 1
    problems = read(tmp_path / "log.json", errors="collect")[1]
    assert problems["reason"].to_list() == ["are of 2 audits in one sample: the first is read"]
