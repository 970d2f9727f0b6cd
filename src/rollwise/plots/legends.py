"""Legends around the Axes: color keys, labeled lines, names without overlap."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from rollwise.plots import lettering, theme, ticking
from rollwise.plots.theme import Axes, Figure


def entry(name: str, **look: Any) -> Any:
    """Return a line or marker with its name, for a key."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=name, **look)


def key_above(figure: Figure, entries: Sequence[Any]) -> tuple[Any, float]:
    """Draw the key of colors and lines in rows above the whole figure; return it and its height in points."""
    key = _key(figure, entries, figure.get_figwidth() * 72, loc="upper left")
    key.set_in_layout(False)
    return key, key.get_window_extent().height * 72 / figure.dpi


def key(ax: Axes, entries: Sequence[Any], *, most: float) -> None:
    """Draw the key above the Axes of the user, with shorter names if it is higher than `most` points, or not at all."""
    from matplotlib.transforms import ScaledTranslation

    figure: Any = ax.get_figure(root=True)
    edge = ax.get_window_extent()
    box = ax.get_tightbbox() or edge
    place = ax.transAxes + ScaledTranslation((box.x0 - edge.x0) / figure.dpi, above(ax) / 72, figure.dpi_scale_trans)
    across = box.width * 72 / figure.dpi
    where: dict[str, Any] = {"bbox_to_anchor": (0, 1), "bbox_transform": place, "borderaxespad": 0.2}
    for columns, lines in ((1, 3), (1, 1), (2, 1), (3, 1)):
        drawn = _key(ax, entries, across, columns, lines, loc="lower left", **where)
        names = {text.get_text() for text in drawn.get_texts()}
        if drawn.get_window_extent().height * 72 / figure.dpi <= most and len(names) == len(entries):
            return
    drawn.remove()


def _key(owner: Any, entries: Sequence[Any], across: float, least: int = 1, lines: int = 3, **place: Any) -> Any:
    """Draw a key with as many columns as `across` points hold; names are cut to fit into the `least` number of columns."""
    beside = theme.em(38.0)
    names = lettering.filled_all([str(entry.get_label()) for entry in entries], across / least - beside, lines=lines)
    widths = [max(map(lettering.text_width, name.split("\n"))) + beside for name in names]
    columns = len(entries) if sum(widths) <= across else max(int(across / max(widths)), 1)
    names = [name.replace(lettering.JOINT, " ") for name in names]
    look: dict[str, Any] = {"frameon": False, "fontsize": theme.small(), "columnspacing": 1.3, "handletextpad": 0.6}
    drawn = owner.legend(list(entries), names, ncols=columns, handlelength=1.8, **look, **place)
    lettering.literal(drawn.get_texts())
    return drawn


def above(ax: Axes) -> float:
    """Return how many points something reaches above the Axes."""
    box, figure = ax.get_tightbbox(), ax.get_figure(root=True)
    return 0.0 if box is None else max(box.y1 - ax.get_window_extent().y1, 0.0) * 72 / figure.dpi  # type: ignore[union-attr]


def is_far(ax: Axes, at: float) -> bool:
    """Return whether a position is so far right that its label is to its left."""
    return bool(ax.transAxes.inverted().transform(ax.transData.transform((at, 0)))[0] > 0.7)


def marked(ax: Axes, at: float, words: str, *, top: bool = True) -> None:
    """Draw a dotted vertical line and its label to the right, or to the left if the line is far right."""
    ax.axvline(at, color=theme.shade(ax, theme.MUTED), linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1.5)
    far = is_far(ax, at)
    lettering.write(
        ax,
        words,
        (at, 1 if top else 0),
        ("data", "axes fraction"),
        by=(-4 if far else 4, -2 if top else 3),
        va="top" if top else "bottom",
        ha="right" if far else "left",
    )


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
    bottom = low + heights[order[0]] / 2
    top = high - heights[order[-1]] / 2 - offsets[-1]
    free = [max(min(value, top), bottom) if top >= bottom else (top + bottom) / 2 for value in free]
    centers = [0.0] * len(wanted)
    for place, value, offset in zip(order, free, offsets, strict=True):
        centers[place] = ticking.round_off(value + offset)
    return centers
