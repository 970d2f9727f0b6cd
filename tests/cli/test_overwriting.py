"""No command writes over its own input."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.cli import run

CHAT = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_text(f"{json.dumps(CHAT)}\n" * 2)
    rw.turns([{"rollout_id": "x", "prompt": "Hi", "response": "No", "succeeded": True}]).write_parquet(
        folder / "b.parquet"
    )
    return folder


@pytest.fixture
def rollwise(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """The command line in this process: its exit code, and what it says on stderr."""

    def call(*words: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as leaving:
            run([str(word) for word in words])
        return int(leaving.value.code or 0), capsys.readouterr().err

    return call


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


COMMANDS: list[tuple[Any, ...]] = [
    ("read",),
    ("measure",),
    ("summarize",),
    ("curve",),
    ("attempts",),
    ("contrast", "--of", "target"),
    ("doctor",),
    ("gate", "--require", "attack_success < 1%"),
]


@pytest.mark.thinned(4)
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("source", ["logs", "logs/b.parquet", "logs/*.parquet"])
def test_a_command_does_not_write_over_a_log_that_it_reads(
    logs: Path, rollwise: Callable[..., tuple[int, str]], words: tuple[Any, ...], source: str
) -> None:
    before = contents(logs)
    command, *options = words
    out = logs / "b.parquet"
    code, message = rollwise(command, logs.parent / source, *options, "--out", out, "--overwrite")
    assert code == 2
    assert f"rollwise: {out} is read by this command" in message
    assert message.endswith("and is not overwritten; name another place with --out\n")
    assert message.count("\n") == 1
    assert contents(logs) == before


@pytest.mark.integration
def test_links_lead_to_the_same_log(logs: Path, tmp_path: Path, rollwise: Callable[..., tuple[int, str]]) -> None:
    before = contents(logs)
    soft, hard = tmp_path / "soft.parquet", tmp_path / "hard.parquet"
    soft.symlink_to(logs / "b.parquet")
    hard.hardlink_to(logs / "b.parquet")
    for out in (soft, hard):
        assert rollwise("read", logs / "b.parquet", "--out", out, "--overwrite")[0] == 2
    assert rollwise("read", soft, "--out", logs / "b.parquet", "--overwrite")[0] == 2
    assert contents(logs) == before


@pytest.mark.thinned(40)
@pytest.mark.parametrize("command", ["report", "convert"])
@pytest.mark.parametrize("place", [".", "..", "a.jsonl"])
def test_a_folder_of_results_does_not_replace_a_folder_of_logs(
    logs: Path, rollwise: Callable[..., tuple[int, str]], command: str, place: str
) -> None:
    before = contents(logs)
    code, message = rollwise(command, logs / "a.jsonl", "--out", (logs / place).resolve(), "--overwrite")
    assert code == 2
    assert "is read by this command" in message
    assert contents(logs) == before


def test_a_baseline_and_a_file_of_requirements_are_inputs(
    logs: Path, tmp_path: Path, rollwise: Callable[..., tuple[int, str]]
) -> None:
    requirements = tmp_path / "gate.json"
    requirements.write_text('{"require": ["attack_success < 1%"]}')
    words = ("gate", logs / "a.jsonl", "--baseline", logs / "b.parquet", "--file", requirements)
    for out in (logs / "b.parquet", requirements):
        code, message = rollwise(*words, "--out", out, "--overwrite")
        assert (code, f"{out} is read by this command" in message) == (2, True)
    assert json.loads(requirements.read_text())["require"] == ["attack_success < 1%"]


@pytest.mark.integration
def test_results_of_an_earlier_run_are_written_over_in_a_folder_of_logs(
    logs: Path, rollwise: Callable[..., tuple[int, str]]
) -> None:
    """A summary is no log, and neither is a hidden file; the logs of another folder are not read either."""
    for out in (logs / "summary.csv", logs / ".cache.parquet", logs.parent / "turns.parquet"):
        command = "summarize" if out.suffix == ".csv" else "read"
        for _ in range(2):
            assert rollwise(command, logs, "--out", out, "--overwrite")[0] == 0


@pytest.mark.integration
def test_turns_among_the_logs_are_read_and_not_written_over(
    logs: Path, rollwise: Callable[..., tuple[int, str]]
) -> None:
    out = logs / "turns.parquet"
    assert rollwise("read", logs, "--out", out, "--overwrite")[0] == 0  # nothing is there yet
    assert rollwise("read", logs, "--out", out, "--overwrite")[0] == 2
