"""ROLLOUTS as arrays for `rollwise.stats`, and estimates back into the rows of a frame.

Only this file, `clusters.py` and the verbs see both Polars and `rollwise.stats`. Rows are ordered by `rollout_id` and clusters
by their id before anything becomes an array, so the order of rows, chunks or threads never changes a result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.schema.arguments import check_one_value
from rollwise.schema.coercion import cast_column
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.stats.bootstrap import monte_carlo_error
from rollwise.stats.estimate import BoolArray, Estimate, FloatArray, IntArray
from rollwise.stats.incidence import Incidence
from rollwise.stats.influence import CENSORED, COMPETING, EVENT
from rollwise.stats.units import Groups

_LARGEST_DURATION = 2**53
_BY_CHANCE = "resamples chance moves each end"
_MOST_BY_CHANCE = 0.05
"""Largest Monte Carlo error of a drawn end, as a share of the interval's width, of which nothing is said: 186 draws at .95.

Ends moved by so much, .2 standard errors, turn a coverage of .95 into 2Φ(1.96/√1.04) - 1 = .945.
"""
_FIELDS = tuple(field.name for field in fields(Estimate))
ORDER = "\0order"
"""Column with the place of each row in the table that was given; null where nothing kept it."""


@dataclass(frozen=True, slots=True)
class Coded:
    """A text column as integer codes."""

    codes: IntArray  # Integer (n,), from 0 to `count` - 1: first the words in sorted order, then the nulls, one code per rollout
    null: BoolArray  # Boolean (n,): the rows without a word
    words: pl.Series
    null_ids: (
        pl.Series
    )  # ids of the rollouts without a word; they begin with another sign than words, so none equals one

    @property
    def count(self) -> int:
        """Number of codes."""
        return self.words.len() + self.null_ids.len()

    def labels(self, codes: IntArray) -> list[str]:
        """Return the words, or the ids in place of nulls, of ascending codes."""
        split = int(np.searchsorted(codes, self.words.len()))
        words = self.words.gather(codes[:split]).to_list()
        if split == codes.size:
            return words
        return [*words, *self.null_ids.gather(codes[split:] - self.words.len()).to_list()]


@dataclass(frozen=True, slots=True)
class Loops:
    """Attempts that one loop made in sequence, for all rows of a table."""

    codes: IntArray  # Integer (n,): the loop of each row
    rank: IntArray  # Integer (n,): the order of the attempts within their loop
    names: tuple[str, ...]  # the columns that tell loops apart
    numbered: bool  # whether `attempt` numbers all rows; otherwise their order in the table is taken
    distinct: bool  # whether no two attempts of a loop have the same number


class Columns:
    """ROLLOUTS as arrays, one row per rollout in the order of `rollout_id`.

    A verb makes one. Each column is converted on first use and kept, so a thousand groups need one conversion. `groups` are
    the columns of the groups that are asked for. The frame keeps the order in which rows were given, also for a verb that it is
    passed on to.
    """

    def __init__(self, frame: pl.DataFrame, groups: Sequence[str] = ()) -> None:
        ordered = frame if ORDER in frame.columns else frame.with_row_index(ORDER)
        self.frame = ordered.sort("rollout_id", maintain_order=True)
        self.group_columns = tuple(dict.fromkeys(groups))
        self.kinds = {name: schema.kind_of(dtype) for name, dtype in frame.schema.items() if name != ORDER}
        self._facts: dict[str, pl.Series] = {}
        self._numbers: dict[str, FloatArray] = {}
        self._times: dict[str, tuple[IntArray, BoolArray]] = {}
        self._amounts: dict[str, FloatArray] = {}
        self._coded: dict[str, Coded] = {}
        self._places: dict[str, IntArray] = {}
        self.loops: Loops | None = None  # from `loops.loops_of`
        self.left_out: dict[str, IntArray] = {}  # by metric, from `stopped_loops.later_attempts`
        self.entropies: dict[tuple[int, tuple[str, ...], bytes], int] = {}  # by seed and units, from `Sample.generator`

    def has(self, name: str) -> bool:
        """Return whether the table has a column of that name."""
        return name in self.kinds

    def places(self, name: str) -> IntArray:
        """Return the places of a column's values among its sorted words, from 1: integer (n,), 0 for null."""
        if name in self._places:
            return self._places[name]
        if name in {"goal", "task"} and self.has(name) and not self.frame.schema[name].is_nested():
            coded = self.coded(name)  # which clusters need, too
            self._places[name] = np.where(coded.null, 0, coded.codes + 1)
        else:
            is_standard = name in schema.ROLLOUTS.names
            words = (self.fact(name) if is_standard else values_named(self.frame, name)).cast(pl.String)
            # Found in a third of the time that ranks take.
            places = words.cast(pl.Enum(words.drop_nulls().unique().sort())).to_physical().cast(pl.Int64) + 1
            self._places[name] = places.fill_null(0).to_numpy()
        return self._places[name]

    def fact(self, name: str) -> pl.Series:
        """Return a column of ROLLOUTS with the dtype of its schema (words as text), or nulls if the table lacks it."""
        if name not in self._facts:
            column = next(column for column in schema.ROLLOUTS.columns if column.name == name)
            nulls = pl.Series(name, [None], dtype=column.dtype).new_from_index(0, self.frame.height)
            self._facts[name] = cast_column(self.frame, column, "ROLLOUTS") if self.has(name) else nulls
        return self._facts[name]

    def nulls(self, name: str) -> pl.Series:
        """Mark the rows without a value of a fact, which may hold lists."""
        return (values_named(self.frame, name) if self.has(name) else self.fact(name)).is_null()

    def has_value(self, name: str) -> BoolArray:
        """Mark the rows that have a value: neither null nor NaN."""
        if self.kinds[name] == "time":
            return np.asarray(self.times(name)[0] > 0)
        column = values_named(self.frame, name)
        return (column.fill_nan(None) if column.dtype.is_float() else column).is_not_null().to_numpy()

    def numbers(self, name: str) -> FloatArray:
        """Return a Boolean or numeric column as float64 (n,), NaN where unknown."""
        if name not in self._numbers:
            column = values_named(self.frame, name) if self.has(name) else self.fact(name)
            self._numbers[name] = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return self._numbers[name]

    def times(self, metric: str) -> tuple[IntArray, BoolArray]:
        """Return the duration of follow-up, 0 where unknown, and whether the event was observed."""
        if metric not in self._times:
            time = values_named(self.frame, metric).struct
            duration, observed = time.field("duration"), time.field("observed").cast(pl.Boolean)
            # Larger durations are not exact as floats, which the results are.
            size = duration.cast(pl.Float64)
            wrong = duration.filter((size < 1) | (size > _LARGEST_DURATION))
            if wrong.len():
                raise ArgumentError(
                    f"{metric}: a duration is {wrong[0]}; positions are counted from 1 (to 2**53), and an unknown time is null"
                )
            positions = duration.cast(pl.Int64).fill_null(0).to_numpy()
            self._times[metric] = positions, observed.fill_null(value=False).to_numpy()
        return self._times[metric]

    def amounts(self, metric: str) -> FloatArray:
        """Return the amounts spent by the end of follow-up, the durations of a struct: float64 (n,), NaN where unknown."""
        if metric not in self._amounts:
            duration = values_named(self.frame, metric).struct.field("duration").cast(pl.Float64)
            self._amounts[metric] = duration.fill_null(float("nan")).to_numpy()
        return self._amounts[metric]

    def coded(self, name: str) -> Coded:
        """Return a column of ids as codes."""
        if name not in self._coded:
            check_one_value(self.frame, name, "cluster")
            column = cast_column(self.frame, schema.Column(name, pl.String, "the cluster"), "cluster").alias("")
            present, null = column.drop_nulls(), column.is_null()
            # Sorted words, so that equal groups have equal codes whatever the order of rows.
            words = present.unique().sort()
            codes = np.empty(column.len(), dtype=np.int64)
            codes[~null.to_numpy()] = present.cast(pl.Enum(words)).to_physical().to_numpy()
            # Rows are sorted by rollout, so a rollout's nulls follow each other. It has several rows if these are its turns.
            rollouts = self.frame["rollout_id"].filter(null)
            first = rollouts.ne_missing(rollouts.shift())
            codes[null.to_numpy()] = words.len() - 1 + first.cum_sum().cast(pl.Int64).to_numpy()
            self._coded[name] = Coded(codes, null.to_numpy(), "=" + words, "?" + rollouts.filter(first).cast(pl.String))
        return self._coded[name]

    def grouped(self, by: tuple[str, ...]) -> tuple[pl.DataFrame, IntArray, Groups]:
        """Return the keys of all groups in order, and the row numbers of one group after another; without `by`, one group.

        A row with a list belongs to the group of each distinct value in it; with an empty list, to the group of null.
        """
        row_numbers = np.arange(self.frame.height)
        if not by:
            return pl.DataFrame({"\0group": [0]}).drop("\0group"), row_numbers, Groups.single(row_numbers.size)
        numbered = self.frame.select(columns_named(by)).with_columns(pl.Series("\0row", row_numbers, dtype=pl.Int64))
        in_groups = in_each_group(numbered, by).group_by(columns_named(by)).agg("\0row").sort(columns_named(by))
        sizes = in_groups["\0row"].list.len().to_numpy()
        groups = Groups(np.repeat(np.arange(sizes.size), sizes), sizes.size)
        rows = in_groups["\0row"].explode(empty_as_null=False).to_numpy()
        # Sorted within each group, because Polars does not promise an order.
        return in_groups.drop("\0row"), rows[np.lexsort((rows, groups.codes))], groups

    def groups(self, by: tuple[str, ...]) -> list[tuple[dict[str, Any], IntArray]]:
        """Return each group's key and row numbers, as `grouped` does."""
        keys, rows, groups = self.grouped(by)
        names = keys.rows(named=True) if by else [{}]
        return list(zip(names, np.split(rows, groups.starts[1:-1]), strict=True)) if groups.count else []


