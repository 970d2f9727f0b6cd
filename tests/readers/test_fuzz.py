"""Real records of every format, mutated: turns or a problem, never a crash, a hang, a silent drop or unbounded memory."""

import gzip
import io
import json
import os
import random
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulations import repeated

from rollwise import schema
from rollwise.errors import RollwiseError
from rollwise.readers.json_texts import lenient
from rollwise.readers.prompts import read_prompts
from rollwise.readers.read import read
from rollwise.readers.registry import FORMATS
from rollwise.readers.sources.documents import Document
from rollwise.readers.summaries import read_summary
from rollwise.readers.verdicts import read_verdicts
from rollwise.schema import TURNS

FIXTURES = Path(__file__).parent / "fixtures"
FOLDERS = {  # of the real logs of each format
    "agentdojo": ("agentdojo_drift",),
    "jailbreakbench": ("jailbreakbench", "llm_adaptive_attacks"),
    "tau_bench": ("tau_bench",),
    "tau2": ("tau2_bench",),
    "intercode": ("intercode",),
    "inspect": ("inspect",),
    "mint": ("mint",),
    "garak": ("garak",),
    "quesma": ("quesma_gpt_oss",),
    "swe_agent": ("swe_agent",),
    "atif": ("atif",),
    "atof": ("atif",),
    "claude_code": ("claude_code_jsonl",),
    "deepteam": ("deepteam",),
    "hh_rlhf": ("hh_rlhf",),
    "sharegpt": ("fastchat",),
}
KEPT, FILES, LARGEST = 3, 6, 40_000  # records of one file, files of one format, bytes of one record
SECONDS = 5.0  # that one small file may take on a busy machine
# a record that is whole or broken is one rollout or one problem at least (in the others several records make one rollout)
ONE_EACH = {"jailbreakbench", "tau_bench", "mint", "openhands", "hh_rlhf", "sharegpt", "openai_chat", "verl", "skyrl"}
ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, -(10**400), 1e308, float("nan"), float("-inf"), "", "x", "1", "\x00", "\ud800"),
    *([], [None], [[]], {}, {"role": "assistant"}, {"": None}, [1, "a"], {"a": {"b": [1]}}, 2**63, -(2**63), 2**31),
]
DEEDS = ("put", "remove", "rename", "double", "wrap", "shuffle", "deepen", "repeat")


# ── real records ──────────────────────────────────────────────────────────────────────────────────────────────────────
@cache
def logs_of(name: str, shared: str) -> tuple[tuple[str, Any], ...]:
    """Small logs of one format, made of real records: the suffix of each, and what is in it."""
    found = []
    for path in candidates(name, shared):
        document = Document(path)
        if document.kind not in {"json", "lines"} or not FORMAT[name].sniff(document):
            continue
        value = lenient(document.data)[0] if document.kind == "json" else [line for _, line in document.lines()]
        small = shortened(value)
        if len(json.dumps(small, default=str)) <= 4 * LARGEST:
            found.append((".jsonl" if document.kind == "lines" else document.suffix, small))
        if len(found) == FILES:
            break
    return tuple(found)


FORMAT = {kind.name: kind for kind in FORMATS}
TEXTUAL = [kind.name for kind in FORMATS if kind.name not in {"trl", "inspect_scout"}]  # which are Parquet only


def candidates(name: str, shared: str) -> Iterator[Path]:
    folders = [Path(shared) / folder for folder in FOLDERS.get(name, ())] if shared else []
    folders = folders or [FIXTURES / name]
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    random.Random(name).shuffle(paths)
    yield from paths


def shortened(value: Any) -> Any:
    """The value with a few of its records, the short ones."""
    if isinstance(value, list):
        return sorted(value, key=lambda item: len(json.dumps(item, default=str)))[: KEPT + 1][-KEPT:]
    for key in ("jailbreaks", "findings", "samples", "test_cases", "simulations", "details", "ticks", "trajectory"):
        if isinstance(value, dict) and isinstance(value.get(key), list):
            return {**value, key: value[key][: KEPT if key != "ticks" else 40]}
    if isinstance(value, dict) and all(isinstance(item, dict) for item in value.values()) and len(value) > KEPT:
        return dict(list(value.items())[:KEPT])
    return value


# ── mutations ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def spots(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    if isinstance(value, dict | list) and len(found) < 3000:
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            found.append((value, key))
            spots(value[key], found)
    return found


