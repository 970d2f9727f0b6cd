"""Drawing of a trade-off: axes, front, crosses, dots, names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import hypot
from typing import Any

import polars as pl

from rollwise.comparisons.selection import Better
from rollwise.plots import legends, lettering, tags, theme, ticking
from rollwise.plots.layout import Sheet
from rollwise.plots.theme import Axes
from rollwise.schema import labels
from rollwise.schema.named import columns_named

_NAME = 125.0  # width of a name in points, at most
_LINE = 12.0  # height of a line of small type in points
_AROUND = 7.0  # distance in points between a point and its name
_FAR = 22.0  # distance for a name that did not fit close by
_EDGE = 3.0  # distance in points from the edge of the Axes
_STRANGE = 40.0  # square points that a name may cover rather than be nearer to another point


def scene(
    ax: Axes,
    placed: pl.DataFrame,
    frame: pl.DataFrame,
    ways: Mapping[str, Better],
    *,
    front: bool,
    crosses: bool = True,
) -> list[tuple[float, float, float, float]]:
    """Draw everything except names, with or without intervals; return the horizontal and vertical lines of the front."""
    metrics = {side: placed[f"{side}_metric"][0] for side in ("x", "y")}
    _axes(ax, placed, {side: labels.is_rate(name, frame) for side, name in metrics.items()})
    for side, name in metrics.items():
        axis_label = labels.quantity(name, frame["statistic"][0], frame)
        axis_label += f" ({ways[name]} is better)" if name in ways else ""
        (ax.set_xlabel if side == "x" else ax.set_ylabel)(axis_label, fontsize=theme.normal(), parse_math=False)
    steps = _front(ax, placed, ways[metrics["x"]], ways[metrics["y"]]) if front else []
    for dots in placed.filter(role="trial").partition_by("color", maintain_order=True):
        style: dict[str, Any] = {"linestyle": "none", "marker": ".", "markersize": 5, "markeredgewidth": 0}
        ax.plot(dots["x"].to_list(), dots["y"].to_list(), color=dots["color"][0], alpha=0.5, zorder=2, **style)
    for row in placed.filter(pl.col("role") != "trial").iter_rows(named=True):
        with tags.tagged(ax, row["key"], row["group"], row["text"]):
            _paint(ax, row, crosses=crosses)
    return steps


def in_ink(marks: pl.DataFrame, ax: Axes) -> pl.DataFrame:
    """Return the marks that can be drawn, in colors visible on the background; gray if they have no color."""
    placed = theme.visible(marks.filter(pl.col("shape") != "missing"), ax)
    return placed.with_columns(pl.col("color").fill_null(theme.shade(ax, theme.MUTED)))


def paled(placed: pl.DataFrame, loud: pl.Expr, ax: Axes) -> pl.DataFrame:
    """Return the marks with all but the `loud` ones in gray, without intervals, and below the others."""
    ends = [f"{side}_{end}" for side in ("x", "y") for end in ("low", "high")]
    bare = [pl.when(loud | (pl.col("shape") != "point")).then(end).alias(end) for end in ends]
    gray = {"color": theme.shade(ax, 2 * theme.GRAY), "marker": "."}
    look = [pl.when(loud).then(name).otherwise(pl.lit(value)).alias(name) for name, value in gray.items()]
    return placed.sort(loud, maintain_order=True).with_columns(*bare, *look)


def _axes(ax: Axes, placed: pl.DataFrame, rates: Mapping[str, bool]) -> None:
    theme.dress(ax)
    ax.grid(visible=True, axis="x", color=theme.shade(ax, theme.GUIDE), linewidth=0.7)
    for side in rates:
        columns = placed.select(*columns_named(side), f"{side}_low", f"{side}_high")
        values = columns.unpivot()["value"].drop_nulls().to_list()
        ends = ticking.number_ends(values)
        if rates[side] and all(0 <= value <= 1 for value in values):
            end = ticking.rate_end(values)
            ends = (-0.02 * end, 1.02 * end)
        (ax.set_xlim if side == "x" else ax.set_ylim)(*ends)
        if rates[side]:
            ticking.percent(ax, side)
        else:
            ticking.thousands(ax, side)


def _corners(placed: pl.DataFrame, x_way: Better) -> list[tuple[float, float]]:
    """Return the corners of the front: steps from the best group in x to the best in y."""
    best = placed.filter("pareto").select("x", "y").unique().sort("x", descending=x_way == "higher").rows()
    corners = best[:1]
    # Between two groups of the front the step goes through their worse corner.
    for (_, y), (x_next, y_next) in pairwise(best):
        corners += [(x_next, y), (x_next, y_next)]
    return corners


def _front(ax: Axes, placed: pl.DataFrame, x_way: Better, y_way: Better) -> list[tuple[float, float, float, float]]:
    """Draw the front; return its horizontal and vertical lines."""
    corners = _corners(placed, x_way)
    if not corners:
        return []
    # The front continues to the edge of the Axes on its worse sides.
    worst_x, worst_y = ax.get_xlim()[x_way == "lower"], ax.get_ylim()[y_way == "lower"]
    path = [(corners[0][0], worst_y), *corners, (worst_x, corners[-1][1])]
    ax.plot(*zip(*path, strict=True), color=theme.shade(ax, 0.45), linewidth=1.1, linestyle=(0, (4, 2)), zorder=1.5)
    return [(*start, *stop) for start, stop in pairwise(path)]


def _paint(ax: Axes, row: Mapping[str, Any], *, crosses: bool) -> None:
    color, has_estimate = row["color"], row["shape"] == "point"
    middle = {side: row[side] if row[side] is not None else _middle(row, side) for side in ("x", "y")}
    style: dict[str, Any] = {"color": color, "solid_capstyle": "butt", "zorder": 2.5}
    style |= {"linewidth": 1.3, "alpha": 0.75} if has_estimate else {"linewidth": 1.3, "linestyle": (0, (2, 1.5))}
    for side, (first, second) in (("x", ax.get_xlim()), ("y", ax.get_ylim())):
        low, high = row[f"{side}_low"], row[f"{side}_high"]
        if (low is None and high is None) or not (crosses or not has_estimate):
            continue
        ends = [first if low is None else low, second if high is None else high]
        ax.plot(*((ends, [middle["y"]] * 2) if side == "x" else ([middle["x"]] * 2, ends)), **style)
    if has_estimate:
        ax.plot([row["x"]], [row["y"]], **_symbol(ax, row), zorder=4, clip_on=False)


def _middle(row: Mapping[str, Any], side: str) -> float:
    ends = [row[f"{side}{end}"] for end in ("_low", "_high") if row[f"{side}{end}"] is not None]
    return float(sum(end / len(ends) for end in ends))


def _symbol(ax: Axes, row: Mapping[str, Any]) -> dict[str, Any]:
    bare = all(row[f"{side}_{end}"] is None for side in ("x", "y") for end in ("low", "high"))
    return theme.symbol(ax, row["color"], row["marker"], hollow=bare) | {"linestyle": "none"}


def entries(ax: Axes, placed: pl.DataFrame) -> list[Any]:
    """Return the entries of the key: colors and markers."""
    return [legends.entry(row["group"], **_symbol(ax, row)) for row in placed.iter_rows(named=True)]


def name(
    ax: Axes,
    placed: pl.DataFrame,
    named: Sequence[str],
    steps: Sequence[tuple[float, float, float, float]],
    *,
    crosses: bool = True,
) -> None:
    """Write these names beside their points, avoiding everything else."""
    if not named or placed.filter(pl.col("role") != "trial")["group"].to_list() == [labels.ALL]:
        return
    points: dict[tuple[float, float], tuple[list[str], str]] = {}
    lines = [*steps]
    for row in placed.iter_rows(named=True):
        x, y = (row[side] if row[side] is not None else _middle(row, side) for side in ("x", "y"))
        more = [row["group"]] if row["group"] in named and row["role"] != "trial" else []
        names, _ = points.get((x, y), ([], ""))
        points[x, y] = list(dict.fromkeys([*names, *more])), row["color"]
        if crosses and row["x_low"] is not None and row["x_high"] is not None:
            lines.append((row["x_low"], y, row["x_high"], y))
        if crosses and row["y_low"] is not None and row["y_high"] is not None:
            lines.append((x, row["y_low"], x, row["y_high"]))
    # Names of groups at one point are one text.
    ink = theme.shade(ax, 1.0)
    texts = [(x, y, ", ".join(names), ink if len(names) > 1 else color) for (x, y), (names, color) in points.items()]
    name_points(ax, texts, lines=lines)


# ── names beside points ───────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the Axes, in points from its lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def weight(self) -> float:
        """Return how much a line harms a name: along it, it strikes the name through."""
        return 1.0 if self.right - self.left > self.top - self.bottom else 0.35

    def overlap(self, box: "Box") -> float:
        """Return the area that both cover."""
        across = min(self.right, box.right) - max(self.left, box.left)
        up = min(self.top, box.top) - max(self.bottom, box.bottom)
        return across * up if across > 0 and up > 0 else 0.0

    def distance(self, x: float, y: float) -> float:
        """Return the distance to a point."""
        return hypot(max(self.left - x, x - self.right, 0.0), max(self.bottom - y, y - self.top, 0.0))

    def outside(self, width: float, height: float) -> float:
        """Return the area outside the Axes, or at their edge."""
        area = (self.right - self.left) * (self.top - self.bottom)
        return area - self.overlap(Box(_EDGE, _EDGE, width - _EDGE, height - _EDGE))


def have_room(sheet: Sheet, names: Iterable[str]) -> bool:
    """Return whether the names leave at least three quarters of the Axes free, and are short enough for them."""
    height = min(sheet.high, sheet.height(len(sheet.axes), sheet.columns))
    width = sheet.across() - theme.em(60)
    longest = theme.em(_NAME)
    area = sum(
        min(lettering.text_width(name), longest) * theme.em(_LINE) * (1 + lettering.filled(name, longest).count("\n"))
        for name in names
    )
    return area <= 0.25 * width * height and longest <= 0.6 * width


def name_points(
    ax: Axes,
    points: Sequence[tuple[float, float, str, str]],
    *,
    lines: Sequence[tuple[float, float, float, float]] = (),
) -> None:
    """Write a name beside each point, where it covers the least; a name far from its point gets a line to it."""
    width, height = theme.size_in_points(ax)

    def in_points(x: float, y: float) -> tuple[float, float]:
        across, up = ax.transAxes.inverted().transform(ax.transData.transform((x, y)))
        return float(across * width), float(up * height)

    # Rectangles to avoid: all points, lines, and names placed so far.
    places = [in_points(x, y) for x, y, _, _ in points]
    occupied, names = [Box(x - 4, y - 4, x + 4, y + 4) for x, y in places], list[Box]()
    thin = []
    for x, y, x_end, y_end in lines:
        (x_min, bottom), (right, top) = in_points(x, y), in_points(x_end, y_end)
        thin.append(Box(min(x_min, right) - 1, min(bottom, top) - 1, max(x_min, right) + 1, max(bottom, top) + 1))
    for x, y, name, color in points:
        if not name:
            continue
        text = lettering.filled(name, theme.em(_NAME), lines=3)
        size = (max(map(lettering.text_width, text.split("\n"))), theme.em(_LINE) * (1 + text.count("\n")))
        at = in_points(x, y)
        # Try eight positions close by and eight farther away; the costs are the covered area, weighted by what is covered.
        best: tuple[float, float, float, Box] | None = None
        for far, (side, level) in product((_AROUND, _FAR), product((1, -1, 0), (0.5, 1, 0))):
            if side == 0 and level == 0.5:
                continue
            x_min = at[0] + {1: far, -1: -far - size[0], 0: -size[0] / 2}[side]
            bottom = at[1] + {1: far / 1.5, 0: -far / 1.5 - size[1], 0.5: -size[1] / 2}[level]
            box = Box(x_min, bottom, x_min + size[0], bottom + size[1])
            hidden = sum(map(box.overlap, occupied)) + 8.0 * sum(map(box.overlap, names))
            hidden += sum(box.overlap(line) * line.weight for line in thin)
            # A name without a line belongs to the point next to it.
            near = any(box.distance(*other) <= box.distance(*at) for other in places if other != at)
            strange = near and far == _AROUND
            cost = hidden + 3.0 * box.outside(width, height) + (8.0 if far == _FAR else _STRANGE if strange else 0.0)
            if best is None or cost < best[0] - 1e-6:
                best = (cost, x_min, far, box)
        assert best is not None
        _, x_min, far, box = best
        names.append(box)
        line = {"arrowstyle": "-", "linewidth": 0.6, "color": color, "shrinkB": 4} if far == _FAR else None
        ground = lettering.ground(ax, 0.5) | {"alpha": 0.8}  # intervals below a name would strike its letters through
        look = {"color": theme.ink(color, ax.get_facecolor()), "bbox": ground, "arrowprops": line, "linespacing": 1.1}
        by = (x_min - at[0], box.bottom - at[1])
        lettering.write(ax, text, (x, y), "data", by=by, va="bottom", zorder=6, **look)
