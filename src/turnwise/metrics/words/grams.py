"""Which n-grams of words stand in each text?"""

import numpy as np
import polars as pl

from turnwise.metrics.blanks import OTHER_BLANKS
from turnwise.metrics.words.blocks import (
    OTHER,
    Block,
    Numbers,
    Places,
    between_spaces,
    beyond_bytes,
    block_of,
    in_blocks,
    lower,
)
from turnwise.metrics.words.numbers import folded, numbers, readable


def grams(texts: pl.Series, n: int) -> pl.Series:
    """The n-grams of the words of each list of texts as numbers, in order (List(UInt64)); none where there is no text.

    Words are lower-cased and stand between white space, as `str.split` cuts; no n-gram reaches into the next text.

    Examples
    --------
    >>> found = grams(pl.Series([["To be or not", None, "not to be"], []]), 2)
    >>> found.list.len().to_list(), found.list.n_unique().to_list()
    ([5, 0], [4, 0])
    """
    import pyarrow as pa

    every = texts.explode(empty_as_null=False, keep_nulls=False).fill_null("")
    found, counts = zip(*in_blocks(lambda block: _in_a_row(*_words(block), n), _plain, every), strict=True)
    values, ends = np.concatenate(found), np.cumsum(np.concatenate([[0], *counts]))
    ends = ends[np.cumsum(np.concatenate([[0], texts.list.len().fill_null(0).to_numpy()]), dtype=np.int64)]
    numbers = pa.Array.from_buffers(pa.uint64(), len(values), [None, pa.py_buffer(values)])  # `pa.array` loads pandas
    kind = pa.large_list(pa.uint64())
    lists = pa.Array.from_buffers(kind, len(texts), [None, pa.py_buffer(ends)], children=[numbers])
    return pl.Series(texts.name, lists)


def _plain(texts: pl.Series) -> Block:
    """The texts, what bytes do not tell written in small letters and spaces."""
    block = block_of(texts)
    odd = beyond_bytes(texts, block, OTHER)
    if odd.size == 0:
        return block
    plain = texts.gather(odd).str.to_lowercase().str.replace_all(f"[{OTHER_BLANKS}]", " ")
    return block_of(texts.scatter(odd, plain))


def _words(block: Block) -> tuple[Numbers, Places]:
    """The words of some texts as numbers, and before which of them each text ends; where the first begins stands first."""
    low = lower(block.text)
    starts, sizes = between_spaces(low)
    reached = np.searchsorted(starts, block.begins)
    if not sizes.all():
        some = np.flatnonzero(sizes)
        reached = np.searchsorted(some, reached)
        starts, sizes = starts[some], sizes[some]
    return numbers(readable(low), starts, sizes), reached


def _in_a_row(words: Numbers, ends: Places, n: int) -> tuple[Numbers, Places]:
    """The n-grams of some texts, and how many are in each."""
    found, counts = words, np.diff(ends)
    for follow in range(1, n):
        found = folded(found[:-1], words[follow:])
    if n == 1:
        return found, counts
    whole = np.ones(len(found), dtype=bool)
    for before in range(1, n):  # those that begin with one of the last words of a text
        begun = ends[1:] - before
        whole[begun[(begun >= 0) & (begun < len(found))]] = False
    return found[whole], np.maximum(counts - (n - 1), 0)
