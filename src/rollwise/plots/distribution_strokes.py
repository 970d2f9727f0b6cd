"""Drawing of a distribution: steps, boxes with points, bars."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rollwise.plots import legends, lettering, theme, ticking
from rollwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


_FEW = 4  # at most so many groups have the key inside the Axes
_LINE = 9.5  # height in points of a line of small type
_LEAST = 80.0  # height in points that curves keep before the key gets more


def named(group: Mapping[str, Any], most: int = 44) -> str:
    """Return the name of the group with its numbers of rollouts."""
    return f"{labels.shorten(group['group'], most)} ({_sizes(group)})"


def _sizes(group: Mapping[str, Any]) -> str:
    unknown = f", {labels.count(group['n_unknown'])} unknown" if group["n_unknown"] else ""
    return f"n = {labels.count(group['n'])}{unknown}"


def steps(ax: "Axes", placed: pl.DataFrame, groups: pl.DataFrame, *, new_figure: bool, caption: float) -> float:
    """Draw a step function for each group, with its marker at the median and a key.

    The key leaves space for the curves and for a caption of that height. Returns the height in points used below the Axes.
    """
    theme.dress(ax)
    least, greatest = float(placed["x"].min()), float(placed["x"].max())  # type: ignore[arg-type]
    logarithmic = ax.get_xscale() == "log"
    margin = 0.04 * (greatest - least) or abs(greatest) * 0.1 or 1.0
    ends = (least / 1.15, greatest * 1.15) if logarithmic else (least - margin, greatest + margin)
    order = sorted(groups["group"])
    for group in groups.iter_rows(named=True):
        part = placed.filter(row=group["row"])
        has_values = not part.is_empty()
        # The marker of a step function is where it reaches one half.
        half = [place for place, reached in enumerate(part["y"], 1) if reached >= 0.5][:1]
        ax.plot(
            [ends[0], *part["x"], ends[1]] if has_values else [],
            [0.0, *part["y"], 1.0] if has_values else [],
            drawstyle="steps-post",
            color=group["color"],
            linewidth=1.8,
            linestyle=_LINES[order.index(group["group"]) // theme.MAX_COLORS % len(_LINES)],
            marker=group["marker"],
            markersize=theme.MARKER_SIZES[group["marker"]],
            markeredgecolor=ax.get_facecolor(),
            markevery=half if has_values else None,
            label=named(group),
        )
    ax.set_xlim(*ends)
    ax.set_ylim(-0.02, 1.02)
    ticking.percent(ax, "y")
    ax.set_ylabel("share of rollouts at or below x", fontsize=theme.NORMAL)
    return _key(ax, groups["group"].to_list(), new_figure=new_figure, caption=caption)


def _key(ax: "Axes", names: list[str], *, new_figure: bool, caption: float) -> float:
    """Draw the key inside the Axes if there is space, else outside."""
    entries = ax.get_lines()
    theme.settle(ax.get_figure(root=True))
    # The key needs free space inside the Axes, which a long name does not leave.
    longest = max(lettering.text_width(str(entry.get_label())) for entry in entries) + 32
    if len(entries) <= _FEW and longest < 0.42 * theme.size_in_points(ax)[0]:
        lettering.literal(ax.legend(fontsize=theme.SMALL, frameon=False, loc="best").get_texts())
        return theme.AXIS
    up = theme.size_in_points(ax)[1] - caption
    return legends.key(ax, entries, new_figure=new_figure, height=max(up - _LEAST, 0.4 * up), short=names)


def boxes(ax: "Axes", placed: pl.DataFrame, groups: pl.DataFrame, *, new_figure: bool, caption: float) -> float:
    """Draw a box with whiskers for each group, with its points below; return the height used below the Axes."""
    from matplotlib.patches import Rectangle

    theme.dress(ax, grid="x")
    for group in groups.iter_rows(named=True):
        part, row, color = placed.filter(row=group["row"]), group["row"], group["color"]
        if part.is_empty():
            continue
        points = part.filter(mark="point")
        # The box is in the upper part of the row, the points in the lower part.
        box = dict(part.filter(pl.col("mark") != "point").select("mark", "x").rows())
        ax.plot(
            points["x"].to_list(),
            [row + 0.22 + 0.2 * y for y in points["y"]],
            linestyle="none",
            marker="o",
            markersize=3.2,
            color=color,
            markeredgewidth=0,
            alpha=0.5,
            zorder=2.5,
        )
        for inner, outer in (("q1", "whisker_low"), ("q3", "whisker_high")):
            ax.plot([box[inner], box[outer]], [row - 0.14] * 2, color=color, linewidth=1.4, zorder=3)
        ax.add_patch(
            Rectangle(
                (box["q1"], row - 0.28),
                box["q3"] - box["q1"],
                0.28,
                facecolor=ax.get_facecolor(),
                edgecolor=color,
                linewidth=1.4,
                zorder=3,
            )
        )
        ax.plot([box["median"]] * 2, [row - 0.28, row], color=color, linewidth=3, solid_capstyle="butt", zorder=4)
    _name_rows(ax, groups, caption)
    ends = placed["x"].to_list()
    if ax.get_xscale() == "log":
        ax.set_xlim(min(ends) / 1.25, max(ends) * 1.25)
    else:
        ax.set_xlim(*ticking.number_ends(ends))
    ax.set_ylim(groups.height - 0.4, -0.6)
    return theme.AXIS


def bars(ax: "Axes", placed: pl.DataFrame, groups: pl.DataFrame, *, new_figure: bool, caption: float) -> float:
    """Draw a row of bars for each group, all on one scale; return the height used below the Axes."""
    theme.dress(ax, grid="x")
    highest = float(placed["y"].max())  # type: ignore[arg-type]
    for group in groups.iter_rows(named=True):
        part = placed.filter(row=group["row"])
        starts, ends, heights = (part[name].to_list() for name in ("x", "until", "y"))
        base = group["row"] + 0.42
        # The y axis points down, so bars have negative heights.
        ax.bar(
            starts,
            [-0.8 * height / highest for height in heights],
            width=[end - start for start, end in zip(starts, ends, strict=True)],
            bottom=base,
            align="edge",
            color=group["color"],
            edgecolor=ax.get_facecolor(),
            linewidth=0.7,
            zorder=2.5,
        )
        ax.axhline(base, color=theme.shade(ax, theme.GRAY), linewidth=0.8, zorder=3)
    _name_rows(ax, groups, caption)
    ax.set_xlim(*ticking.number_ends([*placed["x"], *placed["until"]]))
    ax.set_ylim(groups.height - 0.5, -0.5)
    return theme.AXIS


def _name_rows(ax: "Axes", groups: pl.DataFrame, caption: float) -> None:
    """Write the name and numbers of each row in as many lines as fit its height; none if not even one fits."""
    wide = max(int(ax.get_figure(root=True).get_figwidth() * 0.3 * 72 / 5), 10)  # type: ignore[union-attr]
    # Names get the lines that fit; one of them is for the numbers of rollouts.
    lines = int((theme.size_in_points(ax)[1] - caption) / groups.height / _LINE)
    names = lettering.wrapped_all(groups["group"].to_list(), wide, lines=min(max(lines - 1, 1), 2))
    names_with_sizes = [
        f"{name}\n{_sizes(group)}" for name, group in zip(names, groups.iter_rows(named=True), strict=True)
    ]
    tick_labels = names_with_sizes if lines > 1 else names if lines else [""] * groups.height
    ax.set_yticks(groups["row"].to_list(), labels=tick_labels, fontsize=theme.SMALL)
    lettering.literal(ax.get_yticklabels())
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
