"""What a table of rollouts without a verdict says of the column that may hold it."""

import polars as pl

from rollwise.readers.likely_columns import suggestions, unused_columns
from rollwise.readers.problems import WORDING

NOTE = "unused_verdict"
"""Column of ROLLOUTS with a sentence on the columns that may hold the verdict; only in tables that have such rollouts."""
RATES = ("attack_success", "task_success")
_VERDICTS = ("succeeded", "outcome", "solved")
_MOST = 2  # columns that are named


def noted(rollouts: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Add the note to rollouts of which no rate is known, where a column of the user's looks like their verdict.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "b"], "turn": 1, "response": "x", "verdict": ["pass", "fail"]})
    >>> rollouts = pl.DataFrame({"rollout_id": ["a", "b"], "attack_success": pl.Series([None, None], dtype=pl.Boolean)})
    >>> noted(rollouts, turns)[NOTE].unique().item().partition(":")[0]
    'column `verdict` holds fail, pass'
    >>> noted(rollouts.with_columns(attack_success=True), turns).columns
    ['rollout_id', 'attack_success']
    """
    measured = [name for name in RATES if name in rollouts.columns]
    is_unknown = pl.all_horizontal(pl.col(name).is_null() for name in measured) if measured else pl.lit(value=False)
    if NOTE in rollouts.columns or not rollouts.select(is_unknown.any()).item():
        return rollouts
    candidates = unused_columns(turns).filter(pl.col("meaning").is_in(_VERDICTS))
    if candidates.is_empty():
        return rollouts
    more = f"; {candidates.height - _MOST} more may, too" if candidates.height > _MOST else ""
    note = WORDING.get()("; ".join(suggestions(candidates.head(_MOST))) + more)
    return rollouts.with_columns(pl.when(is_unknown).then(pl.lit(note)).alias(NOTE))
