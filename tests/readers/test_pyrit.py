"""PyRIT: what a memory holds, and what it exports."""

import shutil
import sqlite3
from pathlib import Path

import polars as pl
import pytest

import turnwise as tw
from turnwise import schema
from turnwise.errors import ReadError
from turnwise.readers.reading import read

FIXTURES = Path(__file__).parent / "fixtures" / "pyrit"


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
    kept = tw.paths(tree).filter(pl.col("pruned").ne_missing(True))
    assert kept["response"].to_list() == ["No", "Never"]


def test_what_was_blocked_says_so(memory):
    assert of(memory, "c4").select("error", "outcome").row(0) == ("blocked", None)


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
    with sqlite3.connect(path) as database:
        database.execute(
            'CREATE VIEW "PromptMemoryEntries" AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) '
            "SELECT i AS id FROM n"
        )
    with pytest.raises(ReadError, match="holds no rollouts"):
        read(path)


def test_another_database_is_not_recognized(tmp_path):
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE birds (name TEXT)")
    with pytest.raises(ReadError, match="is not recognized"):
        read(path)
