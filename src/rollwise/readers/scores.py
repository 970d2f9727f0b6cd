"""Scores that the user names: of turns or of whole rollouts, and the verdicts that a limit makes of them."""

import polars as pl

from rollwise.readers.names import Names, judged, told_apart
from rollwise.readers.roles.columns import is_constant
from rollwise.schema import FAILURE, OUTCOMES, SUCCESS
from rollwise.schema.named import columns_named, values_named

_OF_ROLLOUTS = "`{}` is the same on all turns of each rollout: it judges the rollout, and no turn of it"


def scored(turns: pl.DataFrame, names: Names, verb: str) -> tuple[pl.DataFrame, list[str]]:
    """Return turns with the score that the user names, the verdicts that its limit makes, and what is said of both.

    A score that is the same on all turns of each rollout is that of the rollout: its limit makes the outcome, and no verdict on
    a turn.
    """
    column = names.columns.get("score", "score")
    if column in turns.columns and column != "score" and not turns["score"].count():  # a field of records with turns
        scores = values_named(turns, column).cast(pl.Float64, strict=False)
        turns = turns.drop(columns_named([column])).with_columns(scores.alias("score"))
    if names.at is None:
        return turns, []
    turns = judged(turns, names.at, verb)
    notices = [*filter(None, [told_apart(turns["score"], turns["succeeded"], names.at)])]
    if "score" not in names.columns or not _are_of_rollouts(turns):
        return turns, notices
    words = pl.when("succeeded").then(pl.lit(SUCCESS)).when(~pl.col("succeeded")).then(pl.lit(FAILURE))
    turns = turns.with_columns(outcome=words.cast(OUTCOMES), succeeded=pl.lit(None, pl.Boolean))
    return turns, [*notices, _OF_ROLLOUTS.format(column)]


def _are_of_rollouts(turns: pl.DataFrame) -> bool:
    """Return whether rollouts of several turns have one score on all of them."""
    several = turns["rollout_id"].is_duplicated()
    is_tree = "node_id" in turns.columns and turns["node_id"].count() > 0
    if is_tree or not several.any() or turns["score"].filter(several).null_count():
        return False
    return is_constant(turns["rollout_id"], turns["score"])
