"""Bootstrap intervals of means over clusters: BCa, percentile, basic, studentized, within strata, and of two crossed ways.

Groups whose generators are in the same state share their draws: the replicates of all of them are one matrix product.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from rollwise.stats.bootstrap import (
    NO_WIDTH,
    accelerations,
    bca_intervals,
    closed_form,
    expanded,
    null_flaw,
    percentile_interval,
    percentile_intervals,
)
from rollwise.stats.clusters import lone_strata
from rollwise.stats.estimate import Clusters, Estimate, Estimates, FloatArray, IntArray, generator_of, texts
from rollwise.stats.replicates import count_sums, crossed_replicates, jackknife_ratio, ratio_replicates
from rollwise.stats.studentized import studentized_interval
from rollwise.stats.units import Groups, units_of

ReplicateInterval = Literal["bca", "percentile", "basic"]
Interval = Literal["auto", "t", "normal", "bca", "percentile", "basic", "studentized"]
COLUMNS_AT_A_TIME = 64
"""Means whose replicates are drawn and sorted together: 5 MB for 10,000 replicates."""

NAMES = {"bca": "BCa", "percentile": "percentile", "basic": "basic", "studentized": "studentized"}
"""Display names of the bootstrap intervals."""


class Plan(NamedTuple):
    """Options for computing the intervals; `rng` returns the generator of a group by its number."""

    level: float
    rng: Callable[[int], np.random.Generator] | None
    resamples: int
    interval: Interval
    strata: IntArray | None

    def generator(self, group: int) -> np.random.Generator:
        """Return the generator of a group."""
        return generator_of(None if self.rng is None else self.rng(group))


def drawn_bounds(
    chosen: IntArray, sums: FloatArray, masses: FloatArray, clusters: Groups, levels: FloatArray, plan: Plan
) -> Estimates:
    """Return intervals around 0 of the chosen groups, at a level each, from their clusters' Σw(y - R) and Σw (U,)."""
    if plan.strata is not None:
        return _one_group(_stratified, chosen, sums, masses, clusters, plan)
    if plan.interval == "studentized":
        return _one_group(_studentized, chosen, sums, masses, clusters, plan)
    return _bootstrap_bounds(chosen, sums, masses, clusters, levels, plan)


def crossed_bounds(
    chosen: IntArray,
    deviations: FloatArray,
    w: FloatArray,
    clusters: Clusters,
    centers: FloatArray,
    groups: Groups,
    plan: Plan,
) -> Estimates:
    """Return percentile intervals of the pigeonhole bootstrap of the chosen groups, from w(y - R) and w of each row."""
    starts, result = groups.starts, []
    for group in chosen.tolist():
        rows = slice(*starts[group : group + 2])
        replicates = crossed_replicates(
            deviations[rows],
            w[rows],
            tuple(way[rows] for way in clusters),
            rng=plan.generator(group),
            resamples=plan.resamples,
        )
        low, high = percentile_interval(replicates, plan.level)
        if low is None or high is None:
            flaw = null_flaw(replicates) or NO_WIDTH
            result.append(Estimate(reason=flaw, resamples=plan.resamples))
            continue
        center = float(centers[group])
        result.append(
            Estimate(
                low=center + low,
                high=center + high,
                method="two-way percentile bootstrap; both ways drawn",
                resamples=plan.resamples,
            ),
        )
    return Estimates.of(result)


def _one_group(
    function: Callable[[FloatArray, FloatArray, IntArray | None, np.random.Generator, Plan], Estimate],
    chosen: IntArray,
    sums: FloatArray,
    masses: FloatArray,
    clusters: Groups,
    plan: Plan,
) -> Estimates:
    """Return intervals around 0 of the chosen groups, one group after another."""
    starts, result = clusters.starts, []
    for group in chosen.tolist():
        part = slice(*starts[group : group + 2])
        strata = None if plan.strata is None else plan.strata[part]
        result.append(function(sums[part], masses[part], strata, plan.generator(group), plan))
    return Estimates.of(result)


