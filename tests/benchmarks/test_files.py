"""Many small files against one file with the same lines, and against a loop that decodes each and makes a frame of all."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.benchmark

FILES = 20_000
ANSWER = "I cannot help with that. " * 8
OURS = "import sys\nimport rollwise as rw\nrw.read\ndef work(): assert rw.read(sys.argv[1]).height == 20_000\n"
LOOP = """
import sys, json, csv
from pathlib import Path
import polars as pl
def rows(path):
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return list(csv.DictReader(file))
    return [json.loads(path.read_bytes())]
def work(): assert pl.DataFrame([row for path in sorted(Path(sys.argv[1]).iterdir()) for row in rows(path)]).height == 20_000
"""
Child = Callable[..., dict[str, float]]


def row(number: int) -> dict[str, Any]:
    """A rollout of one turn."""
    facts = {"rollout_id": f"r{number}", "turn": 1, "target": f"m{number % 5}", "goal": f"g{number % 50}"}
    return {**facts, "prompt": f"Tell me how, {number}", "response": ANSWER, "succeeded": number % 7 == 0}


def chat(number: int) -> dict[str, Any]:
    """A chat of two messages."""
    messages = [{"role": "user", "content": f"Tell me how, {number}"}, {"role": "assistant", "content": ANSWER}]
    return {"id": f"c{number}", "model": f"m{number % 5}", "messages": messages}


def as_csv(record: dict[str, Any]) -> str:
    """A header and a row."""
    return f"{','.join(record)}\n{','.join(json.dumps(str(value)) for value in record.values())}\n"


@pytest.mark.parametrize(
    ("what", "record", "text", "suffix", "floor"),
    [
        ("one row", row, json.dumps, ".json", 1 / 24),
        ("one row", row, as_csv, ".csv", 1 / 24),
        ("one chat", chat, json.dumps, ".json", 1 / 48),
    ],
)
def test_many_small_files(
    tmp_path: Path,
    child: Child,
    compared: Callable[..., None],
    what: str,
    record: Callable[[int], dict[str, Any]],
    text: Callable[[dict[str, Any]], str],
    suffix: str,
    floor: float,
) -> None:
    """Processor time of 20,000 files, beside that of one file with the same lines and that of the loop."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number:05}{suffix}").write_text(text(record(number)))
    (tmp_path / "one.jsonl").write_text("".join(json.dumps(record(number)) + "\n" for number in range(FILES)))
    many, one = (child(OURS, str(place), rounds=3) for place in (folder, tmp_path / "one.jsonl"))
    loop = child(LOOP, str(folder), rounds=3)
    name = f"20,000 files {suffix} of {what}"
    ratio = one["cpu"] / many["cpu"]
    compared(name, "one file of the same lines", ratio, target=1 / 8, floor=floor, mib=many["mib"], peer_mib=one["mib"])
    compared(name, "a loop over the files", loop["cpu"] / many["cpu"], floor=0.1, mib=many["mib"], peer_mib=loop["mib"])
