"""Inspect AI: archives and JSON alike, every accuracy and standard error of the README, and every trap it names."""

import json
import math
import shutil
import time
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import read
from rollwise.errors import ReadError
from rollwise.readers import Document, read_summary
from rollwise.readers.formats.inspect.samples import SHAPES
from rollwise.readers.sources.archives import Archive

LOG = Path(__file__).parents[1] / "fixtures" / "inspect" / "log.json"
PRODUCED = Path(__file__).parents[1] / "produced"  # cut from what Inspect 0.3.285 wrote
TESTS = "inspect_ai_tests"
TABLE = {  # log: ids, epochs, accuracy, standard error, as the log reports them
    "log-sets/set2/*J5EskSJVsBD9iRd47twk8x.eval": (10, 5, 0.7000, 0.1528),
    "log-sets/set2/*jKN69eAYYpZFAZhRgMAztp.eval": (10, 5, 0.6600, 0.1492),
    "log-sets/set/*LthYhadZHuQjsMYHHKRep2.eval": (100, 1, 0.5700, 0.0498),
    "log-sets/*A2Ld8PcXe79grUc5trBXEb.eval": (100, 1, 0.6800, 0.0469),
    "log-sets/not-set/*CzDPvkooKpp4d24wMPkx5d.eval": (100, 1, 0.7000, 0.0461),
    "inspect_scout/*DN2wbX2ZvACsBpjwptzBRo.eval": (100, 1, 0.6300, 0.0485),
    "inspect_scout/*LuxZJVwvymC3S3SyoJczxB.eval": (16, 1, 0.6875, 0.1197),
    f"{TESTS}/log/test_eval_log/log_streaming.eval": (2, 2, 0.7500, 0.2500),
    f"{TESTS}/scorer/logs/*mj7khqpMM4GBCfVQozKgzB.eval": (10, 1, 0.8000, 0.1333),
}


@pytest.fixture
def log() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(LOG.read_text())
    return value


@pytest.fixture(scope="module")
def logs(shared) -> pl.DataFrame:
    return read(shared / "inspect", errors="collect")[0]


def one(shared: Path, pattern: str) -> Path:
    (found,) = (shared / "inspect").glob(pattern)
    return found


