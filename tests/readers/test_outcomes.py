"""What became of the rollouts, read without what was said: the same as all of the reading says, cell for cell."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError, ReadError
from rollwise.readers.formats.inspect.summaries import UNKNOWN
from rollwise.schema import ROLLOUTS
from tests.readers.mutants import DAMAGE, STEPS, damaged, mutated

FIXTURES = Path(__file__).parent / "fixtures"
FOLDERS = (
    "agentdojo_drift",
    "atif",
    "claude_code_jsonl",
    "deepteam",
    "fastchat",
    "garak",
    "inspect",
    "intercode",
    "jailbreakbench",
    "mint",
    "quesma_gpt_oss",
    "swe_agent",
    "tau2_bench",
    "tau_bench",
)
ABRIDGED = ("answer_", "explanation_", "reason_", "metadata_", "history_")


def agree(paths: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both readings of some logs, a row for each rollout, once their problems are seen to be the same."""
    turns, met = rw.read(paths, errors="collect")
    rollouts, problems = rw.readers.read_rollouts(paths, errors="collect")
    assert problems.equals(met)
    first = turns.unique("rollout_id", keep="first", maintain_order=True)
    assert first["rollout_id"].equals(rollouts["rollout_id"])
    assert rollouts.columns[: len(ROLLOUTS.facts) + 1] == ["rollout_id", *ROLLOUTS.facts]
    assert set(rollouts.columns) <= set(first.columns)
    return first, rollouts


@pytest.mark.integration
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_rollouts_of_every_tool_are_those_of_its_turns(shared, folder):
    first, rollouts = agree(shared / folder)
    for name in rollouts.columns:
        here, there = rollouts[name], first[name]
        if folder == "inspect" and (name in UNKNOWN or name.startswith(ABRIDGED)):
            same = here.is_null() | here.eq_missing(there)
            assert same.all(), name
        else:
            assert here.equals(there), name


@pytest.mark.integration
@pytest.mark.parametrize("tool", sorted(path.name for path in FIXTURES.iterdir()))
def test_the_rollouts_of_the_fixtures_as_well(tool):
    first, rollouts = agree(FIXTURES / tool)
    assert rollouts.equals(first.select(rollouts.columns))


@pytest.fixture
def log() -> dict[str, Any]:
    value: dict[str, Any] = json.loads((FIXTURES / "inspect" / "log.json").read_text())
    return value


def summary(sample: dict[str, Any]) -> dict[str, Any]:
    """What Inspect keeps of a sample, its texts cut."""
    kept = ("id", "epoch", "model_usage", "total_time", "working_time", "started_at", "completed_at", "uuid")
    scores = {
        name: {**score, "answer": "...", "explanation": "..."} for name, score in (sample.get("scores") or {}).items()
    }
    return {
        **{name: sample[name] for name in kept if name in sample},
        "target": "...",
        "scores": scores,
        "error": None if sample.get("error") is None else sample["error"]["message"],
        "limit": None if sample.get("limit") is None else sample["limit"]["type"],
        "retries": None if sample.get("error_retries") is None else len(sample["error_retries"]),
        "completed": True,
        "message_count": len(sample["messages"]),
    }


@pytest.fixture
def once(pack):
    """Packs a log whose summaries stand once in the archive."""

    def packed_once(log: dict[str, Any], summaries: Any, **more: Any) -> bytes:
        header = {name: value for name, value in log.items() if name != "samples"}
        data: bytes = pack(log, ended=False, more={"header.json": header, "summaries.json": summaries, **more})
        return data

    return packed_once


def test_no_sample_is_looked_into(tmp_path, log, once):
    path = tmp_path / "log.eval"
    summaries = [summary(sample) for sample in log["samples"]]
    path.write_bytes(once(log, summaries))
    whole = rw.read(path).unique("rollout_id", keep="first", maintain_order=True)
    rollouts = rw.readers.read_rollouts(path)
    kept = [name for name in rollouts.columns if name not in UNKNOWN]
    assert rollouts.select(kept).equals(whole.select(kept))
    assert not any(name.startswith(ABRIDGED) for name in kept)
    assert rollouts["expected"].null_count() == rollouts.height

    sample = log["samples"][0]
    broken = {**sample, "messages": "gone"}
    name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
    log["samples"] = log["samples"][1:]
    path.write_bytes(once(log, summaries, **{name: broken}))
    with pytest.raises(ReadError, match="messages"):
        rw.read(path)
    assert rw.readers.read_rollouts(path).equals(rollouts)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda found: found[1:], id="one is missing"),
        pytest.param(lambda found: [*found[1:], found[1]], id="one stands twice"),
        pytest.param(lambda found: [{**found[0], "id": "another"}, *found[1:]], id="one is of another"),
        pytest.param(lambda found: [{**found[0], "completed": False}, *found[1:]], id="one is not complete"),
        pytest.param(lambda found: [{**found[0], "id": None}, *found[1:]], id="one is broken"),
        pytest.param(
            lambda found: [{**found[0], "model_usage": {"m": {"total_tokens": 1.5}}}, *found[1:]], id="odd count"
        ),
        pytest.param(lambda found: [{k: v for k, v in one.items() if k != "message_count"} for one in found], id="old"),
        pytest.param(lambda found: {"a": found}, id="no list"),
        pytest.param(lambda found: b"[", id="no JSON"),
    ],
)
def test_summaries_that_do_not_tell_all_are_not_believed(tmp_path, log, once, spoil):
    path = tmp_path / "log.eval"
    path.write_bytes(once(log, spoil([summary(sample) for sample in log["samples"]])))
    first, rollouts = agree(path)
    assert rollouts.equals(first.select(rollouts.columns))
    assert any(name.startswith(ABRIDGED) for name in rollouts.columns)


