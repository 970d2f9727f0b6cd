"""Columns from Python values, and frames with different dtypes concatenated, without silent changes of values.

An extra column has one dtype: integers and floats become Float64, and any other mixture (text and number, list and text)
becomes JSON text in all rows, so that ``1`` and ``"1"`` stay different. Polars' relaxed concat would make both the text ``1``.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import reduce
from typing import Any, TypeVar

import polars as pl

from rollwise.errors import ArgumentError, listing
from rollwise.readers.records import json_text, spelled_out
from rollwise.schema import TREE_COLUMNS, TURNS
from rollwise.schema.named import column_named, columns_named, values_named

F = TypeVar("F", pl.DataFrame, pl.LazyFrame)

MIXED = pl.Object()  # represents values without a common dtype
DTYPES = TURNS.dtypes
ADDED = frozenset(TURNS.names) - {*TURNS.required, *TREE_COLUMNS}  # columns that `arrange` adds if they are missing
_BIG = 2**63
_PLAIN: tuple[tuple[type, pl.DataType], ...] = (
    (bool, pl.Boolean()),
    (float, pl.Float64()),
    (str, pl.String()),
    (bytes, pl.Binary()),
    (datetime, pl.Datetime("us")),
    (date, pl.Date()),
    (time, pl.Time()),
    (timedelta, pl.Duration("us")),
)


class Columns:
    """Lists that grow row by row; a name that first appears later is null in the earlier rows."""

    def __init__(self) -> None:
        self.height = 0
        self._values: dict[str, list[Any]] = {}

    def append(self, row: Mapping[str, Any]) -> None:
        """Add one row."""
        for name, value in row.items():
            column = self._values.get(name)
            if column is None or len(column) < self.height:
                column = self._filled(name)
            column.append(value)
        self.height += 1

    def extend(self, rows: Mapping[str, Sequence[Any]], count: int) -> None:
        """Add several rows, given by column."""
        for name, values in rows.items():
            self._filled(name).extend(values)
        self.height += count

    def padded(self) -> dict[str, list[Any]]:
        """Return the columns, all of one length."""
        return {name: self._filled(name) for name in self._values}

    def _filled(self, name: str) -> list[Any]:
        """Return a column, with null for each row that did not have it."""
        column = self._values.setdefault(name, [])
        if len(column) < self.height:
            column.extend([None] * (self.height - len(column)))
        return column


def column(name: str, values: Sequence[Any], *, nested: bool = True, words: bool = False) -> pl.Series:
    """Return the values as a column of one dtype, or else as JSON text; `words` leaves text unquoted beside other values."""
    dtype = dtype_of(values)
    if dtype == pl.Object or (dtype.is_nested() and not nested):
        values = [value if words and isinstance(value, str) else json_text(value) for value in values]
        dtype = pl.String()
    # Polars would otherwise cut a float in a list of integers.
    if dtype.is_nested():
        values = [_fitted(value, dtype) for value in values]
    try:
        return pl.Series(name, values, dtype=dtype, strict=True)
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 cannot hold
        # Emoji that a tool cut in the middle. All values are looked through, which is slow, and hence not done before.
        return pl.Series(name, [spelled_out(value) for value in values], dtype=dtype, strict=True)


def dtype_of(values: Iterable[Any]) -> pl.DataType:
    """Return the common dtype of the values, or `MIXED`."""
    by_type: dict[type, list[Any]] = {}
    for value in values:
        if value is not None:
            by_type.setdefault(type(value), []).append(value)
    # One value of a type decides, except that containers differ, and that integers may be too large for Int64.
    samples: list[Any] = []
    for kind, group in by_type.items():
        if kind is int:
            samples += [min(group), max(group)]
        else:
            samples += group if kind in {list, tuple, dict} else group[:1]
    initial: pl.DataType = pl.Null()
    return reduce(_common, map(_dtype, samples), initial)


def json_column(series: pl.Series) -> pl.Series:
    """Return the column as JSON text; null stays null."""
    return pl.Series(series.name, [json_text(value) for value in series.to_list()], dtype=pl.String)


def reconcile(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate frames. Columns of TURNS must have its dtypes; other columns are cast to a common dtype.

    Integers of any width become Int64, and with floats Float64; text of any kind becomes String; other mixtures become
    JSON text in all rows. A column that is null in all rows is String.
    """
    schemas = [frame.schema for frame in frames]
    names = list(dict.fromkeys(name for schema in schemas for name in schema))
    empty = [_empty(frame) for frame in frames]
    joint: dict[str, pl.DataType] = {}
    for name in names:
        # The dtype of a column without values does not count, unless no frame has values.
        parts = [(schema[name], name in nulls) for schema, nulls in zip(schemas, empty, strict=True) if name in schema]
        joint[name] = reduce(_common, [dtype for dtype, null in parts if not null] or [dtype for dtype, _ in parts])
    conformed = [
        frame.with_columns(
            _as(values_named(frame, name), joint[name]).alias(name)
            for name, dtype in schema.items()
            if dtype != joint[name]
        )
        for frame, schema in zip(frames, schemas, strict=True)
    ]
    joined = pl.concat(conformed, how="diagonal") if conformed else pl.DataFrame()
    return joined.with_columns(pl.col(pl.Null).cast(pl.String))