def endings(data: Columns, metric: str, competing: Sequence[str]) -> dict[str, BoolArray]:
    """Mark the rows followed up to the event (``success``) or to each competing ending; all others are censored.

    An ending competes only if the rollout was followed to its last turn. For events other than the attack's success, an
    ending in success competes too, because the rollout stopped there.
    """
    duration, observed = data.times(metric)
    ending = data.fact("ending").cast(pl.String)
    complete = ~observed & (duration >= data.fact("num_turns").fill_null(0).to_numpy())
    words = {} if metric == "time_to_success" else {f"{schema.SUCCESS} of the attack": schema.SUCCESS}
    words |= {word: word for word in competing}
    # Only rollouts followed to their last turn, without the event, can have ended in a competing way.
    marks = {name: (ending == word).fill_null(value=False).to_numpy() & complete for name, word in words.items()}
    return {schema.SUCCESS: observed, **marks}


def successes_of_unknown_time(data: Columns, rows: IntArray, metric: str) -> int:
    """Count the successes recorded for a whole rollout of several turns, whose turn is unknown."""
    if metric != "time_to_success":
        return 0
    _, observed = data.times(metric)
    # Without judged turns, the success is known from the outcome of the rollout.
    unjudged = (data.numbers("num_judged")[rows] == 0) & (data.numbers("num_turns")[rows] > 1)
    return int((observed[rows] & unjudged).sum())


