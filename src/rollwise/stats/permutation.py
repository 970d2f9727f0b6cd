"""Tests by re-randomization: the signs of paired differences, or the labels of whole clusters. No p-value is ever 0.

Rates over few attempts lie on a lattice, where many re-randomizations give exactly the observed statistic. They count as one
half (mid-p; Lancaster 1961, doi:10.1080/01621459.1961.10482105); counted in full, the test rejects far too seldom. For values
that are not on a lattice, the observed arrangement itself and its mirror image count in full: without other ties the test is exact.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from math import comb
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rollwise.stats.estimate import FloatArray, IntArray

MOST_ENUMERATED = 20
"""Most differences for which all sign vectors are enumerated: 2²⁰ are a million."""

MOST_RELABELED = 1 << 15
"""Most relabelings that are enumerated: eight clusters against eight have 12,870."""


class Permuted(NamedTuple):
    """A p-value, the test, and the number of re-randomizations drawn (None if all were enumerated)."""

    p_value: float
    method: str
    resamples: int | None


def sign_flip(differences: FloatArray, *, rng: np.random.Generator, resamples: int, lattice: bool = False) -> Permuted:
    """Test for no difference by sign flips: the share of random signs whose mean is further from 0 than the observed one.

    Other signs with an equally distant mean count as one half. All 2ᴳ sign vectors are enumerated for up to 20 nonzero
    differences; otherwise signs are drawn and p = (b + 1)/(B + 1). The statistic is the mean; the studentized mean is a monotone
    function of it here. If the mean is zero, p = 1.

    Parameters
    ----------
    differences
        Float (G,): one per goal.
    rng, resamples
        Random generator, and number of sign vectors drawn.
    lattice
        Whether the differences are of rates: then the observed signs are one half too.

    References
    ----------
    Phipson & Smyth (2010), doi:10.2202/1544-6115.1585.

    Examples
    --------
    >>> sign_flip(np.array([1.0, 2.0, 3.0]), rng=np.random.default_rng(0), resamples=999)  # 2 of the 8 sign vectors
    Permuted(p_value=0.25, method='exact sign flips', resamples=None)
    """
    nonzero = differences[differences != 0]
    if not nonzero.size:
        return Permuted(1.0, "exact sign flips", None)
    nonzero = nonzero / np.abs(nonzero).max()
    # The tolerance lets sums that are equal except for rounding count as ties.
    observed, rounding = abs(nonzero.sum()), 1e-9 * np.abs(nonzero).sum()
    if observed <= rounding:
        return Permuted(1.0, "exact sign flips", None)
    if nonzero.size <= MOST_ENUMERATED:
        reached, beyond = (_number_beyond(nonzero, observed + sign * rounding) for sign in (-1, 1))
        return Permuted(_mid_p(reached, beyond, 0 if lattice else 2) / 2.0**nonzero.size, "exact sign flips", None)
    reached = beyond = 0
    for flips in _signs(rng, resamples, nonzero.size):
        sums = np.abs(flips @ nonzero)
        reached += int(np.count_nonzero(sums >= observed - rounding))
        beyond += int(np.count_nonzero(sums > observed + rounding))
    return Permuted((_mid_p(reached, beyond, 0) + 1) / (resamples + 1), "sign flips", resamples)


def _mid_p(reached: int, beyond: int, most_in_full: int) -> float:
    """Return how many arrangements count: those beyond the observed statistic, and half of those equal to it.

    Up to `most_in_full` of the equal ones count in full: the observed arrangement and its mirror image.
    """
    ties = reached - beyond
    in_full = min(ties, most_in_full)
    return beyond + in_full + (ties - in_full) / 2


def _number_beyond(values: FloatArray, reached: float) -> int:
    """Return how many of all 2ᴳ signed sums of the values are at least `reached` away from 0.

    Meet in the middle: each signed sum is one over the first half of the values plus one over the second half, so only 2ᴳᐟ²
    sums of each half are computed and the pairs are counted by binary search.
    """
    first_half, second_half = _signed(values[: values.size // 2]), np.sort(_signed(values[values.size // 2 :]))
    above = second_half.size - np.searchsorted(second_half, reached - first_half, side="left")
    below = np.searchsorted(second_half, -reached - first_half, side="right")
    beyond = np.where(
        above + below > second_half.size, second_half.size, above + below
    )  # all sums, if `reached` is not above 0
    return int(beyond.sum())


def _signed(values: FloatArray) -> FloatArray:
    """Return the sums of the values under all sign vectors: float (2ᴳ,)."""
    totals = np.zeros(1)
    for value in values:
        totals = np.concatenate([totals + value, totals - value])
    return totals


def label_permutation(
    sums: FloatArray,
    weights: FloatArray,
    first: IntArray,
    *,
    rng: np.random.Generator,
    resamples: int,
    lattice: bool = False,
) -> Permuted:
    """Test for no difference between two groups of whole clusters by permuting the labels of the clusters (two-sided).

    The statistic is the difference of the two ratios Σsums/Σweights over its clustered standard error. It is studentized, so
    that groups with different variances are not mistaken for groups with different means. All relabelings are enumerated if
    there are at most 2¹⁵; otherwise labels are drawn and p = (b + 1)/(B + 1).

    Parameters
    ----------
    sums, weights
        Float (G,): each cluster's Σwy and Σw, over both groups.
    first
        Integer (k,): indices of the clusters in the first group; each group needs at least two clusters.
    rng, resamples
        Random generator, and number of relabelings drawn.
    lattice
        Whether the values are rates: then the observed labels are one half too.

    References
    ----------
    Chung & Romano (2013), doi:10.1214/13-AOS1090; Phipson & Smyth (2010), doi:10.2202/1544-6115.1585.

    Examples
    --------
    >>> values = np.array([1.0, 2.0, 3.0, 7.0, 8.0, 9.0])  # 2 of the 20 relabelings
    >>> label_permutation(values, np.ones(6), np.arange(3), rng=np.random.default_rng(0), resamples=999)
    Permuted(p_value=0.1, method='exact label permutation', resamples=None)
    """
    center = sums.sum() / weights.sum()
    deviations = sums - center * weights
    if not np.abs(deviations).max() > 1e-12 * np.abs(sums).max():
        return Permuted(1.0, "exact label permutation", None)
    deviations /= np.abs(deviations).max()
    # Sums of these five columns over a group give its ratio and the variance of that ratio.
    columns = np.stack([deviations, weights, deviations * deviations, deviations * weights, weights * weights], axis=1)
    totals = columns.sum(axis=0)

    def studentized(inside: FloatArray) -> FloatArray:
        ratios, variances = [], []
        for part, size in ((inside, first.size), (totals - inside, sums.size - first.size)):
            total, mass, squares, products, masses = part.T
            ratio = total / mass
            spread = np.maximum(squares - 2 * ratio * products + ratio * ratio * masses, 0.0)
            ratios.append(ratio)
            variances.append(size / (size - 1) * spread / mass**2)
        error = np.sqrt(variances[0] + variances[1])
        gap = np.abs(ratios[0] - ratios[1])
        rounding = 1e-9 / weights.sum()
        # Without any variance within the groups, the statistic is infinite unless the means are equal.
        far = np.where(gap > rounding, np.inf, 0.0)
        return np.asarray(np.where(error > rounding, gap / np.maximum(error, rounding), far))

    observed = studentized(columns[first].sum(axis=0)[None, :])[0]
    if observed == 0:
        return Permuted(1.0, "exact label permutation", None)

    def count(relabeled: Iterable[FloatArray], num_labelings: int) -> float:
        reached = beyond = 0
        for labels in relabeled:
            statistics = studentized(labels @ columns)
            reached += int(np.count_nonzero(statistics >= observed * (1 - 1e-9)))
            beyond += int(np.count_nonzero(statistics > observed * (1 + 1e-9)))
        return _mid_p(reached, beyond, num_labelings)

    n_relabelings = comb(sums.size, first.size)
    if n_relabelings <= MOST_RELABELED:
        # Two groups of equally many clusters have a mirror image: the groups exchanged.
        num_labelings = 0 if lattice else 2 if 2 * first.size == sums.size else 1
        return Permuted(
            count(_every_label(sums.size, first.size), num_labelings) / n_relabelings, "exact label permutation", None
        )
    above = count(_labels(rng, resamples, sums.size, first.size), 0)
    return Permuted((above + 1) / (resamples + 1), "label permutation", resamples)


class MaxT(NamedTuple):
    """Adjusted p-values (K,), and the quantile of the largest |t| among all K at the given level."""

    p_adjusted: FloatArray
    critical: float


def max_t(
    differences: Sequence[FloatArray],
    units: Sequence[IntArray],
    *,
    rng: np.random.Generator,
    resamples: int,
    level: float,
) -> MaxT:
    """Adjust K paired comparisons by Westfall and Young's single-step max-t method, with the same sign flips for all of them.

    A goal has the same sign in all comparisons, so their correlation is used and less power is lost than with Holm. A p-value is
    the share of sign vectors whose largest |t| over all comparisons reaches the observed |t|, (b + 1)/(B + 1). Estimates ±
    `critical` standard errors are simultaneous intervals.

    Parameters
    ----------
    differences
        K arrays with one difference per goal, at least two each.
    units
        K integer arrays with the goal of each difference, 0..G-1 over all comparisons.
    rng, resamples, level
        Random generator, number of sign vectors, and joint coverage of the intervals.

    References
    ----------
    Westfall & Young (1993), Resampling-based multiple testing, section 2.3; Phipson & Smyth (2010),
    doi:10.2202/1544-6115.1585.

    Examples
    --------
    >>> d = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 2.0, 1.0, 4.0])
    >>> found = max_t([d, -d], [np.arange(8)] * 2, rng=np.random.default_rng(0), resamples=1999, level=0.95)
    >>> bool(found.p_adjusted[0] == found.p_adjusted[1] < 0.02)
    True
    """
    # Row: goal, column: comparison; 0 where a comparison lacks the goal. Scaling leaves |t| the same.
    goals = 1 + max(int(unit.max()) for unit in units)
    table = np.zeros((goals, len(differences)))
    for column, (values, unit) in enumerate(zip(differences, units, strict=True)):
        table[unit, column] = values / (np.abs(values).max() or 1.0)
    sizes = np.array([values.size for values in differences])
    squares = (table * table).sum(axis=0)

    def studentized(totals: FloatArray) -> FloatArray:
        spread = (squares - totals**2 / sizes) / (sizes - 1)
        flat = spread <= 1e-12 * np.maximum(squares / sizes, 1e-300)
        far = np.where(np.abs(totals) > 0, np.inf, 0.0)
        return np.asarray(np.where(flat, far, np.abs(totals) / np.sqrt(sizes * np.where(flat, 1.0, spread))))

    observed = studentized(table.sum(axis=0))
    largest = np.concatenate([studentized(flips @ table).max(axis=1) for flips in _signs(rng, resamples, goals)])
    # Equal except for rounding: half of the ties count.
    reached = (largest[:, None] >= observed * (1 - 1e-9) - 1e-9).sum(axis=0)
    beyond = (largest[:, None] > observed * (1 + 1e-9) + 1e-9).sum(axis=0)
    above = np.where(observed <= 1e-9, resamples, (reached + beyond) / 2)
    return MaxT((above + 1) / (resamples + 1), float(np.quantile(largest, level, method="higher")))


_CACHE_BYTES, _CACHE_SETS = 1 << 24, 64
"""Limits of the cache: bytes (eight signs or labels each) and sets of draws."""

_Packed = NDArray[np.uint8]
_labelings: OrderedDict[tuple[Any, ...], tuple[list[_Packed], Any]] = OrderedDict()
_cache_lock = Lock()


def _signs(rng: np.random.Generator, rows: int, width: int) -> Iterator[FloatArray]:
    """Yield blocks of random signs, float (block rows, width), with `rows` rows in total."""

    def draw(n_rows: int) -> _Packed:
        return np.frombuffer(rng.bytes(-(-n_rows * width // 8)), dtype=np.uint8)

    bits = _cached_blocks("signs", draw, rng, rows, width)
    return ((2 * block.view(np.int8) - 1).astype(np.float64) for block in bits)


def _labels(rng: np.random.Generator, rows: int, width: int, first: int) -> Iterator[FloatArray]:
    """Yield blocks of random labels, float (block rows, width), with `rows` rows in total and `first` ones in each row."""

    def draw(n_rows: int) -> _Packed:
        chosen = np.argpartition(rng.random((n_rows, width)), first - 1, axis=1)[:, :first]
        labels = np.zeros((n_rows, width), dtype=np.bool_)
        np.put_along_axis(labels, chosen, values=True, axis=1)
        return np.packbits(labels)

    return (labels.astype(np.float64) for labels in _cached_blocks(first, draw, rng, rows, width))


def _every_label(width: int, first: int) -> Iterator[FloatArray]:
    """Yield all labelings once, in blocks: float (block rows, width)."""
    packed, step = _relabeled(width, first), max(1, (1 << 17) // width)
    for start in range(0, len(packed), step):
        yield np.unpackbits(packed[start : start + step], axis=1, count=width).astype(np.float64)


@lru_cache(maxsize=4)
def _relabeled(width: int, first: int) -> _Packed:
    """Return all labelings, eight labels to a byte: at most a megabyte, reused by all comparisons of the same size."""
    few = min(first, width - first)  # choosing the smaller group gives the same labelings with shorter lists
    chosen = np.array(list(combinations(range(width), few)))
    labels = np.full((len(chosen), width), few != first)
    np.put_along_axis(labels, chosen, values=few == first, axis=1)
    return np.packbits(labels, axis=1)


def _cached_blocks(
    kind: object, draw: Callable[[int], _Packed], rng: np.random.Generator, rows: int, width: int
) -> Iterator[NDArray[np.uint8]]:
    """Yield blocks of zeros and ones, (block rows, width), with `rows` rows in total, drawn eight to a byte.

    Comparisons over the same goals draw from generators in the same state. Recent draws are therefore cached, with the state
    of the generator after them.
    """
    key, step = (kind, str(rng.bit_generator.state), rows, width), max(1, (1 << 17) // width)
    sizes = [min(step, rows - start) for start in range(0, rows, step)]
    cached, blocks = _labelings.get(key), list[_Packed]()
    if cached is not None:
        rng.bit_generator.state = cached[1]
    for place, n_rows in enumerate(sizes):
        packed = draw(n_rows) if cached is None else cached[0][place]
        blocks.append(packed)
        yield np.unpackbits(packed, count=n_rows * width).reshape(n_rows, width)
    if cached is None and rows * width <= 8 * _CACHE_BYTES:
        with _cache_lock:
            _labelings[key] = blocks, rng.bit_generator.state
            while (
                len(_labelings) > _CACHE_SETS
                or sum(part.size for parts, _ in _labelings.values() for part in parts) > _CACHE_BYTES
            ):
                _labelings.popitem(last=False)
