"""Attempts that stop at the first success: only the first attempt at a goal says what one attempt achieves.

A loop that stops at its first success tries hard goals more often than easy ones. The mean over all of its attempts is then far
below the chance of one attempt: hard goals weigh more, and easy ones are hardly tried. First attempts weigh all goals equally.
"""

import numpy as np
import polars as pl

from rollwise.estimation.arrays import Columns
from rollwise.estimation.trials import REPEATED_IN, Attempts, same_values
from rollwise.metrics import catalog
from rollwise.schema.named import column_named, columns_named
from rollwise.stats.estimate import BoolArray
from rollwise.stats.repeats import stopping

FIRST_ATTEMPTS = (
    "attempts stopped at the first success: only the first attempt at each goal counts (`rw.attempts` uses all)"
)


CAMPAIGN = ("target", "attack")
"""Columns of which each combination is a campaign, whose loops stop at a success or do not."""


def later_attempts(data: Columns, metric: str) -> BoolArray:
    """Mark the attempts after the first one of loops that stopped at a success of this metric: Boolean (n,).

    The time to a success stops with the success itself, if the table has `attack_success`.
    A loop belongs to a target and an attack. Loops stopped if every success is the last attempt at its goal, and this has a
    chance below .01 with a fixed number of attempts (`stats.repeats.stopping`). Tables without numbered attempts have none.
    """
    outcome = "attack_success" if metric == "time_to_success" else metric
    if outcome not in data.later_attempts:
        data.later_attempts[outcome] = _later_attempts(data, outcome)
    return data.later_attempts[outcome]


def _later_attempts(data: Columns, metric: str) -> BoolArray:
    later = np.zeros(data.frame.height, dtype=np.bool_)
    if not _may_stop(data, metric):
        return later
    every = np.arange(later.size)
    repeats = Attempts.of(data, every, metric, None)
    if repeats.loops is None:
        return later
    campaigns = same_values(data, every, CAMPAIGN)
    judged = ~np.isnan(repeats.values)
    for campaign in range(campaigns.count):
        rows = np.flatnonzero(campaigns.codes == campaign)
        loops = repeats.loops.codes[rows]
        if stopping(repeats.values[rows] == 1, repeats.rank[rows], loops).design != "stopped":
            continue
        # The first attempt with a verdict represents its loop.
        first = np.full(repeats.loops.count, np.iinfo(np.int64).max)
        with_verdict = judged[rows]
        np.minimum.at(first, loops[with_verdict], repeats.rank[rows][with_verdict])
        later[rows] = repeats.rank[rows] > first[loops]
    return later


def _may_stop(data: Columns, metric: str) -> bool:
    """Return whether attempts of any campaign may have stopped at a success, without looking at the order of loops.

    A success that is not the last attempt of its goal in its run shows that they did not.
    """
    about = catalog.about(metric)
    stops = about is not None and about.concerns is not None and data.kinds.get(metric) == "proportion"
    if not stops or not data.has("attempt") or not {"goal", "task"} & set(data.kinds):
        return False
    attempt = pl.col("attempt").cast(pl.Int64, strict=False)
    loop = [name for name in (*REPEATED_IN, "run") if data.has(name)]
    campaign = [name for name in CAMPAIGN if data.has(name)]
    went_on = column_named(metric).cast(pl.Boolean).fill_null(value=False) & (
        attempt < attempt.max().over(columns_named(loop))
    )
    numbered = (attempt.null_count() == 0) & (attempt.max() > attempt.min())
    columns = list(dict.fromkeys([*loop, "attempt", metric]))
    facts = data.frame.select(columns_named(columns)).select(
        *columns_named(campaign), went_on.alias("\0went_on"), numbered.alias("\0numbered")
    )
    if facts.is_empty() or not facts["\0numbered"][0]:
        return False
    return not facts.group_by(campaign or pl.lit(1)).agg(pl.col("\0went_on").any())["\0went_on"].all()
