"""Outlier-resistant aggregates over goals: interquartile mean, optimality gap, median of goal means."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from rollwise.stats.estimate import BoolArray, FloatArray, IntArray
from rollwise.stats.replicates import counts

Aggregate = Literal["iqm", "optimality_gap", "mean", "median"]
DrawnUnit = Literal["goals", "attempts"]


def interquartile_mean(values: FloatArray) -> float:
    """Return the mean of the middle half: ⌊n/4⌋ values are dropped at each end.

    Use it for rates or graded scores. For 0/1 outcomes it is meaningless (0 at a rate of .2, 1 at .8).

    Parameters
    ----------
    values
        Float (n,), at least one.

    References
    ----------
    Agarwal et al. (2021), arXiv:2108.13264.

    Examples
    --------
    >>> interquartile_mean(np.array([100.0, 1.0, 2.0, 3.0]))
    2.5
    """
    cut = values.size // 4
    return float(np.sort(values)[cut : values.size - cut].mean())


def optimality_gap(values: FloatArray, target: float = 1.0) -> float:
    """Return the mean shortfall from a target; values beyond the target count as 0.

    Examples
    --------
    >>> optimality_gap(np.array([0.5, 2.0]))
    0.25
    """
    return float(np.maximum(target - values, 0.0).mean())


@np.errstate(over="ignore", invalid="ignore")  # the caller says why sums of huge values are undefined
def aggregate(values: FloatArray, goals: IntArray, which: Aggregate, *, target: float = 1.0) -> float:
    """Compute one aggregate: interquartile mean and gap over all values, mean and median over the goals' means.

    Examples
    --------
    >>> aggregate(np.array([0.0, 2.0, 5.0]), np.array([0, 0, 1]), "median")
    3.0
    """
    if which == "iqm":
        return interquartile_mean(values)
    if which == "optimality_gap":
        return optimality_gap(values, target)
    means = np.bincount(goals, weights=values) / np.bincount(goals)
    return float(np.median(means) if which == "median" else means.mean())


@np.errstate(over="ignore", invalid="ignore")  # infinite and huge values give null, without a warning
def aggregate_replicates(
    values: FloatArray,
    goals: IntArray,
    which: Sequence[Aggregate],
    *,
    unit: DrawnUnit,
    rates: bool,
    rng: np.random.Generator,
    resamples: int,
    target: float = 1.0,
) -> FloatArray:
    """Draw bootstrap replicates of several aggregates from the same draws: float (K, resamples).

    Parameters
    ----------
    values
        Float (n,), one per rollout.
    goals
        Integer (n,), 0..G-1 without gaps.
    which
        The K aggregates.
    unit
        ``"goals"`` draws whole goals, to generalize to similar goals. ``"attempts"`` draws rollouts within each goal, for
        statements about exactly these goals (rliable's stratified bootstrap).
    rates
        If True, interquartile mean and gap are over the goals' means rather than over all values.
    rng, resamples
        Random generator and number of replicates. Memory is that of one block.
    target
        Target of the optimality gap.

    References
    ----------
    Agarwal et al. (2021), arXiv:2108.13264.

    Examples
    --------
    >>> goals = np.repeat(np.arange(12), 3)
    >>> replicates = aggregate_replicates(
    ...     goals / 11, goals, ["iqm"], unit="attempts", rates=False, rng=np.random.default_rng(0), resamples=500
    ... )
    >>> float(replicates.std())  # goals without variance of their own never change
    0.0
    """
    order = np.argsort(goals, kind="stable")
    y, goal = values[order], goals[order]
    starts = np.flatnonzero(np.diff(goal, prepend=-1))
    sizes = np.diff(starts, append=y.size)
    means = np.add.reduceat(y, starts) / sizes
    rows = max(1, (1 << 18) // y.size)
    replicates = np.empty((len(which), resamples))
    for start in range(0, resamples, rows):
        block = slice(start, min(start + rows, resamples))
        n_replicates = block.stop - start
        if unit == "goals":
            weights = counts(rng, n_replicates, sizes.size)
        else:
            weights = np.concatenate([counts(rng, n_replicates, int(size)) for size in sizes], axis=1)
        for row, statistic in zip(replicates, which, strict=True):
            over_goals = rates or statistic in {"mean", "median"}
            if over_goals and unit == "attempts":
                goal_means = np.add.reduceat(weights * y, starts, axis=1) / sizes
                row[block] = _rows(goal_means, statistic, target)
            elif over_goals:
                row[block] = _weighted(means, np.arange(sizes.size), weights, statistic, target)
            else:
                row[block] = _weighted(y, goal if unit == "goals" else np.arange(y.size), weights, statistic, target)
    return replicates


def _weighted(values: FloatArray, unit: IntArray, weights: FloatArray, which: Aggregate, target: float) -> FloatArray:
    """Return the aggregate of the values (n,), weighted by the counts of their units (n,), for each row of counts (B, units)."""
    total = weights @ np.bincount(unit)
    if which in {"mean", "optimality_gap"}:
        parts = values if which == "mean" else np.maximum(target - values, 0.0)
        return np.asarray(weights @ np.bincount(unit, weights=parts) / total)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    # One column per replicate: NumPy accumulates across rows three times as fast as within them.
    reached = np.ascontiguousarray(weights.T)[unit[order]]
    np.cumsum(reached, axis=0, out=reached)
    if which == "median":
        low = np.argmax(reached >= total / 2, axis=0)
        high = np.argmax(reached > total / 2, axis=0)
        return np.asarray((ordered[low] + ordered[high]) / 2)
    cut = np.floor(total / 4)
    middle_mass = total - 2 * cut
    np.clip(reached, cut, total - cut, out=reached)
    reached -= cut
    # The mean is summed as steps outward from the middle value, each times the kept mass beyond it. Dropped values then
    # contribute exactly 0, even infinite ones.
    middle = ordered.size // 2
    distance = reached[:-1]
    np.subtract(middle_mass, distance[middle:], out=distance[middle:])
    with np.errstate(invalid="ignore"):
        steps = np.diff(ordered)
        if not np.isfinite(steps).all():
            steps[~distance.any(axis=1)] = 0.0  # infinite values that no replicate keeps
        return np.asarray(
            ordered[middle] + (steps[middle:] @ distance[middle:] - steps[:middle] @ distance[:middle]) / middle_mass
        )


def _rows(values: FloatArray, which: Aggregate, target: float) -> FloatArray:
    """Return the aggregate of each row of values (B, G)."""
    if which == "mean":
        return np.asarray(values.mean(axis=1))
    if which == "median":
        return np.asarray(np.median(values, axis=1))
    if which == "optimality_gap":
        return np.asarray(np.maximum(target - values, 0.0).mean(axis=1))
    cut = values.shape[1] // 4
    return np.asarray(np.sort(values, axis=1)[:, cut : values.shape[1] - cut].mean(axis=1))


def greedy_order(broken: BoolArray) -> list[int]:
    """Order all columns by greedy cover: each next column adds the most rows not covered yet; ties go to the first column.

    Greedy cover reaches at least 1 - 1/e of the rows that the best set of as many columns reaches.

    Parameters
    ----------
    broken
        Boolean (goals, attacks).

    References
    ----------
    Nemhauser, Wolsey & Fisher (1978), doi:10.1007/BF01588971.

    Examples
    --------
    >>> greedy_order(np.array([[True, False], [False, True], [False, True]]))
    [1, 0]
    """
    uncovered, chosen = np.ones(broken.shape[0], dtype=np.bool_), []
    remaining = list(range(broken.shape[1]))
    while remaining:
        gain = [int((broken[:, column] & uncovered).sum()) for column in remaining]
        best = remaining.pop(int(np.argmax(gain)))
        chosen.append(best)
        uncovered &= ~broken[:, best]
    return chosen
