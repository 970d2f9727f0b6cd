"""Verdicts and labels -> one array of ratings by unit, judge and sample, and an array of labels by unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError, listing
from rollwise.estimation.arrays import Columns
from rollwise.judges.reliability.vocabulary import one_vocabulary
from rollwise.readers.problems import first_line
from rollwise.schema.arguments import one_number
from rollwise.schema.coercion import cast_column
from rollwise.schema.columns import Column
from rollwise.schema.named import column_named, columns_but, columns_named, values_named
from rollwise.stats.estimate import BoolArray, FloatArray, IntArray

At = float | str | None
Abstentions = Literal["missing", "category"]
KEYS = ("rollout_id", "turn", "node_id")
_UNIT = "\0unit"


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings of every unit (a turn, or a rollout) by every judge, and the truth about it."""

    data: Columns  # a row for each unit, in order
    judges: list[str]  # names, sorted
    values: FloatArray  # Float (units, judges, samples): the rating, NaN if missing
    judged: BoolArray  # boolean, same shape: whether there was a judgment, with or without a verdict
    abstained: BoolArray  # boolean, same shape: whether there was a judgment without a verdict
    unsigned: IntArray  # Int (units, judges): number of verdicts that were accepted without a check code
    labels: FloatArray | None  # Float (units,), NaN for a unit without a label; None without any labels
    binary: bool  # whether every rating is 0 or 1
    scale: bool  # whether the ratings are numbers, so that distances between them mean something
    words: list[str] | None  # that ratings number, in order; None if they are numbers


def ratings_of(
    verdicts: pl.DataFrame,
    labels: pl.DataFrame | None,
    *,
    verdict: str,
    truth: str,
    at: At,
    abstentions: Abstentions,
    averaged: bool,
    facts: tuple[str, ...],
) -> Ratings:
    """Return the ratings of these verdicts and labels; `facts` are the columns of units that group and cluster them."""
    verdicts = _verdicts(verdicts, verdict)
    # A unit is a rollout, or one of its turns or nodes, if the verdicts number them.
    filled = {name for name in verdicts.columns if verdicts[name].null_count() < max(verdicts.height, 1)}
    keys = [name for name in KEYS if name == "rollout_id" or name in filled]
    if labels is not None:
        keys = _shared(verdicts, labels, keys, truth)
        labels = with_dtypes_of(labels, verdicts, (*keys, *facts), "agreement")
        _refuse_duplicates(labels, keys, f"two labels; of several people pass each as a judge, {_WITHOUT}")
    remedy = "two verdicts of one judge and sample; number them in `sample`"
    _refuse_duplicates(verdicts, [*keys, "judge", "sample"], remedy)
    frames = [verdicts] if labels is None else [verdicts, labels]
    units = _units(frames, keys, facts)
    # Each verdict goes to its place in a dense array; places without a verdict stay NaN.
    truths = None if labels is None else values_named(labels, truth)
    numbers, true_numbers, words, counts_as = _numbers(verdicts, verdict, truths)
    judges, judge_codes = _coded(verdicts["judge"])
    samples, sample_codes = _coded(verdicts["sample"])
    values = np.full((units.height, len(judges), len(samples)), np.nan)
    judged: BoolArray = np.zeros(values.shape, dtype=np.bool_)
    place = (_places(verdicts, units, keys), judge_codes, sample_codes)
    values[place], judged[place] = numbers, True
    unsigned = np.zeros(values.shape, dtype=np.int64)
    unsigned[place] = (
        (~verdicts["signed"] & values_named(verdicts, verdict).is_not_null()).fill_null(value=False).to_numpy()
    )
    if averaged:
        values, judged = _averaged(values, words), np.asarray(judged.any(axis=2, keepdims=True))
    label_values = None
    if labels is not None and true_numbers is not None:
        label_values = np.full(units.height, np.nan)
        label_values[_places(labels, units, keys)] = true_numbers
    if at is not None:
        values, label_values = _positive(values, label_values, counts_as.get(str(at), at), words)
    _refuse_two_scales(values, label_values, words)
    binary = (
        (words is None or at is not None)
        and _zero_or_one(values)
        and (label_values is None or _zero_or_one(label_values))
    )
    abstained = judged & np.isnan(values)
    if abstentions == "category":
        # A number that no other category has: ratings are then compared only for equality.
        category = max(np.nan_to_num(x).max(initial=1.0) for x in (values, label_values) if x is not None) + 1
        values = np.where(abstained, category, values)
    return Ratings(
        data=Columns(units),
        judges=judges,
        values=values,
        judged=judged,
        abstained=abstained,
        unsigned=unsigned.sum(axis=2),
        labels=label_values,
        binary=binary,
        scale=words is None and not binary and abstentions == "missing",
        words=words,
    )


