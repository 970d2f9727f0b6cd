"""Bootstrap counts block by block, drawn once where the same are asked for again and again."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from turnwise.stats.estimate import FloatArray
from turnwise.stats.multinomial import counts

_MOST_CACHED = 1 << 24
"""Counts that are kept, a byte each."""

_Key = tuple[str, int, int, int]


class _CachedCounts(NamedTuple):
    """Counts, the generator that they came from, and what it was afterwards."""

    key: _Key
    counts: NDArray[np.uint8]
    after: Any


_asked: _Key | None = None
_kept: _CachedCounts | None = None


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
    block_rows = rows * together
    buffer = np.empty((min(block_rows, resamples), clusters), dtype)
    cached, repeated = _kept, _asked == key
    _asked = key
    if cached is not None and cached.key == key:
        for start in range(0, resamples, block_rows):
            block = buffer[: resamples - start]
            block[:] = cached.counts[start : start + block_rows]
            yield block
        rng.bit_generator.state = cached.after
        return
    recording = np.empty((resamples, clusters), np.uint8) if repeated and resamples * clusters <= _MOST_CACHED else None
    for start in range(0, resamples, block_rows):
        block = buffer[: resamples - start]
        for first in range(0, len(block), rows):
            part = block[first : first + rows]
            counts(rng, len(part), clusters, out=part)
        if recording is not None:
            recording[start : start + block_rows] = block
        yield block
    if recording is not None:
        _kept = _CachedCounts(key, recording, rng.bit_generator.state)
