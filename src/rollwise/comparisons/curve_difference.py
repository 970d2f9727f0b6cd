"""ROLLOUTS -> differences between the curves of two groups: a CURVE by turn, and a CONTRAST with one test."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, listing
from rollwise.estimation.arguments import check_time, rollouts_frame
from rollwise.estimation.arrays import Columns, causes, endings, join_reasons, rows_of
from rollwise.estimation.clusters import Unit, unit_of
from rollwise.estimation.comparable import refuse_other_judges
from rollwise.estimation.curve_support import PAST_THE_DATA, few_at_risk
from rollwise.estimation.stopped_loops import later_attempts
from rollwise.schema.arguments import (
    By,
    Cluster,
    check_by,
    check_levels,
    check_one_value,
    names_of,
    value_in_words,
)
from rollwise.schema.named import values_named
from rollwise.schema.option_types import check_option_types
from rollwise.stats.estimate import BoolArray, IntArray
from rollwise.stats.incidence import clusters_at_risk
from rollwise.stats.influence import EVENT, Watch, watch
from rollwise.stats.two_curves import common_positions, incidence_difference, log_rank, restricted_mean_difference

NO_INTERVAL = "events beyond the expected number have no interval; that of restricted_mean is in turns"
"""Reason of a log-rank row."""


def curve_difference(
    rollouts: object,
    *,
    of: str,
    baseline: object,
    metric: str = "time_to_success",
    by: By = (),
    cluster: Cluster = "auto",
    competing: Sequence[str] = schema.COMPETING,
    level: float | Sequence[float] = 0.95,
    force: bool = False,
) -> pl.DataFrame:
    """Estimate the difference between each group's curve and the baseline's, turn by turn.

    Parameters
    ----------
    rollouts
        ROLLOUTS with a time to an event, as for `curve`.
    of, baseline
        The column whose values are compared, and the value that the others are compared with.
    metric, by, cluster, competing, level
        As for `curve`. Goals in both arms count as pairs.
    force
        As for `contrast`.

    Returns
    -------
    polars.DataFrame
        `by`, `group` and `baseline`, then the columns of `schema.CURVE` with kind ``"difference"``: a row per turn from 1 to
        the last one that follow-ups of both arms reached. `at_risk` and the other counts describe the group; `reason` says
        where fewer than 10 rollouts or 5 clusters of an arm are at risk after a censoring. The interval is
        `stats.two_curves.incidence_difference`: pointwise, within [-1, 1], never of zero width.

    Raises
    ------
    SchemaError, ArgumentError
        As for `curve`, and if the baseline does not occur, or had different judges.

    Examples
    --------
    >>> import rollwise as rw
    >>> turns, _ = rw.simulate(targets={"base": 0.15, "guarded": 0.03}, seed=2)
    >>> rows = rw.comparisons.curve_difference(rw.measure(turns), of="target", baseline="base")
    >>> rows["group", "baseline", "at"].row(0), bool(rows["high"][-1] < 0)
    (('guarded', 'base', 1.0), True)
    """
    check_option_types(curve_difference, locals())
    frame, by, levels = _check_arguments(
        rollouts, of, baseline, metric, by, competing, level, "curve_difference", schema.CURVE
    )
    data = Columns(frame, (of, *by))
    ways = endings(data, metric, competing)
    result = []
    if not force:
        _check_judges(data, by, of, baseline, "curve_difference")
    for arms in _arms(data, by, of, baseline, metric, cluster):
        cause = causes(ways, arms.rows)
        for level_ in levels:
            differences = incidence_difference(arms.duration, cause, arms.in_group, arms.unit.codes, level=level_)
            at = common_positions(arms.duration, arms.in_group) if differences else np.zeros(1, dtype=np.int64)
            followed, compared = (
                watch(arms.duration[arm], cause[arm], at=at) for arm in (arms.in_group, ~arms.in_group)
            )
            few = np.any(
                [arms.few_at_risk(followed, arms.in_group), arms.few_at_risk(compared, ~arms.in_group)], axis=0
            )
            shared = {
                **arms.words(metric, level_, "observed share with the event by turn t"),
                "kind": "difference",
                "axis": "turn",
                "method": "Aalen-Johansen, difference by square-and-add",
            }
            for t, row in enumerate(differences, 1):
                counts = {
                    name: int(getattr(followed, name)[t]) for name in ("at_risk", "events", "censored", "competing")
                }
                numbers = {**asdict(row), "reason": join_reasons(row.reason, PAST_THE_DATA if few[t] else None)}
                result.append({**shared, **numbers, "estimate": row.difference, "at": float(followed.at[t]), **counts})
            # Without follow-up in one arm there is still one row, which gives the reason.
            if not differences:
                result.append(
                    {
                        **shared,
                        "at": 0.0,
                        "at_risk": 0,
                        "method": None,
                        "reason": "no rollout of one of the two was followed",
                    }
                )
    return _frame_of(result, frame, by, schema.CURVE)


def curve_test(
    rollouts: object,
    *,
    of: str,
    baseline: object,
    metric: str = "time_to_success",
    by: By = (),
    cluster: Cluster = "auto",
    level: float | Sequence[float] = 0.95,
    force: bool = False,
) -> pl.DataFrame:
    """Compare two curves by one number each: the log-rank test, and the difference between restricted mean times.

    Parameters
    ----------
    rollouts, of, baseline, metric, by, cluster, level, force
        As for `curve_difference`.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.CONTRAST`, two rows per group. ``statistic="log_rank"``: `difference` is the
        group's number of events minus the expected one, `p_value` tests equal hazards over clusters; it has no interval, and
        `reason` says so.
        ``"restricted_mean"``: turns to the event, up to the last turn that follow-ups of both arms reached, group minus
        baseline. Both treat any other ending as censoring. `n_pairs` counts clusters in both arms.

    Raises
    ------
    SchemaError, ArgumentError
        As for `curve_difference`.

    References
    ----------
    Jeong & Jung (2006), doi:10.1002/sim.2198; Royston & Parmar (2013), doi:10.1186/1471-2288-13-152.

    Examples
    --------
    >>> import rollwise as rw
    >>> turns, _ = rw.simulate(targets={"base": 0.15, "guarded": 0.03}, seed=2)
    >>> rows = rw.comparisons.curve_test(rw.measure(turns), of="target", baseline="base")
    >>> rows["statistic"].to_list(), bool(rows["p_value"].max() < 0.001)
    (['log_rank', 'restricted_mean'], True)
    """
    check_option_types(curve_test, locals())
    frame, by, levels = _check_arguments(rollouts, of, baseline, metric, by, (), level, "curve_test", schema.CONTRAST)
    data = Columns(frame, (of, *by))
    _, observed = data.times(metric)
    result = []
    if not force:
        _check_judges(data, by, of, baseline, "curve_test")
    for arms in _arms(data, by, of, baseline, metric, cluster):
        event = observed[arms.rows]
        for level_ in levels:
            test = log_rank(arms.duration, event * EVENT, arms.in_group, arms.unit.codes)
            mean, last = restricted_mean_difference(arms.duration, event, arms.in_group, arms.unit.codes, level=level_)
            equal = "test of equal hazards of the event, every other ending censoring"
            area = f"restricted mean time to the event up to {last}, if nothing else ended a follow-up"
            for statistic, method, row, statistic_words in (
                ("log_rank", "clustered log-rank", replace(test, reason=test.reason or NO_INTERVAL), equal),
                (
                    "restricted_mean",
                    "influence, square-and-add; t test" if arms.is_paired else "influence, t",
                    mean,
                    area,
                ),
            ):
                shared = arms.words(metric, level_, statistic_words)
                # A method is only named if it gave a result.
                named_method = method if row.p_value is not None else None
                result.append(
                    {**shared, **asdict(row), "statistic": statistic, "of": of, "method": named_method, **arms.pairing}
                )
    return _frame_of(result, frame, by, schema.CONTRAST)


def _check_arguments(
    rollouts: object,
    of: str,
    baseline: object,
    metric: str,
    by: By,
    competing: Sequence[str],
    level: float | Sequence[float],
    verb: str,
    result: schema.Schema,
) -> tuple[pl.DataFrame, tuple[str, ...], tuple[float, ...]]:
    frame, by = rollouts_frame(rollouts, verb), names_of(by)
    check_by(frame, by, result, verb)
    check_time(frame, metric, competing, verb)
    if of not in frame.columns or of in by:
        raise ArgumentError(
            f"{verb}: of={of!r} is not a column to compare by; available: {listing(set(frame.columns) - set(by), most=30)}"
        )
    check_one_value(frame, of, verb)
    values = values_named(frame, of).cast(pl.String).drop_nulls().unique().to_list()
    if value_in_words(frame[of], baseline) not in values:
        raise ArgumentError(f"{verb}: baseline={baseline!r} is not a value of {of!r}; available: {listing(values)}")
    return frame, by, check_levels(level)


def _check_judges(data: Columns, by: tuple[str, ...], of: str, baseline: object, verb: str) -> None:
    """Raise an error if a group had other judges than the baseline."""
    word = value_in_words(data.frame[of], baseline)
    names = values_named(data.frame, of).drop_nulls().unique().sort().cast(pl.String)
    refuse_other_judges(data, by, of, [(name, word) for name in names if name != word], verb)


class _Arms:
    """A group and its baseline: the followed rows of both, a mask of the group's rows, and their common unit."""

    def __init__(
        self, data: Columns, rows: IntArray, in_group: BoolArray, unit: Unit, duration: IntArray, key: dict[str, Any]
    ) -> None:
        self.data, self.rows, self.in_group, self.unit, self.duration, self.key = (
            data,
            rows,
            in_group,
            unit,
            duration,
            key,
        )

    def words(self, metric: str, level: float, statistic: str) -> dict[str, Any]:
        """Return the texts that every row of the pair repeats."""
        estimand = f"{statistic}: {self.key['group']} less {self.key['baseline']}; unit: {self.unit.words}"
        return {
            **self.key,
            "metric": metric,
            "level": level,
            "estimand": estimand,
            "n_clusters": self.pairing["n_clusters"],
        }

    def few_at_risk(self, followed: Watch, arm: BoolArray) -> list[bool]:
        """Return whether too few rollouts of an arm are at risk at each position, after some were censored."""
        n_clusters = clusters_at_risk(followed, tuple(codes[arm] for codes in self.unit.codes))
        counts = {"at_risk": followed.at_risk, "censored": followed.censored, "n_clusters": n_clusters}
        return few_at_risk([dict(zip(counts, row, strict=True)) for row in zip(*counts.values(), strict=True)])

    @property
    def is_paired(self) -> bool:
        """True if both arms have common clusters of one way."""
        return len(self.unit.codes) == 1 and self.pairing["n_pairs"] > 0

    @property
    def pairing(self) -> dict[str, int]:
        """Numbers of clusters in both arms, in one of them only, and in total."""
        way = (
            # Of two crossed ways the smaller one limits the degrees of freedom.
            min(self.unit.codes, key=lambda codes: np.unique(codes).size)
            if self.unit.codes
            else np.arange(self.rows.size)
        )
        in_group, baseline_units = set(way[self.in_group].tolist()), set(way[~self.in_group].tolist())
        return {
            "n_pairs": len(in_group & baseline_units),
            "only_group": len(in_group - baseline_units),
            "only_baseline": len(baseline_units - in_group),
            "n_clusters": len(in_group | baseline_units),
        }


def _arms(
    data: Columns, by: tuple[str, ...], of: str, baseline: object, metric: str, cluster: Cluster
) -> Iterator[_Arms]:
    baseline_text = value_in_words(data.frame[of], baseline)
    duration, _ = data.times(metric)
    # Later attempts of loops that stopped at a success are left out, as in `curve`.
    later = later_attempts(data, metric)
    values = values_named(data.frame, of).cast(pl.String)
    # Sort before the cast to text, so that numbers are in numeric order.
    ordered = values_named(data.frame, of).drop_nulls().unique().sort().cast(pl.String).to_list()
    for key, group in data.groups(by):
        # Rollouts without follow-up have no part in the comparison.
        followed = np.asarray(group[(duration[group] > 0) & ~later[group]])
        texts = values.gather(followed)
        names = set(values.gather(group)) - {baseline_text}
        for name in (value for value in ordered if value in names):
            is_group, is_baseline = (
                (texts == word).fill_null(value=False).to_numpy() for word in (name, baseline_text)
            )
            rows, in_group = followed[is_group | is_baseline], is_group[is_group | is_baseline]
            unit = unit_of(data, rows, metric, cluster)
            yield _Arms(data, rows, in_group, unit, duration[rows], {**key, "group": name, "baseline": baseline_text})


def _frame_of(
    records: list[dict[str, Any]], frame: pl.DataFrame, by: tuple[str, ...], result: schema.Schema
) -> pl.DataFrame:
    """Return the result frame; a CURVE gets the columns `group` and `baseline`, which a CONTRAST already has."""
    arms = tuple(name for name in ("group", "baseline") if name not in result.names)
    typed = frame.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in arms)
    ordered = [{name: row.get(name) for name in (*by, *arms, *result.names)} for row in records]
    return rows_of(ordered, typed, (*by, *arms), result)
