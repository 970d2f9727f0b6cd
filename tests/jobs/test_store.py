"""The one store: what is in it after the worst, who may write to it, and which files it takes."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from rollwise.errors import ArgumentError, ReadError, UnkeptError, WriteError
from rollwise.jobs.machine import Machine
from rollwise.jobs.store import Store, read

ROWS = {"0": b'"No"', "1": b'["Yes",0.5]', "2": b"null"}


def filled(folder: Path, **rows: bytes) -> Store:
    """A store with rows, closed."""
    with Store(folder, "answers", b'{"model":"a"}') as store:
        store.put(rows or ROWS)
    return store


# ── what comes back ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_is_put_comes_back_and_the_last_counts(tmp_path: Path) -> None:
    """Rows come back as they were, whoever opens the store; a key that is put again has its last content."""
    store = filled(tmp_path)
    with store:
        store.put({"1": b"2", "4": "½ \U0001f99c".encode()})
        assert store.read() == {**ROWS, "1": b"2", "4": "½ \U0001f99c".encode()}
    assert Store(tmp_path, "answers", b'{"model":"a"}').read() == {**ROWS, "1": b"2", "4": "½ \U0001f99c".encode()}
    assert Store(tmp_path, "answers", b'{"model":"b"}').read() == {}
    assert len(list(tmp_path.iterdir())) == 1


def test_every_line_is_json_that_says_what_it_is(tmp_path: Path) -> None:
    """The file can be read by anybody: format, configuration, who opened it when, and the rows."""
    lines = [json.loads(line) for line in filled(tmp_path).path.read_text().splitlines()]
    assert [line[1:] for line in lines[:1]] == [["@store", {"format": 2, "configuration": {"model": "a"}}]]
    assert (lines[1][1], lines[1][2]["process"]) == ("@opened", os.getpid())
    assert [line[1:] for line in lines[2:]] == [["0", "No"], ["1", ["Yes", 0.5]], ["2", None]]


@pytest.mark.parametrize("name", ["meta/llama", "../outside", "/tmp/x", ".hidden", "n\0l", "ü" * 300])
def test_any_name_is_a_file_within_the_folder(tmp_path: Path, name: str) -> None:
    """A name that is no file name becomes one."""
    with Store(tmp_path / "store", name, b"1") as store:
        store.put(ROWS)
    assert [path.parent for path in tmp_path.rglob("*.jsonl")] == [tmp_path / "store"]


# ── damage ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("seed", range(8))
def test_a_flipped_bit_costs_the_rows_it_is_in_and_no_other(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever it is behind the first line, no row is read with another content; what is missing is named, once."""
    rows = {str(number): b'{"score":%d}' % number for number in range(50)}
    store, rng = filled(tmp_path, **rows), random.Random(seed)
    text = bytearray(store.path.read_bytes())
    at = rng.randrange(text.index(b"\n") + 1, len(text))
    text[at] ^= 1 << rng.randrange(8)
    store.path.write_bytes(text)
    content = read(store.path)
    assert content is not None
    missing = rows.keys() - content.rows.keys()
    assert content.rows == {key: rows[key] for key in content.rows}
    assert len(missing) <= 2, "a line break that is damaged joins two rows"
    with store:
        store.put({key: rows[key] for key in missing})
    said = capsys.readouterr().err
    assert bool(content.damaged) == ("damaged (line" in said)
    assert all(str(number) in said for number in content.damaged)
    with store:
        assert store.read() == rows
    assert not capsys.readouterr().err


