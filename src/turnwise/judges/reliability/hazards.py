"""ROLLOUTS and labels -> CURVE: the share by turn, with the judge's errors taken out of each turn's hazard."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, counted, listing
from turnwise.estimation.arguments import check_time
from turnwise.estimation.arrays import Sheet, causes, endings, positions_of, rows_of, successes_of_unknown_time
from turnwise.estimation.clusters import unit_of
from turnwise.judges.reliability.gold import POOLED, gold_of, in_words, refuse_groups_without_labels, transport
from turnwise.judges.reliability.ratings import KEYS
from turnwise.schema.arguments import By, Cluster, check_by, check_levels, frame_of, names_of, require_rollouts
from turnwise.stats.misclassified_incidence import corrected_incidence

_SAYS = {
    "success": "with the event by turn t, as run",
    "survival": "without the event after turn t, if nothing else ended a run",
}


def correct_curve(
    rollouts: object,
    labels: object,
    *,
    metric: str = "time_to_success",
    judged: str = "succeeded",
    truth: str = "label",
    by: By = (),
    kind: Literal["success", "survival"] = "success",
    pool: bool = False,
    cluster: Cluster = "auto",
    competing: Sequence[str] = schema.COMPETING,
    level: float | Sequence[float] = 0.95,
) -> pl.DataFrame:
    """CURVE: the true share with the event by turn, each turn's hazard corrected for the judge's errors in one turn.

    A judge that raises a false alarm once in twenty turns "breaks" a perfectly safe target in 40 % of rollouts of ten turns:
    that is `false_alarm_floor`, 1 - Sp^t, and what the uncorrected `curve` would show. Correcting F(t) as a rate does not
    help, since errors add up over turns; correcting hazards does, where the judge errs independently from turn to turn and a
    missed success changes neither what follows nor how the rollout ends. Goals that differ much and a judge that misses
    much push the result up a little: by .02 at 8 turns with a sensitivity of .7 and an intraclass correlation of .3.

    Parameters
    ----------
    rollouts
        ROLLOUTS with the time to the event by the judge's verdicts, as `curve` takes them.
    labels
        A row for each labeled turn: `rollout_id`, `turn`, the judge's verdict `judged` and the truth, Boolean or 0 and 1.
    metric, by, cluster, competing, level
        As in `curve`.
    judged, truth
        Columns of the labels.
    kind
        ``"success"``: as run; ``"survival"``: the share not yet broken, if nothing else ended a run (and Sp^t).
    pool
        As in `correct`.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.CURVE`. `at_risk` and `events` are the judge's counts. The share is kept within
        [0, 1] but may fall where noise exceeds what happens. Where Se + Sp <= 1, or a class has no label, it is null and
        `reason` says why.

    Raises
    ------
    SchemaError, ArgumentError
        Where a table or an option is not what it should be.

    References
    ----------
    Rogan & Gladen (1978), doi:10.1093/oxfordjournals.aje.a112510. Zou & Donner (2008), doi:10.1002/sim.3095.

    Examples
    --------
    >>> import turnwise as tw
    >>> turns, _ = tw.simulate(targets={"safe": 0.0}, judge=(0.9, 0.95), seed=1)
    >>> rollouts = tw.measure(turns, tw.metrics.time_to_success())
    >>> labels = turns.select("rollout_id", "turn", "succeeded", label=False)[:400]
    >>> broken = pl.DataFrame({"rollout_id": [f"b{i}" for i in range(40)], "turn": 1, "succeeded": True, "label": True})
    >>> labels = pl.concat([labels, broken], how="diagonal_relaxed")
    >>> last = correct_curve(rollouts, labels).tail(1)
    >>> last.select(pl.col("estimate", "low", "high", "false_alarm_floor").round(2)).row(0)
    (0.0, 0.0, 0.18, 0.42)
    """
    frame, given = frame_of(rollouts, "correct_curve"), frame_of(labels, "correct_curve")
    require_rollouts(frame, "correct_curve")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.CURVE, "correct_curve")
    check_time(frame, metric, competing, "correct_curve")
    _check(given, judged, kind)
    gold = gold_of(given, frame, truth=truth, judged=judged, by=by, keys=KEYS, verb="correct_curve")
    if not pool:
        refuse_groups_without_labels(gold, by, "correct_curve")
    sheet = Sheet(frame)
    ways = endings(sheet, metric, () if kind == "survival" else competing)
    duration, _ = sheet.times(metric)
    made = []
    for key, group in sheet.groups(by):
        rows = group[duration[group] > 0]
        chosen = gold.rows({} if pool else key)
        unit = unit_of(sheet, rows, metric, cluster)
        late = successes_of_unknown_time(sheet, rows, metric)
        notes = [
            f"{counted(late, 'success was judged of a whole rollout', 'successes were judged of whole rollouts')}, "
            "to which errors by turn do not apply"
            if late
            else None,
            *transport(gold, chosen, unit.names),
            POOLED if pool and by else None,
        ]
        note = "; ".join(filter(None, notes)) or None
        unwatched = f"; {group.size - rows.size} without a time" if group.size > rows.size else ""
        for wanted in levels:
            right, wrong = gold.accuracy(chosen, unit.names, wanted)
            found = corrected_incidence(
                duration[rows], causes(ways, rows), unit.codes, sensitivity=right, specificity=wrong, level=wanted
            )
            curve = found.curve
            if kind == "survival":
                curve = replace(curve, estimate=1 - curve.estimate, low=1 - curve.high, high=1 - curve.low)
            words = {
                "metric": metric,
                "kind": kind,
                "axis": "turn",
                "level": wanted,
                "estimand": f"true share {_SAYS[kind]}, every rollout weighing the same; unit: {unit.words}{unwatched}; "
                + in_words(right, wrong),
            }
            floors = 1 - found.false_alarm_floor if kind == "survival" else found.false_alarm_floor
            made += [
                {**key, **words, **row, "false_alarm_floor": None if np.isnan(floor) else float(floor)}
                for row, floor in zip(positions_of(curve, note), floors, strict=True)
            ]
    return rows_of(made, frame, by, schema.CURVE)


def _check(labels: pl.DataFrame, judged: str, kind: str) -> None:
    if kind not in _SAYS:
        raise ArgumentError(f"correct_curve: kind={kind!r} is unknown; it is one of {listing(_SAYS)}")
    if judged not in labels.columns:
        raise ArgumentError(
            f"correct_curve: the labels have no column {judged!r} with the judge's verdict on the same turn; "
            f'`labels.join(turns.select("rollout_id", "turn", "{judged}"), on=["rollout_id", "turn"])` adds it'
        )
