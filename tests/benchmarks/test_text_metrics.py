"""Metrics over responses as expressions, against the loop over responses that AISteer360's pages are written in."""

import gc
import json
import os
import re
import string
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from turnwise import metrics as m

Compared = Callable[..., None]
RESPONSES = int(os.environ.get("TURNWISE_BENCH_RESPONSES", "100000"))
ROUNDS = 3
LENGTHS = {"long": (30, 30), "short": (12, 3)}  # words of response and reference
COMMON = "the of and a to in is it that for on with as was".split()  # noqa: SIM905  # half of English prose is such words

pytestmark = pytest.mark.benchmark


def texts(words: int, seed: int) -> list[str]:
    """Sentences of words by Zipf's law: the common ones often, twelve thousand others seldom."""
    rng = np.random.default_rng(seed)
    others = ["".join(rng.choice(list("abcdefghilmnoprstu"), rng.integers(3, 10))) for _ in range(12_000)]
    vocabulary = np.array([*COMMON, *others])
    drawn = vocabulary[np.minimum(rng.zipf(1.3, (RESPONSES, words)) - 1, len(vocabulary) - 1)]
    marks = rng.choice([".", "!", "", ", or", "?"], RESPONSES)
    return [f"{' '.join(row).capitalize()}{mark}" for row, mark in zip(drawn.tolist(), marks, strict=True)]


def calls(seed: int) -> list[list[dict[str, str]]]:
    """Up to six calls of five tools."""
    rng = np.random.default_rng(seed)
    counts, names = rng.integers(0, 7, RESPONSES).tolist(), rng.choice(list("abcde"), (RESPONSES, 6)).tolist()
    return [[{"name": name, "arguments": "{}"} for name in row[:n]] for row, n in zip(names, counts, strict=True)]


def choices(seed: int) -> list[str]:
    """Letters as models give them: small ones, with blanks."""
    drawn = np.random.default_rng(seed).choice(["A", "B", "C", "D", "b", " c", "D\n"], RESPONSES)
    return [str(letter) for letter in drawn]


def table(length: str) -> pl.DataFrame:
    """Responses, references, choices and calls; every third response says what its reference says."""
    ours, theirs = (texts(words, seed) for seed, words in enumerate(LENGTHS[length]))
    return pl.DataFrame(
        {
            "response": [
                other.upper() if row % 3 == 0 else own
                for row, (own, other) in enumerate(zip(ours, theirs, strict=True))
            ],
            "expected": theirs,
            "choice": choices(4),
            "right": choices(5),
            "tool_calls": calls(2),
            "expected_calls": calls(3),
        }
    )


# ── the pages' way: a function of one response, called for each ───────────────────────────────────────────────────────
ARTICLES, PUNCTUATION = re.compile(r"\b(a|an|the)\b"), set(string.punctuation)


