"""Tables of other libraries, and lists of records, as Polars frames."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any

import polars as pl

from rollwise.errors import ArgumentError, SchemaError, listing
from rollwise.readers.columns import Columns, column
from rollwise.readers.nesting import DEEPEST
from rollwise.readers.problems import first_line
from rollwise.schema import TURNS
from rollwise.schema.arguments import whole_columns

WORDS = frozenset(TURNS.names)
_PLAIN = {str, int, float, bool, type(None)}  # types of most values
_MISSING = {"NAType", "NaTType"}  # types of missing values in pandas


def frame_of(data: object, words: AbstractSet[str] = WORDS) -> pl.DataFrame:
    """Convert a table of any library into a Polars frame; in the columns of `words`, text among other values stays unchanged."""
    try:
        if isinstance(data, pl.DataFrame | pl.LazyFrame):
            return whole_columns(data.lazy().collect(), "turns")
        # Without an import of pandas, which need not be installed.
        if type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns"):
            return _from_pandas(data, words)
        if hasattr(data, "__arrow_c_stream__"):
            return pl.DataFrame(data)
        if isinstance(data, Mapping):
            return _from_lists(data, words)
    except RecursionError as error:
        raise ArgumentError("turns: a value is nested too deeply, or holds itself") from error
    except (pl.exceptions.PolarsError, ValueError, TypeError) as error:
        raise SchemaError(f"TURNS: the table cannot be read ({first_line(error)}); give it plain columns") from error
    is_array_of_one = getattr(data, "ndim", 1) == 0  # NumPy calls it iterable
    if isinstance(data, Iterable) and not isinstance(data, str | bytes) and not is_array_of_one:
        return _from_records(data, words)
    hint = "; `rw.read(path)` reads files" if isinstance(data, str) or hasattr(data, "__fspath__") else ""
    raise ArgumentError(f"turns: a {type(data).__name__} is not a table; pass a frame or a list of dicts{hint}")


def _from_records(data: Iterable[Any], words: AbstractSet[str]) -> pl.DataFrame:
    columns = Columns()
    for position, record in enumerate(data):
        if not isinstance(record, Mapping):
            raise ArgumentError(
                f"turns: record {position} is a {type(record).__name__}, not a dict; pass a list of dicts, one per turn"
            )
        try:
            columns.append(
                {str(name): value if type(value) in _PLAIN else plain(value) for name, value in record.items()}
            )
        except RecursionError as error:
            raise ArgumentError(f"turns: record {position} is nested too deeply, or holds itself") from error
    return from_columns(columns, words)


def _from_lists(data: Mapping[Any, Any], words: AbstractSet[str]) -> pl.DataFrame:
    lists = {str(name): [plain(value) for value in values] for name, values in data.items()}
    return pl.DataFrame({name: column(name, values, words=name in words) for name, values in lists.items()})


def plain(value: Any, depth: int = 0) -> Any:
    """Convert a value to plain Python: numbers and arrays of NumPy and similar libraries, decimals, missing values of pandas.

    `depth` counts the levels around the value: more than `DEEPEST` are a RecursionError, whatever Python's own limit is.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if depth > DEEPEST:
        raise RecursionError
    if isinstance(value, Mapping):
        return {name: plain(element, depth + 1) for name, element in value.items()}
    if isinstance(value, list | tuple):
        return [plain(element, depth + 1) for element in value]
    # Arrays and scalars of NumPy, and of libraries with the same interface.
    if hasattr(value, "tolist"):
        return plain(value.tolist(), depth + 1)
    if kind.__name__ in _MISSING:
        return None
    return float(value) if isinstance(value, Decimal) else value


def from_columns(columns: Columns, words: AbstractSet[str]) -> pl.DataFrame:
    """Return columns that were built from records as a frame, each of one dtype."""
    return pl.DataFrame({name: column(name, values, words=name in words) for name, values in columns.padded().items()})


def _from_pandas(data: Any, words: AbstractSet[str]) -> pl.DataFrame:
    # A named index is data, such as a rollout id; an unnamed one only counts rows.
    if any(name is not None for name in data.index.names):
        data = data.reset_index()
    data = data.set_axis([str(name) for name in data.columns], axis=1)
    if not data.columns.is_unique:
        raise SchemaError(f"TURNS: two columns have one name ({listing(data.columns, most=30)}); rename one")
    series = []
    for name in data.columns:
        values = data[name]
        # Objects are converted one by one, so that mixed types follow the rules of `column`.
        if values.dtype == object:
            is_present = values.notna().to_list()
            objects = {name: [value if present else None for value, present in zip(values, is_present, strict=True)]}
            series.append(_from_lists(objects, words)[name])
        else:
            series.append(pl.Series(name, pl.from_pandas(values)))
    return pl.DataFrame(series)
