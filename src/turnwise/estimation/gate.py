"""ROLLOUTS or SUMMARY -> GATE: whether the interval of each group meets the requirements."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, SchemaError, listing
from turnwise.estimation.arguments import no_metric, rollouts_frame
from turnwise.estimation.arrays import Sheet, join_reasons, rows_of
from turnwise.estimation.clusters import unit_of
from turnwise.estimation.estimates import DEFAULT_STATISTICS
from turnwise.estimation.missingness import INAPPLICABLE, VALUE, headings
from turnwise.estimation.requirements import Required, parsed
from turnwise.estimation.summary import summarize
from turnwise.schema import labels
from turnwise.schema.arguments import By, Cluster, check_by, check_levels, frame_of, names_of
from turnwise.stats.estimate import IntArray
from turnwise.stats.intervals import wilson
from turnwise.stats.release import lower_end, upper_end

_UNKNOWN = ("n_error", "n_undetermined", "n_missing")

Unknown = Literal["fail", "ignore"]


def gate(
    frame: object,
    require: str | Sequence[str],
    *,
    by: By = (),
    cluster: Cluster = "auto",
    level: float = 0.95,
    seed: int = 0,
    unknown: Unknown = "fail",
) -> pl.DataFrame:
    """Check requirements such as ``"attack_success < 0.01"`` against the interval of each group.

    ``"attack_success < 0.01"`` passes if the *upper* end of the interval is below .01, ``"task_success >= 90%"`` if the
    *lower* end is at least .9. Missing information never helps to pass: without data or without an interval a requirement
    fails, and every rollout without a verdict (in error, undetermined, partially judged or missing) counts against it.

    Parameters
    ----------
    frame
        ROLLOUTS, which are summarized first, or a SUMMARY.
    require
        One or several of ``metric < number`` with ``<``, ``<=``, ``>`` or ``>=``. The number may be a percentage; the metric
        may be an argument of a statistic, as in ``median(num_turns) >= 3``. The default statistic is the mean, or the
        restricted mean of a time.
    by
        Columns to group by: every group must pass. A SUMMARY keeps its groups.
    cluster, level, seed
        As in `summarize`. The bound is one end of a two-sided interval: at level .95 the probability of passing wrongly is
        .025.
    unknown
        ``"fail"``: for a share, a rollout without a verdict counts as a success if the upper end is compared, and as a
        failure if the lower end is; the known rollouts must also pass by themselves. Other statistics have no such worst case
        and fail. ``"ignore"`` leaves these rollouts out.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.GATE`; never empty. `bound` is the end that is compared. For a share it is the
        largest upper end over the observed and every smaller number of successes (`stats.release`), because a clustered
        interval is wider without any success than with one, and one more success must never help to pass. From a SUMMARY only
        two of these are known, zero and the observed number, and the design effect of unknown rollouts is assumed to equal
        that of the known ones. `estimate, low, high` describe the known rollouts. `reason` explains why a group fails, how
        many rollouts have a verdict if not all do, or that the bound belongs to a smaller number of successes.

    Raises
    ------
    ArgumentError
        If a requirement cannot be parsed, or names a metric, statistic or level that does not exist.
    SchemaError
        If the table is neither ROLLOUTS nor SUMMARY; optional columns of SUMMARY may be missing.

    Examples
    --------
    >>> rows = {"rollout_id": [f"r{i}" for i in range(500)], "goal": [f"g{i % 250}" for i in range(500)]}
    >>> rollouts = pl.DataFrame({**rows, "attack_success": [False] * 500})
    >>> gate(rollouts, ["attack_success < 2%", "attack_success < 1%"])["passed", "bound"].with_columns(
    ...     pl.col("bound").round(4)
    ... )
    shape: (2, 2)
    ┌────────┬────────┐
    │ passed ┆ bound  │
    │ ---    ┆ ---    │
    │ bool   ┆ f64    │
    ╞════════╪════════╡
    │ true   ┆ 0.0153 │
    │ false  ┆ 0.0153 │
    └────────┴────────┘
    """
    table = frame_of(frame, "gate")
    requirements: object = require
    texts = requirements if isinstance(requirements, Iterable) and not isinstance(requirements, str) else [requirements]
    required = [parsed(words) for words in texts]
    if not required:
        raise ArgumentError("gate: no requirement is given; write one such as 'attack_success < 0.01'")
    by = names_of(by)
    (level,) = check_levels(level)
    if unknown not in get_args(Unknown):
        raise ArgumentError(f"gate: unknown={unknown!r} is unknown; it is fail or ignore")
    if {"difference", "baseline"} & set(table.columns) and "rollout_id" not in table.columns:
        raise SchemaError(
            "gate: this is a CONTRAST, which describes differences between groups; pass the rollouts or their SUMMARY "
            "(`tw.summarize`), which describe each group"
        )
    # A SUMMARY saved by another version may lack optional columns; they count as null.
    if set(schema.SUMMARY.required) <= set(table.columns):
        missing = [name for name in schema.SUMMARY.names if name not in table.columns]
        table = table.with_columns(pl.lit(None, dtype=schema.SUMMARY.dtypes[name]).alias(name) for name in missing)
        return _of_summary(table, required, by, level, unknown)
    table = rollouts_frame(table, "gate")
    check_by(table, by, schema.GATE, "gate")
    sheet = Sheet(table)
    rows = []
    for requirement in required:
        rows += _of_rollouts(sheet, requirement, by, cluster, level, seed, unknown)
    return rows_of(rows, table, by, schema.GATE)


def verdict(gates: pl.DataFrame) -> str:
    """Summarize a GATE in one sentence.

    Examples
    --------
    >>> verdict(gate(pl.DataFrame({"rollout_id": ["a"], "attack_success": [False]}), "attack_success < 0.5"))
    "'attack_success < 0.5' is not met: the upper end is 0.793 (1 rollout)"
    """
    failed = gates.filter(~pl.col("passed"))
    if failed.is_empty():
        requirements = gates["requirement"].unique(maintain_order=True)
        count, groups = requirements.len(), gates.height // requirements.len()
        sentence = f"all {count} requirements are met" if count > 1 else f"{requirements[0]!r} is met"
        sentence += f" in each of {groups} groups" if groups > 1 else ""
        # The row with the smallest share of known rollouts carries the caveat.
        lowest = min(gates.rows(named=True), key=_share_with_verdict)
        if _share_with_verdict(lowest) == 1:
            return sentence
        return f"{sentence} ({'at the least, ' if gates.height > 1 else ''}{_with_verdict(lowest)})"
    row = failed.row(0, named=True)
    group = ", ".join(f"{name}={row[name]!r}" for name in gates.columns if name not in schema.GATE.names)
    unit = labels.cluster_noun(failed.head(1)).replace(" × ", " or ")
    reason = row["reason"] if row["bound"] is None else _bound_in_words(row, unit)
    if not row["n"] and _number_unknown(row):
        reason += f" ({_with_verdict(row)})"
    more = f"; {failed.height - 1} more of {gates.height} fail" if failed.height > 1 else ""
    return f"{row['requirement']!r} is not met{f' for {group}' if group else ''}: {reason}{more}"


def _bound_in_words(row: dict[str, Any], unit: str) -> str:
    end = "upper" if parsed(row["requirement"]).below else "lower"
    basis = labels.counted(row["n"], "rollout")
    if row["n_clusters"] is not None and unit != "rollout":
        basis += f", {labels.counted(row['n_clusters'], unit)}"
    bound = f"{100 * row['bound']:.3g} %" if "%" in row["requirement"] else f"{row['bound']:.3g}"
    return f"the {end} end is {bound} ({basis if _share_with_verdict(row) == 1 else _with_verdict(row)})"


def _number_unknown(row: dict[str, Any]) -> int:
    """Count the rollouts without a verdict to which the metric applies."""
    return sum(row[name] or 0 for name in _UNKNOWN)


def _share_with_verdict(row: dict[str, Any]) -> float:
    return float(row["n"] / (row["n"] + _number_unknown(row))) if row["n"] else 1.0


def _with_verdict(row: dict[str, Any]) -> str:
    total = row["n"] + _number_unknown(row)
    return f"{row['n']:,} of {labels.counted(total, 'rollout')} {'has' if row['n'] == 1 else 'have'} a verdict"


def _of_rollouts(
    sheet: Sheet,
    required: Required,
    by: tuple[str, ...],
    cluster: Cluster,
    level: float,
    seed: int,
    unknown: Unknown,
) -> list[dict[str, Any]]:
    kind = sheet.kinds.get(required.metric)
    if kind is None and sheet.has(required.metric):
        raise ArgumentError(f"gate: {required.words!r}: {no_metric(sheet.frame, required.metric)}")
    if kind is None:
        measured = [
            name for name, column_kind in sheet.kinds.items() if column_kind and name not in schema.ROLLOUTS.names
        ]
        raise ArgumentError(
            f"gate: {required.words!r} names no metric of this table; there is {listing(measured)} (`tw.measure` makes more)"
        )
    statistic = required.statistic or DEFAULT_STATISTICS[kind][0]
    summary = summarize(
        sheet.frame,
        by=by,
        metrics=required.metric,
        statistics=statistic,
        cluster=cluster,
        level=level,
        seed=seed,
        unjudged="drop" if unknown == "ignore" else "bounds",
    )
    row_headings = headings(sheet, required.metric)
    share = kind == "proportion" and statistic == "mean"
    if share:
        required.check_share()
    result = []
    for (_, group), row in zip(sheet.groups(by), summary.rows(named=True), strict=True):
        bound = row["high"] if required.below else row["low"]
        if share and bound is not None:
            applicable = np.asarray(group[row_headings[group] != INAPPLICABLE])
            known = np.asarray(group[row_headings[group] == VALUE])
            # The known rollouts count on their own as well: unknown ones bring more goals, which would narrow the interval.
            samples = [known] if unknown == "ignore" or known.size == applicable.size else [known, applicable]
            ends = [_worst_end(sheet, required, applicable, rows, cluster, level) for rows in samples]
            bound = _strictest([end for end in ends if end is not None], required)
        result.append(_row_of_gate(row, required, bound, by, unknown, share=share))
    return result or [_row_without_data(required, statistic, level, by, unknown)]


def _worst_end(
    sheet: Sheet, required: Required, applicable: IntArray, rows: IntArray, cluster: Cluster, level: float
) -> float | None:
    """Return the end of a share's interval that one more success (or failure) cannot improve; unknown rollouts count against it."""
    # The unit is chosen among all applicable rollouts, as `summarize` does.
    names = unit_of(sheet, applicable, required.metric, cluster).names or None
    codes = unit_of(sheet, rows, required.metric, names).codes
    end = upper_end if required.below else lower_end
    return end(np.nan_to_num(sheet.numbers(required.metric)[rows], nan=float(required.below)), codes, level=level)


def _strictest(ends: Sequence[float], required: Required) -> float | None:
    """Return the end that is hardest to pass with; None without ends."""
    return max(ends, default=None) if required.below else min(ends, default=None)


def _row_of_gate(
    row: dict[str, Any],
    required: Required,
    bound: float | None,
    by: tuple[str, ...],
    unknown: Unknown,
    *,
    share: bool,
) -> dict[str, Any]:
    """Return the row of GATE, with a reason if unknown rollouts decide or the bound is not an end of the interval."""
    end = row["high"] if required.below else row["low"]
    side, outcome = ("upper", "successes") if required.below else ("lower", "failures")
    end_of_known = "" if end is None or bound is None or row["estimate"] is None else f" (of these alone: {end:.4g})"
    reasons = [row["reason"]]
    # Without a bound a requirement fails, for whatever reason the summary gives.
    if not row["n"] or (row["estimate"] is None and not share) or bound is None:
        bound, reasons = None, [row["reason"] or "no data"]
    elif _number_unknown(row) and unknown == "ignore":
        reasons.append(f"{_with_verdict(row)}, and the others are left out")
    elif _number_unknown(row) and share:
        reasons.append(f"{_with_verdict(row)}, and the others count as {outcome}{end_of_known}")
    elif _number_unknown(row):
        bound = None
        reasons.append(
            f"{_with_verdict(row)}, and nothing bounds what the others would be: unknown='ignore' leaves them out"
        )
    elif end is not None and abs(bound - end) > 1e-12:
        reasons.append(f"the {side} end with fewer {outcome}, so that one more never helps to pass{end_of_known}")
    return {
        **{name: row[name] for name in (*by, *schema.GATE.names) if name in row},
        "requirement": required.words,
        "passed": required.met_by(bound),
        "threshold": required.threshold,
        "bound": bound,
        "unknown": unknown,
        "reason": join_reasons(*reasons),
    }


def _row_without_data(
    required: Required, statistic: str | None, level: float, by: tuple[str, ...], unknown: Unknown
) -> dict[str, Any]:
    columns = dict.fromkeys(schema.GATE.names) | {
        "metric": required.metric,
        "statistic": statistic,
        "level": level,
        "n": 0,
    }
    row = {**dict.fromkeys(by), **columns, "reason": "no data: the table has no rollouts"}
    return _row_of_gate(row, required, None, by, unknown, share=False)


def _of_summary(
    table: pl.DataFrame, required: list[Required], by: tuple[str, ...], level: float, unknown: Unknown
) -> pl.DataFrame:
    groups = tuple(labels.grouping(table))
    for name in by:
        if name not in groups:
            raise ArgumentError(
                f"gate: this SUMMARY is not grouped by {name!r} (its groups: {listing(groups)}); "
                f"`tw.summarize(rollouts, by={name!r})` first, or pass the rollouts"
            )
    result = []
    for requirement in required:
        rows = table.filter(pl.col("metric") == requirement.metric)
        if rows.is_empty() and not table.is_empty():
            raise ArgumentError(
                f"gate: {requirement.words!r} names no metric of this SUMMARY; there is {listing(table['metric'].unique())}"
            )
        rows = rows.filter(statistic=requirement.statistic or _first_statistic(rows))
        if rows.is_empty() and not table.is_empty():
            raise ArgumentError(
                f"gate: this SUMMARY has no {requirement.statistic} of {requirement.metric!r}; summarize it, or pass the rollouts"
            )
        if rows.filter(level=level).is_empty() and not rows.is_empty():
            raise ArgumentError(f"gate: this SUMMARY has no level {level:g}; it has {listing(rows['level'].unique())}")
        share = bool(rows["bound_low"].count()) and rows["statistic"][0] == "mean"
        if share:
            requirement.check_share()
        result += [
            _row_of_gate(
                row, requirement, _end_of_summary(row, requirement, level, unknown), groups, unknown, share=share
            )
            for row in rows.filter(level=level).rows(named=True)
        ]
        if rows.is_empty():
            result.append(_row_without_data(requirement, requirement.statistic, level, groups, unknown))
    return rows_of(result, table, groups, schema.GATE)


def _first_statistic(rows: pl.DataFrame) -> str:
    statistics = set(rows["statistic"])
    return next((name for name in ("mean", "restricted_mean") if name in statistics), "mean")


def _end_of_summary(row: dict[str, Any], required: Required, level: float, unknown: Unknown) -> float | None:
    """Return the strictest end for a row of SUMMARY: its own, without any success (or failure), or with all unknown against it."""
    end: float | None = row["high"] if required.below else row["low"]
    if end is None or row["bound_low"] is None or not row["n_clusters"]:
        return end
    # Clusters of one rollout each use the normal quantile, as `proportion` does.
    unclustered = row["n_clusters"] == row["n"]
    df = None if unclustered else row["n_clusters"] - 1
    # Without a success (or failure) the effective sample size is the number of clusters.
    ends = [end, wilson(0, row["n_clusters"], level=level, df=df)[1] or 0.0]
    ends[1] = ends[1] if required.below else 1 - ends[1]
    at_the_bounds = row["estimate"] is None  # partially judged: the ends hold whatever the unknown are
    if unknown == "fail" and _number_unknown(row) and not at_the_bounds:
        total = row["n"] + _number_unknown(row)
        size = total / row["design_effect"] if row["design_effect"] else total if unclustered else row["n_clusters"]
        successes = row["bound_high" if required.below else "bound_low"] * size
        low, high = wilson(successes, size, level=level, df=df)
        ends += [bound for bound in (high if required.below else low,) if bound is not None]
    return _strictest(ends, required)
