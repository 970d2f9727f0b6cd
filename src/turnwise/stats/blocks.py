"""Bootstrap counts block by block, drawn once where the same are asked for again and again."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from turnwise.stats.estimate import FloatArray
from turnwise.stats.multinomial import counts

_MOST = 1 << 24
"""Counts that are kept, a byte each."""

_Key = tuple[str, int, int, int]


class _Kept(NamedTuple):
    """Counts, the generator that they came from, and what it was afterwards."""

    key: _Key
    counts: NDArray[np.uint8]
    after: Any


_asked: _Key | None = None
_kept: _Kept | None = None


def blocks(
    rng: np.random.Generator,
    resamples: int,
    clusters: int,
    *,
    rows: int,
    together: int = 1,
    dtype: DTypeLike = np.float64,
) -> Iterator[FloatArray]:
    """How often each cluster is drawn in each replicate, as `counts` says: some rows at a time, in one buffer.

    All metrics of a group, and all groups over the same goals, draw from generators in the same state. Counts that are
    asked for a second time are kept, those of the last generator only and 16 MB at most, and for a third time they are
    only copied. What is drawn, and the state of the generator afterwards, is the same with and without.

    Parameters
    ----------
    rng
        Generator over a bit generator of 64 bits.
    resamples, clusters
        Rows in all, and columns.
    rows, together
        Rows drawn at a time, on which the draws depend, and how many times as many are handed over at once.
    dtype
        Of the counts handed over, a float.

    Examples
    --------
    >>> [len(block) for block in blocks(np.random.default_rng(0), 5, 50, rows=2)]
    [2, 2, 1]
    """
    global _asked, _kept  # noqa: PLW0603  # two threads at worst draw twice
    key = (str(rng.bit_generator.state), resamples, clusters, rows)
    many = rows * together
    buffer = np.empty((min(many, resamples), clusters), dtype)
    known, again = _kept, _asked == key
    _asked = key
    if known is not None and known.key == key:
        for start in range(0, resamples, many):
            block = buffer[: resamples - start]
            block[:] = known.counts[start : start + many]
            yield block
        rng.bit_generator.state = known.after
        return
    keep = np.empty((resamples, clusters), np.uint8) if again and resamples * clusters <= _MOST else None
    for start in range(0, resamples, many):
        block = buffer[: resamples - start]
        for first in range(0, len(block), rows):
            part = block[first : first + rows]
            counts(rng, len(part), clusters, out=part)
        if keep is not None:
            keep[start : start + many] = block
        yield block
    if keep is not None:
        _kept = _Kept(key, keep, rng.bit_generator.state)
