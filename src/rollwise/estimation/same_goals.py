"""Goals that groups have in common: rates over other goals say nothing about which group is higher."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from rollwise.errors import counted, plural
from rollwise.estimation.arrays import Columns, join_reasons
from rollwise.estimation.clusters import unit_of
from rollwise.estimation.loops import same_values
from rollwise.stats.estimate import BoolArray, IntArray

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
