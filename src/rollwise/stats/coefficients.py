"""Agreement coefficients as functions of totals over units, so that a bootstrap replicate is one row of a matrix product."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rollwise.errors import ArgumentError
from rollwise.stats.clusters import Grouping
from rollwise.stats.estimate import FloatArray, IntArray

Weights = Literal["linear", "quadratic"] | None


@dataclass(frozen=True, slots=True)
class Coefficient:
    """An agreement coefficient as a function of totals.

    Attributes
    ----------
    width
        Number of totals, M.
    sums
        Totals of each group of units: float (G, M).
    value
        Map totals (..., M) to values (...), NaN where undefined.
    """

    width: int
    sums: Callable[[Grouping], FloatArray]
    value: Callable[[FloatArray], FloatArray]


def categories_of(rated: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the sorted distinct ratings, and the index of each rating among them: integer (n, R), -1 where missing."""
    missing = np.isnan(rated)
    values, codes = np.unique(rated[~missing], return_inverse=True)
    out = np.full(rated.shape, -1, dtype=np.int64)
    out[~missing] = codes
    return values, out


def ratings_per_unit(codes: IntArray) -> IntArray:
    """Count the ratings of each unit: integer (n,)."""
    return np.asarray((codes >= 0).sum(axis=1), dtype=np.int64)


def _cells(
    unit: Grouping, rows: IntArray, codes: IntArray, count: int, weights: FloatArray | None = None
) -> FloatArray:
    """Sum the weights of each category within each group of units: float (G, count)."""
    cells = np.bincount(unit.codes[rows] * count + codes, weights=weights, minlength=unit.count * count)
    return cells.reshape(unit.count, count).astype(np.float64, copy=False)


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide, with NaN where the denominator is 0 up to rounding."""
    return np.asarray(
        np.divide(numerator, denominator, out=np.full(np.shape(numerator), np.nan), where=denominator > 1e-12)
    )


def _scaled(values: FloatArray) -> FloatArray:
    """Center the categories at 0 and scale their range to 1, so that neither offset nor unit costs digits."""
    return (values - values.mean()) / (values[-1] - values[0]) if values.size > 1 else np.zeros(values.size)


def kappa(values: FloatArray, codes: IntArray, weights: Weights) -> Coefficient:
    """Build Cohen's kappa of two columns of codes: the totals are the disagreement and each rater's category counts."""
    count, rows = values.size, np.arange(len(codes))
    scale = _scaled(values) if weights is not None else np.zeros(values.size)
    first, second = codes.T
    distance = np.abs(scale[first] - scale[second])
    differ = {None: (first != second).astype(np.float64), "linear": distance, "quadratic": np.square(distance)}
    if weights not in differ:
        raise ArgumentError(f"weights is {weights!r}; it must be None, 'linear' or 'quadratic'")

    def sums(unit: Grouping) -> FloatArray:
        marginals = [_cells(unit, rows, rater, count) for rater in (first, second)]
        return np.column_stack([unit.sums(differ[weights]), *marginals])

    def value(totals: FloatArray) -> FloatArray:
        p, q = totals[..., 1 : 1 + count], totals[..., 1 + count :]
        n = p.sum(axis=-1)
        p, q = (ratio(part, np.broadcast_to(n[..., None], part.shape)) for part in (p, q))
        match weights:
            case None:
                expected = 1 - (p * q).sum(axis=-1)
            case "linear":
                # E|x - y| of independent x, y is the integral of F(1 - G) + G(1 - F): no table of category pairs is needed.
                below, above = np.cumsum(p, axis=-1)[..., :-1], np.cumsum(q, axis=-1)[..., :-1]
                expected = ((below * (1 - above) + above * (1 - below)) * np.diff(scale)).sum(axis=-1)
            case _:
                # E(x - y)² = E(x²) + E(y²) - 2·E(x)·E(y), again without a table of category pairs.
                expected = (p + q) @ np.square(scale) - 2 * (p @ scale) * (q @ scale)
        return 1 - ratio(ratio(totals[..., 0], n), expected)

    return Coefficient(2 * count + 1, sums, value)


def _listed(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the unit and the category of each rating as two flat arrays."""
    rows, raters = np.nonzero(codes >= 0)
    return rows, codes[rows, raters]


