"""Rollouts for people to label: drawn by the judge's verdict, so that few flagged rollouts are not missed."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from rollwise.schema.named import columns_named, values_named

VERDICT, PROBABILITY = "verdict", "probability"


@dataclass(frozen=True, slots=True)
class Drawn:
    """The rollouts of a page in the order in which they are shown, and how many there were to draw from.

    `rollouts` has `rollout_id`, `verdict` (the judge's; null where it gave none) and `probability`, with which it was drawn.
    `strata` has a row for each group and verdict: `of` rollouts, of which `drawn` are on the page.
    """

    rollouts: pl.DataFrame
    strata: pl.DataFrame
    unjudged: int


def drawn(rollouts: pl.DataFrame, metric: str, by: tuple[str, ...], most: int, seed: int) -> Drawn:
    """Draw up to `most` rollouts: as many with each verdict in each group as there are, as far as they go.

    Rollouts without a verdict are left out, unless none has one: then all are drawn from alike.
    """
    frame = rollouts.select("rollout_id", *columns_named(by), values_named(rollouts, metric).alias(VERDICT))
    judged = frame.filter(pl.col(VERDICT).is_not_null())
    pool = (judged if judged.height else frame).sort("rollout_id")  # the order of the files changes nothing
    strata = pool.group_by(*columns_named(by), VERDICT, maintain_order=True).agg(of=pl.len())
    strata = strata.with_columns(drawn=pl.Series(_shares(strata["of"].to_list(), most), dtype=pl.Int64))
    random = np.random.default_rng(seed % 2**63)
    # Every rollout gets a random place; the first places of each stratum are drawn, and shown in the order of these places.
    placed = pool.with_columns(place=pl.Series(random.permutation(pool.height)))
    chosen = placed.join(strata, on=[*columns_named(by), VERDICT], how="left", nulls_equal=True, maintain_order="left")
    rank = pl.col("place").rank("ordinal").over([*columns_named(by), VERDICT])
    chosen = chosen.filter(rank <= pl.col("drawn")).sort("place")
    page = chosen.select("rollout_id", VERDICT, (pl.col("drawn") / pl.col("of")).alias(PROBABILITY))
    return Drawn(page, strata, frame.height - pool.height)


def _shares(sizes: list[int], most: int) -> list[int]:
    """Return how many are drawn from each stratum: alike, and what a small one cannot give goes to the others."""
    shares, left = [0] * len(sizes), most
    for place, index in enumerate(sorted(range(len(sizes)), key=lambda one: sizes[one])):
        shares[index] = min(sizes[index], left // (len(sizes) - place))
        left -= shares[index]
    return shares
