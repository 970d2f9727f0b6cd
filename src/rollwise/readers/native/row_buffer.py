"""Rows that become a frame, of any number: values of one plain type leave Python's objects early."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any

import polars as pl

from rollwise.readers.columns import column

CHUNK = 1 << 10  # rows that are kept as Python's objects, at most: few enough for the processor's cache
EXACT = {  # types whose values come back from a series of the dtype unchanged
    str: pl.String(),
    float: pl.Float64(),
    bool: pl.Boolean(),
    int: pl.Int64(),
}
STRICT = {str, bool}  # Polars accepts no value of another type in a strict column of these
NULL_TYPE = type(None)

Chunk = dict[str, pl.Series | list[Any]]


class RowBuffer:
    """Rows, whose columns have in the end the dtypes that all of their values have."""

    def __init__(self, text_columns: AbstractSet[str]) -> None:
        self._text_columns = text_columns
        self._rows: list[Mapping[str, Any]] = []
        self._chunks: list[tuple[int, Chunk]] = []  # each with its number of rows

    def append(self, row: Mapping[str, Any]) -> None:
        """Add one row, which must not change from now on."""
        self._rows.append(row)
        if len(self._rows) >= CHUNK:
            self._close_chunk()

    def extend(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add some rows."""
        self._rows.extend(rows)
        if len(self._rows) >= CHUNK:
            self._close_chunk()

    def frame(self) -> pl.DataFrame:
        """All columns, each of one dtype."""
        self._close_chunk()
        names = dict.fromkeys(chain.from_iterable(chunk for _, chunk in self._chunks))
        return pl.DataFrame({name: self._joined(name) for name in names})

    def _close_chunk(self) -> None:
        names = dict.fromkeys(chain.from_iterable(self._rows))
        chunk = {name: _exact(name, [row.get(name) for row in self._rows]) for name in names}
        self._chunks.append((len(self._rows), chunk))
        self._rows = []

    def _joined(self, name: str) -> pl.Series:
        parts = [chunk.get(name, pl.Series(name, [None] * height)) for height, chunk in self._chunks]
        dtypes = {part.dtype if isinstance(part, pl.Series) else pl.Object() for part in parts} - {pl.Null()}
        if len(dtypes) == 1 and pl.Object() not in dtypes:
            (dtype,) = dtypes
            return pl.concat([part.cast(dtype) for part in parts])  # type: ignore[union-attr]
        # The chunks disagree, or one holds mixed values: the dtype is that of all values together.
        return column(name, list(chain.from_iterable(parts)), words=name in self._text_columns)


def _exact(name: str, values: Sequence[Any]) -> pl.Series | list[Any]:
    """The values as a series from which they come back unchanged; else the values."""
    kind = type(next((value for value in values if value is not None), None))
    if kind in EXACT and (kind in STRICT or set(map(type, values)) <= {kind, NULL_TYPE}):
        try:
            return pl.Series(name, values, dtype=EXACT[kind], strict=True)
        except (TypeError, OverflowError, UnicodeEncodeError):
            # A number too great, half of a surrogate pair, or values of several types.
            return list(values)
    return pl.Series(name, values) if kind is NULL_TYPE else list(values)
