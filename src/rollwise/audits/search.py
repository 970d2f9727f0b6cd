"""The fewest ways of counting that lead from our figure to a stated one."""

from itertools import combinations

import polars as pl

from rollwise.audits.counting import num_judged, tally
from rollwise.audits.stated import Stated
from rollwise.audits.ways import WAYS, Way, applied

MOST, MOST_SURE = 2, 3
"""Ways that are combined: of a figure that says little, two; of one with four places or with its number of rollouts, three."""
_SURE_PLACES, _PLACES_ALONE = 4, 6


def sets_for(stated: Stated, counts: pl.DataFrame, *, share: bool) -> list[tuple[Way, ...]]:
    """Return all smallest sets of ways that give the stated figure; one empty set if ours is the same, no set if none does.

    Where none gives its number of rollouts, too, the figure alone may do: ours, or with one way of counting a figure of many places
    from a file, whose number of rollouts may be that of the file.
    """
    ways = [way for way in WAYS if (share or not way.of_shares) and _acts(way, counts)]
    says_much = stated.places >= _SURE_PLACES
    smallest = _smallest(stated, counts, ways, MOST_SURE if says_much or stated.n is not None else MOST, with_n=True)
    if smallest or stated.n is None:
        return smallest
    is_sure = stated.of_file and stated.places >= _PLACES_ALONE
    return _smallest(stated, counts, ways, 1 if is_sure else 0, with_n=False)


def _smallest(
    stated: Stated, counts: pl.DataFrame, ways: list[Way], most: int, *, with_n: bool
) -> list[tuple[Way, ...]]:
    for size in range(most + 1):
        # Our own figure may be told with the number of verdicts alone.
        is_enough = with_n and (size > 0 or stated.n != num_judged(counts))
        sets = _of_size(ways, size)
        matches = [chosen for chosen in sets if stated.is_met_by(tally(applied(counts, chosen)), with_n=is_enough)]
        if matches:
            return matches
    return []


def _acts(way: Way, counts: pl.DataFrame) -> bool:
    """Return whether a way of counting can change anything here, alone or together with others."""
    if way.about == "goals":
        return counts["goal"].n_unique() < counts.height
    return not way.counted(counts).equals(counts)


def _of_size(ways: list[Way], size: int) -> list[tuple[Way, ...]]:
    """Return the sets of so many ways, no two of them about the same thing, in the order of `WAYS`."""
    sets = combinations(ways, size)
    return [chosen for chosen in sets if len({way.about for way in chosen}) == size]
