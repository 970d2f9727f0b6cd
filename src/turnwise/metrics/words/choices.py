"""Which texts are the same choice, but for case and blanks around them?

Polars keeps a text as 16 bytes: how long it is, its first four bytes, and then either the rest or where that stands. A letter,
such as `B` or `c `, is looked up by them. Other texts mostly differ in a letter among these four, and are not read; a choice
such as `(c)` or `yes` is all there. What this leaves open is read, the same choices and long texts that begin alike.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from turnwise.metrics.blanks import ASCII_BLANKS, BLANKS
from turnwise.metrics.words.blocks import DELETE, LOWER, SPACE, Numbers, Places

if TYPE_CHECKING:
    import pyarrow as pa

_CACHED = 1 << 22  # bytes of text compared in one go: the capitals of more fall out of the processor's cache
_HEAD = 4  # bytes of a text beside its length
_LETTER, _UNKNOWN = 2, 0xFFFF  # bytes of a text that is looked up, and what is found where it is none of ASCII

Flags = npt.NDArray[np.bool_]
Heads = npt.NDArray[np.uint32]
BYTE, CASES, BEYOND_ASCII = np.array([8, 0x20202020, 0x80808080], dtype=np.uint32)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Texts as Polars keeps them: 16 bytes each, (n, 4), and what these refer to."""

    each: Heads
    others: "list[pa.Buffer]"

    @staticmethod
    def of(texts: pl.Series) -> "_Kept":
        array = texts.to_arrow(compat_level=pl.CompatLevel.newest())
        _, each, *others = array.buffers()
        begin, end = array.offset, array.offset + len(array)
        return _Kept(np.frombuffer(each or b"", "<u4").reshape(-1, 4)[begin:end], others)

    @property
    def sizes(self) -> Heads:
        """How many bytes each has."""
        return self.each[:, 0]

    @property
    def heads(self) -> Heads:
        """The first four bytes of each, zeros behind a shorter one."""
        return self.each[:, 1].copy()

    def take(self, rows: Places) -> "_Kept":
        return _Kept(self.each.take(rows, axis=0), self.others)

    def texts(self) -> pl.Series:
        import pyarrow as pa

        buffers = [None, pa.py_buffer(self.each), *self.others]
        return pl.Series(pa.Array.from_buffers(pa.string_view(), len(self.each), buffers))


def same_choice(ours: pl.Series, theirs: pl.Series) -> pl.Series:
    """Whether two texts are alike in capitals and without blanks around them: Boolean, of String without nulls.

    Examples
    --------
    >>> same_choice(pl.Series(["a", "b ", "ß"]), pl.Series(["A", "C", "SS"])).to_list()
    [True, False, True]
    """
    sides = _Kept.of(ours), _Kept.of(theirs)
    if (known := _letters(*sides)) is not None:
        return pl.Series(known)
    rows = _undecided(*(side.heads for side in sides))
    found = np.zeros(len(ours), dtype=bool)
    found[rows] = _same(*(side.take(rows) for side in sides))
    return pl.Series(found)


def _undecided(left: Heads, right: Heads) -> Places:
    """Where the first four bytes of two texts do not tell them apart.

    They do where one of them differs by more than case, and all up to it are visible ASCII in both.
    """
    odd = _odd(left) | _odd(right)
    apart = (left | CASES) ^ (right | CASES)
    before = apart ^ (apart - 1)  # the lowest bit that differs, and all below
    return np.flatnonzero((apart == 0) | (before & odd.view(np.uint32) != 0))


def _odd(heads: Heads) -> Flags:
    """Whether each byte is no visible ASCII."""
    visible = SPACE + np.uint8(1)
    odd: Flags = heads.view(np.uint8) - visible >= DELETE - visible
    return odd


def _letters(ours: _Kept, theirs: _Kept) -> Flags | None:
    """Whether texts of at most two bytes are the same choice; None where one is longer, or more than ASCII."""
    if any(side.sizes.max(initial=0) > _LETTER for side in (ours, theirs)):
        return None
    left, right = (_letter().take(side.heads + (side.sizes << 16)) for side in (ours, theirs))
    return None if _UNKNOWN in (left.max(initial=0), right.max(initial=0)) else left == right


