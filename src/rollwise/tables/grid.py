"""Tables as grids of text, before they are written as plain text, HTML, Markdown or LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Bar:
    """Interval to draw in a cell, on the scale of all rows of the same quantity."""

    estimate: float | None
    low: float | None
    high: float | None
    scale: tuple[float, float]
    words: str


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: a heading and cells, which are words (aligned to the left), numbers, or graphics.

    A narrow terminal omits the columns with the greatest `omission` first, and never those with 0. A `fact` that is equal in all
    rows may move to a note below. The cells of a `stacked` column are an estimate and an interval: a narrow terminal puts the
    interval on a line of its own. It puts the cells of a column that is `below` under the cells of the column before it,
    and may name rows by a `fact` in a line above them, after the words of `above`. The
    `answers` of a gate have a color where a terminal has one. A `count` that the caption says is not repeated in documents. The
    cells in the rows of `best` are bold.
    """

    heading: str
    cells: Sequence[str | Bar]
    words: bool = False
    graphic: bool = False
    omission: int = 0
    fact: bool = False
    stacked: bool = False
    below: bool = False
    above: str = ""
    answers: bool = False
    count: bool = False
    best: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as text: columns, footnotes, and one sentence that describes the intervals.

    The `spanner` is the heading of all columns but the first, in HTML and LaTeX. In documents, the `heading` of the author, or
    the `title` made from the frame in LaTeX, says what the table shows, `label` is the name to refer to it by, and `best` explains
    what is bold.
    """

    columns: Sequence[Column]
    notes: Sequence[str] = field(default=())
    caption: str = ""
    spanner: str = ""
    title: str = ""
    heading: str = ""
    label: str = ""
    best: str = ""