def two_by_two(pairs: FloatArray) -> dict[str, Any]:
    """Return the counts of the two-by-two table of binary ratings, and the prevalence of positives."""
    first, second = (pairs == 1).T
    binary = np.isin(pairs, (0.0, 1.0)).all(axis=1)  # an abstention as a category is neither 0 nor 1
    count = {
        "both": first & second,
        "judge_only": first & ~second & binary,
        "other_only": ~first & second & binary,
        "neither": ~first & ~second & binary,
    }
    truths = second[np.isin(pairs[:, 1], (0.0, 1.0))]
    return {
        **{name: int(rows.sum()) for name, rows in count.items()},
        "prevalence": float(truths.mean()) if truths.size else None,
    }


_WITHOUT = "without `labels`"


def _verdicts(verdicts: pl.DataFrame, verdict: str) -> pl.DataFrame:
    for name in ("rollout_id", "judge", verdict):
        if name not in verdicts.columns:
            raise SchemaError(
                f"agreement: the verdicts have no column `{name}` (available: {listing(verdicts.columns)}); "
                "see `rw.schema.VERDICTS`, and `verdict=` for the column that is compared"
            )
    if "sample" not in verdicts.columns:
        verdicts = verdicts.with_columns(sample=pl.lit(1))
    if verdicts.schema.get("signed") != pl.Boolean:  # missing, or an unrelated column
        verdicts = verdicts.with_columns(signed=pl.lit(None, pl.Boolean))
    judge = cast_column(verdicts, Column("judge", pl.String, "names the judge"), "agreement")
    return verdicts.with_columns(judge.fill_null("(none)"), pl.col("sample").fill_null(1))


def _shared(verdicts: pl.DataFrame, labels: pl.DataFrame, keys: list[str], truth: str) -> list[str]:
    """Return the columns by which labels and verdicts are matched."""
    for name in ("rollout_id", truth):
        if name not in labels.columns:
            raise SchemaError(
                f"agreement: the labels have no column `{name}` (available: {listing(labels.columns)}); "
                "rename yours, or name the column that holds the truth in `truth=`"
            )
    # Labels of whole rollouts fit verdicts on turns only if there is one verdict per rollout.
    shared = [name for name in keys if name in labels.columns]
    if len(shared) < len(keys) and verdicts.select(*columns_named(shared), "judge", "sample").is_duplicated().any():
        raise ArgumentError(
            f"agreement: the verdicts are on {listing(keys)}, the labels on {listing(shared)} alone; "
            "label turns, or keep one verdict per rollout"
        )
    return shared


def labels_beside(frame: pl.DataFrame, verdict: str, truth: str) -> str:
    """Return the words for labels in the table of the verdicts; empty without any."""
    if truth == verdict or truth not in frame.columns or frame[truth].null_count() == frame.height:
        return ""
    names = ", ".join(repr(name) for name in (*KEYS, truth) if name in frame.columns)
    return f" (if its column `{truth}` is the truth: labels=verdicts.select({names}))"


def with_dtypes_of(labels: pl.DataFrame, table: pl.DataFrame, names: tuple[str, ...], verb: str) -> pl.DataFrame:
    """Return the labels with these columns cast to the dtypes that they have in the other table."""
    shared = [name for name in dict.fromkeys(names) if name in labels.columns and name in table.columns]
    try:
        return labels.with_columns(column_named(name).cast(table.schema[name]) for name in shared)
    except pl.exceptions.PolarsError as problem:
        first = next(name for name in shared if labels.schema[name] != table.schema[name])
        raise SchemaError(
            f"{verb}: column `{first}` is {labels.schema[first]} in the labels and {table.schema[first]} in the other table; "
            "cast one of them"
        ) from problem


def _refuse_duplicates(frame: pl.DataFrame, keys: list[str], remedy: str) -> None:
    duplicates = frame.select(columns_named(keys)).is_duplicated()
    if duplicates.any():
        row = ", ".join(
            f"{name} {value!r}"
            for name, value in frame.filter(duplicates).select(columns_named(keys)).row(0, named=True).items()
        )
        raise SchemaError(f"agreement: {row} has {remedy}")


def _units(frames: list[pl.DataFrame], keys: list[str], facts: tuple[str, ...]) -> pl.DataFrame:
    """Return every unit that was judged or labeled, with the first known value of each fact."""
    parts = [
        frame.select(
            *columns_named(keys), *columns_named(name for name in facts if name in frame.columns and name not in keys)
        )
        for frame in frames
    ]
    try:
        rows = pl.concat(parts, how="diagonal_relaxed")
        units = (
            rows.group_by(columns_named(keys))
            .agg(columns_but(keys).drop_nulls().first())
            .sort(columns_named(keys), nulls_last=False)
        )
    except pl.exceptions.PolarsError as error:  # a number in one table and a struct in the other
        raise SchemaError(
            f"agreement: the columns {listing(keys)} cannot be compared ({first_line(error)}); make them text or numbers"
        ) from error
    # A goal known of one turn is that of the whole rollout, which must not fall into two clusters.
    of_rollouts = [column_named(name) for name in facts if name in schema.TURNS.facts and name in units.columns]
    units = units.with_columns(fact.fill_null(fact.drop_nulls().first().over("rollout_id")) for fact in of_rollouts)
    return units.with_row_index(_UNIT)