def causes(ways: dict[str, BoolArray], rows: IntArray, event: str = schema.SUCCESS) -> IntArray:
    """Return what ended each follow-up, in the codes of `stats`: the event, a competing ending, or censoring."""
    cause = np.full(rows.size, CENSORED)
    for way, happened in ways.items():
        cause[happened[rows]] = EVENT if way == event else COMPETING
    return cause


def rows_of(
    estimates: Sequence[dict[str, Any]], frame: pl.DataFrame, by: tuple[str, ...], result: schema.Schema
) -> pl.DataFrame:
    """Return the result frame: the grouping columns, then the columns of the schema.

    A grouping column keeps its dtype; a column of lists gets the dtype of its elements. Ends from few draws say so.
    """
    dtypes: dict[str, Any] = {}
    for name in by:
        dtype = frame.schema[name]
        dtypes[name] = dtype.inner if isinstance(dtype, pl.List) else dtype
    return with_few_draws(pl.DataFrame(estimates, schema={**dtypes, **result.dtypes}, orient="row"))


def with_few_draws(result: pl.DataFrame) -> pl.DataFrame:
    """Say in `reason` how far chance moves the ends of bootstrap intervals of few draws, where that is much beside the width."""
    if not {"resamples", "level", "method", "reason", "low"} <= set(result.columns):
        return result
    is_bootstrap = pl.col("low").is_not_null() & pl.col("method").str.contains("bootstrap") & (pl.col("resamples") > 0)
    is_bootstrap &= ~pl.col("reason").fill_null("").str.contains(
        _BY_CHANCE, literal=True
    )  # of what the row was made from
    for level, draws in result.filter(is_bootstrap).select("level", "resamples").unique().iter_rows():
        error = monte_carlo_error(level, draws)
        if error > _MOST_BY_CHANCE:
            moved = f"{100 * error:.0f} % of the interval's width"
            caution = pl.lit(f"with {draws:,} {_BY_CHANCE} by about {moved}; with more, by less")
            here = is_bootstrap & (pl.col("level") == level) & (pl.col("resamples") == draws)
            reason = pl.concat_str(["reason", caution], separator="; ", ignore_nulls=True)
            result = result.with_columns(reason=pl.when(here).then(reason).otherwise("reason"))
    return result


