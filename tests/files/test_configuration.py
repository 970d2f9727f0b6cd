"""Files of settings are read in bounded time and memory, and whatever is wrong with one is a sentence."""

import json
import os
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from rollwise.cli import run
from rollwise.errors import ReadError
from rollwise.estimation.gate_file import read_gate_file
from rollwise.files.configuration import MOST_BYTES, ConfigFile
from rollwise.rollout.config import load

READERS: dict[str, Any] = {"rollout.yaml": load, "gate.yml": read_gate_file, "gate.json": read_gate_file}
NOT_A_FILE = "is not a file but a pipe, a device or a folder; name a file"


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_a_device_or_a_folder_is_refused_at_once(tmp_path: Path, name: str) -> None:
    """A pipe was waited for without an end, and /dev/zero filled the memory."""
    path = tmp_path / name
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir):
        make(path)
        with pytest.raises(ReadError, match=f"{name}: {NOT_A_FILE}$"):
            READERS[name](path)
        path.rmdir() if path.is_dir() else path.unlink()
    with pytest.raises(ReadError, match=f"{name}: No such file or directory; check the path"):
        READERS[name](path)
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ReadError, match=f"{name}: No such file or directory; check the path"):
        READERS[name](path)


@pytest.mark.integration
@pytest.mark.parametrize("name", READERS)
def test_a_file_of_megabytes_is_refused_at_once(tmp_path: Path, name: str) -> None:
    """A comment of 20 MB took 32 seconds."""
    path = tmp_path / name
    path.write_text("# " + "x" * 20_000_000)
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(ReadError, match=f"{name}: is larger than {MOST_BYTES} bytes, too large for a configuration"):
        READERS[name](path)
    seconds, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 1
    assert peak < 4 * MOST_BYTES


def test_lines_end_as_on_any_system_and_text_is_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    path.write_bytes(b"a: 1\r\nb: {c: \xc3\xa9}\r\n")
    document = ConfigFile.read(path)
    assert (document.data, document.lines["b", "c"], document.text) == (
        {"a": 1, "b": {"c": "é"}},
        2,
        "a: 1\nb: {c: é}\n",
    )
    path.write_bytes("a: é".encode("latin-1"))
    with pytest.raises(ReadError, match=r"a\.yml: is not UTF-8 \(byte 3\); save it as UTF-8"):
        ConfigFile.read(path)


@pytest.mark.integration
@pytest.mark.parametrize(
    "value",
    [
        "&a [*a]",
        "&a {b: *a}",
        "- " * 3000,
        "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" if n else "a0: &a0 [1]" for n in range(9)),
    ],
    ids=["list in itself", "block in itself", "deep", "aliases of aliases"],
)
def test_an_override_that_holds_itself_is_refused_as_in_a_file(tmp_path: Path, value: str) -> None:
    path = tmp_path / "a.yml"
    path.write_text("a: 1\n")
    document = ConfigFile.read(path)
    with pytest.raises(
        ReadError, match=r"^--override b\.c: an entry contains itself, or is nested too deeply; write it out$"
    ):
        document.override("b.c", value)
    assert document.data == {"a": 1}
    path.write_text("a:\n  " + value.replace("\n", "\n  "))
    with pytest.raises(ReadError, match=r"a\.yml: an entry contains itself, or is nested too deeply; write it out$"):
        ConfigFile.read(path)


def test_the_command_line_refuses_them_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "eval.yml"
    path.write_text(json.dumps({"eval": {"general": {"dataset": {"file_path": "a.json"}}}}))
    calls = [
        (
            ("eval", "--config_file", path, "--override", "eval.general.output_dir", "&a [*a]"),
            "an entry contains itself",
        ),
        (("eval", "--config_file", "/dev/zero"), NOT_A_FILE),
        (("rollout", "--config_file", "/dev/zero"), NOT_A_FILE),
    ]
    for words, sentence in calls:
        with pytest.raises(SystemExit) as leaving:
            run([str(word) for word in words])
        message = capsys.readouterr().err
        assert leaving.value.code == 2
        assert sentence in message
        assert message.count("\n") == 1


def test_a_slip_of_the_keyboard_in_seeds_gets_a_sentence_that_fits(tmp_path: Path) -> None:
    """It was: not enough memory for this; read fewer logs at once."""
    path = tmp_path / "rollout.yaml"
    path.write_text("sampler: {use: simulated}\nseeds: 1000000000\n")
    with pytest.raises(ReadError, match=r"line 2: `seeds` is 1000000000, but should be less than or equal to 10000000"):
        load(path)
    path.write_text("sampler: {use: simulated}\nseeds: zero.txt\n")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    with pytest.raises(
        ReadError, match=r"^seeds: \S+zero\.txt cannot be read \(is not a file but a pipe.*; name a text file"
    ):
        load(path)
