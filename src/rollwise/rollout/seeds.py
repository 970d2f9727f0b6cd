"""Seeds of rollouts: their order, and the goal and attempt that each names."""

from collections.abc import Iterable
from operator import index
from typing import Any

import polars as pl

from rollwise.errors import ArgumentError, counted, listing
from rollwise.schema.arguments import frame_of


def seeds_of(seeds: Any, n_rollouts: int | None, name: str) -> tuple[list[Any], pl.DataFrame | None]:
    """Return the first seeds in order, and the other columns if the seeds are a frame."""
    if n_rollouts is not None and (whole_number(n_rollouts) is None or n_rollouts < 0):
        raise ArgumentError(f"{name}: n_rollouts={n_rollouts!r}; give a whole number, 0 or more, or None for all seeds")
    # Without seeds: the numbers from 0.
    if seeds is None:
        if n_rollouts is None:
            raise ArgumentError(f"{name}: without seeds, n_rollouts must say how many rollouts to make")
        return list(range(n_rollouts)), None
    if isinstance(seeds, str | bytes):
        raise ArgumentError(f"{name}: seeds is one text, {seeds!r:.80}; give a list of seeds, as [{seeds!r:.20}]")
    columns = None
    if hasattr(seeds, "to_pylist") and not hasattr(seeds, "column_names"):  # an array of PyArrow, chunked or not
        seeds = seeds.to_pylist()
    # A table of any library: its column `seed`, and the other columns as facts.
    if isinstance(seeds, pl.LazyFrame) or (hasattr(seeds, "__arrow_c_stream__") and not isinstance(seeds, pl.Series)):
        frame = frame_of(seeds, "evaluate")
        if "seed" not in frame.columns:
            raise ArgumentError(f"{name}: a frame of seeds needs a column `seed`; available: {listing(frame.columns)}")
        seeds, columns = frame["seed"], frame.drop("seed")
    listed = seeds.to_list() if isinstance(seeds, pl.Series) else seeds.tolist() if hasattr(seeds, "tolist") else seeds
    if not isinstance(listed, Iterable):
        raise ArgumentError(
            f"{name}: seeds is {seeds!r:.80}; give a list of seeds, or n_rollouts alone for numbers from 0"
        )
    listed = list(listed)
    if n_rollouts is not None and n_rollouts > len(listed):
        raise ArgumentError(
            f"{name}: n_rollouts={n_rollouts} is more than the {counted(len(listed), 'seed')}; give more seeds, or fewer rollouts"
        )
    return listed[:n_rollouts], columns


def whole_number(seed: object) -> int | None:
    """Return a seed that is a whole number of any type, such as NumPy's, as an int; None if it is anything else."""
    return None if isinstance(seed, bool) or not hasattr(seed, "__index__") else index(seed)


def goal_and_attempt(seed: object) -> tuple[str | int | None, int | None] | None:
    """Return the goal of a seed (its text, or its number from 0, or None for any) and the attempt; None if it is not a seed."""
    match seed:
        case None:
            return None, None
        case str(text):
            return (text, None) if text else None
        case (goal, attempt) if goal is not None:  # a pair inside a pair is not a seed
            named, number = goal_and_attempt(goal), whole_number(attempt)
            return (named[0], number) if named and named[1] is None and number is not None and number >= 1 else None
    number = whole_number(seed)
    return None if number is None or number < 0 else (number, None)
