"""Which texts are the same choice, but for case and blanks around them?

Polars keeps a text as 16 bytes: how long it is, its first four bytes, and then either the rest or where that stands. A letter,
such as `B` or `c `, is looked up by them. A choice such as `(c)` or `yes` is all there in the first eight, and somewhat longer
ones mostly differ there: arithmetic on these numbers decides, and only what it leaves open is read, as long texts are.
"""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from turnwise.blanks import ASCII_BLANKS, BLANKS
from turnwise.words.blocks import DELETE, LOWER, SPACE, Numbers

if TYPE_CHECKING:
    import pyarrow as pa

_CACHED = 1 << 22  # bytes of text compared in one go: the capitals of more fall out of the processor's cache
_SHORT = 16 + 8  # bytes that a text takes on average, up to which its beginning says enough
_HEAD = 4  # bytes of a text beside its length
_LETTER, _UNKNOWN = 2, 0xFFFF  # bytes of a text that is looked up, and what is found where it is none of ASCII

Flags = npt.NDArray[np.bool_]
Heads = npt.NDArray[np.uint32]
BYTE, BEYOND_ASCII = np.array([8, 0x80808080], dtype=np.uint32)


def same_choice(ours: pl.Series, theirs: pl.Series) -> pl.Series:
    """Whether two texts are alike in capitals and without blanks around them: Boolean, of String without nulls.

    Examples
    --------
    >>> same_choice(pl.Series(["a", "b ", "ß"]), pl.Series(["A", "C", "SS"])).to_list()
    [True, False, True]
    """
    pairs = pl.DataFrame([ours.alias("ours"), theirs.alias("theirs")])
    if pairs.estimated_size() > 2 * _SHORT * len(pairs):
        return _read(pairs)
    sides = _beginnings(ours), _beginnings(theirs)
    if (known := _letters(*sides)) is not None:
        return pl.Series(known)
    (left, left_size, left_odd), (right, right_size, right_odd) = map(_heads, sides)
    apart = left ^ right
    # Where the first byte that differs is visible in both, the texts do. Where it is not, short ones may still be the same.
    blank = np.flatnonzero(apart & -apart & (left_odd | right_odd) * 255 != 0)
    bare = blank[
        (np.maximum(left_size[blank], right_size[blank]) <= _HEAD) & ((left[blank] | right[blank]) & BEYOND_ASCII == 0)
    ]
    same = apart == 0
    found = same & (left_size == right_size)
    found[bare] = _bare(left[bare], left_size[bare]) == _bare(right[bare], right_size[bare])
    unsure = same & (np.maximum(left_size, right_size) > _HEAD)
    unsure[blank] = True
    unsure[bare] = False
    decided, rest = pl.Series(found), np.flatnonzero(unsure)
    return decided if rest.size == 0 else decided.scatter(rest, _read(pairs.select(pl.all().gather(rest))))


def _beginnings(texts: pl.Series) -> Heads:
    """The length of each text, and its first four bytes: (n, 2)."""
    array = texts.to_arrow(compat_level=pl.CompatLevel.newest())
    views = np.frombuffer(array.buffers()[1] or b"", "<u4").reshape(-1, 4)
    return views[array.offset : array.offset + len(array), :2]


def _letters(ours: Heads, theirs: Heads) -> Flags | None:
    """Whether texts of at most two bytes are the same choice; None where one is longer, or more than ASCII."""
    if max(side[:, 0].max(initial=0) for side in (ours, theirs)) > _LETTER:
        return None
    left, right = (_letter().take(side[:, 1] + (side[:, 0] << 16)) for side in (ours, theirs))
    return None if _UNKNOWN in (left.max(initial=0), right.max(initial=0)) else left == right


@cache
def _letter() -> npt.NDArray[np.uint16]:
    """What is left of each text of no, one and two bytes, one such list after the other."""
    texts = np.arange(1 << 16, dtype=np.uint32)
    short = texts < 1 << 8
    found = []
    for size, there in enumerate((texts == 0, short & (texts > 0), ~short & (texts % (1 << 8) > 0))):
        head, length, _ = _heads(np.column_stack([np.full_like(texts, size), texts]))
        left = _bare(head, length) >> np.uint64(32)
        found.append(np.where(there & (texts & BEYOND_ASCII == 0), left, _UNKNOWN))  # a byte of zero is no letter
    return np.concatenate(found).astype(np.uint16)


def _heads(beginnings: Heads) -> tuple[Heads, Heads, Heads]:
    """The first four bytes of each text in capitals, its length, and 1 in each of these bytes that is no visible ASCII."""
    heads = beginnings[:, 1].copy()
    each = heads.view(np.uint8)
    odd = (each - SPACE - np.uint8(1) >= DELETE - SPACE) & (each != 0)  # nothing stands where a text is shorter
    each -= (each - LOWER < 26).view(np.uint8) * SPACE
    return heads, beginnings[:, 0], odd.view(np.uint32)


def _bare(text: Heads, size: Heads) -> Numbers:
    """Texts of at most four bytes of ASCII without the blanks around them, and their lengths, as numbers."""
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


def _read(pairs: pl.DataFrame) -> pl.Series:
    """The same of any texts."""
    rows = max(1, len(pairs) * _CACHED // max(1, int(pairs.estimated_size())))
    return pl.concat([_alike(part) for part in pairs.iter_slices(rows)] or [pl.Series(dtype=pl.Boolean)])


def _alike(pairs: pl.DataFrame) -> pl.Series:
    """The same of a few; what is beyond ASCII is Polars' work."""
    import pyarrow.compute as pc  # takes long, and other metrics of words do without

    sides = [texts.to_arrow() for texts in pairs]
    bare = (pc.ascii_trim(side, ASCII_BLANKS) if _ends_blank(side) else side for side in sides)
    found = pl.Series(pc.equal(*map(pc.ascii_upper, bare)))
    if all(_bytes(side).max(initial=0) <= DELETE for side in sides):
        return found
    beyond = pl.any_horizontal(pl.all().str.len_bytes() != pl.all().str.len_chars())
    odd = pairs.select(beyond.arg_true()).to_series()
    upper = pairs.select(pl.all().gather(odd).str.strip_chars(BLANKS).str.to_uppercase())
    return found.scatter(odd, upper["ours"] == upper["theirs"])


def _ends_blank(texts: "pa.LargeStringArray") -> bool:
    """Whether one of them may begin or end with a blank of ASCII: to look at two bytes of each is less than to copy all."""
    each, places = _bytes(texts), np.frombuffer(texts.buffers()[1], np.int64)
    if not each.size:
        return False
    # of an empty text, those of its neighbours
    first, last = each.take(places[:-1], mode="clip"), each.take(places[1:] - 1, mode="clip")
    return bool(min(first.min(), last.min()) <= SPACE)


def _bytes(texts: "pa.LargeStringArray") -> npt.NDArray[np.uint8]:
    return np.frombuffer(texts.buffers()[2] or b"", np.uint8)
