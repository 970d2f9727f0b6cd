"""Bootstrap and jackknife of an arbitrary statistic: the rows of the drawn clusters are gathered in blocks of replicates."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rollwise.errors import ArgumentError, type_and_message
from rollwise.stats.clusters import Grouping
from rollwise.stats.estimate import FloatArray, IntArray

Columns = Sequence[NDArray[np.generic]]
Statistic = Callable[..., object]


def gathered_replicates(
    statistic: Statistic,
    columns: Columns,
    unit: Grouping,
    *,
    rng: np.random.Generator,
    resamples: int,
    strata: IntArray | None = None,
    vectorized: bool = False,
    block: int = 1 << 17,
) -> FloatArray:
    """Return bootstrap replicates of a statistic over clusters drawn with replacement: float (resamples,), NaN if undefined.

    Parameters
    ----------
    statistic
        Called with one array per column, of shape (n,); with `vectorized`, of shape (replicates, n) and with ``axis=-1``.
    columns
        Arrays (n,), of any dtype.
    unit
        The clusters of the rows.
    rng, resamples
        Random generator and number of replicates.
    strata
        Integer (G,): clusters are drawn within each stratum; None for one stratum.
    vectorized
        If True, call the statistic once per block of replicates, provided that all clusters have the same size.
    block
        Number of rows gathered at a time, which bounds the memory.

    References
    ----------
    Davison & Hinkley (1997), doi:10.1017/CBO9780511802843.

    Examples
    --------
    >>> y = np.arange(40.0)
    >>> made = gathered_replicates(np.ptp, [y], Grouping(np.arange(40), 40), rng=np.random.default_rng(0), resamples=50)
    >>> made.shape, bool(made.max() <= 39)
    ((50,), True)
    """
    # Rows sorted by cluster, so that a cluster is the slice order[start : start + size].
    order = np.argsort(unit.codes, kind="stable")
    sizes = np.bincount(unit.codes, minlength=unit.count)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    parts = [np.arange(unit.count)] if strata is None else [np.flatnonzero(strata == s) for s in np.unique(strata)]
    size = int(sizes[0])
    # Clusters of several sizes give replicates of several sizes, which are no rows of one array.
    vectorized = vectorized and bool(np.all(sizes == size))
    replicates = np.full(resamples, np.nan)
    rows = max(1, block // max(unit.codes.size, 1))
    for start in range(0, resamples, rows):
        n_replicates = min(rows, resamples - start)
        drawn_clusters = np.concatenate(
            [part[rng.integers(0, part.size, size=(n_replicates, part.size))] for part in parts], axis=1
        )
        if vectorized:
            row_index = order[(starts[drawn_clusters][:, :, None] + np.arange(size)).reshape(n_replicates, -1)]
            replicates[start : start + n_replicates] = _values_of(statistic, [column[row_index] for column in columns])
        else:
            for number, clusters in enumerate(drawn_clusters):
                row_index = order[_rows_of(starts[clusters], sizes[clusters])]
                resampled = [column[row_index] for column in columns]
                replicates[start + number] = _value_of(
                    statistic, resampled, f"replicate {start + number + 1}, which repeats some rows and lacks others"
                )
    replicates[~np.isfinite(replicates)] = np.nan
    return replicates


def gathered_jackknife(statistic: Statistic, columns: Columns, unit: Grouping) -> FloatArray:
    """Return the statistic with each cluster left out in turn: float (G,), NaN where undefined.

    Examples
    --------
    >>> gathered_jackknife(np.max, [np.array([1.0, 2.0, 3.0])], Grouping(np.arange(3), 3)).tolist()
    [3.0, 3.0, 2.0]
    """
    row_masks = (unit.codes != cluster for cluster in range(unit.count))
    without = "the data without one cluster"
    return np.array([_value_of(statistic, [column[rows] for column in columns], without) for rows in row_masks])


def value_of(statistic: Statistic, columns: Columns) -> float:
    """Return the statistic as a float, with NaN for None and for values that are not finite.

    Examples
    --------
    >>> value_of(lambda y: None, [np.zeros(2)])
    nan
    """
    with np.errstate(all="ignore"):
        value = statistic(*columns)
    number = float("nan") if value is None else float(value)  # type: ignore[arg-type]
    return number if np.isfinite(number) else float("nan")


def _value_of(statistic: Statistic, columns: Columns, which: str) -> float:
    """Return the statistic of drawn rows, as `value_of` does; one that fails on them is an error that names it."""
    try:
        return value_of(statistic, columns)
    except Exception as error:
        raise ArgumentError(
            f"summarize: {_name(statistic)} failed on {which} ({type_and_message(error)}); return None where it has no value"
        ) from error


def _values_of(statistic: Statistic, columns: Columns) -> FloatArray:
    """Return the statistic of all replicates of a block, which are the rows of the arrays."""
    want = f"{_name(statistic)} has a parameter axis, so it is given arrays (replicates, n) and axis=-1"
    ask = "return a number for each replicate, or rename axis to be called for one replicate after another"
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(statistic(*columns, axis=-1), dtype=np.float64)
    except Exception as error:
        raise ArgumentError(f"summarize: {want}, and failed ({type_and_message(error)}); {ask}") from error
    count = columns[0].shape[0]
    if values.shape != (count,):
        raise ArgumentError(f"summarize: {want}, and returned shape {values.shape} for {count} replicates; {ask}")
    return values


def _name(statistic: Statistic) -> str:
    return str(getattr(statistic, "__name__", type(statistic).__name__))


def _rows_of(starts: IntArray, sizes: IntArray) -> IntArray:
    """Concatenate the ranges [start, start + size)."""
    # Ranges of unequal length without a loop: each range is a slice of one long arange, shifted to its start.
    ends = np.cumsum(sizes)
    return np.asarray(np.repeat(starts - ends + sizes, sizes) + np.arange(ends[-1] if ends.size else 0))
