"""Cells of a heat map: layout, colors, texts, and the color key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from rollwise import schema
from rollwise.plots import lettering, theme, ticking
from rollwise.schema import labels
from rollwise.schema.named import columns_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAINTEST = 0.3  # strength of the color if the interval spans the whole scale
_COLORMAP, _PART = "magma_r", (0.02, 0.82)  # hues change along it, so that a pale color is not mistaken for a low one
_GAP = 0.18  # between cells and pooled cells, in cells
_HIGH, _LEAST = 16.0, 38.0  # least height of a row and least width of a column, in points
_KEY, _KEY_HIGH = (24.0, 84.0), 122.0  # size of the color key in points; its height with its texts
KEY_WIDE = 1.15  # width of the key with its texts, in inches
_NAME, _LINE = 40, 18  # characters of a name, and of one line
_BOLD_WIDTH, _SHORTEST_LINE = 6.6, 16  # width of a bold character of a title in points; least characters of its lines
_HATCH = 0.4
_FEW = 6  # up to so many columns are as wide as their names


def ends(estimates: pl.Series) -> tuple[float, float]:
    """Return the least and the greatest estimate; 0 is included if all are above it."""
    values = estimates.drop_nulls().to_list()
    least, greatest = min([0.0, *values]), max(values, default=1.0)
    return least, greatest if greatest > least else least + 1.0


def scale(marks: pl.DataFrame) -> tuple[float, float]:
    """Return the values of the first and the last color; of rates always 0 and 1."""
    return (0.0, 1.0) if marks["rate"][0] else ends(marks["estimate"])


@dataclass(frozen=True, slots=True)
class Plan:
    """Layout of the cells of a panel in units of cells, and the size of a cell in points."""

    lefts: list[float]
    tops: list[float]
    widths: list[float]
    heights: list[float]
    wide: float
    high: float
    rows: list[str]
    columns: list[str]
    slanted: bool

    @property
    def ends(self) -> tuple[float, float]:
        """Return the ends of the last column and the last row."""
        return self.lefts[-1] + self.widths[-1], self.tops[-1] + self.heights[-1]

    @property
    def pooled(self) -> int | None:
        """Return the number of the pooled row, if there is one."""
        return len(self.rows) - 1 if len(self.rows) > 1 and self.rows[-1] == schema.POOLED else None


def plan(marks: pl.DataFrame) -> Plan:
    """Plan the cells of one panel, wide enough for their texts."""
    rows, columns = (
        marks.unique(columns_named(axis), keep="first", maintain_order=True)
        .sort(columns_named(axis))[f"{axis}_name"]
        .to_list()
        for axis in ("row", "column")
    )
    # Few columns are as wide as their names, in several lines; with many, names are slanted.
    few = len(columns) <= _FEW
    down = labels.shorten_all(rows, _NAME)
    across = [lettering.wrapped(name, _LINE) for name in columns] if few else labels.shorten_all(columns, _NAME - 8)
    # Pooled cells have more text and are wider; they do not determine the width of the others.
    last = len(columns) - 1 if columns[-1] == schema.POOLED else len(columns)
    single = marks.filter(pl.col("column") < last) if last else marks
    words = {line for mark in single.iter_rows(named=True) for line in _words(mark, "\n").split("\n")}
    lines = [line for name in across for line in name.split("\n")] if few else []
    wide = max(_LEAST, *(lettering.text_width(word) + 9 for word in {*words, *lines}))
    aside = marks.filter(pl.col("column") == last, pl.col("row") < pl.col("row").max())
    broad = max(
        [wide, *(lettering.text_width(_words(mark, lettering.GAP)) + 12 for mark in aside.iter_rows(named=True))]
    )
    high = max(_HIGH if len(rows) > 2 * _FEW else 1.35 * _HIGH, _KEY_HIGH / len(rows))
    lefts, widths = _places(columns, broad / wide)
    tops, heights = _places(rows, max(2.75 * theme.SMALL, high) / high)
    # Slant the names if one is wider than its column.
    slanted = not few and any(lettering.text_width(name) > wide - 4 for name in across)
    return Plan(lefts, tops, widths, heights, wide, high, down, across, slanted)


def _places(names: Sequence[str], factor: float) -> tuple[list[float], list[float]]:
    """Return start and size of each row or column; the pooled one is set apart and larger by the factor."""
    pooled = names[-1] == schema.POOLED and len(names) > 1
    starts = [place + (_GAP if pooled and place == len(names) - 1 else 0.0) for place in range(len(names))]
    return starts, [factor if pooled and place == len(names) - 1 else 1.0 for place in range(len(names))]


def heading(part: pl.DataFrame, plan: Plan) -> str:
    """Return the title of a panel, in lines that are no wider than its cells; empty if it has none."""
    characters = max(int(plan.ends[0] * plan.wide / _BOLD_WIDTH), _SHORTEST_LINE)
    return lettering.wrapped(part["title"][0] or "", characters)


def size(plan: Plan, *, lines: int, names: bool) -> tuple[float, float]:
    """Return width and height of one panel with its names and this many lines of title, in inches."""
    across, down = plan.ends
    names_width = max(lettering.text_width(name) for name in plan.rows) + 12 if names else 0.0
    longest = max(lettering.text_width(name) for name in plan.columns) if plan.slanted else 0.0
    above = (longest * 0.65 + 14 if plan.slanted else 28) + (16 + 12 * lines if lines else 0)
    return (across * plan.wide + names_width + 16) / 72, (down * plan.high + above + 8) / 72


def _words(mark: Mapping[str, Any], between: str) -> str:
    """Return the text of a cell; a pooled cell has the estimate too."""
    twice = mark["margin"] and "/" in mark["text"]
    return f"{mark['value']}{between}{mark['text']}" if twice else mark["text"]


def draw(
    ax: "Axes",
    part: pl.DataFrame,
    plan: Plan,
    scale: tuple[float, float],
    *,
    key: bool,
    names: bool = True,
    words: bool = True,
) -> None:
    """Draw the cells of one panel, with their texts if `words` is set."""
    from matplotlib.patches import Rectangle

    ax.set_xlim(0, plan.ends[0])
    ax.set_ylim(plan.ends[1], 0)
    _names(ax, part, plan, names=names)
    ground, lines = ax.get_facecolor(), theme.shade(ax, _HATCH)
    for mark in part.iter_rows(named=True):
        x, y = plan.lefts[mark["column"]], plan.tops[mark["row"]]
        wide, high = plan.widths[mark["column"]], plan.heights[mark["row"]]
        # Cells without an estimate are hatched, with a border in the background color.
        fill = theme.shade(ax, 0.0)
        if mark["estimate"] is None:
            ax.add_patch(Rectangle((x, y), wide, high, facecolor=fill, edgecolor=lines, hatch="////", linewidth=0))
            ax.add_patch(Rectangle((x, y), wide, high, fill=False, edgecolor=ground, linewidth=2))
        else:
            fill = _color(ax, mark["estimate"], mark["strength"], scale)
            ax.add_patch(Rectangle((x, y), wide, high, facecolor=fill, edgecolor=ground, linewidth=1))
        if words and mark["text"]:
            _write(ax, mark, (x + wide / 2, y + high / 2), fill, "\n" if mark["row"] == plan.pooled else lettering.GAP)
    if key:
        _key(ax, scale, rate=part["rate"][0], what=labels.quantity(part["metric"][0], part["statistic"][0]))


def texts_fit(ax: "Axes", plan: Plan, part: pl.DataFrame, *, key: bool) -> bool:
    """Return whether the texts fit into the cells of Axes of a given size."""
    width, height = theme.size_in_points(ax)
    width -= max(lettering.text_width(name) for name in plan.rows) + 12 + (KEY_WIDE * 72 if key else 0.0)
    single = [mark for mark in part.iter_rows(named=True) if plan.columns[mark["column"]] != schema.POOLED]
    widest = max([0.0, *(lettering.text_width(line) for mark in single for line in _words(mark, "\n").split("\n"))])
    return width / plan.ends[0] >= widest + 2 and height / plan.ends[1] >= 1.2 * theme.SMALL


def fitted(ax: "Axes", plan: Plan) -> tuple[Plan, bool]:
    """Fit the plan to Axes of a given size, with shorter or slanted names if necessary; return it, and whether a key fits."""
    theme.settle(ax.figure)
    across = theme.size_in_points(ax)[0]
    rows = plan.rows
    names_width = max(lettering.text_width(name) for name in rows) + 12
    # The color key is left out if cells would be narrower than 80 % of their preferred width.
    key = across >= plan.ends[0] * plan.wide * 0.8 + names_width + KEY_WIDE * 72
    if not key and names_width > 0.35 * across:
        rows = labels.shorten_all(rows, max(int(0.35 * across / 5.2), 8))
        names_width = max(lettering.text_width(name) for name in rows) + 12
    free = across - names_width - (KEY_WIDE * 72 if key else 0.0)
    halves = [max(lettering.text_width(line) for line in name.split("\n")) / 2 for name in plan.columns]
    # Names of neighboring columns that would touch are slanted.
    crowded = any(half + next_half + 5 > free / plan.ends[0] for half, next_half in pairwise(halves))
    names = [name.replace("\n", " ") for name in plan.columns] if crowded else plan.columns
    return replace(plan, rows=rows, columns=names, slanted=plan.slanted or crowded), key


def _write(ax: "Axes", mark: Mapping[str, Any], place: tuple[float, float], fill: str, between: str) -> None:
    from matplotlib.colors import to_hex

    boxed = {"facecolor": fill, "edgecolor": "none", "pad": 1.5} if mark["estimate"] is None else None
    letters = to_hex(ax.xaxis.label.get_color())
    ax.text(
        *place,
        _words(mark, between),
        ha="center",
        va="center",
        fontsize=theme.SMALL,
        color=max((letters, "#ffffff", "#000000"), key=lambda color: min(theme.contrast(color, fill), 6)),
        style="italic" if mark["shape"] == "point" else "normal",
        bbox=boxed,
        parse_math=False,
        linespacing=1.15,
    )


def _names(ax: "Axes", part: pl.DataFrame, plan: Plan, *, names: bool) -> None:
    """Write the names of rows to the left and of columns above, pooled ones in bold."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelsize=theme.SMALL, top=False, bottom=False, labeltop=True, labelbottom=False)
    ax.set_xticks([start + wide / 2 for start, wide in zip(plan.lefts, plan.widths, strict=True)])
    ax.set_yticks([top + high / 2 for top, high in zip(plan.tops, plan.heights, strict=True)])
    slant: dict[str, Any] = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"} if plan.slanted else {}
    ax.set_xticklabels(plan.columns, **slant)
    ax.set_yticklabels(plan.rows if names else [""] * len(plan.rows))
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        label.set_parse_math(False)
        if label.get_text() == schema.POOLED:
            label.set_fontweight("bold")
    if title := heading(part, plan):
        ax.set_title(title, loc="left", fontsize=theme.NORMAL, fontweight="bold", pad=8, parse_math=False)


