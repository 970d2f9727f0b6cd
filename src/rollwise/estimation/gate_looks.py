"""Sequential gate: the error rate holds across repeated checks while goals are added.

The interval of one look is right at a number of goals that was fixed before. A campaign that asks the gate after every ten
goals, and stops at the first "passed", passes a target at the threshold in .05 to .10 of simulations of 30 looks, where .025 is
allowed (`tests/estimation/test_gate_looks.py`). With ``looks="many"`` the ends come from a confidence sequence.
"""

import math
from typing import Any

import numpy as np

from rollwise.errors import ArgumentError
from rollwise.estimation.arrays import Columns
from rollwise.estimation.clusters import Unit, unit_of
from rollwise.estimation.gate_bounds import UNBOUNDED, Ends, widest
from rollwise.estimation.missingness import INAPPLICABLE, VALUE, Statuses
from rollwise.estimation.requirements import Required
from rollwise.schema.arguments import Cluster
from rollwise.stats.clusters import groupings
from rollwise.stats.estimate import FloatArray, IntArray
from rollwise.stats.sequential import share_at_every_look

METHOD = "beta-binomial confidence sequence"


def check_share_of_rollouts(required: Required, *, share: bool) -> None:
    """Raise an error if a requirement does not support repeated checks: only proportions have a confidence sequence."""
    if not share or required.relative:
        raise ArgumentError(
            f"gate: {required.words!r} is not a requirement on a proportion, and only proportions support repeated checks; "
            "use looks='one'"
        )


def ends_at_every_look(
    data: Columns,
    required: Required,
    rows: IntArray,
    statuses: Statuses,
    cluster: Cluster,
    level: float,
    unread: float,
) -> tuple[Ends, Ends]:
    """Return the ends of a confidence sequence: for rollouts with a verdict alone, and whatever the others are."""
    applicable, with_value = rows[statuses[rows] != INAPPLICABLE], rows[statuses[rows] == VALUE]
    unit = unit_of(data, applicable, required.metric, cluster)
    if len(unit.codes) > 1:
        raise ArgumentError(
            f"gate: looks='many' needs one independent unit, and {' and '.join(unit.names)} are crossed; "
            f"name one of them, as in cluster={unit.names[0]!r}"
        )
    values, codes = data.numbers(required.metric)[applicable], _codes(unit, applicable.size)
    judged = np.isin(applicable, with_value)
    judged_only = share_at_every_look(values[judged], codes[judged], level=level)
    if math.isinf(unread):
        return judged_only, UNBOUNDED
    codes = np.concatenate([codes, codes.max(initial=-1) + 1 + np.arange(int(unread))])
    values = np.where(
        np.concatenate([judged, np.zeros(int(unread), dtype=np.bool_)]), np.append(values, [0.0] * int(unread)), np.nan
    )
    low, _ = share_at_every_look(np.nan_to_num(values, nan=0.0), codes, level=level)
    _, high = share_at_every_look(np.nan_to_num(values, nan=1.0), codes, level=level)
    return judged_only, widest(judged_only, (low, high))


def row_at_every_look(
    data: Columns,
    required: Required,
    rows: IntArray,
    statuses: Statuses,
    cluster: Cluster,
    row: dict[str, Any],
    ends: Ends,
) -> dict[str, Any]:
    """Return the row of SUMMARY with the estimate and interval of the confidence sequence: each cluster weighs the same."""
    judged = rows[statuses[rows] == VALUE]
    unit = unit_of(data, judged, required.metric, cluster)
    estimate = None
    if judged.size:
        (way,) = groupings((_codes(unit, judged.size),), judged.size)
        values: FloatArray = data.numbers(required.metric)[judged]
        estimate = float((way.sums(values) / way.sums(np.ones(judged.size))).mean())
    estimand = (
        f"share, every {unit.words} weighing the same; the interval holds at every look at a growing number of them"
    )
    return {
        **row,
        "estimate": estimate,
        "std_error": None,
        "low": ends[0],
        "high": ends[1],
        "design_effect": None,
        "method": METHOD,
        "estimand": estimand,
        "reason": None,
    }


def _codes(unit: Unit, size: int) -> IntArray:
    return unit.codes[0] if unit.codes else np.arange(size)
