"""ROLLOUTS and labels -> SUMMARY: rates corrected for the judge's errors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, counted, listing
from turnwise.estimation.arguments import rollouts_frame
from turnwise.estimation.arrays import Sheet, row_of, rows_of
from turnwise.estimation.clusters import Unit, unit_of
from turnwise.estimation.missingness import INAPPLICABLE, counts, headings
from turnwise.estimation.unjudged import Unjudged, UnjudgedRows, check_unjudged, unjudged_of
from turnwise.judges.reliability.gold import POOLED, Gold, gold_of, in_words, refuse_groups_without_labels, transport
from turnwise.schema.arguments import By, Cluster, check_by, check_levels, frame_of, names_of
from turnwise.schema.kinds import check_kinds
from turnwise.stats.estimate import Estimate, FloatArray, IntArray
from turnwise.stats.misclassification import corrected_share, share
from turnwise.stats.prediction_powered import prediction_powered

Method = Literal["rogan-gladen", "prediction-powered"]


def correct(
    rollouts: object,
    labels: object,
    *,
    metric: str = "attack_success",
    truth: str = "label",
    by: By = (),
    method: Method = "rogan-gladen",
    pool: bool = False,
    cluster: Cluster = "auto",
    level: float | Sequence[float] = 0.95,
    unjudged: Unjudged = "bounds",
) -> pl.DataFrame:
    """SUMMARY: each group's true rate, from a judge's verdicts on all rollouts and the truth about some.

    Parameters
    ----------
    rollouts
        ROLLOUTS, where `metric` is the judge's verdict.
    labels
        `rollout_id` and the column `truth` (Boolean, or 0 and 1), one row per rollout. Labels on rollouts that are not in the
        first table also need the judge's verdict, in a column named like the metric, and the `by` and cluster columns.
    metric
        A Boolean column of the rollouts.
    truth
        The column of the labels that holds the truth.
    by
        Columns to group by; each group is corrected by its own labels.
    method
        ``"rogan-gladen"``: by sensitivity and specificity, with Lang and Reiczigel's interval. Valid for labels chosen at
        random, or by their truth; not for labels chosen by the verdict. ``"prediction-powered"``: for labels on a random
        sample of these rollouts or clusters; it assumes nothing about the judge, and its interval is narrower (.21 against
        .37 wide for labels on 60 of 200 rollouts of 40 goals, both with nominal coverage).
    pool
        Whether to estimate sensitivity and specificity from all labels, the same for every group.
    cluster
        As in `summarize`.
    level
        Nominal coverage, or several.
    unjudged
        How to treat rollouts with unjudged turns and no success, as in `summarize`. ``"censor"``: an interval that takes their
        expected successes as known.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.SUMMARY`, statistic ``"mean"``; estimate and interval are both corrected. If
        Se + Sp <= 1, the row is null and `reason` says why. If a class has no label, the interval covers every accuracy of the
        judge on it. `bound_low` and `bound_high` are the
        corrected rates if every unknown verdict were a failure, or a success.

    Raises
    ------
    SchemaError, ArgumentError
        If a table or an option is invalid.

    References
    ----------
    Rogan & Gladen (1978), doi:10.1093/oxfordjournals.aje.a112510. Lang & Reiczigel (2014),
    doi:10.1016/j.prevetmed.2013.09.015. Angelopoulos, Duchi & Zrnic (2023), doi:10.48550/arXiv.2311.01453.

    Examples
    --------
    >>> judged = [True] * 30 + [False] * 70
    >>> rollouts = pl.DataFrame({"rollout_id": [f"r{i}" for i in range(100)], "attack_success": judged})
    >>> labels = rollouts[20:60].select("rollout_id", label=pl.int_range(40) < 8)
    >>> correct(rollouts, labels).select("metric", pl.col("estimate", "low", "high").round(3), "n", "method")
    shape: (1, 6)
    ┌────────────────┬──────────┬───────┬───────┬─────┬──────────────────────────────┐
    │ metric         ┆ estimate ┆ low   ┆ high  ┆ n   ┆ method                       │
    │ ---            ┆ ---      ┆ ---   ┆ ---   ┆ --- ┆ ---                          │
    │ str            ┆ f64      ┆ f64   ┆ f64   ┆ i64 ┆ str                          │
    ╞════════════════╪══════════╪═══════╪═══════╪═════╪══════════════════════════════╡
    │ attack_success ┆ 0.253    ┆ 0.123 ┆ 0.427 ┆ 100 ┆ Rogan-Gladen, Lang-Reiczigel │
    └────────────────┴──────────┴───────┴───────┴─────┴──────────────────────────────┘
    """
    check_kinds(correct, locals())
    frame, labeled = rollouts_frame(rollouts, "correct"), frame_of(labels, "correct")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.SUMMARY, "correct")
    _check_metric(frame, metric, method)
    check_unjudged(unjudged, "correct")
    gold = gold_of(labeled, frame, truth=truth, judged=metric, by=by, keys=("rollout_id",), verb="correct")
    if not pool and method == "rogan-gladen":
        refuse_groups_without_labels(gold, by, "correct")
    sheet = Sheet(frame)
    status = headings(sheet, metric)  # of each rollout: judged, partially judged, inapplicable, ...
    rows = []
    for key, group in sheet.groups(by):
        label_rows = gold.rows({} if pool else key)
        applicable = group[status[group] != INAPPLICABLE]
        cell = _Cell(sheet, gold, metric, applicable, label_rows, cluster, method)
        unjudged_rows = unjudged_of(sheet, metric, applicable, status[applicable], unjudged)
        for coverage in levels:
            estimate, columns = cell.row(coverage, unjudged_rows, pooled=pool and bool(by))
            words = {"metric": metric, "statistic": "mean", "level": coverage, **counts(status[group]), **columns}
            rows.append({**key, **words, **row_of(estimate)})
    return rows_of(rows, frame, by, schema.SUMMARY)


def _check_metric(frame: pl.DataFrame, metric: str, method: str) -> None:
    if method not in {"rogan-gladen", "prediction-powered"}:
        raise ArgumentError(f"correct: method={method!r} is unknown; it is rogan-gladen or prediction-powered")
    shares = [name for name, dtype in frame.schema.items() if dtype == pl.Boolean]
    if metric not in shares:
        raise ArgumentError(
            f"correct: there is no Boolean metric {metric!r} in this table (there is {listing(shares)}); "
            "measure one: `tw.measure(turns, m.attack_success())`"
        )


@dataclass(frozen=True, slots=True)
class _Cell:
    """One group of rollouts to which the metric applies, and the labels that it is corrected by."""

    sheet: Sheet
    gold: Gold
    metric: str
    rows: IntArray
    labeled: IntArray
    cluster: Cluster
    method: Method

    def row(self, level: float, unjudged: UnjudgedRows, *, pooled: bool) -> tuple[Estimate, dict[str, Any]]:
        """Return the estimate, and further columns of SUMMARY."""
        values = self.sheet.numbers(self.metric)[self.rows]
        unit = unit_of(self.sheet, self.rows[~np.isnan(values)], self.metric, self.cluster)

        def corrected(values: FloatArray) -> list[dict[str, Any]]:
            rows = self.rows[~np.isnan(values)]
            unit_of_rows = unit_of(self.sheet, rows, self.metric, unit.names or None)
            return [row_of(self._corrected(rows, values[~np.isnan(values)], unit_of_rows, level))]

        (columns,) = unjudged.combined(corrected)
        estimate = replace(Estimate(**columns), n=int((~np.isnan(values)).sum()))
        # The same unit at both ends: which verdicts are unknown must not change what is independent.
        unit_of_all = unit_of(self.sheet, self.rows, self.metric, unit.names or None)
        ends = [self._corrected(self.rows, np.nan_to_num(values, nan=end), unit_of_all, level) for end in (0.0, 1.0)]
        notes = [
            estimate.reason,
            *self._notes(unit.names),
            POOLED if pooled and self.method == "rogan-gladen" else None,
        ]
        return replace(estimate, reason="; ".join(filter(None, notes)) or None), {
            **_bounds(ends),
            "estimand": f"true rate of {self.metric}, every rollout weighing the same; unit: {unit.words}; "
            + self._basis(unit.names, level),
        }

    def _corrected(self, rows: IntArray, values: FloatArray, unit: Unit, level: float) -> Estimate:
        if self.method == "prediction-powered":
            return prediction_powered(values, self._truth()[rows], unit.codes, level=level)
        right, wrong = self.gold.accuracy(self.labeled, unit.names, level)
        return corrected_share(share(values, unit.codes, level=level), right, wrong, level=level)

    def _truth(self) -> FloatArray:
        """Return the label of every rollout of the table, NaN without one."""
        ids = self.gold.sheet.frame.select("rollout_id", truth=pl.Series(self.gold.truth))
        joined = self.sheet.frame.select("rollout_id").join(ids, on="rollout_id", how="left", maintain_order="left")
        return joined["truth"].fill_null(float("nan")).to_numpy()

    def _basis(self, names: tuple[str, ...], level: float) -> str:
        """Return the basis of the correction, for the estimand."""
        if self.method == "prediction-powered":
            num_labels = int((~np.isnan(self._truth()[self.rows])).sum())
            return f"labels on {num_labels:,} of {counted(self.rows.size, 'rollout')}, at random"
        return in_words(*self.gold.accuracy(self.labeled, names, level))

    def _notes(self, names: tuple[str, ...]) -> list[str]:
        if self.method == "rogan-gladen":
            return transport(self.gold, self.labeled, names)
        outside = int((~self.gold.in_table[self.gold.complete]).sum())
        labels = counted(outside, "label is on another rollout", "labels are on other rollouts")
        return [f"{labels} and left out"] if outside else []


def _bounds(ends: list[Estimate]) -> dict[str, float | None]:
    """Return the corrected rates with every unknown verdict a failure, and a success.

    Sorted, because a judge that is hardly better than chance may reverse their order.
    """
    points = sorted(end.estimate for end in ends if end.estimate is not None)
    return {"bound_low": points[0], "bound_high": points[-1]} if len(points) == len(ends) else {}
