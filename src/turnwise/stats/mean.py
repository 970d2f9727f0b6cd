"""Mean of a numeric column with a t or a bootstrap interval over clusters; standard deviation."""

import math
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from turnwise.errors import ArgumentError, counted
from turnwise.stats.bootstrap import (
    acceleration,
    bca_flaw,
    bca_interval,
    closed_form,
    expanded,
    null_flaw,
    percentile_interval,
    studentized_interval,
)
from turnwise.stats.clusters import (
    NO_VALUES,
    ONE_CLUSTER,
    Variation,
    equal_weights,
    groupings,
    ones_or,
    t_quantile,
    unaddable,
    variation,
)
from turnwise.stats.estimate import Clusters, Estimate, FloatArray, IntArray, Randomness, generator_of
from turnwise.stats.replicates import count_sums, crossed_replicates, jackknife_ratio, ratio_replicates

Interval = Literal["auto", "t", "normal", "bca", "percentile", "basic", "studentized"]
OF_A_MEAN: dict[str, Interval] = {
    "auto": "auto",
    "t": "t",
    "normal": "normal",
    "bootstrap": "bca",
    "bca": "bca",
    "percentile": "percentile",
    "basic": "basic",
    "studentized": "studentized",
}
"""Interval of a mean for each `method` name."""

FEWEST_CLUSTERS = 10
"""Fewest clusters for a reliable bootstrap (Cameron, Gelbach & Miller 2008, doi:10.1162/rest.90.3.414)."""


NAMES = {"bca": "BCa", "percentile": "percentile", "basic": "basic", "studentized": "studentized"}
"""Display names of the bootstrap intervals."""


class _Bounds(NamedTuple):
    """Interval of an estimate, with its method and reason."""

    low: float | None = None
    high: float | None = None
    method: str | None = None
    reason: str | None = None
    resamples: int | None = None


class _Plan(NamedTuple):
    """Options for computing the interval."""

    level: float
    rng: Randomness | None
    resamples: int
    interval: Interval
    strata: IntArray | None

    def generator(self) -> np.random.Generator:
        return generator_of(self.rng)


def too_few_to_draw(count: int, noun: str = "cluster") -> str | None:
    """Return the reason why this many clusters are too few for a bootstrap, or None if they suffice.

    Examples
    --------
    >>> too_few_to_draw(9, "goal"), too_few_to_draw(10)
    ('9 goals are too few for a bootstrap', None)
    """
    if count >= FEWEST_CLUSTERS:
        return None
    return f"{counted(count, f'{noun} is', f'{noun}s are')} too few for a bootstrap"


