"""The number of each turn in a table: its column `turn`, else the order of its times, else the order of its rows."""

from collections.abc import Mapping

import polars as pl

from rollwise import schema
from rollwise.errors import SchemaError
from rollwise.readers.native.identity import count_repeats
from rollwise.readers.problems import Problems
from rollwise.readers.roles.columns import plain_name
from rollwise.schema.named import columns_named, values_named

TIMES = (
    "ts", "time", "timestamp", "time_stamp", "datetime", "date_time", "date", "at", "created", "created_at", "create_time",
    "created_time", "creation_time", "sent", "sent_at", "logged_at", "event_time", "start", "started_at", "start_time",
    "start_timestamp", "end", "ended_at", "end_time", "finished_at", "completed_at", "updated_at", "message_time", "utc",
)  # fmt: skip
_EARLIEST = 5e8  # seconds since 1970, in 1985: smaller numbers are durations
_DATE = r"^\s*(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?)?\s*$"
_CLOCK = r"^\s*\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?\s*$"
_ORDER, _FIRST, _MOMENT = "__rollwise_order", "__rollwise_first", "__rollwise_moment"


def with_time(frame: pl.DataFrame, named: Mapping[str, str]) -> tuple[pl.DataFrame, str | None]:
    """Return the frame with the column `turn` renamed if it holds times, and its new name or None.

    `named` has the user's names of columns, by their name in TURNS.
    """
    if "turn" not in frame.columns or _moments(frame["turn"], is_named=True) is None:
        return frame, None
    column = named.get("turn", "turn")
    column = column if column not in frame.columns else "turn_source"
    return frame.rename({"turn": column}), column