def _stratified(
    deviations: FloatArray, masses: FloatArray, strata: IntArray | None, rng: np.random.Generator, plan: Plan
) -> Estimate:
    """Return the percentile or basic interval with clusters drawn within strata; a single cluster in a stratum never varies.

    The automatic one is the percentile interval at an `expanded` level.
    """
    if plan.interval not in {"auto", "percentile", "basic"}:
        return Estimate(reason=f"no {plan.interval} interval over strata: ask for percentile or basic")
    columns = np.stack([deviations, masses], axis=1)
    # A sum and its mass come from the same draw of clusters: their ratio is the replicate of the mean.
    total, drawn_mass = count_sums(columns, rng=rng, resamples=plan.resamples, strata=strata).T
    replicates = np.divide(
        total, drawn_mass, out=np.full(plan.resamples, np.nan), where=drawn_mass > 0.5 * masses.min()
    )
    number = 1 if strata is None else np.unique(strata).size
    # A bootstrap over few clusters is too narrow by √(1 - 1/G) and by the quantiles of z instead of t: the level is raised for
    # both.
    level = expanded(plan.level, masses.size, number) if plan.interval == "auto" else plan.level
    low, high = percentile_interval(replicates, level)
    if low is None or high is None:
        return Estimate(reason=null_flaw(replicates) or NO_WIDTH, resamples=plan.resamples)
    note = None if strata is None else lone_strata(units_of(strata, Groups.single(strata.size)))[0]
    # The basic interval mirrors the replicates around the estimate, which is 0 here.
    low, high = (-high, -low) if plan.interval == "basic" else (low, high)
    name = "expanded percentile" if plan.interval == "auto" else plan.interval
    method = f"{name} bootstrap within strata"
    return Estimate(low=low, high=high, method=method, reason=note, resamples=plan.resamples)


def _studentized(
    deviations: FloatArray, masses: FloatArray, _: IntArray | None, rng: np.random.Generator, plan: Plan
) -> Estimate:
    low, high, flaw = studentized_interval(deviations, masses, level=plan.level, rng=rng, resamples=plan.resamples)
    method = None if flaw else f"{NAMES['studentized']} bootstrap"
    return Estimate(low=low, high=high, method=method, reason=flaw, resamples=plan.resamples)


def _bootstrap_bounds(
    chosen: IntArray, sums: FloatArray, masses: FloatArray, clusters: Groups, levels: FloatArray, plan: Plan
) -> Estimates:
    """Return bootstrap intervals around 0 of the chosen groups, from their clusters' Σw(y - R) and Σw."""
    kind: ReplicateInterval = plan.interval if plan.interval in ("percentile", "basic") else "bca"
    name = f"{NAMES[kind]} bootstrap"
    result = Estimates.empty(chosen.size)
    starts, same = clusters.starts, clusters.are_equal(masses)
    batches: dict[tuple[str, int, bool], list[int]] = {}
    for place, group in enumerate(chosen.tolist()):
        part = slice(*starts[group : group + 2])
        # For many clusters of equal weight, moments give the quantiles more exactly than draws would, and at once.
        ends = closed_form(sums[part], levels[place], kind) if same[group] else None
        if ends is not None:
            low, high = (float(end / masses[part][0]) for end in ends)
            result.put(place, Estimate(low=low, high=high, method=f"{name}; closed form"))
            continue
        # Groups with the same generator and as many clusters get the same draws, so that one multiplication serves all of them.
        # Their result is the same as alone.
        key = (str(plan.generator(group).bit_generator.state), part.stop - part.start, bool(same[group]))
        batches.setdefault(key, []).append(place)
    for (_, count, _), places in batches.items():
        for start in range(0, len(places), COLUMNS_AT_A_TIME):
            batch = np.array(places[start : start + COLUMNS_AT_A_TIME])
            of = chosen[batch]
            rows = starts[of] + np.arange(count)[:, None]
            result.put(batch, _batch_bounds(sums[rows], masses[rows], levels[batch], kind, plan, int(of[0])))
    return result


def _batch_bounds(
    columns: FloatArray, masses: FloatArray, levels: FloatArray, kind: ReplicateInterval, plan: Plan, group: int
) -> Estimates:
    """Return bootstrap intervals around 0 of M groups with the same draws, from Σw(y - R) and Σw of each cluster, (G, M)."""
    replicates = ratio_replicates(columns, masses, rng=plan.generator(group), resamples=plan.resamples).T
    count, number = columns.shape
    if kind == "bca":
        # Of clusters of equal weight, the values themselves are the influences.
        same = (masses == masses[0]).all(axis=0)
        influences = np.where(same, columns, -jackknife_ratio(columns, masses))
        clusters = Groups(np.repeat(np.arange(number), count), number)
        ends, flaws = bca_intervals(replicates, accelerations(influences.T.ravel(), clusters), levels)
    else:
        ends, flaws = percentile_intervals(replicates, levels)
    bounds = Estimates.empty(number, reason=flaws, resamples=np.full(number, plan.resamples))
    bounds.low, bounds.high = (-ends.high, -ends.low) if kind == "basic" else (ends.low, ends.high)
    bounds.method = texts(np.isnan(bounds.low), None, f"{NAMES[kind]} bootstrap")
    return bounds
