"""Damaged stores of the three jobs: a sentence or the same results, never others."""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import RollwiseError

pytestmark = pytest.mark.integration

COUNT = int(os.environ.get("ROLLWISE_DAMAGES", "30"))  # damaged stores of each job
ITEMS = 12
CALLS: list[str] = []


def reply(text: str) -> dict[str, Any]:
    CALLS.append(text)
    return {"answer": f"{text}!", "score": len(text) / 10}


def rollout(folder: Path) -> Any:
    """The graphs of rollouts."""

    def play(seed: int) -> dict[str, Any]:
        return reply(f"seed {seed}" * (seed % 4))

    runs = rw.rollout.run(play, range(ITEMS), store=folder, key={"target": "a"}, progress=False)
    return [(run.seed, run.graph, run.error) for run in runs]


def judge(folder: Path) -> Any:
    """The values and reasons of verdicts."""

    def rate(response: str) -> dict[str, Any]:
        answer = reply(response)
        return {"score": answer["score"], "reasoning": answer["answer"]}

    rate.version = "1"  # type: ignore[attr-defined]
    texts = [f"text {number}" * (1 + number % 4) for number in range(ITEMS)]
    turns = pl.DataFrame({"rollout_id": "a", "turn": range(1, ITEMS + 1), "response": texts})
    return rw.judge(turns, rate, store=folder, progress=False).select("turn", "value", "reasoning", "error").rows()


def evaluation(folder: Path) -> Any:
    """The answers and scores of items."""
    folder.mkdir(exist_ok=True)
    entries = [
        {"id": number, "question": f"{number}?", "answer": f"{number}?!" if number % 3 else "no"}
        for number in range(ITEMS)
    ]
    (folder / "data.json").write_text(json.dumps(entries))
    (folder / "asking.py").write_text("from pathlib import Path\n\ndef answer(question):\n    return question + '!'\n")
    general = {"output_dir": str(folder / "out"), "dataset": {"file_path": str(folder / "data.json")}}
    configuration = {
        "workflow": {"_type": "function", "function": "asking:answer"},
        "eval": {"general": general, "evaluators": {"match": {"_type": "exact_match"}}},
    }
    (folder / "eval.yml").write_text(json.dumps(configuration))
    result = rw.evaluate(folder / "eval.yml", progress=False, overwrite=True)
    outputs = [json.loads((folder / "out" / f"{name}_output.json").read_text()) for name in ("workflow", "match")]
    return outputs, result.summary.select("metric", "estimate", "n").rows()


def outcome(job: Callable[[Path], Any], folder: Path) -> Any:
    """The results of a job, or the sentence that it ends with."""
    try:
        return job(folder)
    except RollwiseError as error:
        return error


def flip(text: bytearray, rng: random.Random) -> bytes:
    """One to three bits are others."""
    for _ in range(rng.randint(1, 3)):
        text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
    return bytes(text)


def cut(text: bytearray, rng: random.Random) -> bytes:
    """The end is missing."""
    return bytes(text[: rng.randrange(len(text))])


def hole(text: bytearray, rng: random.Random) -> bytes:
    """A part in the middle is missing, is zeros, or is there twice."""
    start, end = sorted(rng.randrange(len(text)) for _ in range(2))
    return bytes(text[:start] + rng.choice((b"", bytes(end - start), text[start:end] * 2)) + text[end:])


def shuffle(text: bytearray, rng: random.Random) -> bytes:
    """Lines behind the first one are in another order, and some are from elsewhere."""
    first, *lines = bytes(text).splitlines(keepends=True)
    lines += rng.sample([b'["0123456789abcdef","0",{}]\n', b"\n", b"{}\n", first, first[:30] + b"\n"], 2)
    rng.shuffle(lines)
    return first + b"".join(lines)


def replace_digit(text: bytearray, rng: random.Random) -> bytes:
    """A number was changed with care: the line is JSON as before."""
    digits = [place for place, byte in enumerate(text) if 48 <= byte <= 57]
    text[rng.choice(digits)] = rng.choice(b"0123456789")
    return bytes(text)


@pytest.mark.parametrize("job", [rollout, judge, evaluation])
def test_a_damaged_store_gives_a_sentence_or_the_same_results(job: Callable[[Path], Any], tmp_path: Path) -> None:
    """Whatever is damaged is asked for again, and nothing else is."""
    rng = random.Random(job.__name__)
    expected = job(tmp_path / "whole")
    refusals, repairs = 0, 0
    for number in range(COUNT):
        folder = shutil.copytree(tmp_path / "whole", tmp_path / str(number))
        path = rng.choice(sorted(folder.rglob("*.jsonl")))
        content = rng.choice((flip, cut, hole, shuffle, replace_digit))(bytearray(path.read_bytes()), rng)
        path.write_bytes(content)
        CALLS.clear()
        results = outcome(job, folder)
        if isinstance(results, RollwiseError):
            assert "\n" not in str(results)
            assert path.name in str(results)
            assert path.read_bytes() == content
            refusals += 1
        else:
            assert results == expected
            assert len(CALLS) <= ITEMS
            repairs += len(CALLS) > 0
        shutil.rmtree(folder)
    assert refusals < COUNT
    assert repairs or job is evaluation
