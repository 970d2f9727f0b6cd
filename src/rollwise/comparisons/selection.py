"""Result frames -> the rows with the best estimate, and the rows on the Pareto front."""

from collections.abc import Mapping
from typing import Literal

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, counted, listing, meant
from rollwise.estimation.arrays import join_reasons
from rollwise.metrics import catalog
from rollwise.schema.arguments import By, frame_of, names_of
from rollwise.schema.coercion import cast_column, check_dtypes
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.schema.option_types import check_option_types
from rollwise.stats.statistics import first_of

Better = Literal["higher", "lower"]
_NUMBER = "\0number"  # of candidates
_TOGETHER = 0.95  # the probability with which the intervals of all candidates should hold together


def best(
    summary: object,
    *,
    metric: str,
    statistic: str | None = None,
    by: By = (),
    where: pl.Expr | None = None,
    better: Better | None = None,
    goals: Literal["same", "all"] = "same",
) -> pl.DataFrame:
    """Return the row of a SUMMARY with the best estimate of a metric, in each group and under a condition.

    Parameters
    ----------
    summary
        SUMMARY, or any frame with the columns `metric` and `estimate`.
    metric
        The metric to compare.
    statistic
        The statistic to compare, if the frame has several: by default the mean, or the restricted mean of a time. If there
        are several levels, only rows of the highest one are considered.
    by
        Columns to find the best row within; all other columns identify the candidates.
    where
        Condition that candidates must meet, such as ``pl.col("high") < 0.05``. A null does not meet it.
    better
        ``"higher"`` or ``"lower"``; by default the direction in the catalog of metrics.
    goals
        ``"same"``: candidates of different numbers of goals are refused, because they did not meet the same ones. (A SUMMARY
        does not say which they met, nor who judged them: equal numbers may be of other goals, or of other judges, which
        `contrast` tells.) ``"all"`` compares them.

    Returns
    -------
    polars.DataFrame
        Rows of the frame, one for each group, or several if they tie. The estimate of the best of many candidates is too good
        on average, and its interval is for a candidate that was chosen beforehand: of ten equal ones, that of the best holds
        in .85 instead of .95. `reason` says so, and at which level all intervals of `rw.summarize` hold together, so that the
        one of the best does, too. `rw.rank` tells which candidates may be the best.

    Raises
    ------
    ArgumentError
        If no row has that metric, none meets the condition, the better direction is unknown, or candidates are of different
        numbers of goals.

    Examples
    --------
    >>> summary = pl.DataFrame(
    ...     {"target": ["a", "b", "c"], "metric": "attack_success", "estimate": [0.1, 0.3, 0.01], "n": [50, 50, 3]}
    ... )
    >>> best(summary, metric="attack_success", where=pl.col("n") >= 30)["target"].to_list()
    ['a']
    """
    check_option_types(best, locals())
    table, by = frame_of(summary, "best"), names_of(by)
    missing = [name for name in ("metric", "estimate") if name not in table.columns]
    if missing:
        raise ArgumentError(
            f"best: this is not a SUMMARY: it lacks {listing(missing)} (available: {listing(table.columns)}); "
            "make one with `rw.summarize(rollouts)`"
        )
    check_dtypes(table, schema.SUMMARY, "best")
    names = [column for column in schema.SUMMARY.columns if column.name in {"metric", "statistic"} & set(table.columns)]
    table = table.with_columns(cast_column(table, column, "best") for column in names)
    for name in by:
        if name not in table.columns:
            raise ArgumentError(f"best: there is no column {name!r}; {meant(name, table.columns)}")
    rows = table.filter(pl.col("metric") == metric)
    if rows.is_empty():
        raise ArgumentError(f"best: there is no metric {metric!r} in this frame; available: {listing(table['metric'])}")
    rows = _comparable_rows(rows, statistic)
    candidates = rows.filter(pl.col("estimate").is_not_null())
    try:
        candidates = candidates if where is None else candidates.filter(where)
    except pl.exceptions.PolarsError as error:  # the user's own expression
        raise ArgumentError(f"best: where= cannot be evaluated: {str(error).splitlines()[0]}") from error
    if candidates.is_empty():
        raise ArgumentError(
            f"best: none of the {counted(rows.height, 'row')} of {metric!r} meets the condition; relax `where`"
        )
    if goals == "same":
        _check_goals(candidates, by)
    value = pl.col("estimate")
    extreme = value.max() if direction(metric, better, verb="best") == "higher" else value.min()
    number = pl.len().over(columns_named(by)) if by else pl.len()
    chosen = candidates.with_columns(number.alias(_NUMBER)).filter(
        value == (extreme.over(columns_named(by)) if by else extreme)
    )
    return _with_reason(chosen).drop(_NUMBER)


def _with_reason(chosen: pl.DataFrame) -> pl.DataFrame:
    """Say in the reason of an interval that its candidate was chosen by the estimate."""
    if not {"low", "high", "level", "reason"} <= set(chosen.columns):
        return chosen
    rows = chosen.select("low", "high", "level", "reason", _NUMBER).rows(named=True)
    reasons = [
        join_reasons(row["reason"], _of_the_best(row[_NUMBER], row["level"]))
        if row[_NUMBER] > 1 and row["level"] is not None and (row["low"], row["high"]) != (None, None)
        else row["reason"]
        for row in rows
    ]
    return chosen.with_columns(pl.Series("reason", reasons, dtype=pl.String))


