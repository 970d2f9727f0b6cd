"""Verdicts and labels as one array of ratings: unit x judge x sample, beside the labels."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, SchemaError, listing
from turnwise.estimation.arrays import Sheet
from turnwise.schema.arguments import one_number
from turnwise.stats.estimate import BoolArray, FloatArray, IntArray

At = float | str | None
Abstentions = Literal["missing", "category"]
KEYS = ("rollout_id", "turn", "node_id")
_UNIT = "\0unit"


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings of every unit (a turn, or a rollout) by every judge, and the truth about it.

    Attributes
    ----------
    sheet
        The units, one row each, in order, with the columns that group and cluster them.
    judges
        Names, sorted.
    values
        Float (units, judges, samples): the rating, NaN where there is none.
    given
        Boolean, same shape: whether there was a judgement, also one without a verdict.
    abstained
        Boolean, same shape: whether there was a judgement without one.
    labels
        Float (units,), NaN where there is no label; None where no labels were given.
    binary
        Whether every rating is 0 or 1.
    scale
        Whether the ratings are numbers, that can be near or far.
    """

    sheet: Sheet
    judges: list[str]
    values: FloatArray
    given: BoolArray
    abstained: BoolArray
    labels: FloatArray | None
    binary: bool
    scale: bool


def ratings_of(
    verdicts: pl.DataFrame,
    labels: pl.DataFrame | None,
    *,
    of: str,
    truth: str,
    at: At,
    abstentions: Abstentions,
    averaged: bool,
    facts: tuple[str, ...],
) -> Ratings:
    """The ratings of these verdicts and labels; `facts` are the columns of units that group and cluster them.

    Raises
    ------
    SchemaError, ArgumentError
        Where a table lacks a column or holds a unit twice, or verdicts and labels are not of one kind.
    """
    verdicts = _verdicts(verdicts, of)
    told_apart = {name for name in verdicts.columns if verdicts[name].null_count() < max(verdicts.height, 1)}
    keys = [name for name in KEYS if name == "rollout_id" or name in told_apart]
    if labels is not None:
        keys = _shared(verdicts, labels, keys, truth)
        labels = alike(labels, verdicts, (*keys, *facts), "agreement")
        _refuse_twice(labels, keys, f"two labels; of several people pass each as a judge, {_WITHOUT}")
    _refuse_twice(verdicts, [*keys, "judge", "sample"], "two verdicts of one judge and sample; number them in `sample`")
    frames = [verdicts] if labels is None else [verdicts, labels]
    units = _units(frames, keys, facts)
    said, true, words = _numbers(verdicts[of], None if labels is None else labels[truth])
    judges, judge = _coded(verdicts["judge"])
    many, sample = _coded(verdicts["sample"])
    values = np.full((units.height, len(judges), len(many)), np.nan)
    given: BoolArray = np.zeros(values.shape, dtype=np.bool_)
    place = (_places(verdicts, units, keys), judge, sample)
    values[place], given[place] = said, True
    if averaged:
        values, given = _averaged(values, words), np.asarray(given.any(axis=2, keepdims=True))
    marked = None
    if labels is not None and true is not None:
        marked = np.full(units.height, np.nan)
        marked[_places(labels, units, keys)] = true
    if at is not None:
        values, marked = _positive(values, marked, at, words)
    _refuse_two_scales(values, marked, words)
    binary = (words is None or at is not None) and _zero_or_one(values) and (marked is None or _zero_or_one(marked))
    abstained = given & np.isnan(values)
    if abstentions == "category":
        # The number of no other category: ratings are then told apart, not measured.
        beyond = max(np.nan_to_num(x).max(initial=1.0) for x in (values, marked) if x is not None) + 1
        values = np.where(abstained, beyond, values)
    return Ratings(
        sheet=Sheet(units),
        judges=judges,
        values=values,
        given=given,
        abstained=abstained,
        labels=marked,
        binary=binary,
        scale=words is None and not binary and abstentions == "missing",
    )


_WITHOUT = "without `labels`"


def _verdicts(verdicts: pl.DataFrame, of: str) -> pl.DataFrame:
    for name in ("rollout_id", "judge", of):
        if name not in verdicts.columns:
            raise SchemaError(
                f"agreement: the verdicts have no column `{name}` (there is {listing(verdicts.columns)}); "
                "see `tw.schema.VERDICTS`, and `of=` for the column that is compared"
            )
    if "sample" not in verdicts.columns:
        verdicts = verdicts.with_columns(sample=pl.lit(1))
    return verdicts.with_columns(pl.col("judge").cast(pl.String).fill_null("(none)"), pl.col("sample").fill_null(1))


def _shared(verdicts: pl.DataFrame, labels: pl.DataFrame, keys: list[str], truth: str) -> list[str]:
    """The columns by which a label finds its verdicts."""
    for name in ("rollout_id", truth):
        if name not in labels.columns:
            raise SchemaError(
                f"agreement: the labels have no column `{name}` (there is {listing(labels.columns)}); "
                "rename yours, or name the column that holds the truth in `truth=`"
            )
    shared = [name for name in keys if name in labels.columns]
    if len(shared) < len(keys) and verdicts.select(*shared, "judge", "sample").is_duplicated().any():
        raise ArgumentError(
            f"agreement: the verdicts are on {listing(keys)}, the labels on {listing(shared)} alone; "
            "label turns, or keep one verdict per rollout"
        )
    return shared


