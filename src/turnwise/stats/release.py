"""An end of Wilson's interval that one more success can only raise: what a release gate may rely on."""

import numpy as np
from numpy.typing import ArrayLike

from turnwise.stats.clusters import equal_weights, groupings, t_quantile
from turnwise.stats.estimate import Clusters, FloatArray
from turnwise.stats.proportion import copies_effect, proportion, shrunk


def upper_end(values: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> float | None:
    """The largest upper end of `proportion` over these successes and every stage of fewer of them, from none on.

    The design effect of `proportion` is larger where few clusters can show it, so its upper end may fall as a success is
    added: .0747 at 0 of 500 in 50 clusters, .0351 at 1. Here stages take the successes away cluster by cluster, those with
    most successes last, which keeps what is left as alike within clusters as it can be. For two crossed ways the stages are
    none and all.

    Parameters
    ----------
    values
        Float (n,): 0 or 1.
    clusters, level
        As everywhere.

    Returns
    -------
    float or None
        At least the upper end of `proportion`; None where that has none.

    Examples
    --------
    >>> goals = (np.repeat(np.arange(50), 10),)
    >>> round(upper_end(np.zeros(500), goals), 4), round(upper_end(np.eye(1, 500)[0], goals), 4)
    (0.0747, 0.0747)
    """
    y = np.asarray(values, dtype=np.float64)
    own = proportion(y, clusters, level=level).high
    if own is None:
        return None
    if len(clusters) > 1:
        return max(own, proportion(np.zeros(y.size), clusters, level=level).high or 0.0)
    return max(own, float(_stages(y, clusters, level).max()))


def lower_end(values: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> float | None:
    """The smallest lower end over these failures and every stage of fewer of them: `upper_end` with the sides exchanged.

    Examples
    --------
    >>> round(lower_end(np.ones(500), (np.repeat(np.arange(50), 10),)), 4)
    0.9253
    """
    end = upper_end(1 - np.asarray(values, dtype=np.float64), clusters, level=level)
    return None if end is None else 1 - end


def _stages(y: FloatArray, clusters: Clusters, level: float) -> FloatArray:
    """Upper ends with 0, 1, ... of the successes, in the clusters that have most of them."""
    (way,) = groupings(clusters, y.size)
    ones = np.ones(y.size)
    wins, sizes = way.sums(y), way.sums(ones)
    order = np.lexsort((sizes, -wins))
    wins, sizes = wins[order], sizes[order]
    stage = np.arange(int(wins.sum()) + 1)
    filled = np.concatenate([[0.0], np.cumsum(wins)])
    whole = np.searchsorted(filled, stage, side="right") - 1  # clusters that have all of their successes
    part = stage - filled[whole]  # successes of the next one
    next_size = np.append(sizes, 0.0)[whole]

    def so_far(x: FloatArray) -> FloatArray:
        return np.asarray(np.concatenate([[0.0], np.cumsum(x)])[whole])

    n, count = y.size, way.count
    share = stage / n
    squares = so_far(wins**2) + part**2
    products = so_far(wins * sizes) + part * next_size
    spread = squares - 2 * share * products + share**2 * (sizes**2).sum()
    variance = count / max(1, count - 1) * spread / n**2
    inner = (share > 0) & (share < 1)
    observed = np.maximum(1.0, np.where(inner, variance * n / np.where(inner, share * (1 - share), 1.0), 1.0))
    succeeded = so_far((wins > 0).astype(float)) + (part > 0)
    failed = so_far((wins < sizes).astype(float)) + (count - whole) - ((part > 0) & (part >= next_size))
    mixed = np.minimum(succeeded, failed)
    plain = count == n and equal_weights(ones)
    effect = 1.0 if plain else shrunk(observed, mixed, copies_effect(ones, way))
    z = t_quantile(level, None if plain else count - 1)
    shrink = z * z * effect / n
    half = z * np.sqrt((share * (1 - share) + shrink / 4) * effect / n)
    return np.where(stage >= n, 1.0, np.minimum(1.0, (share + shrink / 2 + half) / (1 + shrink)))
