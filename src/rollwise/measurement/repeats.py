"""Rows that stand in a table twice: two turns of one number in one rollout, which no metric may merge."""

import polars as pl

from rollwise.errors import SchemaError, counted

_BITS = 62  # of a whole number that is not negative


def check_repeats(turns: pl.DataFrame, verb: str) -> None:
    """Raise an error if a rollout has two rows of one turn; rows may be in any order.

    Raises
    ------
    SchemaError
        Naming the first pair, and what to type.

    Examples
    --------
    >>> check_repeats(pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 1]}), "measure")
    Traceback (most recent call last):
    rollwise.errors.SchemaError: measure: rollout 'a' has turn 1 twice: rows of one rollout_id are one rollout; ...
    """
    if _rise(turns["rollout_id"], turns["turn"]):
        return
    keys = turns.select("rollout_id", "turn")
    is_repeat = ~keys.select(pl.struct("rollout_id", "turn").is_first_distinct()).to_series()
    if is_repeat.any():
        rollout_id, turn = keys.filter(is_repeat).row(0)
        more = int(is_repeat.sum()) - 1
        others = f" (and {counted(more, 'more row is', 'more rows are')} such)" if more else ""
        raise SchemaError(
            f"{verb}: rollout {rollout_id!r} has {'a row without a turn' if turn is None else f'turn {turn}'} twice{others}: "
            "rows of one rollout_id are one rollout; drop rows that are copies, `turns.unique(maintain_order=True)`, or keep "
            'rollouts of two tables apart before `pl.concat`: `turns.with_columns(rollout_id="b/" + pl.col("rollout_id"))`'
        )


def may_repeat() -> pl.Expr:
    """Return whether one rollout may have two rows of one turn; false only where it has not.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a", "b", "b"], "turn": [1, 2, 1, 1]})
    >>> turns.group_by("rollout_id", maintain_order=True).agg(may_repeat().alias("may"))["may"].to_list()
    [False, True]
    """
    # As many bits as turns, a bit for each number: far faster than to count distinct numbers.
    number = pl.col("turn").cast(pl.Int64, strict=False).abs() % _BITS
    bits = pl.lit(2, pl.Int64).pow(number).bitwise_or().bitwise_count_ones().fill_null(0)
    return (bits != number.count()) | (number.null_count() > 1)


def _rise(ids: pl.Series, turn: pl.Series) -> bool:
    """Return whether each rollout is in one piece and its turns rise, as in most tables: then no turn stands there twice."""
    starts = ids.ne_missing(ids.shift())
    if not (starts | (turn > turn.shift()).fill_null(value=False)).all():
        return False
    pieces = ids.filter(starts)
    return pieces.n_unique() == pieces.len()
