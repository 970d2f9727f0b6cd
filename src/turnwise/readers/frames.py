"""Tables of other libraries, and lists of records, as Polars frames."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import polars as pl

from turnwise.errors import ArgumentError, SchemaError, listing
from turnwise.readers.columns import Columns, column
from turnwise.readers.problems import first_line
from turnwise.schema import TURNS

WORDS = frozenset(TURNS.names)


def frame_of(data: object, words: AbstractSet[str] = WORDS) -> pl.DataFrame:
    """Anything that holds a table, as a Polars frame; in the columns of `words`, text stays as it is beside other things.

    Examples
    --------
    >>> frame_of([{"a": 1}, {"a": 2, "b": "x"}]).rows()
    [(1, None), (2, 'x')]
    """
    try:
        if isinstance(data, pl.DataFrame):
            return data
        if isinstance(data, pl.LazyFrame):
            return data.collect()
        if type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns"):
            return _from_pandas(data, words)
        if hasattr(data, "__arrow_c_stream__"):
            return pl.DataFrame(data)
        if isinstance(data, Mapping):
            return pl.DataFrame([column(str(name), list(values), words=name in words) for name, values in data.items()])
    except (pl.exceptions.PolarsError, ValueError, TypeError) as error:
        raise SchemaError(f"TURNS: the table cannot be read ({first_line(error)}); give it plain columns") from error
    if isinstance(data, Iterable) and not isinstance(data, str | bytes):
        return _from_records(data, words)
    hint = "; `tw.read(path)` reads files" if isinstance(data, str) or hasattr(data, "__fspath__") else ""
    raise ArgumentError(f"turns: a {type(data).__name__} is no table; pass a frame or a list of dicts{hint}")


def _from_records(data: Iterable[Any], words: AbstractSet[str]) -> pl.DataFrame:
    columns = Columns()
    for position, record in enumerate(data):
        if not isinstance(record, Mapping):
            raise ArgumentError(
                f"turns: record {position} is a {type(record).__name__}, not a dict; pass a list of dicts, one per turn"
            )
        columns.append({str(name): value for name, value in record.items()})
    return from_columns(columns, words)


def from_columns(columns: Columns, words: AbstractSet[str]) -> pl.DataFrame:
    """Columns grown from records, each of one dtype."""
    return pl.DataFrame([column(name, values, words=name in words) for name, values in columns.padded().items()])


def _from_pandas(data: Any, words: AbstractSet[str]) -> pl.DataFrame:
    if any(name is not None for name in data.index.names):
        data = data.reset_index()
    data = data.set_axis([str(name) for name in data.columns], axis=1)
    if not data.columns.is_unique:
        raise SchemaError(f"TURNS: two columns have one name ({listing(data.columns, most=30)}); rename one")
    series = []
    for name in data.columns:
        values = data[name]
        if values.dtype == object:
            known = values.notna().to_list()
            plain = [value if there else None for value, there in zip(values.to_list(), known, strict=True)]
            series.append(column(name, plain, words=name in words))
        else:
            series.append(pl.Series(name, pl.from_pandas(values)))
    return pl.DataFrame(series)
