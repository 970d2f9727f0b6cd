"""Units of two arms, and whether the arms are compared by the units that they share."""

import numpy as np

from rollwise.estimation.clusters import Unit
from rollwise.estimation.comparable import compared_over
from rollwise.stats.differences import Arm
from rollwise.stats.estimate import BoolArray, FloatArray, IntArray


class Match:
    """Units in two arms, and whether the arms are compared by their common units."""

    def __init__(self, arms: tuple[IntArray, IntArray], unit: Unit, paired: bool) -> None:  # noqa: FBT001
        self.arms, self.unit = arms, unit
        # Codes of both arms come from one unit, so equal codes are equal goals.
        split = arms[0].size
        ways = unit.codes
        self.clusters = tuple(way[:split] for way in ways), tuple(way[split:] for way in ways)
        cell_codes = [np.zeros(rows.size, dtype=np.int64) for rows in arms]
        if ways:
            # Combine two ways into one code per cell, unique because every code is below the width.
            width = 1 + max(int(way.max(initial=0)) for way in ways)
            cell_codes = [self._cells(clusters, width) for clusters in self.clusters]
        self.codes = cell_codes
        self.common = np.intersect1d(cell_codes[0], cell_codes[1]) if ways else np.zeros(0, dtype=np.int64)
        self.is_paired = bool(ways) and paired

    @property
    def mostly_common(self) -> bool:
        """At least half of the units of both arms together are common."""
        return 2 * self.common.size >= np.union1d(*self.codes).size

    @staticmethod
    def _cells(clusters: tuple[IntArray, ...], width: int) -> IntArray:
        return clusters[0] if len(clusters) == 1 else clusters[0] * width + clusters[1]

    def of(self, values: tuple[FloatArray, FloatArray]) -> tuple[Arm, Arm]:
        """Return the values as arms for `rollwise.stats`."""
        return Arm(values[0], self.clusters[0]), Arm(values[1], self.clusters[1])

    @property
    def compared(self) -> tuple[BoolArray, ...]:
        """Mark the rows of each arm that are compared: all of them, or only those in common units if paired."""
        return tuple(
            np.isin(codes, self.common) if self.is_paired else np.ones(codes.size, dtype=np.bool_)
            for codes in self.codes
        )

    def labels(self, units: IntArray) -> list[str]:
        """Return the ids of the units in order; numbers for cells of two ways."""
        if len(self.unit.names) == 1:
            names = self.unit.ids()
            return [names[code] for code in units]
        return [str(code) for code in units]

    def of_other_goals(self, group: str, baseline: str) -> str | None:
        """Say over which units the arms are compared, where they did not meet the same goals or tasks."""
        rows = sum(codes.size for codes in self.codes)
        if not {"goal", "task"} & set(self.unit.names) or self.unit.nulls == rows:
            return None
        only = [np.setdiff1d(codes, self.common).size for codes in self.codes]
        if not all(codes.size for codes in self.codes):
            return None
        noun = " × ".join(self.unit.names)
        return compared_over(noun, self.common.size, (only[0], only[1]), (group, baseline), paired=self.is_paired)

    def report(self) -> dict[str, int | None]:
        """Return the counts of paired and unpaired units; null if rollouts themselves are independent."""
        if not self.unit.names:
            return {"n_pairs": None, "only_group": None, "only_baseline": None, "n_unequal": None}
        group_counts, baseline_counts = (np.unique(codes, return_counts=True) for codes in self.codes)
        # Numbers of rollouts of the common units in each arm, in the same order.
        sizes = [counts[np.isin(units, self.common)] for units, counts in (group_counts, baseline_counts)]
        return {
            "n_pairs": self.common.size,
            "only_group": group_counts[0].size - self.common.size,
            "only_baseline": baseline_counts[0].size - self.common.size,
            "n_unequal": int((sizes[0] != sizes[1]).sum()),
        }
