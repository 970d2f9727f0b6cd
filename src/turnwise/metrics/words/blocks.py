"""What bytes are the texts of a column, some at a time?

Some rows become one row of bytes, a space behind each text: a block that stays in the processor's cache. Capitals, blanks
and punctuation of ASCII are found by arithmetic on bytes; a text with others is rewritten by Polars, to the same rules, and
other letters stay as they are. What is found in a text never depends on the texts beside it.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from turnwise.metrics.blanks import OTHER_BLANKS

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint64]
Found = TypeVar("Found")

BLOCK = 1 << 19  # bytes of text: of fewer, threads wait for each other; what is made of more falls out of the cache
AHEAD = 16  # blocks for each thread, that are cut before any is looked at: who cuts does not wait for who looks
SPACE, DIGIT, UPPER, UNDERSCORE, LOWER, DELETE = np.array([32, 48, 65, 95, 97, 127], dtype=np.uint8)
# capitals and blanks beyond ASCII; a letter that Polars' patterns do not know yet is unassigned to them, and may be one
OTHER = rf"[\p{{Changes_When_Lowercased}}\p{{Cn}}{OTHER_BLANKS}--[A-Z]]"
BLANKS = np.isin(np.arange(256), [*range(9, 14), *range(28, 33)])


@dataclass(frozen=True, slots=True)
class Block:
    """The bytes of some texts, a space behind each, and where each text begins; where the last one ends stands last."""

    text: Bytes
    begins: Places


def block_of(texts: pl.Series) -> Block:
    """Texts without nulls as bytes."""
    begins = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(texts.str.len_bytes().to_numpy() + np.int64(1), out=begins[1:])
    together = texts.str.join(" ").cast(pl.Binary).item() + b" "[: len(texts)]
    return Block(np.frombuffer(together, dtype=np.uint8), begins)


def beyond_bytes(texts: pl.Series, block: Block, pattern: str) -> Places:
    """Which texts hold more than ASCII, and in it what bytes do not tell."""
    if block.text.max(initial=0) <= DELETE:
        return np.empty(0, dtype=np.int64)
    other = (texts.str.len_bytes() != texts.str.len_chars()).arg_true()
    return other.filter(texts.gather(other).str.contains(pattern)).cast(pl.Int64).to_numpy()


def in_blocks(work: Callable[..., Found], cut: Callable[[pl.Series], object], *columns: pl.Series) -> list[Found]:
    """What is found in each block of rows, on as many threads as Polars takes; of no rows in a block without texts.

    A column is cut here, by Polars, some blocks and then the next ones, so that few are held. The work is NumPy's alone: a
    thread that asked Polars could wait for the very threads that wait for it.
    """
    sizes = np.add.reduce([texts.str.len_bytes().to_numpy() + np.int64(1) for texts in columns])
    reached = (np.cumsum(sizes) - sizes) // (BLOCK * len(columns))
    bounds = [0, *(np.flatnonzero(np.diff(reached)) + 1).tolist(), len(reached)]
    blocks = (tuple(cut(texts.slice(start, end - start)) for texts in columns) for start, end in pairwise(bounds))
    if len(bounds) == 2:
        return [work(*next(blocks))]

    def each(some: list[tuple[object, ...]]) -> list[Found]:
        return [work(*block) for block in some]

    workers, found = pl.thread_pool_size(), list[Found]()
    with ThreadPoolExecutor(workers) as threads:
        while some := list(islice(blocks, AHEAD * workers)):
            share = -(-len(some) // workers)
            first, *others = (some[start : start + share] for start in range(0, len(some), share))
            elsewhere = threads.map(each, others)  # one call for each thread: to hand over block by block takes longer
            found += each(first)
            found += chain.from_iterable(elsewhere)
    return found


def lower(text: Bytes) -> Bytes:
    """The same bytes, capitals of ASCII as small letters and its blanks as spaces."""
    capital = (text - UPPER < 26).view(np.uint8)
    capital *= SPACE  # the bit by which they differ; a shift of bytes takes NumPy ten times as long
    low: Bytes = np.bitwise_or(text, capital, out=capital)
    control = np.flatnonzero(low < SPACE)
    low[control[BLANKS[low[control]]]] = SPACE
    return low


def between_spaces(low: Bytes) -> tuple[Places, Places]:
    """Where each piece before a space begins, and how long it is."""
    ends = np.flatnonzero(low == SPACE)
    starts = np.zeros_like(ends)
    np.add(ends[:-1], 1, out=starts[1:])
    return starts, ends - starts