def agreeing_pairs(codes: IntArray, count: int) -> FloatArray:
    """Count the ordered pairs of equal ratings within each unit: float (n,)."""
    rows, which = _listed(codes)
    cells, cell_counts = np.unique(rows * count + which, return_counts=True)
    pairs = (cell_counts * (cell_counts - 1)).astype(np.float64)
    return np.bincount(cells // max(count, 1), weights=pairs, minlength=len(codes)).astype(np.float64, copy=False)


def nominal_alpha(values: FloatArray, codes: IntArray) -> Coefficient:
    """Build Krippendorff's nominal alpha: the totals are disagreeing pairs and category counts."""
    n_ratings = ratings_per_unit(codes)
    within = n_ratings - agreeing_pairs(codes, values.size) / np.maximum(n_ratings - 1, 1)
    rows, which = _listed(codes)

    def sums(unit: Grouping) -> FloatArray:
        return np.column_stack([unit.sums(within), _cells(unit, rows, which, values.size)])

    def value(totals: FloatArray) -> FloatArray:
        category_totals = totals[..., 1:]
        n = category_totals.sum(axis=-1)
        return _one_minus(totals[..., 0], n * n - np.square(category_totals).sum(axis=-1), n)

    return Coefficient(values.size + 1, sums, value)


def interval_alpha(values: FloatArray, codes: IntArray) -> Coefficient:
    """Build Krippendorff's interval alpha: the totals are moments, however many categories there are."""
    n_ratings = ratings_per_unit(codes)
    rows, which = _listed(codes)
    scale = _scaled(values)
    v = scale[which]
    total, squares = (np.asarray(np.bincount(rows, weights=x, minlength=len(codes)), np.float64) for x in (v, v * v))
    within = 2 * (n_ratings * squares - total * total) / np.maximum(n_ratings - 1, 1)
    columns: tuple[FloatArray, ...] = (within, n_ratings.astype(np.float64), total, squares)

    def sums(unit: Grouping) -> FloatArray:
        return np.column_stack([unit.sums(column) for column in columns])

    def value(totals: FloatArray) -> FloatArray:
        within, n, first, second = np.moveaxis(totals, -1, 0)
        return _one_minus(within, 2 * (n * second - first * first), n)

    return Coefficient(4, sums, value)


def ordinal_alpha(values: FloatArray, codes: IntArray) -> Coefficient:
    """Build Krippendorff's ordinal alpha, which is `interval_alpha` on mid-ranks.

    The mid-ranks depend on the category counts and so differ between replicates. Therefore each kind of unequal pair has its
    own column of totals, and the distances are applied afterwards.
    """
    count, n_ratings = values.size, ratings_per_unit(codes)
    rows, which = _listed(codes)
    low, high, unit_of, weight = _pairs(codes, n_ratings)
    kinds, kind = np.unique(low * count + high, return_inverse=True)
    lower, upper = kinds // max(count, 1), kinds % max(count, 1)

    def sums(unit: Grouping) -> FloatArray:
        return np.column_stack([_cells(unit, unit_of, kind, kinds.size, weight), _cells(unit, rows, which, count)])

    def value(totals: FloatArray) -> FloatArray:
        pairs, category_totals = totals[..., : kinds.size], totals[..., kinds.size :]
        n = category_totals.sum(axis=-1)
        ranks = np.cumsum(category_totals, axis=-1) - category_totals / 2 - n[..., None] / 2
        within = (pairs * np.square(ranks[..., upper] - ranks[..., lower])).sum(axis=-1)
        first, second = (category_totals * ranks).sum(axis=-1), (category_totals * ranks * ranks).sum(axis=-1)
        return _one_minus(within, 2 * (n * second - first * first), n)

    return Coefficient(kinds.size + count, sums, value)


def _pairs(codes: IntArray, n_ratings: IntArray) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """List the unequal pairs of ratings within units: lower and higher category, unit, weight 2/(m - 1) for both orders."""
    pairs = []
    for first in range(codes.shape[1]):
        for second in range(first):
            a, b = codes[:, first], codes[:, second]
            rows = np.flatnonzero((a >= 0) & (b >= 0) & (a != b))
            pairs.append((np.minimum(a, b)[rows], np.maximum(a, b)[rows], rows))
    low, high, rows = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return low, high, rows, 2 / (n_ratings[rows] - 1)


def _one_minus(within: FloatArray, between: FloatArray, n: FloatArray) -> FloatArray:
    """Return 1 - D_o/D_e from the sums of squared distances of ordered pairs, within units and among all n ratings."""
    # `between` is a sum of n² terms: a value below its rounding error counts as 0.
    defined = between > 1e-12 * n * n
    return np.asarray(1 - np.divide((n - 1) * within, between, out=np.full(np.shape(n), np.nan), where=defined))


ALPHAS = {"nominal": nominal_alpha, "ordinal": ordinal_alpha, "interval": interval_alpha}


def ac1(values: FloatArray, codes: IntArray) -> Coefficient:
    """Build Gwet's AC1: the totals are agreeing shares, the number of units with pairs, and category shares."""
    count, n_ratings = values.size, ratings_per_unit(codes)
    rows, which = _listed(codes)
    paired = (n_ratings >= 2).astype(np.float64)
    agreeing = agreeing_pairs(codes, count) / np.maximum(
        n_ratings * (n_ratings - 1), 1
    )  # 0 for one rating, which `paired` leaves out

    def sums(unit: Grouping) -> FloatArray:
        return np.column_stack(
            [unit.sums(agreeing), unit.sums(paired), _cells(unit, rows, which, count, 1 / n_ratings[rows])]
        )

    def value(totals: FloatArray) -> FloatArray:
        category_totals = totals[..., 2:]
        share = ratio(
            category_totals, np.broadcast_to(category_totals.sum(axis=-1, keepdims=True), category_totals.shape)
        )
        chance = (share * (1 - share)).sum(axis=-1) / max(count - 1, 1)  # at most 1/K
        return np.asarray((ratio(totals[..., 0], totals[..., 1]) - chance) / (1 - chance))

    return Coefficient(count + 2, sums, value)
