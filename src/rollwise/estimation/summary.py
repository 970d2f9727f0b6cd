"""ROLLOUTS -> SUMMARY: one row per group, metric, statistic and level, with counts of all rollouts."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.choices import Method, Unjudged, Weighting
from rollwise.errors import ArgumentError
from rollwise.estimation.arguments import announce_many, booleans, metric_columns, rollouts_frame
from rollwise.estimation.arrays import ORDER, Columns, with_few_draws
from rollwise.estimation.clusters import Rows
from rollwise.estimation.estimates import Block, blocks_of
from rollwise.estimation.merging import State, blocks, state_of, to_merge
from rollwise.estimation.missingness import Statuses, statuses
from rollwise.estimation.own_statistics import own_statistics
from rollwise.estimation.robust import robust_blocks
from rollwise.estimation.samples import Options
from rollwise.estimation.statistics import POOLED, check_options_of_functions, check_statistics, robust_of
from rollwise.schema.arguments import (
    By,
    Cluster,
    check_by,
    check_levels,
    check_one_value,
    frame_of,
    names_of,
)
from rollwise.schema.named import columns_named, values_named
from rollwise.schema.option_types import check_option_types
from rollwise.schema.other_names import meant_column
from rollwise.stats.bootstrap import FEWEST_CLUSTERS, FEWEST_FOR_CLOSED_FORM
from rollwise.stats.estimate import IntArray, texts
from rollwise.stats.replicates import MOST_SHARED
from rollwise.stats.units import Groups


def summarize(
    rollouts: object,
    *,
    metrics: By | None = None,
    statistics: By | Mapping[str, Callable[..., object]] = None,
    by: By = (),
    cluster: Cluster = "auto",
    weighting: Weighting = "rollout",
    method: Method = "auto",
    level: float | Sequence[float] = 0.95,
    unjudged: Unjudged = "bounds",
    strata: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    margins: bool = False,
    merge: bool = False,
) -> pl.DataFrame:
    """Estimate statistics of each group with intervals, and count the rollouts with and without a value.

    Parameters
    ----------
    rollouts
        ROLLOUTS, eager or lazy, or any Arrow table with a `rollout_id` column.
    metrics
        Columns to summarize; by default every Boolean column (a proportion), numeric column (a mean) and ``Struct{duration,
        observed}`` column (a time to an event), except facts, whole numbers that are keys (`trial_id`), columns in `by` and
        the cluster. `num_turns` is included. Numbers 0 and 1 in a column named like a success metric, as R and Excel write
        them, are read as Booleans.
    statistics
        Any of ``"mean", "median", "min", "max", "std"`` (the sample standard deviation, null for one value),
        ``"restricted_mean"`` and quantiles such as ``"q05"`` and ``"q975"``; by default the mean of a proportion, mean,
        median, min and max of a number, restricted mean and median of a time.

        Aggregates over goals that resist outliers (Agarwal et al. 2021, arXiv:2108.13264): ``"iqm"`` (interquartile mean,
        of the middle half: ⌊n/4⌋ values dropped at each end), ``"optimality_gap"`` (how far values fall short of 1 on
        average; of another number with ``"optimality_gap_0.8"``), ``"goal_mean"`` and ``"goal_median"`` (of the goals'
        means). The first two are of the values of all rollouts, or of the goals' means with ``weighting="goal"``. Outcomes
        of 0 and 1 are always averaged within goals first: the interquartile mean of the outcomes themselves is 0 at a rate
        of .2 and 1 at .8. It is null over fewer than 8 goals, or over goals with a single 0/1 rollout each. Their intervals
        draw whole goals and are expanded for few goals, as the one of a mean is; without that their coverage is .91 for 12
        goals. Fewer than 10 goals are too few to draw.

        Or a mapping of names to functions of your own: ``{"correlation": function}``. Each is given a NumPy array of each of
        `metrics` and returns a number: a correlation, a ratio, a trimmed mean. None and numbers that are not finite count as
        undefined, and rollouts without a value in one of the columns as missing. A function with a parameter `axis` is given
        arrays (replicates, n) and ``axis=-1`` if all clusters have the same size, which is much faster.
    by
        Columns to group by; nulls form a group of their own. With a column of lists, such as tags, a rollout belongs to the
        group of each of its tags, or to the group of null if it has none. Such groups share rollouts: each interval is valid by
        itself, but they are not independent, so `contrast` does not compare them. Readers keep lists as JSON text, which
        ``pl.col("tags").str.json_decode(pl.List(pl.String))`` decodes.
    cluster
        The independent unit: a column, a pair of crossed columns, None for the rollouts themselves, or ``"auto"``:
        `goal` for metrics of the attack, `task` for metrics of the task, both if they are crossed, and the other one where
        it is known more often and the first in less than half of a group. ``"auto"`` is decided for each group separately, and
        `reason` says where neither is known, so that every rollout counts as independent.
    weighting
        ``"rollout"``: all rollouts weigh the same; ``"goal"``: all goals do, and a rollout without one weighs as one goal,
        which `reason` mentions; ``"turn"``: a rollout weighs as much as it has turns.
    method
        Interval of a mean. ``"auto"``: for a proportion, Wilson with the effective sample size of the clusters; for a number,
        the BCa cluster bootstrap, expanded for few clusters as t is, or t(G - 1) with fewer than ten clusters (or clusters of
        unequal weight that are worth fewer than ten equal ones) or if BCa is undefined. Fractions that are all 0.0 or 1.0 get
        Wilson if t would leave [0, 1], and intervals of metrics that cannot leave it (F1, similarities, shares of turns or
        calls) never do. ``"bootstrap"`` is plain BCa for a mean, and the percentile interval for a quantile or over two
        crossed ways. With 1000 or more clusters of equal weight, a closed form replaces the draws of a mean.
        ``"percentile"``, ``"basic"`` and ``"studentized"`` request one interval. ``"beta-binomial"`` is for shares: the
        mean chance of all goals, each of one weight, whose chances are draws from one distribution (`stats.beta_binomial`).
        Its interval is about half as wide where one goal has most of the rollouts, and it counts all attempts of loops that
        stopped at a success; but its estimate is not the share of the rollouts, which `bound_low` and `bound_high` show beside it
        (equal where every verdict is known), and numbers of rollouts must not follow chances in another way. ``"normal"`` is the
        interval that the NeMo Agent Toolkit computes for run times, for comparison with its results; it is too narrow for small
        samples.
        Times have one method each; extremes and standard deviations have no interval. ``"within-goals"`` is for the
        aggregates over goals alone: it draws rollouts within each goal, for inference to these goals only (rliable's
        stratified bootstrap). Functions of your own have percentiles at a level that is raised so that the normal quantile
        equals that of t, because a bootstrap over few clusters is otherwise too narrow (Hesterberg 2015,
        doi:10.1080/00031305.2015.1089789): a correlation over 12 goals is covered in .94 instead of .91; or, at the plain
        level, ``"percentile"``, ``"basic"`` (for statistics without bounds) or ``"bca"``, which calls the function once
        more for each cluster. With fewer than 10 clusters `reason` says that they are too narrow.
    level
        Nominal coverage, or several.
    unjudged
        How to treat rollouts without a verdict, in whole or in part (none, an undetermined one, or unjudged turns and no
        success; not an error at its end), which may or may not be failures. ``"bounds"``: the interval reaches
        from the lower end with all of them as failures to the upper end with all as successes; the estimate counts unjudged
        turns as censored (it needs `time_to_success`), and without any verdict it takes the others as representative.
        ``"censor"``: the same estimate with the interval of the censored share, valid if turns are unjudged at random.
        ``"drop"`` leaves these rollouts out, which overestimates the rate if turns are unjudged. ``"sample"``: rollouts
        without any verdict were not drawn for judging, and the estimate is of those drawn; the others as with ``"bounds"``.
        Where no rollout of a group is judged at all, there is no estimate. A Boolean of your own is a verdict, too; metrics
        made of something else, such as counts and texts, are not bounded, and of statistics only means and those over goals.
    strata
        A column whose values are strata: correct if the number of goals of each category was fixed by design, wrong for
        inference to new categories. Goals then vary around the average of their stratum: a share has Wilson's interval (or
        another of `method`) with that variance, and of a mean a percentile or basic bootstrap draws clusters within each
        stratum. Other methods and statistics, and two crossed ways, then have no interval.
    resamples, seed
        Number of bootstrap replicates and their seed. The same clusters and seed give the same draws, whatever other rows
        the table has.
    margins
        If True, also pool over each of the grouping columns, whose value is then ``"all"``; these columns must be text.
    merge
        If True, work from mergeable counts: rollouts are read in batches, shares and times are counted by group and cluster,
        and numbers are kept without their ids. For a `LazyFrame` larger than memory; give it a column `attempt`, since without
        one each rollout is counted by itself, to keep the order of attempts. The rows are the same, except for the
        last digits of sums, and for draws over independent rollouts or unknown clusters, whose ids are not kept.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.SUMMARY`. A rate without any rollout is null. An interval is null if it is not
        defined, and `reason` explains why. Every rollout is counted exactly once, in the first of these that applies: `n`,
        `n_inapplicable`, `n_error`, `n_undetermined`, `n_missing`. If attempts at a goal stopped at the first success, only the
        first one counts for a success and the time to it: hard goals are tried more often, so the mean over all attempts is
        below the chance of one. The others are in `n_inapplicable`. Attempts are numbered in `attempt`, or come in the order of
        rows, in each of the groups asked for; whether they stopped shows in their order and in where they end.

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If an option names a missing column or has an invalid value, or a function fails on a replicate.
    MetricError
        If a function fails on the original data.

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
    >>> summarize(rollouts).select("metric", "estimate", pl.col("low", "high").round(3), "n", "n_undetermined")
    shape: (1, 6)
    ┌────────────────┬──────────┬───────┬──────┬─────┬────────────────┐
    │ metric         ┆ estimate ┆ low   ┆ high ┆ n   ┆ n_undetermined │
    │ ---            ┆ ---      ┆ ---   ┆ ---  ┆ --- ┆ ---            │
    │ str            ┆ f64      ┆ f64   ┆ f64  ┆ i64 ┆ i64            │
    ╞════════════════╪══════════╪═══════╪══════╪═════╪════════════════╡
    │ attack_success ┆ 0.333333 ┆ 0.046 ┆ 0.85 ┆ 3   ┆ 1              │
    └────────────────┴──────────┴───────┴──────┴─────┴────────────────┘
    """
    check_option_types(summarize, locals())
    if isinstance(statistics, Mapping):
        check_options_of_functions(weighting=weighting, unjudged=unjudged, margins=margins, merge=merge)
        return own_statistics(
            rollouts,
            statistics,
            columns=metrics,
            by=by,
            cluster=cluster,
            strata=strata,
            method=method,
            level=level,
            resamples=resamples,
            seed=seed,
        )
    by, levels = names_of(by), check_levels(level)
    names = None if statistics is None else names_of(statistics)
    options = Options(
        cluster=cluster,
        weighting=weighting,
        method=method,
        unjudged=unjudged,
        strata=strata,
        resamples=resamples,
        seed=seed,
    )
    check_statistics(names, options)
    # A state, or counts by batch, instead of one row per rollout in memory.
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
            unjudged=unjudged,
            strata=strata,
            resamples=resamples,
            seed=seed,
            margins=margins,
        )
    frame = rollouts_frame(rollouts, "summarize")
    check_by(frame, by, schema.SUMMARY, "summarize")
    columns = metric_columns(frame, by, cluster, metrics)
    announce_many(columns, metrics, "summarize")
    data = Columns(frame, by)
    if weighting == "goal" and not data.has("goal"):
        raise ArgumentError("summarize: weighting='goal' needs a column `goal`, which this table lacks")
    if strata is not None and not data.has(strata):
        raise ArgumentError(f"summarize: there is no column {strata!r} for strata; {meant_column(strata, frame)}")
    if strata is not None:
        check_one_value(frame, strata, "summarize")
    keys, numbers, groups = _all_groups(data, by, margins=margins)
    every = Rows(data, numbers, groups)
    # The beta-binomial likelihood holds for all attempts of loops that stopped at a success.
    pooled = {name for name in columns if method == POOLED and data.kinds[name] == "proportion"}
    statuses_of = {name: statuses(data, name, of_attempts=name in pooled)[numbers] for name in columns}
    frames = []
    for part in _portions(groups, resamples):
        rows, mask = every.of(part)
        blocks = [
            (metric, block)
            for metric in columns
            for block in _blocks_of(rows, metric, statuses_of[metric][mask], options, names, levels)
        ]
        frames.append(_frame(keys[part] if by else keys, blocks, seed, part.size))
    return pl.concat(frames)


def _portions(groups: Groups, resamples: int) -> list[IntArray]:
    """Divide the groups so that all metrics of a portion find the bootstrap's draws in memory; few clusters are not drawn."""
    sizes = groups.sizes
    draws = np.where(sizes < FEWEST_CLUSTERS, 0, np.minimum(sizes, FEWEST_FOR_CLOSED_FORM)) * resamples
    # Half of what is kept, since a portion can end after its limit.
    portion = np.cumsum(draws) // (MOST_SHARED // 2)
    return np.split(np.arange(groups.count), np.flatnonzero(np.diff(portion)) + 1)


def _frame(keys: pl.DataFrame, blocks: list[tuple[str, Block]], seed: int, height: int) -> pl.DataFrame:
    """Return SUMMARY: the rows of a group follow each other, in the order of the blocks."""
    count = len(blocks)
    # Columns are made block by block; this order takes the rows of group 0 of all blocks first.
    order = np.arange(count * height).reshape(count, height).T.ravel()
    columns = {}
    for name, dtype in schema.SUMMARY.dtypes.items():
        parts = [np.broadcast_to(_column(name, metric, block, seed), height) for metric, block in blocks]
        values = np.concatenate(parts)[order] if parts else np.array([])
        # Polars takes texts, and numbers beside None, from a list.
        series = pl.Series(name, values.tolist() if values.dtype == object else values, dtype=dtype)
        columns[name] = series.fill_nan(None) if dtype == pl.Float64 else series
    groups = keys[np.repeat(np.arange(height), count)] if keys.width else keys
    return with_few_draws(pl.DataFrame({**groups.to_dict(), **columns}))


def _column(name: str, metric: str, block: Block, seed: int) -> Any:
    """Return a column of SUMMARY of one block: an array, or one value for all groups."""
    estimates = block.estimates
    resampled = estimates.resamples > 0
    special = {
        "metric": np.array(metric, dtype=object),
        "statistic": np.array(block.statistic, dtype=object),
        "level": block.level,
        "bound_low": block.bounds[0],
        "bound_high": block.bounds[1],
        "estimand": block.estimands,
        "resamples": texts(resampled, estimates.resamples, None),
        "seed": texts(resampled, seed, None),
        **block.missing,
    }
    return special[name] if name in special else getattr(estimates, name)


def _merged(rollouts: object, *, by: tuple[str, ...], metrics: By | None, **options: Any) -> pl.DataFrame:
    """Summarize a state; its counted columns are shares and times, its kept columns are numbers."""
    if isinstance(rollouts, State):
        dtypes = rollouts.dtypes
    else:
        # Read 0 and 1 as Booleans first, because shares are counted and numbers are kept.
        rollouts = rollouts if isinstance(rollouts, pl.LazyFrame) else frame_of(rollouts, "summarize")
        rollouts = rollouts.with_columns(booleans(rollouts))
        dtypes = rollouts.collect_schema()
    empty = summarize(
        pl.DataFrame(schema=dtypes), by=by, metrics=metrics, **options
    )  # invalid arguments raise an error before anything is read
    choices = {name: options[name] for name in ("cluster", "unjudged", "strata")}
    counted_columns, kept_columns = to_merge(dtypes, by=by, metrics=metrics, **choices)
    if ORDER in counted_columns and not isinstance(rollouts, State):
        rollouts = rollouts.with_row_index(ORDER)
    state = rollouts if isinstance(rollouts, State) else state_of(rollouts, counted_columns, kept_columns)
    columns = metric_columns(pl.DataFrame(schema=dtypes), by, options["cluster"], metrics)
    numbers = [name for name in columns if schema.kind_of(dtypes[name]) == "number"]
    shares = [name for name in columns if name not in numbers]
    rows = [
        # Counted rollouts hold the shares and times, kept rollouts the numbers; each part has the same groups.
        summarize(part, by=by, metrics=names, **options)
        for block in blocks(state, () if options["margins"] else by)
        for part, names in zip(block, (shares, numbers), strict=True)
        if names
    ]
    if not rows:
        return empty
    result = pl.concat(rows)
    groups = (
        result.select(columns_named(by)).unique(maintain_order=True).with_row_index("\0group")
        if by
        else pl.DataFrame({"\0group": [0]})
    )
    numbered = (
        result.join(groups, on=columns_named(by), nulls_equal=True, maintain_order="left")
        if by
        else result.join(groups, how="cross")
    )
    order = ("\0group", pl.col("metric").cast(pl.Enum(columns)))
    # Shares and numbers were summarized apart: sort rows as if they came from one call, by group and metric.
    return numbered.sort(order, maintain_order=True).drop("\0group")


def _blocks_of(
    rows: Rows,
    metric: str,
    statuses: Statuses,
    options: Options,
    names: tuple[str, ...] | None,
    levels: tuple[float, ...],
) -> list[Block]:
    """Return the blocks of all statistics of a metric, in the order of their names."""
    # A time to an event has neither; the row of `blocks_of` says so.
    robust = robust_of(names) if rows.data.kinds[metric] != "time" else ()
    plain = None if names is None else tuple(name for name in names if name not in robust)
    blocks = list(robust_blocks(rows, metric, statuses, options, robust, levels)) if robust else []
    if plain is None or plain:
        blocks += blocks_of(rows, metric, statuses, options, plain, levels)
    return sorted(blocks, key=lambda block: names.index(block.statistic)) if names and robust else blocks


def _all_groups(data: Columns, by: tuple[str, ...], *, margins: bool) -> tuple[pl.DataFrame, IntArray, Groups]:
    """Return the keys of all groups, and the row numbers of one group after another; with margins, pooled groups last."""
    keys, numbers, groups = data.grouped(by)
    if not margins:
        return keys, numbers, groups
    for name in by:
        column = values_named(data.frame, name)
        if column.dtype != pl.String or column.null_count() or (column == schema.POOLED).any():
            raise ArgumentError(
                f"summarize: margins=True writes {schema.POOLED!r} into {name!r}, which must be text without nulls and without "
                f'that word; `.with_columns(pl.col("{name}").cast(pl.String).fill_null("(none)"))` makes it so'
            )
    parts = [(keys, numbers, groups)]
    # Every proper subset of the grouping columns, the largest first; the others are pooled.
    for size in range(len(by) - 1, -1, -1):
        for names in combinations(by, size):
            pooled, rows, of = data.grouped(names)
            columns = [pooled[name] if name in names else pl.Series(name, [schema.POOLED] * of.count) for name in by]
            parts.append((pl.DataFrame(columns), rows, of))
    starts = np.cumsum([0, *(of.count for _, _, of in parts)])
    codes = np.concatenate([of.codes + start for (_, _, of), start in zip(parts, starts[:-1], strict=True)])
    return (
        pl.concat([keys for keys, _, _ in parts]),
        np.concatenate([rows for _, rows, _ in parts]),
        Groups(codes, int(starts[-1])),
    )
