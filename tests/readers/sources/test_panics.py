"""A damaged Arrow or Parquet file is one sentence, without what Rust says about itself."""

import io
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rollwise as rw
from rollwise.errors import RollwiseError
from rollwise.readers.sources.panics import next_without_backtraces, without_backtraces

PANIC = (
    b"\nthread 'tokio-rt-worker' panicked at crates/x.rs:10:9:\nrange end index\nstack backtrace:\n   0: std::panic\n"
)


def damaged_files() -> list[bytes]:
    """Arrow files with flipped bits near the end, where the footer is; Polars panics on at least one of them."""
    records = [
        {"rollout_id": str(number), "prompt": "Hi" * number, "response": "No" * number, "score": number * 0.5}
        for number in range(100)
    ]
    file = io.BytesIO()
    rw.turns(records).drop("tool_results").write_ipc(file)  # the seeds are of a file without it
    files: list[bytes] = []
    for seed in (53, 125, 144, 229):
        chance = random.Random(seed)
        files += [damaged(file.getvalue(), chance) for _ in range(3)]
    return files


def damaged(whole: bytes, chance: random.Random) -> bytes:
    data = bytearray(whole)
    for _ in range(chance.choice((1, 1, 3, 20))):
        data[chance.randrange(len(data) - 3000, len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def test_damaged_arrow_files_print_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    num_panics = 0
    path = tmp_path / "a.arrow"
    for data in damaged_files():
        path.write_bytes(data)
        try:
            rw.read(path)
        except RollwiseError as error:
            num_panics += "range" in str(error)
    assert num_panics, "no file lets Polars panic, so that this test shows nothing: change the damage"
    assert capfd.readouterr().err == ""


@pytest.mark.integration
def test_the_command_says_one_sentence(tmp_path: Path) -> None:
    for data in damaged_files():
        (tmp_path / "a.arrow").write_bytes(data)
        try:
            rw.read(tmp_path / "a.arrow")
        except RollwiseError as error:
            if "range" in str(error):
                break
    command = [sys.executable, "-m", "rollwise", "summarize", str(tmp_path / "a.arrow")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "a.arrow: is not a complete Arrow file" in done.stderr


def test_what_is_said_in_the_block_comes_after_it(capfd: pytest.CaptureFixture[str]) -> None:
    with without_backtraces():
        os.write(2, b"a warning\n")
        with without_backtraces():
            os.write(2, b"within\n")
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "a warning\nwithin\n"


def test_a_panic_takes_only_what_rust_says(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        with without_backtraces():
            os.write(2, b"rollwise: read 3 rollouts\n" + PANIC)
            raise ValueError("range end index")

    with pytest.raises(ValueError, match="range end index"):
        fail()
    assert capfd.readouterr().err == "rollwise: read 3 rollouts\n"


def test_between_the_items_of_an_iterator_stderr_is_as_usual(capfd: pytest.CaptureFixture[str]) -> None:
    def items() -> Iterator[int]:
        for number in range(2):
            os.write(2, PANIC)
            yield number

    for number in next_without_backtraces(items()):
        os.write(2, b"item %d\n" % number)
        assert capfd.readouterr().err == f"item {number}\n"


@pytest.mark.integration
def test_a_closed_stderr_is_left_closed(tmp_path: Path) -> None:
    code = (
        "import os\nos.close(2)\nfrom rollwise.readers.sources.panics import without_backtraces\n"
        "with without_backtraces():\n    print('done', flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False, cwd=tmp_path)
    assert done.stdout == "done\n"
