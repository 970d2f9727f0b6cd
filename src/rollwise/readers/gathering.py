"""Files without rollouts (verdicts, prompts, summaries), from any paths into one frame: the common part of all `read_...`."""

import re
from collections.abc import Callable
from typing import Literal

import polars as pl

from rollwise.errors import ArgumentError, ReadError, counted
from rollwise.readers.columns import reconcile
from rollwise.readers.problems import TOO_DEEP, Problems
from rollwise.readers.proposal.reading import refusal_of
from rollwise.readers.registry import UNKNOWN, format_of
from rollwise.readers.sources.contents import wrapping
from rollwise.readers.sources.copies import copied
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.paths import Paths, documents, listed
from rollwise.schema import Schema
from rollwise.schema.named import columns_named


def gather(
    paths: Paths,
    verb: str,
    errors: Literal["raise", "collect"],
    nothing: str,
    known_by: str,
    frame_of: Callable[[Document, Problems], pl.DataFrame],
) -> tuple[pl.DataFrame, Problems]:
    """Read all files into one frame, and return the problems as well."""
    if errors not in {"raise", "collect"}:
        raise ArgumentError(f'{verb}: errors={errors!r} is neither "raise" nor "collect"')
    places = listed(paths, verb)
    problems = Problems(collect=errors == "collect")
    frames: list[pl.DataFrame] = []
    with copied(places, problems) as here:
        for document, by_name in documents(here, problems):
            with problems.record(document.name):
                try:
                    frame = frame_of(document, problems)
                finally:
                    problems.nulled(document.name, document.odd_numbers, "NaN or infinite numbers")
                    for record, field in document.too_deep:
                        problems.warned(document.name, record, field or None, TOO_DEEP)
                if not frame.is_empty():
                    frames.append(frame)
                    problems.has_encoding(document.name, document.encoding)
                elif by_name:
                    raise ReadError(f"{document.name}: {nothing}; {_instead(document, verb) or known_by}")
                else:
                    problems.dropped(document.name, nothing)
    if not frames:
        where = ", ".join(map(str, places))
        raise ReadError(f"{where}: {nothing} ({counted(len(problems.rows), 'problem')}); name a file that does")
    problems.announce()
    return reconcile(frames), problems


def arranged(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Return the frame with every column of a schema, then its extra columns."""
    missing = [pl.lit(None, dtype).alias(name) for name, dtype in schema.dtypes.items() if name not in frame.columns]
    extras = [name for name in frame.columns if name not in schema.names]
    return frame.with_columns(missing).select(*schema.names, *columns_named(extras))


def _instead(document: Document, verb: str) -> str | None:
    """Return a hint at the function that reads the file, or at the program that must open it first."""
    problems = Problems(collect=True)
    # A ledger of its own: this file is reported once, by the caller.
    form = format_of(document, None, by_name=False, problems=problems)
    reason = refusal_of(document) if form is UNKNOWN else None if form is not None else problems.rows[0][3]
    if reason is None:
        return "`rw.read` reads rollouts"
    names_another = re.search(r"`rw\.(\w+\.)?read_", reason) is not None and f".{verb}`" not in reason
    return f"it {reason}" if names_another or reason == wrapping(document.head, document.suffix) else None
