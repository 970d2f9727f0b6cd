"""Groups of a table, and the independent units within them: sums over each, for estimates of all groups at once.

Sums add the rows of a group in their order. A group's result is therefore the same to the last digit,
whatever other groups the table has.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rollwise.errors import ArgumentError, counted
from rollwise.stats.estimate import BoolArray, Clusters, FloatArray, IntArray

_BLOCK = 128  # rows whose sum is taken before the sums are added


@dataclass(frozen=True)
class Groups:
    """Rows (or units) of several groups, one group after another.

    Attributes
    ----------
    codes
        Integer (n,): the group of each row, ascending, from 0 to count-1. A group may have no rows.
    count
        Number of groups T.
    """

    codes: IntArray
    count: int

    @classmethod
    def single(cls, n: int) -> "Groups":
        """Return one group of n rows."""
        return cls(np.zeros(n, dtype=np.int64), 1)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of rows of each group: integer (T,)."""
        return np.bincount(self.codes, minlength=self.count)

    @cached_property
    def starts(self) -> IntArray:
        """Position of the first row of each group, and the end of the last: integer (T+1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def sums(self, x: FloatArray | BoolArray) -> FloatArray:
        """Sum x (n,) within each group: float (T,), 0 for a group without rows."""
        if are_ones(x):
            return self.sizes.astype(np.float64)
        blocks, of_block = self._blocks
        partial = np.bincount(blocks, weights=x, minlength=of_block.size)
        return np.bincount(of_block, weights=partial, minlength=self.count).astype(np.float64, copy=False)

    @cached_property
    def _blocks(self) -> tuple[IntArray, IntArray]:
        """The block of each row, and the group of each block: sums of blocks are added up, which loses fewer digits."""
        numbers = -(-self.sizes // _BLOCK)
        first = np.cumsum(numbers) - numbers
        within = np.arange(self.codes.size) - self.starts[self.codes]
        return first[self.codes] + within // _BLOCK, np.repeat(np.arange(self.count), numbers)

    @cached_property
    def units(self) -> dict[int, tuple[IntArray, "Units"]]:
        """Units that were found in these groups, by the array of their codes, which is kept so that its identity stays."""
        return {}

    def first(self, x: FloatArray) -> FloatArray:
        """Return the first value of each group: float (T,), NaN for a group without rows."""
        starts = self.starts[:-1]
        return np.where(self.sizes > 0, x[np.minimum(starts, x.size - 1)], np.nan) if x.size else self._nulls

    def least(self, x: FloatArray) -> FloatArray:
        """Return the smallest value of each group: float (T,), NaN for a group without rows."""
        return self._reduced(np.minimum, x)

    def largest(self, x: FloatArray) -> FloatArray:
        """Return the largest value of each group: float (T,), NaN for a group without rows."""
        return self._reduced(np.maximum, x)

    def are_equal(self, x: FloatArray) -> BoolArray:
        """Return whether all values of each group are equal: Boolean (T,), True for a group without rows."""
        return np.asarray(self.sums(x != self.first(x)[self.codes]) == 0)

    def _reduced(self, function: np.ufunc, x: FloatArray) -> FloatArray:
        result, filled = self._nulls, self.sizes > 0
        if x.size:  # consecutive starts of groups with rows enclose exactly the rows of one group
            result[filled] = function.reduceat(x, self.starts[:-1][filled])
        return result

    @property
    def _nulls(self) -> FloatArray:
        return np.full(self.count, np.nan)


@dataclass(frozen=True, slots=True)
class Units:
    """Independent units, each within one group.

    Attributes
    ----------
    labels
        Integer (n,): the unit of each row, from 0 without gaps. None where every row is its own unit.
    groups
        The group of each unit; units are ordered by group, and within it by their codes.
    codes
        Integer (U,): the code that a unit's rows had; the number of the row without labels.
    """

    labels: IntArray | None
    groups: Groups
    codes: IntArray

    @property
    def of_rows(self) -> IntArray:
        """The unit of each row: integer (n,)."""
        return np.arange(self.groups.codes.size) if self.labels is None else self.labels

    @property
    def counts(self) -> IntArray:
        """Number of units of each group: integer (T,)."""
        return self.groups.sizes

    def sums(self, x: FloatArray) -> FloatArray:
        """Sum x (n,) within each unit: float (U,)."""
        if self.labels is None:
            return np.array(x, dtype=np.float64)
        if are_ones(x):
            return np.bincount(self.labels, minlength=self.groups.codes.size).astype(np.float64)
        return np.bincount(self.labels, weights=x, minlength=self.groups.codes.size).astype(np.float64, copy=False)


def are_ones(x: FloatArray | BoolArray) -> bool:
    """Return whether x is the view of a single 1 that means no weights (`ones_or`)."""
    return x.size > 1 and not any(x.strides) and bool(x[0] == 1)


def units_of(codes: IntArray | None, groups: Groups) -> Units:
    """Return the units that the rows with the same code form within each group; without codes, every row is a unit.

    Examples
    --------
    >>> units = units_of(np.array([7, 5, 7, 7]), Groups(np.array([0, 0, 0, 1]), 2))
    >>> units.labels.tolist(), units.counts.tolist(), units.codes.tolist()
    ([1, 0, 1, 2], [2, 1], [5, 7, 7])
    """
    if codes is None:
        return Units(None, groups, np.arange(groups.codes.size))
    stored = groups.units.get(id(codes))
    if stored is None:
        stored = groups.units[id(codes)] = codes, _units_of(codes, groups)
    return stored[1]


def _units_of(codes: IntArray, groups: Groups) -> Units:
    span = int(codes.max(initial=-1)) + 1
    keys = groups.codes * span + codes
    if groups.count * span <= 4 * codes.size + 1024:
        # Counts instead of sorting, if there are not many more possible keys than rows.
        present = np.bincount(keys, minlength=groups.count * span) > 0
        distinct, labels = np.flatnonzero(present), (np.cumsum(present, dtype=np.int64) - 1)[keys]
    else:
        distinct, labels = np.unique(keys, return_inverse=True)
    group, code = np.divmod(distinct, max(span, 1))
    return Units(labels, Groups(group, groups.count), code)


def ways_of(clusters: Clusters, groups: Groups) -> tuple[Units, ...]:
    """Return the units whose variances are combined: rows for ``()``, one way, or two ways and their distinct pairs.

    Raises
    ------
    ArgumentError
        If more than two ways are given.
    """
    match clusters:
        case ():
            return (units_of(None, groups),)
        case (way,):
            return (units_of(way, groups),)
        case (first, second):
            first_way, second_way = units_of(first, groups), units_of(second, groups)
            # Labels of the second way are unique over all groups, so pairs of labels are pairs within a group.
            pairs = first_way.labels * second_way.groups.codes.size + second_way.labels  # type: ignore[operator]
            return first_way, second_way, units_of(np.unique(pairs, return_inverse=True)[1].astype(np.int64), groups)
        case _:
            raise ArgumentError(f"clusters has {counted(len(clusters), 'way')}; pass at most two")
