"""Logs that are wrapped in something that has to be opened first."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable

import pytest

import rollwise as rw
from rollwise import read
from rollwise.errors import ReadError

CHAT = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
LINES = "\n".join([json.dumps(CHAT)] * 2)


def tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        about = tarfile.TarInfo("a.jsonl")
        about.size = len(LINES)
        archive.addfile(about, io.BytesIO(LINES.encode()))
    return file.getvalue()


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.jsonl", LINES)
    return file.getvalue()


WRAPPED: list[tuple[str, Callable[[], bytes], str]] = [
    ("a.jsonl.bz2", lambda: bz2.compress(tar()), "is a tar archive: unpack it first"),
    ("a.jsonl.gz", lambda: gzip.compress(tar()), "is a tar archive: unpack it first"),
    ("a.jsonl", lambda: LINES.encode("utf-32"), "is UTF-32: save it as UTF-8"),
    ("a.jsonl", lambda: lzma.compress(zipped()), "is a zip archive: unpack it first"),
]


@pytest.mark.parametrize(("name", "data", "says"), WRAPPED, ids=lambda given: given if isinstance(given, str) else "")
def test_what_has_to_be_opened_first_is_said_in_one_sentence(tmp_path, name, data, says):
    (tmp_path / name).write_bytes(data())
    with pytest.raises(ReadError, match=f"{name}: {says}") as told:
        read(tmp_path / name)
    assert "formats are" not in str(told.value)
    for verb in (rw.rollout.read_prompts, rw.judges.read_verdicts, rw.readers.read_summary):
        with pytest.raises(ReadError, match=says):
            verb(tmp_path / name)
    (tmp_path / "mine.csv").write_text("rollout_id,prompt\na,Hi\n")
    frame, problems = read(tmp_path, errors="collect")
    assert frame["prompt"].to_list() == ["Hi"]
    assert problems["reason"].to_list() == [says]