def alike(labels: pl.DataFrame, other: pl.DataFrame, names: tuple[str, ...], verb: str) -> pl.DataFrame:
    """The labels, with those of the columns that the other table has too in that table's dtypes.

    Examples
    --------
    >>> alike(pl.DataFrame({"turn": [1]}), pl.DataFrame({"turn": ["1"]}), ("turn",), "correct")["turn"].to_list()
    ['1']
    """
    both = [name for name in dict.fromkeys(names) if name in labels.columns and name in other.columns]
    try:
        return labels.cast({name: other.schema[name] for name in both})
    except pl.exceptions.PolarsError as problem:
        first = next(name for name in both if labels.schema[name] != other.schema[name])
        raise SchemaError(
            f"{verb}: column `{first}` is {labels.schema[first]} in the labels and {other.schema[first]} beside them; "
            "cast one of them"
        ) from problem


def _refuse_twice(frame: pl.DataFrame, keys: list[str], remedy: str) -> None:
    twice = frame.select(keys).is_duplicated()
    if twice.any():
        row = ", ".join(
            f"{name} {value!r}" for name, value in frame.filter(twice).select(keys).row(0, named=True).items()
        )
        raise SchemaError(f"agreement: {row} has {remedy}")


def _units(frames: list[pl.DataFrame], keys: list[str], facts: tuple[str, ...]) -> pl.DataFrame:
    """Every unit that was judged or labeled, with the first known value of each fact."""
    parts = [
        frame.select(*keys, *(name for name in facts if name in frame.columns and name not in keys)) for frame in frames
    ]
    whole = pl.concat(parts, how="diagonal_relaxed")
    units = whole.group_by(keys).agg(pl.exclude(keys).drop_nulls().first()).sort(keys, nulls_last=False)
    # A goal known of one turn is that of the whole rollout, which must not fall into two clusters.
    of_rollouts = [pl.col(name) for name in facts if name in schema.TURNS.facts and name in units.columns]
    units = units.with_columns(fact.fill_null(fact.drop_nulls().first().over("rollout_id")) for fact in of_rollouts)
    return units.with_row_index(_UNIT)


def _places(frame: pl.DataFrame, units: pl.DataFrame, keys: list[str]) -> IntArray:
    return frame.join(units.select(*keys, _UNIT), on=keys, how="left", nulls_equal=True, maintain_order="left")[
        _UNIT
    ].to_numpy()


def _coded(column: pl.Series) -> tuple[list[str], IntArray]:
    """The distinct values in order, and which of them each row has."""
    there, codes = np.unique(column.to_numpy(), return_inverse=True)
    return [str(value) for value in there], codes


def _numbers(said: pl.Series, true: pl.Series | None) -> tuple[FloatArray, FloatArray | None, list[str] | None]:
    """Verdicts and labels as numbers, with the words that the numbers stand for, if they are words."""
    columns = [said] if true is None else [said, true]
    for column in columns:
        if column.dtype.is_nested() or column.dtype.is_temporal() or column.dtype in {pl.Object, pl.Binary}:
            raise ArgumentError(
                f"agreement: column `{column.name}` is {column.dtype}; compare numbers, Booleans or words"
            )
    worded = [any(column.dtype == kind for kind in (pl.String, pl.Categorical, pl.Enum)) for column in columns]
    if any(worded) and not all(worded):
        raise ArgumentError(
            f"agreement: verdicts `{said.name}` are {said.dtype} and labels `{columns[-1].name}` are {columns[-1].dtype}; "
            "compare words with words (of='label') or numbers with numbers"
        )
    words = None
    if all(worded):
        cast = [column.cast(pl.String) for column in columns]
        words = pl.concat([column.alias("word") for column in cast]).drop_nulls().unique().sort().to_list()
        columns = [column.replace_strict(words, list(range(len(words))), return_dtype=pl.Float64) for column in cast]
    floats = [column.cast(pl.Float64).fill_null(float("nan")).to_numpy() for column in columns]
    return floats[0], None if true is None else floats[1], words


def _averaged(values: FloatArray, words: list[str] | None) -> FloatArray:
    if words is not None:
        raise ArgumentError("agreement: samples='mean' averages numbers, and these verdicts are words; samples='each'")
    known = ~np.isnan(values)
    many = known.sum(axis=2, keepdims=True)
    total = np.where(known, values, 0.0).sum(axis=2, keepdims=True)
    return np.asarray(np.divide(total, many, out=np.full(total.shape, np.nan), where=many > 0))


def _positive(
    values: FloatArray, marked: FloatArray | None, at: float | str, words: list[str] | None
) -> tuple[FloatArray, FloatArray | None]:
    """1 where a rating is positive: the word `at`, or a number from `at` on. Labels that are 0 or 1 are so already."""
    if isinstance(at, str) != (words is not None) or (words is not None and at not in words):
        raise ArgumentError(
            f"agreement: at={at!r} is none of the verdicts ({'numbers' if words is None else listing(words)}); "
            "name the word, or the least number, that counts as positive"
        )
    wanted = words.index(str(at)) if words is not None else one_number(at, "agreement: at")

    def positive(x: FloatArray) -> FloatArray:
        return np.where(np.isnan(x), np.nan, x == wanted if words is not None else x >= wanted)

    if marked is not None and (words is not None or not _zero_or_one(marked)):
        marked = positive(marked)
    return positive(values), marked


def _zero_or_one(x: FloatArray) -> bool:
    return bool(np.isin(x[~np.isnan(x)], (0.0, 1.0)).all())


def _refuse_two_scales(values: FloatArray, marked: FloatArray | None, words: list[str] | None) -> None:
    if (
        marked is None
        or words is not None
        or np.isnan(marked).all()
        or not _zero_or_one(marked)
        or _zero_or_one(values)
    ):
        return
    raise ArgumentError(
        f"agreement: labels are 0 or 1, but verdicts reach from {np.nanmin(values):g} to {np.nanmax(values):g}; "
        "say from which value on a verdict is positive: at=0.5"
    )
