"""Bounds of a share for every outcome of the rollouts without a verdict; one more success never moves them the wrong way."""

import math
from typing import Any

import numpy as np

from rollwise.estimation.arrays import Columns
from rollwise.estimation.clusters import unit_of
from rollwise.estimation.missingness import INAPPLICABLE, VALUE, Statuses
from rollwise.schema.arguments import Cluster
from rollwise.stats.estimate import IntArray
from rollwise.stats.intervals import outer_ends
from rollwise.stats.release import lower_end, upper_end

Ends = tuple[float | None, float | None]
"""Lower and upper end of an interval."""
UNBOUNDED: Ends = (None, None)
_ONE_BY_ONE = 20  # so many rollouts that could not be read are added one by one
_UNKNOWN = ("n_error", "n_undetermined", "n_missing")


def number_unknown(row: dict[str, Any]) -> int:
    """Count the rollouts without a verdict to which the metric applies."""
    return sum(row[name] or 0 for name in _UNKNOWN)


def widest(*intervals: Ends) -> Ends:
    """Return the smallest lower and the largest upper end; without any end if one interval has none."""
    lows, highs = ([ends[side] for ends in intervals if ends[side] is not None] for side in (0, 1))
    if min(len(lows), len(highs)) < len(intervals):
        return UNBOUNDED
    return min(lows), max(highs)  # type: ignore[type-var]  # None is left out above


def ends_of_rollouts(
    data: Columns, metric: str, rows: IntArray, statuses: Statuses, cluster: Cluster, level: float, unread: float
) -> tuple[Ends, Ends]:
    """Return the ends for the rollouts with a verdict alone, and the ends that hold for every outcome of the others.

    The lower end takes every rollout without a verdict as a failure, the upper end as a success. The rollouts with a verdict
    count on their own as well: the others bring more goals, which would narrow the interval. `unread` may be infinite.
    """
    applicable = rows[statuses[rows] != INAPPLICABLE]
    judged = rows[statuses[rows] == VALUE]
    # The unit is chosen among all applicable rollouts, as `summarize` does.
    names = unit_of(data, applicable, metric, cluster).names or None
    judged_only = _ends(data, metric, judged, names, level, 0)
    if judged.size == applicable.size and not unread:
        return judged_only, judged_only
    if math.isinf(unread):
        return judged_only, UNBOUNDED
    # More of them may be worth more than they cost, as further clusters; so all smaller numbers count as well. Beyond some
    # twenty, a further cluster tells hardly anything, and its success or failure moves the end outward.
    numbers = {*range(min(int(unread), _ONE_BY_ONE) + 1), int(unread)}
    return judged_only, widest(
        judged_only, *(_ends(data, metric, applicable, names, level, number) for number in numbers)
    )


def _ends(data: Columns, metric: str, rows: IntArray, names: Cluster, level: float, unread: int) -> Ends:
    # Each record that could not be read is a rollout and a cluster of its own.
    clusters = tuple(
        np.concatenate([codes, codes.max(initial=-1) + 1 + np.arange(unread)])
        for codes in unit_of(data, rows, metric, names).codes
    )
    values = np.concatenate([data.numbers(metric)[rows], np.full(unread, np.nan)])
    return (
        lower_end(np.nan_to_num(values, nan=0.0), clusters, level=level),
        upper_end(np.nan_to_num(values, nan=1.0), clusters, level=level),
    )


def own_ends(row: dict[str, Any], level: float) -> Ends | None:
    """Return the ends that decide for the observed share of a row of SUMMARY; smaller numbers of successes have other ends."""
    if row["estimate"] is None or not row["design_effect"]:
        return None
    size = row["n"] / row["design_effect"]
    df = None if row["n_clusters"] == row["n"] else row["n_clusters"] - 1
    return outer_ends(row["estimate"] * size, size, level=level, df=df)


def ends_of_summary(row: dict[str, Any], level: float, unread: float) -> tuple[Ends, Ends]:
    """Return the ends of a row of SUMMARY as `ends_of_rollouts` does, as far as its counts determine them.

    Of all smaller numbers of successes only zero is known, and the design effect of the rollouts without a verdict is assumed
    to be that of the others.
    """
    ends: Ends = row["low"], row["high"]
    if None in ends or row["bound_low"] is None or not row["n_clusters"]:
        return ends, ends
    # Clusters of one rollout each use the normal quantile, as `proportion` does.
    unclustered = row["n_clusters"] == row["n"]
    df = None if unclustered else row["n_clusters"] - 1
    # Without a success (or failure) the effective sample size is the number of clusters.
    none = outer_ends(0, row["n_clusters"], level=level, df=df)[1] or 0.0
    ends = widest(ends, (1 - none, none))
    ends = widest(ends, own_ends(row, level) or ends)
    # An interval at the bounds of partially judged rollouts does not say what the rollouts with a verdict show alone.
    at_the_bounds = (row["method"] or "").endswith("at the bounds")
    judged_only = UNBOUNDED if at_the_bounds else ends
    unknown = number_unknown(row)
    if math.isinf(unread):
        return judged_only, UNBOUNDED
    if not unread and not unknown:
        return judged_only, ends
    total = row["n"] + unknown + unread
    size = total / row["design_effect"] if row["design_effect"] else total if unclustered else row["n_clusters"]
    counted = row["n"] + unknown
    fewest, most = row["bound_low"] * counted / total, (row["bound_high"] * counted + unread) / total
    low, high = (outer_ends(share * size, size, level=level, df=df)[side] for side, share in enumerate((fewest, most)))
    return judged_only, widest(ends, (low, high))
