"""Compressed files: unpacked as the standard library does, and refused where they are damaged."""

import bz2
import gzip
import io
import json
import lzma
import random
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import rollwise as rw
from rollwise.readers.sources import compression
from rollwise.readers.sources.compression import (
    CODECS,
    Budget,
    inflated,
    unpacked,
    unpacked_blocks,
    unpacked_frames,
    unsound,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GZIP = CODECS[0]
CHANCE = random.Random(5)
TEXT = json.dumps([{"role": "user", "content": CHANCE.choice("abc") * CHANCE.randrange(50)} for _ in range(200)])
PART = gzip.compress(TEXT.encode(), mtime=0)


def deflated() -> bytes:
    """A member of a zip archive, as it lies in the archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", TEXT)
    start = len("a") + 30
    return file.getvalue()[start : start + archive.infolist()[0].compress_size]


@pytest.mark.parametrize("data", [PART, PART + PART, PART + b"\0" * 20, gzip.compress(b"", mtime=0), b""])
def test_gzip_of_one_member_of_several_with_padding_or_empty(data):
    assert b"".join(unpacked_blocks(data, GZIP)) == gzip.decompress(data)


def test_deflate_as_zip_has_it():
    assert inflated(deflated(), 1 << 20) == TEXT.encode()


def test_a_file_that_is_cut_off_or_changed_is_refused_or_unpacks_to_what_the_standard_library_says():
    cut = [data[: CHANCE.randrange(1, len(data))] for data in (PART, PART + PART) for _ in range(30)]
    changed = [bytearray(data) for data in (PART, PART + PART) for _ in range(60)]
    for damaged in changed:
        damaged[CHANCE.randrange(len(damaged))] ^= 1 << CHANCE.randrange(8)
    refused = 0
    for data in [*cut, *map(bytes, changed)]:
        try:
            expected = gzip.decompress(data)
        except (EOFError, OSError, zlib.error):
            expected = None
        try:
            assert b"".join(unpacked_blocks(data, GZIP)) == expected
        except unsound():
            refused += 1
            assert expected is None
    assert refused > 100


# ── frames of Zstandard in a zip archive ──────────────────────────────────────────────────────────────────────────────
SKIPPED = b"\x50\x2a\x4d\x18\x05\0\0\0notes"  # a frame that holds none of the content
FRAME = zstd.compress(TEXT.encode(), options={zstd.CompressionParameter.checksum_flag: 1})
STREAMED = zstd.ZstdCompressor().compress(TEXT.encode(), zstd.ZstdCompressor.FLUSH_FRAME)


@pytest.mark.parametrize("size", [1, 100, len(TEXT), len(TEXT) + 1, 2 * len(TEXT) + 1])
@pytest.mark.parametrize(
    "data",
    [FRAME, FRAME + FRAME, SKIPPED + FRAME, FRAME + SKIPPED + FRAME, zstd.compress(b"") + FRAME, STREAMED],
    ids=["one", "two", "skipped first", "skipped between", "empty first", "streamed"],
)
def test_frames_are_unpacked_to_the_size_that_is_asked_for_and_no_further(data: bytes, size: int) -> None:
    assert unpacked_frames(data, size) == zstd.decompress(data)[:size]


def test_a_member_of_many_large_frames_is_unpacked_across_the_pieces_that_are_handed_over() -> None:
    text = CHANCE.randbytes(5 * compression.PIECE)
    data = zstd.compress(text) + b"".join(
        zstd.compress(text[start : start + 999]) for start in range(0, len(text), 999)
    )
    assert unpacked_frames(data, 1 << 30) == text + text


@pytest.mark.integration
def test_time_to_unpack_a_member_does_not_grow_with_the_square_of_the_number_of_its_frames() -> None:
    start = time.process_time()
    assert unpacked_frames(zstd.compress(b"x") * 50_000, 1 << 30) == b"x" * 50_000
    assert time.process_time() - start < 5


def test_damaged_frames_are_refused_or_cut_short_and_never_something_else() -> None:
    refused = short = 0
    for data in (FRAME, FRAME + FRAME, SKIPPED + FRAME):
        whole = zstd.decompress(data)
        changed = [bytearray(data) for _ in range(60)]
        for damaged in changed:
            damaged[CHANCE.randrange(len(damaged))] ^= 1 << CHANCE.randrange(8)
        for one in [*map(bytes, changed), *(data[: CHANCE.randrange(len(data))] for _ in range(20)), data + b"noise"]:
            try:
                found = unpacked_frames(one, len(whole) + 1)
            except unsound():
                refused += 1
            else:
                assert whole.startswith(found) or found.startswith(whole)
                short += found != whole
    assert refused > 100
    assert short > 20  # which an archive tells by the length it states


def test_a_frame_that_asks_for_much_memory_is_refused() -> None:
    asking = zstd.CompressionParameter
    data = bytearray(zstd.compress(TEXT.encode(), options={asking.window_log: 10, asking.content_size_flag: 0}))
    assert unpacked_frames(bytes(data), 1 << 20) == TEXT.encode()
    data[5] = 20 << 3  # a window of 1 GB
    with pytest.raises(unsound(), match="too much memory"):
        unpacked_frames(bytes(data), 1 << 20)


# ── every kind of compression, and limits for all files of a reading ──────────────────────────────────────────────────
CHAT = b'{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello %d"}]}\n'
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstd.compress,
    "bz2": bz2.compress,
    "xz": partial(lzma.compress, preset=0),
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_log_that_grew_by_one_compressed_part_for_each_line_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log.jsonl.{suffix}"
    path.write_bytes(b"".join(PACKERS[suffix](CHAT % number) for number in range(20)))
    assert rw.read(path)["response"].to_list() == [f"Hello {number}" for number in range(20)]
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(rw.errors.ReadError, match=r"log\.jsonl\.\w+: is not a complete \w+ file"):
        rw.read(path)


@pytest.mark.integration
@pytest.mark.parametrize(("suffix", "count"), [("gz", 100_000), ("zst", 100_000), ("bz2", 5_000), ("xz", 10_000)])
def test_time_to_unpack_grows_with_the_size_and_not_with_the_square_of_the_number_of_parts(
    suffix: str, count: int
) -> None:
    part = PACKERS[suffix](CHAT % 1)
    times = []
    for factor in (1, 8):
        data = part * (count // 8 * factor)
        start = time.process_time()
        assert len(unpacked(data, Budget())) == len(CHAT % 1) * (count // 8 * factor)
        times.append(time.process_time() - start)
    assert times[1] < 24 * times[0] + 0.2  # 64 times as long, where each part costs a copy of the rest
    assert times[1] < 5  # seconds; a tenth of one here, and 41 where it was quadratic


@pytest.mark.integration
def test_a_small_bzip2_or_xz_bomb_is_refused_before_it_fills_memory(tmp_path: Path) -> None:
    for suffix in ("bz2", "xz"):
        (tmp_path / f"bomb.jsonl.{suffix}").write_bytes(PACKERS[suffix](b"x" * ((1 << 26) + 1)))
    with pytest.raises(rw.errors.ReadError, match=r"nothing could be read \(2 problems.*a zip bomb\?"):
        rw.read(tmp_path, errors="collect")


@pytest.mark.integration
def test_many_small_files_together_unpack_to_no_more_than_a_large_one_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "SMALL_TOGETHER", 1 << 20)
    for number in range(8):
        padded = (CHAT % number).replace(b'{"messages"', b'{"note": "%s", "messages"' % (b"x" * 200_000))
        (tmp_path / f"{number}.jsonl.gz").write_bytes(gzip.compress(padded))
    turns, problems = rw.read(tmp_path, errors="collect")
    assert turns["response"].to_list() == [f"Hello {number}" for number in range(5)]
    assert [Path(file).name for file in problems["file"]] == ["5.jsonl.gz", "6.jsonl.gz", "7.jsonl.gz"]
    assert problems["reason"].unique().to_list() == [
        "would unpack, with the files before it, to more than 1048576 bytes: unpack it first"
    ]
    with pytest.raises(rw.errors.ReadError, match=r"5\.jsonl\.gz: would unpack, with the files before it"):
        rw.read(tmp_path)


READING = """
import sys
import rollwise as rw
turns, problems = rw.read(sys.argv[1], errors="collect")
# Unlike the peak of getrusage, this one begins anew with the program, whatever its parent held.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(turns.height, problems.height, int(peak.split()[1]) >> 10)
"""


@pytest.mark.integration
@pytest.mark.parametrize(("is_kept", "most"), [(False, 700), (True, 2500)])
def test_files_that_unpack_to_64_mebibytes_each_do_not_fill_memory(tmp_path: Path, is_kept: bool, most: int) -> None:
    """Megabytes: sixty such files, 4 MB together, took 9.6 GB."""
    padding = b"x" * ((1 << 26) - 2000)
    padded = b'{"note": "%s", "messages"' % padding if is_kept else b" " * len(padding) + b'{"messages"'
    for number in range(12):
        (tmp_path / f"{number:02}.jsonl.gz").write_bytes(gzip.compress((CHAT % number).replace(b'{"messages"', padded)))
    done = subprocess.run([sys.executable, "-c", READING, tmp_path], capture_output=True, text=True, check=True)
    height, num_problems, megabytes = map(int, done.stdout.split())
    assert (height, num_problems) == (8, 4)
    assert megabytes < most
