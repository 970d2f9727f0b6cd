"""Which n-grams of words stand in each text?

A word of eight bytes or fewer is its bytes as a number; a longer one, and words in a row, are folded into 64 bits by
products and shifts, each of which can be undone: what differs in one part alone never gets the same number, and what
differs in several does by a chance of 2⁻⁶⁴, some 3e-8 for any two of a million different n-grams.
"""

from hashlib import blake2b

import numpy as np
import polars as pl

from turnwise.blanks import BLANK
from turnwise.words.blocks import (
    LIMB,
    Bytes,
    Column,
    Numbers,
    Places,
    between_spaces,
    beyond_ascii,
    column_of,
    in_blocks,
    limb,
    lower,
    parts,
)

LONG = 16 * LIMB  # bytes of a word from which on a hash of the whole is cheaper
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93], dtype=np.uint64)  # odd, with bits everywhere
_SHIFTS = np.array([32, 29], dtype=np.uint64)


def grams(texts: pl.Series, n: int) -> pl.Series:
    """The n-grams of the words of each text as numbers, in order (List(UInt64)); none where there is no text.

    Words are lower-cased and stand between white space, as `str.split` cuts; no n-gram reaches into the next text.

    Examples
    --------
    >>> found = grams(pl.Series(["To be or not to be", None]), 2)
    >>> found.list.len().to_list(), found.list.n_unique().to_list()
    ([5, 0], [4, 0])
    """
    import pyarrow as pa

    blocks = [block for (part,) in parts(texts.fill_null("")) for block in _of_part(part, n)]
    found, counts = zip(*blocks, strict=True)
    values, ends = np.concatenate(found), np.cumsum(np.concatenate([[0], *counts]))
    numbers = pa.Array.from_buffers(pa.uint64(), len(values), [None, pa.py_buffer(values)])  # `pa.array` loads pandas
    kind = pa.large_list(pa.uint64())
    lists = pa.Array.from_buffers(kind, len(texts), [None, pa.py_buffer(ends)], children=[numbers])
    return pl.Series(texts.name, lists)


def _of_part(texts: pl.Series, n: int) -> list[tuple[Numbers, Places]]:
    def of(rows: slice) -> tuple[Numbers, Places]:
        words, ends = _words(column, rows)
        return _in_a_row(words, ends, n)

    odd = beyond_ascii(texts)
    if odd.size:
        plain = texts.gather(odd).str.to_lowercase().str.replace_all(f"[{BLANK}]", " ")
        texts = texts.scatter(odd, plain)
    column = column_of(texts)
    return in_blocks(of, [column])


def _words(column: Column, rows: slice) -> tuple[Numbers, Places]:
    """The words of some texts as numbers, and before which of them each text ends; where the first begins stands first."""
    text, begins = column.block(rows)
    text, starts, ends = between_spaces(lower(text))
    reached = np.searchsorted(ends, begins)
    if (starts == ends).any():
        some = np.flatnonzero(starts < ends)
        reached = np.searchsorted(some, reached)
        starts, ends = starts[some], ends[some]
    return _numbers(text, starts, ends), reached


def _numbers(text: Bytes, starts: Places, ends: Places) -> Numbers:
    """What stands between two places as a number."""
    found = limb(text, starts, ends)
    sizes = ends - starts
    for place in np.flatnonzero(sizes > LONG).tolist():
        word = text[starts[place] : ends[place]].tobytes()
        found[place] = int.from_bytes(blake2b(word, digest_size=LIMB).digest(), "little")
    more, at = np.flatnonzero((sizes > LIMB) & (sizes <= LONG)), LIMB
    while more.size:
        found[more] = _folded(found[more], limb(text, starts[more] + at, ends[more]))
        at += LIMB
        more = more[sizes[more] > at]
    return found


def _folded(number: Numbers, other: Numbers) -> Numbers:
    """A number for two in this order."""
    found: Numbers = number * _FACTORS[0]
    found ^= found >> _SHIFTS[0]
    found += other
    found *= _FACTORS[1]
    found ^= found >> _SHIFTS[1]
    return found


def _in_a_row(words: Numbers, ends: Places, n: int) -> tuple[Numbers, Places]:
    """The n-grams of some texts, and how many are in each."""
    found, counts = words, np.diff(ends)
    for follow in range(1, n):
        found = _folded(found[:-1], words[follow:])
    if n == 1:
        return found, counts
    whole = np.ones(len(found), dtype=bool)
    for before in range(1, n):  # those that begin with one of the last words of a text
        begun = ends[1:] - before
        whole[begun[(begun >= 0) & (begun < len(found))]] = False
    return found[whole], np.maximum(counts - (n - 1), 0)
