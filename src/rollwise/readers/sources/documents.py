"""One file: its kind, the names in its first records, and its records."""

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
import polars as pl
from msgspec import inspect

from rollwise.readers.json_texts import lenient, names_if_any, names_in, surface, surface_if_any
from rollwise.readers.nesting import bounded
from rollwise.readers.problems import LEAVE, BrokenError, broken
from rollwise.readers.records import T, json_text, without_odd_fields
from rollwise.readers.sources.binary import (
    ARROW,
    PARQUET,
    batches_in,
    columns_in,
    first_in,
    holds_bytes,
    is_stream,
    lines_of_rows,
)
from rollwise.readers.sources.compression import Budget
from rollwise.readers.sources.contents import BOM, SQLITE, ZIP, Contents, lines_of, wrapping
from rollwise.readers.sources.doubled import Doubled
from rollwise.readers.sources.hive import facts_missing_in, literals
from rollwise.readers.sources.json_tables import as_records
from rollwise.readers.sources.sizes import check_sizes
from rollwise.schema.named import columns_named

Kind = Literal["json", "lines", "table", "parquet", "arrow", "zip", "sqlite", "empty", "other"]

JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
LINE = re.compile(rb"[^\s][^\n]*")  # a line that is not blank
EARLY = 64  # records that are enough to recognize a format
SEPARATORS = (",", "\t", ";")
LFS_POINTER = b"version https://git-lfs.github.com/"

