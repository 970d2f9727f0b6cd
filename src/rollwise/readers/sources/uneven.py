"""Uneven rows of CSV: those that Polars rejects, with the rows that are even, and those that it fills with nulls."""

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import polars as pl

from rollwise.errors import counted
from rollwise.readers.problems import FILLED, RECORD, REMEDY, BrokenError, is_collecting

_ADVICE = "write a text with quotes or separators in it within quotes, and quotes in it twice"
_MOST = 40  # characters of a row that a message shows


def even_rows(text: bytes, separator: str) -> tuple[pl.DataFrame, int]:
    """Return the rows with as many fields as the first line, as text, and how many others there are.

    Where problems are collected, each of the others is one; else the first is raised. Where a quote is amiss, no row after it is
    sure, and the file is broken as a whole.
    """
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise BrokenError(
            f"is not a complete table: line {line} has bytes that are no letter, perhaps half-written"
        ) from error
    limit = csv.field_size_limit(2**31 - 1)  # of all readers of the process
    try:
        (_, header), *rows = _rows(decoded, separator)
    finally:
        csv.field_size_limit(limit)
    if len({*header}) < len(header):
        raise BrokenError("is not a complete table: names two columns alike in its first line, and has uneven rows")
    columns: dict[str, list[Any]] = {name: [] for name in header}
    problems: list[BrokenError] = []
    for line, row in rows:
        if len(row) == len(header):
            for values, value in zip(columns.values(), row, strict=True):
                values.append(value or None)
            continue
        reason = f"has {counted(len(row), 'field')}, where the first line has {len(header)}: {_ADVICE}"
        problems.append(BrokenError(reason, record=f"in line {line}"))
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    if problems and not frame.height:
        raise BrokenError(f"is not a complete table: its row {problems[0].record} {problems[0].reason}")
    # A row that is not read would be missing without a word: it is raised, or one of the problems.
    current = RECORD.get()
    for problem in problems:
        if current is None or not is_collecting():
            raise problem
        current[0].broken(current[1], problem)
    return frame, len(problems)


def note_short_rows(frame: pl.DataFrame, text: bytes, separator: str) -> None:
    """Say how many rows of a table have fewer fields than its first line, which Polars fills with nulls; blank lines are none."""
    current = RECORD.get()
    if current is None or frame.width < 2 or not frame[frame.columns[-1]].null_count():
        return
    limit = csv.field_size_limit(2**31 - 1)
    try:  # as lenient as Polars, which has read them
        reader = csv.reader(io.StringIO(text.decode("utf-8-sig", "replace"), newline=""), delimiter=separator)
        lines = [reader.line_num for row in reader if row and len(row) < frame.width and any(row)]
    except csv.Error:
        return
    finally:
        csv.field_size_limit(limit)
    if not lines:
        return
    problems, file, _ = current
    rows = counted(len(lines), "row has", "rows have")
    sentence = f"{rows} fewer fields than the first line: {FILLED}"
    row = (file, f"in line {lines[0]}", None, sentence)
    if row not in problems.rows:  # a file may be looked at several times
        problems.rows.append(row)
        problems.suggest([] if problems.collect else [f"{file}: {sentence} (first in line {lines[0]})"])


def _rows(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Iterate over the rows that are not blank, each with the number of its first line; quotes that are amiss are raised."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line, start = 1, ""
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            with suppress(IndexError):
                start = text.splitlines()[line - 1].strip()
            is_open = "unexpected end" in str(error)
            what = "opens a quote that is never closed" if is_open else "goes on after a closing quote"
            half = ", or is half-written" if is_open else ""
            shown = start if len(start) <= _MOST else f"{start[:_MOST]}..."
            reason = f"is not a complete table: its row in line {line} {what}{half} (`{shown}`): {_ADVICE}"
            raise BrokenError(reason, remedy=REMEDY) from error
        if row is None:
            return
        if row:
            yield line, row
        line = reader.line_num + 1
