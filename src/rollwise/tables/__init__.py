"""Tables to read, of any result: text in a terminal, HTML in a notebook, Markdown or LaTeX in a document.

`show(frame)` prints a table, or shows it in a notebook. `table(frame)` and `pivot(summary, rows=..., columns=...)` return a
`Table`, which holds every form. `text`, `markdown`, `html` and `latex` return one form of any frame.

`write_every_eval_ever` writes results and rollouts as records of the schema of that name.

Nothing here computes a statistic. A frame becomes a `Grid` of texts once (`frames.py`, `results.py`, `crossed.py`), and the grid
is written in each form (`terminal.py`, `pages.py`, `papers.py`).
"""

import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rollwise.choices import Best
from rollwise.errors import ArgumentError
from rollwise.schema import labels
from rollwise.schema.arguments import frame_of
from rollwise.schema.option_types import check_option_types
from rollwise.tables.crossed import crossed_grid
from rollwise.tables.every_eval_ever import write_every_eval_ever
from rollwise.tables.frames import MOST_ROWS, grid_of
from rollwise.tables.grid import Grid
from rollwise.tables.terminal import markdown_text, terminal_text

if TYPE_CHECKING:
    from great_tables import GT

__all__ = ["MOST_ROWS", "Table", "html", "latex", "markdown", "pivot", "show", "table", "text", "write_every_eval_ever"]


_LABEL = re.compile(r"[\w:.-]+", re.ASCII)


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A frame as a table: text when printed, HTML in a notebook, and `markdown` or `latex` for a paper.

    Examples
    --------
    >>> import polars as pl
    >>> rates = table(pl.DataFrame({"target": ["a"], "turns": [3]}))
    >>> rates
     target   turns
    ────────────────
     a            3
    >>> print(rates.markdown)
    | target | turns |
    | ------ | ----: |
    | a      |     3 |
    """

    grid: Grid

    def __str__(self) -> str:
        return terminal_text(self.grid, None)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.html

    def show(self) -> None:
        """Show the table in the output of a notebook's cell; elsewhere print it as text."""
        ipython = sys.modules.get("IPython")  # not imported, as it is not a dependency: a notebook has loaded it
        if ipython is not None and ipython.get_ipython() is not None:
            sys.modules["IPython.display"].display(self)
        else:
            # A pipe of Windows has a code page, which knows few signs; the others are escaped.
            encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
            print(str(self).encode(encoding, "backslashreplace").decode(encoding))  # noqa: T201  # what it is for

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
        from rollwise.tables.papers import latex_of

        return latex_of(self.grid)

    @property
    def gt(self) -> "GT":
        """The table as a great_tables object, to style further."""
        from rollwise.tables.pages import gt_of

        return gt_of(self.grid)


def table(
    frame: object,
    *,
    metric: str | None = None,
    statistic: str | None = None,
    title: str | None = None,
    label: str | None = None,
    best: Best | None = None,
) -> Table:
    """Return the frame as a table: text when printed, HTML in a notebook, and properties for Markdown and LaTeX.

    Estimates are rounded by the width of their intervals. Rollouts without a value are counted if there are any. Reasons are
    footnotes. In HTML each row draws its interval: a share from 0 to 100 %, other numbers on the scale of all rows of its metric.
    In Markdown and LaTeX, names that repeat stand once, and so do counts and units that are the same everywhere.

    Parameters
    ----------
    frame
        SUMMARY, CONTRAST, CURVE or another result; any other frame is shown with its own columns.
    metric, statistic
        Which rows to include; by default all.
    title
        Heading in Markdown, HTML and the caption in LaTeX; by default, LaTeX has one made from the frame.
    label
        What LaTeX refers to the table by, as in ``"tab:rates"``; by default made from the title.
    best
        Which estimate of each metric is bold in documents, if the frame is a SUMMARY. It says nothing about chance: `rw.contrast`
        does.

    Raises
    ------
    ArgumentError
        If no row has that metric or statistic; the message lists the available ones.

    Examples
    --------
    >>> import polars as pl
    >>> sample = {"statistic": "mean", "level": 0.95, "n": 144, "n_clusters": 24, "method": "Wilson"}
    >>> ends = {"estimate": [0.4, 0.05], "low": [0.3, 0.01], "high": [0.5, 0.1]}
    >>> table(pl.DataFrame({"target": ["a", "b"], "metric": "attack_success"} | sample | ends))
     target   attack success   95 % interval     n   clusters
    ──────────────────────────────────────────────────────────
     a                  40 %        [30, 50]   144         24
     b                 5.0 %     [1.0, 10.0]   144         24
    Intervals: 95 %, Wilson; n = 144 rollouts in 24 clusters per group.
    """
    check_option_types(table, locals())
    chosen = labels.choose(frame_of(frame, "table"), "table", metric=metric, statistic=statistic)
    return Table(_named(grid_of(chosen, best), title, label))


def show(frame: object, *, metric: str | None = None, statistic: str | None = None) -> None:
    """Show the frame as a table: print its text, or show the styled table in the output of a notebook's cell.

    It returns nothing, so that a table is shown once; `table` returns it.

    Parameters
    ----------
    frame
        Any frame, or a `Table`.
    metric, statistic
        Which rows to show; by default all.

    Raises
    ------
    ArgumentError
        If no row has that metric or statistic; the message lists the available ones.

    Examples
    --------
    >>> import polars as pl
    >>> show(pl.DataFrame({"target": ["a", None], "turns": [3, 12]}))
     target   turns
    ────────────────
     a            3
     –           12
    """
    (frame if isinstance(frame, Table) else table(frame, metric=metric, statistic=statistic)).show()


