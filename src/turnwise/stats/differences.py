"""Two arms, and what is said of their difference: an interval and a p-value.

An arm is its rollouts' values and, for each way of clustering, the unit of each rollout; the codes of two arms are those of
one list of units, so that the same goal has the same code in both.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from turnwise.stats.estimate import Clusters, FloatArray
from turnwise.stats.permutation import Permuted

Method = Literal[
    "auto", "newcombe", "bonett-price", "t", "bootstrap", "resample", "bca", "percentile", "basic", "studentized"
]
NO_UNITS = "no value in one of the arms"
ONE_PAIR = "one common goal: no interval over goals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A difference of two arms. The field names are column names of CONTRAST; None where undefined, never NaN."""

    difference: float | None = None
    std_error: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    n_clusters: int = 0
    method: str | None = None
    reason: str | None = None
    resamples: int | None = None


class Arm(NamedTuple):
    """One arm: values float (n,), and per way the units of its rollouts, integer (n,)."""

    values: FloatArray
    clusters: Clusters


class Draws(NamedTuple):
    """Generators and how much is drawn from them: one for the interval, one for the test."""

    interval: np.random.Generator
    test: np.random.Generator
    resamples: int


class Ends(NamedTuple):
    """The interval of a difference, by the names of its columns."""

    low: float | None = None
    high: float | None = None
    method: str | None = None
    reason: str | None = None
    resamples: int | None = None


def with_test(row: Difference, ends: Ends, test: Permuted | None) -> Difference:
    """The row with its interval and, where there is one, its test."""
    row = replace(row, **ends._asdict())
    if test is None:
        return row
    named = "; ".join(part for part in (ends.method, test.method) if part)
    return replace(row, p_value=test.p_value, method=named, resamples=ends.resamples or test.resamples)


def t_test(difference: float, variance: float, df: float) -> Permuted:
    """Two-sided p of Student's t, never 0; 1 without a difference.

    Examples
    --------
    >>> round(t_test(2.0, 1.0, 10).p_value, 4)
    0.0734
    """
    if difference == 0:
        return Permuted(1.0, "t test", None)
    p_value = float(2 * special.stdtr(df, -abs(difference) / sqrt(variance)))
    return Permuted(max(p_value, float(np.finfo(np.float64).tiny)), "t test", None)
