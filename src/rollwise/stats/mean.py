"""Mean of a numeric column with a t or a bootstrap interval over clusters; standard deviation."""

from collections.abc import Callable
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from rollwise.errors import ArgumentError
from rollwise.stats.bootstrap import FEWEST_CLUSTERS, expanded_levels
from rollwise.stats.clusters import NO_VALUES, ONE_CLUSTER, Variations, ones_or, unaddables, variations
from rollwise.stats.estimate import (
    Clusters,
    Estimate,
    Estimates,
    FloatArray,
    IntArray,
    Randomness,
    TextArray,
    generator_of,
    texts,
    without_text,
)
from rollwise.stats.mean_bootstrap import Interval, Plan, crossed_bounds, drawn_bounds
from rollwise.stats.student import t_quantile, t_quantiles
from rollwise.stats.tails import reach_into_tails
from rollwise.stats.units import Groups

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
NO_VARIATION = "no variation"
"""Reason of a mean of equal values, which no sample of values shows an interval of."""


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
    bounded: bool = False,
) -> Estimate:
    """The (weighted) mean, with an interval over clusters.

    ``"auto"`` is the expanded BCa bootstrap over clusters: its level is raised so that the normal quantile equals that of t,
    because a bootstrap over few clusters is otherwise too narrow (Hesterberg). With fewer than 10 clusters, or if BCa is
    undefined, it is t with G-1 degrees of freedom, and `reason` says so; two crossed ways use t with `crossed_df`. Clusters
    of unequal weight count as a smaller number of equal clusters (`group_degrees_of_freedom`). From 1000 clusters of equal weight
    on, the interval is the `closed_form` of the bootstrap, without draws; `method` names the computation. Of one way: where no
    value is negative and fewer than 1000 clusters are skewed to the right, the upper end is at least that of t for the
    logarithm of the mean, at a higher level for a long tail, and `reason` says so (`rollwise.stats.tails`).

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
        stratum, which is correct if the sizes of the strata were fixed by design; ``"auto"`` is the percentile bootstrap at a
        level expanded for few clusters. None for one stratum.
    bounded
        True if values have a largest possible value, as probabilities do: they have no tail to reach into.

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
    y = np.asarray(values, dtype=np.float64)
    return means(
        y,
        clusters,
        Groups.single(y.size),
        weights=weights,
        level=level,
        rng=lambda _: generator_of(rng),
        resamples=resamples,
        interval=interval,
        strata=strata,
        bounded=bounded,
    ).at(0)


def means(
    values: FloatArray,
    clusters: Clusters,
    groups: Groups,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    rng: Callable[[int], np.random.Generator] | None = None,
    resamples: int = 10_000,
    interval: Interval = "auto",
    strata: ArrayLike | None = None,
    bounded: bool = False,
) -> Estimates:
    """Estimate the `mean` of each group: rows of one group after another, and clusters within each group.

    `rng` returns the generator of a group by its number. Groups whose generators are in the same state share their draws,
    and their replicates are one matrix product. `strata` has one entry for each cluster of each group.
    """
    if interval not in get_args(Interval):
        raise ArgumentError(f"interval is {interval!r}; it must be one of {', '.join(get_args(Interval))}")
    too_large = unaddables(values, groups)
    if any(too_large):  # infinite and huge values are left out of the sums, and their groups get no estimate
        values = np.where((~without_text(too_large))[groups.codes], 0.0, values)
    spread = variations(values, clusters, groups, weights=weights)
    w = ones_or(weights, values.size)
    deviations = (values - spread.estimate[groups.codes]) * w
    layers = None if strata is None else np.asarray(strata, dtype=np.int64)
    plan = Plan(level, rng, resamples, interval, layers)
    result = Estimates.empty(groups.count, reason=_flaws(values, spread, groups))
    _fill_bounds(result, deviations, w, spread, groups, plan, clusters)
    if interval == "auto" and strata is None and len(clusters) < 2 and not bounded:
        reach_into_tails(result, values, deviations, spread, groups, level)
    result.estimate, result.n, result.n_clusters = spread.estimate, spread.n, spread.n_clusters
    result.std_error = np.where(spread.variance > 0, np.sqrt(spread.variance), np.nan)
    # The variance of as many independent rollouts of equal weight is s²/n.
    with np.errstate(invalid="ignore", divide="ignore"):  # groups without rows or variation
        squares = groups.sums(np.square(values - spread.estimate[groups.codes]) * w)
        effect = spread.variance / (squares / groups.sums(w) / (spread.n - 1))
    result.design_effect = np.where(np.isnan(result.low), np.nan, effect)
    for group in np.flatnonzero(~without_text(too_large)):
        n, n_clusters = int(spread.n[group]), int(spread.n_clusters[group])
        result.put(int(group), Estimate(n=n, n_clusters=n_clusters, reason=too_large[group]))
    return result


def _flaws(values: FloatArray, spread: Variations, groups: Groups) -> TextArray:
    """Return the reason why a group has no interval, or None: text (T,)."""
    flaws = np.full(groups.count, None, dtype=object)
    # From the last reason to the first: each replaces those before it.
    flaws[~(spread.variance > 0)] = "no variation between clusters"
    flaws[np.isnan(spread.variance)] = ONE_CLUSTER
    flaws[groups.are_equal(values)] = NO_VARIATION
    flaws[spread.n == 1] = "one value: no interval"
    flaws[spread.n == 0] = NO_VALUES
    return flaws


def _fill_bounds(
    result: Estimates,
    deviations: FloatArray,
    w: FloatArray,
    spread: Variations,
    groups: Groups,
    plan: Plan,
    clusters: Clusters,
) -> None:
    """Set the interval of every group that has no flaw, with its method and reason."""
    sound = without_text(result.reason)
    if len(clusters) > 1:
        _fill_crossed(result, deviations, w, spread, groups, plan, clusters)
        return
    # Clusters of one value each are independent values (of rollouts or of goals), and the text calls them "values".
    prefix = texts(spread.singletons, "", "cluster ")
    if plan.interval in {"t", "normal"}:
        name = "t" if plan.interval == "t" else "normal, standard deviation of the population"
        half = _half_of_t(spread, plan.level) if plan.interval == "t" else _half_of_normal(spread, plan.level)
        _fill_symmetric(result, np.flatnonzero(sound), spread, half, prefix + name)
        return
    chosen = np.flatnonzero(sound)
    if plan.interval == "auto" and plan.strata is None:
        chosen = _fill_few(result, chosen, spread, plan.level, prefix)
    sums, masses = spread.ways[0].sums(deviations), spread.ways[0].sums(w)
    _fill_drawn(result, chosen, sums, masses, spread, plan, prefix)


def _half_of_t(spread: Variations, level: float) -> FloatArray:
    with np.errstate(invalid="ignore"):  # infinite quantile times no variance
        return t_quantiles(level, spread.df) * np.sqrt(spread.variance)


def _half_of_normal(spread: Variations, level: float) -> FloatArray:
    """Return half the width that NeMo Agent Toolkit computes: a population variance, and a quantile with three decimals."""
    of_the_population = spread.variance * (spread.n_clusters - 1) / np.maximum(spread.n_clusters, 1)
    return round(t_quantile(level, None), 3) * np.sqrt(of_the_population)


def _fill_symmetric(
    result: Estimates, chosen: IntArray, spread: Variations, half: FloatArray, method: TextArray
) -> None:
    """Set the interval estimate ± half of the chosen groups, if it has a width."""
    low, high = spread.estimate - half, spread.estimate + half
    wide = chosen[low[chosen] < high[chosen]]
    result.low[wide], result.high[wide], result.method[wide] = low[wide], high[wide], method[wide]
    result.reason[np.setdiff1d(chosen, wide)] = "no variation beyond rounding"


def _fill_few(result: Estimates, chosen: IntArray, spread: Variations, level: float, prefix: TextArray) -> IntArray:
    """Set t for the groups with too few clusters for a bootstrap, and return the others."""
    worth = 1 + spread.df  # number of clusters, or of as many equal ones
    few = chosen[worth[chosen] < FEWEST_CLUSTERS]
    for group in few.tolist():
        text = f"{spread.n_clusters[group]:,} {'values' if spread.singletons[group] else 'clusters'}"
        if worth[group] < spread.n_clusters[group]:
            text += f" of unequal weight, worth {worth[group]:.1f} equal ones,"
        result.reason[group] = f"{text} are too few for a bootstrap"
    _fill_symmetric(result, few, spread, _half_of_t(spread, level), prefix + "t")
    return chosen[worth[chosen] >= FEWEST_CLUSTERS]


def _fill_drawn(
    result: Estimates,
    chosen: IntArray,
    sums: FloatArray,
    masses: FloatArray,
    spread: Variations,
    plan: Plan,
    prefix: TextArray,
) -> None:
    """Set the bootstrap intervals of the chosen groups, from their clusters' Σw(y - R) and Σw."""
    clusters, automatic = spread.ways[0].groups, plan.interval == "auto" and plan.strata is None
    levels = np.full(chosen.size, plan.level)
    if automatic and chosen.size:
        levels = expanded_levels(plan.level, 1 + spread.df[chosen])
    bounds = drawn_bounds(chosen, sums, masses, clusters, levels, plan)
    defined = ~np.isnan(bounds.low)
    bounds.low += spread.estimate[chosen]
    bounds.high += spread.estimate[chosen]
    expansion = "expanded " if automatic else ""
    bounds.method[defined] = expansion + prefix[chosen][defined] + bounds.method[defined]
    narrow = defined & ~(bounds.low < bounds.high)
    bounds.put(np.flatnonzero(narrow), Estimate(reason="no variation beyond rounding"))
    if automatic and not defined.all():
        for place in np.flatnonzero(~defined).tolist():
            result.reason[chosen[place]] = f"BCa is undefined: {bounds.reason[place]}"
        _fill_symmetric(result, chosen[~defined], spread, _half_of_t(spread, plan.level), prefix + "t")
        chosen, bounds = chosen[defined], bounds.take(defined)
    result.put(chosen, bounds)


def _fill_crossed(
    result: Estimates,
    deviations: FloatArray,
    w: FloatArray,
    spread: Variations,
    groups: Groups,
    plan: Plan,
    clusters: Clusters,
) -> None:
    """Set t with the two-way variance, or the percentile interval of the pigeonhole bootstrap, whose variance is not less."""
    chosen = np.flatnonzero(without_text(result.reason))
    if plan.interval in {"auto", "t"}:
        method = np.full(groups.count, "two-way t", dtype=object)
        _fill_symmetric(result, chosen, spread, _half_of_t(spread, plan.level), method)
        return
    if plan.interval != "percentile":
        kind = "interval" if plan.interval == "normal" else "bootstrap"
        result.reason[chosen] = f"no {plan.interval} {kind} over two crossed ways: ask for percentile or t"
        return
    result.put(chosen, crossed_bounds(chosen, deviations, w, clusters, spread.estimate, groups, plan))
