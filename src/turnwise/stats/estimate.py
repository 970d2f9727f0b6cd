"""The result type of all estimators, and common array types."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import ArgumentError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Clusters = tuple[IntArray, ...]
Randomness: TypeAlias = np.random.Generator | Callable[[], np.random.Generator]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A point estimate with its interval. The field names are the column names of SUMMARY.

    Attributes
    ----------
    estimate, std_error, low, high
        Point estimate, standard error and ends of the interval; None where undefined, never NaN. An interval never has zero
        width: if a formula would give one, both ends are None and `reason` explains why.
    n, n_clusters
        Number of rollouts, and of independent units behind the interval (the smaller number of two crossed ways).
    design_effect
        Variance divided by the variance of independent rollouts; None if the interval does not use it.
    method
        Kind of interval and how it was computed, such as ``"clustered Wilson"``; None without an interval.
    reason
        Explanation of a None, or of a replaced method; None if the result is as requested.
    resamples
        Number of bootstrap replicates drawn; None without a bootstrap.
    """

    estimate: float | None = None
    std_error: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    n_clusters: int = 0
    design_effect: float | None = None
    method: str | None = None
    reason: str | None = None
    resamples: int | None = None


def generator_of(rng: Randomness | None) -> np.random.Generator:
    """Return the generator, calling the factory if one was given.

    Factories exist because deriving a seed from a million ids takes longer than most intervals, which draw nothing.

    Raises
    ------
    ArgumentError
        If `rng` is None.

    Examples
    --------
    >>> generator_of(lambda: np.random.default_rng(1)).random() == generator_of(np.random.default_rng(1)).random()
    True
    """
    if rng is None:
        raise ArgumentError("a bootstrap interval needs rng, a numpy.random.Generator")
    return rng() if callable(rng) else rng
