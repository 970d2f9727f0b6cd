"""PyRIT: what a memory holds, and what it exports."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import read, schema
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "pyrit"


@pytest.fixture(scope="module")
def memory() -> pl.DataFrame:
    frame = read(FIXTURES / "memory.db")
    schema.check(frame, schema.TURNS)
    return frame


def of(memory: pl.DataFrame, conversation: str) -> pl.DataFrame:
    return memory.filter(pl.col("rollout_id").str.ends_with(f"/{conversation}"))


def test_attacks_and_other_conversations_are_rollouts_and_the_attackers_chats_are_not(memory):
    assert sorted(memory["rollout_id"].str.split("/").list.last().unique()) == ["c1", "c2", "c4"]


def test_an_attack(memory):
    frame = of(memory, "c1")
    assert frame.select("turn", "context", "prompt", "response", "score", "succeeded").rows() == [
        (1, "Be kind.", "SGk=", "Hello", 0.0, False),
        (2, None, "Insult me", "Oaf", 1.0, True),
    ]
    assert frame.select("target", "attack", "goal", "category", "outcome", "ending", "total_seconds").row(0) == (
        *("parrot-1", "CrescendoAttack", "insult", "hate", "success", "success", 1.5),
    )
    assert frame["original_prompt"].to_list() == ["Hi", None]
    assert frame["score_SelfAskLikertScorer"].to_list() == [None, 0.75]


def test_pruned_branches_share_what_they_began_with(memory):
    tree = of(memory, "c2")
    assert tree.select("turn", "response", "node_id", "parent_id", "pruned").rows() == [
        (1, "No", "q2", None, False),
        (2, "Never", "q4", "q2", False),
        (2, "Still no", "r4", "q2", True),
    ]
    assert tree["refused"].to_list() == [None, True, None]
    kept = rw.rollout.paths(tree).filter(pl.col("pruned").ne_missing(True))
    assert kept["response"].to_list() == ["No", "Never"]


def test_what_was_blocked_says_so(memory):
    assert of(memory, "c4").select("error", "outcome").row(0) == ("blocked", None)


def test_what_pyrit_1_1_keeps_in_other_tables():
    """The target is a conversation's, the attack stands within another, labels are the result's; judges have chats."""
    frame, problems = read(FIXTURES / "memory_1_1.db", errors="collect")
    assert problems.is_empty()
    assert frame.select("target", "attack", "goal", "outcome", "ending", "turn").rows() == [
        ("target-x", "PromptSendingAttack", "tell secret b64", "failure", "budget", 1),
        ("target-x", None, "BOOM now", "error", "error", 1),
        ("target-x", "PromptSendingAttack", "BLOCK now", "failure", "budget", 1),
        ("target-x", "CrescendoAttack", "crescendo goal two", "success", "success", 1),
        ("target-x", "TreeOfAttacksWithPruningAttack", "tap goal 0", "failure", "budget", None),
        ("target-x", "TreeOfAttacksWithPruningAttack", "tap goal 1", "failure", "budget", None),
    ]
    assert frame["labels"].to_list()[:2] == ['{"op":"trial","user":"me"}', None]
    assert frame["score_SelfAskScaleScorer"].drop_nulls().len() == 1


def test_what_is_said_of_an_error_is_no_answer():
    errors = read(FIXTURES / "memory_1_1.db").filter(pl.col("error").is_not_null())
    assert errors.select("response", "error", "error_text").rows() == [
        (None, "processing", "target down\nRuntimeError('target down')"),
        (None, "blocked", '{"status_code":200,"message":"filtered"}'),
    ]


@pytest.mark.parametrize(("name", "verdict"), [("memory.csv", True), ("export.json", False)])
def test_exports(name, verdict):
    frame = read(FIXTURES / name)
    assert frame.select("prompt", "response", "succeeded", "score_SubStringScorer").row(0) == (
        *("Hi", "Hello", verdict, float(verdict)),
    )


def test_a_memory_with_a_write_ahead_log_beside_it(tmp_path, memory):
    data = bytearray((FIXTURES / "memory.db").read_bytes())
    data[18:20] = b"\x02\x02"
    (tmp_path / "a.db").write_bytes(data)
    assert read(tmp_path / "a.db").drop("run", "rollout_id", "attempt").height == memory.height


def test_the_file_is_not_touched(tmp_path):
    path = tmp_path / "a.db"
    shutil.copy(FIXTURES / "memory.db", path)
    path.chmod(0o444)
    before = path.read_bytes()
    read(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


@pytest.mark.parametrize("keep", [100, 512, 3000])
def test_half_a_memory_is_one_sentence(tmp_path, keep):
    data = (FIXTURES / "memory.db").read_bytes()
    (tmp_path / "a.db").write_bytes(data[:keep])
    with pytest.raises(ReadError, match=r"SQLite|recognized|no rollouts"):
        read(tmp_path / "a.db")


def test_views_and_virtual_tables_are_not_run(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            'CREATE VIEW "PromptMemoryEntries" AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) '
            "SELECT i AS id FROM n"
        )
    with pytest.raises(ReadError, match="its `PromptMemoryEntries` is a view, which is not run: copy what it shows"):
        read(path)


def test_another_database_is_not_recognized(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE birds (name TEXT)")
    with pytest.raises(ReadError, match="is a SQLite file without a table of several columns"):
        read(path)


@pytest.fixture
def open_memory(tmp_path):
    """A memory that PyRIT holds open: what it wrote last stands in the write-ahead log alone."""
    folder = tmp_path / "memory"
    folder.mkdir()
    path = folder / "memory.db"
    shutil.copy(FIXTURES / "memory.db", path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA wal_autocheckpoint = 0")
        columns = "(id, role, conversation_id, sequence, converted_value)"
        rows = [("z1", "user", "late", 0, "Ask"), ("z2", "assistant", "late", 1, "Answer")]
        database.executemany(f"INSERT INTO PromptMemoryEntries {columns} VALUES (?, ?, ?, ?, ?)", rows)
        database.commit()
        yield path


@pytest.mark.integration
def test_what_stands_in_the_write_ahead_log_is_read_and_nothing_is_written_beside_it(open_memory):
    folder = open_memory.parent
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(before) == {"memory.db", "memory.db-wal", "memory.db-shm"}
    frame, problems = read(folder, errors="collect")
    assert of(frame, "late").select("prompt", "response").rows() == [("Ask", "Answer")]
    assert sorted(frame["rollout_id"].str.split("/").list.last().unique()) == ["c1", "c2", "c4", "late"]
    assert problems.is_empty()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.integration
def test_a_memory_of_which_all_is_in_the_write_ahead_log(tmp_path):
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as database, closing(sqlite3.connect(FIXTURES / "memory.db")) as given:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA wal_autocheckpoint = 0")
        database.executescript("\n".join(given.iterdump()))
        assert b"PromptMemoryEntries" not in path.read_bytes()
        assert read(path).drop("run", "rollout_id").equals(read(FIXTURES / "memory.db").drop("run", "rollout_id"))


@pytest.mark.integration
def test_a_cache_knows_that_the_write_ahead_log_changed(open_memory, tmp_path):
    first = read(open_memory, cache=tmp_path / "cache")
    with closing(sqlite3.connect(open_memory)) as database:
        database.execute("DELETE FROM PromptMemoryEntries WHERE conversation_id = 'late'")
        database.commit()
        second = read(open_memory, cache=tmp_path / "cache")
    assert (of(first, "late").height, of(second, "late").height) == (1, 0)


def test_a_write_ahead_log_without_its_file_is_said_to_be_none_we_know(open_memory, tmp_path):
    (tmp_path / "alone").mkdir()
    shutil.copy(f"{open_memory}-wal", tmp_path / "alone" / "x.db-wal")
    with pytest.raises(ReadError, match="nothing could be read"):
        read(tmp_path / "alone")


@pytest.fixture
def stopped_memory(tmp_path):
    """A memory whose writer was killed within a transaction: half of it stands in the file, how to undo it in the journal."""
    folder = tmp_path / "stopped"
    folder.mkdir()
    shutil.copy(FIXTURES / "memory.db", folder / "memory.db")
    killed = """
