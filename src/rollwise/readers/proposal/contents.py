"""Contents of files of unknown kinds as plain values, and groups of files that are alike."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import polars as pl

from rollwise.readers.json_texts import lenient
from rollwise.readers.native.files import from_csv
from rollwise.readers.of_files import without_totals
from rollwise.readers.problems import BrokenError
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.json_tables import KEY

MOST = 20_000  # records of a file that are looked at
_FIRST = 200  # rows of a table that show whether they count groups
JSON, LINES, ROWS = "json", "lines", "rows"
_KINDS = {"json": JSON, "lines": LINES, "table": ROWS, "parquet": ROWS, "arrow": ROWS}


class Content(NamedTuple):
    """The values of a file: one value, or a list of lines or rows."""

    document: Document
    form: str  # ``json``, ``lines`` or ``rows``
    value: Any  # the value, or the list of values; without what is not JSON

    @property
    def records(self) -> list[Any]:
        """The lines, rows or items of a list; a single value is one."""
        return self.value if isinstance(self.value, list) else [self.value]

    @property
    def below_header(self) -> "Content":
        """Copy without its first line."""
        return self._replace(value=self.records[1:])

    @property
    def of_rollouts(self) -> "Content":
        """Copy without a first and a last record that tell of the whole file."""
        return self._replace(value=without_totals(self.value)) if isinstance(self.value, list) else self


def content_of(document: Document) -> Content | None:
    """Return the values at the beginning of a file; None where it holds neither JSON nor a table."""
    form = _KINDS.get(document.kind)
    if form is None:
        return None
    if document.kind == "table":
        return Content(document, form, from_csv(document, frozenset()).head(MOST).to_dicts())
    if form == JSON:
        text = document.as_written.lstrip()
        are_named = text.startswith(b"{") and isinstance(document.top, list) and KEY in document.keys
        value = lenient(text)[0] if are_named else document.value  # a table in one object is a list of its rows
        return Content(document, form, value[:MOST] if isinstance(value, list) else value)
    records = (record for _, record in document.lines())
    intact = [record for record in islice(records, MOST) if not isinstance(record, BrokenError)]
    return Content(document, form, intact)


def beginning_of(document: Document) -> Content | None:
    """Return the first records of a file, enough to see whether rollouts are in them rather than the records themselves."""
    form = _KINDS.get(document.kind)
    if form is None:
        return None
    if document.kind == "table":
        with suppress(pl.exceptions.PolarsError):
            rows = pl.read_csv(
                document.source, glob=False, separator=document.separator, infer_schema=False, n_rows=_FIRST
            )
            return Content(document, form, rows.to_dicts())
        return None
    records = [{name: document.decoded(value) for name, value in record.items()} for record in document.beginning]
    return Content(document, form, without_totals(records))


def similar_files(contents: Iterable[Content]) -> list[list[Content]]:
    """Return files in groups of one shape, which have the same form and most of their names."""
    groups: list[tuple[tuple[str, str], frozenset[str], list[Content]]] = []
    for content in contents:
        kind, names = _shape(content)
        for group_kind, group_names, group in groups:
            if group_kind == kind and (
                group_names == names or len(group_names & names) >= 0.5 * len(group_names | names)
            ):
                group.append(content)
                break
        else:
            groups.append((kind, names, [content]))
    return [group for _, _, group in groups]


def _shape(content: Content) -> tuple[tuple[str, str], frozenset[str]]:
    """Return the form of a file and the names of its first objects."""
    value = content.value
    firsts: Sequence[Any] = value[:5] if isinstance(value, list) else [value]
    names = frozenset(name for first in firsts if isinstance(first, dict) for name in first)
    inner = type(firsts[0]).__name__ if firsts else "nothing"
    return (content.form, f"{type(value).__name__} of {inner}"), names
