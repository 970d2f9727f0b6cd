"""Expected rates -> PLAN: precision and required numbers of goals and attempts, before an experiment."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, counted
from rollwise.estimation.arguments import rollouts_frame
from rollwise.estimation.arrays import Columns, join_reasons
from rollwise.estimation.clusters import unit_of
from rollwise.estimation.missingness import VALUE, statuses
from rollwise.schema.arguments import Cluster, finite_numbers, whole_numbers
from rollwise.schema.option_types import check_option_types
from rollwise.stats.sizes import (
    MOST_GOALS,
    detectable,
    goals_for_difference,
    goals_for_gate,
    intraclass_correlation,
    rollouts_for_none,
    variance_of_difference,
    variance_per_goal,
)
from rollwise.stats.student import t_quantile

Number = int | Sequence[int]
_TOO_MANY = "more than ten million goals"


def plan(
    rollouts: object = None,
    *,
    rate: float | None = None,
    icc: float | None = None,
    goals: Number | None = None,
    attempts: Number = 1,
    difference: float | None = None,
    below: float | None = None,
    correlation: float = 0.5,
    metric: str = "attack_success",
    cluster: Cluster = "auto",
    power: float = 0.8,
    level: float = 0.95,
) -> pl.DataFrame:
    """Compute the precision of planned numbers of goals and attempts, and the numbers that a question needs.

    Parameters
    ----------
    rollouts
        ROLLOUTS of one target and attack, to estimate `rate` and `icc` unless they are given.
    rate, icc
        Expected share of successes, and the correlation of attempts at one goal (0 independent, 1 copies).
    goals
        Numbers of goals to evaluate: one row of ``"detectable difference"`` for each, null if no rate is that far away, with
        the half-width of a rate's interval, cut at 0 and 1.
    attempts
        Attempts at each goal, one number or several to compare. More attempts never compensate for too few goals, because
        the variance is icc·p(1-p)/G + (1-icc)·p(1-p)/(G·m).
    difference
        A difference between two arms with the same goals: ``"goals for a difference"``. The rate of the other arm may be
        higher or lower, whichever needs more goals, or only lower for a negative difference; it must lie between 0 and 1.
    below
        A rate to be excluded by observing no success: ``"goals for none"``, where m attempts at a goal count as
        m / (1 + (m-1)·icc) independent ones, and ``"goals for the gate"``, which counts goals only and does not use the icc.
    correlation
        Correlation of the success probabilities of goals between the two arms; 0 if the arms have different goals.
    metric, cluster
        Options for these rollouts.
    power, level
        Power and level of a two-sided test of the difference, and of the intervals.

    Returns
    -------
    polars.DataFrame
        The columns of `schema.PLAN`.

    Raises
    ------
    ArgumentError
        If no question is asked, a number is invalid, or the pilot does not determine the rate or the icc.

    References
    ----------
    Bloom (1995), doi:10.1177/0193841X9501900504; Hanley & Lippman-Hand (1983), doi:10.1001/jama.1983.03330370053031.

    Examples
    --------
    >>> plan(rate=0.1, icc=0.3, difference=0.05, attempts=(1, 5, 50)).select("attempts", "goals", "rollouts")
    shape: (3, 3)
    ┌──────────┬───────┬──────────┐
    │ attempts ┆ goals ┆ rollouts │
    │ ---      ┆ ---   ┆ ---      │
    │ i64      ┆ i64   ┆ i64      │
    ╞══════════╪═══════╪══════════╡
    │ 1        ┆ 584   ┆ 584      │
    │ 5        ┆ 202   ┆ 1010     │
    │ 50       ┆ 116   ┆ 5800     │
    └──────────┴───────┴──────────┘
    """
    check_option_types(plan, locals())
    sizes = () if goals is None else whole_numbers(goals, "plan: goals", "goals", least=2)
    tries = whole_numbers(attempts, "plan: attempts", "attempts")
    if goals is None and difference is None and below is None:
        raise ArgumentError("plan: no question is asked; give goals=, difference= or below=")
    _check_shares(rate=rate, below=below, power=power, level=level, difference=difference)
    _check_shares(0.0, 1.0, icc=icc, correlation=correlation)
    source = "given"
    # A given value takes precedence over the pilot.
    if rollouts is not None and (rate is None or icc is None):
        rate, icc, source = of_pilot(rollouts, metric, cluster, rate, icc)
    if icc is None and max(tries) > 1:
        raise ArgumentError(
            "plan: with several attempts at a goal give icc=, their correlation, or a pilot (0.3 is common)"
        )
    if rate is None and (goals is not None or difference is not None):
        raise ArgumentError("plan: give rate=, the share of successes expected, or a pilot")
    correlation_within = icc or 0.0
    options = {"rate": rate, "icc": icc, "correlation": correlation, "power": power, "level": level}
    rows: list[dict[str, Any]] = []
    for m in tries:
        shared = {**options, "attempts": m, "estimand": f"rate and icc {source}; every goal weighing the same"}
        if rate is not None:
            rows += _of_difference(shared, rate, correlation_within, m, sizes if goals is not None else (), difference)
        if below is not None:
            rows += _of_none(shared, below, correlation_within, m, level)
    return pl.DataFrame(rows, schema=schema.PLAN.dtypes, orient="row")


def _check_shares(*ends: float, **shares: float | None) -> None:
    """Raise an error unless each value is a number between 0 and 1, or equals one of the allowed ends."""
    for name, share in shares.items():
        numbers = (0.5,) if share is None else finite_numbers(share, f"plan: {name}")
        size = abs(numbers[0]) if name == "difference" else numbers[0]
        if len(numbers) > 1 or not (0 < size < 1 or size in ends):
            noun = "correlation; give a number within 0 and 1" if ends else "share; give a number between 0 and 1"
            raise ArgumentError(f"plan: {name}={share} is not a {noun}")


def of_pilot(
    rollouts: object, metric: str, cluster: Cluster, rate: float | None, icc: float | None
) -> tuple[float, float | None, str]:
    """Return the rate and the correlation within goals of a pilot where they are not given, and what says so."""
    frame = rollouts_frame(rollouts, "plan")
    if metric not in frame.columns or schema.kind_of(frame.schema[metric]) != "proportion":
        raise ArgumentError(f"plan: the pilot has no Boolean {metric!r}")
    return of_columns(Columns(frame), metric, cluster, rate, icc)


def of_columns(
    data: Columns, metric: str, cluster: Cluster, rate: float | None = None, icc: float | None = None
) -> tuple[float, float | None, str]:
    """Return the same of a pilot whose columns are known."""
    rows = np.flatnonzero(statuses(data, metric) == VALUE)
    if not rows.size:
        raise ArgumentError(f"plan: the pilot has no rollout whose {metric} is known")
    values = data.numbers(metric)[rows]
    share = float(values.mean()) if rate is None else rate
    if not 0 < share < 1:
        raise ArgumentError(
            f"plan: in the pilot {metric} is {share:.0%} throughout, which does not show its variance; give rate="
        )
    codes = unit_of(data, rows, metric, cluster).codes
    correlation_within = intraclass_correlation(values, codes[0]) if icc is None and codes else icc
    return share, correlation_within, f"from a pilot of {counted(rows.size, 'rollout')} where not given"


def _of_difference(
    shared: dict[str, Any], rate: float, icc: float, m: int, sizes: tuple[int, ...], difference: float | None
) -> list[dict[str, Any]]:
    power, level = shared["power"], shared["level"]
    arms = "arms with the same goals" if shared["correlation"] else "other goals in each arm"

    def variance(side: float) -> float:
        return variance_of_difference((rate, rate + side), icc, m, correlation=shared["correlation"])

    def row(question: str, goals: int | None, gap: float | None, flaw: str | None) -> dict[str, Any]:
        width, note = (
            (None, None) if goals is None else _half_width(rate, variance_per_goal(rate, icc, m), goals, level)
        )
        return {
            **shared,
            "question": question,
            "goals": goals,
            "rollouts": None if goals is None else goals * m,
            "difference": gap,
            "half_width": width,
            "method": f"power of t over goals, {arms}",
            "reason": join_reasons(flaw, note),
        }

    rows = []
    for size in sizes:
        smallest = _detectable(variance, rate, size, power=power, level=level)
        flaw = f"not even the largest difference from a rate of {rate:.3g} is found with so few goals"
        rows.append(row("detectable difference", size, smallest, flaw if smallest is None else None))
    if difference is None:
        return rows
    sides = sorted({difference, -abs(difference)})
    possible = [side for side in sides if 0 < rate + side < 1]
    if not possible:
        rates = " or ".join(f"{rate + side:.3g}" for side in sides)
        raise ArgumentError(
            f"plan: difference={difference:g} from rate={rate:.3g} would be a rate of {rates} in the other arm; a rate "
            "lies between 0 and 1, so ask for a smaller difference"
        )
    # The rate nearer to 1/2 varies more: it needs the most goals.
    most = max(variance(side) for side in possible)
    needed = goals_for_difference(most, difference, power=power, level=level)
    return [*rows, row("goals for a difference", needed, difference, _TOO_MANY if needed is None else None)]


def _detectable(
    variance: Callable[[float], float], rate: float, goals: int, *, power: float, level: float
) -> float | None:
    """Return the smallest difference that is detected, or None if no rate is that far away.

    The other rate is on the side of 1/2, where it varies more. Its variance depends on the difference itself.
    """
    side = 1.0 if rate < 0.5 else -1.0
    least, most = 0.0, max(rate, 1 - rate)

    def is_detected(gap: float) -> bool:
        return detectable(variance(side * gap), goals, power=power, level=level) <= gap

    if not is_detected(most * (1 - 1e-12)):
        return None
    for _ in range(60):
        middle = (least + most) / 2
        least, most = (least, middle) if is_detected(middle) else (middle, most)
    return most


def _half_width(rate: float, variance: float, goals: int, level: float) -> tuple[float, str | None]:
    """Return half the width of a rate's interval, and a note if it is cut at 0 or 1."""
    half_width = t_quantile(level, goals - 1) * math.sqrt(variance / goals)
    if half_width <= min(rate, 1 - rate):
        return half_width, None
    return (min(1.0, rate + half_width) - max(0.0, rate - half_width)) / 2, "the interval of the rate is cut at 0 and 1"


