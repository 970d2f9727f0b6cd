"""Columns from values and frames beside one another, without a silent change of anything.

An extra column has one dtype: whole numbers and fractions meet as Float64, every other disagreement (text and number,
list and text) becomes JSON text for all rows, so that ``1`` and ``"1"`` stay apart. Polars' relaxed concat would
make both the text ``1``.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import reduce
from typing import Any

import polars as pl

from turnwise.readers.records import json_text
from turnwise.schema import TREE_COLUMNS, TURNS

MIXED = pl.Object()
ADDED = frozenset(TURNS.names) - {
    *TURNS.required,
    *TREE_COLUMNS,
}  # columns that `arrange` adds where they are not there
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
_SIMPLE = dict(_PLAIN[:3])  # of which one value is as good as another


class Columns:
    """Lists that grow row by row; a name that first appears later is null in the earlier rows.

    Examples
    --------
    >>> columns = Columns()
    >>> columns.append({"a": 1})
    >>> columns.append({"b": "x"})
    >>> columns.padded()
    {'a': [1, None], 'b': [None, 'x']}
    """

    def __init__(self) -> None:
        self.height = 0
        self._values: dict[str, list[Any]] = {}

    def append(self, row: Mapping[str, Any]) -> None:
        """Add one row."""
        for name, value in row.items():
            self._filled(name).append(value)
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
    """The values as a column of one dtype, else as JSON text.

    Parameters
    ----------
    name
        Of the column.
    values
        Of any types.
    nested
        Whether lists and objects that are all alike keep their structure; else they are JSON text, whatever they hold.
    words
        Whether the column is one of words: of mixed values, those that are text already stay as they are.

    Examples
    --------
    >>> column("n", [1, 2.5, None]).to_list(), column("n", [1, "1", None]).to_list()
    ([1.0, 2.5, None], ['1', '"1"', None])
    """
    dtype = dtype_of(values)
    if dtype == pl.Object or (dtype.is_nested() and not nested):
        values = [value if words and isinstance(value, str) else json_text(value) for value in values]
        dtype = pl.String()
    if dtype.is_nested():
        values = [_fitted(value, dtype) for value in values]
    try:
        return pl.Series(name, values, dtype=dtype, strict=True)
    except UnicodeEncodeError:  # half of a surrogate pair, which is no text
        return pl.Series(name, [_clean(value) for value in values], dtype=dtype, strict=True)


def dtype_of(values: Iterable[Any]) -> pl.DataType:
    """The one dtype of the values; `MIXED` if there is none.

    Examples
    --------
    >>> dtype_of([1, None, 2.5]), dtype_of([[1], []]), dtype_of([1, "a"])
    (Float64, List(Int64), Object)
    """
    known = [value for value in values if value is not None]
    kinds = set(map(type, known))
    if len(kinds) == 1:  # as most columns are: one look at the kinds tells
        (kind,) = kinds
        if kind in _SIMPLE or (kind is int and min(known) >= -_BIG and max(known) < _BIG):
            return _SIMPLE.get(kind, pl.Int64())
    nothing: pl.DataType = pl.Null()
    return reduce(_met, map(_dtype, _distinct(known)), nothing)


def json_column(series: pl.Series) -> pl.Series:
    """The column as JSON text; null stays null.

    Examples
    --------
    >>> json_column(pl.Series("x", ["1", None])).to_list()
    ['"1"', None]
    """
    return pl.Series(series.name, [json_text(value) for value in series.to_list()], dtype=pl.String)


def reconcile(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The frames under one another. Columns of TURNS must have its dtypes; the others are brought together.

    Whole numbers of any width become Int64 and with fractions Float64, words of any kind String; columns that
    disagree otherwise become JSON text in all rows. A column that is null throughout is String.

    Examples
    --------
    >>> a, b = pl.DataFrame({"index": [3]}), pl.DataFrame({"index": ["0"], "note": [None]})
    >>> reconcile([a, b]).rows()
    [('3', None), ('"0"', None)]
    """
    schemas = [frame.schema for frame in frames]
    names = list(dict.fromkeys(name for schema in schemas for name in schema))
    empty = [_empty(frame) for frame in frames]
    joint: dict[str, pl.DataType] = {}
    for name in names:
        parts = [(schema[name], name in nulls) for schema, nulls in zip(schemas, empty, strict=True) if name in schema]
        joint[name] = reduce(_met, [dtype for dtype, null in parts if not null] or [dtype for dtype, _ in parts])
    conformed = [
        frame.with_columns(_as(frame[name], joint[name]) for name, dtype in schema.items() if dtype != joint[name])
        for frame, schema in zip(frames, schemas, strict=True)
    ]
    whole = pl.concat(conformed, how="diagonal") if conformed else pl.DataFrame()
    return whole.with_columns(pl.col(pl.Null).cast(pl.String))


