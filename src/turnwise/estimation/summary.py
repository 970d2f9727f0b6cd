"""ROLLOUTS -> SUMMARY: one row per group, metric, statistic and level, every rollout accounted for."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, get_args

import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, meant
from turnwise.estimation.arguments import booleans, metric_columns, rollouts_frame
from turnwise.estimation.arrays import Sheet, rows_of
from turnwise.estimation.clusters import columns_of
from turnwise.estimation.estimates import Cell, Method, Options, Undecided, Weighting, rows_of_cell
from turnwise.estimation.merging import State, blocks, state_of
from turnwise.estimation.missingness import FACTS, headings
from turnwise.schema.arguments import (
    By,
    Cluster,
    check_by,
    check_levels,
    check_one_value,
    check_resamples,
    frame_of,
    names_of,
    quantile_of,
)
from turnwise.stats.estimate import IntArray


def summarize(
    rollouts: object,
    *,
    by: By = (),
    metrics: By | None = None,
    statistics: By | None = None,
    cluster: Cluster = "auto",
    weighting: Weighting = "rollout",
    method: Method = "auto",
    level: float | Sequence[float] = 0.95,
    undecided: Undecided = "bounds",
    strata: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    margins: bool = False,
    merge: bool = False,
) -> pl.DataFrame:
    """SUMMARY: each group's statistics with intervals, and how many rollouts stand behind and beside them.

    Parameters
    ----------
    rollouts
        ROLLOUTS, eager or lazy, or any Arrow table with a `rollout_id` column.
    by
        Columns to group by; a null is a group of its own. A column of lists, such as tags, groups by what stands in them: a
        rollout is in the group of each of its tags, without any in that of null. Such groups share rollouts: each interval
        holds for itself, and no two are independent, which is why `contrast` compares none. Readers keep lists as JSON text,
        which ``pl.col("tags").str.json_decode(pl.List(pl.String))`` opens.
    metrics
        Columns to summarize; by default every Boolean (a proportion), numeric (a mean) or ``Struct{duration,
        observed}`` (a time to an event) column that is neither a fact, nor in `by`, nor the cluster. `num_turns` is
        one. Numbers 0 and 1 under the name of a success, as R and Excel write them, are the Booleans that they stand for.
    statistics
        Of ``"mean", "median", "min", "max", "std"`` (the standard deviation of a sample, unknown for one value),
        ``"restricted_mean"`` and quantiles such as ``"q05"`` and ``"q975"``; by default the mean of a proportion, mean,
        median, min and max of a number, restricted mean and median of a time.
    cluster
        What is independent: a column, a pair of crossed columns, None for the rollouts themselves, or ``"auto"``:
        `goal` for metrics of the attack, `task` for metrics of the task, both where they are crossed. Decided for
        each group by itself.
    weighting
        ``"rollout"``: every rollout weighs the same; ``"goal"``: every goal does; ``"turn"``: a rollout weighs its
        turns.
    method
        Interval of a mean. ``"auto"``: Wilson with the effective size of the clusters for a proportion; BCa cluster
        bootstrap for a number, expanded for few clusters as t is, and t(G - 1) itself under ten clusters (of unequal weight:
        worth under ten equal ones) or where BCa is undefined; of fractions that are all 0.0 or 1.0, Wilson where t would leave
        [0, 1], and of metrics that cannot leave it (F1, similarities, shares of turns or calls) no interval does.
        ``"bootstrap"`` is plain BCa for a mean and the percentile interval for a quantile or over two crossed ways. From 1000
        clusters of equal weight on, a closed form replaces the draws of a mean. ``"percentile"``, ``"basic"`` and
        ``"studentized"`` name one. ``"normal"`` is what NeMo Agent Toolkit has of run times, for numbers that are to be
        compared with its own; it is too narrow where there is little to go by.
        Times have one method each and keep it; extremes and standard deviations have none.
    level
        Nominal coverage, or several.
    undecided
        What to do with half-judged rollouts, which have unjudged turns and no success: ``"bounds"`` leaves the
        point open and gives an interval that holds whatever they are; ``"drop"`` leaves them out, which pushes the
        rate up; ``"censor"`` takes the share by the last turn from `time_to_success`, where they are censored.
    strata
        A column within whose values clusters are drawn (a percentile or basic bootstrap of means): right where the number
        of goals of each category was fixed by design, wrong for inference to new categories. Other methods and statistics,
        and two crossed ways, have no interval then.
    resamples, seed
        Of the bootstrap. The same clusters and seed give the same draws, whatever else is in the frame.
    margins
        Also pool over each of the grouping columns, whose value is then ``"all"``; they must be text.
    merge
        Work from what can be put together: rollouts are read in batches, shares and times counted by group and cluster,
        numbers kept without their ids. For a `LazyFrame` beyond memory; the same rows but for the last digits of sums, and
        for draws where rollouts themselves are independent, or in an unknown cluster: their ids are forgotten.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.SUMMARY`. A rate over nothing is null. An interval is null where none is
        defined, and `reason` says why. Every rollout is counted once, under the first that fits: `n`,
        `n_inapplicable`, `n_error`, `n_undetermined`, `n_missing`.

    Raises
    ------
    SchemaError
        Where the table is no ROLLOUTS.
    ArgumentError
        Where an option names a column that is not there, or makes no sense.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference. Journal of the American
    Statistical Association 22, doi:10.1080/01621459.1927.10502953. Korn & Graubard (1998), Confidence intervals for
    proportions with small expected number of positive counts estimated from survey data. Survey Methodology 24. Efron (1987),
    Better bootstrap confidence intervals. Journal of the American Statistical Association 82,
    doi:10.1080/01621459.1987.10478410. Woodruff (1952), Confidence intervals for medians and other position measures.
    Journal of the American Statistical Association 47, doi:10.1080/01621459.1952.10483443.

    Examples
    --------
    >>> rollouts = pl.DataFrame(
    ...     {"rollout_id": list("abcd"), "goal": list("wxyz"), "attack_success": [True, False, False, None]}
    ... )
    >>> summarize(rollouts).select("metric", "estimate", pl.col("low", "high").round(3), "n", "n_missing", "method")
    shape: (1, 7)
    ┌────────────────┬──────────┬───────┬───────┬─────┬───────────┬────────┐
    │ metric         ┆ estimate ┆ low   ┆ high  ┆ n   ┆ n_missing ┆ method │
    │ ---            ┆ ---      ┆ ---   ┆ ---   ┆ --- ┆ ---       ┆ ---    │
    │ str            ┆ f64      ┆ f64   ┆ f64   ┆ i64 ┆ i64       ┆ str    │
    ╞════════════════╪══════════╪═══════╪═══════╪═════╪═══════════╪════════╡
    │ attack_success ┆ 0.333333 ┆ 0.061 ┆ 0.792 ┆ 3   ┆ 1         ┆ Wilson │
    └────────────────┴──────────┴───────┴───────┴─────┴───────────┴────────┘
    """
    by, levels = names_of(by), check_levels(level)
    asked = None if statistics is None else names_of(statistics)
    _check_options(asked, weighting, method, undecided, resamples)
    if merge or isinstance(rollouts, State):
        return _merged(
            rollouts,
            by=by,
            metrics=metrics,
            statistics=statistics,
            cluster=cluster,
            weighting=weighting,
            method=method,
            level=level,
            undecided=undecided,
            strata=strata,
            resamples=resamples,
            seed=seed,
            margins=margins,
        )
    frame = rollouts_frame(rollouts, "summarize")
    check_by(frame, by, schema.SUMMARY, "summarize")
    columns = metric_columns(frame, by, cluster, metrics)
    options = Options(
        cluster=cluster,
        weighting=weighting,
        method=method,
        undecided=undecided,
        strata=strata,
        resamples=resamples,
        seed=seed,
    )
    sheet = Sheet(frame)
    if weighting == "goal" and not sheet.has("goal"):
        raise ArgumentError("summarize: weighting='goal' needs a column `goal`, which this table lacks")
    if strata is not None and not sheet.has(strata):
        raise ArgumentError(f"summarize: there is no column {strata!r} for strata; {meant(strata, frame.columns)}")
    if strata is not None:
        check_one_value(frame, strata, "summarize")
    found = {metric: headings(sheet, metric) for metric in columns}
    rows = [
        {**key, **row}
        for key, group in _all_groups(sheet, by, margins=margins)
        for metric in columns
        for row in rows_of_cell(Cell(sheet, metric, group, found[metric][group], options), asked, levels)
    ]
    return rows_of(rows, frame, by, schema.SUMMARY)


def _merged(rollouts: object, *, by: tuple[str, ...], metrics: By | None, **options: Any) -> pl.DataFrame:
    """Summarize a state: all groups at once, with shares and times counted and numbers kept."""
    if isinstance(rollouts, State):
        dtypes = rollouts.dtypes
    else:
        rollouts = rollouts if isinstance(rollouts, pl.LazyFrame) else frame_of(rollouts, "summarize")
        rollouts = rollouts.with_columns(booleans(rollouts))
        dtypes = rollouts.collect_schema()
    nothing = summarize(pl.DataFrame(schema=dtypes), by=by, metrics=metrics, **options)  # mistakes come before reading
    wanted = {name: options[name] for name in ("cluster", "undecided", "strata")}
    counted, kept = to_merge(dtypes, by=by, metrics=metrics, **wanted)
    state = rollouts if isinstance(rollouts, State) else state_of(rollouts, counted, kept)
    columns = metric_columns(pl.DataFrame(schema=dtypes), by, options["cluster"], metrics)
    numbers = [name for name in columns if schema.kind_of(dtypes[name]) == "number"]
    shares = [name for name in columns if name not in numbers]
    rows = [
        summarize(part, by=by, metrics=names, **options)
        for block in blocks(state, () if options["margins"] else by)
        for part, names in zip(block, (shares, numbers), strict=True)
        if names
    ]
    if not rows:
        return nothing
    found = pl.concat(rows)
    groups = (
        found.select(by).unique(maintain_order=True).with_row_index("\0group") if by else pl.DataFrame({"\0group": [0]})
    )
    placed = (
        found.join(groups, on=by, nulls_equal=True, maintain_order="left") if by else found.join(groups, how="cross")
    )
    place = ("\0group", pl.col("metric").cast(pl.Enum(columns)))
    return placed.sort(place, maintain_order=True).drop("\0group")


def to_merge(
    dtypes: pl.Schema,
    *,
    by: By = (),
    metrics: By | None = None,
    cluster: Cluster = "auto",
    undecided: Undecided = "bounds",
    strata: str | None = None,
) -> tuple[list[str], list[str]]:
    """The columns of ROLLOUTS that a state for `summarize` counts, and those that it keeps.

    Examples
    --------
    >>> to_merge(
    ...     pl.Schema({"rollout_id": pl.String, "goal": pl.String, "attack_success": pl.Boolean, "worst": pl.Float64})
    ... )
    (['goal', 'attack_success'], ['goal', 'worst'])
    """
    by = names_of(by)
    columns = metric_columns(pl.DataFrame(schema=dtypes), by, cluster, metrics)
    numbers = [name for name in columns if schema.kind_of(dtypes[name]) == "number"]
    beside = {*by, *columns_of(cluster), *FACTS, strata, "time_to_success" if undecided == "censor" else None}

    def together(names: list[str]) -> list[str]:
        return [name for name in dtypes if name in {*beside, *names}] if names else []

    return together([name for name in columns if name not in numbers]), together(numbers)


def _check_options(
    statistics: tuple[str, ...] | None, weighting: str, method: str, undecided: str, resamples: int
) -> None:
    for name, value, words in (
        ("weighting", weighting, ("rollout", "goal", "turn")),
        ("method", method, get_args(Method)),
        ("undecided", undecided, ("bounds", "drop", "censor")),
    ):
        if value not in words:
            raise ArgumentError(f"summarize: {name}={value!r} is unknown; {meant(str(value), words)}")
    for statistic in statistics or ():
        if (
            statistic not in {"mean", "median", "min", "max", "std", "restricted_mean"}
            and quantile_of(statistic) is None
        ):
            raise ArgumentError(
                f"summarize: statistic {statistic!r} is unknown; "
                "it is mean, median, min, max, std, restricted_mean, or a quantile such as q90"
            )
    check_resamples(resamples, "summarize", 2000)


def _all_groups(sheet: Sheet, by: tuple[str, ...], *, margins: bool) -> list[tuple[dict[str, Any], IntArray]]:
    found = sheet.groups(by)
    if not margins:
        return found
    for name in by:
        column = sheet.frame[name]
        if column.dtype != pl.String or column.null_count() or (column == schema.POOLED).any():
            raise ArgumentError(
                f"summarize: margins=True writes {schema.POOLED!r} into {name!r}, which must be text without nulls and without "
                f'that word; `.with_columns(pl.col("{name}").cast(pl.String).fill_null("(none)"))` makes it so'
            )
    for size in range(len(by) - 1, -1, -1):
        for kept in combinations(by, size):
            pooled = dict.fromkeys(by, schema.POOLED)
            found += [({**pooled, **key}, rows) for key, rows in sheet.groups(kept)]
    return found
