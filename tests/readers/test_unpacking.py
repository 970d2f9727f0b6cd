"""Compressed files: unpacked as the standard library does, and refused where they are damaged."""

import gzip
import io
import json
import random
import zipfile
import zlib

import pytest

from turnwise.readers.sources.contents import UNSOUND, gunzipped, inflated

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
    assert b"".join(gunzipped(data)) == gzip.decompress(data)


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
            assert b"".join(gunzipped(data)) == expected
        except (EOFError, *UNSOUND):
            refused += 1
            assert expected is None
    assert refused > 100
