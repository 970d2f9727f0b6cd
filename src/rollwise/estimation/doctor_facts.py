"""What `doctor` looks at: the table of turns, its rollouts, and facts about them that several analyses need."""

from functools import cached_property

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.estimation.arrays import Sheet
from rollwise.estimation.missingness import INAPPLICABLE, VALUE, Headings, headings
from rollwise.estimation.trials import Attempts
from rollwise.measurement.measure import measure
from rollwise.measurement.trees import paths
from rollwise.readers.likely_columns import suggestions, unused_columns
from rollwise.schema.named import column_named, values_named

USUAL_GROUPS = ("target", "attack", "category", "source", "run")
MOST_GROUPS = 30


def scores_in(turns: pl.DataFrame) -> list[str]:
    """Return the columns of rewards and scores that have values.

    Examples
    --------
    >>> scores_in(pl.DataFrame({"reward": [1.0], "score_exact": [None], "score_style": [0.5]}))
    ['reward', 'score_style']
    """
    names = [name for name in turns.columns if name in {"score", "reward"} or name.startswith("score_")]
    return [name for name in names if turns.schema[name].is_numeric() and turns[name].null_count() < turns.height]


def step_in(turns: pl.DataFrame) -> str | None:
    """Return the first column of training steps: constant within rollouts, and different between them; None without one.

    Examples
    --------
    >>> step_in(pl.DataFrame({"rollout_id": ["a", "a", "b"], "global_step": [10, 10, 20]}))
    'global_step'
    """
    return next((name for name in turns.columns if "step" in name.lower() and _is_step(turns, name)), None)


def _is_step(turns: pl.DataFrame, name: str) -> bool:
    if (
        not turns.schema[name].is_numeric()
        or name in schema.TURNS.names
        or values_named(turns, name).drop_nulls().n_unique() < 2
    ):
        return False
    return bool(values_named(turns.group_by("rollout_id").agg(column_named(name).n_unique() == 1), name).all())


class Facts:
    """The table and the facts about it that several checks need; each is computed once.

    `rollouts` are its rollouts with their outcomes and times, if they are already measured.
    """

    def __init__(self, frame: pl.DataFrame, rollouts: pl.DataFrame | None = None) -> None:
        self.frame = frame
        self.tree = schema.is_tree(frame)
        self.measured = "rw.measure(rw.trees.paths(turns))" if self.tree else "rw.measure(turns)"
        self.sheet = Sheet(measure(paths(frame) if self.tree else frame) if rollouts is None else rollouts)
        self.rollouts = self.sheet.frame  # in the same order as the arrays of the sheet

    def has_values(self, name: str) -> bool:
        """Return whether a column of turns has any value."""
        return name in self.frame.columns and self.frame[name].null_count() < self.frame.height

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

    def headings_of(self, metric: str) -> Headings:
        """Return the heading of each rollout for a metric."""
        return headings(self.sheet, metric)

    def attempts(self, metric: str) -> Attempts:
        """Return all rollouts that the metric applies to, as attempts."""
        return Attempts.of(
            self.sheet, np.flatnonzero(headings(self.sheet, metric, of_attempts=True) != INAPPLICABLE), metric, "auto"
        )

    @cached_property
    def metric(self) -> str:
        """The metric of attempts: success of the attack, or of the task if no attack was judged."""
        return next(
            (name for name in ("attack_success", "task_success") if (self.headings_of(name) == VALUE).any()),
            "attack_success",
        )

    @cached_property
    def unused_columns(self) -> pl.DataFrame:
        """Columns that came along unused: UNUSED."""
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