def mutated(value: Any, steps: list[tuple[str, int, int]]) -> Any:
    """The value with some things put in, removed, renamed, doubled, wrapped, shuffled, nested deeply or said again."""
    value = json.loads(json.dumps(value))
    for deed, where, what in steps:
        places = spots(value, [])
        if not places:
            return value
        if deed == "repeat" and isinstance(value, list):
            value.append(json.loads(json.dumps(value[where % len(value)])))
        else:
            change(*places[where % len(places)], deed, what)
    return value


def change(inside: Any, key: Any, deed: str, what: int) -> None:
    if deed == "put":
        inside[key] = json.loads(json.dumps(ODD[what % len(ODD)]))
    elif deed == "remove":
        del inside[key]
    elif deed == "rename" and isinstance(inside, dict):
        inside[("x", "turn", "rollout_id", "role", "content", "error", "score", "id")[what % 8]] = inside.pop(key)
    elif deed == "double" and isinstance(inside, list):
        inside.append(json.loads(json.dumps(inside[key])))
    elif deed == "shuffle" and isinstance(inside, dict):
        items = list(inside.items())
        random.Random(what).shuffle(items)
        inside.clear()
        inside.update(items)
    else:
        # Four times this leaves the test's own recursion room on any stack; "nested" goes five thousand deep, in bytes.
        for _ in range(what % 150 if deed == "deepen" else 1):
            inside[key] = [inside[key]]


def rendered(value: Any, suffix: str) -> bytes:
    lines = suffix == ".jsonl" and isinstance(value, list)
    text = "".join(json.dumps(line) + "\n" for line in value) if lines else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")


def damaged(data: bytes, damage: tuple[str, int] | None) -> bytes:
    if damage is None or not data:
        return data
    how, where = damage
    at = where % len(data)
    if how == "truncated":
        return data[:at]
    if how == "not UTF-8":
        return data[:at] + b"\xff\xfe\x80" + data[at:]
    if how == "nested":
        return data[:at] + b"[" * 5000 + data[at:]
    return data[:at] + b"9" * 400 + data[at:]


STEPS = st.lists(st.tuples(st.sampled_from(DEEDS), st.integers(0, 10**6), st.integers(0, 10**6)), max_size=4)
DAMAGE = st.one_of(
    st.none(),
    st.none(),
    st.tuples(st.sampled_from(("truncated", "not UTF-8", "nested", "huge number")), st.integers(0, 10**6)),
)


# ── what must hold ────────────────────────────────────────────────────────────────────────────────────────────────────
def outcome(path: Path, **options: Any) -> tuple[int, int] | None:
    """How many rollouts and problems a log gave; None where it was refused, in one sentence."""
    start = time.perf_counter()
    try:
        frame, problems = read(path, errors="collect", **options)
    except RollwiseError as refusal:
        said = str(refusal)
    else:
        schema.check(frame, TURNS)
        schema.check(problems, schema.PROBLEMS)
        return frame["rollout_id"].n_unique(), problems.height
    finally:
        assert time.perf_counter() - start < SECONDS, "that was a hang"
    assert "\n" not in said
    return None


def records_in(data: bytes, suffix: str) -> int:
    """How many records a log holds, broken ones included; 0 where it is no log any more."""
    document = Document(Path(f"log{suffix}"), data)
    try:
        if document.kind == "lines":
            return sum(1 for _ in document.lines())
        if document.kind == "json" and isinstance(document.value, list):
            return len(document.value)
    except Exception:  # noqa: BLE001 - broken is broken
        return 0
    return 0


def tried(name: str, shared: str, folder: Path, steps: Any, damage: Any, which: int) -> None:
    known = logs_of(name, shared)
    suffix, value = known[which % len(known)]
    data = damaged(rendered(mutated(value, steps), suffix), damage)
    path = folder / f"log{suffix}"
    path.write_bytes(data)
    outcome(path)
    found = outcome(path, format=name)
    if found is not None:
        assert sum(found) > 0
    if found is not None and name in ONE_EACH:
        inside = records_in(data, suffix)
        assert sum(found) >= inside, f"{inside} records became {found[0]} rollouts and {found[1]} problems"


