"""Finished frame -> a table to read: text in a terminal, HTML in a notebook, Markdown or LaTeX in a document.

A grid of words is made once and written in each of the four; nothing here computes a statistic.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnwise.schema import labels
from turnwise.tables.frames import MOST_ROWS, grid_of
from turnwise.tables.grid import Grid
from turnwise.tables.terminal import markdown_text, terminal_text

if TYPE_CHECKING:
    from great_tables import GT

__all__ = ["MOST_ROWS", "Table", "html", "latex", "markdown", "show", "text"]


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A finished frame as a table: text when printed, HTML in a notebook, and `markdown` or `latex` for a paper."""

    grid: Grid

    def __str__(self) -> str:
        return terminal_text(self.grid, None)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.html

    @property
    def html(self) -> str:
        """The table as one piece of HTML, with an interval drawn in each row."""
        return str(self.gt.as_raw_html())

    @property
    def markdown(self) -> str:
        """The table in Markdown."""
        return markdown_text(self.grid)

    @property
    def latex(self) -> str:
        """The table in LaTeX, for booktabs; the drawn intervals are left out."""
        from turnwise.tables.pages import latex_of

        return latex_of(self.grid)

    @property
    def gt(self) -> "GT":
        """The table as a great_tables object, to style further."""
        from turnwise.tables.pages import gt_of

        return gt_of(self.grid)


def show(frame: object, *, metric: str | None = None, statistic: str | None = None) -> Table:
    """The frame as a table that shows itself: text in a terminal, HTML in a notebook.

    Estimates are rounded by the width of their intervals, unknown rollouts are counted where there are any, and reasons stand
    below as footnotes. In a notebook each row draws its interval, on the scale of all rows of its metric.

    Parameters
    ----------
    frame
        SUMMARY, CONTRAST or CURVE; any other frame is shown as it is.
    metric, statistic
        Which rows to show; by default all.

    Raises
    ------
    ArgumentError
        Where no row has that metric or statistic, saying which there are.

    Examples
    --------
    >>> import polars as pl
    >>> row = {
    ...     "metric": "attack_success",
    ...     "statistic": "mean",
    ...     "level": 0.95,
    ...     "n": 144,
    ...     "n_clusters": 24,
    ...     "method": "Wilson",
    ... }
    >>> rows = [
    ...     {"target": "a", "estimate": 0.4, "low": 0.3, "high": 0.5},
    ...     {"target": "b", "estimate": 0.05, "low": 0.01, "high": 0.1},
    ... ]
    >>> show(pl.DataFrame([part | row for part in rows]))
     target   attack success   95 % interval     n   clusters
    ──────────────────────────────────────────────────────────
     a                  40 %        [30, 50]   144         24
     b                 5.0 %     [1.0, 10.0]   144         24
    Intervals: 95 %, Wilson; n = 144 rollouts in 24 clusters per group.
    """
    table = labels.as_frame(frame, "show")
    for column, value in (("metric", metric), ("statistic", statistic)):
        if value is not None:
            table = labels.choose(table, column, value, "show")
    return Table(grid_of(table))


def text(frame: object, *, metric: str | None = None, statistic: str | None = None, width: int | None = None) -> str:
    """The frame as a text table; `width` in characters is that of the terminal, else 120.

    Examples
    --------
    >>> import polars as pl
    >>> print(text(pl.DataFrame({"target": ["a", None], "turns": [3, 12]})))
     target   turns
    ────────────────
     a            3
     –           12
    """
    return terminal_text(show(frame, metric=metric, statistic=statistic).grid, width)


def markdown(frame: object, *, metric: str | None = None, statistic: str | None = None) -> str:
    r"""The frame as a Markdown table.

    Examples
    --------
    >>> import polars as pl
    >>> print(markdown(pl.DataFrame({"target": ["a|b"], "turns": [3]})))
    | target | turns |
    | ------ | ----: |
    | a\|b   |     3 |
    """
    return show(frame, metric=metric, statistic=statistic).markdown


def html(frame: object, *, metric: str | None = None, statistic: str | None = None) -> str:
    """The frame as one piece of HTML, made by great_tables, with an interval drawn in each row.

    Examples
    --------
    >>> import polars as pl
    >>> "&lt;script&gt;" in html(pl.DataFrame({"target": ["<script>"]}))
    True
    """
    return show(frame, metric=metric, statistic=statistic).html


def latex(frame: object, *, metric: str | None = None, statistic: str | None = None) -> str:
    r"""The frame as a LaTeX table for the booktabs package, its special characters escaped by great_tables.

    What would not fit a page in landscape is treated as in a narrow terminal: long words are broken, then what may be spared is
    named below. Comments above the table say what the document must have: booktabs, landscape where it is wide, and, where it
    has Chinese, Cyrillic or other letters at which pdfLaTeX stops, XeLaTeX or LuaLaTeX and a font that has them.

    Examples
    --------
    >>> import polars as pl
    >>> r"a\_b \& c" in latex(pl.DataFrame({"target": ["a_b & c"]}))
    True
    """
    return show(frame, metric=metric, statistic=statistic).latex