def _color(ax: "Axes", value: float, strength: float, scale: tuple[float, float]) -> str:
    """Return the color of a value, blended with the background according to its strength."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex, to_rgb

    least, greatest = scale
    inside = min(max((value - least) / (greatest - least), 0.0), 1.0)
    first, last = _PART
    full, ground = colormaps[_COLORMAP](first + inside * (last - first)), to_rgb(ax.get_facecolor())
    red, green, blue = (strength * near + (1 - strength) * far for near, far in zip(full[:3], ground, strict=True))
    return to_hex((red, green, blue))


def _key(ax: "Axes", scale: tuple[float, float], *, rate: bool, what: str) -> None:
    """Draw the color key: estimates upwards, widths of intervals to the right."""
    from matplotlib.colors import to_rgb
    from matplotlib.transforms import Affine2D, ScaledTranslation

    # The key has a fixed size in points, to the right of the upper right corner.
    points = Affine2D().scale(1 / 72) + ax.figure.dpi_scale_trans + ScaledTranslation(1, 1, ax.transAxes)  # type: ignore[arg-type]
    key = ax.inset_axes((20, -_KEY[1], *_KEY), transform=points)
    least, greatest = scale
    # Columns of the key: the strengths of colors from narrow to wide intervals.
    shades = [1.0 - (1.0 - FAINTEST) * width for width in (0.0, 0.25, 0.5, 0.75, 1.0)]
    values = [least + (greatest - least) * place / 40 for place in range(41)]
    key.imshow(
        [[to_rgb(_color(ax, value, strength, scale)) for strength in shades] for value in values],
        extent=(0, 1, least, greatest),
        origin="lower",
        aspect="auto",
    )
    key.spines[:].set_visible(False)
    key.yaxis.tick_right()
    key.tick_params(length=0, labelsize=theme.SMALL, pad=2)
    if rate:
        ticking.percent(key, "y")
    else:
        ticking.thousands(key, "y")
    key.set_xticks([])
    key.set_xlabel(
        "wider\ninterval →", fontsize=theme.SMALL, loc="left", labelpad=8, color=theme.shade(ax, theme.MUTED)
    )
    key.set_title(lettering.wrapped(what, 16, lines=3), fontsize=theme.SMALL, loc="left", pad=9, parse_math=False)
