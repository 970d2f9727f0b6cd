"""Adjustment of p-values for multiple comparisons."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rollwise.errors import ArgumentError
from rollwise.stats.estimate import FloatArray

Adjustment = Literal["holm", "bh", "by"]


def adjusted(p_values: ArrayLike, method: Adjustment) -> FloatArray:
    """Adjust the p-values of one family: float (K,). Undefined p-values stay NaN and do not count in K.

    ``"holm"`` controls the family-wise error rate under any dependence (running maximum of (K - rank + 1)·p). ``"bh"`` controls
    the false discovery rate for independent or positively dependent tests (running minimum, from the largest p, of K/rank·p).
    ``"by"`` controls it under any dependence, by the extra factor Σ 1/rank.

    Parameters
    ----------
    p_values
        Float (K,), in [0, 1] or NaN.
    method
        ``"holm"``, ``"bh"`` or ``"by"``.

    References
    ----------
    Holm (1979), Scand. J. Statist. 6:65-70; Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x; Benjamini &
    Yekutieli (2001), doi:10.1214/aos/1013699998.

    Examples
    --------
    >>> adjusted([0.01, 0.04, float("nan"), 0.03], "holm").round(2).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    raw = np.asarray(p_values, dtype=np.float64)
    corrected = np.full(raw.shape, np.nan)
    defined = np.flatnonzero(~np.isnan(raw))
    order = defined[np.argsort(raw[defined], kind="stable")]
    count, rank = order.size, np.arange(1, order.size + 1)
    ordered = raw[order]
    match method:
        case "holm":
            corrected[order] = np.maximum.accumulate((count - rank + 1) * ordered)
        case "bh" | "by":
            harmonic = (1 / rank).sum() if method == "by" else 1.0
            corrected[order] = np.minimum.accumulate((harmonic * count / rank * ordered)[::-1])[::-1]
        case _:
            raise ArgumentError(f"adjust={method!r} is unknown; it must be 'holm', 'bh' or 'by'")
    return np.asarray(np.minimum(corrected, 1.0))