def rollouts(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.unique("rollout_id", maintain_order=True)


def write(folder: Path, log: dict[str, Any], name: str = "log.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(log))
    return path


# ── the figures of the README ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("pattern", TABLE)
def test_accuracies_and_standard_errors(shared, pattern):
    ids, epochs, accuracy, std_error = TABLE[pattern]
    path = one(shared, pattern)
    frame = read(path)
    samples = rollouts(frame)
    assert (samples["task"].n_unique(), samples.height) == (ids, ids * epochs)
    assert samples.select("task", "attempt").is_unique().all()
    means = samples.group_by("task").agg(pl.col("solved").cast(pl.Float64).mean())["solved"]
    (theirs,) = read_summary(path).iter_rows(named=True)
    assert means.mean() == pytest.approx(theirs["estimate"], abs=1e-12)
    assert means.std() / math.sqrt(ids) == pytest.approx(theirs["std_error"], abs=1e-12)  # type: ignore[operator]
    assert (round(theirs["estimate"], 4), round(theirs["std_error"], 4)) == (accuracy, std_error)


@pytest.mark.integration
@pytest.mark.parametrize("pattern", TABLE)
def test_a_summary_says_the_same(shared, pattern):
    ids, epochs, accuracy, std_error = TABLE[pattern]
    measured = rw.measure(read(one(shared, pattern)), m.task_success())
    (ours,) = rw.summarize(measured, metrics="task_success", cluster="task", method="t").iter_rows(named=True)
    assert (round(ours["estimate"], 4), round(ours["std_error"], 4)) == (accuracy, std_error)
    assert (ours["n"], ours["n_clusters"]) == (ids * epochs, ids)


@pytest.mark.integration
def test_two_logs_of_one_run_id_are_two_runs(shared):
    frame = read(shared / "inspect" / "log-sets" / "set2")
    assert frame["run_id"].n_unique() == 1
    assert frame["run"].n_unique() == frame["target"].n_unique() == 2
    scout = read(shared / "inspect" / "inspect_scout")
    assert scout["run_id"].n_unique() == 1
    assert scout["run"].n_unique() == scout["task_name"].n_unique() == 2


@pytest.mark.integration
def test_results_by_evaluation(shared):
    rollouts = rw.measure(read(shared / "inspect" / "inspect_scout"), m.task_success())
    summary = rw.summarize(rollouts, by="task_name", metrics="task_success")
    assert summary["task_name"].n_unique() == summary.height == 2
    assert sum(n + missing for n, missing in summary.select("n", "n_undetermined").rows()) == rollouts.height


@pytest.mark.integration
def test_samples_and_turns(logs):
    assert logs["rollout_id"].n_unique() == 570
    assert logs["turn"].count() == 710
    assert logs["turn"].null_count() == 1
    assert logs["attack"].unique().to_list() == ["none"]
    assert logs["goal"].null_count() == logs["outcome"].null_count() == logs.height
    assert logs["succeeded"].null_count() == logs.height


# ── the traps of the README ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_the_subset_of_docent_holds_15_samples_of_the_790_it_reports(shared):
    path = one(shared, "docent/*.eval")
    samples = rollouts(read(path))
    assert (samples["solved"].sum(), samples.height) == (9, 15)
    assert samples["attempt"].unique().to_list() == [1]
    (theirs,) = read_summary(path).iter_rows(named=True)
    assert (round(theirs["estimate"], 4), round(theirs["std_error"], 4), theirs["n"]) == (0.6759, 0.0419, 790)
    assert samples.filter(ending="budget")["limit"].to_list() == ["message"] * 3


@pytest.mark.parametrize(
    "pattern",
    [
        f"{TESTS}/analysis/test_logs/*_no-samples.json",
        f"{TESTS}/test_eval_set/*-17*.json",
        f"{TESTS}/test_eval_set/*-18*.json",
    ],
)
def test_a_log_without_samples_is_refused_and_its_results_are_read(shared, pattern):
    path = one(shared, pattern)
    with pytest.raises(
        ReadError, match=r"holds the results of an Inspect log without its samples.*`rw\.readers\.read_summary`"
    ):
        read(path)
    with pytest.raises(ReadError, match=r"holds results but no samples: open it with `rw\.readers\.read_summary`"):
        read(path, format="inspect")
    assert read_summary(path).height == 1


@pytest.mark.integration
def test_a_log_without_samples_is_listed_in_a_folder(shared, capsys):
    folder = shared / "inspect" / TESTS / "analysis" / "test_logs"
    frame = read(folder)
    assert frame["run"].n_unique() == 3
    assert "no-samples.json" in capsys.readouterr().err
    _, problems = read(folder, errors="collect")
    assert problems["reason"].str.contains("rw.readers.read_summary").to_list() == [True]


def test_one_success_and_one_error_of_the_same_task(shared):
    theirs = read_summary(shared / "inspect" / TESTS / "test_eval_set")
    assert theirs["run"].n_unique() == 1
    assert theirs["reason"].to_list() == [None, "the status of the run is error"]


def test_what_a_cancelled_run_got_done_is_read(shared):
    samples = rollouts(read(one(shared, f"{TESTS}/analysis/test_logs/*_popularity.json")))
    assert samples["status"].unique().to_list() == ["cancelled"]
    assert (samples["solved"].sum(), samples.height, samples["ending"].unique().to_list()) == (2, 3, ["finished"])


def test_a_picture_is_named_and_not_spelt_out(shared):
    (row,) = read(one(shared, f"{TESTS}/log/test_eval_log/log_images_tc.json")).iter_rows(named=True)
    assert row["prompt"] == "What is this a picture of?\n[image]"


@pytest.mark.integration
def test_reasoning_is_not_what_the_target_said(shared):
    frame = read(one(shared, "log-sets/set2/*J5EskSJV*.eval"))
    assert frame["response"].str.len_chars().max() == 3
    assert frame["reasoning"].null_count() == 0


def test_samples_without_scores_are_neither_solved_nor_not(shared):
    samples = rollouts(read(one(shared, f"{TESTS}/scorer/logs/*dPiJifoW*.eval")))
    assert samples.height == samples["solved"].null_count() == 10
    assert not [name for name in samples.columns if name.startswith("score_")]


def test_a_sample_of_nothing_but_results_of_tools(shared):
    frame = read(one(shared, f"{TESTS}/log/test_eval_log/log_tool_call_error.json"))
    assert frame.select("rollout_id", "turn", "target", "attempt", "solved", "response").rows() == [
        ("...-.../1/4", None, "...", 4, None, None)
    ]
    assert "The tool output limit of 10 MiB was exceeded." in frame["prompt"][0]
    assert "unicode_decode" not in frame["prompt"][0], "the error's own words, not the object around them"


def test_an_archive_packed_with_zstd(shared):
    frame = read(shared / "inspect" / TESTS / "zstd")
    assert frame.select("run", "target", "prompt", "response", "solved").rows() == [
        ("EuFLNb8imQUBNnPwdm8ZC7", "mockllm/test", "hello", "ok", None)
    ]


@pytest.mark.integration
def test_a_sample_in_the_eval_and_the_json_of_one_log_is_one_rollout(shared):
    folder = shared / "inspect" / TESTS / "log" / "test_eval_log"
    both = [folder / "log_formats.eval", folder / "log_formats.json"]
    frame, problems = read(both, errors="collect")
    assert (frame.height, problems.height) == (1, 1)
    assert problems["reason"].str.contains(r"appears in .*log_formats\.eval as well, and counts once").all()
    assert read(both).equals(frame)
    one_way, other_way = (read(path) for path in both)
    assert one_way.equals(other_way)


def test_the_pool_of_version_3_holds_what_the_messages_say(shared, tmp_path):
    path = one(shared, f"{TESTS}/log/test_eval_log/log_message_deduplication.eval")
    whole = read(path)
    assert whole["turn"].to_list() == [1, 2, 3, 4, 5, 6]
    assert whole["prompt"][2] == whole["prompt"][1], "what is said again is kept"
    (sample,) = unpacked(path)
    assert sample["message_pool"]
    header = {"status": "success", "eval": {"task": "inspect_test_utils/guess_number", "model": "hardcoded/hardcoded"}}
    del sample["messages"]
    pooled = read(write(tmp_path, {**header, "samples": [sample]}))
    said = ["turn", "prompt", "response", "tool_calls", "observation"]
    assert pooled.select(said).equals(whole.select(said))


def unpacked(path: Path) -> list[dict[str, Any]]:
    with Archive(Document(path)) as archive:
        return [json.loads(archive.read(name)) for name in archive.names if name.startswith("samples/")]


@pytest.mark.integration
def test_all_logs_read_in_well_under_a_second(shared):
    read(shared / "inspect", errors="collect")
    start = time.perf_counter()
    read(shared / "inspect", errors="collect")
    assert time.perf_counter() - start < 0.9


# ── the columns ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_columns_of_the_fixture():
    frame = read(LOG)
    assert frame.select("rollout_id", "turn", "prompt", "response", "observation", "solved", "ending").rows() == [
        ("E1/1/1", 1, "What is 2 + 2?", None, None, True, "finished"),
        ("E1/1/1", 2, "too slow", None, None, True, "finished"),
        ("E1/1/1", 3, "4", "It is 4.", None, True, "finished"),
        ("E1/1/2", 1, "What is 2 + 2?", "Some.", None, None, "budget"),
        ("E1/two/1", 1, "What is 3 + 3?", "6", "Sure?", True, "finished"),
        ("E1/two/2", None, "What is 3 + 3?", None, None, None, "error"),
    ]
    assert frame["context"].to_list() == ["Use the tool.", *[None] * 5]
    assert frame["reasoning"].to_list() == ["I had better ask.", "Once more.", *[None] * 4]
    assert frame["tool_calls"].to_list() == [[{"name": "add", "arguments": '{"a":2,"b":2}'}]] * 2 + [None] * 4
    assert frame["error"].to_list() == [*[None] * 5, "the server went away"]


def test_facts_and_extras_of_the_fixture():
    first, second, third, fourth = rollouts(read(LOG)).iter_rows(named=True)
    assert [first[name] for name in ("run", "target", "task", "attempt", "expected")] == [
        "E1",
        "parrot-1",
        "sums/1",
        1,
        "4",
    ]
    assert (first["total_tokens"], first["total_cost_usd"], first["total_seconds"]) == (25, 0.002, 1.5)
    assert (first["task_name"], first["sample_id"], first["status"], first["created"][:4]) == (
        "sums",
        "1",
        "success",
        "2026",
    )
    assert (first["tags"], first["eval_metadata"], first["task_args"]) == (
        '["small"]',
        '{"owner":"us"}',
        '{"hard":true}',
    )
    assert (first["metadata"], first["stop_reason"], first["error_retries"]) == ('{"level":"easy"}', "stop", 1)
    assert (second["attempt"], second["limit"], second["total_tokens"]) == (2, "token", 12)
    assert (third["expected"], third["sample_id"], third["total_tokens"]) == ('["6","six"]', "two", None)
    assert (fourth["error_retries"], fourth["metadata"], fourth["uuid"]) == (None, None, "u22")
    assert not {"model_args", "store", "events"} & first.keys()


def test_scores_stay_as_they_are():
    frame = rollouts(read(LOG))
    assert frame["score_match"].to_list() == ['"C"', '"P"', "1.0", None], "words and numbers meet as JSON text"
    assert frame["score_style_clear"].to_list() == [1, None, None, None]
    assert frame["score_style_short"].to_list() == [0.5, None, None, None]
    assert frame["score_style"].to_list() == [None, None, '["neat",1]', None]
    assert frame.select("answer_match", "explanation_match").row(0) == ("4", "It ends in 4.")
    assert frame["judge_reason"][0] == "It ends in 4."


@pytest.mark.integration
@pytest.mark.parametrize(
    ("value", "solved"),
    [
        ("C", True),
        ("I", False),
        ("P", None),
        ("N", None),
        (1, True),
        (0, False),
        (1.0, True),
        (0.5, None),
        (2, None),
        (True, True),
        (False, False),
        ("yes", True),
        ("False", False),
        ("c", None),
        ("splendid", None),
        (math.nan, None),
        ([1], None),
        ({"a": 1}, None),
        (None, None),
    ],
)
def test_what_counts_as_solved(tmp_path, log, value, solved):
    log["samples"] = log["samples"][1:2]
    log["samples"][0]["scores"] = {"first": {"value": value}, "second": {"value": "C"}}
    assert read(write(tmp_path, log))["solved"].to_list() == [solved]


def test_a_sample_that_the_first_scorer_left_out_is_not_solved_by_the_second():
    frame = read(PRODUCED / "inspect_scorers.json")
    assert frame.select("score_nothing", "score_includes", "solved").rows() == [(None, "I", None), ("C", "I", True)]


def test_what_a_scorer_gives_beside_its_value_and_who_edited_it_are_kept():
    frame = read(PRODUCED / "inspect_edited.json")
    edited, broken = frame.iter_rows(named=True)
    assert (edited["solved"], edited["score_includes"], edited["metadata_includes"]) == (False, "I", '{"why":1}')
    before, after = json.loads(edited["history_includes"])
    assert (before["value"], after["provenance"]["author"]) == ("C", "me")
    assert (broken["history_includes"], json.loads(broken["invalidation"])["reason"]) == (None, "bad")
    assert edited["model_roles"] == '{"red_team":"mockllm/red"}'


def test_why_there_is_no_usual_score_is_kept(tmp_path, log):
    log["samples"] = log["samples"][1:2]
    log["samples"][0]["scores"] = {"judge": {"value": None, "reason": "grader_failed", "metadata": {}, "history": []}}
    frame = read(write(tmp_path, log))
    assert frame["reason_judge"].to_list() == ["grader_failed"]
    assert not {"metadata_judge", "history_judge"} & {*frame.columns}


def test_the_one_score_of_the_oldest_logs(tmp_path, log):
    (log["samples"][0],) = log["samples"][:1]
    log["samples"][0]["score"] = log["samples"][0].pop("scores")["match"]
    samples = rollouts(read(write(tmp_path, log)))
    assert samples.select("solved", "score_score").row(0) == (True, "C")


@pytest.mark.integration
@pytest.mark.parametrize("method", [0, 8, 93], ids=["stored", "deflated", "zstd"])
def test_an_archive_reads_as_the_json_does(tmp_path, log, pack, method):
    (tmp_path / "log.eval").write_bytes(pack(log, method))
    assert read(tmp_path).equals(read(LOG).sort("attempt", maintain_order=True))


@pytest.mark.integration
def test_samples_of_an_archive_come_by_epoch_and_id_whoever_ended_first(tmp_path, log, pack):
    template = log["samples"][1]
    log["samples"] = [
        {**template, "id": number, "epoch": epoch, "uuid": f"{number}-{epoch}"}
        for number, epoch in [(10, 1), (9, 2), (2, 1), ("b/../a", 1), (9, 1)]
    ]
    (tmp_path / "log.eval").write_bytes(pack(log))
    assert read(tmp_path)["rollout_id"].to_list() == ["E1/2/1", "E1/9/1", "E1/10/1", "E1/b/../a/1", "E1/9/2"]
    assert [path.name for path in tmp_path.parent.rglob("*a_epoch*")] == []


def test_a_run_that_never_ended_is_read_as_far_as_it_went(tmp_path, log, pack):
    (tmp_path / "log.eval").write_bytes(pack(log, ended=False))
    frame = read(tmp_path)
    assert frame["rollout_id"].n_unique() == 4
    assert frame["status"].null_count() == frame.height
    with pytest.raises(ReadError, match="reports no figures"):
        read_summary(tmp_path / "log.eval")


@pytest.mark.integration
def test_a_sample_that_a_retry_copied_is_one_rollout(tmp_path, log):
    write(tmp_path, log, "1.json")
    log["eval"]["eval_id"] = "E2"
    log["samples"][3] |= {"uuid": "u22-again", "error": None}
    write(tmp_path, log, "2.json")
    log["eval"]["created"] = "2036-01-01T00:00:00+00:00"
    write(tmp_path, log, "2.json")
    # The retry has the task id of the first log, and its samples count: E1/two/2 was an error that was run again.
    for name in ("2.json", "0.json"):
        (tmp_path / "2.json").rename(tmp_path / name)
        frame, problems = read(tmp_path, errors="collect")
        assert rollouts(frame)["rollout_id"].to_list() == ["E2/1/1", "E2/1/2", "E2/two/1", "E2/two/2"]
        assert problems["record"].to_list() == ["E1/1/1", "E1/1/2", "E1/two/1", "E1/two/2"]
        assert problems["reason"].str.contains("is superseded by a version of a later time").all()
        (tmp_path / name).rename(tmp_path / "2.json")
    assert read(tmp_path).equals(frame)


def test_messages_said_again_under_one_id_are_all_kept(tmp_path, log):
    sample = log["samples"][1]
    sample["messages"] = [{**message, "id": "same"} for message in sample["messages"]] * 3
    frame = read(write(tmp_path, log)).filter(rollout_id="E1/1/2")
    assert frame.select("turn", "prompt", "response").rows() == [
        (turn, "What is 2 + 2?", "Some.") for turn in (1, 2, 3)
    ]


FORK = {
    "a": [("p1", "user", "Hello."), ("p2", "assistant", "Hi."), ("a3", "user", "Go on."), ("a4", "assistant", "No.")],
    "b": [("p1", "user", "Hello."), ("p2", "assistant", "Hi."), ("b3", "user", "Please."), ("b4", "assistant", "Yes.")],
}


@pytest.mark.parametrize("how", ["json", "eval", "folders", "pool", "two logs"])
def test_samples_of_a_fork_keep_the_messages_they_share(tmp_path, log, pack, how):
    """Inspect's messages_df drops a message whose id an earlier sample has: the fork b loses two and begins at its third.

    Here each has all four, and turns from 1, however the log is packed.
    """
    samples = []
    for name, told in FORK.items():
        messages = [{"id": number, "role": role, "content": content} for number, role, content in told]
        sample = {"id": name, "epoch": 1, "input": "Hello.", "uuid": f"u-{name}", "messages": messages, "scores": {}}
        if how == "pool":
            sample |= {
                "messages": [],
                "message_pool": messages,
                "events": [
                    {"event": "model", "input_refs": [[0, 3]], "output": {"choices": [{"message": messages[3]}]}}
                ],
            }
        samples.append(sample)
    ids = [row[0] for row in FORK["a"] + FORK["b"]]
    assert len(ids) - len(set(ids)) == 2
    if how == "eval":
        (tmp_path / "log.eval").write_bytes(pack({**log, "samples": samples}))
    elif how == "folders":
        more = chunked(samples[0]) | chunked(samples[1])
        (tmp_path / "log.eval").write_bytes(pack({**log, "samples": []}, more=more))
    elif how == "two logs":
        for number, sample in enumerate(samples):
            write(
                tmp_path,
                {**log, "eval": {**log["eval"], "eval_id": f"E{number}"}, "samples": [sample]},
                f"{number}.json",
            )
    else:
        write(tmp_path, {**log, "samples": samples})
    frame = read(tmp_path).sort("rollout_id", "turn")
    assert frame.select("sample_id", "turn", "prompt", "response").rows() == [
        ("a", 1, "Hello.", "Hi."),
        ("a", 2, "Go on.", "No."),
        ("b", 1, "Hello.", "Hi."),
        ("b", 2, "Please.", "Yes."),
    ]


def test_an_answer_that_the_sample_began_with_is_part_of_the_prompt(tmp_path, log):
    sample = log["samples"][1]
    told = [("user", "2 + 2?"), ("assistant", "4"), ("user", "Are you sure?")]
    sample["messages"] = [
        *({"role": role, "content": content, "source": "input"} for role, content in told),
        {"role": "assistant", "content": "I am.", "source": "generate"},
    ]
    frame = read(write(tmp_path, log)).filter(rollout_id="E1/1/2")
    assert frame.select("turn", "prompt", "response").rows() == [(1, "2 + 2?\n\n4\n\nAre you sure?", "I am.")]


@pytest.mark.parametrize("where", ["attachments", "transcript"])
def test_attachments_are_resolved_wherever_they_stand(tmp_path, log, where):
    sample = log["samples"][1]
    protocol, texts = (
        ("attachment", {"f00d": "Long text."}) if where == "attachments" else ("tc", {"f00d": "Long text."})
    )
    sample[where] = texts if where == "attachments" else {"events": [], "content": texts}
    ref = f"{protocol}://f00d"
    sample["messages"] = [
        {"role": "user", "content": ref},
        {"role": "assistant", "content": [{"type": "text", "text": ref}, {"type": "text", "text": f"{protocol}://gone"}],
         "tool_calls": [{"function": "say", "arguments": {"text": [ref]}}]},
    ]  # fmt: skip
    frame = read(write(tmp_path, log)).filter(rollout_id="E1/1/2")
    assert frame.select("prompt", "response").row(0) == ("Long text.", f"Long text.\n{protocol}://gone")
    assert frame["tool_calls"].to_list() == [[{"name": "say", "arguments": '{"text":["Long text."]}'}]]


def test_an_id_that_only_looks_like_an_attachment_stays(tmp_path, log):
    log["samples"][1]["messages"][0]["content"] = "attachment://nowhere"
    assert read(write(tmp_path, log)).filter(rollout_id="E1/1/2")["prompt"][0] == "attachment://nowhere"


def test_reasoning_of_every_year_has_its_column(tmp_path, log):
    sample = log["samples"][1]
    sample["messages"] = [
        {"role": "user", "content": "Think."},
        {"role": "assistant", "content": "One.", "reasoning": "as a field"},
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "reasoning": "x9f", "redacted": True, "summary": "told"}],
        },
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "reasoning": "kept"}, {"type": "text", "text": "Two."}],
        },
        {"role": "assistant", "content": "Three."},
    ]
    frame = read(write(tmp_path, log)).filter(rollout_id="E1/1/2")
    assert frame["response"].to_list() == ["One.", None, "Two.", "Three."]
    assert frame["reasoning"].to_list() == ["as a field", "told", "kept", None]