def without_nulls(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame without columns of TURNS that are null in all rows.

    `arrange` adds them again as literals, which take no memory; a column of nulls that was read takes as much as any other.
    """
    return frame.drop(columns_named(ADDED & _empty(frame)))


def arrange(frame: F) -> F:
    """Return a frame, or a lazy one, with every column of TURNS in its order, then its others; tree columns only if it has one."""
    names = frame.collect_schema().names()
    is_tree = any(name in TREE_COLUMNS for name in names)
    turns_columns = [
        column_named(name) if name in names else pl.lit(None, dtype).alias(name)
        for name, dtype in DTYPES.items()
        if is_tree or name not in TREE_COLUMNS
    ]
    return frame.select(*turns_columns, *(column_named(name) for name in names if name not in TURNS.names))


def selected(turns: pl.DataFrame | pl.LazyFrame, wanted: Sequence[str]) -> pl.DataFrame | pl.LazyFrame:
    """Select the keys, then the wanted columns in their order."""
    columns = turns.collect_schema().names()
    missing = next((name for name in wanted if name not in columns), None)
    if missing is not None:
        raise ArgumentError(
            f"read: there is no column {missing!r}; `rw.read(paths).columns` lists the available columns"
        )
    keys = [name for name in ("rollout_id", "turn", "node_id") if name in columns]
    return turns.select(columns_named(list(dict.fromkeys([*keys, *wanted]))))


def fact_literals(facts: dict[str, Any], verb: str = "read") -> dict[str, pl.Expr]:
    """Return the facts that a user passes to a reader, as constants of their dtypes in TURNS."""
    literals = {}
    for name, value in facts.items():
        if name not in TURNS.facts:
            names = f"facts are {listing(TURNS.facts, most=len(TURNS.facts))}"
            advice = f"name a column of yours afterwards: `rw.turns(turns, names={{'{name}': {value!r}}})`"
            raise ArgumentError(
                f"{verb}: {name!r} is not a fact of a rollout; {advice if name in TURNS.names else names}"
            )
        dtype = TURNS.dtypes[name]
        try:
            literals[name] = pl.lit(pl.Series([value], dtype=dtype, strict=True).first(), dtype)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            words = f" ({listing(dtype.categories)})" if isinstance(dtype, pl.Enum) else ""
            raise ArgumentError(f"{verb}: {name}={value!r} is not {dtype}{words}; give a value of that kind") from error
    return literals


def _empty(frame: pl.DataFrame) -> set[str]:
    """Return the columns that are null in all rows."""
    # All counts at once: taking a single column out of the frame would turn a literal null into a full column.
    return {name for name, (nulls,) in frame.null_count().to_dict(as_series=False).items() if nulls == frame.height}


def _as(series: pl.Series, dtype: pl.DataType) -> pl.Series:
    if series.null_count() == series.len():
        return pl.Series(series.name, [None] * series.len(), dtype=pl.String if dtype == pl.Object else dtype)
    return json_column(series) if dtype == pl.Object else series.cast(dtype)


def _common(left: pl.DataType, right: pl.DataType) -> pl.DataType:
    """Return the common dtype of two dtypes, or `MIXED`: no value may change, so 64-bit unsigned and decimals do not mix."""
    # A null fits any dtype.
    if right in (left, pl.Null()):
        return left
    if left == pl.Null:
        return right
    words = (pl.String, pl.Categorical, pl.Enum)
    if isinstance(left, words) and isinstance(right, words):
        return pl.String()
    if left.is_integer() and right.is_integer():
        # Int64 cannot hold these.
        return MIXED if {left, right} & {pl.UInt64(), pl.Int128(), pl.UInt128()} else pl.Int64()
    if left.is_numeric() and right.is_numeric():
        # A float cannot hold each decimal exactly.
        return MIXED if isinstance(left, pl.Decimal) or isinstance(right, pl.Decimal) else pl.Float64()
    return _common_nested(left, right)


def _common_nested(left: pl.DataType, right: pl.DataType) -> pl.DataType:
    if isinstance(left, pl.List) and isinstance(right, pl.List):
        inner = _common(_instance(left.inner), _instance(right.inner))
        return MIXED if inner == pl.Object else pl.List(inner)
    if isinstance(left, pl.Struct) and isinstance(right, pl.Struct):
        left_fields, right_fields = dict(left), dict(right)
        # A struct with other fields is JSON text: a field that is missing is not a field that is null.
        if left_fields.keys() != right_fields.keys():
            return MIXED
        fields = {name: _common(_instance(left_fields[name]), _instance(right_fields[name])) for name in left_fields}
        return MIXED if any(dtype == pl.Object for dtype in fields.values()) else pl.Struct(fields)
    return MIXED


def _instance(dtype: Any) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()


def _dtype(value: Any) -> pl.DataType:
    if value is None:
        return pl.Null()
    if isinstance(value, int) and not isinstance(value, bool):
        return pl.Int64() if -_BIG <= value < _BIG else MIXED
    if isinstance(value, list | tuple):
        inner = dtype_of(value)
        return MIXED if inner == pl.Object else pl.List(inner)
    if isinstance(value, dict):
        fields = {name: _dtype(item) for name, item in value.items()}
        is_struct = fields and all(isinstance(name, str) and fields[name] != pl.Object for name in fields)
        return pl.Struct(fields) if is_struct else MIXED
    # A column has one time zone, and values may have several.
    if isinstance(value, datetime) and value.tzinfo is not None:
        return MIXED
    return next((dtype for kind, dtype in _PLAIN if isinstance(value, kind)), MIXED)


def _fitted(value: Any, dtype: Any) -> Any:
    """Return the value with floats for integers where the dtype has floats: in lists, Polars only looks at the first value."""
    if value is None:
        return None
    if isinstance(dtype, pl.List):
        return [_fitted(item, dtype.inner) for item in value]
    if isinstance(dtype, pl.Struct):
        return {name: _fitted(value[name], inner) for name, inner in dict(dtype).items()}
    return float(value) if dtype == pl.Float64 else value


def built(columns: Mapping[str, list[Any]]) -> pl.DataFrame:
    """Return columns of values as a frame, with the dtypes of TURNS."""
    return pl.DataFrame({name: series_of(name, values) for name, values in columns.items()})


def series_of(name: str, values: list[Any]) -> pl.Series:
    """Return the values of a column with its dtype in TURNS, or that which they have."""
    dtype = DTYPES.get(name)
    if dtype is None:
        return column(name, values, nested=False)
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        return _lists_of(name, values, dtype.inner)
    return pl.Series(name, values, dtype=dtype, strict=True)


def _lists_of(name: str, values: Sequence[list[Mapping[str, Any]] | None], dtype: pl.Struct) -> pl.Series:
    """Return lists of structs as a column, built field by field, which is much faster than row by row."""
    items = [item for value in values if value for item in value]
    fields = [pl.Series(field, [item.get(field) for item in items], kind) for field, kind in dict(dtype).items()]
    rows = pl.Series("row", [row for row, value in enumerate(values) for _ in value or ()], pl.UInt32)
    grouped = pl.DataFrame([rows, pl.DataFrame(fields).to_struct(name)]).group_by("row", maintain_order=True).agg(name)
    empty = [row for row, value in enumerate(values) if value is not None and not value]
    lists = pl.concat([grouped, pl.DataFrame({"row": empty, name: [[]] * len(empty)}, schema=grouped.schema)])
    return pl.DataFrame({"row": range(len(values))}, schema={"row": pl.UInt32}).join(
        lists, on="row", how="left", maintain_order="left"
    )[name]
