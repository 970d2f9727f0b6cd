"""Zip archives: read in memory, bounded, and broken ones refused in a sentence."""

import io
import json
import struct
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest

import rollwise as rw
from rollwise.errors import ReadError
from rollwise.readers import BrokenError, Document
from rollwise.readers.sources.archives import MOST_BYTES, Archive
from rollwise.readers.sources.compression import SMALL


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def opened(data: bytes) -> Archive:
    return Archive(Document(Path("log.eval"), data))


def declaring(data: bytes, name: str, size: int) -> bytes:
    """The archive, with another unpacked size for the member in its directory."""
    at = data.rindex(name.encode()) - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    return data[: at + 24] + struct.pack("<I", size) + data[at + 28 :]


@pytest.mark.parametrize("method", [0, 8, 93], ids=["stored", "deflated", "zstd"])
def test_every_way_to_pack(pack, method):
    with opened(pack({"eval": {"task": "x" * 1000}, "samples": []}, method)) as archive:
        assert "header.json" in archive.names
        assert b"x" * 1000 in archive.read("header.json")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_ways_whose_unpacking_cannot_be_bounded_are_refused(method):
    with opened(packed({"a": b"x" * 100}, method)) as archive, pytest.raises(BrokenError, match="zip method"):
        archive.read("a")


def test_a_file_is_read_where_it_lies(tmp_path):
    path = tmp_path / "log.eval"
    path.write_bytes(packed({"a": b"1", "b": b"2"}))
    with Archive(Document(path)) as archive:
        assert [archive.read(name) for name in archive.names] == [b"1", b"2"]


def test_names_that_lead_out_of_the_folder_lead_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["../../outside.json", "/tmp/outside.json", "samples/../../outside.json", "C:\\outside.json"]
    with opened(packed(dict.fromkeys(names, b"{}"))) as archive:
        assert [archive.read(name) for name in archive.names] == [b"{}"] * 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.integration