@pytest.mark.parametrize("lost", [1, 5, 20])
def test_the_torn_last_line_of_a_shortened_file_is_no_row(
    tmp_path: Path, lost: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cut within its last row, a file keeps the others; the next row is whole."""
    store = filled(tmp_path)
    store.path.write_bytes(store.path.read_bytes()[:-lost])
    assert store.read() == {key: ROWS[key] for key in ("0", "1")}
    with store:
        store.put({"3": b"3"})
    if lost > 1:  # without its line break a row is whole, but was not finished; it is read once the break is there
        assert "1 line is damaged (line 5)" in capsys.readouterr().err
    assert store.read().keys() - {"2"} == {"0", "1", "3"}


def test_a_file_that_was_left_in_its_first_line_is_begun_anew(tmp_path: Path) -> None:
    """A process that is killed while it creates the file harms nobody."""
    store = filled(tmp_path)
    header = store.path.read_bytes().partition(b"\n")[0]
    for length in (0, 1, len(header) // 2, len(header)):
        for lost in (b"", header[1:5], header[-9:]):  # zeros, where a power failure kept a part from the disk
            store.path.write_bytes(header[:length].replace(lost, bytes(len(lost))))
            assert store.read() == {}
            assert read(store.path) is None
            with store:
                store.put(ROWS)
            assert store.read() == ROWS


@pytest.mark.parametrize(
    "text", [b"no store", b"\n\n", b'{"a": 1}\n' * 3, b"SQLite format 3\0", b"\xff\0\n", b"[1]\n", b"\0\n" * 9]
)
def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path, text: bytes) -> None:
    """In one sentence that names the file."""
    store = Store(tmp_path, "answers", b"1")
    store.path.write_bytes(text)
    with pytest.raises(ReadError, match=rf"{store.path.name} is not a store of rollwise.*; move it elsewhere"), store:
        pass
    assert store.path.read_bytes() == text


@pytest.mark.parametrize(
    ("number", "words"),
    [(3, r"by a newer version \(format 3, and this one reads 2\); update rollwise, or move the file elsewhere$"),
     (1, r"by an earlier version \(format 1, and this one reads 2\); move the file elsewhere$")],
)  # fmt: skip
def test_a_file_of_another_version_is_refused(tmp_path: Path, number: int, words: str) -> None:
    """Whatever else its first line holds; nothing of it is read, and nothing written."""
    store = filled(tmp_path)
    text = store.path.read_bytes().replace(b'"format":2', b'"format":%d' % number)
    store.path.write_bytes(text)
    for use in (store.read, store.__enter__):
        with pytest.raises(ReadError, match=f"was written {words}"):
            use()
    assert store.path.read_bytes() == text


def test_a_store_that_is_a_link_is_not_written(tmp_path: Path) -> None:
    """The folder may come from elsewhere, and who made it can know the name: to a file, to none, to itself."""
    store = Store(tmp_path / "store", "answers", b"1")
    (tmp_path / "store").mkdir()
    (tmp_path / "mine.txt").write_text("")
    for target in (tmp_path / "mine.txt", tmp_path / "new.txt", store.path):
        store.path.symlink_to(target)
        with pytest.raises(WriteError, match=r"is a link, and nothing is written through it; remove it$"), store:
            pass
        store.path.unlink()
    assert (tmp_path / "mine.txt").read_text() == ""
    assert not (tmp_path / "new.txt").exists()


# ── who writes ────────────────────────────────────────────────────────────────────────────────────────────────────────
HOLD = """
import sys, time
from rollwise.jobs.store import Store
with Store(sys.argv[1], "answers", b'{"model":"a"}') as store:
    store.put({"0": b'"held"'})
    print("open", flush=True)
    time.sleep(600)
"""


@pytest.mark.integration
def test_a_second_process_reads_but_does_not_write(tmp_path: Path) -> None:
    """It is told who writes, on which machine and since when; a lock of a killed process is none."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    store = Store(tmp_path, "answers", b'{"model":"a"}')
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        refusal = (
            rf"in use by process {holder.pid} on \S+ since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC; wait for it, or name"
        )
        with pytest.raises(WriteError, match=refusal), store:
            pass
        assert store.read() == {"0": b'"held"'}
        filled(tmp_path / "elsewhere")
    finally:
        holder.kill()
        holder.communicate()
    with store:
        store.put({"1": b"1"})
    assert store.read() == {"0": b'"held"', "1": b"1"}


WRITE = """
import itertools, os, sys
from rollwise.jobs.store import Store
with Store(sys.argv[1], "answers", b"1", sync_every=None) as store, open(sys.argv[2], "ab", buffering=0) as told:
    for number in itertools.count(int(sys.argv[3])):
        store.put({str(number): b'"%b"' % (b"%d " % number * 3000)})
        told.write(b"%d\\n" % number)
"""


@pytest.mark.integration
def test_killed_at_random_moments_it_loses_nothing(tmp_path: Path) -> None:
    """Killed by SIGKILL 15 times while it writes rows of several pages, each row that `put` took is there and whole."""
    told, rng = tmp_path / "told", random.Random(0)
    for kill in range(15):
        first = str(kill * 1_000_000)
        process = subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path / "s"), str(told), first])
        while not told.exists() or first not in told.read_text().split():
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.wait()
        rows = Store(tmp_path / "s", "answers", b"1").read()
        put = told.read_text().split()
        assert len(put) > kill
        assert set(put) <= rows.keys()
        assert all(row == b'"%b"' % (b"%b " % key.encode() * 3000) for key, row in rows.items())


# ── where it cannot write ─────────────────────────────────────────────────────────────────────────────────────────────
def test_a_full_disk_keeps_what_was_put_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a portion, the rows that fit are there and the next one is not; a sentence says what to do; with room it goes on."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # else the limit cuts it, and the module is broken ever after
    resource = pytest.importorskip("resource", reason="this system limits no process")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Store(tmp_path, "answers", b"1") as store:
        store.put(ROWS)
        resource.setrlimit(resource.RLIMIT_FSIZE, (store.path.stat().st_size + 100, limits[1]))
        try:
            with pytest.raises(
                UnkeptError, match=r"cannot be written \(File too large\), so nothing further is asked; free"
            ):
                store.put({"3": b"3", "4": b'"%b"' % (b"x" * 200)})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert store.read() == {**ROWS, "3": b"3"}
        store.put({"5": b"5"})
    with store:
        assert store.read() == {**ROWS, "3": b"3", "5": b"5"}


