"""Cases of the command line and of the files that a report writes."""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
from golden.stored import REPOSITORY, Cases, Result  # type: ignore[import-not-found]
from golden.tables import turns_of  # type: ignore[import-not-found]

import rollwise as rw
from rollwise.__main__ import main

LOGS = "data/rollouts"
SUMMARIZE = f"summarize {LOGS} --metric attack_success"

COMMANDS: dict[str, str] = {
    "read": f"read {LOGS} --out OUT/turns.parquet",
    "measure": f"measure {LOGS} --metric attack_success --metric num_turns --out OUT/rollouts.parquet",
    "measure as csv": f"measure {LOGS} --metric attack_success --format csv",
    "summarize": f"{SUMMARIZE} --by target --by attack",
    "summarize as json": f"{SUMMARIZE} --by target --format json",
    "summarize as jsonl": f"{SUMMARIZE} --statistic mean --level 0.9 --format jsonl --seed 3",
    "summarize as csv": f"{SUMMARIZE} --weighting goal --method t --format csv",
    "contrast": f"contrast {LOGS} --of target --baseline base --metric attack_success --format csv",
    "contrast of attacks": f"contrast {LOGS} --of attack --by target --metric attack_success --adjust bh",
    "curve": f"curve {LOGS} --by target --kind survival --format csv",
    "curve as table": f"curve {LOGS} --by attack",
    "attempts": f"attempts {LOGS} --by target -k 1 -k 3",
    "gate that passes": f"gate {LOGS} --require attack_success<0.99 --by target",
    "gate that cannot tell": f"gate {LOGS} --require attack_success<0.3 --format markdown",
    "gate for a CI system": f"gate {LOGS} --require attack_success<0.3 --by target --expect target=new --format junit",
    "gate that fails": f"gate {LOGS} --require attack_success<0.01 --by target",
    "audit": "audit data/jailbreakbench/PAIR/black_box/vicuna-13b-v1.5.json",
    "audit of a claim": "audit data/jailbreakbench/PAIR --by target --format json --claim attack_success=34%",
    "plan": "plan --rate 0.1 --icc 0.3 --difference 0.05 --attempts 1 --attempts 5",
    "some of the rollouts": f"{SUMMARIZE} --by attack --where target=base",
    "what varies": f"summarize {LOGS} --by target",
    "doctor": f"doctor {LOGS}",
    "show": f"show ROLLOUT {LOGS}",
    "simulate": "simulate --out OUT/simulated.parquet --truth OUT/truth.csv --goals 4 --turns 3 --seed 5",
    "convert": f"convert {LOGS} --out OUT/converted",
    "components": "info components -t reader",
    "no such command": "summarise data/rollouts",
    "no such file": "read data/nowhere",
    "no such metric": f"summarize {LOGS} --metric attack_sucess",
    "no such column": f"{SUMMARIZE} --by tagret",
    "no such method": f"{SUMMARIZE} --method wilsen",
    "no such baseline": f"contrast {LOGS} --of target --baseline bas",
    "bad requirement": f"gate {LOGS} --require attack_success=0.5",
    "bad level": f"{SUMMARIZE} --level 2",
    "no logs": "read README.md",
    "no option": f"curve {LOGS} --knd survival",
}
"""What is typed, by name of the case; OUT stands for a folder, ROLLOUT for the first rollout of the logs."""

PLAIN_TERMINAL = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"}
"""Settings under which a command writes the same everywhere: 120 columns, no colors."""

SECONDS = re.compile(r"\b\d+(\.\d+)? ?(ms|s|seconds?)\b")


def command(words: str) -> Callable[[], Result]:
    """Exit code and output of a command, line by line, and the Parquet files that it writes."""

    def case() -> Result:
        with tempfile.TemporaryDirectory() as folder:
            first = str(rw.read(REPOSITORY / LOGS)["rollout_id"].min()) if "ROLLOUT" in words else ""
            typed = [word.replace("OUT", folder, 1) if word.startswith("OUT/") else word for word in words.split()]
            typed = [first if word == "ROLLOUT" else word for word in typed]
            code, out, err = in_process(typed) if typed[0] != "info" else in_its_own_process(typed)
            lines = [("code", str(code))]
            for stream, text in (("stdout", out), ("stderr", err)):
                lines += [(stream, settled(line, folder)) for line in text.splitlines()]
            tables = {"output": pl.DataFrame(lines, schema=["stream", "line"], orient="row")}
            return tables | parquet_files(Path(folder))

    return case


def in_its_own_process(typed: list[str]) -> tuple[int, str, str]:
    """Exit code, output and errors of a command, from this source."""
    environment = os.environ | PLAIN_TERMINAL | {"PYTHONPATH": str(Path(rw.__file__).parents[1])}
    words = [sys.executable, "-m", "rollwise", *typed]
    done = subprocess.run(words, cwd=REPOSITORY, env=environment, capture_output=True, encoding="utf-8", check=False)
    return done.returncode, done.stdout, done.stderr


def in_process(typed: list[str]) -> tuple[int, str, str]:
    """The same in this process, which spares the start of an interpreter."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    before, words, code = {name: os.environ.get(name) for name in PLAIN_TERMINAL}, sys.argv, 0
    os.environ.update(PLAIN_TERMINAL)
    sys.argv = ["rollwise", *typed]
    try:
        with contextlib.chdir(REPOSITORY), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    finally:
        sys.argv = words
        # Only these variables: to set all of them anew disturbs the threads of libraries that read one meanwhile.
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return code, written(out), written(err)


def written(stream: io.TextIOWrapper) -> str:
    """What was written to a stream in memory."""
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


def settled(line: str, folder: str) -> str:
    """A line without what differs from run to run: the folder that is written to, and how long it took."""
    return SECONDS.sub("<time>", line.replace(folder, "<out>")).rstrip()


def parquet_files(folder: Path) -> dict[str, pl.DataFrame]:
    """All Parquet files in a folder."""
    files = sorted(folder.rglob("*.parquet"))
    return {file.relative_to(folder).as_posix(): pl.read_parquet(file, hive_partitioning=False) for file in files}


def report(name: str, by: str) -> Callable[[], Result]:
    """The tables that a report writes."""

    def case() -> Result:
        turns = rw.read(REPOSITORY / LOGS) if name == LOGS else turns_of(name)
        with tempfile.TemporaryDirectory() as folder:
            return parquet_files(rw.report(turns, Path(folder) / "report", by=by).parent)

    return case


def command_cases() -> Cases:
    """Commands, good and bad, and two reports."""
    cases: Cases = {f"cli/{name}": command(words) for name, words in COMMANDS.items()}
    cases["report/three targets"] = report("three targets", "auto")
    cases["report/with text"] = report("with text", "target")
    return cases
