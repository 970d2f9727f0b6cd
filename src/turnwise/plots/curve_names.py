"""Names of the curves: at their ends, pushed apart, or as entries of a key."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from turnwise.plots import curve_strokes as strokes
from turnwise.plots import legends, lettering, theme
from turnwise.plots.curve_marks import after_start
from turnwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

_DIRECT = 6  # curves that are named at their ends
_NAME, _COMPACT_NAME, _NARROW_NAME = 24, 19, 14  # characters of a name
_SHORT = 42.0  # points across a name that needs no room of its own


def letters_beside(ax: "Axes", *, compact: bool) -> int:
    """Return the number of letters of a name that fit beside the curves."""
    return _COMPACT_NAME if compact else min(max(int(0.35 * theme.size_in_points(ax)[0] / 5.8), 8), _NAME)


def beyond_short(names: Sequence[str], *, table: bool) -> float:
    """Points that names at the ends of compact curves, and in the table below, take beyond those of short ones.

    Examples
    --------
    >>> beyond_short(["base", "guarded"], table=True)
    0.0
    """
    ends = "\n".join(lettering.wrapped_all(names, _COMPACT_NAME)).split("\n")
    rows = labels.shorten_all(names, _COMPACT_NAME) if table else []
    right = max(lettering.text_width(line, theme.NORMAL) for line in ends)
    left = max((lettering.text_width(row) for row in rows), default=0.0)
    return max(right - _SHORT, 0.0) + max(left - _SHORT, 0.0)


def name(ax: "Axes", curves: Sequence[pl.DataFrame], *, compact: bool) -> list[tuple["Annotation", float]]:
    """Names at the ends of the curves; a legend where there are too many."""
    from matplotlib.transforms import ScaledTranslation

    ends = [after_start(curve).drop_nulls("estimate").tail(1) for curve in curves]
    known = [end.row(0, named=True) for end in ends if end.height]
    for row in known:
        if row["style"] == "step":
            ax.plot([row["until"]], [row["estimate"]], **strokes.symbol(ax, row))
    if len(known) > _DIRECT:
        legends.key_outside(ax, entries(ax, pl.concat(curves), narrow=not legends.wide(ax)))
        return []
    edge = ax.get_xlim()[1]
    words = lettering.wrapped_all([row["group"] for row in known], letters_beside(ax, compact=compact))
    beside = ax.transData + ScaledTranslation(15 / 72, 0, ax.figure.dpi_scale_trans)
    line = {"arrowstyle": "-", "linewidth": 0.7, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 4}
    return [
        (
            ax.annotate(
                name,
                (row["until"], row["estimate"]),
                xytext=(edge, row["estimate"]),
                textcoords=beside,
                va="center",
                fontsize=theme.NORMAL,
                color=theme.ink(row["color"], ax.get_facecolor()),
                parse_math=False,
                annotation_clip=False,
                arrowprops=line | {"color": row["color"]},
            ),
            row["estimate"],
        )
        for row, name in zip(known, words, strict=True)
    ]


def crowded(marks: pl.DataFrame) -> bool:
    """Return whether there are more curves than can be named at their ends."""
    return marks.drop_nulls("estimate")["group"].n_unique() > _DIRECT


def entries(ax: "Axes", marks: pl.DataFrame, *, narrow: bool = False) -> list[Any]:
    """A marker and a name for each curve, to stand in a key; short names where there is little room."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    known = theme.seen(marks, ax).sort("series").unique("group", keep="first", maintain_order=True).to_dicts()
    most = _NAME if len(known) > _DIRECT else 2 * _NAME
    most = _NARROW_NAME if narrow else most
    words = labels.shorten_all([row["group"] for row in known], most)
    return [
        Patch(facecolor=row["color"], alpha=0.8, label=name)
        if row["style"] == "stack"
        else Line2D([], [], label=name, linewidth=1.6, **strokes.symbol(ax, {**row, "solid": True}))
        for row, name in zip(known, words, strict=True)
    ]


def push_apart(ax: "Axes", names: Sequence[tuple["Annotation", float]], up: float) -> None:
    """Push the names apart, now that a line of type is known as a share of the Axes."""
    (bottom, top), edge = ax.get_ylim(), ax.get_xlim()[1]
    line = 12.5 / max(up, 1.0) * (top - bottom)
    heights = [line * (1.15 + name.get_text().count("\n")) for name, _ in names]
    wanted = [end for _, end in names]
    centers = legends.spread(wanted, heights, bottom - line / 2, top + line / 2)
    for (name, _), center in zip(names, centers, strict=True):
        name.xyann = (edge, center)
