"""Which words of SQuAD have two texts in common?

A word is its bytes read as little-endian integers, filled up with the byte 255, which no UTF-8 text holds: two of these
are equal where the words are, and only there. Where a hash says where to look, the words themselves are compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from turnwise.blanks import BLANK
from turnwise.words.blocks import (
    BLANKS,
    DELETE,
    DIGIT,
    LIMB,
    LOWER,
    SPACE,
    Bytes,
    Column,
    Flags,
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

_PUNCTUATION, _ARTICLE = r"[!-/:-@\[-`{-~]", r"\b(?:a|an|the)\b"
_NO_TEXT = np.uint64(0xFE << 56)  # a byte that UTF-8 does not hold, and no word is filled up with
_ARTICLES = [int.from_bytes(word.ljust(LIMB, b"\xff"), "little") for word in (b"a", b"an", b"the")]


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of some texts.

    Attributes
    ----------
    text
        The bytes they stand in.
    starts, ends
        Where each begins and ends.
    first
        The first eight bytes of each.
    text_of
        Which text it stands in; that of a word that does not count is the number of texts.
    """

    text: Bytes
    starts: Places
    ends: Places
    first: Numbers
    text_of: Places

    def chosen(self, which: Places) -> "_Words":
        return _Words(self.text, self.starts[which], self.ends[which], self.first[which], self.text_of[which])


def _squad_column(texts: pl.Series) -> Column:
    """The texts, what bytes do not tell written as SQuAD compares it."""
    column = column_of(texts)
    odd = beyond_ascii(texts)
    control = np.flatnonzero((column.joined < SPACE) | (column.joined == DELETE))
    control = control[~BLANKS[column.joined[control]]]  # beside these an article is a word of its own
    if control.size:
        odd = np.union1d(odd, np.searchsorted(column.begins, control, side="right") - 1)
    if odd.size == 0:
        return column
    plain = texts.gather(odd).str.to_lowercase().str.replace_all(_PUNCTUATION, "")
    plain = plain.str.replace_all(f"[{BLANK}]", " ").str.replace_all(_ARTICLE, " ")
    return column_of(texts.scatter(odd, plain))


def _cut(column: Column, rows: slice) -> _Words:
    """The words of some texts, in lower case and without ASCII punctuation; articles do not count."""
    text, begins = column.block(rows)
    low = lower(text)
    stays = (low - LOWER < 26) | (low - DIGIT < 10) | (low <= SPACE) | (low >= DELETE)
    begins = begins - np.searchsorted(np.flatnonzero(~stays), begins)
    text, starts, ends = between_spaces(low[stays])
    words = np.diff(np.searchsorted(ends, begins))  # of each text, where none follows a second blank
    text_of = np.repeat(np.arange(len(words)), words)
    if (starts == ends).any():
        some = np.flatnonzero(starts < ends)
        starts, ends, text_of = starts[some], ends[some], text_of[some]
    first = limb(text, starts, ends)
    text_of[(first == _ARTICLES[0]) | (first == _ARTICLES[1]) | (first == _ARTICLES[2])] = len(words)
    return _Words(text, starts, ends, first, text_of)


def same_words(ours: pl.Series, theirs: pl.Series) -> pl.Series:
    """Whether two texts have the same words of SQuAD in the same order (Boolean); no text may be null."""
    return pl.Series(np.concatenate([_same(*part) for part in parts(ours, theirs)]), dtype=pl.Boolean)


def _same(ours: pl.Series, theirs: pl.Series) -> Flags:
    def of(rows: slice) -> Flags:
        total = rows.stop - rows.start
        sides = [_cut(column, rows) for column in columns]
        counts = [np.bincount(words.text_of, minlength=total + 1) for words in sides]
        alike = counts[0] == counts[1]
        alike[total] = False  # words that do not count
        own, other = (words.chosen(np.flatnonzero(alike[words.text_of])) for words in sides)
        left, right = _numbered(own, other)
        alike[own.text_of[left != right]] = False
        found: Flags = alike[:total]
        return found

    columns = [_squad_column(texts) for texts in (ours, theirs)]
    return np.concatenate(in_blocks(of, columns))