def pivot(
    summary: object,
    *,
    rows: str,
    columns: str,
    metric: str | None = None,
    statistic: str | None = None,
    level: float | None = None,
    title: str | None = None,
    label: str | None = None,
    best: Best | None = None,
) -> Table:
    """Return a table of two crossed columns: an estimate with its interval in each cell.

    Pooled rows and columns, from `rw.summarize(..., margins=True)`, are last. A cell without rollouts is empty; a cell
    without an estimate has its range, or a dash, and a footnote with the reason.

    Parameters
    ----------
    summary
        SUMMARY by the two columns, from `rw.summarize`.
    rows, columns
        The grouping column whose values are the rows, and the one whose values are the columns.
    metric, statistic, level
        Which estimate to show; necessary if the SUMMARY has several.
    title, label, best
        As for `table`; the best estimate of each column is bold.

    Raises
    ------
    ArgumentError
        If the SUMMARY is not grouped by both columns or is grouped by more, or if it has several metrics, statistics or levels
        and none is chosen.

    Examples
    --------
    >>> import polars as pl
    >>> same = {"metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 50, "method": "Wilson"}
    >>> rows = [
    ...     {"target": "base", "attack": "PAIR", "estimate": 0.4, "low": 0.28, "high": 0.54},
    ...     {"target": "base", "attack": "GCG", "estimate": 0.1, "low": 0.04, "high": 0.21},
    ...     {"target": "guarded", "attack": "PAIR", "estimate": 0.04, "low": 0.01, "high": 0.13},
    ... ]
    >>> pivot(pl.DataFrame([row | same for row in rows]), rows="target", columns="attack")
     target                 PAIR                  GCG
    ──────────────────────────────────────────────────
     base          40 % [28, 54]   10.0 % [4.0, 21.0]
     guarded   4.0 % [1.0, 13.0]
     Attack success by target (rows) and attack (columns), with 95 % intervals. Empty cells have no rollouts.
    Intervals: 95 %, Wilson; n = 50 rollouts per group.
    """
    check_option_types(pivot, locals())
    chosen: dict[str, Any] = {"metric": metric, "statistic": statistic, "level": level}
    return Table(_named(crossed_grid(summary, rows=rows, columns=columns, **chosen, best=best), title, label))


def _named(grid: Grid, title: str | None, label: str | None) -> Grid:
    """Give a grid the heading and the label of its author."""
    if label is not None and not _LABEL.fullmatch(label):
        raise ArgumentError(
            f"table: label={label!r} is none for LaTeX; write letters, digits and : . _ - only, as in 'tab:rates'"
        )
    return replace(grid, heading=labels.plain(title) if title else "", label=label or "")


def text(frame: object, *, metric: str | None = None, statistic: str | None = None, width: int | None = None) -> str:
    """Return the frame as a text table; `width` is in characters, by default that of the terminal, else 120.

    Examples
    --------
    >>> import polars as pl
    >>> print(text(pl.DataFrame({"target": ["a", None], "turns": [3, 12]})))
     target   turns
    ────────────────
     a            3
     –           12
    """
    check_option_types(text, locals())
    return terminal_text(table(frame, metric=metric, statistic=statistic).grid, width)


def markdown(frame: object, *, metric: str | None = None, statistic: str | None = None) -> str:
    r"""Return the frame as a Markdown table.

    Examples
    --------
    >>> import polars as pl
    >>> print(markdown(pl.DataFrame({"target": ["a|b"], "turns": [3]})))
    | target | turns |
    | ------ | ----: |
    | a\|b   |     3 |
    """
    check_option_types(markdown, locals())
    return table(frame, metric=metric, statistic=statistic).markdown


def html(frame: object, *, metric: str | None = None, statistic: str | None = None) -> str:
    """Return the frame as one piece of HTML, made by great_tables, with an interval drawn in each row.

    Examples
    --------
    >>> import polars as pl
    >>> "&lt;script&gt;" in html(pl.DataFrame({"target": ["<script>"]}))
    True
    """
    check_option_types(html, locals())
    return table(frame, metric=metric, statistic=statistic).html


def latex(
    frame: object,
    *,
    metric: str | None = None,
    statistic: str | None = None,
    width: Literal["page", "column"] = "page",
) -> str:
    r"""Return a frame or a `Table` as a LaTeX table for the booktabs package, with special characters escaped.

    It has a caption and a label; names that repeat stand once above their rows. In a ``"column"`` of two, intervals stand below
    their estimates where they must, and columns without space are named below. A table that is wider than a page in landscape
    is narrowed as in a terminal: text wraps, then columns are omitted and named below. Comments above the table say what the
    document needs: booktabs; landscape for a wide table; XeLaTeX or LuaLaTeX and a font for Chinese, Cyrillic and other letters
    that pdfLaTeX does not have.

    Examples
    --------
    >>> import polars as pl
    >>> r"a\_b \& c" in latex(pl.DataFrame({"target": ["a_b & c"]}))
    True
    """
    check_option_types(latex, locals())
    from rollwise.tables.papers import latex_of

    result = frame if isinstance(frame, Table) else table(frame, metric=metric, statistic=statistic)
    return latex_of(result.grid, width)
