"""Times to an event, and events within a number of turns."""

from numbers import Integral

import polars as pl

from rollwise.errors import MetricError, listing
from rollwise.metrics.metric import metric
from rollwise.schema import ERROR, FAILURE, SUCCESS, TIME_TO_EVENT
from rollwise.schema.option_types import check_option_types

_TURN = pl.col("turn")
_MOST_TURNS = 2**31 - 1  # that Int32 can count


def _first(condition: pl.Expr) -> pl.Expr:
    return pl.when(condition).then(_TURN).min()


# `struct.with_fields` computes each aggregate once and names it. As one expression of aggregates, a time to success would
# compute eighteen minima, although only two differ.
def _time_to_event(follow_up: pl.Expr) -> pl.Expr:
    """Return the struct, null without follow-up, so that its null count is the number of rollouts without a time."""
    time = pl.struct(duration=pl.field("duration"), observed=pl.field("observed")).cast(TIME_TO_EVENT)
    return follow_up.struct.with_fields(time=pl.when(pl.field("duration") > 0).then(time)).struct.field("time")


def _follow_up(*aggregates: pl.Expr) -> pl.Expr:
    """Return a struct of the last turn of follow-up for the attack's success, whether it succeeded there, and the aggregates."""
    follow_up = pl.struct(
        *aggregates,
        outcome=pl.col("outcome").first(),
        first=_first(pl.col("succeeded")),
        unjudged=_first(pl.col("succeeded").is_null()),
        last=_TURN.max(),
    )
    outcome, first, unjudged, last = (pl.field(name) for name in ("outcome", "first", "unjudged", "last"))
    before_gap = first.is_not_null() & (unjudged.is_null() | (first < unjudged))
    # A known outcome settles the rollout. Without one, the first success counts only if all turns before it were judged:
    # an earlier, unjudged turn may have been a success, so follow-up ends before it.
    duration = (
        pl.when(outcome == SUCCESS)
        .then(pl.coalesce(first, last))  # a success of unknown time counts at the last turn
        .when(outcome == FAILURE)
        .then(last)
        .when(before_gap)
        .then(first)
        .otherwise(pl.coalesce(unjudged - 1, last))
    )
    observed = pl.when(outcome.is_in([SUCCESS, FAILURE])).then(outcome == SUCCESS).otherwise(before_gap)
    result: pl.Expr = follow_up.struct.with_fields(duration=duration, observed=observed)
    return result


@metric(better="higher", concerns="attack", sets=("TIMING",))
def time_to_success() -> pl.Expr:
    """Turns until the attack succeeded, censored if it is not known to have succeeded (`Struct{duration, observed}`).

    A known `outcome` outranks the verdicts of turns; a success whose turn is unknown counts at the last turn.
    Without a known outcome follow-up ends before the first unjudged turn. Null without follow-up.

    Examples
    --------
    >>> turns = pl.DataFrame({"turn": [1, 2, 3], "outcome": [None] * 3, "succeeded": [False, None, True]})
    >>> turns.select(time_to_success()).item()
    {'duration': 1, 'observed': False}
    """
    return _time_to_event(_follow_up()).alias("time_to_success")


SPENT = {
    "target_call": pl.col("target_call"),
    "tokens": pl.when(pl.col("prompt_tokens").is_not_null() | pl.col("response_tokens").is_not_null()).then(
        pl.col("prompt_tokens").fill_null(0) + pl.col("response_tokens").fill_null(0)
    ),
    "cost_usd": pl.col("cost_usd"),
    "seconds": pl.col("seconds"),
}
"""Cost of a turn on each axis of a curve; `target_call` is a running number, which is not summed."""