def test_a_folder_without_the_right_to_write_can_be_read(nobody: None) -> None:
    """Whoever would add to it is told."""
    rights, is_root = os.geteuid(), os.getuid() == 0
    if is_root:
        os.seteuid(0)
    with tempfile.TemporaryDirectory() as folder:
        store = filled(Path(folder))
        store.path.chmod(0o444)
        Path(folder).chmod(0o555)
        os.seteuid(rights)
        try:
            assert store.read() == ROWS
            with (
                pytest.raises(WriteError, match=r"cannot be written \(Permission denied\); name another folder"),
                store,
            ):
                pass
        finally:
            if is_root:
                os.seteuid(0)
            Path(folder).chmod(0o755)
    os.seteuid(rights)


def test_a_place_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    """A file, and an address of an object store."""
    (tmp_path / "file").touch()
    with (
        pytest.raises(WriteError, match="name another folder with output_dir"),
        Store(tmp_path / "file", "answers", b"1", option="output_dir"),
    ):
        pass
    with pytest.raises(ArgumentError, match="store='s3://bucket/x' is an address; a store is a folder"):
        Store("s3://bucket/x", "answers", b"1")


@pytest.mark.thinned(4)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("fails_at", range(40))
def test_an_operation_that_fails_is_one_sentence(tmp_path: Path, fails_at: int, *, shared: bool) -> None:
    """Whichever it is, here by its number; and what was accepted before is there afterwards."""
    count, accepted = 0, dict[str, bytes]()

    class Failing(Machine):
        def __getattribute__(self, name: str) -> Any:
            nonlocal count
            if name not in {"close", "remove", "sync_folder", "seconds", "now", "process"}:  # these report no error
                count += 1
                if count == fails_at + 1:
                    raise OSError(5, "Input/output error")
            return super().__getattribute__(name)

    store = Store(tmp_path / "new", "answers", b"1", shared=shared, machine=Failing())

    def fill() -> None:
        with store:
            for number in range(40):
                rows = {str(number): b"%d" % number}
                with store.claim(rows) if shared else nullcontext():
                    store.put(rows)
                accepted.update(rows)
                assert store.read() == accepted

    with pytest.raises((WriteError, ReadError), match=r"cannot be (written|read) \(Input/output error\)"):
        fill()
    again = Store(tmp_path / "new", "answers", b"1", shared=shared)
    assert accepted.items() <= again.read().items()
    with again:
        again.put({"more": b"1"})
    assert again.read().keys() >= {*accepted, "more"}


# ── several writers ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_key_is_claimed_by_one_of_those_that_share_a_store(tmp_path: Path) -> None:
    """Until its block ends, stored or not; what a killed process claimed is free, and its file goes."""
    one, two = (Store(tmp_path, "answers", b"1", shared=True) for _ in range(2))
    with one, two:
        with one.claim("abc") as first, two.claim("cd") as second:
            assert (first, second) == (["a", "b", "c"], ["d"])
            one.put({"a": b"1"})
            with two.claim("ab") as third:
                assert third == []
        (tmp_path / f".{one.path.name}.0a1b2c3d.part").write_text("b\nc")
        with two.claim("abc") as free:
            assert free == ["b", "c"]
    assert [path.suffix for path in tmp_path.iterdir()] == [".jsonl"]


def test_a_torn_line_of_a_killed_writer_costs_the_others_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next line of whoever goes on begins on a line of its own."""
    with Store(tmp_path, "answers", b"1", shared=True) as store:
        store.put({"0": b"0"})
        with store.path.open("ab") as killed:
            killed.write(b'["0123456789abcdef","1",')
        store.put({"2": b"2"})
        assert store.read() == {"0": b"0", "2": b"2"}
    with store:
        assert "1 line is damaged (line 4)" in capsys.readouterr().err


def test_lines_of_another_store_are_never_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that were joined by hand: those of one configuration are one store, and lines of another one are damage."""
    stores = [
        Store(tmp_path / name, "answers", configuration)
        for name, configuration in (("a", b"1"), ("b", b"1"), ("c", b"2"))
    ]
    for store, key in zip(stores, "abc", strict=True):
        with store:
            store.put({key: b'"%b"' % key.encode()})
    one = stores[0]
    one.path.write_bytes(b"".join(store.path.read_bytes() for store in stores[:2]))
    assert one.read() == {"a": b'"a"', "b": b'"b"'}
    with one:
        assert not capsys.readouterr().err
    one.path.write_bytes(one.path.read_bytes() + stores[2].path.read_bytes())
    assert one.read() == {"a": b'"a"', "b": b'"b"'}
    with one:
        assert "3 lines are damaged" in capsys.readouterr().err
