"""Whether groups can be compared: the goals that they have in common, and who judged them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import polars as pl

from rollwise.errors import ArgumentError, counted, listing, plural
from rollwise.estimation.arrays import Columns, join_reasons
from rollwise.estimation.clusters import unit_of
from rollwise.estimation.loops import same_values
from rollwise.schema.named import column_named, values_named
from rollwise.stats.estimate import BoolArray, IntArray

JUDGED_BY = ("judge", "judge_version", "judge_model", "scorer", "grader")
"""Columns that say who judged a rollout: groups judged by different ones are not compared."""
STEP_OF_OTHERS = "not compared with the step before"
"""Beginning of what a reason says of a step whose judges are not those of the step before."""
Judges = Mapping[str, Sequence[str]]  # of a group, by column
OTHER_GOALS = ("compared over ", "no goal is in both", "no task is in both")
"""Beginnings of what a reason says of groups that did not meet the same goals."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """The goals that several groups met."""

    noun: str  # goal, task, or goal × task
    common: int  # goals of all groups
    only: tuple[int, ...]  # goals of each group that not all others met
    is_common: tuple[BoolArray, ...]  # the rows of each group whose goals all groups met

    @property
    def same(self) -> bool:
        """All groups met the same goals."""
        return not any(self.only)


def overlap(data: Columns, metric: str, arms: Sequence[IntArray]) -> Overlap | None:
    """Return the goals (or tasks) that these groups of rows met; None where nothing names them.

    A rollout whose goal is unknown met one that no other rollout did.
    """
    rows = np.concatenate(list(arms))
    names = unit_of(data, rows, metric, "auto").names
    if not names or all(data.nulls(name).gather(rows).all() for name in names):
        return None
    codes = same_values(data, rows, names, required=names).codes
    of_arms = np.split(codes, np.cumsum([arm.size for arm in arms])[:-1])
    met = [np.unique(part) for part in of_arms]
    common = reduce(np.intersect1d, met)
    return Overlap(
        " × ".join(names),
        common.size,
        tuple(part.size - common.size for part in met),
        tuple(np.isin(part, common) for part in of_arms),
    )


def without_goals(reason: str | None) -> str | None:
    """Return a reason without what `compared_over` says in it."""
    return join_reasons(*(part for part in (reason or "").split("; ") if not part.startswith(OTHER_GOALS)))


def compared_over(noun: str, common: int, only: tuple[int, int], names: tuple[str, str], *, paired: bool) -> str | None:
    """Say over which goals two groups are compared, where they did not meet the same; None where they did."""
    if not any(only):
        return None
    only_one = " and ".join(f"{number:,} only in {name}" for number, name in zip(only, names, strict=True))
    if not common:
        return f"no {noun} is in both ({only_one}): the difference may be one of the {plural(noun)}"
    shared = f"the {counted(common, noun)} of both"
    if paired:
        return f"compared over {shared}, without {only_one}"
    return f"compared over {shared}, and {only_one}: the difference may be one of the {plural(noun)}"


def judges_of(data: Columns, rows: IntArray, arms: pl.Series) -> dict[Any, Judges]:
    """Return who judged the rows of each arm, by column; a column that names nobody there is empty."""
    names = [name for name in JUDGED_BY if data.has(name)]
    if not names:
        return {arm: {} for arm in arms.drop_nulls().unique()}
    judged = pl.DataFrame([arms.rename("\0arm"), *(data.frame[name].gather(rows).cast(pl.String) for name in names)])
    lists = [column_named(name).drop_nulls().unique().sort() for name in names]
    named = judged.drop_nulls("\0arm").group_by("\0arm").agg(lists)
    return {arm: dict(zip(names, judges, strict=True)) for arm, *judges in named.rows()}


def other_judges(group: Judges, baseline: Judges) -> str | None:
    """Return the first column by which two groups had different judges; None without one, or where one does not say."""
    return next((name for name in group if group[name] and baseline[name] and group[name] != baseline[name]), None)


def refuse_other_judges(
    data: Columns, by: tuple[str, ...], of: str, pairs: Sequence[tuple[str, str]], verb: str
) -> None:
    """Raise an error if two compared values of a column had different judges, within each group: groups may differ in theirs."""
    words = values_named(data.frame, of).cast(pl.String)
    for _, rows in data.groups(by):
        judges = judges_of(data, rows, words.gather(rows))
        for group, baseline in pairs:
            if group in judges and baseline in judges and (name := other_judges(judges[group], judges[baseline])):
                raise ArgumentError(
                    f"{verb}: `{name}` is {listing(judges[group][name])} for {group!r} but "
                    f"{listing(judges[baseline][name])} for {baseline!r}: a difference of judges would look like one of "
                    f"{plural(of)}; judge both with the same judge, or compare them anyway with force=True"
                )
