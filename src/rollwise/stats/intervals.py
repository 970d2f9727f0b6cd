"""Intervals for a proportion: Wilson, exact (Clopper-Pearson), Jeffreys, and Agresti-Coull. n may be an effective size.

All follow the same rules at the edges: n = 0 has no interval, without a success the lower end is 0, without a failure the upper
end is 1, and no interval has zero width.
"""

import math
from typing import Literal

import numpy as np
import scipy

from rollwise.stats.estimate import FloatArray
from rollwise.stats.student import t_quantiles

Ends = tuple[float | None, float | None]
ShareInterval = Literal["wilson", "exact", "jeffreys", "agresti-coull"]


def wilson(successes: float, n: float, *, level: float = 0.95, df: float | None = None) -> Ends:
    """Return Wilson's score interval for a proportion.

    The ends are (p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n) with p = successes/n.

    Parameters
    ----------
    successes, n
        Real numbers, 0 <= successes <= n. They need not be integers, since n may be an effective sample size.
    level
        Nominal coverage.
    df
        Degrees of freedom of a t quantile to use instead of z; None for z.

    Returns
    -------
    tuple
        (low, high) within [0, 1]; low is exactly 0 without a success, high exactly 1 without a failure. (None, None) if n = 0
        or df < 1.

    References
    ----------
    Wilson (1927), doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> low, high = wilson(0, 20)
    >>> low, round(high, 4)
    (0.0, 0.1611)
    """
    return _single("wilson", successes, n, level, df)


def exact(successes: float, n: float, *, level: float = 0.95, df: float | None = None) -> Ends:
    """Return Clopper and Pearson's exact interval, which covers at least its level for every proportion.

    Use it for regulatory reports. The ends are beta quantiles: (α/2; k, n-k+1) and (1-α/2; k+1, n-k). With `df`, n is first
    reduced by (z/t)², as Korn and Graubard do for clustered samples.

    Parameters
    ----------
    successes, n, level, df
        See `wilson`.

    References
    ----------
    Clopper & Pearson (1934), doi:10.1093/biomet/26.4.404; Korn & Graubard (1998), Survey Methodology 24(2):193-201.

    Examples
    --------
    >>> low, high = exact(0, 20)
    >>> low, round(high, 4)  # 1 - .025^(1/20)
    (0.0, 0.1684)
    """
    return _single("exact", successes, n, level, df)


def outer_ends(successes: float, n: float, *, level: float = 0.95, df: float | None = None) -> Ends:
    """Return the outer of the ends of Wilson's interval (with t of `df`) and of the exact one, which decide a gate.

    A rate exactly at a threshold near 0 is excluded by Wilson's lower end far too often: .157 by one success of 17, at .01.

    Examples
    --------
    >>> low, high = outer_ends(1, 17)  # low: 1 - .975^(1/17)
    >>> round(low, 4), round(high, 4), round(wilson(1, 17)[0], 4)
    (0.0015, 0.2869, 0.0105)
    """
    low, high = wilson(successes, n, level=level, df=df)
    low_exact, high_exact = exact(successes, n, level=level)
    if low is None or high is None or low_exact is None or high_exact is None:
        return None, None
    return min(low, low_exact), max(high, high_exact)


def jeffreys(successes: float, n: float, *, level: float = 0.95, df: float | None = None) -> Ends:
    """Return Jeffreys' interval: the equal-tailed posterior interval under a Beta(1/2, 1/2) prior.

    The ends are beta quantiles of (k + 1/2, n - k + 1/2). Unlike in statsmodels (2.4e-5 at 0 of 20), the lower end is exactly
    0 without a success and the upper end exactly 1 without a failure. At 0 of 0 the interval is undefined.

    Parameters
    ----------
    successes, n, level, df
        See `exact`.

    References
    ----------
    Brown, Cai & DasGupta (2001), doi:10.1214/ss/1009213286.

    Examples
    --------
    >>> low, high = jeffreys(0, 20)
    >>> low, round(high, 4), jeffreys(0, 0)
    (0.0, 0.1166, (None, None))
    """
    return _single("jeffreys", successes, n, level, df)