def _places(frame: pl.DataFrame, units: pl.DataFrame, keys: list[str]) -> IntArray:
    return frame.join(
        units.select(*columns_named(keys), _UNIT),
        on=columns_named(keys),
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )[_UNIT].to_numpy()


def _coded(column: pl.Series) -> tuple[list[str], IntArray]:
    """Return the distinct values in order, and the index of each row's value."""
    distinct, codes = np.unique(column.to_numpy(), return_inverse=True)
    return [str(value) for value in distinct], codes


def _numbers(
    frame: pl.DataFrame, verdict: str, truth: pl.Series | None
) -> tuple[FloatArray, FloatArray | None, list[str] | None, Mapping[str, Any]]:
    """Return verdicts and labels as numbers, and for words the list that the numbers index and what each word counts as."""
    verdicts = values_named(frame, verdict)
    columns = [verdicts] if truth is None else [verdicts, truth]
    for column in columns:
        if column.dtype.is_nested() or column.dtype.is_temporal() or column.dtype in {pl.Object, pl.Binary}:
            raise ArgumentError(
                f"agreement: column `{column.name}` is {column.dtype}; compare numbers, Booleans or words"
            )
    is_words = [any(column.dtype == kind for kind in (pl.String, pl.Categorical, pl.Enum)) for column in columns]
    if any(is_words) and not all(is_words):
        raise ArgumentError(
            f"agreement: verdicts `{verdicts.name}` are {verdicts.dtype} and labels `{columns[-1].name}` are {columns[-1].dtype}; "
            "compare words with words (verdict='label') or numbers with numbers"
        )
    words, counts_as = None, {}
    if all(is_words):
        counts_as = one_vocabulary(frame, verdict, truth)
        words = sorted({text for text in counts_as.values() if text is not None})
        places = {text: float(place) for place, text in enumerate(words)}
        numbers = [None if text is None else places[text] for text in counts_as.values()]
        columns = [
            column.cast(pl.String).replace_strict(list(counts_as), numbers, default=None, return_dtype=pl.Float64)
            for column in columns
        ]
    # NaN is "missing" in all arrays of ratings.
    floats = [column.cast(pl.Float64).fill_null(float("nan")).to_numpy() for column in columns]
    return floats[0], None if truth is None else floats[1], words, counts_as


def _averaged(values: FloatArray, words: list[str] | None) -> FloatArray:
    if words is not None:
        raise ArgumentError("agreement: samples='mean' averages numbers, and these verdicts are words; samples='each'")
    is_rated = ~np.isnan(values)
    count = is_rated.sum(axis=2, keepdims=True)
    total = np.where(is_rated, values, 0.0).sum(axis=2, keepdims=True)
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def _positive(
    values: FloatArray, labels: FloatArray | None, at: float | str, words: list[str] | None
) -> tuple[FloatArray, FloatArray | None]:
    """Return 1 where a rating is positive: the word `at`, or a number of at least `at`. Labels of 0 and 1 stay unchanged."""
    if isinstance(at, str) != (words is not None) or (words is not None and at not in words):
        raise ArgumentError(
            f"agreement: at={at!r} is not one of the verdicts ({'numbers' if words is None else listing(words)}); "
            "give the word, or the smallest number, that counts as positive"
        )
    threshold = words.index(str(at)) if words is not None else one_number(at, "agreement: at")

    def positive(x: FloatArray) -> FloatArray:
        return np.where(np.isnan(x), np.nan, x == threshold if words is not None else x >= threshold)

    if labels is not None and (words is not None or not _zero_or_one(labels)):
        labels = positive(labels)
    return positive(values), labels


def _zero_or_one(x: FloatArray) -> bool:
    return bool(np.isin(x[~np.isnan(x)], (0.0, 1.0)).all())


def _refuse_two_scales(values: FloatArray, labels: FloatArray | None, words: list[str] | None) -> None:
    if (
        labels is None
        or words is not None
        or np.isnan(labels).all()
        or not _zero_or_one(labels)
        or _zero_or_one(values)
    ):
        return
    raise ArgumentError(
        f"agreement: labels are 0 or 1, but verdicts range from {np.nanmin(values):g} to {np.nanmax(values):g}; "
        "give the smallest value of a positive verdict as at="
    )
