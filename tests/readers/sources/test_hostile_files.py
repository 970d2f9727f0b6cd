"""Nothing of a log makes us write, remove or open anything but the files that were listed."""

import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import read
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures"
MEMORY = FIXTURES / "pyrit" / "memory.db"
MAGIC = bytes.fromhex("d9d505f920a163d7")


# ── SQLite: a journal that names another file ─────────────────────────────────────────────────────────────────────────
def page_size(data: bytes) -> int:
    """The size of the pages of a database."""
    return {1: 65536}.get(size := struct.unpack(">H", data[16:18])[0], size)


def header(data: bytes) -> bytes:
    """A journal that undoes no page."""
    size = page_size(data)
    return (MAGIC + struct.pack(">IIIII", 0, 0, len(data) // size, 512, size)).ljust(512, b"\0")


def named(name: bytes) -> bytes:
    """The record of a "super-journal": SQLite opens that file, and removes it where no other journal needs it."""
    checksum = sum(byte if byte < 128 else byte - 256 for byte in name) & 0xFFFFFFFF
    return struct.pack(">I", 0xFFFFFFFF) + name + struct.pack(">II", len(name), checksum) + MAGIC


def logs(folder: Path, journal: bytes) -> Path:
    """A folder of a healthy memory and a journal."""
    folder.mkdir()
    data = bytearray(MEMORY.read_bytes())
    data[18:20] = b"\x01\x01"
    (folder / "memory.db").write_bytes(data)
    (folder / "memory.db-journal").write_bytes(header(bytes(data)) + journal)
    return folder


JOURNALS = {
    "an absolute name": lambda victim: named(os.fsencode(victim)),
    "a name twice": lambda victim: named(os.fsencode(victim)) * 2,
    "a name within a name": lambda victim: named(named(os.fsencode(victim)) + b"x") + named(os.fsencode(victim)),
    "a relative name": lambda victim: named(os.fsencode(os.path.relpath(victim))),
    "an address": lambda victim: named(b"file:" + os.fsencode(victim) + b"?mode=rw"),
    "a name that ends in the mark": lambda victim: named(os.fsencode(victim) + b"\0" + MAGIC),
    "no name": lambda _: named(b""),
    "a length that is not there": lambda _: struct.pack(">II", 10**9, 0) + MAGIC,
    "marks alone": lambda _: MAGIC * 50,
}


@pytest.mark.integration
@pytest.mark.parametrize("kind", JOURNALS)
def test_a_journal_that_names_another_file_touches_nothing(tmp_path: Path, kind: str) -> None:
    """The memory is read, the name is listed, and all files are as they were."""
    victim = tmp_path / "results.txt"
    victim.write_text("results of a month\n")
    folder = logs(tmp_path / "logs", JOURNALS[kind](victim))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    frame, problems = read(folder, errors="collect")
    assert frame["rollout_id"].n_unique() == read(MEMORY)["rollout_id"].n_unique()
    assert "names another file, which is not opened" in problems["reason"].to_list()[0]
    assert victim.read_text() == "results of a month\n"
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "results.txt"]


def interrupted(folder: Path) -> Path:
    """A memory whose writer was stopped in the middle, beside the journal that undoes what it wrote."""
    folder.mkdir()
    path = folder / "memory.db"
    shutil.copy(MEMORY, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("PRAGMA cache_size = 1")
        database.execute("BEGIN IMMEDIATE")
        filler = "x" * 100_000
        columns = "(id, role, conversation_id, sequence, converted_value)"
        for number in range(20):
            database.execute(
                f"INSERT INTO PromptMemoryEntries {columns} VALUES (?, 'user', 'half', 0, ?)", (f"h{number}", filler)
            )
        data, journal = path.read_bytes(), path.with_name("memory.db-journal").read_bytes()
        database.execute("ROLLBACK")
    path.write_bytes(data)
    path.with_name("memory.db-journal").write_bytes(journal)
    return path


@pytest.mark.parametrize("name", [None, "elsewhere"])
def test_what_was_being_written_is_undone(tmp_path: Path, name: str | None) -> None:
    """By its journal, whether that names another file or not."""
    path = interrupted(tmp_path / "logs")
    assert path.stat().st_size > 10**6
    journal = path.with_name("memory.db-journal")
    victim = tmp_path / "elsewhere"
    victim.write_text("mine")
    if name is not None:
        journal.write_bytes(journal.read_bytes() + named(os.fsencode(victim)))
    frame, problems = read(path, errors="collect")
    assert sorted(frame["rollout_id"].str.split("/").list.last().unique()) == ["c1", "c2", "c4"]
    assert problems.height == (name is not None)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_a_journal_that_is_a_link_out_of_the_folder_is_not_opened(tmp_path: Path, suffix: str) -> None:
    """The memory is read without it."""
    (tmp_path / "logs").mkdir()
    shutil.copy(MEMORY, tmp_path / "logs" / "memory.db")
    (tmp_path / "elsewhere").write_bytes(header(MEMORY.read_bytes()))
    (tmp_path / "logs" / f"memory.db{suffix}").symlink_to(tmp_path / "elsewhere")
    assert read(tmp_path / "logs", errors="collect").frame.height == read(MEMORY).height


# ── SQLite: small files that are large ────────────────────────────────────────────────────────────────────────────────
def limited(folder: Path, gigabytes: float = 3) -> subprocess.CompletedProcess[str]:
    """Read a folder in a process that may not take more memory."""
    code = (
        "import resource, sys\nlimit = int(float(sys.argv[2]) * 2**30)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "import rollwise as rw\nframe, problems = rw.read(sys.argv[1], errors='collect')\n"
        "print(frame.height, problems['reason'].to_list())\n"
    )
    command = [sys.executable, "-c", code, str(folder), str(gigabytes)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.integration
def test_a_column_that_is_computed_is_not_computed(tmp_path: Path) -> None:
    """300 MB a row would take all memory; the stored columns are read."""
    shutil.copy(MEMORY, tmp_path / "memory.db")
    with closing(sqlite3.connect(tmp_path / "memory.db")) as database:
        database.execute("ALTER TABLE PromptMemoryEntries ADD COLUMN bomb AS (hex(zeroblob(300000000)))")
        database.commit()
    done = limited(tmp_path)
    assert (done.returncode, done.stdout.split(" ")[0]) == (0, str(read(MEMORY).height)), done.stderr


def looped(path: Path, depth: int) -> None:
    """A database of some kilobytes in which each of `depth` pages holds the next one 60 times."""
    size = 512
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA page_size = {size}")
        database.execute("CREATE TABLE PromptMemoryEntries (id TEXT, role TEXT, converted_value TEXT)")
        database.executemany("INSERT INTO PromptMemoryEntries VALUES (?, 'user', 'Hi')", [(str(n),) for n in range(10)])
        database.commit()
    data = bytearray(path.read_bytes())
    leaf = bytes(data[size : 2 * size])  # page 2 is the table's root, and its only page
    pages = len(data) // size
    for level in range(depth):
        child = pages + level + 2  # the next page, and the leaf after the last one
        cells = [struct.pack(">I", child) + bytes([number]) for number in range(1, 61)]
        places = [size - 5 * (number + 1) for number in range(60)]
        page = bytearray(size)
        page[:12] = b"\x05" + struct.pack(">HHHBI", 0, 60, places[-1], 0, child)
        page[12 : 12 + 120] = b"".join(struct.pack(">H", place) for place in places)
        for place, cell in zip(places, cells, strict=True):
            page[place : place + 5] = cell
        if level == 0:
            data[size : 2 * size] = page
            data += bytes(size)  # so that pages are numbered as above
        else:
            data += page
    data += leaf
    data[28:32] = struct.pack(">I", len(data) // size)
    path.write_bytes(data)


@pytest.mark.integration
def test_pages_that_hold_each_other_are_no_million_rows(tmp_path: Path) -> None:
    """60 to the power of 5 rows in 5 kB: a sentence, before the memory is full."""
    looped(tmp_path / "memory.db", 5)
    done = limited(tmp_path)
    assert "holds more rows than a file of its size can" in done.stderr
    assert "MemoryError" not in done.stderr


# ── files beside a log ────────────────────────────────────────────────────────────────────────────────────────────────
SECRET = '{"model_name": "secret", "info": {"agent_info": {"llm": "secret"}}, "evaluation_results": []}'
BESIDE = {  # the logs of a tool, and what its format looks for beside them
    "lm_eval": "results_2025-01-01T00-00-00.000000.json",
    "tau2": "text/results.json",
    "best_of_n": "7/prompts/0/0/prompt.txt",
    "every_eval_ever": "attacks.json",
}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("tool", "kind"),
    [*((tool, kind) for tool in BESIDE for kind in ("a file", "a link")), ("best_of_n", "a link to the folder")],
)
def test_a_file_beside_a_log_is_read_but_not_through_a_link(tmp_path: Path, tool: str, kind: str) -> None:
    """A link that leads out of the folder is as if there was none: a log could have any file shown in a report."""
    folder, place = tmp_path / "logs", Path(BESIDE[tool])
    shutil.copytree(FIXTURES / tool, folder)
    shutil.rmtree(folder / "run", ignore_errors=True)
    elsewhere = tmp_path / "elsewhere" / place.name
    elsewhere.parent.mkdir()
    elsewhere.write_text(SECRET)
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    if kind == "a file":
        shutil.copyfile(elsewhere, folder / place)
    elif kind == "a link":
        (folder / place).symlink_to(elsewhere)
    else:
        (folder / place).parent.rmdir()
        (folder / place).parent.symlink_to(elsewhere.parent)
    logs = [path for path in folder.rglob("*.json*") if path != folder / place]
    texts = "".join(read(path, errors="collect").frame.drop("run", "rollout_id").write_ndjson() for path in logs)
    assert ("secret" in texts) == (kind == "a file" and tool != "every_eval_ever")  # which takes no words from it


@pytest.mark.integration
def test_a_pipe_beside_a_log_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe of the name that a format looks for would never end."""
    shutil.copytree(FIXTURES / "lm_eval", tmp_path / "logs")
    os.mkfifo(tmp_path / "logs" / BESIDE["lm_eval"])
    (log,) = (tmp_path / "logs").glob("*.jsonl")
    done = limited(log, 8)
    assert done.returncode == 0, done.stderr


def test_a_part_of_a_parquet_file_is_not_looked_for_in_another_file(tmp_path: Path) -> None:
    """The format lets a column name another file: then it is a damaged file, and nothing of the other is read."""
    pq = pytest.importorskip("pyarrow.parquet")
    frame = pl.DataFrame({"rollout_id": ["a"], "prompt": ["mine"], "response": ["r"]})
    other = pl.DataFrame({"rollout_id": ["s"], "prompt": ["secret"], "response": ["t"]})
    other.write_parquet(tmp_path / "secret.parquet")
    (tmp_path / "logs").mkdir()
    pq.write_table(frame.to_arrow(), tmp_path / "logs" / "a.parquet")
    metadata = pq.read_metadata(tmp_path / "logs" / "a.parquet")
    metadata.set_file_path("../secret.parquet")
    metadata.write_metadata_file(str(tmp_path / "footer"))
    footer = (tmp_path / "footer").read_bytes()
    data = (tmp_path / "logs" / "a.parquet").read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    size = int.from_bytes(footer[-8:-4], "little")
    (tmp_path / "logs" / "a.parquet").write_bytes(data[: len(data) - 8 - length] + footer[-8 - size :])
    try:
        found = rw.read(tmp_path / "logs")
    except ReadError:
        return
    assert "secret" not in found.write_ndjson()


# ── every path ────────────────────────────────────────────────────────────────────────────────────────────────────────
WATCH = """
import json, os, random, sys, tempfile
from contextlib import suppress
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import polars as pl, rollwise as rw
from rollwise.errors import RollwiseError
from readers.mutants import LOGS, mutants_of

fixtures, scratch, count = Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
tempfile.tempdir = str(scratch / "temporary")
os.mkdir(tempfile.tempdir)
places = (sys.prefix, sys.base_prefix, Path(rw.__file__).parent, "/usr", "/proc", "/sys", "/dev/null")
library = {os.path.realpath(place) for place in places}
WRITES = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
          "os.utime", "os.setxattr", "shutil.rmtree", "shutil.copyfile", "shutil.move", "subprocess.Popen", "os.exec", "os.system",
          "os.posix_spawn", "socket.connect", "socket.bind", "ctypes.dlopen", "import"}
listed, seen, strange, watching = [], 0, [], False

def within(path, places):
    real = os.path.realpath(path)
    return any(real == place or real.startswith(place + os.sep) for place in places)

def hook(event, arguments):
    global seen
    if not watching or event == "import":
        return
    if event in {"open", "sqlite3.connect"}:
        place = arguments[0]
        if not isinstance(place, (str, bytes, os.PathLike)) or place == ":memory:":
            return
        seen += 1
        flags = arguments[2] if event == "open" and isinstance(arguments[2], int) else 0
        is_write = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) or event == "sqlite3.connect"
        allowed = [tempfile.tempdir] if is_write else [tempfile.tempdir, *listed, *library]
        if not within(os.fsdecode(place), allowed):
            strange.append([event, os.fsdecode(place), flags])
    elif event in WRITES and not all(within(os.fsdecode(each), [tempfile.tempdir]) for each in arguments
                                     if isinstance(each, (str, bytes, os.PathLike)) and str(each)):
        strange.append([event, *map(str, arguments)])

sys.addaudithook(hook)

def look(path, mapping=None):
    global watching, listed
    listed = [os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path))]
    listed += [] if mapping is None else [os.path.realpath(mapping)]
    watching = True
    with suppress(RollwiseError):
        rw.read(path, errors="collect", mapping=mapping)
    watching = False

