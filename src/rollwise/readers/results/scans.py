"""Inspect Scout: what scanners found in transcripts, as verdicts."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rollwise.readers.formats.exchange.inspect_scout import Transcript
from rollwise.readers.native.files import from_binary
from rollwise.readers.problems import BrokenError, Problems
from rollwise.readers.records import json_text, parse
from rollwise.readers.sources.documents import Document

RESULT_SET = "resultset"  # the type of a value that is a list of results
OF_TRANSCRIPT = "transcript_"  # begins the names of columns about the transcript


class Scan(msgspec.Struct):
    """Result of one scanner for one transcript, message or event."""

    scanner_key: str
    value_type: str | None = None
    value: str | None = None
    label: str | None = None
    answer: str | None = None
    explanation: str | None = None
    input_type: str | None = None
    input_ids: str | None = None
    message_references: str | None = None
    event_references: str | None = None
    scan_error: str | None = None
    scan_id: str | None = None
    metadata: str | None = None
    validation_target: str | None = None
    validation_result: str | None = None


class Result(msgspec.Struct):
    """One of several results of a scanner."""

    value: Any = None
    label: str | None = None
    answer: str | None = None
    explanation: str | None = None
    references: Any = None


def verdicts(document: Document, problems: Problems) -> Iterator[dict[str, Any]]:
    """Yield a verdict for each result of each scan; a scan without any result has one verdict without a value."""
    samples: Counter[tuple[Any, ...]] = Counter()
    for place, row in enumerate(from_binary(document).iter_rows(named=True)):
        with problems.record(document.name, place):
            scan = parse(row, Scan)
            transcript = parse(_of_transcript(row), Transcript)
            about = {
                "rollout_id": transcript.rollout_id,
                "error": scan.scan_error,
                "target": transcript.model,
                "task": transcript.task,
                "attempt": transcript.task_repeat,
                "transcript_id": transcript.transcript_id,
                "message_id": _message(scan),
                "scan_id": scan.scan_id,
                "validation_target": scan.validation_target,
                "validation_result": scan.validation_result,
            }
            for verdict in _results(scan):
                key = (transcript.rollout_id, verdict["judge"], about["message_id"])
                samples[key] += 1
                yield {**about, **verdict, "sample": samples[key]}


def _of_transcript(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns about the transcript, under their names in the database; numbers are texts in a scan."""
    fields = {name.removeprefix(OF_TRANSCRIPT): value for name, value in row.items() if name.startswith(OF_TRANSCRIPT)}
    numbers = {name: _number(fields[name], f"{OF_TRANSCRIPT}{name}") for name in ("task_repeat",) if name in fields}
    return {"transcript_id": row["transcript_id"], **_texts(fields), **numbers}


def _texts(fields: Mapping[str, Any]) -> dict[str, Any]:
    wanted = ("source_type", "source_id", "task_set", "task_id", "model")
    return {name: fields[name] for name in wanted if name in fields}


def _number(value: Any, field: str) -> int | None:
    try:
        return None if value is None else int(value)
    except ValueError as error:
        raise BrokenError(f"expected a number, got {value!r}", field=field) from error


def _message(scan: Scan) -> str | None:
    """Return the message that was judged, where a scanner judges single messages."""
    ids = _decoded(scan.input_ids, "input_ids") if scan.input_type == "message" else None
    return ids[0] if isinstance(ids, list) and ids and isinstance(ids[0], str) else None


def _results(scan: Scan) -> Iterator[dict[str, Any]]:
    """Yield the results of a scan, one or several, each under the scanner and the result's own label."""
    if scan.value_type != RESULT_SET:
        value = scan.value if scan.value_type == "string" else _decoded(scan.value, "value")
        references = _decoded(scan.message_references, "message_references") or []
        references = [*references, *(_decoded(scan.event_references, "event_references") or [])]
        result = Result(value, scan.label, scan.answer, scan.explanation, references)
        # A judge of several dimensions gives an object with a score for each.
        parts = {f"{scan.scanner_key}/{name}": part for name, part in value.items()} if isinstance(value, dict) else {}
        for judge, part in (parts or {scan.scanner_key: value}).items():
            verdict = _verdict(msgspec.structs.replace(result, value=part))
            yield {**verdict, "judge": judge, "result_label": scan.label, "metadata": _nonempty(scan.metadata)}
        return
    results = _decoded(scan.value, "value") or []
    for place, value in enumerate(results):
        result = parse(value, Result, f"value[{place}]")
        yield {**_verdict(result), "judge": "/".join(filter(None, (scan.scanner_key, result.label)))}
    if not results:  # the scanner ran, and found nothing
        yield {**_verdict(Result()), "judge": scan.scanner_key}


def _verdict(result: Result) -> dict[str, Any]:
    """Return the value as a number where it is one or is true or false, and as a word in any case."""
    value = result.value
    return {
        "value": float(value) if isinstance(value, bool | int | float) else None,
        "label": value if isinstance(value, str) else json_text(value),
        "reasoning": result.explanation,
        "answer": result.answer,
        "references": json_text(result.references or None),
    }


def _nonempty(text: str | None) -> str | None:
    return None if text == "{}" else text


def _decoded(text: str | None, field: str) -> Any:
    """Return the value of JSON text."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenError(f"is not JSON: {text[:40] if text else text!r}", field=field) from error
