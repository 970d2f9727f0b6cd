"""Validation of the arguments of verbs: frames, column names, numbers, levels and statistics."""

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError, listing, writable
from rollwise.schema.coercion import check_dtypes
from rollwise.schema.frame_checks import check_ids
from rollwise.schema.other_names import meant_column

Cluster = str | tuple[str, ...] | None
By = str | Sequence[str] | None
MOST_RESAMPLES = 1_000_000
_LOWEST_LEVEL = 1e-6
_LONGEST = 60  # letters of a value in a sentence


def frame_of(data: object, verb: str) -> pl.DataFrame:
    """Convert data to an eager Polars frame: Polars, a `pyarrow.Table`, pandas, or anything with `__arrow_c_stream__`."""
    if isinstance(data, pl.LazyFrame):
        try:
            return whole_columns(data.collect(engine="streaming"), verb)
        except pl.exceptions.PolarsError as error:  # the user's own query
            message = str(error).splitlines()[0]
            raise SchemaError(f"{verb}: this lazy frame cannot be collected: {message}") from error
    if isinstance(data, pl.DataFrame):
        return whole_columns(data, verb)
    if hasattr(data, "__arrow_c_stream__"):
        return pl.DataFrame(data)
    if isinstance(data, str | PathLike):
        raise ArgumentError(
            f"{verb}: a path is not a frame; read the file first: logs with `rw.read({str(data)!r})`, "
            "a saved frame with `pl.read_parquet`"
        )
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        raise ArgumentError(
            f"{verb}: a {type(data).__name__} is not a frame, but holds {' and '.join(data._fields)}; pass its `.{data._fields[0]}`"
        )
    raise ArgumentError(
        f"{verb}: a {type(data).__name__} is not a frame; "
        "pass a Polars, pandas or Arrow table, or create one: from turns with `rw.turns(records)`, from other records with "
        "`pl.DataFrame(records)`"
    )


def whole_columns(frame: pl.DataFrame, verb: str) -> pl.DataFrame:
    """Return the frame, or raise an error if a column holds Python objects, of which Polars can neither sort nor compare any."""
    objects = [name for name, dtype in frame.schema.items() if dtype == pl.Object]
    if objects:
        raise SchemaError(
            f"{verb}: column {listing(objects)} holds Python objects; make it text or numbers, or leave it out: "
            f"`.drop({objects[0]!r})`"
        )
    return frame


def names_of(by: By) -> tuple[str, ...]:
    """Return the column names of a `by` argument as a tuple."""
    names = _as_tuple(by)
    for name in names:
        if isinstance(name, pl.Expr):
            raise ArgumentError(
                "an expression was given instead of a column name; compute it first: "
                "`measure(turns, ...)` for metrics, `.with_columns(...)` for other columns"
            )
        if not isinstance(name, str):
            raise ArgumentError(f"{name!r} is not the name of a column or statistic; names are strings")
    return names


def _as_tuple(argument: object) -> tuple[Any, ...]:
    """Return one or several values as a tuple; None gives an empty tuple."""
    if argument is None or isinstance(argument, str) or not isinstance(argument, Iterable):
        return () if argument is None else (argument,)
    return (argument,) if getattr(argument, "ndim", 1) == 0 else tuple(argument)


def whole_numbers(argument: object, words: str, things: str, *, least: int = 1) -> tuple[int, ...]:
    """Validate one or several Python or NumPy integers of at least `least`; `words` and `things` name them in the error."""
    numbers = _as_tuple(argument)
    wrong = [number for number in numbers if not _is_whole(number) or number < least]
    if wrong or not numbers:
        raise ArgumentError(
            f"{words}={shown(wrong[0] if wrong else argument)} is not a valid number of {things}; give whole numbers from {least}"
        )
    return tuple(int(number) for number in numbers)


def finite_numbers(argument: object, words: str) -> tuple[float, ...]:
    """Validate one or several finite Python or NumPy numbers."""
    numbers = _as_tuple(argument)
    wrong = [number for number in numbers if not _is_number(number) or not math.isfinite(number)]
    if wrong or not numbers:
        raise ArgumentError(
            f"{words}={shown(wrong[0] if wrong else argument)} is not a finite number; give one number, or several"
        )
    return tuple(map(_plain, numbers))


def one_number(argument: object, words: str) -> float:
    """Validate one finite Python or NumPy number; True counts as 1."""
    numbers = finite_numbers(int(argument) if isinstance(argument, bool) else argument, words)
    if len(numbers) > 1:
        raise ArgumentError(f"{words}={argument!r} contains several numbers; give one")
    return numbers[0]