logs = [path for path in sorted(fixtures.rglob("*")) if path.is_file()]
for path in logs:
    look(path)
every = []
for log in LOGS:
    of_log = mutants_of(log)
    every += random.Random(log.name).sample(of_log, min(60, len(of_log)))
random.Random(0).shuffle(every)
made = 0
for mutant in every[:count]:
    folder = scratch / "mutant"
    folder.mkdir(exist_ok=True)
    place = folder / mutant.log.name
    place.write_text(mutant.text, encoding="utf-8", errors="surrogatepass")
    look(place)
    place.unlink()
    made += 1
mappings = json.loads(Path(sys.argv[5]).read_text())
(scratch / "elsewhere").mkdir()
(scratch / "elsewhere" / "report.json").write_text('{"ids": ["a"]}')
(scratch / "mapped").mkdir()
(scratch / "mapped" / "a.json").write_text('[{"id": "a", "reply": "Hi"}]')
(scratch / "mapped" / "report.json").symlink_to(scratch / "elsewhere" / "report.json")
for text in mappings:
    (scratch / "mine.yml").write_text(text)
    look(scratch / "mapped" / "a.json", scratch / "mine.yml")
told = {"logs": len(logs), "mutants": made, "seen": seen, "strange": strange[:20]}
strange, watching = [], True  # what a reader must not do is seen
Path("/etc/hostname").read_bytes() if Path("/etc/hostname").exists() else os.open("/etc", os.O_RDONLY)
(scratch / "written").write_text("x")
(scratch / "written").unlink()
watching = False
print(json.dumps({**told, "control": len(strange)}))
"""


# Mappings that try to leave the folder of the logs, to run code, or to take all memory.
IDS = 'response: reply\nverdicts: [{of: task, by: id, ids: "%s:ids"}]\n'
MAPPINGS = [
    *(
        IDS % place
        for place in ("report.json", "../elsewhere/report.json", "/etc/hostname", "..", "a.json", "%s" % ("x" * 5000))
    ),
    "response: !!python/object/apply:os.system ['touch /tmp/owned']\n",
    "response: !!python/name:os.system\n",
    "<<: *missing\nresponse: reply\n",
    "records: '" + "{*}[*]" * 5000 + "'\nresponse: reply\n",
    "records: '" + "^" * 100_000 + "a'\nresponse: reply\n",
    "b: &b0 [x, x]\n" + "".join(f"c{n}: &b{n + 1} [*b{n}, *b{n}]\n" for n in range(40)),
    "facts: " + "{a: " * 3000 + "1" + "}" * 3000,
    "response: re\0ply\n",
    "response: '@file'\nfacts: {goal: '@folder', task: '@nothing'}\n",
]


@pytest.mark.integration
def test_every_path_that_is_opened_was_listed(tmp_path: Path) -> None:
    """Over all logs of the tests and 2,000 of them with one change: reads beside the log, writes in a temporary folder alone."""
    command = [sys.executable, "-c", WATCH, str(Path(__file__).parents[2]), str(FIXTURES), str(tmp_path), "2000"]
    (tmp_path / "mappings.json").write_text(json.dumps(MAPPINGS))
    command.append(str(tmp_path / "mappings.json"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert told["strange"] == []
    assert told["mutants"] == 2000
    assert told["seen"] > told["logs"] > 90
    assert told["control"] == 3
