"""Coercion of columns that came from other tools to the dtypes of the schema, or one sentence on why that is impossible.

R, Excel, pandas and DuckDB write ids as numbers, counts as floats and words as categories. Such a column is taken for what it
says. A column whose dtype cannot hold its meaning (a list of outcomes, a struct as an id) is refused here, before any verb
computes with it.
"""

import polars as pl

from rollwise.errors import SchemaError
from rollwise.schema.columns import Column, Schema
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.schema.records import TURNS, VERDICTS

_LONGEST = 60  # letters of a dtype in a sentence
_ONE_VALUE = ("rollout_id", "attack", "metric", "statistic")
"""Texts that have exactly one value; other texts may be lists, such as tags, to group by."""


def check_dtypes(frame: pl.DataFrame, shape: Schema, verb: str) -> None:
    """Raise an error for the first column of the schema whose dtype cannot hold its meaning."""
    with_dtypes(frame, shape, verb)


def with_dtypes(frame: pl.DataFrame, shape: Schema, verb: str) -> pl.DataFrame:
    """Return the frame with the dtypes of the schema, where it has its columns; text that may be lists of texts stays lists."""
    return frame.with_columns(
        cast_column(frame, column, verb)
        for column in shape.columns
        if column.name in frame.columns and not _may_be_lists(frame.schema[column.name], column)
    )


def _may_be_lists(dtype: pl.DataType, column: Column) -> bool:
    """Return whether a column of texts is one of lists, and may be."""
    return dtype == pl.List and column.dtype == pl.String and column.name not in _ONE_VALUE


def in_schema(frame: pl.DataFrame, shape: Schema, verb: str) -> pl.DataFrame:
    """Return the frame with the dtypes of the schema, where it has its columns; words of an Enum become text."""
    return frame.with_columns(
        cast_column(frame, column, verb) for column in shape.columns if column.name in frame.columns
    )


def with_keys(turns: pl.DataFrame, verb: str) -> pl.DataFrame:
    """Return a table of turns whose ids and numbers of turns have the dtypes of TURNS."""
    keys = [column for column in TURNS.columns if column.name in VERDICTS.key and column.name in turns.columns]
    return turns.with_columns(cast_column(turns, column, verb) for column in keys)


def joined_times(frame: pl.DataFrame) -> pl.DataFrame:
    """Join the two columns of a time to an event, or of an amount spent until then, as CSV holds it, into one struct."""
    for name in [column.removesuffix("_duration") for column in frame.columns if column.endswith("_duration")]:
        parts = [f"{name}_duration", f"{name}_observed"]
        if parts[1] not in frame.columns or name in frame.columns:
            continue
        duration, observed = (frame[part] for part in parts)
        is_known = duration.is_not_null()
        is_number = duration.dtype.is_integer() or duration.dtype.is_float()
        if is_number and observed.dtype == pl.Boolean and (is_known == observed.is_not_null()).all():
            is_time = not name.startswith("spent_to") and _are_whole(duration)
            amount = column_named(parts[0]).cast(pl.Int32 if is_time else pl.Float64).alias("duration")
            pair = pl.struct(amount, column_named(parts[1]).alias("observed"))
            frame = frame.with_columns(pl.when(is_known).then(pair).alias(name)).drop(columns_named(parts))
    return frame


def whole_times(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with whole durations in columns ``time_to_...``, which pandas makes floats.

    Other columns stay: a float duration may be an amount spent.
    """
    for name, dtype in frame.schema.items():
        if not name.startswith("time_to") or not isinstance(dtype, pl.Struct) or "duration" not in dtype.to_schema():
            continue
        duration = values_named(frame, name).struct.field("duration")
        if duration.dtype.is_float() and _are_whole(duration.fill_nan(None)):
            integers = duration.fill_nan(None).cast(pl.Int32).alias("duration")
            frame = frame.with_columns(column_named(name).struct.with_fields(integers))
    return frame


def _are_whole(durations: pl.Series) -> bool:
    """Return whether all are whole numbers that fit into 32 bits."""
    return bool(((durations == durations.round()) & (durations.abs() < 2**31)).all())


def cast_column(frame: pl.DataFrame, column: Column, verb: str) -> pl.Series:
    """Return a column of the frame with the dtype of its schema; words of an Enum stay text."""
    return _cast(values_named(frame, column.name), column, verb).alias(column.name)


def _cast(series: pl.Series, column: Column, verb: str) -> pl.Series:
    # A word that an Enum lacks may be compared with its words (and equals none of them), so words stay text.
    target = pl.String() if column.dtype in (pl.Enum, pl.String) else column.dtype
    if series.dtype in (target, column.dtype):
        return series
    if series.null_count() == series.len():  # pandas says text of a column of any dtype without values
        return pl.Series(column.name, [None], dtype=target).new_from_index(0, series.len())
    wrong: pl.Series | None = None
    if _may_be(series.dtype, target):
        try:
            result = series.cast(target, strict=False)
        except pl.exceptions.PolarsError:  # nested dtypes that have other parts
            result = pl.Series(column.name, [None], dtype=target).new_from_index(0, series.len())
        # A cast that is not strict makes null of what it cannot convert: such values, and changed ones, are wrong.
        wrong = series.filter(series.is_not_null() & (result.is_null() | _loses(series, result)))
        if wrong.is_empty():
            return result
    holds = "" if wrong is None else f" and holds {str(wrong[0])[:_LONGEST]!r}".replace("'", "")
    raise SchemaError(
        f"{verb}: column `{column.name}` is {_in_words(series.dtype)}{holds}, but should be {_meaning(target)}; "
        f"convert it, or drop it: `.drop({column.name!r})`"
    )


def _may_be(dtype: pl.DataType, target: pl.DataType | type[pl.DataType]) -> bool:
    """Return whether values of a dtype can be values of another."""
    if dtype == pl.Null:
        return True
    if target == pl.String:
        # A number or date may be the name of something; bytes and spans of time are not.
        return dtype in (pl.Categorical, pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Time) or dtype.is_numeric()
    if target == pl.Boolean:
        return dtype.is_numeric()
    if isinstance(target, pl.List | pl.Struct):
        return isinstance(dtype, type(target))
    return dtype.is_numeric() or dtype in (pl.Boolean, pl.String)


def _loses(series: pl.Series, result: pl.Series) -> pl.Series:
    """Mark the values that are another number after the cast, such as 1.5 as a whole number."""
    # Only a cast to whole numbers or Booleans can lose a part of a number.
    if not (series.dtype.is_numeric() and (result.dtype.is_integer() or result.dtype == pl.Boolean)):
        return pl.Series([False]).new_from_index(0, series.len())
    return (series.cast(pl.Float64) != result.cast(pl.Float64)).fill_null(value=False)


def _in_words(dtype: pl.DataType) -> str:
    text = " ".join(str(dtype).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _meaning(target: pl.DataType | type[pl.DataType]) -> str:
    if target == pl.String:
        return "text"
    if target == pl.Boolean:
        return "True or False"
    if target.is_integer():
        return "a whole number"
    return "a number" if target.is_float() else str(target)
