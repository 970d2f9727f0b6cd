"""ROLLOUTS -> CONTRAST: differences between groups, paired by goal if both groups tried the same goals."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.choices import Adjust, DifferenceMethod, Unjudged
from rollwise.errors import ArgumentError, listing
from rollwise.estimation.arguments import announce_many, compared_columns, rollouts_frame
from rollwise.estimation.arrays import Columns, join_reasons, rows_of
from rollwise.estimation.clusters import generator
from rollwise.estimation.comparable import refuse_other_judges
from rollwise.estimation.comparisons import Comparison, Options
from rollwise.estimation.missingness import statuses
from rollwise.schema.arguments import (
    By,
    Cluster,
    check_by,
    check_levels,
    check_one_value,
    check_resamples,
    names_of,
    value_in_words,
)
from rollwise.schema.named import column_named, values_named
from rollwise.schema.option_types import check_option_types
from rollwise.schema.other_names import meant_column
from rollwise.stats.differences import disagreement
from rollwise.stats.multiplicity import Adjustment, adjusted
from rollwise.stats.permutation import max_t
from rollwise.stats.statistics import COMPARED, DEFAULT_STATISTICS, check_statistics

_FAMILY = {"holm": "Holm", "bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli", "max-t": "max-T"}


def contrast(
    rollouts: object,
    *,
    of: str,
    baseline: object = None,
    metrics: By | None = None,
    statistics: By | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    paired: bool | Literal["auto"] = "auto",
    method: DifferenceMethod = "auto",
    adjust: Adjust | None = "holm",
    level: float | Sequence[float] = 0.95,
    unjudged: Unjudged = "bounds",
    force: bool = False,
    resamples: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare groups with a baseline, paired by goal, with intervals, p-values and counts of paired units.

    Parameters
    ----------
    rollouts
        ROLLOUTS, eager or lazy, or any Arrow table with a `rollout_id` column.
    of
        The column whose values are compared, such as ``"target"``. Rollouts without a value are left out.
    baseline
        The value that all others are compared with; None compares all pairs, with the earlier value in order as baseline.
    metrics
        Columns to compare; by default all that `summarize` would choose but `num_turns`, which every table has without being
        asked: a p-value is adjusted for what was asked.
    statistics
        ``"mean"`` (of a proportion or a number), ``"median"`` and quantiles such as ``"q90"``, ``"improvement"`` (the
        probability that a value of the group exceeds one of the baseline, counting ties as half; `difference` then holds
        this probability, and 1/2 means no difference), ``"restricted_mean"`` (of a time). By default the mean, or the
        restricted mean of a time.
    by
        Columns to group by first; nulls form a group of their own.
    cluster
        As in `summarize`: the independent unit, by which arms are also paired.
    paired
        ``"auto"`` pairs by goal if at least half of all goals are in both arms, and then only these count; otherwise all data
        count, with the covariance of the goals in both. Improvement and max-T are always over common goals. Or True or False.
    method
        Interval of a mean. ``"auto"``: if paired, Newcombe's score interval for single 0/1 rollouts, t over goals for numbers and
        for several rollouts per goal (score intervals if fewer than six goals differ, or one arm has at least twice as many
        rollouts per goal); unpaired, clustered score intervals and t. ``"newcombe", "bonett-price", "t", "bca", "percentile",
        "basic", "studentized"`` request one; ``"bootstrap"`` is as in `summarize`.
    adjust
        Adjustment of the p-values of the whole result as one family: ``"holm"``, ``"bh"``, ``"by"``, or ``"max-t"``, which
        estimates the correlation of paired means by common sign flips and makes their intervals simultaneous (four
        intervals jointly cover with probability .95); None for no adjustment. With the other adjustments intervals are pointwise:
        four jointly cover with probability of about .83.
    level
        Nominal coverage, or several.
    unjudged
        How to treat rollouts without a verdict, in whole or in part, as in `summarize`. ``"bounds"``: the p-value is the largest
        of all outcomes that they can have. ``"censor"``: a t interval over pseudo-values.
    force
        If True, compare arms even if they were judged by different judges.
    resamples, seed
        Number of replicates of bootstraps and tests, and their seed. The same goals and seed give the same draws, whatever
        other rows the table has.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.CONTRAST`, one row for each pair of groups, metric, statistic and level. No interval
        has zero width and no p-value is 0; undefined values are null, and `reason` explains why. It also says where a p-value
        and an interval of two methods disagree about 0. Undefined p-values are not part of the family.

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If an option names a missing column or has an invalid value, or the arms had different judges.

    References
    ----------
    Newcombe (1998), Improved confidence intervals for the difference between binomial proportions based on paired data.
    Statistics in Medicine 17, doi:10.1002/(SICI)1097-0258(19981130)17:22<2635::AID-SIM954>3.0.CO;2-C. Phipson & Smyth (2010),
    Permutation p-values should never be zero. Statistical Applications in Genetics and Molecular Biology 9,
    doi:10.2202/1544-6115.1585. Holm (1979), A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics 6. Westfall & Young (1993), Resampling-based multiple testing. Wiley. Miller (2024), Adding error bars to evals,
    arXiv:2411.00640.

    Examples
    --------
    >>> rollouts = pl.DataFrame(
    ...     {
    ...         "rollout_id": [f"{target}{goal}" for target in "ab" for goal in range(8)],
    ...         "target": ["a"] * 8 + ["b"] * 8,
    ...         "goal": [str(goal) for goal in range(8)] * 2,
    ...         "attack_success": [True] * 7 + [False] + [True] * 2 + [False] * 6,
    ...     }
    ... )
    >>> contrast(rollouts, of="target", baseline="b").select(
    ...     "group", "difference", pl.col("low", "high", "p_value").round(3), "n_pairs"
    ... )
    shape: (1, 6)
    ┌───────┬────────────┬───────┬───────┬─────────┬─────────┐
    │ group ┆ difference ┆ low   ┆ high  ┆ p_value ┆ n_pairs │
    │ ---   ┆ ---        ┆ ---   ┆ ---   ┆ ---     ┆ ---     │
    │ str   ┆ f64        ┆ f64   ┆ f64   ┆ f64     ┆ i64     │
    ╞═══════╪════════════╪═══════╪═══════╪═════════╪═════════╡
    │ a     ┆ 0.625      ┆ 0.139 ┆ 0.831 ┆ 0.031   ┆ 8       │
    └───────┴────────────┴───────┴───────┴─────────┴─────────┘
    """
    check_option_types(contrast, locals())
    frame = rollouts_frame(rollouts, "contrast")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.CONTRAST, "contrast")
    values = _arms(frame, of, baseline, by)
    columns = compared_columns(frame, (*by, of), cluster, metrics, "contrast")
    announce_many(columns, metrics, "contrast")
    statistic_names = None if statistics is None else names_of(statistics)
    check_statistics(statistic_names or (), COMPARED, "contrast")
    check_resamples(resamples, "contrast")
    options = Options(
        of=of,
        cluster=cluster,
        paired=paired,
        over_common=adjust == "max-t",
        method=method,
        unjudged=unjudged,
        resamples=resamples,
        seed=seed,
    )
    data = Columns(frame.filter(column_named(of).is_not_null()), (of, *by))
    statuses_of = {metric: statuses(data, metric) for metric in columns}
    # Each row as the position of its value among the compared values.
    codes = values_named(data.frame, of).cast(pl.String).cast(pl.Enum(values)).to_physical().to_numpy()
    if baseline is None:
        pairs = list(combinations(values, 2))
    else:
        reference = value_in_words(frame[of], baseline)
        pairs = [(reference, value) for value in values if value != reference]
    if not force:
        refuse_other_judges(data, by, of, [(group, lower) for lower, group in pairs], "contrast")
    comparisons = []
    for key, rows in data.groups(by):
        arms = {value: rows[codes[rows] == number] for number, value in enumerate(values)}
        for metric in columns:
            for statistic in statistic_names or DEFAULT_STATISTICS[data.kinds[metric] or "number"][:1]:
                comparisons += [
                    Comparison(
                        data=data,
                        metric=metric,
                        statistic=statistic,
                        group=group,
                        baseline=lower,
                        group_rows=arms[group],
                        baseline_rows=arms[lower],
                        statuses=statuses_of[metric],
                        options=options,
                        key=key,
                    )
                    for lower, group in pairs
                ]
    rows_of_comparisons = [[comparison.row(level_) for level_ in levels] for comparison in comparisons]
    _adjust(comparisons, rows_of_comparisons, adjust, levels, options)
    finished = [row for of_comparison in rows_of_comparisons for row in of_comparison]
    for row in finished:
        row["reason"] = join_reasons(row["reason"], _disagreement(row))
    return rows_of(finished, frame, by, schema.CONTRAST)


