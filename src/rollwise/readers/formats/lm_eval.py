"""LM evaluation harness (EleutherAI): the samples of one task.

- File: `<model>/samples_<task>_<time>.jsonl`, one line per document and filter.
- Format: https://github.com/EleutherAI/lm-evaluation-harness, `evaluate` in lm_eval/evaluator.py
- Checked on: files that the harness wrote in 2026 (0.4.13), for generation, multiple choice, and log-likelihoods.
- Lost: nothing; of several responses to a document only the first is a turn.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from rollwise.readers.chronology import latest, tell
from rollwise.readers.common import is_verdict, zero_or_one
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record, once
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import json_text, parse, worded
from rollwise.readers.sources.beside import bytes_beside
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import NO_ATTACK

SHAPES = Shapes({"doc_id", "arguments", "resps"})
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


class Scored(msgspec.Struct):
    """The metrics of a document under one filter."""

    metrics: list[str] | None = None
    filter: str | None = None


class Results(msgspec.Struct):
    """Summary of a run, in a file of its own."""

    model_name: str | None = None


def _documents(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield each document, from the line of its first filter, which may be far from the others."""
    match = NAME.fullmatch(document.path.name)
    target = None if match is None else _target(document.path.with_name(f"results{match['time'] or ''}.json"))
    # Two models may give the same answers, so the content alone does not tell their runs apart.
    run = "/".join(filter(None, (target, around.run)))
    constants = {"run": run, "target": target, "task": match and match["task"]}
    by_document: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, value in document.records():
        with builder.record(document.name, number):
            same = by_document.setdefault(str(parse(value, Name).doc_id), [])
            if _is_new(value, same):
                same.append((number, value))
            else:
                tell("doc_id", "a line before it says the same, and counts")
                builder.passes_over(document.name)
    for lines in by_document.values():
        number, first = lines[0]
        metrics = first.get("metrics")
        scores = metrics if isinstance(metrics, list) else []
        fields = {name: value for name, value in first.items() if name not in scores}
        yield Record(fields, number, replace(around, found={**constants, "lines": lines}))


def _target(results: Path) -> str | None:
    """Return the model that the results of a run name."""
    data = bytes_beside(results, results.absolute().parent)
    try:
        return None if data is None else msgspec.json.decode(data, type=Results).model_name
    except msgspec.DecodeError:  # the samples are read all the same
        return None


def _is_new(line: Any, others: Sequence[tuple[int, Any]]) -> bool:
    """Return whether a line is not a copy of another of its document; one with the same filter may only differ in its metrics."""
    for _, earlier in others:
        if line == earlier:
            return False
        if line.get("arguments") != earlier.get("arguments"):
            raise BrokenError("names a second document, with other arguments", field="doc_id")
        if line.get("filter") == earlier.get("filter") and line.get("resps") != earlier.get("resps"):
            raise BrokenError("names a document with other responses", field="doc_id")
    return True


@once
def _scores(record: Record) -> dict[str, Any]:
    """`metrics`; of the other filters of a document as `score_<name>_<filter>`."""
    # A document of which one filter cannot be read is broken: another filter may give another verdict.
    stated: dict[str, list[tuple[Any, None]]] = {}
    for number, line in record["@lines"]:
        try:
            scored = parse(line, Scored)
        except BrokenError as error:
            error.record = str(number)  # the line of this filter, not the first one of the document
            raise
        for metric in scored.metrics or []:
            # Scores of the first filter have no suffix.
            key = metric if scored.filter == record["filter"] else f"{metric}_{scored.filter}"
            stated.setdefault(key, []).append((line.get(metric), None))
    return {name: latest(values, name) for name, values in stated.items()}


def _solved(record: Record) -> bool | None:
    """`exact_match`, `acc`, `pass@1`, `em`: the first that is there."""
    scores = _scores(record)
    name = next((name for name in SOLVING if name in scores), None)
    value = None if name is None else scores[name]
    if name is not None and value is not None and not is_verdict(value):
        warn(name, f"{value!r:.60} is not a number: `solved` is null")
    return zero_or_one(value)


def _sign(record: Record) -> float | None:
    """Return a score of any filter that would say whether the document is solved."""
    return next((line[name] for _, line in record["@lines"] for name in SOLVING if is_verdict(line.get(name))), None)


def _turns(record: Record) -> list[TurnRow]:
    """`arguments`, `resps`: the first of each."""
    prompt, response, _ = _exchange(record)
    number = None if response is None and record["resps"] in (None, []) else 1
    return [TurnRow(turn=number, prompt=prompt, response=response)]


@once
def _exchange(record: Record) -> tuple[str | None, str | None, float | None]:
    """Return prompt and answer; of a multiple choice the likeliest answer, and how likely it is."""
    requests = [_request(arguments) for arguments in _listed(record["arguments"])]
    answers = _listed(record["resps"])[: _choices(requests)]
    likelihoods = [_likelihood(answer) for answer in answers]
    ranked = [(likelihood, place) for place, likelihood in enumerate(likelihoods) if likelihood is not None]
    if ranked and len(ranked) == len(answers):  # multiple choice: the first of the likeliest wins
        highest, place = max(ranked, key=itemgetter(0))
        prompt, choice = requests[place] if place < len(requests) else (None, None)
        return prompt, choice, highest
    response = _innermost(answers)
    rolling = _rolling(record["arguments"], response)
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


def _as_json(name: str) -> Mapping[str, Any]:
    return {"by": lambda record: json_text(record[name]), "in_file": f"`{name}`", "note": "as JSON text"}


LM_EVAL = RecordMapping(
    module=__name__,
    doc="""Read each document as a rollout of one turn.

{fields}

A document has a line for each filter: it is read from the first, which is the column `filter`. The answer to a multiple
choice is the continuation with the highest likelihood, which is the column `log_likelihood`; it is null where only the
likelihood of the prompt was computed (`loglikelihood_rolling`). Of several repeats, the first is the response.

Without the file of results, at most the name of the folder holds the target, so give it: ``read(path, target="gpt-4o")``. `goal`
and `outcome` are null, as is `ending`. All other fields of a sample become columns of their own names.

The producer judges the `whole_rollout`.""",
    records=_documents,
    run={"from": "@run", "in_file": "hash of the content, after the target where it is known"},
    rollout=["doc_id"],
    facts={
        "target": {
            "from": "@target",
            "in_file": "`model_name` of `results_<time>.json` in the same folder",
            "note": "of the same run",
        },
        "attack": {"value": NO_ATTACK},
        "task": {"by": ["@task", "doc_id"], "in_file": "task in the file's name, `doc_id`"},
        "category": {"from": "@task", "in_file": "task in the file's name"},
        "attempt": {"value": 1},
        "expected": "target",
    },
    turns=_turns,
    verdicts=[{"of": "task", "by": _solved, "note": "where it is 0 or 1"}],
    signs=[_sign],
    columns={
        "score_*": _scores,
        "log_likelihood": {"by": lambda record: _exchange(record)[2], "in_file": "`resps`", "note": "of a likelihood"},
        "filter": "filter",
        "resps": _as_json("resps"),
        "filtered_resps": _as_json("filtered_resps"),
        "doc": _as_json("doc"),
    },
    fields={"doc_id": int | str, "target": object, "filter": str | None, "metrics": list[str] | None},
    used={"arguments", "resps", "filtered_resps", "doc"},
)
