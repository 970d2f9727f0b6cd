"""Frames as arrays: words as codes, and what is not known as a word of its own for each rollout."""

import numpy as np
import polars as pl

from rollwise.estimation.arrays import Columns


def test_words_are_coded_in_their_order_and_nulls_by_rollout() -> None:
    """Rows of one rollout without a word share one code, those of another have another; labels tell them from words."""
    frame = pl.DataFrame({"rollout_id": ["c", "a", "b", "a", "c"], "goal": ["y", None, "x", None, None]})
    coded = Columns(frame).coded("goal")  # rows in order: a, a, b, c, c
    assert coded.codes.tolist() == [2, 2, 0, 1, 3]
    assert coded.null.tolist() == [True, True, False, False, True]
    assert coded.count == 4
    assert coded.labels(np.arange(4)) == ["=x", "=y", "?a", "?c"]
