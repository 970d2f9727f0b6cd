"""Names of rows, to the left of their lines or above them."""

import re
from typing import TYPE_CHECKING

import polars as pl

from rollwise.plots import lettering, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NARROW = 300.0  # width in points of a column of a paper, at most
_WIDE = 0.66  # share of narrow Axes that long names may take
_ABOVE = 32.0  # least height in points of a row with its name above its line


def longest(panels: int) -> int:
    """Return how many characters one line of a row name has."""
    return 34 if panels == 1 else 24


def put(ax: "Axes", marks: pl.DataFrame, *, names: bool, across: float, new_figure: bool) -> str:
    """Draw a guide and a name for each row; return where the names are: ``beside`` their lines, ``wide`` or ``above``.

    Names use a share of the width `across` and as many lines as fit the height of a row; a `new_figure` is wide enough for its
    names. If a narrow figure would cut a name, names are above their lines if rows are high enough; else they are wide, which
    leaves no space for numbers on the other side.
    """
    groups = marks.select("row", "group").unique(maintain_order=True).sort("row")
    ax.set_ylim(groups.height - 0.4, -0.6)
    ax.set_yticks(groups["row"].to_list())
    # Narrow Axes, as in a column of a paper or on a phone, allow names less width and more lines.
    narrow, high = across <= NARROW, theme.size_in_points(ax)[1] / groups.height
    lines = min(max(int((0.75 if narrow else 1.0) * high / 12), 1), 3 if narrow else 2)
    share = 0.33 if narrow and lines > 1 else 0.4
    width = longest(marks["panel"].n_unique())
    width = width if new_figure else min(width, max(int(share * across / 5.3), 10))
    wrapped_names = (
        lettering.wrapped_all(groups["group"].to_list(), width, lines=lines) if names else [""] * groups.height
    )
    broken = (
        any("…" in name for name in wrapped_names)
        or max(map(len, re.split(r"[\s-]+", " ".join(groups["group"])))) > width
    )
    above = names and narrow and high >= _ABOVE and broken
    wide = names and narrow and not (above or new_figure) and any("…" in name for name in wrapped_names)
    if wide:
        wrapped_names = lettering.wrapped_all(
            groups["group"].to_list(), int(_WIDE * across / lettering.LETTER), lines=lines
        )
    ax.set_yticklabels(
        [""] * groups.height if above else wrapped_names, fontsize=theme.SMALL if narrow else theme.NORMAL
    )
    if above:
        _names_above(ax, groups, 1.2 * across)  # names may extend over the columns of numbers
    lettering.literal(ax.get_yticklabels())
    ax.tick_params(axis="y", length=0, pad=8)  # a point at 0 does not touch the name
    if groups.height > 18:
        ax.tick_params(axis="x", labeltop=True)
    ax.spines["left"].set_visible(False)
    for row in groups["row"]:
        ax.axhline(row, color=theme.shade(ax, theme.GUIDE), linewidth=0.5, zorder=0.5)
    return "above" if above else "wide" if wide else "beside"


def keep_apart(ax: "Axes", marks: pl.DataFrame) -> None:
    """Limit names to as many lines as fit the height of a row, after the texts below have taken their space."""
    names = marks.select("row", "group").unique().sort("row")["group"].to_list()
    lines_of_names = [label.get_text().split("\n") for label in ax.get_yticklabels()]
    lines = max(int(theme.size_in_points(ax)[1] / len(names) / 12), 1)
    if max(map(len, lines_of_names)) > lines:
        width = max(len(line) for lines_of_name in lines_of_names for line in lines_of_name)
        ax.set_yticklabels(lettering.wrapped_all(names, max(width, 12), lines=lines))


def _names_above(ax: "Axes", groups: pl.DataFrame, width: float) -> None:
    """Write the name of each row above its line and numbers, from the left edge, within `width` points."""
    ax.set_ylim(groups.height - 0.5, -0.8)
    full_names = groups["group"].to_list()
    letter = max(lettering.text_width(name) / max(len(name), 1) for name in full_names)
    shortened = lettering.wrapped_all(full_names, max(int(width / max(letter, 1.0)), 10), lines=1)
    for row, name in zip(groups["row"], shortened, strict=True):
        ax.annotate(
            name,
            (0, row),
            xycoords=("axes fraction", "data"),
            xytext=(0, 9),
            textcoords="offset points",
            fontsize=theme.SMALL,
            annotation_clip=False,
            parse_math=False,
            bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.6},
        ).set_in_layout(False)
