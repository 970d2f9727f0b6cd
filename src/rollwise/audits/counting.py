"""ROLLOUTS -> counts: one row for each rollout, with all that a way of counting may use of it."""

import re
from typing import NamedTuple

import numpy as np
import polars as pl

from rollwise.estimation.arrays import Columns
from rollwise.estimation.loops import loops_of
from rollwise.estimation.missingness import ERROR, INAPPLICABLE, PARTIALLY_JUDGED, VALUE, statuses
from rollwise.estimation.unjudged import unjudged_of
from rollwise.metrics import catalog
from rollwise.schema.named import column_named
from rollwise.stats.estimate import IntArray

COUNTED, LATER, BENIGN, CRASHED, PARTLY, OPEN = "counted", "later", "benign", "error", "partly judged", "unjudged"
"""What a rollout is to our figure: counted, a later attempt of a loop that stopped, not attacked, crashed, or without a verdict."""
_FURTHER = {"copies": r"appears .*, and counts once", "tries": r"is superseded by a version"}


class Tally(NamedTuple):
    """A figure: the sum of the values, over how many units, and how many rollouts are in these."""

    total: float
    n: int
    rollouts: int

    @property
    def mean(self) -> float | None:
        """The figure; None of nothing."""
        return self.total / self.n if self.n else None


def counts_of(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return a row for each rollout: what we count it as (`value`, or null), its `verdict`, why, and its ending.

    `rank` is the order of attempts at a goal; `copies` and `tries` count further records of the rollout, where the table has them.
    """
    data = Columns(frame)
    rows = np.arange(data.frame.height)
    # Attempts after a success do not apply to our figure, though they would to one that counts all attempts.
    marks, every = statuses(data, metric), statuses(data, metric, of_attempts=True)
    counted = unjudged_of(data, metric, rows, marks, "bounds").versions[0]
    later = (marks == INAPPLICABLE) & (every != INAPPLICABLE)
    words = np.select(
        [later, marks == VALUE, marks == INAPPLICABLE, marks == ERROR, marks == PARTIALLY_JUDGED],
        [LATER, COUNTED, BENIGN, CRASHED, PARTLY],
        OPEN,
    )
    # Rollouts that are judged in part count with their expected success, as in the estimate of `summarize`.
    value = pl.Series("value", np.where(np.isin(marks, (VALUE, PARTIALLY_JUDGED)), counted, np.nan)).fill_nan(None)
    verdicts = data.numbers(metric)
    further = [
        (data.frame[f"\0{name}"] if f"\0{name}" in data.frame.columns else pl.Series([0]).new_from_index(0, rows.size))
        for name in _FURTHER
    ]
    return pl.DataFrame(
        {
            "value": value,
            "verdict": pl.Series(verdicts).fill_nan(None),
            "status": pl.Series(words.tolist(), dtype=pl.String),
            "ending": data.fact("ending").cast(pl.String),
            "goal": _goals(data, metric),
            "rank": loops_of(data).rank,
            **{name: column.fill_null(0).cast(pl.Int64) for name, column in zip(_FURTHER, further, strict=True)},
        }
    )


def _goals(data: Columns, metric: str) -> IntArray:
    """Return a code for each goal (or task) under one target and attack; a rollout without one is alone."""
    about = catalog.about(metric)
    # The unit of the metric's own subject comes first: attacks have goals, tasks are solved.
    order = ("task", "goal") if about is not None and about.concerns == "task" else ("goal", "task")
    named = [name for name in order if data.has(name) and data.places(name).any()][:1]
    codes = np.zeros(data.frame.height, dtype=np.int64)
    for name in ("target", "attack", *named):
        if data.has(name):
            codes = np.unique(codes * (data.places(name).max(initial=0) + 1) + data.places(name), return_inverse=True)[
                1
            ]
    unnamed = (
        np.all([data.places(name) == 0 for name in named], axis=0) if named else np.ones(codes.size, dtype=np.bool_)
    )
    return np.where(unnamed, codes.max(initial=0) + 1 + np.arange(codes.size), codes)


def tally(counts: pl.DataFrame) -> Tally:
    """Return the figure of a table of counts: the mean of the values that are there."""
    valued = counts.filter(pl.col("value").is_not_null())
    rollouts = int(valued["rollouts"].sum()) if "rollouts" in valued.columns else valued.height
    return Tally(float(valued["value"].sum()), valued.height, rollouts)


def num_judged(counts: pl.DataFrame) -> int:
    """Return the number of rollouts that our figure counts by a verdict of their own."""
    return counts.filter(pl.col("status") == COUNTED).height


def with_further(frame: pl.DataFrame, problems: pl.DataFrame | None) -> pl.DataFrame:
    """Return rollouts with the number of further records that the reading left out as copies or as earlier tries."""
    if problems is None or problems.is_empty():
        return frame
    # Problems of a single field are about records that were read; these are counted already.
    whole_records = problems.filter(pl.col("field").is_null() & pl.col("record").is_not_null())
    numbers = whole_records.group_by(column_named("record").alias("rollout_id")).agg(
        pl.col("reason").str.contains(pattern).sum().cast(pl.Int64).alias(f"\0{name}")
        for name, pattern in _FURTHER.items()
    )
    return frame.join(numbers, on="rollout_id", how="left", maintain_order="left")


def plain_name(words: str) -> str:
    """Return the name of a metric in words as the name of a column: ``attack success`` is ``attack_success``."""
    return re.sub(r"[\s-]+", "_", words.strip())
