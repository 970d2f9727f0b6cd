"""The studentized bootstrap (bootstrap-t) of a ratio over clusters."""

import numpy as np

from rollwise.stats.bootstrap import MOST_NULL, NO_WIDTH
from rollwise.stats.estimate import FloatArray
from rollwise.stats.replicates import count_sums


def studentized_interval(
    sums: FloatArray, weights: FloatArray, *, level: float, rng: np.random.Generator, resamples: int
) -> tuple[float | None, float | None, str | None]:
    """Return the bootstrap-t interval of Σ sums / Σ weights over clusters, with the reason if it is undefined.

    The ends are R - q·se with q the (1 ± level)/2 quantiles of (R* - R)/se*, where se and se* are the linearized standard
    errors of the data and of each replicate. Replicates with se* = 0 have no pivot and are dropped; if their share exceeds
    `MOST_NULL`, the interval is undefined. This interval is good at small rates with many clusters, but the worst of all with
    few (coverage .74 at 20 clusters), so it is never a default.

    Parameters
    ----------
    sums, weights
        Float (G,): each cluster's Σwy and Σw.
    level
        Nominal coverage.
    rng, resamples
        See `ratio_replicates`.

    References
    ----------
    Davison & Hinkley (1997), section 5.2, doi:10.1017/CBO9780511802843.

    Examples
    --------
    >>> values = np.arange(40.0)
    >>> low, high, flaw = studentized_interval(
    ...     values, np.ones(40), level=0.95, rng=np.random.default_rng(0), resamples=4000
    ... )
    >>> low < 19.5 < high, flaw
    (True, None)
    """
    ratio = float(sums.sum() / weights.sum())
    deviations = sums - ratio * weights
    # In units of the largest, so that squares neither overflow nor vanish.
    scale = max(float(np.abs(deviations).max()), np.finfo(float).tiny)
    deviations = deviations / scale
    relative_mass = weights / weights.max()
    # The five sums below give R* and se* of a replicate in closed form, so all replicates are one matrix product:
    # Σc(r - d·m)² = Σc·r² - 2d·Σc·r·m + d²·Σc·m², with r the residuals, m the masses, c the counts and d = R* - R.
    moments = np.stack(
        [deviations, relative_mass, deviations * deviations, deviations * relative_mass, relative_mass * relative_mass],
        axis=1,
    )
    total, drawn_mass, squares, products, masses = count_sums(moments, rng=rng, resamples=resamples).T
    deviation = np.divide(total, drawn_mass, out=np.full(resamples, np.nan), where=drawn_mass > 0)
    variance = squares - 2 * deviation * products + deviation * deviation * masses
    # A replicate that drew one cluster only has variance 0 up to rounding.
    variance_of_data = float((deviations * deviations).sum())
    flat = ~(variance > 1e-6 * variance_of_data / weights.size)
    pivots = np.where(flat, np.nan, deviation * drawn_mass / np.sqrt(np.where(flat, 1.0, variance)))
    if np.isnan(pivots).mean() > MOST_NULL:
        return None, None, f"{np.isnan(pivots).mean():.0%} of the bootstrap replicates have no standard error"
    upper, lower = np.nanquantile(pivots, [(1 + level) / 2, (1 - level) / 2])
    error = np.sqrt(variance_of_data) / relative_mass.sum() * scale / weights.max()
    low, high = float(ratio - upper * error), float(ratio - lower * error)
    return (low, high, None) if low < high else (None, None, NO_WIDTH)
