"""LM evaluation harness (EleutherAI): the samples of one task.

- File: `<model>/samples_<task>_<time>.jsonl`, one line per document and filter.
- Format: https://github.com/EleutherAI/lm-evaluation-harness, `evaluate` in lm_eval/evaluator.py
- Checked on: files that the harness wrote in 2026 (0.4.13), for generation, multiple choice, and log-likelihoods.
- Lost: nothing; of several responses to a document only the first is a turn.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from rollwise.readers.chronology import latest, tell
from rollwise.readers.common import has_fields, is_verdict, zero_or_one
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import json_text, leftovers, parse, worded
from rollwise.readers.sources.beside import bytes_beside
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnRow, TurnsBuilder
from rollwise.schema import NO_ATTACK

NAME = re.compile(
    r"samples_(?P<task>.+?)(?P<time>_\d{4}-\d\d-\d\dT[\d:.-]+)?\.jsonl?(\.gz|\.zst|\.bz2|\.xz)?", re.DOTALL
)
SOLVING = (
    "exact_match",
    "acc",
    "pass@1",
    "em",
)  # metrics that say whether a document is solved, in order of precedence


class Name(msgspec.Struct):
    """The field that the lines of a document share."""

    doc_id: int | str


class Sample(msgspec.Struct):
    """One document under one filter."""

    doc_id: int | str
    arguments: Any = None
    resps: Any = None
    filtered_resps: Any = None
    target: Any = None
    filter: str | None = None
    metrics: list[str] | None = None
    doc: Any = None


class Results(msgspec.Struct):
    """Summary of a run, in a file of its own."""

    model_name: str | None = None


def sniff(document: Document) -> bool:
    """Return whether the file holds samples: lines with `doc_id`, `arguments` and `resps`."""
    return has_fields(document, "doc_id", "arguments", "resps")


def read_lm_eval(document: Document, table: TurnsBuilder) -> None:
    r"""Read each document as a rollout of one turn.

    =========================== ============================================================================
    in the file                 in the table
    =========================== ============================================================================
    hash of the content         `run`, after the target where it is known: the file is named only by its task
    `model_name`                `target`: in the file `results_<time>.json` of the same run, where it is in the folder
    run, `doc_id`               `rollout_id`
    task in the file's name     `task`, followed by `doc_id`; and `category`
    first of `arguments`        `prompt`
    first of `resps`            `response`; in multiple choice, the continuation with the highest likelihood,
                                which is the column `log_likelihood`; null where only the likelihood of the
                                prompt was computed (`loglikelihood_rolling`)
    `target`                    `expected`
    `metrics`                   `score_<name>`; `solved` where exact_match, acc, pass@1 or em, in this order, is
                                0 or 1
    `filter`                    a document has a line for each filter: the rollout is read from the first, and
                                scores of the others are `score_<name>_<filter>`
    =========================== ============================================================================

    Without the file of results, at most the name of the folder holds the target, so give it: ``read(path,
    target="gpt-4o")``. `attack` is `none`, so `goal` and `outcome` are null, as is `ending`; `attempt` is 1. `resps`,
    `filtered_resps` and `doc` become columns of JSON text (the first of several repeats is the response), as do all
    other fields of a sample.

    The producer judges the `whole_rollout`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"doc_id": 3, "target": "4", "arguments": [["2 + 2?", {"until": []}]], "resps": [["4!"]],
    ... "filtered_resps": ["4"], "filter": "none", "metrics": ["exact_match"], "exact_match": 1.0}'''
    >>> table = TurnsBuilder("lm_eval", Problems(), {})
    >>> path = Path("samples_sums_2025-01-01T00-00-00.000000.jsonl")
    >>> read_lm_eval(Document(path, log.replace(b"\n", b" ")), table)
    >>> table.frame().select("task", "prompt", "response", "score_exact_match", "solved").row(0)
    ('sums/3', '2 + 2?', '4!', 1.0, True)
    """
    match = NAME.fullmatch(document.path.name)
    task = None if match is None else match["task"]
    target = None if match is None else _target(document.path.with_name(f"results{match['time'] or ''}.json"))
    # Two models may give the same answers, so the content alone does not tell their runs apart.
    run = "/".join(filter(None, (target, f"lm_eval-{document.digest}")))
    # One document has a line for each filter, which may be far apart in the file.
    by_document: dict[str, list[tuple[int, Any]]] = {}
    for number, value in document.records():
        with table.record(document.name, number):
            lines = by_document.setdefault(str(parse(value, Name).doc_id), [])
            if _is_new(value, lines):
                lines.append((number, value))
            else:
                tell("doc_id", "a line before it says the same, and counts")
                table.passes_over(document.name)
    for name, records in by_document.items():
        facts = {
            "run": run,
            "target": target,
            "attack": NO_ATTACK,
            "task": "/".join(filter(None, (task, name))),
            "category": task,
            "attempt": 1,
        }
        with table.rollout(document.name, records[0][0], partial(_identity, f"{run}/{name}", facts, records)):
            # A document of which one filter cannot be read is broken: another filter may give another verdict.
            samples = [(_sample(number, value), leftovers(value, Sample)) for number, value in records]
            first, first_extras = samples[0]
            stated: dict[str, list[tuple[Any, None]]] = {}
            for sample, extras in samples:
                for metric in sample.metrics or []:
                    # Scores of the first filter have no suffix.
                    key = f"score_{metric}" if sample.filter == first.filter else f"score_{metric}_{sample.filter}"
                    stated.setdefault(key, []).append((extras.get(metric), None))
            scores = {name: latest(values, name.removeprefix("score_")) for name, values in stated.items()}
            prompt, response, likelihood = _exchange(first)
            table.add(
                document.name,
                f"{run}/{name}",
                [
                    TurnRow(
                        turn=None if response is None and first.resps in (None, []) else 1,
                        prompt=prompt,
                        response=response,
                    )
                ],
                {**facts, "expected": worded(first.target), "solved": _solved(scores)},
                {
                    **scores,
                    "log_likelihood": likelihood,
                    "filter": first.filter,
                    "resps": json_text(first.resps),
                    "filtered_resps": json_text(first.filtered_resps),
                    "doc": json_text(first.doc),
                    **{name: value for name, value in first_extras.items() if name not in (first.metrics or [])},
                },
            )


def _is_new(line: Any, others: Sequence[tuple[int, Any]]) -> bool:
    """Return whether a line is not a copy of another of its document; one with the same filter may only differ in its metrics."""
    for _, other in others:
        if line == other:
            return False
        if line.get("arguments") != other.get("arguments"):
            raise BrokenError("names a second document, with other arguments", field="doc_id")
        if line.get("filter") == other.get("filter") and line.get("resps") != other.get("resps"):
            raise BrokenError("names a document with other responses", field="doc_id")
    return True


def _sample(number: int, value: Any) -> Sample:
    try:
        return parse(value, Sample)
    except BrokenError as error:
        error.record = str(number)  # the line of this filter, not the first one of the document
        raise


def _identity(rollout_id: str, facts: Mapping[str, Any], records: Sequence[tuple[int, Any]]) -> Identity | None:
    """Return what can be read of a document that is broken; None where it has no score."""
    scores = (record.get(metric) for _, record in records for metric in SOLVING)
    return (rollout_id, facts) if any(map(is_verdict, scores)) else None


def _target(results: Path) -> str | None:
    """Return the model that the results of a run name."""
    data = bytes_beside(results, results.absolute().parent)
    try:
        return None if data is None else msgspec.json.decode(data, type=Results).model_name
    except msgspec.DecodeError:  # the samples are read all the same
        return None


def _exchange(sample: Sample) -> tuple[str | None, str | None, float | None]:
    """Return prompt and answer; of a multiple choice the likeliest answer, and how likely it is."""
    requests = [_request(arguments) for arguments in _listed(sample.arguments)]
    answers = _listed(sample.resps)[: _choices(requests)]
    likelihoods = [_likelihood(answer) for answer in answers]
    ranked = [(likelihood, place) for place, likelihood in enumerate(likelihoods) if likelihood is not None]
    if ranked and len(ranked) == len(
        answers
    ):  # multiple choice: each answer is a likelihood, the first highest one wins
        highest, place = max(ranked, key=itemgetter(0))
        prompt, choice = requests[place] if place < len(requests) else (None, None)
        return prompt, choice, highest
    response = _innermost(answers)
    rolling = _rolling(sample.arguments, response)
    return (requests[0][0] if requests else None), (worded(response) if rolling is None else None), rolling


def _choices(requests: list[tuple[str | None, str | None]]) -> int | None:
    """Return the number of choices, or None for all requests.

    The metric acc_mutual_info sends each continuation twice: first after its context, then without one. The second half
    must not compete with the first.
    """
    half = len(requests) // 2
    contexts, continuations = [context for context, _ in requests], [text for _, text in requests]
    repeated = continuations[:half] == continuations[half:]
    return half if repeated and any(contexts[:half]) and not any(contexts[half:]) else None


def _rolling(arguments: Any, answer: Any) -> float | None:
    """Return the log-likelihood of a text, where the text is the only argument and a number the only answer."""
    # `loglikelihood_rolling` has one argument, the text, and one answer, its log-likelihood.
    parts = next(iter(_listed(arguments)), None)
    if isinstance(parts, str) or len(_listed(parts)) != 1:
        return None
    try:
        return float(answer)
    except (TypeError, ValueError, OverflowError):
        return None


def _listed(value: Any) -> list[Any]:
    """Return a list unchanged, or the values of an object, as newer versions write arguments."""
    return value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []


def _request(arguments: Any) -> tuple[str | None, str | None]:
    """Return the context of a request, and its continuation where it has one."""
    parts = _listed(arguments) or [arguments]
    second = parts[1] if len(parts) > 1 and isinstance(parts[1], str) else None
    return worded(parts[0]), second


def _innermost(value: Any) -> Any:
    while isinstance(value, list):
        value = value[0] if value else None
    return value


def _likelihood(answer: Any) -> float | None:
    """Return the log-likelihood in an answer: ``[[-1.5, false]]``, with or without the outer list."""
    # Each repeat of a request adds a list around its answer.
    while isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    if isinstance(answer, list) and len(answer) == 2 and str(answer[1]) in {"True", "False"}:
        try:
            return float(answer[0])
        except (TypeError, ValueError, OverflowError):
            return None
    return None


def _solved(scores: dict[str, Any]) -> bool | None:
    name = next((name for name in SOLVING if f"score_{name}" in scores), None)
    value = None if name is None else scores[f"score_{name}"]
    if name is not None and value is not None and not is_verdict(value):
        warn(name, f"{value!r:.60} is not a number: `solved` is null")
    return zero_or_one(value)