def _disagreement(row: dict[str, Any]) -> str | None:
    """Say that interval and p-value of a row disagree; simultaneous intervals belong to the adjusted p-value, and times say so."""
    if (row.get("adjust") or "").startswith("max-T") or row["statistic"] == "restricted_mean":
        return None
    null = 0.5 if row["statistic"] == "improvement" else 0.0
    return disagreement(row["low"], row["high"], row["p_value"], level=row["level"], null=null)


def _arms(frame: pl.DataFrame, of: str, baseline: object, by: tuple[str, ...]) -> list[str]:
    """Return the compared values in order."""
    if of not in frame.columns:
        raise ArgumentError(f"contrast: there is no column {of!r} to compare; {meant_column(of, frame)}")
    if of in by:
        raise ArgumentError(f"contrast: {of!r} is both compared and grouped by; take it out of by={list(by)}")
    check_one_value(frame, of, "contrast")
    values = values_named(frame, of).drop_nulls().unique().sort().cast(pl.String).to_list()
    if baseline is not None and value_in_words(frame[of], baseline) not in values:
        raise ArgumentError(f"contrast: baseline={baseline!r} is not a value of `{of}`; available: {listing(values)}")
    if len(values) < 2:
        problem = f"one value, {values[0]!r}" if values else "no value"
        raise ArgumentError(f"contrast: `{of}` has {problem}; a comparison needs two")
    return values


