"""Facts that `doctor` checks: the table of turns, its rollouts, and what several analyses need to know about them."""

import re
from functools import cached_property

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.estimation.arrays import Columns
from rollwise.estimation.missingness import INAPPLICABLE, VALUE, Statuses, statuses
from rollwise.estimation.trials import Attempts
from rollwise.measurement.measure import measure
from rollwise.measurement.trees import paths
from rollwise.readers.likely_columns import suggestions, unused_columns
from rollwise.readers.roles.columns import CUSTOM
from rollwise.schema.named import column_named, columns_named, values_named

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[a-z0-9]+")
_CHECKPOINTS = {"checkpoint", "ckpt"}
_COUNTED = _CHECKPOINTS | {"step", "epoch", "iteration", "iter", "update"}
_OF_TRAINING = {
    "train",
    "training",
    "trainer",
    "global",
    "optimizer",
    "gradient",
    "policy",
    "weight",
    "rl",
    "grpo",
    "ppo",
}
"""Words of the name of a column of training steps: what it counts (`steps` are of an agent), and of what."""
USUAL_GROUPS = ("target", "attack", "category", "source", "run")
MOST_GROUPS = 30


def scores_in(turns: pl.DataFrame) -> list[str]:
    """Return the columns of rewards and scores that have values."""
    names = [name for name in turns.columns if name in {"score", "reward"} or name.startswith("score_")]
    return [name for name in names if turns.schema[name].is_numeric() and turns[name].null_count() < turns.height]


def step_in(turns: pl.DataFrame) -> str | None:
    """Return the first column of training steps; None without one.

    Its name says that it counts steps of training, and its values agree: one in each rollout, shared by several rollouts, with
    several of them. A name that counts anything (`step`, `epoch`, `iteration`) needs more in a table of the user's own, where it
    may be what an agent or an attack took: no rollout has an attack, and the goals (or tasks) of all its values are the same, or
    each value has a batch of rollouts, all of one size.
    """
    return next((name for name in turns.columns if _is_step(turns, name)), None)


def names_a_step(name: str) -> bool:
    """Return whether a name may be that of the steps of training."""
    words = _words(name)
    return bool(words & _COUNTED) and words <= _COUNTED | _OF_TRAINING


def _words(name: str) -> set[str]:
    return set(_WORD.findall(_HUMP.sub("_", name).lower()))


def _is_step(turns: pl.DataFrame, name: str) -> bool:
    if not names_a_step(name) or name in schema.TURNS.names or not turns.schema[name].is_numeric():
        return False
    identifying = [column for column in ("goal", "task", "attack", "source") if column in turns.columns]
    steps = values_named(turns, name).rename("\0step")
    rows = turns.select("rollout_id", *columns_named(identifying)).with_columns(steps).unique().drop_nulls("\0step")
    sizes = rows.group_by("\0step").agg(pl.col("rollout_id").n_unique().alias("n"))["n"]
    # A rollout that ended in two steps would be counted twice.
    if rows["rollout_id"].n_unique() < sizes.sum() or sizes.len() < 2 or sizes.sum() < 2 * sizes.len():
        return False
    is_own = "source" not in identifying or rows["source"].is_null().any() or rows["source"].is_in(CUSTOM).any()
    if not is_own or len(_words(name)) > 1 or _words(name) & _CHECKPOINTS:
        return True
    if "attack" in identifying and (rows["attack"] != schema.NO_ATTACK).any():
        return False
    unit = next((column for column in ("goal", "task") if column in identifying and rows[column].count()), None)
    if unit is None:
        return sizes.n_unique() == 1
    of_each = rows.group_by("\0step").agg(column_named(unit).unique().sort())[unit]
    return of_each.n_unique() == 1 or (sizes.n_unique() == 1 and bool((of_each.list.len() > 1).all()))


class Facts:
    """The table and the facts about it that several checks need; each is computed once.

    `rollouts` are its rollouts with their outcomes and times, if they are already measured.
    """

    def __init__(self, frame: pl.DataFrame, rollouts: pl.DataFrame | None = None) -> None:
        self.frame = frame
        self.tree = schema.is_tree(frame)
        self.measured = "rw.measure(rw.rollout.paths(turns))" if self.tree else "rw.measure(turns)"
        self.data = Columns(measure(paths(frame) if self.tree else frame) if rollouts is None else rollouts)
        self.rollouts = self.data.frame  # in the same order as the arrays of the data

    def has_values(self, name: str) -> bool:
        """Return whether a column of turns has any value."""
        return name in self.frame.columns and self.frame[name].null_count() < self.frame.height

    def ends_of(self, name: str) -> tuple[float, float]:
        """Return the least and the greatest value of a column of numbers."""
        return self.frame.select(column_named(name).min().alias("least"), column_named(name).max().alias("most")).row(0)

    @cached_property
    def groups(self) -> str:
        """The `by` option of a call that groups by the first usual column that varies; empty without one."""
        name = self.varying
        return f", by={name!r}" if name else ""

    @cached_property
    def varying(self) -> str | None:
        """The first usual grouping column with several values, but not too many."""
        for name in USUAL_GROUPS:
            if 1 < values_named(self.rollouts, name).drop_nulls().n_unique() <= MOST_GROUPS:
                return name
        return None

    def statuses_of(self, metric: str) -> Statuses:
        """Return the status of each rollout for a metric."""
        return statuses(self.data, metric)

    def attempts(self, metric: str) -> Attempts:
        """Return all rollouts that the metric applies to, as attempts."""
        return Attempts.of(
            self.data, np.flatnonzero(statuses(self.data, metric, of_attempts=True) != INAPPLICABLE), metric, "auto"
        )

    @cached_property
    def metric(self) -> str:
        """The metric of attempts: success of the attack, or of the task if no attack was judged."""
        return next(
            (name for name in ("attack_success", "task_success") if (self.statuses_of(name) == VALUE).any()),
            "attack_success",
        )

    @cached_property
    def unused_columns(self) -> pl.DataFrame:
        """Unrecognized columns that may be a target, attack, goal or verdict: UNUSED."""
        return unused_columns(self.frame)

    def unused(self, *meanings: str) -> str | None:
        """Return a sentence on the first unused column with one of these meanings; None without one."""
        return next(iter(suggestions(self.unused_columns.filter(pl.col("meaning").is_in(meanings)))), None)

    @cached_property
    def flag(self) -> str | None:
        """The first Boolean column outside the schema, which may hold verdicts."""
        flags = [name for name, dtype in self.frame.schema.items() if dtype == pl.Boolean]
        return next((name for name in flags if name not in schema.TURNS.names and self.has_values(name)), None)

    @cached_property
    def score(self) -> str | None:
        """The first column of rewards or scores that has values."""
        return next(iter(scores_in(self.frame)), None)