def mean(
    values: ArrayLike,
    clusters: Clusters,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    rng: Randomness | None = None,
    resamples: int = 10_000,
    interval: Interval = "auto",
    strata: ArrayLike | None = None,
) -> Estimate:
    """The (weighted) mean, with an interval over clusters.

    ``"auto"`` is the expanded BCa bootstrap over clusters: its level is raised so that the normal quantile equals that of t,
    because a bootstrap over few clusters is otherwise too narrow (Hesterberg). With fewer than 10 clusters, or if BCa is
    undefined, it is t with G-1 degrees of freedom, and `reason` says so; two crossed ways use t with `crossed_df`. Clusters
    of unequal weight count as a smaller number of equal clusters (`degrees_of_freedom`). From 1000 clusters of equal weight
    on, the interval is the `closed_form` of the bootstrap, without draws; `method` names the computation.

    Parameters
    ----------
    values
        Float (n,), in any unit.
    clusters
        Tuple of zero, one or two integer code arrays (n,).
    weights
        Positive float (n,), or None for ones.
    level
        Nominal coverage.
    rng
        Generator for the bootstrap, or a function that returns one when needed; the closed form and t need none.
    resamples
        Number of bootstrap replicates.
    interval
        ``"auto"``, ``"t"``, ``"normal"``, ``"bca"``, ``"percentile"``, ``"basic"`` or ``"studentized"``. An interval
        requested by name is None if it is undefined; there is no fallback. ``"normal"`` reproduces the profiler of NeMo Agent
        Toolkit: the population standard deviation and a normal quantile with three decimals. It is too narrow for few clusters.
        Over two crossed ways the percentile bootstrap draws both ways (the pigeonhole bootstrap).
    strata
        Integer (G,), one per cluster in the order of the codes: the percentile and basic bootstraps draw clusters within each
        stratum, which is correct if the sizes of the strata were fixed by design. None for one stratum.

    Returns
    -------
    Estimate
        The standard error is the linearized one for every interval. The design effect is the variance divided by that of as
        many independent rollouts. All values are None if n = 0 or a value is infinite. The bounds are None if n = 1, with one
        cluster, and if all values or all cluster means are equal.

    References
    ----------
    Efron (1987), doi:10.1080/01621459.1987.10478410; Hesterberg (2015), doi:10.1080/00031305.2015.1089789; Field & Welsh
    (2007), doi:10.1111/j.1467-9868.2007.00593.x; Owen (2007), doi:10.1214/07-AOAS122; Imbens & Kolesar (2016),
    doi:10.1162/REST_a_00552.

    Examples
    --------
    >>> turns = mean([1.0, 2.0, 3.0], ())
    >>> turns.estimate, round(turns.low, 2), round(turns.high, 2), turns.method
    (2.0, -0.48, 4.48, 't')
    """
    if interval not in get_args(Interval):
        raise ArgumentError(f"interval is {interval!r}; it must be one of {', '.join(get_args(Interval))}")
    y = np.asarray(values, dtype=np.float64)
    if flaw := unaddable(y):
        return Estimate(n=y.size, n_clusters=min(unit.count for unit in groupings(clusters, y.size)), reason=flaw)
    spread = variation(y, clusters, weights=weights)
    w = ones_or(weights, spread.n)
    flaw_of_interval = _flaw(y, spread)
    layers = None if strata is None else np.asarray(strata, dtype=np.int64)
    plan = _Plan(level, rng, resamples, interval, layers)
    bounds = _Bounds(reason=flaw_of_interval) if flaw_of_interval else _bounds(y, w, clusters, spread, plan)
    return Estimate(
        estimate=spread.estimate,
        std_error=math.sqrt(spread.variance) if spread.variance else None,
        n=spread.n,
        n_clusters=spread.n_clusters,
        design_effect=None if bounds.low is None else _design_effect(y, w, spread),
        low=bounds.low,
        high=bounds.high,
        method=bounds.method,
        reason=bounds.reason,
        resamples=bounds.resamples,
    )


def standard_deviation(values: ArrayLike, *, weights: ArrayLike | None = None) -> Estimate:
    """Return the standard deviation of a sample, sqrt(Σ(y - mean)² / (n - 1)), without an interval.

    Parameters
    ----------
    values
        Float (n,), in any unit. n < 2, or an infinite value, gives None.
    weights
        Positive float (n,), or None. Unequal weights give an estimate of None.

    Examples
    --------
    >>> standard_deviation([1.0, 2.0, 3.0]).estimate
    1.0
    """
    y = np.asarray(values, dtype=np.float64)
    flaw = unaddable(y) or (
        NO_VALUES if y.size == 0 else "one value has no standard deviation" if y.size == 1 else None
    )
    if flaw is None and weights is not None and not equal_weights(np.asarray(weights, dtype=np.float64)):
        flaw = "a standard deviation is of values that weigh the same"
    if flaw is not None:
        return Estimate(n=y.size, reason=flaw)
    deviation = float(y.std(ddof=1))
    return Estimate(
        estimate=deviation,
        n=y.size,
        reason="no interval of a standard deviation: only the bootstrap has one" if deviation else "no variation",
    )


