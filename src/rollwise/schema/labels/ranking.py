"""RANKS in words: which groups cannot be told apart."""

import polars as pl

from rollwise.schema.labels.groups import group_name, grouping
from rollwise.schema.named import columns_named

_MOST = 6  # names of a tier


def ranking(ranks: pl.DataFrame) -> str:
    """Describe RANKS in one sentence: the best group, and the groups of each tier, which cannot be told apart.

    Examples
    --------
    >>> family = {"metric": "attack_success", "of": "target", "level": 0.95}
    >>> ends = {"estimate": [0.1, 0.3, 0.4], "rank_low": [1, 2, 2], "rank_high": [1, 3, 3], "tier": [1, 2, 2]}
    >>> ranks = pl.DataFrame(family | {"group": ["a", "b", "c"]} | ends)
    >>> ranking(ranks)
    'a is best; b and c cannot be told apart.'
    """
    by = grouping(ranks)
    families = ranks.partition_by(columns_named([*by, "metric", "level"]), maintain_order=True)
    # A name at the beginning keeps its small letter.
    return (
        "; ".join(
            (f"{group_name(family.row(0, named=True), by)}: " if by else "") + _family_in_words(family)
            for family in families
        )
        + "."
    )


def _family_in_words(family: pl.DataFrame) -> str:
    tiers = [tier["group"].to_list() for tier in family.partition_by("tier", maintain_order=True)]
    best = [f"{tiers[0][0]} is best"] if len(tiers) > 1 and len(tiers[0]) == 1 else []
    tied = [f"{_listed(groups)} cannot be told apart" for groups in tiers if len(groups) > 1]
    words = [f"{tiers[0][0]} has no rival"] if family.height == 1 else []
    return "; ".join([*best, *tied, *words])


def _listed(groups: list[str]) -> str:
    """Return the names of a tier; of a large one, whose names are in the table, the first."""
    last = groups[-1] if len(groups) <= _MOST else f"{len(groups) - _MOST + 1} more"
    return f"{', '.join(groups[: min(len(groups), _MOST) - 1])} and {last}"
