"""Logs of tools under other names, so that no format knows them: each line that is printed is typed with each of its options."""

import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from tests.readers.any_file.stranger import ASKED, command_in, typed

pytestmark = pytest.mark.integration

READERS = Path(__file__).parents[1]
LOGS = sorted(
    path
    for folder in ("fixtures", "produced")
    for path in (READERS / folder).rglob("*")
    if path.suffix in {".json", ".jsonl"} and "containers" not in path.parts  # which differ in their encoding alone
)
# Its records are one answer each, and several are one rollout, which nothing but the names says.
SEVERAL_IN_ONE = {"attacks_samples.jsonl", "2312_parrot_birds.jsonl"}
# An outcome for each key, without a known text: as of tasks. That they are attacks is in the names alone.
OF_KEYS = {"llama2_0_normal.json"}
MOST_OPTIONS = 3


def renamed(value: Any, share: int) -> Any:
    """Return a value with so many of a hundred names changed, the same ones everywhere."""
    if isinstance(value, dict):
        return {
            f"{name}_x" if zlib.crc32(name.encode()) % 100 < share else name: renamed(inner, share)
            for name, inner in value.items()
        }
    return [renamed(inner, share) for inner in value] if isinstance(value, list) else value


def write_renamed(log: Path, file: Path, share: int) -> None:
    """Write a log under other names."""
    text = log.read_text(encoding="utf-8")
    try:
        file.write_text(json.dumps(renamed(json.loads(text), share)), encoding="utf-8")
    except json.JSONDecodeError:
        lines = [renamed(json.loads(line), share) for line in text.splitlines() if line.strip()]
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def figures(file: Path) -> tuple[int, dict[str, tuple[int, int]]] | None:
    """Return the number of rollouts, and of each verdict how many are successes and how many are known; null for trees."""
    turns = pl.read_parquet(file)
    if "node_id" in turns.columns:
        return None
    rollouts = rw.measure(turns)
    sides = {name: rollouts[name].drop_nulls() for name in ("attack_success", "task_success")}
    return rollouts.height, {name: (int(values.sum() or 0), len(values)) for name, values in sides.items()}


def answered(command: list[str], text: str) -> Iterator[list[str]]:
    """Iterate over a printed line with each of the options of its last question."""
    if not any(map(ASKED.search, command)):
        yield command
        return
    options = re.findall(r"^\? .*\(([^()]*)\)$", text, re.MULTILINE)
    for option in re.split(", | or ", options[-1] if options else "true")[:MOST_OPTIONS]:
        yield [option.join(ASKED.split(word)) for word in command]


@pytest.mark.parametrize("share", [100, 60])
def test_renamed_logs_are_read_or_refused_in_a_sentence(tmp_path: Path, share: int) -> None:
    out = tmp_path / "turns.parquet"
    faults = []
    for log in LOGS:
        original = typed(["read", str(log), "--out", str(out), "--overwrite", "--errors", "collect"])
        before = figures(out) if original.code == 0 else None
        file = tmp_path / f"renamed{log.suffix}"
        write_renamed(log, file, share)
        waiting = [(["read", str(file), "--out", str(out), "--overwrite"], 0, True)]
        while waiting:
            command, depth, is_unasked = waiting.pop()
            answer = typed(command)
            name = log.relative_to(READERS)
            if answer.code not in {0, 2}:
                faults.append(f"{name}: {answer.code}: {command}")
                continue
            after = figures(out) if answer.code == 0 else None
            if after and before and is_unasked and log.name not in SEVERAL_IN_ONE | OF_KEYS:
                known = sum(count for _, count in after[1].values())
                more = any(after[1][verdict][0] > before[1][verdict][0] for verdict in after[1])
                if more or (known and after[0] != before[0]):
                    faults.append(f"{name}: {after} for {before}: {command}")
            line = command_in(answer.text)
            if line and depth < 2:
                is_asked = any(map(ASKED.search, line))
                waiting += [(words, depth + 1, is_unasked and not is_asked) for words in answered(line, answer.text)]
    assert faults == []
