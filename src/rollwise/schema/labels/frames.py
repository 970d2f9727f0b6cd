"""Recognition and completion of result frames: schema, missing columns, selected rows."""

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError, listing
from rollwise.schema.arguments import frame_of
from rollwise.schema.coercion import cast_column
from rollwise.schema.named import column_named

# The call that makes a frame, by the name of its schema; or by the figure that draws it, where another verb makes that.
_MAKES = {
    "SUMMARY": "rw.summarize(rollouts)",
    "CONTRAST": 'rw.contrast(rollouts, of="target")',
    "CURVE": "rw.curve(rollouts)",
    "PROFILE": "rw.comparisons.profile(rollouts)",
    "FORECAST": "rw.forecast(rollouts, k=100)",
    "TRAINING": "rw.training(rollouts)",
    "RANKS": 'rw.rank(rollouts, of="target", metric="attack_success")',
    "AGREEMENT": "rw.judges.agreement(verdicts, labels)",
    "STEPS": "rw.readers.steps(paths)",
    "TURNS": "rw.read(paths)",
    "attempts": "rw.attempts(rollouts)",
    "incidence": 'rw.curve(rollouts, kind="incidence")',
    "trajectory": "rw.trajectory(turns)",
}


def shape_of(frame: pl.DataFrame) -> schema.Schema | None:
    """Return the schema of a result frame with intervals (SUMMARY, CONTRAST, CURVE, ...), or None for any other frame."""
    # GATE has the columns of SUMMARY and more, so it comes before it. CURVE and PORTFOLIO have all columns that PROFILE requires.
    shapes = [
        schema.RANKS,
        schema.GATE,
        schema.SUMMARY,
        schema.CONTRAST,
        schema.CURVE,
        schema.TRAINING,
        schema.AGREEMENT,
    ]
    shapes += [schema.PORTFOLIO, schema.TRADEOFF, schema.FORECAST if "immune" in frame.columns else schema.PROFILE]
    return next((shape for shape in shapes if set(shape.required) <= set(frame.columns)), None)


def finished(frame: object, shape: schema.Schema, verb: str, **values: object) -> pl.DataFrame:
    """Return the frame with all columns and dtypes of its schema, and with null for NaN, infinity, and values too large to draw.

    With `values`, only the rows that have them, as in `choose`.
    """
    table = frame_of(frame, verb)
    missing = [name for name in shape.required if name not in table.columns]
    if missing:
        kind = f"{'an' if shape.name[0] in 'AEIOU' else 'a'} {shape.name} frame"
        make = _MAKES.get(verb, _MAKES.get(shape.name))
        raise ArgumentError(
            f"{verb}: this is not {kind}: it lacks {listing(missing)} (available: {listing(table.columns)})"
            f"{f'; create one with `{make}`' if make else ''}"
        )
    if table.is_empty():
        raise ArgumentError(
            f"{verb}: the {shape.name} frame has no rows, so there is nothing to draw; check the filter applied to it"
        )
    for name in {"metric", "statistic", "kind", "axis"} & set(shape.required):
        if table[name].null_count():
            raise SchemaError(f"{verb}: column `{name}` is null in a row, which cannot be drawn; drop such rows first")
    # Columns outside the schema name groups: of any dtype that can be text.
    for name in table.columns:
        if name not in shape.names:
            cast_column(table, schema.Column(name, pl.String, "a name of groups"), verb)
    floats = [column.name for column in shape.columns if column.dtype == pl.Float64]
    table = table.with_columns(
        cast_column(table, column, verb)
        if column.name in table.columns
        else pl.lit(None, dtype=column.dtype).alias(column.name)
        for column in shape.columns
    )
    table = table.with_columns(
        pl.when(number.abs() <= schema.LARGEST_DRAWN).then(number) for number in map(column_named, floats)
    )
    return choose(table, verb, **values)


def choose(frame: pl.DataFrame, verb: str, **values: object) -> pl.DataFrame:
    """Return the rows in which each column has its value; None leaves out no row."""
    for column, value in values.items():
        if value is None:
            continue
        if column not in frame.columns:
            raise ArgumentError(
                f"{verb}: there is no column {column!r} to choose by; available: {listing(frame.columns)}"
            )
        try:
            chosen = frame.filter(column_named(column) == value)
        except pl.exceptions.PolarsError:  # a column of another kind never has the value
            chosen = frame.clear()
        if chosen.is_empty():
            available = listing(dict.fromkeys(map(str, frame[column].to_list())))
            raise ArgumentError(f"{verb}: no row has {column}={value!r}; available: {available}")
        frame = chosen
    return frame
