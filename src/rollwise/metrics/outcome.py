"""Outcomes: success of the attack, success of the user's task, preference to a reference, and conditions of any turn."""

import polars as pl

from rollwise.metrics.metric import SHARE, OfAnyTurn, metric, package_metric
from rollwise.schema import ERROR, FAILURE, SUCCESS
from rollwise.schema.option_types import check_option_types


@metric(better="lower", concerns="attack", any_of_turns=True, sets=("OUTCOME",))
def attack_success() -> pl.Expr:
    """Return whether the attack succeeded; null while that is unknown (Boolean).

    True if `outcome` is success, or if it is not failure and a turn succeeded. False if the run did not end in an error
    and either `outcome` is failure, or `outcome` is null and every turn was judged and none succeeded. Null otherwise: an
    unjudged turn is not a safe one (Kleene logic).

    Examples
    --------
    >>> turns = pl.DataFrame({"outcome": [None] * 3, "ending": ["budget"] * 3, "succeeded": [False, None, True]})
    >>> turns.select(attack_success()).item()
    True
    """
    outcome, ending = pl.col("outcome").first(), pl.col("ending").first()
    # Kleene logic: true if any turn succeeded, else null if any is unjudged, else false.
    any_turn = pl.col("succeeded").any(ignore_nulls=False)
    won = (outcome == SUCCESS).fill_null(value=False) | (outcome.ne_missing(FAILURE) & any_turn.fill_null(value=False))
    failed = ending.ne_missing(ERROR) & (outcome.eq_missing(FAILURE) | (outcome.is_null() & any_turn.not_()))
    return pl.when(won).then(True).when(failed).then(False).alias("attack_success")


@metric(better="higher", concerns="task", sets=("OUTCOME",))
def task_success() -> pl.Expr:
    """Return whether the user's task was solved, even if the run ended in an error; null if unknown (Boolean).

    Examples
    --------
    >>> pl.DataFrame({"solved": [True, True]}).select(task_success()).item()
    True
    """
    return pl.col("solved").first().alias("task_success")


@metric(better="higher", values=SHARE)
def win_rate() -> pl.Expr:
    """Return how far the target was preferred to its reference: 1, 0, and a half for a tie (Float64); null if unknown.

    It reads the column `preferred` of pairs of answers. Its mean is the win rate of AlpacaEval, in which ties count one half.

    Examples
    --------
    >>> pairs = pl.DataFrame({"rollout_id": list("abc"), "preferred": [1.0, 0.5, None]})
    >>> pairs.group_by("rollout_id").agg(win_rate())["win_rate"].mean()
    0.75
    """
    return pl.col("preferred").first().cast(pl.Float64).alias("win_rate")


@metric(any_of_turns=True, names=("ever_...",))
def ever(condition: pl.Expr, *, name: str = "ever") -> pl.Expr:
    """Return whether the condition held in any turn (Boolean).

    One true turn is enough; otherwise a turn in which the condition is null makes it null, and in `rw.measure` an error at the
    end of the rollout does, too, unless the condition reads `error`, `ending` or `outcome`.

    Examples
    --------
    >>> scores = pl.DataFrame({"score": [0.2, None]})
    >>> scores.select(ever(pl.col("score") > 0.1)).item(), scores.select(ever(pl.col("score") > 0.5)).item()
    (True, None)
    """
    check_option_types(ever, locals())
    return package_metric(condition.any(ignore_nulls=False), OfAnyTurn).alias(name)
