"""Public names of the survival analysis, and the hazard by position."""

import math

import numpy as np
from numpy.typing import ArrayLike

from rollwise.stats.estimate import Clusters, Estimate
from rollwise.stats.incidence import (
    NOBODY_AT_RISK,
    Incidence,
    clusters_at_risk,
    cumulative_incidence,
    influence,
    kaplan_meier,
)
from rollwise.stats.influence import EVENT, watch
from rollwise.stats.proportion import proportion
from rollwise.stats.restricted import restricted_mean, survival_median

__all__ = [
    "Incidence",
    "cumulative_incidence",
    "hazard",
    "influence",
    "kaplan_meier",
    "restricted_mean",
    "survival_median",
]


def hazard(
    duration: ArrayLike,
    cause: ArrayLike,
    clusters: Clusters,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    horizon: int | None = None,
) -> Incidence:
    """Estimate the hazard at positions 1..T: the share of rollouts at risk that have the event there, by `proportion`.

    Parameters
    ----------
    duration, cause, clusters, weights, level, horizon
        See `cumulative_incidence`; competing endings and censoring are equivalent here.

    Returns
    -------
    Incidence
        Starts at position 1. Clustered Wilson at each position; undefined if no rollout, or only one cluster of several
        rollouts, is at risk.

    Examples
    --------
    >>> hazard([1, 2, 2, 3], [1, 0, 1, 2], ()).estimate.round(2).tolist()
    [0.25, 0.33, 0.0]
    """
    life_table = watch(duration, cause, weights=weights, horizon=horizon)
    shares: list[Estimate] = []
    for t in range(1, life_table.horizon + 1):
        if (
            t > 1
            and life_table.at_risk[t] == life_table.at_risk[t - 1]
            and life_table.events[t - 1] == life_table.events[t] == 0
        ):
            # Same rollouts at risk and no event at either position: the same result.
            shares.append(shares[-1])
            continue
        rows = life_table.duration >= t
        happened = (life_table.duration[rows] == t) & (life_table.cause[rows] == EVENT)
        row_clusters = tuple(np.asarray(way)[rows] for way in clusters)
        shares.append(proportion(happened, row_clusters, weights=life_table.weights[rows], level=level))

    def column(name: str) -> list[float]:
        return [math.nan if (value := getattr(share, name)) is None else value for share in shares]

    return Incidence(
        at=life_table.at[1:],
        estimate=np.array(column("estimate")),
        std_error=np.array(column("std_error")),
        low=np.array(column("low")),
        high=np.array(column("high")),
        at_risk=life_table.at_risk[1:],
        events=life_table.events[1:],
        censored=life_table.censored[1:],
        competing=life_table.competing[1:],
        n_clusters=clusters_at_risk(life_table, clusters)[1:],
        reason=[NOBODY_AT_RISK if share.n == 0 else share.reason for share in shares],
        method=f"hazard, {('Wilson', 'clustered Wilson', 'two-way Wilson')[len(clusters)]}",
    )