_deep = msgspec.json.Decoder()
_MISFITS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Document(Contents):
    """A file, read only as far as needed.

    `kind`, `keys` and `inner` decode only the names of the outermost objects, so that every format can check whether it
    recognizes the file. compressed files are unpacked on the way.

    Parameters
    ----------
    path, data, budget, archive
        As in `Contents`.
    path_facts
        Facts in the names of its folders, in one row, for Parquet; see `rollwise.readers.sources.hive`.

    Examples
    --------
    >>> document = Document(Path("log.json"), b'{"suite": "banking", "messages": []}')
    >>> document.kind, sorted(document.keys)
    ('json', ['messages', 'suite'])
    """

    def __init__(
        self,
        path: Path,
        data: bytes | None = None,
        path_facts: pl.DataFrame | None = None,
        budget: Budget | None = None,
        archive: Path | None = None,
    ) -> None:
        super().__init__(path, data, budget, archive)
        self._path_facts = path_facts
        self._is_in_memory = data is not None
        self.num_records: int | None = None  # lines, rows or items, once all of them were read
        self.num_uneven = 0  # rows of CSV with more or fewer fields than its first line, which are not read
        self.odd_numbers = 0  # NaN and infinities that became null while decoding
        # Record and field of values that became null for their depth.
        self.too_deep: dict[tuple[object, str], None] = {}
        self.named: dict[str, str] = {}  # columns of TURNS for which the user named one of this file

    def reopened(self) -> "Document":
        """Return the same file with nothing read of it so far; one in memory stays there."""
        return self if self._is_in_memory else Document(self.path, budget=self.budget)

    @cached_property
    def kind(self) -> Kind:
        """Kind of file, by its first bytes; content other than JSON under a suffix of JSON is a BrokenError."""
        head = self.head  # the content decides, and the suffix only where the content leaves it open
        if is_stream(head):
            return "arrow"
        for magic, kind in _MAGIC:
            if head.startswith(magic):
                return kind
        text = head.removeprefix(BOM).lstrip()
        has_json_suffix = self.suffix in JSON_SUFFIXES
        if not text and self.suffix != ".json":  # no lines are valid JSON lines, but no text is not valid JSON
            return "empty"
        if text[:1] in {b"{", b"["} or has_json_suffix:
            json_kind = self._json_kind()
            if json_kind or has_json_suffix:
                return json_kind or self._not_json()
        return "other" if b"\0" in text.split(b"\n", 1)[0] or not text else "table"

    @cached_property
    def top(self) -> Any:
        """The outermost JSON value, decoded only as far as its names; only for a file whose `kind` is json."""
        return surface(self.text)

    @cached_property
    def value(self) -> Any:
        """The whole JSON value."""
        return Doubled().all_once(self.text, self._decoded(self.text))

    @cached_property
    def keys(self) -> frozenset[str]:
        """The names in the outermost object, in the first record of a list, or in the header of a table."""
        match self.kind:
            case "json":
                return names_in(self.top)
            case "lines":
                lines = (line for line in self._first_lines if surface_if_any(line) is not None)  # the first may be cut
                return names_if_any(next(lines, b""))
            case "parquet" | "arrow":
                return frozenset(self.schema)
            case "table":
                return frozenset(self.header)
            case _:
                return frozenset()

    @cached_property
    def early(self) -> frozenset[str]:
        """The names in the first 64 lines or records, for logs with several kinds of lines."""
        if self.kind == "lines":
            return frozenset(name for _, line in islice(self.texts(), EARLY) for name in names_if_any(line))
        if self.kind == "json" and isinstance(self.top, list):
            return frozenset(name for record in self.top[:EARLY] for name in names_if_any(record))
        return self.keys

    @cached_property
    def beginning(self) -> list[dict[str, Any]]:
        """The objects among the first 64 lines or records, or the single value, decoded only as far as their names."""
        texts: Iterable[Any] = ()
        if self.kind == "lines":
            texts = (line for _, line in islice(self.texts(), EARLY))
        elif self.by_line:
            # Columns of bytes, such as images, are left out here: JSON has no bytes.
            plain = [name for name, dtype in self.schema.items() if not holds_bytes(dtype)]
            rows = first_in(self.rows_source, self.kind, self.columns, EARLY).with_columns(literals(self.folder_facts))
            texts = lines_of_rows(rows.select(columns_named(plain))).splitlines()
        elif self.kind == "json":
            texts = self.top[:EARLY] if isinstance(self.top, list) else [self.top]
        return [record for record in map(surface_if_any, texts) if isinstance(record, dict)]

    @cached_property
    def inner(self) -> frozenset[str]:
        """The names in the first value of the outermost JSON object."""
        values = self.top.values() if self.kind == "json" and isinstance(self.top, dict) else ()
        return next((names_in(value) for value in values), frozenset())

    @cached_property
    def columns(self) -> dict[str, pl.DataType]:
        """The columns in a Parquet or Arrow file."""
        return columns_in(self.source, self.kind)

    @cached_property
    def rows_source(self) -> Path | io.BytesIO:
        """The `source` of the rows of a Parquet or Arrow file; a `BrokenError` where they would take all memory."""
        check_sizes(self.source, self.kind, self.budget)
        return self.source

    @cached_property
    def folder_facts(self) -> pl.DataFrame:
        """Facts in the names of its folders that the file itself lacks, in one row."""
        facts = pl.DataFrame() if self._path_facts is None else self._path_facts
        return facts_missing_in(self.path, self.source, self.columns, facts)

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns of a Parquet or Arrow file, with those from its folders."""
        return {**self.columns, **self.folder_facts.schema}

    @property
    def by_line(self) -> bool:
        """True where its records are lines of JSON, or rows that can be written as such."""
        return self.binary or self.kind == "lines"

    @cached_property
    def members(self) -> list[zipfile.ZipInfo]:
        """Members listed in a zip archive; see `Archive`, which verifies them."""
        with io.BytesIO(self.data) if self.packed else self.path.open("rb") as file, zipfile.ZipFile(file) as archive:
            return archive.infolist()

    @cached_property
    def separator(self) -> str:
        """Separator of the fields in a table's first line."""
        line = self._header_line
        return max(SEPARATORS, key=line.count)

    @cached_property
    def header(self) -> list[str]:
        """The fields of a table's first line."""
        try:
            return next(csv.reader([self._header_line], delimiter=self.separator), [])
        except csv.Error:
            return []

    def lines(self) -> Iterator[tuple[int, Any]]:
        """Iterate over lines of JSON, or rows, with their numbers; a line that is not JSON is an error object."""
        decode, once = _deep.decode, Doubled().once
        for number, line in self.texts():
            try:
                value = decode(line)
            except _MISFITS:
                value = self.decoded(line)
            yield number, once(number, line, value)

    def texts(self) -> Iterator[tuple[int, bytes]]:
        """Iterate over undecoded lines of JSON, or rows, with their numbers."""
        num_lines = 0
        for number, line in lines_of(map(lines_of_rows, self.batches()) if self.binary else self._blocks()):
            yield number, self.bounded(line, number)
            num_lines += 1
        self.num_records = num_lines

    def bounded(self, text: bytes, record: object = None) -> bytes:
        """Return a JSON text of this file in which null replaces what is nested too deeply, and note that in `too_deep`.

        `record` is the record that the text is; without one, the records may be the items of a list.

        Examples
        --------
        >>> document = Document(Path("a.jsonl"), b"")
        >>> document.bounded(b'{"id": 7, "note": ' + b"[" * 900 + b"]" * 900 + b"}", 3)[:24], document.too_deep
        (b'{"id": 7, "note": [[[[[[', {(3, 'note'): None})
        """
        text, places = bounded(text)
        for place in places:
            number, *names = place if record is None and isinstance(place[0], int) else (record, *place)
            field = "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in names).removeprefix(".")
            self.too_deep[number, field] = None
        return text

    def batches(self, size: int | None = None) -> Iterator[pl.DataFrame]:
        """Iterate over the rows of a Parquet or Arrow file, at most `size` at a time."""
        return batches_in(self.rows_source, self.kind, self.columns, literals(self.folder_facts), size)

    def decoded(self, text: Any) -> Any:
        """Decode a JSON text; return the error, instead of raising it, where it is not JSON. A decoded value is returned as it is.

        >>> Document(Path("a.jsonl"), b"").decoded(b'{"a": 1}')
        {'a': 1}
        """
        if not isinstance(text, bytes | msgspec.Raw):
            return text
        try:
            return self._decoded(text)
        except BrokenError as error:
            return error

    def records(self) -> Iterator[tuple[int, Any]]:
        """Iterate over the records with their numbers: lines from 1, items of the JSON list from 0; else the single value.

        Examples
        --------
        >>> list(Document(Path("a.json"), b'[{"a": 1}, {"a": 2}]').records())
        [(0, {'a': 1}), (1, {'a': 2})]
        """
        if self.by_line:
            yield from self.lines()
        elif self.kind == "json" and isinstance(self.top, list):
            yield from Doubled().items(self.top, self.decoded)
            self.num_records = len(self.top)
        else:
            yield 0, self.value
            self.num_records = 1

    def typed(self, text: bytes | msgspec.Raw, decoder: "msgspec.json.Decoder[T]", within: str = "") -> T:
        """Decode a JSON text as the decoder's struct; fields that the struct lacks are skipped, not decoded.

        `within` is the path of the text in the record, for errors.

        Raises
        ------
        BrokenError
            If it is not JSON, or a field does not fit the struct.

        Examples
        --------
        >>> class Sample(msgspec.Struct):
        ...     id: int
        >>> Document(Path("a.json"), b"").typed(b'{"id": 3, "events": []}', msgspec.json.Decoder(Sample))
        Sample(id=3)
        """
        try:
            return decoder.decode(text)
        except _MISFITS:
            value, odd_numbers = lenient(bytes(text))
            self.odd_numbers += odd_numbers
        try:  # again, without NaN and halves of characters
            return decoder.decode(json_text(value) or "null")
        except msgspec.ValidationError as error:
            kind = inspect.type_info(decoder.type)
            return without_odd_fields(
                value, kind, lambda left: decoder.decode(json_text(left) or "null"), error, within
            )
        except (msgspec.DecodeError, RecursionError) as error:
            raise broken("cannot be read", error) from error

    @cached_property
    def text(self) -> bytes:
        """The JSON text; a table in one object becomes a list, see `as_records`."""
        text, odd_numbers = as_records(self.as_written)
        self.odd_numbers += odd_numbers
        return text

    @property
    def as_written(self) -> bytes:
        """The JSON text; objects one after another, as `jq` prints them, are a list, and what is `too_deep` is null."""
        text = self.data.removeprefix(BOM)
        for newline in (b"\n", b"\r\n"):
            # Such a border occurs only between two objects: within one a comma would follow, and no string has line breaks.
            border = newline + b"}" + newline + b"{"
            if border in text:
                text = b"[" + text.replace(border, newline + b"}," + newline + b"{") + b"]"
        return self.bounded(text)

    @cached_property
    def _first_lines(self) -> list[bytes]:
        """The first two lines that are not blank, without reading the entire file if its first bytes hold two."""
        complete = self.head[: self.head.rfind(b"\n") + 1].removeprefix(BOM)
        lines = LINE.findall(complete)[:2]
        if len(lines) < 2:
            lines = [line.group() for line in islice(LINE.finditer(self.data.removeprefix(BOM)), 2)]
        return [bounded(line)[0] for line in lines]

    @cached_property
    def _header_line(self) -> str:
        start = self.head.removeprefix(BOM).lstrip(b"\r\n")
        return start.split(b"\n", 1)[0].rstrip(b"\r").decode("utf-8", "replace")

    def _json_kind(self) -> Kind | None:
        # The first line of a `.json` file may be a list that is one value; JSON lines there are objects.
        record = dict if self.suffix == ".json" else dict | list
        if len(self._first_lines) == 2 and isinstance(surface_if_any(self._first_lines[0]), record):
            return "lines"
        try:
            _ = self.top
        except BrokenError:
            is_cut = self.suffix != ".json" and isinstance(surface_if_any(self._first_lines[-1]), dict)  # a log's tail
            are_lists = all(isinstance(surface_if_any(line), list) for line in self._first_lines)
            return "lines" if (is_cut or are_lists) and len(self._first_lines) == 2 else None
        return "json"

    def _not_json(self) -> Kind:
        # The most frequent reasons first, and else the position of the error.
        if self.head.startswith(LFS_POINTER):
            raise BrokenError("is a Git LFS pointer, not the file itself: fetch it with `git lfs pull`", remedy=LEAVE)
        if (description := wrapping(self.head)) is not None:
            raise BrokenError(description, remedy=LEAVE)
        if not self.text.strip():
            raise BrokenError("is empty, not JSON, perhaps half-written")
        if self.too_deep:
            raise BrokenError("is nested too deeply")
        _ = self.top  # raises an error that names the position
        raise BrokenError("is not valid JSON")

    def _decoded(self, text: bytes | msgspec.Raw) -> Any:
        try:
            return _deep.decode(text)
        except _MISFITS:
            value, odd_numbers = lenient(bytes(text))
            self.odd_numbers += odd_numbers
            return value


_MAGIC: Sequence[tuple[bytes, Kind]] = [(PARQUET, "parquet"), (ARROW, "arrow"), (ZIP, "zip"), (SQLITE, "sqlite")]