def test_a_bomb_is_refused_before_it_is_unpacked():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("filler", bytes(range(256)) * 4000, zipfile.ZIP_STORED)
        archive.writestr("bomb", b"\0" * (SMALL + SMALL // 2))
    tracemalloc.start()
    with opened(file.getvalue()) as whole, pytest.raises(BrokenError, match="zip bomb"):
        whole.read("bomb")
    assert tracemalloc.get_traced_memory()[1] < SMALL // 4
    tracemalloc.stop()


@pytest.mark.integration
def test_many_small_bombs_are_a_bomb():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"{number}", b"\0" * (SMALL // 2))
    with pytest.raises(BrokenError, match="zip bomb"):
        opened(file.getvalue())


@pytest.mark.integration
@pytest.mark.parametrize("method", [8, 93], ids=["deflated", "zstd"])
def test_a_member_that_holds_more_than_it_says_is_unpacked_no_further(pack, method):
    log = {"eval": {"task": "x" * (SMALL // 4)}, "samples": []}
    data = declaring(pack(log, method), "header.json", 10)
    tracemalloc.start()
    with opened(data) as archive, pytest.raises(BrokenError, match="damaged"):
        archive.read("header.json")
    assert tracemalloc.get_traced_memory()[1] < SMALL // 8
    tracemalloc.stop()


def test_a_size_that_no_log_has_is_refused():
    data = declaring(packed({"a": b"x" * 3_000_000}, zipfile.ZIP_STORED), "a", MOST_BYTES + 1)
    with opened(data) as archive, pytest.raises(BrokenError, match="zip bomb"):
        archive.read("a")


def test_members_that_overlap_are_refused():
    data = bytearray(packed({"a": b"x" * 500, "b": b"y" * 500}, zipfile.ZIP_STORED))
    at = data.rindex(b"PK\x01\x02")
    data[at + 42 : at + 46] = struct.pack("<I", 40)
    with pytest.raises(BrokenError, match="overlap"):
        opened(bytes(data))


def test_an_encrypted_member_says_so():
    data = bytearray(packed({"a": b"x"}))
    at = data.rindex(b"PK\x01\x02")
    data[at + 8] |= 1
    with opened(bytes(data)) as archive, pytest.raises(BrokenError, match="encrypted"):
        archive.read("a")


def test_a_damaged_member_says_so():
    data = bytearray(packed({"a": b"harmless" * 10}, zipfile.ZIP_STORED))
    data[60] ^= 1
    with opened(bytes(data)) as archive, pytest.raises(BrokenError, match="damaged"):
        archive.read("a")


@pytest.mark.parametrize("method", [8, 93], ids=["deflated", "zstd"])
def test_a_packed_member_with_any_of_its_bytes_changed_is_read_as_it_was_or_said_to_be_damaged(pack, method):
    log = {"eval": {"task": "abc" * 50}, "samples": []}
    data = pack(log, method)
    with opened(data) as archive:
        whole = archive.read("header.json")
    start = data.rindex(b"header.json", 0, data.rindex(b"header.json")) + len("header.json")
    end = data.index(b"PK", start)
    found: list[bytes | str] = []
    for place in range(start, end):
        with opened(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]) as archive:
            try:
                found.append(archive.read("header.json"))
            except BrokenError as error:
                found.append(error.reason.partition(" (")[0])
    assert set(found) - {whole} == {"is damaged"}
    assert found.count("is damaged") > len(found) // 2


@pytest.mark.parametrize(
    "data", [b"PK\x03\x04", b"PK\x03\x04" + b"x" * 100, packed({"a": b"x"})[:-10]], ids=["head", "noise", "half"]
)
def test_what_is_no_whole_archive_says_so(data):
    with pytest.raises(BrokenError, match="not a complete zip archive"):
        opened(data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_two_members_with_one_name_the_later_counts():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", "old")
        archive.writestr("a", "new")
    with opened(file.getvalue()) as whole:
        assert whole.read("a") == b"new"
        assert (whole.names, whole.outdated) == (["a"], ["a"])


@pytest.mark.integration
def test_a_large_archive_is_opened_at_once():
    data = packed({f"samples/{number}_epoch_1.json": b"{}" for number in range(5000)})
    start = time.process_time()
    with opened(data) as archive:
        assert len(archive.names) == 5000
    assert time.process_time() - start < 1


def test_a_sample_that_the_directory_of_its_archive_names_wrongly_is_read_or_told(pack, tmp_path):
    """One flipped bit in the directory made a sample vanish without a word."""
    log = json.loads((Path(__file__).parents[1] / "fixtures" / "inspect" / "log.json").read_text())
    data = pack(log)
    path = tmp_path / "log.eval"
    path.write_bytes(data)
    num_rollouts = rw.read(path)["rollout_id"].n_unique()
    name = f"samples/{log['samples'][0]['id']}_epoch_{log['samples'][0]['epoch']}.json".encode()
    start = data.rindex(name)
    num_told = 0
    for place in range(start, start + len(name)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        turns, problems = rw.read(path, errors="collect")
        assert (turns["rollout_id"].n_unique() == num_rollouts) == problems.is_empty()
        num_told += problems.height
        if not problems.is_empty():
            assert problems.select("record", "reason").row(0) == (
                name.decode(),
                "is in the archive, whose directory has another name for it or none: it is damaged",
            )
            with pytest.raises(ReadError, match="whose directory has another name for it or none"):
                rw.read(path)
    assert num_told > 5


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_member_that_the_directory_does_not_list_is_found(place):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("a", "b", "c"):
            archive.writestr(name, name * 100)
        lost = archive.filelist.pop(place)
    with opened(file.getvalue()) as archive:
        assert archive.hidden == [(lost.filename, "")]
        assert [archive.read(name) for name in archive.names] == [name.encode() * 100 for name in archive.names]
