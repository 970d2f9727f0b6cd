"""ROLLOUTS -> CURVE: the share of rollouts with an event by turn, with competing endings and censoring."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.choices import Axis, Band, CurveKind
from rollwise.errors import ArgumentError, counted
from rollwise.estimation.arguments import check_time, rollouts_frame
from rollwise.estimation.arrays import (
    ORDER,
    Columns,
    causes,
    endings,
    join_reasons,
    positions_of,
    rows_of,
    successes_of_unknown_time,
)
from rollwise.estimation.clusters import Unit, columns_of, unit_of
from rollwise.estimation.curve_support import with_support
from rollwise.estimation.loops import columns_of_loops
from rollwise.estimation.merging import State, blocks, state_of
from rollwise.estimation.missingness import FACTS, INAPPLICABLE, statuses
from rollwise.estimation.stopped_loops import later_attempts, why_first
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, frame_of, names_of
from rollwise.schema.option_types import check_option_types
from rollwise.stats.bands import simultaneous_level
from rollwise.stats.estimate import BoolArray, FloatArray, IntArray
from rollwise.stats.incidence import Incidence, cumulative_incidence, kaplan_meier
from rollwise.stats.influence import CENSORED, EVENT
from rollwise.stats.survival import hazard

_FEWEST_EVENTS = 10
"""Fewest goals with the event for a simultaneous band: of four, all turns hold together in .86 at a level of .95."""
_ESTIMANDS = {
    "success": "observed share with the event by turn t",
    "survival": "share without the event after turn t, if nothing else ended a rollout",
    "hazard": "share with the event in turn t, of the rollouts followed into it",
    "incidence": "observed share ended this way by turn t",
}


def curve(
    rollouts: object,
    *,
    metric: str = "time_to_success",
    by: By = (),
    kind: CurveKind = "success",
    axis: Axis = "turn",
    cluster: Cluster = "auto",
    competing: Sequence[str] = schema.COMPETING,
    band: Band = "pointwise",
    level: float | Sequence[float] = 0.95,
    seed: int = 0,
    merge: bool = False,
) -> pl.DataFrame:
    """Estimate each group's share with the event by turn, with intervals and the numbers at risk.

    Parameters
    ----------
    rollouts
        ROLLOUTS with a ``Struct{duration, observed}`` column, such as `metrics.time_to_success` measures.
    metric
        The name of that column.
    by
        Columns to group by; nulls form a group of their own.
    kind
        ``"success"``: the observed share, by Aalen-Johansen; `competing` endings compete, and `budget`, `error` and
        null endings censor. ``"survival"``: Kaplan-Meier, in which nothing competes and every other ending censors.
        ``"hazard"``: the share of events among the rollouts at risk. ``"incidence"``: as ``"success"``, with one curve for
        each ending, named in `ending`.
    axis
        Unit of the follow-up. ``"target_call"``, ``"tokens"``, ``"cost_usd"`` and ``"seconds"`` place a success at the amount
        spent by then, which `metrics.spent_to_success(axis)` measures in addition to the time. Positions are the amounts at
        which a follow-up ended in the event or a competing ending.
    cluster
        As in `summarize`; intervals use the influence of whole clusters.
    competing
        Endings that preclude the event. An ending competes only if the rollout was followed to its last turn; for
        events other than the attack's success, an ending in success competes too.
    band
        ``"pointwise"``: each interval is valid on its own. ``"simultaneous"``: all intervals of a curve are valid together
        (sup-t); not for a hazard.
    level
        Nominal coverage, or several.
    seed
        Seed of the random process behind a simultaneous band.
    merge
        As in `summarize`: work from counts by group and cluster, for a `LazyFrame` larger than memory.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.CURVE`: one row per group and turn, from 0 (1 for a hazard) to the last turn of any
        follow-up. `at_risk` counts the rollouts still followed at the start of the turn, and `n_clusters` their clusters.
        `bound_low` and `bound_high` are the shares if no censored rollout had the event later, and if all of them had it
        at once; null for a hazard. Where they are outside the interval, and where fewer than 10 rollouts or 5 clusters are at
        risk after a censoring, `reason` says so.

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If an option names a missing column or has an invalid value.

    References
    ----------
    Aalen & Johansen (1978), An empirical transition matrix for non-homogeneous Markov chains based on censored
    observations. Scandinavian Journal of Statistics 5. Kaplan & Meier (1958), Nonparametric estimation from incomplete
    observations. Journal of the American Statistical Association 53, doi:10.1080/01621459.1958.10501452. Williams (1995),
    Product-limit survival functions with correlated survival times. Lifetime Data Analysis 1, doi:10.1007/BF00985768. Ying &
    Wei (1994), The Kaplan-Meier estimate for dependent failure time observations. Journal of Multivariate Analysis 50,
    doi:10.1006/jmva.1994.1031. Manski (1990), Nonparametric bounds on treatment effects. American Economic Review 80.

    Examples
    --------
    >>> rollouts = pl.DataFrame(
    ...     {
    ...         "rollout_id": list("abcd"),
    ...         "ending": ["success", "budget", "gave_up", "success"],
    ...         "num_turns": [1, 2, 1, 2],
    ...         "time_to_success": [
    ...             {"duration": 1, "observed": True},
    ...             {"duration": 2, "observed": False},
    ...             {"duration": 1, "observed": False},
    ...             {"duration": 2, "observed": True},
    ...         ],
    ...     }
    ... )
    >>> curve(rollouts).select("at", "estimate", "at_risk", "events", "censored", "competing")
    shape: (3, 6)
    ┌─────┬──────────┬─────────┬────────┬──────────┬───────────┐
    │ at  ┆ estimate ┆ at_risk ┆ events ┆ censored ┆ competing │
    │ --- ┆ ---      ┆ ---     ┆ ---    ┆ ---      ┆ ---       │
    │ f64 ┆ f64      ┆ i64     ┆ i64    ┆ i64      ┆ i64       │
    ╞═════╪══════════╪═════════╪════════╪══════════╪═══════════╡
    │ 0.0 ┆ 0.0      ┆ 4       ┆ 0      ┆ 0        ┆ 0         │
    │ 1.0 ┆ 0.25     ┆ 4       ┆ 1      ┆ 0        ┆ 1         │
    │ 2.0 ┆ 0.5      ┆ 2       ┆ 1      ┆ 1        ┆ 0         │
    └─────┴──────────┴─────────┴────────┴──────────┴───────────┘
    """
    check_option_types(curve, locals())
    by = names_of(by)
    if merge or isinstance(rollouts, State):
        return _merged(
            rollouts,
            by=by,
            metric=metric,
            kind=kind,
            axis=axis,
            cluster=cluster,
            competing=competing,
            band=band,
            level=level,
            seed=seed,
        )
    frame = rollouts_frame(rollouts, "curve")
    check_by(frame, by, schema.CURVE, "curve")
    check_time(frame, metric, competing, "curve")
    _check_options(frame, metric, kind, axis, band)
    data = Columns(frame, by)
    # Survival asks what would happen if nothing competed, so every other ending censors.
    ways = endings(data, metric, () if kind == "survival" else competing)
    options = _Options(metric, kind, axis, cluster, seed if band == "simultaneous" else None)
    rows = [
        {**key, **row}
        for key, group in data.groups(by)
        for level_ in check_levels(level)
        for row in _group(data, group, ways, options, level_)
    ]
    return rows_of(rows, frame, by, schema.CURVE)


def _merged(rollouts: object, *, by: tuple[str, ...], **options: Any) -> pl.DataFrame:
    """Estimate curves from a state, whose times are counted by group and cluster."""
    table = rollouts if isinstance(rollouts, State | pl.LazyFrame) else frame_of(rollouts, "curve")
    dtypes = table.dtypes if isinstance(table, State) else table.collect_schema()
    empty = curve(
        pl.DataFrame(schema=dtypes), by=by, **options
    )  # invalid arguments raise an error before anything is read
    columns = curve_to_merge(dtypes, by=by, **{name: options[name] for name in ("metric", "axis", "cluster")})
    if ORDER in (*columns[0], *columns[1]) and not isinstance(table, State):
        table = table.with_row_index(ORDER)
    state = table if isinstance(table, State) else state_of(table, *columns)
    rows = [curve(part, by=by, **options) for block in blocks(state, by) for part in block if part.width]
    return pl.concat(rows) if rows else empty


def curve_to_merge(
    dtypes: pl.Schema, *, by: By = (), metric: str = "time_to_success", axis: Axis = "turn", cluster: Cluster = "auto"
) -> tuple[list[str], list[str]]:
    """Return the columns of ROLLOUTS that a state for `curve` counts, and the columns that it keeps: amounts seldom repeat."""
    needed = {*names_of(by), *columns_of(cluster), *FACTS, metric, f"spent_to_success_{axis}"}
    needed |= columns_of_loops(dtypes, (metric,))
    columns = [name for name in (*dtypes, ORDER) if name in needed]
    return (columns, []) if axis == "turn" else ([], columns)


def _check_options(frame: pl.DataFrame, metric: str, kind: str, axis: str, band: str) -> None:
    if band == "simultaneous" and kind == "hazard":
        raise ArgumentError("curve: a hazard has no simultaneous band; use kind='success', whose steps are its hazards")
    if axis == "turn":
        return
    if metric != "time_to_success":
        raise ArgumentError(f"curve: over {axis} only time_to_success is counted, not {metric!r}; use axis='turn'")
    if f"spent_to_success_{axis}" not in frame.columns:
        raise ArgumentError(
            f"curve: axis={axis!r} needs the column `spent_to_success_{axis}`; "
            f"measure it: `rw.measure(turns, m.time_to_success(), m.spent_to_success({axis!r}))`"
        )


@dataclass(frozen=True, slots=True)
class _Options:
    """Options of the curves; a `seed` requests simultaneous bands."""

    metric: str
    kind: CurveKind
    axis: Axis
    cluster: Cluster
    seed: int | None


def _group(
    data: Columns, group: IntArray, ways: dict[str, BoolArray], options: _Options, level: float
) -> list[dict[str, Any]]:
    metric, kind = options.metric, options.kind
    first = why_first(data, metric, group)
    group = group[~later_attempts(data, metric)[group]]
    ends, at = _positions(data, group, ways, options)
    # A position of 0 means that the rollout has no follow-up.
    rows, duration = group[ends > 0], ends[ends > 0]
    without_time = f"; {group.size - rows.size} without a time" if group.size > rows.size else ""
    # Rollouts that the metric does not apply to have no time either, but their outcome is not unknown.
    unknown = int((statuses(data, metric)[group[ends == 0]] != INAPPLICABLE).sum())
    shared = {"metric": metric, "kind": kind, "axis": options.axis, "level": level}
    share = _ESTIMANDS[kind] if options.axis == "turn" else _ESTIMANDS[kind].replace("turn t", f"{options.axis} x")
    if not rows.size:
        empty = {"at": 0.0, "at_risk": 0, "reason": "no rollout has a time to this event"}
        return [{**shared, **empty, "estimand": share + without_time}]
    unit = unit_of(data, rows, metric, options.cluster)
    shared["estimand"] = f"{share}, every rollout weighing the same; unit: {unit.words}{without_time}"
    undated = successes_of_unknown_time(data, rows, metric)
    note = join_reasons(
        f"{counted(undated, 'success')} of unknown time counted at the last turn" if undated else None,
        first,
        unit.why_independent(options.cluster),
    )
    result: list[dict[str, Any]] = []
    for way, happened in ways.items() if kind == "incidence" else [(schema.SUCCESS, ways[schema.SUCCESS])]:
        # An ending that never happens gets no curve.
        if way == schema.SUCCESS or happened[rows].any():
            cause = causes(ways, rows, way)
            estimates = _curve(options, duration, cause, unit, level)
            names = {**shared, "ending": way if kind == "incidence" else None}
            rare = None if options.seed is None else _rare(cause, unit)
            points = positions_of(estimates, join_reasons(note, rare), at)
            if kind != "hazard":
                points = with_support(points, without_time=unknown, survival=kind == "survival")
            result += [{**names, **row} for row in points]
    return result


def _rare(cause: IntArray, unit: Unit) -> str | None:
    """Say that the event is too rare for a simultaneous band to hold as often as its level says; None if it is not."""
    happened = cause == EVENT
    number = min((np.unique(way[happened]).size for way in unit.codes), default=int(happened.sum()))
    if not 0 < number < _FEWEST_EVENTS:
        return None
    where = f" in {counted(number, unit.names[0])}" if len(unit.names) == 1 else ""
    return f"only {counted(int(happened.sum()), 'event')}{where}: the band holds less often than its level says"


def _positions(
    data: Columns, group: IntArray, ways: dict[str, BoolArray], options: _Options
) -> tuple[IntArray, FloatArray | None]:
    """Return the position at which each follow-up ended, 0 if unknown, and the values of positions 0, 1, ... on the axis.

    For turns, which are their own positions, None takes the place of the values.
    """
    duration = data.times(options.metric)[0][group]
    if options.axis == "turn":
        return duration, None
    spent = data.amounts(f"spent_to_success_{options.axis}")[group]
    has_amount = (duration > 0) & ~np.isnan(spent)
    # Positions are the amounts at which something happened; censoring alone changes no estimate.
    ended = has_amount & np.any([happened[group] for happened in ways.values()], axis=0)
    # Follow-ups censored before the first ending were at risk until then, so the smallest amount is a position too.
    amounts = (
        np.unique(np.concatenate([spent[ended], spent[has_amount].min(keepdims=True)]))
        if has_amount.any()
        else spent[:0]
    )
    # The number of positions at or below the amount of each rollout.
    positions = np.where(has_amount, np.searchsorted(amounts, spent, side="right"), 0)
    return positions.astype(np.int64), np.concatenate([[0.0], amounts])


def _curve(options: _Options, duration: IntArray, cause: IntArray, unit: Unit, level: float) -> Incidence:
    interval_level = level
    if options.kind == "survival":
        cause = np.where(cause == EVENT, EVENT, CENSORED)
    if options.seed is not None:
        # A simultaneous band is a pointwise one at a higher level, found by simulating the largest deviation.
        rng = unit.generator(options.seed)
        interval_level = simultaneous_level(duration, cause, unit.codes, level=level, rng=rng)
    if options.kind == "survival":
        estimates = kaplan_meier(duration, cause == EVENT, unit.codes, level=interval_level)
        # Kaplan-Meier gives the share with the event; survival is its complement, so the ends swap.
        estimates = replace(estimates, estimate=1 - estimates.estimate, low=1 - estimates.high, high=1 - estimates.low)
    else:
        estimator = hazard if options.kind == "hazard" else cumulative_incidence
        estimates = estimator(duration, cause, unit.codes, level=interval_level)
    return estimates if options.seed is None else replace(estimates, method=f"{estimates.method}, simultaneous (sup-t)")