def test_without_messages_the_last_call_of_a_model_tells(tmp_path, log):
    user, answer = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
    sample = log["samples"][1]
    sample["messages"] = []
    sample["events_data"] = {"messages": [user, answer, {"role": "user", "content": "Bye"}], "calls": []}
    sample["events"] = [
        {"event": "model", "input": [], "input_refs": [[0, 1]], "output": {"choices": [{"message": answer}]}},
        {"event": "model", "input": [], "input_refs": [[0, 2], [2, 3]], "output": {"choices": []}},
        {"event": "error", "error": {"message": "x"}},
    ]
    frame = read(write(tmp_path, log)).filter(rollout_id="E1/1/2")
    assert frame.select("turn", "prompt", "response", "observation").rows() == [(1, "Hi", "Hello", "Bye")]
    del sample["events_data"], sample["events"]
    sample["input"] = [user, {"role": "system", "content": "Be kind."}]
    frame = read(write(tmp_path, log)).filter(rollout_id="E1/1/2")
    assert frame.select("turn", "context", "prompt").rows() == [(None, "Be kind.", "Hi")]


def chunked(sample: dict[str, Any]) -> dict[str, Any]:
    """The members of a sample as a folder: messages in chunks of two, long texts in a pool."""
    folder = f"samples/{sample['id']}_epoch_{sample['epoch']}"
    messages, texts = sample["messages"], list(sample.get("attachments", {}).values())
    told = json.loads(
        json.dumps(messages).replace("attachment://f00d", "attachment://0"),
    )
    shell = {
        name: value for name, value in sample.items() if name not in {"messages", "events", "attachments", "metadata"}
    }
    half = len(told) // 2
    parts = {f"{folder}/messages/{start}.json": told[start : start + 2] for start in range(0, len(told), 2)}
    return {
        f"{folder}/sample.json": {**shell, "message_refs": [[0, half], [half, len(told)]]},
        f"{folder}/metadata.json": sample.get("metadata", {}),
        f"{folder}/attachments/0.json": texts,
        **dict(reversed(parts.items())),
    }


