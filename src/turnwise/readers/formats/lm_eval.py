"""Samples of EleutherAI's evaluation harness: `samples_<task>_<time>.jsonl`."""

import re
from typing import Any

import msgspec

from turnwise.readers.records import json_text, leftovers, parse, worded
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table, Turn
from turnwise.schema import NO_ATTACK

NAME = re.compile(r"samples_(?P<task>.+?)(_\d{4}-\d\d-\d\dT[\d:.-]+)?\.jsonl?(\.gz|\.zst)?", re.DOTALL)
PASSED = ("exact_match", "acc", "pass@1", "em")  # which metrics say that a document was solved, the first first


class Sample(msgspec.Struct):
    """One line."""

    doc_id: int | str
    arguments: Any = None
    resps: Any = None
    filtered_resps: Any = None
    target: Any = None
    filter: str | None = None
    metrics: list[str] | None = None
    doc: Any = None


def sniff(document: Document) -> bool:
    """Return whether the file holds samples: lines with `doc_id`, `arguments` and `resps`."""
    return document.kind in {"lines", "json"} and {"doc_id", "arguments", "resps"} <= document.keys


def read_lm_eval(document: Document, table: Table) -> None:
    r"""Each document into a rollout of one turn.

    =========================== ============================================================================
    in the file                 in the table
    =========================== ============================================================================
    hash of the content         `run`: the file has no name but its task
    run, `doc_id`               `rollout_id`
    task in the file's name     `task`, followed by `doc_id`; and `category`
    first of `arguments`        `prompt`
    first of `resps`            `response`; of a multiple choice the continuation of the highest likelihood,
                                whose likelihood is the column `log_likelihood`; null where the likelihood of the
                                prompt was asked for (`loglikelihood_rolling`), and nothing was said
    `target`                    `expected`
    `metrics`                   `score_<name>`; `solved` where exact_match, acc, pass@1 or em, in this order, is
                                0 or 1
    `filter`                    a document is written once for each filter: the first is the rollout's, scores of
                                the others are `score_<name>_<filter>`
    =========================== ============================================================================

    The target stands in the name of the folder, or nowhere: ``read(path, target="gpt-4o")``. `attack` is `none`, so
    `goal` and `outcome` are null, as is `ending`; `attempt` is 1. `resps`, `filtered_resps` and `doc` are kept as JSON
    text (of several repeats of a document the first is the response), as is what else a sample holds. Built from the
    fields that `evaluate` logs (lm_eval/evaluator.py).

    The producer judges the `whole_rollout`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"doc_id": 3, "target": "4", "arguments": [["2 + 2?", {"until": []}]], "resps": [["4!"]],
    ... "filtered_resps": ["4"], "filter": "none", "metrics": ["exact_match"], "exact_match": 1.0}'''
    >>> table = Table("lm_eval", Problems(), {})
    >>> path = Path("samples_sums_2025-01-01T00-00-00.000000.jsonl")
    >>> read_lm_eval(Document(path, log.replace(b"\n", b" ")), table)
    >>> table.frame().select("task", "prompt", "response", "score_exact_match", "solved").row(0)
    ('sums/3', '2 + 2?', '4!', 1.0, True)
    """
    run = f"lm_eval-{document.digest}"
    named = NAME.fullmatch(document.path.name)
    task = None if named is None else named["task"]
    found: dict[str, list[tuple[int, Sample, dict[str, Any]]]] = {}
    for number, value in document.records():
        with table.record(document.name, number):
            sample = parse(value, Sample)
            found.setdefault(str(sample.doc_id), []).append((number, sample, leftovers(value, Sample)))
    for name, samples in found.items():
        number, first, rest = samples[0]
        with table.record(document.name, number):
            scores: dict[str, Any] = {}
            for place, (_, sample, beside) in enumerate(samples):
                for metric in sample.metrics or []:
                    key = f"score_{metric}" if place == 0 else f"score_{metric}_{sample.filter}"
                    scores[key if key not in scores else f"{key}_{place}"] = beside.get(metric)
            prompt, response, likelihood = _exchange(first)
            table.add(
                document.name,
                f"{run}/{name}",
                [
                    Turn(
                        turn=None if response is None and first.resps in (None, []) else 1,
                        prompt=prompt,
                        response=response,
                    )
                ],
                {
                    "run": run,
                    "attack": NO_ATTACK,
                    "task": "/".join(filter(None, (task, name))),
                    "category": task,
                    "attempt": 1,
                    "expected": worded(first.target),
                    "solved": _solved(scores),
                },
                {
                    **scores,
                    "log_likelihood": likelihood,
                    "filter": first.filter,
                    "resps": json_text(first.resps),
                    "filtered_resps": json_text(first.filtered_resps),
                    "doc": json_text(first.doc),
                    **{name: value for name, value in rest.items() if name not in (first.metrics or [])},
                },
            )


def _exchange(sample: Sample) -> tuple[str | None, str | None, float | None]:
    """Return prompt and answer; of a multiple choice the likeliest answer, and how likely it is."""
    asked = [_argument(given) for given in _listed(sample.arguments)]
    given = _listed(sample.resps)[: _choices(asked)]
    likely = [(pair, place) for place, answer in enumerate(given) if (pair := _likelihood(answer)) is not None]
    if likely and len(likely) == len(given):
        likelihood, place = max(likely, key=lambda found: found[0])
        chosen = asked[place] if place < len(asked) else (None, None)
        return chosen[0], chosen[1], likelihood
    response = _innermost(given)
    rolling = _rolling(sample.arguments, response)
    return (asked[0][0] if asked else None), (worded(response) if rolling is None else None), rolling


def _choices(asked: list[tuple[str | None, str | None]]) -> int | None:
    """Return the end of the choices: acc_mutual_info asks each once more, with nothing before it."""
    half = len(asked) // 2
    given, dry = asked[:half], asked[half:]
    again = [said for _, said in given] == [said for _, said in dry]
    return half if again and any(context for context, _ in given) and not any(context for context, _ in dry) else None


def _rolling(arguments: Any, answer: Any) -> float | None:
    """The log-likelihood of a whole text, where nothing but the text was given and nothing but a number came back."""
    parts = next(iter(_listed(arguments)), None)
    if isinstance(parts, str) or len(_listed(parts)) != 1:
        return None
    try:
        return float(answer)
    except (TypeError, ValueError, OverflowError):
        return None


def _listed(value: Any) -> list[Any]:
    """Return a list unchanged; of an object (as newer versions write arguments) its values."""
    return value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []


def _argument(given: Any) -> tuple[str | None, str | None]:
    """The context and the continuation, where it is one."""
    parts = _listed(given) or [given]
    second = parts[1] if len(parts) > 1 and isinstance(parts[1], str) else None
    return worded(parts[0]), second


def _innermost(value: Any) -> Any:
    while isinstance(value, list):
        value = value[0] if value else None
    return value


def _likelihood(answer: Any) -> float | None:
    """The log-likelihood in an answer: ``[[-1.5, false]]``, or the same without a list around it."""
    while isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    if isinstance(answer, list) and len(answer) == 2 and str(answer[1]) in {"True", "False"}:
        try:
            return float(answer[0])
        except (TypeError, ValueError, OverflowError):
            return None
    return None


def _solved(scores: dict[str, Any]) -> bool | None:
    known = (scores[f"score_{name}"] for name in PASSED if f"score_{name}" in scores)
    value = next(known, None)
    return bool(value) if isinstance(value, int | float) and value in {0, 1} else None