def normal(text: str) -> str:
    plain = "".join(character for character in text.lower() if character not in PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", plain).split())


def exact(ours: str, theirs: str) -> float:
    return float(normal(ours) == normal(theirs))


def f1(ours: Sequence[str], theirs: Sequence[str]) -> float:
    if not ours or not theirs:
        return float(ours == theirs)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(ours), shared / len(theirs)
    return 2 * precision * recall / (precision + recall)


def jaccard(ours: str, theirs: str) -> float:
    a, b = set(normal(ours).split()), set(normal(theirs).split())
    return len(a & b) / len(a | b) if a | b else 1.0


def cosine(ours: str, theirs: str) -> float:
    """The page of NeMo Agent Toolkit: a vectorizer fitted on each pair."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    matrix = TfidfVectorizer().fit_transform([theirs, ours])
    return float(cosine_similarity(matrix[0], matrix[1])[0][0])


def edits(ours: str, theirs: str) -> float:
    """Levenshtein's recursion in plain Python, as LangSmith's evaluator has it."""
    row = list(range(len(theirs) + 1))
    for i, left in enumerate(ours, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(theirs, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return 1 - row[-1] / max(len(ours), len(theirs))


def edits_in_c(ours: str, theirs: str) -> float:
    """The same C function that the expression calls."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_similarity(ours, theirs)


def distinct(responses: list[str], n: int) -> float:
    """The page's DistinctN."""
    total, unique = 0, set[tuple[str, ...]]()
    for response in responses:
        tokens = response.lower().split()
        grams = list(zip(*(islice(tokens, i, None) for i in range(n)), strict=False))
        total += len(grams)
        unique.update(grams)
    return len(unique) / total


def paired(
    function: Callable[[str, str], float], ours: str = "response", theirs: str = "expected"
) -> Callable[[pl.DataFrame], list[float]]:
    return lambda frame: [function(*pair) for pair in frame.select(ours, theirs).rows()]


def names(calls: Any) -> list[str]:
    return [call["name"] for call in calls]


def called(frame: pl.DataFrame) -> list[float]:
    return [f1(names(ours), names(theirs)) for ours, theirs in frame.select("tool_calls", "expected_calls").rows()]


def each(function: Callable[[str], bool]) -> Callable[[pl.DataFrame], list[bool]]:
    return lambda frame: [bool(text.strip()) and function(text) for text in frame["response"].to_list()]


def follows(name: str, **arguments: Any) -> pl.Expr:
    return m.instruction_followed(name, "response", **arguments)


def bullets(text: str) -> bool:
    return (
        len(re.findall(r"^\s*\*[^\*].*$", text, re.MULTILINE)) + len(re.findall(r"^\s*-.*$", text, re.MULTILINE)) == 2
    )


AT_LEAST: dict[str, Any] = {"relation": "at least"}
Loop = Callable[[pl.DataFrame], Any]
# the expression, the loop, how much slower the loop is at least, and which part of the table it runs over
WORK: dict[str, tuple[pl.Expr, Loop, float, int]] = {
    "exact_match": (m.exact_match("response", "expected"), paired(exact), 4, 10),
    "token_f1": (
        m.token_f1("response", "expected"),
        paired(lambda a, b: f1(normal(a).split(), normal(b).split())),
        3,
        10,
    ),
    "jaccard_similarity": (m.jaccard_similarity("response", "expected"), paired(jaccard), 3, 10),
    "tfidf_cosine": (m.tfidf_cosine("response", "expected"), paired(cosine), 30, 100),
    "levenshtein_similarity": (m.levenshtein_similarity("response", "expected"), paired(edits), 100, 1000),
    "levenshtein, loop in C": (m.levenshtein_similarity("response", "expected"), paired(edits_in_c), 0.3, 10),
    "choice_match": (
        m.choice_match("response", "expected"),
        paired(lambda a, b: a.strip().upper() == b.strip().upper()),
        1.3,
        1,
    ),
    "choice_match, letters": (
        m.choice_match("choice", "right"),
        paired(lambda a, b: a.strip().upper() == b.strip().upper(), "choice", "right"),
        1.3,
        1,
    ),
    "distinct_1": (m.distinct_n(1), lambda frame: distinct(frame["response"].to_list(), 1), 1, 1),
    "distinct_2": (m.distinct_n(2), lambda frame: distinct(frame["response"].to_list(), 2), 1, 1),
    "tool_call_f1": (m.tool_call_f1("tool_calls"), called, 5, 10),
    "no_comma": (follows("punctuation:no_comma"), each(lambda text: not re.search(r"\,", text)), 4, 10),
    "number_words": (
        follows("length_constraints:number_words", num_words=20, **AT_LEAST),
        each(lambda text: len(re.findall(r"\w+", text)) >= 20),
        4,
        10,
    ),
    "keywords": (
        follows("keywords:existence", keywords=["that", "with"]),
        each(lambda text: all(re.search(word, text, re.IGNORECASE) for word in ("that", "with"))),
        5,
        10,
    ),
    "number_bullet_lists": (follows("detectable_format:number_bullet_lists", num_bullets=2), each(bullets), 5, 10),
}


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes, what it leaves thrown away."""
    gc.collect()
    start = time.perf_counter()
    found = work()
    taken = time.perf_counter() - start
    del found
    return taken


def measured(frame: pl.DataFrame, expression: pl.Expr, loop: Loop, share: int) -> tuple[float, float, float]:
    """Microseconds a response of the expression and of the loop, and the median of their ratios."""
    part = frame.head(len(frame) // share)
    rounds = [(seconds(lambda: frame.select(expression)), share * seconds(lambda: loop(part))) for _ in range(ROUNDS)]
    ratios = sorted(theirs / ours for ours, theirs in rounds)
    ours, theirs = (1e6 * sorted(taken)[ROUNDS // 2] / len(frame) for taken in zip(*rounds, strict=True))
    return ours, theirs, ratios[ROUNDS // 2]


@pytest.mark.parametrize("length", LENGTHS)
def test_expressions_against_loops(length: str, compared: Compared) -> None:
    """Equal values; the median ratio of three rounds is at least what stands in the table, for a busy machine; ten is the aim."""
    pytest.importorskip("sklearn", reason="scikit-learn, a peer, is not installed")
    frame = table(length)
    for name, (expression, loop, least, share) in WORK.items():
        part = frame.head(len(frame) // share)
        values, theirs = part.select(expression.alias("x"))["x"].to_list(), loop(part)
        assert values == pytest.approx(theirs if isinstance(theirs, list) else [theirs], abs=1e-12)
        ours, other, ratio = measured(frame, expression, loop, share)
        print(f"\n{length:5} {name:24} {ours:6.2f} us, loop {other:9.2f} us a response: {ratio:7.1f}x", end="")  # noqa: T201
        peer = "rapidfuzz in a loop" if name.endswith("in C") else "the loop of the page"
        aim = None if name.endswith("in C") else 10
        compared(f"{name}, {length} texts", peer, ratio, target=aim, floor=least)


def accuracy_by_loop(frame: pl.DataFrame) -> tuple[float, float, float, float]:
    """AISteer360's MCQAAccuracy: trial by trial, then question by question."""
    trials: list[int] = []
    questions = defaultdict[str, list[int]](list)
    for question, response, reference in frame.select("question", "choice", "right").rows():
        if response is not None:
            trials.append(int(response.strip().upper() == reference.strip().upper()))
            questions[question].append(trials[-1])
    most = [int(sum(correct) > len(correct) / 2) for correct in questions.values()]
    return (*mean_and_std(trials), *mean_and_std(most))


def mean_and_std(values: list[int]) -> tuple[float, float]:
    return sum(values) / len(values), float(np.std(values, ddof=1))


def accuracy(frame: pl.DataFrame) -> tuple[Any, ...]:
    """The same of expressions, in one query."""
    trials = frame.lazy().select("question", correct=m.choice_match("choice", "right"))
    questions = trials.group_by("question").agg(m.majority("correct"))
    both = (trials, "correct"), (questions, "majority")
    asked = [of.select(mean=pl.col(name).mean(), std=pl.col(name).cast(pl.Float64).std(ddof=1)) for of, name in both]
    over_trials, over_questions = pl.collect_all(asked, engine="streaming")
    return (*over_trials.row(0), *over_questions.row(0))


def test_accuracy_with_majority_against_the_loop(compared: Compared) -> None:
    """Five trials of each question: accuracy over trials and questions, as the page's MCQAAccuracy has it."""
    questions = [f"q{trial // 5}" for trial in range(RESPONSES)]
    frame = pl.DataFrame({"question": questions, "choice": choices(4), "right": choices(5)})
    assert accuracy(frame) == pytest.approx(accuracy_by_loop(frame), abs=1e-12)
    rounds = [(seconds(lambda: accuracy(frame)), seconds(lambda: accuracy_by_loop(frame))) for _ in range(9)]
    ratio = sorted(theirs / ours for ours, theirs in rounds)[len(rounds) // 2]
    print(f"\naccuracy over trials and questions: {ratio:.1f}x", end="")  # noqa: T201
    compared("multiple choice with majority", "the loop of the page", ratio, target=10, floor=5)


def test_peak_memory() -> None:
    """What expressions and loops add to a process that holds the table is printed; no expression takes a GiB."""
    for name in ("exact_match", "token_f1", "jaccard_similarity", "distinct_2"):
        found = {}
        for way in ("expression", "loop"):
            command = [sys.executable, __file__, name, way]
            told = subprocess.run(
                command,
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            found[way] = json.loads(told.stdout)
        print(f"\npeak of {name:20} expression {found['expression']:.0f} MiB, loop {found['loop']:.0f} MiB", end="")  # noqa: T201
        assert found["expression"] < 1024


def memory(name: str) -> float:
    """A figure of this process, in MiB: `VmRSS` now, `VmHWM` at its highest."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)]
    return int(line.split()[1]) / 2**10


if __name__ == "__main__":
    expression, loop, *_ = WORK[sys.argv[1]]
    ready = table("long")
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest so far
    before = memory("VmRSS")
    kept = ready.select(expression) if sys.argv[2] == "expression" else loop(ready)
    print(memory("VmHWM") - before)  # noqa: T201
