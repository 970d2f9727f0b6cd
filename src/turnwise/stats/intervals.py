"""Intervals for a proportion: Wilson, exact (Clopper-Pearson), Jeffreys, and Agresti-Coull. n may be an effective size.

All follow the same rules at the edges: n = 0 has no interval, without a success the lower end is 0, without a failure the upper
end is 1, and no interval has zero width.
"""

import math
from collections.abc import Callable
from typing import Literal

import scipy

from turnwise.stats.clusters import t_quantile

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
    if n <= 0 or (df is not None and df < 1):
        return None, None
    z = t_quantile(level, df)
    share, shrink = successes / n, z * z / n
    center = share + shrink / 2
    half = z * math.sqrt(share * (1 - share) / n + shrink / (4 * n))
    low = 0.0 if successes <= 0 else max(0.0, (center - half) / (1 + shrink))
    high = 1.0 if successes >= n else min(1.0, (center + half) / (1 + shrink))
    return low, high


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
    reduced = _reduced(successes, n, level, df)
    if reduced is None:
        return None, None
    k, size = reduced
    tail = (1 - level) / 2
    low = 0.0 if k <= 0 else float(scipy.special.betaincinv(k, size - k + 1, tail))
    high = 1.0 if k >= size else float(scipy.special.betaincinv(k + 1, size - k, 1 - tail))
    return low, high


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
    reduced = _reduced(successes, n, level, df)
    if reduced is None:
        return None, None
    k, size = reduced
    tail = (1 - level) / 2
    low = 0.0 if k <= 0 else float(scipy.special.betaincinv(k + 0.5, size - k + 0.5, tail))
    high = 1.0 if k >= size else float(scipy.special.betaincinv(k + 0.5, size - k + 0.5, 1 - tail))
    return low, high


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
    if n <= 0 or (df is not None and df < 1):
        return None, None
    z = t_quantile(level, df)
    # z² added trials, half of them successes, give Wilson's center.
    trials = n + z * z
    center = (successes + z * z / 2) / trials
    half = z * math.sqrt(center * (1 - center) / trials)
    return max(0.0, center - half), min(1.0, center + half)


def _reduced(successes: float, n: float, level: float, df: float | None) -> tuple[float, float] | None:
    """Reduce successes and trials by (z/t)², which accounts for a t quantile; None if the interval is undefined."""
    if n <= 0 or (df is not None and df < 1):
        return None
    scale = 1.0 if df is None else (t_quantile(level, None) / t_quantile(level, df)) ** 2
    return min(max(successes, 0.0), n) * scale, n * scale


OF_A_SHARE: dict[ShareInterval, tuple[str, Callable[..., Ends]]] = {
    "wilson": ("Wilson", wilson),
    "exact": ("exact", exact),
    "jeffreys": ("Jeffreys", jeffreys),
    "agresti-coull": ("Agresti-Coull", agresti_coull),
}
