"""Mutants of logs: one value of a log changed in a systematic way, or several things changed at random.

    python tests/readers/mutants.py [--count 40000] [--seed 0] [--show 40] [FORMAT...]

Each systematic mutant is a small log of one format in which one value was changed: a word written otherwise or replaced, a type
changed, a list made an object or the reverse, a value removed. Fewer rollouts or turns than in the log itself are a silent
loss, unless a row of PROBLEMS was added, or the change took a part of the log away.
"""

import argparse
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from hypothesis import strategies as st

import rollwise as rw
from rollwise.errors import RollwiseError
from rollwise.readers import Document
from rollwise.readers.json_texts import lenient
from rollwise.readers.registry import FORMATS

FIXTURES = Path(__file__).parent / "fixtures"
LOGS = sorted(path for path in FIXTURES.rglob("*") if path.suffix in {".json", ".jsonl", ".traj"})
SECONDS = 10.0  # that a mutant may take on a busy machine
OTHER = {"x": "y"}
REMOVALS = frozenset({"null", "another object", "no item", "no field", "first item"})  # changes of a list or an object


@dataclass(frozen=True)
class Mutant:
    """A log with one change."""

    log: Path
    place: tuple[str | int, ...]
    change: str
    text: str
    is_removal: bool  # whether the change took a part of the log away

    def __str__(self) -> str:
        """Say what was changed where."""
        return f"{self.log.parent.name}/{self.log.name} {'.'.join(map(str, self.place))}: {self.change}"


@cache
def _is_of_lines(log: Path) -> bool:
    """Return whether a log has a record on each line; some tools call such a file `.json`."""
    return log.suffix == ".jsonl" or (log.exists() and Document(log).kind == "lines")


def loaded(log: Path) -> Any:
    """Return what is in a log; of one of lines, the list of them."""
    text = log.read_text()
    return [json.loads(line) for line in text.splitlines()] if _is_of_lines(log) else json.loads(text)


def written(log: Path, value: Any) -> str:
    """Return the text of a log, of lines where it has them."""
    is_lines = _is_of_lines(log) and isinstance(value, list)
    return "".join(json.dumps(line) + "\n" for line in value) if is_lines else json.dumps(value)


