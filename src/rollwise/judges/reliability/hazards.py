"""ROLLOUTS and labels -> CURVE: the share by turn, with each turn's hazard corrected for the judge's errors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, counted
from rollwise.estimation.arguments import check_time
from rollwise.estimation.arrays import Columns, causes, endings, positions_of, rows_of, successes_of_unknown_time
from rollwise.estimation.clusters import unit_of
from rollwise.judges.reliability.gold import POOLED, Gold, gold_of, in_words, refuse_groups_without_labels, transport
from rollwise.judges.reliability.rates import Method
from rollwise.judges.reliability.ratings import KEYS
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, frame_of, names_of, require_rollouts
from rollwise.schema.option_types import check_option_types
from rollwise.stats.estimate import IntArray
from rollwise.stats.influence import EVENT
from rollwise.stats.misclassification import Share, share
from rollwise.stats.misclassified_incidence import Sources, corrected_incidence, errors_by_verdict

_SAYS = {
    "success": "with the event by turn t",
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
    method: Method = "auto",
    level: float | Sequence[float] = 0.95,
) -> pl.DataFrame:
    """CURVE: the true share with the event by turn, each turn's hazard corrected for the judge's errors in one turn.

    A judge that raises a false alarm once in twenty turns "breaks" a perfectly safe target in 40 % of rollouts of ten turns:
    that share, 1 - Sp^t, is `false_alarm_floor`, and the uncorrected `curve` would show it. Correcting F(t) as a rate does not
    help, because errors accumulate over turns. Correcting hazards does, if the judge errs independently from turn to turn and
    a missed success changes neither what follows nor how the rollout ends. If goals differ much and the judge misses many
    successes, the result is slightly too high: by .02 at 8 turns with a sensitivity of .7 and an intraclass correlation of .3.

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
        ``"success"``: the share with the event; ``"survival"``: the share not yet broken, if nothing else ended a rollout
        (with false alarms alone, this share is Sp^t).
    pool
        As in `correct`.
    method
        ``"by-verdict"``: each label speaks for the turns with its verdict up to the end of the rollout or its first flag, so that
        labels may be chosen by the verdict; sensitivity and specificity follow from these shares. ``"rogan-gladen"``: they are
        counted among the labels, which must be chosen at random or by their truth, also in other rollouts. ``"auto"``: by verdict
        if all labels of the group are on rollouts of this table and both verdicts have some, else Rogan-Gladen.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.CURVE`. `at_risk` and `events` are the judge's counts. The share is kept within
        [0, 1] but may fall where noise exceeds the true hazard. If Se + Sp <= 1, or a class has no label, it is null and
        `reason` says why.

    Raises
    ------
    SchemaError, ArgumentError
        If a table or an option is invalid.

    References
    ----------
    Rogan & Gladen (1978), doi:10.1093/oxfordjournals.aje.a112510. Zou & Donner (2008), doi:10.1002/sim.3095.

    Examples
    --------
    >>> import rollwise as rw
    >>> turns, _ = rw.simulate(targets={"safe": 0.0}, judge=(0.9, 0.95), seed=1)
    >>> rollouts = rw.measure(turns, rw.metrics.time_to_success())
    >>> labels = turns.select("rollout_id", "turn", "succeeded", label=False)[:400]
    >>> broken = pl.DataFrame({"rollout_id": [f"b{i}" for i in range(40)], "turn": 1, "succeeded": True, "label": True})
    >>> labels = pl.concat([labels, broken], how="diagonal_relaxed")
    >>> last = correct_curve(rollouts, labels).tail(1)
    >>> last.select(pl.col("estimate", "low", "high", "false_alarm_floor").round(2)).row(0)
    (0.0, 0.0, 0.18, 0.42)
    """
    check_option_types(correct_curve, locals())
    frame, labeled = frame_of(rollouts, "correct_curve"), frame_of(labels, "correct_curve")
    require_rollouts(frame, "correct_curve")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.CURVE, "correct_curve")
    check_time(frame, metric, competing, "correct_curve")
    _check(labeled, judged)
    gold = gold_of(labeled, frame, truth=truth, judged=judged, by=by, keys=KEYS, verb="correct_curve")
    if not pool:
        refuse_groups_without_labels(gold, by, "correct_curve")
    data = Columns(frame)
    causes_of_end = endings(data, metric, () if kind == "survival" else competing)
    duration, _ = data.times(metric)
    curves = []

    def share_flagged(rows: IntArray) -> float:
        turns = float(duration[rows].sum())
        return float((causes(causes_of_end, rows) == EVENT).sum()) / turns if turns else 0.0

    for key, group in data.groups(by):
        rows = group[duration[group] > 0]  # a comparison with NaN is false: rollouts without a time are left out
        # With `pool`, every group is corrected by all labels.
        label_rows = gold.rows({} if pool else key)
        unit = unit_of(data, rows, metric, cluster)
        watched = _watched(gold, label_rows, data.frame, duration, method, share_flagged(rows), pool=pool)
        # A verdict on a whole rollout has no turn, so it cannot be corrected turn by turn: the note says how many.
        late = successes_of_unknown_time(data, rows, metric)
        notes = [
            f"{counted(late, 'success was judged of a whole rollout', 'successes were judged of whole rollouts')}, "
            "to which errors by turn do not apply"
            if late
            else None,
            *watched.notes,
            *transport(gold, label_rows, unit.names),
            POOLED if pool and by else None,
        ]
        note = "; ".join(filter(None, notes)) or None
        without_time = f"; {group.size - rows.size} without a time" if group.size > rows.size else ""
        for coverage in levels:
            right, wrong, sources = _errors(gold, label_rows, watched, unit.names, coverage)
            corrected = corrected_incidence(
                duration[rows],
                causes(causes_of_end, rows),
                unit.codes,
                sensitivity=right,
                specificity=wrong,
                sources=sources,
                level=coverage,
            )
            curve = corrected.curve
            if kind == "survival":
                # The complement swaps the ends of the interval.
                curve = replace(curve, estimate=1 - curve.estimate, low=1 - curve.high, high=1 - curve.low)
            words = {
                "metric": metric,
                "kind": kind,
                "axis": "turn",
                "level": coverage,
                "estimand": f"true share {_SAYS[kind]}, every rollout weighing the same; unit: {unit.words}{without_time}; "
                + (in_words(right, wrong) if sources is None else watched.words(right, wrong)),
            }
            floor = 1 - corrected.false_alarm_floor if kind == "survival" else corrected.false_alarm_floor
            curves += [
                {**key, **words, **row, "false_alarm_floor": None if np.isnan(value) else float(value)}
                for row, value in zip(positions_of(curve, note), floor, strict=True)
            ]
    return rows_of(curves, frame, by, schema.CURVE)


@dataclass(frozen=True, slots=True)
class _Watched:
    """The labels that count by verdict: those on turns up to the end of the rollout or its first flag."""

    rows: IntArray | None  # None for Rogan-Gladen
    flagged: float  # share of flagged turns among all of these turns
    notes: tuple[str, ...] = ()

    def words(self, right: Share, wrong: Share) -> str:
        """Describe the accuracies, and say which labels they are from."""
        number = counted(0 if self.rows is None else self.rows.size, "label")
        accuracies = in_words(right, wrong, with_counts=False)
        return f"{accuracies}, from {number} by verdict, chosen at random or by the verdict"


def _watched(
    gold: Gold,
    labeled: IntArray,
    frame: pl.DataFrame,
    duration: IntArray,
    method: Method,
    flagged: float,
    *,
    pool: bool,
) -> _Watched:
    """Return the labels that count, if the accuracy of the judge follows from the verdicts' shares of true events."""
    of_table = labeled[gold.in_table[labeled]]
    if (
        method == "rogan-gladen"
        or pool
        or not gold.data.has("turn")
        or (method == "auto" and of_table.size < labeled.size)
    ):
        return _Watched(None, flagged)
    ends = frame.select("rollout_id", end=pl.Series(duration))
    end = gold.data.frame.select("rollout_id").join(ends, on="rollout_id", how="left", maintain_order="left")["end"]
    rows = of_table[gold.data.numbers("turn")[of_table] <= end.fill_null(0).to_numpy()[of_table]]
    # Without labels of both verdicts, or of both truths, the shares of true events say nothing of the accuracy.
    complete = all(np.unique(column[rows]).size == 2 for column in (gold.judged, gold.truth))
    if method == "auto" and not complete:
        return _Watched(None, flagged)
    late = of_table.size - rows.size
    words = (
        "label is on a turn after the first flag and left out",
        "labels are on turns after the first flag and left out",
    )
    return _Watched(rows, flagged, (counted(late, *words),) if late else ())


def _errors(
    gold: Gold, labeled: IntArray, watched: _Watched, names: tuple[str, ...], level: float
) -> tuple[Share, Share, Sources | None]:
    """Return sensitivity and specificity, and what is uncertain about them."""
    if watched.rows is None:
        return (*gold.accuracy(labeled, names, level), None)
    often, seldom = (
        share(gold.truth[rows], gold.clusters(rows, names), level=level)
        for rows in (watched.rows[gold.judged[watched.rows] == verdict] for verdict in (1.0, 0.0))
    )
    if not often.n or not seldom.n:
        return (*gold.accuracy(watched.rows, names, level), None)
    return errors_by_verdict(watched.flagged, often, seldom, level=level)


def _check(labels: pl.DataFrame, judged: str) -> None:
    if judged not in labels.columns:
        raise ArgumentError(
            f"correct_curve: the labels have no column {judged!r} with the judge's verdict on the same turn; "
            f'`labels.join(turns.select("rollout_id", "turn", "{judged}"), on=["rollout_id", "turn"])` adds it'
        )
