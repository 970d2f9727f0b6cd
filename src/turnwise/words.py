"""Which words stand in each text, as numbers that are equal where the words are?

A column becomes one row of bytes, a space behind each text, and is cut in blocks that stay in the processor's cache.
Capitals, blanks and punctuation of ASCII are found by arithmetic on bytes; a text with anything else is rewritten by
Polars, to the same rules. What is found in a text never depends on the texts beside it.

A word is its bytes read as little-endian integers, filled up with the byte 255, which no UTF-8 text holds: two of these
are equal where the words are, and only there. Where a hash says where to look, the words themselves are compared.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from turnwise.blanks import BLANK

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint64]
Found = TypeVar("Found")

_PART = 1 << 28  # bytes of text that are joined: Polars holds 2³² in one piece
_BLOCK = 1 << 18  # bytes of text: what is made of them stays in the cache
_LIMB = 8  # bytes of a number
_ALL = 2**64 - 1
_SPACE, _DIGIT, _UPPER, _UNDERSCORE, _LOWER, _DELETE = np.array([32, 48, 65, 95, 97, 127], dtype=np.uint8)
_PUNCTUATION, _ARTICLE = r"[!-/:-@\[-`{-~]", r"\b(?:a|an|the)\b"
_ARTICLES = [int.from_bytes(word.ljust(_LIMB, b"\xff"), "little") for word in (b"a", b"an", b"the")]
_BLANKS = np.isin(np.arange(256), [*range(9, 14), *range(28, 33)])
_FILLED = np.array([_ALL << 8 * n & _ALL for n in range(_LIMB + 1)], dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class _Column:
    """The bytes of texts, a space behind each, and where each text begins."""

    joined: Bytes
    begins: Places

    def block(self, rows: slice) -> tuple[Bytes, Places]:
        begins = self.begins[rows.start : rows.stop + 1]
        return self.joined[begins[0] : begins[-1]], begins - begins[0]


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


# ── from texts to words ───────────────────────────────────────────────────────────────────────────────────────────────
def _parts(*columns: pl.Series) -> Iterator[tuple[pl.Series, ...]]:
    """Some rows at a time, of texts without nulls; all at once where they are few."""
    sizes = sum(texts.str.len_bytes().to_numpy().astype(np.int64) + 1 for texts in columns)
    reached = np.cumsum(sizes) // _PART
    bounds = [0, *(np.flatnonzero(np.diff(reached)) + 1).tolist(), len(reached)]
    for start, end in pairwise(bounds):
        yield tuple(texts[start:end] for texts in columns)


def _column(texts: pl.Series) -> _Column:
    """Texts without nulls, ready to be cut."""
    begins = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(texts.str.len_bytes().to_numpy() + np.int64(1), out=begins[1:])
    together = texts.extend_constant("", 1).str.join(" ").cast(pl.Binary).item()
    return _Column(np.frombuffer(together, dtype=np.uint8), begins)


def _squad_column(texts: pl.Series) -> _Column:
    """The same, what bytes do not tell written as SQuAD compares it."""
    column = _column(texts)
    odd = _beyond_ascii(texts)
    control = np.flatnonzero((column.joined < _SPACE) | (column.joined == _DELETE))
    control = control[~_BLANKS[column.joined[control]]]  # beside these an article is a word of its own
    if control.size:
        odd = np.union1d(odd, np.searchsorted(column.begins, control, side="right") - 1)
    if odd.size == 0:
        return column
    plain = texts.gather(odd).str.to_lowercase().str.replace_all(_PUNCTUATION, "")
    plain = plain.str.replace_all(f"[{BLANK}]", " ").str.replace_all(_ARTICLE, " ")
    return _column(texts.scatter(odd, plain))


def _beyond_ascii(texts: pl.Series) -> Places:
    """Which texts hold more than ASCII."""
    return (texts.str.len_bytes() != texts.str.len_chars()).arg_true().cast(pl.Int64).to_numpy()


def _in_blocks(work: Callable[[slice], Found], columns: Sequence[_Column]) -> list[Found]:
    """What is found in each block of rows, on as many threads as Polars takes.

    The work is NumPy's alone: a thread that asked Polars could wait for the very threads that wait for it.
    """
    reached = np.add.reduce([column.begins for column in columns]) // (_BLOCK * len(columns))
    bounds = [0, *(np.flatnonzero(np.diff(reached[:-1])) + 1).tolist(), len(reached) - 1]
    rows = [slice(*pair) for pair in pairwise(bounds)]
    if len(rows) == 1:
        return [work(rows[0])]
    with ThreadPoolExecutor(min(len(rows), pl.thread_pool_size())) as threads:
        return list(threads.map(work, rows))


def _lower(text: Bytes) -> Bytes:
    capital = (text - _UPPER < 26).view(np.uint8)
    capital <<= np.uint8(5)
    low: Bytes = np.bitwise_or(text, capital, out=capital)
    control = np.flatnonzero(low < _SPACE)
    low[control[_BLANKS[low[control]]]] = _SPACE
    return low


def _cut(column: _Column, rows: slice) -> _Words:
    """The words of some texts, in lower case and without ASCII punctuation; articles do not count."""
    text, begins = column.block(rows)
    low = _lower(text)
    stays = (low - _LOWER < 26) | (low - _DIGIT < 10) | (low <= _SPACE) | (low >= _DELETE)
    begins = begins - np.searchsorted(np.flatnonzero(~stays), begins)
    low = low[stays]
    text = np.concatenate([low, np.full(_LIMB, _SPACE)])  # so that eight bytes can be read from every place
    ends = np.flatnonzero(low == _SPACE)
    starts = np.empty_like(ends)
    starts[:1], starts[1:] = 0, ends[:-1] + 1
    words = np.diff(np.searchsorted(ends, begins))  # of each text, where none follows a second blank
    text_of = np.repeat(np.arange(len(words)), words)
    if (starts == ends).any():
        some = np.flatnonzero(starts < ends)
        starts, ends, text_of = starts[some], ends[some], text_of[some]
    first = _limb(text, starts, ends)
    text_of[(first == _ARTICLES[0]) | (first == _ARTICLES[1]) | (first == _ARTICLES[2])] = len(words)
    return _Words(text, starts, ends, first, text_of)


def _limb(text: Bytes, starts: Places, ends: Places) -> Numbers:
    """The first eight bytes of what stands between two places, as one number."""
    eights = np.ndarray(len(text) - _LIMB + 1, np.dtype("<u8"), text, strides=(1,))  # one begins at each place
    found: Numbers = eights[starts]
    found |= _FILLED[np.minimum(ends - starts, _LIMB)]
    return found


# ── one column of texts ───────────────────────────────────────────────────────────────────────────────────────────────
def word_count(texts: pl.Series) -> pl.Series:
    r"""How often the pattern `\w+` matches, Unicode's letters, marks and digits (UInt32); null where the text is."""
    known = texts.cast(pl.String).fill_null("") if texts.dtype == pl.Null else texts.fill_null("")
    found = pl.Series(np.concatenate([_counts(part) for (part,) in _parts(known)]), dtype=pl.UInt32)
    return found.set(texts.is_null(), None) if texts.null_count() else found


