"""Aggregates over goals that one runaway goal cannot move: interquartile mean, optimality gap, median of goal means."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from turnwise.stats.estimate import BoolArray, FloatArray, IntArray
from turnwise.stats.multinomial import counts

Aggregate = Literal["iqm", "optimality_gap", "mean", "median"]
Drawn = Literal["goals", "attempts"]


def interquartile_mean(values: FloatArray) -> float:
    """The mean of the middle half: ⌊n/4⌋ values are dropped at each end.

    Of 0/1 outcomes it is no estimate at all (0 at a rate of .2, 1 at .8): take it over rates or graded scores.

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
    """How far values fall short of a target on average, those beyond it counting as there.

    Examples
    --------
    >>> optimality_gap(np.array([0.5, 2.0]))
    0.25
    """
    return float(np.maximum(target - values, 0.0).mean())


def aggregate(values: FloatArray, goals: IntArray, which: Aggregate, *, target: float = 1.0) -> float:
    """One aggregate: iqm and gap over all values, mean and median over the goals' means.

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


def aggregate_replicates(
    values: FloatArray,
    goals: IntArray,
    which: Sequence[Aggregate],
    *,
    drawn: Drawn,
    rates: bool,
    rng: np.random.Generator,
    resamples: int,
    target: float = 1.0,
) -> FloatArray:
    """Bootstrap replicates of aggregates, all of the same draws: float (K, resamples).

    Parameters
    ----------
    values
        Float (n,), one per rollout.
    goals
        Integer (n,), 0..G-1 without gaps.
    which
        Which K aggregates.
    drawn
        ``"goals"``: whole goals with replacement, for goals like these. ``"attempts"``: rollouts within each goal, for these
        very goals (rliable's stratified bootstrap).
    rates
        Whether iqm and gap are over the goals' means rather than over all values.
    rng, resamples
        Generator and replicates. Memory is that of one block.
    target
        Of the optimality gap.

    References
    ----------
    Agarwal et al. (2021), arXiv:2108.13264.

    Examples
    --------
    >>> goals = np.repeat(np.arange(12), 3)
    >>> made = aggregate_replicates(
    ...     goals / 11, goals, ["iqm"], drawn="attempts", rates=False, rng=np.random.default_rng(0), resamples=500
    ... )
    >>> float(made.std())  # goals without spread of their own never move
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
        if drawn == "goals":
            weights = counts(rng, n_replicates, sizes.size)
        else:
            weights = np.concatenate([counts(rng, n_replicates, int(size)) for size in sizes], axis=1)
        for row, statistic in zip(replicates, which, strict=True):
            over_goals = rates or statistic in {"mean", "median"}
            if over_goals and drawn == "attempts":
                goal_means = np.add.reduceat(weights * y, starts, axis=1) / sizes
                row[block] = _rows(goal_means, statistic, target)
            elif over_goals:
                row[block] = _weighted(means, np.arange(sizes.size), weights, statistic, target)
            else:
                row[block] = _weighted(y, goal if drawn == "goals" else np.arange(y.size), weights, statistic, target)
    return replicates


def _weighted(values: FloatArray, unit: IntArray, weights: FloatArray, which: Aggregate, target: float) -> FloatArray:
    """The aggregate of the values (n,), each as often as its unit (n,) was drawn, for each row of counts (B, units)."""
    total = weights @ np.bincount(unit)
    if which in {"mean", "optimality_gap"}:
        parts = values if which == "mean" else np.maximum(target - values, 0.0)
        return np.asarray(weights @ np.bincount(unit, weights=parts) / total)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    # A column for each replicate: NumPy adds whole rows three times as fast as along them.
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
    # What is kept lies this far from the middle value: summed by steps outwards, so that what is dropped adds exactly nothing.
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
    """The aggregate of each row of values (B, G)."""
    if which == "mean":
        return np.asarray(values.mean(axis=1))
    if which == "median":
        return np.asarray(np.median(values, axis=1))
    if which == "optimality_gap":
        return np.asarray(np.maximum(target - values, 0.0).mean(axis=1))
    cut = values.shape[1] // 4
    return np.asarray(np.sort(values, axis=1)[:, cut : values.shape[1] - cut].mean(axis=1))


def greedy_order(broken: BoolArray) -> list[int]:
    """Columns in the order in which each adds the most rows that none before it has; ties by column. All columns.

    Greedy cover reaches at least 1 - 1/e of what the best set of as many columns reaches.

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
