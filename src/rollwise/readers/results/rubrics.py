"""Docent (Transluce): what judges say of agent runs under a rubric, as verdicts.

- File: JSON or JSON lines of `JudgeResult`, or an object with them under `results`, as `get_rubric_run_state` gives it.
- Format: https://github.com/TransluceAI/docent, docent/docent/judges/types.py
- Checked on: results that its own classes, version 0.1.88, wrote of runs of its own data model.
- Of a run with several transcripts, which are rollouts of their own, a verdict is joined by `run`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rollwise.readers.common import has_fields, is_object
from rollwise.readers.json_texts import names_if_any, surface_if_any
from rollwise.readers.problems import Problems
from rollwise.readers.records import inner, json_text, parse, worded
from rollwise.readers.sources.documents import Document

RESULT = ("agent_run_id", "rubric_id", "rubric_version", "output")
NUMBERS = {
    "yes": 1.0,
    "no": 0.0,
    "true": 1.0,
    "false": 0.0,
    "match": 1.0,
    "no match": 0.0,
}  # of Docent's default rubric
FAILURE = "FAILURE"
RANGE = re.compile(r"<RANGE>(.*?)</RANGE>", re.DOTALL)  # around the words that are cited


class JudgeResult(msgspec.Struct):
    """Judgment of a judge on one run."""

    agent_run_id: str
    rubric_id: str
    output: dict[str, Any]
    rubric_version: int = 1
    result_type: str | None = None
    result_metadata: Any = None
    id: str | None = None


def sniff(document: Document) -> bool:
    """Return whether the file holds results of judges: records with a run, a rubric and an output."""
    if is_object(document) and "results" in document.keys:
        results = surface_if_any(document.top["results"])
        return isinstance(results, list) and bool(results) and set(RESULT) <= set(names_if_any(results[0]))
    return has_fields(document, *RESULT)


def verdicts(document: Document, problems: Problems) -> Iterator[dict[str, Any]]:
    """Yield a verdict for each field of each output that is not a text of the judge's own.

    The fields of an output are what the rubric's schema asks for: usually a label and an explanation with citations. Texts
    with citations are the reasoning, and so is a text called `explanation`; any other value is a verdict.
    """
    samples: Counter[tuple[str, str]] = Counter()
    for place, value in _results(document):
        with problems.record(document.name, place):
            result = parse(value, JudgeResult)
            has_failed = result.result_type == FAILURE
            fields = {name: field for name, field in result.output.items() if not _is_text(name, field)}
            reasons = {name: field for name, field in result.output.items() if name not in fields}
            rubric = f"{result.rubric_id}/{result.rubric_version}"
            for name, answer in (fields or ({"label": None} if has_failed else {})).items():
                judge = rubric if name == "label" else f"{rubric}/{name}"
                samples[result.agent_run_id, judge] += 1
                yield {
                    "rollout_id": result.agent_run_id,
                    "run": result.agent_run_id,
                    "judge": judge,
                    "sample": samples[result.agent_run_id, judge],
                    "value": None if has_failed else _number(answer),
                    "label": None if answer is None else worded(answer),
                    "reasoning": "\n\n".join(_text_of(reason) for reason in reasons.values()) or None,
                    "error": (json_text(result.result_metadata) or FAILURE) if has_failed else None,
                    "quotes": json_text([quote for reason in reasons.values() for quote in _quotes_in(reason)] or None),
                    "result_id": result.id,
                }


def _results(document: Document) -> Iterator[tuple[object, Any]]:
    """Yield the results, each with its place."""
    if is_object(document) and "results" in document.keys:
        yield from ((f"results[{place}]", value) for place, value in enumerate(document.value["results"]))
        return
    yield from document.records()


def _is_text(name: str, value: Any) -> bool:
    return name == "explanation" or (isinstance(value, Mapping) and "citations" in value)


def _text_of(value: Any) -> str:
    text = value.get("text") if isinstance(value, Mapping) else value
    return text if isinstance(text, str) else worded(text) or ""


def _quotes_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield what a text cites, as quotes of Petri's judge are: of which message, and the words."""
    for citation in value.get("citations") or () if isinstance(value, Mapping) else ():
        item = inner(citation, "target", "item") or citation
        words = inner(citation, "target", "text_range", "start_pattern") or _range(_text_of(value), citation)
        places = {
            name: item[name] for name in ("transcript_id", "block_idx") if isinstance(item, dict) and name in item
        }
        yield {**places, "quoted_text": words}


def _range(text: str, citation: Mapping[str, Any]) -> str | None:
    """Return the words that a citation marks; its places count units of UTF-16, as browsers do."""
    start, end = citation.get("start_idx"), citation.get("end_idx")
    if not isinstance(start, int) or not isinstance(end, int):
        return None
    cited = text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "replace")
    marked = RANGE.search(cited)
    return None if marked is None else marked[1]


def _number(value: Any) -> float | None:
    if isinstance(value, bool | int | float):
        return float(value)
    return NUMBERS.get(value.strip().lower()) if isinstance(value, str) else None
