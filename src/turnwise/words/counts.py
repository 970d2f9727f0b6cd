"""How many words are in each text?"""

import numpy as np
import polars as pl

from turnwise.words.blocks import DIGIT, LOWER, SPACE, UNDERSCORE, Block, Places, beyond_ascii, block_of, in_blocks


def word_count(texts: pl.Series) -> pl.Series:
    r"""How often the pattern `\w+` matches, Unicode's letters, marks and digits (UInt32); null where the text is."""
    known = texts.cast(pl.String).fill_null("") if texts.dtype == pl.Null else texts.fill_null("")
    found = pl.Series(np.concatenate(in_blocks(_counts, _cut, known)), dtype=pl.UInt32)
    return found.set(texts.is_null(), None) if texts.null_count() else found


def _cut(texts: pl.Series) -> tuple[Block, Places, Places]:
    """The texts, which of them hold more than ASCII, and how many words are in these."""
    block = block_of(texts)
    odd = beyond_ascii(texts, block)
    return block, odd, texts.gather(odd).str.count_matches(r"\w+").to_numpy() if odd.size else odd


def _counts(cut: tuple[Block, Places, Places]) -> Places:
    block, odd, known = cut
    inside = np.zeros(len(block.text) + 1, dtype=bool)
    small = block.text | SPACE  # a capital differs from its small letter by the bit of a space
    np.bitwise_or((small - LOWER < 26) | (block.text - DIGIT < 10), block.text == UNDERSCORE, out=inside[1:])
    counts = np.diff(np.searchsorted(np.flatnonzero(inside[1:] > inside[:-1]), block.begins))
    counts[odd] = known
    return counts
