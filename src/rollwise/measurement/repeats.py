"""Repeated rows of a table: two turns with the same number in one rollout, which no metric may merge."""

import polars as pl

from rollwise.errors import SchemaError, counted

_BITS = 62  # of a whole number that is not negative


def check_repeats(turns: pl.DataFrame, verb: str, *, are_contiguous: bool | None = None) -> None:
    """Raise an error if a rollout has two rows of one turn; rows may be in any order."""
    if turns["turn"].dtype.is_nested():  # lists are refused as what they are
        return
    ids = turns["rollout_id"]
    if (contiguous(ids) if are_contiguous is None else are_contiguous) and _rise(ids, turns["turn"]):
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


def repeats() -> tuple[list[pl.Expr], list[pl.Expr], list[pl.Expr]]:
    """Return a column of turns, its distinct values per rollout, and whether a turn may be repeated according to these."""
    # A bit for each number, and as many bits as turns: far faster than to count distinct numbers.
    number = pl.col("turn").cast(pl.Int64, strict=False).abs() % _BITS
    bits, values, rows = pl.col("\0bits"), pl.col("\0known"), pl.col("\0rows")
    counts = [bits.bitwise_or(), bits.count().alias("\0known"), pl.len().alias("\0rows")]
    may_repeat = (bits.bitwise_count_ones().fill_null(0) != values) | (rows > values + 1)
    return [pl.lit(2, pl.Int64).pow(number).alias("\0bits")], counts, [may_repeat]


def contiguous(ids: pl.Series) -> bool:
    """Return whether the turns of each rollout are in consecutive rows."""
    starts = ids.filter(ids.ne_missing(ids.shift()))
    return starts.n_unique() == starts.len()


def _rise(ids: pl.Series, turn: pl.Series) -> bool:
    """Return whether the turns of each rollout, which is in one piece, rise, as in most tables: then none is repeated."""
    rises = ids.ne_missing(ids.shift()) | (turn > turn.shift())
    return bool(rises.fill_null(value=False).all())
