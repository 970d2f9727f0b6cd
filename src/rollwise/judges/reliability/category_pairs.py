"""VERDICTS and labels -> counts of every pair of categories: which ratings a judge confuses with which."""

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import polars as pl

from rollwise.errors import ArgumentError, listing
from rollwise.judges.reliability.ratings import Abstentions, Ratings, ratings_of
from rollwise.schema.arguments import By, frame_of, names_of
from rollwise.schema.option_types import check_option_types
from rollwise.stats.estimate import FloatArray, IntArray

NO_VERDICT = "(no verdict)"
MOST = 100  # categories of a table
COLUMNS = ("comparison", "judge", "other", "rating", "other_rating", "n")


def confusion(
    verdicts: object,
    labels: object | None = None,
    *,
    by: By = (),
    verdict: str = "value",
    truth: str = "label",
    abstentions: Abstentions = "missing",
    samples: Literal["each", "mean"] = "each",
) -> pl.DataFrame:
    """Count for each judge, and each pair of judges, how often one rating met which other rating: an n x n table, one row a cell.

    `agreement` says in one number how far two raters agree; this says where they do not. Pivot it for the square table.

    Parameters
    ----------
    verdicts, labels, by, verdict, truth, samples
        As in `agreement`.
    abstentions
        A judgment without a verdict (null, NaN) is ``"missing"``, and not counted, or a ``"category"`` of its own, whose
        rating is ``(no verdict)``.

    Returns
    -------
    polars.DataFrame
        `by`, then `comparison` (``"labels"`` or ``"judges"``), `judge`, `other` (null for the labels), `rating` (of the judge)
        and `other_rating` (of the labels or the other judge), both text, and `n` (integer). Every category that occurs anywhere
        in a column has a row and a column in each table, with n = 0 where a pair does not occur; the n of one table add up to
        the `n` of `agreement`. Numbers are in order of size, words in order of the alphabet.

    Raises
    ------
    SchemaError, ArgumentError
        As in `agreement`.

    Examples
    --------
    >>> verdicts = pl.DataFrame({"rollout_id": list("abcd"), "judge": "rule", "value": [1, 2, 3, 3]})
    >>> labels = pl.DataFrame({"rollout_id": list("abcd"), "label": [1, 2, 2, 3]})
    >>> table = confusion(verdicts, labels)
    >>> table.pivot("other_rating", index="rating", values="n")
    shape: (3, 4)
    ┌────────┬─────┬─────┬─────┐
    │ rating ┆ 1   ┆ 2   ┆ 3   │
    │ ---    ┆ --- ┆ --- ┆ --- │
    │ str    ┆ i64 ┆ i64 ┆ i64 │
    ╞════════╪═════╪═════╪═════╡
    │ 1      ┆ 1   ┆ 0   ┆ 0   │
    │ 2      ┆ 0   ┆ 1   ┆ 0   │
    │ 3      ┆ 0   ┆ 1   ┆ 1   │
    └────────┴─────┴─────┴─────┘
    """
    check_option_types(confusion, locals())
    frame, truths = frame_of(verdicts, "confusion"), None if labels is None else frame_of(labels, "confusion")
    by = names_of(by)
    columns = [*frame.columns, *([] if truths is None else truths.columns)]
    for name in by:
        if name not in columns or name in COLUMNS:
            raise ArgumentError(f"confusion: by={name!r} is not a column to group by; available: {listing(columns)}")
    ratings = ratings_of(
        frame,
        truths,
        verdict=verdict,
        truth=truth,
        at=None,
        abstentions=abstentions,
        averaged=samples == "mean",
        facts=by,
    )
    categories = _categories(ratings)
    if len(categories) > MOST:
        raise ArgumentError(
            f"confusion: `{verdict}` has {len(categories):,} different ratings, more than {MOST} rows of a table; "
            "round or label them"
        )
    names = [
        _name(number, ratings.words, is_last=abstentions == "category" and at_end) for number, at_end in categories
    ]
    numbers = [number for number, _ in categories]
    rows = [
        {
            **key,
            "comparison": kind,
            "judge": judge,
            "other": other_judge,
            "rating": names[i],
            "other_rating": names[j],
            "n": n,
        }
        for key, units in ratings.data.groups(by)
        for kind, judge, other_judge, first, second in _pairs(ratings, units)
        for (i, j), n in _counts(first, second, numbers)
    ]
    dtypes = {name: pl.Int64 if name == "n" else pl.String for name in COLUMNS}
    return pl.DataFrame(rows, schema={**{name: ratings.data.frame.schema[name] for name in by}, **dtypes})


def _pairs(ratings: Ratings, units: IntArray) -> Iterator[tuple[str, str, str | None, FloatArray, FloatArray]]:
    """Yield the two ratings to compare, of equal length: each judge and the labels, then each pair of judges."""
    values = ratings.values[units]
    if ratings.labels is not None:
        truth = np.repeat(ratings.labels[units], values.shape[2])
        for place, judge in enumerate(ratings.judges):
            yield "labels", judge, None, values[:, place].ravel(), truth
    for first, second in combinations(range(len(ratings.judges)), 2):
        names = ratings.judges[first], ratings.judges[second]
        yield "judges", *names, values[:, first].ravel(), values[:, second].ravel()


def _counts(first: FloatArray, second: FloatArray, numbers: list[float]) -> Iterator[tuple[tuple[int, int], int]]:
    for i, j in product(range(len(numbers)), repeat=2):
        yield (i, j), int(np.sum((first == numbers[i]) & (second == numbers[j])))


def _categories(ratings: Ratings) -> list[tuple[float, bool]]:
    """Return the numbers that occur as ratings, in order, and whether each is the greatest and that of abstentions."""
    all_values = [ratings.values.ravel(), *([] if ratings.labels is None else [ratings.labels])]
    numbers = np.unique(np.concatenate(all_values))
    numbers = numbers[~np.isnan(numbers)]
    has_abstentions = bool(ratings.abstained.any())
    return [(float(number), has_abstentions and number == numbers[-1]) for number in numbers]


def _name(number: Any, words: list[str] | None, *, is_last: bool) -> str:
    if is_last:
        return NO_VERDICT
    return f"{number:.12g}" if words is None else words[int(number)]