def fuzz(name: str, shared: str, folder: Path, examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(STEPS, DAMAGE, st.integers(0, FILES - 1))
    def run(steps: Any, damage: Any, which: int) -> None:
        tried(name, shared, folder, steps, damage, which)

    run()


@pytest.mark.integration
@pytest.mark.parametrize("name", TEXTUAL)
def test_mutated_records(name, tmp_path):
    assert logs_of(name, "")
    fuzz(name, "", tmp_path, 10)


@pytest.mark.integration
@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_mutated_real_records(name, shared, tmp_path):
    assert logs_of(name, str(shared)), "there are real records"
    fuzz(name, str(shared), tmp_path, 15)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_five_thousand_mutated_real_records(name, shared, tmp_path):
    fuzz(name, str(shared), tmp_path, repeated(5000, reduced=1000) // len(FOLDERS) + 8)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTUAL)
def test_two_hundred_mutated_records_of_every_format(name, tmp_path):
    fuzz(name, "", tmp_path, repeated(200, reduced=40))


@pytest.mark.integration
@given(STEPS, DAMAGE, st.sampled_from(["quesma", "inspect", "garak", "astra", "nat", "best_of_n"]), st.integers(0, 5))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_files_that_hold_no_rollouts(tmp_path_factory, steps, damage, name, which):
    known = logs_of(name, "")
    suffix, value = known[which % len(known)]
    path = tmp_path_factory.mktemp("fuzz") / f"log{suffix}"
    path.write_bytes(damaged(rendered(mutated(value, steps), suffix), damage))
    for verb in (read_summary, read_verdicts, read_prompts):
        try:
            frame, problems = verb(path, errors="collect")
        except RollwiseError as refusal:
            said = str(refusal)
        else:
            said = ""
            assert frame.height
            schema.check(problems, schema.PROBLEMS)
        assert "\n" not in said


@pytest.mark.integration
@given(st.binary(max_size=40), st.integers(0, 10**6), st.integers(0, 3))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_mutated_databases(tmp_path_factory, junk, where, deed):
    data = bytearray((FIXTURES / "pyrit" / "memory.db").read_bytes())
    at = where % len(data)
    if deed == 0:
        del data[at:]
    else:
        data[at : at + (len(junk) if deed > 1 else 0)] = junk
    path = tmp_path_factory.mktemp("fuzz") / "memory.db"
    path.write_bytes(data)
    outcome(path)


@pytest.mark.integration
@given(
    st.binary(min_size=1, max_size=8),
    st.integers(0, 10**6),
    st.sampled_from(["trl", "art", "inspect_scout"]),
    st.booleans(),
)
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_mutated_parquet(tmp_path_factory, junk, where, name, cut):
    source = min((FIXTURES / name).glob("*.parquet"))
    data = bytearray(source.read_bytes())
    at = 4 + where % (len(data) - 4)
    if cut:
        del data[at:]
    else:
        data[at : at + len(junk)] = junk
    path = tmp_path_factory.mktemp("fuzz") / "log.parquet"
    path.write_bytes(data)
    outcome(path)


# ── bombs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
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
from rollwise.readers.read import read
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
start = time.perf_counter()
try:
    read(Path(sys.argv[1]), errors="collect")
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
    frame, problems = read(path, errors="collect")
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
    assert read(path)["turn"].to_list() == list(range(1, 10_001))
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("text", ["word ", "a", "\\n", "{", " "])
def test_one_long_line_is_looked_at_once(tmp_path, text):
    path = tmp_path / "log.json"
    path.write_text(json.dumps([{"rollout_id": "a", "prompt": text * (4_000_000 // len(text))}]))
    start = time.perf_counter()
    assert read(path).height == 1
    assert time.perf_counter() - start < SECONDS


def test_a_transcript_that_never_says_anything(tmp_path):
    text = "<|start|>" + "a" * 200_000
    path = tmp_path / "finding.json"
    path.write_text(json.dumps({"harmony_response_walkthroughs": [text]}))
    start = time.perf_counter()
    assert outcome(path) is None
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
    frame = read(path)
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
        f"{PEAK}\nimport sys\nfrom rollwise.readers.read import read\nread(sys.argv[2])\nbefore = peak()\n"
        "frame = read(sys.argv[1])\nprint(peak() - before, frame.estimated_size())"
    )
    small = FIXTURES / "openai_chat" / "chats.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), str(small)], capture_output=True, text=True, check=True
    )
    grown, frame = map(int, done.stdout.split())
    print(f"\ngrown {grown >> 20} MiB, frame {frame >> 20} MiB, file {path.stat().st_size >> 20} MiB")  # noqa: T201
    assert frame > 40 << 20
    assert grown <= 2 * frame + path.stat().st_size
