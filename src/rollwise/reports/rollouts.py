"""Turns of a page, and their rollouts, measured: what its transcripts are packed from."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from rollwise import schema
from rollwise.measurement.measure import measure
from rollwise.measurement.trees import paths
from rollwise.metrics import EFFORT, OUTCOME, TIMING
from rollwise.reports.scored import combined


@dataclass(frozen=True, slots=True)
class Rollouts:
    """TURNS, the ROLLOUTS measured from them, and the columns that group them.

    A rollout that is a tree has one row per path in `rollouts`.
    """

    by: tuple[str, ...]
    turns: pl.DataFrame
    rollouts: pl.DataFrame

    @property
    def tree(self) -> bool:
        """Return whether rollouts are trees, whose paths are measured."""
        return schema.is_tree(self.turns)

    @property
    def noun(self) -> str:
        """Return what a row of `rollouts` is: the branches of a tree are no rollouts of their own."""
        return "path" if self.tree else "rollout"

    @property
    def rollout_count(self) -> int:
        """Number of rollouts; a tree counts once."""
        return int(self.turns["rollout_id"].n_unique()) if self.tree else self.rollouts.height

    @property
    def turn_count(self) -> int:
        """Number of turns of all rollouts."""
        return int(self.turns["turn"].count())


def numeric_columns(turns: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the numeric columns among the names that `measure` does not keep automatically."""
    columns = (name for name in names if name in turns.columns and name not in schema.ROLLOUTS.names)
    return [name for name in columns if schema.kind_of(turns.schema[name]) is not None]


def measured(turns: pl.DataFrame, keep: list[str], *, scored: bool = False) -> pl.DataFrame:
    """Measure the rollouts, with their scores where these are wanted; of trees, their paths."""
    scores = combined(turns) if scored else ()
    return measure(paths(turns) if schema.is_tree(turns) else turns, OUTCOME, TIMING, EFFORT, scores, keep=keep)
