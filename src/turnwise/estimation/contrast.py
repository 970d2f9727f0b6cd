"""ROLLOUTS -> CONTRAST: one group against another, paired by goal where both tried the same goals."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, listing, meant, plural
from turnwise.estimation.arguments import metric_columns, rollouts_frame
from turnwise.estimation.arrays import Sheet, rows_of
from turnwise.estimation.clusters import generator
from turnwise.estimation.comparisons import Comparison, Options
from turnwise.estimation.estimates import also
from turnwise.estimation.missingness import headings
from turnwise.schema.arguments import (
    By,
    Cluster,
    check_by,
    check_levels,
    check_one_value,
    check_resamples,
    names_of,
    quantile_of,
    value_in_words,
)
from turnwise.stats.differences import Method
from turnwise.stats.multiplicity import Adjustment, adjusted
from turnwise.stats.permutation import max_t

DEFAULT_STATISTICS = {"proportion": ("mean",), "number": ("mean",), "time": ("restricted_mean",)}
JUDGED_BY = ("judge", "judge_version", "judge_model", "scorer", "grader")
"""Columns that say who judged a rollout: arms judged by different ones are not compared."""
_FAMILY = {"holm": "Holm", "bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli", "max-t": "max-T"}


def contrast(
    rollouts: object,
    *,
    of: str,
    baseline: object = None,
    by: By = (),
    metrics: By | None = None,
    statistics: By | None = None,
    cluster: Cluster = "auto",
    paired: bool | Literal["auto"] = "auto",
    method: Method = "auto",
    adjust: Literal["holm", "bh", "by", "max-t"] | None = "holm",
    level: float | Sequence[float] = 0.95,
    undecided: Literal["bounds", "drop"] = "bounds",
    force: bool = False,
    resamples: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """CONTRAST: how much each group exceeds the baseline, paired by goal, with intervals, p-values and the pairing report.

    Parameters
    ----------
    rollouts
        ROLLOUTS, eager or lazy, or any Arrow table with a `rollout_id` column.
    of
        The column whose values are compared, such as ``"target"``. Rollouts without one are left out.
    baseline
        The value that all others are compared with; None compares all pairs, each with the one before it in order.
    by
        Columns to group by first; a null is a group of its own.
    metrics
        Columns to compare; by default every one that `summarize` would take.
    statistics
        ``"mean"`` (of a proportion or a number), ``"median"`` and quantiles such as ``"q90"``, ``"improvement"`` (the
        probability that a value of the group exceeds one of the baseline, ties counting half: in `difference` then stands
        that probability, and 1/2 is no difference), ``"restricted_mean"`` (of a time). By default the mean, or the
        restricted mean.
    cluster
        As in `summarize`: what is independent, and what pairs.
    paired
        ``"auto"``: by goal wherever both arms have a goal in common, and then only common goals count; True, False.
    method
        Interval of a mean. ``"auto"``: Newcombe's score interval for pairs of single 0/1 rollouts, t over goals for
        several of them (score intervals where fewer than six goals differ) and for numbers; unpaired, clustered score intervals
        and t. ``"newcombe", "bonett-price", "t", "bca", "percentile", "basic", "studentized"`` name one; ``"bootstrap"`` is
        as in `summarize`.
    adjust
        P-values for the whole frame as one family: ``"holm"``, ``"bh"``, ``"by"``, or ``"max-t"``, which takes the
        correlation between paired means from common sign flips and makes their intervals simultaneous; None for none.
    level
        Nominal coverage, or several.
    undecided
        Half-judged rollouts: ``"bounds"`` leaves the difference open and gives an interval that holds whatever they are;
        ``"drop"`` leaves them out.
    force
        Compare arms that were judged by different judges all the same.
    resamples, seed
        Of bootstraps and tests. The same goals and seed give the same draws, whatever else is in the frame.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.CONTRAST`, one row for each pair of groups, metric, statistic and level. Never an
        interval of zero width and never a p-value of 0; what is undefined is null, and `reason` says why. Undefined
        p-values leave the family.

    Raises
    ------
    SchemaError
        Where the table is no ROLLOUTS.
    ArgumentError
        Where an option names what is not there or makes no sense, or the arms had different judges.

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
    frame = rollouts_frame(rollouts, "contrast")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.CONTRAST, "contrast")
    values = _arms(frame, of, baseline, by)
    columns = metric_columns(frame, (*by, of), cluster, metrics, "contrast")
    asked = None if statistics is None else names_of(statistics)
    _check_options(asked, paired, method, adjust, undecided, resamples)
    options = Options(
        of=of, cluster=cluster, paired=paired, method=method, undecided=undecided, resamples=resamples, seed=seed
    )
    sheet = Sheet(frame.filter(pl.col(of).is_not_null()))
    found = {metric: headings(sheet, metric) for metric in columns}
    arm = sheet.frame[of].cast(pl.String).cast(pl.Enum(values)).to_physical().to_numpy()
    place = {value: number for number, value in enumerate(values)}
    pairs = (
        list(combinations(values, 2))
        if baseline is None
        else [(lower, v) for lower in [value_in_words(frame[of], baseline)] for v in values if v != lower]
    )
    comparisons = [
        Comparison(
            sheet, metric, statistic, group, lower, arms[place[group]], arms[place[lower]], found[metric], options, key
        )
        for key, rows in sheet.groups(by)
        for arms in [[rows[arm[rows] == number] for number in range(len(values))]]
        for metric in columns
        for statistic in asked or DEFAULT_STATISTICS[sheet.kinds[metric] or "number"]
        for lower, group in pairs
    ]
    if not force:
        _check_judges(sheet, comparisons)
    made = [[comparison.row(level_) for level_ in levels] for comparison in comparisons]
    _adjust(comparisons, made, adjust, levels, options)
    return rows_of([row for rows in made for row in rows], frame, by, schema.CONTRAST)


def _arms(frame: pl.DataFrame, of: str, baseline: object, by: tuple[str, ...]) -> list[str]:
    """The values compared, in order."""
    if of not in frame.columns:
        raise ArgumentError(f"contrast: there is no column {of!r} to compare; {meant(of, frame.columns)}")
    if of in by:
        raise ArgumentError(f"contrast: {of!r} is both compared and grouped by; take it out of by={list(by)}")
    check_one_value(frame, of, "contrast")
    values = frame[of].drop_nulls().unique().sort().cast(pl.String).to_list()
    if baseline is not None and value_in_words(frame[of], baseline) not in values:
        raise ArgumentError(f"contrast: baseline={baseline!r} is no value of `{of}`; there is {listing(values)}")
    if len(values) < 2:
        there = f"one value, {values[0]!r}" if values else "no value"
        raise ArgumentError(f"contrast: `{of}` has {there}; a comparison needs two")
    return values


def _check_options(
    statistics: tuple[str, ...] | None, paired: object, method: str, adjust: str | None, undecided: str, resamples: int
) -> None:
    for name, value, words in (
        ("paired", paired, ("auto", True, False)),
        ("method", method, get_args(Method)),
        ("adjust", adjust, (*_FAMILY, None)),
        ("undecided", undecided, ("bounds", "drop")),
    ):
        if value not in words:
            raise ArgumentError(f"contrast: {name}={value!r} is unknown; it is one of {listing(words, most=20)}")
    for statistic in statistics or ():
        if statistic not in {"mean", "restricted_mean", "improvement"} and quantile_of(statistic) is None:
            raise ArgumentError(
                f"contrast: statistic {statistic!r} is unknown; "
                "it is mean, median, a quantile such as q90, improvement, or restricted_mean"
            )
    check_resamples(resamples, "contrast", 2000)


def _check_judges(sheet: Sheet, comparisons: Sequence[Comparison]) -> None:
    for name in JUDGED_BY:
        if not sheet.has(name):
            continue
        words = sheet.frame[name].cast(pl.String)
        for comparison in comparisons:
            ours, theirs = (
                set(words.gather(rows).drop_nulls().unique()) for rows in (comparison.ours, comparison.theirs)
            )
            if ours and theirs and ours != theirs:
                raise ArgumentError(
                    f"contrast: `{name}` is {listing(ours)} for {comparison.group!r} but {listing(theirs)} for "
                    f"{comparison.baseline!r}: a difference of judges would look like one of {plural(comparison.options.of)}; "
                    "judge both alike, or compare all the same with force=True"
                )


def _adjust(
    comparisons: Sequence[Comparison],
    made: list[list[dict[str, Any]]],
    adjust: str | None,
    levels: tuple[float, ...],
    options: Options,
) -> None:
    """P-values adjusted for the family, which is every comparison of the frame with a p-value."""
    if adjust is None or not made:
        return
    if adjust == "max-t":
        _max_t(comparisons, made, levels, options)
        return
    kind: Adjustment = adjust  # type: ignore[assignment]
    raw = [rows[0]["p_value"] for rows in made]
    done = adjusted([np.nan if p is None else p for p in raw], kind)
    said = f"{_FAMILY[adjust]} over {len(raw) - raw.count(None)}"
    for rows, p in zip(made, done, strict=True):
        for row in rows:
            if not np.isnan(p):
                row.update(p_adjusted=float(p), adjust=said)


def _max_t(
    comparisons: Sequence[Comparison],
    made: list[list[dict[str, Any]]],
    levels: tuple[float, ...],
    options: Options,
) -> None:
    families = [
        comparison.family() if rows[0]["p_value"] is not None else "no p-value to adjust"
        for comparison, rows in zip(comparisons, made, strict=True)
    ]
    known = [number for number, family in enumerate(families) if not isinstance(family, str)]
    goals = sorted({goal for family in families if not isinstance(family, str) for goal in family.goals})
    place = {goal: number for number, goal in enumerate(goals)}
    parts = [family for family in families if not isinstance(family, str)]
    for number, level in enumerate(levels if parts else ()):
        found = max_t(
            [part.differences for part in parts],
            [np.array([place[goal] for goal in part.goals]) for part in parts],
            rng=generator(options.seed, goals, "\0max-T"),
            resamples=options.resamples,
            level=level,
        )
        for index, p in zip(known, found.p_adjusted, strict=True):
            row = made[index][number]
            row.update(
                p_adjusted=float(p), adjust=f"max-T over {len(known)}", resamples=options.resamples, seed=options.seed
            )
            if row["std_error"] is not None and np.isfinite(found.critical):
                half = found.critical * row["std_error"]
                most = 1.0 if comparisons[index].kind == "proportion" else np.inf  # shares are no further apart
                test = row["method"].rsplit("; ", 1)[-1]
                row.update(
                    low=max(row["difference"] - half, -most),
                    high=min(row["difference"] + half, most),
                    method=f"simultaneous t (max-T), paired; {test}",
                )
    for rows, family in zip(made, families, strict=True):
        if isinstance(family, str):
            for row in rows:
                row["reason"] = also(row["reason"], family)
