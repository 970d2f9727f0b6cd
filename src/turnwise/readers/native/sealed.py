"""Columns of any length, of which little is kept as Python's objects: what is plain becomes an Arrow column early."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any

import polars as pl

from turnwise.readers.columns import Columns, column
from turnwise.readers.table import SEALED

EXACT = {
    str: pl.String(),
    float: pl.Float64(),
    bool: pl.Boolean(),
    int: pl.Int64(),
}  # from which values come back as they were
STRICT = {str, bool}  # of which Polars takes nothing else for one
NOTHING = type(None)


class SealedColumns:
    """Columns that grow as `Columns` do, and have in the end the dtypes that all of their values have.

    Parameters
    ----------
    words
        The columns of words: in them, text stays as it is beside other things.

    Examples
    --------
    >>> columns = SealedColumns({"note"})
    >>> columns.extend({"note": ["a", "b"], "n": [1, 2]}, 2)
    >>> columns.append({"note": 3, "n": 0.5})
    >>> columns.frame().rows()
    [('a', 1.0), ('b', 2.0), ('3', 0.5)]
    """

    def __init__(self, words: AbstractSet[str]) -> None:
        self._words = words
        self._open = Columns()
        self._sealed: list[tuple[int, dict[str, pl.Series | list[Any]]]] = []

    def append(self, row: Mapping[str, Any]) -> None:
        """Add one row."""
        self._open.append(row)
        self._seal(SEALED)

    def extend(self, rows: Mapping[str, Sequence[Any]], count: int) -> None:
        """Add some rows, given by column."""
        self._open.extend(rows, count)
        self._seal(SEALED)

    def frame(self) -> pl.DataFrame:
        """All columns, each of one dtype."""
        self._seal(1)
        names = dict.fromkeys(chain.from_iterable(columns for _, columns in self._sealed))
        return pl.DataFrame([self._joined(name) for name in names])

    def _seal(self, least: int) -> None:
        if self._open.height >= least:
            columns = {name: _exact(name, values) for name, values in self._open.padded().items()}
            self._sealed.append((self._open.height, columns))
            self._open = Columns()

    def _joined(self, name: str) -> pl.Series:
        parts = [columns.get(name, pl.Series(name, [None] * height)) for height, columns in self._sealed]
        dtypes = {part.dtype if isinstance(part, pl.Series) else pl.Object() for part in parts} - {pl.Null()}
        if len(dtypes) == 1 and pl.Object() not in dtypes:
            (dtype,) = dtypes
            return pl.concat([part.cast(dtype) for part in parts])  # type: ignore[union-attr]
        return column(name, list(chain.from_iterable(parts)), words=name in self._words)


def _exact(name: str, values: list[Any]) -> pl.Series | list[Any]:
    """The values as a series from which they come back as they were; else the values."""
    kind = type(next((value for value in values if value is not None), None))
    if kind in EXACT and (kind in STRICT or set(map(type, values)) <= {kind, NOTHING}):
        try:
            return pl.Series(name, values, dtype=EXACT[kind], strict=True)
        except (
            TypeError,
            OverflowError,
            UnicodeEncodeError,
        ):  # a number too great, half of a surrogate pair, any mixture
            return values
    return pl.Series(name, values) if kind is NOTHING else values