def shared_words(ours: pl.Series, theirs: pl.Series, *, distinct: bool = False) -> pl.DataFrame:
    """The words of SQuAD that two texts share and all that they have (columns `shared` and `all`); no text may be null.

    A word counts as often as it stands, in `shared` as often as in both; with ``distinct=True`` once.
    """
    shared, times = np.concatenate([_shared(*part, distinct=distinct) for part in parts(ours, theirs)], axis=1)
    return pl.DataFrame({"shared": shared, "all": times})


def _shared(ours: pl.Series, theirs: pl.Series, *, distinct: bool) -> Places:
    def of(rows: slice) -> Places:
        total = rows.stop - rows.start
        own, other = (_cut(column, rows) for column in columns)
        text_of = np.concatenate([own.text_of, other.text_of])
        left, right = (np.bincount(side, minlength=len(text_of)) for side in _numbered(own, other, apart=True))
        in_both = np.minimum(left, right)
        both = np.flatnonzero(in_both)
        shared = np.bincount(text_of[both], weights=None if distinct else in_both[both], minlength=total + 1)
        every = np.bincount(text_of[np.flatnonzero(left + right)] if distinct else text_of, minlength=total + 1)
        return np.stack([shared[:total], every[:total]])

    columns = [_squad_column(texts) for texts in (ours, theirs)]
    return np.concatenate(in_blocks(of, columns), axis=1)


def _numbered(own: _Words, other: _Words, *, apart: bool = False) -> tuple[Places, Places]:
    """For each word the place of one that is the same, counted through both; with ``apart=True`` of the same text."""
    first = np.concatenate([own.first, other.first])
    texts = [np.concatenate([own.text_of, other.text_of]).view(np.uint64)] if apart else []
    beyond, second, third = [], [], []
    known: dict[bytes, int] = {}
    for words, before in ((own, 0), (other, len(own.first))):
        which = np.flatnonzero(words.ends - words.starts > LIMB)
        starts, ends = words.starts[which], words.ends[which]
        rest = np.zeros(len(which), dtype=np.uint64)
        for place in np.flatnonzero(ends - starts > 2 * LIMB).tolist():
            word = words.text[starts[place] : ends[place]].tobytes()
            rest[place] = known.setdefault(word, len(known) + 1)
        beyond.append(which + before)
        second.append(limb(words.text, starts + LIMB, ends))
        third.append(rest)
    which = np.concatenate(beyond)
    limbs = [first[which], np.concatenate(second), np.concatenate(third), *(text_of[which] for text_of in texts)]
    first[which] = which.view(np.uint64) | _NO_TEXT  # so that no short word takes a longer one for its like
    numbers = _first_alike([first, *texts])
    numbers[which] = which[_first_alike(limbs)]
    return numbers[: len(own.first)], numbers[len(own.first) :]


def _first_alike(limbs: Sequence[Numbers]) -> Places:
    """For each item the place of one that has the same limbs, the same for all that have.

    All write their place into a table, at the slot that a product of their limbs chooses. Who then finds there another
    than its like tries again with other factors.
    """
    count = len(limbs[0])
    bits = max(count, 2).bit_length()
    table = np.empty(1 << bits, dtype=np.int64)
    found = rest = np.arange(count)
    rng = np.random.default_rng()
    while rest.size:
        items = [limb[rest] for limb in limbs] if rest.size < count else limbs
        factors = rng.integers(2**63, size=len(limbs), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        slot = items[0] * factors[0]
        for item, factor in zip(items[1:], factors[1:], strict=True):
            slot += item * factor
        slot >>= np.uint64(64 - bits)
        table[slot.view(np.int64)] = rest
        mark = table[slot.view(np.int64)]
        differs = limbs[0][mark] != items[0]
        for others, item in zip(limbs[1:], items[1:], strict=True):
            differs |= others[mark] != item
        if rest.size == count:
            found = mark
        else:
            found[rest] = mark
        rest = rest[differs]
    return found