@metric(better="higher", concerns="attack", names=("spent_to_success_<axis>",))
def spent_to_success(axis: str) -> pl.Expr:
    """Amount spent by the end of follow-up for the attack's success (`Struct{duration, observed}`, duration Float64).

    `axis` is ``"target_call"``, ``"tokens"``, ``"cost_usd"`` or ``"seconds"``. Follow-up is the same as in
    `time_to_success`: up to the success, or the last turn of follow-up; turns after the success do not count. Null without
    follow-up, or if the cost of a turn in follow-up is unknown.

    Examples
    --------
    >>> turns = pl.DataFrame({"turn": [1, 2, 3], "outcome": [None] * 3, "succeeded": [False, True, False]})
    >>> turns.with_columns(cost_usd=pl.lit(0.5)).select(spent_to_success("cost_usd")).item()
    {'duration': 1.0, 'observed': True}
    """
    check_option_types(spent_to_success, locals())
    if axis not in SPENT:
        raise MetricError(f"spent_to_success: axis={axis!r} is unknown; it is one of {listing(SPENT)}")
    duration, observed = (_follow_up().struct.field(name) for name in ("duration", "observed"))
    # Only turns of follow-up are paid for; a gap among them makes the sum unknown.
    costs = SPENT[axis].filter(duration >= _TURN)
    amount = costs.max() if axis == "target_call" else costs.sum()
    complete = (duration > 0) & (costs.null_count() == 0)
    spent = pl.struct(duration=amount.cast(pl.Float64), observed=observed)
    return pl.when(complete).then(spent).alias(f"spent_to_success_{axis}")


@metric(better="lower", concerns="attack", any_of_turns=True, names=("success_within_<k>",))
def success_within(k: int) -> pl.Expr:
    """Return whether the attack succeeded within its first `k` turns (Boolean).

    A rollout that ended earlier without success counts as a failure. Null if it ended in an error before turn `k`, or if
    the verdicts stop before turn `k`. `k` is a whole number from 1 to 2,147,483,647: others raise `MetricError`.

    Examples
    --------
    >>> facts = {"outcome": "success", "ending": "success"}
    >>> turns = pl.DataFrame(facts | {"turn": [1, 2, 3], "succeeded": [False, False, True]})
    >>> turns.select(success_within(2), success_within(3)).row(0)
    (False, True)
    """
    number: object = k  # others than numbers come as well
    if isinstance(number, bool) or not isinstance(number, Integral) or not 1 <= int(number) <= _MOST_TURNS:
        is_long = isinstance(number, Integral) and abs(int(number)) > 10**40
        text = "a number of many digits" if is_long else " ".join(f"{k!r:.200}".split())
        raise MetricError(f"success_within: k={text}; give a whole number of turns, from 1 to {_MOST_TURNS:,}")
    follow_up = _follow_up(pl.col("ending").first())
    duration, observed = pl.field("duration"), pl.field("observed")
    # Followed up to its last turn and not cut off by an error: no success can follow.
    complete = (duration == pl.field("last")) & pl.field("ending").ne_missing(ERROR)
    within = pl.when(observed & (duration <= k)).then(True).when((duration >= k) | complete).then(False)
    return follow_up.struct.with_fields(within=within).struct.field("within").alias(f"success_within_{k}")


@metric(names=("first_turn_...",))
def first_turn(condition: pl.Expr, *, name: str = "first_turn") -> pl.Expr:
    """First turn known to satisfy the condition (Int32); null if none is.

    A mean leaves out rollouts without such a turn; `time_to` keeps them as censored.

    Examples
    --------
    >>> pl.DataFrame({"turn": [1, 2], "score": [0.1, 0.9]}).select(first_turn(pl.col("score") >= 0.5)).item()
    2
    """
    check_option_types(first_turn, locals())
    return _first(condition).alias(name)


@metric(names=("time_to_...",))
def time_to(condition: pl.Expr, *, name: str = "time_to") -> pl.Expr:
    """Turns until the condition first held, censored at the last turn of follow-up (`Struct{duration, observed}`).

    Follow-up ends before the first turn in which the condition is null. Null without follow-up.

    Examples
    --------
    >>> pl.DataFrame({"turn": [1, 2], "score": [0.1, 0.2]}).select(time_to(pl.col("score") >= 0.5)).item()
    {'duration': 2, 'observed': False}
    """
    check_option_types(time_to, locals())
    follow_up = pl.struct(first=_first(condition), unknown=_first(condition.is_null()), last=_TURN.max())
    first, unknown = pl.field("first"), pl.field("unknown")
    before_gap = first.is_not_null() & (unknown.is_null() | (first < unknown))
    duration = pl.when(before_gap).then(first).otherwise(pl.coalesce(unknown - 1, pl.field("last")))
    return _time_to_event(follow_up.struct.with_fields(duration=duration, observed=before_gap)).alias(name)
