"""A file of lines is gone through block by block, and gives what cutting it up at once gives."""

import gzip
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.readers import documents
from turnwise.readers.documents import BOM, Document

PIECES = st.sampled_from([b"{}", b'{"a": 1}', b"\n", b"\n\n", b" ", b"\r\n", b'"' + b"x" * 40 + b'"', BOM])


def cut(data: bytes) -> list[tuple[int, bytes]]:
    lines = data.removeprefix(BOM).split(b"\n")
    return [(number, line) for number, line in enumerate(lines, 1) if line and not line.isspace()]


@given(st.lists(PIECES, max_size=30).map(b"".join), st.integers(1, 20), st.sampled_from(["path", "data", "gzip"]))
def test_lines_across_blocks(tmp_path_factory, data, size, way):
    path = tmp_path_factory.mktemp("lines") / "log.jsonl"
    path.write_bytes(gzip.compress(data) if way == "gzip" else data)
    document = Document(path, data) if way == "data" else Document(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "BLOCK", max(size, len(BOM)))
        assert list(document.texts()) == cut(data)
        assert document.digest == hashlib.blake2b(data, digest_size=4).hexdigest()


def test_a_file_of_lines_is_never_in_memory_as_a_whole(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a": 1}\n' * 100_000)
    document = Document(Path(path))
    assert document.kind == "lines"
    assert document.keys == document.early == {"a"}
    assert sum(1 for _ in document.lines()) == 100_000
    assert "data" not in vars(document)
