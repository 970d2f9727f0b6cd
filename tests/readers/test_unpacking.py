"""Compressed files: unpacked alike by ISA-L and, where there is none, by the standard library."""

import gzip
import io
import json
import random
import subprocess
import sys
import zipfile

import pytest

TOLD = """
import json, sys
if sys.argv[1] == "without":
    sys.modules["isal"] = None
from turnwise.readers.sources.unpacking import UNSOUND, crc32, gunzipped, inflated
whose = gunzipped.__globals__["zlib"].__name__
found = []
for line in sys.stdin:
    data = bytes.fromhex(line)
    for unpack in (lambda: b"".join(gunzipped(data)), lambda: inflated(data, 1 << 20)):
        try:
            found.append(unpack().hex())
        except (EOFError, *UNSOUND):
            found.append("unsound")
    found.append(crc32(data))
print(json.dumps([whose, found]))
"""


def told(which: str, files: list[bytes]) -> tuple[str, list[str | int]]:
    words = "\n".join(data.hex() for data in files)
    ran = subprocess.run([sys.executable, "-c", TOLD, which], input=words, capture_output=True, text=True, check=True)
    whose, found = json.loads(ran.stdout)
    return whose, found


@pytest.mark.integration
def test_both_unpack_alike_what_is_whole_and_what_is_not():
    """Gzip of one part, of several, with padding, without text; deflate as zip has it; each cut off and with a byte changed."""
    pytest.importorskip("isal", reason="there is no wheel of ISA-L for this machine")
    chance = random.Random(5)
    text = json.dumps([{"role": "user", "content": chance.choice("abc") * chance.randrange(50)} for _ in range(200)])
    part = gzip.compress(text.encode(), mtime=0)
    member = io.BytesIO()
    with zipfile.ZipFile(member, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", text)
    start = len("a") + 30
    deflated = member.getvalue()[start : start + archive.infolist()[0].compress_size]
    whole = [part, part + part, part + b"\0" * 20, gzip.compress(b""), deflated, b"", b"text"]
    cut = [data[: chance.randrange(len(data))] for data in (part, part + part, deflated) for _ in range(30)]
    changed = [bytearray(data) for data in (part, part + part, deflated) for _ in range(60)]
    for data in changed:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    files = [*whole, *cut, *map(bytes, changed)]
    fast, found = told("with", files)
    plain, expected = told("without", files)
    assert (fast, plain) == ("isal.isal_zlib", "zlib")
    assert found == expected
    assert found[0] == text.encode().hex()
    assert found.count("unsound") > 200
