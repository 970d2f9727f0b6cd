"""Groups of a report that did not meet the same goals: what may be said of them, over the goals that all of them met."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rollwise.estimation.loops import OF_GOALS
from rollwise.estimation.summary import summarize
from rollwise.reports.comparisons import UNITS, assessed, unit_in
from rollwise.reports.grouping import varying
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named

FEWEST, FEWEST_CLUSTERS = 10, 3
"""Smallest groups that a sentence names: rollouts, and goals or other clusters."""
NESTED = {"source", "task_name", "suite_name", "category", "detector"}
"""Columns whose values usually have no goal in common."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A metric over the goals that all large groups met, where these did not meet the same."""

    unit: str  # goal or task
    common: int  # goals that all groups met, at each value of the columns that describe goals
    met: int  # goals that any group met
    rows: pl.DataFrame  # SUMMARY over the common goals
    of: str = (
        ""  # the columns that describe goals, in words: only groups with the same values of them could meet the same
    )

    @property
    def _who(self) -> str:
        return f"all groups of the same {self.of}" if self.of else "all"

    @property
    def _goals(self) -> str:
        return f"{labels.count(self.common)} of {labels.counted(self.met, self.unit)}"

    def over(self, who: str = "") -> str:
        """Say over which goals groups are compared, and who met them: all of them, or all of those that could."""
        return f"the {self._goals} that {(not self.of and who) or self._who} met"

    def all_met(self) -> str:
        """Say how many goals all groups met."""
        return f"{self._who} met {self._goals}"


def is_large() -> pl.Expr:
    """Return whether a sentence names a group of SUMMARY."""
    return (pl.col("n") >= FEWEST) & (pl.col("n_clusters").fill_null(0) >= FEWEST_CLUSTERS)


def shared_goals(
    rollouts: pl.DataFrame, summary: pl.DataFrame, metric: str, by: Sequence[str], **options: Any
) -> Shared | None:
    """Return the metric over the goals that all large groups met; None where they met the same, or nothing names goals.

    Groups are compared within each value of the columns that describe goals, such as the category.
    """
    rows = summary.filter(is_large(), pl.col("estimate").is_not_null(), metric=metric, statistic="mean")
    names = varying(rows, by)
    tried = assessed(rollouts, metric) if metric in UNITS else rollouts.filter(column_named(metric).is_not_null())
    unit = (
        unit_in(metric, tried)
        if metric in UNITS
        else next((name for name in UNITS.values() if tried[name].count()), "")
    )
    describing = describing_goals(rollouts, names)
    compared = [name for name in names if name not in describing]
    if rows.height < 2 or not compared or not unit or any(isinstance(rows.schema[name], pl.List) for name in names):
        return None
    groups = rows.select(columns_named(by)).unique()
    tried = tried.join(groups, on=columns_named(by), how="semi", nulls_equal=True, maintain_order="left")
    found = in_common(tried, unit, compared, describing)
    if found is None:
        return None
    over, common, met = found
    shared = summarize(over, by=by, metrics=metric, statistics="mean", **options)
    return Shared(unit, common, met, shared, " and ".join(map(labels.label, describing)))


def describing_goals(rollouts: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the columns that describe goals rather than what met them, so that their values have no goal in common."""
    return [name for name in names if name in {*NESTED, *OF_GOALS, *_of_the_tool(rollouts)}]


def in_common(
    tried: pl.DataFrame, unit: str, compared: Sequence[str], within: Sequence[str], *, everywhere: bool = False
) -> tuple[pl.DataFrame, int, int] | None:
    """Return the rollouts at goals that all compared groups met, the number of these goals, and that of all goals.

    Goals are compared within each value of other columns: of the groups that are there, or `everywhere` of all groups. None
    where all groups met the same goals, or nothing names goals.
    """
    if not tried[unit].count():
        return None
    # A rollout without a goal met one that no other group did.
    known = pl.coalesce(column_named(unit), pl.lit("\0") + pl.col("rollout_id").cast(pl.String)).alias("\0goal")
    pairs = tried.select(*columns_named(dict.fromkeys((*compared, *within))), known).unique()
    at = columns_named(within) or [pl.lit(1)]
    here = pl.struct(columns_named(compared))
    of_all = here.n_unique() if everywhere else here.n_unique().over(at)
    pairs = pairs.with_columns((here.n_unique().over([*at, pl.col("\0goal")]) == of_all).alias("\0in_all"))
    if pairs["\0in_all"].all():
        return None
    goals = pairs.select(*columns_named(within), "\0goal", "\0in_all").unique()
    common = goals.filter("\0in_all").drop("\0in_all")
    over = tried.with_columns(known).join(
        common, on=columns_named(common.columns), how="semi", nulls_equal=True, maintain_order="left"
    )
    return over.drop("\0goal"), common.height, goals.height


def _of_the_tool(rollouts: pl.DataFrame) -> set[str]:
    """Return what else describes goals: a probe of garak has prompts of its own."""
    return {"attack"} if (rollouts["source"] == "garak").fill_null(value=False).all() else set()
