"""Student's t: critical values, and degrees of freedom of a variance over clusters of unequal weight."""

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import scipy

from rollwise.stats.estimate import FloatArray
from rollwise.stats.units import Groups

_NORMAL_FROM_DF = 1000
"""Degrees of freedom from which a four-term expansion around the normal quantile gives Student's t to the last digits."""
_DOMINANT_SHARE = 0.999
"""Largest share of the total weight that one cluster can have before the degrees of freedom stop changing."""


@lru_cache(maxsize=4096)  # many intervals of one table have the same degrees of freedom
def t_quantile(level: float, df: float | None) -> float:
    """Return the two-sided critical value of Student's t, or of the normal law if df is None; infinite for df of 0 or less.

    From 1000 df on it is computed from the normal quantile by Fisher and Cornish's expansion, accurate to 10⁻¹³ for levels up
    to 99.99 %. A command that summarizes many rollouts therefore need not load SciPy.

    References
    ----------
    Fisher & Cornish (1960), doi:10.2307/1266546; Abramowitz & Stegun (1964), 26.7.5.

    Examples
    --------
    >>> round(t_quantile(0.95, None), 4), round(t_quantile(0.95, 9), 4)
    (1.96, 2.2622)
    """
    return float(_quantiles(level, np.array([math.inf if df is None else df]))[0])


def t_quantiles(level: float | FloatArray, df: FloatArray) -> FloatArray:
    """Return `t_quantile` for each df; infinite df give the normal quantile, NaN and df of 0 or less infinity."""
    if df.size == 1 and isinstance(level, float):  # one group of thousands, which is often like the one before
        return np.full(df.shape, t_quantile(level, float(df.item())))
    return _quantiles(level, df)


def _quantiles(level: float | FloatArray, df: FloatArray) -> FloatArray:
    result = np.full(np.broadcast_shapes(np.shape(level), df.shape), math.inf)
    levels, dfs = np.broadcast_to(level, result.shape), np.broadcast_to(df, result.shape)
    few = (dfs < _NORMAL_FROM_DF) & (dfs > 0)
    if few.any():
        result[few] = scipy.special.stdtrit(dfs[few], (1 + levels[few]) / 2)
    is_large = dfs >= _NORMAL_FROM_DF
    if is_large.any():
        normal = NormalDist()
        distinct, places = np.unique(levels[is_large], return_inverse=True)
        x = np.array([-normal.inv_cdf((1 - coverage) / 2) for coverage in distinct.tolist()])[places]
        inverse = 1 / dfs[is_large]
        terms = (
            (x**3 + x) / 4,
            (5 * x**5 + 16 * x**3 + 3 * x) / 96,
            (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
            (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
        )
        # Horner's scheme, from the smallest term; 1 / infinity leaves the normal quantile itself.
        correction = np.zeros_like(x)
        for term in reversed(terms):
            correction = (correction + term) * inverse
        result[is_large] = x + correction
    return result


def group_degrees_of_freedom(masses: FloatArray, groups: Groups) -> FloatArray:
    """Return the degrees of freedom of a variance over clusters with these weights, for each group of clusters: float (T,).

    In [1, G-1], G-1 for equal weights; -1 for a group without clusters. Satterthwaite's 2·E(V)² / var(V), assuming independent
    normal cluster means with a common variance. This holds if the rollouts within a cluster are similar: a cluster with half of
    all rollouts then determines half of R, however many other clusters there are.

    Parameters
    ----------
    masses
        Positive float (G,), in any unit: the weight of each cluster. A single cluster has 0 degrees of freedom.
    groups
        The group of each cluster.

    References
    ----------
    Bell & McCaffrey (2002), Survey Methodology 28(2):169-181; Imbens & Kolesar (2016), doi:10.1162/REST_a_00552; Carter,
    Schnepel & Steigerwald (2017), doi:10.1162/REST_a_00639.

    Examples
    --------
    >>> masses = np.array([1.0, 1, 1, 32, 8, 4, 2, 1])
    >>> group_degrees_of_freedom(masses, Groups(np.repeat([0, 1], [3, 5]), 2)).round(2).tolist()
    [2.0, 1.33]
    """
    df = groups.sizes.astype(np.float64) - 1
    unequal = ~groups.are_equal(masses)
    if not unequal.any():
        return df
    w = masses / groups.sums(masses)[groups.codes]
    for group in np.flatnonzero(unequal & (groups.largest(w) > _DOMINANT_SHARE)):
        # Closer to 1, cancellation costs digits and the result no longer changes.
        rows = slice(*groups.starts[group : group + 2])
        dominant = w[rows] == w[rows].max()
        w[rows] *= np.where(dominant, 0.0, (1 - _DOMINANT_SHARE) / w[rows][~dominant].sum())
        w[rows][dominant] = _DOMINANT_SHARE
    squares = w * w
    two, three, four, five = (groups.sums(power) for power in (squares, squares * w, squares**2, squares**2 * w))
    # V is proportional to z'Qz with Q = A'DA, D = diag(w²) and A = I - 1w'. The degrees of freedom are tr(Q)² / tr(Q²), and
    # both traces are polynomials in the power sums of the weights, so the G x G matrix is never formed.
    trace_squared = two - 2 * three + two**2
    squared_trace = four + 4 * two * four - 4 * five + two**4 - 4 * two**2 * three + 2 * three**2
    with np.errstate(invalid="ignore", divide="ignore"):  # a single cluster, whose traces are 0
        return np.where(unequal, np.clip(trace_squared**2 / squared_trace, 1.0, np.maximum(df, 1.0)), df)
