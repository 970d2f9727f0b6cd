"""Bootstrap counts in blocks, cached when the same counts are requested repeatedly."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from turnwise.stats.estimate import FloatArray
from turnwise.stats.multinomial import counts

_MOST = 1 << 24
"""Most counts in the cache, one byte each."""

_Key = tuple[str, int, int, int]


class _CachedCounts(NamedTuple):
    """Cached counts with the generator state before (in `key`) and after drawing them."""

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
    """Yield blocks of `counts`: the number of times each cluster is drawn in each replicate, in one reused buffer.

    All metrics of a group, and all groups over the same goals, draw from generators in the same state. The second request for
    the same counts stores them (only the latest set, at most 16 MB); later requests copy them. The counts, and the state of
    the generator afterwards, are the same with and without the cache.

    Parameters
    ----------
    rng
        Generator over a bit generator of 64 bits.
    resamples, clusters
        Total rows, and columns.
    rows, together
        Rows per draw (the random numbers depend on it), and the number of draws that make one yielded block.
    dtype
        Floating dtype of the yielded counts.

    Examples
    --------
    >>> [len(block) for block in blocks(np.random.default_rng(0), 5, 50, rows=2)]
    [2, 2, 1]
    """
    global _asked, _kept  # noqa: PLW0603  # a race between threads costs a second draw, nothing else
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
    recording = np.empty((resamples, clusters), np.uint8) if repeated and resamples * clusters <= _MOST else None
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
