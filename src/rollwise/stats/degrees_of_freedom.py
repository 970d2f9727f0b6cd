"""Degrees of freedom of a variance over clusters of unequal weight."""

import numpy as np

from rollwise.stats.estimate import FloatArray
from rollwise.stats.units import Groups

_DOMINANT_SHARE = 0.999
"""Largest share of the total weight that one cluster can have before the degrees of freedom stop changing."""


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