@pytest.mark.integration
def test_a_sample_that_is_a_folder_of_the_archive(tmp_path, log, pack):
    first, *rest = log["samples"]
    first["messages"] *= 4  # more than ten chunks, whose names do not sort as text
    whole = read(write(tmp_path, log))
    data = pack({**log, "samples": rest}, more=chunked(first))
    (tmp_path / "log.json").unlink()
    (tmp_path / "log.eval").write_bytes(data)
    assert SHAPES(Document(tmp_path / "log.eval"))
    assert read(tmp_path).equals(whole.sort("attempt", maintain_order=True))


# ── what is broken ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("id", None, "id"),
        ("epoch", -1, "epoch"),
        ("epoch", "one", "epoch"),
        ("messages", [{"role": 3}], "messages[0].role"),
        ("messages", [{"role": "user", "content": 3}], "messages[0].content"),
        ("messages", "hello", "messages"),
        ("scores", {"match": 3}, "scores[...]"),
        ("total_time", "long", "total_time"),
        ("model_usage", {"parrot-1": {"total_tokens": 1.5}}, "model_usage"),
        ("limit", {"limit": 3}, "limit"),
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["json", "eval"])
def test_a_malformed_sample_is_named(tmp_path, log, pack, name, value, field, packed):
    log["samples"][1][name] = value
    path = tmp_path / ("log.eval" if packed else "log.json")
    path.write_bytes(pack(log) if packed else json.dumps(log).encode())
    with pytest.raises(ReadError) as caught:
        read(path)
    assert f"field `{field}`: " in str(caught.value)
    frame, problems = read(path, errors="collect")
    assert problems["field"].to_list() == [field]
    sample = "samples/{id}_epoch_{epoch}.json".format_map(log["samples"][1])
    assert problems["record"].to_list() == [sample if packed else "1"]
    if field in {"total_time", "model_usage"}:  # which cost themselves alone
        odd = frame.filter(rollout_id="E1/1/2").select("turn", "ending", "total_seconds")
        assert odd.rows() == [(1, "budget", None if field == "total_time" else odd["total_seconds"][0])]
        return
    is_whole = pl.col("rollout_id").is_in(["E1/1/1", "E1/two/1", "E1/two/2"])
    assert frame.filter(is_whole)["rollout_id"].n_unique() == 3
    # A sample that has an id and a score counts as missing: it keeps a row without a turn and without the score.
    broken = frame.filter(~is_whole)
    assert broken.select("turn", "solved", "ending").rows() == (
        [] if field in {"id", "epoch"} else [(None, None, None)]
    )