def _of_the_best(number: int, level: float) -> str:
    """Return the reason of the best of several candidates: their intervals hold together by Bonferroni's inequality."""
    together = 1 - number * (1 - level)
    reason = f"the best of {number}, chosen by its estimate, which is too good on average"
    if together >= _TOGETHER - 1e-9:
        return f"{reason}; the intervals of all {number} hold together with at least {100 * together:.3g} %"
    return f"{reason}, as its interval is; with level={1 - (1 - _TOGETHER) / number:.4g} those of all {number} hold together"


def _check_goals(candidates: pl.DataFrame, by: tuple[str, ...]) -> None:
    """Raise an error if candidates are of different numbers of goals or tasks."""
    if not {"n_clusters", "estimand"} <= set(candidates.columns):
        return
    of_goals = candidates.filter(pl.col("estimand").cast(pl.String).str.contains(r"unit: (goal|task)"))
    for group in of_goals.partition_by(columns_named(by)) if by else [of_goals]:
        numbers = group["n_clusters"].drop_nulls().unique().sort().to_list()
        if len(numbers) > 1:
            raise ArgumentError(
                f"best: the candidates did not meet the same goals (from {numbers[0]:,} to {numbers[-1]:,} of them), so their "
                "estimates do not say which is best; compare them over common goals with `rw.contrast(rollouts, of=...)`, or "
                "pass goals='all'"
            )


def _comparable_rows(rows: pl.DataFrame, statistic: str | None) -> pl.DataFrame:
    """Return the rows with comparable estimates: one statistic and one level, so one row per candidate."""
    if "statistic" in rows.columns:
        statistics = rows["statistic"].unique().to_list()
        wanted = statistic or (statistics[0] if len(statistics) == 1 else first_of(statistics))
        if wanted not in statistics:
            raise ArgumentError(f"best: statistic={statistic!r}; available: {listing(statistics)}")
        rows = rows.filter(pl.col("statistic").eq_missing(pl.lit(wanted, pl.String)))
    elif statistic is not None:
        raise ArgumentError(f"best: statistic={statistic!r}, and the frame has no column `statistic`; leave it out")
    return rows.filter(pl.col("level") == pl.col("level").max()) if "level" in rows.columns else rows


def pareto(frame: object, better: Mapping[str, Better], *, by: By = ()) -> pl.DataFrame:
    """Add a Boolean column `pareto`: true if no other row is at least as good in every column and better in one.

    Parameters
    ----------
    frame
        Any frame with a row for each candidate, such as targets with several rates.
    better
        The columns to compare, each with ``"higher"`` or ``"lower"``.
    by
        Columns within whose values rows are compared.

    Returns
    -------
    polars.DataFrame
        All rows in the same order. `pareto` is null if a compared column is null; such a row does not dominate any other.

    Raises
    ------
    ArgumentError
        If a column is missing or not numeric.

    Examples
    --------
    >>> rates = pl.DataFrame({"attack_success": [0.1, 0.2, 0.3], "task_success": [0.6, 0.9, 0.8]})
    >>> pareto(rates, {"attack_success": "lower", "task_success": "higher"})["pareto"].to_list()
    [True, True, False]
    """
    check_option_types(pareto, locals())
    table, by = frame_of(frame, "pareto"), names_of(by)
    if not better:
        raise ArgumentError("pareto: better={} is empty; name at least one column, each with higher or lower")
    if len(set(by)) < len(by):
        raise ArgumentError(f"pareto: by={list(by)} repeats a column; name each column once")
    for name in (*better, *by):
        if name not in table.columns:
            raise ArgumentError(f"pareto: there is no column {name!r}; {meant(name, table.columns)}")
    for name in better:
        if not table.schema[name].is_numeric():
            raise ArgumentError(f"pareto: {name!r} is {table.schema[name]}; give columns of numbers")
    index_name, rival_name = "\0row", "\0other"
    # Flip the sign of columns that should be low, so that higher is better in all of them.
    signed = [
        (column_named(name).cast(pl.Float64).fill_nan(None) * (1 if goal == "higher" else -1)).alias(f"\0{number}")
        for number, (name, goal) in enumerate(better.items())
    ]
    marked = table.select(*columns_named(by), *signed).with_row_index(index_name)
    values = [expression.meta.output_name() for expression in signed]
    group = pl.struct(*columns_named(by)).rank("dense") if by else pl.lit(0)
    complete = marked.drop_nulls(columns_named(values)).with_columns(group.alias("\0group"))
    rivals = complete.select(
        "\0group",
        column_named(index_name).alias(rival_name),
        *[column_named(name).alias(f"{name}'") for name in values],
    )
    # A row is dominated if a rival of its group is at least as good everywhere and better somewhere.
    dominated = (
        complete.lazy()
        .join(rivals.lazy(), on="\0group")
        .filter(
            pl.all_horizontal([column_named(f"{name}'") >= column_named(name) for name in values]),
            pl.any_horizontal([column_named(f"{name}'") > column_named(name) for name in values]),
        )
        .select(columns_named(index_name))
        .unique()
        .collect()
    )
    # Rows with a null in a compared column are neither dominated nor dominating.
    index = pl.int_range(pl.len(), dtype=pl.UInt32)
    is_complete = index.is_in(values_named(complete, index_name).implode())
    return table.with_columns(
        pareto=pl.when(is_complete).then(~index.is_in(values_named(dominated, index_name).implode()))
    )


def direction(metric: str, better: Better | None = None, *, verb: str = "best") -> Better:
    """Return the direction in which a metric is better: the argument, else the entry of the catalog."""
    about = catalog.about(metric)
    choice = better or (about.better if about is not None else None)
    if choice not in {"higher", "lower"}:
        raise ArgumentError(
            f"{verb}: it is unknown which way {metric!r} is better; pass better='higher' or better='lower'"
        )
    return "higher" if choice == "higher" else "lower"