@pytest.mark.integration
@given(steps=STEPS, damage=DAMAGE)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_mutated_summaries_lose_no_sample(tmp_path_factory, log, once, steps, damage):
    """Believed or not, they give a clean table with a row for each sample, or a problem, or one sentence."""
    summaries = [summary(sample) for sample in log["samples"]]
    path = tmp_path_factory.mktemp("fuzz") / "log.eval"
    path.write_bytes(once(log, damaged(json.dumps(mutated(summaries, steps)).encode(), damage)))
    rollouts, problems = rw.readers.read_rollouts(path, errors="collect")
    schema.check(rollouts, ROLLOUTS)
    schema.check(problems, schema.PROBLEMS)
    whole = rw.read(path)
    assert rollouts["rollout_id"].equals(whole["rollout_id"].unique(maintain_order=True))
    assert rollouts.height == len(log["samples"])


def test_a_sample_that_a_retry_copied_is_one_rollout(tmp_path, log, once):
    summaries = [summary(sample) for sample in log["samples"]]
    (tmp_path / "a.eval").write_bytes(once(log, summaries))
    log["eval"] = {**log["eval"], "eval_id": "another"}
    (tmp_path / "b.eval").write_bytes(once(log, summaries))
    rollouts, problems = rw.readers.read_rollouts(tmp_path, errors="collect")
    turns, met = rw.read(tmp_path, errors="collect")
    assert rollouts.height == turns["rollout_id"].n_unique()
    assert problems.equals(met)
    assert problems.height == sum("uuid" in sample for sample in log["samples"])


@pytest.mark.integration
def test_a_summary_of_the_rollouts_is_that_of_the_turns(shared):
    logs = shared / "inspect" / "log-sets" / "set"
    by_rollout = rw.summarize(rw.readers.read_rollouts(logs), by="target", metrics="solved")
    by_turn = rw.summarize(
        rw.measure(rw.read(logs), solved_again=pl.col("solved").first()), by="target", metrics="solved_again"
    )
    numbers = ["target", "estimate", "std_error", "low", "high", "n"]
    assert by_rollout.select(numbers).equals(by_turn.select(numbers))


def test_facts_fill_what_is_null(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("rollout_id,response\na,Hello\n")
    assert rw.readers.read_rollouts(path, target="parrot", format="native").row(0, named=True)["target"] == "parrot"


def test_bad_arguments_are_named(tmp_path):
    with pytest.raises(ArgumentError, match="read_rollouts: errors='never'"):
        rw.readers.read_rollouts(tmp_path, errors="never")  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="read_rollouts: 'mood' is not a fact"):
        rw.readers.read_rollouts(tmp_path, mood="good")
    with pytest.raises(ArgumentError, match="read_rollouts: no path given"):
        rw.readers.read_rollouts([])
    with pytest.raises(ReadError, match="the folder is empty"):
        rw.readers.read_rollouts(tmp_path)


def test_columns_of_ones_own_have_our_names(tmp_path):
    """In a table of one's own, and among what a tool's records say beside."""
    (tmp_path / "mine.csv").write_text("conversation,broke,reply\na,true,Hello\na,true,No\nb,false,Yes\n")
    names = {"rollout_id": "conversation", "solved": "broke", "response": "reply"}
    rollouts = rw.readers.read_rollouts(tmp_path / "mine.csv", names=names)
    assert rollouts.select("rollout_id", "solved").rows() == [("a", True), ("b", False)]
    said = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
    (tmp_path / "chats.jsonl").write_text(json.dumps({"messages": said, "victim": "parrot", "id": "c"}))
    rollouts = rw.readers.read_rollouts(tmp_path / "chats.jsonl", names={"target": "victim"})
    assert rollouts["target"].to_list() == ["parrot"]
    with pytest.raises(ArgumentError, match=r'names=\{"target": "victm"\}.*victim'):
        rw.readers.read_rollouts(tmp_path / "chats.jsonl", names={"target": "victm"})