def test_a_damaged_member_costs_one_sample(tmp_path, log, pack):
    data = bytearray(pack(log, 0))
    at = data.index(b'"Some."')
    data[at + 1 : at + 5] = b"None"
    (tmp_path / "log.eval").write_bytes(data)
    with pytest.raises(ReadError, match=r"log\.eval: record samples/1_epoch_2\.json: is damaged"):
        read(tmp_path)
    frame, problems = read(tmp_path, errors="collect")
    assert frame["rollout_id"].n_unique() == 3
    assert problems["record"].to_list() == ["samples/1_epoch_2.json"]


@pytest.mark.integration
def test_a_bomb_among_the_samples_costs_one_sample(tmp_path, log, pack):
    bomb = b'{"id": 9, "epoch": 1, "input": "' + b" " * (1 << 27) + b'"}'
    log["filler"] = [hash(str(number)) for number in range(40_000)]
    (tmp_path / "log.eval").write_bytes(pack(log, more={"samples/9_epoch_1.json": bomb}))
    frame, problems = read(tmp_path, errors="collect")
    assert frame["rollout_id"].n_unique() == 4
    assert problems.select("record", pl.col("reason").str.contains("zip bomb")).rows() == [
        ("samples/9_epoch_1.json", True)
    ]


def test_half_an_archive_is_a_broken_log(tmp_path, log, pack):
    (tmp_path / "half.eval").write_bytes(pack(log)[:-30])
    with pytest.raises(ReadError, match=r"half\.eval: is not a complete zip archive"):
        read(tmp_path)
    shutil.copy(LOG, tmp_path)
    frame, problems = read(tmp_path, errors="collect")
    assert frame["rollout_id"].n_unique() == 4
    assert problems.height == 1


