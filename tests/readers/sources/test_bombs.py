"""Files that would take all memory or time: bombs, long chains, one long line, many scores."""

import gzip
import io
import json
import os
import sqlite3
import subprocess
import sys
import time
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures"
SECONDS = 5.0  # that one small file may take on a busy machine
PEAK = """
def peak():  # of this process alone: ru_maxrss would hold what its parent took as well
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) << 10
"""
LIMITED = (
    PEAK
    + """
import resource, sys, time
from pathlib import Path
from rollwise.errors import RollwiseError
import rollwise as rw
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
start = time.perf_counter()
try:
    rw.read(Path(sys.argv[1]), errors="collect")
except RollwiseError as refusal:
    print(refusal)
used = peak() >> 20
print("seconds", round(time.perf_counter() - start, 1), "MiB", used)
sys.exit(used > 1200 or time.perf_counter() - start > 60)
"""
)


def limited(path: Path) -> str:
    """What reading says in a process that may not take much."""
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def archive(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return file.getvalue()


@pytest.mark.integration
def test_a_bomb_in_an_eval(tmp_path):
    start = json.dumps({"eval": {"task": "t", "model": "m", "eval_id": "E"}}).encode()
    path = tmp_path / "bomb.eval"
    path.write_bytes(archive({"_journal/start.json": start, "samples/1_epoch_1.json": b" " * (3 << 30 >> 2)}))
    assert "zip bomb" in limited(path)


@pytest.mark.integration
def test_a_bomb_in_a_gzip_file(tmp_path):
    path = tmp_path / "bomb.jsonl.gz"
    part = gzip.compress(b" " * (64 << 20), 9)
    path.write_bytes(part * 40)
    assert "zip bomb" in limited(path)


def test_members_called_like_other_files_are_not_written(tmp_path):
    start = json.dumps({"eval": {"task": "t", "model": "m", "eval_id": "E"}, "status": "success"}).encode()
    sample = json.dumps({"id": 1, "epoch": 1, "messages": [{"role": "assistant", "content": "Hi"}]}).encode()
    names = ["samples/../../evil_epoch_1.json", "/etc/evil.json", "samples/1_epoch_1.json", "samples\\..\\evil.json"]
    path = tmp_path / "logs" / "log.eval"
    path.parent.mkdir()
    path.write_bytes(archive({"header.json": start, **dict.fromkeys(names, sample)}))
    before = set(tmp_path.rglob("*"))
    frame, problems = rw.read(path, errors="collect")
    assert set(tmp_path.rglob("*")) == before
    assert frame["rollout_id"].to_list() == ["E/1/1"]
    assert problems["reason"].str.contains("appears twice in this file").any()


@pytest.mark.integration
def test_a_graph_whose_answers_share_a_long_way(tmp_path):
    nodes: list[dict[str, Any]] = [{"message": {"role": "user", "content": "x"}}]
    nodes += [{"parent": at, "message": {"role": "user", "content": "x"}} for at in range(4000)]
    nodes += [{"parent": 4000, "sampled": True, "message": {"role": "assistant", "content": "y"}} for _ in range(4000)]
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps({"id": "t", "task": {}, "nodes": nodes}))
    assert "refers to more than 1000000 messages" in limited(path)


@pytest.mark.integration
def test_a_long_chain_is_read_in_its_length(tmp_path):
    lines = []
    for at in range(20_000):
        role = "assistant" if at % 2 else "user"
        parent = None if at == 0 else f"m{at - 1}"
        message = {"role": role, "content": "x", "id": f"id{at}"}
        lines.append(
            json.dumps({"uuid": f"m{at}", "parentUuid": parent, "sessionId": "S", "type": role, "message": message})
        )
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(lines))
    start = time.perf_counter()
    assert rw.read(path)["turn"].to_list() == list(range(1, 10_001))
    assert time.perf_counter() - start < 10


@pytest.mark.integration
@pytest.mark.parametrize("text", ["word ", "a", "\\n", "{", " "])
def test_one_long_line_is_looked_at_once(tmp_path, text):
    path = tmp_path / "log.json"
    path.write_text(json.dumps([{"rollout_id": "a", "prompt": text * (4_000_000 // len(text))}]))
    start = time.perf_counter()
    assert rw.read(path).height == 1
    assert time.perf_counter() - start < SECONDS


def test_a_transcript_that_never_says_anything(tmp_path):
    text = "<|start|>" + "a" * 200_000
    path = tmp_path / "finding.json"
    path.write_text(json.dumps({"harmony_response_walkthroughs": [text]}))
    start = time.perf_counter()
    with pytest.raises(ReadError):
        rw.read(path)
    assert time.perf_counter() - start < 5


@pytest.mark.integration
def test_a_database_of_many_scores(tmp_path):
    path = tmp_path / "memory.db"
    path.write_bytes((FIXTURES / "pyrit" / "memory.db").read_bytes())
    with closing(sqlite3.connect(path)) as database, database:
        database.executemany(
            'INSERT INTO "AttackResultEntries" (id, conversation_id, objective, outcome, last_score_id) VALUES (?, ?, ?, ?, ?)',
            [(f"x{at}", f"gone{at}", "g", "failure", f"z{at}") for at in range(5000)],
        )
        database.executemany(
            'INSERT INTO "ScoreEntries" (id, score_value, score_type, prompt_request_response_id) VALUES (?, ?, ?, ?)',
            [(f"z{at}", "True", "true_false", f"p{at}") for at in range(20_000)],
        )
    start = time.perf_counter()
    frame = rw.read(path)
    assert time.perf_counter() - start < 10
    assert frame.filter(pl.col("turn").is_null())["rollout_id"].n_unique() == 5000


@pytest.mark.integration
def test_reading_a_large_file_takes_little_more_than_it_gives(tmp_path):
    """The peak is the file, the frame, and no more than the frame again."""
    path = tmp_path / "chats.jsonl"
    message = {"role": "user", "content": "word " * 60}
    chat = {"messages": [message, {**message, "role": "assistant"}] * 5}
    line = json.dumps(chat) + "\n"
    with path.open("w") as file:
        for _ in range(15_000):
            file.write(line)
    code = (
        f"{PEAK}\nimport sys\nimport rollwise as rw\nrw.read(sys.argv[2])\nbefore = peak()\n"
        "frame = rw.read(sys.argv[1])\nprint(peak() - before, frame.estimated_size())"
    )
    small = FIXTURES / "openai_chat" / "chats.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), str(small)], capture_output=True, text=True, check=True
    )
    grown, frame = map(int, done.stdout.split())
    print(f"\ngrown {grown >> 20} MiB, frame {frame >> 20} MiB, file {path.stat().st_size >> 20} MiB")  # noqa: T201
    assert frame > 40 << 20
    assert grown <= 2 * frame + path.stat().st_size