@cache
def _letter() -> npt.NDArray[np.uint16]:
    """What is left of each text of no, one and two bytes, one such list after the other."""
    texts = np.arange(1 << 16, dtype=np.uint32)
    short = texts < 1 << 8
    found = []
    for size, there in enumerate((texts == 0, short & (texts > 0), ~short & (texts % (1 << 8) > 0))):
        left = _bare(texts, np.full_like(texts, size)) >> np.uint64(32)
        found.append(np.where(there & (texts & BEYOND_ASCII == 0), left, _UNKNOWN))  # a byte of zero is no letter
    return np.concatenate(found).astype(np.uint16)


def _bare(heads: Heads, sizes: Heads) -> Numbers:
    """Texts of at most four bytes of ASCII in capitals, without the blanks around them, and their lengths, as numbers."""
    text, size = heads.copy(), sizes.copy()
    each = text.view(np.uint8)
    each -= (each - LOWER < 26).view(np.uint8) * SPACE
    while (blank := _blank(text)).any():
        text >>= BYTE * blank
        size -= blank
    while (blank := _blank(text >> (last := BYTE * (size - 1)))).any():  # of an empty one nothing is left by that
        text &= ~(blank * 255 << last)
        size -= blank
    return np.asarray(text.astype(np.uint64) << np.uint64(32) | size)


def _blank(texts: Heads) -> Heads:
    """1 where the lowest byte is a blank."""
    byte = texts.astype(np.uint8)
    return ((byte - 9 < 5) | (byte - 28 < 5)).astype(np.uint32)


def _same(ours: _Kept, theirs: _Kept) -> Flags:
    """The same of what is left: a text of at most four bytes of ASCII is all there."""
    sides = ours, theirs
    short = np.logical_and(*((side.sizes <= _HEAD) & (side.heads & BEYOND_ASCII == 0) for side in sides))
    if not short.any():
        return _read(*sides)
    found, long = np.empty(len(short), dtype=bool), ~short
    found[short] = np.equal(*(_bare(side.heads[short], side.sizes[short]) for side in sides))
    found[long] = _read(*(side.take(np.flatnonzero(long)) for side in sides))
    return found


def _read(ours: _Kept, theirs: _Kept) -> Flags:
    """The same of any texts, some at a time."""
    sizes = ours.sizes + np.int64(0) + theirs.sizes
    rows = max(1, sizes.size * _CACHED // max(1, int(sizes.sum())))
    pieces = (slice(start, start + rows) for start in range(0, sizes.size, rows))
    found = [_alike(*(_Kept(side.each[piece], side.others) for side in (ours, theirs))) for piece in pieces]
    return np.concatenate([np.empty(0, dtype=bool), *found])


def _alike(ours: _Kept, theirs: _Kept) -> Flags:
    """The same of a few; what is beyond ASCII is Polars' work."""
    import pyarrow.compute as pc  # takes long, and other metrics of words do without

    texts = [side.texts() for side in (ours, theirs)]
    sides = [side.to_arrow() for side in texts]
    found = _equal(sides)
    apart = np.flatnonzero(~found)
    if any(_blank_ends(side, apart) for side in sides):
        found = _equal([pc.ascii_trim(side, ASCII_BLANKS) for side in sides])
    if all(_bytes(side).max(initial=0) <= DELETE for side in sides):
        return found
    pairs = pl.DataFrame(texts, schema=["ours", "theirs"])
    beyond = pl.any_horizontal(pl.all().str.len_bytes() != pl.all().str.len_chars())
    odd = pairs.select((beyond & ~pl.lit(pl.Series(found))).arg_true()).to_series()
    upper = pairs.select(pl.all().gather(odd).str.strip_chars(BLANKS).str.to_uppercase())
    found[odd] = upper["ours"] == upper["theirs"]
    return found


def _equal(sides: "list[pa.LargeStringArray]") -> Flags:
    """Whether two texts are alike in capitals of ASCII."""
    import pyarrow.compute as pc

    return np.asarray(pc.equal(*map(pc.ascii_upper, sides)))


def _blank_ends(texts: "pa.LargeStringArray", rows: Places) -> bool:
    """Whether one of these may begin or end with a blank of ASCII: to look at two bytes of each is less than to copy all."""
    each, places = _bytes(texts), np.frombuffer(texts.buffers()[1], np.int64)
    if not each.size:
        return False
    # of an empty text, those of its neighbours
    first, last = each.take(places[rows], mode="clip"), each.take(places[rows + 1] - 1, mode="clip")
    return bool(min(first.min(initial=DELETE), last.min(initial=DELETE)) <= SPACE)


def _bytes(texts: "pa.LargeStringArray") -> npt.NDArray[np.uint8]:
    return np.frombuffer(texts.buffers()[2] or b"", np.uint8)
