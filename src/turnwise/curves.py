"""ROLLOUTS -> CURVE: the share of rollouts by turn, with what ended the others."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import polars as pl

from turnwise import schema
from turnwise.arguments import By, Cluster, check_by, check_levels, frame_of, names_of, require_rollouts
from turnwise.cells import Sheet, causes, endings, positions_of, rows_of, successes_of_unknown_time, unit_of
from turnwise.errors import ArgumentError, listing
from turnwise.stats.estimate import BoolArray, Clusters, IntArray
from turnwise.stats.incidence import Incidence, cumulative_incidence, kaplan_meier
from turnwise.stats.influence import EVENT
from turnwise.stats.survival import hazard

Kind = Literal["success", "survival", "hazard", "incidence"]
_SAYS = {
    "success": "share with the event by turn t, as run",
    "survival": "share without the event after turn t, if nothing else ended a run",
    "hazard": "share with the event in turn t, of those watched into it",
    "incidence": "share ended this way by turn t, as run",
}


def curve(
    rollouts: object,
    *,
    metric: str = "time_to_success",
    by: By = (),
    kind: Kind = "success",
    axis: Literal["turn"] = "turn",
    cluster: Cluster = "auto",
    competing: Sequence[str] = schema.COMPETING,
    level: float | Sequence[float] = 0.95,
) -> pl.DataFrame:
    """CURVE: each group's share by turn, with an interval, the rollouts at risk and what ended the watch of the others.

    Parameters
    ----------
    rollouts
        ROLLOUTS with a column ``Struct{duration, observed}``, such as `metrics.time_to_success` measures.
    metric
        That column.
    by
        Columns to group by; a null is a group of its own.
    kind
        ``"success"``: the share as run, by Aalen-Johansen; `competing` endings compete, and `budget`, `error` and
        null endings censor. ``"survival"``: Kaplan-Meier, where nothing competes and every other ending censors.
        ``"hazard"``: events among those at risk. ``"incidence"``: as ``"success"``, one curve for each way to end,
        named in `ending`.
    axis
        What the watch is counted in.
    cluster
        As in `summarize`; the intervals stand on the influence of whole clusters.
    competing
        Endings that preclude the event. One competes only where the rollout was watched to its last turn; for
        another event than the attack's success, an ending in success competes too.
    level
        Nominal coverage, or several.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.CURVE`: one row per group and turn from 0 (1 for a hazard) to the last
        turn watched. `at_risk` counts the rollouts watched into the turn.

    Raises
    ------
    SchemaError, ArgumentError
        Where the table is no ROLLOUTS, or an option names what is not there.

    References
    ----------
    Aalen & Johansen (1978), An empirical transition matrix. Scand. J. Statist. 5. Kaplan & Meier (1958),
    doi:10.1080/01621459.1958.10501452. Williams (1995), doi:10.1007/BF00985768. Ying & Wei (1994),
    doi:10.1006/jmva.1994.1031.

    Examples
    --------
    >>> watched = pl.DataFrame(
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
    >>> curve(watched).select("at", "estimate", "at_risk", "events", "censored", "competing")
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
    frame = frame_of(rollouts, "curve")
    require_rollouts(frame, "curve")
    by = names_of(by)
    check_by(frame, by, schema.CURVE, "curve")
    _check_metric(frame, metric, kind, axis, competing)
    sheet = Sheet(frame)
    ways = endings(sheet, metric, () if kind == "survival" else competing)
    rows = [
        {**key, **row}
        for key, group in sheet.groups(by)
        for level_ in check_levels(level)
        for row in _group(sheet, group, ways, metric, kind, cluster, level_)
    ]
    return rows_of(rows, frame, by, schema.CURVE)


def _check_metric(frame: pl.DataFrame, metric: str, kind: str, axis: str, competing: Sequence[str]) -> None:
    times = [name for name, dtype in frame.schema.items() if schema.kind_of(dtype) == "time"]
    if metric not in frame.columns:
        raise ArgumentError(
            f"curve: there is no column {metric!r} (times to an event here: {listing(times)}); "
            "measure one: `tw.measure(turns, m.time_to_success())`"
        )
    if metric not in times:
        raise ArgumentError(
            f"curve: {metric!r} is {frame.schema[metric]}, not a time to an event (here: {listing(times)}); "
            "measure one with `m.time_to(condition)`"
        )
    if kind not in _SAYS:
        raise ArgumentError(f"curve: kind={kind!r} is unknown; it is one of {listing(_SAYS)}")
    if axis != "turn":
        raise ArgumentError(f"curve: axis={axis!r} is unknown; it is 'turn'")
    for ending in competing:
        if ending not in schema.ENDINGS.categories:
            raise ArgumentError(
                f"curve: competing={ending!r} is no ending; it is one of {listing(schema.ENDINGS.categories)}"
            )


def _group(
    sheet: Sheet,
    group: IntArray,
    ways: dict[str, BoolArray],
    metric: str,
    kind: Kind,
    cluster: Cluster,
    level: float,
) -> list[dict[str, Any]]:
    duration, _ = sheet.times(metric)
    rows = group[duration[group] > 0]
    unwatched = f"; {group.size - rows.size} without a time" if group.size > rows.size else ""
    words = {"metric": metric, "kind": kind, "axis": "turn", "level": level}
    if not rows.size:
        nothing = {"at": 0.0, "at_risk": 0, "reason": "no rollout has a time to this event"}
        return [{**words, **nothing, "estimand": _SAYS[kind] + unwatched}]
    unit = unit_of(sheet, rows, metric, cluster)
    words["estimand"] = f"{_SAYS[kind]}, every rollout weighing the same; unit: {unit.words}{unwatched}"
    late = successes_of_unknown_time(sheet, rows, metric)
    note = f"{late} successes of unknown time counted at the last turn" if late else None
    made: list[dict[str, Any]] = []
    for way, happened in ways.items() if kind == "incidence" else [(schema.SUCCESS, ways[schema.SUCCESS])]:
        if way == schema.SUCCESS or happened[rows].any():
            found = _curve(kind, duration[rows], causes(ways, rows, way), unit.codes, level)
            named = {**words, "ending": way if kind == "incidence" else None}
            made += [{**named, **row} for row in positions_of(found, note)]
    return made


def _curve(kind: Kind, duration: IntArray, cause: IntArray, clusters: Clusters, level: float) -> Incidence:
    if kind == "survival":
        found = kaplan_meier(duration, cause == EVENT, clusters, level=level)
        return replace(found, estimate=1 - found.estimate, low=1 - found.high, high=1 - found.low)
    estimator = hazard if kind == "hazard" else cumulative_incidence
    return estimator(duration, cause, clusters, level=level)
