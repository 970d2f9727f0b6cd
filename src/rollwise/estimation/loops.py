"""Loops: the attempts that were made one after another at the same goal, under the same conditions."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.estimation.arrays import ORDER, Columns, Loops
from rollwise.metrics import catalog
from rollwise.schema.named import values_named
from rollwise.stats.clusters import Grouping, grouping
from rollwise.stats.estimate import IntArray

REPEATED_IN = ("target", "attack", "goal", "task")
"""Columns with the same values in all attempts at a goal."""
OF_GOALS = ("goal", "task", "category", "expected")
"""Columns that describe what is attempted, not under which conditions."""
_GAPS = 8  # times as large as their number: codes that are renumbered by a table
MOST_CONDITIONS = 50  # a column of more words describes rollouts, not conditions
_OF_ROLLOUTS = {"rollout_id", "source", "attempt", *OF_GOALS, *schema.ROLLOUTS.names} - {"run", "target", "attack"}


def conditions(data: Columns) -> tuple[str, ...]:
    """Return the columns of the groups asked for that tell conditions apart, such as a defense: neither goals nor results."""
    return tuple(
        name
        for name in data.group_columns
        if data.has(name)
        and name not in _OF_ROLLOUTS
        # A metric is a result of the attempts: grouping by it would cut each loop at its success.
        and catalog.about(name) is None
        and not data.frame.schema[name].is_nested()
    )


def loops_of(data: Columns) -> Loops:
    """Return the loops of all rows: by target, attack, goal, task and the groups asked for.

    Where numbers of attempts are repeated, the run and then other columns of words tell loops apart. Without numbers the order
    of rows is taken.
    """
    if data.loops is None:
        data.loops = _numbered(data) or _in_order_of_rows(data)
    return data.loops


def columns_of_loops(dtypes: pl.Schema, metrics: Sequence[str]) -> set[str]:
    """Return the columns that loops of these metrics are made of; none if nothing stops at them, or nothing is named."""
    times = {*map(outcome_of, metrics)} & set(dtypes)
    if not any(stops_at(metric, schema.kind_of(dtypes[metric])) for metric in times) or not {"goal", "task"} & set(
        dtypes
    ):
        return set()
    return {*REPEATED_IN, "run", "attempt" if "attempt" in dtypes else ORDER, *times}


def outcome_of(metric: str) -> str:
    """Return the success at which the time of a metric ends, or the metric itself."""
    return "attack_success" if metric == "time_to_success" else metric


def stops_at(metric: str, kind: str | None) -> bool:
    """Return whether loops may stop at a success of this metric: it says of an attack or a task whether it succeeded."""
    about = catalog.about(metric)
    return about is not None and about.concerns is not None and kind == "proportion"


def _numbered(data: Columns) -> Loops | None:
    number = data.fact("attempt").cast(pl.Int64, strict=False)
    # A single unknown number leaves the place of an attempt open, so the order of the rows decides for all.
    if number.null_count() or not data.has("attempt"):
        return None
    rank = number.to_numpy()
    ranks = renumbered(rank - rank.min(initial=0))
    names = (*REPEATED_IN, *(name for name in conditions(data) if name not in REPEATED_IN))
    every = np.arange(rank.size)
    codes = same_values(data, every, names, required=("goal", "task")).codes
    distinct = _distinct(codes, ranks)
    # Two attempts with one number at one goal were made under different conditions: columns that tell them apart are added until
    # all numbers are distinct.
    for name in _further(data, names) if distinct < rank.size else ():
        if distinct == rank.size:
            break
        finer = _crossed(codes, same_values(data, every, (name,)).codes)
        if (more := _distinct(finer, ranks)) > distinct:
            codes, distinct, names = finer, more, (*names, name)
    return Loops(codes, rank, names, numbered=True, distinct=distinct == rank.size)


def _further(data: Columns, names: Sequence[str]) -> Iterator[str]:
    """Yield the run, and then each column of a few words that does not describe the rollout itself."""
    if data.has("run"):
        yield "run"
    for name, dtype in data.frame.schema.items():
        words = dtype in (pl.String, pl.Categorical, pl.Enum) and not name.startswith("\0")
        if not words or name in {"run", *names, *_OF_ROLLOUTS}:
            continue
        if values_named(data.frame, name).n_unique() <= min(MOST_CONDITIONS, data.frame.height // 4):
            yield name


def _in_order_of_rows(data: Columns) -> Loops:
    places = data.frame[ORDER]
    rank = places.fill_null(0).cast(pl.Int64).to_numpy()
    names = (*REPEATED_IN, *(name for name in conditions(data) if name not in REPEATED_IN))
    every = np.arange(rank.size)
    codes = same_values(data, every, names, required=("goal", "task")).codes
    if data.has("run") and "run" not in names:
        finer = _crossed(codes, same_values(data, every, ("run",)).codes)
        # Runs that try each goal once repeat it; runs that try it several times have loops of their own.
        if np.unique(finer).size < finer.size:
            codes, names = finer, (*names, "run")
    return Loops(codes, rank, names, numbered=False, distinct=not places.null_count())


def _crossed(codes: IntArray, finer: IntArray) -> IntArray:
    return renumbered(codes * (finer.max(initial=0) + 1) + finer)


def _distinct(codes: IntArray, ranks: IntArray) -> int:
    """Count the distinct pairs of a loop and the number of an attempt."""
    return int(renumbered(codes * (ranks.max(initial=0) + 1) + ranks).max(initial=-1)) + 1


def renumbered(codes: IntArray) -> IntArray:
    """Return codes from 0 in the same order without gaps; without sorting, where the codes are small."""
    if codes.max(initial=0) > _GAPS * codes.size:
        return np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return grouping(codes).codes


def same_values(data: Columns, rows: IntArray, names: Sequence[str], required: Sequence[str] = ()) -> Grouping:
    """Group rollouts with equal values in these columns; null equals null.

    A rollout that is null in all `required` columns forms a group of its own.
    """
    codes = np.zeros(rows.size, dtype=np.int64)
    for name in names:
        if data.has(name):
            codes = _crossed(codes, data.places(name)[rows])
    if required:
        # Null equals null within a loop's conditions, but rollouts without a goal and a task are no attempts at the same thing:
        # each is alone.
        unnamed = np.all([data.places(name)[rows] == 0 for name in required if data.has(name)], axis=0)
        if unnamed.any():
            codes = renumbered(np.where(unnamed, codes.max(initial=0) + 1 + np.arange(rows.size), codes))
    return Grouping(codes, int(codes.max(initial=-1)) + 1)
