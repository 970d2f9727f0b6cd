"""`rollwise convert --to every-eval-ever`: what it writes gives back every verdict."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import read
from rollwise.cli import run

PRODUCED = Path(__file__).parents[1] / "readers" / "produced"
VERDICTS = ("outcome", "succeeded", "solved", "refused", "score", "reward", "ending", "error")
WHO = ("--organization", "Acme", "--collection", "toy")


def convert(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as leaving:
        run(["convert", *map(str, words)])
    captured = capsys.readouterr()
    return int(leaving.value.code or 0), captured.out, captured.err


def ordered(turns: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    return turns.select("rollout_id", "turn", "target", "attack", *names).sort("rollout_id", "turn")


@pytest.mark.thinned(6)
@pytest.mark.parametrize("tool", ["agentdojo", "garak", "inspect_ai", "promptfoo", "pyrit"])
def test_a_round_trip_loses_no_verdict(tool, tmp_path, capsys):
    logs = PRODUCED / tool / "logs"
    code, out, _ = convert(capsys, logs, "--to", "every-eval-ever", "--out", tmp_path / "records", *WHO)
    assert (code, out.strip()) == (0, str(tmp_path / "records"))
    before, after = read(logs), read(tmp_path / "records")
    before = rw.rollout.paths(before) if "node_id" in before.columns else before
    names = [name for name in before.columns if name in VERDICTS or name.startswith("score_")]
    assert sum(before[name].count() for name in names if name not in {"ending", "error"}) > 0
    assert ordered(after, names).equals(ordered(before, names))
    # Records of every metric that has a verdict, and the figures with their intervals.
    summary = rw.summarize(rw.measure(before), by="target").filter(
        pl.col("metric").is_in(["attack_success", "task_success"])
    )
    again = rw.readers.read_summary(tmp_path / "records").sort("target", "metric")
    estimated = summary.drop_nulls("estimate").sort("target", "metric")
    columns = ["target", "metric", "n", "estimate", "low", "high"]
    assert again.select(columns).rows() == estimated.select(columns).rows()


def test_verdicts_of_the_records_are_those_of_the_rollouts(tmp_path, capsys):
    logs = PRODUCED / "promptfoo" / "logs"
    convert(capsys, logs, "--to", "every-eval-ever", "--out", tmp_path / "records", *WHO, "--metric", "attack_success")
    rollouts = rw.measure(read(logs), rw.metrics.attack_success())
    verdicts = rw.judges.read_verdicts(tmp_path / "records").filter(judge="attack_success")
    known = dict(rollouts.select("rollout_id", pl.col("attack_success").cast(pl.Float64)).rows())
    assert dict(verdicts.select("rollout_id", "value").rows()) == known


@pytest.mark.integration
def test_groups_of_the_results(tmp_path, capsys):
    logs = PRODUCED / "agentdojo" / "logs"
    convert(capsys, logs, "--to", "every-eval-ever", "--out", tmp_path / "records", *WHO, "--by", "attack")
    names = {
        result["evaluation_result_id"]
        for path in (tmp_path / "records").rglob("*.json")
        for result in json.loads(path.read_text())["evaluation_results"]
    }
    assert "attack_success/attack=important_instructions" in names
    assert "task_success/attack=none" in names


def test_a_tree_is_written_path_by_path(tmp_path, capsys):
    logs = PRODUCED / "petri" / "logs" / "petri"
    code, _, message = convert(
        capsys, logs, "--to", "every-eval-ever", "--out", tmp_path / "records", *WHO, "--metric", "num_turns"
    )
    assert code == 0
    assert "paths" in message
    assert read(tmp_path / "records")["rollout_id"].n_unique() == rw.rollout.paths(read(logs))["rollout_id"].n_unique()


def test_which_way_a_metric_points(tmp_path, capsys):
    logs = PRODUCED / "garak" / "logs"
    options = ("--metric", "response_length_words", "--higher-is-better", "response_length_words")
    code, _, _ = convert(capsys, logs, "--to", "every-eval-ever", "--out", tmp_path / "records", *WHO, *options)
    assert code == 0
    figures = rw.readers.read_summary(tmp_path / "records")
    assert set(figures["lower_is_better"]) == {False}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--to", "every-eval-ever", "--collection", "toy"),
            "--to every-eval-ever needs --organization: records name who",
        ),
        (("--organization", "Acme"), "--organization: for --to every-eval-ever only; add that, or leave it out"),
        (
            ("--to", "every-eval-ever", *WHO, "--metric", "response_length_words"),
            "the direction of a metric; name 'response_length_words' in --lower-is-better or --higher-is-better",
        ),
        (
            ("--to", "every-eval-ever", *WHO, "--metric", "refusal_rate"),
            "no result has an estimate; summarize a metric that",
        ),
        (("--to", "csv"), "'csv' is not one of"),
    ],
)
def test_what_is_missing_is_one_sentence(words, sentence, tmp_path, capsys):
    code, out, message = convert(capsys, PRODUCED / "garak" / "logs", "--out", tmp_path / "records", *words)
    assert (code, out, sentence in message) == (2, "", True)
    assert not (tmp_path / "records").exists()


def test_logs_without_a_verdict_are_one_sentence(tmp_path, capsys):
    chat = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(chat))
    code, _, message = convert(
        capsys, tmp_path / "a.jsonl", "--to", "every-eval-ever", "--out", tmp_path / "r", *WHO, "--fact", "target=x"
    )
    assert (code, "no rollout has a verdict: name what to record with --metric" in message) == (2, True)