import os, signal, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA cache_size = 2")  # so that pages are written before the end
database.execute("BEGIN")
database.execute("DELETE FROM PromptMemoryEntries")
rows = [(f"z{at}", "user", "late", at, "x" * 3000) for at in range(200)]
database.executemany("INSERT INTO PromptMemoryEntries (id, role, conversation_id, sequence, converted_value) "
                     "VALUES (?, ?, ?, ?, ?)", rows)
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", killed, folder / "memory.db"], check=False)
    return folder / "memory.db"


@pytest.mark.integration
def test_what_was_being_written_when_the_writer_was_killed_is_undone(stopped_memory, tmp_path):
    """The file alone is malformed; what stood in it before is what is read, and nothing is written beside it."""
    folder = stopped_memory.parent
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(before) == {"memory.db", "memory.db-journal"}
    whole = read(FIXTURES / "memory.db").drop("run", "rollout_id")
    for given in (stopped_memory, folder):
        frame, problems = read(given, errors="collect", cache=tmp_path / "cache")
        assert frame.drop("run", "rollout_id").equals(whole)
        assert problems.is_empty()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    stopped_memory.unlink()
    with pytest.raises(ReadError, match="is the journal of a SQLite file: read that file, with this one beside it"):
        read(stopped_memory.with_name("memory.db-journal"))


def test_the_reason_is_that_of_the_scorer_which_decides(memory):
    """At the turns that it judged, and at no other."""
    judged = memory.drop_nulls("judge_reason")
    assert judged.height > 1
    assert judged["score"].null_count() == 0
    assert set(judged["judge_reason"]) == {"why"}