def row_of(estimate: Estimate) -> dict[str, Any]:
    """Return the fields of the estimate by column name."""
    return {name: getattr(estimate, name) for name in _FIELDS}


def join_reasons(*reasons: str | None) -> str | None:
    """Return the given reasons as one text; None without any."""
    return "; ".join(reason for reason in reasons if reason) or None


def positions_of(curve: Incidence, note: str | None, axis: FloatArray | None = None) -> list[dict[str, Any]]:
    """Return the positions of a curve by column name, NaN as null; the note joins the reason at every position except 0.

    `axis` holds the values of positions 0, 1, ... on the axis; None if they are turns. If position 1 is at 0 as well, position
    0 is left out.
    """
    numbers = {name: getattr(curve, name) for name in ("estimate", "std_error", "low", "high")}
    counts = {name: getattr(curve, name) for name in ("at_risk", "events", "censored", "competing", "n_clusters")}
    return [
        {
            "at": float(at if axis is None else axis[at]),
            "method": curve.method,
            "reason": join_reasons(curve.reason[index], note if at else None),
            **{name: None if np.isnan(values[index]) else float(values[index]) for name, values in numbers.items()},
            **{name: int(values[index]) for name, values in counts.items()},
        }
        for index, at in enumerate(curve.at)
        if at or axis is None or axis[1:2].tolist() != [0.0]
    ]


def in_each_group(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Repeat each row for every distinct value in its lists of `by`; an empty list becomes one row with null."""
    for name in by:
        if isinstance(frame.schema[name], pl.List):
            frame = frame.with_columns(column_named(name).list.unique()).explode(
                columns_named(name), empty_as_null=True, keep_nulls=True
            )
    return frame
