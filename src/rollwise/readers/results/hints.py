"""Files that almost hold rollouts: what is missing in each, and what to do about it."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import polars as pl

from rollwise.readers.chat_names import LISTS, PROMPTS, RESPONSES, TURN_TEXTS
from rollwise.readers.chats.layouts import words_of
from rollwise.readers.json_texts import names_if_any, surface_if_any
from rollwise.readers.likely_columns import (
    MOST_EXAMPLES,
    are_rollouts,
)
from rollwise.readers.roles.names import judges
from rollwise.readers.sources.binary import is_stream
from rollwise.readers.sources.documents import EARLY, Document
from rollwise.schema.named import values_named

POLARS = {
    "table": "pl.read_csv",
    "parquet": "pl.read_parquet",
    "arrow": "pl.read_ipc",
    "lines": "pl.read_ndjson",
    "json": "pl.read_json",
}
PROMPT_NAMES = frozenset({"prompt", *PROMPTS})
SEVERAL = ("responses", "outputs", "completions", "answers", "replies", "generations", "response", *RESPONSES)
AS_A_CHAT = 'write what each record asked and answered as a chat, `{"messages": [...]}`'
REQUESTS = "holds requests of a batch without their answers: read the batch's output"
OTHERS = (  # records of other tools, by the names of their fields
    ({"custom_id", "method", "url", "body"}, REQUESTS),
    ({"custom_id", "params"}, REQUESTS),
    ({"preferred_output", "non_preferred_output"}, f"holds pairs of answers to choose between: {AS_A_CHAT}"),
    ({"chosen", "rejected"}, f"holds pairs of answers to choose between: {AS_A_CHAT}"),
    ({"run_type", "inputs", "outputs"}, "holds runs of LangSmith without a `trace_id`: export them with it"),
    ({"op_name", "inputs", "output"}, f"holds calls of Weave: {AS_A_CHAT}"),
)


def of_other_tool(document: Document) -> str | None:
    r"""Return what a file of a known tool holds instead of rollouts; None for any other file."""
    return next(_of_other_tools(document), None) if document.kind in POLARS else None


def without_texts(document: Document) -> str | None:
    r"""Return why the prompts and answers of a file are not texts; None where they are, or where a file has neither."""
    return (
        next(chain(_as_text(document), _no_text(document), _other_lists(document)), None)
        if document.kind in POLARS
        else None
    )


def _other_lists(document: Document) -> Iterator[str]:
    """Describe lists of turns whose items are not messages."""
    for record in document.beginning:
        for name in record.keys() & {*LISTS}:
            value = surface_if_any(record[name])
            if isinstance(value, dict) and words_of(frozenset(value)) is not None:
                yield f"holds `{name}` as an object of lists: write it as a list of objects, one for each message"
            if isinstance(value, list) and value and isinstance(surface_if_any(value[0]), str | list):
                speakers = '`{"role": "user", "content": "..."}`'
                yield f"holds `{name}` without names of the speakers: write each as {speakers}"


def holds_rollouts(document: Document) -> bool:
    r"""Return whether each record or row of a file is a rollout of one turn, with an answer in plain text and no id."""
    names = document.keys
    if "rollout_id" in names or not (names & {"response", *RESPONSES} or any(map(judges, names))):
        return False
    examples: dict[str, list[Any]] = {name: [] for name in names}
    return are_rollouts(examples | examples_of(document)) and next(_obstacles(document), None) is None


def holds_outcomes(document: Document) -> bool:
    r"""Return whether each record or row of a file is a rollout with its outcome, but no answer."""
    return not document.keys & {"rollout_id", "response", *RESPONSES} and holds_rollouts(document)


def _obstacles(document: Document) -> Iterator[str]:
    """Describe records that are not turns: messages, known records of other tools, and texts in another form."""
    if words_of(document.keys) is not None:
        yield "holds a message in each record"
    yield from _of_other_tools(document)
    yield from _no_text(document)


def _of_other_tools(document: Document) -> Iterator[str]:
    """Describe known records of other tools."""
    names = document.keys
    yield from (reason for shape, reason in OTHERS if shape <= names)
    if names <= {"key", "request"} and "contents" in names_if_any(next(iter(document.beginning), {}).get("request")):
        yield REQUESTS


def _as_text(document: Document) -> Iterator[str]:
    """Describe a column of a table that holds lists of turns or messages as text."""
    for name in LISTS:
        text = next((value for value in _first(document, name) if value is not None), None)
        if not isinstance(text, str) or not text.lstrip().startswith("["):
            continue
        is_json = isinstance(surface_if_any(text.encode(errors="backslashreplace")), list)
        decode = "json.loads" if is_json else "ast.literal_eval"
        read = f"{_frame(document)}.to_dicts()"
        rows = f'[row | {{"{name}": {decode}(row["{name}"])}} for row in {read}]'
        yield f'holds `{name}` as text: decode it, `Path("rollouts.json").write_text(json.dumps({rows}))`, and read that'


def _first(document: Document, name: str) -> Iterator[object]:
    """Iterate over the values of a table's column in its first rows."""
    if name in document.keys and document.binary:
        yield from (surface_if_any(record[name]) for record in document.beginning if name in record)
    elif name in document.keys and document.kind == "table":
        separator, source = document.separator, document.source
        with suppress(pl.exceptions.PolarsError):
            rows = pl.read_csv(source, glob=False, separator=separator, infer_schema=False, n_rows=EARLY)
            yield from rows[name]


def examples_of(document: Document) -> dict[str, list[Any]]:
    """Return some values of each column or field of a file, none of them repeated."""
    if document.kind == "table":
        with suppress(pl.exceptions.PolarsError):
            rows = pl.read_csv(
                document.source, glob=False, separator=document.separator, infer_schema=False, n_rows=MOST_EXAMPLES
            )
            return {
                name: values_named(rows, name).drop_nulls().unique(maintain_order=True).to_list()
                for name in rows.columns
            }
    values: dict[str, dict[str, Any]] = {}
    for record in document.beginning:
        for name, text in record.items():
            value = surface_if_any(text)
            if value is not None and not isinstance(value, dict | list):
                values.setdefault(name, {}).setdefault(repr(value), value)
    return {name: [*distinct.values()] for name, distinct in values.items()}


def _no_text(document: Document) -> Iterator[str]:
    """Describe prompts and answers that are not text: several answers to one prompt, or objects."""
    record = next(iter(document.beginning), {})
    values = {name: surface_if_any(value) for name, value in record.items() if name in {*TURN_TEXTS, *SEVERAL}}
    for name in SEVERAL:
        value = values.get(name)
        if (
            isinstance(value, list)
            and value
            and isinstance(surface_if_any(value[0]), str)
            and values.keys() & PROMPT_NAMES
        ):
            rename = "" if name == "response" else f'.rename({{"{name}": "response"}})'
            rows = f'{_frame(document)}.explode("{name}"){rename}.with_row_index("rollout_id")'
            yield f"holds several answers under `{name}`: make each a row, `rw.turns({rows})`"
    nested = [name for name, value in values.items() if name in TURN_TEXTS and isinstance(value, dict | list)]
    if nested:
        yield f"holds {' and '.join(f'`{name}`' for name in nested)} that {'are' if nested[1:] else 'is'} not text: {AS_A_CHAT}"


def _frame(document: Document) -> str:
    """Return the Polars call that reads the file."""
    comma = "" if document.kind != "table" or document.separator == "," else f", separator={document.separator!r}"
    stream = "_stream" if document.kind == "arrow" and is_stream(document.head) else ""
    return f"{POLARS[document.kind]}{stream}(path{comma})"
