"""Records that are turns, one for each: JSON lines and lists in our own names."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from turnwise.readers.chats.layouts import PROMPTS, RESPONSES
from turnwise.readers.chats.learned import MOST_COLUMNS, Learned, may_be_a_field
from turnwise.readers.chats.lines import Lines
from turnwise.readers.chats.plain import batches, fitting, fitting_lines
from turnwise.readers.native.sealed import SealedColumns
from turnwise.readers.native.tables import TEXTS
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Key
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table

SAID = ("prompt", "response", "attack")


def from_flat(document: Document, table: Table) -> pl.DataFrame:
    r"""The table in a file of records, each a turn with its `rollout_id`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'{"rollout_id": "a", "prompt": "Hi"}\n{"rollout_id": "a", "prompt": "?", "n": 2}'
    >>> from_flat(Document(Path("a.jsonl"), log), Table("native", Problems(), {})).rows()
    [('a', 'Hi', None), ('a', '?', 2)]
    """
    return Flat(document, table).read(_records(document))


def _records(document: Document) -> Iterator[tuple[int, Any]]:
    value = document.value
    if isinstance(value, dict):
        value = value["turns"] if isinstance(value.get("turns"), list) else [value]
    if not isinstance(value, list):
        raise BrokenError(f"expected a list of records, got {type(value).__name__}")
    yield from enumerate(value)


class Flat:
    """The records of one file as they grow into a table: lines that hold what is known already go all at once."""

    def __init__(self, document: Document, table: Table, *keys: str) -> None:
        self._document = document
        self._table = table
        self._rows = SealedColumns(TEXTS)
        known = frozenset() if table.wanted is None else needed(table.wanted) | {*keys}
        self._needed = known if 0 < len(known) <= MOST_COLUMNS and all(map(may_be_a_field, known)) else None
        self._row = self._learned("Row", ("rollout_id", Key))
        self._decoder: msgspec.json.Decoder[Any] | None = None

    def read(self, records: Iterator[tuple[int, Any]]) -> pl.DataFrame:
        """The table of the file's lines; where it has none, of these records."""
        if self._document.by_line:
            for block in self._document.blocks():
                self.add_lines(block)
        else:
            for number, value in records:
                self.add(number, value)
        return self.frame()

    def add_lines(self, block: Lines) -> None:
        """Add some lines: all at once where what they hold is known, else as many at a time as can be."""
        records = None if self._decoder is None else fitting_lines(block, self._decoder)
        if records is not None:
            self._add_known(block.numbers, records)
            return
        for numbers, lines, known in batches([block.apart()], self._fitting):
            if known:
                self._add_known(numbers, known)
            else:
                self.add(numbers[0], self._document.decoded(lines[0]))

    def add(self, number: int, value: Any) -> None:
        """Add one record, and know its names from now on."""
        with self._table.record(self._document.name, number):
            if isinstance(value, BrokenError):
                raise value
            if not isinstance(value, dict):
                raise BrokenError(f"expected a record, got {type(value).__name__}")
            self._take(number, value)
            self._learn(value)

    def frame(self) -> pl.DataFrame:
        """The table."""
        return self._rows.frame()

    def _take(self, number: int, record: dict[str, Any]) -> None:  # noqa: ARG002 - of a rollout without a name
        """Add one record, whatever it holds."""
        if record.get("rollout_id") is None:
            raise BrokenError("is missing", field="rollout_id")
        self._rows.append({"rollout_id": record["rollout_id"], **self._known(record)})

    def _add_known(self, numbers: Sequence[int], records: Sequence[Any]) -> None:  # noqa: ARG002
        """Add some records that hold what is known."""
        ids = [record.rollout_id for record in records]
        self._rows.extend({"rollout_id": ids, **self._row.columns(records)}, len(ids))

    def _learn(self, record: Mapping[str, Any], base: type[msgspec.Struct] | None = None) -> None:
        """Know the names in a record from now on."""
        before = self._row.kind
        self._row.learn(record, base)
        if self._row.kind is not before or self._decoder is None:
            self._decoder = msgspec.json.Decoder(self._row.kind)

    def _known(self, record: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in record.items() if self._kind_of(name) is not None}

    def _kind_of(self, name: str) -> Any:
        return Any if self._needed is None or name in self._needed else None

    def _learned(self, name: str, *fields: Any) -> Learned:
        return Learned(self._struct(name, *fields), self._kind_of, self._needed)

    def _struct(self, name: str, *fields: Any, whole: bool | None = None) -> type[msgspec.Struct]:
        strict = self._needed is None if whole is None else whole
        return msgspec.defstruct(name, fields, gc=False, forbid_unknown_fields=strict)

    def _fitting(self, line: bytes) -> Any:
        return None if self._decoder is None else fitting(line, self._decoder)


def needed(wanted: Collection[str]) -> frozenset[str]:
    """The names that decide what is in the columns wanted.

    Examples
    --------
    >>> sorted(needed(["reward", "rollout_n"]))
    ['n', 'node_id', 'reward', 'rollout_n', 'turn']
    """
    parts = [name.split("rollout_") for name in wanted]
    apart = {"rollout_".join(words[place:]) for words in parts for place in range(1, len(words))}
    names = {"turn", "node_id", *wanted, *apart}
    said = {*SAID, *PROMPTS, *RESPONSES} if names & set(SAID) else set()
    return frozenset(names | said)
