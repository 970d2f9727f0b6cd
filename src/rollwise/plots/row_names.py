"""Names of rows, to the left of their lines or above them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rollwise.plots import lettering, theme
from rollwise.plots.layout import Sheet
from rollwise.plots.theme import Axes

_BESIDE, _NARROW = 0.4, 0.34  # share of the width that names beside their lines may take, and of a narrow figure
_WIDE = 0.66  # the same where names are too long, and numbers are left out for them
_LINE = 12.0  # height in points of a line of a name
_ROW = 21.6  # height in points of a row of one group
_RULE = 15.0  # height in points of the rule above rows of few rollouts
_OF_SEVERAL = 0.27  # the same share of a figure of several panels
_NUMBERS = 0.62  # share of the width that numbers may take beside lines below their names
_LONGEST = 200.0  # width in points of a name, at most
_AXES, _NARROWEST = 80.0, 48.0  # least width in points of the Axes, and of narrow ones


@dataclass(frozen=True, slots=True)
class Rows:
    """Names of rows from the top, how many groups one has, and the first row of few rollouts."""

    names: Sequence[str]
    lanes: int
    few: int | None

    @classmethod
    def of(cls, marks: pl.DataFrame) -> "Rows":
        """Return the rows of the marks; a rule is above the last ones if only these are of few rollouts in the first panel."""
        few = pl.col("few").filter(panel=0).drop_nulls()
        rows = marks.group_by("row").agg(pl.col("name").first(), few=few.all() & (few.len() > 0)).sort("row")
        below = rows.height - rows["few"].reverse().cum_min().sum()
        return cls(rows["name"].to_list(), marks["lane"].max() + 1, below if 0 < below < rows.height else None)  # type: ignore[arg-type, operator]


@dataclass(frozen=True, slots=True)
class Place:
    """Place of rows and their names, in lines, and the space that they leave for numbers."""

    names: Sequence[str]
    above: bool
    small: bool  # in small type
    high: float  # height of a row in points
    numbers_width: float  # width in points for columns of numbers
    lanes: int
    few: int | None
    at: Sequence[float]  # the middle of each row, in rows from the first
    step: float  # between groups of a row, in rows

    def height_of(self, row: int, lane: int) -> float:
        """Return where a group is, in rows from the first."""
        return self.at[row] + (lane - (self.lanes - 1) / 2) * self.step


def plan(sheet: Sheet, rows: Rows, panels: int, columns: int, numbers_width: float) -> Place:
    """Find a place for names: beside their lines if these hold them whole, else above if rows are high enough.

    Numbers that are `numbers_width` points wide should have space too; as a last resort, names have theirs. Rows of a figure of a
    given height have as many lines as fit.
    """
    names = rows.names
    across = sheet.width / columns
    size = theme.small() if sheet.narrow else theme.normal()
    line, row, least = theme.em(_LINE), theme.em(_ROW), theme.em(_NARROWEST if sheet.narrow else _AXES)
    row += (rows.lanes - 1) * line
    row_height = None if sheet.is_free else sheet.height(panels, columns) / (len(names) + (rows.few is not None))

    def place(names: Sequence[str], *, above: bool, small: bool, high: float, numbers_width: float) -> Place:
        real = min(high, row_height or high)
        used = (max(name.count("\n") for name in names) + 1) * line if above else 0.0
        step = min(line, max(real - used, 0.4 * real) / (rows.lanes + 0.5)) / real if rows.lanes > 1 else 1.0
        if rows.lanes > 1 and step * real < theme.small():
            numbers_width = 0.0
        gap = theme.em(_RULE) / real
        at = [place + (gap if rows.few is not None and place >= rows.few else 0.0) for place in range(len(names))]
        return Place(names, above, small, high, numbers_width, rows.lanes, rows.few, at, step)

    lines = 3 if row_height is None else max(int((0.75 if sheet.narrow else 1.0) * row_height / line), 1)
    lines = min(lines, 2 if sheet.narrow and rows.lanes == 1 else 3)
    share = _NARROW if sheet.narrow else _BESIDE if columns == 1 else _OF_SEVERAL * columns
    beside = min(share * across, theme.em(_LONGEST))
    broken = lettering.filled_all(names, beside, size=size, lines=lines)
    most = max(name.count("\n") for name in broken) + 1
    if not any("…" in name for name in broken) and not _cut(names, beside, size):
        parts = [part for name in broken for part in name.split("\n")]
        names_width = max(lettering.text_width(part, size) for part in parts) + theme.em(8)
        left = (sheet.width - names_width) / columns - least
        if left >= numbers_width or (row_height is not None and row_height < row + line):
            return place(broken, above=False, small=sheet.narrow, high=max(row, line * most + 6), numbers_width=left)
    lines = 2 if row_height is None else max(int((row_height - row) / line + 0.1), 0)
    if lines:
        names_above = lettering.filled_all(names, across - theme.em(16), size=theme.small(), lines=lines)
        most = max(name.count("\n") for name in names_above) + 1
        numbers = min(across - least, _NUMBERS * across)  # the rest is for the intervals
        return place(names_above, above=True, small=True, high=line * most + row, numbers_width=numbers)
    lines = min(max(int((row_height or row) / line), 1), 2)
    wide = lettering.filled_all(names, _WIDE * across, size=theme.small(), lines=lines)
    return place(wide, above=False, small=True, high=row, numbers_width=0.0)


def _cut(names: Sequence[str], across: float, size: float) -> bool:
    """Return whether a word of the names is wider than a line."""
    return any(lettering.text_width(word, size) > across for name in names for word in lettering.words(name))


def put(ax: Axes, place: Place, *, named: bool, ruled: bool) -> None:
    """Draw a name for each row, a guide for each group, and the rule above rows of few rollouts."""
    rows, last = len(place.names), place.at[-1]
    ax.set_ylim(*((last + 0.5, -0.8) if place.above else (last + 0.6, -0.6)))
    beside = named and not place.above
    ax.set_yticks(place.at, labels=place.names if beside else [""] * rows)
    lettering.literal(ax.get_yticklabels())
    ax.tick_params(axis="y", length=0, pad=theme.em(8), labelsize=theme.small() if place.small else theme.normal())
    if rows > 18:
        ax.tick_params(axis="x", labeltop=True)
    ax.spines["left"].set_visible(False)
    if ruled and place.few is not None:
        _rule(ax, place)
    for row, name in enumerate(place.names):
        for lane in range(place.lanes):
            at = place.height_of(row, lane)
            ax.axhline(at, color=theme.shade(ax, theme.GUIDE), linewidth=0.5, zorder=0.5)
        if place.above and named:
            start: tuple[Any, Any] = ((0, place.height_of(row, 0)), ("axes fraction", "data"))
            ground = lettering.ground(ax, 0.6)
            lettering.write(ax, name, *start, by=(0, theme.em(7.5)), color=None, bbox=ground).set_in_layout(False)


def fit(axes: Sequence[Axes], place: Place) -> bool:
    """Fit names, and numbers to their right, to the final height of their rows; return whether all are readable."""
    around: tuple[object, ...] = ("axes fraction", ("axes fraction", "data"))
    readable = lettering.fit_rows(*axes)
    for ax in axes:
        texts: list[Any] = [text for text in ax.texts if getattr(text, "xycoords", None) in around]
        numbers = [text for text in texts if text.xy[0] == 1]
        size = lettering.shrunk([text for text in numbers if text.xy[1] != 1], lettering.row_height(ax) * place.step)
        for number in numbers:
            number.set(fontsize=size or theme.small(), visible=size > 0)
        readable &= size > 0
    return readable


def _rule(ax: Axes, place: Place) -> None:
    """Draw a thin line above the rows of few rollouts, and say what they are."""
    first = place.at[place.few or 0]
    at = (first + place.at[(place.few or 0) - 1]) / 2 - (0.15 if place.above else 0.0)
    ax.axhline(at, color=theme.shade(ax, theme.MUTED), linewidth=0.8, zorder=0.6)
    lettering.write(ax, "n < 10", (1, at), ("axes fraction", "data"), by=(0, -2), style="italic", ha="right", va="top")