def test_an_archive_that_is_no_log_is_not_recognized(tmp_path, pack):
    (tmp_path / "other.zip").write_bytes(
        pack({"eval": {}}).replace(b"header.json", b"footer.json").replace(b"start.json", b"stop_.json")
    )
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 but no more")
    shutil.copy(LOG, tmp_path)
    _, problems = read(tmp_path, errors="collect")
    broken, *members = problems.select("file", "reason").rows()  # a zip archive is read as its folder
    assert broken == (str(tmp_path / "broken.zip"), "is not a complete zip archive (File is not a zip file)")
    assert {reason for _, reason in members} == {"is empty", "is not recognized"}
    assert all(file.startswith(f"{tmp_path / 'other.zip'}/") for file, _ in members)
    (tmp_path / "named.eval").write_bytes((tmp_path / "other.zip").read_bytes())
    with pytest.raises(ReadError, match="is not recognized"):
        read(tmp_path / "named.eval")
    with pytest.raises(ReadError, match=r"neither header\.json nor _journal/start\.json"):
        read(tmp_path / "named.eval", format="inspect")


def test_an_older_copy_of_a_sample_in_the_archive_is_reported(tmp_path, log, pack):
    path = tmp_path / "log.eval"
    path.write_bytes(pack(log))
    again = json.dumps({**log["samples"][1], "messages": []})
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("samples/1_epoch_2.json", again)
    frame, problems = read(tmp_path, errors="collect")
    assert frame.filter(rollout_id="E1/1/2")["turn"].to_list() == [None]
    assert problems.select("record", "reason").rows() == [
        ("samples/1_epoch_2.json", "occurs twice in the archive; the later one is read")
    ]


