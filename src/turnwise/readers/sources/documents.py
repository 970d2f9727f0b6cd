"""One file on disk: what kind of file it is, the names on its surface, and its records."""

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
import polars as pl

from turnwise.readers.chats.lines import BOM, lines_of
from turnwise.readers.problems import LEAVE, BrokenError, broken
from turnwise.readers.records import T, json_text, misfit
from turnwise.readers.sources.binary import (
    ARROW,
    PARQUET,
    batches_in,
    columns_in,
    first_in,
    holds_bytes,
    is_stream,
    lines_of_rows,
)
from turnwise.readers.sources.contents import Contents
from turnwise.readers.sources.hive import literals, unsaid
from turnwise.readers.sources.json_texts import lenient, names_if_any, names_in, surface, surface_if_any
from turnwise.readers.sources.wrapping import ZIP, wrapping

Kind = Literal["json", "lines", "table", "parquet", "arrow", "zip", "sqlite", "empty", "other"]

JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
FIRST = re.compile(rb"[^\s][^\n]*")  # line that is not blank
EARLY = 64  # records that tell what a log holds
SEPARATORS = (",", "\t", ";")
LFS_POINTER = b"version https://git-lfs.github.com/"

_deep = msgspec.json.Decoder()
_MISFITS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Document(Contents):
    """A file, read only as far as needed.

    A look at the surface (`kind`, `keys`, `inner`) decodes no more than the names of the outermost objects, so that
    every format can be asked whether it knows the file. ``.gz`` and ``.zst`` are unpacked on the way.

    Parameters
    ----------
    path
        Where the file lies.
    data
        What is in it, if already in memory.
    said
        What the folders say in which it lies, in one row, where it is Parquet; see `turnwise.readers.sources.hive`.

    Examples
    --------
    >>> document = Document(Path("log.json"), b'{"suite": "banking", "messages": []}')
    >>> document.kind, sorted(document.keys)
    ('json', ['messages', 'suite'])
    """

    def __init__(self, path: Path, data: bytes | None = None, said: pl.DataFrame | None = None) -> None:
        super().__init__(path, data)
        self._said = pl.DataFrame() if said is None else said
        self.odd_numbers = 0  # NaN and infinities met while decoding, now null

    @cached_property
    def kind(self) -> Kind:
        """Kind of file, by its first bytes.

        Raises
        ------
        BrokenError
            Where it is called JSON but holds none.
        """
        head = self.head
        if is_stream(head):
            return "arrow"
        for magic, kind in _MAGIC:
            if head.startswith(magic):
                return kind
        text = head.removeprefix(BOM).lstrip()
        called_json = self.suffix in JSON_SUFFIXES
        if not text and not (called_json and self.suffix == ".json"):
            return "empty"
        if text[:1] in {b"{", b"["} or called_json:
            found = self._json_kind()
            if found or called_json:
                return found or self._not_json()
        return "other" if b"\0" in text.split(b"\n", 1)[0] or not text else "table"

    @cached_property
    def top(self) -> Any:
        """The outermost JSON value, decoded no deeper than its names; see `kind` for whether there is one."""
        return surface(self._json_text)

    @cached_property
    def value(self) -> Any:
        """The whole JSON value."""
        return self._decoded(self._json_text)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The names in the outermost object, in the first record of a list, or in the header of a table."""
        match self.kind:
            case "json":
                return names_in(self.top)
            case "lines":
                return names_in(self._first_line())
            case "parquet" | "arrow":
                return frozenset(self.schema)
            case "table":
                return frozenset(self.header)
            case _:
                return frozenset()

    @cached_property
    def early(self) -> frozenset[str]:
        r"""The names in the first 64 lines or records: of logs whose lines are of several kinds.

        Examples
        --------
        >>> sorted(Document(Path("a.jsonl"), b'{"a": 1}\n{"b": 2}').early)
        ['a', 'b']
        """
        if self.kind == "lines":
            return frozenset(name for _, line in islice(self.texts(), EARLY) for name in names_if_any(line))
        if self.kind == "json" and isinstance(self.top, list):
            return frozenset(name for record in self.top[:EARLY] for name in names_if_any(record))
        return self.keys

    @cached_property
    def beginning(self) -> list[dict[str, Any]]:
        r"""The first 64 lines or records that are objects, or the one value, decoded no deeper than their names.

        Examples
        --------
        >>> [sorted(record) for record in Document(Path("a.jsonl"), b'{"a": [1]}\n[2]\n{"b": 3}').beginning]
        [['a'], ['b']]
        """
        texts: Iterable[Any] = ()
        if self.kind == "lines":
            texts = (line for _, line in islice(self.texts(), EARLY))
        elif self.by_line:
            plain = [name for name, dtype in self.schema.items() if not holds_bytes(dtype)]
            rows = first_in(self.source, self.kind, self.columns, EARLY).with_columns(literals(self.said))
            texts = lines_of_rows(rows.select(plain)).splitlines()
        elif self.kind == "json":
            texts = self.top[:EARLY] if isinstance(self.top, list) else [self.top]
        return [record for record in map(surface_if_any, texts) if isinstance(record, dict)]

    @cached_property
    def inner(self) -> frozenset[str]:
        """The names in the first value of the outermost JSON object."""
        if self.kind != "json" or not isinstance(self.top, dict):
            return frozenset()
        return next((names_in(value) for value in self.top.values()), frozenset())

    @cached_property
    def columns(self) -> dict[str, pl.DataType]:
        """The columns in a Parquet or Arrow file."""
        return columns_in(self.source, self.kind)

    @cached_property
    def said(self) -> pl.DataFrame:
        """Facts that the folders of the file state and the file does not, in one row."""
        return unsaid(self.path, self.source, self.columns, self._said)

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns of a Parquet or Arrow file, and of its folders."""
        return {**self.columns, **self.said.schema}

    @property
    def by_line(self) -> bool:
        """Return whether its records are lines of JSON, or rows that can be written as such."""
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
        """Each line of a JSON-lines file with its number, or each row; a line that is not JSON is returned as its error."""
        decode = _deep.decode
        for number, line in self.texts():
            try:
                yield number, decode(line)
            except _MISFITS:
                yield number, self.decoded(line)

    def texts(self) -> Iterator[tuple[int, bytes]]:
        """Each line of a JSON-lines file with its number, as it stands, or each row; see `decoded`."""
        return lines_of(map(lines_of_rows, self.batches()) if self.binary else self._blocks())

    def batches(self, together: int | None = None) -> Iterator[pl.DataFrame]:
        """The rows of a Parquet or Arrow file, at most so many at a time."""
        return batches_in(self.source, self.kind, self.columns, literals(self.said), together)

    def decoded(self, text: Any) -> Any:
        """A JSON text as the value it is; one that is not JSON as its error. A value that is decoded already as it is.

        Examples
        --------
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
        """Each record with its number: the lines, from 1, or the items of the JSON list, from 0; else the one value.

        Examples
        --------
        >>> list(Document(Path("a.json"), b'[{"a": 1}, {"a": 2}]').records())
        [(0, {'a': 1}), (1, {'a': 2})]
        """
        if self.by_line:
            yield from self.lines()
        elif self.kind == "json" and isinstance(self.top, list):
            yield from enumerate(map(self.decoded, self.top))
        else:
            yield 0, self.value

    def typed(self, text: bytes | msgspec.Raw, decoder: "msgspec.json.Decoder[T]", within: str = "") -> T:
        """JSON text as the decoder's struct: what the struct does not name is passed over, not decoded.

        `within` says where in the record the text stands.

        Raises
        ------
        BrokenError
            If it is not JSON, or not what the struct says; it names the field.

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
            value, odd = lenient(bytes(text))
            self.odd_numbers += odd
        try:
            return decoder.decode(json_text(value) or "null")
        except msgspec.ValidationError as error:
            raise misfit(error, within) from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise broken("cannot be read", error) from error

    @cached_property
    def _json_text(self) -> bytes:
        """The JSON; a list of what stands there as several objects over several lines each, as `jq` prints them."""
        text = self.data.removeprefix(BOM)
        for new in (b"\n", b"\r\n"):  # no JSON has such a place within, not even a text
            text = _listed(text, new + b"}" + new + b"{", new + b"}," + new + b"{")
        return text

    @cached_property
    def _beginning(self) -> bytes:
        """The first lines, whole; everything where there are not two in the first bytes."""
        lines = self.head[: self.head.rfind(b"\n") + 1].removeprefix(BOM)
        return lines if sum(1 for _ in islice(FIRST.finditer(lines), 2)) == 2 else self._json_text

    @cached_property
    def _header_line(self) -> str:
        start = self.head.removeprefix(BOM).lstrip(b"\r\n")
        return start.split(b"\n", 1)[0].rstrip(b"\r").decode("utf-8", "replace")

    def _json_kind(self) -> Kind | None:
        record = dict if self.suffix == ".json" else dict | list
        if self._is_several_lines and isinstance(self._first_line(), record):
            return "lines"
        try:
            _ = self.top
        except BrokenError:
            return None
        return "json"

    @property
    def _is_several_lines(self) -> bool:
        """Return whether more than one line is not blank."""
        line = FIRST.search(self._beginning)
        return line is not None and FIRST.search(self._beginning, line.end()) is not None

    def _not_json(self) -> Kind:
        if self.head.startswith(LFS_POINTER):
            raise BrokenError("is a Git LFS pointer, not the file itself: fetch it with `git lfs pull`", remedy=LEAVE)
        if (wrapped := wrapping(self.head)) is not None:
            raise BrokenError(wrapped, remedy=LEAVE)
        if not self._json_text.strip():
            raise BrokenError("is empty, not JSON, perhaps half-written")
        _ = self.top  # raises, and says where
        raise BrokenError("is not valid JSON")

    def _first_line(self) -> Any:
        line = FIRST.search(self._beginning)
        try:
            return surface(b"" if line is None else line.group())
        except BrokenError:
            return None

    def _decoded(self, text: bytes | msgspec.Raw) -> Any:
        try:
            return _deep.decode(text)
        except _MISFITS:
            value, odd = lenient(bytes(text))
            self.odd_numbers += odd
            return value


def _listed(text: bytes, between: bytes, comma: bytes) -> bytes:
    return b"[" + text.replace(between, comma) + b"]" if between in text else text


_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (PARQUET, "parquet"),
    (ARROW, "arrow"),
    (ZIP, "zip"),
    (b"SQLite format 3\0", "sqlite"),
)