def agresti_coull(successes: float, n: float, *, level: float = 0.95, df: float | None = None) -> Ends:
    """Return Agresti and Coull's interval: a Wald interval around Wilson's center with n + z² trials, clipped to [0, 1].

    It has the same center as Wilson's interval and is never narrower.

    Parameters
    ----------
    successes, n, level, df
        See `wilson`.

    References
    ----------
    Agresti & Coull (1998), doi:10.1080/00031305.1998.10480550.

    Examples
    --------
    >>> low, high = agresti_coull(1, 20)
    >>> low, round(high, 4)
    (0.0, 0.2541)
    """
    return _single("agresti-coull", successes, n, level, df)


def _single(interval: ShareInterval, successes: float, n: float, level: float, df: float | None) -> Ends:
    ends = share_intervals(
        interval,
        np.array([successes], dtype=np.float64),
        np.array([n], dtype=np.float64),
        level=level,
        df=np.array([math.inf if df is None else df]),
    )
    low, high = (float(end[0]) for end in ends)
    return (None, None) if math.isnan(low) else (low, high)


def share_intervals(
    interval: ShareInterval, successes: FloatArray, n: FloatArray, *, level: float, df: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return an interval of each proportion: lower and upper ends, float (T,) each, NaN where undefined.

    Parameters
    ----------
    interval
        ``"wilson"``, ``"exact"``, ``"jeffreys"`` or ``"agresti-coull"``, as the functions above define them.
    successes, n
        Float (T,).
    level
        Nominal coverage.
    df
        Float (T,): degrees of freedom of t quantiles; infinite for the normal quantile.

    Examples
    --------
    >>> low, high = share_intervals("wilson", np.array([0.0, 5.0]), np.full(2, 20.0), level=0.95, df=np.full(2, np.inf))
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.1119], [0.1611, 0.4687])
    """
    low, high = np.full(n.shape, np.nan), np.full(n.shape, np.nan)
    defined = (n > 0) & (df >= 1)
    low[defined], high[defined] = _ENDS[interval](successes[defined], n[defined], level, df[defined])
    return low, high


def _wilson(successes: FloatArray, n: FloatArray, level: float, df: FloatArray) -> tuple[FloatArray, FloatArray]:
    z = t_quantiles(level, df)
    share, shrink = successes / n, z * z / n
    center = share + shrink / 2
    half = z * np.sqrt(np.maximum(share * (1 - share), 0.0) / n + shrink / (4 * n))
    low = np.where(successes <= 0, 0.0, np.maximum(0.0, (center - half) / (1 + shrink)))
    return low, np.where(successes >= n, 1.0, np.minimum(1.0, (center + half) / (1 + shrink)))


def _agresti_coull(successes: FloatArray, n: FloatArray, level: float, df: FloatArray) -> tuple[FloatArray, FloatArray]:
    z = t_quantiles(level, df)
    # z² added trials, half of them successes, give Wilson's center.
    trials = n + z * z
    center = (successes + z * z / 2) / trials
    half = z * np.sqrt(center * (1 - center) / trials)
    return np.maximum(0.0, center - half), np.minimum(1.0, center + half)


def _exact(successes: FloatArray, n: FloatArray, level: float, df: FloatArray) -> tuple[FloatArray, FloatArray]:
    return _of_beta(successes, n, level, df, 0.0)


def _jeffreys(successes: FloatArray, n: FloatArray, level: float, df: FloatArray) -> tuple[FloatArray, FloatArray]:
    return _of_beta(successes, n, level, df, 0.5)


def _of_beta(
    successes: FloatArray, n: FloatArray, level: float, df: FloatArray, prior: float
) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of the beta distributions with this share of a prior success and a prior failure."""
    # Successes and trials are reduced by (z/t)², which accounts for a t quantile.
    scale = (t_quantiles(level, np.full(df.shape, np.inf)) / t_quantiles(level, df)) ** 2
    k, size, tail = np.clip(successes, 0.0, n) * scale, n * scale, (1 - level) / 2
    low, high = np.zeros_like(k), np.ones_like(k)
    some, not_all = k > 0, k < size
    low[some] = scipy.special.betaincinv(k[some] + prior, (size - k)[some] + (1 - prior), tail)
    high[not_all] = scipy.special.betaincinv(k[not_all] + (1 - prior), (size - k)[not_all] + prior, 1 - tail)
    return low, high


_ENDS = {"wilson": _wilson, "exact": _exact, "jeffreys": _jeffreys, "agresti-coull": _agresti_coull}
NAMES_OF_A_SHARE: dict[ShareInterval, str] = {
    "wilson": "Wilson",
    "exact": "exact",
    "jeffreys": "Jeffreys",
    "agresti-coull": "Agresti-Coull",
}
