"""The result types of all estimators, for one group and for many, and common array types."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rollwise.errors import ArgumentError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
TextArray = NDArray[np.object_]
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


@dataclass(slots=True, kw_only=True)
class Estimates:
    """`Estimate` of several groups, as arrays (T,): NaN where a single one has None, and 0 for no resamples."""

    estimate: FloatArray
    std_error: FloatArray
    low: FloatArray
    high: FloatArray
    n: IntArray
    n_clusters: IntArray
    design_effect: FloatArray
    method: TextArray
    reason: TextArray
    resamples: IntArray

    @classmethod
    def empty(cls, count: int, **columns: NDArray[Any]) -> "Estimates":
        """Return estimates of this many groups: the given columns, and nulls or zeros in all others."""
        nulls = {name: np.full(count, np.nan) for name in ("estimate", "std_error", "low", "high", "design_effect")}
        zeros = {name: np.zeros(count, dtype=np.int64) for name in ("n", "n_clusters", "resamples")}
        texts = {name: np.full(count, None, dtype=object) for name in ("method", "reason")}
        return cls(**(nulls | zeros | texts | columns))

    @classmethod
    def of(cls, estimates: Sequence[Estimate]) -> "Estimates":
        """Return single estimates as arrays."""
        result = cls.empty(len(estimates))
        for group, estimate in enumerate(estimates):
            result.put(group, estimate)
        return result

    def put(self, groups: int | IntArray, estimates: "Estimate | Estimates") -> None:
        """Replace the estimates of some groups."""
        for field in fields(Estimate):
            value = getattr(estimates, field.name)
            if value is None and field.name not in {"method", "reason"}:
                # Arrays of integers have no null: 0 means no resamples, and NaN an undefined number.
                value = 0 if field.name == "resamples" else np.nan
            getattr(self, field.name)[groups] = value

    def take(self, groups: IntArray | BoolArray) -> "Estimates":
        """Return the estimates of some groups."""
        return Estimates(**{field.name: getattr(self, field.name)[groups] for field in fields(Estimates)})

    def at(self, group: int) -> Estimate:
        """Return the estimate of one group."""
        return Estimate(
            **{field.name: _value(getattr(self, field.name)[group], field.name) for field in fields(Estimate)}
        )


def texts(condition: BoolArray, chosen: object, otherwise: object) -> TextArray:
    """Return one of two texts, or None, for each group: objects (T,)."""
    # Without dtype=object, NumPy would cut texts to the longest one and turn None into "None".
    return np.where(condition, np.asarray(chosen, dtype=object), np.asarray(otherwise, dtype=object))


def without_text(column: TextArray) -> BoolArray:
    """Mark the groups that have no text: Boolean (T,)."""
    return np.asarray(column == None, dtype=np.bool_)  # noqa: E711  # elementwise


def _value(number: Any, name: str) -> Any:
    if isinstance(number, np.floating):
        return None if np.isnan(number) else float(number)
    if isinstance(number, np.integer):
        return None if name == "resamples" and not number else int(number)
    return number


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
