"""Results in the cells of a notebook: what names a row, and its answer, which are the first and the last columns."""

import os

import polars as pl

from rollwise.schema import labels

_FEWEST = 4  # columns at each end, as in a terminal


def html_of(frame: pl.DataFrame) -> str:
    """Return the HTML of Polars; of a result without the columns in its middle, unless the user has set how many are shown.

    Polars shows 75 columns in a notebook and 8 in a terminal. A result has some 23, and the estimate with its interval comes last:
    in a cell they would be out of sight.
    """
    is_result = labels.shape_of(frame) is not None and "level" in frame.columns
    if not is_result or "POLARS_FMT_MAX_COLS" in os.environ:
        return frame._repr_html_()
    names = frame.columns.index("level")  # the group, the metric, and what of it
    with pl.Config(tbl_cols=2 * max(names, _FEWEST)):
        return frame._repr_html_()
