"""What an estimator returns."""

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
    """A value with its interval. The field names are the column names of SUMMARY.

    Attributes
    ----------
    estimate, std_error, low, high
        The point, its standard error and the ends of the interval; None where undefined, never NaN. An interval
        never has zero width: where a formula would give one, both ends are None and `reason` says why.
    n, n_clusters
        Rollouts behind the estimate, and independent units behind the interval (the smaller count of two crossed ways).
    design_effect
        Variance over what independent rollouts would have; None where no interval was made from it.
    method
        Interval and route in words, such as ``"clustered Wilson"``; None where there is no interval.
    reason
        Why something is None or was replaced; None when all is as asked.
    resamples
        Bootstrap replicates drawn; None without a bootstrap.
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
    """The generator itself: to key one by a million ids takes longer than most intervals, which draw nothing.

    Raises
    ------
    ArgumentError
        Where there is none.

    Examples
    --------
    >>> generator_of(lambda: np.random.default_rng(1)).random() == generator_of(np.random.default_rng(1)).random()
    True
    """
    if rng is None:
        raise ArgumentError("a bootstrap interval needs rng, a numpy.random.Generator")
    return rng() if callable(rng) else rng