def check_resamples(resamples: object, verb: str) -> None:
    """Raise an error if the number of bootstrap replicates is not an integer, too small, or so large that it fills memory."""
    if not _is_whole(resamples):
        raise ArgumentError(f"{verb}: resamples={shown(resamples)} is not a whole number; use, for example, 10000")
    if resamples < 100:  # type: ignore[operator]  # checked to be an integer above
        raise ArgumentError(f"{verb}: resamples={resamples} is too few for an interval; use, for example, 10000")
    if resamples > MOST_RESAMPLES:  # type: ignore[operator]
        raise ArgumentError(
            f"{verb}: resamples={resamples} is more than {MOST_RESAMPLES:,}; more change no digit: use, for example, 10000"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _plain(number: Any) -> float:
    """Convert a number to a Python float via its text, so that NumPy's float32 .95 becomes exactly .95."""
    return float(str(number)) if type(number).__module__ == "numpy" else float(number)


def shown(value: Any) -> str:
    """Return a value as a sentence shows it: in one line, and not longer than a sentence should be."""
    if isinstance(value, pl.DataFrame | pl.LazyFrame | pl.Series | pl.Expr):
        return f"a {type(value).__name__}"
    plain = value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value
    try:
        text = " ".join(writable(repr(plain)).split())
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def is_text(value: object) -> bool:
    """Return whether a value is text that a table can hold: half of a surrogate pair is not."""
    return isinstance(value, str) and writable(value) == value


def require_rollouts(rollouts: pl.DataFrame, verb: str) -> None:
    """Raise an error if the table is not ROLLOUTS, for example a table of turns or one without ids."""
    if "rollout_id" not in rollouts.columns:
        raise SchemaError(
            f"{verb}: column `rollout_id` is missing (available: {listing(rollouts.columns)}); measure turns with "
            '`rw.measure(turns)`; if each row is a rollout, rename your column of ids with `.rename({"yours": "rollout_id"})`, '
            'or number the rows with `.with_row_index("rollout_id")` (in pandas, `.reset_index(names="rollout_id")`)'
        )
    check_dtypes(rollouts, schema.ROLLOUTS, verb)
    check_ids(rollouts, verb)
    ids = rollouts["rollout_id"]
    if ids.n_unique() < ids.len():
        first = rollouts.filter(pl.col("rollout_id").is_duplicated())["rollout_id"][0]
        raise SchemaError(
            f"{verb}: rollout {first!r} occurs in several rows; this looks like a table of turns: run `rw.measure(turns)` first"
        )


def check_by(frame: pl.DataFrame, by: tuple[str, ...], result: schema.Schema, verb: str) -> None:
    """Raise an error for a grouping column that is missing, repeated, or named like a column of the result."""
    for name in by:
        if name not in frame.columns:
            hint = meant_column(name, frame)
            if "num_turns" in frame.columns and hint.startswith("available"):  # no column has a similar name
                hint += f" (`rw.measure(turns, ..., keep=[{name!r}])` carries a column along)"
            raise ArgumentError(f"{verb}: there is no column {name!r} to group by; {hint}")
        dtype = frame.schema[name]
        # A list of single values, such as tags, puts a rollout into several groups.
        if dtype.is_nested() and not (isinstance(dtype, pl.List) and not dtype.inner.is_nested()):
            raise ArgumentError(
                f"{verb}: `{name}` is {shown(dtype)}, which cannot group rows; make it text or numbers first"
            )
        if name in result.names:
            raise ArgumentError(
                f"{verb}: the grouping column {name!r} has the name of a result column; "
                f'rename it first: `.rename({{"{name}": "{name}_group"}})`'
            )
    if len(set(by)) < len(by):
        raise ArgumentError(f"{verb}: by={list(by)} repeats a column; name each column once")


def check_one_value(frame: pl.DataFrame, name: str, verb: str) -> None:
    """Raise an error for a column of lists where each rollout needs exactly one value."""
    if isinstance(frame.schema[name], pl.List | pl.Array):
        raise ArgumentError(
            f"{verb}: `{name}` is a column of lists, so a rollout has several values; make a column with one "
            f"value per rollout, as in `.with_columns(tagged=pl.col({name!r}).list.contains(...))`"
        )
    if frame.schema[name].is_nested():
        raise ArgumentError(
            f"{verb}: `{name}` is {shown(frame.schema[name])}, which is not a single value; make it text or a number first"
        )


def check_levels(level: float | Sequence[float]) -> tuple[float, ...]:
    """Validate one or several nominal coverages."""
    levels = _as_tuple(level)
    # A level so close to 1 that (1 + level) / 2 rounds to 1 would give infinite intervals, one close to 0 intervals without width.
    wrong = [value for value in levels if not _is_number(value) or not _LOWEST_LEVEL <= value < (1 + value) / 2 < 1]
    if wrong or not levels:
        value = wrong[0] if wrong else level
        raise ArgumentError(
            f"level={shown(value)} is not a valid nominal coverage; give a number between 0 and 1, such as 0.95"
        )
    return tuple(map(_plain, levels))


def value_in_words(column: pl.Series, value: object) -> str:
    """Return the text of a column's value in results: False is ``"false"``, and 0 in a float column is ``"0.0"``.

    Text is parsed as a value of the column; if that fails, it is returned unchanged.
    """
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return str(value)
    if column.dtype == pl.Boolean and isinstance(value, str):
        return value.lower()
    try:
        same = pl.Series([value]).cast(column.dtype)
    except (pl.exceptions.PolarsError, TypeError):
        return str(value)
    # A number that the dtype cannot hold (0.5 in a column of integers) is shown as it was passed.
    exact = isinstance(value, str) or same[0] == value
    return str(same.cast(pl.String)[0]) if exact else str(value)