def _flaw(y: FloatArray, spread: Variation) -> str | None:
    """Return the reason why no interval exists, or None."""
    if spread.n == 0:
        return NO_VALUES
    if spread.n == 1:
        return "one value: no interval"
    if np.all(y == y[0]):
        return "no variation"
    if spread.variance is None:
        return ONE_CLUSTER
    return None if spread.variance > 0 else "no variation between clusters"


def _bounds(y: FloatArray, w: FloatArray, clusters: Clusters, spread: Variation, plan: _Plan) -> _Bounds:
    center = spread.estimate or 0.0
    if len(clusters) > 1:
        return _crossed_bounds(w * (y - center), w, clusters, spread, plan)
    # Clusters of one value each are independent values (of rollouts or of goals), and the text calls them "values".
    prefix, unit = ("", "values") if spread.singletons else ("cluster ", "clusters")
    if plan.interval == "t":
        return _t_bounds(spread, plan.level, f"{prefix}t")
    if plan.interval == "normal":
        return _normal_bounds(spread, plan.level, f"{prefix}normal, standard deviation of the population")
    effective_clusters = 1 + (spread.df or 0.0)
    if plan.interval == "auto" and effective_clusters < FEWEST_CLUSTERS:
        clusters_text = f"{spread.n_clusters:,} {unit}"
        if effective_clusters < spread.n_clusters:
            clusters_text += f" of unequal weight, worth {effective_clusters:.1f} equal ones,"
        return _t_bounds(spread, plan.level, f"{prefix}t", f"{clusters_text} are too few for a bootstrap")
    group = groupings(clusters, spread.n)[0]
    # Sums of deviations rather than of values: a large offset would cost digits.
    residuals = y - center
    residuals *= w
    deviations, masses = group.sums(residuals), group.sums(w)
    if plan.strata is not None:
        bounds = _stratified_bounds(deviations, masses, plan.strata, plan)
    else:
        level = expanded(plan.level, effective_clusters) if plan.interval == "auto" else plan.level
        bounds = _bootstrap_bounds(deviations, masses, plan._replace(level=level))
    if plan.interval == "auto" and bounds.low is None:
        return _t_bounds(spread, plan.level, f"{prefix}t", f"BCa is undefined: {bounds.reason}")
    return _shifted(bounds, center, f"expanded {prefix}" if plan.interval == "auto" else prefix)


def _crossed_bounds(
    deviations: FloatArray, w: FloatArray, clusters: Clusters, spread: Variation, plan: _Plan
) -> _Bounds:
    """Return t with the two-way variance, or the percentile interval of the pigeonhole bootstrap, whose variance is not less."""
    if plan.interval in {"auto", "t"}:
        return _t_bounds(spread, plan.level, "two-way t")
    if plan.interval != "percentile":
        kind = "interval" if plan.interval == "normal" else "bootstrap"
        return _Bounds(reason=f"no {plan.interval} {kind} over two crossed ways: ask for percentile or t")
    replicates = crossed_replicates(deviations, w, clusters, rng=plan.generator(), resamples=plan.resamples)
    low, high = percentile_interval(replicates, plan.level)
    if low is None:
        return _Bounds(reason=null_flaw(replicates) or "the bootstrap interval has no width", resamples=plan.resamples)
    return _shifted(
        _Bounds(low, high, "percentile bootstrap; both ways drawn", None, plan.resamples),
        spread.estimate or 0.0,
        "two-way ",
    )


def _stratified_bounds(deviations: FloatArray, masses: FloatArray, strata: IntArray, plan: _Plan) -> _Bounds:
    """Return the percentile or basic interval with clusters drawn within strata; a single cluster in a stratum never varies."""
    if plan.interval not in {"percentile", "basic"}:
        return _Bounds(reason=f"no {plan.interval} interval over strata: ask for percentile or basic")
    columns = np.stack([deviations, masses], axis=1)
    total, drawn_mass = count_sums(columns, rng=plan.generator(), resamples=plan.resamples, strata=strata).T
    replicates = np.divide(
        total, drawn_mass, out=np.full(plan.resamples, np.nan), where=drawn_mass > 0.5 * masses.min()
    )
    low, high = percentile_interval(replicates, plan.level)
    if low is None or high is None:
        return _Bounds(reason=null_flaw(replicates) or "the bootstrap interval has no width", resamples=plan.resamples)
    lone_strata = int((np.unique(strata, return_counts=True)[1] == 1).sum())
    note = f"{lone_strata} strata of one cluster contribute no variance" if lone_strata else None
    ends = (-high, -low) if plan.interval == "basic" else (low, high)
    return _Bounds(*ends, f"{plan.interval} bootstrap within strata", note, plan.resamples)


