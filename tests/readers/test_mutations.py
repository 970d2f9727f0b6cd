"""Three hundred broken logs of each format: every one is read or refused in a sentence, none is a traceback."""

import json
import math
import random
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rollwise import schema
from rollwise.errors import RollwiseError
from rollwise.readers.read import read
from rollwise.readers.registry import FORMATS
from rollwise.readers.sources.documents import Document
from rollwise.readers.summaries import read_summary
from rollwise.schema import TURNS

pytestmark = pytest.mark.integration  # thousands of files are read

FIXTURES = Path(__file__).parent / "fixtures"
LOGS = sorted(path for path in FIXTURES.rglob("*") if path.is_file())
JSON_LOGS = [path for path in LOGS if path.suffix in {".json", ".jsonl"}]
ODD: list[Any] = [
    None, True, 0, -1, 1.5, 10**30, -(10**400), 1e308, math.nan, math.inf, "", "x", "1", "\x00", "\ud800", "é" * 3,
    [], [None], [[]], {}, {"role": "assistant"}, {"": None}, [1, "a"], {"a": {"b": [1]}},
]  # fmt: skip


def places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every container in the value, with each of its keys."""
    if isinstance(value, dict | list):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in list(keys):
            found.append((value, key))
            places(value[key], found)
    return found


def mutate(value: Any, rng: random.Random) -> Any:
    """The value with one to three things replaced, removed, renamed or doubled."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 3)):
        spots = places(value, [])
        if not spots:
            return deepcopy(rng.choice(ODD))
        where, key = rng.choice(spots)
        deed = rng.randrange(4)
        if deed == 0:
            where[key] = deepcopy(rng.choice(ODD))  # what is put in may be changed next
        elif deed == 1:
            del where[key]
        elif deed == 2 and isinstance(where, dict):
            where[rng.choice(["x", "turn", "rollout_id", "role", "content", "error", "score"])] = where.pop(key)
        elif isinstance(where, list):
            where.append(where[key])
        else:
            where[key] = [where[key]]
    return value if rng.random() > 0.05 else rng.choice(ODD)


def loaded(path: Path) -> Any:
    """What is in a log; of one of lines, the list of them."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    return json.loads(path.read_text())


def write(path: Path, value: Any) -> None:
    """Write a log, of lines where its name says so."""
    lines = path.suffix == ".jsonl" and isinstance(value, list)
    path.write_text("".join(json.dumps(line) + "\n" for line in value) if lines else json.dumps(value))


def attempt(path: Path, **options: Any) -> bool:
    """Whether something is read, which then keeps all promises; a refusal is one sentence."""
    try:
        frame, problems = read(path, errors="collect", **options)
    except RollwiseError as refusal:
        said = str(refusal)
    else:
        schema.check(frame, TURNS)
        schema.check(problems, schema.PROBLEMS)
        return True
    assert "\n" not in said
    return False


def refused(path: Path) -> bool:
    """Whether the file is refused where the first problem is raised."""
    try:
        read(path)
    except RollwiseError:
        return True
    return False


@pytest.mark.parametrize("log", JSON_LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_mutated_records(log, tmp_path):
    rng = random.Random(log.name + log.parent.name)
    value = loaded(log)
    file = tmp_path / f"log{log.suffix}"
    count = 300 // sum(other.parent == log.parent for other in JSON_LOGS) + 1
    read_at_all = 0
    for turn in range(count):
        write(file, mutate(value, rng))
        whole = attempt(file)
        read_at_all += whole
        if turn % 4 == 0:
            attempt(file, format=log.parent.name)
            assert refused(file) or whole, "what cannot be collected cannot be read"
    assert read_at_all > count // 8


@pytest.mark.parametrize("log", JSON_LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_mutated_figures(log, tmp_path):
    rng = random.Random(log.name)
    value = loaded(log)
    file = tmp_path / f"log{log.suffix}"
    for _ in range(60):
        write(file, mutate(value, rng))
        with suppress(RollwiseError):
            figures, problems = read_summary(file, errors="collect")
            schema.check(problems, schema.PROBLEMS)
            assert figures.schema["estimate"] == pl.Float64


def test_mutated_archives(tmp_path, pack):
    rng = random.Random("archive")
    log = loaded(FIXTURES / "inspect" / "log.json")
    file = tmp_path / "log.eval"
    read_at_all = 0
    for turn in range(150):
        broken = mutate(log, rng)
        samples = broken.get("samples") if isinstance(broken, dict) else None
        named = [one for one in samples if isinstance(one, dict)] if isinstance(samples, list) else []
        whole = {
            **(broken if isinstance(broken, dict) else {}),
            "samples": [{"id": 0, "epoch": 0} | one for one in named],
        }
        file.write_bytes(pack(whole, rng.choice([0, 8, 93]), ended=turn % 5 > 0))
        read_at_all += attempt(file)
    assert read_at_all > 75
    data = pack(log)
    for turn in range(150):
        broken = bytearray(data)
        if turn % 5 == 0:
            del broken[rng.randrange(len(broken)) :]
        else:
            for _ in range(3):
                broken[rng.randrange(len(broken) // 2 * (turn % 2), len(broken))] = rng.randrange(256)
        file.write_bytes(broken)
        attempt(file)


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_mutated_bytes(log, tmp_path):
    rng = random.Random(log.name)
    data = log.read_bytes()
    file = tmp_path / log.name
    for turn in range(30):
        broken = bytearray(data)
        if turn % 3 == 0:
            del broken[rng.randrange(len(broken)) :]
        elif turn % 3 == 1:
            for _ in range(3):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
        else:
            start = rng.randrange(len(broken))
            del broken[start : start + rng.randrange(20)]
        file.write_bytes(broken)
        attempt(file)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_mutated_frames(kind, tmp_path):
    rng = random.Random(kind)
    whole = tmp_path / f"whole.{kind}"
    frame = read(FIXTURES / "native" / "toy.csv")
    frame.write_parquet(whole) if kind == "parquet" else frame.write_ipc(whole)
    data = whole.read_bytes()
    file = tmp_path / f"log.{kind}"
    for turn in range(60):
        broken = bytearray(data)
        if turn % 2:
            del broken[rng.randrange(len(broken)) :]
        else:
            for _ in range(3):
                broken[rng.randrange(4, len(broken))] = rng.randrange(256)
        file.write_bytes(broken)
        attempt(file)


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("data", [b"", b"null", b"3", b'"x"', b"[]", b"{}", b"[[]]", b"[{}]", b"\xff\xfe", b"{" * 9000])
def test_anything_may_be_sniffed(kind, data):
    document = Document(Path("log.txt"), data)
    assert kind.sniff(document) is False
