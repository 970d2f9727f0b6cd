"""Names beside points, where they hide neither a point nor one another."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from turnwise.plots import lettering, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = 12.0  # points up that a line of small type takes
_AROUND = 7.0  # points between a point and its name
_FAR = 22.0  # the same for a name that found no room close by


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the Axes, in points from its lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: "Box") -> float:
        """The area that both cover."""
        across = min(self.right, other.right) - max(self.left, other.left)
        up = min(self.top, other.top) - max(self.bottom, other.bottom)
        return across * up if across > 0 and up > 0 else 0.0

    def outside(self, width: float, height: float) -> float:
        """The area beyond the Axes."""
        whole = (self.right - self.left) * (self.top - self.bottom)
        return whole - self.overlap(Box(0.0, 0.0, width, height))


def have_room(ax: "Axes", names: Iterable[str]) -> bool:
    """Return whether the names leave at least three quarters of the Axes free."""
    theme.settle(ax.get_figure(root=True))
    width, height = theme.size_in_points(ax)
    area = sum(min(lettering.text_width(name), 24 * 6.0) * _LINE * (1 + len(name) // 24) for name in names)
    return area <= 0.25 * width * height


def name_points(
    ax: "Axes",
    points: Sequence[tuple[float, float, str, str]],
    *,
    lines: Sequence[tuple[float, float, float, float]] = (),
) -> None:
    """Write a name beside each point, on the side that hides the least; one far from its point has a line to it.

    Parameters
    ----------
    ax
        With its final limits.
    points
        x and y in the data's units, the name (empty: only keep others off), and its color.
    lines
        What else names should keep off: x, y to x, y of each line, all of them level or upright.
    """
    theme.settle(ax.get_figure(root=True))
    width, height = theme.size_in_points(ax)

    def there(x: float, y: float) -> tuple[float, float]:
        across, up = ax.transAxes.inverted().transform(ax.transData.transform((x, y)))
        return float(across * width), float(up * height)

    taken = [Box(x - 4, y - 4, x + 4, y + 4) for x, y in (there(x, y) for x, y, _, _ in points)]
    thin = []
    for x, y, x_end, y_end in lines:
        (left, bottom), (right, top) = there(x, y), there(x_end, y_end)
        thin.append(Box(min(left, right) - 1, min(bottom, top) - 1, max(left, right) + 1, max(bottom, top) + 1))
    for x, y, name, color in points:
        if not name:
            continue
        text = lettering.wrapped(name, 24)
        size = (max(lettering.text_width(line) for line in text.split("\n")), _LINE * (1 + text.count("\n")))
        at = there(x, y)
        best: tuple[float, float, float, Box] | None = None
        for far, (side, level) in product((_AROUND, _FAR), product((1, -1, 0), (0.5, 1, 0))):
            if side == 0 and level == 0.5:
                continue
            left = at[0] + (far if side == 1 else -far - size[0] if side == -1 else -size[0] / 2)
            bottom = (
                at[1] - size[1] / 2 if level == 0.5 else at[1] + far / 1.5 if level else at[1] - far / 1.5 - size[1]
            )
            box = Box(left, bottom, left + size[0], bottom + size[1])
            hidden = sum(box.overlap(other) for other in taken) + 0.35 * sum(box.overlap(other) for other in thin)
            cost = hidden + 3.0 * box.outside(width, height) + (8.0 if far == _FAR else 0.0)
            if best is None or cost < best[0] - 1e-6:
                best = (cost, left, far, box)
        assert best is not None
        _, left, far, box = best
        taken.append(box)
        ax.annotate(
            text,
            (x, y),
            xytext=(left - at[0], box.bottom - at[1]),
            textcoords="offset points",
            va="bottom",
            fontsize=theme.SMALL,
            color=theme.ink(color, ax.get_facecolor()),
            parse_math=False,
            annotation_clip=False,
            linespacing=1.1,
            zorder=6,
            arrowprops={"arrowstyle": "-", "linewidth": 0.6, "color": color, "shrinkB": 4} if far == _FAR else None,
        )
