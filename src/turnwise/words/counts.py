"""How many words are in each text?"""

import numpy as np
import polars as pl

from turnwise.words.blocks import DIGIT, LOWER, SPACE, UNDERSCORE, Places, beyond_ascii, column_of, in_blocks, parts


def word_count(texts: pl.Series) -> pl.Series:
    r"""How often the pattern `\w+` matches, Unicode's letters, marks and digits (UInt32); null where the text is."""
    known = texts.cast(pl.String).fill_null("") if texts.dtype == pl.Null else texts.fill_null("")
    found = pl.Series(np.concatenate([_counts(part) for (part,) in parts(known)]), dtype=pl.UInt32)
    return found.set(texts.is_null(), None) if texts.null_count() else found


def _counts(texts: pl.Series) -> Places:
    def of(rows: slice) -> Places:
        text, begins = column.block(rows)
        inside = np.zeros(len(text) + 1, dtype=bool)
        small = text | SPACE  # a capital differs from its small letter by the bit of a space
        np.bitwise_or((small - LOWER < 26) | (text - DIGIT < 10), text == UNDERSCORE, out=inside[1:])
        return np.diff(np.searchsorted(np.flatnonzero(inside[1:] > inside[:-1]), begins))

    column = column_of(texts)
    odd = beyond_ascii(texts, column)
    counts = np.concatenate(in_blocks(of, [column]))
    if odd.size:
        counts[odd] = texts.gather(odd).str.count_matches(r"\w+").to_numpy()
    return counts
