"""A file of lines is gone through block by block, and gives what cutting it up at once gives."""

import binascii
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollwise import read
from rollwise.errors import ReadError
from rollwise.readers import Document
from rollwise.readers.sources import contents
from rollwise.readers.sources.contents import BOM, lines_of

PIECES = st.sampled_from([b"{}", b'{"a": 1}', b"\n", b"\n\n", b" ", b"\r\n", b'"' + b"x" * 40 + b'"', BOM])


def cut(data: bytes) -> list[tuple[int, bytes]]:
    lines = data.removeprefix(BOM).split(b"\n")
    return [(number, line) for number, line in enumerate(lines, 1) if line and not line.isspace()]


@pytest.mark.integration
@given(st.lists(PIECES, max_size=30).map(b"".join), st.integers(1, 20), st.sampled_from(["path", "data", "gzip"]))
def test_lines_across_blocks(tmp_path_factory, data, size, way):
    path = tmp_path_factory.mktemp("lines") / "log.jsonl"
    path.write_bytes(gzip.compress(data) if way == "gzip" else data)
    document = Document(path, data) if way == "data" else Document(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "BLOCK", max(size, len(BOM)))
        assert list(document.texts()) == cut(data)
        assert document.digest == f"{binascii.crc32(data):08x}"


@pytest.mark.integration
def test_a_file_of_lines_is_never_in_memory_as_a_whole(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a": 1}\n' * 100_000)
    document = Document(Path(path))
    assert document.kind == "lines"
    assert document.keys == document.early == {"a"}
    assert sum(1 for _ in document.lines()) == 100_000
    assert "data" not in vars(document)


OBJECTS = st.sampled_from(
    [b"{}", b'{"a": {}}', b'{"a":\n', b"{\n", b"1}", b"}", b" ", b"\n", b"\r\n", b"[", b"]", b","]
)


@pytest.mark.integration
@given(st.lists(OBJECTS, max_size=12).map(b"".join), st.integers(1, 9))
def test_lines_are_numbered_whatever_the_blocks(data, size):
    """Each that is not blank, with its place, as of the text split at once; the byte-order mark is no part of the first."""
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    for text in (data, BOM + data):
        blocks = [text[start : start + size] for start in range(0, len(text), size)]
        assert list(lines_of(blocks)) == lines


@pytest.mark.parametrize("new", ["\n", "\r\n"])
@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_objects_over_several_lines_each_are_a_list(tmp_path, new, suffix):
    """As `jq` prints the lines of a file, and exporters to the console their spans."""
    records = [{"rollout_id": name, "turns": [{"prompt": "}\n{", "response": {"a": [{}]}}]} for name in "abc"]
    path = tmp_path / f"log{suffix}"
    path.write_bytes(new.join(json.dumps(record, indent=2).replace("\n", new) for record in records).encode())
    document = Document(path)
    assert document.kind == "json"
    assert document.keys == {"rollout_id", "turns"}
    assert [record for _, record in document.records()] == records
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ReadError, match="perhaps half-written"):
        read(path)
