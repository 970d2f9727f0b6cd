"""Scores that the user names: of turns or of whole rollouts, and the verdicts that a limit makes of them."""

import polars as pl

from rollwise.errors import counted
from rollwise.readers.casting import converted, shown
from rollwise.readers.names import Names, judged, told_apart
from rollwise.readers.roles.columns import is_constant
from rollwise.readers.roles.ratings import ratings_in
from rollwise.schema import FAILURE, OUTCOMES, SUCCESS
from rollwise.schema.named import columns_named, values_named

_OF_ROLLOUTS = "`{}` is the same on all turns of each rollout: it judges the rollout, and no turn of it"


def scored(turns: pl.DataFrame, names: Names, verb: str) -> tuple[pl.DataFrame, list[str]]:
    """Return turns with the score that the user names, the verdicts that its limit makes, and what is said of both.

    A score that is the same on all turns of each rollout is that of the rollout: its limit makes the outcome, and no verdict on
    a turn.
    """
    column = names.columns.get("score", "score")
    notices: list[str] = []
    if column in turns.columns and column != "score" and not turns["score"].count():  # a field of records with turns
        scores, notices = _numbers(values_named(turns, column), turns["rollout_id"])
        turns = turns.drop(columns_named([column])).with_columns(scores.alias("score"))
    if names.at is None:
        return turns, notices
    turns = judged(turns, names.at, verb)
    notices += filter(None, [told_apart(turns["score"], turns["succeeded"], names.at)])
    if "score" not in names.columns or not _are_of_rollouts(turns):
        return turns, notices
    # A verdict on the first turn would say that the attack succeeded there.
    words = pl.when("succeeded").then(pl.lit(SUCCESS)).when(~pl.col("succeeded")).then(pl.lit(FAILURE))
    turns = turns.with_columns(outcome=words.cast(OUTCOMES), succeeded=pl.lit(None, pl.Boolean))
    return turns, [*notices, _OF_ROLLOUTS.format(column)]


def _numbers(values: pl.Series, ids: pl.Series) -> tuple[pl.Series, list[str]]:
    """Return the numbers of a field, or the ratings in its texts, and how many rollouts have something else there."""
    numbers, _ = converted(values, pl.Float64)
    lost = values.is_not_null() & numbers.is_null()
    if lost.any() and values.dtype == pl.String and (ratings := ratings_in(values)) is not None:
        numbers = ratings
        lost = values.is_not_null() & numbers.is_null()
    if not lost.any():
        return numbers, []
    rollouts = counted(ids.filter(lost).n_unique(), "rollout")
    return numbers, [f"`{values.name}` is no number in {rollouts}, such as {shown(values.filter(lost)[0])}: null there"]


def _are_of_rollouts(turns: pl.DataFrame) -> bool:
    """Return whether rollouts of several turns have one score on all of them; a rollout without any has one as well."""
    several = turns["rollout_id"].is_duplicated()
    is_tree = "node_id" in turns.columns and turns["node_id"].count() > 0
    if is_tree or not turns["score"].filter(several).count():
        return False
    return is_constant(turns["rollout_id"], turns["score"])
