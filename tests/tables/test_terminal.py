"""What a log can send to a terminal: nothing. The command line runs on a terminal over a log that tries everything."""

import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import polars as pl
import pytest

from rollwise.schema import labels

COMMANDS = (
    "\x1b[2J\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;http://example.invalid\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;cHduZWQ=\x07", "\x9b31mC1\x9b0m", "\x9d0;title\x9c", "\x1bPdevice\x1b\\", "\x1bc", "\x0e\x0fshift",
    "\x08\x08\x08back", "\x7fdelete", "\x07bell", "over\rwritten", "\u202egnp.exe", "\u2066isolate\u2069", "\u200bzero\ufeff",
    "\u2028line\u2029", "\U000e0041tag", "\x00null", "\x1b[5i print", "\x1b[?1049h", "\x85next", "\x0b\x0c",
)  # fmt: skip
ID = "\x1b[31m\u202eid\x9b"
ALL = "A" + " ".join(COMMANDS) + "Z"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log of all that, in every field, beside broken files with names of that kind."""
    folder = tmp_path_factory.mktemp("logs")
    rows = [
        {
            "rollout_id": f"{number}{ID}", "turn": turn, "outcome": ("success", "failure")[number % 2],
            "prompt": ALL, "response": ALL, "error": ALL, "source": ALL, "run": ALL,
            "ending": ("success", "gave_up")[number % 2], "category": ALL,
            "target": f"{ALL}{number % 3}", "attack": f"{ALL}{number % 2}", "goal": f"{ALL}{number // 2}",
            "notes" + ALL: ALL, "score": 0.5, "tool_calls": [{"name": ALL, "arguments": json.dumps({ALL: ALL})}],
        }
        for number in range(12) for turn in (1, 2)
    ]  # fmt: skip
    (folder / "turns.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (folder / "bad\x1b[31m\u202ename.jsonl").write_bytes(b'{"rollout_id": "a", "turn": 1\n\x9b\xff\x1b[2J')
    (folder / "odd\x1b]0;x\x07.txt").write_text(ALL)
    return folder


OURS = re.compile(rb"\x1b\[(?:1|32|1;31|1;33|31m\x1b\[1|33m\x1b\[1)m([^\x1b]*)\x1b\[0m")
"""Bold words, and the answers of a gate and of the doctor in their colors."""


def on_a_terminal(*words: object, color: bool = False) -> tuple[int, bytes]:
    """The exit code of a command, and every byte that reached its terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "rollwise", *map(str, words)]
    settings = {**os.environ, "TERM": "xterm", "NO_COLOR": "" if color else "1"}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=settings) as running:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
    os.close(ours)
    return running.returncode, seen


def harmful(shown: bytes, more: str = "") -> set[str]:
    """Characters that a terminal obeys or hides, of what it was sent."""
    text = shown.decode("utf-8").replace("\r\n", "\n")
    hidden = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    return {one for one in text if unicodedata.category(one) in hidden and one not in "\n" + more}


@pytest.mark.integration
@pytest.mark.parametrize(
    "words",
    [
        ["show", f"0{ID}"],
        ["show", f"none{ID}"],
        ["measure", "--metric", "attack_success"],
        ["measure", "--format", "csv"],
        ["measure", "--format", "csv", "--spreadsheet"],
        ["measure", "--format", "json"],
        ["measure", "--format", "jsonl", "--keep", "notes\x1b[31m"],
        ["summarize", "--metric", "attack_success", "--by", "target"],
        ["summarize", "--by", "no\x1b[31m\u202esuch"],
        ["contrast", "--of", "target", "--baseline", "none\x9b31m"],
        ["contrast", "--of", "target", "--metric", "attack_success"],
        ["curve", "--by", "target"],
        ["doctor"],
        ["gate", "--require", "attack_success < 0.01", "--by", "target"],
    ],
    ids=lambda words: " ".join(words)[:24].encode("ascii", "backslashreplace").decode(),
)
def test_a_terminal_is_never_commanded(logs: Path, words: list[str]) -> None:
    """Tables, transcripts, data, errors: what the log holds is shown, not obeyed."""
    log = logs / "turns.jsonl"
    given = [*words[:2], str(log)] if words[0] == "show" else [words[0], str(log), *words[1:]]
    code, seen = on_a_terminal(*given)
    assert code in {0, 1, 2}
    assert harmful(seen) == set(), seen
    if words[0] in {"summarize", "contrast", "gate", "doctor"}:
        colored = on_a_terminal(*given, color=True)[1]
        assert harmful(OURS.sub(rb"\1", colored)) == set(), colored
    assert b"Traceback" not in seen
    assert len(seen) > 40


@pytest.mark.integration
def test_what_could_not_be_read_is_told_harmlessly(logs: Path, tmp_path: Path) -> None:
    """Files with such names, broken UTF-8 in them, and the progress bar of the report."""
    code, seen = on_a_terminal("read", logs, "--errors", "collect", "--out", tmp_path / "turns.parquet")
    assert (code, harmful(seen)) == (0, set())
    assert b"left out" in seen
    assert rb"\x1b[31m\u202e" in seen
    code, seen = on_a_terminal("read", logs, "--out", tmp_path / "no.parquet")
    assert (code, harmful(seen)) == (2, set())
    code, seen = on_a_terminal(
        "report", logs, "--errors", "collect", "--out", tmp_path / "report", "--title", ALL.replace("\0", "")
    )
    assert (code, harmful(seen, "\r")) == (0, set())
    assert b"Traceback" not in seen
    report = (tmp_path / "report" / "report.html").read_text()
    assert harmful(report.encode()) == set()


@pytest.mark.integration
def test_a_pipe_gets_the_data_as_they_are(logs: Path) -> None:
    """What is no terminal is another program, which must get every character; people still get sentences that are safe."""
    command = [sys.executable, "-m", "rollwise", "measure", str(logs / "turns.jsonl"), "--format", "jsonl"]
    done = subprocess.run(command, capture_output=True, check=True)
    rows = [json.loads(line) for line in done.stdout.decode().split("\n") if line]
    assert {row["goal"] for row in rows} == {f"{ALL}{number}" for number in range(6)}
    assert harmful(done.stderr) == set()


@pytest.mark.parametrize("one", COMMANDS)
def test_plain_lines_keep_breaks_and_nothing_else(one: str) -> None:
    """Every way to command a terminal, alone and between lines."""
    shown = labels.plain_lines(f"  {one}\n{one}")
    assert shown.count("\n") == 1
    assert harmful(shown.encode()) == set()


def test_the_tables_of_python_are_as_safe() -> None:
    """`print(rw.tables.table(frame))` is text for a terminal too."""
    from rollwise import tables

    frame = pl.DataFrame({"goal" + ALL: COMMANDS})
    assert harmful(tables.text(frame).encode()) == set()
    assert harmful(str(tables.table(frame)).encode()) == set()
