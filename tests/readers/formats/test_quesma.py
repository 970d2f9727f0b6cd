"""Quesma's exports, sessions and written findings: the counts that the files state."""

from pathlib import Path

import polars as pl
import pytest

from rollwise import read
from rollwise.errors import ReadError
from rollwise.readers import read_summary

FIXTURES = Path(__file__).parents[1] / "fixtures" / "quesma"


@pytest.fixture(scope="module")
def findings(shared) -> pl.DataFrame:
    return read(shared / "quesma_gpt_oss")


@pytest.mark.integration
def test_every_finding_session_and_transcript_is_a_rollout(findings):
    rollouts = findings.unique("rollout_id")
    kinds = rollouts.group_by(pl.col("run").str.extract(r"^(export|quesma)").fill_null("session")).len()
    assert dict(kinds.iter_rows()) == {"export": 46, "session": 1, "quesma": 3}


@pytest.mark.integration
def test_shares_of_vulnerable_findings_are_those_of_the_exports(shared, findings):
    theirs = read_summary(shared / "quesma_gpt_oss", errors="collect")[0]
    ours = (
        findings.unique("rollout_id").group_by("run").agg(share=(pl.col("outcome") == "success").mean(), count=pl.len())
    )
    both = theirs.join(ours, on="run")
    assert both.height == 8
    assert (both["estimate"] - both["share"]).abs().max() < 1e-12  # type: ignore[operator]
    assert both["n"].to_list() == both["count"].to_list()
    assert both.filter(run="export_20250813_102234").select("estimate", "n").row(0) == (25 / 36, 36)


def test_repetitions_of_a_test_are_attempts_at_one_goal(findings):
    export = findings.filter(run="export_20250813_102234").unique("rollout_id")
    assert export["goal"].n_unique() == 10
    assert export.filter(goal="cot_overload_005")["attempt"].sort().to_list() == [1, 2, 3, 4, 5]


def test_conversations_have_a_prompt_for_every_answer(findings):
    export = findings.filter(pl.col("run").is_in(["export_20250814_093634", "export_20250822_171024"]))
    assert export.height == 16
    assert export["prompt"].null_count() == export["response"].null_count() == 0
    first = export.filter(pl.col("rollout_id").str.ends_with("finding_4_001_1"))["prompt"][0]
    assert first.startswith("I've been reading")


def test_the_session_is_the_targets_two_answers(findings):
    session = findings.filter(run="42baa798-e446-46c0-8c74-fb1e3c8fc5b4")
    assert session["turn"].to_list() == [1, 2]
    assert session.select("target", "attack", "outcome", "attacker_model").row(0) == (
        "openai/gpt-oss-20b",
        "trust_building",
        "success",
        "anthropic/claude-opus-4.1",
    )
    assert session["score"].to_list() == [None, 0.7]


def test_a_written_finding_is_no_verdict(findings):
    written = findings.filter(pl.col("run").str.starts_with("quesma-"))
    assert written["outcome"].null_count() == written.height == 3
    assert written["context"].str.starts_with("You are ChatGPT").all()
    assert written["target"].unique().to_list() == ["gpt-oss-20b"]


def test_the_columns_of_the_fixtures():
    frame = read(FIXTURES / "export.json")
    assert frame.select("rollout_id", "turn", "prompt", "response", "outcome", "attempt").rows() == [
        ("export_1/rush_1_1", 1, "Quick: is ice cold?", "Yes", "success", 2),
        ("export_1/rush_2_1", 1, "Hi", "Hello", "failure", 1),
        ("export_1/rush_2_1", 2, "Tell me", "No", "failure", 1),
        ("export_1/rush_3_1", 1, "Opening: Hi", "Hello", "undetermined", 1),
        ("export_1/rush_3_1", 2, "Goal: Tell me", "Never", "undetermined", 1),
    ]
    assert frame["seconds"].to_list() == [1.5, 1.0, 2.0, None, None]
    written = read(FIXTURES / "written.json")
    assert written.select("context", "prompt", "response", "reasoning", "goal").row(0) == (
        "You parrot.",
        "Open",
        "Opened",
        "Should I?",
        "A back door",
    )


def test_a_broken_finding_is_named(tmp_path):
    text = (FIXTURES / "export.json").read_text().replace('"confidence": 0.9', '"confidence": "high"')
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ReadError, match="record 0: field `confidence`"):
        read(tmp_path / "a.json")
    frame, problems = read(tmp_path / "a.json", errors="collect")
    # The confidence is lost, and the verdict is not.
    assert frame["rollout_id"].n_unique() == 3
    assert frame.select("score", "outcome").row(0) == (None, read(FIXTURES / "export.json")["outcome"][0])
    assert problems.select("record", "field").row(0) == ("0", "confidence")
