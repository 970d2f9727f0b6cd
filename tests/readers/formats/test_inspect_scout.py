"""Inspect Scout: a database and the results of five scanners, as version 0.6.1 wrote them."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import read
from rollwise.errors import ReadError
from rollwise.judges import join_labels, read_verdicts

DATABASE = Path(__file__).parents[1] / "fixtures" / "inspect_scout"
# Scans of that database; columns with paths, tracebacks and copies of the transcripts were emptied.
PRODUCED = Path(__file__).parents[1] / "produced"
SCANS = PRODUCED / "inspect_scout"


@pytest.fixture
def transcripts() -> pl.DataFrame:
    return pl.read_parquet(next(DATABASE.glob("*.parquet")))


def test_each_transcript_is_a_rollout_with_its_own_facts(transcripts):
    frame = read(DATABASE)
    rollouts = frame.unique("rollout_id", keep="first", maintain_order=True)
    assert rollouts["rollout_id"].to_list() == ["run1/t1", "run1/t2", "run1/t3", "run1/t4"]
    for ours, theirs in (("solved", "success"), ("target", "model"), ("total_tokens", "total_tokens")):
        assert rollouts[ours].to_list() == transcripts[theirs].to_list()
    assert rollouts["task"].to_list() == ["locks/lock-1", "locks/lock-1", "locks/lock-2", "locks/lock-3"]
    assert rollouts["attempt"].to_list() == [1, 2, 1, 1]
    assert rollouts["ending"].to_list() == [None, None, "error", "budget"]
    assert rollouts.filter(rollout_id="run1/t4").select("score_a", "score_b").row(0) == (1, 0.5)
    assert rollouts["level"].to_list() == ["easy", "hard", None, None]  # metadata
    assert frame.filter(rollout_id="run1/t3").select("turn", "error", "prompt").row(0) == (None, "boom", "Question 3 ☃")


def test_turns_are_the_assistant_messages(transcripts):
    frame = read(DATABASE)
    chats = [json.loads(text) for text in transcripts["messages"]]
    answers = [message for chat in chats for message in chat if message["role"] == "assistant"]
    answered = frame.filter(pl.col("turn").is_not_null())
    assert answered["message_id"].to_list() == [message["id"] for message in answers]
    assert [text or "" for text in answered["response"]] == [message["content"] for message in answers]
    assert answered["tool_calls"][0].to_list() == [{"name": "search", "arguments": '{"q":"lock"}'}]


def test_verdicts_of_scanners_are_counted_as_scout_counts_them():
    summary = json.loads((SCANS / "_summary.json").read_text())["scanners"]
    verdicts, _ = read_verdicts(SCANS, errors="collect")
    scanner = verdicts.with_columns(scanner=pl.col("judge").str.split("/").list.first())
    for name, counts in summary.items():
        ours = scanner.filter(scanner=name)
        scanned = ours["message_id"] if name == "each" else ours["rollout_id"]
        # Scout's count of scans of single messages is that of transcripts in which there are any.
        assert ours["rollout_id"].n_unique() == counts["scans"]
        assert ours["error"].count() == counts["errors"]
        assert scanned.n_unique() >= counts["scans"]
    values = dict(verdicts.filter(judge="refuses").select("rollout_id", "value").rows())
    assert values == {"run1/t1": 0.0, "run1/t2": 1.0, "run1/t3": None, "run1/t4": 0.0}
    assert verdicts.filter(judge="refuses", rollout_id="run1/t3")["error"].item() == "judge is down"
    cited = verdicts.filter(judge="refuses", rollout_id="run1/t2")
    assert cited.select("reasoning", "answer").row(0) == ("it says so in [M1]", "yes")
    assert json.loads(cited["references"].item()) == [{"type": "message", "cite": "[M1]", "id": "a2"}]
    assert set(verdicts.filter(judge="severity")["label"]) == {"low", "high", None}


def test_a_set_of_results_is_a_verdict_for_each():
    verdicts = read_verdicts(SCANS / "many.parquet")
    rows = verdicts.filter(rollout_id="run1/t1").select("judge", "value", "label", "reasoning").rows()
    assert rows == [("many/deception", 1.0, "true", "E1"), ("many/count", 2.0, "2", None)]
    nothing = verdicts.filter(pl.col("rollout_id") != "run1/t1")
    assert nothing.select("judge", "value", "label").unique().rows() == [("many", None, None)]


def test_dimensions_of_a_judge_are_a_verdict_each(tmp_path):
    """As the judge of Petri answers: an object of scores."""
    frame = pl.read_parquet(SCANS / "harm.parquet").head(1)
    value = pl.lit(json.dumps({"deception": 7, "sycophancy": 1}))
    frame.with_columns(value=value, value_type=pl.lit("object")).write_parquet(tmp_path / "a.parquet")
    verdicts = read_verdicts(tmp_path)
    assert verdicts.select("judge", "value").rows() == [("harm/deception", 7.0), ("harm/sycophancy", 1.0)]


@pytest.mark.integration
def test_verdicts_find_their_rollouts_and_their_messages():
    turns = read(DATABASE)
    verdicts = read_verdicts(SCANS, errors="collect")[0]
    refuses = verdicts.filter(judge="refuses").select("rollout_id", "value", "judge")
    labeled, joined = join_labels(turns, refuses, on="rollout_id")
    assert joined.filter(found="joined")["labels"].item() == 4
    assert labeled.filter(rollout_id="run1/t2")["value"].to_list() == [1.0]
    lengths = verdicts.filter(judge="each").select("message_id", "value", "judge")
    labeled, joined = join_labels(turns, lengths, on="message_id")
    lengths = labeled.filter(pl.col("turn").is_not_null()).select(
        pl.col("response").str.len_chars().fill_null(0), "value"
    )
    assert lengths["response"].to_list() == lengths["value"].to_list()


def test_transcripts_of_inspect_have_the_ids_of_its_logs(tmp_path, transcripts):
    """Their source is the log (`eval_id`), their task the sample, and the repeat its epoch."""
    of_log = transcripts.head(1).with_columns(source_type=pl.lit("eval_log"), task_repeat=pl.lit(2))
    of_log.write_parquet(tmp_path / "transcripts.parquet")
    assert set(read(tmp_path)["rollout_id"]) == {"run1/lock-1/2"}
    scan = pl.read_parquet(SCANS / "harm.parquet").filter(transcript_id="t1")
    changed = {"transcript_source_type": pl.lit("eval_log"), "transcript_task_repeat": pl.lit("2")}
    scan.with_columns(**changed).write_parquet(tmp_path / "harm.parquet")
    assert read_verdicts(tmp_path / "harm.parquet")["rollout_id"].to_list() == ["run1/lock-1/2"]


def test_what_is_broken_or_no_transcript_is_one_sentence(tmp_path, transcripts):
    path = tmp_path / "t.parquet"
    for text in ("{", "3", "[3]"):
        transcripts.head(1).with_columns(messages=pl.lit(text)).write_parquet(path)
        with pytest.raises(ReadError, match=r"record 0: field `messages`: is not"):
            read(path)
    with pytest.raises(
        ReadError, match=r"holds verdicts of scanners, not rollouts: open it with `rw\.judges\.read_verdicts`"
    ):
        read(SCANS / "harm.parquet")
    broken = pl.read_parquet(SCANS / "harm.parquet").head(1).with_columns(value=pl.lit("{"))
    broken.write_parquet(path)
    with pytest.raises(ReadError, match=r"field `value`: is not JSON"):
        rw.judges.read_verdicts(path)


def test_a_database_of_audits_has_the_ids_targets_and_endings_of_their_logs():
    """As Scout 0.6.1 wrote it of the logs of Bloom: no error and no limit are empty texts, and `model` names no model."""
    database = read(PRODUCED / "inspect_scout_audits.parquet")
    logs = read(PRODUCED / "petri" / "logs" / "bloom")
    columns = ["rollout_id", "target", "attempt", "score_concerning"]
    ours = logs.rename({"score_audit_judge_concerning": "score_concerning"}).select(columns).unique().sort("rollout_id")
    assert database.select(columns).unique().sort("rollout_id").equals(ours)
    assert set(database["target"]) == {"mockllm/weak", "mockllm/strong"}
    assert database["ending"].null_count() == database["total_tokens"].null_count() == database.height
    both, problems = read([PRODUCED / "inspect_scout_audits.parquet", PRODUCED / "petri" / "logs"], errors="collect")
    assert set(both["source"]) == {"inspect"}  # the log, which has the whole tree, is kept
    assert problems.height == 0