def numbered_turns(frame: pl.DataFrame, problems: Problems, where: str, time: str | None = None) -> pl.DataFrame:
    """Return the frame with a number for each turn.

    Numbers from 0 are raised by one. Without numbers, turns are in the order of the column `time`; without it, in the order
    of a column of times, or else of the rows, and a notice says which.
    """
    if time is not None:
        moments = _moments(values_named(frame, time), is_named=True)
        problems.read_as([f"turns in the order of `{time.removesuffix('_source')}`"])
        return _in_rows(frame if moments is None else _by_moments(frame, moments))
    if "turn" not in frame.columns:
        if schema.is_tree(frame):
            raise SchemaError(
                "TURNS: a tree needs a column `turn`, the depth of each node; `rw.rollout.flatten(graphs)` gives it"
            )
        if frame["rollout_id"].is_first_distinct().all():
            return _in_rows(frame)
        count_repeats(frame, problems, where)
        return _in_rows(_by_time(frame, problems))
    return _from_one(frame)


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort rollouts by their first row and turns by number, each rollout in one piece; nodes of a tree keep their order."""
    frame = frame.with_row_index(_ORDER).with_columns(pl.col(_ORDER).min().over("rollout_id"))
    by = [_ORDER] if schema.is_tree(frame) else [_ORDER, "turn"]
    return frame.sort(columns_named(by), maintain_order=True).drop(_ORDER)


def _in_rows(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(turn=pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("rollout_id"))


def _from_one(frame: pl.DataFrame) -> pl.DataFrame:
    """Raise the numbers by one where more rollouts count their turns from 0 than from 1."""
    turn = pl.col("turn")
    if not (frame["turn"] == 0).any():
        return frame
    rollouts = frame.lazy().group_by("rollout_id").agg(first=turn.min(), last=turn.max(), rows=turn.count())
    # Only rollouts without gaps say where they begin to count; in others, the first turn may be missing.
    is_whole = pl.col("rows") == pl.col("last") - pl.col("first") + 1
    counts = rollouts.filter(is_whole).select((pl.col("first") == 0).sum(), one=(pl.col("first") == 1).sum())
    zero, from_one = counts.collect().row(0)
    return frame.with_columns(turn + 1) if zero > from_one else frame


def _by_time(frame: pl.DataFrame, problems: Problems) -> pl.DataFrame:
    """Return the rows in the order of their times, if all columns of times agree; a notice says what decided."""
    orders: dict[str, tuple[pl.Series, bool]] = {}
    clocks, unread = [], []
    for name in frame.columns:
        if plain_name(name) not in TIMES:
            continue
        series = values_named(frame, name)
        if (moments := _moments(series, is_named=False)) is not None:
            order, tells, differs = _order_of(frame, moments)
            orders |= {name: (order, differs)} if tells else {}
        elif (moments := _moments(series, is_named=True)) is None:
            unread.append(name)
        elif _order_of(frame, moments)[2]:
            clocks.append(name)
    places = [order for order, _ in orders.values()]
    # Two columns of times in different orders: no rule says which one is right.
    if any((order != places[0]).any() for order in places[1:]):
        return _in_order_of_rows(frame, problems, f"{_columns(orders)} say different orders")
    differing = [name for name, (_, differs) in orders.items() if differs]
    if differing:
        problems.read_as([f"turns in the order of `{differing[0]}`, which is not that of the rows"])
        return frame[places[0]]
    if orders:
        return frame
    if clocks:  # after midnight, a clock begins again
        return _in_order_of_rows(
            frame, problems, f'`{clocks[0]}` says another one: names={{"turn": "{clocks[0]}"}} takes that'
        )
    why = f"the times in `{unread[0]}` cannot be compared" if unread else "no column numbers or times them"
    return _in_order_of_rows(frame, problems, why)


def _columns(names: Mapping[str, object]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _in_order_of_rows(frame: pl.DataFrame, problems: Problems, why: str) -> pl.DataFrame:
    problems.read_as([f"turns in the order of the rows ({why})"])
    return frame


def _order_of(frame: pl.DataFrame, moments: pl.Series) -> tuple[pl.Series, bool, bool]:
    """Return the rows in the order of times, whether times differ within a rollout, and whether rows are not in that order."""
    rows = frame.select("rollout_id").with_columns(moments.alias(_MOMENT)).with_row_index(_ORDER)
    rows = rows.with_columns(pl.col(_ORDER).min().over("rollout_id").alias(_FIRST)).sort(_FIRST, _ORDER)
    # Neighboring rows of one rollout are compared; equal times decide nothing and keep the order of the rows.
    is_same, moment = pl.col(_FIRST) == pl.col(_FIRST).shift(), pl.col(_MOMENT)
    tells, differs = rows.select(
        tells=(is_same & (moment != moment.shift())).any(), differs=(is_same & (moment < moment.shift())).any()
    ).row(0)
    return rows.sort(_FIRST, _MOMENT, maintain_order=True)[_ORDER], bool(tells), bool(differs)


def _by_moments(frame: pl.DataFrame, moments: pl.Series) -> pl.DataFrame:
    return frame[_order_of(frame, moments)[0]]


def _moments(series: pl.Series, *, is_named: bool) -> pl.Series | None:
    """Return times as numbers that can be compared; None if one is missing or cannot be read.

    Times of day are read only in a column that the user named, and numbers only in one that the user did not name.
    """
    moments = None
    if not series.len() or series.null_count():
        return None
    if isinstance(series.dtype, pl.Datetime | pl.Date) or (series.dtype == pl.Time and is_named):
        moments = series.to_physical()
    # Small numbers are seconds since the start of a run or durations, which begin again in each rollout.
    elif series.dtype.is_numeric() and not is_named and (series >= _EARLIEST).all():
        moments = series
    elif series.dtype == pl.String:
        series = series.str.replace(r":(\d\d),(\d)", ":$1.$2")  # a decimal comma, as Python's logging writes
        moments = _of_clocks(series) if is_named and series.str.contains(_CLOCK).all() else _of_dates(series)
    return moments


def _of_clocks(series: pl.Series) -> pl.Series:
    """Return times of the day as seconds."""
    parts = series.str.strip_chars().str.split(":").list
    hours, minutes, seconds = (parts.get(place, null_on_oob=True).cast(pl.Float64) for place in range(3))
    return hours * 3600 + minutes * 60 + seconds.fill_null(0)


def _of_dates(series: pl.Series) -> pl.Series | None:
    """Return times in ISO 8601, or dates, as nanoseconds since 1970; None if one is neither."""
    parts = series.str.extract_groups(_DATE).struct
    date, clock, zone = (parts.field(name) for name in parts.fields)
    if date.null_count():
        return None
    clock = clock.fill_null("00:00")
    clock = clock.zip_with(clock.str.len_chars() > len("00:00"), clock + ":00")
    moments = (date + " " + clock).str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="ns", strict=False).to_physical()
    offset = zone.str.extract_groups(r"([+-])(\d\d):?(\d\d)").struct
    sign, hours, minutes = (offset.field(name) for name in offset.fields)
    seconds = (hours.cast(pl.Int64) * 3600 + minutes.cast(pl.Int64) * 60).fill_null(0)
    # Local time minus its offset is UTC: an offset of +02:00 is two hours ahead.
    seconds = seconds.zip_with((sign != "-").fill_null(value=True), -seconds)
    return None if moments.null_count() else moments - seconds * 1_000_000_000
