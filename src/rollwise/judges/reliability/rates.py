"""ROLLOUTS and labels -> SUMMARY: rates corrected for the judge's errors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.choices import Unjudged
from rollwise.errors import ArgumentError, counted, listing
from rollwise.estimation.arguments import rollouts_frame
from rollwise.estimation.arrays import Columns, row_of, rows_of
from rollwise.estimation.clusters import Unit, unit_of
from rollwise.estimation.missingness import INAPPLICABLE, counts, statuses
from rollwise.estimation.unjudged import UnjudgedRows, unjudged_of
from rollwise.judges.reliability.gold import POOLED, Gold, gold_of, in_words, refuse_groups_without_labels, transport
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, frame_of, names_of
from rollwise.schema.option_types import check_option_types
from rollwise.stats.by_verdict import by_verdict
from rollwise.stats.estimate import Estimate, FloatArray, IntArray
from rollwise.stats.misclassification import corrected_share, share

Method = Literal["auto", "by-verdict", "rogan-gladen"]
_FAR = 3.0
"""Standard deviations by which a random sample's rate of flagged rollouts hardly ever differs from that of all."""


def correct(
    rollouts: object,
    labels: object,
    *,
    metric: str = "attack_success",
    truth: str = "label",
    probability: str | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    pool: bool = False,
    method: Method = "auto",
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
    probability
        The column of the labels with the probability that the rollout was chosen for a label, above 0 and at most 1. None:
        every rollout with the same verdict was equally likely to be chosen.
    by
        Columns to group by; each group is corrected by its own labels.
    cluster
        As in `summarize`.
    pool
        Whether to estimate sensitivity and specificity from all labels, the same for every group.
    method
        ``"by-verdict"``: for labels on these rollouts. Each label speaks for the rollouts with its verdict, so labels may be
        chosen at random or by the verdict (half of them flagged, say), and nothing is assumed about the judge; they must not be
        chosen by their truth. ``"rogan-gladen"``: by sensitivity and specificity, with Lang and Reiczigel's interval. Valid for
        labels chosen at random or by their truth, also on other rollouts if the judge errs there as here; ruined by labels
        chosen by the verdict. Its interval is wider. ``"auto"``: by verdict if all labels of the group are on rollouts of this
        table, else Rogan-Gladen; null if all labels are successes, or failures, and were not chosen at random. `method` names
        the choice, and `reason` says what it rests on.
    level
        Nominal coverage, or several.
    unjudged
        How to treat rollouts without a verdict, in whole or in part, as in `summarize`. ``"censor"``: an interval that takes their
        expected successes as known.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.SUMMARY`, statistic ``"mean"``; estimate and interval are both corrected. If
        Se + Sp <= 1, the row is null and `reason` says why. If a verdict (or, for Rogan-Gladen, a class) has no label, there is
        no estimate, and the interval covers whatever is true there. `bound_low` and `bound_high` are the
        smallest and the largest corrected rate if every unknown verdict is a failure, a success, or left out.

    Raises
    ------
    SchemaError, ArgumentError
        If a table or an option is invalid.

    References
    ----------
    Rogan & Gladen (1978), doi:10.1093/oxfordjournals.aje.a112510. Lang & Reiczigel (2014),
    doi:10.1016/j.prevetmed.2013.09.015. Fisch et al. (2024), StratPPI, doi:10.48550/arXiv.2406.04291.

    Examples
    --------
    >>> judged = [True] * 30 + [False] * 70
    >>> rollouts = pl.DataFrame({"rollout_id": [f"r{i}" for i in range(100)], "attack_success": judged})
    >>> labels = rollouts[20:60].select("rollout_id", label=pl.int_range(40) < 8)
    >>> correct(rollouts, labels).select("metric", pl.col("estimate", "low", "high").round(3), "n", "method")
    shape: (1, 6)
    ┌────────────────┬──────────┬───────┬───────┬─────┬────────────┐
    │ metric         ┆ estimate ┆ low   ┆ high  ┆ n   ┆ method     │
    │ ---            ┆ ---      ┆ ---   ┆ ---   ┆ --- ┆ ---        │
    │ str            ┆ f64      ┆ f64   ┆ f64   ┆ i64 ┆ str        │
    ╞════════════════╪══════════╪═══════╪═══════╪═════╪════════════╡
    │ attack_success ┆ 0.24     ┆ 0.136 ┆ 0.358 ┆ 100 ┆ by verdict │
    └────────────────┴──────────┴───────┴───────┴─────┴────────────┘
    """
    check_option_types(correct, locals())
    frame, labeled = rollouts_frame(rollouts, "correct"), frame_of(labels, "correct")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.SUMMARY, "correct")
    _check_metric(frame, metric)
    gold = gold_of(labeled, frame, truth=truth, judged=metric, by=by, keys=("rollout_id",), verb="correct")
    if probability is not None and (method == "rogan-gladen" or pool):
        raise ArgumentError(
            "correct: probability= is for labels on these rollouts, by verdict; leave out "
            + ("pool=True" if pool else "method='rogan-gladen'")
        )
    chances = None if probability is None else gold.probabilities(probability, "correct")
    if not pool and method != "by-verdict":
        refuse_groups_without_labels(gold, by, "correct")
    data = Columns(frame, by)
    status = statuses(data, metric)  # of each rollout: judged, partially judged, inapplicable, ...
    truth_of_rows = _of_rollouts(data, gold, gold.truth)
    probabilities = None if chances is None else _of_rollouts(data, gold, chances)
    rows = []
    for key, group in data.groups(by):
        label_rows = gold.rows({} if pool else key)
        # A rollout to which the metric does not apply (no attack) is in no rate.
        applicable = group[status[group] != INAPPLICABLE]
        chosen = method
        if method == "auto":
            chosen = "by-verdict" if probabilities is not None else _suited(gold, label_rows, pool=pool)
        cell = _Cell(
            data, gold, metric, applicable, label_rows, cluster, chosen, method == "auto", truth_of_rows, probabilities
        )
        unjudged_rows = unjudged_of(data, metric, applicable, status[applicable], unjudged)
        for coverage in levels:
            estimate, columns = cell.row(coverage, unjudged_rows, pooled=pool and bool(by))
            words = {"metric": metric, "statistic": "mean", "level": coverage, **counts(status[group]), **columns}
            rows.append({**key, **words, **row_of(estimate)})
    return rows_of(rows, frame, by, schema.SUMMARY)


def _of_rollouts(data: Columns, gold: Gold, column: FloatArray) -> FloatArray:
    """Return the value that the labels have for every rollout of the table, NaN without one."""
    values = gold.data.frame.select("rollout_id", value=pl.Series(column))
    joined = data.frame.select("rollout_id").join(values, on="rollout_id", how="left", maintain_order="left")
    return joined["value"].fill_null(float("nan")).to_numpy()


def _suited(gold: Gold, labeled: IntArray, *, pool: bool) -> Method:
    """Return the method for these labels: by verdict if all of them are on rollouts of this table."""
    return "by-verdict" if labeled.size and gold.in_table[labeled].all() and not pool else "rogan-gladen"


def _not_random(gold: Gold, labeled: IntArray, verdicts: FloatArray) -> str | None:
    """Say that labels on this table's rollouts look like no random sample of them, or return None.

    The number of flagged rollouts among L labeled ones of N is hypergeometric for a random sample.
    """
    here, judged = labeled[gold.in_table[labeled]], verdicts[~np.isnan(verdicts)]
    if not here.size or judged.size < here.size:
        return None
    rate, of_labeled = float(judged.mean()), float(gold.judged[here].mean())
    # Standard deviation of the share among L of N rollouts, drawn without replacement.
    spread = math.sqrt(rate * (1 - rate) / here.size * (judged.size - here.size) / max(1, judged.size - 1))
    if abs(of_labeled - rate) <= _FAR * spread + 1e-12:
        return None
    return f"the judge flagged {of_labeled:.0%} of the labeled rollouts and {rate:.0%} of all"


def _one_class(gold: Gold, labeled: IntArray) -> str | None:
    """Say that the labels on this table's rollouts are all successes, or all failures, or return None."""
    truth = gold.truth[labeled[gold.in_table[labeled]]]
    if truth.size < 2 or np.ptp(truth) > 0:
        return None
    return f"no label is a {'failure' if truth[0] else 'success'}"


def _check_metric(frame: pl.DataFrame, metric: str) -> None:
    shares = [name for name, dtype in frame.schema.items() if dtype == pl.Boolean]
    if metric not in shares:
        raise ArgumentError(
            f"correct: there is no Boolean metric {metric!r} in this table (available: {listing(shares)}); "
            "measure one: `rw.measure(turns, m.attack_success())`"
        )


@dataclass(frozen=True, slots=True)
class _Cell:
    """One group of rollouts to which the metric applies, and the labels that it is corrected by."""

    data: Columns
    gold: Gold
    metric: str
    rows: IntArray
    labeled: IntArray
    cluster: Cluster
    method: Method
    guessed: bool  # True if the method was not asked for
    truth: FloatArray  # of each row of the table: the label, NaN without one
    chances: FloatArray | None  # of each row of the table: the probability that its label was chosen

    def row(self, level: float, unjudged: UnjudgedRows, *, pooled: bool) -> tuple[Estimate, dict[str, Any]]:
        """Return the estimate, and further columns of SUMMARY."""
        values = self.data.numbers(self.metric)[self.rows]
        unit = unit_of(self.data, self.rows[~np.isnan(values)], self.metric, self.cluster)

        def corrected(values: FloatArray) -> list[dict[str, Any]]:
            rows = self.rows[~np.isnan(values)]
            unit_of_rows = unit_of(self.data, rows, self.metric, unit.names or None)
            return [row_of(self._corrected(rows, values[~np.isnan(values)], unit_of_rows, level))]

        (columns,) = unjudged.combined(corrected)
        estimate = replace(Estimate(**columns), n=int((~np.isnan(values)).sum()))
        # The same unit at both ends: which verdicts are unknown must not change what is independent.
        unit_of_all = unit_of(self.data, self.rows, self.metric, unit.names or None)
        ends = [self._corrected(self.rows, np.nan_to_num(values, nan=end), unit_of_all, level) for end in (0.0, 1.0)]
        notes = [
            estimate.reason,
            *self._notes(unit.names, values),
            POOLED if pooled and self.method == "rogan-gladen" else None,
        ]
        return replace(estimate, reason="; ".join(filter(None, notes)) or None), {
            **_bounds([*ends, estimate]),
            "estimand": f"true rate of {self.metric}, every rollout weighing the same; unit: {unit.words}; "
            + self._basis(unit.names, level),
        }

    def _corrected(self, rows: IntArray, values: FloatArray, unit: Unit, level: float) -> Estimate:
        if self.method == "by-verdict":
            if self.guessed and (question := self._question(values)):
                return Estimate(n=values.size, reason=question)
            chances = None if self.chances is None else self.chances[rows]
            return by_verdict(values, self.truth[rows], unit.codes, probability=chances, level=level)
        right, wrong = self.gold.accuracy(self.labeled, unit.names, level)
        return corrected_share(share(values, unit.codes, level=level), right, wrong, level=level)

    def _question(self, values: FloatArray) -> str | None:
        """Return what to ask if the labels may have been chosen by their truth, where a correction by verdict is wrong."""
        selection, class_flaw = _not_random(self.gold, self.labeled, values), _one_class(self.gold, self.labeled)
        if self.chances is not None or not selection or not class_flaw:
            return None
        return (
            f"{class_flaw}, and {selection}: if the labels were chosen by the verdict, set method='by-verdict'; if by their truth, "
            "method='rogan-gladen'"
        )

    def _basis(self, names: tuple[str, ...], level: float) -> str:
        """Return the basis of the correction, for the estimand."""
        if self.method == "rogan-gladen":
            return in_words(*self.gold.accuracy(self.labeled, names, level))
        truth, verdicts = (column[self.rows] for column in (self.truth, self.data.numbers(self.metric)))
        labeled = ~np.isnan(truth)
        numbers = " and ".join(
            f"{int((labeled & (verdicts == verdict)).sum()):,} of {counted(int((verdicts == verdict).sum()), name)}"
            for verdict, name in ((1.0, "flagged rollout"), (0.0, "other rollout"))
        )
        return f"labels on {numbers}, chosen " + (
            "at random or by the verdict" if self.chances is None else "with the probabilities given"
        )

    def _notes(self, names: tuple[str, ...], values: FloatArray) -> list[str]:
        if self.method == "rogan-gladen":
            chosen = _not_random(self.gold, self.labeled, values)
            ruined = f"{chosen}: this holds only if the labels were chosen by their truth, not by the verdict"
            return [*([ruined] if chosen else []), *transport(self.gold, self.labeled, names)]
        notes, outside = [], int((~self.gold.in_table[self.gold.complete]).sum())
        one_class = _one_class(self.gold, self.labeled)
        if one_class and not (self.guessed and self._question(values)):
            notes.append(f"{one_class}: this holds unless the labels were chosen by their truth")
        if outside:
            labels = counted(outside, "label is on another rollout", "labels are on other rollouts")
            notes.append(f"{labels} and left out")
        return notes


def _bounds(ends: list[Estimate]) -> dict[str, float | None]:
    """Return the smallest and the largest of the corrected rates: with every unknown verdict a failure, a success, and left out.

    A judge that is hardly better than chance may reverse their order, and labels on rollouts without a verdict count only in
    the first two.
    """
    points = sorted(end.estimate for end in ends if end.estimate is not None)
    return {"bound_low": points[0], "bound_high": points[-1]} if len(points) == len(ends) else {}
