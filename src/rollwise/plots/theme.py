"""Theme of every figure: colors and markers by name, sizes, new Axes.

Nothing here changes rcParams: settings of the user (a dark style, another font) are kept.
"""

import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rollwise.errors import ArgumentError, either
from rollwise.schema.option_types import check_option_types

# Once on each machine Matplotlib builds a cache, and says so before anything that was asked for.
logging.getLogger("matplotlib.font_manager").addFilter(
    lambda record: "building the font cache" not in record.getMessage()
)

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

    Axes = matplotlib.axes.Axes
    Figure = matplotlib.figure.Figure
else:  # names of types alone: matplotlib is imported with the first figure
    Axes = Figure = Any

# Okabe & Ito (2008), safe for color-blind readers; their yellow is left out, as it is too faint on white. The order keeps the
# first four apart in lightness, for gray print, and to color-blind eyes (simulated after Machado et al. 2009).
PALETTE = ("#0072B2", "#E69F00", "#000000", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
# Sizes that look equal, at letters of 10 points.
_MARKER_SIZES = {"o": 6.5, "s": 6.0, "D": 5.8, "^": 7.3, "v": 7.3, "P": 7.5, "X": 7.0, "*": 10.0}
ONE_COLOR = PALETTE[0]
MUTED, GRAY, GUIDE = 0.6, 0.19, 0.13  # grays: share of the text color in a blend with the background
MAX_COLORS = len(PALETTE)
MAX_KEY = 12  # more curves or points of one panel cannot be told apart
Size = Literal["column", "page", "slide"] | tuple[float, float | None]
SIZES: dict[str, tuple[float, float | None]] = {"column": (3.3, None), "page": (6.9, None), "slide": (10.0, 5.6)}
_SIDE = 1.0, 100.0  # inches


def normal() -> float:
    """Return the font size of labels in points: that of the user's settings."""
    from matplotlib import rcParams

    return float(rcParams["font.size"])


def small() -> float:
    """Return the font size in points of ticks, numbers and captions."""
    return max(0.9 * normal(), 5.5)


def em(points: float) -> float:
    """Return a length in points, given at letters of 10 points, in proportion to the font size."""
    return points * normal() / 10.0


@dataclass(frozen=True, slots=True)
class Look:
    """Color of a name in every figure, and a marker that stays distinct in gray print."""

    color: str
    marker: str


def looks(names: Iterable[str], colors: Mapping[str, str] | None = None) -> dict[str, Look]:
    """Return a look for each name by its position among the sorted names, so that equal sets of names look the same."""
    settled = dict(colors or {})
    ordered = sorted(set(names))
    free = [color for color in PALETTE if color not in settled.values()] or list(PALETTE)
    unsettled = [name for name in ordered if name not in settled]
    chosen = {name: free[place % len(free)] for place, name in enumerate(unsettled)} | settled
    return {name: Look(chosen[name], MARKERS[place % len(MARKERS)]) for place, name in enumerate(ordered)}


def palette(names: Iterable[str], colors: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a color-blind safe color for each name, to pass as `colors=` to figures that show different groups.

    A figure colors its own groups by their order, so a group may change color between figures that lack some of the others.

    Parameters
    ----------
    names
        The names of all groups, in any order.
    colors
        Colors that are already chosen, by name; the other names share the rest of the palette.

    Examples
    --------
    >>> palette(["guarded", "base"])
    {'base': '#0072B2', 'guarded': '#E69F00'}
    """
    check_option_types(palette, locals())
    return {name: look.color for name, look in looks(names, colors).items()}


def row_looks(
    values: Sequence[str], colors: Mapping[str, str] | None = None, *, others: Iterable[str] = ()
) -> list[Look]:
    """Return the look of each row by the value of one factor; one look for all if there are more values than colors.

    `others` are values without a row, such as a baseline, which keep their colors for other figures.
    """
    every = {*values, *others}
    if len(every) > MAX_COLORS and not every <= set(colors or ()):
        return [Look(ONE_COLOR, MARKERS[0])] * len(values)
    look = looks(every, colors)
    return [look[value] for value in values]


def look_alike(groups: pl.DataFrame) -> bool:
    """Return whether too many groups share colors to tell them apart, so that only a few of them have one."""
    names = groups["group"].n_unique()
    return names > MAX_KEY and groups["color"].n_unique() < names


def recolored(groups: pl.DataFrame) -> pl.DataFrame:
    """Return a few of very many groups with looks of their own, as theirs were shared with others; colors of the user stay."""
    settled = dict(groups.filter(~pl.col("color").is_in(PALETTE)).select("group", "color").iter_rows())
    chosen = looks(groups["group"], settled)
    color, marker = ({name: getattr(look, part) for name, look in chosen.items()} for part in ("color", "marker"))
    return groups.with_columns(
        color=pl.col("group").replace_strict(color, return_dtype=pl.String),
        marker=pl.col("group").replace_strict(marker, return_dtype=pl.String),
    )


def marker_size(marker: str) -> float:
    """Return the size of a marker in points, in proportion to the font size."""
    return em(_MARKER_SIZES.get(marker, 6.5))


def symbol(ax: Axes, color: str, marker: str, *, hollow: bool = False) -> dict[str, Any]:
    """Return the style of a marker with an edge in the color of the background, or of a hollow one."""
    ground = ax.get_facecolor()
    return {
        "color": color,
        "marker": marker,
        "markersize": marker_size(marker),
        "markerfacecolor": ground if hollow else color,
        "markeredgecolor": color if hollow else ground,
        "markeredgewidth": 1.3 if hollow else 0.5,
    }


def shade(ax: Axes, strength: float) -> str:
    """Return a gray between the background of the Axes and its text color, in the style of the user."""
    return blend(ax.xaxis.label.get_color(), ax.get_facecolor(), strength)


def blend(letters: Any, ground: Any, strength: float) -> str:
    """Blend the text color with the background; strength 1 is the text color."""
    from matplotlib.colors import to_hex, to_rgb

    both = zip(to_rgb(letters), to_rgb(ground), strict=True)
    red, green, blue = (strength * near + (1 - strength) * far for near, far in both)
    return to_hex((red, green, blue))


def ink(color: str, ground: Any = "white") -> str:
    """Return the color, made darker or lighter until text in it is readable on the background (contrast 4.5)."""
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = to_rgb(color)
    under = _luminance(*to_rgb(ground))
    end = 0.0 if under > 0.18 else 1.0  # towards black on a light background, white on a dark one
    for _ in range(100):
        over = _luminance(red, green, blue)
        if (max(over, under) + 0.05) / (min(over, under) + 0.05) >= 4.5:
            break
        red, green, blue = (part + 0.05 * (end - part) for part in (red, green, blue))
    return to_hex((red, green, blue))


def contrast(color: Any, ground: Any) -> float:
    """Return the contrast of the color with the background, from 1 to 21 (WCAG 2.2)."""
    from matplotlib.colors import to_rgb

    under, over = sorted((_luminance(*to_rgb(color)), _luminance(*to_rgb(ground))))
    return round((over + 0.05) / (under + 0.05), 9)


def _luminance(red: float, green: float, blue: float) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def inches(size: object, verb: str) -> tuple[float, float | None] | None:
    """Return width and height in inches of a size; the height is None if the figure is as high as it needs to be."""
    if size is None:
        return None
    if isinstance(size, str) and size in SIZES:
        return SIZES[size]
    sides = tuple(size) if isinstance(size, Sequence) and not isinstance(size, str) else ()
    given = [side for side in sides if side is not None]
    if len(sides) != 2 or sides[0] is None or not all(map(_is_side, given)):
        names = f"{either([*map(repr, SIZES)])}, or " if isinstance(size, str) else ""
        raise ArgumentError(
            f"{verb}: size={size!r} is not {names}a width and a height from {_SIDE[0]:g} to {_SIDE[1]:g} inches, "
            "such as (3.3, 2.6), or (3.3, None) for a figure as high as it needs to be"
        )
    return float(sides[0]), None if sides[1] is None else float(sides[1])


def _is_side(side: object) -> bool:
    return not isinstance(side, bool) and isinstance(side, Real) and _SIDE[0] <= float(side) <= _SIDE[1]


# ── figures and axes ──────────────────────────────────────────────────────────────────────────────────────────────────
def below_axes(ax: Axes, *, below: float, height: float) -> Axes:
    """Add Axes that share the x axis of `ax`: `below` points below it and `height` points high, at any figure size."""
    from matplotlib.transforms import blended_transform_factory

    place = blended_transform_factory(ax.transAxes, points_from(ax, 0, 0))
    return ax.inset_axes((0, -below - height, 1, height), transform=place, sharex=ax)


def points_from(ax: Axes, x: float, y: float) -> Any:
    """Return the transform in points from a corner of the Axes."""
    from matplotlib.transforms import Affine2D, ScaledTranslation

    return Affine2D().scale(1 / 72) + ax.figure.dpi_scale_trans + ScaledTranslation(x, y, ax.transAxes)  # type: ignore[arg-type]


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Return the current width and height of the Axes in points."""
    figure = ax.get_figure(root=True)
    box = ax.get_window_extent()
    dpi = figure.dpi if figure is not None else 100.0
    return box.width * 72 / dpi, box.height * 72 / dpi


def dress(ax: Axes, *, grid: str = "y") -> None:
    """Style the Axes: two spines, a light grid behind the data, small tick labels."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, axis="x" if grid == "x" else "y", color=shade(ax, GUIDE), linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=small())


def make_room(ax: Axes) -> None:
    """Give the figure of `ax` a constrained layout, unless the user has set a layout, so that texts around the Axes fit."""
    from matplotlib.gridspec import SubplotParams

    figure = ax.get_figure(root=True)
    if figure is None or figure.get_layout_engine() is not None or ax.get_subplotspec() is None:
        return
    if vars(figure.subplotpars) == vars(SubplotParams()):
        figure.set_layout_engine("constrained")


def settle(figure: Any) -> None:
    """Run the layout engine, if there is one, so that the Axes have their final size and can be measured."""
    engine = figure.get_layout_engine()
    if engine is not None:
        with quiet():
            engine.execute(figure)


def against(color: str, ax: Axes) -> str:
    """Return the color, or the text color if it is hardly visible on the background, as black in a dark style."""
    from matplotlib.colors import to_hex

    is_visible = contrast(color, ax.get_facecolor()) >= 1.5
    return color if is_visible else to_hex(ax.xaxis.label.get_color())


def visible(marks: pl.DataFrame, ax: Axes) -> pl.DataFrame:
    """Replace colors of the marks that are hardly visible on the background of the Axes."""
    colors = marks["color"].drop_nulls().unique().to_list()
    return marks.with_columns(pl.col("color").replace({color: against(color, ax) for color in colors}))


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings about characters that no installed font has: `Plot.save` reports them once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
        yield
