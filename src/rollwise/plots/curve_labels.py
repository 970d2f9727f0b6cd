"""Labels of curves: names at their ends or in a key, and the table of numbers at risk below them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rollwise.plots import curve_strokes as strokes
from rollwise.plots import legends, lettering, theme
from rollwise.plots.curve_marks import after_start
from rollwise.plots.theme import Axes
from rollwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.text import Annotation

_DIRECT = 6  # at most so many curves are named at their ends
_ROW, _HEADING = 13.0, 14.0  # at letters of 10 points: a row of the table, its heading


def fit_at_ends(marks: pl.DataFrame, room: float) -> bool:
    """Return whether so many names are whole in two lines at the ends of their curves, `room` points wide."""
    names = marks.drop_nulls("estimate")["group"].unique(maintain_order=True).to_list()
    whole = lettering.filled_all(names, room, size=theme.normal()) if 0 < len(names) <= _DIRECT else ["…"]
    return not any("…" in name for name in whole)


def name(
    ax: Axes, curves: Sequence[pl.DataFrame], room: float, shifts: Sequence[float]
) -> list[tuple["Annotation", float]]:
    """Write names at the ends of the curves, in lines of `room` points."""
    from matplotlib.transforms import ScaledTranslation

    ends = [
        row | {"never": never(curve), "until": strokes.moved(ax, row["until"], shift * (row["style"] == "point"))}
        for curve, shift in zip(curves, shifts, strict=True)
        for row in after_start(curve).drop_nulls("estimate").tail(1).iter_rows(named=True)
    ]
    for row in ends:
        if row["style"] == "step":
            ax.plot([row["until"]], [row["estimate"]], **strokes.symbol(ax, row))
    # Names are in data coordinates vertically, and a fixed distance beyond the right edge horizontally.
    edge = ax.get_xlim()[1]
    words = lettering.filled_all([row["group"] for row in ends], room, size=theme.normal())
    words = [
        "\n".join(filter(None, [name, lettering.filled(row["never"], room, size=theme.normal())]))
        for name, row in zip(words, ends, strict=True)
    ]
    place = ax.transData + ScaledTranslation(15 / 72, 0, ax.figure.dpi_scale_trans)
    # Without a patch, which would be searched for where it cuts the line; its margin of 2 points is added instead.
    line = {"arrowstyle": "-", "linewidth": 0.7, "relpos": (0, 0.5), "patchA": None, "shrinkA": 3, "shrinkB": 4}
    look: dict[str, Any] = {"textcoords": place, "va": "center", "fontsize": theme.normal(), "parse_math": False}
    names = []
    for row, name in zip(ends, words, strict=True):
        up, ink = row["estimate"], theme.ink(row["color"], ax.get_facecolor())
        look |= {"annotation_clip": False, "arrowprops": line | {"color": row["color"]}, "color": ink}
        names.append((ax.annotate(name, (row["until"], up), xytext=(edge, up), **look), up))
    return names


def never(curve: pl.DataFrame) -> str:
    """Return "0 of 58; at most 18 %" for a share of rollouts that stays 0: its band would be all that is seen of it."""
    line = after_start(curve).filter(pl.col("level").eq_missing(curve["level"].max()))
    last = line.drop_nulls(["estimate", "high", "at_risk"]).tail(1)
    if last.is_empty() or last["kind"][0] != "success" or (line["estimate"] > 0).any():
        return ""
    return f"0 of {labels.count(line['at_risk'].max())}; at most {labels.number(last['high'][0], rate=True)}"  # type: ignore[arg-type]


def entries(ax: Axes, marks: pl.DataFrame) -> list[Any]:
    """Return a marker and a name for each curve, for a key."""
    from matplotlib.patches import Patch

    curves = theme.visible(marks, ax).sort("series").unique("group", keep="first", maintain_order=True).to_dicts()
    return [
        Patch(label=row["group"], **strokes.layer_look(ax, row["color"], row["series"]))
        if row["style"] == "stack"
        else legends.entry(row["group"], linewidth=1.6, **strokes.symbol(ax, {**row, "solid": True}))
        for row in curves
    ]


def push_apart(ax: Axes, names: Sequence[tuple["Annotation", float]], up: float) -> None:
    """Separate overlapping names; the height of the Axes in points gives the height of a line of text."""
    (bottom, top), edge = ax.get_ylim(), ax.get_xlim()[1]
    # The height of a line of text in data units.
    line = theme.em(12.5) / max(up, 1.0) * (top - bottom)
    heights = [line * (1.15 + name.get_text().count("\n")) for name, _ in names]
    wanted = [end for _, end in names]
    centers = legends.spread(wanted, heights, bottom - line / 2, top + line / 2)
    for (name, _), center in zip(names, centers, strict=True):
        name.xyann = (edge, center)


# ── table ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def table_below(
    ax: Axes, curves: Sequence[pl.DataFrame], behind: str, *, below: float, compact: bool, names: bool, room: float
) -> Axes | None:
    """Add an empty table in separate Axes, one row per curve."""
    table_curves = _rows(curves)
    most = pl.concat(curves)["at_risk"].max()
    if most is None:
        return None
    # The first number is centered at the left edge: row names must leave half its width.
    half = lettering.text_width(labels.count(most)) / 2  # type: ignore[arg-type]
    heading = not compact or len(table_curves) > 1
    high = _ROW * len(table_curves) + (_HEADING if heading else 0.0)
    table = theme.below_axes(ax, below=below, height=theme.em(high))
    # Row k is at height k; the heading is above row 0.
    table.set_ylim(len(table_curves) - 0.5, -0.5 - (_HEADING / _ROW if heading else 0.0))
    table.patch.set_visible(False)
    table.spines[:].set_visible(False)
    table.xaxis.set_visible(False)
    rows = lettering.filled_all([curve["group"][0] for curve in table_curves], room, lines=1)
    # A single row has no group name; without a heading it says what the numbers are.
    if len(table_curves) == 1:
        rows = ["" if heading else "at risk" if "at risk" in behind else "n"]
    table.set_yticks(range(len(table_curves)), labels=rows if names else [""] * len(table_curves))
    lettering.literal(table.get_yticklabels())
    table.tick_params(axis="y", length=0, labelsize=theme.small(), pad=half + 8)
    if len(table_curves) > 1:
        for tick_label, curve in zip(table.get_yticklabels(), table_curves, strict=True):
            tick_label.set_color(theme.ink(curve["color"][0], ax.get_facecolor()))
    if heading and names:
        lettering.write(table, behind, (0, 1), va="top", color=theme.shade(ax, theme.MUTED))
    return table


def _rows(curves: Sequence[pl.DataFrame]) -> Sequence[pl.DataFrame]:
    """Return the curves that need a row: endings of one group, and kinds of attempts, have the same numbers at risk."""
    curves = [curve for curve in curves if curve["style"][0] != "reference"]
    shared = curves[0]["kind"][0] in {"incidence", "attempts"}
    counts = [curve.drop_nulls("at_risk").select("at", "at_risk") for curve in curves]
    longest, curve = max(zip(counts, curves, strict=True), key=lambda pair: pair[0].height)
    same = all(longest.join(count, on=["at", "at_risk"], how="semi").height == count.height for count in counts)
    return [curve] if shared and same else curves


def fit_heading(table: Axes) -> None:
    """Shorten the heading of the table if it would leave the figure: ``at risk at the start of each turn`` to ``at risk``."""
    figure = table.get_figure(root=True)
    if not table.texts or figure is None:
        return
    heading = table.texts[0]
    start = table.get_window_extent().x0 * 72 / figure.dpi
    if start + lettering.text_width(heading.get_text()) > figure.get_figwidth() * 72 - 4:
        heading.set_text(heading.get_text().partition(" at the start")[0])


def fill(table: Axes, curves: Sequence[pl.DataFrame], ticks: Sequence[float]) -> None:
    """Write the numbers below the ticks, once the ticks are final."""
    for place, curve in enumerate(_rows(curves)):
        cells = _cells(curve, ticks)
        if len(curves) > 1 and not any(cells) and curve["estimate"].count() == 0:
            look: dict[str, Any] = {"va": "center_baseline", "style": "italic"}
            lettering.write(table, "no estimate", (0, place), ("axes fraction", "data"), **look)
        for tick, cell in zip(ticks, cells, strict=True):
            table.text(tick, place, cell, ha="center", va="center_baseline", fontsize=theme.small())


def _cells(curve: pl.DataFrame, ticks: Sequence[float]) -> list[str]:
    """Return the number at risk at each tick; none at 0 if turn 1, with the same number, has a tick."""
    # Steps count the number at risk at the start of the next position, points exactly at theirs.
    steps = curve["style"][0] in {"step", "stack"}
    observed = curve.filter(pl.col("style") != "forecast")
    counted = observed.filter(pl.col("at") > 0) if steps else observed
    at_risk = dict(counted.select("at", "at_risk").rows())
    cells = []
    for tick in ticks:
        near = 1e-9 * max(abs(tick), 1e-3)
        after = [position for position in at_risk if position >= tick - near and (position <= tick + near or steps)]
        before_all = tick == 0 and 1.0 in ticks and steps
        blank = not after or at_risk[after[0]] is None or before_all
        cells.append("" if blank else labels.count(at_risk[min(after)]))
    return cells
