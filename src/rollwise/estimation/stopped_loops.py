"""Attempts that stop at the first success: only the first attempt at a goal says what one attempt achieves.

A loop that stops at its first success tries hard goals more often than easy ones. The mean over all of its attempts is then far
below the chance of one attempt: hard goals weigh more, and easy ones are hardly tried. First attempts weigh all goals equally,
which is right for a fixed number of attempts as well.
"""

import numpy as np

from rollwise.estimation.arrays import Columns
from rollwise.estimation.loops import (
    OF_GOALS,
    REPEATED_IN,
    conditions,
    loops_of,
    outcome_of,
    renumbered,
    same_values,
    stops_at,
)
from rollwise.stats.estimate import BoolArray, IntArray
from rollwise.stats.stopping import stopping

_ONLY = "only the first attempt at each goal counts"
FIRST_ATTEMPTS = f"attempts stopped at the first success: {_ONLY} (`rw.attempts` uses all)"
PERHAPS = f"attempts may have stopped at the first success: {_ONLY}, which is right either way (`rw.attempts` uses all)"
ALL_ATTEMPTS = "attempts stopped at the first success, or may have: all count, by a likelihood that is valid for that"
POOLED_ATTEMPTS = "method='beta-binomial' counts all, if later attempts are like the first"
IN_ORDER = "no column `attempt` numbers them, so the order of rows is taken"
_WENT_ON, _STOPPED, _MAY_HAVE_STOPPED = range(3)


def later_attempts(data: Columns, metric: str) -> BoolArray:
    """Mark the attempts after the first one of loops that stopped, or may have, at a success of this metric: Boolean (n,).

    The time to a success stops with the success itself, if the table has `attack_success`. Each target, attack and group asked
    for is a campaign, whose loops stop or do not (`stats.stopping`); where too few successes tell, loops that may have stopped
    count as such if a goal with a success has fewer attempts than another.
    """
    return np.asarray(_left_out(data, metric) != _WENT_ON)


def why_first(data: Columns, metric: str, rows: IntArray) -> str | None:
    """Return the reason why later attempts among these rows do not count; None if all count."""
    left_out = _left_out(data, metric)[rows]
    if not left_out.any():
        return None
    reason = FIRST_ATTEMPTS if (left_out == _STOPPED).any() else PERHAPS
    return reason if loops_of(data).numbered else f"{reason}; {IN_ORDER}"


def _left_out(data: Columns, metric: str) -> IntArray:
    outcome = outcome_of(metric)
    if outcome not in data.left_out:
        data.left_out[outcome] = _of_campaigns(data, outcome)
    return data.left_out[outcome]


def _of_campaigns(data: Columns, metric: str) -> IntArray:
    left_out = np.zeros(data.frame.height, dtype=np.int64)
    if not _may_stop(data, metric):
        return left_out
    loops, values = loops_of(data), data.numbers(metric)
    if not loops.numbered and not loops.distinct:  # counted rows, whose order was not kept
        return left_out
    campaigns = same_values(data, np.arange(left_out.size), _campaign(data))
    # Small integers are sorted by counting.
    order = np.argsort(campaigns.codes.astype(np.min_scalar_type(campaigns.count)), kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(campaigns.codes, minlength=campaigns.count))[:-1]):
        codes, rank = renumbered(loops.codes[rows] - loops.codes[rows].min()), loops.rank[rows]
        evidence = stopping(values[rows] == 1, rank, codes)
        perhaps = evidence.design == "undetermined" and evidence.shorter and loops.numbered
        if evidence.design != "stopped" and not perhaps:
            continue
        # The first attempt with a verdict represents its loop.
        first = np.full(codes.max(initial=0) + 1, np.iinfo(np.int64).max)
        judged = ~np.isnan(values[rows])
        np.minimum.at(first, codes[judged], rank[judged])
        left_out[rows[rank > first[codes]]] = _STOPPED if evidence.design == "stopped" else _MAY_HAVE_STOPPED
    return left_out


def _campaign(data: Columns) -> tuple[str, ...]:
    """Return the columns of which each combination is a campaign, whose loops stop at a success or do not."""
    wanted = ("target", "attack", *conditions(data))
    return tuple(dict.fromkeys(name for name in wanted if data.has(name) and name not in OF_GOALS))


def _may_stop(data: Columns, metric: str) -> bool:
    """Return whether there are loops of several attempts, and a success at which they may have stopped."""
    named = {"goal", "task"} & set(data.kinds)
    if not stops_at(metric, data.kinds.get(metric)) or data.frame.is_empty() or not named:
        return False
    nested = any(data.frame.schema[name].is_nested() for name in REPEATED_IN if data.has(name))
    if nested or not (data.numbers(metric) == 1).any():
        return False
    return bool(loops_of(data).codes.max(initial=-1) + 1 < data.frame.height)
