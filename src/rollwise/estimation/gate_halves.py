"""A gate against itself: how often two random halves of the attempts at the same goals get different answers."""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.schema.named import column_named, columns_named

_WITHIN = ("target", "attack", "goal", "task")
"""Columns within whose values attempts repeat each other."""


def with_splits(
    gates: pl.DataFrame,
    rollouts: pl.DataFrame,
    by: tuple[str, ...],
    splits: int,
    seed: int,
    gate: Callable[[pl.DataFrame], pl.DataFrame],
) -> pl.DataFrame:
    """Return GATE with the number of splits, and in how many of them the halves have different answers."""
    keys = ["requirement", *by]
    rows = gates.select(columns_named(keys)).with_columns(n_differ=pl.lit(0, dtype=pl.Int64))
    for halves in _halves(rollouts, by, splits, seed):
        answers = [
            # A group that is in one half alone has no answer in the other one.
            rows.select(columns_named(keys))
            .join(
                gate(half).select(*columns_named(keys), "answer"),
                on=columns_named(keys),
                how="left",
                nulls_equal=True,
                maintain_order="left",
            )
            .get_column("answer")
            .fill_null("undecided")
            for half in halves
        ]
        rows = rows.with_columns(n_differ=pl.col("n_differ") + (answers[0] != answers[1]).cast(pl.Int64))
    counted = gates.with_columns(rows["n_differ"], n_splits=pl.lit(splits, dtype=pl.Int64))
    return counted.select(*columns_named(by), *schema.GATE.names)


def _halves(rollouts: pl.DataFrame, by: tuple[str, ...], splits: int, seed: int) -> Iterator[list[pl.DataFrame]]:
    """Yield the attempts at each goal in two random halves; the last of an odd number of attempts goes to either half."""
    names = dict.fromkeys(name for name in (*by, *_WITHIN) if name in rollouts.columns)
    within = [name for name in names if not isinstance(rollouts.schema[name], pl.List)]
    frame = rollouts.sort("rollout_id")
    has_unit = pl.any_horizontal(
        [column_named(name).is_not_null() for name in ("goal", "task") if name in within] or [False]
    )
    if not frame.filter(has_unit).select(columns_named(within)).is_duplicated().any():
        raise ArgumentError(
            f"gate: against_self={splits}: the attempts at each goal are split in two halves, and no goal has two attempts "
            "here; run each goal at least twice, or leave the option out"
        )
    rng = np.random.default_rng(seed if seed >= 0 else [0, -seed])  # the same draws as ever for the usual seeds
    for _ in range(splits):
        order, coin = (pl.Series(rng.random(frame.height)) for _ in range(2))
        coins = frame.select(columns_named(within)).with_columns(order=order, coin=coin < 0.5)
        ranks = pl.col("order").rank("ordinal").over(columns_named(within))
        half = coins.select(
            (ranks + pl.col("coin").first().over(columns_named(within)).cast(pl.UInt32)) % 2 == 0
        ).to_series()
        yield [frame.filter(half), frame.filter(~half)]
