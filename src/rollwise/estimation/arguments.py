"""Validation of the arguments of estimators: a frame of ROLLOUTS, and its columns of metrics."""

from collections.abc import Sequence

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, counted, listing, meant
from rollwise.metrics import catalog
from rollwise.schema.arguments import By, Cluster, frame_of, names_of, require_rollouts
from rollwise.schema.coercion import joined_times, whole_times
from rollwise.schema.labels import say
from rollwise.schema.named import column_named, values_named

_TEXTS = (pl.String, pl.Categorical, pl.Enum)
MANY_METRICS = 500  # metrics whose intervals may take so long that a sentence comes before


def rollouts_frame(data: object, verb: str) -> pl.DataFrame:
    """Return the data as ROLLOUTS, with 0 and 1 in columns named like a Boolean metric read as False and True.

    R, Excel and pandas write Booleans as numbers. A share has an interval even if all values are equal, the mean of a number
    has none. A time to an event is one column again if CSV made two of it, and whole if pandas made it a float.
    """
    rollouts = whole_times(joined_times(frame_of(data, verb)))
    require_rollouts(rollouts, verb)
    return rollouts.with_columns(booleans(rollouts))


def booleans(rollouts: pl.DataFrame | pl.LazyFrame) -> list[pl.Expr]:
    """Return casts to Boolean for columns that are named like a Boolean metric and contain only 0 and 1, or "true" and "false".

    They may be decimals, as SQL exports them; NaN is null.
    """
    numbers = [
        _as_number(column_named(name), dtype).alias(name)
        for name, dtype in rollouts.collect_schema().items()
        if (dtype.is_numeric() or dtype in _TEXTS) and catalog.is_boolean(name)
    ]
    if not numbers:
        return []
    is_binary = (
        rollouts.lazy().select(((number == 0) | (number == 1)).all() for number in numbers).collect(engine="streaming")
    )
    return [number.cast(pl.Boolean) for number, all_binary in zip(numbers, is_binary.row(0), strict=True) if all_binary]


def _as_number(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return a column as numbers: 1 for "true", 0 for "false", 2 for every other text, which is neither."""
    if dtype.is_float():
        return column.fill_nan(None)
    if dtype in _TEXTS:
        text = column.cast(pl.String).str.strip_chars().str.to_lowercase()
        return text.replace_strict(
            {"true": 1, "false": 0}, default=pl.when(text.is_not_null()).then(2), return_dtype=pl.Int8
        )
    return column.cast(pl.Float64) if dtype.is_decimal() else column


def no_metric(frame: pl.DataFrame, name: str) -> str:
    """Return the reason why a column cannot be a metric, and how to make it one."""
    dtype = frame.schema[name]
    if dtype not in _TEXTS or catalog.about(name) is None:
        return f"{name!r} is {dtype}; a metric is Boolean, a number, or Struct(duration, observed)"
    words = values_named(frame, name).cast(pl.String).drop_nulls().unique().sort().to_list()
    examples = f" ({', '.join(map(repr, words[:3]))}{', ...' if len(words) > 3 else ''})" if words else ""
    return (
        f"`{name}` is text{examples}, and a metric is Boolean, a number, or Struct(duration, observed); "
        f"make it one, as in `.with_columns(pl.col({name!r}) == {(words or ['yes'])[-1]!r})`"
    )


def metric_columns(
    rollouts: pl.DataFrame, by: tuple[str, ...], cluster: Cluster, metrics: By | None, verb: str = "summarize"
) -> list[str]:
    """Return the requested metrics, or by default every Boolean, numeric or time column except facts, keys, groups and clusters."""
    if metrics is not None:
        names, dtypes = names_of(metrics), rollouts.schema
        for name in names:
            if name not in dtypes:
                are_turns = "turn" in dtypes and "num_turns" not in dtypes and catalog.about(name) is not None
                advice = "this looks like a table of turns: run `rw.measure(turns)` first"
                advice = advice if are_turns else meant(name, metric_columns(rollouts, by, cluster, None))
                raise ArgumentError(f"{verb}: there is no metric {name!r} in this table; {advice}")
            if schema.kind_of(dtypes[name]) is None:
                raise ArgumentError(f"{verb}: {no_metric(rollouts, name)}")
        return list(names)
    for name, dtype in rollouts.schema.items():
        if dtype in _TEXTS and catalog.is_boolean(name) and name not in {*by, *schema.ROLLOUTS.names}:
            raise ArgumentError(f"{verb}: {no_metric(rollouts, name)}")
    # Facts describe a rollout; only `num_turns` among them is also a metric. Whole numbers in a column `..._id` are keys.
    excluded = {*by, *schema.ROLLOUTS.names} - {"num_turns"} | set(
        names_of(cluster) if cluster not in (None, "auto") else ()
    )
    return [
        name
        for name, dtype in rollouts.schema.items()
        if name not in excluded
        and not (name.endswith("_id") and dtype.is_integer())
        and schema.kind_of(dtype) is not None
    ]


def compared_columns(
    rollouts: pl.DataFrame, by: tuple[str, ...], cluster: Cluster, metrics: By | None, verb: str
) -> list[str]:
    """Return the requested metrics, or by default what was measured: not `num_turns`, unless it is alone."""
    columns = metric_columns(rollouts, by, cluster, metrics, verb)
    if metrics is not None or columns == ["num_turns"]:
        return columns
    return [name for name in columns if name != "num_turns"]


def announce_many(columns: Sequence[str], metrics: By | None, verb: str) -> None:
    """Warn before very many metrics are estimated that were not named."""
    if metrics is None and len(columns) > MANY_METRICS:
        named = f'metrics=["{columns[0]}"]'
        say(
            f"{verb}: {counted(len(columns), 'column is a metric', 'columns are metrics')} here, "
            f"which may take minutes; name the ones that you want, as in {named}"
        )


def goal_column(rollouts: pl.DataFrame, cluster: str) -> str:
    """Return the one column that names the goals: ``"auto"`` is `goal`, or `task` where only that has a value."""
    if cluster != "auto":
        return cluster
    with_values = (name for name in ("goal", "task") if name in rollouts.columns and rollouts[name].count())
    return next(with_values, "goal")


def check_time(frame: pl.DataFrame, metric: str, competing: Sequence[str], verb: str) -> None:
    """Raise an error if the metric is not a time to an event, or a competing ending does not exist."""
    times = [name for name, dtype in frame.schema.items() if schema.kind_of(dtype) == "time"]
    if metric not in frame.columns:
        raise ArgumentError(
            f"{verb}: there is no column {metric!r} (times to an event here: {listing(times)}); "
            "measure one: `rw.measure(turns, m.time_to_success())`"
        )
    if metric not in times:
        raise ArgumentError(
            f"{verb}: {metric!r} is {frame.schema[metric]}, not a time to an event (here: {listing(times)}); "
            "measure one with `m.time_to(condition)`"
        )
    for ending in names_of(competing):
        if ending not in schema.ENDINGS.categories:
            raise ArgumentError(
                f"{verb}: competing={ending!r} is not an ending; it is one of {listing(schema.ENDINGS.categories)}"
            )
