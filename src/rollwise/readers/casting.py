"""A column into its dtype of TURNS, strictly: what does not fit is named, never nulled."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import msgspec
import polars as pl

from rollwise.errors import SchemaError, counted, listing
from rollwise.readers.columns import json_column
from rollwise.readers.json_texts import lenient
from rollwise.readers.problems import RECORD, BrokenError, nulled
from rollwise.readers.records import spare
from rollwise.readers.roles.ratings import ratings_in
from rollwise.readers.tool_calls import calls
from rollwise.schema import TOOL_CALLS, TOOL_RESULTS
from rollwise.schema.columns import CALL_STATUSES
from rollwise.schema.labels import say

PLACES = frozenset({"rollout_id", "turn", "node_id", "parent_id", "target_call"})  # what says where a turn belongs
_WORDS = {"true": True, "false": False, "1": True, "0": False}


def cast(series: pl.Series, dtype: pl.DataType | type[pl.DataType], ids: pl.Series) -> pl.Series:
    """The series in the dtype that TURNS gives its column.

    Ids and other words may be whole numbers; counts may be ``60.0`` or the text ``60``; a Boolean may be 0 and 1 or
    the words true and false; what is nested becomes JSON text in a column of words.
    """
    if series.dtype == dtype:
        return series
    result, what = converted(series, dtype)
    lost = series.is_not_null() & result.is_null()
    if lost.any() and dtype == pl.Float64 and series.dtype == pl.String and (ratings := ratings_in(series)) is not None:
        sentence = f"`{series.name}`: a rating was read in {ratings.count():,} of {len(series):,} texts, the others are unknown"
        current = RECORD.get()
        say(sentence) if current is None else current[0].suggest([sentence])
        return ratings.alias(series.name)
    if lost.any():
        row = int(lost.arg_max() or 0)
        reason = f"TURNS: column `{series.name}` of rollout {ids[row]!r} is {shown(series[row])}, not {what}"
        others = f" (and {counted(int(lost.sum()) - 1, 'more row')})" if lost.sum() > 1 else ""
        # Where problems are collected, an odd value costs itself; but a turn is nothing without its place.
        if series.name in PLACES or not nulled(series.name, f"{reason}{others}: null there"):
            raise SchemaError(
                f"{reason}; correct or rename the column, or `frame.with_columns(...)` it into what it should be"
            )
    return result.alias(series.name)


def converted(series: pl.Series, dtype: pl.DataType | type[pl.DataType]) -> tuple[pl.Series, str]:
    """Return the series in this dtype, null where a value does not fit, and what its values must be."""
    rule, what = _rule(dtype)
    if series.dtype == pl.Null:
        return series.cast(dtype), what
    return rule(series.cast(pl.String) if isinstance(series.dtype, pl.Categorical | pl.Enum) else series, dtype), what


def guessed(series: pl.Series) -> pl.Series:
    """Text as the numbers or Booleans that all of it says; ``007`` stays text."""
    values = series.drop_nulls()
    if values.is_empty():
        return series
    # Integers beyond 64 bits stay text, as a float would change their digits.
    if values.str.contains(r"^-?(0|[1-9]\d*)$").all():
        integers = series.cast(pl.Int64, strict=False)
        return integers if integers.null_count() == series.null_count() else series
    if values.str.contains(r"^([+-]?(0|[1-9]\d{0,17})(\.\d*)?([eE][+-]?\d+)?|[+-]?inf|NaN)$").all():
        return series.cast(pl.Float64)
    if values.is_in(["true", "false", "True", "False"]).all():
        return series.str.to_lowercase() == "true"
    return series


def with_points(series: pl.Series) -> pl.Series:
    """Text with decimal points where all of it is numbers with decimal commas, as in files with semicolons between fields."""
    # One value with a point shows that commas are something else there.
    is_number = series.drop_nulls().str.contains(r"^[+-]?\d+(,\d+)?([eE][+-]?\d+)?$").all()
    return series.str.replace(",", ".", literal=True) if is_number else series


_Rule = Callable[[pl.Series, Any], pl.Series]


class _Result(msgspec.Struct, forbid_unknown_fields=True):
    """Result of one call, as the column `tool_results` has it."""

    id: str | None = None
    result: str | None = None
    status: Literal["ran", "failed", "refused"] | None = None


def _rule(dtype: Any) -> tuple[_Rule, str]:
    if isinstance(dtype, pl.Enum):
        return _enum, f"one of {listing(dtype.categories)}"
    if dtype == TOOL_CALLS:
        return partial(_each, _called), "a list of tool calls with name and arguments"
    if dtype == TOOL_RESULTS:
        return partial(_each, _returned), f"a list of results with id, result and status ({listing(CALL_STATUSES)})"
    if dtype == pl.Boolean:
        return _boolean, "true or false"
    if dtype in {pl.String, pl.Float64}:
        return (_words, "text") if dtype == pl.String else (_number, "a number")
    return _whole_number, "a whole number" if dtype == pl.Int64 else "a whole number below 2147483648"


def _words(series: pl.Series, dtype: Any) -> pl.Series:
    if series.dtype.is_nested() or series.dtype == pl.Object:
        return json_column(series)
    if series.dtype == pl.Duration:
        return series.dt.to_string("iso")
    if series.dtype == pl.Binary:
        return pl.Series(series.name, [_decoded(value) for value in series], dtype=pl.String)
    if series.dtype.is_float():
        integral = series.cast(pl.Int64, strict=False)
        if (integral.cast(series.dtype) == series).all() and integral.null_count() == series.null_count():
            return integral.cast(pl.String)  # ids that met a missing value in pandas
    return series.cast(pl.String, strict=False)


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _whole_number(series: pl.Series, dtype: Any) -> pl.Series:
    if series.dtype.is_integer():
        return series.cast(dtype, strict=False)
    if series.dtype == pl.String:
        exact = series.cast(pl.Int64, strict=False).cast(dtype, strict=False)
        return exact.zip_with(exact.is_not_null(), _whole_number(series.cast(pl.Float64, strict=False), dtype))
    if not series.dtype.is_numeric():
        return _nothing(series, dtype)
    number = series.cast(pl.Float64)
    integral = number.cast(dtype, strict=False)
    fits = (integral.cast(pl.Float64) == number).fill_null(value=False)
    return integral.zip_with(fits, _nothing(series, dtype))


def _number(series: pl.Series, dtype: Any) -> pl.Series:
    if series.dtype == pl.Duration and series.name.endswith("seconds"):
        return series.dt.total_microseconds() / 1e6
    plain = series.dtype.is_numeric() or series.dtype in {pl.Boolean, pl.String}
    return series.cast(pl.Float64, strict=False) if plain else _nothing(series, dtype)


def _boolean(series: pl.Series, dtype: Any) -> pl.Series:
    if series.dtype.is_numeric():
        series = series.cast(pl.Float64)
        return (series == 1).zip_with(series.is_in([0.0, 1.0]).fill_null(value=False), _nothing(series, dtype))
    if series.dtype == pl.String:
        return series.str.to_lowercase().replace_strict(_WORDS, default=None, return_dtype=pl.Boolean)
    return _nothing(series, dtype)


def _enum(series: pl.Series, dtype: Any) -> pl.Series:
    return series.cast(dtype, strict=False) if series.dtype == pl.String else _nothing(series, dtype)


def _each(rule: Callable[[Any], Any], series: pl.Series, dtype: Any) -> pl.Series:
    return pl.Series(series.name, list(map(rule, series.to_list())), dtype=dtype)


def _returned(value: Any) -> list[dict[str, str | None]] | None:
    """Return the results of the calls of one answer; null if the value is something else."""
    try:
        guess = lenient(value.encode())[0] if isinstance(value, str) else value
        return list(map(msgspec.structs.asdict, msgspec.convert(guess, list[_Result])))
    except (BrokenError, msgspec.ValidationError):
        return None


def with_strange_results(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with results of tools in a form of their own under the name that readers give such a column."""
    name = "tool_results"
    if name not in frame.columns or frame.schema[name] == TOOL_RESULTS:
        return frame
    results, _ = converted(frame[name], TOOL_RESULTS)
    return frame if results.null_count() == frame[name].null_count() else frame.rename({name: spare(name)})


def _called(value: Any) -> list[dict[str, str | None]] | None:
    """Return the tool calls of one answer; null without any, or if the value is something else."""
    try:
        guess = lenient(value.encode())[0] if isinstance(value, str) else value
        return (calls(guess) or []) if isinstance(guess, list) else None
    except BrokenError:
        return None


def _nothing(series: pl.Series, dtype: Any) -> pl.Series:
    return pl.Series(series.name, [None] * series.len(), dtype=dtype)


def shown(value: object) -> str:
    """Return a value for a message, cut."""
    text = repr(value.to_list() if isinstance(value, pl.Series) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."
