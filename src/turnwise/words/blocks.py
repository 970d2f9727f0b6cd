"""What bytes are the texts of a column, some at a time?

A column becomes one row of bytes, a space behind each text, and is cut in blocks that stay in the processor's cache.
Capitals, blanks and punctuation of ASCII are found by arithmetic on bytes; a text with anything else is rewritten by
Polars, to the same rules. What is found in a text never depends on the texts beside it.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint64]
Found = TypeVar("Found")

PART = 1 << 28  # bytes of text that are joined: Polars holds 2³² in one piece
BLOCK = 1 << 19  # bytes of text: of fewer, threads wait for each other; what is made of more falls out of the cache
SPACE, DIGIT, UPPER, UNDERSCORE, LOWER, DELETE = np.array([32, 48, 65, 95, 97, 127], dtype=np.uint8)
BLANKS = np.isin(np.arange(256), [*range(9, 14), *range(28, 33)])


@dataclass(frozen=True, slots=True)
class Column:
    """The bytes of texts, a space behind each, and where each text begins."""

    joined: Bytes
    begins: Places

    def block(self, rows: slice) -> tuple[Bytes, Places]:
        """The bytes of some texts, and where in them each begins."""
        begins = self.begins[rows.start : rows.stop + 1]
        return self.joined[begins[0] : begins[-1]], begins - begins[0]


def parts(*columns: pl.Series) -> Iterator[tuple[pl.Series, ...]]:
    """Some rows at a time, of texts without nulls; all at once where they are few."""
    sizes = np.add.reduce([texts.str.len_bytes().to_numpy() + np.int64(1) for texts in columns])
    if sizes.sum() < PART:
        yield columns
        return
    reached = np.cumsum(sizes) // PART
    bounds = [0, *(np.flatnonzero(np.diff(reached)) + 1).tolist(), len(reached)]
    for start, end in pairwise(bounds):
        yield tuple(texts[start:end] for texts in columns)


def column_of(texts: pl.Series) -> Column:
    """Texts without nulls, ready to be cut."""
    begins = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(texts.str.len_bytes().to_numpy() + np.int64(1), out=begins[1:])
    together = texts.extend_constant("", 1).str.join(" ").cast(pl.Binary).item()
    return Column(np.frombuffer(together, dtype=np.uint8), begins)


def beyond_ascii(texts: pl.Series, column: Column) -> Places:
    """Which texts hold more than ASCII."""
    if column.joined.max(initial=0) <= DELETE:
        return np.empty(0, dtype=np.int64)
    return (texts.str.len_bytes() != texts.str.len_chars()).arg_true().cast(pl.Int64).to_numpy()


def in_blocks(work: Callable[[slice], Found], columns: Sequence[Column]) -> list[Found]:
    """What is found in each block of rows, on as many threads as Polars takes.

    The work is NumPy's alone: a thread that asked Polars could wait for the very threads that wait for it.
    """
    reached = np.add.reduce([column.begins for column in columns]) // (BLOCK * len(columns))
    bounds = [0, *(np.flatnonzero(np.diff(reached[:-1])) + 1).tolist(), len(reached) - 1]
    rows = [slice(*pair) for pair in pairwise(bounds)]
    if len(rows) == 1:
        return [work(rows[0])]
    with ThreadPoolExecutor(min(len(rows), pl.thread_pool_size())) as threads:
        return list(threads.map(work, rows))


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
    sizes = np.diff(ends, prepend=-1)
    sizes -= 1
    return ends - sizes, sizes
