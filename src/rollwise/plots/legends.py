"""Legends around the Axes: color keys, labeled lines, names without overlap."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

from rollwise.plots import lettering, theme, ticking
from rollwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NARROW = 300.0  # Axes of this width or less, in points, have no key beside them
_LETTERS = 8  # characters of the shortest name


def key_above(figure: "Figure", entries: Sequence[Any]) -> tuple[Any, float]:
    """Draw the key of colors and lines in rows above the whole figure; return it and its height in points."""
    across, beside = figure.get_figwidth() * 72, theme.em(46.0)
    names = lettering.filled_all([str(entry.get_label()) for entry in entries], across - beside, lines=3)
    widths = [max(map(lettering.text_width, name.split("\n"))) + beside for name in names]
    columns = len(entries) if sum(widths) <= across else max(int(across / max(widths)), 1)
    key = figure.legend(list(entries), names, loc="upper left", ncols=columns, frameon=False, fontsize=theme.small())
    key.set_in_layout(False)
    lettering.literal(key.get_texts())
    return key, key.get_window_extent().height * 72 / figure.dpi


def key_outside(ax: "Axes", entries: Sequence[Any]) -> None:
    """Draw the key of colors and lines to the right of the Axes, or above narrow ones."""
    across = theme.size_in_points(ax)[0]
    look: dict[str, Any] = {"handles": list(entries), "frameon": False, "fontsize": theme.small()}
    if wide(ax):
        lettering.literal(ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), **look).get_texts())
        return
    columns = _columns(entries, across)
    look |= {"ncols": columns, "handlelength": 1.4, "columnspacing": 1.0, "labelspacing": 0.2, "borderaxespad": 0.1}
    lettering.literal(ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), **look).get_texts())
    if ax.get_title(loc="left"):
        ax.set_title(ax.get_title(loc="left"), loc="left", pad=10 + 13 * ceil(len(entries) / columns))


def key_height(ax: "Axes", entries: Sequence[Any]) -> float:
    """Return the height in points of the key above the Axes."""
    return 0.0 if wide(ax) else 13.0 * ceil(len(entries) / _columns(entries, theme.size_in_points(ax)[0]))


def _columns(entries: Sequence[Any], across: float) -> int:
    longest = max(lettering.text_width(entry.get_label()) for entry in entries) + 30
    return min(max(int(across / longest), 1), len(entries))


def wide(ax: "Axes") -> bool:
    """Return whether a key fits beside the Axes."""
    return theme.size_in_points(ax)[0] >= NARROW


def marked(ax: "Axes", at: float, words: str, *, top: bool = True) -> None:
    """Draw a dotted vertical line and its label to the right, or to the left if the line is far right."""
    muted = theme.shade(ax, theme.MUTED)
    ax.axvline(at, color=muted, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1.5)
    far = ax.transAxes.inverted().transform(ax.transData.transform((at, 0)))[0] > 0.7
    ax.annotate(
        words,
        (at, 1 if top else 0),
        xycoords=("data", "axes fraction"),
        xytext=(-4 if far else 4, -2 if top else 3),
        textcoords="offset points",
        va="top" if top else "bottom",
        ha="right" if far else "left",
        fontsize=theme.small(),
        color=muted,
    )


def key(
    ax: "Axes",
    entries: Sequence[Any],
    *,
    below: float,
    height: float = float("inf"),
    short: Sequence[str] = (),
) -> float:
    """Draw the color key below Axes of the user, `below` points under them; return the height used below in points.

    If the key is higher than `height`, entries get their `short` names, shortened as far as necessary; the key is left out if
    even those do not fit.
    """
    # The key starts at the left edge of the figure, below the names of the y axis.
    figure = ax.get_figure(root=True)
    theme.settle(figure)
    across = theme.size_in_points(ax)[0]
    left_margin = max(ax.get_window_extent().x0 * 72 / (figure.dpi if figure is not None else 100.0) - 4, 0.0)
    most = max(int((across + left_margin - 32) / lettering.LETTER), 8)
    names = [labels.shorten(str(entry.get_label()), most) for entry in entries]
    columns = _columns_of(names, across + left_margin)
    # Shorten names until the key fits.
    for letters in range(min(most, max(map(len, short), default=0)), _LETTERS - 1, -2):
        if _rows_height(names, columns) <= height:
            break
        names = labels.shorten_all(short, letters)
        columns = _columns_of(names, across + left_margin)
    if _rows_height(names, columns) > height:
        return below
    legend = ax.legend(
        entries,
        names,
        fontsize=theme.small(),
        frameon=False,
        loc="upper left",
        ncols=columns,
        handlelength=1.5,
        columnspacing=0.9,
        borderaxespad=0,
        borderpad=0,
        bbox_to_anchor=(-left_margin / across, -below),
        bbox_transform=theme.points_below(ax),
    )
    lettering.literal(legend.get_texts())
    return below + _rows_height(names, columns)


def to_the_left(ax: "Axes", below: float) -> None:
    """Move the key below the Axes to the left edge of the figure again, once the Axes have their final place."""
    legend, figure = ax.get_legend(), ax.get_figure(root=True)
    if legend is not None and figure is not None:
        left = max(ax.get_window_extent().x0 * 72 / figure.dpi - 4, 0.0)
        legend.set_bbox_to_anchor((-left / theme.size_in_points(ax)[0], -below), theme.points_below(ax))


def _columns_of(names: Sequence[str], across: float) -> int:
    """Return how many names fit side by side."""
    return max(int(across / (max(map(lettering.text_width, names)) + 32)), 1)


def _rows_height(names: Sequence[str], columns: int) -> float:
    return 6 + 14.0 * ceil(len(names) / columns)


def spread(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """Return centers as close as possible to the wanted ones without overlap, within low..high if they fit.

    Of equal centers the first is on top. This is the least-squares solution, by pooling adjacent violators (isotonic
    regression).
    """
    if not wanted:
        return []
    order = sorted(range(len(wanted)), key=lambda place: (wanted[place], -place))
    offsets = [0.0]
    for before, after in pairwise(order):
        offsets.append(offsets[-1] + (heights[before] + heights[after]) / 2)
    pools: list[tuple[float, int]] = []  # mean of wanted centers minus offsets; number of centers
    # Each pool is a block of touching names; its center is the mean of what its names want.
    for place, offset in zip(order, offsets, strict=True):
        pools.append((wanted[place] - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (first, size), (second, next_size) = pools[-2:]
            pools[-2:] = [((first * size + second * next_size) / (size + next_size), size + next_size)]
    free = [mean for mean, size in pools for _ in range(size)]
    # Move the blocks inside the limits, or center them if they do not fit.
    bottom = low + heights[order[0]] / 2
    top = high - heights[order[-1]] / 2 - offsets[-1]
    free = [max(min(value, top), bottom) if top >= bottom else (top + bottom) / 2 for value in free]
    centers = [0.0] * len(wanted)
    for place, value, offset in zip(order, free, offsets, strict=True):
        centers[place] = ticking.round_off(value + offset)
    return centers