def _of_none(shared: dict[str, Any], below: float, icc: float, m: int, level: float) -> list[dict[str, Any]]:
    rollouts = rollouts_for_none(below, level=level)
    # Attempts at a goal carry less information the more they are correlated; the tolerance absorbs rounding.
    goals_of_none = math.ceil(rollouts * (1 + (m - 1) * icc) / m - 1e-9)
    needed = goals_of_none if goals_of_none <= MOST_GOALS else None
    goals_of_gate = goals_for_gate(below, level=level, repeated=m > 1)
    rate = shared["rate"]
    chances = [
        None if rate is None or count is None else (1 - rate) ** (count * m / (1 + (m - 1) * icc))
        for count in (needed, goals_of_gate)
    ]
    return [
        {
            **shared,
            "question": "goals for none",
            "goals": needed,
            "rollouts": None if needed is None else needed * m,
            "below": below,
            "chance": chances[0],
            "method": "ln(1 - level) / ln(1 - below), one-sided; attempts worth 1 / (1 + (m - 1)·icc)",
            "reason": _TOO_MANY if needed is None else None,
        },
        {
            **shared,
            "question": "goals for the gate",
            "goals": goals_of_gate,
            "rollouts": None if goals_of_gate is None else goals_of_gate * m,
            "below": below,
            "chance": chances[1],
            "method": "upper end that passes the gate at none, two-sided; goals alone count",
            "reason": _TOO_MANY if goals_of_gate is None else None,
        },
    ]