def _adjust(
    comparisons: Sequence[Comparison],
    rows_of_comparisons: list[list[dict[str, Any]]],
    adjust: str | None,
    levels: tuple[float, ...],
    options: Options,
) -> None:
    """Adjust the p-values, in place, for the family of all comparisons with a p-value."""
    if adjust is None or not rows_of_comparisons:
        return
    if adjust == "max-t":
        _max_t(comparisons, rows_of_comparisons, levels, options)
        return
    kind: Adjustment = adjust  # type: ignore[assignment]
    raw = [rows[0]["p_value"] for rows in rows_of_comparisons]
    # NaN marks comparisons without a p-value; they are not part of the family.
    p_values = adjusted([np.nan if p is None else p for p in raw], kind)
    note = f"{_FAMILY[adjust]} over {len(raw) - raw.count(None)}"
    for rows, p in zip(rows_of_comparisons, p_values, strict=True):
        for row in rows:
            if not np.isnan(p):
                row.update(p_adjusted=float(p), adjust=note)


def _max_t(
    comparisons: Sequence[Comparison],
    rows_of_comparisons: list[list[dict[str, Any]]],
    levels: tuple[float, ...],
    options: Options,
) -> None:
    """Adjust the p-values of paired means by max-T, in place, and make their intervals simultaneous."""
    # A text in place of a family is the reason why this comparison has no part in it.
    families = [
        comparison.family() if rows[0]["p_value"] is not None else "no p-value to adjust"
        for comparison, rows in zip(comparisons, rows_of_comparisons, strict=True)
    ]
    members = [number for number, family in enumerate(families) if not isinstance(family, str)]
    # All comparisons flip the signs of the same goals, which preserves their correlation.
    goals = sorted({goal for family in families if not isinstance(family, str) for goal in family.goals})
    goal_index = {goal: number for number, goal in enumerate(goals)}
    inputs = [family for family in families if not isinstance(family, str)]
    for number, level in enumerate(levels if inputs else ()):
        result = max_t(
            [part.differences for part in inputs],
            [np.array([goal_index[goal] for goal in part.goals]) for part in inputs],
            rng=generator(options.seed, goals, "\0max-T"),
            resamples=options.resamples,
            level=level,
        )
        for index, p in zip(members, result.p_adjusted, strict=True):
            row = rows_of_comparisons[index][number]
            row.update(
                p_adjusted=float(p), adjust=f"max-T over {len(members)}", resamples=options.resamples, seed=options.seed
            )
            if row["std_error"] is not None and np.isfinite(result.critical):
                # The simultaneous interval is symmetric: the common critical value times the standard error.
                half_width = result.critical * row["std_error"]
                limit = (
                    1.0 if comparisons[index].kind == "proportion" else np.inf
                )  # a difference of shares lies in [-1, 1]
                test = row["method"].rsplit("; ", 1)[-1]
                row.update(
                    low=max(row["difference"] - half_width, -limit),
                    high=min(row["difference"] + half_width, limit),
                    method=f"simultaneous t (max-T), paired; {test}",
                )
    for rows, family in zip(rows_of_comparisons, families, strict=True):
        if isinstance(family, str):
            for row in rows:
                row["reason"] = join_reasons(row["reason"], family)
