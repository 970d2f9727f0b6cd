"""Cells of a heat map: layout, colors, texts, and the color key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.plots import lettering, tags, theme, ticking
from rollwise.plots.theme import Axes
from rollwise.schema import labels
from rollwise.schema.named import columns_named

FAINTEST = 0.3  # strength of the color if the interval spans the whole scale
_COLORMAP, _PART = "magma_r", (0.02, 0.82)  # hues change along it, so that a pale color is not mistaken for a low one
_GAP = 0.18  # between cells and pooled cells, in cells
_HIGH, _LEAST = 16.0, 38.0  # height of a line and least width of a column, in points
_KEY, _KEY_HIGH = (24.0, 84.0), 122.0  # size of the color key in points; its height with its texts
KEY_WIDE, _KEYED = 83.0, 300.0  # width of the key with its texts, and of the narrowest panel with one, in points
_NAME = 200.0  # width of a name in points
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
    """Layout of the cells of a panel in units of cells, its names, and which texts fit into the cells."""

    lefts: list[float]
    tops: list[float]
    rows: list[str]
    columns: list[str]
    slanted: bool
    texts: str  # "both": rate and count; "rate"; "short": the rate without its unit; "" if nothing fits
    key: bool
    title: str

    @property
    def ends(self) -> tuple[float, float]:
        """Return the ends of the last column and the last row."""
        return self.lefts[-1] + 1.0, self.tops[-1] + 1.0


def natural(marks: pl.DataFrame) -> float:
    """Return the width in points of one panel with all texts, names and its key."""
    rows, columns = _names_of(marks)
    cell = max(theme.em(_LEAST), _widest(marks, "both") + theme.em(9))
    if len(columns) <= _FEW:
        lines = lettering.filled_all(columns, theme.em(90), lines=2)
        cell = max([cell, *(lettering.text_width(line) + theme.em(9) for name in lines for line in name.split("\n"))])
    names = min(max(map(lettering.text_width, rows)), theme.em(_NAME))
    return names + cell * (_places(columns)[-1] + 1.0) + theme.em(KEY_WIDE + 28)


def plan(marks: pl.DataFrame, across: float, height: float | None, *, names: bool, key: bool) -> Plan:
    """Plan the cells of one panel that is `across` points wide with its names, and `height` points high if that is given."""
    rows, columns = _names_of(marks)
    lefts, tops = _places(columns), _places(rows)
    key = key and across >= theme.em(_KEYED)
    lines = 3 if height is None else min(max(int(height / (tops[-1] + 1.0) / theme.em(12)), 1), 3)
    most = min((0.34 if lines == 1 else 0.26 if height is None else 0.19) * across, theme.em(_NAME))
    down = lettering.filled_all(rows, max(most, theme.em(50)), lines=lines)
    beside = max(lettering.text_width(line) for name in down for line in name.split("\n")) if names else 0.0
    cell = (across - beside - theme.em(20) - (theme.em(KEY_WIDE) if key else 0.0)) / (lefts[-1] + 1.0)
    heads = lettering.filled_all(columns, max(cell - theme.em(5), theme.em(12)), lines=3)
    slanted = any(lettering.text_width(word) > cell - theme.em(4) for name in columns for word in lettering.words(name))
    slanted |= any("…" in name for name in heads)
    if slanted:  # names may be as long as they are, but leave most of a low figure to its cells
        longest = theme.em(_NAME) if height is None else max(0.45 * height, theme.em(40))
        heads = lettering.filled_all(columns, longest, lines=1)
    high = None if height is None else height / (tops[-1] + 1.0)
    ways = [("both", 2.6), ("rate", 1.2), ("short", 1.2)]
    fit = [
        way
        for way, lines in ways
        if cell >= _widest(marks, way) + 3 and (high is None or high >= lines * theme.small())
    ]
    heading = lettering.filled(marks["title"][0] or "", across - beside - theme.em(24), size=theme.normal(), lines=3)
    return Plan(lefts, tops, down, heads, slanted, fit[0] if fit else "", key, heading)


def high(plan: Plan) -> float:
    """Return the height in points that the cells of a new figure need."""
    lines = max(2 if plan.texts == "both" else 1, *(name.count("\n") + 1 for name in plan.rows))
    row = theme.em(max(1.25 * _HIGH if lines == 1 else 13.0 * lines, _KEY_HIGH / len(plan.rows) if plan.key else 0.0))
    return row * plan.ends[1]


def _names_of(marks: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return the names of rows and of columns in order."""
    rows, columns = (
        marks.unique(columns_named(axis), keep="first", maintain_order=True)
        .sort(columns_named(axis))[f"{axis}_name"]
        .to_list()
        for axis in ("row", "column")
    )
    return rows, columns


def _places(names: Sequence[str]) -> list[float]:
    """Return where each row or column begins; the pooled one is set apart."""
    pooled = names[-1] == schema.POOLED and len(names) > 1
    return [place + (_GAP if pooled and place == len(names) - 1 else 0.0) for place in range(len(names))]


def _widest(marks: pl.DataFrame, texts: str) -> float:
    """Return the width in points of the widest line in the cells."""
    lines = {line for mark in marks.iter_rows(named=True) for line in _words(mark, texts).split("\n")}
    return max(map(lettering.text_width, lines))


