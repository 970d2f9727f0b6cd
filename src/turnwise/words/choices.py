"""Which texts are the same choice, but for case and blanks around them?"""

import numpy as np
import polars as pl

from turnwise.blanks import ASCII_BLANKS, BLANKS

_CACHED = 1 << 21  # bytes of text compared in one go: the capitals of more fall out of the processor's cache


def same_choice(ours: pl.Series, theirs: pl.Series) -> pl.Series:
    """Whether two texts are alike in capitals and without blanks around them: Boolean, of String without nulls.

    Examples
    --------
    >>> same_choice(pl.Series(["a", "b ", "ß"]), pl.Series(["A", "C", "SS"])).to_list()
    [True, False, True]
    """
    pairs = pl.DataFrame([ours.alias("ours"), theirs.alias("theirs")])
    rows = max(1, len(pairs) * _CACHED // max(1, int(pairs.estimated_size())))
    return pl.concat([_alike(part) for part in pairs.iter_slices(rows)] or [pl.Series(dtype=pl.Boolean)])


def _alike(pairs: pl.DataFrame) -> pl.Series:
    """The same of a few; what is beyond ASCII is Polars' work."""
    import pyarrow.compute as pc  # takes long, and other metrics of words do without

    sides = [texts.to_arrow() for texts in pairs]
    bare = (pc.ascii_upper(pc.ascii_trim(side, ASCII_BLANKS)) for side in sides)
    found = pl.Series(pc.equal(*bare))
    if all(np.frombuffer(side.buffers()[2] or b"", np.uint8).max(initial=0) < 128 for side in sides):
        return found
    beyond = pl.any_horizontal(pl.all().str.len_bytes() != pl.all().str.len_chars())
    odd = pairs.select(beyond.arg_true()).to_series()
    upper = pairs.select(pl.all().gather(odd).str.strip_chars(BLANKS).str.to_uppercase())
    return found.scatter(odd, upper["ours"] == upper["theirs"])