def _t_bounds(spread: Variation, level: float, method: str, reason: str | None = None) -> _Bounds:
    return _symmetric(spread, t_quantile(level, spread.df) * math.sqrt(spread.variance or 0.0), method, reason)


def _normal_bounds(spread: Variation, level: float, method: str) -> _Bounds:
    of_the_population = (spread.variance or 0.0) * (spread.n_clusters - 1) / spread.n_clusters
    return _symmetric(spread, round(t_quantile(level, None), 3) * math.sqrt(of_the_population), method, None)


def _symmetric(spread: Variation, half: float, method: str, reason: str | None) -> _Bounds:
    center = spread.estimate or 0.0
    if not center - half < center + half:
        return _Bounds(reason="no variation beyond rounding")
    return _Bounds(low=center - half, high=center + half, method=method, reason=reason)


def _bootstrap_bounds(deviations: FloatArray, masses: FloatArray, plan: _Plan) -> _Bounds:
    """Return the bootstrap interval around 0 from the clusters' Σw(y - R) and Σw."""
    kind = plan.interval if plan.interval in {"percentile", "basic", "studentized"} else "bca"
    name = f"{NAMES[kind]} bootstrap"
    if kind == "studentized":
        low, high, flaw = studentized_interval(
            deviations, masses, level=plan.level, rng=plan.generator(), resamples=plan.resamples
        )
        return _Bounds(low, high, None if flaw else name, flaw, plan.resamples)
    same = equal_weights(masses)
    ends = closed_form(deviations, plan.level, kind) if same else None
    if ends is not None:
        return _Bounds(ends[0] / masses[0], ends[1] / masses[0], f"{name}; closed form")
    replicates = ratio_replicates(deviations, masses, rng=plan.generator(), resamples=plan.resamples)[:, 0]
    a = None
    if kind == "bca":
        influences = deviations
        if not same:
            influences = jackknife_ratio(deviations, masses)
            np.negative(influences, out=influences)
        a = acceleration(influences)
        low, high = bca_interval(replicates, 0.0, a, plan.level)
    else:
        low, high = percentile_interval(replicates, plan.level)
    if low is None or high is None:
        flaw = bca_flaw(replicates, 0.0, a, plan.level) if kind == "bca" else null_flaw(replicates)
        return _Bounds(reason=flaw or "the bootstrap interval has no width", resamples=plan.resamples)
    ends = (-high, -low) if kind == "basic" else (low, high)
    return _Bounds(*ends, name, None, plan.resamples)


def _shifted(bounds: _Bounds, center: float, prefix: str) -> _Bounds:
    """Shift an interval around 0 to the estimate and prefix its method with the unit."""
    if bounds.low is None or bounds.high is None:
        return bounds
    low, high = center + bounds.low, center + bounds.high
    if not low < high:
        return _Bounds(reason="no variation beyond rounding")
    return bounds._replace(low=low, high=high, method=f"{prefix}{bounds.method}")


def _design_effect(y: FloatArray, w: FloatArray, spread: Variation) -> float | None:
    """Return the variance divided by s²/n, the variance for as many independent rollouts of equal weight."""
    if spread.variance is None or spread.estimate is None:
        return None
    squares = y - spread.estimate
    np.square(squares, out=squares)
    squares *= w
    independent = squares.sum() / w.sum() / (spread.n - 1)
    return float(spread.variance / independent)
