"""Goals that two groups of rollouts have in common: the pairs, and the report of unpaired goals."""

from typing import Any, Literal

import numpy as np

from turnwise.estimation.clusters import Unit
from turnwise.stats.differences import Arm
from turnwise.stats.estimate import FloatArray, IntArray


class Match:
    """Units that the two arms have in common, and whether they are paired by them.

    Attributes
    ----------
    arms
        Row numbers of each arm.
    unit
        The unit of the rows of both arms, the first arm's first.
    clusters, codes
        Each arm's units by way, and as one code (the unit, or the cell of two ways).
    common
        Sorted codes of the units in both arms.
    pairs
        Whether the arms are compared by common units.

    Examples
    --------
    >>> codes = np.array([0, 0, 1, 1, 2])
    >>> unit = Unit(("goal",), (codes,), lambda: ["x", "y", "z"], 0)
    >>> Match((np.arange(3), np.arange(3, 5)), unit, "auto").report()
    {'n_pairs': 1, 'only_group': 1, 'only_baseline': 1, 'n_unequal': 0}
    """

    def __init__(self, arms: tuple[IntArray, IntArray], unit: Unit, paired: bool | Literal["auto"]) -> None:  # noqa: FBT001
        self.arms, self.unit = arms, unit
        split = arms[0].size
        ways = unit.codes
        self.clusters = tuple(way[:split] for way in ways), tuple(way[split:] for way in ways)
        wide = [np.zeros(rows.size, dtype=np.int64) for rows in arms]
        if ways:
            width = 1 + max(int(way.max(initial=0)) for way in ways)
            wide = [self._cells(clusters, width) for clusters in self.clusters]
        self.codes = wide
        self.common = np.intersect1d(wide[0], wide[1]) if ways else np.zeros(0, dtype=np.int64)
        self.pairs = bool(ways) and (paired is True or (paired == "auto" and self.common.size > 0))

    @staticmethod
    def _cells(clusters: tuple[IntArray, ...], width: int) -> IntArray:
        return clusters[0] if len(clusters) == 1 else clusters[0] * width + clusters[1]

    def of(self, values: tuple[FloatArray, FloatArray]) -> tuple[Arm, Arm]:
        """The values as arms."""
        return Arm(values[0], self.clusters[0]), Arm(values[1], self.clusters[1])

    @property
    def kept(self) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], ...]:
        """Mark the rows of each arm that are compared: all, or those in common units."""
        return tuple(
            np.isin(codes, self.common) if self.pairs else np.ones(codes.size, dtype=np.bool_) for codes in self.codes
        )

    def labels(self, units: IntArray) -> list[str]:
        """Ids of the units, in order; cells of two ways by their number."""
        if len(self.unit.names) == 1:
            names = self.unit.ids()
            return [names[code] for code in units]
        return [str(code) for code in units]

    def report(self) -> dict[str, int | None]:
        """The pairing report; null counts where nothing pairs."""
        if not self.unit.names:
            return {"n_pairs": None, "only_group": None, "only_baseline": None, "n_unequal": None}
        ours, theirs = (np.unique(codes, return_counts=True) for codes in self.codes)
        sizes = [many[np.isin(units, self.common)] for units, many in (ours, theirs)]
        return {
            "n_pairs": self.common.size,
            "only_group": ours[0].size - self.common.size,
            "only_baseline": theirs[0].size - self.common.size,
            "n_unequal": int((sizes[0] != sizes[1]).sum()),
        }