def _counts(texts: pl.Series) -> Places:
    def of(rows: slice) -> Places:
        text, begins = column.block(rows)
        inside = np.zeros(len(text) + 1, dtype=bool)
        small = text | _SPACE  # a capital differs from its small letter by the bit of a space
        np.bitwise_or((small - _LOWER < 26) | (text - _DIGIT < 10), text == _UNDERSCORE, out=inside[1:])
        return np.diff(np.searchsorted(np.flatnonzero(inside[1:] > inside[:-1]), begins))

    column, odd = _column(texts), _beyond_ascii(texts)
    counts = np.concatenate(_in_blocks(of, [column]))
    if odd.size:
        counts[odd] = texts.gather(odd).str.count_matches(r"\w+").to_numpy()
    return counts


# ── two columns of texts ──────────────────────────────────────────────────────────────────────────────────────────────
def same_words(ours: pl.Series, theirs: pl.Series) -> pl.Series:
    """Whether two texts have the same words of SQuAD in the same order (Boolean); no text may be null."""
    return pl.Series(np.concatenate([_same(*part) for part in _parts(ours, theirs)]), dtype=pl.Boolean)


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
    return np.concatenate(_in_blocks(of, columns))


def shared_words(ours: pl.Series, theirs: pl.Series, *, distinct: bool = False) -> pl.DataFrame:
    """The words of SQuAD that two texts share and all that they have (columns `shared` and `all`); no text may be null.

    A word counts as often as it stands, in `shared` as often as in both; with ``distinct=True`` once.
    """
    shared, times = np.concatenate([_shared(*part, distinct=distinct) for part in _parts(ours, theirs)], axis=1)
    return pl.DataFrame({"shared": shared, "all": times})


def _shared(ours: pl.Series, theirs: pl.Series, *, distinct: bool) -> Places:
    def of(rows: slice) -> Places:
        total = rows.stop - rows.start
        own, other = (_cut(column, rows) for column in columns)
        left, right = _numbered(own, other)
        found = np.concatenate([own.text_of << 32 | left << 1, other.text_of << 32 | right << 1 | 1])
        found.sort()  # by text, then by word, then by side
        begins = np.flatnonzero(np.diff(found, prepend=-1))
        one_side, times = found[begins], np.diff(begins, append=len(found))
        both = np.flatnonzero((one_side[1:] ^ one_side[:-1]) == 1)  # they differ by the side alone
        shared = np.bincount(
            one_side[both] >> 32,
            weights=None if distinct else np.minimum(times[both], times[both + 1]),
            minlength=total + 1,
        )
        if distinct:
            every = np.bincount(one_side >> 32, minlength=total + 1) - shared
        else:
            every = np.bincount(np.concatenate([own.text_of, other.text_of]), minlength=total + 1)
        return np.stack([shared[:total], every[:total]])

    columns = [_squad_column(texts) for texts in (ours, theirs)]
    return np.concatenate(_in_blocks(of, columns), axis=1)


def _numbered(own: _Words, other: _Words) -> tuple[Places, Places]:
    """A number below 2^31 for each word, the same where the words are the same."""
    first = np.concatenate([own.first, other.first])
    numbers = _first_alike([first])
    beyond, second, third = [], [], []
    known: dict[bytes, int] = {}
    for words, before in ((own, 0), (other, len(own.first))):
        which = np.flatnonzero(words.ends - words.starts > _LIMB)
        starts, ends = words.starts[which], words.ends[which]
        rest = np.zeros(len(which), dtype=np.uint64)
        for place in np.flatnonzero(ends - starts > 2 * _LIMB).tolist():
            word = words.text[starts[place] : ends[place]].tobytes()
            rest[place] = known.setdefault(word, len(known) + 1)
        beyond.append(which + before)
        second.append(_limb(words.text, starts + _LIMB, ends))
        third.append(rest)
    which = np.concatenate(beyond)
    numbers[which] = len(first) + _first_alike([first[which], np.concatenate(second), np.concatenate(third)])
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
        for limb, item in zip(limbs[1:], items[1:], strict=True):
            differs |= limb[mark] != item
        if rest.size == count:
            found = mark
        else:
            found[rest] = mark
        rest = rest[differs]
    return found
