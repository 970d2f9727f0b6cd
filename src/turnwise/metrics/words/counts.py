"""How many words are in each text?"""

import numpy as np
import polars as pl

from turnwise.metrics.words.blocks import (
    DELETE,
    DIGIT,
    LOWER,
    SPACE,
    UNDERSCORE,
    Block,
    Places,
    beyond_bytes,
    block_of,
    in_blocks,
)

_NO_WORD = r"[\W--[\x00-\x7f]]"  # beyond ASCII; every other byte of that is one of a word


def word_count(texts: pl.Series) -> pl.Series:
    r"""How often the pattern `\w+` matches, Unicode's letters, marks and digits (UInt32); null where the text is."""
    known = texts.cast(pl.String).fill_null("") if texts.dtype == pl.Null else texts.fill_null("")
    found = pl.Series(np.concatenate(in_blocks(_counts, _cut, known)), dtype=pl.UInt32)
    return found.set(texts.is_null(), None) if texts.null_count() else found


def _cut(texts: pl.Series) -> tuple[Block, Places, Places]:
    """The texts, in which of them bytes do not tell the words, and how many are in these."""
    block = block_of(texts)
    odd = beyond_bytes(texts, block, _NO_WORD)
    return block, odd, texts.gather(odd).str.count_matches(r"\w+").to_numpy() if odd.size else odd


def _counts(cut: tuple[Block, Places, Places]) -> Places:
    block, odd, known = cut
    inside = np.zeros(len(block.text) + 1, dtype=bool)
    small = block.text | SPACE  # a capital differs from its small letter by the bit of a space
    letter = (small - LOWER < 26) | (block.text > DELETE)
    np.bitwise_or(letter | (block.text - DIGIT < 10), block.text == UNDERSCORE, out=inside[1:])
    counts = np.diff(np.searchsorted(np.flatnonzero(inside[1:] > inside[:-1]), block.begins))
    counts[odd] = known
    return counts