def test_nan_is_the_word_for_unscored(tmp_path, log):
    log["samples"][1]["scores"]["match"]["value"] = math.nan
    log["results"]["scores"][0]["metrics"]["stderr"]["value"] = math.nan
    frame, problems = read(write(tmp_path, log), errors="collect")
    assert frame.filter(rollout_id="E1/1/2").select("solved", "score_match").row(0) == (None, None)
    assert problems["reason"].str.contains("became null").to_list() == [True]
    rw.schema.check(frame, rw.schema.TURNS)


def test_references_to_more_messages_than_there_can_be_are_refused(tmp_path, log):
    sample = log["samples"][1]
    sample["messages"] = []
    sample["message_pool"] = [{"role": "user", "content": "x"}] * 1000
    sample["events"] = [{"event": "model", "input_refs": [[0, 1000]] * 2000}]
    _, problems = read(write(tmp_path, log), errors="collect")
    assert problems["reason"].to_list() == ["refers to more than 1000000 messages"]


@pytest.mark.integration
@pytest.mark.parametrize("pack_it", [False, True])
def test_a_sample_that_cannot_be_read_is_missing_and_not_absent(pack_it, pack, tmp_path):
    log = json.loads((LOG).read_text())
    before = rw.summarize(rw.measure(read(LOG), m.task_success()), metrics="task_success")
    sample = next(sample for sample in log["samples"] if sample["messages"] and sample["scores"])
    sample["messages"][0]["role"] = 3
    path = tmp_path / ("log.eval" if pack_it else "log.json")
    path.write_bytes(pack(log) if pack_it else json.dumps(log).encode())
    turns, problems = read(path, errors="collect")
    after = rw.summarize(rw.measure(turns, m.task_success()), metrics="task_success")
    counts = ["n", "n_missing", "n_error", "n_undetermined"]
    assert sum(after.select(counts).row(0)) == sum(before.select(counts).row(0))
    assert after["n_undetermined"][0] == before["n_undetermined"][0] + 1
    (row,) = turns.filter(rollout_id=f"{turns['run'][0]}/{sample['id']}/{sample['epoch']}").iter_rows(named=True)
    assert (row["turn"], row["solved"], row["task_name"]) == (None, None, log["eval"]["task"])
    assert problems["field"].to_list() == ["messages[0].role"]