def spots(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, Any, tuple[str | int, ...]]]:
    """Iterate over every container in the value with each of its keys, and the place of that."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key, (*place, key)
            yield from spots(value[key], (*place, key))


def changes(value: Any) -> dict[str, Any]:
    """Return what a value may be changed into, by a name of the change."""
    same: dict[str, Any] = {"null": None, "in a list": [value], "another object": OTHER}
    if isinstance(value, str):
        words = {"blank": f"{value} ", "upper": value.upper(), "title": value.capitalize(), "longer": f"{value}2"}
        return {**words, "another word": "zzz", "number": 7, "empty": "", **same}
    if isinstance(value, bool | int | float):
        return {"text": str(value), "word": "zzz", "negative": -1, "fraction": 0.25, **same}
    if isinstance(value, list):
        items = {f"k{place}": item for place, item in enumerate(value)}
        first = {"first item": value[0]} if value else {}
        return {"object": items, "as text": json.dumps(value), "no item": [], **first, **same}
    if isinstance(value, dict):
        return {"list": list(value.values()), "as text": json.dumps(value), "no field": {}, **same}
    return {"word": "zzz", "number": 7, "flag": True, **same}


def mutants_of(log: Path, answers: frozenset[str] = frozenset()) -> list[Mutant]:
    """Return all mutants of a log; `answers` are the texts of the target in it, which a change may take away."""
    value = loaded(log)
    result = []
    for container, key, place in spots(value):
        before = container[key]
        is_part = isinstance(before, dict | list) and bool(before)
        is_answer = isinstance(before, str) and any(answer in before for answer in answers)
        for name, after in changes(before).items():
            if after == before and type(after) is type(before):
                continue
            container[key] = after
            takes_away = (is_part and name in REMOVALS) or (is_answer and after in (None, ""))
            result.append(Mutant(log, place, name, written(log, value), takes_away))
        container[key] = before
        if isinstance(container, dict):
            rest = {name: item for name, item in container.items() if name != key}
            container.pop(key)
            result.append(Mutant(log, place, "removed", written(log, value), is_part or is_answer))
            container.clear()
            container.update({**rest, key: before})
    return result


class Contents(NamedTuple):
    """What is read from a log."""

    rollouts: int
    rows: int
    turns: int
    problems: frozenset[Any]
    answers: frozenset[str]


def contents(path: Path) -> Contents:
    """Return what is read from a log."""
    turns, problems = rw.read(path, errors="collect")
    count = turns.filter(pl.col("turn").is_not_null()).height
    answers = frozenset(turns["response"].drop_nulls()) - {""}
    return Contents(turns["rollout_id"].n_unique(), turns.height, count, frozenset(problems.rows()), answers)


def finding(mutant: Mutant, path: Path, before: Contents) -> str | None:
    """Return what is wrong with reading a mutant: an error that is not ours, a hang, or a silent loss; None if nothing is."""
    path.write_text(mutant.text)
    start = time.perf_counter()
    try:
        after = contents(path)
    except RollwiseError as refusal:
        return "a refusal of several lines" if "\n" in str(refusal) else None
    except Exception as error:  # noqa: BLE001 - any of them is a finding
        return f"raw {type(error).__name__}"
    if time.perf_counter() - start > SECONDS:
        return "a hang"
    if after.problems - before.problems or mutant.is_removal:
        return None
    if after.turns < before.turns:
        return f"{before.turns} turns became {after.turns}"
    # Where all rows are there, two parts of one conversation were joined.
    is_fewer = after.rollouts < before.rollouts and after.rows < before.rows
    return f"{before.rollouts} rollouts became {after.rollouts}" if is_fewer else None


def findings(count: int, seed: int, folder: Path, formats: list[str]) -> Iterator[tuple[Mutant, str | None]]:
    """Iterate over mutants of all formats with what is wrong with them: an equal share of each, or all where it has fewer."""
    by_format: dict[str, list[Path]] = {}
    for log in LOGS:
        by_format.setdefault(log.relative_to(FIXTURES).parts[0], []).append(log)
    names = [name for name in by_format if not formats or name in formats]
    # The largest come last, and make up for those that have fewer mutants than their share.
    names.sort(key=lambda name: sum(log.stat().st_size for log in by_format[name]))
    remaining = count
    for place, name in enumerate(names):
        before = {}
        everything = []
        for log in by_format[name]:
            path = folder / log.relative_to(FIXTURES)  # some formats read facts from the names of folders
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(log.read_text())
            with suppress(RollwiseError):  # which holds no rollouts, such as the header of a run
                before[log] = contents(path)
                everything += mutants_of(log, before[log].answers)
        random.Random(f"{name} {seed}").shuffle(everything)
        chosen = everything[: -(-remaining // (len(names) - place))]
        remaining -= len(chosen)
        for mutant in chosen:
            yield mutant, finding(mutant, folder / mutant.log.relative_to(FIXTURES), before[mutant.log])


# ── several things changed at random, in records of real logs ─────────────────────────────────────────────────────────
FOLDERS = {  # of the real logs of each format
    "agentdojo": ("agentdojo_drift",),
    "jailbreakbench": ("jailbreakbench", "llm_adaptive_attacks"),
    "tau_bench": ("tau_bench",),
    "tau2": ("tau2_bench",),
    "intercode": ("intercode",),
    "inspect": ("inspect",),
    "mint": ("mint",),
    "garak": ("garak",),
    "quesma": ("quesma_gpt_oss",),
    "swe_agent": ("swe_agent",),
    "atif": ("atif",),
    "atof": ("atif",),
    "claude_code": ("claude_code_jsonl",),
    "deepteam": ("deepteam",),
    "hh_rlhf": ("hh_rlhf",),
    "sharegpt": ("fastchat",),
}
KEPT, FILES, LARGEST = 3, 6, 40_000  # records of one file, files of one format, bytes of one record
ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, -(10**400), 1e308, float("nan"), float("-inf"), "", "x", "1", "\x00", "\ud800"),
    *([], [None], [[]], {}, {"role": "assistant"}, {"": None}, [1, "a"], {"a": {"b": [1]}}, 2**63, -(2**63), 2**31),
]
DEEDS = ("put", "remove", "rename", "double", "wrap", "shuffle", "deepen", "repeat")
STEPS = st.lists(st.tuples(st.sampled_from(DEEDS), st.integers(0, 10**6), st.integers(0, 10**6)), max_size=4)
DAMAGE = st.one_of(
    st.none(),
    st.none(),
    st.tuples(st.sampled_from(("truncated", "not UTF-8", "nested", "huge number")), st.integers(0, 10**6)),
)


@cache
def logs_of(name: str, shared: str) -> tuple[tuple[str, Any], ...]:
    """Small logs of one format, made of real records: the suffix of each, and what is in it."""
    found = []
    for path in candidates(name, shared):
        document = Document(path)
        if document.kind not in {"json", "lines"} or not FORMAT[name].sniff(document):
            continue
        value = lenient(document.data)[0] if document.kind == "json" else [line for _, line in document.lines()]
        small = shortened(value)
        if len(json.dumps(small, default=str)) <= 4 * LARGEST:
            found.append((".jsonl" if document.kind == "lines" else document.suffix, small))
        if len(found) == FILES:
            break
    return tuple(found)


FORMAT = {kind.name: kind for kind in FORMATS}
_NO_JSON = {"trl", "inspect_scout", "ragas", "mhj", "xstest", "aider"}  # whose fixtures are Parquet, tables or text
TEXTUAL = [kind.name for kind in FORMATS if kind.name not in _NO_JSON]


def candidates(name: str, shared: str) -> Iterator[Path]:
    folders = [Path(shared) / folder for folder in FOLDERS.get(name, ())] if shared else []
    folders = folders or [FIXTURES / name]
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    random.Random(name).shuffle(paths)
    yield from paths


def shortened(value: Any) -> Any:
    """The value with a few of its records, the short ones."""
    if isinstance(value, list):
        return sorted(value, key=lambda item: len(json.dumps(item, default=str)))[: KEPT + 1][-KEPT:]
    for key in ("jailbreaks", "findings", "samples", "test_cases", "simulations", "details", "ticks", "trajectory"):
        if isinstance(value, dict) and isinstance(value.get(key), list):
            return {**value, key: value[key][: KEPT if key != "ticks" else 40]}
    if isinstance(value, dict) and all(isinstance(item, dict) for item in value.values()) and len(value) > KEPT:
        return dict(list(value.items())[:KEPT])
    return value


def mutated(value: Any, steps: list[tuple[str, int, int]]) -> Any:
    """The value with some things put in, removed, renamed, doubled, wrapped, shuffled, nested deeply or said again."""
    value = json.loads(json.dumps(value))
    for deed, where, what in steps:
        places = [spot[:2] for spot in islice(spots(value), 3000)]
        if not places:
            return value
        if deed == "repeat" and isinstance(value, list):
            value.append(json.loads(json.dumps(value[where % len(value)])))
        else:
            _change(*places[where % len(places)], deed, what)
    return value


def _change(inside: Any, key: Any, deed: str, what: int) -> None:
    if deed == "put":
        inside[key] = json.loads(json.dumps(ODD[what % len(ODD)]))
    elif deed == "remove":
        del inside[key]
    elif deed == "rename" and isinstance(inside, dict):
        inside[("x", "turn", "rollout_id", "role", "content", "error", "score", "id")[what % 8]] = inside.pop(key)
    elif deed == "double" and isinstance(inside, list):
        inside.append(json.loads(json.dumps(inside[key])))
    elif deed == "shuffle" and isinstance(inside, dict):
        items = list(inside.items())
        random.Random(what).shuffle(items)
        inside.clear()
        inside.update(items)
    else:
        # Four times this leaves the test's own recursion room on any stack; "nested" goes five thousand deep, in bytes.
        for _ in range(what % 150 if deed == "deepen" else 1):
            inside[key] = [inside[key]]


def rendered(value: Any, suffix: str) -> bytes:
    """Return the bytes of a log, of lines where its suffix says so."""
    return written(Path(f"log{suffix}"), value).encode("utf-8", "surrogatepass")


def damaged(data: bytes, damage: tuple[str, int] | None) -> bytes:
    if damage is None or not data:
        return data
    how, where = damage
    at = where % len(data)
    if how == "truncated":
        return data[:at]
    if how == "not UTF-8":
        return data[:at] + b"\xff\xfe\x80" + data[at:]
    if how == "nested":
        return data[:at] + b"[" * 5000 + data[at:]
    return data[:at] + b"9" * 400 + data[at:]


def outcome(path: Path, **options: Any) -> tuple[int, int] | None:
    """How many rollouts and problems a log gave; None where it was refused, in one sentence."""
    start = time.perf_counter()
    try:
        frame, problems = rw.read(path, errors="collect", **options)
    except RollwiseError as refusal:
        said = str(refusal)
    else:
        rw.schema.check(frame, rw.schema.TURNS)
        rw.schema.check(problems, rw.schema.PROBLEMS)
        return frame["rollout_id"].n_unique(), problems.height
    finally:
        assert time.perf_counter() - start < SECONDS, "that was a hang"
    assert "\n" not in said
    return None


def main() -> int:
    """Read mutants and report what is wrong; the exit code is 1 where anything is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=40)
    parser.add_argument("formats", nargs="*")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    number, kinds, shown = 0, Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for mutant, reason in findings(options.count, options.seed, Path(folder), options.formats):
            number += 1
            if reason is None:
                continue
            kind = f"{mutant.log.relative_to(FIXTURES).parts[0]}: {reason.split()[0] if 'became' not in reason else 'loss'}"
            kinds[kind] += 1
            shown[kind] += 1
            if shown[kind] <= options.show:
                print(f"{mutant}: {reason}", flush=True)  # noqa: T201 - a script
    print(f"{number} mutants, {kinds.total()} findings: {dict(kinds)}")  # noqa: T201 - a script
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