def without_nulls(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame without those columns of TURNS that are null in all rows.

    `arrange` adds them again, where they cost nothing: one that was read takes as many bytes a row as any other.

    Examples
    --------
    >>> without_nulls(pl.DataFrame({"rollout_id": ["a"], "goal": [None], "harm": [None]})).columns
    ['rollout_id', 'harm']
    """
    return frame.drop(ADDED & _empty(frame))


def arrange(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with every column of TURNS, in its order, and then its own; tree columns only where it has one.

    Examples
    --------
    >>> arrange(pl.DataFrame({"harm": [0.5], "rollout_id": ["a"]})).columns[:2]
    ['rollout_id', 'turn']
    """
    return frame.select(arrangement(frame.columns))


def arrangement(names: Sequence[str]) -> list[pl.Expr]:
    """The expressions behind `arrange`, which serve a lazy frame as well."""
    tree = any(name in TREE_COLUMNS for name in names)
    ours = [
        pl.col(name) if name in names else pl.lit(None, dtype).alias(name)
        for name, dtype in TURNS.dtypes.items()
        if tree or name not in TREE_COLUMNS
    ]
    return [*ours, *(pl.col(name) for name in names if name not in TURNS.names)]


def _empty(frame: pl.DataFrame) -> set[str]:
    """The columns that are null in all rows; such as are null by themselves are not written out for it."""
    return {name for name, (nulls,) in frame.null_count().to_dict(as_series=False).items() if nulls == frame.height}


def _as(series: pl.Series, dtype: pl.DataType) -> pl.Series:
    if series.null_count() == series.len():
        return pl.Series(series.name, [None] * series.len(), dtype=pl.String if dtype == pl.Object else dtype)
    return json_column(series) if dtype == pl.Object else series.cast(dtype)


def _met(left: pl.DataType, right: pl.DataType) -> pl.DataType:
    if right in (left, pl.Null()):
        return left
    if left == pl.Null:
        return right
    words = (pl.String, pl.Categorical, pl.Enum)
    if isinstance(left, words) and isinstance(right, words):
        return pl.String()
    if left.is_integer() and right.is_integer():
        return MIXED if {left, right} & {pl.UInt64(), pl.Int128(), pl.UInt128()} else pl.Int64()
    if left.is_numeric() and right.is_numeric():
        return MIXED if isinstance(left, pl.Decimal) or isinstance(right, pl.Decimal) else pl.Float64()
    return _met_nested(left, right)


def _met_nested(left: pl.DataType, right: pl.DataType) -> pl.DataType:
    if isinstance(left, pl.List) and isinstance(right, pl.List):
        inner = _met(_instance(left.inner), _instance(right.inner))
        return MIXED if inner == pl.Object else pl.List(inner)
    if isinstance(left, pl.Struct) and isinstance(right, pl.Struct):
        ours, theirs = dict(left), dict(right)
        if ours.keys() != theirs.keys():
            return MIXED
        fields = {name: _met(_instance(ours[name]), _instance(theirs[name])) for name in ours}
        return MIXED if any(dtype == pl.Object for dtype in fields.values()) else pl.Struct(fields)
    return MIXED


def _instance(dtype: Any) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()


def _distinct(values: Iterable[Any]) -> Iterable[Any]:
    """One value of each plain type, and all others: what is needed to tell the dtype."""
    seen: dict[type, Any] = {}
    for value in values:
        kind = type(value)
        if kind in {int, list, tuple, dict} or kind not in seen:
            seen[kind] = value
            yield value


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
        plain = fields and all(isinstance(name, str) and fields[name] != pl.Object for name in fields)
        return pl.Struct(fields) if plain else MIXED
    if isinstance(value, datetime) and value.tzinfo is not None:
        return MIXED
    return next((dtype for kind, dtype in _PLAIN if isinstance(value, kind)), MIXED)


def _fitted(value: Any, dtype: Any) -> Any:
    """The value with fractions for whole numbers where the dtype wants them: deep inside, Polars looks at the first only."""
    if value is None:
        return None
    if isinstance(dtype, pl.List):
        return [_fitted(item, dtype.inner) for item in value]
    if isinstance(dtype, pl.Struct):
        return {name: _fitted(value[name], inner) for name, inner in dict(dtype).items()}
    return float(value) if dtype == pl.Float64 else value


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return {_clean(name): _clean(item) for name, item in value.items()} if isinstance(value, dict) else value
