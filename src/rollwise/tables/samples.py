"""Rollouts as the sample records of Every Eval Ever, each with the verdict of one result."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from rollwise.readers.formats.exchange.every_eval_ever import METADATA_KEY, UNKNOWN, Instance, turns_of
from rollwise.readers.records import parse
from rollwise.readers.table import TurnRow
from rollwise.schema import TURNS

VERSION = "0.3.0"  # of the schema
FACTS = tuple(column.name for column in TURNS.columns if column.fact)
READABLE = ("attack", "goal", "category", "outcome", "ending", "solved")  # facts that other tools can read as metadata
ROLLOUT_FACTS = frozenset({"rollout_id", *FACTS})

Record = dict[str, Any]


def content_of(rows: Sequence[Mapping[str, Any]]) -> Record:
    """Return the fields of a sample record that do not depend on the result: texts, facts, tokens, errors.

    What the schema has no field for, or would give back differently, is JSON text in the metadata, from which `rw.read` makes
    the same turns again.
    """
    first = rows[0]
    question = {
        "raw": next((row["prompt"] for row in rows if row.get("prompt") is not None), first.get("goal") or ""),
        "reference": [] if first.get("expected") is None else [first["expected"]],
    }
    # A single question and answer needs no list of messages.
    messages = None if _is_single(rows) else list(_messages(rows))
    called = any(row.get("tool_calls") for row in rows)
    errors = [row["error"] for row in rows if row.get("error") is not None]
    record: Record = {
        "schema_version": VERSION,
        "sample_id": str(first.get("task") or first.get("goal") or first["rollout_id"]),
        "sample_hash": _hash(question),
        "interaction_type": "single_turn" if messages is None else "agentic" if called else "multi_turn",
        "input": question,
        "output": {"raw": [] if first.get("response") is None else [first["response"]]} if messages is None else None,
        "messages": messages,
        "answer_attribution": [],
        "token_usage": _usage(rows),
        "performance": None if first.get("total_seconds") is None else {"latency_ms": 1000 * first["total_seconds"]},
        "error": "\n".join(errors) or None,
    }
    names = [name for name in READABLE if first.get(name) is not None]
    epoch = {} if first.get("attempt") is None else {"epoch": str(first["attempt"])}
    record["metadata"] = {**{name: str(first[name]) for name in names}, **epoch, METADATA_KEY: _stored(rows, record)}
    return record


def verdict(value: float | bool | None, *, lower_is_better: bool, is_boolean: bool) -> Record:  # noqa: FBT001
    """Return the verdict of one metric on a rollout; an unknown one is -1, as the schema has it for unknown levels."""
    score = float(UNKNOWN if value is None else value)
    # Whether a number is correct is only defined for yes and no.
    return {"score": score, "is_correct": is_boolean and value is not None and bool(value) != lower_is_better}


def number_of(value: Any) -> float | bool | None:
    """Return the value of a metric where it is a number; null where it is not finite or missing."""
    return value if isinstance(value, bool | int | float) and math.isfinite(value) else None


def by_rollout(turns: pl.DataFrame) -> Iterator[tuple[str, list[Record]]]:
    """Yield the rows of each rollout, in the order of the frame."""
    for part in turns.partition_by("rollout_id", maintain_order=True):
        yield part["rollout_id"][0], part.rows(named=True)


def _is_single(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether one prompt and one answer are all that a rollout has."""
    extra = ("context", "observation", "tool_calls")
    return len(rows) == 1 and all(rows[0].get(name) is None for name in extra)


def _messages(rows: Sequence[Mapping[str, Any]]) -> Iterator[Record]:
    """Yield the messages of a rollout, numbered from 0."""
    place = 0
    ids: list[str] = []  # of the calls of the answer before, which the next prompt answers

    def message(role: str, content: str | None, **fields: Any) -> Record:
        nonlocal place
        place += 1
        return {"turn_idx": place - 1, "role": role, "content": content, **fields}

    def reply(content: str) -> Record:
        return message("tool", content, tool_call_id=ids) if ids else message("user", content)

    for number, row in enumerate(rows):
        if number == 0 and row.get("context") is not None:
            yield message("system", row["context"])
        if row.get("prompt") is not None:
            yield reply(row["prompt"])
        calls = [
            {"id": f"call-{number + 1}-{k + 1}", "name": call["name"], "arguments": _arguments(call["arguments"])}
            for k, call in enumerate(row.get("tool_calls") or ())
        ]
        ids = [call["id"] for call in calls]
        if row["turn"] is not None:
            yield message("assistant", row.get("response"), tool_calls=calls or None)
        if row.get("observation") is not None and number == len(rows) - 1:
            yield reply(row["observation"])


def _arguments(text: str | None) -> dict[str, str] | None:
    """Return the arguments of a call as the schema has them: an object of texts."""
    try:
        arguments = json.loads(text or "null")
    except ValueError:
        arguments = text
    if arguments is None or isinstance(arguments, dict):
        return arguments and {
            name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for name, value in arguments.items()
        }
    return {"arguments": text or ""}


def _usage(rows: Sequence[Mapping[str, Any]]) -> Record | None:
    """Return the tokens of a rollout, where all turns have them."""
    pairs = [(row.get("prompt_tokens"), row.get("response_tokens")) for row in rows]
    if any(None in pair for pair in pairs):
        return None
    sent, received = (sum(numbers) for numbers in zip(*pairs, strict=True))
    total = rows[0].get("total_tokens")
    return {
        "input_tokens": sent,
        "output_tokens": received,
        "total_tokens": sent + received if total is None else total,
    }


def _hash(question: Mapping[str, Any]) -> str:
    """Return the hash by which the same sample is found again, by the recipe of Every Eval Ever."""
    text = json.dumps({name: question[name] for name in ("raw", "reference")}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _stored(rows: Sequence[Mapping[str, Any]], record: Record) -> str:
    """Return what a reader could not get back from the other fields of the record, as JSON text."""
    first = rows[0]
    least = {"evaluation_id": "", "evaluation_name": "", "evaluation": {}}
    restored, _ = turns_of(parse({**record, **least}, Instance))
    facts = {name: first[name] for name in FACTS if name != "source" and first.get(name) is not None}
    stored = {
        "rollout_id": first["rollout_id"],
        "facts": facts,
        # The format of the log before: reading these records makes `source` every_eval_ever.
        "columns": {"logged_by": first["source"]} if first.get("source") and "logged_by" not in first else {},
        "turns": [_differences(row, turn) for row, turn in zip(rows, restored, strict=True)],
    }
    return json.dumps(stored, ensure_ascii=False, separators=(",", ":"), default=str)


def _differences(row: Mapping[str, Any], turn: TurnRow) -> Record:
    """Return the columns of a turn that are not in the turn that was read back."""
    names = [name for name in row if name not in ROLLOUT_FACTS]
    return {name: row[name] for name in names if row[name] != getattr(turn, name, None)}
