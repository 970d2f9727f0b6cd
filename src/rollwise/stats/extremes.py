"""Minimum, maximum and standard deviation, which have no interval."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rollwise.errors import ArgumentError
from rollwise.stats.clusters import NO_VALUES, ones_or, unaddables, weighted_means
from rollwise.stats.estimate import Estimate, Estimates, FloatArray, texts, without_text
from rollwise.stats.units import Groups


def extreme(values: ArrayLike, which: Literal["min", "max"]) -> Estimate:
    """Return the smallest or the largest value, without an interval: no resampling scheme is consistent for extremes.

    Parameters
    ----------
    values
        Float (n,), in any unit; n = 0 gives None.
    which
        ``"min"`` or ``"max"``.

    References
    ----------
    Bickel & Freedman (1981), doi:10.1214/aos/1176345637.

    Examples
    --------
    >>> extreme([2.0, 7.0], "max").estimate
    7.0
    """
    y = np.asarray(values, dtype=np.float64)
    return extremes(y, Groups.single(y.size), which).at(0)


def extremes(values: FloatArray, groups: Groups, which: Literal["min", "max"]) -> Estimates:
    """Return the `extreme` of each group."""
    if which not in {"min", "max"}:
        raise ArgumentError(f"which is {which!r}; it must be 'min' or 'max'")
    return Estimates.empty(
        groups.count,
        estimate=groups.least(values) if which == "min" else groups.largest(values),
        n=groups.sizes,
        reason=texts(groups.sizes > 0, "no valid interval: the bootstrap is inconsistent for extremes", NO_VALUES),
    )


def standard_deviation(values: ArrayLike, *, weights: ArrayLike | None = None) -> Estimate:
    """Return the standard deviation of a sample, sqrt(Σ(y - mean)² / (n - 1)), without an interval.

    Parameters
    ----------
    values
        Float (n,), in any unit. n < 2, or an infinite value, gives None.
    weights
        Positive float (n,), or None. Unequal weights give an estimate of None.

    Examples
    --------
    >>> standard_deviation([1.0, 2.0, 3.0]).estimate
    1.0
    """
    y = np.asarray(values, dtype=np.float64)
    return standard_deviations(y, Groups.single(y.size), weights=weights).at(0)


def standard_deviations(values: FloatArray, groups: Groups, *, weights: ArrayLike | None = None) -> Estimates:
    """Return the `standard_deviation` of each group."""
    n, flaws = groups.sizes, unaddables(values, groups)
    if weights is not None:
        unequal = ~groups.are_equal(np.asarray(weights, dtype=np.float64))
        flaws[unequal & without_text(flaws)] = "a standard deviation is of values that weigh the same"
    flaws[n == 1] = "one value has no standard deviation"
    flaws[n == 0] = NO_VALUES
    flawed = ~without_text(flaws)
    values = np.where(flawed[groups.codes], 0.0, values)
    center = weighted_means(values, ones_or(None, values.size), groups)
    deviation = np.sqrt(groups.sums(np.square(values - center[groups.codes])) / np.maximum(n - 1, 1))
    text = np.where(deviation > 0, "no interval of a standard deviation: only the bootstrap has one", "no variation")
    return Estimates.empty(
        groups.count,
        estimate=np.where(flawed, np.nan, deviation),
        n=n,
        reason=texts(flawed, flaws, text),
    )
