"""Life table for event times at positions 0, 1, ..., T, and each cluster's influence on the share with the event."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rollwise.errors import ArgumentError
from rollwise.stats.clusters import Grouping, groupings, ones_or, small_sample_factor
from rollwise.stats.design_effect import ROUNDING, relations
from rollwise.stats.estimate import BoolArray, FloatArray, IntArray

CENSORED, EVENT, COMPETING = 0, 1, 2
"""Causes: the ways in which follow-up can end."""

Number = TypeVar("Number", np.int64, np.float64)

CELLS_AT_A_TIME = 1 << 20
"""Most cluster x position cells in memory at a time."""

EVERY_POSITION_TO = 1000
"""Up to here, every position is in a life table; after it, only those at which something changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Follow-up of rollouts: last position and cause of each, with the life table of all.

    Attributes
    ----------
    at
        Integer (T + 1,): the positions, from 0. They are 0, 1, ... up to 1000; after it, only those at which something changes, so
        that one long rollout costs no more than a short one. All arrays below have one value for each.
    duration, cause, weights
        Integer, integer and float (n,): the index in `at` of the last position followed (T + 1 if beyond the horizon), the cause,
        the weight.
    at_risk, events, competing, censored
        Integer (T + 1,): rollouts at risk at that position, and how follow-up ended there. At position 0
        all rollouts are at risk and none ends.
    mass
        Float (T + 1,): weight at risk.
    event_hazard, ending_hazard
        Float (T + 1,): weighted share of the rollouts at risk with the event (h₁), and with the event or a competing ending
        (h); 0 if no rollout is at risk.
    survival
        Float (T + 1,): S(t) = Π (1 - h), the share without either ending so far.
    incidence
        Float (T + 1,): F(t) = Σ S(s-)·h₁(s), the share with the event; valid only where `is_defined`.
    """

    at: IntArray
    duration: IntArray
    cause: IntArray
    weights: FloatArray
    at_risk: IntArray
    events: IntArray
    competing: IntArray
    censored: IntArray
    mass: FloatArray
    event_hazard: FloatArray
    ending_hazard: FloatArray
    survival: FloatArray
    incidence: FloatArray

    @property
    def horizon(self) -> int:
        """The index T of the last position."""
        return self.at.size - 1

    @property
    def is_defined(self) -> BoolArray:
        """Positions with a defined share, Boolean (T + 1,): a rollout is at risk there, or all rollouts ended before."""
        return np.asarray((self.at_risk > 0) | (self.survival == 0))

    @property
    def survival_before(self) -> FloatArray:
        """Share without any ending before each position, S(t-): float (T + 1,)."""
        return np.concatenate([[1.0], self.survival[:-1]])

    def area(self, values: FloatArray, last: int) -> FloatArray:
        """Sum values by position over all positions below `last`, along the last axis: float (...,).

        A value holds from its position to the next one, and the last value for one position.
        """
        widths = np.diff(np.minimum(np.append(self.at, self.at[-1] + 1), last))
        below = widths > 0
        return np.asarray((values[..., below] * widths[below]).sum(axis=-1))


def positions(duration: ArrayLike, horizon: int | None = None) -> IntArray:
    """Return the positions of a life table: 0, 1, ... up to 1000, then each last position of a rollout and the one after it.

    At the position after, fewer rollouts are at risk; nothing changes before the next last position.

    Examples
    --------
    >>> positions([2, 3]).tolist(), positions([2, 5000, 7000])[1000:].tolist()
    ([0, 1, 2, 3], [1000, 5000, 5001, 7000])
    """
    ends = np.asarray(duration, dtype=np.int64)
    last = int(ends.max(initial=0)) if horizon is None else horizon
    every = np.arange(min(last, EVERY_POSITION_TO) + 1)
    if last <= EVERY_POSITION_TO:
        return every
    changes = ends[(ends > EVERY_POSITION_TO) & (ends < last)]
    return np.unique(np.concatenate([every, changes, changes + 1, [last]]))


def watch(
    duration: ArrayLike,
    cause: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    horizon: int | None = None,
    at: IntArray | None = None,
) -> Watch:
    """Build the life table of rollouts up to a horizon.

    Parameters
    ----------
    duration
        Integer (n,), at least 1: the last position followed.
    cause
        Integer (n,): 0 censored, 1 the event, 2 a competing ending. An event counts before a censoring at its position.
    weights
        Positive float (n,), or None for ones.
    horizon
        Last position; None for the longest duration (0 without rollouts).
    at
        Positions, where several life tables must have the same ones; None for `positions(duration, horizon)`.

    References
    ----------
    Kaplan & Meier (1958), doi:10.1080/01621459.1958.10501452; Aalen & Johansen (1978), Scand. J. Statist. 5:141-150.

    Examples
    --------
    >>> watch([1, 2, 2, 3], [1, 0, 1, 2]).incidence.tolist()
    [0.0, 0.25, 0.5, 0.5]
    """
    ends, ending = np.asarray(duration, dtype=np.int64), np.asarray(cause, dtype=np.int64)
    w = ones_or(weights, ends.size)
    if ends.size and ends.min() < 1:
        raise ArgumentError(f"duration contains {ends.min()}; positions are counted from 1")
    if ends.size and not CENSORED <= ending.min() <= ending.max() <= COMPETING:
        raise ArgumentError("cause must be 0 (censored), 1 (the event) or 2 (a competing ending)")
    at = positions(ends, horizon) if at is None else at
    last = at.size - 1
    ending = np.where(ends > at[-1], CENSORED, ending)
    ends = np.searchsorted(at, ends)
    cells = ending * (last + 2) + ends
    count = np.bincount(cells, minlength=3 * (last + 2)).reshape(3, last + 2)
    weight = np.bincount(cells, weights=w, minlength=3 * (last + 2)).reshape(3, last + 2)
    at_risk, mass = _from_here_on(count.sum(axis=0))[:-1], _from_here_on(weight.sum(axis=0))[:-1]
    censored, events, competing = count[:, :-1]
    event_hazard = np.divide(weight[EVENT, :-1], mass, out=np.zeros(last + 1), where=mass > 0)
    ending_hazard = event_hazard + np.divide(weight[COMPETING, :-1], mass, out=np.zeros(last + 1), where=mass > 0)
    # If all rollouts at risk end here, the hazard is exactly 1; the sum of weights would leave a rounding error.
    ending_hazard[(at_risk > 0) & (events + competing == at_risk)] = 1.0
    survival = np.cumprod(1 - ending_hazard)
    before = np.concatenate([[1.0], survival[:-1]])
    only_event = np.cumsum(competing) == 0
    return Watch(
        at=at,
        duration=ends,
        cause=ending,
        weights=w,
        at_risk=at_risk,
        events=events,
        competing=competing,
        censored=censored,
        mass=mass,
        event_hazard=event_hazard,
        ending_hazard=ending_hazard,
        survival=survival,
        incidence=np.where(only_event, 1 - survival, np.cumsum(before * event_hazard)),
    )


def influences(life_table: Watch, unit: Grouping) -> Iterator[FloatArray]:
    """Yield each cluster's influence on the share with the event, in blocks of whole clusters: float (clusters, T + 1).

    Per unit of weight, rollout i changes F(t) by the sum over s <= t of

        S(s-)·(1{event at s} - 1{at risk}·h₁(s)) / Y(s) - (F(t) - F(s))·(1{ended at s} - 1{at risk}·h(s)) / (Y(s) - d(s)),

    where the second term is 0 if all rollouts at risk end there (Y = d). A cluster changes F(t) by the weighted sum over its
    rollouts. Without competing endings, the squares of singleton clusters sum to Greenwood's variance exactly.

    References
    ----------
    Williams (1995), doi:10.1007/BF00985768; Ying & Wei (1994), doi:10.1006/jmva.1994.1031.

    Examples
    --------
    >>> life_table = watch([1, 2, 2, 2], [1, 0, 0, 0])
    >>> (block,) = influences(life_table, Grouping(np.arange(4), 4))
    >>> float(np.square(block[:, 2]).sum())  # p(1-p)/n = .25 * .75 / 4
    0.046875
    """
    width = life_table.horizon + 2
    step = max(1, CELLS_AT_A_TIME // width)
    order = np.argsort(unit.codes, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(unit.codes, minlength=unit.count))])
    for first in range(0, unit.count, step):
        count = min(step, unit.count - first)
        rows = order[edges[first] : edges[first + count]]
        yield _block(life_table, rows, unit.codes[rows] - first, count)


def _block(life_table: Watch, rows: IntArray, codes: IntArray, count: int) -> FloatArray:
    width = life_table.horizon + 2
    cells = codes * width + life_table.duration[rows]
    w, cause = life_table.weights[rows], life_table.cause[rows]

    def ended(chosen: BoolArray) -> FloatArray:
        sums = np.bincount(cells[chosen], weights=w[chosen], minlength=count * width).astype(np.float64, copy=False)
        return sums.reshape(count, width)

    events, endings = ended(cause == EVENT)[:, :-1], ended(cause != CENSORED)[:, :-1]
    at_risk = _from_here_on(ended(np.ones(rows.size, dtype=np.bool_)))[:, :-1]
    mass_after = life_table.mass * (1 - life_table.ending_hazard)
    per_event = np.divide(
        life_table.survival_before, life_table.mass, out=np.zeros(width - 1), where=life_table.mass > 0
    )
    per_ending = np.divide(1.0, mass_after, out=np.zeros(width - 1), where=mass_after > 0)
    # The term with F(t) - F(s) is split into F(t)·Σx - ΣF(s)·x, two running sums instead of a sum for each pair (s, t).
    direct = np.cumsum((events - at_risk * life_table.event_hazard) * per_event, axis=1)
    ending = (endings - at_risk * life_table.ending_hazard) * per_ending
    return direct - life_table.incidence * np.cumsum(ending, axis=1) + np.cumsum(life_table.incidence * ending, axis=1)


def _from_here_on(ended: NDArray[Number]) -> NDArray[Number]:
    """Sum over each position and all later ones, along the last axis."""
    return np.cumsum(ended[..., ::-1], axis=-1)[..., ::-1]


def incidence_variances(life_table: Watch, units: tuple[Grouping, ...]) -> list[FloatArray]:
    """Return the variance of the share at each position over each grouping, G/(G-1)·Σ_g IF_g²: float (T + 1,) each.

    Every grouping has at least two units; `crossed` combines the variances of two crossed ways.
    """
    return [_squares(unit, influences(life_table, unit)) for unit in units]


def cluster_moments(life_table: Watch, way: Grouping) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return average, variance and `relations` to weights of the clusters' own shares with the event: float (T + 1,) each.

    Every cluster counts the same. Its own share is F(t) + IF_g(t)·W/W_g; without censoring it is the share among its rollouts.
    """
    masses, width = way.sums(life_table.weights), life_table.incidence.size
    unequal = masses - masses.mean()
    unequal[np.abs(unequal) < ROUNDING * masses.mean()] = 0.0
    total, squares, start = np.zeros(width), np.zeros(width), 0
    related = np.zeros(
        (3, width)
    )  # Σd·p, Σd²·p and Σd²·p² for a cluster's share p and deviation d from the average weight
    for block in influences(life_table, way):
        deviations = block * (masses.sum() / masses[start : start + len(block), None])
        total, squares = total + deviations.sum(axis=0), squares + np.square(deviations).sum(axis=0)
        part = unequal[start : start + len(block)]
        related += part @ deviations, part**2 @ deviations, part**2 @ np.square(deviations)
        start += len(block)
    average = total / way.count
    between = np.maximum(squares - total * average, 0.0) / (way.count - 1)
    spread = related[2] - 2 * average * related[1] + average**2 * (unequal @ unequal)
    spread = np.where(spread > ROUNDING * (unequal @ unequal), spread, 0.0)
    return np.clip(life_table.incidence + average, 0.0, 1.0), between, relations(related[0], spread)


