"""Attempts: rollouts grouped by goal, in order, with their successes."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, meant
from rollwise.estimation.arguments import no_metric
from rollwise.estimation.arrays import Columns
from rollwise.estimation.clusters import Unit, unit_of
from rollwise.estimation.loops import REPEATED_IN, loops_of, same_values
from rollwise.metrics import catalog
from rollwise.schema.arguments import Cluster
from rollwise.stats.clusters import Grouping, grouping
from rollwise.stats.estimate import BoolArray, FloatArray, IntArray
from rollwise.stats.repeats import held_in, reached_in, unknown_successes
from rollwise.stats.stopping import Stopping, stopping

_NOTHING = 1e-12  # a share of goals that is 0 except for rounding


def check_metric(frame: pl.DataFrame, metric: str, verb: str) -> None:
    """Raise an error if the metric is neither Boolean nor numeric, or the table has neither goals nor tasks."""
    if metric not in frame.columns:
        names = [name for name in frame.columns if name not in schema.ROLLOUTS.names]
        metrics = [name for name in names if schema.kind_of(frame.schema[name]) in {"proportion", "number"}]
        raise ArgumentError(f"{verb}: there is no metric {metric!r}; {meant(metric, metrics)}")
    if schema.kind_of(frame.schema[metric]) not in {"proportion", "number"}:
        raise ArgumentError(f"{verb}: {no_metric(frame, metric)} (attempts have a Boolean or a number)")
    if not {"goal", "task"} & set(frame.columns):
        raise ArgumentError(
            f"{verb}: nothing says which rollouts are attempts at the same thing; name the column `goal` or `task`: "
            '`.rename({"yours": "goal"})`'
        )


@dataclass(frozen=True)
class Attempts:
    """Rollouts of one group as attempts at goals."""

    metric: str
    share: bool  # whether the metric is Boolean
    values: FloatArray  # Float (n,): NaN where unknown
    goals: Grouping  # the goal that each rollout attempts
    rank: IntArray  # Integer (n,): the order of attempts, within `loops`
    # The attempts that one loop made in sequence: one loop per goal, or several if runs or conditions number their attempts
    # separately; None if numbers are repeated.
    loops: Grouping | None
    numbered: bool  # whether `attempt` numbers them; otherwise their order in the table is taken
    unit: Unit  # the independent unit of each goal

    @classmethod
    def of(cls, data: Columns, rows: IntArray, metric: str, cluster: Cluster) -> "Attempts":
        """Return these rows of the table as attempts."""
        goals = same_values(data, rows, REPEATED_IN, required=("goal", "task"))
        # The first row of each goal represents it when units are looked up.
        first = np.full(goals.count, rows.size, dtype=np.int64)
        np.minimum.at(first, goals.codes, np.arange(rows.size))
        unit = unit_of(data, rows[first], metric, cluster)
        for name in unit.names:
            # More pairs of goal and cluster than goals: the cluster varies within some goal.
            pairs = np.unique(goals.codes * (data.coded(name).count + 1) + data.coded(name).codes[rows])
            if pairs.size > goals.count and not data.coded(name).null[rows].any():
                raise ArgumentError(
                    f"attempts: cluster={name!r} varies between attempts at the same goal; attempts at a goal are never "
                    "independent of each other: name a column that is constant within goals, such as 'goal'"
                )
        rank, loops, numbered = _order(data, rows)
        share = data.kinds[metric] == "proportion"
        return cls(metric, share, data.numbers(metric)[rows], goals, rank, loops, numbered, unit)

    @cached_property
    def concerns(self) -> str | None:
        """Return "attack" or "task" if the catalog says which of them the metric concerns."""
        about = catalog.about(self.metric)
        return None if about is None else about.concerns

    @property
    def noun(self) -> str:
        """Noun for what is attempted."""
        return "task" if self.concerns == "task" else "goal"

    @property
    def unit_words(self) -> str:
        """Independent unit in words; attempts at one goal are never independent of each other."""
        return self.unit.words if self.unit.names else f"{self.noun} (no clusters)"

    @property
    def stopping(self) -> Stopping | None:
        """Evidence that attempts stopped at a success; None if their order is unknown or the metric is a number."""
        if self.loops is None or not self.share:
            return None
        return stopping(self.values == 1, self.rank, self.loops.codes)

    @property
    def short_of_others(self) -> bool:
        """True if a goal with a success has fewer judged attempts than another goal."""
        successes, judged = self.counts
        return bool((judged[successes > 0] < judged.max(initial=0)).any())

    def with_values(self, values: FloatArray) -> "Attempts":
        """Return these attempts with other values."""
        return replace(self, values=values)

    def before_first(self, rows: BoolArray) -> "Attempts":
        """Return the attempts with only the values before the first of these rows in each loop; later values are NaN."""
        loops = self.loops or self.goals
        first = np.full(loops.count, np.iinfo(self.rank.dtype).max)
        np.minimum.at(first, loops.codes[rows], self.rank[rows])
        return self.with_values(np.where(self.rank < first[loops.codes], self.values, np.nan))

    @property
    def position(self) -> IntArray:
        """Number of each judged attempt within its loop: integer (n,) from 1; 0 if not judged."""
        codes = (self.loops or self.goals).codes
        has_value = ~np.isnan(self.values)
        # Among attempts of equal rank a success comes last, as it does if attempts stopped at it.
        order = np.lexsort((self.values == 1, self.rank, codes))
        order = order[has_value[order]]
        # The position is the index in this order minus the start of the loop, from 1.
        size = np.bincount(codes[order], minlength=codes.max(initial=0) + 1)
        position = np.zeros(codes.size, dtype=np.int64)
        position[order] = np.arange(order.size) - (np.cumsum(size) - size)[codes[order]] + 1
        return position

    def first(self, most: int) -> "Attempts":
        """Return the attempts with only the first judged ones of each loop, up to this number; later values are NaN."""
        return self.with_values(np.where(self.position <= most, self.values, np.nan))

    @cached_property
    def counts(self) -> tuple[IntArray, IntArray]:
        """Number of successes and of judged attempts of each goal: integer (goals,)."""
        has_value = ~np.isnan(self.values)
        return tuple(  # type: ignore[return-value]
            np.bincount(self.goals.codes[rows], minlength=self.goals.count)
            for rows in (has_value & (self.values == 1), has_value)
        )

    @cached_property
    def _law(self) -> FloatArray:
        """Number of each goal's attempts of unknown outcome that succeed, as `unknown_successes` returns it."""
        return unknown_successes(self.values, self.goals)

    def chances(self, kind: str, k: int) -> FloatArray:
        """Return the chance of each goal that k of its attempts contain a success, or for pass^k only successes: (goals,).

        Attempts with an expected success between 0 and 1 count with it. NaN where a goal has fewer than k judged attempts.
        """
        successes, judged = self.counts
        chance = held_in if kind == "pass^k" else reached_in
        # The expectation over the unknown attempts of each goal; without any, one term with weight 1.
        terms = [chance(k, successes + more, judged) * self._law[:, more] for more in range(self._law.shape[1])]
        return np.asarray(np.clip(np.sum(terms, axis=0), 0.0, 1.0))  # a sum of shares of 1 may round above it

    def shares(self, kind: str, most: int) -> FloatArray:
        """Return the share of goals with a success in k attempts, or with k of k, for k from 0 to `most`: float (most + 1,).

        Goals with fewer attempts count up to their last one, as in Kaplan-Meier's estimator: each further attempt multiplies the
        share of goals without a success (or with successes only) by its ratio among the goals that have that attempt. The
        share never falls (or never rises) with k, and is the mean over goals if all have k attempts. NaN beyond the last attempt,
        and from where no goal that could still change has a further attempt: its ratio is unknown.
        """
        remaining, before = np.full(most + 1, np.nan), np.ones(self.goals.count)
        remaining[0] = 1.0
        for k in range(1, most + 1):
            chance = self.chances(kind, k)
            after = chance if kind == "pass^k" else 1 - chance
            tried = ~np.isnan(chance)
            if not tried.any():
                break
            total = before[tried].sum()
            if total <= _NOTHING and remaining[k - 1] > _NOTHING:
                break
            remaining[k] = remaining[k - 1] * (after[tried].sum() / total) if total > _NOTHING else 0.0
            before = after
        return remaining if kind == "pass^k" else 1 - remaining

    def follow_up(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the follow-up of each loop with judged attempts.

        Three integer arrays (loops,): the judged attempts up to the first success, 1 if there is a success, and the goal.
        """
        loops = self.loops or self.goals
        position, succeeded = self.position, self.values == 1
        # Loops without a success keep a first success beyond every position, so `size` is the smaller one.
        first = np.full(loops.count, position.size + 1)
        np.minimum.at(first, loops.codes[succeeded], position[succeeded])
        size, goal = np.zeros(loops.count, dtype=np.int64), np.zeros(loops.count, dtype=np.int64)
        np.maximum.at(size, loops.codes, position)
        goal[loops.codes] = self.goals.codes
        followed = size > 0
        return np.minimum(first, size)[followed], (first <= size)[followed].astype(np.int64), goal[followed]


def _order(data: Columns, rows: IntArray) -> tuple[IntArray, Grouping | None, bool]:
    """Return the order of these attempts, the loops that made them, and whether they are numbered; None if numbers are repeated."""
    loops = loops_of(data)
    loop_groups = grouping(loops.codes[rows]) if loops.distinct else None
    return loops.rank[rows], loop_groups, loops.numbered
