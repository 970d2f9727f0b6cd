"""ROLLOUTS -> SUMMARY: one row per group, metric, statistic and level, every rollout accounted for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.accounts import FACTS, HALF_JUDGED, INAPPLICABLE, VALUE, Headings, counts, headings
from turnwise.arguments import (
    By,
    Cluster,
    check_by,
    check_levels,
    frame_of,
    metric_columns,
    names_of,
    quantile_of,
    require_rollouts,
)
from turnwise.cells import (
    Sheet,
    Unit,
    causes,
    chosen,
    columns_of,
    endings,
    generator,
    row_of,
    rows_of,
    strata_of,
    unit_of,
)
from turnwise.errors import ArgumentError, listing
from turnwise.states import State, blocks, state_of
from turnwise.stats.clusters import groupings, ones_or, weighted_mean
from turnwise.stats.estimate import Estimate, FloatArray, IntArray
from turnwise.stats.incidence import cumulative_incidence
from turnwise.stats.intervals import ShareInterval
from turnwise.stats.mean import Interval, mean
from turnwise.stats.proportion import proportion
from turnwise.stats.quantiles import QuantileInterval, extreme, quantile
from turnwise.stats.survival import restricted_mean, survival_median

Weighting = Literal["rollout", "goal", "turn"]
Method = Literal[
    "auto",
    "wilson",
    "exact",
    "jeffreys",
    "agresti-coull",
    "t",
    "bootstrap",
    "resample",
    "bca",
    "percentile",
    "basic",
    "studentized",
]
Undecided = Literal["bounds", "drop", "censor"]

DEFAULT_STATISTICS = {
    "proportion": ("mean",),
    "number": ("mean", "median", "min", "max"),
    "time": ("restricted_mean", "median"),
}
POOLED = "all"
_OF_A_SHARE: dict[str, ShareInterval] = {
    "auto": "wilson",
    "wilson": "wilson",
    "exact": "exact",
    "jeffreys": "jeffreys",
    "agresti-coull": "agresti-coull",
}
_OF_A_MEAN: dict[str, Interval] = {
    "auto": "auto",
    "t": "t",
    "bootstrap": "bca",
    "resample": "bca",
    "bca": "bca",
    "percentile": "percentile",
    "basic": "basic",
    "studentized": "studentized",
}
_OF_A_QUANTILE: dict[str, QuantileInterval] = {
    "bootstrap": "percentile",
    "percentile": "percentile",
    "resample": "resample",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    cluster: Cluster
    weighting: Weighting
    method: Method
    undecided: Undecided
    strata: str | None
    resamples: int
    seed: int


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
        Columns to group by; a null is a group of its own.
    metrics
        Columns to summarize; by default every Boolean (a proportion), numeric (a mean) or ``Struct{duration,
        observed}`` (a time to an event) column that is neither a fact, nor in `by`, nor the cluster. `num_turns` is
        one.
    statistics
        Of ``"mean", "median", "min", "max", "restricted_mean"`` and quantiles such as ``"q90"``; by default the
        mean of a proportion, mean, median, min and max of a number, restricted mean and median of a time.
    cluster
        What is independent: a column, a pair of crossed columns, None for the rollouts themselves, or ``"auto"``:
        `goal` for metrics of the attack, `task` for metrics of the task, both where they are crossed. Decided for
        each group by itself.
    weighting
        ``"rollout"``: every rollout weighs the same; ``"goal"``: every goal does; ``"turn"``: a rollout weighs its
        turns.
    method
        Interval of a mean. ``"auto"``: Wilson with the effective size of the clusters for a proportion; BCa cluster
        bootstrap for a number, t(G - 1) under ten clusters or where BCa is undefined. ``"bootstrap"`` is BCa for a
        mean and the percentile interval for a quantile or over two crossed ways, by the fastest route that is exact
        enough: the binomial law of 0 and 1, a Fourier transform for scores on a grid, order statistics, four moments,
        else draws; ``"resample"`` is the same, always drawn. ``"percentile"``, ``"basic"`` and ``"studentized"`` name
        one. Times have one method each and keep it; extremes have none.
    level
        Nominal coverage, or several.
    undecided
        What to do with half-judged rollouts, which have unjudged turns and no success: ``"bounds"`` leaves the
        point open and gives an interval that holds whatever they are; ``"drop"`` leaves them out, which pushes the
        rate up; ``"censor"`` takes the share by the last turn from `time_to_success`, where they are censored.
    strata
        A column within whose values clusters are drawn (a percentile or basic bootstrap of means): right where the number
        of goals of each category was fixed by design, wrong for inference to new categories.
    resamples, seed
        Of the bootstrap. The same clusters and seed give the same draws, whatever else is in the frame.
    margins
        Also pool over each of the grouping columns, whose value is then ``"all"``; they must be text.
    merge
        Work from what can be put together: rollouts are read in batches, shares and times counted by group and cluster,
        numbers kept without their ids. For a `LazyFrame` beyond memory; the same rows but for the last digits of sums, and
        for draws where nothing but the rollouts themselves is independent, whose ids are forgotten.

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
    Korn & Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data. Survey Methodology 24. Efron (1987), doi:10.1080/01621459.1987.10478410. Woodruff
    (1952), doi:10.1080/01621459.1952.10483443.

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
    frame = frame_of(rollouts, "summarize")
    require_rollouts(frame, "summarize")
    check_by(frame, by, schema.SUMMARY, "summarize")
    columns = metric_columns(frame, by, cluster, metrics)
    options = _Options(
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
    found = {metric: headings(sheet, metric) for metric in columns}
    rows = [
        {**key, **row}
        for key, group in _all_groups(sheet, by, margins=margins)
        for metric in columns
        for row in _cell(_Cell(sheet, metric, group, found[metric][group], options), asked, levels)
    ]
    return rows_of(rows, frame, by, schema.SUMMARY)


def _merged(rollouts: object, *, by: tuple[str, ...], metrics: By | None, **options: Any) -> pl.DataFrame:
    """The same from a state: whole groups at a time, their shares and times counted, their numbers kept."""
    if isinstance(rollouts, State):
        dtypes = rollouts.dtypes
    else:
        rollouts = rollouts if isinstance(rollouts, pl.LazyFrame) else frame_of(rollouts, "summarize")
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
            raise ArgumentError(f"summarize: {name}={value!r} is unknown; it is one of {listing(words)}")
    for statistic in statistics or ():
        if statistic not in {"mean", "median", "min", "max", "restricted_mean"} and quantile_of(statistic) is None:
            raise ArgumentError(
                f"summarize: statistic {statistic!r} is unknown; "
                "it is mean, median, min, max, restricted_mean, or a quantile such as q90"
            )
    if resamples < 100:
        raise ArgumentError(f"summarize: resamples={resamples} is too few for an interval; 2000 is a sensible least")


def _all_groups(sheet: Sheet, by: tuple[str, ...], *, margins: bool) -> list[tuple[dict[str, Any], IntArray]]:
    found = sheet.groups(by)
    if not margins:
        return found
    for name in by:
        column = sheet.frame[name]
        if column.dtype != pl.String or column.null_count() or (column == POOLED).any():
            raise ArgumentError(
                f"summarize: margins=True writes {POOLED!r} into {name!r}, which must be text without nulls and without "
                f'that word; `.with_columns(pl.col("{name}").cast(pl.String).fill_null("(none)"))` makes it so'
            )
    for size in range(len(by) - 1, -1, -1):
        for kept in combinations(by, size):
            pooled = dict.fromkeys(by, POOLED)
            found += [({**pooled, **key}, rows) for key, rows in sheet.groups(kept)]
    return found


@dataclass(frozen=True, slots=True)
class _Cell:
    """One metric in one group: the rows of the group, and the heading of each."""

    sheet: Sheet
    metric: str
    rows: IntArray
    found: Headings
    options: _Options

    @property
    def kind(self) -> str:
        return self.sheet.kinds[self.metric] or "number"

    @property
    def applicable(self) -> IntArray:
        """The rows that the metric applies to."""
        return chosen(self.rows, self.found != INAPPLICABLE)

    def weighing(self, rows: IntArray) -> IntArray:
        """Those of the rows that weigh anything."""
        if self.options.weighting != "turn":
            return rows
        return np.asarray(rows[np.nan_to_num(self.sheet.numbers("num_turns")[rows]) > 0])

    def sample(self, rows: IntArray, names: Cluster, values: FloatArray | None = None) -> "_Sample":
        """The rows as a sample, with the given values or their own."""
        unit = unit_of(self.sheet, rows, self.metric, names)
        own = self.sheet.numbers(self.metric)[rows] if values is None and self.kind != "time" else np.zeros(rows.size)
        return _Sample(
            rows, own if values is None else values, unit, _weights(self.sheet, rows, self.options.weighting)
        )


@dataclass(frozen=True, slots=True)
class _Sample:
    """The rollouts of a group whose value is known, their values, their independent unit and their weights."""

    rows: IntArray
    values: FloatArray
    unit: Unit
    weights: FloatArray | None


def _weights(sheet: Sheet, rows: IntArray, weighting: Weighting) -> FloatArray | None:
    if weighting == "rollout" or not rows.size:
        return None
    if weighting == "turn":
        return sheet.numbers("num_turns")[rows]
    _, goal, size = np.unique(sheet.coded("goal").codes[rows], return_inverse=True, return_counts=True)
    weights = 1 / size[goal]
    return np.asarray(weights * (weights.size / weights.sum()))


def _cell(cell: _Cell, asked: tuple[str, ...] | None, levels: tuple[float, ...]) -> list[dict[str, Any]]:
    names = unit_of(cell.sheet, cell.applicable, cell.metric, cell.options.cluster).names or None
    known = chosen(cell.rows, cell.found == VALUE)
    seen = cell.weighing(known)
    sample = cell.sample(seen, names)
    half_judged = bool((cell.found == HALF_JUDGED).any())
    many = counts(cell.found)
    made = []
    for statistic in asked or DEFAULT_STATISTICS[cell.kind]:
        share = cell.kind == "proportion" and statistic == "mean"
        bounds = _bounds(cell) if share else {}
        for level in levels:
            estimate = _estimate(cell, sample, statistic, level)
            if share and half_judged:
                estimate = _half_judged(cell, names, level, estimate)
            if known.size > seen.size:
                nothing = f"{known.size - seen.size} rollouts without turns weigh nothing"
                estimate = replace(estimate, reason=_also(estimate.reason, nothing))
            made.append(
                {
                    "metric": cell.metric,
                    "statistic": statistic,
                    "level": level,
                    **bounds,
                    **many,
                    **row_of(estimate),
                    "estimand": _estimand(cell, sample, statistic, many),
                    "seed": cell.options.seed if estimate.resamples else None,
                }
            )
    return made


def _estimate(cell: _Cell, sample: _Sample, statistic: str, level: float) -> Estimate:
    if cell.kind == "time":
        return _time(cell, sample, statistic, level)
    match statistic:
        case "mean":
            return _mean(cell, sample, level)
        case "min" | "max":
            return extreme(sample.values, statistic)
        case "restricted_mean":
            return Estimate(
                n=sample.rows.size, reason="a restricted mean is of a time to an event; this metric is none"
            )
        case _:
            q = quantile_of(statistic) or 0.5
            return quantile(
                sample.values,
                sample.unit.codes,
                q=q,
                weights=sample.weights,
                level=level,
                interval=_OF_A_QUANTILE.get(cell.options.method, "auto"),
                rng=lambda: generator(cell.options.seed, sample.unit.ids()),
                resamples=cell.options.resamples,
            )


def _mean(cell: _Cell, sample: _Sample, level: float) -> Estimate:
    clusters, weights, method = sample.unit.codes, sample.weights, cell.options.method
    share, drawn = cell.kind == "proportion", method in {"bootstrap", "resample"}
    if cell.options.strata is not None:
        return _stratified(cell, sample, level)
    if share and method in _OF_A_SHARE:
        return proportion(sample.values, clusters, weights=weights, level=level, interval=_OF_A_SHARE[method])
    if method not in _OF_A_MEAN or (share and method == "basic"):
        plain = mean(sample.values, clusters, weights=weights, level=level, interval="t")
        why = "of a share it can leave [0, 1]" if share else "is for shares; this is a number"
        return replace(plain, low=None, high=None, method=None, design_effect=None, reason=f"{method}: {why}")
    estimate = mean(
        sample.values,
        clusters,
        weights=weights,
        level=level,
        rng=lambda: generator(cell.options.seed, sample.unit.ids()),
        resamples=cell.options.resamples,
        interval="percentile" if drawn and len(clusters) > 1 else _OF_A_MEAN[method],
        draw=method == "resample",
    )
    if share and estimate.low is None and drawn:
        wilson = proportion(sample.values, clusters, weights=weights, level=level)
        return replace(wilson, reason=_also(estimate.reason, "Wilson instead of the bootstrap"))
    return estimate


def _stratified(cell: _Cell, sample: _Sample, level: float) -> Estimate:
    """The mean with clusters drawn within strata: the percentile bootstrap, or the basic one by name."""
    options, clusters = cell.options, sample.unit.codes
    strata = None
    if sample.rows.size and len(clusters) < 2:
        unit = groupings(clusters, sample.rows.size)[0]
        strata = strata_of(cell.sheet, sample.rows, unit, str(options.strata), "summarize")
    return mean(
        sample.values,
        clusters,
        weights=sample.weights,
        level=level,
        rng=lambda: generator(options.seed, sample.unit.ids()),
        resamples=options.resamples,
        interval="basic" if options.method == "basic" else "percentile",
        strata=strata,
    )


def _time(cell: _Cell, sample: _Sample, statistic: str, level: float) -> Estimate:
    duration, observed = (part[sample.rows] for part in cell.sheet.times(cell.metric))
    estimator = {"restricted_mean": restricted_mean, "median": survival_median}.get(statistic)
    if estimator is None:
        return Estimate(
            n=sample.rows.size,
            reason=f"the {statistic} of a censored time is not known; ask for restricted_mean or median",
        )
    return estimator(duration, observed, sample.unit.codes, weights=sample.weights, level=level)


def _bounds(cell: _Cell) -> dict[str, float | None]:
    """The rate if every unknown rollout were a failure, and if every one were a success."""
    rows = cell.weighing(cell.applicable)
    if not rows.size:
        return {"bound_low": None, "bound_high": None}
    values, weights = cell.sheet.numbers(cell.metric)[rows], _weights(cell.sheet, rows, cell.options.weighting)
    low, high = (
        weighted_mean(np.nan_to_num(values, nan=unknown), ones_or(weights, rows.size)) for unknown in (0.0, 1.0)
    )
    return {"bound_low": low, "bound_high": high}


def _half_judged(cell: _Cell, names: Cluster, level: float, estimate: Estimate) -> Estimate:
    """What can be said where a verdict on some turns is missing: one True settles a rollout, one False never does."""
    said = f"{(cell.found == HALF_JUDGED).sum()} of {cell.rows.size} rollouts are half-judged"
    if cell.options.undecided == "drop":
        return replace(estimate, reason=_also(estimate.reason, f"{said} and left out, which pushes the rate up"))
    if cell.options.undecided == "censor":
        return _censored(cell, names, level, said)
    rows = cell.weighing(cell.applicable)
    values = cell.sheet.numbers(cell.metric)[rows]
    low, high = (
        _mean(cell, cell.sample(rows, names, np.nan_to_num(values, nan=unknown)), level) for unknown in (0.0, 1.0)
    )
    return replace(
        estimate,
        estimate=None,
        std_error=None,
        low=low.low,
        high=high.high,
        design_effect=None,
        method=f"{low.method} at the bounds",
        reason=f"{said}: the interval holds whether they are failures or successes",
    )


def _censored(cell: _Cell, names: Cluster, level: float, said: str) -> Estimate:
    if cell.metric != "attack_success" or not cell.sheet.has("time_to_success"):
        raise ArgumentError(
            f"summarize: undecided='censor' needs the column `time_to_success` and settles `attack_success` alone "
            f"(here: `{cell.metric}`); "
            "`tw.measure(turns, m.attack_success(), m.time_to_success())`, or choose undecided='bounds'"
        )
    duration, _ = cell.sheet.times("time_to_success")
    rows = cell.weighing(cell.applicable[duration[cell.applicable] > 0])
    ways = endings(cell.sheet, "time_to_success", schema.COMPETING)
    curve = cumulative_incidence(
        duration[rows],
        causes(ways, rows),
        unit_of(cell.sheet, rows, cell.metric, names).codes,
        weights=_weights(cell.sheet, rows, cell.options.weighting),
        level=level,
    )
    last = curve.point(-1)
    censored = f"{said} and censored before their first unjudged turn"
    return replace(last, n=rows.size, reason=_also(last.reason, censored))


def _estimand(cell: _Cell, sample: _Sample, statistic: str, many: dict[str, int]) -> str:
    """What the row is an estimate of, in one sentence."""
    whose = {"rollout": "every rollout", "goal": "every goal", "turn": "every turn"}[cell.options.weighting]
    left_out = {
        "in error": "n_error",
        "undetermined": "n_undetermined",
        "missing": "n_missing",
        "inapplicable": "n_inapplicable",
    }
    gone = ", ".join(f"{many[name]} {word}" for word, name in left_out.items() if many[name])
    upto = ""
    if statistic == "restricted_mean" and cell.kind == "time" and sample.rows.size:
        upto = f" up to {cell.sheet.times(cell.metric)[0][sample.rows].max()}"
    return (
        f"{statistic.replace('_', ' ')} of {cell.metric}{upto}, {whose} weighing the same; unit: {sample.unit.words}"
        + (f", drawn within {cell.options.strata}" if cell.options.strata and statistic == "mean" else "")
        + (f"; without a value: {gone}" if gone else "")
    )


def _also(reason: str | None, more: str) -> str:
    return more if reason is None else f"{reason}; {more}"
