"""Frames of the first screen of a report: the rates of one factor over all others, its differences, and ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.comparisons.ranking import rank
from rollwise.comparisons.selection import Better
from rollwise.errors import ArgumentError
from rollwise.estimation.summary import summarize
from rollwise.reports.comparisons import ALL_PAIRS, MOST_ARMS, UNITS, assessed, baseline_in, contrast_by_judges, unit_in
from rollwise.reports.grouping import naming
from rollwise.reports.same_goals import FEWEST_CLUSTERS, Shared, describing_goals, in_common, is_large
from rollwise.schema import labels
from rollwise.schema.named import columns_named

MOST_RANKED = 12  # groups; of more, the comparisons of all pairs would take longer than the rest of the report
MOST_NEIGHBORS = 32  # values that are all compared: of 528 pairs no p-value of 10,000 random signs stands when adjusted
MOST_ROLLOUTS = 100_000  # that are compared pair by pair for a rank
GROUP = "group of rollouts"  # column of the groups that are ranked


@dataclass(frozen=True, slots=True)
class Headline:
    """The metric at the top of a report, and its factor: the first grouping column whose values can be compared.

    `rates` is the SUMMARY by the factor, and `differences` the CONTRAST of its values, over the goals (and values of the
    other grouping columns) that all of them met; `common` says how many these are of how many, unless all were met by all.
    `has_too_many` says that the values of the factor are too many to compare each with the next. `ranks` has the RANKS of the
    groups. Frames that cannot be had have no rows.
    """

    metric: str
    factor: str | None
    others: tuple[str, ...]
    rates: pl.DataFrame = field(default_factory=lambda: schema.empty(schema.SUMMARY))
    differences: pl.DataFrame = field(default_factory=lambda: schema.empty(schema.CONTRAST))
    common: str = ""
    has_too_many: bool = False
    ranks: pl.DataFrame = field(default_factory=lambda: schema.empty(schema.RANKS))

    @property
    def is_rate(self) -> bool:
        """Return whether the metric is a share of rollouts."""
        return self.metric in UNITS

    @property
    def files(self) -> dict[str, pl.DataFrame]:
        """Return the frames that are written to the folder, by name."""
        return {"headline": self.rates, "headline_contrast": self.differences, "rank": self.ranks}


def headline(
    rollouts: pl.DataFrame,
    summary: pl.DataFrame,
    metrics: Sequence[str],
    by: Sequence[str],
    step: str | None,
    shared: Mapping[str, Shared],
    contrasts: pl.DataFrame,
    **options: Any,
) -> Headline | None:
    """Return the first metric that has a value, with its factor; None if none has one."""
    of_metrics = (summary.filter(pl.col("n") > 0, metric=metric, statistic="mean") for metric in metrics)
    rows = next((rows for rows in of_metrics if rows.height), None)
    if rows is None:
        return None
    metric = rows["metric"][0]
    names = [name for name in naming(rows, by) if not isinstance(rows.schema[name], pl.List)]
    large = rows.filter(is_large(), pl.col("estimate").is_not_null())
    tried = assessed(rollouts, metric) if metric in UNITS else rollouts.drop_nulls(columns_named(metric))
    if by:
        groups = large.select(columns_named(by))
        tried = tried.join(groups, on=columns_named(by), how="semi", nulls_equal=True, maintain_order="left")
    described = describing_goals(rollouts, names)
    candidates = (name for name in names if name not in {*described, step} and large[name].drop_nulls().n_unique() > 1)
    factor = next(candidates, None)
    nothing = Headline(metric, factor, tuple(name for name in names if name != factor))
    if factor is None or not names:
        return nothing
    try:
        of_factor = _of_factor(tried.drop_nulls(columns_named(factor)), nothing, contrasts, options)
    except ArgumentError:  # as in the section on differences, which says why
        of_factor = nothing
    ranked = large.height <= MOST_RANKED and tried.height <= MOST_ROLLOUTS and metric not in shared and not described
    return replace(of_factor, ranks=_ranks(tried, large, metric, names, options)) if ranked else of_factor


def _of_factor(tried: pl.DataFrame, head: Headline, contrasts: pl.DataFrame, options: Mapping[str, Any]) -> Headline:
    """Add the rates and the differences of the values of the factor, over what all of them met."""
    metric, factor = head.metric, head.factor or ""
    arms = tried[factor].cast(pl.String).unique().sort().to_list()
    unit = unit_in(metric if head.is_rate else "attack_success", tried)
    found = in_common(tried, unit, [factor], head.others, everywhere=True)
    over, common = tried, ""
    if found is not None:
        over, number, met = found
        common = f"{labels.count(number)} of {labels.counted(met, unit)}"
        common += f" (at each {' and '.join(map(labels.label, head.others))})" if head.others else ""
        if over[unit].n_unique() < FEWEST_CLUSTERS:
            return head
    rates = summarize(over, by=factor, metrics=metric, statistics="mean", **options)
    baseline = baseline_in(arms)
    most = MOST_ARMS if baseline else MOST_NEIGHBORS if tried.height <= MOST_ROLLOUTS else MOST_RANKED
    has_too_many = len(arms) > most
    if not head.others and head.is_rate and (baseline or len(arms) <= ALL_PAIRS):
        # The same comparisons as in the table of the page.
        differences = contrasts.filter(metric=metric, of=factor).select(schema.CONTRAST.names)
    elif has_too_many or not tried[unit].count():
        differences = schema.empty(schema.CONTRAST)
    else:
        cluster = unit if options["cluster"] == "auto" else options["cluster"]
        differences = contrast_by_judges(
            over, factor, (), baseline=baseline, metrics=metric, statistics="mean", **{**options, "cluster": cluster}
        ).filter(pl.col("n_pairs") > 0)
    has_too_many = has_too_many and tried[unit].count() > 0
    return replace(head, rates=rates, differences=differences, common=common, has_too_many=has_too_many)


def _ranks(
    tried: pl.DataFrame, large: pl.DataFrame, metric: str, names: Sequence[str], options: Mapping[str, Any]
) -> pl.DataFrame:
    """Rank the groups; without rows where that is refused, as for groups that had different judges."""
    groups = large.select(columns_named(names)).with_columns(pl.Series(GROUP, labels.group_names(large, names)))
    named = tried.join(groups, on=columns_named(names), how="left", nulls_equal=True, maintain_order="left")
    better: Better | None = None if metric in UNITS else "higher"
    try:
        return rank(named, of=GROUP, metric=metric, better=better, **options)
    except ArgumentError:
        return schema.empty(schema.RANKS)