def area_variances(life_table: Watch, units: tuple[Grouping, ...], horizon: int) -> list[FloatArray]:
    """Return the variance of the area Σ_{t<horizon} F(t) over each grouping, which has at least two units: float () each."""
    return [
        _squares(unit, (life_table.area(block, horizon) for block in influences(life_table, unit))) for unit in units
    ]


def _squares(unit: Grouping, blocks: Iterable[FloatArray]) -> FloatArray:
    # Influences below 1e-13 are rounding errors; without them, identical clusters have variance exactly 0.
    squares = sum(np.square(np.where(np.abs(block) > 1e-13, block, 0.0)).sum(axis=0) for block in blocks)
    return np.asarray(small_sample_factor(unit.count) * squares)


def independent_variance(life_table: Watch, area: int | None = None) -> FloatArray:
    """Return the variance of the share if all rollouts were independent and had equal weight: float (T + 1,).

    Without competing endings this is Greenwood's variance. Unequal weights are replaced by their average, so that a weight of
    2 counts like two copies. With `area`, it is the variance of the share summed over the positions below `area`: float ().
    """
    width = life_table.horizon + 2
    mass = np.bincount(life_table.cause * width + life_table.duration, weights=life_table.weights, minlength=3 * width)
    # Rollouts with the same duration and cause have the same influence: a million rollouts reduce to a few kinds.
    kinds = np.flatnonzero(mass)
    distinct = replace(life_table, duration=kinds % width, cause=kinds // width, weights=np.ones(kinds.size))
    squares, start = np.zeros(life_table.at_risk.size if area is None else ()), 0
    for block in influences(distinct, *groupings((), kinds.size)):
        weights = mass[kinds[start : start + len(block)]]
        squares = squares + weights @ np.square(block if area is None else life_table.area(block, area))
        start += len(block)
    return np.asarray(squares * life_table.weights.mean())


def mixed_clusters(life_table: Watch, way: Grouping) -> IntArray:
    """Count, for each position, clusters with an event by then or clusters with a rollout without one, whichever is fewer."""
    never = life_table.horizon + 1
    event_position = np.where(life_table.cause == EVENT, np.minimum(life_table.duration, never), never)
    first, last = np.full(way.count, never), np.zeros(way.count, dtype=np.int64)
    np.minimum.at(first, way.codes, event_position)
    np.maximum.at(last, way.codes, event_position)
    with_event, all_events = (np.cumsum(np.bincount(times, minlength=never + 1))[:-1] for times in (first, last))
    return np.minimum(with_event, way.count - all_events)
