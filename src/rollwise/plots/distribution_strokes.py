"""Drawing of a distribution: steps, boxes with points, bars."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from rollwise.plots import lettering, tags, theme, ticking
from rollwise.plots.layout import Sheet
from rollwise.plots.theme import Axes
from rollwise.schema import labels

_LINES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


_FEW = 4  # at most so many groups have the key inside the Axes
_LOW = 6.5  # height in points of the lowest row with a name
_LINE, _ROW = 11.0, 42.0  # height in points of a line of small type, and of a row of boxes or bars


def _named(group: Mapping[str, Any]) -> str:
    """Return the name of the group with its numbers of rollouts."""
    sizes = _sizes(group).replace(" ", lettering.JOINT)
    return f"{labels.isolated(labels.shorten(group['group'], 200))} ({sizes})"


def _sizes(group: Mapping[str, Any]) -> str:
    unknown = f", {labels.count(group['n_unknown'])} unknown" if group["n_unknown"] else ""
    return f"n = {labels.count(group['n'])}{unknown}"


def _tagged(ax: Axes, placed: pl.DataFrame, groups: pl.DataFrame) -> Iterator[tuple[Mapping[str, Any], pl.DataFrame]]:
    """Yield each group and its marks; what is drawn meanwhile is tagged as its."""
    for group in groups.iter_rows(named=True):
        with tags.tagged(ax, group["key"], group["group"], _sizes(group)):
            yield group, placed.filter(row=group["row"])


def steps(sheet: Sheet, ax: Axes, placed: pl.DataFrame, groups: pl.DataFrame) -> None:
    """Draw a step function for each group, with its marker at the median and a key."""
    theme.dress(ax)
    least, greatest = float(placed["x"].min()), float(placed["x"].max())  # type: ignore[arg-type]
    logarithmic = ax.get_xscale() == "log"
    margin = 0.04 * (greatest - least) or abs(greatest) * 0.1 or 1.0
    ends = (least / 1.15, greatest * 1.15) if logarithmic else (least - margin, greatest + margin)
    order = sorted(groups.drop_nulls("color")["group"])
    for group, part in _tagged(ax, placed, groups):
        has_values = not part.is_empty()
        # The marker of a step function is where it reaches one half.
        half = [place for place, reached in enumerate(part["y"], 1) if reached >= 0.5][:1]
        path = ([ends[0], *part["x"], ends[1]], [0.0, *part["y"], 1.0]) if has_values else ([], [])
        if group["color"] is None:
            ax.plot(*path, drawstyle="steps-post", color=theme.shade(ax, theme.GRAY), linewidth=0.9, zorder=1)
            continue
        dashes = _LINES[order.index(group["group"]) // theme.MAX_COLORS % len(_LINES)]
        look: dict[str, Any] = {
            "color": group["color"],
            "linewidth": 1.8,
            "linestyle": dashes,
            "marker": group["marker"],
        }
        look |= {"markersize": theme.marker_size(group["marker"]), "markeredgecolor": ax.get_facecolor()}
        name = _named(group) if sheet.ax is None else group["group"]
        ax.plot(*path, drawstyle="steps-post", markevery=half if has_values else None, label=name, **look)
    ax.set_xlim(*ends)
    ax.set_ylim(-0.02, 1.02)
    ticking.percent(ax, "y")
    ax.set_ylabel("share of rollouts at or below x", fontsize=theme.normal())
    _key(sheet, ax)


def _key(sheet: Sheet, ax: Axes) -> None:
    """Draw the key inside the Axes if there is space, else above."""
    # The group with the least median is the uppermost curve; one without values has none. Gray lines have no label.
    lines = [line for line in ax.get_lines()[::-1] if not str(line.get_label()).startswith("_")]
    entries = sorted(lines, key=lambda line: len(line.get_xdata()) == 0)  # type: ignore[arg-type]
    # The key needs free space inside the Axes, which a long name does not leave.
    longest = max(lettering.text_width(str(entry.get_label())) for entry in entries) + theme.em(32)
    if len(entries) <= _FEW and longest < 0.42 * (sheet.width - theme.em(70)):
        names = [str(entry.get_label()).replace(lettering.JOINT, " ") for entry in entries]
        key = ax.legend(entries, names, fontsize=theme.small(), frameon=False, loc="best")
        lettering.literal(key.get_texts())
    else:
        sheet.entries = entries


def boxes(sheet: Sheet, ax: Axes, placed: pl.DataFrame, groups: pl.DataFrame) -> None:
    """Draw a box with whiskers for each group, with its points below."""
    from matplotlib.patches import Rectangle

    theme.dress(ax, grid="x")
    for group, part in _tagged(ax, placed, groups):
        row, color = group["row"], group["color"]
        if part.is_empty():
            continue
        points = part.filter(mark="point")
        # The box is in the upper part of the row, the points in the lower part.
        box = dict(part.filter(pl.col("mark") != "point").select("mark", "x").rows())
        look: dict[str, Any] = {
            "linestyle": "none",
            "marker": "o",
            "markersize": 3.2,
            "markeredgewidth": 0,
            "alpha": 0.5,
        }
        ax.plot(points["x"].to_list(), [row + 0.22 + 0.2 * y for y in points["y"]], color=color, zorder=2.5, **look)
        for inner, outer in (("q1", "whisker_low"), ("q3", "whisker_high")):
            ax.plot([box[inner], box[outer]], [row - 0.14] * 2, color=color, linewidth=1.4, zorder=3)
        look = {"facecolor": ax.get_facecolor(), "edgecolor": color, "linewidth": 1.4, "zorder": 3}
        ax.add_patch(Rectangle((box["q1"], row - 0.28), box["q3"] - box["q1"], 0.28, **look))
        ax.plot([box["median"]] * 2, [row - 0.28, row], color=color, linewidth=3, solid_capstyle="butt", zorder=4)
    _name_rows(sheet, ax, groups)
    ends = placed["x"].to_list()
    if ax.get_xscale() == "log":
        ax.set_xlim(min(ends) / 1.25, max(ends) * 1.25)
    else:
        ax.set_xlim(*ticking.number_ends(ends))
    ax.set_ylim(groups.height - 0.4, -0.6)


def bars(sheet: Sheet, ax: Axes, placed: pl.DataFrame, groups: pl.DataFrame) -> None:
    """Draw a row of bars for each group, all on one scale."""
    theme.dress(ax, grid="x")
    highest = float(placed["y"].max())  # type: ignore[arg-type]
    for group, part in _tagged(ax, placed, groups):
        base, wide = group["row"] + 0.42, (part["until"] - part["x"]).to_list()
        high = [-0.8 * height / highest for height in part["y"]]  # the y axis points down
        look: dict[str, Any] = {"color": group["color"], "edgecolor": ax.get_facecolor(), "linewidth": 0.7}
        ax.bar(part["x"].to_list(), high, width=wide, bottom=base, align="edge", zorder=2.5, **look)
        ax.axhline(base, color=theme.shade(ax, theme.GRAY), linewidth=0.8, zorder=3)
    _name_rows(sheet, ax, groups)
    ax.set_xlim(*ticking.number_ends([*placed["x"], *placed["until"]]))
    ax.set_ylim(groups.height - 0.5, -0.5)


def row_height(sheet: Sheet, names: Sequence[str]) -> float:
    """Return the height of a row, at letters of 10 points, in which each name and its numbers have space."""
    lines = max(name.count("\n") for name in lettering.filled_all(names, _beside(sheet), lines=3)) + 2
    return max(_ROW, _LINE * lines + 9.0)


def _beside(sheet: Sheet) -> float:
    """Return the width in points of names beside their rows."""
    return max(0.34 * sheet.width, theme.em(48))


def _name_rows(sheet: Sheet, ax: Axes, groups: pl.DataFrame) -> None:
    """Write the name and numbers of each row in as many lines as fit its height; none if not even one fits."""
    # Names get the lines that fit; one of them is for the numbers of rollouts.
    high = sheet.height() / groups.height
    lines = int(high / theme.em(_LINE)) or int(high >= _LOW)
    names = lettering.filled_all(groups["group"].to_list(), _beside(sheet), lines=min(max(lines - 1, 1), 3))
    names_with_sizes = [
        f"{name}\n{_sizes(group)}" for name, group in zip(names, groups.iter_rows(named=True), strict=True)
    ]
    tick_labels = names_with_sizes if lines > 1 else names if lines else [""] * groups.height
    ax.set_yticks(groups["row"].to_list(), labels=tick_labels, fontsize=theme.small())
    lettering.literal(ax.get_yticklabels())
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