def _words(mark: Mapping[str, Any], texts: str) -> str:
    """Return the text of a cell: its estimate over successes / rollouts, or as much of them as fits."""
    if not texts or not mark["text"]:
        return ""
    if texts == "both":
        return f"{mark['value']}\n{mark['text']}" if "/" in mark["text"] else str(mark["text"])
    words = mark["value"] if mark["estimate"] is not None else mark["text"]
    return str(words).replace(" %", "") if texts == "short" else str(words)


def draw(ax: Axes, part: pl.DataFrame, plan: Plan, scale: tuple[float, float], *, names: bool) -> None:
    """Draw the cells of one panel."""
    from matplotlib.patches import Rectangle

    ax.set_xlim(0, plan.ends[0])
    ax.set_ylim(plan.ends[1], 0)
    _names(ax, plan, names=names)
    ground, lines = ax.get_facecolor(), theme.shade(ax, _HATCH)
    for mark in part.iter_rows(named=True):
        x, y = plan.lefts[mark["column"]], plan.tops[mark["row"]]
        # Cells without an estimate are hatched, with a border in the background color.
        fill = theme.shade(ax, 0.0)
        if mark["estimate"] is None:
            ax.add_patch(Rectangle((x, y), 1, 1, facecolor=fill, edgecolor=lines, hatch="////", linewidth=0))
            ax.add_patch(Rectangle((x, y), 1, 1, fill=False, edgecolor=ground, linewidth=2))
        else:
            fill = _color(ax, mark["estimate"], mark["strength"], scale)
            cell = ax.add_patch(Rectangle((x, y), 1, 1, facecolor=fill, edgecolor=ground, linewidth=1))
            told = f"{mark['value']}, {mark['text']}" if mark["text"] != mark["value"] else mark["value"]
            tags.tag(cell, mark["key"], f"{mark['row_name']} · {mark['column_name']}", told)
        if words := _words(mark, plan.texts):
            _write(ax, mark, words, (x + 0.5, y + 0.5), fill)
    if plan.key:
        _key(ax, scale, rate=part["rate"][0], what=labels.quantity(part["metric"][0], part["statistic"][0]))


def _write(ax: Axes, mark: Mapping[str, Any], words: str, place: tuple[float, float], fill: str) -> None:
    from matplotlib.colors import to_hex

    boxed = {"facecolor": fill, "edgecolor": "none", "pad": 1.5} if mark["estimate"] is None else None
    letters = to_hex(ax.xaxis.label.get_color())
    ink = max((letters, "#ffffff", "#000000"), key=lambda color: min(theme.contrast(color, fill), 6))
    look: dict[str, Any] = {"fontsize": theme.small(), "color": ink, "bbox": boxed, "parse_math": False}
    look |= {"style": "italic" if mark["shape"] == "point" else "normal", "linespacing": 1.15}
    ax.text(*place, words, ha="center", va="center", **look)


def _names(ax: Axes, plan: Plan, *, names: bool) -> None:
    """Write the names of rows to the left and of columns above, pooled ones in bold."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelsize=theme.small(), top=False, bottom=False, labeltop=True, labelbottom=False)
    ax.set_xticks([start + 0.5 for start in plan.lefts])
    ax.set_yticks([top + 0.5 for top in plan.tops])
    slant: dict[str, Any] = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"} if plan.slanted else {}
    ax.set_xticklabels(plan.columns, **slant)
    ax.set_yticklabels(plan.rows if names else [""] * len(plan.rows))
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        label.set_parse_math(False)
        if label.get_text() == schema.POOLED:
            label.set_fontweight("bold")
    if plan.title:
        ax.set_title(plan.title, loc="left", fontsize=theme.normal(), fontweight="bold", pad=8, parse_math=False)


def _color(ax: Axes, value: float, strength: float, scale: tuple[float, float]) -> str:
    """Return the color of a value, blended with the background according to its strength."""
    from matplotlib import colormaps

    least, greatest = scale
    inside = min(max((value - least) / (greatest - least), 0.0), 1.0)
    first, last = _PART
    return theme.blend(colormaps[_COLORMAP](first + inside * (last - first)), ax.get_facecolor(), strength)


def _key(ax: Axes, scale: tuple[float, float], *, rate: bool, what: str) -> None:
    """Draw the color key: estimates upwards, widths of intervals to the right."""
    from matplotlib.colors import to_rgb

    key = ax.inset_axes((20, -_KEY[1], *_KEY), transform=theme.points_from(ax, 1, 1))
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
    key.tick_params(length=0, labelsize=theme.small(), pad=2)
    if rate:
        ticking.percent(key, "y")
    else:
        ticking.thousands(key, "y")
    key.set_xticks([])
    look: dict[str, Any] = {"fontsize": theme.small(), "loc": "left"}
    key.set_xlabel("wider\ninterval →", labelpad=8, color=theme.shade(ax, theme.MUTED), **look)
    key.set_title(lettering.filled(what, theme.em(KEY_WIDE - 22), lines=3), pad=9, parse_math=False, **look)
