"""Nothing vanishes in silence, crashes or hangs, whatever is changed in a log: turns, a row of PROBLEMS, or one sentence."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readers.mutants import (  # type: ignore[import-not-found]  # needs the path of tests
    DAMAGE,
    FILES,
    FIXTURES,
    FOLDERS,
    LOGS,
    STEPS,
    TEXTUAL,
    damaged,
    findings,
    loaded,
    logs_of,
    mutated,
    outcome,
    rendered,
)
from simulations import repeated

import rollwise as rw
from rollwise import schema
from rollwise.errors import RollwiseError
from rollwise.readers import Document, read_summary
from rollwise.readers.registry import FORMATS
from rollwise.rollout import read_prompts

NAMES = sorted({log.relative_to(FIXTURES).parts[0] for log in LOGS})
# a record that is whole or broken is one rollout or one problem at least (in the others several records make one rollout)
ONE_EACH = {"jailbreakbench", "tau_bench", "mint", "openhands", "hh_rlhf", "sharegpt", "openai_chat", "verl", "skyrl"}
ALL = list(HealthCheck)


# ── one value changed ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("name", NAMES)
def test_mutants_of_every_format(name, tmp_path):
    seen = list(findings(70, 0, tmp_path, [name]))
    assert len(seen) > 20
    assert [f"{mutant}: {reason}" for mutant, reason in seen if reason is not None] == []


@pytest.mark.slow
def test_forty_thousand_mutants(tmp_path):
    count, wrong = 0, []
    for mutant, reason in findings(repeated(40_000), 0, tmp_path, []):
        count += 1
        if reason is not None:
            wrong.append(f"{mutant}: {reason}")
    assert wrong == []
    assert count == repeated(40_000)


# ── several things changed ────────────────────────────────────────────────────────────────────────────────────────────
def records_in(data: bytes, suffix: str) -> int:
    """How many records a log holds, broken ones included; 0 where it is no log any more."""
    document = Document(Path(f"log{suffix}"), data)
    try:
        if document.kind == "lines":
            return sum(1 for _ in document.lines())
        if document.kind == "json" and isinstance(document.value, list):
            return len(document.value)
    except Exception:  # noqa: BLE001 - broken is broken
        return 0
    return 0


def tried(name: str, shared: str, folder: Path, steps: Any, damage: Any, which: int) -> None:
    """Read a mutant with and without the name of its format."""
    known = logs_of(name, shared)
    suffix, value = known[which % len(known)]
    data = damaged(rendered(mutated(value, steps), suffix), damage)
    path = folder / f"log{suffix}"
    path.write_bytes(data)
    if outcome(path) is None:  # what cannot be collected cannot be read
        with pytest.raises(RollwiseError):
            rw.read(path)
    found = outcome(path, format=name)
    if found is None:
        return
    assert sum(found) > 0
    inside = records_in(data, suffix) if name in ONE_EACH else 0
    assert sum(found) >= inside, f"{inside} records became {found[0]} rollouts and {found[1]} problems"


def fuzz(name: str, shared: str, folder: Path, examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=ALL, database=None)
    @given(STEPS, DAMAGE, st.integers(0, FILES - 1))
    def run(steps: Any, damage: Any, which: int) -> None:
        tried(name, shared, folder, steps, damage, which)

    run()


@pytest.mark.integration
@pytest.mark.parametrize("name", TEXTUAL)
def test_mutated_records(name, tmp_path):
    assert logs_of(name, "")
    fuzz(name, "", tmp_path, 20)


@pytest.mark.integration
@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_mutated_real_records(name, shared, tmp_path):
    assert logs_of(name, str(shared)), "there are real records"
    fuzz(name, str(shared), tmp_path, 15)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_five_thousand_mutated_real_records(name, shared, tmp_path):
    fuzz(name, str(shared), tmp_path, repeated(5000, reduced=1000) // len(FOLDERS) + 8)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTUAL)
def test_two_hundred_mutated_records_of_every_format(name, tmp_path):
    fuzz(name, "", tmp_path, repeated(200, reduced=40))


@pytest.mark.integration
@pytest.mark.parametrize("verb", [read_summary, rw.judges.read_verdicts, read_prompts])
def test_mutants_without_rollouts(verb, tmp_path):
    @given(STEPS, DAMAGE, st.sampled_from(TEXTUAL), st.integers(0, FILES - 1))
    @settings(max_examples=80, deadline=None, suppress_health_check=ALL, database=None)
    def run(steps: Any, damage: Any, name: str, which: int) -> None:
        known = logs_of(name, "")
        suffix, value = known[which % len(known)]
        path = tmp_path / f"log{suffix}"
        path.write_bytes(damaged(rendered(mutated(value, steps), suffix), damage))
        said = ""
        try:
            frame, problems = verb(path, errors="collect")
        except RollwiseError as refusal:
            said = str(refusal)
        else:
            assert frame.height
            schema.check(problems, schema.PROBLEMS)
        assert "\n" not in said

    run()


@pytest.mark.integration
@given(STEPS, st.sampled_from([0, 8, 93]), st.booleans())
@settings(max_examples=100, deadline=None, suppress_health_check=ALL)
def test_mutated_archives(tmp_path_factory, pack, steps, method, ended):
    broken = mutated(loaded(FIXTURES / "inspect" / "log.json"), steps)
    header = broken if isinstance(broken, dict) else {}
    samples = header.get("samples")
    named = [one for one in samples if isinstance(one, dict)] if isinstance(samples, list) else []
    whole = {**header, "samples": [{"id": 0, "epoch": 0} | one for one in named]}
    path = tmp_path_factory.mktemp("mutant") / "log.eval"
    path.write_bytes(pack(whole, method, ended=ended))
    outcome(path)


# ── bytes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def parquet(path: Path) -> None:
    rw.read(FIXTURES / "native" / "toy.csv").write_parquet(path)


def arrow(path: Path) -> None:
    rw.read(FIXTURES / "native" / "toy.csv").write_ipc(path)


def fixture(pattern: str) -> Callable[[Path], None]:
    """What writes a log of the fixtures."""

    def write(path: Path) -> None:
        path.write_bytes(min(FIXTURES.glob(pattern)).read_bytes())

    return write


BINARY = {
    "table.parquet": parquet,
    "table.arrow": arrow,
    "trl.parquet": fixture("trl/*.parquet"),
    "art.parquet": fixture("art/*.parquet"),
    "scout.parquet": fixture("inspect_scout/*.parquet"),
    "memory.db": fixture("pyrit/memory.db"),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", [*BINARY, "log.eval"])
def test_damaged_bytes(name, tmp_path, pack):
    rng = random.Random(name)
    path = tmp_path / name
    if name == "log.eval":
        path.write_bytes(pack(loaded(FIXTURES / "inspect" / "log.json")))
    else:
        BINARY[name](path)
    data = path.read_bytes()
    for turn in range(90):
        broken, at = bytearray(data), rng.randrange(4, len(data))
        if turn % 3 == 0:
            del broken[at:]
        elif turn % 3 == 1:
            del broken[at : at + rng.randrange(20)]
        else:
            junk = rng.randbytes(rng.randint(1, 8))
            broken[at : at + len(junk)] = junk
        path.write_bytes(broken)
        outcome(path)


@pytest.mark.integration
@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_anything_may_be_sniffed(kind):
    for data in (b"", b"null", b"3", b'"x"', b"[]", b"{}", b"[[]]", b"[{}]", b"\xff\xfe", b"{" * 9000):
        assert kind.sniff(Document(Path("log.txt"), data)) is False, data[:9]
