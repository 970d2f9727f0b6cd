"""Names of rows, to the left of their lines or above them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rollwise.plots import lettering, theme
from rollwise.plots.layout import Sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BESIDE, _NARROW = 0.4, 0.34  # share of the width that names beside their lines may take, and of a narrow figure
_WIDE = 0.66  # the same where names are too long, and numbers are left out for them
_LINE = 12.0  # height in points of a line of a name
_ROW = 21.6  # height in points of a row
_OF_SEVERAL = 0.27  # the same share of a figure of several panels
_LONGEST = 200.0  # width in points of a name, at most
_AXES, _NARROWEST = 80.0, 48.0  # least width in points of the Axes, and of narrow ones


@dataclass(frozen=True, slots=True)
class Place:
    """Where the names of rows are, in lines, and what they leave for numbers."""

    names: Sequence[str]
    above: bool
    small: bool  # in small type
    high: float  # height of a row in points
    numbers_width: float  # width in points for columns of numbers


def names_of(marks: pl.DataFrame) -> list[str]:
    """Return the name of each row."""
    rows = marks.select("row", "group").unique(maintain_order=True).sort("row")
    return rows["group"].to_list()


def plan(sheet: Sheet, names: Sequence[str], columns: int, numbers_width: float) -> Place:
    """Find a place for names: beside their lines if these hold them whole, else above if rows are high enough.

    Numbers that are `numbers_width` points wide should have space too; as a last resort, names have theirs. Rows of a figure of a
    given height have as many lines as fit.
    """
    across = sheet.width / columns
    size = theme.small() if sheet.narrow else theme.normal()
    line, row, least = theme.em(_LINE), theme.em(_ROW), theme.em(_NARROWEST if sheet.narrow else _AXES)
    row_height = None if sheet.is_free else sheet.height() / len(names)
    lines = 3 if row_height is None else max(int((0.75 if sheet.narrow else 1.0) * row_height / line), 1)
    lines = min(lines, 2 if sheet.narrow else 3)
    share = _NARROW if sheet.narrow else _BESIDE if columns == 1 else _OF_SEVERAL * columns
    beside = min(share * across, theme.em(_LONGEST))
    broken = lettering.filled_all(names, beside, size=size, lines=lines)
    most = max(name.count("\n") for name in broken) + 1
    if not any("…" in name for name in broken) and not _cut(names, beside, size):
        names_width = max(lettering.text_width(part, size) for name in broken for part in name.split("\n")) + theme.em(
            8
        )
        width_left = (sheet.width - names_width) / columns - least
        place = Place(broken, above=False, small=sheet.narrow, high=max(row, line * most + 6), numbers_width=width_left)
        if width_left >= numbers_width or (row_height is not None and row_height < row + line):
            return place
    lines = 2 if row_height is None else max(int((row_height - row) / line + 0.1), 0)
    if lines:
        names_above = lettering.filled_all(names, across - theme.em(16), size=theme.small(), lines=lines)
        most = max(name.count("\n") for name in names_above) + 1
        return Place(names_above, above=True, small=True, high=line * most + row, numbers_width=across - least)
    lines = min(max(int((row_height or row) / line), 1), 2)
    wide = lettering.filled_all(names, _WIDE * across, size=theme.small(), lines=lines)
    return Place(wide, above=False, small=True, high=row, numbers_width=0.0)


def _cut(names: Sequence[str], across: float, size: float) -> bool:
    """Return whether a word of the names is wider than a line."""
    return any(lettering.text_width(word, size) > across for name in names for word in lettering.words(name))


def put(ax: "Axes", place: Place, *, named: bool) -> None:
    """Draw a guide and a name for each row."""
    rows = len(place.names)
    ax.set_ylim(*((rows - 0.5, -0.8) if place.above else (rows - 0.4, -0.6)))
    beside = named and not place.above
    ax.set_yticks(range(rows), labels=place.names if beside else [""] * rows)
    lettering.literal(ax.get_yticklabels())
    ax.tick_params(axis="y", length=0, pad=theme.em(8), labelsize=theme.small() if place.small else theme.normal())
    if rows > 18:
        ax.tick_params(axis="x", labeltop=True)
    ax.spines["left"].set_visible(False)
    for row, name in enumerate(place.names):
        ax.axhline(row, color=theme.shade(ax, theme.GUIDE), linewidth=0.5, zorder=0.5)
        if place.above and named:
            ax.annotate(
                name,
                (0, row),
                xycoords=("axes fraction", "data"),
                xytext=(0, theme.em(7.5)),
                textcoords="offset points",
                fontsize=theme.small(),
                annotation_clip=False,
                parse_math=False,
                bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.6},
            ).set_in_layout(False)
