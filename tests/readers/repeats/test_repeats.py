"""Two records of one id: a copy counts once, a later version counts, verdicts that differ are unknown, all else is told."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from readers.repeats.versions import read, record, written  # type: ignore[import-not-found]  # needs the path of tests

import rollwise as rw
from rollwise.cli.gate import unread_rollouts
from rollwise.errors import ReadError
from rollwise.readers import Problems
from rollwise.readers.read import read_into

CASES = {"turns": "a table of turns", "messages": "chats", "nested": "rollouts with turns"}


# ── copies ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("split", [True, False], ids=["two files", "one file"])
def test_a_copy_counts_once_and_is_told(tmp_path, capsys, kind, split):
    if kind == "turns" and not split:
        pytest.skip("rows of one rollout in one file are its turns")
    one, two = record(kind, "a", ["Yes", "No"], outcome="success"), record(kind, "b", ["No"], outcome="failure")
    if split:
        written(tmp_path / "1.jsonl", one, two)
        written(tmp_path / "2.jsonl", one, record(kind, "c", ["No"], outcome="failure"))
    else:
        written(tmp_path / "1.jsonl", one, two, one, record(kind, "c", ["No"], outcome="failure"))
    turns, problems, unread = read(tmp_path)
    assert sorted(turns["rollout_id"].unique()) == ["a", "b", "c"]
    assert turns.filter(rollout_id="a")["response"].to_list() == ["Yes", "No"]
    assert problems.select("record", "field").rows() == [("a", None)]
    assert (
        problems["reason"]
        .item()
        .endswith("as well, and counts once" if split else "twice in this file, and counts once")
    )
    assert unread == 0
    capsys.readouterr()
    assert rw.read(tmp_path).equals(turns)  # no error
    assert "1 rollout is in a second file or record and read once" in capsys.readouterr().err


def test_three_copies_of_a_log_count_once(tmp_path):
    for name in ("a", "b", "c"):
        shutil.copy(Path(__file__).parents[1] / "fixtures" / "jailbreakbench" / "toy.json", tmp_path / f"{name}.json")
    turns, problems, unread = read(tmp_path)
    assert (turns["rollout_id"].n_unique(), problems.height, unread) == (3, 6, 0)


# ── later versions ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("kind", ["messages", "nested"])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["crash first", "crash last"])
def test_an_attempt_with_an_answer_supersedes_one_that_crashed(tmp_path, kind, order):
    crashed, whole = record(kind, "a", [None], error="timeout"), record(kind, "a", ["No"], outcome="failure")
    written(tmp_path / "log.jsonl", *[(crashed, whole)[place] for place in order])
    turns, problems, unread = read(tmp_path)
    assert turns.select("response", "outcome").rows() == [("No", "failure")]
    assert problems["reason"].to_list() == [
        "rollout 'a' is superseded by a version with an answer or a verdict in this file"
    ]
    assert unread == 0


@pytest.mark.integration
def test_a_half_written_conversation_is_superseded_in_every_layout(tmp_path):
    for kind in CASES:
        folder = tmp_path / kind
        folder.mkdir()
        written(folder / "1.jsonl", record(kind, "a", ["Yes"]))
        written(folder / "2.jsonl", record(kind, "a", ["Yes", "No"], outcome="success"))
        written(folder / "3.jsonl", record(kind, "a", ["Yes"]))
        turns, problems, unread = read(folder)
        assert turns.select("turn", "response", "outcome").rows() == [(1, "Yes", "success"), (2, "No", "success")]
        assert problems.height == 2
        assert problems["reason"].str.contains("superseded by a version with (more turns|an answer or a verdict)").all()
        assert unread == 0


@pytest.mark.integration
def test_the_newest_export_of_an_evaluation_counts(tmp_path):
    result = {"promptIdx": 0, "provider": {"id": "parrot"}, "prompt": {"raw": "Hi"}, "metadata": {"pluginId": "hate"}}
    failed = {**result, "testIdx": 1, "success": False, "failureReason": 2, "error": "timeout"}
    passed = {**result, "testIdx": 0, "success": True, "response": {"output": "No"}}
    again = {**result, "testIdx": 1, "success": False, "failureReason": 1, "response": {"output": "Oaf"}}
    for names in ("ab", "ba"):
        folder = tmp_path / names
        folder.mkdir()
        for name, hour, last in zip(names, (0, 1), (failed, again), strict=True):
            results = {"version": 3, "timestamp": f"2026-01-01T0{hour}:00:00Z", "results": [passed, last]}
            (folder / f"{name}.json").write_text(json.dumps({"evalId": "e", "results": results, "config": {}}))
        turns, problems, unread = read(folder)
        assert sorted(turns["outcome"].to_list()) == ["failure", "success"]
        assert problems["reason"].str.contains("superseded by a version of a later time").sum() == 2
        assert unread == 0


@pytest.mark.parametrize("has_ids", [True, False])
def test_chats_of_one_run_in_two_files_count_once(tmp_path, has_ids):
    """A record that names its run and its id is the same in both; without an id, one that says the same."""
    chats = [record("messages", "", [f"No {n}"], run="R1", id=f"c{n}" if has_ids else None)[0] for n in range(4)]
    chats = [{k: v for k, v in chat.items() if k != "rollout_id" and v is not None} for chat in chats]
    more = {**chats[0], "id": "c9", "note": "new"}
    written(tmp_path / "a.jsonl", *chats)
    written(tmp_path / "b.jsonl", *chats, more)
    turns, problems, unread = read(tmp_path)
    assert (turns["rollout_id"].n_unique(), problems.height, unread) == (5, 4, 0)
    # Two that are alike in one file are two rollouts; without a run, nothing says that two files are of one.
    written(tmp_path / "a.jsonl", *chats[:1], *([] if has_ids else chats[:1]))
    (tmp_path / "b.jsonl").unlink()
    assert read(tmp_path)[0]["rollout_id"].n_unique() == 2 - has_ids


@pytest.mark.integration
def test_the_samples_of_the_last_log_of_a_retry_count(tmp_path):
    """Three logs of one task, in which a sample failed twice: as the last log alone."""
    scores = {"match": {"value": "C"}}
    for number, failing in enumerate((["s0", "s1"], ["s1"], [])):
        samples: list[Any] = [
            {"id": name, "epoch": 1, "uuid": f"{name}-{name in failing and number}", "messages": []}
            | ({"error": {"message": "boom"}} if name in failing else {"scores": scores})
            | {
                "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "4"}][
                    : 1 + (name not in failing)
                ]
            }
            for name in ("s0", "s1", "s2")
        ]
        spec = {
            "task": "t",
            "model": "m",
            "eval_id": f"E{number}",
            "task_id": "T",
            "created": f"2026-01-01T00:0{number}:00+00:00",
        }
        log = {"version": 2, "status": "success", "eval": spec, "samples": samples}
        (tmp_path / f"{2 - number}.json").write_text(json.dumps(log))  # the last is read first
    turns, _, unread = read(tmp_path)
    assert turns["rollout_id"].to_list() == ["E2/s0/1", "E2/s1/1", "E2/s2/1"]
    assert turns["solved"].to_list() == [True] * 3
    assert unread == 0
    assert turns.equals(rw.read(tmp_path / "0.json"))
    rollouts = rw.readers.read_rollouts(tmp_path)
    assert rollouts["rollout_id"].to_list() == turns["rollout_id"].to_list()


# ── contradictions ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize(
    ("column", "one", "other"),
    [
        ("outcome", "success", "failure"),
        ("solved", True, False),
        ("score_judge", 0.0, 1.0),
        ("outcome", "failure", "success"),
    ],
)
def test_verdicts_that_differ_are_unknown(tmp_path, kind, column, one, other):
    for name, value in (("1", one), ("2", other)):
        written(
            tmp_path / f"{name}.jsonl",
            record(kind, "a", ["No"], **{column: value}),
            record(kind, "b", ["No"], **{column: one}),
        )
    turns, problems, unread = read(tmp_path)
    assert turns.sort("rollout_id")[column].to_list() == [None, one]
    row = problems.filter(pl.col("field") == column)
    assert row["record"].to_list() == ["a"]
    assert f"{tmp_path / '1.jsonl'} as well: it is unknown, and null" in row["reason"].item()
    assert unread == 0  # the rollout is there, and has no verdict
    with pytest.raises(
        ReadError, match=rf"2\.jsonl: record a: field `{column}`: is .* where rollout 'a' appears in .*1\.jsonl"
    ):
        rw.read(tmp_path)


@pytest.mark.integration
def test_only_the_turn_whose_verdict_differs_is_unknown(tmp_path):
    for name, last in (("1", True), ("2", False)):
        turns = [
            {"rollout_id": "a", "turn": n, "prompt": "q", "response": "r", "succeeded": n == 1 or last} for n in (1, 2)
        ]
        written(tmp_path / f"{name}.jsonl", turns)
    found, problems, _ = read(tmp_path)
    assert found["succeeded"].to_list() == [True, None]
    assert problems["field"].to_list() == ["succeeded", None]


def test_a_known_verdict_contradicts_no_unknown_one(tmp_path):
    for number, outcome in enumerate((None, "failure", "undetermined", "error")):
        written(tmp_path / f"{number}.jsonl", record("messages", "a", ["No"], outcome=outcome))
    turns, problems, _ = read(tmp_path)
    assert turns["outcome"].to_list() == ["failure"]
    assert problems["field"].to_list() == [None] * 3


def test_a_column_that_differs_and_is_no_verdict_is_null_and_named(tmp_path):
    for name in "12":
        written(tmp_path / f"{name}.jsonl", record("messages", "a", ["No"], note=name, total_seconds=float(name)))
    turns, problems, _ = read(tmp_path)
    assert turns.select("total_seconds").row(0) == (None,)
    assert problems["reason"].item().endswith("counts once; `note`, `total_seconds`, which differ, are null")
    assert rw.read(tmp_path).height == 1


# ── two conversations ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("fields", [{}, {"target": "owl"}, {"run": "R2"}, {"goal": "other"}])
def test_two_conversations_under_one_id_are_not_one_rollout(tmp_path, capsys, kind, fields):
    """The first is read, the other is missing, and not safe: a gate takes it for unread."""
    first = {"target": "parrot", "run": "R1", "goal": "g", "outcome": "success"}
    written(tmp_path / "1.jsonl", record(kind, "a", ["Yes"], **first))
    written(
        tmp_path / "2.jsonl",
        record(kind, "a", ["Yes" if fields else "No"], **{**first, "outcome": "failure", **fields}),
    )
    turns, problems, unread = read(tmp_path)
    assert turns.select("response", "outcome").rows() == [("Yes", "success")]
    assert problems.select("record").rows() == [("a",)]
    assert "with another conversation" in problems["reason"].item()
    assert unread == 1
    capsys.readouterr()
    rw.read(tmp_path, errors="collect")
    assert "1 rollout has the id of another conversation and cannot be counted" in capsys.readouterr().err
    with pytest.raises(
        ReadError, match=r"if these are separate runs, give each rollout an id of its own.*; else read only one"
    ):
        rw.read(tmp_path)


def test_a_cached_reading_says_the_same(tmp_path, capsys):
    (tmp_path / "logs").mkdir()
    written(
        tmp_path / "logs" / "1.jsonl", record("messages", "a", ["No"], solved=True), record("messages", "b", ["No"])
    )
    written(
        tmp_path / "logs" / "2.jsonl", record("messages", "a", ["No"], solved=False), record("messages", "b", ["Ho"])
    )
    said = []
    for _ in range(2):
        problems = Problems(collect=True)
        turns = read_into(problems, tmp_path / "logs", cache=tmp_path / "cache")
        said.append((turns.rows(), problems.frame().rows(), unread_rollouts(problems), capsys.readouterr().err))
    assert said[0] == said[1]
    assert said[0][2] == 1
